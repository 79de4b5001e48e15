/* The budget: what wsq_budget_take gives a task in one run, and again in the next. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "test.h"
#include "pool.h"

typedef struct spender {
    wsq_task task;
    unsigned runs, taken[4];
    wsq_task *inner; /* it wakes this one, and waits for it in the middle of its run */
} spender;

static unsigned spend(unsigned most) {
    unsigned taken = 0;
    while (taken < most && wsq_budget_take()) taken++;
    return taken;
}

static wsq_poll spender_run(wsq_ctx ctx, wsq_task *task) {
    spender *self = wsq_container_of(task, spender, task);
    (void)ctx;
    self->taken[self->runs++] = spend(1000000);
    CHECK(!wsq_budget_take());
    return self->runs < 4 ? WSQ_YIELD : WSQ_DONE;
}

static void each_run(uint32_t configured, unsigned expected, bool caller_runs) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 1, .budget = configured, .caller_runs = caller_runs});
    spender some[3] = {{.runs = 0}};
    for (int i = 0; i < 3; i++) {
        wsq_task_init(&some[i].task, spender_run);
        CHECK_EQ(wsq_spawn(pool, &some[i].task), WSQ_OK);
    }
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(some[i].runs, 4);
        for (int run = 0; run < 4; run++) CHECK_EQ(some[i].taken[run], expected);
    }
    pool_end(pool);
}

static void budgets(void) {
    each_run(0, 128, false);
    each_run(1, 1, false);
    each_run(5000, 5000, false);
    each_run(0, 128, true);
    each_run(7, 7, true);
}

/* Off the pool there is nobody to share with. */
static void outside(void) { CHECK_EQ(spend(1000), 1000); }

/* A task that waits runs another on its own stack, and has its own budget after that. */
static wsq_poll inner_run(wsq_ctx ctx, wsq_task *task) {
    spender *self = wsq_container_of(task, spender, task);
    (void)ctx;
    if (self->runs++ == 0) return WSQ_PENDING;
    self->taken[0] = spend(1000);
    return WSQ_DONE;
}

static wsq_poll outer_run(wsq_ctx ctx, wsq_task *task) {
    spender *self = wsq_container_of(task, spender, task);
    (void)ctx;
    self->taken[0] = spend(10);
    wsq_wake(self->inner);
    CHECK_EQ(wsq_task_wait(self->inner), WSQ_OK);
    self->taken[1] = spend(1000);
    return WSQ_DONE;
}

static void nested(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 1, .caller_runs = true, .budget = 100});
    spender inner = {.runs = 0}, outer = {.inner = &inner.task};
    wsq_task_init(&inner.task, inner_run);
    wsq_task_init(&outer.task, outer_run);
    CHECK_EQ(wsq_spawn(pool, &inner.task), WSQ_OK);
    while (wsq_pool_run_one(pool)) {}
    CHECK_EQ(wsq_spawn(pool, &outer.task), WSQ_OK);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    CHECK_EQ(inner.taken[0], 100);
    CHECK_EQ(outer.taken[0], 10);
    CHECK_EQ(outer.taken[1], 90);
    pool_end(pool);
}

/* A task that spends its budget and yields does not keep its worker from the others. */
static atomic_bool polite_ran;

static wsq_poll greedy_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    (void)task;
    while (wsq_budget_take()) {}
    return atomic_load(&polite_ran) ? WSQ_DONE : WSQ_YIELD;
}

static wsq_poll polite_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    (void)task;
    atomic_store(&polite_ran, true);
    return WSQ_DONE;
}

static void yields_share(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 1});
    for (size_t i = 0; i < test_times(1000); i++) {
        wsq_task greedy, polite;
        atomic_store(&polite_ran, false);
        wsq_task_init(&greedy, greedy_run);
        wsq_task_init(&polite, polite_run);
        CHECK_EQ(wsq_spawn(pool, &greedy), WSQ_OK);
        CHECK_EQ(wsq_spawn(pool, &polite), WSQ_OK);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    }
    pool_end(pool);
}

/* A future's function has the same budget in a queue's task and in a wait that calls it. It may not get its own future. */
static wsq_future *awaited;
static atomic_ulong taken;

static void *take_all(void *arg) {
    CHECK_EQ(wsq_future_get(awaited, NULL), WSQ_ERR_INVALID);
    while (wsq_budget_take()) atomic_fetch_add(&taken, 1);
    return arg;
}

static wsq_poll submit_and_get(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    CHECK_EQ(wsq_submit(wsq_pool_of(ctx), take_all, NULL, &awaited), WSQ_OK);
    CHECK_EQ(wsq_future_get(awaited, NULL), WSQ_OK); /* calls it here */
    return WSQ_DONE;
}

static void futures(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 1, .budget = 7});
    wsq_task task;
    CHECK_EQ(wsq_submit(pool, take_all, NULL, &awaited), WSQ_OK);
    CHECK_EQ(wsq_future_get(awaited, NULL), WSQ_OK);
    wsq_task_init(&task, submit_and_get);
    CHECK_EQ(wsq_spawn(pool, &task), WSQ_OK);
    CHECK_EQ(wsq_task_wait(&task), WSQ_OK);
    CHECK_EQ(atomic_load(&taken), 14);
    pool_end(pool);
}

int main(void) {
    test_begin("test_budget");
    RUN(budgets);
    RUN(outside);
    RUN(nested);
    RUN(yields_share);
    RUN(futures);
    return test_end();
}
