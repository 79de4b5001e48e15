/* A private copy; static_two.c has its own. */
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"

int other(void);

int main(void) {
    return other() || wsq_pool_create(NULL, NULL) == WSQ_OK;
}
