/* More random programs, of what programs.c leaves out: two pools at once whose tasks wait in each
 * other, lent threads that come and go, several threads around a caller_runs pool, 70 workers, timers
 * taken back, time-outs, blocks, futures dropped and followed, groups with pending members, batches with
 * duplicates. The model is short: what a spawn accepted ends once, and no wait lasts for ever.
 *
 * Waits go to leaves, which never wait, so that no circle can come about; across pools both ways only where
 * there are stand-ins. */
#include "../test.h"

#define WSQ_RING_CAPACITY 4
#define WSQ_GUESTS 2
#ifdef __SANITIZE_THREAD__
#define WSQ_BLOCK_SIZE 65536
#endif
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"

enum { ACTORS = 10, ACTOR_OPS = 4, THREADS = 4, THREAD_OPS = 6, LEAVES = 3000, GROUPS = 600, LENT = 4 };

typedef enum leaf_kind { PLAIN, YIELDS, TIMED, HOURS, FORKS, PENDS, LEAF_KINDS } leaf_kind;

typedef struct program program;

typedef struct leaf {
    wsq_task task;
    wsq_timer timer;
    program *all;
    wsq_pool *pool;
    leaf_kind kind;
    atomic_uint runs, accepted, ended;
    atomic_bool busy;
} leaf;

typedef struct actor {
    wsq_task task;
    program *all;
    unsigned home;
    uint64_t random;
    atomic_uint ended;
} actor;

struct program {
    wsq_pool *pools[2];
    wsq_config configs[2];
    bool crosses[2]; /* tasks of this pool wait for the other */
    unsigned threads, actors;
    uint64_t random;
    leaf leaves[LEAVES];
    wsq_group groups[GROUPS];
    actor actor[ACTORS];
    atomic_uint leaves_used, groups_used, accepted;
    unsigned stopper; /* 0: none; 1 + the thread that stops both pools in the midst */
    wsq_shutdown mode;
};

static bool stops(const program *all) { return all->stopper != 0; }

/* ---- leaves ---- */

typedef struct twig {
    wsq_job job;
    unsigned depth, sum;
} twig;

static unsigned grow(wsq_ctx ctx, unsigned depth);

static void twig_run(wsq_ctx ctx, wsq_job *job) {
    twig *self = wsq_container_of(job, twig, job);
    self->sum = grow(ctx, self->depth);
}

static unsigned grow(wsq_ctx ctx, unsigned depth) {
    if (depth == 0) return 1;
    twig half = {.depth = depth - 1};
    wsq_fork(&ctx, &half.job, twig_run);
    unsigned sum = grow(ctx, depth - 1);
    wsq_join(&ctx, &half.job);
    return sum + half.sum;
}

static wsq_poll leaf_step(wsq_ctx ctx, leaf *self, unsigned run) {
    wsq_pool *pool = wsq_pool_of(ctx);
    CHECK(pool == self->pool);
    switch (self->kind) {
    case YIELDS: return run < 3 ? WSQ_YIELD : WSQ_DONE;
    case TIMED:
        if (run >= 2) return WSQ_DONE;
        CHECK_EQ(wsq_timer_set(pool, &self->timer, &self->task, run * 30000u), WSQ_OK);
        return WSQ_PENDING;
    case HOURS:
        if (run >= 1) return WSQ_DONE;
        CHECK_EQ(wsq_timer_set(pool, &self->timer, &self->task, WSQ_FOREVER - (uint64_t)(uintptr_t)self % 64), WSQ_OK);
        return WSQ_PENDING;
    case FORKS: CHECK_EQ(grow(ctx, 6), 64); return WSQ_DONE;
    case PENDS: return run >= 1 ? WSQ_DONE : WSQ_PENDING;
    default: return WSQ_DONE;
    }
}

static wsq_poll leaf_run(wsq_ctx ctx, wsq_task *task) {
    leaf *self = wsq_container_of(task, leaf, task);
    CHECK(!atomic_exchange(&self->busy, true));
    wsq_poll poll = leaf_step(ctx, self, atomic_fetch_add(&self->runs, 1));
    if (poll == WSQ_DONE) {
        atomic_store(&self->runs, 0);
        atomic_fetch_add(&self->ended, 1);
    }
    atomic_store(&self->busy, false);
    return poll;
}

static wsq_poll leaf_clean(wsq_task *task) {
    leaf *self = wsq_container_of(task, leaf, task);
    CHECK(!atomic_load(&self->busy));
    atomic_fetch_add(&self->ended, 1);
    return WSQ_DONE;
}

/* NULL: no more. */
static leaf *leaf_new(program *all, wsq_pool *pool, leaf_kind kind, uint64_t *random) {
    unsigned i = atomic_fetch_add(&all->leaves_used, 1);
    if (i >= LEAVES) return NULL;
    leaf *self = &all->leaves[i];
    self->all = all;
    self->pool = pool;
    self->kind = kind;
    wsq_task_init(&self->task, leaf_run);
    wsq_task_set_cleanup(&self->task, leaf_clean);
    if (test_below(random, 4) == 0) wsq_task_set_priority(&self->task, (wsq_priority)test_below(random, 3));
    return self;
}

static bool taken(program *all, leaf *self, wsq_result result) {
    CHECK(result == WSQ_OK || (result == WSQ_ERR_CLOSED && stops(all)) || result == WSQ_ERR_CANCELLED);
    if (result == WSQ_OK) atomic_fetch_add(&self->accepted, 1);
    return result == WSQ_OK;
}

static void waited(program *all, wsq_result result) {
    CHECK(result == WSQ_OK || (result == WSQ_ERR_CANCELLED && stops(all)));
}

/* ---- what tasks, runs and threads do; ctx: NULL outside ---- */

static void wait_leaf(program *all, wsq_pool *pool, uint64_t *random) {
    leaf *one = leaf_new(all, pool, (leaf_kind)test_below(random, HOURS), random);
    if (one == NULL || !taken(all, one, wsq_spawn(pool, &one->task))) return;
    wsq_result result = WSQ_ERR_TIMEOUT;
    for (unsigned i = test_below(random, 3); i > 0 && result == WSQ_ERR_TIMEOUT; i--)
        result = wsq_task_wait_for(&one->task, test_below(random, 60000));
    if (result == WSQ_ERR_TIMEOUT) result = wsq_task_wait(&one->task);
    waited(all, result);
    if (result != WSQ_OK || test_below(random, 2)) return;
    one->pool = all->pools[test_below(random, 2)]; /* again, where it may be another's */
    taken(all, one, wsq_spawn(one->pool, &one->task));
}

/* It waits for a timer that never comes, until that is taken back. */
static void cancel_timer(program *all, wsq_pool *pool, uint64_t *random) {
    leaf *one = leaf_new(all, pool, HOURS, random);
    if (one == NULL || !taken(all, one, wsq_spawn(pool, &one->task))) return;
    wsq_result result;
    while ((result = wsq_task_wait_for(&one->task, 20000)) == WSQ_ERR_TIMEOUT)
        if (wsq_timer_cancel(&one->timer)) wsq_wake(&one->task);
    waited(all, result);
}

/* The waiting thread wakes a pending member. */
static void group(program *all, wsq_pool *pool, uint64_t *random) {
    unsigned index = atomic_fetch_add(&all->groups_used, 1), count = test_below(random, 12);
    leaf *members[12], *then = leaf_new(all, pool, PLAIN, random);
    if (index >= GROUPS || then == NULL) return;
    wsq_group *own = &all->groups[index];
    bool cancels = test_below(random, 8) == 0;
    CHECK_EQ(wsq_group_init(own, pool), WSQ_OK);
    for (unsigned i = 0; i < count; i++) {
        leaf_kind kind = (leaf_kind)test_below(random, LEAF_KINDS);
        members[i] = leaf_new(all, pool, kind == HOURS ? PENDS : kind, random);
        if (members[i] == NULL) count = i;
        else taken(all, members[i], wsq_group_spawn(own, &members[i]->task));
    }
    if (test_below(random, 2)) taken(all, then, wsq_group_then(own, &then->task));
    if (cancels) wsq_group_cancel(own);
    wsq_result result;
    while ((result = wsq_group_wait_for(own, test_below(random, 50000))) == WSQ_ERR_TIMEOUT) {
        for (unsigned i = 0; i < count; i++) wsq_wake(&members[i]->task);
    }
    CHECK(result == WSQ_OK || (result == WSQ_ERR_CANCELLED && (cancels || stops(all))));
}

static void *echo(void *arg) {
    atomic_fetch_add((atomic_uint *)arg, 1);
    return arg;
}

/* What futures count lies in the program, for a dropped one is called later. */
static void future(program *all, wsq_pool *pool, uint64_t *random) {
    leaf *then = leaf_new(all, pool, PLAIN, random), *count = leaf_new(all, pool, PLAIN, random);
    wsq_future *one = NULL;
    void *result = NULL;
    if (then == NULL || count == NULL) return;
    wsq_result outcome = wsq_submit(pool, echo, &count->runs, &one);
    CHECK(outcome == WSQ_OK || (outcome == WSQ_ERR_CLOSED && stops(all)));
    if (outcome != WSQ_OK) return;
    if (test_below(random, 2)) taken(all, then, wsq_future_then(one, &then->task));
    if (test_below(random, 3) == 0) {
        wsq_future_drop(one);
        return;
    }
    outcome = wsq_future_get(one, &result);
    waited(all, outcome);
    if (outcome == WSQ_OK) CHECK(result == &count->runs && atomic_load(&count->runs) == 1);
}

static void batch(program *all, wsq_pool *pool, uint64_t *random) {
    wsq_task *list[9];
    leaf *leaves[8];
    unsigned count = 1 + test_below(random, 8);
    for (unsigned i = 0; i < count; i++) {
        leaves[i] = leaf_new(all, pool, (leaf_kind)test_below(random, HOURS), random);
        if (leaves[i] == NULL) return;
        wsq_task_set_priority(&leaves[i]->task, WSQ_NORMAL);
        list[i] = &leaves[i]->task;
    }
    list[count] = list[test_below(random, count)];
    wsq_result result = wsq_spawn_batch(pool, list, count + 1);
    CHECK(result == WSQ_ERR_INVALID || (result == WSQ_ERR_CLOSED && stops(all)));
    result = wsq_spawn_batch(pool, list, count);
    for (unsigned i = 0; i < count; i++) taken(all, leaves[i], result);
    for (unsigned i = 0; i < count && result == WSQ_OK; i++) waited(all, wsq_task_wait(list[i]));
}

/* Nobody waits for them here: a pinned one may have to wait for its worker. */
static void pinned(program *all, wsq_pool *pool, uint64_t *random) {
    leaf *one = leaf_new(all, pool, (leaf_kind)test_below(random, HOURS), random);
    if (one != NULL)
        taken(all, one, wsq_spawn_on(pool, test_below(random, wsq_pool_workers(pool)), &one->task));
}

typedef struct errand {
    program *all;
    wsq_pool *pool;
    uint64_t *random;
    bool ran;
} errand;

static void errand_run(wsq_ctx ctx, void *arg) {
    errand *self = arg;
    CHECK_EQ(grow(ctx, 5), 32);
    wait_leaf(self->all, self->pool, self->random);
    group(self->all, self->pool, self->random);
    CHECK_EQ(grow(ctx, 4), 16);
    self->ran = true;
}

static void run(program *all, wsq_pool *pool, uint64_t *random) {
    errand self = {all, pool, random, false};
    wsq_result result = wsq_run(pool, errand_run, &self);
    CHECK(self.ran == (result == WSQ_OK));
    CHECK(result == WSQ_OK || stops(all));
}

static void act(wsq_ctx ctx, program *all, unsigned which, uint64_t *random) {
    wsq_pool *pool = all->pools[which];
    switch (test_below(random, 12)) {
    case 0: case 1: wait_leaf(all, pool, random); break;
    case 2: cancel_timer(all, pool, random); break;
    case 3: case 4: group(all, pool, random); break;
    case 5: future(all, pool, random); break;
    case 6: batch(all, pool, random); break;
    case 7: pinned(all, pool, random); break;
    case 8: run(all, pool, random); break;
    case 9:
        if (ctx != NULL) wsq_block_begin(ctx);
        test_nap(20000);
        wait_leaf(all, pool, random);
        if (ctx != NULL) wsq_block_end(ctx);
        break;
    case 10:
        if (all->configs[which].caller_runs) wsq_pool_run_one(pool);
        wsq_worker_dismiss(pool, test_below(random, 4));
        break;
    default: sched_yield();
    }
}

/* ---- actors, threads ---- */

static wsq_poll actor_run(wsq_ctx ctx, wsq_task *task) {
    actor *self = wsq_container_of(task, actor, task);
    for (int i = 0; i < ACTOR_OPS; i++) {
        unsigned other = self->all->crosses[self->home] ? test_below(&self->random, 2) : self->home;
        act(ctx, self->all, other, &self->random);
    }
    atomic_fetch_add(&self->ended, 1);
    return WSQ_DONE;
}

static wsq_poll actor_clean(wsq_task *task) {
    atomic_fetch_add(&wsq_container_of(task, actor, task)->ended, 1);
    return WSQ_DONE;
}

static void lend(program *all, unsigned which) {
    wsq_result result;
    if (!all->configs[which].lend_only) return;
    while ((result = wsq_worker_enter(all->pools[which])) != WSQ_ERR_CLOSED) CHECK_EQ(result, WSQ_OK);
}

static void stop(program *all, wsq_shutdown mode) {
    for (unsigned i = 0; i < 2; i++) CHECK_EQ(wsq_pool_shutdown(all->pools[i], mode), WSQ_OK);
}

static atomic_uint threads_left;

static void thread_run(test_thread *self) {
    program *all = self->arg;
    if (self->index >= all->threads) {
        lend(all, (self->index - all->threads) / LENT);
        return;
    }
    uint64_t random = all->random + self->index * 1000;
    for (int i = 0; i < THREAD_OPS; i++) {
        unsigned next = atomic_load(&all->accepted);
        if (next < all->actors && test_below(&random, 2) &&
            atomic_compare_exchange_strong(&all->accepted, &next, next + 1)) {
            wsq_result result = wsq_spawn(all->pools[all->actor[next].home], &all->actor[next].task);
            CHECK(result == WSQ_OK || stops(all));
            if (result != WSQ_OK) atomic_fetch_add(&all->actor[next].ended, 1);
        }
        if (all->stopper == self->index + 1 && i == THREAD_OPS / 2) stop(all, all->mode);
        act(NULL, all, test_below(&random, 2), &random);
    }
    if (atomic_fetch_sub(&threads_left, 1) != 1) return;
    for (int twice = 0; twice < 2 && !stops(all); twice++) /* the tasks of one spawn into the other */
        for (unsigned i = 0; i < 2; i++) CHECK_EQ(wsq_pool_wait(all->pools[i]), WSQ_OK);
    stop(all, WSQ_DRAIN);
}

/* ---- a program ---- */

static bool many(const wsq_config *config) {
    return !config->caller_runs && !config->lend_only && config->max_standins == 0;
}

static void config_make(wsq_config *config, uint64_t *random) {
    static const unsigned standins[] = {0, 0, 1, WSQ_STANDINS_OFF};
    unsigned mode = test_below(random, 4);
    *config = (wsq_config){.workers = 1 + test_below(random, 4), .seed = 1 + test_random(random) % 1000};
    config->caller_runs = mode == 1;
    config->lend_only = mode == 2;
    if (config->lend_only) config->workers = LENT;
    if (mode == 3 && test_below(random, 40) == 0) config->workers = 70;
    if (mode == 1 && test_below(random, 10) == 0) config->workers = 70;
    config->max_standins = standins[test_below(random, 4)];
    config->order = test_below(random, 4) ? WSQ_FIFO : WSQ_LIFO;
    config->park_timeout_ns = test_below(random, 8) ? 0 : 100000;
    config->budget = test_below(random, 8);
}

static void program_make(program *all, uint64_t seed) {
    memset((void *)all, 0, sizeof *all);
    all->random = seed;
    uint64_t *random = &all->random;
    for (unsigned i = 0; i < 2; i++) config_make(&all->configs[i], random);
    bool both = many(&all->configs[0]) && many(&all->configs[1]);
    all->crosses[0] = true;
    all->crosses[1] = both;
    all->threads = 1 + test_below(random, THREADS);
    all->actors = test_below(random, ACTORS + 1);
    if (test_below(random, 3) == 0) all->stopper = 1 + test_below(random, all->threads);
    all->mode = test_below(random, 2) ? WSQ_CANCEL : WSQ_DRAIN;
    for (unsigned i = 0; i < ACTORS; i++) {
        actor *self = &all->actor[i];
        self->all = all;
        self->home = test_below(random, 2);
        self->random = test_random(random);
        wsq_task_init(&self->task, actor_run);
        wsq_task_set_cleanup(&self->task, actor_clean);
    }
}

static void program_check(program *all) {
    unsigned used = atomic_load(&all->leaves_used), wrong = 0;
    for (unsigned i = 0; i < used && i < LEAVES; i++) wsq_wake(&all->leaves[i].task);
    for (unsigned i = 0; i < used && i < LEAVES; i++) {
        leaf *one = &all->leaves[i];
        wrong += atomic_load(&one->accepted) != atomic_load(&one->ended);
    }
    CHECK_EQ(wrong, 0);
    for (unsigned i = 0; i < atomic_load(&all->accepted); i++) CHECK_EQ(atomic_load(&all->actor[i].ended), 1);
    for (unsigned i = 0; i < 2; i++) {
        wsq_stats stats;
        wsq_pool_stats(all->pools[i], &stats);
        CHECK(stats.finished <= stats.spawned && stats.steals <= stats.steal_attempts);
        CHECK_EQ(wsq_pool_pending(all->pools[i]), 0);
    }
}

static void program_run(uint64_t seed) {
    static program all;
    program_make(&all, seed);
    unsigned lent = all.configs[1].lend_only ? 2 * LENT : all.configs[0].lend_only ? LENT : 0;
    for (unsigned i = 0; i < 2; i++) CHECK_EQ(wsq_pool_create(&all.pools[i], &all.configs[i]), WSQ_OK);
    if (all.pools[0] == NULL || all.pools[1] == NULL) return;
    atomic_store(&threads_left, all.threads);
    test_threads(all.threads + lent, thread_run, &all);
    program_check(&all);
    for (unsigned i = 0; i < 2; i++) wsq_pool_destroy(all.pools[i]);
}

/* Program i is made from the seed plus i alone: with that as WSQ_SEED it comes first. */
static void programs(void) {
    size_t count = test_times(400);
    for (size_t i = 0; i < count; i++) {
        alarm(60);
        if (getenv("WSQ_SHOW") != NULL) fprintf(stderr, "%llu\n", (unsigned long long)(test_seed + i));
        program_run(test_seed + i);
        if (atomic_load(&test_failures) == 0) continue;
        fprintf(stderr, "WSQ_SEED=%llu begins with this program\n", (unsigned long long)(test_seed + i));
        return;
    }
    printf("  programs: %zu\n", count);
}

int main(void) {
    test_begin("programs2");
    RUN(programs);
    return test_end();
}
