/* The global queue in the explorer: producers of single tasks and of chains against consumers. */
#define WSQ_NO_STATS
#define WSQI_ENOUGH 1 /* with two lanes a consumer leaves new tasks where they are */
#include "explore.h"
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"

enum { ITEMS = 8 };

typedef struct item {
    wsq_task task;
    int number; /* written before the push: the thread that has the task must see it */
    int taken;  /* the explorer's own count: no access of the program */
} item;

static item items[ITEMS];
static int made, last_of[2];
static wsq_pool pool; /* of which only the queue is used */

static void begin(void) {
    memset(&pool, 0, sizeof pool);
    memset(items, 0, sizeof items);
    pool.workers = 1;
    made = last_of[0] = last_of[1] = 0;
}

static item *make(void) {
    explore_check(made < ITEMS);
    item *it = &items[made++];
    wsqi_set(&it->number, made);
    return it;
}

static void push_one(void) {
    wsq_task *task = &make()->task;
    wsqi_chain_push(&pool.lanes[WSQ_NORMAL].incoming, task, task);
}

/* Newest first. */
static void push_two(void) {
    item *older = make(), *newer = make();
    wsqi_set(&newer->task.next, &older->task);
    wsqi_chain_push(&pool.lanes[WSQ_NORMAL].incoming, &newer->task, &older->task);
}

/* Takes a batch; what one producer pushed comes in the order in which it was pushed. */
static uint32_t take(uint32_t most) {
    uint32_t left, count = 0;
    wsq_task *task = wsqi_inject_take(&pool, &pool.lanes[WSQ_NORMAL], most, &left), *next;
    for (; task; task = next, count++) {
        item *it = wsq_container_of(task, item, task);
        next = wsqi_get(&task->next);
        explore_check(wsqi_get(&it->number) == it - items + 1);
        explore_check(!it->taken);
        it->taken = 1;
    }
    explore_check(count <= most);
    return count;
}

static void end(void) {
    while (!wsqi_inject_empty(&pool.lanes[WSQ_NORMAL])) explore_check(take(3) > 0);
    explore_check(pool.lanes[WSQ_NORMAL].lock.v == 0 && pool.lanes[WSQ_NORMAL].length.v == 0);
    for (int i = 0; i < made; i++) explore_check(items[i].taken);
}

static void producer(void *arg) {
    (void)arg;
    push_one();
    if (explore_choose(2)) push_two();
    else push_one();
}

static void consumer(void *arg) {
    (void)arg;
    take(1);
    take(2);
}

static void one_each(void) {
    begin();
    explore_start(consumer, NULL);
    producer(NULL);
    producer(NULL);
    explore_join();
    end();
}

static void two_each(void) {
    begin();
    explore_start(producer, NULL);
    explore_start(consumer, NULL);
    explore_start(consumer, NULL);
    producer(NULL);
    explore_join();
    end();
}

/* One producer, one consumer: first in, first out. */
static void order_consumer(void *arg) {
    int *before = arg;
    for (int i = 0; i < 3; i++) {
        uint32_t left;
        wsq_task *task = wsqi_inject_take(&pool, &pool.lanes[WSQ_NORMAL], 1, &left);
        if (!task) continue;
        item *it = wsq_container_of(task, item, task);
        explore_check(wsqi_get(&it->number) == ++*before);
        it->taken = 1;
    }
}

static void ordered(unsigned lanes) {
    static int before;
    begin();
    pool.shares = lanes;
    before = 0;
    explore_start(order_consumer, &before);
    push_one();
    push_two();
    push_one();
    explore_join();
    end();
}

static void first_in_first_out(void) { ordered(1); }
static void first_in_of_two_lanes(void) { ordered(2); }

/* A task that comes back from a ring goes before those that have not been in one, if there is one
 * lane only. */
static void back_first(void) {
    begin();
    pool.shares = 1;
    for (int i = 0; i < 3; i++) push_one();
    explore_check(take(1) == 1);
    wsq_task *back = &items[0].task;
    wsqi_chain_push(&pool.lanes[WSQ_NORMAL].incoming, wsqi_marked(back), back);
    items[0].taken = 0;
    explore_check(take(1) == 1 && items[0].taken);
    end();
}

/* Never empty: nobody finds it so, unless a consumer is moving it. */
static void watcher(void *arg) {
    (void)arg;
    for (int i = 0; i < 2; i++) explore_check(!wsqi_inject_empty(&pool.lanes[WSQ_NORMAL]));
}

static void never_empty(void) {
    begin();
    push_one();
    explore_start(watcher, NULL);
    push_one();
    push_two();
    explore_join();
    end();
}

static void small_producer(void *arg) {
    (void)arg;
    push_one();
}

static void small_consumer(void *arg) {
    (void)arg;
    take(1);
}

/* Producers that bring the lane into order themselves, against each other and a consumer. */
static void settler(void *arg) {
    (void)arg;
    push_one();
    wsqi_inject_settle(&pool.lanes[WSQ_NORMAL]);
}

static void settled(void) {
    begin();
    explore_start(settler, NULL);
    explore_start(small_consumer, NULL);
    push_one();
    settler(NULL);
    explore_join();
    end();
}

static void small(void) {
    begin();
    push_one();
    explore_start(small_producer, NULL);
    explore_start(small_consumer, NULL);
    take(1);
    explore_join();
    end();
}

int main(void) {
    explore_random("inject: one producer, one consumer", one_each, 200000);
    explore_random("inject: two producers, two consumers", two_each, 250000);
    explore_random("inject: first in, first out", first_in_first_out, 200000);
    explore_random("inject: first in, first out, of two lanes", first_in_of_two_lanes, 200000);
    explore_random("inject: back first", back_first, 10);
    explore_random("inject: never empty", never_empty, 100000);
    explore_random("inject: producers that settle", settled, 200000);
    explore_exhaust("inject: small", small, 3);
    return explore_end();
}
