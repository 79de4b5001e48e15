/* Part 5 of the suite: single operations, and memory. */
#ifndef BENCH_SUITE_PRICE_H
#define BENCH_SUITE_PRICE_H

#include "stress.h"

#define STEALS 2000

static wsqi_a64 begun_at;

static wsq_poll note_begin(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    (void)task;
    wsqi_store_rel(&begun_at, bench_now());
    return WSQ_DONE;
}

typedef struct stealer {
    wsq_task task;
    double samples[STEALS];
} stealer;

/* Spawns a child and computes on: the child begins on another worker, which is looking already. */
static wsq_poll provoke(wsq_ctx ctx, wsq_task *task) {
    stealer *self = wsq_container_of(task, stealer, task);
    for (int i = 0; i < STEALS; i++) {
        wsq_task child;
        uint64_t begun;
        wsqi_store_rel(&begun_at, 0);
        wsq_task_init(&child, note_begin);
        uint64_t start = bench_now();
        wsq_spawn(wsq_pool_of(ctx), &child);
        while ((begun = wsqi_load_acq(&begun_at)) == 0) wsqi_pause();
        while (!wsq_task_done(&child)) wsqi_pause();
        self->samples[i] = (double)(begun - start);
    }
    return WSQ_DONE;
}

static long resident_kib(void) {
    long size = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &size, &resident) != 2) resident = 0;
    if (file) fclose(file);
    return resident * sysconf(_SC_PAGESIZE) / 1024;
}

static void suite_price(void) {
    static stealer self;
    uint64_t start;
    prepare(STRESS);
    for (long i = 0; i < STRESS; i++) units[i].loops = 0;
    start = bench_now();
    for (long i = 0; i < STRESS; i++) wsq_spawn(pool, &units[i].task);
    summary.spawn_ns = bench_since(start) / STRESS;
    report("suite/price_spawn", summary.spawn_ns, "ns", "from=outside");
    wsq_pool_wait(pool);
    if (workers > 1) {
        wsq_task_init(&self.task, provoke);
        wsq_spawn(pool, &self.task);
        wsq_pool_wait(pool);
        qsort(self.samples, STEALS, sizeof *self.samples, bench_order);
        summary.steal_ns = self.samples[STEALS / 2];
        report("suite/price_steal_p50", summary.steal_ns, "ns", "until=the-task-begins");
        report("suite/price_steal_p99", self.samples[STEALS * 99 / 100], "ns", "");
    }
    report("suite/price_task", (double)sizeof(wsq_task), "bytes", "");
    report("suite/price_job", (double)sizeof(wsq_job), "bytes", "");
    report("suite/price_worker", (double)sizeof(struct wsqi_worker), "bytes",
           "beside=its-job-stack");
    wsq_config config = {.workers = 64};
    wsq_pool *crowd = NULL;
    long before = resident_kib();
    bench_check(wsq_pool_create(&crowd, &config) == WSQ_OK, "pool");
    bench_sleep_us(50000);
    report("suite/price_worker_resident", (double)(resident_kib() - before) / 64, "KiB",
           "with=its-thread's-stack");
    wsq_pool_destroy(crowd);
}

#endif
