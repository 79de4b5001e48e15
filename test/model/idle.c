/* One worker looks for a task in the global queue, and sleeps while there is none; two producers bring one
 * each and notify. When it has found one it is in there for good. A task beside the sleeper is a sleep that
 * nothing ends, which the checker reports. */
#include "model.h"

enum { WORKERS = 1, PRODUCERS = 2 };

typedef struct model_task {
    wsq_task task;
    model_item item;
} model_task;

static wsq_pool pool;
static wsqi_worker workers[WORKERS];
static wsqi_worker *table[WORKERS];
static wsqi_a64 sleepers, joiners, nested, empty;
static model_task tasks[PRODUCERS];

static void *produce(void *arg) {
    model_task *self = (model_task *)arg;
    model_write(&self->item);
    wsqi_chain_push(&pool.lanes[WSQ_NORMAL].incoming, &self->task, &self->task);
    wsqi_notify(&pool);
    return NULL;
}

static wsq_task *model_find(void) {
    uint32_t left;
    return wsqi_lane_take(&pool, &pool.lanes[WSQ_NORMAL], 1, &left);
}

static void work(wsqi_worker *self) {
    wsq_task *task;
    wsqi_search_begin(self);
    while ((task = model_find()) == NULL) wsqi_sleep(self, NULL);
    wsqi_search_end(self);
    model_take(&wsq_container_of(task, model_task, task)->item);
}

static void model_pool(void) {
    model_pool_init(&pool);
    pool.workers = WORKERS;
    pool.bitmap.words = 1;
    pool.table = table;
    pool.bitmap.sleepers = &sleepers;
    pool.bitmap.joiners = &joiners;
    pool.bitmap.idle_in_wait = &nested;
    pool.bitmap.empty = &empty;
    wsqi_store_rlx(&pool.made.threads, (uint32_t)WORKERS);
    for (unsigned i = 0; i < WORKERS; i++) {
        table[i] = &workers[i];
        workers[i].pool = &pool;
        workers[i].permit = true;
        workers[i].index = i;
        workers[i].parker.parking = &pool.parking;
    }
}

int main(void) {
    pthread_t threads[PRODUCERS];
    model_pool();
    for (int i = 0; i < PRODUCERS; i++) pthread_create(&threads[i], NULL, produce, &tasks[i]);
    work(&workers[0]);
    for (int i = 0; i < PRODUCERS; i++) pthread_join(threads[i], NULL);
    int taken = 0;
    for (int i = 0; i < PRODUCERS; i++) taken += tasks[i].item.taken;
    assert(taken == 1);
    return 0;
}
