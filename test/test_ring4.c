/* The ring's tests with 4 slots, and indices that wrap at once. */
#define TEST_RING_NAME "test_ring4"
#define WSQ_RING_CAPACITY 4
#define WSQ_RING_START (0u - 6u)
#include "test_ring.c"
