/* How many looks, wakes and accesses it takes: of a search, a watcher, a fork, a pool at rest. In virtual time. */
#include "exact.h"

static item *due;

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

/* No permit is free, so a watcher may not rob the slot. It looks every 0.5 ms, and sleeps in between. */
static void watcher_sleeps(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2});
    item *blocks = item_make(0), *again = item_blocks(MS), *fills = item_make(20 * MS), *far_off = item_make(0);
    queued_first = item_make(US);
    blocks->task.fn = queue_and_block; /* so that there is a stand-in */
    due = item_make(US);
    due->pends = true;
    item_spawn(pool, due);
    item_spawn(pool, blocks);
    nap(50 * MS);
    item_set_timer(pool, far_off, 50 * SECOND);
    item_spawn_on(pool, 0, again); /* its worker blocks, and so watches */
    nap(50 * US);
    fills->task.fn = fills_its_slot_run;
    item_spawn_on(pool, 1, fills);
    item_spawn_on(pool, 0, item_make(20 * MS));
    nap(5 * MS);
    CHECK_EQ(wsqi_load_hint(&pool->watch.watcher), 3 | WSQI_WATCHES_SLOTS);
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
    item_spawn(wsq_pool_of(ctx), queued_first);
    return WSQ_DONE;
}

/* After a block a task of the queue comes before that of the slot, as it does after three of the slot. */
static void slot_after_a_block(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2});
    item *wakes = item_make(0);
    due = item_make(US);
    due->pends = true;
    queued_first = item_make(US);
    item_spawn(pool, due);
    nap(MS);
    wakes->task.fn = wakes_after_a_block_run;
    item_spawn(pool, wakes);
    wsq_pool_wait(pool);
    CHECK(queued_first->began < due->began);
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
    wsq_task *list[] = {&queued_first->task, task};
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
    queued_first = item_make(US);
    spawns->task.fn = spawns_itself_run;
    item_spawn(pool, spawns);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    CHECK(queued_first->ended != 0);
    wsq_pool_destroy(pool);
}

/* ---- a pool at rest makes no access; one with a far timer or a time-out, few ---- */

static uint64_t accesses_at_rest(wsq_config config, bool timed) {
    wsq_pool *pool = pool_make(&config);
    item *far_off = item_make(0);
    if (timed) item_set_timer(pool, far_off, 50 * SECOND);
    item_spawn(pool, item_make(US));
    nap(5 * MS);
    uint64_t before = sim_stall.accesses;
    nap(10 * MS);
    before = sim_stall.accesses - before;
    wsq_timer_cancel(&far_off->timer);
    wsq_pool_destroy(pool);
    sim.threads = 0; /* the next pool has these cores again */
    return before;
}

static void silence(void) {
    wsq_config config = {.workers = 3};
    for (int timed = 0; timed < 2; timed++) CHECK_EQ(accesses_at_rest(config, timed != 0), 0);
    config.park_timeout_ns = MS;
    uint64_t few = accesses_at_rest(config, false);
    CHECK(few > 100 && few < 1500);
}

/* ---- lent threads: one for each worker; it leaves when it is told to, also out of its sleep ---- */

static uint64_t left_at;

static void enters(void *pool) {
    CHECK_EQ(wsq_worker_enter((wsq_pool *)pool), WSQ_OK);
    left_at = now();
}

static void lent_threads(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1, .lend_only = true});
    for (int round = 0; round < 3; round++) {
        sim_core *lent = outside(enters, pool);
        if (round == 2) item_spawn(pool, item_make(5500 * US));
        nap(5 * MS);
        CHECK_EQ(wsq_worker_enter(pool), WSQ_ERR_INVALID); /* no place is free */
        uint64_t asked = now();
        wsq_worker_dismiss(pool, 0);
        sim_join(lent);
        CHECK(left_at - asked < (round == 2 ? 600 : 30) * US);
    }
    CHECK_EQ(wsq_pool_shutdown(pool, WSQ_DRAIN), WSQ_OK);
    CHECK_EQ(wsq_worker_enter(pool), WSQ_ERR_CLOSED);
    wsq_pool_destroy(pool);
}

/* One of these blocks a moment after the other. */
static uint64_t block_at, block_apart;

static wsq_poll blocks_together_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    compute(block_at + wsq_worker_index(ctx) * block_apart - now());
    block_for(ctx, 20 * MS);
    return WSQ_DONE;
}

static void long_piece(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    (void)ctx, (void)arg;
    compute((end - begin) * 300 * US);
}

static wsq_poll long_loop_run(wsq_ctx ctx, wsq_task *task) {
    wsq_for(ctx, 0, 20, 1, long_piece, NULL);
    return item_run(ctx, task);
}

static void block_both(wsq_pool *pool) {
    block_at = now() + MS;
    for (unsigned i = 0; i < 2; i++) {
        item *blocks = item_make(0);
        blocks->task.fn = blocks_together_run;
        item_spawn_on(pool, i, blocks);
    }
    nap(2 * MS);
}

/* Both count the same stand-in as the thread for their permit, one that starts, or one that is idle. So they start
 * another one. */
static void jobs_want_a_thread(void) {
    for (int idle = 0; idle <= 1; idle++) {
        wsq_pool *pool = pool_make(&(wsq_config){.workers = 2});
        item *blocks = item_blocks(MS), *loop = item_make(0);
        block_apart = idle != 0 ? 0 : US;
        if (idle != 0) item_spawn(pool, blocks);
        nap(10 * MS);
        block_both(pool);
        loop->task.fn = long_loop_run;
        item_spawn(pool, loop);
        wsq_pool_wait(pool);
        CHECK(loop->ended - loop->spawned < 4 * MS); /* alone 6 */
        wsq_pool_destroy(pool);
        sim.threads = 0; /* the next pool has these cores again */
    }
}

static wsq_poll computes_and_blocks_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    compute(MS);
    block_for(ctx, 20 * MS);
    return WSQ_DONE;
}

static void long_loop(wsq_ctx ctx, void *arg) {
    wsq_for(ctx, 0, 20, 1, long_piece, arg);
}

/* While the task computes, the free permit is left to the run. When it blocks, a second one sleeps. */
static void jobs_for_a_second_permit(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2, .max_standins = WSQ_STANDINS_OFF});
    item *blocks = item_make(0);
    blocks->task.fn = computes_and_blocks_run;
    nap(MS);
    item_spawn(pool, blocks);
    nap(200 * US);
    uint64_t start = now();
    CHECK_EQ(wsq_run(pool, long_loop, NULL), WSQ_OK);
    CHECK(now() - start < 4 * MS); /* alone 6 */
    wsq_pool_wait(pool);
    wsq_pool_destroy(pool);
}

typedef struct visit {
    wsq_pool *pool;
    unsigned index;
} visit;

static void visit_run(wsq_ctx ctx, void *arg) {
    compute(MS);
    ((visit *)arg)->index = wsq_worker_index(ctx);
}

/* Two runs at the same time, so that the pool has two blocks; then one alone. */
static void visit_twice(void *arg) {
    visit *self = (visit *)arg;
    CHECK_EQ(wsq_run(self->pool, visit_run, self), WSQ_OK);
    nap((self->index - self->pool->spare_base + 1) * 10 * MS);
    CHECK_EQ(wsq_run(self->pool, visit_run, self), WSQ_OK);
}

/* Threads outside that run on different processors use different blocks, also one after the other. */
static void blocks_of_processors(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    visit visits[2] = {{pool, 0}, {pool, 0}};
    for (int i = 0; i < 2; i++) outside(visit_twice, &visits[i]);
    nap(100 * MS);
    CHECK_EQ(visits[0].index + visits[1].index, 2 * pool->spare_base + 1);
    wsq_pool_destroy(pool);
}

/* ---- a join takes the job that keeps it awake, also from a worker that sleeps ---- */

static wsq_pool *joined;
static item *never;
static int stage;
static uint64_t forked_ran, stolen_ended;

static void forked_job(wsq_ctx ctx, wsq_job *job) {
    (void)ctx, (void)job;
    forked_ran = now();
}

/* It publishes a job, and then waits, asleep. */
static wsq_poll forks_and_waits_run(wsq_ctx ctx, wsq_task *task) {
    wsq_job job;
    (void)task;
    for (stage = 1; stage < 3;) nap(10 * US);
    wsqi_steal_request(wsqi_worker_of(ctx));
    wsq_fork(&ctx, &job, forked_job);
    stage = 4;
    wsq_task_wait(&never->task);
    wsq_join(&ctx, &job);
    return WSQ_DONE;
}

static void stolen_job(wsq_ctx ctx, wsq_job *job) {
    (void)ctx, (void)job;
    stage = 3;
    nap(10 * MS);
    stolen_ended = now();
}

static void joins_a_stolen_job(wsq_ctx ctx, void *arg) {
    wsq_job job;
    (void)arg;
    wsqi_steal_request(wsqi_worker_of(ctx));
    wsq_fork(&ctx, &job, stolen_job);
    for (stage = 2; stage < 4;) nap(10 * US);
    nap(100 * US);
    wsq_join(&ctx, &job);
}

static void steals_it(wsq_ctx ctx, void *arg) {
    wsqi_worker *self = wsqi_worker_of(ctx);
    (void)arg;
    while (stage < 2) nap(10 * US);
    for (unsigned i = 0; i < wsqi_spares_made(joined); i++) {
        wsqi_worker *guest = wsqi_block(joined, joined->spare_base + i);
        if (guest != self && wsqi_job_steal(self, guest)) return;
    }
}

static void run_joins(void *arg) {
    (void)arg;
    wsq_run(joined, joins_a_stolen_job, NULL);
}

static void run_steals(void *arg) {
    (void)arg;
    wsq_run(joined, steals_it, NULL);
}

static void join_takes_what_it_sees(void) {
    item *forks = item_make(0);
    joined = pool_make(&(wsq_config){.workers = 1, .max_standins = WSQ_STANDINS_OFF});
    never = item_make(0);
    never->pends = true;
    forks->task.fn = forks_and_waits_run;
    item_spawn(joined, never);
    nap(MS);
    item_spawn(joined, forks);
    while (stage < 1) nap(10 * US);
    sim_core *joins = outside(run_joins, NULL), *steals = outside(run_steals, NULL);
    nap(30 * MS);
    item_wake(never);
    sim_join(joins);
    sim_join(steals);
    wsq_pool_wait(joined);
    CHECK(forked_ran < stolen_ended);
    wsq_pool_destroy(joined);
}

/* ---- a thread asks again and again, another one spawns a task ---- */

static void *returns_nothing(void *arg) { return arg; }

static void asks_main(void *arg) {
    for (int i = 0; i < 9000; i++) {
        wsq_future *future;
        CHECK_EQ(wsq_submit((wsq_pool *)arg, returns_nothing, NULL, &future), WSQ_OK);
        CHECK_EQ(wsq_future_get(future, NULL), WSQ_OK);
        compute((uint64_t)(i / 100 % 30 * 10));
    }
}

static void ends_main(void *arg) { (void)arg; }

/* The helper takes its own tasks without a look at others; these must not be kept from the worker that lingers. */
static void one_beside_asks(void) {
    for (unsigned k = 0; k < 6; k++) {
        wsq_pool *pool = pool_make(&(wsq_config){.workers = k < 3 ? k + 1 : 8});
        /* With 8 workers there are three lanes, and each thread outside has one by its number. */
        sim_core *ends = k > 3 ? outside(ends_main, NULL) : NULL;
        sim_core *too = k > 4 ? outside(ends_main, NULL) : NULL;
        sim_core *asks = outside(asks_main, pool);
        for (unsigned i = 0; i < 100; i++) {
            item *one = item_make(US);
            nap(20 * US + i * 13);
            item_spawn(pool, one);
            CHECK_EQ(wsq_task_wait_for(&one->task, 40 * US), WSQ_OK);
        }
        sim_join(asks);
        if (ends != NULL) sim_join(ends);
        if (too != NULL) sim_join(too);
        wsq_pool_wait(pool);
        wsq_pool_destroy(pool);
        sim.threads = 0;
    }
}

/* ---- a sleeper whose long deque stayed ---- */

static wsq_poll spawns_and_blocks_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    for (int i = 0; i < 600; i++) item_spawn(wsq_pool_of(ctx), item_make(10 * US));
    block_for(ctx, 100 * US);
    return WSQ_DONE;
}

/* The stand-in has the only permit; it steals from the worker, which sleeps without a permit after 3 ms. */
static void deque_of_a_sleeper(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1, .order = WSQ_LIFO, .spin_ns = 3 * MS});
    item *spawns = item_make(0);
    uint64_t start = now();
    spawns->task.fn = spawns_and_blocks_run;
    item_spawn(pool, spawns);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    CHECK(now() - start < 7 * MS);
    wsq_pool_destroy(pool);
}

/* ---- a mutex that another thread locks every few us ---- */

typedef struct relocked {
    wsqi_parking parking;
    wsqi_a32 mutex;
    uint64_t pause; /* between two rounds of the other thread */
    uint32_t rounds;
    bool locked;
} relocked;

static void locks_on_and_on(void *arg) {
    relocked *it = arg;
    for (; !it->locked && it->rounds < 1000; it->rounds++) {
        wsqi_mutex_lock(&it->parking, &it->mutex);
        compute(US);
        wsqi_mutex_unlock(&it->parking, &it->mutex);
        compute(it->pause);
    }
}

/* A thread that is woken to take it finds it locked again; it must not lose on and on. */
static void relocked_mutex(void) {
    for (uint64_t pause = 100; pause <= 3000; pause += 100) {
        relocked *it = calloc(1, sizeof *it);
        it->pause = pause;
        sim_core *other = outside(locks_on_and_on, it);
        nap(100 * US + 500);
        wsqi_mutex_lock(&it->parking, &it->mutex);
        it->locked = true;
        wsqi_mutex_unlock(&it->parking, &it->mutex);
        sim_join(other);
        CHECK(it->rounds < 150);
        free(it);
    }
}

/* ---- a request for jobs, at a worker that has none ---- */

static int ran_last = -1;
static void no_work(wsq_ctx ctx, wsq_job *job) { (void)ctx, (void)job; }
static void last_run(wsq_ctx ctx, wsq_job *job) { (void)job, ran_last = (int)wsq_worker_index(ctx); }

static void twice_alone(wsq_ctx ctx, wsq_job *job) {
    wsq_job one, last;
    (void)job;
    for (int i = 0; i < 2; i++) { /* the first fork answers requests that came before */
        wsq_fork(&ctx, &one, no_work);
        if (i == 1) compute(30 * US); /* worker 0 asks, and this job is not public */
        wsq_join(&ctx, &one);
    }
    wsq_fork(&ctx, &last, last_run);
    compute(30 * US);
    wsq_join(&ctx, &last);
}

static wsq_poll forks_and_joins_run(wsq_ctx ctx, wsq_task *task) {
    wsq_job stolen;
    wsq_fork(&ctx, &stolen, twice_alone);
    compute(20 * US);
    wsq_join(&ctx, &stolen);
    return item_run(ctx, task);
}

/* Worker 0 waits in a join, and asks its thief for jobs. The thief has none after its own join, but its next job is
 * for worker 0. */
static void request_stays(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2});
    item *forks = item_make(0);
    forks->task.fn = forks_and_joins_run;
    item_spawn_on(pool, 0, forks);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    CHECK_EQ(ran_last, 0);
    wsq_pool_destroy(pool);
}

int main(void) {
    test_begin("exact_looks");
    IN_WORLD(relocked_mutex);
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
    IN_WORLD(silence);
    IN_WORLD(lent_threads);
    IN_WORLD(jobs_want_a_thread);
    IN_WORLD(jobs_for_a_second_permit);
    IN_WORLD(join_takes_what_it_sees);
    IN_WORLD(blocks_of_processors);
    IN_WORLD(one_beside_asks);
    IN_WORLD(deque_of_a_sleeper);
    IN_WORLD(request_stays);
    return test_end();
}
