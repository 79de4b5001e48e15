/* The generator: its sequence against the published definition, seeds, and the reduction. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "test.h"

/* Marsaglia's xorshift with the triple 17 7 16 over two 32-bit words, the sum of which is the output. */
static uint32_t reference_next(uint32_t *x, uint32_t *y) {
    uint32_t t = *x ^ (*x << 17);
    *x = *y;
    *y = t ^ *y ^ (t >> 7) ^ (*y >> 16);
    return *x + *y;
}

static void sequence(void) {
    uint64_t state = test_seed;
    for (int i = 0; i < 100; i++) {
        wsq_random random;
        wsq_random_seed(&random, test_random(&state));
        uint32_t x = random.one, y = random.two;
        bool same = true;
        for (int j = 0; j < 1000; j++) same = same && wsq_random_next(&random) == reference_next(&x, &y);
        CHECK(same);
    }
}

/* A seed that a user wrote down gives the same numbers in the next version. */
static void known(void) {
    static const struct {
        uint64_t seed;
        uint32_t numbers[3], below_1000;
    } cases[] = {{0, {0x6e5f1d47u, 0xf3f5ec79u, 0x2c93e157u}, 813},
                 {1, {0xdcbf3a8eu, 0xe5ecd8f3u, 0x5728c2afu}, 626},
                 {42, {0x780fcd5fu, 0xc2fe4418u, 0x33ccdabdu}, 910},
                 {UINT64_MAX, {0x3c6f6147u, 0x91e07281u, 0x95ca540du}, 905}}; /* the state would be zero */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wsq_random random;
        wsq_random_seed(&random, cases[i].seed);
        for (int k = 0; k < 3; k++) CHECK_EQ(wsq_random_next(&random), cases[i].numbers[k]);
        CHECK_EQ(wsq_random_below(&random, 1000), cases[i].below_1000);
    }
}

/* From the zero state the generator would never leave. */
static void no_zero_state(void) {
    uint64_t state = test_seed;
    uint64_t odd[] = {0, 1, UINT64_MAX, 0xffffffffu, (uint64_t)1 << 32, 0x9e3779b97f4a7c15u, 0x9e3779b9u,
                      0 - (uint64_t)0x9e3779b97f4a7c15u};
    for (size_t i = 0; i < 100000; i++) {
        wsq_random random;
        wsq_random_seed(&random, i < sizeof odd / sizeof *odd ? odd[i] : test_random(&state));
        if (random.one == 0 && random.two == 0) FAIL("not the zero state");
        bool moves = false;
        for (int j = 0; j < 4; j++) moves = moves || wsq_random_next(&random) != 0;
        if (!moves) FAIL("moves within four steps");
    }
    CHECK(true);
}

static void same_seed_same_sequence(void) {
    wsq_random first, second, other;
    wsq_random_seed(&first, test_seed);
    wsq_random_seed(&second, test_seed);
    wsq_random_seed(&other, test_seed + 1);
    int same = 0, equal = 0;
    for (int i = 0; i < 1000; i++) {
        uint32_t value = wsq_random_next(&first);
        same += value == wsq_random_next(&second);
        equal += value == wsq_random_next(&other);
    }
    CHECK_EQ(same, 1000);
    CHECK(equal < 10);
}

static void reduction(void) {
    wsq_random random, copy;
    wsq_random_seed(&random, test_seed);
    uint32_t bounds[] = {1, 2, 3, 7, 64, 200, 1000003, 0x80000000u, UINT32_MAX};
    for (size_t b = 0; b < sizeof bounds / sizeof *bounds; b++) {
        uint32_t n = bounds[b];
        bool below = true, high_bits = true;
        for (int i = 0; i < 10000; i++) {
            copy = random;
            uint32_t value = wsq_random_below(&random, n);
            below = below && value < n;
            high_bits = high_bits && value == (uint32_t)((uint64_t)wsq_random_next(&copy) * n >> 32);
        }
        CHECK(below);
        CHECK(high_bits);
    }
    CHECK_EQ(wsq_random_below(&random, 0), 0);
}

/* Each of n victims gets its share, within six standard deviations: one run in 10^8 fails by chance. */
static void check_share(const uint32_t *counts, uint32_t n, double rounds) {
    double share = rounds / n;
    for (uint32_t i = 0; i < n; i++) {
        double off = (double)counts[i] - share;
        CHECK(off * off < 36 * share);
    }
}

static void uniform(void) {
    enum { ROUNDS = 200000 };
    uint32_t sizes[] = {2, 3, 5, 16, 63, 200};
    wsq_random random;
    wsq_random_seed(&random, test_seed);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        uint32_t counts[200] = {0};
        for (int i = 0; i < ROUNDS; i++) counts[wsq_random_below(&random, sizes[s])]++;
        check_share(counts, sizes[s], ROUNDS);
    }
}

/* Neighbouring seeds, as users choose them, do not all start with the same victim. */
static void small_seeds(void) {
    enum { SEEDS = 10000 };
    uint32_t counts[4] = {0};
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        wsq_random random;
        wsq_random_seed(&random, seed);
        counts[wsq_random_below(&random, 4)]++;
    }
    for (int i = 0; i < 4; i++) CHECK(counts[i] > SEEDS / 8);
}

int main(void) {
    test_begin("test_random");
    RUN(sequence);
    RUN(known);
    RUN(no_zero_state);
    RUN(same_seed_same_sequence);
    RUN(reduction);
    RUN(uniform);
    RUN(small_seeds);
    return test_end();
}
