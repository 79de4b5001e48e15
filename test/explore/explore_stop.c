/* A pool that stops, in the explorer. Tasks keep groups and futures on their stacks, and wait for them: once such
 * a wait is over, whatever happens to the pool, nobody touches them again. And a shutdown twice, against spawns,
 * and where no thread but the callers is there to do it. */
#include "explore_small.h"
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include "explore_groups.h"

static wsq_group other_group;

static void keeper_against_cancel(void) {
    begin_keeper(2);
    items[1].task.fn = run_slowly;
    spawn(0);
    if (explore_choose(2)) explore_wait_quiet();
    end_keeper();
}

/* Its task waits for a group with a task that is never woken: that wait ends first. */
static void wait_in_vain(wsq_group *one, int i) {
    if (wsq_group_spawn(one, &items[i].task) == WSQ_OK)
        explore_check(wsq_group_wait(one) == WSQ_ERR_CANCELLED);
}

static wsq_poll run_kept(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    wait_in_vain(&group, 2);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static void keeper_of_keeper(void) {
    begin_keeper(1);
    items[1].task.fn = run_kept;
    items[2].waits = true;
    spawn(0);
    if (explore_choose(2)) explore_wait_quiet();
    end_keeper();
}

/* The same in a job that was stolen: its join is no reason to wait for ever. */
static void job_kept(wsq_ctx ctx, wsq_job *job) {
    (void)ctx, (void)job;
    wait_in_vain(&other_group, 3);
}

static wsq_poll run_joining(wsq_ctx ctx, wsq_task *task) {
    wsq_job job = {0};
    wsq_fork(&ctx, &job, job_kept);
    if (explore_choose(2)) explore_wait_quiet(); /* it is stolen */
    wsq_join(&ctx, &job);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

/* Threads that wait for that task, and for one that never ends. */
static wsq_poll run_above_join(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    group_spawn(1);
    group_spawn(2);
    (void)wsq_group_wait(&group);
    explore_check(items[1].done + items[1].cleaned == 1);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static void keeper_of_a_join(void) {
    begin_keeper(1);
    explore_check(wsq_group_init(&other_group, pool) == WSQ_OK);
    if (explore_choose(2)) items[0].task.fn = run_above_join;
    items[1].task.fn = run_joining;
    items[2].waits = items[3].waits = true;
    spawn(0);
    if (explore_choose(2)) explore_wait_quiet();
    end_keeper();
}

/* The same above a task that waits for another. */
static wsq_poll run_below(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    if (wsq_spawn(pool, &items[3].task) != WSQ_OK) items[3].cleaned = 1;
    explore_check(wsq_task_wait(&items[4].task) != WSQ_OK);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static void keeper_of_what_is_below(void) {
    begin_keeper(1);
    items[1].task.fn = run_below;
    items[2].waits = items[4].waits = true;
    items[3].task.fn = run_kept;
    spawn(4);
    spawn(0);
    if (explore_choose(4)) explore_wait_quiet();
    end_keeper();
}

/* The same in what a task or a future waits for. */
static void *call_in_vain(void *arg) {
    wait_in_vain(&group, 2);
    return arg;
}

static wsq_poll run_hoping(wsq_ctx ctx, wsq_task *task) {
    wsq_future *future = NULL;
    (void)ctx;
    if (explore_choose(2)) {
        if (wsq_spawn(pool, &items[1].task) != WSQ_OK) items[1].cleaned = 1;
        else (void)wsq_task_wait(&items[1].task);
        explore_check(items[1].done + items[1].cleaned == 1);
    } else if (wsq_submit(pool, call_in_vain, NULL, &future) == WSQ_OK) {
        if (explore_choose(2)) explore_wait_quiet(); /* it is stolen */
        (void)wsq_future_get(future, NULL);
    }
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static void wait_for_keeper(void) {
    begin_keeper(0);
    items[0].task.fn = run_hoping;
    items[1].task.fn = run_kept;
    items[2].waits = true;
    spawn(0);
    if (explore_choose(2)) explore_wait_quiet();
    end_keeper();
}

/* Beside it a thread from outside wakes a task, and so cancels whatever is in the global queues. */
static void send_late(void *arg) {
    (void)arg;
    linger();
    send(3);
}

static void begin_wakes(void) {
    begin_keeper(2);
    for (int i = 1; i <= 2; i++) wsq_task_set_priority(&items[i].task, WSQ_LOW);
    items[3].waits = lingers = true;
    spawn(3);
    explore_wait_quiet();
}

static void keeper_beside_wakes(void) {
    begin_wakes();
    spawn(0);
    explore_start(send_late, NULL);
    end_keeper();
}

/* The same where a thread from outside keeps it; or waits for a task alone. */
static void keep_outside(void *arg) {
    (void)arg;
    if (explore_choose(2)) {
        keep();
    } else if (wsq_spawn(pool, &items[1].task) == WSQ_OK) {
        linger();
        (void)wsq_task_wait(&items[1].task);
        explore_check(items[1].done + items[1].cleaned == 1);
    }
    items[0].done = 1;
}

static wsq_poll run_lingering(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    linger();
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static void keeper_outside_beside_wakes(void) {
    begin_wakes();
    items[4].task.fn = run_lingering; /* while it runs, what is kept stays in the queue */
    spawn(4);
    explore_start(keep_outside, NULL);
    explore_start(send_late, NULL);
    end_keeper();
}

/* What a future writes lies on the stack of the thread that waits for it: no more once that wait is over. */
static wsq_poll run_asking(wsq_ctx ctx, wsq_task *task) {
    int *result = explore_malloc(sizeof *result);
    wsq_future *future = NULL;
    wsqi_set(result, 0);
    if (wsq_submit(pool, call, result, &future) == WSQ_OK) {
        explore_meet(&gate, 2);
        for (int i = explore_choose(20); i > 0 && !wsq_cancelled(ctx); i--) wsqi_pause();
        wsq_result outcome = wsq_future_get(future, NULL);
        explore_check(outcome == WSQ_OK || outcome == WSQ_ERR_CANCELLED);
        explore_check(wsqi_get(result) == (outcome == WSQ_OK));
    }
    explore_free(result);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static void get_inside_against_cancel(void) {
    wsq_config config = {.max_standins = explore_choose(2) ? 1 : WSQ_STANDINS_OFF};
    begin_futures(1 + (unsigned)explore_choose(2), config);
    items[0].task.fn = run_asking;
    spawn(0);
    explore_meet(&gate, 2); /* now the pool stops */
    end_keeper();
}

/* Two stand-ins, one for a worker that waits and one for the first of them. The thread that stops the pool
 * would have heard of neither without the barrier. */
static wsq_poll run_awaiting(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    explore_check(wsq_task_wait(&items[0].task) == WSQ_ERR_CANCELLED);
    it->done = 1;
    return WSQ_DONE;
}

static void unheard_of(void) {
    begin(1, (wsq_config){.max_standins = 2});
    items[0].waits = true;
    items[1].task.fn = items[2].task.fn = run_awaiting;
    for (int i = 0; i < 3; i++) spawn(i);
    explore_wait_quiet();
    explore_check(wsq_pool_shutdown(pool, WSQ_CANCEL) == WSQ_OK);
    for (int i = 1; i < 3; i++) explore_check(items[i].done);
    explore_pool_end(pool);
}

/* ---- a function blocks elsewhere ---- */

/* A pool that stops while a function of it blocks elsewhere, in a wait in another pool or in the system,
 * until a task is cancelled that is queued behind it: a stand-in does that. */

static wsq_pool *other;
static int cleaned; /* the gate of 0 and of what ends its call */
static int started; /* 0 has */

/* Task 1, in the other pool: what it waits for is cancelled. */
static wsq_poll run_there(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    wsq_result result = wsq_task_wait(&items[2].task);
    explore_check(result == (items[2].cleaned ? WSQ_ERR_CANCELLED : WSQ_OK));
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

/* Task 0, when its pool stops, or just before. */
static wsq_poll run_waiting(wsq_ctx ctx, wsq_task *task) {
    for (int i = explore_choose(8) ? -1 : 20; i != 0 && !wsq_cancelled(ctx); i--) wsqi_pause();
    explore_check(wsq_spawn(other, &items[1].task) == WSQ_OK);
    explore_check(wsq_task_wait(&items[1].task) == WSQ_OK);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static wsq_poll run_blocking(wsq_ctx ctx, wsq_task *task) {
    started = 1;
    for (int i = explore_choose(8) ? -1 : 20; i != 0 && !wsq_cancelled(ctx); i--) wsqi_pause();
    wsq_block_begin(ctx);
    explore_meet(&cleaned, 2);
    wsq_block_end(ctx);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static wsq_poll clean_meeting(wsq_task *task) {
    if (started) explore_meet(&cleaned, 2);
    return clean_item(task);
}

/* Task 2, where it runs after all. */
static wsq_poll run_meeting(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    if (started) explore_meet(&cleaned, 2);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static void stops_beside(wsq_poll (*fn)(wsq_ctx ctx, wsq_task *task), bool waits) {
    wsq_task *both[] = {&items[0].task, &items[2].task};
    wsq_config config = {.max_standins = 1};
    cleaned = started = 0;
    begin(1, config);
    other = waits ? explore_pool_make(1, config) : NULL;
    items[0].task.fn = fn;
    items[1].task.fn = run_there;
    if (!waits) items[2].task.fn = run_meeting;
    if (!waits) wsq_task_set_cleanup(&items[2].task, clean_meeting);
    explore_check(wsq_spawn_batch(pool, both, 2) == WSQ_OK);
    explore_check(wsq_pool_shutdown(pool, WSQ_CANCEL) == WSQ_OK);
    explore_check(items[2].cleaned + items[2].done == 1);
    if (waits) wsq_pool_destroy(other);
    explore_pool_end(pool);
}

static void waits_in_another_pool(void) {
    stops_beside(run_waiting, true);
}

static void blocks_in_the_system(void) {
    stops_beside(run_blocking, false);
}

/* ---- a worker sleeps in the wait of a job ---- */

static wsq_task forker, never;

static wsq_poll pends(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    return WSQ_PENDING;
}

static void wait_stolen(wsq_ctx ctx, wsq_job *job) {
    (void)ctx, (void)job;
    explore_check(wsq_task_wait(&never) == WSQ_ERR_CANCELLED);
}

static wsq_poll forks(wsq_ctx ctx, wsq_task *task) {
    wsq_job job = {.fn = NULL};
    (void)task;
    wsq_fork(&ctx, &job, wait_stolen);
    wsqi_pause();
    wsq_join(&ctx, &job);
    return WSQ_DONE;
}

/* S never counts more idle threads than there are bits: a thread that takes one from S finds a bit. */
static void check_places(void) {
    uint64_t bits = 0;
    for (unsigned w = 0; w < pool->bitmap.words; w++) bits |= pool->bitmap.sleepers[w].v;
    explore_check(wsqi_idle(pool->permits.v) <= (unsigned)__builtin_popcountll(bits));
}

/* The worker that steals the job sleeps in its wait; the pool stops; when the job is over, it searches
 * on, and sleeps again. */
static void sleep_again(void) {
    const wsq_config config = {.max_standins = WSQ_STANDINS_OFF};
    wsq_task_init(&forker, forks);
    wsq_task_init(&never, pends);
    pool = explore_pool_make(2, config);
    explore_check(wsq_spawn(pool, &never) == WSQ_OK);
    explore_check(wsq_spawn(pool, &forker) == WSQ_OK);
    if (explore_choose(4)) explore_wait_quiet();
    explore_check(wsq_pool_shutdown(pool, WSQ_CANCEL) == WSQ_OK);
    check_places();
    explore_pool_end(pool);
}

/* ---- shutdowns against each other and against spawns ---- */

static void cancels(void *arg) {
    (void)arg;
    explore_check(wsq_pool_shutdown(pool, WSQ_CANCEL) == WSQ_OK);
}

/* A shutdown that finds another at it returns when everything is decided. */
static void second_shutdown(void) {
    begin(1 + (unsigned)explore_choose(2), plain);
    spawn(0);
    spawn(1);
    explore_start(cancels, NULL);
    cancels(NULL);
    for (int i = 0; i < 2; i++) explore_check(wsq_task_done(&items[i].task));
    explore_pool_end(pool);
}

static wsq_result late_result;

static void late_spawner(void *arg) {
    (void)arg;
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
    explore_check(wsq_task_wait(&items[0].task) == WSQ_OK);
}

/* Two threads that want to work for the same pool. */
static void two_pumps(void) {
    wsq_config config = {.caller_runs = true};
    begin(1, config);
    spawn(0);
    spawn(1);
    explore_start(pumper, NULL);
    explore_start(waiter_0, NULL);
    explore_check(wsq_task_wait(&items[1].task) == WSQ_OK);
    explore_join();
    explore_check(items[0].done && items[1].done);
    wsq_pool_destroy(pool);
}

/* No thread but this one: what its worker has queued is cancelled by the shutdown. */
static wsq_poll spawns_two(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    for (int i = 1; i <= 2; i++) spawn(i);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static void cancel_local_tasks(void) {
    wsq_config config = {.caller_runs = true};
    begin(1, config);
    items[0].task.fn = spawns_two;
    spawn(0);
    explore_check(wsq_pool_run_one(pool));
    cancels(NULL);
    for (int i = 0; i < 3; i++) explore_check(wsq_task_done(&items[i].task));
    explore_pool_end(pool);
}

/* One thread works for the pool while another one stops it. */
static void stop_against_pump(void) {
    wsq_config config = {.caller_runs = true};
    begin(1, config);
    for (int i = 0; i < 4; i++) spawn(i);
    explore_fiber *fiber = explore_start(pumper, NULL);
    cancels(NULL);
    explore_join_one(fiber);
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
    explore_fiber *fiber = explore_start(pumps_once, NULL);
    wsqi_wait wait;
    wsqi_wait_begin(&wait, pool, pool, WSQ_FOREVER);
    for (wsqi_wait_listen(&wait); !wsqi_pump_enter(pool); wsqi_wait_listen(&wait))
        wsqi_wait_park(&wait);
    wsqi_wait_end(&wait);
    wsqi_pump_leave(pool); /* as at first */
    explore_join_one(fiber);
    explore_pool_end(pool);
}

int main(void) {
    explore_random("compose: a group on a stack against cancel", keeper_against_cancel, 2000);
    explore_random("compose: groups on two stacks", keeper_of_keeper, 2000);
    explore_random("compose: a group below a join", keeper_of_a_join, 2000);
    explore_random("compose: a group below a wait", keeper_of_what_is_below, 2000);
    explore_random("compose: waits for who has a group", wait_for_keeper, 2000);
    explore_random("compose: a group beside wakes", keeper_beside_wakes, 1500);
    explore_random("compose: a group outside beside wakes", keeper_outside_beside_wakes, 2000);
    explore_random("compose: a future on a stack against cancel", get_inside_against_cancel, 2000);
    explore_random("compose: stand-ins unheard of", unheard_of, 1000);
    explore_random("abroad: waits in another pool", waits_in_another_pool, 2000);
    explore_random("abroad: blocks in the system", blocks_in_the_system, 2000);
    explore_random("stop: a worker sleeps again", sleep_again, 4000);
    explore_random("more: the second shutdown", second_shutdown, 3500);
    explore_random("more: shutdown against spawn, no threads", shutdown_against_spawn, 3500);
    explore_random("more: refused twice", refused_twice, 2500);
    explore_random("more: two pumps", two_pumps, 3000);
    explore_random("more: cancel local tasks", cancel_local_tasks, 2000);
    explore_random("more: stopped against a pump", stop_against_pump, 3000);
    explore_random("more: a pump is claimed", pump_is_claimed, 2000);
    return explore_end();
}
