/* All placements of n queens: a fork for each placement that holds so far (forks.h). The sequential
 * function works in place. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "bench.h"

#define QUEENS 13
#define QUEENS_FOUND 73712

/* Does the queen of the last row stand clear of all the others? */
static bool holds(const signed char *board, int rows) {
    int last = rows - 1;
    for (int row = 0; row < last; row++) {
        int distance = board[last] - board[row];
        if (distance == 0 || distance == last - row || distance == row - last) return false;
    }
    return true;
}

#define QUEENS_HOLD holds
#include "forks.h"

static long queens_plain(int rows, signed char *board) {
    if (rows == QUEENS) return 1;
    long found = 0;
    for (int column = 0; column < QUEENS; column++) {
        board[rows] = (signed char)column;
        if (holds(board, rows + 1)) found += queens_plain(rows + 1, board);
    }
    return found;
}

static void root(wsq_ctx ctx, void *arg) {
    queens_job *self = arg;
    self->found = queens(ctx, 0, self->board);
}

static double finish(uint64_t start, long found) {
    double ns = bench_since(start);
    bench_check(found == QUEENS_FOUND, "nqueens");
    return ns / 1e6;
}

static double measure_pool(const bench_case *self) {
    signed char board[QUEENS] = {0};
    queens_job call = {.board = board};
    uint64_t start = bench_now();
    bench_check(wsq_run(self->pool, root, &call) == WSQ_OK, "run");
    return finish(start, call.found);
}

static double measure_plain(const bench_case *self) {
    signed char board[QUEENS] = {0};
    (void)self;
    uint64_t start = bench_now();
    return finish(start, queens_plain(0, board));
}

int main(int argc, char **argv) {
    bench_begin("nqueens", argc, argv);
    bench_case *plain = bench_add("nqueens/plain", "ms", measure_plain, 0, QUEENS);
    bench_case *one = bench_add_pair("nqueens/wsq", "ms", measure_pool, QUEENS);
    bench_run();
    bench_ratio("nqueens/to_plain", one, plain, 1.2, false);
    bench_speedup("nqueens/speedup", one, 1.9);
    return bench_end();
}
