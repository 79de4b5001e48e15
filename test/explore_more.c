/* Scenarios that the mutants of wsq.h asked for (test/mutants.txt): what the others do not reach. */
#include "explore_pool.h"

enum { ITEMS = 12 };

/* ---- the ring's length, as a third thread sees it ---- */

static wsq_ring rings[2];
static int things[ITEMS];

static void thief(void *arg) {
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
    explore_start(thief, NULL);
    for (int i = 0; i < ITEMS; i++) {
        wsq_ring_push(&rings[0], &things[i]);
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
    wsq_ring_push(&rings[0], &things[0]);
    explore_start(short_look, NULL);
    explore_start(one_theft, NULL);
    wsq_ring_push(&rings[0], &things[1]);
    explore_join();
}

int main(void) {
    explore_random("more: a robbed ring is not empty", length_at_least, 200000);
    explore_random("more: the ring's length", length_at_most, 200000);
    return explore_end();
}
