/* top: what each worker does, and each kind of task, redrawn in place: of a load of changing weight
 * in this process, or of the pool of another process that uses top.h. Below: how long tasks were queued
 * before they started, and in words what that means.
 *     cc -O2 -pthread top.c -o top -lm && ./top
 *
 * Into a file or a pipe it prints plain tables. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "command.h"
#include "top.h"
#include "top_verdict.h"
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>

static void sleep_ms(long ms) {
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

/* From the signal until main has seen it. */
static volatile sig_atomic_t interrupted;

static void interrupt(int signal_number) {
    (void)signal_number;
    interrupted = 1;
}

/* ---- the load: trees of small tasks, more of them and fewer, as a wave ---- */

enum { TREES = 24, NODES = 255, WAVE_MS = 6000 };

struct node {
    wsq_task task;
    struct tree *tree;
    unsigned index;
};

struct tree {
    bool planted;
    struct node nodes[NODES];
};

static struct load {
    wsq_pool *pool;
    pthread_t thread;
    atomic_bool ends;
    struct tree trees[TREES];
} load;

static void work_for(uint64_t ns) {
    for (uint64_t until = top_now() + ns; top_now() < until;) {}
}

static wsq_poll leaf(wsq_ctx ctx, wsq_task *task) {
    struct node *self = wsq_container_of(task, struct node, task);
    (void)ctx;
    work_for(1000 + self->index % 17 * 1000);
    return WSQ_DONE;
}

/* A node spawns its children into its own worker's ring, where the others find them. */
static wsq_poll branch(wsq_ctx ctx, wsq_task *task) {
    struct node *self = wsq_container_of(task, struct node, task);
    unsigned child = 2 * self->index + 1;
    wsq_spawn(wsq_pool_of(ctx), &self->tree->nodes[child].task);
    wsq_spawn(wsq_pool_of(ctx), &self->tree->nodes[child + 1].task);
    work_for(3000);
    return WSQ_DONE;
}

/* A parent spawns before it is done, so when all are done nothing is to come. */
static bool is_grown(const struct tree *tree) {
    for (unsigned i = 0; tree->planted && i < NODES; i++) {
        if (!wsq_task_done(&tree->nodes[i].task)) return false;
    }
    return true;
}

static void *plant(void *arg) {
    (void)arg;
    for (uint64_t began = top_now(); !atomic_load(&load.ends); sleep_ms(5)) {
        double phase = (double)(top_now() - began) / ((double)WAVE_MS * 1e6);
        double weight = 0.5 - 0.5 * cos(6.283185 * phase);
        for (unsigned i = 0; i < (unsigned)(weight * (double)TREES); i++) {
            if (!is_grown(&load.trees[i])) continue;
            load.trees[i].planted = true;
            wsq_spawn(load.pool, &load.trees[i].nodes[0].task);
        }
    }
    return NULL;
}

static bool load_begin(wsq_pool *pool) {
    load.pool = pool;
    for (unsigned i = 0; i < TREES * NODES; i++) {
        struct node *node = &load.trees[i / NODES].nodes[i % NODES];
        node->tree = &load.trees[i / NODES];
        node->index = i % NODES;
        wsq_task_init(&node->task, 2 * node->index + 1 < NODES ? branch : leaf);
    }
    return pthread_create(&load.thread, NULL, plant, NULL) == 0;
}

static void load_end(void) {
    atomic_store(&load.ends, true);
    pthread_join(load.thread, NULL);
}

/* ---- the terminal ---- */

static bool on_terminal;

#ifdef _WIN32
static unsigned terminal_rows(void) {
    CONSOLE_SCREEN_BUFFER_INFO info;
    HANDLE out = GetStdHandle(STD_OUTPUT_HANDLE);
    SetConsoleMode(out, ENABLE_PROCESSED_OUTPUT | 4); /* 4: it understands escape sequences */
    if (!GetConsoleScreenBufferInfo(out, &info)) return 0;
    return (unsigned)(info.srWindow.Bottom - info.srWindow.Top + 1);
}
#else
#include <sys/ioctl.h>

static unsigned terminal_rows(void) {
    struct winsize size;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}
#endif

static unsigned lines_left, lines_drawn; /* lines_left: before the terminal would scroll */

static void end_line(void) {
    puts(on_terminal ? "\033[K" : "");
    lines_drawn++;
    if (lines_left > 0) lines_left--;
}

/* ---- the workers ---- */

struct sample {
    uint64_t at_ns, slept_ns, blocked_ns;
    wsq_stats stats;
};

/* A sum of what is over, and what began and has not ended. */
static uint64_t time_of(const atomic_uint_least64_t *sum_ns, const atomic_uint_least64_t *since_ns,
                        uint64_t now) {
    uint64_t since = atomic_load_explicit(since_ns, memory_order_relaxed);
    uint64_t sum = atomic_load_explicit(sum_ns, memory_order_relaxed);
    return since != 0 && now > since ? sum + now - since : sum;
}

static struct sample take_sample(const struct top_worker *worker, uint64_t now) {
    struct sample sample = {.at_ns = now};
    uint64_t words[sizeof(wsq_stats) / sizeof(uint64_t)];
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        words[i] = atomic_load_explicit(&worker->stats[i], memory_order_relaxed);
    memcpy(&sample.stats, words, sizeof words);
    sample.slept_ns = time_of(&worker->slept_ns, &worker->parked_at_ns, now);
    sample.blocked_ns = time_of(&worker->blocked_ns, &worker->blocked_at_ns, now);
    return sample;
}

/* 1234567 as 1.23M, right-aligned in seven columns. */
static void print_rate(uint64_t now, uint64_t before, double seconds) {
    double rate = (double)(now - before) / seconds;
    const char *unit = rate < 1e4 ? " " : rate < 1e7 ? "k" : "M";
    rate /= *unit == 'M' ? 1e6 : *unit == 'k' ? 1e3 : 1;
    printf(" %7.*f%s", *unit == ' ' || rate >= 100 ? 0 : 1, rate, unit);
}

static void print_bar(double share) {
    char bar[21];
    for (int i = 0; i < 20; i++) bar[i] = i < (int)(share * 20 + 0.5) ? '#' : '.';
    bar[20] = '\0';
    printf("  %s", bar);
}

/* It may seem to run backwards: something ended between two reads. */
static double share_of(uint64_t now, uint64_t before, uint64_t elapsed) {
    double share = now > before ? (double)(now - before) / (double)elapsed : 0;
    return share < 1 ? share : 1;
}

/* shows: also prints a line. Workers for which there is no room count for the verdict all the same. */
static struct top_seen see_worker(unsigned index, const struct top_worker *worker, struct sample *last,
                                  bool shows) {
    struct sample now = take_sample(worker, top_now());
    uint64_t elapsed = now.at_ns - last->at_ns;
    double seconds = (double)elapsed * 1e-9;
    double idle = share_of(now.slept_ns, last->slept_ns, elapsed);
    double blocked = share_of(now.blocked_ns, last->blocked_ns, elapsed);

    if (shows) {
        printf("%6u", index);
        print_rate(now.stats.run, last->stats.run, seconds);
        print_rate(now.stats.steals, last->stats.steals, seconds);
        print_rate(now.stats.tasks_stolen, last->stats.tasks_stolen, seconds);
        print_rate(now.stats.global_tasks, last->stats.global_tasks, seconds);
        print_rate(now.stats.parks, last->stats.parks, seconds);
        printf(" %6.1f%% %6.1f%% %8" PRIu64 " %6" PRIu64 " %8.1f", idle * 100, blocked * 100,
               now.stats.interval, now.stats.queue_depth, (double)now.stats.average_task_ns * 1e-3);
        print_bar(1 - idle);
        end_line();
    }
    uint64_t runs = now.stats.run + now.stats.jobs_stolen - last->stats.run - last->stats.jobs_stolen;
    *last = now;
    return (struct top_seen){.runs = runs, .idle = idle, .blocked = blocked};
}

/* ---- the kinds of tasks ---- */

struct times {
    uint64_t count, total_ns, buckets[TOP_BUCKETS];
};

struct kind {
    uint64_t fn, ran_before;
    struct times ran, queued;
    struct { uint64_t fn, count; } by[2 * TOP_QUEUERS];
};

static struct kind kinds[4 * TOP_KINDS];
static unsigned kind_count;

static struct kind *kind_of(uint64_t fn) {
    unsigned i = 0;
    while (i < kind_count && kinds[i].fn != fn) i++;
    if (i == sizeof kinds / sizeof *kinds) return NULL;
    if (i == kind_count) kinds[kind_count++] = (struct kind){.fn = fn};
    return &kinds[i];
}

static void add_times(struct times *sum, const struct top_times *part) {
    sum->count += atomic_load_explicit(&part->count, memory_order_relaxed);
    sum->total_ns += atomic_load_explicit(&part->total_ns, memory_order_relaxed);
    for (unsigned i = 0; i < TOP_BUCKETS; i++)
        sum->buckets[i] += atomic_load_explicit(&part->buckets[i], memory_order_relaxed);
}

static void add_queuer(struct kind *kind, uint64_t fn, uint64_t count) {
    for (unsigned i = 0; i < 2 * TOP_QUEUERS && fn != TOP_NONE; i++) {
        if (kind->by[i].fn != fn && kind->by[i].fn != TOP_NONE) continue;
        kind->by[i].fn = fn;
        kind->by[i].count += count;
        return;
    }
}

static void add_kind(const struct top_kind *part) {
    uint64_t fn = atomic_load_explicit(&part->fn, memory_order_relaxed);
    struct kind *sum = fn != TOP_NONE ? kind_of(fn) : NULL;
    if (!sum) return;
    add_times(&sum->ran, &part->ran);
    add_times(&sum->queued, &part->queued);
    for (unsigned i = 0; i < TOP_QUEUERS; i++)
        add_queuer(sum, atomic_load_explicit(&part->by[i].fn, memory_order_relaxed),
                   atomic_load_explicit(&part->by[i].count, memory_order_relaxed));
}

/* Over all threads, those that stand in for a worker and guests, too: they have higher indices. */
static void add_up_kinds(const struct top_shared *shared) {
    for (unsigned i = 0; i < kind_count; i++)
        kinds[i] = (struct kind){.fn = kinds[i].fn, .ran_before = kinds[i].ran.count};
    for (unsigned i = 0; i < atomic_load(&shared->slots) && i < TOP_WORKERS; i++) {
        for (unsigned k = 0; k < TOP_KINDS; k++) add_kind(&shared->worker[i].kinds[k]);
    }
}

static double quantile_us(const struct times *times, double q) {
    uint64_t all = 0, seen = 0;
    for (unsigned i = 0; i < TOP_BUCKETS; i++) all += times->buckets[i];
    for (unsigned i = 0; i < TOP_BUCKETS; i++) {
        seen += times->buckets[i];
        if (seen > 0 && (double)seen >= q * (double)all) return top_bucket_ns(i) * 1e-3;
    }
    return 0;
}

static void name_kind(const struct top_shared *shared, uint64_t fn, char name[TOP_NAME]) {
    static const char *const others[] = {"none", "wsq_run", "outside", "a timer"};
    if (fn <= TOP_TIMER) snprintf(name, TOP_NAME, "%s", others[fn]);
    else snprintf(name, TOP_NAME, "0x%" PRIx64, fn);
    for (unsigned i = 0; i < TOP_KINDS && fn > TOP_TIMER; i++) {
        if (atomic_load(&shared->names[i].fn) == fn)
            snprintf(name, TOP_NAME, "%.*s", TOP_NAME - 1, shared->names[i].name);
    }
}

static void print_times(const char *what, const struct times *times) {
    double mean = times->count ? (double)times->total_ns * 1e-3 / (double)times->count : 0;
    printf("  %-6s %10.1f %9.1f %9.1f %9.1f", what, mean, quantile_us(times, 0.5),
           quantile_us(times, 0.99), quantile_us(times, 0.999));
}

/* Two lines: how it ran; how long it was queued before, and by what. */
static void print_kind(const struct top_shared *shared, const struct kind *kind, double seconds) {
    char name[TOP_NAME];
    name_kind(shared, kind->fn, name);
    printf("  %-23s", name);
    print_rate(kind->ran.count, kind->ran_before, seconds);
    printf(" %12" PRIu64, kind->ran.count);
    print_times("ran", &kind->ran);
    end_line();
    if (kind->queued.count == 0 || lines_left == 0) return;
    printf("%47s", "");
    print_times("queued", &kind->queued);
    for (unsigned i = 0; i < 2 * TOP_QUEUERS && kind->by[i].fn != TOP_NONE; i++) {
        name_kind(shared, kind->by[i].fn, name);
        printf("%s%s %.0f%%", i == 0 ? "  by " : ", ", name,
               100 * (double)kind->by[i].count / (double)kind->queued.count);
    }
    end_line();
}

/* A histogram of the time from spawn, or wake, to start. */
static void print_queued(const uint64_t *queued) {
    char line[100];
    for (unsigned step = 0; step < TOP_STEPS && lines_left > 1; step++) {
        if (top_queued_line(line, sizeof line, queued, step)) printf("%s", line), end_line();
    }
}

/* ---- the view ---- */

static void draw(const struct top_shared *shared, struct sample *last, double interval) {
    static unsigned lines_before;
    static struct top_seen seen[TOP_WORKERS];
    char verdict[160];
    unsigned workers = atomic_load(&shared->workers), shown = 0;
    unsigned rows = on_terminal ? terminal_rows() : 0;
    lines_left = rows > 2 ? rows - 1 : UINT_MAX; /* the cursor stays in the last row */
    lines_drawn = 0;
    if (workers > TOP_WORKERS) workers = TOP_WORKERS;
    if (on_terminal && lines_before > 0) printf("\033[%uA\r", lines_before);
    printf("process %" PRId64 ", %.1f s, %" PRIu64 " tasks to do, %u workers", shared->process,
           (double)(top_now() - shared->began_ns) * 1e-9, atomic_load(&shared->pending), workers);
    end_line();
    printf("worker  tasks/s  steals/s  stolen/s  global/s   parks/s    idle blocked interval  queue"
           "  mean us  busy");
    end_line();
    add_up_kinds(shared);
    for (unsigned i = 0; i < workers; i++) {
        bool shows = lines_left > 2 * kind_count + TOP_STEPS + 3;
        seen[i] = see_worker(i, &shared->worker[i], &last[i], shows);
        shown += shows;
    }
    if (shown < workers) printf("       %u more", workers - shown), end_line();
    if (kind_count > 0 && lines_left > 0) {
        printf("  task                      runs/s         runs            mean us       50%%"
               "       99%%     99.9%%");
        end_line();
    }
    struct times queued = {0};
    for (unsigned i = 0; i < kind_count && lines_left > 0; i++) print_kind(shared, &kinds[i], interval);
    top_queued(shared, queued.buckets);
    print_queued(queued.buckets);
    top_verdict(verdict, sizeof verdict, seen, workers, interval, atomic_load(&shared->pending),
                quantile_us(&queued, 0.5));
    if (lines_left > 0 && *verdict) printf("  %s", verdict), end_line();
    fputs(on_terminal ? "\033[J" : "\n", stdout);
    fflush(stdout);
    lines_before = lines_drawn;
}

/* Until the time is up, the process that is watched ends, or a signal comes. */
static void watch(const struct top_shared *shared, double seconds, long pause_ms) {
    static struct sample last[TOP_WORKERS];
    uint64_t began = top_now(), before = began;
    for (unsigned i = 0; i < TOP_WORKERS; i++) last[i] = (struct sample){.at_ns = began};
    for (unsigned i = 0; i < atomic_load(&shared->workers) && i < TOP_WORKERS; i++)
        last[i] = take_sample(&shared->worker[i], began);
    add_up_kinds(shared);
    if (on_terminal) printf("\033[?25l\033[?7l"); /* no cursor; long lines are cut, not wrapped */
    while (!interrupted && (double)(before - began) * 1e-9 < seconds) {
        sleep_ms(pause_ms);
        if (atomic_load(&shared->ended) || !top_alive(shared->process)) break;
        uint64_t now = top_now();
        draw(shared, last, (double)(now - before) * 1e-9);
        before = now;
    }
    if (on_terminal) printf("\033[?25h\033[?7h");
}

static int watch_other(const char *path, double seconds, long pause_ms) {
    struct top_shared *shared = top_map(path, sizeof *shared, false);
    if (!shared || shared->layout != sizeof *shared) {
        const char *problem = errno == EINVAL || shared ? "not written by this top.h"
                                                         : strerror(errno);
        fprintf(stderr, "top: %s: %s\n", path, problem);
        return 1;
    }
    watch(shared, seconds, pause_ms);
    if (!interrupted && (atomic_load(&shared->ended) || !top_alive(shared->process)))
        printf("process %" PRId64 " has no such pool any more\n", shared->process);
    top_unmap(shared, sizeof *shared);
    return 0;
}

static int watch_load(const char *path, unsigned workers, double seconds, long pause_ms) {
    struct top *top = top_open(path);
    wsq_config config = {.workers = workers, .hooks = top_hooks(top)};
    wsq_pool *pool;
    if (!top) {
        fprintf(stderr, "top: %s: %s\n", path ? path : "memory", strerror(errno));
        return 1;
    }
    if (wsq_pool_create(&pool, &config) != WSQ_OK || !load_begin(pool)) {
        fprintf(stderr, "top: no memory, or no threads\n");
        return 1;
    }
    top_watch(top, pool);
    top_name(top, (uintptr_t)branch, "branch");
    top_name(top, (uintptr_t)leaf, "leaf");
    watch(top->shared, seconds, pause_ms);
    load_end();
    wsq_pool_destroy(pool);
    top_close(top);
    return 0;
}

static const char help[] =
    "top [-n tenths] [-d tenths] [-w workers] [-o file]\n"
    "top [-n tenths] [-d tenths] -p file\n"
    "Shows what each worker and each kind of task does: of a load of changing weight, or of\n"
    "another process.\n"
    "  -n  how long, in tenths of a second, 1 to 1000000 (100)\n"
    "  -d  time between two looks, in tenths of a second, 1 to 600 (5)\n"
    "  -w  workers, 1 to 1024 (one per usable core)\n"
    "  -o  lets others watch, by this file\n"
    "  -p  watches the process that has written this file: see top.h\n";

int main(int argc, char **argv) {
    unsigned length = 100, tenths = 5, workers = 0;
    const char *own = NULL, *other = NULL;
    for (int option; (option = command_option(argc, argv, "n:d:w:o:p:", help)) != 0;) {
        const char *value = command.value;
        if (option == 'n') length = command_number("-n", value, 1, 1000000);
        else if (option == 'd') tenths = command_number("-d", value, 1, 600);
        else if (option == 'w') workers = command_number("workers", value, 1, TOP_WORKERS);
        else if (option == 'o') own = value;
        else other = value;
    }
    command_end(argc, argv);
    signal(SIGINT, interrupt);
    signal(SIGTERM, interrupt);
    on_terminal = isatty(STDOUT_FILENO) != 0;
    if (other) return watch_other(other, length / 10.0, (long)tenths * 100);
    return watch_load(own, workers, length / 10.0, (long)tenths * 100);
}
