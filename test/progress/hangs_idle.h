/* hangs_idle.h - faults 5 to 8 of hangs.c: workers that sleep or spin beside work. */
#ifndef HANGS_IDLE_H
#define HANGS_IDLE_H

#include "hangs_waits.h"

/* ---- 5: a turn against the last look ---- */

static uint64_t late_by;  /* when the task from outside comes */
static unsigned earlier;   /* tasks that run before the turn */

static wsq_poll spawns_high_run(wsq_ctx ctx, wsq_task *task) {
    item *high = item_make(100 * MS);
    compute(item_of(task)->ns);
    wsq_task_set_priority(&high->task, WSQ_HIGH);
    item_spawn(wsq_pool_of(ctx), high);
    return WSQ_DONE;
}

/* A worker's turn finds a WSQ_HIGH task, and one from outside, for which the other worker was woken:
 * it searches in that moment. Some access takes 20 ms. */
static void turn_stalls(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2, .min_interval = 3, .max_interval = 3});
    item *late = item_make(US);
    for (unsigned i = 0; i <= earlier; i++) {
        item *pinned = item_make(10 * US);
        if (i == earlier) pinned->task.fn = spawns_high_run;
        item_spawn_on(pool, 0, pinned);
    }
    nap(late_by);
    sim_stall.left = stall_at;
    item_spawn(pool, late);
    wsq_pool_wait(pool);
    judge("a task beside a worker that sleeps begins after", late->began - late->spawned, 50 * MS);
}

static void turns(void);

/* ---- 6: WSQ_SHARED, a yield, a pinned task ---- */

static wsq_poll yields_once_run(wsq_ctx ctx, wsq_task *task) {
    item *self = item_of(task);
    if (self->runs++ != 0) {
        self->began = now();
        return WSQ_DONE;
    }
    compute(self->ns);
    item_spawn_on(wsq_pool_of(ctx), wsq_worker_index(ctx), item_make(100 * MS));
    self->spawned = now();
    return WSQ_YIELD;
}

static void shared_yield(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 4, .order = WSQ_SHARED});
    for (unsigned i = 0; i < 20; i++) {
        item *yields = item_make(i * 3 * US);
        yields->task.fn = yields_once_run;
        item_spawn(pool, yields);
        wsq_pool_wait(pool);
        judge("a task that yields before a pinned one runs again after",
              yields->began - yields->spawned, 2 * MS);
        nap(MS);
    }
}

/* ---- 7: a worker that spins ---- */

static const wsq_config spins = {.workers = 2, .spin_ns = 500 * MS};

static void spin_timer(void) {
    wsq_pool *pool = pool_make(&spins);
    item *timed = item_make(US);
    timed->pends = true;
    item_spawn(pool, timed);
    nap(MS);
    item_set_timer(pool, timed, MS);
    wsq_pool_wait(pool);
    judge("a timer of 1 ms fires after", timed->began - timed->spawned, 2 * MS);
}

static item *woken;

static wsq_poll wakes_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    (void)task;
    item_wake(woken);
    compute(100 * MS);
    return WSQ_DONE;
}

static void spin_slot(void) {
    wsq_pool *pool = pool_make(&spins);
    item *wakes = item_make(0);
    wakes->task.fn = wakes_run;
    woken = item_make(US);
    woken->pends = true;
    item_spawn(pool, woken);
    nap(MS);
    item_spawn(pool, wakes);
    wsq_pool_wait(pool);
    judge("a woken task beside a worker that spins begins after", woken->began - woken->spawned,
          2 * MS);
}

static void spin_dismiss(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2, .lend_only = true, .spin_ns = 500 * MS});
    sim_core *lent = outside(lend, pool);
    nap(5 * MS);
    uint64_t start = now();
    wsq_worker_dismiss(pool, 0);
    sim_join(lent);
    judge("a dismissed thread leaves after", now() - start, 2 * MS);
}

static item *other;

static wsq_poll waits_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    compute(20 * US);
    wsq_task_wait(&other->task);
    item_of(task)->began = now();
    return WSQ_DONE;
}

static void spin_wait(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2, .spin_ns = 500 * MS,
                                             .max_standins = WSQ_STANDINS_OFF});
    item *waits = item_make(0);
    waits->task.fn = waits_run;
    other = item_make(5 * MS);
    item_spawn_on(pool, 1, other);
    item_spawn_on(pool, 0, waits);
    wsq_pool_wait(pool);
    judge("a wait returns after the end of what it waits for by", waits->began - other->ended, MS);
}

/* The idle worker that watches the slot is woken for something else, over and over. */
static wsq_poll asks_run(wsq_ctx ctx, wsq_task *task) {
    for (int i = 0; i < 40; i++) {
        item *asked = item_make(item_of(task)->ns);
        item_spawn(wsq_pool_of(ctx), asked);
        compute(10 * US);
        wsq_task_wait(&asked->task);
    }
    return WSQ_DONE;
}

static void slot_beside(uint64_t call_ns, unsigned workers) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = workers});
    item *wakes = item_make(0), *asks = item_make(call_ns);
    wakes->task.fn = wakes_run;
    asks->task.fn = asks_run;
    woken = item_make(US);
    woken->pends = true;
    item_spawn(pool, woken);
    nap(MS);
    item_spawn(pool, wakes);
    item_spawn(pool, asks);
    wsq_pool_wait(pool);
    judge("a woken task in a slot beside idle workers begins after", woken->began - woken->spawned,
          1500 * US);
}

static void slot_beside_calls(void) { slot_beside(70 * US, 3); }
static void slot_beside_longer_calls(void) { slot_beside(280 * US, 8); }

/* ---- 8: guests that block ---- */

static void loop_piece(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    (void)ctx;
    (void)arg;
    compute((end - begin) * MS);
}

static void loop_root(wsq_ctx ctx, void *arg) { wsq_for(ctx, 0, 200, 1, loop_piece, arg); }

static item *never;

static void guest_waits(wsq_ctx ctx, void *arg) {
    (void)ctx;
    (void)arg;
    wsq_task_wait(&never->task);
}

static void guest_main(void *arg) { wsq_run((wsq_pool *)arg, guest_waits, NULL); }

static void blocked_guests(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 4});
    uint64_t alone = 0;
    never = item_make(0);
    never->pends = true;
    item_spawn(pool, never);
    for (unsigned guests = 0; guests <= 4; guests++) {
        if (guests > 0) outside(guest_main, pool);
        nap(2 * MS);
        uint64_t start = now();
        wsq_run(pool, loop_root, NULL);
        if (guests == 0) alone = now() - start;
        judge("a loop of 50 ms beside blocked guests takes", now() - start, alone + 5 * MS);
    }
    item_wake(never);
}

static wsq_poll loop_task(wsq_ctx ctx, wsq_task *task) {
    loop_root(ctx, NULL);
    item_of(task)->ended = now();
    return WSQ_DONE;
}

static item *in_slot;

static wsq_poll wakes_and_computes_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    item_wake(in_slot);
    compute(30 * MS);
    return WSQ_DONE;
}

/* The only other worker is busy at the wake; from then on it gets a small task every 0.4 ms. */
static void slot_beside_small_tasks(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2, .spin_ns = WSQ_SPIN_OFF});
    item *busy = item_make(MS), *wakes = item_make(0);
    in_slot = item_make(US);
    in_slot->pends = true;
    wakes->task.fn = wakes_and_computes_run;
    item_spawn(pool, in_slot);
    nap(MS);
    item_spawn(pool, busy);
    item_spawn(pool, wakes);
    for (int i = 0; i < 60; i++) {
        nap(400 * US);
        item_spawn(pool, item_make(US));
    }
    wsq_pool_wait(pool);
    judge("a woken task in a slot, beside a worker with a small task every 0.4 ms, begins after",
          in_slot->began - in_slot->spawned, 3 * MS);
}

static item *awaited;

static wsq_poll awaits_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    item_spawn(wsq_pool_of(ctx), awaited);
    wsq_task_wait(&awaited->task);
    return WSQ_DONE;
}

static void awaited_loop(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 4});
    item *waits = item_make(0);
    awaited = item_make(0);
    awaited->task.fn = loop_task;
    waits->task.fn = awaits_run;
    item_spawn(pool, waits);
    wsq_pool_wait(pool);
    judge("a loop of 50 ms in a task that runs inside a wait takes", awaited->ended - awaited->spawned,
          56 * MS);
}

static void guest_and_spinner(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2, .spin_ns = 500 * MS}); /* they look on */
    uint64_t start = now();
    wsq_run(pool, loop_root, NULL);
    judge("a loop of 100 ms beside workers that spin takes", now() - start, 110 * MS);
}

/* A guest and worker 0 steal from each other, until the guest has more nested joins than may run jobs. In the last
 * it only sleeps, so worker 1 takes what worker 0 forks. */
enum { NESTED_JOINS = 33 };

typedef struct nested {
    wsq_job job;
    unsigned depth;
    bool begun;
} nested;

static uint64_t deep_took;

static void ten_ms(wsq_ctx ctx, wsq_job *job) {
    (void)ctx;
    (void)job;
    compute(10 * MS);
}

static void nested_run(wsq_ctx ctx, wsq_job *job);

static void nest(wsq_ctx ctx, unsigned depth) {
    wsq_job leaf;
    if (depth == 2 * NESTED_JOINS - 1) {
        compute(MS); /* the guest sleeps */
        uint64_t start = now();
        wsq_fork(&ctx, &leaf, ten_ms);
        compute(10 * MS);
        wsq_join(&ctx, &leaf);
        deep_took = now() - start;
        return;
    }
    nested next = {.depth = depth + 1};
    wsq_fork(&ctx, &next.job, nested_run);
    while (!next.begun) {
        compute(US);
        wsqi_steal_request(wsqi_worker_of(ctx)); /* as a thief does; the next fork publishes the job */
        wsq_fork(&ctx, &leaf, ten_ms);
        if (!wsq_reclaim(&ctx, &leaf)) sim_fail("the wrong job was stolen");
    }
    wsq_join(&ctx, &next.job);
}

static void nested_run(wsq_ctx ctx, wsq_job *job) {
    nested *self = wsq_container_of(job, nested, job);
    self->begun = true;
    nest(ctx, self->depth);
}

static void nest_root(wsq_ctx ctx, void *arg) {
    (void)arg;
    nest(ctx, 0);
}

static void guest_in_deep_joins(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2, .max_standins = WSQ_STANDINS_OFF});
    wsq_run(pool, nest_root, NULL);
    judge("two jobs of 10 ms beside a guest that sleeps in a deep join take", deep_took, 11 * MS);
}

#endif /* HANGS_IDLE_H */
