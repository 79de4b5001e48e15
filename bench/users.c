/* Programs as users write them: how soon does what could run begin?
 *
 *   users/pipeline_K    serial, K us parallel, serial in order, by wsq_pipeline.h; for an item
 *   users/ask_*         a thread outside spawns one task and waits: a task, a future, a group of one
 *   users/requests      four threads outside do so with tasks of 1.3 us
 *   users/burst_8       eight tasks of 1.3 us in a group from outside, 50 us apart
 *   users/burst_32      32 tasks of 10 us, from outside; the pool has fallen asleep
 *   users/inside_8      eight tasks of 1.3 us in a group, inside a task
 *   users/loop_4        a loop of 4 us from outside, 50 us apart
 *   users/loop_empty    100 empty iterations from outside
 *   users/loop_few      8 of them, as few as elements that take long
 *   users/tail          a loop of 20,000 whose last 20 are heavy
 *   users/graph_N       a grid of N empty nodes, each after the one above and the one before: run
 *                       from outside, again and again */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "../examples/wsq_pipeline.h"
#include "bench.h"

#include <pthread.h>

static void work(uint64_t ns) {
    uint64_t start = bench_now();
    while (bench_now() - start < ns) {}
}

/* ---- pipelines ---- */

typedef struct items {
    long item[WSQ_PIPELINE_LINES], read, written, all;
    uint64_t ns;
} items;

static bool items_read(void *user, unsigned line) {
    items *self = user;
    self->item[line] = self->read;
    return self->read++ < self->all;
}

static void items_work(void *user, unsigned line) {
    (void)line;
    work(((items *)user)->ns);
}

static void items_write(void *user, unsigned line) {
    items *self = user;
    bench_check(self->item[line] == self->written++, "order");
}

static double pipeline(const bench_case *self, uint64_t ns) {
    items user = {.all = self->n, .ns = ns};
    wsq_pipeline p = {.read = items_read, .work = items_work, .write = items_write, .user = &user};
    uint64_t start = bench_now();
    bench_check(wsq_pipeline_run(self->pool, &p) == WSQ_OK && user.written == self->n, "items");
    return bench_since(start) / 1e3 / (double)self->n;
}

static double pipeline_1(const bench_case *self) { return pipeline(self, 1000); }
static double pipeline_3(const bench_case *self) { return pipeline(self, 3000); }
static double pipeline_10(const bench_case *self) { return pipeline(self, 10000); }
static double pipeline_100(const bench_case *self) { return pipeline(self, 100000); }

/* ---- asking ---- */

typedef struct small {
    wsq_task task;
    uint64_t ns;
} small;

static wsq_poll small_run(wsq_ctx ctx, wsq_task *task) {
    uint64_t ns = wsq_container_of(task, small, task)->ns;
    (void)ctx;
    if (ns != 0) work(ns);
    return WSQ_DONE;
}

static void ask(wsq_pool *pool, uint64_t ns) {
    small one = {.ns = ns};
    wsq_task_init(&one.task, small_run);
    bench_check(wsq_spawn(pool, &one.task) == WSQ_OK, "spawn");
    bench_check(wsq_task_wait(&one.task) == WSQ_OK, "wait");
}

static double ask_task(const bench_case *self) {
    uint64_t start = bench_now();
    for (long i = 0; i < self->n; i++) ask(self->pool, 0);
    return bench_since(start) / 1e3 / (double)self->n;
}

static void *same(void *arg) { return arg; }

static double ask_future(const bench_case *self) {
    uint64_t start = bench_now();
    for (long i = 0; i < self->n; i++) {
        wsq_future *future;
        bench_check(wsq_submit(self->pool, same, NULL, &future) == WSQ_OK, "submit");
        bench_check(wsq_future_get(future, NULL) == WSQ_OK, "get");
    }
    return bench_since(start) / 1e3 / (double)self->n;
}

/* A group of so many tasks, spawned and waited for. */
static void group_of(wsq_pool *pool, int count, uint64_t ns) {
    small some[32];
    wsq_group group;
    wsq_group_init(&group, pool);
    for (int i = 0; i < count; i++) {
        some[i].ns = ns;
        wsq_task_init(&some[i].task, small_run);
        bench_check(wsq_group_spawn(&group, &some[i].task) == WSQ_OK, "spawn");
    }
    bench_check(wsq_group_wait(&group) == WSQ_OK, "wait");
}

static double ask_group(const bench_case *self) {
    uint64_t start = bench_now();
    for (long i = 0; i < self->n; i++) group_of(self->pool, 1, 0);
    return bench_since(start) / 1e3 / (double)self->n;
}

static const bench_case *asked;

static void *ask_main(void *arg) {
    (void)arg;
    for (long i = 0; i < asked->n; i++) ask(asked->pool, 1300);
    return NULL;
}

static double requests(const bench_case *self) {
    pthread_t threads[4];
    asked = self;
    uint64_t start = bench_now();
    for (int i = 0; i < 4; i++) bench_check(pthread_create(&threads[i], NULL, ask_main, NULL) == 0, "thread");
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    return bench_since(start) / 1e3 / (double)(4 * self->n);
}

/* ---- bursts ---- */

static double bursts(const bench_case *self, int count, uint64_t ns, uint64_t apart_ns) {
    double sum = 0;
    for (long i = 0; i < self->n; i++) {
        if (apart_ns < 1000000) work(apart_ns);
        else bench_sleep_us((long)(apart_ns / 1000));
        uint64_t start = bench_now();
        group_of(self->pool, count, ns);
        sum += bench_since(start);
    }
    return sum / 1e3 / (double)self->n;
}

static double burst_8(const bench_case *self) { return bursts(self, 8, 1300, 50000); }
static double burst_32(const bench_case *self) { return bursts(self, 32, 10000, 2000000); }

static wsq_poll inside_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    group_of(wsq_pool_of(ctx), 8, 1300);
    return WSQ_DONE;
}

static double inside_8(const bench_case *self) {
    uint64_t start = bench_now();
    for (long i = 0; i < self->n; i++) {
        wsq_task one;
        wsq_task_init(&one, inside_run);
        bench_check(wsq_spawn(self->pool, &one) == WSQ_OK, "spawn");
        bench_check(wsq_task_wait(&one) == WSQ_OK, "wait");
    }
    return bench_since(start) / 1e3 / (double)self->n;
}

/* ---- loops ---- */

static void iteration(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    (void)ctx;
    for (size_t i = begin; i < end; i++) {
        uint64_t ns = arg == NULL ? 0 : ((const uint64_t *)arg)[i];
        if (ns != 0) work(ns);
    }
}

typedef struct loop {
    size_t count;
    uint64_t *ns;
} loop;

static void loop_run(wsq_ctx ctx, void *arg) {
    const loop *self = (const loop *)arg;
    wsq_for(ctx, 0, self->count, 0, iteration, self->ns);
}

static double loops(const bench_case *self, loop *what, uint64_t apart_ns) {
    double sum = 0;
    for (long i = 0; i < self->n; i++) {
        if (apart_ns != 0) work(apart_ns);
        uint64_t start = bench_now();
        bench_check(wsq_run(self->pool, loop_run, what) == WSQ_OK, "run");
        sum += bench_since(start);
    }
    return sum / 1e3 / (double)self->n;
}

static double loop_4(const bench_case *self) {
    static uint64_t ns[40];
    for (int i = 0; i < 40; i++) ns[i] = 100;
    return loops(self, &(loop){40, ns}, 50000);
}

static double loop_empty(const bench_case *self) { return loops(self, &(loop){100, NULL}, 0); }
static double loop_few(const bench_case *self) { return loops(self, &(loop){8, NULL}, 0); }

static double tail(const bench_case *self) {
    static uint64_t ns[20000];
    for (int i = 20000 - 20; i < 20000; i++) ns[i] = 100000;
    return loops(self, &(loop){20000, ns}, 0);
}

/* ---- graphs ---- */

enum { GRAPH_MAX = 90000 };

static wsq_node nodes[GRAPH_MAX];
static wsq_edge edges[GRAPH_MAX][2];
static wsq_graph graph;

static wsq_poll node_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    (void)task;
    return WSQ_DONE;
}

static void node_after(long node, long other, wsq_edge *edge) {
    bench_check(wsq_node_after(&nodes[node], &nodes[other], edge) == WSQ_OK, "an edge");
}

static double graph_of(const bench_case *self, long width, long count) {
    wsq_graph_init(&graph, self->pool);
    for (long i = 0; i < count; i++) {
        bench_check(wsq_graph_add(&graph, &nodes[i], node_run) == WSQ_OK, "a node");
        if (i >= width) node_after(i, i - width, &edges[i][0]);
        if (i % width != 0) node_after(i, i - 1, &edges[i][1]);
    }
    uint64_t start = bench_now();
    for (long i = 0; i < self->n; i++) {
        bench_check(wsq_graph_run(&graph) == WSQ_OK, "run");
        bench_check(wsq_group_wait(&graph.group) == WSQ_OK, "wait");
    }
    return bench_since(start) / 1e3 / (double)self->n;
}

static double graph_100(const bench_case *self) { return graph_of(self, 10, 100); }
static double graph_1000(const bench_case *self) { return graph_of(self, 25, 1000); }
static double graph_90000(const bench_case *self) { return graph_of(self, 300, 90000); }

enum { STENCIL = 30000 };

static double rows[2][STENCIL + 2];

static void stencil_body(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    const double *from = rows[*(const int *)arg];
    double *to = rows[1 - *(const int *)arg];
    (void)ctx;
    for (size_t i = begin; i < end; i++) to[i + 1] = (from[i] + from[i + 1] + from[i + 2]) * 0.333;
}

static void stencil_run(wsq_ctx ctx, void *arg) { wsq_for(ctx, 0, STENCIL, 0, stencil_body, arg); }

static double stencil(const bench_case *self) {
    uint64_t start = bench_now();
    for (long i = 0; i < self->n; i++) {
        int from = i % 2 != 0;
        bench_check(wsq_run(self->pool, stencil_run, &from) == WSQ_OK, "run");
    }
    return bench_since(start) / 1e3 / (double)self->n;
}

static double create(const bench_case *self) {
    static uint64_t ns[1000];
    loop what = {1000, ns};
    for (int i = 0; i < 1000; i++) ns[i] = 1000;
    uint64_t start = bench_now();
    for (long i = 0; i < self->n; i++) {
        wsq_config config = {.workers = self->workers};
        wsq_pool *pool = NULL;
        bench_check(wsq_pool_create(&pool, &config) == WSQ_OK, "pool");
        bench_check(wsq_run(pool, loop_run, &what) == WSQ_OK, "run");
        wsq_pool_destroy(pool);
    }
    return bench_since(start) / 1e3 / (double)self->n;
}

int main(int argc, char **argv) {
    bench_begin("users", argc, argv);
    bench_add_pair("users/pipeline_1", "us/item", pipeline_1, 20000);
    bench_add_pair("users/pipeline_3", "us/item", pipeline_3, 10000);
    bench_add_pair("users/pipeline_10", "us/item", pipeline_10, 4000);
    bench_add_pair("users/pipeline_100", "us/item", pipeline_100, 400);
    bench_add_pair("users/ask_task", "us", ask_task, 2000);
    bench_add_pair("users/ask_future", "us", ask_future, 2000);
    bench_add_pair("users/ask_group", "us", ask_group, 2000);
    bench_add_pair("users/requests", "us", requests, 1000);
    bench_add_pair("users/burst_8", "us", burst_8, 300);
    bench_add_pair("users/burst_32", "us", burst_32, 20);
    bench_add_pair("users/inside_8", "us", inside_8, 1000);
    bench_add_pair("users/loop_4", "us", loop_4, 300);
    bench_add_pair("users/loop_empty", "us", loop_empty, 2000);
    bench_add_pair("users/loop_few", "us", loop_few, 2000);
    bench_add_pair("users/tail", "us", tail, 10);
    bench_add_pair("users/stencil", "us", stencil, 2000);
    bench_add_pair("users/create", "us", create, 30);
    bench_add_pair("users/graph_100", "us", graph_100, 2000);
    bench_add_pair("users/graph_1000", "us", graph_1000, 200);
    bench_add_pair("users/graph_90000", "us", graph_90000, 3);
    bench_run();
    return bench_end();
}
