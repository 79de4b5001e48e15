/* What a waiting thread runs, and what it leaves in the queues; a join that sleeps with its permit gives it for a task,
 * a timer, a full slot; lanes of threads outside; more than 64 workers. In virtual time. */
#include "exact.h"

static wsq_poll short_run(wsq_ctx ctx, wsq_task *task) {
    item *self = item_of(task);
    (void)ctx;
    compute(200);
    return --self->runs != 0 ? WSQ_YIELD : WSQ_DONE;
}

static item *queued;

static wsq_poll queue_and_block(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    item_spawn(wsq_pool_of(ctx), queued);
    wsq_block_begin(ctx);
    nap(5 * MS);
    wsq_block_end(ctx);
    return WSQ_DONE;
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
        for (unsigned i = 0; i < laned->shares; i++) used += !wsqi_inject_empty(&laned->lanes[wsqi_share_index(i)]);
        CHECK(laned->shares == workers / 3 && used <= laned->shares && used >= (laned->shares + 1) / 2);
        CHECK_EQ(used > 1, laned->shares > 1);
        CHECK_EQ(wsq_pool_wait_for(laned, SECOND), WSQ_OK);
        for (int k = 0; k < 8; k++)
            for (int i = 0; i < 3; i++) CHECK(of_thread[k][i]->ended != 0);
        wsq_pool_destroy(laned);
        sim.threads = 0; /* the next pool has these cores again */
    }
}

/* ---- how many looks, wakes and accesses it takes ---- */

static uint64_t attempts_of(wsq_pool *pool, unsigned worker) {
    wsq_stats one;
    wsq_worker_stats(pool, worker, &one);
    return one.steal_attempts;
}

/* A search has one round, and visits no workers that sleep. */
static void looks_once(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2, .spin_ns = WSQ_SPIN_OFF});
    uint64_t before = attempts_of(pool, 1);
    item_spawn_on(pool, 1, item_make(US));
    nap(MS);
    CHECK_EQ(attempts_of(pool, 1), before);
    item_spawn_on(pool, 0, item_make(MS));
    nap(100 * US);
    item_spawn_on(pool, 1, item_make(US));
    nap(500 * US);
    CHECK_EQ(attempts_of(pool, 1), before + 2); /* before its search, and in it */
    wsq_pool_wait(pool);
    wsq_pool_destroy(pool);
}

static uint64_t attempts;

static wsq_poll counts_attempts_run(wsq_ctx ctx, wsq_task *task) {
    attempts = attempts_of(wsq_pool_of(ctx), wsq_worker_index(ctx)) - attempts;
    return item_run(ctx, task);
}

static wsq_poll spawns_and_computes_run(wsq_ctx ctx, wsq_task *task) {
    item *counts = item_make(US);
    counts->task.fn = counts_attempts_run;
    item_spawn(wsq_pool_of(ctx), counts);
    compute(item_of(task)->ns);
    return WSQ_DONE;
}

/* It visits the worker that woke it first, also worker 0; but no more when nobody has woken it for work. */
static void looks_at_its_waker(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 8, .spin_ns = WSQ_SPIN_OFF});
    for (int i = 0; i < 4; i++) {
        item *spawns = item_make(MS);
        attempts = attempts_of(pool, 1);
        spawns->task.fn = spawns_and_computes_run;
        for (unsigned k = 2; k < 8; k++) item_spawn_on(pool, k, item_make(MS));
        nap(100 * US);
        item_spawn_on(pool, 0, spawns);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        CHECK(attempts == 1 || attempts == 2); /* a task that is alone in a ring needs a second look */
    }
    item_spawn_on(pool, 0, item_make(MS));
    nap(100 * US);
    attempts = attempts_of(pool, 1);
    item_spawn_on(pool, 1, item_make(US));
    nap(100 * US);
    CHECK_EQ(attempts_of(pool, 1), attempts + 2);
    wsq_pool_wait(pool);
    wsq_pool_destroy(pool);
}

static void loop_of_two(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    (void)ctx, (void)begin, (void)end, (void)arg;
    compute(100 * US);
}

static wsq_poll loops_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    wsq_for(ctx, 0, 2, 1, loop_of_two, NULL);
    return WSQ_DONE;
}

/* A job wakes others although one worker searches, which may have found another job; but not if half of those that are
 * awake search. */
static void wakes_for_a_job(void) {
    for (unsigned searching = 1; searching <= 2; searching++) {
        wsq_pool *pool = pool_make(&(wsq_config){.workers = 8, .spin_ns = 5 * MS});
        item *loops = item_make(0);
        wsq_stats one;
        nap(20 * MS);
        for (unsigned k = 1; k <= 3 - searching; k++) item_spawn_on(pool, k, item_make(MS));
        for (unsigned k = 4; k < 4 + searching; k++) item_spawn_on(pool, k, item_make(US));
        nap(200 * US);
        CHECK_EQ(wsqi_searching(wsqi_load_hint(&pool->permits)), searching);
        loops->task.fn = loops_run;
        item_spawn_on(pool, 0, loops);
        wsq_pool_wait(pool);
        wsq_worker_stats(pool, 0, &one);
        CHECK_EQ(one.wakes_sent, searching == 1 ? 2 : 0);
        wsq_pool_destroy(pool);
        sim.threads = 0; /* the next pool has these cores again */
    }
}

static wsq_poll fills_its_slot_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    compute(3 * MS);
    item_wake(due);
    compute(item_of(task)->ns);
    return WSQ_DONE;
}

/* No permit sleeps, so a watcher may not rob the slot. It looks every 0.5 ms, and sleeps in between. */
static void watcher_sleeps(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2});
    item *blocks = item_make(0), *again = item_make(0), *fills = item_make(20 * MS), *far_off = item_make(0);
    queued = item_make(US);
    blocks->task.fn = queue_and_block; /* so that there is a stand-in */
    due = item_make(US);
    due->pends = true;
    item_spawn(pool, due);
    item_spawn(pool, blocks);
    nap(50 * MS);
    item_set_timer(pool, far_off, 50 * SECOND);
    again->task.fn = blocks_shortly_run; /* so that it watches */
    item_spawn_on(pool, 0, again);
    nap(50 * US);
    fills->task.fn = fills_its_slot_run;
    item_spawn_on(pool, 1, fills);
    item_spawn_on(pool, 0, item_make(20 * MS));
    nap(5 * MS);
    CHECK_EQ(wsqi_load_hint(&pool->watcher), 3 | WSQI_WATCHES_SLOTS);
    uint64_t before = sim_stall.accesses; /* only the watcher's from here on */
    nap(10 * MS);
    CHECK(sim_stall.accesses > before + 100 && sim_stall.accesses < before + 2000);
    CHECK_EQ(due->began, 0);
    wsq_timer_cancel(&far_off->timer);
    wsq_pool_wait(pool);
    wsq_pool_destroy(pool);
}

static wsq_poll pends_again_run(wsq_ctx ctx, wsq_task *task) {
    item *self = item_of(task);
    (void)ctx;
    self->began = now();
    return self->give_up == 0 ? WSQ_PENDING : WSQ_DONE;
}

static wsq_poll wakes_due_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    item_wake(due);
    compute(item_of(task)->ns);
    return WSQ_DONE;
}

static uint64_t wakes_of(wsq_pool *pool, uint64_t ns) {
    wsq_stats one, before;
    item *wakes = item_make(ns);
    wakes->task.fn = wakes_due_run;
    wsq_worker_stats(pool, 0, &before);
    item_spawn_on(pool, 0, wakes);
    nap(5 * MS);
    CHECK(due->began != 0);
    wsq_worker_stats(pool, 0, &one);
    return one.wakes_sent - before.wakes_sent;
}

/* Where tasks take long, a wake into the slot wakes an idle worker, too. After four that came too late, only every
 * 16th does; until one has come in time. */
static void wakes_for_a_slot(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2});
    item *far_off = item_make(0);
    item_set_timer(pool, far_off, 50 * SECOND); /* so that one watches */
    due = item_make(0);
    due->task.fn = pends_again_run;
    item_spawn(pool, due);
    nap(MS);
    (void)wakes_of(pool, 3 * MS); /* from here on worker 1 watches */
    for (int round = 0; round < 2; round++) {
        for (unsigned i = 0; i < 34; i++) CHECK_EQ(wakes_of(pool, 0), i < 4 || i % 16 == 0);
        for (unsigned i = 34; i < 48; i++) CHECK_EQ(wakes_of(pool, 0), 0);
        CHECK_EQ(wakes_of(pool, 3 * MS), 1); /* the 16th; the other worker takes the task */
    }
    due->give_up = 1;
    item_wake(due);
    wsq_timer_cancel(&far_off->timer);
    wsq_pool_wait(pool);
    wsq_pool_destroy(pool);
}

static void nothing_job(wsq_ctx ctx, wsq_job *job) { (void)ctx, (void)job; }

static void forks_often(wsq_ctx ctx, void *arg) {
    uint64_t *accesses = (uint64_t *)arg;
    for (int i = 0; i < 2; i++) {
        accesses[i] = sim_stall.accesses;
        for (int k = 0; k < 1000; k++) {
            wsq_job job;
            wsq_fork(&ctx, &job, nothing_job);
            wsq_join(&ctx, &job);
        }
        accesses[i] = sim_stall.accesses - accesses[i];
    }
}

/* Only the first ones take the slow path. */
static void cost_of_a_fork(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    uint64_t accesses[2];
    CHECK_EQ(wsq_run(pool, forks_often, accesses), WSQ_OK);
    CHECK(accesses[0] > accesses[1] && accesses[0] < accesses[1] + 100);
    CHECK(accesses[1] < 8000);
    wsq_pool_destroy(pool);
}

static void runs_one(void *pool) { CHECK(wsq_pool_run_one((wsq_pool *)pool)); }

static sim_core *waiting_core;

static void waits_beside(void *task) {
    waiting_core = sim.running;
    CHECK_EQ(wsq_task_wait((wsq_task *)task), WSQ_OK);
}

/* A thread that waits beside the one that works in the pool sleeps without a look. */
static void no_look_beside_the_caller(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1, .caller_runs = true});
    item *one = item_make(MS);
    item_spawn(pool, one);
    sim_core *works = outside(runs_one, pool);
    nap(100 * US);
    sim_core *waits = outside(waits_beside, &one->task);
    nap(30 * US);
    CHECK_EQ(waiting_core->state, SIM_ASLEEP);
    sim_join(works);
    sim_join(waits);
    wsq_pool_destroy(pool);
}

static wsq_poll wakes_after_a_block_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    wsq_block_begin(ctx);
    wsq_block_end(ctx);
    item_wake(due);
    item_spawn(wsq_pool_of(ctx), queued);
    return WSQ_DONE;
}

/* After a block a task of the queue comes before that of the slot, as it does after three of the slot. */
static void slot_after_a_block(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    item *wakes = item_make(0);
    due = item_make(US);
    due->pends = true;
    queued = item_make(US);
    item_spawn(pool, due);
    nap(MS);
    wakes->task.fn = wakes_after_a_block_run;
    item_spawn(pool, wakes);
    wsq_pool_wait(pool);
    CHECK(queued->began < due->began);
    wsq_pool_destroy(pool);
}

/* A pin of wsq_spawn_on is for one spawn, and leaves nothing behind; nor does a task that may not be cancelled any
 * more. Spawned alone or in a batch, it comes after an older one. */
static void pinned_once(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    item *once = item_make(US);
    wsq_task *list[] = {&once->task};
    for (int round = 0; round < 3; round++) {
        item *first = item_make(US);
        wsq_task_set_revocable(&once->task, false);
        if (round != 0) item_spawn_on(pool, 0, once);
        wsq_pool_wait(pool);
        item_spawn(pool, item_make(100 * US));
        nap(50 * US);
        item_spawn(pool, first);
        once->began = 0;
        CHECK_EQ(round == 1 ? wsq_spawn_batch(pool, list, 1) : wsq_spawn(pool, &once->task), WSQ_OK);
        wsq_pool_wait(pool);
        CHECK(first->began < once->began);
    }
    wsq_pool_destroy(pool);
}

static wsq_poll spawns_itself_run(wsq_ctx ctx, wsq_task *task) {
    wsq_pool *pool = wsq_pool_of(ctx);
    wsq_task *list[] = {&queued->task, task};
    uint64_t pending = wsq_pool_pending(pool);
    CHECK_EQ(wsq_spawn(pool, task), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_spawn_on(pool, 0, task), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_spawn_batch(pool, list, 2), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_pool_pending(pool), pending);
    CHECK_EQ(wsq_spawn_batch(pool, list, 1), WSQ_OK);
    CHECK_EQ(wsq_pool_pending(pool), pending + 1);
    return WSQ_DONE;
}

/* A spawn that is refused inside a task leaves the counts as they were. */
static void refused_inside(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    item *spawns = item_make(0);
    queued = item_make(US);
    spawns->task.fn = spawns_itself_run;
    item_spawn(pool, spawns);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    CHECK(queued->ended != 0);
    wsq_pool_destroy(pool);
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
    wsq_block_begin(ctx);
    nap(10 * US);
    wsq_block_end(ctx);
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
        item_spawn_on(pool, 0, one);
        while (one->runs != (after == 0 ? 1 : 50)) nap(US);
        item_spawn(pool, two); /* a stand-in takes it, and the permit */
        if (after == 0) CHECK(wsq_pool_wait(pool) == WSQ_OK && now() - start < 1600 * US);
        nap((9 + after) * US); /* until the block ends, and the worker seeks a permit */
        item_spawn_on(pool, 0, last);
        nap(10 * US);
        CHECK(last->began != 0 && (after == 0) == (two->ended != 0 || two->runs == 51));
        nap(10 * MS);
    }
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
    IN_WORLD(looks_once);
    IN_WORLD(looks_at_its_waker);
    IN_WORLD(wakes_for_a_job);
    IN_WORLD(watcher_sleeps);
    IN_WORLD(wakes_for_a_slot);
    IN_WORLD(cost_of_a_fork);
    IN_WORLD(no_look_beside_the_caller);
    IN_WORLD(slot_after_a_block);
    IN_WORLD(pinned_once);
    IN_WORLD(refused_inside);
    IN_WORLD(most_edges);
    IN_LARGE_WORLD(seventy_workers);
    IN_LARGE_WORLD(joiner_beyond_sixty_four);
    IN_WORLD(seekers);
    return test_end();
}
