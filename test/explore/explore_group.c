/* Groups in the explorer: waited for, freed, followed, cancelled, from inside and outside. */
#include "explore_small.h"
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include "explore_groups.h"

static wsq_group other_group;

static void group_wait(void) {
    begin_group(1 + (unsigned)explore_choose(2), plain);
    group_spawn(0);
    group_spawn(1);
    group_spawn(2);
    explore_check(wsq_group_wait(&group) == WSQ_OK);
    check_group(3);
    end(3);
}

/* The waiter frees it, tasks and all, while the workers are still at it. */
static void group_is_freed(void) {
    struct { wsq_group group; item items[2]; } *all;
    begin(2, plain);
    all = explore_malloc(sizeof *all);
    wsq_group_init(&all->group, pool);
    for (int i = 0; i < 2; i++) {
        init(&all->items[i]);
        explore_check(wsq_group_spawn(&all->group, &all->items[i].task) == WSQ_OK);
    }
    explore_check(wsq_group_wait(&all->group) == WSQ_OK);
    for (int i = 0; i < 2; i++) explore_check(wsqi_get(&all->items[i].letter) == 1);
    explore_free(all);
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    end(0);
}

static void two_wait_for_group(void) {
    begin_group(2, plain);
    group_spawn(0);
    explore_start(group_waiter, NULL);
    group_spawn(1);
    explore_check(wsq_group_wait(&group) == WSQ_OK);
    check_group(2);
    end(2);
}

static void group_with_time(void) {
    begin_group(1 + (unsigned)explore_choose(2), plain);
    group_spawn(0);
    group_spawn(1);
    wsq_result result;
    do result = wsq_group_wait_for(&group, 1000);
    while (result == WSQ_ERR_TIMEOUT);
    explore_check(result == WSQ_OK);
    check_group(2);
    end(2);
}

/* ---- then ---- */

/* What runs when it is done frees it. */
static wsq_poll run_after_group(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    check_group(2);
    memset(&group, 0xa5, sizeof group);
    it->done = 1;
    return WSQ_DONE;
}

static void then_against_end(void) {
    begin_group(1 + (unsigned)explore_choose(2), plain);
    items[2].task.fn = run_after_group;
    group_spawn(0);
    group_spawn(1);
    explore_check(wsq_group_then(&group, &items[2].task) == WSQ_OK);
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    end(3);
}

/* Two threads say what comes then. */
static wsq_poll run_after_both(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    check_group(2);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static void then_3(void *arg) {
    (void)arg;
    explore_check(wsq_group_then(&group, &items[3].task) == WSQ_OK);
}

static void two_thens(void) {
    begin_group(1 + (unsigned)explore_choose(2), plain);
    items[2].task.fn = items[3].task.fn = run_after_both;
    group_spawn(0);
    group_spawn(1);
    explore_start(then_3, NULL);
    explore_check(wsq_group_then(&group, &items[2].task) == WSQ_OK);
    end(4);
}

/* The group is used on, at the moment at which it may be done: what is to come behind its new task does
 * not start beside what was to come behind the former one. */
static void then_2(void *arg) {
    (void)arg;
    explore_check(wsq_group_then(&group, &items[2].task) == WSQ_OK);
}

static void end_one(void *arg) {
    (void)arg;
    wsqi_group_down(pool, &group, 1, 0);
}

static void then_used_on(void) {
    wsq_config config = {.caller_runs = true};
    bool before = explore_choose(2);
    begin_group(1, config);
    wsqi_group_up(&group);
    if (before) then_2(NULL);
    else explore_start(then_2, NULL);
    explore_start(end_one, NULL);
    group_spawn(1);
    explore_check(wsq_group_then(&group, &items[3].task) == WSQ_OK);
    explore_join();
    explore_check(wsqi_load_rlx(&items[3].task.state) >= WSQI_TASK_HOLD);
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    for (int i = 1; i < 4; i++) explore_check(items[i].done);
    explore_pool_end(pool);
}

/* One thread says three times what comes then, while the group ends: it comes in this order. */
static unsigned in_order;

static wsq_poll run_in_order(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    explore_check(it == &items[++in_order]);
    it->done = 1;
    return WSQ_DONE;
}

static void thens_in_order(void) {
    begin_group(1, plain);
    in_order = 0;
    group_spawn(0);
    for (int i = 1; i < 4; i++) {
        items[i].task.fn = run_in_order;
        explore_check(wsq_group_then(&group, &items[i].task) == WSQ_OK);
    }
    end(4);
}

/* A spawn fails, and so brings the count back to zero: what its thread did before is seen by what
 * comes then. */
static void failing_spawner(void *arg) {
    item *last = arg;
    wsqi_set(&last->letter, 1);
    explore_check(wsq_group_spawn(&group, &items[0].task) == WSQ_ERR_INVALID);
    last->done = 1;
}

static wsq_poll run_after_failure(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    explore_check(wsqi_get(&items[1].letter) == 1);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static void then_against_failure(void) {
    begin_group(1, plain);
    items[0].waits = true;
    items[2].task.fn = run_after_failure;
    spawn(0);
    explore_start(failing_spawner, &items[1]);
    while (wsqi_load_rlx(&group.word) < WSQI_GROUP_TASK && !items[1].done) wsqi_pause();
    if (wsqi_load_rlx(&group.word) < WSQI_GROUP_TASK) items[2].done = 1; /* it was too late */
    else explore_check(wsq_group_then(&group, &items[2].task) == WSQ_OK);
    while (!items[1].done) {
        (void)wsqi_load_rlx(&pool->permits);
        wsqi_pause();
    }
    send(0);
    end(3);
}

/* It also brings the count to zero for others: what they did before is seen, too, by a worker that
 * knows nothing of them. */
static wsq_poll run_until_zero(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    while (group.word.v >= WSQI_GROUP_TASK) {
        (void)wsqi_load_rlx(&pool->permits);
        wsqi_pause();
    }
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static wsq_poll run_after_one(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    check_group(1);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static void spawner_in_vain(void *arg) {
    int *over = arg;
    explore_check(wsq_group_spawn(&group, &items[3].task) == WSQ_ERR_INVALID);
    *over = 1;
}

static void then_by_failure(void) {
    int over = 0;
    begin_group(2, plain);
    items[1].task.fn = run_until_zero;
    items[2].task.fn = run_after_one;
    items[3].waits = true;
    spawn(3);
    group_spawn(0);
    spawn(1);
    explore_start(spawner_in_vain, &over);
    explore_check(wsq_group_then(&group, &items[2].task) == WSQ_OK);
    while (!over) {
        (void)wsqi_load_rlx(&pool->permits);
        wsqi_pause();
    }
    send(3);
    end(4);
}

static void failed_group_spawn(void) {
    begin_group(1, plain);
    items[0].waits = true;
    spawn(0);
    explore_check(wsq_group_spawn(&group, &items[0].task) == WSQ_ERR_INVALID);
    explore_check(wsq_group_wait(&group) == WSQ_OK);
    send(0);
    end(1);
}

/* All or none; none only because the group is cancelled. */
static void group_spawn_both(void) {
    wsq_task *both[] = {&items[1].task, &items[2].task};
    wsq_result result = wsq_group_spawn_batch(&group, both, 2);
    explore_check(result == WSQ_OK || (result == WSQ_ERR_CANCELLED && wsq_group_cancelled(&group)));
    if (result != WSQ_OK) items[1].cleaned = items[2].cleaned = 1; /* they are ours; else a cleanup may have run */
}

static void cancel_against_group(void) {
    begin_group(1 + (unsigned)explore_choose(2), plain);
    group_spawn(0);
    explore_start(canceller, NULL);
    if (explore_choose(2)) {
        group_spawn_both();
    } else {
        group_spawn(1);
        group_spawn(2);
    }
    wsq_result result = wsq_group_wait(&group);
    explore_check(result == WSQ_OK || result == WSQ_ERR_CANCELLED);
    check_group(3);
    end(0);
}

/* A task has a group below another, which is cancelled at any moment: the wait for it ends, and what
 * is spawned into it later is refused. */
static wsq_group above;

static void canceller_above(void *arg) {
    (void)arg;
    wsq_group_cancel(&above);
}

static wsq_poll run_below(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    explore_check(wsq_group_set_parent(&group, &above) == WSQ_OK);
    bool late = wsq_group_cancelled(&above); /* then both are refused */
    group_spawn(1);
    group_spawn(2);
    if (late) explore_check(items[1].cleaned && items[2].cleaned);
    wsq_result result = wsq_group_wait(&group);
    explore_check(result == WSQ_OK || (result == WSQ_ERR_CANCELLED && wsq_group_cancelled(&above)));
    for (int i = 1; i < 3; i++) explore_check(items[i].done + items[i].cleaned == 1);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static void cancel_flows_down(void) {
    begin_group(1 + (unsigned)explore_choose(2), plain);
    explore_check(wsq_group_init(&above, pool) == WSQ_OK);
    items[0].task.fn = run_below;
    wsq_task_set_group(&items[0].task, &above);
    bool early = explore_choose(4) == 0;
    if (early) canceller_above(NULL);
    else explore_start(canceller_above, NULL);
    if (wsq_spawn(pool, &items[0].task) != WSQ_OK) items[0].cleaned = 1;
    explore_check(!early || items[0].cleaned);
    wsq_result result = wsq_group_wait(&above);
    explore_check(result == WSQ_OK || result == WSQ_ERR_CANCELLED);
    explore_check(items[0].done + items[0].cleaned == 1);
    end(0);
}

/* The group is freed when the pool is quiet, or as soon as nothing is pending. */
static wsq_group *brief_group;

static wsq_poll run_spawner(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    for (int i = 1; i < 3; i++)
        explore_check(wsq_group_spawn(brief_group, &items[i].task) == WSQ_OK);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static void group_until_quiet(void) {
    begin(1 + (unsigned)explore_choose(2), plain);
    brief_group = explore_malloc(sizeof *brief_group);
    explore_check(wsq_group_init(brief_group, pool) == WSQ_OK);
    items[0].task.fn = run_spawner;
    spawn(0);
    if (explore_choose(2)) explore_check(wsq_pool_wait(pool) == WSQ_OK);
    else while (wsq_pool_pending(pool) != 0) wsqi_pause();
    explore_free(brief_group);
    end(3);
}

/* Each of the signs that it may go is enough, whatever else is to come of its end: a task that starts
 * then, a second waiter. */
static void group_goes_at_once(void) {
    begin(1 + (unsigned)explore_choose(2), plain);
    wsq_group *brief = explore_malloc(sizeof *brief);
    explore_check(wsq_group_init(brief, pool) == WSQ_OK);
    for (int i = 0; i < 2; i++) explore_check(wsq_group_spawn(brief, &items[i].task) == WSQ_OK);
    int thens = explore_choose(3);
    for (int i = 2; i < 2 + thens; i++)
        explore_check(wsq_group_then(brief, &items[i].task) == WSQ_OK);
    if (explore_choose(2)) explore_check(wsq_group_wait(brief) == WSQ_OK);
    else while (wsq_group_pending(brief) != 0) wsqi_pause();
    for (int i = 0; i < 2; i++) explore_check(wsqi_get(&items[i].letter) == 1);
    explore_free(brief);
    end(2 + thens);
}

/* ---- in tasks ---- */

/* Tasks of the group spawn others into it. */
static wsq_poll run_inside(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    int first = it == &items[0] ? 1 : 3;
    group_spawn(first);
    if (it == &items[0]) group_spawn(2);
    if (it == &items[0] && explore_choose(2))
        explore_check(wsq_group_spawn(&group, task) == WSQ_ERR_INVALID);
    it->done = 1;
    wsqi_set(&it->letter, 1);
    return WSQ_DONE;
}

static void group_from_inside(void) {
    begin_group(1 + (unsigned)explore_choose(2), plain);
    items[0].task.fn = items[1].task.fn = run_inside;
    group_spawn(0);
    explore_check(wsq_group_wait(&group) == WSQ_OK);
    check_group(4);
    memset(&group, 0xa5, sizeof group);
    end(4);
}

/* A task of one group waits for another, and runs a task of that, above itself, which spawns. */

static wsq_poll run_in_other(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    explore_check(wsq_group_spawn(&other_group, &items[3].task) == WSQ_OK);
    it->done = 1;
    return WSQ_DONE;
}

static wsq_poll run_across(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    explore_check(wsq_group_spawn(&other_group, &items[2].task) == WSQ_OK);
    group_spawn(1);
    explore_check(wsq_group_wait(&other_group) == WSQ_OK);
    explore_check(wsqi_get(&items[3].letter) == 1);
    wsqi_set(&it->letter, 1);
    it->done = 1;
    return WSQ_DONE;
}

static void group_across_groups(void) {
    begin_group(1 + (unsigned)explore_choose(2), plain);
    explore_check(wsq_group_init(&other_group, pool) == WSQ_OK);
    items[0].task.fn = run_across;
    items[2].task.fn = run_in_other;
    group_spawn(0);
    explore_check(wsq_group_wait(&group) == WSQ_OK);
    check_group(2);
    end(4);
}

/* One sleeps, and is cancelled when it is woken. */
static void cancel_what_sleeps(void) {
    begin_group(1 + (unsigned)explore_choose(2), plain);
    items[0].waits = true;
    group_spawn(0);
    explore_start(canceller, NULL);
    send(0);
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    wsq_result result = wsq_group_wait(&group);
    explore_check(result == WSQ_OK || result == WSQ_ERR_CANCELLED);
    check_group(1);
    end(0);
}

static void group_against_shutdown(void) {
    begin_group(1 + (unsigned)explore_choose(2), plain);
    group_spawn(0);
    group_spawn(1);
    explore_check(wsq_pool_shutdown(pool, explore_choose(2) ? WSQ_CANCEL : WSQ_DRAIN) == WSQ_OK);
    wsq_result result = wsq_group_wait(&group);
    explore_check(result == WSQ_OK || result == WSQ_ERR_CANCELLED);
    check_group(2);
    explore_pool_end(pool);
}

static void group_of_a_task(void) {
    wsq_config config = {.max_standins = explore_choose(2) ? 1 : WSQ_STANDINS_OFF};
    begin_group(1 + (unsigned)explore_choose(2), config);
    items[0].task.fn = run_parent;
    if (explore_choose(2)) spawn(3);
    spawn(0);
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    end(3);
}

int main(void) {
    explore_random("compose: wait for a group", group_wait, 2000);
    explore_random("compose: a group is freed", group_is_freed, 2000);
    explore_random("compose: two wait for a group", two_wait_for_group, 2000);
    explore_random("compose: a group, for a while", group_with_time, 2000);
    explore_random("compose: then against the end", then_against_end, 2000);
    explore_random("compose: two thens", two_thens, 1500);
    explore_random("compose: then, and the group is used on", then_used_on, 12000);
    explore_random("compose: thens in order", thens_in_order, 4000);
    explore_random("compose: then against a failed spawn", then_against_failure, 1500);
    explore_random("compose: then by a failed spawn", then_by_failure, 1500);
    explore_random("compose: a failed spawn", failed_group_spawn, 1000);
    explore_random("compose: cancel against a group", cancel_against_group, 2000);
    explore_random("compose: cancel flows down", cancel_flows_down, 2000);
    explore_random("compose: a group until the pool is quiet", group_until_quiet, 2000);
    explore_random("compose: a group goes at once", group_goes_at_once, 2000);
    explore_random("compose: a group from inside", group_from_inside, 2000);
    explore_random("compose: a group across groups", group_across_groups, 2000);
    explore_random("compose: cancel what sleeps", cancel_what_sleeps, 2000);
    explore_random("compose: a group against shutdown", group_against_shutdown, 2000);
    explore_random("compose: a group of a task", group_of_a_task, 2000);
    return explore_end();
}
