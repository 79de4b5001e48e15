/* What a cancelling shutdown does with cleanups that wait, with tasks that come late, and with a driver; and when a
 * drain says that it waits. In virtual time. */
#include "exact.h"

static wsq_pool *pool;
static item *waits_for; /* what a cleanup waits for */
static uint64_t in_cleanup, cleaned; /* when it began and ended; 0: not yet */
static wsq_result waited;

static item *pending(void) {
    item *self = item_make(0);
    self->pends = true;
    return self;
}

static wsq_poll slow_cleanup(wsq_task *task) {
    (void)task;
    nap(500 * US);
    return WSQ_DONE;
}

static wsq_poll waiting_cleanup(wsq_task *task) {
    (void)task;
    in_cleanup = now();
    waited = wsq_task_wait(&waits_for->task);
    nap(100 * US);
    cleaned = now();
    return WSQ_DONE;
}

static void cancel(void *arg) { CHECK_EQ(wsq_pool_shutdown((wsq_pool *)arg, WSQ_CANCEL), WSQ_OK); }
static void wake(void *arg) { item_wake((item *)arg); }

static void wake_and_wait(void *arg) {
    item_wake((item *)arg);
    CHECK_EQ(wsq_task_wait(&((item *)arg)->task), WSQ_ERR_CANCELLED);
}

static void begin(const wsq_config *config) {
    in_cleanup = cleaned = 0;
    waited = WSQ_OK;
    pool = pool_make(config);
    waits_for = pending();
    item_spawn(pool, waits_for);
}

/* The waiting item may not be in use when its pool is gone. */
static void end(void) {
    item_wake(waits_for);
    wsq_pool_destroy(pool);
}

/* Two pending tasks. The cleanup of the first takes long, and that of the second waits. */
static void two_pending(item *two[2]) {
    for (int i = 0; i < 2; i++) {
        two[i] = pending();
        wsq_task_set_cleanup(&two[i]->task, i == 0 ? slow_cleanup : waiting_cleanup);
        item_spawn(pool, two[i]);
    }
    nap(MS);
}

/* ---- tasks that are woken when the pool is over ---- */

/* One thread outside cancels a task. Meanwhile a second one wakes another task, and waits for it: it runs the cleanup. */
static void helper_in_a_pool_that_is_over(void) {
    begin(&(wsq_config){.workers = 1});
    item *two[2];
    two_pending(two);
    cancel(pool);
    sim_core *first = outside(wake, two[0]);
    nap(100 * US);
    sim_core *second = outside(wake_and_wait, two[1]);
    sim_join(first);
    sim_join(second);
    CHECK_EQ(waited, WSQ_ERR_CANCELLED);
    CHECK(cleaned != 0);
    end();
}

/* When the pool is over, its worker is late: it is stalled at one of its accesses. Meanwhile a task is woken. */
static uint64_t worker_is_late(uint64_t access) {
    begin(&(wsq_config){.workers = 1});
    item *two[2];
    two_pending(two);
    sim_stall.only = 1; /* the worker's core */
    sim_stall.ns = 300 * US;
    sim_stall.left = access;
    sim_core *stops = outside(cancel, pool);
    nap(50 * US);
    sim_core *first = outside(wake, two[0]);
    nap(50 * US);
    sim_core *second = outside(wake, two[1]);
    sim_join(first);
    sim_join(second);
    sim_join(stops);
    uint64_t left = sim_stall.left;
    sim_stall.left = 0;
    sim_stall.only = 0;
    CHECK_EQ(waited, WSQ_ERR_CANCELLED);
    CHECK(cleaned != 0);
    end();
    return left;
}

static void workers_are_late(void) {
    uint64_t access = 1;
    while (worker_is_late(access) == 0) {
        access++;
        sim.threads = 0;
    }
    CHECK(access > 20);
}

/* ---- a wait returns when the cleanup has ended, not before ---- */

static bool of_group;

static wsq_poll until_cancelled_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    while (!wsq_cancelled(ctx)) nap(10 * US);
    return WSQ_DONE;
}

static wsq_poll awaits_run(wsq_ctx ctx, wsq_task *task) {
    item *member = pending();
    wsq_group group;
    (void)task;
    CHECK_EQ(wsq_group_init(&group, pool), WSQ_OK);
    if (of_group) wsq_task_set_group(&member->task, &group);
    wsq_task_set_cleanup(&member->task, waiting_cleanup);
    item_spawn_on(pool, 1, member);
    while (!wsq_cancelled(ctx)) nap(10 * US);
    if (!of_group) item_wake(member);
    while (in_cleanup == 0) nap(10 * US);
    CHECK_EQ(of_group ? wsq_group_wait(&group) : wsq_task_wait(&member->task), WSQ_ERR_CANCELLED);
    CHECK(cleaned != 0);
    return WSQ_DONE;
}

static void wait_during_a_cleanup(void) {
    for (int i = 0; i < 2; i++) {
        of_group = i == 0;
        begin(&(wsq_config){.workers = 2});
        item *other = item_make(0), *awaits = item_make(0);
        other->task.fn = until_cancelled_run;
        awaits->task.fn = awaits_run;
        nap(MS);
        if (of_group) item_spawn_on(pool, 1, other); /* so that the member is queued */
        nap(MS);
        item_spawn_on(pool, 0, awaits);
        nap(MS);
        cancel(pool);
        CHECK_EQ(waited, WSQ_ERR_CANCELLED);
        end();
        sim.threads = 0;
    }
}

/* ---- a lend_only pool: the thread in wsq_pool_shutdown cancels what is queued ---- */

static wsq_group swept;
static item *runs;

static wsq_poll waits_for_pending_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    while (in_cleanup == 0) nap(10 * US);
    CHECK_EQ(wsq_task_wait(&waits_for->task), WSQ_ERR_CANCELLED);
    nap(50 * US);
    item_of(task)->ended = now();
    return WSQ_DONE;
}

static wsq_poll waits_for_group_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    while (in_cleanup == 0) nap(10 * US);
    CHECK_EQ(wsq_group_wait(&swept), WSQ_ERR_CANCELLED);
    CHECK(cleaned != 0);
    return WSQ_DONE;
}

static wsq_poll cleanup_awaits_a_run(wsq_task *task) {
    (void)task;
    in_cleanup = now();
    CHECK_EQ(wsq_task_wait(&runs->task), WSQ_OK);
    nap(50 * US);
    cleaned = now();
    return WSQ_DONE;
}

/* Not even the group of the task whose cleanup waits. */
static wsq_poll cleanup_awaits_its_group(wsq_task *task) {
    (void)task;
    waited = wsq_group_wait(&swept);
    return WSQ_DONE;
}

static void wait_for_the_own_group(void) {
    begin(&(wsq_config){.workers = 1, .lend_only = true});
    item *member = pending();
    CHECK_EQ(wsq_group_init(&swept, pool), WSQ_OK);
    wsq_task_set_group(&member->task, &swept);
    wsq_task_set_cleanup(&member->task, cleanup_awaits_its_group);
    item_spawn(pool, member);
    cancel(pool);
    CHECK_EQ(waited, WSQ_ERR_CANCELLED);
    end();
}

static void wait_during_a_sweep(void) {
    begin(&(wsq_config){.workers = 3, .lend_only = true});
    sim_core *lent[2] = {outside(lend, pool), outside(lend, pool)};
    item *awaits = item_make(0), *member = pending();
    runs = item_make(0);
    runs->task.fn = waits_for_pending_run;
    awaits->task.fn = waits_for_group_run;
    CHECK_EQ(wsq_group_init(&swept, pool), WSQ_OK);
    wsq_task_set_group(&member->task, &swept);
    wsq_task_set_cleanup(&member->task, cleanup_awaits_a_run);
    nap(MS);
    item_spawn(pool, awaits);
    item_spawn(pool, runs);
    nap(MS);
    item_spawn_on(pool, 2, member); /* no thread is lent to worker 2 */
    cancel(pool);
    CHECK(cleaned != 0);
    for (int i = 0; i < 2; i++) sim_join(lent[i]);
    end();
}

static item *below_awaits;

static wsq_poll waits_below_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    CHECK_EQ(wsq_task_wait_for(&below_awaits->task, 50 * SECOND), WSQ_OK);
    return WSQ_DONE;
}

static wsq_poll waits_above_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    CHECK_EQ(wsq_task_wait(&waits_for->task), WSQ_ERR_CANCELLED);
    return WSQ_DONE;
}

/* On the stack of the only lent thread one wait was called, but another one, of a task above it, was not. So
 * the thread does not go on, and nobody waits for it: the cleanup's wait is cancelled. */
static void called_below_another_wait(void) {
    begin(&(wsq_config){.workers = 2, .lend_only = true});
    sim_core *lent = outside(lend, pool);
    item *below = item_make(0), *above = item_make(0), *pinned = item_make(0);
    below_awaits = pending();
    below->task.fn = waits_below_run;
    above->task.fn = waits_above_run;
    wsq_task_set_cleanup(&pinned->task, waiting_cleanup);
    item_spawn(pool, below_awaits);
    nap(MS);
    item_spawn(pool, below);
    nap(MS);
    item_spawn(pool, above);
    nap(MS);
    item_wake(below_awaits);
    nap(MS);
    CHECK(below_awaits->ended != 0);
    item_spawn_on(pool, 1, pinned); /* no thread is lent to worker 1 */
    cancel(pool);
    CHECK(cleaned != 0 && waited == WSQ_ERR_CANCELLED);
    sim_join(lent);
    end();
}

static wsq_poll queues_then_blocks_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    item_spawn(pool, queued_first);
    compute(300 * US); /* meanwhile the pool begins to stop */
    block_for(ctx, 5 * MS);
    return WSQ_DONE;
}

/* The only lent thread blocks. A task that is woken meanwhile, or that the thread leaves behind, is cancelled. */
static void late_tasks_in_a_lend_only_pool(void) {
    for (int i = 0; i < 2; i++) {
        begin(&(wsq_config){.workers = 2, .lend_only = true});
        sim_core *lent = outside(lend, pool);
        item *blocks = item_make(5 * MS), *late = pending();
        blocks->task.fn = i == 0 ? blocks_run : queues_then_blocks_run;
        queued_first = item_make(0);
        wsq_task_set_cleanup(i == 0 ? &late->task : &queued_first->task, waiting_cleanup);
        item_spawn(pool, late);
        nap(MS);
        item_spawn(pool, blocks);
        nap(100 * US);
        sim_core *stops = outside(cancel, pool);
        nap(200 * US);
        uint64_t start = now();
        if (i == 0) item_wake(late);
        nap(MS);
        item_wake(waits_for); /* so that the cleanup's wait ends */
        nap(MS);
        CHECK(in_cleanup != 0 && in_cleanup < start + 50 * US);
        sim_join(stops);
        sim_join(lent);
        wsq_pool_destroy(pool);
        sim.threads = 0;
    }
}

/* ---- a task of another pool calls the shutdown: it gives its permit back, also after a cleanup has waited ---- */

static wsq_poll stops_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    cancel(pool);
    return WSQ_DONE;
}

static wsq_poll short_wait_cleanup(wsq_task *task) {
    (void)task;
    CHECK_EQ(wsq_task_wait_for(&waits_for->task, MS), WSQ_ERR_TIMEOUT);
    return WSQ_DONE;
}

static void permit_of_a_task_that_stops_a_pool(void) {
    wsq_pool *other = pool_make(&(wsq_config){.workers = 1});
    begin(&(wsq_config){.workers = 2, .lend_only = true});
    sim_core *lent = outside(lend, pool);
    item *blocks = item_blocks(20 * MS), *queued = item_make(0), *stops = item_make(0), *late = item_make(0);
    nap(MS);
    item_spawn(pool, blocks);
    nap(MS);
    wsq_task_set_cleanup(&queued->task, short_wait_cleanup);
    item_spawn(pool, queued);
    stops->task.fn = stops_run;
    item_spawn(other, stops);
    nap(5 * MS);
    item_spawn(other, late);
    CHECK_EQ(wsq_task_wait_for(&late->task, 10 * SECOND), WSQ_OK);
    CHECK(late->began < late->spawned + 50 * US);
    CHECK_EQ(wsq_task_wait_for(&stops->task, 10 * SECOND), WSQ_OK);
    sim_join(lent);
    end();
    wsq_pool_destroy(other);
}

/* ---- a drain that waits for long says so, if nothing happens in its pool ---- */

static void asks_for_long(void *from) {
    item *asked = item_make(10 * SECOND);
    item_spawn((wsq_pool *)from, asked);
    CHECK_EQ(wsq_task_wait(&asked->task), WSQ_OK);
}

static void waits_for_long(void *from) {
    while (wsq_pool_wait((wsq_pool *)from) != WSQ_OK) {} /* the pool is stuck for some seconds */
}

/* How often the shutdown prints something. */
static unsigned drain_says(wsq_pool *from) {
    char line[200];
    unsigned said = 0;
    FILE *file = tmpfile();
    int standard_error = dup(2);
    if (file == NULL) sim_fail("no file");
    fflush(stderr);
    dup2(fileno(file), 2);
    wsq_result result = wsq_pool_shutdown(from, WSQ_DRAIN);
    fflush(stderr);
    dup2(standard_error, 2);
    close(standard_error);
    CHECK_EQ(result, WSQ_OK);
    rewind(file);
    while (fgets(line, sizeof line, file) != NULL) said += strstr(line, "a shutdown waits") != NULL;
    fclose(file);
    return said;
}

/* A drain waits for a task whose predecessor is in another pool, and for longer than the second after which
 * wsq_pool_wait gives up. It says so once, but not if a timer is set, a thread outside helps, or works for the pool. */
static void drain_waits_for_another_pool(void) {
    enum { PLAIN, TIMER, HELPER, LENT, CALLER, CALLER_SLEEPS, CALLER_WORKS, KINDS };
    for (int kind = 0; kind < KINDS; kind++) {
        wsq_config config = {.workers = 2, .lend_only = kind == LENT, .caller_runs = kind >= CALLER};
        wsq_pool *other = pool_make(&(wsq_config){.workers = 1});
        item *first = item_make(8 * SECOND), *follows = item_make(US), *timed = item_make(0);
        sim_core *inside = NULL;
        wsq_edge edge;
        pool = pool_make(&config);
        if (kind == TIMER) item_set_timer(pool, timed, 50 * SECOND);
        if (kind == HELPER) inside = outside(asks_for_long, pool);
        if (kind == LENT) inside = outside(lend, pool); /* nobody is lent to the other worker */
        if (kind == CALLER_WORKS) item_spawn(pool, item_make(10 * SECOND));
        nap(MS);
        CHECK_EQ(wsq_task_after(&follows->task, &first->task, &edge), WSQ_OK);
        item_spawn(pool, follows);
        item_spawn(other, first);
        if (kind > CALLER) inside = outside(waits_for_long, pool);
        nap(MS);
        bool quiet = kind == TIMER || kind == HELPER || kind == CALLER_WORKS;
        CHECK_EQ(drain_says(pool), WSQI_PATIENCE_NS != WSQ_FOREVER && !quiet);
        CHECK(follows->ended > first->ended && first->ended != 0);
        if (inside != NULL) sim_join(inside);
        wsq_pool_destroy(pool);
        wsq_pool_destroy(other);
        sim.threads = 0; /* the next pools have these cores again */
    }
}

static void spawns_late(void *arg) {
    nap(900 * MS);
    item_spawn(pool, (item *)arg);
}

/* A task is held for ever. The second after which wsq_pool_wait says so begins anew when another task has ended. */
static void stuck_once_more(void) {
    item *never = item_make(0), *held = item_make(0), *late = item_make(0);
    wsq_edge edge;
    pool = pool_make(&(wsq_config){.workers = 1});
    CHECK_EQ(wsq_task_after(&held->task, &never->task, &edge), WSQ_OK);
    item_spawn(pool, held);
    sim_core *other = outside(spawns_late, late);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_ERR_INVALID);
    CHECK(now() >= late->ended + WSQI_STUCK_NS && now() < late->ended + WSQI_STUCK_NS + MS);
    sim_join(other);
    CHECK_EQ(wsq_pool_shutdown(pool, WSQ_CANCEL), WSQ_OK);
    wsq_pool_destroy(pool);
}

/* ---- a driver ---- */

static struct {
    wsqi_parking parking;
    wsqi_a32 word; /* as in exact.h */
    unsigned undispatched, most; /* calls of `wait` with events since the last `dispatch`; the most of these */
} ready;

static bool ready_wait(uint64_t timeout_ns, void *user) {
    (void)user;
    if (timeout_ns != 0) wsqi_parking_wait(&ready.parking, &ready.word, 0, timeout_ns);
    bool events = (wsqi_load_hint(&ready.word) & 2) != 0;
    ready.undispatched += events;
    if (ready.undispatched > ready.most) ready.most = ready.undispatched;
    return events;
}

static void ready_dispatch(wsq_pool *from, void *user) { (void)from, (void)user, ready.undispatched = 0; }

static void ready_ring(uint32_t what) {
    (void)wsqi_or_acqrel(&ready.word, what);
    wsqi_parking_wake(&ready.parking, &ready.word, false);
}

static void ready_interrupt(void *user) { (void)user, ready_ring(1); }

/* Events come, and before a thread hears of them the pool is over. Then no thread asks for events again. */
static void events_when_the_pool_is_over(void) {
    static const wsq_driver driver = {ready_wait, ready_dispatch, ready_interrupt, NULL};
    memset(&ready, 0, sizeof ready);
    begin(&(wsq_config){.workers = 4, .driver = &driver});
    nap(MS);
    ready_ring(2);
    cancel(pool);
    CHECK_EQ(ready.most, 1);
    end();
}

/* ---- many waits at once, when no stand-in is left: a permit that becomes free goes to one thread ---- */

static item *event_of_all;
static unsigned wait_count, wait_begun;

static wsq_poll waits_for_event_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    if (++wait_begun == wait_count) item_wake(event_of_all);
    CHECK_EQ(wsq_task_wait(&event_of_all->task), WSQ_OK);
    return WSQ_DONE;
}

/* Returns how long it took until all had begun. */
static uint64_t waits_begin(unsigned count) {
    pool = pool_make(&(wsq_config){.workers = 2, .max_standins = 4});
    event_of_all = item_make(0);
    event_of_all->pends = true;
    item_spawn(pool, event_of_all);
    nap(MS);
    wait_begun = 0;
    wait_count = count;
    uint64_t start = now();
    for (unsigned i = 0; i < count; i++) {
        item *waits = item_make(0);
        waits->task.fn = waits_for_event_run;
        item_spawn(pool, waits);
    }
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    wsq_pool_destroy(pool);
    sim.threads = 0;
    return event_of_all->began - start;
}

static void many_waits_begin(void) {
    uint64_t few = waits_begin(1000), many = waits_begin(3000);
    CHECK(many < 6 * few);
}

/* Two threads wait and have no permit. One has gone on by itself when a permit becomes free: the other one takes it. */
static wsq_poll waits_and_goes_on_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    wsq_result result = wsq_task_wait_for(&event_of_all->task, item_of(task)->ns);
    CHECK_EQ(result, item_of(task)->ns == SECOND ? WSQ_OK : WSQ_ERR_TIMEOUT);
    compute(20 * MS);
    return WSQ_DONE;
}

static wsq_poll computes_then_blocks_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    compute(5 * MS);
    block_for(ctx, 20 * MS);
    return WSQ_DONE;
}

static void permit_for_the_other(void) {
    item *first = item_make(4 * MS), *second = item_make(SECOND), *blocks = item_make(0), *waits = item_make(US);
    pool = pool_make(&(wsq_config){.workers = 2, .max_standins = 2});
    first->task.fn = second->task.fn = waits_and_goes_on_run;
    blocks->task.fn = computes_then_blocks_run;
    event_of_all = item_make(0);
    event_of_all->pends = true;
    item_spawn(pool, event_of_all);
    nap(MS);
    item_spawn(pool, first);
    nap(100 * US);
    item_spawn(pool, second);
    nap(MS);
    item_spawn(pool, blocks);
    item_spawn(pool, item_make(30 * MS));
    nap(MS);
    item_spawn(pool, waits);
    nap(6 * MS); /* by now the first one goes on, and a thread with a permit has blocked */
    CHECK(waits->began != 0);
    item_wake(event_of_all);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    wsq_pool_destroy(pool);
}

/* The thread to which a permit is offered has just ended its wait, between wsq_block_begin and wsq_block_end: it
 * passes the offer on. */
static item *event_of_one;

static wsq_poll waits_in_block_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    wsq_block_begin(ctx);
    CHECK_EQ(wsq_task_wait(&event_of_one->task), WSQ_OK);
    nap(30 * MS);
    wsq_block_end(ctx);
    return WSQ_DONE;
}

static void offer_is_passed_on(void) {
    item *first = item_make(0), *second = item_make(SECOND), *queued = item_make(US);
    pool = pool_make(&(wsq_config){.workers = 1, .max_standins = 2});
    first->task.fn = waits_in_block_run;
    second->task.fn = waits_and_goes_on_run;
    event_of_one = item_make(0);
    event_of_all = item_make(0);
    event_of_one->pends = event_of_all->pends = true;
    item_spawn(pool, event_of_one);
    item_spawn(pool, event_of_all);
    nap(MS);
    item_spawn(pool, first);
    nap(MS);
    item_spawn(pool, second);
    nap(MS);
    item_wake(event_of_one);
    item_spawn(pool, item_blocks(20 * MS)); /* on the last stand-in, which has ended what the first one waits for */
    item_spawn(pool, queued);
    nap(5 * MS);
    CHECK(queued->began != 0);
    item_wake(event_of_all);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    wsq_pool_destroy(pool);
}

int main(void) {
    test_begin("exact_stop");
    IN_WORLD(many_waits_begin);
    IN_WORLD(permit_for_the_other);
    IN_WORLD(offer_is_passed_on);
    IN_WORLD(helper_in_a_pool_that_is_over);
    IN_WORLD(workers_are_late);
    IN_WORLD(wait_during_a_cleanup);
    IN_WORLD(wait_for_the_own_group);
    IN_WORLD(wait_during_a_sweep);
    IN_WORLD(called_below_another_wait);
    IN_WORLD(late_tasks_in_a_lend_only_pool);
    IN_WORLD(permit_of_a_task_that_stops_a_pool);
    IN_WORLD(events_when_the_pool_is_over);
    IN_WORLD(stuck_once_more);
    IN_WORLD(drain_waits_for_another_pool);
    return test_end();
}
