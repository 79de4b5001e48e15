/* Fork and join: trees of every shape against sequential results; full job stacks; stolen jobs; runs in
 * runs, and from more threads than there are guest blocks. A variant publishes every job, another
 * one has room for few. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "test.h"
#include "pool.h"

#include <sys/wait.h>

static uint64_t mix(uint64_t x) { return test_random(&x); }

/* ---- a call that returns a number, as a job ---- */

typedef struct call {
    wsq_job job;
    uint64_t (*fn)(wsq_ctx ctx, uint64_t argument);
    uint64_t argument, result;
} call;

static void call_run(wsq_ctx ctx, wsq_job *job) {
    call *self = wsq_container_of(job, call, job);
    self->result = self->fn(ctx, self->argument);
}

static void call_fork(wsq_ctx *ctx, call *self, uint64_t (*fn)(wsq_ctx, uint64_t), uint64_t argument) {
    self->fn = fn;
    self->argument = argument;
    self->result = 0;
    wsq_fork(ctx, &self->job, call_run);
}

/* By wsq_join or by wsq_reclaim: they must agree. */
static uint64_t call_join(wsq_ctx *ctx, call *self, bool reclaim) {
    if (!reclaim) wsq_join(ctx, &self->job);
    else if (wsq_reclaim(ctx, &self->job)) return self->fn(*ctx, self->argument);
    return self->result;
}

typedef struct root {
    uint64_t (*fn)(wsq_ctx ctx, uint64_t argument);
    uint64_t argument, result;
} root;

static void root_run(wsq_ctx ctx, void *arg) {
    root *self = arg;
    wsq_ctx before = ctx;
    self->result = self->fn(ctx, self->argument);
    CHECK(ctx == before);
}

static uint64_t run(wsq_pool *pool, uint64_t (*fn)(wsq_ctx, uint64_t), uint64_t argument) {
    root start = {fn, argument, 0};
    CHECK_EQ(wsq_run(pool, root_run, &start), WSQ_OK);
    return start.result;
}

/* ---- shapes ---- */

static uint64_t fib_join(wsq_ctx ctx, uint64_t n) {
    call left;
    if (n < 2) return n;
    call_fork(&ctx, &left, fib_join, n - 1);
    uint64_t right = fib_join(ctx, n - 2);
    return right + call_join(&ctx, &left, false);
}

static uint64_t fib_reclaim(wsq_ctx ctx, uint64_t n) {
    call left;
    if (n < 2) return n;
    call_fork(&ctx, &left, fib_reclaim, n - 1);
    uint64_t right = fib_reclaim(ctx, n - 2);
    return right + call_join(&ctx, &left, true);
}

static uint64_t leaf(wsq_ctx ctx, uint64_t argument) {
    (void)ctx;
    return mix(argument) & 0xffff;
}

/* Every level leaves a job behind and goes deeper: the job stack is as deep as the calls. */
static uint64_t chain(wsq_ctx ctx, uint64_t depth) {
    call side;
    if (depth == 0) return 0;
    call_fork(&ctx, &side, leaf, depth);
    uint64_t rest = chain(ctx, depth - 1);
    return rest + call_join(&ctx, &side, depth % 2);
}

/* Every level is the job of the one above: the thread that joins it goes down. */
static uint64_t ladder(wsq_ctx ctx, uint64_t depth) {
    call down;
    if (depth == 0) return 0;
    call_fork(&ctx, &down, ladder, depth - 1);
    return leaf(ctx, depth) + call_join(&ctx, &down, depth % 2);
}

static uint64_t leaves(uint64_t depth) {
    uint64_t sum = 0;
    for (uint64_t i = 1; i <= depth; i++) sum += mix(i) & 0xffff;
    return sum;
}

enum { FAN = 100000 };

static uint64_t fan(wsq_ctx ctx, uint64_t width) {
    uint64_t sum = 0;
    call *jobs = malloc(width * sizeof *jobs);
    if (!jobs) abort();
    for (uint64_t i = 0; i < width; i++) call_fork(&ctx, &jobs[i], leaf, i + 1);
    for (uint64_t i = width; i-- > 0;) sum += call_join(&ctx, &jobs[i], i % 2);
    free(jobs);
    return sum;
}

/* A tree that its seed determines: none to five children, some forked, some called. The low byte of the
 * argument is the depth. */
enum { CHILDREN = 5 };

static uint64_t child_of(uint64_t seed, unsigned i) { return (mix(seed + i) & ~(uint64_t)0xff) | ((seed & 0xff) - 1); }

static unsigned children_of(uint64_t seed) {
    unsigned count = (unsigned)(mix(seed ^ 0x55) % (CHILDREN + 1));
    return (seed & 0xff) == 0 ? 0 : count;
}

static uint64_t tree_alone(uint64_t seed) {
    uint64_t sum = mix(seed);
    for (unsigned i = 0; i < children_of(seed); i++) sum += mix(i + tree_alone(child_of(seed, i)));
    return sum;
}

static uint64_t tree(wsq_ctx ctx, uint64_t seed) {
    call jobs[CHILDREN];
    uint64_t sum = mix(seed);
    unsigned count = children_of(seed), forked = 0;
    bool called[CHILDREN] = {false};
    for (unsigned i = 0; i < count; i++) {
        called[i] = mix(seed + 7 * i) % 4 == 0;
        if (called[i]) sum += mix(i + tree(ctx, child_of(seed, i)));
        else call_fork(&ctx, &jobs[forked++], tree, child_of(seed, i));
    }
    if (mix(seed + 99) % 64 == 0) sched_yield(); /* on two cores: lets thieves come everywhere */
    for (unsigned i = count; i-- > 0;)
        if (!called[i]) sum += mix(i + call_join(&ctx, &jobs[--forked], mix(seed + i) % 2));
    return sum;
}

enum { TREE_DEPTH = 8 };

static uint64_t tree_seed(uint64_t seed) { return (mix(seed) & ~(uint64_t)0xff) | TREE_DEPTH; }

static void shapes_on(wsq_config config) {
    wsq_pool *pool = pool_new(config);
    CHECK_EQ(run(pool, fib_join, 20), 6765);
    CHECK_EQ(run(pool, fib_reclaim, 20), 6765);
    CHECK_EQ(run(pool, chain, 5000), leaves(5000));
    CHECK_EQ(run(pool, ladder, 5000), leaves(5000));
    CHECK_EQ(run(pool, fan, FAN), leaves(FAN));
    CHECK_EQ(run(pool, fan, 0), 0);
    pool_end(pool);
}

static void shapes(void) {
    for (unsigned workers = 1; workers <= 4; workers++) shapes_on((wsq_config){.workers = workers});
    shapes_on((wsq_config){.workers = 1, .caller_runs = true});
    shapes_on((wsq_config){.workers = 2, .order = WSQ_LIFO});
}

static void random_trees_on(unsigned workers, size_t count) {
    wsq_pool *pool = pool_new((wsq_config){.workers = workers});
    for (size_t i = 0; i < count; i++) {
        uint64_t seed = tree_seed(test_seed + i);
        CHECK(run(pool, tree, seed) == tree_alone(seed));
    }
    pool_end(pool);
}

static void random_trees(void) {
    random_trees_on(1, test_times(150));
    random_trees_on(2, test_times(600));
    random_trees_on(3, test_times(300));
}

static void oversubscribed(void) { random_trees_on(64, test_times(200)); }

/* ---- a job that must be stolen: it waits for its forker, and its forker for it ---- */

static atomic_uint in_job, in_forker;

static uint64_t needs_a_thief(wsq_ctx ctx, uint64_t round) {
    (void)ctx;
    atomic_store(&in_job, (unsigned)round);
    while (atomic_load(&in_forker) != round) sched_yield();
    return round;
}

/* It keeps forking and joining, as it must for anybody to get at what it has. */
static uint64_t needs_a_thief_run(wsq_ctx ctx, uint64_t round) {
    call first, other;
    call_fork(&ctx, &first, needs_a_thief, round);
    while (atomic_load(&in_job) != round) {
        call_fork(&ctx, &other, leaf, round);
        sched_yield();
        call_join(&ctx, &other, round % 2);
    }
    atomic_store(&in_forker, (unsigned)round);
    return call_join(&ctx, &first, round % 2);
}

static void idle_workers_get_jobs(void) {
    unsigned sizes[] = {1, 2, 8}; /* beside the caller */
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        wsq_pool *pool = pool_new((wsq_config){.workers = sizes[s] + 1});
        atomic_store(&in_job, 0);
        atomic_store(&in_forker, 0);
        for (uint64_t round = 1; round <= test_times(2000); round++)
            CHECK_EQ(run(pool, needs_a_thief_run, round), round);
        pool_end(pool);
    }
}

/* ---- joins that sleep: the thief takes long ---- */

static uint64_t slow(wsq_ctx ctx, uint64_t argument) {
    test_spin((uint32_t)(argument % 50) * 500); /* some longer than a join spins, some shorter */
    if (argument % 32 == 0) sched_yield();
    return leaf(ctx, argument);
}

static uint64_t slow_fan(wsq_ctx ctx, uint64_t seed) {
    call jobs[16];
    uint64_t sum = 0;
    for (uint64_t i = 0; i < 16; i++) call_fork(&ctx, &jobs[i], slow, (mix(seed + i) & 0xff) + i);
    for (uint64_t i = 16; i-- > 0;) sum += call_join(&ctx, &jobs[i], i % 2);
    return sum;
}

static void slow_thieves(void) {
    unsigned sizes[] = {2, 4, 16};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        wsq_pool *pool = pool_new((wsq_config){.workers = sizes[s]});
        for (size_t i = 0; i < test_times(500); i++) {
            uint64_t seed = test_seed + i, sum = 0;
            for (uint64_t j = 0; j < 16; j++) sum += mix((mix(seed + j) & 0xff) + j) & 0xffff;
            CHECK_EQ(run(pool, slow_fan, seed), sum);
            if (i % 4 == 0) test_spin(20000); /* the pool may fall asleep between two runs */
        }
        pool_end(pool);
    }
}

/* ---- a join that has to wait never runs a spawned task on its frame ---- */

static _Thread_local int joining;
static atomic_ulong tasks_in_joins, tasks_run;

static wsq_poll bystander_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    (void)task;
    if (joining > 0) atomic_fetch_add(&tasks_in_joins, 1);
    atomic_fetch_add(&tasks_run, 1);
    return WSQ_DONE;
}

enum { BYSTANDERS = 20 };

typedef struct host {
    wsq_task task;
    wsq_task bystanders[BYSTANDERS];
} host;

/* Its queue is full of tasks, and its slot too, while it waits for slow thieves. */
static wsq_poll host_run(wsq_ctx ctx, wsq_task *task) {
    host *self = wsq_container_of(task, host, task);
    call jobs[8];
    uint64_t sum = 0, expected = 0;
    for (uint64_t i = 0; i < 8; i++) call_fork(&ctx, &jobs[i], slow, i + 1);
    for (int i = 0; i < BYSTANDERS; i++) {
        wsq_task_init(&self->bystanders[i], bystander_run);
        if (wsq_spawn(wsq_pool_of(ctx), &self->bystanders[i]) != WSQ_OK) FAIL("a spawn");
    }
    joining++;
    for (uint64_t i = 8; i-- > 0;) {
        sum += call_join(&ctx, &jobs[i], false);
        expected += mix(i + 1) & 0xffff;
    }
    joining--;
    CHECK_EQ(sum, expected);
    return WSQ_DONE;
}

static void joins_run_no_tasks(void) {
    for (unsigned workers = 1; workers <= 4; workers++) {
        static host hosts[2];
        wsq_pool *pool = pool_new((wsq_config){.workers = workers});
        size_t rounds = test_times(300);
        atomic_store(&tasks_run, 0);
        for (size_t i = 0; i < rounds; i++) {
            for (int k = 0; k < 2; k++) {
                wsq_task_init(&hosts[k].task, host_run);
                CHECK_EQ(wsq_spawn(pool, &hosts[k].task), WSQ_OK);
            }
            CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        }
        CHECK_EQ(atomic_load(&tasks_in_joins), 0);
        CHECK_EQ(atomic_load(&tasks_run), rounds * 2 * BYSTANDERS);
        pool_end(pool);
    }
}

/* ---- runs in tasks, tasks in runs, runs in runs ---- */

typedef struct nest {
    wsq_task task;
    wsq_pool *pool, *other;
    uint64_t seed, result;
    unsigned depth;
} nest;

static uint64_t nest_alone(uint64_t seed, unsigned depth) {
    uint64_t sum = tree_alone(tree_seed(seed));
    if (depth == 0) return sum;
    for (unsigned i = 0; i < 3; i++) sum += nest_alone(seed * 3 + i, depth - 1);
    return sum;
}

static void nest_run(wsq_ctx ctx, void *arg);

typedef struct nest_call {
    wsq_job job;
    nest inner;
} nest_call;

static void nest_job(wsq_ctx ctx, wsq_job *job) {
    nest *inner = &wsq_container_of(job, nest_call, job)->inner;
    (void)ctx;
    CHECK_EQ(wsq_run(inner->pool, nest_run, inner), WSQ_OK);
}

/* One level: a tree here, a run in a job, a run in place, and a run on another pool. */
static void nest_run(wsq_ctx ctx, void *arg) {
    nest *self = arg;
    nest inner[3];
    nest_call forked;
    unsigned next = self->depth - 1;
    if (self->depth == 0) {
        self->result = tree(ctx, tree_seed(self->seed));
        return;
    }
    for (unsigned i = 0; i < 3; i++)
        inner[i] = (nest){.pool = self->pool, .other = self->other, .seed = self->seed * 3 + i, .depth = next};
    inner[2].pool = self->other;
    inner[2].other = self->pool;
    forked.inner = inner[0];
    wsq_fork(&ctx, &forked.job, nest_job);
    uint64_t sum = tree(ctx, tree_seed(self->seed));
    CHECK_EQ(wsq_run(inner[1].pool, nest_run, &inner[1]), WSQ_OK);
    CHECK_EQ(wsq_run(inner[2].pool, nest_run, &inner[2]), WSQ_OK);
    wsq_join(&ctx, &forked.job);
    self->result = sum + forked.inner.result + inner[1].result + inner[2].result;
}

static wsq_poll nest_poll(wsq_ctx ctx, wsq_task *task) {
    nest *self = wsq_container_of(task, nest, task);
    if (self->seed % 2) nest_run(ctx, self); /* a task may fork from the context that it gets */
    else CHECK_EQ(wsq_run(self->pool, nest_run, self), WSQ_OK);
    return WSQ_DONE;
}

static void nested(void) {
    enum { TASKS = 8 };
    static nest tasks[TASKS];
    wsq_pool *pool = pool_new((wsq_config){.workers = 3}), *other = pool_new((wsq_config){.workers = 2});
    for (size_t round = 0; round < test_times(30); round++) {
        nest outside = {.pool = pool, .other = other, .seed = round + 1, .depth = 2};
        for (unsigned i = 0; i < TASKS; i++) {
            tasks[i] = (nest){.pool = pool, .other = other, .seed = round * TASKS + i, .depth = i % 3};
            wsq_task_init(&tasks[i].task, nest_poll);
            CHECK_EQ(wsq_spawn(pool, &tasks[i].task), WSQ_OK);
        }
        CHECK_EQ(wsq_run(pool, nest_run, &outside), WSQ_OK);
        CHECK(outside.result == nest_alone(outside.seed, 2));
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        for (unsigned i = 0; i < TASKS; i++) CHECK(tasks[i].result == nest_alone(tasks[i].seed, i % 3));
    }
    pool_end(pool);
    pool_end(other);
}

static uint64_t runs_itself(wsq_ctx ctx, uint64_t depth) {
    if (depth == 0) return 1;
    return 1 + run(wsq_pool_of(ctx), runs_itself, depth - 1);
}

/* Deeper than there are guest blocks. */
static void runs_in_runs(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 2});
    for (size_t i = 0; i < test_times(20); i++) CHECK_EQ(run(pool, runs_itself, 100), 101);
    pool_end(pool);
}

/* ---- several threads run at once, more than there are guest blocks ---- */

enum { CALLERS = 40 };

static void call_in(test_thread *self) {
    for (size_t i = 0; i < test_times(30); i++) {
        uint64_t seed = tree_seed(test_random(&self->random));
        CHECK(run(self->arg, tree, seed) == tree_alone(seed));
    }
}

static void many_callers(void) {
    unsigned sizes[] = {1, 2, 8};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        wsq_pool *pool = pool_new((wsq_config){.workers = sizes[s]});
        test_threads(3, call_in, pool);
        test_threads(CALLERS, call_in, pool);
        pool_end(pool);
    }
}

/* ---- where am I ---- */

static void whereabouts(wsq_ctx ctx, void *arg) {
    CHECK(wsq_pool_of(ctx) == arg);
    CHECK_EQ(wsq_worker_self(), wsq_worker_index(ctx));
}

static wsq_poll whereabouts_poll(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    whereabouts(ctx, wsq_pool_of(ctx));
    CHECK(wsq_worker_index(ctx) < wsq_pool_workers(wsq_pool_of(ctx)));
    return WSQ_DONE;
}

static void where(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 2});
    wsq_task task;
    CHECK_EQ(wsq_worker_self(), -1);
    CHECK_EQ(wsq_run(pool, whereabouts, pool), WSQ_OK);
    CHECK_EQ(wsq_worker_self(), -1);
    wsq_task_init(&task, whereabouts_poll);
    CHECK_EQ(wsq_spawn(pool, &task), WSQ_OK);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    CHECK_EQ(wsq_run(NULL, whereabouts, pool), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_run(pool, NULL, pool), WSQ_ERR_INVALID);
    pool_end(pool);
}

/* ---- misuse is caught: in a process of its own, which must abort ---- */

static void join_in_wrong_order(wsq_ctx ctx, void *arg) {
    call first, second;
    (void)arg;
    call_fork(&ctx, &first, leaf, 1);
    call_fork(&ctx, &second, leaf, 2);
    call_join(&ctx, &first, false);
}

static void join_with_a_stale_context(wsq_ctx ctx, void *arg) {
    wsq_ctx stale;
    call first, second;
    (void)arg;
    call_fork(&ctx, &first, leaf, 1);
    stale = ctx;
    call_fork(&ctx, &second, leaf, 2);
    call_join(&stale, &second, true);
}

static void check_abort(void (*misuse)(wsq_ctx ctx, void *arg)) {
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        wsq_config config = {.workers = 1, .caller_runs = true};
        wsq_pool *pool = NULL;
        if (!freopen("/dev/null", "w", stderr)) _exit(1);
        signal(SIGABRT, SIG_DFL);
        if (wsq_pool_create(&pool, &config) == WSQ_OK) wsq_run(pool, misuse, NULL);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void misuse(void) {
    check_abort(join_in_wrong_order);
    check_abort(join_with_a_stale_context);
}

int main(void) {
    test_begin("test_forkjoin");
    RUN(shapes);
    RUN(random_trees);
    RUN(oversubscribed);
    RUN(idle_workers_get_jobs);
    RUN(slow_thieves);
    RUN(joins_run_no_tasks);
    RUN(nested);
    RUN(runs_in_runs);
    RUN(many_callers);
    RUN(where);
    RUN(misuse);
    return test_end();
}
