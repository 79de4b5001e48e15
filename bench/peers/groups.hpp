/* The cases of the schedulers in C++ whose tasks are closures. The program that includes this defines
 * pool_start and pool_stop, and what it has of
 *
 *   HAS_FORK    enter(f): calls f within the pool, returns when f has
 *               fork_all(n, f): f(0) .. f(n - 1), together; returns when all have
 *   HAS_LOOP    loop(n, f): f(begin, end) for pieces that together are [0, n)
 *   HAS_ASK     ask(): a small task, and its end, waited for as the library does
 *   HAS_PUSH    push(f, arg): f(arg) some time, on a worker; from any thread
 *
 * and defines that name; HAS_OWN_CASES: lines of more cases, its own. Who waits for what was pushed
 * looks at a count that the tasks take down. */
#include "work.h"

#include <atomic>
#include <sched.h>
#include <thread>
#include <vector>

static peer_result since(double begin, double operations) {
    return peer_result{peer_now() - begin, operations};
}

#ifdef HAS_FORK

static long fib(long n) {
    if (n < 2) return n;
    long parts[2];
    fork_all(2, [&parts, n](int i) { parts[i] = fib(n - 1 - i); });
    return parts[0] + parts[1];
}

static peer_result run_fib(long n) {
    long value = 0;
    double begin = peer_now();
    enter([&value, n] { value = fib(n); });
    peer_result result = since(begin, 1);
    result.operations = peer_forks(n);
    peer_check(value == peer_fib(n), "fib");
    return result;
}

static long sky(long first, long size) {
    if (size == 1) return first;
    long sums[10], part = size / 10, sum = 0;
    fork_all(10, [&sums, first, part](int i) { sums[i] = sky(first + i * part, part); });
    for (long one : sums) sum += one;
    return sum;
}

static peer_result run_skynet(long) {
    long value = 0;
    double begin = peer_now();
    enter([&value] { value = sky(0, PEER_LEAVES); });
    peer_result result = since(begin, 1e6);
    peer_check(value == PEER_LEAVES_SUM, "skynet");
    return result;
}

static long queens(int rows, const signed char *board) {
    if (rows == PEER_QUEENS) return 1;
    signed char boards[PEER_QUEENS][PEER_QUEENS];
    long found[PEER_QUEENS], sum = 0;
    int count = 0;
    for (int column = 0; column < PEER_QUEENS; column++) {
        signed char *next = boards[count];
        memcpy(next, board, PEER_QUEENS);
        next[rows] = (signed char)column;
        if (peer_queen_holds(next, rows + 1)) count++;
    }
    if (count == 0) return 0;
    fork_all(count, [&boards, &found, rows](int i) { found[i] = queens(rows + 1, boards[i]); });
    for (int i = 0; i < count; i++) sum += found[i];
    return sum;
}

static peer_result run_queens(long) {
    static const signed char board[PEER_QUEENS] = {0};
    long value = 0;
    double begin = peer_now();
    enter([&value] { value = queens(0, board); });
    peer_result result = since(begin, 1e6);
    peer_check(value == PEER_QUEENS_FOUND, "queens");
    return result;
}

static long tree(uint64_t node, int children) {
    long nodes[PEER_TREE_ARITY], sum = 1;
    for (int first = 0; first < children; first += PEER_TREE_ARITY) {
        fork_all(PEER_TREE_ARITY, [&nodes, node, first](int i) {
            uint64_t child = peer_tree_child(node, first + i);
            nodes[i] = tree(child, peer_tree_children(child));
        });
        for (long one : nodes) sum += one;
    }
    return sum;
}

static peer_result run_uts(long) {
    long value = 0;
    double begin = peer_now();
    enter([&value] { value = tree(1, PEER_TREE_ROOT); });
    peer_result result = since(begin, 1e6);
    peer_check(value == PEER_TREE_NODES, "uts");
    return result;
}

static void matrix(float *c, const float *a, const float *b, long n) {
    if (n == PEER_MATRIX_LEAF) {
        peer_matrix_leaf(c, a, b);
        return;
    }
    for (int half = 0; half < 8; half += 4)
        fork_all(4, [=](int i) {
            float *c1 = c;
            const float *a1 = a, *b1 = b;
            peer_matrix_quarter(half + i, n / 2, &c1, &a1, &b1);
            matrix(c1, a1, b1, n / 2);
        });
}

static peer_result run_matmul(long) {
    peer_matrix_begin();
    double begin = peer_now();
    enter([] { matrix(peer_c, peer_a, peer_b, PEER_MATRIX); });
    peer_result result = since(begin, 1e6);
    peer_matrix_check();
    return result;
}

#endif

#ifdef HAS_LOOP

static peer_result run_loop(long) {
    peer_loop_begin();
    double begin = peer_now();
    loop(PEER_LOOP, [](long first, long end) { peer_loop(peer_numbers, first, end); });
    return since(begin, 1e6);
}

static peer_result run_uneven(long) {
    double begin = peer_now();
    loop(PEER_UNEVEN, [](long first, long end) { peer_uneven(first, end); });
    return since(begin, 1e6);
}

#endif

#ifdef HAS_ASK

static peer_result run_ask(long) {
    return peer_ask(ask);
}

#endif

#ifdef HAS_PUSH

static std::atomic<long> left_to_do;
static long todo;

static void nothing(void *) {
    left_to_do.fetch_sub(1, std::memory_order_acq_rel);
}

static void push_all(long count) {
    for (long i = 0; i < count; i++) push(nothing, nullptr);
}

static void wait_for_all() {
    while (left_to_do.load(std::memory_order_acquire) != 0) std::this_thread::yield();
}

static peer_result run_outside(long size) {
    left_to_do = size;
    double begin = peer_now();
    push_all(size);
    wait_for_all();
    return since(begin, (double)size);
}

static void push_todo(void *) {
    push_all(todo);
    nothing(nullptr);
}

static peer_result run_spawn(long size) {
    todo = size;
    left_to_do = size + 1;
    double begin = peer_now();
    push(push_todo, nullptr);
    wait_for_all();
    return since(begin, (double)size);
}

static void push_next(void *) {
    if (todo-- > 0) push(push_next, nullptr); /* only one at a time */
    nothing(nullptr);
}

static peer_result run_chain(long size) {
    todo = size;
    left_to_do = size + 1;
    double begin = peer_now();
    push(push_next, nullptr);
    wait_for_all();
    return since(begin, (double)size);
}

static peer_result run_one_by_one(long size) {
    double begin = peer_now();
    for (long i = 0; i < size; i++) {
        left_to_do = 1;
        push_all(1);
        wait_for_all();
    }
    return since(begin, (double)size);
}

static std::atomic<double> begun;

static void wake_give() {
    begun = 0;
    push([](void *) { begun = peer_now(); }, nullptr);
}

static double wake_wait() {
    while (begun == 0) sched_yield();
    return begun;
}

static peer_result run_wake(long) {
    return peer_wake(wake_give, wake_wait);
}

#ifndef HAS_ONE_PUSHER /* only the thread that started the pool, and its workers, may push */
static peer_result run_submit(long size) {
    std::vector<std::thread> threads;
    left_to_do = size;
    double begin = peer_now();
    for (int i = 0; i < 4; i++) threads.emplace_back([size] { push_all(size / 4); });
    for (std::thread &thread : threads) thread.join();
    wait_for_all();
    return since(begin, (double)size);
}
#endif

#endif

int main(int argc, char **argv) {
    static const peer_case cases[] = {
#ifdef HAS_OWN_CASES
        HAS_OWN_CASES
#endif
#ifdef HAS_FORK
        {"fib", "ns/fork", run_fib, 16, 2},
        {"skynet", "ms", run_skynet, 1, 0},
        {"queens", "ms", run_queens, 1, 0},
        {"uts", "ms", run_uts, 1, 0},
        {"matmul", "ms", run_matmul, 1, 0},
#endif
#ifdef HAS_LOOP
        {"loop", "ms", run_loop, 1, 0},
        {"uneven", "ms", run_uneven, 1, 0},
#endif
#ifdef HAS_ASK
        {"ask", "us", run_ask, 1, 0},
#endif
#ifdef HAS_PUSH
        {"spawn", "ns/task", run_spawn, 100000, 0},
        {"outside", "ns/task", run_outside, 100000, 0},
        {"chain", "ns/task", run_chain, 100000, 0},
#ifndef HAS_ONE_PUSHER
        {"submit", "ns/task", run_submit, 200000, 0},
#endif
        {"one_by_one", "ns/task", run_one_by_one, 2000, 0},
        {"wake", "us", run_wake, 1, 0},
#endif
#ifdef USER_CASES
        USER_CASES
#endif
    };
    return peer_main(argc, argv, cases, sizeof cases / sizeof *cases, pool_start, pool_stop);
}
