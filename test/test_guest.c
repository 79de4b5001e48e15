/* Guests: threads in wsq_run, which may steal what workers fork, and wait as they do. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "stages.h"

static void nothing(wsq_ctx ctx, wsq_job *job) {
    (void)ctx;
    (void)job;
}

/* Forks, which show thieves what else there is, until one of them has taken that. */
static void fork_until(wsq_ctx ctx, unsigned n) {
    wsq_job job;
    while (atomic_load(&stage) < n) {
        wsq_fork(&ctx, &job, nothing);
        sched_yield();
        wsq_join(&ctx, &job);
    }
}

/* This thread forks the job, others reach `n` in it, and then it joins. */
static void fork_away(wsq_ctx ctx, wsq_job_fn fn, unsigned n) {
    wsq_job job;
    wsq_fork(&ctx, &job, fn);
    fork_until(ctx, n);
    wsq_join(&ctx, &job);
}

static void check_guest(void) { CHECK(wsq_worker_self() >= (int)wsq_pool_workers(here)); }

static void job_until_stop(wsq_ctx ctx, wsq_job *job) {
    (void)job;
    reach(1);
    until_stop(ctx);
}

static void guest_forks(wsq_ctx ctx, void *arg) {
    (void)arg;
    fork_away(ctx, job_until_stop, 1);
}

static void *guest_main(void *arg) {
    (void)arg;
    CHECK_EQ(wsq_run(here, guest_forks, NULL), WSQ_OK);
    return NULL;
}

/* It blocks, so that the guest finds a permit. */
static wsq_poll hold_until_stop(wsq_ctx ctx, step *self) {
    (void)self;
    wsq_block_begin(ctx);
    reach(2);
    until_stop(ctx);
    wsq_block_end(ctx);
    return WSQ_DONE;
}

static void job_waits_for_pending(wsq_ctx ctx, wsq_job *job) {
    (void)job;
    check_guest();
    reach(3);
    until_stop(ctx);
    CHECK_EQ(wsq_task_wait(&first.task), WSQ_ERR_CANCELLED);
}

static wsq_poll worker_forks(wsq_ctx ctx, step *self) {
    (void)self;
    fork_away(ctx, job_waits_for_pending, 3);
    return WSQ_DONE;
}

/* The shutdown waits for the worker, that for the guest, and nobody wakes what the guest waits for.
 * Of the three workers one has the guest's own job and one is held, so that only the guest can take
 * the third's. */
static void guest_waits_when_cancelled(void) {
    pthread_t guest;
    start_one((wsq_config){.workers = 3, .max_standins = WSQ_STANDINS_OFF});
    step_new(&first, pend_once, NULL);
    step_new(&second, hold_until_stop, NULL);
    step_new(&third, worker_forks, NULL);
    spawn(here, &first);
    step_asleep(&first);
    if (pthread_create(&guest, NULL, guest_main, NULL) != 0) abort();
    await(1);
    spawn(here, &second);
    await(2);
    spawn(here, &third);
    await(3);
    CHECK_EQ(wsq_pool_shutdown(here, WSQ_CANCEL), WSQ_OK);
    pthread_join(guest, NULL);
    CHECK_EQ(wsq_pool_pending(here), 1);
    wsq_wake(&first.task); /* it still may be woken: that cancels it */
    cancelled(&first, 1);
    pool_end(here);
}

/* Mostly on a thread that joins another job. */
static void job_waits(wsq_ctx ctx, wsq_job *job) {
    (void)ctx;
    (void)job;
    reach(4);
    spawn(here, &first);
    await_task(&first);
}

/* Another thread takes the job, or none has a permit for it. */
static wsq_poll forks_a_waiter(wsq_ctx ctx, step *self) {
    wsq_job job;
    (void)self;
    wsq_fork(&ctx, &job, job_waits);
    for (int i = 0; i < 1000; i++) sched_yield();
    wsq_join(&ctx, &job);
    return WSQ_DONE;
}

/* Holds a thread until another one has taken the job that waits. */
static void job_until_four(wsq_ctx ctx, wsq_job *job) {
    (void)ctx;
    (void)job;
    reach(3);
    await(4);
}

static void job_above(wsq_ctx ctx, wsq_job *job) {
    wsq_job above;
    (void)job;
    reach(2);
    wsq_fork(&ctx, &above, job_until_four);
    fork_until(ctx, 3);
    spawn(here, &second);
    wsq_join(&ctx, &above); /* meanwhile it helps */
}

static void job_on_worker(wsq_ctx ctx, wsq_job *job) {
    (void)job;
    reach(1);
    fork_away(ctx, job_above, 2);
}

static void run_forks(wsq_ctx ctx, void *arg) {
    (void)arg;
    fork_away(ctx, job_on_worker, 1);
}

/* A thread in a join runs no tasks. The guest and the workers are all in joins or hold a job; so
 * tasks need a stand-in, though none of them blocks. */
static void guest_waits_for_a_task(void) {
    start_one((wsq_config){.workers = 2});
    step_new(&first, NULL, NULL);
    step_new(&second, forks_a_waiter, NULL);
    asleep(2);
    CHECK_EQ(wsq_run(here, run_forks, NULL), WSQ_OK);
    CHECK_EQ(first.runs, 1);
    pool_close(here);
}

static wsq_poll runs_here(wsq_ctx ctx, step *self) {
    (void)ctx, (void)self;
    CHECK_EQ(wsq_run(here, run_forks, NULL), WSQ_OK);
    return WSQ_DONE;
}

/* The same, and the guest is a worker of another pool: it is missed in both. */
static void worker_waits_as_guest(void) {
    start((wsq_config){.workers = 2}, (wsq_config){.workers = 1});
    step_new(&first, NULL, NULL);
    step_new(&second, forks_a_waiter, NULL);
    step_new(&third, runs_here, NULL);
    asleep(2);
    spawn(there, &third);
    await_task(&third);
    CHECK_EQ(first.runs, 1);
    close_both();
}

static wsq_poll reaches_two(wsq_ctx ctx, step *self) {
    (void)ctx, (void)self;
    reach(2);
    return WSQ_DONE;
}

static void blocks_until_two(wsq_ctx ctx, void *arg) {
    (void)arg;
    wsq_block_begin(ctx);
    spawn(there, &second);
    await(2);
    wsq_block_end(ctx);
}

static wsq_poll blocks_here(wsq_ctx ctx, step *self) {
    (void)ctx, (void)self;
    CHECK_EQ(wsq_run(here, blocks_until_two, NULL), WSQ_OK);
    return WSQ_DONE;
}

/* Nobody else works in the other pool, where its task is blocked, too. */
static void worker_blocks_as_guest(void) {
    for (int pumped = 0; pumped < 2; pumped++) {
        start((wsq_config){.caller_runs = pumped != 0}, (wsq_config){.workers = 1});
        step_new(&second, reaches_two, NULL);
        step_new(&third, blocks_here, NULL);
        spawn(there, &third);
        await_task(&third);
        close_both();
    }
}

/* ---- jobs that a guest and a worker steal from each other, one on top of the other ---- */

static void steal_to_and_fro(wsq_ctx ctx, wsq_job *job) {
    unsigned depth = atomic_load(&stage) + 1;
    (void)job;
    reach(depth);
    if (depth < 4) {
        fork_away(ctx, steal_to_and_fro, depth + 1);
    } else {
        check_guest();
        until_stop(ctx);
        CHECK_EQ(wsq_task_wait(&first.task), WSQ_ERR_CANCELLED);
    }
}

static void begins_to_and_fro(wsq_ctx ctx, void *arg) {
    (void)arg;
    fork_away(ctx, steal_to_and_fro, 1);
}

static void *to_and_fro_main(void *arg) {
    (void)arg;
    CHECK_EQ(wsq_run(here, begins_to_and_fro, NULL), WSQ_OK);
    return NULL;
}

/* The guest has two stolen jobs on its stack when it waits, and counts once as a thread on duty. One of
 * the workers leaves the jobs to it. */
static void waits_in_the_second_job(void) {
    pthread_t guest;
    start_one((wsq_config){.workers = 2, .max_standins = WSQ_STANDINS_OFF});
    step_new(&first, pend_once, NULL);
    spawn(here, &first);
    step_asleep(&first);
    if (pthread_create(&guest, NULL, to_and_fro_main, NULL) != 0) abort();
    await(4);
    CHECK_EQ(wsq_pool_shutdown(here, WSQ_CANCEL), WSQ_OK); /* it hangs if it does not release that wait */
    pthread_join(guest, NULL);
    wsq_wake(&first.task);
    cancelled(&first, 1);
    pool_end(here);
}

static wsq_poll late_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    return WSQ_DONE;
}

static void spawns_in_a_drain(wsq_ctx ctx, void *arg) {
    wsqi_worker *guest = wsqi_worker_of(ctx);
    wsq_task *late = (wsq_task *)arg;
    wsqi_frame frame;
    wsqi_admit_none(here);
    CHECK_EQ(wsq_spawn(here, late), WSQ_ERR_CLOSED);
    wsqi_frame_push(guest, &frame, guest->frame.floor); /* as for a job that it has stolen */
    CHECK_EQ(wsq_spawn(here, late), WSQ_OK);
    wsqi_frame_pop(guest, &frame);
    CHECK_EQ(wsq_spawn(here, late), WSQ_ERR_CLOSED);
}

/* A stolen job is part of what a drain runs to its end, so it may spawn, whichever thread runs it. */
static void job_spawns_in_a_drain(void) {
    wsq_task late;
    wsq_task_init(&late, late_run);
    here = pool_new((wsq_config){.workers = 1, .lend_only = true});
    CHECK_EQ(wsq_run(here, spawns_in_a_drain, &late), WSQ_OK);
    CHECK_EQ(wsq_pool_shutdown(here, WSQ_CANCEL), WSQ_OK);
    CHECK_EQ(wsq_task_wait(&late), WSQ_ERR_CANCELLED);
    pool_end(here);
}

/* ---- the jobs of a run in a caller_runs pool ---- */

static atomic_uint jobs_run;

static void job_wakes(wsq_ctx ctx, wsq_job *job) {
    (void)ctx, (void)job;
    wsq_wake(&first.task);
}

/* In its wait, the thread itself has to run the job that it has forked. */
static void waits_for_its_own_job(wsq_ctx ctx, void *arg) {
    wsq_job job;
    (void)arg;
    step_new(&first, pend_once, NULL);
    spawn(here, &first);
    wsq_fork(&ctx, &job, job_wakes);
    await_task(&first);
    wsq_join(&ctx, &job);
}

static void job_counts(wsq_ctx ctx, wsq_job *job) {
    (void)ctx, (void)job;
    atomic_fetch_add(&jobs_run, 1);
}

/* Another thread takes all jobs. */
static void leaves_its_jobs(wsq_ctx ctx, void *arg) {
    wsq_job jobs[4];
    (void)arg;
    for (int i = 0; i < 4; i++) wsq_fork(&ctx, &jobs[i], job_counts);
    fork_until(ctx, 1);
    CHECK_EQ(atomic_load(&jobs_run), 4);
    for (int i = 3; i >= 0; i--) wsq_join(&ctx, &jobs[i]);
}

static void *runs(void *arg) {
    (void)arg;
    CHECK_EQ(wsq_run(here, leaves_its_jobs, NULL), WSQ_OK);
    return NULL;
}

static void jobs_without_threads(void) {
    const unsigned workers[] = {1, 2, 30};
    for (size_t i = 0; i < sizeof workers / sizeof *workers; i++) {
        pthread_t thread;
        here = pool_new((wsq_config){.caller_runs = true, .workers = workers[i]});
        CHECK_EQ(wsq_run(here, waits_for_its_own_job, NULL), WSQ_OK);
        atomic_store(&stage, 0);
        atomic_store(&jobs_run, 0);
        CHECK_EQ(pthread_create(&thread, NULL, runs, NULL), 0);
        while (atomic_load(&jobs_run) < 4)
            if (!wsq_pool_run_one(here)) sched_yield();
        reach(1);
        pthread_join(thread, NULL);
        pool_end(here);
    }
}

int main(void) {
    test_begin("test_guest");
    RUN(guest_waits_when_cancelled);
    RUN(guest_waits_for_a_task);
    RUN(waits_in_the_second_job);
    RUN(worker_waits_as_guest);
    RUN(worker_blocks_as_guest);
    RUN(job_spawns_in_a_drain);
    RUN(jobs_without_threads);
    return test_end();
}
