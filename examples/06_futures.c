/* Futures: a function call whose result is fetched later.
 *     cc -O2 -pthread 06_futures.c -o futures && ./futures
 *
 * You need no struct of your own, and the pool allocates nothing once it has a few futures.
 *
 * A wait inside a task does not deadlock: if no worker has started the future, the waiting task
 * calls it; otherwise a stand-in works in the waiting worker's place. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include <stdlib.h>

#define LIMIT 1000000u
#define PIECES 20u

static wsq_pool *pool;

struct range {
    unsigned begin, end;
    size_t primes;
};

/* What is submitted takes a pointer and returns one. */
static void *count_primes(void *arg) {
    struct range *range = arg;
    for (unsigned n = range->begin; n < range->end; n++) {
        unsigned divisor = 2;
        while (divisor * divisor <= n && n % divisor != 0) divisor++;
        if (divisor * divisor > n && n > 1) range->primes++;
    }
    return range;
}

/* The same by halves: it submits, and waits, on whatever worker it runs. */
static void *count_by_halves(void *arg) {
    struct range *all = arg, left = *all, right = *all;
    wsq_future *future;
    left.end = right.begin = all->begin + (all->end - all->begin) / 2;
    if (all->end - all->begin <= LIMIT / 64 ||
        wsq_submit(pool, count_by_halves, &left, &future) != WSQ_OK)
        return count_primes(all);
    count_by_halves(&right);
    wsq_future_get(future, NULL); /* waits, and frees the future */
    all->primes = left.primes + right.primes;
    return all;
}

static size_t count_by_pieces(void) {
    struct range ranges[PIECES];
    wsq_future *futures[PIECES];
    size_t sum = 0;
    for (unsigned i = 0; i < PIECES; i++) {
        ranges[i] = (struct range){LIMIT / PIECES * i, LIMIT / PIECES * (i + 1), 0};
        if (wsq_submit(pool, count_primes, &ranges[i], &futures[i]) != WSQ_OK) abort();
    }
    for (unsigned i = 0; i < PIECES; i++) { /* in any order */
        void *result;
        wsq_future_get(futures[i], &result);
        sum += ((struct range *)result)->primes;
    }
    return sum;
}

int main(void) {
    struct range all = {0, LIMIT, 0};
    wsq_future *future;
    if (wsq_pool_create(&pool, NULL) != WSQ_OK) return 1;
    size_t sum = count_by_pieces();
    printf("by pieces: %zu primes below %u\n", sum, LIMIT);
    if (wsq_submit(pool, count_by_halves, &all, &future) != WSQ_OK) return 1;
    wsq_future_get(future, NULL);
    printf("by halves: %zu primes below %u\n", all.primes, LIMIT);
    wsq_pool_destroy(pool);
    return sum == 78498 && all.primes == sum ? 0 : 1;
}
