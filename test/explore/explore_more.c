/* Scenarios that the mutants of wsq.h asked for (test/tools/mutants.txt): what the others do not reach. */
#define WSQ_GUESTS 1
#include "explore_pool.h"

enum { ITEMS = 12 };

/* ---- the ring's length, as a third thread sees it ---- */

static wsq_ring rings[2];
static int things[ITEMS];

static void thief(void *arg) {
    (void)arg;
    wsq_ring_steal(&rings[0], &rings[1]);
    wsq_ring_steal(&rings[0], &rings[1]);
}

/* Never more than fits in. */
static void long_look(void *arg) {
    (void)arg;
    for (int i = 0; i < 3; i++) explore_check(wsq_ring_length(&rings[0]) <= WSQ_RING_CAPACITY);
}

static void length_at_most(void) {
    for (int i = 0; i < 2; i++) wsq_ring_init(&rings[i]);
    explore_start(long_look, NULL);
    explore_start(thief, NULL);
    for (int i = 0; i < ITEMS; i++) {
        wsq_ring_push(&rings[0], &things[i]);
        if (explore_choose(2)) wsq_ring_pop(&rings[0]);
    }
    explore_join();
}

/* Two in, at most one out. */
static void short_look(void *arg) {
    (void)arg;
    for (int i = 0; i < 2; i++) explore_check(wsq_ring_length(&rings[0]) > 0);
}

static void one_theft(void *arg) {
    (void)arg;
    if (wsq_ring_length(&rings[0]) == 2) wsq_ring_steal(&rings[0], &rings[1]);
}

static void length_at_least(void) {
    for (int i = 0; i < 2; i++) wsq_ring_init(&rings[i]);
    wsq_ring_push(&rings[0], &things[0]);
    explore_start(short_look, NULL);
    explore_start(one_theft, NULL);
    wsq_ring_push(&rings[0], &things[1]);
    explore_join();
}

/* ---- tasks that do what the scenario says ---- */

typedef struct item {
    wsq_task task;
    wsq_poll (*step)(struct item *it); /* of its run number `runs` */
    int letter;                        /* plain: who was woken for it reads it */
    wsqi_a32 sent;                     /* for a first run that may be too early */
    int runs, done;                    /* the explorer's own */
} item;

static item items[4];
static int gate;
static wsq_pool *pool;
static const wsq_config plain;

static wsq_poll run_item(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    it->runs++;
    wsq_poll poll = it->step(it);
    if (poll == WSQ_DONE) it->done = 1;
    return poll;
}

static void begin(unsigned workers, wsq_config config) {
    memset(items, 0, sizeof items);
    gate = 0;
    for (int i = 0; i < 4; i++) wsq_task_init(&items[i].task, run_item);
    pool = explore_pool_make(workers, config);
}

static void spawn(int i, wsq_poll (*step)(item *it)) {
    items[i].step = step;
    explore_check(wsq_spawn(pool, &items[i].task) == WSQ_OK);
}

static void wait_for(int i) { explore_check(wsq_task_wait(&items[i].task) == WSQ_OK); }

/* The first `count` are done; a watcher that sees old values takes its time. */
static void end(int count) {
    explore_wait_quiet();
    for (int i = 0; i < 16 * count; i++)
        if (!items[i / 16].done) explore_wait_quiet();
    for (int i = 0; i < count; i++) explore_check(items[i].done);
    explore_check_parked(pool);
    explore_pool_end(pool);
}

static wsq_poll at_once(item *it) {
    wsqi_set(&it->letter, 1);
    return WSQ_DONE;
}

static wsq_poll meets(item *it) {
    (void)it;
    explore_meet(&gate, 2);
    return WSQ_DONE;
}

static void post(item *it) {
    wsqi_set(&it->letter, 1);
    wsqi_store_rel(&it->sent, 1u);
    wsq_wake(&it->task);
}

/* Pending first; the second run was woken: nothing but the wake orders the letter then. */
static wsq_poll woken(item *it) {
    if (it->runs == 1 && wsqi_load_acq(&it->sent) == 0) return WSQ_PENDING;
    explore_check(wsqi_get(&it->letter) == 1);
    return WSQ_DONE;
}

static wsq_poll woken_meets(item *it) {
    return woken(it) == WSQ_DONE ? meets(it) : WSQ_PENDING;
}

static wsq_poll wakes_and_meets(item *it) {
    post(&items[1]);
    return meets(it);
}

/* ---- the slot and its watcher ---- */

/* The other worker goes to sleep at this very moment. */
static void slot_without_silence(void) {
    begin(2, plain);
    spawn(1, woken_meets);
    if (explore_choose(2)) spawn(2, at_once);
    spawn(0, wakes_and_meets);
    end(2);
}

static void slot_of_three(void) {
    begin(3, plain);
    spawn(1, woken_meets);
    if (explore_choose(2)) spawn(2, at_once);
    spawn(0, wakes_and_meets);
    end(2);
}

/* Woken in turn, three times each; then they meet. */
static wsq_poll volley(item *it) {
    item *other = it == &items[0] ? &items[1] : &items[0];
    if (it->runs == 1 && it == &items[1]) return WSQ_PENDING;
    wsqi_set(&other->letter, wsqi_get(&other->letter) + 1);
    wsq_wake(&other->task);
    if (it->runs < 4) return WSQ_PENDING;
    return meets(it);
}

/* The watcher looks now and then, and must not give up at the wrong moment. */
static void slot_volley(void) {
    begin(2, plain);
    spawn(1, volley);
    explore_wait_quiet();
    spawn(0, volley);
    end(2);
}

/* Long enough between the two for a watcher to look twice. */
static wsq_poll wakes_two(item *it) {
    post(&items[2]);
    for (int i = explore_choose(200); i > 0; i--) (void)wsqi_load_rlx(&pool->idle);
    return wakes_and_meets(it);
}

/* Another task in the slot than the one that the watcher saw. */
static void slot_changes(void) {
    begin(2, plain);
    spawn(1, woken_meets);
    spawn(2, woken);
    if (explore_choose(2)) explore_wait_quiet();
    spawn(0, wakes_two);
    end(3);
}

/* No slot: who was woken waits in the ring. */
static void wake_into_ring(void) {
    wsq_config config = {.lifo_cap = WSQ_LIFO_OFF};
    begin(2, config);
    spawn(1, woken_meets);
    explore_wait_quiet();
    spawn(0, wakes_and_meets);
    end(2);
}

/* ---- a task moves to the queue: somebody shall look there ---- */

static wsq_poll yields_and_meets(item *it) {
    if (it->runs > 1) return meets(it);
    post(&items[1]);
    return WSQ_YIELD;
}

static void yield_behind_slot(void) {
    begin(2, plain);
    spawn(1, woken_meets);
    explore_wait_quiet();
    spawn(0, yields_and_meets);
    end(2);
}

static wsq_poll batch_and_meets(item *it) {
    wsq_task *one = &items[1].task;
    explore_check(wsq_spawn_batch(pool, &one, 1) == WSQ_OK);
    return meets(it);
}

static void batch_inside(void) {
    begin(2, plain);
    items[1].step = meets;
    spawn(0, batch_and_meets);
    end(2);
}

/* Waits for 2, which only 1 wakes, which waits in its own slot. */
static wsq_poll waits_for_third(item *it) {
    post(&items[1]);
    wait_for(2);
    explore_check(items[2].done);
    (void)it;
    return WSQ_DONE;
}

static wsq_poll passes_on(item *it) {
    if (woken(it) != WSQ_DONE) return WSQ_PENDING;
    post(&items[2]);
    return WSQ_DONE;
}

static void wait_beside_slot(void) {
    begin(2, plain);
    spawn(1, passes_on);
    spawn(2, woken);
    explore_wait_quiet();
    spawn(0, waits_for_third);
    end(3);
}

/* ---- waiters: told although the worker goes on with something that ends only after they are ---- */

static void done_before_long(void) {
    wsq_task *tasks[2] = {&items[0].task, &items[1].task};
    begin(1, plain);
    items[0].step = at_once;
    items[1].step = meets;
    explore_check(wsq_spawn_batch(pool, tasks, 2) == WSQ_OK);
    wait_for(0);
    explore_meet(&gate, 2);
    end(2);
}

/* Runs 1 inside, then meets who waits for that one. */
static wsq_poll runs_inside(item *it) {
    post(&items[1]);
    wait_for(1);
    return meets(it);
}

static void done_inside(void) {
    begin(1, plain);
    spawn(1, woken);
    explore_wait_quiet();
    spawn(0, runs_inside);
    wait_for(1);
    explore_meet(&gate, 2);
    end(2);
}

static wsq_group group;

/* Likewise, as one of a group: the end of 1 is a store, which only the barrier behind it tells. */
static wsq_poll runs_group_inside(item *it) {
    post(&items[1]);
    explore_check(wsq_group_wait(&group) == WSQ_OK);
    return meets(it);
}

static wsq_poll runs_one_of_group(item *it) {
    post(&items[1]);
    wait_for(1);
    return meets(it);
}

/* Who waits for the task, or for its group. */
static void done_inside_group(void) {
    bool whole = explore_choose(2);
    begin(1, plain);
    explore_check(wsq_group_init(&group, pool) == WSQ_OK);
    items[1].step = woken;
    explore_check(wsq_group_spawn(&group, &items[1].task) == WSQ_OK);
    explore_wait_quiet();
    spawn(0, whole ? runs_one_of_group : runs_group_inside);
    if (whole) explore_check(wsq_group_wait(&group) == WSQ_OK);
    else wait_for(1);
    explore_meet(&gate, 2);
    end(2);
}

/* ---- a wake that came too soon: the task waits again, and does not spin ---- */

static wsq_poll needs_both(item *it) {
    explore_check(it->runs <= 3);
    return wsqi_load_acq(&it->sent) == 2 ? WSQ_DONE : WSQ_PENDING;
}

static void waits_again(void) {
    begin(1 + (unsigned)explore_choose(2), plain);
    spawn(0, needs_both);
    for (uint32_t i = 1; i <= 2; i++) {
        if (explore_choose(2)) explore_wait_quiet();
        wsqi_store_rel(&items[0].sent, i);
        wsq_wake(&items[0].task);
    }
    end(1);
}

/* ---- counts ---- */

static wsq_poll spawns_next(item *it) {
    int next = (int)(it - items) + 1;
    items[next].step = next < 3 ? spawns_next : at_once;
    explore_check(wsq_spawn(pool, &items[next].task) == WSQ_OK);
    return WSQ_DONE;
}

/* Nothing is pending only when all is done. */
static void chain_is_pending(void) {
    wsq_stats stats;
    begin(1 + (unsigned)explore_choose(2), plain);
    spawn(0, spawns_next);
    for (int i = 0; i < 4; i++) {
        if (wsq_pool_pending(pool) != 0) continue;
        for (int k = 0; k < 4; k++) explore_check(wsq_task_done(&items[k].task));
    }
    wsq_pool_stats(pool, &stats);
    explore_check(stats.finished <= stats.spawned);
    end(4);
}

static void never_quiet(void *arg) {
    (void)arg;
    for (int i = 0; i < 4; i++) explore_check(wsq_pool_pending(pool) != 0);
}

/* One waits all the time, while others come and go. */
static void one_is_pending(void) {
    begin(1 + (unsigned)explore_choose(2), plain);
    spawn(0, woken);
    explore_fiber *other = explore_start(never_quiet, NULL);
    for (int i = 1; i < 4; i++) spawn(i, at_once);
    explore_join_one(other);
    post(&items[0]);
    end(4);
}

static void cancels(void *arg) {
    (void)arg;
    explore_check(wsq_pool_shutdown(pool, WSQ_CANCEL) == WSQ_OK);
}

static void counter(void *arg) {
    wsq_stats stats;
    (void)arg;
    for (int i = 0; i < 3; i++) {
        wsq_pool_stats(pool, &stats);
        explore_check(stats.finished <= stats.spawned);
    }
}

static void cancelled_is_done(void) {
    int count = 2;
    begin(1, plain);
    explore_start(counter, NULL);
    for (int i = 0; i < count; i++) spawn(i, at_once);
    explore_start(cancels, NULL);
    for (int i = 0; i < 3; i++) {
        if (wsq_pool_pending(pool) != 0) continue;
        for (int k = 0; k < count; k++) explore_check(wsq_task_done(&items[k].task));
    }
    explore_pool_end(pool);
}

static wsq_edge edge;

static void follower(void *arg) {
    (void)arg;
    items[1].step = at_once;
    explore_check(wsq_task_after(&items[1].task, &items[0].task, &edge) == WSQ_OK);
    explore_check(wsq_spawn(pool, &items[1].task) == WSQ_OK);
}

/* All that is left waits for what nobody has spawned: who waits for the pool hears of it. */
static void stuck_is_told(void) {
    begin(1, plain);
    explore_fiber *other = explore_start(follower, NULL);
    wsq_result result = wsq_pool_wait(pool);
    explore_check(result == WSQ_OK || result == WSQ_ERR_INVALID);
    explore_join_one(other);
    spawn(0, at_once);
    wait_for(1);
    end(2);
}

/* ---- futures: as if a chunk held only one ---- */

static int results[4]; /* plain */

static void *bump(void *arg) {
    int *result = arg;
    wsqi_set(result, wsqi_get(result) + 1);
    return result;
}

static void submit_and_get(int i) {
    wsq_future *future = NULL;
    void *result = NULL;
    explore_check(wsq_submit(pool, bump, &results[i], &future) == WSQ_OK);
    pool->future_spare = NULL;
    explore_check(wsq_future_get(future, &result) == WSQ_OK);
    explore_check(result == &results[i] && wsqi_get(&results[i]) == 1);
}

static void submitter(void *arg) {
    (void)arg;
    for (int i = 2; i < 4; i++) submit_and_get(i);
}

/* The memory of one that is over is the next one's. */
static void futures_come_back(void) {
    begin(1 + (unsigned)explore_choose(2), plain);
    memset(results, 0, sizeof results);
    explore_start(submitter, NULL);
    for (int i = 0; i < 2; i++) submit_and_get(i);
    end(0);
}

/* Likewise, from a thread that never learns that its function was called. */
static void dropped_futures_come_back(void) {
    begin(1, plain);
    memset(results, 0, sizeof results);
    for (int i = 0; i < 4; i++) {
        wsq_future *future = NULL;
        explore_check(wsq_submit(pool, bump, &results[i], &future) == WSQ_OK);
        pool->future_spare = NULL;
        int n = explore_choose(64); /* a load between, for pauses in a row are one */
        while (n-- > 0 && wsqi_load_rlx(pool->phase) == WSQI_PHASE_RUN) wsqi_pause();
        wsq_future_drop(future);
    }
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    for (int i = 0; i < 4; i++) explore_check(wsqi_get(&results[i]) == 1);
    end(0);
}

/* ---- shutdown ---- */

/* A shutdown that finds another at it returns when everything is decided. */
static void second_shutdown(void) {
    begin(1 + (unsigned)explore_choose(2), plain);
    spawn(0, at_once);
    spawn(1, at_once);
    explore_start(cancels, NULL);
    cancels(NULL);
    for (int i = 0; i < 2; i++) explore_check(wsq_task_done(&items[i].task));
    explore_pool_end(pool);
}

static wsq_result late_result;

static void late_spawner(void *arg) {
    (void)arg;
    items[0].step = at_once;
    late_result = wsq_spawn(pool, &items[0].task);
}

/* Nobody runs; what was let in is cancelled, by whom it may be. */
static void shutdown_against_spawn(void) {
    wsq_config config = {.caller_runs = true};
    begin(1, config);
    explore_start(late_spawner, NULL);
    cancels(NULL);
    explore_join();
    if (late_result == WSQ_OK) explore_check(wsq_task_done(&items[0].task));
    else explore_check(late_result == WSQ_ERR_CLOSED);
    explore_pool_end(pool);
}

static void pumper(void *arg) {
    (void)arg;
    for (int i = 0; i < 2; i++) wsq_pool_run_one(pool);
}

static void waiter_0(void *arg) {
    (void)arg;
    wait_for(0);
}

/* Two threads that want to work for the same pool. */
static void two_pumps(void) {
    wsq_config config = {.caller_runs = true};
    begin(1, config);
    spawn(0, at_once);
    spawn(1, at_once);
    explore_start(pumper, NULL);
    explore_start(waiter_0, NULL);
    wait_for(1);
    explore_join();
    explore_check(items[0].done && items[1].done);
    wsq_pool_destroy(pool);
}

/* A wait says what became of the task. */
static void patient(void *arg) {
    item *it = arg;
    wsq_result result = wsq_task_wait(&it->task);
    explore_check(result == (it->done ? WSQ_OK : WSQ_ERR_CANCELLED));
}

static void cancel_against_wait(void) {
    begin(1 + (unsigned)explore_choose(2), plain);
    spawn(0, at_once);
    explore_start(patient, &items[0]);
    cancels(NULL);
    explore_pool_end(pool);
}

/* The shutdown waits for a worker that waits for a task that nobody will wake. */
static wsq_poll waits_inside(item *it) {
    wsq_result result = wsq_task_wait(&items[1].task);
    (void)it;
    explore_check(result == WSQ_OK || result == WSQ_ERR_CANCELLED);
    return WSQ_DONE;
}

static void cancel_wait_inside(void) {
    begin(1 + (unsigned)explore_choose(2), plain);
    spawn(1, woken);
    if (explore_choose(2)) explore_wait_quiet();
    spawn(0, waits_inside);
    if (explore_choose(2)) explore_wait_quiet();
    cancels(NULL);
    explore_pool_end(pool);
}

/* Who has said that he waits is held up; then the task ends, and the pool is over. */
static wsq_poll until_waited_for(item *it) {
    while ((wsqi_load_rlx(&it->task.state) & WSQI_TASK_WAITED) == 0) wsqi_pause();
    return WSQ_DONE;
}

static void over_while_waiting(void) {
    begin(1, plain);
    spawn(0, until_waited_for);
    explore_start(patient, &items[0]);
    cancels(NULL);
    explore_pool_end(pool);
}

/* Likewise before he has said so. */
static void held_up(void *arg) {
    item *it = arg;
    wsqi_wait wait;
    wsqi_wait_begin(&wait, pool, &it->task, WSQ_FOREVER);
    explore_meet(&gate, 2);
    wsq_result result = wsqi_task_await(&wait, &it->task);
    wsqi_wait_end(&wait);
    explore_check(result == (it->done ? WSQ_OK : WSQ_ERR_CANCELLED));
}

static void over_before_waiting(void) {
    begin(1, plain);
    spawn(0, at_once);
    explore_start(held_up, &items[0]);
    cancels(NULL);
    explore_meet(&gate, 2);
    explore_pool_end(pool);
}

/* In the bucket that the shutdown calls last no lock of another bucket orders anything. */
static void cancel_in_the_last_bucket(void) {
    static item many[256];
    item *it = many;
    begin(1, plain);
    while (wsqi_bucket_for(pool, &it->task) != &pool->waiting[WSQI_BUCKETS - 1]) it++;
    memset(it, 0, sizeof *it);
    wsq_task_init(&it->task, run_item);
    it->step = woken;
    explore_check(wsq_spawn(pool, &it->task) == WSQ_OK);
    explore_start(patient, it);
    cancels(NULL);
    explore_pool_end(pool);
}

/* No thread but this one: what its worker has queued is cancelled by the shutdown. */
static wsq_poll spawns_two(item *it) {
    for (int i = 1; i <= 2; i++) spawn((int)(it - items) + i, at_once);
    return WSQ_DONE;
}

static void cancel_local_tasks(void) {
    wsq_config config = {.caller_runs = true};
    begin(1, config);
    spawn(0, spawns_two);
    explore_check(wsq_pool_run_one(pool));
    cancels(NULL);
    for (int i = 0; i < 3; i++) explore_check(wsq_task_done(&items[i].task));
    explore_pool_end(pool);
}

/* The pool stops while a worker waits for what another one has, which leaves it behind. */
static void until_stop(void) {
    while (wsqi_load_rlx(pool->phase) == WSQI_PHASE_RUN) wsqi_pause();
}

static wsq_poll pends_late(item *it) {
    (void)it;
    until_stop();
    return WSQ_PENDING;
}

static wsq_poll wakes_late(item *it) {
    (void)it;
    until_stop();
    post(&items[1]);
    return WSQ_DONE;
}

static void stop_and_leave_behind(void) {
    bool pends = explore_choose(2);
    begin(2, plain);
    spawn(1, pends ? pends_late : woken);
    if (!pends) explore_wait_quiet();
    if (!pends) spawn(2, wakes_late);
    spawn(0, waits_inside);
    while (items[0].runs == 0 || items[pends ? 1 : 2].runs == 0) {
        (void)wsqi_load_rlx(&pool->idle);
        wsqi_pause();
    }
    cancels(NULL);
    explore_pool_end(pool);
}

/* One thread works for the pool while another one stops it. */
static void stop_against_pump(void) {
    wsq_config config = {.caller_runs = true};
    begin(1, config);
    for (int i = 0; i < 4; i++) spawn(i, at_once);
    explore_fiber *other = explore_start(pumper, NULL);
    cancels(NULL);
    explore_join_one(other);
    for (int i = 0; i < 4; i++) explore_check(wsq_task_done(&items[i].task));
    explore_pool_end(pool);
}

static void pumps_once(void *arg) {
    (void)arg;
    if (wsqi_pump_enter(pool)) wsqi_pump_leave(pool);
}

/* It is called when the pump is free, whenever it first looked. */
static void pump_is_claimed(void) {
    wsq_config config = {.caller_runs = true};
    begin(1, config);
    explore_fiber *other = explore_start(pumps_once, NULL);
    wsqi_wait wait;
    wsqi_wait_begin(&wait, pool, pool, WSQ_FOREVER);
    for (wsqi_wait_listen(&wait); !wsqi_pump_enter(pool); wsqi_wait_listen(&wait))
        wsqi_wait_park(&wait);
    wsqi_wait_end(&wait);
    wsqi_pump_leave(pool); /* as at first */
    explore_join_one(other);
    explore_pool_end(pool);
}

/* Two threads use one task in vain: the pool is closed. Each puts it back as it was. */
static void refused(void *arg) {
    wsq_task *one = &items[0].task;
    (void)arg;
    wsq_result result = wsq_spawn_batch(pool, &one, 1);
    explore_check(result == WSQ_ERR_CLOSED || result == WSQ_ERR_INVALID);
}

static void refused_twice(void) {
    wsq_config config = {.caller_runs = true};
    begin(1, config);
    items[0].step = at_once;
    cancels(NULL);
    explore_start(refused, NULL);
    refused(NULL);
    explore_join();
    explore_check(items[0].task.state.v == 0);
    wsq_pool_destroy(pool);
}

/* ---- threads that are lent: one after the other is the same worker ---- */

static int once = 1, twice = 2;

static void lender(void *arg) {
    for (int i = 0; i < *(int *)arg; i++) {
        wsq_result result = wsq_worker_enter(pool);
        explore_check(result == WSQ_OK || result == WSQ_ERR_INVALID || result == WSQ_ERR_CLOSED);
        if (result == WSQ_ERR_CLOSED) return;
    }
}

static wsq_poll spawns_two_if_open(item *it) {
    (void)it;
    for (int i = 1; i <= 2; i++) {
        items[i].step = at_once;
        wsq_result result = wsq_spawn(pool, &items[i].task);
        explore_check(result == WSQ_OK || result == WSQ_ERR_CLOSED);
    }
    return WSQ_DONE;
}

/* Plain: the last thing that a thread does as a worker, and the first one. */
static int entered, left;

static void count_lent(void *user, wsq_event event, unsigned worker, const void *subject,
                       uint64_t value) {
    (void)user, (void)worker, (void)subject, (void)value;
    if (event == WSQ_EVENT_START) wsqi_set(&entered, wsqi_get(&entered) + 1);
    if (event == WSQ_EVENT_STOP) wsqi_set(&left, wsqi_get(&left) + 1);
}

static void begin_lent(void) {
    static const wsq_hooks hooks = {.event = count_lent};
    wsq_config config = {.lend_only = true, .hooks = &hooks};
    entered = left = 0;
    begin(1, config);
}

/* The shutdown returns behind all that a lent thread did as a worker. */
static void lent_against_stop(void) {
    begin_lent();
    explore_start(lender, &once);
    explore_wait_quiet();
    wsq_worker_dismiss(pool, 0);
    cancels(NULL);
    explore_check(wsqi_get(&entered) == wsqi_get(&left));
    explore_pool_end(pool);
}

static void lent_threads(void) {
    begin_lent();
    for (int i = 0; i < 2; i++) explore_start(lender, &twice);
    spawn(0, spawns_two_if_open);
    if (explore_choose(2)) explore_wait_quiet();
    wsq_worker_dismiss(pool, 0);
    spawn(3, at_once);
    if (explore_choose(2)) wsq_worker_dismiss(pool, 0);
    if (explore_choose(2)) explore_wait_quiet();
    cancels(NULL);
    explore_check(wsqi_get(&entered) == wsqi_get(&left));
    for (int i = 0; i < 4; i++)
        explore_check(wsq_task_done(&items[i].task) || items[i].task.state.v == 0);
    explore_pool_end(pool);
}

/* ---- who sleeps near is woken first ---- */

static uint32_t place_of(unsigned index, void *user) {
    (void)user;
    return index / 2;
}

/* One of two sleepers wakes itself, the other one is woken: no bit and no place is left. */
static void wakes_itself(void *arg) {
    wsqi_self_set(arg);
    wsqi_wake_self(arg);
}

static void wake_beside_waking(void) {
    static const wsq_topology topology = {.place = place_of};
    wsq_config config = {.caller_runs = true, .topology = explore_choose(2) ? &topology : NULL};
    begin(3, config);
    for (unsigned i = 0; i < 3; i++) wsqi_place_update(wsqi_block(pool, i));
    wsqi_or_acqrel(&pool->sleepers[0], (uint64_t)6);
    wsqi_add_sc(&pool->idle, 2 * WSQI_SLEEPING);
    explore_start(wakes_itself, wsqi_block(pool, 1 + (unsigned)explore_choose(2)));
    wsqi_self_set(wsqi_block(pool, 0));
    if (!wsqi_idle_take(pool, 0, 1)) wsqi_add_sc(&pool->idle, WSQI_SEARCHING - WSQI_SLEEPING);
    wsqi_wake_one(pool, NULL);
    explore_join();
    wsqi_self_set(NULL);
    explore_check(pool->idle.v == 2 * WSQI_SEARCHING && pool->sleepers[0].v == 0);
    wsqi_add_rlx(&pool->idle, 0u - 2 * WSQI_SEARCHING);
    wsq_pool_destroy(pool);
}

static wsq_poll spawns_and_meets(item *it) {
    (void)it;
    spawn(1, meets);
    spawn(2, meets);
    return WSQ_DONE;
}

static void near_sleepers(void) {
    static const wsq_topology topology = {.place = place_of};
    wsq_config config = {.topology = &topology};
    begin(3, config);
    if (explore_choose(2)) explore_wait_quiet();
    spawn(3, at_once);
    spawn(0, spawns_and_meets);
    end(4);
}

/* ---- a guest leaves: its sleeper is free for others ---- */

typedef struct dated {
    wsq_job job;
    int runs;
} dated;

static void run_dated(wsq_ctx ctx, wsq_job *job) {
    (void)ctx;
    wsq_container_of(job, dated, job)->runs++;
    explore_meet(&gate, 2);
}

static void run_small(wsq_ctx ctx, wsq_job *job) {
    (void)ctx;
    wsq_container_of(job, dated, job)->runs++;
}

static void fork_small(wsq_ctx ctx) {
    dated it = {.runs = 0};
    wsq_fork(&ctx, &it.job, run_small);
    wsq_join(&ctx, &it.job);
    explore_check(it.runs == 1);
    wsqi_pause();
}

/* Its job meets it: until then it forks, so that it hears who asks. */
static void date(wsq_ctx ctx) {
    dated it = {.runs = 0};
    wsq_fork(&ctx, &it.job, run_dated);
    while (gate == 0) fork_small(ctx);
    explore_meet(&gate, 2);
    wsq_join(&ctx, &it.job);
    explore_check(it.runs == 1);
}

static wsq_poll run_date(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    for (int i = it->runs; i > 0; i--) fork_small(ctx);
    date(ctx);
    it->done = 1;
    return WSQ_DONE;
}

/* The others are asked while nothing is there to be had, and again later. */
static void jobs_come_and_go(void) {
    begin(2, plain);
    wsq_task_init(&items[0].task, run_date);
    items[0].runs = 1 + explore_choose(3); /* small jobs before */
    explore_wait_quiet();
    explore_check(wsq_spawn(pool, &items[0].task) == WSQ_OK);
    end(1);
}

/* Its joiner sleeps; its own job finds nobody else, should the third be busy. */
static int second_gate, started;

static void run_inner(wsq_ctx ctx, wsq_job *job) {
    started = 1;
    date(ctx);
    explore_meet(&second_gate, 2);
    wsq_container_of(job, dated, job)->runs++;
}

static wsq_poll run_outer(wsq_ctx ctx, wsq_task *task) {
    dated it = {.runs = 0};
    wsq_fork(&ctx, &it.job, run_inner);
    while (!started) fork_small(ctx);
    wsq_join(&ctx, &it.job);
    explore_check(it.runs == 1);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static wsq_poll meets_inner(item *it) {
    (void)it;
    explore_meet(&second_gate, 2);
    return WSQ_DONE;
}

static void joiner_is_needed(void) {
    begin(3, plain);
    second_gate = started = 0;
    wsq_task_init(&items[0].task, run_outer);
    explore_check(wsq_spawn(pool, &items[0].task) == WSQ_OK);
    spawn(1, meets_inner);
    end(2);
}

/* ---- a joiner is asked for help just when its own job is done: it hands the request on ---- */

static unsigned joins_first; /* the worker of task 1 */
static bool in_time;         /* its join did help */
static dated third;          /* the job that needs somebody */

static void run_third(wsq_ctx ctx, wsq_job *job) {
    run_small(ctx, job);
    in_time = wsq_worker_index(ctx) == joins_first;
    if (!in_time) explore_meet(&gate, 2);
}

/* Task 2: keeps whoever is free. */
static wsq_poll until_third(item *it) {
    (void)it;
    while (third.runs == 0) {
        (void)wsqi_load_rlx(&pool->idle);
        wsqi_pause();
    }
    return WSQ_DONE;
}

/* Task 0 waits for this job, which has one of its own for whoever helps; task 1 is asked first, or
 * it is. */
static void run_asker(wsq_ctx ctx, wsq_job *job) {
    wsqi_worker *self = wsqi_self_get();
    started = 1;
    explore_check(wsq_spawn(pool, &items[1].task) == WSQ_OK);
    while (started < 2) {
        (void)wsqi_load_rlx(&pool->idle);
        wsqi_pause();
    }
    wsq_fork(&ctx, &third.job, run_third);
    while (third.runs == 0 && wsqi_range_empty(self)) fork_small(ctx);
    wsq_task_set_priority(&items[2].task, WSQ_HIGH);
    spawn(2, until_third);
    explore_meet(&second_gate, 2);
    while (third.runs == 0) fork_small(ctx);
    wsq_join(&ctx, &third.job);
    run_small(ctx, job);
}

static void run_first(wsq_ctx ctx, wsq_job *job) {
    run_small(ctx, job);
    started = 2;
    explore_meet(&second_gate, 2);
}

/* Task 0 or 1; the second is then needed elsewhere. */
static wsq_poll run_forker(wsq_ctx ctx, wsq_task *task) {
    item *which = wsq_container_of(task, item, task);
    dated it = {.runs = 0};
    int late = which == &items[1];
    if (late) joins_first = wsq_worker_index(ctx);
    wsq_fork(&ctx, &it.job, late ? run_first : run_asker);
    while (started <= late) fork_small(ctx);
    wsq_join(&ctx, &it.job);
    if (late && !in_time) explore_meet(&gate, 2);
    which->done = 1;
    return WSQ_DONE;
}

static void joiner_hands_on(void) {
    begin(4, plain);
    second_gate = started = third.runs = 0;
    in_time = false;
    for (int i = 0; i < 2; i++) wsq_task_init(&items[i].task, run_forker);
    explore_check(wsq_spawn(pool, &items[0].task) == WSQ_OK);
    end(3);
}

/* It waits for who joins: a searcher that was about has found a task instead. */
static void run_asker_alone(wsq_ctx ctx, wsq_job *job) {
    started = 1;
    explore_meet(&second_gate, 2);
    wsq_fork(&ctx, &third.job, run_small);
    while (third.runs == 0) fork_small(ctx);
    wsq_join(&ctx, &third.job);
    run_small(ctx, job);
}

static wsq_poll run_joining(wsq_ctx ctx, wsq_task *task) {
    dated it = {.runs = 0};
    wsq_fork(&ctx, &it.job, run_asker_alone);
    while (!started) fork_small(ctx);
    wsq_join(&ctx, &it.job);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static void searcher_leaves_joiner(void) {
    begin(3, plain);
    second_gate = started = third.runs = 0;
    wsq_task_init(&items[0].task, run_joining);
    explore_check(wsq_spawn(pool, &items[0].task) == WSQ_OK);
    explore_wait_quiet();
    explore_meet(&second_gate, 2);
    spawn(1, until_third);
    end(2);
}

/* ---- two searchers leave: the last one sees what the first one has moved ---- */

static void first_leaves(void *arg) {
    wsqi_worker *self = wsqi_block(pool, 0);
    wsqi_self_set(self);
    wsqi_search_begin(self);
    explore_meet(&gate, 2);
    wsq_ring_push(&self->ring, arg);
    wsqi_search_end(self);
    explore_meet(&second_gate, 2);
}

static void last_looks(void) {
    wsq_config config = {.caller_runs = true};
    wsqi_worker *self;
    begin(2, config);
    second_gate = 0;
    self = wsqi_block(pool, 1);
    explore_start(first_leaves, &items[0].task);
    wsqi_search_begin(self);
    explore_meet(&gate, 2);
    explore_meet(&second_gate, 2);
    wsqi_search_end(self);
    const wsqi_worker *where[2];
    explore_check(wsqi_look_tasks(pool, where, UINT_MAX) != 0);
    explore_join();
    wsq_ring_pop(&wsqi_block(pool, 0)->ring);
    wsq_pool_destroy(pool);
}

/* ---- a worker blocks while another one goes to sleep in a join: two stand-ins ---- */

static void run_blocking(wsq_ctx ctx, wsq_job *job) {
    started = 1;
    wsq_block_begin(ctx);
    explore_meet(&gate, 3);
    wsq_block_end(ctx);
    run_small(ctx, job);
}

static wsq_poll run_joining_blocked(wsq_ctx ctx, wsq_task *task) {
    dated it = {.runs = 0};
    wsq_fork(&ctx, &it.job, run_blocking);
    while (!started) fork_small(ctx);
    wsq_join(&ctx, &it.job);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static wsq_poll meets_three(item *it) {
    (void)it;
    explore_meet(&gate, 3);
    return WSQ_DONE;
}

static void joined_and_blocked(void) {
    wsq_config config = {.max_standins = 2};
    begin(2, config);
    started = 0;
    wsq_task_init(&items[0].task, run_joining_blocked);
    explore_check(wsq_spawn(pool, &items[0].task) == WSQ_OK);
    explore_wait_quiet();
    for (int i = 1; i <= 2; i++) spawn(i, meets_three);
    end(3);
}

/* ---- guests ---- */

/* It works in the sleeper's place: nobody is woken for its jobs. */
static void run_on_guest(wsq_ctx ctx, wsq_job *job) {
    run_small(ctx, job);
    explore_check(wsq_worker_index(ctx) == pool->guest_base);
}

static void fork_two(wsq_ctx ctx, void *arg) {
    dated two[2] = {{.runs = 0}, {.runs = 0}};
    (void)arg;
    for (int i = 0; i < 2; i++) wsq_fork(&ctx, &two[i].job, run_on_guest);
    wsqi_pause();
    for (int i = 1; i >= 0; i--) wsq_join(&ctx, &two[i].job);
    explore_check(wsqi_sleeping(pool->idle.v) == 1);
}

static void guest_replaces_sleeper(void) {
    begin(1, plain);
    explore_wait_quiet();
    explore_check(wsq_run(pool, fork_two, NULL) == WSQ_OK);
    end(0);
}

static void nothing(wsq_ctx ctx, void *arg) {
    (void)ctx;
    (void)arg;
}

static void guest_leaves(void) {
    begin(2, plain);
    wsq_task_init(&items[0].task, run_date);
    if (explore_choose(2)) explore_wait_quiet();
    explore_check(wsq_spawn(pool, &items[0].task) == WSQ_OK);
    explore_check(wsq_run(pool, nothing, NULL) == WSQ_OK);
    end(1);
}

int main(void) {
    explore_random("more: a robbed ring is not empty", length_at_least, 20000);
    explore_random("more: the ring's length", length_at_most, 20000);
    explore_random("more: slot theft without silence", slot_without_silence, 3500);
    explore_random("more: slot theft, three workers", slot_of_three, 3000);
    explore_random("more: slot volley", slot_volley, 3000);
    explore_random("more: the slot changes", slot_changes, 3500);
    explore_random("more: a wake into the ring", wake_into_ring, 3500);
    explore_random("more: a yield behind the slot", yield_behind_slot, 3000);
    explore_random("more: a batch inside", batch_inside, 3500);
    explore_random("more: a wait beside the slot", wait_beside_slot, 3000);
    explore_random("more: done before something long", done_before_long, 3500);
    explore_random("more: done inside a wait", done_inside, 3500);
    explore_random("more: done inside a group", done_inside_group, 2500);
    explore_random("more: a wake too soon", waits_again, 3500);
    explore_random("more: a chain is pending", chain_is_pending, 3500);
    explore_random("more: one is pending", one_is_pending, 3500);
    explore_random("more: the cancelled are done", cancelled_is_done, 3500);
    explore_random("more: the second shutdown", second_shutdown, 3500);
    explore_random("more: shutdown against spawn, no threads", shutdown_against_spawn, 3500);
    explore_random("more: two pumps", two_pumps, 3000);
    explore_random("more: cancel against wait", cancel_against_wait, 3500);
    explore_random("more: cancel against a wait inside", cancel_wait_inside, 3000);
    explore_random("more: over while one waits", over_while_waiting, 3000);
    explore_random("more: over before one waits", over_before_waiting, 3000);
    explore_random("more: cancelled in the last bucket", cancel_in_the_last_bucket, 2000);
    explore_random("more: cancel local tasks", cancel_local_tasks, 2000);
    explore_random("more: stopped, and left behind", stop_and_leave_behind, 1500);
    explore_random("more: stopped against a pump", stop_against_pump, 3000);
    explore_random("more: a pump is claimed", pump_is_claimed, 2000);
    explore_random("more: refused twice", refused_twice, 2500);
    explore_random("more: lent threads", lent_threads, 2000);
    explore_random("more: a lent thread against a stop", lent_against_stop, 2500);
    explore_random("more: near sleepers", near_sleepers, 1000);
    explore_random("more: a wake beside one who wakes", wake_beside_waking, 2500);
    explore_random("more: stuck is told", stuck_is_told, 3000);
    explore_random("more: futures come back", futures_come_back, 3000);
    explore_random("more: dropped futures come back", dropped_futures_come_back, 2000);
    explore_random("more: jobs come and go", jobs_come_and_go, 3000);
    explore_random("more: a joiner is needed", joiner_is_needed, 3000);
    explore_random("more: a joiner hands on", joiner_hands_on, 2000);
    explore_random("more: joined and blocked", joined_and_blocked, 1500);
    explore_random("more: a searcher leaves a joiner", searcher_leaves_joiner, 1500);
    explore_random("more: the last searcher looks", last_looks, 2500);
    explore_random("more: a guest replaces a sleeper", guest_replaces_sleeper, 2000);
    explore_random("more: a guest leaves", guest_leaves, 3000);
    return explore_end();
}
