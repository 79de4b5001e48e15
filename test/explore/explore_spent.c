/* No more stand-ins come in the explorer, and a thread that could use a permit waits without one, or one
 * is on its way to be too many: a thread still runs what the others wait for. */
#define WSQ_GUESTS 1
#include "explore_small.h"
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include "explore_steps.h"

static wsq_task first, second, awaited, pending, partner;
static wsqi_a32 spawned, sent, began;
static int started, blocks, pool_gate, meeting;

static wsq_poll ends(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    return WSQ_DONE;
}

static void pool_begin(unsigned workers, unsigned standins) {
    wsq_config config = {.max_standins = standins};
    started = pool_gate = meeting = 0;
    blocks = explore_choose(2);
    wsqi_store_init(&spawned, 0u);
    wsqi_store_init(&sent, 0u);
    wsqi_store_init(&began, 0u);
    wsq_task_init(&awaited, ends);
    pool = explore_pool_make(workers, config);
}

static void pool_end(void) {
    explore_wait_quiet();
    explore_check_parked(pool);
    explore_pool_end(pool);
}

static void nothing(wsq_ctx ctx, wsq_job *job) { (void)ctx, (void)job; }

static void wait_for_awaited(wsq_ctx ctx, wsq_job *job) {
    (void)job;
    started = 1;
    while (wsqi_load_acq(&spawned) == 0) wsqi_pause();
    if (blocks) wsq_block_begin(ctx);
    explore_check(wsq_task_wait(&awaited) == WSQ_OK);
    if (blocks) wsq_block_end(ctx);
}

/* Its stand-in takes its job; it has what that waits for, blocks no more, and joins. */
static wsq_poll forks(wsq_ctx ctx, wsq_task *task) {
    wsq_job job = {.fn = NULL}, other = {.fn = NULL};
    (void)task;
    wsq_block_begin(ctx);
    wsq_fork(&ctx, &job, wait_for_awaited);
    while (!started) { /* each fork offers the first job to a thief */
        wsq_fork(&ctx, &other, nothing);
        wsq_join(&ctx, &other);
        wsqi_pause();
    }
    explore_check(wsq_spawn(pool, &awaited) == WSQ_OK);
    wsq_block_end(ctx);
    wsqi_store_rel(&spawned, 1u);
    wsq_join(&ctx, &job);
    return WSQ_DONE;
}

static void left_by_its_worker(void) {
    pool_begin(1, 1);
    wsq_task_init(&first, forks);
    explore_check(wsq_spawn(pool, &first) == WSQ_OK);
    explore_check(wsq_task_wait(&first) == WSQ_OK);
    pool_end();
}

/* Pending until it is woken. */
static wsq_poll waits(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    return wsqi_load_acq(&sent) == 0 ? WSQ_PENDING : WSQ_DONE;
}

/* It waits for a while, in which a guest takes its permit; then for a task that it finds in no queue of
 * its own. */
static wsq_poll robbed(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    wsqi_store_rel(&began, 1u);
    explore_check(wsq_task_wait_for(&pending, 200000) == WSQ_ERR_TIMEOUT);
    wsq_task_set_priority(&awaited, WSQ_HIGH);
    explore_check(wsq_spawn(pool, &awaited) == WSQ_OK);
    wsqi_store_rel(&spawned, 1u);
    explore_check(wsq_task_wait(&awaited) == WSQ_OK);
    return WSQ_DONE;
}

static void until_spawned(wsq_ctx ctx, void *arg) {
    (void)ctx, (void)arg;
    while (wsqi_load_acq(&spawned) == 0) wsqi_pause();
}

static void guest(void *arg) {
    (void)arg;
    explore_check(wsq_run(pool, until_spawned, NULL) == WSQ_OK);
}

static void robbed_by_a_guest(void) {
    pool_begin(1, explore_choose(2) ? WSQ_STANDINS_OFF : 2);
    explore_threads_left = 0;
    wsq_task_init(&first, robbed);
    wsq_task_init(&pending, waits);
    explore_check(wsq_spawn(pool, &pending) == WSQ_OK);
    explore_check(wsq_spawn(pool, &first) == WSQ_OK);
    while (wsqi_load_acq(&began) == 0) wsqi_pause();
    explore_start(guest, NULL);
    explore_check(wsq_task_wait(&first) == WSQ_OK);
    wsqi_store_rel(&sent, 1u);
    wsq_wake(&pending);
    pool_end();
}

/* A call that lasts until the task that waits is over: a system's, another library's. */
static wsq_poll blocks_long(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    wsq_block_begin(ctx);
    explore_meet(&pool_gate, 2);
    wsq_block_end(ctx);
    return WSQ_DONE;
}

static wsq_poll waits_and_meets(wsq_ctx ctx, wsq_task *task) {
    explore_check(wsq_task_wait(&awaited) == WSQ_OK);
    return blocks_long(ctx, task);
}

/* One waits, and the last stand-in takes over; then that blocks, too. */
static void last_one_blocks(void) {
    pool_begin(1, 1);
    wsq_task_init(&first, waits_and_meets);
    wsq_task_init(&second, blocks_long);
    wsq_task_init(&awaited, waits);
    explore_check(wsq_spawn(pool, &awaited) == WSQ_OK);
    explore_check(wsq_spawn(pool, &first) == WSQ_OK);
    explore_check(wsq_spawn(pool, &second) == WSQ_OK);
    if (explore_choose(2)) explore_wait_quiet();
    wsqi_store_rel(&sent, 1u);
    wsq_wake(&awaited);
    explore_check(wsq_task_wait(&first) == WSQ_OK);
    explore_check(wsq_task_wait(&second) == WSQ_OK);
    pool_end();
}

static wsq_poll waits_for_awaited(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    explore_check(wsq_task_wait(&awaited) == WSQ_OK);
    return WSQ_DONE;
}

static wsq_poll lets_go(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    explore_meet(&pool_gate, 2);
    return WSQ_DONE;
}

/* One waits, and a stand-in takes over; that blocks, and no other one can be started. A task that is
 * queued at the same time runs in the wait. */
static void last_start_fails_beside(bool waits_too) {
    pool_begin(1, 2);
    explore_threads_left = 1;
    wsq_task_init(&first, waits_for_awaited);
    wsq_task_init(&second, blocks_long);
    wsq_task_init(&awaited, waits);
    wsq_task_init(&pending, lets_go);
    explore_check(wsq_spawn(pool, &awaited) == WSQ_OK);
    explore_check(wsq_spawn(pool, &first) == WSQ_OK);
    explore_check(wsq_spawn(pool, &second) == WSQ_OK);
    if (explore_choose(4) == 0) explore_wait_quiet();
    explore_check(wsq_spawn(pool, &pending) == WSQ_OK);
    if (waits_too) explore_check(wsq_task_wait(&second) == WSQ_OK); /* takes and gives the permit */
    while (!wsq_task_done(&second)) wsqi_pause();
    wsqi_store_rel(&sent, 1u);
    wsq_wake(&awaited);
    explore_check(wsq_task_wait(&first) == WSQ_OK);
    explore_check(wsq_task_wait(&pending) == WSQ_OK);
    pool_end();
}

static void last_start_fails(void) { last_start_fails_beside(false); }
static void last_start_fails_in_wait(void) { last_start_fails_beside(true); }

static wsq_poll blocks_till_the_end(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    wsq_block_begin(ctx);
    explore_meet(&pool_gate, 3);
    wsq_block_end(ctx);
    return WSQ_DONE;
}

static wsq_poll meets_all(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    explore_meet(&meeting, 2);
    return WSQ_DONE;
}

/* Both workers block while no thread can be started. Later one can: two tasks that are queued at the
 * same time run at the same time. */
static void late_threads(void) {
    pool_begin(2, 2);
    explore_threads_left = 0;
    wsq_task_init(&first, blocks_till_the_end);
    wsq_task_init(&second, blocks_till_the_end);
    explore_check(wsq_spawn(pool, &first) == WSQ_OK);
    explore_check(wsq_spawn(pool, &second) == WSQ_OK);
    explore_wait_quiet();
    explore_threads_left = EXPLORE_FIBERS;
    wsq_task_init(&awaited, meets_all);
    wsq_task_init(&pending, meets_all);
    wsq_task_set_priority(&awaited, WSQ_HIGH);
    explore_check(wsq_spawn(pool, &awaited) == WSQ_OK);
    explore_check(wsq_spawn(pool, &pending) == WSQ_OK);
    explore_check(wsq_task_wait(&pending) == WSQ_OK);
    explore_meet(&pool_gate, 3);
    pool_end();
}

/* Two wait at the same time, and one stand-in is left: no permit is free beside tasks, for one of the two
 * works, too. */
static void one_for_two(void) {
    pool_begin(2, 1);
    wsq_task_init(&awaited, waits);
    wsq_task_init(&first, waits_for_awaited);
    wsq_task_init(&second, waits_for_awaited);
    wsq_task_init(&pending, meets_all);
    wsq_task_init(&partner, meets_all);
    explore_check(wsq_spawn(pool, &awaited) == WSQ_OK);
    explore_check(wsq_spawn(pool, &first) == WSQ_OK);
    explore_check(wsq_spawn(pool, &second) == WSQ_OK);
    if (explore_choose(2)) explore_wait_quiet();
    explore_check(wsq_spawn(pool, &pending) == WSQ_OK);
    explore_check(wsq_spawn(pool, &partner) == WSQ_OK);
    explore_check(wsq_task_wait(&pending) == WSQ_OK);
    explore_check(wsq_task_wait(&partner) == WSQ_OK);
    wsqi_store_rel(&sent, 1u);
    wsq_wake(&awaited);
    pool_end();
}

/* In a call that blocks it waits for a task, and runs it, for no other thread could; then the call goes
 * on blocking, until another task has run. */
static wsq_poll waits_in_a_call(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    wsq_block_begin(ctx);
    explore_check(wsq_task_wait(&awaited) == WSQ_OK);
    wsqi_store_rel(&began, 1u);
    explore_meet(&meeting, 2);
    wsq_block_end(ctx);
    return WSQ_DONE;
}

static void gives_back_in_a_call(void) {
    pool_begin(1, 1);
    wsq_task_init(&first, waits_in_a_call);
    wsq_task_init(&second, blocks_long);
    wsq_task_init(&pending, meets_all);
    wsq_task_init(&awaited, waits);
    explore_check(wsq_spawn(pool, &awaited) == WSQ_OK);
    explore_check(wsq_spawn(pool, &first) == WSQ_OK);
    explore_check(wsq_spawn(pool, &second) == WSQ_OK);
    if (explore_choose(2)) explore_wait_quiet();
    wsqi_store_rel(&sent, 1u);
    wsq_wake(&awaited);
    while (wsqi_load_acq(&began) == 0) wsqi_pause();
    explore_check(wsq_spawn(pool, &pending) == WSQ_OK);
    explore_meet(&pool_gate, 2);
    explore_check(wsq_task_wait(&pending) == WSQ_OK);
    pool_end();
}

/* A task of one pool is in a run of another, and blocks in both: it gives a permit back, and takes it. */
static wsq_pool *other_pool;
static int of_wait;

static void blocks_in_both(wsq_ctx ctx, void *arg) {
    const wsqi_worker *worker = arg;
    if (of_wait) {
        explore_check(wsq_task_wait_for(&pending, 1000) == WSQ_ERR_TIMEOUT);
    } else {
        wsq_block_begin(ctx);
        explore_check(!worker->permit);
        wsq_block_end(ctx);
    }
    explore_check(worker->permit);
}

static wsq_poll runs_elsewhere(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    explore_check(wsq_run(other_pool, blocks_in_both, wsqi_worker_of(ctx)) == WSQ_OK);
    return WSQ_DONE;
}

static void both_pools(void) {
    const wsq_config alone = {.max_standins = WSQ_STANDINS_OFF};
    pool_begin(1, WSQ_STANDINS_OFF);
    of_wait = explore_choose(2);
    other_pool = explore_pool_make(1, alone);
    wsq_task_init(&first, runs_elsewhere);
    wsq_task_init(&pending, waits);
    explore_check(wsq_spawn(other_pool, &pending) == WSQ_OK);
    explore_check(wsq_spawn(pool, &first) == WSQ_OK);
    explore_wait_quiet(); /* a wait could take the permit for a moment, to run `first` */
    explore_check(wsq_task_wait(&first) == WSQ_OK);
    wsqi_store_rel(&sent, 1u);
    wsq_wake(&pending);
    wsq_pool_destroy(other_pool);
    pool_end();
}

static wsq_poll blocks_shortly(wsq_ctx ctx, wsq_task *task) {
    wsqi_store_rel(&began, 1u);
    return blocks_long(ctx, task);
}

static wsq_poll meets_twice(wsq_ctx ctx, wsq_task *task) {
    explore_meet(&pool_gate, 2);
    return meets_all(ctx, task);
}

/* A stand-in keeps the only permit until a task has run that is pinned to the worker without one. */
static void pinned_without_permit(void) {
    pool_begin(1, 1);
    wsq_task_init(&first, blocks_shortly);
    wsq_task_init(&second, meets_twice);
    wsq_task_init(&pending, meets_all);
    wsq_task_set_worker(&pending, 0);
    explore_check(wsq_spawn(pool, &first) == WSQ_OK);
    while (wsqi_load_acq(&began) == 0) wsqi_pause();
    explore_check(wsq_spawn(pool, &second) == WSQ_OK);
    explore_check(wsq_spawn(pool, &pending) == WSQ_OK);
    explore_check(wsq_task_wait(&second) == WSQ_OK);
    explore_check(wsq_task_wait(&pending) == WSQ_OK);
    pool_end();
}

static wsq_poll comes_first(wsq_ctx ctx, wsq_task *task) {
    started = 1;
    return ends(ctx, task);
}

static wsq_poll comes_second(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    explore_check(started);
    explore_meet(&pool_gate, 2);
    return WSQ_DONE;
}

static wsq_poll spawns_and_blocks(wsq_ctx ctx, wsq_task *task) {
    explore_check(wsq_spawn(pool, &awaited) == WSQ_OK);
    explore_check(wsq_spawn(pool, &pending) == WSQ_OK);
    return blocks_long(ctx, task);
}

/* What the only worker has queued when it blocks runs in the order of its spawns. */
static void spills_in_order(void) {
    pool_begin(1, 1);
    wsq_task_init(&first, spawns_and_blocks);
    wsq_task_init(&awaited, comes_first);
    wsq_task_init(&pending, comes_second);
    explore_check(wsq_spawn(pool, &first) == WSQ_OK);
    explore_check(wsq_task_wait(&first) == WSQ_OK);
    pool_end();
}

static void has_a_permit(wsq_ctx ctx, void *arg) {
    (void)arg;
    explore_check(wsqi_worker_of(ctx)->permit);
}

/* A guest takes the permit of a worker that sleeps. */
static void guest_takes(void) {
    pool_begin(1, WSQ_STANDINS_OFF);
    explore_wait_quiet();
    explore_check(wsq_run(pool, has_a_permit, NULL) == WSQ_OK);
    pool_end();
}

/* ---- threads that are lent: one after the other is the same worker ---- */

static int once = 1, twice = 2;
static bool stopping; /* read behind a refusal, which comes after it was set */

static void lender(void *arg) {
    for (int i = 0; i < *(int *)arg; i++) {
        wsq_result result = wsq_worker_enter(pool);
        explore_check(result == WSQ_OK || result == WSQ_ERR_INVALID || result == WSQ_ERR_CLOSED);
        if (result == WSQ_ERR_CLOSED) return;
    }
}

static wsq_poll spawns_two_if_open(item *it) {
    (void)it;
    for (int i = 1; i <= 2; i++) {
        items[i].step = at_once;
        wsq_result result = wsq_spawn(pool, &items[i].task);
        explore_check(result == WSQ_OK || result == WSQ_ERR_CLOSED);
    }
    return WSQ_DONE;
}

/* Plain: the last thing that a thread does as a worker, and the first one. */
static int entered, left;

static void count_lent(void *user, wsq_event event, unsigned worker, const void *subject,
                       uint64_t value) {
    (void)user, (void)worker, (void)subject, (void)value;
    if (event == WSQ_EVENT_START) wsqi_set(&entered, wsqi_get(&entered) + 1);
    if (event == WSQ_EVENT_STOP) wsqi_set(&left, wsqi_get(&left) + 1);
}

static void begin_lent(void) {
    static const wsq_hooks hooks = {.event = count_lent};
    wsq_config config = {.lend_only = true, .hooks = &hooks};
    entered = left = 0;
    begin(1, config);
}

/* The shutdown returns behind all that a lent thread did as a worker. */
static void lent_against_stop(void) {
    begin_lent();
    explore_start(lender, &once);
    explore_wait_quiet();
    wsq_worker_dismiss(pool, 0);
    cancels(NULL);
    explore_check(wsqi_get(&entered) == wsqi_get(&left));
    explore_pool_end(pool);
}

static void lent_threads(void) {
    begin_lent();
    for (int i = 0; i < 2; i++) explore_start(lender, &twice);
    spawn(0, spawns_two_if_open);
    if (explore_choose(2)) explore_wait_quiet();
    wsq_worker_dismiss(pool, 0);
    spawn(3, at_once);
    if (explore_choose(2)) wsq_worker_dismiss(pool, 0);
    if (explore_choose(2)) explore_wait_quiet();
    cancels(NULL);
    explore_check(wsqi_get(&entered) == wsqi_get(&left));
    for (int i = 0; i < 4; i++)
        explore_check(wsq_task_done(&items[i].task) || items[i].task.state.v == 0);
    explore_pool_end(pool);
}

static void lone_lender(void *arg) {
    (void)arg;
    for (int i = 0; i < 3; i++) {
        wsq_result result = wsq_worker_enter(pool);
        explore_check(result == WSQ_OK || (result == WSQ_ERR_CLOSED && stopping));
        if (result == WSQ_ERR_CLOSED) return;
    }
}

static void dismisser(void *arg) {
    (void)arg;
    wsq_worker_dismiss(pool, 0);
}

/* A dismissal that comes when its thread has left is nobody's: the place is free for the next. */
static void dismissed_late(void) {
    begin_lent();
    stopping = false;
    explore_start(lone_lender, NULL);
    explore_start(dismisser, NULL);
    if (explore_choose(2)) explore_wait_quiet();
    wsq_worker_dismiss(pool, 0);
    explore_wait_quiet();
    wsq_worker_dismiss(pool, 0);
    stopping = true;
    cancels(NULL);
    explore_check(wsqi_get(&entered) == wsqi_get(&left));
    explore_pool_end(pool);
}

/* Nor does it close the place behind one that has left: the next one comes in. */
static void comes_in(void *arg) {
    (void)arg;
    explore_check(wsq_worker_enter(pool) == WSQ_OK);
}

static void dismissed_at_any_moment(void) {
    begin_lent();
    pool->spin.rounds = 0; /* a spinning thread gives way */
    explore_fiber *earlier = explore_start(comes_in, NULL);
    explore_wait_quiet();
    explore_fiber *other = explore_start(dismisser, NULL);
    wsqi_pause();
    wsq_worker_dismiss(pool, 0);
    explore_join_one(earlier);
    explore_join_one(other);
    explore_start(comes_in, NULL);
    explore_wait_quiet();
    cancels(NULL);
    explore_pool_end(pool);
}

/* A thread that leaves after the last task tells the thread that waits for the pool. */
static wsq_poll sends_itself_away(item *it) {
    (void)it;
    wsq_worker_dismiss(pool, 0);
    return WSQ_DONE;
}

static void last_one_leaves(void) {
    begin_lent();
    spawn(0, sends_itself_away);
    explore_start(lender, &once);
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    explore_check(items[0].done);
    explore_pool_end(pool);
}

int main(void) {
    explore_random("stand-in: left alone by its worker", left_by_its_worker, 3000);
    explore_random("a guest takes the permit of a thread that waits", robbed_by_a_guest, 3000);
    explore_random("the last stand-in blocks beside a thread that waits", last_one_blocks, 3000);
    explore_random("a stand-in blocks, and no other one starts", last_start_fails, 5000);
    explore_random("the same beside a wait", last_start_fails_in_wait, 10000);
    explore_random("two stand-ins come late, and one after the other", late_threads, 3000);
    explore_random("two wait, and one stand-in is left", one_for_two, 3000);
    explore_random("a call that blocks gives back what a wait in it took", gives_back_in_a_call, 3000);
    explore_random("permits of two pools", both_pools, 2000);
    explore_random("a pinned task, and its worker has no permit", pinned_without_permit, 2000);
    explore_random("what a worker leaves runs in order", spills_in_order, 2000);
    explore_random("a guest takes a free permit", guest_takes, 1000);
    explore_random("more: a dismissal that comes late", dismissed_late, 2000);
    explore_random("more: a lent thread against a stop", lent_against_stop, 2500);
    explore_random("more: lent threads", lent_threads, 2000);
    explore_exhaust("more: dismissed at any moment", dismissed_at_any_moment, 1);
    explore_random("more: the last one leaves", last_one_leaves, 1000);
    return explore_end();
}
