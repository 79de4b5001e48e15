/* What one pass of a thief over the other workers reads and visits; and notifications that one moment needs: nothing
 * else tells of the work, so it would wait for a long time. */
#include "exact.h"

static uint32_t node_of(unsigned worker, void *user) { return (void)user, worker << 16; }

/* Where distances matter, a pass has three rounds, and reads three numbers: no memory follows them here. */
static void rounds_of_a_pass(void) {
    static const wsq_topology nodes = {node_of, NULL};
    wsq_pool *pool = pool_make(&(wsq_config){.caller_runs = true, .workers = 3, .topology = &nodes});
    char *pages = (char *)sim_map((uintptr_t)5 << 44, 2 << 16);
    uint32_t *from = (uint32_t *)(void *)(pages + (1 << 16)) - 3;
    wsq_task *task = NULL;
    CHECK_EQ(munmap(pages + (1 << 16), 1 << 16), 0);
    CHECK(!wsqi_steal_pass(wsqi_block(pool, 0), WSQI_TASKS, from, &task));
    wsq_pool_destroy(pool);
}

/* ---- a helper that has lost its permit, in a pool with one thread ---- */

static item *late;

static wsq_poll helped_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    compute(1500 * US);
    block_for(ctx, 2 * MS);
    compute(2500 * US);
    item_spawn(wsq_pool_of(ctx), late);
    compute(item_of(task)->ns);
    return WSQ_DONE;
}

static void late_main(void *arg) {
    nap(2 * MS);
    item_spawn((wsq_pool *)arg, item_make(3 * MS));
}

/* The only worker blocks, so a thread outside helps in its wait. It blocks in turn, and the worker has the permit, until
 * it sleeps. Then the helper queues a task. */
static void helper_without_a_permit(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1, .max_standins = WSQ_STANDINS_OFF});
    item *helped = item_make(10 * MS);
    late = item_make(US);
    helped->task.fn = helped_run;
    item_spawn(pool, item_blocks(MS));
    nap(200 * US);
    outside(late_main, pool);
    item_spawn(pool, helped);
    CHECK_EQ(wsq_task_wait(&helped->task), WSQ_OK);
    wsq_pool_wait(pool);
    CHECK(late->began < late->spawned + 200 * US);
    wsq_pool_destroy(pool);
}

/* ---- a joiner without a permit is called: it asks the one that has one ---- */

static void long_job(wsq_ctx ctx, wsq_job *job) { (void)ctx, (void)job, compute(20 * MS); }

static wsq_poll keeps_its_permit_run(wsq_ctx ctx, wsq_task *task) {
    wsq_job job;
    (void)task;
    wsq_fork(&ctx, &job, long_job);
    compute(MS);
    wsq_join(&ctx, &job);
    return WSQ_DONE;
}

static wsq_poll lost_its_permit_run(wsq_ctx ctx, wsq_task *task) {
    compute(2 * MS); /* meanwhile another worker steals the first job */
    block_for(ctx, 3 * MS);
    compute(2 * MS);
    return keeps_its_permit_run(ctx, task);
}

/* The jobs of workers 0 and 1 take two permits, a long task takes one, and the joiner has the fourth one. The one that
 * is called, worker 0, has lost its own in a block. */
static void joiner_without_a_permit(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 4});
    item *has = item_make(0), *lacks = item_make(0);
    late = item_make(US);
    has->task.fn = keeps_its_permit_run;
    lacks->task.fn = lost_its_permit_run;
    item_spawn_on(pool, 0, lacks);
    item_spawn_on(pool, 1, has);
    nap(2200 * US);
    item_spawn(pool, item_make(20 * MS));
    item_spawn(pool, item_make(4 * MS));
    nap(7 * MS);
    CHECK_EQ(wsqi_sleeping(wsqi_load_hint(&pool->permits)), 0);
    CHECK(wsqi_load_hint(&pool->joiners[0]) == 3);
    item_spawn(pool, late);
    wsq_pool_wait(pool);
    CHECK(late->began < late->spawned + 200 * US);
    wsq_pool_destroy(pool);
}

/* ---- a guest leaves ---- */

static wsq_poll forks_run(wsq_ctx ctx, wsq_task *task) {
    wsq_job job;
    (void)task;
    wsq_fork(&ctx, &job, long_job);
    compute(20 * MS);
    wsq_join(&ctx, &job);
    return WSQ_DONE;
}

static uint64_t job_began;
static void noted_job(wsq_ctx ctx, wsq_job *job) {
    (void)ctx, (void)job;
    job_began = now();
}

static wsq_poll noted_run(wsq_ctx ctx, wsq_task *task) {
    wsq_job job;
    (void)task;
    wsq_fork(&ctx, &job, noted_job);
    compute(20 * MS);
    wsq_join(&ctx, &job);
    return WSQ_DONE;
}

static void guest_computes(wsq_ctx ctx, void *arg) { (void)ctx, (void)arg, compute(4 * MS); }

/* While a guest works, the idle one of two workers leaves the other one's job to it. When the guest leaves, it takes it. */
static void guest_leaves(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2});
    item *forks = item_make(0);
    forks->task.fn = noted_run;
    item_spawn(pool, forks);
    CHECK_EQ(wsq_run(pool, guest_computes, NULL), WSQ_OK);
    uint64_t left = now();
    wsq_pool_wait(pool);
    CHECK(job_began < left + 100 * US);
    wsq_pool_destroy(pool);
}

int main(void) {
    test_begin("exact_passes");
    IN_WORLD(rounds_of_a_pass);
    IN_WORLD(helper_without_a_permit);
    IN_WORLD(joiner_without_a_permit);
    IN_WORLD(guest_leaves);
    return test_end();
}
