/* One hot path N times, for callgrind: bench/counts.sh takes the difference between N and 2 N.
 *
 *   counts PATH N      fork | spawn | wake | yield | ring | steal | deque | deque_steal
 *
 * One worker does it all, undisturbed: what it does before and after hardly counts. */
#include "bench.h"

static wsq_ring ring, thief_ring;
static int item;

/* ---- fork and join ---- */

typedef struct sum_job {
    wsq_job job;
    long n, result;
} sum_job;

static void sum_run(wsq_ctx ctx, wsq_job *job);

/* The tree of fib(n): F(n + 1) - 1 forks. Not inlined into itself, so that compilers agree. */
static BENCH_CALL long sum(wsq_ctx ctx, long n) {
    if (n < 2) return n;
    sum_job left;
    left.n = n - 1;
    wsq_fork(&ctx, &left.job, sum_run);
    long right = sum(ctx, n - 2);
    return right + (wsq_reclaim(&ctx, &left.job) ? sum(ctx, left.n) : left.result);
}

static void sum_run(wsq_ctx ctx, wsq_job *job) {
    sum_job *self = wsq_container_of(job, sum_job, job);
    self->result = sum(ctx, self->n);
}

static void fork_root(wsq_ctx ctx, void *arg) {
    for (long i = *(long *)arg; i > 0; i -= 88) sum(ctx, 10); /* 88 forks */
}

/* ---- tasks ---- */

static wsq_poll nothing(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    (void)task;
    return WSQ_DONE;
}

static long left;
static wsq_task tasks[64];

static wsq_poll spawn_some(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    for (int i = 1; i < 64; i++) {
        wsq_task_init(&tasks[i], nothing);
        wsq_spawn(wsq_pool_of(ctx), &tasks[i]);
    }
    left -= 63;
    return left > 0 ? WSQ_YIELD : WSQ_DONE;
}

static wsq_poll give_way(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    (void)task;
    return --left > 0 ? WSQ_YIELD : WSQ_DONE;
}

/* Two of them wake each other. */
static wsq_poll wake_other(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    wsq_wake(task == &tasks[0] ? &tasks[1] : &tasks[0]);
    return --left > 0 ? WSQ_PENDING : WSQ_DONE;
}

static void pump(wsq_task_fn fn, int count, long n) {
    wsq_pool *pool = bench_pool(1);
    left = n;
    for (int i = 0; i < count; i++) wsq_task_init(&tasks[i], fn); /* before another may wake it */
    for (int i = 0; i < count; i++) bench_check(wsq_spawn(pool, &tasks[i]) == WSQ_OK, "spawn");
    bench_check(wsq_pool_wait(pool) == WSQ_OK && left <= 0, "all done");
}

static void path_fork(long n) {
    wsq_pool *pool = bench_pool(1);
    bench_sleep_us(100000); /* the worker is asleep, and asks for nothing */
    bench_check(wsq_run(pool, fork_root, &n) == WSQ_OK, "run");
}

static void path_spawn(long n) {
    pump(spawn_some, 1, n);
}

static void path_yield(long n) {
    pump(give_way, 1, n);
}

static void path_wake(long n) {
    pump(wake_other, 2, n);
}

/* ---- queues ---- */

static void path_ring(long n) {
    wsq_ring_init(&ring);
    while (n-- > 0) {
        wsq_ring_push(&ring, &item);
        wsq_ring_pop(&ring);
    }
}

/* Pushed, stolen with half of the ring, popped by the thief: per item. */
static void path_steal(long n) {
    wsq_ring_init(&ring);
    wsq_ring_init(&thief_ring);
    for (; n > 0; n -= WSQ_RING_CAPACITY) {
        for (int i = 0; i < WSQ_RING_CAPACITY; i++) wsq_ring_push(&ring, &item);
        while (wsq_ring_steal(&ring, &thief_ring))
            while (wsq_ring_pop(&thief_ring)) {
            }
    }
}

static void path_deque(long n) {
    wsq_deque deque;
    bench_check(wsq_deque_init(&deque, 64) == WSQ_OK, "deque");
    while (n-- > 0) {
        wsq_deque_push(&deque, &item);
        wsq_deque_pop(&deque);
    }
    wsq_deque_fini(&deque);
}

static void path_deque_steal(long n) {
    wsq_deque deque;
    void *out;
    bench_check(wsq_deque_init(&deque, 64) == WSQ_OK, "deque");
    while (n-- > 0) {
        wsq_deque_push(&deque, &item);
        wsq_deque_steal(&deque, &out);
    }
    wsq_deque_fini(&deque);
}

static const struct {
    const char *name;
    void (*path)(long n);
} paths[] = {{"fork", path_fork},   {"spawn", path_spawn},
             {"wake", path_wake},   {"yield", path_yield},
             {"ring", path_ring},   {"steal", path_steal},
             {"deque", path_deque}, {"deque_steal", path_deque_steal}};

int main(int argc, char **argv) {
    size_t count = sizeof paths / sizeof *paths;
    for (size_t i = 0; argc == 3 && i < count; i++) {
        if (strcmp(argv[1], paths[i].name) != 0) continue;
        paths[i].path(atol(argv[2]));
        return bench_end();
    }
    for (size_t i = 0; i < count; i++) printf("%s\n", paths[i].name);
    return argc == 1 ? 0 : 1;
}
