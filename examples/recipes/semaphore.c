/* A semaphore for tasks: a task that gets no permit waits without holding a worker.
 *     cc -O2 -pthread semaphore.c -o semaphore && ./semaphore
 *
 * A returned permit goes to the task that has waited longest, so no task starves. */
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
    struct waiter *first, **last; /* last: where the next one is linked */
};

static void semaphore_init(struct semaphore *self, unsigned permits) {
    *self = (struct semaphore){.permits = permits, .last = &self->first};
    pthread_mutex_init(&self->lock, NULL);
}

/* True: the task has a permit. False: it must return WSQ_PENDING, and call again when it runs. */
static bool semaphore_take(struct semaphore *self, struct waiter *waiter) {
    pthread_mutex_lock(&self->lock);
    bool mine = waiter->state == GRANTED;
    if (waiter->state == NOT_WAITING && self->permits > 0) {
        self->permits--;
        mine = true;
    } else if (waiter->state == NOT_WAITING) {
        waiter->next = NULL;
        *self->last = waiter;
        self->last = &waiter->next;
        waiter->state = WAITING;
    }
    if (mine) waiter->state = NOT_WAITING;
    pthread_mutex_unlock(&self->lock);
    return mine;
}

/* Any thread. */
static void semaphore_give(struct semaphore *self) {
    pthread_mutex_lock(&self->lock);
    struct waiter *waiter = self->first;
    if (waiter) {
        self->first = waiter->next;
        if (!self->first) self->last = &self->first;
        waiter->state = GRANTED;
        wsq_wake(waiter->task);
    } else {
        self->permits++;
    }
    pthread_mutex_unlock(&self->lock);
}

/* ---- the check: 300 tasks, each in three steps while it has one of 3 permits ---- */

enum { TASKS = 300, PERMITS = 3 };
static struct semaphore semaphore;
static struct user { wsq_task task; struct waiter waiter; int step; } users[TASKS];
static atomic_int holders, most, done;

static wsq_poll use(wsq_ctx ctx, wsq_task *task) {
    struct user *self = wsq_container_of(task, struct user, task);
    (void)ctx;
    if (self->step == 0) {
        if (!semaphore_take(&semaphore, &self->waiter)) return WSQ_PENDING;
        int now = 1 + atomic_fetch_add(&holders, 1), seen = atomic_load(&most);
        while (now > seen && !atomic_compare_exchange_weak(&most, &seen, now)) {}
    }
    if (++self->step < 3) return WSQ_YIELD; /* others run, but no more than two more get here */
    atomic_fetch_sub(&holders, 1);
    atomic_fetch_add(&done, 1);
    semaphore_give(&semaphore);
    return WSQ_DONE;
}

int main(void) {
    wsq_pool *pool;
    if (wsq_pool_create(&pool, &(wsq_config){.workers = 4}) != WSQ_OK) return 1;
    semaphore_init(&semaphore, PERMITS);
    for (int i = 0; i < TASKS; i++) {
        users[i].waiter.task = &users[i].task;
        wsq_task_init(&users[i].task, use);
        wsq_spawn(pool, &users[i].task);
    }
    wsq_pool_wait(pool);
    wsq_pool_destroy(pool);
    printf("%d tasks, at most %d at the same time had a permit\n", done, most);
    return done == TASKS && most <= PERMITS && semaphore.permits == PERMITS ? 0 : 1;
}
