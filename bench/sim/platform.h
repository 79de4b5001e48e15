/* platform.h - the platform layer of wsq.h on simulated cores: threads, sleep, a clock, places. */
#ifndef SIM_PLATFORM_H
#define SIM_PLATFORM_H

typedef struct wsqi_parking { char unused; } wsqi_parking;
typedef sim_core *wsqi_thread;

static inline bool wsqi_parking_init(wsqi_parking *parking) {
    parking->unused = 0;
    return true;
}

static inline void wsqi_parking_fini(wsqi_parking *parking) { (void)parking; }

static inline void sim_kernel(uint64_t ps) {
    sim.running->clock += ps;
    sim.running->kernel += ps;
}

static inline void wsqi_parking_wait(wsqi_parking *parking, wsqi_a32 *word, uint32_t expected,
                                 uint64_t timeout_ns) {
    uint64_t now = sim.running->clock, limit = (SIM_NEVER >> SIM_ID_BITS) - now;
    uint64_t deadline = timeout_ns < limit / 1000 ? now + timeout_ns * 1000 : SIM_NEVER;
    (void)parking;
    SIM_EVENT();
    sim_kernel(sim.price.wait_call);
    sim_turn(); /* a core that has changed the word by now did so before the kernel looks */
    if (wsqi_load_rlx(word) != expected) return;
    if (timeout_ns == 0) deadline = SIM_NEVER;
    if (deadline != SIM_NEVER) deadline += sim.price.timer_latency;
    sim_sleep(word, deadline);
    SIM_EVENT_END();
}

static inline void wsqi_parking_wake(wsqi_parking *parking, wsqi_a32 *word, bool all) {
    (void)parking;
    SIM_EVENT();
    sim_turn();
    uint64_t latency = sim.price.wake_latency;
    unsigned woken = sim_wake(word, sim.running->clock + latency, all);
    sim_kernel(woken == 0 ? sim.price.wake_none : woken * sim.price.wake_call);
    SIM_EVENT_END();
}

/* A test's: does the start of a thread for this block fail? NULL: none does. */
static bool (*sim_start_fails)(const void *block);

static inline bool wsqi_thread_start(wsqi_thread *thread, void (*fn)(void *arg), void *arg,
                                     size_t stack_size, const char *name) {
    (void)stack_size;
    (void)name;
    SIM_EVENT();
    bool fails = sim_start_fails != NULL && sim_start_fails(arg);
    if (fails) sim_kernel(sim.price.thread_start / 3);
    *thread = fails ? NULL : sim_thread(fn, arg);
    SIM_EVENT_END();
    return *thread != NULL;
}

static inline void wsqi_thread_join(wsqi_thread *thread) {
    SIM_EVENT();
    sim_join(*thread);
    SIM_EVENT_END();
}

static inline uint64_t wsqi_clock_ns(void) {
    SIM_EVENT();
    sim.running->clock += sim.price.clock;
    SIM_EVENT_END();
    return sim_now();
}

static inline unsigned wsqi_cpu_count(void) { return sim.machine->cores; }

static inline wsqi_worker *wsqi_self_get(void) { return (wsqi_worker *)sim.running->self; }
static inline void wsqi_self_set(wsqi_worker *self) { sim.running->self = self; }
#define wsqi_thread_key() ((uintptr_t)sim.running->id)

/* ---- places ---- */

static inline unsigned wsqi_cpu_now(void) { return sim.running->id; }

/* Each thread has a core of its own, so this is only counted. */
static unsigned sim_cpu_leaves;
#define wsqi_cpu_leave wsqi_cpu_leave
static inline void wsqi_cpu_leave(void) { sim_cpu_leaves++; }

static inline unsigned wsqi_places_read(uint32_t *places, unsigned count) {
    unsigned cores = sim.machine->cores, n = 0;
    for (; n < count && n < cores + SIM_OUTSIDE; n++) {
        unsigned place = n < cores ? n : (n - cores) * sim.machine->cluster % cores;
        places[n] = place / sim.machine->socket << 16 |
                    place / sim.machine->cluster * sim.machine->cluster;
    }
    return n;
}

#define wsqi_places_read wsqi_places_read

#endif /* SIM_PLATFORM_H */
