/* Timers: the order of their times, never before their time, cancelled ones never, whatever the workers do
 * meanwhile. That a timer is late is no error here; that it is lost shows as a hang. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "test.h"
#include "pool.h"
#include "compose.h"

static const wsq_config kinds[] = {
    {.workers = 1},
    {.workers = 2},
    {.workers = 8},
    {.workers = 2, .order = WSQ_LIFO},
    {.workers = 2, .lifo_cap = WSQ_LIFO_OFF},
    {.workers = 2, .caller_runs = true},
};

static void on_every_kind(void (*test)(wsq_pool *pool)) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        wsq_pool *pool = pool_new(kinds[i]);
        test(pool);
        pool_close(pool);
    }
}

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- a task that sleeps until a timer wakes it ---- */

typedef struct alarm_task {
    step step;
    uint64_t due, due_at_most, rang;
} alarm_task;

static wsq_poll ring(wsq_ctx ctx, step *self) {
    alarm_task *one = wsq_container_of(self, alarm_task, step);
    (void)ctx;
    if (self->runs == 1) return WSQ_PENDING;
    one->rang = now_ns();
    return WSQ_DONE;
}

static void spawn(wsq_pool *pool, step *task) {
    if (wsq_spawn(pool, &task->task) != WSQ_OK) FAIL("a spawn");
}

/* Spawned, and asleep. */
static void alarms_new(wsq_pool *pool, alarm_task *alarms, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        step_new(&alarms[i].step, ring, NULL);
        alarms[i].step.number = i;
        alarms[i].due = alarms[i].rang = 0;
        spawn(pool, &alarms[i].step);
    }
    if (pool->config.caller_runs) (void)pump(pool);
    for (unsigned i = 0; i < count; i++) step_asleep(&alarms[i].step);
}

static void set(wsq_pool *pool, alarm_task *one, uint64_t delay_ns) {
    one->due = now_ns() + delay_ns;
    if (wsq_timer_set(pool, &one->step.timer, &one->step.task, delay_ns) != WSQ_OK) FAIL("a timer");
    one->due_at_most = now_ns() + delay_ns;
}

static void never_early(const alarm_task *alarms, unsigned count) {
    unsigned early = 0, wrong = 0;
    for (unsigned i = 0; i < count; i++) {
        early += alarms[i].rang < alarms[i].due;
        wrong += alarms[i].step.runs != 2;
    }
    CHECK_EQ(early, 0);
    CHECK_EQ(wrong, 0);
}

enum { SOME = 32, MANY = 10000 };

static alarm_task alarms[MANY];

static void one_of(wsq_pool *pool) {
    for (size_t round = 0; round < test_times(20); round++) {
        alarms_new(pool, alarms, 1);
        set(pool, &alarms[0], round % 4 * 300000);
        CHECK_EQ(wsq_task_wait(&alarms[0].step.task), WSQ_OK);
        never_early(alarms, 1);
    }
}

static void one(void) { on_every_kind(one_of); }

/* ---- order ---- */

/* One worker, set in a random order: they run in the order of their deadlines, as far as the test knows
 * it; it was not held up for long between two calls in most cases. */
static void order_on(wsq_config config) {
    wsq_pool *pool = pool_new(config);
    uint64_t random = test_seed;
    unsigned known = 0;
    for (size_t round = 0; round < 10 + test_times(10); round++) {
        unsigned wrong = 0;
        alarms_new(pool, alarms, SOME);
        for (unsigned i = 0; i < SOME; i++) set(pool, &alarms[i], 500000 + test_below(&random, 2000000));
        for (unsigned i = 0; i < SOME; i++) CHECK_EQ(wsq_task_wait(&alarms[i].step.task), WSQ_OK);
        for (unsigned i = 0; i < SOME; i++) {
            for (unsigned k = 0; k < SOME; k++) {
                if (alarms[i].due_at_most >= alarms[k].due) continue;
                wrong += alarms[i].step.began > alarms[k].step.began;
                known++;
            }
        }
        CHECK_EQ(wrong, 0);
        never_early(alarms, SOME);
    }
    CHECK(known > 0);
    pool_close(pool);
}

static void order_of_deadlines(void) {
    order_on((wsq_config){.workers = 1, .caller_runs = true});
    order_on((wsq_config){.workers = 1});
}

/* All due at the same look: their worker was busy. Equal deadlines cannot be set from outside, so the
 * order of the calls stands for them. */
static void order_when_all_are_late(void) {
    const wsq_config some[] = {{.workers = 1}, {.workers = 1, .caller_runs = true},
                               {.workers = 1, .lifo_cap = WSQ_LIFO_OFF}};
    for (size_t k = 0; k < sizeof some / sizeof *some; k++) {
        wsq_pool *pool = pool_new(some[k]);
        for (size_t round = 0; round < test_times(20); round++) {
            gate doors[1];
            unsigned wrong = 0;
            alarms_new(pool, alarms, SOME);
            gates_close(doors, pool);
            for (unsigned i = SOME; i-- > 0;) set(pool, &alarms[i], round % 2 ? 0 : 2 * (i + 1));
            test_nap(1000000);
            gates_open(doors, pool);
            CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
            for (unsigned i = 1; i < SOME; i++) wrong += alarms[i - 1].step.began < alarms[i].step.began;
            CHECK_EQ(wrong, 0);
            never_early(alarms, SOME);
        }
        pool_close(pool);
    }
}

/* ---- cancel ---- */

static void cancel_of(wsq_pool *pool) {
    wsq_timer second = {0};
    alarms_new(pool, alarms, 3);
    CHECK(!wsq_timer_cancel(&alarms[0].step.timer)); /* it is not set */
    set(pool, &alarms[0], 3600000000000u);
    set(pool, &alarms[0], 3600000000001u);
    CHECK_EQ(wsq_timer_set(pool, &second, &alarms[0].step.task, 3600000000000u), WSQ_OK);
    set(pool, &alarms[1], 2000000);
    set(pool, &alarms[2], 3600000000000u);
    CHECK(wsq_timer_cancel(&alarms[0].step.timer));
    CHECK(!wsq_timer_cancel(&alarms[0].step.timer));
    CHECK(wsq_timer_cancel(&second)); /* a timer of its own */
    CHECK_EQ(wsq_task_wait(&alarms[1].step.task), WSQ_OK);
    CHECK(!wsq_timer_cancel(&alarms[1].step.timer)); /* it has fired */
    CHECK(wsq_timer_cancel(&alarms[2].step.timer));
    CHECK_EQ(alarms[0].step.runs, 1);
    CHECK_EQ(alarms[2].step.runs, 1);
    wsq_wake(&alarms[0].step.task);
    wsq_wake(&alarms[2].step.task);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
}

static void cancel(void) { on_every_kind(cancel_of); }

/* Cancelled, or woken: the memory may go as soon as wsq_timer_cancel has returned. */
static void cancel_races_on(unsigned workers) {
    wsq_pool *pool = pool_new((wsq_config){.workers = workers});
    uint64_t random = test_seed;
    size_t hits = 0, rounds = test_times(2000);
    for (size_t round = 0; round < rounds; round++) {
        alarm_task *one_alarm = malloc(sizeof *one_alarm);
        if (one_alarm == NULL) abort();
        alarms_new(pool, one_alarm, 1);
        set(pool, one_alarm, test_below(&random, 100000));
        test_spin(test_below(&random, 60000));
        bool cancelled = wsq_timer_cancel(&one_alarm->step.timer);
        hits += cancelled;
        if (cancelled) wsq_wake(&one_alarm->step.task);
        if (wsq_task_wait(&one_alarm->step.task) != WSQ_OK) FAIL("a wait");
        if (one_alarm->step.runs != 2) FAIL("one wake, one run");
        memset((void *)one_alarm, 0xee, sizeof *one_alarm);
        free(one_alarm);
    }
    CHECK(hits <= rounds);
    pool_close(pool);
}

static void cancel_races(void) {
    cancel_races_on(1);
    cancel_races_on(2);
}

/* A task that only its timer wakes frees both when it has run, although it still ran when the timer was
 * due. A sanitizer would see a use that comes later. */
typedef struct brief {
    step step;
    uint64_t delay;
    uint32_t stays;
} brief;

static atomic_uint briefs_left;

static wsq_poll brief_run(wsq_ctx ctx, step *self) {
    brief *one = wsq_container_of(self, brief, step);
    if (self->runs == 1) {
        CHECK_EQ(wsq_timer_set(wsq_pool_of(ctx), &self->timer, &self->task, one->delay), WSQ_OK);
        test_spin(one->stays);
        return WSQ_PENDING;
    }
    memset((void *)one, 0xee, sizeof *one);
    free(one);
    atomic_fetch_sub(&briefs_left, 1);
    return WSQ_GONE;
}

static void freed_when_woken_of(wsq_pool *pool) {
    uint64_t random = test_seed;
    size_t count = test_times(5000);
    atomic_store(&briefs_left, (unsigned)count);
    for (size_t i = 0; i < count; i++) {
        brief *one = malloc(sizeof *one);
        if (one == NULL) abort();
        step_new(&one->step, brief_run, NULL);
        one->delay = test_below(&random, 3) == 0 ? test_below(&random, 20000) : test_below(&random, 2);
        one->stays = test_below(&random, 3000);
        spawn(pool, &one->step);
    }
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    CHECK_EQ(atomic_load(&briefs_left), 0);
}

static void freed_when_woken(void) { on_every_kind(freed_when_woken_of); }

/* ---- one timer, and many threads that set it and take it back ---- */

typedef struct shared_timer {
    wsq_pool *pool;
    step task;
    wsq_timer timer;
    atomic_ulong sets, cancels;
} shared_timer;

static wsq_poll answer(wsq_ctx ctx, step *self) {
    (void)ctx, (void)self;
    return WSQ_PENDING;
}

static void set_and_cancel(test_thread *self) {
    shared_timer *all = self->arg;
    size_t times = test_times(20000);
    for (size_t i = 0; i < times; i++) {
        uint64_t delay = test_below(&self->random, 4) == 0 ? 3600000000000u : test_below(&self->random, 3000);
        if (test_below(&self->random, 2)) {
            CHECK_EQ(wsq_timer_set(all->pool, &all->timer, &all->task.task, delay), WSQ_OK);
            atomic_fetch_add(&all->sets, 1);
        } else {
            atomic_fetch_add(&all->cancels, wsq_timer_cancel(&all->timer));
        }
    }
}

static void shared_of(wsq_pool *pool) {
    shared_timer all = {.pool = pool};
    step_new(&all.task, answer, NULL);
    spawn(pool, &all.task);
    if (pool->config.caller_runs) (void)pump(pool);
    test_threads(4, set_and_cancel, &all);
    if (pool->config.caller_runs) (void)pump(pool);
    (void)wsq_timer_cancel(&all.timer);
    CHECK(!wsq_timer_cancel(&all.timer));
    CHECK(atomic_load(&all.cancels) <= atomic_load(&all.sets));
    unsigned left = 0; /* of a timer that was linked twice something stays */
    for (unsigned i = 0; i < pool->workers; i++) {
        wsqi_timers *timers = &pool->timers[i];
        wsqi_lock(pool, &timers->lock);
        left += wsqi_timers_open(timers, WSQI_NEVER - 1) != WSQI_NEVER;
        wsqi_unlock(pool, &timers->lock);
    }
    CHECK_EQ(left, 0);
    wsq_task_cancel(&all.task.task);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
}

static void shared(void) { on_every_kind(shared_of); }

/* A timer is set in one pool at a time. */
static void two_pools(void) {
    wsq_pool *one = pool_new((wsq_config){.workers = 1, .caller_runs = true});
    wsq_pool *two = pool_new((wsq_config){.workers = 3, .caller_runs = true});
    wsq_task tasks[2]; /* never spawned: a wake does nothing */
    wsq_timer timer = {0};
    for (int i = 0; i < 2; i++) wsq_task_init(&tasks[i], gate_run);
    CHECK_EQ(wsq_timer_set(one, &timer, &tasks[0], 3600000000000u), WSQ_OK);
    CHECK_EQ(wsq_timer_set(two, &timer, &tasks[1], 0), WSQ_ERR_INVALID);
    CHECK_EQ(pump(two), 0);
    CHECK(wsq_timer_cancel(&timer));
    CHECK_EQ(wsq_timer_set(two, &timer, &tasks[1], 0), WSQ_OK);
    CHECK_EQ(pump(two), 0); /* it has fired in the second */
    CHECK_EQ(wsq_timer_set(one, &timer, &tasks[0], 0), WSQ_OK);
    CHECK_EQ(pump(one), 0);
    CHECK(!wsq_timer_cancel(&timer));
    CHECK_EQ(wsq_timer_set(two, &timer, &tasks[1], 3600000000000u), WSQ_OK);
    pool_end(two); /* now it is not set any more */
    CHECK(!wsq_timer_cancel(&timer));
    CHECK_EQ(wsq_timer_set(one, &timer, &tasks[0], 3600000000000u), WSQ_OK);
    CHECK(wsq_timer_cancel(&timer));
    CHECK_EQ(wsq_timer_set(NULL, &timer, &tasks[0], 0), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_timer_set(one, NULL, &tasks[0], 0), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_timer_set(one, &timer, NULL, 0), WSQ_ERR_INVALID);
    pool_end(one);
}

/* ---- timers, wakes and ends at once ---- */

typedef struct busy_task {
    step step;
    wsq_timer second;
    atomic_ulong posted;
    unsigned long seen, goal;
    uint64_t random;
    wsq_pool *pool;
} busy_task;

/* It sets its own timers, others wake it, and it ends with timers that are still to come. */
static wsq_poll restless(wsq_ctx ctx, step *self) {
    busy_task *one_task = wsq_container_of(self, busy_task, step);
    (void)ctx;
    one_task->seen = atomic_load(&one_task->posted);
    if (self->runs >= one_task->goal) {
        (void)wsq_timer_cancel(&self->timer);
        (void)wsq_timer_cancel(&one_task->second);
        return WSQ_DONE;
    }
    for (unsigned i = 0; i < 1 + self->runs % 2; i++) {
        wsq_timer *timer = i == 0 ? &self->timer : &one_task->second;
        if (wsq_timer_set(one_task->pool, timer, &self->task, test_below(&one_task->random, 50000)) != WSQ_OK)
            FAIL("a timer");
    }
    return self->runs % 5 == 0 ? WSQ_YIELD : WSQ_PENDING;
}

enum { BUSY = 16 };

static busy_task crowd[BUSY];

static void wake_them(test_thread *self) {
    size_t times = test_times(5000);
    for (size_t i = 0; i < times; i++) {
        busy_task *one_task = &crowd[test_below(&self->random, BUSY)];
        atomic_fetch_add(&one_task->posted, 1);
        wsq_wake(&one_task->step.task);
    }
}

static void timers_wakes_ends_of(wsq_pool *pool) {
    for (unsigned i = 0; i < BUSY; i++) {
        step_new(&crowd[i].step, restless, NULL);
        memset(&crowd[i].second, 0, sizeof crowd[i].second);
        crowd[i].random = test_seed + i;
        crowd[i].goal = 20 + i * 10;
        crowd[i].pool = pool;
        spawn(pool, &crowd[i].step);
    }
    test_threads(3, wake_them, NULL);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    for (unsigned i = 0; i < BUSY; i++) CHECK(crowd[i].step.runs >= crowd[i].goal);
}

static void timers_wakes_ends(void) { on_every_kind(timers_wakes_ends_of); }

/* A task without anything but its timers: each lost one is a hang. */
static wsq_poll tick(wsq_ctx ctx, step *self) {
    if (self->runs == 300) return WSQ_DONE;
    CHECK_EQ(wsq_timer_set(wsq_pool_of(ctx), &self->timer, &self->task, self->runs % 7 * 2000), WSQ_OK);
    return WSQ_PENDING;
}

static void ticks_of(wsq_pool *pool) {
    step tickers[3];
    for (int i = 0; i < 3; i++) {
        step_new(&tickers[i], tick, NULL);
        spawn(pool, &tickers[i]);
    }
    for (int i = 0; i < 3; i++) CHECK_EQ(wsq_task_wait(&tickers[i].task), WSQ_OK);
}

static void ticks(void) { on_every_kind(ticks_of); }

/* ---- the watcher ---- */

/* The watcher sleeps for a later timer when an earlier one is set. */
static void earlier_of(wsq_pool *pool) {
    if (pool->config.caller_runs) return; /* nobody watches */
    for (size_t round = 0; round < test_times(50); round++) {
        alarms_new(pool, alarms, 2);
        set(pool, &alarms[0], 3600000000000u);
        while (wsqi_free_permits(wsqi_load_acq(&pool->permits)) != pool->workers) sched_yield();
        if (round % 2) test_nap(1000000); /* it watches for an hour now */
        set(pool, &alarms[1], 100000);
        CHECK_EQ(wsq_task_wait(&alarms[1].step.task), WSQ_OK);
        never_early(&alarms[1], 1);
        CHECK(wsq_timer_cancel(&alarms[0].step.timer));
        wsq_wake(&alarms[0].step.task);
        CHECK_EQ(wsq_task_wait(&alarms[0].step.task), WSQ_OK);
    }
}

static void earlier(void) { on_every_kind(earlier_of); }

/* Busy workers look, too: no worker sleeps while the timers come due. */
static atomic_bool stop_work;

static wsq_poll work_on(wsq_ctx ctx, step *self) {
    (void)ctx;
    (void)self;
    test_spin(2000);
    return atomic_load(&stop_work) ? WSQ_DONE : WSQ_YIELD;
}

static void under_load_of(wsq_pool *pool) {
    step workers[16];
    if (pool->config.caller_runs) return;
    atomic_store(&stop_work, false);
    alarms_new(pool, alarms, SOME);
    for (int i = 0; i < 16; i++) {
        step_new(&workers[i], work_on, NULL);
        spawn(pool, &workers[i]);
    }
    for (unsigned i = 0; i < SOME; i++) set(pool, &alarms[i], i * 100000);
    for (unsigned i = 0; i < SOME; i++) CHECK_EQ(wsq_task_wait(&alarms[i].step.task), WSQ_OK);
    atomic_store(&stop_work, true);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    never_early(alarms, SOME);
}

static void under_load(void) { on_every_kind(under_load_of); }

/* The worker that has set the timer is in a long task, the other one always has something to do. */
static wsq_poll set_and_stay(wsq_ctx ctx, step *self) {
    set(wsq_pool_of(ctx), self->arg, 100000);
    while (!atomic_load(&stop_work)) sched_yield();
    return WSQ_DONE;
}

static wsq_poll wake_stops_work(wsq_ctx ctx, step *self) {
    (void)ctx;
    if (self->runs == 1) return WSQ_PENDING;
    atomic_store(&stop_work, true);
    return WSQ_DONE;
}

static void of_a_worker_that_stays(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 2});
    for (size_t round = 0; round < test_times(20); round++) {
        step stays, works[4];
        atomic_store(&stop_work, false);
        step_new(&alarms[0].step, wake_stops_work, NULL);
        spawn(pool, &alarms[0].step);
        step_asleep(&alarms[0].step);
        for (int i = 0; i < 4; i++) {
            step_new(&works[i], work_on, NULL);
            spawn(pool, &works[i]);
        }
        step_new(&stays, set_and_stay, &alarms[0]);
        CHECK_EQ(wsq_spawn_on(pool, 0, &stays.task), WSQ_OK);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    }
    pool_close(pool);
}

/* One worker in a long task, the other asleep: it must be the one that watches, for a slot and timers. */
static wsq_poll wake_and_stay(wsq_ctx ctx, step *self) {
    step *other = self->arg;
    (void)ctx;
    wsq_wake(&other->task); /* into the slot of a worker that goes on */
    while (!atomic_load(&stop_work)) sched_yield();
    return WSQ_DONE;
}

static void slot_and_timer(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 2});
    for (size_t round = 0; round < test_times(100); round++) {
        step stays;
        atomic_store(&stop_work, false);
        alarms_new(pool, alarms, 3);
        step_new(&stays, wake_and_stay, &alarms[0].step);
        if (round % 2) set(pool, &alarms[2], 3600000000000u);
        spawn(pool, &stays);
        if (round % 4 < 2) CHECK_EQ(wsq_task_wait(&alarms[0].step.task), WSQ_OK);
        set(pool, &alarms[1], 200000);
        CHECK_EQ(wsq_task_wait(&alarms[1].step.task), WSQ_OK);
        CHECK_EQ(wsq_task_wait(&alarms[0].step.task), WSQ_OK);
        atomic_store(&stop_work, true);
        (void)wsq_timer_cancel(&alarms[2].step.timer);
        wsq_wake(&alarms[2].step.task);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    }
    pool_close(pool);
}

/* ---- many, and no memory ---- */

static void many_of(wsq_pool *pool) {
    uint64_t random = test_seed;
    for (unsigned i = 0; i < MANY; i++) {
        step_new(&alarms[i].step, ring, NULL);
        spawn(pool, &alarms[i].step);
    }
    if (pool->config.caller_runs) (void)pump(pool);
    for (unsigned i = 0; i < MANY; i++) step_asleep(&alarms[i].step);
    for (unsigned i = 0; i < MANY; i++) set(pool, &alarms[i], test_below(&random, 20000000));
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    never_early(alarms, MANY);
}

static void many(void) { on_every_kind(many_of); }

/* No timer allocates. */
static void no_memory(void) {
    hoard memory;
    hoard_new(&memory);
    const wsq_config config = {.workers = 1, .caller_runs = true, .allocator = &memory.allocator};
    wsq_pool *pool = pool_new(config);
    alarms_new(pool, alarms, 200);
    atomic_store(&memory.left, 0);
    for (unsigned i = 0; i < 200; i++) set(pool, &alarms[i], i * 1000);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    for (unsigned i = 0; i < 200; i++) CHECK_EQ(alarms[i].step.runs, 2);
    pool_close(pool);
    CHECK_EQ(atomic_load(&memory.live), 0);
}

/* Many are due at once: a worker does not wake them all before anything else runs. */
static unsigned in_a_row, longest_row;

static void count_rows(void *user, wsq_event event, unsigned worker, const void *subject, uint64_t value) {
    (void)user, (void)worker, (void)subject;
    if (event == WSQ_EVENT_TASK_BEGIN) in_a_row = 0;
    if (event != WSQ_EVENT_WAKE || value != WSQ_CAUSE_TIMER) return;
    if (++in_a_row > longest_row) longest_row = in_a_row;
}

static void others_in_between(void) {
    const wsq_hooks hooks = {.event = count_rows};
    wsq_pool *pool = pool_new((wsq_config){.workers = 1, .hooks = &hooks});
    gate doors[1];
    longest_row = in_a_row = 0;
    alarms_new(pool, alarms, MANY);
    gates_close(doors, pool);
    for (unsigned i = 0; i < MANY; i++) set(pool, &alarms[i], 0);
    gates_open(doors, pool);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    never_early(alarms, MANY);
    CHECK(longest_row > 1 && longest_row <= WSQI_TIMERS_MOST);
    pool_close(pool);
}

/* ---- the end of the pool ---- */

static wsq_poll sleep_again(wsq_ctx ctx, step *self) {
    if (self->runs == 2) CHECK_EQ(wsq_timer_set(wsq_pool_of(ctx), &self->timer, &self->task, WSQ_FOREVER), WSQ_OK);
    return self->runs == 2 ? WSQ_PENDING : WSQ_DONE;
}

static void pending_at_the_end(void) {
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        wsq_pool *pool = pool_new(kinds[k]); /* a drain waits for them */
        alarms_new(pool, alarms, SOME);
        for (unsigned i = 0; i < SOME; i++) set(pool, &alarms[i], i * 50000);
        wsq_pool_destroy(pool);
        never_early(alarms, SOME);

        hoard memory; /* a cancel fires them early, so it cancels their tasks */
        hoard_new(&memory);
        wsq_config config = kinds[k];
        config.allocator = &memory.allocator;
        pool = pool_new(config);
        alarms_new(pool, alarms, SOME);
        for (unsigned i = 0; i < SOME; i++) {
            if (i % 2) set(pool, &alarms[i], 3600000000000u << i % 20);
            else alarms[i].step.act = sleep_again; /* and so a timer of each worker */
            if (i % 2 == 0) wsq_wake(&alarms[i].step.task);
        }
        if (pool->config.caller_runs) (void)pump(pool);
        for (unsigned i = 0; i < SOME; i++) step_asleep(&alarms[i].step);
        CHECK_EQ(wsq_pool_shutdown(pool, WSQ_CANCEL), WSQ_OK);
        CHECK_EQ(wsq_task_wait(&alarms[0].step.task), WSQ_ERR_CANCELLED);
        for (unsigned i = 0; i < SOME; i++) {
            CHECK(wsq_task_done(&alarms[i].step.task));
            CHECK_EQ(alarms[i].step.runs, i % 2 ? 1 : 2);
            CHECK_EQ(alarms[i].step.cleanups, 1);
            CHECK(!wsq_timer_cancel(&alarms[i].step.timer));
        }
        pool_end(pool);
        CHECK_EQ(atomic_load(&memory.live), 0);

        pool = pool_new(kinds[k]); /* tasks that are done: their timers are nobody's business */
        alarms_new(pool, alarms, SOME);
        for (unsigned i = 0; i < SOME; i++) set(pool, &alarms[i], 3600000000000u + i);
        for (unsigned i = 0; i < SOME; i++) wsq_wake(&alarms[i].step.task);
        wsq_pool_destroy(pool);
        for (unsigned i = 0; i < SOME; i++) CHECK_EQ(alarms[i].step.runs, 2);
        for (unsigned i = 0; i < SOME; i++) CHECK(!wsq_timer_cancel(&alarms[i].step.timer));
    }
}

/* ---- the caller runs ---- */

static wsq_poll yield_until_rung(wsq_ctx ctx, step *self) {
    (void)ctx;
    return atomic_load((atomic_bool *)self->arg) ? WSQ_DONE : WSQ_YIELD;
}

static wsq_poll ring_once(wsq_ctx ctx, step *self) {
    (void)ctx;
    if (self->runs == 1) return WSQ_PENDING;
    atomic_store((atomic_bool *)self->arg, true);
    return WSQ_DONE;
}

/* A due timer waits for two runs at most of a task that yields on and on, however many workers the thread acts as. */
static void beside_a_yielder(void) {
    for (unsigned workers = 1; workers <= 32; workers *= 2) {
        wsq_pool *pool = pool_new((wsq_config){.workers = workers, .caller_runs = true});
        atomic_bool rung = false;
        step alarm, yields;
        step_new(&alarm, ring_once, &rung);
        step_new(&yields, yield_until_rung, &rung);
        spawn(pool, &alarm);
        (void)pump(pool);
        spawn(pool, &yields);
        for (int i = 0; i < 30; i++) (void)wsq_pool_run_one(pool);
        CHECK_EQ(wsq_timer_set(pool, &alarm.timer, &alarm.task, 1), WSQ_OK);
        for (uint64_t due = now_ns() + 1000; now_ns() <= due;) {}
        unsigned before = yields.runs;
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        CHECK(yields.runs - before <= 3);
        pool_end(pool);
    }
}

/* It has fired in a pool that is gone, whose memory is now the new pool's, laid out differently. */
static void of_a_pool_that_is_gone(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 2});
    atomic_bool rung = false;
    step alarm;
    step_new(&alarm, ring_once, &rung);
    spawn(pool, &alarm);
    step_asleep(&alarm);
    wsqi_timers *then = (wsqi_timers *)(void *)((char *)pool->timers + WSQ_CACHELINE);
    wsqi_store_init(&then->lock, 0u);
    wsqi_store_init(&alarm.timer.timers, (char *)then + 1);
    CHECK_EQ(wsq_timer_set(pool, &alarm.timer, &alarm.task, 1), WSQ_OK);
    CHECK(wsqi_load_rlx(&alarm.timer.timers) != then);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    pool_end(pool);
}

int main(void) {
    test_begin("test_timer");
    RUN(beside_a_yielder);
    RUN(one);
    RUN(order_of_deadlines);
    RUN(order_when_all_are_late);
    RUN(cancel);
    RUN(cancel_races);
    RUN(freed_when_woken);
    RUN(shared);
    RUN(two_pools);
    RUN(timers_wakes_ends);
    RUN(ticks);
    RUN(earlier);
    RUN(under_load);
    RUN(of_a_worker_that_stays);
    RUN(slot_and_timer);
    RUN(many);
    RUN(no_memory);
    RUN(others_in_between);
    RUN(pending_at_the_end);
    RUN(of_a_pool_that_is_gone);
    return test_end();
}
