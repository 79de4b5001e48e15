/* wsq_pool_dump: what stands in it when nothing moves; that it finds a wake that was forgotten; that
 * the list of tasks follows them through everything; and that it may be called beside anything, while
 * tasks free their memory. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "test.h"
#include "pool.h"

#include <sched.h>

enum { MANY = 500, TEXT = 1 << 20 };

/* ---- what it has written ---- */

static char text[TEXT];

static void dump(wsq_pool *pool) {
    FILE *file = tmpfile();
    if (file == NULL) FAIL("no temporary file");
    wsq_pool_dump(pool, file);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
}

/* How many lines have all of these words, up to the NULL. */
static int lines_with(const char *one, const char *two, const char *three) {
    int count = 0;
    for (char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = 0;
        if (strstr(line, one) && (!two || strstr(line, two)) && (!three || strstr(line, three))) count++;
        *end = '\n';
    }
    return count;
}

static void check_lines(int count, const char *one, const char *two, const char *three) {
    if (CHECK_EQ(lines_with(one, two, three), count)) return;
    fprintf(stderr, "    with \"%s\" \"%s\" \"%s\" in\n%s", one, two ? two : "", three ? three : "", text);
}

static const char *address(const void *pointer) {
    static char buffers[4][40];
    static int next;
    char *buffer = buffers[next++ % 4];
    snprintf(buffer, sizeof *buffers, "%p", (void *)(uintptr_t)pointer);
    return buffer;
}

/* ---- tasks that stay where they are ---- */

static wsq_poll forgotten(wsq_ctx ctx, wsq_task *task) {
    static atomic_bool again;
    (void)ctx, (void)task;
    return atomic_exchange(&again, !atomic_load(&again)) ? WSQ_DONE : WSQ_PENDING;
}

static wsq_poll done(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    return WSQ_DONE;
}

static void *call(void *arg) { return arg; }

static const char *name_of(void *user, uintptr_t function) {
    CHECK(user == text);
    return function == (uintptr_t)forgotten ? "the forgotten" : function == (uintptr_t)call ? "a call" : NULL;
}

static const wsq_hooks names = {.name = name_of, .user = text};

static wsq_pool *pool_of_caller(bool list) {
    return pool_new((wsq_config){.caller_runs = true, .list_tasks = list, .hooks = &names});
}

/* ---- the lanes of the global queue count as one ---- */

enum { LANES = 3 };

static void all_lanes(void) {
    wsq_pool *pool = pool_new((wsq_config){.lend_only = true, .workers = 3 * LANES});
    wsq_task tasks[LANES];
    uint32_t left;
    CHECK_EQ(pool->global_lanes, LANES);
    for (unsigned i = 0; i < LANES; i++) {
        wsq_task_init(&tasks[i], done);
        wsqi_lane_push(wsqi_global_lane(pool, i), &tasks[i], &tasks[i]);
        if (i == 0) dump(pool);
        if (i == 0) check_lines(1, "lanes   high 0, normal 0+, low 0", NULL, NULL);
        wsqi_lane_settle(wsqi_global_lane(pool, i));
    }
    dump(pool);
    check_lines(1, "lanes   high 0, normal 3, low 0", NULL, NULL);
    for (unsigned i = 0; i < LANES; i++)
        CHECK(wsqi_lane_take(pool, wsqi_global_lane(pool, i), 1, &left) == &tasks[i]);
    pool_end(pool);
}

static void each_state(void) {
    wsq_pool *pool = pool_of_caller(true);
    wsq_task pending, held, queued;
    wsq_timer timer = {0};
    wsq_edge edge;
    wsq_future *future = NULL;
    wsq_group group;
    wsq_task_init(&pending, forgotten);
    wsq_task_init(&held, done);
    wsq_task_init(&queued, done);
    CHECK_EQ(wsq_group_init(&group, pool), WSQ_OK);
    CHECK_EQ(wsq_spawn(pool, &pending), WSQ_OK);
    CHECK(wsq_pool_run_one(pool));
    CHECK_EQ(wsq_task_after(&held, &pending, &edge), WSQ_OK);
    CHECK_EQ(wsq_spawn(pool, &held), WSQ_OK);
    CHECK_EQ(wsq_submit(pool, call, NULL, &future), WSQ_OK);
    CHECK_EQ(wsq_group_spawn(&group, &queued), WSQ_OK);
    CHECK_EQ(wsq_timer_set(pool, &timer, &pending, 3600000000000u), WSQ_OK);
    dump(pool);
    check_lines(1, "pool", "running", NULL);
    check_lines(1, "4 spawned and not done", "1 held back", NULL);
    check_lines(4, "  task ", NULL, NULL);
    check_lines(1, address(&pending), "waits for a wake", "(the forgotten)");
    check_lines(1, address(&held), "is held back", "after others: 1");
    check_lines(1, address(&queued), "is queued", address(&group));
    check_lines(1, address(future), "is queued", "(a call)");
    check_lines(1, "  timer ", "wakes", address(&pending));
    check_lines(0, "  wait ", NULL, NULL);
    CHECK(wsq_timer_cancel(&timer));
    wsq_wake(&pending);
    dump(pool);
    check_lines(1, address(&pending), "is queued", "a thread from outside");
    check_lines(0, "  timer ", NULL, NULL);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    CHECK_EQ(wsq_future_get(future, NULL), WSQ_OK);
    dump(pool);
    check_lines(0, "  task ", NULL, NULL);
    CHECK_EQ(wsq_pool_shutdown(pool, WSQ_DRAIN), WSQ_OK);
    dump(pool);
    check_lines(1, "pool", "stopped", NULL);
    wsq_pool_destroy(pool);
}

/* Without a list: numbers, and no task. */
static void without_a_list(void) {
    wsq_pool *pool = pool_of_caller(false);
    wsq_task pending;
    wsq_timer timer = {0};
    wsq_task_init(&pending, forgotten);
    CHECK_EQ(wsq_spawn(pool, &pending), WSQ_OK);
    dump(pool);
    check_lines(1, "1 spawned and not done", "0 held back", NULL);
    check_lines(1, "lanes", "normal 0+", NULL);
    check_lines(0, "  task ", NULL, NULL);
    CHECK(wsq_pool_run_one(pool));
    CHECK_EQ(wsq_timer_set(pool, &timer, &pending, 3600000000000u), WSQ_OK);
    dump(pool);
    check_lines(1, "  timer ", "wakes", address(&pending));
    check_lines(0, "function", NULL, NULL);
    wsq_wake(&pending);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    pool_end(pool);
}

/* ---- threads that wait ---- */

static atomic_bool open_gate;
static wsq_task gate;

static wsq_poll stand_at_the_gate(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    return atomic_load(&open_gate) ? WSQ_DONE : WSQ_PENDING;
}

static wsq_poll wait_for_the_gate(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    CHECK_EQ(wsq_task_wait(&gate), WSQ_OK);
    return WSQ_DONE;
}

static void *wait_for_the_pool(void *pool) {
    CHECK_EQ(wsq_pool_wait((wsq_pool *)pool), WSQ_OK);
    return NULL;
}

/* The waits are there at some time; then nothing moves. */
static void waits(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 2, .list_tasks = true});
    wsq_task waiting;
    pthread_t thread;
    atomic_store(&open_gate, false);
    wsq_task_init(&gate, stand_at_the_gate);
    wsq_task_init(&waiting, wait_for_the_gate);
    CHECK_EQ(wsq_spawn(pool, &gate), WSQ_OK);
    CHECK_EQ(wsq_spawn(pool, &waiting), WSQ_OK);
    if (pthread_create(&thread, NULL, wait_for_the_pool, pool) != 0) FAIL("no thread");
    do {
        sched_yield();
        dump(pool);
    } while (lines_with("  wait ", "waits for", NULL) < 2 || lines_with("waits for a wake", NULL, NULL) < 1 ||
             lines_with("  wait ", ", for ", NULL) < 2 || lines_with("asleep in a wait", NULL, NULL) < 1);
    check_lines(1, "  wait ", "a thread from outside waits for the pool", NULL);
    check_lines(1, "  wait ", "worker", address(&gate));
    check_lines(1, address(&gate), "waits for a wake", NULL);
    check_lines(1, address(&waiting), "runs", NULL);
    atomic_store(&open_gate, true);
    wsq_wake(&gate);
    pthread_join(thread, NULL);
    dump(pool);
    check_lines(0, "  wait ", NULL, NULL);
    check_lines(0, "  task ", NULL, NULL);
    pool_end(pool);
}

/* Many threads that wait for the same: each has its line. */
static void many_waits(void) {
    enum { THREADS = 40 };
    wsq_pool *pool = pool_new((wsq_config){.workers = 1, .list_tasks = true});
    pthread_t threads[THREADS];
    atomic_store(&open_gate, false);
    wsq_task_init(&gate, stand_at_the_gate);
    CHECK_EQ(wsq_spawn(pool, &gate), WSQ_OK);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, wait_for_the_pool, pool) != 0) FAIL("no thread");
    do {
        sched_yield();
        dump(pool);
    } while (lines_with("  wait ", "waits for the pool, for ", NULL) < THREADS);
    check_lines(THREADS, "  wait ", NULL, NULL);
    atomic_store(&open_gate, true);
    wsq_wake(&gate);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    pool_end(pool);
}

/* ---- threads that join ---- */

static atomic_bool job_started, job_may_end;
static wsq_job held_up;

static void hold_up(wsq_ctx ctx, wsq_job *job) {
    (void)ctx, (void)job;
    atomic_store(&job_started, true);
    while (!atomic_load(&job_may_end)) sched_yield();
}

static void no_work(wsq_ctx ctx, wsq_job *job) { (void)ctx, (void)job; }

static wsq_poll join_held_up(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    wsq_fork(&ctx, &held_up, hold_up);
    while (!atomic_load(&job_started)) { /* each fork offers the first job to a thief */
        wsq_job other;
        wsq_fork(&ctx, &other, no_work);
        wsq_join(&ctx, &other);
    }
    wsq_join(&ctx, &held_up);
    return WSQ_DONE;
}

static void joins(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 2, .list_tasks = true});
    wsq_task joining;
    wsq_task_init(&joining, join_held_up);
    CHECK_EQ(wsq_spawn(pool, &joining), WSQ_OK);
    do {
        sched_yield();
        dump(pool);
    } while (lines_with("asleep in a join", NULL, NULL) < 1 || lines_with("  wait ", ", for ", NULL) < 1);
    check_lines(1, "  wait ", "worker", address(&held_up));
    check_lines(1, "  wait ", NULL, NULL);
    atomic_store(&job_may_end, true);
    CHECK_EQ(wsq_task_wait(&joining), WSQ_OK);
    dump(pool);
    check_lines(0, "  wait ", NULL, NULL);
    pool_end(pool);
}

/* ---- beside everything ---- */

typedef struct brief {
    wsq_task task;
    wsq_timer timer;
    wsq_pool *pool;
    int runs;
} brief;

static atomic_ulong briefs_left;

/* Frees itself: a sanitizer would find a later look at it. */
static wsq_poll brief_run(wsq_ctx ctx, wsq_task *task) {
    brief *self = wsq_container_of(task, brief, task);
    (void)ctx;
    switch (self->runs++) {
    case 0: return WSQ_YIELD;
    case 1: wsq_timer_set(self->pool, &self->timer, task, 1000); return WSQ_PENDING;
    default:
        free(self);
        atomic_fetch_sub(&briefs_left, 1);
        return WSQ_GONE;
    }
}

static void spawn_briefs(test_thread *self) {
    wsq_pool *pool = self->arg;
    FILE *file = self->index == 0 ? tmpfile() : NULL;
    if (self->index == 0 && file == NULL) FAIL("no temporary file");
    for (size_t i = 0; self->index != 0 && i < test_times(4000); i++) {
        brief *one = calloc(1, sizeof *one);
        if (one == NULL) abort();
        one->pool = pool;
        one->task.fn = brief_run;
        atomic_fetch_add(&briefs_left, 1);
        CHECK_EQ(wsq_spawn(pool, &one->task), WSQ_OK);
        if (i % 64 == 0) sched_yield();
    }
    if (self->index != 0) return;
    do {
        rewind(file);
        wsq_pool_dump(pool, file);
    } while (atomic_load(&briefs_left) != 0);
    fclose(file);
}

static void beside(wsq_config config) {
    wsq_pool *pool = pool_new(config);
    test_threads(3, spawn_briefs, pool);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    dump(pool);
    check_lines(0, "  task ", NULL, NULL);
    pool_end(pool);
}

static void beside_tasks(void) {
    beside((wsq_config){.workers = 2, .list_tasks = true});
    beside((wsq_config){.workers = 2});
}

/* ---- the list ---- */

static wsq_task tasks[MANY];

/* It grows and shrinks, and knows each task, while they end in any order. */
static void grows(void) {
    wsq_pool *pool = pool_of_caller(true);
    uint64_t random = test_seed;
    atomic_store(&open_gate, false);
    for (int i = 0; i < MANY; i++) {
        wsq_task_init(&tasks[i], stand_at_the_gate);
        CHECK_EQ(wsq_spawn(pool, &tasks[i]), WSQ_OK);
    }
    while (wsq_pool_run_one(pool)) {}
    dump(pool);
    check_lines(MANY, "waits for a wake", NULL, NULL);
    atomic_store(&open_gate, true);
    for (int left = MANY; left > 0;) {
        wsq_task *task = &tasks[test_below(&random, MANY)];
        if (wsq_task_done(task)) continue;
        wsq_wake(task);
        CHECK_EQ(wsq_task_wait(task), WSQ_OK);
        left--;
        if (left % 50 != 0) continue;
        dump(pool);
        check_lines(left, "waits for a wake", NULL, NULL);
    }
    pool_end(pool);
}

/* A task gives its memory away, and in the middle of its run the same memory is another task: the end of
 * the first is not the end of that. */
static wsq_poll another_here(wsq_ctx ctx, wsq_task *task) {
    wsq_task_init(task, forgotten);
    CHECK_EQ(wsq_spawn(wsq_pool_of(ctx), task), WSQ_OK);
    return WSQ_GONE;
}

static void call_last(void *pool) { (void)pool; }

static void call_next(void *pool) {
    CHECK_EQ(wsq_go(pool, call_last, pool), WSQ_OK);
    dump(pool);
    check_lines(1, "  task ", "runs", NULL);
    check_lines(1, "  task ", "is queued", NULL);
}

static void memory_again(void) {
    wsq_pool *pool = pool_of_caller(true);
    wsq_task task;
    wsq_task_init(&task, another_here);
    CHECK_EQ(wsq_spawn(pool, &task), WSQ_OK);
    CHECK(wsq_pool_run_one(pool));
    dump(pool);
    check_lines(1, address(&task), "is queued", "the forgotten");
    CHECK(wsq_pool_run_one(pool));
    dump(pool);
    check_lines(1, address(&task), "waits for a wake", "the forgotten");
    wsq_wake(&task);
    CHECK_EQ(wsq_go(pool, call_next, pool), WSQ_OK);
    CHECK(wsq_pool_run_one(pool) && wsq_pool_run_one(pool));
    dump(pool);
    check_lines(1, "  task ", "is queued", NULL);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    dump(pool);
    check_lines(0, "  task ", NULL, NULL);
    pool_end(pool);
}

/* More than it shows, and more than there is memory for. */
static size_t memory_left;

static void *take(size_t size, size_t alignment, void *user) {
    void *memory;
    (void)user;
    if (memory_left < size || posix_memalign(&memory, alignment, size) != 0) return NULL;
    memory_left -= size;
    return memory;
}

static void give(void *memory, size_t size, void *user) {
    (void)size, (void)user;
    free(memory);
}

static void too_many(void) {
    static wsq_task crowd[3000];
    const wsq_allocator allocator = {.allocate = take, .release = give};
    wsq_config config = {.caller_runs = true, .list_tasks = true, .allocator = &allocator};
    memory_left = SIZE_MAX;
    for (int round = 0; round < 2; round++) {
        wsq_pool *pool = pool_new(config);
        if (round == 1) memory_left = 20000;
        for (int i = 0; i < 3000; i++) {
            wsq_task_init(&crowd[i], done);
            CHECK_EQ(wsq_spawn(pool, &crowd[i]), WSQ_OK);
        }
        dump(pool);
        check_lines(1, "  task ", "and", "more");
        if (round == 0) check_lines(1000, "is queued", NULL, NULL);
        memory_left = 0;
        dump(pool);
        check_lines(32, "is queued", NULL, NULL);
        check_lines(1, "  task ", "and 2968 more", NULL);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        dump(pool);
        check_lines(0, "  task ", NULL, NULL);
        memory_left = SIZE_MAX;
        pool_end(pool);
    }
    for (size_t fail = 0; fail < 3; fail++) { /* no memory for the list: no pool */
        wsq_pool *pool = NULL;
        memory_left = sizeof(wsq_pool) + WSQ_BLOCK_SIZE + sizeof(wsqi_timers) + 4096 + fail * 200;
        if (wsq_pool_create(&pool, &config) == WSQ_OK) wsq_pool_destroy(pool);
        else CHECK(pool == NULL);
    }
    memory_left = SIZE_MAX;
}

/* The first 32 timers in the order of their times, whatever the order in which they were set. */
static void timers_in_order(void) {
    enum { TIMERS = 50, SHOWN = 32 };
    static wsq_task sleepers[TIMERS];
    static wsq_timer timers[TIMERS];
    wsq_pool *pool = pool_of_caller(false);
    const char *line = text;
    for (unsigned i = 0; i < TIMERS; i++) { /* the k-th fires after k + 1 hours: 3, 10, 17, and so on */
        unsigned k = (i * 7 + 3) % TIMERS;
        wsq_task_init(&sleepers[k], done);
        CHECK_EQ(wsq_timer_set(pool, &timers[k], &sleepers[k], (k + 1) * 3600000000000u), WSQ_OK);
    }
    dump(pool);
    check_lines(SHOWN, "  timer ", "wakes", NULL);
    check_lines(1, "  timer ", "and 18 more", NULL);
    for (unsigned k = 0; k < SHOWN && line != NULL; k++) {
        line = strstr(line, "  timer ");
        const char *task = address(&sleepers[k]);
        CHECK(line != NULL && strstr(line, task) != NULL && strstr(line, task) < strchr(line, '\n'));
        if (line != NULL) line++;
    }
    for (unsigned k = 0; k < TIMERS; k++) CHECK(wsq_timer_cancel(&timers[k]));
    pool_end(pool);
}

int main(void) {
    test_begin("test_dump");
    RUN(all_lanes);
    RUN(each_state);
    RUN(without_a_list);
    RUN(timers_in_order);
    RUN(waits);
    RUN(many_waits);
    RUN(joins);
    RUN(beside_tasks);
    RUN(grows);
    RUN(memory_again);
    RUN(too_many);
    return test_end();
}
