/* The last item of a deque: its owner and two thieves want it. The second push makes the array grow. */
#include "model.h"

static wsq_deque deque;
static model_item items[2];

static void *thief(void *arg) {
    void *item;
    (void)arg;
    if (wsq_deque_steal(&deque, &item) == WSQ_STEAL_OK) model_take(item);
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    if (wsq_deque_init(&deque, 1) != WSQ_OK) return 1;
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, thief, NULL);
    for (int i = 0; i < 2; i++) {
        model_write(&items[i]);
        if (wsq_deque_push(&deque, &items[i]) != WSQ_OK) return 1;
    }
    model_take(wsq_deque_pop(&deque));
    model_take(wsq_deque_pop(&deque));
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    model_take(wsq_deque_pop(&deque));
    model_take(wsq_deque_pop(&deque));
    assert(items[0].taken == 1 && items[1].taken == 1);
    wsq_deque_fini(&deque);
    return 0;
}
