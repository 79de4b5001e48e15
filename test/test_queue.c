/* examples/wsq_queue.h: order, limits, a full queue, purge, pause, resize, and a pool that takes no more. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "../examples/wsq_queue.h"
#include "test.h"
#include "pool.h"

enum { CALLS = 4000, ROOM = 7, MOST = 4 };

static atomic_uint now, most, ran;
static atomic_bool held;
static int order[CALLS];

static void reset(void) {
    atomic_store(&now, 0);
    atomic_store(&most, 0);
    atomic_store(&ran, 0);
    atomic_store(&held, false);
}

static void work(void *arg) {
    unsigned n = 1 + atomic_fetch_add(&now, 1), seen = atomic_load(&most);
    while (n > seen && !atomic_compare_exchange_weak(&most, &seen, n)) {}
    order[atomic_fetch_add(&ran, 1)] = (int)(intptr_t)arg;
    while (atomic_load(&held)) sched_yield();
    test_spin(200);
    atomic_fetch_sub(&now, 1);
}

static void *number(int i) { return (void *)(intptr_t)i; }

/* A blocking submit loses nothing; with a limit of one the order is that of the submits. */
static void submits(size_t capacity) {
    for (unsigned limit = 1; limit <= MOST; limit++) {
        wsq_pool *pool = pool_new((wsq_config){.workers = 3});
        wsq_queue queue;
        unsigned wrong = 0;
        reset();
        CHECK_EQ(wsq_queue_init(&queue, pool, capacity, limit, MOST), WSQ_OK);
        for (int i = 0; i < CALLS; i++) wrong += wsq_queue_submit(&queue, true, work, number(i)) != WSQ_OK;
        wsq_queue_wait(&queue);
        CHECK_EQ(atomic_load(&ran), CALLS);
        CHECK(atomic_load(&most) <= limit);
        for (int i = 0; i < CALLS && limit == 1; i++) wrong += order[i] != i;
        CHECK_EQ(wrong, 0);
        wsq_queue_fini(&queue);
        pool_end(pool);
    }
}

static void submits_queued(void) { submits(ROOM); }
static void submits_direct(void) { submits(0); }

static atomic_uint dropped;

static void drop(void *arg) {
    (void)arg;
    atomic_fetch_add(&dropped, 1);
}

/* Full, counted, purged, paused, resized. */
static void states(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = MOST});
    wsq_queue queue;
    size_t queued;
    unsigned running;
    reset();
    atomic_store(&dropped, 0);
    CHECK_EQ(wsq_queue_init(&queue, pool, 1, 0, 0), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_queue_init(&queue, pool, 1, 2, 1), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_queue_init(&queue, pool, ROOM, 2, MOST), WSQ_OK);
    atomic_store(&held, true);
    for (int i = 0; i < 2; i++) CHECK_EQ(wsq_queue_submit(&queue, true, work, number(i)), WSQ_OK);
    while (atomic_load(&ran) < 2) sched_yield();
    for (int i = 0; i < ROOM; i++) CHECK_EQ(wsq_queue_submit(&queue, false, work, number(i)), WSQ_OK);
    CHECK_EQ(wsq_queue_submit(&queue, false, work, NULL), WSQ_ERR_TIMEOUT);
    wsq_queue_counts(&queue, &queued, &running);
    CHECK(queued == ROOM && running == 2);
    wsq_queue_resize(&queue, 3); /* one more starts */
    while (atomic_load(&ran) < 3) sched_yield();
    wsq_queue_counts(&queue, &queued, &running);
    CHECK(queued == ROOM - 1 && running == 3);
    CHECK_EQ(wsq_queue_purge(&queue, drop), ROOM - 1);
    CHECK_EQ(atomic_load(&dropped), ROOM - 1);
    wsq_queue_resize(&queue, 0); /* the three return, and nothing starts */
    CHECK_EQ(wsq_queue_submit(&queue, false, work, NULL), WSQ_OK);
    atomic_store(&held, false);
    do wsq_queue_counts(&queue, &queued, &running);
    while (running != 0);
    test_nap(2000000);
    CHECK_EQ(atomic_load(&ran), 3);
    wsq_queue_resize(&queue, 3);
    wsq_queue_wait(&queue);
    CHECK_EQ(atomic_load(&ran), 4);
    wsq_queue_resize(&queue, 0); /* paused */
    for (int i = 0; i < ROOM; i++) CHECK_EQ(wsq_queue_submit(&queue, false, work, NULL), WSQ_OK);
    CHECK_EQ(wsq_queue_submit(&queue, false, work, NULL), WSQ_ERR_TIMEOUT);
    wsq_queue_wait(&queue); /* nothing runs, and nothing can start */
    test_nap(2000000);
    CHECK_EQ(atomic_load(&ran), 4);
    wsq_queue_resize(&queue, MOST + 1);
    wsq_queue_fini(&queue);
    CHECK_EQ(atomic_load(&ran), 4 + ROOM);
    CHECK(atomic_load(&most) <= MOST);
    pool_end(pool);
}

/* Three of four threads wait until the first one allows one more call, which then releases all. */
static void submit_one(test_thread *self) {
    if (self->index == 0) {
        test_nap(2000000);
        wsq_queue_resize(self->arg, MOST);
        while (atomic_load(&ran) < MOST) sched_yield();
        atomic_store(&held, false);
    } else {
        CHECK_EQ(wsq_queue_submit(self->arg, true, work, NULL), WSQ_OK);
    }
}

/* Without a capacity a call is taken only if it can start immediately; a submit waits until one has ended,
 * or until one more may run. */
static void none_queued(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = MOST});
    wsq_queue queue;
    reset();
    CHECK_EQ(wsq_queue_init(&queue, pool, 0, 2, MOST), WSQ_OK);
    atomic_store(&held, true);
    for (int i = 0; i < 2; i++) CHECK_EQ(wsq_queue_submit(&queue, false, work, NULL), WSQ_OK);
    for (int i = 0; i < 2; i++) { /* at first the two may not have started yet */
        CHECK_EQ(wsq_queue_submit(&queue, false, work, NULL), WSQ_ERR_TIMEOUT);
        while (atomic_load(&ran) < 2) sched_yield();
    }
    wsq_queue_resize(&queue, 3);
    CHECK_EQ(wsq_queue_submit(&queue, false, work, NULL), WSQ_OK);
    CHECK_EQ(wsq_queue_submit(&queue, false, work, NULL), WSQ_ERR_TIMEOUT);
    test_threads(4, submit_one, &queue);
    wsq_queue_fini(&queue);
    CHECK_EQ(atomic_load(&ran), 6);
    CHECK(atomic_load(&most) <= MOST);
    pool_end(pool);
}

/* Threads that submit, resize, pause and purge: each call runs or is dropped, once. */
static atomic_uint accepted;

static void compete(test_thread *self) {
    wsq_queue *queue = self->arg;
    for (size_t i = 0; i < 300; i++) {
        uint32_t what = test_below(&self->random, 20);
        if (what == 0) wsq_queue_resize(queue, 1 + test_below(&self->random, MOST));
        else if (what == 1) wsq_queue_resize(queue, 0), wsq_queue_resize(queue, MOST);
        else if (what == 2) wsq_queue_purge(queue, drop);
        else if (wsq_queue_submit(queue, what < 10, work, NULL) == WSQ_OK) atomic_fetch_add(&accepted, 1);
    }
}

static void races(void) {
    for (size_t round = 0; round < test_times(10); round++) {
        wsq_pool *pool = pool_new((wsq_config){.workers = 1 + (unsigned)round % 3});
        wsq_queue queue;
        reset();
        atomic_store(&dropped, 0);
        atomic_store(&accepted, 0);
        CHECK_EQ(wsq_queue_init(&queue, pool, round % 4 < 2 ? ROOM : 0, 2, MOST), WSQ_OK);
        test_threads(4, compete, &queue);
        wsq_queue_fini(&queue);
        CHECK_EQ(atomic_load(&ran) + atomic_load(&dropped), atomic_load(&accepted));
        CHECK(atomic_load(&most) <= MOST);
        pool_end(pool);
    }
}

/* The pool is cancelled while tasks that hold permits are queued: a wait for the queue ends. */
static void cancelled(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 2});
    wsq_queue queue;
    reset();
    CHECK_EQ(wsq_queue_init(&queue, pool, ROOM, 2, MOST), WSQ_OK);
    for (int i = 0; i < 100; i++) CHECK_EQ(wsq_queue_submit(&queue, true, work, number(i)), WSQ_OK);
    CHECK_EQ(wsq_pool_shutdown(pool, WSQ_CANCEL), WSQ_OK);
    wsq_queue_fini(&queue);
    pool_end(pool);
}

/* The pool is drained before a call comes: the queue refuses it and does not keep it. */
static void drained(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 1});
    wsq_queue queue;
    size_t queued;
    unsigned running;
    CHECK_EQ(wsq_queue_init(&queue, pool, ROOM, 2, MOST), WSQ_OK);
    CHECK_EQ(wsq_pool_shutdown(pool, WSQ_DRAIN), WSQ_OK);
    CHECK_EQ(wsq_queue_submit(&queue, true, work, NULL), WSQ_ERR_CLOSED);
    wsq_queue_counts(&queue, &queued, &running);
    CHECK(queued == 0 && running == 0);
    wsq_queue_fini(&queue);
    pool_end(pool);
}

/* While threads wait for room the pool closes; then every one of them is refused. */
static wsq_queue closing;

static void close_or_wait(test_thread *self) {
    wsq_pool *pool = self->arg;
    if (self->index == 0) {
        CHECK_EQ(wsq_pool_shutdown(pool, WSQ_DRAIN), WSQ_OK);
    } else if (self->index == 1) {
        while ((wsqi_load_hint(&pool->lanes[WSQ_NORMAL].outside) & 1) == 0) sched_yield();
        test_nap(5000000); /* mostly the others wait by then */
        atomic_store(&held, false);
    } else {
        CHECK_EQ(wsq_queue_submit(&closing, true, work, NULL), WSQ_ERR_CLOSED);
    }
}

static void closed_while_some_wait(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 1});
    reset();
    atomic_store(&held, true);
    CHECK_EQ(wsq_queue_init(&closing, pool, 0, 1, 1), WSQ_OK);
    CHECK_EQ(wsq_queue_submit(&closing, true, work, NULL), WSQ_OK);
    test_threads(6, close_or_wait, pool);
    CHECK_EQ(atomic_load(&ran), 1);
    wsq_queue_fini(&closing);
    pool_end(pool);
}

int main(void) {
    test_begin("test_queue");
    RUN(submits_queued);
    RUN(submits_direct);
    RUN(states);
    RUN(none_queued);
    RUN(races);
    RUN(cancelled);
    RUN(drained);
    RUN(closed_while_some_wait);
    return test_end();
}
