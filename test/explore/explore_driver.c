/* A pool with a driver in the explorer: threads sleep in its wait, are interrupted, hand it over; beside
 * spawns, timers, waits, groups, shutdowns. The driver orders nothing, so that wsq.h must: its words
 * are written relaxed, and what one use leaves for the next is plain memory. */
#include "explore_small.h"
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include "explore_items.h"

enum { POKED = 1, EVENT = 2 };

static wsqi_a32 world;  /* POKED, and EVENT << i while an event for items[i] is there */
static uint32_t ready;  /* plain, as the next: events between wait and dispatch */
static int inside;      /* the explorer's own, as the next: threads in wait or dispatch */
static int mischief;    /* odd things that it may still do in this execution */

static bool odd(void) { return mischief != 0 && explore_choose(4) == 0 && mischief-- != 0; }

static bool world_wait(uint64_t timeout_ns, void *user) {
    (void)user;
    explore_check(inside++ == 0);
    bool early = odd();
    while (timeout_ns != 0 && !early && wsqi_load_acq(&world) == 0) {
        bool endless = timeout_ns == WSQ_FOREVER;
        wsqi_parking_wait(NULL, &world, 0, endless ? 0 : timeout_ns);
        if (!endless) break;
    }
    /* A look may leave the interrupt for the next one, and all may leave the events. */
    uint32_t kept = timeout_ns == 0 && odd() ? POKED : 0;
    if (odd()) kept |= ~(uint32_t)POKED;
    uint32_t came = wsqi_and_acqrel(&world, kept) & ~kept & ~(uint32_t)POKED;
    wsqi_set(&ready, wsqi_get(&ready) | came);
    inside--;
    return wsqi_get(&ready) != 0 || odd();
}

static void world_dispatch(wsq_pool *at, void *user) {
    (void)at, (void)user; /* `pool` may not be written yet */
    explore_check(inside++ == 0);
    for (int i = 0; i < ITEMS; i++)
        if (wsqi_get(&ready) & EVENT << i) send(i);
    wsqi_set(&ready, 0);
    inside--;
}

/* As a system call, it orders: wait sees what came before the interrupt or event that it finds. */
static void happens(uint32_t what) {
    (void)wsqi_or_acqrel(&world, what);
    wsqi_parking_wake(NULL, &world, true);
}

static void world_interrupt(void *user) {
    (void)user;
    if (odd()) happens(POKED);
    happens(POKED);
}

static void event(void *arg) { happens(EVENT << *(const int *)arg); }

static void post(int i) { explore_start(event, (void *)(uintptr_t)&number[i]); }

static void begin_driven(unsigned workers, wsq_config config) {
    static const wsq_driver driver = {world_wait, world_dispatch, world_interrupt, NULL};
    memset(&world, 0, sizeof world);
    ready = 0;
    inside = 0;
    mischief = explore_choose(2) ? 0 : 3;
    config.driver = &driver;
    begin(workers, config);
}

/* A sleeper waits in the driver then, and nobody watches. */
static void end_driven(int count) {
    explore_wait_quiet();
    explore_check((pool->watch.poller.v & 1) != 0 && pool->watch.watcher.v == 0);
    end(count);
}

/* The first `count` wait for an event each. */
static void await_events(int count) {
    for (int i = 0; i < count; i++) {
        items[i].waits = true;
        spawn(i);
    }
    if (explore_choose(2)) explore_wait_quiet();
}

static void one_event(void) {
    begin_driven(1 + (unsigned)explore_choose(2), plain);
    await_events(1);
    post(0);
    explore_check(wsq_task_wait(&items[0].task) == WSQ_OK);
    explore_check(explore.rested == 0 || pool->workers != 1); /* nothing waits for a watcher */
    end_driven(1);
}

/* Two uses of the driver, perhaps by two threads. */
static void two_events(void) {
    begin_driven(2, plain);
    await_events(2);
    post(0);
    post(1);
    explore_check(wsq_task_wait(&items[0].task) == WSQ_OK);
    explore_check(wsq_task_wait(&items[1].task) == WSQ_OK);
    end_driven(2);
}

/* The thread that hears of the first event does not return before the second one has come. */
static void hand_over(void) {
    begin_driven(2, plain);
    items[0].company = items[1].company = 2;
    await_events(2);
    post(0);
    post(1);
    end_driven(2);
}

/* The same, but a timer, a spawn, or a wake has woken the first. */
static void hand_over_of_others(void) {
    begin_driven(2, plain);
    int kind = explore_choose(3);
    items[0].company = items[1].company = 2;
    items[1].waits = true;
    if (kind != 0) items[0].waits = true;
    spawn(1);
    if (kind != 0) spawn(0);
    if (explore_choose(2)) explore_wait_quiet();
    if (kind == 0) spawn(0);
    else if (kind == 1) send(0);
    else set_timer(0, 1000);
    post(1);
    end_driven(2);
}

enum { LONG = 1000000000 };

static wsq_poll run_hasty(wsq_ctx ctx, wsq_task *task) {
    wsq_poll poll = run_item(ctx, task);
    explore_check(poll != WSQ_DONE || explore.rested < LONG);
    return poll;
}

/* The other thread waits for a timer, which is far away, and learns that it is to watch the driver. */
static void hand_over_to_timer(void) {
    begin_driven(2, plain);
    items[0].company = items[1].company = 2;
    items[0].task.fn = items[1].task.fn = run_hasty;
    items[2].waits = true;
    spawn(2);
    await_events(2);
    set_timer(2, 2 * (uint64_t)LONG);
    post(0);
    post(1);
    end_driven(3);
}

/* A watcher has only a timer to wait for, it seems: either it sees that the driver is free, or the
 * thread that leaves it tells the watcher. */
static void leave(void *arg) {
    (void)arg;
    wsqi_driver_leave(wsqi_block(pool, 0));
}

static void leave_beside_watcher(void) {
    begin_driven(2, (wsq_config){.caller_runs = true});
    wsqi_worker *watcher = wsqi_block(pool, 1);
    set_timer(0, LONG);
    wsqi_store_sc(&pool->watch.watcher, (watcher->index + 1) | WSQI_WATCHES_SLOTS);
    explore_check(wsqi_driver_take(wsqi_block(pool, 0)));
    explore_start(leave, NULL);
    uint64_t until = wsqi_watch_until(watcher, wsqi_clock_ns());
    explore_join();
    explore_check(until < items[0].due || watcher->parker.token.v == WSQI_TOKEN_HERE);
    wsqi_store_rlx(&pool->watch.watcher, 0u);
    explore_check(wsq_timer_cancel(&items[0].timer));
    explore_pool_end(pool);
}

/* What comes from outside interrupts the wait, at any moment. */
static void event_and_spawn(void) {
    begin_driven(1 + (unsigned)explore_choose(2), plain);
    await_events(1);
    post(0);
    explore_start(spawner, (void *)(uintptr_t)&number[1]);
    explore_check(wsq_task_wait(&items[0].task) == WSQ_OK);
    end_driven(2);
}

static void only_spawns(void) {
    begin_driven(1, plain);
    explore_start(spawner, (void *)(uintptr_t)&number[0]);
    if (explore_choose(2)) explore_wait_quiet();
    spawn(1);
    end_driven(2);
}

static void event_and_timer(void) {
    begin_driven(1 + (unsigned)explore_choose(2), plain);
    await_events(2);
    set_timer(1, 3000 * (uint64_t)explore_choose(3));
    post(0);
    end_driven(2);
}

/* A thread that has only just begun to sleep sees that nobody waits in the driver; or the thread that
 * leaves it, busy from now on, sees the sleeper. */
static void event_and_sleep(void) {
    begin_driven(2, plain);
    items[2].company = items[1].company = 2;
    items[1].waits = true;
    spawn(1);
    explore_start(spawner, (void *)(uintptr_t)&number[0]);
    explore_start(spawner, (void *)(uintptr_t)&number[2]);
    post(1);
    end_driven(3);
}

/* The wait for the pool ends, also with a task of a group, whose end is reported later. */
static wsq_group group;

static void pool_wait(void) {
    begin_driven(1 + (unsigned)explore_choose(2), plain);
    wsq_group_init(&group, pool);
    items[0].waits = true;
    explore_check(wsq_group_spawn(&group, &items[0].task) == WSQ_OK);
    if (explore_choose(2)) explore_wait_quiet();
    post(0);
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    end_driven(1);
}

/* A drain waits for the event; a cancel does not. */
static void event_and_shutdown(void) {
    bool cancels = explore_choose(2);
    begin_driven(1 + (unsigned)explore_choose(2), plain);
    await_events(1);
    post(0);
    explore_check(wsq_pool_shutdown(pool, cancels ? WSQ_CANCEL : WSQ_DRAIN) == WSQ_OK);
    explore_check(cancels ? items[0].done + items[0].cleaned <= 1 : items[0].done);
    explore_pool_end(pool);
}

static wsq_poll run_waiting(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    explore_check(wsq_task_wait(&items[it->sends].task) == WSQ_OK);
    it->done = 1;
    return WSQ_DONE;
}

/* The worker waits for a task that waits for an event, and is one of two threads, or the only one. */
static void wait_in_task(void) {
    begin_driven(1, plain);
    items[0].waits = true;
    items[1].task.fn = run_waiting;
    items[1].sends = 0;
    spawn(0);
    spawn(1);
    if (explore_choose(2)) explore_wait_quiet();
    post(0);
    explore_check(wsq_task_wait(&items[1].task) == WSQ_OK);
    end_driven(2);
}

/* The thread that waits for the pool waits in the driver. */
static void caller(void) {
    begin_driven(1 + (unsigned)explore_choose(2), (wsq_config){.caller_runs = true});
    await_events(0);
    items[0].waits = items[1].waits = true;
    spawn(0);
    spawn(1);
    post(0);
    if (explore_choose(2)) explore_check(wsq_task_wait(&items[0].task) == WSQ_OK);
    post(1);
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    explore_check(items[0].done && items[1].done && explore.rested == 0);
    explore_pool_end(pool);
}

static void enter(void *arg) {
    (void)arg;
    explore_check(wsq_worker_enter(pool) == WSQ_OK);
}

/* A lent thread is dismissed while it is in the driver, or about to be. */
static void dismissal(void) {
    begin_driven(1, (wsq_config){.lend_only = true});
    explore_start(enter, NULL);
    await_events(1);
    post(0);
    explore_check(wsq_task_wait(&items[0].task) == WSQ_OK);
    if (explore_choose(2)) explore_wait_quiet();
    wsq_worker_dismiss(pool, 0);
    explore_pool_end(pool);
}

int main(void) {
    explore_random("compose: an event", one_event, 2000);
    explore_random("compose: two events", two_events, 3000);
    explore_random("compose: a driver is handed over", hand_over, 3000);
    explore_random("compose: a driver is handed over by others", hand_over_of_others, 3000);
    explore_random("compose: a driver is handed over to a timer", hand_over_to_timer, 3000);
    explore_random("compose: a watcher beside a driver", leave_beside_watcher, 3000);
    explore_random("compose: an event and a spawn", event_and_spawn, 3000);
    explore_random("compose: spawns beside a driver", only_spawns, 3000);
    explore_random("compose: an event and a timer", event_and_timer, 3000);
    explore_random("compose: an event and two spawns", event_and_sleep, 3000);
    explore_random("compose: a wait for a pool with a driver", pool_wait, 3000);
    explore_random("compose: an event and a shutdown", event_and_shutdown, 3000);
    explore_random("compose: a wait in a task for an event", wait_in_task, 3000);
    explore_random("compose: a caller in the driver", caller, 3000);
    explore_random("compose: a lent thread in the driver", dismissal, 2000);
    return explore_end();
}
