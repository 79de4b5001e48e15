/* One task, or one future, is cancelled in the explorer: while it is queued, runs, falls asleep, is
 * woken, waits for another, ends. Each ends once, as done or as cancelled, and a waiting thread hears which. */
#include "explore_small.h"
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include "explore_pool.h"

typedef struct item {
    wsq_task task;
    int note;           /* plain: the cancelling thread writes it, the cleanup reads it */
    int pends;          /* so many runs return WSQ_PENDING */
    int runs, done, cleaned; /* the explorer's own */
} item;

static item items[2];
static wsq_edge edge;
static wsq_pool *pool;
static const wsq_config plain;

static wsq_poll run_item(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    explore_check(!it->done && !it->cleaned);
    if (it->runs++ < it->pends) return WSQ_PENDING;
    it->done = 1;
    return WSQ_DONE;
}

static wsq_poll clean_item(wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    explore_check(!it->done && !it->cleaned);
    explore_check(wsqi_get(&it->note) == 1);
    it->cleaned = 1;
    return WSQ_DONE;
}

static void begin(int pends) {
    for (int i = 0; i < 2; i++) {
        memset(&items[i], 0, sizeof items[i]);
        items[i].task.fn = run_item;
        wsq_task_set_cleanup(&items[i].task, clean_item);
        items[i].pends = pends;
        items[i].note = 1;
    }
    pool = explore_pool_make(1 + (unsigned)explore_choose(2), plain);
}

static void spawn(int i) { explore_check(wsq_spawn(pool, &items[i].task) == WSQ_OK); }

/* As the waiter heard. */
static void ended(int i) {
    wsq_result result = wsq_task_wait(&items[i].task);
    explore_check(result == (items[i].cleaned ? WSQ_ERR_CANCELLED : WSQ_OK));
    explore_check(items[i].done + items[i].cleaned == 1);
}

static void end(void) {
    explore_wait_quiet();
    explore_check_parked(pool);
    explore_pool_end(pool);
}

static void canceller(void *arg) {
    item *it = arg;
    wsqi_set(&it->note, 1);
    wsq_task_cancel(&it->task);
}

static void canceller_too(void *arg) { wsq_task_cancel(&((item *)arg)->task); }

/* Nobody wakes it: whenever it is cancelled, that ends it. */
static void while_it_falls_asleep(void) {
    begin(1);
    wsqi_set(&items[0].note, 0);
    spawn(0);
    explore_fiber *other = explore_start(canceller, &items[0]);
    if (explore_choose(2)) explore_join_one(other);
    explore_check(wsq_task_wait(&items[0].task) == WSQ_ERR_CANCELLED);
    explore_check(items[0].cleaned == 1 && items[0].runs <= 1);
    end();
}

static void while_it_is_woken(void) {
    begin(1);
    spawn(0);
    explore_start(canceller, &items[0]);
    wsq_wake(&items[0].task);
    ended(0);
    end();
}

static void while_it_runs(void) {
    begin(0);
    spawn(0);
    explore_start(canceller, &items[0]);
    ended(0);
    end();
}

static void twice(void) {
    begin(1);
    spawn(0);
    explore_start(canceller_too, &items[0]);
    explore_start(canceller_too, &items[0]);
    explore_check(wsq_task_wait(&items[0].task) == WSQ_ERR_CANCELLED);
    end();
}

/* It comes after one that ends at this moment, or is cancelled itself: then so is it. */
static void while_it_is_held(void) {
    begin(0);
    explore_check(wsq_task_after(&items[1].task, &items[0].task, &edge) == WSQ_OK);
    spawn(1);
    explore_start(canceller, &items[explore_choose(2)]);
    spawn(0);
    ended(0);
    ended(1);
    explore_check(!items[0].cleaned || items[1].cleaned);
    end();
}

/* ---- the answer: "cancelled", or "too late" ---- */

static int answers[2];

static void asker(void *arg) { answers[0] = wsq_task_cancel(&((item *)arg)->task); }

static void asker_too(void *arg) { answers[1] = wsq_task_cancel(&((item *)arg)->task); }

/* What both were told is what happened; `exact`: "too late" is true, too. */
static void answered(int i, bool exact) {
    explore_wait_quiet();
    for (int k = 0; k < 2; k++) explore_check(answers[k] <= items[i].cleaned);
    explore_check(!exact || answers[0] + answers[1] == 2 * items[i].cleaned);
}

static void ask_twice(int i) {
    answers[0] = answers[1] = 0;
    explore_start(asker, &items[i]);
    explore_start(asker_too, &items[i]);
}

static void answer_while_it_starts(void) {
    bool revocable = explore_choose(4) != 0;
    begin(0);
    wsq_task_set_revocable(&items[0].task, revocable);
    if (explore_choose(2)) {
        wsq_task *batch[] = {&items[0].task};
        explore_check(wsq_spawn_batch(pool, batch, 1) == WSQ_OK);
    } else {
        spawn(0);
    }
    ask_twice(0);
    ended(0);
    answered(0, revocable);
    end();
}

/* It has run once, so that "too late" may be told of a run that is not its last. */
static void answer_while_it_is_woken(void) {
    begin(1);
    wsq_task_set_revocable(&items[0].task, explore_choose(2) != 0);
    spawn(0);
    ask_twice(0);
    wsq_wake(&items[0].task);
    ended(0);
    answered(0, false);
    end();
}

static void answer_while_it_is_held(void) {
    bool revocable = explore_choose(2) != 0;
    begin(0);
    explore_check(wsq_task_after(&items[1].task, &items[0].task, &edge) == WSQ_OK);
    wsq_task_set_revocable(&items[1].task, revocable);
    spawn(1);
    ask_twice(1);
    spawn(0);
    ended(0);
    ended(1);
    answered(1, revocable);
    end();
}

static void group_canceller(void *arg) { wsq_group_cancel(arg); }

/* Its group is cancelled at the same moment: what cancels it is all the same. */
static void answer_beside_its_group(void) {
    wsq_group group;
    begin(0);
    explore_check(wsq_group_init(&group, pool) == WSQ_OK);
    wsq_task_set_revocable(&items[0].task, true);
    explore_check(wsq_group_spawn(&group, &items[0].task) == WSQ_OK);
    explore_start(group_canceller, &group);
    ask_twice(0);
    (void)wsq_group_wait(&group);
    answered(0, true);
    end();
}

/* Spawned again after its end: it runs, whenever that cancellation came. */
static void before_its_next_life(void) {
    begin(0);
    spawn(0);
    explore_fiber *other = explore_start(canceller, &items[0]);
    ended(0);
    explore_join_one(other);
    items[0].done = items[0].cleaned = 0;
    spawn(0);
    explore_check(wsq_task_wait(&items[0].task) == WSQ_OK && items[0].done);
    end();
}

/* ---- futures ---- */

static int called;
static wsq_future *future;

static void *call(void *arg) {
    called++;
    return arg;
}

static void future_canceller(void *arg) {
    (void)arg;
    answers[0] = wsq_future_cancel(future);
}

/* Another thread cancels it before the handle is given back. */
static void future_against_its_call(void) {
    void *result = NULL;
    begin(0);
    called = 0;
    explore_check(wsq_submit(pool, call, &called, &future) == WSQ_OK);
    explore_fiber *other = explore_start(future_canceller, NULL);
    if (explore_choose(2)) explore_check(wsq_future_then(future, &items[0].task) == WSQ_OK);
    explore_join_one(other);
    wsq_result outcome = wsq_future_get(future, &result);
    explore_check(outcome == (called ? WSQ_OK : WSQ_ERR_CANCELLED));
    explore_check(called ? result == &called : result == NULL);
    explore_check(answers[0] == !called);
    end();
}

static void future_canceller_too(void *arg) {
    (void)arg;
    answers[1] = wsq_future_cancel(future);
}

/* Two threads cancel it: each hears whether it will be called. */
static void future_that_two_cancel(void) {
    begin(0);
    called = 0;
    explore_check(wsq_submit(pool, call, &called, &future) == WSQ_OK);
    explore_fiber *one = explore_start(future_canceller, NULL);
    explore_fiber *two = explore_start(future_canceller_too, NULL);
    explore_join_one(one);
    explore_join_one(two);
    explore_check(answers[0] == answers[1]);
    explore_check(wsq_future_get(future, NULL) == (answers[0] ? WSQ_ERR_CANCELLED : WSQ_OK));
    explore_check(called == !answers[0]);
    end();
}

/* The only worker is in a task meanwhile: nobody starts the call before it is cancelled. */
static void run_on_the_only_worker(wsq_task_fn fn) {
    begin(0);
    wsq_pool_destroy(pool);
    pool = explore_pool_make(1, (wsq_config){.max_standins = WSQ_STANDINS_OFF});
    called = 0;
    items[0].task.fn = fn;
    spawn(0);
    explore_check(wsq_task_wait(&items[0].task) == WSQ_OK);
    while (wsq_pool_wait(pool) != WSQ_OK) {} /* a cancel may take longer than the wait for a circle */
}

static void from_the_only_worker(wsq_task_fn fn) {
    run_on_the_only_worker(fn);
    end();
}

static void future_getter(void *arg) {
    (void)arg;
    explore_check(wsq_future_get(future, NULL) == WSQ_ERR_CANCELLED);
}

static wsq_poll cancel_beside_getter(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    explore_check(wsq_submit(pool, call, NULL, &future) == WSQ_OK);
    explore_start(future_getter, NULL);
    explore_join_one(explore_start(future_canceller, NULL));
    return WSQ_DONE;
}

/* A thread that sleeps until it is done hears of it, and may free it before the cancel returns. */
static void future_against_its_getter(void) {
    from_the_only_worker(cancel_beside_getter);
    explore_check(called == 0);
}

static void go(void *arg) { called += arg == &called; }

static wsq_poll get_and_go(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    explore_check(wsq_future_get(future, NULL) == WSQ_ERR_CANCELLED);
    explore_check(wsq_go(pool, go, &called) == WSQ_OK);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static wsq_poll cancel_beside_then(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    items[1].task.fn = get_and_go;
    explore_check(wsq_submit(pool, call, NULL, &future) == WSQ_OK);
    explore_check(wsq_future_then(future, &items[1].task) == WSQ_OK);
    explore_start(future_canceller, NULL);
    while (!wsq_future_done(future)) wsqi_pause();
    return WSQ_DONE;
}

/* What its end spawns frees it, and its memory is used for another call: that happens. */
static void future_against_its_next_use(void) {
    from_the_only_worker(cancel_beside_then);
    explore_check(items[1].done && called == 1);
}

static void *call_cancelled(void *arg) {
    explore_join_one(explore_start(future_canceller, NULL));
    explore_check(!answers[0]);
    explore_check(items[1].runs == 0);
    called++;
    return arg;
}

static wsq_poll get_here(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    explore_check(wsq_submit(pool, call_cancelled, NULL, &future) == WSQ_OK);
    explore_check(wsq_future_then(future, &items[1].task) == WSQ_OK);
    explore_check(wsq_future_get(future, NULL) == WSQ_OK);
    explore_check(items[1].task.state.v < 2 * WSQI_TASK_HOLD);
    return WSQ_DONE;
}

/* A worker calls it where it waits: it is not over before that returns. */
static void future_that_runs_here(void) {
    from_the_only_worker(get_here);
    explore_check(items[1].done && called == 1);
}

static wsq_poll get_beside_canceller(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    explore_check(wsq_submit(pool, call, NULL, &future) == WSQ_OK);
    explore_fiber *other = explore_start(future_canceller, NULL);
    explore_check(wsq_future_get(future, NULL) == (called ? WSQ_OK : WSQ_ERR_CANCELLED));
    explore_join_one(other);
    return WSQ_DONE;
}

/* A worker takes the entry out of its queue, and another thread cancels the call: no reference is left over. */
static void future_against_its_call_here(void) {
    run_on_the_only_worker(get_beside_canceller);
    explore_check(answers[0] == !called);
    while (!called && wsqi_load_acq(&future->references) != 0) wsqi_pause(); /* the entry may still be queued */
    end();
}

/* ---- batches ---- */

static wsq_poll run_again(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

/* A batch with a group fails, for its second task runs already; or it does not, if that is over. */
static void batch_in_a_group(void) {
    wsq_group group;
    wsq_task *both[] = {&items[0].task, &items[1].task};
    begin(0);
    explore_check(wsq_group_init(&group, pool) == WSQ_OK);
    items[1].task.fn = run_again;
    spawn(1);
    for (int i = 0; i < 2; i++) {
        if (i == 1) explore_check(wsq_task_wait(&items[1].task) == WSQ_OK);
        wsq_task_set_group(both[0], &group);
        wsq_result result = wsq_spawn_batch(pool, both, 2);
        if (result == WSQ_OK) break;
        explore_check(i == 0 && result == WSQ_ERR_INVALID && wsq_group_pending(&group) == 0);
    }
    explore_check(wsq_group_wait(&group) == WSQ_OK && items[0].done);
    explore_check(wsq_task_wait(&items[1].task) == WSQ_OK);
    end();
}

static void refused(void *arg) {
    wsq_task *both[] = {arg, NULL};
    explore_check(wsq_spawn_batch(pool, both, 2) == WSQ_ERR_INVALID);
}

/* Two batches that fail have taken the same task, one after the other; then it is as it was. */
static void batches_refused(void) {
    begin(0);
    explore_fiber *other = explore_start(refused, &items[0].task);
    refused(&items[0].task);
    if (explore_choose(2)) explore_join_one(other);
    wsq_result result = wsq_spawn(pool, &items[0].task);
    while (result == WSQ_ERR_INVALID) { /* the other one has it */
        wsqi_pause();
        result = wsq_spawn(pool, &items[0].task);
    }
    explore_check(result == WSQ_OK && wsq_task_wait(&items[0].task) == WSQ_OK);
    end();
}

int main(void) {
    explore_random("cancel: while it falls asleep", while_it_falls_asleep, 3000);
    explore_random("cancel: while it is woken", while_it_is_woken, 3000);
    explore_random("cancel: while it runs", while_it_runs, 2000);
    explore_random("cancel: twice", twice, 2000);
    explore_random("cancel: while it is held", while_it_is_held, 3000);
    explore_random("cancel: the answer while it starts", answer_while_it_starts, 3000);
    explore_random("cancel: the answer while it is woken", answer_while_it_is_woken, 3000);
    explore_random("cancel: the answer while it is held", answer_while_it_is_held, 2000);
    explore_random("cancel: the answer beside its group's", answer_beside_its_group, 3000);
    explore_random("cancel: before its next life", before_its_next_life, 2000);
    explore_random("cancel: a future against its call", future_against_its_call, 2000);
    explore_random("cancel: a future that two cancel", future_that_two_cancel, 2000);
    explore_random("cancel: a future against its getter", future_against_its_getter, 2000);
    explore_random("cancel: a future against its next use", future_against_its_next_use, 2000);
    explore_random("cancel: a future that runs here", future_that_runs_here, 500);
    explore_random("cancel: a future against its call here", future_against_its_call_here, 2000);
    explore_random("cancel: a batch in a group", batch_in_a_group, 1500);
    explore_random("cancel: batches refused", batches_refused, 1500);
    return explore_end();
}
