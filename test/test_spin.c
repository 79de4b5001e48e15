/* How long a worker looks for work before it sleeps: less, once it has found nothing several times. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "test.h"
#include "pool.h"
#include "compose.h"

/* At rest: no worker writes. */
static unsigned discouraged(wsq_pool *pool) {
    unsigned count = 0;
    pool_rest(pool);
    for (unsigned i = 0; i < pool->workers; i++) count += wsqi_discouraged(wsqi_block(pool, i));
    return count;
}

/* Each finds the pool asleep. */
static void one_by_one(wsq_pool *pool, int count) {
    for (int i = 0; i < count; i++) {
        step one;
        step_new(&one, NULL, NULL);
        CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_OK);
        CHECK_EQ(wsq_task_wait(&one.task), WSQ_OK);
        pool_rest(pool);
    }
}

static void in_vain(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 1});
    CHECK_EQ(discouraged(pool), 0);
    one_by_one(pool, WSQI_VAIN);
    CHECK_EQ(discouraged(pool), 1);
    one_by_one(pool, 300); /* and it goes on working, past 256 */
    pool_end(pool);
}

/* What the user asked for is done, however often it finds nothing. */
static void as_the_user_wants(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 1, .spin_ns = 1000});
    one_by_one(pool, 3 * WSQI_VAIN);
    CHECK_EQ(discouraged(pool), 0);
    pool_end(pool);
}

static atomic_int met;

static void meet(wsq_ctx ctx, wsq_job *job) {
    (void)ctx, (void)job;
    atomic_fetch_add(&met, 1);
    while (atomic_load(&met) < 2) sched_yield();
}

static void meet_root(wsq_ctx ctx, void *arg) {
    wsq_job job;
    (void)arg;
    wsq_fork(&ctx, &job, meet);
    while (atomic_load(&met) == 0) { /* until another worker has it: the trap is looked at in a fork */
        wsq_job other;
        wsq_fork(&ctx, &other, meet);
        if (!wsq_reclaim(&ctx, &other)) break;
    }
    atomic_fetch_add(&met, 1);
    wsq_join(&ctx, &job);
}

/* A worker that steals a job looks on for as long as before. */
static void encouraged(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 2});
    int looks_on = 0; /* it may have searched for nothing again since */
    for (int round = 0; round < 10; round++) {
        one_by_one(pool, 40);
        for (int i = 0; i < 2; i++) wsqi_block(pool, (unsigned)i)->search.vain = WSQI_VAIN; /* it is at rest */
        atomic_store(&met, 0);
        CHECK_EQ(wsq_run(pool, meet_root, NULL), WSQ_OK);
        looks_on += discouraged(pool) <= 1;
    }
    CHECK(looks_on > 0);
    pool_end(pool);
}

/* Set while the pool runs: a worker that looks on for ever goes to sleep, and later one that was asleep
 * looks on, once it has been woken. */
static unsigned asleep(wsq_pool *pool) { return wsqi_free_permits(wsqi_load_hint(&pool->permits)); }

static void set_anew(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 2, .spin_ns = WSQ_FOREVER - 1});
    wsq_config pumped = {.workers = 1, .caller_runs = true};
    step one;
    for (int round = 0; round < 20; round++) {
        step_new(&one, NULL, NULL);
        CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_OK);
        CHECK_EQ(wsq_task_wait_for(&one.task, WSQ_FOREVER - 1), WSQ_OK); /* on a worker */
        test_nap(2000000);
        CHECK(asleep(pool) < 2); /* the one that was woken looks on */
        wsq_pool_set_spin(pool, round % 2 ? WSQ_SPIN_OFF : 0);
        pool_rest(pool);
        wsq_pool_set_spin(pool, WSQ_FOREVER - 1);
    }
    wsq_timer_set(pool, &one.timer, &one.task, 0);
    wsq_pool_set_spin(pool, 1000);
    pool_end(pool);
    pool = pool_new(pumped);
    wsq_pool_set_spin(pool, WSQ_FOREVER - 1); /* else the wait would spin */
    step_new(&one, NULL, NULL);
    CHECK_EQ(wsq_task_wait_for(&one.task, 1), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_OK);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    CHECK(!wsq_pool_run_one(pool));
    pool_end(pool);
}

int main(void) {
    test_begin("test_spin");
    RUN(set_anew);
    RUN(in_vain);
    RUN(as_the_user_wants);
    RUN(encouraged);
    return test_end();
}
