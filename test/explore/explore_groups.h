/* explore_groups.h - the tasks of explore_items.h in one group, futures, and a task that keeps a
 * group for itself until the pool stops. It comes after explore_small.h and wsq.h. */
#ifndef EXPLORE_GROUPS_H
#define EXPLORE_GROUPS_H

#include "explore_items.h"

static wsq_group group;

static inline void group_spawn(int i) {
    wsq_result result = wsq_group_spawn(&group, &items[i].task);
    explore_check(result == WSQ_OK || (result == WSQ_ERR_CANCELLED && wsq_group_cancelled(&group)) ||
                  (result == WSQ_ERR_CLOSED && wsqi_load_rlx(pool->phase) != WSQI_PHASE_RUN));
    if (result != WSQ_OK) items[i].cleaned = 1; /* it is ours */
}

static inline void begin_group(unsigned workers, wsq_config config) {
    begin(workers, config);
    explore_check(wsq_group_init(&group, pool) == WSQ_OK);
}

/* Every task was done, or cancelled, once, before the wait returned. */
static inline void check_group(int count) {
    for (int i = 0; i < count; i++) {
        explore_check(items[i].done + items[i].cleaned == 1);
        if (items[i].done) explore_check(wsqi_get(&items[i].letter) == 1);
    }
}

static inline void group_waiter(void *arg) {
    (void)arg;
    explore_check(wsq_group_wait(&group) == WSQ_OK);
}

static inline void canceller(void *arg) {
    (void)arg;
    wsq_group_cancel(&group);
}

/* A task waits for a group of its own. */
static inline wsq_poll run_parent(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    group_spawn(1);
    group_spawn(2);
    explore_check(wsq_group_wait(&group) == WSQ_OK);
    explore_check(wsqi_get(&items[1].letter) == 1 && wsqi_get(&items[2].letter) == 1);
    it->done = 1;
    return WSQ_DONE;
}

static int result_of[ITEMS]; /* plain */

static inline void *call(void *arg) {
    int *result = arg;
    wsqi_set(result, wsqi_get(result) + 1);
    return result;
}

static inline wsq_future *submit(int i) {
    wsq_future *future = NULL;
    explore_check(wsq_submit(pool, call, &result_of[i], &future) == WSQ_OK);
    return future;
}

static inline void get(wsq_future *future, int i) {
    void *result = NULL;
    explore_check(wsq_future_get(future, &result) == WSQ_OK);
    explore_check(result == &result_of[i] && wsqi_get(&result_of[i]) == 1);
}

static inline void begin_futures(unsigned workers, wsq_config config) {
    begin(workers, config);
    memset(result_of, 0, sizeof result_of);
}

static wsq_future *shared;

/* A task gets its own future, here if nobody stole it, and another task's, which it may have to
 * wait for. */
static inline wsq_poll run_getter(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    wsq_future *own = submit(1);
    if (explore_choose(2)) get(shared, 0), get(own, 1);
    else get(own, 1), get(shared, 0);
    it->done = 1;
    return WSQ_DONE;
}

/* A task that has a group for itself, as if on its stack: once its wait is over, whatever happens to
 * the pool, nobody touches the group again. */
static int kept;     /* how many tasks */
static bool lingers; /* it begins to wait when the pool stops, perhaps */

/* As a task that does something until then. */
static inline void linger(void) {
    for (int i = 0; i < 8 && wsqi_load_rlx(pool->phase) == WSQI_PHASE_RUN; i++) explore_wait_quiet();
}

static inline void keep(void) {
    wsq_group *own = explore_malloc(sizeof *own);
    explore_check(wsq_group_init(own, pool) == WSQ_OK);
    int ours = 0, done = 0;
    for (int i = 1; i <= kept; i++) {
        if (wsq_group_spawn(own, &items[i].task) == WSQ_OK) continue;
        items[i].cleaned = 1;
        ours++;
    }
    if (lingers) linger();
    wsq_result result = wsq_group_wait(own);
    for (int i = 1; i <= kept; i++) {
        explore_check(items[i].done + items[i].cleaned == 1);
        done += items[i].done;
    }
    explore_check(result == (done + ours == kept ? WSQ_OK : WSQ_ERR_CANCELLED));
    explore_free(own);
}

static inline wsq_poll run_keeper(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    keep();
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static inline void begin_keeper(int tasks) {
    wsq_config config = {.max_standins = explore_choose(2) ? 1 : WSQ_STANDINS_OFF};
    begin_group(1 + (unsigned)explore_choose(2), config);
    kept = tasks;
    lingers = false;
    items[0].task.fn = run_keeper;
}

static inline void end_keeper(void) {
    explore_check(wsq_pool_shutdown(pool, WSQ_CANCEL) == WSQ_OK);
    /* Others wait for such moments, too: one that lingers, reads old values, and blocks longer. */
    for (int i = 0; i < 8 || (i < 64 && items[0].done + items[0].cleaned == 0); i++)
        explore_wait_quiet();
    explore_check(items[0].done + items[0].cleaned == 1);
    explore_pool_end(pool);
}

/* It runs until the pool stops, if that is soon. */
static inline wsq_poll run_slowly(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    linger();
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

#endif /* EXPLORE_GROUPS_H */
