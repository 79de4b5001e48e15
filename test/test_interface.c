/* What a task, a future, a loop can be told before and after its spawn: attributes, also in a batch;
 * cancellation of one; time-outs; loops that stop early; tasks that are only zeroed. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "test.h"

#include "pool.h"
#include "compose.h"

enum { MANY = 1000 };

static wsq_pool *one_worker(void) { return pool_new((wsq_config){.workers = 1}); }

/* ---- zeroed tasks, and arrays by index ---- */

static wsq_poll pend_or_done(wsq_ctx ctx, wsq_task *task) {
    step *self = wsq_container_of(task, step, task);
    (void)ctx;
    return self->runs++ == 0 ? WSQ_PENDING : WSQ_DONE;
}

static void zeroed_tasks(void) {
    wsq_pool *pool = one_worker();
    step zeroed = {.task = {.fn = pend_or_done}};
    CHECK(!wsq_task_done(&zeroed.task));
    CHECK_EQ(wsq_task_wait(&zeroed.task), WSQ_ERR_INVALID);
    wsq_wake(&zeroed.task); /* it is not spawned: nothing happens */
    wsq_task_cancel(&zeroed.task);
    for (int i = 0; i < 3; i++) {
        zeroed.runs = 0;
        CHECK_EQ(wsq_spawn(pool, &zeroed.task), WSQ_OK);
        CHECK_EQ(wsq_spawn(pool, &zeroed.task), WSQ_ERR_INVALID);
        step_asleep(&zeroed);
        CHECK_EQ(wsq_spawn(pool, &zeroed.task), WSQ_ERR_INVALID);
        wsq_wake(&zeroed.task);
        CHECK_EQ(wsq_task_wait(&zeroed.task), WSQ_OK);
        CHECK_EQ(zeroed.runs, 2);
    }
    pool_end(pool);
}

static atomic_uint *users; /* of each slot, at this moment */
static wsq_pool *slotted;

static void use_slot(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    unsigned slot = wsq_worker_index(ctx);
    (void)begin, (void)end, (void)arg;
    if (!CHECK(slot < wsq_pool_slots(slotted))) return;
    CHECK_EQ(atomic_fetch_add(&users[slot], 1), 0);
    CHECK_EQ(wsq_worker_self(), (int)slot);
    atomic_fetch_sub(&users[slot], 1);
}

static void loop_over_slots(wsq_ctx ctx, void *arg) { wsq_for(ctx, 0, MANY, 1, use_slot, arg); }

static void run_in_slots(test_thread *self) {
    (void)self;
    CHECK_EQ(wsq_run(slotted, loop_over_slots, NULL), WSQ_OK);
}

static void slots(void) {
    slotted = pool_new((wsq_config){.workers = 3});
    users = calloc(wsq_pool_slots(slotted), sizeof *users);
    if (users == NULL) abort();
    CHECK_EQ(wsq_pool_slots(slotted), slotted->spare_base + 2 * WSQ_GUESTS); /* of runs, and of tasks above waits */
    test_threads(4, run_in_slots, NULL);
    pool_end(slotted);
    free(users);
}

/* ---- attributes ---- */

static int where[MANY];

static wsq_poll note_worker(wsq_ctx ctx, step *self) {
    where[self->number] = (int)wsq_worker_index(ctx);
    return WSQ_DONE;
}

/* One batch of pinned, urgent, late, grouped and plain tasks. */
static void a_batch_with_attributes(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 3});
    step *steps = step_array(MANY, note_worker, NULL);
    wsq_task *tasks[MANY];
    wsq_group group;
    CHECK_EQ(wsq_group_init(&group, pool), WSQ_OK);
    for (unsigned i = 0; i < MANY; i++) {
        wsq_task *task = tasks[i] = &steps[i].task;
        if (i % 5 == 1) CHECK_EQ(wsq_task_set_worker(task, i % 3), WSQ_OK);
        if (i % 5 == 2) CHECK_EQ(wsq_task_set_priority(task, WSQ_HIGH), WSQ_OK);
        if (i % 5 == 3) CHECK_EQ(wsq_task_set_priority(task, WSQ_LOW), WSQ_OK);
        if (i % 2) wsq_task_set_group(task, &group);
    }
    for (unsigned round = 1; round <= 3; round++) { /* attributes last */
        CHECK_EQ(wsq_spawn_batch(pool, tasks, MANY), WSQ_OK);
        CHECK_EQ(wsq_group_wait(&group), WSQ_OK);
        for (unsigned i = 1; i < MANY; i += 2) CHECK_EQ(steps[i].runs, round);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        for (unsigned i = 0; i < MANY; i++) {
            CHECK_EQ(steps[i].runs, round);
            if (i % 5 == 1) CHECK_EQ(where[i], i % 3);
        }
    }
    pool_end(pool);
    free(steps);
}

/* A batch that fails leaves everything as it was, groups included. */
static void a_batch_that_fails(void) {
    wsq_pool *pool = one_worker(), *other = one_worker();
    wsq_group group, foreign;
    step some[3];
    wsq_task *tasks[3];
    CHECK_EQ(wsq_group_init(&group, pool), WSQ_OK);
    CHECK_EQ(wsq_group_init(&foreign, other), WSQ_OK);
    for (int how = 0; how < 4; how++) {
        for (int i = 0; i < 3; i++) {
            step_new(&some[i], NULL, NULL);
            tasks[i] = &some[i].task;
            wsq_task_set_group(tasks[i], &group);
        }
        if (how == 0) CHECK_EQ(wsq_task_set_worker(tasks[2], 1), WSQ_OK); /* there is no such worker */
        if (how == 1) wsq_task_set_group(tasks[2], &foreign);
        if (how == 2) tasks[2] = tasks[0];
        if (how == 3) wsq_group_cancel(&group);
        CHECK_EQ(wsq_spawn_batch(pool, tasks, 3), WSQ_ERR_INVALID);
        CHECK_EQ(wsq_group_pending(&group), 0);
        for (int i = 0; i < 3; i++) CHECK(!wsq_task_done(tasks[i]));
    }
    CHECK_EQ(wsq_spawn(pool, tasks[0]), WSQ_ERR_CANCELLED);
    CHECK_EQ(wsq_spawn(other, tasks[0]), WSQ_ERR_INVALID);
    wsq_task_set_group(tasks[0], NULL);
    CHECK_EQ(wsq_spawn(other, tasks[0]), WSQ_OK);
    CHECK_EQ(wsq_task_wait(tasks[0]), WSQ_OK);
    pool_end(pool);
    pool_end(other);
}

static void pinned_by_attribute(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 2}), *small = one_worker();
    step mine;
    step_new(&mine, note_worker, NULL);
    CHECK_EQ(wsq_task_set_worker(NULL, 0), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_task_set_worker(&mine.task, 0x10000), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_task_set_worker(&mine.task, 1), WSQ_OK);
    CHECK_EQ(wsq_spawn(small, &mine.task), WSQ_ERR_INVALID);
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(wsq_spawn(pool, &mine.task), WSQ_OK);
        CHECK_EQ(wsq_task_wait(&mine.task), WSQ_OK);
        CHECK_EQ(where[0], 1);
    }
    CHECK_EQ(wsq_spawn_on(pool, 0, &mine.task), WSQ_OK); /* for this spawn */
    CHECK_EQ(wsq_task_wait(&mine.task), WSQ_OK);
    CHECK_EQ(where[0], 0);
    CHECK_EQ(wsq_task_set_worker(&mine.task, WSQ_ANY_WORKER), WSQ_OK);
    CHECK_EQ(wsq_spawn(small, &mine.task), WSQ_OK);
    CHECK_EQ(wsq_task_wait(&mine.task), WSQ_OK);
    pool_end(pool);
    pool_end(small);
}

/* ---- cancelling one ---- */

static wsq_poll pend(wsq_ctx ctx, step *self) {
    (void)ctx, (void)self;
    return WSQ_PENDING;
}

static void cancelled(step *one, unsigned runs) {
    CHECK_EQ(wsq_task_wait(&one->task), WSQ_ERR_CANCELLED);
    CHECK(wsq_task_done(&one->task));
    CHECK_EQ(one->runs, runs);
    CHECK_EQ(one->cleanups, 1);
}

static void cancel_before_it_starts(void) {
    wsq_pool *pool = one_worker();
    gate door;
    step one, urgent, first, later;
    wsq_edge edge;
    gate_close(&door, pool, -1);
    step_new(&one, NULL, NULL);
    step_new(&urgent, NULL, NULL);
    step_new(&first, NULL, NULL);
    step_new(&later, NULL, NULL);
    CHECK_EQ(wsq_task_set_priority(&urgent.task, WSQ_HIGH), WSQ_OK);
    CHECK_EQ(wsq_task_after(&later.task, &first.task, &edge), WSQ_OK);
    step *all[] = {&one, &urgent, &later, &first};
    for (int i = 0; i < 4; i++) CHECK_EQ(wsq_spawn(pool, &all[i]->task), WSQ_OK);
    for (int i = 0; i < 3; i++) wsq_task_cancel(&all[i]->task);
    CHECK(!wsq_task_done(&later.task));
    gate_open(&door);
    for (int i = 0; i < 3; i++) cancelled(all[i], 0);
    CHECK_EQ(wsq_task_wait(&first.task), WSQ_OK);
    CHECK_EQ(first.runs, 1);
    wsq_task_cancel(&one.task); /* it is over: nothing happens, not to its next life either */
    CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_OK);
    CHECK_EQ(wsq_task_wait(&one.task), WSQ_OK);
    CHECK_EQ(one.runs, 1);
    pool_end(pool);
}

static void cancel_one_that_waits(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 2});
    step one;
    for (int how = 0; how < 3; how++) {
        step_new(&one, pend, NULL);
        CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_OK);
        step_asleep(&one);
        if (how == 1) CHECK_EQ(wsq_timer_set(pool, &one.timer, &one.task, 1000000000000u), WSQ_OK);
        wsq_task_cancel(&one.task);
        if (how == 2) wsq_task_cancel(&one.task);
        cancelled(&one, 1);
        CHECK_EQ(wsq_timer_cancel(&one.timer), how == 1);
    }
    pool_end(pool);
}

static atomic_bool running;

static wsq_poll until_cancelled(wsq_ctx ctx, step *self) {
    atomic_store(&running, true);
    while (!wsq_cancelled(ctx)) sched_yield();
    return self->arg != NULL ? WSQ_DONE : WSQ_YIELD;
}

/* A run that is under way is told, and has the last word. */
static void cancel_one_that_runs(void) {
    wsq_pool *pool = one_worker();
    step one;
    for (int done = 0; done < 2; done++) {
        step_new(&one, until_cancelled, done ? &one : NULL);
        atomic_store(&running, false);
        CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_OK);
        while (!atomic_load(&running)) sched_yield();
        wsq_task_cancel(&one.task);
        if (!done) cancelled(&one, 1);
        else CHECK_EQ(wsq_task_wait(&one.task), WSQ_OK);
        CHECK_EQ(one.cleanups, !done);
    }
    pool_end(pool);
}

/* At any moment: each ends once, either way. */
static void wake_or_cancel(test_thread *self) {
    step *steps = self->arg;
    for (int i = 0; i < MANY; i++) {
        if (self->index == 0) wsq_wake(&steps[i].task);
        else wsq_task_cancel(&steps[i].task);
    }
}

static wsq_poll pend_once(wsq_ctx ctx, step *self) {
    (void)ctx;
    return self->runs == 1 ? WSQ_PENDING : WSQ_DONE;
}

static void cancel_against_wakes(void) {
    for (size_t round = 0; round < test_times(20); round++) {
        wsq_pool *pool = pool_new((wsq_config){.workers = 2});
        step *steps = step_array(MANY, pend_once, NULL);
        for (int i = 0; i < MANY; i++) CHECK_EQ(wsq_spawn(pool, &steps[i].task), WSQ_OK);
        test_threads(2, wake_or_cancel, steps);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        for (int i = 0; i < MANY; i++) {
            wsq_result result = wsq_task_wait(&steps[i].task);
            CHECK_EQ(result, steps[i].cleanups ? WSQ_ERR_CANCELLED : WSQ_OK);
            CHECK(steps[i].cleanups + (steps[i].runs == 2) == 1);
        }
        pool_end(pool);
        free(steps);
    }
}

static void *number(void *arg) { return arg; }

static void cancel_a_future(void) {
    wsq_pool *pool = one_worker();
    gate door;
    wsq_future *future = NULL;
    void *result = &door;
    gate_close(&door, pool, -1);
    CHECK_EQ(wsq_submit(pool, number, NULL, &future), WSQ_OK);
    CHECK_EQ(wsq_future_get_for(future, 0, &result), WSQ_ERR_TIMEOUT);
    CHECK_EQ(wsq_future_get_for(future, 1000000, &result), WSQ_ERR_TIMEOUT);
    wsq_future_cancel(future);
    wsq_future_cancel(future);
    CHECK(wsq_future_done(future));
    CHECK_EQ(wsq_future_get_for(future, 0, &result), WSQ_ERR_CANCELLED);
    CHECK(result == &door);
    CHECK_EQ(wsq_submit(pool, number, NULL, &future), WSQ_OK);
    gate_open(&door);
    CHECK_EQ(wsq_future_get_for(future, WSQ_FOREVER, &result), WSQ_OK);
    CHECK(result == NULL);
    CHECK_EQ(wsq_submit(pool, number, &door, &future), WSQ_OK);
    while (!wsq_future_done(future)) sched_yield();
    wsq_future_cancel(future); /* too late */
    CHECK_EQ(wsq_future_get(future, &result), WSQ_OK);
    CHECK(result == &door);
    pool_end(pool);
}

/* ---- time-outs ---- */

static void time_outs_alike(void) {
    wsq_pool *pool = one_worker();
    wsq_group group;
    step one;
    step_new(&one, pend_once, NULL);
    CHECK_EQ(wsq_group_init(&group, pool), WSQ_OK);
    CHECK_EQ(wsq_pool_wait_for(pool, 0), WSQ_OK);
    CHECK_EQ(wsq_pool_wait_for(NULL, 0), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_group_spawn(&group, &one.task), WSQ_OK);
    step_asleep(&one);
    CHECK_EQ(wsq_pool_wait_for(pool, 0), WSQ_ERR_TIMEOUT);
    CHECK_EQ(wsq_pool_wait_for(pool, 1000000), WSQ_ERR_TIMEOUT);
    CHECK_EQ(wsq_group_wait_for(&group, 1000000), WSQ_ERR_TIMEOUT);
    CHECK_EQ(wsq_task_wait_for(&one.task, 1000000), WSQ_ERR_TIMEOUT);
    wsq_wake(&one.task);
    CHECK_EQ(wsq_group_wait(&group), WSQ_OK);
    CHECK_EQ(wsq_pool_wait_for(pool, WSQ_FOREVER), WSQ_OK);
    pool_end(pool);
}

/* ---- spinning is the user's choice: nothing else depends on it ---- */

static void fork_and_spawn(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    step *steps = arg;
    for (size_t i = begin; i < end; i++)
        if (wsq_spawn(wsq_pool_of(ctx), &steps[i].task) != WSQ_OK) FAIL("a spawn");
}

static void spawn_in_a_loop(wsq_ctx ctx, void *arg) { wsq_for(ctx, 0, 100, 1, fork_and_spawn, arg); }

static void spinning(void) {
    const uint64_t spins[] = {0, WSQ_SPIN_OFF, 1, 200000, WSQ_SPIN_OFF - 1};
    for (size_t s = 0; s < 5; s++) {
        wsq_pool *pool = pool_new((wsq_config){.workers = 3, .spin_ns = spins[s]});
        step *steps = step_array(100, NULL, NULL);
        for (unsigned round = 1; round <= 20; round++) {
            CHECK_EQ(wsq_run(pool, spawn_in_a_loop, steps), WSQ_OK);
            CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
            for (int i = 0; i < 100; i++) CHECK_EQ(steps[i].runs, round);
        }
        if (s < 4) pool_end(pool);
        else wsq_pool_destroy(pool); /* whose workers never rest */
        free(steps);
    }
}

/* ---- loops that stop ---- */

typedef struct hunt {
    bool alone; /* on one thread: then nothing behind the wanted step is visited */
    size_t wanted, found, inner;
    atomic_size_t visited;
} hunt;

static void find(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    hunt *self = arg;
    atomic_fetch_add(&self->visited, end - begin);
    if (begin > self->wanted || self->wanted >= end) return;
    self->found = self->wanted;
    wsq_loop_stop(ctx);
}

static void count_inner(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    hunt *self = arg;
    (void)end;
    if (begin >= self->inner) wsq_loop_stop(ctx); /* this one, not the one around it */
}

static void find_outer(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    hunt *self = arg;
    wsq_for(ctx, 0, 10, 1, count_inner, self);
    find(ctx, begin, end, arg);
}

static void sum_until(wsq_ctx ctx, size_t begin, size_t end, void *partial, void *arg) {
    hunt *self = arg;
    for (size_t i = begin; i < end; i++) *(size_t *)partial += i != self->wanted ? 0 : 1;
    find(ctx, begin, end, arg);
}

static void zero(void *partial, void *arg) { *(size_t *)partial = 0 * (arg == NULL); }

static void add(void *left, const void *right, void *arg) {
    *(size_t *)left += *(const size_t *)right + 0 * (size_t)(arg == NULL);
}

static void found_at_once(hunt *self) {
    CHECK_EQ(self->found, self->wanted);
    if (self->alone) CHECK(atomic_load(&self->visited) <= self->wanted + 16);
    atomic_store(&self->visited, 0);
    self->found = 0;
}

static void hunts(wsq_ctx ctx, void *arg) {
    const wsq_reducer reducer = {sizeof(size_t), zero, sum_until, add, arg, false};
    hunt *self = arg;
    size_t count = 0;
    wsq_for(ctx, 0, 1u << 30, 16, find, self); /* seconds, were it not stopped */
    found_at_once(self);
    wsq_for(ctx, 0, 100000, 16, find_outer, self);
    found_at_once(self);
    CHECK_EQ(wsq_reduce(ctx, 0, 1u << 30, 16, &reducer, &count), WSQ_OK);
    CHECK_EQ(count, 1);
    found_at_once(self);
    wsq_loop_stop(ctx); /* no loop: nothing happens */
    wsq_for(ctx, 0, 1000, 16, find, &(hunt){.wanted = 5000});
}

static void loops_that_stop(void) {
    for (unsigned workers = 1; workers <= 3; workers += 2) {
        /* The one that is alone is the caller, in a pool without threads. */
        wsq_pool *pool = pool_new((wsq_config){.workers = workers, .caller_runs = workers == 1});
        hunt one = {.alone = workers == 1, .wanted = 4321, .inner = 3};
        CHECK_EQ(wsq_run(pool, hunts, &one), WSQ_OK);
        pool_end(pool);
    }
}

/* A run inside the body is no part of the loop, with a guest's block and without. */
static void stop_from_a_run(wsq_ctx ctx, void *arg) {
    int *depth = arg;
    if (--*depth > 0) CHECK_EQ(wsq_run(wsq_pool_of(ctx), stop_from_a_run, depth), WSQ_OK);
    wsq_loop_stop(ctx);
}

static void run_in_body(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    int depth = WSQ_GUESTS + 2;
    CHECK_EQ(wsq_run(wsq_pool_of(ctx), stop_from_a_run, &depth), WSQ_OK);
    *(size_t *)arg += end - begin;
}

static void loop_in_run(wsq_ctx ctx, void *arg) {
    wsq_for(ctx, 0, 10, 1, run_in_body, arg);
}

static void nest_then_loop(wsq_ctx ctx, void *arg) {
    static int depth = WSQ_GUESTS + 1;
    if (--depth > 0) CHECK_EQ(wsq_run(wsq_pool_of(ctx), nest_then_loop, arg), WSQ_OK);
    else loop_in_run(ctx, arg);
}

static void a_run_in_a_loop(void) {
    size_t visited = 0;
    wsq_pool *pool = pool_new((wsq_config){.workers = 1, .max_standins = WSQ_STANDINS_OFF});
    CHECK_EQ(wsq_run(pool, loop_in_run, &visited), WSQ_OK);
    CHECK_EQ(visited, 10);
    visited = 0;
    CHECK_EQ(wsq_run(pool, nest_then_loop, &visited), WSQ_OK);
    CHECK_EQ(visited, 10);
    pool_end(pool);
}

int main(void) {
    test_begin("test_interface");
    RUN(zeroed_tasks);
    RUN(slots);
    RUN(a_batch_with_attributes);
    RUN(a_batch_that_fails);
    RUN(pinned_by_attribute);
    RUN(cancel_before_it_starts);
    RUN(cancel_one_that_waits);
    RUN(cancel_one_that_runs);
    RUN(cancel_against_wakes);
    RUN(cancel_a_future);
    RUN(time_outs_alike);
    RUN(spinning);
    RUN(loops_that_stop);
    RUN(a_run_in_a_loop);
    return test_end();
}
