/* What a thread leaves behind that blocks, waits, or ends its task without a permit; whom it wakes, and where it
 * looks first; what a thread outside does while it waits. In virtual time. */
#include "exact.h"

static item *three[3];

static void make_three(void) {
    for (int i = 0; i < 3; i++) three[i] = item_make(US);
}

/* ---- the order of one worker ---- */

static bool batched;

static wsq_poll back_first_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    for (int i = 0; i < 2; i++) item_spawn(wsq_pool_of(ctx), three[i]);
    wsq_block_begin(ctx); /* its two tasks go to the global queue */
    wsq_block_end(ctx);   /* before a stand-in comes: it has its permit again */
    if (batched) {
        wsq_task *list[1] = {&three[2]->task};
        CHECK_EQ(wsq_spawn_batch(wsq_pool_of(ctx), list, 1), WSQ_OK);
    } else {
        item_spawn(wsq_pool_of(ctx), three[2]);
    }
    return WSQ_DONE;
}

/* What a worker spawns after a block, also as a batch, comes after what it spawned before. */
static void order_after_a_block(void) {
    for (int i = 0; i < 2; i++) {
        wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
        item *first = item_make(0);
        batched = i == 1;
        make_three();
        first->task.fn = back_first_run;
        item_spawn(pool, first);
        wsq_pool_wait(pool);
        CHECK(three[0]->began < three[1]->began);
        CHECK(three[1]->began < three[2]->began);
        wsq_pool_destroy(pool);
        sim.threads = 0; /* the next pool has these cores again */
    }
}

static wsq_poll without_permit_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    wsq_block_begin(ctx);
    nap(MS); /* a stand-in takes the permit, and computes */
    wsq_block_end(ctx);
    item_spawn(wsq_pool_of(ctx), three[0]);
    item_spawn(wsq_pool_of(ctx), three[1]);
    return WSQ_DONE;
}

/* A thread that ends its task without a permit leaves its queue to the others, before what comes later. */
static void order_without_a_permit(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    item *blocks = item_make(0), *longest = item_make(20 * MS);
    make_three();
    blocks->task.fn = without_permit_run;
    item_spawn(pool, blocks);
    item_spawn(pool, longest);
    nap(5 * MS);
    CHECK(longest->began != 0 && longest->ended == 0 && three[0]->spawned != 0);
    item_spawn(pool, three[2]);
    wsq_pool_wait(pool);
    CHECK(three[0]->began < three[1]->began);
    CHECK(three[1]->began < three[2]->began);
    wsq_pool_destroy(pool);
}

/* ---- a permit that is free is taken back ---- */

static unsigned ran_on[9];

static wsq_poll where_run(wsq_ctx ctx, wsq_task *task) {
    ran_on[wsq_worker_index(ctx)]++;
    return item_run(ctx, task);
}

static wsq_poll back_run(wsq_ctx ctx, wsq_task *task) {
    item *self = item_of(task), *late = item_make(US);
    if (self->runs++ == 0) {
        block_for(ctx, MS);
    } else {
        CHECK_EQ(wsq_task_wait_for(&three[0]->task, MS), WSQ_ERR_TIMEOUT);
    }
    late->task.fn = where_run;
    item_spawn(wsq_pool_of(ctx), late);
    return self->runs == 2 ? WSQ_DONE : WSQ_YIELD;
}

/* Nobody took its permit meanwhile, so the worker goes on, and runs what it spawns: no other one wakes. */
static void back_with_its_permit(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    item *goes_on = item_make(0);
    make_three();
    three[0]->pends = true;
    item_spawn(pool, three[0]);
    nap(MS);
    goes_on->task.fn = back_run;
    memset(ran_on, 0, sizeof ran_on);
    item_spawn(pool, goes_on);
    CHECK_EQ(wsq_task_wait(&goes_on->task), WSQ_OK);
    item_wake(three[0]);
    wsq_pool_wait(pool);
    CHECK_EQ(ran_on[0], 2);
    wsq_pool_destroy(pool);
}

/* ---- a batch wakes as many as it has tasks ---- */

/* Each begins within 20 us, on a worker of its own, while there are any; for a few, no other one wakes. */

static void batch_wakes(void) {
    for (unsigned n = 1; n <= 9; n++) {
        wsq_pool *pool = pool_make(&(wsq_config){.workers = 8});
        wsq_task *list[9];
        item *items[9];
        wsq_stats all;
        unsigned late = 0;
        memset(ran_on, 0, sizeof ran_on);
        for (unsigned i = 0; i < n; i++) {
            items[i] = item_make(MS);
            items[i]->task.fn = where_run;
            items[i]->spawned = now();
            list[i] = &items[i]->task;
        }
        CHECK_EQ(wsq_spawn_batch(pool, list, n), WSQ_OK);
        wsq_pool_wait(pool);
        wsq_pool_stats(pool, &all);
        if (n <= 3) CHECK_EQ(all.wakes_sent, n);
        CHECK(all.wakes_sent <= 8);
        for (unsigned i = 0; i < n; i++) late += items[i]->began - items[i]->spawned > 20 * US;
        CHECK_EQ(late, n == 9);
        for (unsigned i = 0; i < 8; i++) CHECK(ran_on[i] <= (n == 9 ? 2 : 1));
        wsq_pool_destroy(pool);
    }
}

/* ---- behind a long task, beside a worker that always has its own ---- */

static wsq_poll spawns_three_run(wsq_ctx ctx, wsq_task *task) {
    for (int i = 0; i < 3; i++) item_spawn(wsq_pool_of(ctx), three[i]);
    compute(item_of(task)->ns);
    return WSQ_DONE;
}

static wsq_poll respawns_run(wsq_ctx ctx, wsq_task *task) {
    item *self = item_of(task), *next;
    compute(10 * US);
    if (now() > self->give_up) return WSQ_DONE;
    next = item_make(0);
    next->task.fn = respawns_run;
    next->give_up = self->give_up;
    item_spawn(wsq_pool_of(ctx), next);
    return WSQ_DONE;
}

/* It takes a task from the other one every second turn: the first turn sees which task that is in. It does
 * so also while its ring is full of tasks from outside, which its own, newer ones keep waiting. */
static void stuck_tasks_beside(int others) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2, .order = WSQ_LIFO});
    item *spawns = item_make(100 * MS), *respawns = item_make(0);
    make_three();
    respawns->task.fn = respawns_run;
    respawns->give_up = now() + 60 * MS;
    item_spawn_on(pool, 1, respawns);
    nap(5 * MS);
    spawns->task.fn = spawns_three_run;
    item_spawn_on(pool, 0, spawns);
    nap(100 * US);
    for (int i = 0; i < others; i++) item_spawn(pool, item_make(US));
    wsq_pool_wait(pool);
    for (int i = 0; i < 3; i++) CHECK(three[i]->began - three[i]->spawned < 10 * MS);
    wsq_pool_destroy(pool);
}

static void stuck_tasks(void) {
    stuck_tasks_beside(0);
    stuck_tasks_beside(100);
}

/* ---- what a block leaves in the worker's queue: nothing ---- */

static unsigned queued;

static wsq_poll leaves_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    for (unsigned i = 0; i < queued; i++) item_spawn(wsq_pool_of(ctx), three[i]);
    wsq_block_begin(ctx);
    CHECK_EQ(wsqi_queue_length(wsqi_block(wsq_pool_of(ctx), 0)), 0);
    wsq_block_end(ctx);
    return WSQ_DONE;
}

/* A thread that has nothing queued wakes nobody. */
static void block_wakes_nobody(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 3});
    item *leaves = item_make(0);
    wsq_stats all;
    queued = 0;
    leaves->task.fn = leaves_run;
    item_spawn(pool, leaves);
    wsq_pool_wait(pool);
    wsq_pool_stats(pool, &all);
    CHECK_EQ(all.wakes_sent, 1);
    wsq_pool_destroy(pool);
}

static void block_leaves_nothing(void) {
    for (queued = 0; queued <= 3; queued++) {
        wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
        item *leaves = item_make(0);
        make_three();
        leaves->task.fn = leaves_run;
        item_spawn(pool, leaves);
        wsq_pool_wait(pool);
        wsq_pool_destroy(pool);
        sim.threads = 0; /* the next pool has these cores again */
    }
}

/* ---- the only task left waits for one that nobody spawns ---- */

static void held_alone(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    item *never = item_make(US), *held = item_make(US);
    wsq_edge edge;
    uint64_t start = now();
    CHECK_EQ(wsq_task_after(&held->task, &never->task, &edge), WSQ_OK);
    item_spawn(pool, held);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_ERR_INVALID);
    CHECK(now() - start >= SECOND && now() - start < SECOND + 100 * US);
    item_spawn(pool, never);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    CHECK(held->ended != 0);
    wsq_pool_destroy(pool);
}

/* ---- a task that yields alone, which nobody was told of, and a pinned one that comes before it ---- */

static uint64_t yielded_at, longest;
static unsigned yields_on;

static wsq_poll yields_run(wsq_ctx ctx, wsq_task *task) {
    if (yielded_at != 0 && now() - yielded_at > longest) longest = now() - yielded_at;
    yields_on = wsq_worker_index(ctx);
    compute(US);
    yielded_at = now();
    return now() < item_of(task)->give_up ? WSQ_YIELD : WSQ_DONE;
}

static void yield_and_pinned(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2});
    for (unsigned i = 0; i < 20; i++) {
        item *yields = item_make(0);
        yielded_at = longest = 0;
        yields->task.fn = yields_run;
        yields->give_up = now() + 3 * MS;
        item_spawn(pool, yields);
        nap(500 * US + i * 100);
        item_spawn_on(pool, yields_on, item_make(10 * MS));
        wsq_pool_wait(pool);
        CHECK(longest < 20 * US);
    }
    wsq_pool_destroy(pool);
}

/* ---- a woken thread looks first where its waker saw work ---- */

static wsq_poll spawns_one_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    item_spawn(wsq_pool_of(ctx), three[0]);
    compute(MS);
    return WSQ_DONE;
}

static uint64_t attempts;

static wsq_poll counts_attempts_run(wsq_ctx ctx, wsq_task *task) {
    wsq_stats stats;
    (void)task;
    wsq_worker_stats(wsq_pool_of(ctx), wsq_worker_index(ctx), &stats);
    attempts = stats.steal_attempts - attempts;
    return WSQ_DONE;
}

static void first_look(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 8});
    wsq_stats one;
    for (unsigned i = 0; i < 8; i++) {
        unsigned lead = 1 + i % 4 * 2;
        item *spawns = item_make(0);
        for (unsigned k = 1; k < 8; k++)
            if (k != lead) item_spawn_on(pool, k, item_make(3 * MS)); /* more to look at */
        make_three();
        three[0]->task.fn = counts_attempts_run;
        spawns->task.fn = spawns_one_run;
        nap(MS);
        item_spawn_on(pool, lead, spawns);
        wsq_worker_stats(pool, 0, &one); /* the lowest sleeper wakes */
        attempts = one.steal_attempts;
        wsq_pool_wait(pool);
        CHECK_EQ(attempts, i < 4 ? 1 : 2); /* the second look takes a task that is alone in its ring */
    }
    nap(MS);
    wsq_worker_stats(pool, 0, &one);
    attempts = one.steal_attempts;
    item_spawn(pool, item_make(US)); /* nobody leads to this one: all others sleep, so it looks at none */
    wsq_pool_wait(pool);
    nap(MS);
    wsq_worker_stats(pool, 0, &one);
    CHECK_EQ(one.steal_attempts, attempts);
    wsq_pool_destroy(pool);
}

/* ---- a join that sleeps with its permit, and the worker with the lowest number does it ---- */

static void second_is_long(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    (void)ctx, (void)end, (void)arg;
    compute(begin == 0 ? 100 * US : 10 * MS);
}

static wsq_poll joins_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    wsq_for(ctx, 0, 2, 1, second_is_long, NULL);
    return WSQ_DONE;
}

static void join_gives_its_permit(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2});
    item *joins = item_make(0), *late = item_make(US);
    wsq_stats all;
    joins->task.fn = joins_run;
    item_spawn_on(pool, 0, joins);
    nap(5 * MS);
    item_spawn(pool, late);
    nap(MS);
    CHECK(late->began != 0 && late->began - late->spawned < 100 * US);
    wsq_pool_wait(pool);
    wsq_pool_stats(pool, &all);
    CHECK_EQ(all.joins_parked, 2); /* it was called, and slept again */
    wsq_pool_destroy(pool);
}

/* ---- without stand-ins: a thread that waits goes on if its permit would lie idle ---- */

static wsq_poll waits_for_first_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    CHECK_EQ(wsq_task_wait(&three[0]->task), WSQ_OK);
    return WSQ_DONE;
}

static void no_permit_lies_idle(void) {
    for (unsigned workers = 2; workers <= 4; workers++) {
        wsq_pool *pool = pool_make(&(wsq_config){.workers = workers, .max_standins = WSQ_STANDINS_OFF});
        item *waits = item_make(0), *both[4];
        make_three();
        three[0]->pends = true;
        item_spawn(pool, three[0]);
        nap(MS);
        waits->task.fn = waits_for_first_run;
        item_spawn_on(pool, 0, waits);
        nap(MS);
        for (unsigned i = 0; i < workers; i++) item_spawn(pool, both[i] = item_make(10 * MS));
        nap(MS);
        for (unsigned i = 0; i < workers; i++) CHECK(both[i]->began != 0);
        item_wake(three[0]);
        wsq_pool_wait(pool);
        wsq_pool_destroy(pool);
        sim.threads = 0; /* the next pool has these cores again */
    }
}

/* ---- a stand-in that could not be started is started for the next task ---- */

static void standin_for_a_task(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    item *blocks = item_make(5 * MS), *late = item_make(US);
    unsigned threads = sim.threads, outside_threads = sim.outside;
    sim.threads = WORLD_CORES; /* no core is left for another */
    for (unsigned i = outside_threads; i < SIM_OUTSIDE; i++) sim.cores[WORLD_CORES + i].state = SIM_READY;
    sim.outside = SIM_OUTSIDE;
    blocks->task.fn = blocks_run;
    item_spawn(pool, blocks);
    nap(MS);
    sim.threads = threads;
    sim.outside = outside_threads;
    item_spawn(pool, late);
    wsq_pool_wait(pool);
    CHECK(late->began - late->spawned < 100 * US);
    wsq_pool_destroy(pool);
}

/* A thread that waits without a permit runs the task if no stand-in can be started. */
static void waiter_for_a_task(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    item *waits = item_make(0), *blocks = item_make(5 * MS), *late = item_make(US);
    unsigned threads, outside_threads = sim.outside;
    make_three();
    three[0]->pends = true;
    item_spawn(pool, three[0]);
    nap(MS);
    waits->task.fn = waits_for_first_run;
    item_spawn(pool, waits);
    nap(MS); /* a stand-in has its permit */
    threads = sim.threads;
    sim.threads = WORLD_CORES; /* no core is left for another */
    for (unsigned i = outside_threads; i < SIM_OUTSIDE; i++) sim.cores[WORLD_CORES + i].state = SIM_READY;
    sim.outside = SIM_OUTSIDE;
    blocks->task.fn = blocks_run;
    item_spawn(pool, blocks);
    nap(MS);
    item_spawn(pool, late);
    nap(MS);
    CHECK(late->began != 0 && late->began - late->spawned < 100 * US);
    sim.threads = threads;
    sim.outside = outside_threads;
    item_wake(three[0]);
    wsq_pool_wait(pool);
    wsq_pool_destroy(pool);
}

/* ---- without stand-ins: the permit of a thread that has helped goes back to one that waits ---- */

static wsq_poll blocks_then_waits_run(wsq_ctx ctx, wsq_task *task) {
    (void)blocks_run(ctx, task);
    CHECK_EQ(wsq_task_wait(&three[0]->task), WSQ_OK);
    return WSQ_DONE;
}

static void permit_of_a_helper(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1, .max_standins = WSQ_STANDINS_OFF});
    item *waits = item_make(MS), *member = item_make(3 * MS), *late = item_make(US);
    wsq_group group;
    make_three();
    three[0]->pends = true;
    item_spawn(pool, three[0]);
    nap(MS);
    waits->task.fn = blocks_then_waits_run;
    item_spawn(pool, waits);
    nap(100 * US);
    CHECK_EQ(wsq_group_init(&group, pool), WSQ_OK);
    CHECK_EQ(wsq_group_spawn(&group, &member->task), WSQ_OK);
    CHECK_EQ(wsq_group_wait(&group), WSQ_OK); /* it runs the member, beyond the end of the block */
    nap(MS);
    item_spawn(pool, late);
    nap(MS);
    CHECK(late->began != 0 && late->began - late->spawned < 100 * US);
    item_wake(three[0]);
    wsq_pool_wait(pool);
    wsq_pool_destroy(pool);
}

/* ---- time that a thread sleeps is not its tasks' ---- */

static void sleep_is_no_work(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    item *blocks = item_make(MS), *longer = item_make(20 * MS);
    wsq_stats one;
    blocks->task.fn = blocks_run;
    for (int i = 0; i < 40; i++) item_spawn(pool, item_make(US)); /* enough for a turn to count */
    item_spawn(pool, blocks);
    item_spawn(pool, longer); /* a stand-in has the permit when the block ends */
    wsq_pool_wait(pool);
    nap(SECOND);
    item_spawn(pool, item_make(US));
    wsq_pool_wait(pool);
    wsq_worker_stats(pool, 0, &one);
    CHECK_EQ(one.run, 42);
    CHECK(one.average_task_ns < 60 * US);
    wsq_pool_destroy(pool);
}

/* ---- an edge is added while another one is resolved ---- */

static void edge_beside_an_end(void) {
    for (uint64_t at = 1; at < 30; at++) {
        wsq_pool *pool = pool_make(&(wsq_config){.workers = 3});
        wsq_edge first, second;
        make_three(); /* the third follows the others */
        three[0]->ns = 20 * US;
        three[1]->ns = 5 * MS;
        CHECK_EQ(wsq_task_after(&three[2]->task, &three[0]->task, &first), WSQ_OK);
        item_spawn(pool, three[0]);
        item_spawn(pool, three[1]);
        sim_stall.only = 1 + sim.running->id;
        sim_stall.ns = MS;
        sim_stall.left = at;
        CHECK_EQ(wsq_task_after(&three[2]->task, &three[1]->task, &second), WSQ_OK);
        sim_stall.left = 0;
        sim_stall.only = 0;
        item_spawn(pool, three[2]);
        wsq_pool_wait(pool);
        CHECK(three[2]->began >= three[1]->ended);
        wsq_pool_destroy(pool);
        sim.threads = 0; /* the next pool has these cores again */
    }
}

/* ---- how many one thread wakes ---- */

static void wakes_of_one(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 12});
    wsq_task *list[12];
    wsq_stats one;
    uint64_t most = 0;
    for (unsigned i = 0; i < 12; i++) list[i] = &item_make(10 * MS)->task;
    CHECK_EQ(wsq_spawn_batch(pool, list, 12), WSQ_OK);
    nap(MS);
    for (unsigned i = 0; i < 12; i++) {
        wsq_worker_stats(pool, i, &one);
        if (one.wakes_sent > most) most = one.wakes_sent;
    }
    CHECK_EQ(most, 4);
    wsq_pool_wait(pool);
    wsq_pool_destroy(pool);
}

/* ---- a thread outside that waits: it looks before it sleeps, and helps ---- */

static sim_core *waiter;
static bool watching, looked;

static void watches(void *arg) {
    (void)arg;
    for (;;) {
        while (!watching) nap(US);
        nap(30 * US);
        looked = waiter->state != SIM_ASLEEP;
        watching = false;
    }
}

static bool looks(wsq_pool *pool, uint64_t ns) {
    item *one = item_make(ns);
    item_spawn(pool, one);
    watching = true;
    CHECK_EQ(wsq_task_wait(&one->task), WSQ_OK);
    return looked;
}

/* Four waits that last longer than a look, then every 16th; and again after a look that saw the end. */
static void looks_then_sleeps(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    waiter = sim.running;
    outside(watches, NULL);
    for (unsigned i = 0; i < 33; i++) CHECK_EQ(looks(pool, 300 * US), i < 4 || i == 16 || i == 32);
    for (unsigned i = 33; i < 48; i++) CHECK(!looks(pool, 300 * US));
    (void)looks(pool, 5 * US); /* the 49th looks, and sees the end */
    nap(MS);
    for (unsigned i = 0; i < 6; i++) CHECK_EQ(looks(pool, 300 * US), i < 4);
    wsq_pool_destroy(pool);
}

static const sim_core *caller;
static unsigned helped;

static wsq_poll helped_run(wsq_ctx ctx, wsq_task *task) {
    helped += sim.running == caller;
    return item_run(ctx, task);
}

/* It waits for a task that a worker runs already. */
static wsq_poll looks_inside(wsq_ctx ctx, wsq_task *task) {
    item *one = item_make(40 * US);
    CHECK(sim.running == waiter);
    (void)task;
    item_spawn(wsq_pool_of(ctx), one);
    while (one->began == 0) compute(100);
    watching = true;
    CHECK_EQ(wsq_task_wait(&one->task), WSQ_OK);
    return WSQ_DONE;
}

/* A task that the waiting thread runs may wait, too. */
static void looks_while_it_helps(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2});
    item *one = item_make(0);
    waiter = sim.running;
    outside(watches, NULL);
    one->task.fn = looks_inside;
    item_spawn(pool, one);
    CHECK_EQ(wsq_task_wait(&one->task), WSQ_OK);
    CHECK(looked);
    wsq_pool_destroy(pool);
}

static void hear_nothing(void *user, wsq_event event, unsigned worker, const void *subject, uint64_t value) {
    (void)user, (void)event, (void)worker, (void)subject, (void)value;
}

/* How many tasks of a group the thread runs that waits for it, beside sleepers. */
static unsigned helps(unsigned workers, uint32_t events) {
    const wsq_hooks hooks = {.event = hear_nothing, .events = events};
    wsq_pool *pool = pool_make(&(wsq_config){.workers = workers, .hooks = events != 0 ? &hooks : NULL});
    wsq_group group;
    wsq_task *list[4];
    caller = sim.running;
    helped = 0;
    CHECK_EQ(wsq_group_init(&group, pool), WSQ_OK);
    for (int i = 0; i < 4; i++) {
        item *one = item_make(20 * US);
        one->task.fn = helped_run;
        list[i] = &one->task;
    }
    CHECK_EQ(wsq_group_spawn_batch(&group, list, 4), WSQ_OK);
    CHECK_EQ(wsq_group_wait(&group), WSQ_OK);
    wsq_pool_destroy(pool);
    sim.threads = 0; /* the next pool has these cores again */
    return helped;
}

/* While a permit is free. A hook that hears of threads may have set up something for them. */
static void helps_beside_a_sleeper(void) {
    CHECK_EQ(helps(1, 0), 0);
    CHECK(helps(2, 0) != 0);
    CHECK(helps(2, 1u << WSQ_EVENT_STOP) != 0);
    CHECK_EQ(helps(2, 1u << WSQ_EVENT_START), 0);
}

/* ---- on which processor a waker for jobs was ---- */

static void piece_of_two(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    (void)end, (void)arg;
    const wsq_pool *pool = wsq_pool_of(ctx);
    uint32_t from = 0;
    for (unsigned i = 0; i < 2; i++) from += wsqi_load_hint(&wsqi_block(pool, i)->woken.from);
    if (begin == 0) CHECK_EQ(from, 1 + sim.running->id); /* one of the two is on its way */
    compute(100 * US);
}

static void loop_of_two(wsq_ctx ctx, void *arg) { wsq_for(ctx, 0, 2, 1, piece_of_two, arg); }

static void woken_beside(wsqi_worker *worker) {
    wsqi_store_hint(&worker->woken.from, 1 + sim.running->id);
    wsqi_leave_waker(worker);
}

/* A worker that was woken for jobs twice in a row on its waker's processor leaves that; again at the 4th, the
 * 8th time. */
static void processor_of_the_waker(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2});
    wsqi_worker *worker = wsqi_block(pool, 0);
    CHECK_EQ(wsq_run(pool, loop_of_two, NULL), WSQ_OK);
    for (unsigned i = 0; i < 2; i++) CHECK_EQ(wsqi_load_hint(&wsqi_block(pool, i)->woken.from), 0);
    worker->sleep.beside = 1;
    wsqi_leave_waker(worker); /* it was not woken for jobs */
    CHECK_EQ(worker->sleep.beside, 1);
    worker->sleep.beside = 0;
    sim_cpu_leaves = 0;
    for (unsigned i = 1; i <= 9; i++) {
        woken_beside(worker);
        CHECK_EQ(worker->sleep.beside, i);
        CHECK_EQ(wsqi_load_hint(&worker->woken.from), 0);
        CHECK_EQ(sim_cpu_leaves, i < 2 ? 0 : i < 4 ? 1 : i < 8 ? 2 : 3);
    }
    wsqi_store_hint(&worker->woken.from, 2 + sim.running->id);
    wsqi_leave_waker(worker);
    CHECK_EQ(worker->sleep.beside, 0);
    CHECK_EQ(wsqi_load_hint(&worker->woken.from), 0);
    wsq_pool_destroy(pool);
}

int main(void) {
    test_begin("exact_permits");
    IN_WORLD(order_after_a_block);
    IN_WORLD(order_without_a_permit);
    IN_WORLD(back_with_its_permit);
    IN_WORLD(batch_wakes);
    IN_WORLD(stuck_tasks);
    IN_WORLD(block_leaves_nothing);
    IN_WORLD(block_wakes_nobody);
    IN_WORLD(held_alone);
    IN_WORLD(yield_and_pinned);
    IN_WORLD(first_look);
    IN_WORLD(wakes_of_one);
    IN_WORLD(join_gives_its_permit);
    IN_WORLD(no_permit_lies_idle);
    IN_WORLD(standin_for_a_task);
    IN_WORLD(waiter_for_a_task);
    IN_WORLD(permit_of_a_helper);
    IN_WORLD(sleep_is_no_work);
    IN_WORLD(edge_beside_an_end);
    IN_WORLD(looks_then_sleeps);
    IN_WORLD(looks_while_it_helps);
    IN_WORLD(helps_beside_a_sleeper);
    IN_WORLD(processor_of_the_waker);
    return test_end();
}
