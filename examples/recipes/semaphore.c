/* A semaphore for tasks: they wait for a permit in the order in which they came, and hold no worker.
 *     cc -O2 -pthread semaphore.c -o semaphore && ./semaphore
 * A task that waits must not be cancelled: its waiter stays linked (see wsq_channel_leave). */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include <pthread.h>
#include <stdatomic.h>

struct waiter {
    wsq_task *task;
    struct waiter *next;
    enum { NOT_WAITING, WAITING, GRANTED } state;
};

struct semaphore {
    pthread_mutex_t lock; /* guards the rest, and the waiters' states */
    unsigned permits;
    struct waiter *first, **last; /* last: where the next one is linked, &first at the beginning */
};

/* True: the task has a permit. False: it must return WSQ_PENDING, and call again when it runs. */
static bool semaphore_take(struct semaphore *self, struct waiter *waiter) {
    pthread_mutex_lock(&self->lock);
    if (waiter->state == NOT_WAITING) {
        waiter->state = self->permits > 0 ? GRANTED : WAITING;
        waiter->next = NULL;
        if (waiter->state == GRANTED) self->permits--;
        else *self->last = waiter, self->last = &waiter->next;
    }
    bool mine = waiter->state == GRANTED;
    if (mine) waiter->state = NOT_WAITING;
    pthread_mutex_unlock(&self->lock);
    return mine;
}

/* Any thread. */
static void semaphore_give(struct semaphore *self) {
    pthread_mutex_lock(&self->lock);
    struct waiter *waiter = self->first;
    if (waiter) {
        if (!(self->first = waiter->next)) self->last = &self->first;
        waiter->state = GRANTED;
        wsq_wake(waiter->task);
    } else {
        self->permits++;
    }
    pthread_mutex_unlock(&self->lock);
}

/* ---- the check: 300 tasks, each in two steps while it has one of 3 permits ---- */

enum { TASKS = 300, PERMITS = 3 };
static struct semaphore semaphore = {PTHREAD_MUTEX_INITIALIZER, PERMITS, NULL, &semaphore.first};
static struct user { wsq_task task; struct waiter waiter; bool holds; } users[TASKS];
static atomic_int holders, errors;

static wsq_poll use(wsq_ctx ctx, wsq_task *task) {
    struct user *self = wsq_container_of(task, struct user, task);
    (void)ctx;
    if (!self->holds) {
        self->holds = semaphore_take(&semaphore, &self->waiter);
        if (!self->holds) return WSQ_PENDING;
        if (atomic_fetch_add(&holders, 1) >= PERMITS) errors++;
        return WSQ_YIELD; /* others run, but at most two of them have a permit, too */
    }
    atomic_fetch_sub(&holders, 1);
    semaphore_give(&semaphore);
    return WSQ_DONE;
}

int main(void) {
    wsq_pool *pool;
    if (wsq_pool_create(&pool, &(wsq_config){.workers = 4}) != WSQ_OK) return 1;
    for (int i = 0; i < TASKS; i++) {
        users[i] = (struct user){.task.fn = use, .waiter.task = &users[i].task};
        wsq_spawn(pool, &users[i].task);
    }
    wsq_pool_destroy(pool); /* waits for the tasks */
    return errors == 0 && semaphore.permits == PERMITS ? 0 : 1;
}
