/* A thread that was lent stays the user's in the explorer: what runs it on, and where, is not the pool's. */
#define wsqi_cpu_leave() ((void)sent_on++)
static int sent_on; /* threads that were sent to another processor */
#include "explore_small.h"
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include "explore_pool.h"

enum { TIMES = 3 };

static wsq_pool *pool;
static wsq_task forkers[TIMES];
static int gate, moved_ever;

static void meets(wsq_ctx ctx, wsq_job *job) {
    (void)ctx, (void)job;
    explore_meet(&gate, 2);
}

/* Its job runs beside it, on a worker that was woken for that: there is one processor only. */
static wsq_poll forks(wsq_ctx ctx, wsq_task *task) {
    wsq_job job = {.fn = NULL};
    (void)task;
    gate = 0;
    wsq_fork(&ctx, &job, meets);
    explore_meet(&gate, 2);
    wsq_join(&ctx, &job);
    return WSQ_DONE;
}

static void lends(void *arg) {
    (void)arg;
    explore_check(wsq_worker_enter(pool) == WSQ_OK);
}

static void woken_for_jobs(bool lent) {
    const wsq_config config = {.lend_only = lent, .max_standins = WSQ_STANDINS_OFF};
    sent_on = 0;
    pool = explore_pool_make(2, config);
    for (int i = 0; lent && i < 2; i++) explore_start(lends, NULL);
    for (int i = 0; i < TIMES; i++) {
        explore_wait_quiet();
        wsq_task_init(&forkers[i], forks);
        explore_check(wsq_spawn(pool, &forkers[i]) == WSQ_OK);
        explore_check(wsq_task_wait(&forkers[i]) == WSQ_OK);
    }
    explore_check(wsq_pool_shutdown(pool, WSQ_DRAIN) == WSQ_OK);
    explore_pool_end(pool);
}

static void own_threads(void) {
    woken_for_jobs(false);
    moved_ever += sent_on;
}

static void lent_threads(void) {
    woken_for_jobs(true);
    explore_check(sent_on == 0);
}

int main(void) {
    if (explore_random("lent: the pool's own threads move", own_threads, 1000) && moved_ever == 0) {
        printf("no point is reached\n"); /* then the other scenario shows nothing */
        return 1;
    }
    explore_random("lent: a thread that was lent stays", lent_threads, 1000);
    return explore_end();
}
