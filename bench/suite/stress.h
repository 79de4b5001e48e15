/* Part 4 of the suite: 10^6 empty tasks from 8 threads outside. */
#ifndef BENCH_SUITE_STRESS_H
#define BENCH_SUITE_STRESS_H

#include "report.h"

#define STRESS 1000000
#define SUBMITTERS 8

typedef struct submitter {
    pthread_t thread;
    long first, count;
    bool rival;
} submitter;

static void *submit(void *arg) {
    submitter *self = arg;
    for (long i = self->first; i < self->first + self->count; i++) {
        if (self->rival) mutex_pool_spawn(&mutexes, &units[i].rival);
        else bench_check(wsq_spawn(pool, &units[i].task) == WSQ_OK, "spawn");
    }
    return NULL;
}

static double run_submitters(long count, bool rival) {
    submitter threads[SUBMITTERS];
    uint64_t done = 0;
    prepare(count);
    uint64_t start = bench_now();
    for (int i = 0; i < SUBMITTERS; i++) {
        long share_of = count / SUBMITTERS;
        threads[i] = (submitter){.first = i * share_of, .count = share_of, .rival = rival};
        bench_check(pthread_create(&threads[i].thread, NULL, submit, &threads[i]) == 0, "thread");
    }
    for (int i = 0; i < SUBMITTERS; i++) pthread_join(threads[i].thread, NULL);
    submit_ns = bench_since(start);
    if (rival) mutex_pool_wait(&mutexes);
    else bench_check(wsq_pool_wait(pool) == WSQ_OK, "wait");
    double ns = bench_since(start);
    for (unsigned i = 0; i < workers; i++) done += tracks[i].tasks;
    bench_check(done == (uint64_t)count, "every task once");
    return ns;
}

static double stress_wsq(long count) {
    return run_submitters(count, false);
}

static double stress_mutex(long count) {
    return run_submitters(count, true);
}

static void suite_stress(void) {
    static double (*const ways[])(long) = {stress_wsq, stress_mutex};
    static const char *const names[] = {"wsq", "mutex_pool"};
    wsq_stats before;
    for (long i = 0; i < STRESS; i++) units[i].loops = 0;
    compare("stress", STRESS, ways, names, 2, 0);
    report_submission("stress", STRESS);
    wsq_pool_stats(pool, &before);
    double ns = stress_wsq(STRESS);
    report("suite/stress_per_task", ns / STRESS, "ns", "");
    report_distribution("stress", STRESS, &before);
}

#endif
