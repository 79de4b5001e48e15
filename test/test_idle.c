/* Sleep and wake: a hunt for lost wake-ups. A quarter of a million times (millions in check-all) work
 * arrives at a pool that is asleep, on its way to sleep, or about to; no time-out helps, so a wake-up
 * that is lost is a hang. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "test.h"
#include "pool.h"

static wsq_poll ping_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    (void)task;
    return WSQ_DONE;
}

/* Spins for longer than a wake-up takes: a worker that sleeps meanwhile finds all asleep afterwards. */
static void await(const wsq_task *task) {
    for (uint32_t spins = 0; !wsq_task_done(task); spins++)
        if (spins > 20000) sched_yield();
}

static void idle_end(wsq_pool *pool, uint64_t tasks) {
    wsq_stats stats;
    pool_rest(pool);
    wsq_pool_stats(pool, &stats);
    CHECK_EQ(stats.rescued, 0);
    CHECK_EQ(stats.spawned, tasks);
    CHECK_EQ(stats.finished, tasks);
    pool_end(pool);
}

/* ---- pauses: awake, in doubt, asleep ---- */

typedef enum moment { AWAKE, IN_DOUBT, ASLEEP } moment;

/* Up to that many looks, but not longer than until so many sleep. */
static uint32_t linger(wsq_pool *pool, uint32_t looks, unsigned asleep) {
    uint32_t i = 0;
    while (i < looks && wsqi_sleeping(wsqi_load_rlx(&pool->permits)) < asleep) i++;
    return i;
}

enum { LINGER_MOST = 100000 };

/* Ends about when the last worker falls asleep: *looks follows that moment, the pause varies around it. */
static void pause_in_doubt(wsq_pool *pool, uint32_t *looks, uint64_t *random, unsigned asleep) {
    uint32_t step = *looks / 64 + 1;
    if (*looks == 0) *looks = linger(pool, LINGER_MOST, asleep);
    linger(pool, *looks - *looks / 16 + test_below(random, *looks / 8 + 1), UINT32_MAX);
    if (wsqi_sleeping(wsqi_load_rlx(&pool->permits)) >= asleep) *looks -= *looks > step ? step : 0;
    else *looks += *looks < LINGER_MOST ? step : 0;
}

static void pause_until(wsq_pool *pool, moment when, uint32_t *looks, uint64_t *random, unsigned asleep) {
    if (when == IN_DOUBT) {
        pause_in_doubt(pool, looks, random, asleep);
    } else {
        if (when == ASLEEP) linger(pool, 10 * LINGER_MOST, asleep);
        test_spin(test_below(random, 200));
    }
}

/* ---- from outside ---- */

typedef struct hunt {
    wsq_pool *pool;
    size_t rounds;
    moment when;
} hunt;

/* One task at a time. */
static void hunter(test_thread *self) {
    const hunt *what = self->arg;
    unsigned workers = wsq_pool_workers(what->pool);
    wsq_task one;
    uint32_t looks = 0;
    bool within = true;
    for (size_t i = 0; i < what->rounds; i++) {
        wsq_task_init(&one, ping_run);
        if (wsq_spawn(what->pool, &one) != WSQ_OK) FAIL("a spawn");
        await(&one);
        uint64_t s = wsqi_load_rlx(&what->pool->permits);
        within = within && wsqi_sleeping(s) + wsqi_searching(s) <= workers;
        pause_until(what->pool, what->when, &looks, &self->random, workers);
    }
    CHECK(within);
}

static void hunt_with(unsigned workers, unsigned hunters, size_t rounds) {
    for (moment when = AWAKE; when <= ASLEEP; when++) {
        size_t share = test_times(when == AWAKE ? rounds - rounds / 4 : rounds / 8);
        hunt what = {pool_new((wsq_config){.workers = workers}), share, when};
        test_threads(hunters, hunter, &what);
        idle_end(what.pool, share * hunters);
    }
}

static void one_worker(void) { hunt_with(1, 1, 100000); }
static void two_workers(void) { hunt_with(2, 1, 75000); }
static void many_workers(void) { hunt_with(8, 1, 25000); }
static void several_hunters(void) { hunt_with(3, 3, 18000); }

/* ---- from inside: a task spawns another, and does not return until an idle worker has run it ---- */

typedef struct chain {
    wsq_task child, task;
    wsq_pool *pool;
    size_t left;
    uint64_t random;
    uint32_t looks;
} chain;

static wsq_poll chain_run(wsq_ctx ctx, wsq_task *task) {
    chain *self = wsq_container_of(task, chain, task);
    if (self->left-- == 0) return WSQ_DONE;
    moment when = self->left % 16 == 0 ? AWAKE : IN_DOUBT;
    pause_until(self->pool, when, &self->looks, &self->random, wsq_pool_workers(self->pool) - 1);
    wsq_task_init(&self->child, ping_run);
    if (wsq_spawn(wsq_pool_of(ctx), &self->child) != WSQ_OK) FAIL("a spawn");
    await(&self->child);
    return WSQ_YIELD;
}

static void from_a_task(void) {
    unsigned sizes[] = {2, 3, 8};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        static chain one;
        size_t rounds = test_times(i == 0 ? 20000 : 5000);
        one.pool = pool_new((wsq_config){.workers = sizes[i]});
        one.left = rounds;
        one.random = test_seed + i;
        wsq_task_init(&one.task, chain_run);
        CHECK_EQ(wsq_spawn(one.pool, &one.task), WSQ_OK);
        CHECK_EQ(wsq_pool_wait(one.pool), WSQ_OK);
        idle_end(one.pool, rounds + 1);
    }
}

/* ---- bursts: as many tasks as workers, none of which ends before all have begun. Every worker must
 *      wake, by the chain in which each searcher that found work wakes the next. ---- */

typedef struct party {
    atomic_uint present;
    unsigned expected;
} party;

typedef struct guest {
    wsq_task task;
    party *at;
} guest;

static wsq_poll guest_run(wsq_ctx ctx, wsq_task *task) {
    party *at = wsq_container_of(task, guest, task)->at;
    (void)ctx;
    atomic_fetch_add(&at->present, 1);
    while (atomic_load(&at->present) < at->expected) sched_yield();
    return WSQ_DONE;
}

/* Spawned one by one or as a batch. */
static void burst(wsq_pool *pool, unsigned workers, bool batch) {
    static guest guests[64];
    wsq_task *list[64];
    static party at;
    atomic_store(&at.present, 0);
    at.expected = workers;
    for (unsigned i = 0; i < workers; i++) {
        guests[i].at = &at;
        wsq_task_init(&guests[i].task, guest_run);
        list[i] = &guests[i].task;
        if (!batch && wsq_spawn(pool, list[i]) != WSQ_OK) FAIL("a spawn");
    }
    if (batch && wsq_spawn_batch(pool, list, workers) != WSQ_OK) FAIL("a batch");
    if (wsq_pool_wait(pool) != WSQ_OK) FAIL("a wait");
}

static void every_worker_wakes(void) {
    unsigned sizes[] = {2, 3, 8, 20};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        size_t rounds = test_times(5000 / sizes[s]);
        uint64_t random = test_seed;
        wsq_pool *pool = pool_new((wsq_config){.workers = sizes[s]});
        for (size_t i = 0; i < rounds; i++) {
            burst(pool, sizes[s], i % 2);
            test_spin(test_below(&random, 2000));
        }
        idle_end(pool, rounds * sizes[s]);
    }
}

/* With a time-out nothing changes, but that sleepers look around now and then. (One may look in the
 * moment between a push and its notification, so that a rescue here proves nothing.) */
static void with_a_timeout(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 3, .park_timeout_ns = 50000});
    hunt what = {pool, test_times(5000), IN_DOUBT};
    test_threads(1, hunter, &what);
    pool_end(pool);
}

int main(void) {
    test_begin("test_idle");
    RUN(one_worker);
    RUN(two_workers);
    RUN(many_workers);
    RUN(several_hunters);
    RUN(from_a_task);
    RUN(every_worker_wakes);
    RUN(with_a_timeout);
    return test_end();
}
