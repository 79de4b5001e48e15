/* efficiency.h - the time of one core, divided by n and by the time of n cores. */
#ifndef SIM_EFFICIENCY_H
#define SIM_EFFICIENCY_H

#include "report.h"

typedef struct workload {
    const char *name, *what;
    double unit_ns;                        /* about, to choose how many there are */
    double (*fork)(wsq_pool *pool, double units); /* NULL: tasks */
    uint32_t task_ns;
    unsigned spawners;                     /* 0: all workers */
    unsigned outside;                      /* threads that submit instead */
    bool pinned;                           /* true: each spawning thread spawns to one worker */
    bool blocks;                           /* true: there is a stand-in for each worker; the ideal
                                            * is unit_ns, since one worker waits for wake-ups, too */
} workload;

static const workload workloads[] = {
    {.name = "fib", .what = "fork in every inner node, no work", .unit_ns = 1.1, .fork = run_fib},
    {.name = "skynet", .what = "tree of ten, no work", .unit_ns = 1.1, .fork = run_skynet},
    {.name = "uts", .what = "unforeseeable tree, 100 ns a node", .unit_ns = 103, .fork = run_uts},
    {.name = "loop", .what = "wsq_for, 100 ns each", .unit_ns = 100, .fork = run_loop},
    {.name = "uneven", .what = "wsq_for, 50 ns to 100 us each", .unit_ns = 100, .fork = run_uneven},
    {.name = "sort", .what = "mergesort, parallel merges", .unit_ns = 2, .fork = run_sort},
    {.name = "quick", .what = "quicksort, each partition serial", .unit_ns = 2, .fork = run_quick},
    {.name = "all-0.5us", .what = "tasks, spawned by all workers", .unit_ns = 530, .task_ns = 500},
    {.name = "all-2us", .what = "", .unit_ns = 2030, .task_ns = 2000},
    {.name = "pin-2us", .what = "the spawners pinned to workers", .unit_ns = 2030,
     .task_ns = 2000, .pinned = true},
    {.name = "all-10us", .what = "", .unit_ns = 10030, .task_ns = 10000},
    {.name = "all-100us", .what = "", .unit_ns = 100030, .task_ns = 100000},
    {.name = "one-0.5us", .what = "tasks, spawned by one worker", .unit_ns = 530, .task_ns = 500,
     .spawners = 1},
    {.name = "one-2us", .what = "", .unit_ns = 2030, .task_ns = 2000, .spawners = 1},
    {.name = "one-10us", .what = "", .unit_ns = 10030, .task_ns = 10000, .spawners = 1},
    {.name = "reset", .what = "timers set and cancelled by all workers", .unit_ns = 70,
     .fork = run_resets},
    {.name = "sleep", .what = "tasks of 2 us that sleep in between", .unit_ns = 2200,
     .fork = run_sleeps},
    {.name = "block", .what = "stages of 10 us that then block for 10 us", .unit_ns = 10000,
     .fork = run_blocks, .blocks = true},
    {.name = "guests", .what = "up to 64 threads outside run small trees", .unit_ns = 1.1,
     .fork = run_guests},
    {.name = "out4-2us", .what = "tasks, from 4 threads outside", .unit_ns = 2100, .task_ns = 2000,
     .outside = 4},
    {.name = "out4-10us", .what = "", .unit_ns = 10100, .task_ns = 10000, .outside = 4},
    {.name = "out64-2us", .what = "tasks, from 64 threads outside", .unit_ns = 2100,
     .task_ns = 2000, .outside = 64},
    {.name = "out64-10us", .what = "", .unit_ns = 10100, .task_ns = 10000, .outside = 64},
};

enum { WORKLOADS = sizeof workloads / sizeof *workloads };

typedef struct outcome {
    double units, ns; /* of the whole, by the clock */
    double feed_ns;   /* of a spawn, in the spawning thread */
    double worst;     /* the share of all time that was lost on one line */
    sim_meter meter;
} outcome;

static double workload_run(const workload *load, wsq_pool *pool, unsigned workers, double units) {
    if (load->fork != NULL) return load->fork(pool, units);
    if (load->outside != 0) return run_outside(pool, units, load->task_ns, load->outside);
    unsigned spawners = load->spawners != 0 ? load->spawners : workers;
    return run_tasks(pool, units, load->task_ns, spawners, load->pinned);
}

/* On a pool that sleeps until then. `hot`: so many of the hottest lines are printed. */
static outcome workload_measure(const workload *load, const sim_machine *machine, unsigned workers,
                                double units, int hot) {
    outcome result = {0};
    sim_standins = load->blocks ? workers : WSQ_STANDINS_OFF;
    wsq_pool *pool = pool_make(machine, workers);
    result.meter = sim_meter_start();
    result.units = workload_run(load, pool, workers, units);
    sim_meter_stop(&result.meter);
    result.ns = (double)(run_end - run_start);
    if (fed != 0) result.feed_ns = (double)feed_ps / 1000 / (double)fed;
    result.worst = report_hot(load->name, workers, &result.meter, hot);
    if (hot > 0) report_time(&result.meter, workers);
    sim_pool_end(pool);
    return result;
}

/* The time that one worker takes for a unit, and its feeder for a spawn. */
static outcome workload_alone(const workload *load, const sim_machine *machine, double ns) {
    workload alone = *load;
    if (load->outside != 0) alone.outside = 1;
    return workload_measure(&alone, machine, 1, ns / load->unit_ns, 0);
}

/* The least time that n cores could take, or the spawners need, beside the time they took. */
static double workload_efficiency(const workload *load, const outcome *one, const outcome *many,
                                  unsigned workers) {
    unsigned spawners = load->outside + load->spawners;
    double each = load->blocks ? load->unit_ns : one->ns / one->units;
    double least = many->units * each / workers;
    double feed = spawners != 0 ? many->units * one->feed_ns / spawners : 0;
    return (feed > least ? feed : least) / many->ns;
}

#endif /* SIM_EFFICIENCY_H */
