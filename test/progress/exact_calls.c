/* What calls return, what hooks and statistics say, and until when each thread may touch what: in virtual time,
 * with a stall at each access in turn where it matters what comes between. */
#include "exact.h"

static item *other;

/* ---- calls that are refused ---- */

static unsigned called;

static void count_run(wsq_ctx ctx, void *arg) {
    (void)ctx, (void)arg;
    called++;
}

static void run_after_shutdown(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    CHECK_EQ(wsq_run(pool, count_run, NULL), WSQ_OK);
    CHECK_EQ(wsq_pool_shutdown(pool, WSQ_DRAIN), WSQ_OK);
    CHECK_EQ(wsq_run(pool, count_run, NULL), WSQ_ERR_CLOSED);
    CHECK_EQ(called, 1);
    wsq_pool_destroy(pool);
}

static void *count_call(void *arg) {
    called++;
    return arg;
}

/* A time-out of 0 only looks, on a worker, too. */
static wsq_poll looks_run(wsq_ctx ctx, wsq_task *task) {
    wsq_future *future = NULL;
    void *result = NULL;
    (void)task;
    CHECK_EQ(wsq_submit(wsq_pool_of(ctx), count_call, &called, &future), WSQ_OK);
    CHECK_EQ(wsq_future_get_for(future, 0, &result), WSQ_ERR_TIMEOUT);
    CHECK_EQ(called, 0);
    CHECK_EQ(wsq_future_get(future, &result), WSQ_OK);
    CHECK(called == 1 && result == &called);
    return WSQ_DONE;
}

static void get_for_nothing(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    item *looks = item_make(0);
    called = 0;
    looks->task.fn = looks_run;
    item_spawn(pool, looks);
    wsq_pool_wait(pool);
    CHECK_EQ(called, 1);
    wsq_pool_destroy(pool);
}

static wsq_poll enters_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    CHECK_EQ(wsq_worker_enter(wsq_pool_of(ctx)), WSQ_ERR_INVALID);
    called++;
    return WSQ_DONE;
}

static void enter_from_inside(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2, .lend_only = true});
    sim_core *lent = outside(lend, pool);
    item *enters = item_make(0);
    called = 0;
    enters->task.fn = enters_run;
    item_spawn(pool, enters);
    wsq_pool_wait(pool);
    CHECK_EQ(called, 1);
    CHECK_EQ(wsq_pool_shutdown(pool, WSQ_DRAIN), WSQ_OK);
    sim_join(lent);
    wsq_pool_destroy(pool);
}

static void group_of_another_pool(void) {
    wsq_pool *one = pool_make(&(wsq_config){.workers = 1});
    wsq_pool *two = pool_make(&(wsq_config){.workers = 1});
    wsq_group group;
    item *task = item_make(US);
    wsq_task *list[1] = {&task->task};
    wsq_group_init(&group, two);
    wsq_task_set_group(&task->task, &group);
    CHECK_EQ(wsq_spawn_on(one, 0, &task->task), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_spawn(one, &task->task), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_spawn_batch(one, list, 1), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_group_pending(&group), 0);
    CHECK_EQ(wsq_spawn_on(two, 0, &task->task), WSQ_OK);
    CHECK_EQ(wsq_group_wait(&group), WSQ_OK);
    wsq_pool_destroy(one);
    wsq_pool_destroy(two);
}

static void then_after_refused(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    wsq_future *future = NULL;
    item *bad = item_make(MS), *good = item_make(US), *third = item_make(US);
    item_spawn(pool, bad); /* it is spawned already */
    CHECK_EQ(wsq_submit(pool, count_call, NULL, &future), WSQ_OK);
    CHECK_EQ(wsq_future_then(future, &bad->task), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_future_then(future, &good->task), WSQ_OK);
    CHECK_EQ(wsq_future_then(future, &third->task), WSQ_ERR_INVALID);
    wsq_pool_wait(pool);
    CHECK(good->ended != 0 && third->ended == 0);
    CHECK_EQ(wsq_future_get(future, NULL), WSQ_OK);
    wsq_pool_destroy(pool);
}

/* ---- between two accesses ---- */

static uint64_t stall_at;

static wsq_pool *pool_asked;

static void refused_main(void *arg) {
    nap(20 * US);
    sim_stall.left = stall_at;
    CHECK_EQ(wsq_spawn(pool_asked, &((item *)arg)->task), WSQ_ERR_INVALID);
    sim_stall.left = 0;
}

/* A spawn that is refused counts for a moment, since its task waits in another pool. The last task ends in
 * that moment: only the thread that takes the count back can tell the one that waits for the pool. */
static void refused_spawn(void) {
    wsq_pool *pool = pool_asked = pool_make(&(wsq_config){.workers = 1});
    wsq_pool *elsewhere = pool_make(&(wsq_config){.workers = 1});
    item *pends = item_make(US);
    pends->pends = true;
    item_spawn(elsewhere, pends);
    item_spawn(pool, item_make(50 * US));
    sim_core *asks = outside(refused_main, pends);
    uint64_t start = now();
    CHECK_EQ(wsq_pool_wait_for(pool, 50 * MS), WSQ_OK);
    CHECK(now() - start < 10 * MS);
    sim_join(asks);
    item_wake(pends);
    wsq_pool_destroy(pool);
    wsq_pool_destroy(elsewhere);
}

static void held_main(void *arg) {
    nap(20 * US);
    sim_stall.left = stall_at;
    item_spawn(pool_asked, (item *)arg);
    sim_stall.left = 0;
}

/* A task is spawned that waits for one that nobody spawns. It counts as held last of all. The last other task ends
 * before that: only the spawning thread can tell the one that waits for the pool. */
static void held_spawn(void) {
    wsq_pool *pool = pool_asked = pool_make(&(wsq_config){.workers = 1});
    item *never = item_make(US), *held = item_make(US);
    wsq_edge edge;
    CHECK_EQ(wsq_task_after(&held->task, &never->task, &edge), WSQ_OK);
    item_spawn(pool, item_make(50 * US));
    sim_core *spawns = outside(held_main, held);
    uint64_t start = now();
    wsq_result result = wsq_pool_wait_for(pool, 3 * SECOND); /* ok: before the task counted as spawned */
    CHECK(result == WSQ_ERR_INVALID || (result == WSQ_OK && now() - start < 10 * MS));
    CHECK(now() - start < SECOND + 10 * MS);
    sim_join(spawns);
    item_spawn(pool, never);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    wsq_pool_destroy(pool);
}

static void spawns_late(void *arg) {
    nap(3 * SECOND);
    item_spawn(pool_asked, (item *)arg);
}

/* A shutdown drains the pool, also if that takes long, or tasks wait for one of another pool. */
static void patient_drain(void) {
    for (int held = 0; held < 2; held++) {
        wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
        item *first = item_make(held ? US : 7 * SECOND), *last = item_make(US);
        wsq_edge edge;
        pool_asked = held ? pool_make(&(wsq_config){.workers = 1}) : pool;
        if (held) CHECK_EQ(wsq_task_after(&last->task, &first->task, &edge), WSQ_OK);
        if (held) outside(spawns_late, first);
        else item_spawn(pool, first);
        item_spawn(pool, last);
        CHECK_EQ(wsq_pool_shutdown(pool, WSQ_DRAIN), WSQ_OK);
        CHECK(last->ended != 0);
        wsq_pool_destroy(pool);
        if (held) wsq_pool_destroy(pool_asked);
    }
}

static item *followers[4];
static wsq_edge edges[4];

/* Its edge is its own again. */
static wsq_poll follower_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    for (int i = 0; i < 4; i++)
        if (&followers[i]->task == task) memset(&edges[i], 0xa5, sizeof edges[i]);
    item_of(task)->ended = now();
    return WSQ_DONE;
}

static wsq_poll stalls_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    compute(20 * US);
    sim_stall.left = stall_at;
    return WSQ_DONE;
}

static void edges_end(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 3});
    item *first = item_make(0);
    first->task.fn = stalls_run;
    for (int i = 0; i < 4; i++) {
        followers[i] = item_make(0);
        followers[i]->task.fn = follower_run;
        CHECK_EQ(wsq_task_after(&followers[i]->task, &first->task, &edges[i]), WSQ_OK);
        item_spawn(pool, followers[i]);
    }
    item_spawn(pool, first);
    wsq_pool_wait(pool);
    sim_stall.left = 0;
    for (int i = 0; i < 4; i++) CHECK(followers[i]->ended != 0);
    wsq_pool_destroy(pool);
}

static wsq_deque *deque;
static uint64_t stall_again; /* so many accesses later there is another one */

static void stall_twice(sim_core *core, uint64_t until) {
    (void)core;
    (void)until;
    sim_stall.left = stall_again;
    stall_again = 0;
}

static void deque_owner(void *arg) {
    (void)arg;
    nap(10 * US);
    sim_stall.only = 1 + sim.running->id;
    sim_stall.left = stall_at % 8 + 1;
    stall_again = stall_at / 8 + 1;
    (void)wsq_deque_pop(deque);
    sim_stall.left = 0;
}

static void deque_thief(void *arg) {
    void *stolen;
    (void)arg;
    nap(30 * US);
    for (int i = 0; i < 2; i++) (void)wsq_deque_steal(deque, &stolen);
}

/* Its owner and a thief take the last two items: nobody sees a length below 0. */
static void deque_length(void) {
    deque = (wsq_deque *)sim_allocate(sizeof *deque);
    CHECK_EQ(wsq_deque_init(deque, 4), WSQ_OK);
    for (int i = 0; i < 2; i++) CHECK_EQ(wsq_deque_push(deque, &deque), WSQ_OK);
    sim_stall.tell = stall_twice;
    sim_core *owner = outside(deque_owner, NULL), *thief = outside(deque_thief, NULL);
    for (int i = 0; i < 150; i++) {
        nap(US);
        CHECK(wsq_deque_length(deque) <= 2);
    }
    sim_join(owner);
    sim_join(thief);
    CHECK_EQ(wsq_deque_length(deque), 0);
    sim_stall.tell = NULL;
    sim_stall.only = 0;
}

static void stalled(void (*test)(void), uint64_t ns, uint64_t accesses) {
    sim_stall.ns = ns;
    for (stall_at = 1; stall_at <= accesses; stall_at++) {
        CHECK(world_run(test, 10 * SECOND));
        sim_stall.left = 0;
    }
}

static void refused_spawn_stalled(void) { stalled(refused_spawn, MS, 60); }
static void held_spawn_stalled(void) { stalled(held_spawn, MS, 60); }
static void edges_stalled(void) { stalled(edges_end, MS, 120); }
static void deque_stalled(void) { stalled(deque_length, 50 * US, 64); }

/* ---- statistics ---- */

static wsq_poll spawns_four_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    for (int i = 0; i < 4; i++) item_spawn(wsq_pool_of(ctx), item_make(MS));
    compute(10 * MS);
    return WSQ_DONE;
}

static void statistics_of_thefts(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2});
    item *spawns = item_make(0);
    wsq_stats all, one;
    spawns->task.fn = spawns_four_run;
    item_spawn_on(pool, 0, spawns);
    wsq_pool_wait(pool);
    wsq_pool_stats(pool, &all);
    CHECK(all.spawned == 5 && all.run == 5 && all.finished == 5);
    CHECK_EQ(all.tasks_stolen, 4);
    CHECK_EQ(all.steals, 3); /* two, one, one */
    CHECK_EQ(all.overflows, 0);
    CHECK_EQ(all.rescued, 0);
    CHECK_EQ(all.local_pops, 1);
    wsq_worker_stats(pool, 1, &one);
    CHECK(one.run == 4 && one.tasks_stolen == 4 && one.spawned == 0);
    wsq_worker_stats(pool, 0, &one);
    CHECK_EQ(one.wakes_sent, 1); /* the other one, for the first of them */
    wsq_pool_destroy(pool);
}

/* 1,000 tasks of 100 us: so many fit into a millisecond. */
static void statistics_of_time(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    wsq_stats all;
    for (int i = 0; i < 1000; i++) item_spawn(pool, item_make(100 * US));
    wsq_pool_wait(pool);
    wsq_pool_stats(pool, &all);
    CHECK_EQ(all.average_task_ns / 100, 1000);
    CHECK_EQ(all.interval, 9); /* nine whole ones */
    CHECK_EQ(all.run, 1000);
    CHECK_EQ(all.global_tasks, 1000);
    wsq_pool_destroy(pool);
}

static wsq_poll overflows_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    for (int i = 0; i < WSQ_RING_CAPACITY + 1; i++) item_spawn(wsq_pool_of(ctx), item_make(0));
    return WSQ_DONE;
}

/* One too many for a ring: with one worker all go, once, and come back in batches of up to 64. */
static void statistics_of_overflow(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    item *overflows = item_make(0);
    wsq_stats all;
    overflows->task.fn = overflows_run;
    item_spawn(pool, overflows);
    wsq_pool_wait(pool);
    wsq_pool_stats(pool, &all);
    CHECK_EQ(all.overflows, 1);
    CHECK_EQ(all.local_pops, WSQ_RING_CAPACITY - 1);
    CHECK_EQ(all.global_tasks, 1 + WSQ_RING_CAPACITY + 1);
    CHECK_EQ(all.global_batches, 1 + 5);
    CHECK_EQ(all.run, WSQ_RING_CAPACITY + 2);
    wsq_pool_destroy(pool);
}

static wsq_poll wakes_other_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    item_wake(other);
    return WSQ_DONE;
}

static void statistics_of_wakes(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    item *wakes = item_make(0);
    wsq_stats all;
    other = item_make(US);
    other->pends = true;
    wakes->task.fn = wakes_other_run;
    item_spawn(pool, other);
    nap(MS);
    item_spawn(pool, wakes);
    wsq_pool_wait(pool);
    wsq_pool_stats(pool, &all);
    CHECK_EQ(all.run, 3);
    CHECK_EQ(all.spawned, 2);
    CHECK_EQ(all.lifo_hits, 1);
    CHECK_EQ(all.wakes_sent, 2); /* one for each spawn from outside */
    wsq_pool_destroy(pool);
}

static void long_piece(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    (void)ctx, (void)arg;
    compute((end - begin) * (begin + 1) * MS); /* the stolen one takes longer */
}

static void loop_run(wsq_ctx ctx, void *arg) { wsq_for(ctx, 0, *(size_t *)arg, 1, long_piece, NULL); }

/* Two pieces for two threads: one is published, stolen, and joined asleep. */
static void statistics_of_jobs(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2});
    size_t pieces = 2;
    wsq_stats all;
    CHECK_EQ(wsq_run(pool, loop_run, &pieces), WSQ_OK);
    wsq_pool_stats(pool, &all);
    CHECK_EQ(all.published, 1);
    CHECK_EQ(all.jobs_stolen, 1);
    CHECK_EQ(all.joins_parked, 1);
    wsq_pool_destroy(pool);
}

static void short_piece(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    (void)ctx, (void)arg;
    compute((end - begin) * 40 * US + begin * 2 * US); /* the stolen one takes a little longer */
}

static void short_loop_run(wsq_ctx ctx, void *arg) { wsq_for(ctx, 0, *(size_t *)arg, 1, short_piece, NULL); }

/* A join that is over soon does not sleep. */
static void short_join(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2});
    size_t pieces = 2;
    wsq_stats all;
    for (int i = 0; i < 5; i++) CHECK_EQ(wsq_run(pool, short_loop_run, &pieces), WSQ_OK);
    wsq_pool_stats(pool, &all);
    CHECK(all.jobs_stolen >= 1);
    CHECK_EQ(all.joins_parked, 0);
    wsq_pool_destroy(pool);
}

/* A worker fetches its share of what is there: 4 to 64 tasks at once. Two parts of the lane: four workers each; of
 * 160 tasks 120 are counted, as the other 40 were not moved to `ready` yet. In
 * one lane, with fewer tasks than 16 for each worker, it fetches one. */
static void shares_of_a_lane(void) {
    static const struct {
        unsigned tasks, fetched;
        unsigned workers;
    } cases[] = {{8, 4, 8}, {40, 10, 8}, {160, 30, 8}, {512, 64, 8}, {1600, 64, 8}, {264, 1 + 64, 4}, {64, 2, 4}, {65, 1 + 16, 4}};
    for (int i = 0; i < 8; i++) {
        wsq_pool *pool = pool_make(&(wsq_config){.workers = cases[i].workers});
        wsq_stats one;
        for (unsigned k = 0; k < cases[i].workers; k++) item_spawn_on(pool, k, item_make(k == 0 ? 20 * MS : 100 * MS));
        nap(10 * MS);
        for (unsigned k = 0; k < cases[i].tasks; k++) item_spawn(pool, item_make(MS));
        nap(10 * MS + 500 * US); /* worker 0 is in the first of them */
        if (cases[i].workers == 4) nap(MS); /* in one lane it takes the first by itself */
        wsq_worker_stats(pool, 0, &one);
        CHECK_EQ(one.global_tasks, cases[i].fetched);
        wsq_pool_wait(pool);
        wsq_pool_destroy(pool);
        sim.threads = 0;
    }
}

/* ---- hooks ---- */

typedef struct heard {
    wsq_event event;
    unsigned worker;
    const void *subject;
    uint64_t value;
} heard;

static heard heard_all[400];
static unsigned heard_count;

static void hear(void *user, wsq_event event, unsigned worker, const void *subject, uint64_t value) {
    (void)user;
    if (heard_count < 400) heard_all[heard_count++] = (heard){event, worker, subject, value};
}

static const wsq_hooks ears = {.event = hear};

/* The n-th of this event about this subject, from 0 on; or NULL. */
static const heard *heard_of(wsq_event event, const void *subject, unsigned n) {
    for (unsigned i = 0; i < heard_count; i++)
        if (heard_all[i].event == event && heard_all[i].subject == subject && n-- == 0) return &heard_all[i];
    return NULL;
}

static int heard_value(wsq_event event, const void *subject, unsigned n) {
    const heard *one = heard_of(event, subject, n);
    return one != NULL ? (int)one->value : -1;
}

static wsq_poll early_run(wsq_ctx ctx, wsq_task *task) {
    item *self = item_of(task);
    (void)ctx;
    if (self->runs++ != 0) return WSQ_DONE;
    compute(100 * US); /* it is woken meanwhile */
    return WSQ_PENDING;
}

static void causes(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2, .hooks = &ears});
    item *waked = item_make(US), *timed = item_make(US), *early = item_make(US);
    item *first = item_make(300 * US), *after = item_make(US);
    wsq_edge edge;
    heard_count = 0;
    waked->pends = timed->pends = true;
    early->task.fn = early_run;
    wsq_task_after(&after->task, &first->task, &edge);
    item_spawn(pool, waked);
    item_spawn(pool, timed);
    item_spawn(pool, after);
    nap(MS);
    item_spawn(pool, early);
    nap(50 * US);
    item_wake(early);
    item_wake(waked);
    item_set_timer(pool, timed, MS);
    item_spawn(pool, first);
    wsq_pool_wait(pool);
    CHECK_EQ(heard_value(WSQ_EVENT_WAKE, &waked->task, 0), WSQ_CAUSE_WAKE);
    CHECK_EQ(heard_value(WSQ_EVENT_WAKE, &timed->task, 0), WSQ_CAUSE_TIMER);
    CHECK_EQ(heard_value(WSQ_EVENT_WAKE, &after->task, 0), WSQ_CAUSE_AFTER);
    CHECK_EQ(heard_value(WSQ_EVENT_WAKE, &early->task, 0), WSQ_CAUSE_EARLY);
    CHECK_EQ(heard_value(WSQ_EVENT_SPAWN, &after->task, 0), 1);
    CHECK_EQ(heard_value(WSQ_EVENT_SPAWN, &first->task, 0), 0);
    CHECK_EQ(heard_value(WSQ_EVENT_TASK_END, &waked->task, 0), WSQ_PENDING);
    CHECK_EQ(heard_value(WSQ_EVENT_TASK_END, &waked->task, 1), WSQ_DONE);
    CHECK(heard_of(WSQ_EVENT_WAKE, &waked->task, 1) == NULL);
    CHECK(heard_of(WSQ_EVENT_WAKE, &timed->task, 1) == NULL);
    CHECK(heard_of(WSQ_EVENT_WAKE, &after->task, 1) == NULL);
    wsq_pool_destroy(pool);
}

static wsq_group crew;

static wsq_poll blocks_all_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    wsq_task_wait(&other->task);
    wsq_group_wait(&crew);
    block_for(ctx, US);
    return WSQ_DONE;
}

/* Each wait begins once and ends once, and names what it waits for. */
static void subjects_of_blocks(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 3, .hooks = &ears});
    item *blocks = item_make(0), *member = item_make(3 * MS);
    heard_count = 0;
    other = item_make(MS);
    wsq_group_init(&crew, pool);
    item_spawn_on(pool, 1, other);
    wsq_task_set_worker(&member->task, 2);
    CHECK_EQ(wsq_group_spawn(&crew, &member->task), WSQ_OK);
    nap(100 * US);
    blocks->task.fn = blocks_all_run;
    item_spawn_on(pool, 0, blocks);
    wsq_pool_wait(pool);
    const void *subjects[] = {&other->task, &crew, NULL};
    for (int i = 0; i < 3; i++) {
        const heard *begin = heard_of(WSQ_EVENT_BLOCK, subjects[i], 0);
        const heard *end = heard_of(WSQ_EVENT_UNBLOCK, subjects[i], 0);
        CHECK(begin != NULL && end != NULL && begin < end && begin->worker == 0 && end->worker == 0);
        CHECK(heard_of(WSQ_EVENT_BLOCK, subjects[i], 1) == NULL);
        CHECK(heard_of(WSQ_EVENT_UNBLOCK, subjects[i], 1) == NULL);
    }
    wsq_pool_destroy(pool);
}

static void events_of_thefts(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2, .hooks = &ears});
    item *spawns = item_make(0);
    size_t pieces = 2;
    unsigned published = 0, jobs = 0, thefts = 0;
    heard_count = 0;
    spawns->task.fn = spawns_four_run;
    item_spawn_on(pool, 0, spawns);
    wsq_pool_wait(pool);
    for (unsigned i = 0; i < heard_count; i++) {
        if (heard_all[i].event != WSQ_EVENT_STEAL) continue;
        thefts++;
        CHECK(heard_all[i].worker == 1 && heard_all[i].value == 0);
        CHECK(heard_of(WSQ_EVENT_SPAWN, heard_all[i].subject, 0) != NULL); /* a task, not a job */
    }
    CHECK_EQ(thefts, 3);
    heard_count = 0;
    CHECK_EQ(wsq_run(pool, loop_run, &pieces), WSQ_OK);
    for (unsigned i = 0; i < heard_count; i++) {
        if (heard_all[i].event == WSQ_EVENT_PUBLISH) published += (unsigned)heard_all[i].value;
        if (heard_all[i].event == WSQ_EVENT_STEAL) jobs++;
    }
    CHECK_EQ(published, 1);
    CHECK_EQ(jobs, 1);
    wsq_pool_destroy(pool);
}

/* ---- the dump ---- */

static char dump_text[8192];

static void dump_read(wsq_pool *pool) {
    FILE *file = tmpfile();
    if (file == NULL) sim_fail("no file");
    wsq_pool_dump(pool, file);
    rewind(file);
    dump_text[fread(dump_text, 1, sizeof dump_text - 1, file)] = '\0';
    fclose(file);
}

static void dump_of_seconds(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1, .list_tasks = true});
    item *pends = item_make(US), *called_off = item_make(US);
    char address[40];
    pends->pends = called_off->pends = true;
    item_spawn(pool, pends);
    item_spawn(pool, called_off);
    nap(3 * SECOND + 100 * MS + US);
    CHECK(wsq_task_cancel(&called_off->task));
    nap(MS);
    dump_read(pool);
    CHECK(strstr(dump_text, " 3.10") != NULL);
    snprintf(address, sizeof address, "%p", (void *)&called_off->task);
    CHECK(strstr(dump_text, address) == NULL);
    snprintf(address, sizeof address, "%p", (void *)&pends->task);
    CHECK(strstr(dump_text, address) != NULL);
    item_wake(pends);
    wsq_pool_wait(pool);
    dump_read(pool);
    CHECK(strstr(dump_text, address) == NULL);
    wsq_pool_destroy(pool);
}

static void spawn_normal(void *arg) { item_spawn((wsq_pool *)arg, item_make(US)); }

/* Each lane, whatever part of it a thread uses; and the threads. */
static void dump_of_lanes(void) {
    static const unsigned sizes[] = {1, 4, 12};
    for (int i = 0; i < 3; i++) {
        wsq_pool *pool = pool_make(&(wsq_config){.workers = sizes[i]});
        char expected[60];
        for (unsigned k = 0; k < sizes[i]; k++) item_spawn_on(pool, k, item_make(MS));
        nap(100 * US);
        dump_read(pool);
        CHECK(strstr(dump_text, "stand-ins not idle 0, guests 0") != NULL);
        CHECK(strstr(dump_text, "high 0, normal 0, low 0") != NULL);
        snprintf(expected, sizeof expected, "%u spawned and not done, 0 held", sizes[i]);
        CHECK(strstr(dump_text, expected) != NULL);
        for (int k = 0; k < 4; k++) { /* each thread has its part of the lane */
            sim_join(outside(spawn_normal, pool));
            dump_read(pool);
            CHECK(strstr(dump_text, "high 0, normal 0+, low 0\n") != NULL);
            wsq_pool_wait(pool);
            for (unsigned w = 0; w < sizes[i]; w++) item_spawn_on(pool, w, item_make(MS));
            nap(100 * US);
        }
        wsq_pool_wait(pool);
        for (int k = 0; k < 3; k++) { /* the first runs, and its lane's others have been counted */
            item *one = item_make(MS);
            wsq_task_set_priority(&one->task, WSQ_HIGH);
            item_spawn(pool, one);
        }
        nap(300 * US);
        dump_read(pool);
        if (sizes[i] == 1) CHECK(strstr(dump_text, "high 2, normal 0, low 0\n") != NULL);
        wsq_pool_wait(pool);
        wsq_pool_destroy(pool);
        sim.threads = 0; /* the next pool has these cores again */
    }
}

static void dump_of_threads(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    item *blocks = item_blocks(5 * MS);
    item_spawn(pool, blocks);
    item_spawn(pool, item_make(2 * MS));
    nap(MS);
    dump_read(pool);
    CHECK(strstr(dump_text, "stand-ins not idle 1, guests 0") != NULL);
    wsq_pool_wait(pool);
    nap(MS);
    dump_read(pool);
    CHECK(strstr(dump_text, "stand-ins not idle 0, guests 0") != NULL);
    wsq_pool_destroy(pool);
}

/* A task that is pinned to a worker in a blocking call begins right after the call. */
static void pinned_to_a_blocked_worker(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2});
    item *blocks = item_blocks(2 * MS), *pinned = item_make(0);
    uint64_t start = (item_spawn_on(pool, 0, blocks), now());
    nap(MS);
    item_spawn_on(pool, 0, pinned);
    wsq_pool_destroy(pool);
    CHECK(pinned->began >= start + 2 * MS && pinned->began < start + 2 * MS + 20 * US);
}

int main(void) {
    test_begin("exact_calls");
    IN_WORLD(run_after_shutdown);
    IN_WORLD(get_for_nothing);
    IN_WORLD(enter_from_inside);
    IN_WORLD(group_of_another_pool);
    IN_WORLD(then_after_refused);
    IN_WORLD(patient_drain);
    RUN(refused_spawn_stalled);
    RUN(held_spawn_stalled);
    RUN(edges_stalled);
    RUN(deque_stalled);
    IN_WORLD(statistics_of_thefts);
    IN_WORLD(statistics_of_time);
    IN_WORLD(statistics_of_overflow);
    IN_WORLD(statistics_of_wakes);
    IN_WORLD(statistics_of_jobs);
    IN_WORLD(causes);
    IN_WORLD(subjects_of_blocks);
    IN_WORLD(events_of_thefts);
    IN_WORLD(dump_of_seconds);
    IN_WORLD(dump_of_lanes);
    IN_WORLD(dump_of_threads);
    IN_WORLD(short_join);
    IN_WORLD(shares_of_a_lane);
    IN_WORLD(pinned_to_a_blocked_worker);
    return test_end();
}
