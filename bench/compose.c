/* What waiting and composing cost: a future's whole life on a worker, a call without a handle, a task
 * in a group beside the same task without one, a task that comes after another. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "bench.h"

#define TASKS 10000
#define HANDFUL 200 /* fits a ring beside the task that spawns them */

static wsq_task tasks[TASKS];
static wsq_edge edges[TASKS];
static long calls;

static wsq_poll nothing(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    (void)task;
    return WSQ_DONE;
}

static void *call(void *arg) {
    return arg;
}

static void count(void *arg) {
    (void)arg;
    calls++;
}

/* A task that does the measured thing on a worker. */
typedef struct driver {
    wsq_task task;
    const bench_case *self;
    wsq_group *group;
    long left, turn;
} driver;

static double measure_driver(const bench_case *self, wsq_task_fn fn, wsq_group *group) {
    driver drive = {.self = self, .left = self->n, .group = group};
    wsq_task_init(&drive.task, fn);
    uint64_t start = bench_now();
    bench_check(wsq_spawn(self->pool, &drive.task) == WSQ_OK, "spawn");
    bench_check(wsq_pool_wait(self->pool) == WSQ_OK, "wait");
    return bench_since(start) / (double)self->n;
}

/* ---- futures ---- */

static wsq_poll submit_and_get(wsq_ctx ctx, wsq_task *task) {
    driver *self = wsq_container_of(task, driver, task);
    wsq_pool *pool = wsq_pool_of(ctx);
    for (long i = 0; i < self->left; i++) {
        wsq_future *future;
        void *result;
        bench_check(wsq_submit(pool, call, task, &future) == WSQ_OK, "submit");
        bench_check(wsq_future_get(future, &result) == WSQ_OK && result == task, "get");
    }
    return WSQ_DONE;
}

static double measure_future(const bench_case *self) {
    return measure_driver(self, submit_and_get, NULL);
}

static wsq_poll go_handful(wsq_ctx ctx, wsq_task *task) {
    driver *self = wsq_container_of(task, driver, task);
    for (int i = 0; i < HANDFUL; i++) wsq_go(wsq_pool_of(ctx), count, NULL);
    self->left -= HANDFUL;
    return self->left > 0 ? WSQ_YIELD : WSQ_DONE;
}

static double measure_go(const bench_case *self) {
    return measure_driver(self, go_handful, NULL);
}

/* ---- a handful of tasks, again and again, in a group and not ---- */

static wsq_poll spawn_handful(wsq_ctx ctx, wsq_task *task) {
    driver *self = wsq_container_of(task, driver, task);
    wsq_pool *pool = wsq_pool_of(ctx);
    wsq_task *first = &tasks[self->turn++ % 8 * HANDFUL];
    for (int i = 0; i < HANDFUL; i++) {
        while (!wsq_task_done(&first[i])) wsqi_pause(); /* eight turns old: a thief may be slow */
        bench_check((self->group ? wsq_group_spawn(self->group, &first[i])
                                 : wsq_spawn(pool, &first[i])) == WSQ_OK, "spawn");
    }
    self->left -= HANDFUL;
    return self->left > 0 ? WSQ_YIELD : WSQ_DONE;
}

/* Tasks that are done, as if they had run before. */
static void prepare(const bench_case *self) {
    for (int i = 0; i < 8 * HANDFUL; i++) {
        wsq_task_init(&tasks[i], nothing);
        bench_check(wsq_spawn(self->pool, &tasks[i]) == WSQ_OK, "spawn");
    }
    bench_check(wsq_pool_wait(self->pool) == WSQ_OK, "wait");
}

static double measure_plain(const bench_case *self) {
    prepare(self);
    return measure_driver(self, spawn_handful, NULL);
}

static double measure_group(const bench_case *self) {
    wsq_group group;
    wsq_group_init(&group, self->pool);
    prepare(self);
    double ns = measure_driver(self, spawn_handful, &group);
    bench_check(wsq_group_wait(&group) == WSQ_OK, "group");
    return ns;
}

/* ---- a chain of tasks, each after the one before, spawned from outside ---- */

static double measure_chain(const bench_case *self) {
    uint64_t start = bench_now();
    for (long i = 0; i < self->n; i++) {
        wsq_task_init(&tasks[i], nothing);
        if (i > 0) wsq_task_after(&tasks[i], &tasks[i - 1], &edges[i]);
    }
    for (long i = self->n; i-- > 0;) bench_check(wsq_spawn(self->pool, &tasks[i]) == WSQ_OK, "spawn");
    bench_check(wsq_task_wait(&tasks[self->n - 1]) == WSQ_OK, "wait");
    double ns = bench_since(start) / (double)self->n;
    bench_check(wsq_pool_wait(self->pool) == WSQ_OK, "wait");
    return ns;
}

int main(int argc, char **argv) {
    bench_begin("compose", argc, argv);
    bench_case *future = bench_add_pair("compose/future", "ns/submit+get", measure_future, 1000000);
    bench_add_pair("compose/go", "ns/call", measure_go, 1000000);
    bench_case *plain = bench_add_pair("compose/plain", "ns/task", measure_plain, 1000000);
    bench_case *group = bench_add_pair("compose/group", "ns/task", measure_group, 1000000);
    bench_add_pair("compose/after", "ns/task", measure_chain, TASKS);
    bench_run();
    char rest[64];
    if (future->rounds > 0) {
        double ns = bench_summarise(future->samples, future->rounds).median;
        snprintf(rest, sizeof rest, "target<=60 %s", ns <= 60 ? "met" : "missed");
        bench_line("compose/future_target", ns, "ns", 1, rest);
    }
    for (int i = 0; i < 2 && plain->rounds > 0 && group->rounds == plain->rounds; i++) {
        double samples[BENCH_MAX_ROUNDS];
        for (int k = 0; k < plain->rounds; k++) samples[k] = group[i].samples[k] - plain[i].samples[k];
        double ns = bench_summarise(samples, plain->rounds).median;
        int limit = group[i].workers == 1 ? 8 : 20; /* an atomic addition; a line of two cores */
        snprintf(rest, sizeof rest, "target<=%d %s", limit, ns <= limit ? "met" : "missed");
        bench_line("compose/group_over_plain", ns, "ns", group[i].workers, rest);
    }
    return bench_end();
}
