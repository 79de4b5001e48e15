/* What runs on top of a wait, and how deep: what it waits for must not keep other tasks waiting, nor a stack overflow;
 * pinned tasks; a future that a job calls. Waits in cleanups and in a driver's dispatch. Calls of wsq_pool_run_one, and
 * a full job stack. In virtual time. */
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

/* Of a long deque only some tasks run in the wait, before what else is due: a timer, or another task. */
enum { MANY = 5000 };
static item *late, *other;

static wsq_poll waits_for_many_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    for (int i = 0; i < MANY; i++) CHECK_EQ(wsq_group_spawn(&group, &item_make(10 * US)->task), WSQ_OK);
    if (late != NULL) item_set_timer(wsq_pool_of(ctx), late, 100 * US);
    else item_spawn(wsq_pool_of(ctx), other);
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

static void priorities_beside_many(void) {
    const wsq_priority priorities[] = {WSQ_HIGH, WSQ_LOW};
    for (int i = 0; i < 2; i++) {
        wsq_pool *pool = pool_make(&(wsq_config){.workers = 1, .order = WSQ_LIFO});
        item *waits = item_make(0);
        waits->task.fn = waits_for_many_run;
        late = NULL;
        other = item_make(0);
        CHECK_EQ(wsq_task_set_priority(&other->task, priorities[i]), WSQ_OK);
        CHECK_EQ(wsq_group_init(&group, pool), WSQ_OK);
        item_spawn(pool, waits);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        CHECK(other->began < other->spawned + (i == 0 ? 5 : 25) * MS); /* all take 50 ms */
        wsq_pool_destroy(pool);
        sim.threads = 0;
    }
}

/* A few, in the slot and the queue, run to the end whatever else is due, so that no stand-in comes. */
static wsq_poll waits_for_few_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    for (int i = 0; i < 20; i++) CHECK_EQ(wsq_group_spawn(&group, &item_make(US)->task), WSQ_OK);
    item_wake(late);
    item_spawn(wsq_pool_of(ctx), other);
    CHECK_EQ(wsq_group_wait(&group), WSQ_OK);
    CHECK_EQ(other->began, 0);
    return WSQ_DONE;
}

static void priority_beside_few(void) {
    for (int order = WSQ_FIFO; order <= WSQ_LIFO; order++) {
        wsq_pool *pool = pool_make(&(wsq_config){.workers = 1, .order = (wsq_order)order});
        item *waits = item_make(0);
        waits->task.fn = waits_for_few_run;
        late = item_make(0);
        late->pends = true;
        other = item_make(0);
        CHECK_EQ(wsq_task_set_priority(&other->task, WSQ_LOW), WSQ_OK);
        CHECK_EQ(wsq_group_init(&group, pool), WSQ_OK);
        CHECK_EQ(wsq_group_spawn(&group, &late->task), WSQ_OK);
        nap(MS);
        item_spawn(pool, waits);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        CHECK_EQ(wsqi_threads_started(pool), 1);
        wsq_pool_destroy(pool);
        sim.threads = 0;
    }
}

/* ---- one wait after the other ---- */

static unsigned shorts; /* so many empty tasks come before the long ones */

static wsq_poll waits_for_long_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    for (unsigned i = 0; i < shorts; i++) CHECK_EQ(wsq_group_spawn(&group, &item_make(0)->task), WSQ_OK);
    for (int i = 0; i < 50; i++) CHECK_EQ(wsq_group_spawn(&group, &item_make(10 * MS)->task), WSQ_OK);
    CHECK_EQ(wsq_group_wait(&group), WSQ_OK);
    return WSQ_DONE;
}

/* What is urgent waits for one long task, also after many short ones. */
static void urgent_beside_long(void) {
    for (int i = 0; i < 8; i++) {
        wsq_pool *pool = pool_make(&(wsq_config){.workers = 1, .order = i / 2 % 2 == 0 ? WSQ_FIFO : WSQ_LIFO});
        item *waits = item_make(0), *urgent = item_make(0);
        waits->task.fn = waits_for_long_run;
        shorts = i < 4 ? 0 : 128;
        CHECK_EQ(wsq_group_init(&group, pool), WSQ_OK);
        item_spawn(pool, waits);
        nap(15 * MS);
        if (i % 2 == 0) wsq_task_set_priority(&urgent->task, WSQ_HIGH);
        else wsq_task_set_worker(&urgent->task, 0);
        item_spawn(pool, urgent);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        CHECK(urgent->began < urgent->spawned + 11 * MS);
        wsq_pool_destroy(pool);
        sim.threads = 0;
    }
}

/* A timer waits for three: after two the worker knows that they are long, and before the next one it lets timers fire. */
static void timer_beside_long(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    item *waits = item_make(0);
    waits->task.fn = waits_for_long_run;
    late = item_make(0);
    late->pends = true;
    shorts = 0;
    CHECK_EQ(wsq_group_init(&group, pool), WSQ_OK);
    item_spawn(pool, late);
    nap(MS);
    item_spawn(pool, waits);
    nap(15 * MS);
    item_set_timer(pool, late, 0);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    CHECK(late->began < late->spawned + 31 * MS);
    wsq_pool_destroy(pool);
}

static wsq_pool *laned;

static void spawns_one(void *one) {
    if (one != NULL) item_spawn(laned, (item *)one);
}

/* The same for a task of a thread outside, in either lane of the global queue. */
static void lanes_beside_long(void) {
    sim_core *threads[8];
    unsigned seen = 0;
    for (int i = 0; i < 8; i++) {
        item *waits = item_make(0), *one = item_make(0);
        laned = pool_make(&(wsq_config){.workers = 6});
        CHECK_EQ(laned->global_lanes, 2);
        for (int w = 0; w < 5; w++) item_spawn(laned, item_make(600 * MS));
        nap(MS);
        waits->task.fn = waits_for_long_run;
        shorts = 0;
        CHECK_EQ(wsq_group_init(&group, laned), WSQ_OK);
        item_spawn(laned, waits);
        nap(15 * MS);
        for (int k = 0; k <= i; k++) threads[k] = outside(spawns_one, k == i ? one : NULL); /* each time another one */
        for (int k = 0; k <= i; k++) sim_join(threads[k]);
        for (unsigned lane = 0; lane < 2; lane++) seen |= (unsigned)!wsqi_lane_empty(wsqi_global_lane(laned, lane)) << lane;
        nap(25 * MS);
        CHECK(one->began != 0);
        CHECK_EQ(wsq_pool_wait(laned), WSQ_OK);
        wsq_pool_destroy(laned);
        sim.threads = 0;
    }
    CHECK_EQ(seen, 3);
}

/* In a pool whose caller runs the tasks, their order is the same however long they take. */
enum { NOTED = 300 };
static wsq_task noted[NOTED];
static unsigned notes[2][NOTED], noted_count;
static bool slow;

static wsq_poll notes_itself_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    notes[slow][noted_count++] = (unsigned)(task - noted);
    compute(slow ? MS : 0);
    return WSQ_DONE;
}

static wsq_poll waits_for_noted_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    for (int i = 0; i < NOTED; i++) {
        wsq_task_init(&noted[i], notes_itself_run);
        CHECK_EQ(wsq_group_spawn(&group, &noted[i]), WSQ_OK);
    }
    CHECK_EQ(wsq_group_wait(&group), WSQ_OK);
    return WSQ_DONE;
}

static void order_without_clock(void) {
    for (int i = 0; i < 2; i++) {
        wsq_pool *pool = pool_make(&(wsq_config){.workers = 2, .caller_runs = true, .seed = 1});
        item *waits = item_make(0);
        waits->task.fn = waits_for_noted_run;
        slow = i == 1;
        noted_count = 0;
        CHECK_EQ(wsq_group_init(&group, pool), WSQ_OK);
        item_spawn(pool, waits);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        CHECK_EQ(noted_count, NOTED);
        wsq_pool_destroy(pool);
        sim.threads = 0;
    }
    CHECK(memcmp(notes[0], notes[1], sizeof notes[0]) == 0);
}

static void *returns_soon(void *arg) { return arg; }

/* ---- futures that another worker calls leave tombstones in the deque of the worker that submits them ---- */

static wsq_future *offered;

static wsq_poll submits_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    for (int i = 0; i < 20 * WSQ_RING_CAPACITY; i++) {
        CHECK_EQ(wsq_submit(wsq_pool_of(ctx), returns_soon, NULL, &offered), WSQ_OK);
        while (offered != NULL) compute(100);
    }
    return WSQ_DONE;
}

static wsq_poll gets_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    for (int i = 0; i < 20 * WSQ_RING_CAPACITY; i++) {
        while (offered == NULL) compute(100);
        CHECK_EQ(wsq_future_get(offered, NULL), WSQ_OK);
        offered = NULL;
    }
    return WSQ_DONE;
}

static void tombstones_in_a_deque(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2, .order = WSQ_LIFO});
    item *submits = item_make(0), *gets = item_make(0);
    submits->task.fn = submits_run;
    gets->task.fn = gets_run;
    offered = NULL;
    item_spawn_on(pool, 0, submits);
    item_spawn_on(pool, 1, gets);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    const wsqi_array *array = (const wsqi_array *)wsqi_load_own(&wsqi_block(pool, 0)->deque.array);
    CHECK(array->mask < 2 * WSQ_RING_CAPACITY);
    wsq_pool_destroy(pool);
}

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

/* Each runs what it awaits, so that no stand-in comes; the stack has room for 16 of them at a time. The call of a
 * future takes its entry out of the queue. */
static void one_wait_after_the_other(void) {
    for (int order = WSQ_FIFO; order <= WSQ_LIFO; order++) {
        wsq_pool *pool = pool_make(
            &(wsq_config){.workers = 1, .stack_size = 16 * WSQI_WAIT_BYTES, .order = (wsq_order)order});
        item *waits = item_make(0);
        waits->task.fn = waits_often_run;
        CHECK_EQ(wsq_group_init(&group, pool), WSQ_OK);
        item_spawn(pool, waits);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        CHECK_EQ(wsqi_threads_started(pool), 1);
        CHECK_EQ(wsqi_block(pool, 0)->tombstones, 0);
        wsq_pool_destroy(pool);
        sim.threads = 0;
    }
}

/* Each task waits for one that it has spawned. Without stand-ins they all run on one stack, below its bound. */
enum { LINKS = 100 };
static unsigned links, helped;

static wsq_poll link_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    helped += wsq_worker_index(ctx) >= wsq_pool_workers(wsq_pool_of(ctx));
    if (++links == LINKS) return WSQ_DONE;
    item *next = item_make(0);
    next->task.fn = link_run;
    item_spawn(wsq_pool_of(ctx), next);
    CHECK_EQ(wsq_task_wait(&next->task), WSQ_OK);
    return WSQ_DONE;
}

static void deeper_than_the_bound(void) {
    wsq_pool *pool = pool_make(&(wsq_config){
        .workers = 1, .max_standins = WSQ_STANDINS_OFF, .stack_size = 16 * WSQI_WAIT_BYTES});
    item *first = item_make(0);
    first->task.fn = link_run;
    links = 0;
    item_spawn(pool, first);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    CHECK_EQ(links, LINKS);
    wsq_pool_destroy(pool);
}

/* A thread outside that waits for the first one runs them on its own stack, as deep as it may. */
static void helper_in_waits(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2});
    item *first = item_make(0);
    first->task.fn = link_run;
    links = helped = 0;
    nap(MS);
    item_spawn(pool, first);
    CHECK_EQ(wsq_task_wait(&first->task), WSQ_OK);
    CHECK_EQ(links, LINKS);
    CHECK(helped > WSQI_WAIT_DEPTH / 2 && helped <= WSQI_WAIT_DEPTH + 1);
    wsq_pool_destroy(pool);
}

/* ---- a future that a job calls in its wait ---- */

static bool begun, returned, job_over;

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
    nap(5 * MS);
    job_over = true;
}

static void forks_futures(wsq_ctx ctx, void *arg) {
    wsq_job job;
    (void)arg;
    wsq_fork(&ctx, &job, futures_job);
    compute(100 * US);
    wsq_join(&ctx, &job);
}

static void runs_futures(void *pool) { CHECK_EQ(wsq_run((wsq_pool *)pool, forks_futures, NULL), WSQ_OK); }

/* No task is under way, only a job of a thread outside; and another worker takes the future's entry out of its queue.
 * The wait for the pool ends with the call, not with the job. */
static void pool_waits_for_future(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 3});
    begun = returned = job_over = false;
    sim_core *runner = outside(runs_futures, pool);
    while (!begun) nap(US);
    nap(100 * US);
    CHECK(!returned);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    CHECK(returned && !job_over);
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

/* ---- pinned tasks on top of waits for others ---- */

enum { CHAIN = 80 };
static wsq_task chain[CHAIN];

static wsq_poll chain_run(wsq_ctx ctx, wsq_task *task) {
    wsq_task *next = task + 1;
    runs++;
    if (next == chain + CHAIN) return WSQ_DONE;
    CHECK_EQ(wsq_spawn_on(wsq_pool_of(ctx), 0, next), WSQ_OK);
    (void)wsq_task_wait_for(next, 100 * MS);
    return WSQ_DONE;
}

static unsigned chain_length(size_t stack_size) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2, .stack_size = stack_size});
    runs = 0;
    for (int i = 0; i < CHAIN; i++) wsq_task_init(&chain[i], chain_run);
    CHECK_EQ(wsq_spawn_on(pool, 0, &chain[0]), WSQ_OK);
    nap(50 * MS);
    unsigned length = runs;
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    wsq_pool_destroy(pool);
    return length;
}

/* No other thread runs them, so they go on as deep as the stack allows. */
static void chain_of_pinned(void) {
    CHECK_EQ(chain_length(1 << 20), CHAIN);
    CHECK_EQ(chain_length(20 * WSQI_WAIT_BYTES), 21);
}

/* ---- a wait in a cleanup ---- */

static item *waiting, *children[3];
static wsq_result waited;
static bool was_over;

static wsq_poll cleans_by_wait(wsq_task *task) {
    (void)task;
    waited = children[0] == NULL ? wsq_task_wait(&waiting->task) : wsq_group_wait(&group);
    was_over = children[0] == NULL && wsq_task_done(&waiting->task);
    for (int i = 0; i < 3 && children[i] != NULL; i++) CHECK(wsq_task_done(&children[i]->task));
    return WSQ_DONE;
}

/* The pool is over, and the thread that wakes a pending task cancels it. Its cleanup waits for one that never runs. */
static void cleanup_waits_at_the_end(void) {
    for (int k = 0; k < 3; k++) {
        wsq_pool *pool = pool_make(&(wsq_config){.workers = 2, .caller_runs = k == 1, .lend_only = k == 2});
        item *cleans = item_make(0);
        if (k == 2) outside(lend, pool);
        waiting = item_make(0);
        waiting->pends = cleans->pends = true;
        wsq_task_set_cleanup(&cleans->task, cleans_by_wait);
        children[0] = NULL;
        waited = WSQ_OK;
        item_spawn(pool, waiting);
        item_spawn(pool, cleans);
        while (k == 1 && wsq_pool_run_one(pool)) {}
        nap(MS);
        CHECK_EQ(wsq_pool_shutdown(pool, WSQ_CANCEL), WSQ_OK);
        item_wake(cleans);
        CHECK_EQ(waited, WSQ_ERR_CANCELLED);
        item_wake(waiting);
        wsq_pool_destroy(pool);
        sim.threads = 0;
    }
}

/* No thread is lent, so the shutdown cancels all tasks. The first one's cleanup waits for others that are queued. */
static void cleanup_waits_for_queued(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1, .lend_only = true});
    item *cleans = item_make(0);
    wsq_task_set_cleanup(&cleans->task, cleans_by_wait);
    CHECK_EQ(wsq_group_init(&group, pool), WSQ_OK);
    item_spawn(pool, cleans);
    for (int i = 0; i < 3; i++) {
        children[i] = item_make(0);
        CHECK_EQ(wsq_group_spawn(&group, &children[i]->task), WSQ_OK);
    }
    CHECK_EQ(wsq_pool_shutdown(pool, WSQ_CANCEL), WSQ_OK);
    CHECK_EQ(waited, WSQ_ERR_CANCELLED);
    wsq_pool_destroy(pool);
}

/* The same beside a lent thread in the middle of a task of the group, which the cleanup must wait for. */
static void cleanup_waits_for_running(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1, .lend_only = true});
    item *cleans = item_make(0), *longer = item_make(5 * MS);
    wsq_task_set_cleanup(&cleans->task, cleans_by_wait);
    CHECK_EQ(wsq_group_init(&group, pool), WSQ_OK);
    sim_core *lent = outside(lend, pool);
    nap(MS);
    CHECK_EQ(wsq_group_spawn(&group, &longer->task), WSQ_OK);
    nap(MS);
    item_spawn(pool, cleans);
    children[0] = longer;
    children[1] = NULL;
    CHECK_EQ(wsq_pool_shutdown(pool, WSQ_CANCEL), WSQ_OK);
    CHECK(longer->ended != 0);
    sim_join(lent);
    wsq_pool_destroy(pool);
}

static wsq_poll wakes_late_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    compute(5 * MS);
    item_wake(waiting);
    return WSQ_DONE;
}

static item *never;

static wsq_poll waits_awhile_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    (void)wsq_task_wait_for(&never->task, 5 * MS);
    return WSQ_DONE;
}

/* What it awaits is pending, and the lent thread is in a task that wakes it; or it waits in turn, with a time-out. */
static void cleanup_waits_beside(bool waits) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2, .lend_only = true});
    item *cleans = item_make(0), *wakes = item_make(0);
    wakes->task.fn = waits ? waits_awhile_run : wakes_late_run;
    wsq_task_set_cleanup(&cleans->task, cleans_by_wait);
    never = item_make(0);
    never->pends = true;
    waiting = waits ? wakes : never;
    children[0] = NULL;
    sim_core *lent = outside(lend, pool);
    item_spawn(pool, never);
    nap(MS);
    item_spawn(pool, wakes);
    nap(MS);
    item_spawn_on(pool, 1, cleans); /* no thread is lent for that worker */
    CHECK_EQ(wsq_pool_shutdown(pool, WSQ_CANCEL), WSQ_OK);
    CHECK(waited == (waits ? WSQ_OK : WSQ_ERR_CANCELLED) && was_over);
    sim_join(lent);
    if (waits) item_wake(never);
    wsq_pool_destroy(pool);
    sim.threads = 0;
}

static void cleanup_waits_for_others(void) {
    cleanup_waits_beside(false);
    cleanup_waits_beside(true);
}

/* ---- a wait in a driver's dispatch, by way of a run; for another pool's task it is one like any other ---- */

static wsq_pool *drives, *beside;

static void waits_in_run(wsq_ctx ctx, void *arg) {
    (void)ctx, (void)arg;
    waited = wsq_task_wait_for(&waiting->task, MS);
}

static bool dispatch_wait(uint64_t timeout_ns, void *user) { return post_wait(timeout_ns, user); }

static void dispatch_waits(wsq_pool *pool, void *user) {
    wsq_future *future = NULL;
    post_dispatch(pool, user);
    CHECK_EQ(wsq_run(pool, waits_in_run, NULL), WSQ_OK);
    CHECK_EQ(waited, WSQ_ERR_INVALID);
    CHECK_EQ(wsq_submit(pool, returns_soon, NULL, &future), WSQ_OK);
    CHECK_EQ(wsq_future_get_for(future, MS, NULL), WSQ_ERR_INVALID);
    wsq_future_drop(future);
    CHECK_EQ(wsq_task_wait_for(&children[0]->task, MS), WSQ_ERR_TIMEOUT);
    CHECK_EQ(wsq_submit(beside, returns_soon, NULL, &future), WSQ_OK);
    CHECK_EQ(wsq_future_get_for(future, MS, NULL), WSQ_OK);
}

static void no_waits_in_dispatch(void) {
    static const wsq_driver driver = {dispatch_wait, dispatch_waits, post_interrupt, NULL};
    memset(&post, 0, sizeof post);
    waiting = item_make(0);
    children[0] = item_make(0);
    waiting->pends = children[0]->pends = true;
    drives = pool_make(&(wsq_config){.workers = 1, .max_standins = WSQ_STANDINS_OFF, .driver = &driver});
    beside = pool_make(&(wsq_config){.workers = 1});
    item_spawn(drives, waiting);
    item_spawn(beside, children[0]);
    nap(MS);
    post_event(item_make(0));
    nap(3 * MS);
    CHECK_EQ(post.count, 1);
    item_wake(waiting);
    item_wake(children[0]);
    wsq_pool_destroy(drives);
    wsq_pool_destroy(beside);
}

/* ---- wsq_pool_run_one ---- */

/* It fires a timer, and the timer's task is pinned to another worker than the one as which it acts. */
static void run_one_sees_pinned(void) {
    for (uint64_t seed = 1; seed < 20; seed++) {
        wsq_pool *pool = NULL;
        item *timed = item_make(0);
        CHECK_EQ(wsq_pool_create(&pool, &(wsq_config){.workers = 2, .caller_runs = true, .seed = seed}), WSQ_OK);
        timed->pends = true;
        item_spawn_on(pool, 1, timed);
        CHECK(wsq_pool_run_one(pool));
        item_set_timer(pool, timed, US);
        nap(2 * US);
        CHECK(wsq_pool_run_one(pool) && timed->ended != 0);
        CHECK(!wsq_pool_run_one(pool));
        wsq_pool_destroy(pool);
    }
}

int main(void) {
    test_begin("exact_here");
    IN_WORLD(two_that_wake_each_other);
    IN_WORLD(two_that_spawn_each_other);
    IN_WORLD(timer_beside_many);
    IN_WORLD(priorities_beside_many);
    IN_WORLD(priority_beside_few);
    IN_WORLD(urgent_beside_long);
    IN_WORLD(timer_beside_long);
    IN_WORLD(lanes_beside_long);
    IN_WORLD(order_without_clock);
    IN_WORLD(tombstones_in_a_deque);
    IN_WORLD(one_wait_after_the_other);
    IN_WORLD(deeper_than_the_bound);
    IN_WORLD(helper_in_waits);
    IN_WORLD(pool_waits_for_future);
    IN_WORLD(full_stack_gives_jobs);
    IN_WORLD(chain_of_pinned);
    IN_WORLD(cleanup_waits_at_the_end);
    IN_WORLD(cleanup_waits_for_queued);
    IN_WORLD(cleanup_waits_for_running);
    IN_WORLD(cleanup_waits_for_others);
    IN_WORLD(no_waits_in_dispatch);
    IN_WORLD(run_one_sees_pinned);
    return test_end();
}
