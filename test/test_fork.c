/* A child of fork() has none of the parent's threads: each call with the parent's pool says so, takes no
 * lock that another thread held at that moment, and leaves everything as it was. A new pool works. */
#include "test.h"

static void *counted_malloc(size_t size);
static void counted_free(void *memory);

#define WSQ_MALLOC(size) counted_malloc(size)
#define WSQ_FREE(pointer) counted_free(pointer)
#define WSQ_RING_CAPACITY 8
#define WSQ_IMPLEMENTATION
#include "../wsq.h"

#include "mix.h"
#include "pool.h"

#if defined(__linux__) || defined(__FreeBSD__) || defined(__OpenBSD__)
#include <poll.h>
#include <sys/wait.h>
#define FORKS_HERE
#endif

static atomic_long memory_live;

static void *counted_malloc(size_t size) {
    void *memory = malloc(size);
    atomic_fetch_add(&memory_live, memory != NULL);
    return memory;
}

static void counted_free(void *memory) {
    atomic_fetch_sub(&memory_live, memory != NULL);
    free(memory);
}

#ifdef FORKS_HERE
static const mix_plan tiny_load = {1, 2, 1, 1, 4, 4, 10};

typedef struct busy_task {
    wsq_task task;
    wsq_timer timer;
    unsigned left;
} busy_task;

static wsq_poll busy_run(wsq_ctx ctx, wsq_task *task) {
    busy_task *self = wsq_container_of(task, busy_task, task);
    (void)ctx;
    return self->left-- > 0 ? WSQ_YIELD : WSQ_DONE;
}

static wsq_poll pend_once(wsq_ctx ctx, wsq_task *task) {
    busy_task *self = wsq_container_of(task, busy_task, task);
    (void)ctx;
    return self->left-- > 0 ? WSQ_PENDING : WSQ_DONE;
}

static void *echo(void *arg) { return arg; }
static void say_nothing(void *arg) { (void)arg; }
static void run_nothing(wsq_ctx ctx, void *arg) { (void)ctx, (void)arg; }

typedef struct heirloom { /* what the child finds */
    wsq_pool *pool;
    busy_task tasks[8], spare, pending;
    wsq_group group;
    wsq_future *future, *done;
} heirloom;

/* Counts a call that does not say that the pool is the parent's, and says which. */
static int taken;

static void refused(bool good, const char *call) {
    if (good) return;
    taken++;
    fprintf(stderr, "in the child: %s\n", call);
}

#define FORKED(call) refused((call) == WSQ_ERR_FORKED, #call)
#define HOLDS(call) refused((call), #call)

/* Every call that takes the pool, or a thing that belongs to it. */
static void call_all(heirloom *all) {
    wsq_pool *pool = all->pool;
    wsq_task *spare = &all->spare.task;
    wsq_stats stats;
    wsq_future *future;
    FORKED(wsq_spawn(pool, spare));
    FORKED(wsq_spawn_batch(pool, &spare, 1));
    FORKED(wsq_spawn_on(pool, 0, spare));
    FORKED(wsq_go(pool, say_nothing, NULL));
    FORKED(wsq_submit(pool, echo, NULL, &future));
    FORKED(wsq_run(pool, run_nothing, NULL));
    FORKED(wsq_group_spawn(&all->group, spare));
    FORKED(wsq_group_then(&all->group, spare));
    FORKED(wsq_group_wait(&all->group));
    FORKED(wsq_group_wait_for(&all->group, 1000));
    FORKED(wsq_task_wait(&all->pending.task));
    FORKED(wsq_task_wait_for(&all->pending.task, 1000));
    FORKED(wsq_future_then(all->future, spare));
    FORKED(wsq_future_get_for(all->future, 0, NULL));
    FORKED(wsq_future_get(all->future, NULL));
    HOLDS(!wsq_future_cancel(all->future));
    wsq_future_drop(all->future);
    wsq_future_drop(all->done);
    FORKED(wsq_timer_set(pool, &all->pending.timer, spare, 1));
    HOLDS(!wsq_timer_cancel(&all->spare.timer)); /* the parent's, still */
    wsq_group_cancel(&all->group);
    HOLDS(wsq_group_cancelled(&all->group));
    const wsqi_lane *lane = wsqi_lane_own(pool);
    const void *newest = wsqi_load_hint(&lane->incoming);
    uint64_t queued = wsqi_load_hint(&lane->length);
    for (int i = 0; i < 8; i++) wsq_wake(&all->tasks[i].task);
    wsq_wake(&all->pending.task);
    HOLDS(wsqi_load_hint(&lane->incoming) == newest && wsqi_load_hint(&lane->length) == queued);
    HOLDS(wsq_task_cancel(&all->pending.task));
    HOLDS(wsq_worker_self() == -1);
    HOLDS(wsq_pool_workers(pool) >= 1 && wsq_pool_slots(pool) > 1 && wsq_pool_pending(pool) >= 1);
    wsq_pool_stats(pool, &stats);
    HOLDS(stats.spawned >= 9);
    wsq_pool_set_spin(pool, WSQ_SPIN_OFF);
    FORKED(wsq_pool_wait(pool));
    FORKED(wsq_pool_wait_for(pool, 1000));
    FORKED(wsq_pool_shutdown(pool, WSQ_CANCEL));
    FORKED(wsq_pool_shutdown(pool, WSQ_DRAIN));
    char text[80] = "";
    FILE *file = tmpfile();
    if (file != NULL) {
        wsq_pool_dump(pool, file);
        rewind(file);
        HOLDS(fgets(text, sizeof text, file) != NULL && strstr(text, "parent") != NULL);
        HOLDS(fgets(text, sizeof text, file) == NULL); /* nor anything else */
        fclose(file);
    }
}

#ifdef TEST_COVERAGE
#define LEAVE exit /* which writes the counters */
#else
#define LEAVE _exit
#endif

/* Its exit status. */
static int child_main(heirloom *all) {
    atomic_store(&test_failures, 0);
    alarm(TEST_WATCHDOG_SECONDS);
    call_all(all);
    wsq_pool_destroy(all->pool);
#if TEST_SLOWDOWN != 10 /* the thread sanitizer cannot start threads here */
    wsq_pool *pool = pool_new((wsq_config){.workers = 2});
    CHECK_EQ(wsq_timer_set(pool, &all->spare.timer, &all->spare.task, 3600000000000u), WSQ_OK);
    CHECK(wsq_timer_cancel(&all->spare.timer));
    mix_round(pool, &tiny_load, test_seed, 2);
    wsq_pool_destroy(pool);
#endif
    return taken != 0 ? 2 : atomic_load(&test_failures) != 0;
}

/* Of another thread, as any may be at that moment, the child knows nothing. */
static pid_t fork_beside_locks(wsq_pool *pool, const wsq_timer *timer) {
    wsqi_a32 *locks[WSQI_BUCKETS + 2];
    int count = 0;
    locks[count++] = &pool->lock;
    if (timer != NULL) locks[count++] = &wsqi_timers_of(timer->timers.v)->lock;
    for (int i = 0; i < WSQI_BUCKETS; i++) locks[count++] = &pool->buckets[i].lock;
    for (int i = 0; i < count; i++) wsqi_lock(pool, locks[i]);
    wsqi_add_sc(&pool->duty.abroad, 1u); /* or it is in the middle of queueing a task */
    pid_t child = fork();
    if (child != 0) wsqi_add_sc(&pool->duty.abroad, 0u - 1u);
    for (int i = 0; i < count && child != 0; i++) wsqi_unlock(pool, locks[i]);
    return child;
}

static void forks(void) {
    size_t children = test_times(50);
    for (size_t i = 0; i < children; i++) {
        static heirloom all;
        int status = -1;
        all.pool = pool_new((wsq_config){.workers = 1 + (unsigned)(i % 4)});
        bool knows = all.pool->phase != &all.pool->own_phase; /* else the kernel is too old */
        CHECK_EQ(wsq_group_init(&all.group, all.pool), WSQ_OK);
        wsq_task_init(&all.spare.task, busy_run);
        for (int k = 0; k < 8; k++) {
            wsq_task_init(&all.tasks[k].task, busy_run);
            all.tasks[k].left = 100 * (unsigned)(i % 3);
            CHECK_EQ(wsq_group_spawn(&all.group, &all.tasks[k].task), WSQ_OK);
        }
        all.pending.left = 1;
        wsq_task_init(&all.pending.task, pend_once);
        CHECK_EQ(wsq_spawn(all.pool, &all.pending.task), WSQ_OK);
        CHECK_EQ(wsq_timer_set(all.pool, &all.spare.timer, &all.spare.task, 3600000000000u), WSQ_OK);
        CHECK_EQ(wsq_submit(all.pool, echo, &status, &all.future), WSQ_OK);
        CHECK_EQ(wsq_submit(all.pool, echo, &status, &all.done), WSQ_OK);
        while (!wsq_future_done(all.done)) wsqi_pause();
        pid_t child = knows ? fork_beside_locks(all.pool, &all.spare.timer) : -1;
        if (child == 0) LEAVE(child_main(&all));
        if (knows) CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
        CHECK(wsq_timer_cancel(&all.spare.timer));
        CHECK_EQ(wsq_group_wait(&all.group), WSQ_OK);
        CHECK_EQ(wsq_future_get(all.future, NULL), WSQ_OK);
        wsq_future_drop(all.done);
        wsq_wake(&all.pending.task);
        wsq_pool_destroy(all.pool);
        CHECK(wsq_task_done(&all.pending.task));
    }
    CHECK_EQ(atomic_load(&memory_live), 0);
    printf("  children: %zu\n", children);
}

static int child_cancels(wsq_pool *pool, wsq_pool *lent, wsq_future *future) {
    alarm(10);
    HOLDS(!wsq_future_cancel(future));
    wsq_future_drop(future);
    HOLDS(!wsq_pool_run_one(pool));
    FORKED(wsq_worker_enter(lent));
    wsqi_store_rlx(&wsqi_block(lent, 0)->lease, WSQI_LEASE_HERE); /* as if the parent had lent a thread */
    wsq_worker_dismiss(lent, 0);
    HOLDS(!wsqi_dismissed(wsqi_block(lent, 0)));
    wsq_pool_destroy(pool);
    wsq_pool_destroy(lent);
    return taken != 0 ? 2 : 0;
}

/* A thread of the parent waits for the future that the child cancels. Pools whose threads are lent, or which
 * have none. */
static void forks_beside_waits(void) {
    wsq_pool *pool = pool_new((wsq_config){.caller_runs = true});
    wsq_pool *lent = pool_new((wsq_config){.lend_only = true, .workers = 1});
    bool knows = pool->phase != &pool->own_phase;
    wsq_future *future = NULL;
    int status = -1;
    CHECK_EQ(wsq_submit(pool, echo, NULL, &future), WSQ_OK);
    CHECK_EQ(wsq_future_get_for(future, 0, NULL), WSQ_ERR_TIMEOUT);
    pid_t child = knows ? fork_beside_locks(pool, NULL) : -1;
    if (child == 0) LEAVE(child_cancels(pool, lent, future));
    if (knows) CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    CHECK_EQ(wsq_future_get(future, NULL), WSQ_OK);
    wsq_pool_destroy(pool);
    wsq_pool_destroy(lent);
    CHECK_EQ(atomic_load(&memory_live), 0);
}

typedef struct forking_task {
    wsq_task task, next; /* the next one is the parent's to run, and not the child's to cancel */
    bool knows;
    int status;
} forking_task;

static pid_t parent;
static wsq_pool *parents;

static wsq_poll run_in_parent(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    CHECK(getpid() == parent);
    return WSQ_DONE;
}

static wsq_poll clean_in_parent(wsq_task *task) {
    (void)task;
    FAIL("a cleanup");
    return WSQ_DONE;
}

/* It is still in a task of the parent's pool, and waits in one of its own. */
static int child_waits(wsq_ctx ctx) {
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM); /* a worker's thread has blocked it */
    sigprocmask(SIG_UNBLOCK, &alarms, NULL);
    atomic_store(&test_failures, 0);
    alarm(10);
    CHECK(wsq_pool_of(ctx) == parents && wsq_worker_index(ctx) == 0 && wsq_worker_self() == 0);
#if TEST_SLOWDOWN != 10
    busy_task own = {.left = 1};
    wsq_pool *pool = pool_new((wsq_config){.workers = 1});
    wsq_task_init(&own.task, pend_once);
    CHECK_EQ(wsq_spawn(pool, &own.task), WSQ_OK);
    CHECK_EQ(wsq_task_wait_for(&own.task, 1000000), WSQ_ERR_TIMEOUT);
    do { /* a wake before its first run would be none */
        wsq_wake(&own.task);
    } while (wsq_task_wait_for(&own.task, 1000000) == WSQ_ERR_TIMEOUT);
    CHECK_EQ(wsq_task_wait(&own.task), WSQ_OK);
    wsq_pool_destroy(pool);
#endif
    uint64_t permits = wsqi_load_hint(&parents->permits);
    wsq_block_begin(ctx); /* no other thread takes the worker's place */
    CHECK(wsqi_load_hint(&parents->permits) == permits);
    wsq_block_end(ctx);
    return atomic_load(&test_failures) != 0;
}

static wsq_poll forks_inside(wsq_ctx ctx, wsq_task *task) {
    forking_task *self = wsq_container_of(task, forking_task, task);
    wsq_pool *pool = wsq_pool_of(ctx);
    CHECK_EQ(wsq_spawn(pool, &self->next), WSQ_OK);
    pid_t child = self->knows ? fork_beside_locks(pool, NULL) : -1;
    if (child == 0) LEAVE(child_waits(ctx));
    if (child > 0) CHECK(waitpid(child, &self->status, 0) == child);
    return WSQ_DONE;
}

static void forks_in_a_task(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 1});
    forking_task it = {.knows = pool->phase != &pool->own_phase};
    parent = getpid();
    parents = pool;
    wsq_task_init(&it.task, forks_inside);
    wsq_task_init(&it.next, run_in_parent);
    wsq_task_set_cleanup(&it.next, clean_in_parent);
    CHECK_EQ(wsq_spawn(pool, &it.task), WSQ_OK);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    CHECK_EQ(it.status, 0);
    wsq_pool_destroy(pool);
    CHECK_EQ(atomic_load(&memory_live), 0);
}

/* ---- a fork in the middle of a task, in a pool that is itself inside a run of another pool ---- */

static wsq_pool *around;
static int inner_status;

/* The child frees both pools, in this order or the other, and uses a new one. */
static int child_in_task(wsq_pool *pool, bool outer_first) {
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM); /* a worker's thread has blocked it */
    sigprocmask(SIG_UNBLOCK, &alarms, NULL);
    alarm(TEST_WATCHDOG_SECONDS);
    atomic_store(&test_failures, 0);
    wsq_pool_destroy(outer_first ? around : pool);
    HOLDS(wsq_worker_self() >= 0); /* it is inside the other one, still */
    wsq_pool_destroy(outer_first ? pool : around);
    HOLDS(wsq_worker_self() == -1);
#if TEST_SLOWDOWN != 10
    wsq_pool *fresh = pool_new((wsq_config){.workers = 2});
    mix_round(fresh, &tiny_load, test_seed, 1);
    wsq_pool_destroy(fresh);
#endif
    return taken != 0 ? 2 : atomic_load(&test_failures) != 0;
}

static void forks_in_run(wsq_ctx ctx, void *arg) {
    wsq_pool *pool = wsq_pool_of(ctx);
    pid_t child = fork();
    if (child == 0) LEAVE(child_in_task(pool, *(bool *)arg));
    if (waitpid(child, &inner_status, 0) != child) inner_status = -1;
}

typedef struct forker {
    wsq_task task;
    wsq_pool *inner;
    bool outer_first;
} forker;

static wsq_poll forker_run(wsq_ctx ctx, wsq_task *task) {
    forker *self = wsq_container_of(task, forker, task);
    (void)ctx;
    CHECK_EQ(wsq_run(self->inner, forks_in_run, &self->outer_first), WSQ_OK);
    return WSQ_DONE;
}

static void forks_in_two_pools(void) {
    for (int k = 0; k < 4; k++) {
        forker one = {.outer_first = k % 2 != 0};
        around = pool_new((wsq_config){.workers = 1, .caller_runs = k / 2 != 0});
        one.inner = pool_new((wsq_config){.workers = 1});
        inner_status = 0;
        wsq_task_init(&one.task, forker_run);
        if (around->phase != &around->own_phase) {
            CHECK_EQ(wsq_spawn(around, &one.task), WSQ_OK);
            CHECK_EQ(wsq_task_wait(&one.task), WSQ_OK);
        }
        CHECK_EQ(inner_status, 0);
        wsq_pool_destroy(one.inner);
        wsq_pool_destroy(around);
    }
}

/* A child that goes on with its context shares the driver's descriptors with the parent, so it must not interrupt. */
static int bell[2], interrupts;
static wsq_pool *driven;

static bool bell_wait(uint64_t timeout_ns, void *user) {
    struct pollfd one = {.fd = bell[0], .events = POLLIN};
    char rung;
    (void)user;
    if (poll(&one, 1, timeout_ns == WSQ_FOREVER ? -1 : (int)(timeout_ns / 1000000)) > 0)
        CHECK_EQ(read(bell[0], &rung, 1), 1);
    return false;
}

static void bell_dispatch(wsq_pool *pool, void *user) { (void)pool, (void)user; }

static void bell_ring(void *user) {
    (void)user;
    interrupts++;
    CHECK_EQ(write(bell[1], "", 1), 1);
}

static void loop_nothing(wsq_ctx ctx, size_t first, size_t end, void *arg) { (void)ctx, (void)first, (void)end, (void)arg; }

static bool worker_polls(unsigned index) {
    return wsqi_load_acq(&wsqi_block(driven, index)->parker.token) == WSQI_TOKEN_POLLING;
}

static wsq_poll forks_beside_driver(wsq_ctx ctx, wsq_task *task) {
    (void)task; /* the thread that waits for it may run it: which worker polls is not known */
    while (!worker_polls(0) && !worker_polls(1)) test_nap(100000);
    pid_t child = fork();
    if (child == 0) {
        interrupts = 0;
        wsq_for(ctx, 0, 1000, 1, loop_nothing, NULL);
        LEAVE(interrupts != 0);
    }
    if (waitpid(child, &inner_status, 0) != child) inner_status = -1;
    return WSQ_DONE;
}

static void no_interrupt_in_a_child(void) {
    static const wsq_driver driver = {bell_wait, bell_dispatch, bell_ring, NULL};
    wsq_task task;
    CHECK_EQ(pipe(bell), 0);
    driven = pool_new((wsq_config){.workers = 2, .driver = &driver});
    wsq_task_init(&task, forks_beside_driver);
    inner_status = 0;
    if (driven->phase != &driven->own_phase) {
        CHECK_EQ(wsq_spawn(driven, &task), WSQ_OK);
        CHECK_EQ(wsq_task_wait(&task), WSQ_OK);
    }
    CHECK_EQ(inner_status, 0);
    wsq_pool_destroy(driven);
    close(bell[0]);
    close(bell[1]);
}
#endif

int main(void) {
    test_begin("test_fork");
#ifdef FORKS_HERE
    RUN(forks);
    RUN(forks_beside_waits);
    RUN(forks_in_a_task);
    RUN(forks_in_two_pools);
    RUN(no_interrupt_in_a_child);
#endif
    return test_end();
}
