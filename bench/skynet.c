/* Skynet: a tree of ten children each, 10^6 leaves; a leaf returns its number, a node the sum. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "bench.h"
#include "forks.h"

/* As the compiler likes it: the leaves become an addition in their parent's loop. */
static long sky_inlined(long first, long size) {
    if (size == 1) return first;
    long part = size / 10, sum = 0;
    for (int i = 0; i < 10; i++) sum += sky_inlined(first + i * part, part);
    return sum;
}

/* Every node a call. */
BENCH_CALL static long sky_called(long first, long size) {
    if (size == 1) return first;
    long part = size / 10, sum = 0;
    for (int i = 0; i < 10; i++) sum += sky_called(first + i * part, part);
    return sum;
}

static void root(wsq_ctx ctx, void *arg) {
    sky_job *self = arg;
    self->sum = sky(ctx, 0, self->size);
}

static double finish(const bench_case *self, uint64_t start, long sum) {
    double ns = bench_since(start);
    bench_check(sum == self->n * (self->n - 1) / 2, "skynet");
    return ns / 1e6;
}

static double measure_pool(const bench_case *self) {
    sky_job call = {.size = self->n};
    uint64_t start = bench_now();
    bench_check(wsq_run(self->pool, root, &call) == WSQ_OK, "run");
    return finish(self, start, call.sum);
}

static double measure_inlined(const bench_case *self) {
    uint64_t start = bench_now();
    return finish(self, start, sky_inlined(0, self->n));
}

static double measure_called(const bench_case *self) {
    uint64_t start = bench_now();
    return finish(self, start, sky_called(0, self->n));
}

int main(int argc, char **argv) {
    bench_begin("skynet", argc, argv);
    bench_case *inlined = bench_add("skynet/plain_inlined", "ms", measure_inlined, 0, 1000000);
    bench_case *called = bench_add("skynet/plain_called", "ms", measure_called, 0, 1000000);
    bench_case *one = bench_add_pair("skynet/wsq", "ms", measure_pool, 1000000);
    bench_run();
    bench_ratio("skynet/to_called", one, called, 1.6, false);
    bench_ratio("skynet/to_inlined", one, inlined, 0, false);
    bench_speedup("skynet/speedup", one, 1.9);
    return bench_end();
}
