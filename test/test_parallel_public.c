/* Loops and reductions that are cut at every look. */
#define TEST_PARALLEL_NAME "test_parallel_public"
#define WSQ_PUBLISH_ALWAYS
#include "test_parallel.c"
