/* Quicksort of 32-bit integers: sequential, and with a fork for each right half. */
#ifndef BENCH_QUICK_H
#define BENCH_QUICK_H

#include "bench.h"

#define QUICK_CUTOFF 2048 /* below: one job. Measured: 1024 to 8192 make no difference */
#define QUICK_SMALL 24    /* below: insertion */

static inline void insertion(int32_t *a, size_t n) {
    for (size_t i = 1; i < n; i++) {
        int32_t x = a[i];
        size_t k = i;
        for (; k > 0 && a[k - 1] > x; k--) a[k] = a[k - 1];
        a[k] = x;
    }
}

static inline int32_t middle(int32_t a, int32_t b, int32_t c) {
    int32_t low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

/* Hoare's: afterwards nothing before the result is greater than anything from it on. */
static inline size_t partition(int32_t *a, size_t n) {
    int32_t pivot = middle(a[n / 4], a[n / 2], a[n - 1 - n / 4]);
    size_t i = 0, k = n - 1;
    for (;;) {
        while (a[i] < pivot) i++;
        while (a[k] > pivot) k--;
        if (i >= k) return i > 0 ? i : 1;
        int32_t x = a[i];
        a[i++] = a[k];
        a[k--] = x;
    }
}

static inline void quick_plain(int32_t *a, size_t n) {
    while (n > QUICK_SMALL) {
        size_t cut = partition(a, n);
        quick_plain(a, cut);
        a += cut;
        n -= cut;
    }
    insertion(a, n);
}

typedef struct quick_job {
    wsq_job job;
    int32_t *a;
    size_t n;
} quick_job;

static inline void quick_run(wsq_ctx ctx, wsq_job *job);

static inline void quick(wsq_ctx ctx, int32_t *a, size_t n) {
    if (n < QUICK_CUTOFF) {
        quick_plain(a, n);
        return;
    }
    size_t cut = partition(a, n);
    quick_job right = {.a = a + cut, .n = n - cut};
    wsq_fork(&ctx, &right.job, quick_run);
    quick(ctx, a, cut);
    wsq_join(&ctx, &right.job);
}

static inline void quick_run(wsq_ctx ctx, wsq_job *job) {
    quick_job *self = wsq_container_of(job, quick_job, job);
    quick(ctx, self->a, self->n);
}

#endif
