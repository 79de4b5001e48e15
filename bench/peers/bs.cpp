/* BS::thread_pool (github.com/bshoshany/thread-pool): built when BS names its sources. A task of it
 * must not wait for others, so nothing forks. */
#include "peer.h"

#include <BS_thread_pool.hpp>
#include <memory>

static std::unique_ptr<BS::light_thread_pool> pool;

static void pool_start() {
    pool.reset(new BS::light_thread_pool(peer_workers));
}

static void pool_stop() {
    pool.reset();
}

#define HAS_LOOP
template <class F> static void loop(long n, const F &f) {
    pool->detach_blocks(0L, n, [&f](long begin, long end) { f(begin, end); });
    pool->wait();
}

#define HAS_PUSH
static void push(void (*fn)(void *), void *arg) {
    pool->detach_task([fn, arg] { fn(arg); });
}

#define HAS_ASK
static void ask() {
    pool->submit_task([] {}).wait();
}

#include "groups.hpp"
