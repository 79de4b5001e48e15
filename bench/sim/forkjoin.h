/* forkjoin.h - workloads of forked jobs: each returns how many units of work it did. */
#ifndef SIM_FORKJOIN_H
#define SIM_FORKJOIN_H

#include "sim.h"

static uint64_t run_start, run_end; /* ns: of the workload that ran last */

/* ---- a function that runs on a worker, while the caller sleeps ---- */

typedef struct root_task {
    wsq_task task;
    void (*fn)(wsq_ctx ctx, void *arg);
    void *arg;
} root_task;

static wsq_poll root_poll(wsq_ctx ctx, wsq_task *task) {
    root_task *root = wsq_container_of(task, root_task, task);
    root->fn(ctx, root->arg);
    run_end = sim_now();
    return WSQ_DONE;
}

static void run_root(wsq_pool *pool, void (*fn)(wsq_ctx ctx, void *arg), void *arg) {
    root_task root = {.fn = fn, .arg = arg};
    wsq_task_init(&root.task, root_poll);
    run_start = sim_now();
    if (wsq_spawn(pool, &root.task) != WSQ_OK || wsq_pool_wait(pool) != WSQ_OK)
        sim_fail("the root did not run");
}

/* 64 bits that look random: splitmix64, Steele, Lea, Flood (2014). */
static inline uint64_t scramble(uint64_t x) {
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

/* 0 <= x < 1 */
static inline double fraction(uint64_t random) {
    return (double)(random >> 11) / 9007199254740992.0;
}

/* ---- fib: a fork in every inner node, no work but that; unit: a fork ---- */

typedef struct fib_job { wsq_job job; long n, result; } fib_job;

static void fib_run(wsq_ctx ctx, wsq_job *job);

static inline long fib(wsq_ctx ctx, long n) {
    if (n < 2) return n;
    fib_job left;
    left.n = n - 1;
    wsq_fork(&ctx, &left.job, fib_run);
    long right = fib(ctx, n - 2);
    return right + (wsq_reclaim(&ctx, &left.job) ? fib(ctx, n - 1) : left.result);
}

static void fib_run(wsq_ctx ctx, wsq_job *job) {
    fib_job *self = wsq_container_of(job, fib_job, job);
    self->result = fib(ctx, self->n);
}

static void fib_root(wsq_ctx ctx, void *arg) {
    fib_job *self = (fib_job *)arg;
    self->result = fib(ctx, self->n);
}

/* The smallest tree of at least `units` forks. */
static double run_fib(wsq_pool *pool, double units) {
    fib_job call = {.n = 1};
    double result = 1, next = 1; /* fib(n), fib(n + 1); fib(n) makes fib(n + 1) - 1 forks */
    for (; next - 1 < units; call.n++) {
        double sum = result + next;
        result = next;
        next = sum;
    }
    run_root(pool, fib_root, &call);
    if ((double)call.result != result) sim_fail("fib is wrong");
    return next - 1;
}

/* ---- skynet: ten children each, no work either; unit: a leaf ---- */

typedef struct sky_job { wsq_job job; long first, size, sum; } sky_job;

static void sky_run(wsq_ctx ctx, wsq_job *job);

static long sky(wsq_ctx ctx, long first, long size) {
    if (size == 1) return first;
    sky_job jobs[9];
    long arity = size < 10 ? size : 10, sum, last = size * (arity - 1) / arity;
    for (long i = 0; i < arity - 1; i++) {
        jobs[i].first = first + size * i / arity;
        jobs[i].size = size * (i + 1) / arity - size * i / arity;
        wsq_fork(&ctx, &jobs[i].job, sky_run);
    }
    sum = sky(ctx, first + last, size - last);
    for (long i = arity - 2; i >= 0; i--)
        sum += wsq_reclaim(&ctx, &jobs[i].job) ? sky(ctx, jobs[i].first, jobs[i].size)
                                               : jobs[i].sum;
    return sum;
}

static void sky_run(wsq_ctx ctx, wsq_job *job) {
    sky_job *self = wsq_container_of(job, sky_job, job);
    self->sum = sky(ctx, self->first, self->size);
}

static void sky_root(wsq_ctx ctx, void *arg) {
    sky_job *self = (sky_job *)arg;
    self->sum = sky(ctx, 0, self->size);
}

static double run_skynet(wsq_pool *pool, double units) {
    sky_job call = {.size = (long)units};
    run_root(pool, sky_root, &call);
    if (call.sum != call.size * (call.size - 1) / 2) sim_fail("skynet is wrong");
    return units;
}

/* ---- uts: a binomial tree; 100 ns a node, as its hash takes; unit: a node. The root has as many
 * children as make the tree large enough; from there on a node has eight children or none: 250
 * nodes below each on the average, and now and then many thousands ---- */

enum { UTS_ARITY = 8, UTS_NODE_NS = 100, UTS_SUBTREE = 250 };

typedef struct uts_job { wsq_job job; uint64_t hash; long roots, nodes; } uts_job;

static inline bool uts_leaf(uint64_t hash) {
    return fraction(hash) >= (1.0 - 1.0 / UTS_SUBTREE) / UTS_ARITY;
}

/* The nodes of a subtree, in no time. */
static double uts_count(uint64_t hash) {
    double nodes = 1;
    for (int i = 0; i < UTS_ARITY && !uts_leaf(hash); i++)
        nodes += uts_count(scramble(hash + (uint64_t)i));
    return nodes;
}

static void uts_run(wsq_ctx ctx, wsq_job *job);

static long uts(wsq_ctx ctx, uint64_t hash) {
    uts_job jobs[UTS_ARITY];
    long nodes = 1;
    sim_work(UTS_NODE_NS);
    if (uts_leaf(hash)) return nodes;
    for (int i = 0; i < UTS_ARITY; i++) {
        jobs[i].roots = 0;
        jobs[i].hash = scramble(hash + (uint64_t)i);
        wsq_fork(&ctx, &jobs[i].job, uts_run);
    }
    for (int i = UTS_ARITY - 1; i >= 0; i--)
        nodes += wsq_reclaim(&ctx, &jobs[i].job) ? uts(ctx, jobs[i].hash) : jobs[i].nodes;
    return nodes;
}

/* The children of the root, cut in halves. */
static long uts_roots(wsq_ctx ctx, uint64_t first, long roots) {
    uts_job upper;
    if (roots == 1) return uts(ctx, scramble(first));
    upper.roots = roots / 2;
    upper.hash = first + (uint64_t)(roots - roots / 2);
    wsq_fork(&ctx, &upper.job, uts_run);
    long nodes = uts_roots(ctx, first, roots - roots / 2);
    wsq_join(&ctx, &upper.job);
    return nodes + upper.nodes;
}

static void uts_run(wsq_ctx ctx, wsq_job *job) {
    uts_job *self = wsq_container_of(job, uts_job, job);
    self->nodes = self->roots != 0 ? uts_roots(ctx, self->hash, self->roots) : uts(ctx, self->hash);
}

static void uts_root(wsq_ctx ctx, void *arg) { uts_run(ctx, &((uts_job *)arg)->job); }

static double run_uts(wsq_pool *pool, double units) {
    uts_job call = {.hash = 42};
    for (double nodes = 0; nodes < units; call.roots++)
        nodes += uts_count(scramble(call.hash + (uint64_t)call.roots));
    run_root(pool, uts_root, &call);
    return (double)call.nodes;
}

/* ---- loops: unit: an element of 100 ns, or of 100 ns on the average ---- */

typedef struct loop_call { size_t count; bool even; double units; } loop_call;

enum { LOOP_NS = 100 };

/* A Pareto distribution from 50 ns on, cut at 100 us: its mean is about 100 ns times 3.7. */
static uint64_t uneven_ns(size_t i) {
    double ns = 50 / (1 - fraction(scramble(i)));
    return ns < 100000 ? (uint64_t)ns : 100000;
}

static void loop_body(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    loop_call *call = (loop_call *)arg;
    uint64_t ns = 0;
    (void)ctx;
    if (call->even) ns = (end - begin) * LOOP_NS;
    for (size_t i = begin; i < end && !call->even; i++) ns += uneven_ns(i);
    sim_work(ns);
    call->units += (double)ns / LOOP_NS;
}

static void loop_root(wsq_ctx ctx, void *arg) {
    wsq_for(ctx, 0, ((loop_call *)arg)->count, 0, loop_body, arg);
}

static double run_loop(wsq_pool *pool, double units) {
    loop_call call = {.count = (size_t)units, .even = true};
    run_root(pool, loop_root, &call);
    return call.units;
}

static double run_uneven(wsq_pool *pool, double units) {
    loop_call call = {.count = (size_t)(units / 4)};
    run_root(pool, loop_root, &call);
    return call.units;
}

/* ---- sort: mergesort with parallel merges, 2 ns for each element moved; unit: a move. What it
 * moves is not simulated: no more than its order ---- */

enum { SORT_GRAIN = 2048, SORT_NS = 2 };

typedef struct sort_job { wsq_job job; long size; bool merge; double moves; } sort_job;

static void sort_run(wsq_ctx ctx, wsq_job *job);

/* The work of one side of a merge is known once its cut has been searched for. */
static double sort_merge(wsq_ctx ctx, long size) {
    sort_job upper;
    if (size <= SORT_GRAIN) {
        sim_work((uint64_t)size * SORT_NS);
        return (double)size;
    }
    sim_work(100); /* a binary search */
    upper.size = size / 2;
    upper.merge = true;
    wsq_fork(&ctx, &upper.job, sort_run);
    double moves = sort_merge(ctx, size - size / 2);
    wsq_join(&ctx, &upper.job);
    return moves + upper.moves;
}

static double sort_all(wsq_ctx ctx, long size) {
    sort_job upper;
    if (size <= SORT_GRAIN) {
        sim_work((uint64_t)size * SORT_NS * 11); /* its logarithm */
        return (double)size * 11;
    }
    upper.size = size / 2;
    upper.merge = false;
    wsq_fork(&ctx, &upper.job, sort_run);
    double moves = sort_all(ctx, size - size / 2);
    wsq_join(&ctx, &upper.job);
    return moves + upper.moves + sort_merge(ctx, size);
}

static void sort_run(wsq_ctx ctx, wsq_job *job) {
    sort_job *self = wsq_container_of(job, sort_job, job);
    self->moves = self->merge ? sort_merge(ctx, self->size) : sort_all(ctx, self->size);
}

static void sort_root(wsq_ctx ctx, void *arg) { sort_run(ctx, &((sort_job *)arg)->job); }

static double run_sort(wsq_pool *pool, double units) {
    sort_job call = {.size = (long)(units / 20)};
    run_root(pool, sort_root, &call);
    return call.moves;
}

/* ---- quick: quicksort, the same price for each element that a partition looks at. Each partition
 * is one thread's work; the cut is somewhere in the middle half. Unit: a look ---- */

typedef struct quick_job { wsq_job job; long size; double looks; } quick_job;

static void quick_run(wsq_ctx ctx, wsq_job *job);

static double quick_all(wsq_ctx ctx, long size) {
    quick_job upper;
    if (size <= SORT_GRAIN) {
        sim_work((uint64_t)size * SORT_NS * 11); /* its logarithm */
        return (double)size * 11;
    }
    sim_work((uint64_t)size * SORT_NS);
    upper.size = size / 4 + (long)((uint64_t)size * 2654435761u >> 8) % (size / 2);
    wsq_fork(&ctx, &upper.job, quick_run);
    double looks = quick_all(ctx, size - upper.size);
    wsq_join(&ctx, &upper.job);
    return (double)size + looks + upper.looks;
}

static void quick_run(wsq_ctx ctx, wsq_job *job) {
    quick_job *self = wsq_container_of(job, quick_job, job);
    self->looks = quick_all(ctx, self->size);
}

static void quick_root(wsq_ctx ctx, void *arg) { quick_run(ctx, &((quick_job *)arg)->job); }

static double run_quick(wsq_pool *pool, double units) {
    quick_job call = {.size = (long)(units / 20)};
    run_root(pool, quick_root, &call);
    return call.looks;
}

#endif /* SIM_FORKJOIN_H */
