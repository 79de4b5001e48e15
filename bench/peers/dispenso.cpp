/* dispenso (github.com/facebookincubator/dispenso): built when DISPENSO names its sources. */
#include "peer.h"

#include <dispenso/future.h>
#include <dispenso/parallel_for.h>
#include <dispenso/task_set.h>
#include <dispenso/thread_pool.h>
#include <memory>

static std::unique_ptr<dispenso::ThreadPool> pool;  /* for what is pushed */
static std::unique_ptr<dispenso::ThreadPool> forks; /* one less: the caller takes part */

static void pool_start() {
    pool.reset(new dispenso::ThreadPool(peer_workers));
    forks.reset(new dispenso::ThreadPool(peer_workers - 1));
}

static void pool_stop() {
    forks.reset();
    pool.reset();
}

#define HAS_FORK
template <class F> static void enter(const F &f) {
    f();
}

template <class F> static void fork_all(int n, const F &f) {
    dispenso::TaskSet set(*forks);
    for (int i = 0; i < n - 1; i++) set.schedule([&f, i] { f(i); });
    f(n - 1);
    set.wait();
}

#define HAS_LOOP
template <class F> static void loop(long n, const F &f) {
    dispenso::TaskSet set(*forks);
    dispenso::parallel_for(set, dispenso::makeChunkedRange(0L, n, dispenso::ParForChunking::kAuto),
                           [&f](long begin, long end) { f(begin, end); });
}

/* Queued, as at any pool with work to do: it would run a task in place when many are. */
#define HAS_PUSH
static void push(void (*fn)(void *), void *arg) {
    pool->schedule([fn, arg] { fn(arg); }, dispenso::ForceQueuingTag());
}

#define HAS_ASK
static void ask() {
    dispenso::Future<void>([] {}, *pool).wait();
}

#include "groups.hpp"
