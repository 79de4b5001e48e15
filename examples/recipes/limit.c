/* How do I allow at most n tasks of a kind (4 downloads, say) at the same time?
 *     cc -O2 -pthread limit.c -o limit && ./limit
 *
 * Each task that ends spawns the next one. At most RUNNING run and WAITING wait; more are refused.
 * If `fn` blocks, it does so between wsq_block_begin(ctx) and wsq_block_end(ctx), and so holds no
 * worker. End the pool with WSQ_DRAIN: a WSQ_CANCEL would forget the tasks that wait here. */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { RUNNING = 4, WAITING = 50 };

struct limited {
    wsq_task task;
    void (*fn)(wsq_ctx ctx, struct limited *self);
    struct limited *next;
};

static wsq_pool *pool;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static unsigned running, waiting;
static struct limited *first, **last = &first; /* last: where the next one is linked */

static wsq_poll limited_run(wsq_ctx ctx, wsq_task *task) {
    struct limited *self = wsq_container_of(task, struct limited, task), *next;
    self->fn(ctx, self);
    pthread_mutex_lock(&lock);
    next = first;
    if (next && !(first = next->next)) last = &first;
    if (next) waiting--;
    else running--;
    pthread_mutex_unlock(&lock);
    if (next) wsq_spawn(pool, &next->task);
    return WSQ_DONE;
}

/* Any thread. False: too many wait already, or the pool shuts down; the task stays yours. */
static bool limited_spawn(struct limited *self, void (*fn)(wsq_ctx, struct limited *)) {
    *self = (struct limited){.task = {.fn = limited_run}, .fn = fn};
    pthread_mutex_lock(&lock);
    bool runs = running < RUNNING, waits = !runs && waiting < WAITING;
    if (runs) running++;
    if (waits) *last = self, last = &self->next, waiting++;
    pthread_mutex_unlock(&lock);
    if (!runs || wsq_spawn(pool, &self->task) == WSQ_OK) return runs || waits;
    pthread_mutex_lock(&lock);
    running--;
    pthread_mutex_unlock(&lock);
    return false;
}

/* ---- the check ---- */

enum { TASKS = 2000 };
static struct limited tasks[TASKS];
static atomic_int now, most, ran;

static void work(wsq_ctx ctx, struct limited *self) {
    int n = 1 + atomic_fetch_add(&now, 1), seen = atomic_load(&most);
    (void)self;
    while (n > seen && !atomic_compare_exchange_weak(&most, &seen, n)) {}
    wsq_block_begin(ctx);
    while (atomic_load(&most) < RUNNING) sched_yield(); /* so many do run at the same time */
    wsq_block_end(ctx);
    atomic_fetch_add(&ran, 1);
    atomic_fetch_sub(&now, 1);
}

int main(void) {
    int refused = 0;
    if (wsq_pool_create(&pool, &(wsq_config){.workers = 2}) != WSQ_OK) return 1;
    for (int i = 0; i < TASKS; i++)
        for (; !limited_spawn(&tasks[i], work); refused++) sched_yield(); /* soon there is room */
    wsq_pool_wait(pool);
    wsq_pool_destroy(pool);
    printf("%d ran, at most %d at once; %d times refused\n", ran, most, refused);
    return ran == TASKS && most == RUNNING && running + waiting == 0 ? 0 : 1;
}
