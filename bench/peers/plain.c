/* Not a peer but the measure of all: the same work on this thread alone, and a bare wake-up of one
 * thread by another. */
#include "work.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

static void start(void) {}
static void stop(void) {}

static peer_result since(double begin, double operations) {
    return (peer_result){peer_now() - begin, operations};
}

static peer_result run_fib(long n) {
    double begin = peer_now();
    long value = peer_fib(n);
    peer_result result = since(begin, 1);
    result.operations = peer_forks(n);
    peer_check(value > 0, "fib");
    return result;
}

static long sky(long first, long size) {
    long sum = 0;
    if (size == 1) return first;
    for (int i = 0; i < 10; i++) sum += sky(first + i * (size / 10), size / 10);
    return sum;
}

static peer_result run_skynet(long size) {
    (void)size;
    double begin = peer_now();
    long value = sky(0, PEER_LEAVES);
    peer_result result = since(begin, 1e6);
    peer_check(value == PEER_LEAVES_SUM, "skynet");
    return result;
}

static long queens(int rows, const signed char *board) {
    long found = 0;
    if (rows == PEER_QUEENS) return 1;
    for (int column = 0; column < PEER_QUEENS; column++) {
        signed char next[PEER_QUEENS];
        memcpy(next, board, PEER_QUEENS);
        next[rows] = (signed char)column;
        if (peer_queen_holds(next, rows + 1)) found += queens(rows + 1, next);
    }
    return found;
}

static peer_result run_queens(long size) {
    static const signed char board[PEER_QUEENS];
    (void)size;
    double begin = peer_now();
    long value = queens(0, board);
    peer_result result = since(begin, 1e6);
    peer_check(value == PEER_QUEENS_FOUND, "queens");
    return result;
}

static long tree(uint64_t node, int children) {
    long nodes = 1;
    for (int i = 0; i < children; i++) {
        uint64_t child = peer_tree_child(node, i);
        nodes += tree(child, peer_tree_children(child));
    }
    return nodes;
}

static peer_result run_uts(long size) {
    (void)size;
    double begin = peer_now();
    long value = tree(1, PEER_TREE_ROOT);
    peer_result result = since(begin, 1e6);
    peer_check(value == PEER_TREE_NODES, "uts");
    return result;
}

static void matrix(float *c, const float *a, const float *b, long n) {
    if (n == PEER_MATRIX_LEAF) {
        peer_matrix_leaf(c, a, b);
        return;
    }
    for (int step = 0; step < 8; step++) {
        float *c1 = c;
        const float *a1 = a, *b1 = b;
        peer_matrix_quarter(step, n / 2, &c1, &a1, &b1);
        matrix(c1, a1, b1, n / 2);
    }
}

static peer_result run_sort(long size) {
    (void)size;
    peer_sort_begin();
    double begin = peer_now();
    peer_sort_plain(peer_data, PEER_SORT);
    return since(begin, 1e6);
}

static peer_result run_matmul(long size) {
    (void)size;
    peer_matrix_begin();
    double begin = peer_now();
    matrix(peer_c, peer_a, peer_b, PEER_MATRIX);
    peer_result result = since(begin, 1e6);
    peer_matrix_check();
    return result;
}

static peer_result run_uneven(long size) {
    (void)size;
    double begin = peer_now();
    peer_uneven(0, PEER_UNEVEN);
    return since(begin, 1e6);
}

static peer_result run_loop(long size) {
    (void)size;
    peer_loop_begin();
    double begin = peer_now();
    peer_loop(peer_numbers, 0, PEER_LOOP);
    return since(begin, 1e6);
}

/* ---- one thread sleeps on a futex, the other wakes it ---- */

static atomic_int bell; /* 0: sleep; 1: begin; 2: the end */
static _Atomic double begun_at;

static void *sleeper(void *arg) {
    (void)arg;
    for (int value; (value = atomic_load(&bell)) != 2;) {
        if (value == 0) {
            syscall(SYS_futex, &bell, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
        } else {
            atomic_store(&bell, 0);
            atomic_store(&begun_at, peer_now());
        }
    }
    return NULL;
}

static void ring(int value) {
    atomic_store(&bell, value);
    syscall(SYS_futex, &bell, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void wake_give(void) {
    atomic_store(&begun_at, 0);
    ring(1);
}

static double wake_wait(void) {
    while (atomic_load(&begun_at) == 0) sched_yield();
    return atomic_load(&begun_at);
}

static peer_result run_wake(long size) {
    pthread_t thread;
    (void)size;
    atomic_store(&bell, 0);
    pthread_create(&thread, NULL, sleeper, NULL);
    peer_result result = peer_wake(wake_give, wake_wait);
    ring(2);
    pthread_join(thread, NULL);
    return result;
}

/* ---- two threads that hand over to each other, each asleep until it is its turn ---- */

static atomic_int turn; /* 0: the one that asks; 1: the one that answers; 2: the end */

static void turn_pass(int from, int to) {
    atomic_store(&turn, to);
    syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    while (from != to && atomic_load(&turn) == to)
        syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, to, NULL, NULL, 0);
}

static void *answer(void *arg) {
    (void)arg;
    while (atomic_load(&turn) == 0) syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    while (atomic_load(&turn) == 1) turn_pass(1, 0);
    return NULL;
}

static void ask(void) {
    turn_pass(0, 1);
}

static peer_result run_ask(long size) {
    pthread_t thread;
    (void)size;
    atomic_store(&turn, 0);
    pthread_create(&thread, NULL, answer, NULL);
    peer_result result = peer_ask(ask);
    turn_pass(2, 2);
    pthread_join(thread, NULL);
    return result;
}

/* ---- a cache line that goes from one processor to another and back ---- */

static atomic_long ball;

static void *return_ball(void *arg) {
    long trips = *(long *)arg;
    for (long i = 0; i < trips; i++) {
        while (atomic_load(&ball) != 2 * i + 1) {}
        atomic_store(&ball, 2 * i + 2);
    }
    return NULL;
}

static peer_result run_line(long trips) {
    pthread_t thread;
    atomic_store(&ball, 0);
    pthread_create(&thread, NULL, return_ball, &trips);
    double begin = peer_now();
    for (long i = 0; i < trips; i++) {
        atomic_store(&ball, 2 * i + 1);
        while (atomic_load(&ball) != 2 * i + 2) {}
    }
    peer_result result = since(begin, 2.0 * (double)trips);
    pthread_join(thread, NULL);
    return result;
}

int main(int argc, char **argv) {
    static const peer_case cases[] = {
        {"fib", "ns/fork", run_fib, 20, 2},  {"skynet", "ms", run_skynet, 1, 0},
        {"queens", "ms", run_queens, 1, 0},  {"uts", "ms", run_uts, 1, 0},
        {"sort", "ms", run_sort, 1, 0},      {"matmul", "ms", run_matmul, 1, 0},
        {"uneven", "ms", run_uneven, 1, 0},  {"loop", "ms", run_loop, 1, 0},
        {"ask", "us", run_ask, 1, 0},
        {"wake", "us", run_wake, 1, 0},      {"line", "ns", run_line, 10000, 0},
    };
    return peer_main(argc, argv, cases, sizeof cases / sizeof *cases, start, stop);
}
