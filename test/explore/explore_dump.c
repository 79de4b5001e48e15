/* A pool that is observed, in the explorer: dumps, with and without a list of the tasks, beside all that they look at;
 * hooks. Tasks, groups and futures are freed as soon as that is allowed, so a late look at them is reported. */
#include "explore_small.h"
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include "explore_groups.h"

static FILE *nowhere;
static int begun, ended; /* the explorer's own: calls of functions that the hook heard of */

static void hear(void *user, wsq_event event, unsigned worker, const void *subject, uint64_t value) {
    (void)subject, (void)value;
    explore_check(user == &begun && (worker == WSQ_OUTSIDE || worker < 64));
    begun += event == WSQ_EVENT_TASK_BEGIN;
    ended += event == WSQ_EVENT_TASK_END;
}

static const char *name_of(void *user, uintptr_t function) {
    explore_check(user == &begun);
    return function == (uintptr_t)run_item ? "run_item" : NULL;
}

static void dumper(void *arg) {
    (void)arg;
    for (int i = 1 + explore_choose(3); i > 0; i--) {
        wsq_pool_dump(pool, nowhere);
        wsqi_pause();
    }
}

static void begin_observed(unsigned workers) {
    static const wsq_hooks hooks = {.event = hear, .name = name_of, .user = &begun};
    wsq_config config = {.list_tasks = explore_choose(4) != 0};
    begun = ended = 0;
    if (explore_choose(2)) config.hooks = &hooks;
    begin_futures(workers, config);
    explore_check(wsq_group_init(&group, pool) == WSQ_OK);
}

/* Each function that was called has returned, and the list has `left` tasks. */
static void end_observed(size_t left) {
    explore_wait_quiet();
    explore_check(begun == ended);
    if (pool->listing) explore_check(pool->listing->count == left && !pool->listing->partial);
    explore_check_parked(pool);
    explore_pool_end(pool);
}

/* A task that is pending, woken, and freed by the thread that waits for it. */
static void dump_beside_a_task(void) {
    begin_observed(1 + (unsigned)explore_choose(2));
    item *it = explore_malloc(sizeof *it);
    init(it);
    it->waits = true;
    explore_check(wsq_spawn(pool, &it->task) == WSQ_OK);
    explore_start(dumper, NULL);
    wsqi_store_rel(&it->sent, 1u);
    wsq_wake(&it->task);
    explore_check(wsq_task_wait(&it->task) == WSQ_OK);
    explore_free(it);
    end_observed(0);
}

/* A task that frees itself. */
static wsq_poll run_gone(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    explore_free(wsq_container_of(task, item, task));
    items[0].done = 1;
    return WSQ_GONE;
}

static void dump_beside_what_is_gone(void) {
    begin_observed(2);
    item *it = explore_malloc(sizeof *it);
    init(it);
    it->task.fn = run_gone;
    explore_start(dumper, NULL);
    explore_check(wsq_spawn(pool, &it->task) == WSQ_OK);
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    end_observed(0);
}

/* The same, and a new task has its memory before the function returns: the list keeps the new one. */
static wsqi_a32 handed_over;

static wsq_poll run_handing_over(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    wsqi_store_rel(&handed_over, 1u);
    return WSQ_GONE;
}

static void memory_is_used_again(void) {
    begin_observed(1 + (unsigned)explore_choose(2));
    wsqi_store_init(&handed_over, 0u);
    items[0].task.fn = run_handing_over;
    spawn(0);
    while (wsqi_load_acq(&handed_over) == 0) wsqi_pause();
    init(&items[0]);
    items[0].waits = true;
    spawn(0);
    explore_start(dumper, NULL);
    explore_wait_quiet();
    if (pool->listing) explore_check(pool->listing->count == 1);
    send(0);
    explore_check(wsq_task_wait(&items[0].task) == WSQ_OK);
    end_observed(0);
}

/* Threads wait for a group, which is freed then; its tasks follow each other, and one has a timer. */
static void dump_beside_a_group(void) {
    begin_observed(2);
    wsq_group *own = explore_malloc(sizeof *own);
    explore_check(wsq_group_init(own, pool) == WSQ_OK);
    explore_start(dumper, NULL);
    items[0].waits = true;
    set_timer(0, 1000);
    explore_check(wsq_group_spawn(own, &items[0].task) == WSQ_OK);
    follow(1, 0);
    explore_check(wsq_group_spawn(own, &items[1].task) == WSQ_OK);
    explore_check(wsq_group_wait(own) == WSQ_OK);
    wsq_timer_cancel(&items[0].timer);
    explore_free(own);
    explore_check(items[0].done && items[1].done);
    end_observed(0);
}

/* Futures, one dropped and one fetched, and a cancelled task. */
static void dump_beside_futures(void) {
    begin_observed(1 + (unsigned)explore_choose(2));
    wsq_future *first = submit(0), *second = submit(1);
    explore_start(dumper, NULL);
    wsq_future_drop(first);
    items[0].waits = true;
    spawn(0);
    wsq_task_cancel(&items[0].task);
    get(second, 1);
    explore_check(wsq_task_wait(&items[0].task) == WSQ_ERR_CANCELLED);
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    end_observed(0);
}

/* A task dumps its own pool, which waits for a task, and stops meanwhile. */
static wsq_poll run_dumping(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    dumper(NULL);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static void dump_against_cancel(void) {
    begin_observed(1 + (unsigned)explore_choose(2));
    items[0].task.fn = run_dumping;
    items[1].waits = true;
    spawn(0);
    spawn(1);
    explore_start(dumper, NULL);
    explore_check(wsq_pool_shutdown(pool, WSQ_CANCEL) == WSQ_OK);
    explore_wait_quiet();
    explore_check(items[0].done + items[0].cleaned == 1);
    explore_check(begun == ended);
    explore_pool_end(pool);
}

/* Calls without a handle, in a pool that stops: each is called, or its memory is taken back. */
static int calls;

static void call_once(void *arg) { calls += arg == &calls; }

static void go_against_cancel(void) {
    begin_observed(1 + (unsigned)explore_choose(2));
    calls = 0;
    for (int i = 0; i < 3; i++) explore_check(wsq_go(pool, call_once, &calls) == WSQ_OK);
    explore_start(dumper, NULL);
    explore_check(wsq_pool_shutdown(pool, WSQ_CANCEL) == WSQ_OK);
    explore_wait_quiet();
    explore_check(calls <= 3 && begun == ended);
    if (pool->listing) explore_check(pool->listing->count == 0);
    explore_pool_end(pool);
}

/* Two tasks of a group fail: the thread that waits reads the first error, and what its task wrote. */
static wsq_poll run_failing(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    wsqi_set(&it->letter, 1);
    int before = wsq_group_error(&group);
    wsq_group_fail(&group, 1 + (int)(it - items));
    wsq_group_fail(&group, 0);
    if (before != 0) explore_check(wsq_group_error(&group) == before);
    if (explore_choose(2)) wsq_group_cancel(&group);
    it->done = 1;
    return WSQ_DONE;
}

static void tasks_fail(void) {
    begin_observed(2);
    for (int i = 0; i < 2; i++) {
        items[i].task.fn = run_failing;
        group_spawn(i);
    }
    wsq_result result = wsq_group_wait(&group);
    int error = wsq_group_error(&group);
    explore_check(items[0].done + items[0].cleaned == 1 && items[1].done + items[1].cleaned == 1);
    explore_check((error == 1 || error == 2) && items[error - 1].done);
    explore_check(result == WSQ_OK || wsq_group_cancelled(&group));
    explore_check(wsqi_get(&items[error - 1].letter) == 1 && wsq_group_error(&group) == error);
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    end_observed(0);
}

int main(void) {
    nowhere = fopen("/dev/null", "w");
    explore_random("dump: beside a task", dump_beside_a_task, 4000);
    explore_random("dump: beside a task that is gone", dump_beside_what_is_gone, 3000);
    explore_random("dump: memory is used again", memory_is_used_again, 3000);
    explore_random("dump: beside a group", dump_beside_a_group, 3000);
    explore_random("dump: beside futures", dump_beside_futures, 3000);
    explore_random("dump: against a shutdown", dump_against_cancel, 3000);
    explore_random("dump: calls against a shutdown", go_against_cancel, 4000);
    explore_random("dump: tasks fail", tasks_fail, 5000);
    return explore_end();
}
