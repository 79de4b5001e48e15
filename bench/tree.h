/* tree.h - counts the nodes of a tree whose shape nobody knows, with a fork for each child. Include it after
 * wsq.h and after these: the type tree_node, tree_children(node), tree_child(node, i), and TREE_CHUNK, the
 * number of children that are forked at once. */
#ifndef BENCH_TREE_H
#define BENCH_TREE_H

typedef struct tree_job {
    wsq_job job;
    tree_node node;
    long nodes;
} tree_job;

static void tree_run(wsq_ctx ctx, wsq_job *job);

/* The frame stays small where a node has many children. */
static long tree(wsq_ctx ctx, const tree_node *node, int children) {
    tree_job jobs[TREE_CHUNK];
    long nodes = 1;
    for (int first = 0; first < children; first += TREE_CHUNK) {
        int count = children - first < TREE_CHUNK ? children - first : TREE_CHUNK;
        for (int i = 0; i < count; i++) {
            jobs[i].node = tree_child(node, first + i);
            wsq_fork(&ctx, &jobs[i].job, tree_run);
        }
        while (count-- > 0) {
            tree_job *job = &jobs[count];
            nodes += wsq_reclaim(&ctx, &job->job) ? tree(ctx, &job->node, tree_children(&job->node))
                                                  : job->nodes;
        }
    }
    return nodes;
}

static void tree_run(wsq_ctx ctx, wsq_job *job) {
    tree_job *self = wsq_container_of(job, tree_job, job);
    self->nodes = tree(ctx, &self->node, tree_children(&self->node));
}

#endif /* BENCH_TREE_H */
