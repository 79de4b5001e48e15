/* A timeline of a pool, in the Trace Event Format that ui.perfetto.dev, chrome://tracing and
 * trace.html show: a lane for each worker; its tasks, each with how long it was queued and by
 * which task; sleeps and waits; steals, and wakes of one worker by another, as arrows; and counters.
 *
 *     struct trace *trace = trace_open(getenv("WSQ_TRACE"));    NULL, if the path is
 *     config.hooks = trace_hooks(trace);                        NULL, if the trace is
 *     ... wsq_pool_create(&pool, &config);
 *     trace_watch(trace, pool);                                 for the counters
 *     trace_process(trace, "mandelbrot");                       what the program is called
 *     trace_name(trace, (uintptr_t)render_row, "row");          what its tasks are called
 *     trace_keep_latest(trace);                                 not the first events
 *     trace_span(trace, lane, true, (uintptr_t)any_function);   begins, or ends (false), a span of
 *                                                               your own; in a lane of your own
 *     ... wsq_pool_destroy(pool);
 *     trace_close(trace);                                       writes the file
 *
 * Recording takes no lock: each lane has a buffer of its own, of TRACE_EVENTS events (which -D may
 * set), allocated at its first event. What does not fit is dropped and counted: what comes last, or
 * after trace_keep_latest what came first (but not in the lane that threads outside share). Include
 * it after wsq.h, in one file. POSIX. */
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifndef TRACE_EVENTS
#define TRACE_EVENTS 65536 /* for each lane: 2 MiB */
#endif

enum {
    TRACE_LANES = 1024,
    TRACE_OUTSIDE = TRACE_LANES, /* that of all threads that are no workers */
    TRACE_DEPTH = 32,          /* tasks and waits, one inside the other */
    TRACE_NAMES = 16,
    TRACE_COUNTERS_NS = 200000 /* a worker samples its counters this often */
};

enum { TRACE_COUNTERS = 100 }; /* beyond every wsq_event; value: the interval and the queue */

struct trace_event {
    uint64_t at_ns;
    const void *subject;
    uint64_t value;
    int kind;
};

struct trace_lane {
    atomic_ullong used; /* may pass TRACE_EVENTS: as many were dropped */
    uint64_t next_counters_ns;
    bool ring; /* it keeps the latest events; not the lane that all threads outside share */
    struct trace_event events[TRACE_EVENTS];
};

struct trace {
    FILE *file;
    const char *path, *process;
    char *part; /* the file, until it is complete; `path` if that is a device, say */
    uint64_t began_ns;
    bool latest;
    wsq_hooks hooks;
    _Atomic(const wsq_pool *) pool; /* trace_watch writes, workers read */
    unsigned workers;               /* further lanes, "extra", are stand-ins and guests */
    _Atomic(struct trace_lane *) lanes[TRACE_LANES + 1];
    struct { uintptr_t fn; const char *name; } names[TRACE_NAMES];
    unsigned named, arrows;
    unsigned long long dropped;
    bool comma; /* an event stands before the next one */
    struct trace_step *steps; /* of all tasks, at the end: each task's own stand in a row */
    size_t step_count;
};

/* Something that happened to a task. */
struct trace_step {
    const struct trace_event *event;
    unsigned lane;
};

static uint64_t trace_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* ---- recording, on the workers ---- */

/* One thread is a worker at a time; but should two ever meet here, one of them yields. */
static struct trace_lane *trace_lane_of(struct trace *trace, unsigned worker) {
    if (worker == WSQ_OUTSIDE) worker = TRACE_OUTSIDE;
    else if (worker >= TRACE_LANES) return NULL;
    struct trace_lane *lane = atomic_load(&trace->lanes[worker]), *fresh;
    if (lane) return lane;
    fresh = calloc(1, sizeof *fresh);
    if (fresh) fresh->ring = trace->latest && worker != TRACE_OUTSIDE;
    if (!fresh || atomic_compare_exchange_strong(&trace->lanes[worker], &lane, fresh)) return fresh;
    free(fresh);
    return lane;
}

static void trace_record(struct trace_lane *lane, struct trace_event event) {
    unsigned long long index = atomic_fetch_add_explicit(&lane->used, 1, memory_order_relaxed);
    if (index < TRACE_EVENTS || lane->ring) lane->events[index % TRACE_EVENTS] = event;
}

static void trace_record_counters(struct trace *trace, struct trace_lane *lane, unsigned worker,
                                  uint64_t now) {
    const wsq_pool *pool = atomic_load_explicit(&trace->pool, memory_order_acquire);
    if (!pool || now < lane->next_counters_ns || worker >= trace->workers) return;
    wsq_stats stats;
    wsq_worker_stats(pool, worker, &stats);
    lane->next_counters_ns = now + TRACE_COUNTERS_NS;
    uint64_t both = stats.interval << 32 | stats.queue_depth;
    trace_record(lane, (struct trace_event){now, NULL, both, TRACE_COUNTERS});
}

static void trace_on_event(void *user, wsq_event event, unsigned worker, const void *subject,
                           uint64_t value) {
    struct trace *trace = user;
    struct trace_lane *lane = trace_lane_of(trace, worker);
    uint64_t now = trace_now();
    if (!lane) return;
    /* A task and a job begin with their function. At the end their memory may be gone. */
    uintptr_t fn = 0;
    if (event == WSQ_EVENT_TASK_BEGIN && subject) {
        memcpy(&fn, subject, sizeof fn);
        value = fn;
    }
    trace_record(lane, (struct trace_event){now, subject, value, (int)event});
    if (event == WSQ_EVENT_TASK_END || event == WSQ_EVENT_PARK)
        trace_record_counters(trace, lane, worker, now);
}

/* One thread at a time for each lane, which no worker has: from TRACE_LANES - 1 down. trace_name
 * names the span by its function, and the lane by its number. */
static inline void trace_span(struct trace *trace, unsigned lane, bool begins, uintptr_t fn) {
    struct trace_lane *own = trace ? trace_lane_of(trace, lane) : NULL;
    int kind = begins ? WSQ_EVENT_TASK_BEGIN : WSQ_EVENT_TASK_END;
    if (own) trace_record(own, (struct trace_event){trace_now(), NULL, fn, kind});
}

/* ---- the file ---- */

/* Begins an event: every one has a name, a phase, a lane and a time in microseconds. */
static void trace_put(struct trace *trace, const char *name, char phase, unsigned lane,
                      uint64_t at_ns) {
    uint64_t ns = at_ns > trace->began_ns ? at_ns - trace->began_ns : 0;
    fprintf(trace->file, "%s\n{\"name\":\"%s\",\"ph\":\"%c\",\"pid\":%ld,\"tid\":%u,\"ts\":%" PRIu64
            ".%03u", trace->comma ? "," : "", name, phase, (long)getpid(), lane, ns / 1000,
            (unsigned)(ns % 1000));
    trace->comma = true;
}

/* Of a task: how long it was queued, and by whom: this worker, another, a timer, ... */
static void trace_put_queued(const struct trace *trace, const struct trace_event *begin,
                             const struct trace_step *queued) {
    static const char *const causes[] = {"wake", "timer", "after", "wake while it ran"};
    uint64_t ns = begin->at_ns - queued->event->at_ns;
    const char *cause = queued->event->kind == WSQ_EVENT_WAKE  ? causes[queued->event->value % 4]
                        : queued->event->kind == WSQ_EVENT_SPAWN ? "spawn"
                                                                 : "yield";
    fprintf(trace->file, ",\"queued_us\":%" PRIu64 ".%03u,\"by\":\"%s, ", ns / 1000,
            (unsigned)(ns % 1000), cause);
    if (queued->lane == TRACE_OUTSIDE) fputs("outside\"", trace->file);
    else fprintf(trace->file, "%s %u\"", queued->lane < trace->workers ? "worker" : "extra",
                 queued->lane);
}

/* queued: NULL, if it is no task, or nobody knows. */
static void trace_put_span(struct trace *trace, const char *name, unsigned lane,
                           const struct trace_event *begin, uint64_t end_ns,
                           const struct trace_step *queued) {
    uint64_t ns = end_ns - begin->at_ns;
    const char *what = begin->kind == WSQ_EVENT_BLOCK ? "for" : "task";
    trace_put(trace, name, 'X', lane, begin->at_ns);
    fprintf(trace->file, ",\"dur\":%" PRIu64 ".%03u", ns / 1000, (unsigned)(ns % 1000));
    if (begin->subject) {
        fprintf(trace->file, ",\"args\":{\"%s\":\"%p\"", what, begin->subject);
        if (queued) trace_put_queued(trace, begin, queued);
        fputs("}", trace->file);
    }
    fputs("}", trace->file);
}

static const char *trace_name_of(const struct trace *trace, uint64_t fn, const char *other) {
    for (unsigned i = 0; i < trace->named; i++) {
        if (trace->names[i].fn == fn) return trace->names[i].name;
    }
    return other;
}

/* The events of a lane that were kept, from the oldest to the newest: first <= i < end. */
static unsigned long long trace_end(const struct trace_lane *lane) {
    unsigned long long used = atomic_load(&lane->used);
    return lane->ring || used < TRACE_EVENTS ? used : TRACE_EVENTS;
}

static unsigned long long trace_first(const struct trace_lane *lane) {
    unsigned long long end = trace_end(lane);
    return end > TRACE_EVENTS ? end - TRACE_EVENTS : 0;
}

static const struct trace_event *trace_at(const struct trace_lane *lane, unsigned long long i) {
    return &lane->events[i % TRACE_EVENTS];
}

/* Was the other end of this task kept, too? Only then a span is drawn. */
static bool trace_is_whole(const struct trace_lane *lane, unsigned long long i) {
    bool begins = trace_at(lane, i)->kind == WSQ_EVENT_TASK_BEGIN;
    unsigned long long first = trace_first(lane), end = trace_end(lane);
    for (unsigned inside = 0; begins ? ++i < end : i-- > first;) {
        int kind = trace_at(lane, i)->kind;
        if (kind != WSQ_EVENT_TASK_BEGIN && kind != WSQ_EVENT_TASK_END) continue;
        bool same = (kind == WSQ_EVENT_TASK_BEGIN) == begins;
        if (!same && inside == 0) return true;
        inside = same ? inside + 1 : inside - 1;
    }
    return false;
}

/* An arrow must begin within a span, or the viewers do not draw it: at this time, if the lane runs
 * a task then, else at the end of the task that it ran last. 0: there is none. */
static uint64_t trace_arrow_begin(const struct trace *trace, unsigned index, uint64_t at_ns) {
    const struct trace_lane *lane = index < TRACE_LANES ? atomic_load(&trace->lanes[index]) : NULL;
    unsigned long long low = lane ? trace_first(lane) : 0, first = low;
    unsigned long long high = lane ? trace_end(lane) : 0;
    while (low < high) { /* the first event after that time */
        unsigned long long middle = low + (high - low) / 2;
        if (trace_at(lane, middle)->at_ns <= at_ns) low = middle + 1;
        else high = middle;
    }
    while (low-- > first) {
        const struct trace_event *e = trace_at(lane, low);
        if (e->kind != WSQ_EVENT_TASK_BEGIN && e->kind != WSQ_EVENT_TASK_END) continue;
        if (!trace_is_whole(lane, low)) continue;
        return e->kind == WSQ_EVENT_TASK_BEGIN ? at_ns : e->at_ns - 1;
    }
    return 0;
}

/* And it must end within one: that of the next task that the thief runs. 0: there is none. */
static uint64_t trace_arrow_end(const struct trace_lane *lane, unsigned long long i) {
    for (unsigned long long end = trace_end(lane); i < end; i++) {
        if (trace_at(lane, i)->kind != WSQ_EVENT_TASK_BEGIN) continue;
        return trace_is_whole(lane, i) ? trace_at(lane, i)->at_ns + 1 : 0;
    }
    return 0;
}

static void trace_put_arrow(struct trace *trace, const char *name, unsigned from, uint64_t begin,
                            unsigned to, uint64_t end) {
    if (begin == 0 || end == 0) return;
    trace->arrows++;
    trace_put(trace, name, 's', from, begin);
    fprintf(trace->file, ",\"cat\":\"%s\",\"id\":%u}", name, trace->arrows);
    trace_put(trace, name, 'f', to, end);
    fprintf(trace->file, ",\"bp\":\"e\",\"cat\":\"%s\",\"id\":%u}", name, trace->arrows);
}

/* From what the victim does to the task that was stolen. */
static void trace_put_steal(struct trace *trace, unsigned thief, const struct trace_lane *lane,
                            unsigned long long i) {
    const struct trace_event *event = trace_at(lane, i);
    unsigned victim = (unsigned)event->value;
    trace_put_arrow(trace, "steal", victim, trace_arrow_begin(trace, victim, event->at_ns), thief,
                    trace_arrow_end(lane, i));
}

/* From what the waker does to the run of the task that it woke, on another worker. */
static void trace_put_wake(struct trace *trace, unsigned index, const struct trace_event *begin,
                           const struct trace_step *queued) {
    const struct trace_event *wake = queued->event;
    if (wake->kind != WSQ_EVENT_WAKE || wake->value != WSQ_CAUSE_WAKE || queued->lane == index)
        return;
    uint64_t from = trace_arrow_begin(trace, queued->lane, wake->at_ns);
    trace_put_arrow(trace, "wake", queued->lane, from, index, begin->at_ns + 1);
}

/* ---- the steps of each task ---- */

/* What comes first, where two have the same time. */
static int trace_rank(int kind) {
    if (kind == WSQ_EVENT_SPAWN || kind == WSQ_EVENT_WAKE) return 0;
    return kind == WSQ_EVENT_TASK_BEGIN ? 1 : 2;
}

static int trace_step_order(const void *one, const void *two) {
    const struct trace_event *a = ((const struct trace_step *)one)->event;
    const struct trace_event *b = ((const struct trace_step *)two)->event;
    uintptr_t first = (uintptr_t)a->subject, second = (uintptr_t)b->subject;
    if (first != second) return first < second ? -1 : 1;
    if (a->at_ns != b->at_ns) return a->at_ns < b->at_ns ? -1 : 1;
    return trace_rank(a->kind) - trace_rank(b->kind);
}

static bool trace_is_step(const struct trace_event *event) {
    return event->subject &&
           (event->kind == WSQ_EVENT_SPAWN || event->kind == WSQ_EVENT_WAKE ||
            event->kind == WSQ_EVENT_CANCEL || event->kind == WSQ_EVENT_TASK_BEGIN ||
            event->kind == WSQ_EVENT_TASK_END);
}

/* Without memory for them nobody knows how long a task was queued. */
static void trace_sort_steps(struct trace *trace) {
    size_t count = 0;
    for (unsigned pass = 0; pass < 2; pass++) {
        for (unsigned i = 0; i <= TRACE_LANES; i++) {
            const struct trace_lane *lane = atomic_load(&trace->lanes[i]);
            if (!lane) continue;
            unsigned long long end = trace_end(lane);
            for (unsigned long long k = trace_first(lane); k < end; k++) {
                if (!trace_is_step(trace_at(lane, k))) continue;
                if (pass == 0) count++;
                else trace->steps[trace->step_count++] = (struct trace_step){trace_at(lane, k), i};
            }
        }
        if (pass == 0) trace->steps = malloc(count * sizeof *trace->steps);
        if (!trace->steps) return;
    }
    qsort(trace->steps, trace->step_count, sizeof *trace->steps, trace_step_order);
}

/* What queued the task that begins here, or NULL: a job, or it was not recorded. */
static const struct trace_step *trace_queued(const struct trace *trace,
                                             const struct trace_event *begin) {
    size_t low = 0, high = trace->step_count;
    struct trace_step wanted = {begin, 0};
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (trace_step_order(&trace->steps[middle], &wanted) < 0) low = middle + 1;
        else high = middle;
    }
    if (low == 0 || !begin->subject) return NULL;
    const struct trace_step *before = &trace->steps[low - 1];
    const struct trace_event *event = before->event;
    bool yielded = event->kind == WSQ_EVENT_TASK_END && event->value == WSQ_YIELD;
    bool queued = yielded || event->kind == WSQ_EVENT_WAKE ||
                  (event->kind == WSQ_EVENT_SPAWN && event->value == 0);
    return queued && event->subject == begin->subject ? before : NULL;
}

static void trace_put_counters(struct trace *trace, unsigned lane,
                               const struct trace_event *event) {
    char name[40];
    snprintf(name, sizeof name, "worker %u interval", lane);
    trace_put(trace, name, 'C', lane, event->at_ns);
    fprintf(trace->file, ",\"args\":{\"tasks\":%" PRIu64 "}}", event->value >> 32);
    snprintf(name, sizeof name, "worker %u queue", lane);
    trace_put(trace, name, 'C', lane, event->at_ns);
    fprintf(trace->file, ",\"args\":{\"tasks\":%" PRIu64 "}}", event->value & 0xffffffff);
}

static void trace_put_instant(struct trace *trace, const char *name, unsigned lane,
                              const struct trace_event *event) {
    trace_put(trace, name, 'i', lane, event->at_ns);
    fprintf(trace->file, ",\"s\":\"t\",\"args\":{\"jobs\":%" PRIu64 "}}", event->value);
}

/* A span that ends now: a task, a run, or a wait inside one of these. */
static void trace_put_task(struct trace *trace, unsigned index, const struct trace_event *begin,
                           uint64_t end_ns) {
    uint64_t fn = begin->value; /* 0: a wsq_run, which has no task */
    if (begin->kind == WSQ_EVENT_BLOCK) {
        trace_put_span(trace, "blocked", index, begin, end_ns, NULL);
        return;
    }
    const struct trace_step *queued = trace_queued(trace, begin);
    const char *name = trace_name_of(trace, fn, fn ? "task" : "run");
    trace_put_span(trace, name, index, begin, end_ns, queued);
    if (queued) trace_put_wake(trace, index, begin, queued);
}

static void trace_put_name(struct trace *trace, unsigned lane) {
    char name[40];
    snprintf(name, sizeof name, "%s %u", lane < trace->workers ? "worker" : "extra", lane);
    trace_put(trace, "thread_name", 'M', lane, 0);
    fprintf(trace->file, ",\"args\":{\"name\":\"%s\"}}",
            lane > 0 ? trace_name_of(trace, lane, name) : name); /* 0 is also a wsq_run */
    trace_put(trace, "thread_sort_index", 'M', lane, 0);
    fprintf(trace->file, ",\"args\":{\"sort_index\":%u}}", lane);
}

/* Pairs each end with its begin. An end whose begin is missing, or the other way round, is left
 * out. */
static void trace_put_lane(struct trace *trace, unsigned index, const struct trace_lane *lane) {
    const struct trace_event *open[TRACE_DEPTH], *parked = NULL;
    unsigned long long used = atomic_load(&lane->used), end = trace_end(lane);
    unsigned depth = 0;
    if (used > TRACE_EVENTS) trace->dropped += used - TRACE_EVENTS;
    if (index == TRACE_OUTSIDE) return; /* no spans, only arrows from what it queues */
    trace_put_name(trace, index);
    for (unsigned long long i = trace_first(lane); i < end; i++) {
        const struct trace_event *e = trace_at(lane, i);
        switch (e->kind) {
        case WSQ_EVENT_PARK: parked = e; break;
        case WSQ_EVENT_UNPARK:
            if (parked) trace_put_span(trace, "parked", index, parked, e->at_ns, NULL);
            parked = NULL;
            break;
        case WSQ_EVENT_TASK_BEGIN:
        case WSQ_EVENT_BLOCK:
            if (depth < TRACE_DEPTH) open[depth] = e;
            depth++;
            break;
        case WSQ_EVENT_TASK_END:
        case WSQ_EVENT_UNBLOCK:
            if (depth > 0 && --depth < TRACE_DEPTH)
                trace_put_task(trace, index, open[depth], e->at_ns);
            break;
        case WSQ_EVENT_STEAL: trace_put_steal(trace, index, lane, i); break;
        case WSQ_EVENT_PUBLISH: trace_put_instant(trace, "publish", index, e); break;
        case TRACE_COUNTERS: trace_put_counters(trace, index, e); break;
        default: break;
        }
    }
}

/* ---- the interface ---- */

static struct trace *trace_open(const char *path) {
    struct trace *trace = path && *path ? calloc(1, sizeof *trace) : NULL;
    if (!trace) return NULL;
    size_t size = strlen(path) + sizeof ".part";
    trace->process = "wsq";
    trace->part = malloc(2 * size); /* the path, too, whose memory may be gone at the end */
    if (trace->part) {
        snprintf(trace->part, size, "%s.part", path);
        trace->path = strcpy(trace->part + size, path);
    }
    struct stat info;
    if (trace->part && stat(path, &info) == 0 && !S_ISREG(info.st_mode)) strcpy(trace->part, path);
    /* Now: a wrong path should not cost the run. */
    if (trace->part) trace->file = fopen(trace->part, "w");
    trace->began_ns = trace_now();
    trace->hooks.event = trace_on_event;
    trace->hooks.user = trace;
    if (trace->file) return trace;
    fprintf(stderr, "trace: %s: %s\n", path, strerror(errno));
    free(trace->part);
    free(trace);
    return NULL;
}

/* Before the pool is created. */
static inline void trace_keep_latest(struct trace *trace) {
    if (trace) trace->latest = true;
}

/* The name must stay, and have nothing that JSON would quote. */
static inline void trace_process(struct trace *trace, const char *name) {
    if (trace) trace->process = name;
}

static const wsq_hooks *trace_hooks(const struct trace *trace) {
    return trace ? &trace->hooks : NULL;
}

static inline void trace_watch(struct trace *trace, const wsq_pool *pool) {
    if (!trace) return;
    trace->workers = wsq_pool_workers(pool);
    atomic_store_explicit(&trace->pool, pool, memory_order_release);
}

/* As above. */
static inline void trace_name(struct trace *trace, uintptr_t fn, const char *name) {
    if (!trace || trace->named == TRACE_NAMES) return;
    trace->names[trace->named].fn = fn;
    trace->names[trace->named++].name = name;
}

/* After the pool is destroyed. False: the file is not complete. */
static bool trace_close(struct trace *trace) {
    if (!trace) return true;
    fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", trace->file);
    trace_put(trace, "process_name", 'M', 0, 0);
    fprintf(trace->file, ",\"args\":{\"name\":\"%s\"}}", trace->process);
    trace_sort_steps(trace);
    for (unsigned i = 0; i <= TRACE_LANES; i++) {
        struct trace_lane *lane = atomic_load(&trace->lanes[i]);
        if (lane) trace_put_lane(trace, i, lane);
    }
    for (unsigned i = 0; i <= TRACE_LANES; i++) free(atomic_load(&trace->lanes[i]));
    free(trace->steps);
    fprintf(trace->file, "\n],\"otherData\":{\"dropped\":%llu}}\n", trace->dropped);
    if (trace->dropped > 0)
        fprintf(stderr, "trace: %llu events dropped, the %s ones\n", trace->dropped,
                trace->latest ? "first" : "last");
    bool complete = ferror(trace->file) == 0;
    if (fclose(trace->file) != 0) complete = false;
    bool beside = strcmp(trace->part, trace->path) != 0;
    if (complete && beside && rename(trace->part, trace->path) != 0) complete = false;
    if (!complete) {
        fprintf(stderr, "trace: %s: %s\n", trace->path, strerror(errno));
        if (beside) remove(trace->part);
    }
    free(trace->part);
    free(trace);
    return complete;
}
