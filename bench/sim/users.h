/* users.h - what users write: a thread outside asks, spawns bursts, and calls short loops. The rows are those of
 * bench/peers/users.h, each in us, beside `alone`: what one thread takes for the work itself. */
#ifndef SIM_USERS_H
#define SIM_USERS_H

#include "report.h"

#include "../../examples/wsq_pipeline.h"

enum { USER_ROUNDS = 40, USER_WARM = 10, USER_THREADS = 4, USER_HEAVY_NS = 100000 };

/* ---- tasks ---- */

/* Spawns `count` tasks in a group, and waits for them; or one task, without a group. */
static void user_burst(wsq_pool *pool, unit *units, unsigned count) {
    wsq_task *tasks[64];
    wsq_group group;
    for (unsigned i = 0; i < count; i++) {
        wsq_task_init(&units[i].task, unit_poll);
        units[i].spawned_at = sim_now();
        tasks[i] = &units[i].task;
    }
    if (count == 1) {
        if (wsq_spawn(pool, tasks[0]) != WSQ_OK || wsq_task_wait(tasks[0]) != WSQ_OK) sim_fail("a request was refused");
        return;
    }
    wsq_group_init(&group, pool);
    if (wsq_group_spawn_batch(&group, tasks, count) != WSQ_OK || wsq_group_wait(&group) != WSQ_OK)
        sim_fail("a burst was refused");
}

/* The median of the rounds, us. Between two rounds the caller computes, or sleeps. */
static double user_bursts(wsq_pool *pool, unsigned count, uint32_t ns, uint32_t pause_ns, bool sleeps) {
    unit *units = units_make(count, ns);
    double times[USER_ROUNDS];
    for (int i = 0; i < USER_ROUNDS; i++) {
        if (sleeps) sim_nap(pause_ns);
        else sim_work(pause_ns);
        uint64_t start = sim_now();
        user_burst(pool, units, count);
        times[i] = (double)(sim_now() - start) / 1e3;
    }
    qsort(times, USER_ROUNDS, sizeof *times, double_order);
    return times[USER_ROUNDS / 2];
}

static double user_ask(wsq_pool *pool) { return user_bursts(pool, 1, 0, 500, false); }
static double user_burst_8(wsq_pool *pool) { return user_bursts(pool, 8, 1300, 50000, false); }
static double user_burst_32(wsq_pool *pool) { return user_bursts(pool, 32, 10000, 5000000, true); }

typedef struct user_client {
    wsq_pool *pool;
    unit *own;
} user_client;

static void user_client_main(void *arg) {
    user_client *self = (user_client *)arg;
    for (int i = 0; i < USER_ROUNDS; i++) user_burst(self->pool, self->own, 1);
}

/* Four threads ask, one after the other each: us for a request of all. */
static double user_requests(wsq_pool *pool) {
    user_client clients[USER_THREADS];
    sim_core *threads[USER_THREADS];
    uint64_t start = sim_now();
    for (int i = 0; i < USER_THREADS; i++) {
        clients[i] = (user_client){pool, units_make(1, 1300)};
        threads[i] = sim_thread_outside(user_client_main, &clients[i]);
        if (threads[i] == NULL) sim_fail("too many threads");
    }
    for (int i = 0; i < USER_THREADS; i++) sim_join(threads[i]);
    return (double)(sim_now() - start) / 1e3 / (USER_THREADS * USER_ROUNDS);
}

/* ---- loops ---- */

typedef struct user_loop {
    size_t count, light, ns; /* elements; the first of them that take no time; ns of each other */
} user_loop;

static void user_loop_body(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    const user_loop *self = (const user_loop *)arg;
    (void)ctx;
    if (begin < self->light) begin = self->light;
    if (begin < end) sim_work((end - begin) * self->ns);
}

static void user_loop_root(wsq_ctx ctx, void *arg) {
    wsq_for(ctx, 0, ((const user_loop *)arg)->count, 0, user_loop_body, arg);
}

static double user_loops(wsq_pool *pool, user_loop loop, uint32_t pause_ns) {
    double times[USER_ROUNDS];
    for (int i = 0; i < USER_ROUNDS; i++) {
        sim_work(pause_ns);
        uint64_t start = sim_now();
        if (wsq_run(pool, user_loop_root, &loop) != WSQ_OK) sim_fail("a loop was refused");
        times[i] = (double)(sim_now() - start) / 1e3;
    }
    qsort(times, USER_ROUNDS, sizeof *times, double_order);
    return times[USER_ROUNDS / 2];
}

static double user_loop_4(wsq_pool *pool) { return user_loops(pool, (user_loop){40, 0, 100}, 50000); }
static double user_loop_40(wsq_pool *pool) { return user_loops(pool, (user_loop){400, 0, 100}, 50000); }
static double user_loop_none(wsq_pool *pool) { return user_loops(pool, (user_loop){100, 100, 0}, 0); }

static double user_tail(wsq_pool *pool) {
    return user_loops(pool, (user_loop){20000, 20000 - 20, USER_HEAVY_NS}, 0);
}

/* ---- a graph: a grid of ten by ten empty nodes, each after the one above and the one before ---- */

static wsq_poll user_node(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    return WSQ_DONE;
}

static double user_graph(wsq_pool *pool) {
    enum { WIDTH = 10, NODES = WIDTH * WIDTH };
    wsq_graph *graph = (wsq_graph *)sim_allocate(sizeof *graph);
    wsq_node *nodes = (wsq_node *)sim_allocate(NODES * sizeof *nodes);
    wsq_edge *edges = (wsq_edge *)sim_allocate(2 * NODES * sizeof *edges);
    wsq_graph_init(graph, pool);
    for (int i = 0; i < NODES; i++) {
        wsq_graph_add(graph, &nodes[i], user_node);
        if (i >= WIDTH) wsq_node_after(&nodes[i], &nodes[i - WIDTH], &edges[2 * i]);
        if (i % WIDTH != 0) wsq_node_after(&nodes[i], &nodes[i - 1], &edges[2 * i + 1]);
    }
    uint64_t start = 0;
    for (int i = -1; i < USER_ROUNDS; i++) {
        if (i == 0) start = sim_now();
        if (wsq_graph_run(graph) != WSQ_OK || wsq_group_wait(&graph->group) != WSQ_OK) sim_fail("no graph");
    }
    return (double)(sim_now() - start) / 1e3 / USER_ROUNDS;
}

/* ---- a pipeline ---- */

typedef struct user_items {
    long read, written, all;
    uint32_t ns;
} user_items;

static bool user_read(void *user, unsigned line) {
    (void)line;
    return ((user_items *)user)->read++ < ((user_items *)user)->all;
}

static void user_work(void *user, unsigned line) {
    (void)line;
    sim_work(((user_items *)user)->ns);
}

static void user_write(void *user, unsigned line) {
    (void)line;
    ((user_items *)user)->written++;
}

/* us for an item, which takes so long in a stage between two stages that keep the order. */
static double user_pipeline(wsq_pool *pool, uint32_t ns) {
    user_items items = {.all = 1000, .ns = ns};
    wsq_pipeline line = {.read = user_read, .work = user_work, .write = user_write, .user = &items};
    uint64_t start = sim_now();
    if (wsq_pipeline_run(pool, &line) != WSQ_OK || items.written != items.all) sim_fail("items are missing");
    return (double)(sim_now() - start) / 1e3 / (double)items.all;
}

/* The same by hand: each line is a task, which wakes the next line when that may read, or write. */
typedef struct user_lines user_lines;
typedef struct user_line {
    wsq_task task;
    user_lines *of;
    long item; /* the one that it has next, or now */
    bool has;
} user_line;

struct user_lines {
    user_items items;
    user_line lines[WSQ_PIPELINE_LINES];
};

static wsq_poll user_line_run(wsq_ctx ctx, wsq_task *task) {
    user_line *self = wsq_container_of(task, user_line, task);
    user_items *items = &self->of->items;
    (void)ctx;
    while (self->item < items->all) {
        user_line *next = &self->of->lines[(self->item + 1) % WSQ_PIPELINE_LINES];
        bool last = self->item + 1 == items->all;
        if (!self->has) {
            if (items->read != self->item) return WSQ_PENDING;
            items->read++;
            self->has = true;
            if (!last) wsq_wake(&next->task);
            sim_work(items->ns);
        }
        if (items->written != self->item) return WSQ_PENDING;
        items->written++;
        self->has = false;
        self->item += WSQ_PIPELINE_LINES;
        if (!last) wsq_wake(&next->task);
    }
    return WSQ_DONE;
}

static double user_by_hand(wsq_pool *pool, uint32_t ns) {
    user_lines *self = (user_lines *)sim_allocate(sizeof *self);
    memset(self, 0, sizeof *self);
    self->items = (user_items){.all = 1000, .ns = ns};
    uint64_t start = sim_now();
    for (int i = 0; i < WSQ_PIPELINE_LINES; i++) {
        self->lines[i].of = self;
        self->lines[i].item = i;
        wsq_task_init(&self->lines[i].task, user_line_run);
        if (wsq_spawn(pool, &self->lines[i].task) != WSQ_OK) sim_fail("no line");
    }
    if (wsq_pool_wait(pool) != WSQ_OK || self->items.written != self->items.all) sim_fail("items are missing");
    return (double)(sim_now() - start) / 1e3 / (double)self->items.all;
}

static double user_by_hand_1(wsq_pool *pool) { return user_by_hand(pool, 1000); }
static double user_by_hand_3(wsq_pool *pool) { return user_by_hand(pool, 3000); }
static double user_by_hand_10(wsq_pool *pool) { return user_by_hand(pool, 10000); }
static double user_by_hand_100(wsq_pool *pool) { return user_by_hand(pool, 100000); }
static double user_pipeline_1(wsq_pool *pool) { return user_pipeline(pool, 1000); }
static double user_pipeline_3(wsq_pool *pool) { return user_pipeline(pool, 3000); }
static double user_pipeline_10(wsq_pool *pool) { return user_pipeline(pool, 10000); }
static double user_pipeline_100(wsq_pool *pool) { return user_pipeline(pool, 100000); }

static const struct user_row {
    const char *name;
    double alone; /* us */
    double (*run)(wsq_pool *pool);
    const char *what;
} user_rows[] = {
    {"ask", 0, user_ask, "an empty task, spawned and waited for; 0.5 us apart"},
    {"burst", 10.4, user_burst_8, "8 tasks of 1.3 us, 50 us apart"},
    {"burst_32", 320, user_burst_32, "32 tasks of 10 us, the pool asleep"},
    {"requests", 1.3, user_requests, "4 threads ask for 1.3 us each, again and again; for one"},
    {"empty_loop", 0, user_loop_none, "100 empty elements"},
    {"short_loop", 4, user_loop_4, "40 elements of 0.1 us, 50 us apart"},
    {"loop_40", 40, user_loop_40, "400 elements of 0.1 us, 50 us apart"},
    {"tail", 2000, user_tail, "20,000 elements, of which the last 20 take 100 us each"},
    {"graph_100", 0, user_graph, "a grid of 100 empty nodes, again and again"},
    {"pipeline_1", 1, user_pipeline_1, "in order, 1 us in parallel, in order; for an item"},
    {"pipeline_3", 3, user_pipeline_3, "the same with 3 us"},
    {"pipeline_10", 10, user_pipeline_10, "with 10 us"},
    {"pipeline_100", 100, user_pipeline_100, "with 100 us"},
    {"by_hand_1", 1, user_by_hand_1, "as pipeline_1, but of tasks that wake each other"},
    {"by_hand_3", 3, user_by_hand_3, "with 3 us"},
    {"by_hand_10", 10, user_by_hand_10, "with 10 us"},
    {"by_hand_100", 100, user_by_hand_100, "with 100 us"},
};

enum { USER_ROWS = sizeof user_rows / sizeof *user_rows };

#endif /* SIM_USERS_H */
