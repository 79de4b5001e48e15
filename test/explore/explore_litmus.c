/* Does the explorer itself show what the memory model allows, and nothing else? The classic litmus
 * tests, each at random and exhaustively, and one mistake of every kind that is to be reported. */
#include "explore.h"
typedef struct wsqi_worker wsqi_worker;
#include "explore_atomic.h"
#include "explore_platform.h"

enum { N = 240000 };

static wsqi_a32 x, y, word;
static uint32_t a, b, c, d;
static int plain;
static wsqi_parking parking;

static void clear(void) {
    x = y = word = (wsqi_a32){0};
    a = b = c = d = 0;
    plain = 0;
}

/* The bodies of the threads; a NULL ends them. Then everybody is joined. */
#define RUN(...) \
    do { \
        void (*const bodies[])(void *) = {__VA_ARGS__}; \
        clear(); \
        for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) \
            explore_start(bodies[i], NULL); \
        explore_join(); \
    } while (0)

#define THREAD(name, ...) \
    static void name(void *arg) { \
        (void)arg; \
        __VA_ARGS__ \
    }

#define SCENARIO(name, outcome, ...) \
    static void name(void) { \
        RUN(__VA_ARGS__); \
        explore_saw((int)(outcome)); \
    }

static void judge(const char *name, const char *how, uint64_t seen, uint64_t never) {
    for (int i = 0; i < 64; i++) {
        bool missed = (seen >> i & 1) && !explore.saw[i];
        bool wrong = (never >> i & 1) && explore.saw[i];
        if (!missed && !wrong) continue;
        printf("%s, %s: outcome %d was %s\n", name, how, i, missed ? "never seen" : "seen");
        exit(1);
    }
}

#define BIT(i) (UINT64_C(1) << (i))

/* Preemptions of the exhaustive walk: no bound for two and three threads. */
static int bound = 100;

/* Sets of outcomes: bit i for outcome i. */
static void litmus(const char *name, void (*scenario)(void), uint64_t seen, uint64_t never) {
    if (explore_random(name, scenario, N)) judge(name, "at random", seen, never);
    if (explore_exhaust(name, scenario, bound)) judge(name, "all", seen, never);
}

static void litmus_ahead(const char *name, void (*scenario)(void), uint64_t seen, uint64_t never) {
    if (explore_random(name, scenario, N)) judge(name, "at random", seen, never);
    if (explore_exhaust(name, scenario, bound)) judge(name, "all", 0, never | BIT(3));
}


/* ---- store buffering: outcome 0 is weak ---- */

THREAD(sb_rlx_1, wsqi_store_rlx(&x, 1u); a = wsqi_load_rlx(&y);)
THREAD(sb_rlx_2, wsqi_store_rlx(&y, 1u); b = wsqi_load_rlx(&x);)
THREAD(sb_ra_1, wsqi_store_rel(&x, 1u); a = wsqi_load_acq(&y);)
THREAD(sb_ra_2, wsqi_store_rel(&y, 1u); b = wsqi_load_acq(&x);)
THREAD(sb_sc_1, wsqi_store_sc(&x, 1u); a = wsqi_load_sc(&y);)
THREAD(sb_sc_2, wsqi_store_sc(&y, 1u); b = wsqi_load_sc(&x);)
THREAD(sb_fence_1, wsqi_store_rlx(&x, 1u); wsqi_fence_sc(); a = wsqi_load_rlx(&y);)
THREAD(sb_fence_2, wsqi_store_rlx(&y, 1u); wsqi_fence_sc(); b = wsqi_load_rlx(&x);)
THREAD(sb_swap_1, wsqi_store_rlx(&x, 1u); wsqi_xchg_acqrel(&word, 1u); a = wsqi_load_rlx(&y);)
THREAD(sb_swap_2, wsqi_store_rlx(&y, 1u); wsqi_xchg_acqrel(&word, 1u); b = wsqi_load_rlx(&x);)
SCENARIO(sb_rlx, 2 * a + b, sb_rlx_1, sb_rlx_2)
SCENARIO(sb_ra, 2 * a + b, sb_ra_1, sb_ra_2)
SCENARIO(sb_sc, 2 * a + b, sb_sc_1, sb_sc_2)
SCENARIO(sb_fence, 2 * a + b, sb_fence_1, sb_fence_2)
SCENARIO(sb_half, 2 * a + b, sb_fence_1, sb_ra_2)
SCENARIO(sb_mixed, 2 * a + b, sb_fence_1, sb_sc_2)
SCENARIO(sb_swap, 2 * a + b, sb_swap_1, sb_swap_2)

/* ---- message passing: outcome 2 (flag seen, data not) is weak ---- */

THREAD(mp_write_rlx, wsqi_store_rlx(&x, 1u); wsqi_store_rlx(&y, 1u);)
THREAD(mp_write_rel, wsqi_store_rlx(&x, 1u); wsqi_store_rel(&y, 1u);)
THREAD(mp_write_fence, wsqi_store_rlx(&x, 1u); wsqi_fence_sc(); wsqi_store_rlx(&y, 1u);)
THREAD(mp_write_early, wsqi_store_rlx(&x, 1u); wsqi_store_rel(&y, 2u); wsqi_store_rlx(&y, 1u);)
THREAD(mp_write_add, wsqi_store_rlx(&x, 1u); wsqi_add_acqrel(&y, 1u);)
THREAD(mp_read_rlx, a = wsqi_load_rlx(&y); b = wsqi_load_rlx(&x);)
THREAD(mp_read_acq, a = wsqi_load_acq(&y); b = wsqi_load_rlx(&x);)
THREAD(mp_read_fence, a = wsqi_load_rlx(&y); wsqi_fence_sc(); b = wsqi_load_rlx(&x);)
THREAD(mp_read_cas, uint32_t e = 1; a = wsqi_cas_acq(&y, &e, 5u); b = wsqi_load_rlx(&x);)
THREAD(mp_read_failed, uint32_t e = 0; a = !wsqi_cas_acqrel(&y, &e, 5u); b = wsqi_load_rlx(&x);)
SCENARIO(mp_rlx, 2 * a + b, mp_write_rlx, mp_read_rlx)
SCENARIO(mp_rel, 2 * a + b, mp_write_rel, mp_read_rlx)
SCENARIO(mp_acq, 2 * a + b, mp_write_rlx, mp_read_acq)
SCENARIO(mp_ra, 2 * a + b, mp_write_rel, mp_read_acq)
SCENARIO(mp_fence, 2 * a + b, mp_write_fence, mp_read_fence)
SCENARIO(mp_fence_acq, 2 * a + b, mp_write_fence, mp_read_acq)
SCENARIO(mp_rel_fence, 2 * a + b, mp_write_rel, mp_read_fence)
SCENARIO(mp_cas, 2 * a + b, mp_write_add, mp_read_cas)
SCENARIO(mp_failed, 2 * a + b, mp_write_rel, mp_read_failed)

/* ---- release sequences: T1 releases y = 1, T2 makes it 2, T3 acquires 2; 4 is weak ---- */

THREAD(rs_add, uint32_t e = 1; c = wsqi_cas_rlx(&y, &e, 2u);)
THREAD(rs_store, c = wsqi_load_rlx(&y); if (c) wsqi_store_rlx(&y, 2u);)
SCENARIO(rs_rmw, 2 * a + b, mp_write_rel, rs_add, mp_read_acq)
SCENARIO(rs_broken, 2 * a + b, mp_write_rel, rs_store, mp_read_acq)
SCENARIO(rs_own, 2 * a + b, mp_write_early, mp_read_acq)

/* ---- load buffering: outcome 3 is weak; the walk never reads ahead ---- */

THREAD(lb_1, a = wsqi_load_rlx(&x); wsqi_store_rlx(&y, 1u);)
THREAD(lb_2, b = wsqi_load_rlx(&y); wsqi_store_rlx(&x, 1u);)
THREAD(lb_rel_1, a = wsqi_load_rlx(&x); wsqi_store_rel(&y, 1u);)
THREAD(lb_acq_2, b = wsqi_load_acq(&y); wsqi_store_rlx(&x, 1u);)
THREAD(lb_fence_1, a = wsqi_load_rlx(&x); wsqi_fence_sc(); wsqi_store_rlx(&y, 1u);)
THREAD(lb_fence_2, b = wsqi_load_rlx(&y); wsqi_fence_sc(); wsqi_store_rlx(&x, 1u);)
THREAD(lb_add_1, a = wsqi_add_rlx(&x, 2u) != 0; wsqi_store_rlx(&y, 1u);)
THREAD(lb_add_2, b = wsqi_load_rlx(&y); wsqi_add_rlx(&x, 1u);)
THREAD(lb_cas_1, uint32_t e = 1; a = wsqi_cas_rlx(&x, &e, 2u); wsqi_store_rlx(&y, 1u);)
THREAD(lb_between, b = wsqi_load_rlx(&y); wsqi_store_rlx(&x, 3u); wsqi_store_rlx(&x, 1u);)
THREAD(lb_own, a = wsqi_load_rlx(&x); wsqi_store_rlx(&x, 1u);)
SCENARIO(lb, 2 * a + b, lb_1, lb_2)
SCENARIO(lb_ra, 2 * a + b, lb_rel_1, lb_acq_2)
SCENARIO(lb_rel, 2 * a + b, lb_rel_1, lb_2)
SCENARIO(lb_acq, 2 * a + b, lb_1, lb_acq_2)
SCENARIO(lb_fences, 2 * a + b, lb_fence_1, lb_fence_2)
SCENARIO(lb_half, 2 * a + b, lb_fence_1, lb_2)
SCENARIO(lb_add, x.v == 3 ? 2 * a + b : 4, lb_add_1, lb_add_2)
SCENARIO(lb_cas, 2 * a + b, lb_cas_1, lb_2)
SCENARIO(lb_later, 2 * a + b, lb_cas_1, lb_between)

/* ---- coherence: what was read is not taken back ---- */

THREAD(co_write, wsqi_store_rlx(&x, 1u); wsqi_store_rlx(&x, 2u);)
THREAD(co_read, a = wsqi_load_rlx(&x); b = wsqi_load_rlx(&x);)
THREAD(co_one, wsqi_store_rlx(&x, 1u); a = wsqi_load_rlx(&x);)
THREAD(co_two, wsqi_store_rlx(&x, 2u); b = wsqi_load_rlx(&x);)
SCENARIO(corr, 3 * a + b, co_write, co_read)
SCENARIO(cowr, 3 * a + b, co_one, co_two)

/* ---- independent reads of independent writes: outcome 10 (1010) is weak ---- */

THREAD(write_x, wsqi_store_rel(&x, 1u);)
THREAD(write_y, wsqi_store_rel(&y, 1u);)
SCENARIO(lb_self, a, lb_own, write_y)
THREAD(write_x_sc, wsqi_store_sc(&x, 1u);)
THREAD(write_y_sc, wsqi_store_sc(&y, 1u);)
THREAD(iriw_acq_1, a = wsqi_load_acq(&x); b = wsqi_load_acq(&y);)
THREAD(iriw_acq_2, c = wsqi_load_acq(&y); d = wsqi_load_acq(&x);)
THREAD(iriw_sc_1, a = wsqi_load_sc(&x); b = wsqi_load_sc(&y);)
THREAD(iriw_sc_2, c = wsqi_load_sc(&y); d = wsqi_load_sc(&x);)
THREAD(iriw_fence_1, a = wsqi_load_rlx(&x); wsqi_fence_sc(); b = wsqi_load_rlx(&y);)
THREAD(iriw_fence_2, c = wsqi_load_rlx(&y); wsqi_fence_sc(); d = wsqi_load_rlx(&x);)
#define IRIW (8 * a + 4 * b + 2 * c + d)
SCENARIO(iriw_acq, IRIW, write_x, write_y, iriw_acq_1, iriw_acq_2)
SCENARIO(iriw_sc, IRIW, write_x_sc, write_y_sc, iriw_sc_1, iriw_sc_2)
SCENARIO(iriw_fence, IRIW, write_x, write_y, iriw_fence_1, iriw_fence_2)

/* ---- a late load ----
 * T1 x = 1 (seq_cst), y = 1; T2 reads y, then x (seq_cst); outcome 2 (y, not x) is weak: the value
 * of y does not order T2 behind T1. With a fence between it is allowed, too, but not shown. */

THREAD(late_1, wsqi_store_sc(&x, 1u); wsqi_store_rlx(&y, 1u);)
THREAD(late_2, a = wsqi_load_rlx(&y); b = wsqi_load_sc(&x);)
THREAD(late_acq_1, wsqi_store_sc(&x, 1u); wsqi_store_rel(&y, 1u);)
THREAD(late_acq_2, a = wsqi_load_acq(&y); b = wsqi_load_sc(&x);)
THREAD(late_fence_2, a = wsqi_load_rlx(&y); wsqi_fence_sc(); b = wsqi_load_sc(&x);)
SCENARIO(late, 2 * a + b, late_1, late_2)
SCENARIO(late_acq, 2 * a + b, late_acq_1, late_acq_2)
SCENARIO(late_fence, 2 * a + b, late_1, late_fence_2)

/* T1 x = 1, reads y; T2 y = 1; T3 reads y, then x: all seq_cst, but for T3's load of y perhaps.
 * Outcome 2 (T1 before T2, T2 before T3, and T3 before T1) is weak, allowed since C++20, shown by
 * Power: an acquire alone does not put T3 behind T2 in the order of the seq_cst operations. */

THREAD(chain_1, wsqi_store_sc(&x, 1u); a = wsqi_load_sc(&y);)
THREAD(chain_2, wsqi_store_sc(&y, 1u);)
THREAD(chain_acq_3, b = wsqi_load_acq(&y); c = wsqi_load_sc(&x);)
THREAD(chain_sc_3, b = wsqi_load_sc(&y); c = wsqi_load_sc(&x);)
SCENARIO(chain_acq, 4 * a + 2 * b + c, chain_1, chain_2, chain_acq_3)
SCENARIO(chain_sc, 4 * a + 2 * b + c, chain_1, chain_2, chain_sc_3)

/* ---- write to read causality: x, then y by a thread that saw x; 6 (saw x; y seen, x not) is weak ---- */

THREAD(wrc_rlx, a = wsqi_load_rlx(&x); if (a) wsqi_store_rlx(&y, 1u);)
THREAD(wrc_ra, a = wsqi_load_acq(&x); if (a) wsqi_store_rel(&y, 1u);)
THREAD(wrc_end, b = wsqi_load_acq(&y); c = wsqi_load_rlx(&x);)
SCENARIO(wrc_weak, 4 * a + 2 * b + c, write_x, wrc_rlx, wrc_end)
SCENARIO(wrc_strong, 4 * a + 2 * b + c, write_x, wrc_ra, wrc_end)

/* ---- R, S, 2+2W: a store comes before one that was executed earlier ---- */

/* Everybody is joined. */
static uint32_t last(wsqi_a32 *of) { return wsqi_load_rlx(of); }

THREAD(r_rlx_1, wsqi_store_rlx(&x, 1u); wsqi_store_rlx(&y, 1u);)
THREAD(r_rlx_2, wsqi_store_rlx(&y, 2u); a = wsqi_load_rlx(&x);)
THREAD(r_fence_1, wsqi_store_rlx(&x, 1u); wsqi_fence_sc(); wsqi_store_rlx(&y, 1u);)
THREAD(r_fence_2, wsqi_store_rlx(&y, 2u); wsqi_fence_sc(); a = wsqi_load_rlx(&x);)
THREAD(r_sc_1, wsqi_store_sc(&x, 1u); wsqi_store_sc(&y, 1u);)
THREAD(r_sc_2, wsqi_store_sc(&y, 2u); a = wsqi_load_sc(&x);)
SCENARIO(r_rlx, 3 * a + last(&y), r_rlx_1, r_rlx_2)
SCENARIO(r_fence, 3 * a + last(&y), r_fence_1, r_fence_2)
SCENARIO(r_sc, 3 * a + last(&y), r_sc_1, r_sc_2)

THREAD(s_rlx_1, wsqi_store_rlx(&x, 2u); wsqi_store_rlx(&y, 1u);)
THREAD(s_rel_1, wsqi_store_rlx(&x, 2u); wsqi_store_rel(&y, 1u);)
THREAD(s_acq_2, a = wsqi_load_acq(&y); wsqi_store_rlx(&x, 1u);)
SCENARIO(s_rlx, 3 * a + last(&x), s_rlx_1, s_acq_2)
SCENARIO(s_ra, 3 * a + last(&x), s_rel_1, s_acq_2)

THREAD(w_rel_1, wsqi_store_rel(&x, 1u); wsqi_store_rel(&y, 2u);)
THREAD(w_rel_2, wsqi_store_rel(&y, 1u); wsqi_store_rel(&x, 2u);)
THREAD(w_fence_1, wsqi_store_rlx(&x, 1u); wsqi_fence_sc(); wsqi_store_rlx(&y, 2u);)
THREAD(w_fence_2, wsqi_store_rlx(&y, 1u); wsqi_fence_sc(); wsqi_store_rlx(&x, 2u);)
THREAD(w_sc_1, wsqi_store_sc(&x, 1u); wsqi_store_sc(&y, 2u);)
THREAD(w_sc_2, wsqi_store_sc(&y, 1u); wsqi_store_sc(&x, 2u);)
SCENARIO(w_rel, 3 * last(&x) + last(&y), w_rel_1, w_rel_2)
SCENARIO(w_fence, 3 * last(&x) + last(&y), w_fence_1, w_fence_2)
SCENARIO(w_sc, 3 * last(&x) + last(&y), w_sc_1, w_sc_2)

/* ---- read-modify-writes lose nothing ---- */

THREAD(add_one, wsqi_add_rlx(&x, 1u); wsqi_add_rlx(&x, 1u);)
THREAD(cas_one, uint32_t e = wsqi_load_rlx(&x); while (!wsqi_cas_rlx(&x, &e, e + 4)) {})
THREAD(cas_zero_1, uint32_t e = 0; a = wsqi_cas_rlx(&x, &e, 1u);)
THREAD(cas_zero_2, uint32_t e = 0; b = wsqi_cas_rlx(&x, &e, 2u);)
SCENARIO(adds, last(&x), add_one, add_one, cas_one)
SCENARIO(cas_once, a + b, cas_zero_1, cas_zero_2)
THREAD(cas_after_store, uint32_t e = 0; wsqi_store_rlx(&x, 3u); b = wsqi_load_rlx(&x); c = e;)
SCENARIO(cas_between, 4 * a + last(&x), cas_zero_1, cas_after_store)

/* ---- sleep and wake ---- */

THREAD(sleeper, while (wsqi_load_acq(&word) == 0) wsqi_parking_wait(&parking, &word, 0u, 0);
       a = wsqi_load_rlx(&x);)
THREAD(waker, wsqi_store_rlx(&x, 1u); wsqi_store_rel(&word, 1u); wsqi_parking_wake(&parking, &word, true);)
THREAD(early_waker, wsqi_parking_wake(&parking, &word, true); wsqi_store_rel(&word, 1u);)
THREAD(timed, while (wsqi_load_acq(&word) == 0) wsqi_parking_wait(&parking, &word, 0u, 1000);)
SCENARIO(futex, a, sleeper, sleeper, waker)
SCENARIO(futex_early, a, sleeper, early_waker)
SCENARIO(futex_timed, a, timed, early_waker)
SCENARIO(futex_nobody, a, timed)

/* ---- mistakes that must be found ---- */

THREAD(plain_write, wsqi_set(&plain, 1); wsqi_store_rel(&x, 1u);)
THREAD(plain_write_rlx, wsqi_set(&plain, 1); wsqi_store_rlx(&x, 1u);)
THREAD(plain_read, if (wsqi_load_acq(&x)) explore_check(wsqi_get(&plain) == 1);)
THREAD(plain_read_rlx, if (wsqi_load_rlx(&x)) explore_check(wsqi_get(&plain) == 1);)
THREAD(plain_only_read, (void)wsqi_get(&plain);)
THREAD(plain_fence_write, wsqi_set(&plain, 1); wsqi_store_rlx(&x, 1u); wsqi_fence_sc();
       a = wsqi_load_rlx(&y);)
THREAD(plain_fence_read, wsqi_store_rlx(&y, 1u); wsqi_fence_sc();
       if (wsqi_load_rlx(&x)) (void)wsqi_get(&plain);)
SCENARIO(no_race, 0, plain_write, plain_read)
SCENARIO(race_rlx_write, 0, plain_write_rlx, plain_read)
SCENARIO(race_rlx_read, 0, plain_write, plain_read_rlx)
SCENARIO(race_read_write, 0, plain_only_read, plain_write)
SCENARIO(race_fence, 0, plain_fence_write, plain_fence_read)

static wsqi_a32 *boxed;
THREAD(box_use, wsqi_store_rlx(boxed, 1u); wsqi_store_rlx(&x, 1u);)
THREAD(box_use_rel, wsqi_store_rlx(boxed, 1u); wsqi_store_rel(&x, 1u);)
THREAD(box_free, if (wsqi_load_acq(&x)) {
    explore_free(boxed);
    c = 1;
})
THREAD(frame_use, if (y.v) wsqi_store_rlx(boxed, 1u);)

static void box(void (*one)(void *), void (*two)(void *)) {
    clear();
    boxed = explore_malloc(sizeof *boxed);
    wsqi_store_rlx(boxed, 0u);
    explore_start(one, NULL);
    explore_start(two, NULL);
    explore_join();
    if (!c && !b) explore_free(boxed);
}

static void early_free(void) { box(box_use, box_free); }
static void good_free(void) { box(box_use_rel, box_free); }
THREAD(forget, b = 1;)
static void leak(void) { box(box_use, forget); }
static void late_use(void) {
    clear();
    boxed = explore_malloc(sizeof *boxed);
    wsqi_store_rlx(boxed, 0u);
    explore_start(box_use, NULL);
    explore_free(boxed);
    explore_join();
}
static void uninitialised(void) {
    wsqi_a32 *made = explore_malloc(sizeof *made);
    a = wsqi_load_rlx(made);
    explore_free(made);
}

static __attribute__((noinline)) void leave_frame(void) {
    wsqi_a32 local[16] = {{0, 0}};
    boxed = &local[0];
    wsqi_store_rlx(boxed, 0u);
    y.v = 1;
    wsqi_pause();
}
THREAD(frame_owner, leave_frame(); wsqi_pause();)
SCENARIO(dead_frame, 0, frame_owner, frame_use)

THREAD(spin, while (wsqi_load_rlx(&x) == 0) wsqi_pause();)
SCENARIO(endless, 0, spin)

static void weak_outcomes(void) {
    litmus("SB relaxed", sb_rlx, BIT(0) | BIT(1) | BIT(2) | BIT(3), 0);
    litmus("SB acquire, release", sb_ra, BIT(0) | BIT(1) | BIT(2) | BIT(3), 0);
    litmus("SB seq_cst", sb_sc, BIT(1) | BIT(2) | BIT(3), BIT(0));
    litmus("SB fences", sb_fence, BIT(1) | BIT(2) | BIT(3), BIT(0));
    litmus("SB one fence", sb_half, BIT(0) | BIT(1) | BIT(2) | BIT(3), 0);
    litmus("SB one fence, one seq_cst", sb_mixed, BIT(1) | BIT(2) | BIT(3), BIT(0));
    litmus("SB exchanges of one word", sb_swap, BIT(1) | BIT(2), BIT(0));
    litmus("MP relaxed", mp_rlx, BIT(0) | BIT(1) | BIT(2) | BIT(3), 0);
    litmus("MP release only", mp_rel, BIT(2), 0);
    litmus("MP acquire only", mp_acq, BIT(2), 0);
    litmus("MP release, acquire", mp_ra, BIT(0) | BIT(1) | BIT(3), BIT(2));
    litmus("MP fences", mp_fence, BIT(0) | BIT(1) | BIT(3), BIT(2));
    litmus("MP fence, acquire", mp_fence_acq, BIT(0) | BIT(1) | BIT(3), BIT(2));
    litmus("MP release, fence", mp_rel_fence, BIT(0) | BIT(1) | BIT(3), BIT(2));
    litmus("MP read-modify-writes", mp_cas, BIT(0) | BIT(1) | BIT(3), BIT(2));
    litmus("MP failed compare-and-swap", mp_failed, BIT(2), 0);
    litmus("release sequence, read-modify-write", rs_rmw, BIT(5) | BIT(3), BIT(4) | BIT(2));
    litmus("release sequence, another's store", rs_broken, BIT(4), BIT(2));
    litmus("release sequence, own relaxed store", rs_own, BIT(2), BIT(4));
}

static void loads_ahead(void) {
    litmus_ahead("LB relaxed", lb, BIT(0) | BIT(1) | BIT(2) | BIT(3), 0);
    litmus_ahead("LB release, acquire", lb_ra, BIT(0) | BIT(1) | BIT(2), BIT(3));
    litmus_ahead("LB release only", lb_rel, BIT(3), 0);
    litmus_ahead("LB acquire only", lb_acq, BIT(3), 0);
    litmus_ahead("LB fences", lb_fences, BIT(0) | BIT(1) | BIT(2), BIT(3));
    litmus_ahead("LB one fence", lb_half, BIT(3), 0);
    litmus_ahead("LB addition", lb_add, BIT(0) | BIT(1) | BIT(2) | BIT(3), BIT(4));
    litmus_ahead("LB compare-and-swap", lb_cas, BIT(0) | BIT(1) | BIT(2) | BIT(3), 0);
    litmus_ahead("LB a store between", lb_later, BIT(0) | BIT(1) | BIT(2) | BIT(3), 0);
    litmus_ahead("LB own store", lb_self, BIT(0), BIT(1));
}

static void orders_of_stores(void) {
    litmus("CoRR", corr, BIT(0) | BIT(1) | BIT(2) | BIT(4) | BIT(5) | BIT(8),
           BIT(3) | BIT(6) | BIT(7));
    litmus("CoWR", cowr, BIT(5) | BIT(8) | BIT(4), BIT(0) | BIT(7));
    bound = 2;
    litmus("IRIW acquire", iriw_acq, BIT(10) | BIT(15), 0);
    litmus("IRIW seq_cst", iriw_sc, BIT(15), BIT(10));
    litmus("IRIW fences", iriw_fence, BIT(15), BIT(10));
    bound = 100;
    litmus("late seq_cst load", late, BIT(0) | BIT(1) | BIT(2) | BIT(3), 0);
    litmus("late seq_cst load, acquire", late_acq, BIT(0) | BIT(1) | BIT(3), BIT(2));
    litmus("late seq_cst load, fence (not shown)", late_fence, BIT(0) | BIT(1) | BIT(3), BIT(2));
    litmus("a chain of seq_cst, one acquire", chain_acq, BIT(2) | BIT(3) | BIT(7), 0);
    litmus("a chain of seq_cst", chain_sc, BIT(3) | BIT(7), BIT(2));
    litmus("WRC relaxed", wrc_weak, BIT(6) | BIT(7), 0);
    litmus("WRC acquire, release", wrc_strong, BIT(7), BIT(6));
    litmus("R relaxed", r_rlx, BIT(2) | BIT(1) | BIT(4) | BIT(5), 0);
    litmus("R fences", r_fence, BIT(1) | BIT(4) | BIT(5), BIT(2));
    litmus("R seq_cst", r_sc, BIT(1) | BIT(4) | BIT(5), BIT(2));
    litmus("S relaxed", s_rlx, BIT(5) | BIT(4), 0);
    litmus("S release, acquire", s_ra, BIT(4), BIT(5));
    litmus("2+2W release", w_rel, BIT(4) | BIT(5) | BIT(7) | BIT(8), 0);
    litmus("2+2W fences", w_fence, BIT(5) | BIT(7) | BIT(8), BIT(4));
    litmus("2+2W seq_cst", w_sc, BIT(5) | BIT(7) | BIT(8), BIT(4));
    litmus("additions", adds, BIT(8), ~BIT(8));
    litmus("compare-and-swaps of one value", cas_once, BIT(1), ~BIT(1));
    litmus("compare-and-swap before a store", cas_between, BIT(3) | BIT(7), BIT(5) | BIT(4));
}

int main(void) {
    weak_outcomes();
    loads_ahead();
    orders_of_stores();
    bound = 2;
    litmus("sleep and wake", futex, BIT(1), BIT(0));
    explore_random("sleep with a deadline", futex_timed, N);
    litmus("publication of plain memory", no_race, BIT(0), 0);
    explore_catches("wake before the store", futex_early, N, "deadlock");
    explore_catches("nobody wakes", futex_nobody, N, "no end");
    explore_catches("endless loop", endless, 1, "no end");
    explore_catches("race: store not released", race_rlx_write, N, "race: read");
    explore_catches("race: load not acquired", race_rlx_read, N, "race: read");
    explore_catches("race: read and write", race_read_write, N, "race");
    explore_catches("race: fences without a read between", race_fence, N, "race: read");
    explore_random("ordered free", good_free, N);
    explore_catches("unordered free", early_free, N, "race: free");
    explore_catches("late use", late_use, N, "use after free");
    explore_catches("leak", leak, N, "leak");
    explore_catches("uninitialised word", uninitialised, 1, "uninitialised");
    if (explore_knows_top) explore_catches("dead frame", dead_frame, N, "dead frame");
    return explore_end();
}
