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

int main(void) {
    explore_random("more: a chain is pending", chain_is_pending, 3500);
    explore_random("more: one is pending", one_is_pending, 3500);
    explore_random("more: the cancelled are done", cancelled_is_done, 3500);
    explore_random("more: stuck is told", stuck_is_told, 3000);
    explore_random("more: stuck for long", stuck_for_long, 3000);
    explore_random("compose: statistics meanwhile", stats_meanwhile, 2000);
    return explore_end();
}
