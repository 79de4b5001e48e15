/* Whole pools in the explorer: spawn from outside and inside, wait, shut down, destroy. */
#include "explore_small.h"
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include "explore_pool.h"

enum { TASKS = 8 };

typedef struct item {
    wsq_task task;
    int number;        /* written before the spawn: its run must see it */
    int runs;          /* the explorer's own count */
    int children;      /* tasks that it spawns: the next ones */
    wsq_result result; /* of the spawn */
} item;

static item items[TASKS];
static int made;
static wsq_pool *pool;

static wsq_poll run_item(wsq_ctx ctx, wsq_task *task);

static void begin(unsigned workers, wsq_config config) {
    memset(items, 0, sizeof items);
    made = 0;
    pool = explore_pool_make(workers, config);
}

static item *make(int children) {
    explore_check(made < TASKS);
    item *it = &items[made++];
    it->children = children;
    wsqi_set(&it->number, (int)(it - items) + 1);
    wsq_task_init(&it->task, run_item);
    return it;
}

static wsq_result spawn(int children) {
    item *it = make(children);
    it->result = WSQ_ERR_INVALID;
    return it->result = wsq_spawn(pool, &it->task);
}

static wsq_poll run_item(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    explore_check(wsq_pool_of(ctx) == pool);
    explore_check(wsqi_get(&it->number) == it - items + 1);
    explore_check(++it->runs == 1);
    for (int i = 0; i < it->children; i++) spawn(0);
    return WSQ_DONE;
}

/* What was spawned has run, once. */
static void check_all_run(void) {
    for (int i = 0; i < made; i++) {
        explore_check(items[i].result == WSQ_OK);
        explore_check(items[i].runs == 1);
    }
}

static void check_quiet(void) {
    explore_wait_quiet();
    check_all_run();
    explore_check_parked(pool);
}

static wsq_config sometimes_timed(void) {
    wsq_config config = {0};
    config.park_timeout_ns = explore_choose(4) == 0 ? 1000 : 0;
    return config;
}

static void spawner(void *arg) {
    spawn(*(int *)arg);
}

static int childless = 0, with_child = 1, with_children = 4;

/* ---- spawn, and wait for silence: nothing is stranded, nobody is left searching ---- */

static void sole_worker(void) {
    begin(1, sometimes_timed());
    explore_start(spawner, &childless);
    spawn(1);
    check_quiet();
    spawn(0);
    check_quiet();
    explore_pool_end(pool);
}

static void two_workers(void) {
    begin(2, sometimes_timed());
    explore_start(spawner, &childless);
    spawn(0);
    check_quiet();
    spawn(1);
    check_quiet();
    explore_pool_end(pool);
}

static void three_workers(void) {
    begin(3, sometimes_timed());
    explore_start(spawner, &childless);
    spawn(1);
    check_quiet();
    spawn(0);
    check_quiet();
    explore_pool_end(pool);
}

static void overflow(void) {
    begin(2, sometimes_timed());
    spawn(with_children);
    spawn(0);
    check_quiet();
    explore_pool_end(pool);
}

static void lifo_order(void) {
    wsq_config config = {.order = WSQ_LIFO};
    begin(2, config);
    explore_start(spawner, &with_child);
    spawn(with_children);
    check_quiet();
    explore_pool_end(pool);
}

static void batch(void) {
    wsq_task *tasks[4];
    begin(2, sometimes_timed());
    for (int i = 0; i < 4; i++) tasks[i] = &make(0)->task;
    explore_check(wsq_spawn_batch(pool, tasks, 4) == WSQ_OK);
    check_quiet();
    explore_pool_end(pool);
}

/* ---- waiting ---- */

static void waiter(void *arg) {
    (void)arg;
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
}

static void wait_for_all(void) {
    begin(2, sometimes_timed());
    explore_start(waiter, NULL);
    spawn(2);
    spawn(0);
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    check_all_run();
    explore_pool_end(pool);
}

static void wait_again(void) {
    begin(1 + (unsigned)explore_choose(2), sometimes_timed());
    spawn(1);
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    check_all_run();
    spawn(0);
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    check_all_run();
    explore_pool_end(pool);
}

/* ---- the end ---- */

static void destroy_drains(void) {
    begin(2, sometimes_timed());
    spawn(2);
    spawn(1);
    wsq_pool_destroy(pool);
    for (int i = 0; i < 2; i++) explore_check(items[i].runs == 1);
    for (int i = 2; i < made; i++) explore_check(items[i].runs == (items[i].result == WSQ_OK));
}

/* A spawn that was let in runs or is cancelled; one that was refused never runs. */
static void check_decided(wsq_shutdown mode) {
    for (int i = 0; i < made; i++) {
        uint32_t state = items[i].task.state.v;
        bool in = items[i].result == WSQ_OK;
        explore_check(in || items[i].result == WSQ_ERR_CLOSED);
        if (!in) explore_check(items[i].runs == 0 && state == 0);
        if (in && mode == WSQ_DRAIN) explore_check(items[i].runs == 1);
        if (in) explore_check(wsqi_task_is(state, WSQI_TASK_DONE));
        if (in) explore_check(items[i].runs == !wsqi_task_cancelled(state));
    }
}

static void late_spawner(void *arg) {
    (void)arg;
    spawn(1);
    spawn(0);
}

static void shut_down_against_spawn(void) {
    wsq_shutdown mode = explore_choose(2) ? WSQ_DRAIN : WSQ_CANCEL;
    begin(1 + (unsigned)explore_choose(2), sometimes_timed());
    explore_start(late_spawner, NULL);
    spawn(0);
    explore_check(wsq_pool_shutdown(pool, mode) == WSQ_OK);
    explore_wait_quiet();
    check_decided(mode);
    explore_pool_end(pool);
}

static void wait_until_done(void *arg) {
    wsq_result result = wsq_pool_wait(pool);
    (void)arg;
    explore_check(result == WSQ_OK || result == WSQ_ERR_CANCELLED);
}

static void shut_down_against_wait(void) {
    wsq_shutdown mode = explore_choose(2) ? WSQ_DRAIN : WSQ_CANCEL;
    begin(1 + (unsigned)explore_choose(2), sometimes_timed());
    explore_start(wait_until_done, NULL);
    spawn(1);
    spawn(0);
    explore_check(wsq_pool_shutdown(pool, mode) == WSQ_OK);
    explore_wait_quiet();
    check_decided(mode);
    explore_pool_end(pool);
}

static void shut_down_twice(void *arg) {
    explore_check(wsq_pool_shutdown(pool, *(wsq_shutdown *)arg) == WSQ_OK);
    check_decided(WSQ_CANCEL);
}

static void shutdowns_meet(void) {
    static wsq_shutdown mode;
    mode = explore_choose(2) ? WSQ_DRAIN : WSQ_CANCEL;
    begin(1 + (unsigned)explore_choose(2), sometimes_timed());
    spawn(1);
    explore_start(shut_down_twice, &mode);
    explore_check(wsq_pool_shutdown(pool, WSQ_CANCEL) == WSQ_OK);
    check_decided(WSQ_CANCEL);
    explore_wait_quiet();
    explore_pool_end(pool);
}

/* ---- failures of the environment: everything is given back ---- */

static void failures(void) {
    wsq_config config = {.workers = 2, .order = explore_choose(2) ? WSQ_FIFO : WSQ_LIFO};
    bool memory = explore_choose(2);
    int enough = 5;
    explore_threads_left = memory ? EXPLORE_FIBERS : explore_choose(2);
    if (memory) explore.allocations_left = explore_choose(enough);
    explore_before_thread = explore_short_search;
    pool = NULL;
    wsq_result result = wsq_pool_create(&pool, &config);
    if (!memory) explore_check(result == WSQ_ERR_THREAD);
    explore_check((result == WSQ_OK) == (pool != NULL));
    explore_check(result == WSQ_OK || result == (memory ? WSQ_ERR_MEMORY : WSQ_ERR_THREAD));
    wsq_pool_destroy(pool);
}

int main(void) {
    explore_random("pool: sole worker", sole_worker, 10000);
    explore_random("pool: two workers", two_workers, 10000);
    explore_random("pool: three workers", three_workers, 6000);
    explore_random("pool: overflow of a ring", overflow, 6000);
    explore_random("pool: last in, first out", lifo_order, 6000);
    explore_random("pool: batch", batch, 6000);
    explore_random("pool: wait for all", wait_for_all, 6000);
    explore_random("pool: wait again", wait_again, 6000);
    explore_random("pool: destroy drains", destroy_drains, 6000);
    explore_random("pool: shutdown against spawn", shut_down_against_spawn, 10000);
    explore_random("pool: shutdown against wait", shut_down_against_wait, 6000);
    explore_random("pool: two shutdowns", shutdowns_meet, 6000);
    explore_random("pool: no memory, no threads", failures, 3000);
    return explore_end();
}
