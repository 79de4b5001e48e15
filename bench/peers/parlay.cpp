/* parlaylib (github.com/cmuparlay/parlaylib): built when PARLAY names its sources. It has no tasks
 * that nobody waits for. */
#include "peer.h"

#include <parlay/parallel.h>

static void pool_start() {
    char count[16];
    snprintf(count, sizeof count, "%u", peer_workers);
    setenv("PARLAY_NUM_THREADS", count, 1);
    parlay::num_workers();
}

static void pool_stop() {}

#define HAS_FORK
template <class F> static void enter(const F &f) {
    f();
}

template <class F> static void fork_all(int n, const F &f) {
    if (n == 2) parlay::par_do([&f] { f(0); }, [&f] { f(1); });
    else parlay::parallel_for(0, (size_t)n, [&f](size_t i) { f((int)i); }, 1);
}

/* Its loop calls for one index: pieces of 1/1000, whose length it then chooses. */
#define HAS_LOOP
template <class F> static void loop(long n, const F &f) {
    long piece = n / 1000;
    parlay::parallel_for(0, (size_t)(n / piece), [&f, piece](size_t i) {
        f((long)i * piece, (long)(i + 1) * piece);
    });
}

#include "groups.hpp"
