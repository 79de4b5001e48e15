/* Fork and join with every job published at once, so that thieves come at every point. */
#define TEST_FORKJOIN_NAME "test_forkjoin_public"
#define WSQ_PUBLISH_ALWAYS
#include "test_forkjoin.c"
