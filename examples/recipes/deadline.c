/* How do I give a request a deadline, and cancel all that it has started?
 *     cc -O2 -pthread deadline.c -o deadline && ./deadline
 *
 * All tasks of the request are in one group, tasks that its tasks spawn included. The wait has a
 * limit. When it is reached, wsq_group_cancel stops what has not started, and a task that runs
 * asks wsq_cancelled now and then. A last wait makes sure that nothing of the request is left. */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include <stdatomic.h>

enum { PARTS = 100 };

static atomic_int finished, stopped;

static wsq_poll part_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    for (volatile int round = 0; round < 100000; round++) {
        if (round % 1000 != 0 || !wsq_cancelled(ctx)) continue;
        atomic_fetch_add(&stopped, 1);
        return WSQ_DONE;
    }
    atomic_fetch_add(&finished, 1);
    return WSQ_DONE;
}

/* Returns WSQ_OK, or WSQ_ERR_TIMEOUT after `limit_ns`. */
static wsq_result request(wsq_pool *pool, uint64_t limit_ns) {
    static wsq_task parts[PARTS];
    wsq_group group;
    wsq_result result;
    wsq_group_init(&group, pool);
    for (int i = 0; i < PARTS; i++) {
        wsq_task_init(&parts[i], part_run);
        wsq_group_spawn(&group, &parts[i]);
    }
    result = wsq_group_wait_for(&group, limit_ns);
    if (result != WSQ_ERR_TIMEOUT) return result;
    wsq_group_cancel(&group);
    /* Short: until the tasks that run have noticed it. Then no task of the group is left, and
     * `group` may go. (None is pending here. One that is must be woken, or this waits on.) */
    wsq_group_wait(&group);
    return WSQ_ERR_TIMEOUT;
}

int main(void) {
    wsq_pool *pool;
    int right = 0;
    if (wsq_pool_create(&pool, &(wsq_config){.workers = 2}) != WSQ_OK) return 1;
    right += request(pool, WSQ_FOREVER) == WSQ_OK && finished == PARTS;
    right += request(pool, 0) == WSQ_ERR_TIMEOUT && finished + stopped < 2 * PARTS;
    wsq_pool_destroy(pool);
    printf("%d parts finished, %d stopped early, the others never began\n", finished, stopped);
    return right == 2 ? 0 : 1;
}
