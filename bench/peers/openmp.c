/* OpenMP tasks and loops, of whichever compiler builds this. */
#include "work.h"

#include <omp.h>

static void start(void) {
    omp_set_num_threads((int)peer_workers);
}

static void stop(void) {}

static peer_result since(double begin, double operations) {
    return (peer_result){peer_now() - begin, operations};
}

static long fib(long n) {
    long left, right;
    if (n < 2) return n;
#pragma omp task shared(left)
    left = fib(n - 1);
    right = fib(n - 2);
#pragma omp taskwait
    return left + right;
}

static peer_result run_fib(long n) {
    long value = 0;
    double begin = peer_now();
#pragma omp parallel
#pragma omp single
    value = fib(n);
    peer_result result = since(begin, 1);
    result.operations = peer_forks(n);
    peer_check(value == peer_fib(n), "fib");
    return result;
}

static long sky(long first, long size) {
    if (size == 1) return first;
    long sums[10], part = size / 10, sum = 0;
    for (int i = 0; i < 9; i++) {
#pragma omp task shared(sums)
        sums[i] = sky(first + i * part, part);
    }
    sums[9] = sky(first + 9 * part, part);
#pragma omp taskwait
    for (int i = 0; i < 10; i++) sum += sums[i];
    return sum;
}

static peer_result run_skynet(long size) {
    long value = 0;
    (void)size;
    double begin = peer_now();
#pragma omp parallel
#pragma omp single
    value = sky(0, PEER_LEAVES);
    peer_result result = since(begin, 1e6);
    peer_check(value == PEER_LEAVES_SUM, "skynet");
    return result;
}

typedef struct board {
    signed char at[PEER_QUEENS];
} board;

static long queens(int rows, const board *from) {
    if (rows == PEER_QUEENS) return 1;
    long found[PEER_QUEENS] = {0}, sum = 0;
    for (int column = 0; column < PEER_QUEENS; column++) {
        board next = *from;
        next.at[rows] = (signed char)column;
        if (!peer_queen_holds(next.at, rows + 1)) continue;
#pragma omp task shared(found) firstprivate(next)
        found[column] = queens(rows + 1, &next);
    }
#pragma omp taskwait
    for (int i = 0; i < PEER_QUEENS; i++) sum += found[i];
    return sum;
}

static peer_result run_queens(long size) {
    board empty = {{0}};
    long value = 0;
    (void)size;
    double begin = peer_now();
#pragma omp parallel
#pragma omp single
    value = queens(0, &empty);
    peer_result result = since(begin, 1e6);
    peer_check(value == PEER_QUEENS_FOUND, "queens");
    return result;
}

static long tree(uint64_t node, int children) {
    long nodes[PEER_TREE_ARITY], sum = 1;
    for (int first = 0; first < children; first += PEER_TREE_ARITY) {
        for (int i = 0; i < PEER_TREE_ARITY; i++) {
            uint64_t child = peer_tree_child(node, first + i);
#pragma omp task shared(nodes)
            nodes[i] = tree(child, peer_tree_children(child));
        }
#pragma omp taskwait
        for (int i = 0; i < PEER_TREE_ARITY; i++) sum += nodes[i];
    }
    return sum;
}

static peer_result run_uts(long size) {
    long value = 0;
    (void)size;
    double begin = peer_now();
#pragma omp parallel
#pragma omp single
    value = tree(1, PEER_TREE_ROOT);
    peer_result result = since(begin, 1e6);
    peer_check(value == PEER_TREE_NODES, "uts");
    return result;
}

static void sort(int32_t *a, long n) {
    if (n < PEER_SORT_CUTOFF) {
        peer_sort_plain(a, n);
        return;
    }
    long cut = peer_partition(a, n);
#pragma omp task
    sort(a + cut, n - cut);
    sort(a, cut);
#pragma omp taskwait
}

static peer_result run_sort(long size) {
    (void)size;
    peer_sort_begin();
    double begin = peer_now();
#pragma omp parallel
#pragma omp single
    sort(peer_data, PEER_SORT);
    peer_result result = since(begin, 1e6);
    peer_sort_check();
    return result;
}

static void matrix(float *c, const float *a, const float *b, long n) {
    if (n == PEER_MATRIX_LEAF) {
        peer_matrix_leaf(c, a, b);
        return;
    }
    for (int half = 0; half < 8; half += 4) {
        for (int i = 0; i < 4; i++) {
            float *c1 = c;
            const float *a1 = a, *b1 = b;
            peer_matrix_quarter(half + i, n / 2, &c1, &a1, &b1);
#pragma omp task
            matrix(c1, a1, b1, n / 2);
        }
#pragma omp taskwait
    }
}

static peer_result run_matmul(long size) {
    (void)size;
    peer_matrix_begin();
    double begin = peer_now();
#pragma omp parallel
#pragma omp single
    matrix(peer_c, peer_a, peer_b, PEER_MATRIX);
    peer_result result = since(begin, 1e6);
    peer_matrix_check();
    return result;
}

/* By hand: what schedule(static) does with a loop, without leaving the loop to the compiler. */
static peer_result run_loop(long size) {
    (void)size;
    peer_loop_begin();
    double begin = peer_now();
#pragma omp parallel
    {
        long thread = omp_get_thread_num(), count = omp_get_num_threads();
        peer_loop(peer_numbers, PEER_LOOP / count * thread,
                  thread == count - 1 ? PEER_LOOP : PEER_LOOP / count * (thread + 1));
    }
    return since(begin, 1e6);
}

static peer_result run_uneven(long size) {
    (void)size;
    double begin = peer_now();
#pragma omp parallel for schedule(guided)
    for (long i = 0; i < PEER_UNEVEN; i++) peer_uneven(i, i + 1);
    return since(begin, 1e6);
}

static peer_result run_grain_loop(long size) {
    (void)size;
    double begin = peer_now();
#pragma omp parallel for schedule(dynamic, 1)
    for (long i = 0; i < peer_grains(); i++) {
        peer_grain();
    }
    return peer_speedup(peer_now() - begin);
}

static peer_result run_grain_task(long size) {
    (void)size;
    double begin = peer_now();
#pragma omp parallel
#pragma omp single
    for (long i = 0; i < peer_grains(); i++) {
#pragma omp task
        peer_grain();
    }
    return peer_speedup(peer_now() - begin);
}

static peer_result run_spawn(long size) {
    double begin = peer_now();
#pragma omp parallel
#pragma omp single
    for (long i = 0; i < size; i++) {
#pragma omp task
        __asm__ volatile("" : : "r"(i));
    }
    return since(begin, (double)size);
}

/* One thread runs a task at once, inside the one that made it: the stack limits the chain. */
static void chain(long left) {
    if (left == 0) return;
#pragma omp task
    chain(left - 1);
}

static peer_result run_chain(long size) {
    double begin = peer_now();
#pragma omp parallel
#pragma omp single
    chain(size);
    return since(begin, (double)size);
}

static peer_result run_idle(long size) {
    run_spawn(size);
    return peer_idle();
}

#define HAS_BURST
#define HAS_SHORT_LOOP
#include "users.h"

static void burst(int count, double ns) {
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < count; i++) {
#pragma omp task
        peer_spin(ns);
    }
}

static void loop_ranges(long n, void (*body)(long begin, long end)) {
#pragma omp parallel for
    for (long i = 0; i < n; i++) body(i, i + 1);
}

int main(int argc, char **argv) {
    static const peer_case cases[] = {
        {"fib", "ns/fork", run_fib, 16, 2},
        {"skynet", "ms", run_skynet, 1, 0},
        {"queens", "ms", run_queens, 1, 0},
        {"uts", "ms", run_uts, 1, 0},
        {"sort", "ms", run_sort, 1, 0},
        {"matmul", "ms", run_matmul, 1, 0},
        {"uneven", "ms", run_uneven, 1, 0},
        {"loop", "ms", run_loop, 1, 0},
        {"grain_loop", "x", run_grain_loop, 1, 0},
        {"grain_task", "x", run_grain_task, 1, 0},
        {"spawn", "ns/task", run_spawn, 100000, 0},
        {"chain", "ns/task", run_chain, 20000, 0},
        {"idle", "%", run_idle, 100, 0},
        PEER_USER_CASES
    };
    return peer_main(argc, argv, cases, sizeof cases / sizeof *cases, start, stop);
}
