/* A pool without threads, in the explorer: its callers do the work, in turns, and one sleeps for all. */
#include "explore_small.h"
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include "explore_groups.h"

/* Two threads wait, and take turns at the work; a timer is all that is left to do. */
static void callers_wait(void) {
    wsq_config config = {.caller_runs = true};
    begin_futures(1 + (unsigned)explore_choose(2), config);
    wsq_group_init(&group, pool);
    items[0].waits = true;
    spawn(0);
    set_timer(0, 20000);
    group_spawn(1);
    group_spawn(2);
    explore_start(group_waiter, NULL);
    get(submit(0), 0);
    explore_check(wsq_task_wait(&items[0].task) == WSQ_OK);
    explore_pool_end(pool);
    check_group(3);
}

/* All of it in tasks, one above the other. */
static void callers_wait_inside(void) {
    wsq_config config = {.caller_runs = true};
    begin_futures(1 + (unsigned)explore_choose(2), config);
    wsq_group_init(&group, pool);
    items[0].task.fn = run_parent;
    items[3].task.fn = run_getter;
    shared = submit(0);
    spawn(0);
    spawn(3);
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    explore_check(items[0].done && items[3].done);
    explore_pool_end(pool);
}

/* Without threads one sleeps for all workers, in whatever wait. */
static void pinned_where_the_caller_runs(void) {
    begin(2, (wsq_config){.caller_runs = true});
    for (int i = 0; i < 2; i++) {
        items[i].waits = true;
        explore_check(wsq_spawn_on(pool, (unsigned)i, &items[i].task) == WSQ_OK);
    }
    items[1].due = explore_choose(2) ? wsqi_clock_ns() + 1000 : 0;
    if (items[1].due) explore_check(wsq_timer_set(pool, &items[1].timer, &items[1].task, 1000) == WSQ_OK);
    else explore_start(send_1, NULL);
    explore_start(send_0, NULL);
    if (explore_choose(2)) explore_check(wsq_task_wait(&items[1].task) == WSQ_OK);
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    explore_wait_quiet();
    for (int i = 0; i < 2; i++) explore_check(items[i].done);
    explore_pool_end(pool);
}

/* One thread runs the last task, and leaves; another one waits for the pool, and comes when that is over. */
static void run_one(void *arg) {
    (void)arg;
    while (wsq_pool_run_one(pool)) {}
}

static void waits_beside_the_last(void) {
    begin(2 + (unsigned)explore_choose(2), (wsq_config){.caller_runs = true});
    spawn(0);
    explore_start(run_one, NULL);
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    explore_join();
    explore_check(items[0].done);
    explore_pool_end(pool);
}

/* Without threads what it keeps may lie in the queue of a worker whose turn it is not. */
static void pump_all(void *arg) {
    (void)arg;
    wsq_result result = wsq_pool_wait(pool);
    explore_check(result == WSQ_OK || result == WSQ_ERR_CANCELLED);
}

static void keeper_without_threads(void) {
    begin(2, (wsq_config){.caller_runs = true});
    items[0].task.fn = run_keeper;
    kept = 3;
    lingers = false;
    spawn(0);
    explore_start(pump_all, NULL);
    end_keeper();
}

/* The same for a task that is pinned to that worker, which is about to run it. */
static wsq_poll run_pinning(wsq_ctx ctx, wsq_task *task) {
    bool spawned = true;
    (void)ctx;
    for (int i = 1; i <= 2; i++) spawned = spawned && wsq_spawn_on(pool, 1, &items[i].task) == WSQ_OK;
    if (spawned) {
        (void)wsq_task_wait(&items[2].task);
        explore_check(items[2].done + items[2].cleaned == 1);
    }
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static void pinned_elsewhere_without_threads(void) {
    begin(2, (wsq_config){.caller_runs = true});
    items[0].task.fn = run_pinning;
    items[1].task.fn = run_slowly;
    spawn(0);
    explore_start(pump_all, NULL);
    if (explore_choose(2)) explore_wait_quiet();
    end_keeper();
}

/* One task waits for a group that keeps another one, above a task of its own group; what pumps for both
 * is one thread, whichever workers they are on. */
static wsq_poll run_above(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    explore_check(wsq_group_wait(&group) == WSQ_ERR_CANCELLED);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static wsq_group kept_group;

static wsq_poll run_below(wsq_ctx ctx, wsq_task *task) {
    unsigned other = 1 - wsq_worker_index(ctx);
    items[1].task.fn = run_above;
    items[2].waits = true;
    if (wsq_group_spawn(&kept_group, &items[2].task) == WSQ_OK) {
        (void)wsq_spawn_on(pool, other, &items[1].task);
        explore_check(wsq_group_wait(&kept_group) == WSQ_ERR_CANCELLED);
    }
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static void waits_above_each_other(void) {
    begin_group(2, (wsq_config){.caller_runs = true});
    wsq_group_init(&kept_group, pool);
    items[0].task.fn = run_below;
    group_spawn(0);
    explore_start(pump_all, NULL);
    if (explore_choose(2)) explore_wait_quiet();
    end_keeper();
}

/* The thread that sleeps for all is called where it sleeps: a group has one task more, which is refused. */
static void refused(void *arg) {
    (void)arg;
    explore_check(wsq_group_spawn(&group, &items[0].task) != WSQ_OK);
}

static void called_where_it_sleeps(void) {
    begin_group(1, (wsq_config){.caller_runs = true});
    pool->spin.rounds = 0; /* a spinning thread gives way */
    items[0].waits = true;
    spawn(0);
    explore_check(wsq_pool_run_one(pool));
    explore_start(refused, NULL);
    wsqi_pause();
    explore_check(wsq_group_wait(&group) == WSQ_OK);
    explore_check(wsq_pool_shutdown(pool, WSQ_CANCEL) == WSQ_OK);
    explore_pool_end(pool);
}

int main(void) {
    explore_random("compose: callers wait", callers_wait, 2000);
    explore_random("compose: callers wait inside", callers_wait_inside, 2000);
    explore_random("compose: pinned where the caller runs", pinned_where_the_caller_runs, 1500);
    explore_random("caller: waits beside the last task", waits_beside_the_last, 1500);
    explore_random("compose: a group on a stack, no threads", keeper_without_threads, 2000);
    explore_random("compose: pinned elsewhere, no threads", pinned_elsewhere_without_threads, 1500);
    explore_random("compose: waits above each other, no threads", waits_above_each_other, 1500);
    explore_exhaust("compose: called where it sleeps", called_where_it_sleeps, 1);
    return explore_end();
}
