/* Unbalanced tree search: nobody can know where the work is (uts.h). T1 is a geometric tree and T3 a
 * binomial one; that their published node counts come out shows that the work is everybody's. */
#include "bench.h"
#include "uts.h"

#define CHUNK 16 /* children forked at once: the frame of a deep binomial tree stays small */

static long visit_plain(const uts_tree *tree, const uts_node *node) {
    long nodes = 1;
    int children = uts_children(tree, node);
    for (int i = 0; i < children; i++) {
        uts_node child = uts_child(node, i);
        nodes += visit_plain(tree, &child);
    }
    return nodes;
}

typedef struct uts_job {
    wsq_job job;
    const uts_tree *tree;
    uts_node node;
    long nodes;
} uts_job;

static void visit_run(wsq_ctx ctx, wsq_job *job);

static long visit(wsq_ctx ctx, const uts_tree *tree, const uts_node *node) {
    uts_job jobs[CHUNK];
    long nodes = 1;
    int children = uts_children(tree, node);
    for (int first = 0; first < children; first += CHUNK) {
        int count = children - first < CHUNK ? children - first : CHUNK;
        for (int i = 0; i < count; i++) {
            jobs[i].tree = tree;
            jobs[i].node = uts_child(node, first + i);
            wsq_fork(&ctx, &jobs[i].job, visit_run);
        }
        while (count-- > 0) {
            uts_job *job = &jobs[count];
            nodes += wsq_reclaim(&ctx, &job->job) ? visit(ctx, tree, &job->node) : job->nodes;
        }
    }
    return nodes;
}

static void visit_run(wsq_ctx ctx, wsq_job *job) {
    uts_job *self = wsq_container_of(job, uts_job, job);
    self->nodes = visit(ctx, self->tree, &self->node);
}

static void root(wsq_ctx ctx, void *arg) {
    uts_job *self = arg;
    self->nodes = visit(ctx, self->tree, &self->node);
}

/* ---- measured ---- */

static double measure_pool(const bench_case *self) {
    const uts_tree *tree = &uts_trees[self->n == 3];
    uts_job call = {.tree = tree, .node = uts_root(tree)};
    uint64_t start = bench_now();
    bench_check(wsq_run(self->pool, root, &call) == WSQ_OK, "run");
    double ns = bench_since(start);
    bench_check(call.nodes == tree->nodes, "uts");
    return ns / 1e6;
}

static double measure_plain(const bench_case *self) {
    const uts_tree *tree = &uts_trees[self->n == 3];
    uts_node node = uts_root(tree);
    uint64_t start = bench_now();
    long nodes = visit_plain(tree, &node);
    double ns = bench_since(start);
    bench_check(nodes == tree->nodes, "uts plain");
    return ns / 1e6;
}

int main(int argc, char **argv) {
    bench_begin("uts", argc, argv);
    bench_case *plain1 = bench_add("uts/t1_plain", "ms", measure_plain, 0, 1);
    bench_case *t1 = bench_add_pair("uts/t1_wsq", "ms", measure_pool, 1);
    bench_case *plain3 = bench_add("uts/t3_plain", "ms", measure_plain, 0, 3);
    bench_case *t3 = bench_add_pair("uts/t3_wsq", "ms", measure_pool, 3);
    bench_run();
    bench_ratio("uts/t1_to_plain", t1, plain1, 1.0, false);
    bench_ratio("uts/t3_to_plain", t3, plain3, 1.0, false);
    bench_speedup("uts/t1_speedup", t1, 1.9);
    bench_speedup("uts/t3_speedup", t3, 1.9);
    return bench_end();
}
