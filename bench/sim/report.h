/* report.h - tables for people, rows for plots, and the hottest lines.
 *
 * A row of the CSV file: question,case,machine,workers,metric,value */
#ifndef SIM_REPORT_H
#define SIM_REPORT_H

#include "tasks.h"

static FILE *report_csv; /* NULL: none */

static inline void report_row(const char *question, const char *what, unsigned workers,
                       const char *metric, double value) {
    if (report_csv == NULL) return;
    fprintf(report_csv, "%s,%s,%s,%u,%s,%.6g\n", question, what, sim.machine->name, workers, metric,
            value);
}

/* ---- the hottest lines ---- */

typedef struct heat {
    const sim_site *site;
    double transfer, queue, worst; /* ps; worst: on one line */
} heat;

/* "&self->ring.head" is ring.head, whatever self is. */
static const char *field_of(const sim_site *site) {
    const char *name = site->what, *arrow;
    while ((arrow = strstr(name, "->")) != NULL) name = arrow + 2;
    return *name == '&' ? name + 1 : name;
}

static int heat_order(const void *a, const void *b) {
    const heat *one = (const heat *)a, *two = (const heat *)b;
    double x = one->transfer + one->queue, y = two->transfer + two->queue;
    return (x < y) - (x > y);
}

/* Lines are one where the same field is waited for in the same function. Returns the worst single
 * line's share of all time. */
static double report_hot(const char *what, unsigned workers, const sim_meter *meter, int rows) {
    enum { HEATS = 256 };
    static heat heats[HEATS];
    int count = 0;
    double all = (double)meter->ns * 1000 * workers, worst = 0;
    for (size_t i = 1; i < sim_cache.hot_count; i++) {
        const sim_hot *hot = &sim_cache.hots[i];
        if (hot->site == NULL) continue;
        int k = 0;
        while (k < count && heats[k].site != hot->site) k++;
        if (k == HEATS) continue;
        if (k == count) heats[count++] = (heat){.site = hot->site};
        heats[k].transfer += (double)hot->transfer;
        heats[k].queue += (double)hot->queue;
        double loss = (double)(hot->transfer + hot->queue);
        if (loss > heats[k].worst) heats[k].worst = loss;
        if (loss > worst) worst = loss;
    }
    qsort(heats, (size_t)count, sizeof *heats, heat_order);
    if (rows > 0)
        printf("\n%s, %u workers on %s: what is lost on lines, %% of all time\n"
               "   all  its worst line  on the way  queueing  where\n",
               what, workers, sim.machine->name);
    for (int i = 0; i < rows && i < count; i++)
        printf("%6.2f  %14.2f  %10.2f  %8.2f  %s in %s\n",
               100 * (heats[i].transfer + heats[i].queue) / all, 100 * heats[i].worst / all,
               100 * heats[i].transfer / all, 100 * heats[i].queue / all, field_of(heats[i].site),
               heats[i].site->function);
    return worst / all;
}

/* Where the workers' time went. */
static void report_time(const sim_meter *meter, unsigned workers) {
    double all = (double)meter->ns * 1000 * workers / 100;
    printf("work %.1f%%, lines on the way %.1f%%, queueing %.1f%%, stores %.1f%%, spin %.1f%%, "
           "kernel %.1f%%, asleep %.1f%%; %llu wake-ups\n",
           (double)meter->work / all, (double)meter->transfer / all, (double)meter->queue / all,
           (double)meter->drain / all, (double)meter->spin / all, (double)meter->kernel / all,
           (double)meter->asleep / all, (unsigned long long)meter->woken);
}

/* ---- order statistics ---- */

static inline int double_order(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of sorted values. */
static inline double quantile(const double *sorted, size_t count, double q) {
    size_t i = (size_t)(q * (double)count);
    return sorted[i < count ? i : count - 1];
}

#endif /* SIM_REPORT_H */
