/* Taskflow (github.com/taskflow/taskflow): built when TASKFLOW names its sources. */
#include "peer.h"

#include <memory>
#include <taskflow/algorithm/for_each.hpp>
#include <taskflow/taskflow.hpp>

static std::unique_ptr<tf::Executor> pool;

static void pool_start() {
    pool.reset(new tf::Executor(peer_workers));
}

static void pool_stop() {
    pool.reset();
}

#define HAS_FORK
template <class F> static void enter(const F &f) {
    pool->async([&f] { f(); }).get();
}

template <class F> static void fork_all(int n, const F &f) {
    tf::TaskGroup group = pool->task_group();
    for (int i = 0; i < n - 1; i++) group.silent_async([&f, i] { f(i); });
    f(n - 1);
    group.corun();
}

#define HAS_LOOP
template <class F> static void loop(long n, const F &f) {
    tf::Taskflow flow;
    flow.for_each_by_index(tf::IndexRange<long>(0, n, 1),
                           [&f](tf::IndexRange<long> range) { f(range.begin(), range.end()); });
    pool->run(flow).wait();
}

#define HAS_ASK
static void ask() {
    pool->async([] {}).get();
}

#define HAS_PUSH
static void push(void (*fn)(void *), void *arg) {
    pool->silent_async([fn, arg] { fn(arg); });
}

#define HAS_BURST
#define HAS_GRAPH
#define HAS_PIPELINE
#define HAS_SHORT_LOOP
#include "users.h"

#include <taskflow/algorithm/pipeline.hpp>
#include <vector>

static void burst(int count, double ns) {
    std::vector<std::future<void>> all;
    for (int i = 0; i < count; i++) all.push_back(pool->async([ns] { peer_spin(ns); }));
    for (std::future<void> &one : all) one.get();
}

static std::unique_ptr<tf::Taskflow> graph;

static void graph_make(long width, long count) {
    std::vector<tf::Task> nodes;
    graph.reset(new tf::Taskflow);
    for (long i = 0; i < count; i++) {
        nodes.push_back(graph->emplace([] {}));
        if (i >= width) nodes[(size_t)i].succeed(nodes[(size_t)(i - width)]);
        if (i % width != 0) nodes[(size_t)i].succeed(nodes[(size_t)(i - 1)]);
    }
}

static void graph_run() { pool->run(*graph).wait(); }

static void pipeline(long items, double ns) {
    long read = 0, written = 0, item[16];
    tf::Pipeline line(16,
                      tf::Pipe{tf::PipeType::SERIAL,
                               [&](tf::Pipeflow &flow) {
                                   if (read == items) flow.stop();
                                   else item[flow.line()] = read++;
                               }},
                      tf::Pipe{tf::PipeType::PARALLEL, [ns](tf::Pipeflow &) { peer_spin(ns); }},
                      tf::Pipe{tf::PipeType::SERIAL, [&](tf::Pipeflow &flow) {
                                   peer_check(item[flow.line()] == written++, "order");
                               }});
    tf::Taskflow flow;
    flow.composed_of(line);
    pool->run(flow).wait();
    peer_check(written == items, "items");
}

static void loop_ranges(long n, void (*body)(long begin, long end)) {
    loop(n, body);
}

#define USER_CASES PEER_USER_CASES
#include "groups.hpp"
