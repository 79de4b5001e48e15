/* What the peer programs in C and C++ share; those in Rust and Go do the same in their language.
 *
 *   PEER                    lists its cases
 *   PEER CASE WORKERS [ARG] runs one and prints "value unit": the median of some rounds
 *
 * A case says how many operations it did and how long they took, and checks its result. */
#ifndef PEER_H
#define PEER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PEER_ROUNDS 5
#define PEER_ENOUGH_NS 2e7 /* a round of a growing case takes at least this */

typedef struct peer_result {
    double ns, operations;
} peer_result;

typedef struct peer_case {
    const char *name, *unit;
    peer_result (*run)(long size);
    long size;
    long step; /* added to the size until a round is long enough; 0: the size is fixed */
} peer_case;

static unsigned peer_workers;
static long peer_arg;

static inline double peer_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static inline void peer_check(bool condition, const char *what) {
    if (condition) return;
    fprintf(stderr, "FAILED: %s\n", what);
    exit(1);
}

/* Work: each step waits for the one before, about 1 ns. */
static inline uint64_t peer_burn(uint64_t loops) {
    uint64_t x = loops;
    while (loops-- > 0) x = x * 6364136223846793005u + 1442695040888963407u;
    return x;
}

static inline long peer_fib(long n) {
    return n < 2 ? n : peer_fib(n - 1) + peer_fib(n - 2);
}

/* Forks of a fib without a cut-off. */
static inline double peer_forks(long n) {
    return (double)peer_fib(n + 1) - 1;
}

static inline bool peer_queen_holds(const signed char *board, int rows) {
    int last = rows - 1;
    for (int row = 0; row < last; row++) {
        int distance = board[last] - board[row];
        if (distance == 0 || distance == last - row || distance == row - last) return false;
    }
    return true;
}

#define PEER_QUEENS 12
#define PEER_QUEENS_FOUND 14200
#define PEER_LEAVES 1000000L
#define PEER_LEAVES_SUM (PEER_LEAVES * (PEER_LEAVES - 1) / 2)
#define PEER_LOOP 4000000L
#define PEER_SAMPLES 300 /* of a wake-up */

/* The body of the loop case. */
static inline float peer_body(float x) {
    for (int k = 0; k < 16; k++) x = x * x * 0.5f + 0.25f;
    return x;
}

/* The tasks of the grain cases: 20 ms of work in pieces of peer_arg ns. */
static inline long peer_grains(void) {
    long count = 20000000L / peer_arg;
    return count < 200000 ? count : 200000;
}

/* A case that did the grains in this time: its result is the speed-up against a plain loop. */
static inline peer_result peer_speedup(double parallel_ns) {
    double start = peer_now();
    uint64_t sum = 0;
    for (long i = peer_grains(); i > 0; i--) {
        sum += peer_burn((uint64_t)peer_arg);
        __asm__ volatile("" : "+r"(sum));
    }
    peer_result result = {peer_now() - start, parallel_ns};
    return result;
}

static float *peer_numbers;

/* A plain function for both: the loop cases differ in who calls it, not in how it was compiled. */
static __attribute__((noinline)) void peer_loop(float *numbers, long begin, long end) {
    for (long i = begin; i < end; i++) numbers[i] = peer_body(numbers[i]);
}

/* The same for the loop. */
static inline peer_result peer_loop_speedup(double parallel_ns) {
    double start = peer_now();
    peer_loop(peer_numbers, 0, PEER_LOOP);
    peer_result result = {peer_now() - start, parallel_ns};
    return result;
}

static inline void peer_loop_begin(void) {
    if (!peer_numbers) peer_numbers = (float *)calloc(PEER_LOOP, sizeof *peer_numbers);
    peer_check(peer_numbers != NULL, "memory");
}

static inline void peer_sleep_us(long us) {
    struct timespec time = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&time, NULL);
}

static inline int peer_order(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline double peer_median(double *samples, int count) {
    qsort(samples, (size_t)count, sizeof *samples, peer_order);
    return samples[count / 2];
}

static inline void peer_measure(const peer_case *self) {
    double samples[PEER_ROUNDS];
    long size = self->size;
    peer_result warm = self->run(size);
    while (self->step != 0 && warm.ns < PEER_ENOUGH_NS) warm = self->run(size += self->step);
    for (int i = 0; i < PEER_ROUNDS; i++) {
        peer_result result = self->run(size);
        samples[i] = result.ns / result.operations;
    }
    printf("%.6g %s\n", peer_median(samples, PEER_ROUNDS), self->unit);
}

/* start makes the pool of peer_workers, stop ends it. */
static inline int peer_main(int argc, char **argv, const peer_case *cases, size_t count,
                            void (*start)(void), void (*stop)(void)) {
    for (size_t i = 0; argc == 1 && i < count; i++) printf("%s\n", cases[i].name);
    if (argc < 3) return argc != 1;
    peer_workers = (unsigned)atoi(argv[2]);
    peer_arg = argc > 3 ? atol(argv[3]) : 1000;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(argv[1], cases[i].name) != 0) continue;
        start();
        peer_measure(&cases[i]);
        stop();
        return 0;
    }
    return 1;
}

#endif
