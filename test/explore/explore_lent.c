/* Threads that are lent, in the explorer: one after the other is the same worker. */
#define WSQ_GUESTS 1
#include "explore_small.h"
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include "explore_steps.h"

static int once = 1, twice = 2;
static bool stopping; /* read behind a refusal, which comes after it was set */

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

static void lone_lender(void *arg) {
    (void)arg;
    for (int i = 0; i < 3; i++) {
        wsq_result result = wsq_worker_enter(pool);
        explore_check(result == WSQ_OK || (result == WSQ_ERR_CLOSED && stopping));
        if (result == WSQ_ERR_CLOSED) return;
    }
}

static void dismisser(void *arg) {
    (void)arg;
    wsq_worker_dismiss(pool, 0);
}

/* A dismissal that comes when its thread has left is nobody's: the place is free for the next. */
static void dismissed_late(void) {
    begin_lent();
    stopping = false;
    explore_start(lone_lender, NULL);
    explore_start(dismisser, NULL);
    if (explore_choose(2)) explore_wait_quiet();
    wsq_worker_dismiss(pool, 0);
    explore_wait_quiet();
    wsq_worker_dismiss(pool, 0);
    stopping = true;
    cancels(NULL);
    explore_check(wsqi_get(&entered) == wsqi_get(&left));
    explore_pool_end(pool);
}

/* Nor does it close the place behind one that has left: the next one comes in. */
static void comes_in(void *arg) {
    (void)arg;
    explore_check(wsq_worker_enter(pool) == WSQ_OK);
}

static void dismissed_at_any_moment(void) {
    begin_lent();
    pool->spin_rounds = 0; /* a spinning thread gives way */
    explore_fiber *first = explore_start(comes_in, NULL);
    explore_wait_quiet();
    explore_fiber *other = explore_start(dismisser, NULL);
    wsqi_pause();
    wsq_worker_dismiss(pool, 0);
    explore_join_one(first);
    explore_join_one(other);
    explore_start(comes_in, NULL);
    explore_wait_quiet();
    cancels(NULL);
    explore_pool_end(pool);
}

/* A thread that leaves after the last task tells the thread that waits for the pool. */
static wsq_poll sends_itself_away(item *it) {
    (void)it;
    wsq_worker_dismiss(pool, 0);
    return WSQ_DONE;
}

static void last_one_leaves(void) {
    begin_lent();
    spawn(0, sends_itself_away);
    explore_start(lender, &once);
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    explore_check(items[0].done);
    explore_pool_end(pool);
}

int main(void) {
    explore_random("more: a dismissal that comes late", dismissed_late, 2000);
    explore_random("more: a lent thread against a stop", lent_against_stop, 2500);
    explore_random("more: lent threads", lent_threads, 2000);
    explore_exhaust("more: dismissed at any moment", dismissed_at_any_moment, 1);
    explore_random("more: the last one leaves", last_one_leaves, 1000);
    return explore_end();
}
