/* A barrier for tasks: each task waits until all have come, and holds no worker meanwhile. So
 * there may be many more tasks than workers. (For bodies that must run at the same time: gang.c.)
 *     cc -O2 -pthread barrier.c -o barrier && ./barrier */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include <pthread.h>
#include <stdatomic.h>

enum { TASKS = 50, PHASES = 200 };

struct party { /* one for each task */
    wsq_task *task;
    struct party *next;
    bool waits;
    unsigned phase; /* in which it came */
};

struct barrier {
    pthread_mutex_t lock; /* guards the rest, and the parties */
    unsigned size, come, phase;
    struct party *waiting;
};

/* True: all have come. False: the task must return WSQ_PENDING, and call again when it runs. */
static bool barrier_arrive(struct barrier *self, struct party *party) {
    pthread_mutex_lock(&self->lock);
    if (!party->waits) {
        party->phase = self->phase;
        party->waits = true;
        party->next = self->waiting;
        self->waiting = party;
        if (++self->come == self->size) {
            self->come = 0;
            self->phase++;
            for (; self->waiting; self->waiting = self->waiting->next) {
                if (self->waiting != party) wsq_wake(self->waiting->task);
            }
        }
    }
    bool open = party->phase != self->phase;
    if (open) party->waits = false;
    pthread_mutex_unlock(&self->lock);
    return open;
}

/* ---- the check: a task that passes the barrier finds that all have come ---- */

static struct barrier barrier = {.lock = PTHREAD_MUTEX_INITIALIZER, .size = TASKS};
static struct member { wsq_task task; struct party party; int phase; bool counted; } members[TASKS];
static atomic_int counts[PHASES], errors;

static wsq_poll member_run(wsq_ctx ctx, wsq_task *task) {
    struct member *self = wsq_container_of(task, struct member, task);
    (void)ctx;
    for (; self->phase < PHASES; self->phase++, self->counted = false) {
        if (!self->counted) atomic_fetch_add(&counts[self->phase], 1);
        self->counted = true; /* whatever wakes it, it counts once */
        if (!barrier_arrive(&barrier, &self->party)) return WSQ_PENDING;
        if (atomic_load(&counts[self->phase]) != TASKS) atomic_fetch_add(&errors, 1);
    }
    return WSQ_DONE;
}

int main(void) {
    wsq_pool *pool;
    if (wsq_pool_create(&pool, &(wsq_config){.workers = 4}) != WSQ_OK) return 1;
    for (int i = 0; i < TASKS; i++) members[i].party.task = &members[i].task;
    for (int i = 0; i < TASKS; i++) members[i].task.fn = member_run;
    for (int i = 0; i < TASKS; i++) wsq_spawn(pool, &members[i].task);
    wsq_pool_destroy(pool); /* waits for the tasks */
    printf("%d tasks, %d phases, too early: %d\n", TASKS, PHASES, errors);
    return errors == 0 && counts[PHASES - 1] == TASKS ? 0 : 1;
}
