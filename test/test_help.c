/* A thread outside that waits for a group runs tasks of it, while a worker sleeps: they spawn, wait, fork,
 * sleep and yield there as on a worker; no more threads run tasks than the pool has workers; and where it
 * must not do so, it does not. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "test.h"
#include "pool.h"
#include "compose.h"

enum { TASKS = 40 };

static pthread_t caller;
static atomic_uint here, inside, most; /* runs on the caller's thread; runs under way, and at most */
static wsq_group group;

static void enter(void) {
    unsigned now = 1 + atomic_fetch_add(&inside, 1), seen = atomic_load(&most);
    while (now > seen && !atomic_compare_exchange_weak(&most, &seen, now)) {}
    if (pthread_equal(pthread_self(), caller)) atomic_fetch_add(&here, 1);
}

static wsq_poll spins(wsq_ctx ctx, step *self) {
    (void)self;
    enter();
    if (wsq_worker_index(ctx) >= wsq_pool_slots(wsq_pool_of(ctx))) FAIL("an index");
    if (wsq_worker_self() != (int)wsq_worker_index(ctx)) FAIL("another index");
    while (wsq_budget_take()) {} /* it ends */
    test_spin(300);
    atomic_fetch_sub(&inside, 1);
    return WSQ_DONE;
}

static void wait_for(wsq_pool *pool, wsq_poll (*act)(wsq_ctx ctx, step *self), size_t rounds, uint64_t timeout_ns) {
    step *steps = step_array(TASKS, act, NULL);
    wsq_task *tasks[TASKS];
    for (int i = 0; i < TASKS; i++) tasks[i] = &steps[i].task;
    caller = pthread_self();
    atomic_store(&here, 0);
    atomic_store(&most, 0);
    CHECK_EQ(wsq_group_init(&group, pool), WSQ_OK);
    for (size_t round = 1; round <= rounds; round++) {
        if (round % 4 == 0) test_nap(200000); /* the pool sleeps */
        CHECK_EQ(wsq_group_spawn_batch(&group, tasks, TASKS), WSQ_OK);
        CHECK_EQ(wsq_group_wait_for(&group, timeout_ns), WSQ_OK);
        unsigned wrong = 0;
        for (int i = 0; i < TASKS; i++) wrong += steps[i].runs < round || !wsq_task_done(&steps[i].task);
        CHECK_EQ(wrong, 0);
    }
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    free(steps);
}

static void no_more_than_workers(void) {
    for (unsigned workers = 1; workers <= 4; workers++) {
        for (int shared = 0; shared < 2; shared++) {
            wsq_pool *pool = pool_new((wsq_config){.workers = workers, .order = shared ? WSQ_SHARED : WSQ_FIFO});
            wait_for(pool, spins, test_times(60), WSQ_FOREVER);
            CHECK(atomic_load(&most) <= workers);
            pool_end(pool);
        }
    }
}

/* ---- what such a task does ---- */

static void add_up(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    (void)ctx;
    atomic_fetch_add((atomic_uint *)arg, (unsigned)(end - begin));
}

static wsq_poll waits_and_forks(wsq_ctx ctx, step *self) {
    wsq_pool *pool = wsq_pool_of(ctx);
    unsigned way = (self->number + self->runs) % 6;
    atomic_uint sum = 0;
    wsq_group own;
    step some[3];
    enter();
    for (int i = 0; i < 3; i++) step_new(&some[i], NULL, NULL);
    wsq_group_init(&own, pool);
    if (way <= 1) {
        for (int i = 0; i < 3; i++) CHECK_EQ(wsq_group_spawn(&own, &some[i].task), WSQ_OK);
        CHECK_EQ(wsq_group_wait(&own), WSQ_OK);
        CHECK_EQ(some[2].runs, 1);
    } else if (way == 2) {
        CHECK_EQ(wsq_spawn(pool, &some[0].task), WSQ_OK);
        CHECK_EQ(wsq_task_wait(&some[0].task), WSQ_OK);
    } else if (way == 3) {
        wsq_for(ctx, 0, 1000, 10, add_up, &sum);
        CHECK_EQ(atomic_load(&sum), 1000);
    } else if (way == 4 && self->runs % 2 != 0) {
        atomic_fetch_sub(&inside, 1);
        return WSQ_YIELD;
    } else if (way == 5) {
        wsq_block_begin(ctx);
        wsq_block_end(ctx);
    }
    atomic_fetch_sub(&inside, 1);
    return WSQ_DONE;
}

static void of_any_kind(void) {
    for (unsigned workers = 1; workers <= 4; workers++) {
        wsq_pool *pool = pool_new((wsq_config){.workers = workers});
        wait_for(pool, waits_and_forks, test_times(60), WSQ_FOREVER);
        pool_end(pool);
    }
}

/* ---- where it does not ---- */

static void hook(void *user, wsq_event event, unsigned worker, const void *subject, uint64_t value) {
    (void)user, (void)event, (void)worker, (void)subject, (void)value;
}

static void not_here(void) {
    static const wsq_hooks hooks = {.event = hook};
    wsq_config kinds[] = {
        {.workers = 4, .order = WSQ_LIFO}, {.workers = 4, .stack_size = 64u << 20}, {.workers = 4, .hooks = &hooks}};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        wsq_pool *pool = pool_new(kinds[k]);
        wait_for(pool, spins, test_times(20), WSQ_FOREVER);
        CHECK_EQ(atomic_load(&here), 0);
        pool_end(pool);
    }
    wsq_pool *pool = pool_new((wsq_config){.workers = 4});
    wait_for(pool, spins, test_times(20), 3600000000000u); /* it must return in time */
    CHECK_EQ(atomic_load(&here), 0);
    pool_end(pool);
}

/* Only the group's own tasks: another one before them is a worker's. */
static wsq_poll strange(wsq_ctx ctx, step *self) {
    (void)ctx, (void)self;
    if (pthread_equal(pthread_self(), caller)) FAIL("a task that the wait is not for");
    return WSQ_DONE;
}

static void no_others(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 4});
    caller = pthread_self();
    for (size_t round = 0; round < test_times(300); round++) {
        step ones[6];
        CHECK_EQ(wsq_group_init(&group, pool), WSQ_OK);
        for (int i = 0; i < 6; i++) {
            step_new(&ones[i], i % 2 != 0 ? spins : strange, NULL);
            if (i % 2 != 0) CHECK_EQ(wsq_group_spawn(&group, &ones[i].task), WSQ_OK);
            else CHECK_EQ(wsq_spawn(pool, &ones[i].task), WSQ_OK);
        }
        CHECK_EQ(wsq_group_wait(&group), WSQ_OK);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    }
    pool_end(pool);
}

/* The only worker blocks, and a thread outside runs a task of the group with its permit. The task loses the
 * permit in a wait of its own, because the worker goes on, spins, and falls asleep with it. Then the task
 * yields: the thread must tell the worker. */
static atomic_uint blocks, begun;

static wsq_poll goes_away(wsq_ctx ctx, step *self) {
    (void)self;
    wsq_block_begin(ctx);
    atomic_store(&blocks, 1);
    while (atomic_load(&begun) == 0) test_nap(20000);
    wsq_block_end(ctx);
    return WSQ_DONE;
}

static wsq_poll waits_then_yields(wsq_ctx ctx, step *self) {
    step one;
    if (self->runs % 2 == 0) return WSQ_DONE;
    if (pthread_equal(pthread_self(), caller)) atomic_fetch_add(&here, 1);
    step_new(&one, NULL, NULL);
    atomic_store(&begun, 1);
    CHECK_EQ(wsq_spawn(wsq_pool_of(ctx), &one.task), WSQ_OK);
    CHECK_EQ(wsq_task_wait(&one.task), WSQ_OK);
    test_nap(3000000); /* longer than the worker spins */
    return WSQ_YIELD;
}

static void tells_without_a_permit(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 1, .max_standins = WSQ_STANDINS_OFF, .spin_ns = 1000000});
    caller = pthread_self();
    atomic_store(&here, 0);
    for (size_t round = 0; round < test_times(10); round++) {
        step one, two;
        step_new(&one, goes_away, NULL);
        step_new(&two, waits_then_yields, NULL);
        atomic_store(&blocks, 0);
        atomic_store(&begun, 0);
        CHECK_EQ(wsq_group_init(&group, pool), WSQ_OK);
        CHECK_EQ(wsq_group_spawn(&group, &one.task), WSQ_OK);
        while (atomic_load(&blocks) == 0) test_nap(20000);
        CHECK_EQ(wsq_group_spawn(&group, &two.task), WSQ_OK);
        CHECK_EQ(wsq_group_wait(&group), WSQ_OK);
        CHECK_EQ(two.runs, 2);
    }
    CHECK(atomic_load(&here) != 0);
    pool_end(pool);
}

/* ---- what a thread outside ends without a permit, or in a run ---- */

static atomic_uint stage;
static step parts[4]; /* the member; what it waits for; two that hold the workers */

static void await_stage(unsigned least) {
    while (atomic_load(&stage) < least) sched_yield();
}

static wsq_poll reach_two(wsq_ctx ctx, step *self) {
    (void)ctx, (void)self;
    await_stage(2);
    return WSQ_DONE;
}

static wsq_poll hold_until_three(wsq_ctx ctx, step *self) {
    (void)ctx;
    if (self == &parts[2]) atomic_store(&stage, 2);
    await_stage(3);
    return WSQ_DONE;
}

/* When this thread goes on, tasks hold both workers. It ends last, while all others sleep. */
static wsq_poll ends_last(wsq_ctx ctx, step *self) {
    wsq_pool *pool = wsq_pool_of(ctx);
    bool outside = pthread_equal(pthread_self(), caller);
    (void)self;
    if (outside) {
        for (int i = 1; i < 4; i++) CHECK_EQ(wsq_spawn(pool, &parts[i].task), WSQ_OK);
        CHECK_EQ(wsq_task_wait_for(&parts[1].task, 3600000000000u), WSQ_OK); /* not in place */
    }
    atomic_store(&stage, 3);
    while (wsqi_load_acq(&pool->waiters) == 0) sched_yield();
    while (outside && wsqi_free_permits(wsqi_load_acq(&pool->permits)) != 2) sched_yield();
    atomic_fetch_add(&here, outside);
    return WSQ_DONE;
}

static void wait_for_pool(test_thread *thread) {
    wsq_pool *pool = thread->arg;
    if (thread->index == 0) {
        caller = pthread_self();
        CHECK_EQ(wsq_group_spawn(&group, &parts[0].task), WSQ_OK);
        CHECK_EQ(wsq_group_wait(&group), WSQ_OK);
    } else {
        await_stage(3);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK); /* it hangs if no thread looks whether all tasks are over */
    }
}

static void last_without_permit(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 2});
    atomic_store(&here, 0);
    for (size_t round = 0; round < test_times(60); round++) {
        atomic_store(&stage, 0);
        CHECK_EQ(wsq_group_init(&group, pool), WSQ_OK);
        step_new(&parts[0], ends_last, NULL);
        step_new(&parts[1], reach_two, NULL);
        for (int i = 2; i < 4; i++) step_new(&parts[i], hold_until_three, NULL);
        pool_rest(pool);
        test_threads(2, wait_for_pool, pool);
    }
    CHECK(atomic_load(&here) != 0);
    pool_end(pool);
}

static wsq_poll never(wsq_ctx ctx, step *self) {
    (void)ctx, (void)self;
    return WSQ_PENDING;
}

static void wait_in_run(wsq_ctx ctx, void *arg) {
    (void)ctx, (void)arg;
    CHECK_EQ(wsq_task_wait(&parts[1].task), WSQ_ERR_CANCELLED);
}

static wsq_poll runs_and_waits(wsq_ctx ctx, step *self) {
    (void)self;
    atomic_store(&stage, 1);
    CHECK_EQ(wsq_run(wsq_pool_of(ctx), wait_in_run, NULL), WSQ_OK);
    return WSQ_DONE;
}

static void cancel_or_wait(test_thread *thread) {
    wsq_pool *pool = thread->arg;
    if (thread->index == 0) {
        CHECK_EQ(wsq_group_spawn(&group, &parts[0].task), WSQ_OK);
        (void)wsq_group_wait(&group);
    } else {
        await_stage(1);
        test_nap(1000000);
        CHECK_EQ(wsq_pool_shutdown(pool, WSQ_CANCEL), WSQ_OK); /* it hangs if it does not release that wait */
    }
}

static void cancelled_in_a_run(void) {
    for (size_t round = 0; round < test_times(20); round++) {
        wsq_pool *pool = pool_new((wsq_config){.workers = 2});
        atomic_store(&stage, 0);
        CHECK_EQ(wsq_group_init(&group, pool), WSQ_OK);
        step_new(&parts[0], runs_and_waits, NULL);
        step_new(&parts[1], never, NULL);
        CHECK_EQ(wsq_spawn(pool, &parts[1].task), WSQ_OK);
        step_asleep(&parts[1]);
        pool_rest(pool);
        test_threads(2, cancel_or_wait, pool);
        pool_end(pool);
    }
}

/* With one worker the tasks of one thread start in order: a thread outside leaves the second one to the worker,
 * which blocks for a while. */
static wsq_poll goes_away_for_long(wsq_ctx ctx, step *self) {
    (void)self;
    wsq_block_begin(ctx);
    atomic_store(&blocks, 1);
    test_nap(3000000);
    wsq_block_end(ctx);
    return WSQ_DONE;
}

static wsq_poll comes_second(wsq_ctx ctx, step *self) {
    (void)ctx;
    const step *first = self->arg;
    CHECK_EQ(first->runs, 1);
    return WSQ_DONE;
}

static void keeps_order(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 1, .max_standins = WSQ_STANDINS_OFF});
    for (size_t round = 0; round < test_times(10); round++) {
        step one, first, second;
        step_new(&one, goes_away_for_long, NULL);
        step_new(&first, NULL, NULL);
        step_new(&second, comes_second, &first);
        atomic_store(&blocks, 0);
        CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_OK);
        while (atomic_load(&blocks) == 0) test_nap(20000);
        CHECK_EQ(wsq_spawn(pool, &first.task), WSQ_OK);
        CHECK_EQ(wsq_spawn(pool, &second.task), WSQ_OK);
        CHECK_EQ(wsq_task_wait(&second.task), WSQ_OK);
        CHECK_EQ(wsq_task_wait(&first.task), WSQ_OK);
        CHECK_EQ(wsq_task_wait(&one.task), WSQ_OK);
    }
    pool_end(pool);
}

/* A thread outside asks: a task, a future and a group of one, each spawned and waited for. While the only worker
 * blocks, it runs each of them itself. */
static void *same(void *arg) {
    if (pthread_equal(pthread_self(), caller)) atomic_fetch_add(&here, 1);
    return arg;
}

static wsq_poll same_here(wsq_ctx ctx, step *self) {
    (void)ctx;
    (void)same(self);
    return WSQ_DONE;
}

static void ask(wsq_pool *pool, size_t rounds) {
    atomic_store(&here, 0);
    for (size_t round = 0; round < 3 * rounds; round++) {
        step one;
        void *result = NULL;
        wsq_future *future = NULL;
        step_new(&one, same_here, NULL);
        if (round % 3 == 0) {
            CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_OK);
            CHECK_EQ(wsq_task_wait(&one.task), WSQ_OK);
        } else if (round % 3 == 1) {
            CHECK_EQ(wsq_submit(pool, same, &one, &future), WSQ_OK);
            CHECK_EQ(wsq_future_get(future, &result), WSQ_OK);
            CHECK(result == &one);
        } else {
            CHECK_EQ(wsq_group_init(&group, pool), WSQ_OK);
            CHECK_EQ(wsq_group_spawn(&group, &one.task), WSQ_OK);
            CHECK_EQ(wsq_group_wait(&group), WSQ_OK);
        }
        CHECK_EQ(one.runs, round % 3 != 1);
    }
}

static void asks(void) {
    caller = pthread_self();
    wsq_pool *pool = pool_new((wsq_config){.workers = 4});
    ask(pool, test_times(3000));
    pool_end(pool);

    step one;
    step_new(&one, goes_away, NULL);
    atomic_store(&blocks, 0);
    atomic_store(&begun, 0);
    pool = pool_new((wsq_config){.workers = 1, .max_standins = WSQ_STANDINS_OFF});
    CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_OK);
    while (atomic_load(&blocks) == 0) test_nap(20000);
    ask(pool, 100);
    CHECK_EQ(atomic_load(&here), 300);
    atomic_store(&begun, 1);
    pool_end(pool);
}

/* ---- step by step, in a pool that no other thread runs: what a waiting thread takes out of a queue ---- */

enum { FEW = 11 };

static step queued[FEW];

static wsq_poll runs_once(wsq_ctx ctx, step *self) {
    (void)ctx, (void)self;
    return WSQ_DONE;
}

static wsq_pool *still(unsigned workers, wsq_order order) {
    return pool_new((wsq_config){.workers = workers, .caller_runs = true, .order = order});
}

static wsq_task *of(int i) { return &queued[i].task; }

/* Is this the list, oldest first? The numbers end with -1. */
static bool is_list(const wsq_task *first, const int *numbers) {
    for (; first != NULL && *numbers >= 0 && first == of(*numbers); first = wsqi_get(&first->next)) numbers++;
    return first == NULL && *numbers < 0;
}

/* The awaited task, if it is among the eight oldest; the others stay in order. */
static void out_of_a_lane(void) {
    wsq_pool *pool = still(2, WSQ_FIFO);
    wsqi_lane *lane = &pool->lanes[WSQ_NORMAL];
    wsqi_worker *sleeper = wsqi_block(pool, 1);
    for (int i = 0; i < FEW; i++) step_new(&queued[i], runs_once, NULL);
    CHECK(wsqi_take_awaited(pool, of(0), NULL) == NULL);
    for (int i = 0; i < FEW - 1; i++) CHECK_EQ(wsq_spawn(pool, of(i)), WSQ_OK);
    CHECK(wsqi_take_awaited(pool, of(8), NULL) == NULL);
    CHECK_EQ(wsqi_load_acq(&lane->helped), 0);
    CHECK(is_list(lane->ready, (const int[]){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, -1}));
    CHECK(wsqi_take_awaited(pool, of(7), NULL) == of(7));
    CHECK(wsqi_take_awaited(pool, of(0), NULL) == of(0));
    CHECK(is_list(lane->ready, (const int[]){1, 2, 3, 4, 5, 6, 8, 9, -1}) && lane->last == of(9));
    CHECK(wsqi_take_awaited(pool, of(9), NULL) == of(9));
    CHECK(lane->last == of(8));
    CHECK_EQ(wsqi_load_acq(&lane->helped), 1); /* only 0 was the first one */
    CHECK_EQ(wsqi_load_acq(&lane->length), 7);
    CHECK_EQ(wsq_spawn(pool, of(10)), WSQ_OK);
    wsqi_store_sc(&lane->lock, 1u);
    CHECK(wsqi_take_awaited(pool, of(1), NULL) == NULL); /* not while another thread has the lane */
    wsqi_store_sc(&lane->lock, 0u);
    wsqi_store_sc(&pool->lanes[WSQ_HIGH].count, 1u);
    CHECK(wsqi_take_awaited(pool, of(1), NULL) == NULL); /* nor before an urgent task */
    wsqi_store_sc(&pool->lanes[WSQ_HIGH].count, 0u);
    pool->workers = 1;
    CHECK(wsqi_take_awaited(pool, of(2), NULL) == NULL); /* nor, with one worker, before an older one */
    CHECK(is_list(lane->ready, (const int[]){1, 2, 3, 4, 5, 6, 8, 10, -1}));
    for (int i = 1; i < 7; i++) CHECK(wsqi_take_awaited(pool, of(i), NULL) == of(i));
    pool->workers = 2;
    for (int left = 1; left >= 0; left--) { /* it wakes another one for what it leaves */
        wsqi_or_sc(&pool->bitmap.sleepers[0], wsqi_bit(sleeper));
        wsqi_store_sc(&pool->permits, WSQI_PERMIT + WSQI_IDLE);
        CHECK(wsqi_take_awaited(pool, of(left ? 8 : 10), NULL) == of(left ? 8 : 10));
        CHECK_EQ(wsqi_xchg_acq(&sleeper->parker.token, WSQI_TOKEN_NONE), left ? WSQI_TOKEN_HERE : WSQI_TOKEN_NONE);
    }
    wsqi_store_sc(&pool->permits, (uint64_t)0);
    wsqi_store_sc(&pool->bitmap.sleepers[0], (uint64_t)0);
    for (int i = 0; i < FEW; i++) wsqi_chain_push(&lane->incoming, of(i), of(i));
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    pool_end(pool);
}

/* The awaited task is the lane's only new one: it needs no lock. Beside others it does, and all stay, in order, in front
 * of later ones. */
static void newest_of_a_lane(void) {
    wsq_pool *pool = still(2, WSQ_FIFO);
    wsqi_lane *lane = &pool->lanes[WSQ_NORMAL];
    wsqi_worker *sleeper = wsqi_block(pool, 1);
    for (int i = 0; i < FEW; i++) step_new(&queued[i], runs_once, NULL);
    for (int older = 0; older <= 3; older += 3) {
        for (int i = 0; i <= older; i++) CHECK_EQ(wsq_spawn(pool, of(i)), WSQ_OK);
        wsqi_store_sc(&lane->lock, 1u);
        wsqi_or_sc(&pool->bitmap.sleepers[0], wsqi_bit(sleeper));
        wsqi_store_sc(&pool->permits, WSQI_PERMIT + WSQI_IDLE);
        CHECK(wsqi_take_awaited(pool, of(older), NULL) == (older ? NULL : of(0)));
        CHECK_EQ(wsqi_lane_empty(lane), older == 0);
        CHECK_EQ(wsqi_xchg_acq(&sleeper->parker.token, WSQI_TOKEN_NONE), WSQI_TOKEN_NONE); /* none has moved */
        wsqi_store_sc(&pool->permits, (uint64_t)0);
        wsqi_store_sc(&pool->bitmap.sleepers[0], (uint64_t)0);
        wsqi_store_sc(&lane->lock, 0u);
        if (older == 0) wsqi_chain_push(&lane->incoming, of(0), of(0));
        if (older == 0) CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    }
    CHECK_EQ(wsqi_load_acq(&lane->helped), 1);
    CHECK(wsqi_take_awaited(pool, of(9), NULL) == NULL);
    CHECK(is_list(lane->ready, (const int[]){0, 1, 2, 3, -1}) && lane->last == of(3));
    CHECK_EQ(wsq_spawn(pool, of(4)), WSQ_OK);
    wsqi_store_sc(&lane->lock, 1u);
    CHECK(wsqi_take_awaited(pool, of(4), NULL) == NULL); /* older ones wait, so it needs the lock */
    wsqi_store_sc(&lane->lock, 0u);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    pool->workers = 1;
    for (int i = 0; i < 3; i++) CHECK_EQ(wsq_spawn(pool, of(i)), WSQ_OK);
    CHECK(wsqi_take_awaited(pool, of(2), NULL) == NULL); /* with one worker, not before older ones */
    CHECK(is_list(lane->ready, (const int[]){0, 1, 2, -1}));
    pool->workers = 2;
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    pool_end(pool);
}

/* On one processor a wait with a time-out does not look for its end, since it would hold the awaited worker up. */
static void looks(void) {
    wsq_pool *pool = still(1, WSQ_FIFO);
    wsqi_wait wait;
    pool->spin.rounds = 2;
    for (unsigned processors = 1; processors <= 2; processors++) {
        pool->processors = processors;
        wsqi_wait_begin(&wait, pool, pool, 1000);
        wsqi_wait_look(&wait);
        wsqi_wait_end(&wait);
        CHECK_EQ(wsqi_load_acq(&pool->vain_looks), processors - 1);
    }
    pool_end(pool);
}

/* The awaited task out of the own queue; the others keep their order. */
static void out_of_the_own_queue(void) {
    wsq_pool *pool = still(2, WSQ_FIFO), *lifo = still(2, WSQ_LIFO);
    wsqi_worker *self = wsqi_block(pool, 1), *newest_first = wsqi_block(lifo, 1);
    size_t left = 4;
    for (int i = 0; i < FEW; i++) step_new(&queued[i], runs_once, NULL);
    for (int i = 0; i < 4; i++) CHECK(wsq_ring_push(&self->ring, i == 3 ? wsqi_marked(of(i)) : of(i)));
    CHECK(wsqi_take_back(self, of(1), NULL, &left) == of(1));
    CHECK_EQ(left, 0);
    wsqi_store_sc(&self->lifo, of(4));
    CHECK(wsqi_take_back(self, of(4), NULL, &left) == of(4));
    CHECK_EQ(left, 0);
    wsqi_store_sc(&self->lifo, of(4));
    left = 3;
    CHECK(wsqi_take_back(self, of(9), NULL, &left) == NULL); /* all, once */
    CHECK_EQ(left, 0);
    const void *const wanted[] = {of(0), of(2), wsqi_marked(of(3)), of(4)};
    for (int i = 0; i < 4; i++) CHECK(wsqi_ring_pop(&self->ring) == wanted[i]);
    CHECK_EQ(wsqi_queue_length(self), 0);
    for (int i = 0; i < 2; i++) CHECK_EQ(wsq_deque_push(&newest_first->deque, of(i)), WSQ_OK);
    left = 2;
    CHECK(wsqi_take_back(newest_first, of(0), NULL, &left) == of(0)); /* also below others, which stay */
    CHECK(wsq_deque_pop(&newest_first->deque) == of(1));
    static wsq_task many[WSQI_LOOK_DEQUE + 1];
    for (int i = 0; i <= WSQI_LOOK_DEQUE; i++) {
        wsq_task_init(&many[i], of(0)->fn);
        CHECK_EQ(wsq_deque_push(&newest_first->deque, &many[i]), WSQ_OK);
    }
    CHECK(wsqi_take_back(newest_first, &many[0], NULL, &left) == NULL); /* too far below */
    CHECK(wsqi_take_back(newest_first, &many[1], NULL, &left) == &many[1]);
    for (int i = WSQI_LOOK_DEQUE; i >= 0; i--)
        if (i != 1) CHECK(wsq_deque_pop(&newest_first->deque) == &many[i]);
    pool_end(pool);
    pool_end(lifo);
}

/* All that a thread leaves, in order: what came from the global queue goes to its front. */
static void to_the_global_queue(void) {
    static const int wanted[][6] = {{-1}, {4, -1}, {1, -1}, {4, 1, -1}, {0, 2, -1}, {0, 2, 4, 1, 3, -1}};
    wsq_pool *pool = still(2, WSQ_FIFO);
    wsqi_worker *self = wsqi_block(pool, 1);
    wsqi_lane *lane = &pool->lanes[WSQ_NORMAL];
    for (int i = 0; i < FEW; i++) step_new(&queued[i], runs_once, NULL);
    for (int kind = 0; kind < 6; kind++) {
        if (kind == 1 || kind == 3 || kind == 5) wsqi_store_sc(&self->lifo, of(4));
        for (int i = 0; i < 4; i++) /* 0 and 2 are marked */
            if (kind == 5 || (kind >= 4 && i % 2 == 0) || ((kind == 2 || kind == 3) && i == 1))
                CHECK(wsq_ring_push(&self->ring, i % 2 == 0 ? wsqi_marked(of(i)) : of(i)));
        self->turn.lifo_left = 3;
        CHECK_EQ(wsqi_spill_all(self), kind != 0);
        CHECK_EQ(self->turn.lifo_left, 0);
        CHECK(wsqi_queue_length(self) == 0 && wsqi_load_acq(&self->lifo) == NULL);
        wsqi_store_locked(&lane->length, wsqi_lane_collect(lane));
        CHECK(is_list(lane->ready, wanted[kind]));
        lane->ready = lane->last = NULL;
        wsqi_store_sc(&lane->length, 0u);
    }
    pool_end(pool);
}

int main(void) {
    test_begin("test_help");
    RUN(out_of_a_lane);
    RUN(newest_of_a_lane);
    RUN(looks);
    RUN(out_of_the_own_queue);
    RUN(to_the_global_queue);
    RUN(no_more_than_workers);
    RUN(of_any_kind);
    RUN(not_here);
    RUN(no_others);
    RUN(tells_without_a_permit);
    RUN(keeps_order);
    RUN(asks);
    RUN(last_without_permit);
    RUN(cancelled_in_a_run);
    return test_end();
}
