/* A pool with a driver: how it ends, what it refuses, that it rests, and what a child of fork() may do. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "test.h"
#include "pool.h"
#include "driver.h"
#if !defined(_WIN32) && !defined(__EMSCRIPTEN__)
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#define HAS_FORK 1
#else
#define HAS_FORK 0
#endif

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
                 atomic_load(&at.waiting) != 1 || wsqi_load_acq(&pool->watch.watcher) != 0);
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
    test_begin("test_driver_end");
    RUN(drain);
    RUN(cancel);
    RUN(misuse);
    RUN(silence);
    RUN(forked);
    RUN(forked_in_a_task);
    return test_end();
}
