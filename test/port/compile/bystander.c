/* The declarations, for a type: no function of the header is called. */
#include "../../../wsq.h"

typedef struct bystander {
    wsq_ring ring;
    wsq_group group;
} bystander;

size_t bystander_size(void);
size_t bystander_size(void) { return sizeof(bystander); }
