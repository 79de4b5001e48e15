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

/* Queues this task, and blocks its worker for 5 ms. */
static item *queued_first;

static inline wsq_poll queue_and_block(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    item_spawn(wsq_pool_of(ctx), queued_first);
    wsq_block_begin(ctx);
    nap(5 * MS);
    wsq_block_end(ctx);
    return WSQ_DONE;
}

#endif /* EXACT_H */
