/* Waiting inside tasks, cancelling, runs inside tasks and the pool that its callers pump. */
#define WSQ_GUESTS 2
#include "explore_small.h"
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include "explore_steps.h"

enum { TASKS = 4 };

typedef struct step {
    wsq_task task;
    int letter;               /* plain: written by the run, read by the thread that waited */
    int yields, wakes, waits; /* how often it yields; which tasks it wakes and waits for */
    int runs, done, running;  /* the explorer's own */
} step;

static step steps[TASKS];

static wsq_poll step_run(wsq_ctx ctx, wsq_task *task);

static void init(step *it, wsq_task_fn fn) {
    memset(it, 0, sizeof *it);
    it->wakes = it->waits = -1;
    wsq_task_init(&it->task, fn);
}

static void steps_begin(unsigned workers, wsq_config config) {
    for (int i = 0; i < TASKS; i++) init(&steps[i], step_run);
    pool = explore_pool_make(workers, config);
}

static void step_spawn(step *it) { explore_check(wsq_spawn(pool, &it->task) == WSQ_OK); }

static void await(step *it) {
    explore_check(wsq_task_wait(&it->task) == WSQ_OK);
    explore_check(it->done && wsqi_get(&it->letter) == 1);
}

/* First it pends if another task is to wake it. */
static wsq_poll step_run(wsq_ctx ctx, wsq_task *task) {
    step *it = wsq_container_of(task, step, task);
    (void)ctx;
    explore_check(it->running++ == 0 && !it->done);
    if (it->wakes >= 0) wsq_wake(&steps[it->wakes].task);
    if (it->waits >= 0) await(&steps[it->waits]);
    it->running--;
    it->runs++;
    if (it->yields > 0) {
        it->yields--;
        return WSQ_YIELD;
    }
    wsqi_set(&it->letter, 1);
    it->done = 1;
    return WSQ_DONE;
}

static wsq_poll run_pending_once(wsq_ctx ctx, wsq_task *task) {
    step *it = wsq_container_of(task, step, task);
    return it->runs++ == 0 ? WSQ_PENDING : step_run(ctx, task);
}

static void steps_end(void) {
    explore_wait_quiet();
    explore_check_parked(pool);
    explore_pool_end(pool);
}

/* ---- waits inside tasks ---- */

/* It wakes a task into its slot and waits for it: it runs in place, and may yield. */
static void wait_in_place(void) {
    steps_begin(1 + (unsigned)explore_choose(3), plain);
    init(&steps[1], run_pending_once);
    steps[1].yields = explore_choose(2);
    steps[0].wakes = steps[0].waits = 1;
    step_spawn(&steps[1]);
    explore_wait_quiet();
    step_spawn(&steps[0]);
    explore_wait_quiet();
    explore_check(steps[0].done && steps[1].done);
    steps_end();
}

static wsq_poll run_parent(wsq_ctx ctx, wsq_task *task) {
    step *it = wsq_container_of(task, step, task);
    (void)ctx;
    for (int i = 1; i <= it->yields; i++) step_spawn(&steps[i]);
    for (int i = it->yields; i >= 1; i--) await(&steps[i]);
    it->done = 1;
    return WSQ_DONE;
}

/* A parent waits for its children: a sole worker must run them itself. */
static void wait_for_children(void) {
    steps_begin(1 + (unsigned)explore_choose(2), plain);
    init(&steps[0], run_parent);
    steps[0].yields = 2;
    if (explore_choose(2)) steps[1].yields = 1;
    step_spawn(&steps[0]);
    explore_wait_quiet();
    for (int i = 0; i <= 2; i++) explore_check(steps[i].done);
    steps_end();
}

static void wait_for_children_lifo(void) {
    wsq_config config = {.order = WSQ_LIFO};
    steps_begin(2, config);
    init(&steps[0], run_parent);
    steps[0].yields = 2;
    step_spawn(&steps[0]);
    explore_wait_quiet();
    for (int i = 0; i <= 2; i++) explore_check(steps[i].done);
    steps_end();
}

static wsqi_a32 ready; /* 1: the tasks that the others need are spawned */

static wsq_poll run_when_ready(wsq_ctx ctx, wsq_task *task) {
    while (wsqi_load_acq(&ready) == 0) wsqi_pause();
    return step_run(ctx, task);
}

static wsq_poll run_launcher(wsq_ctx ctx, wsq_task *task) {
    step_spawn(&steps[1]);
    return run_when_ready(ctx, task);
}

/* A worker fetches two tasks from the global queue, and then waits for the older one. A thief is
 * still copying that one out of the ring, so the ring has no room when the other one goes back. */
static void wait_beside_thief(void) {
    wsq_config config = {.min_interval = 1, .max_interval = 1};
    steps_begin(2, config);
    wsqi_store_init(&ready, 0u);
    init(&steps[1], run_when_ready);
    init(&steps[0], run_launcher);
    steps[1].waits = 2;
    step_spawn(&steps[0]);
    for (int i = 2; i < TASKS; i++) step_spawn(&steps[i]);
    wsqi_store_rel(&ready, 1u);
    explore_wait_quiet();
    for (int i = 0; i < TASKS; i++) explore_check(steps[i].done);
    steps_end();
}

/* ---- cancel ---- */

static wsq_poll run_child(wsq_ctx ctx, wsq_task *task) {
    step *it = wsq_container_of(task, step, task);
    (void)ctx;
    wsqi_set(&it->letter, 1);
    return it->yields-- > 0 ? WSQ_YIELD : WSQ_DONE;
}

/* The child's memory is gone as soon as the wait returns, cancelled or not. */
static wsq_poll run_cancelled_parent(wsq_ctx ctx, wsq_task *task) {
    step *it = wsq_container_of(task, step, task), *child = explore_malloc(sizeof *child);
    (void)ctx;
    if (!child) explore_fail("no memory");
    init(child, run_child);
    child->yields = it->yields;
    wsq_result spawned = wsq_spawn(pool, &child->task);
    explore_check(spawned == WSQ_OK || spawned == WSQ_ERR_CLOSED);
    if (spawned == WSQ_OK) {
        wsq_result result = wsq_task_wait(&child->task);
        explore_check(result == WSQ_OK || result == WSQ_ERR_CANCELLED);
        if (result == WSQ_OK) explore_check(wsqi_get(&child->letter) == 1);
    }
    explore_free(child);
    it->done = 1;
    return WSQ_DONE;
}

static void waker(void *arg) { wsq_wake(arg); }

static void cancel_against_wait(void) {
    steps_begin(1 + (unsigned)explore_choose(2), plain);
    init(&steps[0], run_cancelled_parent);
    steps[0].yields = explore_choose(2);
    step_spawn(&steps[0]);
    step_spawn(&steps[1]);
    explore_check(wsq_pool_shutdown(pool, WSQ_CANCEL) == WSQ_OK);
    for (int i = 0; i < 2; i++) {
        explore_check(wsq_task_done(&steps[i].task));
        wsq_result result = wsq_task_wait(&steps[i].task);
        explore_check(result == (steps[i].done ? WSQ_OK : WSQ_ERR_CANCELLED));
    }
    explore_pool_end(pool);
}

/* A wake from outside while the pool stops: the task runs, or is cancelled, or was not reached. */
static void cancel_against_wake(void) {
    steps_begin(1 + (unsigned)explore_choose(2), plain);
    init(&steps[0], run_pending_once);
    step_spawn(&steps[0]);
    explore_wait_quiet();
    explore_start(waker, &steps[0].task);
    explore_check(wsq_pool_shutdown(pool, WSQ_CANCEL) == WSQ_OK);
    explore_wait_quiet();
    uint32_t state = steps[0].task.state.v;
    explore_check(wsqi_task_is(state, WSQI_TASK_DONE));
    explore_check(steps[0].done == !wsqi_task_cancelled(state));
    explore_check(pool->lanes[WSQ_NORMAL].incoming.v == NULL && pool->lanes[WSQ_NORMAL].ready == NULL);
    explore_pool_end(pool);
}

/* ---- runs inside tasks ---- */

static void spawn_inside(wsq_ctx ctx, void *arg) {
    (void)ctx;
    step_spawn(arg);
    if (explore_choose(2)) await(arg);
}

static wsq_poll run_with_run(wsq_ctx ctx, wsq_task *task) {
    step *it = wsq_container_of(task, step, task);
    (void)ctx;
    explore_check(wsq_run(pool, spawn_inside, &steps[1]) == WSQ_OK);
    it->done = 1;
    return WSQ_DONE;
}

/* What a run inside a task spawns is work of the pool's own: a drain waits for it. */
static void drain_against_run(void) {
    steps_begin(1 + (unsigned)explore_choose(2), plain);
    init(&steps[0], run_with_run);
    step_spawn(&steps[0]);
    explore_pool_end(pool);
    explore_check(steps[0].done && steps[1].done);
}

/* ---- the caller runs ---- */

static wsq_config pumped(void) {
    wsq_config config = {.caller_runs = true};
    return config;
}

/* No thread but this one: everything runnable is found. */
static void pump_alone(void) {
    steps_begin(1 + (unsigned)explore_choose(2), pumped());
    init(&steps[1], run_pending_once);
    steps[0].wakes = 1;
    steps[0].yields = explore_choose(2);
    for (int i = 1; i >= 0; i--) {
        step_spawn(&steps[i]);
        while (wsq_pool_run_one(pool)) {}
    }
    explore_check(steps[0].done && steps[1].done);
    wsq_pool_destroy(pool);
}

static void spawn_and_await(void *arg) {
    step_spawn(arg);
    await(arg);
}

/* Two threads wait: one of them works. */
static void two_pumps(void) {
    steps_begin(1, pumped());
    explore_start(spawn_and_await, &steps[0]);
    spawn_and_await(&steps[1]);
    explore_join();
    wsq_pool_destroy(pool);
}

static void await_all(void *arg) {
    (void)arg;
    wsq_result result = wsq_pool_wait(pool);
    explore_check(result == WSQ_OK || result == WSQ_ERR_CANCELLED);
}

/* Shut down while another thread sleeps in the pool's place. */
static void stop_the_pump(void) {
    wsq_shutdown mode = explore_choose(2) ? WSQ_DRAIN : WSQ_CANCEL;
    steps_begin(1, pumped());
    init(&steps[0], mode == WSQ_DRAIN ? step_run : run_pending_once);
    step_spawn(&steps[0]);
    explore_start(await_all, NULL);
    explore_check(wsq_pool_shutdown(pool, mode) == WSQ_OK);
    explore_join();
    wsq_pool_destroy(pool);
}

static void wake_the_pump(void) {
    steps_begin(1, pumped());
    init(&steps[0], run_pending_once);
    step_spawn(&steps[0]);
    if (explore_choose(2)) wsq_pool_run_one(pool);
    explore_start(waker, &steps[0].task);
    if (steps[0].runs == 1) await(&steps[0]);
    else if (wsq_pool_run_one(pool)) wsq_wake(&steps[0].task);
    explore_join();
    wsq_wake(&steps[0].task);
    wsq_pool_destroy(pool);
    explore_check(steps[0].done);
}

/* ---- counting ---- */

static void never_idle(void *arg) {
    (void)arg;
    for (int i = 0; i < 3; i++) explore_check(wsq_pool_pending(pool) > 0 || steps[0].done);
}

/* Its children come and go while it lives. */
static wsq_poll run_spawner(wsq_ctx ctx, wsq_task *task) {
    step *it = wsq_container_of(task, step, task);
    (void)ctx;
    if (++it->runs < TASKS) {
        step_spawn(&steps[it->runs]);
        return WSQ_YIELD;
    }
    it->done = 1;
    return WSQ_DONE;
}

static void pending_tasks(void) {
    steps_begin(2, plain);
    init(&steps[0], run_spawner);
    step_spawn(&steps[0]);
    explore_start(never_idle, NULL);
    steps_end();
}

/* ---- a wait inside a run inside a task ---- */

/* The thread is a guest there, and sleeps as the worker
 * that it is. */

static wsq_pool *abroad;
static wsq_task sleeper, holder;
static int runs, waited;

static void abroad_waker(void *arg) {
    (void)arg;
    wsq_wake(&sleeper);
}

static wsq_poll pend_once(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    if (runs++ != 0) return WSQ_DONE;
    explore_start(abroad_waker, NULL);
    return WSQ_PENDING;
}

static void wait_inside(wsq_ctx ctx, void *arg) {
    (void)ctx, (void)arg;
    explore_check(wsq_task_wait(&sleeper) == WSQ_OK);
    waited = 1;
}

static wsq_poll hold(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    explore_check(wsq_run(abroad, wait_inside, NULL) == WSQ_OK);
    return WSQ_DONE;
}

/* pinned: the task that it waits for can run on that very worker only. */
static void wait_in_a_run(bool pinned) {
    runs = waited = 0;
    memset(&sleeper, 0, sizeof sleeper);
    memset(&holder, 0, sizeof holder);
    sleeper.fn = pend_once;
    holder.fn = hold;
    explore_check(!pinned || wsq_task_set_worker(&sleeper, 0) == WSQ_OK);
    explore_check(wsq_task_set_worker(&holder, 0) == WSQ_OK);
    explore_check(wsq_spawn(pool, &sleeper) == WSQ_OK);
    explore_check(wsq_spawn(pool, &holder) == WSQ_OK);
    explore_check(wsq_task_wait(&holder) == WSQ_OK && waited);
    explore_wait_quiet();
    explore_check_parked(pool);
}

static void in_the_same_pool(void) {
    abroad = pool = explore_pool_make(2, plain);
    wait_in_a_run(false);
    explore_pool_end(pool);
}

static void for_a_pinned_task(void) {
    abroad = pool = explore_pool_make(1, plain);
    wait_in_a_run(true);
    explore_pool_end(pool);
}

/* The run is in another pool than the task that it waits for. */
static void in_another_pool(void) {
    abroad = explore_pool_make(1, plain);
    pool = explore_pool_make(1, plain);
    wait_in_a_run(explore_choose(2) != 0);
    wsq_pool_destroy(abroad);
    explore_pool_end(pool);
}

/* ---- a waiting thread is woken ---- */

/* Whatever the worker goes on with, and whatever becomes of the pool, a thread that waits for the end of a
 * task is told, once. */

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

/* Runs 1 inside, then meets the thread that waits for that one. */
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

/* The same, as one of a group: the end of 1 is a store, which only the barrier behind it tells. */
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

/* The thread that waits for the task, or for its group. */
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

/* ---- the pool stops ---- */

static void cancel_beside_wait(void) {
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

/* A thread that has said that it waits is held up; then the task ends, and the pool is over. */
static wsq_poll until_waited_for(item *it) {
    /* The waiting thread may run the task itself, in wsqi_wait_help, before it says that it waits. */
    bool helps = wsqi_self_get()->use == WSQI_USE_HELPS;
    while (!helps && (wsqi_load_rlx(&it->task.state) & WSQI_TASK_AWAITED) == 0) wsqi_pause();
    return WSQ_DONE;
}

static void over_while_waiting(void) {
    begin(1, plain);
    spawn(0, until_waited_for);
    explore_start(patient, &items[0]);
    cancels(NULL);
    explore_pool_end(pool);
}

/* The waiting thread is held up anywhere; one thread does all the rest. */
static void patient_with_group(void *arg) {
    item *it = arg;
    wsq_result result = wsq_group_wait(&group);
    explore_check(result == (it->done ? WSQ_OK : WSQ_ERR_CANCELLED));
}

static void over_at_any_moment(void (*waiter)(void *arg)) {
    wsq_config config = {.caller_runs = true, .max_standins = WSQ_STANDINS_OFF};
    begin(1, config);
    pool->spin.rounds = 0; /* a spinning thread gives way */
    explore_check(wsq_group_init(&group, pool) == WSQ_OK);
    items[0].step = at_once;
    explore_check(wsq_group_spawn(&group, &items[0].task) == WSQ_OK);
    explore_start(waiter, &items[0]);
    wsqi_pause();
    (void)wsq_pool_run_one(pool);
    cancels(NULL);
    explore_pool_end(pool);
}

static void task_over_at_any_moment(void) { over_at_any_moment(patient); }
static void group_over_at_any_moment(void) { over_at_any_moment(patient_with_group); }

/* The same before it has said so. */
static void held_up(void *arg) {
    item *it = arg;
    explore_meet(&gate, 2);
    wsq_result result = wsqi_await(pool, &it->task, NULL, WSQ_FOREVER);
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
    while (wsqi_bucket_for(pool, &it->task) != &pool->buckets[WSQI_BUCKETS - 1]) it++;
    memset(it, 0, sizeof *it);
    wsq_task_init(&it->task, run_item);
    it->step = woken;
    explore_check(wsq_spawn(pool, &it->task) == WSQ_OK);
    explore_start(patient, it);
    cancels(NULL);
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
        (void)wsqi_load_rlx(&pool->permits);
        wsqi_pause();
    }
    cancels(NULL);
    explore_pool_end(pool);
}

int main(void) {
    explore_random("wait: in place", wait_in_place, 7000);
    explore_random("wait: for children", wait_for_children, 7000);
    explore_random("wait: for children, last in, first out", wait_for_children_lifo, 5000);
    explore_random("wait: beside a thief", wait_beside_thief, 8000);
    explore_random("wait: against cancel", cancel_against_wait, 8000);
    explore_random("wait: cancel against wake", cancel_against_wake, 8000);
    explore_random("wait: a run in a task that is drained", drain_against_run, 7000);
    explore_random("wait: pump alone", pump_alone, 5000);
    explore_random("wait: two pumps", two_pumps, 10000);
    explore_random("wait: stop the pump", stop_the_pump, 10000);
    explore_random("wait: wake the pump", wake_the_pump, 8000);
    explore_random("wait: pending tasks", pending_tasks, 5000);
    explore_random("nested: a wait in a run", in_the_same_pool, 2000);
    explore_random("nested: a wait in a run for a pinned task", for_a_pinned_task, 2000);
    explore_random("nested: a wait in a run in another pool", in_another_pool, 2000);
    explore_random("more: done before something long", done_before_long, 3500);
    explore_random("more: done inside a wait", done_inside, 3500);
    explore_random("more: done inside a group", done_inside_group, 2500);
    explore_random("more: cancel against wait", cancel_beside_wait, 3500);
    explore_random("more: cancel against a wait inside", cancel_wait_inside, 3000);
    explore_random("more: over while one waits", over_while_waiting, 3000);
    explore_exhaust("more: over at any moment", task_over_at_any_moment, 1);
    explore_exhaust("more: a group over at any moment", group_over_at_any_moment, 1);
    explore_random("more: over before one waits", over_before_waiting, 3000);
    explore_random("more: cancelled in the last bucket", cancel_in_the_last_bucket, 2000);
    explore_random("more: stopped, and left behind", stop_and_leave_behind, 1500);
    return explore_end();
}
