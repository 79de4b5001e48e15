/* explore_platform.h - the platform layer of wsq.h on top of explore.h. */
#ifndef EXPLORE_PLATFORM_H
#define EXPLORE_PLATFORM_H

typedef struct wsqi_parking {
    int unused;
} wsqi_parking;
typedef explore_fiber *wsqi_thread;

/* A scenario may say how many cores there seem to be, and how many threads can be started. */
static unsigned explore_cpus = 2;
static int explore_threads_left = EXPLORE_FIBERS;
static uint32_t explore_threads; /* fibers that wsq.h started; explore_pool_make clears it */
static void (*explore_before_thread)(void *arg); /* called with its argument, by the thread that starts it */

static inline bool wsqi_parking_init(wsqi_parking *parking) {
    parking->unused = 0;
    return true;
}

static inline void wsqi_parking_fini(wsqi_parking *parking) {
    (void)parking;
}

#define wsqi_parking_wait(parking, word, expected, timeout) \
    ((void)(parking), explore_wait(&(word)->v, &(word)->number, expected, timeout, EXPLORE_AT))
#define wsqi_parking_wake(parking, word, all) \
    ((void)(parking), explore_wake(&(word)->v, &(word)->number, all, EXPLORE_AT))

static inline bool wsqi_thread_start(wsqi_thread *thread, void (*fn)(void *arg), void *arg,
                                     size_t stack_size, const char *name) {
    (void)stack_size;
    (void)name;
    if (explore_threads_left == 0) return false;
    explore_threads_left--;
    if (explore_before_thread) explore_before_thread(arg);
    *thread = explore_start(fn, arg);
    explore_threads |= EXPLORE_BIT(*thread - explore.fiber);
    return true;
}

static inline void wsqi_thread_join(wsqi_thread *thread) {
    explore_join_one(*thread);
}

static inline uint64_t wsqi_clock_ns(void) {
    return explore.clock + (uint64_t)explore.steps * 100;
}

static inline unsigned wsqi_cpu_count(void) {
    return explore_cpus;
}

static inline wsqi_worker *wsqi_self_get(void) {
    return explore.running->self;
}

static inline void wsqi_self_set(wsqi_worker *self) {
    explore.running->self = self;
}

/* A scenario may say through which lane of the global queue it spawns. */
static uintptr_t explore_key __attribute__((unused));
#define wsqi_thread_key() explore_key

#endif /* EXPLORE_PLATFORM_H */
