/* The tuner: the table of intervals, its bounds, and that a worker's sleep never counts as work, on a
 * clock that only the test moves. */
#include "test.h"

int test_clock(int clock, struct timespec *time);
#define clock_gettime test_clock
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#undef clock_gettime

static atomic_ullong now_ns = 1000000000;

int test_clock(int clock, struct timespec *time) {
    unsigned long long now = atomic_load(&now_ns);
    (void)clock;
    time->tv_sec = (time_t)(now / 1000000000);
    time->tv_nsec = (long)(now % 1000000000);
    return 0;
}

/* The interval after many ticks of tasks that take that long. */
static uint32_t settled(wsq_tune *tune, uint64_t task_ns, uint32_t tasks) {
    for (int i = 0; i < 500; i++) wsq_tune_update(tune, task_ns * tasks, tasks);
    CHECK_EQ(wsq_tune_update(tune, task_ns * tasks, tasks), tune->interval);
    return tune->interval;
}

static void start(void) {
    wsq_tune tune;
    wsq_tune_init(&tune, NULL);
    CHECK_EQ(tune.average_ns, 50000);
    CHECK_EQ(tune.target_ns, 1000000);
    CHECK_EQ(tune.interval, 20);
}

static void table(void) {
    struct { uint64_t task_ns; uint32_t interval; } rows[] = {
        {1000, 255}, {10000, 100}, {50000, 20}, {100000, 10}, {1000000, 2}, {20000, 50}, {1, 255}, {0, 255},
        {125000, 8}, {400000, 2}, {1000000000, 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        wsq_tune tune;
        for (uint32_t tasks = 1; tasks <= 128; tasks += 127) {
            wsq_tune_init(&tune, NULL);
            CHECK_EQ(settled(&tune, rows[i].task_ns, tasks), rows[i].interval);
        }
        /* The same from above: after tasks of a second each. */
        settled(&tune, 1000000000, 1);
        CHECK_EQ(settled(&tune, rows[i].task_ns, 128), rows[i].interval);
    }
}

/* One tick moves the average by a tenth of the difference; no tasks, no move. */
static void weight(void) {
    wsq_tune tune;
    wsq_tune_init(&tune, NULL);
    wsq_tune_update(&tune, 128 * 100000, 128);
    CHECK(tune.average_ns >= 54999 && tune.average_ns <= 55000);
    CHECK_EQ(tune.interval, 18);
    CHECK_EQ(wsq_tune_update(&tune, 1000000000, 0), 18);
    CHECK(tune.average_ns >= 54999 && tune.average_ns <= 55000);
}

static void bounds(void) {
    wsq_config config = {.target_latency_ns = 2000000, .min_interval = 3, .max_interval = 60};
    wsq_tune tune;
    wsq_tune_init(&tune, &config);
    CHECK_EQ(tune.interval, 40);
    CHECK_EQ(settled(&tune, 1000, 128), 60);
    CHECK_EQ(settled(&tune, 100000, 128), 20);
    CHECK_EQ(settled(&tune, 5000000, 1), 3);
    wsq_tune_init(&tune, &(wsq_config){0});
    CHECK_EQ(tune.interval, 20);
}

/* Absurd settings and samples end inside the bounds, and a sane one brings it back. */
static void absurd(void) {
    wsq_config crossed = {.min_interval = 300};
    wsq_config least = {.target_latency_ns = 1, .min_interval = 1, .max_interval = 1};
    wsq_config most = {.target_latency_ns = UINT64_MAX, .max_interval = UINT32_MAX};
    wsq_tune tune;
    wsq_tune_init(&tune, &crossed);
    CHECK_EQ(tune.interval, 300);
    wsq_tune_init(&tune, &least);
    CHECK_EQ(tune.interval, 1);
    wsq_tune_init(&tune, &most);
    CHECK_EQ(tune.interval, UINT32_MAX);
    wsq_tune_init(&tune, &(wsq_config){.max_interval = 1});
    CHECK_EQ(wsq_tune_update(&tune, 1, 1000), 1);
    wsq_tune_init(&tune, NULL);
    for (int i = 0; i < 1000; i++) CHECK_EQ(wsq_tune_update(&tune, UINT64_MAX, 1), 2);
    CHECK_EQ(settled(&tune, 1000, 128), 255);
}

/* ---- in a pool ---- */

enum { TASK_NS = 1000, BATCH = 1000, ROUNDS = 30 };

static wsq_poll work(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    (void)task;
    atomic_fetch_add(&now_ns, TASK_NS);
    return WSQ_DONE;
}

static void spawn_batch(wsq_pool *pool) {
    static wsq_task tasks[BATCH];
    static wsq_task *list[BATCH];
    for (size_t i = 0; i < BATCH; i++) {
        wsq_task_init(&tasks[i], work);
        list[i] = &tasks[i];
    }
    CHECK_EQ(wsq_spawn_batch(pool, list, BATCH), WSQ_OK);
}

static void sleep_until_tomorrow(wsq_pool *pool) {
    while (wsqi_free_permits(wsqi_load_acq(&pool->permits)) != wsq_pool_workers(pool)) test_nap(20000);
    atomic_fetch_add(&now_ns, 86400ull * 1000000000);
}

static void sleep_is_not_work(void) {
    wsq_config config = {.workers = 1};
    wsq_pool *pool = NULL;
    wsq_stats stats;
    CHECK_EQ(wsq_pool_create(&pool, &config), WSQ_OK);
    for (int round = 0; round < ROUNDS; round++) {
        sleep_until_tomorrow(pool);
        spawn_batch(pool);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    }
    wsq_pool_stats(pool, &stats);
    CHECK(stats.average_task_ns > TASK_NS * 9 / 10);
    CHECK(stats.average_task_ns < TASK_NS * 11 / 10);
    CHECK_EQ(stats.interval, 255);
    wsq_pool_destroy(pool);
}

/* Where the caller is the worker no clock is read, or the order of tasks would depend on it. */
static void no_clock_for_a_caller(void) {
    wsq_config config = {.workers = 1, .caller_runs = true};
    wsq_pool *pool = NULL;
    wsq_stats stats;
    CHECK_EQ(wsq_pool_create(&pool, &config), WSQ_OK);
    for (int round = 0; round < ROUNDS; round++) {
        spawn_batch(pool);
        while (wsq_pool_run_one(pool)) {}
        atomic_fetch_add(&now_ns, 86400ull * 1000000000);
    }
    wsq_pool_stats(pool, &stats);
    CHECK_EQ(stats.interval, 20);
    wsq_pool_destroy(pool);
}

/* ---- the steps of a loop without a given grain ---- */

static void steps(void) {
    static const struct {
        size_t grain, left, next, step; /* next: from the start of what is left on */
        uint64_t worked_ns;
        bool unwanted;
    } rows[] = {
        {8, 1000, 8, 8, 0, false}, {1024, 1000, 501, 64, 0, false}, {128, 1024, 128, 128, 0, false},
        {2, WSQI_LAST, 1, 1, 5001, false}, {2, WSQI_LAST, 2, 2, 5000, false}, {2, WSQI_LAST + 1, 1, 1, 6000, false},
        {2, WSQI_LAST + 2, 2, 1, 6000, false}, {2, WSQI_LAST + 8, 2, 2, 6000, false}, {64, 88, 45, 16, 6000, false},
        {1024, WSQI_LAST + 6, 6, 2, 0, false}, {1024, WSQI_LAST, 3, 1, 0, false}, {8, 2 * WSQI_LAST, 8, 4, 6000, false},
        {2, WSQI_LAST, 2, 1, 6000, true}, {64, 32, 17, 4, 0, false}, {1, 5, 1, 1, 0, false}, {2, 7, 2, 1, 0, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        wsqi_pace pace = {.grain = rows[i].grain, .unwanted = rows[i].unwanted, .worked_ns = rows[i].worked_ns};
        wsqi_pace_set(&pace, 100, 100 + rows[i].left);
        CHECK_EQ(pace.looked, 100);
        CHECK_EQ(pace.next, 100 + rows[i].next);
        CHECK_EQ(pace.step, rows[i].step);
        CHECK_EQ(pace.grain, rows[i].grain);
    }
}

/* The grain follows the time that it took; and the time that the rest will take. */
static void grains(void) {
    static const struct {
        size_t grain, done;
        uint64_t took;
        size_t left, grows_to;
        uint64_t left_ns;
    } rows[] = {
        {16, 16, 624, 320, 128, 10000}, {16, 16, 625, 320, 32, 10000}, {16, 16, 4999, 320, 32, 104979},
        {16, 16, 5000, 320, 16, 105000}, {16, 16, 20000, 320, 16, 420000}, {16, 16, 20001, 320, 8, 420021},
        {1, 1, 30000, 4, 1, 150000}, {2, 2, 30000, 4, 1, 90000}, {16, 8, 100, 8, 16, 200}, {16, 24, 5000, 24, 16, 10000},
        {16, 24, 4999, 24, 32, 9998}, {10, 10, 999, 95, 20, 9990}, {10, 10, 999, 200, 20, 10000},
        {10, 10, 950, 200, 20, 10000}, {10, 10, 1000, 200, 20, 21000}, {10, 10, UINT64_C(1) << 63, 10, 5, UINT64_MAX},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t now = wsqi_clock_ns();
        wsqi_pace pace = {.grain = rows[i].grain, .looked = 100, .looked_ns = now - rows[i].took, .worked_ns = 7};
        size_t at = 100 + rows[i].done;
        wsqi_pace_look(&pace, at, at + rows[i].left);
        CHECK_EQ(pace.grain, rows[i].grows_to);
        CHECK_EQ(pace.left_ns, rows[i].left_ns);
        CHECK_EQ(pace.looked_ns, now);
        CHECK_EQ(pace.worked_ns, 7 + rows[i].took);
        CHECK_EQ(pace.looked, at);
    }
}

int main(void) {
    test_begin("test_tune");
    RUN(start);
    RUN(table);
    RUN(weight);
    RUN(bounds);
    RUN(absurd);
    RUN(sleep_is_not_work);
    RUN(no_clock_for_a_caller);
    RUN(steps);
    RUN(grains);
    return test_end();
}
