/* Shutdown in the explorer: twice, against spawns, and where no thread but the callers is there to do it. */
#define WSQ_GUESTS 1
#include "explore_small.h"
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include "explore_steps.h"

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

/* Two threads spawn one task and fail: the pool is closed. Each puts it back as it was. */
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

/* ---- no threads ---- */

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

int main(void) {
    explore_random("more: the second shutdown", second_shutdown, 3500);
    explore_random("more: shutdown against spawn, no threads", shutdown_against_spawn, 3500);
    explore_random("more: refused twice", refused_twice, 2500);
    explore_random("more: two pumps", two_pumps, 3000);
    explore_random("more: cancel local tasks", cancel_local_tasks, 2000);
    explore_random("more: stopped against a pump", stop_against_pump, 3000);
    explore_random("more: a pump is claimed", pump_is_claimed, 2000);
    return explore_end();
}
