/* tasks.h - the tasks that more than one program here measures: one that does nothing, one that spawns
 * many, one that yields, two that wake each other, one that keeps a worker busy. Include it after wsq.h; it
 * uses what every user can use. */
#ifndef BENCH_TASKS_H
#define BENCH_TASKS_H

#include <stdatomic.h>
#include <stdbool.h>

static inline wsq_poll nothing(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    (void)task;
    return WSQ_DONE;
}

/* ---- one that goes on: `left` says how often, or how many ---- */

typedef struct driver {
    wsq_task task;
    wsq_task *tasks; /* what it spawns */
    long left;
} driver;

static inline wsq_poll spawn_all(wsq_ctx ctx, wsq_task *task) {
    driver *self = wsq_container_of(task, driver, task);
    wsq_pool *pool = wsq_pool_of(ctx);
    for (long i = 0; i < self->left; i++) {
        wsq_task_init(&self->tasks[i], nothing);
        wsq_spawn(pool, &self->tasks[i]);
    }
    return WSQ_DONE;
}

static inline wsq_poll yielding(wsq_ctx ctx, wsq_task *task) {
    driver *self = wsq_container_of(task, driver, task);
    (void)ctx;
    return --self->left > 0 ? WSQ_YIELD : WSQ_DONE;
}

/* ---- ping-pong: two tasks that wake each other ---- */

typedef struct player {
    wsq_task task;
    struct player *other;
    long left;
    bool serves;
} player;

static atomic_ulong ball; /* hits so far: even ones belong to the first player */

static inline wsq_poll play(wsq_ctx ctx, wsq_task *task) {
    player *self = wsq_container_of(task, player, task);
    unsigned long hits = atomic_load_explicit(&ball, memory_order_acquire);
    (void)ctx;
    if ((hits % 2 == 0) != self->serves) return WSQ_PENDING;
    atomic_store_explicit(&ball, hits + 1, memory_order_release);
    self->left--;
    wsq_wake(&self->other->task);
    return self->left > 0 ? WSQ_PENDING : WSQ_DONE;
}

/* `trips` of them; spawn the second player first. */
static inline void players(player *one, player *two, long trips) {
    *one = (player){.other = two, .left = trips, .serves = true};
    *two = (player){.other = one, .left = trips};
    atomic_store(&ball, 0);
    wsq_task_init(&one->task, play);
    wsq_task_init(&two->task, play);
}

/* ---- every worker has something to do: tasks that yield until they may end ---- */

static atomic_bool busy;

static inline wsq_poll keep_busy(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    (void)task;
    return atomic_load_explicit(&busy, memory_order_acquire) ? WSQ_YIELD : WSQ_DONE;
}

/* Two for each worker, in `tasks`; they end when busy is false. */
static inline void begin_busy(wsq_pool *pool, wsq_task *tasks, unsigned workers) {
    atomic_store(&busy, true);
    for (unsigned i = 0; i < 2 * workers; i++) {
        wsq_task_init(&tasks[i], keep_busy);
        wsq_spawn(pool, &tasks[i]);
    }
}

#endif /* BENCH_TASKS_H */
