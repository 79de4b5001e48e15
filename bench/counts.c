/* One hot path N times, for callgrind: bench/counts.sh takes the difference between N and 2 N.
 *
 *   counts PATH N      fork | queens | uts | publish | theft | spawn | wake | yield | group | future |
 *                      ring | steal | deque | deque_steal
 *
 * One worker does it all, undisturbed: what it does before and after hardly counts. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
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

/* Boards of 6 x 6, and a tree of 8 children a node that have children by chance: per node. */
enum { QUEENS = 6, QUEENS_NODES = 153, CHILDREN = 8 };

typedef struct board_job {
    wsq_job job;
    long nodes;
    const signed char *board;
    int rows;
} board_job;

static void board_run(wsq_ctx ctx, wsq_job *job);

static BENCH_CALL bool holds(const signed char *board, int last) {
    for (int row = 0; row < last; row++) {
        int distance = board[last] - board[row];
        if (distance == 0 || distance == last - row || distance == row - last) return false;
    }
    return true;
}

static BENCH_CALL long boards_of(wsq_ctx ctx, int rows, const signed char *board) {
    if (rows == QUEENS) return 1;
    signed char boards[QUEENS][QUEENS];
    board_job jobs[QUEENS];
    int count = 0;
    for (int column = 0; column < QUEENS; column++) {
        memcpy(boards[count], board, QUEENS);
        boards[count][rows] = (signed char)column;
        if (!holds(boards[count], rows)) continue;
        jobs[count].board = boards[count];
        jobs[count].rows = rows + 1;
        wsq_fork(&ctx, &jobs[count++].job, board_run);
    }
    long nodes = 1;
    while (count-- > 0)
        nodes += wsq_reclaim(&ctx, &jobs[count].job) ? boards_of(ctx, rows + 1, boards[count])
                                                     : jobs[count].nodes;
    return nodes;
}

static void board_run(wsq_ctx ctx, wsq_job *job) {
    board_job *self = wsq_container_of(job, board_job, job);
    self->nodes = boards_of(ctx, self->rows, self->board);
}

static void queens_root(wsq_ctx ctx, void *arg) {
    static const signed char empty[QUEENS];
    for (long i = *(long *)arg; i > 0; i -= QUEENS_NODES)
        bench_check(boards_of(ctx, 0, empty) == QUEENS_NODES, "queens");
}

typedef struct node_job {
    wsq_job job;
    uint32_t node;
    long nodes;
} node_job;

static void node_run(wsq_ctx ctx, wsq_job *job);

static BENCH_CALL long nodes_of(wsq_ctx ctx, uint32_t node) {
    if (node >> 16 >= 8060) return 1; /* 12.3 of 100 have children */
    node_job jobs[CHILDREN];
    long nodes = 1;
    for (uint32_t i = 0; i < CHILDREN; i++) {
        uint32_t child = (node + i + 1) * 2654435761u;
        jobs[i].node = child ^ child >> 15;
        wsq_fork(&ctx, &jobs[i].job, node_run);
    }
    for (int i = CHILDREN - 1; i >= 0; i--)
        nodes += wsq_reclaim(&ctx, &jobs[i].job) ? nodes_of(ctx, jobs[i].node) : jobs[i].nodes;
    return nodes;
}

static void node_run(wsq_ctx ctx, wsq_job *job) {
    node_job *self = wsq_container_of(job, node_job, job);
    self->nodes = nodes_of(ctx, self->node);
}

static void uts_root(wsq_ctx ctx, void *arg) {
    long n = *(long *)arg;
    for (uint32_t seed = 0; n > 0; seed = (seed + 1) % 256) n -= nodes_of(ctx, seed);
}

/* A job that is made public, and taken back. */
static void publish_root(wsq_ctx ctx, void *arg) {
    sum_job one;
    for (long i = *(long *)arg; i > 0; i--) {
        wsqi_steal_request(wsqi_worker_of(ctx));
        wsq_fork(&ctx, &one.job, sum_run);
        bench_check(wsq_reclaim(&ctx, &one.job), "taken back");
    }
}

/* A job that is made public, stolen, run (it is a leaf), and joined; thief and victim are blocks of
 * one thread. */
static void path_theft(long n) {
    wsq_config config = {.workers = 2, .caller_runs = true};
    wsq_pool *pool = NULL;
    bench_check(wsq_pool_create(&pool, &config) == WSQ_OK, "pool");
    wsqi_worker *victim = wsqi_block(pool, 0), *thief = wsqi_block(pool, 1);
    wsq_ctx ctx = wsqi_base(victim);
    sum_job one;
    one.n = 1;
    while (n-- > 0) {
        wsqi_steal_request(victim);
        wsq_fork(&ctx, &one.job, sum_run);
        bench_check(wsqi_job_steal(thief, victim), "stolen");
        bench_check(!wsq_reclaim(&ctx, &one.job) && one.result == 1, "joined");
    }
    wsq_pool_destroy(pool);
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

static wsq_group group;

/* As spawn_some, into a group. */
static wsq_poll spawn_group(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    (void)task;
    for (int i = 1; i < 64; i++) {
        wsq_task_init(&tasks[i], nothing);
        wsq_group_spawn(&group, &tasks[i]);
    }
    left -= 63;
    return left > 0 ? WSQ_YIELD : WSQ_DONE;
}

static void *same(void *arg) {
    return arg;
}

/* Submitted in one round, run before the next, and got there. */
static wsq_poll submit_some(wsq_ctx ctx, wsq_task *task) {
    static wsq_future *futures[63];
    (void)task;
    for (int i = 0; i < 63; i++) {
        void *result = NULL;
        if (futures[i] != NULL)
            bench_check(wsq_future_get(futures[i], &result) == WSQ_OK && result == &item, "future");
        futures[i] = NULL;
        if (left > 0)
            bench_check(wsq_submit(wsq_pool_of(ctx), same, &item, &futures[i]) == WSQ_OK, "submit");
    }
    left -= 63;
    return left > -63 ? WSQ_YIELD : WSQ_DONE;
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

static void run(void (*root)(wsq_ctx ctx, void *arg), long n) {
    wsq_pool *pool = bench_pool(1);
    bench_sleep_us(100000); /* the worker is asleep, and asks for nothing */
    bench_check(wsq_run(pool, root, &n) == WSQ_OK, "run");
}

static void path_fork(long n) {
    run(fork_root, n);
}

static void path_queens(long n) {
    run(queens_root, n);
}

static void path_uts(long n) {
    run(uts_root, n);
}

static void path_publish(long n) {
    run(publish_root, n);
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

static void path_group(long n) {
    bench_check(wsq_group_init(&group, bench_pool(1)) == WSQ_OK, "group");
    pump(spawn_group, 1, n);
    bench_check(wsq_group_wait(&group) == WSQ_OK, "group");
}

static void path_future(long n) {
    pump(submit_some, 1, n);
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
} paths[] = {{"fork", path_fork},     {"queens", path_queens}, {"uts", path_uts},
             {"publish", path_publish}, {"theft", path_theft}, {"spawn", path_spawn},
             {"wake", path_wake},     {"yield", path_yield},   {"group", path_group},
             {"future", path_future}, {"ring", path_ring},     {"steal", path_steal},
             {"deque", path_deque},   {"deque_steal", path_deque_steal}};

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
