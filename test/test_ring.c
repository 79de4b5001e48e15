/* The ring: full, empty, across the wrap of its indices, every size of a steal, the spill, and an owner
 * against thieves that rob each other, with every item accounted for exactly once. Variants run the
 * same with the smallest capacities. */
#ifndef WSQ_RING_START
#define WSQ_RING_START (0u - 300u)
#endif
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "test.h"

enum { CAPACITY = WSQ_RING_CAPACITY, HALF = CAPACITY / 2 };

static char marks[4 * CAPACITY + 1024]; /* an item is the address of its mark */

static wsq_ring *ring_new(void) {
    static wsq_ring ring;
    wsq_ring_init(&ring);
    return &ring;
}

static void fill(wsq_ring *ring, size_t first, size_t count) {
    for (size_t i = 0; i < count; i++) CHECK(wsq_ring_push(ring, &marks[first + i]));
}

static void expect(wsq_ring *ring, size_t first, size_t count) {
    for (size_t i = 0; i < count; i++) CHECK(wsq_ring_pop(ring) == &marks[first + i]);
}

/* ---- one thread ---- */

static void empty_and_full(void) {
    wsq_ring *ring = ring_new();
    for (int round = 0; round < 5; round++) {
        CHECK(wsq_ring_pop(ring) == NULL);
        CHECK_EQ(wsq_ring_length(ring), 0);
        for (size_t i = 0; i < CAPACITY; i++) {
            CHECK_EQ(wsq_ring_length(ring), i);
            CHECK(wsq_ring_push(ring, &marks[i]));
        }
        CHECK(!wsq_ring_push(ring, &marks[CAPACITY]));
        CHECK_EQ(wsq_ring_length(ring), CAPACITY);
        CHECK(wsq_ring_pop(ring) == &marks[0]);
        CHECK(wsq_ring_push(ring, &marks[CAPACITY]));
        CHECK(!wsq_ring_push(ring, &marks[CAPACITY + 1]));
        expect(ring, 1, CAPACITY);
        CHECK(wsq_ring_pop(ring) == NULL);
    }
}

/* Half rounded up, but never more than half of the capacity, nor than the thief has room for. */
static size_t steal_size(size_t available, size_t room) {
    size_t n = available - available / 2;
    if (n > HALF) n = HALF;
    if (n > room + 1) n = room + 1;
    return n;
}

static void steal_once(wsq_ring *victim, wsq_ring *self, size_t available, size_t held) {
    fill(victim, 0, available);
    fill(self, 2 * CAPACITY, held);
    void *got = wsq_ring_steal(victim, self);
    size_t n = steal_size(available, CAPACITY - held);
    if (n == 0) {
        CHECK(got == NULL);
    } else {
        CHECK(got == &marks[0]);
    }
    CHECK_EQ(wsq_ring_length(victim), available - n);
    expect(self, 2 * CAPACITY, held);
    if (n > 1) expect(self, 1, n - 1);
    CHECK(wsq_ring_pop(self) == NULL);
    expect(victim, n, available - n);
    CHECK(wsq_ring_pop(victim) == NULL);
}

static void steal_sizes(void) {
    static wsq_ring self;
    wsq_ring *victim = ring_new();
    wsq_ring_init(&self);
    for (size_t available = 0; available <= CAPACITY; available++) {
        steal_once(victim, &self, available, 0);
        steal_once(victim, &self, available, available);
        steal_once(victim, &self, available, CAPACITY);
        if (CAPACITY > 2) steal_once(victim, &self, available, CAPACITY - 2);
        steal_once(victim, &self, available, CAPACITY - 1);
    }
}

/* Rebuilds by hand what a thief leaves between its claim of n items and its release. */
static void claim(wsq_ring *ring, uint32_t n) {
    uint64_t head = wsqi_load_rlx(&ring->head);
    wsqi_store_rlx(&ring->head, (head & ~(uint64_t)UINT32_MAX) | (uint32_t)((uint32_t)head + n));
}

static void unclaim(wsq_ring *ring) {
    uint64_t real = wsqi_load_rlx(&ring->head) & UINT32_MAX;
    wsqi_store_rlx(&ring->head, real << 32 | real);
}

/* While a thief copies, its slots are not free: push is refused, spill takes nothing, a second thief and
 * a thief with such a ring of its own leave them alone. */
static void steal_under_way(void) {
    static wsq_ring other;
    void *out[CAPACITY];
    wsq_ring *ring = ring_new();
    wsq_ring_init(&other);
    fill(ring, 0, CAPACITY);
    claim(ring, HALF);
    CHECK_EQ(wsq_ring_length(ring), CAPACITY - HALF);
    CHECK(!wsq_ring_push(ring, &marks[CAPACITY]));
    CHECK_EQ(wsq_ring_spill(ring, out), 0);
    CHECK(wsq_ring_steal(ring, &other) == NULL);
    CHECK(wsq_ring_pop(ring) == &marks[HALF]); /* the owner goes on, behind the thief's share */
    CHECK(!wsq_ring_push(ring, &marks[CAPACITY]));
    unclaim(ring);
    fill(ring, CAPACITY, HALF + 1);
    CHECK(!wsq_ring_push(ring, &marks[0]));
    expect(ring, HALF + 1, CAPACITY);
    CHECK_EQ(wsq_ring_length(ring), 0);
}

/* A thief that is robbed itself looks empty to itself, yet has no room. */
static void robbed_thief(void) {
    static wsq_ring self;
    wsq_ring *victim = ring_new();
    for (uint32_t share = 1; share <= CAPACITY; share++) {
        wsq_ring_init(&self);
        fill(victim, 0, CAPACITY);
        fill(&self, CAPACITY, share);
        claim(&self, share);
        CHECK_EQ(wsq_ring_length(&self), 0);
        CHECK(wsq_ring_steal(victim, &self) == &marks[0]);
        size_t n = steal_size(CAPACITY, CAPACITY - share);
        for (uint32_t i = 0; i < share; i++) /* the slots under theft are as they were */
            CHECK(wsqi_get(&self.items[(WSQ_RING_START + i) % CAPACITY]) == &marks[CAPACITY + i]);
        unclaim(&self);
        expect(&self, 1, n - 1);
        expect(victim, n, CAPACITY - n);
    }
}

static void spill(void) {
    void *out[CAPACITY];
    wsq_ring *ring = ring_new();
    for (size_t held = 0; held < CAPACITY; held++) {
        fill(ring, 0, held);
        CHECK_EQ(wsq_ring_spill(ring, out), 0);
        expect(ring, 0, held);
    }
    for (int round = 0; round < 5; round++) {
        fill(ring, 0, CAPACITY);
        CHECK_EQ(wsq_ring_spill(ring, out), HALF);
        for (size_t i = 0; i < HALF; i++) CHECK(out[i] == &marks[HALF + i]);
        CHECK_EQ(wsq_ring_length(ring), HALF);
        fill(ring, CAPACITY, HALF);
        CHECK(!wsq_ring_push(ring, &marks[0]));
        expect(ring, 0, HALF);
        expect(ring, CAPACITY, HALF);
        CHECK(wsq_ring_pop(ring) == NULL);
    }
}

/* Two rings against two plain arrays, at random. */
typedef struct model {
    void *items[CAPACITY];
    size_t count;
} model;

static void *model_take(model *from) {
    if (from->count == 0) return NULL;
    void *first = from->items[0];
    memmove(from->items, from->items + 1, --from->count * sizeof(void *));
    return first;
}

static void model_steal(model *victim, model *self, void *got) {
    size_t n = steal_size(victim->count, CAPACITY - self->count);
    CHECK(got == model_take(victim));
    for (size_t i = 1; i < n; i++) self->items[self->count++] = model_take(victim);
}

static void model_step(wsq_ring *rings, model *models, uint64_t *random) {
    void *out[HALF];
    unsigned which = test_below(random, 2);
    wsq_ring *ring = &rings[which];
    model *mine = &models[which];
    unsigned choice = test_below(random, 16);
    if (choice < 8) {
        void *item = &marks[test_below(random, sizeof marks)];
        bool pushed = wsq_ring_push(ring, item);
        CHECK_EQ(pushed, mine->count < CAPACITY);
        if (pushed) mine->items[mine->count++] = item;
    } else if (choice < 13) {
        CHECK(wsq_ring_pop(ring) == model_take(mine));
    } else if (choice < 15) {
        model_steal(&models[1 - which], mine, wsq_ring_steal(&rings[1 - which], ring));
    } else {
        size_t n = wsq_ring_spill(ring, out);
        CHECK_EQ(n, mine->count == CAPACITY ? HALF : 0);
        for (size_t i = 0; i < n; i++) CHECK(out[i] == mine->items[mine->count - n + i]);
        mine->count -= n;
    }
    CHECK_EQ(wsq_ring_length(ring), mine->count);
}

static void against_a_model(void) {
    static wsq_ring rings[2];
    uint64_t random = test_seed;
    for (int round = 0; round < 20; round++) {
        static model models[2];
        models[0].count = models[1].count = 0;
        wsq_ring_init(&rings[0]);
        wsq_ring_init(&rings[1]);
        for (size_t i = 0; i < test_times(20000); i++) model_step(rings, models, &random);
    }
}

/* ---- an owner and thieves ---- */

enum { THIEVES = 3, RINGS = THIEVES + 1, HEIST_ITEMS = 20000 };

typedef struct heist {
    wsq_ring rings[RINGS];                /* 0: the owner's */
    atomic_uchar taken[HEIST_ITEMS];      /* how often each item came out; an item points here */
    char payload[HEIST_ITEMS];            /* plain: the ring must order the owner's write and the reads */
    atomic_bool over;                     /* the owner pushes no more */
} heist;

static heist robbery;

static void take(void *item) {
    atomic_uchar *taken = item;
    size_t index = (size_t)(taken - robbery.taken);
    if (index >= HEIST_ITEMS || robbery.payload[index] != (char)index) FAIL("an item as it was pushed");
    atomic_fetch_add_explicit(taken, 1, memory_order_relaxed);
}

static void take_some(wsq_ring *self, uint32_t count) {
    void *item;
    while (count-- > 0 && (item = wsq_ring_pop(self)) != NULL) take(item);
}

static void put(wsq_ring *self, void *item, uint64_t *random) {
    void *out[HALF];
    while (!wsq_ring_push(self, item)) {
        size_t n = test_below(random, 2) ? wsq_ring_spill(self, out) : 0;
        for (size_t i = 0; i < n; i++) take(out[i]);
        if (n == 0) take_some(self, 1 + test_below(random, 3));
    }
}

static void owner(test_thread *self) {
    wsq_ring *mine = &robbery.rings[0];
    for (size_t i = 0; i < HEIST_ITEMS; i++) {
        robbery.payload[i] = (char)i;
        put(mine, &robbery.taken[i], &self->random);
        uint32_t mood = test_below(&self->random, 64);
        if (mood < 24) take_some(mine, 1);
        if (mood == 24) take_some(mine, CAPACITY);
        if (mood == 25) sched_yield();
    }
    atomic_store(&robbery.over, true);
}

/* Robs the owner, and now and then another thief, and does not empty its own ring: it is robbed too. */
static void thief(test_thread *self) {
    wsq_ring *mine = &robbery.rings[self->index];
    unsigned idle = 0;
    while (idle < 100) {
        unsigned victim = test_below(&self->random, 2) ? 0 : test_below(&self->random, RINGS);
        if (victim == self->index) victim = 0;
        void *item = wsq_ring_steal(&robbery.rings[victim], mine);
        if (item) take(item);
        take_some(mine, test_below(&self->random, 3));
        idle = item || !atomic_load_explicit(&robbery.over, memory_order_relaxed) ? 0 : idle + 1;
        if (!item && test_below(&self->random, 8) == 0) sched_yield();
    }
}

static void owner_or_thief(test_thread *self) {
    if (self->index == 0) {
        owner(self);
    } else {
        thief(self);
    }
}

static void audit(void) {
    size_t lost = 0, doubled = 0;
    for (int i = 0; i < RINGS; i++) {
        take_some(&robbery.rings[i], CAPACITY);
        CHECK(wsq_ring_pop(&robbery.rings[i]) == NULL);
    }
    for (size_t i = 0; i < HEIST_ITEMS; i++) {
        lost += robbery.taken[i] == 0;
        doubled += robbery.taken[i] > 1;
    }
    CHECK_EQ(lost, 0);
    CHECK_EQ(doubled, 0);
}

static void owner_against_thieves(void) {
    for (size_t round = 0; round < test_times(100); round++) {
        for (int i = 0; i < RINGS; i++) wsq_ring_init(&robbery.rings[i]);
        for (size_t i = 0; i < HEIST_ITEMS; i++) atomic_store(&robbery.taken[i], 0);
        atomic_store(&robbery.over, false);
        test_threads(RINGS, owner_or_thief, NULL);
        audit();
    }
}

int main(void) {
    test_begin("test_ring");
    RUN(empty_and_full);
    RUN(steal_sizes);
    RUN(steal_under_way);
    RUN(robbed_thief);
    RUN(spill);
    RUN(against_a_model);
    RUN(owner_against_thieves);
    return test_end();
}
