/* The end of a pool, in the explorer: when all its threads are still, waits whose end will never come return,
 * and a task that is queued after that is cancelled by the thread that queued it. */
#define WSQI_LANE_WORKERS 1 /* a lane of the global queue for each worker */
#include "explore_small.h"
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include "explore_items.h"

static void cancel_pool(void) { explore_check(wsq_pool_shutdown(pool, WSQ_CANCEL) == WSQ_OK); }

/* With the smallest stack a task that waits has no room for another one above it. */
static wsq_config some_standins(void) {
    wsq_config config = {.max_standins = explore_choose(2) ? 1 : WSQ_STANDINS_OFF};
    config.stack_size = explore_choose(4) == 0;
    return config;
}

/* A task that is woken at any moment of the shutdown, or after it, is over when both have returned; and a
 * thread that has woken it may wait for it. */
static void wakes_and_waits(void *arg) {
    int i = *(const int *)arg;
    send(i);
    wsq_result result = wsq_task_wait(&items[i].task);
    explore_check(result == (items[i].done ? WSQ_OK : WSQ_ERR_CANCELLED));
    explore_check(items[i].done + items[i].cleaned == 1);
}

static void woken_late(void) {
    wsq_config config = {.caller_runs = explore_choose(2) != 0};
    begin(1, config);
    items[0].waits = true;
    spawn(0);
    if (config.caller_runs) explore_check(wsq_pool_run_one(pool));
    else explore_wait_quiet();
    if (explore_choose(2)) wsq_task_set_worker(&items[0].task, 0);
    explore_fiber *other = explore_start(wakes_and_waits, (void *)&number[0]);
    cancel_pool();
    if (explore_choose(2)) explore_wait_quiet();
    explore_join_one(other);
    explore_check(items[0].done + items[0].cleaned == 1);
    explore_pool_end(pool);
}

/* Two threads wake one each, when the pool is over: one of them cancels both. */
static void two_woken_late(void) {
    begin(1, (wsq_config){.caller_runs = true});
    for (int i = 0; i < 2; i++) {
        items[i].waits = true;
        spawn(i);
        explore_check(wsq_pool_run_one(pool));
    }
    cancel_pool();
    for (int i = 0; i < 2; i++) explore_start(wakes_and_waits, (void *)&number[i]);
    explore_pool_end(pool);
}

/* A task waits for one that is pending, or held behind such a one; another task wakes that. When the wait
 * is over, the other one has not run, or what it woke is over. */
static bool sent_1, released; /* the explorer's own */

static wsq_poll run_awaiting(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    wsq_result result = wsq_task_wait(&items[it->sends].task);
    explore_check(result == WSQ_OK || result == WSQ_ERR_CANCELLED);
    int over = items[it->sends].done + items[it->sends].cleaned;
    explore_check(over == 1 || (result == WSQ_ERR_CANCELLED && !sent_1));
    released = over == 0;
    it->done = 1;
    return WSQ_DONE;
}

static wsq_poll run_waking(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    for (int i = (int)explore_choose(20); i > 0 && !wsq_cancelled(ctx); i--) wsqi_pause();
    explore_check(!released);
    send(1);
    sent_1 = true;
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static void init_awaiting(void) {
    sent_1 = released = false;
    items[1].waits = true;
    items[0].task.fn = run_awaiting;
    items[0].sends = 1;
    items[2].task.fn = run_waking;
}

static void begin_awaiting(wsq_config config) {
    begin(1 + (unsigned)explore_choose(2), config);
    init_awaiting();
    spawn(1);
    explore_wait_quiet();
}

static void end_awaiting(void) {
    if (explore_choose(2)) explore_wait_quiet();
    cancel_pool();
    for (int i = 0; i < ITEMS; i++) explore_check(items[i].done + items[i].cleaned <= 1);
    explore_check(!items[0].runs || items[0].done);
    explore_pool_end(pool);
}

static void wait_beside_a_wake(void) {
    begin_awaiting(some_standins());
    if (explore_choose(2)) {
        follow(3, 1);
        items[0].sends = 3;
        spawn(3);
    }
    spawn(0);
    spawn(2);
    end_awaiting();
}

/* A thread that was called goes on, and wakes what another one awaits: that wait must not return before. */
static wsq_poll run_waking_after(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    wsq_result result = wsq_task_wait(&items[3].task);
    explore_check(result != WSQ_OK || !released);
    if (result == WSQ_OK) send(1);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static wsq_poll run_lingering(wsq_ctx ctx, wsq_task *task) {
    for (int i = 10; i > 0 && !wsq_cancelled(ctx); i--) wsqi_pause();
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static void wait_beside_a_called_one(void) {
    wsq_config config = {.max_standins = WSQ_STANDINS_OFF};
    begin(3, config);
    init_awaiting();
    items[2].task.fn = run_waking_after;
    items[3].task.fn = run_lingering;
    spawn(1);
    explore_wait_quiet();
    spawn(0);
    explore_wait_quiet();
    spawn(3);
    spawn(2);
    end_awaiting();
}

/* A task waits for a group whose task is below it on the stack, and waits for one that never comes. */
static wsq_group group;

static wsq_poll run_group_awaiting(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    explore_check(wsq_group_wait(&group) == WSQ_ERR_CANCELLED);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static void wait_above_its_group(void) {
    wsq_config config = {.max_standins = WSQ_STANDINS_OFF};
    begin(1, config);
    wsq_group_init(&group, pool);
    init_awaiting();
    items[2].task.fn = run_group_awaiting;
    spawn(1);
    explore_check(wsq_group_spawn(&group, &items[0].task) == WSQ_OK);
    explore_wait_quiet();
    spawn(2);
    end_awaiting();
}

/* The wait is in a job that another thread has stolen: a worker, or one that is in a run. */
static void job_awaits(wsq_ctx ctx, wsq_job *job) {
    (void)job;
    (void)run_awaiting(ctx, &items[0].task);
}

static wsq_poll run_joining(wsq_ctx ctx, wsq_task *task) {
    wsq_job job = {0};
    wsq_fork(&ctx, &job, job_awaits);
    if (explore_choose(2)) explore_wait_quiet(); /* it is stolen */
    wsq_join(&ctx, &job);
    explore_check(items[0].done);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

/* It joins a job of its own, and so looks for others. */
static void job_lingers(wsq_ctx ctx, wsq_job *job) {
    (void)ctx, (void)job;
    for (int i = 0; i < 10; i++) wsqi_pause();
}

static void run_beside(wsq_ctx ctx, void *arg) {
    wsq_job job = {0};
    (void)arg;
    wsq_fork(&ctx, &job, job_lingers);
    if (explore_choose(2)) explore_wait_quiet();
    wsq_join(&ctx, &job);
}

static void guest(void *arg) {
    wsq_result result = wsq_run(pool, run_beside, arg); /* as a task, where a worker is the guest */
    explore_check(result == WSQ_OK || result == WSQ_ERR_CLOSED || result == WSQ_ERR_CANCELLED);
}

static void join_beside_a_wake(void) {
    begin_awaiting(some_standins());
    items[3].task.fn = run_joining;
    spawn(3);
    if (explore_choose(2)) spawn(2);
    explore_fiber *other = explore_choose(2) ? explore_start(guest, NULL) : NULL;
    if (explore_choose(2)) explore_wait_quiet();
    cancel_pool();
    if (other != NULL) explore_join_one(other);
    explore_check(!items[3].runs || items[3].done);
    explore_pool_end(pool);
}

/* A job ends as the pool stops: its thief knows that and calls the join, or the join sees the end. */
static wsqi_aptr joined; /* the job has begun */
static bool ends_last;

static void job_ends(wsq_ctx ctx, wsq_job *job) {
    (void)ctx;
    wsqi_store_rlx(&joined, job);
    if (ends_last) explore_meet(&gate, 2);
    if (ends_last) explore_wait_quiet();
    while (wsqi_load_rlx(&job->done) != WSQI_JOB_WAITED) wsqi_pause();
}

static wsq_poll run_joining_late(wsq_ctx ctx, wsq_task *task) {
    wsq_job job = {0};
    wsq_fork(&ctx, &job, job_ends);
    while (wsqi_load_rlx(&joined) == NULL) wsqi_pause();
    wsq_join(&ctx, &job);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static void join_beside_the_end(void) {
    wsq_config config = {.max_standins = WSQ_STANDINS_OFF};
    begin(2, config);
    wsqi_store_init(&joined, NULL);
    ends_last = explore_choose(2) != 0;
    items[0].task.fn = run_joining_late;
    spawn(0);
    while (wsqi_load_rlx(&joined) == NULL) wsqi_pause();
    if (ends_last) explore_meet(&gate, 2);
    cancel_pool();
    explore_check(items[0].done);
    explore_pool_end(pool);
}

/* Where the caller runs: the thread that pumps waits in the middle of a task, and is released; or a task
 * is left for the thread that shuts down. */
static void pumper(void *arg) {
    (void)arg;
    for (int i = 0; i < 3; i++) (void)wsq_pool_run_one(pool);
}

static void pumped_wait(void) {
    wsq_config config = {.caller_runs = true};
    begin(1 + (unsigned)explore_choose(2), config);
    init_awaiting();
    spawn(1);
    explore_check(wsq_pool_run_one(pool));
    spawn(0);
    if (explore_choose(2)) spawn(2);
    spawn(3);
    explore_fiber *other = explore_start(pumper, NULL);
    if (explore_choose(2)) explore_wait_quiet();
    cancel_pool();
    explore_join_one(other);
    explore_check(!items[0].runs || items[0].done);
    explore_check(items[3].done + items[3].cleaned == 1);
    explore_pool_end(pool);
}

/* Lent threads: one leaves, or was never there, with tasks in its queues. */
static void lent(void *arg) {
    (void)arg;
    (void)wsq_worker_enter(pool);
}

static void left_behind(void) {
    wsq_config config = {.lend_only = true};
    begin(2, config);
    for (int i = 0; i < 4; i++) {
        explore_key = explore_choose(2) ? 1 : 2;
        if (i < 2) wsq_task_set_worker(&items[i].task, (unsigned)i);
        spawn(i);
    }
    explore_key = 0;
    explore_fiber *other = explore_start(lent, NULL);
    if (explore_choose(2)) explore_wait_quiet();
    if (explore_choose(2)) wsq_worker_dismiss(pool, 0);
    cancel_pool();
    explore_join_one(other);
    for (int i = 0; i < 4; i++) explore_check(items[i].done + items[i].cleaned == 1);
    explore_pool_end(pool);
}

/* One that leaves has woken what the other one awaits, when the pool has begun to stop. */
static wsq_poll run_waking_late(wsq_ctx ctx, wsq_task *task) {
    wsq_worker_dismiss(pool, wsq_worker_index(ctx));
    while (!wsq_cancelled(ctx)) wsqi_pause();
    return run_waking(ctx, task);
}

static void left_after_a_wake(void) {
    wsq_config config = {.lend_only = true};
    begin(2, config);
    init_awaiting();
    items[2].task.fn = run_waking_late;
    wsq_task_set_priority(&items[1].task, WSQ_HIGH);
    spawn(1);
    spawn(0);
    explore_start(lent, NULL);
    explore_wait_quiet();
    explore_start(lent, NULL);
    spawn(2);
    cancel_pool();
    explore_pool_end(pool);
}

/* A stand-in that is not needed any more lies down, or gets up, meanwhile. */
static wsq_poll run_blocking(wsq_ctx ctx, wsq_task *task) {
    wsq_block_begin(ctx);
    if (explore_choose(2)) explore_wait_quiet();
    wsq_block_end(ctx);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static void standin_lies_down(void) {
    wsq_config config = {.max_standins = 1};
    begin(1, config);
    items[0].task.fn = items[2].task.fn = run_blocking;
    for (int i = 0; i < 4; i++) spawn(i);
    if (explore_choose(2)) explore_wait_quiet();
    cancel_pool();
    for (int i = 0; i < 4; i++) explore_check(items[i].done + items[i].cleaned == 1);
    explore_pool_end(pool);
}

int main(void) {
    explore_random("still: woken late", woken_late, 3000);
    explore_random("still: two woken late", two_woken_late, 2000);
    explore_random("still: a wait beside a wake", wait_beside_a_wake, 3000);
    explore_random("still: a wait beside a called one", wait_beside_a_called_one, 3000);
    explore_random("still: a wait above its group", wait_above_its_group, 1000);
    explore_random("still: a join beside a wake", join_beside_a_wake, 3000);
    explore_random("still: a join beside the end", join_beside_the_end, 3000);
    explore_random("still: a wait that pumps", pumped_wait, 2500);
    explore_random("still: left behind", left_behind, 2000);
    explore_random("still: left after a wake", left_after_a_wake, 3000);
    explore_random("still: a stand-in lies down", standin_lies_down, 1500);
    return explore_end();
}
