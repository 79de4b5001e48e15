/* explore.h - runs wsq.h, unchanged, against an operational model of the C11 memory model.
 *
 *   #define WSQ_RING_CAPACITY 2
 *   #include "explore.h"            points wsq.h to the model's atomics and platform
 *   #define WSQ_IMPLEMENTATION
 *   #include "../../wsq.h"
 *
 *   static void thief(void *arg) { ... wsq_ring_steal(...) ... }
 *   static void scenario(void) {    the first fiber of every execution
 *       explore_start(thief, NULL);
 *       ... wsq_ring_push(...) ...
 *       explore_join();             waits for every other fiber
 *       explore_check(seen[0] == 1);
 *   }
 *   int main(void) {
 *       explore_random("ring: one thief", scenario, 100000);
 *       explore_exhaust("ring: one thief", scenario, 2);
 *       return explore_end();
 *   }
 *
 * The threads of a scenario are fibers of one OS thread. Every access to a shared word is a point
 * at which another fiber may go on, and every word keeps the history of its stores: a load may
 * return any store that its thread is not yet obliged to have passed.
 *
 * THE MODEL is a view machine (the promising semantics without promises; C++20's release
 * sequences). The stores of a word are ordered by time stamps. A view says, for each word, the
 * oldest store that may still be read, and, for each thread, how far its plain accesses are known
 * (a vector clock):
 *   - each thread has a current view, what its relaxed loads picked up (an acquire fence would make
 *     it current), and what its last fence released;
 *   - each store carries a view: of a release store, all that its thread knew; of a relaxed one,
 *     what the last fence released; of a read-modify-write also that of the store that it read;
 *   - one view, `sc`, lists what seq_cst stores wrote and fences knew: every fence exchanges all
 *     with it, a seq_cst store comes after what it says of its word. The seq_cst operations stand
 *     in the order of their execution, but a load may stand earlier, as early as C++20's strongly
 *     happens-before allows, and reads what was known there. None of this orders plain accesses;
 *   - a store may land before others that its thread does not know of (2+2W), never between a
 *     read-modify-write and the store that it read.
 * What it does not show: outcomes that RC11 allows, but that need a seq_cst fence or store to stand
 * before one that was executed earlier and did not happen before it. Load buffering (a load returns
 * a store that was not executed yet) it shows in random executions, for one load in each. Plain
 * memory is read as it is: its accesses must be ordered, and what is not is reported as a race.
 *
 * THE CHOICES (who runs, which store is read, which waiter wakes, spurious returns) come from a
 * seeded generator, with the fiber chosen uniformly, or the same again more often than not, or by
 * PCT (priorities, and up to 3 points at which they change); or, exhaustively, from a depth-first
 * walk with a bound on preemptions and on old stores read.
 *
 * Reported: failed checks and assertions, deadlock (all fibers wait), endless runs, races, use of
 * memory that was freed or of a dead frame, unordered frees, leaks, reads of uninitialised words.
 *
 *   WSQ_EXECUTIONS=n   executions of each random scenario, instead of its own number
 *   WSQ_SCALE=n        n times its own number
 *   WSQ_SEED=n         first seed (default: 1)
 *   WSQ_AHEAD=n        one random execution in n (default: 8; 0: none) is done again, with a load
 *                      that reads ahead
 *   WSQ_SCENARIO=text  only the scenarios whose name contains it
 *   WSQ_REPLAY=...     as printed by a failure: that one execution, with a trace of every step
 */
#ifndef EXPLORE_H
#define EXPLORE_H

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "explore_fiber.h"

/* Relative to wsq.h, which includes them. */
#define WSQ_ATOMIC_HEADER "test/explore/explore_atomic.h"
#define WSQ_PLATFORM_HEADER "test/explore/explore_platform.h"
#define WSQ_ASSERT(condition) \
    ((condition) ? (void)0 : explore_fail("assertion failed at " EXPLORE_AT ": %s", #condition))
#define WSQ_MALLOC(size) explore_malloc(size)
#define WSQ_FREE(pointer) explore_free(pointer)

/* Fibers of one execution, the first one included; a multiple of 8. */
#ifndef EXPLORE_FIBERS
#define EXPLORE_FIBERS 8
#endif

/* Atomic words that one execution may touch, and EXPLORE_FIBERS. */
#ifndef EXPLORE_WORDS
#define EXPLORE_WORDS 1024
#endif

/* Steps after which an execution counts as endless. */
#ifndef EXPLORE_STEPS
#define EXPLORE_STEPS 20000
#endif

#define EXPLORE_STACK ((size_t)128 << 10)
#define EXPLORE_HEAP ((size_t)64 << 20)
#define EXPLORE_BLOCKS 1024
#define EXPLORE_NOTES ((size_t)64 << 20) /* bytes of stores and views of one execution */
#define EXPLORE_PLACES 4096              /* plain locations; a power of two */
#define EXPLORE_OPTIONS 64               /* newest stores that a load chooses from */
#define EXPLORE_CHOICES 100000           /* depth of the exhaustive walk */
#define EXPLORE_POISON 0xa5              /* fills new memory */
#define EXPLORE_CHANGES 3                /* PCT: most change points */
#define EXPLORE_AHEAD 8                  /* WSQ_AHEAD, unless that says otherwise */
#define EXPLORE_LOADS 4096               /* loads of one execution that could read ahead */
#define EXPLORE_FAR 200                  /* steps that are read ahead at most */

#define EXPLORE_TEXT2(x) #x
#define EXPLORE_TEXT(x) EXPLORE_TEXT2(x)
#define EXPLORE_AT __FILE__ ":" EXPLORE_TEXT(__LINE__)
#define EXPLORE_LIKELY(x) __builtin_expect(!!(x), 1)
#define EXPLORE_SLOW __attribute__((noinline, cold, unused))
#define EXPLORE_BIT(i) ((uint32_t)1 << (i))

/* ==========================================================================
 * >>state
 * ========================================================================== */

/* The programs are compiled with -O1, which takes the compiler half of the time; the model pays. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("O2")
#endif

typedef int32_t explore_time;

/* [0, EXPLORE_FIBERS): clocks of the fibers; then the place in the order of the seq_cst operations;
 * then one time stamp per word. Entries from `size` on are zero. */
typedef struct explore_view {
    int size;
    int fiber; /* it is all that this one knew at `clock`; -1: a mixture */
    explore_time clock;
    explore_time at[];
} explore_view;

typedef struct explore_store {
    struct explore_store *before; /* next older one of the word */
    const explore_view *view;     /* NULL: nothing */
    uint64_t value;
    explore_time time;
    explore_time place; /* of the newest seq_cst store up to this one */
    int writer, step;
    bool adjoins; /* a read-modify-write: nothing may come between it and `before` */
} explore_store;

/* From the seq_cst operation number `place` on, all of them knew this store or a newer one. */
typedef struct explore_raise {
    struct explore_raise *before;
    explore_time time, place;
} explore_raise;

typedef struct explore_word {
    void *address;
    explore_raise *raises; /* the last one */
    explore_store *last; /* newest */
    explore_time woken;  /* sleepers see this store or a newer one: somebody was woken after it */
    int block;           /* EXPLORE_GLOBAL, index of a block, or below that ~fiber: its stack */
    int size;
    int writer, changes; /* who wrote last; how often that was another than before */
    bool fresh; /* in heap memory, and the first store is what was found there */
} explore_word;

enum { EXPLORE_GLOBAL = EXPLORE_BLOCKS, EXPLORE_PLACE = EXPLORE_FIBERS, EXPLORE_FIRST_WORD };

typedef struct explore_block {
    uintptr_t begin, end;
    bool alive;
    explore_time used[EXPLORE_FIBERS]; /* clock of each fiber's last access */
} explore_block;

typedef struct explore_place {
    uintptr_t address;
    uint32_t execution;
    int writer;
    int block;
    explore_time written;
    explore_time read[EXPLORE_FIBERS];
} explore_place;

typedef enum explore_status {
    EXPLORE_READY,
    EXPLORE_WAITING,
    EXPLORE_JOINING,
    EXPLORE_QUIET,
    EXPLORE_OVER
} explore_status;

typedef struct explore_fiber {
    explore_context context;
    explore_status status;
    void (*fn)(void *arg);
    void *arg;
    void *self;                   /* the thread-local of wsq.h */
    void *waits_at;               /* WAITING: the address; JOINING: a fiber, or NULL: all */
    uint64_t deadline;            /* WAITING: 0, or when it ends by itself */
    int64_t priority;             /* PCT */
    int streak;                   /* PCT: steps in a row */
    const explore_view *released; /* by the last fence */
    const explore_view *acquired, *picked_up; /* the last ones: known already */
    const char *at;               /* where it is */
    explore_time view[EXPLORE_WORDS];
    explore_time pending[EXPLORE_WORDS]; /* picked up by relaxed loads */
    bool has_pending;
    bool paused; /* and did nothing since */
    char *stack;
} explore_fiber;

typedef enum explore_mode {
    EXPLORE_UNIFORM,
    EXPLORE_STICKY,
    EXPLORE_PCT,
    EXPLORE_DEPTH_FIRST
} explore_mode;

static struct {
    /* one execution */
    explore_fiber *running;
    int me; /* its index */
    uint32_t ready, timed; /* fibers that can go on; that wait with a deadline */
    int fibers, words, blocks, steps;
    size_t noted, heaped;
    uint64_t clock, random;
    uint64_t rested; /* the longest time that passed because nobody could go on without */
    int allocations_left; /* before malloc says no; a scenario may set it */
    int spurious;         /* returns without a reason that are left */
    int patience; /* deadlines that pass before a quiet moment counts as such */
    char failure[512];
    explore_fiber fiber[EXPLORE_FIBERS];
    explore_word word[EXPLORE_WORDS];
    explore_time sc[EXPLORE_WORDS]; /* what the last seq_cst operation knew */
    explore_time place_of_last;     /* its number */
    explore_block block[EXPLORE_BLOCKS];
    explore_place place[EXPLORE_PLACES];
    char *notes, *heap, *stacks;
    explore_context outside;

    /* how it chooses */
    explore_mode mode;
    uint32_t sticky, stale; /* masks: stay, or read the newest, unless the bits are all 0 */
    int changes, change[EXPLORE_CHANGES];
    int64_t lowest;
    int preemptions, old_reads; /* depth first: left */

    /* a load that reads ahead */
    uint64_t ahead_every;        /* WSQ_AHEAD */
    bool seeks, guesses;         /* the first time; the second */
    int ahead_step, ahead_fiber; /* the step that does, and who */
    uint64_t ahead_value;        /* what it shall read */
    explore_store *ahead;        /* what it read, and nobody has stored yet; or NULL */
    int ahead_word;              /* of which word */
    uint64_t came_true;          /* so often it was stored then */
    int load_count;
    struct { int step, word, fiber; bool cas; uint64_t expected; } load[EXPLORE_LOADS];
    sigjmp_buf escape;

    /* depth first: what was chosen among how many */
    int depth, known;
    uint16_t chosen[EXPLORE_CHOICES], among[EXPLORE_CHOICES];

    /* the program */
    uint32_t execution;
    uint64_t seed, first_seed;
    int typical; /* steps of the longer executions: change points fall among them */
    const char *name;
    void (*scenario)(void);
    int limit;
    bool cut; /* given up without a verdict: at the step limit (depth first), or reading ahead */
    bool trace;
    int trace_from, trace_to;
    uint64_t saw[64];
} explore;

static _Noreturn void explore_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define explore_check(condition) \
    ((condition) ? (void)0 : explore_fail("check failed at " EXPLORE_AT ": %s", #condition))

static inline int explore_me(void) {
    return explore.me;
}

/* Prints one step, or leaves it. */
static void explore_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
EXPLORE_SLOW static void explore_note(const char *format, ...) {
    if (explore.steps < explore.trace_from || explore.steps > explore.trace_to) return;
    va_list list;
    va_start(list, format);
    printf("    %5d  fiber %d  ", explore.steps, explore_me());
    vprintf(format, list);
    printf("\n");
    va_end(list);
}

/* Ends the execution without a verdict. */
EXPLORE_SLOW static _Noreturn void explore_give_up(void) {
    explore.cut = true;
    explore_context_switch(&explore.running->context, &explore.outside);
    abort();
}

/* Ends the execution. */
EXPLORE_SLOW static _Noreturn void explore_fail(const char *format, ...) {
    if (explore.ahead) explore_give_up(); /* nobody has stored what was read */
    va_list list;
    va_start(list, format);
    vsnprintf(explore.failure, sizeof explore.failure, format, list);
    va_end(list);
    explore_context_switch(&explore.running->context, &explore.outside);
    abort();
}

/* Counts an outcome, 0 to 63, over the executions of a scenario. */
static inline void explore_saw(int outcome) {
    if (explore.ahead) explore_give_up();
    explore.saw[outcome]++;
}

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
    if ((set & mine) && explore.sticky && (explore_bits() & explore.sticky)) return me;
    return explore_nth(set, explore_below(__builtin_popcount(set)));
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

/* ==========================================================================
 * >>view
 * ========================================================================== */

static inline void *explore_alloc_note(size_t size) {
    void *result = explore.notes + explore.noted;
    explore.noted += (size + 15) & ~(size_t)15;
    if (explore.noted > EXPLORE_NOTES) explore_fail("too many stores");
    return result;
}

/* Sizes are rounded up to 8, so that the compiler makes vectors of it. */
static inline void explore_join_times(explore_time *restrict into,
                                      const explore_time *restrict from, int size) {
    for (int i = 0; i < size; i += 8)
        for (int j = i; j < i + 8; j++) into[j] = into[j] > from[j] ? into[j] : from[j];
}

static inline int explore_view_size(void) {
    return (explore.words + 7) & ~7;
}

static inline explore_view *explore_view_make(const explore_time *times) {
    int size = explore_view_size();
    explore_view *view = explore_alloc_note(sizeof *view + (size_t)size * sizeof view->at[0]);
    view->size = size;
    memcpy(view->at, times, (size_t)size * sizeof view->at[0]);
    return view;
}

/* All that the running fiber knows, for others to learn; what it does later is not part of it. */
static inline const explore_view *explore_release(void) {
    explore_fiber *fiber = explore.running;
    explore_view *view = explore_view_make(fiber->view);
    view->fiber = explore_me();
    view->clock = fiber->view[view->fiber]++;
    return view;
}

/* Who knows a fiber's clock knows all that this fiber knew then. */
static inline bool explore_covers(const explore_time *times, const explore_view *view) {
    return view->fiber >= 0 && times[view->fiber] >= view->clock;
}

static inline void explore_acquire(const explore_view *view) {
    explore_fiber *fiber = explore.running;
    if (!view || view == fiber->acquired || explore_covers(fiber->view, view)) return;
    explore_join_times(fiber->view, view->at, view->size);
    fiber->acquired = view;
}

static inline void explore_acquire_later(const explore_view *view) {
    explore_fiber *fiber = explore.running;
    if (!view || view == fiber->picked_up || view == fiber->acquired) return;
    if (explore_covers(fiber->view, view) || explore_covers(fiber->pending, view)) return;
    explore_join_times(fiber->pending, view->at, view->size);
    fiber->picked_up = view;
    fiber->has_pending = true;
}

static const explore_view *explore_mixture(const explore_view *one, const explore_view *two) {
    if (!one || !two || one == two) return one ? one : two;
    if (one->size < two->size) {
        const explore_view *swap = one;
        one = two;
        two = swap;
    }
    explore_view *view = explore_alloc_note(sizeof *view + (size_t)one->size * sizeof view->at[0]);
    memcpy(view, one, sizeof *view + (size_t)one->size * sizeof view->at[0]);
    explore_join_times(view->at, two->at, two->size);
    view->fiber = -1;
    return view;
}

/* ==========================================================================
 * >>heap: no memory is used twice in one execution, so that late accesses are seen
 * ========================================================================== */

static inline void *explore_malloc(size_t size) {
    if (explore.allocations_left == 0) return NULL;
    explore.allocations_left--;
    if (explore.blocks == EXPLORE_BLOCKS || explore.heaped + size + 64 > EXPLORE_HEAP)
        explore_fail("out of the model's memory");
    explore_block *block = &explore.block[explore.blocks++];
    char *memory = explore.heap + explore.heaped;
    memset(block, 0, sizeof *block);
    block->begin = (uintptr_t)memory;
    block->end = block->begin + size;
    block->alive = true;
    explore.heaped += (size + 79) & ~(size_t)63; /* at least 16 bytes that belong to nobody */
    memset(memory, EXPLORE_POISON, size);
    return memory;
}

static __attribute__((noinline)) int explore_find_block(uintptr_t address) {
    uintptr_t heap = (uintptr_t)explore.heap, stacks = (uintptr_t)explore.stacks;
    if (address - stacks < EXPLORE_FIBERS * EXPLORE_STACK)
        return ~(int)((address - stacks) / EXPLORE_STACK);
    if (address - heap >= EXPLORE_HEAP) return EXPLORE_GLOBAL;
    int low = 0, high = explore.blocks;
    while (low < high) {
        int middle = (low + high) / 2;
        if (address < explore.block[middle].end)
            high = middle;
        else
            low = middle + 1;
    }
    if (low == explore.blocks || address < explore.block[low].begin)
        explore_fail("access outside of any block: %p at %s", (void *)address, explore.running->at);
    return low;
}

/* The memory is alive; remembers who used it last. */
static inline void explore_use(int block, uintptr_t address) {
    int me = explore_me();
    if (block == EXPLORE_GLOBAL || block == ~me) return;
    if (block < 0) {
        if (address < explore_context_top(&explore.fiber[~block].context))
            explore_fail("use of a dead frame of fiber %d at %s", ~block, explore.running->at);
        return;
    }
    if (!explore.block[block].alive)
        explore_fail("use after free: %p at %s", (void *)address, explore.running->at);
    explore.block[block].used[me] = explore.running->view[me];
}

static inline void explore_free(void *memory) {
    if (!memory) return;
    int i = explore_find_block((uintptr_t)memory);
    if (i < 0 || i == EXPLORE_GLOBAL || explore.block[i].begin != (uintptr_t)memory)
        explore_fail("free of what was not allocated: %p", memory);
    explore_block *block = &explore.block[i];
    if (!block->alive) explore_fail("double free: %p", memory);
    for (int other = 0; other < explore.fibers; other++)
        if (other != explore_me() && block->used[other] > explore.running->view[other])
            explore_fail("race: free of %p against its use by fiber %d", memory, other);
    block->alive = false;
}

/* ==========================================================================
 * >>plain: accesses that must be ordered
 * ========================================================================== */

static inline explore_place *explore_find_place(uintptr_t address) {
    size_t i = (size_t)((address >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> 40);
    for (;; i++) {
        explore_place *place = &explore.place[i & (EXPLORE_PLACES - 1)];
        if (place->execution == explore.execution && place->address == address) return place;
        if (place->execution == explore.execution) continue;
        memset(place, 0, sizeof *place);
        place->address = address;
        place->execution = explore.execution;
        place->block = explore_find_block(address);
        return place;
    }
}

/* Not a point: an unordered pair shows in the clocks, whatever ran first. */
static inline void *explore_plain(const volatile void *pointer, bool writes, const char *at) {
    int me = explore_me();
    explore_time *view = explore.running->view;
    explore_place *place = explore_find_place((uintptr_t)pointer);
    explore.running->at = at;
    if (explore.trace) explore_note("%s  %s", writes ? "set" : "get", at);
    explore_use(place->block, (uintptr_t)pointer);
    if (place->written > view[place->writer])
        explore_fail("race: %s after an unordered write by fiber %d at %s",
                     writes ? "write" : "read", place->writer, at);
    if (!writes) {
        place->read[me] = view[me];
        return (void *)(uintptr_t)pointer;
    }
    for (int i = 0; i < explore.fibers; i++)
        if (place->read[i] > view[i])
            explore_fail("race: write after an unordered read by fiber %d at %s", i, at);
    place->writer = me;
    place->written = view[me];
    return (void *)(uintptr_t)pointer;
}

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
 * In C11 a relaxed load may return a store that comes later, if who stores it did not learn of the
 * load in between. Such a load is served with a guess: what another fiber stored to this word soon
 * after, when the same execution was done without one. Until somebody stores just that, the others
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

/* The next store to that word, soon, by somebody else; NULL: there was none, or it does not do. */
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

/* Access to a word while what was read ahead is still to come; its newest store that counts. Who
 * read it learns nothing by it: it would have to learn what is still to come. */
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

/* A word that nobody else writes (but who set it up): a load of it commutes with whatever others
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

/* ==========================================================================
 * >>running
 * ========================================================================== */

static void explore_prepare_random(uint64_t seed) {
    static const uint32_t sticky[] = {0, 1, 3, 15}, stale[] = {0, 1, 7, 31};
    explore.random = explore_mix(seed);
    uint32_t bits = explore_bits();
    explore.mode = bits & 1 ? EXPLORE_PCT : bits & 2 ? EXPLORE_STICKY : EXPLORE_UNIFORM;
    explore.stale = stale[(bits >> 8) & 3];
    explore.sticky = explore.mode == EXPLORE_STICKY ? sticky[1 + (bits >> 2) % 3] : 0;
    explore.changes = (int)((bits >> 12) % (EXPLORE_CHANGES + 1));
    for (int i = 0; i < explore.changes; i++)
        explore.change[i] = 1 + explore_below(explore.typical);
}

static void explore_check_end(void) {
    for (int i = 0; i < explore.blocks; i++)
        if (explore.block[i].alive) {
            snprintf(explore.failure, sizeof explore.failure,
                     "leak: allocation %d of the execution, %zu bytes", i + 1,
                     (size_t)(explore.block[i].end - explore.block[i].begin));
            return;
        }
}

/* False: it failed. */
static bool explore_execute(void) {
    explore.execution++;
    explore.running = NULL;
    explore.ready = explore.timed = 0;
    explore.fibers = explore.blocks = explore.steps = explore.depth = 0;
    explore.words = EXPLORE_FIRST_WORD;
    explore.place_of_last = 0;
    explore_clear_times(EXPLORE_PLACE);
    explore.noted = explore.heaped = 0;
    explore.clock = 1000000;
    explore.rested = 0;
    explore.lowest = 0;
    explore.allocations_left = EXPLORE_BLOCKS;
    explore.spurious = 2;
    explore.patience = 4;
    explore.cut = false;
    explore.ahead = NULL;
    explore.failure[0] = 0;
    explore_fiber *first = explore_start((void (*)(void *))(uintptr_t)explore.scenario, NULL);
    explore.running = first;
    explore.me = 0;
    if (!explore.guesses) explore_context_switch(&explore.outside, &first->context);
    else if (sigsetjmp(explore.escape, 1) == 0)
        explore_context_switch(&explore.outside, &first->context);
    if (!explore.failure[0] && !explore.cut && !explore.ahead) explore_check_end();
    return !explore.failure[0];
}

/* As the seed says; if all goes well, some once more, with a load that reads ahead. False: it
 * failed. */
static bool explore_execute_seed(uint64_t seed, bool aloud) {
    bool again = explore.ahead_every && seed % explore.ahead_every == 0;
    explore.seed = seed;
    explore.trace = aloud && !again;
    explore.seeks = again;
    explore.guesses = false;
    explore.load_count = 0;
    explore_prepare_random(seed);
    bool ok = explore_execute();
    if (!again || (!ok && !aloud)) return ok;
    explore.trace = aloud;
    explore.seeks = false;
    explore.guesses = ok && explore_choose_load(seed);
    if (ok && !explore.guesses) return true;
    explore_prepare_random(seed);
    return explore_execute();
}

/* Everything that is needed to do it again. */
static void explore_print_replay(void) {
    printf("  replay: ");
    if (explore.guesses) printf("WSQ_AHEAD=%llu ", (unsigned long long)explore.ahead_every);
    printf("WSQ_REPLAY='%s/%d/", explore.name, explore.typical);
    if (explore.mode != EXPLORE_DEPTH_FIRST) {
        printf("%llx'\n", (unsigned long long)explore.seed);
        return;
    }
    int last = explore.known;
    while (last > 0 && !explore.chosen[last - 1]) last--;
    for (int i = 0; i < last; i++) printf("%s%d", i ? "." : "=", explore.chosen[i]);
    printf("%s'\n", last ? "" : "=");
}

static void explore_on_signal(int number) {
    if (explore.ahead) {
        if (number == SIGALRM) alarm(60);
        siglongjmp(explore.escape, 1);
    }
    printf("%s: %s at step %d, fiber %d, after %s\n", explore.name,
           number == SIGALRM ? "no point is reached any more" : "crash", explore.steps,
           explore.running ? explore_me() : -1,
           explore.running && explore.running->at ? explore.running->at : "start");
    explore_print_replay();
    fflush(stdout);
    _exit(1);
}

static void explore_init(void) {
    static char alternate[65536];
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    size_t stacks = EXPLORE_FIBERS * EXPLORE_STACK;
    if (explore.notes) return;
    char *memory =
        mmap(NULL, EXPLORE_NOTES + 2 * EXPLORE_HEAP + stacks, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (memory == MAP_FAILED) abort();
    explore.stacks = memory;
    for (size_t i = 0; i < EXPLORE_FIBERS; i++)
        mprotect(memory + i * EXPLORE_STACK, 4096, PROT_NONE);
    explore.notes = memory + stacks;
    explore.heap = explore.notes + EXPLORE_NOTES;
    explore.heap +=
        EXPLORE_HEAP - (uintptr_t)explore.heap % EXPLORE_HEAP; /* replays need equal alignment */
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
    sigaltstack(&stack, NULL);
    struct sigaction action = {.sa_handler = explore_on_signal, .sa_flags = (int)SA_ONSTACK};
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    sigaction(SIGFPE, &action, NULL);
    sigaction(SIGILL, &action, NULL);
    sigaction(SIGALRM, &action, NULL);
    setvbuf(stdout, NULL, _IOLBF, 0);
}

static double explore_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static uint64_t explore_number(const char *variable, uint64_t otherwise) {
    const char *text = getenv(variable);
    return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

static uint64_t explore_scaled(uint64_t executions) {
    const char *scale = getenv("WSQ_SCALE");
    return scale && *scale ? (uint64_t)((double)executions * strtod(scale, NULL)) : executions;
}

/* Does the failed execution again, aloud, and ends the program. */
static _Noreturn void explore_report_failure(uint64_t executions) {
    int steps = explore.steps;
    printf("%-44s FAILED in execution %llu, after %d steps\n  %s\n", explore.name,
           (unsigned long long)executions, steps, explore.failure);
    explore_print_replay();
    explore.trace_from = getenv("WSQ_REPLAY") ? 0 : steps - 150;
    explore.trace_to = steps;
    if (explore.trace_from > 0) printf("    ... (the last 150 steps)\n");
    explore.trace = true;
    if (explore.mode == EXPLORE_DEPTH_FIRST) explore_execute();
    else explore_execute_seed(explore.seed, true);
    printf("  %s\n", explore.failure[0] ? explore.failure : "(not reproduced)");
    exit(1);
}

static void explore_parse_walk(const char *text) {
    explore.known = 0;
    while (*text && explore.known < EXPLORE_CHOICES) {
        char *end;
        explore.chosen[explore.known++] = (uint16_t)strtoul(text, &end, 10);
        if (*end != '.') break;
        text = end + 1;
    }
}

/* True: the scenario is not to be run as usual. */
static inline bool explore_begin(const char *name, void (*scenario)(void), bool walks) {
    const char *only = getenv("WSQ_SCENARIO"), *replay = getenv("WSQ_REPLAY");
    explore_init();
    explore.name = name;
    explore.scenario = scenario;
    explore.typical = 64;
    explore.limit = EXPLORE_STEPS;
    explore.first_seed = explore_number("WSQ_SEED", 1) << 40;
    explore.ahead_every = explore_number("WSQ_AHEAD", EXPLORE_AHEAD);
    explore.came_true = 0;
    memset(explore.saw, 0, sizeof explore.saw);
    if (!replay) return only && !strstr(name, only);
    size_t length = strlen(name);
    if (strncmp(replay, name, length) || replay[length] != '/') return true;
    char *end;
    explore.typical = (int)strtol(replay + length + 1, &end, 10);
    if (*end != '/' || walks != (end[1] == '=')) return true;
    explore.trace = true;
    explore.trace_to = EXPLORE_STEPS;
    if (walks) {
        explore_parse_walk(end + 2);
        explore.mode = EXPLORE_DEPTH_FIRST;
        explore.stale = 0;
        explore.preemptions = explore.old_reads = explore.typical;
    }
    bool ok = walks ? explore_execute() : explore_execute_seed(strtoull(end + 1, NULL, 16), true);
    printf("%s: %s\n", name, ok ? "no failure" : explore.failure);
    exit(!ok);
}

/* Execution number i; false: it failed. */
static bool explore_execute_random(uint64_t i) {
    if (i % 4096 == 0) alarm(60);
    return explore_execute_seed(explore.first_seed + i, false);
}

static void explore_adapt(void) {
    int more = explore.steps - explore.typical;
    explore.typical += more / (more > 0 ? 4 : 32);
}

/* Random executions. False: the scenario was left out. */
static inline bool explore_random(const char *name, void (*scenario)(void), uint64_t executions) {
    if (explore_begin(name, scenario, false)) return false;
    uint64_t steps = 0;
    double start = explore_now();
    executions = explore_number("WSQ_EXECUTIONS", explore_scaled(executions));
    for (uint64_t i = 0; i < executions; i++) {
        if (!explore_execute_random(i)) explore_report_failure(i + 1);
        steps += (uint64_t)explore.steps;
        explore_adapt();
    }
    double seconds = explore_now() - start;
    printf("%-44s %9llu executions %9.0f/s %5.0f steps %6llu ahead  ok\n", name,
           (unsigned long long)executions, (double)executions / (seconds > 0 ? seconds : 1),
           (double)steps / (double)(executions ? executions : 1),
           (unsigned long long)explore.came_true);
    return true;
}

/* The other way round: a mistake made on purpose must be found, by a report with this text. */
static inline bool explore_catches(const char *name, void (*scenario)(void), uint64_t executions,
                                   const char *text) {
    if (explore_begin(name, scenario, false)) return false;
    for (uint64_t i = 0; i < executions; i++, explore_adapt()) {
        if (explore_execute_random(i)) continue;
        if (!strstr(explore.failure, text)) explore_report_failure(i + 1);
        printf("%-44s %9llu executions, then: %s\n", name, (unsigned long long)i + 1, text);
        return true;
    }
    printf("%-44s FAILED: not found in %llu executions: %s\n", name, (unsigned long long)executions,
           text);
    exit(1);
}

/* On to the next path of the tree; false: that was the last. */
static bool explore_next_path(void) {
    while (explore.known > 0) {
        int last = explore.known - 1;
        if (++explore.chosen[last] < explore.among[last]) return true;
        explore.known--;
    }
    return false;
}

/* All executions with at most `bound` preemptions and `bound` accesses that do not go to the newest
 * store. False: left out. */
static inline bool explore_exhaust(const char *name, void (*scenario)(void), int bound) {
    if (explore_begin(name, scenario, true)) return false;
    explore.seeks = explore.guesses = false;
    uint64_t executions = 0, cut = 0, most = explore_number("WSQ_EXECUTIONS", UINT64_MAX);
    double start = explore_now();
    bool more = true;
    explore.known = 0;
    explore.typical = bound;
    for (; more && executions < most; executions++) {
        if (executions % 4096 == 0) alarm(60);
        explore.mode = EXPLORE_DEPTH_FIRST;
        explore.stale = 0;
        explore.preemptions = explore.old_reads = bound;
        if (!explore_execute()) {
            explore.preemptions = explore.old_reads = bound;
            explore_report_failure(executions + 1);
        }
        cut += explore.cut;
        more = explore_next_path();
    }
    double seconds = explore_now() - start;
    printf("%-44s %9llu executions %9.0f/s %s within %d", name,
           (unsigned long long)executions, (double)executions / (seconds > 0 ? seconds : 1),
           more ? "not all" : "all", bound);
    if (cut) printf(" (%llu cut short)", (unsigned long long)cut);
    printf("  ok\n");
    return true;
}

/* For main to return. */
static inline int explore_end(void) {
    alarm(0);
    return 0;
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif

#endif /* EXPLORE_H */
