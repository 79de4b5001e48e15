/* Wake: a task that waits for another thread without holding a worker.
 *     cc -O2 -pthread 02_wake.c -o wake && ./wake
 *
 * A function that returns WSQ_PENDING is called again, from its first line, after wsq_wake. So
 * what it must remember lives in its struct, not in its local variables. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include <pthread.h>
#include <time.h>

struct meter {
    pthread_mutex_t lock; /* guards the three below: the sensor writes, the task reads */
    double latest;
    bool fresh;
    bool closed;
    double sum; /* the task's own */
    int count;
    wsq_task task;
};

static wsq_poll read_meter(wsq_ctx ctx, wsq_task *task) {
    struct meter *self = wsq_container_of(task, struct meter, task);
    pthread_mutex_lock(&self->lock);
    double value = self->latest;
    bool fresh = self->fresh, closed = self->closed;
    self->fresh = false;
    pthread_mutex_unlock(&self->lock);

    if (fresh) {
        self->sum += value;
        self->count++;
        printf("worker %u: reading %.1f, mean %.2f\n", wsq_worker_index(ctx), value,
               self->sum / self->count);
    }
    /* A wake that came since the lock was released is not lost: the task runs again at once. */
    return closed ? WSQ_DONE : WSQ_PENDING;
}

/* Any thread of any library: all that it needs to know is the task. */
static void *sensor(void *arg) {
    struct meter *meter = arg;
    for (int i = 0; i < 6; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 50 * 1000 * 1000}, NULL);
        pthread_mutex_lock(&meter->lock);
        meter->latest = 20 + i * i % 5;
        meter->fresh = true;
        meter->closed = i == 5;
        pthread_mutex_unlock(&meter->lock);
        wsq_wake(&meter->task);
    }
    return NULL;
}

int main(void) {
    struct meter meter = {.lock = PTHREAD_MUTEX_INITIALIZER};
    wsq_pool *pool;
    pthread_t thread;
    if (wsq_pool_create(&pool, NULL) != WSQ_OK) return 1;

    wsq_task_init(&meter.task, read_meter);
    wsq_spawn(pool, &meter.task);
    if (pthread_create(&thread, NULL, sensor, &meter) != 0) return 1;

    pthread_join(thread, NULL);
    wsq_task_wait(&meter.task); /* this one task, whatever else the pool does */
    wsq_pool_destroy(pool);
    return meter.count > 0 ? 0 : 1;
}
