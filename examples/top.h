/* What a pool does at this moment, written where another process can see it: counters, sleep,
 * waits, and for each kind of task (by its function) how often it ran and for how long, how long it
 * was queued before, and what queued it.
 *
 *     struct top *top = top_open("/tmp/server.top");         NULL: for this process alone
 *     config.hooks = top_hooks(top);                         NULL, if top is
 *     ... wsq_pool_create(&pool, &config);
 *     top_watch(top, pool);
 *     top_name(top, (uintptr_t)serve, "serve");              what its tasks are called
 *     ... wsq_pool_destroy(pool);
 *     top_close(top);                                        the file is gone, too
 *
 * and meanwhile, in another terminal: top -p /tmp/server.top
 *
 * The workers themselves write into the file, which is mapped into memory: when they fall asleep,
 * and now and then between two tasks. There is no thread, no lock and no system call for it, and
 * nothing happens while the pool is idle. (If the file system is full, the first write for which it
 * has no room ends the process by SIGBUS.) Include it after wsq.h, in one file. POSIX and MinGW. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    TOP_WORKERS = 1024,
    TOP_KINDS = 16,
    TOP_NAME = 24,
    TOP_DEPTH = 32,         /* tasks that run inside each other, by a wait */
    TOP_BUCKETS = 168,      /* four for each power of two, up to five hours */
    TOP_STEPS = 8,          /* lines of the histogram: under 1 us, under 8 us, ... 262 ms and more */
    TOP_QUEUERS = 4,        /* kinds that queue one kind, as far as they are told apart */
    TOP_QUEUED = 16384,     /* places for queued tasks; of two with one place the first is lost */
    TOP_SAMPLE_NS = 20000000 /* a busy worker writes its counters this often */
};

/* In place of a function: none, that of wsq_run, a thread that is no worker, a timer. */
enum { TOP_NONE, TOP_RUN, TOP_OUTSIDE, TOP_TIMER };

struct top_times {
    atomic_uint_least64_t count, total_ns;
    atomic_uint_least32_t buckets[TOP_BUCKETS]; /* how many took about so long */
};

/* Its worker writes all of it. */
struct top_kind {
    atomic_uint_least64_t fn; /* TOP_NONE: the kind is not used */
    struct top_times ran, queued;
    struct { atomic_uint_least64_t fn, count; } by[TOP_QUEUERS]; /* what queued it, how often */
};

struct top_worker {
    atomic_uint_least64_t stats[sizeof(wsq_stats) / sizeof(uint64_t)];
    atomic_uint_least64_t slept_ns, parked_at_ns;    /* parked_at: 0 while it is awake */
    atomic_uint_least64_t blocked_ns, blocked_at_ns; /* blocked_at: 0 while it waits for nothing */
    struct top_kind kinds[TOP_KINDS];
    uint64_t next_sample_ns; /* the worker's own, from here on */
    unsigned depth, waits;   /* tasks; waits inside them */
    struct { uint64_t fn, began_ns; } open[TOP_DEPTH];
};

struct top_shared {
    uint64_t layout; /* its size, which differs between versions of this file */
    int64_t process;
    uint64_t began_ns;
    atomic_uint workers, slots; /* of the pool; 0: not yet known */
    atomic_bool ended;
    atomic_uint_least64_t pending;
    struct { atomic_uint_least64_t fn; char name[TOP_NAME]; } names[TOP_KINDS];
    struct top_worker worker[TOP_WORKERS]; /* memory is touched only as it is used */
};

/* A queued task: since when, and by what. The thread that queues it writes, `task` last. */
struct top_place {
    _Atomic(const void *) task;
    atomic_uint_least64_t at_ns, by;
};

struct top {
    struct top_shared *shared;
    char *path; /* NULL: there is no file */
    wsq_hooks hooks;
    _Atomic(const wsq_pool *) pool;
    struct top_place queued[TOP_QUEUED];
};

/* ---- the system: a file in memory, zeroed; and is a process alive? ---- */

#ifdef _WIN32
#include <windows.h>

static void *top_map(const char *path, size_t size, bool create) {
    DWORD access = create ? GENERIC_READ | GENERIC_WRITE : GENERIC_READ;
    HANDLE file = CreateFileA(path, access, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                              NULL, create ? CREATE_ALWAYS : OPEN_EXISTING, 0, NULL);
    HANDLE map = file == INVALID_HANDLE_VALUE ? NULL
               : CreateFileMappingA(file, NULL, create ? PAGE_READWRITE : PAGE_READONLY, 0,
                                    create ? (DWORD)size : 0, NULL);
    void *memory = !map ? NULL
                 : MapViewOfFile(map, create ? FILE_MAP_WRITE : FILE_MAP_READ, 0, 0, size);
    if (map) CloseHandle(map);
    if (file != INVALID_HANDLE_VALUE) CloseHandle(file);
    if (!memory) errno = file == INVALID_HANDLE_VALUE ? ENOENT : EINVAL;
    return memory;
}

static void top_unmap(void *memory, size_t size) {
    (void)size;
    UnmapViewOfFile(memory);
}

static inline bool top_alive(int64_t process) {
    HANDLE handle = OpenProcess(SYNCHRONIZE, FALSE, (DWORD)process);
    bool alive = handle && WaitForSingleObject(handle, 0) == WAIT_TIMEOUT;
    if (handle) CloseHandle(handle);
    return alive;
}
#else
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>

static void *top_map(const char *path, size_t size, bool create) {
    struct stat info;
    void *memory = MAP_FAILED;
    if (create) remove(path);
    int fd = open(path, (create ? O_RDWR | O_CREAT | O_EXCL : O_RDONLY) | O_CLOEXEC, 0600);
    if (fd < 0) return NULL;
    bool good = create ? ftruncate(fd, (off_t)size) == 0 : fstat(fd, &info) == 0;
    if (good && !create && (uint64_t)info.st_size != size) errno = EINVAL;
    else if (good) memory = mmap(NULL, size, create ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);
    int error = errno;
    close(fd);
    if (create && memory == MAP_FAILED) remove(path);
    errno = error;
    return memory == MAP_FAILED ? NULL : memory;
}

static void top_unmap(void *memory, size_t size) {
    munmap(memory, size);
}

static inline bool top_alive(int64_t process) {
    return kill((pid_t)process, 0) == 0 || errno != ESRCH;
}
#endif

static uint64_t top_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* ---- reading ---- */

/* The middle of what falls into a bucket. */
static inline double top_bucket_ns(unsigned bucket) {
    if (bucket < 8) return bucket;
    return (4.5 + bucket % 4) * (double)(UINT64_C(1) << (bucket / 4 - 1));
}

/* How long tasks of all kinds, on all threads, were queued before they started. */
static inline void top_queued(const struct top_shared *shared, uint64_t sum[TOP_BUCKETS]) {
    unsigned slots = atomic_load(&shared->slots);
    memset(sum, 0, TOP_BUCKETS * sizeof *sum);
    for (unsigned i = 0; i < slots && i < TOP_WORKERS; i++) {
        for (unsigned k = 0; k < TOP_KINDS; k++) {
            const struct top_times *queued = &shared->worker[i].kinds[k].queued;
            for (unsigned b = 0; b < TOP_BUCKETS; b++)
                sum[b] += atomic_load_explicit(&queued->buckets[b], memory_order_relaxed);
        }
    }
}

/* One line of a histogram, with a bar: which part lies from 8^(step-1) to 8^step us, or, in the
 * last step, above that. False: none does. */
static inline bool top_queued_line(char *text, size_t size, const uint64_t sum[TOP_BUCKETS],
                                   unsigned step) {
    uint64_t all = 0, here = 0;
    double from = 0, to = 1e3;
    for (unsigned i = 0; i < step; i++) from = to, to *= 8;
    for (unsigned b = 0; b < TOP_BUCKETS; b++) {
        double ns = top_bucket_ns(b);
        all += sum[b];
        if (ns >= from && (ns < to || step == TOP_STEPS - 1)) here += sum[b];
    }
    if (here == 0) return false;
    double part = (double)here / (double)all;
    snprintf(text, size, "  queued %s %8.0f us %5.1f%%  %.*s", step < TOP_STEPS - 1 ? " <" : ">=",
             (step < TOP_STEPS - 1 ? to : from) * 1e-3, 100 * part, (int)(40 * part + 0.5),
             "########################################");
    return true;
}

/* ---- recording, on the workers ---- */

static void top_add(atomic_uint_least64_t *sum, uint64_t n) { /* nobody else writes it */
    uint64_t old = atomic_load_explicit(sum, memory_order_relaxed);
    atomic_store_explicit(sum, old + n, memory_order_relaxed);
}

/* Up to 7 exactly; then by the three highest bits. */
static unsigned top_bucket(uint64_t ns) {
    unsigned shift = 0;
    while (ns >> shift >= 8) shift++;
    unsigned bucket = 4 * shift + (unsigned)(ns >> shift);
    return bucket < TOP_BUCKETS ? bucket : TOP_BUCKETS - 1;
}

/* NULL: there are more kinds than places, and these are not counted. */
static struct top_kind *top_kind_of(struct top_worker *worker, uint64_t fn) {
    for (struct top_kind *kind = worker->kinds; kind < worker->kinds + TOP_KINDS; kind++) {
        uint64_t its = atomic_load_explicit(&kind->fn, memory_order_relaxed);
        if (its == TOP_NONE) atomic_store_explicit(&kind->fn, fn, memory_order_relaxed);
        if (its == TOP_NONE || its == fn) return kind;
    }
    return NULL;
}

static void top_count(struct top_times *times, uint64_t ns) {
    atomic_uint_least32_t *bucket = &times->buckets[top_bucket(ns)];
    uint32_t before = atomic_load_explicit(bucket, memory_order_relaxed);
    atomic_store_explicit(bucket, before + 1, memory_order_relaxed);
    top_add(&times->total_ns, ns);
    top_add(&times->count, 1);
}

/* ---- queued tasks ---- */

static struct top_place *top_place_of(struct top *top, const void *task) {
    return &top->queued[((uint64_t)(uintptr_t)task * 0x9E3779B97F4A7C15u) >> 50];
}

/* Any thread, before the task is queued. */
static void top_on_queued(struct top *top, const void *task, uint64_t by, uint64_t now) {
    struct top_place *place = top_place_of(top, task);
    atomic_store_explicit(&place->task, NULL, memory_order_relaxed);
    atomic_store_explicit(&place->at_ns, now, memory_order_relaxed);
    atomic_store_explicit(&place->by, by, memory_order_relaxed);
    atomic_store_explicit(&place->task, task, memory_order_release);
}

/* Its worker, about to run the task. */
static void top_on_dequeued(struct top *top, struct top_kind *kind, const void *task,
                            uint64_t now) {
    struct top_place *place = top_place_of(top, task);
    const void *mine = task;
    if (!kind || atomic_load_explicit(&place->task, memory_order_acquire) != task) return;
    uint64_t at = atomic_load_explicit(&place->at_ns, memory_order_relaxed);
    uint64_t by = atomic_load_explicit(&place->by, memory_order_relaxed);
    /* If another has taken the place meanwhile, the times may be its own. */
    if (!atomic_compare_exchange_strong(&place->task, &mine, NULL) || now < at) return;
    top_count(&kind->queued, now - at);
    for (unsigned i = 0; i < TOP_QUEUERS; i++) {
        uint64_t its = atomic_load_explicit(&kind->by[i].fn, memory_order_relaxed);
        if (its == TOP_NONE) atomic_store_explicit(&kind->by[i].fn, by, memory_order_relaxed);
        if (its != TOP_NONE && its != by) continue;
        top_add(&kind->by[i].count, 1);
        return;
    }
}

static void top_sample(struct top *top, struct top_worker *worker, unsigned index, uint64_t now) {
    const wsq_pool *pool = atomic_load_explicit(&top->pool, memory_order_acquire);
    if (!pool || index >= wsq_pool_workers(pool)) return;
    wsq_stats stats;
    uint64_t words[sizeof stats / sizeof(uint64_t)];
    wsq_worker_stats(pool, index, &stats);
    memcpy(words, &stats, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        atomic_store_explicit(&worker->stats[i], words[i], memory_order_relaxed);
    atomic_store_explicit(&top->shared->pending, wsq_pool_pending(pool), memory_order_relaxed);
    worker->next_sample_ns = now + TOP_SAMPLE_NS;
}

static void top_on_begin(struct top *top, struct top_worker *worker, const void *subject,
                         uint64_t now) {
    uintptr_t fn = TOP_RUN;
    if (subject) memcpy(&fn, subject, sizeof fn); /* a task and a job begin with it */
    if (subject) top_on_dequeued(top, top_kind_of(worker, fn), subject, now);
    if (worker->depth < TOP_DEPTH) {
        worker->open[worker->depth].fn = fn;
        worker->open[worker->depth].began_ns = now;
    }
    worker->depth++;
}

/* What the worker runs now. */
static uint64_t top_running(const struct top_worker *worker) {
    unsigned depth = worker->depth < TOP_DEPTH ? worker->depth : TOP_DEPTH;
    return depth > 0 ? worker->open[depth - 1].fn : TOP_OUTSIDE;
}

static void top_on_end(struct top *top, struct top_worker *worker, unsigned index,
                       const void *subject, uint64_t poll, uint64_t now) {
    if (worker->depth == 0) return;
    if (subject && poll == WSQ_YIELD) top_on_queued(top, subject, top_running(worker), now);
    unsigned depth = --worker->depth;
    struct top_kind *kind = depth < TOP_DEPTH ? top_kind_of(worker, worker->open[depth].fn) : NULL;
    if (kind) top_count(&kind->ran, now - worker->open[depth].began_ns);
    if (now >= worker->next_sample_ns) top_sample(top, worker, index, now);
}

static void top_on_wait(struct top_worker *worker, bool begins, uint64_t now) {
    if (begins ? worker->waits++ != 0 : worker->waits == 0 || --worker->waits != 0) return;
    uint64_t at = atomic_load_explicit(&worker->blocked_at_ns, memory_order_relaxed);
    atomic_store_explicit(&worker->blocked_at_ns, begins ? now : 0, memory_order_relaxed);
    if (!begins) top_add(&worker->blocked_ns, now - at);
}

static void top_on_event(void *user, wsq_event event, unsigned index, const void *subject,
                         uint64_t value) {
    struct top *top = user;
    bool outside = index == WSQ_OUTSIDE;
    if (!outside && index >= TOP_WORKERS) return;
    struct top_worker *worker = &top->shared->worker[outside ? 0 : index]; /* 0: it is not used */
    uint64_t now = top_now(), by = outside ? TOP_OUTSIDE : top_running(worker), parked;
    switch (event) {
    case WSQ_EVENT_SPAWN: /* one that is held back is queued by what wakes it */
        if (value == 0) top_on_queued(top, subject, by, now);
        break;
    case WSQ_EVENT_WAKE:
        top_on_queued(top, subject, value == WSQ_CAUSE_TIMER ? TOP_TIMER : by, now);
        break;
    case WSQ_EVENT_TASK_BEGIN: top_on_begin(top, worker, subject, now); break;
    case WSQ_EVENT_TASK_END: top_on_end(top, worker, index, subject, value, now); break;
    case WSQ_EVENT_BLOCK:
    case WSQ_EVENT_UNBLOCK: top_on_wait(worker, event == WSQ_EVENT_BLOCK, now); break;
    case WSQ_EVENT_PARK:
        top_sample(top, worker, index, now);
        atomic_store_explicit(&worker->parked_at_ns, now, memory_order_relaxed);
        break;
    case WSQ_EVENT_UNPARK:
        parked = atomic_load_explicit(&worker->parked_at_ns, memory_order_relaxed);
        atomic_store_explicit(&worker->parked_at_ns, 0, memory_order_relaxed);
        if (parked != 0) top_add(&worker->slept_ns, now - parked);
        break;
    default: break;
    }
}

/* ---- the interface ---- */

static void top_describe(struct top_shared *shared) {
    shared->layout = sizeof *shared;
    shared->process = getpid();
    shared->began_ns = top_now();
}

/* May a file of this module's take the place? What else stands there is the user's. */
static bool top_may_replace(const char *path) {
    struct stat info;
    uint64_t layout = 0;
    if (stat(path, &info) != 0) return true;
    FILE *file = S_ISREG(info.st_mode) ? fopen(path, "rb") : NULL;
    bool read = file && fread(&layout, sizeof layout, 1, file) == 1;
    if (file) fclose(file);
    return read && layout == (uint64_t)info.st_size;
}

/* The file gets its name when a process that maps it finds it described. NULL: errno says why. */
static struct top_shared *top_create(const char *path) {
    size_t size = strlen(path) + sizeof ".part";
    char *part = top_may_replace(path) ? malloc(size) : (errno = EEXIST, NULL);
    if (!part) return NULL;
    snprintf(part, size, "%s.part", path);
    struct top_shared *shared = top_map(part, sizeof *shared, true);
    if (shared) {
        top_describe(shared);
        remove(path); /* a process that has the old one mapped keeps it */
        if (rename(part, path) != 0) {
            int error = errno;
            top_unmap(shared, sizeof *shared);
            remove(part);
            errno = error;
            shared = NULL;
        }
    }
    free(part);
    return shared;
}

/* NULL, and errno says why: there is no such place, or no memory. */
static struct top *top_open(const char *path) {
    struct top *top = calloc(1, sizeof *top);
    if (top && path) {
        size_t size = strlen(path) + 1;
        top->path = malloc(size);
        if (top->path) {
            memcpy(top->path, path, size);
            top->shared = top_create(path);
        }
    } else if (top) {
        top->shared = calloc(1, sizeof *top->shared);
        if (top->shared) top_describe(top->shared);
    }
    if (!top || !top->shared) {
        int error = errno;
        if (top) free(top->path);
        free(top);
        errno = error;
        return NULL;
    }
    top->hooks.event = top_on_event;
    top->hooks.user = top;
    return top;
}

static const wsq_hooks *top_hooks(const struct top *top) {
    return top ? &top->hooks : NULL;
}

static inline void top_watch(struct top *top, const wsq_pool *pool) {
    if (!top) return;
    atomic_store(&top->shared->workers, wsq_pool_workers(pool));
    atomic_store(&top->shared->slots, wsq_pool_slots(pool));
    atomic_store_explicit(&top->pool, pool, memory_order_release);
}

/* One thread at a time. Names are cut to 23 bytes. */
static inline void top_name(struct top *top, uintptr_t fn, const char *name) {
    for (unsigned i = 0; top && i < TOP_KINDS; i++) {
        if (atomic_load(&top->shared->names[i].fn) != 0) continue;
        strncpy(top->shared->names[i].name, name, TOP_NAME - 1);
        atomic_store(&top->shared->names[i].fn, fn);
        return;
    }
}

/* After the pool is destroyed. */
static void top_close(struct top *top) {
    if (!top) return;
    atomic_store(&top->shared->ended, true);
    if (top->path) {
        top_unmap(top->shared, sizeof *top->shared);
        remove(top->path);
    } else {
        free(top->shared);
    }
    free(top->path);
    free(top);
}
