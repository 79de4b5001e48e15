/* Timers beside n others, which are set for random times between one and two hours from now.
 *
 *   timer/set      a timer is set for such a time
 *   timer/cancel   one of these is cancelled, in random order
 *   timer/again    one of 1000 of the others, at random, is cancelled and set again
 *   timer/cold     the same with any of them, so that neither it nor its neighbours are in a cache
 *   timer/touch    any of them is only read: what one access to memory costs here
 *   timer/later    any of them is set anew, for a later time
 *   timer/fire     n tasks are woken by their timers, one a microsecond: processor time of each, with
 *                  its run
 *
 * Every worker does so with its share of the n, so that the figure stays the same if they do not disturb
 * each other. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "bench.h"

#include <stdatomic.h>

#define STEPS 20000L
#define HOUR 3600000000000u

/* As in a program: a task with a timer, on cache lines of its own; the timer on one of them. */
typedef struct sleeper {
    WSQI_ALIGNED(128) wsq_timer timer;
    int runs;
    WSQI_ALIGNED(64) wsq_task task;
} sleeper;

static sleeper *sleepers; /* the others, then STEPS for each worker */
static atomic_long left;

static uint64_t random_next(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static uint64_t far_away(uint64_t *state) { return HOUR + random_next(state) % HOUR; }

static wsq_poll sleeper_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    if (wsq_container_of(task, sleeper, task)->runs++ == 0) return WSQ_PENDING;
    atomic_fetch_sub_explicit(&left, 1, memory_order_relaxed);
    return WSQ_DONE;
}

/* ---- set, cancelled, set again: a driver on each worker ---- */

typedef enum deed { SET, CANCEL, AGAIN, COLD, TOUCH, LATER } deed;

typedef struct driver {
    wsq_task task;
    deed what;
    sleeper *others, *mine;
    long count; /* of the others */
    double ns;
} driver;

static void set(wsq_pool *pool, sleeper *one, uint64_t *random) {
    bench_check(wsq_timer_set(pool, &one->timer, &one->task, far_away(random)) == WSQ_OK, "set");
}

static double steps(wsq_pool *pool, const driver *self, uint64_t *random) {
    long among = self->what == AGAIN && self->count > 1000 ? 1000 : self->count;
    for (long i = 0; self->what == CANCEL && i < STEPS; i++) set(pool, &self->mine[i], random);
    uint64_t start = bench_now();
    for (long i = 0; i < STEPS; i++) {
        if (self->what == SET) {
            set(pool, &self->mine[i], random);
        } else if (self->what == CANCEL) {
            bench_check(wsq_timer_cancel(&self->mine[i * 7919 % STEPS].timer), "cancel");
        } else {
            sleeper *one = &self->others[random_next(random) % (uint64_t)among];
            if (self->what == TOUCH) {
                *random += (uint64_t)one->runs; /* 0: the next access waits for this one */
            } else if (self->what == LATER) {
                wsq_timer_set(pool, &one->timer, &one->task, 3 * HOUR + (uint64_t)i);
            } else {
                bench_check(wsq_timer_cancel(&one->timer), "cancel");
                set(pool, one, random);
            }
        }
    }
    double ns = bench_since(start) / (double)STEPS;
    for (long i = 0; i < STEPS; i++) wsq_timer_cancel(&self->mine[i].timer);
    return ns;
}

static wsq_poll drive(wsq_ctx ctx, wsq_task *task) {
    driver *self = wsq_container_of(task, driver, task);
    wsq_pool *pool = wsq_pool_of(ctx);
    uint64_t random = (uint64_t)(uintptr_t)self | 1;
    for (long i = 0; i < self->count; i++) set(pool, &self->others[i], &random);
    self->ns = steps(pool, self, &random);
    for (long i = 0; i < self->count; i++) wsq_timer_cancel(&self->others[i].timer);
    return WSQ_DONE;
}

static double measure_steps(const bench_case *self, deed what) {
    static driver drivers[BENCH_MAX_WORKERS];
    double ns = 0;
    for (unsigned i = 0; i < self->workers; i++) {
        long share = self->n / (long)self->workers;
        drivers[i] = (driver){.what = what, .others = sleepers + share * (long)i, .count = share,
                              .mine = sleepers + self->n + STEPS * (long)i};
        wsq_task_init(&drivers[i].task, drive);
        bench_check(wsq_spawn_on(self->pool, i, &drivers[i].task) == WSQ_OK, "spawn");
    }
    bench_check(wsq_pool_wait(self->pool) == WSQ_OK, "wait");
    for (unsigned i = 0; i < self->workers; i++) ns += drivers[i].ns / self->workers;
    return ns;
}

static double measure_set(const bench_case *self) { return measure_steps(self, SET); }
static double measure_cancel(const bench_case *self) { return measure_steps(self, CANCEL); }
static double measure_again(const bench_case *self) { return measure_steps(self, AGAIN); }
static double measure_cold(const bench_case *self) { return measure_steps(self, COLD); }
static double measure_touch(const bench_case *self) { return measure_steps(self, TOUCH); }
static double measure_later(const bench_case *self) { return measure_steps(self, LATER); }

/* ---- fired ---- */

static wsq_poll set_all(wsq_ctx ctx, wsq_task *task) {
    const driver *self = wsq_container_of(task, driver, task);
    uint64_t random = 1, start = bench_now(), first = start + (uint64_t)self->count * 500 + 5000000;
    for (long i = 0; i < self->count; i++) {
        sleeper *one = &self->others[i];
        uint64_t at = first + random_next(&random) % (uint64_t)self->count * 1000;
        wsq_timer_set(wsq_pool_of(ctx), &one->timer, &one->task, at - bench_now());
    }
    bench_check(bench_now() < first, "timers fire before all are set");
    return WSQ_DONE;
}

static double measure_fire(const bench_case *self) {
    driver all = {.others = sleepers, .count = self->n};
    atomic_store(&left, self->n);
    for (long i = 0; i < self->n; i++) {
        sleepers[i].runs = 0;
        wsq_task_init(&sleepers[i].task, sleeper_run);
        bench_check(wsq_spawn(self->pool, &sleepers[i].task) == WSQ_OK, "spawn");
    }
    wsq_task_init(&all.task, set_all);
    bench_check(wsq_spawn(self->pool, &all.task) == WSQ_OK, "spawn");
    bench_check(wsq_task_wait(&all.task) == WSQ_OK, "wait");
    uint64_t start = bench_clock(CLOCK_PROCESS_CPUTIME_ID);
    bench_check(wsq_pool_wait(self->pool) == WSQ_OK, "wait");
    bench_check(atomic_load(&left) == 0, "timers");
    return (double)(bench_clock(CLOCK_PROCESS_CPUTIME_ID) - start) / (double)self->n;
}

int main(int argc, char **argv) {
    const long many = 1000000, most = many + STEPS * (long)bench_all_workers();
    bench_begin("timer", argc, argv);
    sleepers = bench_alloc((size_t)(most + 1) * sizeof *sleepers);
    sleepers = (sleeper *)(((uintptr_t)sleepers + 127) & ~(uintptr_t)127);
    for (long n = 1000; n <= many; n *= 1000) {
        bench_add_pair("timer/set", "ns", measure_set, n);
        bench_add_pair("timer/cancel", "ns", measure_cancel, n);
        bench_add_pair("timer/again", "ns/cancel+set", measure_again, n);
        if (n > 1000) bench_add_pair("timer/cold", "ns/cancel+set", measure_cold, n);
        if (n > 1000) bench_add_pair("timer/touch", "ns", measure_touch, n);
        bench_add_pair("timer/later", "ns", measure_later, n);
        bench_add_pair("timer/fire", "ns", measure_fire, n);
    }
    bench_run();
    return bench_end();
}
