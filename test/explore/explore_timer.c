/* Timers in the explorer: set while workers search, fall asleep, sleep; against cancel, shutdown, a full
 * slot, and the worker that watches them. */
#include "explore_small.h"
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include "explore_items.h"

/* Set while the workers search, fall asleep, sleep. */
static void one_timer(void) {
    begin(1 + (unsigned)explore_choose(2), plain);
    items[0].waits = true;
    spawn(0);
    if (explore_choose(2)) explore_wait_quiet();
    set_timer(0, 20000);
    explore_check(wsq_task_wait(&items[0].task) == WSQ_OK);
    end(1);
}

static void earlier_timer(void *arg) { set_timer(*(const int *)arg, 1000); }

/* The second is due before the first, or long after it. */
static void two_timers(void) {
    begin(1 + (unsigned)explore_choose(2), plain);
    items[0].waits = items[1].waits = true;
    spawn(0);
    spawn(1);
    if (explore_choose(2)) explore_wait_quiet();
    explore_start(earlier_timer, (void *)(uintptr_t)&number[1]);
    set_timer(0, 500000);
    explore_check(wsq_task_wait(&items[0].task) == WSQ_OK);
    explore_check(wsq_task_wait(&items[1].task) == WSQ_OK);
    end(2);
}

/* Either it was taken back, or it wakes. */
static void timer_against_cancel(void) {
    begin(1 + (unsigned)explore_choose(2), plain);
    items[0].waits = true;
    spawn(0);
    set_timer(0, 5000);
    if (explore_choose(2)) explore_wait_quiet();
    if (wsq_timer_cancel(&items[0].timer)) send(0);
    explore_check(wsq_task_wait(&items[0].task) == WSQ_OK);
    end(1);
}

static void timer_against_shutdown(void) {
    begin(1 + (unsigned)explore_choose(2), plain);
    items[0].waits = true;
    spawn(0);
    set_timer(0, 5000);
    explore_check(wsq_pool_shutdown(pool, explore_choose(2) ? WSQ_CANCEL : WSQ_DRAIN) == WSQ_OK);
    explore_check(items[0].done + items[0].cleaned == 1); /* the shutdown fires the timer */
    explore_pool_end(pool);
}

/* A full slot, and a timer: one watcher for both. */
static wsq_poll run_waker(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    it->runs++;
    send(1);
    explore_meet(&gate, 3); /* with the woken one, in the slot, and the one of the timer */
    it->done = 1;
    return WSQ_DONE;
}

static void timer_and_slot(void) {
    begin(3, plain);
    items[1].waits = items[2].waits = true;
    items[1].company = items[2].company = 3;
    items[0].task.fn = run_waker;
    spawn(1);
    spawn(2);
    explore_wait_quiet();
    set_timer(2, 1000 + 2000 * (uint64_t)explore_choose(500));
    spawn(0);
    end(3);
}

enum { LONG = 1000000000 };

/* They wake each other, through the slot, and then meet; nobody waits for the timer until they do. */
static wsq_poll run_volley(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    int other = it == &items[0];
    (void)ctx;
    if (it->runs++ == 0 && other == 0) return WSQ_PENDING;
    wsq_wake(&items[other].task);
    if (it->runs < 4) return WSQ_PENDING;
    explore_meet(&gate, 2);
    explore_check(explore.rested < LONG);
    it->done = 1;
    return WSQ_DONE;
}

static void slot_before_timer(void) {
    begin(2, plain);
    items[0].task.fn = items[1].task.fn = run_volley;
    items[2].waits = true;
    spawn(2);
    spawn(1);
    explore_wait_quiet();
    set_timer(2, 2 * (uint64_t)LONG);
    spawn(0);
    end(3);
}

/* The watcher of the timer gets a task, which is over when the timer has come: another one watches. */
static void watcher_has_work(void) {
    begin(2, plain);
    items[0].waits = true;
    items[0].company = items[1].company = 2;
    spawn(0);
    set_timer(0, 20000);
    if (explore_choose(2)) explore_wait_quiet();
    spawn(1);
    explore_check(wsq_task_wait(&items[0].task) == WSQ_OK);
    end(2);
}

/* A watcher has nothing to watch any more, it seems: it finds the timer, or the thread that set
 * it does not tell. */
static void give_up(void *arg) {
    bool *watches = arg;
    *watches = wsqi_watch_drop(wsqi_block(pool, 0));
}

static void timer_against_watcher(void) {
    wsq_config config = {.caller_runs = true};
    wsqi_worker *worker;
    bool watches = false;
    begin(1, config);
    worker = wsqi_block(pool, 0);
    wsqi_store_sc(&pool->watch.watcher, worker->index + 1);
    explore_start(give_up, &watches);
    set_timer(0, 1000000);
    explore_join();
    explore_check(watches || worker->parker.token.v != WSQI_TOKEN_HERE);
    wsqi_store_rlx(&pool->watch.watcher, 0u);
    explore_check(wsq_timer_cancel(&items[0].timer));
    explore_pool_end(pool);
}

/* It goes on, for another timer: it sees the earlier one, or is told. */
static void go_on(void *arg) {
    uint64_t *until = arg;
    wsqi_worker *worker = wsqi_block(pool, 0);
    if (wsqi_watch_drop(worker)) *until = wsqi_watch_until(worker, 1000);
}

static void earlier_timer_against_watcher(void) {
    wsq_config config = {.caller_runs = true};
    wsqi_worker *worker;
    uint64_t until = 0;
    begin(1, config);
    worker = wsqi_block(pool, 0);
    set_timer(1, 2000000);
    wsqi_store_sc(&pool->watch.watcher, worker->index + 1);
    explore_start(go_on, &until);
    set_timer(0, 1000000);
    explore_join();
    explore_check(until <= pool->watch.timer_next.v || worker->parker.token.v == WSQI_TOKEN_HERE);
    wsqi_store_rlx(&pool->watch.watcher, 0u);
    for (int i = 0; i < 2; i++) explore_check(wsq_timer_cancel(&items[i].timer));
    explore_pool_end(pool);
}

/* A timer is due while no permit is free: the watcher sees the one that goes to sleep, or is told. */
static void look_at_due(void *arg) {
    uint64_t *until = arg;
    *until = wsqi_watch_until(wsqi_block(pool, 0), 2000000);
}

static void due_timer_against_permit(void) {
    wsq_config config = {.caller_runs = true};
    wsqi_worker *worker;
    uint64_t until = 0;
    begin(1, config);
    worker = wsqi_block(pool, 0);
    explore_check(wsqi_free_permits(pool->permits.v) == 0);
    set_timer(0, 0);
    wsqi_store_sc(&pool->watch.watcher, worker->index + 1);
    explore_start(look_at_due, &until);
    wsqi_add_sc(&pool->permits, WSQI_PERMIT);
    wsqi_permit_freed(pool);
    explore_join();
    explore_check(until <= 2000000 || worker->parker.token.v == WSQI_TOKEN_HERE);
    wsqi_store_rlx(&pool->watch.watcher, 0u);
    wsqi_add_sc(&pool->permits, 0u - (uint64_t)WSQI_PERMIT);
    explore_check(wsq_timer_cancel(&items[0].timer));
    explore_pool_end(pool);
}

/* ---- the memory of a timer ---- */

/* A task that only its timer wakes, and that frees both when it was woken, though it still ran when the
 * timer was due. */
typedef struct brief {
    wsq_task task;
    wsq_timer timer;
    uint64_t delay;
    int runs;
} brief;

static int briefs_over;

static wsq_poll run_brief(wsq_ctx ctx, wsq_task *task) {
    brief *self = wsq_container_of(task, brief, task);
    if (self->runs++ == 0) {
        explore_check(wsq_timer_set(wsq_pool_of(ctx), &self->timer, task, self->delay) == WSQ_OK);
        if (explore_choose(2)) explore_slow(20);
        return WSQ_PENDING;
    }
    explore_free(self);
    briefs_over++;
    return WSQ_GONE;
}

static brief *brief_new(void) {
    brief *self = explore_malloc(sizeof *self);
    memset((void *)self, 0, sizeof *self);
    wsq_task_init(&self->task, run_brief);
    return self;
}

static void timer_freed_when_woken(void) {
    begin(2, plain);
    briefs_over = 0;
    explore_check(wsq_spawn(pool, &brief_new()->task) == WSQ_OK);
    end(0);
    explore_check(briefs_over == 1);
}

/* When a cancel has returned, whatever it said, timer and task are the caller's: here they go. */
static void timer_freed_when_cancelled(void) {
    begin(1 + (unsigned)explore_choose(2), plain);
    brief *one = brief_new(); /* it is never spawned: a wake does nothing */
    explore_check(wsq_timer_set(pool, &one->timer, &one->task, explore_choose(2) ? 0 : 5000) == WSQ_OK);
    if (explore_choose(2)) explore_wait_quiet();
    wsq_timer_cancel(&one->timer);
    explore_free(one);
    end(0);
}

static void cancels(void *arg) { wsq_timer_cancel(arg); }

static wsq_poll clean_brief(wsq_task *task) {
    explore_free(wsq_container_of(task, brief, task));
    briefs_over++;
    return WSQ_GONE;
}

static void cancels_and_frees(void *arg) {
    brief *self = arg;
    wsq_timer_cancel(&self->timer);
    explore_free(self);
}

/* A shutdown fires the timers. The cleanup of a task that only its timer wakes frees both, and a thread
 * outside frees a timer that it has cancelled. */
static void timers_against_cancel(void) {
    begin(1, plain);
    briefs_over = 0;
    brief *sleeper = brief_new(), *mine = brief_new(); /* the second is never spawned */
    wsq_task_set_cleanup(&sleeper->task, clean_brief);
    sleeper->delay = LONG;
    explore_check(wsq_spawn(pool, &sleeper->task) == WSQ_OK);
    explore_check(wsq_timer_set(pool, &mine->timer, &mine->task, LONG) == WSQ_OK);
    explore_fiber *other = explore_start(cancels_and_frees, mine);
    explore_check(wsq_pool_shutdown(pool, WSQ_CANCEL) == WSQ_OK);
    explore_check(briefs_over == 1);
    explore_join_one(other);
    explore_pool_end(pool);
}

/* Of two that cancel it, the one that is too late does with it what it likes. */
static void timer_cancelled_twice(void) {
    static wsq_timer *timer;
    begin(1, plain);
    timer = explore_malloc(sizeof *timer);
    memset((void *)timer, 0, sizeof *timer);
    explore_check(wsq_timer_set(pool, timer, &items[0].task, 1000) == WSQ_OK);
    explore_fiber *other = explore_start(cancels, timer);
    if (!wsq_timer_cancel(timer)) wsqi_set(&timer->link.next, NULL);
    explore_join_one(other);
    explore_free(timer);
    end(0);
}

/* ---- set by two, set anew ---- */

static void sets_shared(void *arg) {
    explore_check(wsq_timer_set(pool, arg, &items[0].task, 1000 * (uint64_t)explore_choose(3)) == WSQ_OK);
}

static wsq_poll run_setter(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    sets_shared(&items[0].timer);
    it->done = 1;
    return WSQ_DONE;
}

/* By a worker, in its own lists, and from outside: it is in one of them. */
static void timer_set_by_two(void) {
    begin(2, plain);
    items[0].waits = true;
    spawn(0);
    for (int i = 1; i < 3; i++) {
        items[i].task.fn = run_setter;
        spawn(i);
    }
    sets_shared(&items[0].timer);
    if (explore_choose(2)) wsq_timer_cancel(&items[0].timer);
    for (int i = 1; i < 3; i++) explore_check(wsq_task_wait(&items[i].task) == WSQ_OK);
    wsq_timer_cancel(&items[0].timer);
    explore_check(!wsq_timer_cancel(&items[0].timer));
    for (unsigned i = 0; i < 2; i++) {
        wsqi_timers *timers = &pool->timers[i];
        wsqi_lock(pool, &timers->lock);
        explore_check(wsqi_timers_open(timers, WSQI_NEVER - 1) == WSQI_NEVER);
        wsqi_unlock(pool, &timers->lock);
    }
    send(0);
    end(3);
}

/* To a later time, or an earlier one, while it fires: the last one counts. */
static void timer_set_anew(void) {
    begin(1 + (unsigned)explore_choose(2), plain);
    items[0].waits = true;
    spawn(0);
    uint64_t first = 3000 * (1 + (uint64_t)explore_choose(2));
    explore_check(wsq_timer_set(pool, &items[0].timer, &items[0].task, first) == WSQ_OK);
    if (explore_choose(2)) explore_wait_quiet();
    set_timer(0, 1000 + 8000 * (uint64_t)explore_choose(2));
    explore_check(wsq_task_wait(&items[0].task) == WSQ_OK);
    end(1);
}

/* One thread has fired the only timer, and finds that there is none; another one sets the next. */
static void fires(void *arg) {
    (void)arg;
    while (wsqi_timers_fire(pool, 0)) {}
}

static void timer_against_fire(void) {
    begin(1, (wsq_config){.caller_runs = true});
    for (int i = 0; i < 2; i++) items[i].waits = true;
    explore_check(wsq_timer_set(pool, &items[0].timer, &items[0].task, 0) == WSQ_OK);
    explore_start(fires, NULL);
    explore_check(wsq_timer_set(pool, &items[1].timer, &items[1].task, 1000000) == WSQ_OK);
    explore_join();
    explore_check(pool->watch.timer_next.v <= items[1].timer.at);
    for (int i = 0; i < 2; i++) wsq_timer_cancel(&items[i].timer);
    explore_pool_end(pool);
}

/* Of two threads that fire, one reads the clock, and gets the lock only after the other has raised
 * `base`. The second timer is set meanwhile, for a time before that `base`. */
static void timer_set_late(void) {
    begin(1, (wsq_config){.caller_runs = true});
    for (int i = 0; i < 2; i++) items[i].waits = true;
    explore_check(wsq_timer_set(pool, &items[0].timer, &items[0].task, 0) == WSQ_OK);
    for (int i = 0; i < 2; i++) explore_start(fires, NULL);
    explore_check(wsq_timer_set(pool, &items[1].timer, &items[1].task, 0) == WSQ_OK);
    explore_join();
    for (int i = 0; i < 2; i++) wsq_timer_cancel(&items[i].timer);
    explore_pool_end(pool);
}

/* A thread that knows the timer, and not the pool, cancels it. */
static wsq_timer early;

static void timer_of_a_new_pool(void) {
    memset(&early, 0, sizeof early);
    explore_threads = 0;
    explore_fiber *other = explore_start(cancels, &early);
    begin(1, plain);
    explore_check(wsq_timer_set(pool, &early, &items[0].task, 100000) == WSQ_OK);
    explore_join_one(other);
    wsq_timer_cancel(&early);
    end(0);
}

int main(void) {
    explore_random("compose: one timer", one_timer, 2000);
    explore_random("compose: two timers", two_timers, 2000);
    explore_random("compose: a timer against cancel", timer_against_cancel, 2000);
    explore_random("compose: a timer against shutdown", timer_against_shutdown, 2000);
    explore_random("compose: a timer and a slot", timer_and_slot, 2000);
    explore_random("compose: a slot before a timer", slot_before_timer, 2000);
    explore_random("compose: a watcher has work", watcher_has_work, 2000);
    explore_random("compose: a timer against a watcher", timer_against_watcher, 2000);
    explore_random("compose: an earlier timer", earlier_timer_against_watcher, 2000);
    explore_random("timer: due while a permit goes to sleep", due_timer_against_permit, 2000);
    explore_random("compose: a timer freed when woken", timer_freed_when_woken, 2000);
    explore_random("compose: a timer freed when cancelled", timer_freed_when_cancelled, 2000);
    explore_random("timer: a shutdown fires it", timers_against_cancel, 2000);
    explore_random("compose: a timer cancelled twice", timer_cancelled_twice, 2000);
    explore_random("compose: a timer set by two", timer_set_by_two, 2000);
    explore_random("compose: a timer set anew", timer_set_anew, 2000);
    explore_random("compose: a timer against a fire", timer_against_fire, 2000);
    explore_random("compose: a timer set late", timer_set_late, 4000);
    explore_random("compose: a timer of a new pool", timer_of_a_new_pool, 2000);
    return explore_end();
}
