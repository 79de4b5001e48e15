/* noisy.h - the vocabulary of wsq.h (see >>vocabulary there) with a disturbance in front of every access.
 *
 *     #define WSQ_ATOMIC_HEADER "test/noisy.h"
 *
 * Any access may yield the processor. An ordered access (those are the ones with a label) may also
 * sleep for long, as a thread does that was preempted there: a few instructions become an eternity.
 * The settings are changed only while no pool is alive. */
#ifndef NOISY_H
#define NOISY_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

enum { NOISY_LINES = 16384 };

static struct noisy {
    uint64_t seed;
    unsigned yield_every;        /* one access in so many yields; 0: none */
    unsigned line;               /* where to sleep; 0: everywhere */
    unsigned sleep_every;        /* one hit in so many sleeps */
    uint32_t sleep_ns;           /* for at most so long */
    atomic_int sleeps;           /* so many times are left */
    atomic_ulong yielded, slept; /* how often that happened */
} noisy;

static atomic_bool noisy_seen[NOISY_LINES]; /* lines of wsq.h with an ordered access */
static atomic_uint noisy_threads;
static __thread uint64_t noisy_state;

static inline uint64_t noisy_random(void) {
    if (noisy_state == 0) noisy_state = (noisy.seed + atomic_fetch_add(&noisy_threads, 1)) * 2 + 1;
    noisy_state += 0x9e3779b97f4a7c15u;
    uint64_t z = (noisy_state ^ (noisy_state >> 30)) * 0xbf58476d1ce4e5b9u;
    return z ^ (z >> 29);
}

static inline void noisy_sleep(uint64_t random) {
    struct timespec time = {0, (long)((random >> 32) % (noisy.sleep_ns + 1u))};
    if (atomic_fetch_sub_explicit(&noisy.sleeps, 1, memory_order_relaxed) <= 0) return;
    atomic_fetch_add_explicit(&noisy.slept, 1, memory_order_relaxed);
    nanosleep(&time, NULL);
}

static inline void noisy_any(void) {
    if (noisy.yield_every == 0 || noisy_random() % noisy.yield_every != 0) return;
    atomic_fetch_add_explicit(&noisy.yielded, 1, memory_order_relaxed);
    sched_yield();
}

static inline void noisy_ordered(unsigned line) {
    noisy_any();
    if (!atomic_load_explicit(&noisy_seen[line % NOISY_LINES], memory_order_relaxed))
        atomic_store_explicit(&noisy_seen[line % NOISY_LINES], true, memory_order_relaxed);
    if (noisy.line != 0 && noisy.line != line) return;
    if (atomic_load_explicit(&noisy.sleeps, memory_order_relaxed) <= 0) return;
    uint64_t random = noisy_random();
    if (random % noisy.sleep_every == 0) noisy_sleep(random);
}

typedef struct wsqi_a32 { uint32_t v; } wsqi_a32;
typedef struct wsqi_a64 { uint64_t v __attribute__((aligned(8))); } wsqi_a64;
typedef struct wsqi_aptr { void *v; } wsqi_aptr;

#define NOISY_RLX(call) (noisy_any(), call)
#define NOISY(call) (noisy_ordered(__LINE__), call)
#define NOISY_CAS(p, e, d, order) \
    __atomic_compare_exchange_n(&(p)->v, (e), (d), 0, (order), __ATOMIC_RELAXED)

#define wsqi_load_rlx(p) NOISY_RLX(__atomic_load_n(&(p)->v, __ATOMIC_RELAXED))
#define wsqi_load_acq(p) NOISY(__atomic_load_n(&(p)->v, __ATOMIC_ACQUIRE))
#define wsqi_load_sc(p) NOISY(__atomic_load_n(&(p)->v, __ATOMIC_SEQ_CST))
#define wsqi_store_rlx(p, d) NOISY_RLX(__atomic_store_n(&(p)->v, (d), __ATOMIC_RELAXED))
#define wsqi_store_rel(p, d) NOISY(__atomic_store_n(&(p)->v, (d), __ATOMIC_RELEASE))
#define wsqi_store_sc(p, d) NOISY(__atomic_store_n(&(p)->v, (d), __ATOMIC_SEQ_CST))
#define wsqi_xchg_rlx(p, d) NOISY_RLX(__atomic_exchange_n(&(p)->v, (d), __ATOMIC_RELAXED))
#define wsqi_xchg_acq(p, d) NOISY(__atomic_exchange_n(&(p)->v, (d), __ATOMIC_ACQUIRE))
#define wsqi_xchg_rel(p, d) NOISY(__atomic_exchange_n(&(p)->v, (d), __ATOMIC_RELEASE))
#define wsqi_xchg_acqrel(p, d) NOISY(__atomic_exchange_n(&(p)->v, (d), __ATOMIC_ACQ_REL))
#define wsqi_xchg_sc(p, d) NOISY(__atomic_exchange_n(&(p)->v, (d), __ATOMIC_SEQ_CST))
#define wsqi_add_rlx(p, d) NOISY_RLX(__atomic_fetch_add(&(p)->v, (d), __ATOMIC_RELAXED))
#define wsqi_add_acqrel(p, d) NOISY(__atomic_fetch_add(&(p)->v, (d), __ATOMIC_ACQ_REL))
#define wsqi_add_sc(p, d) NOISY(__atomic_fetch_add(&(p)->v, (d), __ATOMIC_SEQ_CST))
#define wsqi_or_rlx(p, d) NOISY_RLX(__atomic_fetch_or(&(p)->v, (d), __ATOMIC_RELAXED))
#define wsqi_or_acqrel(p, d) NOISY(__atomic_fetch_or(&(p)->v, (d), __ATOMIC_ACQ_REL))
#define wsqi_or_sc(p, d) NOISY(__atomic_fetch_or(&(p)->v, (d), __ATOMIC_SEQ_CST))
#define wsqi_and_rlx(p, d) NOISY_RLX(__atomic_fetch_and(&(p)->v, (d), __ATOMIC_RELAXED))
#define wsqi_and_acqrel(p, d) NOISY(__atomic_fetch_and(&(p)->v, (d), __ATOMIC_ACQ_REL))
#define wsqi_cas_rlx(p, e, d) NOISY_RLX(NOISY_CAS(p, e, d, __ATOMIC_RELAXED))
#define wsqi_cas_acq(p, e, d) NOISY(NOISY_CAS(p, e, d, __ATOMIC_ACQUIRE))
#define wsqi_cas_rel(p, e, d) NOISY(NOISY_CAS(p, e, d, __ATOMIC_RELEASE))
#define wsqi_cas_acqrel(p, e, d) NOISY(NOISY_CAS(p, e, d, __ATOMIC_ACQ_REL))
#define wsqi_cas_sc(p, e, d) NOISY(NOISY_CAS(p, e, d, __ATOMIC_SEQ_CST))

/* An exchange, so that the thread sanitizer, which knows no fences, understands it. */
static uint32_t noisy_fence_word;
#define wsqi_fence_sc() NOISY((void)__atomic_fetch_add(&noisy_fence_word, 0, __ATOMIC_SEQ_CST))
#define wsqi_pause() sched_yield()

#endif /* NOISY_H */
