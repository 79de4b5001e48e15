/* What a thread leaves behind that blocks, or ends its task without a permit; in virtual time. */
#include "exact.h"

static item *three[3];

static void make_three(void) {
    for (int i = 0; i < 3; i++) three[i] = item_make(US);
}

/* ---- the order of one worker ---- */

static wsq_poll back_first_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    for (int i = 0; i < 2; i++) item_spawn(wsq_pool_of(ctx), three[i]);
    wsq_block_begin(ctx); /* its two tasks go to the global queue */
    wsq_block_end(ctx);   /* before a stand-in comes: it has its permit again */
    item_spawn(wsq_pool_of(ctx), three[2]);
    return WSQ_DONE;
}

/* What a worker spawns after a block comes after what it spawned before. */
static void order_after_a_block(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    item *first = item_make(0);
    make_three();
    first->task.fn = back_first_run;
    item_spawn(pool, first);
    wsq_pool_wait(pool);
    CHECK(three[0]->began < three[1]->began);
    CHECK(three[1]->began < three[2]->began);
    wsq_pool_destroy(pool);
}

static wsq_poll without_permit_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    wsq_block_begin(ctx);
    nap(MS); /* a stand-in takes the permit, and computes */
    wsq_block_end(ctx);
    item_spawn(wsq_pool_of(ctx), three[0]);
    item_spawn(wsq_pool_of(ctx), three[1]);
    return WSQ_DONE;
}

/* A thread that ends its task without a permit leaves its queue to the others, before what comes later. */
static void order_without_a_permit(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    item *blocks = item_make(0), *longest = item_make(20 * MS);
    make_three();
    blocks->task.fn = without_permit_run;
    item_spawn(pool, blocks);
    item_spawn(pool, longest);
    nap(5 * MS);
    CHECK(longest->began != 0 && longest->ended == 0 && three[0]->spawned != 0);
    item_spawn(pool, three[2]);
    wsq_pool_wait(pool);
    CHECK(three[0]->began < three[1]->began);
    CHECK(three[1]->began < three[2]->began);
    wsq_pool_destroy(pool);
}

/* ---- behind a long task, beside a worker that always has its own ---- */

static wsq_poll spawns_three_run(wsq_ctx ctx, wsq_task *task) {
    for (int i = 0; i < 3; i++) item_spawn(wsq_pool_of(ctx), three[i]);
    compute(item_of(task)->ns);
    return WSQ_DONE;
}

static wsq_poll respawns_run(wsq_ctx ctx, wsq_task *task) {
    item *self = item_of(task), *next;
    compute(10 * US);
    if (now() > self->give_up) return WSQ_DONE;
    next = item_make(0);
    next->task.fn = respawns_run;
    next->give_up = self->give_up;
    item_spawn(wsq_pool_of(ctx), next);
    return WSQ_DONE;
}

/* It takes a task from the other one every second turn: the first turn sees which task that is in. */
static void stuck_tasks(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2, .order = WSQ_LIFO});
    item *spawns = item_make(100 * MS), *respawns = item_make(0);
    make_three();
    respawns->task.fn = respawns_run;
    respawns->give_up = now() + 60 * MS;
    item_spawn_on(pool, 1, respawns);
    nap(5 * MS);
    spawns->task.fn = spawns_three_run;
    item_spawn_on(pool, 0, spawns);
    wsq_pool_wait(pool);
    for (int i = 0; i < 3; i++) CHECK(three[i]->began - three[i]->spawned < 10 * MS);
    wsq_pool_destroy(pool);
}

int main(void) {
    test_begin("exact_permits");
    IN_WORLD(order_after_a_block);
    IN_WORLD(order_without_a_permit);
    IN_WORLD(stuck_tasks);
    return test_end();
}
