/* Part 1 of the suite: 100,000 tasks of 1 us from one thread outside. */
#ifndef BENCH_SUITE_MICRO_H
#define BENCH_SUITE_MICRO_H

#include "report.h"

#define MICRO 100000

static void suite_micro(void) {
    static double (*const ways[])(long) = {run_wsq, run_mutex, run_threads};
    static const char *const names[] = {"wsq", "mutex_pool", "threads"};
    wsq_stats before;
    for (long i = 0; i < MICRO; i++) units[i].loops = loops_for(1);
    compare("micro", MICRO, ways, names, 3, MICRO * 1e3);
    report_submission("micro", MICRO);
    wsq_pool_stats(pool, &before);
    run_wsq(MICRO);
    report_distribution("micro", MICRO, &before);
}

#endif
