/* A wait that runs what it waits for must not keep other tasks waiting; a future that is called in a wait counts until
 * its function has returned; a full job stack gives jobs away. In virtual time. */
#include "exact.h"

static wsq_group group;
static wsq_task two[2];
static item *stops;
static unsigned runs;

/* ---- tasks of the awaited group that come back to the slot, or are spawned again and again ---- */

static wsq_poll wakes_other_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    runs++;
    wsq_wake(&two[task == two]);
    return stops->ended != 0 ? WSQ_DONE : WSQ_PENDING;
}

static wsq_poll spawns_other_run(wsq_ctx ctx, wsq_task *task) {
    wsq_task *other = &two[task == two];
    (void)ctx;
    runs++;
    if (stops->ended != 0) return WSQ_DONE;
    wsq_task_init(other, spawns_other_run);
    CHECK_EQ(wsq_group_spawn(&group, other), WSQ_OK);
    return WSQ_GONE;
}

static wsq_poll waits_for_group_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    CHECK_EQ(wsq_group_spawn(&group, &two[0]), WSQ_OK);
    if (two[1].fn == wakes_other_run) CHECK_EQ(wsq_group_spawn(&group, &two[1]), WSQ_OK);
    item_spawn(wsq_pool_of(ctx), stops);
    CHECK_EQ(wsq_group_wait(&group), WSQ_OK);
    return WSQ_DONE;
}

/* How often the two ran until another task could stop them. */
static unsigned runs_beside(wsq_config config, wsq_task_fn fn) {
    wsq_pool *pool = pool_make(&config);
    item *waits = item_make(0);
    waits->task.fn = waits_for_group_run;
    stops = item_make(0);
    runs = 0;
    CHECK_EQ(wsq_group_init(&group, pool), WSQ_OK);
    for (int i = 0; i < 2; i++) wsq_task_init(&two[i], fn);
    item_spawn(pool, waits);
    CHECK_EQ(wsq_pool_wait_for(pool, SECOND), WSQ_OK);
    wsq_pool_destroy(pool);
    return runs;
}

static void two_that_wake_each_other(void) {
    CHECK(runs_beside((wsq_config){.workers = 1}, wakes_other_run) < 600);
    CHECK(runs_beside((wsq_config){.workers = 1, .max_standins = WSQ_STANDINS_OFF}, wakes_other_run) < 600);
}

static void two_that_spawn_each_other(void) {
    CHECK(runs_beside((wsq_config){.workers = 1}, spawns_other_run) < 600);
    CHECK(runs_beside((wsq_config){.workers = 1, .order = WSQ_LIFO}, spawns_other_run) < 600);
}

/* Of a long deque only some tasks run in the wait, before a timer that is due and what it wakes. */
enum { MANY = 5000 };
static item *late;

static wsq_poll waits_for_many_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    for (int i = 0; i < MANY; i++) CHECK_EQ(wsq_group_spawn(&group, &item_make(10 * US)->task), WSQ_OK);
    item_set_timer(wsq_pool_of(ctx), late, 100 * US);
    CHECK_EQ(wsq_group_wait(&group), WSQ_OK);
    return WSQ_DONE;
}

static void timer_beside_many(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1, .order = WSQ_LIFO});
    item *waits = item_make(0);
    waits->task.fn = waits_for_many_run;
    late = item_make(0);
    late->pends = true;
    CHECK_EQ(wsq_group_init(&group, pool), WSQ_OK);
    item_spawn(pool, late);
    nap(MS);
    item_spawn(pool, waits);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    CHECK(late->began < late->spawned + 5 * MS);
    wsq_pool_destroy(pool);
}

/* ---- one wait after the other ---- */

static void *returns_soon(void *arg) { return arg; }

static wsq_poll waits_often_run(wsq_ctx ctx, wsq_task *task) {
    wsq_pool *pool = wsq_pool_of(ctx);
    (void)task;
    for (int i = 0; i < 1000; i++) {
        wsq_future *future;
        CHECK_EQ(wsq_group_spawn(&group, &item_make(0)->task), WSQ_OK);
        CHECK_EQ(wsq_group_wait(&group), WSQ_OK);
        CHECK_EQ(wsq_submit(pool, returns_soon, NULL, &future), WSQ_OK);
        CHECK_EQ(wsq_future_get(future, NULL), WSQ_OK);
    }
    return WSQ_DONE;
}

/* Each runs what it awaits, so that no stand-in comes; the stack has room for 16 of them at a time. */
static void one_wait_after_the_other(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1, .stack_size = 16 * WSQI_WAIT_BYTES});
    item *waits = item_make(0);
    waits->task.fn = waits_often_run;
    CHECK_EQ(wsq_group_init(&group, pool), WSQ_OK);
    item_spawn(pool, waits);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    CHECK_EQ(wsqi_threads_started(pool), 1);
    wsq_pool_destroy(pool);
}

/* ---- a future that a job calls in its wait ---- */

static bool begun, returned;

static void *returns_late(void *arg) {
    begun = true;
    nap(MS);
    returned = true;
    return arg;
}

static void futures_job(wsq_ctx ctx, wsq_job *job) {
    wsq_pool *pool = wsq_pool_of(ctx);
    wsq_future *late_one, *soon[2];
    (void)job;
    CHECK_EQ(wsq_submit(pool, returns_late, NULL, &late_one), WSQ_OK);
    for (int i = 0; i < 2; i++) CHECK_EQ(wsq_submit(pool, returns_soon, NULL, &soon[i]), WSQ_OK);
    CHECK_EQ(wsq_future_get(late_one, NULL), WSQ_OK);
    for (int i = 0; i < 2; i++) CHECK_EQ(wsq_future_get(soon[i], NULL), WSQ_OK);
}

static void forks_futures(wsq_ctx ctx, void *arg) {
    wsq_job job;
    (void)arg;
    wsq_fork(&ctx, &job, futures_job);
    compute(100 * US);
    wsq_join(&ctx, &job);
}

static void runs_futures(void *pool) { CHECK_EQ(wsq_run((wsq_pool *)pool, forks_futures, NULL), WSQ_OK); }

/* No task is under way, only a job of a thread outside; and another worker takes the future's entry out of its queue. */
static void pool_waits_for_future(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 3});
    begun = returned = false;
    sim_core *runner = outside(runs_futures, pool);
    while (!begun) nap(US);
    nap(100 * US);
    CHECK(!returned);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    CHECK(returned);
    sim_join(runner);
    wsq_pool_destroy(pool);
}

/* ---- a full job stack ---- */

enum { ROOM = WSQ_BLOCK_SIZE / sizeof(struct wsqi_entry), FORKS = ROOM + 1000 };
static wsq_job *forked;
static uint64_t joins_began;
static unsigned given;

static void short_job(wsq_ctx ctx, wsq_job *job) {
    (void)job;
    if (joins_began != 0) return;
    given += wsq_worker_index(ctx) == 1;
    compute(10 * US);
}

static wsq_poll forks_many_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    for (unsigned i = 0; i < FORKS; i++) wsq_fork(&ctx, &forked[i], short_job);
    joins_began = now();
    for (unsigned i = FORKS; i-- > 0;) wsq_join(&ctx, &forked[i]);
    return WSQ_DONE;
}

/* Each further fork runs its job; a worker that comes then gets some of those that lie there. */
static void full_stack_gives_jobs(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2, .max_standins = WSQ_STANDINS_OFF});
    item *forks = item_make(0), *busy = item_make(2 * MS);
    forked = calloc(FORKS, sizeof *forked);
    joins_began = given = 0;
    forks->task.fn = forks_many_run;
    item_spawn_on(pool, 1, busy);
    nap(100 * US);
    item_spawn_on(pool, 0, forks);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    CHECK(joins_began > busy->ended + MS);
    CHECK(given > (joins_began - busy->ended) / (20 * US)); /* it works half of this time, or more */
    wsq_pool_destroy(pool);
    free(forked);
}

int main(void) {
    test_begin("exact_here");
    IN_WORLD(two_that_wake_each_other);
    IN_WORLD(two_that_spawn_each_other);
    IN_WORLD(timer_beside_many);
    IN_WORLD(one_wait_after_the_other);
    IN_WORLD(pool_waits_for_future);
    IN_WORLD(full_stack_gives_jobs);
    return test_end();
}
