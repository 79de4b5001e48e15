/* N queens: count the ways to put n queens on a board so that none attacks another.
 *     cc -O2 -pthread nqueens.c -o nqueens && ./nqueens */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "command.h"

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

static void first_row_run(wsq_ctx ctx, wsq_job *job) {
    place_run(ctx, job);
    progress_add(1);
}

static void start(wsq_ctx ctx, void *arg) {
    struct place_job *whole = arg, jobs[MAX_N];
    int forked = 0;
    for (unsigned bit = 1; bit < whole->board.all + 1; bit <<= 1) {
        jobs[forked].board = put(whole->board, bit);
        wsq_fork(&ctx, &jobs[forked].job, first_row_run);
        forked++;
    }
    while (forked-- > 0) {
        wsq_join(&ctx, &jobs[forked].job);
        whole->count += jobs[forked].count;
    }
}

static double solve(const char *what, unsigned workers, unsigned n, long *count) {
    wsq_config config = {.workers = workers};
    struct place_job whole = {.board = {.all = (1u << n) - 1}};
    wsq_pool *pool;
    if (wsq_pool_create(&pool, &config) != WSQ_OK) exit(1);
    progress_begin(what, n);
    double began = command_now();
    wsq_run(pool, start, &whole);
    double elapsed = command_now() - began;
    progress_end();
    wsq_pool_destroy(pool);
    *count = whole.count;
    return elapsed;
}

static const char help[] =
    "nqueens [n]\n"
    "Counts the ways to put n queens (1 to 18, 13) on a board, on one core and on all.\n";

int main(int argc, char **argv) {
    while (command_option(argc, argv, "h", help)) {}
    const char *text = command_next(argc, argv);
    unsigned n = text ? command_number("n", text, 1, MAX_N) : 13;
    long one, all;
    command_end(argc, argv);
    double t1 = solve("one worker", 1, n, &one), t = solve("all cores", 0, n, &all);
    printf("%u queens: %ld solutions\n", n, all);
    printf("one worker %.3f s, all cores %.3f s, speed-up %.2f\n", t1, t, t1 / t);
    return one == known[n] && all == known[n] ? 0 : 1;
}
