/* As cl sees it, as far as another compiler can tell: no gcc, no clang; stdatomic.h, _Alignas,
 * __declspec(thread) and intrin.h. For clang -fms-extensions on MinGW-w64's headers. */
#include <assert.h>
#include <errno.h>
#include <intrin.h>
#include <inttypes.h>
#include <process.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#undef __GNUC__
#undef __clang__
#undef __x86_64__
#define _MSC_VER 1938
#define _M_X64 100
#define __INTRIN_H /* there already */

#define WSQ_IMPLEMENTATION
#include "../../../wsq.h"

static long fib(wsq_ctx ctx, long n);
typedef struct fib_job { wsq_job job; long n, result; } fib_job;

static void fib_run(wsq_ctx ctx, wsq_job *job) {
    fib_job *self = wsq_container_of(job, fib_job, job);
    self->result = fib(ctx, self->n);
}

static long fib(wsq_ctx ctx, long n) {
    fib_job left;
    if (n < 2) return n;
    left.n = n - 1;
    wsq_fork(&ctx, &left.job, fib_run);
    long right = fib(ctx, n - 2);
    return right + (wsq_reclaim(&ctx, &left.job) ? fib(ctx, left.n) : left.result);
}

static void root(wsq_ctx ctx, void *arg) { *(long *)arg = fib(ctx, 24); }

int main(void) {
    wsq_pool *pool;
    long result = 0;
    if (wsq_pool_create(&pool, NULL) != WSQ_OK) return 1;
    if (wsq_run(pool, root, &result) != WSQ_OK) return 2;
    wsq_pool_destroy(pool);
    return result == 46368 ? 0 : 3;
}
