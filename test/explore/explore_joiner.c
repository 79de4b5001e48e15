/* Joiners and guests in the explorer: a thread that waits for a stolen job, or leaves a run, works for
 * others or is replaced. */
#define WSQ_GUESTS 1
#include "explore_small.h"
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include "explore_steps.h"

typedef struct dated {
    wsq_job job;
    int runs;
} dated;

static void run_dated(wsq_ctx ctx, wsq_job *job) {
    (void)ctx;
    wsq_container_of(job, dated, job)->runs++;
    explore_meet(&gate, 2);
}

static void run_small(wsq_ctx ctx, wsq_job *job) {
    (void)ctx;
    wsq_container_of(job, dated, job)->runs++;
}

static void fork_small(wsq_ctx ctx) {
    dated it = {.runs = 0};
    wsq_fork(&ctx, &it.job, run_small);
    wsq_join(&ctx, &it.job);
    explore_check(it.runs == 1);
    wsqi_pause();
}

/* Its job meets it: until then it forks, so that it hears a thief that asks. */
static void date(wsq_ctx ctx) {
    dated it = {.runs = 0};
    wsq_fork(&ctx, &it.job, run_dated);
    while (gate == 0) fork_small(ctx);
    explore_meet(&gate, 2);
    wsq_join(&ctx, &it.job);
    explore_check(it.runs == 1);
}

static wsq_poll run_date(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    for (int i = it->runs; i > 0; i--) fork_small(ctx);
    date(ctx);
    it->done = 1;
    return WSQ_DONE;
}

/* The others are asked while they have nothing, and again later. */
static void jobs_come_and_go(void) {
    begin(2, plain);
    wsq_task_init(&items[0].task, run_date);
    items[0].runs = 1 + explore_choose(3); /* small jobs before */
    explore_wait_quiet();
    explore_check(wsq_spawn(pool, &items[0].task) == WSQ_OK);
    explore_wait_quiet();
    explore_check(pool->threads_made.v == 2); /* nobody takes the place of a thread that joins */
    end(1);
}

/* Its joiner sleeps; its own job finds nobody else, should the third be busy. */
static int second_gate, started;

static void run_inner(wsq_ctx ctx, wsq_job *job) {
    started = 1;
    date(ctx);
    explore_meet(&second_gate, 2);
    wsq_container_of(job, dated, job)->runs++;
}

static wsq_poll run_outer(wsq_ctx ctx, wsq_task *task) {
    dated it = {.runs = 0};
    wsq_fork(&ctx, &it.job, run_inner);
    while (!started) fork_small(ctx);
    wsq_join(&ctx, &it.job);
    explore_check(it.runs == 1);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static wsq_poll meets_inner(item *it) {
    (void)it;
    explore_meet(&second_gate, 2);
    return WSQ_DONE;
}

static void joiner_is_needed(void) {
    begin(3, plain);
    second_gate = started = 0;
    wsq_task_init(&items[0].task, run_outer);
    explore_check(wsq_spawn(pool, &items[0].task) == WSQ_OK);
    spawn(1, meets_inner);
    end(2);
}

/* ---- a joiner is asked for help just when its own job is done: it hands the request on ---- */

static unsigned joins_first; /* the worker of task 1 */
static bool in_time;         /* its join did help */
static dated third;          /* the job that needs a thread */

static void run_third(wsq_ctx ctx, wsq_job *job) {
    run_small(ctx, job);
    in_time = wsq_worker_index(ctx) == joins_first;
    if (!in_time) explore_meet(&gate, 2);
}

/* Task 2: keeps a free worker busy. */
static wsq_poll until_third(item *it) {
    (void)it;
    while (third.runs == 0) {
        (void)wsqi_load_rlx(&pool->permits);
        wsqi_pause();
    }
    return WSQ_DONE;
}

/* Task 0 waits for this job, which has one of its own for a helper; task 1 is asked first, or
 * it is. */
static void run_asker(wsq_ctx ctx, wsq_job *job) {
    wsqi_worker *self = wsqi_self_get();
    started = 1;
    explore_check(wsq_spawn(pool, &items[1].task) == WSQ_OK);
    while (started < 2) {
        (void)wsqi_load_rlx(&pool->permits);
        wsqi_pause();
    }
    wsq_fork(&ctx, &third.job, run_third);
    while (third.runs == 0 && wsqi_range_empty(self)) fork_small(ctx);
    wsq_task_set_priority(&items[2].task, WSQ_HIGH);
    spawn(2, until_third);
    explore_meet(&second_gate, 2);
    while (third.runs == 0) fork_small(ctx);
    wsq_join(&ctx, &third.job);
    run_small(ctx, job);
}

static void run_first(wsq_ctx ctx, wsq_job *job) {
    run_small(ctx, job);
    started = 2;
    explore_meet(&second_gate, 2);
}

/* Task 0 or 1; the second is then needed elsewhere. */
static wsq_poll run_forker(wsq_ctx ctx, wsq_task *task) {
    item *which = wsq_container_of(task, item, task);
    dated it = {.runs = 0};
    int late = which == &items[1];
    if (late) joins_first = wsq_worker_index(ctx);
    wsq_fork(&ctx, &it.job, late ? run_first : run_asker);
    while (started <= late) fork_small(ctx);
    wsq_join(&ctx, &it.job);
    if (late && !in_time) explore_meet(&gate, 2);
    which->done = 1;
    return WSQ_DONE;
}

static void joiner_hands_on(void) {
    begin(4, plain);
    second_gate = started = third.runs = 0;
    in_time = false;
    for (int i = 0; i < 2; i++) wsq_task_init(&items[i].task, run_forker);
    explore_check(wsq_spawn(pool, &items[0].task) == WSQ_OK);
    end(3);
}

/* It waits for the thread that joins: a searcher nearby has found a task instead. */
static void run_asker_alone(wsq_ctx ctx, wsq_job *job) {
    started = 1;
    explore_meet(&second_gate, 2);
    wsq_fork(&ctx, &third.job, run_small);
    while (third.runs == 0) fork_small(ctx);
    wsq_join(&ctx, &third.job);
    run_small(ctx, job);
}

static wsq_poll run_joining(wsq_ctx ctx, wsq_task *task) {
    dated it = {.runs = 0};
    wsq_fork(&ctx, &it.job, run_asker_alone);
    while (!started) fork_small(ctx);
    wsq_join(&ctx, &it.job);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static void searcher_leaves_joiner(void) {
    begin(3, plain);
    second_gate = started = third.runs = 0;
    wsq_task_init(&items[0].task, run_joining);
    explore_check(wsq_spawn(pool, &items[0].task) == WSQ_OK);
    explore_wait_quiet();
    explore_meet(&second_gate, 2);
    spawn(1, until_third);
    end(2);
}

/* ---- a worker blocks while another one goes to sleep in a join: two stand-ins ---- */

static void run_blocking(wsq_ctx ctx, wsq_job *job) {
    started = 1;
    wsq_block_begin(ctx);
    explore_meet(&gate, 3);
    wsq_block_end(ctx);
    run_small(ctx, job);
}

static wsq_poll run_joining_blocked(wsq_ctx ctx, wsq_task *task) {
    dated it = {.runs = 0};
    wsq_fork(&ctx, &it.job, run_blocking);
    while (!started) fork_small(ctx);
    wsq_join(&ctx, &it.job);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static wsq_poll meets_three(item *it) {
    (void)it;
    explore_meet(&gate, 3);
    return WSQ_DONE;
}

static void joined_and_blocked(void) {
    wsq_config config = {.max_standins = 2};
    begin(2, config);
    started = 0;
    wsq_task_init(&items[0].task, run_joining_blocked);
    explore_check(wsq_spawn(pool, &items[0].task) == WSQ_OK);
    explore_wait_quiet();
    for (int i = 1; i <= 2; i++) spawn(i, meets_three);
    end(3);
}

/* ---- a task is spawned while a worker goes to sleep in a join with its permit ---- */

static void run_meeting(wsq_ctx ctx, wsq_job *job) {
    started = 1;
    explore_meet(&gate, 2);
    run_small(ctx, job);
}

static wsq_poll run_joining_late(wsq_ctx ctx, wsq_task *task) {
    dated it = {.runs = 0};
    wsq_fork(&ctx, &it.job, run_meeting);
    while (!started) fork_small(ctx);
    wsq_join(&ctx, &it.job);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static wsq_poll meets_two(item *it) {
    (void)it;
    explore_meet(&gate, 2);
    return WSQ_DONE;
}

/* The job waits for the task. So either the worker sees the task before it sleeps, or the spawn asks for its permit. */
static void task_beside_a_join(void) {
    wsq_config config = {.max_standins = 1};
    begin(2, config);
    started = 0;
    wsq_task_init(&items[0].task, run_joining_late);
    explore_check(wsq_spawn(pool, &items[0].task) == WSQ_OK);
    while (wsqi_load_rlx(&pool->joiners[0]) == 0) wsqi_pause();
    spawn(1, meets_two);
    end(2);
}

/* ---- guests ---- */

/* It works in the sleeper's place: nobody is woken for its jobs. */
static void run_on_guest(wsq_ctx ctx, wsq_job *job) {
    run_small(ctx, job);
    explore_check(wsq_worker_index(ctx) == pool->guest_base);
}

static void fork_two(wsq_ctx ctx, void *arg) {
    dated two[2] = {{.runs = 0}, {.runs = 0}};
    (void)arg;
    for (int i = 0; i < 2; i++) wsq_fork(&ctx, &two[i].job, run_on_guest);
    wsqi_pause();
    for (int i = 1; i >= 0; i--) wsq_join(&ctx, &two[i].job);
    explore_check(wsqi_idle(pool->permits.v) == 1);
}

static void guest_replaces_sleeper(void) {
    begin(1, plain);
    explore_wait_quiet();
    explore_check(wsq_run(pool, fork_two, NULL) == WSQ_OK);
    end(0);
}

static void nothing(wsq_ctx ctx, void *arg) {
    (void)ctx;
    (void)arg;
}

static void guest_leaves(void) {
    begin(2, plain);
    wsq_task_init(&items[0].task, run_date);
    if (explore_choose(2)) explore_wait_quiet();
    explore_check(wsq_spawn(pool, &items[0].task) == WSQ_OK);
    explore_check(wsq_run(pool, nothing, NULL) == WSQ_OK);
    end(1);
}

int main(void) {
    explore_random("more: jobs come and go", jobs_come_and_go, 3000);
    explore_random("more: a joiner is needed", joiner_is_needed, 3000);
    explore_random("more: a joiner hands on", joiner_hands_on, 2000);
    explore_random("more: a searcher leaves a joiner", searcher_leaves_joiner, 1500);
    explore_random("more: joined and blocked", joined_and_blocked, 1500);
    explore_random("more: a task beside a join", task_beside_a_join, 1500);
    explore_random("more: a guest replaces a sleeper", guest_replaces_sleeper, 2000);
    explore_random("more: a guest leaves", guest_leaves, 3000);
    return explore_end();
}
