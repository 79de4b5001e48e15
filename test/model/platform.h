/* platform.h - the platform layer of wsq.h for harnesses in which no pool is made. Sleep is a loop that ends
 * when the word has changed, and has no time-out: the checker reports one that cannot end. */
#ifndef MODEL_PLATFORM_H
#define MODEL_PLATFORM_H

typedef struct wsqi_parking { char unused; } wsqi_parking;
typedef struct wsqi_thread { char unused; } wsqi_thread;

static inline bool wsqi_parking_init(wsqi_parking *parking) {
    parking->unused = 0;
    return true;
}
static inline void wsqi_parking_fini(wsqi_parking *parking) { (void)parking; }

static inline void wsqi_parking_wait(wsqi_parking *parking, wsqi_a32 *word, uint32_t expected, uint64_t timeout_ns) {
    (void)parking, (void)timeout_ns;
    while (wsqi_load_rlx(word) == expected) {}
}
static inline void wsqi_parking_wake(wsqi_parking *parking, wsqi_a32 *word, bool all) {
    (void)parking, (void)word, (void)all;
}

/* No thread starts. A macro, so that the checker does not see what a thread would run: it had not prepared the loop of
 * a worker after 5 minutes. */
#define wsqi_thread_start(thread, fn, arg, stack_size, name) \
    ((void)(thread), (void)(arg), (void)(stack_size), (void)(name), false)
static inline void wsqi_thread_join(wsqi_thread *thread) { (void)thread; }

static inline uint64_t wsqi_clock_ns(void) { return 1; }
static inline unsigned wsqi_cpu_count(void) { return 2; }
static inline wsqi_worker *wsqi_self_get(void) { return NULL; }
static inline void wsqi_self_set(wsqi_worker *self) { (void)self; }

#endif /* MODEL_PLATFORM_H */
