/* All stand-ins are taken in the explorer, or one is on its way to be too many: somebody still runs what
 * the others wait for. */
#include "explore_pool.h"

static wsq_pool *pool;
static wsq_task forker, awaited;
static wsqi_a32 spawned;
static int started, blocks;

static wsq_poll at_once(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    return WSQ_DONE;
}

static void nothing(wsq_ctx ctx, wsq_job *job) { (void)ctx, (void)job; }

static void wait_for_awaited(wsq_ctx ctx, wsq_job *job) {
    (void)job;
    started = 1;
    while (wsqi_load_acq(&spawned) == 0) wsqi_pause();
    if (blocks) wsq_block_begin(ctx);
    explore_check(wsq_task_wait(&awaited) == WSQ_OK);
    if (blocks) wsq_block_end(ctx);
}

/* Its stand-in takes its job; it has what that waits for, blocks no more, and joins. */
static wsq_poll forks(wsq_ctx ctx, wsq_task *task) {
    wsq_job job = {.fn = NULL}, other = {.fn = NULL};
    (void)task;
    wsq_block_begin(ctx);
    wsq_fork(&ctx, &job, wait_for_awaited);
    while (!started) { /* each fork offers the first job to a thief */
        wsq_fork(&ctx, &other, nothing);
        wsq_join(&ctx, &other);
        wsqi_pause();
    }
    explore_check(wsq_spawn(pool, &awaited) == WSQ_OK);
    wsq_block_end(ctx);
    wsqi_store_rel(&spawned, 1u);
    wsq_join(&ctx, &job);
    return WSQ_DONE;
}

static void left_by_its_worker(void) {
    const wsq_config config = {.max_standins = 1};
    started = 0;
    blocks = explore_choose(2);
    wsqi_store_init(&spawned, 0u);
    wsq_task_init(&forker, forks);
    wsq_task_init(&awaited, at_once);
    pool = explore_pool_make(1, config);
    explore_check(wsq_spawn(pool, &forker) == WSQ_OK);
    explore_check(wsq_task_wait(&forker) == WSQ_OK);
    explore_wait_quiet();
    explore_check_parked(pool);
    explore_pool_end(pool);
}

int main(void) {
    explore_random("stand-in: left alone by its worker", left_by_its_worker, 3000);
    return explore_end();
}
