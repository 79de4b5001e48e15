/* How do I give tasks priorities, and avoid that an urgent one waits for a slow one (inversion)?
 *     cc -O2 -pthread priority.c -o priority && ./priority
 *
 * A WSQ_HIGH task runs next, but never interrupts a task: keep the others short, or let them
 * return WSQ_YIELD. An urgent task must not wait for a WSQ_LOW one that has not started; here it
 * depends on one, which is spawned with the priority of the task that needs it. */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"

struct step {
    wsq_task task;
    int place; /* in which it ran */
};

static int count;

static wsq_poll step_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    wsq_container_of(task, struct step, task)->place = ++count;
    return WSQ_DONE;
}

int main(void) {
    enum { LOW = 10 };
    struct step low[LOW], needed = {.task.fn = step_run}, urgent = {.task.fn = step_run};
    wsq_edge edge;
    wsq_pool *pool;
    /* The caller runs all, so that the order can be checked; with workers it is the same call. */
    if (wsq_pool_create(&pool, &(wsq_config){.caller_runs = true}) != WSQ_OK) return 1;
    for (int i = 0; i < LOW; i++) {
        low[i] = (struct step){.task.fn = step_run};
        wsq_task_set_priority(&low[i].task, WSQ_LOW);
        wsq_spawn(pool, &low[i].task);
    }
    wsq_task_set_priority(&urgent.task, WSQ_HIGH);
    wsq_task_set_priority(&needed.task, WSQ_HIGH); /* as the task that needs it */
    wsq_task_after(&urgent.task, &needed.task, &edge);
    wsq_spawn(pool, &urgent.task);
    wsq_spawn(pool, &needed.task);
    wsq_pool_wait(pool);
    wsq_pool_destroy(pool);
    printf("needed ran at %d, urgent at %d, the low ones after\n", needed.place, urgent.place);
    return needed.place == 1 && urgent.place == 2 ? 0 : 1;
}
