/* The time that a futex call takes is the kernel's own, also where its `long` is longer than ours. */
#define WSQ_IMPLEMENTATION
#include "../../../wsq.h"

#include <asm/posix_types.h>

_Static_assert(sizeof(wsqi_futex_time) == 2 * sizeof(__kernel_long_t), "the kernel's time");
