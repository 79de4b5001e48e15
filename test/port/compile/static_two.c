/* A private copy; static_one.c has its own. */
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#include "../../../wsq.h"

int other(void);

int other(void) {
    wsq_pool *pool;
    if (wsq_pool_create(&pool, NULL) != WSQ_OK) return 1;
    wsq_pool_destroy(pool);
    return 0;
}
