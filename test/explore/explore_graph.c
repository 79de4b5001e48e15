/* Graphs that run again, in the explorer: two workers end what a node follows; a run against another, against
 * a cancel, against a shutdown. */
#include "explore_small.h"
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include "explore_pool.h"

enum { SPOTS = 5 };

/* Reads what those that it follows have written, and writes. */
typedef struct spot {
    wsq_node node;
    struct spot *after[2];
    int letter;        /* plain: how often it ran */
    int company;       /* so many meet in their runs */
    int done, cleaned; /* the explorer's own */
} spot;

static spot spots[SPOTS];
static wsq_edge edges[2 * SPOTS];
static wsq_graph graph;
static wsq_pool *pool;
static int edge_count, started, gate;

static wsq_poll run_spot(wsq_ctx ctx, wsq_task *task) {
    spot *it = wsq_container_of(task, spot, node.task);
    int letter = wsqi_get(&it->letter) + 1;
    (void)ctx;
    for (int i = 0; i < 2; i++)
        if (it->after[i]) explore_check(wsqi_get(&it->after[i]->letter) == letter);
    if (it->company) explore_meet(&gate, it->company);
    wsqi_set(&it->letter, letter);
    it->done++;
    return WSQ_DONE;
}

static wsq_poll clean_spot(wsq_task *task) {
    wsq_container_of(task, spot, node.task)->cleaned++;
    return WSQ_DONE;
}

static void edge(int node, int predecessor) {
    spots[node].after[spots[node].after[0] != NULL] = &spots[predecessor];
    explore_check(wsq_node_after(&spots[node].node, &spots[predecessor].node, &edges[edge_count++]) == WSQ_OK);
}

/* The last follows two that may run on two workers: 0 before 1 and 2, these before 3. */
static void begin(unsigned workers) {
    pool = explore_pool_make(workers, (wsq_config){.workers = 0});
    memset(spots, 0, sizeof spots);
    edge_count = started = gate = 0;
    explore_check(wsq_graph_init(&graph, pool) == WSQ_OK);
    for (int i = 0; i < 4; i++) {
        explore_check(wsq_graph_add(&graph, &spots[i].node, run_spot) == WSQ_OK);
        wsq_task_set_cleanup(&spots[i].node.task, clean_spot);
    }
    if (explore_choose(2)) edge(1, 0), edge(2, 0);
    edge(3, 1);
    edge(3, 2);
}

static void check_runs(int runs) {
    for (int i = 0; i < 4; i++) explore_check(spots[i].done == runs && wsqi_get(&spots[i].letter) == runs);
}

static void runs_again(void) {
    begin(2);
    for (int run = 1; run <= 2; run++) {
        explore_check(wsq_graph_run(&graph) == WSQ_OK);
        explore_check(wsq_group_wait(&graph.group) == WSQ_OK);
        check_runs(run);
    }
    explore_pool_end(pool);
}

/* Two end at the same time, on two workers: one of them starts what follows both. */
static void two_meet(void) {
    begin(2 + (unsigned)explore_choose(2));
    spots[1].company = spots[2].company = 2;
    explore_check(wsq_graph_run(&graph) == WSQ_OK);
    explore_check(wsq_group_wait(&graph.group) == WSQ_OK);
    check_runs(1);
    explore_pool_end(pool);
}

static void runner(void *arg) {
    (void)arg;
    wsq_result result = wsq_graph_run(&graph);
    explore_check(result == WSQ_OK || result == WSQ_ERR_INVALID);
    started += result == WSQ_OK;
}

/* Each of two threads runs it, or is told that it runs: a second run sees the whole first one. */
static void two_run_it(void) {
    begin(1 + (unsigned)explore_choose(2));
    explore_check(wsq_graph_run(&graph) == WSQ_OK); /* the circles have been looked for */
    explore_check(wsq_group_wait(&graph.group) == WSQ_OK);
    explore_fiber *one = explore_start(runner, NULL), *two = explore_start(runner, NULL);
    explore_join_one(one);
    explore_join_one(two);
    explore_check(wsq_group_wait(&graph.group) == WSQ_OK);
    explore_check(started == 1 || started == 2);
    check_runs(1 + started);
    explore_pool_end(pool);
}

static void canceller(void *arg) {
    (void)arg;
    if (explore_choose(2)) wsq_group_cancel(&graph.group);
    else (void)wsq_task_cancel(&spots[1].node.task);
}

static void check_ends(void) {
    for (int i = 0; i < 4; i++) {
        explore_check(spots[i].done + spots[i].cleaned == 1);
        for (int k = 0; k < 2; k++)
            if (spots[i].after[k] && spots[i].after[k]->cleaned) explore_check(spots[i].cleaned == 1);
        spots[i].done = spots[i].cleaned = 0;
        wsqi_set(&spots[i].letter, 0);
    }
}

static void cancelled(void) {
    begin(1 + (unsigned)explore_choose(2));
    for (int i = 0; i < 4; i++) wsq_task_set_revocable(&spots[i].node.task, explore_choose(2) != 0);
    explore_check(wsq_graph_run(&graph) == WSQ_OK);
    explore_fiber *other = explore_start(canceller, NULL);
    (void)wsq_group_wait(&graph.group);
    explore_join_one(other);
    explore_check(wsq_group_pending(&graph.group) == 0);
    check_ends();
    explore_check(wsq_group_init(&graph.group, pool) == WSQ_OK);
    explore_check(wsq_graph_run(&graph) == WSQ_OK);
    explore_check(wsq_group_wait(&graph.group) == WSQ_OK);
    check_runs(1);
    explore_pool_end(pool);
}

static void shut_down(void) {
    begin(1 + (unsigned)explore_choose(2));
    explore_check(wsq_graph_run(&graph) == WSQ_OK);
    explore_check(wsq_pool_shutdown(pool, explore_choose(2) ? WSQ_CANCEL : WSQ_DRAIN) == WSQ_OK);
    explore_check(wsq_group_pending(&graph.group) == 0);
    check_ends();
    explore_pool_end(pool);
}

int main(void) {
    explore_random("graph: runs again", runs_again, 3000);
    explore_random("graph: two meet", two_meet, 3000);
    explore_random("graph: two run it", two_run_it, 2000);
    explore_random("graph: cancelled", cancelled, 3000);
    explore_random("graph: shut down", shut_down, 2000);
    return explore_end();
}
