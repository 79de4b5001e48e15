/* exact.h - tests in virtual time, with the checks of ../test.h. */
#ifndef EXACT_H
#define EXACT_H

#include "item.h"

#include "../test.h"

#define IN_WORLD(test) RUN_IN(test, WORLD_CORES)
#define IN_LARGE_WORLD(test) RUN_IN(test, 256)
#define RUN_IN(test, cores) (test_start(#test), in_world(test, cores))

/* A test has 100 s of virtual time. */
static inline void in_world(void (*test)(void), unsigned cores) {
    world.cores = cores;
    CHECK(world_run(test, 100 * SECOND));
}

static inline void block_for(wsq_ctx ctx, uint64_t ns) {
    wsq_block_begin(ctx);
    nap(ns);
    wsq_block_end(ctx);
}

static inline wsq_poll blocks_run(wsq_ctx ctx, wsq_task *task) {
    block_for(ctx, item_of(task)->ns);
    return WSQ_DONE;
}

static inline item *item_blocks(uint64_t ns) {
    item *self = item_make(ns);
    self->task.fn = blocks_run;
    return self;
}

/* Queues this task, and blocks its worker for 5 ms. */
static item *queued_first;

static inline wsq_poll queue_and_block(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    item_spawn(wsq_pool_of(ctx), queued_first);
    block_for(ctx, 5 * MS);
    return WSQ_DONE;
}

#endif /* EXACT_H */
