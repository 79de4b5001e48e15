/* explore_ring.c with rings of four. */
#define WSQ_RING_CAPACITY 4
#include "explore_ring.c"
