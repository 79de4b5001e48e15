/* The ring in the explorer: owner and thieves, chains of thieves, mutual theft, a thief that is
 * robbed while it copies, spills against steals; across the wrap of the indices. */
#ifndef WSQ_RING_CAPACITY
#define WSQ_RING_CAPACITY 2
#endif
#define WSQ_RING_START (0u - 3u)
#include "explore.h"
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"

enum { CAPACITY = WSQ_RING_CAPACITY, ITEMS = 24, WORKERS = 3 };

typedef struct item {
    int number; /* written before the push: the thread that has the item must see it */
    int taken;  /* the explorer's own count: no access of the program */
} item;

static item items[ITEMS];
static int made;
static wsq_ring rings[WORKERS];

static void begin(void) {
    memset(items, 0, sizeof items);
    made = 0;
    for (int i = 0; i < WORKERS; i++) wsq_ring_init(&rings[i]);
}

static bool push(wsq_ring *ring) {
    explore_check(made < ITEMS);
    item *it = &items[made++];
    wsqi_set(&it->number, (int)(it - items) + 1);
    bool done = wsq_ring_push(ring, it);
    it->taken = !done; /* nobody will */
    return done;
}

/* The item's number. */
static int take(void *taken) {
    item *it = taken;
    explore_check(it >= items && it < items + ITEMS);
    explore_check(wsqi_get(&it->number) == it - items + 1);
    explore_check(it->taken == 0);
    it->taken = 1;
    return (int)(it - items + 1);
}

static bool pop(wsq_ring *ring) {
    void *it = wsq_ring_pop(ring);
    if (it) take(it);
    return it != NULL;
}

static bool steal(wsq_ring *victim, wsq_ring *self) {
    void *it = wsq_ring_steal(victim, self);
    if (it) take(it);
    return it != NULL;
}

static void spill(wsq_ring *self) {
    void *out[CAPACITY];
    int before = 0, how = (int)explore_choose(3); /* a full one's newer half; what is behind its older half; all */
    size_t n = how == 0 ? wsq_ring_spill(self, out) : how == 1 ? wsqi_ring_spill(self, out) : wsqi_ring_pop_all(self);
    uint32_t tail = wsqi_load_own(&self->tail);
    explore_check(how == 2 || n <= CAPACITY / 2); /* fewer, too, of one that is not full any more */
    for (size_t i = 0; how == 2 && i < n; i++) out[i] = wsqi_get(&self->items[(tail - n + i) & WSQI_RING_MASK]);
    for (size_t i = 0; i < n; i++) {
        int number = take(out[i]);
        explore_check(number > before);
        before = number;
    }
}

/* Everybody is joined: what is left must be the rest, each item once. */
static void end(void) {
    for (int i = 0; i < WORKERS; i++) {
        explore_check(wsq_ring_length(&rings[i]) <= CAPACITY);
        while (pop(&rings[i])) {}
        explore_check(wsq_ring_length(&rings[i]) == 0);
    }
    for (int i = 0; i < made; i++) explore_check(items[i].taken == 1);
}

/* ---- threads ---- */

static void thief_1(void *arg) {
    (void)arg;
    for (int i = 0; i < 2; i++) steal(&rings[0], &rings[1]);
    pop(&rings[1]);
}

static void thief_2(void *arg) {
    (void)arg;
    for (int i = 0; i < 2; i++) steal(&rings[0], &rings[2]);
    pop(&rings[2]);
}

/* Robs the thief. */
static void thief_of_thief(void *arg) {
    (void)arg;
    for (int i = 0; i < 2; i++) steal(&rings[1], &rings[2]);
    pop(&rings[2]);
}

/* A worker with work of its own, which it defends badly. */
static void robber(void *arg) {
    int me = *(int *)arg, other = (me + 1) % 3;
    for (int i = 0; i < 3; i++) {
        if (explore_choose(2)) push(&rings[me]);
        else steal(&rings[other], &rings[me]);
    }
    pop(&rings[me]);
}

/* Pushes, pops, spills in any order. */
static void owner(int steps) {
    int last = 0;
    while (steps-- > 0) {
        if (explore_choose(3) == 0) {
            void *it = wsq_ring_pop(&rings[0]);
            if (!it) continue;
            int number = take(it);
            explore_check(number > last); /* first in, first out */
            last = number;
        } else if (!push(&rings[0]) || explore_choose(4) == 0) {
            spill(&rings[0]);
        }
    }
}

/* ---- scenarios ---- */

static void one_thief(void) {
    begin();
    explore_start(thief_1, NULL);
    owner(8);
    explore_join();
    end();
}

static void two_thieves(void) {
    begin();
    explore_start(thief_1, NULL);
    explore_start(thief_2, NULL);
    owner(8);
    explore_join();
    end();
}

static void chain(void) {
    begin();
    explore_start(thief_1, NULL);
    explore_start(thief_of_thief, NULL);
    owner(7);
    explore_join();
    end();
}

static void mutual_theft(void) {
    static int number[] = {0, 1, 2};
    begin();
    for (int i = 0; i < 3; i++) {
        push(&rings[i]);
        if (explore_choose(2)) push(&rings[i]);
    }
    explore_start(robber, &number[1]);
    explore_start(robber, &number[2]);
    robber(&number[0]);
    explore_join();
    end();
}

static void robbed(void *arg) {
    (void)arg;
    steal(&rings[0], &rings[1]);
    push(&rings[1]);
    steal(&rings[0], &rings[1]);
    pop(&rings[1]);
}

/* The thief has items of its own, its room counts while another thief copies out of them. */
static void robbed_while_copying(void) {
    begin();
    while (push(&rings[0])) {}
    while (push(&rings[1])) {}
    if (explore_choose(2)) pop(&rings[1]);
    explore_start(robbed, NULL);
    explore_start(thief_of_thief, NULL);
    owner(3);
    explore_join();
    end();
}

static void spill_against_steal(void) {
    begin();
    while (push(&rings[0])) {}
    explore_start(thief_1, NULL);
    explore_start(thief_2, NULL);
    spill(&rings[0]);
    push(&rings[0]);
    push(&rings[0]);
    spill(&rings[0]);
    pop(&rings[0]);
    explore_join();
    end();
}

/* The ring is never empty: nobody may find it so. */
static void watcher(void *arg) {
    (void)arg;
    for (int i = 0; i < 3; i++) explore_check(wsq_ring_length(&rings[0]) > 0);
}

static void never_empty(void) {
    begin();
    push(&rings[0]);
    explore_start(watcher, NULL);
    for (int i = 0; i < 3; i++) {
        push(&rings[0]);
        pop(&rings[0]);
    }
    explore_join();
    end();
}

/* For the exhaustive walk: no choices of its own. */
static void small(void) {
    begin();
    push(&rings[0]);
    push(&rings[0]);
    explore_start(thief_1, NULL);
    pop(&rings[0]);
    push(&rings[0]);
    explore_join();
    end();
}

static void small_spill(void) {
    begin();
    while (push(&rings[0])) {}
    explore_start(thief_1, NULL);
    spill(&rings[0]);
    push(&rings[0]);
    explore_join();
    end();
}

static void one_steal_each(void *arg) {
    wsq_ring *self = arg;
    steal(&rings[0], self);
}

static void small_two_thieves(void) {
    begin();
    push(&rings[0]);
    push(&rings[0]);
    explore_start(one_steal_each, &rings[1]);
    explore_start(one_steal_each, &rings[2]);
    pop(&rings[0]);
    push(&rings[0]);
    explore_join();
    end();
}

/* ---- the ring's length, as a third thread sees it ---- */

static void thief_of_two(void *arg) {
    (void)arg;
    wsq_ring_steal(&rings[0], &rings[1]);
    wsq_ring_steal(&rings[0], &rings[1]);
}

/* Never more than fits in. */
static void long_look(void *arg) {
    (void)arg;
    for (int i = 0; i < 3; i++) explore_check(wsq_ring_length(&rings[0]) <= WSQ_RING_CAPACITY);
}

static void length_at_most(void) {
    for (int i = 0; i < 2; i++) wsq_ring_init(&rings[i]);
    explore_start(long_look, NULL);
    explore_start(thief_of_two, NULL);
    for (int i = 0; i < 12; i++) {
        wsq_ring_push(&rings[0], &items[i]);
        if (explore_choose(2)) wsq_ring_pop(&rings[0]);
    }
    explore_join();
}

/* Two in, at most one out. */
static void short_look(void *arg) {
    (void)arg;
    for (int i = 0; i < 2; i++) explore_check(wsq_ring_length(&rings[0]) > 0);
}

static void one_theft(void *arg) {
    (void)arg;
    if (wsq_ring_length(&rings[0]) == 2) wsq_ring_steal(&rings[0], &rings[1]);
}

static void length_at_least(void) {
    for (int i = 0; i < 2; i++) wsq_ring_init(&rings[i]);
    wsq_ring_push(&rings[0], &items[0]);
    explore_start(short_look, NULL);
    explore_start(one_theft, NULL);
    wsq_ring_push(&rings[0], &items[1]);
    explore_join();
}

int main(void) {
    explore_random("ring: owner and thief", one_thief, 200000);
    explore_random("ring: owner and two thieves", two_thieves, 200000);
    explore_random("ring: thief of a thief", chain, 200000);
    explore_random("ring: mutual theft", mutual_theft, 200000);
    explore_random("ring: thief robbed while it copies", robbed_while_copying, 200000);
    explore_random("ring: spill against steal", spill_against_steal, 150000);
    explore_random("ring: length of one never empty", never_empty, 100000);
    explore_random("more: a robbed ring is not empty", length_at_least, 20000);
    explore_random("more: the ring's length", length_at_most, 20000);
    explore_exhaust("ring: owner and thief", small, 6);
    explore_exhaust("ring: spill against steal", small_spill, 5);
    explore_exhaust("ring: owner and two thieves", small_two_thieves, 3);
    return explore_end();
}
