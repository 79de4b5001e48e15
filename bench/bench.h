/* What the benchmarks share: a clock, interleaved rounds, medians, one parsable line per result.
 *
 *   name value unit workers=N n=N spread=P% min=V rounds=R
 *
 * value is the median of the rounds, spread the distance of the quartiles in percent of it. The
 * rounds of a program's cases are interleaved, so that a disturbance of the machine hits all
 * alike; a ratio line is the median of the rounds' own ratios. A line that starts with # states the
 * machine. Arguments: only cases whose name contains one of them run. Environment: BENCH_ROUNDS
 * (default 9); BENCH_ORDER: lifo or shared, the pools' order; BENCH_STATS: the pools' statistics at
 * the end, on stderr. */
#ifndef BENCH_H
#define BENCH_H

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* A recursive function whose every call stays one: not inlined, not made a loop. */
#if defined(__clang__)
#define BENCH_CALL __attribute__((noinline, disable_tail_calls))
#else
#define BENCH_CALL __attribute__((noinline, noclone, optimize("no-optimize-sibling-calls")))
#endif
#define BENCH_MAX_CASES 96
#define BENCH_MAX_ROUNDS 101
#define BENCH_MIN_ROUNDS 3
#define BENCH_MAX_WORKERS 256
#define BENCH_SECONDS 10 /* for all rounds of a program, if BENCH_MIN_ROUNDS fit in */

/* What the compiler was told; the Makefile passes it. */
#ifndef BENCH_FLAGS
#define BENCH_FLAGS "flags unknown"
#endif

#if defined(__clang__)
#define BENCH_COMPILER "clang " __clang_version__
#else
#define BENCH_COMPILER "gcc " __VERSION__
#endif

typedef struct bench_case bench_case;
typedef double (*bench_fn)(const bench_case *self); /* one round; returns the value in the unit */

struct bench_case {
    const char *name, *unit;
    bench_fn measure;
    unsigned workers; /* 0: no pool */
    long n;           /* how much of it; in the line as n= */
    wsq_pool *pool;
    double samples[BENCH_MAX_ROUNDS];
    int rounds; /* samples taken; 0: filtered out */
};

static struct {
    bench_case cases[BENCH_MAX_CASES];
    int count;
    wsq_pool *pools[BENCH_MAX_CASES];
    int pool_count;
    char **filters;
    int filter_count;
} bench;

/* Stops the program when a result is wrong: a fast wrong answer is no figure. */
static inline void bench_check(bool condition, const char *what) {
    if (condition) return;
    fprintf(stderr, "FAILED: %s\n", what);
    exit(1);
}

static inline uint64_t bench_clock(clockid_t id) {
    struct timespec now;
    clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t bench_now(void) {
    return bench_clock(CLOCK_MONOTONIC);
}

static inline double bench_since(uint64_t start) {
    return (double)(bench_now() - start);
}

/* The optimiser must assume that the memory behind p was read and written. */
static inline void bench_keep(void *p) {
    __asm__ volatile("" : : "r"(p) : "memory");
}

static inline void bench_sleep_us(long us) {
    struct timespec time = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&time, NULL);
}

static inline void *bench_alloc(size_t size) {
    void *memory = malloc(size);
    bench_check(memory != NULL, "out of memory");
    memset(memory, 0, size); /* its pages are there before the clock runs */
    return memory;
}

/* ---- the machine ---- */

static inline void bench_cpu_name(char *out, size_t size) {
    snprintf(out, size, "unknown processor");
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[256];
    while (file && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon) continue;
        colon[strcspn(colon, "\n")] = '\0';
        snprintf(out, size, "%.100s", colon + 2);
        break;
    }
    if (file) fclose(file);
}

static inline void bench_header(const char *program) {
    struct utsname system;
    char cpu[128];
    bench_cpu_name(cpu, sizeof cpu);
    if (uname(&system) < 0) memset(&system, 0, sizeof system);
    printf("# %s | %s, %ld cores | %s %s %s | %s | %s | wsq %d.%d.%d\n", program, cpu,
           sysconf(_SC_NPROCESSORS_ONLN), system.sysname, system.release, system.machine,
           BENCH_COMPILER, BENCH_FLAGS, WSQ_VERSION / 1000000, WSQ_VERSION / 1000 % 1000,
           WSQ_VERSION % 1000);
}

/* ---- pools: one for each number of workers, made once; a parked pool disturbs nobody ---- */

static inline wsq_order bench_pool_order(void) {
    const char *name = getenv("BENCH_ORDER");
    if (name == NULL) return WSQ_FIFO;
    bench_check(strcmp(name, "lifo") == 0 || strcmp(name, "shared") == 0, "BENCH_ORDER");
    return name[0] == 'l' ? WSQ_LIFO : WSQ_SHARED;
}

static inline wsq_pool *bench_pool(unsigned workers) {
    for (int i = 0; i < bench.pool_count; i++)
        if (wsq_pool_workers(bench.pools[i]) == workers) return bench.pools[i];
    wsq_config config = {.workers = workers, .order = bench_pool_order()};
    wsq_pool *pool = NULL;
    bench_check(wsq_pool_create(&pool, &config) == WSQ_OK, "pool");
    bench.pools[bench.pool_count++] = pool;
    return pool;
}

/* Usable cores: what a pool without further wishes takes. */
static inline unsigned bench_all_workers(void) {
    static unsigned all;
    if (all == 0) {
        wsq_pool *pool = NULL;
        bench_check(wsq_pool_create(&pool, NULL) == WSQ_OK, "pool");
        all = wsq_pool_workers(pool);
        wsq_pool_destroy(pool);
    }
    return all;
}

/* ---- cases ---- */

static inline bool bench_wanted(const char *name) {
    for (int i = 0; i < bench.filter_count; i++)
        if (strstr(name, bench.filters[i])) return true;
    return bench.filter_count == 0;
}

static inline bench_case *bench_add(const char *name, const char *unit, bench_fn measure,
                                    unsigned workers, long n) {
    bench_check(bench.count < BENCH_MAX_CASES, "too many cases");
    bench_case *self = &bench.cases[bench.count++];
    *self =
        (bench_case){.name = name, .unit = unit, .measure = measure, .workers = workers, .n = n};
    return self;
}

/* The same case with one worker and with all; returns the first, the other is next to it. */
static inline bench_case *bench_add_pair(const char *name, const char *unit, bench_fn measure,
                                         long n) {
    bench_case *one = bench_add(name, unit, measure, 1, n);
    bench_add(name, unit, measure, bench_all_workers(), n);
    return one;
}

static inline int bench_order(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef struct bench_summary {
    double median, spread, min;
} bench_summary;

static inline bench_summary bench_summarise(const double *samples, int count) {
    double sorted[BENCH_MAX_ROUNDS];
    memcpy(sorted, samples, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, bench_order);
    double median = count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
    double quartiles = sorted[count * 3 / 4] - sorted[count / 4];
    return (bench_summary){median, median > 0 ? 100 * quartiles / median : 0, sorted[0]};
}

static inline void bench_print(const bench_case *self) {
    bench_summary s = bench_summarise(self->samples, self->rounds);
    printf("%s %.4g %s workers=%u n=%ld spread=%.1f%% min=%.4g rounds=%d\n", self->name, s.median,
           self->unit, self->workers, self->n, s.spread, s.min, self->rounds);
    fflush(stdout);
}

/* One more line like the others, for figures that are not the median of a case. */
static inline void bench_line(const char *name, double value, const char *unit, unsigned workers,
                              const char *rest) {
    printf("%s %.4g %s workers=%u%s%s\n", name, value, unit, workers, *rest ? " " : "", rest);
    fflush(stdout);
}

/* a / b, round by round. At most (or, for a speed-up, at least) target; 0: no target. */
static inline void bench_ratio(const char *name, const bench_case *a, const bench_case *b,
                               double target, bool at_least) {
    double ratios[BENCH_MAX_ROUNDS];
    if (a->rounds == 0 || a->rounds != b->rounds) return;
    for (int i = 0; i < a->rounds; i++) ratios[i] = a->samples[i] / b->samples[i];
    bench_summary s = bench_summarise(ratios, a->rounds);
    printf("%s %.3f x workers=%u spread=%.1f%%", name, s.median, a->workers, s.spread);
    if (target > 0)
        printf(" target%s%g %s", at_least ? ">=" : "<=", target,
               (at_least ? s.median >= target : s.median <= target) ? "met" : "missed");
    putchar('\n');
    fflush(stdout);
}

/* one is what bench_add_pair returned: how much faster all workers are. */
static inline void bench_speedup(const char *name, const bench_case *one, double target) {
    if (one[1].workers == 2) bench_ratio(name, one, one + 1, target, true);
    else bench_ratio(name, one, one + 1, 0, true);
}

static inline void bench_begin(const char *program, int argc, char **argv) {
    bench.filters = argv + 1;
    bench.filter_count = argc - 1;
    bench_header(program);
}

static inline int bench_round_count(void) {
    const char *text = getenv("BENCH_ROUNDS");
    int rounds = text ? atoi(text) : 9;
    return rounds < 1 ? 1 : rounds > BENCH_MAX_ROUNDS ? BENCH_MAX_ROUNDS : rounds;
}

/* Every case once to warm up, then round after round; fewer of them when they take long. */
static inline void bench_run(void) {
    int rounds = bench_round_count();
    uint64_t start = bench_now();
    for (int round = -1; round < rounds; round++) {
        if (round >= BENCH_MIN_ROUNDS && bench_since(start) > BENCH_SECONDS * 1e9) break;
        for (int i = 0; i < bench.count; i++) {
            bench_case *self = &bench.cases[i];
            if (!bench_wanted(self->name)) continue;
            if (self->workers > 0) self->pool = bench_pool(self->workers);
            double value = self->measure(self);
            if (round >= 0) self->samples[self->rounds++] = value;
        }
    }
    for (int i = 0; i < bench.count; i++)
        if (bench.cases[i].rounds > 0) bench_print(&bench.cases[i]);
}

static inline int bench_end(void) {
    for (int i = 0; i < bench.pool_count; i++) {
        if (getenv("BENCH_STATS")) wsq_stats_print(bench.pools[i], stderr);
        wsq_pool_destroy(bench.pools[i]);
    }
    return 0;
}

#endif
