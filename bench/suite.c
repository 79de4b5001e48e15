/* The suite: what a thread pool does all day, beside what a program would write for itself.
 *
 *   micro    100,000 tasks of 1 us from outside       beside a mutex pool, a thread for each task
 *   sort     quicksort of 10^7 integers, 1..16 workers beside the sequential one
 *   mixed    10,000: 80% 1 us, 15% 100 us, 5% 10 ms   beside a mutex pool, fixed shares
 *   stress   10^6 empty tasks from 8 outside threads  beside a mutex pool
 *   price    of a spawn, of a steal, of memory
 *
 * suite [--workers N] [--rounds N] [part ...]: all parts, or these. Every figure is the median
 * of the rounds; the lines about where the work went are of one more round. A thread for each
 * task is what C++'s std::async starts. The lines at the end of all parts, which begin with "#
 * summary", repeat what matters, and name what wsq lost. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "quick.h"
#include "rivals.h"

#define MICRO 100000
#define SORTED 10000000
#define MIXED 10000
#define MIXED_ROUNDS 3 /* 5 s of work each time */
#define STRESS 1000000
#define SUBMITTERS 8
#define STEALS 2000

static unsigned workers;
static int rounds = 5;
static wsq_pool *pool;
static mutex_pool mutexes;

/* ---- work that takes a given time ---- */

static double loops_per_us;

/* Each step waits for the one before. */
static uint64_t burn(uint64_t loops) {
    uint64_t x = loops;
    while (loops-- > 0) x = x * 6364136223846793005u + 1442695040888963407u;
    return x;
}

static uint64_t loops_for(double us) {
    return (uint64_t)(us * loops_per_us);
}

static void calibrate(void) {
    double samples[15];
    for (int i = 0; i < 15; i++) {
        uint64_t start = bench_now(), x = burn(1000000);
        bench_keep(&x);
        samples[i] = 1e6 / (bench_since(start) / 1e3);
    }
    loops_per_us = bench_summarise(samples, 15).median;
}

/* ---- one task for all of the pools ---- */

typedef struct unit {
    wsq_task task;
    rival_task rival;
    uint64_t loops;
} unit;

/* What each worker did; on cache lines of their own. */
typedef struct track {
    WSQI_ALIGNED(WSQ_CACHELINE) uint64_t begin, end, longest_gap, busy;
    uint64_t tasks;
} track;

static track tracks[BENCH_MAX_WORKERS];
static bool tracking;
static unit *units;
static rival_task **rivals;

static void do_unit(const unit *self, unsigned worker) {
    track *own = &tracks[worker % BENCH_MAX_WORKERS];
    uint64_t begin = tracking ? bench_now() : 0;
    uint64_t x = burn(self->loops);
    bench_keep(&x);
    own->tasks++;
    if (!tracking) return;
    uint64_t end = bench_now();
    if (own->end != 0 && begin - own->end > own->longest_gap) own->longest_gap = begin - own->end;
    own->end = end;
    own->busy += end - begin;
}

static wsq_poll unit_poll(wsq_ctx ctx, wsq_task *task) {
    do_unit(wsq_container_of(task, unit, task), wsq_worker_index(ctx));
    return WSQ_DONE;
}

static void unit_rival(rival_task *task, unsigned worker) {
    do_unit(wsq_container_of(task, unit, rival), worker);
}

static void prepare(long count) {
    memset(tracks, 0, sizeof tracks);
    for (long i = 0; i < count; i++) {
        wsq_task_init(&units[i].task, unit_poll);
        units[i].rival.fn = unit_rival;
        rivals[i] = &units[i].rival;
    }
}

/* ---- ways to run `count` units; each returns ns until all are done ---- */

static double submit_ns; /* of it: until all were handed over */
static double submissions[BENCH_MAX_ROUNDS];

static double run_wsq(long count) {
    prepare(count);
    uint64_t start = bench_now();
    for (long i = 0; i < count; i++) wsq_spawn(pool, &units[i].task);
    submit_ns = bench_since(start);
    bench_check(wsq_pool_wait(pool) == WSQ_OK, "wait");
    return bench_since(start);
}

static double run_mutex(long count) {
    prepare(count);
    uint64_t start = bench_now();
    for (long i = 0; i < count; i++) mutex_pool_spawn(&mutexes, &units[i].rival);
    submit_ns = bench_since(start);
    mutex_pool_wait(&mutexes);
    return bench_since(start);
}

static double run_threads(long count) {
    prepare(count);
    uint64_t start = bench_now();
    run_in_threads(rivals, count);
    return bench_since(start);
}

static double run_shares(long count) {
    prepare(count);
    uint64_t start = bench_now();
    run_in_shares(rivals, count, workers);
    return bench_since(start);
}

/* ---- reports ---- */

static void report(const char *name, double value, const char *unit_name, const char *rest) {
    bench_line(name, value, unit_name, workers, rest);
}

/* For the end. */
static struct {
    char lost[256];
    double sort_speedup, spawn_ns, steal_ns, utilisation;
} summary;

static void note_loss(const char *line, double times) {
    size_t used = strlen(summary.lost);
    if (times >= 0.97) return;
    snprintf(summary.lost + used, sizeof summary.lost - used, " %s (%.2f)", line + strlen("suite/"),
             times);
}

/* Interleaves the ways; prints the median time of each, and how much faster wsq (the first) is. */
static void compare(const char *name, long count, double (*const ways[])(long),
                    const char *const names[], int way_count, double work_ns) {
    double samples[4][BENCH_MAX_ROUNDS];
    char line[96], rest[96];
    for (int round = 0; round < rounds; round++) {
        for (int way = way_count; way-- > 0;) samples[way][round] = ways[way](count);
        submissions[round] = submit_ns; /* of wsq, which comes last */
    }
    for (int way = 0; way < way_count; way++) {
        bench_summary s = bench_summarise(samples[way], rounds);
        snprintf(line, sizeof line, "suite/%s_%s", name, names[way]);
        snprintf(rest, sizeof rest, "n=%ld spread=%.1f%% tasks_per_s=%.3g efficiency=%.1f%%", count,
                 s.spread, (double)count / s.median * 1e9, 100 * work_ns / s.median / workers);
        report(line, s.median / 1e6, "ms", rest);
        if (way == 0) continue;
        double ratios[BENCH_MAX_ROUNDS];
        for (int round = 0; round < rounds; round++)
            ratios[round] = samples[way][round] / samples[0][round];
        snprintf(line, sizeof line, "suite/%s_%s_to_wsq", name, names[way]);
        double times = bench_summarise(ratios, rounds).median;
        report(line, times, "x", "");
        note_loss(line, times);
    }
}

/* How long it took to hand the tasks over, in the rounds of the last comparison. */
static void report_submission(const char *name, long count) {
    char line[96], rest[64];
    bench_summary s = bench_summarise(submissions, rounds);
    snprintf(line, sizeof line, "suite/%s_submission", name);
    snprintf(rest, sizeof rest, "spread=%.1f%% tasks_per_s=%.3g", s.spread,
             (double)count / s.median * 1e9);
    report(line, s.median / 1e6, "ms", rest);
}

/* How far the worker that did most, or least, is from an equal share, in percent of that. */
static double deviation(const double *parts) {
    double sum = 0, worst = 0;
    for (unsigned i = 0; i < workers; i++) sum += parts[i];
    for (unsigned i = 0; i < workers; i++) {
        double off = parts[i] / (sum / workers) - 1;
        if (off < 0) off = -off;
        if (off > worst) worst = off;
    }
    return 100 * worst;
}

/* Where the tasks of the last run of wsq went. */
static void report_distribution(const char *name, long count, const wsq_stats *before) {
    wsq_stats after;
    char line[96], rest[160];
    double tasks[BENCH_MAX_WORKERS];
    wsq_pool_stats(pool, &after);
    for (unsigned i = 0; i < workers; i++) {
        tasks[i] = (double)tracks[i].tasks;
        snprintf(line, sizeof line, "suite/%s_worker_%u", name, i);
        snprintf(rest, sizeof rest, "share=%.1f%%", 100 * tasks[i] / (double)count);
        report(line, tasks[i], "tasks", rest);
    }
    snprintf(line, sizeof line, "suite/%s_deviation", name);
    report(line, deviation(tasks), "%", "of=tasks");
    uint64_t attempts = after.steal_attempts - before->steal_attempts;
    uint64_t steals = after.steals - before->steals;
    snprintf(line, sizeof line, "suite/%s_steals", name);
    snprintf(rest, sizeof rest,
             "attempts=%llu success=%.1f%% stolen=%llu global_tasks=%llu parks=%llu",
             (unsigned long long)attempts, attempts ? 100 * (double)steals / (double)attempts : 0,
             (unsigned long long)(after.tasks_stolen - before->tasks_stolen),
             (unsigned long long)(after.global_tasks - before->global_tasks),
             (unsigned long long)(after.parks - before->parks));
    report(line, (double)steals, "steals", rest);
}

/* ---- 1. micro ---- */

static void suite_micro(void) {
    static double (*const ways[])(long) = {run_wsq, run_mutex, run_threads};
    static const char *const names[] = {"wsq", "mutex_pool", "threads"};
    wsq_stats before;
    for (long i = 0; i < MICRO; i++) units[i].loops = loops_for(1);
    compare("micro", MICRO, ways, names, 3, MICRO * 1e3);
    report_submission("micro", MICRO);
    wsq_pool_stats(pool, &before);
    run_wsq(MICRO);
    report_distribution("micro", MICRO, &before);
}

/* ---- 2. sort ---- */

static int32_t *input, *data;

static void sort_root(wsq_ctx ctx, void *arg) {
    quick(ctx, arg, SORTED);
}

/* ns; `in`: NULL for the sequential one. */
static double sort_once(wsq_pool *in, void (*root)(wsq_ctx ctx, void *arg)) {
    memcpy(data, input, SORTED * sizeof *data);
    uint64_t start = bench_now();
    if (in != NULL) bench_check(wsq_run(in, root, data) == WSQ_OK, "run");
    else quick_plain(data, SORTED);
    double ns = bench_since(start);
    for (long i = 1; i < SORTED; i++) bench_check(data[i - 1] <= data[i], "sorted");
    return ns;
}

/* The tree that `quick` makes of these numbers: its forks, and its depth. */
static int sort_tree(int32_t *a, size_t n, long *forks) {
    if (n < QUICK_CUTOFF) return 0;
    size_t cut = partition(a, n);
    ++*forks;
    int left = sort_tree(a, cut, forks), right = sort_tree(a + cut, n - cut, forks);
    return 1 + (left > right ? left : right);
}

/* As `quick`, and every worker counts the numbers that it sorts at the leaves. */
static void counted_run(wsq_ctx ctx, wsq_job *job);

static void counted(wsq_ctx ctx, int32_t *a, size_t n) {
    if (n < QUICK_CUTOFF) {
        quick_plain(a, n);
        tracks[wsq_worker_index(ctx) % BENCH_MAX_WORKERS].tasks += n;
        return;
    }
    size_t cut = partition(a, n);
    quick_job right = {.a = a + cut, .n = n - cut};
    wsq_fork(&ctx, &right.job, counted_run);
    counted(ctx, a, cut);
    wsq_join(&ctx, &right.job);
}

static void counted_run(wsq_ctx ctx, wsq_job *job) {
    quick_job *self = wsq_container_of(job, quick_job, job);
    counted(ctx, self->a, self->n);
}

static void counted_root(wsq_ctx ctx, void *arg) {
    counted(ctx, arg, SORTED);
}

/* The caller of wsq_run works in place of one worker, so `workers` of the threads have a share. */
static void sort_balance(void) {
    double shares[BENCH_MAX_WORKERS] = {0}, most = 0;
    memset(tracks, 0, sizeof tracks);
    sort_once(pool, counted_root);
    for (unsigned i = 0, k = 0; i < BENCH_MAX_WORKERS && k < workers; i++)
        if (tracks[i].tasks != 0) shares[k++] = (double)tracks[i].tasks;
    for (unsigned i = 0; i < workers; i++) most = shares[i] > most ? shares[i] : most;
    char rest[64];
    snprintf(rest, sizeof rest, "largest_share=%.1f%%", 100 * most / SORTED);
    report("suite/sort_deviation", deviation(shares), "%", rest);
}

static void sort_scaling(double plain) {
    char rest[64];
    for (unsigned n = 1; n <= 16; n *= 2) {
        double samples[BENCH_MAX_ROUNDS];
        for (int i = 0; i < rounds; i++) samples[i] = sort_once(bench_pool(n), sort_root);
        double times = plain / bench_summarise(samples, rounds).median;
        unsigned cores = n < bench_all_workers() ? n : bench_all_workers();
        snprintf(rest, sizeof rest, "per_core=%.1f%%", 100 * times / cores);
        bench_line("suite/sort_scaling", times, "x", n, rest);
    }
}

static void suite_sort(void) {
    double plain[BENCH_MAX_ROUNDS], parallel[BENCH_MAX_ROUNDS], speedup[BENCH_MAX_ROUNDS];
    char rest[96];
    long forks = 0;
    wsq_stats before, after;
    wsq_random random;
    wsq_random_seed(&random, 1);
    input = bench_alloc(SORTED * sizeof *input);
    data = bench_alloc(SORTED * sizeof *data);
    for (long i = 0; i < SORTED; i++) input[i] = (int32_t)wsq_random_next(&random);
    wsq_pool_stats(pool, &before);
    for (int i = 0; i < rounds; i++) {
        plain[i] = sort_once(NULL, NULL);
        parallel[i] = sort_once(pool, sort_root);
        speedup[i] = plain[i] / parallel[i];
    }
    wsq_pool_stats(pool, &after);
    double times = bench_summarise(speedup, rounds).median;
    double ns = bench_summarise(plain, rounds).median;
    summary.sort_speedup = times;
    report("suite/sort_plain", ns / 1e6, "ms", "");
    report("suite/sort_wsq", bench_summarise(parallel, rounds).median / 1e6, "ms", "");
    snprintf(rest, sizeof rest, "efficiency=%.1f%% jobs_published=%.0f jobs_stolen=%.0f",
             100 * times / workers, (double)(after.published - before.published) / rounds,
             (double)(after.jobs_stolen - before.jobs_stolen) / rounds);
    report("suite/sort_speedup", times, "x", rest);
    memcpy(data, input, SORTED * sizeof *data);
    int depth = sort_tree(data, SORTED, &forks);
    snprintf(rest, sizeof rest, "depth=%d", depth);
    report("suite/sort_forks", (double)forks, "forks", rest);
    sort_balance();
    sort_scaling(ns);
    free(input);
    free(data);
}

/* ---- 3. mixed ---- */

static const double sizes_us[] = {1, 100, 10000};
static wsqi_a64 stolen[3]; /* steals whose first task was of this size */

static int size_of(const unit *self) {
    return self->loops == loops_for(1) ? 0 : self->loops == loops_for(100) ? 1 : 2;
}

static void count_steal(void *user, wsq_event event, unsigned worker, const void *subject,
                        uint64_t value) {
    const wsq_task *task = subject;
    (void)user, (void)worker, (void)value;
    if (event != WSQ_EVENT_STEAL || task->fn != unit_poll) return;
    wsqi_add_rlx(&stolen[size_of(wsq_container_of(task, unit, task))], (uint64_t)1);
}

static wsq_poll spawn_all(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    for (long i = 0; i < MIXED; i++) wsq_spawn(wsq_pool_of(ctx), &units[i].task);
    return WSQ_DONE;
}

/* Spawned by a task, so that all that is not its worker's own share is stolen. */
static void mixed_steals(void) {
    long count[3] = {0};
    wsq_hooks hooks = {.event = count_steal};
    wsq_config config = {.workers = workers, .hooks = &hooks};
    wsq_pool *watched = NULL;
    wsq_task first;
    bench_check(wsq_pool_create(&watched, &config) == WSQ_OK, "pool");
    prepare(MIXED);
    wsq_task_init(&first, spawn_all);
    wsq_spawn(watched, &first);
    bench_check(wsq_pool_wait(watched) == WSQ_OK, "wait");
    wsq_pool_destroy(watched);
    for (long i = 0; i < MIXED; i++) count[size_of(&units[i])]++;
    for (int i = 0; i < 3; i++) {
        char line[64], rest[64];
        double steals = (double)wsqi_load_rlx(&stolen[i]);
        snprintf(line, sizeof line, "suite/mixed_steals_%gus", sizes_us[i]);
        snprintf(rest, sizeof rest, "tasks=%ld per_task=%.4f", count[i], steals / (double)count[i]);
        report(line, steals, "steals", rest);
    }
}

static void mixed_utilisation(void) {
    double busy = 0, gap = 0, parts[BENCH_MAX_WORKERS];
    wsq_stats before;
    char rest[96];
    tracking = true;
    wsq_pool_stats(pool, &before);
    double ns = run_wsq(MIXED);
    tracking = false;
    for (unsigned i = 0; i < workers; i++) {
        busy += parts[i] = (double)tracks[i].busy;
        if ((double)tracks[i].longest_gap > gap) gap = (double)tracks[i].longest_gap;
    }
    summary.utilisation = 100 * busy / ns / workers;
    snprintf(rest, sizeof rest, "longest_idle_gap_us=%.1f deviation=%.1f%%", gap / 1e3,
             deviation(parts));
    report("suite/mixed_utilisation", summary.utilisation, "%", rest);
    report_distribution("mixed", MIXED, &before);
}

static void suite_mixed(void) {
    static double (*const ways[])(long) = {run_wsq, run_mutex, run_shares};
    static const char *const names[] = {"wsq", "mutex_pool", "shares"};
    double work_ns = 0;
    int all_rounds = rounds;
    wsq_random random;
    wsq_random_seed(&random, 1);
    for (long i = 0; i < MIXED; i++) {
        uint32_t dice = wsq_random_below(&random, 100);
        double us = sizes_us[dice < 80 ? 0 : dice < 95 ? 1 : 2];
        units[i].loops = loops_for(us);
        work_ns += us * 1e3;
    }
    if (rounds > MIXED_ROUNDS) rounds = MIXED_ROUNDS;
    compare("mixed", MIXED, ways, names, 3, work_ns);
    rounds = all_rounds;
    mixed_utilisation();
    mixed_steals();
}

/* ---- 4. stress ---- */

typedef struct submitter {
    pthread_t thread;
    long first, count;
    bool rival;
} submitter;

static void *submit(void *arg) {
    submitter *self = arg;
    for (long i = self->first; i < self->first + self->count; i++) {
        if (self->rival) mutex_pool_spawn(&mutexes, &units[i].rival);
        else bench_check(wsq_spawn(pool, &units[i].task) == WSQ_OK, "spawn");
    }
    return NULL;
}

static double run_submitters(long count, bool rival) {
    submitter threads[SUBMITTERS];
    uint64_t done = 0;
    prepare(count);
    uint64_t start = bench_now();
    for (int i = 0; i < SUBMITTERS; i++) {
        long share_of = count / SUBMITTERS;
        threads[i] = (submitter){.first = i * share_of, .count = share_of, .rival = rival};
        bench_check(pthread_create(&threads[i].thread, NULL, submit, &threads[i]) == 0, "thread");
    }
    for (int i = 0; i < SUBMITTERS; i++) pthread_join(threads[i].thread, NULL);
    submit_ns = bench_since(start);
    if (rival) mutex_pool_wait(&mutexes);
    else bench_check(wsq_pool_wait(pool) == WSQ_OK, "wait");
    double ns = bench_since(start);
    for (unsigned i = 0; i < workers; i++) done += tracks[i].tasks;
    bench_check(done == (uint64_t)count, "every task once");
    return ns;
}

static double stress_wsq(long count) {
    return run_submitters(count, false);
}

static double stress_mutex(long count) {
    return run_submitters(count, true);
}

static void suite_stress(void) {
    static double (*const ways[])(long) = {stress_wsq, stress_mutex};
    static const char *const names[] = {"wsq", "mutex_pool"};
    wsq_stats before;
    for (long i = 0; i < STRESS; i++) units[i].loops = 0;
    compare("stress", STRESS, ways, names, 2, 0);
    report_submission("stress", STRESS);
    wsq_pool_stats(pool, &before);
    double ns = stress_wsq(STRESS);
    report("suite/stress_per_task", ns / STRESS, "ns", "");
    report_distribution("stress", STRESS, &before);
}

/* ---- 5. price ---- */

static wsqi_a64 begun_at;

static wsq_poll note_begin(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    (void)task;
    wsqi_store_rel(&begun_at, bench_now());
    return WSQ_DONE;
}

typedef struct stealer {
    wsq_task task;
    double samples[STEALS];
} stealer;

/* Spawns a child and computes on: the child begins on another worker, which is looking already. */
static wsq_poll provoke(wsq_ctx ctx, wsq_task *task) {
    stealer *self = wsq_container_of(task, stealer, task);
    for (int i = 0; i < STEALS; i++) {
        wsq_task child;
        uint64_t begun;
        wsqi_store_rel(&begun_at, 0);
        wsq_task_init(&child, note_begin);
        uint64_t start = bench_now();
        wsq_spawn(wsq_pool_of(ctx), &child);
        while ((begun = wsqi_load_acq(&begun_at)) == 0) wsqi_pause();
        while (!wsq_task_done(&child)) wsqi_pause();
        self->samples[i] = (double)(begun - start);
    }
    return WSQ_DONE;
}

static long resident_kib(void) {
    long size = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &size, &resident) != 2) resident = 0;
    if (file) fclose(file);
    return resident * sysconf(_SC_PAGESIZE) / 1024;
}

static void suite_price(void) {
    static stealer self;
    uint64_t start;
    prepare(STRESS);
    for (long i = 0; i < STRESS; i++) units[i].loops = 0;
    start = bench_now();
    for (long i = 0; i < STRESS; i++) wsq_spawn(pool, &units[i].task);
    summary.spawn_ns = bench_since(start) / STRESS;
    report("suite/price_spawn", summary.spawn_ns, "ns", "from=outside");
    wsq_pool_wait(pool);
    if (workers > 1) {
        wsq_task_init(&self.task, provoke);
        wsq_spawn(pool, &self.task);
        wsq_pool_wait(pool);
        qsort(self.samples, STEALS, sizeof *self.samples, bench_order);
        summary.steal_ns = self.samples[STEALS / 2];
        report("suite/price_steal_p50", summary.steal_ns, "ns", "until=the-task-begins");
        report("suite/price_steal_p99", self.samples[STEALS * 99 / 100], "ns", "");
    }
    report("suite/price_task", (double)sizeof(wsq_task), "bytes", "");
    report("suite/price_job", (double)sizeof(wsq_job), "bytes", "");
    report("suite/price_worker", (double)sizeof(struct wsqi_worker), "bytes",
           "beside=its-job-stack");
    wsq_config config = {.workers = 64};
    wsq_pool *crowd = NULL;
    long before = resident_kib();
    bench_check(wsq_pool_create(&crowd, &config) == WSQ_OK, "pool");
    bench_sleep_us(50000);
    report("suite/price_worker_resident", (double)(resident_kib() - before) / 64, "KiB",
           "with=its-thread's-stack");
    wsq_pool_destroy(crowd);
}

static void suite_summary(void) {
    printf("# summary: %u workers on %u cores: quicksort %.2f times as fast as one thread, "
           "%.1f%% of what %u could; ",
           workers, bench_all_workers(), summary.sort_speedup, 100 * summary.sort_speedup / workers,
           workers);
    printf("mixed tasks keep them %.1f%% busy\n", summary.utilisation);
    printf("# summary: a spawn from outside takes %.0f ns, a task %zu bytes", summary.spawn_ns,
           sizeof(wsq_task));
    if (summary.steal_ns > 0) printf(", a stolen task begins after %.0f ns", summary.steal_ns);
    printf("\n# summary: slower than the other way in:%s\n",
           summary.lost[0] ? summary.lost : " nothing");
}

#define PARTS 5
#define PART_NAMES "micro sort mixed stress price"

static const struct {
    const char *name;
    void (*run)(void);
} parts[PARTS] = {{"micro", suite_micro},
                  {"sort", suite_sort},
                  {"mixed", suite_mixed},
                  {"stress", suite_stress},
                  {"price", suite_price}};
static unsigned wanted; /* a bit for each part */

static unsigned part_of(const char *name) {
    for (unsigned i = 0; i < PARTS; i++)
        if (strcmp(parts[i].name, name) == 0) return 1u << i;
    return 1u << PARTS;
}

static int arguments(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        if (i + 1 < argc && strcmp(argv[i], "--workers") == 0) workers = (unsigned)atoi(argv[++i]);
        else if (i + 1 < argc && strcmp(argv[i], "--rounds") == 0) rounds = atoi(argv[++i]);
        else if (argv[i][0] != '-') wanted |= part_of(argv[i]);
        else wanted = UINT_MAX;
    }
    if (wanted >= 1u << PARTS)
        return fprintf(stderr, "usage: suite [--workers N] [--rounds N] [%s]\n", PART_NAMES), 2;
    if (wanted == 0) wanted = (1u << PARTS) - 1;
    if (workers == 0) workers = bench_all_workers();
    if (workers > BENCH_MAX_WORKERS || rounds < 1 || rounds > BENCH_MAX_ROUNDS) return 2;
    return 0;
}

int main(int argc, char **argv) {
    int wrong = arguments(argc, argv);
    if (wrong) return wrong;
    bench_header("suite");
    calibrate();
    units = bench_alloc(STRESS * sizeof *units);
    rivals = bench_alloc(STRESS * sizeof *rivals);
    pool = bench_pool(workers);
    mutex_pool_start(&mutexes, workers);
    for (unsigned i = 0; i < PARTS; i++)
        if (wanted & 1u << i) parts[i].run();
    if (wanted == (1u << PARTS) - 1) suite_summary();
    mutex_pool_stop(&mutexes);
    free(units);
    free(rivals);
    return bench_end();
}
