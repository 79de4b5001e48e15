/* explore_schedule.h - a part of explore.h: what is chosen at random or by a walk, and which fiber goes on. */
#ifndef EXPLORE_SCHEDULE_H
#define EXPLORE_SCHEDULE_H

/* ==========================================================================
 * >>choice
 * ========================================================================== */

static inline uint64_t explore_mix(uint64_t x) {
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static inline uint32_t explore_bits(void) {
    return (uint32_t)(explore_mix(explore.random += UINT64_C(0x9e3779b97f4a7c15)) >> 32);
}

static inline int explore_below(int n) {
    return (int)(((uint64_t)explore_bits() * (uint64_t)n) >> 32);
}

/* Depth first: what the walk says; 0 where it goes for the first time. */
static int explore_step_of_walk(int n) {
    int depth = explore.depth++;
    if (depth >= EXPLORE_CHOICES) explore_fail("too many choices");
    if (depth >= explore.known) {
        explore.chosen[depth] = 0;
        explore.known = depth + 1;
    }
    explore.among[depth] = (uint16_t)n;
    return explore.chosen[depth];
}

/* One of n that are all alike. Scenarios may call it too. */
static inline int explore_choose(int n) {
    if (n <= 1) return 0;
    return explore.mode == EXPLORE_DEPTH_FIRST ? explore_step_of_walk(n) : explore_below(n);
}

/* At random: the newest store, more often than not. */
static inline bool explore_wants_newest(void) {
    return explore.stale && (explore_bits() & explore.stale);
}

/* One of n stores, the newest first. */
static inline int explore_choose_store(int n) {
    if (n <= 1) return 0;
    if (explore.mode != EXPLORE_DEPTH_FIRST) return explore_below(n);
    int pick = explore.old_reads > 0 ? explore_step_of_walk(n) : 0;
    if (pick) explore.old_reads--;
    return pick;
}

/* Something that happens seldom: one in n. Depth first: never. */
static inline bool explore_seldom(int n) {
    return explore.mode != EXPLORE_DEPTH_FIRST && explore_below(n) == 0;
}

static inline int explore_nth(uint32_t set, int n) {
    while (n-- > 0) set &= set - 1;
    return __builtin_ctz(set);
}

/* ==========================================================================
 * >>scheduler
 * ========================================================================== */

static inline void explore_set_ready(int i) {
    explore.fiber[i].status = EXPLORE_READY;
    explore.ready |= EXPLORE_BIT(i);
    explore.timed &= ~EXPLORE_BIT(i);
}

/* A deadline passes, sooner or later than others: real time promises nothing. */
EXPLORE_SLOW static int explore_time_out(void) {
    int i = explore_nth(explore.timed, explore_choose(__builtin_popcount(explore.timed)));
    if (explore.clock < explore.fiber[i].deadline) explore.clock = explore.fiber[i].deadline;
    if (explore.trace) explore_note("(the deadline of fiber %d passes)", i);
    explore_set_ready(i);
    return i;
}

static const char *explore_state_name(explore_status status) {
    static const char *const name[] = {"ready", "waiting", "joining", "quiet", "over"};
    return name[status];
}

EXPLORE_SLOW static _Noreturn void explore_fail_stuck(const char *what) {
    char text[400];
    int n = 0;
    for (int i = 0; i < explore.fibers && n < 300; i++) {
        const explore_fiber *fiber = &explore.fiber[i];
        n += snprintf(text + n, sizeof text - (size_t)n, "%s%d %s (%.60s)", i ? ", " : "", i,
                      explore_state_name(fiber->status), fiber->at ? fiber->at : "start");
    }
    explore_fail("%s: fibers %s", what, text);
}

static int explore_pick_highest(void) {
    int best = -1;
    for (uint32_t set = explore.ready; set; set &= set - 1) {
        int i = __builtin_ctz(set);
        if (best < 0 || explore.fiber[i].priority > explore.fiber[best].priority) best = i;
    }
    return best;
}

static int explore_pick_pct(int me, bool yields) {
    explore_fiber *fiber = &explore.fiber[me];
    for (int i = 0; i < explore.changes; i++)
        if (explore.change[i] && explore.steps >= explore.change[i]) {
            explore.change[i] = 0;
            fiber->priority = --explore.lowest;
        }
    /* Spinning gives way, as it does in time: else the highest one would spin for ever. */
    if (fiber->status == EXPLORE_READY && (yields || ++fiber->streak > 500)) {
        fiber->priority = --explore.lowest;
        fiber->streak = 0;
    }
    int next = explore_pick_highest();
    if (next != me) explore.fiber[next].streak = 0;
    return next;
}

/* Stays unless a preemption is spent; gives way round robin. */
static int explore_pick_walk(int me, bool yields) {
    uint32_t others = explore.ready & ~EXPLORE_BIT(me);
    uint32_t later = others & ~(EXPLORE_BIT(me) | (EXPLORE_BIT(me) - 1));
    bool stays = !yields && (explore.ready & EXPLORE_BIT(me));
    if (!stays && !(explore.ready & EXPLORE_BIT(me)))
        return explore_nth(others, explore_choose(__builtin_popcount(others)));
    int first = stays || !others ? me : __builtin_ctz(later ? later : others);
    if (explore.preemptions <= 0) return first;
    int pick = explore_choose(__builtin_popcount(explore.ready));
    if (pick == 0) return first;
    explore.preemptions--;
    return explore_nth(explore.ready & ~EXPLORE_BIT(first), pick - 1);
}

static int explore_pick(int me, bool yields) {
    if (explore.mode == EXPLORE_DEPTH_FIRST) return explore_pick_walk(me, yields);
    if (explore.mode == EXPLORE_PCT) return explore_pick_pct(me, yields);
    uint32_t set = explore.ready, mine = EXPLORE_BIT(me);
    if (yields && (set & ~mine)) set &= ~mine;
    bool sticky = explore.sticky && !explore.fiber[me].slow;
    if ((set & mine) && sticky && (explore_bits() & explore.sticky)) return me;
    int next = explore_nth(set, explore_below(__builtin_popcount(set)));
    if (explore.fiber[next].slow && (set & ~EXPLORE_BIT(next)) &&
        explore_below(explore.fiber[next].slow))
        next = explore_nth(set & ~EXPLORE_BIT(next), 0);
    return next;
}

static inline void explore_continue(int next) {
    explore_fiber *from = explore.running;
    if (from == &explore.fiber[next]) return;
    explore.running = &explore.fiber[next];
    explore.me = next;
    explore_context_switch(&from->context, &explore.running->context);
}

/* A deadline passes while nobody else can go on: no store takes that long to become visible. */
static void explore_time_out_at_rest(void) {
    uint64_t before = explore.clock;
    explore_fiber *fiber = &explore.fiber[explore_time_out()];
    if (explore.clock - before > explore.rested) explore.rested = explore.clock - before;
    for (int id = EXPLORE_FIRST_WORD; id < explore.words; id++)
        fiber->view[id] = explore.word[id].last->time;
}

/* Nobody is ready. Deadlines pass first, but not for ever. */
EXPLORE_SLOW static void explore_find_ready(void) {
    if (explore.timed && explore.patience > 0) {
        explore.patience--;
        explore_time_out_at_rest();
        return;
    }
    for (int i = 0; i < explore.fibers; i++)
        if (explore.fiber[i].status == EXPLORE_QUIET) explore_set_ready(i);
    if (explore.ready) return;
    if (!explore.timed) explore_fail_stuck("deadlock");
    explore_time_out_at_rest();
}

/* The running fiber is not ready. */
static void explore_block_fiber(void) {
    while (!explore.ready) explore_find_ready();
    explore_continue(explore_pick(explore_me(), true));
}

EXPLORE_SLOW static void explore_too_long(void) {
    if (explore.mode == EXPLORE_DEPTH_FIRST) explore_give_up();
    explore_fail_stuck("no end");
}

static inline void explore_step_at(const char *at) {
    explore.running->at = at;
    explore.running->paused = false;
    if (++explore.steps > explore.limit) explore_too_long();
}

/* A step before which another fiber may go on. */
static inline void explore_point_at(const char *at, bool yields) {
    explore_fiber *fiber = explore.running;
    explore_step_at(at);
    if (explore.timed && explore_seldom(64)) explore_time_out();
    uint32_t mine = EXPLORE_BIT(fiber - explore.fiber);
    if (explore.ready != mine) explore_continue(explore_pick(explore_me(), yields));
}

#endif /* EXPLORE_SCHEDULE_H */
