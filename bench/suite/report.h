/* How the parts of the suite compare ways, and say where the tasks went. */
#ifndef BENCH_SUITE_REPORT_H
#define BENCH_SUITE_REPORT_H

#include "units.h"

/* ---- reports ---- */

static void report(const char *name, double value, const char *unit_name, const char *rest) {
    bench_line(name, value, unit_name, workers, rest);
}

/* For the end. */
static struct {
    char lost[256];
    double sort_speedup, spawn_ns, steal_ns, utilisation, fifo_to_lifo;
} summary;

static void note_loss(const char *line, double times) {
    size_t used = strlen(summary.lost);
    if (times >= 0.97) return;
    snprintf(summary.lost + used, sizeof summary.lost - used, " %s (%.2f)", line + strlen("suite/"),
             times);
}

/* Interleaves the ways; prints the median time of each, and how much faster wsq (the first) is. */
static void compare(const char *name, long count, double (*const ways[])(long),
                    const char *const names[], int way_count, double work_ns) {
    double samples[4][BENCH_MAX_ROUNDS];
    char line[96], rest[96];
    for (int round = 0; round < rounds; round++) {
        for (int way = way_count; way-- > 0;) samples[way][round] = ways[way](count);
        submissions[round] = submit_ns; /* of wsq, which comes last */
    }
    for (int way = 0; way < way_count; way++) {
        bench_summary s = bench_summarise(samples[way], rounds);
        snprintf(line, sizeof line, "suite/%s_%s", name, names[way]);
        snprintf(rest, sizeof rest, "n=%ld spread=%.1f%% tasks_per_s=%.3g efficiency=%.1f%%", count,
                 s.spread, (double)count / s.median * 1e9, 100 * work_ns / s.median / workers);
        report(line, s.median / 1e6, "ms", rest);
        if (way == 0) continue;
        double ratios[BENCH_MAX_ROUNDS];
        for (int round = 0; round < rounds; round++)
            ratios[round] = samples[way][round] / samples[0][round];
        snprintf(line, sizeof line, "suite/%s_%s_to_wsq", name, names[way]);
        double times = bench_summarise(ratios, rounds).median;
        report(line, times, "x", "");
        note_loss(line, times);
    }
}

/* How long it took to hand the tasks over, in the rounds of the last comparison. */
static void report_submission(const char *name, long count) {
    char line[96], rest[64];
    bench_summary s = bench_summarise(submissions, rounds);
    snprintf(line, sizeof line, "suite/%s_submission", name);
    snprintf(rest, sizeof rest, "spread=%.1f%% tasks_per_s=%.3g", s.spread,
             (double)count / s.median * 1e9);
    report(line, s.median / 1e6, "ms", rest);
}

/* How far the worker that did most, or least, is from an equal share, in percent of that. */
static double deviation(const double *parts) {
    double sum = 0, worst = 0;
    for (unsigned i = 0; i < workers; i++) sum += parts[i];
    for (unsigned i = 0; i < workers; i++) {
        double off = parts[i] / (sum / workers) - 1;
        if (off < 0) off = -off;
        if (off > worst) worst = off;
    }
    return 100 * worst;
}

/* Where the tasks of the last run of wsq went. */
static void report_distribution(const char *name, long count, const wsq_stats *before) {
    wsq_stats after;
    char line[96], rest[160];
    double tasks[BENCH_MAX_WORKERS];
    wsq_pool_stats(pool, &after);
    for (unsigned i = 0; i < workers; i++) {
        tasks[i] = (double)tracks[i].tasks;
        snprintf(line, sizeof line, "suite/%s_worker_%u", name, i);
        snprintf(rest, sizeof rest, "share=%.1f%%", 100 * tasks[i] / (double)count);
        report(line, tasks[i], "tasks", rest);
    }
    snprintf(line, sizeof line, "suite/%s_deviation", name);
    report(line, deviation(tasks), "%", "of=tasks");
    uint64_t attempts = after.steal_attempts - before->steal_attempts;
    uint64_t steals = after.steals - before->steals;
    uint64_t own = after.local_pops + after.lifo_hits - before->local_pops - before->lifo_hits;
    snprintf(line, sizeof line, "suite/%s_local", name);
    /* A visit to the global queue takes one lock; the rings have none. */
    snprintf(rest, sizeof rest, "of=runs global=%.2f%% stolen=%.2f%% locks_per_task=%.4f",
             100 * (double)(after.global_tasks - before->global_tasks) / (double)count,
             100 * (double)(after.tasks_stolen - before->tasks_stolen) / (double)count,
             (double)(after.global_batches - before->global_batches) / (double)count);
    report(line, 100 * (double)own / (double)(after.run - before->run), "%", rest);
    snprintf(line, sizeof line, "suite/%s_steals", name);
    snprintf(rest, sizeof rest,
             "attempts=%llu success=%.1f%% stolen=%llu global_tasks=%llu parks=%llu",
             (unsigned long long)attempts, attempts ? 100 * (double)steals / (double)attempts : 0,
             (unsigned long long)(after.tasks_stolen - before->tasks_stolen),
             (unsigned long long)(after.global_tasks - before->global_tasks),
             (unsigned long long)(after.parks - before->parks));
    report(line, (double)steals, "steals", rest);
}

#endif
