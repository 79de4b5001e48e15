/* How do I nest loops, and get a result from them?
 *     cc -O2 -pthread nested.c -o nested && ./nested
 *
 * Call wsq_for or wsq_reduce in the body of the outer loop, with the context that the body
 * received. No setting is needed: an inner loop is cut only while a worker is idle. */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"

enum { ROWS = 200, COLUMNS = 3000 };
static long sums[ROWS];

static void zero(void *sum, void *arg) { *(long *)sum = 0, (void)arg; }
static void add(void *left, const void *right, void *arg) {
    *(long *)left += *(const long *)right, (void)arg;
}

static void columns(wsq_ctx ctx, size_t begin, size_t end, void *sum, void *arg) {
    (void)ctx;
    for (size_t x = begin; x < end; x++) *(long *)sum += (long)(x * *(size_t *)arg);
}

static void rows(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    (void)arg;
    for (size_t y = begin; y < end; y++) {
        wsq_reducer inner = {sizeof(long), zero, columns, add, &y, false};
        wsq_reduce(ctx, 0, COLUMNS, 0, &inner, &sums[y]);
    }
}

static void all(wsq_ctx ctx, void *arg) { wsq_for(ctx, 0, ROWS, 0, rows, arg); }

int main(void) {
    wsq_pool *pool;
    int right = 0;
    if (wsq_pool_create(&pool, NULL) != WSQ_OK) return 1;
    wsq_run(pool, all, NULL);
    wsq_pool_destroy(pool);
    for (long y = 0; y < ROWS; y++) right += sums[y] == y * (COLUMNS * (COLUMNS - 1L) / 2);
    printf("%d of %d rows are right\n", right, ROWS);
    return right == ROWS ? 0 : 1;
}
