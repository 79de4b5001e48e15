/* The header last, when the system's headers have decided what they show. */
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WSQ_IMPLEMENTATION
#include "../../../wsq.h"

int main(void) {
    wsq_pool *pool;
    if (wsq_pool_create(&pool, NULL) != WSQ_OK) return 1;
    wsq_pool_destroy(pool);
    return 0;
}
