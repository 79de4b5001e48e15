/* A WSQ_LIFO pool: a worker runs its newest task first, thieves take the oldest, the queue grows, and
 * where it cannot, tasks go to the global queue. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "test.h"
#include "pool.h"

enum { TASKS = 5000 };

typedef struct item {
    wsq_task task;
    unsigned number;
    atomic_uint runs;
} item;

static item items[TASKS];
static unsigned order[TASKS];
static atomic_uint ran;
static unsigned spawned; /* by a parent, in one run */

static wsq_pool *lifo_new(wsq_config config) {
    config.order = WSQ_LIFO;
    return pool_new(config);
}

static wsq_poll item_run(wsq_ctx ctx, wsq_task *task) {
    item *self = wsq_container_of(task, item, task);
    (void)ctx;
    order[atomic_fetch_add(&ran, 1)] = self->number;
    atomic_fetch_add(&self->runs, 1);
    return WSQ_DONE;
}

static void item_new(unsigned number) {
    items[number].number = number;
    atomic_store(&items[number].runs, 0);
    wsq_task_init(&items[number].task, item_run);
}

static wsq_poll parent_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    for (unsigned i = 0; i < spawned; i++) {
        item_new(i);
        if (wsq_spawn(wsq_pool_of(ctx), &items[i].task) != WSQ_OK) FAIL("a spawn");
    }
    return WSQ_DONE;
}

static void family(wsq_pool *pool, unsigned count) {
    wsq_task parent;
    bool once = true;
    spawned = count;
    atomic_store(&ran, 0);
    wsq_task_init(&parent, parent_run);
    CHECK_EQ(wsq_spawn(pool, &parent), WSQ_OK);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    for (unsigned i = 0; i < count; i++) once = once && atomic_load(&items[i].runs) == 1;
    CHECK(once);
}

/* One worker: the children run in reverse, even when there are more than any ring would hold. */
static void newest_first(void) {
    unsigned counts[] = {1, 2, 100, WSQ_RING_CAPACITY, TASKS};
    for (unsigned caller_runs = 0; caller_runs < 2; caller_runs++) {
        wsq_pool *pool = lifo_new((wsq_config){.workers = 1, .caller_runs = caller_runs == 1});
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            bool reverse = true;
            family(pool, counts[i]);
            for (unsigned k = 0; k < counts[i]; k++) reverse = reverse && order[k] == counts[i] - 1 - k;
            CHECK(reverse);
        }
        pool_end(pool);
    }
}

/* A batch is as good as one spawn after the other. */
static wsq_poll batch_run(wsq_ctx ctx, wsq_task *task) {
    static wsq_task *list[TASKS];
    (void)task;
    for (unsigned i = 0; i < TASKS; i++) {
        item_new(i);
        list[i] = &items[i].task;
    }
    CHECK_EQ(wsq_spawn_batch(wsq_pool_of(ctx), list, TASKS), WSQ_OK);
    return WSQ_DONE;
}

static void batch(void) {
    wsq_pool *pool = lifo_new((wsq_config){.workers = 1});
    wsq_task parent;
    bool reverse = true;
    atomic_store(&ran, 0);
    wsq_task_init(&parent, batch_run);
    CHECK_EQ(wsq_spawn(pool, &parent), WSQ_OK);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    for (unsigned k = 0; k < TASKS; k++) reverse = reverse && order[k] == TASKS - 1 - k;
    CHECK(reverse);
    pool_end(pool);
}

/* The second of two workers takes the oldest: the parent holds on until it has. */
static atomic_int first_stolen;

static wsq_poll thief_sees(wsq_ctx ctx, wsq_task *task) {
    int none = -1;
    (void)ctx;
    atomic_compare_exchange_strong(&first_stolen, &none, (int)wsq_container_of(task, item, task)->number);
    return WSQ_DONE;
}

static wsq_poll held_parent_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    for (unsigned i = 0; i < 100; i++) {
        items[i].number = i;
        wsq_task_init(&items[i].task, thief_sees);
    }
    for (unsigned i = 0; i < 100; i++)
        if (wsq_spawn(wsq_pool_of(ctx), &items[i].task) != WSQ_OK) FAIL("a spawn");
    while (atomic_load(&first_stolen) < 0) sched_yield();
    return WSQ_DONE;
}

static void oldest_stolen(void) {
    wsq_pool *pool = lifo_new((wsq_config){.workers = 2});
    for (size_t i = 0; i < test_times(500); i++) {
        wsq_task parent;
        atomic_store(&first_stolen, -1);
        wsq_task_init(&parent, held_parent_run);
        CHECK_EQ(wsq_spawn(pool, &parent), WSQ_OK);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        CHECK_EQ(atomic_load(&first_stolen), 0);
    }
    pool_end(pool);
}

static void several_workers(void) {
    for (unsigned workers = 2; workers <= 8; workers *= 2) {
        wsq_pool *pool = lifo_new((wsq_config){.workers = workers});
        for (size_t i = 0; i < test_times(100); i++) family(pool, TASKS);
        pool_end(pool);
    }
}

/* ---- no memory to grow ---- */

static atomic_bool out_of_memory;

static void *allocate(size_t size, size_t alignment, void *user) {
    void *memory = NULL;
    (void)user;
    if (atomic_load(&out_of_memory)) return NULL;
    return posix_memalign(&memory, alignment < sizeof(void *) ? sizeof(void *) : alignment, size) ? NULL : memory;
}

static void release(void *memory, size_t size, void *user) {
    (void)size;
    (void)user;
    free(memory);
}

static void no_memory(void) {
    const wsq_allocator allocator = {allocate, release, NULL};
    for (unsigned workers = 1; workers <= 4; workers++) {
        wsq_pool *pool = lifo_new((wsq_config){.workers = workers, .allocator = &allocator});
        atomic_store(&out_of_memory, true);
        for (size_t i = 0; i < test_times(50); i++) family(pool, TASKS);
        atomic_store(&out_of_memory, false);
        family(pool, TASKS);
        pool_end(pool);
    }
}

int main(void) {
    test_begin("test_lifo");
    RUN(newest_first);
    RUN(batch);
    RUN(oldest_stolen);
    RUN(several_workers);
    RUN(no_memory);
    return test_end();
}
