/* Fork and join in the explorer: the job stack against thieves (publish, take back, steal, rewind,
 * full), joins that help and sleep, and whole runs with workers that come and go. */
#define WSQ_GUESTS 1
#include "explore_small.h"
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include "explore_pool.h"

enum { JOBS = 16 };

typedef struct item {
    wsq_job job;
    int argument, result; /* plain: written before the fork, by the job */
    int runs;             /* the explorer's own */
} item;

static int runs, forks, gate;
static wsq_pool *pool;
static const wsq_config plain;

static long compute(wsq_ctx ctx, int n);

static void run_item(wsq_ctx ctx, wsq_job *job) {
    item *it = wsq_container_of(job, item, job);
    explore_check(++it->runs == 1);
    runs++;
    wsqi_set(&it->result, (int)compute(ctx, wsqi_get(&it->argument)));
}

static void fork_item(wsq_ctx *ctx, item *it, int argument) {
    it->runs = 0;
    wsqi_set(&it->argument, argument);
    forks++;
    wsq_fork(ctx, &it->job, run_item);
}

static int join_item(wsq_ctx *ctx, item *it) {
    wsq_join(ctx, &it->job);
    explore_check(it->runs == 1);
    return wsqi_get(&it->result);
}

/* Leaves of a binary tree of depth n, with jobs in memory that is gone after the join. */
static long compute(wsq_ctx ctx, int n) {
    if (n <= 0) return 1;
    item *left = explore_malloc(sizeof *left);
    fork_item(&ctx, left, n - 1);
    long right = compute(ctx, n - 1);
    long sum = right + join_item(&ctx, left);
    explore_free(left);
    return sum;
}

/* As many jobs at once, then all the joins. */
static void row(wsq_ctx ctx, int count) {
    item items[8];
    for (int i = 0; i < count; i++) fork_item(&ctx, &items[i], 0);
    while (count-- > 0) explore_check(join_item(&ctx, &items[count]) == 1);
}

/* ---- the job stack by itself: blocks without threads, and fibers that act as their owners ---- */

static void begin(unsigned workers) {
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
    begin(2);
    explore_start(thief, &first);
    wsq_ctx ctx = act_as(0);
    row(ctx, 3);
    row(ctx, 2);
    finish();
}

static void row_and_two_thieves(void) {
    begin(3);
    explore_start(thief, &first);
    explore_start(thief, &second);
    wsq_ctx ctx = act_as(0);
    row(ctx, 4);
    row(ctx, 1);
    finish();
}

static void tree_and_thief(void) {
    begin(2);
    explore_start(thief, &first);
    explore_check(compute(act_as(0), 2 + explore_choose(2)) > 0);
    finish();
}

static void tree_and_two_thieves(void) {
    begin(3);
    explore_start(thief, &first);
    explore_start(thief, &second);
    explore_check(compute(act_as(0), 2 + explore_choose(2)) > 0);
    finish();
}

/* A stack with room for three more. */
static void nearly_full(void) {
    begin(2);
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
    begin(2);
    explore_start(small_thief, NULL);
    row(act_as(0), 2);
    finish();
}

/* ---- whole runs ---- */

static void run_tree(wsq_ctx ctx, void *arg) {
    int n = *(int *)arg;
    explore_check(compute(ctx, n) == 1 << n);
}

static void end(void) {
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

static void open(unsigned workers) {
    runs = forks = gate = 0;
    pool = explore_pool_make(workers, plain);
}

static void run_with_one(void) {
    open(1);
    if (explore_choose(2)) explore_wait_quiet();
    start_run(NULL);
    end();
}

static void run_with_two(void) {
    open(2);
    if (explore_choose(2)) explore_wait_quiet();
    start_run(NULL);
    end();
}

/* More runs than guest blocks: the others run as tasks. */
static void two_runs(void) {
    open(2);
    explore_fiber *other = explore_start(start_run, NULL);
    start_run(NULL);
    explore_join_one(other);
    end();
}

/* A job meets its joiner: an idle worker must get it. */
static void run_meeting(wsq_ctx ctx, wsq_job *job) {
    item *it = wsq_container_of(job, item, job);
    (void)ctx;
    explore_check(++it->runs == 1);
    runs++;
    explore_meet(&gate, wsqi_get(&it->argument));
    wsqi_set(&it->result, 1);
}

static void fork_and_meet(wsq_ctx ctx, void *arg) {
    int company = *(int *)arg;
    item items[4];
    for (int i = 1; i < company; i++) {
        items[i].runs = 0;
        wsqi_set(&items[i].argument, company);
        forks++;
        wsq_fork(&ctx, &items[i].job, run_meeting);
    }
    /* What is private is published at the next fork or join after a thief has asked for it. */
    while (company > 2 && gate < company - 1) {
        item more;
        fork_item(&ctx, &more, 0);
        explore_check(join_item(&ctx, &more) == 1);
        wsqi_pause();
    }
    explore_meet(&gate, company);
    for (int i = company - 1; i >= 1; i--) explore_check(join_item(&ctx, &items[i]) == 1);
}

static void idle_worker_gets_job(void) {
    int company = 2;
    open(2);
    explore_wait_quiet();
    explore_check(wsq_run(pool, fork_and_meet, &company) == WSQ_OK);
    end();
}

/* The guest works in a sleeper's place: of three workers two help. */
static void idle_workers_get_jobs(void) {
    int company = 3;
    open(3);
    explore_wait_quiet();
    explore_check(wsq_run(pool, fork_and_meet, &company) == WSQ_OK);
    end();
}

static void run_child(wsq_ctx ctx, wsq_job *job);

/* A join sleeps on a job whose child its thief cannot do without: the joiner must run the child. */
static int child_gate;

static void run_with_child(wsq_ctx ctx, wsq_job *job) {
    item *it = wsq_container_of(job, item, job), child;
    explore_check(++it->runs == 1);
    runs++;
    explore_meet(&gate, 2); /* it was stolen */
    if (explore_choose(2)) wsqi_pause();
    child.runs = 0;
    wsqi_set(&child.argument, 2);
    forks++;
    wsq_fork(&ctx, &child.job, run_child);
    explore_meet(&child_gate, 2);
    explore_check(join_item(&ctx, &child) == 1);
    wsqi_set(&it->result, 1);
}

static void run_child(wsq_ctx ctx, wsq_job *job) {
    item *it = wsq_container_of(job, item, job);
    (void)ctx;
    explore_check(++it->runs == 1);
    runs++;
    explore_meet(&child_gate, wsqi_get(&it->argument));
    wsqi_set(&it->result, 1);
}

static void fork_and_help(wsq_ctx ctx, void *arg) {
    item it;
    (void)arg;
    it.runs = 0;
    forks++;
    wsq_fork(&ctx, &it.job, run_with_child);
    explore_meet(&gate, 2);
    explore_check(join_item(&ctx, &it) == 1);
}

/* Two threads work, the guest and one worker; a short task may keep the worker for a while. */
static wsq_poll run_nothing(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    (void)task;
    return WSQ_DONE;
}

static void joiner_helps(void) {
    static wsq_task other;
    open(2);
    child_gate = 0;
    explore_wait_quiet();
    wsq_task_init(&other, run_nothing);
    if (explore_choose(2)) explore_check(wsq_spawn(pool, &other) == WSQ_OK);
    explore_check(wsq_run(pool, fork_and_help, NULL) == WSQ_OK);
    end();
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
    open(2);
    explore_wait_quiet();
    for (int i = 0; i < 2; i++) {
        two[i].company = 0;
        wsq_task_init(&two[i].task, run_forking);
        explore_check(wsq_spawn(pool, &two[i].task) == WSQ_OK);
    }
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    end();
}

static void task_meets_its_job(void) {
    static forking one;
    open(2);
    explore_wait_quiet();
    one.company = 2;
    wsq_task_init(&one.task, run_forking);
    explore_check(wsq_spawn(pool, &one.task) == WSQ_OK);
    end();
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
    open(2);
    explore_check(wsq_run(pool, run_loop, &n) == WSQ_OK);
    end();
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
    open(2);
    explore_check(wsq_run(pool, run_reduce, &n) == WSQ_OK);
    end();
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
    return explore_end();
}
