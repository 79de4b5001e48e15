/* Part 6 of the suite: the same recursion as jobs, as tasks of which the newest runs first, and as tasks
 * of which the oldest runs first. With one worker, so that only the order differs. */
#ifndef BENCH_SUITE_ORDER_H
#define BENCH_SUITE_ORDER_H

#include "sort.h"

#define TREE_DEPTH 19 /* 2^20 - 1 nodes */

typedef struct node {
    wsq_task task;
    wsq_job job;
    int32_t *a; /* what to sort; the tree has none */
    size_t n;   /* how many; the tree: levels below */
} node;

static node *nodes;
static wsqi_a32 nodes_used;
static uint32_t nodes_open, most_open; /* spawned and not begun: the worker's own */

static void node_spawn(wsq_pool *in, int32_t *a, size_t n, wsq_task_fn fn) {
    node *self = &nodes[wsqi_add_rlx(&nodes_used, 1u)];
    self->a = a;
    self->n = n;
    wsq_task_init(&self->task, fn);
    if (++nodes_open > most_open) most_open = nodes_open;
    wsq_spawn(in, &self->task);
}

static wsq_poll sort_task(wsq_ctx ctx, wsq_task *task) {
    node *self = wsq_container_of(task, node, task);
    nodes_open--;
    while (self->n >= QUICK_CUTOFF) {
        size_t cut = partition(self->a, self->n);
        node_spawn(wsq_pool_of(ctx), self->a + cut, self->n - cut, sort_task);
        self->n = cut;
    }
    quick_plain(self->a, self->n);
    return WSQ_DONE;
}

static wsq_poll tree_task(wsq_ctx ctx, wsq_task *task) {
    node *self = wsq_container_of(task, node, task);
    nodes_open--;
    if (self->n == 0) return WSQ_DONE;
    for (int i = 0; i < 2; i++) node_spawn(wsq_pool_of(ctx), NULL, self->n - 1, tree_task);
    return WSQ_DONE;
}

static void tree_job(wsq_ctx ctx, wsq_job *job) {
    node *self = wsq_container_of(job, node, job);
    if (self->n == 0) return;
    node below[2];
    below[0].n = below[1].n = self->n - 1;
    wsq_fork(&ctx, &below[0].job, tree_job);
    tree_job(ctx, &below[1].job);
    wsq_join(&ctx, &below[0].job);
}

static void tree_root(wsq_ctx ctx, void *arg) {
    tree_job(ctx, &((node *)arg)->job);
}

/* ns for one recursion. NULL: as jobs. */
static double order_once(wsq_pool *in, wsq_task_fn fn) {
    node root = {.n = TREE_DEPTH};
    bool sorts = fn == sort_task;
    if (sorts) memcpy(data, input, SORTED * sizeof *data);
    wsqi_store_rlx(&nodes_used, 0u);
    nodes_open = most_open = 0;
    uint64_t start = bench_now();
    if (in != NULL) {
        node_spawn(in, data, sorts ? SORTED : TREE_DEPTH, fn);
        bench_check(wsq_pool_wait(in) == WSQ_OK, "wait");
    } else {
        bench_check(wsq_run(bench_pool(1), sorts ? sort_root : tree_root,
                            sorts ? (void *)data : &root) == WSQ_OK, "run");
    }
    double ns = bench_since(start);
    for (long i = 1; sorts && i < SORTED; i++) bench_check(data[i - 1] <= data[i], "sorted");
    return ns;
}

static void order_of(const char *name, wsq_pool *lifo, wsq_pool *fifo, wsq_task_fn fn) {
    double jobs[BENCH_MAX_ROUNDS], newest[BENCH_MAX_ROUNDS], oldest[BENCH_MAX_ROUNDS];
    uint32_t open[2];
    char line[96], rest[64];
    for (int i = 0; i < rounds; i++) {
        jobs[i] = order_once(NULL, fn);
        newest[i] = order_once(lifo, fn), open[0] = most_open;
        oldest[i] = order_once(fifo, fn), open[1] = most_open;
    }
    double ns[] = {bench_summarise(jobs, rounds).median, bench_summarise(newest, rounds).median,
                   bench_summarise(oldest, rounds).median};
    static const char *const ways[] = {"jobs", "lifo", "fifo"};
    for (int i = 0; i < 3; i++) {
        snprintf(line, sizeof line, "suite/order_%s_%s", name, ways[i]);
        snprintf(rest, sizeof rest, "times_jobs=%.2f", ns[i] / ns[0]);
        if (i > 0) snprintf(rest + strlen(rest), 32, " most_queued=%u", (unsigned)open[i - 1]);
        bench_line(line, ns[i] / 1e6, "ms", 1, rest);
    }
    if (ns[2] / ns[1] > summary.fifo_to_lifo) summary.fifo_to_lifo = ns[2] / ns[1];
}

static void suite_order(void) {
    wsq_config newest = {.workers = 1, .order = WSQ_LIFO};
    wsq_pool *lifo = NULL;
    bench_check(wsq_pool_create(&lifo, &newest) == WSQ_OK, "pool");
    sort_data();
    nodes = bench_alloc(((size_t)2 << TREE_DEPTH) * sizeof *nodes);
    order_of("sort", lifo, bench_pool(1), sort_task);
    order_of("tree", lifo, bench_pool(1), tree_task);
    free(nodes);
    free(input);
    free(data);
    wsq_pool_destroy(lifo);
}

#endif
