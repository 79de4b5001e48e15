/* The second file of scale_known: a program of several files has one machine. */
#include "scale_known.h"

#ifdef SCALE_TICKS
static uint64_t now; /* ns */

uint64_t SCALE_TICKS(void) { return now; }
#endif

void compute(void) {
#ifdef SCALE_TICKS
    now += 30000;
    return;
#endif
    static volatile unsigned x;
    for (unsigned i = 0; i < 100000; i++) x = x + i;
}

static void link_run(wsq_ctx ctx, wsq_job *job) {
    (void)ctx, (void)job;
    compute();
}

void chain(wsq_ctx ctx, int links) {
    for (; links > 0; links--) {
        wsq_job job;
        wsq_fork(&ctx, &job, link_run);
        wsq_join(&ctx, &job);
    }
}
