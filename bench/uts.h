/* Unbalanced tree search (UTS, Olivier et al., 2006): the shape of the tree comes from a hash
 * (SHA-1) of each node's path, so nobody can know where the work is. It needs neither wsq nor a
 * library. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* A node computes; in virtual time (sim/virtual.h) it says so. */
#ifndef UTS_WORK
#define UTS_WORK() ((void)0)
#endif

typedef struct uts_tree {
    const char *name;
    bool geometric;
    double branching, /* of a geometric tree; of a binomial one, the root's children */
        chance;       /* that a node of a binomial tree has children... */
    int arity;        /* ...so many */
    uint32_t depth;   /* of a geometric tree */
    uint32_t seed;
    int64_t nodes, leaves, deepest; /* as published, but for "small" */
} uts_tree;

static const uts_tree uts_trees[] = {
    {"T1", true, 4, 0, 0, 10, 19, 4130071, 3305118, 10},
    {"T3", false, 2000, 0.124875, 8, 0, 42, 4112897, 3599034, 1572},
    {"T1L", true, 4, 0, 0, 13, 29, 102181082, 81746377, 13},
    {"T3L", false, 2000, 0.200014, 5, 0, 7, 111345631, 89076904, 17844},
    {"small", true, 4, 0, 0, 7, 19, 63914, 51124, 7}, /* T1, less deep */
};

typedef struct uts_node {
    uint32_t hash[5];
    uint32_t depth;
} uts_node;

/* ---- SHA-1 of one block ---- */

static uint32_t uts_rotate(uint32_t x, int n) {
    return x << n | x >> (32 - n);
}

#define UTS_CHOOSE(x, y, z) (z ^ (x & (y ^ z)))
#define UTS_PARITY(x, y, z) (x ^ y ^ z)
#define UTS_MAJORITY(x, y, z) ((x & y) | (z & (x | y)))
/* A word of the message is prepared 16 steps before its use. */
#define UTS_STEP(F, k, i, a, b, c, d, e) \
    w[i + 16] = uts_rotate(w[i + 13] ^ w[i + 8] ^ w[i + 2] ^ w[i], 1); \
    e += uts_rotate(a, 5) + F(b, c, d) + k + w[i]; \
    b = uts_rotate(b, 30)
/* After five steps every word is back in its variable. */
#define UTS_TWENTY(F, k, first) \
    for (int i = first; i < first + 20; i += 5) { \
        UTS_STEP(F, k, i, a, b, c, d, e); \
        UTS_STEP(F, k, i + 1, e, a, b, c, d); \
        UTS_STEP(F, k, i + 2, d, e, a, b, c); \
        UTS_STEP(F, k, i + 3, c, d, e, a, b); \
        UTS_STEP(F, k, i + 4, b, c, d, e, a); \
    }

/* words: the message, at most 13 of them; bytes: its length. */
static void uts_sha1(uint32_t out[5], const uint32_t *words, int count, uint32_t bytes) {
    uint32_t w[96] = {0};
    uint32_t a = 0x67452301u, b = 0xefcdab89u, c = 0x98badcfeu, d = 0x10325476u, e = 0xc3d2e1f0u;
    uint32_t start[5] = {a, b, c, d, e};
    memcpy(w, words, (size_t)count * sizeof *w);
    w[count] = 0x80000000u;
    w[15] = bytes * 8;
    UTS_TWENTY(UTS_CHOOSE, 0x5a827999u, 0)
    UTS_TWENTY(UTS_PARITY, 0x6ed9eba1u, 20)
    UTS_TWENTY(UTS_MAJORITY, 0x8f1bbcdcu, 40)
    UTS_TWENTY(UTS_PARITY, 0xca62c1d6u, 60)
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
    uts_sha1(root.hash, message, 5, 20);
    return root;
}

static uts_node uts_child(const uts_node *parent, int index) {
    uint32_t message[6];
    uts_node child;
    UTS_WORK();
    memcpy(message, parent->hash, sizeof parent->hash);
    message[5] = (uint32_t)index;
    uts_sha1(child.hash, message, 6, 24);
    child.depth = parent->depth + 1;
    return child;
}

static int uts_children(const uts_tree *tree, const uts_node *node) {
    double random = (double)(node->hash[4] & 0x7fffffffu) / 2147483648.0;
    if (!tree->geometric) {
        if (node->depth == 0) return (int)tree->branching;
        return random < tree->chance ? tree->arity : 0;
    }
    if (node->depth >= tree->depth) return 0;
    double p = 1 / (1 + tree->branching);
    int count = (int)floor(log(1 - random) / log(1 - p));
    return count < 100 ? count : 100;
}
