/* Timers on a clock that only the test moves: they fire when the clock says so, in the order of their times,
 * whatever the clock does, and the watcher knows when it has to look. */
#include <time.h>
int test_clock(int clock, struct timespec *time);
#define clock_gettime test_clock
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#undef clock_gettime
#include "test.h"
#include "pool.h"
#include "compose.h"

static uint64_t now_ns;

int test_clock(int clock, struct timespec *time) {
    (void)clock;
    time->tv_sec = (time_t)(now_ns / 1000000000u);
    time->tv_nsec = (long)(now_ns % 1000000000u);
    return 0;
}

/* ---- a task that sleeps until a timer wakes it ---- */

typedef struct alarm_task {
    step step;
    uint64_t due;    /* 0: no timer is set */
    unsigned number; /* of those that rang, in the order of their runs */
} alarm_task;

enum { FEW = 300 };

static alarm_task alarms[FEW];
static unsigned rings;

static wsq_poll ring(wsq_ctx ctx, step *self) {
    alarm_task *one = wsq_container_of(self, alarm_task, step);
    (void)ctx;
    if (self->runs == 1) return WSQ_PENDING;
    one->number = rings++;
    return WSQ_DONE;
}

static wsq_pool *pool_of_caller(unsigned workers) {
    return pool_new((wsq_config){.workers = workers, .caller_runs = true});
}

/* Spawned, and pending. */
static void alarm_new(wsq_pool *pool, alarm_task *one) {
    step_new(&one->step, ring, NULL);
    one->due = 0;
    CHECK_EQ(wsq_spawn(pool, &one->step.task), WSQ_OK);
    (void)pump(pool);
}

static void set(wsq_pool *pool, alarm_task *one, uint64_t delay_ns) {
    one->due = delay_ns < UINT64_MAX - 1 - now_ns ? now_ns + delay_ns : UINT64_MAX - 1;
    CHECK_EQ(wsq_timer_set(pool, &one->step.timer, &one->step.task, delay_ns), WSQ_OK);
}

/* The first of those that have not rung. */
static uint64_t next_due(void) {
    uint64_t next = UINT64_MAX;
    for (unsigned i = 0; i < FEW; i++)
        if (alarms[i].step.runs == 1 && alarms[i].due != 0 && alarms[i].due < next) next = alarms[i].due;
    return next;
}

/* Any size from 0 to 2^63 is as likely as any other. */
static uint64_t any_size(uint64_t *random) { return test_random(random) >> 1 >> test_below(random, 63); }

/* Where the clock may be after a leap: its seconds have 31 bits on some systems. */
static uint64_t any_time_of_clock(uint64_t *random) {
    return 1 + any_size(random) % ((uint64_t)1 << (sizeof(time_t) < 8 ? 59 : 62));
}

/* All whose time has come ring, in the order of their times; no others do. */
static void all_that_are_due(wsq_pool *pool) {
    static const alarm_task *order[FEW];
    unsigned rang = 0, first = rings, wrong = 0;
    (void)pump(pool);
    for (unsigned i = 0; i < FEW; i++) {
        const alarm_task *one = &alarms[i];
        wrong += (one->step.runs == 2) != (one->due != 0 && one->due <= now_ns);
        if (one->step.runs != 2) continue;
        rang++;
        order[one->number - first] = one;
    }
    for (unsigned i = 1; i < rang; i++) wrong += order[i]->due < order[i - 1]->due;
    CHECK_EQ(wrong, 0);
    CHECK_EQ(rang, rings - first);
}

/* Set, set anew, earlier or later, taken back, while the clock moves a little or leaps. */
static void any_time(void) {
    uint64_t random = test_seed;
    for (size_t round = 0; round < test_times(30); round++) {
        now_ns = any_time_of_clock(&random);
        wsq_pool *pool = pool_of_caller(1);
        for (unsigned i = 0; i < FEW; i++) alarm_new(pool, &alarms[i]);
        for (unsigned k = 0; k < 4000; k++) {
            alarm_task *one = &alarms[test_below(&random, FEW)];
            uint64_t size = any_size(&random);
            unsigned what = test_below(&random, 10);
            uint64_t leap = any_time_of_clock(&random);
            if (what == 0 && leap > now_ns) now_ns = leap;
            if (what == 1) now_ns += test_below(&random, 100);
            if (what < 3) {
                all_that_are_due(pool);
                for (unsigned i = 0; i < FEW; i++)
                    if (alarms[i].step.runs == 2) alarm_new(pool, &alarms[i]);
                CHECK(wsqi_load_acq(&pool->watch.timer_next) <= next_due()); /* the watcher sleeps until then */
            } else if (what < 5) {
                CHECK_EQ(wsq_timer_cancel(&one->step.timer), one->due != 0);
                one->due = 0;
            } else {
                set(pool, one, size);
            }
        }
        for (unsigned i = 0; i < FEW; i++) {
            (void)wsq_timer_cancel(&alarms[i].step.timer);
            wsq_wake(&alarms[i].step.task);
        }
        pool_end(pool);
    }
}

/* While there are few timers the watcher wakes up when the first is due, and not before: not when the list
 * of a far one is opened. */
static void watched_exactly(void) {
    uint64_t random = test_seed;
    for (size_t round = 0; round < test_times(100); round++) {
        now_ns = any_time_of_clock(&random);
        wsq_pool *pool = pool_of_caller(1);
        uint64_t next;
        unsigned looks_left = 100;
        for (unsigned i = 0; i < FEW; i++) alarms[i].step.runs = 2;
        for (unsigned i = 0; i < 8; i++) {
            alarm_new(pool, &alarms[i]);
            set(pool, &alarms[i], any_time_of_clock(&random));
            if (round % 2 && i % 2) set(pool, &alarms[i], any_time_of_clock(&random));
        }
        now_ns++;
        (void)pump(pool);
        while ((next = next_due()) != UINT64_MAX) {
            while (round % 2 && wsqi_load_acq(&pool->watch.timer_next) < next) { /* the old time of one set anew */
                now_ns = wsqi_load_acq(&pool->watch.timer_next);
                CHECK_EQ(pump(pool), 0);
                CHECK(wsqi_load_acq(&pool->watch.timer_next) > now_ns);
                CHECK(--looks_left > 0);
            }
            CHECK_EQ(wsqi_load_acq(&pool->watch.timer_next), next);
            now_ns = next - 1;
            CHECK_EQ(pump(pool), 0);
            now_ns = next;
            CHECK(pump(pool) > 0);
        }
        CHECK_EQ(wsqi_load_acq(&pool->watch.timer_next), WSQI_NEVER); /* silence */
        pool_end(pool);
    }
}

/* A delay past the end of the clock's range; a clock that leaps there, and one that goes back. */
static void the_end_of_time(void) {
    const uint64_t delays[] = {0, 1, (uint64_t)1 << 63, UINT64_MAX - 1, UINT64_MAX}, now = 5000000000u;
    if (sizeof(time_t) < 8) return;
    for (unsigned i = 0; i < 5; i++) {
        now_ns = now;
        wsq_pool *pool = pool_of_caller(3);
        alarm_new(pool, &alarms[0]);
        alarm_new(pool, &alarms[1]);
        set(pool, &alarms[0], UINT64_MAX - 2 - now);
        CHECK_EQ(alarms[0].step.timer.at, UINT64_MAX - 2);
        set(pool, &alarms[0], delays[i]);
        CHECK_EQ(alarms[0].step.timer.at, i < 3 ? now + delays[i] : UINT64_MAX - 1);
        CHECK_EQ(pump(pool), i == 0);
        now_ns = now + 1;
        CHECK_EQ(pump(pool), i == 1);
        set(pool, &alarms[1], 10);
        now_ns = now - 1000; /* as no clock of a system should */
        CHECK_EQ(pump(pool), 0);
        CHECK(wsq_timer_cancel(&alarms[1].step.timer));
        set(pool, &alarms[1], 2000);
        CHECK_EQ(pump(pool), 0);
        now_ns = now + 1000;
        CHECK_EQ(pump(pool), 1);
        now_ns = (uint64_t)1 << 63;
        CHECK_EQ(pump(pool), 0);
        now_ns = UINT64_MAX - 1;
        CHECK_EQ(pump(pool), i > 1);
        CHECK_EQ(alarms[0].step.runs, 2);
        pool_end(pool);
    }
}

/* It goes back: what is set for a time that was over fires in its order. */
static void a_clock_that_goes_back(void) {
    now_ns = (uint64_t)1 << 40;
    wsq_pool *pool = pool_of_caller(1);
    for (unsigned i = 0; i < 3; i++) alarm_new(pool, &alarms[i]);
    set(pool, &alarms[0], 0);
    CHECK_EQ(pump(pool), 1);
    now_ns -= 10;
    set(pool, &alarms[1], 11);
    set(pool, &alarms[2], 9);
    now_ns += 20;
    CHECK_EQ(pump(pool), 2);
    CHECK(alarms[2].number < alarms[1].number);
    pool_end(pool);
}

/* More in one list than move at once; all due at the same time. */
static void many_at_once(void) {
    enum { MANY = 5000 };
    static wsq_timer timers[MANY];
    static wsq_task marks[MANY]; /* never spawned: a wake does nothing */
    now_ns = 1;
    wsq_pool *pool = pool_of_caller(1);
    alarm_new(pool, &alarms[0]);
    for (unsigned i = 0; i < MANY; i++) {
        wsq_task_init(&marks[i], step_run);
        CHECK_EQ(wsq_timer_set(pool, &timers[i], &marks[i], 3000000000u + (i % 2) * 50000000), WSQ_OK);
    }
    set(pool, &alarms[0], 3050000000u);
    now_ns = 3000000001u;
    CHECK_EQ(pump(pool), 0);
    for (unsigned i = 0; i < MANY; i++) CHECK_EQ(wsq_timer_cancel(&timers[i]), i % 2 != 0);
    now_ns = 3050000000u;
    CHECK_EQ(pump(pool), 0);
    now_ns++;
    CHECK_EQ(pump(pool), 1);
    pool_end(pool);
}

/* ---- whose timers a thread fires ---- */

enum { OWNERS = 3 };

static wsq_poll set_here(wsq_ctx ctx, step *self) {
    unsigned i = wsq_worker_index(ctx);
    (void)self;
    CHECK_EQ(wsq_timer_set(wsq_pool_of(ctx), &alarms[i].step.timer, &alarms[i].step.task, alarms[i].due),
             WSQ_OK);
    return WSQ_DONE;
}

/* Each worker sets one timer, for delays[i] from now on. */
static wsq_pool *owners_new(const uint64_t *delays) {
    wsq_pool *pool = pool_of_caller(OWNERS);
    static step setters[OWNERS];
    now_ns = 1000000000u;
    for (unsigned i = 0; i < OWNERS; i++) {
        alarm_new(pool, &alarms[i]);
        alarms[i].due = delays[i];
        step_new(&setters[i], set_here, NULL);
        CHECK_EQ(wsq_spawn_on(pool, i, &setters[i].task), WSQ_OK);
        (void)pump(pool);
        CHECK(wsqi_load_acq(&pool->timers[i].next) != WSQI_NEVER);
    }
    return pool;
}

/* Cancels the timers. Returns a bit for each that had fired. */
static unsigned owners_fired(void) {
    unsigned fired = 0;
    for (unsigned i = 0; i < OWNERS; i++) fired |= (unsigned)!wsq_timer_cancel(&alarms[i].step.timer) << i;
    return fired;
}

static void owners_end(wsq_pool *pool) {
    for (unsigned i = 0; i < OWNERS; i++) wsq_wake(&alarms[i].step.task);
    pool_end(pool);
}

static void own_timers_first(void) {
    const uint64_t same[OWNERS] = {1000, 1000, 1000};
    wsq_pool *pool = owners_new(same);
    unsigned own = (unsigned)(wsqi_timers_own(pool) - pool->timers);
    now_ns += 1000;
    (void)wsqi_timers_fire(pool, 0); /* as a worker does that has nothing to do */
    CHECK(wsqi_load_acq(&pool->watch.timer_next) <= now_ns); /* the next such worker looks */
    CHECK_EQ(owners_fired(), 1u << own);
    owners_end(pool);

    uint64_t delays[OWNERS];
    for (unsigned i = 0; i < OWNERS; i++) delays[i] = i == own ? 1000 : 1000 + WSQI_TIMERS_GRACE / 2;
    pool = owners_new(delays);
    now_ns += delays[own] + WSQI_TIMERS_GRACE;
    (void)wsqi_timers_fire(pool, WSQI_TIMERS_GRACE); /* as in a turn: the others are not late enough */
    CHECK_EQ(owners_fired(), 1u << own);
    owners_end(pool);

    pool = owners_new(delays);
    now_ns += delays[own] + 2 * WSQI_TIMERS_GRACE;
    (void)wsqi_timers_fire(pool, WSQI_TIMERS_GRACE); /* now all of them are */
    CHECK_EQ(owners_fired(), (1u << OWNERS) - 1);
    owners_end(pool);
}

int main(void) {
    test_begin("test_timer_clock");
    now_ns = 12345;
    if (wsqi_clock_ns() != now_ns) {
        puts("skipped: this system's clock is another one");
        return test_end();
    }
    RUN(any_time);
    RUN(watched_exactly);
    RUN(the_end_of_time);
    RUN(a_clock_that_goes_back);
    RUN(many_at_once);
    RUN(own_timers_first);
    return test_end();
}
