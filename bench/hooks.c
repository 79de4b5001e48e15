/* What it costs to be told: spawn, wake, yield and fork with nobody told, with a hook that does nothing,
 * with one that reads the clock as a timeline must, and with wsq_config.list_tasks. One worker. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "bench.h"

enum { SPAWNED = 64 };

static wsq_pool *off, *empty, *clocked, *listed;

static void hear(void *user, wsq_event event, unsigned worker, const void *subject, uint64_t value) {
    (void)user, (void)event, (void)worker, (void)subject, (void)value;
}

static void hear_and_look(void *user, wsq_event event, unsigned worker, const void *subject,
                          uint64_t value) {
    (void)event, (void)worker, (void)subject, (void)value;
    *(uint64_t *)user = bench_now();
}

static wsq_pool *pool_with(wsq_config config) {
    wsq_pool *pool = NULL;
    config.workers = 1;
    bench_check(wsq_pool_create(&pool, &config) == WSQ_OK, "pool");
    return pool;
}

/* Whom a case asks is in its name, behind the last slash. */
static wsq_pool *pool_of(const bench_case *self) {
    const char *how = strrchr(self->name, '/') + 1;
    return strcmp(how, "off") == 0     ? off
           : strcmp(how, "empty") == 0 ? empty
           : strcmp(how, "clock") == 0 ? clocked
                                       : listed;
}

static long left;
static wsq_task tasks[SPAWNED];

static wsq_poll nothing(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    return WSQ_DONE;
}

static wsq_poll spawn_some(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    for (int i = 1; i < SPAWNED; i++) {
        wsq_task_init(&tasks[i], nothing);
        wsq_spawn(wsq_pool_of(ctx), &tasks[i]);
    }
    left -= SPAWNED - 1;
    return left > 0 ? WSQ_YIELD : WSQ_DONE;
}

static wsq_poll give_way(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    return --left > 0 ? WSQ_YIELD : WSQ_DONE;
}

/* Two of them wake each other. */
static wsq_poll wake_other(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    wsq_wake(task == &tasks[0] ? &tasks[1] : &tasks[0]);
    return --left > 0 ? WSQ_PENDING : WSQ_DONE;
}

static double run_tasks(const bench_case *self, wsq_task_fn fn, int count) {
    wsq_pool *pool = pool_of(self);
    left = self->n;
    for (int i = 0; i < count; i++) wsq_task_init(&tasks[i], fn);
    uint64_t start = bench_now();
    for (int i = 0; i < count; i++) bench_check(wsq_spawn(pool, &tasks[i]) == WSQ_OK, "spawn");
    bench_check(wsq_pool_wait(pool) == WSQ_OK && left <= 0, "all done");
    return bench_since(start) / (double)self->n;
}

static double spawns(const bench_case *self) {
    return run_tasks(self, spawn_some, 1);
}

static double wakes(const bench_case *self) {
    return run_tasks(self, wake_other, 2);
}

static double yields(const bench_case *self) {
    return run_tasks(self, give_way, 1);
}

static void job_run(wsq_ctx ctx, wsq_job *job) {
    (void)ctx, (void)job;
}

static void fork_many(wsq_ctx ctx, void *arg) {
    wsq_job job;
    for (long i = *(long *)arg; i > 0; i--) {
        wsq_fork(&ctx, &job, job_run);
        wsq_join(&ctx, &job);
    }
}

static double forks(const bench_case *self) {
    long n = self->n;
    uint64_t start = bench_now();
    bench_check(wsq_run(pool_of(self), fork_many, &n) == WSQ_OK, "run");
    return bench_since(start) / (double)n;
}

static void add(const char *const names[4], bench_fn measure, long n) {
    for (int i = 0; i < 4; i++) bench_add(names[i], "ns", measure, 1, n);
}

int main(int argc, char **argv) {
    static const char *const names[][4] = {
        {"hooks/spawn/off", "hooks/spawn/empty", "hooks/spawn/clock", "hooks/spawn/list"},
        {"hooks/wake/off", "hooks/wake/empty", "hooks/wake/clock", "hooks/wake/list"},
        {"hooks/yield/off", "hooks/yield/empty", "hooks/yield/clock", "hooks/yield/list"},
        {"hooks/fork/off", "hooks/fork/empty", "hooks/fork/clock", "hooks/fork/list"}};
    static uint64_t seen;
    wsq_hooks deaf = {.event = hear}, looks = {.event = hear_and_look, .user = &seen};
    bench_begin("hooks", argc, argv);
    off = pool_with((wsq_config){.workers = 1});
    empty = pool_with((wsq_config){.hooks = &deaf});
    clocked = pool_with((wsq_config){.hooks = &looks});
    listed = pool_with((wsq_config){.list_tasks = true});
    add(names[0], spawns, 200000);
    add(names[1], wakes, 200000);
    add(names[2], yields, 200000);
    add(names[3], forks, 1000000);
    bench_run();
    wsq_pool_destroy(off);
    wsq_pool_destroy(empty);
    wsq_pool_destroy(clocked);
    wsq_pool_destroy(listed);
    return bench_end();
}
