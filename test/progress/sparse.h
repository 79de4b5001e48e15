/* sparse.h - random programs in which little happens: after each operation a thread computes, or naps, for long. So a
 * notification that is lost shows, for no other one comes soon. */
#ifndef SPARSE_H
#define SPARSE_H

#include "program.h"

static const op_kind sparse_task_kinds[] = {OP_BURST, OP_BURST, OP_WAIT, OP_WAIT, OP_FUTURE, OP_CALLS, OP_CALLS, OP_CALLS,
    OP_GROUP, OP_GROUP, OP_GRAPH, OP_FORK, OP_FORK, OP_FORK, OP_RUN, OP_RUN_WAIT, OP_LOOP, OP_YIELD, OP_PEND, OP_PEND, OP_BLOCK,
    OP_BLOCK, OP_WAKE, OP_CANCEL, OP_AGAIN, OP_STOP};
static const op_kind sparse_thread_kinds[] = {OP_BURST, OP_BURST, OP_WAIT, OP_FUTURE, OP_CALLS, OP_CALLS, OP_CALLS, OP_GROUP,
    OP_GROUP, OP_GRAPH, OP_FORK, OP_RUN, OP_RUN, OP_RUN_WAIT, OP_WAKE, OP_CANCEL, OP_AGAIN, OP_STOP, OP_DISMISS};

/* Few and short things, or very many. */
static op sparse_op(const program *all, int self, bool aims, uint64_t *random) {
    op_kind kind = self >= 0 ? sparse_task_kinds[below(random, sizeof sparse_task_kinds / sizeof *sparse_task_kinds)]
                             : sparse_thread_kinds[below(random, sizeof sparse_thread_kinds / sizeof *sparse_thread_kinds)];
    if (avoids_kind(kind)) return (op){0};
    op made = op_make(all, self, kind, random);
    if (made.kind == OP_NONE) return made;
    bool many = kind == OP_BURST || kind == OP_GROUP || kind == OP_CALLS || kind == OP_FUTURE;
    if (many) {
        made.count = (uint16_t)(1 + below(random, 3));
        if (!one_in(random, 4)) made.ns = 500 + below(random, 20000);
    }
    /* Of shorter ones, all workers are seldom inside one at the same time; cancelled ones do not run at all. */
    if (many && kind != OP_FUTURE && made.cancel == 0 && one_in(random, 24)) {
        made.count = (uint16_t)(100 + below(random, 400));
        made.ns = 1000;
    }
    if (made.priority == WSQ_LOW && made.count > 8) made.count = 8;
    if (aims && one_in(random, 3)) made.stall = (uint8_t)(1 + below(random, one_in(random, 2) ? 40 : 250));
    return made;
}

static op long_compute(uint64_t *random) {
    return (op){.kind = OP_COMPUTE, .ns = 2000000 + below(random, 6000000)};
}

static void sparse_node(program *all, int i, int used, bool aims, uint64_t *random) {
    node *self = &all->nodes[i];
    int n = 0;
    for (int k = i + 1; k < used && n < OPS - 2; k++)
        if (all->nodes[k].parent == i) self->ops[n++] = (op){.kind = OP_SPAWN, .node = (uint8_t)k};
    for (int tries = 0; n + 2 <= OPS && tries < 4; tries++) {
        op made = sparse_op(all, i, aims, random);
        if (made.kind == OP_NONE) continue;
        self->ops[n++] = made;
        if (tries == 0 && one_in(random, 3)) continue; /* two operations in a row */
        self->ops[n++] = long_compute(random);
    }
    if (n == 0 || (n < OPS && one_in(random, 3))) self->ops[n] = long_compute(random);
}

static void sparse_nodes(program *all, bool aims, uint64_t *random) {
    int used = 1 + (int)below(random, 3);
    for (int i = 0; i < NODES; i++) {
        node *self = &all->nodes[i];
        self->pool = (uint8_t)below(random, all->pools);
        self->priority = (uint8_t)(one_in(random, 8) && !avoids("high") ? WSQ_HIGH : WSQ_NORMAL);
        self->pin = (int8_t)(one_in(random, 8) && !avoids("pin") ? (int)below(random, all->configs[self->pool].workers) : -1);
        self->after = -1;
        self->parent = (int8_t)(i >= used ? -2 : i > 0 && one_in(random, 2) ? (int)below(random, (uint32_t)i) : -1);
    }
    for (int i = used - 1; i >= 0; i--) sparse_node(all, i, used, aims, random);
}

static void sparse_make(program *all, uint64_t seed) {
    uint64_t random = seed_mix(seed);
    memset(all, 0, sizeof *all);
    all->seed = seed;
    all->pools = one_in(&random, 8) && !avoids("two") ? 2 : 1;
    for (unsigned i = 0; i < all->pools; i++) {
        config_make(&all->configs[i], &random);
        if (all->configs[i].workers > 4) all->configs[i].workers = 3;
        if (one_in(&random, 2)) all->configs[i] = (wsq_config){.workers = 1 + below(&random, 3), .seed = 1 + below(&random, 1000)};
        all->driven[i] = one_in(&random, 6) && !avoids("driver");
    }
    bool aims = one_in(&random, 2) && !avoids("aim");
    sparse_nodes(all, aims, &random);
    all->threads = 1 + below(&random, 2);
    for (unsigned i = 0; i < all->threads; i++) {
        int n = 0;
        for (int k = 0; i == 0 && k < NODES; k++)
            if (all->nodes[k].parent == -1)
                all->thread[0][n++] = (op){.kind = OP_SPAWN, .node = (uint8_t)k, .ns = one_in(&random, 2) ? some_ns(&random) : 0};
        for (int tries = 0; n + 2 <= THREAD_OPS && tries < (int)below(&random, 4); tries++) {
            op made = sparse_op(all, -1, aims, &random);
            if (made.kind == OP_NONE) continue;
            all->thread[i][n++] = made;
            all->thread[i][n++] = (op){.kind = OP_NAP, .ns = 1000000 + below(&random, 3000000)};
        }
    }
}

static void program_draw(program *all, uint64_t seed) {
    if (seed % 3 == 0 && !avoids("sparse")) sparse_make(all, seed);
    else if (seed % 6 == 1 && !avoids("alone")) alone_make(all, seed);
    else program_make(all, seed);
    fails_make(all);
    times_make(all);
}

#endif /* SPARSE_H */
