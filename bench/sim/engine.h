/* engine.h - virtual cores, each a fiber with a clock of its own, on one thread.
 *
 * The core that is furthest behind runs next, up to its next access to memory that others may
 * share; equal clocks go by the number of the core. So a run depends on nothing but its program.
 * A core that only uses lines that it holds may run ahead of the others by half of the shortest
 * transfer: a core that asks for one of these lines meanwhile gets it no sooner than that.
 *
 *   sim_begin(machine)            a machine without threads; the caller becomes a core of it
 *   sim_thread(fn, arg)           starts a thread on the next core, from 0 on; or
 *   sim_thread_outside(fn, arg)   on a core that is none of the pool's, where the caller is too
 *   sim_join(core), sim_end()
 *   sim_work(ns)                  computes, and touches nothing that is shared
 *   sim_nap(ns)                   sleeps
 *   sim_now()                     this core's clock, in ns
 *   sim_program_run(fn, argc, argv)   what main does; fn is the program
 *   sim_limit(cpus)               no more threads run at once: others wait for one to sleep, or for
 *                                 the end of its slice of 3 ms
 *
 * A program of several files defines SIM_STATE as __attribute__((weak)) in all of them: then they
 * have one machine. Time is counted in picoseconds. */
#ifndef SIM_ENGINE_H
#define SIM_ENGINE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../../test/explore/explore_fiber.h"
#include "machine.h"

#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif
#ifndef SIM_STATE
#define SIM_STATE static
#endif
/* What an access, a pause, a fence or a call of the system begins and ends with. */
#ifndef SIM_EVENT
#define SIM_EVENT() ((void)0)
#define SIM_EVENT_END() ((void)0)
#endif
#ifndef SIM_STACK_BYTES
#define SIM_STACK_BYTES (4 << 20)
#endif

enum {
    SIM_ID_BITS = 11,
    SIM_CORES = 1 << SIM_ID_BITS,
    SIM_OUTSIDE = 128,          /* cores for threads that are none of the pool's */
    SIM_STACK = SIM_STACK_BYTES,
    SIM_BUCKETS = 1024,         /* of sleepers, by the address that they sleep on */
    SIM_STREAMS = 4             /* sequences of lines that a core fetches ahead */
};
#define SIM_SLICE 3000000000u   /* ps: how long a thread runs while others wait for a processor */
#define SIM_EXCHANGE 1500000u   /* ps: from one thread to the next on a processor: a guess */
#define SIM_NEVER UINT64_MAX

typedef struct sim_stream { uintptr_t line; uint32_t length, age; } sim_stream;

typedef enum sim_state { SIM_READY, SIM_ASLEEP, SIM_DONE, SIM_JOINED } sim_state;

typedef struct sim_core {
    uint64_t clock;
    uint64_t drained;        /* when the last of its stores is in its cache */
    explore_context context;
    unsigned id, cluster, socket;
    sim_state state;
    const void *word;        /* what it sleeps on; or by which its joiner waits */
    struct sim_core *next;   /* in the same bucket */
    uint16_t wait_next;      /* behind it, waiting for a line: 1 + number; 0: none */
    void (*fn)(void *arg);
    void *arg, *self;        /* the thread-local pointer */
    sim_stream streams[SIM_STREAMS];
    uint32_t stream_age;
    uint32_t row; /* loads that missed one behind the other */
    uint64_t born, slept_at, ran_at; /* ran_at: when it got its processor */
    /* where its time went */
    uint64_t work, transfer, queue, drain, spin, kernel, asleep;
    uint64_t woken; /* how often */
    uint64_t rising, waited; /* asleep after it was woken; awake without a processor */
} sim_core;

/* What the prices of the machine are, in picoseconds. */
typedef struct sim_prices {
    uint64_t transfer[3], memory, stream, share, access, rmw, fence, pause, clock, buffer;
    uint64_t wake_call, wake_none, wait_call, wake_latency, timer_latency, thread_start, ahead;
    uint64_t overlap; /* a number */
} sim_prices;

SIM_STATE struct sim_whole {
    const sim_machine *machine;
    sim_prices price;
    sim_core *running;
    uint64_t limit;    /* how far it may run among lines that it holds */
    uint64_t horizon;  /* the clock of the next one */
    sim_core *cores;   /* SIM_CORES of them */
    unsigned threads, outside; /* cores in use: of the pool, and from machine->cores on */
    unsigned leaves;
    uint64_t tree[2 * SIM_CORES]; /* of clocks with the core's number below; 1 is the earliest */
    sim_core *buckets[SIM_BUCKETS];
    char *stacks;
    uint64_t switches;
    unsigned cpus, busy;    /* processors, 0: as many as threads; and how many of them are in use */
    sim_core *idle, **last; /* threads that wait for one, linked by `next` */
} sim;

static void sim_fail(const char *what) {
    fprintf(stderr, "sim: %s\n", what);
    exit(1);
}

static void *sim_map(uintptr_t where, size_t size) {
    void *memory = mmap((void *)where, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) sim_fail("no memory");
    return memory;
}

/* ---- the next core: a tournament of clocks ---- */

static inline void sim_tree_set(unsigned id, uint64_t key) {
    unsigned i = id + sim.leaves;
    sim.tree[i] = key;
    while (i > 1) {
        uint64_t other = sim.tree[i ^ 1], least = key < other ? key : other;
        i /= 2;
        if (sim.tree[i] == least) return;
        sim.tree[i] = key = least;
    }
}

static inline void sim_horizon_update(void) {
    uint64_t slice = sim.idle != NULL ? sim.running->ran_at + SIM_SLICE : SIM_NEVER;
    sim.horizon = sim.tree[1] >> SIM_ID_BITS;
    if (slice < sim.horizon) sim.horizon = slice;
    sim.limit = sim.horizon + sim.price.ahead;
}

static inline uint64_t sim_key(const sim_core *core, uint64_t at) {
    return at << SIM_ID_BITS | core->id;
}

/* Goes on with the core that is furthest behind. The caller has said when it will go on itself. */
static void sim_next(void) {
    sim_core *from = sim.running;
    if (sim.tree[1] == SIM_NEVER) sim_fail("every thread sleeps, and nobody wakes one");
    sim_core *to = &sim.cores[sim.tree[1] & (SIM_CORES - 1)];
    sim_tree_set(to->id, SIM_NEVER);
    sim.running = to;
    sim_horizon_update();
    if (to == from) return;
    sim.switches++;
    explore_context_switch(&from->context, &to->context);
}

/* ---- processors, when there are fewer than threads ---- */

/* The thread is awake from `at` on, and runs then, or when there is a processor for it. */
static void sim_awake(sim_core *core, uint64_t at) {
    core->clock = at;
    core->next = NULL;
    if (sim.cpus == 0 || sim.busy < sim.cpus) {
        sim.busy++;
        core->ran_at = at;
        sim_tree_set(core->id, sim_key(core, at));
        return;
    }
    *sim.last = core;
    sim.last = &core->next;
}

/* A processor is free from `at` on. */
static void sim_leave(uint64_t at) {
    sim_core *core = sim.idle;
    sim.busy--;
    if (core == NULL) return;
    sim.idle = core->next;
    if (sim.idle == NULL) sim.last = &sim.idle;
    if (core->clock < at + SIM_EXCHANGE) {
        core->waited += at + SIM_EXCHANGE - core->clock;
        core->clock = at + SIM_EXCHANGE;
    }
    sim_awake(core, core->clock);
}

static inline void sim_limit(unsigned cpus) { sim.cpus = cpus; }

/* The running core is ahead of another, or has used up its slice. */
static __attribute__((noinline)) void sim_switch(void) {
    sim_core *core = sim.running;
    if (sim.idle != NULL && core->clock - core->ran_at > SIM_SLICE) {
        uint64_t at = core->clock;
        core->next = NULL;
        *sim.last = core;
        sim.last = &core->next;
        sim_leave(at);
        sim_next();
        return;
    }
    sim_tree_set(sim.running->id, sim_key(sim.running, sim.running->clock));
    sim_next();
}

/* Cores that are further behind run first. */
static inline void sim_turn(void) {
    if (sim.running->clock > sim.horizon) sim_switch();
}

/* ---- sleep and wake ---- */

static sim_core **sim_bucket(const void *word) {
    return &sim.buckets[((uint64_t)(uintptr_t)word * 0x9E3779B97F4A7C15u) >> 54];
}

static void sim_bucket_leave(sim_core *core) {
    sim_core **link = sim_bucket(core->word);
    while (*link != core) link = &(*link)->next;
    *link = core->next;
}

/* The running core sleeps until another core wakes it at this address, or until `deadline`. */
static void sim_sleep(const void *word, uint64_t deadline) {
    sim_core *core = sim.running, **end = sim_bucket(word);
    core->word = word;
    core->state = SIM_ASLEEP;
    core->slept_at = core->clock;
    core->next = NULL;
    while (*end != NULL) end = &(*end)->next; /* first come, first woken */
    *end = core;
    sim_tree_set(core->id, deadline == SIM_NEVER ? SIM_NEVER : sim_key(core, deadline));
    sim_leave(core->clock);
    uint64_t waited = core->waited;
    sim_next();
    if (core->state == SIM_ASLEEP) { /* the time is up */
        sim_bucket_leave(core);
        core->state = SIM_READY;
        sim_awake(core, deadline);
        sim_next();
    }
    core->asleep += core->clock - core->slept_at - (core->waited - waited);
}

/* Wakes the first sleeper there, or all: how many. They run at `at`, or when they have fallen
 * asleep and are awake again. */
static unsigned sim_wake(const void *word, uint64_t at, bool all) {
    unsigned woken = 0;
    for (sim_core **link = sim_bucket(word); *link != NULL;) {
        sim_core *core = *link;
        if (core->word != word) {
            link = &core->next;
            continue;
        }
        *link = core->next;
        core->state = SIM_READY;
        core->woken++;
        core->rising += core->clock > at ? 0 : at - sim.running->clock;
        sim_awake(core, core->clock > at ? core->clock : at);
        woken++;
        if (!all) break;
    }
    sim_horizon_update();
    return woken;
}

/* ---- threads ---- */

static void sim_main(void) {
    sim_core *core = sim.running;
    core->fn(core->arg);
    core->state = SIM_DONE;
    sim_wake(core, core->clock, true);
    sim_leave(core->clock);
    sim_next();
    sim_fail("a thread went on after its end");
}

static sim_core *sim_core_init(unsigned id, unsigned place) {
    sim_core *core = &sim.cores[id];
    memset(core, 0, sizeof *core);
    core->id = id;
    core->cluster = place / sim.machine->cluster;
    core->socket = place / sim.machine->socket;
    return core;
}

static sim_core *sim_start(sim_core *core, void (*fn)(void *arg), void *arg) {
    sim.running->clock += sim.price.thread_start / 2;
    core->fn = fn;
    core->arg = arg;
    explore_context_make(&core->context, sim.stacks + (size_t)core->id * SIM_STACK, SIM_STACK,
                         sim_main);
    core->born = sim.running->clock + sim.price.thread_start / 2;
    sim_awake(core, core->born);
    sim_horizon_update();
    return core;
}

/* NULL: there is no core for it. */
static sim_core *sim_thread_outside(void (*fn)(void *arg), void *arg) {
    unsigned n = 1;
    while (n < sim.outside && sim.cores[sim.machine->cores + n].state != SIM_JOINED) n++;
    if (n == SIM_OUTSIDE) return NULL;
    if (n == sim.outside) sim.outside++;
    /* As if on the cores of the pool, from one cluster to the next. */
    unsigned place = n * sim.machine->cluster % sim.machine->cores;
    return sim_start(sim_core_init(sim.machine->cores + n, place), fn, arg);
}

static sim_core *sim_thread(void (*fn)(void *arg), void *arg) {
    if (sim.threads == sim.machine->cores) return sim_thread_outside(fn, arg);
    unsigned n = sim.threads++;
    return sim_start(sim_core_init(n, n), fn, arg);
}

static void sim_join(sim_core *core) {
    if (core->state != SIM_DONE) sim_sleep(core, SIM_NEVER);
    if (sim.running->clock < core->clock) sim.running->clock = core->clock;
    core->state = SIM_JOINED;
}

/* ---- time ---- */

static inline uint64_t sim_ps(double ns) { return (uint64_t)(ns * 1000 + 0.5); }
static inline uint64_t sim_now(void) { return sim.running->clock / 1000; }

static inline void sim_work(uint64_t ns) {
    sim.running->clock += ns * 1000;
    sim.running->work += ns * 1000;
    sim.running->row = 0;
}

static void sim_nap(uint64_t ns) {
    sim_sleep(&sim.running->clock, sim.running->clock + ns * 1000);
}

/* ---- the program itself: on a stack at a fixed address, so that its lines lie the same each time
 * ---- */

SIM_STATE struct sim_entry {
    explore_context outside, inside;
    int (*fn)(int argc, char **argv);
    int argc, result;
    char **argv;
} sim_program;

static void sim_program_main(void) {
    sim_program.result = sim_program.fn(sim_program.argc, sim_program.argv);
    explore_context_switch(&sim_program.inside, &sim_program.outside);
}

static inline int sim_program_run(int (*fn)(int argc, char **argv), int argc, char **argv) {
    const size_t size = (size_t)8 << 20;
    void *stack = sim_map((uintptr_t)3 << 44, size);
    sim_program.fn = fn;
    sim_program.argc = argc;
    sim_program.argv = argv;
    explore_context_make(&sim_program.inside, stack, size, sim_program_main);
    explore_context_switch(&sim_program.outside, &sim_program.inside);
    return sim_program.result;
}

/* ---- a machine ---- */

static void sim_prices_set(const sim_machine *machine) {
    sim_prices *price = &sim.price;
    for (int i = 0; i < 3; i++) price->transfer[i] = sim_ps(machine->transfer[i]);
    price->memory = sim_ps(machine->memory);
    price->stream = sim_ps(machine->stream);
    price->share = sim_ps(machine->share);
    price->access = sim_ps(machine->access);
    price->rmw = sim_ps(machine->rmw);
    price->fence = sim_ps(machine->fence);
    price->pause = sim_ps(machine->pause);
    price->clock = sim_ps(machine->clock);
    price->buffer = sim_ps(machine->buffer);
    price->wake_call = sim_ps(machine->wake_call);
    price->wake_none = sim_ps(machine->wake_none);
    price->wait_call = sim_ps(machine->wait_call);
    price->wake_latency = sim_ps(machine->wake_latency);
    price->timer_latency = sim_ps(machine->timer_latency);
    price->thread_start = sim_ps(machine->thread_start);
    price->overlap = machine->overlap;
    price->ahead = price->transfer[0] / 2;
}

static void sim_lines_reset(void);
static void sim_memory_reset(void);

static void sim_begin(const sim_machine *machine) {
    if (machine->cores + SIM_OUTSIDE > SIM_CORES) sim_fail("too many cores");
    if (sim.cores == NULL) {
        sim.cores = (sim_core *)sim_map(0, SIM_CORES * sizeof *sim.cores);
        sim.stacks = (char *)sim_map((uintptr_t)1 << 44, (size_t)SIM_CORES * SIM_STACK);
    }
    sim.machine = machine;
    sim_prices_set(machine);
    sim.threads = 0;
    sim.outside = 1;
    sim.switches = 0;
    sim.cpus = 0;
    sim.busy = 1;
    sim.idle = NULL;
    sim.last = &sim.idle;
    for (sim.leaves = 1; sim.leaves < machine->cores + SIM_OUTSIDE; sim.leaves *= 2) {}
    memset(sim.tree, 0xff, sizeof sim.tree);
    memset(sim.buckets, 0, sizeof sim.buckets);
    sim_lines_reset();
    sim_memory_reset();
    sim.running = sim_core_init(machine->cores, 0);
    sim.running->clock = sim.running->born = 1000000;
    sim_horizon_update();
}

/* Every thread has ended. */
static void sim_end(void) {
    if (sim.tree[1] != SIM_NEVER) sim_fail("a thread still runs");
}

#endif /* SIM_ENGINE_H */
