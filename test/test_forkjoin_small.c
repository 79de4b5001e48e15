/* Fork and join on job stacks of a few hundred entries, which overflow. */
#define TEST_FORKJOIN_NAME "test_forkjoin_small"
#define WSQ_BLOCK_SIZE 8192
#include "test_forkjoin.c"
