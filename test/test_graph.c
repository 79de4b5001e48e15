/* Graphs that run again: every edge holds in every run, each node runs once; nodes that sleep, yield, are
 * pinned or urgent; circles and other mistakes; cancelling; a graph inside a task, and one that is run again
 * by what follows its group. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "test.h"
#include "pool.h"
#include "compose.h"

enum { NODES = 400, EDGES = 3 * NODES };

/* A node that notes its run, and looks whether those that it follows were done before. */
typedef struct spot {
    wsq_node node;
    wsq_timer timer;
    struct spot *after[3];
    unsigned runs, cleanups, calls; /* plain: an edge orders them, or the end of the graph */
    bool waits, yields;
    unsigned worker; /* 1 + the one to which it is pinned; 0: none */
} spot;

static spot spots[NODES];
static wsq_edge edges[EDGES];
static wsq_graph graph;
static unsigned runs, edges_used;

static wsq_poll spot_run(wsq_ctx ctx, wsq_task *task) {
    spot *self = wsq_container_of(task, spot, node.task);
    self->calls++;
    if (self->worker != 0 && wsq_worker_index(ctx) != self->worker - 1) FAIL("a pin does not hold");
    if (self->waits && self->calls % 2 != 0)
        return wsq_timer_set(wsq_pool_of(ctx), &self->timer, task, 1000) == WSQ_OK ? WSQ_PENDING : WSQ_DONE;
    if (self->yields && self->calls % 2 != 0) return WSQ_YIELD;
    for (int i = 0; i < 3; i++) {
        if (self->after[i] != NULL && self->after[i]->runs != self->runs + 1) FAIL("a node came too early");
    }
    self->runs++;
    return WSQ_DONE;
}

static wsq_poll spot_clean(wsq_task *task) {
    wsq_container_of(task, spot, node.task)->cleanups++;
    return WSQ_DONE;
}

static void add(spot *self) {
    *self = (spot){.waits = false};
    CHECK_EQ(wsq_graph_add(&graph, &self->node, spot_run), WSQ_OK);
    wsq_task_set_cleanup(&self->node.task, spot_clean);
}

static void edge(unsigned node, unsigned predecessor) {
    spot *self = &spots[node];
    unsigned i = 0;
    while (self->after[i] != NULL) i++;
    self->after[i] = &spots[predecessor];
    CHECK_EQ(wsq_node_after(&self->node, &spots[predecessor].node, &edges[edges_used++]), WSQ_OK);
}

static void make_graph(wsq_pool *pool, unsigned count) {
    edges_used = 0;
    runs = 0;
    CHECK_EQ(wsq_graph_init(&graph, pool), WSQ_OK);
    for (unsigned i = 0; i < count; i++) add(&spots[i]);
}

static void run_all(unsigned count) {
    CHECK_EQ(wsq_graph_run(&graph), WSQ_OK);
    CHECK_EQ(wsq_group_wait(&graph.group), WSQ_OK);
    runs++;
    unsigned wrong = 0;
    for (unsigned i = 0; i < count; i++) wrong += spots[i].runs != runs || !wsq_task_done(&spots[i].node.task);
    CHECK_EQ(wrong, 0);
}

/* ---- shapes ---- */

static const wsq_config kinds[] = {
    {.workers = 1}, {.workers = 2}, {.workers = 8}, {.workers = 2, .order = WSQ_LIFO},
    {.workers = 2, .order = WSQ_SHARED}, {.workers = 2, .caller_runs = true},
};

enum { KINDS = sizeof kinds / sizeof *kinds };

/* Each node follows up to three earlier ones; some sleep, yield, are pinned, or urgent. */
static void at_random(void) {
    for (size_t k = 0; k < KINDS; k++) {
        wsq_pool *pool = pool_new(kinds[k]);
        uint64_t random = test_seed + k;
        for (size_t round = 0; round < test_times(20); round++) {
            unsigned count = 1 + test_below(&random, NODES);
            bool odd = round % 2 != 0;
            make_graph(pool, count);
            for (unsigned i = 0; i < count; i++) {
                for (int e = 0; e < 3 && i > 0; e++)
                    if (test_below(&random, 2) != 0) edge(i, test_below(&random, i));
                spots[i].yields = test_below(&random, 10) == 0;
                spots[i].waits = odd && test_below(&random, 20) == 0;
                wsq_task *task = &spots[i].node.task;
                if (odd && test_below(&random, 10) == 0) spots[i].worker = 1 + test_below(&random, pool->workers);
                if (spots[i].worker != 0) CHECK_EQ(wsq_task_set_worker(task, spots[i].worker - 1), WSQ_OK);
                if (odd) CHECK_EQ(wsq_task_set_priority(task, (wsq_priority)test_below(&random, 3)), WSQ_OK);
                wsq_task_set_revocable(task, test_below(&random, 10) == 0);
            }
            for (int again = 0; again < 10; again++) run_all(count);
        }
        pool_end(pool);
    }
}

/* How the first nodes are queued is theirs, too, whichever thread runs the graph. */
static void first_ones_are_pinned(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 4});
    make_graph(pool, 8);
    for (unsigned i = 0; i < 8; i++) {
        spots[i].worker = 1 + i % 4;
        CHECK_EQ(wsq_task_set_worker(&spots[i].node.task, i % 4), WSQ_OK);
    }
    for (int again = 0; again < 5; again++) run_all(8);
    pool_end(pool);
}

static void grows_between_runs(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 2});
    make_graph(pool, 0);
    run_all(0);
    for (unsigned i = 0; i < 50; i++) {
        add(&spots[i]);
        spots[i].runs = runs;
        if (i != 0) edge(i, i - 1);
        if (i > 2) edge(i, 0);
        run_all(i + 1);
    }
    pool_end(pool);
}

/* ---- run by tasks ---- */

static unsigned laps;

static step lappers[100];

static wsq_poll next_lap(wsq_ctx ctx, step *self) {
    (void)ctx;
    CHECK_EQ(wsq_graph_run(&graph), WSQ_OK);
    if (++laps < 100) CHECK_EQ(wsq_group_then(&graph.group, &lappers[self->number + 1].task), WSQ_OK);
    return WSQ_DONE;
}

/* Nobody waits: what follows the graph's group runs it again. */
static void by_what_follows(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 2});
    make_graph(pool, 9);
    for (unsigned i = 1; i < 9; i++) edge(i, i / 2);
    for (unsigned i = 0; i < 100; i++) step_new(&lappers[i], next_lap, NULL), lappers[i].number = i;
    laps = 0;
    CHECK_EQ(wsq_spawn(pool, &lappers[0].task), WSQ_OK);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    for (unsigned i = 0; i < 9; i++) CHECK_EQ(spots[i].runs, 100);
    pool_end(pool);
}

static wsq_poll runs_and_waits(wsq_ctx ctx, step *self) {
    (void)ctx, (void)self;
    for (int i = 0; i < 20; i++) run_all(20);
    return WSQ_DONE;
}

static void inside_a_task(void) {
    for (size_t k = 0; k < KINDS; k++) {
        wsq_pool *pool = pool_new(kinds[k]);
        make_graph(pool, 20);
        for (unsigned i = 10; i < 20; i++) edge(i, i - 10), edge(i, 0);
        step one;
        step_new(&one, runs_and_waits, NULL);
        CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_OK);
        CHECK_EQ(wsq_task_wait(&one.task), WSQ_OK);
        pool_end(pool);
    }
}

/* With one worker nodes that follow nothing start in the order in which they were added. */
static void in_order(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 1});
    make_graph(pool, NODES);
    for (unsigned i = 1; i < NODES; i++) spots[i].after[0] = &spots[i - 1]; /* it checks, without an edge */
    for (int again = 0; again < 5; again++) run_all(NODES);
    pool_end(pool);
}

/* ---- mistakes ---- */

static void circles(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 1});
    make_graph(pool, 4);
    edge(1, 0);
    edge(2, 1);
    run_all(4);
    edge(1, 2); /* 0, then the circle of 1 and 2 */
    for (int again = 0; again < 2; again++) {
        CHECK_EQ(wsq_graph_run(&graph), WSQ_ERR_INVALID);
        CHECK_EQ(wsq_group_pending(&graph.group), 0);
    }
    make_graph(pool, 2); /* nothing but a circle */
    edge(0, 1);
    edge(1, 0);
    CHECK_EQ(wsq_graph_run(&graph), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_group_wait(&graph.group), WSQ_OK);
    for (int twice = 0; twice < 2; twice++) { /* a node that was added twice: the second, or the first of two */
        make_graph(pool, 2);
        CHECK_EQ(wsq_graph_add(&graph, &spots[twice].node, spots[twice].node.task.fn), WSQ_OK);
        CHECK_EQ(wsq_graph_run(&graph), WSQ_ERR_INVALID);
        CHECK_EQ(wsq_group_pending(&graph.group), 0);
    }
    pool_end(pool);
}

static void mistakes(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 2});
    static wsq_graph other;
    static spot stranger;
    wsq_edge one, two;
    wsq_task plain, *batch[1];
    wsq_task_init(&plain, spot_run);
    make_graph(pool, 2);
    CHECK_EQ(wsq_graph_init(&other, pool), WSQ_OK);
    CHECK_EQ(wsq_graph_add(&other, &stranger.node, spot_run), WSQ_OK);
    CHECK_EQ(wsq_graph_init(NULL, pool), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_graph_init(&other, NULL), WSQ_ERR_INVALID);
    CHECK_EQ(other.count, 1);
    CHECK_EQ(wsq_graph_add(NULL, &stranger.node, spot_run), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_graph_add(&other, NULL, spot_run), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_graph_add(&other, &stranger.node, NULL), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_graph_run(NULL), WSQ_ERR_INVALID);
    wsq_node *a = &spots[0].node, *b = &spots[1].node;
    CHECK_EQ(wsq_node_after(NULL, b, &one), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_node_after(a, NULL, &one), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_node_after(a, b, NULL), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_node_after(a, a, &one), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_node_after(a, &stranger.node, &one), WSQ_ERR_INVALID);
    b->predecessors = (1u << 26) - 3;
    CHECK_EQ(wsq_node_after(b, a, &one), WSQ_OK);
    CHECK_EQ(wsq_node_after(b, a, &two), WSQ_ERR_INVALID); /* it follows too many */
    b->predecessors = 0;
    a->edges = NULL;
    /* Its pool is known, so its pin is checked now. */
    CHECK_EQ(wsq_task_set_worker(&a->task, 2), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_task_set_worker(&a->task, 1), WSQ_OK);
    CHECK_EQ(wsq_task_set_worker(&a->task, WSQ_ANY_WORKER), WSQ_OK);
    /* Only the graph spawns a node, and nothing else comes before it. */
    batch[0] = &a->task;
    CHECK_EQ(wsq_spawn(pool, &a->task), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_spawn_on(pool, 0, &a->task), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_spawn_batch(pool, batch, 1), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_group_spawn(&graph.group, &a->task), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_group_then(&graph.group, &a->task), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_task_after(&a->task, &plain, &one), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_group_pending(&graph.group), 0);
    /* While it runs it stays as it is. */
    gate doors[2];
    gates_close(doors, pool);
    CHECK_EQ(wsq_graph_run(&graph), WSQ_OK);
    CHECK_EQ(wsq_graph_run(&graph), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_graph_add(&graph, &stranger.node, spot_run), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_node_after(a, b, &two), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_group_pending(&graph.group), 2);
    gates_open(doors, pool);
    CHECK_EQ(wsq_group_wait(&graph.group), WSQ_OK);
    CHECK_EQ(spots[0].runs, 1);
    CHECK_EQ(wsq_pool_shutdown(pool, WSQ_DRAIN), WSQ_OK);
    CHECK_EQ(wsq_graph_run(&graph), WSQ_ERR_CLOSED);
    CHECK_EQ(wsq_group_pending(&graph.group), 0);
    pool_end(pool);
}

/* ---- cancelling ---- */

static wsq_poll cancels(wsq_ctx ctx, wsq_task *task) {
    (void)spot_run(ctx, task);
    wsq_group_cancel(&graph.group);
    return WSQ_DONE;
}

/* A node in the middle cancels the group: what follows is cancelled; then the graph runs again. */
static void cancel_the_rest(void) {
    for (size_t k = 0; k < KINDS; k++) {
        wsq_pool *pool = pool_new(kinds[k]);
        make_graph(pool, 50);
        for (unsigned i = 1; i < 50; i++) edge(i, i - 1);
        for (unsigned i = 2; i < 50; i++) edge(i, i / 2);
        spots[20].node.task.fn = cancels;
        CHECK_EQ(wsq_graph_run(&graph), WSQ_OK);
        CHECK_EQ(wsq_group_wait(&graph.group), WSQ_ERR_CANCELLED);
        CHECK_EQ(wsq_graph_run(&graph), WSQ_ERR_CANCELLED);
        for (unsigned i = 0; i < 50; i++) {
            CHECK_EQ(spots[i].runs, i <= 20);
            CHECK_EQ(spots[i].cleanups, i > 20);
            spots[i].runs = 0;
        }
        spots[20].node.task.fn = spot_run;
        CHECK_EQ(wsq_group_init(&graph.group, pool), WSQ_OK);
        for (int again = 0; again < 3; again++) run_all(50);
        pool_end(pool);
    }
}

static wsq_poll sleeps(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    wsq_container_of(task, spot, node.task)->calls++;
    return WSQ_PENDING;
}

/* One node is cancelled while it waits for a wake: those that follow it are, too, and no others. */
static void cancel_one(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 2});
    make_graph(pool, 6);
    edge(2, 1);
    edge(2, 0);
    edge(3, 2);
    edge(4, 0);
    spots[1].node.task.fn = sleeps;
    CHECK_EQ(wsq_graph_run(&graph), WSQ_OK);
    while (wsqi_task_is(wsqi_load_acq(&spots[1].node.task.state), WSQI_TASK_PENDING) == false) sched_yield();
    CHECK(wsq_task_cancel(&spots[1].node.task));
    CHECK_EQ(wsq_group_wait(&graph.group), WSQ_ERR_CANCELLED);
    for (unsigned i = 0; i < 6; i++) CHECK_EQ(spots[i].cleanups, i >= 1 && i <= 3);
    for (unsigned i = 0; i < 6; i++) spots[i].runs = 0;
    spots[1].node.task.fn = spot_run;
    CHECK_EQ(wsq_group_init(&graph.group, pool), WSQ_OK);
    run_all(6);
    pool_end(pool);
}

/* A node whose predecessor has not ended cannot be cancelled, and a cancel in the last run is over. */
static void cancel_too_early(void) {
    wsq_pool *pool = pool_new((wsq_config){.caller_runs = true});
    make_graph(pool, 2);
    edge(1, 0);
    CHECK_EQ(wsq_graph_run(&graph), WSQ_OK);
    wsq_group_cancel(&graph.group);
    CHECK_EQ(wsq_group_wait(&graph.group), WSQ_ERR_CANCELLED);
    CHECK_EQ(wsq_group_init(&graph.group, pool), WSQ_OK);
    CHECK_EQ(wsq_graph_run(&graph), WSQ_OK);
    CHECK(!wsq_task_cancel(&spots[1].node.task));
    CHECK_EQ(wsq_group_wait(&graph.group), WSQ_OK);
    CHECK_EQ(spots[1].runs, 1);
    pool_end(pool);
}

/* A shutdown cancels what is left of a run. */
static void cancelled_pool(void) {
    for (int round = 0; round < 20; round++) {
        wsq_pool *pool = pool_new((wsq_config){.workers = 2});
        make_graph(pool, 100);
        for (unsigned i = 2; i < 100; i++) edge(i, i - 2), edge(i, i - 1);
        gate doors[2];
        gates_close(doors, pool);
        CHECK_EQ(wsq_graph_run(&graph), WSQ_OK);
        if (round % 2 != 0) gates_cancel(doors, pool);
        else gates_open(doors, pool), CHECK_EQ(wsq_pool_shutdown(pool, WSQ_CANCEL), WSQ_OK);
        for (unsigned i = 0; i < 100; i++) CHECK_EQ(spots[i].runs + spots[i].cleanups, 1);
        CHECK_EQ(wsq_group_pending(&graph.group), 0);
        pool_end(pool);
    }
}

/* A task of the caller's comes after a node. */
static void followed_by_a_task(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 2});
    make_graph(pool, 3);
    edge(1, 0);
    edge(2, 1);
    spots[1].node.task.fn = sleeps;
    step last;
    step_new(&last, NULL, NULL);
    wsq_edge to_last;
    CHECK_EQ(wsq_task_after(&last.task, &spots[2].node.task, &to_last), WSQ_OK);
    CHECK_EQ(wsq_spawn(pool, &last.task), WSQ_OK);
    CHECK_EQ(wsq_graph_run(&graph), WSQ_OK);
    while (wsqi_task_is(wsqi_load_acq(&spots[1].node.task.state), WSQI_TASK_PENDING) == false) sched_yield();
    CHECK(!wsq_task_done(&last.task));
    spots[1].node.task.fn = spot_run;
    wsq_wake(&spots[1].node.task);
    CHECK_EQ(wsq_task_wait(&last.task), WSQ_OK);
    CHECK_EQ(spots[2].runs, 1);
    pool_end(pool);
}

int main(void) {
    test_begin("test_graph");
    RUN(at_random);
    RUN(first_ones_are_pinned);
    RUN(grows_between_runs);
    RUN(by_what_follows);
    RUN(inside_a_task);
    RUN(in_order);
    RUN(circles);
    RUN(mistakes);
    RUN(cancel_the_rest);
    RUN(cancel_one);
    RUN(cancel_too_early);
    RUN(cancelled_pool);
    RUN(followed_by_a_task);
    return test_end();
}
