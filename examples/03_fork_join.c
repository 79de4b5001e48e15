/* Fork and join: recursion that spreads over the cores by itself.
 *     cc -O2 -pthread 03_fork_join.c -o fork_join && ./fork_join
 *
 * A fork offers one call to idle workers, and goes on immediately. It costs about as much as the
 * call itself, so there is no cut-off below: a million forks, most of which no other worker
 * takes. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"

/* A job lives in the frame that forks it: arguments in, result out. */
struct fib_job {
    long n, result;
    wsq_job job;
};

static long fib(wsq_ctx ctx, long n);

/* What a thief calls. */
static void fib_run(wsq_ctx ctx, wsq_job *job) {
    struct fib_job *self = wsq_container_of(job, struct fib_job, job);
    self->result = fib(ctx, self->n);
}

static long fib(wsq_ctx ctx, long n) {
    if (n < 2) return n;
    struct fib_job left = {.n = n - 1};
    wsq_fork(&ctx, &left.job, fib_run);
    long right = fib(ctx, n - 2); /* the context as the fork left it: pass it on */
    /* wsq_join(&ctx, &left.job) would do. Reclaim is the faster form: if nobody took the job, call
     * the function directly, where the compiler can see it. */
    return right + (wsq_reclaim(&ctx, &left.job) ? fib(ctx, n - 1) : left.result);
}

static void start(wsq_ctx ctx, void *arg) {
    long *n = arg;
    *n = fib(ctx, *n);
}

int main(void) {
    wsq_pool *pool;
    if (wsq_pool_create(&pool, NULL) != WSQ_OK) return 1;
    long n = 30;
    wsq_run(pool, start, &n); /* this thread takes part; back when start has returned */
    printf("fib(30) = %ld\n", n);

    wsq_stats stats;
    wsq_pool_stats(pool, &stats);
    printf("jobs that another worker took: %llu\n", (unsigned long long)stats.jobs_stolen);
    wsq_pool_destroy(pool);
    return n == 832040 ? 0 : 1;
}
