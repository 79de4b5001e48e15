/* Parallel for: the body gets a range, so its inner loop is an ordinary loop.
 *     cc -O2 -pthread 04_parallel_for.c -o parallel_for && ./parallel_for
 *
 * The range is split only while a worker is idle. With grain 0, wsq_for finds the smallest piece
 * by measuring. This example computes how many steps the Collatz sequence of each number takes to
 * reach 1. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include <stdlib.h>

#define COUNT ((size_t)1000000)

static void collatz(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    unsigned short *steps = arg;
    (void)ctx;
    for (size_t i = begin; i < end; i++) {
        unsigned short taken = 0;
        for (uint64_t n = i; n > 1; taken++) n = n % 2 ? 3 * n + 1 : n / 2;
        steps[i] = taken; /* every index belongs to one call: no lock */
    }
}

static void start(wsq_ctx ctx, void *arg) {
    wsq_for(ctx, 0, COUNT, 0, collatz, arg); /* back when every index is done */
}

int main(void) {
    unsigned short *steps = malloc(COUNT * sizeof *steps);
    wsq_pool *pool;
    if (!steps || wsq_pool_create(&pool, NULL) != WSQ_OK) return 1;
    wsq_run(pool, start, steps);

    size_t best = 0;
    for (size_t i = 1; i < COUNT; i++) {
        if (steps[i] > steps[best]) best = i;
    }
    printf("below %zu, %zu takes the most steps: %u\n", COUNT, best, (unsigned)steps[best]);
    bool right = best == 837799 && steps[best] == 524;
    wsq_pool_destroy(pool);
    free(steps);
    return right ? 0 : 1;
}
