/* Part 2 of the suite: quicksort of 10^7 integers, a fork for each half above the cutoff. */
#ifndef BENCH_SUITE_SORT_H
#define BENCH_SUITE_SORT_H

#include "report.h"

#define SORTED 10000000

static int32_t *input, *data;

static void sort_data(void) {
    wsq_random random;
    wsq_random_seed(&random, 1);
    input = bench_alloc(SORTED * sizeof *input);
    data = bench_alloc(SORTED * sizeof *data);
    for (long i = 0; i < SORTED; i++) input[i] = (int32_t)wsq_random_next(&random);
}

static void sort_root(wsq_ctx ctx, void *arg) {
    quick(ctx, arg, SORTED);
}

/* ns; `in`: NULL for the sequential one. */
static double sort_once(wsq_pool *in, void (*root)(wsq_ctx ctx, void *arg)) {
    memcpy(data, input, SORTED * sizeof *data);
    uint64_t start = bench_now();
    if (in != NULL) bench_check(wsq_run(in, root, data) == WSQ_OK, "run");
    else quick_plain(data, SORTED);
    double ns = bench_since(start);
    for (long i = 1; i < SORTED; i++) bench_check(data[i - 1] <= data[i], "sorted");
    return ns;
}

/* The tree that `quick` makes of these numbers: its forks, and its depth. */
static int sort_tree(int32_t *a, size_t n, long *forks) {
    if (n < QUICK_CUTOFF) return 0;
    size_t cut = partition(a, n);
    ++*forks;
    int left = sort_tree(a, cut, forks), right = sort_tree(a + cut, n - cut, forks);
    return 1 + (left > right ? left : right);
}

/* As `quick`, and every worker counts the numbers that it sorts at the leaves. */
static void counted_run(wsq_ctx ctx, wsq_job *job);

static void counted(wsq_ctx ctx, int32_t *a, size_t n) {
    if (n < QUICK_CUTOFF) {
        quick_plain(a, n);
        tracks[wsq_worker_index(ctx) % BENCH_MAX_WORKERS].tasks += n;
        return;
    }
    size_t cut = partition(a, n);
    quick_job right = {.a = a + cut, .n = n - cut};
    wsq_fork(&ctx, &right.job, counted_run);
    counted(ctx, a, cut);
    wsq_join(&ctx, &right.job);
}

static void counted_run(wsq_ctx ctx, wsq_job *job) {
    quick_job *self = wsq_container_of(job, quick_job, job);
    counted(ctx, self->a, self->n);
}

static void counted_root(wsq_ctx ctx, void *arg) {
    counted(ctx, arg, SORTED);
}

/* The caller of wsq_run works in place of one worker, so `workers` of the threads have a share. */
static void sort_balance(void) {
    double shares[BENCH_MAX_WORKERS] = {0}, most = 0;
    memset(tracks, 0, sizeof tracks);
    sort_once(pool, counted_root);
    for (unsigned i = 0, k = 0; i < BENCH_MAX_WORKERS && k < workers; i++)
        if (tracks[i].tasks != 0) shares[k++] = (double)tracks[i].tasks;
    for (unsigned i = 0; i < workers; i++) most = shares[i] > most ? shares[i] : most;
    char rest[64];
    snprintf(rest, sizeof rest, "largest_share=%.1f%%", 100 * most / SORTED);
    report("suite/sort_deviation", deviation(shares), "%", rest);
}

static void sort_scaling(double plain) {
    char rest[64];
    for (unsigned n = 1; n <= 16; n *= 2) {
        double samples[BENCH_MAX_ROUNDS];
        for (int i = 0; i < rounds; i++) samples[i] = sort_once(bench_pool(n), sort_root);
        double times = plain / bench_summarise(samples, rounds).median;
        unsigned cores = n < bench_all_workers() ? n : bench_all_workers();
        snprintf(rest, sizeof rest, "per_core=%.1f%%", 100 * times / cores);
        bench_line("suite/sort_scaling", times, "x", n, rest);
    }
}

static void suite_sort(void) {
    double plain[BENCH_MAX_ROUNDS], parallel[BENCH_MAX_ROUNDS], speedup[BENCH_MAX_ROUNDS];
    char rest[96];
    long forks = 0;
    wsq_stats before, after;
    sort_data();
    wsq_pool_stats(pool, &before);
    for (int i = 0; i < rounds; i++) {
        plain[i] = sort_once(NULL, NULL);
        parallel[i] = sort_once(pool, sort_root);
        speedup[i] = plain[i] / parallel[i];
    }
    wsq_pool_stats(pool, &after);
    double times = bench_summarise(speedup, rounds).median;
    double ns = bench_summarise(plain, rounds).median;
    summary.sort_speedup = times;
    report("suite/sort_plain", ns / 1e6, "ms", "");
    report("suite/sort_wsq", bench_summarise(parallel, rounds).median / 1e6, "ms", "");
    snprintf(rest, sizeof rest, "efficiency=%.1f%% jobs_published=%.0f jobs_stolen=%.0f",
             100 * times / workers, (double)(after.published - before.published) / rounds,
             (double)(after.jobs_stolen - before.jobs_stolen) / rounds);
    report("suite/sort_speedup", times, "x", rest);
    memcpy(data, input, SORTED * sizeof *data);
    int depth = sort_tree(data, SORTED, &forks);
    snprintf(rest, sizeof rest, "depth=%d", depth);
    report("suite/sort_forks", (double)forks, "forks", rest);
    sort_balance();
    sort_scaling(ns);
    free(input);
    free(data);
}

#endif
