/* uts.h: the trees of the Unbalanced Tree Search (Olivier et al., 2006), and what uts.c and its
 * counterpart without wsq share. A node is a SHA-1 hash; its children are hashes of it and their
 * index, and how many they are comes from the hash: nobody can know where the work is. */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct uts_tree {
    const char *name;
    int depth; /* of a geometric tree; 0: a binomial one */
    double branching; /* of a geometric tree; of a binomial one, the root's children */
    double chance;    /* that a node of a binomial tree has children... */
    int arity;        /* ...so many */
    uint32_t seed;
    int64_t nodes, leaves, deepest; /* as published, but for "small" */
} uts_tree;

static const uts_tree uts_trees[] = {
    {"T1", 10, 4, 0, 0, 19, 4130071, 3305118, 10},
    {"T3", 0, 2000, 0.124875, 8, 42, 4112897, 3599034, 1572},
    {"T1L", 13, 4, 0, 0, 29, 102181082, 81746377, 13},
    {"T3L", 0, 2000, 0.200014, 5, 7, 111345631, 89076904, 17844},
    {"small", 7, 4, 0, 0, 19, 63914, 51124, 7}, /* T1, less deep */
};

enum { UTS_WORDS = 6 }; /* of a node, as it is sent */

typedef struct uts_node {
    uint32_t hash[5];
    uint32_t depth;
} uts_node;

typedef struct uts_count {
    int64_t nodes, leaves, deepest;
} uts_count;

/* What a rank reports beside its counts. */
typedef struct uts_times {
    double wall, busy; /* seconds; busy: visiting nodes, over all workers */
    double asks, gifts, given; /* to other ranks: questions; answers with nodes; these */
    double probes;             /* tokens passed on */
} uts_times;

static void uts_die(const char *why) {
    fprintf(stderr, "uts: %s\n", why);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1); /* MPI_Abort does not return */
}

static void *uts_allocate(size_t size) {
    void *memory = calloc(1, size);
    if (!memory) uts_die("no memory");
    return memory;
}

/* ---- SHA-1 of one block ---- */

static uint32_t uts_rotate(uint32_t x, int n) {
    return x << n | x >> (32 - n);
}

/* One of the four rounds of 20 steps. `mix` is what b, c and d are combined by. */
#define UTS_ROUND(first, constant, mix) \
    for (int i = first; i < first + 20; i++) { \
        uint32_t t = uts_rotate(a, 5) + (mix) + e + constant + w[i]; \
        e = d; \
        d = c; \
        c = uts_rotate(b, 30); \
        b = a; \
        a = t; \
    }

/* The message is 13 words at most. */
static void uts_sha1(uint32_t hash[5], const uint32_t *message, int words) {
    uint32_t w[80] = {0};
    uint32_t a = 0x67452301u, b = 0xefcdab89u, c = 0x98badcfeu, d = 0x10325476u, e = 0xc3d2e1f0u;
    memcpy(w, message, (size_t)words * sizeof *w);
    w[words] = 0x80000000u;
    w[15] = (uint32_t)words * 32;
    for (int i = 16; i < 80; i++)
        w[i] = uts_rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    UTS_ROUND(0, 0x5a827999u, d ^ (b & (c ^ d)))
    UTS_ROUND(20, 0x6ed9eba1u, b ^ c ^ d)
    UTS_ROUND(40, 0x8f1bbcdcu, (b & c) | (d & (b | c)))
    UTS_ROUND(60, 0xca62c1d6u, b ^ c ^ d)
    hash[0] = a + 0x67452301u;
    hash[1] = b + 0xefcdab89u;
    hash[2] = c + 0x98badcfeu;
    hash[3] = d + 0x10325476u;
    hash[4] = e + 0xc3d2e1f0u;
}

/* ---- the tree ---- */

static uts_node uts_root(const uts_tree *tree) {
    uint32_t message[5] = {0, 0, 0, 0, tree->seed};
    uts_node root = {{0}, 0};
    uts_sha1(root.hash, message, 5);
    return root;
}

static uts_node uts_child(const uts_node *parent, int index) {
    uint32_t message[6];
    uts_node child = {{0}, parent->depth + 1};
    memcpy(message, parent->hash, sizeof parent->hash);
    message[5] = (uint32_t)index;
    uts_sha1(child.hash, message, 6);
    return child;
}

static int uts_children(const uts_tree *tree, const uts_node *node) {
    double random = (double)(node->hash[4] & 0x7fffffffu) / 2147483648.0;
    if (tree->depth == 0) {
        if (node->depth == 0) return (int)tree->branching;
        return random < tree->chance ? tree->arity : 0;
    }
    if (node->depth >= (uint32_t)tree->depth) return 0;
    int count = (int)floor(log(1 - random) / log(1 - 1 / (1 + tree->branching)));
    return count < 100 ? count : 100;
}

static void uts_counted(uts_count *count, const uts_node *node, int children) {
    count->nodes++;
    if (children == 0) count->leaves++;
    if (node->depth > count->deepest) count->deepest = node->depth;
}

/* ---- arguments and results ---- */

typedef struct uts_options {
    const uts_tree *tree;
    long workers;
    long patience; /* seconds without an answer from another rank; 0: for ever */
    const char *trace;
} uts_options;

static const char *const uts_usage =
    "usage: uts [-w workers] [-t trace] [-d seconds] [T1|T3|T1L|T3L|small]\n"
    "  -t  a timeline of each rank, in trace.0.json, trace.1.json, ...\n"
    "  -d  give up when another rank does not answer for so long; 60; 0: never\n";

static bool uts_option(uts_options *options, int option) {
    char *end = NULL;
    switch (option) {
    case 't': options->trace = optarg; return true;
    case 'w': options->workers = strtol(optarg, &end, 10); break;
    case 'd': options->patience = strtol(optarg, &end, 10); break;
    default: return false;
    }
    return *optarg && !*end;
}


/* False: the arguments make no sense, and rank 0 has said so. */
static bool uts_arguments(uts_options *options, int argc, char **argv) {
    int rank, option;
    bool good = true;
    *options = (uts_options){uts_trees, 2, 60, NULL};
    opterr = 0;
    while (good && (option = getopt(argc, argv, "w:t:d:")) != -1) good = uts_option(options, option);
    if (options->workers < 1 || options->workers > 1024 || argc - optind > 1) good = false;
    if (options->patience < 0 || options->patience > 1 << 20) good = false;
    if (good && optind < argc) {
        options->tree = NULL;
        for (size_t i = 0; i < sizeof uts_trees / sizeof *uts_trees; i++) {
            if (strcmp(argv[optind], uts_trees[i].name) == 0) options->tree = &uts_trees[i];
        }
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    good = good && options->tree;
    if (!good && rank == 0) fputs(uts_usage, stderr);
    return good;
}

/* Sums of all ranks, on rank 0. True: they are the published ones. */
static bool uts_report(const uts_options *options, const char *how, const uts_count *mine,
                       const uts_times *times) {
    const uts_tree *tree = options->tree;
    uts_count all = {0, 0, 0};
    uts_times sum = {0, 0, 0, 0, 0, 0};
    int rank, ranks, same = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Reduce(&mine->nodes, &all.nodes, 2, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&mine->deepest, &all.deepest, 1, MPI_INT64_T, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&times->wall, &sum.wall, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&times->busy, &sum.busy, 5, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        same = all.nodes == tree->nodes && all.leaves == tree->leaves &&
               all.deepest == tree->deepest;
        printf("uts %s tree=%s ranks=%d workers=%ld s=%.3f Mnodes/s=%.2f busy=%.0f%% nodes=%" PRId64
               " leaves=%" PRId64 " depth=%" PRId64 " asks=%.0f gifts=%.0f given=%.0f tokens=%.0f\n",
               how, tree->name, ranks, options->workers, sum.wall,
               (double)all.nodes / sum.wall / 1e6,
               100 * sum.busy / (sum.wall * ranks * (double)options->workers), all.nodes,
               all.leaves, all.deepest, sum.asks, sum.gifts, sum.given, sum.probes);
        puts(same ? "uts: as published" : "uts: NOT as published");
        fflush(stdout);
    }
    MPI_Bcast(&same, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return same != 0;
}
