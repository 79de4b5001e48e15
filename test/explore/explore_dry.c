/* A wait for the pool while a run goes on, in the explorer: no task is left, but a worker is in one of
 * the run's jobs, or goes there as soon as its last task is done. The run ends when the wait has. */
#define WSQ_GUESTS 1
#include "explore_small.h"
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include "explore_pool.h"

static wsq_pool *pool;
static int waited; /* the gate of all that goes on until wsq_pool_wait has returned */
static int kind;   /* what the job does */

enum { NOTHING, WAITS, CALLS, KINDS };

typedef struct held { wsq_job job; } held;

static wsq_poll nothing(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    wsqi_pause();
    return WSQ_DONE;
}

static void *call(void *arg) { return arg; }

/* Its last task may end inside the job, too, where it waits for that. */
static void held_run(wsq_ctx ctx, wsq_job *job) {
    wsq_task task;
    wsq_future *future;
    (void)ctx, (void)job;
    wsq_task_init(&task, nothing);
    if (kind == WAITS) {
        explore_check(wsq_spawn(pool, &task) == WSQ_OK);
        explore_check(wsq_task_wait(&task) == WSQ_OK);
    } else if (kind == CALLS) {
        explore_check(wsq_submit(pool, call, NULL, &future) == WSQ_OK);
        explore_check(wsq_future_get(future, NULL) == WSQ_OK);
    }
    explore_meet(&waited, 2);
}

static void gives_one(wsq_ctx ctx, void *arg) {
    held one = {.job = {.fn = NULL}};
    (void)arg;
    wsq_fork(&ctx, &one.job, held_run);
    for (int i = 0; i < 4; i++) wsqi_pause();
    wsq_join(&ctx, &one.job);
}

static void guest(void *arg) {
    (void)arg;
    explore_check(wsq_run(pool, gives_one, NULL) == WSQ_OK);
}

static void wait_beside_a_run(void) {
    wsq_config config = {.lifo_cap = explore_choose(2) ? WSQ_LIFO_OFF : 0};
    config.order = explore_choose(4) ? WSQ_FIFO : WSQ_LIFO;
    wsq_task tasks[2];
    int count = 1 + explore_choose(2);
    waited = 0;
    kind = explore_choose(KINDS);
    pool = explore_pool_make(2 + (unsigned)explore_choose(2), config);
    explore_start(guest, NULL);
    for (int i = 0; i < count; i++) {
        wsq_task_init(&tasks[i], nothing);
        explore_check(wsq_spawn(pool, &tasks[i]) == WSQ_OK);
    }
    if (explore_choose(4) == 0) wsq_task_cancel(&tasks[count - 1]);
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    explore_meet(&waited, 2);
    explore_pool_end(pool);
}

/* ---- two workers are in jobs of the run ---- */

static wsqi_a32 over;

static void held_till_over(wsq_ctx ctx, wsq_job *job) {
    (void)ctx, (void)job;
    while (wsqi_load_acq(&over) == 0) wsqi_pause();
}

static void gives_two(wsq_ctx ctx, void *arg) {
    held one = {.job = {.fn = NULL}}, two = one;
    (void)arg;
    wsq_fork(&ctx, &one.job, held_till_over);
    wsq_fork(&ctx, &two.job, held_till_over);
    while (wsqi_load_acq(&over) == 0) wsqi_pause();
    wsq_join(&ctx, &two.job);
    wsq_join(&ctx, &one.job);
}

static void guest_of_two(void *arg) {
    (void)arg;
    explore_check(wsq_run(pool, gives_two, NULL) == WSQ_OK);
}

static void two_in_jobs(void) {
    const wsq_config config = {.lifo_cap = WSQ_LIFO_OFF};
    wsq_task task;
    wsqi_store_init(&over, 0u);
    pool = explore_pool_make(4, config);
    explore_start(guest_of_two, NULL);
    wsq_task_init(&task, nothing);
    explore_check(wsq_spawn(pool, &task) == WSQ_OK);
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    wsqi_store_rel(&over, 1u);
    explore_pool_end(pool);
}

/* ---- a worker's last task ends in a wait, in a job that it took while it joined ---- */

static int joined, begun; /* the inner job may end; how many of the jobs below have begun */
static bool held_back;    /* the inner job waits for that */
static int gone_on;       /* the awaited call may end */
static wsq_future *awaited;
static wsq_task last;

static void *call_awaited(void *arg) {
    explore_meet(&gone_on, 2);
    return arg;
}

static void nothing_run(wsq_ctx ctx, wsq_job *job) { (void)ctx, (void)job; }

static void until_begun(wsq_ctx ctx, int count) {
    while (begun < count) {
        held one = {.job = {.fn = NULL}};
        wsq_fork(&ctx, &one.job, nothing_run);
        wsq_join(&ctx, &one.job);
        wsqi_pause();
    }
}

static void inner_run(wsq_ctx ctx, wsq_job *job) {
    (void)job;
    bool worker = wsq_worker_index(ctx) < wsq_pool_workers(pool); /* else the run has taken it */
    begun++; /* from here to held_back no other thread runs */
    if (!worker) return;
    held_back = true;
    explore_meet(&joined, 2);
}

static void joins_run(wsq_ctx ctx, wsq_job *job) {
    held inner = {.job = {.fn = NULL}};
    (void)job;
    begun++;
    wsq_fork(&ctx, &inner.job, inner_run);
    until_begun(ctx, 2);
    wsq_join(&ctx, &inner.job);
}

static void waits_run(wsq_ctx ctx, wsq_job *job) {
    (void)ctx, (void)job;
    begun++;
    if (held_back) explore_meet(&joined, 2);
    explore_check(wsq_future_get(awaited, NULL) == WSQ_OK);
}

static void holds_run(wsq_ctx ctx, wsq_job *job) {
    (void)ctx, (void)job;
    begun++;
    explore_meet(&waited, 2);
}

static void gives_three(wsq_ctx ctx, void *arg) {
    held jobs[3] = {{.job = {.fn = NULL}}};
    (void)arg;
    wsq_fork(&ctx, &jobs[0].job, joins_run);
    until_begun(ctx, 2);
    wsq_fork(&ctx, &jobs[1].job, waits_run);
    until_begun(ctx, 3);
    explore_check(wsq_spawn(pool, &last) == WSQ_OK);
    explore_meet(&gone_on, 2);
    wsq_fork(&ctx, &jobs[2].job, holds_run);
    until_begun(ctx, 4);
    for (int i = 2; i >= 0; i--) wsq_join(&ctx, &jobs[i].job);
}

static void guest_of_three(void *arg) {
    (void)arg;
    explore_check(wsq_run(pool, gives_three, NULL) == WSQ_OK);
}

static void wait_beside_a_wait(void) {
    wsq_config config = {.max_standins = WSQ_STANDINS_OFF, .lifo_cap = WSQ_LIFO_OFF};
    waited = joined = begun = gone_on = 0;
    held_back = false;
    pool = explore_pool_make(4, config);
    wsq_task_init(&last, nothing);
    explore_check(wsq_submit(pool, call_awaited, NULL, &awaited) == WSQ_OK);
    explore_start(guest_of_three, NULL);
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    explore_meet(&waited, 2);
    explore_pool_end(pool);
}

int main(void) {
    explore_random("dry: a wait beside a run", wait_beside_a_run, 8000);
    explore_random("dry: a wait beside a wait in a job", wait_beside_a_wait, 2000);
    explore_random("dry: two workers are in jobs of a run", two_in_jobs, 2000);
    return explore_end();
}
