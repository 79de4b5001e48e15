/* explore_small.h - how wsq.h is compiled for the scenarios with a whole pool: small, so that many
 * executions are walked. Include it before wsq.h, and explore_pool.h after it. */
#ifndef EXPLORE_SMALL_H
#define EXPLORE_SMALL_H

#ifndef WSQ_RING_CAPACITY
#define WSQ_RING_CAPACITY 2
#endif
#define WSQ_RING_START (0u - 2u)
#ifndef WSQ_GUESTS
#define WSQ_GUESTS 0
#endif
#ifndef WSQ_BLOCK_SIZE
#define WSQ_BLOCK_SIZE 4096
#endif
#define WSQ_CACHELINE 16 /* nothing is shared by two cores here */
#define WSQI_LOCK_TRIES 2
#define WSQI_BUCKET_BITS 4 /* each is a lock, and a step, where all are looked at */
#define WSQ_NO_STATS
#include "explore.h"

#endif /* EXPLORE_SMALL_H */
