/* How soon a task starts that another worker could run, when the one that made it runnable computes on; when a
 * loop wakes another worker; how soon ends are told, what a shutdown waits for; pipelines. In virtual time. */
#include "exact.h"

#include "../../examples/wsq_pipeline.h"

#include <unistd.h>

enum { HOW_MANY = 4 }; /* the last one stays NULL */

typedef struct maker {
    void (*make)(wsq_ctx ctx);
    item *made[HOW_MANY];
    uint64_t later; /* it computes so long first */
} maker;

static maker current;
static bool evicted; /* only those count that another one has evicted from the slot */

static wsq_poll make_run(wsq_ctx ctx, wsq_task *task) {
    compute(current.later);
    current.make(ctx);
    compute(item_of(task)->ns);
    return WSQ_DONE;
}

/* The longest time until one of them began, of those that worker 0 made, and computed on for 10 ms. */
static uint64_t soon(wsq_pool *pool, void (*make)(wsq_ctx ctx)) {
    uint64_t most = 0;
    item *makes = item_make(10 * MS);
    current.make = make;
    makes->task.fn = make_run;
    item_spawn_on(pool, 0, makes);
    wsq_pool_wait(pool);
    for (int i = 0; i < HOW_MANY; i++) {
        if (current.made[i] == NULL || (evicted && current.made[i + 1] == NULL)) continue;
        uint64_t took = current.made[i]->began - current.made[i]->spawned;
        if (took > most) most = took;
    }
    memset(&current, 0, sizeof current);
    return most;
}

/* ---- spawns of every kind ---- */

static item *made(int i) { return current.made[i] = item_make(US); }

static void spawn_one(wsq_ctx ctx) { item_spawn(wsq_pool_of(ctx), made(0)); }

static void spawn_high(wsq_ctx ctx) {
    wsq_task_set_priority(&made(0)->task, WSQ_HIGH);
    item_spawn(wsq_pool_of(ctx), current.made[0]);
}

static void spawn_low(wsq_ctx ctx) {
    wsq_task_set_priority(&made(0)->task, WSQ_LOW);
    item_spawn(wsq_pool_of(ctx), current.made[0]);
}

static void spawn_pinned(wsq_ctx ctx) { item_spawn_on(wsq_pool_of(ctx), 1, made(0)); }

static void spawn_batch(wsq_ctx ctx) {
    wsq_task *list[3];
    for (int i = 0; i < 3; i++) {
        list[i] = &made(i)->task;
        current.made[i]->spawned = now();
    }
    CHECK_EQ(wsq_spawn_batch(wsq_pool_of(ctx), list, 3), WSQ_OK);
}

static void spawn_high_batch(wsq_ctx ctx) {
    wsq_task *list[3];
    for (int i = 0; i < 3; i++) {
        list[i] = &made(i)->task;
        wsq_task_set_priority(list[i], i == 1 ? WSQ_HIGH : WSQ_NORMAL);
        current.made[i]->spawned = now();
    }
    CHECK_EQ(wsq_spawn_batch(wsq_pool_of(ctx), list, 3), WSQ_OK);
}

static void spawns(void) {
    static void (*const kinds[])(wsq_ctx) = {spawn_one,    spawn_high,  spawn_low,
                                             spawn_pinned, spawn_batch, spawn_high_batch};
    static const wsq_order orders[] = {WSQ_FIFO, WSQ_LIFO, WSQ_SHARED};
    for (int o = 0; o < 3; o++) {
        wsq_pool *pool = pool_make(&(wsq_config){.workers = 4, .order = orders[o]});
        for (unsigned k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            nap(MS); /* all sleep */
            CHECK(soon(pool, kinds[k]) < 20 * US);
        }
        wsq_pool_destroy(pool);
    }
}

/* ---- tasks that are woken, into the slot ---- */

static void wake_one(wsq_ctx ctx) {
    (void)ctx;
    item_wake(current.made[0]);
}

/* The second evicts the first from the slot, and the third the second. */
static void wake_three(wsq_ctx ctx) {
    (void)ctx;
    for (int i = 0; i < 3; i++) item_wake(current.made[i]);
}

static wsq_poll short_run(wsq_ctx ctx, wsq_task *task) {
    item *self = item_of(task);
    (void)ctx;
    compute(200);
    return --self->runs != 0 ? WSQ_YIELD : WSQ_DONE;
}

static bool watched; /* a timer is set, so a sleeper watches */

static uint64_t slot_time(wsq_config config, bool short_tasks, uint64_t later, int wakes) {
    wsq_pool *pool = pool_make(&config);
    wsq_stats stats;
    item *timed = item_make(0);
    if (watched) item_set_timer(pool, timed, 50 * SECOND);
    if (short_tasks) { /* so that the average is some 200 ns */
        item *runs = item_make(0);
        runs->task.fn = short_run;
        runs->runs = 20000;
        item_spawn_on(pool, 0, runs);
        wsq_pool_wait(pool);
        wsq_worker_stats(pool, 0, &stats);
        CHECK(stats.average_task_ns < 500);
    }
    for (int i = 0; i < wakes; i++) {
        made(i)->pends = true;
        item_spawn(pool, current.made[i]);
    }
    nap(2 * MS);
    current.later = later;
    uint64_t took = soon(pool, wakes == 1 ? wake_one : wake_three);
    wsq_timer_cancel(&timed->timer);
    if (wakes == 1 && !short_tasks && later == MS) /* a thread that was told has taken it */
        CHECK_EQ(wsqi_load_hint(&wsqi_block(pool, 0)->marks.vain), 0);
    wsq_pool_destroy(pool);
    sim.threads = 0; /* the next pool has these cores again */
    return took;
}

/* Whether tasks are long or short, early or late in the waker's task, with a slot or without, beside sleepers or
 * one that spins. */
static void slots(void) {
    for (unsigned workers = 2; workers <= 4; workers += 2) {
        watched = true;
        uint64_t late = slot_time((wsq_config){.workers = workers, .spin_ns = WSQ_SPIN_OFF}, true, 0, 1);
        CHECK(late >= 500 * US && late < 600 * US); /* the watcher's half millisecond, and a wake-up */
        CHECK(slot_time((wsq_config){.workers = workers}, false, MS, 1) < 20 * US);
        if (workers > 2) CHECK(slot_time((wsq_config){.workers = workers}, false, 5 * MS, 1) < 20 * US);
        evicted = true;
        if (workers > 2) CHECK(slot_time((wsq_config){.workers = workers}, true, 5 * MS, 3) < 20 * US);
        watched = evicted = false;
        for (uint64_t later = 0; later < 3 * MS; later += 700 * US) {
            CHECK(slot_time((wsq_config){.workers = workers}, false, later, 1) < 20 * US);
            CHECK(slot_time((wsq_config){.workers = workers}, true, later, 1) < 20 * US);
        }
        CHECK(slot_time((wsq_config){.workers = workers}, false, 0, 3) < 20 * US);
        CHECK(slot_time((wsq_config){.workers = workers}, true, 0, 3) < 20 * US);
        CHECK(slot_time((wsq_config){.workers = workers, .lifo_cap = WSQ_LIFO_OFF}, true, 0, 1) < 20 * US);
        CHECK(slot_time((wsq_config){.workers = workers, .spin_ns = 100 * MS}, true, 0, 1) < 20 * US);
        CHECK(slot_time((wsq_config){.workers = workers, .spin_ns = WSQ_SPIN_OFF}, true, 0, 1) < 1020 * US);
    }
}

/* ---- beside a driver, a thread looks on only while that finds something ---- */

static wsqi_parking bell;
static wsqi_a32 rung;
static int children;

static bool bell_wait(uint64_t timeout_ns, void *user) {
    (void)user;
    if (timeout_ns != 0) wsqi_parking_wait(&bell, &rung, 0, timeout_ns);
    wsqi_store_rlx(&rung, 0u);
    return false;
}

static void bell_dispatch(wsq_pool *pool, void *user) { (void)pool, (void)user; }

static void bell_ring(void *user) {
    (void)user;
    wsqi_store_rlx(&rung, 1u);
    wsqi_parking_wake(&bell, &rung, false);
}

/* The other worker takes each child, as soon as it is awake. */
static wsq_poll has_children(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    for (int i = 0; i < children; i++) {
        item *child = item_make(US);
        item_spawn(wsq_pool_of(ctx), child);
        compute(10 * US);
        CHECK(child->ended != 0);
    }
    return WSQ_DONE;
}

/* A single child lies where the waker says. The next ones come while the other worker looks on. */
static void looks_on(void) {
    static const wsq_driver driver = {bell_wait, bell_dispatch, bell_ring, NULL};
    for (children = 1; children <= 3; children += 2) {
        unsigned discouraged = 0;
        wsq_pool *pool = pool_make(&(wsq_config){.workers = 2, .driver = &driver});
        for (int i = 0; i < 13 - 3 * children; i++) {
            wsq_task parent = {.fn = has_children};
            CHECK_EQ(wsq_spawn(pool, &parent), WSQ_OK);
            CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
            nap(MS);
        }
        for (unsigned i = 0; i < 2; i++) discouraged += wsqi_block(pool, i)->search.vain >= WSQI_VAIN;
        CHECK(children == 1 ? discouraged == 2 : discouraged < 2);
        wsq_pool_destroy(pool);
        sim.threads = 0;
    }
}

/* ---- where the caller runs the tasks ---- */

static wsq_pool *pumped;
static item *awaited[2];
static uint64_t returned[2];

static void waits_for_one(void *arg) {
    int which = arg == &returned[1];
    CHECK_EQ(wsq_task_wait(&awaited[which]->task), WSQ_OK);
    returned[which] = now();
}

/* Two threads wait: the one that runs tasks returns when its own is over, and the other one goes on with it. */
static void pumps(void) {
    item *rest[5];
    pumped = pool_make(&(wsq_config){.caller_runs = true});
    for (int i = 0; i < 2; i++) item_spawn(pumped, awaited[i] = item_make(i == 0 ? MS : 2 * MS));
    sim_core *one = outside(waits_for_one, &returned[0]);
    nap(100 * US);
    sim_core *two = outside(waits_for_one, &returned[1]);
    sim_join(one);
    sim_join(two);
    CHECK(returned[0] < awaited[0]->ended + 20 * US);
    CHECK(awaited[1]->began < returned[0] + 50 * US);
    CHECK(returned[1] < awaited[1]->ended + 20 * US);
    for (int i = 0; i < 5; i++) item_spawn(pumped, rest[i] = item_make(US));
    CHECK_EQ(wsq_pool_wait(pumped), WSQ_OK);
    for (int i = 0; i < 5; i++) CHECK(rest[i]->ended != 0);
    wsq_pool_destroy(pumped);
}

/* ---- a wait runs what it awaits, wherever that lies in the queue ---- */

static item *behind[3];

static wsq_poll awaits_last_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    for (int i = 0; i < 3; i++) item_spawn(wsq_pool_of(ctx), behind[i] = item_make(US));
    CHECK_EQ(wsq_task_wait(&behind[2]->task), WSQ_OK);
    return WSQ_DONE;
}

/* It needs no other thread for that, and the others keep their order. */
static void awaits_the_last(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    item *awaits = item_make(0);
    awaits->task.fn = awaits_last_run;
    item_spawn(pool, awaits);
    wsq_pool_wait(pool);
    CHECK_EQ(sim.threads, 1);
    CHECK(behind[2]->ended < behind[0]->began && behind[0]->began < behind[1]->began);
    wsq_pool_destroy(pool);
}

static wsq_poll awaits_group_run(wsq_ctx ctx, wsq_task *task) {
    wsq_group group;
    (void)task;
    CHECK_EQ(wsq_group_init(&group, wsq_pool_of(ctx)), WSQ_OK);
    for (int i = 0; i < 3; i++) {
        behind[i] = item_make(US);
        if (i == 1) item_spawn(wsq_pool_of(ctx), behind[i]);
        else CHECK_EQ(wsq_group_spawn(&group, &behind[i]->task), WSQ_OK);
    }
    CHECK_EQ(wsq_group_wait(&group), WSQ_OK);
    CHECK(behind[1]->began == 0);
    return WSQ_DONE;
}

/* It runs the group's tasks, and no other one. */
static void awaits_the_group(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    item *awaits = item_make(0);
    awaits->task.fn = awaits_group_run;
    item_spawn(pool, awaits);
    wsq_pool_wait(pool);
    CHECK_EQ(sim.threads, 1);
    CHECK(behind[0]->ended < behind[2]->began && behind[2]->ended < behind[1]->began);
    wsq_pool_destroy(pool);
}

/* ---- a timer that has fired is not set ---- */

static void fired_timer(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    item *timed = item_make(US);
    timed->pends = true;
    item_spawn(pool, timed);
    nap(MS);
    item_set_timer(pool, timed, MS);
    CHECK(wsqi_load_acq(&timed->timer.timers) != NULL);
    wsq_pool_wait(pool);
    CHECK(wsqi_load_acq(&timed->timer.timers) == NULL); /* so that a cancel does not look at the pool */
    wsq_pool_destroy(pool);
    CHECK(!wsq_timer_cancel(&timed->timer));
}

/* ---- the watcher's time is up while it is woken for other work ---- */

static void *call_run(void *arg) {
    compute(50850);
    return arg;
}

/* Each call wakes the watcher, earlier than a time-out would, and is then run here. */
static wsq_poll calls_run(wsq_ctx ctx, wsq_task *task) {
    for (int i = 0; i < 40; i++) {
        wsq_future *future;
        CHECK_EQ(wsq_submit(wsq_pool_of(ctx), call_run, NULL, &future), WSQ_OK);
        CHECK_EQ(wsq_future_get(future, NULL), WSQ_OK);
    }
    (void)task;
    return WSQ_DONE;
}

/* Whenever the slot is filled: also while the watcher is awake, and need not be told. */
static void watcher_has_no_rest(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 4, .spin_ns = WSQ_SPIN_OFF});
    item *runs = item_make(0); /* so that the average is some 200 ns */
    runs->task.fn = short_run;
    runs->runs = 20000;
    item_spawn_on(pool, 0, runs);
    wsq_pool_wait(pool);
    for (uint64_t later = 0; later < 60 * US; later += 500) {
        item *calls = item_make(0);
        calls->task.fn = calls_run;
        made(0)->pends = true;
        item_spawn(pool, current.made[0]);
        nap(2 * MS);
        current.later = later;
        item_spawn_on(pool, 1, calls);
        CHECK(soon(pool, wake_one) < 1100 * US);
    }
    wsq_pool_destroy(pool);
}

/* ---- wakes into a slot that come too late ---- */

static wsq_poll wakes_and_ends_run(wsq_ctx ctx, wsq_task *task) {
    wsqi_worker *worker = wsqi_block(wsq_pool_of(ctx), 0);
    uint32_t vain = wsqi_load_hint(&worker->marks.vain);
    (void)task;
    item_wake(current.made[0]);
    CHECK_EQ(wsqi_load_hint(&worker->marks.vain), vain + 1);
    return WSQ_DONE;
}

/* The waker runs the task itself, before another thread has woken up. */
static void slots_in_vain(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2});
    for (int i = 0; i < 8; i++) {
        item *wakes = item_make(0);
        made(0)->pends = true;
        item_spawn(pool, current.made[0]);
        wakes->task.fn = wakes_and_ends_run;
        nap(MS);
        item_spawn_on(pool, 0, wakes);
        wsq_pool_wait(pool);
    }
    memset(&current, 0, sizeof current);
    wsq_pool_destroy(pool);
}

/* ---- when a loop wakes another worker ---- */

static uint64_t second_began;
static const sim_core *first_core;

static void element(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    (void)ctx, (void)arg;
    if (begin == 0) first_core = sim.running;
    if (sim.running != first_core && second_began == 0) second_began = now();
    compute((end - begin) * MS);
}

static void elements_run(wsq_ctx ctx, void *arg) { wsq_for(ctx, 0, *(size_t *)arg, 0, element, NULL); }

/* Up to four elements for each worker: before the first one; else after it. */
static void few_elements(void) {
    for (size_t count = 6; count <= 11; count++) {
        wsq_pool *pool = pool_make(&(wsq_config){.workers = 2});
        uint64_t start = now();
        second_began = 0;
        CHECK_EQ(wsq_run(pool, elements_run, &count), WSQ_OK);
        if (count <= 8) CHECK(second_began - start < 50 * US);
        else CHECK(second_began - start >= MS && second_began - start < MS + 50 * US);
        wsq_pool_destroy(pool);
        sim.threads = 0; /* the next pool has these cores again */
    }
}

/* ---- ends that are told soon ---- */

/* A thread whose task ends without a permit tells that to the group. */
static void end_without_a_permit(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    item *blocks = item_make(MS), *longer = item_make(20 * MS);
    wsq_group group;
    uint64_t start = now();
    blocks->task.fn = blocks_run;
    CHECK_EQ(wsq_group_init(&group, pool), WSQ_OK);
    CHECK_EQ(wsq_group_spawn(&group, &blocks->task), WSQ_OK);
    nap(100 * US);
    item_spawn(pool, longer);
    CHECK_EQ(wsq_group_wait_for(&group, 10 * MS), WSQ_OK);
    CHECK(now() - start < MS + 200 * US);
    wsq_pool_wait(pool);
    wsq_pool_destroy(pool);
}

/* A thread that was lent leaves its permit behind: otherwise nobody is the last one with work. */
static void lent_thread_leaves(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2, .lend_only = true});
    sim_core *lent[2];
    for (int i = 0; i < 2; i++) lent[i] = outside(lend, pool);
    nap(MS);
    wsq_worker_dismiss(pool, 0);
    sim_join(lent[0]);
    nap(MS);
    CHECK_EQ(wsqi_free_permits(wsqi_load_hint(&pool->permits)), 2);
    for (int i = 0; i < 3; i++) {
        uint64_t start = now();
        item_spawn(pool, item_make(MS));
        CHECK_EQ(wsq_pool_wait_for(pool, SECOND), WSQ_OK);
        CHECK(now() - start < MS + 100 * US);
    }
    CHECK_EQ(wsq_pool_shutdown(pool, WSQ_DRAIN), WSQ_OK);
    sim_join(lent[1]);
    wsq_pool_destroy(pool);
}

static unsigned cleaned;

static wsq_poll clean(wsq_task *task) {
    (void)task;
    cleaned++;
    return WSQ_DONE;
}

/* Without threads, the thread that shuts down cancels what is queued; one that wakes a task later cancels that. */
static void cancelled_without_threads(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1, .lend_only = true});
    sim_core *lent = outside(lend, pool);
    item *pends = item_make(US), *queued = item_make(US);
    pends->pends = true;
    wsq_task_set_cleanup(&pends->task, clean);
    wsq_task_set_cleanup(&queued->task, clean);
    item_spawn(pool, pends);
    nap(MS);
    wsq_worker_dismiss(pool, 0);
    sim_join(lent);
    item_spawn(pool, queued);
    CHECK_EQ(wsq_pool_shutdown(pool, WSQ_CANCEL), WSQ_OK);
    CHECK_EQ(cleaned, 1);
    item_wake(pends);
    CHECK_EQ(cleaned, 2);
    CHECK(pends->ended == 0 && queued->ended == 0);
    wsq_pool_destroy(pool);
}

/* ---- a timer that is due while the last permit goes to sleep ---- */

static wsq_poll short_timer_run(wsq_ctx ctx, wsq_task *task) {
    item *self = item_of(task);
    if (self->runs++ != 0) {
        self->began = now();
        return WSQ_DONE;
    }
    for (int i = 0; i < 2; i++) {
        item *one = item_make(current.later * (uint64_t)i);
        if (i == 0) wsq_task_set_priority(&one->task, WSQ_LOW); /* so a stand-in runs it, and then has the permit */
        item_spawn(wsq_pool_of(ctx), one);
        CHECK_EQ(wsq_task_wait(&one->task), WSQ_OK);
    }
    item_set_timer(wsq_pool_of(ctx), self, self->ns);
    return WSQ_PENDING;
}

/* The worker sleeps without a permit, and watches. The stand-in, which has the permit, found nothing before the timer
 * was due, and sleeps after that. Only time-outs that come on time end while it still looks. */
static void due_as_a_permit_goes_to_sleep(bool late) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    if (!late) sim.price.timer_latency = 0;
    for (current.later = US; current.later < 20 * US; current.later += US) {
        for (uint64_t ns = 0; ns < 20 * US; ns += 250) {
            item *self = item_make(ns);
            self->task.fn = short_timer_run;
            item_spawn(pool, self);
            CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
            CHECK(self->began - self->spawned < ns + (late ? 120 : 30) * US);
        }
    }
    current.later = 0;
    wsq_pool_destroy(pool);
}

static void due_and_late(void) { due_as_a_permit_goes_to_sleep(true); }
static void due_on_time(void) { due_as_a_permit_goes_to_sleep(false); }

static wsq_poll blocks_late_run(wsq_ctx ctx, wsq_task *task) {
    compute(item_of(task)->ns);
    block_for(ctx, 5 * MS);
    return WSQ_DONE;
}

/* Worker 1, worker 2 and the first stand-in have the permits when the timer is due; the second stand-in watches. Then
 * worker 1 blocks. */
static void due_before_a_block(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 3});
    for (unsigned i = 0; i < 10; i++) {
        item *timed = item_make(US), *late = item_make(3 * MS + i * 50 * US);
        timed->pends = true;
        late->task.fn = blocks_late_run;
        item_spawn(pool, timed);
        nap(MS);
        item_spawn_on(pool, 0, item_blocks(20 * MS));
        item_spawn_on(pool, 2, item_blocks(300 * US));
        item_spawn_on(pool, 1, late);
        nap(50 * US);
        item_spawn(pool, item_make(200 * US));
        nap(30 * US);
        item_spawn(pool, item_make(20 * US));
        item_set_timer(pool, timed, 2 * MS);
        nap(MS);
        item_spawn_on(pool, 2, item_make(15 * MS));
        nap(50 * US);
        item_spawn(pool, item_make(15 * MS));
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        CHECK(timed->began - late->spawned < late->ns + 100 * US);
    }
    wsq_pool_destroy(pool);
}

/* ---- two calls from outside ---- */

static uint64_t begun[2];

static void go_run(void *arg) {
    *(uint64_t *)arg = now();
    compute(MS);
}

/* A wake-up takes 4 us here, and to call it 1.5 us, which the calling thread pays: two workers are on
 * their way at the same time. Else the first one would call the second one when it has woken up. */
static void pairs_begin_together(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 4});
    nap(MS); /* the workers sleep */
    uint64_t called = now();
    for (int i = 0; i < 2; i++) CHECK_EQ(wsq_go(pool, go_run, &begun[i]), WSQ_OK);
    wsq_pool_wait(pool);
    CHECK(begun[0] - called < 7 * US && begun[1] - called < 7 * US);
    wsq_pool_destroy(pool);
}

/* ---- wsq_pipeline.h: lines that come to a stage in order ---- */

enum { ITEMS = 1000 };

typedef struct items {
    uint64_t ns, item[WSQ_PIPELINE_LINES], read, written;
    bool uneven;
} items;

static bool items_read(void *user, unsigned line) {
    items *self = user;
    self->item[line] = self->read;
    compute(20);
    return self->read++ < ITEMS;
}

/* If uneven, one item in four takes four times as long as the others. */
static void items_work(void *user, unsigned line) {
    items *self = user;
    compute(self->uneven && self->item[line] % 4 == 1 ? 4 * self->ns : self->ns);
}

static void items_write(void *user, unsigned line) {
    items *self = user;
    compute(20);
    CHECK_EQ(self->item[line], self->written++);
}

/* How many times as long as a worker without a scheduler, for its share of the items, the pipeline takes; percent. */
static uint64_t pipeline_percent(unsigned workers, uint32_t lifo_cap, uint64_t ns, bool uneven) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = workers, .lifo_cap = lifo_cap});
    items user = {.ns = ns, .uneven = uneven};
    wsq_pipeline p = {.read = items_read, .work = items_work, .write = items_write, .user = &user};
    uint64_t start = now();
    CHECK_EQ(wsq_pipeline_run(pool, &p), WSQ_OK);
    uint64_t took = now() - start, alone = ITEMS * ((uneven ? 7 * ns / 4 : ns) + 40);
    CHECK_EQ(user.written, ITEMS);
    wsq_pool_destroy(pool);
    sim.threads = 0; /* the next pool has these cores again */
    return 100 * took * workers / alone;
}

static void pipelines(void) {
    static const uint32_t caps[] = {0, WSQ_LIFO_OFF};
    for (int i = 0; i < 2; i++) {
        for (uint64_t ns = US; ns <= 100 * US; ns *= 10) {
            CHECK(pipeline_percent(1, caps[i], ns, false) <= 103);
            CHECK(pipeline_percent(2, caps[i], ns, false) <= (ns == US ? 125 : 104));
            CHECK(pipeline_percent(2, caps[i], ns, true) <= (ns == US ? 125 : 104));
        }
        CHECK(pipeline_percent(4, caps[i], 3 * US, false) <= 125);
        CHECK(pipeline_percent(8, caps[i], 10 * US, true) <= 125);
    }
}

/* ---- a timer that is due when the worker runs dry ---- */

static void due_when_dry(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    item *timed = item_make(0), *busy = item_make(100 * US);
    timed->pends = true;
    item_spawn(pool, timed);
    nap(MS);
    item_set_timer(pool, timed, 50 * US);
    item_spawn(pool, busy);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    CHECK(timed->began < busy->ended + 3 * US); /* without a search, and without a sleep */
    wsq_pool_destroy(pool);
}

int main(void) {
    test_begin("exact_soon");
    IN_WORLD(due_when_dry);
    IN_WORLD(spawns);
    IN_WORLD(pairs_begin_together);
    IN_WORLD(slots);
    IN_WORLD(looks_on);
    IN_WORLD(pumps);
    IN_WORLD(awaits_the_last);
    IN_WORLD(awaits_the_group);
    IN_WORLD(fired_timer);
    IN_WORLD(watcher_has_no_rest);
    IN_WORLD(slots_in_vain);
    IN_WORLD(few_elements);
    IN_WORLD(end_without_a_permit);
    IN_WORLD(lent_thread_leaves);
    IN_WORLD(cancelled_without_threads);
    IN_WORLD(pipelines);
    IN_WORLD(due_and_late);
    IN_WORLD(due_on_time);
    IN_WORLD(due_before_a_block);
    return test_end();
}
