/* explore_items.h - five tasks that spawn, wake, follow, meet each other: what many scenarios share.
 * It comes after explore_small.h and wsq.h. */
#ifndef EXPLORE_ITEMS_H
#define EXPLORE_ITEMS_H

#include "explore_pool.h"

enum { ITEMS = 5 };

/* Writes a letter, meets `company` tasks, is done. Reads the letters of those that it comes after. */
typedef struct item {
    wsq_task task;
    wsq_timer timer;
    int letter;              /* plain */
    int company;
    bool waits;              /* pending until the time is `due`, or `sent` */
    uint64_t due;
    wsqi_a32 sent;
    struct item *after[2];
    int sends;               /* run_sending: to which */
    bool frees;              /* what it comes after, as soon as it starts */
    int runs, done, cleaned; /* the explorer's own */
} item;

static item items[ITEMS];
static wsq_edge edges[ITEMS];
static int gate;
static wsq_pool *pool;
static const wsq_config plain;

static inline wsq_poll run_item(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    explore_check(!it->done && !it->cleaned);
    it->runs++;
    for (int i = 0; i < 2; i++)
        if (it->after[i] && it->runs == 1) explore_check(wsqi_get(&it->after[i]->letter) == 1);
    if (it->frees) explore_free(it->after[0]);
    it->frees = false;
    if (it->waits && !wsqi_load_acq(&it->sent) && (!it->due || wsqi_clock_ns() < it->due))
        return WSQ_PENDING;
    if (it->company) explore_meet(&gate, it->company);
    wsqi_set(&it->letter, 1);
    it->done = 1;
    return WSQ_DONE;
}

static inline wsq_poll clean_item(wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    explore_check(!it->done && !it->cleaned);
    it->cleaned = 1;
    return WSQ_DONE;
}

static inline void init(item *it) {
    memset(it, 0, sizeof *it);
    wsq_task_init(&it->task, run_item);
    wsq_task_set_cleanup(&it->task, clean_item);
}

static inline void begin(unsigned workers, wsq_config config) {
    gate = 0;
    for (int i = 0; i < ITEMS; i++) init(&items[i]);
    pool = explore_pool_make(workers, config);
}

static inline void spawn(int i) { explore_check(wsq_spawn(pool, &items[i].task) == WSQ_OK); }

static inline void follow(int later, int first) {
    item *it = &items[later];
    it->after[it->after[0] != NULL] = &items[first];
    explore_check(wsq_task_after(&it->task, &items[first].task, &edges[later]) == WSQ_OK);
}

static inline void end(int count) {
    explore_wait_quiet();
    for (int i = 0; i < count; i++) explore_check(items[i].done);
    explore_check_parked(pool);
    explore_pool_end(pool);
}

static const int number[] = {0, 1, 2, 3, 4};

static inline void spawner(void *arg) { spawn(*(const int *)arg); }

static inline void send(int i) {
    wsqi_store_rel(&items[i].sent, 1u);
    wsq_wake(&items[i].task);
}

static inline void send_0(void *arg) {
    (void)arg;
    send(0);
}

static inline void send_1(void *arg) {
    (void)arg;
    send(1);
}

/* Once it was sent something itself. */
static inline wsq_poll run_sending(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    if (!wsqi_load_acq(&it->sent)) return WSQ_PENDING;
    send(it->sends);
    it->done = 1;
    return WSQ_DONE;
}

static inline void set_timer(int i, uint64_t delay) {
    items[i].due = wsqi_clock_ns() + delay;
    explore_check(wsq_timer_set(pool, &items[i].timer, &items[i].task, delay) == WSQ_OK);
}

#endif /* EXPLORE_ITEMS_H */
