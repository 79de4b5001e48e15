/* The lanes in the explorer. A lane by itself: producers of single tasks and of chains against consumers. The
 * lanes of a pool: tasks of high and low priority and pinned ones, against sleep, waits and shutdown; what
 * overflows. What a thief takes beside the task that it runs is for others, too: a worker that goes to sleep
 * while tasks move from ring to ring may have seen neither. Nor may it overlook a lane of the global queue, of
 * which there is one for each worker here. */
#define WSQ_RING_CAPACITY 4
#define WSQI_LANE_WORKERS 1
#define WSQI_ENOUGH 1 /* with two lanes a consumer leaves new tasks in `incoming` while it finds older ones */
#define WSQI_SETTLE 1 /* every spawn from outside brings its lane into order */
#include "explore_small.h"
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include "explore_items.h"

/* ---- a lane by itself ---- */

enum { ENTRIES = 8 };

typedef struct entry {
    wsq_task task;
    int number; /* written before the push: the thread that has the task must see it */
    int taken;  /* the explorer's own count: no access of the program */
} entry;

static entry entries[ENTRIES];
static int made, last_of[2];
static wsq_pool bare; /* of which only the queue is used */

static void begin_bare(void) {
    memset(&bare, 0, sizeof bare);
    memset(entries, 0, sizeof entries);
    bare.workers = 1;
    made = last_of[0] = last_of[1] = 0;
}

static entry *make_entry(void) {
    explore_check(made < ENTRIES);
    entry *it = &entries[made++];
    wsqi_set(&it->number, made);
    return it;
}

static void push_one(void) {
    wsq_task *task = &make_entry()->task;
    wsqi_lane_push(&bare.lanes[WSQ_NORMAL], task, task);
}

/* Newest first. */
static void push_two(void) {
    entry *older = make_entry(), *newer = make_entry();
    wsqi_set(&newer->task.next, &older->task);
    wsqi_chain_push(&bare.lanes[WSQ_NORMAL].incoming, &newer->task, &older->task);
}

/* Takes a batch; what one producer pushed comes in the order in which it was pushed. */
static uint32_t take(uint32_t most) {
    uint32_t left, count = 0;
    wsq_task *task = wsqi_lane_take(&bare, &bare.lanes[WSQ_NORMAL], most, &left), *next;
    for (; task; task = next, count++) {
        entry *it = wsq_container_of(task, entry, task);
        next = wsqi_get(&task->next);
        explore_check(wsqi_get(&it->number) == it - entries + 1);
        explore_check(!it->taken);
        it->taken = 1;
    }
    explore_check(count <= most);
    return count;
}

static void end_bare(void) {
    while (!wsqi_lane_empty(&bare.lanes[WSQ_NORMAL])) explore_check(take(3) > 0);
    explore_check(bare.lanes[WSQ_NORMAL].lock.v == 0 && bare.lanes[WSQ_NORMAL].length.v == 0);
    for (int i = 0; i < made; i++) explore_check(entries[i].taken);
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
    begin_bare();
    explore_start(consumer, NULL);
    producer(NULL);
    producer(NULL);
    explore_join();
    end_bare();
}

static void two_each(void) {
    begin_bare();
    explore_start(producer, NULL);
    explore_start(consumer, NULL);
    explore_start(consumer, NULL);
    producer(NULL);
    explore_join();
    end_bare();
}

/* One producer, one consumer: first in, first out. */
static void order_consumer(void *arg) {
    int *before = arg;
    for (int i = 0; i < 3; i++) {
        uint32_t left;
        wsq_task *task = wsqi_lane_take(&bare, &bare.lanes[WSQ_NORMAL], 1, &left);
        if (!task) continue;
        entry *it = wsq_container_of(task, entry, task);
        explore_check(wsqi_get(&it->number) == ++*before);
        it->taken = 1;
    }
}

static void ordered(unsigned lanes) {
    static int before;
    begin_bare();
    bare.global_lanes = lanes;
    before = 0;
    explore_start(order_consumer, &before);
    push_one();
    push_two();
    push_one();
    explore_join();
    end_bare();
}

static void first_in_first_out(void) { ordered(1); }
static void first_in_of_two_lanes(void) { ordered(2); }

/* A task that comes back from a ring goes before those that have not been in one, if there is one
 * lane only. */
static void back_first(void) {
    begin_bare();
    bare.global_lanes = 1;
    for (int i = 0; i < 3; i++) push_one();
    explore_check(take(1) == 1);
    wsq_task *back = &entries[0].task;
    wsqi_chain_push(&bare.lanes[WSQ_NORMAL].incoming, wsqi_marked(back), back);
    entries[0].taken = 0;
    explore_check(take(1) == 1 && entries[0].taken);
    end_bare();
}

/* Never empty: nobody finds it so, unless a consumer is moving it. */
static void watcher(void *arg) {
    (void)arg;
    for (int i = 0; i < 2; i++) explore_check(!wsqi_lane_empty(&bare.lanes[WSQ_NORMAL]));
}

static void never_empty(void) {
    begin_bare();
    push_one();
    explore_start(watcher, NULL);
    push_one();
    push_two();
    explore_join();
    end_bare();
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
    wsqi_lane_settle(&bare.lanes[WSQ_NORMAL]);
}

static void settled(void) {
    begin_bare();
    explore_start(settler, NULL);
    explore_start(small_consumer, NULL);
    push_one();
    settler(NULL);
    explore_join();
    end_bare();
}

/* A helper takes a task in passing, whichever it is, if it is alone; none is lost. */
static void passer(void *arg) {
    (void)arg;
    for (int i = 0; i < 3; i++) {
        entry *it = &entries[explore_choose(made + 1) % ENTRIES];
        if (!wsqi_take_lone(&bare.lanes[WSQ_NORMAL], &it->task)) continue;
        explore_check(wsqi_get(&it->number) == it - entries + 1);
        explore_check(!it->taken);
        it->taken = 1;
    }
}

static void in_passing(void) {
    begin_bare();
    bare.workers = 1 + (unsigned)explore_choose(2);
    explore_start(passer, NULL);
    explore_start(small_consumer, NULL);
    if (explore_choose(2)) push_two();
    push_one();
    explore_join();
    end_bare();
}

static void small(void) {
    begin_bare();
    push_one();
    explore_start(small_producer, NULL);
    explore_start(small_consumer, NULL);
    take(1);
    explore_join();
    end_bare();
}

/* ---- priorities and pinned tasks ---- */

static void spawn_as(int i, wsq_priority priority) {
    explore_check(wsq_task_set_priority(&items[i].task, priority) == WSQ_OK);
    spawn(i);
}

static void low_1(void *arg) {
    (void)arg;
    spawn_as(1, WSQ_LOW);
}

/* They run side by side: a worker that goes to sleep forgets no queue. */
static void high_and_low(void) {
    begin(2, plain);
    items[0].company = items[1].company = 2;
    if (explore_choose(2)) explore_wait_quiet();
    explore_start(low_1, NULL);
    spawn_as(0, WSQ_HIGH);
    end(2);
}

static void pinned_1(void *arg) {
    (void)arg;
    explore_check(wsq_spawn_on(pool, 1, &items[1].task) == WSQ_OK);
}

/* Each has its worker, asleep or not. */
static void pinned(void) {
    begin(2, plain);
    items[0].company = items[1].company = 2;
    if (explore_choose(2)) explore_wait_quiet();
    explore_start(pinned_1, NULL);
    explore_check(wsq_spawn_on(pool, 0, &items[0].task) == WSQ_OK);
    end(2);
}

/* A pinned one among others, which may be woken for it. */
static void pinned_and_plain(void) {
    begin(2, plain);
    items[1].waits = true;
    explore_check(wsq_spawn_on(pool, (unsigned)explore_choose(2), &items[1].task) == WSQ_OK);
    if (explore_choose(2)) explore_wait_quiet();
    explore_start(spawner, (void *)(uintptr_t)&number[0]);
    send(1);
    end(2);
}

/* Its worker is in the middle of a task, which waits for it. */
static wsq_poll run_waiting(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    explore_check(wsq_task_wait(&items[1].task) == WSQ_OK);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static void pinned_to_who_waits(void) {
    begin(1, plain);
    items[0].task.fn = run_waiting;
    items[1].waits = true;
    explore_check(wsq_spawn_on(pool, 0, &items[1].task) == WSQ_OK);
    explore_wait_quiet();
    spawn(0);
    if (explore_choose(2)) explore_wait_quiet();
    send(1);
    end(2);
}

/* What comes to an inbox, or another lane, after the workers have left is cancelled. */
static void pinned_against_shutdown(void) {
    begin(1, plain);
    items[0].waits = items[1].waits = true;
    bool high = explore_choose(2) != 0;
    for (int i = 0; i < 2; i++) {
        if (high) wsq_task_set_priority(&items[i].task, WSQ_HIGH);
        wsq_result result = high ? wsq_spawn(pool, &items[i].task) : wsq_spawn_on(pool, 0, &items[i].task);
        explore_check(result == WSQ_OK);
    }
    explore_wait_quiet();
    explore_start(send_0, NULL);
    explore_start(send_1, NULL);
    explore_check(wsq_pool_shutdown(pool, WSQ_CANCEL) == WSQ_OK);
    explore_wait_quiet();
    for (int i = 0; i < 2; i++) explore_check(items[i].done + items[i].cleaned == 1);
    explore_pool_end(pool);
}

/* ---- a lane for each worker, and what thieves bring ---- */

enum { MAKERS = 6 };

/* A task spawns the tasks [first, first + children), meets `company` tasks at the gate, is done. */
typedef struct maker {
    wsq_task task;
    int first, children, company, runs;
} maker;

static maker makers[MAKERS];

static void spawn_maker(int i) { explore_check(wsq_spawn(pool, &makers[i].task) == WSQ_OK); }

static wsq_poll run_maker(wsq_ctx ctx, wsq_task *task) {
    maker *it = wsq_container_of(task, maker, task);
    (void)ctx;
    explore_check(++it->runs == 1);
    for (int i = it->first; i < it->first + it->children; i++)
        spawn_maker(i);
    if (it->company) explore_meet(&gate, it->company);
    return WSQ_DONE;
}

/* Three children, and a thief takes two of them: the three must run side by side. */
static void half_of_three(void) {
    memset(makers, 0, sizeof makers);
    gate = 0;
    for (int i = 0; i < MAKERS; i++) wsq_task_init(&makers[i].task, run_maker);
    pool = explore_pool_make(3, plain);
    makers[0].first = 1;
    makers[0].children = 3;
    for (int i = 1; i <= 3; i++) makers[i].company = 3;
    if (explore_choose(2)) explore_wait_quiet();
    spawn_maker(4);
    if (explore_choose(2)) spawn_maker(5);
    else makers[5].runs = 1;
    spawn_maker(0);
    explore_wait_quiet();
    for (int i = 0; i < MAKERS; i++) explore_check(makers[i].runs == 1);
    explore_check_parked(pool);
    explore_pool_end(pool);
}

static wsq_poll wait_for_pinned(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    spawn_maker(2);
    explore_check(wsq_spawn_on(pool, 0, &makers[1].task) == WSQ_OK);
    explore_check(wsq_task_wait(&makers[1].task) == WSQ_OK);
    makers[0].runs++;
    return WSQ_DONE;
}

/* A worker looks for what it waits for and runs it: what it moved meanwhile must run beside that. */
static void moved_by_a_wait(void) {
    memset(makers, 0, sizeof makers);
    gate = 0;
    for (int i = 0; i < 3; i++) wsq_task_init(&makers[i].task, i == 0 ? wait_for_pinned : run_maker);
    makers[1].company = makers[2].company = 2;
    pool = explore_pool_make(2, plain);
    explore_check(wsq_spawn_on(pool, 0, &makers[0].task) == WSQ_OK);
    explore_wait_quiet();
    for (int i = 0; i < 3; i++) explore_check(makers[i].runs == 1);
    explore_check_parked(pool);
    explore_pool_end(pool);
}

/* From outside, through any lane: both must run side by side. */
static void any_lane(void) {
    memset(makers, 0, sizeof makers);
    gate = 0;
    for (int i = 0; i < 2; i++) {
        wsq_task_init(&makers[i].task, run_maker);
        makers[i].company = 2;
    }
    pool = explore_pool_make(2, plain);
    if (explore_choose(2)) explore_wait_quiet();
    for (int i = 0; i < 2; i++) {
        explore_key = explore_choose(2) ? 1 : 2;
        spawn_maker(i);
    }
    explore_key = 0;
    explore_wait_quiet();
    for (int i = 0; i < 2; i++) explore_check(makers[i].runs == 1);
    explore_check_parked(pool);
    explore_pool_end(pool);
}

/* A worker that is woken for a task in a lane takes it, whatever its own lane is: it does not go to sleep and
 * look again until that lane's turn has come. */
static int parks;

static void count_parks(void *user, wsq_event event, unsigned worker, const void *subject,
                        uint64_t value) {
    (void)user, (void)worker, (void)subject, (void)value;
    if (event == WSQ_EVENT_PARK) explore_check(++parks <= 20);
}

static void other_lane(void) {
    static const wsq_hooks hooks = {.event = count_parks};
    memset(makers, 0, sizeof makers);
    gate = parks = 0;
    for (int i = 0; i < 2; i++) {
        wsq_task_init(&makers[i].task, run_maker);
        makers[i].company = 2;
    }
    pool = explore_pool_make(2, (wsq_config){.hooks = &hooks, .min_interval = 255});
    explore_key = explore_choose(2) ? 1 : 2;
    for (int i = 0; i < 2; i++) spawn_maker(i);
    explore_key = 0;
    explore_wait_quiet();
    for (int i = 0; i < 2; i++) explore_check(makers[i].runs == 1);
    explore_pool_end(pool);
}

/* More than a ring holds: what moves to the lanes runs, too. */
static void spilled(void) {
    memset(makers, 0, sizeof makers);
    gate = 0;
    for (int i = 0; i < MAKERS; i++) wsq_task_init(&makers[i].task, run_maker);
    pool = explore_pool_make(2, plain);
    makers[0].first = 1;
    makers[0].children = MAKERS - 1;
    makers[MAKERS - 1].company = makers[1].company = 2;
    spawn_maker(0);
    explore_wait_quiet();
    for (int i = 0; i < MAKERS; i++) explore_check(makers[i].runs == 1);
    explore_check_parked(pool);
    explore_pool_end(pool);
}

/* The pool stops: what is in a lane ends all the same. */
static void cancelled_lane(void) {
    memset(makers, 0, sizeof makers);
    pool = explore_pool_make(2, plain);
    for (int i = 0; i < 3; i++) {
        wsq_task_init(&makers[i].task, run_maker);
        explore_key = explore_choose(2) ? 1 : 2;
        spawn_maker(i);
    }
    explore_key = 0;
    explore_check(wsq_pool_shutdown(pool, WSQ_CANCEL) == WSQ_OK);
    for (int i = 0; i < 3; i++) explore_check(wsq_task_done(&makers[i].task));
    explore_pool_end(pool);
}

static void late_spawner(void *arg) {
    *(wsq_result *)arg = wsq_spawn(pool, &makers[0].task);
}

/* A shutdown beside a spawn_maker by way of any lane: that runs or is refused, and so are all later ones,
 * whatever their lane. */
static void closed_lanes(void) {
    wsq_result late = WSQ_ERR_CLOSED;
    memset(makers, 0, sizeof makers);
    for (int i = 0; i < 3; i++) wsq_task_init(&makers[i].task, run_maker);
    pool = explore_pool_make(2, plain);
    if (explore_choose(2)) explore_wait_quiet();
    explore_key = explore_choose(2) ? 1 : 2;
    explore_start(late_spawner, &late);
    explore_check(wsq_pool_shutdown(pool, WSQ_DRAIN) == WSQ_OK);
    explore_wait_quiet();
    explore_check(makers[0].runs == (late == WSQ_OK));
    for (int i = 1; i < 3; i++) {
        explore_key = (unsigned)i;
        explore_check(wsq_spawn(pool, &makers[i].task) == WSQ_ERR_CLOSED);
    }
    explore_key = 0;
    explore_pool_end(pool);
}

int main(void) {
    explore_random("lane: one producer, one consumer", one_each, 200000);
    explore_random("lane: two producers, two consumers", two_each, 250000);
    explore_random("lane: first in, first out", first_in_first_out, 200000);
    explore_random("lane: first in, first out, of two lanes", first_in_of_two_lanes, 200000);
    explore_random("lane: back first", back_first, 10);
    explore_random("lane: never empty", never_empty, 100000);
    explore_random("lane: producers that settle", settled, 200000);
    explore_random("lane: the newest, in passing", in_passing, 100000);
    explore_exhaust("lane: small", small, 3);
    explore_random("compose: high and low", high_and_low, 2000);
    explore_random("compose: pinned", pinned, 2000);
    explore_random("compose: pinned and plain", pinned_and_plain, 2000);
    explore_random("compose: pinned to who waits", pinned_to_who_waits, 1500);
    explore_random("compose: pinned against shutdown", pinned_against_shutdown, 3000);
    explore_random("share: any lane", any_lane, 4000);
    explore_random("share: another's lane", other_lane, 2000);
    explore_random("share: closed lanes", closed_lanes, 3000);
    explore_random("share: cancelled lane", cancelled_lane, 2000);
    explore_random("share: spilled", spilled, 3000);
    explore_random("share: moved by a wait", moved_by_a_wait, 2000);
    explore_random("share: half of three", half_of_three, 4000);
    return explore_end();
}
