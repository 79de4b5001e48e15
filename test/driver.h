/* driver.h - a driver for tests, and a nuisance: its wait returns early, fails, or is interrupted at every
 * moment, its interrupt comes late or twice, and its dispatch wakes nobody, or thousands. It comes after
 * wsq.h, test.h and pool.h. */
#ifndef TEST_DRIVER_H
#define TEST_DRIVER_H

#include <pthread.h>

/* A task that waits for its events. */
typedef struct client {
    wsq_task task;
    struct world *world;
    struct client *next; /* in the world's list */
    size_t left, runs;
} client;

/* Where events come from; posting one calls nothing of wsq, as a network does not. */
typedef struct world {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    client *first;         /* events that came; under the lock, as the next three */
    bool poked;
    uint64_t random;
    unsigned chaos;        /* one step in so many is odd; 0: none */
    atomic_uint inside;    /* threads in wait or dispatch */
    atomic_uint waiting;   /* in wait, without end or for long */
    atomic_bool stops;     /* the pool is cancelled: events of its last moments are not dispatched */
    atomic_size_t ran;     /* runs of count_run */
    atomic_size_t waits, looks, dispatches, interrupts; /* looks: waits with a time-out of 0 */
    client *ready;         /* between wait and dispatch: the thread that has the driver */
    void (*extra)(wsq_pool *pool, struct world *self); /* dispatch calls this, too, or NULL */
} world;

static inline bool odd(world *self) { return self->chaos != 0 && test_below(&self->random, self->chaos) == 0; }

static atomic_bool in_child;

static inline bool world_wait(uint64_t timeout_ns, void *user) {
    world *self = user;
    struct timespec until;
    if (atomic_load(&in_child)) _Exit(9);
    if (atomic_fetch_add(&self->inside, 1) != 0) FAIL("two threads wait");
    atomic_fetch_add(&self->waits, 1);
    if (timeout_ns == 0) atomic_fetch_add(&self->looks, 1);
    if (self->ready != NULL && !atomic_load(&self->stops)) FAIL("a wait, and no dispatch of what the last one brought");
    pthread_mutex_lock(&self->lock);
    bool early = odd(self), empty = odd(self), nothing = odd(self);
    if (timeout_ns != 0 && timeout_ns != WSQ_FOREVER) {
        clock_gettime(CLOCK_REALTIME, &until);
        uint64_t ns = (uint64_t)until.tv_nsec + timeout_ns % 1000000000u;
        if (timeout_ns / 1000000000u < 1000000) until.tv_sec += (time_t)(timeout_ns / 1000000000u);
        until.tv_sec += (time_t)(ns / 1000000000u);
        until.tv_nsec = (long)(ns % 1000000000u);
    }
    if (timeout_ns != 0) atomic_fetch_add(&self->waiting, 1);
    while (timeout_ns != 0 && !early && !self->poked && self->first == NULL) {
        if (timeout_ns == WSQ_FOREVER) pthread_cond_wait(&self->changed, &self->lock);
        else if (pthread_cond_timedwait(&self->changed, &self->lock, &until) != 0) break;
    }
    if (timeout_ns != 0) atomic_fetch_sub(&self->waiting, 1);
    if (timeout_ns != 0 || odd(self)) self->poked = false;
    if (!empty) {
        self->ready = self->first;
        self->first = NULL;
    }
    pthread_mutex_unlock(&self->lock);
    bool events = self->ready != NULL || (nothing && !empty);
    atomic_fetch_sub(&self->inside, 1);
    return events;
}

static inline void world_dispatch(wsq_pool *pool, void *user) {
    world *self = user;
    client *next;
    if (atomic_fetch_add(&self->inside, 1) != 0) FAIL("two threads dispatch");
    if (wsqi_load_hint(pool->phase) == WSQI_PHASE_OVER) FAIL("dispatch after the end of the pool");
    atomic_fetch_add(&self->dispatches, 1);
    for (client *one = self->ready; one != NULL; one = next) {
        next = one->next;
        wsq_wake(&one->task);
    }
    self->ready = NULL;
    if (self->extra != NULL) self->extra(pool, self);
    atomic_fetch_sub(&self->inside, 1);
}

static inline void world_interrupt(void *user) {
    world *self = user;
    atomic_fetch_add(&self->interrupts, 1);
    pthread_mutex_lock(&self->lock);
    bool twice = odd(self), late = odd(self);
    self->poked = true;
    pthread_cond_signal(&self->changed);
    pthread_mutex_unlock(&self->lock);
    if (late) test_spin(1000);
    if (!twice) return;
    pthread_mutex_lock(&self->lock);
    self->poked = true;
    pthread_cond_signal(&self->changed);
    pthread_mutex_unlock(&self->lock);
}

static inline void post(world *self, client *one) {
    pthread_mutex_lock(&self->lock);
    one->next = self->first;
    self->first = one;
    pthread_cond_signal(&self->changed);
    pthread_mutex_unlock(&self->lock);
}

static inline void world_init(world *self, unsigned chaos) {
    memset((void *)self, 0, sizeof *self);
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->changed, NULL);
    self->random = test_seed | 1;
    self->chaos = chaos;
}

static inline wsq_pool *world_pool(world *self, unsigned chaos, wsq_config config) {
    world_init(self, chaos);
    config.driver = &(wsq_driver){world_wait, world_dispatch, world_interrupt, self};
    return pool_new(config);
}

static inline void world_end(world *self, wsq_pool *pool) {
    if (pool != NULL) pool_end(pool);
    CHECK_EQ(atomic_load(&self->inside), 0);
    CHECK(self->first == NULL && self->ready == NULL);
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->lock);
}

typedef struct lending {
    wsq_pool *pool;
    client *one;
    atomic_uint left; /* threads that have left */
} lending;

static inline wsq_poll client_run(wsq_ctx ctx, wsq_task *task) {
    client *self = wsq_container_of(task, client, task);
    (void)ctx;
    self->runs++;
    if (self->left == 0) return WSQ_DONE;
    self->left--;
    post(self->world, self);
    return WSQ_PENDING;
}

/* Waits for `left` events of another driver. */
static inline wsq_poll count_run(wsq_ctx ctx, wsq_task *task) {
    client *self = wsq_container_of(task, client, task);
    (void)ctx;
    atomic_fetch_add(&self->world->ran, 1);
    return self->runs++ < self->left ? WSQ_PENDING : WSQ_DONE;
}

/* Waits for one event of another driver. */
static inline wsq_poll once_run(wsq_ctx ctx, wsq_task *task) {
    client *self = wsq_container_of(task, client, task);
    (void)ctx;
    return self->runs++ == 0 ? WSQ_PENDING : WSQ_DONE;
}

static inline void client_init(client *self, world *at, size_t rounds) {
    *self = (client){.world = at, .left = rounds};
    wsq_task_init(&self->task, client_run);
}

/* Waits until some thread waits in the driver. */
static inline void until_polled(world *self) {
    while (atomic_load(&self->waiting) == 0) test_nap(20000);
}

static inline wsq_poll nothing_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    return WSQ_DONE;
}

#endif /* TEST_DRIVER_H */
