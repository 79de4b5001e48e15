/* A limit for a class of tasks: at most so many run at the same time, at most so many wait; one
 * more is refused. And one that waits can be called off, with an answer.
 *     cc -O2 -pthread limit.c -o limit && ./limit
 *
 * For calls to a server that takes so many at once, or work that needs much memory. Only those that
 * may run are in the pool's queues; each that ends sends the next. */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

struct limit;
struct limited {
    wsq_task task;
    void (*fn)(struct limited *self);
    struct limit *limit;
    struct limited *next;
};

struct limit {
    wsq_pool *pool;
    unsigned most_running, most_waiting;
    pthread_mutex_t lock; /* guards the rest */
    unsigned running, waiting;
    struct limited *first, **last; /* last: where the next one is linked */
};

static void limit_init(struct limit *self, wsq_pool *pool, unsigned running, unsigned waiting) {
    *self = (struct limit){pool, running, waiting, .last = &self->first};
    pthread_mutex_init(&self->lock, NULL);
}

static wsq_poll limited_run(wsq_ctx ctx, wsq_task *task) {
    struct limited *self = wsq_container_of(task, struct limited, task);
    struct limit *limit = self->limit;
    (void)ctx;
    self->fn(self);
    pthread_mutex_lock(&limit->lock);
    struct limited *next = limit->first;
    if (next) {
        limit->first = next->next;
        if (!limit->first) limit->last = &limit->first;
        limit->waiting--;
    } else {
        limit->running--;
    }
    pthread_mutex_unlock(&limit->lock);
    if (next) wsq_spawn(limit->pool, &next->task);
    return WSQ_DONE;
}

/* Any thread. False: there are too many, or the pool is shutting down; the task stays yours. */
static bool limit_spawn(struct limit *self, struct limited *task, void (*fn)(struct limited *)) {
    *task = (struct limited){.fn = fn, .limit = self};
    wsq_task_init(&task->task, limited_run);
    pthread_mutex_lock(&self->lock);
    bool run = self->running < self->most_running;
    bool wait = !run && self->waiting < self->most_waiting;
    if (run) self->running++;
    if (wait) {
        *self->last = task;
        self->last = &task->next;
        self->waiting++;
    }
    pthread_mutex_unlock(&self->lock);
    if (!run || wsq_spawn(self->pool, &task->task) == WSQ_OK) return run || wait;
    pthread_mutex_lock(&self->lock);
    self->running--;
    pthread_mutex_unlock(&self->lock);
    return false;
}

/* True: it will never run, and is yours. False: too late. */
static bool limit_cancel(struct limit *self, struct limited *task) {
    pthread_mutex_lock(&self->lock);
    struct limited **link = &self->first;
    while (*link && *link != task) link = &(*link)->next;
    bool found = *link != NULL;
    if (found) {
        *link = task->next;
        if (!*link) self->last = link;
        self->waiting--;
    }
    pthread_mutex_unlock(&self->lock);
    return found;
}

/* ---- the check ---- */

enum { TASKS = 2000, RUNNING = 2, WAITING = 50 };
static struct limited tasks[TASKS];
static atomic_int now, most, ran;

static void work(struct limited *self) {
    int n = 1 + atomic_fetch_add(&now, 1), seen = atomic_load(&most);
    (void)self;
    while (n > seen && !atomic_compare_exchange_weak(&most, &seen, n)) {}
    for (volatile int i = 0; i < 2000; i++) {}
    atomic_fetch_add(&ran, 1);
    atomic_fetch_sub(&now, 1);
}

int main(void) {
    int refused = 0, cancelled = 0;
    struct limit limit;
    wsq_pool *pool;
    if (wsq_pool_create(&pool, &(wsq_config){.workers = 4}) != WSQ_OK) return 1;
    limit_init(&limit, pool, RUNNING, WAITING);
    for (int i = 0; i < TASKS; i++) {
        bool taken = limit_spawn(&limit, &tasks[i], work);
        if (taken && i % 10 == 0 && limit_cancel(&limit, &tasks[i])) cancelled++;
        if (!taken) {
            refused++;
            nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL); /* soon there is room */
        }
    }
    wsq_pool_wait(pool);
    wsq_pool_destroy(pool);
    printf("%d ran, at most %d at once; %d refused, %d called off\n", ran, most, refused,
           cancelled);
    return ran + refused + cancelled == TASKS && most <= RUNNING && limit.running == 0 ? 0 : 1;
}
