/* platform.h - the platform layer of wsq.h for harnesses in which no pool is made. Sleep is a loop that ends
 * when the word has changed, and has no time-out: the checker reports one that cannot end. */
#ifndef MODEL_PLATFORM_H
#define MODEL_PLATFORM_H

typedef struct wsqi_lot { char unused; } wsqi_lot;
typedef struct wsqi_thread { char unused; } wsqi_thread;

static inline bool wsqi_lot_init(wsqi_lot *lot) {
    lot->unused = 0;
    return true;
}
static inline void wsqi_lot_fini(wsqi_lot *lot) { (void)lot; }

static inline void wsqi_lot_wait(wsqi_lot *lot, wsqi_a32 *word, uint32_t expected, uint64_t timeout_ns) {
    (void)lot, (void)timeout_ns;
    while (wsqi_load_rlx(word) == expected) {}
}
static inline void wsqi_lot_wake(wsqi_lot *lot, wsqi_a32 *word, bool all) {
    (void)lot, (void)word, (void)all;
}

static inline bool wsqi_thread_start(wsqi_thread *thread, void (*fn)(void *arg), void *arg,
                                     size_t stack_size, const char *name) {
    (void)thread, (void)fn, (void)arg, (void)stack_size, (void)name;
    return false;
}
static inline void wsqi_thread_join(wsqi_thread *thread) { (void)thread; }

static inline uint64_t wsqi_clock_ns(void) { return 1; }
static inline unsigned wsqi_cpu_count(void) { return 2; }
static inline wsqi_worker *wsqi_self_get(void) { return NULL; }
static inline void wsqi_self_set(wsqi_worker *self) { (void)self; }

#endif /* MODEL_PLATFORM_H */
