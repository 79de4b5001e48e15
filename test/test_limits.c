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

/* ---- waits above waits on small stacks ---- */

#if defined(__arm__) || defined(__aarch64__) || defined(_WIN32)
enum { SMALLEST = 128 * 1024 };
#else
enum { SMALLEST = 16 * 1024 };
#endif

typedef struct waiter {
    wsq_task task;
    wsq_task *gate;
} waiter;

static unsigned nested, deepest; /* the one worker's */

static wsq_poll gate_run(wsq_ctx ctx, wsq_task *task) {
    static atomic_uint runs;
    (void)ctx, (void)task;
    return atomic_fetch_add(&runs, 1) % 2 == 0 ? WSQ_PENDING : WSQ_DONE;
}

/* It has 1.5 KiB of variables below its wait, all of which it needs. */
static wsq_poll waiter_run(wsq_ctx ctx, wsq_task *task) {
    waiter *self = wsq_container_of(task, waiter, task);
    volatile unsigned char filled[1536];
    (void)ctx;
    for (size_t i = 0; i < sizeof filled; i++) filled[i] = (unsigned char)i;
    if (++nested > deepest) deepest = nested;
    CHECK_EQ(wsq_task_wait_for(self->gate, 20000000), WSQ_ERR_TIMEOUT); /* beyond the bound nobody runs it */
    nested--;
    for (size_t i = 0; i < sizeof filled; i++)
        if (filled[i] != (unsigned char)i) FAIL("another task's stack");
    return WSQ_DONE;
}

/* Without stand-ins a worker that waits runs the next one that waits, as far as its stack goes. */
static void waits_on_a_stack(size_t stack_size) {
    enum { WAITERS = 200 };
    static waiter waiters[WAITERS];
    wsq_pool *pool = pool_new((wsq_config){.workers = 1, .max_standins = WSQ_STANDINS_OFF, .stack_size = stack_size});
    wsq_task gate;
    deepest = 0;
    wsq_task_init(&gate, gate_run);
    CHECK_EQ(wsq_spawn(pool, &gate), WSQ_OK);
    for (unsigned i = 0; i < WAITERS; i++) {
        waiters[i].gate = &gate;
        wsq_task_init(&waiters[i].task, waiter_run);
        CHECK_EQ(wsq_spawn(pool, &waiters[i].task), WSQ_OK);
    }
    for (unsigned i = 0; i < WAITERS; i++) CHECK_EQ(wsq_task_wait(&waiters[i].task), WSQ_OK);
    CHECK(deepest <= WSQI_WAIT_DEPTH + 1);
    CHECK(deepest <= pool->config.stack_size / 8192 + 1);
    wsq_wake(&gate);
    wsq_pool_destroy(pool);
}

static void waits_on_small_stacks(void) {
    if (TEST_SLOWDOWN == 1) waits_on_a_stack(SMALLEST);
    for (size_t size = 64 * 1024; size <= 1024 * 1024; size *= 2) waits_on_a_stack(size);
    waits_on_a_stack(0);
}

/* ---- arguments at their bounds ---- */

int main(void) {
    test_begin("test_limits");
    RUN(many_on_one_thread);
    RUN(waits_on_small_stacks);
    return test_end();
}
