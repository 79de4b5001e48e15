/* Idle pools: how soon one starts to work, and what it costs while it has none.
 *
 *   wake/bare       one thread wakes another that sleeps on a futex (elsewhere: on a condition):
 *                   what the system itself takes
 *   wake/spawn      a task spawned from outside begins
 *   wake/run_steal  a fork in a wsq_run from outside begins on another worker
 *   wake/idle_*     processor time and context switches of an idle pool
 *
 * The samples of the three are interleaved one by one, after a pause in which all fall asleep. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "bench.h"

#include <pthread.h>
#include <sys/resource.h>
#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#endif

#define SAMPLES 1000
#define IDLE_SECONDS 3

static wsqi_a64 begun_at; /* when the woken side began; 0: not yet */

static double wait_begun(uint64_t start) {
    uint64_t at;
    while ((at = wsqi_load_acq(&begun_at)) == 0) sched_yield();
    return (double)(at - start) / 1e3;
}

static uint64_t arm(void) {
    wsqi_store_rel(&begun_at, 0);
    return bench_now();
}

/* ---- bare ---- */

static wsqi_a32 bell; /* rings when it changes; UINT32_MAX: the end */

#ifdef __linux__
static void bell_wait(uint32_t seen) {
    syscall(SYS_futex, &bell.v, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

static void bell_ring(uint32_t value) {
    wsqi_store_rel(&bell, value);
    syscall(SYS_futex, &bell.v, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
#else
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void bell_wait(uint32_t seen) {
    pthread_mutex_lock(&mutex);
    while (wsqi_load_acq(&bell) == seen) pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
}

static void bell_ring(uint32_t value) {
    pthread_mutex_lock(&mutex);
    wsqi_store_rel(&bell, value);
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
}
#endif

static void *sleeper(void *arg) {
    (void)arg;
    for (uint32_t seen = 0;; seen++) {
        while (wsqi_load_acq(&bell) == seen) bell_wait(seen);
        if (wsqi_load_acq(&bell) == UINT32_MAX) return NULL;
        wsqi_store_rel(&begun_at, bench_now());
    }
}

static double sample_bare(uint32_t round) {
    uint64_t start = arm();
    bell_ring(round);
    return wait_begun(start);
}

/* ---- a spawned task ---- */

static wsq_poll begin_task(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    (void)task;
    wsqi_store_rel(&begun_at, bench_now());
    return WSQ_DONE;
}

static double sample_spawn(wsq_pool *pool) {
    wsq_task task;
    wsq_task_init(&task, begin_task);
    uint64_t start = arm();
    bench_check(wsq_spawn(pool, &task) == WSQ_OK, "spawn");
    double us = wait_begun(start);
    wsq_task_wait(&task);
    return us;
}

/* ---- a fork ---- */

static void begin_job(wsq_ctx ctx, wsq_job *job) {
    (void)ctx;
    (void)job;
    wsqi_store_rel(&begun_at, bench_now());
}

/* Does not join before a thief has taken the job, like one that computes for long. */
static void fork_and_wait(wsq_ctx ctx, void *arg) {
    wsq_job job;
    wsq_fork(&ctx, &job, begin_job);
    *(double *)arg = wait_begun(*(uint64_t *)arg);
    wsq_join(&ctx, &job);
}

static double sample_run(wsq_pool *pool) {
    union {
        uint64_t start;
        double us;
    } call;
    call.start = arm();
    bench_check(wsq_run(pool, fork_and_wait, &call) == WSQ_OK, "run");
    return call.us;
}

/* ---- measured ---- */

static double bare[SAMPLES], spawned[SAMPLES], forked[SAMPLES];

static void report(const char *name, double *samples, unsigned workers) {
    char line[64];
    qsort(samples, SAMPLES, sizeof *samples, bench_order);
    snprintf(line, sizeof line, "wake/%s_p50", name);
    bench_line(line, samples[SAMPLES / 2], "us", workers, "");
    snprintf(line, sizeof line, "wake/%s_p99", name);
    bench_line(line, samples[SAMPLES * 99 / 100], "us", workers, "");
}

static void to_bare(const char *name, const double *samples, unsigned workers, double limit) {
    char rest[64];
    double ratio = samples[SAMPLES / 2] / bare[SAMPLES / 2];
    snprintf(rest, sizeof rest, "target<=%g %s", limit, ratio <= limit ? "met" : "missed");
    bench_line(name, ratio, "x", workers, rest);
}

static void measure_latency(unsigned workers) {
    pthread_t thread;
    wsq_pool *pool = bench_pool(workers);
    wsq_random random;
    wsq_random_seed(&random, 1);
    bench_check(pthread_create(&thread, NULL, sleeper, NULL) == 0, "thread");
    for (uint32_t i = 0; i < SAMPLES; i++) {
        bench_sleep_us(200 + (long)wsq_random_below(&random, 300));
        bare[i] = sample_bare(i + 1);
        bench_sleep_us(200 + (long)wsq_random_below(&random, 300));
        spawned[i] = sample_spawn(pool);
        bench_sleep_us(200 + (long)wsq_random_below(&random, 300));
        if (workers > 1) forked[i] = sample_run(pool);
    }
    bell_ring(UINT32_MAX);
    pthread_join(thread, NULL);
    wsqi_store_rel(&bell, 0);
    report("bare", bare, workers);
    report("spawn", spawned, workers);
    to_bare("wake/spawn_to_bare", spawned, workers, 1.1);
    if (workers == 1) return;
    report("run_steal", forked, workers);
    to_bare("wake/run_steal_to_bare", forked, workers, 2);
}

static void measure_idle(unsigned workers) {
    struct rusage before, after;
    wsq_pool *pool = bench_pool(workers);
    sample_spawn(pool);
    bench_sleep_us(100000); /* spinning is over */
    getrusage(RUSAGE_SELF, &before);
    uint64_t start = bench_now(), cpu = bench_clock(CLOCK_PROCESS_CPUTIME_ID);
    bench_sleep_us(IDLE_SECONDS * 1000000L);
    double percent =
        100 * (double)(bench_clock(CLOCK_PROCESS_CPUTIME_ID) - cpu) / bench_since(start);
    getrusage(RUSAGE_SELF, &after);
    long switches = after.ru_nvcsw + after.ru_nivcsw - before.ru_nvcsw - before.ru_nivcsw;
    bench_line("wake/idle_cpu", percent, "%", workers, "target<=0.01");
    bench_line("wake/idle_switches", (double)switches, "switches", workers, "the-sleep-itself=1");
}

int main(int argc, char **argv) {
    bench_begin("wake", argc, argv);
    unsigned all = bench_all_workers();
    measure_latency(1);
    if (all > 1) measure_latency(all);
    measure_idle(all);
    return bench_end();
}
