/* Fork and join with nothing in between: fib without a cut-off, one fork for each inner node.
 *
 *   fib              the table
 *   fib --once N W   fib(N) once on W workers (0: plain C), for callgrind and hyperfine */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "bench.h"
#include "forks.h"

/* As wsq_join has it: the job's function is called through its pointer. */
static void fib_join_run(wsq_ctx ctx, wsq_job *job);

static inline long fib_join(wsq_ctx ctx, long n) {
    if (n < 2) return n;
    fib_job left;
    left.n = n - 1;
    wsq_fork(&ctx, &left.job, fib_join_run);
    long right = fib_join(ctx, n - 2);
    wsq_join(&ctx, &left.job);
    return right + left.result;
}

static void fib_join_run(wsq_ctx ctx, wsq_job *job) {
    fib_job *self = wsq_container_of(job, fib_job, job);
    self->result = fib_join(ctx, self->n);
}

/* As the compiler likes it: gcc inlines this into itself many levels deep. */
static long fib_inlined(long n) {
    return n < 2 ? n : fib_inlined(n - 1) + fib_inlined(n - 2);
}

/* Every node a call. */
BENCH_CALL static long fib_called(long n) {
    return n < 2 ? n : fib_called(n - 1) + fib_called(n - 2);
}

typedef struct fib_root {
    long (*fn)(wsq_ctx ctx, long n);
    long n, result;
} fib_root;

static void root(wsq_ctx ctx, void *arg) {
    fib_root *self = arg;
    self->result = self->fn(ctx, self->n);
}

/* Inner nodes of fib(n). */
static long forks(long n) {
    return fib_inlined(n + 1) - 1;
}

static double measure_pool(const bench_case *self, long (*fn)(wsq_ctx, long)) {
    fib_root call = {fn, self->n, 0};
    uint64_t start = bench_now();
    bench_check(wsq_run(self->pool, root, &call) == WSQ_OK, "run");
    double ns = bench_since(start);
    bench_check(call.result == fib_inlined(self->n), "fib");
    return ns / (double)forks(self->n);
}

static double measure_fork(const bench_case *self) {
    return measure_pool(self, fib);
}

static double measure_join(const bench_case *self) {
    return measure_pool(self, fib_join);
}

static double measure_plain(const bench_case *self, long (*fn)(long)) {
    long n = self->n;
    bench_keep(&n);
    uint64_t start = bench_now();
    long result = fn(n);
    double ns = bench_since(start);
    bench_keep(&result);
    bench_check(result > 0, "fib");
    return ns / (double)forks(self->n);
}

static double measure_inlined(const bench_case *self) {
    return measure_plain(self, fib_inlined);
}

static double measure_called(const bench_case *self) {
    return measure_plain(self, fib_called);
}

static int once(long n, unsigned workers) {
    fib_root call = {fib, n, 0};
    if (workers == 0) {
        call.result = fib_called(n);
    } else {
        bench_check(wsq_run(bench_pool(workers), root, &call) == WSQ_OK, "run");
    }
    printf("%ld\n", call.result);
    return bench_end();
}

int main(int argc, char **argv) {
    if (argc == 4 && strcmp(argv[1], "--once") == 0)
        return once(atol(argv[2]), (unsigned)atoi(argv[3]));
    bench_begin("fib", argc, argv);
    bench_case *inlined = bench_add("fib/plain_inlined", "ns/node", measure_inlined, 0, 36);
    bench_case *called = bench_add("fib/plain_called", "ns/node", measure_called, 0, 36);
    bench_case *fork = bench_add_pair("fib/fork_reclaim", "ns/fork", measure_fork, 36);
    bench_case *join = bench_add_pair("fib/fork_join", "ns/fork", measure_join, 36);
    bench_run();
    bench_ratio("fib/fork_to_called", fork, called, 0.65, false);
    bench_ratio("fib/fork_to_inlined", fork, inlined, 0, false);
    bench_ratio("fib/join_to_reclaim", join, fork, 0, false);
    bench_speedup("fib/speedup", fork, 1.9);
    return bench_end();
}
