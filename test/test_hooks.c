/* What the hooks are told: every beginning has its end, on the thread of the worker that is named, and
 * no event is told to another pool's user. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "test.h"
#include "pool.h"

#include <sched.h>

enum { EVENTS = WSQ_EVENT_PUBLISH + 1, WORKERS = 3, TASKS = 2000 };

/* One for each pool. Those of a worker are its own thread's. */
typedef struct witness {
    atomic_ulong told[EVENTS];
    atomic_ulong published;
    int depth[WORKERS + 8 + 64]; /* tasks, jobs and runs of each block, one above the other */
    bool asleep[WORKERS + 8 + 64];
    const void *last_task;
} witness;

static void note(void *user, wsq_event event, unsigned worker, const void *subject, uint64_t value) {
    witness *self = user;
    if (worker >= sizeof self->depth / sizeof *self->depth) FAIL("a worker's index");
    atomic_fetch_add(&self->told[event], 1);
    switch (event) {
    case WSQ_EVENT_START:
    case WSQ_EVENT_STOP: CHECK_EQ(self->depth[worker], 0); break;
    case WSQ_EVENT_PARK:
    case WSQ_EVENT_UNPARK:
        CHECK_EQ(self->asleep[worker], event == WSQ_EVENT_UNPARK);
        self->asleep[worker] = event == WSQ_EVENT_PARK;
        break;
    case WSQ_EVENT_TASK_BEGIN: self->depth[worker]++; break;
    case WSQ_EVENT_TASK_END: CHECK(self->depth[worker]-- > 0 && value <= WSQ_GONE); break;
    case WSQ_EVENT_STEAL: CHECK(subject != NULL && value != worker); break;
    case WSQ_EVENT_PUBLISH:
        CHECK(value > 0);
        atomic_fetch_add(&self->published, value);
        break;
    default: FAIL("an event");
    }
}

static unsigned long told(const witness *self, wsq_event event) {
    return atomic_load(&((witness *)self)->told[event]);
}

static wsq_pool *watched(witness *self, wsq_config config) {
    wsq_hooks hooks = {.event = note, .user = self};
    memset((void *)self, 0, sizeof *self);
    config.hooks = &hooks;
    return pool_new(config); /* it keeps a copy */
}

/* The pool is gone. */
static void check_pairs(const witness *self, unsigned long threads) {
    CHECK_EQ(told(self, WSQ_EVENT_START), threads);
    CHECK_EQ(told(self, WSQ_EVENT_STOP), threads);
    CHECK_EQ(told(self, WSQ_EVENT_PARK), told(self, WSQ_EVENT_UNPARK));
    CHECK_EQ(told(self, WSQ_EVENT_TASK_BEGIN), told(self, WSQ_EVENT_TASK_END));
}

static wsq_task tasks[TASKS];

static wsq_poll yield_once(wsq_ctx ctx, wsq_task *task) {
    static atomic_bool yielded[TASKS];
    (void)ctx;
    bool before = atomic_exchange(&yielded[task - tasks], true);
    if (before) atomic_store(&yielded[task - tasks], false);
    return before ? WSQ_DONE : WSQ_YIELD;
}

static void tasks_of(wsq_config config) {
    static witness all;
    wsq_pool *pool = watched(&all, config);
    for (int i = 0; i < TASKS; i++) {
        wsq_task_init(&tasks[i], yield_once);
        CHECK_EQ(wsq_spawn(pool, &tasks[i]), WSQ_OK);
    }
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    CHECK_EQ(told(&all, WSQ_EVENT_TASK_END), 2 * TASKS);
    pool_end(pool);
    check_pairs(&all, config.caller_runs ? 0 : config.workers);
}

static void runs_of_tasks(void) {
    tasks_of((wsq_config){.workers = 1});
    tasks_of((wsq_config){.workers = WORKERS});
    tasks_of((wsq_config){.workers = WORKERS, .order = WSQ_LIFO});
    tasks_of((wsq_config){.workers = 2, .caller_runs = true});
}

static void spin(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    (void)ctx, (void)arg;
    for (size_t i = begin; i < end; i++) sched_yield();
}

static void loop_until_stolen(wsq_ctx ctx, void *arg) {
    witness *all = arg;
    while (told(all, WSQ_EVENT_STEAL) == 0) wsq_for(ctx, 0, 100, 1, spin, NULL);
}

static void jobs_and_steals(void) {
    static witness all;
    wsq_pool *pool = watched(&all, (wsq_config){.workers = WORKERS});
    CHECK_EQ(wsq_run(pool, loop_until_stolen, &all), WSQ_OK);
    pool_end(pool);
    check_pairs(&all, WORKERS);
    CHECK(told(&all, WSQ_EVENT_PUBLISH) > 0 && atomic_load(&all.published) > 0);
    CHECK(told(&all, WSQ_EVENT_TASK_BEGIN) > told(&all, WSQ_EVENT_STEAL)); /* and the run */
}

static wsq_poll wait_for_other(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    CHECK_EQ(wsq_task_wait(task + 1), WSQ_OK);
    return WSQ_DONE;
}

static atomic_bool sent;

static wsq_poll pend_until_sent(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    return atomic_load(&sent) ? WSQ_DONE : WSQ_PENDING;
}

/* A stand-in is a worker, too; and a second pool has a witness of its own. */
static void standins_and_two_pools(void) {
    static witness all, others;
    wsq_pool *pool = watched(&all, (wsq_config){.workers = 1});
    wsq_pool *other = watched(&others, (wsq_config){.workers = 1});
    wsq_task_init(&tasks[0], wait_for_other);
    wsq_task_init(&tasks[1], pend_until_sent);
    CHECK_EQ(wsq_spawn(pool, &tasks[1]), WSQ_OK);
    CHECK_EQ(wsq_spawn(pool, &tasks[0]), WSQ_OK);
    test_nap(2000000); /* most times it blocks meanwhile */
    atomic_store(&sent, true);
    wsq_wake(&tasks[1]);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    pool_end(pool);
    pool_end(other);
    CHECK(told(&all, WSQ_EVENT_START) <= 2);
    check_pairs(&all, told(&all, WSQ_EVENT_START));
    check_pairs(&others, 1);
    CHECK_EQ(told(&others, WSQ_EVENT_TASK_BEGIN), 0);
}

int main(void) {
    test_begin("test_hooks");
    RUN(runs_of_tasks);
    RUN(jobs_and_steals);
    RUN(standins_and_two_pools);
    return test_end();
}
