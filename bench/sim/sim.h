/* sim.h - wsq.h, unmodified, on a simulated machine: what every program here includes.
 *
 *   wsq_pool *sim_pool(machine, workers)   begins a machine, with a pool asleep on it
 *   sim_meter                              what a run took, from sim_start_meter on
 *   sim_pool_end(pool)
 *
 * Memory comes from one place at a fixed address, so that a run repeats itself exactly. */
#ifndef SIM_H
#define SIM_H

#include "lines.h"

SIM_STATE struct sim_memory {
    char *start;
    size_t used, size;
} sim_arena;

static void *sim_allocate(size_t size) {
    if (sim_arena.start == NULL) {
        sim_arena.size = (size_t)16 << 30;
        sim_arena.start = (char *)sim_map((uintptr_t)1 << 45, sim_arena.size);
    }
    size = (size + 63) & ~(size_t)63;
    if (size > sim_arena.size - sim_arena.used) sim_fail("the program needs too much memory");
    void *p = sim_arena.start + sim_arena.used;
    sim_arena.used += size;
    return p;
}

static void sim_memory_reset(void) {
    if (sim_arena.used != 0) madvise(sim_arena.start, sim_arena.used, MADV_DONTNEED);
    sim_arena.used = 0;
}

#define WSQ_MALLOC(size) sim_allocate(size)
#define WSQ_FREE(pointer) ((void)(pointer))
#define WSQ_ATOMIC_HEADER "bench/sim/atomic.h"
#define WSQ_PLATFORM_HEADER "bench/sim/platform.h"
#ifndef WSQ_INLINE
#define WSQ_STATIC
#endif
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"

SIM_STATE uint64_t sim_seed = 1; /* of the pools that are made */
SIM_STATE unsigned sim_standins = WSQ_STANDINS_OFF; /* how many a pool has */
SIM_STATE wsq_order sim_order = WSQ_FIFO;
SIM_STATE uint32_t sim_lifo_cap = 0;

static inline wsq_pool *sim_pool(const sim_machine *machine, unsigned workers) {
    wsq_config config = {.workers = workers, .seed = sim_seed, .max_standins = sim_standins,
                         .order = sim_order, .lifo_cap = sim_lifo_cap};
    wsq_pool *pool = NULL;
    sim_begin(machine);
    if (wsq_pool_create(&pool, &config) != WSQ_OK) sim_fail("no pool");
    sim_nap(10000000); /* until all sleep */
    return pool;
}

static inline void sim_pool_end(wsq_pool *pool) {
    wsq_pool_destroy(pool);
    sim_end();
}

/* ---- what a run took ---- */

typedef struct sim_meter {
    uint64_t start, ns;
    uint64_t work, transfer, queue, drain, spin, kernel, asleep, woken; /* of the workers, ns */
} sim_meter;

static inline void sim_meter_add(sim_meter *meter, int sign) {
    for (unsigned i = 0; i < sim.threads; i++) {
        const sim_core *core = &sim.cores[i];
        uint64_t asleep = core->asleep;
        if (core->state == SIM_ASLEEP) asleep += sim.running->clock - core->slept_at;
        meter->work += (uint64_t)sign * core->work;
        meter->transfer += (uint64_t)sign * core->transfer;
        meter->queue += (uint64_t)sign * core->queue;
        meter->drain += (uint64_t)sign * core->drain;
        meter->spin += (uint64_t)sign * core->spin;
        meter->kernel += (uint64_t)sign * core->kernel;
        meter->asleep += (uint64_t)sign * asleep;
        meter->woken += (uint64_t)sign * core->woken;
    }
}

static inline sim_meter sim_meter_start(void) {
    sim_meter meter = {.start = sim_now()};
    for (size_t i = 1; i < sim_cache.hot_count; i++) {
        uintptr_t line = sim_cache.hots[i].line;
        sim_cache.hots[i] = (sim_hot){.line = line};
    }
    sim_meter_add(&meter, -1);
    return meter;
}

/* By the thread that started it. */
static inline void sim_meter_stop(sim_meter *meter) {
    meter->ns = sim_now() - meter->start;
    sim_meter_add(meter, 1);
}

#endif /* SIM_H */
