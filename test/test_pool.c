/* The pool: its life cycle under every failure, misuse that must be an error and not a hang, its counts,
 * and that nothing is allocated once it runs. */
#include "refuse.h"
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "counted.h"

/* An allocator that remembers sizes: the pool must give back what it took. */
static void *allocate(size_t size, size_t alignment, void *user) {
    void *memory = NULL;
    atomic_fetch_add(&allocations, 1);
    if (!may(&allocations_left)) return NULL;
    if (alignment < sizeof(void *)) alignment = sizeof(void *);
    if (posix_memalign(&memory, alignment, size) != 0) return NULL;
    atomic_fetch_add((atomic_long *)user, (long)size);
    return memory;
}

static void release(void *memory, size_t size, void *user) {
    CHECK(memory != NULL);
    atomic_fetch_sub((atomic_long *)user, (long)size);
    free(memory);
}

static const wsq_allocator allocator = {allocate, release, &bytes};

/* ---- sizes and names ---- */

static void sizes(void) {
    CHECK(sizeof(wsq_task) <= 48);
    CHECK(sizeof(wsqi_worker) <= 16384);
    CHECK_EQ(sizeof(wsq_ctx), sizeof(void *));
}

static void result_strings(void) {
    for (int i = 0; i >= WSQ_ERR_CANCELLED; i--) {
        const char *text = wsq_result_string((wsq_result)i);
        CHECK(text != NULL && text[0] != 0);
        for (int k = 0; k > i; k--) CHECK(strcmp(text, wsq_result_string((wsq_result)k)) != 0);
    }
    CHECK(wsq_result_string((wsq_result)12345) != NULL);
}

/* ---- create ---- */

static void life_cycle(void) {
    wsq_pool *pool = NULL;
    errand one;
    CHECK_EQ(wsq_pool_create(NULL, NULL), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_pool_create(&pool, NULL), WSQ_OK);
    CHECK(wsq_pool_workers(pool) >= 1);
    run_some(pool, 100);
    wsq_pool_destroy(pool);
    wsq_pool_destroy(NULL);
    check_nothing_left();

    pool = pool_new((wsq_config){.workers = 2});
    CHECK_EQ(wsq_pool_workers(pool), 2);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK); /* nothing to wait for */
    run_some(pool, 10);
    CHECK_EQ(wsq_pool_shutdown(pool, WSQ_DRAIN), WSQ_OK);
    CHECK_EQ(wsq_pool_shutdown(pool, WSQ_DRAIN), WSQ_OK);
    CHECK_EQ(wsq_pool_shutdown(pool, WSQ_CANCEL), WSQ_OK);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    errand_new(&one, errand_run);
    CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_ERR_CLOSED);
    CHECK_EQ(wsq_spawn_batch(pool, &(wsq_task *){&one.task}, 1), WSQ_ERR_CLOSED);
    CHECK_EQ(wsq_pool_pending(pool), 0);
    wsq_pool *other = pool_new((wsq_config){.workers = 1});
    CHECK_EQ(wsq_spawn(other, &one.task), WSQ_OK); /* the refused task is as it was */
    wsq_pool_destroy(other);                       /* which drains */
    CHECK_EQ(one.runs, 1);
    wsq_pool_destroy(pool);
    check_nothing_left();
}

static void nulls(void) {
    wsq_task task;
    wsq_task_init(&task, errand_run);
    CHECK_EQ(wsq_pool_shutdown(NULL, WSQ_DRAIN), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_pool_wait(NULL), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_spawn(NULL, &task), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_spawn_batch(NULL, NULL, 0), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_task_wait(NULL), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_task_wait(&task), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_run(NULL, NULL, NULL), WSQ_ERR_INVALID);
    wsq_pool *pool = pool_new((wsq_config){.workers = 1});
    CHECK_EQ(wsq_pool_shutdown(pool, (wsq_shutdown)17), WSQ_ERR_INVALID);
    run_some(pool, 1);
    wsq_pool_destroy(pool);
}

static void refused(wsq_config config) {
    wsq_pool *pool = NULL;
    CHECK(wsq_pool_create(&pool, &config) < 0);
    CHECK(pool == NULL);
    check_nothing_left();
}

static void accepted(wsq_config config) {
    wsq_pool *pool = pool_new(config);
    run_some(pool, 1000);
    wsq_pool_destroy(pool);
    check_nothing_left();
}

static void absurd_configurations(void) {
    const wsq_allocator half = {allocate, NULL, NULL}, other_half = {NULL, release, NULL};
    refused((wsq_config){.workers = UINT32_MAX});
    refused((wsq_config){.workers = 70000});
    refused((wsq_config){.workers = 1, .order = (wsq_order)5});
    refused((wsq_config){.workers = 1, .allocator = &half});
    refused((wsq_config){.workers = 1, .allocator = &other_half});
    refused((wsq_config){.workers = 1, .min_interval = 10, .max_interval = 9});
#ifndef _WIN32 /* which gives every stack at least a page */
    refused((wsq_config){.workers = 2, .stack_size = 1});
#endif
    refused((wsq_config){.workers = 2, .stack_size = SIZE_MAX});
    accepted((wsq_config){.workers = 2, .stack_size = 1 << 20});
    accepted((wsq_config){.workers = 2, .min_interval = UINT32_MAX});
    accepted((wsq_config){.workers = 2, .min_interval = 1, .max_interval = 1});
    accepted((wsq_config){.workers = 2, .target_latency_ns = UINT64_MAX, .max_interval = UINT32_MAX});
    accepted((wsq_config){.workers = 2, .target_latency_ns = 1});
    accepted((wsq_config){.workers = 2, .budget = 1});
    accepted((wsq_config){.workers = 2, .budget = UINT32_MAX});
    accepted((wsq_config){.workers = 2, .lifo_cap = UINT32_MAX - 1});
    accepted((wsq_config){.workers = 2, .lifo_cap = WSQ_LIFO_OFF});
    accepted((wsq_config){.workers = 2, .park_timeout_ns = 1});
    accepted((wsq_config){.workers = 2, .park_timeout_ns = UINT64_MAX});
    accepted((wsq_config){.workers = 2, .max_standins = UINT32_MAX});
    accepted((wsq_config){.workers = 2, .name = ""});
    accepted((wsq_config){.workers = 2, .name = "a name that is longer than any system allows"});
    accepted((wsq_config){.workers = 2, .name = "%s%n"});
}

/* The k-th allocation fails, or the k-th thread, or what a thread needs. */
static void every_failure_of(atomic_int *left, wsq_config config) {
    wsq_result result = WSQ_OK;
    int k = 0;
    do {
        wsq_pool *pool = NULL;
        atomic_store(left, k++);
        result = wsq_pool_create(&pool, &config);
        atomic_store(left, EVER);
        CHECK_EQ(pool != NULL, result == WSQ_OK);
        if (result == WSQ_OK) {
            run_some(pool, 100);
            wsq_pool_destroy(pool);
        } else {
            CHECK(result == WSQ_ERR_MEMORY || result == WSQ_ERR_THREAD);
        }
        check_nothing_left();
    } while (result != WSQ_OK);
    CHECK(k > 1);
}

static void every_failure(void) {
    every_failure_of(&allocations_left, (wsq_config){.workers = 4});
    every_failure_of(&allocations_left, (wsq_config){.workers = 4, .allocator = &allocator});
    every_failure_of(&allocations_left, (wsq_config){.workers = 4, .order = WSQ_LIFO});
    every_failure_of(&allocations_left, (wsq_config){.workers = 4, .order = WSQ_LIFO, .allocator = &allocator});
    every_failure_of(&calls_left, (wsq_config){.workers = 4});
    every_failure_of(&calls_left, (wsq_config){.workers = 4, .order = WSQ_LIFO});
    for (size_t i = 0; i < test_times(20); i++)
        every_failure_of(&calls_left, (wsq_config){.workers = 9, .allocator = &allocator});
}

static void sizes_of_pools(void) {
    accepted((wsq_config){.workers = 1});
    accepted((wsq_config){.workers = 65}); /* bitmaps of two words, and of four */
    accepted((wsq_config){.workers = 200});
    accepted((wsq_config){.workers = 200, .order = WSQ_LIFO});
}

/* Created and destroyed at once: the threads may not have begun yet. */
static void short_lives(void) {
    for (size_t i = 0; i < test_times(300); i++) wsq_pool_destroy(pool_new((wsq_config){.workers = 3}));
    check_nothing_left();
}

/* ---- several pools; a task of one spawns into another ---- */

enum { POOLS = 4 };

typedef struct traveller {
    wsq_task task;
    wsq_pool **pools;
    struct traveller *next;
    atomic_uint *arrivals;
} traveller;

static wsq_poll traveller_run(wsq_ctx ctx, wsq_task *task) {
    traveller *self = wsq_container_of(task, traveller, task);
    (void)ctx;
    atomic_fetch_add(self->arrivals, 1);
    if (self->next && wsq_spawn(self->pools[atomic_load(self->arrivals) % POOLS], &self->next->task) != WSQ_OK)
        FAIL("a spawn into another pool");
    return WSQ_DONE;
}

static void several_pools(void) {
    enum { STEPS = 2000 };
    static traveller all[STEPS];
    wsq_pool *pools[POOLS];
    atomic_uint arrivals = 0;
    for (unsigned i = 0; i < POOLS; i++) pools[i] = pool_new((wsq_config){.workers = 1 + i});
    for (int i = 0; i < STEPS; i++) {
        all[i] = (traveller){.pools = pools, .next = i + 1 < STEPS ? &all[i + 1] : NULL, .arrivals = &arrivals};
        wsq_task_init(&all[i].task, traveller_run);
    }
    CHECK_EQ(wsq_spawn(pools[0], &all[0].task), WSQ_OK);
    while (atomic_load(&arrivals) < STEPS) sched_yield();
    for (int i = 0; i < POOLS; i++) CHECK_EQ(wsq_pool_wait(pools[i]), WSQ_OK);
    for (int i = 0; i < POOLS; i++) wsq_pool_destroy(pools[i]);
    check_nothing_left();
}

/* ---- caller_runs: the same seed gives the same order, however long the tasks take ---- */

typedef struct walker {
    wsq_task task;
    struct diary *diary;
    unsigned number;
} walker;

enum { WALKERS = 3000 };

typedef struct diary {
    walker walkers[WALKERS];
    unsigned born;
    uint64_t hash;
    uint32_t delay;
} diary;

static walker *walker_new(diary *book) {
    walker *self = &book->walkers[book->born];
    self->number = book->born++;
    self->diary = book;
    return self;
}

static wsq_poll walker_run(wsq_ctx ctx, wsq_task *task) {
    walker *self = wsq_container_of(task, walker, task);
    diary *book = self->diary;
    uint64_t entry = book->hash ^ ((uint64_t)self->number << 8 | wsq_worker_index(ctx));
    book->hash = test_random(&entry);
    test_spin(book->delay);
    for (unsigned i = 0; i < self->number % 4 && book->born < WALKERS; i++) {
        walker *child = walker_new(book);
        wsq_task_init(&child->task, walker_run);
        if (wsq_spawn(wsq_pool_of(ctx), &child->task) != WSQ_OK) FAIL("a spawn");
    }
    return self->number % 5 == 0 && book->hash % 2 ? WSQ_YIELD : WSQ_DONE;
}

/* Three seeds of tasks, and some from outside in between. */
static uint64_t walk(uint64_t seed, uint32_t delay) {
    static diary book;
    wsq_pool *pool = pool_new((wsq_config){.workers = 4, .caller_runs = true, .seed = seed});
    memset((void *)&book, 0, sizeof book);
    book.delay = delay;
    for (int i = 0; i < 1000; i++) {
        if (i % 10 == 0 && book.born < WALKERS) {
            walker *one = walker_new(&book);
            wsq_task_init(&one->task, walker_run);
            CHECK_EQ(wsq_spawn(pool, &one->task), WSQ_OK);
        }
        wsq_pool_run_one(pool);
    }
    while (wsq_pool_run_one(pool)) {}
    CHECK_EQ(wsq_pool_pending(pool), 0);
    wsq_pool_destroy(pool);
    return book.hash;
}

static void caller_runs(void) {
    uint64_t seed = test_seed | 1, first = walk(seed, 0);
    bool differ = false;
    for (uint32_t i = 1; i <= 5; i++) CHECK(walk(seed, i * 2000) == first);
    for (uint64_t i = 1; i <= 5; i++) differ = differ || walk(seed + 2 * i, 0) != first;
    CHECK(differ);
    check_nothing_left();
}

/* One thread at a time works, also where threads wait in the middle of their own runs. */
static void wait_in_run(wsq_ctx ctx, void *arg) {
    errand some[4];
    (void)arg;
    for (int i = 0; i < 4; i++) {
        errand_new(&some[i], errand_run);
        CHECK_EQ(wsq_spawn(wsq_pool_of(ctx), &some[i].task), WSQ_OK);
    }
    for (int i = 4; i-- > 0;) CHECK_EQ(wsq_task_wait(&some[i].task), WSQ_OK);
}

static void run_and_wait(test_thread *self) {
    for (size_t i = 0; i < test_times(500); i++) CHECK_EQ(wsq_run(self->arg, wait_in_run, NULL), WSQ_OK);
}

/* Each call finds the one task that can run, at whichever of many workers it is, in its ring or its slot. */
static wsq_task chain[200], pair[2];

static wsq_poll chain_run(wsq_ctx ctx, wsq_task *task) {
    if (task + 1 < chain + 200) CHECK_EQ(wsq_spawn(wsq_pool_of(ctx), task + 1), WSQ_OK);
    return WSQ_DONE;
}

static wsq_poll pair_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    wsq_wake(&pair[task == pair]);
    return WSQ_PENDING;
}

static void caller_runs_finds_all(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 60, .caller_runs = true});
    for (int i = 0; i < 200; i++) wsq_task_init(&chain[i], chain_run);
    CHECK_EQ(wsq_spawn(pool, chain), WSQ_OK);
    for (int i = 0; i < 200; i++) CHECK(wsq_pool_run_one(pool));
    CHECK(wsq_task_done(&chain[199]));
    for (int i = 0; i < 2; i++) wsq_task_init(&pair[i], pair_run);
    for (int i = 0; i < 2; i++) CHECK_EQ(wsq_spawn(pool, &pair[i]), WSQ_OK);
    for (int i = 0; i < 200; i++) CHECK(wsq_pool_run_one(pool));
    CHECK_EQ(wsq_pool_shutdown(pool, WSQ_CANCEL), WSQ_OK);
    wsq_pool_destroy(pool);
    check_nothing_left();
}

static void caller_runs_for_many(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 2, .caller_runs = true});
    test_threads(3, run_and_wait, pool);
    CHECK_EQ(wsq_pool_pending(pool), 0);
    wsq_pool_destroy(pool);
    check_nothing_left();
}

/* ---- errors on the pool's own threads, never a hang ---- */

static wsq_result act_wait(wsq_pool *pool) { return wsq_pool_wait(pool); }
static wsq_result act_drain(wsq_pool *pool) { return wsq_pool_shutdown(pool, WSQ_DRAIN); }
static wsq_result act_cancel(wsq_pool *pool) { return wsq_pool_shutdown(pool, WSQ_CANCEL); }

static wsq_result act_destroy(wsq_pool *pool) {
    wsq_pool_destroy(pool);
    return WSQ_ERR_INVALID;
}

typedef struct inside {
    wsq_pool *pool;
    wsq_result (*act)(wsq_pool *pool);
    wsq_result result;
} inside;

static void act_in_run(wsq_ctx ctx, void *arg) {
    inside *self = arg;
    (void)ctx;
    self->result = self->act(self->pool);
}

static wsq_result (*acts[])(wsq_pool *pool) = {act_wait, act_drain, act_cancel, act_destroy};
static wsq_result (*nested_act)(wsq_pool *pool);

/* The same in a run inside of a task. */
static wsq_result act_nested(wsq_pool *pool) {
    inside here = {pool, nested_act, WSQ_OK};
    CHECK_EQ(wsq_run(pool, act_in_run, &here), WSQ_OK);
    return here.result;
}

static void check_act(wsq_pool *pool, wsq_result (*act)(wsq_pool *pool)) {
    errand one;
    errand_new(&one, errand_run);
    one.act = act;
    one.pool = pool;
    CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_OK);
    CHECK_EQ(wsq_task_wait(&one.task), WSQ_OK);
    CHECK_EQ(one.result, WSQ_ERR_INVALID);
}

static void misuse_on_a_worker(void) {
    for (unsigned caller = 0; caller < 2; caller++) {
        wsq_pool *pool = pool_new((wsq_config){.workers = 2, .caller_runs = caller == 1});
        for (size_t i = 0; i < sizeof acts / sizeof *acts; i++) {
            inside here = {pool, acts[i], WSQ_OK};
            check_act(pool, acts[i]);
            nested_act = acts[i];
            check_act(pool, act_nested);
            CHECK_EQ(wsq_run(pool, act_in_run, &here), WSQ_OK); /* the caller is a worker meanwhile */
            CHECK_EQ(here.result, WSQ_ERR_INVALID);
        }
        run_some(pool, 100);
        wsq_pool_destroy(pool);
    }
    check_nothing_left();
}

/* ---- many tasks from outside ---- */

enum { SUBMITTERS = 8 };

typedef struct load {
    wsq_pool *pool;
    errand *errands;
    size_t share;
} load;

static void carry(test_thread *self) {
    load *all = self->arg;
    errand *mine = all->errands + self->index * all->share;
    for (size_t i = 0; i < all->share; i++) {
        errand_new(&mine[i], errand_run);
        if (wsq_spawn(all->pool, &mine[i].task) != WSQ_OK) FAIL("a spawn");
    }
}

static void check_stats(wsq_pool *pool, uint64_t tasks) {
    wsq_stats all, one, sum = {0};
    wsq_pool_stats(pool, &all);
    for (unsigned i = 0; i < wsq_pool_workers(pool); i++) {
        wsq_worker_stats(pool, i, &one);
        sum.run += one.run;
        sum.finished += one.finished;
        CHECK_EQ(one.queue_depth, 0);
    }
    CHECK_EQ(all.spawned, tasks);
    CHECK_EQ(all.finished, tasks);
    CHECK_EQ(all.run, tasks);
    CHECK_EQ(sum.run, all.run);
    CHECK_EQ(sum.finished, all.finished);
    CHECK_EQ(all.queue_depth, 0);
    CHECK_EQ(all.rescued, 0);
    CHECK(all.global_tasks <= tasks);
    CHECK(all.global_batches <= all.global_tasks);
    CHECK(all.tasks_stolen >= all.steals);
    CHECK(all.steal_attempts >= all.steals);
    CHECK_EQ(wsq_pool_pending(pool), 0);
}

static void outside_submitters(void) {
    size_t share = test_times(125000), total = share * SUBMITTERS;
    errand *errands = calloc(total, sizeof *errands);
    if (!errands) abort();
    for (unsigned workers = 1; workers <= 4; workers *= 2) {
        load all = {pool_new((wsq_config){.workers = workers}), errands, share};
        size_t once = 0;
        test_threads(SUBMITTERS, carry, &all);
        CHECK_EQ(wsq_pool_wait(all.pool), WSQ_OK);
        for (size_t i = 0; i < total; i++) once += errands[i].runs == 1;
        CHECK_EQ(once, total);
        check_stats(all.pool, total);
        wsq_pool_destroy(all.pool);
    }
    free(errands);
}

/* A wait that begins while others submit ends when what was spawned before it is done. */
static void wait_amid(test_thread *self) {
    load *all = self->arg;
    errand *mine = all->errands + self->index * all->share;
    for (size_t i = 0; i < all->share; i++) {
        errand_new(&mine[i], errand_run);
        if (wsq_spawn(all->pool, &mine[i].task) != WSQ_OK) FAIL("a spawn");
        if (i % 16 != 0) continue;
        if (wsq_pool_wait(all->pool) != WSQ_OK) FAIL("a wait");
        if (!wsq_task_done(&mine[i].task)) FAIL("a task spawned before the wait is done after it");
    }
}

static void waits_amid_spawns(void) {
    size_t share = test_times(20000);
    errand *errands = calloc(share * 2, sizeof *errands);
    if (!errands) abort();
    for (unsigned workers = 1; workers <= 4; workers++) {
        load all = {pool_new((wsq_config){.workers = workers}), errands, share};
        test_threads(2, wait_amid, &all);
        wsq_pool_destroy(all.pool);
    }
    free(errands);
    CHECK(true);
}

/* ---- nothing is allocated once the pool runs ---- */

static wsq_poll fork_a_lot(wsq_ctx ctx, wsq_task *task);

static void nothing_body(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    (void)ctx;
    atomic_fetch_add((atomic_ulong *)arg, end - begin);
}

static void loop_run(wsq_ctx ctx, void *arg) { wsq_for(ctx, 0, 10000, 3, nothing_body, arg); }

/* Overflows the ring from inside. */
static wsq_poll fork_a_lot(wsq_ctx ctx, wsq_task *task) {
    static errand many[4 * WSQ_RING_CAPACITY];
    (void)task;
    for (size_t i = 0; i < sizeof many / sizeof *many; i++) {
        errand_new(&many[i], errand_run);
        if (wsq_spawn(wsq_pool_of(ctx), &many[i].task) != WSQ_OK) FAIL("a spawn");
    }
    return WSQ_DONE;
}

static void work_of_all_kinds(wsq_pool *pool) {
    atomic_ulong sum = 0;
    wsq_task parent;
    run_some(pool, 1000);
    wsq_task_init(&parent, fork_a_lot);
    CHECK_EQ(wsq_spawn(pool, &parent), WSQ_OK);
    CHECK_EQ(wsq_task_wait(&parent), WSQ_OK);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    CHECK_EQ(wsq_run(pool, loop_run, &sum), WSQ_OK);
    CHECK_EQ(atomic_load(&sum), 10000);
}

static void no_allocation(void) {
    const wsq_allocator *allocators[] = {NULL, &allocator};
    for (int i = 0; i < 2; i++) {
        wsq_pool *pool = pool_new((wsq_config){.workers = 3, .allocator = allocators[i]});
        work_of_all_kinds(pool); /* the first run takes a block */
        unsigned long before = atomic_load(&allocations);
        CHECK(before > 0);
        for (size_t round = 0; round < test_times(100); round++) work_of_all_kinds(pool);
        CHECK_EQ(wsq_pool_shutdown(pool, WSQ_DRAIN), WSQ_OK);
        CHECK_EQ(atomic_load(&allocations), before);
        wsq_pool_destroy(pool);
        check_nothing_left();
    }
}

/* ---- no more memory than is needed ---- */

static void run_nothing(wsq_ctx ctx, void *arg) { (void)ctx, (void)arg; }

/* An allocator is asked for a block for each worker; for one more at the first run. */
static void blocks_at_need(void) {
    const long block = WSQ_BLOCK_SIZE, rest = (1 << 14) + 2 * (long)sizeof(wsqi_timers);
    wsq_pool *pool = pool_new((wsq_config){.workers = 2, .allocator = &allocator});
    CHECK(atomic_load(&bytes) >= 2 * block && atomic_load(&bytes) < 2 * block + rest);
    run_some(pool, 100);
    CHECK(atomic_load(&bytes) < 2 * block + rest);
    for (int i = 0; i < 10; i++) CHECK_EQ(wsq_run(pool, run_nothing, NULL), WSQ_OK);
    CHECK(atomic_load(&bytes) >= 3 * block && atomic_load(&bytes) < 3 * block + rest);
    wsq_pool_destroy(pool);
    check_nothing_left();
}

/* No memory for the run's block: it runs as a task, and a later run gets its block. */
static void run_without_memory(void) {
    const wsq_allocator *allocators[] = {NULL, &allocator};
    for (int i = 0; i < 2; i++) {
        bool ours = i == 1;
        wsq_pool *pool = pool_new((wsq_config){.workers = 2, .allocator = allocators[i]});
        atomic_store(&allocations_left, 0);
        wsq_stats before, after;
        wsq_pool_stats(pool, &before);
        CHECK_EQ(wsq_run(pool, run_nothing, NULL), WSQ_OK);
        wsq_pool_stats(pool, &after);
        CHECK_EQ(after.spawned, before.spawned + 1);
        atomic_store(&allocations_left, EVER);
        run_some(pool, 100);
        CHECK_EQ(wsq_run(pool, run_nothing, NULL), WSQ_OK);
        CHECK_EQ(atomic_load(&bytes) != 0, ours);
        wsq_pool_destroy(pool);
        check_nothing_left();
    }
}

/* ---- the table ---- */

static void stats_table(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 3});
    FILE *file = tmpfile();
    char line[512];
    int lines = 0;
    if (!CHECK(file != NULL)) return;
    run_some(pool, 100);
    wsq_stats_print(pool, file);
    rewind(file);
    while (fgets(line, sizeof line, file)) lines++;
    CHECK_EQ(lines, 3 + 2); /* a heading, the workers, the sum */
    fclose(file);
    wsq_pool_destroy(pool);
}

#define EACH_COUNTER(use) \
    use(spawned) use(run) use(finished) use(lifo_hits) use(local_pops) use(global_batches) \
    use(global_tasks) use(steal_attempts) use(steals) use(tasks_stolen) use(overflows) \
    use(searches) use(parks) use(wakes_sent) use(rescued) use(published) use(jobs_stolen) \
    use(joins_parked) use(average_task_ns) use(interval)

/* Each counter is reported under its own name: they count to 1000, 1001, and so on. */
static void stats_by_name(void) {
    wsq_pool *pool = pool_new((wsq_config){.caller_runs = true});
    wsqi_counters *counters = &wsqi_block(pool, 0)->counters;
    wsq_stats stats;
    uint64_t next = 1000;
#define SET(name) wsqi_store_stat(&counters->name, next++);
    EACH_COUNTER(SET)
    CHECK_EQ(next, 1000 + sizeof *counters / sizeof counters->run);
    wsq_worker_stats(pool, 0, &stats);
    next = 1000;
#define CHECK_NEXT(name) CHECK_EQ(stats.name, next++);
    EACH_COUNTER(CHECK_NEXT)
    CHECK_EQ(stats.queue_depth, 0);
    wsqi_store_stat(&counters->finished, 1000); /* as many as were spawned: nothing is left to do */
    wsq_pool_destroy(pool);
}

int main(void) {
    test_begin("test_pool");
    RUN(sizes);
    RUN(result_strings);
    RUN(life_cycle);
    RUN(nulls);
    RUN(absurd_configurations);
    RUN(every_failure);
    RUN(sizes_of_pools);
    RUN(short_lives);
    RUN(several_pools);
    RUN(caller_runs);
    RUN(caller_runs_finds_all);
    RUN(caller_runs_for_many);
    RUN(misuse_on_a_worker);
    RUN(outside_submitters);
    RUN(waits_amid_spawns);
    RUN(no_allocation);
    RUN(blocks_at_need);
    RUN(run_without_memory);
    RUN(stats_table);
    RUN(stats_by_name);
    return test_end();
}
