/* A thread in a run, in the explorer: it has stolen a job of the pool's as that stops. */
#define WSQ_GUESTS 1
#define WSQI_LINGER_NS 6000u
#include "explore_small.h"
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include "explore_items.h"

static void (*stolen)(wsq_ctx ctx, wsq_job *job);
static bool began, released; /* the explorer's own */
static int blocks;

/* The thief that takes it from the guest is held up, so that the guest helps. */
static void job_holds(wsq_ctx ctx, wsq_job *job) {
    (void)ctx, (void)job;
    explore_meet(&gate, 2);
}

static void run_held_up(wsq_ctx ctx, void *arg) {
    wsq_job job = {0};
    (void)arg;
    wsq_fork(&ctx, &job, job_holds);
    explore_wait_quiet(); /* it is stolen */
    wsq_join(&ctx, &job);
}

static void guest(void *arg) { explore_check(wsq_run(pool, run_held_up, arg) == WSQ_OK); }

static wsq_poll run_joining(wsq_ctx ctx, wsq_task *task) {
    wsq_job job = {0};
    wsq_fork(&ctx, &job, stolen);
    explore_wait_quiet(); /* it is stolen */
    wsq_join(&ctx, &job);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static wsq_poll run_awaiting(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    (void)wsq_task_wait(&items[1].task);
    released = items[1].done + items[1].cleaned == 0;
    explore_check(!released || !began);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

/* A task waits for one that is pending; the guest runs a job of another task's. */
static void begin_guest(void (*job)(wsq_ctx ctx, wsq_job *job)) {
    begin(2, (wsq_config){.max_standins = WSQ_STANDINS_OFF});
    stolen = job;
    began = released = false;
    items[0].task.fn = run_awaiting;
    items[1].waits = true;
    items[3].task.fn = run_joining;
    spawn(1);
    explore_wait_quiet();
    spawn(0);
    explore_wait_quiet();
    explore_start(guest, NULL);
    explore_wait_quiet();
    spawn(3);
    if (explore_choose(2)) explore_wait_quiet();
    explore_meet(&gate, 2);
}

static void end_guest(void) {
    explore_check(wsq_pool_shutdown(pool, WSQ_CANCEL) == WSQ_OK);
    for (int i = 0; i < 4; i++) explore_check(items[i].done + items[i].cleaned <= 1);
    explore_check(items[0].done);
    explore_pool_end(pool);
}

/* What that wakes is over before the wait for it. */
static void job_wakes(wsq_ctx ctx, wsq_job *job) {
    (void)job;
    began = true;
    for (int i = 0; i < 20 && !wsq_cancelled(ctx); i++) wsqi_pause();
    explore_check(!released);
    send(1);
}

static void guest_wakes(void) {
    begin_guest(job_wakes);
    end_guest();
}

/* It waits for the same, which never comes. */
static void job_waits(wsq_ctx ctx, wsq_job *job) {
    (void)ctx, (void)job;
    explore_check(wsq_task_wait(&items[1].task) == WSQ_ERR_CANCELLED);
}

static void guest_waits(void) {
    begin_guest(job_waits);
    end_guest();
}

/* ---- a thread outside that runs tasks of the group it waits for ---- */

static wsq_group group;

/* A task of the group, perhaps on the thread outside, waits for another one of the pool. */
static wsq_poll run_asking(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    spawn(3);
    explore_check(wsq_task_wait(&items[3].task) == WSQ_OK);
    explore_check(wsqi_get(&items[3].letter) == 1);
    wsqi_set(&it->letter, 1);
    it->done = 1;
    return WSQ_DONE;
}

/* A task that spawns another one into its group, and waits for none. */
static wsq_poll run_adding(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    explore_check(wsq_group_spawn(&group, &items[3].task) == WSQ_OK);
    wsqi_set(&it->letter, 1);
    it->done = 1;
    return WSQ_DONE;
}

static void stranger(void *arg) {
    (void)arg;
    spawn(4);
}

static void help(bool shuts_down) {
    begin(1 + (unsigned)explore_choose(2), (wsq_config){.order = explore_choose(2) ? WSQ_FIFO : WSQ_SHARED});
    explore_check(wsq_group_init(&group, pool) == WSQ_OK);
    wsq_task_fn fns[] = {run_item, run_asking, run_adding};
    unsigned kind = (unsigned)explore_choose(3);
    items[1].task.fn = fns[kind];
    if (explore_choose(2)) explore_wait_quiet(); /* the pool sleeps */
    explore_fiber *other = explore_start(stranger, NULL);
    wsq_task *tasks[] = {&items[0].task, &items[1].task, &items[2].task};
    explore_check(wsq_group_spawn_batch(&group, tasks, 3) == WSQ_OK);
    explore_check(wsq_group_wait(&group) == WSQ_OK);
    int count = kind == 0 ? 3 : 4;
    for (int i = 0; i < count; i++) explore_check(items[i].done == 1 && wsqi_get(&items[i].letter) == 1);
    explore_join_one(other);
    explore_wait_quiet(); /* nothing is left beside sleepers, the stranger's task neither */
    explore_check(items[4].done == 1);
    if (!shuts_down) explore_check_parked(pool);
    end(0);
}

static void helps(void) { help(false); }

static void drainer(void *arg) {
    (void)arg;
    explore_check(wsq_pool_shutdown(pool, WSQ_DRAIN) == WSQ_OK);
}

/* A drain meanwhile: what the tasks spawn, on whichever thread, still runs. */
static void helps_in_a_drain(void) {
    begin(2, plain);
    explore_check(wsq_group_init(&group, pool) == WSQ_OK);
    items[0].task.fn = run_adding;
    explore_wait_quiet();
    wsq_task *tasks[] = {&items[0].task, &items[1].task};
    explore_check(wsq_group_spawn_batch(&group, tasks, 2) == WSQ_OK);
    explore_start(drainer, NULL);
    explore_check(wsq_group_wait(&group) == WSQ_OK);
    for (int i = 0; i < 4; i++) explore_check(items[i].done == (i != 2));
    explore_pool_end(pool);
}

/* After the shutdown no task runs, whichever thread ran it, and what each one did is visible. */
static int running; /* the explorer's own */

static wsq_poll run_slowly(wsq_ctx ctx, wsq_task *task) {
    running++;
    explore_wait_quiet();
    running--;
    return run_item(ctx, task);
}

static void canceller(void *arg) {
    (void)arg;
    explore_check(wsq_pool_shutdown(pool, WSQ_CANCEL) == WSQ_OK && running == 0);
    for (int i = 0; i < 3; i++) explore_check(items[i].done == 0 || wsqi_get(&items[i].letter) == 1);
}

/* A thread outside asks for one task after the other, until the pool stops. */
static void asks_in_a_cancel(void) {
    begin(1 + (unsigned)explore_choose(2), plain);
    bool any = true;
    int count = 1 + explore_choose(3), slow = explore_choose(4);
    if (slow < 3) items[slow].task.fn = run_slowly;
    running = 0;
    if (explore_choose(2)) explore_wait_quiet();
    explore_start(canceller, NULL);
    for (int i = 0; i < count && any; i++) {
        any = wsq_spawn(pool, &items[i].task) == WSQ_OK;
        if (any) (void)wsq_task_wait(&items[i].task);
        explore_check(items[i].done + items[i].cleaned == any);
    }
    explore_pool_end(pool);
}

static void helps_in_a_cancel(void) {
    begin(1 + (unsigned)explore_choose(2), plain);
    explore_check(wsq_group_init(&group, pool) == WSQ_OK);
    wsq_task *tasks[] = {&items[0].task, &items[1].task, &items[2].task};
    explore_check(wsq_group_spawn_batch(&group, tasks, 3) == WSQ_OK);
    explore_start(canceller, NULL);
    (void)wsq_group_wait(&group);
    for (int i = 0; i < 3; i++) explore_check(items[i].done + items[i].cleaned == 1);
    explore_pool_end(pool);
}

/* A task waits for a group, and a thread outside runs a task of it in its own wait. That task waits for one that never
 * comes, so the pool is cancelled, and the group's wait must not end before it. Or another
 * task's job, stolen in a join, waits for the group of a task on the same stack. */
static bool own_group, group_left; /* the explorer's own */

static wsq_poll run_member(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    wsq_result result = own_group ? wsqi_await(pool, NULL, &group, WSQ_FOREVER) : wsq_task_wait(&items[1].task);
    explore_check(result == WSQ_ERR_CANCELLED);
    for (int i = 0; i < 5; i++) wsqi_pause();
    explore_check(!group_left);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static wsq_poll run_leaving(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    (void)wsq_group_wait(&group);
    group_left = items[0].done + items[0].cleaned == 0;
    explore_check(!group_left);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static void member_asker(void *arg) {
    (void)arg;
    if (wsq_group_spawn(&group, &items[0].task) == WSQ_OK) (void)wsq_task_wait(&items[0].task);
    else items[0].cleaned = 1;
}

static void group_of_a_helper(void) {
    begin(2, (wsq_config){.max_standins = 2}); /* so no task runs above one that waits */
    explore_check(wsq_group_init(&group, pool) == WSQ_OK);
    group_left = false;
    own_group = explore_choose(3) == 0;
    items[0].task.fn = run_member;
    items[1].waits = true;
    items[2].task.fn = run_leaving;
    spawn(1);
    explore_wait_quiet();
    explore_fiber *asker = explore_start(member_asker, NULL);
    explore_wait_quiet();
    if (!own_group) spawn(2);
    if (explore_choose(2)) explore_wait_quiet();
    explore_check(wsq_pool_shutdown(pool, WSQ_CANCEL) == WSQ_OK);
    explore_join_one(asker);
    explore_check(items[0].done + items[0].cleaned == 1);
    explore_pool_end(pool);
}

/* A thread outside spawns a task and waits for it, again and again: it runs the task, or a worker does. */
static void ask(int i) {
    spawn(i);
    if (explore_choose(4) == 0) explore_wait_quiet();
    explore_check(wsq_task_wait(&items[i].task) == WSQ_OK);
    explore_check(items[i].done == 1 && wsqi_get(&items[i].letter) == 1);
}

static void asker(void *arg) {
    (void)arg;
    ask(3);
    ask(4);
}

static void asks(void) {
    begin(1 + (unsigned)explore_choose(2), (wsq_config){.order = explore_choose(2) ? WSQ_FIFO : WSQ_SHARED});
    bool other = explore_choose(2);
    explore_fiber *fiber = other ? explore_start(asker, NULL) : NULL;
    ask(0);
    if (explore_choose(2)) explore_wait_quiet();
    ask(1);
    spawn(2); /* and no wait */
    if (other) explore_join_one(fiber);
    explore_wait_quiet();
    for (int i = 0; i < 5; i++) explore_check(items[i].done == (other || i < 3));
    explore_check_parked(pool);
    end(0);
}

/* As above, and a worker that came too late lingers, while a shutdown, a lone task or a pinned one may come. */
static void lingers(void) {
    int last = explore_choose(3);
    begin(2, plain);
    pool->spin.rounds = 2;
    pool->processors = 4;
    explore_fiber *fiber = explore_choose(2) ? explore_start(asker, NULL) : NULL;
    for (int i = 0; i < 2; i++) ask(i);
    if (last == 0) spawn(2); /* and no wait */
    else if (last == 1) explore_check(wsq_spawn_on(pool, (unsigned)explore_choose(2), &items[2].task) == WSQ_OK);
    if (fiber != NULL) explore_join_one(fiber);
    if (last != 2) explore_wait_quiet();
    if (last != 2) explore_check_parked(pool);
    end(0);
    for (int i = 0; i < 5; i++) explore_check(items[i].done == (i < 2 || (i == 2 ? last != 2 : fiber != NULL)));
}

/* Blocks when the main thread says so, until the two others run, too. */
static wsq_poll run_blocking(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    explore_meet(&blocks, 2);
    wsq_block_begin(ctx);
    explore_meet(&gate, it->company);
    wsq_block_end(ctx);
    it->done = 1;
    return WSQ_DONE;
}

/* A worker that lingers takes a permit while the other worker blocks: the stand-in must start. */
static void lingers_beside_a_block(void) {
    begin(2, (wsq_config){.max_standins = 1});
    pool->spin.rounds = 2;
    pool->processors = 4;
    blocks = 0;
    for (int i = 2; i < 5; i++) items[i].company = 3;
    items[2].task.fn = run_blocking;
    spawn(2);
    if (explore_choose(2)) explore_wait_quiet();
    for (int i = 0; i < 2; i++) ask(i);
    bool first = explore_choose(2);
    if (first) spawn(3);
    explore_meet(&blocks, 2);
    if (!first) spawn(3);
    spawn(4);
    end(5);
}

int main(void) {
    explore_random("guest: a guest wakes as the pool stops", guest_wakes, 2000);
    explore_random("guest: a guest waits as the pool stops", guest_waits, 2000);
    explore_random("guest: helps", helps, 4000);
    explore_random("guest: helps in a drain", helps_in_a_drain, 3000);
    explore_random("guest: helps in a cancel", helps_in_a_cancel, 3000);
    explore_random("guest: asks in a cancel", asks_in_a_cancel, 6000);
    explore_random("guest: a group of a helper", group_of_a_helper, 4000);
    explore_random("guest: asks", asks, 6000);
    explore_random("guest: a worker lingers", lingers, 6000);
    explore_random("guest: lingers beside a block", lingers_beside_a_block, 6000);
    return explore_end();
}
