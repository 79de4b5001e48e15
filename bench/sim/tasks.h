/* tasks.h - workloads of spawned tasks. A unit is a task. */
#ifndef SIM_TASKS_H
#define SIM_TASKS_H

#include "forkjoin.h"

/* A task that computes for some time; a cache line of its own. */
typedef struct unit {
    WSQI_ALIGNED(64) wsq_task task;
    uint32_t ns, wait; /* wait: from its spawn until it began */
    uint64_t spawned_at;
} unit;

typedef char unit_is_a_line[sizeof(unit) == 64 ? 1 : -1];

static sim_site unit_site = {"unit", "unit_poll"};

static wsq_poll unit_poll(wsq_ctx ctx, wsq_task *task) {
    unit *self = wsq_container_of(task, unit, task);
    (void)ctx;
    sim_touch(self, sizeof *self, SIM_FOLLOW, &unit_site);
    self->wait = (uint32_t)(sim_now() - self->spawned_at);
    sim_work(self->ns);
    if (sim_now() > run_end) run_end = sim_now();
    return WSQ_DONE;
}

static uint64_t feed_ps, fed; /* how long the spawns took, and how many they were */

/* Its line comes to the core of the thread that spawns it at that moment. */
static void unit_spawn(wsq_pool *pool, unit *self) {
    uint64_t start = sim.running->clock;
    sim_touch(self, sizeof *self, SIM_WRITE, &unit_site);
    wsq_task_init(&self->task, unit_poll);
    self->spawned_at = sim_now();
    if (wsq_spawn(pool, &self->task) != WSQ_OK) sim_fail("a task was refused");
    feed_ps += sim.running->clock - start;
    fed++;
}

static unit *units_make(size_t count, uint32_t ns) {
    unit *units = (unit *)sim_allocate(count * sizeof *units);
    for (size_t i = 0; i < count; i++) units[i].ns = ns;
    return units;
}

/* A pool that sleeps, and has worked before: what it reads all the time is in the caches. */
static wsq_pool *pool_make(const sim_machine *machine, unsigned workers) {
    wsq_pool *pool = sim_pool(machine, workers);
    unit *units = units_make(4 * workers, 20000);
    for (int round = 0; round < 2; round++) {
        for (unsigned i = 0; i < 4 * workers; i++) unit_spawn(pool, &units[i]);
        if (wsq_pool_wait(pool) != WSQ_OK) sim_fail("the pool did not warm up");
        sim_nap(10000000);
    }
    feed_ps = fed = 0;
    return pool;
}

/* ---- spawned by tasks: each spawns its share, a handful at a time ---- */

typedef struct spawner {
    WSQI_ALIGNED(64) wsq_task task;
    unit *next, *end;
    size_t handful; /* then it yields */
} spawner;

static wsq_poll spawner_poll(wsq_ctx ctx, wsq_task *task) {
    spawner *self = wsq_container_of(task, spawner, task);
    for (size_t i = 0; i < self->handful && self->next < self->end; i++)
        unit_spawn(wsq_pool_of(ctx), self->next++);
    if (sim_now() > run_end) run_end = sim_now();
    return self->next < self->end ? WSQ_YIELD : WSQ_DONE;
}

/* As many tasks as `count` spawn them all; pinned: each on a worker of its own. */
static void run_spawners(wsq_pool *pool, unit *units, size_t unit_count, unsigned count,
                         size_t handful, bool pinned) {
    spawner *spawners = (spawner *)sim_allocate(count * sizeof *spawners);
    run_start = sim_now();
    run_end = 0;
    for (unsigned i = 0; i < count; i++) {
        spawners[i].next = units + unit_count * i / count;
        spawners[i].end = units + unit_count * (i + 1) / count;
        spawners[i].handful = handful;
        wsq_task_init(&spawners[i].task, spawner_poll);
        wsq_result result = pinned ? wsq_spawn_on(pool, i, &spawners[i].task)
                                   : wsq_spawn(pool, &spawners[i].task);
        if (result != WSQ_OK) sim_fail("a spawner was refused");
    }
    if (wsq_pool_wait(pool) != WSQ_OK) sim_fail("the tasks did not end");
}

static double run_tasks(wsq_pool *pool, double count, uint32_t ns, unsigned spawners, bool pinned) {
    size_t n = (size_t)count;
    run_spawners(pool, units_make(n, ns), n, spawners, spawners == 1 ? n : 64, pinned);
    return (double)n;
}

/* ---- timers: a task on each worker sets timers of its own and takes them back; tasks that sleep ---- */

enum { TIMED = 200 }; /* of a worker */

typedef struct timed {
    WSQI_ALIGNED(64) wsq_task task;
    WSQI_ALIGNED(64) wsq_timer timer;
    uint64_t random;
    size_t left;
} timed;

static wsq_poll timed_resets(wsq_ctx ctx, wsq_task *task) {
    timed *self = wsq_container_of(task, timed, task);
    for (size_t i = 0; i < 64 && self->left > 0; i++, self->left--) {
        self->random = scramble(self->random);
        wsq_timer_set(wsq_pool_of(ctx), &self->timer, task, 1000000000u + self->random % 1000000000u);
        if (!wsq_timer_cancel(&self->timer)) sim_fail("no timer");
    }
    if (sim_now() > run_end) run_end = sim_now();
    return self->left > 0 ? WSQ_YIELD : WSQ_DONE;
}

/* 200 of these on a worker compute for longer than each sleeps. */
static wsq_poll timed_sleeps(wsq_ctx ctx, wsq_task *task) {
    timed *self = wsq_container_of(task, timed, task);
    self->random = scramble(self->random);
    sim_work(2000);
    if (sim_now() > run_end) run_end = sim_now();
    if (self->left-- == 0) return WSQ_DONE;
    if (wsq_timer_set(wsq_pool_of(ctx), &self->timer, task, 50000 + self->random % 100000) != WSQ_OK)
        sim_fail("no timer");
    return WSQ_PENDING;
}

typedef struct timed_share {
    WSQI_ALIGNED(64) wsq_task task;
    timed *all;
    size_t count;
} timed_share;

/* On each worker: spawns its share. */
static wsq_poll timed_spawn(wsq_ctx ctx, wsq_task *task) {
    timed_share *self = wsq_container_of(task, timed_share, task);
    for (size_t i = 0; i < self->count; i++)
        if (wsq_spawn(wsq_pool_of(ctx), &self->all[i].task) != WSQ_OK) sim_fail("a task was refused");
    return WSQ_DONE;
}

static double run_timers(wsq_pool *pool, double units, size_t each, wsq_task_fn fn) {
    size_t workers = wsq_pool_workers(pool), count = each * workers;
    size_t left = (size_t)(units / (double)count) + 1;
    timed *all = (timed *)sim_allocate(count * sizeof *all);
    timed_share *shares = (timed_share *)sim_allocate(workers * sizeof *shares);
    for (size_t i = 0; i < count; i++) {
        all[i].random = i;
        all[i].left = left;
        wsq_task_init(&all[i].task, fn);
    }
    run_start = sim_now();
    run_end = 0;
    for (size_t i = 0; i < workers; i++) {
        shares[i].all = all + each * i;
        shares[i].count = each;
        wsq_task_init(&shares[i].task, timed_spawn);
        if (wsq_spawn_on(pool, (unsigned)i, &shares[i].task) != WSQ_OK)
            sim_fail("a task was refused");
    }
    if (wsq_pool_wait(pool) != WSQ_OK) sim_fail("the tasks did not end");
    return (double)(left * count);
}

static double run_resets(wsq_pool *pool, double units) { return run_timers(pool, units, 1, timed_resets); }
static double run_sleeps(wsq_pool *pool, double units) { return run_timers(pool, units, TIMED, timed_sleeps); }

/* ---- a pipeline whose stages block: each computes for 10 us, then waits for the system for 10 us ---- */

enum { BLOCK_NS = 10000 };

typedef struct blocking_stage {
    WSQI_ALIGNED(64) wsq_task task;
    struct blocking_stage *next;
    wsqi_a32 waiting; /* things that the stage before has handed over */
    uint32_t left;
} blocking_stage;

static wsq_poll blocking_poll(wsq_ctx ctx, wsq_task *task) {
    blocking_stage *self = wsq_container_of(task, blocking_stage, task);
    if (self->left == 0) return WSQ_DONE;
    if (wsqi_load_acq(&self->waiting) == 0) return WSQ_PENDING;
    wsqi_add_acqrel(&self->waiting, 0u - 1u);
    sim_work(BLOCK_NS);
    wsq_block_begin(ctx);
    sim_nap(BLOCK_NS);
    wsq_block_end(ctx);
    wsqi_add_acqrel(&self->next->waiting, 1u);
    wsq_wake(&self->next->task);
    if (sim_now() > run_end) run_end = sim_now();
    return --self->left == 0 ? WSQ_DONE : WSQ_YIELD;
}

/* For each worker a stand-in, eight stages and four things on the way: half of these block. */
static double run_blocks(wsq_pool *pool, double units) {
    size_t count = 8 * (size_t)wsq_pool_workers(pool);
    uint32_t moves = (uint32_t)(units / (double)count) + 1;
    blocking_stage *stages = (blocking_stage *)sim_allocate(count * sizeof *stages);
    run_start = sim_now();
    run_end = 0;
    for (size_t i = 0; i < count; i++) {
        stages[i].next = &stages[(i + 1) % count];
        stages[i].left = moves;
        wsqi_store_rlx(&stages[i].waiting, i % 2); /* Relaxed: not shared yet. */
        wsq_task_init(&stages[i].task, blocking_poll);
    }
    for (size_t i = 0; i < count; i++)
        if (wsq_spawn(pool, &stages[i].task) != WSQ_OK) sim_fail("a stage was refused");
    if (wsq_pool_wait(pool) != WSQ_OK) sim_fail("the pipeline did not end");
    return moves * (double)count;
}

/* ---- guests: a thread outside for each worker, up to 64, runs a part of fib's tree at a time ---- */

typedef struct guest {
    wsq_pool *pool;
    unsigned left;
} guest;

enum { GUEST_FIB = 20 }; /* 10945 forks */

static void guest_main(void *arg) {
    guest *self = (guest *)arg;
    sim_nap(run_start - sim_now()); /* all begin at the same time */
    for (; self->left > 0; self->left--) {
        fib_job call = {.n = GUEST_FIB};
        if (wsq_run(self->pool, fib_root, &call) != WSQ_OK) sim_fail("a run was refused");
        if (call.result != 6765) sim_fail("fib is wrong");
        if (sim_now() > run_end) run_end = sim_now();
    }
}

static double run_guests(wsq_pool *pool, double units) {
    guest guests[64];
    sim_core *threads[64];
    unsigned count = wsq_pool_workers(pool) < 64 ? wsq_pool_workers(pool) : 64;
    unsigned each = (unsigned)(units / 10945 / count) + 1;
    run_start = sim_now() + 1000000;
    run_end = 0;
    for (unsigned i = 0; i < count; i++) {
        guests[i] = (guest){pool, each};
        threads[i] = sim_thread_outside(guest_main, &guests[i]);
        if (threads[i] == NULL) sim_fail("too many guests");
    }
    for (unsigned i = 0; i < count; i++) sim_join(threads[i]);
    return 10945.0 * each * count;
}

/* ---- spawned by threads from outside ---- */

typedef struct submitter {
    wsq_pool *pool;
    unit *next, *end;
    double interval_ns; /* 0: as fast as it can; else the mean of Poisson's arrivals */
    uint64_t random;
} submitter;

static void submitter_main(void *arg) {
    submitter *self = (submitter *)arg;
    double at = (double)sim_now();
    for (; self->next < self->end; self->next++) {
        if (self->interval_ns > 0) {
            self->random = scramble(self->random);
            at -= __builtin_log(1 - fraction(self->random)) * self->interval_ns;
            if ((double)sim_now() < at) sim_work((uint64_t)(at - (double)sim_now()));
            sim_turn();
        }
        unit_spawn(self->pool, self->next);
        if (self->interval_ns > 0) { /* late is late: the task waits from when it arrived */
            uint64_t arrived = (uint64_t)at;
            if (arrived < self->next->spawned_at) self->next->spawned_at = arrived;
        }
    }
}

static void run_submitters(wsq_pool *pool, unit *units, size_t unit_count, unsigned count,
                           double interval_ns) {
    submitter submitters[SIM_OUTSIDE];
    sim_core *threads[SIM_OUTSIDE];
    run_start = sim_now();
    run_end = 0;
    for (unsigned i = 0; i < count; i++) {
        submitters[i] = (submitter){pool, units + unit_count * i / count,
                                    units + unit_count * (i + 1) / count, interval_ns * count,
                                    scramble(i)};
        threads[i] = sim_thread_outside(submitter_main, &submitters[i]);
        if (threads[i] == NULL) sim_fail("too many submitters");
    }
    for (unsigned i = 0; i < count; i++) sim_join(threads[i]);
    if (wsq_pool_wait(pool) != WSQ_OK) sim_fail("the tasks did not end");
}

static double run_outside(wsq_pool *pool, double count, uint32_t ns, unsigned threads) {
    size_t n = (size_t)count;
    run_submitters(pool, units_make(n, ns), n, threads, 0);
    return (double)n;
}

#endif /* SIM_TASKS_H */
