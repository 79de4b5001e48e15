/* Merge sort with a parallel merge, stable, against the same sort on one core.
 *     cc -O2 -pthread mergesort.c -o mergesort && ./mergesort
 *
 * Two sorted runs are merged in parallel by cutting both at the same value: the middle item of the
 * longer run, and where it belongs in the other. Each half is then a merge of its own. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "command.h"

enum { SERIAL = 4096, INSERTION = 16 }; /* below SERIAL items a fork is not worth its setup */

static void insertion_sort(int *a, size_t n) {
    for (size_t i = 1; i < n; i++) {
        int x = a[i];
        size_t j = i;
        for (; j > 0 && a[j - 1] > x; j--) a[j] = a[j - 1];
        a[j] = x;
    }
}

static void merge_alone(const int *a, size_t n, const int *b, size_t m, int *out) {
    const int *a_end = a + n, *b_end = b + m;
    while (a < a_end && b < b_end) *out++ = *b < *a ? *b++ : *a++; /* equal: a is first */
    memcpy(out, a, (size_t)(a_end - a) * sizeof *a);
    out += a_end - a;
    memcpy(out, b, (size_t)(b_end - b) * sizeof *b);
}

/* Sorts a into itself, or into other: whichever is asked for, so that no level copies. */
static void sort_alone(int *a, int *other, size_t n, bool into_other) {
    if (n <= INSERTION) {
        insertion_sort(a, n);
        if (into_other) memcpy(other, a, n * sizeof *a);
        return;
    }
    size_t h = n / 2;
    sort_alone(a, other, h, !into_other);
    sort_alone(a + h, other + h, n - h, !into_other);
    if (into_other) merge_alone(a, h, a + h, n - h, other);
    else merge_alone(other, h, other + h, n - h, a);
    if (n >= SERIAL) progress_add(n);
}

/* How many items of the run come before x; equal ones too if x is from the run behind. */
static size_t rank_of(int x, const int *run, size_t n, bool after_equal) {
    size_t low = 0;
    while (low < n) {
        size_t middle = low + (n - low) / 2;
        if (run[middle] < x || (after_equal && run[middle] == x)) low = middle + 1;
        else n = middle;
    }
    return low;
}

struct merge_job {
    const int *a, *b;
    size_t n, m;
    int *out;
    wsq_job job;
};

static void merge(wsq_ctx ctx, const int *a, size_t n, const int *b, size_t m, int *out);

static void merge_run(wsq_ctx ctx, wsq_job *job) {
    struct merge_job *self = wsq_container_of(job, struct merge_job, job);
    merge(ctx, self->a, self->n, self->b, self->m, self->out);
}

static void merge(wsq_ctx ctx, const int *a, size_t n, const int *b, size_t m, int *out) {
    if (n + m < SERIAL) {
        merge_alone(a, n, b, m, out);
        return;
    }
    size_t i = n / 2, j = m / 2;
    if (n >= m) j = rank_of(a[i], b, m, false);
    else i = rank_of(b[j], a, n, true);
    struct merge_job front = {.a = a, .n = i, .b = b, .m = j, .out = out};
    wsq_fork(&ctx, &front.job, merge_run);
    merge(ctx, a + i, n - i, b + j, m - j, out + i + j);
    wsq_join(&ctx, &front.job);
}

struct sort_job {
    int *a, *other;
    size_t n;
    bool into_other;
    wsq_job job;
};

static void sort(wsq_ctx ctx, int *a, int *other, size_t n, bool into_other);

static void sort_run(wsq_ctx ctx, wsq_job *job) {
    struct sort_job *self = wsq_container_of(job, struct sort_job, job);
    sort(ctx, self->a, self->other, self->n, self->into_other);
}

static void sort(wsq_ctx ctx, int *a, int *other, size_t n, bool into_other) {
    if (n < SERIAL) {
        sort_alone(a, other, n, into_other);
        return;
    }
    size_t h = n / 2;
    struct sort_job front = {.a = a, .other = other, .n = h, .into_other = !into_other};
    wsq_fork(&ctx, &front.job, sort_run);
    sort(ctx, a + h, other + h, n - h, !into_other);
    wsq_join(&ctx, &front.job);
    if (into_other) merge(ctx, a, h, a + h, n - h, other);
    else merge(ctx, other, h, other + h, n - h, a);
    progress_add(n);
}

/* What progress_add adds up to: each item is merged once on every level. */
static size_t merged_items(size_t n) {
    return n < SERIAL ? 0 : n + merged_items(n / 2) + merged_items(n - n / 2);
}

static void start(wsq_ctx ctx, void *arg) {
    struct sort_job *whole = arg;
    sort(ctx, whole->a, whole->other, whole->n, false);
}

static const char help[] =
    "mergesort [count]\n"
    "Sorts so many random numbers (1 to 1000000000, 10000000) on one core and on all.\n";

int main(int argc, char **argv) {
    while (command_option(argc, argv, "h", help)) {}
    const char *text = command_next(argc, argv);
    size_t count = text ? command_number("count", text, 1, 1000000000) : 10000000;
    size_t size = count * sizeof(int);
    command_end(argc, argv);
    int *alone = malloc(size), *together = malloc(size), *other = malloc(size);
    wsq_pool *pool;
    if (!alone || !together || !other || wsq_pool_create(&pool, NULL) != WSQ_OK) {
        fputs("mergesort: out of memory\n", stderr);
        return 1;
    }
    uint32_t x = 2463534242u;
    for (size_t i = 0; i < count; i++) {
        x ^= x << 13, x ^= x >> 17, x ^= x << 5;
        alone[i] = together[i] = (int)(x >> 1);
    }

    memset(other, 0, size); /* touch every page now: the system's work is not the sort's */
    progress_begin("sorting on one core", merged_items(count));
    double began = command_now();
    sort_alone(alone, other, count, false);
    double sequential = command_now() - began;
    progress_end();

    struct sort_job whole = {.a = together, .other = other, .n = count};
    progress_begin("sorting on all", merged_items(count));
    began = command_now();
    wsq_run(pool, start, &whole);
    double parallel = command_now() - began;
    progress_end();

    bool same = memcmp(alone, together, size) == 0;
    printf("%zu integers, %u workers: %s\n", count, wsq_pool_workers(pool),
           same ? "sorted" : "WRONG");
    printf("sequential %.3f s, parallel %.3f s, speed-up %.2f\n", sequential, parallel,
           sequential / parallel);
    wsq_pool_destroy(pool);
    free(other);
    free(together);
    free(alone);
    return same ? 0 : 1;
}
