/* stages.h - two pools, three tasks, and stages that tests wait for: a test holds the others with them
 * until they are where it hurts, so that it needs no luck. Include it in place of wsq.h. */
#ifndef TEST_STAGES_H
#define TEST_STAGES_H

#include "test.h"
#include "pool.h"
#include "compose.h"

static wsq_pool *here, *there; /* the pools of the test that runs */
static atomic_uint stage;      /* how far it is */
static step first, second, third;

static inline void reach(unsigned n) { atomic_store(&stage, n); }

static inline void await(unsigned n) {
    while (atomic_load(&stage) < n) sched_yield();
}

static inline void until_stop(wsq_ctx ctx) {
    while (!wsq_cancelled(ctx)) sched_yield();
}

static inline void spawn(wsq_pool *pool, step *task) { CHECK_EQ(wsq_spawn(pool, &task->task), WSQ_OK); }

static inline void spawn_on(wsq_pool *pool, unsigned worker, step *task) {
    CHECK_EQ(wsq_spawn_on(pool, worker, &task->task), WSQ_OK);
}

static inline void await_task(step *task) { CHECK_EQ(wsq_task_wait(&task->task), WSQ_OK); }

static inline void cancel(wsq_pool *pool) {
    CHECK_EQ(wsq_pool_shutdown(pool, WSQ_CANCEL), WSQ_OK);
    CHECK_EQ(wsq_pool_pending(pool), 0);
}

/* It was cancelled: it has not run (again), and was cleaned up once. */
static inline void cancelled(step *task, unsigned runs) {
    CHECK(wsq_task_done(&task->task));
    CHECK_EQ(task->runs, runs);
    CHECK_EQ(task->cleanups, 1);
}

/* So many of its permits, and no thread searches. */
static inline void asleep(unsigned permits) {
    uint64_t s;
    do {
        sched_yield();
        s = wsqi_load_acq(&here->permits);
    } while (wsqi_free_permits(s) != permits || wsqi_searching(s) != 0);
}

static inline wsq_poll pend_once(wsq_ctx ctx, step *self) {
    (void)ctx;
    return self->runs == 1 ? WSQ_PENDING : WSQ_DONE;
}

static inline wsq_poll wait_for_arg(wsq_ctx ctx, step *self) {
    (void)ctx;
    reach(1);
    await_task(self->arg);
    return WSQ_DONE;
}

static inline wsq_poll wake_arg(wsq_ctx ctx, step *self) {
    step *other = self->arg;
    (void)ctx;
    wsq_wake(&other->task);
    return WSQ_DONE;
}

static inline void start(wsq_config one, wsq_config other) {
    reach(0);
    here = pool_new(one);
    there = pool_new(other);
}

static inline void start_one(wsq_config config) {
    reach(0);
    here = pool_new(config);
}

/* First nobody is in the middle of a task of one, which may call the other. */
static inline void close_both(void) {
    CHECK_EQ(wsq_pool_wait(here), WSQ_OK);
    CHECK_EQ(wsq_pool_wait(there), WSQ_OK);
    pool_close(there);
    pool_close(here);
}

#endif /* TEST_STAGES_H */
