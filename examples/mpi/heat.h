/* heat.h: what heat.c and its counterpart without wsq share: the field, its rows on each rank, one
 * step of one row, and what is printed at the end.
 *
 * The field is rows x columns of temperatures between walls that stay cold. In a step each cell
 * moves towards the mean of its four neighbours (Jacobi: the new field is apart from the old one),
 * so the result does not depend on the order of the cells: it is the same on any number of ranks
 * and workers, bit for bit. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct heat {
    long rows, columns, workers, per_block;
    long patience; /* seconds without an answer from another rank; 0: for ever */
    int steps;
    bool check, progress;
    const char *picture, *trace;
    int rank, ranks;
    int parts;         /* ranks that have rows: the first ones */
    long first, count; /* this rank's rows */
    double *field[2];  /* count + 2 rows, the outer ones the neighbours' or walls; step % 2 */
};

/* What a rank reports: seconds. */
struct heat_times {
    double wall;
    double cpu;    /* of the process */
    double busy;   /* in which cells were computed, over all workers */
    double flight; /* between the start of an exchange and the moment its end was seen */
    double hidden; /* how much of `flight` the average worker computed in */
    double polls, sleeps; /* of await.h */
};

static void heat_die(const char *why) {
    fprintf(stderr, "heat: %s\n", why);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1); /* MPI_Abort does not return */
}

static void *heat_allocate(size_t count, size_t size) {
    void *memory = calloc(count > 0 ? count : 1, size);
    if (!memory) heat_die("no memory");
    return memory;
}

static double heat_cpu(void) {
    return (double)clock() / CLOCKS_PER_SEC;
}

/* ---- arguments ---- */

static const char *const heat_usage =
    "usage: heat [-x columns] [-y rows] [-s steps] [-w workers] [-b rows of a block] [-c]\n"
    "            [-p] [-o picture.ppm] [-t trace] [-d seconds]\n"
    "  -c  rank 0 computes everything again, alone, and compares bit for bit\n"
    "  -p  progress of rank 0\n"
    "  -t  a timeline of each rank, in trace.0.json, trace.1.json, ...\n"
    "  -d  give up when another rank does not answer for so long; 60; 0: never\n";

static bool heat_number(const char *text, long least, long most, long *out) {
    char *end;
    errno = 0;
    *out = strtol(text, &end, 10);
    return *text && !*end && errno == 0 && *out >= least && *out <= most;
}

static bool heat_option(struct heat *heat, int option) {
    long steps = heat->steps;
    bool good = true;
    switch (option) {
    case 'x': good = heat_number(optarg, 1, 1 << 20, &heat->columns); break;
    case 'y': good = heat_number(optarg, 1, 1 << 30, &heat->rows); break;
    case 's': good = heat_number(optarg, 0, 1 << 30, &steps); break;
    case 'w': good = heat_number(optarg, 1, 1024, &heat->workers); break;
    case 'b': good = heat_number(optarg, 1, 1 << 20, &heat->per_block); break;
    case 'd': good = heat_number(optarg, 0, 1 << 20, &heat->patience); break;
    case 'c': heat->check = true; break;
    case 'p': heat->progress = true; break;
    case 'o': heat->picture = optarg; break;
    case 't': heat->trace = optarg; break;
    default: good = false;
    }
    heat->steps = (int)steps;
    return good;
}

/* False: the arguments make no sense, and rank 0 has said so. Every rank sees the same ones. */
static bool heat_arguments(struct heat *heat, int argc, char **argv) {
    bool good = true;
    MPI_Comm_rank(MPI_COMM_WORLD, &heat->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &heat->ranks);
    opterr = 0;
    for (int option; good && (option = getopt(argc, argv, "x:y:s:w:b:d:cpo:t:")) != -1;) {
        good = heat_option(heat, option);
    }
    good = good && optind == argc;
    if (!good && heat->rank == 0) fputs(heat_usage, stderr);
    return good;
}

/* ---- the field ---- */

static double *heat_row(const struct heat *heat, int parity, long row) {
    return heat->field[parity & 1] + (size_t)row * (size_t)(heat->columns + 2);
}

/* Five hot discs. x and y: from 0 to 1. */
static double heat_start(double x, double y) {
    static const double discs[5][3] = {
        {.25, .3, .12}, {.7, .25, .08}, {.55, .6, .15}, {.2, .75, .1}, {.85, .8, .06}};
    for (int i = 0; i < 5; i++) {
        double dx = x - discs[i][0], dy = y - discs[i][1];
        if (dx * dx + dy * dy < discs[i][2] * discs[i][2]) return 1 - .15 * i;
    }
    return 0;
}

/* The neighbours' rows, too: so step 1 needs no exchange. */
static void heat_fill(struct heat *heat) {
    size_t cells = (size_t)(heat->count + 2) * (size_t)(heat->columns + 2);
    for (int parity = 0; parity < 2; parity++) heat->field[parity] = heat_allocate(cells, 8);
    for (long i = 0; i < heat->count + 2; i++) {
        long row = heat->first + i - 1;
        double *out = heat_row(heat, 0, i);
        for (long x = 1; x <= heat->columns && row >= 0 && row < heat->rows; x++) {
            out[x] = heat_start(((double)x - .5) / (double)heat->columns,
                                ((double)row + .5) / (double)heat->rows);
        }
    }
}

static long heat_first(const struct heat *heat, int rank) {
    return rank < heat->parts ? heat->rows * rank / heat->parts : heat->rows;
}

/* This rank's share. With more ranks than rows some have none. */
static void heat_divide(struct heat *heat) {
    heat->parts = heat->rows < heat->ranks ? (int)heat->rows : heat->ranks;
    heat->first = heat_first(heat, heat->rank);
    heat->count = heat_first(heat, heat->rank + 1) - heat->first;
    heat_fill(heat);
}

static bool heat_has_peer(const struct heat *heat, int peer) {
    return heat->rank < heat->parts && peer >= 0 && peer < heat->parts;
}

/* Row `row` after step `step`, from the rows after the step before. */
static void heat_step(const struct heat *heat, int step, long row) {
    const double *in = heat_row(heat, step - 1, row);
    const double *up = heat_row(heat, step - 1, row - 1), *down = heat_row(heat, step - 1, row + 1);
    double *restrict out = heat_row(heat, step, row);
    for (long x = 1; x <= heat->columns; x++) {
        out[x] = in[x] + .2 * (up[x] + down[x] + in[x - 1] + in[x + 1] - 4 * in[x]);
    }
}

/* ---- the result, on rank 0 ---- */

/* All rows, with their walls at both sides; NULL on the other ranks. */
static double *heat_gather(const struct heat *heat) {
    int *counts = heat_allocate((size_t)heat->ranks, sizeof *counts);
    int *firsts = heat_allocate((size_t)heat->ranks, sizeof *firsts);
    double *whole = NULL;
    MPI_Datatype row;
    for (int i = 0; i < heat->ranks; i++) {
        firsts[i] = (int)heat_first(heat, i);
        counts[i] = (int)(heat_first(heat, i + 1) - heat_first(heat, i));
    }
    if (heat->rank == 0)
        whole = heat_allocate((size_t)heat->rows, sizeof *whole * (size_t)(heat->columns + 2));
    MPI_Type_contiguous((int)heat->columns + 2, MPI_DOUBLE, &row);
    MPI_Type_commit(&row);
    MPI_Gatherv(heat_row(heat, heat->steps, 1), (int)heat->count, row, whole, counts, firsts, row,
                0, MPI_COMM_WORLD);
    MPI_Type_free(&row);
    free(counts);
    free(firsts);
    return whole;
}

/* FNV-1a of every bit: two runs that print the same one agree in all of them. */
static uint64_t heat_hash(const struct heat *heat, const double *whole) {
    uint64_t hash = 0xcbf29ce484222325u, bits;
    for (size_t i = 0; i < (size_t)heat->rows * (size_t)(heat->columns + 2); i++) {
        memcpy(&bits, &whole[i], sizeof bits);
        hash = (hash ^ bits) * 0x100000001b3u;
        hash ^= hash >> 32;
    }
    return hash;
}

/* One rank, one thread, row after row. */
static bool heat_same_alone(const struct heat *heat, const double *whole) {
    struct heat alone = *heat;
    alone.rank = 0;
    alone.ranks = 1;
    heat_divide(&alone);
    for (int step = 1; step <= heat->steps; step++) {
        for (long row = 1; row <= heat->rows; row++) heat_step(&alone, step, row);
    }
    size_t bytes = (size_t)heat->rows * (size_t)(heat->columns + 2) * sizeof *whole;
    bool same = memcmp(heat_row(&alone, heat->steps, 1), whole, bytes) == 0;
    free(alone.field[0]);
    free(alone.field[1]);
    return same;
}

/* Black, red, yellow, white, as iron glows. At most 800 pixels a side. */
static bool heat_draw(const struct heat *heat, const double *whole) {
    long larger = heat->rows > heat->columns ? heat->rows : heat->columns;
    long every = (larger + 799) / 800;
    long width = (heat->columns + every - 1) / every, height = (heat->rows + every - 1) / every;
    FILE *file = fopen(heat->picture, "wb");
    if (!file) return false;
    fprintf(file, "P6\n%ld %ld\n255\n", width, height);
    for (long i = 0; i < width * height; i++) {
        long row = i / width * every, column = i % width * every;
        double t = 3 * whole[(size_t)row * (size_t)(heat->columns + 2) + (size_t)column + 1];
        for (int c = 0; c < 3; c++, t -= 1) putc((int)(255 * (t < 0 ? 0 : t > 1 ? 1 : t)), file);
    }
    bool good = ferror(file) == 0;
    return fclose(file) == 0 && good;
}

/* Sums of all ranks, on rank 0. True: all is well. */
static bool heat_report(const struct heat *heat, const char *how, const struct heat_times *mine) {
    struct heat_times all = {0, 0, 0, 0, 0, 0, 0};
    double *whole = heat_gather(heat);
    int verdict = 0;
    MPI_Reduce(&mine->wall, &all.wall, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&mine->cpu, &all.cpu, 6, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (heat->rank == 0) {
        double cells = (double)heat->rows * (double)heat->columns * heat->steps;
        double threads = (double)heat->ranks * (double)heat->workers;
        printf("heat %s ranks=%d workers=%ld size=%ldx%ld steps=%d s=%.3f cpu=%.3f", how,
               heat->ranks, heat->workers, heat->columns, heat->rows, heat->steps, all.wall,
               all.cpu);
        printf(" Mcells/s=%.0f busy=%.0f%%", all.wall > 0 ? cells / all.wall / 1e6 : 0,
               all.wall > 0 ? 100 * all.busy / (all.wall * threads) : 0);
        if (all.flight > 0) printf(" overlap=%.0f%%", 100 * all.hidden / all.flight);
        if (all.polls > 0) printf(" polls=%.0f sleeps=%.0f", all.polls, all.sleeps);
        printf(" hash=%016" PRIx64 "\n", heat_hash(heat, whole));
        if (heat->check && !heat_same_alone(heat, whole)) verdict |= 1;
        if (heat->check) puts(verdict ? "heat: NOT as one rank alone" : "heat: as one rank alone");
        if (heat->picture && !heat_draw(heat, whole)) verdict |= 2;
        if (verdict & 2) fprintf(stderr, "heat: %s: %s\n", heat->picture, strerror(errno));
        fflush(stdout);
    }
    free(whole);
    MPI_Bcast(&verdict, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return verdict == 0;
}
