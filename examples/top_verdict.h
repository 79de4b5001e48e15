/* What top says in words: one sentence about what the workers did between two looks. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* One worker, between two looks. */
struct top_seen {
    uint64_t runs;     /* tasks and stolen jobs that ended */
    double idle;       /* asleep, of the time: 0 to 1 */
    double blocked;    /* in a wait, or between wsq_block_begin and wsq_block_end */
};

/* pending: tasks spawned and not done. queued_us: the median between spawn and start. */
static void top_verdict(char *text, size_t size, const struct top_seen *seen, unsigned workers,
                        double seconds, uint64_t pending, double queued_us) {
    unsigned most = 0, least = 0, runner = 0, stuck = workers;
    double busy = 0, blocked = 0;
    uint64_t runs = 0;
    for (unsigned i = 0; i < workers; i++) {
        busy += (1 - seen[i].idle) / workers;
        blocked += seen[i].blocked / workers;
        runs += seen[i].runs;
        if (seen[i].idle < seen[most].idle) most = i;
        if (seen[i].idle > seen[least].idle) least = i;
        if (seen[i].runs > seen[runner].runs) runner = i;
        if (seen[i].runs == 0 && seen[i].idle < 0.01 && seen[i].blocked < 0.01) stuck = i;
    }
    *text = '\0';
    if (workers == 0) return;
    double first = 100 * (1 - seen[most].idle), last = 100 * (1 - seen[least].idle);
    double share = runs ? 100 * (double)seen[runner].runs / (double)runs : 0;
    if (stuck != workers)
        snprintf(text, size, "stall: worker %u was in one task or job all the time, for %.1f s",
                 stuck, seconds);
    else if (blocked > 0.5)
        snprintf(text, size, "blocked: tasks wait on their workers for %.0f%% of the time",
                 100 * blocked);
    else if (runs == 0 && pending != 0)
        snprintf(text, size, "nothing runs: the tasks to do wait for a wake, a timer or each other");
    else if (runs == 0) snprintf(text, size, "idle: there is nothing to do");
    else if (workers > 1 && runs >= 100 && share > 90 && first > 50 && last < 30)
        snprintf(text, size, "one worker's tasks: worker %u ran %.0f%% of them. Are they pinned, or "
                 "do they only wake each other?", runner, share);
    else if (first > 70 && first - last > 30)
        snprintf(text, size, "imbalance: worker %u is busy for %.0f%% of the time, worker %u for "
                 "%.0f%%. Are there long tasks, or too few?", most, first, least, last);
    else if (busy > 0.9)
        snprintf(text, size, "all workers are busy: a task is queued for %.0f us before it starts",
                 queued_us);
    else snprintf(text, size, "balanced: each worker is busy for %.0f to %.0f%% of the time", last,
                  first);
}
