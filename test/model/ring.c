/* The owner pushes three items through a ring of two while a thief steals, and spills what is in it: every
 * item is taken once, or is still there, and a slot is not overwritten while it is copied out. */
#include "model.h"

static wsq_ring ring, loot;
static model_item items[3];

static void *thief(void *arg) {
    (void)arg;
    model_take(wsq_ring_steal(&ring, &loot));
    model_take(wsq_ring_pop(&loot));
    return NULL;
}

int main(void) {
    pthread_t thread;
    void *spilled[WSQ_RING_CAPACITY + 1];
    int pushed = 0;
    wsq_ring_init(&ring);
    wsq_ring_init(&loot);
    pthread_create(&thread, NULL, thief, NULL);
    for (int i = 0; i < 3; i++) {
        model_write(&items[i]);
        if (wsq_ring_push(&ring, &items[i])) pushed++;
        else i = 3;
        if (i != 1) continue;
        /* A thief that sees the head after these must not see the tail from before. */
        size_t count = wsq_ring_spill(&ring, spilled);
        for (size_t k = 0; k < count; k++) model_take(spilled[k]);
        model_take(wsq_ring_pop(&ring));
    }
    pthread_join(thread, NULL);
    for (int i = 0; i < 3; i++) model_take(wsq_ring_pop(&ring));
    for (int i = 0; i < 3; i++) assert(items[i].taken == (i < pushed ? 1 : 0));
    return 0;
}
