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

#define CHOOSE(x, y, z) (z ^ (x & (y ^ z)))
#define PARITY(x, y, z) (x ^ y ^ z)
#define MAJORITY(x, y, z) ((x & y) | (z & (x | y)))
#define STEP(F, k, i, a, b, c, d, e) \
    w[i + 16] = rotate(w[i + 13] ^ w[i + 8] ^ w[i + 2] ^ w[i], 1); /* is used 16 steps later */ \
    e += rotate(a, 5) + F(b, c, d) + k + w[i]; \
    b = rotate(b, 30)
/* After five steps every word is back in its variable. */
#define TWENTY(F, k, first) \
    for (int i = first; i < first + 20; i += 5) { \
        STEP(F, k, i, a, b, c, d, e); \
        STEP(F, k, i + 1, e, a, b, c, d); \
        STEP(F, k, i + 2, d, e, a, b, c); \
        STEP(F, k, i + 3, c, d, e, a, b); \
        STEP(F, k, i + 4, b, c, d, e, a); \
    }

/* words: the message, at most 13 of them; bytes: its length. */
static void sha1(uint32_t out[5], const uint32_t *words, int count, uint32_t bytes) {
    uint32_t w[96] = {0};
    uint32_t a = 0x67452301u, b = 0xefcdab89u, c = 0x98badcfeu, d = 0x10325476u, e = 0xc3d2e1f0u;
    uint32_t start[5] = {a, b, c, d, e};
    memcpy(w, words, (size_t)count * sizeof *w);
    w[count] = 0x80000000u;
    w[15] = bytes * 8;
    TWENTY(CHOOSE, 0x5a827999u, 0)
    TWENTY(PARITY, 0x6ed9eba1u, 20)
    TWENTY(MAJORITY, 0x8f1bbcdcu, 40)
    TWENTY(PARITY, 0xca62c1d6u, 60)
    out[0] = start[0] + a;
    out[1] = start[1] + b;
    out[2] = start[2] + c;
    out[3] = start[3] + d;
    out[4] = start[4] + e;
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
