/* What a program would use instead of wsq if it wrote its own: a pool with one queue behind a mutex,
 * threads that have a share each from the start, and a thread for each task. */
#ifndef BENCH_RIVALS_H
#define BENCH_RIVALS_H

#include "bench.h"

#include <pthread.h>

typedef struct rival_task rival_task;
struct rival_task {
    void (*fn)(rival_task *task, unsigned worker);
    rival_task *next;
};

/* ---- one queue, one mutex ---- */

typedef struct mutex_pool mutex_pool;
typedef struct mutex_worker {
    pthread_t thread;
    mutex_pool *pool;
    unsigned index;
} mutex_worker;

struct mutex_pool {
    pthread_mutex_t mutex;
    pthread_cond_t work, quiet;
    rival_task *first, *last;
    uint64_t pending;
    bool stop;
    unsigned workers;
    mutex_worker threads[BENCH_MAX_WORKERS];
};

static inline rival_task *mutex_pool_take(mutex_pool *self) {
    while (!self->first && !self->stop) pthread_cond_wait(&self->work, &self->mutex);
    rival_task *task = self->first;
    if (task) self->first = task->next;
    return task;
}

static inline void *mutex_pool_main(void *arg) {
    mutex_worker *worker = arg;
    mutex_pool *self = worker->pool;
    rival_task *task;
    pthread_mutex_lock(&self->mutex);
    while ((task = mutex_pool_take(self)) != NULL) {
        pthread_mutex_unlock(&self->mutex);
        task->fn(task, worker->index);
        pthread_mutex_lock(&self->mutex);
        if (--self->pending == 0) pthread_cond_broadcast(&self->quiet);
    }
    pthread_mutex_unlock(&self->mutex);
    return NULL;
}

static inline void mutex_pool_start(mutex_pool *self, unsigned workers) {
    memset(self, 0, sizeof *self);
    pthread_mutex_init(&self->mutex, NULL);
    pthread_cond_init(&self->work, NULL);
    pthread_cond_init(&self->quiet, NULL);
    self->workers = workers;
    for (unsigned i = 0; i < workers; i++) {
        mutex_worker *worker = &self->threads[i];
        worker->pool = self;
        worker->index = i;
        bench_check(pthread_create(&worker->thread, NULL, mutex_pool_main, worker) == 0, "thread");
    }
}

static inline void mutex_pool_spawn(mutex_pool *self, rival_task *task) {
    task->next = NULL;
    pthread_mutex_lock(&self->mutex);
    if (self->first) self->last->next = task;
    else self->first = task;
    self->last = task;
    self->pending++;
    pthread_cond_signal(&self->work);
    pthread_mutex_unlock(&self->mutex);
}

static inline void mutex_pool_wait(mutex_pool *self) {
    pthread_mutex_lock(&self->mutex);
    while (self->pending > 0) pthread_cond_wait(&self->quiet, &self->mutex);
    pthread_mutex_unlock(&self->mutex);
}

static inline void mutex_pool_stop(mutex_pool *self) {
    pthread_mutex_lock(&self->mutex);
    self->stop = true;
    pthread_cond_broadcast(&self->work);
    pthread_mutex_unlock(&self->mutex);
    for (unsigned i = 0; i < self->workers; i++) pthread_join(self->threads[i].thread, NULL);
    pthread_mutex_destroy(&self->mutex);
    pthread_cond_destroy(&self->work);
    pthread_cond_destroy(&self->quiet);
}

/* ---- shares: task i belongs to thread i modulo the number of threads ---- */

typedef struct share {
    pthread_t thread;
    rival_task **tasks;
    long count;
    unsigned index, workers;
} share;

static inline void *share_main(void *arg) {
    share *self = arg;
    for (long i = self->index; i < self->count; i += self->workers)
        self->tasks[i]->fn(self->tasks[i], self->index);
    return NULL;
}

static inline void run_in_shares(rival_task **tasks, long count, unsigned workers) {
    share shares[BENCH_MAX_WORKERS];
    for (unsigned i = 0; i < workers; i++) {
        shares[i] = (share){.tasks = tasks, .count = count, .index = i, .workers = workers};
        bench_check(pthread_create(&shares[i].thread, NULL, share_main, &shares[i]) == 0, "thread");
    }
    for (unsigned i = 0; i < workers; i++) pthread_join(shares[i].thread, NULL);
}

/* ---- a thread for each task, a window of them at a time ---- */

#define THREAD_WINDOW 64

static inline void *thread_main(void *arg) {
    rival_task *task = arg;
    task->fn(task, 0);
    return NULL;
}

static inline void run_in_threads(rival_task **tasks, long count) {
    pthread_t threads[THREAD_WINDOW];
    for (long i = 0; i < count + THREAD_WINDOW; i++) {
        if (i >= THREAD_WINDOW) pthread_join(threads[i % THREAD_WINDOW], NULL);
        if (i >= count) continue;
        bench_check(pthread_create(&threads[i % THREAD_WINDOW], NULL, thread_main, tasks[i]) == 0,
                    "thread");
    }
}

#endif
