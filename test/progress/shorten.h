/* shorten.h - leaves out of a failing program whatever it can fail without. */
#ifndef SHORTEN_H
#define SHORTEN_H

#include "execute.h"

/* Does it still break that rule? If so, it is the program from now on. */
static bool shorter(program *all, const program *next, const char *rule) {
    if (memcmp(all, next, sizeof *all) == 0) return false;
    if (program_holds(next) || strcmp(watch.rule, rule) != 0) return false;
    *all = *next;
    return true;
}

static bool shorten_ops(program *all, op *(*at)(program *all, int i), int count, const char *rule) {
    bool any = false;
    program next;
    for (int i = 0; i < count; i++) {
        next = *all;
        op *o = at(&next, i);
        if (o->kind == OP_NONE) continue;
        *o = (op){0};
        if (shorter(all, &next, rule)) {
            any = true;
            continue;
        }
        for (int what = 0; what < 12; what++) {
            next = *all;
            o = at(&next, i);
            if (what == 0) o->count = (uint16_t)(o->count / 2);
            else if (what == 1) o->ns2 = 0;
            else if (what == 2 && o->kind == OP_SPAWN) o->ns = 0;
            else if (what == 3) o->pool = 0;
            else if (what == 4) o->priority = 0;
            else if (what == 5 && (o->kind == OP_GROUP || o->kind == OP_BURST)) o->how = HOW_PLAIN;
            else if (what == 6 && o->ns > 1000 && o->kind != OP_SPAWN) o->ns /= 2;
            else if (what == 7 && o->count > 1) o->count = 1;
            else if (what == 8) o->cancel = 0;
            else if (what == 9) o->way = 0;
            else if (what == 10) o->stall = 0;
            else if (what == 11) o->count2 = (uint16_t)(o->count2 / 2);
            if (o->count == 0 && at(all, i)->count != 0 && o->kind != OP_RUN) continue;
            while (shorter(all, &next, rule)) {
                any = true;
                if (what != 0 && what != 6) break;
                o = at(&next, i);
                if (what == 0 && o->count > 1) o->count = (uint16_t)(o->count / 2);
                else if (what == 6 && o->ns > 1000) o->ns /= 2;
            }
        }
    }
    return any;
}

static op *thread_op(program *all, int i) { return &all->thread[i / THREAD_OPS][i % THREAD_OPS]; }
static op *node_op(program *all, int i) { return &all->nodes[i / OPS].ops[i % OPS]; }

static bool shorten_node(program *all, int k, const char *rule) {
    bool any = false;
    for (int what = 0; what < 4; what++) {
        program next = *all;
        node *self = &next.nodes[k];
        if (what == 0) self->pin = -1;
        else if (what == 1) self->priority = WSQ_NORMAL;
        else if (what == 2) self->after = -1;
        else self->pool = 0;
        any = shorter(all, &next, rule) || any;
    }
    return any;
}

static bool shorten_config(program *all, unsigned i, const char *rule) {
    bool any = false;
    for (int what = 0; what < 12; what++) {
        program next = *all;
        wsq_config *config = &next.configs[i];
        switch (what) {
        case 0: config->order = WSQ_FIFO; break;
        case 1: config->max_standins = next.fails[i] != 0 ? config->max_standins : 0; break;
        case 2: config->lend_only = false; config->caller_runs = all->alone; break;
        case 3: config->spin_ns = 0; break;
        case 4: config->min_interval = config->max_interval = 0; break;
        case 5: config->lifo_cap = 0; break;
        case 6: config->workers = 1; break;
        case 7: config->workers = config->workers > 2 ? 2 : config->workers; break;
        case 8: next.driven[i] = false; break;
        case 9: next.fails[i] = 0; break;
        case 10: next.slow_ns[i] = 0; break;
        default: config->seed = 1; break;
        }
        any = shorter(all, &next, rule) || any;
    }
    return any;
}

static void program_shorten(program *all, const char *rule) {
    bool any = true;
    for (int round = 0; any && round < 20; round++) {
        program next = *all;
        next.stall_seed = 0;
        any = shorter(all, &next, rule);
        next = *all;
        next.drains = false;
        any = shorter(all, &next, rule) || any;
        next = *all;
        next.on_time = false;
        any = shorter(all, &next, rule) || any;
        for (next = *all; next.threads > 1 && (next.threads--, shorter(all, &next, rule)); next = *all) any = true;
        any = shorten_ops(all, thread_op, THREADS * THREAD_OPS, rule) || any;
        any = shorten_ops(all, node_op, NODES * OPS, rule) || any;
        for (int k = 0; k < NODES; k++) any = shorten_node(all, k, rule) || any;
        for (unsigned i = 0; i < all->pools; i++) any = shorten_config(all, i, rule) || any;
        next = *all;
        next.pools = 1;
        bool abroad = false;
        for (int i = 0; i < NODES; i++) abroad = abroad || next.nodes[i].pool != 0;
        for (int i = 0; i < THREADS * THREAD_OPS; i++) abroad = abroad || thread_op(&next, i)->pool != 0;
        for (int i = 0; i < NODES * OPS; i++) abroad = abroad || node_op(&next, i)->pool != 0;
        if (!abroad) any = shorter(all, &next, rule) || any;
        for (uint64_t seed = 1; all->stall_seed > 30 && seed <= 30; seed++) {
            next = *all;
            next.stall_seed = seed;
            if (shorter(all, &next, rule)) break;
        }
    }
}

#endif /* SHORTEN_H */
