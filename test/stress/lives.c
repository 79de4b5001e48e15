/* Whole lives of a pool in which the n-th allocation, or the n-th start of a thread, fails: once, or from
 * then on; for each n until a life has so many of neither. A life uses every part that takes memory or
 * threads: stand-ins, guests, futures, deques, lists, large partial results, a dump. Every call gives its
 * result or says what was missing; the results are right; nothing is left.
 *
 * With -DWSQ_FUZZ it is a target of libFuzzer (make fuzz), whose bytes say which attempts fail. */
#include "../test.h"

static void *life_malloc(size_t size);
static void life_free(void *memory);
int life_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*fn)(void *), void *arg);
int life_join(pthread_t thread, void **result);

#define pthread_create life_create
#define pthread_join life_join
#define WSQ_MALLOC(size) life_malloc(size)
#define WSQ_FREE(pointer) life_free(pointer)
#define WSQ_RING_CAPACITY 8 /* so that deques grow and rings overflow */
#define WSQ_GUESTS 3
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#undef pthread_create
#undef pthread_join

#include <errno.h>

enum { ATTEMPTS = 512, TASKS = 40, FUTURES = 70, LENGTH = 3000, WAITERS = 3 };

/* ---- what fails ---- */

typedef enum resource { MEMORY, THREAD, RESOURCES } resource;

static atomic_uint attempts[RESOURCES];       /* in this life */
static uint8_t fails[RESOURCES][ATTEMPTS];    /* 1: this attempt does */
static bool later[RESOURCES];                 /* all after these do */
static atomic_long live[RESOURCES];
static atomic_uint failed[RESOURCES];

static bool attempt_fails(resource what) {
    unsigned n = atomic_fetch_add(&attempts[what], 1);
    bool fail = n < ATTEMPTS ? fails[what][n] != 0 : later[what];
    atomic_fetch_add(&failed[what], fail);
    return fail;
}

static void *life_malloc(size_t size) {
    void *memory = attempt_fails(MEMORY) ? NULL : malloc(size);
    if (memory != NULL) memset(memory, 0x5a, size < 4096 ? size : 4096);
    atomic_fetch_add(&live[MEMORY], memory != NULL);
    return memory;
}

static void life_free(void *memory) {
    atomic_fetch_sub(&live[MEMORY], memory != NULL);
    free(memory);
}

int life_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*fn)(void *), void *arg) {
    if (attempt_fails(THREAD)) return EAGAIN;
    int error = pthread_create(thread, attributes, fn, arg);
    atomic_fetch_add(&live[THREAD], error == 0);
    return error;
}

int life_join(pthread_t thread, void **result) {
    atomic_fetch_sub(&live[THREAD], 1);
    return pthread_join(thread, result);
}

/* Either it worked, or what was missing is one of those that have failed in this life. */
static bool worked(wsq_result result) {
    CHECK(result == WSQ_OK || (result == WSQ_ERR_MEMORY && atomic_load(&failed[MEMORY]) != 0) ||
          (result == WSQ_ERR_THREAD && atomic_load(&failed[THREAD]) != 0));
    return result == WSQ_OK;
}

/* ---- a life ---- */

typedef struct life life;

typedef struct member {
    wsq_task task;
    life *all;
    atomic_uint runs;
} member;

struct life {
    wsq_pool *pool, *other;
    member tasks[TASKS], gate, waiters[WAITERS];
    wsq_timer timer;
    atomic_uint gone;
};

static wsq_poll member_run(wsq_ctx ctx, wsq_task *task) {
    member *self = wsq_container_of(task, member, task);
    (void)ctx;
    return atomic_fetch_add(&self->runs, 1) == 0 ? WSQ_YIELD : WSQ_DONE;
}

static wsq_poll gate_run(wsq_ctx ctx, wsq_task *task) {
    member *self = wsq_container_of(task, member, task);
    (void)ctx;
    if (atomic_fetch_add(&self->runs, 1) != 0) return WSQ_DONE;
    CHECK_EQ(wsq_timer_set(self->all->pool, &self->all->timer, task, 200000), WSQ_OK); /* without memory, too */
    return WSQ_PENDING;
}

/* A stand-in works meanwhile, or the worker itself, if there is no memory or thread for one. */
static wsq_poll waiter_run(wsq_ctx ctx, wsq_task *task) {
    member *self = wsq_container_of(task, member, task);
    (void)ctx;
    CHECK_EQ(wsq_task_wait(&self->all->gate.task), WSQ_OK);
    atomic_fetch_add(&self->runs, 1);
    return WSQ_DONE;
}

static void count_one(void *arg) { atomic_fetch_add((atomic_uint *)arg, 1); }
static void *same(void *arg) { return arg; }

static void sum_init(void *partial, void *arg) { (void)arg, *(uint64_t *)partial = 0; }
static void sum_body(wsq_ctx ctx, size_t begin, size_t end, void *partial, void *arg) {
    (void)ctx, (void)arg;
    for (size_t i = begin; i < end; i++) *(uint64_t *)partial += i;
}
static void sum_combine(void *left, const void *right, void *arg) {
    (void)arg;
    *(uint64_t *)left += *(const uint64_t *)right;
}

static void sum_run(wsq_ctx ctx, void *arg) {
    const wsq_reducer reducer = {.size = 256, .init = sum_init, .body = sum_body, .combine = sum_combine};
    wsqi_steal_request(wsqi_worker_of(ctx)); /* a thief wants work: it is cut */
    CHECK_EQ(wsq_reduce(ctx, 0, LENGTH, 50, &reducer, arg), WSQ_OK);
}

static void loops(wsq_pool *pool) {
    struct { uint64_t sum, rest[31]; } result;
    result.sum = 0;
    if (worked(wsq_run(pool, sum_run, &result))) CHECK_EQ(result.sum, (uint64_t)LENGTH * (LENGTH - 1) / 2);
}

static void *guest_main(void *pool) {
    loops(pool);
    return NULL;
}

static void futures(life *self) {
    wsq_future *some[FUTURES];
    unsigned count = 0, went = 0;
    while (count < FUTURES && worked(wsq_submit(self->pool, same, &some[count], &some[count]))) count++;
    for (unsigned i = 0; i < FUTURES; i++) went += worked(wsq_go(self->pool, count_one, &self->gone));
    for (unsigned i = 0; i < count; i++) {
        void *result = NULL;
        wsq_future *future = some[i];
        CHECK_EQ(wsq_future_get(future, &result), WSQ_OK);
        CHECK(result == &some[i]);
    }
    CHECK_EQ(wsq_pool_wait(self->pool), WSQ_OK);
    CHECK_EQ(atomic_load(&self->gone), went);
}

static void work(life *self) {
    wsq_task *batch[TASKS];
    for (unsigned i = 0; i < TASKS; i++) {
        wsq_task_init(&self->tasks[i].task, member_run);
        if (i % 7 == 3) wsq_task_set_priority(&self->tasks[i].task, WSQ_LOW);
        batch[i] = &self->tasks[i].task;
    }
    self->gate.all = self;
    wsq_task_init(&self->gate.task, gate_run);
    CHECK_EQ(wsq_spawn(self->pool, &self->gate.task), WSQ_OK);
    for (unsigned i = 0; i < WAITERS; i++) {
        self->waiters[i].all = self;
        wsq_task_init(&self->waiters[i].task, waiter_run);
        CHECK_EQ(wsq_spawn(self->pool, &self->waiters[i].task), WSQ_OK);
    }
    CHECK_EQ(wsq_spawn_batch(self->pool, batch, TASKS), WSQ_OK);
    for (unsigned i = 0; i < WAITERS; i++) CHECK_EQ(wsq_task_wait(&self->waiters[i].task), WSQ_OK);
    CHECK_EQ(wsq_pool_wait(self->pool), WSQ_OK);
    for (unsigned i = 0; i < TASKS; i++) CHECK_EQ(atomic_load(&self->tasks[i].runs), 2);
}

static void live_one(wsq_order order, bool with_list) {
    static FILE *nowhere;
    const wsq_config config = {.workers = 2, .max_standins = 2, .order = order, .list_tasks = with_list,
                               .stack_size = 256 * 1024, .seed = test_seed | 1};
    life *self = calloc(1, sizeof *self);
    pthread_t guests[2];
    if (nowhere == NULL) nowhere = fopen("/dev/null", "w");
    for (int i = 0; i < RESOURCES; i++) atomic_store(&attempts[i], 0), atomic_store(&failed[i], 0);
    if (self != NULL && worked(wsq_pool_create(&self->pool, &config))) {
        bool two = worked(wsq_pool_create(&self->other, &config));
        work(self);
        futures(self);
        for (int i = 0; i < 2; i++) CHECK_EQ(pthread_create(&guests[i], NULL, guest_main, self->pool), 0);
        loops(self->pool);
        if (nowhere != NULL) wsq_pool_dump(self->pool, nowhere);
        for (int i = 0; i < 2; i++) pthread_join(guests[i], NULL);
        if (two) wsq_pool_destroy(self->other);
        wsq_pool_destroy(self->pool);
    }
    free(self);
    for (int i = 0; i < RESOURCES; i++) CHECK_EQ(atomic_load(&live[i]), 0);
}

#ifdef WSQ_FUZZ

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    unsigned kind = length > 0 ? bytes[0] : 0;
    memset(fails, 0, sizeof fails);
    for (size_t i = 1; i < length; i++) { /* so many succeed, then one fails */
        static size_t at[RESOURCES];
        resource what = bytes[i] % 4 == 3 ? THREAD : MEMORY;
        if (i == 1) at[MEMORY] = at[THREAD] = 0;
        at[what] += bytes[i] / 4;
        if (at[what] < ATTEMPTS) fails[what][at[what]++] = 1;
    }
    later[MEMORY] = (kind & 8) != 0;
    later[THREAD] = (kind & 16) != 0;
    live_one((wsq_order)(kind % 3), (kind & 4) != 0);
    if (atomic_load(&test_failures)) abort();
    return 0;
}

#else

/* The n-th attempt fails, and all that follow if `rest`; until a life has fewer. Returns the lives. */
static size_t nth_fails(resource what, wsq_order order, bool with_list, bool rest) {
    for (unsigned n = 0;; n++) {
        memset(fails, 0, sizeof fails);
        if (n >= ATTEMPTS) return n;
        memset(&fails[what][n], 1, rest ? ATTEMPTS - n : 1);
        later[what] = rest;
        live_one(order, with_list);
        later[what] = false;
        if (atomic_load(&failed[what]) == 0 || atomic_load(&test_failures) != 0) return n;
    }
}

static void lives(void) {
    static const wsq_order orders[] = {WSQ_FIFO, WSQ_LIFO, WSQ_SHARED};
    size_t count = 0;
    for (size_t k = 0; k < 3; k++) {
        for (unsigned how = 0; how < 8; how++) {
            if (TEST_SLOWDOWN > 1 && how != k) continue;
            count += nth_fails(how & 1 ? THREAD : MEMORY, orders[k], (how & 2) != 0, (how & 4) != 0);
            if (atomic_load(&test_failures) == 0) continue;
            fprintf(stderr, "    order %d, %s, with list: %d, all that follow: %d\n", (int)orders[k],
                    how & 1 ? "threads" : "memory", (how & 2) != 0, (how & 4) != 0);
            return;
        }
    }
    CHECK(count > 20);
    printf("  lives: %zu\n", count);
}

/* At random, several failures in a life. */
static void random_lives(void) {
    size_t count = test_times(100);
    for (size_t i = 0; i < count && atomic_load(&test_failures) == 0; i++) {
        uint64_t random = test_seed + i;
        memset(fails, 0, sizeof fails);
        for (unsigned k = 0; k < 6; k++) fails[test_random(&random) % RESOURCES][test_below(&random, 40)] = 1;
        live_one((wsq_order)(i % 3), i % 2 != 0);
    }
}

int main(void) {
    test_begin("lives");
    RUN(lives);
    memset(fails, 0, sizeof fails);
    RUN(random_lives);
    return test_end();
}
#endif
