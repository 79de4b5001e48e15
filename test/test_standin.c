/* Stand-ins: every worker may block, and the pool still works. They come when needed, are never more than
 * was said, leave again, and a thread that does not start is no disaster. */
#include "test.h"

static int fault_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*fn)(void *), void *arg);
#define pthread_create fault_create
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#undef pthread_create

#include "pool.h"
#include "compose.h"

enum { THREADS = 4, EVER = 1 << 30 };

static atomic_int threads_left = EVER, threads_started;

static int fault_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*fn)(void *), void *arg) {
    if (atomic_load(&threads_left) != EVER && atomic_fetch_sub(&threads_left, 1) <= 0) return EAGAIN;
    atomic_fetch_add(&threads_started, 1);
    return pthread_create(thread, attributes, fn, arg);
}

static void spawn(wsq_pool *pool, step *task) {
    if (wsq_spawn(pool, &task->task) != WSQ_OK) FAIL("a spawn");
}

/* ---- every worker waits for a task that only another worker can run ---- */

enum { MOST = 200 };

static step waiters[MOST], openers[MOST];
static atomic_uint inside;

static wsq_poll wait_for_arg(wsq_ctx ctx, step *self) {
    step *other = self->arg;
    (void)ctx;
    atomic_fetch_add(&inside, 1);
    CHECK_EQ(wsq_task_wait(&other->task), WSQ_OK);
    return WSQ_DONE;
}

static wsq_poll pend_once(wsq_ctx ctx, step *self) {
    (void)ctx;
    return self->runs == 1 ? WSQ_PENDING : WSQ_DONE;
}

/* As many waits as workers; then one more task, which wakes what they all wait for. */
static wsq_poll wake_arg(wsq_ctx ctx, step *self) {
    step *other = self->arg;
    (void)ctx;
    wsq_wake(&other->task);
    return WSQ_DONE;
}

static void all_blocked_on(wsq_config config) {
    wsq_pool *pool = pool_new(config);
    unsigned workers = config.workers;
    for (size_t round = 0; round < 1 + test_times(workers > 8 ? 3 : 50); round++) {
        step key, opener;
        step_new(&key, pend_once, NULL);
        step_new(&opener, wake_arg, &key);
        spawn(pool, &key);
        step_asleep(&key);
        atomic_store(&inside, 0);
        for (unsigned i = 0; i < workers; i++) {
            step_new(&waiters[i], wait_for_arg, &key);
            spawn(pool, &waiters[i]);
        }
        while (atomic_load(&inside) < workers) sched_yield();
        spawn(pool, &opener);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        CHECK_EQ(key.runs, 2);
        for (unsigned i = 0; i < workers; i++) CHECK_EQ(waiters[i].runs, 1);
    }
    CHECK(wsqi_threads_made(pool) <= pool->workers + pool->config.max_standins);
    pool_close(pool);
}

static void all_blocked(void) {
    all_blocked_on((wsq_config){.workers = 1});
    all_blocked_on((wsq_config){.workers = 2});
    all_blocked_on((wsq_config){.workers = 8});
    all_blocked_on((wsq_config){.workers = 3, .order = WSQ_LIFO});
    all_blocked_on((wsq_config){.workers = 1, .max_standins = WSQ_STANDINS_OFF});
    all_blocked_on((wsq_config){.workers = 3, .max_standins = WSQ_STANDINS_OFF});
    all_blocked_on((wsq_config){.workers = 4, .max_standins = 1});
}

static void two_hundred_blocked(void) { all_blocked_on((wsq_config){.workers = 200}); }

/* ---- waits in waits: a chain of tasks, each waits for the next, the last one for a key ---- */

/* With fewer stand-ins than waits (`first` is true then) a waiting task must come before what it waits for:
 * otherwise that could lie beneath it, on the same stack. */
static void nested_on(wsq_config config, unsigned depth, bool first) {
    wsq_pool *pool = pool_new(config);
    for (size_t round = 0; round < 1 + test_times(20); round++) {
        step key, opener;
        gate doors[8];
        step_new(&key, pend_once, NULL);
        step_new(&opener, wake_arg, &key);
        spawn(pool, &key);
        step_asleep(&key);
        for (unsigned i = 0; i < depth; i++) {
            step_new(&waiters[i], wait_for_arg, i == 0 ? &key : &waiters[i - 1]);
            waiters[i].number = i;
        }
        gates_close(doors, pool); /* so that nobody waits for a task that is not spawned */
        for (unsigned i = 0; i < depth; i++) spawn(pool, &waiters[first ? depth - 1 - i : i]);
        gates_open(doors, pool);
        spawn(pool, &opener);
        CHECK_EQ(wsq_task_wait(&waiters[depth - 1].task), WSQ_OK);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        for (unsigned i = 0; i < depth; i++) CHECK_EQ(waiters[i].runs, 1);
    }
    CHECK(wsqi_threads_made(pool) <= pool->workers + pool->config.max_standins);
    pool_close(pool);
}

static void nested_waits(void) {
    nested_on((wsq_config){.workers = 1}, 8, false);
    nested_on((wsq_config){.workers = 2}, 9, true);
    nested_on((wsq_config){.workers = 8, .max_standins = 100}, 100, false);
    nested_on((wsq_config){.workers = 1, .max_standins = 1}, 40, true);
    nested_on((wsq_config){.workers = 1, .max_standins = WSQ_STANDINS_OFF}, 40, true);
}

/* ---- code that blocks ---- */

typedef struct lock {
    atomic_bool open;
    atomic_uint blocked;
} lock;

static wsq_poll block_until_open(wsq_ctx ctx, step *self) {
    lock *door = self->arg;
    wsq_block_begin(ctx);
    wsq_block_begin(ctx); /* nested: nothing more */
    atomic_fetch_add(&door->blocked, 1);
    while (!atomic_load(&door->open)) test_nap(20000);
    wsq_block_end(ctx);
    wsq_block_end(ctx);
    return WSQ_DONE;
}

static wsq_poll open_lock(wsq_ctx ctx, step *self) {
    lock *door = self->arg;
    (void)ctx;
    atomic_store(&door->open, true);
    return WSQ_DONE;
}

/* All workers block in a call that only another task ends. */
static void blocks_on(unsigned workers, size_t rounds) {
    wsq_pool *pool = pool_new((wsq_config){.workers = workers});
    for (size_t round = 0; round < rounds; round++) {
        lock door = {false, 0};
        step opener;
        for (unsigned i = 0; i < workers; i++) {
            step_new(&waiters[i], block_until_open, &door);
            spawn(pool, &waiters[i]);
        }
        while (atomic_load(&door.blocked) < workers) sched_yield();
        step_new(&opener, open_lock, &door);
        spawn(pool, &opener);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    }
    pool_close(pool);
}

static void blocking_calls(void) {
    blocks_on(1, 1 + test_times(30));
    blocks_on(2, 1 + test_times(30));
    blocks_on(8, 1 + test_times(5));
}

/* What is queued behind the one that blocks is done by others: its ring and its slot. */
static wsq_poll leave_work_and_block(wsq_ctx ctx, step *self) {
    lock *door = self->arg;
    for (int i = 0; i < 10; i++) spawn(wsq_pool_of(ctx), &openers[i]);
    wsq_wake(&openers[10].task);
    wsq_block_begin(ctx);
    while (!atomic_load(&door->open)) test_nap(20000);
    wsq_wake(&openers[11].task); /* into the slot, while it blocks */
    while (!wsq_task_done(&openers[11].task)) test_nap(20000);
    wsq_block_end(ctx);
    return WSQ_DONE;
}

static void work_left_behind(void) {
    for (unsigned workers = 1; workers <= 2; workers++) {
        wsq_pool *pool = pool_new((wsq_config){.workers = workers});
        for (size_t round = 0; round < 1 + test_times(20); round++) {
            lock door = {false, 0};
            step blocker, opener;
            step_new(&opener, open_lock, &door);
            for (int i = 0; i < 12; i++) step_new(&openers[i], i < 10 ? NULL : pend_once, NULL);
            for (int i = 10; i < 12; i++) spawn(pool, &openers[i]);
            for (int i = 10; i < 12; i++) step_asleep(&openers[i]);
            step_new(&blocker, leave_work_and_block, &door);
            spawn(pool, &blocker);
            for (int i = 0; i < 11; i++)
                while (!wsq_task_done(&openers[i].task)) sched_yield();
            spawn(pool, &opener);
            CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        }
        pool_close(pool);
    }
}

/* A wait between the two calls. */
static wsq_poll block_and_wait(wsq_ctx ctx, step *self) {
    step child;
    (void)self;
    step_new(&child, NULL, NULL);
    wsq_block_begin(ctx);
    spawn(wsq_pool_of(ctx), &child);
    CHECK_EQ(wsq_task_wait(&child.task), WSQ_OK);
    wsq_block_end(ctx);
    return WSQ_DONE;
}

static void waits_between(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 2});
    for (size_t round = 0; round < test_times(500); round++) {
        for (int i = 0; i < 4; i++) {
            step_new(&waiters[i], block_and_wait, NULL);
            spawn(pool, &waiters[i]);
        }
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    }
    pool_close(pool);
}

/* With nobody to stand in, and off the pool's workers, both do no harm. */
static void run_and_block(wsq_ctx ctx, void *arg) {
    wsq_block_begin(ctx);
    *(bool *)arg = true;
    wsq_block_end(ctx);
}

static void blocks_without_standins(void) {
    const wsq_config kinds[] = {{.workers = 1, .max_standins = WSQ_STANDINS_OFF},
                                {.workers = 1, .caller_runs = true}, {.workers = 2}};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        wsq_pool *pool = pool_new(kinds[k]);
        lock door = {true, 0};
        bool ran = false;
        step one;
        step_new(&one, block_until_open, &door);
        spawn(pool, &one);
        CHECK_EQ(wsq_task_wait(&one.task), WSQ_OK);
        CHECK_EQ(wsq_run(pool, run_and_block, &ran), WSQ_OK);
        CHECK(ran);
        if (kinds[k].workers == 1) CHECK_EQ(wsqi_threads_made(pool), 1);
        pool_close(pool);
    }
}

/* ---- they leave again ---- */

static wsq_poll long_chain(wsq_ctx ctx, step *self) {
    step child;
    lock door = {true, 0};
    (void)self;
    step_new(&child, block_until_open, &door);
    spawn(wsq_pool_of(ctx), &child);
    for (int i = 0; i < 3 && !wsq_task_done(&child.task); i++) sched_yield(); /* stolen, mostly */
    CHECK_EQ(wsq_task_wait(&child.task), WSQ_OK);
    return WSQ_DONE;
}

static void come_and_go(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 2});
    for (size_t round = 0; round < test_times(1000); round++) {
        for (int i = 0; i < 6; i++) {
            step_new(&waiters[i], long_chain, NULL);
            spawn(pool, &waiters[i]);
        }
        if (round % 4 == 0) CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        else for (int i = 0; i < 6; i++) CHECK_EQ(wsq_task_wait(&waiters[i].task), WSQ_OK);
    }
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    CHECK(wsqi_threads_made(pool) <= pool->workers + pool->config.max_standins);
    pool_close(pool);
}

/* The bound: a third worker that blocks finds no stand-in. */
static void bound(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 3, .max_standins = 2});
    lock door = {false, 0};
    int before = atomic_load(&threads_started);
    step after;
    for (unsigned i = 0; i < 3; i++) {
        step_new(&waiters[i], block_until_open, &door);
        spawn(pool, &waiters[i]);
    }
    step_new(&after, NULL, NULL);
    while (atomic_load(&door.blocked) < 3) sched_yield();
    while (wsqi_free_permits(wsqi_load_acq(&pool->permits)) != 3) sched_yield();
    CHECK_EQ(pool_threads(pool), 5);
    CHECK_EQ(atomic_load(&threads_started), before + 2);
    spawn(pool, &after);
    CHECK_EQ(wsq_task_wait(&after.task), WSQ_OK);
    atomic_store(&door.open, true);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    pool_close(pool);
    pool = pool_new((wsq_config){.workers = 1, .max_standins = WSQ_STANDINS_OFF});
    CHECK_EQ(pool->config.max_standins, 0);
    pool_close(pool);
    wsq_config mad = {.workers = 1, .max_standins = UINT_MAX - 1};
    CHECK_EQ(wsq_pool_create(&pool, &mad), WSQ_ERR_INVALID);
}

/* ---- threads that do not start ---- */

/* The k-th stand-in gets no thread, nor do those after it; the waits end all the same, and later threads
 * start again. */
static void no_threads(void) {
    for (int k = 0; k < 4; k++) {
        wsq_pool *pool = pool_new((wsq_config){.workers = 2});
        for (int round = 0; round < 3; round++) {
            step key, opener;
            step_new(&key, pend_once, NULL);
            step_new(&opener, wake_arg, &key);
            spawn(pool, &key);
            step_asleep(&key);
            atomic_store(&inside, 0);
            atomic_store(&threads_left, round == 2 ? EVER : k);
            for (unsigned i = 0; i < 6; i++) {
                step_new(&waiters[i], wait_for_arg, &key);
                spawn(pool, &waiters[i]);
            }
            while (atomic_load(&inside) < 2) sched_yield();
            spawn(pool, &opener);
            CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
            for (unsigned i = 0; i < 6; i++) CHECK_EQ(waiters[i].runs, 1);
        }
        atomic_store(&threads_left, EVER);
        pool_close(pool);
    }
}

/* ---- time-outs ---- */

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static wsq_poll wait_shortly(wsq_ctx ctx, step *self) {
    step *other = self->arg;
    (void)ctx;
    for (uint64_t i = 0; i < 4; i++) {
        uint64_t start = now_ns();
        CHECK_EQ(wsq_task_wait_for(&other->task, i * 300000), WSQ_ERR_TIMEOUT);
        CHECK(now_ns() - start >= i * 300000);
    }
    return WSQ_DONE;
}

static void time_outs(void) {
    const wsq_config kinds[] = {{.workers = 1}, {.workers = 3}, {.workers = 2, .order = WSQ_LIFO},
                                {.workers = 1, .max_standins = WSQ_STANDINS_OFF},
                                {.workers = 2, .caller_runs = true}};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        wsq_pool *pool = pool_new(kinds[k]);
        for (size_t round = 0; round < 1 + test_times(10); round++) {
            step key, never;
            step_new(&never, NULL, NULL);
            CHECK_EQ(wsq_task_wait_for(&never.task, 0), WSQ_ERR_INVALID);
            CHECK_EQ(wsq_task_wait_for(NULL, 0), WSQ_ERR_INVALID);
            step_new(&key, pend_once, NULL);
            spawn(pool, &key);
            if (pool->config.caller_runs) CHECK_EQ(pump(pool), 1);
            step_asleep(&key);
            for (unsigned i = 0; i < 3; i++) {
                step_new(&waiters[i], wait_shortly, &key);
                spawn(pool, &waiters[i]);
            }
            wait_shortly(NULL, &waiters[0]); /* outside, too */
            for (unsigned i = 0; i < 3; i++) CHECK_EQ(wsq_task_wait(&waiters[i].task), WSQ_OK);
            wsq_wake(&key.task);
            CHECK_EQ(wsq_task_wait_for(&key.task, UINT64_MAX - 1), WSQ_OK);
            CHECK_EQ(wsq_task_wait_for(&key.task, 0), WSQ_OK);
        }
        pool_close(pool);
    }
}

/* The time is up at about the moment of the end. */
static wsq_poll wait_about(wsq_ctx ctx, step *self) {
    step *other = self->arg;
    (void)ctx;
    wsq_result result = wsq_task_wait_for(&other->task, 20000 + self->number * 20000);
    if (result != WSQ_OK && result != WSQ_ERR_TIMEOUT) FAIL("done or late");
    if (result == WSQ_OK && other->ended == 0) FAIL("done is done");
    return WSQ_DONE;
}

static void time_out_races(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 2});
    uint64_t random = test_seed;
    for (size_t round = 0; round < test_times(500); round++) {
        step key;
        step_new(&key, pend_once, NULL);
        spawn(pool, &key);
        step_asleep(&key);
        for (unsigned i = 0; i < 3; i++) {
            step_new(&waiters[i], wait_about, &key);
            waiters[i].number = i;
            spawn(pool, &waiters[i]);
        }
        test_spin(test_below(&random, 100000));
        wsq_wake(&key.task);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        CHECK_EQ(key.runs, 2);
    }
    pool_close(pool);
}

/* ---- shutdown while workers wait ---- */

static atomic_uint answers[2];

static wsq_poll wait_and_say(wsq_ctx ctx, step *self) {
    step *other = self->arg;
    (void)ctx;
    atomic_fetch_add(&inside, 1);
    wsq_result result = wsq_task_wait(&other->task);
    if (result == WSQ_OK) atomic_fetch_add(&answers[0], 1);
    else if (result == WSQ_ERR_CANCELLED) atomic_fetch_add(&answers[1], 1);
    else FAIL("done or cancelled");
    return WSQ_DONE;
}

static void *wake_later(void *arg) {
    step *key = arg;
    test_nap(1000000);
    wsq_wake(&key->task);
    return NULL;
}

static void shutdown_on(wsq_config config, wsq_shutdown mode) {
    wsq_pool *pool = pool_new(config);
    pthread_t thread;
    step key;
    unsigned count = config.workers;
    step_new(&key, pend_once, NULL);
    spawn(pool, &key);
    step_asleep(&key);
    atomic_store(&inside, 0);
    atomic_store(&answers[0], 0);
    atomic_store(&answers[1], 0);
    for (unsigned i = 0; i < count; i++) {
        step_new(&waiters[i], wait_and_say, &key);
        spawn(pool, &waiters[i]);
    }
    while (atomic_load(&inside) < count) sched_yield();
    if (mode == WSQ_DRAIN && pthread_create(&thread, NULL, wake_later, &key) != 0) abort();
    CHECK_EQ(wsq_pool_shutdown(pool, mode), WSQ_OK);
    if (mode == WSQ_DRAIN) pthread_join(thread, NULL);
    CHECK_EQ(atomic_load(&answers[mode == WSQ_CANCEL]), count);
    wsq_pool_destroy(pool);
}

static void shutdowns(void) {
    const unsigned sizes[] = {1, 2, 8};
    for (size_t s = 0; s < 3; s++) {
        for (size_t round = 0; round < 1 + test_times(5); round++) {
            for (int mode = 0; mode < 2; mode++) {
                shutdown_on((wsq_config){.workers = sizes[s]}, mode ? WSQ_CANCEL : WSQ_DRAIN);
                shutdown_on((wsq_config){.workers = sizes[s], .max_standins = WSQ_STANDINS_OFF},
                            mode ? WSQ_CANCEL : WSQ_DRAIN);
                shutdown_on((wsq_config){.workers = sizes[s], .order = WSQ_LIFO},
                            mode ? WSQ_CANCEL : WSQ_DRAIN);
            }
        }
    }
}

/* What the workers wait for is held back by a task that nobody wakes any more, or by one of their own. */
static void shutdown_in_front_of_held_tasks(void) {
    for (int k = 0; k < 4; k++) {
        wsq_pool *pool = pool_new((wsq_config){.workers = 1 + (unsigned)k % 2,
                                               .max_standins = k < 2 ? 0 : WSQ_STANDINS_OFF});
        step key, held[2];
        wsq_edge edges[2];
        step_new(&key, pend_once, NULL);
        for (int i = 0; i < 2; i++) step_new(&held[i], NULL, NULL);
        step_new(&waiters[0], wait_and_say, &held[0]);
        step_new(&waiters[1], wait_and_say, &held[1]);
        CHECK_EQ(wsq_task_after(&held[0].task, &key.task, &edges[0]), WSQ_OK);
        CHECK_EQ(wsq_task_after(&held[1].task, &waiters[1].task, &edges[1]), WSQ_OK); /* a circle */
        spawn(pool, &key);
        step_asleep(&key);
        atomic_store(&inside, 0);
        atomic_store(&answers[1], 0);
        for (int i = 0; i < 2; i++) spawn(pool, &held[i]);
        for (int i = 0; i < 2; i++) spawn(pool, &waiters[i]);
        while (atomic_load(&inside) < 2) sched_yield();
        if (k % 2) test_nap(1000000);
        CHECK_EQ(wsq_pool_shutdown(pool, WSQ_CANCEL), WSQ_OK);
        CHECK_EQ(atomic_load(&answers[1]), 2);
        CHECK_EQ(held[0].runs + held[1].runs, 0);
        wsq_pool_destroy(pool);
    }
}

int main(void) {
    test_begin("test_standin");
    RUN(all_blocked);
    RUN(two_hundred_blocked);
    RUN(nested_waits);
    RUN(blocking_calls);
    RUN(work_left_behind);
    RUN(waits_between);
    RUN(blocks_without_standins);
    RUN(come_and_go);
    RUN(bound);
    RUN(no_threads);
    RUN(time_outs);
    RUN(time_out_races);
    RUN(shutdowns);
    RUN(shutdown_in_front_of_held_tasks);
    return test_end();
}
