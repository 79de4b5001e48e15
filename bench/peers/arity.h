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

TASK_2(long, tree, uint64_t, node, long, children) {
    long nodes = 1;
    for (int first = 0; first < (int)children; first += PEER_TREE_ARITY) {
        for (int i = 0; i < PEER_TREE_ARITY; i++) {
            uint64_t child = peer_tree_child(node, first + i);
            SPAWN(tree, child, peer_tree_children(child));
        }
        for (int i = 0; i < PEER_TREE_ARITY; i++) nodes += SYNC(tree);
    }
    return nodes;
}

TASK_2(long, sort, int32_t *, a, long, n) {
    if (n < PEER_SORT_CUTOFF) {
        peer_sort_plain(a, n);
        return 0;
    }
    long cut = peer_partition(a, n);
    SPAWN(sort, a + cut, n - cut);
    CALL(sort, a, cut);
    return SYNC(sort);
}

TASK_4(long, matrix, float *, c, const float *, a, const float *, b, long, n) {
    if (n == PEER_MATRIX_LEAF) {
        peer_matrix_leaf(c, a, b);
        return 0;
    }
    for (int half = 0; half < 8; half += 4) {
        for (int i = 0; i < 4; i++) {
            float *c1 = c;
            const float *a1 = a, *b1 = b;
            peer_matrix_quarter(half + i, n / 2, &c1, &a1, &b1);
            SPAWN(matrix, c1, a1, b1, n / 2);
        }
        for (int i = 0; i < 4; i++) SYNC(matrix);
    }
    return 0;
}

TASK_2(long, grains, long, begin, long, end) {
    if (end - begin == 1) {
        peer_grain();
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

static peer_result run_uts(long size) {
    (void)size;
    double begin = peer_now();
    long value = ROOT(tree, 1, PEER_TREE_ROOT);
    peer_result result = {peer_now() - begin, 1e6};
    peer_check(value == PEER_TREE_NODES, "uts");
    return result;
}

static peer_result run_sort(long size) {
    (void)size;
    peer_sort_begin();
    double begin = peer_now();
    ROOT(sort, peer_data, PEER_SORT);
    peer_result result = {peer_now() - begin, 1e6};
    peer_sort_check();
    return result;
}

static peer_result run_matmul(long size) {
    (void)size;
    peer_matrix_begin();
    double begin = peer_now();
    ROOT(matrix, peer_c, peer_a, peer_b, PEER_MATRIX);
    peer_result result = {peer_now() - begin, 1e6};
    peer_matrix_check();
    return result;
}

static peer_result run_grain_loop(long size) {
    (void)size;
    double begin = peer_now();
    ROOT(grains, 0, peer_grains());
    return peer_speedup(peer_now() - begin);
}

static peer_result run_idle(long n) {
    ROOT(fib, n);
    return peer_idle();
}

int main(int argc, char **argv) {
    static const peer_case cases[] = {
        {"fib", "ns/fork", run_fib, 20, 2},
        {"skynet", "ms", run_skynet, 1, 0},
        {"queens", "ms", run_queens, 1, 0},
        {"uts", "ms", run_uts, 1, 0},
        {"sort", "ms", run_sort, 1, 0},
        {"matmul", "ms", run_matmul, 1, 0},
        {"idle", "%", run_idle, 15, 0},
        {"grain_loop", "x", run_grain_loop, 1, 0},
    };
    return peer_main(argc, argv, cases, sizeof cases / sizeof *cases, start, stop);
}
