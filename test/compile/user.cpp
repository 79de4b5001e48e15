/* The declarations alone; implementation.c brings the rest. */
#include "../../wsq.h"

int main() {
    return wsq_pool_create(NULL, NULL) == WSQ_OK;
}
