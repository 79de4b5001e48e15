/* explore_atomic.h - the vocabulary of wsq.h (see >>vocabulary there) on top of explore.h. */
#ifndef EXPLORE_ATOMIC_H
#define EXPLORE_ATOMIC_H

/* A word carries its number in the model: memory that is set up again is a new word at once. */
typedef struct wsqi_a32 { uint32_t v, number; } wsqi_a32;
typedef struct wsqi_a64 { uint64_t v; uint32_t number; } wsqi_a64;
typedef struct wsqi_aptr { void *v; uint32_t number; } wsqi_aptr;

#define EXPLORE_METHODS(name, type, value_type, to_value, from_value) \
    static inline value_type explore_load_##name(const type *word, int order, const char *at) { \
        type *w = (type *)(uintptr_t)word; \
        return from_value explore_do_load(&w->v, &w->number, (int)sizeof w->v, order, at); \
    } \
    static inline void explore_store_##name(type *word, value_type value, int order, \
                                            const char *at) { \
        explore_do_store(&word->v, &word->number, (int)sizeof word->v, to_value value, order, at); \
    } \
    static inline value_type explore_rmw_##name(type *word, explore_rmw op, value_type value, \
                                                int order, const char *at) { \
        return from_value explore_do_rmw(&word->v, &word->number, (int)sizeof word->v, op, \
                                         to_value value, order, at); \
    } \
    static inline bool explore_cas_##name(type *word, value_type *expected, value_type desired, \
                                          int order, const char *at) { \
        uint64_t old = to_value *expected; \
        bool done = explore_do_cas(&word->v, &word->number, (int)sizeof word->v, &old, \
                                   to_value desired, order, at); \
        if (!done) *expected = from_value old; \
        return done; \
    }

EXPLORE_METHODS(a32, wsqi_a32, uint32_t, (uint64_t), (uint32_t))
EXPLORE_METHODS(a64, wsqi_a64, uint64_t, (uint64_t), (uint64_t))
EXPLORE_METHODS(aptr, wsqi_aptr, void *, (uint64_t)(uintptr_t), (void *)(uintptr_t))

#define EXPLORE_SITE(p) EXPLORE_AT " " #p
#define EXPLORE_CALL(what, p) \
    _Generic((p), wsqi_a32 *: explore_##what##_a32, wsqi_a64 *: explore_##what##_a64, \
             wsqi_aptr *: explore_##what##_aptr)
#define EXPLORE_CALL_CONST(what, p) \
    _Generic((p), wsqi_a32 *: explore_##what##_a32, wsqi_a64 *: explore_##what##_a64, \
             wsqi_aptr *: explore_##what##_aptr, const wsqi_a32 *: explore_##what##_a32, \
             const wsqi_a64 *: explore_##what##_a64, const wsqi_aptr *: explore_##what##_aptr)

#define wsqi_load_rlx(p) EXPLORE_CALL_CONST(load, p)(p, EXPLORE_RLX, EXPLORE_SITE(p))
#define wsqi_load_acq(p) EXPLORE_CALL_CONST(load, p)(p, EXPLORE_ACQ, EXPLORE_SITE(p))
#define wsqi_load_sc(p) EXPLORE_CALL_CONST(load, p)(p, EXPLORE_SC, EXPLORE_SITE(p))
#define wsqi_store_rlx(p, d) EXPLORE_CALL(store, p)(p, d, EXPLORE_RLX, EXPLORE_SITE(p))
#define wsqi_store_rel(p, d) EXPLORE_CALL(store, p)(p, d, EXPLORE_REL, EXPLORE_SITE(p))
#define wsqi_store_sc(p, d) EXPLORE_CALL(store, p)(p, d, EXPLORE_SC, EXPLORE_SITE(p))
#define wsqi_xchg_rlx(p, d) \
    EXPLORE_CALL(rmw, p)(p, EXPLORE_XCHG, d, EXPLORE_RLX, EXPLORE_SITE(p))
#define wsqi_xchg_acq(p, d) \
    EXPLORE_CALL(rmw, p)(p, EXPLORE_XCHG, d, EXPLORE_ACQ, EXPLORE_SITE(p))
#define wsqi_xchg_rel(p, d) \
    EXPLORE_CALL(rmw, p)(p, EXPLORE_XCHG, d, EXPLORE_REL, EXPLORE_SITE(p))
#define wsqi_xchg_acqrel(p, d) \
    EXPLORE_CALL(rmw, p)(p, EXPLORE_XCHG, d, EXPLORE_ACQREL, EXPLORE_SITE(p))
#define wsqi_xchg_sc(p, d) \
    EXPLORE_CALL(rmw, p)(p, EXPLORE_XCHG, d, EXPLORE_SC, EXPLORE_SITE(p))
#define wsqi_add_rlx(p, d) \
    EXPLORE_CALL(rmw, p)(p, EXPLORE_ADD, d, EXPLORE_RLX, EXPLORE_SITE(p))
#define wsqi_add_acq(p, d) \
    EXPLORE_CALL(rmw, p)(p, EXPLORE_ADD, d, EXPLORE_ACQ, EXPLORE_SITE(p))
#define wsqi_add_rel(p, d) \
    EXPLORE_CALL(rmw, p)(p, EXPLORE_ADD, d, EXPLORE_REL, EXPLORE_SITE(p))
#define wsqi_add_acqrel(p, d) \
    EXPLORE_CALL(rmw, p)(p, EXPLORE_ADD, d, EXPLORE_ACQREL, EXPLORE_SITE(p))
#define wsqi_add_sc(p, d) \
    EXPLORE_CALL(rmw, p)(p, EXPLORE_ADD, d, EXPLORE_SC, EXPLORE_SITE(p))
#define wsqi_sub_rlx(p, d) \
    EXPLORE_CALL(rmw, p)(p, EXPLORE_SUB, d, EXPLORE_RLX, EXPLORE_SITE(p))
#define wsqi_sub_acq(p, d) \
    EXPLORE_CALL(rmw, p)(p, EXPLORE_SUB, d, EXPLORE_ACQ, EXPLORE_SITE(p))
#define wsqi_sub_rel(p, d) \
    EXPLORE_CALL(rmw, p)(p, EXPLORE_SUB, d, EXPLORE_REL, EXPLORE_SITE(p))
#define wsqi_sub_acqrel(p, d) \
    EXPLORE_CALL(rmw, p)(p, EXPLORE_SUB, d, EXPLORE_ACQREL, EXPLORE_SITE(p))
#define wsqi_sub_sc(p, d) \
    EXPLORE_CALL(rmw, p)(p, EXPLORE_SUB, d, EXPLORE_SC, EXPLORE_SITE(p))
#define wsqi_or_rlx(p, d) \
    EXPLORE_CALL(rmw, p)(p, EXPLORE_OR, d, EXPLORE_RLX, EXPLORE_SITE(p))
#define wsqi_or_acq(p, d) \
    EXPLORE_CALL(rmw, p)(p, EXPLORE_OR, d, EXPLORE_ACQ, EXPLORE_SITE(p))
#define wsqi_or_rel(p, d) \
    EXPLORE_CALL(rmw, p)(p, EXPLORE_OR, d, EXPLORE_REL, EXPLORE_SITE(p))
#define wsqi_or_acqrel(p, d) \
    EXPLORE_CALL(rmw, p)(p, EXPLORE_OR, d, EXPLORE_ACQREL, EXPLORE_SITE(p))
#define wsqi_or_sc(p, d) \
    EXPLORE_CALL(rmw, p)(p, EXPLORE_OR, d, EXPLORE_SC, EXPLORE_SITE(p))
#define wsqi_and_rlx(p, d) \
    EXPLORE_CALL(rmw, p)(p, EXPLORE_AND, d, EXPLORE_RLX, EXPLORE_SITE(p))
#define wsqi_and_acq(p, d) \
    EXPLORE_CALL(rmw, p)(p, EXPLORE_AND, d, EXPLORE_ACQ, EXPLORE_SITE(p))
#define wsqi_and_rel(p, d) \
    EXPLORE_CALL(rmw, p)(p, EXPLORE_AND, d, EXPLORE_REL, EXPLORE_SITE(p))
#define wsqi_and_acqrel(p, d) \
    EXPLORE_CALL(rmw, p)(p, EXPLORE_AND, d, EXPLORE_ACQREL, EXPLORE_SITE(p))
#define wsqi_and_sc(p, d) \
    EXPLORE_CALL(rmw, p)(p, EXPLORE_AND, d, EXPLORE_SC, EXPLORE_SITE(p))
#define wsqi_cas_rlx(p, e, d) EXPLORE_CALL(cas, p)(p, e, d, EXPLORE_RLX, EXPLORE_SITE(p))
#define wsqi_cas_acq(p, e, d) EXPLORE_CALL(cas, p)(p, e, d, EXPLORE_ACQ, EXPLORE_SITE(p))
#define wsqi_cas_rel(p, e, d) EXPLORE_CALL(cas, p)(p, e, d, EXPLORE_REL, EXPLORE_SITE(p))
#define wsqi_cas_acqrel(p, e, d) EXPLORE_CALL(cas, p)(p, e, d, EXPLORE_ACQREL, EXPLORE_SITE(p))
#define wsqi_cas_sc(p, e, d) EXPLORE_CALL(cas, p)(p, e, d, EXPLORE_SC, EXPLORE_SITE(p))

#define wsqi_fence_sc() explore_fence(EXPLORE_AT)
#define wsqi_pause() explore_pause(EXPLORE_AT)

/* Ordinary memory: read and written as it is, checked for races. */
#define wsqi_get(p) (*(__typeof__(p))explore_plain(p, false, EXPLORE_SITE(p)))
#define wsqi_set(p, value) \
    ((void)(*(__typeof__(p))explore_plain(p, true, EXPLORE_SITE(p)) = (value)))

#endif /* EXPLORE_ATOMIC_H */
