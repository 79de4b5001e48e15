/* atomic.h - the vocabulary of wsq.h (see >>vocabulary there) on simulated cache lines.
 *
 * Every order costs the same, as on x86: a load is a load, a release is a store, and whatever reads
 * and writes is a locked instruction. */
#ifndef SIM_ATOMIC_H
#define SIM_ATOMIC_H

#include "lines.h"

typedef struct wsqi_a32 { uint32_t v; } wsqi_a32;
typedef struct wsqi_a64 { uint64_t v; } wsqi_a64;
typedef struct wsqi_aptr { void *v; } wsqi_aptr;

#define SIM_INLINE static inline __attribute__((always_inline, unused))

#define SIM_METHODS(name, type, value) \
    SIM_INLINE value sim_load_##name(const type *word, const sim_site *site) { \
        sim_access(word, SIM_READ, site); \
        return word->v; \
    } \
    SIM_INLINE void sim_store_##name(type *word, value desired, const sim_site *site) { \
        sim_access(word, SIM_WRITE, site); \
        word->v = desired; \
    } \
    SIM_INLINE value sim_xchg_##name(type *word, value desired, const sim_site *site) { \
        sim_access(word, SIM_RMW, site); \
        value former = word->v; \
        word->v = desired; \
        return former; \
    } \
    SIM_INLINE bool sim_cas_##name(type *word, value *expected, value desired, \
                                   const sim_site *site) { \
        sim_access(word, SIM_RMW, site); \
        bool same = word->v == *expected; \
        if (same) word->v = desired; \
        else *expected = word->v; \
        return same; \
    }

#define SIM_ARITHMETIC(name, type, value, verb, operator) \
    SIM_INLINE value sim_##verb##_##name(type *word, value operand, const sim_site *site) { \
        sim_access(word, SIM_RMW, site); \
        value former = word->v; \
        word->v = former operator operand; \
        return former; \
    }

SIM_METHODS(a32, wsqi_a32, uint32_t)
SIM_METHODS(a64, wsqi_a64, uint64_t)
SIM_METHODS(aptr, wsqi_aptr, void *)
SIM_ARITHMETIC(a32, wsqi_a32, uint32_t, add, +)
SIM_ARITHMETIC(a64, wsqi_a64, uint64_t, add, +)
SIM_ARITHMETIC(a32, wsqi_a32, uint32_t, sub, -)
SIM_ARITHMETIC(a64, wsqi_a64, uint64_t, sub, -)
SIM_ARITHMETIC(a32, wsqi_a32, uint32_t, or, |)
SIM_ARITHMETIC(a64, wsqi_a64, uint64_t, or, |)
SIM_ARITHMETIC(a32, wsqi_a32, uint32_t, and, &)
SIM_ARITHMETIC(a64, wsqi_a64, uint64_t, and, &)

/* A site of its own for each access in the text. */
#define SIM_SITE(p) \
    (__extension__({ \
        static sim_site sim_site_here = {#p, NULL}; \
        sim_site_here.function = __func__; \
        &sim_site_here; \
    }))

#define SIM_ANY(verb, p) \
    _Generic((p), wsqi_a32 *: sim_##verb##_a32, const wsqi_a32 *: sim_##verb##_a32, \
             wsqi_a64 *: sim_##verb##_a64, const wsqi_a64 *: sim_##verb##_a64, \
             wsqi_aptr *: sim_##verb##_aptr, const wsqi_aptr *: sim_##verb##_aptr)
#define SIM_NUMBER(verb, p) \
    _Generic((p), wsqi_a32 *: sim_##verb##_a32, wsqi_a64 *: sim_##verb##_a64)

#define SIM_LOAD(p) SIM_ANY(load, p)(p, SIM_SITE(p))
#define SIM_STORE(p, d) SIM_ANY(store, p)(p, d, SIM_SITE(p))
#define SIM_XCHG(p, d) SIM_ANY(xchg, p)(p, d, SIM_SITE(p))
#define SIM_CAS(p, e, d) SIM_ANY(cas, p)(p, e, d, SIM_SITE(p))
#define SIM_CHANGE(verb, p, d) SIM_NUMBER(verb, p)(p, d, SIM_SITE(p))

#define wsqi_load_rlx(p) SIM_LOAD(p)
#define wsqi_load_acq(p) SIM_LOAD(p)
#define wsqi_load_sc(p) SIM_LOAD(p)
#define wsqi_store_rlx(p, d) SIM_STORE(p, d)
#define wsqi_store_rel(p, d) SIM_STORE(p, d)
#define wsqi_store_sc(p, d) ((void)SIM_XCHG(p, d))
#define wsqi_xchg_rlx(p, d) SIM_XCHG(p, d)
#define wsqi_xchg_acq(p, d) SIM_XCHG(p, d)
#define wsqi_xchg_rel(p, d) SIM_XCHG(p, d)
#define wsqi_xchg_acqrel(p, d) SIM_XCHG(p, d)
#define wsqi_xchg_sc(p, d) SIM_XCHG(p, d)
#define wsqi_add_rlx(p, d) SIM_CHANGE(add, p, d)
#define wsqi_add_acq(p, d) SIM_CHANGE(add, p, d)
#define wsqi_add_rel(p, d) SIM_CHANGE(add, p, d)
#define wsqi_add_acqrel(p, d) SIM_CHANGE(add, p, d)
#define wsqi_add_sc(p, d) SIM_CHANGE(add, p, d)
#define wsqi_sub_rlx(p, d) SIM_CHANGE(sub, p, d)
#define wsqi_sub_acq(p, d) SIM_CHANGE(sub, p, d)
#define wsqi_sub_rel(p, d) SIM_CHANGE(sub, p, d)
#define wsqi_sub_acqrel(p, d) SIM_CHANGE(sub, p, d)
#define wsqi_sub_sc(p, d) SIM_CHANGE(sub, p, d)
#define wsqi_or_rlx(p, d) SIM_CHANGE(or, p, d)
#define wsqi_or_acq(p, d) SIM_CHANGE(or, p, d)
#define wsqi_or_rel(p, d) SIM_CHANGE(or, p, d)
#define wsqi_or_acqrel(p, d) SIM_CHANGE(or, p, d)
#define wsqi_or_sc(p, d) SIM_CHANGE(or, p, d)
#define wsqi_and_rlx(p, d) SIM_CHANGE(and, p, d)
#define wsqi_and_acq(p, d) SIM_CHANGE(and, p, d)
#define wsqi_and_rel(p, d) SIM_CHANGE(and, p, d)
#define wsqi_and_acqrel(p, d) SIM_CHANGE(and, p, d)
#define wsqi_and_sc(p, d) SIM_CHANGE(and, p, d)
#define wsqi_cas_rlx(p, e, d) SIM_CAS(p, e, d)
#define wsqi_cas_acq(p, e, d) SIM_CAS(p, e, d)
#define wsqi_cas_rel(p, e, d) SIM_CAS(p, e, d)
#define wsqi_cas_acqrel(p, e, d) SIM_CAS(p, e, d)
#define wsqi_cas_sc(p, e, d) SIM_CAS(p, e, d)

static inline void wsqi_fence_sc(void) {
    SIM_EVENT();
    sim_drain(sim.running);
    sim.running->row = 0;
    sim.running->clock += sim.price.fence;
    SIM_EVENT_END();
}

/* Behind a locked instruction x86 needs none. */
#define wsqi_fence_rmw() ((void)0)

static inline void wsqi_pause(void) {
    SIM_EVENT();
    sim.running->clock += sim.price.pause;
    sim.running->spin += sim.price.pause;
    sim.running->row = 0;
    SIM_EVENT_END();
}

/* Ordinary memory that changes hands. */
SIM_INLINE void *sim_plain(const void *p, sim_kind kind, const sim_site *site) {
    sim_access(p, kind, site);
    return (void *)(uintptr_t)p;
}

#define wsqi_get(p) (*(__typeof__(p))sim_plain((p), SIM_FOLLOW, SIM_SITE(p)))
#define wsqi_set(p, value) \
    ((void)(*(__typeof__(p))sim_plain((p), SIM_WRITE, SIM_SITE(p)) = (value)))

#endif /* SIM_ATOMIC_H */
