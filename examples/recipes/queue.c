/* How do I replace my queue and its threads?
 *     cc -O2 -pthread queue.c -o queue && ./queue
 *
 * With WSQ_SHARED the tasks of one thread start in the order of its submits, as in a queue. wsq_go
 * is the submit, wsq_pool_wait the "wait until idle", wsq_pool_destroy the "drain and join". The
 * calls may block: n of them on n workers keep the next one waiting, as before. (For a queue with
 * a bound, or one to purge, pause or resize: wsq_queue.h, in the folder above.) */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include <pthread.h>

enum { CALLS = 1000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static int order[CALLS], count;

static void work(void *arg) {
    pthread_mutex_lock(&lock);
    order[count++] = (int)(intptr_t)arg;
    pthread_mutex_unlock(&lock);
}

int main(void) {
    wsq_pool *pool;
    wsq_config config = {.workers = 4, .order = WSQ_SHARED, .name = "work"};
    int far = 0;
    if (wsq_pool_create(&pool, &config) != WSQ_OK) return 1;
    for (int i = 0; i < CALLS; i++) wsq_go(pool, work, (void *)(intptr_t)i);
    wsq_pool_wait(pool);
    wsq_pool_destroy(pool);
    for (int i = 0; i < CALLS; i++) /* four at a time: one may take the lock first */
        if (order[i] - i > far) far = order[i] - i;
    printf("%d calls, at most %d ahead of their turn\n", count, far);
    return count == CALLS ? 0 : 1;
}
