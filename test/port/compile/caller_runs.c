/* A pool without threads does tasks, jobs and loops, wherever a thread cannot be started. */
#define WSQ_IMPLEMENTATION
#include "../../../wsq.h"

enum { TASKS = 1000, N = 100000 };

static int ran;

static wsq_poll task_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    ran++;
    return WSQ_DONE;
}

static void add(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    size_t *sum = (size_t *)arg;
    (void)ctx;
    for (size_t i = begin; i < end; i++) *sum += i;
}

static void root(wsq_ctx ctx, void *arg) { wsq_for(ctx, 0, N, 100, add, arg); }

int main(void) {
    static wsq_task tasks[TASKS];
    wsq_config config = {.workers = 1, .caller_runs = true};
    wsq_pool *pool;
    size_t sum = 0;
    if (wsq_pool_create(&pool, &config) != WSQ_OK) return 1;
    for (int i = 0; i < TASKS; i++) {
        wsq_task_init(&tasks[i], task_run);
        if (wsq_spawn(pool, &tasks[i]) != WSQ_OK) return 2;
    }
    if (!wsq_pool_run_one(pool) || wsq_pool_wait(pool) != WSQ_OK || ran != TASKS) return 3;
    if (wsq_run(pool, root, &sum) != WSQ_OK || sum != (size_t)N / 2 * (N - 1)) return 4;
    wsq_pool_destroy(pool);
    config.caller_runs = false;
    config.workers = 2;
    wsq_result result = wsq_pool_create(&pool, &config); /* no threads: an error, not a crash */
    if (result == WSQ_OK) wsq_pool_destroy(pool);
    return result == WSQ_OK || result == WSQ_ERR_THREAD ? 0 : 5;
}
