/* test.h - what the tests share: checks, seeded random numbers, threads that start together, a watchdog.
 *
 *   WSQ_SEED    repeats a run: every test prints the seed that it used
 *   WSQ_SCALE   multiplies the length of the stress tests, 1 by default
 *   WSQ_STOP    ends the program at the first check that fails
 *
 * No test asserts on time: a wake-up that is lost shows as a hang, which the watchdog ends. */
#ifndef TEST_H
#define TEST_H

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TEST_SLOWDOWN 10
#elif __has_feature(address_sanitizer)
#define TEST_SLOWDOWN 3
#endif
#elif defined(__SANITIZE_THREAD__)
#define TEST_SLOWDOWN 10
#elif defined(__SANITIZE_ADDRESS__)
#define TEST_SLOWDOWN 3
#endif
#ifndef TEST_SLOWDOWN
#define TEST_SLOWDOWN 1
#endif

enum { TEST_THREADS_MAX = 64, TEST_FAILURES_SHOWN = 20, TEST_WATCHDOG_SECONDS = 120 };

static atomic_ulong test_checks;
static atomic_ulong test_failures;
static uint64_t test_seed;
static double test_scale;
static bool test_stops;
static char test_name[64];
static const char *volatile test_running = "start";

/* ---- checks ---- */

#define CHECK(condition) test_check((condition), #condition, __FILE__, __LINE__)
#define CHECK_EQ(left, right) \
    test_check_equal((long long)(left), (long long)(right), #left " == " #right, __FILE__, __LINE__)

#define FAIL(text) test_check(false, text, __FILE__, __LINE__)

static inline bool test_check(bool good, const char *text, const char *file, int line) {
    atomic_fetch_add_explicit(&test_checks, 1, memory_order_relaxed);
    if (good) return true;
    if (atomic_fetch_add(&test_failures, 1) < TEST_FAILURES_SHOWN)
        fprintf(stderr, "%s:%d: %s: failed: %s\n", file, line, test_running, text);
    if (test_stops) _exit(EXIT_FAILURE);
    return false;
}

static inline bool test_check_equal(long long left, long long right, const char *text, const char *file,
                                    int line) {
    if (test_check(left == right, text, file, line)) return true;
    if (atomic_load(&test_failures) <= TEST_FAILURES_SHOWN)
        fprintf(stderr, "    left is %lld, right is %lld\n", left, right);
    return false;
}

/* ---- random numbers: splitmix64, so that no test depends on what it tests ---- */

static inline uint64_t test_random(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline uint32_t test_below(uint64_t *state, uint32_t n) {
    return (uint32_t)(((test_random(state) >> 32) * n) >> 32);
}

/* ---- the run ---- */

/* A variant of a program, of which the Makefile has the list, adds to its name. */
#define TEST_TEXT(word) TEST_TEXT_OF(word)
#define TEST_TEXT_OF(word) #word
#ifndef TEST_VARIANT
#define TEST_VARIANT
#endif

/* Only what a signal handler may call. */
static inline void test_watchdog(int signal_number) {
    const char *parts[] = {"\nhang: ", test_name, ", ", test_running, " (seed above)\n"};
    (void)signal_number;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (write(STDERR_FILENO, parts[i], strlen(parts[i])) < 0) break;
    _exit(124);
}

static inline void test_begin(const char *name) {
    const char *seed = getenv("WSQ_SEED");
    const char *scale = getenv("WSQ_SCALE");
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(test_name, sizeof test_name, "%s%s", name, TEST_TEXT(TEST_VARIANT));
    test_seed = seed ? strtoull(seed, NULL, 0)
                     : (uint64_t)now.tv_nsec * 1000003u + (uint64_t)now.tv_sec + (uint64_t)getpid();
    test_scale = scale ? strtod(scale, NULL) : 1.0;
    if (!(test_scale > 0)) test_scale = 1.0;
    test_stops = getenv("WSQ_STOP") != NULL;
    signal(SIGALRM, test_watchdog);
    printf("%s: WSQ_SEED=%llu\n", test_name, (unsigned long long)test_seed);
    fflush(stdout);
}

static inline int test_end(void) {
    unsigned long failures = atomic_load(&test_failures);
    if (failures) printf("%s: %lu of ", test_name, failures);
    printf("%lu checks%s\n", atomic_load(&test_checks), failures ? " failed" : "");
    return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* A test has that long; its name tells the watchdog, and a failed check, where they are. */
#define RUN(test) (test_start(#test), (test)())

static inline void test_start(const char *test) {
    test_running = test;
    double scale = test_scale > 1 ? test_scale : 1;
    alarm((unsigned)((double)TEST_WATCHDOG_SECONDS * scale * (TEST_SLOWDOWN > 10 ? 5 : 1)));
}

/* How often a stress repeats: n, scaled, at least once. */
static inline size_t test_times(size_t n) {
    double scaled = (double)n * test_scale / TEST_SLOWDOWN;
    return scaled < 1 ? 1 : (size_t)scaled;
}

static inline void test_nap(long nanoseconds) {
    struct timespec time = {nanoseconds / 1000000000, nanoseconds % 1000000000};
    nanosleep(&time, NULL);
}

static inline void test_spin(uint32_t rounds) {
    for (volatile uint32_t i = 0; i < rounds; i++) {}
}

/* ---- threads that start together ---- */

typedef struct test_thread {
    unsigned index;
    unsigned count;
    uint64_t random; /* its own stream, from the seed */
    void *arg;
    void (*fn)(struct test_thread *self);
    atomic_uint *gate;
    pthread_t id;
} test_thread;

static inline void *test_thread_main(void *argument) {
    test_thread *self = argument;
    atomic_fetch_add(self->gate, 1);
    while (atomic_load(self->gate) < self->count) sched_yield();
    self->fn(self);
    return NULL;
}

/* Runs fn on count threads at once, and returns when all have returned. */
static inline void test_threads(unsigned count, void (*fn)(test_thread *self), void *arg) {
    static test_thread threads[TEST_THREADS_MAX];
    atomic_uint gate = 0;
    for (unsigned i = 0; i < count; i++) {
        uint64_t stream = test_seed + i;
        threads[i] = (test_thread){.index = i, .count = count, .random = test_random(&stream), .arg = arg,
                                   .fn = fn, .gate = &gate};
        if (pthread_create(&threads[i].id, NULL, test_thread_main, &threads[i]) != 0) {
            fprintf(stderr, "%s: the system starts no more threads\n", test_name);
            exit(EXIT_FAILURE);
        }
    }
    for (unsigned i = 0; i < count; i++) pthread_join(threads[i].id, NULL);
}

#endif /* TEST_H */
