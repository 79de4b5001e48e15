/* The same expectations of the second set of atomics, which is C11's own. */
#ifndef WSQ_FORCE_STDATOMIC
#define WSQ_FORCE_STDATOMIC
#endif
#include "test_atomic.c"
