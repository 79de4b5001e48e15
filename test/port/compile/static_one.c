/* A private copy; static_two.c has its own. */
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#include "../../../wsq.h"

int other(void);

int main(void) {
    wsq_pool *pool;
    if (other() != 0 || wsq_pool_create(&pool, NULL) != WSQ_OK) return 1;
    wsq_pool_destroy(pool);
    return 0;
}
