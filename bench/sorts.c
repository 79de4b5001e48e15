/* Sorting 10^7 integers: quicksort, whose first partition nobody can help with, and merge sort with
 * a parallel merge. The sequential ones are the same code without the forks. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "quick.h"

static int32_t *input, *data, *scratch;

/* ---- merge sort ---- */

static void merge_plain(const int32_t *a, size_t n, const int32_t *b, size_t m, int32_t *out) {
    size_t i = 0, k = 0;
    while (i < n && k < m) {
        bool right = b[k] < a[i];
        *out++ = right ? b[k] : a[i];
        k += right;
        i += !right;
    }
    memcpy(out, a + i, (n - i) * sizeof *out);
    memcpy(out + (n - i), b + k, (m - k) * sizeof *out);
}

/* Sorts a; the result is in out if to_out, else in a; the other one is scratch. */
static void merge_sort_plain(int32_t *a, int32_t *out, size_t n, bool to_out) {
    if (n <= QUICK_SMALL) {
        insertion(a, n);
        if (to_out) memcpy(out, a, n * sizeof *a);
        return;
    }
    size_t half = n / 2;
    merge_sort_plain(a, out, half, !to_out);
    merge_sort_plain(a + half, out + half, n - half, !to_out);
    if (to_out) merge_plain(a, half, a + half, n - half, out);
    else merge_plain(out, half, out + half, n - half, a);
}

typedef struct merge_job {
    wsq_job job;
    const int32_t *a, *b;
    int32_t *out;
    size_t n, m;
} merge_job;

/* How many elements of b are below x. */
static size_t below(const int32_t *b, size_t m, int32_t x) {
    size_t low = 0;
    while (low < m) {
        size_t mid = low + (m - low) / 2;
        if (b[mid] < x) low = mid + 1;
        else m = mid;
    }
    return low;
}

static void merge_run(wsq_ctx ctx, wsq_job *job);

/* Splits the longer of the two in half, and the other where the half's first element belongs. */
static void merge(wsq_ctx ctx, const merge_job *self) {
    if (self->n + self->m < 4 * QUICK_CUTOFF) {
        merge_plain(self->a, self->n, self->b, self->m, self->out);
        return;
    }
    if (self->n < self->m) {
        merge_job turned = {
            .a = self->b, .n = self->m, .b = self->a, .m = self->n, .out = self->out};
        merge(ctx, &turned);
        return;
    }
    size_t i = self->n / 2, k = below(self->b, self->m, self->a[i]);
    merge_job right = {.a = self->a + i,
                       .n = self->n - i,
                       .b = self->b + k,
                       .m = self->m - k,
                       .out = self->out + i + k};
    merge_job left = {.a = self->a, .n = i, .b = self->b, .m = k, .out = self->out};
    wsq_fork(&ctx, &right.job, merge_run);
    merge(ctx, &left);
    wsq_join(&ctx, &right.job);
}

static void merge_run(wsq_ctx ctx, wsq_job *job) {
    merge(ctx, wsq_container_of(job, merge_job, job));
}

typedef struct halves_job {
    wsq_job job;
    int32_t *a, *out;
    size_t n;
    bool to_out;
} halves_job;

static void merge_sort_run(wsq_ctx ctx, wsq_job *job);

static void merge_sort(wsq_ctx ctx, int32_t *a, int32_t *out, size_t n, bool to_out) {
    if (n < QUICK_CUTOFF) {
        merge_sort_plain(a, out, n, to_out);
        return;
    }
    size_t half = n / 2;
    halves_job right = {.a = a + half, .out = out + half, .n = n - half, .to_out = !to_out};
    wsq_fork(&ctx, &right.job, merge_sort_run);
    merge_sort(ctx, a, out, half, !to_out);
    wsq_join(&ctx, &right.job);
    int32_t *from = to_out ? a : out;
    merge_job both = {
        .a = from, .n = half, .b = from + half, .m = n - half, .out = to_out ? out : a};
    merge(ctx, &both);
}

static void merge_sort_run(wsq_ctx ctx, wsq_job *job) {
    halves_job *self = wsq_container_of(job, halves_job, job);
    merge_sort(ctx, self->a, self->out, self->n, self->to_out);
}

/* ---- measured ---- */

static void root_quick(wsq_ctx ctx, void *arg) {
    quick(ctx, data, *(size_t *)arg);
}

static void root_merge(wsq_ctx ctx, void *arg) {
    merge_sort(ctx, data, scratch, *(size_t *)arg, false);
}

static void check_sorted(size_t n) {
    uint64_t sum = 0, expected = 0;
    for (size_t i = 0; i < n; i++) {
        bench_check(i == 0 || data[i - 1] <= data[i], "sorted");
        sum += (uint32_t)data[i];
        expected += (uint32_t)input[i];
    }
    bench_check(sum == expected, "same elements");
}

static double measure(const bench_case *self, void (*root)(wsq_ctx, void *)) {
    size_t n = (size_t)self->n;
    memcpy(data, input, n * sizeof *data);
    uint64_t start = bench_now();
    if (self->pool) bench_check(wsq_run(self->pool, root, &n) == WSQ_OK, "run");
    else if (root == root_quick) quick_plain(data, n);
    else merge_sort_plain(data, scratch, n, false);
    double ns = bench_since(start);
    check_sorted(n);
    return ns / 1e6;
}

static double measure_quick(const bench_case *self) {
    return measure(self, root_quick);
}

static double measure_merge(const bench_case *self) {
    return measure(self, root_merge);
}

int main(int argc, char **argv) {
    size_t n = 10000000;
    bench_begin("sorts", argc, argv);
    wsq_random random;
    wsq_random_seed(&random, 1);
    input = bench_alloc(n * sizeof *input);
    data = bench_alloc(n * sizeof *data);
    scratch = bench_alloc(n * sizeof *scratch);
    for (size_t i = 0; i < n; i++) input[i] = (int32_t)wsq_random_next(&random);
    bench_case *quick_seq = bench_add("sort/quick_plain", "ms", measure_quick, 0, (long)n);
    bench_case *quick_one = bench_add_pair("sort/quick_wsq", "ms", measure_quick, (long)n);
    bench_case *merge_seq = bench_add("sort/merge_plain", "ms", measure_merge, 0, (long)n);
    bench_case *merge_one = bench_add_pair("sort/merge_wsq", "ms", measure_merge, (long)n);
    bench_run();
    bench_ratio("sort/quick_to_plain", quick_one, quick_seq, 0, false);
    bench_ratio("sort/merge_to_plain", merge_one, merge_seq, 0, false);
    bench_speedup("sort/quick_speedup", quick_one, 1.9);
    bench_speedup("sort/merge_speedup", merge_one, 1.9);
    free(input);
    free(data);
    free(scratch);
    return bench_end();
}
