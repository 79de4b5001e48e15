/* A wait inside a run inside a task, in the explorer: the thread is a guest there, and sleeps as the
 * worker that it is. */
#define WSQ_GUESTS 2
#include "explore_small.h"
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include "explore_pool.h"

static wsq_pool *pool, *abroad;
static wsq_task sleeper, holder;
static int runs, waited;
static const wsq_config plain;

static void waker(void *arg) {
    (void)arg;
    wsq_wake(&sleeper);
}

static wsq_poll pend_once(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    if (runs++ != 0) return WSQ_DONE;
    explore_start(waker, NULL);
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
    explore_random("nested: a wait in a run", in_the_same_pool, 2000);
    explore_random("nested: a wait in a run for a pinned task", for_a_pinned_task, 2000);
    explore_random("nested: a wait in a run in another pool", in_another_pool, 2000);
    return explore_end();
}
