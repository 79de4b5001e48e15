/* model.h - what the harnesses for a model checker share. Each is a small closed program over the
 * unmodified header; the checker runs it in every way that its memory model allows, so every loop in
 * it is bounded and nobody waits. Compiled as usual, it is one run of it. */
#ifndef MODEL_H
#define MODEL_H

#include <assert.h>
#include <pthread.h>

#define WSQ_ATOMIC_HEADER "test/model/atomic.h"
#define WSQ_PLATFORM_HEADER "test/model/platform.h"
#define WSQ_RING_CAPACITY 2
#define WSQ_RING_START 0xffffffffu /* the indices wrap at once */
#define WSQ_BLOCK_SIZE 4096
#define WSQ_NO_STATS
#define WSQ_STATIC /* what a program does not call, the checker does not see */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"

/* What wsq_pool_create sets up of a pool that has no worker yet, and no thread. */
static inline void model_pool_init(wsq_pool *pool) {
    pool->copy = &wsqi_copy;
    pool->phase = &pool->own_phase;
    wsqi_store_rlx(&pool->own_phase, (uint32_t)WSQI_PHASE_RUN);
    wsqi_store_rlx(&pool->alive, WSQI_ALIVE);
    wsqi_store_rlx(&pool->watch.timer_next, WSQI_NEVER);
}

/* What is handed over: plain memory, so that a missing order is a race. */
typedef struct model_item { int written, taken; } model_item;

static inline void model_write(model_item *item) { item->written = 1; }

static inline void model_take(void *pointer) {
    model_item *item = (model_item *)pointer;
    if (item == NULL) return;
    assert(item->written == 1);
    item->taken++; /* two takers would race, or count to two */
}

#endif /* MODEL_H */
