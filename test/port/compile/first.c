/* The header first, before any of the system's. */
#define WSQ_IMPLEMENTATION
#include "../../../wsq.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int main(void) {
    wsq_pool *pool;
    if (wsq_pool_create(&pool, NULL) != WSQ_OK) return 1;
    wsq_pool_destroy(pool);
    return 0;
}
