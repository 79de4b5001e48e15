/* The same expectations of the second set of atomics, which is C11's own. */
#define WSQ_FORCE_STDATOMIC
#include "test_atomic.c"
