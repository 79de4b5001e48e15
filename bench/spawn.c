/* What a spawned task costs: many from a worker and from outside, one that spawns the next, yield,
 * two that wake each other, and several threads that submit at once. The tasks do nothing. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "bench.h"
#include "tasks.h"

#include <pthread.h>

#define SUBMITTERS 8
#define REPEATS 20
#define HANDFUL 200 /* fits a ring beside the task that spawns them */
#define LINKS 1024  /* tasks of a chain, used in turn */

static wsq_task *tasks;
static long task_count;

static void prepare(long n) {
    bench_check(n <= task_count, "enough tasks");
    for (long i = 0; i < n; i++) wsq_task_init(&tasks[i], nothing);
}

/* Counts every run of the pool, so that no task gets lost unseen. */
static uint64_t runs(const bench_case *self) {
    wsq_stats stats;
    wsq_pool_stats(self->pool, &stats);
    return stats.run;
}

static void start_and_wait(const bench_case *self, wsq_task *task) {
    bench_check(wsq_spawn(self->pool, task) == WSQ_OK, "spawn");
    bench_check(wsq_pool_wait(self->pool) == WSQ_OK, "wait");
}

/* The mean of REPEATS times `once`, per task. */
static double repeated(const bench_case *self, double (*once)(const bench_case *), long extra) {
    uint64_t before = runs(self);
    double ns = 0;
    for (int i = 0; i < REPEATS; i++) ns += once(self);
    bench_check(runs(self) - before == (uint64_t)(self->n + extra) * REPEATS, "all ran");
    return ns / (double)self->n / REPEATS;
}

/* ---- many from a worker: n at once, most of them by way of the global queue ---- */

static double once_many(const bench_case *self) {
    driver drive = {.tasks = tasks, .left = self->n};
    wsq_task_init(&drive.task, spawn_all);
    uint64_t start = bench_now();
    start_and_wait(self, &drive.task);
    return bench_since(start);
}

static double measure_many(const bench_case *self) {
    return repeated(self, once_many, 1);
}

/* ---- a handful from a worker, again and again: only the ring, if nobody steals ---- */

static wsq_poll spawn_handful(wsq_ctx ctx, wsq_task *task) {
    driver *drive = wsq_container_of(task, driver, task);
    wsq_pool *pool = wsq_pool_of(ctx);
    wsq_task *first = &tasks[drive->left / HANDFUL % 8 * HANDFUL];
    for (long i = 0; i < HANDFUL; i++) {
        while (!wsq_task_done(&first[i])) wsqi_pause(); /* eight turns old: a thief may be slow */
        wsq_task_init(&first[i], nothing);
        wsq_spawn(pool, &first[i]);
    }
    drive->left -= HANDFUL;
    return drive->left > 0 ? WSQ_YIELD : WSQ_DONE;
}

/* Tasks that are done, as if they had run before. */
static void prepare_done(const bench_case *self, long n) {
    prepare(n);
    for (long i = 0; i < n; i++) bench_check(wsq_spawn(self->pool, &tasks[i]) == WSQ_OK, "spawn");
    bench_check(wsq_pool_wait(self->pool) == WSQ_OK, "wait");
}

static double measure_handful(const bench_case *self) {
    driver drive = {.left = self->n};
    prepare_done(self, 8 * HANDFUL);
    wsq_task_init(&drive.task, spawn_handful);
    uint64_t start = bench_now();
    start_and_wait(self, &drive.task);
    return bench_since(start) / (double)self->n;
}

/* ---- many from outside, one by one and as one batch ---- */

static double once_outside(const bench_case *self) {
    prepare(self->n);
    uint64_t start = bench_now();
    for (long i = 0; i < self->n; i++) wsq_spawn(self->pool, &tasks[i]);
    bench_check(wsq_pool_wait(self->pool) == WSQ_OK, "wait");
    return bench_since(start);
}

static double measure_outside(const bench_case *self) {
    return repeated(self, once_outside, 0);
}

static double once_batch(const bench_case *self) {
    wsq_task **pointers = bench_alloc((size_t)self->n * sizeof *pointers);
    prepare(self->n);
    for (long i = 0; i < self->n; i++) pointers[i] = &tasks[i];
    uint64_t start = bench_now();
    bench_check(wsq_spawn_batch(self->pool, pointers, (size_t)self->n) == WSQ_OK, "spawn");
    bench_check(wsq_pool_wait(self->pool) == WSQ_OK, "wait");
    double ns = bench_since(start);
    free(pointers);
    return ns;
}

static double measure_batch(const bench_case *self) {
    return repeated(self, once_batch, 0);
}

/* ---- a chain: each task spawns the next ---- */

static long chain_left;

static wsq_poll spawn_next(wsq_ctx ctx, wsq_task *task) {
    if (--chain_left == 0) return WSQ_DONE;
    wsq_task *next = task == &tasks[LINKS - 1] ? tasks : task + 1;
    while (!wsq_task_done(next)) wsqi_pause();
    wsq_task_init(next, spawn_next);
    wsq_spawn(wsq_pool_of(ctx), next);
    return WSQ_DONE;
}

static double measure_chain(const bench_case *self) {
    prepare_done(self, LINKS);
    wsq_task_init(&tasks[0], spawn_next);
    chain_left = self->n;
    uint64_t start = bench_now();
    start_and_wait(self, &tasks[0]);
    return bench_since(start) / (double)self->n;
}

/* ---- yield: 200 tasks, each gives way n / 200 times ---- */

static double measure_yield(const bench_case *self) {
    static driver drivers[HANDFUL];
    for (int i = 0; i < HANDFUL; i++) {
        drivers[i].left = self->n / HANDFUL;
        wsq_task_init(&drivers[i].task, yielding);
    }
    uint64_t start = bench_now();
    for (int i = 0; i < HANDFUL; i++) wsq_spawn(self->pool, &drivers[i].task);
    bench_check(wsq_pool_wait(self->pool) == WSQ_OK, "wait");
    return bench_since(start) / (double)self->n;
}

/* ---- ping-pong: two tasks that wake each other; n round trips ---- */

static double measure_ping_pong(const bench_case *self) {
    player one, two;
    players(&one, &two, self->n);
    uint64_t start = bench_now();
    wsq_spawn(self->pool, &two.task);
    start_and_wait(self, &one.task);
    double ns = bench_since(start);
    bench_check(atomic_load(&ball) == 2 * (unsigned long)self->n, "every hit");
    return ns / (double)self->n;
}

/* ---- several outside threads submit at once ---- */

typedef struct submitter {
    pthread_t thread;
    const bench_case *self;
    wsq_task *first;
    long count;
} submitter;

static wsqi_a32 gate;

static void *submit(void *arg) {
    submitter *own = arg;
    while (!wsqi_load_acq(&gate)) wsqi_pause();
    for (long i = 0; i < own->count; i++) wsq_spawn(own->self->pool, &own->first[i]);
    return NULL;
}

static double submit_by(const bench_case *self, int thread_count) {
    submitter threads[SUBMITTERS];
    uint64_t before = runs(self);
    prepare(self->n);
    wsqi_store_rlx(&gate, 0);
    for (int i = 0; i < thread_count; i++) {
        long count = self->n / thread_count;
        threads[i] = (submitter){.self = self, .first = &tasks[i * count], .count = count};
        bench_check(pthread_create(&threads[i].thread, NULL, submit, &threads[i]) == 0, "thread");
    }
    uint64_t start = bench_now();
    wsqi_store_rel(&gate, 1);
    for (int i = 0; i < thread_count; i++) pthread_join(threads[i].thread, NULL);
    bench_check(wsq_pool_wait(self->pool) == WSQ_OK, "wait");
    double ns = bench_since(start);
    bench_check(runs(self) - before == (uint64_t)self->n, "all ran");
    return ns / (double)self->n;
}

static double measure_one_submitter(const bench_case *self) {
    return submit_by(self, 1);
}

static double measure_two_submitters(const bench_case *self) {
    return submit_by(self, 2);
}

static double measure_submitters(const bench_case *self) {
    return submit_by(self, 4);
}

static double measure_eight_submitters(const bench_case *self) {
    return submit_by(self, 8);
}

/* ---- from outside while every worker is busy: two tasks for each that always yield ---- */

static wsqi_a64 left_to_do;

static wsq_poll count_down(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    (void)task;
    wsqi_add_acqrel(&left_to_do, UINT64_MAX);
    return WSQ_DONE;
}

static double measure_busy(const bench_case *self) {
    static wsq_task keepers[2 * BENCH_MAX_WORKERS];
    wsqi_store_rel(&left_to_do, (uint64_t)self->n);
    begin_busy(self->pool, keepers, self->workers);
    for (long i = 0; i < self->n; i++) wsq_task_init(&tasks[i], count_down);
    bench_sleep_us(1000);
    uint64_t start = bench_now();
    for (long i = 0; i < self->n; i++) wsq_spawn(self->pool, &tasks[i]);
    while (wsqi_load_acq(&left_to_do) != 0) bench_sleep_us(10);
    double ns = bench_since(start);
    atomic_store(&busy, false);
    bench_check(wsq_pool_wait(self->pool) == WSQ_OK, "wait");
    return ns / (double)self->n;
}

/* ---- one by one: the next when the last one is done ---- */

static double measure_one_by_one(const bench_case *self) {
    prepare(self->n);
    uint64_t start = bench_now();
    for (long i = 0; i < self->n; i++) {
        wsq_spawn(self->pool, &tasks[i]);
        while (!wsq_task_done(&tasks[i])) wsqi_pause();
    }
    return bench_since(start) / (double)self->n;
}

/* ---- to a pool that sleeps: what the submitter pays, the wake-up's system call above all ---- */

static double measure_asleep(const bench_case *self) {
    uint64_t ns = 0;
    prepare(self->n);
    for (long i = 0; i < self->n; i++) {
        bench_sleep_us(100);
        uint64_t start = bench_now();
        wsq_spawn(self->pool, &tasks[i]);
        ns += bench_now() - start;
        wsq_task_wait(&tasks[i]);
    }
    return (double)ns / (double)self->n;
}

static void target(const char *name, const bench_case *self, double ns) {
    if (self->rounds == 0) return;
    bench_summary s = bench_summarise(self->samples, self->rounds);
    char rest[64];
    snprintf(rest, sizeof rest, "target<=%g %s", ns, s.median <= ns ? "met" : "missed");
    bench_line(name, s.median, "ns", self->workers, rest);
}

int main(int argc, char **argv) {
    bench_begin("spawn", argc, argv);
    task_count = 1000000;
    tasks = bench_alloc((size_t)task_count * sizeof *tasks);
    bench_case *handful = bench_add_pair("spawn/handful", "ns/task", measure_handful, 1000000);
    bench_case *many = bench_add_pair("spawn/many", "ns/task", measure_many, 10000);
    bench_add_pair("spawn/outside", "ns/task", measure_outside, 10000);
    bench_add_pair("spawn/batch", "ns/task", measure_batch, 10000);
    bench_case *chain = bench_add_pair("spawn/chain", "ns/task", measure_chain, 1000000);
    bench_case *yield = bench_add_pair("spawn/yield", "ns", measure_yield, 1000000);
    bench_add_pair("spawn/ping_pong", "ns/round_trip", measure_ping_pong, 500000);
    bench_case *submitters =
        bench_add_pair("spawn/submitters", "ns/task", measure_submitters, 1000000);
    bench_add_pair("spawn/submitters_1", "ns/task", measure_one_submitter, 1000000);
    bench_add_pair("spawn/submitters_2", "ns/task", measure_two_submitters, 1000000);
    bench_add_pair("spawn/submitters_8", "ns/task", measure_eight_submitters, 1000000);
    bench_add_pair("spawn/busy", "ns/task", measure_busy, 10000);
    bench_add_pair("spawn/one_by_one", "ns/task", measure_one_by_one, 10000);
    bench_add_pair("spawn/asleep", "ns/task", measure_asleep, 200);
    bench_run();
    target("spawn/handful_target", handful, 20);
    target("spawn/many_target", many, 20);
    target("spawn/chain_target", chain, 20);
    target("spawn/yield_target", yield, 15);
    target("spawn/submitters_target", submitters, 40);
    target("spawn/submitters_target", submitters + 1, 40);
    bench_line("spawn/task_size", (double)sizeof(wsq_task), "bytes", 0, "target<=48");
    free(tasks);
    return bench_end();
}
