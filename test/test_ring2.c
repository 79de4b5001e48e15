/* The ring's tests with 2 slots, and indices that wrap at once. */
#define TEST_RING_NAME "test_ring2"
#define WSQ_RING_CAPACITY 2
#define WSQ_RING_START (0u - 3u)
#include "test_ring.c"
