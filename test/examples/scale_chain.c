/* The second file of scale_known: a program of several files has one machine. */
#include "scale_known.h"

void compute(void) {
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
