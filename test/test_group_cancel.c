/* Groups that are cancelled, asleep, in races with all that uses them, and by the shutdown of their pool. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "groups.h"

static atomic_bool saw_cancel, go_on;

static wsq_poll until_cancelled(wsq_ctx ctx, step *self) {
    (void)self;
    CHECK(!wsq_cancelled(ctx));
    atomic_store(&go_on, true);
    while (!wsq_cancelled(ctx)) sched_yield();
    atomic_store(&saw_cancel, true);
    return WSQ_DONE;
}

static wsq_poll not_cancelled(wsq_ctx ctx, step *self) {
    (void)self;
    CHECK(!wsq_cancelled(ctx));
    return WSQ_DONE;
}

static atomic_uint freed;

/* From here on nobody touches it: it lies in a grave, so that this shows without a sanitizer. */
static step *graves[10];

static wsq_poll free_at_cleanup(wsq_task *task) {
    step *one = wsq_container_of(task, step, task);
    memset((void *)one, 0xee, sizeof *one);
    graves[atomic_fetch_add(&freed, 1)] = one;
    return WSQ_GONE;
}

static bool grave_untouched(step *one) {
    const unsigned char *bytes = (const unsigned char *)one;
    bool same = true;
    for (size_t i = 0; i < sizeof *one; i++) same = same && bytes[i] == 0xee;
    free(one);
    return same;
}

static void cancel(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 1});
    wsq_group group;
    step running, queued[10], then, outsider;
    group_new(&group, pool);
    atomic_store(&freed, 0);
    atomic_store(&go_on, false);
    step_new(&running, until_cancelled, NULL);
    step_new(&then, NULL, NULL);
    step_new(&outsider, not_cancelled, NULL);
    spawn_in(&group, &running);
    while (!atomic_load(&go_on)) sched_yield();
    for (int i = 0; i < 10; i++) {
        step *mortal = step_array(1, NULL, NULL);
        step_new(&queued[i], NULL, NULL);
        if (i % 2) queued[i].task.cleanup = NULL;
        spawn_in(&group, &queued[i]);
        wsq_task_set_cleanup(&mortal->task, free_at_cleanup);
        spawn_in(&group, mortal);
    }
    spawn(pool, &outsider);
    CHECK_EQ(wsq_group_then(&group, &then.task), WSQ_OK);
    CHECK(!wsq_group_cancelled(&group));
    wsq_group_cancel(&group);
    CHECK(wsq_group_cancelled(&group));
    CHECK_EQ(wsq_group_wait(&group), WSQ_ERR_CANCELLED);
    CHECK(atomic_load(&saw_cancel));
    CHECK_EQ(wsq_task_wait(&running.task), WSQ_OK); /* what ran is done, not cancelled */
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(wsq_task_wait(&queued[i].task), WSQ_ERR_CANCELLED);
        CHECK_EQ(queued[i].runs, 0);
        CHECK_EQ(queued[i].cleanups, i % 2 ? 0 : 1);
    }
    CHECK_EQ(atomic_load(&freed), 10);
    for (int i = 0; i < 10; i++) CHECK(grave_untouched(graves[i]));
    CHECK_EQ(wsq_group_spawn(&group, &queued[0].task), WSQ_ERR_CANCELLED);
    CHECK_EQ(wsq_group_pending(&group), 0);
    CHECK_EQ(wsq_task_wait(&then.task), WSQ_OK); /* it is after the group's end, however that was */
    group_new(&group, pool);
    spawn_in(&group, &queued[0]);
    CHECK_EQ(wsq_group_wait(&group), WSQ_OK);
    CHECK_EQ(queued[0].runs, 1);
    pool_close(pool);
}

/* One task is cancelled, the group is not: its waiters hear of it, until the group is set up again. */
static void cancel_of_one(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 1, .caller_runs = true});
    wsq_group group;
    step one, other;
    group_new(&group, pool);
    step_new(&one, NULL, NULL);
    step_new(&other, NULL, NULL);
    spawn_in(&group, &one);
    spawn_in(&group, &other);
    wsq_task_cancel(&one.task);
    CHECK_EQ(wsq_group_wait(&group), WSQ_ERR_CANCELLED);
    CHECK(one.runs == 0 && other.runs == 1);
    CHECK(!wsq_group_cancelled(&group));
    spawn_in(&group, &other);
    CHECK_EQ(wsq_group_wait(&group), WSQ_ERR_CANCELLED);
    CHECK_EQ(other.runs, 2);
    group_new(&group, pool);
    spawn_in(&group, &one);
    CHECK_EQ(wsq_group_wait(&group), WSQ_OK);
    CHECK_EQ(one.runs, 1);
    pool_close(pool);
}

/* A sleeping task of a cancelled group ends when it is woken. */
static void cancel_asleep(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 1, .caller_runs = true});
    wsq_group group;
    step sleeper;
    group_new(&group, pool);
    step_new(&sleeper, pend_once, NULL);
    spawn_in(&group, &sleeper);
    CHECK_EQ(pump(pool), 1);
    wsq_group_cancel(&group);
    CHECK_EQ(pump(pool), 0);
    CHECK_EQ(wsq_group_wait_for(&group, 0), WSQ_ERR_TIMEOUT);
    wsq_wake(&sleeper.task);
    CHECK_EQ(wsq_group_wait(&group), WSQ_ERR_CANCELLED);
    CHECK_EQ(sleeper.runs, 1);
    CHECK_EQ(sleeper.cleanups, 1);
    pool_close(pool);
}

/* Cancel against spawns, ends and waits: every task either ran or was cleaned up. */
static void compete(test_thread *self) {
    contest *all = self->arg;
    if (self->index == 0) {
        test_spin(test_below(&self->random, 20000));
        wsq_group_cancel(&all->group);
        return;
    }
    for (unsigned i = self->index - 1; i < CONTEST; i += THREADS - 1) {
        wsq_result result = wsq_group_spawn(&all->group, &all->steps[i].task);
        all->refused[i] = result == WSQ_ERR_CANCELLED;
        if (result != WSQ_OK && !all->refused[i]) FAIL("a spawn or a refusal");
    }
    wsq_result result = wsq_group_wait(&all->group);
    if (result != WSQ_OK && result != WSQ_ERR_CANCELLED) FAIL("a wait");
}

static void cancel_races(void) {
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        wsq_pool *pool = pool_new(kinds[k]);
        static bool refused[CONTEST];
        contest all = {.refused = refused};
        for (size_t round = 0; round < test_times(100); round++) {
            unsigned wrong = 0;
            all.steps = step_array(CONTEST, NULL, NULL);
            group_new(&all.group, pool);
            test_threads(THREADS, compete, &all);
            CHECK_EQ(wsq_group_wait(&all.group), WSQ_ERR_CANCELLED);
            for (int i = 0; i < CONTEST; i++)
                wrong += all.steps[i].runs + all.steps[i].cleanups != (refused[i] ? 0 : 1);
            CHECK_EQ(wrong, 0);
            free(all.steps);
        }
        pool_close(pool);
    }
}

/* Inside a task of a cancelled group, a task of none is run in place: it is not cancelled. */
static step nested_one;

static wsq_poll wait_for_outsider(wsq_ctx ctx, step *self) {
    wsq_group_cancel(self->arg);
    CHECK(wsq_cancelled(ctx));
    spawn(wsq_pool_of(ctx), &nested_one);
    CHECK_EQ(wsq_task_wait(&nested_one.task), WSQ_OK);
    CHECK_EQ(nested_one.runs, 1);
    CHECK(wsq_cancelled(ctx));
    return WSQ_DONE;
}

static void cancelled_is_its_own_on(wsq_config config) {
    wsq_pool *pool = pool_new(config);
    wsq_group group;
    step outer;
    group_new(&group, pool);
    step_new(&nested_one, not_cancelled, NULL);
    if (config.caller_runs) CHECK_EQ(wsq_task_set_priority(&nested_one.task, WSQ_LOW), WSQ_OK);
    step_new(&outer, wait_for_outsider, &group);
    spawn_in(&group, &outer);
    CHECK_EQ(wsq_group_wait(&group), WSQ_ERR_CANCELLED);
    CHECK_EQ(outer.runs, 1);
    pool_close(pool);
}

static void cancelled_is_the_task_s_own(void) {
    cancelled_is_its_own_on((wsq_config){.workers = 1});
    cancelled_is_its_own_on((wsq_config){.workers = 1, .caller_runs = true});
}

/* A shutdown in front of a group that waits, is held and is full. */
static void shut_or_wait(test_thread *self) {
    contest *all = self->arg;
    if (self->index == 0) CHECK_EQ(wsq_pool_shutdown(all->group.pool, WSQ_CANCEL), WSQ_OK);
    else if (wsq_group_wait(&all->group) != WSQ_ERR_CANCELLED) FAIL("a cancelled wait");
}

static void shutdown_cancels(void) {
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        wsq_pool *pool = pool_new(kinds[k]);
        contest all;
        step sleeper, then;
        unsigned wrong = 0, done = 0;
        all.steps = step_array(CONTEST, NULL, NULL);
        group_new(&all.group, pool);
        step_new(&sleeper, pend_once, NULL);
        step_new(&then, NULL, NULL);
        spawn_in(&all.group, &sleeper); /* so that it is never done */
        for (int i = 0; i < CONTEST; i++) spawn_in(&all.group, &all.steps[i]);
        CHECK_EQ(wsq_group_then(&all.group, &then.task), WSQ_OK);
        test_threads(THREADS, shut_or_wait, &all);
        for (int i = 0; i < CONTEST; i++) {
            wrong += all.steps[i].runs + all.steps[i].cleanups != 1;
            done += wsq_task_done(&all.steps[i].task);
        }
        CHECK_EQ(wrong, 0);
        CHECK_EQ(done, CONTEST);
        CHECK_EQ(then.runs, 0);
        pool_end(pool);
        free(all.steps);
    }
}

/* A task with a group on its stack: however the pool stops, no task of the group runs when its wait
 * has returned. */
typedef struct family {
    step parent, children[8];
    atomic_uint begun;
} family;

static wsq_poll run_until_stopped(wsq_ctx ctx, step *self) {
    family *all = self->arg;
    atomic_fetch_add(&all->begun, 1);
    while (!wsq_cancelled(ctx)) sched_yield();
    test_nap(200000);
    return WSQ_DONE;
}

static wsq_poll wait_for_children(wsq_ctx ctx, step *self) {
    family *all = self->arg;
    unsigned wrong = 0;
    wsq_group group;
    group_new(&group, wsq_pool_of(ctx));
    for (int i = 0; i < 8; i++) { /* what the stopping pool refuses is ours */
        wsq_result result = wsq_group_spawn(&group, &all->children[i].task);
        if (result != WSQ_OK) all->children[i].cleanups = 1;
        if (result != WSQ_OK && result != WSQ_ERR_CLOSED) FAIL("a spawn into a group");
    }
    wsq_result result = wsq_group_wait(&group);
    if (result != WSQ_OK && result != WSQ_ERR_CANCELLED) FAIL("a wait for a group");
    CHECK_EQ(wsq_group_pending(&group), 0);
    for (int i = 0; i < 8; i++) wrong += (all->children[i].ended != 0) + all->children[i].cleanups != 1;
    CHECK_EQ(wrong, 0);
    memset((void *)&group, 0xee, sizeof group);
    return WSQ_DONE;
}

static void shutdown_beside_a_group_on_a_stack(void) {
    for (size_t round = 0; round < test_times(30); round++) {
        wsq_pool *pool = pool_new((wsq_config){.workers = 2 + (unsigned)(round % 3),
                                               .max_standins = round % 2 ? WSQ_STANDINS_OFF : 2});
        family all;
        atomic_init(&all.begun, 0);
        step_new(&all.parent, wait_for_children, &all);
        for (int i = 0; i < 8; i++) step_new(&all.children[i], run_until_stopped, &all);
        spawn(pool, &all.parent);
        while (atomic_load(&all.begun) == 0) sched_yield();
        CHECK_EQ(wsq_pool_shutdown(pool, WSQ_CANCEL), WSQ_OK);
        CHECK(all.parent.ended != 0);
        pool_end(pool);
    }
}

/* ---- trees ---- */

/* Which group is below which. */
static void tree(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 1, .caller_runs = true});
    wsq_group root, left, right, leaf;
    step one[4];
    wsq_group *all[4] = {&root, &left, &right, &leaf};
    for (int i = 0; i < 4; i++) group_new(all[i], pool);
    CHECK_EQ(wsq_group_set_parent(&left, &root), WSQ_OK);
    CHECK_EQ(wsq_group_set_parent(&right, &root), WSQ_OK);
    CHECK_EQ(wsq_group_set_parent(&leaf, &left), WSQ_OK);
    CHECK_EQ(wsq_group_set_parent(&root, &root), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_group_set_parent(&root, &leaf), WSQ_ERR_INVALID); /* it is above it */
    CHECK_EQ(wsq_group_set_parent(NULL, &root), WSQ_ERR_INVALID);
    for (int i = 0; i < 4; i++) step_new(&one[i], NULL, NULL);
    for (int i = 0; i < 4; i++) spawn_in(all[i], &one[i]);
    wsq_group_cancel(&left);
    CHECK(!wsq_group_cancelled(&root) && !wsq_group_cancelled(&right));
    CHECK(wsq_group_cancelled(&left) && wsq_group_cancelled(&leaf));
    CHECK_EQ(wsq_group_wait(&root), WSQ_OK);
    CHECK_EQ(wsq_group_wait(&right), WSQ_OK);
    CHECK_EQ(wsq_group_wait(&leaf), WSQ_ERR_CANCELLED);
    CHECK_EQ(wsq_group_wait(&left), WSQ_ERR_CANCELLED);
    CHECK(one[0].runs == 1 && one[1].cleanups == 1 && one[2].runs == 1 && one[3].cleanups == 1);
    CHECK_EQ(wsq_group_spawn(&leaf, &one[3].task), WSQ_ERR_CANCELLED);
    CHECK_EQ(wsq_group_set_parent(&leaf, NULL), WSQ_OK);
    CHECK(!wsq_group_cancelled(&leaf));
    CHECK_EQ(wsq_group_set_parent(&leaf, &root), WSQ_OK);
    wsq_group_cancel(&root);
    CHECK(wsq_group_cancelled(&leaf));
    wsq_group_cancel(&leaf);
    for (int below = 0; below < 2; below++) { /* a group that was cancelled itself stays so, wherever it is hung */
        CHECK_EQ(wsq_group_set_parent(&leaf, below ? &right : NULL), WSQ_OK);
        CHECK(wsq_group_cancelled(&leaf));
    }
    group_new(&leaf, pool); /* set up again: it has no parent */
    spawn_in(&leaf, &one[3]);
    CHECK_EQ(wsq_group_wait(&leaf), WSQ_OK);
    pool_close(pool);
}

/* A task of a group has a group of its own, down to some depth; only the root is cancelled. The deepest
 * tasks run until they see it, so that without a parent this hangs. */
typedef struct level {
    step own;
    wsq_group *parent;
    wsq_group group;
    struct level *below; /* NULL: the deepest */
    wsq_result result;
} level;

static atomic_uint deep;

static wsq_poll descend(wsq_ctx ctx, step *self) {
    level *at = wsq_container_of(self, level, own);
    if (at->below == NULL) atomic_fetch_add(&deep, 1);
    while (at->below == NULL && !wsq_cancelled(ctx)) sched_yield();
    if (at->below == NULL) return WSQ_DONE;
    group_new(&at->group, wsq_pool_of(ctx));
    CHECK_EQ(wsq_group_set_parent(&at->group, at->parent), WSQ_OK);
    at->below->parent = &at->group;
    spawn_in(&at->group, &at->below->own);
    at->result = wsq_group_wait(&at->group);
    if (at->result != WSQ_OK) wsq_group_fail(at->parent, wsq_group_error(&at->group) + 1);
    return WSQ_DONE;
}

static void cancel_flows_down(wsq_pool *pool) {
    enum { DEPTH = 6 };
    if (pool->config.caller_runs) return; /* the deepest spin, and nobody else runs */
    level levels[DEPTH];
    wsq_group root;
    atomic_store(&deep, 0);
    group_new(&root, pool);
    for (int i = 0; i < DEPTH; i++) {
        step_new(&levels[i].own, descend, NULL);
        levels[i].below = i + 1 < DEPTH ? &levels[i + 1] : NULL;
        levels[i].parent = &root;
    }
    spawn_in(&root, &levels[0].own);
    while (atomic_load(&deep) == 0) sched_yield();
    CHECK_EQ(wsq_group_wait_for(&root, 0), WSQ_ERR_TIMEOUT);
    wsq_group_cancel(&root);
    CHECK_EQ(wsq_group_wait(&root), WSQ_ERR_CANCELLED);
    for (int i = 0; i + 1 < DEPTH; i++) CHECK_EQ(levels[i].result, WSQ_ERR_CANCELLED);
    CHECK_EQ(wsq_group_error(&root), 1 + DEPTH - 2); /* each level has handed its error up */
}

static void cancel_flows_down_everywhere(void) { on_every_kind(cancel_flows_down); }

/* The root is cancelled while tasks below it spawn, run and wait: what was spawned ran or was cleaned up,
 * once, before the wait of its own level returned. */
typedef struct branch {
    step own;
    step leaves[8];
    unsigned refused;
    wsq_group *parent;
} branch;

static wsq_poll grow(wsq_ctx ctx, step *self) {
    branch *all = wsq_container_of(self, branch, own);
    wsq_group group;
    unsigned ended = 0;
    group_new(&group, wsq_pool_of(ctx));
    CHECK_EQ(wsq_group_set_parent(&group, all->parent), WSQ_OK);
    for (int i = 0; i < 8; i++) {
        wsq_result result = wsq_group_spawn(&group, &all->leaves[i].task);
        if (result == WSQ_ERR_CANCELLED) all->refused++;
        else if (result != WSQ_OK) FAIL("a spawn or a refusal");
    }
    wsq_result result = wsq_group_wait(&group);
    for (int i = 0; i < 8; i++) ended += all->leaves[i].runs + all->leaves[i].cleanups;
    CHECK_EQ(ended + all->refused, 8);
    CHECK(result == WSQ_OK || wsq_group_cancelled(all->parent));
    return WSQ_DONE;
}

static void cancel_a_tree_that_grows(wsq_pool *pool) {
    enum { BRANCHES = 16 };
    static branch branches[BRANCHES];
    for (size_t round = 0; round < test_times(200); round++) {
        wsq_group root;
        uint64_t random = test_seed + round;
        group_new(&root, pool);
        for (int i = 0; i < BRANCHES; i++) {
            branches[i].refused = 0;
            branches[i].parent = &root;
            step_new(&branches[i].own, grow, NULL);
            for (int j = 0; j < 8; j++) step_new(&branches[i].leaves[j], NULL, NULL);
            spawn_in(&root, &branches[i].own);
        }
        test_spin(test_below(&random, 40000));
        wsq_group_cancel(&root);
        CHECK_EQ(wsq_group_wait(&root), WSQ_ERR_CANCELLED);
    }
}

static void cancel_trees_that_grow(void) { on_every_kind(cancel_a_tree_that_grows); }

static void *nothing(void *arg) { return arg; }

/* The task that comes then has left its group, so a spawn into another group is for that spawn only. */
static void then_leaves_the_group_of(wsq_pool *pool) {
    for (int future = 0; future < 2; future++) {
        wsq_group own, other;
        wsq_future *first;
        step one;
        group_new(&own, pool);
        group_new(&other, pool);
        step_new(&one, NULL, NULL);
        wsq_task_set_group(&one.task, &own);
        CHECK_EQ(wsq_submit(pool, nothing, NULL, &first), WSQ_OK);
        if (future == 0) CHECK_EQ(wsq_group_then(&other, &one.task), WSQ_OK);
        else CHECK_EQ(wsq_future_then(first, &one.task), WSQ_OK);
        CHECK_EQ(wsq_task_wait(&one.task), WSQ_OK);
        CHECK_EQ(wsq_group_pending(&own), 0);
        spawn_in(&other, &one);
        CHECK_EQ(wsq_group_wait(&other), WSQ_OK);
        wsq_group_cancel(&other);
        CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_OK);
        CHECK_EQ(wsq_task_wait(&one.task), WSQ_OK);
        CHECK_EQ(one.runs, 3);
        CHECK_EQ(wsq_future_get(first, NULL), WSQ_OK);
    }
}

static void then_leaves_the_group(void) { on_every_kind(then_leaves_the_group_of); }

int main(void) {
    test_begin("test_group_cancel");
    RUN(tree);
    RUN(cancel_flows_down_everywhere);
    RUN(cancel_trees_that_grow);
    RUN(cancel);
    RUN(cancel_of_one);
    RUN(cancel_asleep);
    RUN(cancel_races);
    RUN(cancelled_is_the_task_s_own);
    RUN(shutdown_cancels);
    RUN(shutdown_beside_a_group_on_a_stack);
    RUN(then_leaves_the_group);
    return test_end();
}
