/* scale.h - what would this program do on 64 cores? See README.md beside this file.
 *
 *     sh examples/scale/scale.sh program.c [-- its arguments]
 *
 * compiles a program with `-include scale.h`, and otherwise unchanged. wsq.h then runs on a
 * simulated machine (../../bench/sim), in virtual time, on one thread. The program's own code runs
 * for real: the processor time from one call of wsq to the next becomes virtual time of the core
 * that runs it.
 *
 * A strand is what runs between two points where a core changes what it does. It knows the longest
 * chain of work that had to come before it, its path: a fork hands the path on, a join takes the
 * longer of two. What the whole program's path is long is its span. */
#ifndef SCALE_H
#define SCALE_H
#pragma GCC system_header

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#ifdef __cplusplus
#error "scale.h is for programs in C; the header's C++ layer is not simulated"
#endif

static void scale_event(void);
static void scale_event_end(void);
#define SIM_STATE __attribute__((weak))
#define SIM_STACK_BYTES (8 << 20)
#define SIM_EVENT() scale_event()
#define SIM_EVENT_END() scale_event_end()
#define WSQ_INLINE
#include "../../bench/sim/sim.h"
#undef WSQ_IMPLEMENTATION

/* ---- what is known of the program ---- */

/* A place in the program, or a function: what began there is counted together. */
typedef struct scale_site {
    const char *file, *what;
    int line;
    bool listed;
    uint64_t work, longest, waited; /* ps */
    uint64_t pieces, begun;
    uint64_t path, path_pieces;                    /* on the critical path */
    struct scale_site *next;
} scale_site;

#define SCALE_SITE(what_) \
    (__extension__({ \
        static scale_site scale_here = {.file = __FILE__, .what = what_, .line = __LINE__}; \
        &scale_here; \
    }))

/* One link of a path; links are shared, and each holds the one before it. */
typedef struct scale_node {
    struct scale_node *before;
    scale_site *site;
    uint64_t ps;
    uint32_t holders;
} scale_node;

typedef struct scale_path { scale_node *node; uint64_t ps; } scale_path;

typedef struct scale_frame { /* what a task has interrupted */
    struct scale_frame *outer;
    scale_path path;
    scale_site *site;
    bool moved; /* the path is that of the strand inside */
} scale_frame;

typedef struct scale_strand { /* of a core */
    scale_path path;
    scale_site *site;
    scale_frame *frames;
    scale_site *spawning; /* where a task comes from that has no name */
    const void *spawned;
    uint64_t waited;      /* ps: without work, in joins */
    bool user;            /* the program's own code runs, not wsq */
} scale_strand;

/* What has an address: a task, a group, a future, a task's function. */
typedef struct scale_thing {
    const void *key;
    scale_path start, end;
    scale_site *site;
    struct scale_thing *of; /* a task's group; a future's task */
} scale_thing;

typedef struct scale_pool {
    wsq_pool *pool;
    wsq_hooks hooks; /* the program's own */
    bool fixed;      /* it asks for a number of workers */
    scale_path end;  /* of all its tasks */
    struct scale_pool *next;
} scale_pool;

/* Sums over the cores, ps. */
typedef struct scale_sums { int64_t run, work, line, spin, kernel, rising, waited; } scale_sums;

SIM_STATE struct scale_whole {
    bool on;
    int report, errors; /* file descriptors: to the table's maker, and to the user */
    unsigned cores;
    unsigned flexible, pools_flexible, pools_fixed; /* pools as large as the machine: now; ever */
    sim_machine machine;
    scale_strand strands[SIM_CORES];
    scale_site *sites, outside, unknown;
    scale_pool *pools;
    scale_thing **things; /* open addressing */
    size_t thing_count, thing_capacity;
    double tick_ns;     /* of the processor's counter */
    uint64_t overhead;  /* ticks, from one look at it to the next */
    uint64_t since;     /* ticks: when the program's code went on */
    uint64_t seen;      /* ticks, when it was looked at last */
    uint64_t sync_ticks, sync_cpu; /* when it was compared with the time that this thread got */
    long switches;      /* that the program asked for, by blocking */
    uint64_t blocked, blocks;
    unsigned depth;     /* tasks and runs under way, and threads that wait for them */
    uint64_t region_began, region, span_began, span; /* ps */
    scale_sums sums;    /* of the regions */
} scale;

/* ---- time ---- */

#ifdef SCALE_TICKS /* a test's own clock, of ns, which no other program disturbs */
uint64_t SCALE_TICKS(void);
#endif

static inline uint64_t scale_ticks(void) {
#if defined(SCALE_TICKS)
    return SCALE_TICKS();
#elif defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
#endif
}

static uint64_t scale_cpu_ns(void) {
#ifdef SCALE_TICKS
    return SCALE_TICKS();
#endif
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ns that others used the processor, or the program slept, since this was asked last. */
static __attribute__((noinline)) uint64_t scale_stolen(void) {
    uint64_t ticks = scale_ticks(), cpu = scale_cpu_ns();
    double gone = (double)(ticks - scale.sync_ticks) * scale.tick_ns;
    double got = (double)(cpu - scale.sync_cpu);
    struct rusage usage;
    scale.sync_ticks = ticks;
    scale.sync_cpu = cpu;
    if (gone < got + 1000) return 0;
    getrusage(RUSAGE_THREAD, &usage);
    if (usage.ru_nvcsw != scale.switches) {
        scale.blocks += (uint64_t)(usage.ru_nvcsw - scale.switches);
        scale.blocked += (uint64_t)(gone - got);
        scale.switches = usage.ru_nvcsw;
    }
    return (uint64_t)(gone - got);
}

enum { SCALE_LONG_NS = 20000, SCALE_SHORT_NS = 12 };

static inline scale_strand *scale_strand_here(void) { return &scale.strands[sim.running->id]; }

/* ---- paths ---- */

static void scale_path_drop(scale_path *path) {
    scale_node *node = path->node;
    while (node != NULL && --node->holders == 0) {
        scale_node *before = node->before;
        free(node);
        node = before;
    }
    *path = (scale_path){NULL, 0};
}

static scale_path scale_path_copy(const scale_path *path) {
    if (path->node != NULL) path->node->holders++;
    return *path;
}

/* `*path` becomes the longer one; the other is given up. */
static void scale_path_later(scale_path *path, scale_path other) {
    if (other.ps > path->ps) {
        scale_path former = *path;
        *path = other;
        other = former;
    }
    scale_path_drop(&other);
}

static void scale_site_list(scale_site *site) {
    if (site->listed) return;
    site->listed = true;
    site->next = scale.sites;
    scale.sites = site;
}

static void scale_path_add(scale_path *path, scale_site *site, uint64_t ps) {
    if (path->node == NULL || path->node->holders > 1 || path->node->site != site) {
        scale_node *node = (scale_node *)malloc(sizeof *node);
        if (node == NULL) sim_fail("no memory");
        *node = (scale_node){path->node, site, 0, 1};
        path->node = node;
    }
    path->node->ps += ps;
    path->ps += ps;
}

/* ---- pieces: the program's own code between two calls ---- */

/* What has run since it went on was a piece; one shorter than `least` is wsq's own. */
static void scale_piece_end(scale_strand *strand, uint64_t least) {
    uint64_t ticks = scale_ticks() - scale.since;
    scale.seen = scale.since + ticks;
    ticks = ticks > scale.overhead ? ticks - scale.overhead : 0;
    uint64_t ns = (uint64_t)((double)ticks * scale.tick_ns + 0.5);
    if (ns < least) return;
    if (ns > SCALE_LONG_NS) {
        uint64_t stolen = scale_stolen();
        ns = ns > stolen ? ns - stolen : 0;
    }
    uint64_t ps = ns < 1000 ? (uint64_t)((double)ticks * scale.tick_ns * 1000) : ns * 1000;
    sim.running->clock += ps;
    sim.running->work += ps;
    sim.running->row = 0;
    if (scale.depth == 0) return; /* outside of the pool, or in one that is not looked at */
    scale_site *site = strand->site != NULL ? strand->site : &scale.outside;
    scale_site_list(site);
    site->work += ps;
    site->pieces++;
    if (ps > site->longest) site->longest = ps;
    scale_path_add(&strand->path, site, ps);
}

static void scale_piece_begin(void) {
    scale.since = scale_ticks();
    if ((double)(scale.since - scale.seen) * scale.tick_ns > SCALE_LONG_NS) {
        scale_stolen();
        scale.since = scale_ticks();
    }
}

static inline void scale_begun(scale_site *site) { site->begun += scale.depth != 0; }

/* From the program into wsq, and back. */
static scale_strand *scale_out(void) {
    scale_strand *strand = scale_strand_here();
    if (strand->user) scale_piece_end(strand, 0);
    strand->user = false;
    return strand;
}

static void scale_in(void) {
    scale_strand_here()->user = true;
    scale_piece_begin();
}

/* Calls of wsq that nothing here knows of: the simulator meets them at their first access. */
static void scale_event(void) {
    scale_strand *strand = scale_strand_here();
    if (__builtin_expect(strand->user, 0)) scale_piece_end(strand, SCALE_SHORT_NS);
}

static void scale_event_end(void) {
    if (__builtin_expect(scale_strand_here()->user, 0)) scale_piece_begin();
}

/* ---- regions: while tasks and runs are under way ---- */

/* Signed: where nearly all cores sleep, a sum may come out a little below 0. */
static void scale_sums_add(int sign) {
    scale_sums *sums = &scale.sums;
    for (unsigned i = 0; i < scale.cores + sim.outside; i++) {
        if (i >= sim.threads && i < scale.cores) continue;
        const sim_core *core = &sim.cores[i];
        uint64_t run = core->state == SIM_ASLEEP ? core->slept_at : core->clock;
        sums->run += sign * (int64_t)(run - core->born - core->asleep - core->waited);
        sums->work += sign * (int64_t)core->work;
        sums->line += sign * (int64_t)(core->transfer + core->queue + core->drain);
        sums->spin += sign * (int64_t)core->spin;
        sums->kernel += sign * (int64_t)core->kernel;
        sums->rising += sign * (int64_t)core->rising;
        sums->waited += sign * (int64_t)scale.strands[i].waited;
    }
}

static void scale_enter(bool fixed) {
    if (fixed) return;
    sim_turn();
    if (scale.depth++ != 0) return;
    scale.region_began = sim.running->clock;
    scale.span_began = scale_strand_here()->path.ps;
    scale_sums_add(-1);
}

static void scale_leave(bool fixed) {
    if (fixed) return;
    sim_turn();
    if (--scale.depth != 0) return;
    uint64_t path = scale_strand_here()->path.ps;
    scale.region += sim.running->clock - scale.region_began;
    if (path > scale.span_began) scale.span += path - scale.span_began;
    scale_sums_add(1);
}

/* ---- things ---- */

static size_t scale_slot(const void *key) {
    size_t i = (size_t)((uint64_t)(uintptr_t)key * 0x9E3779B97F4A7C15u >> 20);
    for (i &= scale.thing_capacity - 1; scale.things[i] != NULL && scale.things[i]->key != key;
         i = (i + 1) & (scale.thing_capacity - 1)) {}
    return i;
}

static void scale_things_grow(void) {
    scale_thing **former = scale.things;
    size_t count = scale.thing_capacity;
    scale.thing_capacity = count != 0 ? 2 * count : 1024;
    scale.things = (scale_thing **)calloc(scale.thing_capacity, sizeof *scale.things);
    if (scale.things == NULL) sim_fail("no memory");
    for (size_t i = 0; i < count; i++)
        if (former[i] != NULL) scale.things[scale_slot(former[i]->key)] = former[i];
    free(former);
}

/* What is known of an address; nothing yet: `make` a record, or NULL. */
static scale_thing *scale_thing_at(const void *key, bool make) {
    if (2 * scale.thing_count >= scale.thing_capacity) scale_things_grow();
    size_t i = scale_slot(key);
    if (scale.things[i] != NULL || !make) return scale.things[i];
    scale_thing *thing = (scale_thing *)calloc(1, sizeof *thing);
    if (thing == NULL) sim_fail("no memory");
    thing->key = key;
    scale.thing_count++;
    return scale.things[i] = thing;
}

/* ---- tasks: wsq tells of them by the pool's hooks ---- */

static void scale_task_begin(scale_strand *strand, scale_pool *pool, const void *subject) {
    scale_thing *thing = subject != NULL ? scale_thing_at(subject, false) : NULL;
    scale_frame *frame = (scale_frame *)malloc(sizeof *frame);
    if (frame == NULL) sim_fail("no memory");
    *frame = (scale_frame){strand->frames, strand->path, strand->site, subject == NULL};
    strand->frames = frame;
    if (subject != NULL) strand->path = (scale_path){NULL, 0};
    if (thing != NULL) {
        strand->path = thing->start;
        thing->start = (scale_path){NULL, 0};
        scale_path_later(&strand->path, thing->end);
        thing->end = (scale_path){NULL, 0};
        strand->site = thing->site != NULL ? thing->site : &scale.unknown;
    } else if (subject == NULL) {
        strand->site = strand->spawning != NULL ? strand->spawning : &scale.unknown;
        strand->spawning = NULL;
    }
    scale_enter(pool->fixed);
    if (thing != NULL || subject == NULL) scale_begun(strand->site);
}

static void scale_task_end(scale_strand *strand, scale_pool *pool, const void *subject) {
    scale_thing *thing = subject != NULL ? scale_thing_at(subject, false) : NULL;
    scale_frame *frame = strand->frames;
    scale_leave(pool->fixed);
    if (thing != NULL) {
        if (thing->of != NULL) scale_path_later(&thing->of->end, scale_path_copy(&strand->path));
        scale_path_later(&pool->end, scale_path_copy(&strand->path));
        scale_path_later(&thing->end, strand->path);
    } else if (!frame->moved) {
        scale_path_drop(&strand->path);
    }
    if (!frame->moved) strand->path = frame->path;
    strand->site = frame->site;
    strand->frames = frame->outer;
    free(frame);
}

static void scale_task_queued(scale_strand *strand, const void *subject, bool woken) {
    scale_thing *thing = scale_thing_at(subject, true);
    const void *fn = (const void *)(uintptr_t)((const wsq_task *)subject)->fn;
    scale_thing *named = scale_thing_at(fn, false);
    strand->spawned = subject;
    if (!woken) {
        scale_path_drop(&thing->end);
        thing->site = named != NULL ? named->site : strand->spawning;
    }
    scale_path_later(&thing->start, scale_path_copy(&strand->path));
}

static void scale_hook(void *user, wsq_event event, unsigned worker, const void *subject,
                       uint64_t value) {
    scale_pool *pool = (scale_pool *)user;
    scale_strand *strand = scale_strand_here();
    bool in_user = strand->user;
    if (in_user) scale_piece_end(strand, event == WSQ_EVENT_TASK_END ? 0 : SCALE_SHORT_NS);
    strand->user = false;
    unsigned asked = pool->hooks.events; /* 0: all */
    if (pool->hooks.event != NULL && (asked == 0 || (asked >> event & 1) != 0))
        pool->hooks.event(pool->hooks.user, event, worker, subject, value);
    if (event == WSQ_EVENT_SPAWN) scale_task_queued(strand, subject, false);
    if (event == WSQ_EVENT_WAKE) scale_task_queued(strand, subject, true);
    if (event == WSQ_EVENT_TASK_BEGIN) scale_task_begin(strand, pool, subject);
    if (event == WSQ_EVENT_TASK_END) scale_task_end(strand, pool, subject);
    if (event == WSQ_EVENT_TASK_END) in_user = false;
    if (in_user || event == WSQ_EVENT_TASK_BEGIN) scale_in();
}

static inline wsq_result scale_pool_create(wsq_pool **out, const wsq_config *config) {
    wsq_config mine = {0};
    scale_pool *pool = (scale_pool *)calloc(1, sizeof *pool);
    if (pool == NULL) return WSQ_ERR_MEMORY;
    scale_out();
    if (config != NULL) mine = *config;
    if (mine.hooks != NULL) pool->hooks = *mine.hooks;
    pool->fixed = mine.workers != 0 || mine.caller_runs || mine.lend_only;
    wsq_hooks hooks = {scale_hook, pool, pool->hooks.name};
    mine.hooks = &hooks;
    wsq_result result = wsq_pool_create(out, &mine);
    if (result == WSQ_OK) {
        pool->pool = *out;
        pool->next = scale.pools;
        scale.pools = pool;
        if (pool->fixed) scale.pools_fixed++;
        else scale.pools_flexible++, scale.flexible++;
    }
    scale_in();
    return result;
}

static inline scale_pool *scale_pool_at(const wsq_pool *pool) {
    scale_pool *at = scale.pools;
    while (at != NULL && at->pool != pool) at = at->next;
    return at;
}

static inline void scale_pool_destroy(wsq_pool *pool) {
    scale_pool *at = scale_pool_at(pool);
    scale_out();
    wsq_pool_destroy(pool);
    if (at != NULL && !at->fixed) scale.flexible--;
    if (at != NULL) at->pool = NULL;
    scale_in();
}

/* ---- jobs ---- */

typedef struct scale_job {
    wsq_job job;
    void (*fn)(wsq_ctx ctx, struct scale_job *job);
    scale_path start, end;
    scale_site *site;
} scale_job;

typedef void (*scale_job_fn)(wsq_ctx ctx, scale_job *job);

static void scale_job_run(wsq_ctx ctx, wsq_job *job) {
    scale_job *self = wsq_container_of(job, scale_job, job);
    scale_strand *strand = scale_strand_here();
    bool in_user = strand->user;
    scale_out();
    scale_path path = strand->path;
    scale_site *site = strand->site;
    strand->path = self->start;
    strand->site = self->site;
    scale_begun(self->site);
    scale_in();
    self->fn(ctx, self);
    scale_out();
    self->end = strand->path;
    strand->path = path;
    strand->site = site;
    if (in_user) scale_in();
}

static inline void scale_fork(wsq_ctx *ctx, scale_job *job, scale_job_fn fn, scale_site *site) {
    scale_strand *strand = scale_out();
    job->fn = fn;
    job->site = site;
    job->start = scale_path_copy(&strand->path);
    job->end = (scale_path){NULL, 0};
    wsq_fork(ctx, &job->job, scale_job_run);
    scale_in();
}

/* What a core does without work from here on, until scale_wait_end, it waits for `site`. */
static inline uint64_t scale_wait_begin(const scale_strand *strand) {
    return sim.running->spin + sim.running->asleep - strand->waited;
}

static inline void scale_wait_end(scale_strand *strand, scale_site *site, uint64_t began) {
    uint64_t waited = scale_wait_begin(strand) - began;
    strand->waited += waited;
    if (scale.depth == 0) return;
    scale_site_list(site);
    site->waited += waited;
}

static inline void scale_join(wsq_ctx *ctx, scale_job *job) {
    scale_strand *strand = scale_out();
    uint64_t began = scale_wait_begin(strand);
    if (wsq_reclaim(ctx, &job->job)) scale_job_run(*ctx, &job->job);
    else scale_wait_end(strand, job->site, began);
    scale_path_later(&strand->path, job->end);
    scale_in();
}

/* The job has always run when this returns: so it is known where its work ends. */
static inline bool scale_reclaim(wsq_ctx *ctx, scale_job *job) {
    scale_join(ctx, job);
    return false;
}

/* ---- loops ---- */

typedef struct scale_loop {
    void (*body)(wsq_ctx ctx, size_t begin, size_t end, void *arg);
    const wsq_reducer *reducer;
    void *arg;
    scale_path start, end;
    scale_site *site;
} scale_loop;

/* One call of the loop's functions: it comes after the loop's start, and before its end. */
#define SCALE_CALL(loop, begins, call) \
    do { \
        scale_strand *strand = scale_strand_here(); \
        bool in_user = strand->user; \
        scale_out(); \
        scale_path path = strand->path; \
        scale_site *site = strand->site; \
        strand->path = scale_path_copy(begins); \
        strand->site = (loop)->site; \
        scale_begun((loop)->site); \
        scale_in(); \
        call; \
        scale_out(); \
        scale_path_later(&(loop)->end, strand->path); \
        strand->path = path; \
        strand->site = site; \
        if (in_user) scale_in(); \
    } while (0)

static inline void scale_loop_body(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    scale_loop *loop = (scale_loop *)arg;
    SCALE_CALL(loop, &loop->start, loop->body(ctx, begin, end, loop->arg));
}

static inline void scale_for(wsq_ctx ctx, size_t begin, size_t end, size_t grain,
                             void (*body)(wsq_ctx, size_t, size_t, void *), void *arg,
                             scale_site *site) {
    scale_strand *strand = scale_out();
    scale_loop loop = {.body = body, .arg = arg, .site = site};
    uint64_t began = scale_wait_begin(strand);
    loop.start = strand->path;
    strand->path = (scale_path){NULL, 0};
    wsq_for(ctx, begin, end, grain, scale_loop_body, &loop);
    scale_wait_end(strand, site, began);
    scale_path_later(&loop.end, loop.start);
    strand->path = loop.end;
    scale_in();
}

static inline void scale_reduce_init(void *partial, void *arg) {
    scale_loop *loop = (scale_loop *)arg;
    SCALE_CALL(loop, &loop->start, loop->reducer->init(partial, loop->arg));
}

static inline void scale_reduce_body(wsq_ctx ctx, size_t begin, size_t end, void *partial,
                                     void *arg) {
    scale_loop *loop = (scale_loop *)arg;
    SCALE_CALL(loop, &loop->start, loop->reducer->body(ctx, begin, end, partial, loop->arg));
}

static inline void scale_reduce_combine(void *left, const void *right, void *arg) {
    scale_loop *loop = (scale_loop *)arg;
    SCALE_CALL(loop, &loop->end, loop->reducer->combine(left, right, loop->arg));
}

static inline wsq_result scale_reduce(wsq_ctx ctx, size_t begin, size_t end, size_t grain,
                                      const wsq_reducer *reducer, void *result, scale_site *site) {
    scale_loop loop = {.reducer = reducer, .site = site};
    if (reducer == NULL || reducer->init == NULL || reducer->body == NULL ||
        reducer->combine == NULL)
        return WSQ_ERR_INVALID;
    scale_strand *strand = scale_out();
    wsq_reducer mine = {reducer->size, scale_reduce_init, scale_reduce_body, scale_reduce_combine,
                        &loop, reducer->fixed};
    uint64_t began = scale_wait_begin(strand);
    loop.arg = reducer->arg;
    loop.start = strand->path;
    strand->path = (scale_path){NULL, 0};
    wsq_result status = wsq_reduce(ctx, begin, end, grain, &mine, result);
    scale_wait_end(strand, site, began);
    scale_path_later(&loop.end, loop.start);
    strand->path = loop.end;
    scale_in();
    return status;
}

/* ---- calls that wait, or that say where a task comes from ---- */

/* `call`, with `result`, waits; then what `ends` points to has come before. */
#define SCALE_WAIT(type, call, ends) \
    (__extension__({ \
        scale_strand *scale_self = scale_out(); \
        bool scale_fixed = scale.flexible == 0 || wsq_worker_self() >= 0; \
        static scale_site scale_here = {.file = __FILE__, .what = #call, .line = __LINE__}; \
        uint64_t scale_began = scale_wait_begin(scale_self); \
        scale_enter(scale_fixed); \
        type scale_result = call; \
        scale_path *scale_ends = ends; \
        if (scale_ends != NULL) \
            scale_path_later(&scale_self->path, scale_path_copy(scale_ends)); \
        if (wsq_worker_self() >= 0) scale_wait_end(scale_self, &scale_here, scale_began); \
        scale_leave(scale_fixed); \
        scale_in(); \
        scale_result; \
    }))

#define SCALE_FROM(type, name, call) \
    (__extension__({ \
        scale_strand *scale_self = scale_out(); \
        scale_site *scale_former = scale_self->spawning; \
        scale_self->spawning = SCALE_SITE(name); \
        type scale_result = call; \
        scale_self->spawning = scale_former; \
        scale_in(); \
        scale_result; \
    }))

static inline scale_path *scale_end_of(const void *key) {
    scale_thing *thing = scale_thing_at(key, false);
    if (thing != NULL && thing->of != NULL && thing->site == NULL) thing = thing->of;
    return thing != NULL ? &thing->end : NULL;
}

static inline scale_path *scale_end_of_pool(const wsq_pool *pool) {
    scale_pool *at = scale_pool_at(pool);
    return at != NULL ? &at->end : NULL;
}

static inline void scale_in_group(const wsq_task *task, const wsq_group *group) {
    scale_thing_at(task, true)->of = group != NULL ? scale_thing_at(group, true) : NULL;
}

static inline void scale_name(wsq_task_fn fn, scale_site *site) {
    scale_thing_at((const void *)(uintptr_t)fn, true)->site = site;
}

static inline wsq_result scale_submit(wsq_pool *pool, void *(*fn)(void *arg), void *arg, wsq_future **out) {
    wsq_result result = wsq_submit(pool, fn, arg, out);
    if (result != WSQ_OK) return result;
    scale_thing *future = scale_thing_at(*out, true);
    const void *task = scale_strand_here()->spawned;
    if (task != *out) future->of = scale_thing_at(task, true);
    return result;
}

#include "scale_report.h"
#include "scale_names.h"

#endif /* SCALE_H */
