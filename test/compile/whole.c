/* Both halves in one C file. */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"

int main(void) {
    return wsq_pool_create(NULL, NULL) == WSQ_OK;
}
