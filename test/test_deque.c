/* The deque: order, growth, an allocator that fails, growth under theft, and the race for the last item. */
#include <stddef.h>
#include <stdlib.h>

static void *deque_malloc(size_t size);
static void deque_free(void *memory);
#define WSQ_MALLOC(size) deque_malloc(size)
#define WSQ_FREE(pointer) deque_free(pointer)
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "test.h"

static size_t allocated, released;
static bool out_of_memory;

static void *deque_malloc(size_t size) {
    if (out_of_memory || size > SIZE_MAX / 4) return NULL; /* sanitizers stop at absurd sizes */
    void *memory = malloc(size);
    allocated += memory != NULL;
    return memory;
}

static void deque_free(void *memory) {
    released++;
    free(memory);
}

static char marks[4096]; /* an item is the address of its mark */

static void push_all(wsq_deque *deque, size_t first, size_t count) {
    for (size_t i = 0; i < count; i++) CHECK_EQ(wsq_deque_push(deque, &marks[first + i]), WSQ_OK);
}

static void *steal(wsq_deque *deque) {
    void *item = NULL;
    return wsq_deque_steal(deque, &item) == WSQ_STEAL_OK ? item : NULL;
}

/* ---- one thread ---- */

static void bad_capacity(void) {
    static wsq_deque deque;
    CHECK_EQ(wsq_deque_init(NULL, 8), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_deque_init(&deque, 0), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_deque_init(&deque, 3), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_deque_init(&deque, SIZE_MAX), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_deque_init(&deque, SIZE_MAX / 2 + 1), WSQ_ERR_MEMORY);
    CHECK_EQ(wsq_deque_init(&deque, SIZE_MAX / sizeof(void *) / 2 + 1), WSQ_ERR_MEMORY);
    out_of_memory = true;
    CHECK_EQ(wsq_deque_init(&deque, 8), WSQ_ERR_MEMORY);
    out_of_memory = false;
    CHECK_EQ(allocated, released);
}

static void order(void) {
    static wsq_deque deque;
    void *item = marks;
    for (size_t capacity = 1; capacity <= 64; capacity *= 2) {
        CHECK_EQ(wsq_deque_init(&deque, capacity), WSQ_OK);
        CHECK(wsq_deque_pop(&deque) == NULL);
        CHECK(wsq_deque_pop(&deque) == NULL);
        CHECK_EQ(wsq_deque_steal(&deque, &item), WSQ_STEAL_EMPTY);
        CHECK(item == marks);
        push_all(&deque, 0, 100);
        CHECK_EQ(wsq_deque_length(&deque), 100);
        for (size_t i = 0; i < 30; i++) CHECK(steal(&deque) == &marks[i]);
        for (size_t i = 99; i >= 50; i--) CHECK(wsq_deque_pop(&deque) == &marks[i]);
        CHECK_EQ(wsq_deque_length(&deque), 20);
        push_all(&deque, 200, 50);
        for (size_t i = 30; i < 50; i++) CHECK(steal(&deque) == &marks[i]);
        for (size_t i = 249; i >= 200; i--) CHECK(wsq_deque_pop(&deque) == &marks[i]);
        CHECK(wsq_deque_pop(&deque) == NULL);
        CHECK_EQ(wsq_deque_length(&deque), 0);
        wsq_deque_fini(&deque);
    wsq_deque_fini(&deque); /* it does no harm */
    }
    CHECK_EQ(allocated, released);
}

/* A deque that is never deeper than its capacity does not grow, however much passes through it. */
static void no_growth_without_need(void) {
    static wsq_deque deque;
    CHECK_EQ(wsq_deque_init(&deque, 8), WSQ_OK);
    size_t before = allocated;
    for (size_t round = 0; round < 100; round++) {
        push_all(&deque, 0, 8);
        for (size_t i = 0; i < 4; i++) CHECK(steal(&deque) == &marks[i]);
        push_all(&deque, 8, 4);
        for (size_t i = 12; i > 4; i--) CHECK(wsq_deque_pop(&deque) == &marks[i - 1]);
    }
    CHECK_EQ(allocated, before);
    wsq_deque_fini(&deque);
}

/* A push that cannot grow loses nothing, and succeeds once there is memory or room. */
static void no_memory_to_grow(void) {
    static wsq_deque deque;
    for (size_t capacity = 1; capacity <= 64; capacity *= 2) {
        CHECK_EQ(wsq_deque_init(&deque, capacity), WSQ_OK);
        push_all(&deque, 0, capacity);
        out_of_memory = true;
        for (int i = 0; i < 3; i++) CHECK_EQ(wsq_deque_push(&deque, &marks[1000]), WSQ_ERR_MEMORY);
        CHECK_EQ(wsq_deque_length(&deque), capacity);
        CHECK(steal(&deque) == &marks[0]);
        CHECK_EQ(wsq_deque_push(&deque, &marks[capacity]), WSQ_OK);
        CHECK_EQ(wsq_deque_push(&deque, &marks[1000]), WSQ_ERR_MEMORY);
        out_of_memory = false;
        CHECK_EQ(wsq_deque_push(&deque, &marks[capacity + 1]), WSQ_OK);
        for (size_t i = capacity + 1; i > 0; i--) CHECK(wsq_deque_pop(&deque) == &marks[i]);
        CHECK(wsq_deque_pop(&deque) == NULL);
        wsq_deque_fini(&deque);
    }
    CHECK_EQ(allocated, released);
}

static void against_a_model(void) {
    static wsq_deque deque;
    static void *model[1 << 16];
    uint64_t random = test_seed;
    size_t first = 0, end = 0;
    CHECK_EQ(wsq_deque_init(&deque, 2), WSQ_OK);
    for (size_t i = 0; i < sizeof model / sizeof *model; i++) {
        uint32_t choice = test_below(&random, 8);
        void *item = &marks[test_below(&random, sizeof marks)];
        if (choice < 4) {
            CHECK_EQ(wsq_deque_push(&deque, item), WSQ_OK);
            model[end++] = item;
        } else if (choice < 6) {
            CHECK(wsq_deque_pop(&deque) == (end > first ? model[--end] : NULL));
        } else {
            CHECK(steal(&deque) == (end > first ? model[first++] : NULL));
        }
        CHECK_EQ(wsq_deque_length(&deque), end - first);
    }
    wsq_deque_fini(&deque);
    CHECK_EQ(allocated, released);
}

/* ---- an owner and thieves ---- */

enum { THIEVES = 3, HEIST_ITEMS = 50000 };

typedef struct heist {
    wsq_deque deque;
    atomic_uchar taken[HEIST_ITEMS]; /* how often each item came out; an item points here */
    char payload[HEIST_ITEMS];       /* plain: the deque must order the owner's write and the reads */
    atomic_bool over;
    uint32_t depth;                  /* the owner pushes at most so many in a row */
} heist;

static heist robbery;

static void take(void *item) {
    atomic_uchar *taken = item;
    size_t index = (size_t)(taken - robbery.taken);
    if (index >= HEIST_ITEMS || robbery.payload[index] != (char)index) FAIL("an item as it was pushed");
    atomic_fetch_add_explicit(taken, 1, memory_order_relaxed);
}

static void take_some(uint32_t count) {
    void *item;
    while (count-- > 0 && (item = wsq_deque_pop(&robbery.deque)) != NULL) take(item);
}

static void owner(test_thread *self) {
    for (size_t next = 0; next < HEIST_ITEMS;) {
        uint32_t burst = 1 + test_below(&self->random, robbery.depth);
        for (; burst > 0 && next < HEIST_ITEMS; burst--, next++) {
            robbery.payload[next] = (char)next;
            if (wsq_deque_push(&robbery.deque, &robbery.taken[next]) != WSQ_OK) FAIL("memory to grow");
        }
        take_some(1 + test_below(&self->random, robbery.depth));
        if (test_below(&self->random, 64) == 0) sched_yield();
    }
    atomic_store(&robbery.over, true);
}

static void thief(test_thread *self) {
    for (unsigned idle = 0; idle < 100;) {
        void *item = NULL;
        wsq_steal result = wsq_deque_steal(&robbery.deque, &item);
        if (result == WSQ_STEAL_OK) take(item);
        bool over = atomic_load_explicit(&robbery.over, memory_order_relaxed);
        idle = result != WSQ_STEAL_EMPTY || !over ? 0 : idle + 1;
        if (result == WSQ_STEAL_EMPTY && test_below(&self->random, 16) == 0) sched_yield();
    }
}

static void owner_or_thief(test_thread *self) {
    if (self->index == 0) {
        owner(self);
    } else {
        thief(self);
    }
}

static void rob(uint32_t depth, size_t capacity) {
    size_t lost = 0, doubled = 0;
    CHECK_EQ(wsq_deque_init(&robbery.deque, capacity), WSQ_OK);
    for (size_t i = 0; i < HEIST_ITEMS; i++) atomic_store(&robbery.taken[i], 0);
    atomic_store(&robbery.over, false);
    robbery.depth = depth;
    test_threads(THIEVES + 1, owner_or_thief, NULL);
    take_some(HEIST_ITEMS);
    for (size_t i = 0; i < HEIST_ITEMS; i++) {
        lost += robbery.taken[i] == 0;
        doubled += robbery.taken[i] > 1;
    }
    CHECK_EQ(lost, 0);
    CHECK_EQ(doubled, 0);
    wsq_deque_fini(&robbery.deque);
    CHECK_EQ(allocated, released);
}

static void last_item(void) {
    for (size_t round = 0; round < test_times(60); round++) rob(1, 4);
}

static void growth_under_theft(void) {
    for (size_t round = 0; round < test_times(30); round++) {
        rob(3, 1);
        rob(5000, 1);
    }
}

int main(void) {
    test_begin("test_deque");
    RUN(bad_capacity);
    RUN(order);
    RUN(no_growth_without_need);
    RUN(no_memory_to_grow);
    RUN(against_a_model);
    RUN(last_item);
    RUN(growth_under_theft);
    return test_end();
}
