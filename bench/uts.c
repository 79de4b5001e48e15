/* Unbalanced tree search: nobody can know where the work is (uts.h). T1 is a geometric tree and T3 a
 * binomial one; that their published node counts come out shows that the work is everybody's. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "bench.h"
#include "uts.h"

static long visit_plain(const uts_tree *tree, const uts_node *node) {
    long nodes = 1;
    int children = uts_children(tree, node);
    for (int i = 0; i < children; i++) {
        uts_node child = uts_child(node, i);
        nodes += visit_plain(tree, &child);
    }
    return nodes;
}

typedef struct tree_node {
    const uts_tree *tree;
    uts_node node;
} tree_node;

static inline int tree_children(const tree_node *self) { return uts_children(self->tree, &self->node); }

static inline tree_node tree_child(const tree_node *self, int i) {
    return (tree_node){self->tree, uts_child(&self->node, i)};
}

#define TREE_CHUNK 16
#include "tree.h"

static void root(wsq_ctx ctx, void *arg) {
    tree_job *self = arg;
    self->nodes = tree(ctx, &self->node, tree_children(&self->node));
}

/* ---- measured ---- */

static double measure_pool(const bench_case *self) {
    const uts_tree *which = &uts_trees[self->n == 3];
    tree_job call = {.node = {which, uts_root(which)}};
    uint64_t start = bench_now();
    bench_check(wsq_run(self->pool, root, &call) == WSQ_OK, "run");
    double ns = bench_since(start);
    bench_check(call.nodes == which->nodes, "uts");
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
