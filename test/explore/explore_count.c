/* Counts in the explorer: nothing is pending only when all is done, and a thread that waits for that hears of it. */
#define WSQ_GUESTS 1
#include "explore_small.h"
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include "explore_steps.h"

static wsq_poll spawns_next(item *it) {
    int next = (int)(it - items) + 1;
    items[next].step = next < 3 ? spawns_next : at_once;
    explore_check(wsq_spawn(pool, &items[next].task) == WSQ_OK);
    return WSQ_DONE;
}

/* Nothing is pending only when all is done. */
static void chain_is_pending(void) {
    wsq_stats stats;
    begin(1 + (unsigned)explore_choose(2), plain);
    spawn(0, spawns_next);
    for (int i = 0; i < 4; i++) {
        if (wsq_pool_pending(pool) != 0) continue;
        for (int k = 0; k < 4; k++) explore_check(wsq_task_done(&items[k].task));
    }
    wsq_pool_stats(pool, &stats);
    explore_check(stats.finished <= stats.spawned);
    end(4);
}

static void never_quiet(void *arg) {
    (void)arg;
    for (int i = 0; i < 4; i++) explore_check(wsq_pool_pending(pool) != 0);
}

/* One waits all the time, while others come and go. */
static void one_is_pending(void) {
    begin(1 + (unsigned)explore_choose(2), plain);
    spawn(0, woken);
    explore_fiber *other = explore_start(never_quiet, NULL);
    for (int i = 1; i < 4; i++) spawn(i, at_once);
    explore_join_one(other);
    post(&items[0]);
    end(4);
}

static void counter(void *arg) {
    wsq_stats stats;
    (void)arg;
    for (int i = 0; i < 3; i++) {
        wsq_pool_stats(pool, &stats);
        explore_check(stats.finished <= stats.spawned);
    }
}

static void cancelled_is_done(void) {
    int count = 2;
    begin(1, plain);
    explore_start(counter, NULL);
    for (int i = 0; i < count; i++) spawn(i, at_once);
    explore_start(cancels, NULL);
    for (int i = 0; i < 3; i++) {
        if (wsq_pool_pending(pool) != 0) continue;
        for (int k = 0; k < count; k++) explore_check(wsq_task_done(&items[k].task));
    }
    explore_pool_end(pool);
}

static wsq_edge edge;

static void follower(void *arg) {
    (void)arg;
    items[1].step = at_once;
    explore_check(wsq_task_after(&items[1].task, &items[0].task, &edge) == WSQ_OK);
    explore_check(wsq_spawn(pool, &items[1].task) == WSQ_OK);
}

/* All that is left waits for what nobody has spawned: a thread that waits for the pool hears of it. */
static void stuck_is_told(void) {
    begin(1, plain);
    explore_fiber *other = explore_start(follower, NULL);
    wsq_result result = wsq_pool_wait(pool);
    explore_check(result == WSQ_OK || result == WSQ_ERR_INVALID);
    explore_join_one(other);
    spawn(0, at_once);
    wait_for(1);
    end(2);
}

static void spawns_held(void *arg) { explore_check(wsq_spawn(pool, &((item *)arg)->task) == WSQ_OK); }

/* The waiting thread may look while another task is about to be held: then it hears of that, too. */
static void stuck_again_is_told(void) {
    static wsq_edge edges[2];
    begin(1, plain);
    for (int i = 1; i < 4; i += 2) {
        items[i].step = at_once;
        explore_check(wsq_task_after(&items[i].task, &items[i - 1].task, &edges[i / 2]) == WSQ_OK);
    }
    explore_fiber *one = explore_start(spawns_held, &items[1]), *two = explore_start(spawns_held, &items[3]);
    wsq_result result = wsq_pool_wait(pool);
    explore_check(result == WSQ_OK || result == WSQ_ERR_INVALID);
    explore_join_one(one);
    explore_join_one(two);
    spawn(0, at_once);
    spawn(2, at_once);
    wait_for(1);
    wait_for(3);
    end(4);
}

static uint64_t last_run;

static wsq_poll dated(item *it) {
    last_run = wsqi_clock_ns();
    explore.rested = 0;
    return at_once(it);
}

static void frees_later(void *arg) {
    wsqi_parker own = {.token = {WSQI_TOKEN_NONE}, .parking = &pool->parking};
    (void)arg;
    wsqi_park(&own, wsqi_clock_ns() + WSQI_STUCK_NS / 2, NULL);
    spawn(0, dated);
}

/* After half a second, perhaps, some of those that are left can run; then it has to be so for a second
 * again. (In a deadline that passes while others can go on, the waiter may not see that yet.) */
static void stuck_for_long(void) {
    static wsq_edge edges[2];
    begin(1, plain);
    for (int i = 1; i < 4; i += 2) {
        items[i].step = dated;
        explore_check(wsq_task_after(&items[i].task, &items[i - 1].task, &edges[i / 2]) == WSQ_OK);
        explore_check(wsq_spawn(pool, &items[i].task) == WSQ_OK);
    }
    last_run = 0;
    explore_fiber *other = explore_start(frees_later, NULL);
    explore_check(wsq_pool_wait(pool) == WSQ_ERR_INVALID);
    explore_check(explore.rested == 0 || wsqi_clock_ns() - last_run >= WSQI_STUCK_NS);
    explore_join_one(other);
    spawn(2, dated);
    end(4);
}

/* ---- statistics ---- */

static wsq_poll spawns_three(item *it) {
    (void)it;
    for (int i = 1; i < 4; i++) spawn(i, at_once);
    return WSQ_DONE;
}

/* At no moment have more tasks finished than there are. */
static void stats_meanwhile(void) {
    wsq_stats stats;
    begin(2, plain);
    spawn(0, spawns_three);
    for (int i = 0; i < 3; i++) {
        wsq_pool_stats(pool, &stats);
        explore_check(stats.finished <= stats.spawned);
    }
    end(4);
}

/* ---- a wait for the pool while a run goes on ---- */

/* No task is left, but a worker is in one of the
 * run's jobs, or goes there as soon as its last task is done. The run ends when the wait has. */

static int waited; /* the gate of all that goes on until wsq_pool_wait has returned */
static int kind;   /* what the job does */

enum { NOTHING, WAITS, CALLS, REFUSED, KINDS };

typedef struct held { wsq_job job; } held;

static wsq_poll nothing(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    wsqi_pause();
    return WSQ_DONE;
}

static void *call(void *arg) { return arg; }

/* Its last task may end inside the job, too, where it waits for that. */
static void held_run(wsq_ctx ctx, wsq_job *job) {
    wsq_task task;
    wsq_future *future;
    (void)ctx, (void)job;
    wsq_task_init(&task, nothing);
    if (kind == WAITS) {
        explore_check(wsq_spawn(pool, &task) == WSQ_OK);
        explore_check(wsq_task_wait(&task) == WSQ_OK);
    } else if (kind == CALLS) {
        explore_check(wsq_submit(pool, call, NULL, &future) == WSQ_OK);
        explore_check(wsq_future_get(future, NULL) == WSQ_OK);
    } else if (kind == REFUSED) { /* counted for a moment */
        wsq_task *twice[2] = {&task, &task};
        explore_check(wsq_spawn_batch(pool, twice, 2) == WSQ_ERR_INVALID);
    }
    explore_meet(&waited, 2);
}

static void gives_one(wsq_ctx ctx, void *arg) {
    held one = {.job = {.fn = NULL}};
    (void)arg;
    wsq_fork(&ctx, &one.job, held_run);
    for (int i = 0; i < 4; i++) wsqi_pause();
    wsq_join(&ctx, &one.job);
}

static void guest(void *arg) {
    (void)arg;
    explore_check(wsq_run(pool, gives_one, NULL) == WSQ_OK);
}

static void wait_beside_a_run(void) {
    wsq_config config = {.lifo_cap = explore_choose(2) ? WSQ_LIFO_OFF : 0};
    config.order = explore_choose(4) ? WSQ_FIFO : WSQ_LIFO;
    wsq_task tasks[2];
    int count = 1 + explore_choose(2);
    waited = 0;
    kind = explore_choose(KINDS);
    pool = explore_pool_make(2 + (unsigned)explore_choose(2), config);
    explore_start(guest, NULL);
    for (int i = 0; i < count; i++) {
        wsq_task_init(&tasks[i], nothing);
        explore_check(wsq_spawn(pool, &tasks[i]) == WSQ_OK);
    }
    if (explore_choose(4) == 0) wsq_task_cancel(&tasks[count - 1]);
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    explore_meet(&waited, 2);
    explore_pool_end(pool);
}

/* ---- two workers are in jobs of the run ---- */

static wsqi_a32 over;

static void held_till_over(wsq_ctx ctx, wsq_job *job) {
    (void)ctx, (void)job;
    while (wsqi_load_acq(&over) == 0) wsqi_pause();
}

static void gives_two(wsq_ctx ctx, void *arg) {
    held one = {.job = {.fn = NULL}}, two = one;
    (void)arg;
    wsq_fork(&ctx, &one.job, held_till_over);
    wsq_fork(&ctx, &two.job, held_till_over);
    while (wsqi_load_acq(&over) == 0) wsqi_pause();
    wsq_join(&ctx, &two.job);
    wsq_join(&ctx, &one.job);
}

static void guest_of_two(void *arg) {
    (void)arg;
    explore_check(wsq_run(pool, gives_two, NULL) == WSQ_OK);
}

static void two_in_jobs(void) {
    const wsq_config config = {.lifo_cap = WSQ_LIFO_OFF};
    wsq_task task;
    wsqi_store_init(&over, 0u);
    pool = explore_pool_make(4, config);
    explore_start(guest_of_two, NULL);
    wsq_task_init(&task, nothing);
    explore_check(wsq_spawn(pool, &task) == WSQ_OK);
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    wsqi_store_rel(&over, 1u);
    explore_pool_end(pool);
}

/* ---- a worker's last task ends in a wait, in a job that it took while it joined ---- */

static int joined, begun; /* the inner job may end; how many of the jobs below have begun */
static bool held_back;    /* the inner job waits for that */
static int gone_on;       /* the awaited call may end */
static wsq_future *awaited;
static wsq_task last;

static void *call_awaited(void *arg) {
    explore_meet(&gone_on, 2);
    return arg;
}

static void nothing_run(wsq_ctx ctx, wsq_job *job) { (void)ctx, (void)job; }

static void until_begun(wsq_ctx ctx, int count) {
    while (begun < count) {
        held one = {.job = {.fn = NULL}};
        wsq_fork(&ctx, &one.job, nothing_run);
        wsq_join(&ctx, &one.job);
        wsqi_pause();
    }
}

static void inner_run(wsq_ctx ctx, wsq_job *job) {
    (void)job;
    bool worker = wsq_worker_index(ctx) < wsq_pool_workers(pool); /* else the run has taken it */
    begun++; /* from here to held_back no other thread runs */
    if (!worker) return;
    held_back = true;
    explore_meet(&joined, 2);
}

static void joins_run(wsq_ctx ctx, wsq_job *job) {
    held inner = {.job = {.fn = NULL}};
    (void)job;
    begun++;
    wsq_fork(&ctx, &inner.job, inner_run);
    until_begun(ctx, 2);
    wsq_join(&ctx, &inner.job);
}

static void waits_run(wsq_ctx ctx, wsq_job *job) {
    (void)ctx, (void)job;
    begun++;
    if (held_back) explore_meet(&joined, 2);
    explore_check(wsq_future_get(awaited, NULL) == WSQ_OK);
}

static void holds_run(wsq_ctx ctx, wsq_job *job) {
    (void)ctx, (void)job;
    begun++;
    explore_meet(&waited, 2);
}

static void gives_three(wsq_ctx ctx, void *arg) {
    held jobs[3] = {{.job = {.fn = NULL}}};
    (void)arg;
    wsq_fork(&ctx, &jobs[0].job, joins_run);
    until_begun(ctx, 2);
    wsq_fork(&ctx, &jobs[1].job, waits_run);
    until_begun(ctx, 3);
    explore_check(wsq_spawn(pool, &last) == WSQ_OK);
    explore_meet(&gone_on, 2);
    wsq_fork(&ctx, &jobs[2].job, holds_run);
    until_begun(ctx, 4);
    for (int i = 2; i >= 0; i--) wsq_join(&ctx, &jobs[i].job);
}

static void guest_of_three(void *arg) {
    (void)arg;
    explore_check(wsq_run(pool, gives_three, NULL) == WSQ_OK);
}

static void wait_beside_a_wait(void) {
    wsq_config config = {.max_standins = WSQ_STANDINS_OFF, .lifo_cap = WSQ_LIFO_OFF};
    waited = joined = begun = gone_on = 0;
    held_back = false;
    pool = explore_pool_make(4, config);
    wsq_task_init(&last, nothing);
    explore_check(wsq_submit(pool, call_awaited, NULL, &awaited) == WSQ_OK);
    explore_start(guest_of_three, NULL);
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    explore_meet(&waited, 2);
    explore_pool_end(pool);
}

/* ---- a worker in a job finds the entry of a call that another worker has claimed in one ---- */

static wsqi_a32 submitted;
static int returned; /* plain */

static void *slow_call(void *arg) {
    explore_slow(16);
    for (int i = 0; i < 8 && wsqi_load_rlx(&submitted) != 0; i++) wsqi_pause();
    explore_slow(0);
    wsqi_set(&returned, 1);
    return arg;
}

/* Its worker takes no entry meanwhile. */
static wsq_poll holds_worker(item *it) {
    (void)it;
    explore_meet(&gate, 4);
    explore_meet(&gone_on, 4);
    return WSQ_DONE;
}

/* A ring has two slots, so of three entries some move to the global queue. After the last call the worker
 * purges its ring and the global queue, and may end the last task there. */
static void gets_run(wsq_ctx ctx, wsq_job *job) {
    wsq_future *calls[3];
    bool slow = begun++ == 0;
    (void)ctx, (void)job;
    explore_meet(&joined, 3);
    explore_meet(&gate, 4);
    for (int i = 0; i < 3; i++)
        explore_check(wsq_submit(pool, slow && i == 1 ? slow_call : call, NULL, &calls[i]) == WSQ_OK);
    (void)wsqi_add_acqrel(&submitted, 1u);
    for (int i = 0; i < 3; i += 2) explore_check(wsq_future_get(calls[i], NULL) == WSQ_OK);
    explore_meet(&gone_on, 4);
    explore_check(wsq_future_get(calls[1], NULL) == WSQ_OK);
}

static void gives_gets(wsq_ctx ctx, void *arg) {
    held jobs[2] = {{.job = {.fn = NULL}}};
    (void)arg;
    for (int i = 0; i < 2; i++) wsq_fork(&ctx, &jobs[i].job, gets_run);
    until_begun(ctx, 2);
    for (int i = 1; i >= 0; i--) wsq_join(&ctx, &jobs[i].job);
}

static void guest_of_gets(void *arg) {
    (void)arg;
    explore_check(wsq_run(pool, gives_gets, NULL) == WSQ_OK);
}

/* While the guest works, jobs wake one worker less than tasks do. */
static void wait_beside_a_purge(void) {
    begin(4, plain);
    begun = joined = gone_on = returned = 0;
    wsqi_store_init(&submitted, 0u);
    spawn(0, holds_worker);
    explore_start(guest_of_gets, NULL);
    explore_meet(&joined, 3);
    spawn(1, holds_worker);
    while (wsqi_load_acq(&submitted) != 2) wsqi_pause();
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    explore_check(wsqi_get(&returned) == 1);
    explore_pool_end(pool);
}

static wsq_future *revoked;

static void revoker(void *arg) {
    (void)arg;
    (void)wsq_future_cancel(revoked);
    wsq_future_drop(revoked);
}

/* A worker may see only the tombstone, and run dry, before the cancelled future counts as over. */
static void wait_beside_a_cancel(void) {
    begin(1, plain);
    explore_check(wsq_submit(pool, call, NULL, &revoked) == WSQ_OK);
    explore_fiber *other = explore_start(revoker, NULL);
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    explore_join_one(other);
    explore_pool_end(pool);
}

int main(void) {
    explore_random("more: a chain is pending", chain_is_pending, 3500);
    explore_random("more: one is pending", one_is_pending, 3500);
    explore_random("more: the cancelled are done", cancelled_is_done, 3500);
    explore_random("more: stuck is told", stuck_is_told, 3000);
    explore_random("more: stuck again is told", stuck_again_is_told, 8000);
    explore_random("more: stuck for long", stuck_for_long, 3000);
    explore_random("compose: statistics meanwhile", stats_meanwhile, 2000);
    explore_random("dry: a wait beside a run", wait_beside_a_run, 8000);
    explore_random("dry: a wait beside a wait in a job", wait_beside_a_wait, 2000);
    explore_random("dry: a wait beside a purge", wait_beside_a_purge, 8000);
    explore_random("dry: a wait beside a cancel", wait_beside_a_cancel, 2000);
    explore_random("dry: two workers are in jobs of a run", two_in_jobs, 2000);
    return explore_end();
}
