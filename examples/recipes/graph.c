/* A graph that runs again and again: the steps of a frame, of a solver, of a neural network. The
 * nodes and edges are made once; a run allocates nothing and takes some 40 ns for each node.
 *     cc -O2 -pthread graph.c -o graph && ./graph
 *
 * Each frame reads the input, moves the parts of the world at the same time, and draws it. */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"

enum { PARTS = 8, FRAMES = 1000 };

struct step {
    wsq_node node;
    unsigned part;
};

static struct step input, parts[PARTS], draw;
static wsq_edge edges[2 * PARTS];
static wsq_graph frame;
static unsigned moved[PARTS], drawn, wrong, now;

static wsq_poll input_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    now++;
    return WSQ_DONE;
}

static wsq_poll part_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    moved[wsq_container_of(task, struct step, node.task)->part] = now;
    return WSQ_DONE;
}

static wsq_poll draw_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    for (unsigned i = 0; i < PARTS; i++) wrong += moved[i] != now;
    drawn++;
    return WSQ_DONE;
}

static void make_frame(wsq_pool *pool) {
    wsq_graph_init(&frame, pool);
    wsq_graph_add(&frame, &input.node, input_run);
    wsq_graph_add(&frame, &draw.node, draw_run);
    for (unsigned i = 0; i < PARTS; i++) {
        parts[i].part = i;
        wsq_graph_add(&frame, &parts[i].node, part_run);
        wsq_node_after(&parts[i].node, &input.node, &edges[2 * i]);
        wsq_node_after(&draw.node, &parts[i].node, &edges[2 * i + 1]);
    }
}

int main(void) {
    wsq_pool *pool;
    if (wsq_pool_create(&pool, NULL) != WSQ_OK) return 1;
    make_frame(pool);
    for (int i = 0; i < FRAMES; i++) {
        if (wsq_graph_run(&frame) != WSQ_OK) return 1; /* a circle: checked in the first run */
        wsq_group_wait(&frame.group);
    }
    wsq_pool_destroy(pool);
    return drawn == FRAMES && wrong == 0 ? 0 : 1;
}
