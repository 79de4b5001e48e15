/* What the cancelling of one task, or of one future, answers: "it will not run", or "too late"; and when
 * the memory is the caller's again. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "test.h"
#include "pool.h"
#include "compose.h"

enum { MANY = 2000 };

static wsq_poll pend(wsq_ctx ctx, step *self) {
    (void)ctx, (void)self;
    return WSQ_PENDING;
}

/* ---- one at a time, behind a door ---- */

static const wsq_order orders[] = {WSQ_FIFO, WSQ_LIFO, WSQ_SHARED};

static void queued_ones(void) {
    for (int i = 0; i < 3 * 4; i++) {
        wsq_pool *pool = pool_new((wsq_config){.workers = 1, .order = orders[i / 4]});
        gate door;
        step one;
        gate_close(&door, pool, -1);
        step_new(&one, NULL, NULL);
        CHECK(!wsq_task_cancel(&one.task)); /* it is not spawned */
        wsq_task_set_revocable(&one.task, true);
        if (i % 4 == 1) CHECK_EQ(wsq_task_set_priority(&one.task, WSQ_HIGH), WSQ_OK);
        if (i % 4 == 2) CHECK_EQ(wsq_task_set_priority(&one.task, WSQ_LOW), WSQ_OK);
        if (i % 4 == 3) CHECK_EQ(wsq_spawn_on(pool, 0, &one.task), WSQ_OK);
        else CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_OK);
        CHECK(wsq_task_cancel(&one.task));
        CHECK(wsq_task_cancel(&one.task)); /* as before */
        CHECK(!wsq_task_done(&one.task));
        gate_open(&door);
        CHECK_EQ(wsq_task_wait(&one.task), WSQ_ERR_CANCELLED);
        CHECK_EQ(one.runs, 0);
        CHECK_EQ(one.cleanups, 1);
        CHECK(wsq_task_cancel(&one.task));
        CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_OK); /* it is still revocable */
        CHECK_EQ(wsq_task_wait(&one.task), WSQ_OK);
        CHECK_EQ(one.runs, 1);
        CHECK(!wsq_task_cancel(&one.task));
        pool_end(pool);
    }
}

/* Whatever they are: what waits for an event or for another task has not started. */
static void waiting_ones(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 1});
    gate door;
    step first, later, asleep;
    wsq_edge edge;
    step_new(&first, NULL, NULL);
    step_new(&later, NULL, NULL);
    step_new(&asleep, pend, NULL);
    CHECK_EQ(wsq_task_after(&later.task, &first.task, &edge), WSQ_OK);
    CHECK(!wsq_task_cancel(&later.task)); /* it is not spawned */
    CHECK_EQ(wsq_spawn(pool, &later.task), WSQ_OK);
    CHECK(wsq_task_cancel(&later.task));
    CHECK_EQ(wsq_spawn(pool, &asleep.task), WSQ_OK);
    step_asleep(&asleep);
    gate_close(&door, pool, -1);
    wsq_wake(&asleep.task); /* queued for a second run, behind the door */
    CHECK(wsq_task_cancel(&asleep.task));
    gate_open(&door);
    CHECK_EQ(wsq_task_wait(&asleep.task), WSQ_ERR_CANCELLED);
    CHECK_EQ(asleep.runs, 1);
    CHECK_EQ(wsq_spawn(pool, &first.task), WSQ_OK);
    CHECK_EQ(wsq_task_wait(&later.task), WSQ_ERR_CANCELLED);
    CHECK_EQ(later.runs, 0);
    pool_end(pool);
}

/* The attribute stays with the others, in whatever order they are set, and with each kind of spawn. */
static void beside_other_attributes(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 1});
    wsq_group group;
    gate door;
    step steps[3];
    wsq_task *batch[3];
    CHECK_EQ(wsq_group_init(&group, pool), WSQ_OK);
    for (int round = 0; round < 3; round++) {
        gate_close(&door, pool, -1);
        for (int i = 0; i < 3; i++) {
            step_new(&steps[i], NULL, NULL);
            if (round == 0) wsq_task_set_revocable(&steps[i].task, true);
            if (i == 1) CHECK_EQ(wsq_task_set_worker(&steps[i].task, 0), WSQ_OK);
            if (i == 1) CHECK_EQ(wsq_task_set_worker(&steps[i].task, WSQ_ANY_WORKER), WSQ_OK);
            wsq_task_set_group(&steps[i].task, i == 2 ? &group : NULL);
            if (round != 0) wsq_task_set_revocable(&steps[i].task, round == 1);
            batch[i] = &steps[i].task;
        }
        CHECK_EQ(wsq_spawn_batch(pool, batch, 3), WSQ_OK);
        for (int i = 0; i < 3; i++) CHECK_EQ(wsq_task_cancel(batch[i]), round != 2);
        gate_open(&door);
        for (int i = 0; i < 3; i++) CHECK_EQ(wsq_task_wait(batch[i]), WSQ_ERR_CANCELLED);
        CHECK_EQ(wsq_group_wait(&group), WSQ_ERR_CANCELLED);
    }
    pool_end(pool);
}

/* A thread that asks while it is being cancelled hears so. */
static wsq_poll ask_and_clean(wsq_task *task) {
    CHECK(wsq_task_cancel(task));
    return step_clean(task);
}

/* Either cancels it: the group does so without an answer, and it stays what it is until then. */
static void in_a_cancelled_group(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 1});
    for (int asks = 0; asks < 2; asks++) {
        wsq_group group;
        gate door;
        step one;
        CHECK_EQ(wsq_group_init(&group, pool), WSQ_OK);
        gate_close(&door, pool, -1);
        step_new(&one, NULL, NULL);
        wsq_task_set_revocable(&one.task, true);
        wsq_task_set_cleanup(&one.task, ask_and_clean);
        CHECK_EQ(wsq_group_spawn(&group, &one.task), WSQ_OK);
        wsq_group_cancel(&group);
        if (asks) CHECK(wsq_task_cancel(&one.task));
        gate_open(&door);
        CHECK_EQ(wsq_task_wait(&one.task), WSQ_ERR_CANCELLED);
        CHECK_EQ(one.runs, 0);
        CHECK_EQ(one.cleanups, 1);
        CHECK_EQ(wsq_group_wait(&group), WSQ_ERR_CANCELLED);
    }
    pool_end(pool);
}

/* ---- many, at any moment ---- */

static step *steps;
static atomic_uchar told[MANY];
static atomic_uint next_one;

static wsq_poll done(wsq_ctx ctx, step *self) {
    (void)ctx, (void)self;
    return WSQ_DONE;
}

static wsq_pool *some_pool(size_t round) {
    return pool_new((wsq_config){.workers = 1 + (unsigned)round % 3, .order = orders[round / 3 % 3]});
}

/* The first thread spawns, the others follow closely behind. */
static void spawn_or_cancel(test_thread *self) {
    for (unsigned i = 0; i < MANY; i++) {
        if (self->index == 0) {
            CHECK_EQ(wsq_spawn(self->arg, &steps[i].task), WSQ_OK);
            atomic_store(&next_one, i + 1);
        } else {
            while (atomic_load(&next_one) <= i) sched_yield();
            if (wsq_task_cancel(&steps[i].task)) atomic_fetch_add(&told[i], 1);
        }
    }
}

static void exactly_one(void) {
    for (size_t round = 0; round < test_times(12); round++) {
        wsq_pool *pool = some_pool(round);
        steps = step_array(MANY, done, NULL);
        for (int i = 0; i < MANY; i++) wsq_task_set_revocable(&steps[i].task, true);
        memset(told, 0, sizeof told);
        atomic_store(&next_one, 0);
        test_threads(3, spawn_or_cancel, pool);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        for (int i = 0; i < MANY; i++) {
            CHECK_EQ(steps[i].runs + steps[i].cleanups, 1);
            CHECK_EQ(atomic_load(&told[i]), 2 * steps[i].cleanups); /* both, or nobody */
        }
        pool_end(pool);
        free(steps);
    }
}

/* ---- futures: what the argument points to may go as soon as the answer is there ---- */

static atomic_uint calls;

static void *call(void *arg) {
    atomic_fetch_add(&calls, 1);
    *(int *)arg += 1; /* a sanitizer sees it if it is freed */
    return arg;
}

static void arguments_that_go(void) {
    for (size_t round = 0; round < test_times(12); round++) {
        wsq_pool *pool = some_pool(round);
        static wsq_future *futures[MANY];
        static int *arguments[MANY];
        unsigned cancelled = 0;
        atomic_store(&calls, 0);
        for (int i = 0; i < MANY; i++) {
            arguments[i] = calloc(1, sizeof **arguments);
            CHECK_EQ(wsq_submit(pool, call, arguments[i], &futures[i]), WSQ_OK);
        }
        for (int i = MANY; i-- > 0;) {
            if (!wsq_future_cancel(futures[i])) continue;
            CHECK(wsq_future_done(futures[i]));
            wsq_future_drop(futures[i]);
            free(arguments[i]);
            arguments[i] = NULL;
            cancelled++;
        }
        for (int i = 0; i < MANY; i++) {
            if (arguments[i] == NULL) continue;
            CHECK_EQ(wsq_future_get(futures[i], NULL), WSQ_OK);
            CHECK_EQ(*arguments[i], 1);
            free(arguments[i]);
        }
        CHECK_EQ(atomic_load(&calls) + cancelled, MANY);
        pool_end(pool);
    }
}

/* All blocks for guests are taken, so a run in a future's function uses the worker's own: nothing is cancelled there. */
static wsq_pool *crowded;
static atomic_uint guests_in;
static atomic_bool guests_leave;

static void stay(wsq_ctx ctx, void *arg) {
    (void)ctx, (void)arg;
    atomic_fetch_add(&guests_in, 1);
    while (!atomic_load(&guests_leave)) sched_yield();
}

static void ask_cancelled(wsq_ctx ctx, void *arg) { *(bool *)arg = wsq_cancelled(ctx); }

static void *run_and_ask(void *arg) {
    CHECK_EQ(wsq_run(crowded, ask_cancelled, arg), WSQ_OK);
    return arg;
}

static wsq_poll get_and_ask(wsq_ctx ctx, wsq_task *task) {
    bool cancelled = true;
    wsq_future *future = NULL;
    (void)ctx, (void)task;
    CHECK_EQ(wsq_submit(crowded, run_and_ask, &cancelled, &future), WSQ_OK);
    CHECK_EQ(wsq_future_get(future, NULL), WSQ_OK);
    CHECK(!cancelled);
    return WSQ_DONE;
}

static void guest_or_asker(test_thread *self) {
    wsq_task task;
    if (self->index != 0) {
        CHECK_EQ(wsq_run(crowded, stay, NULL), WSQ_OK);
        return;
    }
    while (atomic_load(&guests_in) != WSQ_GUESTS) sched_yield();
    wsq_task_init(&task, get_and_ask);
    CHECK_EQ(wsq_spawn(crowded, &task), WSQ_OK);
    CHECK_EQ(wsq_task_wait(&task), WSQ_OK);
    atomic_store(&guests_leave, true);
}

static void runs_in_futures(void) {
    crowded = pool_new((wsq_config){.workers = 1});
    test_threads(1 + WSQ_GUESTS, guest_or_asker, NULL);
    pool_end(crowded);
}

int main(void) {
    test_begin("test_cancel");
    RUN(queued_ones);
    RUN(waiting_ones);
    RUN(beside_other_attributes);
    RUN(in_a_cancelled_group);
    RUN(exactly_one);
    RUN(arguments_that_go);
    RUN(runs_in_futures);
    return test_end();
}
