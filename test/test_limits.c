/* Where sizes and counts end: thousands of workers, small stacks, arguments at their bounds. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "test.h"
#include "pool.h"

static wsq_poll done(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    return WSQ_DONE;
}

/* ---- what a pool is, for each value that its config may have ---- */

static wsq_config filled(wsq_config config) {
    wsq_pool *pool = pool_new(config);
    wsq_config result = pool->config;
    CHECK_EQ(wsqi_load_acq(&pool->spin.ns), config.caller_runs ? 0 : result.spin_ns);
    CHECK_EQ(pool->workers, result.workers);
    CHECK_EQ(pool->spare_base, result.workers + result.max_standins);
    CHECK_EQ(pool->bitmap.words, (pool->spare_base + 2 * WSQ_GUESTS + 63) / 64);
    uint32_t rounds = wsqi_cpu_mask() == 1 ? 2 : WSQI_SPIN_ROUNDS;
    CHECK_EQ(pool->spin.rounds, config.caller_runs ? 1 : rounds);
    CHECK_EQ(wsqi_load_acq(&pool->permits), config.lend_only ? result.workers * WSQI_PERMIT : wsqi_load_acq(&pool->permits));
    pool_end(pool);
    return result;
}

/* Before it has run anything. */
static void new_pool(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 2, .lend_only = true});
    wsq_stats one, all;
    wsq_worker_stats(pool, 1, &one);
    wsq_pool_stats(pool, &all);
    CHECK(one.average_task_ns == 50000 && one.interval == 20); /* 20 tasks in a millisecond */
    CHECK(all.average_task_ns == 50000 && all.interval == 20);
    pool_end(pool);
}

static wsq_config lent(unsigned workers) { return (wsq_config){.workers = workers, .lend_only = true}; }

static void defaults(void) {
    const uint64_t half = UINT64_MAX / 2;
    wsq_config config = filled(lent(3)), pump = {.caller_runs = true, .spin_ns = 7}, given = lent(2);
    CHECK(config.workers == 3 && config.max_standins == 0 && config.lifo_cap == 3 && config.budget == 128);
    CHECK(config.seed != 0 && config.park_timeout_ns == 0 && config.spin_ns == 0);
    CHECK_EQ(config.stack_size, wsqi_stack_default());
    for (unsigned workers = 63 - 2 * WSQ_GUESTS; workers < 67; workers++) CHECK_EQ(filled(lent(workers)).workers, workers);
    config = filled(pump);
    CHECK(config.workers == 1 && config.max_standins == 0);
    CHECK_EQ(filled((wsq_config){.lend_only = true}).workers, wsqi_cpu_count());
    given.budget = 1;
    given.lifo_cap = 1;
    given.spin_ns = 1;
    given.stack_size = 1;
    given.seed = 1;
    given.park_timeout_ns = half - 1;
    config = filled(given);
    CHECK(config.budget == 1 && config.lifo_cap == 1 && config.spin_ns == 1 && config.stack_size == 1 && config.seed == 1);
    CHECK_EQ(config.park_timeout_ns, half - 1);
    given.park_timeout_ns = half;
    CHECK_EQ(filled(given).park_timeout_ns, 0);
    given.lifo_cap = WSQ_LIFO_OFF;
    CHECK_EQ(filled(given).lifo_cap, 0);
    for (int order = WSQ_FIFO; order <= WSQ_SHARED; order++) {
        given.lifo_cap = 2;
        given.order = (wsq_order)order;
        CHECK_EQ(filled(given).lifo_cap, order == WSQ_FIFO ? 2 : 0);
    }
    /* those with threads of their own */
    CHECK_EQ(filled((wsq_config){.workers = 1}).max_standins, WSQI_STANDINS);
    CHECK_EQ(filled((wsq_config){.workers = 1, .max_standins = 1}).max_standins, 1);
    CHECK_EQ(filled((wsq_config){.workers = 1, .max_standins = WSQ_STANDINS_OFF}).max_standins, 0);
    CHECK_EQ(filled((wsq_config){.workers = WSQI_STANDINS + 1}).max_standins, WSQI_STANDINS + 1);
}

/* How many lanes the global queue has. */
static void lanes(void) {
    static const unsigned sizes[][2] = {{1, 1}, {2, 1}, {3, 1}, {5, 1}, {6, 2}, {24, 8}, {26, 8}, {27, 8}, {30, 8},
                                        {64, 8}, {65, 8}, {71, 8}, {72, 9}, {80, 10}, {128, 16}, {136, 16}, {200, 16}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        wsq_config config = lent(sizes[i][0]);
        for (int order = WSQ_FIFO; order <= WSQ_SHARED; order++) {
            config.order = (wsq_order)order;
            wsq_pool *pool = pool_new(config);
            CHECK_EQ(pool->global_lanes, order == WSQ_FIFO ? sizes[i][1] : 1);
            pool_end(pool);
        }
        config = (wsq_config){.workers = sizes[i][0], .caller_runs = true};
        wsq_pool *pool = pool_new(config);
        CHECK_EQ(pool->global_lanes, 1);
        pool_end(pool);
    }
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
    size_t known = pool->config.stack_size; /* 0: the system does not say */
    CHECK(known == 0 || deepest <= known / 8192 + 1); /* progress/exact knows it exactly */
    wsq_wake(&gate);
    wsq_pool_destroy(pool);
}

/* Each waits for the next one, which lies in the worker's queue; or gets a future that it has just made. */
typedef struct chained {
    wsq_task task;
    struct chained *next;
    size_t left;
} chained;

static wsq_pool *chained_in;

static wsq_poll chained_run(wsq_ctx ctx, wsq_task *task) {
    chained *next = wsq_container_of(task, chained, task)->next;
    volatile unsigned char filled[1536];
    (void)ctx;
    for (size_t i = 0; i < sizeof filled; i++) filled[i] = 1;
    if (next != NULL) CHECK_EQ(wsq_task_wait(&next->task), WSQ_OK);
    return filled[17] == 1 ? WSQ_DONE : WSQ_PENDING;
}

static void *chained_call(void *arg) {
    chained *self = arg;
    wsq_future *future;
    volatile unsigned char filled[1536];
    for (size_t i = 0; i < sizeof filled; i++) filled[i] = 1;
    if (self->left-- == 0) return arg;
    CHECK_EQ(wsq_submit(chained_in, chained_call, self, &future), WSQ_OK);
    CHECK_EQ(wsq_future_get(future, NULL), WSQ_OK);
    return filled[17] == 1 ? arg : NULL;
}

/* They go on in other threads where the stack ends. */
static void awaited_on_a_stack(size_t stack_size, wsq_order order) {
    enum { LINKS = 400 };
    static chained links[LINKS];
    wsq_future *future;
    chained_in = pool_new((wsq_config){.workers = 1, .stack_size = stack_size, .order = order});
    for (unsigned i = 0; i < LINKS; i++) {
        unsigned k = order == WSQ_LIFO ? LINKS - 1 - i : i; /* what it waits for is spawned before it, or after */
        wsq_task_init(&links[k].task, chained_run);
        links[k].next = k + 1 < LINKS ? &links[k + 1] : NULL;
    }
    wsq_task *tasks[LINKS];
    for (unsigned i = 0; i < LINKS; i++) tasks[i] = &links[order == WSQ_LIFO ? LINKS - 1 - i : i].task;
    CHECK_EQ(wsq_spawn_batch(chained_in, tasks, LINKS), WSQ_OK);
    CHECK_EQ(wsq_pool_wait(chained_in), WSQ_OK);
    links[0].left = LINKS;
    CHECK_EQ(wsq_submit(chained_in, chained_call, &links[0], &future), WSQ_OK);
    CHECK_EQ(wsq_future_get(future, NULL), WSQ_OK);
    pool_end(chained_in);
}

static void waits_on_small_stacks(void) {
    /* sanitizers keep what they know of a thread on its stack, too */
    if (TEST_SLOWDOWN == 1) waits_on_a_stack(SMALLEST);
    for (size_t size = 64 * 1024; TEST_SLOWDOWN == 1 && size <= 1024 * 1024; size *= 2) waits_on_a_stack(size);
    waits_on_a_stack(0);
    size_t small = TEST_SLOWDOWN == 1 ? 128 * 1024 : 0;
    awaited_on_a_stack(small, WSQ_FIFO);
    awaited_on_a_stack(small, WSQ_LIFO);
}

/* ---- arguments at their bounds ---- */

/* A pool has 16,383 workers at most, so 16,382 is the last one. */
static void last_worker(void) {
    wsq_task task;
    wsq_task_init(&task, done);
    CHECK_EQ(wsq_task_set_worker(&task, 16382), WSQ_OK);
    CHECK_EQ(wsq_task_set_worker(&task, 16383), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_task_set_worker(&task, 16384), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_task_set_worker(&task, WSQ_ANY_WORKER - 1), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_task_set_worker(&task, WSQ_ANY_WORKER), WSQ_OK);
}

/* The count of predecessors has 26 bits, of which a spawn needs two values. */
static void most_predecessors(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 1});
    wsq_task over, task;
    wsq_edge edge;
    wsq_task_init(&over, done);
    wsq_task_init(&task, done);
    CHECK_EQ(wsq_spawn(pool, &over), WSQ_OK);
    CHECK_EQ(wsq_task_wait(&over), WSQ_OK);
    /* as after so many calls, each with a predecessor that is not spawned */
    wsqi_store_rlx(&task.state, (((uint32_t)1 << 26) - 3) * WSQI_TASK_HOLD);
    CHECK_EQ(wsq_task_after(&task, &over, &edge), WSQ_OK); /* whose edge is resolved at once */
    wsqi_store_rlx(&task.state, (((uint32_t)1 << 26) - 2) * WSQI_TASK_HOLD);
    CHECK_EQ(wsq_task_after(&task, &over, &edge), WSQ_ERR_INVALID);
    CHECK_EQ(wsqi_load_rlx(&task.state), (((uint32_t)1 << 26) - 2) * (uint32_t)WSQI_TASK_HOLD);
    wsq_pool_destroy(pool);
}

static void empty_batch(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 1});
    CHECK_EQ(wsq_spawn_batch(pool, NULL, 0), WSQ_OK);
    CHECK_EQ(wsq_spawn_batch(pool, NULL, 1), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_spawn_batch(NULL, NULL, 0), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_pool_shutdown(pool, WSQ_DRAIN), WSQ_OK);
    CHECK_EQ(wsq_spawn_batch(pool, NULL, 0), WSQ_OK); /* none is refused */
    wsq_pool_destroy(pool);
}

/* A group with nearly as many tasks as its word can count ends, and starts what comes after it. */
static void large_group(void) {
    const uint64_t most = UINT64_MAX / WSQI_GROUP_TASK;
    wsq_pool *pool = pool_new((wsq_config){.workers = 1});
    wsq_group group;
    wsq_task task, then;
    wsq_task_init(&task, done);
    wsq_task_init(&then, done);
    CHECK_EQ(wsq_group_init(&group, pool), WSQ_OK);
    wsqi_store_rlx(&group.word, (most - 2) * WSQI_GROUP_TASK); /* as if so many ran */
    CHECK_EQ(wsq_group_then(&group, &then), WSQ_OK);
    CHECK_EQ(wsq_group_spawn(&group, &task), WSQ_OK);
    CHECK_EQ(wsq_task_wait(&task), WSQ_OK);
    CHECK_EQ(wsq_group_wait_for(&group, 0), WSQ_ERR_TIMEOUT);
    CHECK(wsq_group_pending(&group) >= most - 2);
    wsqi_group_down(pool, &group, most - 2, 0);
    CHECK_EQ(wsq_group_wait(&group), WSQ_OK);
    CHECK_EQ(wsq_task_wait(&then), WSQ_OK);
    CHECK_EQ(wsq_group_pending(&group), 0);
    wsq_pool_destroy(pool);
}

/* ---- waits that would never end ---- */

typedef struct itself {
    wsq_task task;
    wsq_task *other;
    wsq_result result;
} itself;

static wsq_poll waits_for_itself(wsq_ctx ctx, wsq_task *task) {
    itself *self = wsq_container_of(task, itself, task);
    (void)ctx;
    self->result = wsq_task_wait(self->other);
    return WSQ_DONE;
}

static void from_a_run(wsq_ctx ctx, void *arg) { waits_for_itself(ctx, arg); }

static wsq_poll waits_in_a_run(wsq_ctx ctx, wsq_task *task) {
    CHECK_EQ(wsq_run(wsq_pool_of(ctx), from_a_run, task), WSQ_OK);
    return WSQ_DONE;
}

/* The inner task runs on top of the outer one, which waits for it, and waits for the outer one. */
static wsq_poll waits_for_inner(wsq_ctx ctx, wsq_task *task) {
    itself inner = {.other = task, .result = WSQ_OK};
    wsq_task_init(&inner.task, waits_for_itself);
    CHECK_EQ(wsq_spawn(wsq_pool_of(ctx), &inner.task), WSQ_OK);
    CHECK_EQ(wsq_task_wait(&inner.task), WSQ_OK);
    CHECK_EQ(inner.result, WSQ_ERR_INVALID);
    return WSQ_DONE;
}

static wsq_pool *cleaned_in;
static wsq_task former;

/* A cleanup may wait for a task that lies where the one lay that ran here last. */
static wsq_poll cleanup_that_waits(wsq_task *task) {
    (void)task;
    wsq_task_init(&former, done);
    CHECK_EQ(wsq_spawn(cleaned_in, &former), WSQ_OK);
    CHECK_EQ(wsq_task_wait_for(&former, 0), WSQ_ERR_TIMEOUT);
    return WSQ_DONE;
}

static void waits_for_a_namesake(wsq_pool *pool) {
    wsq_task cancelled;
    wsq_edge edge;
    cleaned_in = pool;
    wsq_task_init(&former, done);
    wsq_task_init(&cancelled, done);
    wsq_task_set_cleanup(&cancelled, cleanup_that_waits);
    CHECK_EQ(wsq_task_after(&cancelled, &former, &edge), WSQ_OK);
    CHECK_EQ(wsq_spawn(pool, &cancelled), WSQ_OK);
    CHECK(wsq_task_cancel(&cancelled));
    CHECK_EQ(wsq_spawn(pool, &former), WSQ_OK);
    CHECK_EQ(wsq_task_wait(&cancelled), WSQ_ERR_CANCELLED);
    CHECK_EQ(wsq_task_wait(&former), WSQ_OK);
}

static void waits_for_oneself(void) {
    const wsq_config configs[] = {{.workers = 1}, {.caller_runs = true}, {.workers = 2, .order = WSQ_LIFO}};
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        wsq_pool *pool = pool_new(configs[i]);
        wsq_task_fn fns[] = {waits_for_itself, waits_in_a_run};
        for (size_t k = 0; k < 2; k++) {
            itself self = {.other = &self.task, .result = WSQ_OK};
            wsq_task_init(&self.task, fns[k]);
            CHECK_EQ(wsq_spawn(pool, &self.task), WSQ_OK);
            CHECK_EQ(wsq_task_wait(&self.task), WSQ_OK);
            CHECK_EQ(self.result, WSQ_ERR_INVALID);
        }
        if (configs[i].workers < 2) {
            wsq_task outer;
            wsq_task_init(&outer, waits_for_inner);
            CHECK_EQ(wsq_spawn(pool, &outer), WSQ_OK);
            CHECK_EQ(wsq_task_wait(&outer), WSQ_OK);
            waits_for_a_namesake(pool);
        }
        wsq_pool_destroy(pool);
    }
}

/* What a task returns that is no wsq_poll counts as WSQ_DONE, where no assertion says so. */
#if defined(NDEBUG)
static wsq_poll what_is_none(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    return (wsq_poll)42;
}

static void odd_answer(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 2});
    wsq_task tasks[2];
    wsq_group group;
    CHECK_EQ(wsq_group_init(&group, pool), WSQ_OK);
    for (int i = 0; i < 2; i++) wsq_task_init(&tasks[i], what_is_none);
    CHECK_EQ(wsq_spawn(pool, &tasks[0]), WSQ_OK);
    CHECK_EQ(wsq_group_spawn(&group, &tasks[1]), WSQ_OK);
    CHECK_EQ(wsq_task_wait(&tasks[0]), WSQ_OK);
    CHECK_EQ(wsq_group_wait(&group), WSQ_OK);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    wsq_pool_destroy(pool);
}

/* A pool that has threads is not pumped: the call changes nothing. */
static void pumps_a_pool_with_threads(void) {
    for (size_t round = 0; round < test_times(30); round++) {
        wsq_pool *pool = pool_new((wsq_config){.workers = 2});
        wsq_task task;
        wsq_task_init(&task, what_is_none);
        CHECK_EQ(wsq_spawn(pool, &task), WSQ_OK);
        CHECK(!wsq_pool_run_one(pool) && !wsq_pool_run_one(NULL));
        CHECK_EQ(wsq_task_wait(&task), WSQ_OK);
        wsq_pool_destroy(pool);
    }
}
#else
static void odd_answer(void) {} /* test_misuse has it */
static void pumps_a_pool_with_threads(void) {}
#endif

int main(void) {
    test_begin("test_limits");
    RUN(defaults);
    RUN(lanes);
    RUN(new_pool);
    RUN(many_on_one_thread);
    RUN(waits_on_small_stacks);
    RUN(last_worker);
    RUN(most_predecessors);
    RUN(empty_batch);
    RUN(large_group);
    RUN(waits_for_oneself);
    RUN(odd_answer);
    RUN(pumps_a_pool_with_threads);
    return test_end();
}
