/* How do I give a request with sub-requests a deadline, and let its first error end it?
 *     cc -O2 -pthread request.c -o request && ./request
 *
 * A request is a tree: each step has a group of its own for the steps that it starts, and waits
 * for it. wsq_group_set_parent puts that group below the caller's. So one wsq_group_cancel at the
 * top reaches every step, and each still waits for the steps whose memory lies on its stack. (A
 * step that is pending must be woken after the cancel. Otherwise the last wait does not end.)
 *
 * The thread that waits, a worker or not, cancels the top at the deadline. A step that fails
 * cancels it, too. Which of the two came first is the group's error. (If no thread waits, a task
 * with a wsq_timer can cancel the top; but it starts only when a worker is between two tasks.) */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"

enum { LATE = 1, BROKEN = 2 };

static void request_end(wsq_group *top, int error) {
    wsq_group_fail(top, error); /* the first error counts */
    wsq_group_cancel(top);
}

/* One step of it, with two steps below until `depth` is 0. */
struct step {
    wsq_task task;
    wsq_group *top, *above;
    int depth, error; /* error: the first leaf breaks */
    bool slow;
};

static wsq_poll step_run(wsq_ctx ctx, wsq_task *task) {
    struct step *self = wsq_container_of(task, struct step, task);
    if (self->depth == 0) {
        if (self->error != 0) request_end(self->top, self->error);
        while (self->slow && !wsq_cancelled(ctx)) {} /* a long computation asks now and then */
        return WSQ_DONE;
    }
    struct step below[2] = {*self, *self};
    wsq_group group;
    wsq_group_init(&group, wsq_pool_of(ctx));
    wsq_group_set_parent(&group, self->above);
    for (int i = 0; i < 2; i++) {
        below[i].above = &group;
        below[i].depth--;
        if (i != 0) below[i].error = 0;
        wsq_task_init(&below[i].task, step_run);
        wsq_group_spawn(&group, &below[i].task); /* refused if it is all over already */
    }
    wsq_group_wait(&group); /* afterwards nothing uses `below` and `group`, cancelled or not */
    return WSQ_DONE;
}

/* Returns 0, LATE or BROKEN. */
static int request(wsq_pool *pool, uint64_t limit_ns, struct step root) {
    wsq_group top;
    wsq_group_init(&top, pool);
    root.task.fn = step_run;
    root.top = root.above = &top;
    wsq_group_spawn(&top, &root.task);
    if (wsq_group_wait_for(&top, limit_ns) == WSQ_ERR_TIMEOUT) request_end(&top, LATE);
    wsq_group_wait(&top); /* short: until the steps that run have noticed it */
    return wsq_group_error(&top);
}

/* A task, too, may make a request, and wait for it. */
static void *slow_request(void *pool) {
    return request(pool, 20000000, (struct step){.depth = 3, .slow = true}) == LATE ? pool : NULL;
}

int main(void) {
    wsq_pool *pool;
    wsq_future *slow;
    void *late = NULL;
    if (wsq_pool_create(&pool, &(wsq_config){.workers = 2}) != WSQ_OK) return 1;
    int quick = request(pool, WSQ_FOREVER, (struct step){.depth = 3});
    int broken = request(pool, WSQ_FOREVER, (struct step){.depth = 3, .slow = true, .error = BROKEN});
    if (wsq_submit(pool, slow_request, pool, &slow) == WSQ_OK) wsq_future_get(slow, &late);
    wsq_pool_destroy(pool);
    printf("quick: %d, slow: %s, broken: %d\n", quick, late != NULL ? "late" : "?", broken);
    return quick == 0 && late != NULL && broken == BROKEN ? 0 : 1;
}
