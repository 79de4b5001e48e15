/* How do I make a submitter wait when too much is queued (backpressure, a bounded queue)?
 *     cc -O2 -pthread bounded.c -o bounded && ./bounded
 *
 * A counting semaphore in front of the spawn: a thread outside waits until one of at most ROOM
 * tasks has ended. (A task must not wait this way, since it would hold its worker: see semaphore.c
 * and channel.c. To refuse instead of waiting: limit.c. A queue that does both, as a file to copy:
 * wsq_queue.h, in the folder above.) */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { ROOM = 8, TASKS = 2000 };

static wsq_pool *pool;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static pthread_cond_t freed = PTHREAD_COND_INITIALIZER;
static int used, most;
static atomic_int ran;

/* The task has run, or was cancelled (its cleanup), or was refused. */
static wsq_poll item_end(wsq_task *task) {
    pthread_mutex_lock(&lock);
    used--;
    pthread_cond_signal(&freed);
    pthread_mutex_unlock(&lock);
    free(task);
    return WSQ_GONE; /* the task has freed itself */
}

static wsq_poll item_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    atomic_fetch_add(&ran, 1);
    return item_end(task);
}

/* A thread outside calls this. It waits while ROOM tasks are queued or running. */
static bool submit(void) {
    wsq_task *task = calloc(1, sizeof *task);
    if (task == NULL) return false;
    wsq_task_init(task, item_run);
    wsq_task_set_cleanup(task, item_end);
    pthread_mutex_lock(&lock);
    while (used == ROOM) pthread_cond_wait(&freed, &lock);
    if (++used > most) most = used;
    pthread_mutex_unlock(&lock);
    if (wsq_spawn(pool, task) == WSQ_OK) return true;
    item_end(task);
    return false;
}

int main(void) {
    if (wsq_pool_create(&pool, &(wsq_config){.workers = 2}) != WSQ_OK) return 1;
    for (int i = 0; i < TASKS; i++)
        if (!submit()) return 1;
    wsq_pool_destroy(pool);
    printf("%d tasks ran, at most %d were queued or running\n", ran, most);
    return ran == TASKS && most <= ROOM ? 0 : 1;
}
