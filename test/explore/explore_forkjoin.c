/* Fork and join in the explorer: the job stack against thieves (publish, take back, steal, rewind, full), joins
 * that help and sleep, whole runs with workers that come and go; a thread that waits for a stolen job, or leaves
 * a run, works for others or is replaced. */
#define WSQ_GUESTS 1
#include "explore_small.h"
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include "explore_steps.h"

enum { JOBS = 16 };

typedef struct node {
    wsq_job job;
    int argument, result; /* plain: written before the fork, by the job */
    int runs;             /* the explorer's own */
} node;

static int runs, forks;

static long compute(wsq_ctx ctx, int n);

static void run_node(wsq_ctx ctx, wsq_job *job) {
    node *it = wsq_container_of(job, node, job);
    explore_check(++it->runs == 1);
    runs++;
    wsqi_set(&it->result, (int)compute(ctx, wsqi_get(&it->argument)));
}

static void fork_node(wsq_ctx *ctx, node *it, int argument) {
    it->runs = 0;
    wsqi_set(&it->argument, argument);
    forks++;
    wsq_fork(ctx, &it->job, run_node);
}

static int join_node(wsq_ctx *ctx, node *it) {
    wsq_join(ctx, &it->job);
    explore_check(it->runs == 1);
    return wsqi_get(&it->result);
}

/* Leaves of a binary tree of depth n, with jobs in memory that is gone after the join. */
static long compute(wsq_ctx ctx, int n) {
    if (n <= 0) return 1;
    node *left = explore_malloc(sizeof *left);
    fork_node(&ctx, left, n - 1);
    long right = compute(ctx, n - 1);
    long sum = right + join_node(&ctx, left);
    explore_free(left);
    return sum;
}

/* As many jobs at once, then all the joins. */
static void row(wsq_ctx ctx, int count) {
    node nodes[8];
    for (int i = 0; i < count; i++) fork_node(&ctx, &nodes[i], 0);
    while (count-- > 0) explore_check(join_node(&ctx, &nodes[count]) == 1);
}

/* ---- the job stack by itself: blocks without threads, and fibers that act as their owners ---- */

static void begin_bare(unsigned workers) {
    wsq_config config = {.caller_runs = true};
    runs = forks = gate = 0;
    pool = explore_pool_make(workers, config);
}

static wsq_ctx act_as(unsigned index) {
    wsqi_self_set(wsqi_block(pool, index));
    return wsqi_base(wsqi_block(pool, index));
}

static void finish(void) {
    explore_join();
    explore_check(runs == forks);
    for (unsigned i = 0; i < wsqi_blocks(pool); i++)
        explore_check(!wsqi_block_known(pool, i) || wsqi_range_empty(wsqi_block(pool, i)));
    wsqi_self_set(NULL);
    wsq_pool_destroy(pool);
}

/* A worker that looks for jobs, for a while. */
static void thief(void *arg) {
    unsigned me = *(unsigned *)arg;
    wsqi_worker *self = wsqi_block(pool, me);
    act_as(me);
    wsqi_search_begin(self);
    for (int i = 0; i < 4; i++) {
        unsigned victim = explore_choose(4) ? 0 : (unsigned)explore_choose((int)pool->workers);
        if (victim != me && wsqi_job_steal(self, wsqi_block(pool, victim))) continue;
        wsqi_pause();
    }
    if (self->searching) wsqi_search_end(self);
}

static unsigned first = 1, second = 2;

static void row_and_thief(void) {
    begin_bare(2);
    explore_start(thief, &first);
    wsq_ctx ctx = act_as(0);
    row(ctx, 3);
    row(ctx, 2);
    finish();
}

static void row_and_two_thieves(void) {
    begin_bare(3);
    explore_start(thief, &first);
    explore_start(thief, &second);
    wsq_ctx ctx = act_as(0);
    row(ctx, 4);
    row(ctx, 1);
    finish();
}

static void tree_and_thief(void) {
    begin_bare(2);
    explore_start(thief, &first);
    explore_check(compute(act_as(0), 2 + explore_choose(2)) > 0);
    finish();
}

static void tree_and_two_thieves(void) {
    begin_bare(3);
    explore_start(thief, &first);
    explore_start(thief, &second);
    explore_check(compute(act_as(0), 2 + explore_choose(2)) > 0);
    finish();
}

/* A stack with room for three more. */
static void nearly_full(void) {
    begin_bare(2);
    wsqi_worker *self = wsqi_block(pool, 0);
    uint32_t start = wsqi_entry_index(wsqi_full_mark(self)) - 3;
    self->frame.floor = wsqi_entry_at(self, start);
    wsqi_store_rlx(&self->range, wsqi_range_pack(start, start));
    explore_start(thief, &first);
    act_as(0);
    row(self->frame.floor, 2 + explore_choose(5));
    explore_check(compute(self->frame.floor, 2) == 4);
    finish();
}

/* For the exhaustive walk: no choices of its own. */
static void small_thief(void *arg) {
    (void)arg;
    act_as(1);
    wsqi_job_steal(wsqi_block(pool, 1), wsqi_block(pool, 0));
}

static void small_row(void) {
    begin_bare(2);
    explore_start(small_thief, NULL);
    row(act_as(0), 2);
    finish();
}

/* ---- whole runs ---- */

static void run_tree(wsq_ctx ctx, void *arg) {
    int n = *(int *)arg;
    explore_check(compute(ctx, n) == 1 << n);
}

static void end_runs(void) {
    explore_wait_quiet();
    explore_check(runs == forks);
    explore_check_parked(pool);
    explore_pool_end(pool);
}

static int depth = 2;

static void start_run(void *arg) {
    (void)arg;
    explore_check(wsq_run(pool, run_tree, &depth) == WSQ_OK);
}

static void open_pool(unsigned workers) {
    runs = forks = gate = 0;
    pool = explore_pool_make(workers, plain);
}

static void run_with(unsigned workers) {
    open_pool(workers);
    if (explore_choose(2)) explore_wait_quiet();
    start_run(NULL);
    end_runs();
}

static void run_with_one(void) { run_with(1); }
static void run_with_two(void) { run_with(2); }

/* More runs than guest blocks: the others run as tasks. */
static void two_runs(void) {
    open_pool(2);
    explore_fiber *other = explore_start(start_run, NULL);
    start_run(NULL);
    explore_join_one(other);
    end_runs();
}

/* A job meets its joiner: an idle worker must get it. */
static void run_meeting(wsq_ctx ctx, wsq_job *job) {
    node *it = wsq_container_of(job, node, job);
    (void)ctx;
    explore_check(++it->runs == 1);
    runs++;
    explore_meet(&gate, wsqi_get(&it->argument));
    wsqi_set(&it->result, 1);
}

static void fork_and_meet(wsq_ctx ctx, void *arg) {
    int company = *(int *)arg;
    node nodes[4];
    for (int i = 1; i < company; i++) {
        nodes[i].runs = 0;
        wsqi_set(&nodes[i].argument, company);
        forks++;
        wsq_fork(&ctx, &nodes[i].job, run_meeting);
    }
    /* What is private is published at the next fork or join after a thief has asked for it. */
    while (company > 2 && gate < company - 1) {
        node more;
        fork_node(&ctx, &more, 0);
        explore_check(join_node(&ctx, &more) == 1);
        wsqi_pause();
    }
    explore_meet(&gate, company);
    for (int i = company - 1; i >= 1; i--) explore_check(join_node(&ctx, &nodes[i]) == 1);
}

static void idle_workers(unsigned workers, int company) {
    open_pool(workers);
    explore_wait_quiet();
    explore_check(wsq_run(pool, fork_and_meet, &company) == WSQ_OK);
    end_runs();
}

static void idle_worker_gets_job(void) { idle_workers(2, 2); }
static void idle_workers_get_jobs(void) { idle_workers(3, 3); } /* the guest works in a sleeper's place: two help */

static void run_child(wsq_ctx ctx, wsq_job *job);

/* A join sleeps on a job whose child its thief cannot do without: the joiner must run the child. */
static int child_gate;

static void run_with_child(wsq_ctx ctx, wsq_job *job) {
    node *it = wsq_container_of(job, node, job), child;
    explore_check(++it->runs == 1);
    runs++;
    explore_meet(&gate, 2); /* it was stolen */
    if (explore_choose(2)) wsqi_pause();
    child.runs = 0;
    wsqi_set(&child.argument, 2);
    forks++;
    wsq_fork(&ctx, &child.job, run_child);
    explore_meet(&child_gate, 2);
    explore_check(join_node(&ctx, &child) == 1);
    wsqi_set(&it->result, 1);
}

static void run_child(wsq_ctx ctx, wsq_job *job) {
    node *it = wsq_container_of(job, node, job);
    (void)ctx;
    explore_check(++it->runs == 1);
    runs++;
    explore_meet(&child_gate, wsqi_get(&it->argument));
    wsqi_set(&it->result, 1);
}

static void fork_and_help(wsq_ctx ctx, void *arg) {
    node it;
    (void)arg;
    it.runs = 0;
    forks++;
    wsq_fork(&ctx, &it.job, run_with_child);
    explore_meet(&gate, 2);
    explore_check(join_node(&ctx, &it) == 1);
}

/* Two threads work, the guest and one worker; a short task may keep the worker for a while. */
static wsq_poll run_nothing(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    (void)task;
    return WSQ_DONE;
}

static void joiner_helps(void) {
    static wsq_task other;
    open_pool(2);
    child_gate = 0;
    explore_wait_quiet();
    wsq_task_init(&other, run_nothing);
    if (explore_choose(2)) explore_check(wsq_spawn(pool, &other) == WSQ_OK);
    explore_check(wsq_run(pool, fork_and_help, NULL) == WSQ_OK);
    end_runs();
}

/* A task forks on its worker. */
typedef struct forking {
    wsq_task task;
    int company;
} forking;

static wsq_poll run_forking(wsq_ctx ctx, wsq_task *task) {
    forking *it = wsq_container_of(task, forking, task);
    if (it->company) fork_and_meet(ctx, &it->company);
    else explore_check(compute(ctx, 2) == 4);
    return WSQ_DONE;
}

static void task_forks(void) {
    static forking two[2];
    open_pool(2);
    explore_wait_quiet();
    for (int i = 0; i < 2; i++) {
        two[i].company = 0;
        wsq_task_init(&two[i].task, run_forking);
        explore_check(wsq_spawn(pool, &two[i].task) == WSQ_OK);
    }
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    end_runs();
}

static void task_meets_its_job(void) {
    static forking one;
    open_pool(2);
    explore_wait_quiet();
    one.company = 2;
    wsq_task_init(&one.task, run_forking);
    explore_check(wsq_spawn(pool, &one.task) == WSQ_OK);
    end_runs();
}

/* ---- loops ---- */

static int visits[8];

static void visit(wsq_ctx ctx, size_t begin_index, size_t end_index, void *arg) {
    (void)ctx;
    (void)arg;
    for (size_t i = begin_index; i < end_index; i++) {
        wsqi_set(&visits[i], wsqi_get(&visits[i]) + 1);
        wsqi_pause();
    }
}

static void run_loop(wsq_ctx ctx, void *arg) {
    size_t n = *(size_t *)arg;
    memset(visits, 0, sizeof visits);
    wsq_for(ctx, 0, n, 1, visit, NULL);
    for (size_t i = 0; i < n; i++) explore_check(wsqi_get(&visits[i]) == 1);
}

static void loop(void) {
    size_t n = 6;
    open_pool(2);
    explore_check(wsq_run(pool, run_loop, &n) == WSQ_OK);
    end_runs();
}

/* Not commutative: digits in their order. */
static void digits_init(void *partial, void *arg) {
    (void)arg;
    *(uint64_t *)partial = 1;
}

static void digits_body(wsq_ctx ctx, size_t begin_index, size_t end_index, void *partial,
                        void *arg) {
    uint64_t *sum = partial;
    (void)ctx;
    (void)arg;
    for (size_t i = begin_index; i < end_index; i++) *sum = *sum * 10 + i;
    wsqi_pause();
}

static void digits_combine(void *left, const void *right, void *arg) {
    uint64_t *sum = left, more = *(const uint64_t *)right, scale = 1;
    (void)arg;
    while (scale * 10 <= more) scale *= 10;
    *sum = *sum * scale + (more - scale);
}

static void run_reduce(wsq_ctx ctx, void *arg) {
    wsq_reducer reducer = {sizeof(uint64_t), digits_init, digits_body, digits_combine, NULL, false};
    uint64_t result = 0;
    explore_check(wsq_reduce(ctx, 1, *(size_t *)arg, 1, &reducer, &result) == WSQ_OK);
    explore_check(result == 1123456);
}

static void reduction(void) {
    size_t n = 7;
    open_pool(2);
    explore_check(wsq_run(pool, run_reduce, &n) == WSQ_OK);
    end_runs();
}

/* ---- a thread that joins, and works for others meanwhile ---- */

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
    explore_check(pool->made.threads.v == 2); /* nobody takes the place of a thread that joins */
    end(1);
}

/* Task 0 forks a job that is stolen, and joins it. */
static void (*stolen)(wsq_ctx ctx, wsq_job *job); /* sets `started` */
static int second_gate, started;
static dated third; /* a job that needs a thread */

static wsq_poll run_joining(wsq_ctx ctx, wsq_task *task) {
    dated it = {.runs = 0};
    wsq_fork(&ctx, &it.job, stolen);
    while (!started) fork_small(ctx);
    wsq_join(&ctx, &it.job);
    explore_check(it.runs == 1);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static void begin_joining(unsigned workers, wsq_config config, void (*job)(wsq_ctx ctx, wsq_job *job)) {
    begin(workers, config);
    second_gate = started = third.runs = 0;
    stolen = job;
    wsq_task_init(&items[0].task, run_joining);
    explore_check(wsq_spawn(pool, &items[0].task) == WSQ_OK);
}

/* Its joiner sleeps; its own job finds nobody else, should the third be busy. */
static void run_inner(wsq_ctx ctx, wsq_job *job) {
    started = 1;
    date(ctx);
    explore_meet(&second_gate, 2);
    wsq_container_of(job, dated, job)->runs++;
}

static wsq_poll meets_inner(item *it) {
    (void)it;
    explore_meet(&second_gate, 2);
    return WSQ_DONE;
}

static void joiner_is_needed(void) {
    begin_joining(3, plain, run_inner);
    spawn(1, meets_inner);
    end(2);
}

/* ---- a joiner is asked for help just when its own job is done: it hands the request on ---- */

static unsigned joins_first; /* the worker of task 1 */
static bool in_time;         /* its join did help */

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

static void searcher_leaves_joiner(void) {
    begin_joining(3, plain, run_asker_alone);
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

static wsq_poll meets_three(item *it) {
    (void)it;
    explore_meet(&gate, 3);
    return WSQ_DONE;
}

static void joined_and_blocked(void) {
    wsq_config config = {.max_standins = 2};
    begin_joining(2, config, run_blocking);
    explore_wait_quiet();
    for (int i = 1; i <= 2; i++) spawn(i, meets_three);
    end(3);
}

/* ---- a task is spawned while a worker goes to sleep in a join with its permit ---- */

static void run_beside_task(wsq_ctx ctx, wsq_job *job) {
    started = 1;
    explore_meet(&gate, 2);
    run_small(ctx, job);
}

/* The job waits for the task. So either the worker sees the task before it sleeps, or the spawn asks for its permit. */
static void task_beside_a_join(void) {
    wsq_config config = {.max_standins = 1};
    begin_joining(2, config, run_beside_task);
    while (wsqi_load_rlx(&pool->bitmap.joiners[0]) == 0) wsqi_pause();
    spawn(1, meets);
    end(2);
}

/* ---- guests ---- */

/* It works in the sleeper's place: nobody is woken for its jobs. */
static void run_on_guest(wsq_ctx ctx, wsq_job *job) {
    run_small(ctx, job);
    explore_check(wsq_worker_index(ctx) == pool->spare_base);
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
    explore_random("forkjoin: a row and a thief", row_and_thief, 20000);
    explore_random("forkjoin: a row and two thieves", row_and_two_thieves, 12000);
    explore_random("forkjoin: a tree and a thief", tree_and_thief, 20000);
    explore_random("forkjoin: a tree and two thieves", tree_and_two_thieves, 12000);
    explore_random("forkjoin: nearly full", nearly_full, 12000);
    explore_random("forkjoin: run with one worker", run_with_one, 8000);
    explore_random("forkjoin: run with two workers", run_with_two, 7000);
    explore_random("forkjoin: two runs", two_runs, 7000);
    explore_random("forkjoin: an idle worker gets the job", idle_worker_gets_job, 7000);
    explore_random("forkjoin: idle workers get the jobs", idle_workers_get_jobs, 6000);
    explore_random("forkjoin: a joiner helps", joiner_helps, 7000);
    explore_random("forkjoin: tasks that fork", task_forks, 6000);
    explore_random("forkjoin: a task meets its job", task_meets_its_job, 7000);
    explore_random("forkjoin: loop", loop, 6000);
    explore_random("forkjoin: reduction", reduction, 6000);
    explore_exhaust("forkjoin: a row and a thief", small_row, 2);
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
