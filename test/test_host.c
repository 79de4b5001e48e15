/* What a host does to its own threads while they are in a call of wsq.h: it cancels them. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "test.h"
#include "pool.h"

#ifdef PTHREAD_CANCEL_DISABLE

static wsq_poll pends(wsq_ctx ctx, wsq_task *task) {
    static atomic_uint runs;
    (void)ctx, (void)task;
    return atomic_fetch_add(&runs, 1) % 2 == 0 ? WSQ_PENDING : WSQ_DONE;
}

typedef struct victim {
    wsq_pool *pool;
    wsq_task task;
    atomic_bool returned;
} victim;

/* A thread that is to be cancelled while it is in this call. */
typedef void (*call_fn)(victim *self);

static void in_pool_wait(victim *self) { CHECK_EQ(wsq_pool_wait(self->pool), WSQ_OK); }
static void in_pool_wait_for(victim *self) {
    CHECK_EQ(wsq_pool_wait_for(self->pool, UINT64_MAX / 2), WSQ_OK);
}
static void in_task_wait(victim *self) { CHECK_EQ(wsq_task_wait(&self->task), WSQ_OK); }
static void in_shutdown(victim *self) { CHECK_EQ(wsq_pool_shutdown(self->pool, WSQ_DRAIN), WSQ_OK); }

static call_fn current;

static void *cancelled_main(void *arg) {
    victim *self = arg;
    current(self);
    atomic_store(&self->returned, true);
    pthread_testcancel();
    FAIL("it was not cancelled");
    return NULL;
}

/* The thread goes on until what it waits for has come, and dies after that; the pool works, and ends. */
static void cancel_in(call_fn call, wsq_config config) {
    victim self = {.pool = pool_new(config)};
    pthread_t thread;
    void *result = NULL;
    current = call;
    wsq_task_init(&self.task, pends);
    CHECK_EQ(wsq_spawn(self.pool, &self.task), WSQ_OK);
    CHECK_EQ(pthread_create(&thread, NULL, cancelled_main, &self), 0);
    test_nap(5000000);
    CHECK_EQ(pthread_cancel(thread), 0);
    test_nap(5000000);
    CHECK(!atomic_load(&self.returned));
    while (!wsq_task_done(&self.task)) {
        wsq_wake(&self.task);
        if (config.caller_runs) wsq_pool_run_one(self.pool);
        sched_yield();
    }
    CHECK_EQ(pthread_join(thread, &result), 0);
    CHECK(result == PTHREAD_CANCELED);
    CHECK(atomic_load(&self.returned));
    wsq_pool_destroy(self.pool);
}

static void cancelled_threads(void) {
    static const call_fn calls[] = {in_pool_wait, in_pool_wait_for, in_task_wait, in_shutdown};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        cancel_in(calls[i], (wsq_config){.workers = 2});
        cancel_in(calls[i], (wsq_config){.caller_runs = true});
    }
}

/* Every call of a pool's life by a thread that is about to be cancelled: nothing is left behind. */
static atomic_long blocks;

static void *counted_take(size_t size, size_t alignment, void *user) {
    void *memory = NULL;
    (void)user;
    if (alignment < sizeof(void *)) alignment = sizeof(void *);
    if (posix_memalign(&memory, alignment, size) != 0) return NULL;
    atomic_fetch_add(&blocks, 1);
    return memory;
}

static void counted_give(void *memory, size_t size, void *user) {
    (void)size, (void)user;
    atomic_fetch_sub(&blocks, 1);
    free(memory);
}

static void *life_main(void *arg) {
    static const wsq_allocator allocator = {.allocate = counted_take, .release = counted_give};
    const wsq_config config = {.workers = 3, .allocator = &allocator};
    wsq_pool *pool;
    wsq_task task;
    (void)arg;
    pthread_cancel(pthread_self());
    CHECK_EQ(wsq_pool_create(&pool, &config), WSQ_OK);
    wsq_task_init(&task, pends);
    CHECK_EQ(wsq_spawn(pool, &task), WSQ_OK);
    while (!wsq_task_done(&task)) wsq_wake(&task);
    wsq_pool_destroy(pool);
    pthread_testcancel();
    return NULL;
}

static void cancelled_life(void) {
    for (size_t i = 0; i < test_times(20); i++) {
        pthread_t thread;
        CHECK_EQ(pthread_create(&thread, NULL, life_main, NULL), 0);
        pthread_join(thread, NULL);
        CHECK_EQ(atomic_load(&blocks), 0);
    }
}

int main(void) {
    test_begin("test_host");
    RUN(cancelled_threads);
    RUN(cancelled_life);
    return test_end();
}

#else
int main(void) {
    test_begin("test_host");
    return test_end();
}
#endif
