/* TooManyCooks (github.com/tzcnt/TooManyCooks): built when TMC names its sources. Coroutines for what
 * forks, functions for what is pushed. */
#define TMC_IMPL
#include "peer.h"

#include <array>
#include <tmc/all_headers.hpp>

static void pool_start() {
    tmc::cpu_executor().set_thread_count(peer_workers).init();
}

static void pool_stop() {
    tmc::cpu_executor().teardown();
}

#define HAS_PUSH
static void push(void (*fn)(void *), void *arg) {
    tmc::post(tmc::cpu_executor(), [fn, arg] { fn(arg); });
}

#define HAS_ASK
static void ask() {
    tmc::post_waitable(tmc::cpu_executor(), [] {}).wait();
}

/* Cases of its own stand before the shared ones. */
#define HAS_OWN_CASES                                                                             \
    {"fib", "ns/fork", run_fib, 16, 2}, {"skynet", "ms", run_skynet, 1, 0},                        \
        {"queens", "ms", run_queens, 1, 0}, {"uts", "ms", run_uts, 1, 0},                          \
        {"yield", "ns", run_yield, 200000, 0},

#include "work.h"

static tmc::task<long> fib(long n) {
    if (n < 2) co_return n;
    auto [left, right] = co_await tmc::spawn_tuple(fib(n - 1), fib(n - 2));
    co_return left + right;
}

static tmc::task<long> sky(long first, long size) {
    if (size == 1) co_return first;
    long part = size / 10, sum = 0;
    std::array<tmc::task<long>, 10> children;
    for (int i = 0; i < 10; i++) children[i] = sky(first + i * part, part);
    std::array<long, 10> sums = co_await tmc::spawn_many<10>(children.begin());
    for (long one : sums) sum += one;
    co_return sum;
}

static tmc::task<long> queens(int rows, const signed char *board) {
    if (rows == PEER_QUEENS) co_return 1;
    signed char boards[PEER_QUEENS][PEER_QUEENS];
    std::array<tmc::task<long>, PEER_QUEENS> children;
    long sum = 0;
    size_t count = 0;
    for (int column = 0; column < PEER_QUEENS; column++) {
        signed char *next = boards[count];
        memcpy(next, board, PEER_QUEENS);
        next[rows] = (signed char)column;
        if (peer_queen_holds(next, rows + 1)) children[count++] = queens(rows + 1, next);
    }
    if (count == 0) co_return 0;
    std::vector<long> found = co_await tmc::spawn_many(children.begin(), count);
    for (long one : found) sum += one;
    co_return sum;
}

static tmc::task<long> tree(uint64_t node, int children) {
    long sum = 1;
    for (int first = 0; first < children; first += PEER_TREE_ARITY) {
        std::array<tmc::task<long>, PEER_TREE_ARITY> tasks;
        for (int i = 0; i < PEER_TREE_ARITY; i++) {
            uint64_t child = peer_tree_child(node, first + i);
            tasks[i] = tree(child, peer_tree_children(child));
        }
        std::array<long, PEER_TREE_ARITY> nodes =
            co_await tmc::spawn_many<PEER_TREE_ARITY>(tasks.begin());
        for (long one : nodes) sum += one;
    }
    co_return sum;
}

static tmc::task<void> yielding(long times) {
    while (times-- > 0) co_await tmc::yield();
}

static tmc::task<void> yield_all(long times) {
    std::array<tmc::task<void>, 200> tasks;
    for (auto &task : tasks) task = yielding(times);
    co_await tmc::spawn_many<200>(tasks.begin());
}

static peer_result run_fib(long n) {
    double begin = peer_now();
    long value = tmc::post_waitable(tmc::cpu_executor(), fib(n)).get();
    peer_result result = {peer_now() - begin, peer_forks(n)};
    peer_check(value == peer_fib(n), "fib");
    return result;
}

static peer_result run_skynet(long) {
    double begin = peer_now();
    long value = tmc::post_waitable(tmc::cpu_executor(), sky(0, PEER_LEAVES)).get();
    peer_result result = {peer_now() - begin, 1e6};
    peer_check(value == PEER_LEAVES_SUM, "skynet");
    return result;
}

static peer_result run_queens(long) {
    static const signed char board[PEER_QUEENS] = {0};
    double begin = peer_now();
    long value = tmc::post_waitable(tmc::cpu_executor(), queens(0, board)).get();
    peer_result result = {peer_now() - begin, 1e6};
    peer_check(value == PEER_QUEENS_FOUND, "queens");
    return result;
}

static peer_result run_uts(long) {
    double begin = peer_now();
    long value = tmc::post_waitable(tmc::cpu_executor(), tree(1, PEER_TREE_ROOT)).get();
    peer_result result = {peer_now() - begin, 1e6};
    peer_check(value == PEER_TREE_NODES, "uts");
    return result;
}

static peer_result run_yield(long size) {
    double begin = peer_now();
    tmc::post_waitable(tmc::cpu_executor(), yield_all(size / 200)).get();
    return peer_result{peer_now() - begin, (double)size};
}

#include "groups.hpp"
