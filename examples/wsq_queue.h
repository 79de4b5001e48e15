/* wsq_queue.h - a bounded queue of calls in front of a pool, to replace a thread pool's own queue.
 *
 * Include wsq.h before this file. It needs POSIX threads. test/test_queue.c uses all of it.
 *
 * The queue holds at most `limit` + `capacity` calls that have not ended, starts them in the order
 * of the submits, and at most `limit` run at the same time. With a limit of 0 it pauses. Several
 * queues may share a pool. A call needs a permit to run, which is a wsq_task.
 *
 * No more calls run than the pool has workers, whatever the limit: a call that blocks holds its
 * worker, because it gets no ctx for wsq_block_begin. So give the pool as many workers as the limit
 * may become (wsq_config.workers), or let the call use wsq_run, whose function gets a ctx.
 *
 *     wsq_queue_init(&queue, pool, 100, 4, 8);             4 run, later up to 8; 100 are queued
 *     wsq_queue_submit(&queue, true, compress, block);     calls compress(block) on a worker
 *     wsq_queue_fini(&queue);                              waits; before the pool is shut down */
#ifndef WSQ_QUEUE_H
#define WSQ_QUEUE_H
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct wsq_queue_call { void (*fn)(void *arg); void *arg; } wsq_queue_call;
typedef struct wsq_queue_permit { wsq_task task; struct wsq_queue *queue; } wsq_queue_permit;

typedef struct wsq_queue {
    wsq_group group;      /* the permits in use */
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t room;
    uint64_t submitted, started, ended; /* numbers of calls; a purged one has ended */
    uint64_t capacity, places;
    unsigned limit, most, used; /* used: permits */
    wsq_queue_call *calls;      /* a circle: call number i is in place i % places */
    wsq_queue_permit *permits;  /* `most`; the queue of an unused one is NULL */
} wsq_queue;

/* With the lock: may one more call start? */
static inline bool wsq_queue_ready(const wsq_queue *self) {
    return self->started < self->submitted && self->started < self->ended + self->limit;
}

static inline wsq_poll wsq_queue_run(wsq_ctx ctx, wsq_task *task) {
    wsq_queue_permit *permit = wsq_container_of(task, wsq_queue_permit, task);
    wsq_queue *self = permit->queue;
    pthread_mutex_lock(&self->lock);
    if (wsq_queue_ready(self)) {
        wsq_queue_call call = self->calls[self->started++ % self->places];
        pthread_mutex_unlock(&self->lock);
        call.fn(call.arg);
        pthread_mutex_lock(&self->lock);
        self->ended++;
        pthread_cond_signal(&self->room);
    }
    bool again = wsq_queue_ready(self); /* after other tasks of the pool had their turn */
    if (!again) permit->queue = NULL, self->used--;
    pthread_mutex_unlock(&self->lock); /* now another thread may spawn an unused permit */
    return (void)ctx, again ? WSQ_YIELD : WSQ_GONE;
}

/* With the lock: spawns as many permits as are allowed and useful. An error: none is in use. */
static inline wsq_result wsq_queue_start(wsq_queue *self) {
    wsq_result result = WSQ_OK;
    while (self->used < self->limit && self->used < self->submitted - self->ended) {
        wsq_queue_permit *permit = self->permits;
        while (permit->queue != NULL) permit++;
        wsq_task_init(&permit->task, wsq_queue_run);
        permit->queue = self;
        result = wsq_group_spawn(&self->group, &permit->task);
        if (result == WSQ_OK) self->used++;
        else return permit->queue = NULL, self->used != 0 ? WSQ_OK : result;
    }
    return result;
}

/* At first `limit` calls run at the same time; wsq_queue_resize goes up to `most`. */
static inline wsq_result wsq_queue_init(wsq_queue *self, wsq_pool *pool, size_t capacity,
                                        unsigned limit, unsigned most) {
    if (limit > most || capacity > SIZE_MAX - most) return WSQ_ERR_INVALID;
    memset(self, 0, sizeof *self);
    if (most == 0 || wsq_group_init(&self->group, pool) != WSQ_OK) return WSQ_ERR_INVALID;
    self->capacity = capacity, self->places = (uint64_t)capacity + most;
    self->limit = limit, self->most = most;
    self->calls = (wsq_queue_call *)calloc(capacity + most, sizeof *self->calls);
    self->permits = (wsq_queue_permit *)calloc(most, sizeof *self->permits);
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->room, NULL);
    if (self->calls != NULL && self->permits != NULL) return WSQ_OK;
    return free(self->calls), free(self->permits), WSQ_ERR_MEMORY;
}

/* Calls fn(arg) on a worker, or in wsq_queue_wait. If the queue is full, this waits, or else it
 * returns WSQ_ERR_TIMEOUT. Only a thread outside may let it wait: a task would hold its worker, and
 * might wait for itself. The other errors are those of wsq_spawn. */
static inline wsq_result wsq_queue_submit(wsq_queue *self, bool waits, void (*fn)(void *arg),
                                          void *arg) {
    wsq_queue_call call = {fn, arg};
    wsq_result result = WSQ_ERR_TIMEOUT;
    bool full;
    pthread_mutex_lock(&self->lock);
    while ((full = self->submitted - self->ended >= self->capacity + self->limit) && waits)
        pthread_cond_wait(&self->room, &self->lock);
    if (!full) {
        self->calls[self->submitted++ % self->places] = call;
        result = wsq_queue_start(self);
        if (result != WSQ_OK) { /* the call is still the last one, and its place is free again */
            self->submitted--;
            pthread_cond_signal(&self->room);
        }
    }
    pthread_mutex_unlock(&self->lock);
    return result;
}

/* From now on `limit` calls run at the same time. Those too many end first; with 0 none starts. */
static inline void wsq_queue_resize(wsq_queue *self, unsigned limit) {
    pthread_mutex_lock(&self->lock);
    self->limit = limit < self->most ? limit : self->most;
    (void)wsq_queue_start(self);
    pthread_cond_broadcast(&self->room);
    pthread_mutex_unlock(&self->lock);
}

/* Takes out all calls that have not started, oldest first, and gives each one's `arg` to `drop`,
 * which may be NULL and must not use the queue. Returns how many they were. */
static inline size_t wsq_queue_purge(wsq_queue *self, void (*drop)(void *arg)) {
    size_t count = 0;
    pthread_mutex_lock(&self->lock);
    for (; self->started < self->submitted; count++, self->ended++, self->started++)
        if (drop != NULL) drop(self->calls[self->started % self->places].arg);
    pthread_cond_broadcast(&self->room);
    pthread_mutex_unlock(&self->lock);
    return count;
}

static inline void wsq_queue_counts(wsq_queue *self, size_t *queued, unsigned *running) {
    pthread_mutex_lock(&self->lock);
    *queued = (size_t)(self->submitted - self->started);
    *running = (unsigned)(self->started - self->ended);
    pthread_mutex_unlock(&self->lock);
}

/* Waits until no call runs or can start. */
static inline void wsq_queue_wait(wsq_queue *self) { (void)wsq_group_wait(&self->group); }

/* Waits, then frees what wsq_queue_init has made. Calls that a limit of 0 has kept are dropped. */
static inline void wsq_queue_fini(wsq_queue *self) {
    wsq_queue_wait(self);
    pthread_cond_destroy(&self->room);
    pthread_mutex_destroy(&self->lock);
    free(self->calls), free(self->permits);
}
#endif
