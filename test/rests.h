/* rests.h - what holds of a pool at rest, when all its tasks are over and all its threads sleep; it comes after
 * wsq.h. What is left behind here spoils a later task. */
#ifndef TEST_RESTS_H
#define TEST_RESTS_H

/* What is wrong with the block of a thread that sleeps, or of a guest that has left; or NULL. */
static inline const char *block_left(wsqi_worker *block) {
    if (block->frame.outer != NULL || block->frame.group != NULL || block->frame.loop != NULL)
        return "a thread is in the middle of a task";
    if (block->frame.floor != wsqi_base(block)) return "the jobs of the next task begin elsewhere";
    if (block->depth.joins != 0 || block->depth.waits != 0 || block->search.wait != NULL) return "a thread waits";
    if (block->depth.forks != 0) return "a job that ran at its fork is not joined";
    if (block->depth.blocking != 0) return "a thread blocks";
    if (block->use == WSQI_USE_HELPS) return "a thread helps";
    if (block->ends.group != NULL || block->ends.count != 0) return "the end of a group is not reported";
    if (wsqi_load_acq(&block->lifo) != NULL) return "a slot is full";
    if (wsqi_load_acq(&block->marks.robbed) != 0) return "a ring is being robbed";
    if (!wsqi_range_empty(block)) return "a job is public";
    return NULL;
}

static inline const char *lane_left(wsqi_lane *lane) {
    if (wsqi_load_acq(&lane->count) != 0) return "a lane counts urgent tasks";
    if (wsqi_load_acq(&lane->lock) != 0) return "a lane is locked";
    return wsqi_lane_empty(lane) ? NULL : "a lane holds tasks";
}

/* How many futures are in use: all, less the free ones. */
static inline uint64_t futures_used(wsq_pool *pool) {
    uint64_t free_ones = 0, all = 0;
    const wsqi_futures *list = &pool->depot.outside;
    wsqi_lock(pool, &pool->depot.lock);
    for (unsigned i = 0; i <= wsqi_threads_made(pool); i++) {
        uint64_t count = 0;
        for (wsq_future *one = list->first; one != NULL; one = wsqi_get(&one->next)) count++;
        free_ones += count == list->count ? count : UINT32_MAX;
        if (i < wsqi_threads_made(pool)) list = &wsqi_block(pool, i)->futures;
    }
    for (wsq_future *batch = pool->depot.batches; batch != NULL; batch = wsqi_get(&batch->batch))
        for (wsq_future *one = batch; one != NULL; one = wsqi_get(&one->next)) free_ones++;
    for (const wsqi_chunk *chunk = (const wsqi_chunk *)pool->depot.chunks; chunk != NULL; chunk = chunk->next)
        all += WSQI_FUTURE_CHUNK;
    wsqi_unlock(pool, &pool->depot.lock);
    return all - free_ones;
}

/* Without threads of its own, a pool keeps entries of futures that are done until a thread works there. */
static inline void pool_tidy(wsq_pool *pool) {
    for (unsigned i = 0; i < pool->global_lanes && pool->config.lend_only; i++)
        (void)wsqi_tombstones_sweep(wsqi_global_lane(pool, i));
    while (pool->config.caller_runs && wsq_pool_run_one(pool)) {}
}

/* What is wrong with the pool, or NULL. */
static inline const char *pool_left(wsq_pool *pool) {
    pool_tidy(pool);
    unsigned lanes = WSQ_LOW + pool->global_lanes, made = wsqi_threads_made(pool), all = made + wsqi_spares_made(pool);
    const char *left = NULL;
    for (unsigned i = 0; i < lanes && left == NULL; i++) left = lane_left(&pool->lanes[i]);
    for (unsigned i = 0; i < all && left == NULL; i++) {
        wsqi_worker *block = wsqi_block(pool, wsqi_nth(pool, made, i));
        left = block_left(block);
        if (left == NULL && i < made) left = lane_left(&block->inbox);
        if (left == NULL && i < made && wsqi_queue_length(block) != 0) left = "a queue holds tasks";
    }
    if (left != NULL) return left;
    if (wsqi_load_acq(&pool->held) != 0) return "a task counts as held";
    if (wsqi_load_acq(&pool->duty.abroad) != 0) return "a thread outside queues a task";
    if (wsqi_load_acq(&pool->made.coming) != 0) return "a stand-in has not come";
    if (wsqi_load_acq(&pool->duty.sweeping) != 0) return "a sweep did not end";
    if (wsqi_load_acq(&pool->lock) != 0) return "the pool is locked";
    return futures_used(pool) != 0 ? "a future is in use" : NULL;
}

#endif /* TEST_RESTS_H */
