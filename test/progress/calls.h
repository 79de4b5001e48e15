/* calls.h - the oracle's operations of several futures at once, of graphs and of forks. */
#ifndef CALLS_H
#define CALLS_H

#include "actors.h"

/* ---- futures ---- */

static void go_run(void *arg) { (void)call_run(arg); }

static void go_op(const op *o) {
    watch_pool *pool = pool_of(o->pool);
    for (unsigned i = 0; i < o->count; i++) {
        call *one = call_make(o->pool, o->ns);
        if (++pool->alive > pool->alive_most) pool->alive_most = pool->alive;
        one->dropped = true;
        spawn_result(&one->w, NULL, wsq_go(pool->pool, go_run, one));
    }
}

static void call_then(call *one, const op *o) {
    extra *next = extra_make(o->pool, HOW_PLAIN, o->ns, NULL);
    watch_spawning(&next->w);
    one->then = &next->w;
    wsq_result result = wsq_future_then(one->future, &next->w.task);
    then_set(&next->w, one->w.state == WATCH_DONE, result);
}

static void call_drop(call *one) {
    watch_now();
    if (one->w.state == WATCH_DONE) pool_of(one->w.pool)->alive--;
    else one->dropped = true;
    wsq_future_drop(one->future);
}

/* It submits all of them, and then comes to each of them, the first one first. */
static void calls_op(const op *o) {
    call *all[CALLS];
    unsigned count = 0;
    if (o->way == WAY_GO) {
        go_op(o);
        return;
    }
    while (count < o->count && count < CALLS && (all[count] = call_submit(o->pool, o->ns)) != NULL) count++;
    for (unsigned i = 0; i < count; i++) {
        call *one = all[o->how != 0 ? count - 1 - i : i];
        if (o->way == WAY_CANCELS && wsq_future_cancel(one->future)) call_cancelled(one);
        if (o->way == WAY_THEN) call_then(one, o);
        if (o->way == WAY_DROP) call_drop(one);
        else if (o->way != WAY_FOR || !call_get(one, o->ns2)) (void)call_get(one, WSQ_FOREVER);
    }
}

/* ---- graphs: node i follows node (i - 1) / 2 ---- */

typedef struct leaf {
    wsq_node node;
    watched w;
    wsq_edge edge;
    unsigned index;
    struct graph *graph;
} leaf;

typedef struct graph {
    wsq_graph graph;
    unsigned count, left;
    uint64_t ns;
    leaf leaves[LEAVES];
} graph;

static wsq_poll leaf_run(wsq_ctx ctx, wsq_task *task) {
    leaf *self = wsq_container_of(task, leaf, node.task);
    graph *all = self->graph;
    watch_begin(wsq_worker_index(ctx), &self->w);
    uint64_t began = watch.last;
    compute(all->ns);
    wsq_poll result = watch_return(&self->w, WSQ_DONE, began);
    for (unsigned i = 2 * self->index + 1; i <= 2 * self->index + 2 && i < all->count; i++) then_ready(&all->leaves[i].w);
    if (--all->left == 0) waits_ready(&all->graph.group);
    return result;
}

static wsq_poll leaf_cleanup(wsq_task *task) {
    leaf *self = wsq_container_of(task, leaf, node.task);
    watch_cleaned(&self->w);
    if (--self->graph->left == 0) waits_ready(&self->graph->graph.group);
    return WSQ_DONE;
}

static void graph_run(graph *all, unsigned n) {
    watch_pool *pool = pool_of(n);
    all->left = all->count;
    for (unsigned i = 0; i < all->count; i++) {
        watched_init(&all->leaves[i].w, NULL, n, "a node");
        watch_spawning(&all->leaves[i].w);
    }
    wsq_result result = wsq_graph_run(&all->graph);
    for (unsigned i = 0; i < all->count; i++)
        then_set(&all->leaves[i].w, i == 0 || all->leaves[(i - 1) / 2].w.state == WATCH_DONE, result);
    if (result != WSQ_OK) return;
    waiting *wait = wait_begin(&all->graph.group, all->left == 0, n, WSQ_FOREVER, "a graph");
    result = wsq_group_wait(&all->graph.group);
    wait_end(wait);
    if (result != WSQ_OK && !pool->closing) watch_fail("result", "the wait for a graph returned %d", (int)result);
}

static void graph_op(const op *o) {
    graph *all = (graph *)sim_allocate(sizeof *all);
    all->count = o->count < LEAVES ? o->count : LEAVES;
    all->ns = o->ns;
    wsq_graph_init(&all->graph, pool_of(o->pool)->pool);
    for (unsigned i = 0; i < all->count; i++) {
        leaf *one = &all->leaves[i];
        one->index = i;
        one->graph = all;
        wsq_graph_add(&all->graph, &one->node, leaf_run);
        wsq_task_set_cleanup(&one->node.task, leaf_cleanup);
        if (i > 0) wsq_node_after(&one->node, &all->leaves[(i - 1) / 2].node, &one->edge);
    }
    for (unsigned i = 0; i < 2 && !pool_of(o->pool)->closing; i++) graph_run(all, o->pool);
}

/* ---- forks ---- */

typedef struct branch {
    wsq_job job;
    const op *o;
    unsigned pool;
} branch;

static void branch_run(wsq_ctx ctx, wsq_job *job) {
    const branch *self = wsq_container_of(job, branch, job);
    frame *top = frame_top();
    bool thief = top == NULL || top->state != ACTIVE;
    if (thief) frame_push(self->pool, wsq_worker_index(ctx), NULL, false);
    if (self->o->way == WAY_BLOCKS) block(ctx, self->o->ns);
    if (self->o->way == WAY_SPAWNS) spawn(&extra_make(self->pool, HOW_PLAIN, 1000, NULL)->w, NULL);
    compute(self->o->ns);
    watch_now();
    if (thief) frame_pop();
}

/* A join looks for jobs for spin_ns before it sleeps, and until then keeps its permit. */
static void fork_op(wsq_ctx ctx, unsigned pool, const op *o) {
    branch all[FORKS];
    int joins = pool_of(pool)->joins && !pool_of(pool)->few ? ACTIVE : JOINS;
    watch.paused[sim.running->id] = true;
    unsigned count = o->count < FORKS ? o->count : FORKS;
    for (unsigned i = 0; i < count; i++) {
        all[i] = (branch){.o = o, .pool = pool};
        wsq_fork(&ctx, &all[i].job, branch_run);
    }
    compute(o->ns2);
    for (unsigned i = count; i-- > 0;) {
        frame_set(frame_top(), joins, watch_now());
        wsq_join(&ctx, &all[i].job);
        frame_set(frame_top(), ACTIVE, watch_now());
    }
}

#endif /* CALLS_H */
