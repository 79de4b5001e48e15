/* The other file of inline_one.c. */
#ifdef NOT_INLINE
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#else
#define WSQ_INLINE
#endif
#include "../../../wsq.h"

#ifdef __cplusplus
extern "C" {
#endif
int wait_elsewhere(wsq_pool *pool, wsq_task *first);
#ifdef __cplusplus
}
#endif

typedef struct waiter {
    wsq_task task;
    wsq_task *first;
    wsq_result result;
} waiter;

/* On a worker, a spawn goes to its own queue, and a wait runs the task from there. */
static wsq_poll waiter_run(wsq_ctx ctx, wsq_task *task) {
    waiter *self = wsq_container_of(task, waiter, task);
    self->result = wsq_spawn(wsq_pool_of(ctx), self->first);
    if (self->result == WSQ_OK) self->result = wsq_task_wait(self->first);
    return WSQ_DONE;
}

int wait_elsewhere(wsq_pool *pool, wsq_task *first) {
    waiter self;
    self.first = first;
    self.result = WSQ_ERR_INVALID;
    wsq_task_init(&self.task, waiter_run);
    if (wsq_spawn(pool, &self.task) != WSQ_OK) return 2;
    if (wsq_task_wait(&self.task) != WSQ_OK) return 3;
    return self.result == WSQ_OK ? 0 : 4;
}
