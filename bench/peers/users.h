/* What users write: bursts of small tasks from outside, requests, graphs that run again, pipelines, short and
 * uneven loops. A peer names what it has (HAS_BURST...) and defines the functions declared there, before it
 * includes this; `loop_ranges` is its parallel loop, which calls body(begin, end). */
#ifndef PEER_USERS_H
#define PEER_USERS_H

#include "peer.h"

#include <pthread.h>

static inline void peer_spin(double ns) {
    double end = peer_now() + ns;
    while (peer_now() < end) {}
}

static inline peer_result peer_mean(double ns, long count) {
    peer_result result = {ns, 1e3 * (double)count};
    return result;
}

#ifdef HAS_BURST
static void burst(int count, double ns); /* so many tasks, and the wait for all */

static inline peer_result peer_bursts(long n, int count, double ns, long pause_us) {
    double sum = 0;
    for (long i = 0; i < n; i++) {
        if (pause_us < 1000) peer_spin(1e3 * (double)pause_us);
        else peer_sleep_us(pause_us);
        double begin = peer_now();
        burst(count, ns);
        sum += peer_now() - begin;
    }
    return peer_mean(sum, n);
}

static inline peer_result run_burst(long n) { return peer_bursts(n, 8, 1300, 50); }
static inline peer_result run_burst_32(long n) { return peer_bursts(n, 32, 10000, 2000); }

static inline void *peer_request_main(void *arg) {
    for (long i = 0; i < *(long *)arg; i++) burst(1, 1300);
    return NULL;
}

/* Four threads outside, each with one request at a time. */
static inline peer_result run_requests(long n) {
    pthread_t threads[4];
    double begin = peer_now();
    for (int i = 0; i < 4; i++) peer_check(pthread_create(&threads[i], NULL, peer_request_main, &n) == 0, "thread");
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    return peer_mean(peer_now() - begin, 4 * n);
}
#define PEER_BURST_CASES \
    {"burst", "us", run_burst, 300, 0}, {"burst_32", "us", run_burst_32, 20, 0}, {"requests", "us", run_requests, 1000, 0},
#else
#define PEER_BURST_CASES
#endif

#ifdef HAS_GRAPH
static void graph_make(long width, long count); /* each node after the one above and the one before */
static void graph_run(void);

static inline peer_result peer_graph(long n, long width, long count) {
    graph_make(width, count);
    graph_run();
    double begin = peer_now();
    for (long i = 0; i < n; i++) graph_run();
    return peer_mean(peer_now() - begin, n);
}

static inline peer_result run_graph_100(long n) { return peer_graph(n, 10, 100); }
static inline peer_result run_graph_1000(long n) { return peer_graph(n, 25, 1000); }
#define PEER_GRAPH_CASES \
    {"graph_100", "us", run_graph_100, 1000, 0}, {"graph_1000", "us", run_graph_1000, 100, 0},
#else
#define PEER_GRAPH_CASES
#endif

#ifdef HAS_PIPELINE
static void pipeline(long items, double ns); /* in order, in parallel for so long, in order; 16 lines */

static inline peer_result peer_pipeline(long items, double ns) {
    double begin = peer_now();
    pipeline(items, ns);
    return peer_mean(peer_now() - begin, items);
}

static inline peer_result run_pipeline_1(long n) { return peer_pipeline(n, 1000); }
static inline peer_result run_pipeline_10(long n) { return peer_pipeline(n, 10000); }
#define PEER_PIPELINE_CASES \
    {"pipeline_1", "us", run_pipeline_1, 10000, 0}, {"pipeline_10", "us", run_pipeline_10, 2000, 0},
#else
#define PEER_PIPELINE_CASES
#endif

#ifdef HAS_SHORT_LOOP
static void loop_ranges(long n, void (*body)(long begin, long end));

static inline void peer_loop_4(long begin, long end) { peer_spin(100 * (double)(end - begin)); }

static inline void peer_loop_none(long begin, long end) { (void)begin, (void)end; }

enum { PEER_TAIL = 20000, PEER_TAIL_HEAVY = 20, PEER_STENCIL = 30000, PEER_STENCIL_STEPS = 1000 };

static inline void peer_loop_tail(long begin, long end) {
    if (end > PEER_TAIL - PEER_TAIL_HEAVY) {
        long from = begin > PEER_TAIL - PEER_TAIL_HEAVY ? begin : PEER_TAIL - PEER_TAIL_HEAVY;
        peer_spin(1e5 * (double)(end - from));
    }
}

static double peer_cells[2][PEER_STENCIL + 2];
static int peer_from;

static inline void peer_loop_stencil(long begin, long end) {
    const double *from = peer_cells[peer_from];
    double *to = peer_cells[1 - peer_from];
    for (long i = begin; i < end; i++) to[i + 1] = 0.25 * from[i] + 0.5 * from[i + 1] + 0.25 * from[i + 2];
}

static inline peer_result peer_loops(long n, long count, void (*body)(long, long), long pause_us) {
    double sum = 0;
    for (long i = 0; i < n; i++) {
        if (pause_us != 0) peer_spin(1e3 * (double)pause_us);
        double begin = peer_now();
        loop_ranges(count, body);
        sum += peer_now() - begin;
        peer_from = 1 - peer_from;
    }
    return peer_mean(sum, n);
}

static inline peer_result run_short_loop(long n) { return peer_loops(n, 40, peer_loop_4, 50); }
static inline peer_result run_empty_loop(long n) { return peer_loops(n, 100, peer_loop_none, 0); }
static inline peer_result run_tail(long n) { return peer_loops(n, PEER_TAIL, peer_loop_tail, 0); }
static inline peer_result run_stencil(long n) { return peer_loops(n, PEER_STENCIL, peer_loop_stencil, 0); }
#define PEER_SHORT_LOOP_CASES \
    {"short_loop", "us", run_short_loop, 300, 0}, {"empty_loop", "us", run_empty_loop, 2000, 0}, \
        {"tail", "us", run_tail, 10, 0}, {"stencil", "us", run_stencil, PEER_STENCIL_STEPS, 0},
#else
#define PEER_SHORT_LOOP_CASES
#endif

#define PEER_USER_CASES PEER_BURST_CASES PEER_GRAPH_CASES PEER_PIPELINE_CASES PEER_SHORT_LOOP_CASES

#endif
