/* The work of the peers' cases: the same for all that are written in C and C++. */
#ifndef PEER_WORK_H
#define PEER_WORK_H

#include "peer.h"

#ifdef __cplusplus
extern "C" {
#endif
/* Calls that work.c compiles, once for all. */
uint64_t peer_burn(uint64_t steps);
void peer_loop(float *numbers, long begin, long end);
void peer_uneven(long begin, long end);
bool peer_queen_holds(const signed char *board, int rows);
long peer_partition(int32_t *a, long n);
void peer_sort_plain(int32_t *a, long n);
void peer_matrix_leaf(float *c, const float *a, const float *b);
#ifdef __cplusplus
}
#endif

/* ---- a given time of work ---- */

/* The grain cases: 20 ms of work in pieces of peer_arg ns. */
static inline long peer_grains(void) {
    long count = 20000000L / peer_arg;
    return count < 200000 ? count : 200000;
}

static uint64_t peer_grain_steps;
static double peer_grains_ns; /* all of them, one after the other, without a scheduler */

static inline void peer_grain(void) {
    peer_burn(peer_grain_steps);
}

/* Short grains overlap in the core, so that a loop of them takes less than their sum. */
static inline void peer_time_grains(void) {
    for (int i = 0; i < 3; i++) {
        double begin = peer_now();
        for (long left = peer_grains(); left > 0; left--) peer_grain();
        double ns = peer_now() - begin;
        if (i == 0 || ns < peer_grains_ns) peer_grains_ns = ns;
    }
}

/* Before there are threads: some that spin while they wait would slow it down. */
static inline void peer_calibrate(void) {
    double best = 0;
    for (int i = 0; i < 50; i++) {
        double begin = peer_now();
        peer_burn(20000);
        double steps_per_ns = 20000 / (peer_now() - begin);
        if (steps_per_ns > best) best = steps_per_ns;
    }
    peer_grain_steps = (uint64_t)((double)peer_arg * best);
    peer_time_grains();
}

/* What did the grains in this time is so many times as fast as one thread without a scheduler. */
static inline peer_result peer_speedup(double parallel_ns) {
    peer_result result = {peer_grains_ns, parallel_ns};
    return result;
}

/* ---- loops ---- */

#define PEER_LOOP 4000000L
#define PEER_UNEVEN 8000L /* pieces of 0, 1, 2, ... steps of peer_burn */

static float *peer_numbers;

static inline void peer_loop_begin(void) {
    if (!peer_numbers) peer_numbers = (float *)calloc(PEER_LOOP, sizeof *peer_numbers);
    peer_check(peer_numbers != NULL, "memory");
}

/* ---- fib, skynet, queens ---- */

static inline long peer_fib(long n) {
    return n < 2 ? n : peer_fib(n - 1) + peer_fib(n - 2);
}

/* Forks of a fib without a cut-off. */
static inline double peer_forks(long n) {
    return (double)peer_fib(n + 1) - 1;
}

#define PEER_LEAVES 1000000L
#define PEER_LEAVES_SUM (PEER_LEAVES * (PEER_LEAVES - 1) / 2)
#define PEER_QUEENS 12
#define PEER_QUEENS_FOUND 14200

/* ---- a tree whose shape nobody knows: the binomial one of UTS, with a cheaper hash ---- */

#define PEER_TREE_ROOT 2000 /* children of the root */
#define PEER_TREE_ARITY 8   /* of any other node that has some */
#define PEER_TREE_NODES 858497

/* Ten rounds of splitmix64, about 20 ns (Zen 5): a node is some work, but not much. */
static inline uint64_t peer_tree_child(uint64_t parent, int index) {
    uint64_t x = parent + (uint64_t)index;
    for (int i = 0; i < 10; i++) {
        x += 0x9e3779b97f4a7c15u;
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
        x = (x ^ x >> 27) * 0x94d049bb133111ebu;
        x ^= x >> 31;
    }
    return x;
}

/* 12.48 of 100 nodes have children. */
static inline int peer_tree_children(uint64_t node) {
    return (uint32_t)(node >> 32) < 536012000u ? PEER_TREE_ARITY : 0;
}

/* ---- quicksort ---- */

#define PEER_SORT 500000L
#define PEER_SORT_CUTOFF 2048 /* below: sequential */

static int32_t *peer_input, *peer_data;

static inline void peer_sort_begin(void) {
    uint64_t x = 1;
    if (!peer_input) {
        peer_input = (int32_t *)malloc(PEER_SORT * sizeof *peer_input);
        peer_data = (int32_t *)malloc(PEER_SORT * sizeof *peer_data);
        peer_check(peer_input != NULL && peer_data != NULL, "memory");
        for (long i = 0; i < PEER_SORT; i++) peer_input[i] = (int32_t)(x = peer_tree_child(x, 1));
    }
    memcpy(peer_data, peer_input, PEER_SORT * sizeof *peer_data);
}

static inline void peer_sort_check(void) {
    for (long i = 1; i < PEER_SORT; i++) peer_check(peer_data[i - 1] <= peer_data[i], "sorted");
}

/* ---- matrix multiplication, by quarters ---- */

#define PEER_MATRIX 512L
#define PEER_MATRIX_LEAF 64L

static float *peer_a, *peer_b, *peer_c;

static inline void peer_matrix_begin(void) {
    const size_t count = PEER_MATRIX * PEER_MATRIX;
    if (!peer_a) {
        peer_a = (float *)calloc(3 * count, sizeof *peer_a);
        peer_check(peer_a != NULL, "memory");
        peer_b = peer_a + count;
        peer_c = peer_b + count;
        for (size_t i = 0; i < count; i++) peer_a[i] = (float)(i % 3), peer_b[i] = (float)(i % 5);
    }
    memset(peer_c, 0, count * sizeof *peer_c);
}

/* The step-th of the eight products of n x n quarters; the first four write different quarters,
 * and so do the last four. */
static inline void peer_matrix_quarter(int step, long n, float **c, const float **a,
                                       const float **b) {
    long row = step >> 1 & 1, column = step & 1, inner = step >> 2;
    *c += (row * PEER_MATRIX + column) * n;
    *a += (row * PEER_MATRIX + inner) * n;
    *b += (inner * PEER_MATRIX + column) * n;
}

/* All sums are whole numbers below 2^24: exact in any order. */
static inline void peer_matrix_check(void) {
    for (long row = 0; row < PEER_MATRIX; row += 37) {
        long column = PEER_MATRIX - 1 - row;
        float sum = 0;
        for (long k = 0; k < PEER_MATRIX; k++)
            sum += peer_a[row * PEER_MATRIX + k] * peer_b[k * PEER_MATRIX + column];
        peer_check(peer_c[row * PEER_MATRIX + column] == sum, "product");
    }
}

#endif
