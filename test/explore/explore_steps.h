/* explore_steps.h - four tasks that do what the scenario says, run by run. It comes after
 * explore_small.h and wsq.h. */
#ifndef EXPLORE_STEPS_H
#define EXPLORE_STEPS_H

#include "explore_pool.h"

typedef struct item {
    wsq_task task;
    wsq_poll (*step)(struct item *it); /* of its run number `runs` */
    int letter;                        /* plain: the thread that was woken for it reads it */
    wsqi_a32 sent;                     /* for a first run that may be too early */
    int runs, done;                    /* the explorer's own */
} item;

static item items[4];
static int gate;
static wsq_pool *pool;
static const wsq_config plain;

static inline wsq_poll run_item(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    it->runs++;
    wsq_poll poll = it->step(it);
    if (poll == WSQ_DONE) it->done = 1;
    return poll;
}

static inline void begin(unsigned workers, wsq_config config) {
    memset(items, 0, sizeof items);
    gate = 0;
    for (int i = 0; i < 4; i++) wsq_task_init(&items[i].task, run_item);
    pool = explore_pool_make(workers, config);
}

static inline void spawn(int i, wsq_poll (*step)(item *it)) {
    items[i].step = step;
    explore_check(wsq_spawn(pool, &items[i].task) == WSQ_OK);
}

static inline void wait_for(int i) { explore_check(wsq_task_wait(&items[i].task) == WSQ_OK); }

/* The first `count` are done; a watcher that sees old values takes its time. */
static inline void end(int count) {
    explore_wait_quiet();
    for (int i = 0; i < 16 * count; i++)
        if (!items[i / 16].done) explore_wait_quiet();
    for (int i = 0; i < count; i++) explore_check(items[i].done);
    explore_check_parked(pool);
    explore_pool_end(pool);
}

static inline wsq_poll at_once(item *it) {
    wsqi_set(&it->letter, 1);
    return WSQ_DONE;
}

static inline wsq_poll meets(item *it) {
    (void)it;
    explore_meet(&gate, 2);
    return WSQ_DONE;
}

static inline void post(item *it) {
    wsqi_set(&it->letter, 1);
    wsqi_store_rel(&it->sent, 1u);
    wsq_wake(&it->task);
}

/* Pending first; the second run was woken: nothing but the wake orders the letter then. */
static inline wsq_poll woken(item *it) {
    if (it->runs == 1 && wsqi_load_acq(&it->sent) == 0) return WSQ_PENDING;
    explore_check(wsqi_get(&it->letter) == 1);
    return WSQ_DONE;
}

static inline wsq_poll woken_meets(item *it) {
    return woken(it) == WSQ_DONE ? meets(it) : WSQ_PENDING;
}

static inline wsq_poll wakes_and_meets(item *it) {
    post(&items[1]);
    return meets(it);
}

static inline void cancels(void *arg) {
    (void)arg;
    explore_check(wsq_pool_shutdown(pool, WSQ_CANCEL) == WSQ_OK);
}

/* A wait says what became of the task. */
static inline void patient(void *arg) {
    item *it = arg;
    wsq_result result = wsq_task_wait(&it->task);
    explore_check(result == (it->done ? WSQ_OK : WSQ_ERR_CANCELLED));
}

#endif /* EXPLORE_STEPS_H */
