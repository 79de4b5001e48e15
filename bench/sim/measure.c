/* What the simulator's machine "here" is made of: prices of this machine, one line each.
 *
 *   measure            needs two cores that are idle
 *
 * Each is the median of many rounds; machine.h names the figures that it took. */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include "../bench.h"

#include <pthread.h>

#define ROUNDS 31
#define STEPS 20000

static struct { WSQI_ALIGNED(128) wsqi_a64 word; } ball, other;
static wsqi_a32 stop;

static void report(const char *name, double *samples, const char *rest) {
    bench_summary s = bench_summarise(samples, ROUNDS);
    char line[64];
    snprintf(line, sizeof line, "measure/%s", name);
    bench_line(line, s.median, "ns", 0, rest);
}

/* ---- on one core ---- */

#define MEASURE(name, rest, statement) \
    do { \
        double samples[ROUNDS]; \
        for (int round = 0; round < ROUNDS; round++) { \
            uint64_t start = bench_now(); \
            for (int i = 0; i < STEPS; i++) { statement; } \
            samples[round] = bench_since(start) / STEPS; \
        } \
        report(name, samples, rest); \
    } while (0)

static void measure_alone(void) {
    uint64_t expected = 0;
    MEASURE("load_store", "its own line, each waits for the one before",
            wsqi_store_rlx(&ball.word, wsqi_load_rlx(&ball.word) + 1); bench_keep(&ball));
    MEASURE("rmw", "its own line", wsqi_add_acqrel(&ball.word, 1u));
    MEASURE("cas", "its own line", expected = wsqi_load_rlx(&ball.word);
            (void)wsqi_cas_rel(&ball.word, &expected, expected + 1));
    MEASURE("fence", "full barrier", wsqi_fence_sc());
    MEASURE("pause", "spin hint", wsqi_pause());
    MEASURE("clock", "monotonic clock", (void)bench_now());
}

/* ---- two cores ---- */

/* Answers every odd number with the next even one. */
static void *answer(void *arg) {
    bool rmw = arg != NULL;
    while (!wsqi_load_rlx(&stop)) {
        uint64_t value = wsqi_load_acq(&ball.word);
        if ((value & 1) == 0) continue;
        if (rmw) wsqi_add_acqrel(&ball.word, 1u);
        else wsqi_store_rel(&ball.word, value + 1);
    }
    return NULL;
}

/* A round trip takes the line over and back: two transfers for a read, and two for a write that
 * ends the other's copy. */
static void measure_ball(const char *name, bool rmw) {
    double samples[ROUNDS];
    pthread_t thread;
    wsqi_store_rlx(&stop, 0u);
    wsqi_store_rlx(&ball.word, (uint64_t)0);
    bench_check(pthread_create(&thread, NULL, answer, rmw ? &stop : NULL) == 0, "thread");
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t start = bench_now();
        for (int i = 0; i < STEPS; i++) {
            uint64_t value = wsqi_load_rlx(&ball.word);
            if (rmw) wsqi_add_acqrel(&ball.word, 1u);
            else wsqi_store_rel(&ball.word, value + 1);
            while (wsqi_load_acq(&ball.word) == value + 1) {}
        }
        samples[round] = bench_since(start) / STEPS;
    }
    wsqi_store_rlx(&stop, 1u);
    pthread_join(thread, NULL);
    report(name, samples, "round trip of a line between two cores");
}

/* Both add to one word as fast as they can. */
static void *add_on(void *arg) {
    (void)arg;
    while (!wsqi_load_rlx(&stop)) wsqi_add_acqrel(&other.word, 1u);
    return NULL;
}

static void measure_contended(void) {
    double samples[ROUNDS];
    pthread_t thread;
    wsqi_store_rlx(&stop, 0u);
    bench_check(pthread_create(&thread, NULL, add_on, NULL) == 0, "thread");
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t before = wsqi_load_rlx(&other.word), start = bench_now();
        for (int i = 0; i < STEPS; i++) wsqi_add_acqrel(&other.word, 1u);
        double ns = bench_since(start);
        samples[round] = ns / (double)(wsqi_load_rlx(&other.word) - before);
    }
    wsqi_store_rlx(&stop, 1u);
    pthread_join(thread, NULL);
    report("contended_add", samples, "per addition, two cores at one word");
}

/* ---- many lines that the other core has just written: all are looked at, as by one that looks for
 * work, or each tells where the next one is ---- */

enum { SCANNED = 128, APART = 4096 + 192 };

static char *scanned;
static wsqi_a32 turn; /* even: the other core's, to write */

static wsqi_a64 *scan_word(int i) { return (wsqi_a64 *)(void *)(scanned + (size_t)i * APART); }

static void *write_all(void *arg) {
    (void)arg;
    for (uint32_t at = 0; !wsqi_load_rlx(&stop); at += 2) {
        while (wsqi_load_acq(&turn) != at && !wsqi_load_rlx(&stop)) {}
        /* 37 and 128 have no common divisor: every line is in the chain */
        for (int i = 0; i < SCANNED; i++)
            wsqi_store_rlx(scan_word(i), (uint64_t)((i + 37) % SCANNED));
        wsqi_store_rel(&turn, at + 1);
    }
    return NULL;
}

static void measure_scan(const char *name, bool chain) {
    double samples[ROUNDS * 8];
    pthread_t thread;
    wsqi_store_rlx(&stop, 0u);
    wsqi_store_rlx(&turn, 0u);
    scanned = bench_alloc((size_t)SCANNED * APART);
    bench_check(pthread_create(&thread, NULL, write_all, NULL) == 0, "thread");
    for (uint32_t round = 0; round < ROUNDS * 8; round++) {
        while (wsqi_load_acq(&turn) != 2 * round + 1) {}
        uint64_t start = bench_now(), at = 0;
        for (int i = 0; i < SCANNED; i++) {
            uint64_t value = wsqi_load_rlx(scan_word(chain ? (int)at : i * 37 % SCANNED));
            bench_check(value < SCANNED, "scan");
            if (chain) at = value;
        }
        samples[round] = bench_since(start) / SCANNED;
        wsqi_store_rel(&turn, 2 * round + 2);
    }
    wsqi_store_rlx(&stop, 1u);
    pthread_join(thread, NULL);
    qsort(samples, ROUNDS * 8, sizeof *samples, bench_order);
    char line[64];
    snprintf(line, sizeof line, "measure/%s", name);
    bench_line(line, samples[ROUNDS * 4], "ns", 0, "each of many lines of the other core");
    free(scanned);
}

/* ---- sleep and wake ---- */

static wsqi_parking parking;
static wsqi_a32 bell;
static wsqi_a64 woken_at;

static void *sleeper(void *arg) {
    (void)arg;
    for (uint32_t seen = 0; seen < ROUNDS * 8; seen++) {
        while (wsqi_load_acq(&bell) == seen) wsqi_parking_wait(&parking, &bell, seen, 0);
        wsqi_store_rel(&woken_at, bench_now());
    }
    return NULL;
}

static void measure_wake(void) {
    double calls[ROUNDS * 8], latencies[ROUNDS * 8];
    pthread_t thread;
    wsqi_parking_init(&parking);
    bench_check(pthread_create(&thread, NULL, sleeper, NULL) == 0, "thread");
    for (uint32_t i = 0; i < ROUNDS * 8; i++) {
        bench_sleep_us(300);
        wsqi_store_rel(&woken_at, 0);
        uint64_t start = bench_now(), at;
        wsqi_store_rel(&bell, i + 1);
        wsqi_parking_wake(&parking, &bell, false);
        uint64_t called = bench_now();
        while ((at = wsqi_load_acq(&woken_at)) == 0) {}
        calls[i] = (double)(called - start);
        latencies[i] = (double)(at - start);
    }
    pthread_join(thread, NULL);
    qsort(calls, ROUNDS * 8, sizeof *calls, bench_order);
    qsort(latencies, ROUNDS * 8, sizeof *latencies, bench_order);
    bench_line("measure/wake_call", calls[ROUNDS * 4], "ns", 0, "futex wake of a sleeper");
    bench_line("measure/wake_latency", latencies[ROUNDS * 4], "ns", 0, "until the sleeper runs");
    MEASURE("wake_nobody", "futex wake without a sleeper", wsqi_parking_wake(&parking, &bell, false));
    MEASURE("wait_refused", "futex wait whose word has changed",
            wsqi_parking_wait(&parking, &bell, ROUNDS * 8 + 1, 0));
    wsqi_parking_fini(&parking);
}

int main(int argc, char **argv) {
    bench_begin("measure", argc, argv);
    measure_alone();
    measure_ball("ball_store", false);
    measure_ball("ball_rmw", true);
    measure_contended();
    measure_scan("scan", false);
    measure_scan("chain", true);
    measure_wake();
    return 0;
}
