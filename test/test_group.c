/* Groups: counts, errors, waits with and without time, continuations, and groups within groups; a wait on a
 * worker helps with that group's tasks and no others. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "groups.h"

/* ---- count, errors, reuse ---- */

static atomic_ulong sum;

static wsq_poll add_number(wsq_ctx ctx, step *self) {
    (void)ctx;
    atomic_fetch_add_explicit(&sum, self->number, memory_order_relaxed);
    return WSQ_DONE;
}

static void reuse_of(wsq_pool *pool) {
    enum { COUNT = 500 };
    step *steps = step_array(COUNT, add_number, NULL);
    wsq_group group;
    group_new(&group, pool);
    CHECK_EQ(wsq_group_wait(&group), WSQ_OK); /* empty */
    CHECK_EQ(wsq_group_wait_for(&group, 0), WSQ_OK);
    for (size_t round = 1; round <= 1 + test_times(20); round++) {
        atomic_store(&sum, 0);
        for (int i = 0; i < COUNT; i++) spawn_in(&group, &steps[i]);
        CHECK_EQ(wsq_group_wait(&group), WSQ_OK);
        CHECK_EQ(atomic_load(&sum), COUNT * (COUNT - 1) / 2);
        CHECK_EQ(wsq_group_pending(&group), 0);
        bool all = true;
        for (int i = 0; i < COUNT; i++) all = all && steps[i].runs == round && wsq_task_done(&steps[i].task);
        CHECK(all);
    }
    free(steps);
}

static void reuse(void) { on_every_kind(reuse_of); }

/* All or none, and none is counted; a task that has a group moves. */
static void in_a_batch(void) {
    enum { COUNT = 300 };
    wsq_pool *pool = pool_new((wsq_config){.workers = 2});
    wsq_group group, other;
    step *steps = step_array(COUNT, NULL, NULL);
    wsq_task *tasks[COUNT];
    group_new(&group, pool);
    group_new(&other, pool);
    for (int i = 0; i < COUNT; i++) tasks[i] = &steps[i].task;
    wsq_task_set_group(tasks[1], &other);
    CHECK_EQ(wsq_group_spawn_batch(NULL, tasks, COUNT), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_group_spawn_batch(&group, NULL, 0), WSQ_OK);
    gate doors[2];
    gates_close(doors, pool);
    CHECK_EQ(wsq_group_spawn_batch(&group, tasks, COUNT), WSQ_OK);
    CHECK_EQ(wsq_group_pending(&group), COUNT);
    CHECK_EQ(wsq_group_pending(&other), 0);
    CHECK_EQ(wsq_group_spawn_batch(&other, tasks, 1), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_group_pending(&other), 0);
    gates_open(doors, pool);
    CHECK_EQ(wsq_group_wait(&group), WSQ_OK);
    for (int i = 0; i < COUNT; i++) CHECK_EQ(steps[i].runs, 1);
    /* If it is refused, each stays in its own group, and over; tasks[0] is there twice. */
    for (int i = 0; i < 2; i++) {
        step_new(&steps[1 + i], NULL, NULL);
        wsq_task_set_group(tasks[1 + i], &other);
    }
    wsq_task *twice[] = {tasks[3], tasks[1], tasks[2], tasks[0], tasks[0]};
    CHECK_EQ(wsq_spawn(pool, tasks[1]), WSQ_OK);
    CHECK_EQ(wsq_group_wait(&other), WSQ_OK);
    CHECK_EQ(wsq_group_spawn_batch(&group, twice, 5), WSQ_ERR_INVALID);
    CHECK(wsq_group_pending(&group) == 0 && wsq_task_done(tasks[3]) && wsq_task_done(tasks[1]));
    CHECK(!wsq_task_done(tasks[2]));
    wsq_group_cancel(&group);
    CHECK_EQ(wsq_group_spawn_batch(&group, tasks, COUNT), WSQ_ERR_CANCELLED);
    for (int i = 1; i < 3; i++) {
        CHECK_EQ(wsq_spawn(pool, tasks[i]), WSQ_OK); /* into the other group, which is not cancelled */
        CHECK_EQ(wsq_group_wait(&other), WSQ_OK);
        CHECK_EQ(steps[i].runs, i == 1 ? 2 : 1);
    }
    CHECK_EQ(wsq_pool_shutdown(pool, WSQ_DRAIN), WSQ_OK);
    CHECK_EQ(wsq_group_spawn_batch(&other, tasks, COUNT), WSQ_ERR_CLOSED);
    pool_end(pool);
    free(steps);
}

static wsq_poll fail_with_number(wsq_ctx ctx, step *self) {
    (void)ctx;
    if (self->number != 0) wsq_group_fail(self->arg, -(int)self->number);
    return WSQ_DONE;
}

static void errors(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 1, .caller_runs = true});
    wsq_group group;
    step some[4];
    group_new(&group, pool);
    for (unsigned i = 0; i < 4; i++) {
        step_new(&some[i], fail_with_number, &group);
        some[i].number = i;
        spawn_in(&group, &some[i]);
        CHECK_EQ(wsq_group_pending(&group), i + 1);
    }
    CHECK_EQ(wsq_group_error(&group), 0);
    CHECK(wsq_pool_run_one(pool));
    CHECK_EQ(wsqi_load_acq(&group.word), 3 * WSQI_GROUP_TASK); /* three are left, and nobody waits for them */
    CHECK_EQ(wsq_group_wait(&group), WSQ_OK);
    CHECK_EQ(wsq_group_error(&group), -1); /* the first, and some[0] had none */
    CHECK_EQ(some[3].runs, 1);
    wsq_group_fail(&group, 7);
    CHECK_EQ(wsq_group_error(&group), -1);
    group_new(&group, pool);
    CHECK_EQ(wsq_group_error(&group), 0);
    pool_close(pool);
}

static void misuse(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 1, .caller_runs = true});
    wsq_group group;
    step one;
    wsq_task bare;
    wsq_task_init(&bare, NULL);
    step_new(&one, NULL, NULL);
    CHECK_EQ(wsq_group_init(NULL, pool), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_group_init(&group, NULL), WSQ_ERR_INVALID);
    group_new(&group, pool);
    CHECK_EQ(wsq_group_spawn(NULL, &one.task), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_group_spawn(&group, NULL), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_group_spawn(&group, &bare), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_group_wait_for(NULL, 0), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_group_then(NULL, &one.task), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_group_then(&group, NULL), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_group_then(&group, &bare), WSQ_ERR_INVALID);
    spawn(pool, &one);
    CHECK_EQ(wsq_group_spawn(&group, &one.task), WSQ_ERR_INVALID); /* queued */
    CHECK_EQ(wsq_group_then(&group, &one.task), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_group_pending(&group), 0);
    CHECK_EQ(pump(pool), 1);
    spawn_in(&group, &one);
    CHECK_EQ(wsq_group_pending(&group), 1);
    CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_ERR_INVALID);
    CHECK_EQ(pump(pool), 1);
    CHECK_EQ(wsq_pool_shutdown(pool, WSQ_DRAIN), WSQ_OK);
    CHECK_EQ(wsq_group_spawn(&group, &one.task), WSQ_ERR_CLOSED);
    CHECK_EQ(wsq_group_then(&group, &one.task), WSQ_ERR_CLOSED);
    CHECK_EQ(wsq_group_pending(&group), 0);
    CHECK_EQ(one.runs, 2);
    pool_end(pool);
}

/* ---- time ---- */

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void time_outs(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 1});
    wsq_group group;
    gate door;
    step one;
    group_new(&group, pool);
    step_new(&one, NULL, NULL);
    gate_close(&door, pool, -1);
    spawn_in(&group, &one);
    CHECK_EQ(wsq_group_wait_for(&group, 0), WSQ_ERR_TIMEOUT);
    uint64_t start = now_ns();
    CHECK_EQ(wsq_group_wait_for(&group, 3000000), WSQ_ERR_TIMEOUT);
    CHECK(now_ns() - start >= 3000000);
    CHECK_EQ(one.runs, 0);
    gate_open(&door);
    CHECK_EQ(wsq_group_wait_for(&group, UINT64_MAX - 1), WSQ_OK); /* a deadline past the end of time */
    CHECK_EQ(one.runs, 1);
    CHECK_EQ(wsq_group_wait_for(&group, 0), WSQ_OK);
    pool_close(pool);
}

/* A time-out on a worker: its pool goes on meanwhile, and it comes back. */
static wsq_poll wait_shortly(wsq_ctx ctx, step *self) {
    uint64_t start = now_ns();
    (void)ctx;
    CHECK_EQ(wsq_group_wait_for(self->arg, 2000000), WSQ_ERR_TIMEOUT);
    CHECK(now_ns() - start >= 2000000);
    return WSQ_DONE;
}

static void time_outs_of(wsq_pool *pool) {
    wsq_group group;
    step sleeper, waiter, other;
    group_new(&group, pool);
    step_new(&sleeper, pend_once, NULL);
    step_new(&waiter, wait_shortly, &group);
    step_new(&other, NULL, NULL);
    spawn_in(&group, &sleeper);
    spawn(pool, &waiter);
    spawn(pool, &other);
    CHECK_EQ(wsq_task_wait(&waiter.task), WSQ_OK);
    CHECK_EQ(wsq_task_wait(&other.task), WSQ_OK);
    wsq_wake(&sleeper.task);
    CHECK_EQ(wsq_group_wait(&group), WSQ_OK);
    CHECK_EQ(sleeper.runs, 2);
}

static void time_outs_everywhere(void) { on_every_kind(time_outs_of); }

/* ---- waits ---- */

/* On a worker that has tasks of two groups: only what is waited for runs above the waiting frame. */
typedef struct guard {
    wsq_group group;
    step mine[20], strangers[20];
    atomic_bool waiting;
    atomic_uint intruders;
    int worker;
} guard;

static guard sentry;

static wsq_poll stranger_runs(wsq_ctx ctx, step *self) {
    (void)self;
    if (atomic_load(&sentry.waiting) && (int)wsq_worker_index(ctx) == sentry.worker)
        atomic_fetch_add(&sentry.intruders, 1);
    return WSQ_DONE;
}

static wsq_poll spawn_both_and_wait(wsq_ctx ctx, step *self) {
    (void)self;
    sentry.worker = (int)wsq_worker_index(ctx);
    for (int i = 0; i < 20; i++) {
        spawn(wsq_pool_of(ctx), &sentry.strangers[i]);
        spawn_in(&sentry.group, &sentry.mine[i]);
    }
    atomic_store(&sentry.waiting, true);
    CHECK_EQ(wsq_group_wait(&sentry.group), WSQ_OK);
    atomic_store(&sentry.waiting, false);
    for (int i = 0; i < 20; i++) CHECK_EQ(sentry.mine[i].runs, 1);
    return WSQ_DONE;
}

static void help_of(wsq_pool *pool) {
    if (pool->config.max_standins == 0) return; /* there a waiter helps with anything */
    for (size_t round = 0; round < test_times(100); round++) {
        step waiter;
        memset((void *)&sentry, 0, sizeof sentry);
        group_new(&sentry.group, pool);
        step_new(&waiter, spawn_both_and_wait, NULL);
        for (int i = 0; i < 20; i++) {
            step_new(&sentry.mine[i], NULL, NULL);
            step_new(&sentry.strangers[i], stranger_runs, NULL);
        }
        spawn(pool, &waiter);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        CHECK_EQ(atomic_load(&sentry.intruders), 0);
    }
}

static void only_its_own_tasks_help(void) { on_every_kind(help_of); }

static void all_wait(test_thread *self) {
    wsq_group *group = self->arg;
    CHECK_EQ(wsq_group_wait(group), WSQ_OK);
    CHECK_EQ(wsq_group_pending(group), 0);
}

static wsq_poll after_a_nap(wsq_ctx ctx, step *self) {
    (void)ctx;
    test_spin(self->number * 100);
    return WSQ_DONE;
}

static void many_waiters_of(wsq_pool *pool) {
    step *steps = step_array(50, after_a_nap, NULL);
    wsq_group group;
    group_new(&group, pool);
    for (size_t round = 0; round < test_times(50); round++) {
        for (int i = 0; i < 50; i++) spawn_in(&group, &steps[i]);
        test_threads(THREADS, all_wait, &group);
    }
    free(steps);
}

static void many_waiters(void) { on_every_kind(many_waiters_of); }

/* The last task of a group ends while a thread is about to wait for it; then the group is gone. */
static void wait_and_free(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 2});
    uint64_t random = test_seed;
    step some[3];
    for (size_t round = 0; round < test_times(20000); round++) {
        wsq_group *group = malloc(sizeof *group);
        if (group == NULL || wsq_group_init(group, pool) != WSQ_OK) abort();
        for (unsigned i = 0; i < 3; i++) {
            step_new(&some[i], NULL, NULL);
            spawn_in(group, &some[i]);
        }
        test_spin(test_below(&random, 500));
        if (wsq_group_wait(group) != WSQ_OK) FAIL("a wait");
        memset((void *)group, 0xee, sizeof *group);
        free(group);
        for (unsigned i = 0; i < 3; i++)
            if (some[i].runs != 1) FAIL("it ran");
    }
    CHECK(true);
    pool_close(pool);
}

/* ---- then ---- */

static wsq_poll sees_the_sum(wsq_ctx ctx, step *self) {
    (void)ctx;
    if (atomic_load(&sum) != (uintptr_t)self->arg) FAIL("all of the group came before");
    return WSQ_DONE;
}

static void then_of(wsq_pool *pool) {
    enum { COUNT = 50, MANY = 40 };
    step *steps = step_array(COUNT, add_number, NULL);
    step *thens = step_array(MANY, sees_the_sum, (void *)(uintptr_t)(COUNT * (COUNT - 1) / 2));
    for (size_t round = 1; round <= test_times(50); round++) {
        wsq_group group;
        bool all = true;
        atomic_store(&sum, 0);
        group_new(&group, pool);
        for (int i = 0; i < COUNT; i++) {
            spawn_in(&group, &steps[i]);
            if (i == COUNT / 2) atomic_fetch_add(&sum, 0);
        }
        for (int i = 0; i < MANY; i++) /* before, during, after the last one's end */
            if (wsq_group_then(&group, &thens[i].task) != WSQ_OK) FAIL("then");
        for (int i = 0; i < MANY; i++)
            if (wsq_task_wait(&thens[i].task) != WSQ_OK) FAIL("a wait");
        for (int i = 0; i < MANY; i++) all = all && thens[i].runs == round;
        CHECK(all);
        CHECK_EQ(wsq_group_wait(&group), WSQ_OK);
    }
    free(steps);
    free(thens);
}

static void then(void) { on_every_kind(then_of); }

static void then_is_held_back(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 1, .caller_runs = true});
    wsq_group group;
    step one, two, thens[3];
    group_new(&group, pool);
    step_new(&one, pend_once, NULL);
    step_new(&two, NULL, NULL);
    for (int i = 0; i < 3; i++) step_new(&thens[i], NULL, NULL);
    CHECK_EQ(wsq_group_then(&group, &thens[0].task), WSQ_OK); /* an empty group is done */
    CHECK_EQ(pump(pool), 1);
    CHECK_EQ(thens[0].runs, 1);
    spawn_in(&group, &one);
    spawn_in(&group, &two);
    CHECK_EQ(wsq_group_then(&group, &thens[1].task), WSQ_OK);
    CHECK_EQ(wsq_group_then(&group, &thens[2].task), WSQ_OK);
    CHECK_EQ(wsq_group_then(&group, &thens[2].task), WSQ_ERR_INVALID);
    CHECK_EQ(pump(pool), 2);
    CHECK_EQ(wsq_group_pending(&group), 1);
    CHECK_EQ(thens[1].runs + thens[2].runs, 0);
    CHECK_EQ(wsq_pool_pending(pool), 3);
    wsq_wake(&one.task);
    CHECK_EQ(pump(pool), 3);
    CHECK_EQ(thens[1].runs + thens[2].runs, 2);
    pool_close(pool);
}

/* The task after a group may free it. */
typedef struct batch {
    wsq_group group;
    step some[4], then;
} batch;

static atomic_uint freed;

static wsq_poll free_batch(wsq_ctx ctx, step *self) {
    batch *all = self->arg;
    (void)ctx;
    memset((void *)all, 0xee, sizeof *all);
    free(all);
    atomic_fetch_add(&freed, 1);
    return WSQ_GONE;
}

static void then_frees_of(wsq_pool *pool) {
    size_t rounds = test_times(2000);
    atomic_store(&freed, 0);
    for (size_t round = 0; round < rounds; round++) {
        batch *all = malloc(sizeof *all);
        if (all == NULL || wsq_group_init(&all->group, pool) != WSQ_OK) abort();
        step_new(&all->then, free_batch, all);
        for (int i = 0; i < 4; i++) step_new(&all->some[i], NULL, NULL);
        for (int i = 0; i < 4; i++) spawn_in(&all->group, &all->some[i]);
        if (wsq_group_then(&all->group, &all->then.task) != WSQ_OK) FAIL("then");
    }
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    CHECK_EQ(atomic_load(&freed), rounds);
}

static void then_frees(void) { on_every_kind(then_frees_of); }

/* ---- WSQ_GONE, groups in groups, spawns into the own group ---- */

typedef struct mortal {
    wsq_task task;
    atomic_ulong *count;
} mortal;

static wsq_poll mortal_run(wsq_ctx ctx, wsq_task *task) {
    mortal *self = wsq_container_of(task, mortal, task);
    atomic_ulong *count = self->count;
    (void)ctx;
    memset((void *)self, 0xee, sizeof *self);
    free(self);
    atomic_fetch_add(count, 1);
    return WSQ_GONE;
}

static void gone_of(wsq_pool *pool) {
    atomic_ulong count = 0;
    size_t rounds = test_times(5000);
    wsq_group group;
    group_new(&group, pool);
    for (size_t i = 0; i < rounds; i++) {
        mortal *one = malloc(sizeof *one);
        if (one == NULL) abort();
        one->count = &count;
        wsq_task_init(&one->task, mortal_run);
        if (wsq_group_spawn(&group, &one->task) != WSQ_OK) FAIL("a spawn");
    }
    CHECK_EQ(wsq_group_wait(&group), WSQ_OK);
    CHECK_EQ(atomic_load(&count), rounds);
}

static void gone(void) { on_every_kind(gone_of); }

enum { FANOUT = 3, DEPTH = 4 };

typedef struct branch {
    step step;
    unsigned depth;
} branch;

static atomic_ulong leaves;

/* A tree of groups: each node waits for its children, on its worker. */
static wsq_poll grow(wsq_ctx ctx, step *self) {
    branch *node = wsq_container_of(self, branch, step), children[FANOUT];
    wsq_group group;
    if (node->depth == 0) {
        atomic_fetch_add(&leaves, 1);
        return WSQ_DONE;
    }
    if (wsq_group_init(&group, wsq_pool_of(ctx)) != WSQ_OK) FAIL("a group");
    for (int i = 0; i < FANOUT; i++) {
        step_new(&children[i].step, grow, NULL);
        children[i].depth = node->depth - 1;
        spawn_in(&group, &children[i].step);
    }
    if (wsq_group_wait(&group) != WSQ_OK) FAIL("a wait");
    for (int i = 0; i < FANOUT; i++)
        if (!wsq_task_done(&children[i].step.task)) FAIL("a child is done");
    return WSQ_DONE;
}

static void tree_of(wsq_pool *pool) {
    for (size_t round = 0; round < test_times(20); round++) {
        branch root = {.depth = DEPTH};
        atomic_store(&leaves, 0);
        step_new(&root.step, grow, NULL);
        root.depth = DEPTH;
        spawn(pool, &root.step);
        CHECK_EQ(wsq_task_wait(&root.step.task), WSQ_OK);
        CHECK_EQ(atomic_load(&leaves), 81);
    }
}

static void groups_in_groups(void) { on_every_kind(tree_of); }

typedef struct brood {
    wsq_group group;
    step steps[1 << 10];
    atomic_uint next;
} brood;

/* Spawns two more into its own group, and so on: the count never reaches zero in between. */
static wsq_poll breed(wsq_ctx ctx, step *self) {
    brood *all = self->arg;
    (void)ctx;
    for (int i = 0; i < 2; i++) {
        unsigned at = atomic_fetch_add(&all->next, 1);
        if (at < sizeof all->steps / sizeof *all->steps) spawn_in(&all->group, &all->steps[at]);
    }
    return WSQ_DONE;
}

static void own_group_of(wsq_pool *pool) {
    static brood all;
    unsigned count = sizeof all.steps / sizeof *all.steps;
    for (size_t round = 0; round < test_times(30); round++) {
        bool once = true;
        group_new(&all.group, pool);
        atomic_store(&all.next, 1);
        for (unsigned i = 0; i < count; i++) step_new(&all.steps[i], breed, &all);
        spawn_in(&all.group, &all.steps[0]);
        CHECK_EQ(wsq_group_wait(&all.group), WSQ_OK);
        for (unsigned i = 0; i < count; i++) once = once && all.steps[i].runs == 1;
        CHECK(once);
    }
}

static void spawn_into_the_own_group(void) { on_every_kind(own_group_of); }

/* A task that polls its group's count, and yields, sees the others end. */
static wsq_poll poll_the_count(wsq_ctx ctx, step *self) {
    (void)ctx;
    return wsq_group_pending(self->arg) > 1 ? WSQ_YIELD : WSQ_DONE;
}

static void count_is_told_of(wsq_pool *pool) {
    wsq_group group;
    step some[4];
    group_new(&group, pool);
    for (int i = 0; i < 4; i++) step_new(&some[i], i == 3 ? poll_the_count : NULL, &group);
    for (int i = 0; i < 4; i++) spawn_in(&group, &some[i]);
    CHECK_EQ(wsq_group_wait(&group), WSQ_OK);
}

static void count_is_told(void) { on_every_kind(count_is_told_of); }

/* ---- a task outside the group spawns many of its tasks, and goes on ---- */

typedef struct patron {
    wsq_group group;
    step outside;
    gate gate;
    step steps[700];
} patron;

static wsq_poll spawn_from_outside(wsq_ctx ctx, step *self) {
    patron *all = self->arg;
    for (unsigned i = 0; i < 700; i++) spawn_in(&all->group, &all->steps[i]);
    CHECK_EQ(wsq_group_spawn(&all->group, &self->task), WSQ_ERR_INVALID); /* it runs */
    return gate_run(ctx, &all->gate.task);
}

static void spawned_meanwhile_of(wsq_config config) {
    wsq_pool *pool = pool_new(config);
    patron *all = calloc(1, sizeof *all);
    for (size_t round = 0; round < test_times(100); round++) {
        group_new(&all->group, pool);
        step_new(&all->outside, spawn_from_outside, all);
        for (unsigned i = 0; i < 700; i++) step_new(&all->steps[i], NULL, NULL);
        atomic_store(&all->gate.inside, false);
        atomic_store(&all->gate.open, false);
        spawn(pool, &all->outside);
        while (round % 2 && !atomic_load(&all->gate.inside)) sched_yield();
        do CHECK_EQ(wsq_group_wait(&all->group), WSQ_OK);
        while (!atomic_load(&all->gate.inside)); /* it came before the last spawn */
        CHECK_EQ(wsq_group_wait(&all->group), WSQ_OK);
        bool once = true;
        for (unsigned i = 0; i < 700; i++) once = once && all->steps[i].runs == 1;
        CHECK(once);
        memset((void *)&all->group, 0xee, sizeof all->group);
        atomic_store(&all->gate.open, true);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    }
    free(all);
    pool_close(pool);
}

static void spawned_meanwhile(void) {
    spawned_meanwhile_of((wsq_config){.workers = 2});
    spawned_meanwhile_of((wsq_config){.workers = 3, .order = WSQ_LIFO});
}

/* Jobs spawn, here and on other workers; a wait for the pool is enough to free the group. */
static void spawn_range(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    patron *all = arg;
    (void)ctx;
    for (size_t i = begin; i < end; i++) spawn_in(&all->group, &all->steps[i]);
}

static wsq_poll spawn_in_jobs(wsq_ctx ctx, step *self) {
    wsq_for(ctx, 0, 700, 20, spawn_range, self->arg);
    return WSQ_DONE;
}

static void jobs_of(wsq_pool *pool) {
    for (size_t round = 0; round < test_times(200); round++) {
        patron *all = calloc(1, sizeof *all);
        group_new(&all->group, pool);
        step_new(&all->outside, spawn_in_jobs, all);
        for (unsigned i = 0; i < 700; i++) step_new(&all->steps[i], NULL, NULL);
        spawn(pool, &all->outside);
        if (wsq_pool_wait(pool) != WSQ_OK) FAIL("a wait");
        if (wsqi_load_rlx(&all->group.word) != 0) FAIL("not all are told");
        memset((void *)all, 0xee, sizeof *all);
        free(all);
    }
    CHECK(true);
}

static void spawns_in_jobs(void) { on_every_kind(jobs_of); }

/* ---- many ---- */

static contest throng;

static void spawn_quarter(test_thread *self) {
    size_t count = test_times(100000) / THREADS;
    for (size_t i = 0; i < count; i++) {
        spawn_in(&throng.group, &throng.steps[self->index * count + i]);
        if (self->index == 1 && i % 1000 == 0) (void)wsq_group_wait_for(&throng.group, 0);
    }
    CHECK_EQ(wsq_group_wait(&throng.group), WSQ_OK);
}

static void many_of(wsq_pool *pool) {
    size_t count = test_times(100000) / THREADS * THREADS;
    bool once = true;
    throng.steps = step_array(count, NULL, NULL);
    group_new(&throng.group, pool);
    test_threads(THREADS, spawn_quarter, NULL);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    CHECK_EQ(wsq_group_pending(&throng.group), 0);
    for (size_t i = 0; i < count; i++) once = once && throng.steps[i].runs == 1;
    CHECK(once);
    free(throng.steps);
}

static void many(void) { on_every_kind(many_of); }

/* wsq_pool_wait comes after the last use of every group. */
static void pool_wait_of(wsq_pool *pool) {
    for (size_t round = 0; round < test_times(300); round++) {
        brood *all = malloc(sizeof *all);
        if (all == NULL) abort();
        group_new(&all->group, pool);
        atomic_store(&all->next, 1 + (unsigned)(sizeof all->steps / sizeof *all->steps - 20));
        for (unsigned i = 0; i < sizeof all->steps / sizeof *all->steps; i++)
            step_new(&all->steps[i], breed, all);
        spawn_in(&all->group, &all->steps[0]);
        if (wsq_pool_wait(pool) != WSQ_OK) FAIL("a wait");
        memset((void *)all, 0xee, sizeof *all);
        free(all);
    }
    CHECK(true);
}

static void pool_wait_with_groups(void) { on_every_kind(pool_wait_of); }

int main(void) {
    test_begin("test_group");
    RUN(reuse);
    RUN(in_a_batch);
    RUN(errors);
    RUN(misuse);
    RUN(time_outs);
    RUN(time_outs_everywhere);
    RUN(only_its_own_tasks_help);
    RUN(many_waiters);
    RUN(wait_and_free);
    RUN(then);
    RUN(then_is_held_back);
    RUN(then_frees);
    RUN(gone);
    RUN(groups_in_groups);
    RUN(spawn_into_the_own_group);
    RUN(spawned_meanwhile);
    RUN(spawns_in_jobs);
    RUN(many);
    RUN(pool_wait_with_groups);
    RUN(count_is_told);
    return test_end();
}
