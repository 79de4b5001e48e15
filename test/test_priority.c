/* Priorities and pinned tasks: what is WSQ_HIGH comes next, what is WSQ_LOW comes last but comes, what is
 * pinned runs on its worker and nowhere else, whichever thread wakes it and however that worker spends its time. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "test.h"
#include "pool.h"
#include "compose.h"

enum { THREADS = 4 };

static void spawn(wsq_pool *pool, step *task) {
    if (wsq_spawn(pool, &task->task) != WSQ_OK) FAIL("a spawn");
}

static void spawn_on(wsq_pool *pool, unsigned worker, step *task) {
    if (wsq_spawn_on(pool, worker, &task->task) != WSQ_OK) FAIL("a spawn on a worker");
}

static void priority(step *task, wsq_priority one) {
    if (wsq_task_set_priority(&task->task, one) != WSQ_OK) FAIL("a priority");
}

/* ---- one worker, held at a gate: which task comes first? ---- */

static void overtake_on(wsq_config config) {
    enum { COUNT = 30 };
    wsq_pool *pool = pool_new(config);
    gate doors[1];
    step *steps = step_array(3 * COUNT, NULL, NULL), *low = steps, *normal = steps + COUNT,
         *high = steps + 2 * COUNT;
    unsigned wrong = 0;
    gates_close(doors, pool);
    for (unsigned i = 0; i < COUNT; i++) {
        priority(&low[i], WSQ_LOW);
        priority(&high[i], WSQ_HIGH);
        spawn(pool, &low[i]);
        spawn(pool, &normal[i]);
        spawn(pool, &high[i]);
    }
    gates_open(doors, pool);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    for (unsigned i = 0; i < COUNT; i++) {
        wrong += low[i].runs != 1 || normal[i].runs != 1 || high[i].runs != 1;
        wrong += high[i].began > normal[i / WSQI_HIGH_STREAK + 1].began; /* one behind each row */
        wrong += i > 0 && high[i - 1].began > high[i].began;
        wrong += i > 0 && low[i - 1].began > low[i].began;
        for (unsigned k = 0; k < COUNT; k++) wrong += normal[k].began > low[i].began;
    }
    CHECK_EQ(wrong, 0);
    free(steps);
    pool_close(pool);
}

static void overtake(void) {
    overtake_on((wsq_config){.workers = 1});
    overtake_on((wsq_config){.workers = 1, .caller_runs = true});
    overtake_on((wsq_config){.workers = 1, .lifo_cap = WSQ_LIFO_OFF});
}

/* After 15 WSQ_HIGH tasks in a row comes one of another kind: a pinned one, then a plain one, and so on. */
static void streaks(void) {
    enum { ROWS = 4, COUNT = ROWS * WSQI_HIGH_STREAK };
    wsq_pool *pool = pool_new((wsq_config){.workers = 1, .caller_runs = true});
    step *high = step_array(COUNT, NULL, NULL), *others = step_array(ROWS, NULL, NULL);
    for (unsigned i = 0; i < ROWS; i++)
        if (i % 2 == 0) spawn_on(pool, 0, &others[i]);
        else spawn(pool, &others[i]);
    for (unsigned i = 0; i < COUNT; i++) {
        priority(&high[i], WSQ_HIGH);
        spawn(pool, &high[i]);
    }
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    for (unsigned i = 0; i < COUNT; i++) /* a run has two ticks */
        CHECK_EQ(high[i].began - high[0].began, 2 * (i + i / WSQI_HIGH_STREAK));
    for (unsigned i = 0; i < ROWS; i++)
        CHECK_EQ(others[i].began - high[0].began, 2 * ((i + 1) * (WSQI_HIGH_STREAK + 1) - 1));
    free(high);
    free(others);
    pool_close(pool);
}

/* Spawned by a task while many wait: the very next one is the WSQ_HIGH one; a pinned one is that or
 * the one after it. */
static step *background, *urgent;
static bool urgent_pinned;

static wsq_poll spawn_urgent(wsq_ctx ctx, step *self) {
    (void)self;
    if (urgent_pinned) spawn_on(wsq_pool_of(ctx), 0, urgent);
    else spawn(wsq_pool_of(ctx), urgent);
    return WSQ_DONE;
}

static void next_boundary_of(bool pinned) {
    urgent_pinned = pinned;
    const wsq_config kinds[] = {{.workers = 1}, {.workers = 1, .order = WSQ_LIFO},
                                {.workers = 1, .caller_runs = true}};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        for (unsigned at = 0; at < 400; at += 7) {
            wsq_pool *pool = pool_new(kinds[k]);
            gate doors[1];
            step one;
            urgent = &one;
            background = step_array(400, NULL, NULL);
            background[at].act = spawn_urgent;
            step_new(&one, NULL, NULL);
            if (!pinned) priority(&one, WSQ_HIGH);
            gates_close(doors, pool);
            for (unsigned i = 0; i < 400; i++) spawn(pool, &background[i]);
            gates_open(doors, pool);
            CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
            /* nobody's ticks in between, or those of one task */
            CHECK(one.began == background[at].ended + 1 ||
                  (pinned && one.began == background[at].ended + 3));
            free(background);
            pool_close(pool);
        }
    }
}

static void next_boundary(void) {
    next_boundary_of(false);
    next_boundary_of(true);
}

/* A wake, a yield and a change of mind. */
static wsq_poll pend_once(wsq_ctx ctx, step *self) {
    (void)ctx;
    return self->runs == 1 ? WSQ_PENDING : WSQ_DONE;
}

static wsq_poll yield_as_high(wsq_ctx ctx, step *self) {
    (void)ctx;
    if (self->runs == 1) CHECK_EQ(wsq_task_set_priority(&self->task, WSQ_HIGH), WSQ_OK);
    return self->runs == 1 ? WSQ_YIELD : WSQ_DONE;
}

static void after_a_wake(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 1, .caller_runs = true});
    step sleeper, changes, normal[10];
    step_new(&sleeper, pend_once, NULL);
    step_new(&changes, yield_as_high, NULL);
    priority(&sleeper, WSQ_HIGH);
    spawn(pool, &sleeper);
    CHECK_EQ(pump(pool), 1);
    for (int i = 0; i < 10; i++) {
        step_new(&normal[i], NULL, NULL);
        spawn(pool, &normal[i]);
    }
    wsq_wake(&sleeper.task);
    CHECK_EQ(pump(pool), 11);
    CHECK(sleeper.began < normal[0].began);
    spawn(pool, &changes);
    for (int i = 0; i < 10; i++) spawn(pool, &normal[i]);
    CHECK_EQ(pump(pool), 12);
    CHECK(changes.began < normal[0].began); /* its second run */
    CHECK_EQ(changes.runs, 2);
    priority(&changes, WSQ_NORMAL);
    priority(&changes, WSQ_LOW);
    spawn(pool, &changes);
    spawn(pool, &normal[0]);
    CHECK_EQ(pump(pool), 2);
    CHECK(changes.began > normal[0].began);
    CHECK_EQ(wsq_task_set_priority(NULL, WSQ_LOW), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_task_set_priority(&changes.task, (wsq_priority)3), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_task_set_priority(&changes.task, (wsq_priority)-1), WSQ_ERR_INVALID);
    wsq_task *batch[] = {&normal[0].task, &changes.task};
    CHECK_EQ(wsq_spawn_batch(pool, batch, 2), WSQ_OK);
    CHECK_EQ(pump(pool), 2);
    CHECK(changes.began > normal[0].began);
    pool_close(pool);
}

/* ---- WSQ_LOW starves not ---- */

static atomic_bool low_ran;

static wsq_poll note_low(wsq_ctx ctx, step *self) {
    (void)ctx;
    (void)self;
    atomic_store(&low_ran, true);
    return WSQ_DONE;
}

static wsq_poll work_until_low(wsq_ctx ctx, step *self) {
    (void)ctx;
    (void)self;
    return atomic_load(&low_ran) ? WSQ_DONE : WSQ_YIELD;
}

static void low_has_its_turn(void) {
    const wsq_config kinds[] = {{.workers = 1}, {.workers = 2}, {.workers = 2, .order = WSQ_LIFO},
                                {.workers = 2, .caller_runs = true}};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        wsq_pool *pool = pool_new(kinds[k]);
        for (size_t round = 0; round < 1 + test_times(5); round++) {
            step low, others[10];
            gate doors[2];
            atomic_store(&low_ran, false);
            step_new(&low, note_low, NULL);
            priority(&low, WSQ_LOW);
            gates_close(doors, pool);
            for (int i = 0; i < 10; i++) {
                step_new(&others[i], work_until_low, NULL);
                spawn(pool, &others[i]);
            }
            spawn(pool, &low);
            gates_open(doors, pool);
            CHECK_EQ(wsq_pool_wait(pool), WSQ_OK); /* a hang if it starves */
            CHECK_EQ(low.runs, 1);
            if (pool->workers == 1) CHECK(others[9].runs > 1); /* but it came last */
        }
        pool_close(pool);
    }
}

/* ---- pinned ---- */

enum { SPREAD = 64 };

static atomic_uint strayed;

/* Runs where it is pinned to, and again after each kind of return. */
static wsq_poll pinned_run(wsq_ctx ctx, step *self) {
    if (wsq_worker_index(ctx) != (unsigned)(uintptr_t)self->arg) atomic_fetch_add(&strayed, 1);
    if (wsq_worker_self() != (int)(uintptr_t)self->arg) atomic_fetch_add(&strayed, 1);
    if (self->runs == 2) return WSQ_YIELD;
    if (self->runs == 1 || self->runs == 3) return WSQ_PENDING;
    return WSQ_DONE;
}

static step pinned[SPREAD];

static wsq_poll wake_all(wsq_ctx ctx, step *self) {
    (void)ctx;
    (void)self;
    for (unsigned i = 0; i < SPREAD; i++) wsq_wake(&pinned[i].task);
    return WSQ_DONE;
}

static void pinned_on(wsq_config config) {
    wsq_pool *pool = pool_new(config);
    unsigned workers = wsq_pool_workers(pool);
    atomic_store(&strayed, 0);
    for (size_t round = 0; round < test_times(50); round++) {
        step waker;
        unsigned wrong = 0;
        for (unsigned i = 0; i < SPREAD; i++) {
            step_new(&pinned[i], pinned_run, (void *)(uintptr_t)(i % workers));
            if (i % 5 == 1) priority(&pinned[i], i % 2 ? WSQ_HIGH : WSQ_LOW);
            spawn_on(pool, i % workers, &pinned[i]);
        }
        if (pool->config.caller_runs) (void)pump(pool);
        for (unsigned i = 0; i < SPREAD; i++) step_asleep(&pinned[i]);
        for (unsigned i = 0; i < SPREAD; i++) wsq_wake(&pinned[i].task); /* from outside */
        if (pool->config.caller_runs) (void)pump(pool);
        for (unsigned i = 0; i < SPREAD; i++) step_asleep(&pinned[i]);
        step_new(&waker, wake_all, NULL); /* and from a worker, which may be another one */
        spawn(pool, &waker);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        for (unsigned i = 0; i < SPREAD; i++) wrong += pinned[i].runs != 4;
        CHECK_EQ(wrong, 0);
    }
    CHECK_EQ(atomic_load(&strayed), 0);
    CHECK_EQ(wsq_spawn_on(pool, workers, &pinned[0].task), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_spawn_on(NULL, 0, &pinned[0].task), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_spawn_on(pool, 0, NULL), WSQ_ERR_INVALID);
    pool_close(pool);
}

static void pinned_stay(void) {
    pinned_on((wsq_config){.workers = 1});
    pinned_on((wsq_config){.workers = 2});
    pinned_on((wsq_config){.workers = 8});
    pinned_on((wsq_config){.workers = 3, .order = WSQ_LIFO});
    pinned_on((wsq_config){.workers = 3, .caller_runs = true});
}

/* The one thread that works sleeps for all workers: it hears what others wake, and timers. */
static wsq_poll pend_twice(wsq_ctx ctx, step *self) {
    CHECK_EQ(wsq_worker_index(ctx), self->number);
    if (self->runs == 2) CHECK_EQ(wsq_timer_set(wsq_pool_of(ctx), &self->timer, &self->task, 200000), WSQ_OK);
    return self->runs == 3 ? WSQ_DONE : WSQ_PENDING;
}

static void wait_or_wake(test_thread *self) {
    if (self->index == 0) CHECK_EQ(wsq_pool_wait(self->arg), WSQ_OK);
    for (unsigned i = 0; i < 3 && self->index == 1; i++) {
        test_nap(1000000);
        wsq_wake(&pinned[i].task);
    }
}

static void pinned_where_the_caller_runs(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 3, .caller_runs = true});
    for (unsigned i = 0; i < 3; i++) {
        step_new(&pinned[i], pend_twice, NULL);
        pinned[i].number = i;
        spawn_on(pool, i, &pinned[i]);
    }
    while (wsq_pool_run_one(pool)) {}
    test_threads(2, wait_or_wake, pool); /* a hang if it sleeps beside one */
    for (unsigned i = 0; i < 3; i++) CHECK_EQ(pinned[i].runs, 3);
    CHECK_EQ(wsqi_searching(wsqi_load_hint(&pool->permits)), 0); /* also after it slept as the first worker */
    pool_close(pool);
}

/* Once pinned is not for ever: spawned plainly again, others run it. */
static void unpinned(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 2});
    gate door;
    step one;
    step_new(&one, NULL, NULL);
    spawn_on(pool, 0, &one);
    CHECK_EQ(wsq_task_wait(&one.task), WSQ_OK);
    gate_close(&door, pool, 0);
    spawn(pool, &one);
    CHECK_EQ(wsq_task_wait(&one.task), WSQ_OK); /* a hang if it still waits for worker 0 */
    gate_open(&door);
    pool_close(pool);
}

/* All asleep: a pinned task wakes the one worker, each time. */
static void pinned_wake_the_sleeper(void) {
    const unsigned sizes[] = {1, 2, 8, 70};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        wsq_pool *pool = pool_new((wsq_config){.workers = sizes[s]});
        for (unsigned i = 0; i < test_times(300); i++) {
            unsigned worker = i % sizes[s];
            step one;
            step_new(&one, pinned_run, (void *)(uintptr_t)worker);
            one.runs = 3; /* done at once */
            if (i % 3) while (wsqi_free_permits(wsqi_load_acq(&pool->permits)) != sizes[s]) sched_yield();
            spawn_on(pool, worker, &one);
            CHECK_EQ(wsq_task_wait(&one.task), WSQ_OK);
        }
        CHECK_EQ(atomic_load(&strayed), 0);
        pool_close(pool);
    }
}

/* Others are busy for good; neither do pinned tasks starve behind them, nor they behind the pinned ones. */
static wsq_poll yield_twice(wsq_ctx ctx, step *self) {
    (void)ctx;
    return self->runs < 200 ? WSQ_YIELD : WSQ_DONE;
}

static void pinned_among_others(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 1});
    gate doors[1];
    step some[40];
    gates_close(doors, pool);
    for (int i = 0; i < 40; i++) {
        step_new(&some[i], yield_twice, NULL);
        if (i % 2) spawn_on(pool, 0, &some[i]);
        else spawn(pool, &some[i]);
    }
    gates_open(doors, pool);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    CHECK(some[0].began < some[39].ended || some[1].began < some[38].ended);
    for (int i = 0; i < 40; i++) CHECK_EQ(some[i].runs, 200);
    pool_close(pool);
}

/* ---- a wait on the very worker that the task is pinned to ---- */

static step target;

static wsq_poll spawn_here_and_wait(wsq_ctx ctx, step *self) {
    (void)self;
    spawn_on(wsq_pool_of(ctx), wsq_worker_index(ctx), &target);
    CHECK_EQ(wsq_task_wait(&target.task), WSQ_OK);
    CHECK_EQ(target.runs, 1);
    return WSQ_DONE;
}

static void wait_claims_it(void) {
    const unsigned standins[] = {0, WSQ_STANDINS_OFF};
    for (int s = 0; s < 2; s++) {
        wsq_pool *pool = pool_new((wsq_config){.workers = 1, .max_standins = standins[s]});
        for (int i = 0; i < 50; i++) {
            step outer;
            step_new(&outer, spawn_here_and_wait, NULL);
            step_new(&target, NULL, NULL);
            spawn_on(pool, 0, &outer);
            CHECK_EQ(wsq_task_wait(&outer.task), WSQ_OK);
        }
        pool_close(pool);
    }
}

/* It comes to the inbox only while that worker waits for it already: by a wake, or the end of what it comes
 * after. */
static atomic_bool waits_now;

static wsq_poll wait_for_target(wsq_ctx ctx, step *self) {
    (void)ctx;
    (void)self;
    atomic_store(&waits_now, true);
    CHECK_EQ(wsq_task_wait(&target.task), WSQ_OK);
    return WSQ_DONE;
}

static void pinned_comes_late(void) {
    for (int woken = 0; woken < 2; woken++) {
        wsq_pool *pool = pool_new((wsq_config){.workers = 1});
        for (size_t i = 0; i < test_times(30); i++) {
            step outer, before;
            wsq_edge edge;
            atomic_store(&waits_now, false);
            step_new(&outer, wait_for_target, NULL);
            step_new(&before, NULL, NULL);
            step_new(&target, woken ? pend_once : NULL, NULL);
            if (!woken) CHECK_EQ(wsq_task_after(&target.task, &before.task, &edge), WSQ_OK);
            spawn_on(pool, 0, &target);
            if (woken) step_asleep(&target);
            spawn_on(pool, 0, &outer);
            while (!atomic_load(&waits_now)) sched_yield();
            if (i % 2) test_nap(1000000);
            if (woken) wsq_wake(&target.task);
            else spawn(pool, &before);
            CHECK_EQ(wsq_task_wait(&outer.task), WSQ_OK);
        }
        pool_close(pool);
    }
}

/* ---- with groups, predecessors and cancelled pools ---- */

static void in_groups(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 2});
    for (size_t round = 0; round < test_times(100); round++) {
        step *steps = step_array(60, NULL, NULL);
        wsq_group group;
        bool all = true;
        CHECK_EQ(wsq_group_init(&group, pool), WSQ_OK);
        for (unsigned i = 0; i < 60; i++) {
            priority(&steps[i], (wsq_priority)(i % 3));
            CHECK_EQ(wsq_group_spawn(&group, &steps[i].task), WSQ_OK);
        }
        if (round % 2) wsq_group_cancel(&group);
        CHECK_EQ(wsq_group_wait(&group), round % 2 ? WSQ_ERR_CANCELLED : WSQ_OK);
        for (unsigned i = 0; i < 60; i++) all = all && steps[i].runs + steps[i].cleanups == 1;
        CHECK(all);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        free(steps);
    }
    pool_close(pool);
}

/* A chain from worker to worker and from priority to priority. */
static wsq_poll index_is_right(wsq_ctx ctx, step *self) {
    if (self->arg != NULL && wsq_worker_index(ctx) + 1 != (unsigned)(uintptr_t)self->arg)
        atomic_fetch_add(&strayed, 1);
    return WSQ_DONE;
}

static void with_predecessors(void) {
    enum { LENGTH = 300 };
    static wsq_edge edges[LENGTH];
    wsq_pool *pool = pool_new((wsq_config){.workers = 3});
    for (size_t round = 0; round < test_times(30); round++) {
        step *steps = step_array(LENGTH, index_is_right, NULL);
        bool ordered = true;
        for (unsigned i = 0; i < LENGTH; i++) {
            if (i > 0) CHECK_EQ(wsq_task_after(&steps[i].task, &steps[i - 1].task, &edges[i]), WSQ_OK);
            priority(&steps[i], (wsq_priority)(i % 3));
            if (i % 2) steps[i].arg = (void *)(uintptr_t)(i % 3 + 1);
        }
        for (unsigned i = LENGTH; i-- > 0;) {
            if (i % 2) spawn_on(pool, i % 3, &steps[i]);
            else spawn(pool, &steps[i]);
        }
        CHECK_EQ(wsq_task_wait(&steps[LENGTH - 1].task), WSQ_OK);
        for (unsigned i = 1; i < LENGTH; i++) ordered = ordered && steps[i - 1].ended < steps[i].began;
        CHECK(ordered);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        free(steps);
    }
    CHECK_EQ(atomic_load(&strayed), 0);
    pool_close(pool);
}

static void cancelled_pools(void) {
    const wsq_config kinds[] = {{.workers = 1}, {.workers = 3}, {.workers = 2, .order = WSQ_LIFO},
                                {.workers = 2, .caller_runs = true}};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        wsq_pool *pool = pool_new(kinds[k]);
        gate doors[3];
        step *steps = step_array(90, NULL, NULL);
        unsigned wrong = 0;
        gates_close(doors, pool);
        for (unsigned i = 0; i < 90; i++) {
            priority(&steps[i], (wsq_priority)(i % 3));
            if (i % 4 == 0) spawn_on(pool, i % pool->workers, &steps[i]);
            else spawn(pool, &steps[i]);
        }
        gates_cancel(doors, pool);
        CHECK_EQ(wsq_pool_pending(pool), 0);
        for (unsigned i = 0; i < 90; i++) {
            wrong += steps[i].runs != 0 || steps[i].cleanups != 1;
            wrong += wsq_task_wait(&steps[i].task) != WSQ_ERR_CANCELLED;
        }
        CHECK_EQ(wrong, 0);
        free(steps);
        CHECK_EQ(wsq_spawn_on(pool, 0, &target.task), WSQ_ERR_CLOSED);
        pool_end(pool);
    }
}

/* Spawns of every kind against a shutdown: what was accepted ran or was cancelled. */
typedef struct race {
    wsq_pool *pool;
    step steps[THREADS][300];
    bool accepted[THREADS][300];
} race;

static void spawn_or_shut(test_thread *self) {
    race *all = self->arg;
    if (self->index == 0) {
        test_spin(test_below(&self->random, 50000));
        CHECK_EQ(wsq_pool_shutdown(all->pool, self->random % 2 ? WSQ_CANCEL : WSQ_DRAIN), WSQ_OK);
        return;
    }
    for (unsigned i = 0; i < 300; i++) {
        step *one = &all->steps[self->index][i];
        step_new(one, NULL, NULL);
        priority(one, (wsq_priority)(i % 3));
        wsq_result result = i % 4 ? wsq_spawn(all->pool, &one->task)
                                  : wsq_spawn_on(all->pool, i % all->pool->workers, &one->task);
        all->accepted[self->index][i] = result == WSQ_OK;
        if (result != WSQ_OK && result != WSQ_ERR_CLOSED) FAIL("accepted or refused");
    }
}

static void shutdown_races(void) {
    static race all;
    for (size_t round = 0; round < test_times(60); round++) {
        unsigned wrong = 0;
        all.pool = pool_new((wsq_config){.workers = 1 + (unsigned)(round % 3)});
        test_threads(THREADS, spawn_or_shut, &all);
        CHECK_EQ(wsq_pool_pending(all.pool), 0);
        for (unsigned t = 1; t < THREADS; t++)
            for (unsigned i = 0; i < 300; i++)
                wrong += all.steps[t][i].runs + all.steps[t][i].cleanups != all.accepted[t][i];
        CHECK_EQ(wrong, 0);
        pool_end(all.pool);
    }
}

int main(void) {
    test_begin("test_priority");
    RUN(overtake);
    RUN(streaks);
    RUN(next_boundary);
    RUN(after_a_wake);
    RUN(low_has_its_turn);
    RUN(pinned_stay);
    RUN(unpinned);
    RUN(pinned_where_the_caller_runs);
    RUN(pinned_wake_the_sleeper);
    RUN(pinned_among_others);
    RUN(wait_claims_it);
    RUN(in_groups);
    RUN(with_predecessors);
    RUN(cancelled_pools);
    RUN(shutdown_races);
    RUN(pinned_comes_late);
    return test_end();
}
