/* wsq, in the cases of the peers. Environment: PEER_ORDER=shared: in WSQ_SHARED pools. */
#include "timers.h"
#include "work.h"
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"

#include <pthread.h>
#include <sched.h>

#define QUEENS PEER_QUEENS
#define QUEENS_HOLD peer_queen_holds
#include "../forks.h"
#include "../tasks.h"

#define TASKS 200000

static wsq_pool *pool;
static wsq_task *tasks;

static void start(void) {
    const char *order = getenv("PEER_ORDER");
    peer_check(order == NULL || strcmp(order, "shared") == 0, "PEER_ORDER");
    wsq_config config = {.workers = peer_workers, .order = order != NULL ? WSQ_SHARED : WSQ_FIFO};
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

typedef uint64_t tree_node;

static inline int tree_children(const tree_node *node) { return peer_tree_children(*node); }
static inline tree_node tree_child(const tree_node *node, int i) { return peer_tree_child(*node, i); }

#define TREE_CHUNK PEER_TREE_ARITY /* the root has many children */
#include "../tree.h"

static void tree_root(wsq_ctx ctx, void *arg) {
    const tree_node first = 1;
    *(long *)arg = tree(ctx, &first, PEER_TREE_ROOT);
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

static long todo;

static peer_result run_spawn(long size) {
    driver drive = {.tasks = tasks, .left = size};
    wsq_task_init(&drive.task, spawn_all);
    double begin = peer_now();
    wsq_spawn(pool, &drive.task);
    wsq_pool_wait(pool);
    return since(begin, (double)size);
}

/* From outside while every worker has something to do already: a task that always yields. The last
 * task takes the time: the thread outside has given its core away, and gets it back when the system
 * thinks fit. */
static atomic_long left_to_do;
static atomic_bool all_done;
static double last_done_at;

static wsq_poll count_down(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    (void)task;
    if (atomic_fetch_sub_explicit(&left_to_do, 1, memory_order_acq_rel) == 1) {
        last_done_at = peer_now();
        atomic_store_explicit(&all_done, true, memory_order_release);
    }
    return WSQ_DONE;
}

static peer_result run_busy(long size) {
    atomic_store(&all_done, false);
    atomic_store(&left_to_do, size);
    begin_busy(pool, &tasks[TASKS - 256], peer_workers);
    peer_sleep_us(1000);
    double begin = peer_now();
    for (long i = 0; i < size; i++) {
        wsq_task_init(&tasks[i], count_down);
        wsq_spawn(pool, &tasks[i]);
    }
    while (!atomic_load_explicit(&all_done, memory_order_acquire)) sched_yield();
    peer_result result = {last_done_at - begin, (double)size};
    atomic_store(&busy, false);
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

static peer_result run_yield(long size) {
    static driver drivers[200];
    for (int i = 0; i < 200; i++) {
        drivers[i].left = size / 200;
        wsq_task_init(&drivers[i].task, yielding);
    }
    double begin = peer_now();
    for (int i = 0; i < 200; i++) wsq_spawn(pool, &drivers[i].task);
    wsq_pool_wait(pool);
    return since(begin, (double)size);
}

static peer_result run_ping_pong(long size) {
    player one, two;
    players(&one, &two, size);
    double begin = peer_now();
    wsq_spawn(pool, &two.task);
    wsq_spawn(pool, &one.task);
    wsq_pool_wait(pool);
    return since(begin, (double)size);
}

static double begun_at;
static atomic_bool begun;

static wsq_poll begin_task(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    (void)task;
    begun_at = peer_now();
    atomic_store_explicit(&begun, true, memory_order_release);
    return WSQ_DONE;
}

static void wake_give(void) {
    wsq_task_init(&tasks[0], begin_task);
    atomic_store_explicit(&begun, false, memory_order_relaxed);
    wsq_spawn(pool, &tasks[0]);
}

static double wake_wait(void) {
    while (!atomic_load_explicit(&begun, memory_order_acquire)) sched_yield();
    wsq_task_wait(&tasks[0]);
    return begun_at;
}

static peer_result run_wake(long size) {
    (void)size;
    return peer_wake(wake_give, wake_wait);
}

static wsq_poll answer(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    return WSQ_DONE;
}

static void ask(void) {
    wsq_task_init(&tasks[0], answer);
    wsq_spawn(pool, &tasks[0]);
    wsq_task_wait(&tasks[0]);
}

static peer_result run_ask(long size) {
    (void)size;
    return peer_ask(ask);
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

/* ---- timers, by a task on the first worker ---- */

typedef struct sleeper {
    wsq_timer timer;
    int runs;
    WSQI_ALIGNED(64) wsq_task task;
} sleeper;

typedef struct timer_work {
    wsq_task task;
    peer_result (*run)(long others);
    long others;
    peer_result result;
} timer_work;

static sleeper *sleepers;

static wsq_poll sleeper_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    return wsq_container_of(task, sleeper, task)->runs++ == 0 ? WSQ_PENDING : WSQ_DONE;
}

static void timer_set(long i, uint64_t delay_ns) {
    wsq_timer_set(pool, &sleepers[i].timer, &sleepers[i].task, delay_ns);
}

static void timer_cancel(long i) { wsq_timer_cancel(&sleepers[i].timer); }

static wsq_poll timer_work_run(wsq_ctx ctx, wsq_task *task) {
    timer_work *self = wsq_container_of(task, timer_work, task);
    (void)ctx;
    self->result = self->run(self->others);
    return WSQ_DONE;
}

static void sleepers_make(void) {
    if (sleepers != NULL) return;
    sleepers = aligned_alloc(64, PEER_TIMERS * sizeof *sleepers);
    peer_check(sleepers != NULL, "memory");
    memset((void *)sleepers, 0, PEER_TIMERS * sizeof *sleepers);
    for (long i = 0; i < PEER_TIMERS; i++) wsq_task_init(&sleepers[i].task, sleeper_run);
}

static peer_result timer_on_worker(peer_result (*run)(long others), long others) {
    timer_work work = {.run = run, .others = others};
    sleepers_make();
    wsq_task_init(&work.task, timer_work_run);
    peer_check(wsq_spawn_on(pool, 0, &work.task) == WSQ_OK, "spawn");
    wsq_task_wait(&work.task);
    return work.result;
}

static peer_result run_timer_set(long n) { return timer_on_worker(timer_steps_set, n); }
static peer_result run_timer_cancel(long n) { return timer_on_worker(timer_steps_cancel, n); }
static peer_result run_timer_again(long n) { return timer_on_worker(timer_steps_again, n); }

static peer_result timer_all(long count) {
    timer_set_all(count);
    return (peer_result){0, 0};
}

static peer_result run_timer_fire(long count) {
    sleepers_make();
    for (long i = 0; i < count; i++) {
        sleepers[i].runs = 0;
        wsq_spawn(pool, &sleepers[i].task);
    }
    timer_on_worker(timer_all, count);
    double begin = timer_processor_ns();
    peer_check(wsq_pool_wait(pool) == WSQ_OK, "timers");
    return (peer_result){timer_processor_ns() - begin, (double)count};
}

/* ---- what users write ---- */

#define HAS_BURST
#define HAS_GRAPH
#define HAS_PIPELINE
#define HAS_SHORT_LOOP
#include "users.h"

typedef struct timed {
    wsq_task task;
    double ns;
} timed;

static wsq_poll timed_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    peer_spin(wsq_container_of(task, timed, task)->ns);
    return WSQ_DONE;
}

static void burst(int count, double ns) {
    timed some[32];
    wsq_task *all[32];
    wsq_group group;
    wsq_group_init(&group, pool);
    for (int i = 0; i < count; i++) {
        some[i].ns = ns;
        wsq_task_init(all[i] = &some[i].task, timed_run);
    }
    if (count == 1) {
        wsq_spawn(pool, all[0]);
        wsq_task_wait(all[0]);
    } else {
        wsq_group_spawn_batch(&group, all, (size_t)count);
        wsq_group_wait(&group);
    }
}

static wsq_graph graph;
static wsq_node nodes[1000];
static wsq_edge edges[1000][2];

static wsq_poll node_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    return WSQ_DONE;
}

static void graph_make(long width, long count) {
    wsq_graph_init(&graph, pool);
    for (long i = 0; i < count; i++) {
        wsq_graph_add(&graph, &nodes[i], node_run);
        if (i >= width) wsq_node_after(&nodes[i], &nodes[i - width], &edges[i][0]);
        if (i % width != 0) wsq_node_after(&nodes[i], &nodes[i - 1], &edges[i][1]);
    }
}

static void graph_run(void) {
    peer_check(wsq_graph_run(&graph) == WSQ_OK && wsq_group_wait(&graph.group) == WSQ_OK, "graph");
}

#include "../../examples/wsq_pipeline.h"

typedef struct items {
    long item[WSQ_PIPELINE_LINES], read, written, all;
    double ns;
} items;

static bool items_read(void *user, unsigned line) {
    items *self = (items *)user;
    self->item[line] = self->read;
    return self->read++ < self->all;
}

static void items_work(void *user, unsigned line) {
    (void)line;
    peer_spin(((items *)user)->ns);
}

static void items_write(void *user, unsigned line) {
    items *self = (items *)user;
    peer_check(self->item[line] == self->written++, "order");
}

static void pipeline(long count, double ns) {
    items user = {.all = count, .ns = ns};
    wsq_pipeline p = {.read = items_read, .work = items_work, .write = items_write, .user = &user};
    peer_check(wsq_pipeline_run(pool, &p) == WSQ_OK && user.written == count, "items");
}

typedef struct ranges {
    long n;
    void (*body)(long begin, long end);
} ranges;

static void ranges_body(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    (void)ctx;
    ((ranges *)arg)->body((long)begin, (long)end);
}

static void ranges_run(wsq_ctx ctx, void *arg) {
    wsq_for(ctx, 0, (size_t)((ranges *)arg)->n, 0, ranges_body, arg);
}

static void loop_ranges(long n, void (*body)(long begin, long end)) {
    ranges all = {n, body};
    wsq_run(pool, ranges_run, &all);
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
        {"ask", "us", run_ask, 1, 0},
        {"wake", "us", run_wake, 1, 0},
        {"idle", "%", run_idle, 100, 0},
        PEER_USER_CASES
        {"fifo", "ns", run_fifo, 1000000, 0},
        {"lifo", "ns", run_lifo, 1000000, 0},
        {"steal", "ns", run_steal, 1000000, 0},
        PEER_TIMER_CASES(run_timer_set, run_timer_cancel, run_timer_again, run_timer_fire),
    };
    return peer_main(argc, argv, cases, sizeof cases / sizeof *cases, start, stop);
}
