/* How do I give a waiting task a time-out, and let it retry later?
 *     cc -O2 -pthread timeout.c -o timeout && ./timeout
 *
 * The task sets a timer and returns WSQ_PENDING. Either the answer wakes it, or the timer does:
 * wsq_timer_cancel returns true if the timer had not fired. After a time-out the task asks again,
 * and waits twice as long. (An answer may come, and wake the task, after the last time-out, too.
 * The task's memory stays until no answer can come.) */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include <stdatomic.h>

enum { FIRST_NS = 1000000, TRIES = 20 };

struct request {
    wsq_task task;
    wsq_timer timer;
    atomic_bool answered; /* the other side writes it, then wakes the task */
    bool asked;
    int tries, timeouts;
};

/* Stands for a server that answers only the third question. */
static void ask(struct request *self) {
    if (++self->tries < 3) return;
    atomic_store(&self->answered, true);
    wsq_wake(&self->task);
}

static wsq_poll request_run(wsq_ctx ctx, wsq_task *task) {
    struct request *self = wsq_container_of(task, struct request, task);
    bool in_time = wsq_timer_cancel(&self->timer);
    if (atomic_load(&self->answered)) return WSQ_DONE;
    if (self->asked && !in_time && ++self->timeouts == TRIES) return WSQ_DONE; /* gives up */
    self->asked = true;
    wsq_timer_set(wsq_pool_of(ctx), &self->timer, task, (uint64_t)FIRST_NS << self->timeouts);
    ask(self);
    return WSQ_PENDING;
}

int main(void) {
    struct request self = {.task.fn = request_run};
    wsq_pool *pool;
    if (wsq_pool_create(&pool, &(wsq_config){.workers = 2}) != WSQ_OK) return 1;
    wsq_spawn(pool, &self.task);
    wsq_task_wait(&self.task);
    wsq_pool_destroy(pool);
    printf("answered after %d tries and %d time-outs\n", self.tries, self.timeouts);
    return self.answered && self.tries == 3 && self.timeouts == 2 ? 0 : 1;
}
