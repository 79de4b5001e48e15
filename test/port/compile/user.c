/* The declarations alone; implementation.c brings the rest. */
#include "../../../wsq.h"

int main(void) {
    wsq_pool *pool;
    if (wsq_pool_create(&pool, NULL) != WSQ_OK) return 1;
    wsq_pool_destroy(pool);
    return 0;
}
