/* Futures in the explorer: got, dropped, followed, from outside and inside tasks, against shutdown; and
 * their memory, which the next one uses. */
#define WSQI_FUTURE_BATCH 1 /* so that each soon goes to another thread */
#include "explore_small.h"
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include "explore_groups.h"

/* Their memory is used again: the second takes what the first left, or a third thread. */
static void getter(void *arg) {
    int i = *(const int *)arg;
    get(submit(i), i);
}

static void futures_from_outside(void) {
    begin_futures(1 + (unsigned)explore_choose(2), plain);
    explore_start(getter, (void *)(uintptr_t)&number[1]);
    get(submit(0), 0);
    get(submit(2), 2);
    end(0);
}

static void dropper(void *arg) { wsq_future_drop(arg); }

static void drop_against_run(void) {
    begin_futures(1 + (unsigned)explore_choose(2), plain);
    explore_start(dropper, submit(0));
    wsq_future *future = submit(1);
    while (explore_choose(4) && !wsq_future_done(future)) wsqi_pause();
    if (wsq_future_done(future)) explore_check(wsqi_get(&result_of[1]) == 1);
    get(future, 1);
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    explore_check(result_of[0] == 1);
    end(0);
}

static wsq_poll run_then(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    explore_check(wsqi_get(&result_of[0]) == 1);
    explore_check(wsq_future_done(shared));
    get(shared, 0);
    it->done = 1;
    return WSQ_DONE;
}

static void then_against_run(void) {
    begin_futures(1 + (unsigned)explore_choose(2), plain);
    items[0].task.fn = run_then;
    shared = submit(0);
    explore_check(wsq_future_then(shared, &items[0].task) == WSQ_OK);
    explore_check(wsq_task_wait(&items[0].task) == WSQ_OK);
    end(1);
}

static wsq_poll run_next(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    explore_check(wsqi_get(&result_of[1]) == 1);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

/* The next call takes the memory of the one that is over, and is followed, too. */
static wsq_poll get_and_follow_next(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    get(shared, 0);
    shared = submit(1);
    explore_check(wsq_future_then(shared, &items[1].task) == WSQ_OK);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

/* Just before the first is linked. */
static void hold_back(void *user, wsq_event event, unsigned worker, const void *subject, uint64_t value) {
    (void)user, (void)worker, (void)value;
    if (event == WSQ_EVENT_SPAWN && subject == &items[0].task) explore_slow(16);
}

/* A thread has waited for a moment before: the end of the future tells the task that follows, which gives
 * the future back while it is still being followed. */
static void then_after_a_look(void) {
    static const wsq_hooks hooks = {.event = hold_back};
    begin_futures(1 + (unsigned)explore_choose(2), (wsq_config){.hooks = &hooks});
    items[0].task.fn = get_and_follow_next;
    items[1].task.fn = run_next;
    wsq_future *future = shared = submit(0);
    bool follows = wsq_future_get_for(future, 1000000, NULL) == WSQ_ERR_TIMEOUT;
    if (follows) explore_check(wsq_future_then(future, &items[0].task) == WSQ_OK);
    explore_slow(0);
    while (wsq_pool_wait(pool) != WSQ_OK) {} /* a step may take longer than it waits for a circle */
    if (follows) get(shared, 1);
    end(follows ? 2 : 0);
}

static void get_inside(void) {
    wsq_config config = {.max_standins = explore_choose(2) ? 1 : WSQ_STANDINS_OFF};
    begin_futures(1 + (unsigned)explore_choose(2), config);
    items[0].task.fn = run_getter;
    shared = submit(0);
    spawn(0);
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    end(1);
}

/* What it has run itself leaves its place in the queue behind, until that is full. */
static wsq_poll run_many(wsq_ctx ctx, wsq_task *task) {
    wsq_future *futures[ITEMS];
    bool rising = explore_choose(2);
    (void)ctx;
    for (int i = 1; i < ITEMS; i++) futures[i] = submit(i);
    if (explore_choose(2)) spawn(1);
    else items[1].done = 1;
    for (int i = 1; i < ITEMS; i++) get(futures[rising ? i : ITEMS - i], rising ? i : ITEMS - i);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static void many_inside(void) {
    wsq_config config = {.order = explore_choose(2) ? WSQ_LIFO : WSQ_FIFO};
    begin_futures(1 + (unsigned)explore_choose(2), config);
    items[0].task.fn = run_many;
    spawn(0);
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    end(2);
}

static void get_against_shutdown(void) {
    begin_futures(1 + (unsigned)explore_choose(2), plain);
    void *result = NULL;
    wsq_future *future = submit(0);
    explore_check(wsq_pool_shutdown(pool, explore_choose(2) ? WSQ_CANCEL : WSQ_DRAIN) == WSQ_OK);
    wsq_result outcome = wsq_future_get(future, &result);
    explore_check(outcome == (result_of[0] ? WSQ_OK : WSQ_ERR_CANCELLED));
    explore_pool_end(pool);
}

static void go_call(void *arg) { call(arg); }

static void go(void) {
    begin_futures(1 + (unsigned)explore_choose(2), plain);
    if (explore_choose(2)) explore_wait_quiet(); /* all sleep: the second call wakes one, too */
    for (int i = 0; i < 3; i++) explore_check(wsq_go(pool, go_call, &result_of[i]) == WSQ_OK);
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    for (int i = 0; i < 3; i++) explore_check(wsqi_get(&result_of[i]) == 1);
    end(0);
}

/* Its memory is free already, so the future that it waits for is in the same place. */
static void go_get(void *arg) {
    (void)arg;
    wsq_future *future = submit(1);
    /* Another worker may begin it. */
    while (explore_choose(8) && wsqi_future_open(wsqi_load_rlx(&future->task.state))) wsqi_pause();
    get(future, 1);
}

static void go_gets(void) {
    begin_futures(2, (wsq_config){.order = explore_choose(4) ? WSQ_FIFO : WSQ_LIFO});
    explore_check(wsq_go(pool, go_get, NULL) == WSQ_OK);
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    explore_check(wsqi_get(&result_of[1]) == 1);
    end(0);
}

/* It waits for itself: that is refused, and the handle stays. */
static void *get_itself(void *arg) {
    explore_check(wsq_future_get(shared, NULL) == WSQ_ERR_INVALID);
    explore_check(wsqi_load_rlx(&shared->references) == 2);
    return arg;
}

static void own_get(void) {
    void *result = NULL;
    begin_futures(1 + (unsigned)explore_choose(2), plain);
    explore_check(wsq_submit(pool, get_itself, &result_of[1], &shared) == WSQ_OK);
    if (explore_choose(2)) explore_check(wsq_pool_wait(pool) == WSQ_OK);
    while (!wsq_future_done(shared)) wsqi_pause();
    explore_check(wsq_future_get(shared, &result) == WSQ_OK && result == &result_of[1]);
    end(0);
}

/* ---- used again ---- */

static int results[4]; /* plain */

static void *bump(void *arg) {
    int *result = arg;
    wsqi_set(result, wsqi_get(result) + 1);
    return result;
}

static void submit_and_get(int i) {
    wsq_future *future = NULL;
    void *result = NULL;
    explore_check(wsq_submit(pool, bump, &results[i], &future) == WSQ_OK);
    explore_check(wsq_future_get(future, &result) == WSQ_OK);
    explore_check(result == &results[i] && wsqi_get(&results[i]) == 1);
}

static void submitter(void *arg) {
    (void)arg;
    for (int i = 2; i < 4; i++) submit_and_get(i);
}

/* The memory of one that is over is the next one's. */
static void futures_come_back(void) {
    begin(1 + (unsigned)explore_choose(2), plain);
    memset(results, 0, sizeof results);
    explore_start(submitter, NULL);
    for (int i = 0; i < 2; i++) submit_and_get(i);
    end(0);
}

/* The same from a thread that never learns that its function was called. */
static void dropped_futures_come_back(void) {
    begin(1, plain);
    memset(results, 0, sizeof results);
    for (int i = 0; i < 4; i++) {
        wsq_future *future = NULL;
        explore_check(wsq_submit(pool, bump, &results[i], &future) == WSQ_OK);
            int n = explore_choose(64); /* a load between, for pauses in a row are one */
        while (n-- > 0 && wsqi_load_rlx(pool->phase) == WSQI_PHASE_RUN) wsqi_pause();
        wsq_future_drop(future);
    }
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    for (int i = 0; i < 4; i++) explore_check(wsqi_get(&results[i]) == 1);
    end(0);
}

int main(void) {
    explore_random("compose: futures from outside", futures_from_outside, 2000);
    explore_random("compose: drop against run", drop_against_run, 2000);
    explore_random("compose: then against run", then_against_run, 2000);
    explore_random("compose: then after a look", then_after_a_look, 3000);
    explore_random("compose: get inside", get_inside, 2000);
    explore_random("compose: many inside", many_inside, 2000);
    explore_random("compose: get against shutdown", get_against_shutdown, 2000);
    explore_random("compose: go", go, 3000);
    explore_random("compose: a go gets", go_gets, 2000);
    explore_random("compose: own get", own_get, 2000);
    explore_random("more: futures come back", futures_come_back, 3000);
    explore_random("more: dropped futures come back", dropped_futures_come_back, 2000);
    return explore_end();
}
