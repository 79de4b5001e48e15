/* libfork (github.com/ConorWilliams/libfork): built when LIBFORK names its sources. Coroutines; it
 * has no tasks that nobody waits for, and no loops. */
#include "work.h"

#include <libfork.hpp>
#include <memory>

static std::unique_ptr<lf::lazy_pool> pool;

static void start() {
    pool.reset(new lf::lazy_pool(peer_workers));
}

static void stop() {
    pool.reset();
}

static peer_result since(double begin, double operations) {
    return peer_result{peer_now() - begin, operations};
}

static constexpr auto fib = [](auto fib, long n) LF_STATIC_CALL -> lf::task<long> {
    if (n < 2) co_return n;
    long left, right;
    co_await lf::fork(&left, fib)(n - 1);
    co_await lf::call(&right, fib)(n - 2);
    co_await lf::join;
    co_return left + right;
};

static constexpr auto sky = [](auto sky, long first, long size) LF_STATIC_CALL -> lf::task<long> {
    if (size == 1) co_return first;
    long sums[10], part = size / 10, sum = 0;
    for (int i = 0; i < 9; i++) co_await lf::fork(&sums[i], sky)(first + i * part, part);
    co_await lf::call(&sums[9], sky)(first + 9 * part, part);
    co_await lf::join;
    for (long one : sums) sum += one;
    co_return sum;
};

static constexpr auto queens = [](auto queens, int rows,
                                  const signed char *board) LF_STATIC_CALL -> lf::task<long> {
    if (rows == PEER_QUEENS) co_return 1;
    signed char boards[PEER_QUEENS][PEER_QUEENS];
    long found[PEER_QUEENS], sum = 0;
    int count = 0;
    for (int column = 0; column < PEER_QUEENS; column++) {
        signed char *next = boards[count];
        memcpy(next, board, PEER_QUEENS);
        next[rows] = (signed char)column;
        if (!peer_queen_holds(next, rows + 1)) continue;
        const signed char *kept = next;
        co_await lf::fork(&found[count++], queens)(rows + 1, kept);
    }
    co_await lf::join;
    for (int i = 0; i < count; i++) sum += found[i];
    co_return sum;
};

static constexpr auto tree = [](auto tree, uint64_t node,
                                int children) LF_STATIC_CALL -> lf::task<long> {
    long nodes[PEER_TREE_ARITY], sum = 1;
    for (int first = 0; first < children; first += PEER_TREE_ARITY) {
        for (int i = 0; i < PEER_TREE_ARITY; i++) {
            uint64_t child = peer_tree_child(node, first + i);
            co_await lf::fork(&nodes[i], tree)(child, peer_tree_children(child));
        }
        co_await lf::join;
        for (long one : nodes) sum += one;
    }
    co_return sum;
};

static constexpr auto matrix = [](auto matrix, float *c, const float *a, const float *b,
                                  long n) LF_STATIC_CALL -> lf::task<void> {
    if (n == PEER_MATRIX_LEAF) {
        peer_matrix_leaf(c, a, b);
        co_return;
    }
    for (int half = 0; half < 8; half += 4) {
        for (int i = 0; i < 4; i++) {
            float *c1 = c;
            const float *a1 = a, *b1 = b;
            peer_matrix_quarter(half + i, n / 2, &c1, &a1, &b1);
            co_await lf::fork(matrix)(c1, a1, b1, n / 2);
        }
        co_await lf::join;
    }
};

static peer_result run_fib(long n) {
    double begin = peer_now();
    long value = lf::sync_wait(*pool, fib, n);
    peer_result result = since(begin, 1);
    result.operations = peer_forks(n);
    peer_check(value == peer_fib(n), "fib");
    return result;
}

static peer_result run_skynet(long) {
    double begin = peer_now();
    long value = lf::sync_wait(*pool, sky, 0L, PEER_LEAVES);
    peer_result result = since(begin, 1e6);
    peer_check(value == PEER_LEAVES_SUM, "skynet");
    return result;
}

static peer_result run_queens(long) {
    static const signed char board[PEER_QUEENS] = {0};
    const signed char *empty = board;
    double begin = peer_now();
    long value = lf::sync_wait(*pool, queens, 0, empty);
    peer_result result = since(begin, 1e6);
    peer_check(value == PEER_QUEENS_FOUND, "queens");
    return result;
}

static peer_result run_uts(long) {
    double begin = peer_now();
    long value = lf::sync_wait(*pool, tree, (uint64_t)1, PEER_TREE_ROOT);
    peer_result result = since(begin, 1e6);
    peer_check(value == PEER_TREE_NODES, "uts");
    return result;
}

static peer_result run_matmul(long) {
    peer_matrix_begin();
    const float *a = peer_a, *b = peer_b;
    double begin = peer_now();
    lf::sync_wait(*pool, matrix, peer_c, a, b, PEER_MATRIX);
    peer_result result = since(begin, 1e6);
    peer_matrix_check();
    return result;
}

int main(int argc, char **argv) {
    static const peer_case cases[] = {
        {"fib", "ns/fork", run_fib, 16, 2},  {"skynet", "ms", run_skynet, 1, 0},
        {"queens", "ms", run_queens, 1, 0},  {"uts", "ms", run_uts, 1, 0},
        {"matmul", "ms", run_matmul, 1, 0},
    };
    return peer_main(argc, argv, cases, sizeof cases / sizeof *cases, start, stop);
}
