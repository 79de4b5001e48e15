/* What the hooks are told: every beginning has its end, on the thread of the worker that is named, no
 * event is told to another pool's user, what they hear of a task is its life, step by step, and they hear only what they asked for. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "test.h"
#include "pool.h"

#include <sched.h>

enum { EVENTS = WSQ_EVENT_UNBLOCK + 1, WORKERS = 3, TASKS = 2000, BLOCKS = WORKERS + 8 + 64 };

/* Where a task is, as far as the events alone say. */
enum { UNKNOWN, HELD, QUEUED, RUNNING, PENDING, OVER };

static struct { wsq_task task; wsq_edge edge; atomic_int place; int runs; } tasks[TASKS];
static wsq_timer timers[TASKS];

/* One for each pool. Those of a worker are its own thread's. */
typedef struct witness {
    atomic_ulong told[EVENTS];
    atomic_ulong published;
    int depth[BLOCKS]; /* tasks, jobs and runs of each block, one above the other */
    bool asleep[BLOCKS];
    const void *awaited[BLOCKS][4];
    int waits[BLOCKS];
} witness;

static void step_place(const void *subject, wsq_event event, uint64_t value) {
    ptrdiff_t index = ((const char *)subject - (const char *)tasks) / (ptrdiff_t)sizeof *tasks;
    if (subject == NULL || index < 0 || index >= TASKS) return; /* a job, a run, or a future */
    int place = atomic_load(&tasks[index].place), next = OVER;
    switch (event) {
    case WSQ_EVENT_SPAWN:
        CHECK(place == UNKNOWN || place == OVER);
        next = value != 0 ? HELD : QUEUED;
        break;
    case WSQ_EVENT_WAKE:
        CHECK_EQ(place, value == WSQ_CAUSE_AFTER ? HELD : PENDING);
        CHECK(value <= WSQ_CAUSE_EARLY);
        next = QUEUED;
        break;
    case WSQ_EVENT_TASK_BEGIN:
        CHECK_EQ(place, QUEUED);
        next = RUNNING;
        break;
    case WSQ_EVENT_TASK_END:
        CHECK_EQ(place, RUNNING);
        if (value == WSQ_PENDING || value == WSQ_YIELD) next = value == WSQ_YIELD ? QUEUED : PENDING;
        break;
    case WSQ_EVENT_CANCEL: CHECK_EQ(place, QUEUED); break;
    default: return;
    }
    atomic_store(&tasks[index].place, next);
}

static void note_block(witness *self, unsigned worker, const void *subject, bool begins) {
    if (begins) {
        if (!CHECK(self->waits[worker] < 4)) return;
        self->awaited[worker][self->waits[worker]++] = subject;
    } else if (CHECK(self->waits[worker] > 0)) {
        CHECK(self->awaited[worker][--self->waits[worker]] == subject);
    }
}

static void note(void *user, wsq_event event, unsigned worker, const void *subject, uint64_t value) {
    witness *self = user;
    atomic_fetch_add(&self->told[event], 1);
    step_place(subject, event, value);
    if (worker == WSQ_OUTSIDE) {
        CHECK(event == WSQ_EVENT_SPAWN || event == WSQ_EVENT_WAKE || event == WSQ_EVENT_CANCEL);
        return;
    }
    if (worker >= BLOCKS) FAIL("a worker's index");
    switch (event) {
    case WSQ_EVENT_START:
    case WSQ_EVENT_STOP: CHECK_EQ(self->depth[worker], 0); break;
    case WSQ_EVENT_PARK:
    case WSQ_EVENT_UNPARK:
        CHECK_EQ(self->asleep[worker], event == WSQ_EVENT_UNPARK);
        self->asleep[worker] = event == WSQ_EVENT_PARK;
        break;
    case WSQ_EVENT_TASK_BEGIN: self->depth[worker]++; break;
    case WSQ_EVENT_TASK_END: CHECK(self->depth[worker]-- > 0 && value <= WSQ_GONE); break;
    case WSQ_EVENT_STEAL: CHECK(subject != NULL && value != worker); break;
    case WSQ_EVENT_PUBLISH:
        CHECK(value > 0);
        atomic_fetch_add(&self->published, value);
        break;
    case WSQ_EVENT_SPAWN:
    case WSQ_EVENT_WAKE:
    case WSQ_EVENT_CANCEL: CHECK(subject != NULL); break;
    case WSQ_EVENT_BLOCK:
    case WSQ_EVENT_UNBLOCK: note_block(self, worker, subject, event == WSQ_EVENT_BLOCK); break;
    default: FAIL("an event");
    }
}

static unsigned long told(const witness *self, wsq_event event) {
    return atomic_load(&((witness *)self)->told[event]);
}

static wsq_pool *watched(witness *self, wsq_config config) {
    wsq_hooks hooks = {.event = note, .user = self};
    memset((void *)self, 0, sizeof *self);
    config.hooks = &hooks;
    return pool_new(config); /* it keeps a copy */
}

/* The pool is gone. */
static void check_pairs(const witness *self, unsigned long threads) {
    CHECK_EQ(told(self, WSQ_EVENT_START), threads);
    CHECK_EQ(told(self, WSQ_EVENT_STOP), threads);
    CHECK_EQ(told(self, WSQ_EVENT_PARK), told(self, WSQ_EVENT_UNPARK));
    CHECK_EQ(told(self, WSQ_EVENT_TASK_BEGIN), told(self, WSQ_EVENT_TASK_END));
    CHECK_EQ(told(self, WSQ_EVENT_BLOCK), told(self, WSQ_EVENT_UNBLOCK));
}

static int number_of(const wsq_task *task) {
    return (int)(((const char *)task - (const char *)tasks) / (ptrdiff_t)sizeof *tasks);
}

/* A new life for all of them. */
static void tasks_new(wsq_task_fn fn) {
    for (int i = 0; i < TASKS; i++) {
        wsq_task_init(&tasks[i].task, fn);
        atomic_store(&tasks[i].place, UNKNOWN);
        tasks[i].runs = 0;
    }
}

static wsq_poll yield_once(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    return tasks[number_of(task)].runs++ == 0 ? WSQ_YIELD : WSQ_DONE;
}

static void tasks_of(wsq_config config) {
    static witness all;
    wsq_pool *pool = watched(&all, config);
    tasks_new(yield_once);
    for (int i = 0; i < TASKS; i++) CHECK_EQ(wsq_spawn(pool, &tasks[i].task), WSQ_OK);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    CHECK_EQ(told(&all, WSQ_EVENT_SPAWN), TASKS);
    CHECK_EQ(told(&all, WSQ_EVENT_TASK_END), 2 * TASKS);
    pool_end(pool);
    check_pairs(&all, config.caller_runs ? 0 : config.workers);
}

static void runs_of_tasks(void) {
    tasks_of((wsq_config){.workers = 1});
    tasks_of((wsq_config){.workers = WORKERS});
    tasks_of((wsq_config){.workers = WORKERS, .order = WSQ_LIFO});
    tasks_of((wsq_config){.workers = 2, .caller_runs = true});
}

static void spin(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    (void)ctx, (void)arg;
    for (size_t i = begin; i < end; i++) sched_yield();
}

static void loop_until_stolen(wsq_ctx ctx, void *arg) {
    witness *all = arg;
    while (told(all, WSQ_EVENT_STEAL) == 0) wsq_for(ctx, 0, 100, 1, spin, NULL);
}

static void jobs_and_steals(void) {
    static witness all;
    wsq_pool *pool = watched(&all, (wsq_config){.workers = WORKERS});
    CHECK_EQ(wsq_run(pool, loop_until_stolen, &all), WSQ_OK);
    pool_end(pool);
    check_pairs(&all, WORKERS);
    CHECK(told(&all, WSQ_EVENT_PUBLISH) > 0 && atomic_load(&all.published) > 0);
    CHECK(told(&all, WSQ_EVENT_TASK_BEGIN) > told(&all, WSQ_EVENT_STEAL)); /* and the run */
}

static void block_twice(wsq_ctx ctx, void *arg) {
    (void)arg;
    wsq_block_begin(ctx);
    wsq_block_begin(ctx);
    wsq_block_end(ctx);
    wsq_block_end(ctx);
}

static wsq_poll wait_for_other(wsq_ctx ctx, wsq_task *task) {
    CHECK_EQ(wsq_task_wait(&tasks[number_of(task) + 1].task), WSQ_OK);
    block_twice(ctx, NULL);
    CHECK_EQ(wsq_run(wsq_pool_of(ctx), block_twice, NULL), WSQ_OK);
    return WSQ_DONE;
}

static atomic_bool sent;

static wsq_poll pend_until_sent(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    return atomic_load(&sent) ? WSQ_DONE : WSQ_PENDING;
}

/* A stand-in is a worker, too; and a second pool has a witness of its own. */
static void standins_and_two_pools(void) {
    static witness all, others;
    wsq_pool *pool = watched(&all, (wsq_config){.workers = 1});
    wsq_pool *other = watched(&others, (wsq_config){.workers = 1});
    tasks_new(wait_for_other);
    tasks[1].task.fn = pend_until_sent;
    CHECK_EQ(wsq_spawn(pool, &tasks[1].task), WSQ_OK);
    CHECK_EQ(wsq_spawn(pool, &tasks[0].task), WSQ_OK);
    while (told(&all, WSQ_EVENT_BLOCK) == 0) sched_yield();
    atomic_store(&sent, true);
    wsq_wake(&tasks[1].task);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    pool_end(pool);
    pool_end(other);
    CHECK(told(&all, WSQ_EVENT_START) <= 2);
    CHECK_EQ(told(&all, WSQ_EVENT_WAKE), 1);
    /* the wait, and each outer wsq_block_begin: the second is the guest's alone, as is its end */
    CHECK_EQ(told(&all, WSQ_EVENT_BLOCK), 3);
    check_pairs(&all, told(&all, WSQ_EVENT_START));
    check_pairs(&others, 1);
    CHECK_EQ(told(&others, WSQ_EVENT_TASK_BEGIN), 0);
}

/* ---- whole lives ---- */

static wsq_pool *living;

/* It pends twice: a timer ends the first time, unless the task before is faster; the second time a
 * wake comes while it runs. */
static wsq_poll live(wsq_ctx ctx, wsq_task *task) {
    int number = number_of(task), runs = tasks[number].runs++;
    (void)ctx;
    if (runs == 1) wsq_wake(task);
    if (runs >= 2) return WSQ_DONE;
    if (runs == 0) CHECK_EQ(wsq_timer_set(living, &timers[number], task, (uint64_t)(number % 7) * 10000), WSQ_OK);
    return number % 3 == 0 && runs == 0 ? WSQ_YIELD : WSQ_PENDING;
}

/* However a task was queued, whatever held it back, each step is told, and in its order: `note` looks
 * at every single one. */
static void lives_of(wsq_config config) {
    static witness all;
    wsq_task *batch[TASKS / 4];
    wsq_group group;
    living = watched(&all, config);
    tasks_new(live);
    CHECK_EQ(wsq_group_init(&group, living), WSQ_OK);
    for (int i = 0; i < TASKS / 4; i++) { /* told of as one of the others would be */
        wsq_task *task = &tasks[i].task;
        batch[i] = task;
        if (i % 5 == 1) CHECK_EQ(wsq_task_set_priority(task, WSQ_HIGH), WSQ_OK);
        if (i % 5 == 2) CHECK_EQ(wsq_task_set_worker(task, 0), WSQ_OK);
        if (i % 5 == 3) wsq_task_set_group(task, &group);
    }
    CHECK_EQ(wsq_spawn_batch(living, batch, TASKS / 4), WSQ_OK);
    for (int i = TASKS / 4; i < TASKS / 2; i++) CHECK_EQ(wsq_group_spawn(&group, &tasks[i].task), WSQ_OK);
    for (int i = TASKS / 2; i < 3 * TASKS / 4; i++) { /* a chain, and each after one that runs now */
        CHECK_EQ(wsq_task_after(&tasks[i].task, &tasks[i - 1].task, &tasks[i].edge), WSQ_OK);
        CHECK_EQ(wsq_task_after(&tasks[i].task, &tasks[i - TASKS / 4].task, &tasks[i - TASKS / 4].edge),
                 WSQ_OK);
        CHECK_EQ(wsq_spawn(living, &tasks[i].task), WSQ_OK);
    }
    for (int i = 3 * TASKS / 4; i < TASKS; i++) CHECK_EQ(wsq_spawn_on(living, 0, &tasks[i].task), WSQ_OK);
    for (int i = 0; i < TASKS; i += 11) wsq_wake(&tasks[i].task);
    for (int i = 3; i < TASKS / 4; i += 40) wsq_task_cancel(&tasks[i].task);
    CHECK_EQ(wsq_pool_wait(living), WSQ_OK);
    for (int i = 0; i < TASKS; i++) CHECK_EQ(atomic_load(&tasks[i].place), OVER);
    CHECK_EQ(told(&all, WSQ_EVENT_SPAWN), TASKS);
    pool_end(living);
    check_pairs(&all, config.caller_runs ? 0 : told(&all, WSQ_EVENT_START));
}

static void lives(void) {
    lives_of((wsq_config){.workers = WORKERS});
    lives_of((wsq_config){.workers = 1});
    lives_of((wsq_config){.workers = WORKERS, .order = WSQ_LIFO});
    lives_of((wsq_config){.workers = WORKERS, .order = WSQ_SHARED});
    lives_of((wsq_config){.workers = 2, .caller_runs = true});
}

/* ---- futures, groups, and the end of the pool ---- */

static void *same(void *arg) { return arg; }

static void nothing(void *arg) { (void)arg; }

static wsq_poll finish(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    return WSQ_DONE;
}

/* A future's end is told once, whichever thread ends it; what remains of it in a queue is no event. */
static void futures(void) {
    static witness all;
    wsq_pool *pool = watched(&all, (wsq_config){.caller_runs = true});
    wsq_future *done, *off;
    tasks_new(finish);
    CHECK_EQ(wsq_submit(pool, same, &all, &done), WSQ_OK);
    CHECK_EQ(wsq_submit(pool, same, &all, &off), WSQ_OK);
    CHECK_EQ(wsq_go(pool, nothing, NULL), WSQ_OK);
    CHECK_EQ(told(&all, WSQ_EVENT_SPAWN), 3);
    CHECK_EQ(wsq_future_then(off, &tasks[0].task), WSQ_OK);
    CHECK_EQ(atomic_load(&tasks[0].place), HELD);
    wsq_future_cancel(off);
    CHECK_EQ(told(&all, WSQ_EVENT_CANCEL), 1);
    CHECK_EQ(wsq_future_get(off, NULL), WSQ_ERR_CANCELLED);
    CHECK_EQ(wsq_future_get(done, NULL), WSQ_OK);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    CHECK_EQ(atomic_load(&tasks[0].place), OVER);
    CHECK_EQ(told(&all, WSQ_EVENT_CANCEL), 1);
    CHECK_EQ(told(&all, WSQ_EVENT_TASK_END), 3);
    pool_end(pool);
}

static void groups_and_the_end(void) {
    static witness all;
    wsq_pool *pool = watched(&all, (wsq_config){.caller_runs = true});
    wsq_group group;
    tasks_new(finish);
    CHECK_EQ(wsq_group_init(&group, pool), WSQ_OK);
    for (int i = 0; i < 3; i++) CHECK_EQ(wsq_group_spawn(&group, &tasks[i].task), WSQ_OK);
    CHECK_EQ(wsq_group_then(&group, &tasks[3].task), WSQ_OK);
    CHECK_EQ(atomic_load(&tasks[3].place), HELD);
    CHECK(wsq_pool_run_one(pool));
    wsq_group_cancel(&group);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    CHECK_EQ(told(&all, WSQ_EVENT_CANCEL), 2);
    CHECK_EQ(atomic_load(&tasks[3].place), OVER);
    CHECK_EQ(wsq_group_then(&group, &tasks[4].task), WSQ_OK); /* at once */
    CHECK_EQ(atomic_load(&tasks[4].place), QUEUED);
    CHECK_EQ(wsq_spawn(pool, &tasks[5].task), WSQ_OK);
    CHECK_EQ(wsq_pool_shutdown(pool, WSQ_CANCEL), WSQ_OK);
    CHECK_EQ(told(&all, WSQ_EVENT_CANCEL), 4);
    CHECK_EQ(told(&all, WSQ_EVENT_SPAWN), 6);
    wsq_pool_destroy(pool);
}

/* ---- some events only ---- */

static void count(void *user, wsq_event event, unsigned worker, const void *subject, uint64_t value) {
    (void)worker, (void)subject, (void)value;
    atomic_fetch_add(&((witness *)user)->told[event], 1);
}

/* The same life each time: without threads, from the same seed. */
static void one_life(witness *all, uint32_t events, bool list) {
    wsq_hooks hooks = {.event = count, .user = all, .events = events};
    memset((void *)all, 0, sizeof *all);
    wsq_pool *pool = pool_new((wsq_config){.caller_runs = true, .seed = 1, .hooks = &hooks, .list_tasks = list});
    tasks_new(yield_once);
    tasks[1].task.fn = pend_until_sent;
    atomic_store(&sent, false);
    for (int i = 0; i < 9; i++) CHECK_EQ(wsq_spawn(pool, &tasks[i].task), WSQ_OK);
    CHECK_EQ(wsq_go(pool, nothing, NULL), WSQ_OK);
    CHECK_EQ(wsq_run(pool, block_twice, NULL), WSQ_OK);
    wsq_task_cancel(&tasks[8].task);
    while (wsq_pool_run_one(pool)) {}
    atomic_store(&sent, true);
    wsq_wake(&tasks[1].task);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    pool_end(pool);
}

/* Runs within runs: also those for which no block is left are told. */
enum { DEEP = WSQ_GUESTS + 2 };

static void run_deeper(wsq_ctx ctx, void *arg) {
    unsigned *left = arg;
    if (--*left != 0) CHECK_EQ(wsq_run(wsq_pool_of(ctx), run_deeper, left), WSQ_OK);
}

static void runs_within_runs(void) {
    static witness all;
    unsigned left = DEEP;
    wsq_hooks hooks = {.event = count, .user = &all};
    wsq_pool *pool = pool_new((wsq_config){.workers = 1, .hooks = &hooks});
    CHECK_EQ(wsq_run(pool, run_deeper, &left), WSQ_OK);
    pool_end(pool);
    CHECK_EQ(told(&all, WSQ_EVENT_TASK_BEGIN), DEEP);
    CHECK_EQ(told(&all, WSQ_EVENT_TASK_END), DEEP);
}

/* Each event alone is told as often as among all of them. */
static void one_event(bool list) {
    static witness all, one;
    one_life(&all, 0, list);
    CHECK_EQ(told(&all, WSQ_EVENT_SPAWN), 10);
    CHECK_EQ(told(&all, WSQ_EVENT_WAKE), 1);
    CHECK_EQ(told(&all, WSQ_EVENT_CANCEL), 1);
    CHECK_EQ(told(&all, WSQ_EVENT_TASK_BEGIN), told(&all, WSQ_EVENT_TASK_END));
    for (unsigned i = 0; i < EVENTS; i++) {
        one_life(&one, 1u << i, list);
        for (unsigned k = 0; k < EVENTS; k++)
            CHECK_EQ(told(&one, (wsq_event)k), k == i ? told(&all, (wsq_event)k) : 0);
    }
}

static void some_events(void) {
    one_event(false);
    one_event(true);
}

#ifdef __linux__
#include <sys/prctl.h>

static char thread_names[11][16];

static void read_name(void *user, wsq_event event, unsigned worker, const void *subject, uint64_t value) {
    (void)user, (void)event, (void)subject, (void)value;
    prctl(PR_GET_NAME, thread_names[worker], 0, 0, 0);
}

/* A hook at the start can also rename its thread. */
static void names(void) {
    static const struct { const char *given, *first, *second; } cases[] = {
        {NULL, "wsq-0", "wsq-1"},
        {"thirteenbytes", "thirteenbytes-0", "thirteenbytes-1"},
        {"more than thirteen", "more than thi-0", "more than thi-1"},
    };
    wsq_hooks hooks = {.event = read_name, .events = 1u << WSQ_EVENT_START};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pool_end(pool_new((wsq_config){.workers = 2, .name = cases[i].given, .hooks = &hooks}));
        CHECK(strcmp(thread_names[0], cases[i].first) == 0);
        CHECK(strcmp(thread_names[1], cases[i].second) == 0);
    }
    pool_end(pool_new((wsq_config){.workers = 11, .name = "thirteenbytes", .hooks = &hooks}));
    CHECK(strcmp(thread_names[10], "thirteenbyte-10") == 0);
}
#else
static void names(void) {}
#endif

int main(void) {
    test_begin("test_hooks");
    RUN(runs_of_tasks);
    RUN(jobs_and_steals);
    RUN(standins_and_two_pools);
    RUN(lives);
    RUN(futures);
    RUN(groups_and_the_end);
    RUN(some_events);
    RUN(runs_within_runs);
    RUN(names);
    return test_end();
}
