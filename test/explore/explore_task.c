/* Task states in the explorer: wake against run, pending, finish and wait; memory that is reused as
 * soon as it may be; the LIFO slot and its late thieves. */
#include "explore_small.h"
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include "explore_pool.h"

enum { FLAGS = 3, PEERS = 3 };

/* Done once `needed` of its flags are set; each stands for a letter that was written before. */
typedef struct item {
    wsq_task task;
    wsqi_a32 flag[FLAGS];
    int letter[FLAGS]; /* plain: a thread that sees the flag, or was woken for it, reads it */
    int needed, yields;
    int runs, running, done; /* the explorer's own */
} item;

static item items[PEERS];
static int gate;
static wsq_pool *pool;
static const wsq_config plain;

static int letters(item *it) {
    int count = 0;
    for (int i = 0; i < FLAGS; i++) {
        if (!wsqi_load_acq(&it->flag[i])) continue;
        explore_check(wsqi_get(&it->letter[i]) == i + 1);
        count++;
    }
    return count;
}

static wsq_poll run_item(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    explore_check(it->running++ == 0 && !it->done); /* on one worker at a time */
    it->runs++;
    int count = letters(it);
    it->running--;
    if (it->yields > 0) {
        it->yields--;
        return WSQ_YIELD;
    }
    if (count < it->needed) return WSQ_PENDING;
    it->done = 1;
    return WSQ_DONE;
}

static void init(item *it, wsq_task_fn fn, int needed) {
    memset(it, 0, sizeof *it);
    it->needed = needed;
    wsq_task_init(&it->task, fn);
}

static void begin(unsigned workers, wsq_config config) {
    gate = 0;
    for (int i = 0; i < PEERS; i++) init(&items[i], run_item, 0);
    pool = explore_pool_make(workers, config);
}

static item *make(wsq_task_fn fn, int needed) {
    item *it = explore_malloc(sizeof *it);
    if (!it) explore_fail("no memory");
    init(it, fn, needed);
    return it;
}

static void spawn(item *it) { explore_check(wsq_spawn(pool, &it->task) == WSQ_OK); }

/* The letter's flag is relaxed: only the wake orders it. */
static void post(item *it, int i) {
    wsqi_set(&it->letter[i], i + 1);
    wsqi_store_rel(&it->flag[i], 1u);
    wsq_wake(&it->task);
}

static void poster_0(void *arg) { post(arg, 0); }
static void poster_1(void *arg) { post(arg, 1); }

static void join_from(int fiber) {
    for (int i = fiber; i < explore.fibers; i++) explore_join_one(&explore.fiber[i]);
}

static void end(void) {
    explore_wait_quiet();
    explore_check_parked(pool);
    explore_pool_end(pool);
}

/* ---- wakes from outside ---- */

static void one_wake(void) {
    begin(1 + (unsigned)explore_choose(2), plain);
    items[0].needed = 1;
    items[0].yields = explore_choose(2);
    spawn(&items[0]);
    explore_start(poster_0, &items[0]);
    explore_wait_quiet();
    explore_check(items[0].done);
    end();
}

static void two_wakes(void) {
    begin(2, plain);
    items[0].needed = 2;
    items[0].yields = explore_choose(2);
    spawn(&items[0]);
    explore_start(poster_0, &items[0]);
    post(&items[0], 1);
    explore_check(wsq_task_wait(&items[0].task) == WSQ_OK);
    explore_check(items[0].done);
    end();
}

/* Without a release of its own the flag depends on the wake alone. */
static wsq_poll run_relaxed(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    explore_check(it->running++ == 0);
    int count = 0;
    for (int i = 0; i < FLAGS; i++) count += (int)wsqi_load_rlx(&it->flag[i]);
    it->running--;
    if (count == it->needed) it->done = 1;
    return it->done ? WSQ_DONE : WSQ_PENDING;
}

static void relaxed_wake(void *arg) {
    item *it = arg;
    wsqi_store_rlx(&it->flag[0], 1u);
    wsq_wake(&it->task);
}

static void wake_orders(void) {
    begin(1 + (unsigned)explore_choose(2), plain);
    init(&items[0], run_relaxed, 2);
    spawn(&items[0]);
    explore_start(relaxed_wake, &items[0]);
    wsqi_store_rlx(&items[0].flag[1], 1u);
    wsq_wake(&items[0].task);
    explore_wait_quiet();
    explore_check(items[0].done);
    end();
}

/* The task's own plain memory: its runs, on whichever worker, follow each other. */
static wsq_poll run_counter(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    int count = wsqi_get(&it->letter[2]) + 1;
    wsqi_set(&it->letter[2], count);
    it->runs++;
    explore_check(count == it->runs);
    if (count < it->needed) return wsqi_load_rlx(&it->flag[0]) ? WSQ_YIELD : WSQ_PENDING;
    it->done = 1;
    return WSQ_DONE;
}

static void runs_follow(void) {
    begin(2, plain);
    init(&items[0], run_counter, 4);
    spawn(&items[0]);
    explore_start(relaxed_wake, &items[0]);
    wsq_wake(&items[0].task);
    explore_check(wsq_task_wait(&items[0].task) == WSQ_OK);
    explore_check(wsqi_get(&items[0].letter[2]) == 4);
    end();
}

/* Wakes and waits for what is being spawned just now: too early is no harm. */
static void early_bird(void *arg) {
    item *it = arg;
    wsq_wake(&it->task);
    wsq_result result = wsq_task_wait(&it->task);
    explore_check(result == WSQ_ERR_INVALID || (result == WSQ_OK && it->done));
}

static void spawn_against_wake(void) {
    begin(1 + (unsigned)explore_choose(2), plain);
    explore_start(early_bird, &items[0]);
    items[0].yields = explore_choose(2);
    spawn(&items[0]);
    explore_check(wsq_task_wait(&items[0].task) == WSQ_OK);
    end();
}

/* ---- the end of a task ---- */

/* The memory is gone as soon as the wait returns. */
static void wait_and_free(void) {
    begin(1 + (unsigned)explore_choose(2), plain);
    item *it = make(run_item, 1);
    spawn(it);
    int first = explore.fibers;
    explore_start(poster_0, it);
    explore_check(wsq_task_wait(&it->task) == WSQ_OK);
    explore_check(wsq_task_done(&it->task) && letters(it) == 1);
    join_from(first); /* the waker still uses it */
    explore_free(it);
    end();
}

static wsq_poll run_at_once(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    wsqi_set(&it->letter[0], 1);
    return WSQ_DONE;
}

/* Polls instead of waiting. */
static void done_and_free(void) {
    begin(1 + (unsigned)explore_choose(2), plain);
    item *it = make(run_at_once, 0);
    spawn(it);
    if (explore_choose(2)) explore_check(wsq_task_wait(&it->task) == WSQ_OK);
    while (!wsq_task_done(&it->task)) wsqi_pause();
    explore_check(wsqi_get(&it->letter[0]) == 1);
    explore_free(it);
    end();
}

static wsq_poll run_gone(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    explore_check(wsqi_get(&it->letter[0]) == 1);
    explore_free(it);
    return WSQ_GONE;
}

static void gone(void) {
    begin(2, plain);
    for (int i = 0; i < 2; i++) {
        item *it = make(run_gone, 0);
        wsqi_set(&it->letter[0], 1);
        spawn(it);
    }
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    end();
}

static void waiter(void *arg) {
    item *it = arg;
    explore_check(wsq_task_wait(&it->task) == WSQ_OK);
    explore_check(it->done);
}

static void two_waiters(void) {
    begin(1 + (unsigned)explore_choose(2), plain);
    items[0].needed = 1;
    spawn(&items[0]);
    explore_start(waiter, &items[0]);
    explore_start(poster_0, &items[0]);
    waiter(&items[0]);
    end();
}

/* The same memory, a new task. */
static void spawn_again(void) {
    begin(2, plain);
    init(&items[0], run_counter, 1);
    spawn(&items[0]);
    explore_check(wsq_task_wait(&items[0].task) == WSQ_OK);
    items[0].needed = 2;
    spawn(&items[0]);
    if (explore_choose(2)) explore_check(wsq_task_wait(&items[0].task) == WSQ_OK);
    explore_wait_quiet();
    explore_check(items[0].runs == 2);
    end();
}

static void late_spawner(void *arg) {
    item *it = arg;
    wsq_result result = wsq_spawn(pool, &it->task);
    explore_check(result == WSQ_OK || result == WSQ_ERR_INVALID);
    if (result == WSQ_OK) it->letter[1]++;
}

/* Two threads spawn the same task: both may succeed, one after the other, but never at once. */
static wsq_poll run_once(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    explore_check(it->running++ == 0);
    wsqi_set(&it->letter[0], wsqi_get(&it->letter[0]) + 1);
    it->running--;
    it->runs++;
    return WSQ_DONE;
}

static void spawns_meet(void) {
    begin(2, plain);
    init(&items[0], run_once, 0);
    explore_start(late_spawner, &items[0]);
    late_spawner(&items[0]);
    explore_wait_quiet();
    explore_check(items[0].runs == items[0].letter[1] && items[0].runs > 0);
    end();
}

/* ---- wakes from workers: the LIFO slot ---- */

/* Wakes its peers, then meets them. */
static wsq_poll run_waker(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    for (int i = 1; i < it->needed; i++) post(&items[i], 0);
    explore_meet(&gate, it->needed);
    it->done = 1;
    return WSQ_DONE;
}

static wsq_poll run_woken(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    if (letters(it) == 0) return WSQ_PENDING;
    if (it->needed) explore_meet(&gate, it->needed);
    it->done = 1;
    return WSQ_DONE;
}

static void wake_and_meet(unsigned workers, int company) {
    begin(workers, plain);
    init(&items[0], run_waker, company);
    for (int i = 1; i < company; i++) {
        init(&items[i], run_woken, company);
        spawn(&items[i]);
    }
    explore_wait_quiet(); /* they are pending */
    spawn(&items[0]);
    explore_wait_quiet();
    for (int i = 0; i < company; i++) explore_check(items[i].done);
    end();
}

/* The waker waits for whom it woke: the watcher must take it out of the slot. */
static void slot_theft(void) { wake_and_meet(2, 2); }

/* The second wake evicts the first from the slot. */
static void slot_eviction(void) { wake_and_meet(3, 3); }

/* Two tasks wake each other in turn. */
static wsq_poll run_ping(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task), *other = it == items ? &items[1] : &items[0];
    (void)ctx;
    explore_check(it->running++ == 0);
    bool mine = wsqi_load_acq(&it->flag[0]) != 0;
    if (mine) {
        it->runs++;
        wsqi_store_rlx(&it->flag[0], 0u);
        wsqi_set(&items[2].letter[0], wsqi_get(&items[2].letter[0]) + 1); /* the ball */
        wsqi_store_rel(&other->flag[0], 1u);
    }
    it->running--;
    if (mine) wsq_wake(&other->task);
    if (it->runs < 3) return WSQ_PENDING;
    it->done = 1;
    return WSQ_DONE;
}

static void ping_pong(void) {
    begin(2, plain);
    init(&items[0], run_ping, 0);
    init(&items[1], run_ping, 0);
    wsqi_store_rlx(&items[0].flag[0], 1u);
    spawn(&items[1]);
    spawn(&items[0]);
    explore_wait_quiet();
    explore_check(items[0].done && items[1].done);
    end();
}

/* A task waits for one that it has just woken, or that others may have. */
static wsq_poll run_waits(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    post(&items[1], 0);
    explore_check(wsq_task_wait(&items[1].task) == WSQ_OK);
    explore_check(items[1].done);
    it->done = 1;
    return WSQ_DONE;
}

static void wait_inside(void) {
    begin(1 + (unsigned)explore_choose(2), plain);
    init(&items[0], run_waits, 0);
    init(&items[1], run_woken, 0);
    spawn(&items[1]);
    explore_wait_quiet();
    spawn(&items[0]);
    if (pool->workers == 2) wsq_wake(&items[1].task);
    explore_check(wsq_task_wait(&items[0].task) == WSQ_OK);
    end();
}

/* ---- cancelled ---- */

static void cancelled_waiter(void *arg) {
    item *it = arg;
    wsq_result result = wsq_task_wait(&it->task);
    explore_check(result == (it->done ? WSQ_OK : WSQ_ERR_CANCELLED));
}

static void cancel_pending(void) {
    begin(1 + (unsigned)explore_choose(2), plain);
    items[0].needed = 2;
    spawn(&items[0]);
    explore_start(cancelled_waiter, &items[0]);
    explore_start(poster_0, &items[0]);
    if (explore_choose(2)) explore_start(poster_1, &items[0]);
    explore_check(wsq_pool_shutdown(pool, WSQ_CANCEL) == WSQ_OK);
    explore_wait_quiet();
    explore_pool_end(pool);
}

/* ---- the caller runs ---- */

static void caller_runs(void) {
    wsq_config config = {.caller_runs = true};
    begin(1, config);
    items[0].needed = 1;
    items[1].needed = 1;
    spawn(&items[0]);
    spawn(&items[1]);
    explore_start(poster_0, &items[0]);
    if (explore_choose(2)) wsq_pool_run_one(pool);
    post(&items[1], 0);
    explore_check(wsq_task_wait(&items[0].task) == WSQ_OK);
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    explore_check(items[0].done && items[1].done);
    join_from(1);
    wsq_pool_destroy(pool);
}

int main(void) {
    explore_random("task: one wake", one_wake, 7000);
    explore_random("task: two wakes", two_wakes, 7000);
    explore_random("task: a wake orders", wake_orders, 7000);
    explore_random("task: runs follow each other", runs_follow, 6000);
    explore_random("task: spawn against wake and wait", spawn_against_wake, 7000);
    explore_random("task: wait and free", wait_and_free, 6000);
    explore_random("task: done and free", done_and_free, 6000);
    explore_random("task: gone", gone, 6000);
    explore_random("task: two waiters", two_waiters, 7000);
    explore_random("task: spawn again", spawn_again, 7000);
    explore_random("task: two spawns of one task", spawns_meet, 7000);
    explore_random("task: slot theft", slot_theft, 6000);
    explore_random("task: slot eviction", slot_eviction, 6000);
    explore_random("task: ping pong", ping_pong, 6000);
    explore_random("task: wait on a worker", wait_inside, 7000);
    explore_random("task: cancel what waits", cancel_pending, 7000);
    explore_random("task: the caller runs", caller_runs, 6000);
    return explore_end();
}
