/* program.h - random programs for the oracle: what they are, how a seed becomes one, how one is printed.
 *
 * A program cannot wait for ever by itself: a task waits, or yields, only for tasks with a higher number
 * than its own, and what pends is woken by a timer, a helper or a thread. Where there may be no
 * stand-in it waits for tasks only that do nothing but compute, for the manual allows no more; and so does
 * a pinned one, which may run on top of a wait. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include "watch.h"

enum { NODES = 8, OPS = 6, THREADS = 4, THREAD_OPS = 10 };

typedef enum op_kind {
    OP_NONE,
    OP_COMPUTE,  /* ns */
    OP_SPAWN,    /* node */
    OP_WAIT,     /* node; ns: time-out, 0: none */
    OP_FUTURE,   /* count times submit a call of ns, to a pool, and get it */
    OP_RUN,      /* wsq_run in a pool: a loop of count pieces of ns; 0: it computes */
    OP_RUN_WAIT, /* wsq_run in a pool, which waits for a node */
    OP_GROUP,    /* count members of ns; how they are; count2 tasks after them; a wait */
    OP_BURST,    /* count tasks of ns, for a pool, of how; ns2: until their timers are due */
    OP_WAKE,     /* node */
    OP_CANCEL,   /* node */
    OP_SPIN,     /* wsq_pool_set_spin: pool, ns */
    OP_CALLS,    /* submit count calls of ns to a pool; way says what comes then, how: the last one first; ns2: time-out */
    OP_GRAPH,    /* count nodes of ns, run twice and waited for */
    OP_FORK,     /* count jobs of ns; way says what they do; it computes for ns2, and joins them. A thread: in wsq_run */
    OP_AGAIN,    /* node: its timer, if it pends on one, is set anew; ns */
    OP_STOP,     /* node: its timer, if it pends on one, is cancelled; then a wake */
    /* tasks only */
    OP_LOOP,     /* count pieces of ns */
    OP_YIELD,    /* count times, ns each */
    OP_UNTIL,    /* node: it yields until that has ended, ns each */
    OP_PEND,     /* until woken: how says by whom, after ns; an event brings count tasks of ns2 */
    OP_BLOCK,    /* ns */
    /* threads only */
    OP_NAP,      /* ns */
    OP_FEED,     /* count tasks of ns for a pool, one each ns2 */
    OP_DISMISS,  /* pool, worker node */
    OP_QUIET,    /* it waits for pool; ns: time-out, 0: none */
    OP_CLOSE,    /* a WSQ_CANCEL shutdown of pool */
    OP_PUMP,     /* it runs count tasks of pool, one by one */
    OP_KINDS
} op_kind;

typedef enum how {
    HOW_PLAIN, HOW_YIELDS, HOW_RESPAWNS, HOW_TIMER, HOW_HELPER, HOW_THREAD, HOW_EVENT, HOW_NESTED,
    HOW_SUDDEN, /* the first half of them take 300 ns */
    HOW_BLOCKS
} how;

/* Flags of a group or burst; what becomes of a future; what a job does. */
enum { WAY_BATCH = 1, WAY_THEN = 2, WAY_GET = 0, WAY_FOR = 1, WAY_DROP = 3, WAY_CANCELS = 4, WAY_GO = 5, WAY_BLOCKS = 1, WAY_SPAWNS = 2 };

enum { CALLS = 300, LEAVES = 8, FORKS = 4 };

typedef struct op {
    uint8_t kind, node, pool, how, priority, cancel; /* cancel: of a group, 1: it, 2: its parent */
    uint8_t way, stall; /* stall: of the thread, at this access of its own within the operation; 0: none */
    uint16_t count, count2;
    uint32_t ns, ns2;
} op;

typedef struct node {
    uint8_t pool, priority;
    int8_t pin;    /* -1: none */
    int8_t after;  /* a node: this one comes after that; -1: none */
    int8_t parent; /* a node; -1: the first thread; -2: it is not spawned */
    op ops[OPS];
} node;

typedef struct program {
    uint64_t seed;
    unsigned pools, threads;
    wsq_config configs[WATCH_POOLS];
    bool driven[WATCH_POOLS]; /* the pool has a driver */
    bool alone;          /* only the first thread works in its caller_runs pool */
    unsigned fails[WATCH_POOLS]; /* of 8 starts of a stand-in so many fail */
    uint32_t slow_ns[WATCH_POOLS]; /* its hook for WSQ_EVENT_START takes that long; 0: there is none */
    uint64_t stall_seed; /* 0: no stalls */
    bool on_time;        /* time-outs are not 50 us late */
    bool drains;         /* the first thread shuts the pool down instead of waiting for it */
    node nodes[NODES];
    op thread[THREADS][THREAD_OPS]; /* the first one spawns what has no parent */
} program;

/* ---- chance: splitmix64 ---- */

static uint64_t chance(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Without this, the next seed's program would draw the same numbers, one draw later. */
static uint64_t seed_mix(uint64_t seed) { return chance(&seed); }

static uint32_t below(uint64_t *state, uint32_t n) {
    return (uint32_t)(((chance(state) >> 32) * n) >> 32);
}

static bool one_in(uint64_t *state, uint32_t n) { return below(state, n) == 0; }

static uint32_t some_ns(uint64_t *state) {
    static const uint32_t scale[] = {300, 2000, 10000, 50000, 200000, 1000000, 4000000};
    uint32_t n = scale[below(state, 7)];
    return n / 2 + below(state, n);
}

/* ---- what programs do without, while a fault is open ---- */

static const struct avoidable {
    const char *name;
    uint32_t kinds; /* operations */
} avoidables[] = {
    {"spin", 0}, {"pin", 0}, {"stall", 0}, {"shared", 0}, {"lifo", 0}, {"lend", 0}, {"caller", 0},
    {"few", 0}, {"two", 0}, {"edge", 0}, {"high", 0}, {"low", 0},
    {"wait", 1u << OP_WAIT | 1u << OP_RUN_WAIT}, {"future", 1u << OP_FUTURE},
    {"run", 1u << OP_RUN | 1u << OP_RUN_WAIT}, {"group", 1u << OP_GROUP},
    {"yield", 1u << OP_YIELD | 1u << OP_UNTIL}, {"loop", 1u << OP_LOOP | 1u << OP_RUN},
    {"pend", 1u << OP_PEND}, {"slot", 1u << OP_WAKE}, {"block", 1u << OP_BLOCK}, {"feed", 1u << OP_FEED},
    {"cancel", 1u << OP_CANCEL}, {"drain", 0}, {"timer", 1u << OP_AGAIN | 1u << OP_STOP},
    {"close", 1u << OP_CLOSE}, {"quiet", 1u << OP_QUIET}, {"driver", 0}, {"sparse", 0}, {"aim", 0},
    {"calls", 1u << OP_CALLS}, {"graph", 1u << OP_GRAPH}, {"fork", 1u << OP_FORK}, {"fail", 0},
    {"slow", 0}, {"exact", 0}, {"alone", 1u << OP_PUMP}, {"many", 0}, {"unusual", 0},
};

enum { AVOIDABLES = sizeof avoidables / sizeof *avoidables };

static uint64_t avoided; /* a bit for each */

static bool avoid(const char *name) {
    for (int i = 0; i < AVOIDABLES; i++)
        if (strcmp(avoidables[i].name, name) == 0) return (avoided |= UINT64_C(1) << i) != 0;
    return false;
}

static bool avoids(const char *name) {
    for (int i = 0; i < AVOIDABLES; i++)
        if (strcmp(avoidables[i].name, name) == 0) return (avoided >> i & 1) != 0;
    sim_fail("no such thing to avoid");
    return false;
}

static bool avoids_kind(op_kind kind) {
    for (int i = 0; i < AVOIDABLES; i++)
        if ((avoided >> i & 1) != 0 && (avoidables[i].kinds >> kind & 1) != 0) return true;
    return false;
}

/* ---- configurations ---- */

static bool few_threads(const wsq_config *config) {
    return config->caller_runs || config->lend_only || config->max_standins != 0;
}

static void config_make(wsq_config *config, uint64_t *random) {
    static const unsigned workers[] = {1, 1, 2, 2, 3, 4, 4, 8};
    static const unsigned standins[] = {0, 0, 0, WSQ_STANDINS_OFF, 1, 2};
    static const wsq_order orders[] = {WSQ_FIFO, WSQ_FIFO, WSQ_FIFO, WSQ_SHARED, WSQ_LIFO};
    *config = (wsq_config){.workers = workers[below(random, 8)], .seed = 1 + below(random, 1000)};
    config->max_standins = standins[below(random, 6)];
    config->order = orders[below(random, 5)];
    if (one_in(random, 8)) config->lend_only = true;
    else if (one_in(random, 12)) config->caller_runs = true;
    if (avoids("lend")) config->lend_only = false;
    if (avoids("caller")) config->caller_runs = false;
    if (avoids("few")) config->max_standins = 0, config->lend_only = config->caller_runs = false;
    if ((avoids("shared") && config->order == WSQ_SHARED) || (avoids("lifo") && config->order == WSQ_LIFO))
        config->order = WSQ_FIFO;
    if (config->caller_runs && config->seed % 2 != 0) config->workers = 1;
    if (one_in(random, 6) && !avoids("spin")) config->spin_ns = one_in(random, 2) ? WSQ_SPIN_OFF : 2 * MS;
    if (one_in(random, 5)) config->min_interval = config->max_interval = 2 + below(random, 3);
    if (one_in(random, 8)) config->lifo_cap = one_in(random, 2) ? WSQ_LIFO_OFF : 1;
}

/* ---- what may wait for what ---- */

static bool only_computes(const node *self) {
    for (int i = 0; i < OPS; i++)
        if (self->ops[i].kind > OP_COMPUTE && self->ops[i].kind != OP_YIELD) return false;
    return true;
}

static bool all_threads(const program *all) {
    return !few_threads(&all->configs[0]) && (all->pools == 1 || !few_threads(&all->configs[1]));
}

/* A task that waits in another pool runs nothing of its own pool, so nothing that is pinned to it. */
static bool any_pinned(const program *all) {
    for (int i = 0; i < NODES; i++)
        if (all->nodes[i].pin >= 0) return true;
    return false;
}

/* A task may wait for one of its children, or of those that the first thread spawns. */
static int node_to_wait_for(const program *all, int self, bool blocks, uint64_t *random) {
    for (int tries = 0; tries < 6; tries++) {
        int k = self + 1 + (int)below(random, (uint32_t)(NODES - self - 1) + (self + 1 == NODES));
        if (k >= NODES || (self >= 0 && all->nodes[k].parent != self && all->nodes[k].parent != -1))
            continue;
        /* One that is pinned may run on top of any wait of its worker. */
        bool pinned = blocks && self >= 0 && all->nodes[self].pin >= 0;
        if (pinned && (all->nodes[k].parent != self || !only_computes(&all->nodes[k]))) continue;
        if (blocks && self >= 0 && !all_threads(all)) {
            if (!only_computes(&all->nodes[k]) || all->nodes[k].pool != all->nodes[self].pool ||
                all->nodes[k].after >= 0)
                continue;
        }
        if (self >= 0 && all->pools > 1 && any_pinned(all)) continue;
        return k;
    }
    return -1;
}

/* ---- operations ---- */

static const op_kind task_kinds[] = {OP_COMPUTE, OP_WAIT, OP_FUTURE, OP_RUN, OP_RUN_WAIT, OP_GROUP,
    OP_BURST, OP_WAKE, OP_CANCEL, OP_SPIN, OP_AGAIN, OP_STOP, OP_LOOP, OP_YIELD, OP_UNTIL,
    OP_PEND, OP_PEND, OP_BLOCK};
static const op_kind thread_kinds[] = {OP_NAP, OP_NAP, OP_WAIT, OP_FUTURE, OP_RUN, OP_RUN_WAIT,
    OP_GROUP, OP_BURST, OP_WAKE, OP_CANCEL, OP_SPIN, OP_AGAIN, OP_STOP, OP_FEED, OP_DISMISS,
    OP_QUIET, OP_CLOSE};

/* One that pends on a timer, after `self`; -1: none. */
static int node_with_timer(const program *all, int self, uint64_t *random) {
    for (int tries = 0; tries < 12; tries++) {
        int k = (int)below(random, NODES);
        for (int i = 0; k > self && i < OPS; i++)
            if (all->nodes[k].ops[i].kind == OP_PEND && all->nodes[k].ops[i].how == HOW_TIMER) return k;
    }
    return -1;
}

/* How many: in one of four cases up to twice what a ring holds. */
static uint16_t some_tasks(uint64_t *random) {
    uint32_t most = one_in(random, 3) ? 60 : 6;
    if (one_in(random, 4) && !avoids("many")) most = 2 * WSQ_RING_CAPACITY;
    return (uint16_t)(1 + below(random, most));
}

/* Of a group or burst: its tasks suddenly become longer, or they block. (Not so many that stand-ins may lack.) */
static void unusual_make(const program *all, op *made, uint64_t *random) {
    if (made->priority != WSQ_NORMAL || avoids("unusual")) return;
    if (one_in(random, 6)) made->how = HOW_SUDDEN;
    if (!one_in(random, 8) || !all_threads(all)) return;
    made->how = HOW_BLOCKS;
    if (made->count > 16) made->count = 16;
}

/* self: a node, or -1. Kind OP_NONE: nothing came of it. */
static op op_make(const program *all, int self, op_kind kind, uint64_t *random) {
    static const how members[] = {HOW_PLAIN, HOW_PLAIN, HOW_YIELDS, HOW_RESPAWNS};
    static const uint8_t priorities[] = {WSQ_NORMAL, WSQ_NORMAL, WSQ_NORMAL, WSQ_HIGH, WSQ_LOW};
    op made = {.kind = (uint8_t)kind, .ns = some_ns(random)};
    bool few = self >= 0 && (!all_threads(all) || (all->pools > 1 && any_pinned(all)));
    int k;
    made.pool = (uint8_t)(self >= 0 ? all->nodes[self].pool : below(random, all->pools));
    if (!few && one_in(random, 3)) made.pool = (uint8_t)below(random, all->pools);
    made.count = (uint16_t)(1 + below(random, one_in(random, 3) ? 60 : 6));
    made.how = (uint8_t)members[below(random, 4)];
    made.priority = priorities[below(random, 5)];
    if (made.priority == WSQ_HIGH && avoids("high")) made.priority = WSQ_NORMAL;
    if (made.priority == WSQ_LOW && avoids("low")) made.priority = WSQ_NORMAL;
    if (made.priority == WSQ_LOW) made.how = HOW_PLAIN; /* each run of one may take 16 ms to come */
    switch (kind) {
    case OP_WAIT: case OP_RUN_WAIT:
        if ((k = node_to_wait_for(all, self, true, random)) < 0) return (op){0};
        made.node = (uint8_t)k;
        made.ns = kind == OP_WAIT && one_in(random, 3) ? some_ns(random) : 0;
        break;
    case OP_UNTIL:
        if ((k = node_to_wait_for(all, self, false, random)) < 0) return (op){0};
        made.node = (uint8_t)k;
        made.ns = 5000 + below(random, 30000);
        break;
    case OP_WAKE: case OP_CANCEL: made.node = (uint8_t)below(random, NODES); break;
    case OP_AGAIN: case OP_STOP:
        if ((k = node_with_timer(all, self, random)) < 0) return (op){0};
        made.node = (uint8_t)k;
        break;
    case OP_QUIET:
        if (one_in(random, 2)) made.ns = 0;
        break;
    case OP_SPIN: made.ns = (uint32_t[]){0, 1, 100000, 2000000}[below(random, 4)]; break;
    case OP_FUTURE:
        if (one_in(random, 60)) made.count = 1500, made.ns = 0; /* these take the oracle's time */
        break;
    case OP_GROUP: made.ns2 = one_in(random, 3) ? some_ns(random) : 0;
        made.way = (uint8_t)below(random, 4);
        made.count2 = some_tasks(random);
        unusual_make(all, &made, random);
        if (one_in(random, 4) && !avoids("cancel")) made.cancel = (uint8_t)(1 + below(random, 2));
        break;
    case OP_BURST: made.way = (uint8_t)below(random, 2);
        made.ns2 = some_ns(random);
        made.count = some_tasks(random);
        if (made.priority != WSQ_NORMAL || one_in(random, 2)) break;
        made.how = one_in(random, 2) ? HOW_TIMER : HOW_NESTED;
        unusual_make(all, &made, random);
        break;
    case OP_PEND: made.how = (uint8_t)(HOW_TIMER + below(random, 3));
        made.way = (uint8_t)below(random, 4);
        made.ns2 = some_ns(random) / 256;
        if (all->driven[all->nodes[self].pool] && one_in(random, 2)) made.how = HOW_EVENT;
        if (made.how == HOW_HELPER && avoids("slot")) made.how = HOW_THREAD;
        made.count = made.how == HOW_EVENT && one_in(random, 2) ? some_tasks(random) : 0;
        if (made.count > 60) made.ns2 = 1000;
        break;
    case OP_YIELD: made.count = (uint16_t)(1 + below(random, 5)); break;
    case OP_FEED:
        made.ns = 20000 + below(random, 60000);
        made.ns2 = made.ns / all->configs[made.pool].workers * (80 + below(random, 40)) / 100;
        if (!one_in(random, 4)) return (op){0}; /* these take the oracle's time */
        made.count = (uint16_t)(200 + below(random, 600));
        break;
    case OP_DISMISS:
        if (!all->configs[made.pool].lend_only) return (op){0};
        made.node = (uint8_t)below(random, all->configs[made.pool].workers);
        break;
    case OP_PUMP:
        if (!all->configs[made.pool].caller_runs) return (op){0};
        if (one_in(random, 2)) made.count = 1;
        break;
    case OP_CALLS: made.way = (uint8_t)below(random, 6);
        made.how = (uint8_t)below(random, 2);
        made.ns2 = some_ns(random);
        if (made.ns > 200000) made.ns /= 16;
        break;
    case OP_FORK: made.way = (uint8_t)below(random, 3);
        made.ns2 = some_ns(random);
        made.count = (uint16_t)(1 + below(random, FORKS));
        break;
    default: break;
    }
    if (kind == OP_FORK && self < 0 && all->configs[made.pool].caller_runs) return (op){0};
    if ((kind == OP_RUN || kind == OP_RUN_WAIT) && (few || all->configs[made.pool].caller_runs))
        return (op){0};
    if (kind == OP_RUN && one_in(random, 3)) made.count = 0;
    if (made.priority == WSQ_LOW && made.count > 8) made.count = 8;
    if ((made.count > 60 && kind == OP_BURST) || made.count2 > 60) made.ns = 1000;
    while ((uint64_t)made.count * made.ns > 30 * MS && kind != OP_FEED) made.count = (uint16_t)(made.count / 2);
    while ((uint64_t)made.count2 * made.ns > 30 * MS) made.count2 /= 2;
    return made;
}

static void nodes_make(program *all, uint64_t *random, uint32_t mask) {
    unsigned used = 1 + below(random, NODES);
    bool pins = one_in(random, 2) && !avoids("pin");
    for (int i = 0; i < NODES; i++) {
        node *self = &all->nodes[i];
        self->pool = (uint8_t)below(random, all->pools);
        self->priority = (uint8_t)(one_in(random, 4) ? one_in(random, 2) ? WSQ_HIGH : WSQ_LOW : WSQ_NORMAL);
        if (avoids("high") && self->priority == WSQ_HIGH) self->priority = WSQ_NORMAL;
        if (avoids("low") && self->priority == WSQ_LOW) self->priority = WSQ_NORMAL;
        self->pin = (int8_t)(pins && one_in(random, 4) ? (int)below(random, all->configs[self->pool].workers) : -1);
        self->after = -1;
        self->parent = (int8_t)(i > 0 && one_in(random, 2) ? (int)below(random, (uint32_t)i) : -1);
    }
    for (int i = NODES - 1; i >= 0; i--) { /* the later ones first: those it may wait for */
        node *self = &all->nodes[i];
        int n = 0;
        for (int k = i + 1; k < NODES && n < OPS - 2; k++)
            if (all->nodes[k].parent == i) self->ops[n++] = (op){.kind = OP_SPAWN, .node = (uint8_t)k};
        for (int tries = 0; n < OPS && tries < (int)below(random, 7); tries++) {
            op_kind kind = task_kinds[below(random, sizeof task_kinds / sizeof *task_kinds)];
            if ((mask >> kind & 1) == 0 || (unsigned)i >= used) continue;
            op made = op_make(all, i, kind, random);
            if (made.kind != OP_NONE) self->ops[n++] = made;
        }
        if (n < OPS && one_in(random, 4)) /* what it leaves behind, others have to run */
            self->ops[n] = (op){.kind = OP_COMPUTE, .ns = 2000000 + below(random, 6000000)};
        for (int k = i + 1; k < NODES && one_in(random, 6) && !avoids("edge"); k++) /* before some that only computes */
            if (all->nodes[k].parent == -1 && self->parent == -1 && only_computes(self) &&
                all->nodes[k].after < 0)
                all->nodes[k].after = (int8_t)i;
    }
}

/* May a thread cancel the pool at any time? Not if one of its functions may wait in another pool for a
 * function that waits for what is cancelled here; nor if a task of another pool comes after a refused one. */
static bool may_close(const program *all, unsigned pool) {
    for (int i = 0; i < NODES; i++) {
        const node *self = &all->nodes[i];
        if (self->after >= 0 && all->nodes[self->after].pool != self->pool) return false;
        for (int k = 0; k < OPS && self->pool == pool; k++) {
            const op *o = &self->ops[k];
            bool waits = o->kind == OP_WAIT || o->kind == OP_RUN_WAIT;
            if ((o->kind != OP_NONE && o->kind != OP_SPAWN && o->pool != pool) ||
                (waits && all->nodes[o->node].pool != pool))
                return false;
        }
    }
    return true;
}

static void program_make(program *all, uint64_t seed) {
    uint64_t random = seed_mix(seed);
    memset(all, 0, sizeof *all);
    all->seed = seed;
    all->pools = one_in(&random, 3) && !avoids("two") ? 2 : 1;
    uint32_t mask = (uint32_t)chance(&random) | (uint32_t)(one_in(&random, 4) ? ~0u : 0u) | 1u << OP_COMPUTE | 1u << OP_NAP;
    for (int i = 0; i < AVOIDABLES; i++)
        if ((avoided >> i & 1) != 0) mask &= ~avoidables[i].kinds;
    for (unsigned i = 0; i < all->pools; i++) {
        config_make(&all->configs[i], &random);
        all->driven[i] = one_in(&random, 4) && !avoids("driver");
    }
    if (one_in(&random, 3) && !avoids("stall")) all->stall_seed = 1 + chance(&random) % 1000000;
    nodes_make(all, &random, mask);
    all->drains = one_in(&random, 4) && all->pools == 1 && !all->configs[0].lend_only && !avoids("drain");
    all->threads = 1 + below(&random, THREADS);
    for (unsigned i = 0; i < all->threads; i++) {
        int n = 0;
        if (i == 0) /* it spawns them, in between it naps */
            for (int k = 0; k < NODES && n < THREAD_OPS; k++)
                if (all->nodes[k].parent < 0) all->thread[0][n++] = (op){.kind = OP_SPAWN, .node = (uint8_t)k,
                    .ns = one_in(&random, 3) ? some_ns(&random) : 0};
        for (int tries = 0; n < THREAD_OPS && tries < 4; tries++) {
            op_kind kind = thread_kinds[below(&random, sizeof thread_kinds / sizeof *thread_kinds)];
            if ((mask >> kind & 1) == 0) continue;
            op made = op_make(all, -1, kind, &random);
            if (made.kind == OP_QUIET && i == 0) continue; /* the first one spawns what others wait for */
            if (made.kind == OP_CLOSE && (i == 0 || !may_close(all, made.pool))) continue;
            if (made.kind == OP_CLOSE) all->drains = false;
            if (made.kind != OP_NONE) all->thread[i][n++] = made;
        }
    }
}

/* One thread spawns in the tasks that it runs, between them, and in a driver's dispatch. */
static void alone_make(program *all, uint64_t seed) {
    static const op_kind task[] = {OP_BURST, OP_BURST, OP_BURST, OP_BURST, OP_PEND, OP_PEND,
        OP_GROUP, OP_YIELD, OP_COMPUTE};
    static const op_kind thread[] = {OP_PUMP, OP_PUMP, OP_PUMP, OP_BURST, OP_BURST, OP_BURST,
        OP_SPAWN, OP_SPAWN, OP_GROUP};
    uint64_t random = seed_mix(seed);
    wsq_config *config = &all->configs[0];
    memset(all, 0, sizeof *all);
    all->seed = seed;
    all->pools = all->threads = 1;
    all->alone = true;
    config_make(config, &random);
    config->workers = 1;
    config->caller_runs = true;
    config->lend_only = false;
    if (config->order == WSQ_LIFO) config->order = WSQ_FIFO;
    all->driven[0] = one_in(&random, 2) && !avoids("driver");
    for (int i = 0; i < NODES; i++) {
        all->nodes[i] = (node){.pin = -1, .after = -1, .parent = -1};
        for (int k = 0; k < OPS; k++) {
            op_kind kind = task[below(&random, sizeof task / sizeof *task)];
            if (!avoids_kind(kind)) all->nodes[i].ops[k] = op_make(all, i, kind, &random);
        }
    }
    for (int i = 0; i < THREAD_OPS; i++) {
        op_kind kind = thread[below(&random, sizeof thread / sizeof *thread)];
        op made = op_make(all, -1, kind, &random);
        if (kind == OP_SPAWN) made = (op){.kind = OP_SPAWN, .node = (uint8_t)below(&random, NODES)};
        if (!avoids_kind(kind)) all->thread[0][i] = made;
    }
}

/* ---- how it is printed ---- */

static const char *time_text(uint64_t ns) {
    static char text[4][24];
    static unsigned next;
    char *out = text[next++ % 4];
    if (ns >= MS) snprintf(out, 24, "%.4g ms", (double)ns / 1e6);
    else snprintf(out, 24, "%.4g us", (double)ns / 1e3);
    return out;
}

static void way_print(const op *self) {
    static const char *const calls[] = {"get each", "get each with a time-out, then without", "a task after each, get each",
        "drop each", "cancel each, get each", "without a handle"};
    static const char *const jobs[] = {"", " that block first", " that spawn a task first"};
    if (self->kind == OP_CALLS)
        printf("submit %u calls of %s to pool %u, %s%s", self->count, time_text(self->ns), self->pool, calls[self->way],
               self->how != 0 ? ", the last one first" : "");
    if (self->kind == OP_GRAPH)
        printf("run a graph of %u nodes of %s in pool %u twice", self->count, time_text(self->ns), self->pool);
    if (self->kind == OP_FORK)
        printf("fork %u jobs of %s%s, compute %s, join", self->count, time_text(self->ns), jobs[self->way],
               time_text(self->ns2));
    if ((self->kind == OP_GROUP || self->kind == OP_BURST) && (self->way & WAY_BATCH) != 0) printf(", as a batch");
    if (self->kind == OP_GROUP && (self->way & WAY_THEN) != 0)
        printf(", and %u tasks after it", self->count2);
    if (self->kind == OP_BURST && self->how == HOW_TIMER)
        printf(", due after %s", time_text(self->ns2));
    if (self->kind == OP_PEND && self->count != 0)
        printf(", it brings %u tasks of %s%s for pool %u%s", self->count, time_text(self->ns2),
               (self->way & WAY_THEN) != 0 ? " that respawn" : "", self->pool,
               (self->way & WAY_BATCH) != 0 ? ", as a batch" : "");
    if (self->stall != 0) printf(" (stalls at access %u)", self->stall);
}

static void op_print(const op *self) {
    static const char *const hows[] = {"", "", "", "a timer", "a task", "a thread", "an event"};
    static const char *const members[] = {"", " that yield", " that respawn", " on timers",
        "", "", "", " by a task", ", half of them 300 ns,", " that block"};
    static const char *const priorities[] = {"", " WSQ_HIGH", " WSQ_LOW"};
    switch (self->kind) {
    case OP_COMPUTE: printf("compute %s", time_text(self->ns)); break;
    case OP_SPAWN: printf("spawn t%u", self->node);
        if (self->ns != 0) printf(", nap %s", time_text(self->ns));
        break;
    case OP_WAIT: printf("wait for t%u", self->node);
        if (self->ns != 0) printf(", %s at most", time_text(self->ns));
        break;
    case OP_FUTURE: printf("%u times: submit a call of %s to pool %u, get it", self->count,
                           time_text(self->ns), self->pool); break;
    case OP_RUN: if (self->count != 0) printf("wsq_run in pool %u: loop of %u times %s", self->pool,
                                              self->count, time_text(self->ns));
        else printf("wsq_run in pool %u: compute %s", self->pool, time_text(self->ns));
        break;
    case OP_RUN_WAIT: printf("wsq_run in pool %u: wait for t%u", self->pool, self->node); break;
    case OP_GROUP: printf("group in pool %u of %u%s tasks of %s%s; wait for it", self->pool, self->count,
                          priorities[self->priority], time_text(self->ns), members[self->how]);
        if (self->ns2 != 0) printf(", %s at most", time_text(self->ns2));
        if (self->cancel != 0) printf("; before that cancel it%s", self->cancel == 2 ? "s parent" : "");
        break;
    case OP_CANCEL: printf("cancel t%u", self->node); break;
    case OP_AGAIN: printf("set the timer of t%u to %s", self->node, time_text(self->ns)); break;
    case OP_STOP: printf("cancel the timer of t%u, and wake it", self->node); break;
    case OP_QUIET: printf("wait for pool %u", self->pool);
        if (self->ns != 0) printf(", %s at most", time_text(self->ns));
        break;
    case OP_CLOSE: printf("WSQ_CANCEL of pool %u", self->pool); break;
    case OP_SPIN: printf("set spin_ns of pool %u to %u", self->pool, (unsigned)self->ns); break;
    case OP_BURST: printf("spawn %u%s tasks of %s%s in pool %u", self->count, priorities[self->priority],
                          time_text(self->ns), members[self->how], self->pool); break;
    case OP_WAKE: printf("wake t%u", self->node); break;
    case OP_LOOP: printf("loop of %u times %s", self->count, time_text(self->ns)); break;
    case OP_YIELD: printf("%u times: compute %s, yield", self->count, time_text(self->ns)); break;
    case OP_UNTIL: printf("until t%u has ended: compute %s, yield", self->node, time_text(self->ns)); break;
    case OP_PEND: printf("pend, %s wakes it after %s", hows[self->how], time_text(self->ns)); break;
    case OP_BLOCK: printf("block for %s", time_text(self->ns)); break;
    case OP_NAP: printf("nap %s", time_text(self->ns)); break;
    case OP_FEED: printf("spawn %u tasks of %s in pool %u, one each %s", self->count, time_text(self->ns),
                         self->pool, time_text(self->ns2)); break;
    case OP_PUMP: printf("run %u tasks of pool %u", self->count, self->pool); break;
    case OP_DISMISS: printf("dismiss worker %u of pool %u", self->node, self->pool); break;
    default: break;
    }
}

static void ops_print(const op *ops, int count) {
    bool first = true;
    for (int i = 0; i < count; i++) {
        if (ops[i].kind == OP_NONE) continue;
        if (!first) printf("; ");
        first = false;
        op_print(&ops[i]);
        way_print(&ops[i]);
    }
    printf("%s\n", first ? "ends" : "");
}

/* Starts fail only in pools whose programs end without stand-ins, too. */
static void fails_make(program *all) {
    uint64_t random = ~all->seed;
    for (unsigned i = 0; i < all->pools; i++) {
        wsq_config *config = &all->configs[i];
        all->fails[i] = 0;
        if (!few_threads(config) || config->caller_runs || config->lend_only || avoids("fail")) continue;
        if (!one_in(&random, 3)) continue;
        all->fails[i] = 4 + below(&random, 5);
        if (config->max_standins == WSQ_STANDINS_OFF) config->max_standins = 1 + below(&random, 4);
    }
}

/* The hook of a stand-in may take long, and time-outs may be exact. */
static void times_make(program *all) {
    uint64_t random = all->seed ^ 0x510;
    all->on_time = one_in(&random, 3) && !avoids("exact");
    for (unsigned i = 0; i < all->pools; i++) {
        bool slow = one_in(&random, 6) && !avoids("slow");
        all->slow_ns[i] = slow ? 20 * US << below(&random, 10) : 0;
    }
}

static void config_print(unsigned i, const wsq_config *c, bool driven) {
    static const char *const orders[] = {"WSQ_FIFO", "WSQ_LIFO", "WSQ_SHARED"};
    printf("  pool %u: %u workers, %s", i, c->workers, orders[c->order]);
    if (c->caller_runs) printf(", caller_runs");
    if (c->lend_only) printf(", lend_only");
    if (c->max_standins == WSQ_STANDINS_OFF) printf(", no stand-ins");
    else if (c->max_standins != 0) printf(", %u stand-ins", c->max_standins);
    if (c->spin_ns != 0) printf(", spin_ns %s", c->spin_ns == WSQ_SPIN_OFF ? "off" : time_text(c->spin_ns));
    if (c->max_interval != 0) printf(", interval %u", c->max_interval);
    if (driven) printf(", a driver");
    if (c->lifo_cap != 0) printf(", lifo_cap %s", c->lifo_cap == WSQ_LIFO_OFF ? "off" : "1");
    printf(", seed %u\n", (unsigned)c->seed);
}

static bool node_spawned(const program *all, int k);

static void program_print(const program *all) {
    static const char *const priorities[] = {"", ", WSQ_HIGH", ", WSQ_LOW"};
    for (unsigned i = 0; i < all->pools; i++) {
        config_print(i, &all->configs[i], all->driven[i]);
        if (all->alone) printf("    only thread 0 works in it\n");
        if (all->fails[i] != 0) printf("    of 8 starts of a stand-in %u fail\n", all->fails[i]);
        if (all->slow_ns[i] != 0) printf("    the hook of a stand-in takes %s\n", time_text(all->slow_ns[i]));
    }
    if (all->drains) printf("  at the end the pool is drained\n");
    if (all->on_time) printf("  time-outs are exact\n");
    if (all->stall_seed != 0) printf("  stalls, seed %u\n", (unsigned)all->stall_seed);
    for (unsigned i = 0; i < all->threads; i++) {
        printf("  thread %u: ", i);
        ops_print(all->thread[i], THREAD_OPS);
    }
    for (int k = 0; k < NODES; k++) {
        const node *self = &all->nodes[k];
        if (!node_spawned(all, k)) continue;
        printf("  t%d in pool %u%s", k, self->pool, priorities[self->priority]);
        if (self->pin >= 0) printf(", pinned to worker %d", self->pin);
        if (self->after >= 0) printf(", after t%d", self->after);
        printf(": ");
        ops_print(self->ops, OPS);
    }
}

static bool ops_spawn(const op *ops, int count, int k) {
    for (int i = 0; i < count; i++)
        if (ops[i].kind == OP_SPAWN && ops[i].node == k) return true;
    return false;
}

static bool node_spawned(const program *all, int k) {
    if (ops_spawn(all->thread[0], THREAD_OPS, k)) return true;
    for (int i = 0; i < k; i++)
        if (ops_spawn(all->nodes[i].ops, OPS, k)) return node_spawned(all, i);
    return false;
}

#endif /* PROGRAM_H */
