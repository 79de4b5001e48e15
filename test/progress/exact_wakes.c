/* How many sleepers are woken for tasks of a known length. In virtual time. */
#include "exact.h"

static uint64_t wakes_of(wsq_pool *pool) {
    wsq_stats all;
    wsq_pool_stats(pool, &all);
    return all.wakes_sent;
}

enum { SIX = 6 };
static item *six[SIX];

static wsq_poll spawns_six_run(wsq_ctx ctx, wsq_task *task) {
    for (int i = 0; i < SIX; i++) item_spawn(wsq_pool_of(ctx), six[i] = item_make(item_of(task)->ns));
    return item_run(ctx, task);
}

/* A task on worker 0, of `ns`, spawns six more. Returns how many sleepers are woken, if each worker's tasks took
 * `average_ns` so far. */
static uint64_t wakes_for_six(uint64_t ns, uint64_t average_ns) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 8});
    for (unsigned i = 0; i < 8; i++) wsqi_block(pool, i)->tune.average_ns = average_ns;
    item *first = item_make(ns);
    first->task.fn = spawns_six_run;
    item_spawn_on(pool, 0, first);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    nap(MS);
    uint64_t wakes = wakes_of(pool);
    wsq_pool_destroy(pool);
    return wakes;
}

/* Six tasks of 1 us are worth one sleeper at a time, and longer ones a sleeper each. */
static void short_tasks_wake_few(void) {
    CHECK_EQ(wakes_for_six(US, US), 2);
    CHECK_EQ(wakes_for_six(50 * US, 50 * US), 7);
}

/* If tasks take longer than expected, each that begins wakes a thread for the next. */
static void long_tasks_begin_soon(void) {
    CHECK_EQ(wakes_for_six(5 * MS, US), SIX);
    uint64_t first = six[0]->began;
    for (int i = 0; i < SIX; i++) CHECK(six[i]->began < first + 60 * US);
}

/* So do many sleepers: they are not woken one by one until the last. */
static void many_long_tasks_begin_soon(void) {
    enum { MANY = 64 };
    wsq_pool *pool = pool_make(&(wsq_config){.workers = MANY});
    item *tasks[MANY];
    for (unsigned i = 0; i < MANY; i++) wsqi_block(pool, i)->tune.average_ns = 100;
    uint64_t start = now();
    for (int i = 0; i < MANY; i++) item_spawn(pool, tasks[i] = item_make(5 * MS));
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    for (int i = 0; i < MANY; i++) CHECK(tasks[i]->began < start + 100 * US);
    wsq_pool_destroy(pool);
}

/* Workers that run a task or two at a time learn how long these take; the wake-ups before them do not count. */
static void learns_from_few_tasks(unsigned workers, int tasks) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = workers});
    unsigned known = 0;
    for (int i = 0; i < 1000; i++) {
        for (int k = 0; k < tasks; k++) item_spawn(pool, item_make(2 * US));
        nap(100 * US);
    }
    for (unsigned i = 0; i < workers; i++) {
        wsq_stats one;
        wsq_worker_stats(pool, i, &one);
        if (one.run < 300) continue;
        CHECK(one.average_task_ns >= 2000 && one.average_task_ns < 2600);
        known++;
    }
    CHECK(known > 0);
    wsq_pool_destroy(pool);
}

static void learns_from_one_task(void) { learns_from_few_tasks(1, 1); }
static void learns_between_wakes(void) { learns_from_few_tasks(4, 3); }

int main(void) {
    test_begin("exact_wakes");
    IN_WORLD(short_tasks_wake_few);
    IN_WORLD(long_tasks_begin_soon);
    IN_LARGE_WORLD(many_long_tasks_begin_soon);
    IN_WORLD(learns_from_one_task);
    IN_WORLD(learns_between_wakes);
    return test_end();
}
