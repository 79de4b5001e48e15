/* What the two files of scale_known share. */
#ifndef SCALE_KNOWN_H
#define SCALE_KNOWN_H

#include "../../wsq.h"

/* About 0.2 ms of a processor. */
void compute(void);

/* So many jobs, each joined before the next. */
void chain(wsq_ctx ctx, int links);

#endif /* SCALE_KNOWN_H */
