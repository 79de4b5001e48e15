/* All placements of n queens: a fork for each placement that holds so far. Each job has a board of
 * its own; the sequential function works in place. */
#include "bench.h"

#define MAX_QUEENS 16

typedef struct queens_job {
    wsq_job job;
    long found;
    signed char board[MAX_QUEENS];
    int rows, n;
} queens_job;

/* Does the queen of the last row stand clear of all the others? */
static bool holds(const signed char *board, int rows) {
    int last = rows - 1;
    for (int row = 0; row < last; row++) {
        int distance = board[last] - board[row];
        if (distance == 0 || distance == last - row || distance == row - last) return false;
    }
    return true;
}

static void queens_run(wsq_ctx ctx, wsq_job *job);

static long queens(wsq_ctx ctx, int n, int rows, const signed char *board) {
    if (rows == n) return 1;
    queens_job jobs[MAX_QUEENS];
    int count = 0;
    for (int column = 0; column < n; column++) {
        queens_job *next = &jobs[count];
        memcpy(next->board, board, MAX_QUEENS);
        next->board[rows] = (signed char)column;
        if (!holds(next->board, rows + 1)) continue;
        next->rows = rows + 1;
        next->n = n;
        wsq_fork(&ctx, &next->job, queens_run);
        count++;
    }
    long found = 0;
    while (count-- > 0) {
        queens_job *job = &jobs[count];
        found += wsq_reclaim(&ctx, &job->job) ? queens(ctx, n, rows + 1, job->board) : job->found;
    }
    return found;
}

static void queens_run(wsq_ctx ctx, wsq_job *job) {
    queens_job *self = wsq_container_of(job, queens_job, job);
    self->found = queens(ctx, self->n, self->rows, self->board);
}

static long queens_plain(int n, int rows, signed char *board) {
    if (rows == n) return 1;
    long found = 0;
    for (int column = 0; column < n; column++) {
        board[rows] = (signed char)column;
        if (holds(board, rows + 1)) found += queens_plain(n, rows + 1, board);
    }
    return found;
}

static void root(wsq_ctx ctx, void *arg) {
    queens_job *self = arg;
    self->found = queens(ctx, self->n, 0, self->board);
}

static double finish(const bench_case *self, uint64_t start, long found) {
    static const long solutions[MAX_QUEENS + 1] = {
        1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14200, 73712, 365596, 2279184, 14772512};
    double ns = bench_since(start);
    bench_check(found == solutions[self->n], "nqueens");
    return ns / 1e6;
}

static double measure_pool(const bench_case *self) {
    queens_job call = {.n = (int)self->n};
    uint64_t start = bench_now();
    bench_check(wsq_run(self->pool, root, &call) == WSQ_OK, "run");
    return finish(self, start, call.found);
}

static double measure_plain(const bench_case *self) {
    signed char board[MAX_QUEENS] = {0};
    uint64_t start = bench_now();
    return finish(self, start, queens_plain((int)self->n, 0, board));
}

int main(int argc, char **argv) {
    bench_begin("nqueens", argc, argv);
    bench_case *plain = bench_add("nqueens/plain", "ms", measure_plain, 0, 13);
    bench_case *one = bench_add_pair("nqueens/wsq", "ms", measure_pool, 13);
    bench_run();
    bench_ratio("nqueens/to_plain", one, plain, 1.2, false);
    bench_speedup("nqueens/speedup", one, 1.9);
    return bench_end();
}
