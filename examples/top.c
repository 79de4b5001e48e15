/* top: what each worker does, redrawn in place while a load of changing weight runs.
 *     cc -O2 -pthread top.c -o top -lm && ./top
 *
 * Counters come from wsq_worker_stats, which may be read at any time; the view takes differences.
 * How long a worker slept is not among them: a hook adds that up. Into a file or a pipe it prints
 * plain tables. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "command.h"
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

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
    for (uint64_t until = now_ns() + ns; now_ns() < until;) {}
}

/* A node spawns its children into its own worker's ring, where the others find them. */
static wsq_poll grow(wsq_ctx ctx, wsq_task *task) {
    struct node *self = wsq_container_of(task, struct node, task);
    unsigned child = 2 * self->index + 1;
    if (child < NODES) {
        wsq_spawn(wsq_pool_of(ctx), &self->tree->nodes[child].task);
        wsq_spawn(wsq_pool_of(ctx), &self->tree->nodes[child + 1].task);
    }
    work_for(1000 + self->index % 17 * 1000);
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
    for (uint64_t began = now_ns(); !atomic_load(&load.ends); sleep_ms(5)) {
        double phase = (double)(now_ns() - began) / ((double)WAVE_MS * 1e6);
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
        wsq_task_init(&node->task, grow);
    }
    return pthread_create(&load.thread, NULL, plant, NULL) == 0;
}

static void load_end(void) {
    atomic_store(&load.ends, true);
    pthread_join(load.thread, NULL);
}

/* ---- how long each worker slept ---- */

enum { WORKERS_MAX = 1024 };

/* Its worker writes, the view reads. */
static struct sleep {
    atomic_uint_least64_t total_ns, began_ns; /* began: 0 while it is awake */
} sleeps[WORKERS_MAX];

static void on_event(void *user, wsq_event event, unsigned worker, const void *subject,
                     uint64_t value) {
    (void)user, (void)subject, (void)value;
    if (worker >= WORKERS_MAX || (event != WSQ_EVENT_PARK && event != WSQ_EVENT_UNPARK)) return;
    struct sleep *sleep = &sleeps[worker];
    uint64_t began = atomic_load_explicit(&sleep->began_ns, memory_order_relaxed), now = now_ns();
    if (event == WSQ_EVENT_UNPARK && began != 0)
        atomic_fetch_add_explicit(&sleep->total_ns, now - began, memory_order_relaxed);
    atomic_store_explicit(&sleep->began_ns, event == WSQ_EVENT_PARK ? now : 0,
                          memory_order_relaxed);
}

static uint64_t slept_ns(unsigned worker, uint64_t now) {
    uint64_t began = atomic_load_explicit(&sleeps[worker].began_ns, memory_order_relaxed);
    uint64_t total = atomic_load_explicit(&sleeps[worker].total_ns, memory_order_relaxed);
    return total + (began != 0 && now > began ? now - began : 0);
}

/* ---- the view ---- */

struct sample {
    uint64_t at_ns, slept_ns;
    wsq_stats stats;
};

static bool on_terminal;

/* 1234567 as 1.23M, right-aligned in seven columns. */
static void print_rate(uint64_t now, uint64_t before, double seconds) {
    double rate = (double)(now - before) / seconds;
    const char *unit = rate < 1e4 ? " " : rate < 1e7 ? "k" : "M";
    rate /= *unit == 'M' ? 1e6 : *unit == 'k' ? 1e3 : 1;
    printf(" %7.*f%s", *unit == ' ' || rate >= 100 ? 0 : 1, rate, unit);
}

static void end_line(void) {
    puts(on_terminal ? "\033[K" : "");
}

static void print_bar(double share) {
    char bar[21];
    for (int i = 0; i < 20; i++) bar[i] = i < (int)(share * 20 + 0.5) ? '#' : '.';
    bar[20] = '\0';
    printf("  %s", bar);
}

static void print_worker(const wsq_pool *pool, unsigned worker, struct sample *last) {
    struct sample now = {.at_ns = now_ns()};
    now.slept_ns = slept_ns(worker, now.at_ns);
    wsq_worker_stats(pool, worker, &now.stats);
    uint64_t elapsed = now.at_ns - last->at_ns;
    double seconds = (double)elapsed * 1e-9;
    double idle = (double)(now.slept_ns - last->slept_ns) / (double)elapsed;
    if (now.slept_ns < last->slept_ns) idle = 0; /* it woke between the two reads */
    if (idle > 1) idle = 1;

    printf("%6u", worker);
    print_rate(now.stats.run, last->stats.run, seconds);
    print_rate(now.stats.steals, last->stats.steals, seconds);
    print_rate(now.stats.tasks_stolen, last->stats.tasks_stolen, seconds);
    print_rate(now.stats.global_tasks, last->stats.global_tasks, seconds);
    print_rate(now.stats.parks, last->stats.parks, seconds);
    printf(" %6.1f%% %8llu %6llu %8.1f", idle * 100, (unsigned long long)now.stats.interval,
           (unsigned long long)now.stats.queue_depth, (double)now.stats.average_task_ns * 1e-3);
    print_bar(1 - idle);
    end_line();
    *last = now;
}

/* As many as fit below two lines, and above the one where the cursor stays. */
static unsigned rows_for_workers(unsigned workers) {
    struct winsize size;
    if (!on_terminal || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row < 4)
        return workers;
    return workers < size.ws_row - 3u ? workers : size.ws_row - 3u;
}

static void draw(const wsq_pool *pool, struct sample *last, double seconds) {
    static unsigned lines;
    unsigned workers = wsq_pool_workers(pool), shown = rows_for_workers(workers);
    if (on_terminal && lines > 0) printf("\033[%uA\r", lines);
    lines = shown + 2;
    printf("%.1f s, %llu tasks to do, %u workers", seconds,
           (unsigned long long)wsq_pool_pending(pool), workers);
    if (shown < workers) printf(", the first %u of them", shown);
    end_line();
    printf("worker  tasks/s  steals/s  stolen/s  global/s   parks/s    idle interval  queue"
           "  mean us  busy");
    end_line();
    for (unsigned i = 0; i < shown; i++) print_worker(pool, i, &last[i]);
    fputs(on_terminal ? "\033[J" : "\n", stdout);
    fflush(stdout);
}

static void watch(const wsq_pool *pool, double seconds, long pause_ms) {
    struct sample *last = calloc(wsq_pool_workers(pool), sizeof *last);
    uint64_t began = now_ns();
    double elapsed = 0;
    if (!last) return;
    for (unsigned i = 0; i < wsq_pool_workers(pool); i++) last[i].at_ns = began;
    if (on_terminal) printf("\033[?25l\033[?7l"); /* no cursor; long lines are cut, not wrapped */
    while (!interrupted && elapsed < seconds) {
        sleep_ms(pause_ms);
        elapsed = (double)(now_ns() - began) * 1e-9;
        draw(pool, last, elapsed);
    }
    if (on_terminal) printf("\033[?25h\033[?7h");
    free(last);
}

static bool catch_signals(void) {
    struct sigaction action = {.sa_handler = interrupt};
    sigemptyset(&action.sa_mask);
    return sigaction(SIGINT, &action, NULL) == 0 && sigaction(SIGTERM, &action, NULL) == 0;
}

static const char help[] =
    "top [-n tenths] [-d tenths] [-w workers]\n"
    "Shows what each worker does while a load of changing weight runs.\n"
    "  -n  how long, in tenths of a second, 1 to 1000000 (100)\n"
    "  -d  time between two looks, in tenths of a second, 1 to 600 (5)\n"
    "  -w  workers, 1 to 1024 (one per usable core)\n";

int main(int argc, char **argv) {
    unsigned length = 100, tenths = 5, workers = 0;
    for (int option; (option = command_option(argc, argv, "n:d:w:", help)) != 0;) {
        if (option == 'n') length = command_number("-n", command.value, 1, 1000000);
        else if (option == 'd') tenths = command_number("-d", command.value, 1, 600);
        else workers = command_number("workers", command.value, 1, WORKERS_MAX);
    }
    command_end(argc, argv);
    wsq_hooks hooks = {.event = on_event};
    wsq_config config = {.workers = workers, .hooks = &hooks};
    wsq_pool *pool;
    on_terminal = isatty(STDOUT_FILENO) != 0;
    if (!catch_signals() || wsq_pool_create(&pool, &config) != WSQ_OK || !load_begin(pool)) {
        fprintf(stderr, "top: no memory, or no threads\n");
        return 1;
    }
    watch(pool, length / 10.0, (long)tenths * 100);
    load_end();
    wsq_pool_destroy(pool);
    return 0;
}
