/* mix.h - a load that uses everything at once and knows its result: chains of spawns through a few
 * tasks' memory, tasks that yield or wake themselves, pairs that wake each other, recursion, loops
 * and reductions, from tasks and from outside. What they hand on is plain memory, so only the
 * scheduler orders it. */
#ifndef MIX_H
#define MIX_H

#include "test.h"

enum { MIX_LEGS = 3 };

typedef struct mix_plan {
    unsigned walkers, loopers, pairs, runners; /* how many of each */
    unsigned steps;                            /* of each of the first three */
    unsigned depth;                            /* of the recursion */
    size_t elements;                           /* of the loops */
} mix_plan;

typedef struct mix mix;

/* A leg of a walk does one step and spawns the next leg. */
typedef struct mix_leg {
    wsq_task task;
    struct mix_walker *walker;
    bool stepped;
} mix_leg;

typedef struct mix_walker {
    mix *all;
    mix_leg legs[MIX_LEGS];
    uint64_t hash;
    unsigned left;
} mix_walker;

typedef struct mix_looper {
    wsq_task task;
    uint64_t hash;
    unsigned left;
} mix_looper;

typedef struct mix_pair {
    wsq_task ping, pong;
    mix *all;
    uint64_t hash;
    unsigned left;
    bool begun, last;
} mix_pair;

typedef struct mix_runner {
    wsq_task task;
    mix *all;
} mix_runner;

struct mix {
    wsq_pool *pool;
    const mix_plan *plan;
    uint64_t seed;
    mix_walker *walkers;
    mix_looper *loopers;
    wsq_task **batch;
    mix_pair *pairs;
    mix_runner *runners;
    uint64_t *cells; /* what the loop writes */
    atomic_bool cells_taken;
};

static inline uint64_t mix_step(uint64_t hash) {
    hash = (hash ^ (hash >> 31)) * 0x7fb5d329728ea185u + 0x2545f4914f6cdd1du;
    return hash ^ (hash >> 27);
}

static inline uint64_t mix_steps(uint64_t hash, uint64_t steps) {
    while (steps-- > 0) hash = mix_step(hash);
    return hash;
}

/* ---- tasks ---- */

static wsq_poll mix_walk(wsq_ctx ctx, wsq_task *task) {
    mix_leg *leg = wsq_container_of(task, mix_leg, task);
    mix_walker *walker = leg->walker;
    mix_leg *next = leg + 1 == walker->legs + MIX_LEGS ? walker->legs : leg + 1;
    (void)ctx;
    if (!leg->stepped) {
        walker->hash = mix_step(walker->hash);
        if (--walker->left == 0) return WSQ_DONE;
    }
    /* Set before the spawn, after which everything belongs to the next leg. */
    leg->stepped = false;
    wsq_result result = wsq_spawn(walker->all->pool, &next->task);
    if (result == WSQ_OK) return WSQ_DONE;
    /* The next leg has just been a former one, and has not returned yet. */
    CHECK_EQ(result, WSQ_ERR_INVALID);
    leg->stepped = true;
    return WSQ_YIELD;
}

static wsq_poll mix_loop(wsq_ctx ctx, wsq_task *task) {
    mix_looper *self = wsq_container_of(task, mix_looper, task);
    (void)ctx;
    self->hash = mix_step(self->hash);
    if (--self->left == 0) return WSQ_DONE;
    if (self->left % 4 != 0) return WSQ_YIELD;
    wsq_wake(task);
    return WSQ_PENDING;
}

/* Pong runs first and spawns ping; from then on each run is the answer to one wake. */
static wsq_poll mix_pong(wsq_ctx ctx, wsq_task *task) {
    mix_pair *self = wsq_container_of(task, mix_pair, pong);
    (void)ctx;
    if (!self->begun) {
        self->begun = true;
        CHECK_EQ(wsq_spawn(self->all->pool, &self->ping), WSQ_OK);
        return WSQ_PENDING;
    }
    self->hash = mix_step(self->hash);
    if (self->last) return WSQ_DONE;
    wsq_wake(&self->ping);
    return WSQ_PENDING;
}

static wsq_poll mix_ping(wsq_ctx ctx, wsq_task *task) {
    mix_pair *self = wsq_container_of(task, mix_pair, ping);
    (void)ctx;
    self->hash = mix_step(self->hash);
    bool last = self->last = --self->left == 0;
    wsq_wake(&self->pong);
    return last ? WSQ_DONE : WSQ_PENDING;
}

/* ---- jobs ---- */

typedef struct mix_fib_job {
    wsq_job job;
    unsigned n;
    uint64_t result;
} mix_fib_job;

static inline uint64_t mix_fib(wsq_ctx ctx, unsigned n);

static void mix_fib_run(wsq_ctx ctx, wsq_job *job) {
    mix_fib_job *self = wsq_container_of(job, mix_fib_job, job);
    self->result = mix_fib(ctx, self->n);
}

static inline uint64_t mix_fib(wsq_ctx ctx, unsigned n) {
    mix_fib_job left;
    if (n < 2) return n;
    left.n = n - 1;
    wsq_fork(&ctx, &left.job, mix_fib_run);
    uint64_t right = mix_fib(ctx, n - 2);
    return right + (wsq_reclaim(&ctx, &left.job) ? mix_fib(ctx, left.n) : left.result);
}

static inline uint64_t mix_fib_plain(unsigned n) {
    uint64_t a = 0, b = 1;
    for (; n > 0; n--) {
        uint64_t next = a + b;
        a = b;
        b = next;
    }
    return a;
}

static void mix_body(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    uint64_t *cells = arg;
    (void)ctx;
    for (size_t i = begin; i < end; i++) cells[i] += i + 1;
}

/* The composition of the functions x -> scale * x + shift: associative, not commutative. */
typedef struct mix_affine { uint64_t scale, shift; } mix_affine;

static void mix_affine_init(void *partial, void *arg) {
    mix_affine *self = partial;
    (void)arg;
    self->scale = 1;
    self->shift = 0;
}

static void mix_affine_combine(void *left, const void *right, void *arg) {
    mix_affine *first = left;
    const mix_affine *second = right;
    (void)arg;
    first->shift = second->scale * first->shift + second->shift;
    first->scale *= second->scale;
}

static void mix_affine_body(wsq_ctx ctx, size_t begin, size_t end, void *partial, void *arg) {
    (void)ctx;
    for (size_t i = begin; i < end; i++) {
        mix_affine one = {2 * i + 3, i};
        mix_affine_combine(partial, &one, arg);
    }
}

/* Recursion, a reduction and, for the thread that comes first, a loop. */
static void mix_jobs(wsq_ctx ctx, void *arg) {
    mix *all = arg;
    static const wsq_reducer reducer = {sizeof(mix_affine), mix_affine_init, mix_affine_body,
                                        mix_affine_combine, NULL, false};
    mix_affine got = {0, 0}, want = {1, 0};
    size_t elements = all->plan->elements;
    CHECK_EQ(mix_fib(ctx, all->plan->depth), mix_fib_plain(all->plan->depth));
    CHECK_EQ(wsq_reduce(ctx, 0, elements, 3, &reducer, &got), WSQ_OK);
    mix_affine_body(ctx, 0, elements, &want, NULL);
    CHECK(got.scale == want.scale && got.shift == want.shift);
    if (!atomic_exchange(&all->cells_taken, true)) wsq_for(ctx, 0, elements, 5, mix_body, all->cells);
}

static wsq_poll mix_run(wsq_ctx ctx, wsq_task *task) {
    mix_jobs(ctx, wsq_container_of(task, mix_runner, task)->all);
    return WSQ_DONE;
}

/* ---- a round ---- */

static inline void *mix_memory(size_t count, size_t size) {
    void *memory = calloc(count + 1, size); /* none is a number, too */
    if (memory == NULL) {
        fprintf(stderr, "%s: no memory for the load\n", test_name);
        exit(EXIT_FAILURE);
    }
    return memory;
}

static inline void mix_init(mix *self, wsq_pool *pool, const mix_plan *plan, uint64_t seed) {
    *self = (mix){.pool = pool, .plan = plan, .seed = seed};
    self->walkers = mix_memory(plan->walkers, sizeof *self->walkers);
    self->loopers = mix_memory(plan->loopers, sizeof *self->loopers);
    self->batch = mix_memory(plan->loopers, sizeof *self->batch);
    self->pairs = mix_memory(plan->pairs, sizeof *self->pairs);
    self->runners = mix_memory(plan->runners, sizeof *self->runners);
    self->cells = mix_memory(plan->elements, sizeof *self->cells);
    for (unsigned i = 0; i < plan->walkers; i++) {
        self->walkers[i].all = self;
        self->walkers[i].hash = seed + i;
        self->walkers[i].left = plan->steps;
        for (int k = 0; k < MIX_LEGS; k++) {
            self->walkers[i].legs[k].walker = &self->walkers[i];
            wsq_task_init(&self->walkers[i].legs[k].task, mix_walk);
        }
    }
    for (unsigned i = 0; i < plan->loopers; i++) {
        self->loopers[i].hash = seed + i;
        self->loopers[i].left = plan->steps;
        self->batch[i] = &self->loopers[i].task;
        wsq_task_init(&self->loopers[i].task, mix_loop);
    }
    for (unsigned i = 0; i < plan->pairs; i++) {
        self->pairs[i].all = self;
        self->pairs[i].hash = seed + i;
        self->pairs[i].left = plan->steps;
        wsq_task_init(&self->pairs[i].ping, mix_ping);
        wsq_task_init(&self->pairs[i].pong, mix_pong);
    }
    for (unsigned i = 0; i < plan->runners; i++) {
        self->runners[i].all = self;
        wsq_task_init(&self->runners[i].task, mix_run);
    }
}

static inline void mix_spawn(mix *self) {
    const mix_plan *plan = self->plan;
    for (unsigned i = 0; i < plan->pairs; i++)
        CHECK_EQ(wsq_spawn(self->pool, &self->pairs[i].pong), WSQ_OK);
    for (unsigned i = 0; i < plan->walkers; i++)
        CHECK_EQ(wsq_spawn(self->pool, &self->walkers[i].legs[0].task), WSQ_OK);
    CHECK_EQ(wsq_spawn_batch(self->pool, self->batch, plan->loopers), WSQ_OK);
    for (unsigned i = 0; i < plan->runners; i++)
        CHECK_EQ(wsq_spawn(self->pool, &self->runners[i].task), WSQ_OK);
}

/* Every other task is waited for by name, then the pool. */
static inline void mix_wait(mix *self) {
    for (unsigned i = 0; i < self->plan->pairs; i += 2)
        CHECK_EQ(wsq_task_wait(&self->pairs[i].pong), WSQ_OK);
    for (unsigned i = 0; i < self->plan->loopers; i += 2)
        CHECK_EQ(wsq_task_wait(&self->loopers[i].task), WSQ_OK);
    CHECK_EQ(wsq_pool_wait(self->pool), WSQ_OK);
}

static inline void mix_check(mix *self) {
    const mix_plan *plan = self->plan;
    for (unsigned i = 0; i < plan->walkers; i++)
        CHECK(self->walkers[i].hash == mix_steps(self->seed + i, plan->steps));
    for (unsigned i = 0; i < plan->loopers; i++)
        CHECK(self->loopers[i].hash == mix_steps(self->seed + i, plan->steps));
    for (unsigned i = 0; i < plan->pairs; i++)
        CHECK(self->pairs[i].hash == mix_steps(self->seed + i, 2 * (uint64_t)plan->steps));
    for (size_t i = 0; i < plan->elements; i++) CHECK(self->cells[i] == i + 1);
}

static bool mix_memory_fails; /* now and then */

/* Jobs on this thread; where there is no memory for that, in a task. */
static inline void mix_outside(mix *self) {
    mix_runner instead = {.all = self};
    wsq_result result = wsq_run(self->pool, mix_jobs, self);
    if (!mix_memory_fails || result != WSQ_ERR_MEMORY) {
        CHECK_EQ(result, WSQ_OK);
        return;
    }
    wsq_task_init(&instead.task, mix_run);
    CHECK_EQ(wsq_spawn(self->pool, &instead.task), WSQ_OK);
    CHECK_EQ(wsq_task_wait(&instead.task), WSQ_OK);
}

static inline void mix_thread(test_thread *thread) {
    mix *self = thread->arg;
    if (thread->index == 0) {
        mix_spawn(self);
        mix_wait(self);
    } else {
        mix_outside(self);
    }
}

/* Runs of tasks, and jobs, in a round; fib(n) forks fib(n + 1) - 1 times. */
static inline uint64_t mix_size(const mix_plan *plan) {
    uint64_t tasks = (uint64_t)plan->steps * (plan->walkers + plan->loopers + 2 * (uint64_t)plan->pairs);
    return tasks + (plan->runners + 1u) * mix_fib_plain(plan->depth + 1);
}

/* `outside` threads at once: the first spawns and waits, the others run jobs. */
static inline uint64_t mix_round(wsq_pool *pool, const mix_plan *plan, uint64_t seed, unsigned outside) {
    mix self;
    mix_init(&self, pool, plan, seed);
    test_threads(outside, mix_thread, &self);
    if (!atomic_load(&self.cells_taken)) mix_outside(&self);
    mix_check(&self);
    free(self.walkers);
    free(self.loopers);
    free(self.batch);
    free(self.pairs);
    free(self.runners);
    free(self.cells);
    return mix_size(plan) + (outside > 1 ? outside - 2 : 0) * mix_fib_plain(plan->depth + 1);
}

#endif /* MIX_H */
