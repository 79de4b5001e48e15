/* Drivers: idle threads wait for events, too. The driver here is a nuisance (driver.h). Each event must
 * arrive, and one thread at a time be inside; an event or a wake-up that is lost is a hang. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "test.h"
#include "pool.h"
#include "driver.h"

/* ---- events ---- */

enum { CLIENTS = 64 };

static void rounds_with(unsigned workers, unsigned clients, unsigned chaos, size_t rounds, wsq_config config) {
    static client all[CLIENTS];
    world at;
    config.workers = workers;
    wsq_pool *pool = world_pool(&at, chaos, config);
    rounds = test_times(rounds);
    for (unsigned i = 0; i < clients; i++) {
        client_init(&all[i], &at, rounds);
        CHECK_EQ(wsq_spawn(pool, &all[i].task), WSQ_OK);
    }
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    for (unsigned i = 0; i < clients; i++) CHECK_EQ(all[i].runs, rounds + 1);
    world_end(&at, pool);
}

static void events(void) {
    const unsigned sizes[] = {1, 2, 3, 8};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        rounds_with(sizes[i], 1, 0, 3000, (wsq_config){0});
        rounds_with(sizes[i], 1, 3, 3000, (wsq_config){0});
        rounds_with(sizes[i], 8, 4, 1000, (wsq_config){.spin_ns = i % 2 ? 0 : WSQ_SPIN_OFF});
        rounds_with(sizes[i], CLIENTS, 2, 100, (wsq_config){0});
    }
}

static void every_kind_of_pool(void) {
    rounds_with(3, 8, 3, 500, (wsq_config){.order = WSQ_LIFO});
    rounds_with(3, 8, 3, 500, (wsq_config){.order = WSQ_SHARED});
    rounds_with(2, 8, 3, 200, (wsq_config){.spin_ns = 200000});
    rounds_with(3, 8, 3, 500, (wsq_config){.max_standins = WSQ_STANDINS_OFF});
    rounds_with(1, 8, 3, 500, (wsq_config){.caller_runs = true});
    rounds_with(4, 8, 3, 500, (wsq_config){.caller_runs = true});
    rounds_with(2, 8, 3, 500, (wsq_config){.park_timeout_ns = 100000});
}

/* The ends of a group's tasks are collected, and still the last worker to run dry tells the waiting thread. */
static void groups(void) {
    world at;
    client one;
    wsq_group group;
    for (unsigned i = 0; i < 4; i++) {
        wsq_pool *pool = world_pool(&at, 0, (wsq_config){.workers = 1 + i % 2, .order = i / 2 ? WSQ_LIFO : WSQ_FIFO});
        wsq_group_init(&group, pool);
        for (size_t k = 0; k < test_times(300); k++) {
            client_init(&one, &at, k % 4);
            CHECK_EQ(wsq_group_spawn(&group, &one.task), WSQ_OK);
            CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        }
        world_end(&at, pool);
    }
}

/* A worker whose searches find nothing, since events come one by one, waits without a look before. */
static void looks(void) {
    enum { EVENTS = 300 };
    world at;
    client one;
    wsq_pool *pool = world_pool(&at, 0, (wsq_config){.workers = 1});
    client_init(&one, &at, EVENTS);
    one.task.fn = count_run;
    CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_OK);
    for (size_t i = 0; i < EVENTS; i++) {
        while (atomic_load(&at.ran) != i + 1 || atomic_load(&at.waiting) == 0) test_nap(20000);
        post(&at, &one);
    }
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    CHECK(atomic_load(&at.looks) < EVENTS / 2);
    world_end(&at, pool);
}

/* A search that lasts looks into the driver, too. */
static void while_it_searches(void) {
    world at;
    client one;
    wsq_pool *pool = world_pool(&at, 0, (wsq_config){.workers = 2, .spin_ns = 3600000000000u});
    client_init(&one, &at, 5);
    one.task.fn = count_run;
    CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_OK);
    for (size_t i = 0; i < 5; i++) {
        while (atomic_load(&at.ran) != i + 1) test_nap(20000);
        test_nap(2000000); /* it searches by now */
        post(&at, &one);
    }
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    wsq_pool_set_spin(pool, WSQ_SPIN_OFF);
    world_end(&at, pool);
}

/* What one dispatch wakes runs in that order. */
static client *order_first;

static wsq_poll order_run(wsq_ctx ctx, wsq_task *task) {
    client *self = wsq_container_of(task, client, task);
    (void)ctx;
    if (self->runs++ == 0) return WSQ_PENDING;
    CHECK(order_first == self);
    order_first = self + 1;
    return WSQ_DONE;
}

static wsq_poll often_run(wsq_ctx ctx, wsq_task *task) {
    client *self = wsq_container_of(task, client, task);
    (void)ctx;
    return self->runs++ < 20000 ? WSQ_YIELD : WSQ_DONE;
}

static void in_order(void) {
    enum { COUNT = 10 };
    static client all[COUNT + 1];
    world at;
    wsq_pool *pool = world_pool(&at, 0, (wsq_config){.workers = 1});
    client_init(&all[0], &at, 0); /* so that tasks seem short: else a wake does not use the slot */
    all[0].task.fn = often_run;
    CHECK_EQ(wsq_spawn(pool, &all[0].task), WSQ_OK);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    for (size_t round = 0; round < test_times(20); round++) {
        for (size_t i = 0; i < COUNT; i++) {
            client_init(&all[i], &at, 0);
            all[i].task.fn = order_run;
            CHECK_EQ(wsq_spawn(pool, &all[i].task), WSQ_OK);
        }
        pool_rest(pool);
        order_first = all;
        for (size_t i = 0; i < COUNT; i++) all[i].next = i + 1 < COUNT ? &all[i + 1] : NULL;
        pthread_mutex_lock(&at.lock);
        at.first = all;
        pthread_cond_signal(&at.changed);
        pthread_mutex_unlock(&at.lock);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    }
    world_end(&at, pool);
}

/* The caller of wsq_pool_run_one looks, too, and never waits. */
static void run_one(void) {
    world at;
    client one;
    wsq_pool *pool = world_pool(&at, 0, (wsq_config){.caller_runs = true});
    client_init(&one, &at, 100);
    CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_OK);
    for (int i = 0; i <= 100; i++) CHECK(wsq_pool_run_one(pool));
    CHECK(!wsq_pool_run_one(pool));
    CHECK(wsq_task_done(&one.task));
    client_init(&one, &at, 1);
    one.task.fn = count_run;
    CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_OK);
    CHECK(wsq_pool_run_one(pool));
    for (int i = 0; i < 10; i++) CHECK(!wsq_pool_run_one(pool));
    post(&at, &one);
    CHECK(wsq_pool_run_one(pool)); /* it looks, however often it has found nothing */
    world_end(&at, pool);
}

static unsigned calls_looked;

static bool count_look(uint64_t timeout_ns, void *user) {
    (void)timeout_ns, (void)user;
    calls_looked++;
    return false;
}

static void no_events(wsq_pool *pool, void *user) { (void)pool, (void)user; }
static void no_interrupt(void *user) { (void)user; }

static wsq_poll yields_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    return calls_looked < 100 ? WSQ_YIELD : WSQ_DONE;
}

/* While tasks can run, wsq_pool_run_one looks for events in every 20th call, with one worker or with many; and a
 * WSQ_LOW task comes in the 16th of these. */
static void looks_of_calls(void) {
    static const wsq_driver driver = {count_look, no_events, no_interrupt, NULL};
    for (unsigned workers = 1; workers <= 64; workers *= 4) {
        wsq_pool *pool = pool_new((wsq_config){.workers = workers, .caller_runs = true, .driver = &driver, .seed = 3});
        wsq_task tasks[5], low;
        calls_looked = 0;
        for (int i = 0; i < 5; i++) wsq_task_init(&tasks[i], yields_run);
        for (int i = 0; i < 5; i++) CHECK_EQ(wsq_spawn(pool, &tasks[i]), WSQ_OK);
        wsq_task_init(&low, nothing_run);
        wsq_task_set_priority(&low, WSQ_LOW);
        CHECK_EQ(wsq_spawn(pool, &low), WSQ_OK);
        for (unsigned calls = 0; calls < 1000; calls++) {
            CHECK_EQ(calls_looked, calls == 0 ? 0 : (calls - 1) / 20);
            CHECK_EQ(wsq_task_done(&low), calls > 320);
            CHECK(wsq_pool_run_one(pool));
        }
        calls_looked = 100;
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        pool_end(pool);
    }
}

static void lent_or_ends(test_thread *self) {
    lending *what = self->arg;
    if (self->index != 0) {
        CHECK_EQ(wsq_worker_enter(what->pool), WSQ_OK);
        atomic_fetch_add(&what->left, 1);
        return;
    }
    CHECK_EQ(wsq_task_wait(&what->one->task), WSQ_OK);
    until_polled(what->one->world);
    while (atomic_load(&what->left) < 2) { /* one of them waits in the driver */
        wsq_worker_dismiss(what->pool, 0);
        wsq_worker_dismiss(what->pool, 1);
        test_nap(20000);
    }
}

static void lent_threads(void) {
    world at;
    client one;
    wsq_pool *pool = world_pool(&at, 3, (wsq_config){.workers = 2, .lend_only = true});
    client_init(&one, &at, test_times(1000));
    CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_OK);
    test_threads(3, lent_or_ends, &(lending){.pool = pool, .one = &one});
    world_end(&at, pool);
}

/* Thousands of events in one dispatch, more than a ring holds. */
static void thousands(void) {
    enum { MANY = 3000 };
    static client all[MANY];
    world at;
    wsq_pool *pool = world_pool(&at, 0, (wsq_config){.workers = 3});
    for (size_t round = 0; round < test_times(10); round++) {
        for (size_t i = 0; i < MANY; i++) {
            client_init(&all[i], &at, 0);
            all[i].task.fn = once_run;
            all[i].next = i + 1 < MANY ? &all[i + 1] : NULL;
            CHECK_EQ(wsq_spawn(pool, &all[i].task), WSQ_OK);
        }
        pool_rest(pool);
        pthread_mutex_lock(&at.lock);
        at.first = all;
        pthread_cond_signal(&at.changed);
        pthread_mutex_unlock(&at.lock);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        for (size_t i = 0; i < MANY; i++) CHECK_EQ(all[i].runs, 2);
    }
    world_end(&at, pool);
}

/* ---- what is not an event wakes the thread in the driver, and others ---- */

static void spawns_with(unsigned workers, unsigned chaos) {
    world at;
    wsq_pool *pool = world_pool(&at, chaos, (wsq_config){.workers = workers});
    uint64_t random = test_seed + 1;
    for (size_t i = 0; i < test_times(5000); i++) {
        wsq_task one = {.fn = nothing_run};
        if (test_below(&random, 4) == 0) until_polled(&at);
        else test_spin(test_below(&random, 2000));
        if (i % 2 != 0) CHECK_EQ(wsq_spawn(pool, &one), WSQ_OK);
        else CHECK_EQ(wsq_spawn_on(pool, (unsigned)i % workers, &one), WSQ_OK);
        CHECK_EQ(wsq_task_wait(&one), WSQ_OK);
    }
    world_end(&at, pool);
}

static void spawns(void) {
    spawns_with(1, 0);
    spawns_with(1, 3);
    spawns_with(2, 0);
    spawns_with(3, 3);
}

/* A spawn wakes a sleeper that does not wait in the driver, if there is one. */
static void others_first(void) {
    world at;
    wsq_pool *pool = world_pool(&at, 0, (wsq_config){.workers = 4});
    pool_rest(pool);
    size_t before = atomic_load(&at.interrupts);
    for (int i = 0; i < 200; i++) {
        wsq_task one = {.fn = nothing_run};
        pool_rest(pool);
        until_polled(&at);
        CHECK_EQ(wsq_spawn(pool, &one), WSQ_OK);
        CHECK_EQ(wsq_task_wait(&one), WSQ_OK);
    }
    CHECK_EQ(atomic_load(&at.interrupts), before);
    world_end(&at, pool);
}

typedef struct timed {
    wsq_task task;
    wsq_timer timer;
    size_t left;
} timed;

static wsq_poll timed_run(wsq_ctx ctx, wsq_task *task) {
    timed *self = wsq_container_of(task, timed, task);
    if (self->left-- == 0) return WSQ_DONE;
    CHECK_EQ(wsq_timer_set(wsq_pool_of(ctx), &self->timer, task, 1000 * (self->left % 100)), WSQ_OK);
    return WSQ_PENDING;
}

static void timers(void) {
    for (unsigned workers = 1; workers < 4; workers++) {
        world at;
        client one;
        timed other = {.task.fn = timed_run, .left = test_times(500)};
        wsq_pool *pool = world_pool(&at, 3 * (workers - 1), (wsq_config){.workers = workers});
        client_init(&one, &at, test_times(500));
        CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_OK);
        CHECK_EQ(wsq_spawn(pool, &other.task), WSQ_OK);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        world_end(&at, pool);
    }
}

/* ---- threads that have the driver are busy, or block ---- */

/* A task that does not return before an event has woken another one. */
typedef struct stubborn {
    wsq_task task;
    client *until;
    bool yields, blocks;
} stubborn;

static wsq_poll stubborn_run(wsq_ctx ctx, wsq_task *task) {
    stubborn *self = wsq_container_of(task, stubborn, task);
    if (self->blocks) {
        CHECK_EQ(wsq_task_wait(&self->until->task), WSQ_OK);
        return WSQ_DONE;
    }
    (void)ctx;
    if (self->yields) return wsq_task_done(&self->until->task) ? WSQ_DONE : WSQ_YIELD;
    while (!wsq_task_done(&self->until->task)) sched_yield();
    return WSQ_DONE;
}

/* One worker: it hears of events in its turns. */
static void in_a_turn(void) {
    world at;
    client one;
    wsq_pool *pool = world_pool(&at, 0, (wsq_config){.workers = 1});
    for (int i = 0; i < 20; i++) {
        stubborn busy = {.task.fn = stubborn_run, .until = &one, .yields = true};
        client_init(&one, &at, 5);
        CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_OK);
        CHECK_EQ(wsq_spawn(pool, &busy.task), WSQ_OK);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    }
    world_end(&at, pool);
}

/* One worker is in a task that forks, the other runs the jobs, and asks for events before it steals the
 * next one: the third job brings an event. */
static wsq_job pieces[500];
static atomic_uint pieces_stolen, stolen_before;
static unsigned piece_owner;
static bool pieces_joined; /* the owner may have slept in a join, and heard of the event itself */
static client *piece_event;

static void piece_run(wsq_ctx ctx, wsq_job *job) {
    (void)job;
    if (wsq_worker_index(ctx) == piece_owner) return;
    if (atomic_fetch_add(&pieces_stolen, 1) == 2) post(piece_event->world, piece_event);
}

static wsq_poll heard_run(wsq_ctx ctx, wsq_task *task) {
    client *self = wsq_container_of(task, client, task);
    (void)ctx;
    atomic_store(&stolen_before, atomic_load(&pieces_stolen));
    return atomic_fetch_add(&self->world->ran, 1) == 0 ? WSQ_PENDING : WSQ_DONE;
}

static wsq_poll forks_run(wsq_ctx ctx, wsq_task *task) {
    size_t count = 0;
    (void)task;
    piece_owner = wsq_worker_index(ctx);
    while (atomic_load(&piece_event->world->ran) < 2) {
        for (; count < sizeof pieces / sizeof *pieces; test_spin(1000)) wsq_fork(&ctx, &pieces[count++], piece_run);
        if (atomic_load(&piece_event->world->ran) < 2) pieces_joined = true;
        while (count > 0) wsq_join(&ctx, &pieces[--count]);
    }
    return WSQ_DONE;
}

static void between_jobs(void) {
    for (size_t i = 0; i < test_times(20); i++) {
        world at;
        client one;
        wsq_task forks = {.fn = forks_run};
        wsq_pool *pool = world_pool(&at, 0, (wsq_config){.workers = 2});
        atomic_store(&pieces_stolen, 0);
        pieces_joined = false;
        client_init(&one, &at, 0);
        one.task.fn = heard_run;
        piece_event = &one;
        CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_OK);
        while (atomic_load(&at.ran) == 0) test_nap(20000);
        CHECK_EQ(wsq_spawn(pool, &forks), WSQ_OK);
        while (!wsq_task_done(&forks)) test_nap(20000); /* a wait could run the task on this thread */
        CHECK(pieces_joined || atomic_load(&stolen_before) == 3);
        world_end(&at, pool);
    }
}

/* The thread that an event has woken stays in its task until there is another event: another thread
 * takes the driver over. */
static void hand_over(void) {
    for (unsigned workers = 2; workers < 5; workers++) {
        world at;
        static stubborn tasks[3];
        client waits[3], last;
        wsq_pool *pool = world_pool(&at, workers % 2 ? 5 : 0, (wsq_config){.workers = workers});
        for (int i = 0; i < 30; i++) {
            client_init(&last, &at, 1);
            for (unsigned k = 0; k + 1 < workers; k++) {
                client_init(&waits[k], &at, 1);
                tasks[k] = (stubborn){.task.fn = stubborn_run, .until = &last};
                CHECK_EQ(wsq_spawn(pool, &waits[k].task), WSQ_OK);
                CHECK_EQ(wsq_spawn(pool, &tasks[k].task), WSQ_OK);
            }
            if (i % 3 == 0) until_polled(&at);
            CHECK_EQ(wsq_spawn(pool, &last.task), WSQ_OK);
            CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        }
        world_end(&at, pool);
    }
}

/* All workers wait for tasks that wait for events. */
static void blocked(void) {
    for (int kind = 0; kind < 4; kind++) {
        world at;
        static stubborn tasks[4];
        static client waits[4];
        unsigned standins = kind % 2 ? 4 : WSQ_STANDINS_OFF;
        wsq_pool *pool = world_pool(&at, kind / 2 ? 3 : 0, (wsq_config){.workers = 2, .max_standins = standins});
        for (int i = 0; i < 50; i++) {
            for (unsigned k = 0; k < 4; k++) {
                client_init(&waits[k], &at, 20);
                tasks[k] = (stubborn){.task.fn = stubborn_run, .until = &waits[k], .blocks = true};
                CHECK_EQ(wsq_spawn(pool, &waits[k].task), WSQ_OK);
            }
            for (unsigned k = 0; k < 4; k++) CHECK_EQ(wsq_spawn(pool, &tasks[k].task), WSQ_OK);
            CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        }
        world_end(&at, pool);
    }
}

int main(void) {
    test_begin("test_driver");
    RUN(events);
    RUN(every_kind_of_pool);
    RUN(groups);
    RUN(looks);
    RUN(while_it_searches);
    RUN(in_order);
    RUN(run_one);
    RUN(looks_of_calls);
    RUN(lent_threads);
    RUN(thousands);
    RUN(spawns);
    RUN(others_first);
    RUN(timers);
    RUN(in_a_turn);
    RUN(between_jobs);
    RUN(hand_over);
    RUN(blocked);
    return test_end();
}
