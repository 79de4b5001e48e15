/* wsq, in the cases of the peers. */
#include "work.h"
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"

#include <pthread.h>
#include <sched.h>

#define TASKS 200000

static wsq_pool *pool;
static wsq_task *tasks;

static void start(void) {
    wsq_config config = {.workers = peer_workers};
    peer_check(wsq_pool_create(&pool, &config) == WSQ_OK, "pool");
    tasks = calloc(TASKS, sizeof *tasks);
    peer_check(tasks != NULL, "memory");
}

static void stop(void) {
    wsq_pool_destroy(pool);
    free(tasks);
}

static peer_result since(double begin, double operations) {
    return (peer_result){peer_now() - begin, operations};
}

/* ---- fork and join ---- */

typedef struct long_job {
    wsq_job job;
    long n, size, result;
} long_job;

static void fib_run(wsq_ctx ctx, wsq_job *job);

static inline long fib(wsq_ctx ctx, long n) {
    if (n < 2) return n;
    long_job left;
    left.n = n - 1;
    wsq_fork(&ctx, &left.job, fib_run);
    long right = fib(ctx, n - 2);
    return right + (wsq_reclaim(&ctx, &left.job) ? fib(ctx, left.n) : left.result);
}

static void fib_run(wsq_ctx ctx, wsq_job *job) {
    long_job *self = wsq_container_of(job, long_job, job);
    self->result = fib(ctx, self->n);
}

static void fib_root(wsq_ctx ctx, void *arg) {
    *(long *)arg = fib(ctx, *(long *)arg);
}

static peer_result run_fib(long n) {
    long value = n;
    double begin = peer_now();
    wsq_run(pool, fib_root, &value);
    peer_result result = since(begin, 1);
    result.operations = peer_forks(n);
    peer_check(value == peer_fib(n), "fib");
    return result;
}

static void sky_run(wsq_ctx ctx, wsq_job *job);

static inline long sky(wsq_ctx ctx, long first, long size) {
    if (size == 1) return first;
    long_job jobs[9];
    long part = size / 10, sum;
    for (int i = 0; i < 9; i++) {
        jobs[i].n = first + i * part;
        jobs[i].size = part;
        wsq_fork(&ctx, &jobs[i].job, sky_run);
    }
    sum = sky(ctx, first + 9 * part, part);
    for (int i = 8; i >= 0; i--)
        sum += wsq_reclaim(&ctx, &jobs[i].job) ? sky(ctx, jobs[i].n, part) : jobs[i].result;
    return sum;
}

static void sky_run(wsq_ctx ctx, wsq_job *job) {
    long_job *self = wsq_container_of(job, long_job, job);
    self->result = sky(ctx, self->n, self->size);
}

static void sky_root(wsq_ctx ctx, void *arg) {
    *(long *)arg = sky(ctx, 0, PEER_LEAVES);
}

static peer_result run_skynet(long size) {
    long value = 0;
    (void)size;
    double begin = peer_now();
    wsq_run(pool, sky_root, &value);
    peer_result result = since(begin, 1e6);
    peer_check(value == PEER_LEAVES_SUM, "skynet");
    return result;
}

typedef struct queens_job {
    wsq_job job;
    long found;
    signed char *board;
    int rows;
} queens_job;

static void queens_run(wsq_ctx ctx, wsq_job *job);

/* The boards live in the parent's frame until it has joined, as those of Wool's and Lace's case. */
static long queens(wsq_ctx ctx, int rows, signed char *board) {
    if (rows == PEER_QUEENS) return 1;
    signed char boards[PEER_QUEENS][PEER_QUEENS];
    queens_job jobs[PEER_QUEENS];
    int count = 0;
    for (int column = 0; column < PEER_QUEENS; column++) {
        signed char *next = boards[count];
        memcpy(next, board, PEER_QUEENS);
        next[rows] = (signed char)column;
        if (!peer_queen_holds(next, rows + 1)) continue;
        queens_job *job = &jobs[count++];
        job->board = next;
        job->rows = rows + 1;
        wsq_fork(&ctx, &job->job, queens_run);
    }
    long found = 0;
    while (count-- > 0) {
        queens_job *job = &jobs[count];
        found += wsq_reclaim(&ctx, &job->job) ? queens(ctx, rows + 1, boards[count]) : job->found;
    }
    return found;
}

static void queens_run(wsq_ctx ctx, wsq_job *job) {
    queens_job *self = wsq_container_of(job, queens_job, job);
    self->found = queens(ctx, self->rows, self->board);
}

static void queens_root(wsq_ctx ctx, void *arg) {
    signed char board[PEER_QUEENS] = {0};
    *(long *)arg = queens(ctx, 0, board);
}

static peer_result run_queens(long size) {
    long value = 0;
    (void)size;
    double begin = peer_now();
    wsq_run(pool, queens_root, &value);
    peer_result result = since(begin, 1e6);
    peer_check(value == PEER_QUEENS_FOUND, "queens");
    return result;
}

typedef struct tree_job {
    wsq_job job;
    uint64_t node;
    long nodes;
} tree_job;

static void tree_run(wsq_ctx ctx, wsq_job *job);

/* Eight children at a time: the root has many. */
static long tree(wsq_ctx ctx, uint64_t node, int children) {
    tree_job jobs[PEER_TREE_ARITY];
    long nodes = 1;
    for (int first = 0; first < children; first += PEER_TREE_ARITY) {
        for (int i = 0; i < PEER_TREE_ARITY; i++) {
            jobs[i].node = peer_tree_child(node, first + i);
            wsq_fork(&ctx, &jobs[i].job, tree_run);
        }
        for (int i = PEER_TREE_ARITY - 1; i >= 0; i--)
            nodes += wsq_reclaim(&ctx, &jobs[i].job)
                         ? tree(ctx, jobs[i].node, peer_tree_children(jobs[i].node))
                         : jobs[i].nodes;
    }
    return nodes;
}

static void tree_run(wsq_ctx ctx, wsq_job *job) {
    tree_job *self = wsq_container_of(job, tree_job, job);
    self->nodes = tree(ctx, self->node, peer_tree_children(self->node));
}

static void tree_root(wsq_ctx ctx, void *arg) {
    *(long *)arg = tree(ctx, 1, PEER_TREE_ROOT);
}

static peer_result run_uts(long size) {
    long value = 0;
    (void)size;
    double begin = peer_now();
    wsq_run(pool, tree_root, &value);
    peer_result result = since(begin, 1e6);
    peer_check(value == PEER_TREE_NODES, "uts");
    return result;
}

typedef struct sort_job {
    wsq_job job;
    int32_t *a;
    long n;
} sort_job;

static void sort_run(wsq_ctx ctx, wsq_job *job);

static void sort(wsq_ctx ctx, int32_t *a, long n) {
    if (n < PEER_SORT_CUTOFF) {
        peer_sort_plain(a, n);
        return;
    }
    long cut = peer_partition(a, n);
    sort_job right = {.a = a + cut, .n = n - cut};
    wsq_fork(&ctx, &right.job, sort_run);
    sort(ctx, a, cut);
    wsq_join(&ctx, &right.job);
}

static void sort_run(wsq_ctx ctx, wsq_job *job) {
    sort_job *self = wsq_container_of(job, sort_job, job);
    sort(ctx, self->a, self->n);
}

static void sort_root(wsq_ctx ctx, void *arg) {
    sort(ctx, arg, PEER_SORT);
}

static peer_result run_sort(long size) {
    (void)size;
    peer_sort_begin();
    double begin = peer_now();
    wsq_run(pool, sort_root, peer_data);
    peer_result result = since(begin, 1e6);
    peer_sort_check();
    return result;
}

typedef struct matrix_job {
    wsq_job job;
    float *c;
    const float *a, *b;
    long n;
} matrix_job;

static void matrix_run(wsq_ctx ctx, wsq_job *job);

static void matrix(wsq_ctx ctx, float *c, const float *a, const float *b, long n) {
    if (n == PEER_MATRIX_LEAF) {
        peer_matrix_leaf(c, a, b);
        return;
    }
    for (int half = 0; half < 8; half += 4) {
        matrix_job jobs[4];
        for (int i = 0; i < 4; i++) {
            jobs[i] = (matrix_job){.c = c, .a = a, .b = b, .n = n / 2};
            peer_matrix_quarter(half + i, n / 2, &jobs[i].c, &jobs[i].a, &jobs[i].b);
            wsq_fork(&ctx, &jobs[i].job, matrix_run);
        }
        for (int i = 3; i >= 0; i--) wsq_join(&ctx, &jobs[i].job);
    }
}

static void matrix_run(wsq_ctx ctx, wsq_job *job) {
    matrix_job *self = wsq_container_of(job, matrix_job, job);
    matrix(ctx, self->c, self->a, self->b, self->n);
}

static void matrix_root(wsq_ctx ctx, void *arg) {
    (void)arg;
    matrix(ctx, peer_c, peer_a, peer_b, PEER_MATRIX);
}

static peer_result run_matmul(long size) {
    (void)size;
    peer_matrix_begin();
    double begin = peer_now();
    wsq_run(pool, matrix_root, NULL);
    peer_result result = since(begin, 1e6);
    peer_matrix_check();
    return result;
}

/* ---- loops ---- */

static void loop_body(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    (void)ctx;
    peer_loop(arg, (long)begin, (long)end);
}

static void loop_root(wsq_ctx ctx, void *arg) {
    wsq_for(ctx, 0, PEER_LOOP, 0, loop_body, arg);
}

static peer_result run_loop(long size) {
    (void)size;
    peer_loop_begin();
    double begin = peer_now();
    wsq_run(pool, loop_root, peer_numbers);
    return since(begin, 1e6);
}

static void uneven_body(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    (void)ctx;
    (void)arg;
    peer_uneven((long)begin, (long)end);
}

static void uneven_root(wsq_ctx ctx, void *arg) {
    wsq_for(ctx, 0, PEER_UNEVEN, 0, uneven_body, arg);
}

static peer_result run_uneven(long size) {
    (void)size;
    double begin = peer_now();
    wsq_run(pool, uneven_root, NULL);
    return since(begin, 1e6);
}

static void grain_body(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    (void)ctx;
    (void)arg;
    for (size_t i = begin; i < end; i++) peer_grain();
}

static void grain_root(wsq_ctx ctx, void *arg) {
    wsq_for(ctx, 0, (size_t)peer_grains(), 1, grain_body, arg);
}

static peer_result run_grain_loop(long size) {
    (void)size;
    double begin = peer_now();
    wsq_run(pool, grain_root, NULL);
    return peer_speedup(peer_now() - begin);
}

/* ---- tasks ---- */

static wsq_poll nothing(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    (void)task;
    return WSQ_DONE;
}

static void prepare(long count, wsq_task_fn fn) {
    for (long i = 0; i < count; i++) wsq_task_init(&tasks[i], fn);
}

static long todo;

static wsq_poll spawn_all(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    for (long i = 1; i <= todo; i++) {
        wsq_task_init(&tasks[i], nothing);
        wsq_spawn(wsq_pool_of(ctx), &tasks[i]);
    }
    return WSQ_DONE;
}

static peer_result run_spawn(long size) {
    todo = size;
    wsq_task_init(&tasks[0], spawn_all);
    double begin = peer_now();
    wsq_spawn(pool, &tasks[0]);
    wsq_pool_wait(pool);
    return since(begin, (double)size);
}

/* From outside while every worker has something to do already: a task that always yields. The last
 * task takes the time: the thread outside has given its core away, and gets it back when the system
 * thinks fit. */
static wsqi_a32 busy;

static wsq_poll keep_busy(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    (void)task;
    return wsqi_load_acq(&busy) ? WSQ_YIELD : WSQ_DONE;
}

static wsqi_a64 left_to_do;
static wsqi_a32 all_done;
static double last_done_at;

static wsq_poll count_down(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    (void)task;
    if (wsqi_add_acqrel(&left_to_do, UINT64_MAX) == 1) {
        last_done_at = peer_now();
        wsqi_store_rel(&all_done, 1);
    }
    return WSQ_DONE;
}

static peer_result run_busy(long size) {
    wsq_task *keepers = &tasks[TASKS - 256];
    wsqi_store_rel(&busy, 1);
    wsqi_store_rel(&all_done, 0);
    wsqi_store_rel(&left_to_do, (uint64_t)size);
    for (unsigned i = 0; i < 2 * peer_workers; i++) {
        wsq_task_init(&keepers[i], keep_busy);
        wsq_spawn(pool, &keepers[i]);
    }
    peer_sleep_us(1000);
    double begin = peer_now();
    for (long i = 0; i < size; i++) {
        wsq_task_init(&tasks[i], count_down);
        wsq_spawn(pool, &tasks[i]);
    }
    while (!wsqi_load_acq(&all_done)) sched_yield();
    peer_result result = {last_done_at - begin, (double)size};
    wsqi_store_rel(&busy, 0);
    wsq_pool_wait(pool);
    return result;
}

static peer_result run_outside(long size) {
    double begin = peer_now();
    for (long i = 0; i < size; i++) {
        wsq_task_init(&tasks[i], nothing);
        wsq_spawn(pool, &tasks[i]);
    }
    wsq_pool_wait(pool);
    return since(begin, (double)size);
}

static wsq_poll spawn_next(wsq_ctx ctx, wsq_task *task) {
    if (task == &tasks[todo]) return WSQ_DONE;
    wsq_task_init(task + 1, spawn_next);
    wsq_spawn(wsq_pool_of(ctx), task + 1);
    return WSQ_DONE;
}

static peer_result run_chain(long size) {
    todo = size;
    wsq_task_init(&tasks[0], spawn_next);
    double begin = peer_now();
    wsq_spawn(pool, &tasks[0]);
    wsq_pool_wait(pool);
    return since(begin, (double)size);
}

static void *submit(void *arg) {
    wsq_task *first = arg;
    for (long i = 0; i < todo; i++) {
        wsq_task_init(&first[i], nothing);
        wsq_spawn(pool, &first[i]);
    }
    return NULL;
}

static peer_result run_submit(long size) {
    pthread_t threads[4];
    todo = size / 4;
    double begin = peer_now();
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, submit, &tasks[i * todo]);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    wsq_pool_wait(pool);
    return since(begin, (double)size);
}

static peer_result run_one_by_one(long size) {
    double begin = peer_now();
    for (long i = 0; i < size; i++) {
        wsq_task_init(&tasks[i], nothing);
        wsq_spawn(pool, &tasks[i]);
        while (!wsq_task_done(&tasks[i])) sched_yield();
    }
    return since(begin, (double)size);
}

static wsq_poll grain_task(wsq_ctx ctx, wsq_task *task) {
    grain_body(ctx, 0, 1, task);
    return WSQ_DONE;
}

static peer_result run_grain_task(long size) {
    (void)size;
    double begin = peer_now();
    for (long i = 0; i < peer_grains(); i++) {
        wsq_task_init(&tasks[i], grain_task);
        wsq_spawn(pool, &tasks[i]);
    }
    wsq_pool_wait(pool);
    return peer_speedup(peer_now() - begin);
}

static wsq_poll yielding(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    /* the index into counts is the task's */
    static long counts[200];
    long *left = &counts[task - tasks];
    if (*left == 0) *left = todo;
    return --*left > 0 ? WSQ_YIELD : WSQ_DONE;
}

static peer_result run_yield(long size) {
    todo = size / 200;
    prepare(200, yielding);
    double begin = peer_now();
    for (int i = 0; i < 200; i++) wsq_spawn(pool, &tasks[i]);
    wsq_pool_wait(pool);
    return since(begin, (double)size);
}

typedef struct player {
    wsq_task task;
    struct player *other;
    long left;
    bool serves;
} player;

static wsqi_a64 ball;

static wsq_poll play(wsq_ctx ctx, wsq_task *task) {
    player *self = wsq_container_of(task, player, task);
    uint64_t hits = wsqi_load_acq(&ball);
    (void)ctx;
    if ((hits % 2 == 0) != self->serves) return WSQ_PENDING;
    wsqi_store_rel(&ball, hits + 1);
    self->left--;
    wsq_wake(&self->other->task);
    return self->left > 0 ? WSQ_PENDING : WSQ_DONE;
}

static peer_result run_ping_pong(long size) {
    player one = {.left = size, .serves = true}, two = {.left = size};
    one.other = &two;
    two.other = &one;
    wsqi_store_rlx(&ball, 0);
    wsq_task_init(&one.task, play);
    wsq_task_init(&two.task, play);
    double begin = peer_now();
    wsq_spawn(pool, &two.task);
    wsq_spawn(pool, &one.task);
    wsq_pool_wait(pool);
    return since(begin, (double)size);
}

static double begun_at;
static wsqi_a32 begun;

static wsq_poll begin_task(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    (void)task;
    begun_at = peer_now();
    wsqi_store_rel(&begun, 1);
    return WSQ_DONE;
}

static void wake_give(void) {
    wsq_task_init(&tasks[0], begin_task);
    wsqi_store_rlx(&begun, 0);
    wsq_spawn(pool, &tasks[0]);
}

static double wake_wait(void) {
    while (!wsqi_load_acq(&begun)) sched_yield();
    wsq_task_wait(&tasks[0]);
    return begun_at;
}

static peer_result run_wake(long size) {
    (void)size;
    return peer_wake(wake_give, wake_wait);
}

static peer_result run_idle(long size) {
    run_one_by_one(size);
    return peer_idle();
}

/* ---- queues alone ---- */

static peer_result run_fifo(long size) {
    static wsq_ring ring;
    int item = 0;
    wsq_ring_init(&ring);
    double begin = peer_now();
    for (long i = 0; i < size; i++) {
        wsq_ring_push(&ring, &item);
        peer_check(wsq_ring_pop(&ring) != NULL, "pop");
    }
    return since(begin, (double)size);
}

static peer_result run_lifo(long size) {
    wsq_deque deque;
    int item = 0;
    peer_check(wsq_deque_init(&deque, 1024) == WSQ_OK, "deque");
    double begin = peer_now();
    for (long i = 0; i < size; i++) {
        wsq_deque_push(&deque, &item);
        peer_check(wsq_deque_pop(&deque) != NULL, "pop");
    }
    peer_result result = since(begin, (double)size);
    wsq_deque_fini(&deque);
    return result;
}

static peer_result run_steal(long size) {
    wsq_deque deque;
    int item = 0;
    void *out;
    double ns = 0;
    peer_check(wsq_deque_init(&deque, 1024) == WSQ_OK, "deque");
    for (long done = 0; done < size; done += 1000) {
        for (int i = 0; i < 1000; i++) wsq_deque_push(&deque, &item);
        double begin = peer_now();
        for (int i = 0; i < 1000; i++)
            peer_check(wsq_deque_steal(&deque, &out) == WSQ_STEAL_OK, "steal");
        ns += peer_now() - begin;
    }
    wsq_deque_fini(&deque);
    return (peer_result){ns, (double)size};
}

int main(int argc, char **argv) {
    static const peer_case cases[] = {
        {"fib", "ns/fork", run_fib, 20, 2},
        {"skynet", "ms", run_skynet, 1, 0},
        {"queens", "ms", run_queens, 1, 0},
        {"uts", "ms", run_uts, 1, 0},
        {"sort", "ms", run_sort, 1, 0},
        {"matmul", "ms", run_matmul, 1, 0},
        {"uneven", "ms", run_uneven, 1, 0},
        {"loop", "ms", run_loop, 1, 0},
        {"grain_loop", "x", run_grain_loop, 1, 0},
        {"spawn", "ns/task", run_spawn, 100000, 0},
        {"outside", "ns/task", run_outside, 100000, 0},
        {"busy", "ns/task", run_busy, 10000, 0},
        {"chain", "ns/task", run_chain, 100000, 0},
        {"submit", "ns/task", run_submit, 200000, 0},
        {"one_by_one", "ns/task", run_one_by_one, 2000, 0},
        {"grain_task", "x", run_grain_task, 1, 0},
        {"yield", "ns", run_yield, 200000, 0},
        {"ping_pong", "ns/trip", run_ping_pong, 50000, 0},
        {"wake", "us", run_wake, 1, 0},
        {"idle", "%", run_idle, 100, 0},
        {"fifo", "ns", run_fifo, 1000000, 0},
        {"lifo", "ns", run_lifo, 1000000, 0},
        {"steal", "ns", run_steal, 1000000, 0},
    };
    return peer_main(argc, argv, cases, sizeof cases / sizeof *cases, start, stop);
}
