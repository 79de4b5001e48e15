/* Near victims first, near sleepers first, on a machine that only the test knows: 8 nodes of 4 caches of
 * 8 cores, or whatever this one has. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "test.h"

#include "pool.h"

#define WORKERS 256

static wsq_task tasks[WORKERS];
static atomic_uint ran;

static wsq_poll count(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    (void)task;
    atomic_fetch_add(&ran, 1);
    return WSQ_DONE;
}

static uint32_t place(unsigned worker, void *user) {
    (void)user;
    return worker / 32 << 16 | worker / 8 % 4;
}

static const wsq_topology fake = {place, NULL};

/* 256 workers that nobody runs: the test is each of them in turn. */
static wsq_pool *still(void) {
    wsq_pool *pool =
        pool_new((wsq_config){.caller_runs = true, .workers = WORKERS, .topology = &fake});
    for (unsigned i = 0; i < WORKERS; i++) wsqi_place_update(wsqi_block(pool, i));
    return pool;
}

static void put(wsq_pool *pool, unsigned worker) {
    wsq_task_init(&tasks[worker], count);
    wsqi_store_rlx(&tasks[worker].state, (uint32_t)WSQI_TASK_ACTIVE);
    wsqi_store_rlx(&tasks[worker].pool, pool);
    wsqi_count(&wsqi_block(pool, worker)->counters.spawned, 1);
    CHECK(wsq_ring_push(&wsqi_block(pool, worker)->ring, &tasks[worker]));
    (void)wsqi_fresh(wsqi_block(pool, worker)); /* not any more: the first thief takes it */
}

static void distances(void) {
    wsq_pool *pool = still();
    CHECK_EQ(wsqi_distance(pool, 0, 7), 0);
    CHECK_EQ(wsqi_distance(pool, 0, 8), 1);
    CHECK_EQ(wsqi_distance(pool, 31, 0), 1);
    CHECK_EQ(wsqi_distance(pool, 31, 32), 2);
    pool_end(pool);
}

/* Every worker has one task: a thief comes home with one from its own cache. With those gone, with
 * one from its node, and only then from afar. */
static void thieves_stay_near(void) {
    wsq_pool *pool = still();
    uint64_t random = test_seed;
    for (size_t round = 0; round < test_times(20); round++) {
        unsigned me = test_below(&random, WORKERS), last = 0;
        wsqi_worker *self = wsqi_block(pool, me);
        for (unsigned i = 0; i < WORKERS; i++)
            if (i != me) put(pool, i);
        for (unsigned i = 0; i < WORKERS - 1; i++) {
            wsq_task *task = NULL;
            uint32_t from[3] = {i, i, i};
            self->search.robs_slots = true; /* so it looks at all of them */
            CHECK(!wsqi_steal_pass(self, WSQI_SLOTS, from, &task));
            if (!CHECK(task != NULL)) break;
            unsigned distance = wsqi_distance(pool, self->index, (unsigned)(task - tasks));
            CHECK(distance >= last);
            last = distance;
            wsqi_work(self, task);
        }
        CHECK_EQ(last, 2);
    }
    CHECK_EQ(wsq_pool_pending(pool), 0);
    pool_end(pool);
}

/* A searcher goes on where its last pass ended, so that it comes to all others, of which each pass
 * visits some. */
static void searchers_come_to_all(void) {
    wsq_pool *pool = still();
    uint64_t random = test_seed;
    for (size_t round = 0; round < test_times(40); round++) {
        unsigned me = test_below(&random, WORKERS), other = (me + 1 + test_below(&random, WORKERS - 1)) % WORKERS;
        wsqi_worker *self = wsqi_block(pool, me);
        uint32_t begin = test_below(&random, WORKERS), from[3] = {begin, begin, begin}, passes = 0;
        wsq_task *task = NULL;
        put(pool, other);
        self->searching = true;
        for (; task == NULL && passes < 2 * WORKERS; passes++) {
            self->search.robs_slots = false; /* such a thread visits all in each pass */
            CHECK(!wsqi_steal_pass(self, WSQI_TASKS, from, &task));
        }
        self->searching = false;
        CHECK(passes <= WORKERS / WSQI_VISITS);
        if (CHECK(task != NULL)) wsqi_work(self, task);
    }
    CHECK_EQ(wsq_pool_pending(pool), 0);
    pool_end(pool);
}

/* The sleepers' bits are claimed from near to far, each once. */
static void near_sleepers_wake_first(void) {
    wsq_pool *pool = still();
    uint64_t random = test_seed + 1;
    for (size_t round = 0; round < test_times(20); round++) {
        unsigned me = test_below(&random, WORKERS), last = 0, claimed = 0;
        wsqi_worker *self = wsqi_block(pool, me);
        for (unsigned w = 0; w < WORKERS / 64; w++) wsqi_store_rlx(&pool->bitmap.sleepers[w], UINT64_MAX);
        for (int index; (index = wsqi_bitmap_claim(pool, pool->bitmap.sleepers, self)) >= 0;) {
            unsigned distance = wsqi_distance(pool, self->index, (unsigned)index);
            CHECK(distance >= last);
            last = distance;
            claimed++;
        }
        CHECK_EQ(claimed, WORKERS);
    }
    pool_end(pool);
}

/* Real threads, and places that change all the time. */
static uint32_t wander(unsigned worker, void *user) {
    uint64_t random = wsqi_clock_ns() + worker;
    (void)user;
    return test_below(&random, 4) << 16 | test_below(&random, 2);
}

static wsq_poll spread(wsq_ctx ctx, wsq_task *task) {
    size_t mine = (size_t)(task - tasks);
    for (size_t child = 2 * mine + 1; child <= 2 * mine + 2 && child < WORKERS; child++)
        CHECK_EQ(wsq_spawn(wsq_pool_of(ctx), &tasks[child]), WSQ_OK);
    return count(ctx, task);
}

static void places_change(void) {
    const wsq_topology wandering = {wander, NULL};
    wsq_pool *pool = pool_new((wsq_config){.workers = 8, .topology = &wandering});
    for (size_t round = 0; round < test_times(300); round++) {
        atomic_store(&ran, 0);
        for (size_t i = 0; i < WORKERS; i++) wsq_task_init(&tasks[i], spread);
        CHECK_EQ(wsq_spawn(pool, &tasks[0]), WSQ_OK);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        CHECK_EQ(atomic_load(&ran), WORKERS);
    }
    pool_end(pool);
}

/* A worker's place is asked for before it sleeps: its sleepers are chosen by that. */
static void places_known(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 40, .topology = &fake});
    pool_rest(pool);
    for (unsigned i = 0; i < 40; i++) CHECK_EQ(wsqi_load_hint(&pool->places.of_block[i]), place(i, NULL));
    pool_end(pool);
}

/* What the system says of this machine, whatever that is. */
static void this_machine(void) {
    uint32_t places[64] = {0};
    unsigned known = wsqi_places_read(places, 64);
    CHECK(known <= 64);
    wsq_pool *pool = pool_new((wsq_config){.workers = 4});
    CHECK(!pool->places.matter || pool->places.cpus > 1);
    pool_end(pool);
}

static void misuse(void) {
    wsq_topology nothing = {NULL, NULL};
    wsq_config config = {.workers = 1, .topology = &nothing};
    wsq_pool *pool = NULL;
    CHECK_EQ(wsq_pool_create(&pool, &config), WSQ_ERR_INVALID);
}

int main(void) {
    test_begin("test_topology");
    RUN(distances);
    RUN(thieves_stay_near);
    RUN(searchers_come_to_all);
    RUN(near_sleepers_wake_first);
    RUN(places_change);
    RUN(places_known);
    RUN(this_machine);
    RUN(misuse);
    return test_end();
}
