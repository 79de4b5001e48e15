/* Threads that sleep, search and wake each other: tasks that cannot end unless others run beside them. A
 * runnable task beside an idle worker, for ever, is a deadlock here. */
#include "explore_small.h"
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include "explore_pool.h"

enum { TASKS = 8 };

/* A task spawns the tasks [first, first + children), meets `company` tasks at the gate, is done. */
typedef struct item {
    wsq_task task;
    int first, children, company, yields, runs;
} item;

static item items[TASKS];
static int gate;
static wsq_pool *pool;

static wsq_poll run_item(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    if (it->yields-- > 0) return WSQ_YIELD;
    explore_check(++it->runs == 1);
    for (int i = it->first; i < it->first + it->children; i++)
        explore_check(wsq_spawn(pool, &items[i].task) == WSQ_OK);
    if (it->company) explore_meet(&gate, it->company);
    return WSQ_DONE;
}

static void begin(unsigned workers, wsq_config config) {
    memset(items, 0, sizeof items);
    gate = 0;
    for (int i = 0; i < TASKS; i++) wsq_task_init(&items[i].task, run_item);
    pool = explore_pool_make(workers, config);
}

static void spawn(int i) { explore_check(wsq_spawn(pool, &items[i].task) == WSQ_OK); }

/* `count` tasks have run, once each. */
static void end(int count) {
    explore_wait_quiet();
    for (int i = 0; i < TASKS; i++) explore_check(items[i].runs == (i < count));
    explore_check_parked(pool);
    explore_pool_end(pool);
}

static void company_of(int first, int last, int company) {
    for (int i = first; i <= last; i++) items[i].company = company;
}

static const wsq_config plain;
static const int number[] = {0, 1, 2, 3};

static void spawner(void *arg) { spawn(*(const int *)arg); }

static void spawner_of_two(void *arg) {
    spawn(*(const int *)arg);
    spawn(*(const int *)arg + 1);
}

/* Two tasks from two threads must run side by side. */
static void two_from_outside(void) {
    begin(2, plain);
    company_of(0, 1, 2);
    explore_start(spawner, (void *)(uintptr_t)&number[1]);
    spawn(0);
    end(2);
}

/* The same once the workers sleep for sure, then again. */
static void two_after_silence(void) {
    begin(2, plain);
    company_of(0, 1, 2);
    company_of(2, 3, 2);
    explore_wait_quiet();
    spawn(0);
    spawn(1);
    explore_wait_quiet();
    explore_check_parked(pool);
    gate = 0;
    explore_start(spawner, (void *)(uintptr_t)&number[2]);
    spawn(3);
    end(4);
}

static void three_from_outside(void) {
    begin(3, plain);
    company_of(0, 2, 3);
    explore_start(spawner_of_two, (void *)(uintptr_t)&number[1]);
    spawn(0);
    end(3);
}

/* A task that waits for its child: it must not hide it. */
static void child(void) {
    begin(2, plain);
    items[0].first = 1;
    items[0].children = 1;
    company_of(0, 1, 2);
    if (explore_choose(2)) explore_wait_quiet();
    spawn(0);
    end(2);
}

/* More children than the ring holds: some spill. */
static void many_children(void) {
    begin(2, plain);
    items[0].first = 1;
    items[0].children = 4;
    company_of(0, 0, 2);
    items[1 + explore_choose(4)].company = 2;
    spawn(0);
    end(5);
}

static void children_of_three(void) {
    begin(3, plain);
    items[0].first = 1;
    items[0].children = 2;
    company_of(0, 2, 3);
    spawn(0);
    end(3);
}

/* Some tasks end at once: the searchers that found them pass the search on. */
static void short_and_long(void) {
    begin(2, plain);
    company_of(0, 0, 2);
    company_of(3, 3, 2);
    explore_start(spawner_of_two, (void *)(uintptr_t)&number[2]);
    spawn(0);
    spawn(1);
    end(4);
}

static void batch(void) {
    wsq_task *tasks[4];
    begin(3, plain);
    company_of(0, 2, 3);
    for (int i = 0; i < 4; i++) tasks[i] = &items[i].task;
    if (explore_choose(2)) explore_wait_quiet();
    explore_check(wsq_spawn_batch(pool, tasks, 4) == WSQ_OK);
    end(4);
}

/* Deadlines pass at any moment: a worker that wakes up by itself must leave S and the bitmap in agreement. */
static void deadlines(void) {
    wsq_config config = {.park_timeout_ns = 1000};
    begin(2, config);
    company_of(0, 1, 2);
    explore_start(spawner, (void *)(uintptr_t)&number[1]);
    spawn(0);
    explore_wait_quiet();
    spawn(2);
    end(3);
}

static void deadlines_of_three(void) {
    wsq_config config = {.park_timeout_ns = 1000};
    begin(3, config);
    company_of(0, 2, 3);
    explore_start(spawner_of_two, (void *)(uintptr_t)&number[1]);
    spawn(0);
    end(3);
}

static void last_in_first_out(void) {
    wsq_config config = {.order = WSQ_LIFO};
    begin(2, config);
    items[0].first = 1;
    items[0].children = 3;
    company_of(0, 0, 2);
    items[1 + explore_choose(3)].company = 2;
    spawn(0);
    end(4);
}

/* ---- all from one queue ---- */

static void shared(void) {
    wsq_config config = {.order = WSQ_SHARED};
    begin(2, config);
    company_of(0, 1, 2);
    items[1].yields = explore_choose(2);
    explore_start(spawner, (void *)(uintptr_t)&number[1]);
    spawn(0);
    if (explore_choose(2)) explore_wait_quiet();
    spawn(2);
    end(3);
}

static void shared_children(void) {
    wsq_config config = {.order = WSQ_SHARED};
    wsq_task *tasks[2];
    begin(3, config);
    items[0].first = 1;
    items[0].children = 2;
    company_of(0, 2, 3);
    for (int i = 3; i < 5; i++) tasks[i - 3] = &items[i].task;
    spawn(0);
    explore_check(wsq_spawn_batch(pool, tasks, 2) == WSQ_OK);
    end(5);
}

/* One that yields is to be the next, and so is told to nobody; then something urgent comes, and does not end
 * before it. */
static wsq_poll arrive_only(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    if (it->yields-- > 0) return WSQ_YIELD;
    it->runs++;
    explore_meet(&gate, 1 + gate); /* the last one, in whichever order */
    return WSQ_DONE;
}

static void urgent_beside_the_next(void) {
    begin(2, plain);
    items[0].task.fn = arrive_only;
    items[0].yields = 2;
    items[1].company = 2;
    bool pinned = explore_choose(2);
    spawn(0);
    if (!pinned) explore_check(wsq_task_set_priority(&items[1].task, WSQ_HIGH) == WSQ_OK);
    explore_check((pinned ? wsq_spawn_on(pool, (unsigned)explore_choose(2), &items[1].task)
                          : wsq_spawn(pool, &items[1].task)) == WSQ_OK);
    end(2);
}

int main(void) {
    explore_random("idle: two from outside", two_from_outside, 12000);
    explore_random("idle: two after silence", two_after_silence, 6000);
    explore_random("idle: three from outside", three_from_outside, 7000);
    explore_random("idle: a child", child, 12000);
    explore_random("idle: many children", many_children, 7000);
    explore_random("idle: two children, three workers", children_of_three, 6000);
    explore_random("idle: short and long tasks", short_and_long, 7000);
    explore_random("idle: batch", batch, 6000);
    explore_random("idle: deadlines", deadlines, 6000);
    explore_random("idle: deadlines, three workers", deadlines_of_three, 6000);
    explore_random("idle: last in, first out", last_in_first_out, 6000);
    explore_random("idle: shared", shared, 6000);
    explore_random("idle: shared, children and a batch", shared_children, 4000);
    explore_random("idle: urgent beside the next", urgent_beside_the_next, 8000);
    return explore_end();
}
