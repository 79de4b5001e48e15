/* The cases of Wool and of Lace, whose macros have the same names: TASK_n, SPAWN, CALL, SYNC. */

TASK_1(long, fib, long, n) {
    if (n < 2) return n;
    SPAWN(fib, n - 1);
    long right = CALL(fib, n - 2);
    long left = SYNC(fib);
    return left + right;
}

TASK_2(long, sky, long, first, long, size) {
    if (size == 1) return first;
    long part = size / 10, sum;
    for (long i = 0; i < 9; i++) SPAWN(sky, first + i * part, part);
    sum = CALL(sky, first + 9 * part, part);
    for (int i = 0; i < 9; i++) sum += SYNC(sky);
    return sum;
}

/* The boards live in the parent's frame until it has joined. */
TASK_2(long, queens, int, rows, signed char *, board) {
    if (rows == PEER_QUEENS) return 1;
    signed char boards[PEER_QUEENS][PEER_QUEENS];
    int count = 0;
    for (int column = 0; column < PEER_QUEENS; column++) {
        signed char *next = boards[count];
        memcpy(next, board, PEER_QUEENS);
        next[rows] = (signed char)column;
        if (!peer_queen_holds(next, rows + 1)) continue;
        SPAWN(queens, rows + 1, next);
        count++;
    }
    long found = 0;
    while (count-- > 0) found += SYNC(queens);
    return found;
}

TASK_2(long, grains, long, begin, long, end) {
    if (end - begin == 1) {
        uint64_t sum = peer_burn((uint64_t)peer_arg);
        __asm__ volatile("" : : "r"(sum));
        return 0;
    }
    long middle = begin + (end - begin) / 2;
    SPAWN(grains, middle, end);
    CALL(grains, begin, middle);
    SYNC(grains);
    return 0;
}

static peer_result run_fib(long n) {
    double begin = peer_now();
    long value = ROOT(fib, n);
    peer_result result = {peer_now() - begin, peer_forks(n)};
    peer_check(value == peer_fib(n), "fib");
    return result;
}

static peer_result run_skynet(long size) {
    (void)size;
    double begin = peer_now();
    long value = ROOT(sky, 0, PEER_LEAVES);
    peer_result result = {peer_now() - begin, 1e6};
    peer_check(value == PEER_LEAVES_SUM, "skynet");
    return result;
}

static peer_result run_queens(long size) {
    static signed char board[PEER_QUEENS];
    (void)size;
    double begin = peer_now();
    long value = ROOT(queens, 0, board);
    peer_result result = {peer_now() - begin, 1e6};
    peer_check(value == PEER_QUEENS_FOUND, "queens");
    return result;
}

static peer_result run_grain_loop(long size) {
    (void)size;
    double begin = peer_now();
    ROOT(grains, 0, peer_grains());
    return peer_speedup(peer_now() - begin);
}

int main(int argc, char **argv) {
    static const peer_case cases[] = {
        {"fib", "ns/fork", run_fib, 20, 2},
        {"skynet", "ms", run_skynet, 1, 0},
        {"queens", "ms", run_queens, 1, 0},
        {"grain_loop", "x", run_grain_loop, 1, 0},
    };
    return peer_main(argc, argv, cases, sizeof cases / sizeof *cases, start, stop);
}
