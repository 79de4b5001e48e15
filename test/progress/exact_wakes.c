/* How many sleepers are woken for tasks of a known length, and which; a worker that stays awake for a thread outside
 * that asks; a search that goes on in a wait; a worker that has taken a task while stand-ins start. In virtual time. */
#include "exact.h"

static uint64_t wakes_of(wsq_pool *pool) {
    wsq_stats all;
    wsq_pool_stats(pool, &all);
    return all.wakes_sent;
}

enum { SIX = 6 };
static item *six[SIX];

static wsq_poll spawns_six_run(wsq_ctx ctx, wsq_task *task) {
    for (int i = 0; i < SIX; i++) item_spawn(wsq_pool_of(ctx), six[i] = item_make(item_of(task)->ns));
    return item_run(ctx, task);
}

/* A task on worker 0, of `ns`, spawns six more. Returns how many sleepers are woken, if each worker's tasks took
 * `average_ns` so far. */
static uint64_t wakes_for_six(uint64_t ns, uint64_t average_ns) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 8});
    for (unsigned i = 0; i < 8; i++) wsqi_block(pool, i)->tune.average_ns = average_ns;
    item *first = item_make(ns);
    first->task.fn = spawns_six_run;
    item_spawn_on(pool, 0, first);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    nap(MS);
    uint64_t wakes = wakes_of(pool);
    wsq_pool_destroy(pool);
    return wakes;
}

/* Six tasks of 1 us are worth one sleeper at a time, and longer ones a sleeper each. */
static void short_tasks_wake_few(void) {
    CHECK_EQ(wakes_for_six(US, US), 2);
    CHECK_EQ(wakes_for_six(50 * US, 50 * US), 7);
}

/* If tasks take longer than expected, each that begins wakes a thread for the next. */
static void long_tasks_begin_soon(void) {
    CHECK_EQ(wakes_for_six(5 * MS, US), SIX);
    uint64_t first = six[0]->began;
    for (int i = 0; i < SIX; i++) CHECK(six[i]->began < first + 60 * US);
}

/* So do many sleepers: they are not woken one by one until the last. */
static void many_long_tasks_begin_soon(void) {
    enum { MANY = 64 };
    wsq_pool *pool = pool_make(&(wsq_config){.workers = MANY});
    item *tasks[MANY];
    for (unsigned i = 0; i < MANY; i++) wsqi_block(pool, i)->tune.average_ns = 100;
    uint64_t start = now();
    for (int i = 0; i < MANY; i++) item_spawn(pool, tasks[i] = item_make(5 * MS));
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    for (int i = 0; i < MANY; i++) CHECK(tasks[i]->began < start + 100 * US);
    wsq_pool_destroy(pool);
}

/* Workers that run a task or two at a time learn how long these take; the wake-ups before them do not count. */
static void learns_from_few_tasks(unsigned workers, int tasks) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = workers});
    unsigned known = 0;
    for (int i = 0; i < 1000; i++) {
        for (int k = 0; k < tasks; k++) item_spawn(pool, item_make(2 * US));
        nap(100 * US);
    }
    for (unsigned i = 0; i < workers; i++) {
        wsq_stats one;
        wsq_worker_stats(pool, i, &one);
        if (one.run < 300) continue;
        CHECK(one.average_task_ns >= 2000 && one.average_task_ns < 2600);
        known++;
    }
    CHECK(known > 0);
    wsq_pool_destroy(pool);
}

static void learns_from_one_task(void) { learns_from_few_tasks(1, 1); }
static void learns_between_wakes(void) { learns_from_few_tasks(4, 3); }

/* ---- a thread outside asks ---- */

/* It spawns a task and waits for it, again and again. */
static void ask(wsq_pool *pool, int count) {
    for (int i = 0; i < count; i++) {
        item *one = item_make(200);
        item_spawn(pool, one);
        CHECK_EQ(wsq_task_wait(&one->task), WSQ_OK);
    }
}

static void asker(void *pool) { ask((wsq_pool *)pool, 1000); }

static unsigned searchers(wsq_pool *pool) { return wsqi_searching(wsqi_load_hint(&pool->permits)); }

/* A worker that comes too late stays awake. So most asks wake nobody. */
static uint64_t wakes_for_asks(wsq_pool *pool) {
    uint64_t before = wsqi_load_stat(&pool->wakes);
    ask(pool, 1000);
    return wsqi_load_stat(&pool->wakes) - before;
}

static void lingers(void) {
    const uint64_t spins[] = {WSQ_SPIN_OFF, WSQI_LINGER_NS / 2};
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2});
    item_spawn(pool, item_make(US));
    nap(40 * US);
    CHECK_EQ(searchers(pool), 0); /* nobody has asked */
    CHECK(wakes_for_asks(pool) < 20);
    CHECK_EQ(searchers(pool), 1); /* it is awake */
    CHECK_EQ(wsqi_load_hint(&pool->lingers), 1);
    CHECK_EQ(wsqi_free_permits(wsqi_load_hint(&pool->permits)), 2);
    CHECK_EQ(wsqi_threads_made(pool), 2); /* it needs no stand-in */
    CHECK_EQ(wsqi_load_hint(&pool->made.coming), 1);
    nap(WSQI_LINGER_NS + 20 * US);
    CHECK_EQ(wsqi_load_hint(&pool->made.coming), 0);
    CHECK_EQ(searchers(pool), 0);
    CHECK_EQ(wsqi_load_hint(&pool->lingers), 0);
    for (int i = 0; i < 20; i++) { /* single asks keep no worker awake */
        ask(pool, 1);
        nap(30 * US);
        CHECK_EQ(searchers(pool), 0);
        nap(100 * US);
    }
    ask(pool, 100);
    CHECK_EQ(searchers(pool), 1);
    nap(WSQI_LINGER_NS + 20 * US);
    CHECK_EQ(searchers(pool), 0);
    wsq_pool_destroy(pool);

    for (int i = 0; i < 2; i++) { /* the user wants it so */
        pool = pool_make(&(wsq_config){.workers = 2, .spin_ns = spins[i]});
        ask(pool, 1000);
        nap(40 * US);
        CHECK_EQ(searchers(pool), 0);
        wsq_pool_destroy(pool);
    }
    pool = pool_make(&(wsq_config){.workers = 2, .spin_ns = WSQI_LINGER_NS}); /* or has nothing against it */
    CHECK(wakes_for_asks(pool) < 20);
    wsq_pool_destroy(pool);

    pool = pool_make(&(wsq_config){.workers = WORLD_CORES + 1}); /* or there are too many threads */
    ask(pool, 1000);
    nap(30 * US);
    CHECK_EQ(searchers(pool), 0);
    wsq_pool_destroy(pool);
}

/* What is no ask begins within two wake-ups: a lone task, a pinned one; a timer, which is precise to 65 us. Then the
 * same beside asks. */
static void no_asks(void) {
    for (int kind = 0; kind < 6; kind++) {
        wsq_pool *pool = pool_make(&(wsq_config){.workers = 2});
        item *one = item_make(US);
        one->pends = kind % 3 == 2;
        if (one->pends) item_spawn(pool, one);
        ask(pool, 1000);
        sim_core *asks = kind >= 3 ? outside(asker, pool) : NULL;
        nap(kind >= 3 ? 20 * US : 0);
        CHECK_EQ(searchers(pool), 1);
        if (kind % 3 == 0) item_spawn(pool, one);
        else if (kind % 3 == 1) item_spawn_on(pool, pool->bitmap.sleepers[0].v == 1, one);
        else item_set_timer(pool, one, 0);
        nap(one->pends ? 80 * US : 10 * US);
        CHECK(one->began != 0);
        if (asks != NULL) sim_join(asks);
        uint64_t end = now();
        CHECK_EQ(wsq_pool_shutdown(pool, WSQ_DRAIN), WSQ_OK);
        CHECK(now() - end < 30 * US); /* it does not linger then */
        wsq_pool_destroy(pool);
    }
}

/* A worker that lingers comes immediately for much work, and after a few looks for a short task that no helper takes. */
static void little_work(void) {
    const uint32_t averages[] = {100, WSQI_LINGER_MUCH_NS - 1, WSQI_LINGER_MUCH_NS};
    for (int i = 0; i < 3; i++) {
        wsq_pool *pool = pool_make(&(wsq_config){.workers = 2});
        ask(pool, 1000);
        for (unsigned w = 0; w < 2; w++) wsqi_block(pool, w)->tune.average_ns = averages[i];
        ask(pool, 10);
        item *one = item_make(US);
        item_spawn(pool, one);
        nap(1500);
        CHECK_EQ(one->began != 0, i == 2);
        nap(2 * US);
        CHECK(one->began != 0);
        wsq_pool_destroy(pool);
    }
}

/* ---- a thread runs a graph of empty nodes, again and again ---- */

static wsq_poll empty_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    return WSQ_DONE;
}

/* One worker lingers, and leaves the nodes to the helper. The other one sleeps. */
static void runs_of_a_graph(void) {
    enum { NODES = 20, RUNS = 1000 };
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2});
    wsq_graph graph;
    wsq_node nodes[NODES];
    wsq_edge edges[NODES];
    uint64_t before = 0;
    wsq_graph_init(&graph, pool);
    for (int i = 0; i < NODES; i++) {
        CHECK_EQ(wsq_graph_add(&graph, &nodes[i], empty_run), WSQ_OK);
        if (i >= 4) CHECK_EQ(wsq_node_after(&nodes[i], &nodes[i - 4], &edges[i]), WSQ_OK);
    }
    for (int i = 0; i < RUNS; i++) {
        if (i == RUNS / 2) before = now();
        CHECK_EQ(wsq_graph_run(&graph), WSQ_OK);
        CHECK_EQ(wsq_group_wait(&graph.group), WSQ_OK);
    }
    CHECK(now() - before < RUNS / 2 * 1600);
    CHECK(wsqi_load_stat(&pool->wakes) < 10);
    CHECK_EQ(wsqi_load_hint(&pool->lingers), 1);
    wsq_pool_destroy(pool);
}

/* ---- a wait whose search has run a stolen job, which waited ---- */

static item *awaited[2];
static uint64_t returned;

static void waiting_job(wsq_ctx ctx, wsq_job *job) {
    (void)ctx, (void)job;
    CHECK_EQ(wsq_task_wait(&awaited[1]->task), WSQ_OK);
}

static wsq_poll waits_for_first_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    CHECK_EQ(wsq_task_wait(&awaited[0]->task), WSQ_OK);
    returned = now();
    return WSQ_DONE;
}

static wsq_poll forks_waiting_run(wsq_ctx ctx, wsq_task *task) {
    wsq_job job;
    (void)task;
    wsq_fork(&ctx, &job, waiting_job);
    compute(MS);
    wsq_join(&ctx, &job);
    return WSQ_DONE;
}

/* The search goes on after the job, for up to spin_ns, and ends when its wait is called. */
static void search_after_a_job_that_waited(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2, .spin_ns = 50 * MS, .max_standins = WSQ_STANDINS_OFF});
    item *waits = item_make(0), *forks = item_make(0);
    for (int i = 0; i < 2; i++) {
        awaited[i] = item_make(US);
        awaited[i]->pends = true;
    }
    waits->task.fn = waits_for_first_run;
    forks->task.fn = forks_waiting_run;
    returned = 0;
    item_spawn_on(pool, 1, awaited[0]);
    item_spawn(pool, awaited[1]);
    nap(MS);
    item_spawn_on(pool, 0, waits);
    nap(MS);
    item_spawn_on(pool, 1, forks);
    nap(3 * MS);
    CHECK(wsqi_load_stat(&wsqi_block(pool, 0)->counters.jobs_stolen) == 1);
    item_wake(awaited[1]);
    nap(MS);
    CHECK(awaited[1]->ended != 0 && returned == 0);
    item_wake(awaited[0]);
    nap(MS);
    CHECK(returned != 0);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    wsq_pool_destroy(pool);
}

/* ---- a sleeper that is in a wait is woken last ---- */

enum { SIXTEEN = 16 };

static item *common; /* what they wait for */
static unsigned ran_on[SIXTEEN + 1], waiting;
static wsq_task *first_waits;
static wsq_result waited;

static wsq_poll waits_for_common_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    ran_on[waiting++] = wsq_worker_index(ctx);
    (void)wsq_task_wait(&common->task);
    return WSQ_DONE;
}

static wsq_poll comes_last_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    ran_on[waiting] = wsq_worker_index(ctx);
    waited = wsq_task_wait(first_waits);
    return WSQ_DONE;
}

/* `waits` tasks wait, so that in the end more permits are free than there are free threads. While one is free, the next
 * task does not run on top of a wait; here it waits for the first of the tasks. */
static void next_beside_waits(unsigned workers, unsigned standins, unsigned waits) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = workers, .max_standins = standins});
    for (unsigned i = 0; i < workers + standins; i++) item_spawn(pool, item_blocks(5 * MS));
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK); /* all stand-ins exist */
    nap(MS);
    waiting = 0;
    common = item_make(US);
    common->pends = true;
    item_spawn(pool, common);
    nap(MS);
    item *last = item_make(0);
    last->task.fn = comes_last_run;
    for (unsigned i = 0; i < waits; i++) {
        item *one = item_make(0);
        one->task.fn = waits_for_common_run;
        if (i == 0) first_waits = &one->task;
        item_spawn(pool, one);
        nap(MS);
    }
    item_spawn(pool, last);
    nap(MS);
    for (unsigned i = 0; i < waits; i++) CHECK(ran_on[i] != ran_on[waits]);
    item_wake(common);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    CHECK_EQ(waited, WSQ_OK);
    CHECK_EQ(wsqi_load_hint(&pool->bitmap.idle_in_wait[0]), 0);
    wsq_pool_destroy(pool);
}

static void free_threads_first(void) {
    for (unsigned waits = 1; waits < 2 + 1; waits++) next_beside_waits(2, 1, waits);
    for (unsigned waits = 1; waits < 2 + 4; waits++) next_beside_waits(2, 4, waits);
    for (unsigned waits = 1; waits < SIXTEEN; waits++) next_beside_waits(8, 8, waits);
}

/* ---- a worker that has taken a task does not wait until other threads have started stand-ins ---- */

enum { MIXED = 60 };

static wsq_poll begins_and_blocks_run(wsq_ctx ctx, wsq_task *task) {
    item_of(task)->began = now();
    return blocks_run(ctx, task);
}

/* Of tasks that block and tasks that compute, no older one begins more than 10 us after a younger one. */
static void order_while_standins_start(void) {
    wsq_random random;
    wsq_random_seed(&random, 1);
    for (unsigned round = 0; round < 12; round++) {
        wsq_pool *pool = pool_make(&(wsq_config){.workers = 4 + round % 5, .order = WSQ_SHARED});
        item *tasks[MIXED];
        uint64_t first = UINT64_MAX;
        for (int i = 0; i < MIXED; i++) {
            bool blocks = wsq_random_below(&random, 5) != 0;
            tasks[i] = item_make(blocks ? (1 + wsq_random_below(&random, 4)) * MS : wsq_random_below(&random, 40) * US);
            if (blocks) tasks[i]->task.fn = begins_and_blocks_run;
        }
        for (int i = 0; i < MIXED; i++) item_spawn(pool, tasks[i]);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        for (int i = MIXED; i-- > 0;) {
            CHECK(first == UINT64_MAX || tasks[i]->began < first + 10 * US);
            if (tasks[i]->began < first) first = tasks[i]->began;
        }
        wsq_pool_destroy(pool);
    }
}

static unsigned starts;

static bool start_fails(const void *block) {
    const wsqi_worker *self = (const wsqi_worker *)block;
    starts += self->index >= self->pool->workers;
    return self->index >= self->pool->workers;
}

enum { MEMBERS = 40 };

static wsq_poll members_run(wsq_ctx ctx, wsq_task *task) {
    wsq_group group;
    (void)task;
    CHECK_EQ(wsq_group_init(&group, wsq_pool_of(ctx)), WSQ_OK);
    for (int i = 0; i < MEMBERS; i++) CHECK_EQ(wsq_group_spawn(&group, &item_make(US)->task), WSQ_OK);
    CHECK_EQ(wsq_group_wait(&group), WSQ_OK);
    return WSQ_DONE;
}

/* No stand-in can be started. A wait that runs the tasks itself does not try it before each of them. */
static void starts_that_fail(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1, .max_standins = 1, .order = WSQ_SHARED});
    item *self = item_make(0);
    self->task.fn = members_run;
    starts = 0;
    sim_start_fails = start_fails;
    uint64_t start = now();
    item_spawn(pool, self);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    CHECK(now() - start < (MEMBERS + 50) * US);
    CHECK(starts > 4 && starts < 10); /* it tries it now and then */
    sim_start_fails = NULL;
    item *blocks = item_make(0); /* for a thread that blocks, the pool tries it each time */
    blocks->task.fn = queue_and_block;
    queued_first = item_make(0);
    item_spawn(pool, blocks);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    CHECK(queued_first->began < queued_first->spawned + MS);
    wsq_pool_destroy(pool);
}

/* The one worker blocks, and no thread can be started. When a task comes later, the pool tries it again. */
static void start_for_a_later_task(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1, .max_standins = 1});
    item *late = item_make(US);
    sim_start_fails = start_fails;
    item_spawn(pool, item_blocks(5 * MS));
    nap(MS);
    sim_start_fails = NULL;
    item_spawn(pool, late);
    nap(MS); /* a thread that waits for it would run it */
    CHECK(late->began != 0 && late->began < late->spawned + 200 * US);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    wsq_pool_destroy(pool);
}

static void slow_start(void *user, wsq_event event, unsigned worker, const void *subject, uint64_t value) {
    (void)user, (void)subject, (void)value;
    if (event == WSQ_EVENT_START && worker >= 2) compute(8 * MS);
}

/* A stand-in's thread has started, but its hook takes long. Meanwhile it is not woken in place of others. */
static void start_that_takes_long(void) {
    wsq_hooks hooks = {.event = slow_start, .events = 1u << WSQ_EVENT_START};
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2, .max_standins = 1, .hooks = &hooks});
    item *tasks[3];
    item_spawn(pool, item_blocks(10 * MS));
    nap(MS);
    for (int i = 0; i < 3; i++) {
        if (i == 2) nap(2 * MS); /* the other worker sleeps */
        tasks[i] = item_make(500 * US);
        item_spawn(pool, tasks[i]);
        nap(100 * US);
    }
    CHECK(tasks[2]->began != 0 && tasks[2]->began < tasks[2]->spawned + 100 * US);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    wsq_pool_destroy(pool);
}

static item *held_back;

static wsq_poll blocks_and_waits_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    block_for(ctx, MS);
    CHECK_EQ(wsq_task_wait(&held_back->task), WSQ_OK); /* without a permit */
    return WSQ_DONE;
}

static wsq_poll blocks_long_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    compute(5 * MS);
    sim_start_fails = start_fails;
    block_for(ctx, 5 * MS); /* tries to start a stand-in */
    return WSQ_DONE;
}

/* A thread waits without a permit. A permit is put to sleep, and no thread can be started for it. So the waiting thread
 * takes the permit, and runs the task that comes later. */
static void waits_while_starts_fail(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1, .max_standins = 2});
    item *waits = item_make(0), *blocks = item_make(0), *late = item_make(0);
    held_back = item_make(0);
    held_back->pends = true;
    waits->task.fn = blocks_and_waits_run;
    blocks->task.fn = blocks_long_run;
    starts = 0;
    item_spawn(pool, held_back);
    nap(MS);
    item_spawn(pool, waits);
    nap(100 * US);
    item_spawn(pool, blocks);
    nap(7 * MS);
    CHECK(starts >= 1);
    item_spawn(pool, late);
    nap(200 * US);
    CHECK(late->began != 0);
    item_wake(held_back);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    sim_start_fails = NULL;
    wsq_pool_destroy(pool);
}

/* ---- a WSQ_LOW task beside WSQ_HIGH ones that yield all the time ---- */

static void low_beside_high(void) {
    static const wsq_order orders[] = {WSQ_FIFO, WSQ_LIFO, WSQ_SHARED};
    for (int k = 0; k < 3; k++) {
        wsq_pool *pool = pool_make(&(wsq_config){.workers = 1, .order = orders[k]});
        item *low = item_make(US);
        wsq_task_set_priority(&low->task, WSQ_LOW);
        for (int i = 0; i < 2; i++) {
            item *high = item_make(MS);
            high->until = low;
            wsq_task_set_priority(&high->task, WSQ_HIGH);
            item_spawn(pool, high);
        }
        nap(100 * MS); /* the worker knows how long these tasks take */
        item_spawn(pool, low);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        CHECK(low->began < low->spawned + 33 * MS);
        wsq_pool_destroy(pool);
    }
}

/* ---- many short WSQ_LOW tasks ---- */

/* A worker that finds one after the other neither sleeps nor wakes others between them. */
static void many_low(void) {
    for (unsigned workers = 2; workers <= 8; workers *= 2) {
        enum { LOWS = 1000 };
        wsq_pool *pool = pool_make(&(wsq_config){.workers = workers});
        uint64_t start = now();
        for (int i = 0; i < LOWS; i++) {
            item *low = item_make(0);
            wsq_task_set_priority(&low->task, WSQ_LOW);
            item_spawn(pool, low);
        }
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        CHECK(now() - start < LOWS * 600);
        wsq_pool_destroy(pool);
        sim.threads = 0;
    }
}

/* ---- many timers at one time, in the lists of several workers ---- */

enum { SETTERS = 3, TIMED = 600 };
static item *timed[SETTERS][TIMED];
static unsigned in_a_row, longest_row;

static void count_rows(void *user, wsq_event event, unsigned worker, const void *subject, uint64_t value) {
    (void)user, (void)worker, (void)subject;
    if (event == WSQ_EVENT_TASK_BEGIN) in_a_row = 0;
    if (event != WSQ_EVENT_WAKE || value != WSQ_CAUSE_TIMER) return;
    if (++in_a_row > longest_row) longest_row = in_a_row;
}

/* Sets its timers, which are its worker's, and keeps the worker while they become due. */
static wsq_poll sets_many_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    for (int i = 0; i < TIMED; i++) item_set_timer(wsq_pool_of(ctx), timed[wsq_worker_index(ctx)][i], 20 * MS);
    compute(60 * MS);
    return WSQ_DONE;
}

/* The last worker fires them all, but no more than it may between two tasks. */
static void timers_of_others(void) {
    const wsq_hooks hooks = {.event = count_rows};
    wsq_pool *pool = pool_make(&(wsq_config){.workers = SETTERS + 1, .hooks = &hooks});
    for (int i = 0; i < SETTERS * TIMED; i++) {
        item *one = timed[i / TIMED][i % TIMED] = item_make(0);
        one->pends = true;
        item_spawn(pool, one);
    }
    nap(5 * MS);
    longest_row = 0;
    for (unsigned i = 0; i < SETTERS; i++) {
        item *sets = item_make(0);
        sets->task.fn = sets_many_run;
        item_spawn_on(pool, i, sets);
    }
    nap(MS);
    for (int i = 0; i < 1000; i++) item_spawn(pool, item_make(50 * US));
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    CHECK(longest_row > 1 && longest_row <= WSQI_TIMERS_MOST);
    wsq_pool_destroy(pool);
}

/* ---- a task that spawns held tasks, while a thread waits for the pool: each costs as much in a large pool ---- */

enum { HELD = 200 };

static uint64_t holds_took;

static wsq_poll holds_run(wsq_ctx ctx, wsq_task *task) {
    static wsq_edge edges[HELD];
    item *first = item_make(US);
    (void)task;
    nap(MS); /* now the pool's other workers sleep, and a thread is in wsq_pool_wait */
    uint64_t start = now();
    for (int i = 0; i < HELD; i++) {
        item *held = item_make(US);
        CHECK_EQ(wsq_task_after(&held->task, &first->task, &edges[i]), WSQ_OK);
        item_spawn(wsq_pool_of(ctx), held);
    }
    holds_took = now() - start;
    item_spawn(wsq_pool_of(ctx), first);
    return WSQ_DONE;
}

static uint64_t holds_take(unsigned workers) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = workers});
    item *holds = item_make(0);
    holds->task.fn = holds_run;
    item_spawn(pool, holds);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    wsq_pool_destroy(pool);
    sim.threads = 0;
    return holds_took;
}

static void held_in_large_pools(void) {
    uint64_t few = holds_take(2), many = holds_take(64);
    CHECK(4 * many < 5 * few);
}

int main(void) {
    test_begin("exact_wakes");
    IN_WORLD(many_low);
    IN_WORLD(timers_of_others);
    IN_LARGE_WORLD(free_threads_first);
    IN_WORLD(order_while_standins_start);
    IN_WORLD(starts_that_fail);
    IN_WORLD(start_for_a_later_task);
    IN_WORLD(start_that_takes_long);
    IN_WORLD(waits_while_starts_fail);
    IN_WORLD(short_tasks_wake_few);
    IN_WORLD(long_tasks_begin_soon);
    IN_LARGE_WORLD(many_long_tasks_begin_soon);
    IN_WORLD(learns_from_one_task);
    IN_WORLD(learns_between_wakes);
    IN_WORLD(lingers);
    IN_WORLD(no_asks);
    IN_WORLD(little_work);
    IN_WORLD(runs_of_a_graph);
    IN_WORLD(search_after_a_job_that_waited);
    IN_WORLD(low_beside_high);
    IN_LARGE_WORLD(held_in_large_pools);
    return test_end();
}
