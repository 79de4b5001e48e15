/* hangs_permits.h - faults 13 to 15 of hangs.c: a thread that waits, beside the others of its pool. */
#ifndef HANGS_PERMITS_H
#define HANGS_PERMITS_H

#include "hangs_idle.h"

static item *pinned_one;

static wsq_poll waits_above_pinned_run(wsq_ctx ctx, wsq_task *task) {
    item *low = item_make(US);
    (void)task;
    wsq_task_set_priority(&low->task, WSQ_LOW);
    item_spawn_on(wsq_pool_of(ctx), 0, pinned_one);
    item_spawn(wsq_pool_of(ctx), low);
    wsq_task_wait(&low->task);
    return WSQ_DONE;
}

/* A pinned task yields until another has run, on top of a wait of its worker. */
static void pinned_yields(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    item *waits = item_make(0), *ends = item_make(US);
    pinned_one = item_make(US);
    pinned_one->until = ends;
    waits->task.fn = waits_above_pinned_run;
    item_spawn(pool, waits);
    item_spawn(pool, ends);
    wsq_pool_wait(pool);
}

/* A guest waits for a task of a caller_runs pool, which it runs itself. */
static void pump_wait(wsq_ctx ctx, void *arg) {
    (void)ctx;
    wsq_task_wait(&((item *)arg)->task);
}

static item *pumped;

static void pump_guest(void *arg) { wsq_run((wsq_pool *)arg, pump_wait, pumped); }

static void guest_pumps(void) {
    wsq_pool *pump = pool_make(&(wsq_config){.workers = 1, .caller_runs = true});
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    item *late = item_make(US);
    pumped = item_make(20 * MS);
    item_spawn(pump, pumped);
    outside(pump_guest, pool);
    nap(MS);
    item_spawn(pool, late);
    wsq_pool_wait(pool);
    judge("a task beside a guest that waits in a caller_runs pool begins after",
          late->began - late->spawned, 2 * MS);
}

/* A task blocks for a moment: what its worker has fetched came before the rest, and stays before it. */
static item *queued;

static wsq_poll blocks_shortly_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    compute(100 * US); /* the others come meanwhile */
    item_spawn(wsq_pool_of(ctx), queued);
    wsq_block_begin(ctx);
    nap(10 * US);
    wsq_block_end(ctx);
    return WSQ_DONE;
}

static void order_beside_block(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    item *first[40], *blocks = item_make(0);
    uint64_t worst = 0;
    queued = item_make(US);
    blocks->task.fn = blocks_shortly_run;
    item_spawn(pool, item_make(50 * US)); /* holds the worker until the next are queued */
    item_spawn(pool, blocks);
    for (int i = 0; i < 40; i++) item_spawn(pool, first[i] = item_make(US));
    nap(60 * US);
    for (int i = 0; i < 1500; i++) item_spawn(pool, item_make(50 * US));
    wsq_pool_wait(pool);
    for (int i = 0; i < 40; i++) {
        uint64_t took = first[i]->began - first[i]->spawned;
        if (took > worst) worst = took;
    }
    judge("a task queued before 1,500 others, beside a block, begins after", worst, 10 * MS);
}

/* ---- 14: what lies behind a thread while others always have something to do ---- */

/* A thread lost its permit in a wait, went on without it, queues a task, and waits again. */
static item *slow_event;

static wsq_poll waits_twice_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    for (int i = 0; i < 2; i++) {
        slow_event = item_make(US);
        slow_event->pends = true;
        item_spawn(wsq_pool_of(ctx), slow_event);
        if (i == 1) item_spawn(wsq_pool_of(ctx), queued);
        item_set_timer(wsq_pool_of(ctx), slow_event, i == 0 ? 100 * US : 50 * MS);
        wsq_task_wait(&slow_event->task);
    }
    return WSQ_DONE;
}

/* `run` queues a task, beside one that yields until that one has run, or gives up. */
static void queued_beside_yields(unsigned workers, wsq_task_fn run, bool yields_first, uint64_t give_up,
                                 const char *what) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = workers});
    item *queues = item_make(0), *yields = item_make(US);
    queued = item_make(US);
    queues->task.fn = run;
    yields->until = queued;
    yields->give_up = give_up;
    item_spawn(pool, yields_first ? yields : queues);
    item_spawn(pool, yields_first ? queues : yields);
    wsq_pool_wait(pool);
    judge(what, queued->began - queued->spawned, 5 * MS);
}

static void waits_without_permit(void) {
    queued_beside_yields(1, waits_twice_run, true, 30 * MS,
                         "a task queued by a thread without a permit, which then waits, begins after");
}

static wsq_poll computes_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    compute(100 * US);
    item_spawn(wsq_pool_of(ctx), queued);
    compute(30 * MS);
    return WSQ_DONE;
}

static void behind_a_long_task(void) {
    queued_beside_yields(2, computes_run, false, 25 * MS,
                         "a task behind a long one, beside a worker with a task that yields, begins after");
}

/* It waits for a timer's task, in a run. On top of that wait its thread runs a pinned task. */
static wsq_poll waits_for_timer_run(wsq_ctx ctx, wsq_task *task) {
    wsq_pool *pool = wsq_pool_of(ctx);
    item *event = item_make(US);
    event->pends = true;
    item_spawn(pool, event);
    item_set_timer(pool, event, MS); /* when a stand-in has begun the event's first run */
    wsq_run(pool, pump_wait, event);
    item_of(task)->ended = now();
    return WSQ_DONE;
}

static void timer_beside_pinned(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    item *waits = item_make(0), *yields = item_make(5 * US);
    waits->task.fn = waits_for_timer_run;
    yields->until = waits;
    yields->give_up = 30 * MS;
    item_spawn_on(pool, 0, yields);
    item_spawn(pool, waits);
    wsq_pool_wait(pool);
    judge("a task that waits for a timer, below a pinned task that yields, ends after",
          waits->ended - waits->spawned, 5 * MS);
}

/* A stand-in steals a job, in a search or, without another thread, in a wait. The job blocks, and then a task
 * uses the only permit. What the job has queued waits for that task's end. */
static item *long_task, *job_tasks[2];
static bool job_over;

static void blocking_job(wsq_ctx ctx, wsq_job *job) {
    (void)job;
    if (long_task->spawned == 0) item_spawn(wsq_pool_of(ctx), long_task);
    item_spawn(wsq_pool_of(ctx), job_tasks[0] = item_make(US));
    wsq_block_begin(ctx);
    while (long_task->began == 0) nap(10 * US);
    wsq_block_end(ctx);
    item_spawn(wsq_pool_of(ctx), job_tasks[1] = item_make(US));
    job_over = true;
}

/* Blocks until the job is over; or, if it has something to compute, until it can do that. */
static wsq_poll forks_and_blocks_run(wsq_ctx ctx, wsq_task *task) {
    item *self = item_of(task);
    wsq_job job;
    wsq_fork(&ctx, &job, blocking_job);
    wsq_block_begin(ctx);
    if (self->ns != 0) nap(MS);
    else while (!job_over) nap(10 * US);
    wsq_block_end(ctx);
    if (self->ns != 0) {
        self->began = now();
        compute(self->ns);
        self->ended = now();
    }
    wsq_join(&ctx, &job);
    return WSQ_DONE;
}

static uint64_t before(uint64_t one, uint64_t end) { return one < end ? end - one : 0; }

static void one_at_a_time(wsq_pool *pool) {
    wsq_pool_wait(pool);
    judge("with one worker, a task begins before the end of another by",
          before(job_tasks[0]->began, long_task->ended), 0);
    judge("the second task of a job begins before the first by",
          before(job_tasks[1]->began, job_tasks[0]->began), 0);
}

static void stolen_in_a_search(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    item *forks = item_make(0);
    job_over = false;
    long_task = item_make(20 * MS);
    forks->task.fn = forks_and_blocks_run;
    item_spawn(pool, forks);
    one_at_a_time(pool);
}

static wsq_poll waits_long_run(wsq_ctx ctx, wsq_task *task) {
    item *event = item_make(US);
    (void)task;
    event->pends = true;
    item_spawn(wsq_pool_of(ctx), event);
    item_set_timer(wsq_pool_of(ctx), event, 50 * MS);
    wsq_task_wait(&event->task);
    return WSQ_DONE;
}

static void stolen_in_a_wait(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1, .max_standins = 1});
    item *waits = item_make(0);
    job_over = false;
    long_task = item_make(20 * MS);
    long_task->task.fn = forks_and_blocks_run;
    waits->task.fn = waits_long_run;
    item_spawn(pool, long_task);
    item_spawn(pool, waits);
    one_at_a_time(pool);
}

/* ---- 15: tasks that have waited keep their threads ---- */

static item *late_waits;

/* It has waited, and goes on without a permit until `late_waits` is over. */
static wsq_poll waits_and_goes_on_run(wsq_ctx ctx, wsq_task *task) {
    item *event = item_make(US);
    event->pends = true;
    item_spawn(wsq_pool_of(ctx), event);
    item_set_timer(wsq_pool_of(ctx), event, 100 * US);
    wsq_task_wait(&event->task);
    while (late_waits->ended == 0) compute(10 * US);
    item_of(task)->ended = now();
    return WSQ_DONE;
}

static wsq_poll late_waits_run(wsq_ctx ctx, wsq_task *task) {
    item *event = item_make(US);
    event->pends = true;
    compute(300 * US);
    item_spawn(wsq_pool_of(ctx), event);
    item_set_timer(wsq_pool_of(ctx), event, 500 * US);
    wsq_task_wait(&event->task);
    item_of(task)->ended = now();
    return WSQ_DONE;
}

static wsq_poll blocks_until_run(wsq_ctx ctx, wsq_task *task) {
    wsq_block_begin(ctx);
    while (late_waits->ended == 0) compute(10 * US);
    wsq_block_end(ctx);
    item_of(task)->ended = now();
    return WSQ_DONE;
}

/* At most one wait is open at a time, but one stand-in is not enough: three tasks may have waited or blocked, and
 * not ended. */
static void standins_for_tasks(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1, .max_standins = 3});
    wsq_task_fn runs[] = {waits_and_goes_on_run, late_waits_run, blocks_until_run};
    for (int i = 0; i < 3; i++) {
        item *one = item_make(0);
        one->task.fn = runs[i];
        if (i == 1) late_waits = one;
        item_spawn(pool, one);
    }
    wsq_pool_wait(pool);
}

#endif /* HANGS_PERMITS_H */
