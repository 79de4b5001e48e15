/* record.h - what the oracle notes of a program: its tasks, the functions that its threads are in, its waits, its pools,
 * and the tasks that can run, in the order since when. The rules are in watch.h. */
#ifndef RECORD_H
#define RECORD_H

#include "world.h"

/* "Immediately": some wake-ups, one after the other. A time-out is 50 us late on this machine. After a stall, what was
 * missed meanwhile is found when the watcher looks. */
#define WATCH_NS (watch.stalled == 0 ? 200 * US : WATCH_SLOT_NS)

/* A worker's slot, with a task that another one has woken or cancelled, and the driver are looked at twice, 0.5 ms apart;
 * a wait may end behind many cancelled tasks, or a lock that others take again and again. */
#define WATCH_SLOT_NS (1500 * US)
#define WATCH_LOW_NS (40 * MS)    /* a WSQ_LOW task has every 16th turn: about 16 ms beside other tasks */
#define WATCH_STUCK_NS (400 * MS) /* no operation of a program takes longer, whatever it waits for */

enum {
    WATCH_POOLS = 2, WATCH_SLOTS = 256, WATCH_WAITS = 64, WATCH_DEPTH = 80,
    WATCH_RUNS = 3000,    /* younger runs that may overtake a task */
    WATCH_LOW_RUNS = 20000,
    WATCH_TURN_RUNS = 600 /* a turn may come after 255 tasks, however long they are */
};

typedef enum cause {
    FROM_TASK, FROM_OUTSIDE, FROM_YIELD, FROM_WAKE, FROM_WAKE_OUTSIDE, FROM_TIMER, FROM_EDGE, FROM_EVENT,
    CAUSES
} cause;

static const char *const cause_names[] = {"spawned by a task", "spawned from outside", "yielded",
    "woken by a task", "woken from outside", "woken by a timer", "after its predecessor",
    "woken by an event"};

static const char *const idle_rules[] = {"idle-task", "idle-outside", "idle-yield", "idle-wake",
    "idle-wake-out", "idle-timer", "idle-edge", "idle-event"};

typedef enum watch_state {
    WATCH_NEW, WATCH_SPAWNING, WATCH_HELD, WATCH_READY, WATCH_RUNS_NOW, WATCH_PENDS, WATCH_DONE
} watch_state;

typedef struct watched {
    wsq_task task;
    struct watched *next, *before;   /* while it can run: in the order since when */
    char name[12];
    uint8_t pool, priority, cause;
    watch_state state;
    bool woken, cancelled, refused;  /* woken: while it ran; refused: its pool was closed */
    int pin;                         /* -1: none */
    uint32_t runs, over_runs, older_runs;
    uint64_t since, over_ns;         /* it can run; overtaken by younger ones */
    uint64_t older_ns;               /* of those that could run earlier, since then */
    uint64_t ran_since;              /* of its run: since when it could */
    uint64_t due_first, due;         /* when its timer may fire, and must; 0: none */
    struct watched *next_timer;
    const struct watched *after;     /* its predecessor; NULL: none */
    bool plain, awaited;             /* see order_look; awaited: by a wait that may run it early */
    unsigned spawner;                /* the core that has spawned it; from SIM_CORES on: a crowd */
} watched;

/* A function of the program on some thread. */
typedef struct frame {
    uint8_t pool;
    bool guest;
    enum { ACTIVE, ENDED, WAITS, WAITS_ABROAD, BLOCKS, JOINS, COVERED } state;
    unsigned index;
    watched *task; /* NULL: a run or a body of a loop */
} frame;

/* Of a thread that waits. */
typedef struct waiting {
    bool used;
    unsigned core, depth, pool;
    uint64_t began, ready; /* ready: since when it could return; 0: not yet */
    uint64_t deadline, held; /* until then something ran on top of it */
    const void *what;
    char name[32];
} waiting;

typedef struct watch_loop {
    struct watch_loop *next;
    uint64_t helpers[SIM_CORES / 64]; /* cores that have run a piece of it */
    uint64_t start, ns;
    unsigned left, pool;
} watch_loop;

typedef struct watch_pool {
    wsq_pool *pool;
    unsigned workers, threads;       /* that run them at the same time */
    unsigned lent;                   /* of a lend_only pool: threads inside */
    bool lend_only, few;             /* few: perhaps no stand-in for each */
    bool joins;                      /* few, or a join may spin for long */
    bool ordered;                    /* not WSQ_LIFO */
    bool in_order;                   /* one worker, and not WSQ_LIFO */
    unsigned passed;                 /* runs that began since a WSQ_HIGH one could, and none of these has begun; */
    uint64_t passed_since;           /* the first of these */
    bool closing, closed;            /* by WSQ_CANCEL: the call has begun, has returned */
    unsigned running, blocks, live, live_most; /* blocks: or joins; live: tasks that are spawned and not done */
    unsigned waits;                  /* of its functions; something may run on top of them */
    unsigned starting;               /* stand-ins that are in their hook for WSQ_EVENT_START */
    uint64_t idle_since;             /* meaningful while it is idle */
    uint64_t room_since;             /* likewise, if threads that sleep in joins count as idle */
    uint64_t joins_until;            /* perhaps one of its threads slept in a join */
    watched *first, *last;           /* that can run, not pinned */
    watched *pinned_first, *pinned_last;
    unsigned ready;                  /* of the first list */
    unsigned busy[WATCH_SLOTS], away[WATCH_SLOTS]; /* frames by worker: active, and blocked */
    unsigned inside[WATCH_SLOTS];                  /* all of them */
    uint64_t free_since[WATCH_SLOTS];
    uint64_t changed[WATCH_SLOTS];   /* when a function began, waited or ended there */
    uint64_t dismissed[WATCH_SLOTS]; /* when; 0: not */
    size_t bytes, bytes_at_start, alive, alive_most; /* allocated; futures */
} watch_pool;

static struct {
    watch_pool pools[WATCH_POOLS];
    frame frames[SIM_CORES][WATCH_DEPTH];
    bool paused[SIM_CORES]; /* since it began its first function, it has waited, blocked, joined or looped */
    unsigned depth[SIM_CORES];
    waiting waits[WATCH_WAITS];
    watched *timers;
    watch_loop *loops;
    uint64_t last, stalled; /* the last event; the end of the last stall */
    uint64_t progress;      /* when the program last came further */
    bool failed;
    char rule[16], why[200];
} watch;

static double watch_idle_ns[CAUSES]; /* over all programs: worker-time that was idle beside tasks that could run */

static void watch_fail(const char *rule, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#include <stdarg.h>

static void watch_fail(const char *rule, const char *format, ...) {
    if (watch.failed) return;
    va_list list;
    watch.failed = true;
    snprintf(watch.rule, sizeof watch.rule, "%s", rule);
    va_start(list, format);
    vsnprintf(watch.why, sizeof watch.why, format, list);
    va_end(list);
    world_leave();
}

/* With -v, what happens. */
static bool watch_loud;

static void tell(const char *what, const char *whom, unsigned number) {
    if (watch_loud)
        printf("  %12.3f us, core %2u: %s %s %u\n", (double)watch.last / 1e3, sim.running->id, what, whom,
               number);
}

static inline double ms(uint64_t ns) { return (double)ns / 1e6; }

/* ---- idle workers ---- */

/* A thread that has run a piece of a loop may be in a join until the loop is over: a join runs no tasks. While it sleeps
 * there another thread has its permit, if there is one, and as soon as it sleeps: not while it spins. */
static bool helps(const watch_loop *loop, unsigned core) {
    unsigned depth = watch.depth[core];
    return (loop->helpers[core / 64] >> (core % 64) & 1) != 0 &&
           (depth == 0 || watch.frames[core][depth - 1].state == WAITS); /* above a wait */
}

static unsigned joins_asleep(unsigned pool) {
    unsigned count = 0;
    for (const watch_loop *loop = watch.loops; loop != NULL; loop = loop->next)
        for (unsigned i = 0; loop->pool == pool && i < SIM_CORES; i++) {
            if (loop->helpers[i / 64] == 0) i |= 63;
            else count += helps(loop, i);
        }
    return count;
}

/* For how many threads that block, wait or are in a join is perhaps no other thread there? */
static unsigned pool_lost(const watch_pool *pool, bool few_for_joins) {
    unsigned joins = watch.loops != NULL ? joins_asleep((unsigned)(pool - watch.pools)) : 0;
    unsigned lost = (pool->few ? pool->blocks : 0) + (few_for_joins ? joins : 0);
    unsigned more = pool->blocks + pool->waits + joins - lost;
    return lost + (more < pool->starting ? more : pool->starting);
}

/* How many more threads could run jobs? */
static unsigned pool_room(const watch_pool *pool) {
    unsigned all = pool->lend_only ? pool->lent : pool->threads;
    unsigned lost = pool->running + pool_lost(pool, false);
    return all > lost ? all - lost : 0;
}

static unsigned pool_capacity(const watch_pool *pool) {
    unsigned all = pool->lend_only ? pool->lent : pool->threads;
    unsigned lost = pool_lost(pool, pool->joins);
    return all > lost ? all - lost : 0;
}

static unsigned pool_idle(const watch_pool *pool) {
    unsigned capacity = pool_capacity(pool);
    return capacity > pool->running ? capacity - pool->running : 0;
}

static uint64_t latest(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* ---- lists of tasks that can run ---- */

static void ready_enter(watched *self, uint64_t since, cause why) {
    watch_pool *pool = &watch.pools[self->pool];
    watched **first = self->pin < 0 ? &pool->first : &pool->pinned_first;
    watched **last = self->pin < 0 ? &pool->last : &pool->pinned_last;
    self->state = WATCH_READY;
    self->since = since;
    self->cause = (uint8_t)why;
    self->over_ns = self->over_runs = 0;
    self->older_ns = self->older_runs = 0;
    self->woken = false;
    self->next = NULL;
    self->before = *last;
    if (*last != NULL) (*last)->next = self;
    else *first = self;
    *last = self;
    pool->ready += self->pin < 0;
}

static void ready_leave(watched *self) {
    watch_pool *pool = &watch.pools[self->pool];
    watched **first = self->pin < 0 ? &pool->first : &pool->pinned_first;
    watched **last = self->pin < 0 ? &pool->last : &pool->pinned_last;
    if (self->before != NULL) self->before->next = self->next;
    else *first = self->next;
    if (self->next != NULL) self->next->before = self->before;
    else *last = self->before;
    pool->ready -= self->pin < 0;
}

#endif /* RECORD_H */
