/* Still more random programs, of what the other two leave out: groups below groups, batches into groups,
 * first errors, tasks and futures that are cancelled one by one, graphs that run again, a driver that is
 * a nuisance, hooks, a changing spin_ns. The model: what a spawn accepted ends once, no wait lasts for
 * ever, and a cancel that says that it came in time is right.
 *
 * Waits go to tasks that wait for nothing but events, timers and children of their own, so that no circle
 * can come about. */
#include "../test.h"

#define WSQ_RING_CAPACITY 4
#define WSQ_GUESTS 2
#ifdef __SANITIZE_THREAD__
#define WSQ_BLOCK_SIZE 65536
#endif
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include "../pool.h"
#include "../driver.h"

enum {
    ACTORS = 8, ACTOR_OPS = 4, THREADS = 4, THREAD_OPS = 6, LEAVES = 3000, GROUPS = 900, PLANS = 100, NODES = 8,
    MEMBERS = 9
};

typedef enum leaf_kind {
    PLAIN, YIELDS, TIMED, EVENT, PARENT, LOOPS, ASKS, FAILS, CANCELS, LASTING, PENDS = LASTING, LEAF_KINDS
} leaf_kind;

typedef struct program program;

typedef struct leaf {
    client at; /* its task, and how the driver knows it */
    wsq_timer timer;
    wsq_edge edge;
    program *all;
    leaf_kind kind;
    uint64_t random;
    wsq_group *target; /* which FAILS and CANCELS mean, or NULL */
    atomic_uint runs, accepted, ended;
    atomic_bool busy;
} leaf;

typedef struct actor {
    wsq_task task;
    program *all;
    uint64_t random;
    atomic_uint ended;
} actor;

typedef struct plan plan;

typedef struct piece {
    wsq_node node;
    plan *all;
    unsigned before; /* a bit for each piece that it follows */
    unsigned round;  /* plain: the graph orders it */
    bool yielded;    /* plain, too */
} piece;

struct plan {
    wsq_graph graph;
    wsq_edge edges[NODES * NODES];
    piece pieces[NODES];
    unsigned count, round;
    atomic_uint ran, cleaned;
};

struct program {
    wsq_pool *pool;
    wsq_config config;
    world world;
    wsq_hooks hooks;
    wsq_driver driver;
    unsigned threads, actors;
    uint64_t random;
    leaf leaves[LEAVES];
    wsq_group groups[GROUPS];
    plan plans[PLANS];
    actor actor[ACTORS];
    atomic_uint leaves_used, groups_used, plans_used, actors_used, accepted;
    unsigned stopper; /* 0: none; 1 + the thread that stops the pool in the midst */
    wsq_shutdown mode;
};

static bool stops(const program *all) { return all->stopper != 0; }

/* ---- leaves ---- */

static leaf *leaf_new(program *all, leaf_kind kind, uint64_t *random);

static bool taken(program *all, leaf *self, wsq_result result) {
    CHECK(result == WSQ_OK || (result == WSQ_ERR_CLOSED && stops(all)) || result == WSQ_ERR_CANCELLED);
    if (result == WSQ_OK) atomic_fetch_add(&self->accepted, 1);
    return result == WSQ_OK;
}

static void waited(program *all, wsq_result result) {
    CHECK(result == WSQ_OK || (result == WSQ_ERR_CANCELLED && stops(all)));
}

static void child(program *all, uint64_t *random) {
    leaf *one = leaf_new(all, (leaf_kind)test_below(random, PARENT), random);
    if (one == NULL || !taken(all, one, wsq_spawn(all->pool, &one->at.task))) return;
    waited(all, wsq_task_wait(&one->at.task));
}

static void stops_half(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    atomic_fetch_add((atomic_uint *)arg, (unsigned)(end - begin));
    if (begin >= 50) wsq_loop_stop(ctx);
}

static wsq_poll leaf_step(wsq_ctx ctx, leaf *self, unsigned run) {
    program *all = self->all;
    atomic_uint done = 0;
    switch (self->kind) {
    case YIELDS: return run < 3 ? WSQ_YIELD : WSQ_DONE;
    case TIMED:
        if (run >= 2) return WSQ_DONE;
        CHECK_EQ(wsq_timer_set(all->pool, &self->timer, &self->at.task, run * 30000u), WSQ_OK);
        return WSQ_PENDING;
    case EVENT:
        if (run >= 1) return WSQ_DONE;
        post(&all->world, &self->at);
        return WSQ_PENDING;
    case PARENT: child(all, &self->random); return WSQ_DONE;
    case LOOPS:
        wsq_for(ctx, 0, 100, test_below(&self->random, 4), stops_half, &done);
        CHECK(atomic_load(&done) >= 1 && atomic_load(&done) <= 100);
        return WSQ_DONE;
    case ASKS: return run < 20 && !wsq_cancelled(ctx) ? WSQ_YIELD : WSQ_DONE;
    case FAILS:
        if (self->target != NULL) wsq_group_fail(self->target, 7);
        return WSQ_DONE;
    case CANCELS:
        if (self->target != NULL) wsq_group_cancel(self->target);
        return WSQ_DONE;
    case PENDS: return run >= 1 ? WSQ_DONE : WSQ_PENDING;
    default: return WSQ_DONE;
    }
}

static wsq_poll leaf_run(wsq_ctx ctx, wsq_task *task) {
    leaf *self = wsq_container_of(task, leaf, at.task);
    CHECK(!atomic_exchange(&self->busy, true));
    wsq_poll poll = leaf_step(ctx, self, atomic_fetch_add(&self->runs, 1));
    if (poll == WSQ_DONE) atomic_fetch_add(&self->ended, 1);
    atomic_store(&self->busy, false);
    return poll;
}

static wsq_poll leaf_clean(wsq_task *task) {
    leaf *self = wsq_container_of(task, leaf, at.task);
    CHECK(!atomic_load(&self->busy));
    atomic_fetch_add(&self->ended, 1);
    return WSQ_DONE;
}

/* NULL: no more. */
static leaf *leaf_new(program *all, leaf_kind kind, uint64_t *random) {
    unsigned i = atomic_fetch_add(&all->leaves_used, 1);
    if (i >= LEAVES) return NULL;
    leaf *self = &all->leaves[i];
    client_init(&self->at, &all->world, 0);
    wsq_task_init(&self->at.task, leaf_run);
    wsq_task_set_cleanup(&self->at.task, leaf_clean);
    self->all = all;
    self->kind = kind;
    self->random = test_random(random);
    if (test_below(random, 4) == 0) wsq_task_set_priority(&self->at.task, (wsq_priority)test_below(random, 3));
    if (test_below(random, 4) == 0) wsq_task_set_revocable(&self->at.task, true);
    return self;
}

/* ---- what tasks and threads do ---- */

/* Fills the group: one by one, or as a batch. Returns how many members there are. */
static unsigned fill(program *all, wsq_group *group, wsq_group *target, bool lasting, leaf **members, uint64_t *random) {
    wsq_task *list[MEMBERS];
    unsigned count = test_below(random, MEMBERS + 1);
    bool batch = test_below(random, 2) == 0;
    for (unsigned i = 0; i < count; i++) {
        leaf *one = members[i] = leaf_new(all, (leaf_kind)test_below(random, lasting ? LEAF_KINDS : LASTING), random);
        if (one == NULL) return 0;
        one->target = target;
        list[i] = &one->at.task;
        if (batch) continue;
        if (test_below(random, 2)) {
            taken(all, one, wsq_group_spawn(group, list[i]));
        } else {
            wsq_task_set_group(list[i], group);
            taken(all, one, wsq_spawn(all->pool, list[i]));
        }
    }
    if (!batch) return count;
    wsq_result result = wsq_group_spawn_batch(group, list, count);
    for (unsigned i = 0; i < count; i++) taken(all, members[i], result);
    return count;
}

/* Three groups, the lower ones below the upper; somebody may cancel one of them. */
static void tree(program *all, uint64_t *random) {
    unsigned first = atomic_fetch_add(&all->groups_used, 3), counts[3];
    leaf *members[3][MEMBERS];
    bool lasting = test_below(random, 2) == 0;
    if (first + 3 > GROUPS) return;
    wsq_group *groups = &all->groups[first], *target = test_below(random, 3) == 0 ? &groups[test_below(random, 3)] : NULL;
    for (unsigned i = 0; i < 3; i++) {
        CHECK_EQ(wsq_group_init(&groups[i], all->pool), WSQ_OK);
        if (i > 0) CHECK_EQ(wsq_group_set_parent(&groups[i], &groups[test_below(random, i)]), WSQ_OK);
    }
    CHECK_EQ(wsq_group_set_parent(&groups[0], &groups[2]), groups[2].parent == &groups[0] ||
             groups[2].parent == &groups[1] ? WSQ_ERR_INVALID : WSQ_OK);
    for (unsigned i = 0; i < 3; i++) counts[i] = fill(all, &groups[i], target, lasting, members[i], random);
    if (target != NULL && test_below(random, 2)) wsq_group_cancel(target);
    for (unsigned i = 3; i-- > 0;) {
        wsq_result result = lasting ? WSQ_ERR_TIMEOUT : wsq_group_wait(&groups[i]);
        while (result == WSQ_ERR_TIMEOUT) {
            for (unsigned k = 0; k < counts[i]; k++) wsq_wake(&members[i][k]->at.task);
            result = wsq_group_wait_for(&groups[i], test_below(random, 50000));
        }
        CHECK(result == WSQ_OK || (result == WSQ_ERR_CANCELLED && (target != NULL || stops(all))));
        int error = wsq_group_error(&groups[i]);
        CHECK(error == 0 || (error == 7 && target == &groups[i]));
    }
}

static void cancel_one(program *all, uint64_t *random) {
    leaf *one = leaf_new(all, (leaf_kind)test_below(random, LEAF_KINDS), random);
    if (one == NULL || !taken(all, one, wsq_spawn(all->pool, &one->at.task))) return;
    test_spin(test_below(random, 500));
    bool cancelled = wsq_task_cancel(&one->at.task);
    wsq_result result;
    while ((result = wsq_task_wait_for(&one->at.task, 20000)) == WSQ_ERR_TIMEOUT) wsq_wake(&one->at.task);
    CHECK(result == WSQ_OK || result == WSQ_ERR_CANCELLED);
    if (cancelled) CHECK_EQ(result, WSQ_ERR_CANCELLED);
}

/* If the first is cancelled, so are the others, unless they were sooner. */
static void chain(program *all, uint64_t *random) {
    static const unsigned count = 3;
    leaf *list[3];
    bool cancels = test_below(random, 3) == 0, all_taken = true;
    for (unsigned i = 0; i < count; i++)
        if ((list[i] = leaf_new(all, (leaf_kind)test_below(random, LASTING), random)) == NULL) return;
    for (unsigned i = 1; i < count; i++)
        CHECK_EQ(wsq_task_after(&list[i]->at.task, &list[i - 1]->at.task, &list[i]->edge), WSQ_OK);
    for (unsigned i = 0; i < count && all_taken; i++)
        all_taken = taken(all, list[i], wsq_spawn(all->pool, &list[i]->at.task));
    bool cancelled = cancels && wsq_task_cancel(&list[0]->at.task);
    for (unsigned i = count; i-- > 0;) {
        if (atomic_load(&list[i]->accepted) == 0) continue;
        wsq_result result = wsq_task_wait(&list[i]->at.task);
        CHECK(result == WSQ_OK || (result == WSQ_ERR_CANCELLED && (cancels || stops(all))));
        if (cancelled) CHECK_EQ(result, WSQ_ERR_CANCELLED);
    }
}

static void *echo(void *arg) {
    atomic_fetch_add((atomic_uint *)arg, 1);
    return arg;
}

static void future(program *all, uint64_t *random) {
    leaf *count = leaf_new(all, PLAIN, random);
    wsq_future *one = NULL;
    void *out = NULL;
    if (count == NULL) return;
    wsq_result result = wsq_submit(all->pool, echo, &count->runs, &one);
    CHECK(result == WSQ_OK || (result == WSQ_ERR_CLOSED && stops(all)));
    if (result != WSQ_OK) return;
    bool tries = test_below(random, 2) == 0, cancelled = tries && wsq_future_cancel(one);
    while ((result = wsq_future_get_for(one, test_below(random, 3) * 20000, &out)) == WSQ_ERR_TIMEOUT) {}
    CHECK(result == WSQ_OK || (result == WSQ_ERR_CANCELLED && (cancelled || stops(all))));
    CHECK_EQ(atomic_load(&count->runs), result == WSQ_OK);
}

static void pinned(program *all, uint64_t *random) {
    leaf *one = leaf_new(all, (leaf_kind)test_below(random, LASTING), random);
    if (one == NULL) return;
    CHECK_EQ(wsq_task_set_worker(&one->at.task, test_below(random, wsq_pool_workers(all->pool))), WSQ_OK);
    taken(all, one, wsq_spawn(all->pool, &one->at.task)); /* nobody waits: its worker may wait for this task */
}

/* ---- graphs ---- */

static void piece_ends(piece *self) {
    for (unsigned i = 0; i < self->all->count; i++)
        if ((self->before >> i & 1) != 0) CHECK_EQ(self->all->pieces[i].round, self->round + 1);
    self->round++;
    self->yielded = false;
}

static wsq_poll piece_run(wsq_ctx ctx, wsq_task *task) {
    piece *self = wsq_container_of(task, piece, node.task);
    (void)ctx;
    if (!self->yielded && (self->before + self->round) % 3 == 0) {
        self->yielded = true;
        return WSQ_YIELD;
    }
    piece_ends(self);
    atomic_fetch_add(&self->all->ran, 1);
    return WSQ_DONE;
}

static wsq_poll piece_clean(wsq_task *task) {
    piece *self = wsq_container_of(task, piece, node.task);
    piece_ends(self);
    atomic_fetch_add(&self->all->cleaned, 1);
    return WSQ_DONE;
}

static void graph(program *all, uint64_t *random) {
    unsigned index = atomic_fetch_add(&all->plans_used, 1), edges = 0;
    if (index >= PLANS) return;
    plan *self = &all->plans[index];
    CHECK_EQ(wsq_graph_init(&self->graph, all->pool), WSQ_OK);
    self->count = test_below(random, NODES + 1);
    for (unsigned i = 0; i < self->count; i++) {
        piece *one = &self->pieces[i];
        one->all = self;
        CHECK_EQ(wsq_graph_add(&self->graph, &one->node, piece_run), WSQ_OK);
        wsq_task_set_cleanup(&one->node.task, piece_clean);
        for (unsigned k = 0; k < i; k++) {
            if (test_below(random, 3) != 0) continue;
            one->before |= 1u << k;
            CHECK_EQ(wsq_node_after(&one->node, &self->pieces[k].node, &self->edges[edges++]), WSQ_OK);
        }
    }
    for (unsigned runs = test_below(random, 5); runs > 0; runs--) {
        bool cancels = test_below(random, 4) == 0;
        wsq_result result = wsq_graph_run(&self->graph);
        CHECK(result == WSQ_OK || (result == WSQ_ERR_CLOSED && stops(all)));
        if (result != WSQ_OK) return;
        self->round++;
        if (cancels) wsq_group_cancel(&self->graph.group);
        result = wsq_group_wait(&self->graph.group);
        CHECK(result == WSQ_OK || (result == WSQ_ERR_CANCELLED && (cancels || stops(all))));
        if (stops(all)) return;
        for (unsigned i = 0; i < self->count; i++) CHECK_EQ(self->pieces[i].round, self->round);
        if (cancels) CHECK_EQ(wsq_group_init(&self->graph.group, all->pool), WSQ_OK);
    }
}

static void act(wsq_ctx ctx, program *all, uint64_t *random) {
    static const uint64_t spins[] = {0, 1, 100000, WSQ_SPIN_OFF};
    switch (test_below(random, 12)) {
    case 0: case 1: case 2: tree(all, random); break;
    case 3: case 4: cancel_one(all, random); break;
    case 5: chain(all, random); break;
    case 6: future(all, random); break;
    case 7: graph(all, random); break;
    case 8: pinned(all, random); break;
    case 9: wsq_pool_set_spin(all->pool, spins[test_below(random, 4)]); break;
    case 10:
        if (ctx != NULL) wsq_block_begin(ctx);
        test_nap(20000);
        tree(all, random);
        if (ctx != NULL) wsq_block_end(ctx);
        break;
    default: child(all, random);
    }
}

/* ---- actors, threads ---- */

static wsq_poll actor_run(wsq_ctx ctx, wsq_task *task) {
    actor *self = wsq_container_of(task, actor, task);
    for (int i = 0; i < ACTOR_OPS; i++) act(ctx, self->all, &self->random);
    atomic_fetch_add(&self->ended, 1);
    return WSQ_DONE;
}

static wsq_poll actor_clean(wsq_task *task) {
    atomic_fetch_add(&wsq_container_of(task, actor, task)->ended, 1);
    return WSQ_DONE;
}

static void stop(program *all, wsq_shutdown mode) {
    atomic_store(&all->world.stops, true); /* events of cancelled tasks may come too late for a dispatch */
    CHECK_EQ(wsq_pool_shutdown(all->pool, mode), WSQ_OK);
}

static void thread_run(test_thread *self) {
    program *all = self->arg;
    uint64_t random = all->random + self->index * 1000;
    for (int i = 0; i < THREAD_OPS; i++) {
        unsigned next = atomic_load(&all->actors_used);
        if (next < all->actors && atomic_compare_exchange_strong(&all->actors_used, &next, next + 1)) {
            wsq_result result = wsq_spawn(all->pool, &all->actor[next].task);
            CHECK(result == WSQ_OK || (result == WSQ_ERR_CLOSED && stops(all)));
            if (result != WSQ_OK) atomic_fetch_add(&all->actor[next].ended, 1);
        }
        if (all->stopper == self->index + 1 && i == THREAD_OPS / 2) stop(all, all->mode);
        act(NULL, all, &random);
    }
}

/* ---- a program ---- */

static void hear(void *user, wsq_event event, unsigned worker, const void *subject, uint64_t value) {
    (void)user, (void)event, (void)worker, (void)subject, (void)value;
}

static void program_make(program *all, uint64_t seed) {
    static const unsigned standins[] = {0, 0, 1, WSQ_STANDINS_OFF};
    uint64_t *random = &all->random;
    memset((void *)all, 0, sizeof *all);
    *random = seed;
    world_init(&all->world, test_below(random, 2) ? 3 : 0);
    all->hooks.event = hear;
    all->driver = (wsq_driver){world_wait, world_dispatch, world_interrupt, &all->world};
    all->config = (wsq_config){.workers = 1 + test_below(random, 4), .seed = 1 + test_random(random) % 1000};
    all->config.driver = &all->driver;
    all->config.caller_runs = test_below(random, 8) == 0;
    all->config.max_standins = standins[test_below(random, 4)];
    all->config.order = (wsq_order)test_below(random, 3);
    all->config.budget = test_below(random, 8);
    all->config.min_interval = all->config.max_interval = test_below(random, 4);
    all->config.hooks = test_below(random, 4) == 0 ? &all->hooks : NULL;
    all->config.list_tasks = test_below(random, 4) == 0;
    all->threads = 1 + test_below(random, THREADS);
    all->actors = test_below(random, ACTORS + 1);
    if (test_below(random, 4) == 0) all->stopper = 1 + test_below(random, all->threads);
    all->mode = test_below(random, 2) ? WSQ_CANCEL : WSQ_DRAIN;
    for (unsigned i = 0; i < ACTORS; i++) {
        actor *self = &all->actor[i];
        self->all = all;
        self->random = test_random(random);
        wsq_task_init(&self->task, actor_run);
        wsq_task_set_cleanup(&self->task, actor_clean);
    }
}

static void program_check(program *all) {
    unsigned used = atomic_load(&all->leaves_used), wrong = 0, plans = atomic_load(&all->plans_used);
    for (unsigned i = 0; i < used && i < LEAVES; i++) wsq_wake(&all->leaves[i].at.task);
    for (unsigned i = 0; i < used && i < LEAVES; i++) {
        leaf *one = &all->leaves[i];
        wrong += atomic_load(&one->accepted) != atomic_load(&one->ended);
    }
    CHECK_EQ(wrong, 0);
    for (unsigned i = 0; i < plans && i < PLANS; i++) {
        plan *one = &all->plans[i];
        CHECK_EQ(atomic_load(&one->ran) + atomic_load(&one->cleaned), one->round * one->count);
    }
    for (unsigned i = 0; i < atomic_load(&all->actors_used); i++) CHECK_EQ(atomic_load(&all->actor[i].ended), 1);
    CHECK_EQ(wsq_pool_pending(all->pool), 0);
}

static void program_run(uint64_t seed) {
    static program all;
    program_make(&all, seed);
    CHECK_EQ(wsq_pool_create(&all.pool, &all.config), WSQ_OK);
    if (all.pool == NULL) return;
    test_threads(all.threads, thread_run, &all);
    if (!stops(&all)) CHECK_EQ(wsq_pool_wait(all.pool), WSQ_OK);
    stop(&all, WSQ_DRAIN);
    program_check(&all);
    wsq_pool_destroy(all.pool);
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
    test_begin("programs3");
    RUN(programs);
    return test_end();
}
