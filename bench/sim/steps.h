/* steps.h - bursts, open loads, and what a step costs by the number of workers. */
#ifndef SIM_STEPS_H
#define SIM_STEPS_H

#include "report.h"

/* ---- spread: when has the k-th core its first task? ---- */

typedef enum burst { BURST_OUTSIDE, BURST_BATCH, BURST_WORKER } burst;

static const char *const burst_names[] = {"outside", "batch", "worker"};

enum { BURST_TASK_NS = 2000000 };

/* `count` long tasks on a pool of `workers` that sleep. starts[k]: us until the k-th began. Returns
 * the wake-ups. */
static uint64_t spread_burst(const sim_machine *machine, unsigned workers, unsigned count,
                             burst from, double *starts) {
    wsq_pool *pool = pool_make(machine, workers);
    unit *units = units_make(count, BURST_TASK_NS);
    sim_meter meter = sim_meter_start();
    run_start = sim_now();
    if (from == BURST_WORKER) {
        run_spawners(pool, units, count, 1, count, false);
    } else if (from == BURST_OUTSIDE) {
        for (unsigned i = 0; i < count; i++) unit_spawn(pool, &units[i]);
    } else {
        wsq_task *tasks[SIM_CORES];
        for (unsigned i = 0; i < count; i++) {
            wsq_task_init(&units[i].task, unit_poll);
            units[i].spawned_at = run_start;
            tasks[i] = &units[i].task;
        }
        if (wsq_spawn_batch(pool, tasks, count) != WSQ_OK) sim_fail("a batch was refused");
    }
    if (wsq_pool_wait(pool) != WSQ_OK) sim_fail("the burst did not end");
    sim_meter_stop(&meter);
    for (unsigned i = 0; i < count; i++)
        starts[i] = (double)(units[i].spawned_at + units[i].wait - run_start) / 1e3;
    qsort(starts, count, sizeof *starts, double_order);
    sim_pool_end(pool);
    return meter.woken;
}

/* A loop of 200 us for each core, on a pool that sleeps: its time beside the ideal. */
static double spread_loop(const sim_machine *machine, unsigned workers) {
    wsq_pool *pool = pool_make(machine, workers);
    run_loop(pool, 2000.0 * workers);
    sim_pool_end(pool);
    return (double)(run_end - run_start) / 200e3;
}

/* ---- an open load: Poisson's arrivals from threads outside; one can feed 8 workers ---- */

enum { LOAD_THREADS = 4, LOAD_WORKERS = 8 };

typedef struct load_result {
    double wait_p50, wait_p99, wait_p999, service_mean, service_p99; /* us */
    double awake, busy;                                              /* cores */
    double wakes;                                                    /* per task */
    double worst;                                                    /* line, of all time */
} load_result;

/* Bounded Pareto, exponent 1.1, from 1 us to 1 ms: most are short, most of the work is in long
 * ones. */
static uint32_t load_service_ns(uint64_t random) {
    double low = 1000, high = 1e6, a = 1.1;
    double ratio = __builtin_pow(low / high, a);
    return (uint32_t)(low * __builtin_pow(1 - fraction(random) * (1 - ratio), -1 / a));
}

static load_result load_run(const sim_machine *machine, unsigned workers, double share,
                            size_t count, int hot) {
    load_result result = {0};
    wsq_pool *pool = pool_make(machine, workers);
    unit *units = units_make(count, 0);
    double *values = (double *)malloc(count * sizeof *values);
    if (values == NULL) sim_fail("no memory");
    for (size_t i = 0; i < count; i++) {
        units[i].ns = load_service_ns(scramble(i + 7));
        values[i] = units[i].ns / 1e3;
        result.service_mean += values[i] / (double)count;
    }
    qsort(values, count, sizeof *values, double_order);
    result.service_p99 = quantile(values, count, 0.99);
    sim_meter meter = sim_meter_start();
    unsigned threads = workers / LOAD_WORKERS;
    if (threads < LOAD_THREADS) threads = LOAD_THREADS;
    if (threads >= SIM_OUTSIDE) threads = SIM_OUTSIDE - 1; /* the caller has one of those cores */
    run_submitters(pool, units, count, threads, result.service_mean * 1e3 / workers / share);
    sim_meter_stop(&meter);
    for (size_t i = 0; i < count; i++) values[i] = units[i].wait / 1e3;
    qsort(values, count, sizeof *values, double_order);
    result.wait_p50 = quantile(values, count, 0.5);
    result.wait_p99 = quantile(values, count, 0.99);
    result.wait_p999 = quantile(values, count, 0.999);
    result.awake = workers - (double)meter.asleep / 1000 / (double)meter.ns;
    result.busy = (double)meter.work / 1000 / (double)meter.ns;
    result.wakes = (double)meter.woken / (double)count;
    result.worst = report_hot("open load", workers, &meter, hot);
    if (hot > 0) report_time(&meter, workers);
    free(values);
    sim_pool_end(pool);
    return result;
}

/* ---- ping-pong: pairs of tasks that wake each other ---- */

typedef struct player {
    WSQI_ALIGNED(64) wsq_task task;
    struct player *other;
    wsqi_a64 *ball; /* of the pair: hits so far */
    uint32_t left, serves;
} player;

static wsq_poll play(wsq_ctx ctx, wsq_task *task) {
    player *self = wsq_container_of(task, player, task);
    uint64_t hits = wsqi_load_acq(self->ball);
    (void)ctx;
    if (hits % 2 != self->serves) return WSQ_PENDING;
    wsqi_store_rel(self->ball, hits + 1);
    wsq_wake(&self->other->task);
    if (--self->left > 0) return WSQ_PENDING;
    if (sim_now() > run_end) run_end = sim_now();
    return WSQ_DONE;
}

/* As many pairs as workers. ns of the clock for a round trip of each pair. */
static double step_ping_pong(const sim_machine *machine, unsigned workers) {
    const uint32_t trips = 1000;
    wsq_pool *pool = pool_make(machine, workers);
    player *players = (player *)sim_allocate(2 * workers * sizeof *players);
    char *balls = (char *)sim_allocate(workers * 64);
    run_start = sim_now();
    run_end = 0;
    for (unsigned i = 0; i < 2 * workers; i++) {
        players[i].other = &players[i ^ 1];
        players[i].ball = (wsqi_a64 *)(void *)(balls + i / 2 * 64);
        players[i].left = trips;
        players[i].serves = i % 2;
        wsq_task_init(&players[i].task, play);
        if (wsq_spawn(pool, &players[i].task) != WSQ_OK) sim_fail("a player was refused");
    }
    if (wsq_pool_wait(pool) != WSQ_OK) sim_fail("the game did not end");
    sim_pool_end(pool);
    return (double)(run_end - run_start) / trips;
}

/* ---- a pipeline: a ring of stages, 2 us each; half as many things on the way ---- */

enum { STAGE_NS = 2000 };

typedef struct stage {
    WSQI_ALIGNED(64) wsq_task task;
    struct stage *next;
    wsqi_a32 waiting; /* things that the stage before has handed over */
    uint32_t left;
} stage;

static wsq_poll stage_poll(wsq_ctx ctx, wsq_task *task) {
    stage *self = wsq_container_of(task, stage, task);
    (void)ctx;
    if (self->left == 0) return WSQ_DONE;
    if (wsqi_load_acq(&self->waiting) == 0) return WSQ_PENDING;
    wsqi_add_acqrel(&self->waiting, 0u - 1u);
    sim_work(STAGE_NS);
    wsqi_add_acqrel(&self->next->waiting, 1u);
    wsq_wake(&self->next->task);
    if (sim_now() > run_end) run_end = sim_now();
    return --self->left == 0 ? WSQ_DONE : WSQ_YIELD;
}

/* Twice as many stages as workers, and as many things: ns for a thing to move on by a stage. */
static double step_pipeline(const sim_machine *machine, unsigned workers) {
    const uint32_t moves = 200;
    unsigned count = 2 * workers;
    wsq_pool *pool = pool_make(machine, workers);
    stage *stages = (stage *)sim_allocate(count * sizeof *stages);
    run_start = sim_now();
    run_end = 0;
    for (unsigned i = 0; i < count; i++) {
        stages[i].next = &stages[(i + 1) % count];
        stages[i].left = moves;
        wsqi_store_rlx(&stages[i].waiting, i % 2); /* Relaxed: not shared yet. */
        wsq_task_init(&stages[i].task, stage_poll);
    }
    for (unsigned i = 0; i < count; i++)
        if (wsq_spawn(pool, &stages[i].task) != WSQ_OK) sim_fail("a stage was refused");
    if (wsq_pool_wait(pool) != WSQ_OK) sim_fail("the pipeline did not end");
    sim_pool_end(pool);
    return (double)(run_end - run_start) / (moves * (double)count / workers);
}

/* ---- a barrier every 10 us: an iterative solver ---- */

enum { ITERATIONS = 100 };

static void solver_root(wsq_ctx ctx, void *arg) {
    for (int i = 0; i < ITERATIONS; i++)
        wsq_for(ctx, 0, ((loop_call *)arg)->count, 5, loop_body, arg);
}

/* us for an iteration that should take 10. */
static double step_barrier(const sim_machine *machine, unsigned workers) {
    loop_call call = {.count = 100u * workers, .even = true};
    wsq_pool *pool = pool_make(machine, workers);
    run_root(pool, solver_root, &call);
    sim_pool_end(pool);
    return (double)(run_end - run_start) / 1e3 / ITERATIONS;
}

#endif /* SIM_STEPS_H */
