/* wsq_queue.h - a bounded queue of calls in front of a pool, to put in place of a thread pool's own.
 *
 * At most `limit` calls run at the same time, at most `capacity` more are queued, and they start in
 * the order of the submits. A submit blocks when the queue is full, or says so. With a capacity of 0
 * nothing is queued: a call is taken if fewer than `limit` run. The queue can be purged, paused,
 * resized and waited for; several queues may share one pool. A running call holds a permit, which is
 * a wsq_task; the queue itself is an array under a mutex. It needs POSIX threads.
 *
 *     wsq_queue queue;
 *     wsq_queue_init(&queue, pool, 100, 4, 8);             100 places, 4 at a time, later up to 8
 *     wsq_queue_submit(&queue, compress, block);           calls compress(block) on a worker
 *     wsq_queue_wait(&queue);
 *     wsq_queue_fini(&queue);                              before the pool is destroyed */
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
    wsq_pool *pool;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t room, idle;
    wsq_queue_call *calls; /* a circle of `places`: `queued` calls from `first` on */
    size_t capacity, places, first, queued;
    wsq_queue_permit *all, *free;
    unsigned limit, most, permits, running; /* permits in use; calls that run */
    bool paused, closed;                    /* closed: the pool takes no more */
} wsq_queue;

/* With the lock. May one more call start, on a permit that is counted already? */
static inline bool wsq_queue_starts(const wsq_queue *self) {
    return !self->paused && self->queued != 0 && self->permits <= self->limit;
}

/* With the lock. Without a capacity a call that was taken counts until it ends, so each finds a permit. */
static inline bool wsq_queue_full(const wsq_queue *self) {
    if (self->capacity == 0) return self->queued + self->running >= self->limit;
    return self->queued == self->capacity;
}

/* With the lock: gives a permit back, whose task ends. */
static inline wsq_poll wsq_queue_return(wsq_queue *self, wsq_queue_permit *permit) {
    permit->next = self->free;
    self->free = permit;
    if (--self->permits == 0) pthread_cond_broadcast(&self->idle);
    return WSQ_GONE; /* the permit may be in use again at once */
}

static inline wsq_poll wsq_queue_run(wsq_ctx ctx, wsq_task *task) {
    wsq_queue_permit *permit = wsq_container_of(task, wsq_queue_permit, task);
    wsq_queue *self = permit->queue;
    wsq_poll poll = WSQ_YIELD; /* between two calls other tasks of the pool have their turn */
    (void)ctx;
    pthread_mutex_lock(&self->lock);
    if (wsq_queue_starts(self)) {
        wsq_queue_call call = self->calls[self->first];
        self->first = (self->first + 1) % self->places;
        self->queued--;
        self->running++;
        if (self->capacity != 0) pthread_cond_signal(&self->room);
        pthread_mutex_unlock(&self->lock);
        call.fn(call.arg);
        pthread_mutex_lock(&self->lock);
        self->running--;
        if (self->capacity == 0) pthread_cond_signal(&self->room);
    }
    if (!wsq_queue_starts(self)) poll = wsq_queue_return(self, permit);
    pthread_mutex_unlock(&self->lock);
    return poll;
}

/* In place of a run, when the pool is cancelled. */
static inline wsq_poll wsq_queue_cancelled(wsq_task *task) {
    wsq_queue_permit *permit = wsq_container_of(task, wsq_queue_permit, task);
    wsq_queue *self = permit->queue;
    pthread_mutex_lock(&self->lock);
    self->closed = true;
    pthread_cond_broadcast(&self->room);
    wsq_poll poll = wsq_queue_return(self, permit);
    pthread_mutex_unlock(&self->lock);
    return poll;
}

/* With the lock: as many permits as are allowed and useful. */
static inline void wsq_queue_start(wsq_queue *self) {
    while (!self->paused && !self->closed && self->permits < self->limit &&
           self->permits < self->running + self->queued) {
        wsq_queue_permit *permit = self->free;
        self->free = permit->next;
        self->permits++;
        wsq_task_init(&permit->task, wsq_queue_run);
        wsq_task_set_cleanup(&permit->task, wsq_queue_cancelled);
        self->closed = wsq_spawn(self->pool, &permit->task) != WSQ_OK;
        if (self->closed) (void)wsq_queue_return(self, permit);
    }
}

/* `capacity` calls are queued at most, or none; `limit` run; wsq_queue_resize goes up to `most`.
 * WSQ_ERR_MEMORY: there is none. */
static inline wsq_result wsq_queue_init(wsq_queue *self, wsq_pool *pool, size_t capacity,
                                        unsigned limit, unsigned most) {
    if (most == 0 || limit > most) return WSQ_ERR_INVALID;
    memset(self, 0, sizeof *self);
    self->places = capacity != 0 ? capacity : most;
    self->calls = (wsq_queue_call *)calloc(self->places, sizeof *self->calls);
    self->all = (wsq_queue_permit *)calloc(most, sizeof *self->all);
    if (self->calls == NULL || self->all == NULL) {
        free(self->calls);
        free(self->all);
        return WSQ_ERR_MEMORY;
    }
    self->pool = pool;
    self->capacity = capacity;
    self->limit = limit;
    self->most = most;
    for (unsigned i = 0; i < most; i++) {
        self->all[i].queue = self;
        self->all[i].next = self->free;
        self->free = &self->all[i];
    }
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->room, NULL);
    pthread_cond_init(&self->idle, NULL);
    return WSQ_OK;
}

static inline wsq_result wsq_queue_put(wsq_queue *self, bool waits, void (*fn)(void *), void *arg) {
    wsq_result result = WSQ_OK;
    pthread_mutex_lock(&self->lock);
    while (waits && wsq_queue_full(self) && !self->closed)
        pthread_cond_wait(&self->room, &self->lock);
    if (self->closed) result = WSQ_ERR_CLOSED;
    else if (wsq_queue_full(self)) result = WSQ_ERR_TIMEOUT;
    if (result == WSQ_OK) {
        wsq_queue_call *call = &self->calls[(self->first + self->queued++) % self->places];
        call->fn = fn;
        call->arg = arg;
        wsq_queue_start(self);
        if (self->closed) self->queued--, result = WSQ_ERR_CLOSED; /* still the last one */
    }
    pthread_mutex_unlock(&self->lock);
    return result;
}

/* Calls fn(arg) on a worker; waits while the queue is full. For threads outside: a task that waits
 * here holds its worker, and may wait for itself. WSQ_ERR_CLOSED: the pool takes no more. */
static inline wsq_result wsq_queue_submit(wsq_queue *self, void (*fn)(void *arg), void *arg) {
    return wsq_queue_put(self, true, fn, arg);
}

/* The same from any thread, without waiting. WSQ_ERR_TIMEOUT: the queue is full. */
static inline wsq_result wsq_queue_try(wsq_queue *self, void (*fn)(void *arg), void *arg) {
    return wsq_queue_put(self, false, fn, arg);
}

static inline void wsq_queue_counts(wsq_queue *self, size_t *queued, unsigned *running) {
    pthread_mutex_lock(&self->lock);
    *queued = self->queued;
    *running = self->running;
    pthread_mutex_unlock(&self->lock);
}

/* Takes out all calls that have not started, oldest first, and gives each one's `arg` to `drop`,
 * which may be NULL and must not use the queue. Returns how many they were. */
static inline size_t wsq_queue_purge(wsq_queue *self, void (*drop)(void *arg)) {
    pthread_mutex_lock(&self->lock);
    size_t count = self->queued;
    for (; self->queued != 0; self->queued--) {
        if (drop != NULL) drop(self->calls[self->first].arg);
        self->first = (self->first + 1) % self->places;
    }
    pthread_cond_broadcast(&self->room);
    pthread_cond_broadcast(&self->idle);
    pthread_mutex_unlock(&self->lock);
    return count;
}

/* true: no call starts; those that run go on. false: they start again. */
static inline void wsq_queue_pause(wsq_queue *self, bool paused) {
    pthread_mutex_lock(&self->lock);
    self->paused = paused;
    wsq_queue_start(self);
    pthread_mutex_unlock(&self->lock);
}

/* From now on so many calls run at the same time; those too many return first. */
static inline void wsq_queue_resize(wsq_queue *self, unsigned limit) {
    pthread_mutex_lock(&self->lock);
    self->limit = limit < self->most ? limit : self->most;
    wsq_queue_start(self);
    if (self->capacity == 0) pthread_cond_broadcast(&self->room);
    pthread_mutex_unlock(&self->lock);
}

/* Waits until no call is queued or runs, or the pool is shut down. For threads outside. */
static inline void wsq_queue_wait(wsq_queue *self) {
    pthread_mutex_lock(&self->lock);
    while (self->permits != 0 || (self->queued != 0 && !self->closed))
        pthread_cond_wait(&self->idle, &self->lock);
    pthread_mutex_unlock(&self->lock);
}

/* Waits, then frees what wsq_queue_init has made. */
static inline void wsq_queue_fini(wsq_queue *self) {
    wsq_queue_wait(self);
    pthread_cond_destroy(&self->idle);
    pthread_cond_destroy(&self->room);
    pthread_mutex_destroy(&self->lock);
    free(self->calls);
    free(self->all);
}

#endif /* WSQ_QUEUE_H */
