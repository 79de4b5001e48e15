/* Unbalanced tree search: the shape of the tree comes from a hash (SHA-1) of each node's path, so
 * nobody can know where the work is. T1 is the geometric tree of Olivier et al. (UTS, 2006) and T3
 * the binomial one; that their node counts come out shows that the work is everybody's. */
#include "bench.h"

#include <math.h>

#define CHUNK 16 /* children forked at once: the frame of a deep binomial tree stays small */

typedef struct uts_tree {
    bool geometric;
    double branching,
        leaf_chance; /* of a geometric tree; 1 - chance of children of a binomial one */
    int depth, arity;
    uint32_t seed;
    long nodes;
} uts_tree;

static const uts_tree trees[] = {
    {true, 4, 0, 10, 0, 19, 4130071},
    {false, 2000, 1 - 0.124875, 0, 8, 42, 4112897},
};

typedef struct uts_node {
    uint32_t hash[5];
    int depth;
} uts_node;

/* ---- SHA-1 of one block ---- */

static uint32_t rotate(uint32_t x, int n) {
    return x << n | x >> (32 - n);
}

static void sha1_mix(uint32_t v[5], uint32_t f, uint32_t k, uint32_t word) {
    uint32_t next = rotate(v[0], 5) + f + v[4] + k + word;
    v[4] = v[3];
    v[3] = v[2];
    v[2] = rotate(v[1], 30);
    v[1] = v[0];
    v[0] = next;
}

/* words: the message's, at most 13, with the padding bit behind them; bytes: its length. */
static void sha1(uint32_t out[5], const uint32_t *words, int count, uint32_t bytes) {
    uint32_t w[80] = {0};
    uint32_t v[5] = {0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u, 0xc3d2e1f0u}, start[5];
    memcpy(start, v, sizeof v);
    memcpy(w, words, (size_t)count * sizeof *w);
    w[count] = 0x80000000u;
    w[15] = bytes * 8;
    for (int i = 16; i < 80; i++) w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    for (int i = 0; i < 20; i++) sha1_mix(v, (v[1] & v[2]) | (~v[1] & v[3]), 0x5a827999u, w[i]);
    for (int i = 20; i < 40; i++) sha1_mix(v, v[1] ^ v[2] ^ v[3], 0x6ed9eba1u, w[i]);
    for (int i = 40; i < 60; i++)
        sha1_mix(v, (v[1] & v[2]) | (v[1] & v[3]) | (v[2] & v[3]), 0x8f1bbcdcu, w[i]);
    for (int i = 60; i < 80; i++) sha1_mix(v, v[1] ^ v[2] ^ v[3], 0xca62c1d6u, w[i]);
    for (int i = 0; i < 5; i++) out[i] = start[i] + v[i];
}

/* ---- the tree ---- */

static uts_node uts_root(const uts_tree *tree) {
    uint32_t message[5] = {0, 0, 0, 0, tree->seed};
    uts_node root = {{0}, 0};
    sha1(root.hash, message, 5, 20);
    return root;
}

static uts_node uts_child(const uts_node *parent, int index) {
    uint32_t message[6];
    uts_node child;
    memcpy(message, parent->hash, sizeof parent->hash);
    message[5] = (uint32_t)index;
    sha1(child.hash, message, 6, 24);
    child.depth = parent->depth + 1;
    return child;
}

static int uts_children(const uts_tree *tree, const uts_node *node) {
    double chance = (double)(node->hash[4] & 0x7fffffffu) / 2147483648.0;
    if (!tree->geometric) {
        if (node->depth == 0) return (int)tree->branching;
        return chance < 1 - tree->leaf_chance ? tree->arity : 0;
    }
    if (node->depth >= tree->depth) return 0;
    double p = 1 / (1 + tree->branching);
    int count = (int)floor(log(1 - chance) / log(1 - p));
    return count < 100 ? count : 100;
}

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
    const uts_tree *tree = &trees[self->n == 3];
    uts_job call = {.tree = tree, .node = uts_root(tree)};
    uint64_t start = bench_now();
    bench_check(wsq_run(self->pool, root, &call) == WSQ_OK, "run");
    double ns = bench_since(start);
    bench_check(call.nodes == tree->nodes, "uts");
    return ns / 1e6;
}

static double measure_plain(const bench_case *self) {
    const uts_tree *tree = &trees[self->n == 3];
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
