/* A pool that stops while a function of it blocks elsewhere, in a wait in another pool or in the
 * system, until a task is cancelled that is queued behind it: a stand-in does that. */
#include "explore_small.h"
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include "explore_items.h"

static wsq_pool *other;
static int cleaned; /* the gate of 0 and of what ends its call */
static int started; /* 0 has */

/* Task 1, in the other pool: what it waits for is cancelled. */
static wsq_poll run_there(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    wsq_result result = wsq_task_wait(&items[2].task);
    explore_check(result == (items[2].cleaned ? WSQ_ERR_CANCELLED : WSQ_OK));
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

/* Task 0, when its pool stops, or just before. */
static wsq_poll run_waiting(wsq_ctx ctx, wsq_task *task) {
    for (int i = explore_choose(8) ? -1 : 20; i != 0 && !wsq_cancelled(ctx); i--) wsqi_pause();
    explore_check(wsq_spawn(other, &items[1].task) == WSQ_OK);
    explore_check(wsq_task_wait(&items[1].task) == WSQ_OK);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static wsq_poll run_blocking(wsq_ctx ctx, wsq_task *task) {
    started = 1;
    for (int i = explore_choose(8) ? -1 : 20; i != 0 && !wsq_cancelled(ctx); i--) wsqi_pause();
    wsq_block_begin(ctx);
    explore_meet(&cleaned, 2);
    wsq_block_end(ctx);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static wsq_poll clean_meeting(wsq_task *task) {
    if (started) explore_meet(&cleaned, 2);
    return clean_item(task);
}

/* Task 2, where it runs after all. */
static wsq_poll run_meeting(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    if (started) explore_meet(&cleaned, 2);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static void stops_beside(wsq_poll (*fn)(wsq_ctx ctx, wsq_task *task), bool waits) {
    wsq_task *both[] = {&items[0].task, &items[2].task};
    wsq_config config = {.max_standins = 1};
    cleaned = started = 0;
    begin(1, config);
    other = waits ? explore_pool_make(1, config) : NULL;
    items[0].task.fn = fn;
    items[1].task.fn = run_there;
    if (!waits) items[2].task.fn = run_meeting;
    if (!waits) wsq_task_set_cleanup(&items[2].task, clean_meeting);
    explore_check(wsq_spawn_batch(pool, both, 2) == WSQ_OK);
    explore_check(wsq_pool_shutdown(pool, WSQ_CANCEL) == WSQ_OK);
    explore_check(items[2].cleaned + items[2].done == 1);
    if (waits) wsq_pool_destroy(other);
    explore_pool_end(pool);
}

static void waits_in_another_pool(void) {
    stops_beside(run_waiting, true);
}

static void blocks_in_the_system(void) {
    stops_beside(run_blocking, false);
}

int main(void) {
    explore_random("abroad: waits in another pool", waits_in_another_pool, 2000);
    explore_random("abroad: blocks in the system", blocks_in_the_system, 2000);
    return explore_end();
}
