/* What a program writes for itself: threads, one queue, one mutex, one condition. */
#include "pool.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static pool_task *first, *last;
static bool stopping;
static pthread_t threads[256];

static pool_task *take(void) {
    while (!first && !stopping) pthread_cond_wait(&work, &mutex);
    pool_task *task = first;
    if (task) first = task->next;
    return task;
}

static void *serve(void *arg) {
    pool_task *task;
    (void)arg;
    pthread_mutex_lock(&mutex);
    while ((task = take()) != NULL) {
        pthread_mutex_unlock(&mutex);
        task->fn(task);
        pthread_mutex_lock(&mutex);
    }
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static void pool_start(void) {
    peer_check(peer_workers <= 256, "at most 256 threads");
    for (unsigned i = 0; i < peer_workers; i++) pthread_create(&threads[i], NULL, serve, NULL);
}

static void pool_stop(void) {
    pthread_mutex_lock(&mutex);
    stopping = true;
    pthread_cond_broadcast(&work);
    pthread_mutex_unlock(&mutex);
    for (unsigned i = 0; i < peer_workers; i++) pthread_join(threads[i], NULL);
}

static void pool_push(pool_task *task) {
    task->next = NULL;
    pthread_mutex_lock(&mutex);
    if (first) last->next = task;
    else first = task;
    last = task;
    pthread_cond_signal(&work);
    pthread_mutex_unlock(&mutex);
}
