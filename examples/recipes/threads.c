/* How do I prepare each thread of a pool, clean up after it, and know that all have started?
 *     cc -O2 -pthread threads.c -o threads && ./threads
 *
 * A hook is called on each thread when it begins and when it ends, before and after all work. This
 * holds for stand-ins, too, which may come at any time. With wsq_hooks.events the hook is called
 * for these two events only, so tasks cost nothing more. A thread in wsq_run is the caller's own:
 * nothing is called for it. */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

/* What each thread needs: here a buffer. A task finds the one of its thread. */
static _Thread_local char *buffer;

struct threads {
    pthread_mutex_t lock;
    pthread_cond_t change;
    int started, alive;
};

static void thread_event(void *user, wsq_event event, unsigned worker, const void *subject,
                         uint64_t value) {
    struct threads *self = user;
    bool starts = event == WSQ_EVENT_START;
    (void)worker, (void)subject, (void)value;
    if (starts) buffer = malloc(4096);
    else free(buffer);
    pthread_mutex_lock(&self->lock);
    self->started += starts;
    self->alive += starts ? 1 : -1;
    pthread_cond_signal(&self->change);
    pthread_mutex_unlock(&self->lock);
}

static void wait_until_started(struct threads *self, unsigned workers) {
    pthread_mutex_lock(&self->lock);
    while ((unsigned)self->started < workers) pthread_cond_wait(&self->change, &self->lock);
    pthread_mutex_unlock(&self->lock);
}

/* ---- the check: tasks block, so stand-ins come; each thread has its buffer, and frees it ---- */

enum { WORKERS = 2, TASKS = 6 };

static atomic_int arrived, without;

static wsq_poll block(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    if (!buffer) atomic_fetch_add(&without, 1);
    wsq_block_begin(ctx);
    atomic_fetch_add(&arrived, 1);
    while (atomic_load(&arrived) < TASKS) sched_yield(); /* so each one needs a thread */
    wsq_block_end(ctx);
    return WSQ_DONE;
}

int main(void) {
    struct threads threads = {.lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER};
    const wsq_hooks hooks = {.event = thread_event, .user = &threads,
                             .events = 1u << WSQ_EVENT_START | 1u << WSQ_EVENT_STOP};
    wsq_pool *pool;
    wsq_task tasks[TASKS];
    if (wsq_pool_create(&pool, &(wsq_config){.workers = WORKERS, .hooks = &hooks}) != WSQ_OK) return 1;
    wait_until_started(&threads, WORKERS);
    for (int i = 0; i < TASKS; i++) {
        wsq_task_init(&tasks[i], block);
        wsq_spawn(pool, &tasks[i]);
    }
    wsq_pool_wait(pool);
    wsq_pool_destroy(pool); /* all threads have ended */
    printf("%d threads\n", threads.started);
    return threads.started >= TASKS && threads.alive == 0 && without == 0 ? 0 : 1;
}
