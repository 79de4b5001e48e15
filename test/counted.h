/* counted.h - a pool that gets all memory, threads and locks through counters that can say no, and tasks
 * that count their runs. It comes after refuse.h and wsq.h. */
#ifndef TEST_COUNTED_H
#define TEST_COUNTED_H

#undef pthread_create
#undef pthread_join
#undef pthread_attr_init
#undef pthread_attr_destroy
#undef pthread_mutex_init
#undef pthread_mutex_destroy
#undef pthread_cond_init
#undef pthread_cond_destroy
#include "pool.h"

enum { EVER = 1 << 30 };

static atomic_int calls_left = EVER;  /* system calls that still succeed */
static atomic_int allocations_left = EVER;
static atomic_long live;              /* what was taken from the system and not given back */
static atomic_ulong allocations;

static inline bool may(atomic_int *left) { return atomic_load(left) == EVER || atomic_fetch_sub(left, 1) > 0; }

static inline int counted(int error) {
    atomic_fetch_add(&live, error == 0);
    return error;
}

static inline int returned(int error) {
    atomic_fetch_sub(&live, error == 0);
    return error;
}

int test_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*fn)(void *), void *arg) {
    return may(&calls_left) ? counted(pthread_create(thread, attributes, fn, arg)) : EAGAIN;
}
int test_join(pthread_t thread, void **result) { return returned(pthread_join(thread, result)); }
int test_attr_init(pthread_attr_t *attributes) {
    return may(&calls_left) ? counted(pthread_attr_init(attributes)) : ENOMEM;
}
int test_attr_destroy(pthread_attr_t *attributes) { return returned(pthread_attr_destroy(attributes)); }
int test_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes) {
    return may(&calls_left) ? counted(pthread_mutex_init(mutex, attributes)) : ENOMEM;
}
int test_mutex_destroy(pthread_mutex_t *mutex) { return returned(pthread_mutex_destroy(mutex)); }
int test_cond_init(pthread_cond_t *condition, const pthread_condattr_t *attributes) {
    return may(&calls_left) ? counted(pthread_cond_init(condition, attributes)) : ENOMEM;
}
int test_cond_destroy(pthread_cond_t *condition) { return returned(pthread_cond_destroy(condition)); }

static inline void *test_malloc(size_t size) {
    void *memory = may(&allocations_left) ? malloc(size) : NULL;
    atomic_fetch_add(&allocations, 1);
    atomic_fetch_add(&live, memory != NULL);
    return memory;
}

static inline void test_free(void *memory) {
    atomic_fetch_sub(&live, memory != NULL);
    free(memory);
}

static atomic_long bytes;

static inline void check_nothing_left(void) {
    CHECK_EQ(atomic_load(&live), 0);
    CHECK_EQ(atomic_load(&bytes), 0);
}

/* ---- tasks ---- */

typedef struct errand {
    wsq_task task;
    atomic_uint runs;
    wsq_result result; /* of its spawn */
    wsq_result (*act)(wsq_pool *pool);
    wsq_pool *pool;
} errand;

static inline wsq_poll errand_run(wsq_ctx ctx, wsq_task *task) {
    errand *self = wsq_container_of(task, errand, task);
    (void)ctx;
    atomic_fetch_add_explicit(&self->runs, 1, memory_order_relaxed);
    if (self->act) self->result = self->act(self->pool);
    return WSQ_DONE;
}

static inline wsq_poll pending_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    (void)task;
    return WSQ_PENDING;
}

static inline void errand_new(errand *self, wsq_task_fn fn) {
    memset((void *)self, 0, sizeof *self);
    wsq_task_init(&self->task, fn);
}

static inline void run_some(wsq_pool *pool, unsigned count) {
    static errand some[1000];
    unsigned ran = 0;
    for (unsigned i = 0; i < count; i++) {
        errand_new(&some[i], errand_run);
        CHECK_EQ(wsq_spawn(pool, &some[i].task), WSQ_OK);
    }
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    for (unsigned i = 0; i < count; i++) ran += some[i].runs == 1 && wsq_task_done(&some[i].task);
    CHECK_EQ(ran, count);
}

#endif /* TEST_COUNTED_H */
