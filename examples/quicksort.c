/* Quicksort on every core, and against one.
 *     quicksort [count [workers]]
 *
 * Sorting the two sides in parallel is not enough: the first partition alone reads everything, and
 * on one core it would bound the speed-up. So large ranges are partitioned in parallel too. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    INSERTION = 24,       /* measured: 16 to 32 are equal */
    SERIAL = 2048,        /* below this many items a fork is not worth its setup */
    WIDE = 1 << 17        /* above this many items one core's partition is worth splitting */
};

static void swap(int *a, int *b) {
    int t = *a;
    *a = *b;
    *b = t;
}

static void insertion_sort(int *a, size_t n) {
    for (size_t i = 1; i < n; i++) {
        int x = a[i];
        size_t j = i;
        for (; j > 0 && a[j - 1] > x; j--) a[j] = a[j - 1];
        a[j] = x;
    }
}

static int median(int a, int b, int c) {
    if (a > b) swap(&a, &b);
    return c < a ? a : c > b ? b : c;
}

/* The median of three medians: close to the middle, so that neither side is far longer. */
static int choose_pivot(const int *a, size_t n) {
    const int *b = a + n / 2, *c = a + n - 1;
    size_t d = n / 8;
    return median(median(a[0], a[d], a[2 * d]), median(b[-(ptrdiff_t)d], b[0], b[d]),
                  median(c[-2 * (ptrdiff_t)d], c[-(ptrdiff_t)d], c[0]));
}

/* Items below the pivot to the front; their number. Equal ones go to either side (half each), or a
 * range of equal items would never be divided. */
static size_t partition(int *a, size_t n, int pivot) {
    size_t i = 0, j = n;
    for (;;) {
        while (i < j && a[i] < pivot) i++;
        while (i < j && a[j - 1] > pivot) j--;
        if (j - i < 2) return i;
        swap(&a[i++], &a[--j]);
    }
}

static void sort_alone(int *a, size_t n) {
    while (n > INSERTION) {
        size_t left = partition(a, n, choose_pivot(a, n));
        sort_alone(a, left);
        a += left;
        n -= left;
    }
    insertion_sort(a, n);
}

struct range {
    int *items;
    size_t count, left;
    int pivot;
    wsq_job job;
};

struct blocks {
    int *one, *other;
};

static void exchange(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    struct blocks *b = arg;
    (void)ctx;
    for (size_t i = begin; i < end; i++) swap(&b->one[i], &b->other[i]);
}

static size_t partition_wide(wsq_ctx ctx, int *a, size_t n, int pivot);

static void partition_run(wsq_ctx ctx, wsq_job *job) {
    struct range *r = wsq_container_of(job, struct range, job);
    r->left = partition_wide(ctx, r->items, r->count, r->pivot);
}

/* Partition both halves at once, then exchange the first half's large items with the second half's
 * small ones: they are neighbours. */
static size_t partition_wide(wsq_ctx ctx, int *a, size_t n, int pivot) {
    if (n < WIDE) return partition(a, n, pivot);
    struct range front = {.items = a, .count = n / 2, .pivot = pivot};
    wsq_fork(&ctx, &front.job, partition_run);
    size_t small = partition_wide(ctx, a + n / 2, n - n / 2, pivot);
    wsq_join(&ctx, &front.job);

    size_t large = n / 2 - front.left, count = small < large ? small : large;
    struct blocks blocks = {a + front.left, a + n / 2 + small - count};
    wsq_for(ctx, 0, count, 0, exchange, &blocks);
    return front.left + small;
}

static void sort(wsq_ctx ctx, int *a, size_t n);

static void sort_run(wsq_ctx ctx, wsq_job *job) {
    struct range *r = wsq_container_of(job, struct range, job);
    sort(ctx, r->items, r->count);
}

static void sort(wsq_ctx ctx, int *a, size_t n) {
    if (n < SERIAL) {
        sort_alone(a, n);
        return;
    }
    size_t left = partition_wide(ctx, a, n, choose_pivot(a, n));
    if (left == 0 || left == n) { /* rare: the pivot is the least or the greatest item of all */
        sort_alone(a, n);
        return;
    }
    struct range front = {.items = a, .count = left};
    wsq_fork(&ctx, &front.job, sort_run);
    sort(ctx, a + left, n - left);
    wsq_join(&ctx, &front.job);
}

static void start(wsq_ctx ctx, void *arg) {
    struct range *whole = arg;
    sort(ctx, whole->items, whole->count);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fill(int *a, size_t n) {
    uint64_t x = 88172645463325252u;
    for (size_t i = 0; i < n; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        a[i] = (int)(x >> 33);
    }
}

/* -1: not a whole number. */
static long number(const char *text) {
    char *end;
    long n = strtol(text, &end, 10);
    return end == text || *end != '\0' ? -1 : n;
}

int main(int argc, char **argv) {
    long n = argc > 1 ? number(argv[1]) : 10000000;
    long workers = argc > 2 ? number(argv[2]) : 0;
    if (argc > 3 || n < 1 || n > 1000000000 || workers < 0 || workers > 1024) {
        fputs("usage: quicksort [count up to 1000000000 [workers up to 1024]]\n", stderr);
        return 2;
    }
    size_t count = (size_t)n, size = count * sizeof(int);
    int *alone = malloc(size), *together = malloc(size);
    wsq_pool *pool;
    wsq_config config = {.workers = (unsigned)workers};
    if (!alone || !together || wsq_pool_create(&pool, &config) != WSQ_OK) {
        fputs("quicksort: out of memory\n", stderr);
        return 1;
    }
    fill(alone, count);
    memcpy(together, alone, size);

    double began = now();
    sort_alone(alone, count);
    double sequential = now() - began;

    struct range whole = {.items = together, .count = count};
    began = now();
    wsq_run(pool, start, &whole);
    double parallel = now() - began;

    wsq_stats stats;
    wsq_pool_stats(pool, &stats);
    bool same = memcmp(alone, together, size) == 0;
    printf("%ld integers, %u workers: %s\n", n, wsq_pool_workers(pool), same ? "sorted" : "WRONG");
    printf("sequential %.3f s, parallel %.3f s, speed-up %.2f\n", sequential, parallel,
           sequential / parallel);
    printf("jobs offered to thieves %llu, stolen %llu\n", (unsigned long long)stats.published,
           (unsigned long long)stats.jobs_stolen);
    wsq_pool_destroy(pool);
    free(together);
    free(alone);
    return same ? 0 : 1;
}
