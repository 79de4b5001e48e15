/* A private copy; static_one.c has its own. */
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"

int other(void);

int other(void) {
    return wsq_pool_create(NULL, NULL) == WSQ_OK;
}
