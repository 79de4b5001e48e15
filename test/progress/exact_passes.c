/* What one pass of a thief over the other workers reads and visits; and notifications that one moment needs: nothing
 * else tells of the work, so it would wait for a long time. */
#include "trip.h"

static uint32_t node_of(unsigned worker, void *user) { return (void)user, worker << 16; }

/* Where distances matter, a pass has three rounds, and reads three numbers: no memory follows them here. */
static void rounds_of_a_pass(void) {
    static const wsq_topology nodes = {node_of, NULL};
    wsq_pool *pool = pool_make(&(wsq_config){.caller_runs = true, .workers = 3, .topology = &nodes});
    char *pages = (char *)sim_map((uintptr_t)5 << 44, 2 << 16);
    uint32_t *from = (uint32_t *)(void *)(pages + (1 << 16)) - 3;
    wsq_task *task = NULL;
    CHECK_EQ(munmap(pages + (1 << 16), 1 << 16), 0);
    CHECK(!wsqi_steal_pass(wsqi_block(pool, 0), WSQI_TASKS, from, &task));
    wsq_pool_destroy(pool);
}

/* ---- a helper that has lost its permit, in a pool with one thread ---- */

static uint64_t yielded;

static wsq_poll helped_run(wsq_ctx ctx, wsq_task *task) {
    item *self = item_of(task);
    self->ended = now();
    if (self->runs++ != 0) return WSQ_DONE;
    compute(1500 * US);
    block_for(ctx, 2 * MS);
    compute(2500 * US);
    yielded = now();
    return WSQ_YIELD;
}

static void late_main(void *arg) {
    nap(2 * MS);
    item_spawn((wsq_pool *)arg, item_make(3 * MS));
}

/* The only worker blocks, so a thread outside helps in its wait. It blocks in turn, and the worker has the permit, until
 * it sleeps. Then the task of the helper yields. */
static void helper_without_a_permit(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1, .max_standins = WSQ_STANDINS_OFF});
    item *helped = item_make(0);
    helped->task.fn = helped_run;
    item_spawn(pool, item_blocks(MS));
    nap(200 * US);
    outside(late_main, pool);
    item_spawn(pool, helped);
    CHECK_EQ(wsq_task_wait(&helped->task), WSQ_OK);
    CHECK(helped->ended < yielded + 200 * US);
    wsq_pool_destroy(pool);
}

/* ---- a joiner without a permit is called: it asks the one that has one ---- */

static item *late;

static void long_job(wsq_ctx ctx, wsq_job *job) { (void)ctx, (void)job, compute(40 * MS); }

static uint64_t joined;

static wsq_poll keeps_its_permit_run(wsq_ctx ctx, wsq_task *task) {
    wsq_job job;
    wsq_fork(&ctx, &job, long_job);
    compute(item_of(task)->ns);
    joined = now();
    wsq_join(&ctx, &job);
    return WSQ_DONE;
}

static wsq_poll lost_its_permit_run(wsq_ctx ctx, wsq_task *task) {
    compute(2 * MS); /* meanwhile another worker steals the first job */
    block_for(ctx, 3 * MS);
    compute(2 * MS);
    return keeps_its_permit_run(ctx, task);
}

/* The jobs of workers 0 and 1 take two permits, a long task takes one, and the joiner has the fourth one. The one that
 * is called, worker 0, has lost its own in a block. */
static void joiner_without_a_permit(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 4});
    item *has = item_make(MS), *lacks = item_make(MS);
    late = item_make(US);
    has->task.fn = keeps_its_permit_run;
    lacks->task.fn = lost_its_permit_run;
    item_spawn_on(pool, 0, lacks);
    item_spawn_on(pool, 1, has);
    nap(2200 * US);
    item_spawn(pool, item_make(20 * MS));
    item_spawn(pool, item_make(4 * MS));
    nap(7 * MS);
    CHECK_EQ(wsqi_free_permits(wsqi_load_hint(&pool->permits)), 0);
    CHECK(wsqi_load_hint(&pool->bitmap.joiners[0]) == 3);
    item_spawn(pool, late);
    wsq_pool_wait(pool);
    CHECK(late->began < late->spawned + 200 * US);
    wsq_pool_destroy(pool);
}

/* ---- a joiner is called for a task, but its join ends: it calls the next joiner ---- */

static uint64_t first_began;
static void first_job(wsq_ctx ctx, wsq_job *job) {
    (void)ctx, (void)job;
    first_began = now();
    compute(8 * MS);
}
static void short_job(wsq_ctx ctx, wsq_job *job) { (void)ctx, (void)job, compute(5 * MS); }

/* Forks the job, which a thief takes, joins it, and goes on for long. */
static void fork_and_go_on(wsq_ctx ctx, wsq_job_fn fn) {
    wsq_job job;
    wsq_fork(&ctx, &job, fn);
    compute(MS);
    wsq_join(&ctx, &job);
    compute(20 * MS);
}
static wsq_poll forks_first_run(wsq_ctx ctx, wsq_task *task) {
    fork_and_go_on(ctx, first_job);
    return (void)task, WSQ_DONE;
}
static wsq_poll forks_short_run(wsq_ctx ctx, wsq_task *task) {
    fork_and_go_on(ctx, short_job);
    return (void)task, WSQ_DONE;
}

/* Workers 0 and 2 sleep in joins. Worker 1 runs the job of worker 0 in its own join, which is over by then, so it does
 * not search afterwards. The others have long tasks. A task that comes `before` the end of that job calls worker 0. */
static void joiner_goes_on(void) {
    unsigned asks = 0;
    for (uint64_t before = 100; before < 12 * US; before += 200) {
        wsq_pool *pool = pool_make(&(wsq_config){.workers = 5});
        item *keeps = item_make(MS), *helps = item_make(0), *first = item_make(0);
        late = item_make(US);
        keeps->task.fn = keeps_its_permit_run;
        helps->task.fn = forks_short_run;
        first->task.fn = forks_first_run;
        item_spawn_on(pool, 0, item_make(4 * MS));
        item_spawn_on(pool, 1, item_make(2 * MS));
        item_spawn_on(pool, 2, keeps);
        item_spawn_on(pool, 1, helps);
        nap(4 * MS);
        for (unsigned k = 3; k < 5; k++) item_spawn_on(pool, k, item_make(60 * MS));
        item_spawn_on(pool, 0, first);
        nap(2 * MS);
        CHECK(wsqi_load_hint(&pool->bitmap.joiners[0]) == 5 && wsqi_free_permits(wsqi_load_hint(&pool->permits)) == 0);
        nap(first_began + 8 * MS - before - now());
        asks += wsqi_load_hint(&pool->bitmap.joiners[0]) == 5;
        item_spawn(pool, late);
        wsq_pool_wait(pool);
        CHECK(late->began < late->spawned + 200 * US);
        wsq_pool_destroy(pool);
        sim.threads = 0;
    }
    CHECK(asks > 10);
}

/* ---- a guest leaves ---- */

static uint64_t job_began;
static void noted_job(wsq_ctx ctx, wsq_job *job) {
    (void)ctx, (void)job;
    job_began = now();
}

static wsq_poll noted_run(wsq_ctx ctx, wsq_task *task) {
    wsq_job job;
    (void)task;
    wsq_fork(&ctx, &job, noted_job);
    compute(20 * MS);
    wsq_join(&ctx, &job);
    return WSQ_DONE;
}

static void guest_computes(wsq_ctx ctx, void *arg) { (void)ctx, (void)arg, compute(4 * MS); }

/* While a guest works, the idle one of two workers leaves the other one's job to it. When the guest leaves, it takes it. */
static void guest_leaves(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2});
    item *forks = item_make(0);
    forks->task.fn = noted_run;
    item_spawn(pool, forks);
    CHECK_EQ(wsq_run(pool, guest_computes, NULL), WSQ_OK);
    uint64_t left = now();
    wsq_pool_wait(pool);
    CHECK(job_began < left + 100 * US);
    wsq_pool_destroy(pool);
}

/* ---- the watcher goes to a pinned task ---- */

static wsq_poll blocks_late_run(wsq_ctx ctx, wsq_task *task) {
    compute(2 * MS);
    block_for(ctx, item_of(task)->ns);
    return WSQ_DONE;
}

/* A job, a long task and a joiner have the three permits. Worker 0 has none, and watches the timer, until its pinned task
 * comes. So it asks the joiner. */
static void watcher_leaves(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 3});
    item *joins = item_make(8 * MS), *blocks = item_make(3 * MS), *due = item_make(US);
    due->pends = true;
    item_spawn(pool, due);
    nap(MS);
    item_set_timer(pool, due, 20 * MS);
    nap(MS);
    joins->task.fn = keeps_its_permit_run;
    blocks->task.fn = blocks_late_run;
    item_spawn_on(pool, 0, blocks);
    item_spawn_on(pool, 1, joins);
    nap(2200 * US);
    item_spawn(pool, item_make(40 * MS));
    nap(8 * MS);
    CHECK_EQ(wsqi_free_permits(wsqi_load_hint(&pool->permits)), 0);
    CHECK(wsqi_load_hint(&pool->watch.watcher) == 1 && wsqi_load_hint(&pool->bitmap.joiners[0]) == 2);
    item_spawn_on(pool, 0, item_make(20 * MS));
    wsq_pool_wait(pool);
    CHECK(due->began < due->spawned + 21 * MS);
    wsq_pool_destroy(pool);
}

/* ---- a permit that falls asleep while the only stand-in starts ---- */

static wsq_poll waits_for_late_run(wsq_ctx ctx, wsq_task *task) {
    item *never = item_make(0);
    (void)task;
    never->pends = true;
    item_spawn(wsq_pool_of(ctx), never);
    sim_stall.ns = 2 * MS;
    sim_stall.tell = trip_stalled;
    sim_stall.left = trip.at;
    CHECK_EQ(wsq_task_wait_for(&never->task, 30 * MS), WSQ_ERR_TIMEOUT);
    item_wake(never);
    return WSQ_DONE;
}

/* While the only stand-in starts, stalled at each access in turn, the second worker blocks. For a moment the stand-in is
 * counted twice, as starting and as idle: the worker that blocks then calls nobody, so the stand-in must do so. Of two
 * tasks the stand-in runs one, and the thread that waits runs the other. */
static void counted_twice(void) {
    memset(&trip, 0, sizeof trip);
    do {
        wsq_pool *pool = pool_make(&(wsq_config){.workers = 2, .max_standins = 1});
        uint64_t at = trip.at + 1;
        item *waits = item_make(0), *blocks = item_blocks(20 * MS);
        memset(&trip, 0, sizeof trip);
        trip.at = at;
        item_spawn_on(pool, 1, item_make(MS));
        item_spawn_on(pool, 1, blocks);
        waits->task.fn = waits_for_late_run;
        item_spawn_on(pool, 0, waits);
        nap(8 * MS);
        sim_stall.left = 0;
        for (int i = 0; i < 2; i++) {
            item *one = trip.list[i] = item_make(5 * MS);
            item_spawn(pool, one);
        }
        wsq_pool_wait(pool);
        for (int i = 0; i < 2; i++) CHECK(trip.list[i]->began < trip.list[i]->spawned + MS);
        CHECK(trip_in_time(pool));
    } while (trip.stalled != 0 && trip.at < 400);
    CHECK(trip.at > 20);
}

/* ---- a join that sleeps while a timer is due ---- */

static wsq_poll blocks_first_run(wsq_ctx ctx, wsq_task *task) {
    block_for(ctx, MS);
    compute(item_of(task)->ns);
    return WSQ_DONE;
}

/* A job and two tasks have the three permits when the timer is due, and an idle thread without one watches. One of the
 * tasks then sleeps in its join: at that moment, or between two looks of the watcher. */
static void join_beside_a_timer(uint64_t joins_after, uint64_t due_after, uint64_t stall_at) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 3});
    item *joins = item_make(joins_after), *blocks = item_make(30 * MS), *due = item_make(US);
    due->pends = true;
    item_spawn(pool, due);
    nap(MS);
    joins->task.fn = keeps_its_permit_run;
    blocks->task.fn = blocks_first_run;
    item_spawn_on(pool, 0, blocks);
    item_spawn_on(pool, 1, joins);
    item_set_timer(pool, due, due_after);
    nap(5 * MS);
    CHECK(wsqi_free_permits(wsqi_load_hint(&pool->permits)) == 0 && due->began == 0);
    uint32_t watcher = wsqi_load_hint(&pool->watch.watcher);
    CHECK(watcher != 0 && watcher < 8);
    sim_stall.only = 1 + wsqi_block(pool, watcher - 1)->thread->id;
    sim_stall.ns = 80 * US; /* the watcher, while the join begins to sleep */
    sim_stall.left = stall_at;
    wsq_pool_wait(pool);
    CHECK(due->began < joined + 200 * US);
    sim_stall.left = sim_stall.only = 0;
    wsq_pool_destroy(pool);
    sim.threads = 0;
}

static void joins_when_a_timer_is_due(void) {
    for (uint64_t later = 0; later < 600 * US; later += 50 * US) join_beside_a_timer(8 * MS + later, 6 * MS, 0);
    for (uint64_t later = 0; later < 80 * US; later += 200) join_beside_a_timer(6 * MS + later, 6 * MS, 0);
    for (uint64_t at = 1; at < 80; at++) join_beside_a_timer(6 * MS + 20 * US, 6 * MS, at);
}

/* ---- joiners without permits: none has one to give, and none calls the others again and again ---- */

/* Half of the permits are used by jobs, the others by long tasks. A timer is due. */
static void joiners_stay_asleep(void) {
    enum { JOINERS = 8 };
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2 * JOINERS});
    item *due = item_make(US);
    wsq_stats before, after;
    for (unsigned i = 0; i < 2 * JOINERS + 2; i++) item_spawn(pool, item_blocks(2 * MS)); /* so there are stand-ins */
    nap(10 * MS);
    due->pends = true;
    item_spawn(pool, due);
    nap(MS);
    for (unsigned i = 0; i < JOINERS; i++) {
        item *joins = item_make(2 * MS);
        joins->task.fn = keeps_its_permit_run;
        item_spawn(pool, joins);
    }
    nap(5 * MS);
    for (unsigned i = 0; i < JOINERS; i++) item_spawn(pool, item_make(40 * MS));
    nap(5 * MS);
    item_set_timer(pool, due, MS);
    nap(5 * MS);
    CHECK(wsqi_free_permits(wsqi_load_hint(&pool->permits)) == 0 && due->began == 0);
    wsq_pool_stats(pool, &before);
    nap(20 * MS);
    wsq_pool_stats(pool, &after);
    CHECK(after.joins_parked - before.joins_parked < 4 * JOINERS);
    wsq_pool_wait(pool);
    wsq_pool_destroy(pool);
}

/* ---- a joiner is asked for its permit, for a timer, when its join ends: the watcher asks the next one ---- */

typedef struct timed_job {
    wsq_job job;
    uint64_t ns;
} timed_job;

static void timed_run(wsq_ctx ctx, wsq_job *job) {
    (void)ctx;
    compute(wsq_container_of(job, timed_job, job)->ns);
}

static wsq_poll forks_timed_run(wsq_ctx ctx, wsq_task *task) {
    timed_job timed = {.ns = item_of(task)->give_up};
    wsq_fork(&ctx, &timed.job, timed_run);
    compute(item_of(task)->ns);
    wsq_join(&ctx, &timed.job);
    compute(20 * MS);
    return WSQ_DONE;
}

static item *forks_timed(uint64_t ns, uint64_t job) {
    item *self = item_make(ns);
    self->task.fn = forks_timed_run;
    self->give_up = job;
    return self;
}

/* Workers 1 and 2 sleep in joins with their permits. Worker 3 runs the job of worker 1 in its own join, and does not
 * search afterwards. All others have long tasks. */
static void asked_joiner_goes_on(void) {
    for (uint64_t later = 0; later < 200 * US; later += US) {
        wsq_pool *pool = pool_make(&(wsq_config){.workers = 6});
        item *blocks = item_make(60 * MS), *due = item_make(US);
        due->pends = true;
        item_spawn(pool, due);
        nap(MS);
        blocks->task.fn = blocks_first_run;
        item_spawn_on(pool, 0, blocks);
        item_spawn_on(pool, 1, item_make(1500 * US));
        item_spawn_on(pool, 1, forks_timed(3 * MS, 4450 * US + later));
        item_spawn_on(pool, 2, forks_timed(4 * MS, 60 * MS));
        item_spawn_on(pool, 3, forks_timed(500 * US, 2500 * US));
        item_set_timer(pool, due, 6 * MS);
        uint64_t at = now() + 6 * MS;
        nap(3 * MS);
        item_spawn(pool, item_make(60 * MS));
        wsq_pool_wait(pool);
        CHECK(due->began < at + 200 * US);
        wsq_pool_destroy(pool);
        sim.threads = 0;
    }
}

/* ---- a wait for a task of a batch that is refused ---- */

static wsq_result waited;
static uint64_t waited_until;

static void waits_main(void *arg) {
    nap(MS);
    waited = wsq_task_wait_for(&((item *)arg)->task, 50 * MS);
    waited_until = now();
}

/* The batch claims its first task, stalls, and gives it back. */
static void refused_batch(void) {
    memset(&trip, 0, sizeof trip);
    do {
        wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
        uint64_t at = trip.at + 1;
        item *first = item_make(US);
        wsq_task *list[] = {&first->task, NULL};
        memset(&trip, 0, sizeof trip);
        trip.at = at;
        sim_core *waits = outside(waits_main, first);
        trip_stall();
        CHECK_EQ(wsq_spawn_batch(pool, list, 2), WSQ_ERR_INVALID);
        sim_stall.left = 0;
        sim_join(waits);
        CHECK_EQ(waited, WSQ_ERR_INVALID);
        CHECK(trip.stalled == 0 || waited_until < trip.stalled + MS);
        CHECK(trip_in_time(pool));
    } while (trip.stalled != 0);
    CHECK(trip.at > 3);
}

/* ---- one worker: a thread that seeks a permit finds what the one that blocks had fetched ---- */

static wsq_poll fetches_and_blocks_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    compute(5 * MS);
    trip_stall(); /* in the call that gives the permit away */
    block_for(ctx, MS);
    return WSQ_DONE;
}

/* Its thread blocks, goes on without a permit, and then seeks one for 2 ms. */
static wsq_poll spawns_and_seeks_run(wsq_ctx ctx, wsq_task *task) {
    item *fetches = item_make(0);
    (void)task;
    fetches->task.fn = fetches_and_blocks_run;
    trip_spawn(wsq_pool_of(ctx), 1, US); /* fetched alone */
    item_spawn(wsq_pool_of(ctx), fetches);
    trip_spawn(wsq_pool_of(ctx), 72, 300); /* more than are fetched with it */
    block_for(ctx, 8 * US);
    compute(4500 * US);
    return WSQ_DONE;
}

static void order_when_a_permit_passes(void) {
    for (trip.at = 1; trip.at <= 80; trip.at++) {
        wsq_pool *pool = pool_make(&(wsq_config){.workers = 1, .spin_ns = 2 * MS});
        item *first = item_make(0);
        trip.count = 0;
        first->task.fn = spawns_and_seeks_run;
        item_spawn(pool, first);
        (void)trip_in_time(pool);
        for (unsigned i = 1; i < trip.count; i++) CHECK(trip.list[i - 1]->began < trip.list[i]->began);
    }
}

/* ---- a helper of a group, and a thread that looks for the end of its wait ---- */

static wsq_group group;

/* From here on, or no longer, S counts a searcher that does not exist, so no spawn wakes a worker. */
static void pretend_searcher(wsq_pool *pool, bool there) {
    (void)wsqi_add_acqrel(&pool->permits, there ? WSQI_SEARCHING : 0 - (uint64_t)WSQI_SEARCHING);
}

/* A helper runs all of a group that ends soon, also if it is more than fits into a ring. */
static void helper_of_many(void) {
    enum { TASKS = 2 * WSQ_RING_CAPACITY + 50 };
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2});
    wsq_stats all;
    pretend_searcher(pool, true);
    wsq_group_init(&group, pool);
    for (int i = 0; i < TASKS; i++) CHECK_EQ(wsq_group_spawn(&group, &item_make(US)->task), WSQ_OK);
    CHECK_EQ(wsq_group_wait(&group), WSQ_OK);
    pretend_searcher(pool, false);
    wsq_pool_stats(pool, &all);
    CHECK_EQ(all.run, TASKS);
    CHECK_EQ(all.wakes_sent, 0);
    wsq_pool_destroy(pool);
}

static wsq_poll respawns_run(wsq_ctx ctx, wsq_task *task) {
    item *next = item_make(item_of(task)->ns);
    next->task.fn = respawns_run;
    if (item_of(task)->runs != 0) pretend_searcher(wsq_pool_of(ctx), false);
    if (late->ended == 0) CHECK_EQ(wsq_group_spawn(&group, &next->task), WSQ_OK);
    return item_run(ctx, task);
}

/* Other tasks wait for its permit for 1 to 2 ms, or for two tasks if these are longer, although the group, of tasks of
 * `ns`, would go on for ever. */
static void endless_group(uint64_t ns, uint64_t most) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2});
    item *first = item_make(ns);
    item_spawn_on(pool, 0, item_make(50 * MS)); /* has the other permit */
    nap(100 * US);
    pretend_searcher(pool, true);
    item_spawn(pool, late = item_make(US));
    first->task.fn = respawns_run;
    first->runs = 1;
    wsq_group_init(&group, pool);
    CHECK_EQ(wsq_group_spawn(&group, &first->task), WSQ_OK);
    CHECK_EQ(wsq_group_wait(&group), WSQ_OK);
    CHECK(late->began > late->spawned + MS && late->began < late->spawned + most);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    wsq_pool_destroy(pool);
}

static void helper_of_endless_group(void) {
    endless_group(US, 2 * MS);
    endless_group(30 * US, 3 * MS);
    endless_group(5 * MS, 11 * MS);
}

static wsqi_wait looking;

static wsq_poll calls_run(wsq_ctx ctx, wsq_task *task) {
    wsqi_call(wsq_pool_of(ctx), &looking);
    return item_run(ctx, task);
}

/* A look that sees the end of the wait is useful, unless the thread was off its processor for longer than it looks. */
static void late_look(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    for (uint32_t useless = 0; useless < 2; useless++) {
        item *calls = item_make(US);
        calls->task.fn = calls_run;
        wsqi_wait_begin(&looking, pool, &looking, WSQ_FOREVER);
        (void)wsqi_wait_listen(&looking);
        item_spawn(pool, calls);
        sim_stall.only = sim.running->id + 1;
        sim_stall.ns = 100 * US;
        sim_stall.left = useless != 0 ? 2 : 0; /* at its first look */
        wsqi_wait_look(&looking);
        CHECK_EQ(sim_stall.left, 0);
        CHECK(wsqi_wait_called(&looking));
        CHECK_EQ(wsqi_load_acq(&pool->vain_looks), useless);
        wsqi_wait_end(&looking);
        nap(MS);
    }
    sim_stall.only = 0;
    wsq_pool_destroy(pool);
}

static wsq_poll blocks_often_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    for (int i = 0; i < 5; i++) block_for(ctx, MS);
    return WSQ_DONE;
}

/* A free permit, and that no idle thread can use, is offered to workers that wait, not to threads outside. */
static void not_offered_outside(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2, .max_standins = WSQ_STANDINS_OFF});
    item *blocks = item_make(0);
    blocks->task.fn = blocks_often_run;
    wsqi_wait_begin(&looking, pool, &looking, WSQ_FOREVER);
    (void)wsqi_wait_listen(&looking);
    item_spawn_on(pool, 0, blocks);
    nap(8 * MS);
    CHECK(!wsqi_wait_called(&looking));
    wsqi_wait_end(&looking);
    wsq_pool_destroy(pool);
}

/* ---- a helper leaves its permit, and no thread is idle: a loop needs one ---- */

static void loop_body(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    (void)ctx, (void)arg;
    compute((end - begin) * 200 * US);
}

static wsq_poll loops_run(wsq_ctx ctx, wsq_task *task) {
    wsq_for(ctx, 0, 40, 1, loop_body, NULL);
    item_of(task)->ended = now();
    return WSQ_DONE;
}

static void helps_main(void *arg) {
    item *helped = item_make(MS);
    item_spawn((wsq_pool *)arg, helped);
    CHECK_EQ(wsq_task_wait(&helped->task), WSQ_OK);
}

static void permit_of_a_helper(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2});
    item *loops = item_make(0);
    loops->task.fn = loops_run;
    outside(helps_main, pool);
    nap(100 * US);
    CHECK_EQ(wsqi_free_permits(wsqi_load_hint(&pool->permits)), 1);
    item_spawn(pool, item_blocks(20 * MS));
    nap(100 * US);
    uint64_t start = now();
    item_spawn(pool, loops);
    CHECK_EQ(wsq_task_wait_for(&loops->task, 10 * MS), WSQ_OK);
    CHECK(loops->ended < start + 5 * MS);
    CHECK_EQ(wsqi_threads_made(pool), 3);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    wsq_pool_destroy(pool);
}

static void pumps_main(void *arg) { wsq_pool_wait((wsq_pool *)arg); }

/* The thread that works in a caller_runs pool calls the other waiting threads when its wait ends, and not after each
 * task. */
static void called_once_by_the_pump(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1, .caller_runs = true});
    item *tasks[] = {item_make(MS), item_make(MS)};
    wsqi_wait_begin(&looking, pool, &looking, WSQ_FOREVER);
    (void)wsqi_wait_listen(&looking);
    for (int i = 0; i < 2; i++) item_spawn(pool, tasks[i]);
    outside(pumps_main, pool);
    nap(500 * US);
    CHECK(tasks[0]->began != 0 && tasks[1]->began == 0);
    CHECK(!wsqi_pump_enter(pool));
    nap(MS);
    CHECK(tasks[1]->began != 0 && tasks[1]->ended == 0);
    CHECK(!wsqi_wait_called(&looking));
    nap(MS);
    CHECK(wsqi_wait_called(&looking));
    wsqi_wait_end(&looking);
    CHECK(wsqi_pump_enter(pool));
    wsqi_pump_leave(pool);
    wsq_pool_destroy(pool);
}

int main(void) {
    test_begin("exact_passes");
    IN_WORLD(rounds_of_a_pass);
    IN_WORLD(helper_without_a_permit);
    IN_WORLD(joiner_without_a_permit);
    IN_WORLD(joiner_goes_on);
    IN_WORLD(guest_leaves);
    IN_WORLD(watcher_leaves);
    IN_WORLD(counted_twice);
    IN_WORLD(joins_when_a_timer_is_due);
    IN_LARGE_WORLD(joiners_stay_asleep);
    IN_WORLD(asked_joiner_goes_on);
    IN_WORLD(refused_batch);
    IN_WORLD(order_when_a_permit_passes);
    IN_WORLD(helper_of_many);
    IN_WORLD(helper_of_endless_group);
    IN_WORLD(late_look);
    IN_WORLD(not_offered_outside);
    IN_WORLD(called_once_by_the_pump);
    IN_WORLD(permit_of_a_helper);
    return test_end();
}
