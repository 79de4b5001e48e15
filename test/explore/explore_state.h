/* explore_state.h - a part of explore.h: fibers, words, stores and views, all that one execution is. */
#ifndef EXPLORE_STATE_H
#define EXPLORE_STATE_H

/* ==========================================================================
 * >>state
 * ========================================================================== */

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
    explore_time woken;  /* sleepers see this store or a newer one: a thread was woken after it */
    int block;           /* EXPLORE_GLOBAL, index of a block, or below that ~fiber: its stack */
    int size;
    int writer, changes; /* the last writer; how often that was another one than before */
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
    int slow;                     /* at random: it goes on once in so many times; 0: as all do */
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
    int ahead_step, ahead_fiber; /* the step that does, and its fiber */
    uint64_t ahead_value;        /* what it shall read */
    explore_store *ahead;        /* what it read, and nobody has stored yet; or NULL */
    int ahead_word;              /* of which word */
    int plain; /* plain accesses while it is to come: what never comes may be a loop's bound */
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

#endif /* EXPLORE_STATE_H */
