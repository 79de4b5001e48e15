/* wsq_for beside the plain loop: a body of one multiplication and one addition over 10^8 floats
 * (memory bound), a body of some arithmetic over 10^7, and one whose cost grows along the range;
 * and a sum by wsq_reduce, whose bits repeat or not. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "bench.h"

static float *data;

typedef void (*loop_body)(wsq_ctx ctx, size_t begin, size_t end, void *arg);

static void scale(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    float *restrict out = arg;
    (void)ctx;
    for (size_t i = begin; i < end; i++) out[i] = out[i] * 0.999f + 0.001f;
}

static void heavy(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    float *restrict out = arg;
    (void)ctx;
    for (size_t i = begin; i < end; i++) {
        float x = out[i];
        for (int k = 0; k < 16; k++)
            x = x * x * 0.5f + 0.25f; /* each step waits for the one before */
        out[i] = x;
    }
}

static void uneven(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    float *restrict out = arg;
    (void)ctx;
    for (size_t i = begin; i < end; i++) {
        float x = out[i];
        for (size_t k = 0; k < i; k++) x = x * 0.999f + 0.001f;
        out[i] = x;
    }
}

typedef struct loop_call {
    size_t n;
    loop_body body;
} loop_call;

static void sum_init(void *partial, void *arg) {
    (void)arg;
    *(double *)partial = 0;
}

static void sum_body(wsq_ctx ctx, size_t begin, size_t end, void *partial, void *arg) {
    const float *in = arg;
    double sum = 0;
    (void)ctx;
    for (size_t i = begin; i < end; i++) sum += (double)in[i];
    *(double *)partial += sum;
}

static void sum_combine(void *left, const void *right, void *arg) {
    (void)arg;
    *(double *)left += *(const double *)right;
}

/* A sum, whose bits repeat or not. */
static void sum_root(wsq_ctx ctx, bool fixed, size_t n) {
    wsq_reducer reducer = {sizeof(double), sum_init, sum_body, sum_combine, data, fixed};
    double sum;
    bench_check(wsq_reduce(ctx, 0, n, 0, &reducer, &sum) == WSQ_OK, "reduce");
    bench_keep(&sum);
}

static void sum(wsq_ctx ctx, void *arg) { sum_root(ctx, false, ((const loop_call *)arg)->n); }
static void sum_fixed(wsq_ctx ctx, void *arg) { sum_root(ctx, true, ((const loop_call *)arg)->n); }

static void root(wsq_ctx ctx, void *arg) {
    loop_call *call = arg;
    wsq_for(ctx, 0, call->n, 0, call->body, data);
}

static double measure_sums(const bench_case *self, void (*fn)(wsq_ctx ctx, void *arg)) {
    loop_call call = {(size_t)self->n, NULL};
    uint64_t start = bench_now();
    for (int i = 0; i < 10; i++) bench_check(wsq_run(self->pool, fn, &call) == WSQ_OK, "run");
    return bench_since(start) / 10e6;
}

static double measure_sum(const bench_case *self) { return measure_sums(self, sum); }
static double measure_fixed(const bench_case *self) { return measure_sums(self, sum_fixed); }

static double measure(const bench_case *self, loop_body body) {
    loop_call call = {(size_t)self->n, body};
    for (size_t i = 0; i < call.n; i += 997) data[i] = 1;
    uint64_t start = bench_now();
    if (self->workers == 0) {
        body(NULL, 0, call.n, data);
    } else {
        bench_check(wsq_run(self->pool, root, &call) == WSQ_OK, "run");
    }
    double ns = bench_since(start);
    bench_keep(data);
    return ns / 1e6;
}

static double measure_scale(const bench_case *self) {
    return measure(self, scale);
}

static double measure_heavy(const bench_case *self) {
    return measure(self, heavy);
}

static double measure_uneven(const bench_case *self) {
    return measure(self, uneven);
}

static void report(const char *name, bench_case *plain, double limit) {
    char line[64];
    snprintf(line, sizeof line, "for/%s_to_plain", name);
    bench_ratio(line, plain + 1, plain, limit, false);
    snprintf(line, sizeof line, "for/%s_speedup", name);
    bench_speedup(line, plain + 1, 0);
}

int main(int argc, char **argv) {
    bench_begin("forloop", argc, argv);
    data = bench_alloc(100000000 * sizeof *data);
    bench_case *plain_scale = bench_add("for/scale_plain", "ms", measure_scale, 0, 100000000);
    bench_add_pair("for/scale_wsq", "ms", measure_scale, 100000000);
    bench_case *plain_heavy = bench_add("for/heavy_plain", "ms", measure_heavy, 0, 10000000);
    bench_add_pair("for/heavy_wsq", "ms", measure_heavy, 10000000);
    bench_case *plain_uneven = bench_add("for/uneven_plain", "ms", measure_uneven, 0, 10000);
    bench_add_pair("for/uneven_wsq", "ms", measure_uneven, 10000);
    for (size_t i = 0; i < 1000000; i++) data[i] = 1;
    bench_case *sums = bench_add_pair("for/sum", "ms", measure_sum, 1000000);
    bench_case *fixed = bench_add_pair("for/sum_fixed", "ms", measure_fixed, 1000000);
    bench_run();
    report("scale", plain_scale, 1.01);
    report("heavy", plain_heavy, 1.01);
    report("uneven", plain_uneven, 1.01);
    bench_ratio("for/sum_fixed_to_sum", fixed, sums, 1.05, false);
    bench_ratio("for/sum_fixed_to_sum_parallel", fixed + 1, sums + 1, 1.05, false);
    free(data);
    return bench_end();
}
