/* What a thread leaves behind that blocks, or ends its task without a permit; in virtual time. */
#include "exact.h"

static item *three[3];

static void make_three(void) {
    for (int i = 0; i < 3; i++) three[i] = item_make(US);
}

/* ---- the order of one worker ---- */

static bool batched;

static wsq_poll back_first_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    for (int i = 0; i < 2; i++) item_spawn(wsq_pool_of(ctx), three[i]);
    wsq_block_begin(ctx); /* its two tasks go to the global queue */
    wsq_block_end(ctx);   /* before a stand-in comes: it has its permit again */
    if (batched) {
        wsq_task *list[1] = {&three[2]->task};
        CHECK_EQ(wsq_spawn_batch(wsq_pool_of(ctx), list, 1), WSQ_OK);
    } else {
        item_spawn(wsq_pool_of(ctx), three[2]);
    }
    return WSQ_DONE;
}

/* What a worker spawns after a block, also as a batch, comes after what it spawned before. */
static void order_after_a_block(void) {
    for (int i = 0; i < 2; i++) {
        wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
        item *first = item_make(0);
        batched = i == 1;
        make_three();
        first->task.fn = back_first_run;
        item_spawn(pool, first);
        wsq_pool_wait(pool);
        CHECK(three[0]->began < three[1]->began);
        CHECK(three[1]->began < three[2]->began);
        wsq_pool_destroy(pool);
        sim.threads = 0; /* the next pool has these cores again */
    }
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

/* ---- a permit that is free is taken back ---- */

static unsigned ran_on[9];

static wsq_poll where_run(wsq_ctx ctx, wsq_task *task) {
    ran_on[wsq_worker_index(ctx)]++;
    return item_run(ctx, task);
}

static wsq_poll back_run(wsq_ctx ctx, wsq_task *task) {
    item *self = item_of(task), *late = item_make(US);
    if (self->runs++ == 0) {
        wsq_block_begin(ctx);
        nap(MS);
        wsq_block_end(ctx);
    } else {
        CHECK_EQ(wsq_task_wait_for(&three[0]->task, MS), WSQ_ERR_TIMEOUT);
    }
    late->task.fn = where_run;
    item_spawn(wsq_pool_of(ctx), late);
    return self->runs == 2 ? WSQ_DONE : WSQ_YIELD;
}

/* Nobody took its permit meanwhile, so the worker goes on, and runs what it spawns: no other one wakes. */
static void back_with_its_permit(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    item *goes_on = item_make(0);
    make_three();
    three[0]->pends = true;
    item_spawn(pool, three[0]);
    nap(MS);
    goes_on->task.fn = back_run;
    memset(ran_on, 0, sizeof ran_on);
    item_spawn(pool, goes_on);
    CHECK_EQ(wsq_task_wait(&goes_on->task), WSQ_OK);
    item_wake(three[0]);
    wsq_pool_wait(pool);
    CHECK_EQ(ran_on[0], 2);
    wsq_pool_destroy(pool);
}

/* ---- a batch wakes as many as it has tasks ---- */

/* Each begins within 20 us, on a worker of its own, while there are any; for a few, no other one wakes. */

static void batch_wakes(void) {
    for (unsigned n = 1; n <= 9; n++) {
        wsq_pool *pool = pool_make(&(wsq_config){.workers = 8});
        wsq_task *list[9];
        item *items[9];
        wsq_stats all;
        unsigned late = 0;
        memset(ran_on, 0, sizeof ran_on);
        for (unsigned i = 0; i < n; i++) {
            items[i] = item_make(MS);
            items[i]->task.fn = where_run;
            items[i]->spawned = now();
            list[i] = &items[i]->task;
        }
        CHECK_EQ(wsq_spawn_batch(pool, list, n), WSQ_OK);
        wsq_pool_wait(pool);
        wsq_pool_stats(pool, &all);
        if (n <= 3) CHECK_EQ(all.wakes_sent, n);
        CHECK(all.wakes_sent <= 8);
        for (unsigned i = 0; i < n; i++) late += items[i]->began - items[i]->spawned > 20 * US;
        CHECK_EQ(late, n == 9);
        for (unsigned i = 0; i < 8; i++) CHECK(ran_on[i] <= (n == 9 ? 2 : 1));
        wsq_pool_destroy(pool);
    }
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
    IN_WORLD(back_with_its_permit);
    IN_WORLD(batch_wakes);
    IN_WORLD(stuck_tasks);
    return test_end();
}
