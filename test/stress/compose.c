/* A hunt for deadlocks: random programs of tasks that submit and get, spawn groups and wait for them, come
 * after each other, fork, block, sleep until a timer, with priorities, on pools of 1, 2 and 200 workers,
 * and in the middle of some of them the pool stops. Each program ends: the watchdog shows one that does not.
 * Every answer is checked.
 *
 * A task waits only for what it has made itself, so the waits form a tree; an edge leads from an older task
 * to a younger one of the same parent, so the graph has no circle. */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include "../test.h"
#include "../pool.h"
#include "../compose.h"

enum { CHILDREN = 6, DEPTH = 4, THREADS = 4 };

typedef struct node {
    wsq_task task;
    wsq_timer timer;
    wsq_edge edge;
    uint64_t seed;
    unsigned depth, runs;
    unsigned long sum; /* nodes in its tree, as counted by itself */
    bool sleeps, ended, spawned;
    const struct node *after;
    wsq_pool *pool;
} node;

/* What one call makes. It stays until the pool is gone: a wait may end early when the pool stops. */
typedef struct frame {
    struct frame *next;
    node children[CHILDREN];
    wsq_group group;
    struct call { wsq_pool *pool; uint64_t seed; unsigned depth; } calls[CHILDREN];
    wsq_future *futures[CHILDREN];
    step thens[CHILDREN];
} frame;

static _Atomic(frame *) frames;
static atomic_bool stopping; /* from now on calls may be refused, and waits cancelled */
static atomic_ulong nodes, misordered;

static frame *frame_new(void) {
    frame *one = calloc(1, sizeof *one);
    if (one == NULL) abort();
    one->next = atomic_load(&frames);
    while (!atomic_compare_exchange_weak(&frames, &one->next, one)) {}
    return one;
}

static void frames_free(void) {
    for (frame *one = atomic_exchange(&frames, NULL), *next; one != NULL; one = next) {
        next = one->next;
        free(one);
    }
}

/* Did it do what it should? If not, the pool stops. */
static bool fine(wsq_result result, const char *what) {
    if (result == WSQ_OK) return true;
    if (!atomic_load(&stopping) || (result != WSQ_ERR_CANCELLED && result != WSQ_ERR_CLOSED)) FAIL(what);
    return false;
}

static unsigned long work(wsq_pool *pool, wsq_ctx *ctx, uint64_t seed, unsigned depth);

/* What the program of this seed has to count: the same choices, without any pool. */
static unsigned long model(uint64_t seed, unsigned depth) {
    unsigned long sum = 1;
    unsigned kind = test_below(&seed, 8), count = depth == 0 ? 0 : test_below(&seed, CHILDREN + 1);
    if (kind == 0) count = count != 0;
    for (unsigned i = 0; i < count; i++) sum += model(seed + i + 1, depth - 1);
    return sum;
}

static wsq_poll node_run(wsq_ctx ctx, wsq_task *task) {
    node *self = wsq_container_of(task, node, task);
    uint64_t random = self->seed ^ 0x5bd1e995u;
    if (self->after != NULL && !self->after->ended) atomic_fetch_add(&misordered, 1);
    if (self->runs++ == 0 && self->sleeps) {
        if (wsq_timer_set(self->pool, &self->timer, task, test_below(&random, 100000)) != WSQ_OK) FAIL("a timer");
        return WSQ_PENDING;
    }
    if (self->runs < 3 && test_below(&random, 8) == 0) return WSQ_YIELD;
    self->sum = work(self->pool, &ctx, self->seed, self->depth);
    self->ended = true;
    return WSQ_DONE;
}

static void node_new(node *self, wsq_pool *pool, uint64_t seed, unsigned depth) {
    *self = (node){.seed = seed, .depth = depth, .pool = pool};
    wsq_task_init(&self->task, node_run);
    self->sleeps = seed % 16 == 3;
    if (seed % 8 == 1) wsq_task_set_priority(&self->task, WSQ_HIGH);
    if (seed % 8 == 2) wsq_task_set_priority(&self->task, WSQ_LOW);
}

static void node_spawn(node *self, wsq_group *group) {
    self->spawned = fine(group != NULL ? wsq_group_spawn(group, &self->task)
                                       : wsq_spawn(self->pool, &self->task), "a spawn");
}

/* Children as tasks, some after others, waited for one by one in some order, or as a group. */
static unsigned long by_tasks(wsq_pool *pool, uint64_t seed, unsigned depth, unsigned count, bool grouped) {
    frame *my = frame_new();
    node *children = my->children;
    uint64_t random = seed + 77;
    unsigned long sum = 0;
    if (wsq_group_init(&my->group, pool) != WSQ_OK) FAIL("a group");
    for (unsigned i = 0; i < count; i++) node_new(&children[i], pool, seed + i + 1, depth - 1);
    for (unsigned i = 0; i < count; i++) {
        if (i > 0 && test_below(&random, 2) == 0) { /* its predecessor may be queued, running, done */
            node *before = &children[test_below(&random, i)];
            children[i].after = before;
            if (wsq_task_after(&children[i].task, &before->task, &children[i].edge) != WSQ_OK)
                FAIL("an edge");
        }
        node_spawn(&children[i], grouped ? &my->group : NULL);
    }
    if (grouped) (void)fine(wsq_group_wait(&my->group), "a group's wait");
    bool backwards = test_below(&random, 2) == 0;
    for (unsigned i = 0; i < count; i++) {
        node *child = &children[backwards ? count - 1 - i : i];
        bool done = child->spawned;
        if (done && test_below(&random, 8) == 0) (void)wsq_task_wait_for(&child->task, 1000);
        if (done) done = fine(wsq_task_wait(&child->task), "a wait");
        if (done && !wsq_task_done(&child->task)) FAIL("it is done");
        if (done) sum += child->sum;
    }
    return sum;
}

static void *call_work(void *arg) {
    struct call *self = arg;
    return (void *)(uintptr_t)work(self->pool, NULL, self->seed, self->depth);
}

/* Children as futures, got in some order; some of them are asked for by a task that starts then. */
static unsigned long by_futures(wsq_pool *pool, uint64_t seed, unsigned depth, unsigned count) {
    frame *my = frame_new();
    uint64_t random = seed + 78;
    unsigned long sum = 0;
    unsigned first = count > 0 ? test_below(&random, count) : 0;
    bool then[CHILDREN];
    for (unsigned i = 0; i < count; i++) {
        my->calls[i] = (struct call){pool, seed + i + 1, depth - 1};
        if (!fine(wsq_submit(pool, call_work, &my->calls[i], &my->futures[i]), "a submit"))
            my->futures[i] = NULL;
        step_new(&my->thens[i], NULL, NULL);
        then[i] = test_below(&random, 4) == 0 && my->futures[i] != NULL;
        then[i] = then[i] && fine(wsq_future_then(my->futures[i], &my->thens[i].task), "then");
    }
    for (unsigned i = 0; i < count; i++) {
        unsigned at = (first + i) % count;
        void *result = NULL;
        bool told = then[at] && fine(wsq_task_wait(&my->thens[at].task), "a wait");
        if (told && !wsq_future_done(my->futures[at])) FAIL("then is later");
        if (my->futures[at] != NULL && fine(wsq_future_get(my->futures[at], &result), "a get"))
            sum += (unsigned long)(uintptr_t)result;
    }
    return sum;
}

static unsigned long in_a_blocking_call(wsq_pool *pool, wsq_ctx *ctx, uint64_t seed, unsigned depth,
                                        unsigned count) {
    unsigned long sum;
    if (ctx != NULL) wsq_block_begin(*ctx);
    if (seed % 4 == 0) test_nap(20000);
    sum = by_tasks(pool, seed, depth, count, seed % 2);
    if (ctx != NULL) wsq_block_end(*ctx);
    return sum;
}

typedef struct half {
    wsq_job job;
    wsq_pool *pool;
    uint64_t seed;
    unsigned depth;
    unsigned long sum;
} half;

static void half_run(wsq_ctx ctx, wsq_job *job) {
    half *self = wsq_container_of(job, half, job);
    self->sum = work(self->pool, &ctx, self->seed, self->depth);
}

/* Children as jobs, which wait for tasks in turn. */
static unsigned long by_jobs(wsq_pool *pool, wsq_ctx ctx, uint64_t seed, unsigned depth, unsigned count) {
    half jobs[CHILDREN];
    unsigned long sum = 0;
    for (unsigned i = 0; i < count; i++) {
        jobs[i].pool = pool;
        jobs[i].seed = seed + i + 1;
        jobs[i].depth = depth - 1;
        wsq_fork(&ctx, &jobs[i].job, half_run);
    }
    for (unsigned i = count; i-- > 0;) {
        wsq_join(&ctx, &jobs[i].job);
        sum += jobs[i].sum;
    }
    return sum;
}

static unsigned long work(wsq_pool *pool, wsq_ctx *ctx, uint64_t seed, unsigned depth) {
    uint64_t random = seed;
    unsigned kind = test_below(&random, 8), count = depth == 0 ? 0 : test_below(&random, CHILDREN + 1);
    atomic_fetch_add(&nodes, 1);
    test_spin((uint32_t)(seed % 64));
    switch (kind) {
    case 0: return 1 + by_tasks(pool, random, depth, count != 0, false);
    case 1:
    case 2: return 1 + by_tasks(pool, random, depth, count, false);
    case 3:
    case 4: return 1 + by_tasks(pool, random, depth, count, true);
    case 5: return 1 + in_a_blocking_call(pool, ctx, random, depth, count);
    case 6:
        if (ctx != NULL) return 1 + by_jobs(pool, *ctx, random, depth, count);
        return 1 + by_futures(pool, random, depth, count);
    default: return 1 + by_futures(pool, random, depth, count);
    }
}

/* ---- programs ---- */

typedef struct program {
    wsq_pool *pool;
    uint64_t seed;
} program;

static void outside(test_thread *self) {
    program *one = self->arg;
    uint64_t seed = one->seed + self->index * 1000003u;
    unsigned long sum = 0;
    if (self->index % 2) {
        sum = work(one->pool, NULL, seed, DEPTH);
    } else {
        node *root = frame_new()->children;
        node_new(root, one->pool, seed, DEPTH);
        node_spawn(root, NULL);
        if (root->spawned && fine(wsq_task_wait(&root->task), "a wait")) sum = root->sum;
    }
    if (!atomic_load(&stopping) && sum != model(seed, DEPTH)) FAIL("the sum");
}

/* Deep waits need as many stand-ins: at the bound a waiter helps, with tasks that may wait for what lies
 * beneath them. */
enum { ENOUGH = 800 };

static const wsq_config kinds[] = {
    {.workers = 1, .max_standins = ENOUGH},
    {.workers = 2, .max_standins = ENOUGH},
    {.workers = 200, .max_standins = ENOUGH},
    {.workers = 3, .max_standins = ENOUGH, .order = WSQ_LIFO},
    {.workers = 2, .caller_runs = true},
};

static void programs(const wsq_config *config, size_t count) {
    wsq_pool *pool = pool_new(*config);
    uint64_t random = test_seed;
    atomic_store(&misordered, 0);
    for (size_t i = 0; i < count; i++) {
        program one = {pool, test_random(&random)};
        test_threads(1 + (unsigned)i % 3, outside, &one);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        frames_free();
    }
    CHECK_EQ(atomic_load(&misordered), 0);
    pool_close(pool);
}

static void one_worker(void) { programs(&kinds[0], test_times(100)); }
static void two_workers(void) { programs(&kinds[1], test_times(150)); }
static void two_hundred_workers(void) { programs(&kinds[2], test_times(40)); }
static void last_in_first_out(void) { programs(&kinds[3], test_times(100)); }
static void caller_runs(void) { programs(&kinds[4], test_times(100)); }

/* ---- the same, and in the middle of it the pool stops ---- */

static void outside_or_stop(test_thread *self) {
    program *one = self->arg;
    if (self->index != THREADS - 1) {
        outside(self);
        return;
    }
    test_nap(test_below(&self->random, 300000));
    atomic_store(&stopping, true);
    CHECK_EQ(wsq_pool_shutdown(one->pool, one->seed % 4 == 0 ? WSQ_DRAIN : WSQ_CANCEL), WSQ_OK);
}

static void stopped(void) {
    uint64_t random = test_seed;
    for (size_t i = 0; i < test_times(100); i++) {
        program one = {pool_new(kinds[i % 20 == 2 ? 2 : i % 2 ? 0 : i % 5 == 2 ? 1 : i % 5]),
                       test_random(&random)};
        atomic_store(&stopping, false);
        test_threads(THREADS, outside_or_stop, &one);
        CHECK_EQ(futures_out(one.pool), 0);
        wsq_pool_destroy(one.pool);
        frames_free();
    }
    atomic_store(&stopping, false);
}

int main(void) {
    test_begin("compose");
    RUN(one_worker);
    RUN(two_workers);
    RUN(two_hundred_workers);
    RUN(last_in_first_out);
    RUN(caller_runs);
    RUN(stopped);
    printf("%lu nodes\n", atomic_load(&nodes));
    return test_end();
}
