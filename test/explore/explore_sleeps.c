/* A pool stops in the explorer, in the middle of what its workers do there. */
#include "explore_small.h"
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include "explore_pool.h"

static wsq_pool *pool;
static wsq_task forker, never;

static wsq_poll pends(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    return WSQ_PENDING;
}

static void wait_in_vain(wsq_ctx ctx, wsq_job *job) {
    (void)ctx, (void)job;
    explore_check(wsq_task_wait(&never) == WSQ_ERR_CANCELLED);
}

static wsq_poll forks(wsq_ctx ctx, wsq_task *task) {
    wsq_job job = {.fn = NULL};
    (void)task;
    wsq_fork(&ctx, &job, wait_in_vain);
    wsqi_pause();
    wsq_join(&ctx, &job);
    return WSQ_DONE;
}

/* S never counts more idle threads than there are bits: a thread that takes one from S finds a bit. */
static void check_places(void) {
    uint64_t bits = 0;
    for (unsigned w = 0; w < pool->words; w++) bits |= pool->sleepers[w].v;
    explore_check(wsqi_idle(pool->permits.v) <= (unsigned)__builtin_popcountll(bits));
}

/* The worker that steals the job sleeps in its wait; the pool stops; when the job is over, it searches
 * on, and sleeps again. */
static void sleep_again(void) {
    const wsq_config config = {.max_standins = WSQ_STANDINS_OFF};
    wsq_task_init(&forker, forks);
    wsq_task_init(&never, pends);
    pool = explore_pool_make(2, config);
    explore_check(wsq_spawn(pool, &never) == WSQ_OK);
    explore_check(wsq_spawn(pool, &forker) == WSQ_OK);
    if (explore_choose(4)) explore_wait_quiet();
    explore_check(wsq_pool_shutdown(pool, WSQ_CANCEL) == WSQ_OK);
    check_places();
    explore_pool_end(pool);
}

int main(void) {
    explore_random("stop: a worker sleeps again", sleep_again, 4000);
    return explore_end();
}
