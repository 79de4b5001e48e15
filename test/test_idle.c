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
    while (i < looks && wsqi_free_permits(wsqi_load_rlx(&pool->permits)) < asleep) i++;
    return i;
}

enum { LINGER_MOST = 100000 };

/* Ends about when the last worker falls asleep: *looks follows that moment, the pause varies around it. */
static void pause_in_doubt(wsq_pool *pool, uint32_t *looks, uint64_t *random, unsigned asleep) {
    uint32_t step = *looks / 64 + 1;
    if (*looks == 0) *looks = linger(pool, LINGER_MOST, asleep);
    linger(pool, *looks - *looks / 16 + test_below(random, *looks / 8 + 1), UINT32_MAX);
    if (wsqi_free_permits(wsqi_load_rlx(&pool->permits)) >= asleep) *looks -= *looks > step ? step : 0;
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
        within = within && wsqi_free_permits(s) + wsqi_searching(s) <= workers;
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

/* ---- step by step, in a pool that no thread runs ---- */

enum { MANY = 130 };

static wsq_pool *still(wsq_order order) {
    return pool_new((wsq_config){.workers = MANY, .caller_runs = true, .order = order});
}

static void set_s(wsq_pool *pool, uint64_t searching, uint64_t sleeping, uint64_t idle, bool joined) {
    wsqi_store_sc(&pool->permits, searching * WSQI_SEARCHING + sleeping * WSQI_PERMIT + idle * WSQI_IDLE +
                                      (joined ? WSQI_JOINED : 0));
}

static void set_bit(wsqi_a64 *bitmap, unsigned i) { wsqi_or_sc(&bitmap[i / 64], (uint64_t)1 << i % 64); }

/* The lowest bit among the nearest blocks; the one with the driver comes last. */
static void bits_are_claimed(void) {
    static const int wanted[3][4] = {{3, 70, 128, 129}, {129, 70, 3, 128}, {70, 3, 128, 129}};
    wsq_pool *pool = still(WSQ_FIFO);
    wsqi_store_sc(&pool->places.of_block[3], 1u << 16);
    wsqi_store_sc(&pool->places.of_block[70], 1u);
    wsqi_store_sc(&pool->places.of_block[128], 2u << 16);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 4; i++) set_bit(pool->bitmap.sleepers, (unsigned)wanted[0][i]);
        wsqi_store_sc(&pool->watch.poller, round == 2 ? WSQI_HAS_DRIVER(129u) : 0u);
        for (int i = 0; i < 4; i++) {
            CHECK_EQ(pool_bits(pool->bitmap.sleepers, pool->bitmap.words), 4 - i);
            CHECK_EQ(wsqi_bitmap_claim(pool, pool->bitmap.sleepers, round != 0 ? wsqi_block(pool, 64) : NULL), wanted[round][i]);
        }
        CHECK_EQ(wsqi_bitmap_claim(pool, pool->bitmap.sleepers, round != 0 ? wsqi_block(pool, 64) : NULL), -1);
    }
    wsqi_store_sc(&pool->watch.poller, 0u);
    pool_end(pool);
}

/* Joiners are called once, and only while JOINED says that one may have a permit. */
static void joiners_are_asked(void) {
    static const unsigned blocks[] = {0, 3, 64, 70};
    wsq_pool *pool = still(WSQ_FIFO);
    wsqi_wait waits[4];
    for (int i = 0; i < 4; i++) {
        wsqi_wait_begin(&waits[i], pool, wsqi_block(pool, blocks[i]), WSQ_FOREVER);
        (void)wsqi_wait_listen(&waits[i]);
    }
    for (int joined = 0; joined < 2; joined++) {
        for (int i = 0; i < 4; i++) set_bit(pool->bitmap.joiners, blocks[i]);
        set_s(pool, 0, 0, 0, joined != 0);
        wsqi_joiner_ask_all(pool);
        CHECK_EQ(pool_bits(pool->bitmap.joiners, pool->bitmap.words), joined ? 0 : 4);
        CHECK_EQ(wsqi_load_sc(&pool->permits), 0);
        for (int i = 0; i < 4; i++) {
            CHECK_EQ(wsqi_wait_called(&waits[i]), joined);
            (void)wsqi_wait_listen(&waits[i]);
        }
    }
    for (unsigned refused = 0; refused < 3; refused++) { /* a thread searches, or a permit is free; or nobody has one */
        set_bit(pool->bitmap.joiners, 0);
        set_s(pool, refused == 0, refused == 1, refused == 1, refused != 2);
        wsqi_joiner_ask(pool);
        CHECK(!wsqi_wait_called(&waits[0]));
    }
    set_s(pool, 0, 0, 0, true);
    wsqi_joiner_ask(pool); /* one of them */
    CHECK(wsqi_wait_called(&waits[0]) && !wsqi_wait_called(&waits[1]));
    CHECK_EQ(wsqi_load_sc(&pool->permits), WSQI_JOINED);
    wsqi_joiner_ask(pool); /* there is none, so the next one that sleeps says so again */
    CHECK_EQ(wsqi_load_sc(&pool->permits), 0);
    for (int i = 0; i < 4; i++) wsqi_wait_end(&waits[i]);
    pool_end(pool);
}

/* Worker 64 wakes itself; or another thread is waking it, so the permit goes to worker 70, if there is one. */
static void wakes_itself(void) {
    for (uint64_t sleeping = 0; sleeping < 3; sleeping++) {
        for (int own = 0; own < 2; own++) {
            wsq_pool *pool = still(WSQ_FIFO);
            wsqi_worker *self = wsqi_block(pool, 64), *other = wsqi_block(pool, 70);
            bool hands_on = !own && sleeping != 0;
            self->permit = self->searching = !own;
            set_s(pool, 0, sleeping, 2, false);
            if (own) set_bit(pool->bitmap.sleepers, 64);
            set_bit(pool->bitmap.sleepers, 70);
            wsqi_wake_self(self);
            uint64_t s = wsqi_load_sc(&pool->permits);
            CHECK_EQ(wsqi_idle(s), own || hands_on ? 1 : 2);
            CHECK_EQ(wsqi_free_permits(s), sleeping != 0 ? sleeping - 1 : 0);
            CHECK_EQ(wsqi_searching(s), sleeping != 0);
            CHECK_EQ(pool_bits(pool->bitmap.sleepers, pool->bitmap.words), !hands_on);
            CHECK_EQ(wsqi_load_sc(&other->parker.token), hands_on ? WSQI_TOKEN_HERE : WSQI_TOKEN_NONE);
            if (own) CHECK(self->permit == (sleeping != 0) && self->searching == self->permit);
            wsqi_store_sc(&pool->bitmap.sleepers[1], (uint64_t)0);
            set_s(pool, 0, 0, 0, false);
            self->searching = false; /* S counts no searcher, and pool_end's thread may act as this worker */
            pool_end(pool);
        }
    }
}

/* What the watcher sees of slots and timers, and how long it sleeps. */
static void watches(void) {
    wsq_pool *pool = still(WSQ_FIFO);
    wsqi_worker *self = wsqi_block(pool, 5), *first = wsqi_block(pool, 0);
    wsq_task task;
    CHECK(!wsqi_watch_needed(pool));
    CHECK_EQ(wsqi_watch_until(self, 1000), WSQI_NEVER);
    CHECK_EQ(wsqi_load_sc(&pool->watch.watcher), 6);
    wsqi_store_sc(&pool->watch.timer_next, (uint64_t)1000); /* it is due; a worker fires it, if all work */
    CHECK_EQ(wsqi_watch_until(self, 1000), WSQI_NEVER - 1);
    CHECK_EQ(wsqi_watch_until(self, 999), 1000);
    set_s(pool, 0, 0, 1, true); /* the searcher may find a long task: so the joiner is asked later */
    CHECK_EQ(wsqi_watch_until(self, 1000), 1000 + WSQI_WATCH_NS);
    set_s(pool, 0, 1, 0, false);
    CHECK_EQ(wsqi_watch_until(self, 1000), 1000);
    wsqi_store_sc(&first->lifo, &task);
    CHECK(wsqi_watch_needed(pool));
    wsqi_store_sc(&pool->watch.due, (uint64_t)900);
    CHECK_EQ(wsqi_watch_until(self, 1000), 900);
    CHECK_EQ(wsqi_load_sc(&pool->watch.watcher), 6 | WSQI_WATCHES_SLOTS | WSQI_WATCHES_PERMITS);
    for (int look = 0; look < 3; look++) { /* a task begins after the first look */
        wsqi_slots_mark(self);
        CHECK_EQ(self->search.robs_slots, look == 2);
        CHECK_EQ(wsqi_load_sc(&first->marks.run), look == 0 ? 1 : 2);
        if (look == 0) wsqi_store_sc(&first->counters.run, (uint64_t)1);
    }
    wsqi_store_sc(&first->lifo, NULL);
    wsqi_slots_mark(self);
    CHECK_EQ(wsqi_load_sc(&first->marks.run), 0);
    wsqi_store_sc(&pool->watch.timer_next, WSQI_NEVER);
    wsqi_store_sc(&pool->watch.watcher, 0u);
    set_s(pool, 0, 0, 0, false);
    pool_end(pool);
}

/* After a time-out: only the second one in a row at which a task is queued, and no thread searches, wakes it. */
static void suspects(void) {
    wsq_pool *pool = still(WSQ_FIFO);
    wsqi_worker *self = wsqi_block(pool, 5);
    wsq_task task;
    wsq_task_init(&task, ping_run);
    CHECK_EQ(wsq_spawn(pool, &task), WSQ_OK);
    set_bit(pool->bitmap.sleepers, 5);
    for (int look = 0; look < 7; look++) {
        set_s(pool, look == 1, look != 3, 1, false);
        wsqi_park_timeout(self);
        CHECK_EQ(self->sleep.suspicious, look != 1 && look != 3);
        CHECK_EQ(wsqi_load_stat(&self->counters.rescued), look >= 5 ? look - 4 : 0);
        if (look == 5) CHECK_EQ(pool_bits(pool->bitmap.sleepers, pool->bitmap.words), 0);
        set_bit(pool->bitmap.sleepers, 5);
    }
    wsqi_store_sc(&pool->bitmap.sleepers[0], (uint64_t)0);
    set_s(pool, 0, 0, 0, false);
    self->searching = self->permit = self->sleep.suspicious = false;
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    pool_end(pool);
}

/* How much work a look counts, and where it saw some. */
static void looks(void) {
    wsq_pool *pool = still(WSQ_FIFO);
    const wsqi_worker *where[2] = {wsqi_block(pool, 1), wsqi_block(pool, 1)};
    wsq_task tasks[4];
    const unsigned owners[] = {0, 7, 7, 129};
    CHECK_EQ(wsqi_look_tasks(pool, where, UINT_MAX), 0);
    CHECK(where[0] == NULL && where[1] == NULL);
    wsqi_store_sc(&pool->watch.timer_next, (uint64_t)5);
    wsqi_store_sc(&wsqi_block(pool, 9)->lifo, &tasks[0]);
    CHECK_EQ(wsqi_look_tasks(pool, where, UINT_MAX), 2); /* both need a watcher */
    CHECK(where[0] == wsqi_block(pool, 9) && where[1] == NULL);
    wsqi_store_sc(&pool->watch.watcher, 3u);
    CHECK_EQ(wsqi_look_tasks(pool, where, UINT_MAX), 0);
    wsqi_store_sc(&wsqi_block(pool, 9)->lifo, NULL);
    for (int lane = 0; lane < 3; lane++) wsqi_store_sc(&pool->lanes[lane].length, 2u);
    CHECK_EQ(wsqi_look_tasks(pool, where, UINT_MAX), 6);
    for (int lane = 0; lane < 3; lane++) wsqi_store_sc(&pool->lanes[lane].length, 0u);
    wsqi_store_sc(&pool->lanes[WSQ_LOW].incoming, &tasks[0]);
    CHECK_EQ(wsqi_look_tasks(pool, where, UINT_MAX), 1); /* they are not counted yet */
    wsqi_store_sc(&pool->lanes[WSQ_LOW].incoming, NULL);
    for (int i = 0; i < 4; i++) CHECK(wsq_ring_push(&wsqi_block(pool, owners[i])->ring, &tasks[i]));
    CHECK_EQ(wsqi_look_tasks(pool, where, UINT_MAX), 4);
    CHECK(where[0] == wsqi_block(pool, 0) && where[1] == wsqi_block(pool, 7));
    CHECK_EQ(wsqi_look_tasks(pool, where, 1), 1);
    CHECK_EQ(wsqi_look_tasks(pool, where, 7), 1);
    CHECK_EQ(wsqi_look_tasks(pool, where, 8), 3);
    wsqi_worker *self = wsqi_block(pool, 20); /* as a worker: itself, then the one that it stole from last */
    wsqi_block_enter(self);
    for (unsigned source = 0; source < 2; source++) {
        self->search.source = source != 0 ? 1 + 7 : 0;
        CHECK_EQ(wsqi_look_tasks(pool, where, UINT_MAX), 4);
        CHECK_EQ(wsqi_look_tasks(pool, where, 2), source != 0 ? 2 : 0);
        CHECK(source == 0 || where[0] == wsqi_block(pool, 7));
    }
    wsqi_block_leave(self);
    for (int i = 0; i < 4; i++) CHECK(wsqi_ring_pop(&wsqi_block(pool, owners[i])->ring) == &tasks[i]);
    wsqi_store_sc(&pool->watch.timer_next, WSQI_NEVER);
    wsqi_store_sc(&pool->watch.watcher, 0u);
    pool_end(pool);
}

/* So that the header reads from S how many guests there are. */
static void make_guest(wsq_pool *pool) {
    wsqi_worker *block = wsqi_spare_take(pool, false);
    wsqi_block_enter(block);
    wsqi_block_leave(block);
}

/* What S says: is a thread free for jobs, may this one take some, are there threads for all permits? */
static void numbers(void) {
    wsq_pool *pool = still(WSQ_FIFO);
    wsqi_worker *self = wsqi_block(pool, 5);
    CHECK(wsqi_jobs_allowed(self)); /* there are no guests */
    make_guest(pool);
    CHECK(wsqi_jobs_allowed(self)); /* nor does a caller_runs pool count permits */
    pool->config.caller_runs = false;
    for (uint64_t searching = 0; searching < 3; searching++)
        for (uint64_t sleeping = 0; sleeping < 4; sleeping++)
            for (uint64_t count = 0; count < 4; count++) { /* of guests at work; of idle threads */
                wsqi_store_sc(&pool->permits,
                              searching * WSQI_SEARCHING + sleeping * WSQI_PERMIT + count * (WSQI_GUEST_WORKS + WSQI_IDLE));
                CHECK_EQ(wsqi_jobs_wanted(pool), searching != 0 || sleeping > count);
                CHECK_EQ(wsqi_jobs_allowed(self), sleeping + searching >= count);
                self->searching = true;
                CHECK_EQ(wsqi_jobs_allowed(self), sleeping + searching >= count + 1);
                self->searching = false;
                CHECK_EQ(wsqi_threads_suffice(pool, 0), count >= sleeping);
                CHECK_EQ(wsqi_threads_suffice(pool, 1), count >= sleeping + 1);
                wsqi_store_sc(&pool->made.coming, 1u);
                CHECK_EQ(wsqi_threads_suffice(pool, 1), count >= sleeping);
                wsqi_store_sc(&pool->made.coming, 0u);
            }
    pool->config.caller_runs = true;
    set_s(pool, 0, 0, 0, false);
    set_bit(pool->bitmap.joiners, 129);
    CHECK(wsqi_jobs_wanted(pool));
    (void)wsqi_bitmap_claim(pool, pool->bitmap.joiners, NULL);
    for (size_t stack = 0; stack < 80; stack++) {
        pool->config.stack_size = stack * WSQI_WAIT_BYTES;
        CHECK_EQ(wsqi_wait_depth(pool, 64), stack == 0 || stack > 64 ? 64 : stack);
        CHECK_EQ(wsqi_wait_depth(pool, UINT32_MAX), stack == 0 ? UINT32_MAX : stack);
    }
    pool_end(pool);
}

/* How many it wakes, and where these look first. */
static void wakes_some(void) {
    static const struct { uint32_t searching, spare, amount, woken; } rows[] = {
        {0, 0, 1, 1}, {0, 0, 2, 2}, {0, 0, 3, 3}, {0, 0, 4, 4}, {0, 0, 9, 4}, {0, 8, 9, 2}, {0, 9, 9, 1}, {0, 10, 9, 0},
        {1, 0, 1, 0}, {1, 0, 2, 1}, {2, 0, 9, 4},
    };
    wsq_pool *pool = still(WSQ_FIFO);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t wakes = wsqi_load_stat(&pool->wakes);
        for (unsigned k = 100; k < 110; k++) {
            set_bit(pool->bitmap.sleepers, k);
            wsqi_store_sc(&wsqi_block(pool, k)->woken.lead, 0u);
        }
        set_s(pool, rows[i].searching, 10, 10, false);
        CHECK_EQ(wsqi_wake_some(pool, wsqi_block(pool, 2), i % 2 != 0 ? wsqi_block(pool, 3) : NULL, 0, rows[i].spare,
                                rows[i].amount), rows[i].woken != 0);
        uint64_t s = wsqi_load_sc(&pool->permits);
        CHECK_EQ(wsqi_searching(s), rows[i].searching + rows[i].woken);
        CHECK_EQ(wsqi_free_permits(s), 10 - rows[i].woken);
        CHECK_EQ(wsqi_idle(s), 10 - rows[i].woken);
        CHECK_EQ(wsqi_load_stat(&pool->wakes) - wakes, rows[i].woken);
        for (unsigned k = 0; k < 10; k++) {
            uint32_t lead = wsqi_load_sc(&wsqi_block(pool, 100 + k)->woken.lead);
            CHECK_EQ(lead, k >= rows[i].woken ? 0 : k % 2 != 0 && i % 2 != 0 ? 4 : 3);
        }
        while (wsqi_bitmap_claim(pool, pool->bitmap.sleepers, NULL) >= 0) {}
    }
    set_s(pool, 0, 0, 0, false);
    pool_end(pool);
}

/* What a thief takes out of a ring and a slot: a lone task, and a slot's, only at the second look. */
static void robs(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 4, .lend_only = true});
    wsqi_worker *self = wsqi_block(pool, 1), *victim = wsqi_block(pool, 2);
    wsq_task tasks[5];
    for (int i = 0; i < 5; i++) wsq_task_init(&tasks[i], ping_run);
    wsqi_store_sc(&victim->lifo, &tasks[0]);
    for (unsigned look = 0; look < 3; look++) { /* after the first one a task begins */
        wsqi_store_sc(&victim->marks.vain, 5u);
        CHECK(wsqi_slot_rob(victim) == (look == 2 ? &tasks[0] : NULL));
        CHECK_EQ(wsqi_load_acq(&victim->marks.run), look == 0 ? 1 : 2);
        CHECK_EQ(wsqi_load_acq(&victim->marks.vain), look == 2 ? 0 : 5);
        if (look == 0) wsqi_store_sc(&victim->counters.run, (uint64_t)1);
    }
    CHECK(wsqi_slot_rob(victim) == NULL);
    CHECK(wsqi_ring_rob(self, victim) == NULL);
    for (int i = 0; i < 5; i++) CHECK(wsq_ring_push(&victim->ring, &tasks[i]));
    wsqi_store_sc(&victim->marks.robbed, 1u);
    CHECK(wsqi_ring_rob(self, victim) == NULL); /* another thief is there */
    wsqi_store_sc(&victim->marks.robbed, 0u);
    CHECK(wsqi_ring_pop(&victim->ring) == &tasks[0]);
    CHECK(wsqi_steal_tasks(self, victim, false, true) == NULL); /* the slot is empty */
    CHECK(wsqi_steal_tasks(self, victim, true, false) == &tasks[1]); /* and half of the ring */
    CHECK_EQ(wsqi_load_acq(&victim->marks.robbed), 0);
    CHECK_EQ(wsqi_load_stat(&self->counters.steals), 1);
    CHECK_EQ(wsqi_load_stat(&self->counters.tasks_stolen), 2);
    CHECK(self->search.source == 3 && self->turn.tail == WSQ_RING_START + 1);
    CHECK_EQ(wsq_ring_length(&victim->ring), 2);
    for (int i = 0; i < 2; i++) CHECK(wsq_ring_push(&victim->ring, &tasks[i]));
    CHECK(wsqi_ring_rob(self, victim) == &tasks[3]); /* only one: it has a task already */
    CHECK_EQ(wsq_ring_length(&self->ring), 1);
    CHECK(wsqi_ring_pop(&self->ring) == &tasks[2]);
    for (int i = 0; i < 2; i++) CHECK(wsqi_ring_pop(&victim->ring) == &tasks[i == 0 ? 4 : 0]);
    CHECK(wsqi_ring_rob(self, victim) == NULL);
    CHECK(wsqi_ring_rob(self, victim) == &tasks[1]);
    CHECK_EQ(wsq_ring_length(&self->ring) + wsq_ring_length(&victim->ring), 0);
    wsqi_store_sc(&victim->counters.run, (uint64_t)0);
    pool_end(pool);
}

/* Where tasks take long, a search looks at the slots from its first round on. */
static void slot_rounds(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 2, .caller_runs = true});
    wsqi_worker *self = wsqi_block(pool, 1), *victim = wsqi_block(pool, 0);
    wsq_task task, *found = NULL;
    wsq_task_init(&task, ping_run);
    pool->spin.rounds = WSQI_SLOT_ROUNDS;
    wsqi_store_sc(&victim->lifo, &task);
    self->tune.average_ns = WSQI_SLOT_STEAL_NS - 1;
    CHECK(!wsqi_search(self, &found) && found == NULL);
    self->tune.average_ns = WSQI_SLOT_STEAL_NS;
    CHECK(!wsqi_search(self, &found) && found == &task);
    wsqi_search_end(self);
    pool_end(pool);
}

static unsigned jobs_run;

static void run_stolen(wsq_ctx ctx, wsq_job *job) {
    CHECK(wsqi_worker_of(ctx)->index == 5 && wsqi_load_acq(&job->thief) == 6);
    jobs_run++;
}

/* A theft takes the oldest job, and says who has it; if none is left, the victim is asked for more. */
static void steals(void) {
    wsq_pool *pool = still(WSQ_FIFO);
    wsqi_worker *self = wsqi_block(pool, 5), *victim = wsqi_block(pool, 9);
    uint32_t start = wsqi_entry_index(wsqi_base(victim));
    wsq_job jobs[2];
    make_guest(pool);
    for (uint32_t i = 0; i < 2; i++) {
        wsqi_set(&jobs[i].fn, run_stolen);
        wsqi_store_init(&jobs[i].done, (uint32_t)WSQI_JOB_PUBLIC);
        wsqi_store_init(&jobs[i].thief, 0u);
        wsqi_set(&wsqi_entry_at(victim, start + i)->job, &jobs[i]);
    }
    wsqi_store_sc(&victim->range, wsqi_range_pack(start + 2, start));
    CHECK_EQ(wsqi_range_length(victim), 2);
    for (unsigned i = 0; i < 3; i++) {
        wsqi_store_sc(&victim->front.fork_trap, wsqi_full_mark(victim));
        wsqi_store_sc(&victim->front.join_trap, wsqi_full_mark(victim));
        wsqi_store_sc(&self->woken.lead, 0u);
        CHECK_EQ(wsqi_job_steal(self, victim), i < 2);
        CHECK_EQ(jobs_run, i < 2 ? i + 1 : 2);
        CHECK(i == 2 || wsqi_load_acq(&jobs[i].done) == WSQI_JOB_DONE);
        CHECK_EQ(wsqi_load_acq(&self->woken.lead), i < 2 ? 10 : 0);
        CHECK_EQ(wsqi_load_acq(&victim->front.fork_trap) == NULL, i != 0);
        CHECK_EQ(wsqi_load_acq(&victim->front.join_trap) == WSQI_TRAP_SET, i != 0);
        CHECK_EQ(wsqi_load_stat(&self->counters.jobs_stolen), i < 2 ? i + 1 : 2);
    }
    CHECK(self->frame.outer == NULL && self->frame.task == NULL);
    /* Before the job it tells a thread in wsq_pool_wait of ended tasks, if the job may be a guest's. */
    wsqi_wait wait;
    wsqi_wait_begin(&wait, pool, pool, WSQ_FOREVER);
    wsqi_store_sc(&pool->waiters, 1u);
    for (unsigned i = 0; i < 8; i++) {
        (void)wsqi_wait_listen(&wait);
        wsqi_store_sc(&pool->permits, i % 2 * WSQI_GUEST);
        self->depth.joins = i / 2 % 2;
        self->search.reported = i / 4 != 0 ? UINT64_MAX : 0;
        wsqi_store_sc(&victim->range, wsqi_range_pack(start + 1, start));
        CHECK(wsqi_job_steal(self, victim));
        CHECK_EQ(wsqi_wait_called(&wait), i % 2 != 0 && (i / 2 % 2 == 0 || i / 4 != 0));
    }
    wsqi_wait_end(&wait);
    wsqi_store_sc(&pool->waiters, 0u);
    self->depth.joins = 0;
    /* A join looks at all workers in every fourth round, but while guests take the place of all permits
     * only at its thief, and at the worker from which it stole last. */
    wsqi_store_init(&jobs[1].thief, 0u);
    self->search.robs_slots = true; /* so a pass visits all */
    pool->config.caller_runs = false; /* such a pool counts no permits */
    for (uint32_t i = 0; i < 16; i++) {
        bool allowed = i / 4 % 2 == 0, near = i / 8 != 0;
        wsqi_store_sc(&pool->permits, allowed ? 0 : WSQI_GUEST_WORKS);
        wsqi_store_sc(&self->woken.lead, near ? victim->index + 1 : 0);
        wsqi_store_sc(&victim->range, wsqi_range_pack(start + 1, start));
        CHECK_EQ(wsqi_join_help(self, &jobs[1], i), near || (allowed && i % 4 == 0));
    }
    pool->config.caller_runs = true;
    wsqi_store_sc(&pool->permits, (uint64_t)0);
    wsqi_store_sc(&victim->range, wsqi_range_pack(start, start));
    pool_end(pool);
}

static void *returns(void *arg) { return arg; }

/* Futures that were called or cancelled while they lay in a lane are taken out of it; the others stay in order. */
static void sweeps(void) {
    for (unsigned cancelled = 0; cancelled < 32; cancelled++) {
        wsq_pool *pool = still(WSQ_FIFO);
        wsqi_lane *lane = &pool->lanes[WSQ_NORMAL];
        wsq_future *futures[5];
        const wsq_task *left[5];
        unsigned kept = 0;
        CHECK(wsqi_tombstones_sweep(lane)); /* it is empty */
        for (unsigned i = 0; i < 5; i++) CHECK_EQ(wsq_submit(pool, returns, NULL, &futures[i]), WSQ_OK);
        for (unsigned i = 0; i < 5; i++) {
            if ((cancelled >> i & 1) != 0) CHECK(wsq_future_cancel(futures[i]));
            else left[kept++] = &futures[i]->task;
        }
        wsqi_store_sc(&lane->lock, 1u);
        CHECK(!wsqi_tombstones_sweep(lane)); /* another thread has it */
        wsqi_store_sc(&lane->lock, 0u);
        CHECK(wsqi_tombstones_sweep(lane));
        CHECK_EQ(wsqi_load_acq(&lane->length), kept);
        CHECK_EQ(wsqi_load_acq(&lane->lock), 0);
        const wsq_task *task = lane->ready;
        for (unsigned i = 0; i < kept; i++, task = wsqi_get(&task->next)) CHECK(task == left[i]);
        CHECK(task == NULL && lane->last == (kept != 0 ? left[kept - 1] : NULL));
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        for (unsigned i = 0; i < 5; i++) wsq_future_drop(futures[i]);
        pool_end(pool);
    }
}

/* How many tasks a worker takes from the global queue at once. */
static void room(void) {
    for (int order = WSQ_FIFO; order <= WSQ_SHARED; order++) {
        wsq_pool *pool = still((wsq_order)order);
        wsqi_worker *self = wsqi_block(pool, 5);
        wsqi_a32 *length = &pool->lanes[WSQ_NORMAL].length;
        unsigned lanes = pool->global_lanes;
        self->tune.average_ns = 19999;
        CHECK_EQ(wsqi_global_room(self, false), order == WSQ_SHARED ? 1 : WSQ_RING_CAPACITY + 1);
        CHECK_EQ(wsqi_global_room(self, true), order == WSQ_SHARED ? 0 : WSQ_RING_CAPACITY);
        self->tune.average_ns = 20000;
        for (uint32_t few = 0; few < 2; few++) {
            wsqi_store_sc(length, 16 * MANY - few);
            for (pool->global_lanes = 1; pool->global_lanes < 3; pool->global_lanes++) CHECK_EQ(wsqi_singly(self), few && pool->global_lanes == 1);
            pool->global_lanes = 1;
            if (order == WSQ_FIFO) CHECK_EQ(wsqi_global_room(self, false), few ? 1 : WSQ_RING_CAPACITY + 1);
        }
        wsqi_store_sc(length, 0u);
        pool->global_lanes = lanes;
        pool_end(pool);
    }
}

int main(void) {
    test_begin("test_idle");
    RUN(bits_are_claimed);
    RUN(joiners_are_asked);
    RUN(wakes_itself);
    RUN(watches);
    RUN(suspects);
    RUN(room);
    RUN(looks);
    RUN(numbers);
    RUN(wakes_some);
    RUN(robs);
    RUN(slot_rounds);
    RUN(steals);
    RUN(sweeps);
    RUN(one_worker);
    RUN(two_workers);
    RUN(many_workers);
    RUN(several_hunters);
    RUN(from_a_task);
    RUN(every_worker_wakes);
    RUN(with_a_timeout);
    return test_end();
}
