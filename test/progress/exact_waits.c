/* What a waiting thread runs, and what it leaves in the queues; a join that sleeps with its permit gives it for a task,
 * a timer, a full slot; lanes of threads outside; more than 64 workers; a driver's events. In virtual time. */
#include "exact.h"

static wsq_poll short_run(wsq_ctx ctx, wsq_task *task) {
    item *self = item_of(task);
    (void)ctx;
    compute(200);
    return --self->runs != 0 ? WSQ_YIELD : WSQ_DONE;
}

static void *short_call(void *arg) {
    compute(US);
    return arg;
}

static void get_one(wsq_ctx ctx) {
    wsq_future *future;
    CHECK_EQ(wsq_submit(wsq_pool_of(ctx), short_call, NULL, &future), WSQ_OK);
    CHECK_EQ(wsq_future_get(future, NULL), WSQ_OK);
}

/* ---- what a thread outside runs in its wait ---- */

static const sim_core *caller;
static unsigned helped;

static wsq_poll helped_run(wsq_ctx ctx, wsq_task *task) {
    helped += sim.running == caller;
    return item_run(ctx, task);
}

/* The awaited task, if it is among the oldest eight; in a WSQ_SHARED pool, if it is the oldest. */
static void helps_as_far_as_eight(void) {
    caller = sim.running;
    for (int n = 0; n < 20; n++) {
        int before = n / 2;
        bool shared = n % 2 != 0;
        wsq_pool *pool = pool_make(&(wsq_config){.workers = 3, .order = shared ? WSQ_SHARED : WSQ_FIFO});
        item *awaited = item_make(20 * US);
        helped = 0;
        awaited->task.fn = helped_run;
        for (int i = 0; i < before; i++) item_spawn(pool, item_make(20 * US));
        item_spawn(pool, awaited);
        CHECK_EQ(wsq_task_wait(&awaited->task), WSQ_OK);
        CHECK_EQ(helped, before < (shared ? 1 : 8));
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
        queued_first = item_make(US);
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

static void both_are_long(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    (void)ctx, (void)end, (void)arg;
    compute(begin == 0 ? 3 * MS : 30 * MS);
}

static wsq_poll joins_later_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    wsq_for(ctx, 0, 2, 1, both_are_long, NULL);
    return WSQ_DONE;
}

/* No thread was woken for two tasks, since one searched. When it has found the first one, no permit is free: it asks the
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
    item *blocks = item_make(0), *again = item_blocks(MS), *joins = item_make(0);
    due = item_make(US);
    due->pends = true;
    item_spawn(pool, due);
    queued_first = item_make(US);
    blocks->task.fn = queue_and_block; /* so that there is a stand-in */
    item_spawn(pool, blocks);
    nap(50 * MS);
    item_set_timer(pool, due, 8 * MS);
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
    unsigned most = beyond < 128 ? 128 : beyond < 256 ? beyond + 1 : 256; /* (a full ring moves to the global queue) */
    wsqi_worker *self = wsqi_worker_of(ctx);
    (void)task;
    item_spawn(self->pool, item_make(US)); /* so that no future is alone in the queue */
    for (unsigned i = 1; i < 3 * most; i++) {
        get_one(ctx);
        CHECK(i > most || self->tombstones == i % most);
        CHECK(i > most || beyond != 0 || wsqi_queue_length(self) == 1 + i % most);
        CHECK_EQ(wsq_pool_pending(self->pool), 2 + beyond); /* they are done */
    }
    return WSQ_DONE;
}

/* They are taken out when they are half of a ring, and half of all entries. */
static void entries_of_called_futures(void) {
    for (beyond = 0; beyond <= 400; beyond += 200) {
        wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
        wsq_task *list[401];
        wsq_task_init(list[0] = &item_make(0)->task, gets_many_run);
        for (unsigned i = 0; i < beyond; i++) list[i + 1] = &item_make(US)->task;
        CHECK_EQ(wsq_spawn_batch(pool, list, beyond + 1), WSQ_OK);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        wsq_pool_destroy(pool);
        sim.threads = 0; /* the next pool has these cores again */
    }
}

/* ---- threads outside, each with its lane ---- */

static wsq_pool *laned;
static item *of_thread[8][3];

static void spawns_three(void *arg) {
    for (int i = 0; i < 3; i++) item_spawn(laned, ((item **)arg)[i]);
}

/* Their tasks lie in several lanes, and all are found. */
static void lanes_of_threads(void) {
    for (unsigned workers = 3; workers <= 12; workers += 3) {
        sim_core *threads[8];
        unsigned used = 0;
        laned = pool_make(&(wsq_config){.workers = workers});
        for (unsigned i = 0; i < workers; i++) item_spawn_on(laned, i, item_make(MS));
        nap(100 * US);
        for (int k = 0; k < 8; k++) {
            for (int i = 0; i < 3; i++) of_thread[k][i] = item_make(US);
            threads[k] = outside(spawns_three, of_thread[k]);
        }
        for (int k = 0; k < 8; k++) sim_join(threads[k]);
        for (unsigned i = 0; i < laned->global_lanes; i++) used += !wsqi_lane_empty(&laned->lanes[wsqi_lane_index(i)]);
        CHECK(laned->global_lanes == workers / 3 && used <= laned->global_lanes && used >= (laned->global_lanes + 1) / 2);
        CHECK_EQ(used > 1, laned->global_lanes > 1);
        CHECK_EQ(wsq_pool_wait_for(laned, SECOND), WSQ_OK);
        for (int k = 0; k < 8; k++)
            for (int i = 0; i < 3; i++) CHECK(of_thread[k][i]->ended != 0);
        wsq_pool_destroy(laned);
        sim.threads = 0; /* the next pool has these cores again */
    }
}

/* ---- how many edges lead to a task ---- */

/* As many as its state has room for. */
static void most_edges(void) {
    item *task = item_make(0), *first = item_make(0);
    wsq_edge edges[2];
    wsqi_store_own(&task->task.state, 0u - 3 * (uint32_t)WSQI_TASK_HOLD);
    CHECK_EQ(wsq_task_after(&task->task, &first->task, &edges[0]), WSQ_OK);
    CHECK_EQ(wsq_task_after(&task->task, &first->task, &edges[1]), WSQ_ERR_INVALID);
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

/* A join on a worker whose bit is not in the first word of a bitmap: it is asked for its permit. */
static void joiner_beyond_sixty_four(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 66});
    item *joins = item_make(0), *late = item_make(US);
    for (unsigned i = 0; i < 63; i++) item_spawn_on(pool, i, item_make(20 * MS));
    item_spawn_on(pool, 65, item_make(20 * MS));
    nap(MS);
    joins->task.fn = joins_later_run;
    item_spawn_on(pool, 64, joins);
    nap(5 * MS);
    item_spawn(pool, late);
    nap(MS);
    CHECK(late->began != 0 && late->began - late->spawned < 200 * US);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    wsq_pool_destroy(pool);
}

/* ---- a permit passes from a thread that blocks to one that seeks a permit ---- */

static wsq_poll blocks_again_run(wsq_ctx ctx, wsq_task *task) {
    item *self = item_of(task);
    if (self->runs++ == 50) return WSQ_DONE;
    compute(self->ns);
    block_for(ctx, 10 * US);
    return WSQ_YIELD;
}

/* Two tasks use one permit in turn: no thread sleeps. And who seeks a permit runs what is pinned to it. */
static void seekers(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    for (unsigned after = 0; after < 16; after++) {
        item *one = item_make(after == 0 ? 15 * US : US), *last = item_make(US);
        item *two = item_make(after == 0 ? 15 * US : 5 * MS);
        uint64_t start = now();
        one->task.fn = blocks_again_run;
        if (after == 0) two->task.fn = blocks_again_run;
        else one->runs = 49; /* one more run */
        after == 0 ? item_spawn(pool, one) : item_spawn_on(pool, 0, one);
        while (one->runs != (after == 0 ? 1 : 50)) nap(US);
        item_spawn(pool, two); /* a stand-in takes it, and the permit */
        if (after == 0) CHECK(wsq_pool_wait(pool) == WSQ_OK && now() - start < 1650 * US);
        nap((9 + after) * US); /* until the block ends, and the worker seeks a permit */
        item_spawn_on(pool, 0, last);
        nap(10 * US);
        CHECK(last->began != 0 && (after == 0) == (two->ended != 0 || two->runs == 51));
        nap(10 * MS);
    }
    wsq_pool_destroy(pool);
}

/* ---- a wait with a time-out runs nothing that it waits for, so it returns in time ---- */

static struct {
    wsq_result result[3];
    uint64_t took[3];
} limited;

static void *compute_5ms(void *arg) {
    compute(5 * MS);
    return arg;
}

static wsq_poll waits_limited_run(wsq_ctx ctx, wsq_task *task) {
    wsq_pool *pool = wsq_pool_of(ctx);
    item *one = item_make(5 * MS), *two = item_make(5 * MS), *three = item_make(5 * MS);
    wsq_group group;
    wsq_future *future;
    uint64_t start = now();
    (void)task;
    item_spawn(pool, one);
    limited.result[0] = wsq_task_wait_for(&one->task, MS);
    limited.took[0] = now() - start;
    CHECK_EQ(wsq_group_init(&group, pool), WSQ_OK);
    CHECK_EQ(wsq_group_spawn(&group, &two->task), WSQ_OK);
    CHECK_EQ(wsq_group_spawn(&group, &three->task), WSQ_OK);
    start = now();
    limited.result[1] = wsq_group_wait_for(&group, MS);
    limited.took[1] = now() - start;
    CHECK_EQ(wsq_submit(pool, compute_5ms, NULL, &future), WSQ_OK);
    start = now();
    limited.result[2] = wsq_future_get_for(future, MS, NULL);
    limited.took[2] = now() - start;
    CHECK(wsq_future_get(future, NULL) == WSQ_OK && wsq_group_wait(&group) == WSQ_OK);
    CHECK_EQ(wsq_task_wait(&one->task), WSQ_OK);
    return WSQ_DONE;
}

/* Without stand-ins the thread runs one task in each wait, and then looks at the clock. */
static void limits_of_waits(void) {
    for (unsigned workers = 0; workers < 4; workers++) {
        bool alone = workers == 0;
        wsq_config config = {.workers = alone ? 1 : workers, .max_standins = alone ? WSQ_STANDINS_OFF : 0};
        wsq_pool *pool = pool_make(&config);
        item *waits = item_make(0);
        waits->task.fn = waits_limited_run;
        item_spawn(pool, waits);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        for (int i = 0; i < 3; i++) {
            CHECK_EQ(limited.result[i], alone && i == 0 ? WSQ_OK : WSQ_ERR_TIMEOUT);
            CHECK(limited.took[i] < (alone ? 5050 : 1060) * US);
        }
        wsq_pool_destroy(pool);
        sim.threads = 0;
    }
}

/* ---- a thief whose victim takes back each task first ---- */

static void *returns_at_once(void *arg) { return arg; }

static wsq_poll asks_on_run(wsq_ctx ctx, wsq_task *task) {
    for (int i = 0; i < 6000; i++) {
        wsq_future *future;
        CHECK_EQ(wsq_submit(wsq_pool_of(ctx), returns_at_once, NULL, &future), WSQ_OK);
        CHECK_EQ(wsq_future_get(future, NULL), WSQ_OK);
    }
    item_of(task)->ended = now();
    return WSQ_DONE;
}

static void thief_always_loses(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2, .order = WSQ_LIFO, .spin_ns = 5 * MS});
    for (unsigned i = 0; i < 20; i++) {
        item *asks = item_make(0), *late = item_make(US);
        asks->task.fn = asks_on_run;
        item_spawn(pool, asks);
        nap(100 * US + i * 20);
        item_spawn(pool, late);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        CHECK(late->began < late->spawned + 100 * US && late->ended < asks->ended);
    }
    wsq_pool_destroy(pool);
}

/* ---- what a pinned task queues while its worker has no permit ---- */

static wsq_poll queues_first_run(wsq_ctx ctx, wsq_task *task) {
    if (queued_first->spawned == 0) item_spawn(wsq_pool_of(ctx), queued_first);
    return item_run(ctx, task);
}

/* The stand-in has the permit, since what it runs yields. So it must get what the pinned task queues. */
static void queued_without_a_permit(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    item *blocks = item_blocks(20 * US), *keeps = item_make(US), *pinned_one = item_make(US);
    queued_first = item_make(US);
    keeps->until = pinned_one;
    pinned_one->task.fn = queues_first_run;
    pinned_one->until = queued_first;
    pinned_one->give_up = 20 * MS;
    item_spawn(pool, blocks);
    nap(10 * US);
    item_spawn(pool, keeps);
    item_spawn_on(pool, 0, pinned_one);
    wsq_pool_wait(pool);
    CHECK(queued_first->began < pinned_one->began + 100 * US);
    wsq_pool_destroy(pool);
}

/* ---- who waits for the driver's events ---- */

/* Posts events that bring no task: each has been dispatched when the next one comes. */
static void post_events(unsigned count, uint64_t apart_ns) {
    for (unsigned i = 1; i <= count; i++) {
        post_event(NULL);
        nap(apart_ns);
        CHECK_EQ(post.count, i);
    }
}

static wsq_poll yields_on_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    compute(50 * US);
    return now() < item_of(task)->give_up ? WSQ_YIELD : WSQ_DONE;
}

static void yield_on(wsq_pool *pool, unsigned worker, uint64_t ns) {
    item *busy = item_make(0);
    busy->task.fn = yields_on_run;
    busy->give_up = now() + ns;
    item_spawn_on(pool, worker, busy);
}

/* The thread that has dispatched an event computes: another one waits for events soon, also one that sleeps until a
 * timer. */
static void events_beside_a_long_task(void) {
    for (int timer = 0; timer < 2; timer++) {
        wsq_pool *pool = post_pool((wsq_config){.workers = 2});
        item *timed = item_make(0);
        if (timer) item_set_timer(pool, timed, 50 * SECOND);
        nap(2 * MS);
        for (unsigned i = 1; i < 9; i++) {
            post_event(i % 4 == 1 ? item_make(5 * MS) : NULL);
            nap(2 * MS);
            CHECK_EQ(post.count, i);
        }
        CHECK(post.longest < 600 * US);
        CHECK_EQ(wsq_timer_cancel(&timed->timer), timer != 0);
        wsq_pool_wait(pool);
        wsq_pool_destroy(pool);
        sim.threads = 0; /* the next pool has these cores again */
    }
}

static wsq_poll posts_run(wsq_ctx ctx, wsq_task *task) {
    post_event(due);
    return item_run(ctx, task);
}

/* An event brings 22 short tasks and 16 long ones, and the first of these another event: of this the worker that has run
 * short tasks hears before it steals long ones. */
static void asks_after_events(void) {
    wsq_pool *pool = post_pool((wsq_config){.workers = 2});
    item *all[POSTS], *last = item_make(US);
    nap(2 * MS);
    for (int i = 0; i < POSTS; i++) post.tasks[i] = all[i] = item_make(i < 22 ? US : 20 * US);
    all[0]->task.fn = posts_run;
    due = last;
    post_event(all[0]);
    nap(300 * US);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    CHECK(last->began != 0 && last->began < all[30]->began);
    wsq_pool_destroy(pool);
}

static wsq_poll spawns_200_run(wsq_ctx ctx, wsq_task *task) {
    for (int i = 0; i < 200; i++) item_spawn(wsq_pool_of(ctx), item_make(US));
    return item_run(ctx, task);
}

/* Without events a worker asks when there is nothing to steal, and in its turns: ten times here. (If it asked before each
 * of its seven thefts, too: 17 times.) */
static void asks_after_stealing(void) {
    wsq_pool *pool = post_pool((wsq_config){.workers = 2});
    item *spawns = item_make(250 * US);
    spawns->task.fn = spawns_200_run;
    nap(2 * MS);
    post.looks = 0;
    item_spawn_on(pool, 0, spawns);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    CHECK(post.looks < 14);
    wsq_pool_destroy(pool);
}

/* Events that bring no task: the only idle thread keeps the driver. */
static void events_without_tasks(void) {
    wsq_pool *pool = post_pool((wsq_config){.workers = 2});
    item_spawn_on(pool, 1, item_make(20 * MS));
    nap(5 * MS);
    post_events(19, 100 * US);
    CHECK(post.longest < 20 * US);
    wsq_pool_wait(pool);
    wsq_pool_destroy(pool);
}

/* While all workers have tasks, each looks for events in its turns. */
static void events_in_a_busy_pool(void) {
    wsq_pool *pool = post_pool((wsq_config){.workers = 2});
    for (unsigned i = 0; i < 2; i++) yield_on(pool, i, 60 * MS);
    nap(10 * MS);
    post_events(9, 4 * MS);
    CHECK(post.longest < 2 * MS);
    wsq_pool_wait(pool);
    wsq_pool_destroy(pool);
}

/* A long task has the only permit. The other thread, in its loop or in a wait, runs pinned tasks: it looks for events. */
static wsq_poll waits_for_long_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    wsq_task_wait(&queued_first->task);
    return WSQ_DONE;
}

static void events_beside_pinned_tasks(void) {
    for (int waits = 0; waits < 2; waits++) {
        wsq_pool *pool = post_pool((wsq_config){.workers = 1});
        item *other = item_blocks(20 * US), *timed = item_make(US);
        queued_first = item_make(60 * MS);
        if (waits) other->task.fn = waits_for_long_run;
        item_spawn(pool, other);
        item_spawn(pool, queued_first); /* a stand-in takes it */
        nap(MS);
        timed->pends = true;
        item_spawn_on(pool, 0, timed);
        yield_on(pool, 0, 40 * MS);
        nap(MS);
        item_set_timer(pool, timed, MS);
        post_events(9, 3 * MS);
        CHECK(post.longest < MS && queued_first->ended == 0);
        CHECK(timed->began != 0 && timed->began - timed->spawned < 2500 * US);
        wsq_pool_wait(pool);
        wsq_pool_destroy(pool);
        sim.threads = 0;
    }
}

/* Events without end, each posted by the task of the one before, do not keep a worker from the jobs of another. */
static bool posting;

static wsq_poll posts_next_run(wsq_ctx ctx, wsq_task *task) {
    item *next = item_make(20 * US);
    next->task.fn = posts_next_run;
    if (posting) post_event(next);
    return item_run(ctx, task);
}

static void jobs_beside_events(void) {
    wsq_pool *pool = post_pool((wsq_config){.workers = 2});
    item *posts = item_make(0), *loop = item_make(0);
    posts->task.fn = posts_next_run;
    loop->task.fn = many_pieces_run;
    posting = true;
    post_event(posts);
    nap(5 * MS);
    uint64_t start = now();
    item_spawn_on(pool, 0, loop);
    CHECK_EQ(wsq_task_wait(&loop->task), WSQ_OK);
    CHECK(now() - start < 100 * MS); /* 140, if worker 0 is alone with it */
    posting = false;
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    wsq_pool_destroy(pool);
}

/* In a caller_runs pool the thread that waits acts as a worker in the dispatch. */
static void events_where_the_caller_runs(void) {
    wsq_pool *pool = post_pool((wsq_config){.caller_runs = true, .workers = 2});
    item *pends = item_make(US), *one = item_make(US);
    pends->pends = true;
    item_spawn(pool, pends);
    CHECK_EQ(wsq_task_wait_for(&pends->task, MS), WSQ_ERR_TIMEOUT);
    post_event(one);
    CHECK_EQ(wsq_task_wait_for(&pends->task, MS), WSQ_ERR_TIMEOUT);
    CHECK(post.count == 1 && one->ended != 0);
    item_wake(pends);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    wsq_pool_destroy(pool);
}

int main(void) {
    test_begin("exact_waits");
    IN_WORLD(helps_as_far_as_eight);
    IN_WORLD(pinned_above_a_wait);
    IN_WORLD(due_beside_a_join);
    IN_WORLD(search_ends_beside_a_join);
    IN_WORLD(watcher_without_a_permit);
    IN_WORLD(entries_of_called_futures);
    IN_WORLD(lanes_of_threads);
    IN_WORLD(most_edges);
    IN_LARGE_WORLD(seventy_workers);
    IN_LARGE_WORLD(joiner_beyond_sixty_four);
    IN_WORLD(seekers);
    IN_WORLD(limits_of_waits);
    IN_WORLD(thief_always_loses);
    IN_WORLD(queued_without_a_permit);
    IN_WORLD(events_beside_a_long_task);
    IN_WORLD(events_without_tasks);
    IN_WORLD(asks_after_events);
    IN_WORLD(asks_after_stealing);
    IN_WORLD(events_in_a_busy_pool);
    IN_WORLD(events_beside_pinned_tasks);
    IN_WORLD(jobs_beside_events);
    IN_WORLD(events_where_the_caller_runs);
    return test_end();
}
