/* What the two files of scale_known share. */
#ifndef SCALE_KNOWN_H
#define SCALE_KNOWN_H

#include "../../wsq.h"

/* 30 us by the clock of the test, SCALE_TICKS; without one, about that much of a processor. */
void compute(void);

/* So many jobs, each joined before the next. */
void chain(wsq_ctx ctx, int links);

#endif /* SCALE_KNOWN_H */
