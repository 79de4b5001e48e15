/* Tasks: the four results, a wake in every state, double spawns, wake storms in which a task must never
 * run on two workers at once and no wake may be lost, and waits. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "test.h"
#include "pool.h"

static wsq_pool *pool_of_caller(void) { return pool_new((wsq_config){.workers = 1, .caller_runs = true}); }

/* ---- one thread: a task that does as it is told ---- */

typedef struct puppet {
    wsq_task task;
    wsq_poll answer;
    void (*act)(struct puppet *self); /* while it runs */
    unsigned runs;
    wsq_pool *pool;
} puppet;

static wsq_poll puppet_run(wsq_ctx ctx, wsq_task *task) {
    puppet *self = wsq_container_of(task, puppet, task);
    (void)ctx;
    self->runs++;
    if (self->act) self->act(self);
    return self->answer;
}

static void puppet_new(puppet *self, wsq_pool *pool, wsq_poll answer, void (*act)(puppet *self)) {
    *self = (puppet){.pool = pool, .answer = answer, .act = act};
    wsq_task_init(&self->task, puppet_run);
}

/* How many tasks the pool ran until it had none left. */
static unsigned pump(wsq_pool *pool) {
    unsigned count = 0;
    while (wsq_pool_run_one(pool)) count++;
    return count;
}

static void results(void) {
    wsq_pool *pool = pool_of_caller();
    puppet one;
    puppet_new(&one, pool, WSQ_DONE, NULL);
    CHECK(!wsq_task_done(&one.task));
    CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_OK);
    CHECK(!wsq_task_done(&one.task));
    CHECK_EQ(pump(pool), 1);
    CHECK(wsq_task_done(&one.task));
    CHECK_EQ(wsq_task_wait(&one.task), WSQ_OK);

    puppet_new(&one, pool, WSQ_PENDING, NULL);
    CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_OK);
    CHECK_EQ(pump(pool), 1);
    CHECK(!wsq_task_done(&one.task));
    CHECK_EQ(wsq_pool_pending(pool), 1);
    one.answer = WSQ_DONE;
    wsq_wake(&one.task);
    CHECK_EQ(pump(pool), 1);
    CHECK(wsq_task_done(&one.task));
    CHECK_EQ(wsq_pool_pending(pool), 0);

    puppet_new(&one, pool, WSQ_YIELD, NULL);
    CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_OK);
    for (int i = 0; i < 1000; i++) CHECK(wsq_pool_run_one(pool));
    CHECK_EQ(one.runs, 1000);
    CHECK(!wsq_task_done(&one.task));
    one.answer = WSQ_DONE;
    CHECK_EQ(pump(pool), 1);
    CHECK(wsq_task_done(&one.task));
    pool_end(pool);
}

/* What WSQ_DONE finished may be spawned again. */
static void again(void) {
    wsq_pool *pool = pool_of_caller(), *other = pool_of_caller();
    puppet one;
    puppet_new(&one, pool, WSQ_DONE, NULL);
    for (unsigned i = 1; i <= 10; i++) {
        wsq_pool *at = i % 2 ? pool : other;
        CHECK_EQ(wsq_spawn(at, &one.task), WSQ_OK);
        CHECK(!wsq_task_done(&one.task));
        CHECK_EQ(pump(at), 1);
        CHECK_EQ(one.runs, i);
        CHECK(wsq_task_done(&one.task));
    }
    pool_end(pool);
    pool_end(other);
}

static void wake_itself(puppet *self) {
    wsq_wake(&self->task);
    wsq_wake(&self->task);
    if (self->runs == 3) self->answer = WSQ_DONE;
}

static void wake_once(puppet *self) {
    if (self->runs == 1) wsq_wake(&self->task);
}

static void wake_in_every_state(void) {
    wsq_pool *pool = pool_of_caller();
    puppet one;
    puppet_new(&one, pool, WSQ_PENDING, NULL);
    wsq_wake(&one.task); /* not spawned: nothing, now or later */
    CHECK_EQ(pump(pool), 0);
    CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_OK);
    CHECK_EQ(pump(pool), 1);

    wsq_wake(&one.task); /* asleep: one run, however often */
    wsq_wake(&one.task);
    wsq_wake(&one.task);
    CHECK_EQ(pump(pool), 1);
    CHECK_EQ(pump(pool), 0);
    one.answer = WSQ_DONE;
    wsq_wake(&one.task);
    CHECK_EQ(pump(pool), 1);

    wsq_wake(&one.task); /* done: nothing */
    CHECK_EQ(pump(pool), 0);
    CHECK(wsq_task_done(&one.task));
    CHECK_EQ(one.runs, 3);

    puppet_new(&one, pool, WSQ_PENDING, wake_itself); /* running: it runs again, and a last time */
    CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_OK);
    CHECK_EQ(pump(pool), 3);
    CHECK(wsq_task_done(&one.task));

    puppet_new(&one, pool, WSQ_PENDING, wake_once);
    CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_OK);
    CHECK_EQ(pump(pool), 2);
    CHECK(!wsq_task_done(&one.task));
    one.answer = WSQ_DONE;
    wsq_wake(&one.task);
    CHECK_EQ(pump(pool), 1);
    pool_end(pool);
}

/* A wake of a task that is queued: a run follows it in any case; more than one is allowed to. */
static void wake_while_queued(void) {
    wsq_pool *pool = pool_of_caller();
    puppet one;
    puppet_new(&one, pool, WSQ_PENDING, NULL);
    CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_OK);
    wsq_wake(&one.task);
    wsq_wake(&one.task);
    CHECK_EQ(pump(pool), 1);
    CHECK_EQ(one.runs, 1); /* the wakes came before it ran */
    CHECK(!wsq_task_done(&one.task));
    one.answer = WSQ_DONE;
    wsq_wake(&one.task);
    CHECK_EQ(pump(pool), 1);
    pool_end(pool);
}

/* ---- WSQ_GONE: the function freed the task, and nobody touches it again ---- */

static atomic_ulong gone_runs;

static wsq_poll gone_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    memset((void *)task, 0xee, sizeof *task);
    free(task);
    atomic_fetch_add(&gone_runs, 1);
    return WSQ_GONE;
}

static void gone(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 2});
    size_t count = test_times(50000);
    atomic_store(&gone_runs, 0);
    for (size_t i = 0; i < count; i++) {
        wsq_task *task = malloc(sizeof *task);
        if (!task) abort();
        wsq_task_init(task, gone_run);
        if (wsq_spawn(pool, task) != WSQ_OK) FAIL("a spawn");
    }
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    CHECK_EQ(atomic_load(&gone_runs), count);
    CHECK_EQ(wsq_pool_pending(pool), 0);
    pool_end(pool);
}

/* ---- spawns that are refused change nothing ---- */

static void spawn_itself(puppet *self) {
    CHECK_EQ(wsq_spawn(self->pool, &self->task), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_task_wait(NULL), WSQ_ERR_INVALID);
}

static void double_spawn(void) {
    wsq_pool *pool = pool_of_caller(), *other = pool_of_caller();
    puppet one;
    puppet_new(&one, pool, WSQ_PENDING, spawn_itself);
    CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_OK);
    CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_ERR_INVALID);  /* queued */
    CHECK_EQ(wsq_spawn(other, &one.task), WSQ_ERR_INVALID); /* elsewhere */
    CHECK_EQ(pump(pool), 1);                                /* running: it tries itself */
    CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_ERR_INVALID);  /* waiting for a wake */
    CHECK_EQ(wsq_spawn(other, &one.task), WSQ_ERR_INVALID);
    CHECK_EQ(pump(pool), 0);
    CHECK_EQ(pump(other), 0);
    CHECK_EQ(wsq_pool_pending(pool), 1);
    CHECK_EQ(wsq_pool_pending(other), 0);
    one.answer = WSQ_DONE;
    wsq_wake(&one.task);
    CHECK_EQ(pump(pool), 1);
    CHECK_EQ(one.runs, 2);
    CHECK_EQ(wsq_pool_pending(pool), 0);
    pool_end(pool);
    pool_end(other);
}

/* All of a batch, or none. */
static void bad_batches(void) {
    wsq_pool *pool = pool_of_caller();
    puppet some[4];
    wsq_task bare;
    wsq_task_init(&bare, NULL);
    for (int i = 0; i < 4; i++) puppet_new(&some[i], pool, WSQ_DONE, NULL);
    wsq_task *twice[] = {&some[0].task, &some[1].task, &some[0].task};
    wsq_task *hole[] = {&some[0].task, &some[1].task, NULL};
    wsq_task *without_function[] = {&some[0].task, &bare};
    wsq_task *queued[] = {&some[0].task, &some[1].task, &some[3].task};
    CHECK_EQ(wsq_spawn(pool, &some[3].task), WSQ_OK);
    CHECK_EQ(wsq_spawn_batch(pool, twice, 3), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_spawn_batch(pool, hole, 3), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_spawn_batch(pool, without_function, 2), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_spawn_batch(pool, queued, 3), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_spawn_batch(pool, NULL, 3), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_spawn_batch(NULL, queued, 2), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_spawn_batch(pool, NULL, 0), WSQ_OK);
    CHECK_EQ(wsq_pool_pending(pool), 1);
    CHECK_EQ(wsq_spawn_batch(pool, queued, 2), WSQ_OK);
    CHECK_EQ(pump(pool), 3);
    CHECK_EQ(some[0].runs + some[1].runs + some[3].runs, 3);
    CHECK_EQ(wsq_spawn(NULL, &some[2].task), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_spawn(pool, NULL), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_spawn(pool, &bare), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_task_wait(&some[2].task), WSQ_ERR_INVALID); /* never spawned */
    CHECK_EQ(wsq_pool_pending(pool), 0);
    pool_end(pool);
}

/* A batch from a task, larger than the ring. */
enum { BATCH = 3 * WSQ_RING_CAPACITY };

static puppet batch[BATCH];

static void spawn_many(puppet *self) {
    static wsq_task *list[BATCH];
    for (size_t i = 0; i < BATCH; i++) {
        puppet_new(&batch[i], self->pool, WSQ_DONE, NULL);
        list[i] = &batch[i].task;
    }
    CHECK_EQ(wsq_spawn_batch(self->pool, list, BATCH), WSQ_OK);
}

static void batch_from_a_task(void) {
    unsigned sizes[] = {1, 4};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        wsq_pool *pool = pool_new((wsq_config){.workers = sizes[s]});
        for (size_t round = 0; round < test_times(200); round++) {
            bool once = true;
            puppet one;
            puppet_new(&one, pool, WSQ_DONE, spawn_many);
            CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_OK);
            CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
            for (size_t i = 0; i < BATCH; i++) once = once && batch[i].runs == 1;
            CHECK(once);
        }
        pool_end(pool);
    }
}

/* ---- eight threads spawn the same task: one wins ---- */

enum { THREADS = 8 };

typedef struct contest {
    wsq_pool *pool;
    wsq_task task;
    atomic_uint runs, wins, refusals, arrived;
    size_t rounds;
} contest;

static wsq_poll contest_run(wsq_ctx ctx, wsq_task *task) {
    contest *self = wsq_container_of(task, contest, task);
    (void)ctx;
    atomic_fetch_add(&self->runs, 1);
    return WSQ_PENDING; /* so that it is never free again for a late spawn */
}

/* Returns when all have called it, the count of them being `target` by then. */
static void meet(atomic_uint *arrived, unsigned target) {
    atomic_fetch_add(arrived, 1);
    while (atomic_load(arrived) < target) sched_yield();
}

static void compete(test_thread *self) {
    contest *shared = self->arg;
    for (unsigned i = 0; i < shared->rounds; i++) {
        unsigned base = i * 3 * THREADS;
        if (self->index == 0) wsq_task_init(&shared->task, contest_run);
        meet(&shared->arrived, base + THREADS);
        wsq_result result = wsq_spawn(shared->pool, &shared->task);
        if (result == WSQ_OK) atomic_fetch_add(&shared->wins, 1);
        if (result == WSQ_ERR_INVALID) atomic_fetch_add(&shared->refusals, 1);
        meet(&shared->arrived, base + 2 * THREADS);
        /* The task is asleep when its run has ended: state 0 says that nobody touches it any more. */
        while (self->index == 0 && wsqi_load_acq(&shared->task.state) != WSQI_TASK_PENDING) sched_yield();
        meet(&shared->arrived, base + 3 * THREADS);
    }
}

static void one_spawn_wins(void) {
    static contest shared;
    shared.rounds = test_times(3000);
    shared.pool = pool_new((wsq_config){.workers = 2});
    test_threads(THREADS, compete, &shared);
    CHECK_EQ(shared.wins, shared.rounds);
    CHECK_EQ(shared.refusals, shared.rounds * (THREADS - 1));
    CHECK_EQ(shared.runs, shared.rounds);
    CHECK_EQ(wsq_pool_pending(shared.pool), shared.rounds);
    wsq_pool_shutdown(shared.pool, WSQ_CANCEL);
    pool_end(shared.pool);
}

/* ---- wake storms ---- */

enum { SLEEPERS = 16 };

typedef struct sleeper {
    wsq_task task;
    atomic_uint inside;   /* workers in its function */
    atomic_ulong posted;  /* what wakers left for it */
    atomic_ulong seen;    /* how much of that it has seen, for the test to read */
    unsigned long plain;  /* runs: no two at once, and each sees the one before */
    unsigned long noted;  /* written by the waker of an only waker, plain */
    bool yields;
    atomic_bool stop;
} sleeper;

typedef struct storm {
    wsq_pool *pool;
    sleeper sleepers[SLEEPERS];
    size_t rounds;
} storm;

static storm tempest;
static atomic_ulong crowded;

static wsq_poll sleeper_run(wsq_ctx ctx, wsq_task *task) {
    sleeper *self = wsq_container_of(task, sleeper, task);
    if (atomic_fetch_add(&self->inside, 1) != 0) atomic_fetch_add(&crowded, 1);
    bool stop = atomic_load_explicit(&self->stop, memory_order_relaxed);
    unsigned long posted = atomic_load_explicit(&self->posted, memory_order_relaxed);
    unsigned long before = atomic_load_explicit(&self->seen, memory_order_relaxed);
    self->plain++;
    atomic_store_explicit(&self->seen, posted, memory_order_relaxed);
    if (posted % 7 == 0) sched_yield();
    /* Now and then it wakes another one from inside: the LIFO slot. */
    sleeper *other = &tempest.sleepers[(self->plain * 31) % SLEEPERS];
    if (posted % 3 == 0 && posted != before && other != self) wsq_wake(&other->task);
    (void)ctx;
    atomic_fetch_sub(&self->inside, 1);
    if (stop) return WSQ_DONE;
    return self->yields && self->plain % 2 ? WSQ_YIELD : WSQ_PENDING;
}

static void blow(test_thread *self) {
    storm *shared = self->arg;
    for (size_t i = 0; i < shared->rounds; i++) {
        sleeper *one = &shared->sleepers[test_below(&self->random, SLEEPERS)];
        atomic_fetch_add_explicit(&one->posted, 1, memory_order_relaxed);
        wsq_wake(&one->task);
        if (test_below(&self->random, 128) == 0) sched_yield();
    }
}

/* Every wake was followed by a run that saw what had been posted before it: a lost one hangs here. */
static void calm(sleeper *one) {
    unsigned long posted = atomic_load(&one->posted);
    while (atomic_load(&one->seen) < posted) sched_yield();
}

static void storm_on(unsigned workers, uint32_t lifo_cap, wsq_order order) {
    wsq_stats stats;
    memset((void *)&tempest, 0, sizeof tempest);
    tempest.pool = pool_new((wsq_config){.workers = workers, .lifo_cap = lifo_cap, .order = order});
    tempest.rounds = test_times(20000);
    for (int i = 0; i < SLEEPERS; i++) {
        tempest.sleepers[i].yields = i % 4 == 0;
        wsq_task_init(&tempest.sleepers[i].task, sleeper_run);
        CHECK_EQ(wsq_spawn(tempest.pool, &tempest.sleepers[i].task), WSQ_OK);
    }
    for (int round = 0; round < 3; round++) {
        test_threads(THREADS, blow, &tempest);
        for (int i = 0; i < SLEEPERS; i++) calm(&tempest.sleepers[i]);
    }
    CHECK_EQ(wsq_pool_pending(tempest.pool), SLEEPERS);
    for (int i = 0; i < SLEEPERS; i++) {
        atomic_store_explicit(&tempest.sleepers[i].stop, true, memory_order_relaxed);
        wsq_wake(&tempest.sleepers[i].task);
    }
    CHECK_EQ(wsq_pool_wait(tempest.pool), WSQ_OK);
    CHECK_EQ(atomic_load(&crowded), 0);
    wsq_pool_stats(tempest.pool, &stats);
    unsigned long runs = 0;
    for (int i = 0; i < SLEEPERS; i++) runs += tempest.sleepers[i].plain;
    CHECK_EQ(stats.run, runs);
    CHECK_EQ(stats.finished, SLEEPERS);
    pool_end(tempest.pool);
}

static void wake_storm(void) { storm_on(2, 0, WSQ_FIFO); }
static void wake_storm_on_one_worker(void) { storm_on(1, 0, WSQ_FIFO); }
static void wake_storm_on_many_workers(void) { storm_on(8, 0, WSQ_FIFO); }
static void wake_storm_without_slots(void) { storm_on(3, WSQ_LIFO_OFF, WSQ_FIFO); }
static void wake_storm_last_in_first_out(void) { storm_on(3, 0, WSQ_LIFO); }

/* ---- a wake at the very moment at which the task returns: no other comes to the rescue ---- */

static wsq_poll echo_run(wsq_ctx ctx, wsq_task *task) {
    sleeper *self = wsq_container_of(task, sleeper, task);
    (void)ctx;
    bool stop = atomic_load_explicit(&self->stop, memory_order_relaxed);
    unsigned long posted = atomic_load_explicit(&self->posted, memory_order_relaxed);
    atomic_store_explicit(&self->seen, posted, memory_order_relaxed);
    test_spin((uint32_t)(posted * 31 % 256)); /* about as long as the answer takes */
    return stop ? WSQ_DONE : WSQ_PENDING;
}

static void echo(test_thread *self) {
    sleeper *one = &tempest.sleepers[self->index];
    for (unsigned long i = 1; i <= tempest.rounds; i++) {
        atomic_store_explicit(&one->posted, i, memory_order_relaxed);
        wsq_wake(&one->task);
        for (uint32_t spins = 0; atomic_load_explicit(&one->seen, memory_order_relaxed) != i; spins++)
            if (spins > 1000) sched_yield();
    }
    atomic_store_explicit(&one->stop, true, memory_order_relaxed);
    wsq_wake(&one->task);
    CHECK_EQ(wsq_task_wait(&one->task), WSQ_OK);
}

static void wake_while_it_returns(void) {
    for (unsigned threads = 1; threads <= 2; threads++) {
        memset((void *)&tempest, 0, sizeof tempest);
        tempest.pool = pool_new((wsq_config){.workers = threads});
        tempest.rounds = test_times(100000 / threads);
        for (unsigned i = 0; i < threads; i++) {
            wsq_task_init(&tempest.sleepers[i].task, echo_run);
            CHECK_EQ(wsq_spawn(tempest.pool, &tempest.sleepers[i].task), WSQ_OK);
        }
        test_threads(threads, echo, NULL);
        pool_end(tempest.pool);
    }
}

/* ---- what the waker wrote before, plainly, the run after the wake sees ---- */

static wsq_poll listener_run(wsq_ctx ctx, wsq_task *task) {
    sleeper *self = wsq_container_of(task, sleeper, task);
    (void)ctx;
    unsigned long posted = atomic_load_explicit(&self->posted, memory_order_relaxed);
    if (posted == 0) return WSQ_PENDING;
    if (self->noted != posted) FAIL("the run sees what the waker wrote");
    self->plain = posted;
    return WSQ_DONE;
}

/* The writer's plain words travel with the wake alone, and back with the task's end. */
static void wakes_carry_data(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 2});
    static sleeper one;
    for (unsigned long i = 1; i <= test_times(20000); i++) {
        atomic_store_explicit(&one.posted, 0, memory_order_relaxed);
        wsq_task_init(&one.task, listener_run);
        if (wsq_spawn(pool, &one.task) != WSQ_OK) FAIL("a spawn");
        while (i % 2 && wsqi_load_rlx(&one.task.state) != WSQI_TASK_PENDING) sched_yield(); /* asleep */
        one.noted = i;
        atomic_store_explicit(&one.posted, i, memory_order_release);
        wsq_wake(&one.task);
        if (wsq_task_wait(&one.task) != WSQ_OK) FAIL("a wait");
        if (one.plain != i) FAIL("the waiter sees what the task wrote");
    }
    pool_end(pool);
    CHECK(true);
}

/* ---- waits ---- */

typedef struct vigil {
    wsq_pool *pool;
    puppet one;
    atomic_uint ready;
    atomic_ulong refused;
} vigil;

static void keep_vigil(test_thread *self) {
    vigil *shared = self->arg;
    atomic_fetch_add(&shared->ready, 1);
    if (self->index == 0) {
        while (atomic_load(&shared->ready) < THREADS) sched_yield();
        test_spin(test_below(&self->random, 20000));
        shared->one.answer = WSQ_DONE;
        wsq_wake(&shared->one.task);
    }
    if (wsq_task_wait(&shared->one.task) != WSQ_OK) atomic_fetch_add(&shared->refused, 1);
    if (!wsq_task_done(&shared->one.task)) atomic_fetch_add(&shared->refused, 1);
}

static void wait_from_several_threads(void) {
    static vigil shared;
    shared.pool = pool_new((wsq_config){.workers = 2});
    for (size_t round = 0; round < test_times(500); round++) {
        atomic_store(&shared.ready, 0);
        puppet_new(&shared.one, shared.pool, WSQ_PENDING, NULL);
        CHECK_EQ(wsq_spawn(shared.pool, &shared.one.task), WSQ_OK);
        /* Asleep first, or the answer would change while it runs. */
        while (wsqi_load_acq(&shared.one.task.state) != WSQI_TASK_PENDING) sched_yield();
        test_threads(THREADS, keep_vigil, &shared);
        CHECK_EQ(atomic_load(&shared.refused), 0);
    }
    pool_end(shared.pool);
}

/* A task waits for another that it has woken: it is in the worker's own slot, so it runs at once, even
 * where there is no other worker. */
static puppet awaited;

static void wake_and_wait(puppet *self) {
    (void)self;
    awaited.answer = WSQ_DONE;
    wsq_wake(&awaited.task);
    CHECK_EQ(wsq_task_wait(&awaited.task), WSQ_OK);
    CHECK(wsq_task_done(&awaited.task));
}

static void wait_on_a_worker(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 1});
    for (int i = 0; i < 100; i++) {
        puppet one;
        puppet_new(&awaited, pool, WSQ_PENDING, NULL);
        puppet_new(&one, pool, WSQ_DONE, wake_and_wait);
        CHECK_EQ(wsq_spawn(pool, &awaited.task), WSQ_OK);
        while (wsqi_load_acq(&awaited.task.state) != WSQI_TASK_PENDING) sched_yield();
        CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_OK);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    }
    pool_end(pool);
}

/* With a second worker a task may wait for one that it has only spawned. */
static void spawn_and_wait(puppet *self) {
    puppet_new(&awaited, self->pool, WSQ_DONE, NULL);
    CHECK_EQ(wsq_spawn(self->pool, &awaited.task), WSQ_OK);
    CHECK_EQ(wsq_task_wait(&awaited.task), WSQ_OK);
    CHECK(wsq_task_done(&awaited.task));
}

static void wait_for_a_child(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 2});
    for (size_t i = 0; i < test_times(3000); i++) {
        puppet one;
        puppet_new(&one, pool, WSQ_DONE, spawn_and_wait);
        CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_OK);
        CHECK_EQ(wsq_task_wait(&one.task), WSQ_OK);
    }
    pool_end(pool);
}

int main(void) {
    test_begin("test_task");
    RUN(results);
    RUN(again);
    RUN(wake_in_every_state);
    RUN(wake_while_queued);
    RUN(gone);
    RUN(double_spawn);
    RUN(bad_batches);
    RUN(batch_from_a_task);
    RUN(one_spawn_wins);
    RUN(wake_storm);
    RUN(wake_storm_on_one_worker);
    RUN(wake_storm_on_many_workers);
    RUN(wake_storm_without_slots);
    RUN(wake_storm_last_in_first_out);
    RUN(wake_while_it_returns);
    RUN(wakes_carry_data);
    RUN(wait_from_several_threads);
    RUN(wait_on_a_worker);
    RUN(wait_for_a_child);
    return test_end();
}
