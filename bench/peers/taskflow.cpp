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

#include "groups.hpp"
