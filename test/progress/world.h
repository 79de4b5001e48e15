/* world.h - wsq.h, unmodified, in virtual time (../../bench/sim), for tests that ask when a task ran.
 *
 *   world_run(fn, limit_ns)    runs fn on a new machine; false: it had not returned by then
 *   world_leave()              ends the run from any thread of it, wherever the others are
 *   compute(ns)                this thread computes for so long
 *   now()                      virtual ns
 *   outside(fn, arg)           starts a thread that is none of a pool's
 *
 * A thread has a core of its own, so a thread that does not run either sleeps or waits for another
 * one. Everything depends on the program alone, so clocks may be compared exactly. Plain variables
 * are shared safely: threads switch only inside compute() and the calls of wsq.h. */
#ifndef WORLD_H
#define WORLD_H

#define SIM_STALLS
#include "../../bench/sim/sim.h"

#include "../rests.h"

enum { WORLD_CORES = 16, WORLD_STACK = 8 << 20 };

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)

static struct {
    explore_context harness, run;
    void *stack;
    void (*fn)(void);
    uint64_t limit;
    bool returned;
    unsigned cores; /* 0: WORLD_CORES */
    sim_machine machine;
} world;

static inline uint64_t now(void) { return sim_now(); }

/* Returns when every thread that is further behind has come as far. */
static inline void compute(uint64_t ns) {
    sim_work(ns);
    sim_turn();
}

static inline void nap(uint64_t ns) { sim_nap(ns); }

static inline sim_core *outside(void (*fn)(void *arg), void *arg) {
    sim_core *core = sim_thread_outside(fn, arg);
    if (core == NULL) sim_fail("too many threads");
    return core;
}

/* The threads of the run stay where they are: the next machine begins anew. */
static void world_leave(void) {
    explore_context never;
    explore_context_switch(&never, &world.harness);
}

static void world_guard(void *arg) {
    (void)arg;
    sim_nap(world.limit);
    world_leave();
}

static void world_main(void) {
    sim_begin(&world.machine);
    outside(world_guard, NULL);
    world.fn();
    world.returned = true;
    world_leave();
}

static inline bool world_run(void (*fn)(void), uint64_t limit_ns) {
    if (world.stack == NULL) {
        world.stack = sim_map((uintptr_t)3 << 44, WORLD_STACK);
        world.machine = sim_machines[1];
    }
    world.machine.cores = world.cores != 0 ? world.cores : WORLD_CORES;
    world.fn = fn;
    world.limit = limit_ns;
    world.returned = false;
    sim_stall.accesses = 0;
    explore_context_make(&world.run, world.stack, WORLD_STACK, world_main);
    explore_context_switch(&world.harness, &world.run);
    return world.returned;
}

/* All tasks are over, unless a shutdown is to end them. When all threads sleep, nothing is left behind; and S counts
 * each of them, and all permits. They sleep after 100 ms, whatever stalls hold them up. Returns what is wrong, or NULL. */
static inline const char *pool_wrong(wsq_pool *pool) {
    const wsq_config *config = &pool->config;
    uint64_t s = 0, rest = 1, bits = 0, joiners = 0;
    uint32_t threads = 0;
    if (wsqi_load_hint(pool->phase) != WSQI_PHASE_RUN || wsqi_unfinished(pool) != 0) return NULL;
    bool still = false;
    for (int i = 0; i < 100 && !still; i++) {
        if (i != 0) nap(MS);
        threads = wsqi_load_hint(&pool->duty.threads);
        s = wsqi_load_hint(&pool->permits) & ~WSQI_JOINED; /* a hint that may stay */
        rest = config->caller_runs ? s : pool->workers * WSQI_PERMIT + threads * WSQI_IDLE;
        bits = joiners = 0;
        for (unsigned w = 0; w < pool->bitmap.words; w++) {
            for (uint64_t mask = wsqi_load_hint(&pool->bitmap.sleepers[w]); mask != 0; mask &= mask - 1) bits++;
            joiners |= wsqi_load_hint(&pool->bitmap.joiners[w]);
        }
        still = s == rest && wsqi_idle(s) == threads && bits == threads && wsqi_load_hint(&pool->made.coming) == 0;
    }
    if (wsqi_idle(s) != threads && config->spin_ns != 0 && !config->caller_runs) return NULL; /* they look on */
    if (s != rest) return "S counts a thread or a permit wrongly";
    if (bits != wsqi_idle(s) || joiners != 0) return "the bitmaps differ from S";
    return pool_left(pool);
}

#endif /* WORLD_H */
