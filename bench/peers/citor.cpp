/* citor (github.com/Lallapallooza/citor): built when CITOR names its sources. Its detached tasks are
 * threads, so it has no case of them. */
#include "peer.h"

#include <citor.hpp>
#include <memory>

static std::unique_ptr<citor::ThreadPool> pool;

static void pool_start() {
    pool.reset(new citor::ThreadPool(peer_workers));
}

static void pool_stop() {
    pool.reset();
}

#define HAS_FORK
template <class F> static void enter(const F &f) {
    f();
}

/* Its calls take a fixed number of closures: halves. */
template <class F> static void fork_some(int begin, int end, const F &f) {
    using hints = citor::HintsDefaults;
    auto at = [&f](int i) { return [&f, i] { f(i); }; };
    int b = begin;
    switch (end - begin) {
    case 1: f(b); break;
    case 2: pool->forkJoin<hints>(at(b), at(b + 1)); break;
    case 3: pool->forkJoin<hints>(at(b), at(b + 1), at(b + 2)); break;
    case 4: pool->forkJoin<hints>(at(b), at(b + 1), at(b + 2), at(b + 3)); break;
    case 8:
        pool->forkJoin<hints>(at(b), at(b + 1), at(b + 2), at(b + 3), at(b + 4), at(b + 5),
                              at(b + 6), at(b + 7));
        break;
    case 10:
        pool->forkJoin<hints>(at(b), at(b + 1), at(b + 2), at(b + 3), at(b + 4), at(b + 5),
                              at(b + 6), at(b + 7), at(b + 8), at(b + 9));
        break;
    default: {
        int middle = begin + (end - begin) / 2;
        pool->forkJoin<hints>([begin, middle, &f] { fork_some(begin, middle, f); },
                              [middle, end, &f] { fork_some(middle, end, f); });
    }
    }
}

template <class F> static void fork_all(int n, const F &f) {
    fork_some(0, n, f);
}

#define HAS_LOOP
template <class F> static void loop(long n, const F &f) {
    pool->parallelFor<citor::HintsDefaults>(
        0, (size_t)n, [&f](size_t begin, size_t end) { f((long)begin, (long)end); });
}

#include "groups.hpp"
