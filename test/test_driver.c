/* Drivers: idle threads wait for events, too. The driver here is a nuisance: its wait returns early,
 * fails, or is interrupted at every moment, its interrupt comes late or twice, and its dispatch wakes
 * nobody, or thousands. Each event must arrive, and one thread at a time be inside; an event or a
 * wake-up that is lost is a hang. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "test.h"
#include "pool.h"
#include <pthread.h>
#if !defined(_WIN32) && !defined(__EMSCRIPTEN__)
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#define HAS_FORK 1
#else
#define HAS_FORK 0
#endif

/* A task that waits for its events. */
typedef struct client {
    wsq_task task;
    struct world *world;
    struct client *next; /* in the world's list */
    size_t left, runs;
} client;

/* Where events come from; posting one calls nothing of wsq, as a network does not. */
typedef struct world {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    client *first;         /* events that came; under the lock, as the next three */
    bool poked;
    uint64_t random;
    unsigned chaos;        /* one step in so many is odd; 0: none */
    atomic_uint inside;    /* threads in wait or dispatch */
    atomic_uint waiting;   /* in wait, without end or for long */
    atomic_bool stops;     /* the pool is cancelled: events of its last moments are not dispatched */
    atomic_size_t ran;     /* runs of count_run */
    atomic_size_t waits, looks, dispatches, interrupts; /* looks: waits with a time-out of 0 */
    client *ready;         /* between wait and dispatch: the thread that has the driver */
    void (*extra)(wsq_pool *pool, struct world *self); /* dispatch calls this, too, or NULL */
} world;

static bool odd(world *self) { return self->chaos != 0 && test_below(&self->random, self->chaos) == 0; }

static atomic_bool in_child;

static bool world_wait(uint64_t timeout_ns, void *user) {
    world *self = user;
    struct timespec until;
    if (atomic_load(&in_child)) _Exit(9);
    if (atomic_fetch_add(&self->inside, 1) != 0) FAIL("two threads wait");
    atomic_fetch_add(&self->waits, 1);
    if (timeout_ns == 0) atomic_fetch_add(&self->looks, 1);
    if (self->ready != NULL && !atomic_load(&self->stops)) FAIL("a wait, and no dispatch of what the last one brought");
    pthread_mutex_lock(&self->lock);
    bool early = odd(self), empty = odd(self), nothing = odd(self);
    if (timeout_ns != 0 && timeout_ns != WSQ_FOREVER) {
        clock_gettime(CLOCK_REALTIME, &until);
        uint64_t ns = (uint64_t)until.tv_nsec + timeout_ns % 1000000000u;
        if (timeout_ns / 1000000000u < 1000000) until.tv_sec += (time_t)(timeout_ns / 1000000000u);
        until.tv_sec += (time_t)(ns / 1000000000u);
        until.tv_nsec = (long)(ns % 1000000000u);
    }
    if (timeout_ns != 0) atomic_fetch_add(&self->waiting, 1);
    while (timeout_ns != 0 && !early && !self->poked && self->first == NULL) {
        if (timeout_ns == WSQ_FOREVER) pthread_cond_wait(&self->changed, &self->lock);
        else if (pthread_cond_timedwait(&self->changed, &self->lock, &until) != 0) break;
    }
    if (timeout_ns != 0) atomic_fetch_sub(&self->waiting, 1);
    if (timeout_ns != 0 || odd(self)) self->poked = false;
    if (!empty) {
        self->ready = self->first;
        self->first = NULL;
    }
    pthread_mutex_unlock(&self->lock);
    bool events = self->ready != NULL || (nothing && !empty);
    atomic_fetch_sub(&self->inside, 1);
    return events;
}

static void world_dispatch(wsq_pool *pool, void *user) {
    world *self = user;
    client *next;
    if (atomic_fetch_add(&self->inside, 1) != 0) FAIL("two threads dispatch");
    if (wsqi_load_hint(pool->phase) == WSQI_PHASE_OVER) FAIL("dispatch after the end of the pool");
    atomic_fetch_add(&self->dispatches, 1);
    for (client *one = self->ready; one != NULL; one = next) {
        next = one->next;
        wsq_wake(&one->task);
    }
    self->ready = NULL;
    if (self->extra != NULL) self->extra(pool, self);
    atomic_fetch_sub(&self->inside, 1);
}

static void world_interrupt(void *user) {
    world *self = user;
    atomic_fetch_add(&self->interrupts, 1);
    pthread_mutex_lock(&self->lock);
    bool twice = odd(self), late = odd(self);
    self->poked = true;
    pthread_cond_signal(&self->changed);
    pthread_mutex_unlock(&self->lock);
    if (late) test_spin(1000);
    if (!twice) return;
    pthread_mutex_lock(&self->lock);
    self->poked = true;
    pthread_cond_signal(&self->changed);
    pthread_mutex_unlock(&self->lock);
}

static void post(world *self, client *one) {
    pthread_mutex_lock(&self->lock);
    one->next = self->first;
    self->first = one;
    pthread_cond_signal(&self->changed);
    pthread_mutex_unlock(&self->lock);
}

static void world_init(world *self, unsigned chaos) {
    memset((void *)self, 0, sizeof *self);
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->changed, NULL);
    self->random = test_seed | 1;
    self->chaos = chaos;
}

static wsq_pool *world_pool(world *self, unsigned chaos, wsq_config config) {
    world_init(self, chaos);
    config.driver = &(wsq_driver){world_wait, world_dispatch, world_interrupt, self};
    return pool_new(config);
}

static void world_end(world *self, wsq_pool *pool) {
    if (pool != NULL) pool_end(pool);
    CHECK_EQ(atomic_load(&self->inside), 0);
    CHECK(self->first == NULL && self->ready == NULL);
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->lock);
}

static wsq_poll client_run(wsq_ctx ctx, wsq_task *task) {
    client *self = wsq_container_of(task, client, task);
    (void)ctx;
    self->runs++;
    if (self->left == 0) return WSQ_DONE;
    self->left--;
    post(self->world, self);
    return WSQ_PENDING;
}

/* Waits for `left` events of another driver. */
static wsq_poll count_run(wsq_ctx ctx, wsq_task *task) {
    client *self = wsq_container_of(task, client, task);
    (void)ctx;
    atomic_fetch_add(&self->world->ran, 1);
    return self->runs++ < self->left ? WSQ_PENDING : WSQ_DONE;
}

/* Waits for one event of another driver. */
static wsq_poll once_run(wsq_ctx ctx, wsq_task *task) {
    client *self = wsq_container_of(task, client, task);
    (void)ctx;
    return self->runs++ == 0 ? WSQ_PENDING : WSQ_DONE;
}

static void client_init(client *self, world *at, size_t rounds) {
    *self = (client){.world = at, .left = rounds};
    wsq_task_init(&self->task, client_run);
}

/* Waits until some thread waits in the driver. */
static void until_polled(world *self) {
    while (atomic_load(&self->waiting) == 0) test_nap(20000);
}

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

typedef struct lending {
    wsq_pool *pool;
    client *one;
    atomic_uint left; /* threads that have left */
} lending;

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

static wsq_poll nothing_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    return WSQ_DONE;
}

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

/* ---- how it ends, and what may not be ---- */

/* One thread posts the event that a drain, in the other, waits for. */
static void drains_or_posts(test_thread *self) {
    lending *what = self->arg;
    if (self->index == 0) {
        CHECK_EQ(wsq_pool_shutdown(what->pool, WSQ_DRAIN), WSQ_OK);
        return;
    }
    until_polled(what->one->world);
    test_nap(test_below(&self->random, 200000));
    post(what->one->world, what->one);
}

static void drain(void) {
    for (unsigned i = 0; i < 30; i++) {
        world at;
        client one;
        wsq_pool *pool = world_pool(&at, i % 2 ? 3 : 0, (wsq_config){.workers = 1 + i % 3});
        client_init(&one, &at, 0);
        one.task.fn = once_run;
        CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_OK);
        pool_rest(pool); /* else the event may come before the task waits for it */
        test_threads(2, drains_or_posts, &(lending){.pool = pool, .one = &one});
        CHECK_EQ(one.runs, 2);
        world_end(&at, pool);
    }
}

/* A cancelling shutdown does not. What waits for an event that comes late is cancelled by it, or never
 * touched again. */
static void cancel(void) {
    for (int i = 0; i < 200; i++) {
        world at;
        client all[4];
        wsq_pool *pool = world_pool(&at, i % 2 ? 3 : 0, (wsq_config){.workers = 1 + (unsigned)i % 3});
        for (int k = 0; k < 4; k++) {
            client_init(&all[k], &at, 1000000000);
            CHECK_EQ(wsq_spawn(pool, &all[k].task), WSQ_OK);
        }
        test_spin((uint32_t)i * 50);
        atomic_store(&at.stops, true);
        CHECK_EQ(wsq_pool_shutdown(pool, WSQ_CANCEL), WSQ_OK);
        wsq_pool_destroy(pool);
        at.first = at.ready = NULL;
        world_end(&at, NULL);
    }
}

static wsq_future *some_future;
static client some_client;
static wsq_group some_group;
static atomic_uint refused;

static void *some_function(void *arg) { return arg; }

static void waits_in_dispatch(wsq_pool *pool, world *self) {
    (void)self;
    void *result;
    CHECK_EQ(wsq_pool_wait(pool), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_pool_shutdown(pool, WSQ_DRAIN), WSQ_ERR_INVALID);
    if (!wsq_task_done(&some_client.task)) CHECK_EQ(wsq_task_wait(&some_client.task), WSQ_ERR_INVALID);
    if (wsq_group_pending(&some_group) != 0) CHECK_EQ(wsq_group_wait(&some_group), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_future_get(some_future, &result), WSQ_ERR_INVALID);
    atomic_fetch_add(&refused, 1);
}

/* One thread waits for the pool; the other posts each event while some thread waits in the driver. */
static void waits_or_posts(test_thread *self) {
    lending *what = self->arg;
    world *at = what->one->world;
    if (self->index == 0) CHECK_EQ(wsq_pool_wait(what->pool), WSQ_OK);
    for (size_t i = 0; self->index != 0 && i < what->one->left; i++) {
        while (atomic_load(&at->ran) != i + 1 || atomic_load(&at->waiting) == 0) test_nap(20000);
        post(at, what->one);
    }
}

static void misuse(void) {
    for (int runs = 0; runs < 2; runs++) {
        world at;
        atomic_store(&refused, 0);
        wsq_pool *pool = world_pool(&at, 0, (wsq_config){.workers = 2, .caller_runs = runs != 0});
        at.extra = waits_in_dispatch;
        wsq_group_init(&some_group, pool);
        CHECK_EQ(wsq_submit(pool, some_function, &at, &some_future), WSQ_OK);
        client_init(&some_client, &at, 10);
        some_client.task.fn = count_run;
        CHECK_EQ(wsq_group_spawn(&some_group, &some_client.task), WSQ_OK);
        test_threads(2, waits_or_posts, &(lending){.pool = pool, .one = &some_client});
        CHECK(atomic_load(&refused) != 0);
        void *result = NULL;
        CHECK_EQ(wsq_future_get(some_future, &result), WSQ_OK);
        CHECK(result == &at);
        world_end(&at, pool);
    }
    wsq_pool *pool;
    wsq_driver parts[3] = {{NULL, world_dispatch, world_interrupt, NULL},
                           {world_wait, NULL, world_interrupt, NULL},
                           {world_wait, world_dispatch, NULL, NULL}};
    for (int i = 0; i < 3; i++) {
        wsq_config config = {.workers = 1, .driver = &parts[i]};
        CHECK_EQ(wsq_pool_create(&pool, &config), WSQ_ERR_INVALID);
    }
}

/* Asleep in its driver, a pool makes no call: once it rests, nobody looks any more. */
static void silence(void) {
    for (unsigned workers = 1; workers < 4; workers++) {
        world at;
        client one;
        wsq_pool *pool = world_pool(&at, 0, (wsq_config){.workers = workers});
        client_init(&one, &at, 100);
        CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_OK);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        size_t before;
        wsq_stats stats, later;
        do { /* a watcher may still look again once or twice */
            before = atomic_load(&at.waits);
            wsq_pool_stats(pool, &stats);
            test_nap(20000000);
            wsq_pool_stats(pool, &later);
        } while (before != atomic_load(&at.waits) || stats.parks != later.parks ||
                 atomic_load(&at.waiting) != 1 || wsqi_load_acq(&pool->watcher) != 0);
        world_end(&at, pool);
    }
}

/* A child of fork() leaves the driver to its parent. */
static void forked(void) {
#if HAS_FORK
    world at;
    wsq_pool *pool = world_pool(&at, 0, (wsq_config){.workers = 2});
    bool knows = pool->phase != &pool->own_phase; /* a page that the kernel wipes */
    until_polled(&at);
    pid_t child = knows ? fork() : -1;
    if (child == 0) {
        size_t calls = atomic_load(&at.waits) + atomic_load(&at.interrupts);
        wsq_task one = {.fn = nothing_run};
        bool good = wsq_spawn(pool, &one) == WSQ_ERR_FORKED;
        wsq_pool_destroy(pool);
        _exit(good && calls == atomic_load(&at.waits) + atomic_load(&at.interrupts) ? 0 : 1);
    }
    int status = 0;
    if (knows) CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    world_end(&at, pool);
#endif
}

/* A worker's task forks, and the child returns from the task: it goes on as a worker whose pool is the
 * parent's, until a signal ends it. */
#if HAS_FORK
static wsq_poll forks_run(wsq_ctx ctx, wsq_task *task) {
    int status = 0;
    pid_t child = fork();
    (void)ctx, (void)task;
    if (child == 0) {
        atomic_store(&in_child, true);
        sigset_t none;
        sigemptyset(&none);
        signal(SIGALRM, SIG_DFL);
        pthread_sigmask(SIG_SETMASK, &none, NULL); /* a worker blocks signals */
        setitimer(ITIMER_REAL, &(struct itimerval){.it_value.tv_usec = 100000}, NULL);
        return WSQ_DONE;
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
    return WSQ_DONE;
}
#endif

static void forked_in_a_task(void) {
#if HAS_FORK
    world at;
    wsq_pool *pool = world_pool(&at, 0, (wsq_config){.workers = 1});
    wsq_task one = {.fn = forks_run};
    bool knows = pool->phase != &pool->own_phase;
    if (knows) CHECK_EQ(wsq_spawn(pool, &one), WSQ_OK);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    world_end(&at, pool);
#endif
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
    RUN(lent_threads);
    RUN(thousands);
    RUN(spawns);
    RUN(others_first);
    RUN(timers);
    RUN(in_a_turn);
    RUN(hand_over);
    RUN(blocked);
    RUN(drain);
    RUN(cancel);
    RUN(misuse);
    RUN(silence);
    RUN(forked);
    RUN(forked_in_a_task);
    return test_end();
}
