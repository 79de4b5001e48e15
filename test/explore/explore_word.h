/* explore_word.h - a part of explore.h: atomic words, their histories, and what an access reads. */
#ifndef EXPLORE_WORD_H
#define EXPLORE_WORD_H

/* ==========================================================================
 * >>word: histories
 * ========================================================================== */

enum { EXPLORE_RLX = 0, EXPLORE_ACQ = 1, EXPLORE_REL = 2, EXPLORE_ACQREL = 3, EXPLORE_SC = 7 };

/* LOOK: a load by the system, which does not read ahead. */
typedef enum explore_kind {
    EXPLORE_LOAD,
    EXPLORE_LOOK,
    EXPLORE_STORE,
    EXPLORE_RMW,
    EXPLORE_CAS
} explore_kind;

static inline uint64_t explore_peek(const void *address, int size) {
    if (size == 8) {
        uint64_t value;
        memcpy(&value, address, 8);
        return value;
    }
    uint32_t value;
    memcpy(&value, address, 4);
    return value;
}

static inline void explore_poke(void *address, int size, uint64_t value) {
    uint32_t small = (uint32_t)value;
    memcpy(address, size == 8 ? (void *)&value : (void *)&small, (size_t)size);
}

/* Views are as long as there are words, rounded up to 8: the rest must be zero once it counts. */
static void explore_clear_times(int id) {
    const size_t size = 8 * sizeof(explore_time);
    memset(&explore.sc[id], 0, size);
    for (int i = 0; i < explore.fibers; i++) {
        memset(&explore.fiber[i].view[id], 0, size);
        memset(&explore.fiber[i].pending[id], 0, size);
    }
}

/* A word begins with what the memory holds, known to all. */
static __attribute__((noinline)) int explore_new_word(void *address, int size) {
    if (explore.words == EXPLORE_WORDS) explore_fail("too many words: raise EXPLORE_WORDS");
    int id = explore.words++;
    if (id % 8 == 0) explore_clear_times(id);
    explore_store *store = explore_alloc_note(sizeof *store);
    memset(store, 0, sizeof *store);
    store->value = explore_peek(address, size);
    explore_word *word = &explore.word[id];
    memset(word, 0, sizeof *word);
    word->address = address;
    word->last = store;
    word->size = size;
    word->writer = explore_me();
    word->block = explore_find_block((uintptr_t)address);
    word->fresh = word->block >= 0 && word->block != EXPLORE_GLOBAL;
    return id;
}

/* The word knows its number (see explore_atomic.h). Memory that was zeroed or set up again, without
 * the model's knowledge, has lost it, and is a new word. */
static inline int explore_id(void *address, uint32_t *number, int size) {
    int id = (int)*number;
    if (!EXPLORE_LIKELY(id >= EXPLORE_FIRST_WORD && id < explore.words &&
                        explore.word[id].address == address))
        *number = (uint32_t)(id = explore_new_word(address, size));
    explore_use(explore.word[id].block, (uintptr_t)address);
    return id;
}

static inline bool explore_fits(const explore_store *store, const explore_store *after,
                                explore_kind kind, uint64_t expected) {
    if (kind <= EXPLORE_LOOK || (kind == EXPLORE_CAS && store->value != expected)) return true;
    return !after || (!after->adjoins && after->time - store->time >= 2);
}

/* A seq_cst load may stand before operations that were executed earlier: anywhere behind those that
 * happened before it. It must read what they knew, or newer. */
static explore_time explore_known_before(int id) {
    explore_raise *raise = explore.word[id].raises;
    while (raise && raise->place > explore.running->view[EXPLORE_PLACE]) raise = raise->before;
    return raise ? raise->time : 0;
}

static void explore_raise_sc(int id, explore_time time) {
    explore_raise *raise = explore_alloc_note(sizeof *raise);
    raise->before = explore.word[id].raises;
    raise->time = explore.sc[id] = time;
    raise->place = explore.place_of_last;
    explore.word[id].raises = raise;
}

/* ---- reading ahead: load buffering ----
 *
 * In C11 a relaxed load may return a store that comes later, if its thread did not learn of the
 * load in between. Such a load is served with a guess: what another fiber stored to this word soon
 * after, when the same execution was done without one. Until a fiber stores just that, the others
 * see the word as it was before, nothing counts as a failure, and the execution is given up as soon
 * as it cannot be any more. There is no look at dependencies: what RC11 and the hardware forbid for
 * their sake is shown, too.
 * Source: Kang, Hur, Lahav, Vafeiadis, Dreyer: A Promising Semantics for Relaxed-Memory Concurrency
 * (2017); here the load promises, in place of the store. */

/* The first time: this access could read ahead. */
static void explore_remember_load(int id, explore_kind kind, uint64_t expected) {
    if (explore.load_count == EXPLORE_LOADS) return;
    int i = explore.load_count++;
    explore.load[i].step = explore.steps;
    explore.load[i].word = id;
    explore.load[i].fiber = explore_me();
    explore.load[i].cas = kind == EXPLORE_CAS;
    explore.load[i].expected = expected;
}

/* The next store to that word, soon, by another fiber; NULL: there was none, or it does not do. */
static const explore_store *explore_next_store(int load) {
    int step = explore.load[load].step;
    const explore_store *next = NULL, *store = explore.word[explore.load[load].word].last;
    for (; store->step > step; store = store->before)
        if (store->writer != explore.load[load].fiber && store->step - step <= EXPLORE_FAR &&
            (!explore.load[load].cas || store->value == explore.load[load].expected))
            next = store;
    return next;
}

/* After the first time, before the second. False: no load could read ahead, or none was found. */
static bool explore_choose_load(uint64_t seed) {
    for (int tries = 0; explore.load_count > 0 && tries < 64; tries++) {
        int i = (int)(explore_mix(seed + (uint64_t)tries) % (uint64_t)explore.load_count);
        const explore_store *store = explore_next_store(i);
        if (!store) continue;
        explore.ahead_step = explore.load[i].step;
        explore.ahead_fiber = explore.load[i].fiber;
        explore.ahead_value = store->value;
        return true;
    }
    return false;
}

/* What this access shall read, as the newest store of its word. */
static explore_store *explore_guess(int id) {
    explore_word *word = &explore.word[id];
    explore_store *store = explore_alloc_note(sizeof *store);
    memset(store, 0, sizeof *store);
    store->before = word->last;
    store->value = explore.ahead_value;
    store->time = word->last->time + (1 << 24); /* room for what comes in between */
    store->place = word->last->place;
    word->last = explore.ahead = store;
    explore.ahead_step = -1; /* once */
    explore.ahead_word = id;
    if (explore.trace) explore_note("reads ahead");
    return store;
}

/* Access to a word while what was read ahead is still to come; its newest store that counts. The
 * reader learns nothing by it: it would have to learn what is still to come. */
static explore_store *explore_newest(int id, int order, explore_kind kind, explore_time floor) {
    explore_store *ahead = explore.ahead;
    if (!ahead || explore.ahead_word != id) return explore.word[id].last;
    if (explore.ahead_fiber == explore_me()) {
        if (kind != EXPLORE_STORE && (order & EXPLORE_ACQ)) explore_give_up();
        return explore.word[id].last;
    }
    bool room = ahead->time - ahead->before->time >= 2;
    if (floor >= ahead->time || (kind > EXPLORE_LOOK && !room)) explore_give_up();
    return ahead->before;
}

/* Before a fence, or a sleep: what the running fiber read ahead must come, or it is given up. */
static void explore_settle(const char *at) {
    for (int i = 0; explore.ahead && explore.ahead_fiber == explore_me(); i++) {
        if (i == EXPLORE_FAR) explore_give_up();
        explore_point_at(at, true);
    }
}

/* The running fiber stored what was read ahead: `store`, which has its place. */
static void explore_come_true(explore_store *store) {
    explore_fiber *reader = &explore.fiber[explore.ahead_fiber];
    explore_word *word = &explore.word[explore.ahead_word];
    const explore_store *first_plain = NULL; /* where the release sequence ends */
    for (explore_store *later = word->last; later != store; later = later->before) {
        if (later->place < store->place) later->place = store->place;
        if (!later->adjoins) first_plain = later;
    }
    for (explore_store *later = word->last; later != store; later = later->before) {
        if (!first_plain) later->view = explore_mixture(later->view, store->view);
        if (later == first_plain) first_plain = NULL;
    }
    if (word->last == store) explore_poke(word->address, word->size, store->value);
    if (store->view) {
        explore_join_times(reader->pending, store->view->at, store->view->size);
        reader->has_pending = true;
    }
    explore.ahead = NULL;
    explore.came_true++;
    if (explore.trace) explore_note("which fiber %d read ahead", explore.ahead_fiber);
}

/* The store that is read, or that a new one comes right after; *after: the next newer one. */
static inline explore_store *explore_find(int id, int order, explore_kind kind, uint64_t expected,
                                          explore_store **after) {
    explore_time floor = explore.running->view[id];
    explore_store *option[EXPLORE_OPTIONS], *next[EXPLORE_OPTIONS];
    explore_store *store = explore.word[id].last, *newer = NULL;
    int n = 0;
    if (order & 4) {
        explore_time known = kind == EXPLORE_LOAD ? explore_known_before(id) : explore.sc[id];
        if (known > floor) floor = known;
    }
    if (!EXPLORE_LIKELY(!explore.seeks && !explore.guesses)) {
        bool can = kind != EXPLORE_STORE && kind != EXPLORE_LOOK && !(order & EXPLORE_ACQ);
        if (can && explore.seeks) explore_remember_load(id, kind, expected);
        bool now = explore.steps == explore.ahead_step && explore_me() == explore.ahead_fiber;
        if (can && explore.guesses && now) {
            *after = NULL;
            return explore_guess(id);
        }
        store = explore_newest(id, order, kind, floor);
        if (store != explore.word[id].last) newer = explore.ahead;
    }
    if (EXPLORE_LIKELY(store->time <= floor) || explore_wants_newest()) {
        *after = newer;
        return store;
    }
    for (;;) {
        if (explore_fits(store, newer, kind, expected)) {
            option[n] = store;
            next[n++] = newer;
        }
        if (store->time <= floor || n == EXPLORE_OPTIONS) break;
        newer = store;
        store = store->before;
    }
    int pick = explore_choose_store(n);
    *after = next[pick];
    return option[pick];
}

/* What the running fiber learns by reading it. */
static inline void explore_learn(int id, const explore_store *store, int order) {
    explore_time *view = explore.running->view;
    const explore_word *word = &explore.word[id];
    if (store->time > view[id]) view[id] = store->time;
    if ((order & 4) && store->place > view[EXPLORE_PLACE]) view[EXPLORE_PLACE] = store->place;
    if (order & EXPLORE_ACQ)
        explore_acquire(store->view);
    else
        explore_acquire_later(store->view);
    if (!store->before && word->fresh && (uint8_t)store->value == EXPLORE_POISON &&
        store->value == (word->size == 8 ? UINT64_C(0xa5a5a5a5a5a5a5a5) : UINT64_C(0xa5a5a5a5)))
        explore_fail("uninitialised word read at %s", explore.running->at);
}

/* Between `before` and `after` (NULL: as the newest). */
static inline void explore_insert(int id, explore_store *before, explore_store *after,
                                  uint64_t value, int order, bool adjoins) {
    explore_fiber *fiber = explore.running;
    explore_word *word = &explore.word[id];
    bool was_read = after && after == explore.ahead && after->value == value && explore_below(8);
    explore_store *store = was_read ? after : explore_alloc_note(sizeof *store);
    if (!was_read)
        store->time = after ? before->time + (after->time - before->time) / 2 : before->time + 4096;
    store->before = before;
    store->value = value;
    store->adjoins = adjoins;
    store->writer = explore_me();
    store->step = explore.steps;
    fiber->view[id] = store->time;
    if (word->writer != explore_me()) word->changes++;
    word->writer = explore_me();
    store->view = order & EXPLORE_REL ? explore_release() : fiber->released;
    store->place = before->place;
    if (order & 4) {
        fiber->view[EXPLORE_PLACE] = store->place = ++explore.place_of_last;
        if (store->time > explore.sc[id]) explore_raise_sc(id, store->time);
    }
    if (adjoins && (order & EXPLORE_ACQREL) != EXPLORE_ACQREL) /* else it is part of the view */
        store->view = explore_mixture(store->view, before->view);
    if (was_read) {
        explore_come_true(store);
        return;
    }
    if (after) after->before = store;
    else word->last = store;
    /* What is read ahead is not there yet. */
    bool newest = !after || (after == explore.ahead && after == word->last);
    if (newest) explore_poke(word->address, word->size, value);
}

static const char *explore_order_name(int order) {
    static const char *const name[] = {"rlx", "acq", "rel", "acqrel", "", "", "", "sc"};
    return name[order];
}

EXPLORE_SLOW static void explore_note_access(const char *what, int id, int order, uint64_t value,
                                             const explore_store *read, const char *at) {
    const explore_word *word = &explore.word[id];
    bool stale = read && read != word->last;
    explore_note("%s_%s  w%d %s%llx%s  %s", what, explore_order_name(order), id,
                 strcmp(what, "load") ? "<- " : "= ", (unsigned long long)value,
                 stale ? " (stale)" : "", at);
}

/* A word that nobody else writes (except the thread that set it up): a load of it commutes with whatever others
 * do, so that it need not be a point. */
static inline bool explore_is_own(const void *address, const uint32_t *number) {
    int id = (int)*number;
    if (id < EXPLORE_FIRST_WORD || id >= explore.words) return false;
    const explore_word *word = &explore.word[id];
    return word->address == address && word->writer == explore_me() && word->changes < 2;
}

static inline uint64_t explore_do_load(void *address, uint32_t *number, int size, int order,
                                       const char *at) {
    if (explore_is_own(address, number)) explore_step_at(at);
    else explore_point_at(at, false);
    explore_store *after;
    int id = explore_id(address, number, size);
    explore_store *store = explore_find(id, order, EXPLORE_LOAD, 0, &after);
    if (explore.trace) explore_note_access("load", id, order, store->value, store, at);
    explore_learn(id, store, order);
    return store->value;
}

static inline void explore_do_store(void *address, uint32_t *number, int size, uint64_t value,
                                    int order, const char *at) {
    explore_point_at(at, false);
    explore_store *after;
    int id = explore_id(address, number, size);
    explore_store *before = explore_find(id, order, EXPLORE_STORE, 0, &after);
    if (explore.trace) explore_note_access("store", id, order, value, before, at);
    explore_insert(id, before, after, value, order, false);
}

typedef enum explore_rmw {
    EXPLORE_XCHG,
    EXPLORE_ADD,
    EXPLORE_SUB,
    EXPLORE_OR,
    EXPLORE_AND
} explore_rmw;

static inline uint64_t explore_do_rmw(void *address, uint32_t *number, int size, explore_rmw op,
                                      uint64_t operand, int order, const char *at) {
    explore_point_at(at, false);
    explore_store *after;
    int id = explore_id(address, number, size);
    explore_store *store = explore_find(id, order, EXPLORE_RMW, 0, &after);
    explore_learn(id, store, order);
    uint64_t old = store->value;
    uint64_t value = op == EXPLORE_XCHG  ? operand
                     : op == EXPLORE_ADD ? old + operand
                     : op == EXPLORE_SUB ? old - operand
                     : op == EXPLORE_OR  ? old | operand
                                         : old & operand;
    if (size == 4) value = (uint32_t)value;
    if (explore.trace) explore_note_access("rmw", id, order, value, store, at);
    explore_insert(id, store, after, value, order, true);
    return old;
}

/* Strong. Failure is a relaxed load. */
static inline bool explore_do_cas(void *address, uint32_t *number, int size, uint64_t *expected,
                                  uint64_t desired, int order, const char *at) {
    explore_point_at(at, false);
    explore_store *after;
    int id = explore_id(address, number, size);
    explore_store *store = explore_find(id, order, EXPLORE_CAS, *expected, &after);
    bool done = store->value == *expected;
    if (explore.trace)
        explore_note_access(done ? "cas" : "failed cas", id, order, done ? desired : store->value,
                            store, at);
    explore_learn(id, store, done ? order : EXPLORE_RLX);
    if (done)
        explore_insert(id, store, after, desired, order, true);
    else
        *expected = store->value;
    return done;
}

static inline void explore_fence(const char *at) {
    explore_point_at(at, false);
    explore_settle(at);
    explore_fiber *fiber = explore.running;
    int size = explore_view_size();
    if (explore.trace) explore_note("fence_sc  %s", at);
    if (fiber->has_pending) explore_join_times(fiber->view, fiber->pending, size);
    fiber->has_pending = false;
    fiber->view[EXPLORE_PLACE] = ++explore.place_of_last;
    for (int i = EXPLORE_FIBERS; i < size; i += 8) { /* most of it is equal */
        explore_time *mine = fiber->view + i, *sc = explore.sc + i;
        if (memcmp(mine, sc, 8 * sizeof *sc) == 0) continue;
        for (int j = 0; j < 8; j++) {
            if (mine[j] <= sc[j]) mine[j] = sc[j];
            else if (i + j >= EXPLORE_FIRST_WORD) explore_raise_sc(i + j, mine[j]);
            else sc[j] = mine[j];
        }
    }
    fiber->released = explore_release();
}

/* Several in a row are one: nothing changes for this fiber in between. */
static inline void explore_pause(const char *at) {
    if (explore.running->paused) return;
    explore_point_at(at, true);
    explore.running->paused = true;
}

#endif /* EXPLORE_WORD_H */
