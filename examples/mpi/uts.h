/* uts.h: what uts.c and its counterpart without wsq share: what is counted, printed, and compared
 * with what was published. The trees themselves are in bench/uts.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "../../bench/uts.h"

enum { UTS_WORDS = 6 }; /* of a node, as it is sent */

typedef struct uts_count {
    int64_t nodes, leaves, deepest;
} uts_count;

/* What a rank reports beside its counts. */
typedef struct uts_times {
    double wall, cpu, busy;    /* seconds; busy: visiting nodes, over all workers */
    double asks, gifts, given; /* to other ranks: questions; answers with nodes; these */
    double probes;             /* tokens passed on */
    double polls, sleeps;      /* of await.h */
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

static double uts_cpu(void) {
    return (double)clock() / CLOCKS_PER_SEC;
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
    while (good && (option = getopt(argc, argv, "w:t:d:")) != -1)
        good = uts_option(options, option);
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
    uts_times sum = {0, 0, 0, 0, 0, 0, 0, 0, 0};
    int rank, ranks, same = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Reduce(&mine->nodes, &all.nodes, 2, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&mine->deepest, &all.deepest, 1, MPI_INT64_T, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&times->wall, &sum.wall, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&times->cpu, &sum.cpu, 8, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        same =
            all.nodes == tree->nodes && all.leaves == tree->leaves && all.deepest == tree->deepest;
        printf("uts %s tree=%s ranks=%d workers=%ld s=%.3f cpu=%.3f Mnodes/s=%.2f busy=%.0f%%", how,
               tree->name, ranks, options->workers, sum.wall, sum.cpu,
               (double)all.nodes / sum.wall / 1e6,
               100 * sum.busy / (sum.wall * ranks * (double)options->workers));
        printf(" nodes=%" PRId64 " leaves=%" PRId64 " depth=%" PRId64, all.nodes, all.leaves,
               all.deepest);
        printf(" asks=%.0f gifts=%.0f given=%.0f tokens=%.0f", sum.asks, sum.gifts, sum.given,
               sum.probes);
        if (sum.polls > 0) printf(" polls=%.0f sleeps=%.0f", sum.polls, sum.sleeps);
        puts("");
        puts(same ? "uts: as published" : "uts: NOT as published");
        fflush(stdout);
    }
    MPI_Bcast(&same, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return same != 0;
}
