/* order.h - for tests of the order in which tasks start: each task notes its number. It comes after compose.h. */
#ifndef TEST_ORDER_H
#define TEST_ORDER_H

enum { TASKS = 4000 };

static atomic_uint started;
static unsigned log_of[2 * TASKS];

static inline wsq_poll note(wsq_ctx ctx, step *self) {
    (void)ctx;
    log_of[atomic_fetch_add(&started, 1)] = self->number;
    return WSQ_DONE;
}

static inline unsigned out_of_order(unsigned count) {
    unsigned wrong = atomic_load(&started) != count;
    for (unsigned i = 0; i < count; i++) wrong += log_of[i] != i;
    atomic_store(&started, 0);
    return wrong;
}

static const wsq_config alone[] = {{.workers = 1}, {.workers = 1, .caller_runs = true},
                                   {.workers = 1, .lifo_cap = WSQ_LIFO_OFF},
                                   {.workers = 1, .max_interval = 1},
                                   {.workers = 1, .spin_ns = 1000000},
                                   {.workers = 1, .order = WSQ_SHARED},
                                   {.workers = 1, .order = WSQ_SHARED, .caller_runs = true}};
enum { ALONE = sizeof alone / sizeof *alone };

#endif /* TEST_ORDER_H */
