/* What a worker that steals one short job after the other still does: its wait ends, it leaves, it takes its turns.
 * The same of workers in trees of tasks that wait for tasks. Waits deeper than their bound; what a worker finds in a
 * deep deque; what counts as pending. In virtual time. */
#define WSQI_MANY_THREADS 0u /* threads that block set bits in `empty` */
#include "exact.h"

/* ---- a task that forks short jobs, until a time or until another one says so ---- */

enum { FEW_JOBS = 64 };

static uint64_t forks_until;
static bool said, trees; /* small trees of jobs, or many in a row */
static unsigned forker;

static void job_run(wsq_ctx ctx, wsq_job *job) { (void)ctx, (void)job, compute(10 * US); }

typedef struct branch {
    wsq_job job;
    int height;
} branch;

static void tree(wsq_ctx ctx, int height);
static void branch_run(wsq_ctx ctx, wsq_job *job) { tree(ctx, wsq_container_of(job, branch, job)->height); }

static void tree(wsq_ctx ctx, int height) {
    branch left = {.height = height - 1};
    if (height == 0) compute(10 * US);
    if (height == 0) return;
    wsq_fork(&ctx, &left.job, branch_run);
    tree(ctx, height - 1);
    wsq_join(&ctx, &left.job);
}

static wsq_poll forks_run(wsq_ctx ctx, wsq_task *task) {
    wsq_job jobs[FEW_JOBS];
    (void)task;
    forker = wsq_worker_index(ctx);
    while (now() < forks_until && !said) {
        if (trees) tree(ctx, 3);
        if (trees) continue;
        for (int i = 0; i < FEW_JOBS; i++) wsq_fork(&ctx, &jobs[i], job_run);
        for (int i = FEW_JOBS; i-- > 0;) wsq_join(&ctx, &jobs[i]);
    }
    return WSQ_DONE;
}

static item *forks_make(uint64_t ns) {
    item *self = item_make(0);
    self->task.fn = forks_run;
    forks_until = now() + ns;
    said = false;
    return self;
}

static item *awaited;
static uint64_t wait_ns, wait_began, wait_ended;

static wsq_poll waits_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    wait_began = now();
    (void)wsq_task_wait_for(&awaited->task, wait_ns);
    wait_ended = now();
    said = true;
    return WSQ_DONE;
}

/* The wait of worker 1, which steals jobs in it. Worker 2 runs the awaited task; 0: the wait has that time-out. */
static void wait_beside_jobs(wsq_config config, unsigned lent, uint64_t timeout_ns) {
    wsq_pool *pool = pool_make(&config);
    item *waits = item_make(0), *forks;
    for (unsigned i = 0; i < lent; i++) outside(lend, pool);
    nap(MS);
    awaited = item_make(US);
    awaited->pends = true;
    wait_ns = timeout_ns;
    waits->task.fn = waits_run;
    item_spawn_on(pool, 2, awaited);
    nap(MS);
    forks = forks_make(SECOND);
    item_spawn_on(pool, 0, forks);
    nap(MS);
    item_spawn_on(pool, 1, waits);
    nap(3 * MS);
    if (timeout_ns == WSQ_FOREVER) item_wake(awaited);
    CHECK_EQ(wsq_task_wait_for(&forks->task, 2 * SECOND), WSQ_OK);
    uint64_t due = timeout_ns == WSQ_FOREVER ? awaited->ended : wait_began + timeout_ns;
    CHECK(wait_ended < due + 100 * US);
    if (timeout_ns != WSQ_FOREVER) item_wake(awaited);
    wsq_pool_destroy(pool);
    sim.threads = 0;
}

static void waits_beside_jobs(void) {
    for (int timed = 0; timed < 2; timed++) {
        uint64_t timeout_ns = timed ? 3 * MS : WSQ_FOREVER;
        wait_beside_jobs((wsq_config){.workers = 3, .max_standins = WSQ_STANDINS_OFF}, 0, timeout_ns);
        wait_beside_jobs((wsq_config){.workers = 3, .lend_only = true}, 3, timeout_ns);
        wait_beside_jobs((wsq_config){.workers = 3}, 0, timeout_ns);
    }
}

static uint64_t left_at;

static void lend_and_note(void *arg) {
    wsq_worker_enter((wsq_pool *)arg);
    if (left_at == 0) left_at = now();
}

static void dismissed_beside_jobs(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2, .lend_only = true});
    item *forks = forks_make(50 * MS);
    trees = true;
    for (int i = 0; i < 2; i++) outside(lend_and_note, pool);
    nap(MS);
    item_spawn(pool, forks);
    nap(5 * MS);
    uint64_t asked = now();
    wsq_worker_dismiss(pool, 1 - forker);
    CHECK_EQ(wsq_task_wait(&forks->task), WSQ_OK);
    CHECK(left_at != 0 && left_at < asked + 100 * US);
    wsq_pool_destroy(pool);
    trees = false;
}

/* A task in the ring of a worker that is in a long one, and a WSQ_LOW task; the third worker has jobs all the time. */
static item *queued;

static wsq_poll spawns_and_goes_on_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    compute(5 * MS);
    item_spawn(wsq_pool_of(ctx), queued);
    compute(100 * MS);
    return WSQ_DONE;
}

static void turns_beside_jobs(void) {
    for (int low = 0; low < 2; low++) {
        wsq_pool *pool = pool_make(&(wsq_config){.workers = 3});
        item *forks = forks_make(150 * MS), *spawns = item_make(0);
        queued = item_make(US);
        if (low) wsq_task_set_priority(&queued->task, WSQ_LOW);
        spawns->task.fn = spawns_and_goes_on_run;
        item_spawn(pool, forks);
        nap(3 * MS);
        item_spawn(pool, spawns);
        wsq_pool_wait(pool);
        CHECK(queued->began - queued->spawned < 20 * MS);
        wsq_pool_destroy(pool);
        sim.threads = 0;
    }
}

/* A worker that has run a stolen job looks for the next one; it does not sleep first. */
static void next_job_soon(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2});
    item *forks = forks_make(50 * MS);
    item_spawn(pool, forks);
    CHECK_EQ(wsq_task_wait(&forks->task), WSQ_OK);
    wsq_stats stats;
    wsq_pool_stats(pool, &stats);
    CHECK(stats.jobs_stolen > 1000 && stats.parks < 100);
    wsq_pool_destroy(pool);
}

/* ---- a driver's events, too ---- */

static void events_beside_jobs(void) {
    wsq_pool *pool = post_pool((wsq_config){.workers = 2});
    item *forks = forks_make(50 * MS);
    item_spawn(pool, forks);
    nap(5 * MS);
    item *one = item_make(0);
    uint64_t came = now();
    post_event(one);
    CHECK_EQ(wsq_task_wait(&forks->task), WSQ_OK);
    CHECK(one->began != 0 && one->began - came < 2 * MS);
    wsq_pool_destroy(pool);
}

/* ---- waits deeper than their bound of 64 ---- */

static unsigned depth[2], deepest; /* of each thread */
static int child_kind;

static wsq_poll waits_for_child_run(wsq_ctx ctx, wsq_task *task) {
    wsq_pool *pool = wsq_pool_of(ctx);
    item *child = item_make(US);
    unsigned self = wsq_worker_index(ctx);
    (void)task;
    if (++depth[self] > deepest) deepest = depth[self];
    if (child_kind == 1) wsq_task_set_priority(&child->task, WSQ_LOW);
    item_spawn(pool, child);
    CHECK_EQ(wsq_task_wait(&child->task), WSQ_OK);
    depth[self]--;
    return WSQ_DONE;
}

static void deep(wsq_config config, unsigned lent, unsigned count) {
    wsq_pool *pool = pool_make(&config);
    for (unsigned i = 0; i < lent; i++) outside(lend, pool);
    nap(MS);
    deepest = 0;
    for (unsigned i = 0; i < count; i++) {
        item *waits = item_make(0);
        waits->task.fn = waits_for_child_run;
        item_spawn(pool, waits);
    }
    CHECK_EQ(wsq_pool_wait_for(pool, 10 * SECOND), WSQ_OK);
    wsq_pool_destroy(pool);
    sim.threads = 0;
}

/* Each task waits only for its own child, which comes after all other tasks. */
static void deeper_waits_go_on(void) {
    for (child_kind = 0; child_kind < 2; child_kind++) {
        deep((wsq_config){.workers = 1, .max_standins = WSQ_STANDINS_OFF}, 0, 200);
        if (child_kind == 1) CHECK_EQ(deepest, 200);
        deep((wsq_config){.workers = 2, .lend_only = true}, 2, 300);
        if (child_kind == 1) CHECK(deepest > 100);
        deep((wsq_config){.workers = 1, .max_standins = 1}, 0, 120); /* first both threads, as deep as they may */
        CHECK(deepest <= 1 + 64);
    }
}

/* Each spawns the next one, and asks for its end with short time-outs. */
static unsigned links;

static wsq_poll polls_next_run(wsq_ctx ctx, wsq_task *task) {
    item *next = item_make(0);
    (void)task;
    if (++links >= 100) return WSQ_DONE;
    next->task.fn = polls_next_run;
    item_spawn(wsq_pool_of(ctx), next);
    while (wsq_task_wait_for(&next->task, 50 * US) == WSQ_ERR_TIMEOUT) {}
    return WSQ_DONE;
}

static void deep_waits_with_time_outs(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1, .max_standins = WSQ_STANDINS_OFF});
    item *polls = item_make(0);
    polls->task.fn = polls_next_run;
    links = 0;
    item_spawn(pool, polls);
    CHECK_EQ(wsq_pool_wait_for(pool, SECOND), WSQ_OK);
    CHECK_EQ(links, 100);
    wsq_pool_destroy(pool);
}

/* ---- an awaited task under others in a deque ---- */

static wsq_pool *newest_first;
static unsigned ran_on;

static wsq_poll notes_worker_run(wsq_ctx ctx, wsq_task *task) {
    item *self = item_of(task);
    ran_on = wsq_worker_index(ctx);
    self->ended = now();
    return WSQ_DONE;
}

static wsq_poll waits_for_older_run(wsq_ctx ctx, wsq_task *task) {
    item *older = item_make(0), *newer = item_make(US), *woken = item_make(0);
    (void)task;
    older->task.fn = notes_worker_run;
    woken->pends = true;
    item_spawn(newest_first, older);
    item_spawn(newest_first, newer);
    CHECK_EQ(wsq_task_wait(&older->task), WSQ_OK);
    CHECK_EQ(ran_on, wsq_worker_index(ctx));
    CHECK_EQ(newer->ended, 0); /* it stays where it was */
    return WSQ_DONE;
}

static void older_in_the_deque(void) {
    newest_first = pool_make(&(wsq_config){.workers = 1, .order = WSQ_LIFO, .max_standins = WSQ_STANDINS_OFF});
    item *waits = item_make(0);
    waits->task.fn = waits_for_older_run;
    item_spawn(newest_first, waits);
    CHECK_EQ(wsq_pool_wait_for(newest_first, SECOND), WSQ_OK);
    wsq_pool_destroy(newest_first);
}

/* ---- a future that was got is no task any more, although its entry is still queued ---- */

static void *returns_arg(void *arg) { return arg; }

static void gets_futures(wsq_ctx ctx) {
    wsq_future *futures[5];
    wsq_pool *pool = wsq_pool_of(ctx);
    uint64_t before = wsq_pool_pending(pool);
    for (int i = 0; i < 5; i++) CHECK_EQ(wsq_submit(pool, returns_arg, ctx, &futures[i]), WSQ_OK);
    CHECK_EQ(wsq_pool_pending(pool), before + 5);
    for (int i = 5; i-- > 0;) {
        void *result = NULL;
        CHECK(wsq_future_get(futures[i], &result) == WSQ_OK && result == ctx);
    }
    CHECK_EQ(wsq_pool_pending(pool), before);
    wsq_stats stats;
    wsq_pool_stats(pool, &stats);
    CHECK_EQ(stats.spawned - stats.finished, before);
}

static wsq_poll gets_futures_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    gets_futures(ctx);
    return WSQ_DONE;
}

/* In a job that goes on, and of which wsq_pool_wait knows nothing. */
static void gets_futures_in_job(wsq_ctx ctx, wsq_job *job) {
    (void)job;
    gets_futures(ctx);
    said = true;
    compute(50 * MS);
}

static void forks_one(wsq_ctx ctx, void *arg) {
    wsq_job job;
    (void)arg;
    wsq_fork(&ctx, &job, gets_futures_in_job);
    while (!said) block_for(ctx, US);
    wsq_join(&ctx, &job);
}

static void runs_one(void *arg) { CHECK_EQ(wsq_run((wsq_pool *)arg, forks_one, NULL), WSQ_OK); }

static void got_futures_are_over(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    item *gets = item_make(0);
    gets->task.fn = gets_futures_run;
    item_spawn(pool, gets);
    wsq_pool_wait(pool);
    said = false;
    sim_core *runs = outside(runs_one, pool);
    while (!said) nap(10 * US);
    CHECK_EQ(wsq_pool_wait_for(pool, MS), WSQ_OK);
    sim_join(runs);
    wsq_pool_destroy(pool);
}

/* A pool does not need more and more memory for futures that are cancelled, or called in a wait. */
static bool gets;

static wsq_poll cancels_or_gets_run(wsq_ctx ctx, wsq_task *task) {
    wsq_future *futures[20];
    (void)task;
    for (int i = 0; i < 20; i++) CHECK_EQ(wsq_submit(wsq_pool_of(ctx), returns_arg, ctx, &futures[i]), WSQ_OK);
    for (int i = 0; i < 20; i++) {
        if (!gets) CHECK(wsq_future_cancel(futures[i]));
        if (!gets) wsq_future_drop(futures[i]);
        else CHECK_EQ(wsq_future_get(futures[i], NULL), WSQ_OK);
    }
    return WSQ_DONE;
}

static unsigned future_chunks(const wsq_pool *pool) {
    unsigned count = 0;
    for (const wsqi_chunk *chunk = (const wsqi_chunk *)pool->depot.chunks; chunk != NULL; chunk = chunk->next) count++;
    return count;
}

static void rounds_of_futures(wsq_order order, bool inside) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1, .caller_runs = true, .order = order});
    item *one = item_make(0);
    unsigned first = 0;
    for (int round = 0; round < 300; round++) {
        wsq_future *future;
        wsq_task_init(&one->task, cancels_or_gets_run);
        if (inside) item_spawn(pool, one);
        for (int i = 0; i < 20 && !inside; i++) {
            CHECK_EQ(wsq_submit(pool, returns_arg, NULL, &future), WSQ_OK);
            CHECK(wsq_future_cancel(future));
            wsq_future_drop(future);
        }
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        if (round == 20) first = future_chunks(pool);
    }
    CHECK(future_chunks(pool) <= first + 2);
    wsq_pool_destroy(pool);
}

static void entries_do_not_pile_up(void) {
    for (int order = WSQ_FIFO; order <= WSQ_SHARED; order++) {
        for (int k = 0; k < 2; k++) gets = k != 0, rounds_of_futures((wsq_order)order, true);
        rounds_of_futures((wsq_order)order, false);
    }
}

/* ---- a cleanup on a thread that sweeps may not wait for the pool ---- */

static wsq_pool *swept;
static unsigned refused;

static wsq_poll waits_for_pool(wsq_task *task) {
    (void)task;
    refused += wsq_pool_wait(swept) == WSQ_ERR_INVALID;
    refused += wsq_pool_shutdown(swept, WSQ_CANCEL) == WSQ_ERR_INVALID;
    (wsq_pool_destroy)(swept); /* does nothing */
    return WSQ_DONE;
}

static void no_pool_waits_in_cleanup(void) {
    item *left = item_make(0);
    swept = pool_make(&(wsq_config){.workers = 1, .lend_only = true});
    wsq_task_set_cleanup(&left->task, waits_for_pool);
    item_spawn(swept, left);
    CHECK_EQ(wsq_pool_shutdown(swept, WSQ_CANCEL), WSQ_OK);
    CHECK_EQ(refused, 2);
    wsq_pool_destroy(swept);
}

/* ---- trees of tasks that wait for tasks: all workers are in waits for 0.4 s or more ---- */

typedef enum { BY_GROUP, BY_TASK, BY_FUTURE, WAYS } tree_way;

typedef struct waiting_node {
    wsq_task task;
    int height;
} waiting_node;

static tree_way way;
static wsq_pool *tree_pool;
static wsq_poll waiting_node_run(wsq_ctx ctx, wsq_task *task);

static void *waiting_tree(void *height_of_tree) {
    int height = (int)(intptr_t)height_of_tree;
    waiting_node nodes[2] = {{{.fn = waiting_node_run}, height - 1}, {{.fn = waiting_node_run}, height - 1}};
    wsq_future *futures[2];
    wsq_group group;
    compute(100 * US);
    if (height == 0) return NULL;
    if (way == BY_GROUP) wsq_group_init(&group, tree_pool);
    for (int i = 0; i < 2; i++) {
        if (way == BY_GROUP) wsq_group_spawn(&group, &nodes[i].task);
        if (way == BY_TASK) CHECK_EQ(wsq_spawn(tree_pool, &nodes[i].task), WSQ_OK);
        if (way == BY_FUTURE)
            CHECK_EQ(wsq_submit(tree_pool, waiting_tree, (void *)(intptr_t)(height - 1), &futures[i]), WSQ_OK);
    }
    if (way == BY_GROUP) CHECK_EQ(wsq_group_wait(&group), WSQ_OK);
    for (int i = 2; i-- > 0;) {
        if (way == BY_TASK) CHECK_EQ(wsq_task_wait(&nodes[i].task), WSQ_OK);
        if (way == BY_FUTURE) CHECK_EQ(wsq_future_get(futures[i], NULL), WSQ_OK);
    }
    return NULL;
}

static wsq_poll waiting_node_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    (void)waiting_tree((void *)(intptr_t)wsq_container_of(task, waiting_node, task)->height);
    if (tree_pool->workers > 1) CHECK(wsqi_local(tree_pool)->order != WSQ_SHARED);
    return WSQ_DONE;
}

/* A WSQ_HIGH task that a timer wakes, and then one that an event spawns, start soon all the same. */
static void watch_in_trees(void) {
    for (int i = 0; i < 2 * WAYS; i++) {
        wsq_pool *pool = tree_pool = post_pool((wsq_config){.workers = i % 2 != 0 ? 2 : 1});
        waiting_node root = {{.fn = waiting_node_run}, 12};
        item *late = item_make(US), *event = item_make(US);
        way = (tree_way)(i / 2);
        wsq_task_set_priority(&late->task, WSQ_HIGH);
        wsq_task_set_priority(&event->task, WSQ_HIGH);
        late->pends = true;
        item_spawn(pool, late);
        nap(MS);
        CHECK_EQ(wsq_spawn(pool, &root.task), WSQ_OK);
        nap(20 * MS); /* by now the workers know how long a task takes */
        item_set_timer(pool, late, 10 * MS);
        nap(20 * MS);
        post_event(event);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        CHECK(late->began < late->spawned + 12 * MS);
        CHECK(event->began < post.came + 2 * MS);
        wsq_pool_destroy(pool);
        sim.threads = 0;
    }
}

/* With one worker, what `dispatch` spawns in a wait comes after what the same thread has spawned before. */
static item *before;

static wsq_poll waits_then_blocks_run(wsq_ctx ctx, wsq_task *task) {
    wsq_group group;
    (void)task;
    CHECK_EQ(wsq_group_init(&group, wsq_pool_of(ctx)), WSQ_OK);
    item_spawn(wsq_pool_of(ctx), before);
    for (int i = 0; i < 200; i++) CHECK_EQ(wsq_group_spawn(&group, &item_make(10 * US)->task), WSQ_OK);
    CHECK_EQ(wsq_group_wait(&group), WSQ_OK);
    block_for(ctx, MS);
    return WSQ_DONE;
}

static void order_beside_events(void) {
    wsq_pool *pool = post_pool((wsq_config){.workers = 1});
    item *waits = item_make(0), *event = item_make(US);
    waits->task.fn = waits_then_blocks_run;
    before = item_make(US);
    item_spawn(pool, waits);
    nap(MS);
    post_event(event);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    CHECK(before->began < event->began);
    wsq_pool_destroy(pool);
}

/* With one worker, the tasks of timers start in the order of the times, whether these pass in a wait or not. */
static void order_of_timers(void) {
    enum { TIMED = 60 };
    wsq_pool *pool = tree_pool = pool_make(&(wsq_config){.workers = 1});
    waiting_node root = {{.fn = waiting_node_run}, 8};
    item *timed[TIMED];
    way = BY_FUTURE;
    for (int i = 0; i < TIMED; i++) {
        timed[i] = item_make(US);
        timed[i]->pends = true;
        item_spawn(pool, timed[i]);
    }
    nap(MS);
    for (int i = 0; i < TIMED; i++) item_set_timer(pool, timed[i], 40 * MS + (uint64_t)i * 300 * US); /* the tree takes 51 ms */
    CHECK_EQ(wsq_spawn(pool, &root.task), WSQ_OK);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    for (int i = 1; i < TIMED; i++) CHECK(timed[i - 1]->began < timed[i]->began);
    wsq_pool_destroy(pool);
}

/* Futures of a WSQ_LIFO pool that are got oldest first: the time of each does not grow with their number. */
enum { GOT = 8192 };

static wsq_poll gets_oldest_run(wsq_ctx ctx, wsq_task *task) {
    static wsq_future *futures[GOT];
    unsigned count = (unsigned)(item_of(task)->ns);
    for (unsigned i = 0; i < count; i++)
        CHECK_EQ(wsq_submit(wsq_pool_of(ctx), returns_arg, NULL, &futures[i]), WSQ_OK);
    for (unsigned i = 0; i < 2 * GOT; i++) { /* a full window; each step gets the oldest, and submits one */
        CHECK_EQ(wsq_future_get(futures[i % count], NULL), WSQ_OK);
        CHECK_EQ(wsq_submit(wsq_pool_of(ctx), returns_arg, NULL, &futures[i % count]), WSQ_OK);
    }
    for (unsigned i = 0; i < count; i++) CHECK_EQ(wsq_future_get(futures[i], NULL), WSQ_OK);
    return WSQ_DONE;
}

static uint64_t oldest_takes(unsigned count) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1, .order = WSQ_LIFO});
    item *one = item_make(count);
    one->task.fn = gets_oldest_run;
    uint64_t start = now();
    item_spawn(pool, one);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    start = now() - start;
    wsq_pool_destroy(pool);
    sim.threads = 0;
    return start;
}

static void oldest_of_many(void) {
    uint64_t few = oldest_takes(100), many = oldest_takes(GOT);
    CHECK(many < 2 * few);
}

/* ---- work that a thread queues or publishes before, while or after it blocks: a look must not pass it over ---- */

typedef enum moment { FORKS_BEFORE, FORKS_AGAIN, FORKS, SPAWNS, SPAWNS_AFTER, FORKS_AND_WAITS, FETCHES, MOMENTS } moment;

static moment in_moment;
static item *late_task;
static uint64_t late_job_began;

static void late_job_run(wsq_ctx ctx, wsq_job *job) {
    (void)ctx, (void)job;
    late_job_began = now();
    compute(US);
}

/* All other threads are in long tasks when the work comes. */
static wsq_poll blocks_and_goes_on(wsq_ctx ctx, wsq_task *task) {
    wsq_job job;
    bool forks = in_moment != SPAWNS && in_moment != SPAWNS_AFTER && in_moment != FETCHES;
    (void)task;
    if (in_moment == FORKS_AGAIN) { /* no look comes between this and the block: no trap is set */
        wsq_fork(&ctx, &job, late_job_run);
        wsq_join(&ctx, &job);
    }
    if (in_moment == FORKS_BEFORE) wsq_fork(&ctx, &job, late_job_run);
    if (in_moment != FORKS_AND_WAITS) wsq_block_begin(ctx);
    nap((in_moment == FETCHES ? 200 : 30) * US);
    if (in_moment == SPAWNS_AFTER || in_moment == FETCHES) wsq_block_end(ctx);
    if (in_moment == FETCHES) return WSQ_DONE; /* next it fetches a long task and others */
    if (!forks) item_spawn(wsq_pool_of(ctx), late_task);
    else if (in_moment != FORKS_BEFORE) wsq_fork(&ctx, &job, late_job_run);
    if (in_moment == FORKS_AND_WAITS) CHECK_EQ(wsq_task_wait_for(&late_task->task, 2 * MS), WSQ_ERR_TIMEOUT);
    else compute(2 * MS);
    if (in_moment < SPAWNS_AFTER) wsq_block_end(ctx);
    if (forks) wsq_join(&ctx, &job);
    return WSQ_DONE;
}

static void looks_beside_blocked(void) {
    for (in_moment = FORKS_BEFORE; in_moment < MOMENTS; in_moment++) {
        bool standin = in_moment < SPAWNS_AFTER; /* it gets the permit, so the thread that blocked has none */
        wsq_pool *pool = pool_make(&(wsq_config){.workers = 2, .max_standins = standin ? 1 : WSQ_STANDINS_OFF});
        item *blocks = item_make(0), *longs[2] = {item_make(300 * US), item_make(500 * US)};
        late_task = item_make(US);
        late_job_began = 0;
        blocks->task.fn = blocks_and_goes_on;
        nap(MS);
        uint64_t start = now();
        if (in_moment < FORKS) item_spawn(pool, longs[0]), nap(15 * US);
        item_spawn(pool, blocks);
        if (in_moment >= FORKS) nap(15 * US); /* a stand-in has looked at the blocked thread, and sleeps */
        if (in_moment >= FORKS) item_spawn(pool, longs[0]);
        if (standin) item_spawn(pool, longs[1]);
        if (in_moment == FORKS_AND_WAITS) late_task->pends = true, item_spawn(pool, late_task);
        for (int i = 0; i < 40 && in_moment == FETCHES; i++) /* it takes the first one, and then a batch */
            item_spawn(pool, i == 5 ? late_task : item_make(i == 1 ? 2 * MS : US));
        nap(5 * MS); /* (a wait would take a permit, and help) */
        CHECK(wsq_task_done(&blocks->task));
        uint64_t began = late_job_began != 0 ? late_job_began : late_task->began;
        CHECK(began > start + 300 * US && began < start + 400 * US);
        if (in_moment == FORKS_AND_WAITS) item_wake(late_task);
        wsq_pool_destroy(pool);
        sim.threads = 0;
    }
}

/* A thread that goes on without a permit runs itself what it spawns and then waits for. */
static wsq_poll spawns_and_waits(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    block_for(ctx, 30 * US);
    item_spawn(wsq_pool_of(ctx), late_task);
    CHECK_EQ(wsq_task_wait(&late_task->task), WSQ_OK);
    return WSQ_DONE;
}

static void waits_without_a_permit(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2, .max_standins = 1});
    item *blocks = item_make(0), *longs[2] = {item_make(MS), item_make(MS)};
    late_task = item_make(US);
    blocks->task.fn = spawns_and_waits;
    nap(MS);
    uint64_t start = now();
    item_spawn(pool, blocks);
    for (int i = 0; i < 2; i++) item_spawn(pool, longs[i]);
    nap(5 * MS);
    CHECK(wsq_task_done(&blocks->task) && late_task->began < start + 100 * US);
    wsq_pool_destroy(pool);
    sim.threads = 0;
}

/* A cancelled pool: the tasks that a thread in a wait fetches are cancelled by others, too. */
static wsq_poll slow_cleanup(wsq_task *task) { return (void)task, nap(MS), WSQ_DONE; }

static void cancels_beside_waits(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2, .max_standins = 1, .max_interval = 1});
    item *waits = item_make(0), *longs[2] = {item_make(20 * MS), item_make(20 * MS)}, *many[60];
    awaited = item_make(0);
    awaited->pends = true;
    wait_ns = WSQ_FOREVER;
    waits->task.fn = waits_run;
    item_spawn(pool, awaited);
    item_spawn(pool, waits);
    nap(MS);
    for (int i = 0; i < 2; i++) item_spawn(pool, longs[i]);
    nap(100 * US);
    for (int i = 0; i < 60; i++) {
        many[i] = item_make(0);
        wsq_task_set_cleanup(&many[i]->task, slow_cleanup);
        item_spawn(pool, many[i]);
    }
    uint64_t start = now();
    CHECK_EQ(wsq_pool_shutdown(pool, WSQ_CANCEL), WSQ_OK);
    CHECK(now() - start < 50 * MS);
    wsq_pool_destroy(pool);
    sim.threads = 0;
}

int main(void) {
    test_begin("exact_jobs");
    IN_WORLD(looks_beside_blocked);
    IN_WORLD(waits_without_a_permit);
    IN_WORLD(cancels_beside_waits);
    IN_WORLD(order_beside_events);
    IN_WORLD(order_of_timers);
    IN_WORLD(oldest_of_many);
    IN_WORLD(watch_in_trees);
    IN_WORLD(waits_beside_jobs);
    IN_WORLD(dismissed_beside_jobs);
    IN_WORLD(turns_beside_jobs);
    IN_WORLD(next_job_soon);
    IN_WORLD(events_beside_jobs);
    IN_WORLD(deeper_waits_go_on);
    IN_WORLD(deep_waits_with_time_outs);
    IN_WORLD(older_in_the_deque);
    IN_WORLD(got_futures_are_over);
    IN_WORLD(entries_do_not_pile_up);
    IN_WORLD(no_pool_waits_in_cleanup);
    return test_end();
}
