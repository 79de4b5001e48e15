/* atomic.h - the vocabulary of wsq.h (see >>vocabulary there) for a model checker: C11, no assembler. */
#ifndef MODEL_ATOMIC_H
#define MODEL_ATOMIC_H

#include <stdatomic.h>
#include <stdint.h>

typedef struct wsqi_a32 { _Atomic uint32_t v; } wsqi_a32;
typedef struct wsqi_a64 { _Atomic uint64_t v; } wsqi_a64;
typedef struct wsqi_aptr { void *_Atomic v; } wsqi_aptr;

#define MODEL_CAS(p, e, d, order) \
    atomic_compare_exchange_strong_explicit(&(p)->v, (e), (d), (order), memory_order_relaxed)

#define wsqi_load_rlx(p) atomic_load_explicit(&(p)->v, memory_order_relaxed)
#define wsqi_load_acq(p) atomic_load_explicit(&(p)->v, memory_order_acquire)
#define wsqi_load_sc(p) atomic_load_explicit(&(p)->v, memory_order_seq_cst)
#define wsqi_store_rlx(p, d) atomic_store_explicit(&(p)->v, (d), memory_order_relaxed)
#define wsqi_store_rel(p, d) atomic_store_explicit(&(p)->v, (d), memory_order_release)
#define wsqi_store_sc(p, d) atomic_store_explicit(&(p)->v, (d), memory_order_seq_cst)
#define wsqi_xchg_rlx(p, d) atomic_exchange_explicit(&(p)->v, (d), memory_order_relaxed)
#define wsqi_xchg_acq(p, d) atomic_exchange_explicit(&(p)->v, (d), memory_order_acquire)
#define wsqi_xchg_rel(p, d) atomic_exchange_explicit(&(p)->v, (d), memory_order_release)
#define wsqi_xchg_acqrel(p, d) atomic_exchange_explicit(&(p)->v, (d), memory_order_acq_rel)
#define wsqi_xchg_sc(p, d) atomic_exchange_explicit(&(p)->v, (d), memory_order_seq_cst)
#define wsqi_add_rlx(p, d) atomic_fetch_add_explicit(&(p)->v, (d), memory_order_relaxed)
#define wsqi_add_acqrel(p, d) atomic_fetch_add_explicit(&(p)->v, (d), memory_order_acq_rel)
#define wsqi_add_sc(p, d) atomic_fetch_add_explicit(&(p)->v, (d), memory_order_seq_cst)
#define wsqi_or_rlx(p, d) atomic_fetch_or_explicit(&(p)->v, (d), memory_order_relaxed)
#define wsqi_or_acqrel(p, d) atomic_fetch_or_explicit(&(p)->v, (d), memory_order_acq_rel)
#define wsqi_or_sc(p, d) atomic_fetch_or_explicit(&(p)->v, (d), memory_order_seq_cst)
#define wsqi_and_rlx(p, d) atomic_fetch_and_explicit(&(p)->v, (d), memory_order_relaxed)
#define wsqi_and_acqrel(p, d) atomic_fetch_and_explicit(&(p)->v, (d), memory_order_acq_rel)
#define wsqi_cas_rlx(p, e, d) MODEL_CAS(p, e, d, memory_order_relaxed)
#define wsqi_cas_acq(p, e, d) MODEL_CAS(p, e, d, memory_order_acquire)
#define wsqi_cas_rel(p, e, d) MODEL_CAS(p, e, d, memory_order_release)
#define wsqi_cas_acqrel(p, e, d) MODEL_CAS(p, e, d, memory_order_acq_rel)
#define wsqi_cas_sc(p, e, d) MODEL_CAS(p, e, d, memory_order_seq_cst)

#define wsqi_fence_sc() atomic_thread_fence(memory_order_seq_cst)
#define wsqi_pause() ((void)0)
#define WSQI_OPAQUE(pointer) ((void)0)

#endif /* MODEL_ATOMIC_H */
