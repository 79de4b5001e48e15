/* What the peer programs in C and C++ share; those in Rust and Go do the same in their language.
 *
 *   PEER                    lists its cases
 *   PEER CASE WORKERS [ARG] runs one and prints "value unit", the median of some rounds; a case
 *                           with percentiles: a line for each, the name of the row behind
 *
 * A case says how many operations it did and how long they took, and checks its result.
 * Environment: PEER_ONCE: one round, nothing to warm up (for a clock around the program). PEER_MANY:
 * as many rounds as there is time for, and a line for the time that 95 of 100 took at most. */
#ifndef PEER_H
#define PEER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PEER_ROUNDS 5
#define PEER_MANY_ROUNDS 101
#define PEER_ENOUGH_NS 2e7   /* a round of a growing case takes at least this */
#define PEER_PATIENCE_NS 8e8 /* past that no further round begins */

typedef struct peer_result {
    double ns, operations;
} peer_result;

typedef struct peer_case {
    const char *name, *unit;
    peer_result (*run)(long size);
    long size;
    long step; /* added to the size until a round is long enough; 0: the size is fixed */
} peer_case;

static unsigned peer_workers;
static long peer_arg; /* ns of a grain; 0: the case has none */

static inline void peer_calibrate(void);

static inline double peer_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static inline void peer_check(bool condition, const char *what) {
    if (condition) return;
    fprintf(stderr, "FAILED: %s\n", what);
    exit(1);
}

static inline void peer_sleep_us(long us) {
    struct timespec time = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&time, NULL);
}

static inline int peer_order(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline double peer_sort(double *samples, int count) {
    qsort(samples, (size_t)count, sizeof *samples, peer_order);
    return samples[count / 2];
}

/* ---- percentiles: samples of all rounds of one case ---- */

#define PEER_SAMPLES 200 /* of a round */
#define PEER_PAUSE_US 1000 /* in which a pool falls asleep */

static double peer_samples[PEER_SAMPLES * (PEER_ROUNDS + 1)];
static int peer_sample_count;

/* The wake case: a pool that had nothing to do for a while is given a task. give hands over a task
 * that stores the time; wait returns that time once the task has begun. */
static inline peer_result peer_wake(void (*give)(void), double (*wait)(void)) {
    for (int i = 0; i < PEER_SAMPLES; i++) {
        peer_sleep_us(PEER_PAUSE_US);
        double begin = peer_now();
        give();
        peer_samples[peer_sample_count++] = (wait() - begin) / 1e3;
    }
    peer_result result = {0, 1};
    return result;
}

/* The ask case: a thread outside asks for one small thing and waits for it, by the peer's own wait,
 * again and again. Of ten one is a sample. */
static inline peer_result peer_ask(void (*ask)(void)) {
    for (int i = 0; i < 10 * PEER_SAMPLES; i++) {
        double begin = peer_now();
        ask();
        if (i % 10 == 9) peer_samples[peer_sample_count++] = (peer_now() - begin) / 1e3;
    }
    peer_result result = {0, 1};
    return result;
}

static inline void peer_print_percentiles(const char *name, const char *unit) {
    double *all = peer_samples;
    int count = peer_sample_count;
    peer_sort(all, count);
    printf("%.6g %s %s_p90\n", all[count * 9 / 10], unit, name);
    if (getenv("PEER_MANY")) printf("%.6g %s %s_p95\n", all[count * 95 / 100], unit, name);
    printf("%.6g %s %s_p99\n", all[count * 99 / 100], unit, name);
    printf("%.6g %s %s\n", all[count / 2], unit, name);
}

/* The idle case: processor time of a pool that has nothing to do, in percent of a core. */
static inline peer_result peer_idle(void) {
    struct timespec cpu[2];
    peer_sleep_us(10000); /* the last work was just done */
    double begin = peer_now();
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu[0]);
    peer_sleep_us(250000);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu[1]);
    double ns = (double)(cpu[1].tv_sec - cpu[0].tv_sec) * 1e9 +
                (double)(cpu[1].tv_nsec - cpu[0].tv_nsec);
    peer_result result = {100 * ns, peer_now() - begin};
    return result;
}

/* ---- measure ---- */

static inline void peer_measure(const peer_case *self) {
    double samples[PEER_MANY_ROUNDS], begin = peer_now();
    bool once = getenv("PEER_ONCE") != NULL, many = getenv("PEER_MANY") != NULL;
    long size = self->size;
    int rounds = 0, most = many ? PEER_MANY_ROUNDS : PEER_ROUNDS;
    peer_result result = {0, 1};
    if (!once) result = self->run(size);
    while (!once && self->step != 0 && result.ns < PEER_ENOUGH_NS)
        result = self->run(size += self->step);
    if (!once && peer_now() - begin > PEER_PATIENCE_NS)
        samples[rounds++] = result.ns / result.operations; /* the warm-up counts */
    while (rounds == 0 ||
           (!once && rounds < (peer_sample_count > 0 ? PEER_ROUNDS : most) &&
            peer_now() - begin < PEER_PATIENCE_NS)) {
        if (rounds == 0) peer_sample_count = 0;
        result = self->run(size);
        samples[rounds++] = result.ns / result.operations;
    }
    if (peer_sample_count > 0) {
        peer_print_percentiles(self->name, self->unit);
    } else {
        printf("%.6g %s\n", peer_sort(samples, rounds), self->unit);
        if (many) printf("%.6g %s %s_p95\n", samples[rounds * 95 / 100], self->unit, self->name);
    }
}

/* start makes the pool of peer_workers, stop ends it. */
static inline int peer_main(int argc, char **argv, const peer_case *cases, size_t count,
                            void (*start)(void), void (*stop)(void)) {
    for (size_t i = 0; argc == 1 && i < count; i++) printf("%s\n", cases[i].name);
    if (argc < 3) return argc != 1;
    peer_workers = (unsigned)atoi(argv[2]);
    peer_arg = argc > 3 ? atol(argv[3]) : 0;
    if (peer_arg > 0) peer_calibrate();
    for (size_t i = 0; i < count; i++) {
        if (strcmp(argv[1], cases[i].name) != 0) continue;
        start();
        peer_measure(&cases[i]);
        stop();
        return 0;
    }
    return 1;
}

#endif
