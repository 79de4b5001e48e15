/* Part 3 of the suite: many short tasks, some long ones, a few very long ones. */
#ifndef BENCH_SUITE_MIXED_H
#define BENCH_SUITE_MIXED_H

#include "report.h"

#define MIXED 10000
#define MIXED_ROUNDS 3 /* 5 s of work each time */

static const double sizes_us[] = {1, 100, 10000};
static wsqi_a64 stolen[3]; /* steals whose first task was of this size */

static int size_of(const unit *self) {
    return self->loops == loops_for(1) ? 0 : self->loops == loops_for(100) ? 1 : 2;
}

static void count_steal(void *user, wsq_event event, unsigned worker, const void *subject,
                        uint64_t value) {
    const wsq_task *task = subject;
    (void)user, (void)worker, (void)value;
    if (event != WSQ_EVENT_STEAL || task->fn != unit_poll) return;
    wsqi_add_rlx(&stolen[size_of(wsq_container_of(task, unit, task))], (uint64_t)1);
}

static wsq_poll spawn_all(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    for (long i = 0; i < MIXED; i++) wsq_spawn(wsq_pool_of(ctx), &units[i].task);
    return WSQ_DONE;
}

/* Spawned by a task, so that all that is not its worker's own share is stolen. */
static void mixed_steals(void) {
    long count[3] = {0};
    wsq_hooks hooks = {.event = count_steal};
    wsq_config config = {.workers = workers, .hooks = &hooks};
    wsq_pool *watched = NULL;
    wsq_task first;
    bench_check(wsq_pool_create(&watched, &config) == WSQ_OK, "pool");
    prepare(MIXED);
    wsq_task_init(&first, spawn_all);
    wsq_spawn(watched, &first);
    bench_check(wsq_pool_wait(watched) == WSQ_OK, "wait");
    wsq_pool_destroy(watched);
    for (long i = 0; i < MIXED; i++) count[size_of(&units[i])]++;
    for (int i = 0; i < 3; i++) {
        char line[64], rest[64];
        double steals = (double)wsqi_load_rlx(&stolen[i]);
        snprintf(line, sizeof line, "suite/mixed_steals_%gus", sizes_us[i]);
        snprintf(rest, sizeof rest, "tasks=%ld per_task=%.4f", count[i], steals / (double)count[i]);
        report(line, steals, "steals", rest);
    }
}

static void mixed_utilisation(void) {
    double busy = 0, gap = 0, parts[BENCH_MAX_WORKERS];
    wsq_stats before;
    char rest[96];
    tracking = true;
    wsq_pool_stats(pool, &before);
    double ns = run_wsq(MIXED);
    tracking = false;
    for (unsigned i = 0; i < workers; i++) {
        busy += parts[i] = (double)tracks[i].busy;
        if ((double)tracks[i].longest_gap > gap) gap = (double)tracks[i].longest_gap;
    }
    summary.utilisation = 100 * busy / ns / workers;
    snprintf(rest, sizeof rest, "longest_idle_gap_us=%.1f deviation=%.1f%%", gap / 1e3,
             deviation(parts));
    report("suite/mixed_utilisation", summary.utilisation, "%", rest);
    report_distribution("mixed", MIXED, &before);
}

static void suite_mixed(void) {
    static double (*const ways[])(long) = {run_wsq, run_mutex, run_shares};
    static const char *const names[] = {"wsq", "mutex_pool", "shares"};
    double work_ns = 0;
    int all_rounds = rounds;
    wsq_random random;
    wsq_random_seed(&random, 1);
    for (long i = 0; i < MIXED; i++) {
        uint32_t dice = wsq_random_below(&random, 100);
        double us = sizes_us[dice < 80 ? 0 : dice < 95 ? 1 : 2];
        units[i].loops = loops_for(us);
        work_ns += us * 1e3;
    }
    if (rounds > MIXED_ROUNDS) rounds = MIXED_ROUNDS;
    compare("mixed", MIXED, ways, names, 3, work_ns);
    rounds = all_rounds;
    mixed_utilisation();
    mixed_steals();
}

#endif
