/* The global queue: first in, first out, batches of a fair share, and every task taken exactly once from
 * under many producers and several consumers. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "test.h"

enum { PRODUCERS = 8, CONSUMERS = 3, TASKS = 20000, CHAIN = 7 };

typedef struct parcel {
    wsq_task task;
    unsigned producer;
    uint32_t number;    /* plain: the queue must order the producer's write and the consumer's read */
    atomic_uchar taken; /* how often it came out */
} parcel;

static wsq_pool pool; /* of which nothing lives but the queue and what it is shared by */
static parcel parcels[PRODUCERS][TASKS];

static parcel *parcel_of(wsq_task *task) { return wsq_container_of(task, parcel, task); }

/* The first of so many lanes. */
static void queue_new(unsigned workers, unsigned lanes) {
    memset((void *)&pool, 0, sizeof pool);
    pool.copy = &wsqi_copy;
    wsqi_store_rlx(&pool.alive, WSQI_ALIVE);
    pool.phase = &pool.own_phase;
    wsqi_store_rlx(pool.phase, (uint32_t)WSQI_PHASE_RUN);
    pool.workers = workers;
    pool.global_lanes = lanes;
}

/* Pushes parcels [first, first + count) as one chain, which goes in newest first. */
static void push(unsigned producer, uint32_t first, uint32_t count) {
    parcel *mine = parcels[producer];
    for (uint32_t i = first; i < first + count; i++) {
        mine[i].producer = producer;
        mine[i].number = i;
        if (i > first) mine[i].task.next = &mine[i - 1].task;
    }
    wsqi_chain_push(&pool.lanes[WSQ_NORMAL].incoming, &mine[first + count - 1].task, &mine[first].task);
}

/* Takes one batch, which must be parcels first, first + 1, ... of producer 0. */
static uint32_t take_in_order(uint32_t first, uint32_t most, uint32_t *left) {
    uint32_t count = 0;
    for (wsq_task *task = wsqi_lane_take(&pool, &pool.lanes[WSQ_NORMAL], most, left); task; task = task->next, count++)
        CHECK_EQ(parcel_of(task)->number, first + count);
    return count;
}

static void empty(void) {
    uint32_t left = 7;
    queue_new(1, 1);
    CHECK(wsqi_lane_empty(&pool.lanes[WSQ_NORMAL]));
    CHECK(wsqi_lane_take(&pool, &pool.lanes[WSQ_NORMAL], 64, &left) == NULL);
    CHECK_EQ(left, 0);
    push(0, 0, 1);
    CHECK(!wsqi_lane_empty(&pool.lanes[WSQ_NORMAL]));
    CHECK_EQ(take_in_order(0, 64, &left), 1);
    CHECK(wsqi_lane_empty(&pool.lanes[WSQ_NORMAL]));
    CHECK(wsqi_lane_take(&pool, &pool.lanes[WSQ_NORMAL], 64, &left) == NULL);
}

static uint32_t fair_share(uint32_t length, uint32_t most) {
    uint32_t share = length / pool.workers * pool.global_lanes;
    if (share < 4) share = 4;
    if (share > 64) share = 64;
    if (share > most) share = most;
    return share < length ? share : length;
}

/* Fills the queue in pieces while it drains it: what is older always comes first. One lane of several
 * leaves new tasks in `incoming` while it has enough in `ready`. */
static void order_and_batches(void) {
    uint64_t random = test_seed;
    for (int round = 0; round < 50; round++) {
        unsigned workers = 1 + test_below(&random, 40);
        uint32_t pushed = 0, taken = 0, left = 0;
        queue_new(workers, workers < 16 ? 1 : workers / 8);
        while (taken < TASKS) {
            uint32_t chain = test_below(&random, 300), most = 1 + test_below(&random, 100);
            if (chain > TASKS - pushed) chain = TASKS - pushed;
            if (chain > 0) push(0, pushed, chain);
            pushed += chain;
            uint32_t ready = left < WSQI_ENOUGH || pool.global_lanes == 1 ? pushed - taken : left;
            uint32_t count = take_in_order(taken, most, &left);
            CHECK_EQ(count, fair_share(ready, most));
            taken += count;
            CHECK_EQ(left, ready - count);
            CHECK_EQ(wsqi_lane_empty(&pool.lanes[WSQ_NORMAL]), taken == pushed);
        }
    }
}

/* While one consumer holds the lock, another goes away empty-handed and harms nothing. */
static void busy(void) {
    uint32_t left;
    queue_new(1, 1);
    push(0, 0, 10);
    wsqi_store_rlx(&pool.lanes[WSQ_NORMAL].lock, 1u);
    CHECK(wsqi_lane_take(&pool, &pool.lanes[WSQ_NORMAL], 64, &left) == NULL);
    CHECK(!wsqi_lane_empty(&pool.lanes[WSQ_NORMAL]));
    wsqi_store_rlx(&pool.lanes[WSQ_NORMAL].lock, 0u);
    CHECK_EQ(take_in_order(0, 64, &left), 10);
}

/* Closed, it counts no task in; and no task that came before is forgotten. */
static void closed(void) {
    queue_new(1, 1);
    CHECK(wsqi_admit(&pool, 1));
    CHECK(wsqi_admit(&pool, 41));
    CHECK_EQ(wsqi_load_rlx(&pool.lanes[WSQ_NORMAL].outside), 2 * 42);
    wsqi_store_rlx(&pool.lanes[WSQ_NORMAL].outside, 2 * 42 + 1);
    CHECK(!wsqi_admit(&pool, 1));
    CHECK(!wsqi_admit(&pool, 1000));
    CHECK_EQ(wsqi_load_rlx(&pool.lanes[WSQ_NORMAL].outside), 2 * 42 + 1);
}

/* ---- many producers ---- */

static atomic_uint producing;
static atomic_ulong out_of_order, doubled;

static void produce(test_thread *self) {
    for (uint32_t next = 0; next < TASKS;) {
        uint32_t count = 1 + test_below(&self->random, CHAIN);
        if (count > TASKS - next) count = TASKS - next;
        push(self->index, next, count);
        next += count;
        if (test_below(&self->random, 256) == 0) sched_yield();
    }
    atomic_fetch_sub(&producing, 1);
}

/* Whatever a consumer sees of one producer, it sees in that producer's order. */
static void consume(test_thread *self) {
    uint32_t next[PRODUCERS] = {0}, left;
    bool over = false;
    while (!over || !wsqi_lane_empty(&pool.lanes[WSQ_NORMAL])) {
        over = atomic_load(&producing) == 0;
        wsq_task *task = wsqi_lane_take(&pool, &pool.lanes[WSQ_NORMAL], 1 + test_below(&self->random, 8), &left);
        if (!task && test_below(&self->random, 64) == 0) sched_yield();
        for (; task; task = task->next) {
            parcel *got = parcel_of(task);
            if (got->number < next[got->producer]) atomic_fetch_add(&out_of_order, 1);
            next[got->producer] = got->number + 1;
            if (atomic_fetch_add_explicit(&got->taken, 1, memory_order_relaxed)) atomic_fetch_add(&doubled, 1);
        }
    }
}

static void produce_or_consume(test_thread *self) {
    if (self->index < PRODUCERS) {
        produce(self);
    } else {
        consume(self);
    }
}

static void many_producers(void) {
    for (size_t round = 0; round < test_times(20); round++) {
        size_t lost = 0;
        queue_new(CONSUMERS, 1);
        atomic_store(&producing, PRODUCERS);
        memset((void *)parcels, 0, sizeof parcels);
        test_threads(PRODUCERS + CONSUMERS, produce_or_consume, NULL);
        for (size_t i = 0; i < PRODUCERS * TASKS; i++) lost += parcels[i / TASKS][i % TASKS].taken == 0;
        CHECK_EQ(lost, 0);
        CHECK_EQ(atomic_load(&doubled), 0);
        CHECK_EQ(atomic_load(&out_of_order), 0);
        CHECK(wsqi_lane_empty(&pool.lanes[WSQ_NORMAL]));
    }
}

int main(void) {
    test_begin("test_lane");
    RUN(empty);
    RUN(order_and_batches);
    RUN(busy);
    RUN(closed);
    RUN(many_producers);
    return test_end();
}
