/* Task states in the explorer: wake against run, pending, finish and wait; memory that is reused as
 * soon as it may be; the LIFO slot and its late thieves. */
#define WSQ_GUESTS 1
#include "explore_small.h"
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include "explore_steps.h"

enum { FLAGS = 3, PEERS = 3 };

/* Done once `needed` of its flags are set; each stands for a letter that was written before. */
typedef struct mate {
    wsq_task task;
    wsqi_a32 flag[FLAGS];
    int letter[FLAGS]; /* plain: a thread that sees the flag, or was woken for it, reads it */
    int needed, yields;
    int runs, running, done; /* the explorer's own */
} mate;

static mate mates[PEERS];
static int mates_gate;

static int letters(mate *it) {
    int count = 0;
    for (int i = 0; i < FLAGS; i++) {
        if (!wsqi_load_acq(&it->flag[i])) continue;
        explore_check(wsqi_get(&it->letter[i]) == i + 1);
        count++;
    }
    return count;
}

static wsq_poll mate_run(wsq_ctx ctx, wsq_task *task) {
    mate *it = wsq_container_of(task, mate, task);
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

static void init(mate *it, wsq_task_fn fn, int needed) {
    memset(it, 0, sizeof *it);
    it->needed = needed;
    wsq_task_init(&it->task, fn);
}

static void mates_begin(unsigned workers, wsq_config config) {
    mates_gate = 0;
    for (int i = 0; i < PEERS; i++) init(&mates[i], mate_run, 0);
    pool = explore_pool_make(workers, config);
}

static mate *make(wsq_task_fn fn, int needed) {
    mate *it = explore_malloc(sizeof *it);
    if (!it) explore_fail("no memory");
    init(it, fn, needed);
    return it;
}

static void mate_spawn(mate *it) { explore_check(wsq_spawn(pool, &it->task) == WSQ_OK); }

/* The letter's flag is relaxed: only the wake orders it. */
static void mate_post(mate *it, int i) {
    wsqi_set(&it->letter[i], i + 1);
    wsqi_store_rel(&it->flag[i], 1u);
    wsq_wake(&it->task);
}

static void poster_0(void *arg) { mate_post(arg, 0); }
static void poster_1(void *arg) { mate_post(arg, 1); }

static void join_from(int fiber) {
    for (int i = fiber; i < explore.fibers; i++) explore_join_one(&explore.fiber[i]);
}

static void mates_end(void) {
    explore_wait_quiet();
    explore_check_parked(pool);
    explore_pool_end(pool);
}

/* ---- wakes from outside ---- */

static void one_wake(void) {
    mates_begin(1 + (unsigned)explore_choose(2), plain);
    mates[0].needed = 1;
    mates[0].yields = explore_choose(2);
    mate_spawn(&mates[0]);
    explore_start(poster_0, &mates[0]);
    explore_wait_quiet();
    explore_check(mates[0].done);
    mates_end();
}

static void two_wakes(void) {
    mates_begin(2, plain);
    mates[0].needed = 2;
    mates[0].yields = explore_choose(2);
    mate_spawn(&mates[0]);
    explore_start(poster_0, &mates[0]);
    mate_post(&mates[0], 1);
    explore_check(wsq_task_wait(&mates[0].task) == WSQ_OK);
    explore_check(mates[0].done);
    mates_end();
}

/* Without a release of its own the flag depends on the wake alone. */
static wsq_poll run_relaxed(wsq_ctx ctx, wsq_task *task) {
    mate *it = wsq_container_of(task, mate, task);
    (void)ctx;
    explore_check(it->running++ == 0);
    int count = 0;
    for (int i = 0; i < FLAGS; i++) count += (int)wsqi_load_rlx(&it->flag[i]);
    it->running--;
    if (count == it->needed) it->done = 1;
    return it->done ? WSQ_DONE : WSQ_PENDING;
}

static void relaxed_wake(void *arg) {
    mate *it = arg;
    wsqi_store_rlx(&it->flag[0], 1u);
    wsq_wake(&it->task);
}

static void wake_orders(void) {
    mates_begin(1 + (unsigned)explore_choose(2), plain);
    init(&mates[0], run_relaxed, 2);
    mate_spawn(&mates[0]);
    explore_start(relaxed_wake, &mates[0]);
    wsqi_store_rlx(&mates[0].flag[1], 1u);
    wsq_wake(&mates[0].task);
    explore_wait_quiet();
    explore_check(mates[0].done);
    mates_end();
}

/* The task's own plain memory: its runs, on whichever worker, follow each other. */
static wsq_poll run_counter(wsq_ctx ctx, wsq_task *task) {
    mate *it = wsq_container_of(task, mate, task);
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
    mates_begin(2, plain);
    init(&mates[0], run_counter, 4);
    mate_spawn(&mates[0]);
    explore_start(relaxed_wake, &mates[0]);
    wsq_wake(&mates[0].task);
    explore_check(wsq_task_wait(&mates[0].task) == WSQ_OK);
    explore_check(wsqi_get(&mates[0].letter[2]) == 4);
    mates_end();
}

/* Wakes and waits for what is being spawned just now: too early is no harm. */
static void early_bird(void *arg) {
    mate *it = arg;
    wsq_wake(&it->task);
    wsq_result result = wsq_task_wait(&it->task);
    explore_check(result == WSQ_ERR_INVALID || (result == WSQ_OK && it->done));
}

static void spawn_against_wake(void) {
    mates_begin(1 + (unsigned)explore_choose(2), plain);
    explore_start(early_bird, &mates[0]);
    mates[0].yields = explore_choose(2);
    mate_spawn(&mates[0]);
    explore_check(wsq_task_wait(&mates[0].task) == WSQ_OK);
    mates_end();
}

/* ---- the end of a task ---- */

/* The memory is gone as soon as the wait returns. */
static void wait_and_free(void) {
    mates_begin(1 + (unsigned)explore_choose(2), plain);
    mate *it = make(mate_run, 1);
    mate_spawn(it);
    explore_fiber *waker = explore_start(poster_0, it);
    explore_check(wsq_task_wait(&it->task) == WSQ_OK);
    explore_check(wsq_task_done(&it->task) && letters(it) == 1);
    explore_join_one(waker); /* it still uses the memory */
    explore_free(it);
    mates_end();
}

static wsq_poll run_at_once(wsq_ctx ctx, wsq_task *task) {
    mate *it = wsq_container_of(task, mate, task);
    (void)ctx;
    wsqi_set(&it->letter[0], 1);
    return WSQ_DONE;
}

/* Polls instead of waiting. */
static void done_and_free(void) {
    mates_begin(1 + (unsigned)explore_choose(2), plain);
    mate *it = make(run_at_once, 0);
    mate_spawn(it);
    if (explore_choose(2)) explore_check(wsq_task_wait(&it->task) == WSQ_OK);
    while (!wsq_task_done(&it->task)) wsqi_pause();
    explore_check(wsqi_get(&it->letter[0]) == 1);
    explore_free(it);
    mates_end();
}

static wsq_poll run_gone(wsq_ctx ctx, wsq_task *task) {
    mate *it = wsq_container_of(task, mate, task);
    (void)ctx;
    explore_check(wsqi_get(&it->letter[0]) == 1);
    explore_free(it);
    return WSQ_GONE;
}

static void gone(void) {
    mates_begin(2, plain);
    for (int i = 0; i < 2; i++) {
        mate *it = make(run_gone, 0);
        wsqi_set(&it->letter[0], 1);
        mate_spawn(it);
    }
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    mates_end();
}

static void waiter(void *arg) {
    mate *it = arg;
    explore_check(wsq_task_wait(&it->task) == WSQ_OK);
    explore_check(it->done);
}

static void two_waiters(void) {
    mates_begin(1 + (unsigned)explore_choose(2), plain);
    mates[0].needed = 1;
    mate_spawn(&mates[0]);
    explore_start(waiter, &mates[0]);
    explore_start(poster_0, &mates[0]);
    waiter(&mates[0]);
    mates_end();
}

/* The same memory, a new task. */
static void spawn_again(void) {
    mates_begin(2, plain);
    init(&mates[0], run_counter, 1);
    mate_spawn(&mates[0]);
    explore_check(wsq_task_wait(&mates[0].task) == WSQ_OK);
    mates[0].needed = 2;
    mate_spawn(&mates[0]);
    if (explore_choose(2)) explore_check(wsq_task_wait(&mates[0].task) == WSQ_OK);
    explore_wait_quiet();
    explore_check(mates[0].runs == 2);
    mates_end();
}

static void late_spawner(void *arg) {
    mate *it = arg;
    wsq_result result = wsq_spawn(pool, &it->task);
    explore_check(result == WSQ_OK || result == WSQ_ERR_INVALID);
    if (result == WSQ_OK) it->letter[1]++;
}

/* Two threads spawn the same task: both may succeed, one after the other, but never at once. */
static wsq_poll run_once(wsq_ctx ctx, wsq_task *task) {
    mate *it = wsq_container_of(task, mate, task);
    (void)ctx;
    explore_check(it->running++ == 0);
    wsqi_set(&it->letter[0], wsqi_get(&it->letter[0]) + 1);
    it->running--;
    it->runs++;
    return WSQ_DONE;
}

static void spawns_meet(void) {
    mates_begin(2, plain);
    init(&mates[0], run_once, 0);
    explore_start(late_spawner, &mates[0]);
    late_spawner(&mates[0]);
    explore_wait_quiet();
    explore_check(mates[0].runs == mates[0].letter[1] && mates[0].runs > 0);
    mates_end();
}

/* ---- wakes from workers: the LIFO slot ---- */

/* Wakes its peers, then meets them. */
static wsq_poll run_waker(wsq_ctx ctx, wsq_task *task) {
    mate *it = wsq_container_of(task, mate, task);
    (void)ctx;
    for (int i = 1; i < it->needed; i++) mate_post(&mates[i], 0);
    explore_meet(&mates_gate, it->needed);
    it->done = 1;
    return WSQ_DONE;
}

static wsq_poll run_woken(wsq_ctx ctx, wsq_task *task) {
    mate *it = wsq_container_of(task, mate, task);
    (void)ctx;
    if (letters(it) == 0) return WSQ_PENDING;
    if (it->needed) explore_meet(&mates_gate, it->needed);
    it->done = 1;
    return WSQ_DONE;
}

static void wake_and_meet(unsigned workers, int company) {
    mates_begin(workers, plain);
    init(&mates[0], run_waker, company);
    for (int i = 1; i < company; i++) {
        init(&mates[i], run_woken, company);
        mate_spawn(&mates[i]);
    }
    explore_wait_quiet(); /* they are pending */
    mate_spawn(&mates[0]);
    explore_wait_quiet();
    for (int i = 0; i < company; i++) explore_check(mates[i].done);
    mates_end();
}

/* The waker waits for whom it woke: the watcher must take it out of the slot. */
static void slot_theft(void) { wake_and_meet(2, 2); }

/* The second wake evicts the first from the slot. */
static void slot_eviction(void) { wake_and_meet(3, 3); }

/* Two tasks wake each other in turn. */
static wsq_poll run_ping(wsq_ctx ctx, wsq_task *task) {
    mate *it = wsq_container_of(task, mate, task), *other = it == mates ? &mates[1] : &mates[0];
    (void)ctx;
    explore_check(it->running++ == 0);
    bool mine = wsqi_load_acq(&it->flag[0]) != 0;
    if (mine) {
        it->runs++;
        wsqi_store_rlx(&it->flag[0], 0u);
        wsqi_set(&mates[2].letter[0], wsqi_get(&mates[2].letter[0]) + 1); /* the ball */
        wsqi_store_rel(&other->flag[0], 1u);
    }
    it->running--;
    if (mine) wsq_wake(&other->task);
    if (it->runs < 3) return WSQ_PENDING;
    it->done = 1;
    return WSQ_DONE;
}

static void ping_pong(void) {
    mates_begin(2, plain);
    init(&mates[0], run_ping, 0);
    init(&mates[1], run_ping, 0);
    wsqi_store_rlx(&mates[0].flag[0], 1u);
    mate_spawn(&mates[1]);
    mate_spawn(&mates[0]);
    explore_wait_quiet();
    explore_check(mates[0].done && mates[1].done);
    mates_end();
}

/* A task waits for one that it has just woken, or that others may have. */
static wsq_poll run_waits(wsq_ctx ctx, wsq_task *task) {
    mate *it = wsq_container_of(task, mate, task);
    (void)ctx;
    mate_post(&mates[1], 0);
    explore_check(wsq_task_wait(&mates[1].task) == WSQ_OK);
    explore_check(mates[1].done);
    it->done = 1;
    return WSQ_DONE;
}

static void wait_inside(void) {
    mates_begin(1 + (unsigned)explore_choose(2), plain);
    init(&mates[0], run_waits, 0);
    init(&mates[1], run_woken, 0);
    mate_spawn(&mates[1]);
    explore_wait_quiet();
    mate_spawn(&mates[0]);
    if (pool->workers == 2) wsq_wake(&mates[1].task);
    explore_check(wsq_task_wait(&mates[0].task) == WSQ_OK);
    mates_end();
}

/* ---- cancelled ---- */

static void cancelled_waiter(void *arg) {
    mate *it = arg;
    wsq_result result = wsq_task_wait(&it->task);
    explore_check(result == (it->done ? WSQ_OK : WSQ_ERR_CANCELLED));
}

static void cancel_pending(void) {
    mates_begin(1 + (unsigned)explore_choose(2), plain);
    mates[0].needed = 2;
    mate_spawn(&mates[0]);
    explore_start(cancelled_waiter, &mates[0]);
    explore_start(poster_0, &mates[0]);
    if (explore_choose(2)) explore_start(poster_1, &mates[0]);
    explore_check(wsq_pool_shutdown(pool, WSQ_CANCEL) == WSQ_OK);
    explore_wait_quiet();
    explore_pool_end(pool);
}

/* ---- the caller runs ---- */

static void caller_runs(void) {
    wsq_config config = {.caller_runs = true};
    mates_begin(1, config);
    mates[0].needed = 1;
    mates[1].needed = 1;
    mate_spawn(&mates[0]);
    mate_spawn(&mates[1]);
    explore_start(poster_0, &mates[0]);
    if (explore_choose(2)) wsq_pool_run_one(pool);
    mate_post(&mates[1], 0);
    explore_check(wsq_task_wait(&mates[0].task) == WSQ_OK);
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    explore_check(mates[0].done && mates[1].done);
    join_from(1);
    wsq_pool_destroy(pool);
}

/* ---- the slot: the task that was woken last waits there, or is moved; the worker that watches it ---- */

/* The other worker goes to sleep at this very moment. */
static void slot_without_silence(void) {
    begin(2, plain);
    spawn(1, woken_meets);
    if (explore_choose(2)) spawn(2, at_once);
    spawn(0, wakes_and_meets);
    end(2);
}

static void slot_of_three(void) {
    begin(3, plain);
    spawn(1, woken_meets);
    if (explore_choose(2)) spawn(2, at_once);
    spawn(0, wakes_and_meets);
    end(2);
}

/* Woken in turn, three times each; then they meet. */
static wsq_poll volley(item *it) {
    item *other = it == &items[0] ? &items[1] : &items[0];
    if (it->runs == 1 && it == &items[1]) return WSQ_PENDING;
    wsqi_set(&other->letter, wsqi_get(&other->letter) + 1);
    wsq_wake(&other->task);
    if (it->runs < 4) return WSQ_PENDING;
    return meets(it);
}

/* The watcher looks now and then, and must not give up at the wrong moment. */
static void slot_volley(void) {
    begin(2, plain);
    spawn(1, volley);
    explore_wait_quiet();
    spawn(0, volley);
    end(2);
}

/* Long enough between the two for a watcher to look twice. */
static wsq_poll wakes_two(item *it) {
    post(&items[2]);
    for (int i = explore_choose(200); i > 0; i--) (void)wsqi_load_rlx(&pool->permits);
    return wakes_and_meets(it);
}

/* Another task in the slot than the one that the watcher saw. */
static void slot_changes(void) {
    begin(2, plain);
    spawn(1, woken_meets);
    spawn(2, woken);
    if (explore_choose(2)) explore_wait_quiet();
    spawn(0, wakes_two);
    end(3);
}

/* No slot: a woken task waits in the ring. */
static void wake_into_ring(void) {
    wsq_config config = {.lifo_cap = WSQ_LIFO_OFF};
    begin(2, config);
    spawn(1, woken_meets);
    explore_wait_quiet();
    spawn(0, wakes_and_meets);
    end(2);
}

/* ---- a task moves to the queue: a worker must look there ---- */

static wsq_poll yields_and_meets(item *it) {
    if (it->runs > 1) return meets(it);
    post(&items[1]);
    return WSQ_YIELD;
}

static void yield_behind_slot(void) {
    begin(2, plain);
    spawn(1, woken_meets);
    explore_wait_quiet();
    spawn(0, yields_and_meets);
    end(2);
}

static wsq_poll batch_and_meets(item *it) {
    wsq_task *one = &items[1].task;
    explore_check(wsq_spawn_batch(pool, &one, 1) == WSQ_OK);
    return meets(it);
}

static void batch_inside(void) {
    begin(2, plain);
    items[1].step = meets;
    spawn(0, batch_and_meets);
    end(2);
}

/* Waits for 2, which only 1 wakes, which waits in its own slot. */
static wsq_poll waits_for_third(item *it) {
    post(&items[1]);
    wait_for(2);
    explore_check(items[2].done);
    (void)it;
    return WSQ_DONE;
}

static wsq_poll passes_on(item *it) {
    if (woken(it) != WSQ_DONE) return WSQ_PENDING;
    post(&items[2]);
    return WSQ_DONE;
}

static void wait_beside_slot(void) {
    begin(2, plain);
    spawn(1, passes_on);
    spawn(2, woken);
    explore_wait_quiet();
    spawn(0, waits_for_third);
    end(3);
}

/* ---- a wake that came too soon: the task waits again, and does not spin ---- */

static wsq_poll needs_both(item *it) {
    explore_check(it->runs <= 3);
    return wsqi_load_acq(&it->sent) == 2 ? WSQ_DONE : WSQ_PENDING;
}

static void waits_again(void) {
    begin(1 + (unsigned)explore_choose(2), plain);
    spawn(0, needs_both);
    for (uint32_t i = 1; i <= 2; i++) {
        if (explore_choose(2)) explore_wait_quiet();
        wsqi_store_rel(&items[0].sent, i);
        wsq_wake(&items[0].task);
    }
    end(1);
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
    explore_random("more: slot theft without silence", slot_without_silence, 3500);
    explore_random("more: slot theft, three workers", slot_of_three, 3000);
    explore_random("more: slot volley", slot_volley, 3000);
    explore_random("more: the slot changes", slot_changes, 3500);
    explore_random("more: a wake into the ring", wake_into_ring, 3500);
    explore_random("more: a yield behind the slot", yield_behind_slot, 3000);
    explore_random("more: a batch inside", batch_inside, 3500);
    explore_random("more: a wait beside the slot", wait_beside_slot, 3000);
    explore_random("more: a wake too soon", waits_again, 3500);
    return explore_end();
}
