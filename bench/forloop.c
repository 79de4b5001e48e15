/* wsq_for beside the plain loop: a body of one multiplication and one addition over 10^8 floats
 * (memory bound), a body of some arithmetic over 10^7, and one whose cost grows along the range. */
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

static void root(wsq_ctx ctx, void *arg) {
    loop_call *call = arg;
    wsq_for(ctx, 0, call->n, 0, call->body, data);
}

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
    bench_run();
    report("scale", plain_scale, 1.01);
    report("heavy", plain_heavy, 1.01);
    report("uneven", plain_uneven, 1.01);
    free(data);
    return bench_end();
}
