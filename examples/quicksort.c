/* Quicksort on every core, and against one.
 *     cc -O2 -pthread quicksort.c -o quicksort && ./quicksort
 *
 * Sorting the two sides in parallel is not enough: the first partition alone reads everything, and
 * on one core it would bound the speed-up. So large ranges are partitioned in parallel too. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "command.h"

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

/* The same, and it says how far it is. */
static void sort_serially(int *a, size_t n) {
    while (n >= SERIAL) {
        size_t left = partition(a, n, choose_pivot(a, n));
        sort_serially(a, left);
        a += left;
        n -= left;
    }
    sort_alone(a, n);
    progress_add(n);
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
        sort_serially(a, n);
        return;
    }
    size_t left = partition_wide(ctx, a, n, choose_pivot(a, n));
    if (left == 0 || left == n) { /* rare: the pivot is the least or the greatest item of all */
        sort_serially(a, n);
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

static void fill(int *a, size_t n) {
    uint64_t x = 88172645463325252u;
    for (size_t i = 0; i < n; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        a[i] = (int)(x >> 33);
    }
}

static const char help[] =
    "quicksort [-w workers] [count]\n"
    "Sorts so many random numbers (1 to 1000000000, 10000000) on one core and on all.\n"
    "  -w  workers, 1 to 1024 (one per usable core)\n";

int main(int argc, char **argv) {
    unsigned workers = 0;
    while (command_option(argc, argv, "w:", help)) {
        workers = command_number("workers", command.value, 1, 1024);
    }
    const char *text = command_next(argc, argv);
    size_t count = text ? command_number("count", text, 1, 1000000000) : 10000000;
    size_t size = count * sizeof(int);
    command_end(argc, argv);
    int *alone = malloc(size), *together = malloc(size);
    wsq_pool *pool;
    wsq_config config = {.workers = workers};
    if (!alone || !together || wsq_pool_create(&pool, &config) != WSQ_OK) {
        fputs("quicksort: out of memory\n", stderr);
        return 1;
    }
    fill(alone, count);
    memcpy(together, alone, size);

    progress_begin("sorting on one core", count);
    double began = command_now();
    sort_serially(alone, count);
    double sequential = command_now() - began;
    progress_end();

    struct range whole = {.items = together, .count = count};
    progress_begin("sorting on all", count);
    began = command_now();
    wsq_run(pool, start, &whole);
    double parallel = command_now() - began;
    progress_end();

    wsq_stats stats;
    wsq_pool_stats(pool, &stats);
    bool same = memcmp(alone, together, size) == 0;
    printf("%zu integers, %u workers: %s\n", count, wsq_pool_workers(pool),
           same ? "sorted" : "WRONG");
    printf("sequential %.3f s, parallel %.3f s, speed-up %.2f\n", sequential, parallel,
           sequential / parallel);
    printf("jobs offered to thieves %llu, stolen %llu\n", (unsigned long long)stats.published,
           (unsigned long long)stats.jobs_stolen);
    wsq_pool_destroy(pool);
    free(together);
    free(alone);
    return same ? 0 : 1;
}
