/* Waiting inside tasks, cancelling, runs inside tasks and the pool that its callers pump. */
#define WSQ_GUESTS 2
#include "explore_small.h"
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include "explore_pool.h"

enum { TASKS = 4 };

typedef struct item {
    wsq_task task;
    int letter;               /* plain: written by the run, read by the thread that waited */
    int yields, wakes, waits; /* how often it yields; which tasks it wakes and waits for */
    int runs, done, running;  /* the explorer's own */
} item;

static item items[TASKS];
static wsq_pool *pool;
static const wsq_config plain;

static wsq_poll run_item(wsq_ctx ctx, wsq_task *task);

static void init(item *it, wsq_task_fn fn) {
    memset(it, 0, sizeof *it);
    it->wakes = it->waits = -1;
    wsq_task_init(&it->task, fn);
}

static void begin(unsigned workers, wsq_config config) {
    for (int i = 0; i < TASKS; i++) init(&items[i], run_item);
    pool = explore_pool_make(workers, config);
}

static void spawn(item *it) { explore_check(wsq_spawn(pool, &it->task) == WSQ_OK); }

static void await(item *it) {
    explore_check(wsq_task_wait(&it->task) == WSQ_OK);
    explore_check(it->done && wsqi_get(&it->letter) == 1);
}

/* First it pends if another task is to wake it. */
static wsq_poll run_item(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    explore_check(it->running++ == 0 && !it->done);
    if (it->wakes >= 0) wsq_wake(&items[it->wakes].task);
    if (it->waits >= 0) await(&items[it->waits]);
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
    item *it = wsq_container_of(task, item, task);
    return it->runs++ == 0 ? WSQ_PENDING : run_item(ctx, task);
}

static void end(void) {
    explore_wait_quiet();
    explore_check_parked(pool);
    explore_pool_end(pool);
}

/* ---- waits inside tasks ---- */

/* It wakes a task into its slot and waits for it: it runs in place, and may yield. */
static void wait_in_place(void) {
    begin(1 + (unsigned)explore_choose(3), plain);
    init(&items[1], run_pending_once);
    items[1].yields = explore_choose(2);
    items[0].wakes = items[0].waits = 1;
    spawn(&items[1]);
    explore_wait_quiet();
    spawn(&items[0]);
    explore_wait_quiet();
    explore_check(items[0].done && items[1].done);
    end();
}

static wsq_poll run_parent(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    for (int i = 1; i <= it->yields; i++) spawn(&items[i]);
    for (int i = it->yields; i >= 1; i--) await(&items[i]);
    it->done = 1;
    return WSQ_DONE;
}

/* A parent waits for its children: a sole worker must run them itself. */
static void wait_for_children(void) {
    begin(1 + (unsigned)explore_choose(2), plain);
    init(&items[0], run_parent);
    items[0].yields = 2;
    if (explore_choose(2)) items[1].yields = 1;
    spawn(&items[0]);
    explore_wait_quiet();
    for (int i = 0; i <= 2; i++) explore_check(items[i].done);
    end();
}

static void wait_for_children_lifo(void) {
    wsq_config config = {.order = WSQ_LIFO};
    begin(2, config);
    init(&items[0], run_parent);
    items[0].yields = 2;
    spawn(&items[0]);
    explore_wait_quiet();
    for (int i = 0; i <= 2; i++) explore_check(items[i].done);
    end();
}

static wsqi_a32 ready; /* 1: the tasks that the others need are spawned */

static wsq_poll run_when_ready(wsq_ctx ctx, wsq_task *task) {
    while (wsqi_load_acq(&ready) == 0) wsqi_pause();
    return run_item(ctx, task);
}

static wsq_poll run_launcher(wsq_ctx ctx, wsq_task *task) {
    spawn(&items[1]);
    return run_when_ready(ctx, task);
}

/* A worker fetches two tasks from the global queue, and then waits for the older one. A thief is
 * still copying that one out of the ring, so the ring has no room when the other one goes back. */
static void wait_beside_thief(void) {
    wsq_config config = {.min_interval = 1, .max_interval = 1};
    begin(2, config);
    wsqi_store_init(&ready, 0u);
    init(&items[1], run_when_ready);
    init(&items[0], run_launcher);
    items[1].waits = 2;
    spawn(&items[0]);
    for (int i = 2; i < TASKS; i++) spawn(&items[i]);
    wsqi_store_rel(&ready, 1u);
    explore_wait_quiet();
    for (int i = 0; i < TASKS; i++) explore_check(items[i].done);
    end();
}

/* ---- cancel ---- */

static wsq_poll run_child(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    wsqi_set(&it->letter, 1);
    return it->yields-- > 0 ? WSQ_YIELD : WSQ_DONE;
}

/* The child's memory is gone as soon as the wait returns, cancelled or not. */
static wsq_poll run_cancelled_parent(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task), *child = explore_malloc(sizeof *child);
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
    begin(1 + (unsigned)explore_choose(2), plain);
    init(&items[0], run_cancelled_parent);
    items[0].yields = explore_choose(2);
    spawn(&items[0]);
    spawn(&items[1]);
    explore_check(wsq_pool_shutdown(pool, WSQ_CANCEL) == WSQ_OK);
    for (int i = 0; i < 2; i++) {
        explore_check(wsq_task_done(&items[i].task));
        wsq_result result = wsq_task_wait(&items[i].task);
        explore_check(result == (items[i].done ? WSQ_OK : WSQ_ERR_CANCELLED));
    }
    explore_pool_end(pool);
}

/* A wake from outside while the pool stops: the task runs, or is cancelled, or was not reached. */
static void cancel_against_wake(void) {
    begin(1 + (unsigned)explore_choose(2), plain);
    init(&items[0], run_pending_once);
    spawn(&items[0]);
    explore_wait_quiet();
    explore_start(waker, &items[0].task);
    explore_check(wsq_pool_shutdown(pool, WSQ_CANCEL) == WSQ_OK);
    explore_wait_quiet();
    uint32_t state = items[0].task.state.v;
    explore_check(wsqi_task_is(state, WSQI_TASK_DONE));
    explore_check(items[0].done == !wsqi_task_cancelled(state));
    explore_check(pool->lanes[WSQ_NORMAL].incoming.v == NULL && pool->lanes[WSQ_NORMAL].ready == NULL);
    explore_pool_end(pool);
}

/* ---- runs inside tasks ---- */

static void spawn_inside(wsq_ctx ctx, void *arg) {
    (void)ctx;
    spawn(arg);
    if (explore_choose(2)) await(arg);
}

static wsq_poll run_with_run(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    explore_check(wsq_run(pool, spawn_inside, &items[1]) == WSQ_OK);
    it->done = 1;
    return WSQ_DONE;
}

/* What a run inside a task spawns is work of the pool's own: a drain waits for it. */
static void drain_against_run(void) {
    begin(1 + (unsigned)explore_choose(2), plain);
    init(&items[0], run_with_run);
    spawn(&items[0]);
    explore_pool_end(pool);
    explore_check(items[0].done && items[1].done);
}

/* ---- the caller runs ---- */

static wsq_config pumped(void) {
    wsq_config config = {.caller_runs = true};
    return config;
}

/* No thread but this one: everything runnable is found. */
static void pump_alone(void) {
    begin(1 + (unsigned)explore_choose(2), pumped());
    init(&items[1], run_pending_once);
    items[0].wakes = 1;
    items[0].yields = explore_choose(2);
    for (int i = 1; i >= 0; i--) {
        spawn(&items[i]);
        while (wsq_pool_run_one(pool)) {}
    }
    explore_check(items[0].done && items[1].done);
    wsq_pool_destroy(pool);
}

static void spawn_and_await(void *arg) {
    spawn(arg);
    await(arg);
}

/* Two threads wait: one of them works. */
static void two_pumps(void) {
    begin(1, pumped());
    explore_start(spawn_and_await, &items[0]);
    spawn_and_await(&items[1]);
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
    begin(1, pumped());
    init(&items[0], mode == WSQ_DRAIN ? run_item : run_pending_once);
    spawn(&items[0]);
    explore_start(await_all, NULL);
    explore_check(wsq_pool_shutdown(pool, mode) == WSQ_OK);
    explore_join();
    wsq_pool_destroy(pool);
}

static void wake_the_pump(void) {
    begin(1, pumped());
    init(&items[0], run_pending_once);
    spawn(&items[0]);
    if (explore_choose(2)) wsq_pool_run_one(pool);
    explore_start(waker, &items[0].task);
    if (items[0].runs == 1) await(&items[0]);
    else if (wsq_pool_run_one(pool)) wsq_wake(&items[0].task);
    explore_join();
    wsq_wake(&items[0].task);
    wsq_pool_destroy(pool);
    explore_check(items[0].done);
}

/* ---- counting ---- */

static void never_idle(void *arg) {
    (void)arg;
    for (int i = 0; i < 3; i++) explore_check(wsq_pool_pending(pool) > 0 || items[0].done);
}

/* Its children come and go while it lives. */
static wsq_poll run_spawner(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    if (++it->runs < TASKS) {
        spawn(&items[it->runs]);
        return WSQ_YIELD;
    }
    it->done = 1;
    return WSQ_DONE;
}

static void pending_tasks(void) {
    begin(2, plain);
    init(&items[0], run_spawner);
    spawn(&items[0]);
    explore_start(never_idle, NULL);
    end();
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
    return explore_end();
}
