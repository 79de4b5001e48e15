/* Futures: results from everywhere to everywhere, nested as deep as one likes on one worker; none leaks,
 * none costs memory in the long run, and a cancelled one says so. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "test.h"
#include "pool.h"
#include "compose.h"

enum { THREADS = 8 };

static wsq_pool *current; /* a future's function is given no context */
static atomic_ulong called;

static void *number(uintptr_t n) { return (void *)n; }

static void *increment(void *arg) {
    atomic_fetch_add_explicit(&called, 1, memory_order_relaxed);
    return number((uintptr_t)arg + 1);
}

static wsq_future *submit(wsq_pool *pool, void *(*fn)(void *arg), uintptr_t arg) {
    wsq_future *future = NULL;
    if (!CHECK_EQ(wsq_submit(pool, fn, number(arg), &future), WSQ_OK)) exit(test_end());
    return future;
}

static uintptr_t get(wsq_future *future) {
    void *result = number(UINTPTR_MAX);
    if (wsq_future_get(future, &result) != WSQ_OK) FAIL("a get");
    return (uintptr_t)result;
}

/* ---- every kind of pool ---- */

static const wsq_config kinds[] = {
    {.workers = 1},
    {.workers = 2},
    {.workers = 8},
    {.workers = 1, .order = WSQ_LIFO},
    {.workers = 3, .order = WSQ_LIFO},
    {.workers = 2, .max_standins = WSQ_STANDINS_OFF},
    {.workers = 2, .lifo_cap = WSQ_LIFO_OFF},
    {.workers = 1, .caller_runs = true},
    {.workers = 3, .caller_runs = true},
    {.workers = 2, .caller_runs = true, .order = WSQ_LIFO},
};

static void on_every_kind(void (*test)(wsq_pool *pool)) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        current = pool_new(kinds[i]);
        test(current);
        pool_close(current);
    }
}

static void go_increment(void *arg) { (void)increment(arg); }

/* Read in order, backwards, at random, and not at all. */
static void results_of(wsq_pool *pool) {
    enum { COUNT = 300 };
    static wsq_future *futures[COUNT];
    atomic_store(&called, 0);
    for (int order = 0; order < 4; order++) {
        for (unsigned i = 0; i < COUNT; i++) futures[i] = submit(pool, increment, 7 * i);
        for (unsigned i = 0; i < COUNT; i++) {
            unsigned at = order == 1 ? COUNT - 1 - i : order == 2 ? i * 7 % COUNT : i;
            if (order == 3) wsq_future_drop(futures[at]);
            else if (get(futures[at]) != 7 * at + 1) FAIL("a result");
        }
    }
    CHECK_EQ(wsq_future_get(submit(pool, increment, 1), NULL), WSQ_OK);
    for (int i = 0; i < COUNT; i++) CHECK_EQ(wsq_go(pool, go_increment, NULL), WSQ_OK);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    CHECK_EQ(atomic_load(&called), 5 * COUNT + 1);
}

static void results(void) { on_every_kind(results_of); }

static void *fib(void *arg) {
    uintptr_t n = (uintptr_t)arg;
    if (n < 2) return arg;
    wsq_future *left = submit(current, fib, n - 1), *right = submit(current, fib, n - 2);
    uintptr_t first = get(n % 2 ? left : right);
    return number(first + get(n % 2 ? right : left));
}

static void fib_of(wsq_pool *pool) { CHECK_EQ(get(submit(pool, fib, 14)), 377); }

static void nested(void) { on_every_kind(fib_of); }

/* A chain of gets, each in the frame of the one before. */
static void *deep(void *arg) {
    uintptr_t n = (uintptr_t)arg;
    return n == 0 ? number(0) : number(1 + get(submit(current, deep, n - 1)));
}

static void deep_of(wsq_pool *pool) { CHECK_EQ(get(submit(pool, deep, 200)), 200); }

static void chains_of_gets(void) { on_every_kind(deep_of); }

/* ---- threads outside ---- */

static atomic_ulong wrong;

static void submitter(test_thread *self) {
    size_t times = test_times(3000);
    for (size_t i = 0; i < times; i++) {
        wsq_future *some[8];
        uintptr_t base = self->index * 1000000u + i;
        for (unsigned k = 0; k < 8; k++) some[k] = submit(current, increment, base + k);
        for (unsigned k = 0; k < 8; k++) {
            if (test_below(&self->random, 8) == 0) wsq_future_drop(some[k]);
            else if (get(some[k]) != base + k + 1) atomic_fetch_add(&wrong, 1);
        }
    }
}

static void eight_submitters(void) {
    const wsq_config some[] = {{.workers = 1}, {.workers = 8}, {.workers = 2, .order = WSQ_LIFO}};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        current = pool_new(some[i]);
        atomic_store(&called, 0);
        atomic_store(&wrong, 0);
        test_threads(THREADS, submitter, NULL);
        CHECK_EQ(wsq_pool_wait(current), WSQ_OK);
        CHECK_EQ(atomic_load(&wrong), 0);
        CHECK_EQ(atomic_load(&called), 8 * THREADS * test_times(3000));
        pool_close(current);
    }
}

static void fib_caller(test_thread *self) {
    (void)self;
    if (get(submit(current, fib, 12)) != 144) atomic_fetch_add(&wrong, 1);
}

static void nested_from_eight_threads(void) {
    const unsigned workers[] = {1, 2, 8};
    for (size_t i = 0; i < sizeof workers / sizeof *workers; i++) {
        current = pool_new((wsq_config){.workers = workers[i]});
        atomic_store(&wrong, 0);
        for (size_t round = 0; round < test_times(10); round++) test_threads(THREADS, fib_caller, NULL);
        CHECK_EQ(atomic_load(&wrong), 0);
        pool_close(current);
    }
}

/* A future goes from the worker that made it to a thread that frees it: all must find their way back. */
static atomic_uintptr_t handed;

static void *hand_over(void *arg) {
    for (uintptr_t i = 0; i < (uintptr_t)arg; i++) {
        wsq_future *future = submit(current, increment, i);
        while (atomic_load(&handed) != 0) sched_yield();
        atomic_store(&handed, (uintptr_t)future);
    }
    return NULL;
}

static void freed_elsewhere(void) {
    hoard memory;
    uintptr_t count = test_times(5000);
    hoard_new(&memory);
    current = pool_new((wsq_config){.workers = 2, .allocator = &memory.allocator});
    wsq_future *giver = submit(current, hand_over, count);
    for (uintptr_t i = 0; i < count; i++) {
        while (atomic_load(&handed) == 0) sched_yield();
        wsq_future *future = (wsq_future *)atomic_load(&handed);
        atomic_store(&handed, 0);
        if (get(future) != i + 1) FAIL("a result");
    }
    get(giver);
    /* The pool, a chunk for each list, the block of a thread outside that calls the function itself, and futures
     * whose entries are still queued after such a call. Without reuse there were many more. */
    CHECK(atomic_load(&memory.calls) <= 2 + 3 + wsqi_spares_made(current) + 2 * WSQ_RING_CAPACITY / WSQI_FUTURE_CHUNK);
    pool_close(current);
    CHECK_EQ(atomic_load(&memory.live), 0);
}

/* ---- futures that nobody reads ---- */

static atomic_bool started, finish;

static void *until_told(void *arg) {
    atomic_store(&started, true);
    while (!atomic_load(&finish)) sched_yield();
    return arg;
}

static void dropped(void) {
    hoard memory;
    gate door;
    hoard_new(&memory);
    current = pool_new((wsq_config){.workers = 1, .allocator = &memory.allocator});
    for (size_t round = 0; round < test_times(200); round++) {
        gate_close(&door, current, -1);
        atomic_store(&called, 0);
        for (int i = 0; i < 10; i++) wsq_future_drop(submit(current, increment, 0)); /* before */
        gate_open(&door);
        CHECK_EQ(wsq_pool_wait(current), WSQ_OK);
        CHECK_EQ(atomic_load(&called), 10);
        atomic_store(&started, false);
        atomic_store(&finish, false);
        wsq_future *during = submit(current, until_told, 0);
        while (!atomic_load(&started)) sched_yield();
        CHECK(!wsq_future_done(during));
        wsq_future_drop(during);
        atomic_store(&finish, true);
        wsq_future *after = submit(current, increment, 0);
        while (!wsq_future_done(after)) sched_yield();
        wsq_future_drop(after);
    }
    CHECK(atomic_load(&memory.calls) <= 3 + 2); /* the pool; a chunk for the worker, and for us */
    pool_close(current);
    CHECK_EQ(atomic_load(&memory.live), 0);
    wsq_future_drop(NULL);
}

/* ---- memory ---- */

static void *increment_many(void *arg) {
    for (uintptr_t i = 0; i < (uintptr_t)arg; i++) {
        wsq_future *one = submit(current, increment, i), *two = submit(current, increment, i);
        if (get(one) + get(two) != 2 * i + 2) FAIL("a result");
        if (wsq_go(current, go_increment, NULL) != WSQ_OK) FAIL("a go");
    }
    return NULL;
}

static void *get_many(void *arg) {
    for (uintptr_t i = 0; i < (uintptr_t)arg; i++) {
        wsq_future *one = submit(current, increment, i), *two = submit(current, increment, i);
        if (get(one) + get(two) != 2 * i + 2) FAIL("a result");
    }
    return NULL;
}

static void no_allocation_in_steady_state(void) {
    for (int lifo = 0; lifo < 2; lifo++) {
        hoard memory;
        hoard_new(&memory);
        current = pool_new((wsq_config){
            .workers = 1, .order = lifo ? WSQ_LIFO : WSQ_FIFO, .allocator = &memory.allocator});
        long warm = 0;
        for (size_t round = 0; round < 2 + test_times(50); round++) {
            wsq_future *some[64];
            for (unsigned i = 0; i < 64; i++) some[i] = submit(current, increment, i);
            for (unsigned i = 0; i < 64; i++)
                if (get(some[i]) != i + 1) FAIL("a result");
            get(submit(current, increment_many, 20)); /* more than 64 would be a warm-up of their own */
            CHECK_EQ(wsq_pool_wait(current), WSQ_OK);
            if (round == 1) warm = atomic_load(&memory.calls);
        }
        /* The blocks of a helper, of a task inside a wait, and of a stand-in may come later. */
        CHECK(atomic_load(&memory.calls) <= warm + 3);
        pool_close(current);
        CHECK_EQ(atomic_load(&memory.live), 0);
    }
}

/* A future that its waiter ran leaves its place in the queue behind; places must not pile up. */
static void stale_places_are_bounded(void) {
    const wsq_config some[] = {{.workers = 1}, {.workers = 1, .order = WSQ_LIFO}, {.workers = 2}};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        hoard memory;
        hoard_new(&memory);
        wsq_config config = some[i];
        config.allocator = &memory.allocator;
        current = pool_new(config);
        get(submit(current, get_many, test_times(20000)));
        CHECK_EQ(get(submit(current, fib, 17)), 1597); /* 5,167 futures */
        if (config.workers == 1) CHECK(atomic_load(&memory.calls) <= 2 + 5); /* of 64 futures */
        pool_close(current);
        CHECK_EQ(atomic_load(&memory.live), 0);
    }
}

static void *submit_until_full(void *arg) {
    enum { MOST = 1000 };
    wsq_future *some[MOST];
    wsq_result result = WSQ_OK;
    uintptr_t count = 0;
    (void)arg;
    while (count < MOST && (result = wsq_submit(current, increment, number(count), &some[count])) == WSQ_OK)
        count++;
    CHECK_EQ(result, WSQ_ERR_MEMORY);
    if (count % 2) CHECK_EQ(wsq_go(current, go_increment, NULL), WSQ_ERR_MEMORY);
    for (uintptr_t i = 0; i < count; i++)
        if (get(some[i]) != i + 1) FAIL("a result");
    return number(count);
}

/* The n-th allocation fails, and all that follow; then there is memory again. */
static void out_of_memory(void) {
    hoard memory;
    hoard_new(&memory);
    current = pool_new((wsq_config){.workers = 1, .allocator = &memory.allocator});
    wsq_future *held = NULL;
    atomic_store(&memory.left, 0);
    CHECK_EQ(wsq_submit(current, increment, NULL, &held), WSQ_ERR_MEMORY);
    CHECK_EQ(wsq_go(current, go_increment, NULL), WSQ_ERR_MEMORY);
    CHECK(held == NULL);
    for (long left = 1; left <= 3; left++) {
        atomic_store(&memory.left, left);
        uintptr_t count = (uintptr_t)submit_until_full(NULL), most = (uintptr_t)(left * (left + 1) / 2);
        CHECK(count >= 64 * (uintptr_t)left && count <= 64 * most); /* the worker may keep some */
    }
    atomic_store(&memory.left, LONG_MAX);
    held = submit(current, increment, 0);
    CHECK_EQ(get(held), 1);
    atomic_store(&memory.left, 2);
    uintptr_t all = 2 * 64; /* and what was freed elsewhere, but what threads outside keep */
    for (wsqi_chunk *chunk = current->depot.chunks; chunk != NULL; chunk = chunk->next) all += 64;
    uintptr_t got = (uintptr_t)get(submit(current, submit_until_full, 0));
    CHECK(got < all && got >= all - 64 - 2 * WSQI_FUTURE_BATCH); /* 64: this thread's wait may take a block, too */
    atomic_store(&memory.left, LONG_MAX);
    CHECK_EQ(get(submit(current, increment, 1)), 2);
    pool_close(current);
    CHECK_EQ(atomic_load(&memory.live), 0);
}

/* ---- cancelled ---- */

typedef struct crowd {
    wsq_future *futures[64];
    atomic_uint ok, cancelled, other;
} crowd;

static void count_outcome(crowd *self, wsq_result result) {
    atomic_fetch_add(result == WSQ_OK ? &self->ok : result == WSQ_ERR_CANCELLED ? &self->cancelled
                                                                                : &self->other, 1);
}

static gate barrier;

/* As fib, in a pool that may stop in between. */
static void *fib_if_open(void *arg) {
    uintptr_t n = (uintptr_t)arg;
    wsq_future *left;
    void *first = NULL;
    if (n < 2) return arg;
    if (wsq_submit(current, fib_if_open, number(n - 1), &left) != WSQ_OK) return NULL;
    void *second = fib_if_open(number(n - 2));
    wsq_result result = wsq_future_get(left, &first);
    if (result != WSQ_OK && result != WSQ_ERR_CANCELLED) FAIL("a result or none");
    return number((uintptr_t)first + (uintptr_t)second);
}

static void get_or_shut(test_thread *self) {
    crowd *all = self->arg;
    if (self->index == 0) {
        test_spin(test_below(&self->random, 100000));
        gate_open(&barrier);
        CHECK_EQ(wsq_pool_shutdown(current, WSQ_CANCEL), WSQ_OK);
    } else {
        for (unsigned i = self->index - 1; i < 64; i += THREADS - 1)
            count_outcome(all, wsq_future_get(all->futures[i], NULL));
    }
}

static void cancelled(void) {
    for (size_t round = 0; round < test_times(150); round++) {
        static crowd all;
        memset((void *)&all, 0, sizeof all);
        hoard memory;
        hoard_new(&memory);
        bool lifo = round % 3 == 2;
        current = pool_new((wsq_config){.workers = 1 + (unsigned)round % 3, .allocator = &memory.allocator,
                                        .order = lifo ? WSQ_LIFO : WSQ_FIFO});
        gate_close(&barrier, current, -1);
        atomic_store(&called, 0);
        for (unsigned i = 0; i < 64; i++) all.futures[i] = submit(current, increment, i);
        for (unsigned i = 0; i < 8; i++) wsq_future_drop(submit(current, fib_if_open, 8));
        for (unsigned i = 0; i < 8; i++) CHECK_EQ(wsq_go(current, go_increment, NULL), WSQ_OK);
        test_threads(THREADS, get_or_shut, &all);
        CHECK_EQ(all.ok + all.cancelled, 64);
        CHECK(atomic_load(&called) >= all.ok);
        CHECK_EQ(wsq_pool_pending(current), 0);
        CHECK_EQ(futures_out(current), 0);
        pool_end(current);
        CHECK_EQ(atomic_load(&memory.live), 0);
    }
}

/* One worker that is held, so that nothing runs: everything is cancelled. */
static void all_cancelled(void) {
    crowd all;
    memset((void *)&all, 0, sizeof all);
    current = pool_new((wsq_config){.workers = 1, .caller_runs = true});
    for (unsigned i = 0; i < 64; i++) all.futures[i] = submit(current, increment, i);
    CHECK_EQ(wsq_pool_shutdown(current, WSQ_CANCEL), WSQ_OK);
    wsq_future *late = NULL;
    CHECK_EQ(wsq_submit(current, increment, NULL, &late), WSQ_ERR_CLOSED);
    CHECK_EQ(wsq_go(current, go_increment, NULL), WSQ_ERR_CLOSED);
    for (unsigned i = 0; i < 64; i++) {
        CHECK(wsq_future_done(all.futures[i]));
        count_outcome(&all, wsq_future_get(all.futures[i], NULL));
    }
    CHECK_EQ(all.cancelled, 64);
    CHECK_EQ(futures_out(current), 0);
    CHECK_EQ(wsq_pool_pending(current), 0);
    pool_end(current);
}

/* ---- then ---- */

typedef struct reader {
    step step;
    wsq_future *future;
    uintptr_t result;
} reader;

static wsq_poll read_future(wsq_ctx ctx, step *self) {
    reader *one = wsq_container_of(self, reader, step);
    (void)ctx;
    CHECK(wsq_future_done(one->future));
    one->result = get(one->future);
    return WSQ_DONE;
}

static void then_of(wsq_pool *pool) {
    reader one;
    for (size_t i = 0; i < test_times(2000); i++) {
        step_new(&one.step, read_future, NULL);
        one.future = submit(pool, increment, i);
        if (i % 3 == 1) test_spin((uint32_t)(i % 512));
        if (i % 3 == 2 && pool->config.caller_runs) pump(pool);
        wsq_future *same = one.future;
        if (wsq_future_then(same, &one.step.task) != WSQ_OK) FAIL("then");
        if (wsq_task_wait(&one.step.task) != WSQ_OK || one.result != i + 1) FAIL("the result, then");
        if (one.step.runs != 1) FAIL("once");
    }
    CHECK(true);
}

static void then(void) { on_every_kind(then_of); }

static void then_is_held_back(void) {
    reader one, two;
    gate door;
    current = pool_new((wsq_config){.workers = 2});
    gate_close(&door, current, 0);
    atomic_store(&started, false);
    atomic_store(&finish, false);
    one.future = submit(current, until_told, 5);
    while (!atomic_load(&started)) sched_yield();
    step_new(&one.step, read_future, NULL);
    step_new(&two.step, read_future, NULL);
    CHECK_EQ(wsq_future_then(one.future, &one.step.task), WSQ_OK);
    CHECK_EQ(wsq_future_then(one.future, &two.step.task), WSQ_ERR_INVALID); /* once */
    CHECK_EQ(wsq_future_then(one.future, NULL), WSQ_ERR_INVALID);
    gate_open(&door);
    while (wsq_pool_pending(current) > 2) sched_yield(); /* a worker is free now */
    test_nap(2000000);
    CHECK(!wsq_task_done(&one.step.task));
    CHECK_EQ(wsq_pool_pending(current), 2);
    atomic_store(&finish, true);
    CHECK_EQ(wsq_task_wait(&one.step.task), WSQ_OK);
    CHECK_EQ(one.result, 5);
    pool_close(current);
}

/* The worker that waits calls the function itself; a task follows. */
static wsq_poll get_what_is_followed(wsq_ctx ctx, step *self) {
    step *then = self->arg;
    wsq_future *future = submit(wsq_pool_of(ctx), increment, 1), *behind = NULL;
    if (self->number != 0) behind = submit(wsq_pool_of(ctx), increment, 2); /* two in the queue */
    if (wsq_future_then(future, &then->task) != WSQ_OK) FAIL("then");
    if (get(future) != 2) FAIL("the result");
    if (behind != NULL && get(behind) != 3) FAIL("the other");
    return WSQ_DONE;
}

static void then_after_a_call_here_of(wsq_pool *pool) {
    for (unsigned i = 0; i < 2; i++) {
        step then, one;
        step_new(&then, NULL, NULL);
        step_new(&one, get_what_is_followed, &then);
        one.number = i;
        if (wsq_spawn(pool, &one.task) != WSQ_OK) FAIL("spawn");
        CHECK_EQ(wsq_task_wait(&one.task), WSQ_OK);
        CHECK_EQ(wsq_task_wait_for(&then.task, 5000000000u), WSQ_OK);
        CHECK_EQ(then.runs, 1);
    }
}

static void then_after_a_call_here(void) { on_every_kind(then_after_a_call_here_of); }

static atomic_uint counted;

static void *count(void *arg) {
    atomic_fetch_add(&counted, 1);
    return arg;
}

/* What is cancelled and given back still has its place in the queue, and is not used again before that. */
static wsq_poll cancel_and_submit(wsq_ctx ctx, step *self) {
    wsq_pool *pool = wsq_pool_of(ctx);
    wsq_future *first = NULL, *second = NULL;
    (void)self;
    if (wsq_submit(pool, count, NULL, &first) != WSQ_OK) FAIL("the first");
    if (!wsq_future_cancel(first)) FAIL("the cancel");
    if (wsq_future_get(first, NULL) != WSQ_ERR_CANCELLED) FAIL("cancelled");
    if (wsq_submit(pool, count, NULL, &second) != WSQ_OK) FAIL("the second");
    wsq_future_drop(second);
    return WSQ_DONE;
}

/* With one worker, which is in that task: nobody starts the first meanwhile. */
static void place_of_a_cancelled_one(void) {
    for (int order = WSQ_FIFO; order <= WSQ_LIFO; order++) {
        wsq_pool *pool = pool_new((wsq_config){.workers = 1, .order = (wsq_order)order});
        step one;
        step_new(&one, cancel_and_submit, NULL);
        atomic_store(&counted, 0);
        if (wsq_spawn(pool, &one.task) != WSQ_OK) FAIL("spawn");
        CHECK_EQ(wsq_task_wait(&one.task), WSQ_OK);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        CHECK_EQ(atomic_load(&counted), 1);
        pool_close(pool);
    }
}

/* ---- two pools, misuse ---- */

static wsq_pool *other;

static void *ask_other(void *arg) {
    uintptr_t n = (uintptr_t)arg;
    return n == 0 ? number(0) : number(1 + get(submit(other, increment, n)));
}

static void into_another_pool(void) {
    const unsigned workers[] = {1, 2, 8};
    for (size_t k = 0; k < sizeof workers / sizeof *workers; k++) {
        current = pool_new((wsq_config){.workers = workers[k]});
        other = pool_new((wsq_config){.workers = workers[k]});
        wsq_future *some[50];
        for (unsigned i = 0; i < 50; i++) some[i] = submit(current, ask_other, 50 - i);
        for (unsigned i = 0; i < 50; i++) CHECK_EQ(get(some[i]), 52 - i);
        pool_close(current);
        pool_close(other);
    }
}

/* To and fro: each waits in the other pool for what waits in this one. */
static void *ping(void *arg);
static void *pong(void *arg) {
    return arg == NULL ? arg : number(1 + get(submit(current, ping, (uintptr_t)arg - 1)));
}
static void *ping(void *arg) {
    return arg == NULL ? arg : number(1 + get(submit(other, pong, (uintptr_t)arg - 1)));
}

static void to_and_fro(void) {
    current = pool_new((wsq_config){.workers = 1});
    other = pool_new((wsq_config){.workers = 1});
    CHECK_EQ(get(submit(current, ping, 6)), 6);
    pool_close(current);
    pool_close(other);
}

static void misuse(void) {
    wsq_future *future = NULL;
    current = pool_new((wsq_config){.workers = 1});
    CHECK_EQ(wsq_submit(NULL, increment, NULL, &future), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_submit(current, NULL, NULL, &future), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_submit(current, increment, NULL, NULL), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_go(NULL, go_increment, NULL), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_go(current, NULL, NULL), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_future_get(NULL, NULL), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_future_then(NULL, NULL), WSQ_ERR_INVALID);
    CHECK(future == NULL);
    CHECK_EQ(wsq_pool_shutdown(current, WSQ_DRAIN), WSQ_OK);
    CHECK_EQ(wsq_submit(current, increment, NULL, &future), WSQ_ERR_CLOSED);
    CHECK_EQ(futures_out(current), 0);
    pool_end(current);
}

/* A place in the queue whose future was called elsewhere is no call: neither counted nor told. */
enum { GOT = 10 };

static unsigned begun, ended;

static void count_calls(void *user, wsq_event event, unsigned worker, const void *subject,
                        uint64_t value) {
    (void)user, (void)worker, (void)subject, (void)value;
    if (event == WSQ_EVENT_TASK_BEGIN) begun++; /* on the worker; other events come from any thread */
    if (event == WSQ_EVENT_TASK_END) ended++;
}

static void *told_by_now(void *arg) {
    CHECK_EQ(begun, ended + 2); /* this one, above the task that waits for it */
    return arg;
}

static wsq_poll get_ten(wsq_ctx ctx, step *self) {
    wsq_future *futures[GOT];
    (void)self;
    for (uintptr_t i = 0; i < GOT; i++) futures[i] = submit(wsq_pool_of(ctx), told_by_now, i);
    for (uintptr_t i = 0; i < GOT; i++) CHECK_EQ(get(futures[i]), i);
    return WSQ_DONE;
}

static void calls_are_counted_once(void) {
    wsq_hooks hooks = {.event = count_calls};
    wsq_stats stats;
    step all;
    begun = ended = 0;
    current = pool_new((wsq_config){.workers = 1, .hooks = &hooks});
    step_new(&all, get_ten, NULL);
    CHECK_EQ(wsq_spawn(current, &all.task), WSQ_OK);
    CHECK_EQ(wsq_pool_wait(current), WSQ_OK);
    CHECK_EQ(wsq_pool_shutdown(current, WSQ_DRAIN), WSQ_OK);
    wsq_pool_stats(current, &stats);
    CHECK_EQ(stats.run, GOT + 1);
    CHECK_EQ(stats.finished, GOT + 1);
    CHECK_EQ(begun, GOT + 1);
    CHECK_EQ(ended, GOT + 1);
    pool_end(current);
}

/* ---- its own future ---- */

enum { OWN = 1000 };
static struct own { wsq_future *future; } own[OWN];
static atomic_ulong dropped_own;

/* No worker has seen the future yet, but its function may be called from here on. */
static void check_stored(void *user, wsq_event event, unsigned worker, const void *subject, uint64_t value) {
    (void)event, (void)worker, (void)subject, (void)value;
    CHECK(*(wsq_future **)user != NULL);
}

static void *drop_own(void *arg) {
    wsq_future_drop(((struct own *)arg)->future);
    atomic_fetch_add(&dropped_own, 1);
    return NULL;
}

static void own_future(void) {
    wsq_future *stored = NULL;
    wsq_hooks hooks = {.event = check_stored, .user = &stored, .events = 1u << WSQ_EVENT_SPAWN};
    wsq_pool *pool = pool_new((wsq_config){.workers = 2, .hooks = &hooks});
    CHECK_EQ(wsq_submit(pool, increment, NULL, &stored), WSQ_OK);
    wsq_future_drop(stored);
    pool_end(pool);
    pool = pool_new((wsq_config){.workers = 2});
    for (int i = 0; i < OWN; i++) CHECK_EQ(wsq_submit(pool, drop_own, &own[i], &own[i].future), WSQ_OK);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    CHECK_EQ(atomic_load(&dropped_own), OWN);
    CHECK_EQ(wsq_pool_shutdown(pool, WSQ_DRAIN), WSQ_OK);
    CHECK_EQ(wsq_submit(pool, drop_own, &own[0], &own[0].future), WSQ_ERR_CLOSED);
    CHECK(own[0].future != NULL); /* as it was */
    wsq_pool_destroy(pool);
}

int main(void) {
    test_begin("test_future");
    RUN(results);
    RUN(nested);
    RUN(chains_of_gets);
    RUN(eight_submitters);
    RUN(nested_from_eight_threads);
    RUN(freed_elsewhere);
    RUN(dropped);
    RUN(no_allocation_in_steady_state);
    RUN(stale_places_are_bounded);
    RUN(out_of_memory);
    RUN(cancelled);
    RUN(all_cancelled);
    RUN(then);
    RUN(then_is_held_back);
    RUN(then_after_a_call_here);
    RUN(place_of_a_cancelled_one);
    RUN(into_another_pool);
    RUN(to_and_fro);
    RUN(calls_are_counted_once);
    RUN(own_future);
    RUN(misuse);
    return test_end();
}
