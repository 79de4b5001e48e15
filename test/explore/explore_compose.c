/* Tasks that depend on each other, in the explorer: edges added while the predecessor ends, timers
 * against sleep, cancel and shutdown, queues of other priorities against sleep, groups and futures
 * against their ends, stand-ins that come and go. */
#include "explore_pool.h"

enum { ITEMS = 5 };

/* Writes a letter, meets `company` tasks, is done. Reads the letters of those that it comes after. */
typedef struct item {
    wsq_task task;
    int letter;              /* plain */
    int company;
    bool waits;              /* pending until the time is `due`, or `sent` */
    uint64_t due;
    wsqi_a32 sent;
    struct item *after[2];
    int sends;               /* run_sending: to which */
    bool frees;              /* what it comes after, as soon as it starts */
    int runs, done, cleaned; /* the explorer's own */
} item;

static item items[ITEMS];
static wsq_edge edges[ITEMS];
static int gate;
static wsq_pool *pool;
static const wsq_config plain;

static wsq_poll run_item(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    explore_check(!it->done && !it->cleaned);
    it->runs++;
    for (int i = 0; i < 2; i++)
        if (it->after[i] && it->runs == 1) explore_check(wsqi_get(&it->after[i]->letter) == 1);
    if (it->frees) explore_free(it->after[0]);
    it->frees = false;
    if (it->waits && !wsqi_load_acq(&it->sent) && (!it->due || wsqi_clock_ns() < it->due))
        return WSQ_PENDING;
    if (it->company) explore_meet(&gate, it->company);
    wsqi_set(&it->letter, 1);
    it->done = 1;
    return WSQ_DONE;
}

static wsq_poll clean_item(wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    explore_check(!it->done && !it->cleaned);
    it->cleaned = 1;
    return WSQ_DONE;
}

static void init(item *it) {
    memset(it, 0, sizeof *it);
    wsq_task_init(&it->task, run_item);
    wsq_task_set_cleanup(&it->task, clean_item);
}

static void begin(unsigned workers, wsq_config config) {
    gate = 0;
    for (int i = 0; i < ITEMS; i++) init(&items[i]);
    pool = explore_pool_make(workers, config);
}

static void spawn(int i) { explore_check(wsq_spawn(pool, &items[i].task) == WSQ_OK); }

static void follow(int later, int first) {
    item *it = &items[later];
    it->after[it->after[0] != NULL] = &items[first];
    explore_check(wsq_task_after(&it->task, &items[first].task, &edges[later]) == WSQ_OK);
}

static void end(int count) {
    explore_wait_quiet();
    for (int i = 0; i < count; i++) explore_check(items[i].done);
    explore_check_parked(pool);
    explore_pool_end(pool);
}

static const int number[] = {0, 1, 2, 3, 4};

static void spawner(void *arg) { spawn(*(const int *)arg); }

static void send(int i) {
    wsqi_store_rel(&items[i].sent, 1u);
    wsq_wake(&items[i].task);
}

static void send_0(void *arg) {
    (void)arg;
    send(0);
}

static void send_1(void *arg) {
    (void)arg;
    send(1);
}

/* Once it was sent something itself. */
static wsq_poll run_sending(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    if (!wsqi_load_acq(&it->sent)) return WSQ_PENDING;
    send(it->sends);
    it->done = 1;
    return WSQ_DONE;
}

/* ---- edges ---- */

/* The predecessor is new, queued, running, or over. */
static void edge_against_end(void) {
    begin(1 + (unsigned)explore_choose(2), plain);
    explore_start(spawner, (void *)(uintptr_t)&number[0]);
    follow(1, 0);
    spawn(1);
    explore_check(wsq_task_wait(&items[1].task) == WSQ_OK);
    end(2);
}

static void follower_2(void *arg) {
    (void)arg;
    follow(2, 0);
    spawn(2);
}

static void two_edges_to_one(void) {
    begin(2, plain);
    spawn(0);
    explore_start(follower_2, NULL);
    follow(1, 0);
    spawn(1);
    end(3);
}

/* A waiter, too, so that the end is an exchange, or not, or the bells ring. */
static void waiter_0(void *arg) {
    (void)arg;
    wsq_result result = wsq_task_wait(&items[0].task);
    explore_check(result == WSQ_OK || result == WSQ_ERR_INVALID);
}

static void edge_and_waiter(void) {
    begin(1 + (unsigned)explore_choose(2), plain);
    spawn(0);
    explore_start(waiter_0, NULL);
    follow(1, 0);
    spawn(1);
    end(2);
}

/* One task after two that end at the same time. */
static void one_after_two(void) {
    begin(2, plain);
    item *last = &items[2];
    last->after[0] = &items[0];
    last->after[1] = &items[1];
    spawn(0);
    explore_start(spawner, (void *)(uintptr_t)&number[1]);
    explore_check(wsq_task_after(&last->task, &items[0].task, &edges[0]) == WSQ_OK);
    explore_check(wsq_task_after(&last->task, &items[1].task, &edges[1]) == WSQ_OK);
    spawn(2);
    explore_check(wsq_task_wait(&last->task) == WSQ_OK);
    end(3);
}

/* Two after one, which meet: they are for two workers. */
static void two_meet_after_one(void) {
    begin(2, plain);
    items[1].company = items[2].company = 2;
    for (int i = 1; i <= 2; i++) {
        follow(i, 0);
        spawn(i);
    }
    explore_wait_quiet();
    spawn(0);
    end(3);
}

/* The predecessor's memory is gone as soon as its only successor starts. */
static void freed_by_successor(void) {
    begin(1 + (unsigned)explore_choose(2), plain);
    item *first = explore_malloc(sizeof *first);
    init(first);
    items[0].after[0] = first;
    items[0].frees = true;
    explore_check(wsq_spawn(pool, &first->task) == WSQ_OK);
    explore_check(wsq_task_after(&items[0].task, &first->task, &edges[0]) == WSQ_OK);
    spawn(0);
    spawn(1); /* so that the worker has something else to do meanwhile */
    end(2);
}

/* The pool is cancelled: each has run, or is cancelled, once, whichever queues they are in. */
static void edge_against_cancel(void) {
    begin(1, plain);
    for (int i = 0; i < 3; i++)
        wsq_task_set_priority(&items[i].task, (wsq_priority)explore_choose(3));
    follow(1, 0);
    follow(2, 1);
    for (int i = 3; i-- > 0;) spawn(i);
    explore_check(wsq_pool_shutdown(pool, WSQ_CANCEL) == WSQ_OK);
    for (int i = 0; i < 3; i++) {
        explore_check(items[i].done + items[i].cleaned == 1);
        explore_check(i == 0 || !items[i].done || items[i - 1].done);
    }
    explore_pool_end(pool);
}

/* The predecessor is spawned again meanwhile, in vain: the pool is closed. */
static void spawner_refused(void *arg) {
    if (arg != NULL) explore_meet(&gate, 2);
    explore_check(wsq_spawn(pool, &items[0].task) == WSQ_ERR_CLOSED);
}

static void edge_against_refusal(void) {
    begin(1, plain);
    spawn(0);
    explore_check(wsq_pool_shutdown(pool, WSQ_DRAIN) == WSQ_OK);
    explore_start(spawner_refused, NULL);
    follow(1, 0);
    explore_join();
    explore_check(items[1].task.state.v / WSQI_TASK_BLOCKER == 0);
    explore_pool_end(pool);
}

/* The first spawn of a task is refused: nobody may believe that it is done. */
static void wait_against_refusal(void) {
    begin(1, plain);
    explore_check(wsq_pool_shutdown(pool, WSQ_DRAIN) == WSQ_OK);
    explore_start(spawner_refused, &gate);
    explore_meet(&gate, 2);
    explore_check(wsq_task_wait(&items[0].task) == WSQ_ERR_INVALID);
    explore_pool_end(pool);
}

/* Likewise of a batch, in which another task cannot be spawned. */
static void batch_refused(void *arg) {
    wsq_task *twice[] = {&items[0].task, &items[0].task};
    (void)arg;
    explore_meet(&gate, 2);
    explore_check(wsq_spawn_batch(pool, twice, 2) == WSQ_ERR_INVALID);
}

static void wait_against_batch(void) {
    begin(1, plain);
    explore_start(batch_refused, NULL);
    explore_meet(&gate, 2);
    explore_check(wsq_task_wait(&items[0].task) == WSQ_ERR_INVALID);
    explore_pool_end(pool);
}

/* ---- timers ---- */

static void set_timer(int i, uint64_t delay) {
    items[i].due = wsqi_clock_ns() + delay;
    explore_check(wsq_wake_after(pool, &items[i].task, delay) == WSQ_OK);
}

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
    if (wsq_wake_cancel(pool, &items[0].task)) send(0);
    explore_check(wsq_task_wait(&items[0].task) == WSQ_OK);
    end(1);
}

static void timer_against_shutdown(void) {
    begin(1 + (unsigned)explore_choose(2), plain);
    items[0].waits = true;
    spawn(0);
    set_timer(0, 5000);
    explore_check(wsq_pool_shutdown(pool, explore_choose(2) ? WSQ_CANCEL : WSQ_DRAIN) == WSQ_OK);
    explore_check(items[0].done + items[0].cleaned <= 1);
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

/* Who watches the timer gets a task, which is over when the timer has come: another one watches. */
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

/* A watcher has nothing to watch any more, it seems: it finds the timer, or who set that does not
 * tell it. */
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
    wsqi_store_sc(&pool->watcher, worker->index + 1);
    explore_start(give_up, &watches);
    set_timer(0, 1000000);
    explore_join();
    explore_check(watches || worker->parker.token.v != WSQI_TOKEN_HERE);
    wsqi_store_rlx(&pool->watcher, 0u);
    explore_check(wsq_wake_cancel(pool, &items[0].task));
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
    wsqi_store_sc(&pool->watcher, worker->index + 1);
    explore_start(go_on, &until);
    set_timer(0, 1000000);
    explore_join();
    explore_check(until <= pool->timer_next.v || worker->parker.token.v == WSQI_TOKEN_HERE);
    wsqi_store_rlx(&pool->watcher, 0u);
    for (int i = 0; i < 2; i++) explore_check(wsq_wake_cancel(pool, &items[i].task));
    explore_pool_end(pool);
}

/* ---- other queues ---- */

static void spawn_as(int i, wsq_priority priority) {
    explore_check(wsq_task_set_priority(&items[i].task, priority) == WSQ_OK);
    spawn(i);
}

static void low_1(void *arg) {
    (void)arg;
    spawn_as(1, WSQ_LOW);
}

/* They run side by side: no queue is forgotten by who goes to sleep. */
static void high_and_low(void) {
    begin(2, plain);
    items[0].company = items[1].company = 2;
    if (explore_choose(2)) explore_wait_quiet();
    explore_start(low_1, NULL);
    spawn_as(0, WSQ_HIGH);
    end(2);
}

static void pinned_1(void *arg) {
    (void)arg;
    explore_check(wsq_spawn_on(pool, 1, &items[1].task) == WSQ_OK);
}

/* Each has its worker, asleep or not. */
static void pinned(void) {
    begin(2, plain);
    items[0].company = items[1].company = 2;
    if (explore_choose(2)) explore_wait_quiet();
    explore_start(pinned_1, NULL);
    explore_check(wsq_spawn_on(pool, 0, &items[0].task) == WSQ_OK);
    end(2);
}

/* A pinned one among others, which may be woken for it. */
static void pinned_and_plain(void) {
    begin(2, plain);
    items[1].waits = true;
    explore_check(wsq_spawn_on(pool, (unsigned)explore_choose(2), &items[1].task) == WSQ_OK);
    if (explore_choose(2)) explore_wait_quiet();
    explore_start(spawner, (void *)(uintptr_t)&number[0]);
    send(1);
    end(2);
}

/* Its worker is in the middle of a task, which waits for it. */
static wsq_poll run_waiting(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    explore_check(wsq_task_wait(&items[1].task) == WSQ_OK);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static void pinned_to_who_waits(void) {
    begin(1, plain);
    items[0].task.fn = run_waiting;
    items[1].waits = true;
    explore_check(wsq_spawn_on(pool, 0, &items[1].task) == WSQ_OK);
    explore_wait_quiet();
    spawn(0);
    if (explore_choose(2)) explore_wait_quiet();
    send(1);
    end(2);
}

/* Without threads one sleeps for all workers, in whatever wait. */
static void pinned_where_the_caller_runs(void) {
    begin(2, (wsq_config){.caller_runs = true});
    for (int i = 0; i < 2; i++) {
        items[i].waits = true;
        explore_check(wsq_spawn_on(pool, (unsigned)i, &items[i].task) == WSQ_OK);
    }
    items[1].due = explore_choose(2) ? wsqi_clock_ns() + 1000 : 0;
    if (items[1].due) explore_check(wsq_wake_after(pool, &items[1].task, 1000) == WSQ_OK);
    else explore_start(send_1, NULL);
    explore_start(send_0, NULL);
    if (explore_choose(2)) explore_check(wsq_task_wait(&items[1].task) == WSQ_OK);
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    explore_wait_quiet();
    for (int i = 0; i < 2; i++) explore_check(items[i].done);
    explore_pool_end(pool);
}

/* What comes to an inbox after its worker has left is cancelled. */
static void pinned_against_shutdown(void) {
    begin(1, plain);
    items[0].waits = items[1].waits = true;
    for (int i = 0; i < 2; i++) explore_check(wsq_spawn_on(pool, 0, &items[i].task) == WSQ_OK);
    explore_wait_quiet();
    explore_start(send_0, NULL);
    explore_start(send_1, NULL);
    explore_check(wsq_pool_shutdown(pool, WSQ_CANCEL) == WSQ_OK);
    explore_wait_quiet();
    for (int i = 0; i < 2; i++) explore_check(items[i].done + items[i].cleaned == 1);
    explore_pool_end(pool);
}

/* ---- groups ---- */

static wsq_group group, other_group;

static void group_spawn(int i) {
    wsq_result result = wsq_group_spawn(&group, &items[i].task);
    explore_check(result == WSQ_OK || (result == WSQ_ERR_CANCELLED && wsq_group_cancelled(&group)) ||
                  (result == WSQ_ERR_CLOSED && wsqi_load_rlx(pool->phase) != WSQI_PHASE_RUN));
    if (result != WSQ_OK) items[i].cleaned = 1; /* it is ours */
}

static void begin_group(unsigned workers, wsq_config config) {
    begin(workers, config);
    explore_check(wsq_group_init(&group, pool) == WSQ_OK);
}

/* Every task was done, or cancelled, once, before the wait returned. */
static void check_group(int count) {
    for (int i = 0; i < count; i++) {
        explore_check(items[i].done + items[i].cleaned == 1);
        if (items[i].done) explore_check(wsqi_get(&items[i].letter) == 1);
    }
}

static void group_wait(void) {
    begin_group(1 + (unsigned)explore_choose(2), plain);
    group_spawn(0);
    group_spawn(1);
    group_spawn(2);
    explore_check(wsq_group_wait(&group) == WSQ_OK);
    check_group(3);
    end(3);
}

/* The waiter frees it, tasks and all, while the workers are still at it. */
static void group_is_freed(void) {
    struct { wsq_group group; item items[2]; } *all;
    begin(2, plain);
    all = explore_malloc(sizeof *all);
    wsq_group_init(&all->group, pool);
    for (int i = 0; i < 2; i++) {
        init(&all->items[i]);
        explore_check(wsq_group_spawn(&all->group, &all->items[i].task) == WSQ_OK);
    }
    explore_check(wsq_group_wait(&all->group) == WSQ_OK);
    for (int i = 0; i < 2; i++) explore_check(wsqi_get(&all->items[i].letter) == 1);
    explore_free(all);
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    end(0);
}

static void group_waiter(void *arg) {
    (void)arg;
    explore_check(wsq_group_wait(&group) == WSQ_OK);
}

static void two_wait_for_group(void) {
    begin_group(2, plain);
    group_spawn(0);
    explore_start(group_waiter, NULL);
    group_spawn(1);
    explore_check(wsq_group_wait(&group) == WSQ_OK);
    check_group(2);
    end(2);
}

static void group_with_time(void) {
    begin_group(1 + (unsigned)explore_choose(2), plain);
    group_spawn(0);
    group_spawn(1);
    wsq_result result;
    do result = wsq_group_wait_for(&group, 1000);
    while (result == WSQ_ERR_TIMEOUT);
    explore_check(result == WSQ_OK);
    check_group(2);
    end(2);
}

/* What runs when it is done frees it. */
static wsq_poll run_after_group(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    check_group(2);
    memset(&group, 0xa5, sizeof group);
    it->done = 1;
    return WSQ_DONE;
}

static void then_against_end(void) {
    begin_group(1 + (unsigned)explore_choose(2), plain);
    items[2].task.fn = run_after_group;
    group_spawn(0);
    group_spawn(1);
    explore_check(wsq_group_then(&group, &items[2].task) == WSQ_OK);
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    end(3);
}

/* Two threads say what comes then. */
static wsq_poll run_after_both(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    check_group(2);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static void then_3(void *arg) {
    (void)arg;
    explore_check(wsq_group_then(&group, &items[3].task) == WSQ_OK);
}

static void two_thens(void) {
    begin_group(1 + (unsigned)explore_choose(2), plain);
    items[2].task.fn = items[3].task.fn = run_after_both;
    group_spawn(0);
    group_spawn(1);
    explore_start(then_3, NULL);
    explore_check(wsq_group_then(&group, &items[2].task) == WSQ_OK);
    end(4);
}

/* A spawn fails, and so brings the count back to zero: what its thread did before is seen by what
 * comes then. */
static void failing_spawner(void *arg) {
    item *last = arg;
    wsqi_set(&last->letter, 1);
    explore_check(wsq_group_spawn(&group, &items[0].task) == WSQ_ERR_INVALID);
    last->done = 1;
}

static wsq_poll run_after_failure(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    explore_check(wsqi_get(&items[1].letter) == 1);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static void then_against_failure(void) {
    begin_group(1, plain);
    items[0].waits = true;
    items[2].task.fn = run_after_failure;
    spawn(0);
    explore_start(failing_spawner, &items[1]);
    while (wsqi_load_rlx(&group.word) < WSQI_GROUP_TASK && !items[1].done) wsqi_pause();
    if (wsqi_load_rlx(&group.word) < WSQI_GROUP_TASK) items[2].done = 1; /* it was too late */
    else explore_check(wsq_group_then(&group, &items[2].task) == WSQ_OK);
    while (!items[1].done) {
        (void)wsqi_load_rlx(&pool->idle);
        wsqi_pause();
    }
    send(0);
    end(3);
}

/* It also brings the count to zero for others: what they did before is seen, too, by a worker that
 * knows nothing of them. */
static wsq_poll run_until_zero(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    while (group.word.v >= WSQI_GROUP_TASK) {
        (void)wsqi_load_rlx(&pool->idle);
        wsqi_pause();
    }
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static wsq_poll run_after_one(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    check_group(1);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static void spawner_in_vain(void *arg) {
    int *over = arg;
    explore_check(wsq_group_spawn(&group, &items[3].task) == WSQ_ERR_INVALID);
    *over = 1;
}

static void then_by_failure(void) {
    int over = 0;
    begin_group(2, plain);
    items[1].task.fn = run_until_zero;
    items[2].task.fn = run_after_one;
    items[3].waits = true;
    spawn(3);
    group_spawn(0);
    spawn(1);
    explore_start(spawner_in_vain, &over);
    explore_check(wsq_group_then(&group, &items[2].task) == WSQ_OK);
    while (!over) {
        (void)wsqi_load_rlx(&pool->idle);
        wsqi_pause();
    }
    send(3);
    end(4);
}

static void failed_group_spawn(void) {
    begin_group(1, plain);
    items[0].waits = true;
    spawn(0);
    explore_check(wsq_group_spawn(&group, &items[0].task) == WSQ_ERR_INVALID);
    explore_check(wsq_group_wait(&group) == WSQ_OK);
    send(0);
    end(1);
}

static void canceller(void *arg) {
    (void)arg;
    wsq_group_cancel(&group);
}

static void cancel_against_group(void) {
    begin_group(1 + (unsigned)explore_choose(2), plain);
    group_spawn(0);
    explore_start(canceller, NULL);
    group_spawn(1);
    group_spawn(2);
    wsq_result result = wsq_group_wait(&group);
    explore_check(result == WSQ_OK || result == WSQ_ERR_CANCELLED);
    check_group(3);
    end(0);
}

/* The group is freed when the pool is quiet, or as soon as nothing is pending. */
static wsq_group *brief_group;

static wsq_poll run_spawner(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    for (int i = 1; i < 3; i++)
        explore_check(wsq_group_spawn(brief_group, &items[i].task) == WSQ_OK);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static void group_until_quiet(void) {
    begin(1 + (unsigned)explore_choose(2), plain);
    brief_group = explore_malloc(sizeof *brief_group);
    explore_check(wsq_group_init(brief_group, pool) == WSQ_OK);
    items[0].task.fn = run_spawner;
    spawn(0);
    if (explore_choose(2)) explore_check(wsq_pool_wait(pool) == WSQ_OK);
    else while (wsq_pool_pending(pool) != 0) wsqi_pause();
    explore_free(brief_group);
    end(3);
}

/* Tasks of the group spawn others into it. */
static wsq_poll run_inside(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    int first = it == &items[0] ? 1 : 3;
    group_spawn(first);
    if (it == &items[0]) group_spawn(2);
    if (it == &items[0] && explore_choose(2))
        explore_check(wsq_group_spawn(&group, task) == WSQ_ERR_INVALID);
    it->done = 1;
    wsqi_set(&it->letter, 1);
    return WSQ_DONE;
}

static void group_from_inside(void) {
    begin_group(1 + (unsigned)explore_choose(2), plain);
    items[0].task.fn = items[1].task.fn = run_inside;
    group_spawn(0);
    explore_check(wsq_group_wait(&group) == WSQ_OK);
    check_group(4);
    memset(&group, 0xa5, sizeof group);
    end(4);
}

/* What comes after a cancelled task is cancelled, too. */
static void cancel_and_follower(void) {
    begin_group(1 + (unsigned)explore_choose(2), plain);
    bool early = explore_choose(2);
    if (early) follow(1, 0);
    if (early) spawn(1);
    group_spawn(0); /* not cancelled yet */
    explore_start(canceller, NULL);
    if (!early) follow(1, 0);
    if (!early) spawn(1);
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    explore_check(items[0].done + items[0].cleaned == 1 && items[1].done == items[0].done);
    explore_check(items[1].cleaned == items[0].cleaned);
    end(0);
}

/* Its first end is told late, when it runs again: followed now, cancelled perhaps, freed by who
 * follows. */
static void followed_again(void) {
    begin_group(2, plain);
    item *first = explore_malloc(sizeof *first);
    init(first);
    explore_check(wsq_spawn(pool, &first->task) == WSQ_OK);
    while (!wsq_task_done(&first->task)) wsqi_pause();
    wsqi_set(&first->letter, 0);
    first->done = 0;
    explore_check(wsq_group_spawn(&group, &first->task) == WSQ_OK);
    items[1].after[0] = first;
    items[1].frees = true;
    explore_check(wsq_task_after(&items[1].task, &first->task, &edges[1]) == WSQ_OK);
    wsq_group_cancel(&group);
    spawn(1);
    explore_wait_quiet();
    explore_check(items[1].done + items[1].cleaned == 1);
    explore_check(items[1].done || first->cleaned);
    end(0);
    if (!items[1].done) explore_free(first);
}

/* A task of one group waits for another, and runs a task of that, above itself, which spawns. */

static wsq_poll run_in_other(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    explore_check(wsq_group_spawn(&other_group, &items[3].task) == WSQ_OK);
    it->done = 1;
    return WSQ_DONE;
}

static wsq_poll run_across(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    explore_check(wsq_group_spawn(&other_group, &items[2].task) == WSQ_OK);
    group_spawn(1);
    explore_check(wsq_group_wait(&other_group) == WSQ_OK);
    explore_check(wsqi_get(&items[3].letter) == 1);
    wsqi_set(&it->letter, 1);
    it->done = 1;
    return WSQ_DONE;
}

static void group_across_groups(void) {
    begin_group(1 + (unsigned)explore_choose(2), plain);
    explore_check(wsq_group_init(&other_group, pool) == WSQ_OK);
    items[0].task.fn = run_across;
    items[2].task.fn = run_in_other;
    group_spawn(0);
    explore_check(wsq_group_wait(&group) == WSQ_OK);
    check_group(2);
    end(4);
}

/* One sleeps, and is cancelled when it is woken. */
static void cancel_what_sleeps(void) {
    begin_group(1 + (unsigned)explore_choose(2), plain);
    items[0].waits = true;
    group_spawn(0);
    explore_start(canceller, NULL);
    send(0);
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    wsq_result result = wsq_group_wait(&group);
    explore_check(result == WSQ_OK || result == WSQ_ERR_CANCELLED);
    check_group(1);
    end(0);
}

static void group_against_shutdown(void) {
    begin_group(1 + (unsigned)explore_choose(2), plain);
    group_spawn(0);
    group_spawn(1);
    explore_check(wsq_pool_shutdown(pool, explore_choose(2) ? WSQ_CANCEL : WSQ_DRAIN) == WSQ_OK);
    wsq_result result = wsq_group_wait(&group);
    explore_check(result == WSQ_OK || result == WSQ_ERR_CANCELLED);
    check_group(2);
    explore_pool_end(pool);
}

/* A task that has a group for itself, as if on its stack: once its wait is over, whatever happens to
 * the pool, nobody touches the group again. */
static int kept;     /* how many tasks */
static bool lingers; /* it begins to wait when the pool stops, perhaps */

/* As a task that does something until then. */
static void linger(void) {
    for (int i = 0; i < 8 && wsqi_load_rlx(pool->phase) == WSQI_PHASE_RUN; i++) explore_wait_quiet();
}

static void keep(void) {
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

static wsq_poll run_keeper(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    keep();
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static void begin_keeper(int tasks) {
    wsq_config config = {.max_standins = explore_choose(2) ? 1 : WSQ_STANDINS_OFF};
    begin_group(1 + (unsigned)explore_choose(2), config);
    kept = tasks;
    lingers = false;
    items[0].task.fn = run_keeper;
}

static void end_keeper(void) {
    explore_check(wsq_pool_shutdown(pool, WSQ_CANCEL) == WSQ_OK);
    for (int i = 0; i < 8; i++) explore_wait_quiet(); /* others wait for such moments, too */
    explore_check(items[0].done + items[0].cleaned == 1);
    explore_pool_end(pool);
}

/* It runs until the pool stops, if that is soon. */
static wsq_poll run_slowly(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    linger();
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static void keeper_against_cancel(void) {
    begin_keeper(2);
    items[1].task.fn = run_slowly;
    spawn(0);
    if (explore_choose(2)) explore_wait_quiet();
    end_keeper();
}

/* Without threads what it keeps may lie in the queue of a worker whose turn it is not. */
static void pump_all(void *arg) {
    (void)arg;
    wsq_result result = wsq_pool_wait(pool);
    explore_check(result == WSQ_OK || result == WSQ_ERR_CANCELLED);
}

static void keeper_without_threads(void) {
    begin(2, (wsq_config){.caller_runs = true});
    items[0].task.fn = run_keeper;
    kept = 3;
    lingers = false;
    spawn(0);
    explore_start(pump_all, NULL);
    end_keeper();
}

/* Likewise what is pinned to that worker, which is about to run it. */
static wsq_poll run_pinning(wsq_ctx ctx, wsq_task *task) {
    bool spawned = true;
    (void)ctx;
    for (int i = 1; i <= 2; i++) spawned = spawned && wsq_spawn_on(pool, 1, &items[i].task) == WSQ_OK;
    if (spawned) {
        (void)wsq_task_wait(&items[2].task);
        explore_check(items[2].done + items[2].cleaned == 1);
    }
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static void pinned_elsewhere_without_threads(void) {
    begin(2, (wsq_config){.caller_runs = true});
    items[0].task.fn = run_pinning;
    items[1].task.fn = run_slowly;
    spawn(0);
    explore_start(pump_all, NULL);
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

/* Who waits for that task, and for one in vain, too. */
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

/* A task waits for a group of its own. */
static wsq_poll run_parent(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    group_spawn(1);
    group_spawn(2);
    explore_check(wsq_group_wait(&group) == WSQ_OK);
    explore_check(wsqi_get(&items[1].letter) == 1 && wsqi_get(&items[2].letter) == 1);
    it->done = 1;
    return WSQ_DONE;
}

static void group_of_a_task(void) {
    wsq_config config = {.max_standins = explore_choose(2) ? 1 : WSQ_STANDINS_OFF};
    begin_group(1 + (unsigned)explore_choose(2), config);
    items[0].task.fn = run_parent;
    if (explore_choose(2)) spawn(3);
    spawn(0);
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    end(3);
}

/* ---- futures ---- */

static int result_of[ITEMS]; /* plain */

static void *call(void *arg) {
    int *result = arg;
    wsqi_set(result, wsqi_get(result) + 1);
    return result;
}

static wsq_future *submit(int i) {
    wsq_future *future = NULL;
    explore_check(wsq_submit(pool, call, &result_of[i], &future) == WSQ_OK);
    return future;
}

static void get(wsq_future *future, int i) {
    void *result = NULL;
    explore_check(wsq_future_get(future, &result) == WSQ_OK);
    explore_check(result == &result_of[i] && wsqi_get(&result_of[i]) == 1);
}

static void begin_futures(unsigned workers, wsq_config config) {
    begin(workers, config);
    memset(result_of, 0, sizeof result_of);
}

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

static wsq_future *shared;

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

/* A task gets its own future, here if nobody stole it, and somebody else's, which it may have to
 * wait for. */
static wsq_poll run_getter(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    wsq_future *own = submit(1);
    if (explore_choose(2)) get(shared, 0), get(own, 1);
    else get(own, 1), get(shared, 0);
    it->done = 1;
    return WSQ_DONE;
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

/* What a future writes lies on the stack of who waits for it: no more once that wait is over. */
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
    for (int i = 0; i < 3; i++) explore_check(wsq_go(pool, go_call, &result_of[i]) == WSQ_OK);
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    for (int i = 0; i < 3; i++) explore_check(wsqi_get(&result_of[i]) == 1);
    end(0);
}

/* ---- stand-ins ---- */

/* Waits for task 1, which somebody else has to run. */
static wsq_poll run_blocked(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    explore_check(wsq_task_wait(&items[1].task) == WSQ_OK);
    explore_check(wsqi_get(&items[1].letter) == 1);
    it->done = 1;
    return WSQ_DONE;
}

/* Sometimes there is no thread to be had. */
static void wait_inside(void) {
    wsq_config config = {.max_standins = 1 + (unsigned)explore_choose(2)};
    unsigned workers = 1 + (unsigned)explore_choose(2);
    begin(workers, config);
    explore_threads_left = explore_choose(3) ? EXPLORE_FIBERS : 0;
    items[0].task.fn = items[2].task.fn = run_blocked;
    items[1].waits = true;
    spawn(1);
    spawn(0);
    if (explore_choose(2)) spawn(2);
    else items[2].done = 1;
    if (explore_choose(2)) explore_wait_quiet();
    spawn(3);
    send(1);
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    end(4);
}

/* For a while, again and again; it may work meanwhile. */
static wsq_poll run_impatient(wsq_ctx ctx, wsq_task *task) {
    wsq_result result;
    (void)ctx;
    do result = wsq_task_wait_for(&items[1].task, 200000);
    while (result == WSQ_ERR_TIMEOUT);
    explore_check(result == WSQ_OK && wsqi_get(&items[1].letter) == 1);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static void impatient_inside(void) {
    wsq_config config = {.max_standins = explore_choose(2) ? 1 : WSQ_STANDINS_OFF};
    begin(1 + (unsigned)explore_choose(2), config);
    items[0].task.fn = run_impatient;
    items[1].waits = true;
    spawn(1);
    spawn(0);
    spawn(2);
    send(1);
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    end(3);
}

/* Likewise for task 4. */
static wsq_poll run_blocked_too(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    explore_check(wsq_task_wait(&items[4].task) == WSQ_OK);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

/* The one stand-in goes from the first that waits to the second, which worked meanwhile. */
static void two_wait_inside(void) {
    wsq_config config = {.max_standins = 1};
    begin(2, config);
    items[0].task.fn = run_blocked;
    items[2].task.fn = run_blocked_too;
    items[1].waits = items[4].waits = true;
    spawn(1);
    spawn(4);
    spawn(0);
    spawn(2);
    if (explore_choose(2)) explore_wait_quiet();
    send(1);
    if (explore_choose(2)) explore_wait_quiet();
    spawn(3);
    explore_check(wsq_task_wait(&items[3].task) == WSQ_OK);
    send(4);
    end(5);
}

/* In a call that blocks: until task 1 has run, on a stand-in; then once more. */
static wsq_poll run_blocking(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    wsq_block_begin(ctx);
    explore_meet(&gate, 2);
    wsq_block_end(ctx);
    spawn(2);
    if (it->runs++ == 0 && explore_choose(2)) {
        wsq_block_begin(ctx);
        wsq_block_end(ctx);
    }
    it->done = 1;
    return WSQ_DONE;
}

static void blocking_call(void) {
    wsq_config config = {.max_standins = 1};
    begin(1, config);
    items[0].task.fn = run_blocking;
    items[1].company = 2;
    spawn(0);
    if (explore_choose(2)) explore_wait_quiet();
    spawn(1);
    end(3);
}

/* What it wakes it leaves behind; for whoever is left, and not only for a watcher. */
static wsq_poll run_leaving(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    explore.rested = 0;
    if (it == &items[4]) send(3);
    wsq_block_begin(ctx);
    explore_meet(&gate, it->company);
    explore_check(explore.rested < WSQI_WATCH_NS);
    wsq_block_end(ctx);
    it->done = 1;
    return WSQ_DONE;
}

/* The stand-in was needed before, and sleeps. */
static void blocking_again(void) {
    wsq_config config = {.max_standins = 1};
    begin(1, config);
    items[0].task.fn = run_blocking;
    items[1].company = 2;
    spawn(0);
    spawn(1);
    explore_wait_quiet();
    gate = 0;
    items[3].waits = true;
    items[3].company = items[4].company = 2;
    items[4].task.fn = run_leaving;
    spawn(3);
    explore_wait_quiet();
    spawn(4);
    end(5);
}

/* The stand-in is another's. */
static void both_blocking(void) {
    wsq_config config = {.max_standins = 1};
    begin(2, config);
    items[0].task.fn = items[4].task.fn = run_leaving;
    items[0].company = items[3].company = items[4].company = 3;
    items[3].waits = true;
    spawn(3);
    spawn(0);
    explore_wait_quiet();
    spawn(4);
    items[1].done = items[2].done = 1;
    end(5);
}

/* In a blocking call it wakes 3, which wakes 1, and waits for that. */
static wsq_poll run_waiting_in_call(wsq_ctx ctx, wsq_task *task) {
    wsq_block_begin(ctx);
    explore.rested = 0;
    send(3);
    explore_check(wsq_task_wait(&items[1].task) == WSQ_OK);
    explore_check(explore.rested < WSQI_WATCH_NS);
    wsq_block_end(ctx);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static void waiting_in_a_call(void) {
    wsq_config config = {.max_standins = 1};
    begin(1 + (unsigned)explore_choose(2), config);
    items[0].task.fn = run_waiting_in_call;
    items[1].waits = true;
    items[3].task.fn = run_sending;
    items[3].sends = 1;
    spawn(1);
    spawn(3);
    explore_wait_quiet();
    spawn(0);
    items[2].done = 1;
    end(4);
}

/* The stand-in has something in its slot when it is needed no more. */
static wsq_poll run_filling_slot(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    send(2);
    explore_meet(&gate, 2);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static void standin_leaves_work(void) {
    wsq_config config = {.max_standins = 1};
    begin(1, config);
    items[0].task.fn = run_leaving;
    items[0].company = 2;
    items[1].task.fn = run_filling_slot;
    items[2].waits = true;
    spawn(2);
    spawn(0);
    explore_wait_quiet();
    spawn(1);
    end(3);
}

static void blocking_against_shutdown(void) {
    wsq_config config = {.max_standins = 1};
    begin(1, config);
    items[0].task.fn = run_blocked;
    spawn(1);
    spawn(0);
    explore_check(wsq_pool_shutdown(pool, explore_choose(2) ? WSQ_CANCEL : WSQ_DRAIN) == WSQ_OK);
    explore_pool_end(pool);
}

/* Two pools that wait for each other, each with one worker. */
static wsq_poll run_here_and_there(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    explore_check(wsq_task_wait(&it->after[0]->task) == WSQ_OK);
    explore_check(wsqi_get(&it->after[0]->letter) == 1);
    wsqi_set(&it->letter, 1);
    it->done = 1;
    return WSQ_DONE;
}

static void two_pools(void) {
    wsq_config config = {.max_standins = 1};
    begin(1, config);
    wsq_pool *other = explore_pool_make(1, config);
    items[0].task.fn = items[1].task.fn = run_here_and_there;
    items[0].after[0] = &items[1];
    items[1].after[0] = &items[2];
    items[2].waits = true;
    spawn(2);
    explore_check(wsq_spawn(other, &items[1].task) == WSQ_OK);
    spawn(0);
    if (explore_choose(2)) explore_wait_quiet();
    send(2);
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    explore_wait_quiet();
    explore_check_parked(other);
    explore_pool_end(other);
    end(3);
}

/* ---- without threads ---- */

/* Two threads wait, and take turns at the work; a timer is all that is left to do. */
static void callers_wait(void) {
    wsq_config config = {.caller_runs = true};
    begin_futures(1 + (unsigned)explore_choose(2), config);
    wsq_group_init(&group, pool);
    items[0].waits = true;
    spawn(0);
    set_timer(0, 20000);
    group_spawn(1);
    group_spawn(2);
    explore_start(group_waiter, NULL);
    get(submit(0), 0);
    explore_check(wsq_task_wait(&items[0].task) == WSQ_OK);
    explore_pool_end(pool);
    check_group(3);
}

/* All of it in tasks, one above the other. */
static void callers_wait_inside(void) {
    wsq_config config = {.caller_runs = true};
    begin_futures(1 + (unsigned)explore_choose(2), config);
    wsq_group_init(&group, pool);
    items[0].task.fn = run_parent;
    items[3].task.fn = run_getter;
    shared = submit(0);
    spawn(0);
    spawn(3);
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    explore_check(items[0].done && items[3].done);
    explore_pool_end(pool);
}

/* ---- statistics ---- */

static wsq_poll run_mother(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    for (int i = 1; i < ITEMS; i++) spawn(i);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

/* At no moment have more tasks finished than there are. */
static void stats_meanwhile(void) {
    wsq_stats stats;
    begin(2, plain);
    items[0].task.fn = run_mother;
    spawn(0);
    for (int i = 0; i < 3; i++) {
        wsq_pool_stats(pool, &stats);
        explore_check(stats.finished <= stats.spawned);
    }
    end(ITEMS);
}

int main(void) {
    explore_random("compose: an edge against the end", edge_against_end, 2000);
    explore_random("compose: two edges to one", two_edges_to_one, 2000);
    explore_random("compose: an edge and a waiter", edge_and_waiter, 2000);
    explore_random("compose: one after two", one_after_two, 2000);
    explore_random("compose: two meet after one", two_meet_after_one, 1000);
    explore_random("compose: freed by its successor", freed_by_successor, 2000);
    explore_random("compose: an edge against cancel", edge_against_cancel, 2000);
    explore_random("compose: an edge against a refusal", edge_against_refusal, 1500);
    explore_random("compose: a wait against a refusal", wait_against_refusal, 1500);
    explore_random("compose: a wait against a batch", wait_against_batch, 1500);
    explore_random("compose: one timer", one_timer, 2000);
    explore_random("compose: two timers", two_timers, 2000);
    explore_random("compose: a timer against cancel", timer_against_cancel, 2000);
    explore_random("compose: a timer against shutdown", timer_against_shutdown, 2000);
    explore_random("compose: a timer and a slot", timer_and_slot, 2000);
    explore_random("compose: a watcher has work", watcher_has_work, 2000);
    explore_random("compose: a timer against a watcher", timer_against_watcher, 2000);
    explore_random("compose: an earlier timer", earlier_timer_against_watcher, 2000);
    explore_random("compose: a slot before a timer", slot_before_timer, 2000);
    explore_random("compose: high and low", high_and_low, 2000);
    explore_random("compose: pinned", pinned, 2000);
    explore_random("compose: pinned and plain", pinned_and_plain, 2000);
    explore_random("compose: pinned to who waits", pinned_to_who_waits, 1500);
    explore_random("compose: pinned where the caller runs", pinned_where_the_caller_runs, 1500);
    explore_random("compose: pinned against shutdown", pinned_against_shutdown, 1500);
    explore_random("compose: wait for a group", group_wait, 2000);
    explore_random("compose: a group on a stack against cancel", keeper_against_cancel, 2000);
    explore_random("compose: a group on a stack, no threads", keeper_without_threads, 2000);
    explore_random("compose: pinned elsewhere, no threads", pinned_elsewhere_without_threads, 1500);
    explore_random("compose: groups on two stacks", keeper_of_keeper, 2000);
    explore_random("compose: a group below a join", keeper_of_a_join, 2000);
    explore_random("compose: a group below a wait", keeper_of_what_is_below, 2000);
    explore_random("compose: waits for who has a group", wait_for_keeper, 2000);
    explore_random("compose: a group beside wakes", keeper_beside_wakes, 1500);
    explore_random("compose: a group outside beside wakes", keeper_outside_beside_wakes, 2000);
    explore_random("compose: a future on a stack against cancel", get_inside_against_cancel, 2000);
    explore_random("compose: a group is freed", group_is_freed, 2000);
    explore_random("compose: two wait for a group", two_wait_for_group, 2000);
    explore_random("compose: a group, for a while", group_with_time, 2000);
    explore_random("compose: then against the end", then_against_end, 2000);
    explore_random("compose: two thens", two_thens, 1500);
    explore_random("compose: then against a failed spawn", then_against_failure, 1500);
    explore_random("compose: then by a failed spawn", then_by_failure, 1500);
    explore_random("compose: a failed spawn", failed_group_spawn, 1000);
    explore_random("compose: cancel against a group", cancel_against_group, 2000);
    explore_random("compose: a group until the pool is quiet", group_until_quiet, 2000);
    explore_random("compose: a group from inside", group_from_inside, 2000);
    explore_random("compose: a group across groups", group_across_groups, 2000);
    explore_random("compose: cancel and a follower", cancel_and_follower, 2000);
    explore_random("compose: followed again", followed_again, 2000);
    explore_random("compose: cancel what sleeps", cancel_what_sleeps, 2000);
    explore_random("compose: a group against shutdown", group_against_shutdown, 2000);
    explore_random("compose: a group of a task", group_of_a_task, 2000);
    explore_random("compose: futures from outside", futures_from_outside, 2000);
    explore_random("compose: drop against run", drop_against_run, 2000);
    explore_random("compose: then against run", then_against_run, 2000);
    explore_random("compose: get inside", get_inside, 2000);
    explore_random("compose: many inside", many_inside, 2000);
    explore_random("compose: get against shutdown", get_against_shutdown, 2000);
    explore_random("compose: go", go, 2000);
    explore_random("compose: wait inside", wait_inside, 2000);
    explore_random("compose: impatient inside", impatient_inside, 2000);
    explore_random("compose: two wait inside", two_wait_inside, 2000);
    explore_random("compose: a blocking call", blocking_call, 2000);
    explore_random("compose: blocking again", blocking_again, 2000);
    explore_random("compose: both blocking", both_blocking, 2000);
    explore_random("compose: waiting in a call", waiting_in_a_call, 1500);
    explore_random("compose: a stand-in leaves work", standin_leaves_work, 1500);
    explore_random("compose: blocking against shutdown", blocking_against_shutdown, 2000);
    explore_random("compose: two pools", two_pools, 2000);
    explore_random("compose: callers wait", callers_wait, 2000);
    explore_random("compose: callers wait inside", callers_wait_inside, 2000);
    explore_random("compose: statistics meanwhile", stats_meanwhile, 2000);
    return explore_end();
}
