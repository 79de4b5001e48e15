/* oneTBB: task_group for what forks, enqueue for what comes from outside, parallel_for. */
#include "work.h"

#include <atomic>
#include <memory>
#include <oneapi/tbb.h>
#include <sched.h>
#include <thread>
#include <vector>

static std::unique_ptr<tbb::global_control> control;
static std::unique_ptr<tbb::task_arena> arena; /* the caller takes part */
static std::unique_ptr<tbb::task_arena> queue; /* it does not */

static void start(void) {
    control.reset(
        new tbb::global_control(tbb::global_control::max_allowed_parallelism, peer_workers + 1));
    arena.reset(new tbb::task_arena((int)peer_workers));
    arena->initialize();
    queue.reset(new tbb::task_arena((int)peer_workers, 0));
    queue->initialize();
}

static void stop(void) {
    arena.reset();
    queue.reset();
    control.reset();
}

static peer_result since(double begin, double operations) {
    return peer_result{peer_now() - begin, operations};
}

static long fib(long n) {
    if (n < 2) return n;
    long left, right;
    tbb::task_group group;
    group.run([&] { left = fib(n - 1); });
    right = fib(n - 2);
    group.wait();
    return left + right;
}

static peer_result run_fib(long n) {
    long value = 0;
    double begin = peer_now();
    arena->execute([&] { value = fib(n); });
    peer_result result = since(begin, 1);
    result.operations = peer_forks(n);
    peer_check(value == peer_fib(n), "fib");
    return result;
}

static long sky(long first, long size) {
    if (size == 1) return first;
    long sums[10], part = size / 10, sum = 0;
    tbb::task_group group;
    for (int i = 0; i < 9; i++)
        group.run([&sums, i, first, part] { sums[i] = sky(first + i * part, part); });
    sums[9] = sky(first + 9 * part, part);
    group.wait();
    for (long one : sums) sum += one;
    return sum;
}

static peer_result run_skynet(long) {
    long value = 0;
    double begin = peer_now();
    arena->execute([&] { value = sky(0, PEER_LEAVES); });
    peer_result result = since(begin, 1e6);
    peer_check(value == PEER_LEAVES_SUM, "skynet");
    return result;
}

struct board {
    signed char at[PEER_QUEENS];
};

static long queens(int rows, const board &from) {
    if (rows == PEER_QUEENS) return 1;
    long found[PEER_QUEENS] = {0}, sum = 0;
    tbb::task_group group;
    for (int column = 0; column < PEER_QUEENS; column++) {
        board next = from;
        next.at[rows] = (signed char)column;
        if (!peer_queen_holds(next.at, rows + 1)) continue;
        group.run([&found, next, rows, column] { found[column] = queens(rows + 1, next); });
    }
    group.wait();
    for (long one : found) sum += one;
    return sum;
}

static peer_result run_queens(long) {
    long value = 0;
    double begin = peer_now();
    arena->execute([&] { value = queens(0, board()); });
    peer_result result = since(begin, 1e6);
    peer_check(value == PEER_QUEENS_FOUND, "queens");
    return result;
}

static long tree(uint64_t node, int children) {
    long nodes[PEER_TREE_ARITY], sum = 1;
    for (int first = 0; first < children; first += PEER_TREE_ARITY) {
        tbb::task_group group;
        for (int i = 0; i < PEER_TREE_ARITY; i++) {
            uint64_t child = peer_tree_child(node, first + i);
            group.run([&nodes, child, i] { nodes[i] = tree(child, peer_tree_children(child)); });
        }
        group.wait();
        for (long one : nodes) sum += one;
    }
    return sum;
}

static peer_result run_uts(long) {
    long value = 0;
    double begin = peer_now();
    arena->execute([&] { value = tree(1, PEER_TREE_ROOT); });
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
    tbb::task_group group;
    group.run([=] { sort(a + cut, n - cut); });
    sort(a, cut);
    group.wait();
}

static peer_result run_sort(long) {
    peer_sort_begin();
    double begin = peer_now();
    arena->execute([] { sort(peer_data, PEER_SORT); });
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
        tbb::task_group group;
        for (int i = 0; i < 4; i++) {
            float *c1 = c;
            const float *a1 = a, *b1 = b;
            peer_matrix_quarter(half + i, n / 2, &c1, &a1, &b1);
            group.run([=] { matrix(c1, a1, b1, n / 2); });
        }
        group.wait();
    }
}

static peer_result run_matmul(long) {
    peer_matrix_begin();
    double begin = peer_now();
    arena->execute([] { matrix(peer_c, peer_a, peer_b, PEER_MATRIX); });
    peer_result result = since(begin, 1e6);
    peer_matrix_check();
    return result;
}

static peer_result run_loop(long) {
    peer_loop_begin();
    double begin = peer_now();
    arena->execute([&] {
        tbb::parallel_for(tbb::blocked_range<long>(0, PEER_LOOP),
                          [&](const tbb::blocked_range<long> &range) {
                              peer_loop(peer_numbers, range.begin(), range.end());
                          });
    });
    return since(begin, 1e6);
}

static peer_result run_uneven(long) {
    double begin = peer_now();
    arena->execute([&] {
        tbb::parallel_for(tbb::blocked_range<long>(0, PEER_UNEVEN),
                          [](const tbb::blocked_range<long> &range) {
                              peer_uneven(range.begin(), range.end());
                          });
    });
    return since(begin, 1e6);
}

static peer_result run_grain_loop(long) {
    double begin = peer_now();
    arena->execute([&] {
        tbb::parallel_for(
            tbb::blocked_range<long>(0, peer_grains(), 1),
            [&](const tbb::blocked_range<long> &range) {
                for (long i = range.begin(); i < range.end(); i++) peer_grain();
            },
            tbb::simple_partitioner());
    });
    return peer_speedup(peer_now() - begin);
}

static std::atomic<long> left_to_do;

/* From outside, through an arena's queue; the last one opens the gate. */
template <typename Body> static void enqueue_all(long count, Body body) {
    for (long i = 0; i < count; i++)
        queue->enqueue([body] {
            body();
            left_to_do.fetch_sub(1, std::memory_order_acq_rel);
        });
}

static void wait_for_all() {
    while (left_to_do.load(std::memory_order_acquire) != 0) std::this_thread::yield();
}

static peer_result run_grain_task(long) {
    left_to_do = peer_grains();
    double begin = peer_now();
    enqueue_all(peer_grains(), peer_grain);
    wait_for_all();
    return peer_speedup(peer_now() - begin);
}

static peer_result run_outside(long size) {
    left_to_do = size;
    double begin = peer_now();
    enqueue_all(size, [] {});
    wait_for_all();
    return since(begin, (double)size);
}

static peer_result run_submit(long size) {
    std::vector<std::thread> threads;
    left_to_do = size;
    double begin = peer_now();
    for (int i = 0; i < 4; i++) threads.emplace_back([size] { enqueue_all(size / 4, [] {}); });
    for (std::thread &thread : threads) thread.join();
    wait_for_all();
    return since(begin, (double)size);
}

static peer_result run_one_by_one(long size) {
    double begin = peer_now();
    for (long i = 0; i < size; i++) {
        left_to_do = 1;
        enqueue_all(1, [] {});
        wait_for_all();
    }
    return since(begin, (double)size);
}

static peer_result run_spawn(long size) {
    double begin = peer_now();
    arena->execute([&] {
        tbb::task_group group;
        for (long i = 0; i < size; i++) group.run([] {});
        group.wait();
    });
    return since(begin, (double)size);
}

static void chain(tbb::task_group &group, long left) {
    if (left > 0) group.run([&group, left] { chain(group, left - 1); });
}

static peer_result run_chain(long size) {
    double begin = peer_now();
    arena->execute([&] {
        tbb::task_group group;
        chain(group, size);
        group.wait();
    });
    return since(begin, (double)size);
}

static std::atomic<double> begun;

static void wake_give() {
    begun = 0;
    queue->enqueue([] { begun = peer_now(); });
}

static double wake_wait() {
    while (begun == 0) sched_yield();
    return begun;
}

static peer_result run_wake(long) {
    return peer_wake(wake_give, wake_wait);
}

static void ask() {
    tbb::task_group group;
    group.run([] {});
    group.wait(); /* the caller takes part */
}

static peer_result run_ask(long) {
    peer_result result = {0, 1};
    arena->execute([&] { result = peer_ask(ask); });
    return result;
}

static peer_result run_idle(long size) {
    run_one_by_one(size);
    return peer_idle();
}

#define HAS_BURST
#define HAS_GRAPH
#define HAS_PIPELINE
#define HAS_SHORT_LOOP
#include "users.h"

static void burst(int count, double ns) {
    tbb::task_group group;
    for (int i = 0; i < count; i++) group.run([ns] { peer_spin(ns); });
    group.wait();
}

using node = tbb::flow::continue_node<tbb::flow::continue_msg>;
static std::unique_ptr<tbb::flow::graph> graph;
static std::vector<std::unique_ptr<node>> nodes;

static void graph_make(long width, long count) {
    nodes.clear();
    graph.reset(new tbb::flow::graph);
    for (long i = 0; i < count; i++) {
        nodes.emplace_back(new node(*graph, [](const tbb::flow::continue_msg &) {}));
        if (i >= width) tbb::flow::make_edge(*nodes[(size_t)(i - width)], *nodes[(size_t)i]);
        if (i % width != 0) tbb::flow::make_edge(*nodes[(size_t)(i - 1)], *nodes[(size_t)i]);
    }
}

static void graph_run() {
    nodes[0]->try_put(tbb::flow::continue_msg());
    graph->wait_for_all();
}

static void pipeline(long items, double ns) {
    long read = 0, written = 0;
    tbb::parallel_pipeline(
        16, tbb::make_filter<void, long>(tbb::filter_mode::serial_in_order,
                                         [&](tbb::flow_control &control) -> long {
                                             if (read == items) control.stop();
                                             return read++;
                                         }) &
                tbb::make_filter<long, long>(tbb::filter_mode::parallel,
                                             [ns](long item) { return peer_spin(ns), item; }) &
                tbb::make_filter<long, void>(tbb::filter_mode::serial_in_order,
                                             [&](long item) { peer_check(item == written++, "order"); }));
    peer_check(written == items, "items");
}

static void loop_ranges(long n, void (*body)(long begin, long end)) {
    tbb::parallel_for(tbb::blocked_range<long>(0, n), [body](const tbb::blocked_range<long> &range) {
        body(range.begin(), range.end());
    });
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
        {"outside", "ns/task", run_outside, 100000, 0},
        {"chain", "ns/task", run_chain, 100000, 0},
        {"submit", "ns/task", run_submit, 200000, 0},
        {"one_by_one", "ns/task", run_one_by_one, 2000, 0},
        {"ask", "us", run_ask, 1, 0},
        {"wake", "us", run_wake, 1, 0},
        {"idle", "%", run_idle, 100, 0},
        PEER_USER_CASES
    };
    return peer_main(argc, argv, cases, sizeof cases / sizeof *cases, start, stop);
}
