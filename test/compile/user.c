/* The declarations alone; implementation.c brings the rest. */
#include "../../wsq.h"

int main(void) {
    return wsq_pool_create(NULL, NULL) == WSQ_OK;
}
