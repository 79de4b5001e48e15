/* N queens: count the ways to put n queens on a board so that none attacks another.
 *     nqueens [n] */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include <stdlib.h>
#include <time.h>

enum { MAX_N = 18 };

static const long known[MAX_N + 1] = {1,    1,     0,     0,      2,       10,       4,
                                      40,   92,    352,   724,    2680,    14200,    73712,
                                      365596, 2279184, 14772512, 95815104, 666090624};

/* Attacked columns of the next row: a bit each, from above and along the two diagonals. */
struct board {
    unsigned all, columns, left, right;
};

struct place_job {
    struct board board;
    long count;
    wsq_job job;
};

static long place(wsq_ctx ctx, struct board b);

static void place_run(wsq_ctx ctx, wsq_job *job) {
    struct place_job *self = wsq_container_of(job, struct place_job, job);
    self->count = place(ctx, self->board);
}

static struct board put(struct board b, unsigned bit) {
    return (struct board){b.all, b.columns | bit, (b.left | bit) << 1, (b.right | bit) >> 1};
}

/* One fork for every free square of the row: they are joined in the opposite order. */
static long place(wsq_ctx ctx, struct board b) {
    struct place_job jobs[MAX_N];
    int forked = 0;
    long count = 0;
    if (b.columns == b.all) return 1;
    for (unsigned open = b.all & ~(b.columns | b.left | b.right); open; open &= open - 1) {
        jobs[forked].board = put(b, open & (~open + 1));
        wsq_fork(&ctx, &jobs[forked].job, place_run);
        forked++;
    }
    while (forked-- > 0) {
        struct place_job *last = &jobs[forked];
        count += wsq_reclaim(&ctx, &last->job) ? place(ctx, last->board) : last->count;
    }
    return count;
}

static void start(wsq_ctx ctx, void *arg) {
    struct place_job *whole = arg;
    whole->count = place(ctx, whole->board);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double solve(unsigned workers, unsigned n, long *count) {
    wsq_config config = {.workers = workers};
    struct place_job whole = {.board = {.all = (1u << n) - 1}};
    wsq_pool *pool;
    if (wsq_pool_create(&pool, &config) != WSQ_OK) exit(1);
    double began = now();
    wsq_run(pool, start, &whole);
    double elapsed = now() - began;
    wsq_pool_destroy(pool);
    *count = whole.count;
    return elapsed;
}

/* -1: not a whole number. */
static long number(const char *text) {
    char *end;
    long n = strtol(text, &end, 10);
    return end == text || *end != '\0' ? -1 : n;
}

int main(int argc, char **argv) {
    long n = argc > 1 ? number(argv[1]) : 13, one, all;
    if (argc > 2 || n < 1 || n > MAX_N) {
        fprintf(stderr, "usage: nqueens [n], n from 1 to %d\n", MAX_N);
        return 2;
    }
    double t1 = solve(1, (unsigned)n, &one), t = solve(0, (unsigned)n, &all);
    printf("%ld queens: %ld solutions\n", n, all);
    printf("one worker %.3f s, all cores %.3f s, speed-up %.2f\n", t1, t, t1 / t);
    return one == known[n] && all == known[n] ? 0 : 1;
}
