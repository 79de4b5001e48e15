/* How do I share the machine with another pool (OpenMP, oneTBB, a second wsq)?
 *     cc -O2 -pthread share.c -o share && ./share
 *
 * Idle workers sleep, so two pools hurt each other only while both are busy. Give each its part of
 * the cores, and let idle workers sleep soon (WSQ_SPIN_OFF), so that the other pool has the core.
 * A task may wait in the other pool: a stand-in takes its place, and no core is lost. */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"

static wsq_pool *first, *second;

static void *square(void *arg) {
    intptr_t n = (intptr_t)arg;
    return (void *)(n * n);
}

static void *through_both(void *arg) { /* a task of the first pool, which asks the second */
    wsq_future *future;
    void *result = NULL;
    if (wsq_submit(second, square, arg, &future) == WSQ_OK) wsq_future_get(future, &result);
    return result;
}

int main(void) {
    wsq_future *futures[10];
    intptr_t sum = 0;
    wsq_config config = {.name = "first", .spin_ns = WSQ_SPIN_OFF};
    if (wsq_pool_create(&first, &config) != WSQ_OK) return 1; /* only to count the cores */
    config.workers = (wsq_pool_workers(first) + 1) / 2;
    wsq_pool_destroy(first);
    if (wsq_pool_create(&first, &config) != WSQ_OK) return 1;
    config.name = "second";
    if (wsq_pool_create(&second, &config) != WSQ_OK) return 1;
    for (intptr_t i = 0; i < 10; i++)
        if (wsq_submit(first, through_both, (void *)i, &futures[i]) != WSQ_OK) return 1;
    for (int i = 0; i < 10; i++) {
        void *result = NULL;
        wsq_future_get(futures[i], &result);
        sum += (intptr_t)result;
    }
    wsq_pool_destroy(first);
    wsq_pool_destroy(second);
    printf("%u workers each, sum %d\n", config.workers, (int)sum);
    return sum == 285 ? 0 : 1;
}
