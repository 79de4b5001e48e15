/* pool.h - for tests that make pools; it comes after wsq.h and test.h.
 *
 * pool_end looks at the pool before it destroys it: at rest every worker sleeps and has its bit, nobody is
 * counted as a searcher (else it hangs), no guest, no waiter and no joiner is left. What leaks here
 * silences a wake-up later. */
#ifndef TEST_POOL_H
#define TEST_POOL_H

#include "rests.h"

static inline wsq_pool *pool_new(wsq_config config) {
    wsq_pool *pool = NULL;
    if (config.seed == 0) config.seed = test_seed | 1;
    if (!CHECK_EQ(wsq_pool_create(&pool, &config), WSQ_OK)) exit(test_end());
    return pool;
}

static inline unsigned pool_bits(wsqi_a64 *bitmap, unsigned words) {
    unsigned count = 0;
    for (unsigned w = 0; w < words; w++)
        for (uint64_t bits = wsqi_load_acq(&bitmap[w]); bits; bits &= bits - 1) count++;
    return count;
}

static inline unsigned pool_leases(wsq_pool *pool) {
    unsigned count = 0;
    for (unsigned i = 0; i < wsqi_spares_made(pool); i++)
        count += (wsqi_load_acq(&wsqi_block(pool, pool->spare_base + i)->lease) & WSQI_LEASE_MASK) != WSQI_LEASE_VACANT;
    return count;
}

/* So many threads it has: stand-ins, too, of which one that could not be started is none. */
static inline unsigned pool_threads(wsq_pool *pool) {
    wsqi_lock(pool, &pool->lock);
    unsigned threads = wsqi_threads_started(pool);
    wsqi_unlock(pool, &pool->lock);
    return threads;
}

static inline void pool_rest(wsq_pool *pool) {
    uint64_t s; /* a stand-in may still be on its way to sleep */
    bool starts = !pool->config.caller_runs && !pool->config.lend_only;
    do {
        test_nap(20000);
        s = wsqi_load_acq(&pool->permits) & ~WSQI_JOINED; /* a hint that may stay */
    } while (wsqi_load_acq(&pool->made.coming) != 0 || wsqi_free_permits(s) != pool->workers ||
             s != pool->workers * WSQI_PERMIT + pool_threads(pool) * WSQI_IDLE ||
             /* S counts the last thread as idle before its last look; a task that is never found is a hang */
             (starts && wsqi_lanes_hold(pool)));
    CHECK_EQ(pool_bits(pool->bitmap.sleepers, pool->bitmap.words), wsqi_idle(s));
    CHECK_EQ(pool_bits(pool->bitmap.joiners, pool->bitmap.words), 0);
    CHECK_EQ(pool_leases(pool), 0);
    CHECK_EQ(wsqi_load_acq(&pool->waiters), 0);
    const char *left = pool_left(pool);
    if (!CHECK(left == NULL)) fprintf(stderr, "    %s\n", left);
}

static inline void pool_end(wsq_pool *pool) {
    wsq_stats stats;
    bool runs = !pool->config.caller_runs && !pool->config.lend_only && wsqi_load_acq(pool->phase) == WSQI_PHASE_RUN;
    if (runs) pool_rest(pool);
    pool_tidy(pool);
    wsq_pool_stats(pool, &stats);
    CHECK_EQ(stats.queue_depth, 0);
    CHECK(stats.finished <= stats.spawned);
    if (runs && pool->config.park_timeout_ns == 0) CHECK_EQ(stats.rescued, 0);
    wsq_pool_destroy(pool);
}

#endif /* TEST_POOL_H */
