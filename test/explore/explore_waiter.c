/* Waiters in the explorer: whatever the worker goes on with, and whatever becomes of the pool, a
 * thread that waits for the end of a task is told, once. */
#define WSQ_GUESTS 1
#include "explore_small.h"
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include "explore_steps.h"

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

/* A thread that has said that it waits is held up; then the task ends, and the pool is over. */
static wsq_poll until_waited_for(item *it) {
    while ((wsqi_load_rlx(&it->task.state) & WSQI_TASK_AWAITED) == 0) wsqi_pause();
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
    pool->spin_rounds = 0; /* a spinning thread gives way */
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
    while (wsqi_bucket_for(pool, &it->task) != &pool->waiting[WSQI_BUCKETS - 1]) it++;
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
    explore_random("more: done before something long", done_before_long, 3500);
    explore_random("more: done inside a wait", done_inside, 3500);
    explore_random("more: done inside a group", done_inside_group, 2500);
    explore_random("more: cancel against wait", cancel_against_wait, 3500);
    explore_random("more: cancel against a wait inside", cancel_wait_inside, 3000);
    explore_random("more: over while one waits", over_while_waiting, 3000);
    explore_exhaust("more: over at any moment", task_over_at_any_moment, 1);
    explore_exhaust("more: a group over at any moment", group_over_at_any_moment, 1);
    explore_random("more: over before one waits", over_before_waiting, 3000);
    explore_random("more: cancelled in the last bucket", cancel_in_the_last_bucket, 2000);
    explore_random("more: stopped, and left behind", stop_and_leave_behind, 1500);
    return explore_end();
}
