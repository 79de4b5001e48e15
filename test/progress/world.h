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

#endif /* WORLD_H */
