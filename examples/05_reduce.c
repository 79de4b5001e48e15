/* Reduce: one result from a range, combined in order.
 *     cc -O2 -pthread 05_reduce.c -o reduce && ./reduce
 *
 * This finds the longest run of heads in ten million coin tosses. A run may cross the place where
 * the range was split, so a partial result says what its two ends look like. Combining is
 * associative but not commutative: left and right must not change places, and wsq_reduce never
 * lets them. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"

#define TOSSES ((size_t)10000000)

struct runs {
    size_t length;               /* tosses */
    size_t prefix, suffix, best; /* heads: at the front, at the back, in the longest run */
};

/* The toss is computed from its index, so that every split sees the same coin. */
static bool is_heads(uint64_t i) {
    i = (i + 1) * UINT64_C(0x9E3779B97F4A7C15);
    i = (i ^ (i >> 29)) * UINT64_C(0xBF58476D1CE4E5B9);
    return (i >> 63) != 0;
}

static void runs_init(void *partial, void *arg) {
    (void)arg;
    *(struct runs *)partial = (struct runs){0};
}

static void runs_add(wsq_ctx ctx, size_t begin, size_t end, void *partial, void *arg) {
    struct runs r = *(struct runs *)partial;
    (void)ctx, (void)arg;
    for (size_t i = begin; i < end; i++) {
        r.suffix = is_heads(i) ? r.suffix + 1 : 0;
        if (r.suffix > r.length) r.prefix = r.suffix; /* nothing but heads so far */
        r.length++;
        if (r.suffix > r.best) r.best = r.suffix;
    }
    *(struct runs *)partial = r;
}

static void runs_combine(void *left, const void *right, void *arg) {
    struct runs a = *(struct runs *)left, b = *(const struct runs *)right;
    (void)arg;
    if (a.prefix == a.length) a.prefix += b.prefix;
    if (b.best > a.best) a.best = b.best;
    if (a.suffix + b.prefix > a.best) a.best = a.suffix + b.prefix;
    a.suffix = b.suffix == b.length ? a.suffix + b.length : b.suffix;
    a.length += b.length;
    *(struct runs *)left = a;
}

static const wsq_reducer reducer = {sizeof(struct runs), runs_init, runs_add, runs_combine, NULL,
                                    false};

static void start(wsq_ctx ctx, void *arg) {
    wsq_reduce(ctx, 0, TOSSES, 0, &reducer, arg);
}

int main(void) {
    struct runs all = {0}, check = {0};
    wsq_pool *pool;
    if (wsq_pool_create(&pool, NULL) != WSQ_OK) return 1;
    wsq_run(pool, start, &all);
    wsq_pool_destroy(pool);

    runs_add(NULL, 0, TOSSES, &check, NULL);
    printf("%zu tosses, longest run of heads: %zu (one loop says %zu)\n", all.length, all.best,
           check.best);
    return all.best == check.best && all.length == check.length ? 0 : 1;
}
