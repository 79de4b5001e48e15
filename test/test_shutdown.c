/* Shutdown: while others submit, twice at once, with tasks everywhere; whatever was accepted has run or is
 * cancelled, and a thread that waits for it is told. */
#include "refuse.h"
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "counted.h"

/* ---- while eight threads submit ---- */

enum { SUBMITTERS = 8, SUBMISSIONS = 4000, BATCH = 5 };

typedef struct siege {
    wsq_pool *pool;
    wsq_shutdown mode;
    uint32_t delay;
    errand errands[SUBMITTERS][SUBMISSIONS];
    atomic_ulong wrong;
} siege;

static siege shutting;

static void submit(siege *self, errand *first, bool batch) {
    wsq_task *list[BATCH];
    wsq_result result;
    if (!batch) {
        first->result = wsq_spawn(self->pool, &first->task);
        return;
    }
    for (int i = 0; i < BATCH; i++) list[i] = &first[i].task;
    result = wsq_spawn_batch(self->pool, list, BATCH);
    for (int i = 0; i < BATCH; i++) first[i].result = result;
}

/* The last thread shuts down, the one before waits for the pool, the others submit. */
static void besiege(test_thread *thread) {
    siege *self = thread->arg;
    unsigned me = thread->index;
    if (me == SUBMITTERS + 1) {
        test_spin(self->delay);
        if (wsq_pool_shutdown(self->pool, self->mode) != WSQ_OK) atomic_fetch_add(&self->wrong, 1);
    } else if (me == SUBMITTERS) {
        wsq_result result = wsq_pool_wait(self->pool);
        if (result != WSQ_OK && (self->mode == WSQ_DRAIN || result != WSQ_ERR_CANCELLED))
            atomic_fetch_add(&self->wrong, 1);
    } else {
        for (int i = 0; i + BATCH <= SUBMISSIONS;) {
            bool batch = test_below(&thread->random, 4) == 0;
            submit(self, &self->errands[me][i], batch);
            i += batch ? BATCH : 1;
        }
    }
}

/* What was accepted has run, or was cancelled; what was refused is as it was. */
static void check_errand(siege *self, errand *one) {
    unsigned runs = one->runs;
    bool good = true;
    if (one->result == WSQ_OK) {
        wsq_result waited = wsq_task_wait(&one->task);
        good = runs == 1 && waited == WSQ_OK;
        if (self->mode == WSQ_CANCEL && runs == 0) good = waited == WSQ_ERR_CANCELLED;
        good = good && wsq_task_done(&one->task);
    } else if (one->result == WSQ_ERR_CLOSED) {
        good = runs == 0 && !wsq_task_done(&one->task) && wsq_task_wait(&one->task) == WSQ_ERR_INVALID;
    } else {
        good = one->result == WSQ_ERR_INVALID && runs == 0; /* set before the start: not submitted */
    }
    if (!good) atomic_fetch_add(&self->wrong, 1);
}

static void shut_down_under_siege(wsq_config config, wsq_shutdown mode, uint64_t *random) {
    wsq_stats stats;
    uint64_t accepted_count = 0;
    shutting.pool = pool_new(config);
    shutting.mode = mode;
    shutting.delay = test_below(random, test_below(random, 2) ? 100000 : 2000000);
    atomic_store(&shutting.wrong, 0);
    for (int i = 0; i < SUBMITTERS * SUBMISSIONS; i++) {
        errand *one = &shutting.errands[i / SUBMISSIONS][i % SUBMISSIONS];
        errand_new(one, errand_run);
        one->result = WSQ_ERR_INVALID;
    }
    test_threads(SUBMITTERS + 2, besiege, &shutting);
    for (int i = 0; i < SUBMITTERS * SUBMISSIONS; i++) {
        errand *one = &shutting.errands[i / SUBMISSIONS][i % SUBMISSIONS];
        check_errand(&shutting, one);
        accepted_count += one->result == WSQ_OK;
    }
    CHECK_EQ(atomic_load(&shutting.wrong), 0);
    wsq_pool_stats(shutting.pool, &stats);
    CHECK_EQ(stats.spawned, accepted_count);
    CHECK_EQ(stats.finished, accepted_count);
    CHECK_EQ(wsq_pool_pending(shutting.pool), 0);
    CHECK_EQ(stats.queue_depth, 0);
    wsq_pool_destroy(shutting.pool);
    check_nothing_left();
}

static void shutdown_while_others_submit(void) {
    uint64_t random = test_seed;
    for (size_t i = 0; i < test_times(40); i++) {
        wsq_shutdown mode = i % 2 ? WSQ_CANCEL : WSQ_DRAIN;
        shut_down_under_siege((wsq_config){.workers = 1 + (unsigned)i % 4}, mode, &random);
        shut_down_under_siege((wsq_config){.workers = 2, .order = WSQ_LIFO}, mode, &random);
    }
}

/* Two shut down at once, in different ways; both return when it is over. */
static void two_shut_down(test_thread *self) {
    CHECK_EQ(wsq_pool_shutdown(self->arg, self->index % 2 ? WSQ_CANCEL : WSQ_DRAIN), WSQ_OK);
}

static void shutdown_twice_at_once(void) {
    static errand some[1000];
    for (size_t round = 0; round < test_times(200); round++) {
        wsq_pool *pool = pool_new((wsq_config){.workers = 2});
        for (int i = 0; i < 1000; i++) {
            errand_new(&some[i], errand_run);
            CHECK_EQ(wsq_spawn(pool, &some[i].task), WSQ_OK);
        }
        test_threads(2 + (unsigned)round % 3, two_shut_down, pool);
        CHECK_EQ(wsq_pool_pending(pool), 0);
        wsq_pool_destroy(pool);
    }
}

/* A drain runs what the last tasks spawn. */
typedef struct generation {
    errand base;
    errand *child;
} generation;

static wsq_poll parent_run(wsq_ctx ctx, wsq_task *task) {
    generation *self = wsq_container_of(task, generation, base.task);
    for (int i = 0; i < 20; i++) sched_yield(); /* until the shutdown is under way */
    self->base.result = wsq_spawn(wsq_pool_of(ctx), &self->child->task);
    return WSQ_DONE;
}

static void drain_runs_children(void) {
    enum { PARENTS = 50 };
    static generation parents[PARENTS];
    static errand children[PARENTS];
    for (size_t round = 0; round < test_times(50); round++) {
        wsq_pool *pool = pool_new((wsq_config){.workers = 2});
        for (int i = 0; i < PARENTS; i++) {
            errand_new(&children[i], errand_run);
            errand_new(&parents[i].base, parent_run);
            parents[i].child = &children[i];
            CHECK_EQ(wsq_spawn(pool, &parents[i].base.task), WSQ_OK);
        }
        CHECK_EQ(wsq_pool_shutdown(pool, WSQ_DRAIN), WSQ_OK);
        for (int i = 0; i < PARENTS; i++) {
            CHECK_EQ(parents[i].base.result, WSQ_OK);
            CHECK_EQ(children[i].runs, 1);
        }
        wsq_pool_destroy(pool);
    }
}

/* A cancellation finds tasks in a slot, in a queue, in the global queue, and asleep. */
enum { LEFT = 3 * WSQ_RING_CAPACITY };

static errand left_behind[LEFT];
static wsq_task slot_task;

static wsq_poll leave_behind(wsq_ctx ctx, wsq_task *task) {
    wsq_pool *pool = wsq_pool_of(ctx);
    errand *self = wsq_container_of(task, errand, task);
    for (int i = 0; i < LEFT; i++)
        if (wsq_spawn(pool, &left_behind[i].task) != WSQ_OK) FAIL("a spawn");
    wsq_wake(&slot_task);
    atomic_store(&self->runs, 1);
    while (wsqi_load_rlx(pool->phase) == WSQI_PHASE_RUN) sched_yield();
    return WSQ_DONE;
}

static void cancel_everywhere(void) {
    for (unsigned order = WSQ_FIFO; order <= WSQ_LIFO; order++) {
        wsq_pool *pool = pool_new((wsq_config){.workers = 1, .order = (wsq_order)order});
        wsq_task asleep;
        errand one;
        unsigned cancelled = 0;
        wsq_task_init(&slot_task, pending_run);
        wsq_task_init(&asleep, pending_run);
        errand_new(&one, leave_behind);
        for (int i = 0; i < LEFT; i++) errand_new(&left_behind[i], errand_run);
        CHECK_EQ(wsq_spawn(pool, &slot_task), WSQ_OK);
        CHECK_EQ(wsq_spawn(pool, &asleep), WSQ_OK);
        while (wsqi_load_acq(&slot_task.state) != WSQI_TASK_PENDING ||
               wsqi_load_acq(&asleep.state) != WSQI_TASK_PENDING)
            sched_yield();
        CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_OK);
        while (atomic_load(&one.runs) == 0) sched_yield();
        CHECK_EQ(wsq_pool_shutdown(pool, WSQ_CANCEL), WSQ_OK);
        for (int i = 0; i < LEFT; i++)
            cancelled += left_behind[i].runs == 0 && wsq_task_wait(&left_behind[i].task) == WSQ_ERR_CANCELLED;
        CHECK_EQ(cancelled, LEFT);
        CHECK_EQ(wsq_task_wait(&slot_task), WSQ_ERR_CANCELLED);
        CHECK_EQ(wsq_task_wait(&asleep), WSQ_ERR_CANCELLED);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_ERR_CANCELLED);
        wsq_wake(&asleep); /* too late */
        CHECK_EQ(wsq_task_wait(&asleep), WSQ_ERR_CANCELLED);
        CHECK_EQ(wsq_pool_pending(pool), 0);
        wsq_pool_destroy(pool);
    }
    check_nothing_left();
}

/* A thread that waits for a task which a cancellation leaves behind is told: outside, and on a worker. */
typedef struct widow {
    wsq_task task;
    wsq_task *awaited;
    atomic_int *waiting;
    wsq_result result;
} widow;

static wsq_poll widow_run(wsq_ctx ctx, wsq_task *task) {
    widow *self = wsq_container_of(task, widow, task);
    (void)ctx;
    atomic_fetch_add(self->waiting, 1);
    self->result = wsq_task_wait(self->awaited);
    return WSQ_DONE;
}

static void wait_and_be_told(test_thread *self) {
    wsq_task *awaited = self->arg;
    CHECK_EQ(wsq_task_wait(awaited), WSQ_ERR_CANCELLED);
}

static wsq_pool *cancelled_later;

static void wait_or_cancel(test_thread *self) {
    if (self->index > 0) {
        wait_and_be_told(self);
    } else {
        test_spin(test_below(&self->random, 100000));
        CHECK_EQ(wsq_pool_shutdown(cancelled_later, WSQ_CANCEL), WSQ_OK);
    }
}

static void cancel_tells_waiters(void) {
    for (size_t round = 0; round < test_times(200); round++) {
        wsq_pool *pool = cancelled_later = pool_new((wsq_config){.workers = 2});
        atomic_int waiting = 0;
        wsq_task awaited;
        widow one = {.awaited = &awaited, .waiting = &waiting, .result = WSQ_OK};
        wsq_task_init(&awaited, pending_run);
        wsq_task_init(&one.task, widow_run);
        CHECK_EQ(wsq_spawn(pool, &awaited), WSQ_OK);
        while (wsqi_load_acq(&awaited.state) != WSQI_TASK_PENDING) sched_yield(); /* asleep, for ever */
        CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_OK);
        while (atomic_load(&waiting) == 0) sched_yield();
        test_threads(3, wait_or_cancel, &awaited);
        CHECK_EQ(one.result, WSQ_ERR_CANCELLED);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_ERR_CANCELLED);
        wsq_pool_destroy(pool);
    }
    check_nothing_left();
}

/* ---- waits for groups end one after the other, while the shutdown looks at the others ---- */

enum { KEEPERS = 6 };

typedef struct keeper {
    wsq_task task, never;
    wsq_group own;
} keeper;

static keeper keepers[KEEPERS];
static atomic_uint keeping;

static wsq_poll pend_for_ever(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    return WSQ_PENDING;
}

static wsq_poll keep(wsq_ctx ctx, wsq_task *task) {
    keeper *self = wsq_container_of(task, keeper, task);
    wsq_pool *pool = wsq_pool_of(ctx);
    wsq_task_init(&self->never, pend_for_ever);
    CHECK_EQ(wsq_group_init(&self->own, pool), WSQ_OK);
    CHECK_EQ(wsq_group_spawn(&self->own, &self->never), WSQ_OK);
    atomic_fetch_add(&keeping, 1);
    CHECK_EQ(wsq_group_wait(&self->own), WSQ_ERR_CANCELLED);
    return WSQ_DONE;
}

/* The thread sanitizer tells when one goes on too early. */
static void waits_end_one_by_one(void) {
    for (size_t round = 0; round < test_times(300); round++) {
        wsq_pool *pool = pool_new((wsq_config){.workers = 1 + (unsigned)round % 4});
        wsq_group all;
        atomic_store(&keeping, 0);
        CHECK_EQ(wsq_group_init(&all, pool), WSQ_OK);
        for (int i = 0; i < KEEPERS; i++) {
            wsq_task_init(&keepers[i].task, keep);
            CHECK_EQ(wsq_group_spawn(&all, &keepers[i].task), WSQ_OK);
        }
        while (atomic_load(&keeping) < KEEPERS) sched_yield();
        CHECK_EQ(wsq_pool_shutdown(pool, WSQ_CANCEL), WSQ_OK);
        CHECK_EQ(wsq_group_wait(&all), WSQ_OK);
        for (int i = 0; i < KEEPERS; i++) wsq_wake(&keepers[i].never);
        wsq_pool_destroy(pool);
    }
}

/* ---- cleanups that wait for each other ---- */

enum { CHAINED = 40 };

typedef struct chained {
    wsq_task task;
    struct chained *waits_for;
    unsigned cleanups;
} chained;

static chained chain[CHAINED];
static atomic_bool chain_open;

static wsq_poll chained_run(wsq_ctx ctx, wsq_task *task) { return (void)ctx, (void)task, WSQ_DONE; }

static wsq_poll chained_clean(wsq_task *task) {
    chained *self = wsq_container_of(task, chained, task);
    self->cleanups++;
    if (self->waits_for != NULL) (void)wsq_task_wait(&self->waits_for->task);
    return WSQ_DONE;
}

static wsq_poll hold_worker(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    while (!atomic_load(&chain_open)) sched_yield();
    return WSQ_DONE;
}

static void open_or_shut(test_thread *self) {
    if (self->index == 0) CHECK_EQ(wsq_pool_shutdown(self->arg, WSQ_CANCEL), WSQ_OK);
    if (self->index == 1) test_nap(100000), atomic_store(&chain_open, true);
}

/* A worker that waits in a cleanup cancels what it finds. So what it waits for may lie below it, on its
 * own stack or on another one: none of them would go on. Also if they wait in a circle. */
static void cleanups_that_wait(void) {
    static const wsq_config configs[] = {
        {.workers = 2}, {.workers = 3, .max_standins = WSQ_STANDINS_OFF}, {.workers = 2, .order = WSQ_SHARED},
        {.workers = 2, .caller_runs = true}, {.workers = 2, .lend_only = true}};
    for (size_t round = 0; round < test_times(100); round++) {
        wsq_config config = configs[round % 5];
        wsq_pool *pool = pool_new(config);
        wsq_task holders[3];
        unsigned order[CHAINED], held = round % 5 < 3 ? config.workers : 0;
        uint64_t random = test_seed + round;
        atomic_store(&chain_open, held == 0);
        for (unsigned i = 0; i < held; i++) {
            wsq_task_init(&holders[i], hold_worker);
            CHECK_EQ(wsq_spawn(pool, &holders[i]), WSQ_OK);
        }
        for (unsigned i = 0; i < CHAINED; i++) {
            unsigned j = (unsigned)test_below(&random, i + 1), above = CHAINED - 1 - i;
            order[i] = order[j];
            order[j] = i;
            chain[i] = (chained){.waits_for = above == 0 ? NULL : &chain[i + 1 + test_below(&random, above)]};
            wsq_task_init(&chain[i].task, chained_run);
            wsq_task_set_cleanup(&chain[i].task, chained_clean);
        }
        if (round % 3 == 0) chain[CHAINED - 1].waits_for = &chain[0];
        for (unsigned i = 0; i < CHAINED; i++) CHECK_EQ(wsq_spawn(pool, &chain[order[i]].task), WSQ_OK);
        test_threads(2, open_or_shut, pool);
        for (unsigned i = 0; i < CHAINED; i++) CHECK(wsq_task_done(&chain[i].task) && chain[i].cleanups <= 1);
        wsq_pool_destroy(pool);
    }
}

int main(void) {
    test_begin("test_shutdown");
    RUN(shutdown_while_others_submit);
    RUN(shutdown_twice_at_once);
    RUN(drain_runs_children);
    RUN(cancel_everywhere);
    RUN(cancel_tells_waiters);
    RUN(waits_end_one_by_one);
    RUN(cleanups_that_wait);
    return test_end();
}
