/* A lane: two producers, of which one brings a chain of two, and two consumers. Every task is taken once,
 * with what its producer wrote, and the chain's in their order. */
#include "model.h"

typedef struct model_task {
    wsq_task task;
    model_item item;
} model_task;

static wsq_pool pool;
static wsqi_lane lane;
static model_task chain[2], single;

static void model_push(model_task *newest, model_task *oldest) {
    model_write(&newest->item);
    if (oldest != newest) {
        model_write(&oldest->item);
        newest->task.next = &oldest->task;
    }
    wsqi_chain_push(&lane.incoming, &newest->task, &oldest->task);
}

static void *producer(void *arg) {
    (void)arg;
    model_push(&chain[1], &chain[0]);
    return NULL;
}

static void model_drain(uint32_t most) {
    uint32_t left;
    bool newer = false;
    wsq_task *task = wsqi_lane_take(&pool, &lane, most, &left), *next;
    for (; task != NULL; task = next) {
        model_task *self = wsq_container_of(task, model_task, task);
        next = task->next;
        model_take(&self->item);
        newer = newer || self == &chain[1];
        assert(!newer || self != &chain[0]);
    }
}

static void *consumer(void *arg) {
    (void)arg;
    model_drain(1);
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    pool.workers = 1;
    pthread_create(&threads[0], NULL, producer, NULL);
    pthread_create(&threads[1], NULL, consumer, NULL);
    model_push(&single, &single);
    model_drain(1);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < 3; i++) model_drain(4);
    assert(chain[0].item.taken == 1 && chain[1].item.taken == 1 && single.item.taken == 1);
    assert(wsqi_lane_empty(&lane));
    return 0;
}
