/* The lanes in the explorer: tasks of high and low priority and pinned ones, against sleep, waits and
 * shutdown. */
#include "explore_small.h"
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include "explore_items.h"

static void spawn_as(int i, wsq_priority priority) {
    explore_check(wsq_task_set_priority(&items[i].task, priority) == WSQ_OK);
    spawn(i);
}

static void low_1(void *arg) {
    (void)arg;
    spawn_as(1, WSQ_LOW);
}

/* They run side by side: a worker that goes to sleep forgets no queue. */
static void high_and_low(void) {
    begin(2, plain);
    items[0].company = items[1].company = 2;
    if (explore_choose(2)) explore_wait_quiet();
    explore_start(low_1, NULL);
    spawn_as(0, WSQ_HIGH);
    end(2);
}

static void pinned_1(void *arg) {
    (void)arg;
    explore_check(wsq_spawn_on(pool, 1, &items[1].task) == WSQ_OK);
}

/* Each has its worker, asleep or not. */
static void pinned(void) {
    begin(2, plain);
    items[0].company = items[1].company = 2;
    if (explore_choose(2)) explore_wait_quiet();
    explore_start(pinned_1, NULL);
    explore_check(wsq_spawn_on(pool, 0, &items[0].task) == WSQ_OK);
    end(2);
}

/* A pinned one among others, which may be woken for it. */
static void pinned_and_plain(void) {
    begin(2, plain);
    items[1].waits = true;
    explore_check(wsq_spawn_on(pool, (unsigned)explore_choose(2), &items[1].task) == WSQ_OK);
    if (explore_choose(2)) explore_wait_quiet();
    explore_start(spawner, (void *)(uintptr_t)&number[0]);
    send(1);
    end(2);
}

/* Its worker is in the middle of a task, which waits for it. */
static wsq_poll run_waiting(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    explore_check(wsq_task_wait(&items[1].task) == WSQ_OK);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static void pinned_to_who_waits(void) {
    begin(1, plain);
    items[0].task.fn = run_waiting;
    items[1].waits = true;
    explore_check(wsq_spawn_on(pool, 0, &items[1].task) == WSQ_OK);
    explore_wait_quiet();
    spawn(0);
    if (explore_choose(2)) explore_wait_quiet();
    send(1);
    end(2);
}

/* What comes to an inbox, or another lane, after the workers have left is cancelled. */
static void pinned_against_shutdown(void) {
    begin(1, plain);
    items[0].waits = items[1].waits = true;
    bool high = explore_choose(2) != 0;
    for (int i = 0; i < 2; i++) {
        if (high) wsq_task_set_priority(&items[i].task, WSQ_HIGH);
        wsq_result result = high ? wsq_spawn(pool, &items[i].task) : wsq_spawn_on(pool, 0, &items[i].task);
        explore_check(result == WSQ_OK);
    }
    explore_wait_quiet();
    explore_start(send_0, NULL);
    explore_start(send_1, NULL);
    explore_check(wsq_pool_shutdown(pool, WSQ_CANCEL) == WSQ_OK);
    explore_wait_quiet();
    for (int i = 0; i < 2; i++) explore_check(items[i].done + items[i].cleaned == 1);
    explore_pool_end(pool);
}

int main(void) {
    explore_random("compose: high and low", high_and_low, 2000);
    explore_random("compose: pinned", pinned, 2000);
    explore_random("compose: pinned and plain", pinned_and_plain, 2000);
    explore_random("compose: pinned to who waits", pinned_to_who_waits, 1500);
    explore_random("compose: pinned against shutdown", pinned_against_shutdown, 3000);
    return explore_end();
}
