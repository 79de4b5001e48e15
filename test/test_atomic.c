/* The vocabulary of atomics: what every primitive returns and leaves behind, alone and under contention,
 * and that the sequentially consistent ones keep two threads from missing each other. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "test.h"

enum { THREADS = 4 };

#define HIGH ((uint64_t)1 << 63)

/* The same expectations for each word; `big` has bits that a narrower word would lose. */
#define CHECK_LOADS_AND_STORES(word, big, one) \
    do { \
        (word).v = (big); \
        CHECK(wsqi_load_rlx(&(word)) == (big)); \
        CHECK(wsqi_load_acq(&(word)) == (big)); \
        CHECK(wsqi_load_sc(&(word)) == (big)); \
        wsqi_store_rlx(&(word), (one)); \
        CHECK((word).v == (one)); \
        wsqi_store_rel(&(word), (big)); \
        CHECK((word).v == (big)); \
        wsqi_store_sc(&(word), (one)); \
        CHECK((word).v == (one)); \
    } while (0)

#define CHECK_EXCHANGE(exchange, word, from, to) \
    do { \
        (word).v = (from); \
        CHECK(exchange(&(word), (to)) == (from)); \
        CHECK((word).v == (to)); \
    } while (0)

#define CHECK_EXCHANGES(word, big, one) \
    do { \
        CHECK_EXCHANGE(wsqi_xchg_acq, word, big, one); \
        CHECK_EXCHANGE(wsqi_xchg_rel, word, big, one); \
        CHECK_EXCHANGE(wsqi_xchg_acqrel, word, big, one); \
        CHECK_EXCHANGE(wsqi_xchg_sc, word, big, one); \
    } while (0)

/* A failure reports what it saw and changes nothing. */
#define CHECK_CAS(cas, type, word, big, one) \
    do { \
        type expected = (big); \
        (word).v = (big); \
        CHECK(cas(&(word), &expected, (one))); \
        CHECK((word).v == (one)); \
        CHECK(expected == (big)); \
        CHECK(!cas(&(word), &expected, (big))); \
        CHECK((word).v == (one)); \
        CHECK(expected == (one)); \
    } while (0)

#define CHECK_ALL_CAS(type, word, big, one) \
    do { \
        CHECK_CAS(wsqi_cas_rlx, type, word, big, one); \
        CHECK_CAS(wsqi_cas_acq, type, word, big, one); \
        CHECK_CAS(wsqi_cas_rel, type, word, big, one); \
        CHECK_CAS(wsqi_cas_acqrel, type, word, big, one); \
        CHECK_CAS(wsqi_cas_sc, type, word, big, one); \
    } while (0)

/* Adding the largest value subtracts one: arithmetic wraps. */
#define CHECK_ARITHMETIC(word, type, big) \
    do { \
        (word).v = (big); \
        CHECK(wsqi_add_rlx(&(word), 1u) == (big)); \
        CHECK(wsqi_add_acqrel(&(word), 2u) == (big) + 1); \
        CHECK(wsqi_add_sc(&(word), (type)-1) == (big) + 3); \
        CHECK((word).v == (big) + 2); \
        (word).v = (big); \
        CHECK(wsqi_or_acqrel(&(word), 5u) == (big)); \
        CHECK(wsqi_or_sc(&(word), 6u) == ((big) | 5u)); \
        CHECK((word).v == ((big) | 7u)); \
        CHECK(wsqi_and_acqrel(&(word), (big) | 3u) == ((big) | 7u)); \
        CHECK((word).v == ((big) | 3u)); \
        (word).v = (type)-1; \
        CHECK(wsqi_add_rlx(&(word), 1u) == (type)-1); \
        CHECK((word).v == 0); \
    } while (0)

static void values_32(void) {
    static wsqi_a32 word;
    uint32_t big = 0x80000010u, one = 1;
    CHECK_LOADS_AND_STORES(word, big, one);
    CHECK_EXCHANGES(word, big, one);
    CHECK_ALL_CAS(uint32_t, word, big, one);
    CHECK_ARITHMETIC(word, uint32_t, big);
}

static void values_64(void) {
    static wsqi_a64 word;
    uint64_t big = HIGH + 16, one = 1;
    CHECK_LOADS_AND_STORES(word, big, one);
    CHECK_EXCHANGES(word, big, one);
    CHECK_ALL_CAS(uint64_t, word, big, one);
    CHECK_ARITHMETIC(word, uint64_t, big);
    /* Both halves count: the ring packs two indices into one word. */
    uint64_t expected = 1;
    word.v = HIGH + 1;
    CHECK(!wsqi_cas_acqrel(&word, &expected, 7u));
    CHECK(expected == HIGH + 1);
}

static void values_pointer(void) {
    static wsqi_aptr word;
    int here = 0, there = 0;
    void *big = &here, *one = &there;
    CHECK_LOADS_AND_STORES(word, big, one);
    CHECK_EXCHANGES(word, big, one);
    CHECK_ALL_CAS(void *, word, big, one);
    wsqi_store_rlx(&word, NULL);
    CHECK(wsqi_load_rlx(&word) == NULL);
}

static void plain_access(void) {
    int value = 1;
    wsqi_set(&value, 7);
    CHECK(wsqi_get(&value) == 7);
    wsqi_pause();
    wsqi_fence_sc();
    CHECK(wsqi_get(&value) == 7);
}

/* ---- contention: no update is lost ---- */

typedef struct contended {
    wsqi_a32 sum, cas_sum, bits, lock;
    wsqi_a64 wide, exchanged, taken;
    size_t locked; /* plain: the lock orders it */
    size_t rounds;
} contended;

static void increment_by_cas(wsqi_a32 *word) {
    uint32_t seen = wsqi_load_rlx(word);
    while (!wsqi_cas_acqrel(word, &seen, seen + 1)) {}
}

static void increment_under_lock(contended *shared) {
    while (wsqi_xchg_acq(&shared->lock, 1u) != 0) wsqi_pause();
    shared->locked++;
    wsqi_store_rel(&shared->lock, 0u);
}

static void contend(test_thread *self) {
    contended *shared = self->arg;
    for (size_t i = 0; i < shared->rounds; i++) {
        wsqi_add_rlx(&shared->sum, 1u);
        wsqi_add_acqrel(&shared->wide, ((uint64_t)1 << 32) + 1);
        increment_by_cas(&shared->cas_sum);
        increment_under_lock(shared);
        /* Each value put in comes out once, or stays: the sum is conserved. */
        uint64_t out = wsqi_xchg_acqrel(&shared->exchanged, i + 1);
        wsqi_add_rlx(&shared->taken, out);
        uint32_t bit = 1u << self->index;
        CHECK((wsqi_or_acqrel(&shared->bits, bit) & bit) == 0);
        CHECK((wsqi_and_acqrel(&shared->bits, ~bit) & bit) != 0);
    }
}

static void contention(void) {
    static contended shared;
    shared.rounds = test_times(100000);
    test_threads(THREADS, contend, &shared);
    uint64_t all = THREADS * shared.rounds;
    CHECK_EQ(shared.sum.v, all);
    CHECK_EQ(shared.cas_sum.v, all);
    CHECK_EQ(shared.locked, all);
    CHECK_EQ(shared.wide.v, (all << 32) + all);
    CHECK_EQ(shared.bits.v, 0);
    CHECK_EQ(shared.taken.v + shared.exchanged.v, THREADS * (shared.rounds * (shared.rounds + 1) / 2));
}

/* ---- store buffering: each of two threads writes its word and reads the other's. Sequential
 *      consistency forbids that both read nothing; acquire and release alone, or no fence, allow it,
 *      and real processors do it. ---- */

enum { CELLS = 1000 };

typedef struct cell { WSQI_ALIGNED(WSQ_CACHELINE) wsqi_a32 word; } cell;

typedef struct buffering {
    cell cells[2][CELLS]; /* each on a line of its own: the slower a store, the longer it is buffered */
    uint32_t seen[2][CELLS];
    wsqi_a32 arrived;
    size_t rounds, missed;
    int kind;
} buffering;

static uint32_t write_and_look(int kind, wsqi_a32 *mine, wsqi_a32 *theirs) {
    switch (kind) {
    case 0: wsqi_store_rlx(mine, 1u); wsqi_fence_sc(); return wsqi_load_rlx(theirs);
    case 1: wsqi_store_sc(mine, 1u); return wsqi_load_sc(theirs);
    case 2: wsqi_xchg_sc(mine, 1u); return wsqi_load_sc(theirs);
    case 3: wsqi_or_sc(mine, 1u); return wsqi_load_sc(theirs);
    default: wsqi_add_sc(mine, 1u); return wsqi_load_sc(theirs);
    }
}

static void meet(wsqi_a32 *arrived, uint32_t target) {
    wsqi_add_acqrel(arrived, 1u);
    for (uint32_t spins = 0; wsqi_load_acq(arrived) < target; spins++)
        if (spins > 1000) sched_yield();
}

/* Both go through all cells at once; somewhere they meet. */
static void buffer(test_thread *self) {
    buffering *shared = self->arg;
    unsigned me = self->index;
    for (uint32_t round = 0; round < shared->rounds; round++) {
        for (int i = 0; i < CELLS; i++) wsqi_store_rlx(&shared->cells[me][i].word, 0u);
        meet(&shared->arrived, round * 4 + 2);
        test_spin(test_below(&self->random, 50));
        for (int i = 0; i < CELLS; i++)
            shared->seen[me][i] =
                write_and_look(shared->kind, &shared->cells[me][i].word, &shared->cells[1 - me][i].word);
        meet(&shared->arrived, round * 4 + 4);
        for (int i = 0; me == 0 && i < CELLS; i++) shared->missed += shared->seen[0][i] + shared->seen[1][i] == 0;
    }
}

static void store_buffering(void) {
    static buffering shared;
    shared.rounds = test_times(500);
    for (shared.kind = 0; shared.kind < 5; shared.kind++) {
        shared.missed = 0;
        wsqi_store_rlx(&shared.arrived, 0u);
        test_threads(2, buffer, &shared);
        CHECK_EQ(shared.missed, 0);
    }
}

int main(void) {
    test_begin("test_atomic");
    RUN(values_32);
    RUN(values_64);
    RUN(values_pointer);
    RUN(plain_access);
    RUN(contention);
    RUN(store_buffering);
    return test_end();
}
