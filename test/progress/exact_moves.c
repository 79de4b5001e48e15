/* Tasks on their way from one queue to another, with the mover stalled at each access in turn; the ends and permits
 * that no other thread would see: each has one moment at which it must be told. What a wait runs, and what it leaves
 * in the queues; more than 64 workers. In virtual time. */
#include "exact.h"

/* ---- tasks on their way from one queue to another ---- */

/* Worker 1 runs dry while the thread that moves the tasks is stalled for 5 ms, at each access in turn. It finds none
 * then, so it has to be woken. */
static struct {
    void (*before)(wsq_ctx ctx), (*move)(wsq_ctx ctx);
    uint64_t at, stalled; /* the access; the end of the stall, 0: there was none */
    item *busy, *list[300];
    unsigned count;
    wsq_future *future;
} trip;

static void trip_stalled(sim_core *core, uint64_t until) {
    (void)core;
    trip.stalled = until;
}

static void trip_stall(void) {
    sim_stall.only = 1 + sim.running->id;
    sim_stall.ns = 5 * MS;
    sim_stall.tell = trip_stalled;
    sim_stall.left = trip.at;
}

static void trip_spawn(wsq_pool *pool, unsigned count, uint64_t ns) {
    while (count-- != 0) item_spawn(pool, trip.list[trip.count++] = item_make(ns));
}

static wsq_poll trip_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    trip.before(ctx);
    trip_stall();
    trip.move(ctx);
    sim_stall.left = 0;
    compute(20 * MS);
    return WSQ_DONE;
}

static void *short_call(void *arg) {
    compute(US);
    return arg;
}

static bool trip_in_time(wsq_pool *pool) {
    uint64_t late = 0;
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    for (unsigned i = 0; i < trip.count; i++)
        if (trip.list[i]->began > late) late = trip.list[i]->began;
    wsq_pool_destroy(pool);
    sim.threads = 0;
    sim_stall.only = 0;
    sim_stall.left = 0;
    sim_stall.tell = NULL;
    return trip.stalled == 0 || late < trip.stalled + MS;
}

static void moves_by_get(wsq_ctx ctx);

static void trip_all(wsq_config config, void (*before)(wsq_ctx), void (*move)(wsq_ctx), uint64_t step) {
    uint64_t at = 1;
    do {
        memset(&trip, 0, sizeof trip);
        trip.before = before;
        trip.move = move;
        trip.at = at;
        wsq_pool *pool = pool_make(&config);
        item *mover = item_make(0);
        mover->task.fn = trip_run;
        item_spawn_on(pool, 1, trip.busy = item_make(2 * MS));
        nap(100 * US);
        item_spawn_on(pool, 0, mover);
        nap(10 * US);
        if (move == moves_by_get) CHECK_EQ(wsq_submit(pool, short_call, NULL, &trip.future), WSQ_OK);
        CHECK(trip_in_time(pool));
        at += step;
    } while (trip.stalled != 0);
    CHECK(at > 5 * step);
}

static void three_tasks(wsq_ctx ctx) { trip_spawn(wsq_pool_of(ctx), 3, US); }
static void full_ring(wsq_ctx ctx) { trip_spawn(wsq_pool_of(ctx), 256, US); }

static void moves_by_block(wsq_ctx ctx) {
    wsq_block_begin(ctx);
    nap(10 * MS);
    wsq_block_end(ctx);
}

static void moves_by_overflow(wsq_ctx ctx) { trip_spawn(wsq_pool_of(ctx), 1, US); }

/* It waits for the task that worker 1 runs, so it moves the other one to the end of its ring. */
static void one_task(wsq_ctx ctx) { trip_spawn(wsq_pool_of(ctx), 1, US); }
static void moves_by_wait(wsq_ctx ctx) {
    (void)ctx;
    CHECK_EQ(wsq_task_wait(&trip.busy->task), WSQ_OK);
}

/* Its call lies in the global queue, where worker 1 takes it meanwhile. */
static void one_task_then_a_call(wsq_ctx ctx) {
    compute(20 * US);
    one_task(ctx);
}
static void moves_by_get(wsq_ctx ctx) {
    (void)ctx;
    CHECK_EQ(wsq_future_get(trip.future, NULL), WSQ_OK);
}

/* Without its permit, which a stand-in has until then, it queues tasks, and waits. */
static void tasks_without_a_permit(wsq_ctx ctx) {
    item_spawn(wsq_pool_of(ctx), item_make(2 * MS));
    wsq_block_begin(ctx);
    nap(100 * US);
    three_tasks(ctx);
}
static void moves_by_wait_without_a_permit(wsq_ctx ctx) {
    item *never = item_make(0);
    never->pends = true;
    item_spawn(wsq_pool_of(ctx), never);
    CHECK_EQ(wsq_task_wait_for(&never->task, 10 * MS), WSQ_ERR_TIMEOUT);
    sim_stall.left = 0;
    item_wake(never);
    wsq_block_end(ctx);
}

/* When it gets one more future it looks for those that it has got before, and takes all else out meanwhile. */
static void get_one(wsq_ctx ctx) {
    wsq_future *future;
    CHECK_EQ(wsq_submit(wsq_pool_of(ctx), short_call, NULL, &future), WSQ_OK);
    CHECK_EQ(wsq_future_get(future, NULL), WSQ_OK);
}
static void tasks_before_calls(wsq_ctx ctx) {
    three_tasks(ctx);
    for (int i = 0; i < WSQ_RING_CAPACITY / 2 - 1; i++) get_one(ctx);
}

/* A thread outside takes tasks of its group. */
static void helps(void) {
    memset(&trip, 0, sizeof trip);
    do {
        wsq_pool *pool = pool_make(&(wsq_config){.workers = 3, .max_standins = WSQ_STANDINS_OFF});
        uint64_t at = trip.at + 1;
        wsq_group group;
        memset(&trip, 0, sizeof trip);
        trip.at = at;
        wsq_group_init(&group, pool);
        for (int i = 0; i < 4; i++) {
            trip.list[trip.count++] = item_make(i == 0 ? 10 * MS : US);
            CHECK_EQ(wsq_group_spawn(&group, &trip.list[i]->task), WSQ_OK);
        }
        trip_stall();
        CHECK_EQ(wsq_group_wait(&group), WSQ_OK);
        sim_stall.left = 0;
        CHECK(trip_in_time(pool));
    } while (trip.stalled != 0);
    CHECK(trip.at > 20);
}

static item *one_outside;

static wsq_poll turn_run(wsq_ctx ctx, wsq_task *task) {
    if (item_of(task)->runs++ == 0) {
        compute(50 * US);
        wsqi_block(wsq_pool_of(ctx), 0)->turn.left = 0; /* its next task begins with a turn */
        trip_stall();
        return WSQ_YIELD;
    }
    sim_stall.left = 0;
    compute(20 * MS);
    return WSQ_DONE;
}

/* In its turn a worker moves a task of the global queue behind its own next task. */
static void moves_in_a_turn(void) {
    memset(&trip, 0, sizeof trip);
    do {
        wsq_pool *pool = pool_make(&(wsq_config){.workers = 2, .max_standins = WSQ_STANDINS_OFF});
        uint64_t at = trip.at + 1;
        item *turns = item_make(0);
        memset(&trip, 0, sizeof trip);
        trip.at = at;
        turns->task.fn = turn_run;
        item_spawn_on(pool, 1, item_make(2 * MS));
        nap(20 * US);
        item_spawn_on(pool, 0, turns);
        nap(20 * US);
        item_spawn(pool, one_outside = trip.list[trip.count++] = item_make(US));
        CHECK(trip_in_time(pool));
    } while (trip.stalled != 0);
    CHECK(trip.at > 20);
}

/* ---- tasks that come back to the global queue, and one that comes after them ---- */

static wsq_poll short_run(wsq_ctx ctx, wsq_task *task) {
    item *self = item_of(task);
    (void)ctx;
    compute(200);
    return --self->runs != 0 ? WSQ_YIELD : WSQ_DONE;
}

static wsq_poll blocks_with_fetched_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    CHECK_EQ(wsqi_queue_length(wsqi_block(wsq_pool_of(ctx), 0)), 2);
    wsq_block_begin(ctx);
    nap(5 * MS);
    wsq_block_end(ctx);
    return WSQ_DONE;
}

static void back_then_more(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    item *runs = item_make(0), *blocks = item_make(0), *first = item_make(MS), *second = item_make(US);
    item *last_one = item_make(US);
    wsq_task *list[] = {&blocks->task, &first->task, &second->task};
    runs->task.fn = short_run; /* so that the worker fetches more than one task */
    runs->runs = 20000;
    item_spawn(pool, runs);
    wsq_pool_wait(pool);
    blocks->task.fn = blocks_with_fetched_run;
    CHECK_EQ(wsq_spawn_batch(pool, list, 3), WSQ_OK);
    nap(500 * US);
    CHECK(first->began != 0 && second->began == 0);
    item_spawn(pool, last_one);
    wsq_pool_wait(pool);
    CHECK(first->ended <= second->began && second->ended <= last_one->began);
    wsq_pool_destroy(pool);
}

/* ---- the turns of a WSQ_LIFO pool ---- */

static item *newest_first[300];

static wsq_poll spawns_many_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    for (int i = 0; i < 300; i++) item_spawn(wsq_pool_of(ctx), newest_first[i] = item_make(100 * US));
    return WSQ_DONE;
}

/* Every second one, here every 20th task, takes one of the global queue. */
static void turns_of_lifo(void) {
    wsq_pool *pool = pool_make(
        &(wsq_config){.workers = 1, .order = WSQ_LIFO, .min_interval = 10, .max_interval = 10});
    item *spawns = item_make(0), *outside_ones[5];
    spawns->task.fn = spawns_many_run;
    item_spawn(pool, spawns);
    nap(MS);
    for (int i = 0; i < 5; i++) item_spawn(pool, outside_ones[i] = item_make(100 * US));
    wsq_pool_wait(pool);
    for (unsigned i = 1; i < 5; i++)
        CHECK_EQ((outside_ones[i]->began - outside_ones[i - 1]->began) / (100 * US), 20);
    for (int i = 1; i < 300; i++) CHECK(newest_first[i]->began < newest_first[i - 1]->began);
    wsq_pool_destroy(pool);
}

static void trips(void) {
    wsq_config two = {.workers = 2, .max_standins = WSQ_STANDINS_OFF}, lifo = two, more = {.workers = 2};
    lifo.order = WSQ_LIFO;
    trip_all(two, three_tasks, moves_by_block, 1);
    trip_all(two, full_ring, moves_by_overflow, 1);
    trip_all(two, one_task, moves_by_wait, 1);
    trip_all(two, one_task_then_a_call, moves_by_get, 1);
    trip_all(lifo, one_task_then_a_call, moves_by_get, 1);
    trip_all(more, tasks_without_a_permit, moves_by_wait_without_a_permit, 1);
    trip_all(two, tasks_before_calls, get_one, 7);
}

/* ---- wsq_pool_wait beside a wsq_run ---- */

static wsq_pool *beside;
static item *last;
static uint64_t quiet_at;

static void waits_for_quiet(void *arg) {
    (void)arg;
    while (last->began == 0) nap(10 * US);
    CHECK_EQ(wsq_pool_wait(beside), WSQ_OK);
    quiet_at = now();
}

static void *last_call(void *arg) {
    (void)item_run((wsq_ctx){0}, &last->task);
    return arg;
}

static void spawn_and_wait(void) {
    item_spawn(beside, last);
    CHECK_EQ(wsq_task_wait(&last->task), WSQ_OK);
}

static void submit_and_get(void) {
    wsq_future *future;
    CHECK_EQ(wsq_submit(beside, last_call, NULL, &future), WSQ_OK);
    CHECK_EQ(wsq_future_get(future, NULL), WSQ_OK);
}

static void nothing_more(void) {}

static void (*on_worker)(void); /* in the first piece that one runs; NULL: it was called */

static void piece(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    (void)arg;
    void (*fn)(void) = wsq_worker_index(ctx) < 2 ? on_worker : NULL;
    if (fn != NULL) on_worker = NULL, fn();
    compute((end - begin) * 10 * MS);
}

static void four_pieces(wsq_ctx ctx, void *arg) { wsq_for(ctx, 0, 4, 1, piece, arg); }

static void quiet_beside(void (*fn)(void)) {
    beside = pool_make(&(wsq_config){.workers = 2});
    last = item_make(MS);
    on_worker = fn;
    if (fn == nothing_more) item_spawn(beside, last);
    nap(100 * US);
    sim_core *waiter = outside(waits_for_quiet, NULL);
    CHECK_EQ(wsq_run(beside, four_pieces, NULL), WSQ_OK);
    sim_join(waiter);
    CHECK(quiet_at < last->ended + 100 * US);
    wsq_pool_destroy(beside);
    sim.threads = 0;
}

/* The last task ends on a worker that goes on with a job, or in the middle of one; or on a thread that helps. */
static void quiet(void) {
    quiet_beside(nothing_more);
    quiet_beside(spawn_and_wait);
    quiet_beside(submit_and_get);
    wsq_group group;
    beside = pool_make(&(wsq_config){.workers = 2});
    last = item_make(MS);
    wsq_group_init(&group, beside);
    sim_core *waiter = outside(waits_for_quiet, NULL);
    nap(100 * US);
    CHECK_EQ(wsq_group_spawn(&group, &last->task), WSQ_OK);
    CHECK_EQ(wsq_group_wait(&group), WSQ_OK);
    sim_join(waiter);
    CHECK(quiet_at < last->ended + 100 * US);
    wsq_pool_destroy(beside);
}

/* ---- permits that no idle thread can use ---- */

static item *queued;

static wsq_poll queue_and_block(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    item_spawn(wsq_pool_of(ctx), queued);
    wsq_block_begin(ctx);
    nap(5 * MS);
    wsq_block_end(ctx);
    return WSQ_DONE;
}

static wsq_poll wait_above(wsq_ctx ctx, wsq_task *task) {
    item *blocks = item_make(0), *never = item_make(0);
    (void)task;
    blocks->task.fn = queue_and_block;
    never->pends = true;
    item_spawn(wsq_pool_of(ctx), never);
    item_spawn(wsq_pool_of(ctx), blocks);
    CHECK_EQ(wsq_task_wait_for(&never->task, 20 * MS), WSQ_ERR_TIMEOUT);
    item_wake(never);
    return WSQ_DONE;
}

/* The only stand-in blocks, so the thread that waits takes its permit again. */
static void last_standin_blocks(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1, .max_standins = 1});
    item *waits = item_make(0);
    waits->task.fn = wait_above;
    queued = item_make(US);
    item_spawn(pool, waits);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    CHECK(queued->began < queued->spawned + 100 * US);
    wsq_pool_destroy(pool);
}

/* ---- what a thread outside runs in its wait ---- */

static const sim_core *caller;
static unsigned helped;

static wsq_poll helped_run(wsq_ctx ctx, wsq_task *task) {
    helped += sim.running == caller;
    return item_run(ctx, task);
}

/* The awaited task, if it is among the oldest eight. */
static void helps_as_far_as_eight(void) {
    caller = sim.running;
    for (int before = 0; before < 10; before++) {
        wsq_pool *pool = pool_make(&(wsq_config){.workers = 3});
        item *awaited = item_make(20 * US);
        helped = 0;
        awaited->task.fn = helped_run;
        for (int i = 0; i < before; i++) item_spawn(pool, item_make(20 * US));
        item_spawn(pool, awaited);
        CHECK_EQ(wsq_task_wait(&awaited->task), WSQ_OK);
        CHECK_EQ(helped, before < 8);
        wsq_pool_wait(pool);
        wsq_pool_destroy(pool);
        sim.threads = 0; /* the next pool has these cores again */
    }
}

/* ---- pinned tasks above a wait ---- */

static item *never;

static wsq_poll waits_for_never_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    CHECK_EQ(wsq_task_wait(&never->task), WSQ_OK);
    return WSQ_DONE;
}

static wsq_poll pinned_again_run(wsq_ctx ctx, wsq_task *task) {
    item *self = item_of(task), *next;
    compute(10 * US);
    if (now() >= self->give_up) return WSQ_DONE;
    next = item_make(0);
    next->task.fn = pinned_again_run;
    next->give_up = self->give_up;
    item_spawn_on(wsq_pool_of(ctx), 0, next);
    return WSQ_DONE;
}

/* They have the permit, so that no more threads are at work than the pool has workers; and while they come without
 * end, timers fire, and their tasks run. */
static void pinned_above_a_wait(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    item *waits = item_make(0), *pinned = item_make(5 * MS), *other = item_make(MS), *chain = item_make(0);
    item *timed = item_make(US);
    never = item_make(0);
    never->pends = timed->pends = true;
    item_spawn(pool, never);
    item_spawn(pool, timed);
    nap(MS);
    waits->task.fn = waits_for_never_run;
    item_spawn(pool, waits);
    nap(MS);
    item_spawn_on(pool, 0, pinned);
    nap(MS);
    item_spawn(pool, other);
    nap(10 * MS);
    CHECK(pinned->ended != 0 && other->began >= pinned->ended && other->ended != 0);
    chain->task.fn = pinned_again_run;
    chain->give_up = now() + 20 * MS;
    item_spawn_on(pool, 0, chain);
    item_set_timer(pool, timed, MS);
    nap(10 * MS);
    CHECK(timed->began != 0 && timed->began - timed->spawned < 2500 * US);
    item_wake(never);
    wsq_pool_wait(pool);
    wsq_pool_destroy(pool);
}

/* ---- a join that sleeps with its permit gives it for a timer, and for a task in a slot ---- */

static item *due;
static bool in_a_slot, early;

static void second_is_long(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    (void)ctx, (void)end, (void)arg;
    compute(begin == 0 ? 100 * US : 2 * MS);
    if (begin == 0) return;
    if (in_a_slot) item_wake(due);
    else if (!early) item_set_timer(wsq_pool_of(ctx), due, MS);
    compute(20 * MS);
}

static wsq_poll joins_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    wsq_for(ctx, 0, 2, 1, second_is_long, NULL);
    return WSQ_DONE;
}

/* Without an idle stand-in; with one; with one that has watched a timer before. */
static void due_beside_a_join(void) {
    for (int i = 0; i < 6; i++) {
        wsq_pool *pool = pool_make(&(wsq_config){.workers = 2});
        item *blocks = item_make(0), *joins = item_make(0), *runs = item_make(0), *far_off = item_make(0);
        in_a_slot = i % 2 != 0;
        early = i / 2 == 2;
        due = item_make(US);
        due->pends = true;
        item_spawn(pool, due);
        queued = item_make(US);
        blocks->task.fn = queue_and_block;
        if (i / 2 != 0) item_spawn(pool, blocks);
        runs->task.fn = short_run; /* so that a wake goes into the slot without a notification */
        runs->runs = 20000;
        item_spawn_on(pool, 1, runs);
        nap(50 * MS);
        joins->task.fn = joins_run;
        item_spawn_on(pool, 0, joins);
        if (early && in_a_slot) item_set_timer(pool, far_off, 50 * SECOND);
        else if (early) item_set_timer(pool, due, 5 * MS);
        wsq_pool_wait(pool);
        CHECK(due->began - due->spawned < (early && !in_a_slot ? 8 : 3) * MS);
        wsq_timer_cancel(&far_off->timer);
        wsq_pool_destroy(pool);
        sim.threads = 0; /* the next pool has these cores again */
    }
}

static wsq_poll blocks_shortly_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    wsq_block_begin(ctx);
    nap(MS);
    wsq_block_end(ctx);
    return WSQ_DONE;
}

static void both_are_long(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    (void)ctx, (void)end, (void)arg;
    compute(begin == 0 ? 3 * MS : 30 * MS);
}

static wsq_poll joins_later_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    wsq_for(ctx, 0, 2, 1, both_are_long, NULL);
    return WSQ_DONE;
}

/* No thread was woken for two tasks, since one searched. When it has found the first one, no permit sleeps: it asks the
 * thread that joins. */
static void search_ends_beside_a_join(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 3});
    item *joins = item_make(0), *wakes = item_make(US), *first = item_make(10 * MS), *second = item_make(US);
    wsq_task *list[] = {&first->task, &second->task};
    joins->task.fn = joins_later_run;
    item_spawn_on(pool, 0, joins);
    nap(5 * MS);
    item_spawn_on(pool, 2, wakes);
    while (wakes->ended == 0) nap(100);
    nap(4 * US);
    CHECK_EQ(wsqi_searching(wsqi_load_hint(&pool->permits)), 1);
    second->spawned = now();
    CHECK_EQ(wsq_spawn_batch(pool, list, 2), WSQ_OK);
    wsq_pool_wait(pool);
    CHECK(second->began - second->spawned < 200 * US);
    wsq_pool_destroy(pool);
}

/* The watcher has no permit: a stand-in has it, and the other worker sleeps in a join. */
static void watcher_without_a_permit(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2});
    item *blocks = item_make(0), *again = item_make(0), *joins = item_make(0);
    due = item_make(US);
    due->pends = true;
    item_spawn(pool, due);
    queued = item_make(US);
    blocks->task.fn = queue_and_block; /* so that there is a stand-in */
    item_spawn(pool, blocks);
    nap(50 * MS);
    item_set_timer(pool, due, 8 * MS);
    again->task.fn = blocks_shortly_run;
    item_spawn_on(pool, 0, again);
    nap(50 * US);
    joins->task.fn = joins_later_run;
    item_spawn_on(pool, 1, joins);
    wsq_pool_wait(pool);
    CHECK(due->began - due->spawned < 10 * MS);
    wsq_pool_destroy(pool);
}

/* ---- futures that a worker calls in its wait, and that stay queued ---- */

static unsigned beyond; /* tasks in the global queue */

static wsq_poll gets_many_run(wsq_ctx ctx, wsq_task *task) {
    unsigned most = beyond / 2 > WSQ_RING_CAPACITY / 2 ? beyond / 2 : WSQ_RING_CAPACITY / 2;
    (void)task;
    item_spawn(wsq_pool_of(ctx), item_make(US)); /* so that no future is alone in the queue */
    for (unsigned i = 1; i < 3 * most; i++) {
        get_one(ctx);
        if (i <= most) CHECK_EQ(wsq_pool_pending(wsq_pool_of(ctx)), 2 + beyond + i % most);
    }
    return WSQ_DONE;
}

/* They are taken out when they are half of a ring, and half of the global queue. */
static void entries_of_called_futures(void) {
    for (beyond = 0; beyond <= 400; beyond += 200) {
        wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
        wsq_task *list[401];
        item *gets = item_make(0);
        gets->task.fn = gets_many_run;
        list[0] = &gets->task;
        for (unsigned i = 0; i < beyond; i++) list[i + 1] = &item_make(US)->task;
        CHECK_EQ(wsq_spawn_batch(pool, list, beyond + 1), WSQ_OK);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        wsq_pool_destroy(pool);
        sim.threads = 0; /* the next pool has these cores again */
    }
}

/* ---- more than 64 workers ---- */

static unsigned ran_on[70];

static wsq_poll pinned_run(wsq_ctx ctx, wsq_task *task) {
    ran_on[wsq_worker_index(ctx)]++;
    return item_run(ctx, task);
}

static void piece_of_many(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    (void)ctx, (void)arg;
    compute((end - begin) * MS);
}

static wsq_poll many_pieces_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    wsq_for(ctx, 0, 140, 1, piece_of_many, NULL);
    return WSQ_DONE;
}

/* Each wakes by itself, for a pinned task, a timer and in a join. */
static void seventy_workers(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 70});
    item *loops = item_make(0), *timed = item_make(US);
    wsq_task *list[70];
    item *tasks[70];
    for (int round = 0; round < 2; round++) {
        memset(ran_on, 0, sizeof ran_on);
        for (unsigned i = 0; i < 70; i++) {
            item *one = item_make(US);
            one->task.fn = pinned_run;
            item_spawn_on(pool, i, one);
        }
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        for (unsigned i = 0; i < 70; i++) CHECK_EQ(ran_on[i], 1);
        nap(MS);
        for (unsigned i = 0; i < 70; i++) {
            list[i] = &(tasks[i] = item_make(10 * MS))->task;
            tasks[i]->spawned = now();
        }
        CHECK_EQ(wsq_spawn_batch(pool, list, 70), WSQ_OK);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        for (unsigned i = 0; i < 70; i++) CHECK(tasks[i]->began - tasks[i]->spawned < 200 * US);
    }
    timed->pends = true;
    item_spawn(pool, timed);
    nap(MS);
    item_set_timer(pool, timed, MS);
    loops->task.fn = many_pieces_run;
    uint64_t start = now();
    item_spawn_on(pool, 69, loops);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    CHECK(now() - start < 10 * MS);
    wsq_pool_destroy(pool);
}

/* ---- a thread outside asks ---- */

/* It spawns a task and waits for it, again and again. */
static void ask(wsq_pool *pool, int count) {
    for (int i = 0; i < count; i++) {
        item *one = item_make(200);
        item_spawn(pool, one);
        CHECK_EQ(wsq_task_wait(&one->task), WSQ_OK);
    }
}

static void asker(void *pool) { ask((wsq_pool *)pool, 1000); }

static unsigned searchers(wsq_pool *pool) { return wsqi_searching(wsqi_load_hint(&pool->permits)); }

/* A worker that comes too late stays awake. So most asks wake nobody. */
static uint64_t wakes_for_asks(wsq_pool *pool) {
    uint64_t before = wsqi_load_stat(&pool->wakes);
    ask(pool, 1000);
    return wsqi_load_stat(&pool->wakes) - before;
}

static void lingers(void) {
    static const wsq_config once = {.workers = 2, .spin_ns = WSQ_SPIN_OFF};
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2});
    CHECK(wakes_for_asks(pool) < 20);
    CHECK_EQ(searchers(pool), 1); /* it is awake */
    CHECK_EQ(wsqi_sleeping(wsqi_load_hint(&pool->permits)), 2);
    nap(WSQI_LINGER_NS + 20 * US);
    CHECK_EQ(searchers(pool), 0);
    for (int i = 0; i < 20; i++) { /* single asks keep no worker awake */
        ask(pool, 1);
        nap(30 * US);
        CHECK_EQ(searchers(pool), 0);
        nap(100 * US);
    }
    ask(pool, 100);
    CHECK_EQ(searchers(pool), 1);
    nap(WSQI_LINGER_NS + 20 * US);
    CHECK_EQ(searchers(pool), 0);
    wsq_pool_destroy(pool);

    pool = pool_make(&once); /* the user wants it so */
    ask(pool, 1000);
    nap(5 * US);
    CHECK_EQ(searchers(pool), 0);
    wsq_pool_destroy(pool);

    pool = pool_make(&(wsq_config){.workers = WORLD_CORES + 1}); /* or there are too many threads */
    ask(pool, 1000);
    nap(30 * US);
    CHECK_EQ(searchers(pool), 0);
    wsq_pool_destroy(pool);
}

/* What is no ask begins within two wake-ups: a lone task, a pinned one; a timer, which is precise to 65 us. Then the
 * same beside asks. */
static void no_asks(void) {
    for (int kind = 0; kind < 6; kind++) {
        wsq_pool *pool = pool_make(&(wsq_config){.workers = 2});
        item *one = item_make(US);
        one->pends = kind % 3 == 2;
        if (one->pends) item_spawn(pool, one);
        ask(pool, 1000);
        sim_core *asks = kind >= 3 ? outside(asker, pool) : NULL;
        nap(kind >= 3 ? 20 * US : 0);
        CHECK_EQ(searchers(pool), 1);
        if (kind % 3 == 0) item_spawn(pool, one);
        else if (kind % 3 == 1) item_spawn_on(pool, pool->sleepers[0].v == 1, one);
        else item_set_timer(pool, one, 0);
        nap(one->pends ? 80 * US : 10 * US);
        CHECK(one->began != 0);
        if (asks != NULL) sim_join(asks);
        uint64_t end = now();
        CHECK_EQ(wsq_pool_shutdown(pool, WSQ_DRAIN), WSQ_OK);
        CHECK(now() - end < 30 * US); /* it does not linger then */
        wsq_pool_destroy(pool);
    }
}

int main(void) {
    test_begin("exact_moves");
    IN_WORLD(trips);
    IN_WORLD(moves_in_a_turn);
    IN_WORLD(back_then_more);
    IN_WORLD(turns_of_lifo);
    IN_WORLD(helps);
    IN_WORLD(quiet);
    IN_WORLD(last_standin_blocks);
    IN_WORLD(helps_as_far_as_eight);
    IN_WORLD(pinned_above_a_wait);
    IN_WORLD(due_beside_a_join);
    IN_WORLD(search_ends_beside_a_join);
    IN_WORLD(watcher_without_a_permit);
    IN_WORLD(entries_of_called_futures);
    IN_WORLD(lingers);
    IN_WORLD(no_asks);
    IN_LARGE_WORLD(seventy_workers);
    return test_end();
}
