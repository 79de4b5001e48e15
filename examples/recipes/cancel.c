/* To call off one task, with an answer at once: "it will not run", or "too late".
 *     cc -O2 -pthread cancel.c -o cancel && ./cancel
 *
 * wsq_task_cancel only asks for it; wsq_task_wait tells what has become of it. Here the task and
 * the thread that calls it off compete for one word, and the first one decides. A task that was
 * called off still goes through the queue, where it does nothing: its memory must stay until it is
 * done. (Many at once: wsq_group_cancel, see 07_groups.c.) */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include <stdatomic.h>

enum decision { OPEN, STARTED, CANCELLED };

struct cancellable {
    wsq_task task;
    void (*fn)(struct cancellable *self);
    _Atomic enum decision decision;
};

static wsq_poll cancellable_run(wsq_ctx ctx, wsq_task *task) {
    struct cancellable *self = wsq_container_of(task, struct cancellable, task);
    enum decision open = OPEN;
    (void)ctx;
    if (atomic_compare_exchange_strong(&self->decision, &open, STARTED)) self->fn(self);
    return WSQ_DONE;
}

static wsq_result cancellable_spawn(wsq_pool *pool, struct cancellable *self,
                                    void (*fn)(struct cancellable *)) {
    self->fn = fn;
    atomic_store(&self->decision, OPEN);
    wsq_task_init(&self->task, cancellable_run);
    return wsq_spawn(pool, &self->task);
}

/* Any thread. True: its function will never be called. False: it has been, or is being called. */
static bool cancellable_cancel(struct cancellable *self) {
    enum decision open = OPEN;
    return atomic_compare_exchange_strong(&self->decision, &open, CANCELLED);
}

/* ---- the check: each of many tasks is either called off, or runs ---- */

enum { TASKS = 20000 };
static struct cancellable tasks[TASKS];
static bool ran[TASKS], called_off[TASKS];

static void work(struct cancellable *self) {
    for (volatile int i = 0; i < 300; i++) {}
    ran[self - tasks] = true;
}

int main(void) {
    int both_or_neither = 0, cancelled = 0;
    wsq_pool *pool;
    if (wsq_pool_create(&pool, &(wsq_config){.workers = 2}) != WSQ_OK) return 1;
    for (int i = 0; i < TASKS; i++) {
        if (cancellable_spawn(pool, &tasks[i], work) != WSQ_OK) return 1;
    }
    wsq_task_wait(&tasks[TASKS / 4].task); /* the others may be called off, from the last one on */
    for (int i = TASKS - 1; i >= 0; i--) called_off[i] = cancellable_cancel(&tasks[i]);
    wsq_pool_wait(pool);
    wsq_pool_destroy(pool);
    for (int i = 0; i < TASKS; i++) {
        cancelled += called_off[i];
        both_or_neither += called_off[i] == ran[i];
    }
    printf("%d tasks, %d of them called off in time\n", TASKS, cancelled);
    return both_or_neither ? 1 : 0;
}
