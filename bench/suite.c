/* The suite: what a thread pool does all day, beside what a program would write for itself.
 *
 *   micro    100,000 tasks of 1 us from outside       beside a mutex pool, a thread for each task
 *   sort     quicksort of 10^7 integers, 1..16 workers beside the sequential one
 *   mixed    10,000: 80% 1 us, 15% 100 us, 5% 10 ms   beside a mutex pool, fixed shares
 *   stress   10^6 empty tasks from 8 outside threads  beside a mutex pool
 *   price    of a spawn, of a steal, of memory
 *   order    a sort and a tree of empty tasks          as jobs, newest first, oldest first
 *
 * suite [--workers N] [--rounds N] [part ...]: all parts, or these. Every figure is the median
 * of the rounds; the lines about where the work went are of one more round. A thread for each
 * task is what C++'s std::async starts; async.cpp measures that. The lines at the end of all parts, which begin with "#
 * summary", repeat what matters, and name what wsq lost. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "suite/micro.h"
#include "suite/sort.h"
#include "suite/mixed.h"
#include "suite/stress.h"
#include "suite/price.h"
#include "suite/order.h"

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
    printf("# summary: recommendation: %s; recursion as jobs%s\n",
           summary.utilisation > 95 ? "the default pool keeps these cores busy"
                                    : "other programs want these cores too: fewer workers, or "
                                      "WSQ_SPIN_OFF (examples/recipes/share.c)",
           summary.fifo_to_lifo > 1.1 ? ", or as tasks with WSQ_LIFO" : "");
}

#define PARTS 6
#define PART_NAMES "micro sort mixed stress price order"

static const struct {
    const char *name;
    void (*run)(void);
} parts[PARTS] = {{"micro", suite_micro},
                  {"sort", suite_sort},
                  {"mixed", suite_mixed},
                  {"stress", suite_stress},
                  {"price", suite_price},
                  {"order", suite_order}};
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
    printf("# queue of a worker: a ring of %d, oldest first, thieves take half (WSQ_FIFO)\n",
           WSQ_RING_CAPACITY);
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
