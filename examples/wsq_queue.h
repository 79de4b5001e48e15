/* wsq_queue.h - a bounded queue of calls in front of a pool, to put in place of a thread pool's own.
 *
 * It holds at most `limit` + `capacity` calls that have not ended, starts them in the order of the
 * submits, and at most `limit` run at the same time. A submit waits while the queue is full, or
 * fails. The queue can be purged, resized, paused (by a limit of 0) and waited for, and several may
 * share one pool. A running call holds a permit, which is a wsq_task. It needs POSIX threads.
 *
 *     wsq_queue queue;
 *     wsq_queue_init(&queue, pool, 100, 4, 8);             4 run, later up to 8; 100 are queued
 *     wsq_queue_submit(&queue, true, compress, block);     calls compress(block) on a worker
 *     wsq_queue_wait(&queue);
 *     wsq_queue_fini(&queue);                              before the pool is shut down */
#ifndef WSQ_QUEUE_H
#define WSQ_QUEUE_H
#include <pthread.h>
#include <stdlib.h>

typedef struct wsq_queue_call { void (*fn)(void *arg); void *arg; } wsq_queue_call;
typedef struct wsq_queue_permit {
    wsq_task task;
    struct wsq_queue *queue;
    struct wsq_queue_permit *next;
} wsq_queue_permit;

typedef struct wsq_queue {
    wsq_group group;      /* the permits in use */
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t room;
    wsq_queue_call *calls; /* a circle of `places`: `queued` calls from `first` on */
    size_t capacity, places, first, queued;
    wsq_queue_permit *all, *free;
    unsigned limit, most, permits, running; /* permits in use; calls that run */
} wsq_queue;

/* With the lock: may a task that holds a permit start a call? */
static inline bool wsq_queue_starts(const wsq_queue *self) {
    return self->queued != 0 && self->permits <= self->limit;
}

/* With the lock. */
static inline wsq_queue_call wsq_queue_take(wsq_queue *self) {
    wsq_queue_call call = self->calls[self->first];
    self->first = (self->first + 1) % self->places;
    self->queued--;
    return call;
}

static inline wsq_poll wsq_queue_run(wsq_ctx ctx, wsq_task *task) {
    wsq_queue_permit *permit = wsq_container_of(task, wsq_queue_permit, task);
    wsq_queue *self = permit->queue;
    wsq_poll poll = WSQ_YIELD; /* between two calls other tasks of the pool have their turn */
    (void)ctx;
    pthread_mutex_lock(&self->lock);
    if (wsq_queue_starts(self)) {
        wsq_queue_call call = wsq_queue_take(self);
        self->running++;
        pthread_mutex_unlock(&self->lock);
        call.fn(call.arg);
        pthread_mutex_lock(&self->lock);
        self->running--;
        pthread_cond_signal(&self->room);
    }
    if (!wsq_queue_starts(self)) {
        poll = WSQ_GONE; /* after the unlock another thread may spawn the permit again */
        permit->next = self->free;
        self->free = permit;
        self->permits--;
    }
    pthread_mutex_unlock(&self->lock);
    return poll;
}

/* With the lock: spawns as many permits as are allowed and useful. An error: none is in use. */
static inline wsq_result wsq_queue_start(wsq_queue *self) {
    wsq_result result = WSQ_OK;
    while (result == WSQ_OK && self->permits < self->limit &&
           self->permits < self->running + self->queued) {
        wsq_task_init(&self->free->task, wsq_queue_run);
        result = wsq_group_spawn(&self->group, &self->free->task);
        if (result == WSQ_OK) self->free = self->free->next, self->permits++;
    }
    return self->permits != 0 ? WSQ_OK : result;
}

/* At first `limit` calls run at the same time; wsq_queue_resize goes up to `most`. */
static inline wsq_result wsq_queue_init(wsq_queue *self, wsq_pool *pool, size_t capacity,
                                        unsigned limit, unsigned most) {
    if (most == 0 || limit > most || capacity > SIZE_MAX - most) return WSQ_ERR_INVALID;
    memset(self, 0, sizeof *self);
    self->capacity = capacity;
    self->places = capacity + most;
    self->limit = limit;
    self->most = most;
    self->calls = (wsq_queue_call *)calloc(self->places, sizeof *self->calls);
    self->all = (wsq_queue_permit *)calloc(most, sizeof *self->all);
    if (self->calls == NULL || self->all == NULL) {
        free(self->calls);
        free(self->all);
        return WSQ_ERR_MEMORY;
    }
    for (unsigned i = 0; i < most; i++) {
        self->all[i].queue = self;
        self->all[i].next = self->free;
        self->free = &self->all[i];
    }
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->room, NULL);
    return wsq_group_init(&self->group, pool);
}

/* Calls fn(arg) on a worker, or in wsq_queue_wait. If the queue is full, this waits, or else returns
 * WSQ_ERR_TIMEOUT. Only a thread outside may let it wait: a task would hold its worker, and might
 * wait for itself. The other errors are those of wsq_spawn. */
static inline wsq_result wsq_queue_submit(wsq_queue *self, bool waits, void (*fn)(void *arg),
                                          void *arg) {
    wsq_queue_call call = {fn, arg};
    wsq_result result = WSQ_ERR_TIMEOUT;
    pthread_mutex_lock(&self->lock);
    while (waits && self->queued + self->running >= self->limit + self->capacity)
        pthread_cond_wait(&self->room, &self->lock);
    if (self->queued + self->running < self->limit + self->capacity) {
        self->calls[(self->first + self->queued++) % self->places] = call;
        result = wsq_queue_start(self);
        if (result != WSQ_OK) self->queued--; /* the call is still the last one */
    }
    pthread_mutex_unlock(&self->lock);
    return result;
}

/* Calls that are queued, and calls that run. */
static inline void wsq_queue_counts(wsq_queue *self, size_t *queued, unsigned *running) {
    pthread_mutex_lock(&self->lock);
    *queued = self->queued;
    *running = self->running;
    pthread_mutex_unlock(&self->lock);
}

/* Takes out all calls that have not started, oldest first, and gives each one's `arg` to `drop`,
 * which may be NULL and must not use the queue. Returns how many they were. */
static inline size_t wsq_queue_purge(wsq_queue *self, void (*drop)(void *arg)) {
    size_t count = 0;
    pthread_mutex_lock(&self->lock);
    for (; self->queued != 0; count++) {
        wsq_queue_call call = wsq_queue_take(self);
        if (drop != NULL) drop(call.arg);
    }
    pthread_cond_broadcast(&self->room);
    pthread_mutex_unlock(&self->lock);
    return count;
}

/* From now on `limit` calls run at the same time. Those too many end first; with 0 none starts. */
static inline void wsq_queue_resize(wsq_queue *self, unsigned limit) {
    pthread_mutex_lock(&self->lock);
    self->limit = limit < self->most ? limit : self->most;
    (void)wsq_queue_start(self);
    pthread_cond_broadcast(&self->room);
    pthread_mutex_unlock(&self->lock);
}

/* Waits until no call runs or can start. */
static inline void wsq_queue_wait(wsq_queue *self) { (void)wsq_group_wait(&self->group); }

/* Waits, then frees what wsq_queue_init has made. Calls that a limit of 0 has kept are dropped. */
static inline void wsq_queue_fini(wsq_queue *self) {
    wsq_queue_wait(self);
    pthread_cond_destroy(&self->room);
    pthread_mutex_destroy(&self->lock);
    free(self->calls);
    free(self->all);
}
#endif /* WSQ_QUEUE_H */
