/* Pools without threads of their own: threads come, work, are sent away and come back. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "test.h"

#include "pool.h"

#define TASKS 20000

static wsq_task tasks[TASKS];
static atomic_uint ran;
static atomic_uint inside;

static wsq_poll count(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    (void)task;
    atomic_fetch_add(&ran, 1);
    return WSQ_DONE;
}

static void spawn_all(wsq_pool *pool, size_t n) {
    atomic_store(&ran, 0);
    for (size_t i = 0; i < n; i++) {
        wsq_task_init(&tasks[i], count);
        CHECK_EQ(wsq_spawn(pool, &tasks[i]), WSQ_OK);
    }
}

/* Thread 0 spawns, waits and shuts down; the others lend themselves until then. */
static void lend_and_spawn(test_thread *self) {
    wsq_pool *pool = self->arg;
    size_t n = test_times(TASKS) < TASKS ? test_times(TASKS) : TASKS;
    if (self->index != 0) {
        CHECK_EQ(wsq_worker_enter(pool), WSQ_OK);
        return;
    }
    for (int round = 0; round < 5; round++) {
        spawn_all(pool, n);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        CHECK_EQ(atomic_load(&ran), n);
    }
    /* A thread that comes after the shutdown has begun would be refused. */
    for (unsigned i = 0; i < wsq_pool_workers(pool); i++)
        while (wsqi_load_acq(&wsqi_block(pool, i)->lease) % 4 == 0) test_nap(20000);
    CHECK_EQ(wsq_pool_shutdown(pool, WSQ_DRAIN), WSQ_OK);
}

static void threads_are_lent(void) {
    for (unsigned workers = 1; workers <= 4; workers++) {
        wsq_pool *pool = pool_new((wsq_config){.lend_only = true, .workers = workers});
        test_threads(workers + 1, lend_and_spawn, pool);
        CHECK_EQ(wsq_worker_enter(pool), WSQ_ERR_CLOSED);
        pool_end(pool);
    }
}

/* Every thread but the first enters again and again, and is sent away each time. */
static void come_and_go(test_thread *self) {
    wsq_pool *pool = self->arg;
    uint64_t random = test_seed + self->index;
    if (self->index != 0) {
        wsq_result result;
        while ((result = wsq_worker_enter(pool)) != WSQ_ERR_CLOSED) CHECK_EQ(result, WSQ_OK);
        return;
    }
    for (size_t i = 0; i < test_times(200); i++) {
        spawn_all(pool, 500);
        while (!wsq_task_done(&tasks[499])) {
            wsq_worker_dismiss(pool, test_below(&random, wsq_pool_workers(pool)));
            sched_yield();
        }
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        CHECK_EQ(atomic_load(&ran), 500);
    }
    CHECK_EQ(wsq_pool_shutdown(pool, test_below(&random, 2) ? WSQ_CANCEL : WSQ_DRAIN), WSQ_OK);
}

static void threads_come_and_go(void) {
    wsq_pool *pool = pool_new((wsq_config){.lend_only = true, .workers = 3});
    test_threads(4, come_and_go, pool);
    pool_end(pool);
}

/* More threads than workers; a task that sends its own worker away. */
static wsq_poll leaves(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    CHECK_EQ(wsq_worker_enter(wsq_pool_of(ctx)), WSQ_ERR_INVALID);
    wsq_worker_dismiss(wsq_pool_of(ctx), wsq_worker_index(ctx));
    return WSQ_DONE;
}

static void enter_once(test_thread *self) {
    wsq_result result = wsq_worker_enter(self->arg);
    CHECK(result == WSQ_OK || result == WSQ_ERR_INVALID);
    if (result == WSQ_OK) atomic_fetch_add(&inside, 1);
}

static void a_task_sends_its_worker_away(void) {
    wsq_pool *pool = pool_new((wsq_config){.lend_only = true, .workers = 1});
    atomic_store(&inside, 0);
    wsq_task_init(&tasks[0], leaves);
    CHECK_EQ(wsq_spawn(pool, &tasks[0]), WSQ_OK);
    test_threads(1, enter_once, pool);
    CHECK_EQ(atomic_load(&inside), 1);
    CHECK(wsq_task_done(&tasks[0]));
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    pool_end(pool);
}

/* A dismissal is for the thread that is there: not for one that comes after it has returned. */
static atomic_bool calls_over, is_out;

static void dismissed_again_and_again(test_thread *self) {
    wsq_pool *pool = self->arg;
    if (self->index != 0) { /* two that send it away, as it goes; until then, for it sleeps in there */
        while (!atomic_load(&is_out)) wsq_worker_dismiss(pool, 0);
        atomic_fetch_add(&inside, 1);
        return;
    }
    for (size_t i = 0; i < test_times(1000); i++) CHECK_EQ(wsq_worker_enter(pool), WSQ_OK);
    atomic_store(&is_out, true);
    while (atomic_load(&inside) < 2) sched_yield();
    wsq_task_init(&tasks[0], leaves);
    while (!wsq_task_done(&tasks[0])) {
        CHECK_EQ(atomic_load(&calls_over), false); /* this is the only entry that they are not for */
        atomic_store(&calls_over, true);
        CHECK_EQ(wsq_spawn(pool, &tasks[0]), WSQ_OK);
        CHECK_EQ(wsq_worker_enter(pool), WSQ_OK);
    }
}

static void dismissed_too_late(void) {
    wsq_pool *pool = pool_new((wsq_config){.lend_only = true, .workers = 1});
    atomic_store(&inside, 0);
    atomic_store(&calls_over, false);
    atomic_store(&is_out, false);
    test_threads(3, dismissed_again_and_again, pool);
    pool_end(pool);
}

/* What is queued waits for a thread, also in a drain. */
static void drain_or_enter(test_thread *self) {
    if (self->index == 0) CHECK_EQ(wsq_pool_shutdown(self->arg, WSQ_DRAIN), WSQ_OK);
    else CHECK_EQ(wsq_worker_enter(self->arg), WSQ_OK);
}

static void a_drain_waits_for_a_thread(void) {
    wsq_pool *pool = pool_new((wsq_config){.lend_only = true, .workers = 1});
    spawn_all(pool, 100);
    test_threads(2, drain_or_enter, pool);
    CHECK_EQ(atomic_load(&ran), 100);
    pool_end(pool);
}

static void misuse(void) {
    wsq_pool *pool = NULL;
    wsq_config both = {.lend_only = true, .caller_runs = true};
    CHECK_EQ(wsq_pool_create(&pool, &both), WSQ_ERR_INVALID);
    pool = pool_new((wsq_config){.workers = 1});
    CHECK_EQ(wsq_worker_enter(pool), WSQ_ERR_INVALID);
    wsq_worker_dismiss(pool, 0);
    CHECK_EQ(wsq_worker_enter(NULL), WSQ_ERR_INVALID);
    wsq_worker_dismiss(NULL, 0);
    pool_end(pool);
}

/* ---- what the end of a group starts as the last thread leaves ---- */

static wsq_poll send_away(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    wsq_worker_dismiss(wsq_pool_of(ctx), wsq_worker_index(ctx));
    return WSQ_DONE;
}

static void group_ends_on_leaving(void) {
    wsq_pool *pool = pool_new((wsq_config){.lend_only = true, .workers = 1});
    wsq_group group;
    wsq_task_init(&tasks[0], send_away);
    wsq_task_init(&tasks[1], count);
    CHECK_EQ(wsq_group_init(&group, pool), WSQ_OK);
    CHECK_EQ(wsq_group_spawn(&group, &tasks[0]), WSQ_OK);
    CHECK_EQ(wsq_group_then(&group, &tasks[1]), WSQ_OK);
    CHECK_EQ(wsq_worker_enter(pool), WSQ_OK);
    CHECK_EQ(wsqi_queue_length(wsqi_block(pool, 0)), 0); /* nobody is there */
    CHECK_EQ(wsq_pool_shutdown(pool, WSQ_CANCEL), WSQ_OK);
    CHECK_EQ(wsq_task_wait(&tasks[1]), WSQ_ERR_CANCELLED);
    pool_end(pool);
}

/* Also where it has so many tasks that a thread which only blocks would keep them. */
static wsq_task left[2 * WSQ_RING_CAPACITY];

static wsq_poll spawn_and_go(wsq_ctx ctx, wsq_task *task) {
    for (int i = 0; i < 2 * WSQ_RING_CAPACITY; i++) CHECK_EQ(wsq_spawn(wsq_pool_of(ctx), &left[i]), WSQ_OK);
    return send_away(ctx, task);
}

static void leaves_a_long_queue(void) {
    wsq_pool *pool = pool_new((wsq_config){.lend_only = true, .workers = 1, .order = WSQ_LIFO});
    wsq_task_init(&tasks[0], spawn_and_go);
    for (int i = 0; i < 2 * WSQ_RING_CAPACITY; i++) wsq_task_init(&left[i], count);
    CHECK_EQ(wsq_spawn(pool, &tasks[0]), WSQ_OK);
    CHECK_EQ(wsq_worker_enter(pool), WSQ_OK);
    CHECK_EQ(wsq_pool_pending(pool), 2 * WSQ_RING_CAPACITY);
    CHECK_EQ(wsq_pool_shutdown(pool, WSQ_CANCEL), WSQ_OK); /* needs no thread */
    for (int i = 0; i < 2 * WSQ_RING_CAPACITY; i++) CHECK_EQ(wsq_task_wait(&left[i]), WSQ_ERR_CANCELLED);
    pool_end(pool);
}

int main(void) {
    test_begin("test_lent");
    RUN(threads_are_lent);
    RUN(threads_come_and_go);
    RUN(a_task_sends_its_worker_away);
    RUN(dismissed_too_late);
    RUN(a_drain_waits_for_a_thread);
    RUN(misuse);
    RUN(group_ends_on_leaving);
    RUN(leaves_a_long_queue);
    return test_end();
}
