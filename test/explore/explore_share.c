/* What a thief takes beside the task that it runs is for others, too: a worker that goes to sleep
 * while tasks move from ring to ring may have seen neither. Nor may it overlook a lane of the global
 * queue, of which there is one for each worker here. */
#define WSQ_RING_CAPACITY 4
#define WSQI_SHARE_WORKERS 1
#define WSQI_ENOUGH 1 /* a worker leaves new tasks in `incoming` while it finds older ones */
#define WSQI_SETTLE 1 /* every spawn from outside brings its lane into order */
#include "explore_small.h"
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include "explore_pool.h"

enum { TASKS = 6 };

/* A task spawns the tasks [first, first + children), meets `company` tasks at the gate, is done. */
typedef struct item {
    wsq_task task;
    int first, children, company, runs;
} item;

static item items[TASKS];
static int gate;
static wsq_pool *pool;
static const wsq_config plain;

static wsq_poll run_item(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    explore_check(++it->runs == 1);
    for (int i = it->first; i < it->first + it->children; i++)
        explore_check(wsq_spawn(pool, &items[i].task) == WSQ_OK);
    if (it->company) explore_meet(&gate, it->company);
    return WSQ_DONE;
}

static void spawn(int i) { explore_check(wsq_spawn(pool, &items[i].task) == WSQ_OK); }

/* Three children, and a thief takes two of them: the three must run side by side. */
static void half_of_three(void) {
    memset(items, 0, sizeof items);
    gate = 0;
    for (int i = 0; i < TASKS; i++) wsq_task_init(&items[i].task, run_item);
    pool = explore_pool_make(3, plain);
    items[0].first = 1;
    items[0].children = 3;
    for (int i = 1; i <= 3; i++) items[i].company = 3;
    if (explore_choose(2)) explore_wait_quiet();
    spawn(4);
    if (explore_choose(2)) spawn(5);
    else items[5].runs = 1;
    spawn(0);
    explore_wait_quiet();
    for (int i = 0; i < TASKS; i++) explore_check(items[i].runs == 1);
    explore_check_parked(pool);
    explore_pool_end(pool);
}

static wsq_poll wait_for_pinned(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    spawn(2);
    explore_check(wsq_spawn_on(pool, 0, &items[1].task) == WSQ_OK);
    explore_check(wsq_task_wait(&items[1].task) == WSQ_OK);
    items[0].runs++;
    return WSQ_DONE;
}

/* A worker looks for what it waits for and runs it: what it moved meanwhile must run beside that. */
static void moved_by_a_wait(void) {
    memset(items, 0, sizeof items);
    gate = 0;
    for (int i = 0; i < 3; i++) wsq_task_init(&items[i].task, i == 0 ? wait_for_pinned : run_item);
    items[1].company = items[2].company = 2;
    pool = explore_pool_make(2, plain);
    explore_check(wsq_spawn_on(pool, 0, &items[0].task) == WSQ_OK);
    explore_wait_quiet();
    for (int i = 0; i < 3; i++) explore_check(items[i].runs == 1);
    explore_check_parked(pool);
    explore_pool_end(pool);
}

/* From outside, through any lane: both must run side by side. */
static void any_lane(void) {
    memset(items, 0, sizeof items);
    gate = 0;
    for (int i = 0; i < 2; i++) {
        wsq_task_init(&items[i].task, run_item);
        items[i].company = 2;
    }
    pool = explore_pool_make(2, plain);
    if (explore_choose(2)) explore_wait_quiet();
    for (int i = 0; i < 2; i++) {
        explore_key = explore_choose(2) ? 1 : 2;
        spawn(i);
    }
    explore_key = 0;
    explore_wait_quiet();
    for (int i = 0; i < 2; i++) explore_check(items[i].runs == 1);
    explore_check_parked(pool);
    explore_pool_end(pool);
}

/* A worker that is woken for a task in a lane takes it, whatever its own lane is: it does not go to sleep and
 * look again until that lane's turn has come. */
static int parks;

static void count_parks(void *user, wsq_event event, unsigned worker, const void *subject,
                        uint64_t value) {
    (void)user, (void)worker, (void)subject, (void)value;
    if (event == WSQ_EVENT_PARK) explore_check(++parks <= 20);
}

static void other_lane(void) {
    static const wsq_hooks hooks = {.event = count_parks};
    memset(items, 0, sizeof items);
    gate = parks = 0;
    for (int i = 0; i < 2; i++) {
        wsq_task_init(&items[i].task, run_item);
        items[i].company = 2;
    }
    pool = explore_pool_make(2, (wsq_config){.hooks = &hooks, .min_interval = 255});
    explore_key = explore_choose(2) ? 1 : 2;
    for (int i = 0; i < 2; i++) spawn(i);
    explore_key = 0;
    explore_wait_quiet();
    for (int i = 0; i < 2; i++) explore_check(items[i].runs == 1);
    explore_pool_end(pool);
}

/* More than a ring holds: what moves to the lanes runs, too. */
static void spilled(void) {
    memset(items, 0, sizeof items);
    gate = 0;
    for (int i = 0; i < TASKS; i++) wsq_task_init(&items[i].task, run_item);
    pool = explore_pool_make(2, plain);
    items[0].first = 1;
    items[0].children = TASKS - 1;
    items[TASKS - 1].company = items[1].company = 2;
    spawn(0);
    explore_wait_quiet();
    for (int i = 0; i < TASKS; i++) explore_check(items[i].runs == 1);
    explore_check_parked(pool);
    explore_pool_end(pool);
}

/* The pool stops: what is in a lane ends all the same. */
static void cancelled_lane(void) {
    memset(items, 0, sizeof items);
    pool = explore_pool_make(2, plain);
    for (int i = 0; i < 3; i++) {
        wsq_task_init(&items[i].task, run_item);
        explore_key = explore_choose(2) ? 1 : 2;
        spawn(i);
    }
    explore_key = 0;
    explore_check(wsq_pool_shutdown(pool, WSQ_CANCEL) == WSQ_OK);
    for (int i = 0; i < 3; i++) explore_check(wsq_task_done(&items[i].task));
    explore_pool_end(pool);
}

static void late_spawner(void *arg) {
    *(wsq_result *)arg = wsq_spawn(pool, &items[0].task);
}

/* A shutdown beside a spawn by way of any lane: that runs or is refused, and so are all later ones,
 * whatever their lane. */
static void closed_lanes(void) {
    wsq_result late = WSQ_ERR_CLOSED;
    memset(items, 0, sizeof items);
    for (int i = 0; i < 3; i++) wsq_task_init(&items[i].task, run_item);
    pool = explore_pool_make(2, plain);
    if (explore_choose(2)) explore_wait_quiet();
    explore_key = explore_choose(2) ? 1 : 2;
    explore_start(late_spawner, &late);
    explore_check(wsq_pool_shutdown(pool, WSQ_DRAIN) == WSQ_OK);
    explore_wait_quiet();
    explore_check(items[0].runs == (late == WSQ_OK));
    for (int i = 1; i < 3; i++) {
        explore_key = (unsigned)i;
        explore_check(wsq_spawn(pool, &items[i].task) == WSQ_ERR_CLOSED);
    }
    explore_key = 0;
    explore_pool_end(pool);
}

int main(void) {
    explore_random("share: any lane", any_lane, 4000);
    explore_random("share: another's lane", other_lane, 2000);
    explore_random("share: closed lanes", closed_lanes, 3000);
    explore_random("share: cancelled lane", cancelled_lane, 2000);
    explore_random("share: spilled", spilled, 3000);
    explore_random("share: moved by a wait", moved_by_a_wait, 2000);
    explore_random("share: half of three", half_of_three, 4000);
    return explore_end();
}
