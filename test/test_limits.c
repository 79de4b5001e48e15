/* Where sizes and counts end: thousands of workers, small stacks, arguments at their bounds. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "test.h"
#include "pool.h"

static wsq_poll done(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    return WSQ_DONE;
}

/* ---- thousands of workers on one thread ---- */

/* What a pool without work costs grows with its workers, not with their square. */
static void many_on_one_thread(void) {
    enum { WORKERS = 1500, PER_WORKER = 100 };
    wsq_config config = {.workers = WORKERS / TEST_SLOWDOWN, .caller_runs = true};
    wsq_pool *pool = pool_new(config);
    wsq_task tasks[3];
    wsq_stats stats;
    for (unsigned i = 0; i < 3; i++) {
        wsq_task_init(&tasks[i], done);
        CHECK_EQ(wsq_spawn_on(pool, i * (config.workers - 1) / 2, &tasks[i]), WSQ_OK);
    }
    for (unsigned i = 3; i > 0; i--) CHECK_EQ(wsq_task_wait(&tasks[i - 1]), WSQ_OK);
    CHECK(!wsq_pool_run_one(pool));
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    wsq_pool_shutdown(pool, WSQ_DRAIN);
    wsq_pool_stats(pool, &stats);
    CHECK(stats.steal_attempts < (uint64_t)PER_WORKER * config.workers);
    wsq_pool_destroy(pool);
}

int main(void) {
    test_begin("test_limits");
    RUN(many_on_one_thread);
    return test_end();
}
