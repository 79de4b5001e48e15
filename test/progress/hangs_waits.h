/* hangs_waits.h - faults 1 to 4 of hangs.c: waits, and what lies behind a thread that waits. */
#ifndef HANGS_WAITS_H
#define HANGS_WAITS_H

#include "item.h"

static char measured[128];
static bool verdict;

/* What a program has to say: the longest time that something lasted, beside the longest allowed. */
static void judge(const char *what, uint64_t ns, uint64_t most_ns) {
    bool good = ns <= most_ns;
    if (verdict && !good) /* the first that is too long */
        snprintf(measured, sizeof measured, "%s %.2f ms, at most %.2f", what, (double)ns / 1e6,
                 (double)most_ns / 1e6);
    verdict = verdict && good;
}

/* ---- 1: a wait re-runs a task that yields ---- */

/* Spawns one that yields until a second has run, and waits for the first. */
static wsq_poll twins_run(wsq_ctx ctx, wsq_task *task) {
    item *self = item_of(task), *yields = item_make(US), *ends = item_make(US);
    yields->until = ends;
    compute(self->ns);
    item_spawn(wsq_pool_of(ctx), yields);
    item_spawn(wsq_pool_of(ctx), ends);
    if (wsq_task_wait(&yields->task) != WSQ_OK) sim_fail("the wait failed");
    return WSQ_DONE;
}

static void twins(wsq_config config) {
    wsq_pool *pool = pool_make(&config);
    for (unsigned i = 0; i < config.workers; i++) {
        item *one = item_make(100 * US);
        one->task.fn = twins_run;
        item_spawn_on(pool, i, one);
    }
    if (wsq_pool_wait_for(pool, 3 * SECOND) != WSQ_OK) sim_fail("the pool is not done");
}

static void twins_one(void) { twins((wsq_config){.workers = 1}); }
static void twins_two(void) { twins((wsq_config){.workers = 2}); }
static void twins_lifo(void) { twins((wsq_config){.workers = 1, .order = WSQ_LIFO}); }
static void twins_caller(void) { twins((wsq_config){.workers = 1, .caller_runs = true}); }

enum { RESPAWNS = 2000 };

/* Members of a group, each of which spawns the next, for 20 ms; a WSQ_HIGH task and a timer come in
 * the middle. */
typedef struct respawner {
    item item;
    wsq_group *group;
    unsigned left;
} respawner;

static wsq_poll respawner_run(wsq_ctx ctx, wsq_task *task) {
    respawner *self = wsq_container_of(task, respawner, item.task);
    (void)ctx;
    compute(10 * US);
    if (self->left != 0) {
        respawner *next = (respawner *)sim_allocate(sizeof *next);
        *next = (respawner){.group = self->group, .left = self->left - 1};
        next->item.task.fn = respawner_run;
        if (wsq_group_spawn(self->group, &next->item.task) != WSQ_OK) sim_fail("no respawn");
    }
    return WSQ_DONE;
}

static wsq_poll respawns_wait(wsq_ctx ctx, wsq_task *task) {
    wsq_group group;
    (void)task;
    wsq_group_init(&group, wsq_pool_of(ctx));
    respawner *first = (respawner *)sim_allocate(sizeof *first);
    *first = (respawner){.group = &group, .left = RESPAWNS};
    first->item.task.fn = respawner_run;
    if (wsq_group_spawn(&group, &first->item.task) != WSQ_OK) sim_fail("no member");
    if (wsq_group_wait(&group) != WSQ_OK) sim_fail("the group failed");
    return WSQ_DONE;
}

static void respawns(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    item *waits = item_make(0), *high = item_make(US), *timed = item_make(US);
    waits->task.fn = respawns_wait;
    timed->pends = true;
    item_spawn(pool, timed);
    nap(MS);
    item_spawn(pool, waits);
    nap(MS);
    item_set_timer(pool, timed, MS);
    wsq_task_set_priority(&high->task, WSQ_HIGH);
    item_spawn(pool, high);
    wsq_pool_wait(pool);
    judge("a WSQ_HIGH task begins after", high->began - high->spawned, MS);
    judge("a timer of 1 ms fires after", timed->began - timed->spawned, 4 * MS);
}

/* ---- 2: what a blocked worker has queued ---- */

static item *behind[100];

static wsq_poll blocks_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    for (unsigned i = 0; i < 100; i++) item_spawn(wsq_pool_of(ctx), behind[i] = item_make(10 * US));
    wsq_block_begin(ctx);
    nap(200 * MS);
    wsq_block_end(ctx);
    return WSQ_DONE;
}

static void behind_a_block(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    item *blocks = item_make(0);
    uint64_t last = 0;
    blocks->task.fn = blocks_run;
    item_spawn(pool, blocks);
    for (unsigned i = 0; i < 4000; i++) { /* as many as a worker can do */
        nap(50 * US);
        item_spawn(pool, item_make(50 * US));
    }
    wsq_pool_wait(pool);
    for (unsigned i = 0; i < 100; i++) {
        uint64_t took = behind[i]->began - behind[i]->spawned;
        if (took > last) last = took;
    }
    judge("the last of 100 tasks behind a block begins after", last, 20 * MS);
}

static wsq_poll urgent_run(wsq_ctx ctx, wsq_task *task) {
    item *high = item_make(US), *ends = item_make(US);
    (void)task;
    high->until = ends;
    wsq_task_set_priority(&high->task, WSQ_HIGH);
    item_spawn(wsq_pool_of(ctx), ends);
    item_spawn(wsq_pool_of(ctx), high);
    wsq_task_wait(&high->task);
    return WSQ_DONE;
}

static void high_yields(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    item *waits = item_make(0);
    waits->task.fn = urgent_run;
    item_spawn(pool, waits);
    wsq_pool_wait(pool);
}

/* Tasks from one thread, beside some that yield: a full ring puts them behind those that came later. */
static wsq_poll yields_spawn(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    for (int i = 0; i < 45; i++) {
        item *yields = item_make(US);
        yields->until = item_make(0);
        yields->give_up = 5 * MS;
        item_spawn(wsq_pool_of(ctx), yields);
    }
    return WSQ_DONE;
}

static void order_beside_yields(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    item *spawns = item_make(0), *items[1500];
    uint64_t latest = 0;
    spawns->task.fn = yields_spawn;
    item_spawn(pool, spawns);
    for (int i = 0; i < 1500; i++) item_spawn(pool, items[i] = item_make(50 * US));
    wsq_pool_wait(pool);
    for (int i = 0; i < 1500; i++) {
        if (items[i]->began > latest) latest = items[i]->began;
        judge("with one worker a task begins after one that the same thread spawned later by",
              latest - items[i]->began, 0);
    }
}

/* A task spawns one, blocks, spawns another and computes on, without a permit, beside many tasks. */
static item *before_block, *after_block;

static wsq_poll stuck_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    compute(5 * MS); /* all tasks are queued */
    item_spawn(wsq_pool_of(ctx), before_block = item_make(US));
    wsq_block_begin(ctx);
    nap(2 * MS);
    wsq_block_end(ctx);
    item_spawn(wsq_pool_of(ctx), after_block = item_make(US));
    compute(100 * MS);
    return WSQ_DONE;
}

static void order_without_permit(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    item *blocks = item_make(0);
    blocks->task.fn = stuck_run;
    item_spawn(pool, blocks);
    for (int i = 0; i < 1500; i++) item_spawn(pool, item_make(100 * US));
    wsq_pool_wait(pool);
    judge("a task begins after one that was spawned after a block by",
          before_block->began > after_block->began ? before_block->began - after_block->began : 0, 0);
}

/* A thread outside spawns six tasks, then two more, and waits for the last. Worker 0 has taken the six
 * out of `incoming`, and is held up before they are in `ready`. (The stall comes at each access.) */
static uint64_t stall_at; /* which access is held up */
static unsigned begun[32];
static unsigned begun_count;

static wsq_poll begun_run(wsq_ctx ctx, wsq_task *task) {
    item *self = item_of(task);
    begun[begun_count++] = 16 * wsq_worker_index(ctx) + (unsigned)self->give_up;
    compute(2 * US);
    return WSQ_DONE;
}

static void newest_waits(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2});
    item *items[8];
    for (int i = 0; i < 6000; i++) item_spawn(pool, item_make(US)); /* so workers take batches */
    wsq_pool_wait(pool);
    nap(MS);
    begun_count = 0;
    for (unsigned i = 0; i < 8; i++) {
        items[i] = item_make(0);
        items[i]->task.fn = begun_run;
        items[i]->give_up = i;
    }
    sim_stall.only = 1 + wsqi_block(pool, 0)->thread->id;
    sim_stall.ns = 60 * US;
    sim_stall.left = stall_at;
    for (unsigned i = 0; i < 6; i++) item_spawn(pool, items[i]);
    nap(30 * US);
    for (unsigned i = 6; i < 8; i++) item_spawn(pool, items[i]);
    wsq_task_wait(&items[7]->task);
    wsq_pool_wait(pool);
    sim_stall.left = sim_stall.only = 0;
    for (unsigned i = 1; i < begun_count; i++) /* on one worker, the fifth after the last */
        for (unsigned k = 0; k < i; k++)
            if (begun[k] % 16 == 7 && begun[i] % 16 == 4 && begun[k] / 16 == begun[i] / 16 &&
                begun[k] / 16 < 2) /* worker 0 takes the first four, which may be stolen late */
                judge("an older task begins after the awaited one", MS, 0);
}

/* ---- 3: pinned to a worker that waits ---- */

static wsq_poll across_run(wsq_ctx ctx, wsq_task *task) {
    item *self = item_of(task), *next = item_make(US);
    unsigned other = 1 - wsq_worker_index(ctx);
    if (self->ns > 0) { /* the first: the second waits for one that is pinned here */
        next->task.fn = across_run;
        next->ns = 0;
    }
    item_spawn_on(wsq_pool_of(ctx), other, next);
    wsq_task_wait(&next->task);
    return WSQ_DONE;
}

static void pinned_across(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2});
    item *first = item_make(US);
    first->task.fn = across_run;
    item_spawn_on(pool, 0, first);
    wsq_pool_wait(pool);
}

/* The same where the wait is inside wsq_run, on the worker. */
static void run_waits(wsq_ctx ctx, void *arg) {
    (void)ctx;
    wsq_task_wait(&((item *)arg)->task);
}

static wsq_poll inside_run(wsq_ctx ctx, wsq_task *task) {
    item *yields = item_make(US), *pinned = item_make(US);
    (void)task;
    yields->until = pinned;
    item_spawn(wsq_pool_of(ctx), yields);
    item_spawn_on(wsq_pool_of(ctx), wsq_worker_index(ctx), pinned);
    wsq_run(wsq_pool_of(ctx), run_waits, yields);
    return WSQ_DONE;
}

static void pinned_run(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2});
    item *waits = item_make(US);
    waits->task.fn = inside_run;
    item_spawn(pool, waits);
    wsq_pool_wait(pool);
}

/* ---- 4: a nested step leaves a task of which nobody is told ---- */

static item *untold, *blocker, *many[64];

static void many_spawn(wsq_pool *pool) {
    for (unsigned i = 0; i < 64; i++) item_spawn(pool, many[i] = item_make(10 * US));
    compute(100 * MS);
}

static void many_judge(void) {
    uint64_t last = 0;
    for (unsigned i = 0; i < 64; i++) {
        uint64_t took = many[i]->began - many[i]->spawned;
        if (took > last) last = took;
    }
    judge("the last of 64 tasks beside idle workers begins after", last, 5 * MS);
}

static wsq_poll gives_up_run(wsq_ctx ctx, wsq_task *task) {
    item *child = item_make(11 * MS); /* the time is up when it yields */
    (void)task;
    child->until = item_make(0);
    child->give_up = 100 * MS;
    item_spawn(wsq_pool_of(ctx), child);
    wsq_task_wait_for(&child->task, 10 * MS);
    many_spawn(wsq_pool_of(ctx));
    return WSQ_DONE;
}

static void untold_timeout(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 4});
    item *waits = item_make(0);
    waits->task.fn = gives_up_run;
    item_spawn(pool, waits);
    wsq_pool_wait(pool);
    many_judge();
}

/* Waits for what another worker computes, without a stand-in; one that yields is run meanwhile. */
static wsq_poll nests_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    compute(50 * US); /* the other worker has begun */
    item_spawn(wsq_pool_of(ctx), untold);
    wsq_task_wait(&blocker->task);
    many_spawn(wsq_pool_of(ctx));
    return WSQ_DONE;
}

static void nests(wsq_pool *pool) {
    item *waits = item_make(0);
    waits->task.fn = nests_run;
    blocker = item_make(5 * MS);
    untold = item_make(190 * US);
    untold->until = item_make(0);
    untold->give_up = 6 * MS; /* then the other worker has nothing to do */
    item_spawn_on(pool, 1, blocker);
    item_spawn_on(pool, 0, waits);
    while (wsq_pool_wait_for(pool, MS) == WSQ_ERR_TIMEOUT) {}
    many_judge();
}

static void untold_no_standins(void) {
    nests(pool_make(&(wsq_config){.workers = 2, .max_standins = WSQ_STANDINS_OFF}));
}

static void untold_lent(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2, .lend_only = true});
    for (int i = 0; i < 2; i++) outside(lend, pool);
    nap(MS);
    nests(pool);
}

#endif /* HANGS_WAITS_H */
