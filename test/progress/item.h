/* item.h - a task that computes, and remembers when it was spawned, began and ended. */
#ifndef ITEM_H
#define ITEM_H

#include "world.h"

typedef struct item {
    wsq_task task;
    wsq_timer timer;
    uint64_t ns;                    /* of a run */
    const struct item *until;       /* it yields until this one has ended; NULL: it does not yield */
    uint64_t give_up;               /* or for so long; 0: for ever */
    bool pends;                     /* it waits for a wake first */
    unsigned runs;
    uint64_t spawned, began, ended; /* 0: not yet. Of a task that pends: since its wake */
} item;

static inline item *item_of(wsq_task *task) { return wsq_container_of(task, item, task); }

static wsq_poll item_run(wsq_ctx ctx, wsq_task *task) {
    item *self = item_of(task);
    (void)ctx;
    if (self->pends && self->runs++ == 0) return WSQ_PENDING;
    if (self->began == 0) self->began = now();
    compute(self->ns);
    if (self->until != NULL && self->until->ended == 0 &&
        (self->give_up == 0 || now() - self->began < self->give_up))
        return WSQ_YIELD;
    self->ended = now();
    return WSQ_DONE;
}

/* Its memory is the machine's, which ends with the run. */
static item *item_make(uint64_t ns) {
    item *self = (item *)sim_allocate(sizeof *self);
    *self = (item){.ns = ns};
    wsq_task_init(&self->task, item_run);
    return self;
}

static inline void item_spawn(wsq_pool *pool, item *self) {
    self->spawned = now();
    if (wsq_spawn(pool, &self->task) != WSQ_OK) sim_fail("a task was refused");
}

static inline void item_spawn_on(wsq_pool *pool, unsigned worker, item *self) {
    self->spawned = now();
    if (wsq_spawn_on(pool, worker, &self->task) != WSQ_OK) sim_fail("a pinned task was refused");
}

static inline void item_wake(item *self) {
    self->spawned = now();
    wsq_wake(&self->task);
}

static inline void item_set_timer(wsq_pool *pool, item *self, uint64_t ns) {
    self->spawned = now();
    if (wsq_timer_set(pool, &self->timer, &self->task, ns) != WSQ_OK) sim_fail("no timer");
}

/* The pool sleeps when this returns. */
static wsq_pool *pool_make(const wsq_config *config) {
    wsq_pool *pool = NULL;
    wsq_config copy = *config;
    copy.seed = 1;
    if (wsq_pool_create(&pool, &copy) != WSQ_OK) sim_fail("no pool");
    nap(MS);
    return pool;
}

static inline void pool_rests(wsq_pool *pool) {
    const char *wrong = pool_wrong(pool);
    if (wrong != NULL) sim_fail(wrong);
}

/* Afterwards its threads, if they are the pool's own, are joined. */
static inline void pool_destroy(wsq_pool *pool) {
    sim_core *cores[256];
    unsigned count = pool->config.caller_runs || pool->config.lend_only ? 0 : pool->workers;
    if (wsqi_load_hint(pool->phase) != WSQI_PHASE_RUN) count = 0;
    for (unsigned i = 0; i < count; i++) cores[i] = wsqi_block(pool, i)->thread;
    pool_rests(pool);
    (wsq_pool_destroy)(pool);
    for (unsigned i = 0; i < count; i++)
        if (cores[i]->state != SIM_JOINED) sim_fail("a pool is gone, and not all its threads are joined");
}

#define wsq_pool_destroy(pool) pool_destroy(pool)

static inline void lend(void *arg) { wsq_worker_enter((wsq_pool *)arg); }

#endif /* ITEM_H */
