/* No more stand-ins come in the explorer, and a thread that could use a permit waits without one, or one
 * is on its way to be too many: a thread still runs what the others wait for. */
#define WSQ_GUESTS 1
#include "explore_small.h"
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include "explore_pool.h"

static wsq_pool *pool;
static wsq_task first, second, awaited, pending, partner;
static wsqi_a32 spawned, sent, began;
static int started, blocks, gate, meeting;

static wsq_poll at_once(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    return WSQ_DONE;
}

static void begin(unsigned workers, unsigned standins) {
    wsq_config config = {.max_standins = standins};
    started = gate = meeting = 0;
    blocks = explore_choose(2);
    wsqi_store_init(&spawned, 0u);
    wsqi_store_init(&sent, 0u);
    wsqi_store_init(&began, 0u);
    wsq_task_init(&awaited, at_once);
    pool = explore_pool_make(workers, config);
}

static void end(void) {
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
    begin(1, 1);
    wsq_task_init(&first, forks);
    explore_check(wsq_spawn(pool, &first) == WSQ_OK);
    explore_check(wsq_task_wait(&first) == WSQ_OK);
    end();
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
    begin(1, explore_choose(2) ? WSQ_STANDINS_OFF : 2);
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
    end();
}

/* A call that lasts until the task that waits is over: a system's, another library's. */
static wsq_poll blocks_long(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    wsq_block_begin(ctx);
    explore_meet(&gate, 2);
    wsq_block_end(ctx);
    return WSQ_DONE;
}

static wsq_poll waits_and_meets(wsq_ctx ctx, wsq_task *task) {
    explore_check(wsq_task_wait(&awaited) == WSQ_OK);
    return blocks_long(ctx, task);
}

/* One waits, and the last stand-in takes over; then that blocks, too. */
static void last_one_blocks(void) {
    begin(1, 1);
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
    end();
}

static wsq_poll blocks_till_the_end(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    wsq_block_begin(ctx);
    explore_meet(&gate, 3);
    wsq_block_end(ctx);
    return WSQ_DONE;
}

static wsq_poll meets(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    explore_meet(&meeting, 2);
    return WSQ_DONE;
}

/* Both workers block while no thread can be started. Later one can: two tasks that are queued at the
 * same time run at the same time. */
static void late_threads(void) {
    begin(2, 2);
    explore_threads_left = 0;
    wsq_task_init(&first, blocks_till_the_end);
    wsq_task_init(&second, blocks_till_the_end);
    explore_check(wsq_spawn(pool, &first) == WSQ_OK);
    explore_check(wsq_spawn(pool, &second) == WSQ_OK);
    explore_wait_quiet();
    explore_threads_left = EXPLORE_FIBERS;
    wsq_task_init(&awaited, meets);
    wsq_task_init(&pending, meets);
    wsq_task_set_priority(&awaited, WSQ_HIGH);
    explore_check(wsq_spawn(pool, &awaited) == WSQ_OK);
    explore_check(wsq_spawn(pool, &pending) == WSQ_OK);
    explore_check(wsq_task_wait(&pending) == WSQ_OK);
    explore_meet(&gate, 3);
    end();
}

static wsq_poll waits_for_awaited(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    explore_check(wsq_task_wait(&awaited) == WSQ_OK);
    return WSQ_DONE;
}

/* Two wait at the same time, and one stand-in is left: no permit sleeps beside tasks, for one of the two
 * works, too. */
static void one_for_two(void) {
    begin(2, 1);
    wsq_task_init(&awaited, waits);
    wsq_task_init(&first, waits_for_awaited);
    wsq_task_init(&second, waits_for_awaited);
    wsq_task_init(&pending, meets);
    wsq_task_init(&partner, meets);
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
    end();
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
    begin(1, 1);
    wsq_task_init(&first, waits_in_a_call);
    wsq_task_init(&second, blocks_long);
    wsq_task_init(&pending, meets);
    wsq_task_init(&awaited, waits);
    explore_check(wsq_spawn(pool, &awaited) == WSQ_OK);
    explore_check(wsq_spawn(pool, &first) == WSQ_OK);
    explore_check(wsq_spawn(pool, &second) == WSQ_OK);
    if (explore_choose(2)) explore_wait_quiet();
    wsqi_store_rel(&sent, 1u);
    wsq_wake(&awaited);
    while (wsqi_load_acq(&began) == 0) wsqi_pause();
    explore_check(wsq_spawn(pool, &pending) == WSQ_OK);
    explore_meet(&gate, 2);
    explore_check(wsq_task_wait(&pending) == WSQ_OK);
    end();
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
    begin(1, WSQ_STANDINS_OFF);
    of_wait = explore_choose(2);
    other_pool = explore_pool_make(1, alone);
    wsq_task_init(&first, runs_elsewhere);
    wsq_task_init(&pending, waits);
    explore_check(wsq_spawn(other_pool, &pending) == WSQ_OK);
    explore_check(wsq_spawn(pool, &first) == WSQ_OK);
    explore_check(wsq_task_wait(&first) == WSQ_OK);
    wsqi_store_rel(&sent, 1u);
    wsq_wake(&pending);
    wsq_pool_destroy(other_pool);
    end();
}

static wsq_poll blocks_shortly(wsq_ctx ctx, wsq_task *task) {
    wsqi_store_rel(&began, 1u);
    return blocks_long(ctx, task);
}

static wsq_poll meets_twice(wsq_ctx ctx, wsq_task *task) {
    explore_meet(&gate, 2);
    return meets(ctx, task);
}

/* A stand-in keeps the only permit until a task has run that is pinned to the worker without one. */
static void pinned_without_permit(void) {
    begin(1, 1);
    wsq_task_init(&first, blocks_shortly);
    wsq_task_init(&second, meets_twice);
    wsq_task_init(&pending, meets);
    wsq_task_set_worker(&pending, 0);
    explore_check(wsq_spawn(pool, &first) == WSQ_OK);
    while (wsqi_load_acq(&began) == 0) wsqi_pause();
    explore_check(wsq_spawn(pool, &second) == WSQ_OK);
    explore_check(wsq_spawn(pool, &pending) == WSQ_OK);
    explore_check(wsq_task_wait(&second) == WSQ_OK);
    explore_check(wsq_task_wait(&pending) == WSQ_OK);
    end();
}

static wsq_poll comes_first(wsq_ctx ctx, wsq_task *task) {
    started = 1;
    return at_once(ctx, task);
}

static wsq_poll comes_second(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    explore_check(started);
    explore_meet(&gate, 2);
    return WSQ_DONE;
}

static wsq_poll spawns_and_blocks(wsq_ctx ctx, wsq_task *task) {
    explore_check(wsq_spawn(pool, &awaited) == WSQ_OK);
    explore_check(wsq_spawn(pool, &pending) == WSQ_OK);
    return blocks_long(ctx, task);
}

/* What the only worker has queued when it blocks runs in the order of its spawns. */
static void spills_in_order(void) {
    begin(1, 1);
    wsq_task_init(&first, spawns_and_blocks);
    wsq_task_init(&awaited, comes_first);
    wsq_task_init(&pending, comes_second);
    explore_check(wsq_spawn(pool, &first) == WSQ_OK);
    explore_check(wsq_task_wait(&first) == WSQ_OK);
    end();
}

static void has_a_permit(wsq_ctx ctx, void *arg) {
    (void)arg;
    explore_check(wsqi_worker_of(ctx)->permit);
}

/* A guest takes the permit of a worker that sleeps. */
static void guest_takes(void) {
    begin(1, WSQ_STANDINS_OFF);
    explore_wait_quiet();
    explore_check(wsq_run(pool, has_a_permit, NULL) == WSQ_OK);
    end();
}

int main(void) {
    explore_random("stand-in: left alone by its worker", left_by_its_worker, 3000);
    explore_random("a guest takes the permit of a thread that waits", robbed_by_a_guest, 3000);
    explore_random("the last stand-in blocks beside a thread that waits", last_one_blocks, 3000);
    explore_random("two stand-ins come late, and one after the other", late_threads, 3000);
    explore_random("two wait, and one stand-in is left", one_for_two, 3000);
    explore_random("a call that blocks gives back what a wait in it took", gives_back_in_a_call, 3000);
    explore_random("permits of two pools", both_pools, 2000);
    explore_random("a pinned task, and its worker has no permit", pinned_without_permit, 2000);
    explore_random("what a worker leaves runs in order", spills_in_order, 2000);
    explore_random("a guest takes a permit that sleeps", guest_takes, 1000);
    return explore_end();
}
