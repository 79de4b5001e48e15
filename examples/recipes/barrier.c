/* A barrier for tasks: each task waits until all have come, and holds no worker meanwhile. So
 * there may be many more tasks than workers. (For bodies that must run at the same time: gang.c.)
 *     cc -O2 -pthread barrier.c -o barrier && ./barrier */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include <pthread.h>

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

/* ---- the check: cells that spread to their neighbours, phase by phase ---- */

static struct barrier barrier = {.lock = PTHREAD_MUTEX_INITIALIZER, .size = TASKS};
static struct cell {
    wsq_task task;
    struct party party;
    unsigned phase;
    bool computed;
} cells[TASKS];
static uint64_t values[2][TASKS], check[2][TASKS];

static uint64_t spread(const uint64_t *from, int i) {
    return from[(i + TASKS - 1) % TASKS] + 3 * from[i] + from[(i + 1) % TASKS];
}

static wsq_poll cell_run(wsq_ctx ctx, wsq_task *task) {
    struct cell *self = wsq_container_of(task, struct cell, task);
    (void)ctx;
    for (; self->phase < PHASES; self->phase++, self->computed = false) {
        int i = (int)(self - cells);
        if (!self->computed) values[(self->phase + 1) % 2][i] = spread(values[self->phase % 2], i);
        self->computed = true; /* whatever wakes it, it computes once */
        if (!barrier_arrive(&barrier, &self->party)) return WSQ_PENDING;
    }
    return WSQ_DONE;
}

int main(void) {
    wsq_pool *pool;
    int errors = 0;
    if (wsq_pool_create(&pool, &(wsq_config){.workers = 4}) != WSQ_OK) return 1;
    values[0][7] = check[0][7] = 1;
    for (int i = 0; i < TASKS; i++) {
        cells[i].party.task = &cells[i].task;
        wsq_task_init(&cells[i].task, cell_run);
    }
    for (int i = 0; i < TASKS; i++) wsq_spawn(pool, &cells[i].task);
    wsq_pool_wait(pool);
    wsq_pool_destroy(pool);
    for (int phase = 0; phase < PHASES; phase++) {
        for (int i = 0; i < TASKS; i++) check[(phase + 1) % 2][i] = spread(check[phase % 2], i);
    }
    for (int i = 0; i < TASKS; i++) errors += values[PHASES % 2][i] != check[PHASES % 2][i];
    printf("%d tasks, %d phases, wrong cells: %d\n", TASKS, PHASES, errors);
    return errors ? 1 : 0;
}
