/* Loops and reductions against their sequential results. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "test.h"
#include "pool.h"

static wsq_pool *pool_of(unsigned workers) { return pool_new((wsq_config){.workers = workers}); }

static uint64_t mix(uint64_t x) { return test_random(&x); }

/* ---- wsq_for ---- */

/* What the pieces of a range must add up to. */
typedef struct tally {
    size_t begin, end, grain;
    _Atomic uint64_t count, sum; /* elements; and a sum that knows which */
    atomic_bool bad;             /* a piece outside the range, empty, or longer than the grain */
} tally;

static void tally_piece(tally *self, size_t begin, size_t end) {
    bool inside = self->begin <= begin && begin < end && end <= self->end;
    if (!inside || (self->grain != 0 && end - begin > self->grain)) atomic_store(&self->bad, true);
}

static void tally_body(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    tally *self = arg;
    uint64_t sum = 0;
    (void)ctx;
    tally_piece(self, begin, end);
    for (size_t i = begin; i < end; i++) sum += mix(i);
    atomic_fetch_add_explicit(&self->count, end - begin, memory_order_relaxed);
    atomic_fetch_add_explicit(&self->sum, sum, memory_order_relaxed);
}

static uint64_t sum_alone(size_t begin, size_t end) {
    uint64_t sum = 0;
    for (size_t i = begin; i < end; i++) sum += mix(i);
    return sum;
}

static void check_for(wsq_ctx ctx, size_t begin, size_t end, size_t grain) {
    tally all = {.begin = begin, .end = end, .grain = grain};
    wsq_for(ctx, begin, end, grain, tally_body, &all);
    size_t length = begin < end ? end - begin : 0;
    if (atomic_load(&all.bad)) FAIL("every piece inside the range, no longer than the grain");
    if (atomic_load(&all.count) != length) FAIL("as many elements as there are");
    if (atomic_load(&all.sum) != sum_alone(begin, end)) FAIL("each element once");
}

/* Mostly short, anywhere in the range of size_t; the grain anything. */
static size_t random_length(uint64_t *random) {
    uint32_t kind = test_below(random, 1000);
    if (kind == 0) return test_below(random, 100000);
    if (kind < 50) return test_below(random, 500);
    return test_below(random, 12);
}

static size_t random_begin(uint64_t *random, size_t length) {
    uint32_t kind = test_below(random, 4);
    size_t most = SIZE_MAX - length;
    if (kind == 0) return most;
    if (kind == 1) return most - test_below(random, 10);
    if (kind == 2) return (size_t)test_random(random) % most;
    return test_below(random, 100);
}

static size_t random_grain(uint64_t *random) {
    uint32_t kind = test_below(random, 8);
    if (kind == 0) return 0;
    if (kind == 1) return SIZE_MAX - test_below(random, 3);
    if (kind == 2) return (size_t)test_random(random);
    return 1 + test_below(random, 40);
}

static void random_fors(wsq_ctx ctx, void *arg) {
    uint64_t random = *(uint64_t *)arg;
    for (size_t i = 0; i < test_times(250000); i++) {
        size_t length = random_length(&random), begin = random_begin(&random, length);
        check_for(ctx, begin, begin + length, random_grain(&random));
    }
}

static void for_against_sequential(void) {
    for (unsigned workers = 1; workers <= 3; workers++) {
        wsq_pool *pool = pool_of(workers);
        uint64_t seed = test_seed + workers;
        CHECK_EQ(wsq_run(pool, random_fors, &seed), WSQ_OK);
        pool_end(pool);
    }
}

static void odd_ranges_run(wsq_ctx ctx, void *arg) {
    (void)arg;
    for (size_t grain = 0; grain < 3; grain++) {
        check_for(ctx, 0, 0, grain);
        check_for(ctx, 5, 5, grain);
        check_for(ctx, 5, 4, grain);
        check_for(ctx, SIZE_MAX, 0, grain);
        check_for(ctx, 0, 1, grain);
        check_for(ctx, SIZE_MAX - 1, SIZE_MAX, grain);
        check_for(ctx, SIZE_MAX, SIZE_MAX, grain);
        check_for(ctx, SIZE_MAX - 1000, SIZE_MAX, grain);
        check_for(ctx, SIZE_MAX / 2 - 500, SIZE_MAX / 2 + 500, grain);
    }
    check_for(ctx, SIZE_MAX - 1000, SIZE_MAX, SIZE_MAX);
    CHECK(true);
}

/* Pieces too long to visit: they are only measured. */
static void measure_body(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    tally *self = arg;
    (void)ctx;
    tally_piece(self, begin, end);
    atomic_fetch_add(&self->count, end - begin);
}

static void everything_run(wsq_ctx ctx, void *arg) {
    size_t grains[] = {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX / 2, SIZE_MAX / 2 + 2, SIZE_MAX / 3, SIZE_MAX / 1000, 0};
    size_t count = sizeof grains / sizeof *grains;
    (void)arg;
#ifdef WSQ_PUBLISH_ALWAYS
    count--; /* cut at every look, the automatic grain would never grow */
#endif
    for (size_t i = 0; i < count; i++) {
        tally all = {.begin = i % 3, .end = SIZE_MAX, .grain = grains[i]};
        wsq_for(ctx, all.begin, all.end, all.grain, measure_body, &all);
        CHECK(!atomic_load(&all.bad));
        CHECK(atomic_load(&all.count) == all.end - all.begin);
    }
}

static void odd_ranges(void) {
    for (unsigned workers = 1; workers <= 4; workers++) {
        wsq_pool *pool = pool_of(workers);
        CHECK_EQ(wsq_run(pool, odd_ranges_run, NULL), WSQ_OK);
        CHECK_EQ(wsq_run(pool, everything_run, NULL), WSQ_OK);
        pool_end(pool);
    }
}

/* Loops in loops, the bodies of which write to an array, plainly. */
enum { SIDE = 300 };

static unsigned char cells[SIDE][SIDE];

static void cell_body(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    unsigned char *row = arg;
    (void)ctx;
    for (size_t i = begin; i < end; i++) row[i]++;
}

static void row_body(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    size_t grain = *(size_t *)arg;
    for (size_t i = begin; i < end; i++) {
        wsq_for(ctx, 0, SIDE, grain, cell_body, cells[i]);
        if (i % 32 == 0) sched_yield();
    }
}

static void square_run(wsq_ctx ctx, void *arg) { wsq_for(ctx, 0, SIDE, *(size_t *)arg, row_body, arg); }

static void nested_fors(void) {
    unsigned sizes[] = {1, 2, 4, 64};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        wsq_pool *pool = pool_of(sizes[s]);
        for (size_t grain = 0; grain < test_times(20); grain++) {
            bool once = true;
            memset(cells, 0, sizeof cells);
            CHECK_EQ(wsq_run(pool, square_run, &grain), WSQ_OK);
            for (size_t i = 0; i < (size_t)SIDE * SIDE; i++) once = once && cells[i / SIDE][i % SIDE] == 1;
            CHECK(once);
        }
        pool_end(pool);
    }
}

/* ---- wsq_reduce ---- */

/* The composition of x -> a x + b over all elements: associative, and the order is everything. */
typedef struct affine { uint64_t a, b; } affine;

static affine affine_of(size_t i) { return (affine){mix(i) | 1, mix(i + 7)}; }

static affine affine_then(affine first, affine second) {
    return (affine){second.a * first.a, second.a * first.b + second.b};
}

static void affine_init(void *partial, void *arg) {
    (void)arg;
    *(affine *)partial = (affine){1, 0};
}

static void affine_body(wsq_ctx ctx, size_t begin, size_t end, void *partial, void *arg) {
    affine *self = partial;
    tally *range = arg;
    (void)ctx;
    tally_piece(range, begin, end);
    for (size_t i = begin; i < end; i++) *self = affine_then(*self, affine_of(i));
}

static void affine_combine(void *left, const void *right, void *arg) {
    (void)arg;
    *(affine *)left = affine_then(*(affine *)left, *(const affine *)right);
}

static void check_reduce(wsq_ctx ctx, size_t begin, size_t end, size_t grain) {
    affine expected = {1, 0}, result = {0, 0};
    tally range = {.begin = begin, .end = end, .grain = grain};
    wsq_reducer reducer = {sizeof result, affine_init, affine_body, affine_combine, &range, false};
    if (wsq_reduce(ctx, begin, end, grain, &reducer, &result) != WSQ_OK) FAIL("a reduction");
    for (size_t i = begin; i < end; i++) expected = affine_then(expected, affine_of(i));
    if (result.a != expected.a || result.b != expected.b) FAIL("the sequential result");
    if (atomic_load(&range.bad)) FAIL("every piece inside the range, no longer than the grain");
}

static void random_reductions(wsq_ctx ctx, void *arg) {
    uint64_t random = *(uint64_t *)arg;
    for (size_t i = 0; i < test_times(90000); i++) {
        size_t length = random_length(&random), begin = random_begin(&random, length);
        check_reduce(ctx, begin, begin + length, random_grain(&random));
    }
}

static void reduce_against_sequential(void) {
    for (unsigned workers = 1; workers <= 3; workers++) {
        wsq_pool *pool = pool_of(workers);
        uint64_t seed = test_seed + workers;
        CHECK_EQ(wsq_run(pool, random_reductions, &seed), WSQ_OK);
        pool_end(pool);
    }
}

/* A partial result that knows its range: combining neighbours only, and large, so that it does not fit
 * beside the job. */
typedef struct extent {
    size_t begin, end;
    uint64_t sum;
    bool empty, broken;
    char padding[1000];
} extent;

static void extent_init(void *partial, void *arg) {
    extent *self = partial;
    (void)arg;
    memset(self, 0, sizeof *self);
    self->empty = true;
}

static void extent_add(extent *self, size_t begin, size_t end) {
    if (self->empty) self->begin = self->end = begin;
    self->broken = self->broken || self->end != begin;
    self->empty = false;
    self->end = end;
}

static void extent_body(wsq_ctx ctx, size_t begin, size_t end, void *partial, void *arg) {
    extent *self = partial;
    (void)ctx;
    (void)arg;
    extent_add(self, begin, end);
    for (size_t i = begin; i < end; i++) self->sum += mix(i);
    if (mix(begin) % 16 == 0) sched_yield();
}

static void extent_combine(void *left, const void *right, void *arg) {
    extent *self = left;
    const extent *other = right;
    (void)arg;
    self->broken = self->broken || other->broken;
    if (!other->empty) extent_add(self, other->begin, other->end);
    self->sum += other->sum;
}

static const wsq_reducer extent_reducer = {sizeof(extent), extent_init, extent_body, extent_combine, NULL, false};

static void extents_run(wsq_ctx ctx, void *arg) {
    uint64_t random = *(uint64_t *)arg;
    for (size_t i = 0; i < test_times(1000); i++) {
        static const size_t grains[] = {0, 1, 2, 5, 16, 100};
        extent result;
        size_t length = test_below(&random, 400), begin = random_begin(&random, length);
        size_t grain = grains[test_below(&random, 6)];
        CHECK_EQ(wsq_reduce(ctx, begin, begin + length, grain, &extent_reducer, &result), WSQ_OK);
        CHECK_EQ(result.empty, length == 0);
        CHECK(!result.broken);
        if (length > 0) CHECK(result.begin == begin && result.end == begin + length);
        CHECK(result.sum == sum_alone(begin, begin + length));
    }
}

static void reduce_in_order(void) {
    unsigned sizes[] = {1, 2, 4, 32};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        wsq_pool *pool = pool_of(sizes[s]);
        uint64_t seed = test_seed + s;
        CHECK_EQ(wsq_run(pool, extents_run, &seed), WSQ_OK);
        pool_end(pool);
    }
}

/* A reduction in the body of another. */
static void inner_body(wsq_ctx ctx, size_t begin, size_t end, void *partial, void *arg) {
    uint64_t *sum = partial;
    (void)arg;
    for (size_t i = begin; i < end; i++) {
        extent inner;
        CHECK_EQ(wsq_reduce(ctx, 0, i, 3, &extent_reducer, &inner), WSQ_OK);
        *sum += inner.sum;
    }
}

static void sum_init(void *partial, void *arg) {
    (void)arg;
    *(uint64_t *)partial = 0;
}

static void sum_combine(void *left, const void *right, void *arg) {
    (void)arg;
    *(uint64_t *)left += *(const uint64_t *)right;
}

static void nested_reductions_run(wsq_ctx ctx, void *arg) {
    wsq_reducer outer = {sizeof(uint64_t), sum_init, inner_body, sum_combine, NULL, false};
    uint64_t sum = 1, expected = 0;
    (void)arg;
    CHECK_EQ(wsq_reduce(ctx, 0, 100, 1, &outer, &sum), WSQ_OK);
    for (size_t i = 0; i < 100; i++) expected += sum_alone(0, i);
    CHECK(sum == expected);
}

static void nested_reductions(void) {
    for (unsigned workers = 1; workers <= 4; workers++) {
        wsq_pool *pool = pool_of(workers);
        for (size_t i = 0; i < test_times(100); i++)
            CHECK_EQ(wsq_run(pool, nested_reductions_run, NULL), WSQ_OK);
        pool_end(pool);
    }
}

/* Partial results of any size: each on cache lines of its own, but for the first, which is the caller's.
 * What is behind a short one, on its last line, is nobody else's. */
typedef struct vast { unsigned char bytes[5 * WSQ_CACHELINE]; } vast;

typedef struct wide_arg {
    wsq_reducer reducer;
    vast result;
    atomic_size_t partials;
} wide_arg;

static size_t wide_lines(const wide_arg *self) {
    return (self->reducer.size + WSQ_CACHELINE - 1) / WSQ_CACHELINE * WSQ_CACHELINE;
}

static void wide_init(void *partial, void *arg) {
    wide_arg *self = arg;
    memset(partial, 0, self->reducer.size);
    if (partial == &self->result) return;
    atomic_fetch_add(&self->partials, 1);
    if ((uintptr_t)partial % WSQ_CACHELINE != 0) FAIL("a partial result begins a cache line");
    memset(partial, 0, wide_lines(self));
}

static size_t wide_used(const wide_arg *self, const void *partial) {
    return partial == &self->result ? self->reducer.size : wide_lines(self);
}

static void wide_body(wsq_ctx ctx, size_t begin, size_t end, void *partial, void *arg) {
    wide_arg *self = arg;
    unsigned char *bytes = partial;
    (void)ctx;
    for (size_t i = 0; i < wide_used(self, partial); i++) bytes[i] = (unsigned char)(bytes[i] + end - begin);
    if (begin % 16 == 0) sched_yield();
}

static void wide_combine(void *left, const void *right, void *arg) {
    wide_arg *self = arg;
    const unsigned char *from = right;
    for (size_t i = 0; i < wide_lines(self); i++)
        if (from[i] != from[0]) FAIL("nobody else writes to a partial result's lines");
    for (size_t i = 0; i < wide_used(self, left); i++) ((unsigned char *)left)[i] += from[i];
}

static void wide_run(wsq_ctx ctx, void *arg) {
    wide_arg *self = arg;
    CHECK_EQ(wsq_reduce(ctx, 0, 200, 1, &self->reducer, &self->result), WSQ_OK);
    for (size_t i = 0; i < self->reducer.size; i++) CHECK_EQ(self->result.bytes[i], 200);
}

static void partials_lie_alone(void) {
    static const size_t sizes[] = {1, 8, 16, 24, 32, 64, 100, 128, 129, 200, 300};
    size_t partials = 0;
    wsq_pool *pool = pool_of(4);
    for (size_t i = 0; i < test_times(50) * 11 || partials == 0; i++) { /* until one was stolen */
        wide_arg all = {.reducer = {sizes[i % 11], wide_init, wide_body, wide_combine, &all, false}};
        CHECK_EQ(wsq_run(pool, wide_run, &all), WSQ_OK);
        partials += atomic_load(&all.partials);
    }
    pool_end(pool);
}

static void bad_reducers_run(wsq_ctx ctx, void *arg) {
    wsq_reducer good = {sizeof(uint64_t), sum_init, inner_body, sum_combine, NULL, false};
    wsq_reducer bad[4] = {good, good, good, good};
    uint64_t sum = 7;
    (void)arg;
    bad[0].size = 0;
    bad[1].init = NULL;
    bad[2].body = NULL;
    bad[3].combine = NULL;
    for (int i = 0; i < 4; i++) CHECK_EQ(wsq_reduce(ctx, 0, 10, 1, &bad[i], &sum), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_reduce(ctx, 0, 10, 1, NULL, &sum), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_reduce(ctx, 0, 10, 1, &good, NULL), WSQ_ERR_INVALID);
    CHECK_EQ(sum, 7);
    CHECK_EQ(wsq_reduce(ctx, 10, 10, 1, &good, &sum), WSQ_OK); /* empty: the identity */
    CHECK_EQ(sum, 0);
}

static void bad_reducers(void) {
    wsq_pool *pool = pool_of(2);
    CHECK_EQ(wsq_run(pool, bad_reducers_run, NULL), WSQ_OK);
    pool_end(pool);
}

/* ---- reductions that repeat ---- */

/* A sum of numbers of very different sizes, where each other order gives other bits. */
typedef struct rounded {
    float sum;
    unsigned pieces;
    char padding[200]; /* in the large one: it is allocated */
} rounded;

static void rounded_init(void *partial, void *arg) {
    (void)arg;
    ((rounded *)partial)->sum = 0;
    ((rounded *)partial)->pieces = 0;
}

static void rounded_body(wsq_ctx ctx, size_t begin, size_t end, void *partial, void *arg) {
    rounded *self = partial;
    (void)ctx, (void)arg;
    self->pieces++;
    for (size_t i = begin; i < end; i++) self->sum += (float)(mix(i) % 1000) * (float)(1u << mix(i) % 31);
    if (mix(begin) % 8 == 0) sched_yield(); /* so that thieves come */
}

static void rounded_combine(void *left, const void *right, void *arg) {
    (void)arg;
    ((rounded *)left)->sum += ((const rounded *)right)->sum;
    ((rounded *)left)->pieces += ((const rounded *)right)->pieces;
}

enum { ROUNDED = 5000 };
static const size_t fixed_grains[] = {0, 1, 3, 64, 777, ROUNDED, 2 * ROUNDED};
enum { GRAINS = sizeof fixed_grains / sizeof *fixed_grains };

typedef struct fixed_call {
    rounded results[GRAINS];
    size_t size, grain;
} fixed_call;

static void fixed_run(wsq_ctx ctx, void *arg) {
    fixed_call *call = arg;
    wsq_reducer reducer = {.size = call->size, .init = rounded_init, .body = rounded_body,
                           .combine = rounded_combine, .fixed = true};
    for (int i = 0; i < GRAINS; i++)
        CHECK_EQ(wsq_reduce(ctx, 7, ROUNDED, fixed_grains[i], &reducer, &call->results[i]), WSQ_OK);
}

/* The same bits with any number of workers, with partial results on the stack and allocated. */
static void reduce_bit_by_bit(void) {
    static const unsigned sizes[] = {1, 2, 3, 8, 32};
    fixed_call first = {.size = sizeof(rounded)}, call;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        wsq_pool *pool = pool_of(sizes[s]);
        for (size_t round = 0; round < test_times(20); round++) {
            unsigned others = 0;
            call.size = round % 2 ? sizeof(rounded) : offsetof(rounded, padding);
            CHECK_EQ(wsq_run(pool, fixed_run, &call), WSQ_OK);
            if (s == 0 && round == 0) memcpy(first.results, call.results, sizeof first.results);
            for (int i = 0; i < GRAINS; i++)
                others += memcmp(&first.results[i].sum, &call.results[i].sum, sizeof(float)) != 0 ||
                          first.results[i].pieces != call.results[i].pieces;
            CHECK_EQ(others, 0);
        }
        pool_end(pool);
    }
    CHECK_EQ(first.results[1].pieces, ROUNDED - 7); /* of one element each */
    CHECK_EQ(first.results[GRAINS - 1].pieces, 1);
    CHECK_EQ(first.results[0].pieces, 999); /* of the 1,024th part and one element, but the tree's halves are uneven */
    CHECK(first.results[1].sum != first.results[GRAINS - 1].sum); /* or the order makes no difference */
}

/* Without memory a fixed reduction says so, and the other one goes on. */
static atomic_bool no_memory;

static void *meagre_allocate(size_t size, size_t alignment, void *user) {
    void *memory = NULL;
    (void)user;
    if (atomic_load(&no_memory)) return NULL;
    return posix_memalign(&memory, alignment, size) == 0 ? memory : NULL;
}

static void meagre_release(void *memory, size_t size, void *user) {
    (void)size, (void)user;
    free(memory);
}

static void meagre_run(wsq_ctx ctx, void *arg) {
    wsq_reducer reducer = {sizeof(rounded), rounded_init, rounded_body, rounded_combine, NULL, true};
    rounded result;
    (void)arg;
    atomic_store(&no_memory, true);
    CHECK_EQ(wsq_reduce(ctx, 0, ROUNDED, 10, &reducer, &result), WSQ_ERR_MEMORY);
    CHECK_EQ(wsq_reduce(ctx, 0, 10, 10, &reducer, &result), WSQ_OK); /* one piece needs none */
    CHECK_EQ(result.pieces, 1);
    reducer.fixed = false;
    CHECK_EQ(wsq_reduce(ctx, 0, ROUNDED, 10, &reducer, &result), WSQ_OK);
    CHECK_EQ(result.pieces, ROUNDED / 10);
    atomic_store(&no_memory, false);
}

static void fixed_without_memory(void) {
    wsq_allocator meagre = {meagre_allocate, meagre_release, NULL};
    wsq_pool *pool = pool_new((wsq_config){.workers = 2, .allocator = &meagre});
    CHECK_EQ(wsq_run(pool, meagre_run, NULL), WSQ_OK);
    pool_end(pool);
}

int main(void) {
    test_begin("test_parallel");
    RUN(reduce_bit_by_bit);
    RUN(fixed_without_memory);
    RUN(for_against_sequential);
    RUN(odd_ranges);
    RUN(nested_fors);
    RUN(reduce_against_sequential);
    RUN(reduce_in_order);
    RUN(nested_reductions);
    RUN(partials_lie_alone);
    RUN(bad_reducers);
    return test_end();
}
