/* hangs_permits.h - faults 13 of hangs.c: a thread that waits, beside the others of its pool. */
#ifndef HANGS_PERMITS_H
#define HANGS_PERMITS_H

#include "hangs_idle.h"

static item *children[2];

static item *pinned_one;

static wsq_poll waits_above_pinned_run(wsq_ctx ctx, wsq_task *task) {
    item *low = item_make(US);
    (void)task;
    wsq_task_set_priority(&low->task, WSQ_LOW);
    item_spawn_on(wsq_pool_of(ctx), 0, pinned_one);
    item_spawn(wsq_pool_of(ctx), low);
    wsq_task_wait(&low->task);
    return WSQ_DONE;
}

/* A pinned task yields until another has run, on top of a wait of its worker. */
static void pinned_yields(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    item *waits = item_make(0), *ends = item_make(US);
    pinned_one = item_make(US);
    pinned_one->until = ends;
    waits->task.fn = waits_above_pinned_run;
    item_spawn(pool, waits);
    item_spawn(pool, ends);
    wsq_pool_wait(pool);
}

static void short_run(wsq_ctx ctx, void *arg) {
    (void)ctx;
    (void)arg;
    compute(3500);
}

/* Without stand-ins a thread that waits works; a guest has come and gone meanwhile. */
static wsq_poll waits_for_low_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    item_spawn(wsq_pool_of(ctx), children[0]);
    wsq_task_wait(&children[0]->task);
    return WSQ_DONE;
}

static void guest_beside_wait(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1, .max_standins = WSQ_STANDINS_OFF});
    item *waits = item_make(0);
    children[0] = item_make(US);
    wsq_task_set_priority(&children[0]->task, WSQ_LOW);
    waits->task.fn = waits_for_low_run;
    item_spawn_on(pool, 0, waits);
    wsq_run(pool, short_run, NULL);
    wsq_pool_wait(pool);
    judge("a task beside a thread that waits, without stand-ins, begins after",
          children[0]->began - children[0]->spawned, 2 * MS);
}

/* A guest waits for a task of a caller_runs pool, which it runs itself. */
static void pump_wait(wsq_ctx ctx, void *arg) {
    (void)ctx;
    wsq_task_wait(&((item *)arg)->task);
}

static item *pumped;

static void pump_guest(void *arg) { wsq_run((wsq_pool *)arg, pump_wait, pumped); }

static void guest_pumps(void) {
    wsq_pool *pump = pool_make(&(wsq_config){.workers = 1, .caller_runs = true});
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    item *late = item_make(US);
    pumped = item_make(20 * MS);
    item_spawn(pump, pumped);
    outside(pump_guest, pool);
    nap(MS);
    item_spawn(pool, late);
    wsq_pool_wait(pool);
    judge("a task beside a guest that waits in a caller_runs pool begins after",
          late->began - late->spawned, 2 * MS);
}

static void shorter_loop(wsq_ctx ctx, void *arg) {
    (void)ctx;
    (void)arg;
    compute(3 * MS);
}

static void lend_again(void *arg) {
    lend(arg);
    nap(2 * MS);
    lend(arg);
}

/* The only thread leaves, and comes back: a pinned task that yields, and another one. */
static void dismissed_and_back(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1, .lend_only = true});
    item *yields = item_make(US), *ends = item_make(US);
    outside(lend_again, pool);
    nap(MS);
    yields->until = ends;
    item_spawn_on(pool, 0, yields);
    wsq_worker_dismiss(pool, 0);
    item_spawn(pool, ends);
    wsq_run(pool, shorter_loop, NULL);
    wsq_pool_wait(pool);
}

/* A task blocks for a moment: what it has queued goes behind all that came later. */
static wsq_poll blocks_shortly_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    nap(0);
    compute(100 * US); /* the others come meanwhile */
    item_spawn(wsq_pool_of(ctx), children[0]);
    wsq_block_begin(ctx);
    nap(10 * US);
    wsq_block_end(ctx);
    return WSQ_DONE;
}

static void order_beside_block(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    item *first[40], *blocks = item_make(0), *last = NULL;
    uint64_t worst = 0;
    children[0] = item_make(US);
    blocks->task.fn = blocks_shortly_run;
    item_spawn(pool, item_make(50 * US)); /* holds the worker until the next are queued */
    item_spawn(pool, blocks);
    for (int i = 0; i < 40; i++) item_spawn(pool, first[i] = item_make(US));
    nap(60 * US);
    for (int i = 0; i < 1500; i++) item_spawn(pool, last = item_make(50 * US));
    wsq_pool_wait(pool);
    for (int i = 0; i < 40; i++) {
        uint64_t took = first[i]->began - first[i]->spawned;
        if (took > worst) worst = took;
    }
    (void)last;
    judge("a task queued before 1,500 others, beside a block, begins after", worst, 10 * MS);
}

#endif /* HANGS_PERMITS_H */
