/* Matrix multiplication by quarters: C += A * B of n x n floats; eight products of quarters, four
 * at a time, because two of them write the same quarter of C. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "bench.h"

#define LEAF 64 /* below: three loops. 16 KiB a matrix: the three of a leaf fit into 48 KiB of L1 */

static float *a, *b, *c;
static long stride;

typedef struct product {
    wsq_job job;
    float *c;
    const float *a, *b;
    long n;
} product;

static BENCH_CALL void leaf(float *restrict out, const float *left, const float *right) {
    for (long i = 0; i < LEAF; i++) {
        for (long k = 0; k < LEAF; k++) {
            float factor = left[i * stride + k];
            for (long j = 0; j < LEAF; j++) out[i * stride + j] += factor * right[k * stride + j];
        }
    }
}

/* The step-th of the eight products; the first four write different quarters, the last four too. */
static product quarter(const product *whole, int step) {
    long n = whole->n / 2, row = step >> 1 & 1, column = step & 1, inner = step >> 2;
    product part = {.c = whole->c + (row * stride + column) * n,
                    .a = whole->a + (row * stride + inner) * n,
                    .b = whole->b + (inner * stride + column) * n,
                    .n = n};
    return part;
}

static void multiply_plain(const product *self) {
    if (self->n == LEAF) {
        leaf(self->c, self->a, self->b);
        return;
    }
    for (int step = 0; step < 8; step++) {
        product part = quarter(self, step);
        multiply_plain(&part);
    }
}

static void multiply_run(wsq_ctx ctx, wsq_job *job);

static void multiply(wsq_ctx ctx, const product *self) {
    if (self->n == LEAF) {
        leaf(self->c, self->a, self->b);
        return;
    }
    for (int half = 0; half < 8; half += 4) {
        product parts[4];
        for (int i = 0; i < 4; i++) {
            parts[i] = quarter(self, half + i);
            wsq_fork(&ctx, &parts[i].job, multiply_run);
        }
        for (int i = 3; i >= 0; i--) wsq_join(&ctx, &parts[i].job);
    }
}

static void multiply_run(wsq_ctx ctx, wsq_job *job) {
    multiply(ctx, wsq_container_of(job, product, job));
}

static void root(wsq_ctx ctx, void *arg) {
    multiply(ctx, arg);
}

static double measure(const bench_case *self) {
    product whole = {.c = c, .a = a, .b = b, .n = self->n};
    stride = self->n;
    for (long i = 0; i < stride * stride; i++) {
        a[i] = (float)(i % 3);
        b[i] = (float)(i % 5);
        c[i] = 0;
    }
    uint64_t start = bench_now();
    if (self->workers == 0) multiply_plain(&whole);
    else bench_check(wsq_run(self->pool, root, &whole) == WSQ_OK, "run");
    double ns = bench_since(start);
    for (long row = 0; row < stride; row += 37) {
        long column = stride - 1 - row;
        float sum = 0; /* whole numbers below 2^24: exact in any order */
        for (long k = 0; k < stride; k++) sum += a[row * stride + k] * b[k * stride + column];
        bench_check(c[row * stride + column] == sum, "product");
    }
    return ns / 1e6;
}

int main(int argc, char **argv) {
    bench_begin("matmul", argc, argv);
    a = bench_alloc(1024 * 1024 * sizeof *a);
    b = bench_alloc(1024 * 1024 * sizeof *b);
    c = bench_alloc(1024 * 1024 * sizeof *c);
    bench_case *plain = bench_add("matmul/512_plain", "ms", measure, 0, 512);
    bench_case *small = bench_add_pair("matmul/512_wsq", "ms", measure, 512);
    bench_case *plain_large = bench_add("matmul/1024_plain", "ms", measure, 0, 1024);
    bench_case *large = bench_add_pair("matmul/1024_wsq", "ms", measure, 1024);
    bench_run();
    bench_ratio("matmul/512_to_plain", small, plain, 1.05, false);
    bench_ratio("matmul/1024_to_plain", large, plain_large, 1.05, false);
    bench_speedup("matmul/512_speedup", small, 1.9);
    bench_speedup("matmul/1024_speedup", large, 1.9);
    free(a);
    free(b);
    free(c);
    return bench_end();
}
