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

/* ---- a driver, and the events that the test posts to it ---- */

enum { POSTS = 38 };

static struct {
    wsqi_parking parking;
    wsqi_a32 word; /* 1: interrupted; 2: an event has come */
    item *tasks[POSTS]; /* to spawn */
    uint64_t came, longest;
    unsigned count, looks; /* events; calls that did not sleep */
} post;

static inline bool post_wait(uint64_t timeout_ns, void *user) {
    (void)user;
    if (timeout_ns != 0) wsqi_parking_wait(&post.parking, &post.word, 0, timeout_ns);
    else post.looks++;
    return (wsqi_xchg_acqrel(&post.word, 0u) & 2) != 0;
}

static inline void post_dispatch(wsq_pool *pool, void *user) {
    (void)user;
    CHECK_EQ(wsq_worker_self() >= 0, true);
    if (now() - post.came > post.longest) post.longest = now() - post.came;
    for (int i = 0; i < POSTS; i++) {
        item *one = post.tasks[i];
        post.tasks[i] = NULL;
        if (one != NULL) item_spawn(pool, one);
    }
    post.count++;
}

static inline void post_ring(uint32_t what) {
    (void)wsqi_or_acqrel(&post.word, what);
    wsqi_parking_wake(&post.parking, &post.word, false);
}

static inline void post_interrupt(void *user) { (void)user, post_ring(1); }

static inline void post_event(item *task) {
    post.tasks[0] = task;
    post.came = now();
    post_ring(2);
}

static inline wsq_pool *post_pool(wsq_config config) {
    static const wsq_driver driver = {post_wait, post_dispatch, post_interrupt, NULL};
    memset(&post, 0, sizeof post);
    config.driver = &driver;
    return pool_make(&config);
}

#endif /* EXACT_H */
