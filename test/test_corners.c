/* Waits in less travelled places: two pools on one thread, what is pinned, and what is cancelled meanwhile.
 * Each test has stopped for ever, or lost a task, on some header before this one. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "stages.h"

static step fourth;
static wsq_future *future;

/* ---- two pools ---- */

/* It ends when its waiter, a worker of the other pool, has a stand-in. */
static wsq_poll until_blocked(wsq_ctx ctx, step *self) {
    (void)ctx;
    (void)self;
    while (wsqi_free_permits(wsqi_load_acq(&here->permits)) == 0) sched_yield();
    return WSQ_DONE;
}

static wsq_poll pool_wait_there(wsq_ctx ctx, step *self) {
    (void)ctx;
    (void)self;
    step_new(&second, until_blocked, NULL);
    spawn(there, &second);
    CHECK_EQ(wsq_pool_wait(there), WSQ_OK);
    return WSQ_DONE;
}

/* The stand-in goes when the wait is over. */
static void pool_wait_on_anothers_worker(void) {
    start((wsq_config){.workers = 1}, (wsq_config){.workers = 1});
    for (int i = 0; i < 3; i++) {
        step_new(&first, pool_wait_there, NULL);
        spawn(here, &first);
        await_task(&first);
        pool_rest(here);
    }
    close_both();
}

static void *same(void *arg) { return arg; }

/* A pin is for one spawn: the smaller pool has no such worker. */
static void pinned_once(void) {
    wsq_group group;
    start((wsq_config){.workers = 8}, (wsq_config){.workers = 2, .max_standins = WSQ_STANDINS_OFF});
    step_new(&first, NULL, NULL);
    spawn_on(here, 7, &first);
    await_task(&first);
    CHECK_EQ(wsq_group_init(&group, there), WSQ_OK);
    CHECK_EQ(wsq_group_then(&group, &first.task), WSQ_OK);
    await_task(&first);
    spawn_on(here, 7, &first);
    await_task(&first);
    CHECK_EQ(wsq_submit(there, same, NULL, &future), WSQ_OK);
    CHECK_EQ(wsq_future_then(future, &first.task), WSQ_OK);
    await_task(&first);
    CHECK_EQ(wsq_future_get(future, NULL), WSQ_OK);
    CHECK_EQ(first.runs, 4);
    close_both();
}

static wsq_poll take_budget(wsq_ctx ctx, step *self) {
    (void)ctx;
    while (self->number < 1000 && wsq_budget_take()) self->number++;
    return WSQ_DONE;
}

static void wait_in_run(wsq_ctx ctx, void *arg) {
    (void)ctx;
    await_task(arg);
}

static wsq_poll run_there(wsq_ctx ctx, step *self) {
    (void)ctx;
    spawn(here, self->arg); /* it lies in this worker's queue, and runs above the run */
    CHECK_EQ(wsq_run(there, wait_in_run, self->arg), WSQ_OK);
    return WSQ_DONE;
}

/* The budget is the task's, whatever this thread is inside of below it. */
static void budget_above_a_run(void) {
    start((wsq_config){.workers = 1, .budget = 5, .max_standins = WSQ_STANDINS_OFF},
          (wsq_config){.workers = 1});
    step_new(&first, take_budget, NULL);
    step_new(&second, run_there, &first);
    spawn(here, &second);
    await_task(&second);
    CHECK_EQ(first.number, 5);
    close_both();
}

/* ---- pools without threads ---- */

static wsq_poll spawn_there_and_wait(wsq_ctx ctx, step *self) {
    (void)ctx;
    spawn(there, self->arg);
    await_task(self->arg);
    return WSQ_DONE;
}

static wsq_poll spawn_inside_there(wsq_ctx ctx, step *self) {
    /* this thread is in the middle of a task of it */
    CHECK_EQ(wsq_pool_wait(there), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_pool_shutdown(there, WSQ_DRAIN), WSQ_ERR_INVALID);
    return spawn_there_and_wait(ctx, self);
}

/* One thread pumps here, there, here again, and still knows that it is there. (What is awaited is
 * of low priority: else it would be taken back from the queue, not pumped.) */
static void pumped_in_turn(void) {
    wsq_config config = {.workers = 1, .caller_runs = true};
    start(config, config);
    step_new(&first, NULL, NULL);
    step_new(&second, spawn_inside_there, &first);
    step_new(&third, wait_for_arg, &second);
    step_new(&fourth, spawn_there_and_wait, &third);
    wsq_task_set_priority(&first.task, WSQ_LOW);
    wsq_task_set_priority(&second.task, WSQ_LOW);
    spawn(here, &second);
    spawn(here, &fourth);
    await_task(&fourth);
    CHECK_EQ(first.runs + second.runs + third.runs + fourth.runs, 4);
    close_both();
}

/* A thread that sleeps as the other pool's worker is missed in its own pool, where the task that wakes it is
 * queued. */
static void worker_pumps_another_pool(void) {
    start((wsq_config){.workers = 1}, (wsq_config){.workers = 1, .caller_runs = true});
    step_new(&first, pend_once, NULL);
    step_new(&second, wait_for_arg, &first);
    step_new(&third, wake_arg, &first);
    spawn(there, &first);
    CHECK_EQ(pump(there), 1);
    spawn(here, &second);
    await(1);
    spawn(here, &third);
    await_task(&second);
    CHECK_EQ(first.runs, 2);
    close_both();
}

/* ---- a worker that nobody replaces ---- */

static wsq_poll wait_in_block(wsq_ctx ctx, step *self) {
    wsq_block_begin(ctx);
    reach(1);
    await(2);
    await_task(self->arg);
    wsq_block_end(ctx);
    return WSQ_DONE;
}

/* It says that it blocks, but got no stand-in: then it must run itself what it waits for. */
static void wait_in_block_without_standin(void) {
    for (int woken = 0; woken < 2; woken++) {
        start_one((wsq_config){.workers = 1, .max_standins = WSQ_STANDINS_OFF});
        step_new(&first, woken ? pend_once : NULL, NULL);
        step_new(&second, wait_in_block, &first);
        if (woken) spawn(here, &first);
        if (woken) step_asleep(&first);
        spawn(here, &second);
        await(1);
        if (!woken) spawn(here, &first);
        reach(2);
        if (woken) wsq_wake(&first.task);
        await_task(&second);
        CHECK_EQ(first.runs, 1 + woken);
        pool_close(here);
    }
}

static wsq_poll say_two(wsq_ctx ctx, step *self) {
    (void)ctx;
    (void)self;
    reach(2);
    return WSQ_DONE;
}

/* First it sleeps; then it holds its worker until another one has run what it spawned. */
static wsq_poll pinned_spawns(wsq_ctx ctx, step *self) {
    (void)ctx;
    if (self->runs == 1) return WSQ_PENDING;
    spawn(here, self->arg);
    await(2);
    return WSQ_DONE;
}

/* The wake made its worker a searcher; while that runs the task it is none, or nobody else is
 * woken. */
static void pinned_to_its_waiter(void) {
    start_one((wsq_config){.workers = 2, .max_standins = WSQ_STANDINS_OFF});
    step_new(&first, say_two, NULL);
    step_new(&second, pinned_spawns, &first);
    step_new(&third, wait_for_arg, &second);
    spawn_on(here, 0, &second);
    step_asleep(&second);
    spawn_on(here, 0, &third);
    await(1);
    asleep(2);
    wsq_wake(&second.task);
    await_task(&third);
    CHECK_EQ(first.runs, 1);
    pool_close(here);
}

/* ---- a task that is run above a wait ---- */

static void job_reaches(wsq_ctx ctx, wsq_job *job) {
    (void)ctx;
    (void)job;
    reach(1);
}

static wsq_poll forks_and_joins(wsq_ctx ctx, step *self) {
    wsq_job job;
    (void)self;
    wsq_fork(&ctx, &job, job_reaches);
    wsq_join(&ctx, &job);
    return WSQ_DONE;
}

static wsq_poll waits_for_member(wsq_ctx ctx, step *self) {
    wsq_group group;
    (void)ctx;
    CHECK_EQ(wsq_group_init(&group, here), WSQ_OK);
    step_new(&second, forks_and_joins, NULL);
    CHECK_EQ(wsq_group_spawn(&group, &second.task), WSQ_OK);
    CHECK_EQ(wsq_group_wait(&group), WSQ_OK);
    CHECK_EQ(second.runs, 1);
    (void)self;
    return WSQ_DONE;
}

/* It begins where the job stack is full: its job runs at once, and its join is in order. */
static void fork_above_a_wait(void) {
    start_one((wsq_config){.workers = 1, .max_standins = WSQ_STANDINS_OFF});
    step_new(&first, waits_for_member, NULL);
    spawn(here, &first);
    await_task(&first);
    CHECK_EQ(atomic_load(&stage), 1);
    pool_close(here);
}

/* ---- shutdowns ---- */

static wsq_poll shut_there(wsq_ctx ctx, step *self) {
    (void)ctx;
    spawn(here, &first);
    spawn(there, self->arg);
    await(1);
    CHECK_EQ(wsq_pool_shutdown(there, WSQ_CANCEL), WSQ_OK);
    return WSQ_DONE;
}

/* A shutdown on another pool's worker blocks that: another thread has to run what is queued
 * behind it. */
static void shutdown_on_anothers_worker(void) {
    start((wsq_config){.workers = 1}, (wsq_config){.workers = 1});
    step_new(&first, NULL, NULL);
    step_new(&second, wait_for_arg, &first);
    step_new(&third, shut_there, &second);
    spawn(here, &third);
    await_task(&third);
    CHECK_EQ(second.runs, 1);
    pool_end(there);
    pool_close(here);
}

/* The future lies in the queue of this worker, which does not come to cancel it before the end. */
static wsq_poll submit_and_hold(wsq_ctx ctx, step *self) {
    (void)ctx;
    (void)self;
    await(1); /* the other worker would steal it */
    CHECK_EQ(wsq_submit(here, same, NULL, &future), WSQ_OK);
    reach(2);
    await(4);
    return WSQ_DONE;
}

static wsq_poll then_and_get(wsq_ctx ctx, step *self) {
    step *then = self->arg;
    reach(1);
    await(2);
    CHECK_EQ(wsq_future_then(future, &then->task), WSQ_OK);
    reach(3);
    until_stop(ctx);
    CHECK_EQ(wsq_future_get(future, NULL), WSQ_ERR_CANCELLED);
    reach(4);
    return WSQ_DONE;
}

/* A thread that gives up a future that nobody starts any more ends it, with what comes after it. */
static void future_given_up(void) {
    start_one((wsq_config){.workers = 2, .max_standins = WSQ_STANDINS_OFF});
    step_new(&first, NULL, NULL);
    step_new(&second, submit_and_hold, NULL);
    step_new(&third, then_and_get, &first);
    spawn_on(here, 0, &third);
    spawn_on(here, 1, &second);
    await(3);
    cancel(here);
    cancelled(&first, 0);
    pool_end(here);
}

static wsq_poll clean_and_wake(wsq_task *task) {
    step *self = wsq_container_of(task, step, task), *other = self->arg;
    self->cleanups++;
    wsq_wake(&other->task);
    return WSQ_DONE;
}

static wsq_poll spawn_low_and_wait(wsq_ctx ctx, step *self) {
    spawn(here, self->arg);
    reach(1);
    until_stop(ctx);
    CHECK_EQ(wsq_task_wait(&first.task), WSQ_ERR_CANCELLED);
    return WSQ_DONE;
}

/* The woken task lands in the slot of the worker that cancels, at the end of its last round, and
 * nobody else is there to find it. */
static void cleanup_wakes(void) {
    start_one((wsq_config){.workers = 1, .max_standins = WSQ_STANDINS_OFF});
    step_new(&first, pend_once, NULL);
    step_new(&second, NULL, &first);
    wsq_task_set_cleanup(&second.task, clean_and_wake);
    wsq_task_set_priority(&second.task, WSQ_LOW); /* it lies in no worker's queue */
    step_new(&third, spawn_low_and_wait, &second);
    spawn(here, &first);
    step_asleep(&first);
    spawn(here, &third);
    await(1);
    cancel(here);
    cancelled(&first, 1);
    cancelled(&second, 0);
    pool_end(here);
}

static wsq_poll wait_when_left(wsq_ctx ctx, step *self) {
    step *other = self->arg;
    until_stop(ctx);
    while (wsqi_load_acq(&wsqi_block(here, 1)->lease) & 3) sched_yield();
    CHECK_EQ(wsq_task_wait(&other->task), WSQ_ERR_CANCELLED);
    return WSQ_DONE;
}

static wsq_poll leave_at_stop(wsq_ctx ctx, step *self) {
    (void)self;
    reach(1);
    until_stop(ctx);
    return WSQ_DONE;
}

static void lend_or_cancel(test_thread *self) {
    if (self->index != 0) {
        CHECK_EQ(wsq_worker_enter(here), WSQ_OK);
        return;
    }
    for (unsigned i = 0; i < 2; i++)
        while (wsqi_load_acq(&wsqi_block(here, i)->lease) % 4 == 0) sched_yield();
    await(1);
    wsq_worker_dismiss(here, 1);
    cancel(here);
}

/* A lent thread leaves during the shutdown, and has already fetched what is pinned to its worker. */
static void pinned_where_nobody_is_lent(void) {
    start_one((wsq_config){.lend_only = true, .workers = 2});
    step_new(&first, NULL, NULL);
    step_new(&second, leave_at_stop, NULL);
    step_new(&third, wait_when_left, &first);
    spawn_on(here, 0, &third);
    spawn_on(here, 1, &second);
    spawn_on(here, 1, &first);
    test_threads(3, lend_or_cancel, NULL);
    cancelled(&first, 0);
    pool_end(here);
}

/* ---- two pools that need each other ---- */

static void *at_home(void *arg) {
    reach(2);
    return arg;
}

/* Stolen by the other pool's worker: it needs the pool whose only worker joins it. */
static void ask_home(wsq_ctx ctx, wsq_job *job) {
    wsq_future *asked = NULL;
    (void)ctx, (void)job;
    reach(1);
    CHECK_EQ(wsq_submit(here, at_home, NULL, &asked), WSQ_OK);
    CHECK_EQ(wsq_future_get(asked, NULL), WSQ_OK);
}

static void fork_abroad(wsq_ctx ctx, void *arg) {
    wsq_job one, two;
    (void)arg;
    wsq_fork(&ctx, &one, ask_home);
    while (atomic_load(&stage) < 1) { /* each fork offers the first one to a thief */
        wsq_fork(&ctx, &two, ask_home);
        if (atomic_load(&stage) >= 1) {
            wsq_join(&ctx, &two);
            break;
        }
        (void)wsq_reclaim(&ctx, &two);
    }
    wsq_join(&ctx, &one);
}

static wsq_poll run_abroad(wsq_ctx ctx, step *self) {
    (void)ctx, (void)self;
    CHECK_EQ(wsq_run(there, fork_abroad, NULL), WSQ_OK);
    return WSQ_DONE;
}

static void join_in_anothers_pool(void) {
    start_one((wsq_config){.workers = 1});
    there = pool_new((wsq_config){.workers = 2});
    reach(0);
    step_new(&first, run_abroad, NULL);
    spawn(here, &first);
    await_task(&first);
    CHECK_EQ(atomic_load(&stage), 2);
    pool_close(there);
    pool_close(here);
}

/* The later task's pool was cancelled before the predecessor, of another pool, ended. */
static void after_another_pools_task(void) {
    wsq_edge edge;
    start_one((wsq_config){.workers = 1});
    there = pool_new((wsq_config){.workers = 1});
    step_new(&first, pend_once, NULL);
    step_new(&second, NULL, NULL);
    spawn(here, &first);
    CHECK_EQ(wsq_task_after(&second.task, &first.task, &edge), WSQ_OK);
    spawn(there, &second);
    CHECK_EQ(wsq_pool_shutdown(there, WSQ_CANCEL), WSQ_OK);
    CHECK_EQ(second.cleanups, 0);
    asleep(1); /* the first is pending */
    wsq_wake(&first.task);
    await_task(&first);
    CHECK_EQ(wsq_task_wait(&second.task), WSQ_ERR_CANCELLED);
    cancelled(&second, 0);
    CHECK_EQ(wsq_pool_wait(here), WSQ_OK); /* its worker has done with the other pool */
    pool_end(there);
    pool_close(here);
}

/* ---- what outlasts what ---- */

/* Of a task that is done only the task itself must be there, not its group (address sanitizer). */
static void after_a_task_without_group(void) {
    wsq_group *group = malloc(sizeof *group);
    wsq_edge edge;
    if (group == NULL) abort();
    start_one((wsq_config){.workers = 1});
    step_new(&first, NULL, NULL);
    step_new(&second, NULL, NULL);
    CHECK_EQ(wsq_group_init(group, here), WSQ_OK);
    CHECK_EQ(wsq_group_spawn(group, &first.task), WSQ_OK);
    CHECK_EQ(wsq_group_wait(group), WSQ_OK);
    memset(group, 0xa5, sizeof *group);
    free(group);
    CHECK_EQ(wsq_task_after(&second.task, &first.task, &edge), WSQ_OK);
    spawn(here, &second);
    await_task(&second);
    CHECK_EQ(second.runs, 1);
    pool_close(here);
}

/* ---- two joins, one of which has the permit ---- */

static unsigned joining(unsigned count) { return pool_bits(here->bitmap.joiners, here->bitmap.words) >= count; }

typedef struct stage_job {
    wsq_job job;
    wsq_job_fn fn; /* what it does once it was stolen, in `stage` */
    unsigned reaches;
} stage_job;

static void stage_job_run(wsq_ctx ctx, wsq_job *job) {
    stage_job *self = wsq_container_of(job, stage_job, job);
    reach(self->reaches);
    self->fn(ctx, job);
}

/* Blocks, and forks a job, so that an idle thread takes it with the permit. Goes on when the stage is `until`, and
 * joins. */
static void fork_to_another(wsq_ctx ctx, wsq_job_fn fn, unsigned reaches, unsigned until, unsigned then) {
    stage_job one = {.fn = fn, .reaches = reaches};
    do { /* until a thief has asked for it */
        wsq_block_begin(ctx);
        wsq_fork(&ctx, &one.job, stage_job_run);
        for (int i = 0; i < 100 && atomic_load(&stage) < reaches; i++) test_nap(10000);
        if (atomic_load(&stage) >= reaches) await(until);
        wsq_block_end(ctx);
        if (atomic_load(&stage) >= reaches) reach(then);
    } while (wsq_reclaim(&ctx, &one.job));
}

static void last_job(wsq_ctx ctx, wsq_job *job) {
    (void)job;
    wsq_block_begin(ctx);
    await(5);
    wsq_block_end(ctx);
}

/* The thread of `first` sleeps in its join, without a permit. */
static void middle_job(wsq_ctx ctx, wsq_job *job) {
    (void)job;
    await(2);
    while (!joining(1) || wsqi_load_acq(&wsqi_block(here, 0)->parker.token) != WSQI_TOKEN_ASLEEP) sched_yield();
    fork_to_another(ctx, last_job, 3, 3, 4);
}

static wsq_poll joins_without_permit(wsq_ctx ctx, step *self) {
    (void)self;
    fork_to_another(ctx, middle_job, 1, 1, 2);
    return WSQ_DONE;
}

static wsq_poll holds_its_thread(wsq_ctx ctx, step *self) {
    unsigned all = *(unsigned *)self->arg;
    wsq_block_begin(ctx);
    reach(atomic_load(&stage) + 1);
    await(all);
    wsq_block_end(ctx);
    return WSQ_DONE;
}

/* The only permit lies in a join that sleeps. A task comes, and the thread that is asked for the permit is another
 * one, which has none. */
static void asks_the_wrong_join(void) {
    unsigned threads = 4;
    start_one((wsq_config){.workers = 1, .max_standins = 6});
    for (unsigned i = 0; i < threads; i++) { /* so there are stand-ins */
        step *each[] = {&first, &second, &third, &fourth};
        step_new(each[i], holds_its_thread, &threads);
        spawn(here, each[i]);
        await(i + 1);
    }
    CHECK_EQ(wsq_pool_wait(here), WSQ_OK);
    pool_rest(here);
    reach(0);
    step_new(&first, joins_without_permit, NULL);
    step_new(&second, NULL, NULL);
    spawn(here, &first);
    await(4);
    while (!joining(2)) sched_yield();
    test_nap(1000000);
    spawn(here, &second);
    await_task(&second); /* it hangs if the ask ends at the thread without a permit */
    reach(5);
    await_task(&first);
    pool_close(here);
}

int main(void) {
    test_begin("test_corners");
    RUN(pool_wait_on_anothers_worker);
    RUN(pinned_once);
    RUN(budget_above_a_run);
    RUN(pumped_in_turn);
    RUN(worker_pumps_another_pool);
    RUN(wait_in_block_without_standin);
    RUN(pinned_to_its_waiter);
    RUN(fork_above_a_wait);
    RUN(shutdown_on_anothers_worker);
    RUN(future_given_up);
    RUN(cleanup_wakes);
    RUN(pinned_where_nobody_is_lent);
    RUN(join_in_anothers_pool);
    RUN(after_another_pools_task);
    RUN(after_a_task_without_group);
    RUN(asks_the_wrong_join);
    return test_end();
}
