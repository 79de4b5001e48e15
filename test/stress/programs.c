/* Random programs: bytes become a pool, tasks with small scripts, and outside threads that spawn, wake,
 * run, submit, wait, cancel and shut down, all at once. A sequential model says what must come out: the value of every
 * recursion, loop and reduction; that a task ran as often as a spawn of it was accepted, alone, and to
 * its end unless the program cancels; and that no wake is lost, for else the program does not end.
 *
 * With -DWSQ_FUZZ it is a target of libFuzzer (make fuzz); else it makes up its own bytes. */
#include "../test.h"

#define WSQ_RING_CAPACITY 4 /* so that a few tasks overflow it */
#define WSQ_GUESTS 3        /* so that a few runs take them all */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"

enum { TASKS = 12, THREADS = 3, OPS = 8, TASK_OPS = 6, LIVES = 4, MEMBERS = 400, LENGTH_MAX = 280 };

typedef enum op_kind {
    OP_YIELD, OP_SPAWN, OP_WAKE, OP_SELF_WAKE, OP_AWAIT_MAIL, OP_BUDGET, OP_EXPRESSION, OP_LOOP,
    OP_REDUCE, OP_RUN, OP_SUBMIT, OP_GROUP, OP_CHAIN, OP_TIMER, /* so far what tasks do, too */
    OP_BATCH, OP_GONER, OP_PUMP, OP_STATS, OP_KINDS
} op_kind;

typedef enum ending { END_NOT, END_WAIT, END_DRAIN, END_CANCEL, END_KINDS } ending;

typedef struct op {
    op_kind kind;
    uint8_t argument;
} op;

typedef struct program program;

typedef struct actor {
    wsq_task task;
    wsq_timer timer;
    program *all;
    op ops[TASK_OPS];
    unsigned at;          /* the runs of a life share it: plain, for the scheduler orders them */
    uint64_t sum, value;  /* of all lives, plain; of one life, as the model has it */
    unsigned need;        /* letters that the outside threads send in all */
    atomic_uint mail, tries, accepted, ended;
    atomic_bool busy;
    unsigned pinned; /* 0, or 1 + its worker */
} actor;

typedef struct goner {
    wsq_task task;
    program *all;
} goner;

/* Of a group, or of a chain of tasks that come after each other. */
typedef struct member {
    wsq_task task;
    wsq_edge edge;
    struct member *before;
    uint64_t seed, value; /* plain */
    atomic_uint ended;
} member;

struct program {
    const uint8_t *bytes;
    size_t left;
    wsq_config config;
    wsq_pool *pool;
    unsigned tasks, threads;
    actor actors[TASKS];
    goner goners[THREADS * OPS];
    op ops[THREADS][OPS];
    ending endings[THREADS];
    member members[MEMBERS];
    atomic_uint goners_used, goners_ended, goners_accepted, members_used;
    bool cancels, stops; /* some thread does: before the end */
};

/* ---- what jobs compute, and the same without a pool: ctx is NULL there ---- */

static uint64_t hash(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

typedef struct branch {
    wsq_job job;
    uint64_t seed, value;
    unsigned depth;
} branch;

static uint64_t expression(wsq_ctx ctx, uint64_t seed, unsigned depth);

static void branch_run(wsq_ctx ctx, wsq_job *job) {
    branch *self = wsq_container_of(job, branch, job);
    self->value = expression(ctx, self->seed, self->depth);
}

static void branch_join(wsq_ctx *ctx, branch *self, bool reclaim) {
    if (!reclaim) wsq_join(ctx, &self->job);
    else if (wsq_reclaim(ctx, &self->job)) branch_run(*ctx, &self->job);
}

/* A tree whose shape follows from the seed: up to three forks at once, joined newest first. */
static uint64_t expression(wsq_ctx ctx, uint64_t seed, unsigned depth) {
    branch branches[3];
    uint64_t value = hash(seed + depth);
    unsigned forks = depth == 0 ? 0 : (unsigned)(value % 4);
    for (unsigned i = 0; i < forks; i++) {
        branches[i].seed = value + i;
        branches[i].depth = depth - 1;
        if (ctx != NULL) wsq_fork(&ctx, &branches[i].job, branch_run);
    }
    if (depth != 0) value = value * 31 + expression(ctx, value ^ 1, depth - 1);
    for (unsigned i = forks; i-- > 0;) {
        if (ctx != NULL) branch_join(&ctx, &branches[i], value % 2 != 0);
        else branch_run(NULL, &branches[i].job);
        value = value * 31 + branches[i].value;
    }
    return value;
}

typedef struct words { uint64_t count, value; } words;

static void words_init(void *partial, void *arg) {
    (void)arg;
    memset(partial, 0, sizeof(words));
}

static void words_body(wsq_ctx ctx, size_t begin, size_t end, void *partial, void *arg) {
    words *self = partial;
    (void)ctx;
    for (size_t i = begin; i < end; i++) {
        self->value = self->value * 31 + hash(i ^ *(uint64_t *)arg);
        self->count++;
    }
}

static void words_combine(void *left, const void *right, void *arg) {
    words *first = left;
    const words *second = right;
    (void)arg;
    for (uint64_t i = 0; i < second->count; i++) first->value *= 31;
    first->value += second->value;
    first->count += second->count;
}

static uint64_t reduction(wsq_ctx ctx, uint64_t seed) {
    const wsq_reducer reducer = {sizeof(words), words_init, words_body, words_combine, &seed, false};
    words result = {0, 0};
    size_t count = seed % 100;
    if (ctx == NULL) words_body(NULL, 0, count, &result, &seed);
    else CHECK_EQ(wsq_reduce(ctx, 0, count, seed % 3, &reducer, &result), WSQ_OK);
    CHECK_EQ(result.count, count);
    return result.value;
}

static void loop_body(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    uint64_t sum = 0;
    (void)ctx;
    for (size_t i = begin; i < end; i++) sum += hash(i);
    atomic_fetch_add((atomic_ullong *)arg, sum);
}

static uint64_t loop(wsq_ctx ctx, uint64_t seed) {
    atomic_ullong sum = 0;
    size_t count = seed % 100;
    if (ctx == NULL) loop_body(NULL, 0, count, &sum);
    else wsq_for(ctx, 0, count, seed % 3, loop_body, &sum);
    return atomic_load(&sum);
}

typedef struct errand {
    uint64_t seed, value;
    bool ran;
} errand;

static void errand_run(wsq_ctx ctx, void *arg) {
    errand *self = arg;
    CHECK(!self->ran);
    self->ran = true;
    self->value = expression(ctx, self->seed, 3) + loop(ctx, self->seed);
}

static uint64_t run_errand(program *all, uint64_t seed) {
    errand self = {seed, 0, false};
    wsq_result result = wsq_run(all->pool, errand_run, &self);
    CHECK_EQ(self.ran, result == WSQ_OK);
    if (self.ran) CHECK(self.value == expression(NULL, seed, 3) + loop(NULL, seed));
    else CHECK(result == WSQ_ERR_CLOSED || (result == WSQ_ERR_CANCELLED && all->cancels));
    return 0;
}

/* ---- futures, groups, chains ---- */

static void *answer(void *arg) {
    uint64_t *seed = arg;
    *seed = expression(NULL, *seed, 2);
    return seed;
}

static uint64_t ask(program *all, uint64_t seed) {
    uint64_t number = seed;
    void *result = NULL;
    wsq_future *future = NULL;
    wsq_result outcome = wsq_submit(all->pool, answer, &number, &future);
    CHECK(outcome == WSQ_OK || outcome == WSQ_ERR_CLOSED);
    if (outcome == WSQ_OK) {
        outcome = wsq_future_get(future, &result);
        CHECK(outcome == WSQ_OK || (outcome == WSQ_ERR_CANCELLED && all->cancels));
    }
    if (outcome == WSQ_OK) CHECK(result == &number && number == expression(NULL, seed, 2));
    return 0;
}

static wsq_poll member_run(wsq_ctx ctx, wsq_task *task) {
    member *self = wsq_container_of(task, member, task);
    (void)ctx;
    self->value = self->seed + (self->before != NULL ? self->before->value : 0);
    CHECK_EQ(atomic_fetch_add(&self->ended, 1), 0);
    return WSQ_DONE;
}

static wsq_poll member_clean(wsq_task *task) {
    CHECK_EQ(atomic_fetch_add(&wsq_container_of(task, member, task)->ended, 1), 0);
    return WSQ_DONE;
}

/* Their memory stays: those that a shutdown cancels may be looked at until the pool is gone. */
static member *take_members(program *all, unsigned count, uint64_t seed) {
    unsigned first = atomic_fetch_add(&all->members_used, count);
    if (first + count > MEMBERS) return NULL;
    for (unsigned i = 0; i < count; i++) {
        member *self = &all->members[first + i];
        wsq_task_init(&self->task, member_run);
        wsq_task_set_cleanup(&self->task, member_clean);
        wsq_task_set_priority(&self->task, (wsq_priority)((seed + i) % 3));
        self->seed = seed + i;
    }
    return &all->members[first];
}

static uint64_t gather(program *all, uint64_t seed) {
    unsigned count = 1 + (unsigned)(seed % 4);
    member *members = take_members(all, count, seed);
    bool cancels = seed / 4 % 4 == 0;
    wsq_group group;
    if (members == NULL) return 0;
    CHECK_EQ(wsq_group_init(&group, all->pool), WSQ_OK);
    for (unsigned i = 0; i < count; i++) {
        wsq_result result = wsq_group_spawn(&group, &members[i].task);
        CHECK(result == WSQ_OK || result == WSQ_ERR_CLOSED || (result == WSQ_ERR_CANCELLED && cancels));
        if (result != WSQ_OK) atomic_store(&members[i].ended, 1);
        if (cancels && i == seed / 16 % 4) wsq_group_cancel(&group);
    }
    wsq_result result = wsq_group_wait(&group);
    CHECK_EQ(wsq_group_pending(&group), 0);
    for (unsigned i = 0; i < count; i++) CHECK_EQ(atomic_load(&members[i].ended), 1);
    CHECK(result == WSQ_OK || (result == WSQ_ERR_CANCELLED && (cancels || all->cancels)));
    memset((void *)&group, 0xa5, sizeof group); /* nobody looks at it again */
    return 0;
}

/* Spawned in one order or the other; each finds what the one before it left. A task whose predecessor
 * the pool does not take any more would wait for ever: then only in the right order. */
static uint64_t follow(program *all, uint64_t seed) {
    unsigned count = 2 + (unsigned)(seed % 3), spawned = 0;
    member *members = take_members(all, count, seed);
    uint64_t sum = seed;
    if (members == NULL) return 0;
    for (unsigned i = 1; i < count; i++) {
        members[i].before = &members[i - 1];
        sum += seed + i;
        CHECK_EQ(wsq_task_after(&members[i].task, &members[i - 1].task, &members[i].edge), WSQ_OK);
    }
    for (unsigned i = 0; i < count; i++) {
        member *self = &members[all->stops || seed / 4 % 2 ? i : count - 1 - i];
        wsq_result result = wsq_spawn(all->pool, &self->task);
        CHECK(result == WSQ_OK || result == WSQ_ERR_CLOSED);
        spawned += result == WSQ_OK;
    }
    if (spawned < count) return 0;
    wsq_result result = wsq_task_wait(&members[count - 1].task);
    CHECK(result == WSQ_OK || (result == WSQ_ERR_CANCELLED && all->cancels));
    if (result == WSQ_OK) CHECK(members[count - 1].value == sum);
    return 0;
}

/* What one operation of a task adds to its value; the model calls it without a context. */
static uint64_t compute(wsq_ctx ctx, program *all, op it) {
    switch (it.kind) {
    case OP_EXPRESSION: return expression(ctx, it.argument, it.argument % 6);
    case OP_LOOP: return loop(ctx, it.argument);
    case OP_REDUCE: return reduction(ctx, it.argument);
    case OP_RUN: return ctx != NULL ? run_errand(all, it.argument) : 0;
    case OP_SUBMIT: return ctx != NULL ? ask(all, it.argument) : 0;
    case OP_GROUP: return ctx != NULL ? gather(all, it.argument) : 0;
    case OP_CHAIN: return ctx != NULL ? follow(all, it.argument) : 0;
    default: return 0;
    }
}

/* ---- tasks ---- */

static void accept(program *all, actor *task) {
    if (atomic_fetch_add(&task->tries, 1) >= LIVES) return;
    wsq_result result = task->pinned ? wsq_spawn_on(all->pool, task->pinned - 1, &task->task)
                                     : wsq_spawn(all->pool, &task->task);
    CHECK(result == WSQ_OK || result == WSQ_ERR_INVALID || result == WSQ_ERR_CLOSED);
    if (result == WSQ_OK) atomic_fetch_add(&task->accepted, 1);
}

/* One operation; true: the task returns *poll. */
static bool act(wsq_ctx ctx, actor *self, wsq_poll *poll) {
    op it = self->ops[self->at];
    actor *other = &self->all->actors[it.argument % self->all->tasks];
    *poll = WSQ_PENDING;
    if (it.kind == OP_AWAIT_MAIL && atomic_load(&self->mail) < self->need) return true;
    self->at++;
    self->sum += compute(ctx, self->all, it);
    switch (it.kind) {
    case OP_YIELD: *poll = WSQ_YIELD; return true;
    case OP_SPAWN: accept(self->all, other); return false;
    case OP_WAKE: wsq_wake(&other->task); return false;
    case OP_SELF_WAKE: wsq_wake(&self->task); return true;
    case OP_TIMER:
        CHECK_EQ(wsq_timer_set(self->all->pool, &self->timer, &self->task, it.argument * 1000u), WSQ_OK);
        return true;
    case OP_BUDGET:
        while (wsq_budget_take()) {}
        *poll = WSQ_YIELD;
        return true;
    default: return false;
    }
}

static wsq_poll actor_run(wsq_ctx ctx, wsq_task *task) {
    actor *self = wsq_container_of(task, actor, task);
    wsq_poll poll;
    CHECK(!atomic_exchange(&self->busy, true));
    CHECK(wsq_pool_of(ctx) == self->all->pool);
    while (self->at < TASK_OPS) {
        if (!act(ctx, self, &poll)) continue;
        atomic_store(&self->busy, false);
        return poll;
    }
    self->at = 0;
    atomic_fetch_add(&self->ended, 1);
    atomic_store(&self->busy, false);
    return WSQ_DONE;
}

/* Its memory is its own: the scheduler must not look at it again. */
static wsq_poll goner_run(wsq_ctx ctx, wsq_task *task) {
    program *all = wsq_container_of(task, goner, task)->all;
    (void)ctx;
    memset((void *)task, 0xa5, sizeof(goner));
    atomic_fetch_add(&all->goners_ended, 1);
    return WSQ_GONE;
}

/* ---- outside threads ---- */

static void batch(program *all, uint8_t argument) {
    wsq_task *list[TASKS];
    unsigned first = argument % all->tasks, count = argument / 16u % (all->tasks - first + 1);
    for (unsigned i = 0; i < count; i++) {
        if (atomic_fetch_add(&all->actors[first + i].tries, 1) >= LIVES) return;
        list[i] = &all->actors[first + i].task;
    }
    wsq_result result = wsq_spawn_batch(all->pool, list, count);
    CHECK(result == WSQ_OK || result == WSQ_ERR_INVALID || result == WSQ_ERR_CLOSED);
    for (unsigned i = 0; i < count && result == WSQ_OK; i++)
        atomic_fetch_add(&all->actors[first + i].accepted, 1);
}

static void send_goner(program *all) {
    goner *self = &all->goners[atomic_fetch_add(&all->goners_used, 1)];
    self->all = all;
    wsq_task_init(&self->task, goner_run);
    wsq_result result = wsq_spawn(all->pool, &self->task);
    CHECK(result == WSQ_OK || result == WSQ_ERR_CLOSED);
    atomic_fetch_add(&all->goners_accepted, result == WSQ_OK);
}

static void look_at_stats(program *all) {
    wsq_stats stats;
    wsq_pool_stats(all->pool, &stats);
    CHECK(stats.finished <= stats.spawned);
    CHECK(stats.steals <= stats.steal_attempts);
    CHECK_EQ(stats.rescued, 0);
}

static void outside(program *all, op it) {
    actor *other = &all->actors[it.argument % all->tasks];
    switch (it.kind) {
    case OP_YIELD: sched_yield(); break;
    case OP_SPAWN: accept(all, other); break;
    case OP_WAKE:
        atomic_fetch_add(&other->mail, 1);
        wsq_wake(&other->task);
        break;
    case OP_BUDGET: CHECK(wsq_budget_take()); break;
    case OP_RUN: run_errand(all, it.argument); break;
    case OP_SUBMIT: ask(all, it.argument); break;
    case OP_GROUP: gather(all, it.argument); break;
    case OP_CHAIN: follow(all, it.argument); break;
    case OP_BATCH: batch(all, it.argument); break;
    case OP_GONER: send_goner(all); break;
    case OP_PUMP:
        if (all->config.caller_runs) wsq_pool_run_one(all->pool);
        break;
    case OP_STATS: look_at_stats(all); break;
    default: break;
    }
}

/* All letters are sent before anybody waits, so every wait ends. */
static void thread_run(test_thread *thread) {
    program *all = thread->arg;
    wsq_result result;
    for (int i = 0; i < OPS; i++) outside(all, all->ops[thread->index][i]);
    switch (all->endings[thread->index]) {
    case END_WAIT:
        result = wsq_pool_wait(all->pool);
        CHECK(result == WSQ_OK || (result == WSQ_ERR_CANCELLED && all->cancels));
        break;
    case END_DRAIN: CHECK_EQ(wsq_pool_shutdown(all->pool, WSQ_DRAIN), WSQ_OK); break;
    case END_CANCEL: CHECK_EQ(wsq_pool_shutdown(all->pool, WSQ_CANCEL), WSQ_OK); break;
    default: break;
    }
}

/* ---- from bytes to a program ---- */

static uint8_t next_byte(program *all) {
    if (all->left == 0) return 0;
    all->left--;
    return *all->bytes++;
}

static op next_op(program *all, unsigned kinds) {
    op it;
    it.kind = (op_kind)(next_byte(all) % kinds);
    it.argument = next_byte(all);
    return it;
}

static void read_config(program *all) {
    static const uint32_t caps[] = {0, 1, 2, WSQ_LIFO_OFF};
    static const unsigned standins[] = {0, 1, 2, WSQ_STANDINS_OFF};
    uint8_t a = next_byte(all), b = next_byte(all);
    all->config.workers = 1 + a % 4;
    all->config.order = a / 4 % 4 == 3 ? WSQ_LIFO : WSQ_FIFO;
    all->config.caller_runs = a / 16 % 8 == 7;
    all->config.lifo_cap = caps[b % 4];
    all->config.max_standins = standins[(a ^ b / 4) % 4];
    all->config.budget = b / 4 % 8;
    all->config.min_interval = all->config.max_interval = b / 32;
    all->config.seed = 1 + (uint64_t)a * 256 + b;
    all->tasks = 1 + next_byte(all) % TASKS;
    all->threads = all->config.caller_runs ? 1 : 1 + next_byte(all) % THREADS;
}

static void read_program(program *all) {
    read_config(all);
    for (unsigned t = 0; t < all->threads; t++) {
        for (int i = 0; i < OPS; i++) {
            op it = all->ops[t][i] = next_op(all, OP_KINDS);
            if (it.kind == OP_WAKE) all->actors[it.argument % all->tasks].need++;
        }
        all->endings[t] = (ending)(next_byte(all) % END_KINDS);
        all->cancels |= all->endings[t] == END_CANCEL;
        all->stops |= all->endings[t] == END_CANCEL || all->endings[t] == END_DRAIN;
    }
    for (unsigned i = 0; i < all->tasks; i++) {
        actor *self = &all->actors[i];
        self->all = all;
        wsq_task_init(&self->task, actor_run);
        uint8_t kind = next_byte(all);
        if (kind % 4 == 1) self->pinned = 1 + kind / 4u % all->config.workers;
        if (kind % 4 == 2) wsq_task_set_priority(&self->task, kind & 4 ? WSQ_HIGH : WSQ_LOW);
        for (int k = 0; k < TASK_OPS; k++) {
            self->ops[k] = next_op(all, OP_TIMER + 1);
            self->value += compute(NULL, all, self->ops[k]);
        }
    }
}

/* ---- what must have come out ---- */

static void check_actor(program *all, actor *self) {
    unsigned accepted = atomic_load(&self->accepted), ended = atomic_load(&self->ended);
    unsigned missing = accepted - ended;
    if (accepted == 0) {
        CHECK_EQ(wsq_task_wait(&self->task), WSQ_ERR_INVALID);
        CHECK_EQ(ended, 0);
        return;
    }
    /* A spawn that has seen the pool run, and was preempted, comes after the cancel of an earlier one. */
    CHECK(missing <= (all->cancels ? LIVES : 0));
    CHECK(wsq_task_done(&self->task));
    CHECK_EQ(wsq_task_wait(&self->task), missing ? WSQ_ERR_CANCELLED : WSQ_OK);
    if (missing == 0) CHECK(self->sum == self->value * ended);
}

static void finish(program *all) {
    for (unsigned i = 0; i < all->tasks && !all->cancels; i++)
        if (atomic_load(&all->actors[i].accepted)) wsq_task_wait(&all->actors[i].task);
    CHECK_EQ(wsq_pool_shutdown(all->pool, WSQ_DRAIN), WSQ_OK);
    /* A task that was pending when the pool was cancelled is cancelled when it is woken. */
    for (unsigned i = 0; i < all->tasks && all->cancels; i++) wsq_wake(&all->actors[i].task);
    CHECK_EQ(wsq_pool_pending(all->pool), 0);
    look_at_stats(all);
    for (unsigned i = 0; i < all->tasks; i++) check_actor(all, &all->actors[i]);
    unsigned ended = atomic_load(&all->goners_ended), accepted = atomic_load(&all->goners_accepted);
    CHECK(ended == accepted || (all->cancels && ended < accepted));
    wsq_pool_destroy(all->pool);
}

static void run_program(const uint8_t *bytes, size_t length) {
    static program all;
    memset((void *)&all, 0, sizeof all);
    all.bytes = bytes;
    all.left = length;
    read_program(&all);
    CHECK_EQ(wsq_pool_create(&all.pool, &all.config), WSQ_OK);
    if (all.pool == NULL) return;
    test_threads(all.threads, thread_run, &all);
    finish(&all);
}

#ifdef WSQ_FUZZ

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    strcpy(test_name, "fuzz");
    run_program(bytes, length);
    if (atomic_load(&test_failures)) abort();
    return 0;
}

#else

/* Program i is made from the seed plus i alone: with that as WSQ_SEED it comes first. */
static void programs(void) {
    size_t count = test_times(8000);
    for (size_t i = 0; i < count; i++) {
        uint8_t bytes[LENGTH_MAX];
        uint64_t random = test_seed + i;
        size_t length = 16 + test_below(&random, LENGTH_MAX - 16);
        for (size_t k = 0; k < length; k++) bytes[k] = (uint8_t)test_random(&random);
        run_program(bytes, length);
        if (atomic_load(&test_failures) == 0) continue;
        fprintf(stderr, "WSQ_SEED=%llu begins with this program\n",
                (unsigned long long)(test_seed + i));
        return;
    }
    printf("  programs: %zu\n", count);
}

int main(void) {
    test_begin("programs");
    RUN(programs);
    return test_end();
}

#endif
