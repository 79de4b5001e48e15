/* explore_thread.h - a part of explore.h: threads, and waits on addresses. */
#ifndef EXPLORE_THREAD_H
#define EXPLORE_THREAD_H

/* ==========================================================================
 * >>threads
 * ========================================================================== */

static void explore_fiber_main(void) {
    explore_fiber *fiber = explore.running;
    fiber->fn(fiber->arg);
    fiber = explore.running;
    fiber->status = EXPLORE_OVER;
    fiber->at = "end";
    explore.ready &= ~EXPLORE_BIT(explore_me());
    bool all = true;
    for (int i = 0; i < explore.fibers; i++) {
        explore_fiber *other = &explore.fiber[i];
        if (other->status == EXPLORE_JOINING) explore_set_ready(i);
        if (other->status != EXPLORE_OVER) all = false;
    }
    if (all) explore_context_switch(&fiber->context, &explore.outside);
    explore_block_fiber();
    abort();
}

/* Anything that the starting fiber did happened before; NULL: no more fibers. */
static explore_fiber *explore_start(void (*fn)(void *arg), void *arg) {
    if (explore.fibers == EXPLORE_FIBERS) explore_fail("too many fibers: raise EXPLORE_FIBERS");
    int i = explore.fibers++, size = explore_view_size();
    explore_fiber *fiber = &explore.fiber[i];
    fiber->fn = fn;
    fiber->arg = arg;
    fiber->self = NULL;
    fiber->released = fiber->acquired = fiber->picked_up = NULL;
    fiber->at = NULL;
    fiber->has_pending = fiber->paused = false;
    fiber->streak = 0;
    fiber->slow = 0;
    fiber->priority = explore.mode == EXPLORE_PCT ? (int64_t)explore_bits() : 0;
    fiber->stack = explore.stacks + (size_t)i * EXPLORE_STACK;
    memset(fiber->pending, 0, (size_t)size * sizeof fiber->pending[0]);
    memset(fiber->view, 0, (size_t)size * sizeof fiber->view[0]);
    if (explore.running) {
        memcpy(fiber->view, explore.running->view, (size_t)size * sizeof fiber->view[0]);
        explore.running->view[explore_me()]++;
        if (explore.trace) explore_note("starts fiber %d", i);
    }
    fiber->view[i] = 1;
    explore_context_make(&fiber->context, fiber->stack + 4096, EXPLORE_STACK - 4096,
                         explore_fiber_main);
    explore_set_ready(i);
    return fiber;
}

static inline void explore_join_one(explore_fiber *fiber) {
    explore_fiber *me = explore.running;
    while (fiber->status != EXPLORE_OVER) {
        me->at = "join";
        me->status = EXPLORE_JOINING;
        explore.ready &= ~EXPLORE_BIT(explore_me());
        explore_block_fiber();
    }
    explore_join_times(me->view, fiber->view, explore_view_size());
}

static inline void explore_join(void) {
    for (int i = 0; i < explore.fibers; i++)
        if (i != explore_me()) explore_join_one(&explore.fiber[i]);
}

/* Sleeps until nobody else can go on: all wait, or are over. The caller may then look at the member
 * v of any word: it is the newest value. Learns nothing by it. */
static inline void explore_wait_quiet(void) {
    explore_fiber *me = explore.running;
    me->at = "wait for a quiet moment";
    me->status = EXPLORE_QUIET;
    explore.patience = 4;
    explore.ready &= ~EXPLORE_BIT(explore_me());
    explore_block_fiber();
}

/* From here on the caller goes on once in so many times while others can (0: as often as they), in
 * executions at random: for what is over before anybody else would get far. */
static inline void explore_slow(int times) { explore.running->slow = times; }

/* The scenario's own barrier, outside of the model: nobody learns anything by it. `count` fibers
 * meet at *gate, which starts at 0. */
static inline void explore_meet(int *gate, int count) {
    explore_fiber *me = explore.running;
    if (++*gate < count) {
        me->at = "wait for the others of a meeting";
        me->status = EXPLORE_WAITING;
        me->waits_at = gate;
        me->deadline = 0;
        explore.ready &= ~EXPLORE_BIT(explore_me());
        explore_block_fiber();
        return;
    }
    for (int i = 0; i < explore.fibers; i++)
        if (explore.fiber[i].status == EXPLORE_WAITING && explore.fiber[i].waits_at == gate)
            explore_set_ready(i);
}

/* ==========================================================================
 * >>waiting on addresses
 * ========================================================================== */

/* The memory may be gone, and with it the number that it carried. */
static int explore_word_at(const void *address, const uint32_t *number) {
    int hint = (int)*number;
    if (hint >= EXPLORE_FIRST_WORD && hint < explore.words && explore.word[hint].address == address)
        return hint;
    for (int id = explore.words - 1; id >= EXPLORE_FIRST_WORD; id--)
        if (explore.word[id].address == address) return id;
    return -1;
}

/* Looks and falls asleep in one step. It may see an old value, but none older than a waker knew. */
static inline void explore_wait(void *address, uint32_t *number, uint32_t expected,
                                uint64_t timeout, const char *at) {
    explore_point_at(at, false);
    explore_settle(at);
    explore_fiber *fiber = explore.running;
    explore_store *after;
    int id = explore_id(address, number, 4);
    if (explore.word[id].woken > fiber->view[id]) fiber->view[id] = explore.word[id].woken;
    explore_store *store = explore_find(id, EXPLORE_RLX, EXPLORE_LOOK, 0, &after);
    explore_learn(id, store, EXPLORE_RLX);
    bool spurious = explore.spurious > 0 && explore_seldom(16);
    if (explore.trace)
        explore_note_access(spurious ? "spurious wait" : "wait", id, EXPLORE_RLX, store->value,
                            store, at);
    if (spurious) explore.spurious--;
    if (spurious || store->value != expected) return;
    fiber->status = EXPLORE_WAITING;
    fiber->waits_at = address;
    fiber->deadline = timeout ? explore.clock + timeout : 0;
    explore.ready &= ~EXPLORE_BIT(explore_me());
    if (timeout) explore.timed |= EXPLORE_BIT(explore_me());
    explore_block_fiber();
}

static inline void explore_wake(const void *address, const uint32_t *number, bool all,
                                const char *at) {
    explore_point_at(at, false);
    uint32_t set = 0;
    int id = explore_word_at(address, number);
    if (id >= 0 && explore.running->view[id] > explore.word[id].woken)
        explore.word[id].woken = explore.running->view[id];
    for (int i = 0; i < explore.fibers; i++)
        if (explore.fiber[i].status == EXPLORE_WAITING && explore.fiber[i].waits_at == address)
            set |= EXPLORE_BIT(i);
    if (explore.trace)
        explore_note("wake %s  w%d, sleepers %x  %s", all ? "all" : "one", id, set, at);
    if (set && !all) set = EXPLORE_BIT(explore_nth(set, explore_choose(__builtin_popcount(set))));
    for (; set; set &= set - 1) explore_set_ready(__builtin_ctz(set));
}

#endif /* EXPLORE_THREAD_H */
