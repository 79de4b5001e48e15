/* The units of work that the parts of the suite hand out, and the ways to run them. */
#ifndef BENCH_SUITE_UNITS_H
#define BENCH_SUITE_UNITS_H

#include "../quick.h"
#include "../rivals.h"

static unsigned workers;
static int rounds = 5;
static wsq_pool *pool;
static mutex_pool mutexes;

/* ---- work that takes a given time ---- */

static double loops_per_us;

/* Each step waits for the one before. */
static uint64_t burn(uint64_t loops) {
    uint64_t x = loops;
    while (loops-- > 0) x = x * 6364136223846793005u + 1442695040888963407u;
    return x;
}

static uint64_t loops_for(double us) {
    return (uint64_t)(us * loops_per_us);
}

static void calibrate(void) {
    double samples[15];
    for (int i = 0; i < 15; i++) {
        uint64_t start = bench_now(), x = burn(1000000);
        bench_keep(&x);
        samples[i] = 1e6 / (bench_since(start) / 1e3);
    }
    loops_per_us = bench_summarise(samples, 15).median;
}

/* ---- one task for all of the pools ---- */

typedef struct unit {
    wsq_task task;
    rival_task rival;
    uint64_t loops;
} unit;

/* What each worker did; on cache lines of their own. */
typedef struct track {
    WSQI_ALIGNED(WSQ_CACHELINE) uint64_t begin, end, longest_gap, busy;
    uint64_t tasks;
} track;

static track tracks[BENCH_MAX_WORKERS];
static bool tracking;
static unit *units;
static rival_task **rivals;

static void do_unit(const unit *self, unsigned worker) {
    track *own = &tracks[worker % BENCH_MAX_WORKERS];
    uint64_t begin = tracking ? bench_now() : 0;
    uint64_t x = burn(self->loops);
    bench_keep(&x);
    own->tasks++;
    if (!tracking) return;
    uint64_t end = bench_now();
    if (own->end != 0 && begin - own->end > own->longest_gap) own->longest_gap = begin - own->end;
    own->end = end;
    own->busy += end - begin;
}

static wsq_poll unit_poll(wsq_ctx ctx, wsq_task *task) {
    do_unit(wsq_container_of(task, unit, task), wsq_worker_index(ctx));
    return WSQ_DONE;
}

static void unit_rival(rival_task *task, unsigned worker) {
    do_unit(wsq_container_of(task, unit, rival), worker);
}

static void prepare(long count) {
    memset(tracks, 0, sizeof tracks);
    for (long i = 0; i < count; i++) {
        wsq_task_init(&units[i].task, unit_poll);
        units[i].rival.fn = unit_rival;
        rivals[i] = &units[i].rival;
    }
}

/* ---- ways to run `count` units; each returns ns until all are done ---- */

static double submit_ns; /* of it: until all were handed over */
static double submissions[BENCH_MAX_ROUNDS];

static double run_wsq(long count) {
    prepare(count);
    uint64_t start = bench_now();
    for (long i = 0; i < count; i++) wsq_spawn(pool, &units[i].task);
    submit_ns = bench_since(start);
    bench_check(wsq_pool_wait(pool) == WSQ_OK, "wait");
    return bench_since(start);
}

static double run_mutex(long count) {
    prepare(count);
    uint64_t start = bench_now();
    for (long i = 0; i < count; i++) mutex_pool_spawn(&mutexes, &units[i].rival);
    submit_ns = bench_since(start);
    mutex_pool_wait(&mutexes);
    return bench_since(start);
}

static double run_threads(long count) {
    prepare(count);
    uint64_t start = bench_now();
    run_in_threads(rivals, count);
    return bench_since(start);
}

static double run_shares(long count) {
    prepare(count);
    uint64_t start = bench_now();
    run_in_shares(rivals, count, workers);
    return bench_since(start);
}

#endif
