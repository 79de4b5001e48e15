/* groups.h - every kind of pool, and shorthands for groups. Include it in place of wsq.h. */
#ifndef TEST_GROUPS_H
#define TEST_GROUPS_H

#include "test.h"
#include "pool.h"
#include "compose.h"

enum { THREADS = 4 };

static const wsq_config kinds[] = {
    {.workers = 1},
    {.workers = 2},
    {.workers = 8},
    {.workers = 2, .order = WSQ_LIFO},
    {.workers = 2, .max_standins = WSQ_STANDINS_OFF},
    {.workers = 2, .caller_runs = true},
};

static inline void on_every_kind(void (*test)(wsq_pool *pool)) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        wsq_pool *pool = pool_new(kinds[i]);
        test(pool);
        pool_close(pool);
    }
}

static inline void spawn(wsq_pool *pool, step *task) {
    if (wsq_spawn(pool, &task->task) != WSQ_OK) FAIL("a spawn");
}

static inline void spawn_in(wsq_group *group, step *task) {
    if (wsq_group_spawn(group, &task->task) != WSQ_OK) FAIL("a spawn into a group");
}

static inline void group_new(wsq_group *group, wsq_pool *pool) { CHECK_EQ(wsq_group_init(group, pool), WSQ_OK); }

static inline wsq_poll pend_once(wsq_ctx ctx, step *self) {
    (void)ctx;
    return self->runs == 1 ? WSQ_PENDING : WSQ_DONE;
}

/* Threads that use one group at once. */
typedef struct contest {
    wsq_group group;
    step *steps;
    bool *refused;
    atomic_bool stop;
} contest;

enum { CONTEST = 200 };

#endif /* TEST_GROUPS_H */
