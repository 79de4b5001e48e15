/* Fairness: nobody starves. Counted in tasks, never in time; the caller of a pool without threads sees
 * every step. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "test.h"
#include "pool.h"
#include "compose.h"

/* ---- two tasks that wake each other, and a third ---- */

typedef struct player {
    wsq_task task;
    struct player *other;
    unsigned long runs, limit;
} player;

static wsq_poll player_run(wsq_ctx ctx, wsq_task *task) {
    player *self = wsq_container_of(task, player, task);
    (void)ctx;
    self->runs++;
    if (self->other) wsq_wake(&self->other->task);
    return self->runs < self->limit ? WSQ_PENDING : WSQ_DONE;
}

static void player_new(player *self, player *other, unsigned long limit) {
    *self = (player){.other = other, .limit = limit};
    wsq_task_init(&self->task, player_run);
}

enum { MATCH = 1000, MOMENTS = 64 };

/* Plays the match; how many runs the third had to wait for. */
static unsigned long play_from(wsq_config config, bool third_from_inside, int steps) {
    wsq_pool *pool = pool_new(config);
    player one, two, third;
    player_new(&one, &two, MATCH);
    player_new(&two, &one, MATCH);
    player_new(&third, NULL, 1);
    CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_OK);
    CHECK_EQ(wsq_spawn(pool, &two.task), WSQ_OK);
    for (int i = 0; i < steps; i++) CHECK(wsq_pool_run_one(pool));
    unsigned long before = one.runs + two.runs;
    if (third_from_inside) {
        /* As a task that one of the two spawned: in the ring behind the slot. */
        wsqi_worker *worker = wsqi_block(pool, 0), *self = wsqi_self_get();
        wsqi_self_set(worker);
        CHECK_EQ(wsq_spawn(pool, &third.task), WSQ_OK);
        wsqi_self_set(self);
    } else {
        CHECK_EQ(wsq_spawn(pool, &third.task), WSQ_OK);
    }
    while (third.runs == 0 && wsq_pool_run_one(pool)) {}
    unsigned long waited = one.runs + two.runs - before;
    while (wsq_pool_run_one(pool)) {}
    CHECK(wsq_task_done(&third.task));
    wsq_pool_shutdown(pool, WSQ_CANCEL); /* the last of the two may sleep for ever */
    pool_end(pool);
    return waited;
}

/* The most, over the moments at which the third can come. */
static unsigned long play(wsq_config config, bool third_from_inside) {
    unsigned long most = 0;
    for (int steps = 100; steps < 100 + MOMENTS; steps++) {
        unsigned long waited = play_from(config, third_from_inside, steps);
        if (waited > most) most = waited;
    }
    return most;
}

/* From the ring the third comes after as many runs from the slot as the cap allows; from outside it comes into
 * the ring after an interval: 20 tasks where tasks are believed to take 50 us. */
static void cap_of_the_slot(void) {
    CHECK_EQ(play((wsq_config){.workers = 1, .caller_runs = true}, true), 3);
    CHECK_EQ(play((wsq_config){.workers = 1, .caller_runs = true, .lifo_cap = 1}, true), 1);
    CHECK_EQ(play((wsq_config){.workers = 1, .caller_runs = true, .lifo_cap = 50}, true), 50);
    CHECK_EQ(play((wsq_config){.workers = 1, .caller_runs = true, .lifo_cap = WSQ_LIFO_OFF}, true), 1);
    CHECK_EQ(play((wsq_config){.workers = 1, .caller_runs = true}, false), 20);
    CHECK_EQ(play((wsq_config){.workers = 1, .caller_runs = true, .max_interval = 10}, false), 10 + 2);
}

/* ---- a ring that refills itself, and a task from outside ---- */

typedef struct crowd {
    wsq_task task;
    atomic_bool *stop;
    atomic_ulong *runs;
} crowd;

static wsq_poll crowd_run(wsq_ctx ctx, wsq_task *task) {
    crowd *self = wsq_container_of(task, crowd, task);
    (void)ctx;
    atomic_fetch_add_explicit(self->runs, 1, memory_order_relaxed);
    return atomic_load(self->stop) ? WSQ_DONE : WSQ_YIELD;
}

enum { CROWD = 100 };

static unsigned long wait_in_a_crowd(wsq_config config) {
    static crowd all[CROWD];
    wsq_pool *pool = pool_new(config);
    atomic_bool stop = false;
    atomic_ulong runs = 0;
    player late;
    for (int i = 0; i < CROWD; i++) {
        all[i] = (crowd){.stop = &stop, .runs = &runs};
        wsq_task_init(&all[i].task, crowd_run);
        CHECK_EQ(wsq_spawn(pool, &all[i].task), WSQ_OK);
    }
    for (int i = 0; i < 10 * CROWD; i++) CHECK(wsq_pool_run_one(pool));
    player_new(&late, NULL, 1);
    CHECK_EQ(wsq_spawn(pool, &late.task), WSQ_OK);
    unsigned long before = atomic_load(&runs);
    while (late.runs == 0 && atomic_load(&runs) < before + 100000) CHECK(wsq_pool_run_one(pool));
    unsigned long waited = atomic_load(&runs) - before;
    CHECK_EQ(late.runs, 1);
    atomic_store(&stop, true);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    pool_end(pool);
    return waited;
}

static void task_from_outside(void) {
    CHECK_EQ(wait_in_a_crowd((wsq_config){.workers = 1, .caller_runs = true}), CROWD);
    CHECK_EQ(wait_in_a_crowd((wsq_config){.workers = 1, .caller_runs = true, .max_interval = 8}), CROWD);
    CHECK_EQ(wait_in_a_crowd((wsq_config){.workers = 1, .caller_runs = true, .order = WSQ_SHARED}), CROWD);
    CHECK_EQ(wait_in_a_crowd((wsq_config){.workers = 1, .caller_runs = true, .order = WSQ_LIFO}), CROWD);
}

/* The same with threads: the crowd goes on until the late one has run, so a starved one is a hang. */
static wsq_poll stopper_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    atomic_store(wsq_container_of(task, crowd, task)->stop, true);
    return WSQ_DONE;
}

static void crowd_until_stopped(unsigned workers, wsq_order order) {
    static crowd all[1000];
    wsq_pool *pool = pool_new((wsq_config){.workers = workers, .order = order});
    atomic_ulong runs = 0;
    for (size_t round = 0; round < test_times(30); round++) {
        atomic_bool stop = false;
        crowd late = {.stop = &stop, .runs = &runs};
        for (int i = 0; i < 1000; i++) {
            all[i] = (crowd){.stop = &stop, .runs = &runs};
            wsq_task_init(&all[i].task, crowd_run);
            if (wsq_spawn(pool, &all[i].task) != WSQ_OK) FAIL("a spawn");
        }
        wsq_task_init(&late.task, stopper_run);
        CHECK_EQ(wsq_spawn(pool, &late.task), WSQ_OK);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    }
    pool_end(pool);
}

static void crowd_with_threads(void) {
    crowd_until_stopped(1, WSQ_FIFO);
    crowd_until_stopped(2, WSQ_FIFO);
    crowd_until_stopped(8, WSQ_FIFO);
    crowd_until_stopped(2, WSQ_SHARED);
}

static void crowd_last_in_first_out(void) {
    crowd_until_stopped(1, WSQ_LIFO);
    crowd_until_stopped(2, WSQ_LIFO);
}

/* ---- a full slot behind a long task: an idle worker takes it ---- */

typedef struct freed {
    wsq_task task;
    atomic_uint runs;
    atomic_bool ran;
} freed;

static wsq_poll freed_run(wsq_ctx ctx, wsq_task *task) {
    freed *self = wsq_container_of(task, freed, task);
    (void)ctx;
    if (atomic_fetch_add(&self->runs, 1) == 0) return WSQ_PENDING;
    atomic_store(&self->ran, true);
    return WSQ_DONE;
}

typedef struct hog {
    wsq_task task;
    freed *behind;
} hog;

/* Wakes a task, which goes to its worker's slot, and does not return until that has run. */
static wsq_poll hog_run(wsq_ctx ctx, wsq_task *task) {
    freed *behind = wsq_container_of(task, hog, task)->behind;
    (void)ctx;
    wsq_wake(&behind->task);
    while (!atomic_load(&behind->ran)) sched_yield();
    return WSQ_DONE;
}

static void stranded_slot(void) {
    unsigned sizes[] = {2, 3, 8};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        wsq_pool *pool = pool_new((wsq_config){.workers = sizes[s]});
        for (size_t round = 0; round < test_times(100); round++) {
            static freed behind;
            hog one = {.behind = &behind};
            atomic_store(&behind.runs, 0);
            atomic_store(&behind.ran, false);
            wsq_task_init(&behind.task, freed_run);
            wsq_task_init(&one.task, hog_run);
            CHECK_EQ(wsq_spawn(pool, &behind.task), WSQ_OK);
            while (wsqi_load_acq(&behind.task.state) != WSQI_TASK_PENDING) sched_yield(); /* asleep */
            CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_OK);
            CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        }
        pool_end(pool);
    }
}

/* Several at once: as many hogs as workers less one, each with a task of its own in the slot. */
enum { HOGS = 7 };

static void stranded_slots(void) {
    static freed behind[HOGS];
    static hog hogs[HOGS];
    wsq_pool *pool = pool_new((wsq_config){.workers = HOGS + 1});
    for (size_t round = 0; round < test_times(30); round++) {
        for (int i = 0; i < HOGS; i++) {
            atomic_store(&behind[i].runs, 0);
            atomic_store(&behind[i].ran, false);
            wsq_task_init(&behind[i].task, freed_run);
            CHECK_EQ(wsq_spawn(pool, &behind[i].task), WSQ_OK);
        }
        for (int i = 0; i < HOGS; i++) {
            while (wsqi_load_acq(&behind[i].task.state) != WSQI_TASK_PENDING) sched_yield();
            hogs[i].behind = &behind[i];
            wsq_task_init(&hogs[i].task, hog_run);
            CHECK_EQ(wsq_spawn(pool, &hogs[i].task), WSQ_OK);
        }
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    }
    pool_end(pool);
}

/* ---- every lane against every other: tasks that do nothing but yield in some of them, and one that comes
 * to another, and that they wait for ---- */

enum lane { OUTSIDE, HIGH, LOW, PINNED, INSIDE, WOKEN, TIMED, LANES };
enum { CROWDED = 4, /* the first four, in any combination */ YIELDERS = 2 };

static atomic_bool came;
static bool starved;

static wsq_poll yield_until_it_came(wsq_ctx ctx, step *self) {
    (void)ctx;
    (void)self;
    return atomic_load(&came) ? WSQ_DONE : WSQ_YIELD;
}

static wsq_poll come(wsq_ctx ctx, step *self) {
    (void)ctx;
    if (self->arg != NULL && self->runs == 1) return WSQ_PENDING; /* until it is woken */
    atomic_store(&came, true);
    return WSQ_DONE;
}

/* From outside, or as if by a task of worker 0. */
static void arrive(wsq_pool *pool, step *one, enum lane lane) {
    wsqi_worker *outside = wsqi_self_get();
    if (pool->config.caller_runs && (lane == INSIDE || lane == WOKEN)) wsqi_self_set(wsqi_block(pool, 0));
    if (lane == HIGH || lane == LOW)
        CHECK_EQ(wsq_task_set_priority(&one->task, lane == HIGH ? WSQ_HIGH : WSQ_LOW), WSQ_OK);
    if (lane == PINNED) CHECK_EQ(wsq_spawn_on(pool, 0, &one->task), WSQ_OK);
    else if (lane == WOKEN) wsq_wake(&one->task);
    else if (lane == TIMED) CHECK_EQ(wsq_timer_set(pool, &one->timer, &one->task, 0), WSQ_OK);
    else CHECK_EQ(wsq_spawn(pool, &one->task), WSQ_OK);
    wsqi_self_set(outside);
}

/* How many runs of others it waited for, where the caller runs. */
static unsigned long wait_among(wsq_config config, unsigned crowded, enum lane lane) {
    static step yielders[CROWDED * YIELDERS], late;
    wsq_pool *pool = pool_new(config);
    unsigned long steps = 0;
    atomic_store(&came, false);
    step_new(&late, come, lane == WOKEN || lane == TIMED ? &late : NULL);
    if (late.arg != NULL) {
        CHECK_EQ(wsq_spawn(pool, &late.task), WSQ_OK);
        if (config.caller_runs) CHECK(wsq_pool_run_one(pool));
        step_asleep(&late);
        while (wsqi_task_is(wsqi_load_acq(&late.task.state), 0)) sched_yield();
    }
    for (unsigned i = 0; i < CROWDED * YIELDERS; i++) {
        step_new(&yielders[i], yield_until_it_came, NULL);
        if (crowded >> i / YIELDERS & 1) arrive(pool, &yielders[i], (enum lane)(i / YIELDERS));
    }
    for (int i = 0; i < 50 && config.caller_runs && crowded != 0; i++) CHECK(wsq_pool_run_one(pool));
    arrive(pool, &late, lane);
    while (config.caller_runs && !wsq_task_done(&late.task) && steps++ < 100000) CHECK(wsq_pool_run_one(pool));
    if (!config.caller_runs && !CHECK_EQ(wsq_task_wait_for(&late.task, 20000000000), WSQ_OK)) starved = true;
    atomic_store(&came, true); /* or else nobody would end */
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    pool_end(pool);
    return steps;
}

/* Of 16 tasks in a row 15 are WSQ_HIGH and, in a worker with pinned ones, one of 32 is plain; the interval is
 * 20 tasks here, and one turn of 16 is for a WSQ_LOW one. */
static void starve_nobody(wsq_order order, uint32_t most) {
    const unsigned long interval = 20, row = WSQI_HIGH_STREAK + 1, all = CROWDED * YIELDERS + 1;
    for (unsigned crowded = 0; crowded < 1 << CROWDED; crowded++) {
        for (enum lane lane = OUTSIDE; lane < LANES; lane++) {
            unsigned long waited = wait_among((wsq_config){.workers = 1, .caller_runs = true, .order = order,
                                                           .min_interval = 1, .max_interval = most},
                                              crowded, lane);
            unsigned long bound = interval + 2 * row * all;
            if (lane == LOW) bound = WSQI_LOW_TURN * interval * all;
            if (lane == HIGH) bound = 2 + YIELDERS;
            if (waited > bound) printf("order %d, crowded %u, lane %d: %lu\n", order, crowded, lane, waited);
            if (!CHECK(waited <= bound)) starved = true; /* with threads it would be a hang */
        }
    }
}

static void nobody_starves(void) {
    for (int order = WSQ_FIFO; order <= WSQ_SHARED; order++) {
        starve_nobody((wsq_order)order, 20);
        starve_nobody((wsq_order)order, 1); /* each task is a turn */
    }
}

static void nobody_starves_with_threads(void) {
    const wsq_order orders[] = {WSQ_FIFO, WSQ_LIFO, WSQ_SHARED};
    for (int i = 0; i < 6; i++) {
        for (unsigned crowded = 1; crowded < 1 << CROWDED && !starved; crowded += 2 + (unsigned)i % 2)
            for (enum lane lane = OUTSIDE; lane < LANES && !starved; lane++)
                (void)wait_among((wsq_config){.workers = 1 + (unsigned)i % 2, .order = orders[i / 2]}, crowded, lane);
    }
}

/* A task that yields, alone on its worker, lets what waits in the global queue go first. */
static void after_you(void) {
    for (int order = WSQ_FIFO; order <= WSQ_SHARED; order++) {
        wsq_pool *pool = pool_new((wsq_config){.workers = 1, .caller_runs = true, .order = (wsq_order)order});
        step polite, late;
        unsigned steps = 0;
        atomic_store(&came, false);
        step_new(&polite, yield_until_it_came, NULL);
        step_new(&late, come, NULL);
        arrive(pool, &polite, OUTSIDE);
        CHECK(wsq_pool_run_one(pool));
        arrive(pool, &late, OUTSIDE);
        while (!wsq_task_done(&late.task) && steps++ < 1000) CHECK(wsq_pool_run_one(pool));
        CHECK_EQ(steps, 2);
        atomic_store(&came, true);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        pool_end(pool);
    }
}

/* A ring that is full at every boundary, as each task is followed by another, beside WSQ_HIGH ones whose rows
 * are as long as a turn: what is in the global queue gets in all the same. */
static wsq_poll respawn(wsq_ctx ctx, step *self) {
    step *twin = self->arg;
    if (atomic_load(&came)) return WSQ_DONE;
    twin->arg = self;
    CHECK_EQ(wsq_spawn(wsq_pool_of(ctx), &twin->task), WSQ_OK);
    return WSQ_DONE;
}

static void full_ring(void) {
    enum { FULL = WSQ_RING_CAPACITY };
    for (unsigned interval = 15; interval <= 17; interval++) {
        wsq_pool *pool = pool_new((wsq_config){
            .workers = 1, .caller_runs = true, .min_interval = interval, .max_interval = interval});
        step *full = step_array(2 * FULL, respawn, NULL), high[YIELDERS], late;
        unsigned long steps = 0;
        atomic_store(&came, false);
        for (unsigned i = 0; i < FULL; i++) {
            full[i].arg = &full[FULL + i];
            arrive(pool, &full[i], INSIDE);
        }
        for (int i = 0; i < YIELDERS; i++) {
            step_new(&high[i], yield_until_it_came, NULL);
            arrive(pool, &high[i], HIGH);
        }
        step_new(&late, come, NULL);
        arrive(pool, &late, OUTSIDE);
        while (!wsq_task_done(&late.task) && steps++ < 100000) CHECK(wsq_pool_run_one(pool));
        CHECK(steps <= (WSQI_HIGH_STREAK + 1) * (FULL + 2) + interval);
        atomic_store(&came, true);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        free(full);
        pool_end(pool);
    }
}

/* A worker that spins, and would do so for ever, finds what comes to any lane; in the first round. */
static void lend(test_thread *self) { CHECK_EQ(wsq_worker_enter(self->arg), WSQ_OK); }

static void spawn_to_spinner(test_thread *self) {
    wsq_pool *pool = self->arg;
    if (self->index == 0) {
        lend(self);
        return;
    }
    for (enum lane lane = OUTSIDE; lane < INSIDE; lane++) {
        step one;
        while (wsqi_searching(wsqi_load_acq(&pool->permits)) == 0) sched_yield();
        step_new(&one, come, NULL);
        arrive(pool, &one, lane);
        CHECK_EQ(wsq_task_wait_for(&one.task, 20000000000), WSQ_OK); /* or it is not looked for */
    }
    CHECK_EQ(wsq_pool_shutdown(pool, WSQ_CANCEL), WSQ_OK);
}

static void found_while_spinning(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 1, .caller_runs = true});
    wsqi_worker *worker = wsqi_block(pool, 0);
    for (enum lane lane = OUTSIDE; lane < INSIDE; lane++) {
        step one;
        wsq_task *found = NULL;
        step_new(&one, come, NULL);
        arrive(pool, &one, lane);
        CHECK(!wsqi_search(worker, &found));
        CHECK(found == &one.task);
        if (found == &one.task) wsqi_task_queue(pool, wsqi_local(pool), found);
        CHECK_EQ(pump(pool), 1);
    }
    pool_end(pool);
    pool = pool_new((wsq_config){.workers = 1, .lend_only = true});
    pool->spin.rounds = UINT32_MAX;
    test_threads(2, spawn_to_spinner, pool);
    pool_end(pool);
}

int main(void) {
    test_begin("test_fair");
    RUN(cap_of_the_slot);
    RUN(task_from_outside);
    RUN(crowd_with_threads);
    RUN(crowd_last_in_first_out);
    RUN(stranded_slot);
    RUN(stranded_slots);
    RUN(nobody_starves);
    RUN(nobody_starves_with_threads);
    RUN(after_you);
    RUN(full_ring);
    RUN(found_while_spinning);
    return test_end();
}
