/* A worker sleeps in the driver's wait, or on its token if the driver is taken, until a producer has told it. Another
 * asks the driver once. The driver's state is plain memory, so that a hand-over without order is a race; its other word
 * is a relaxed flag. If the interrupt is lost, the wait does not end, which the checker reports. */
#include "model.h"

static wsq_pool pool;
static wsqi_worker workers[2];
static wsqi_a32 told, poked;
static model_item letter;
static int waits; /* plain: of the thread that has the driver */

static bool driver_wait(uint64_t timeout_ns, void *user) {
    (void)user;
    waits++;
    if (timeout_ns == 0) return false;
    while (wsqi_load_rlx(&poked) == 0) {}
    return false;
}

static void driver_interrupt(void *user) {
    (void)user;
    wsqi_store_rlx(&poked, 1u);
}

static const wsq_driver driver = {driver_wait, NULL, driver_interrupt, NULL};

static void *produce(void *arg) {
    (void)arg;
    model_write(&letter);
    wsqi_store_rel(&told, 1u);
    wsqi_unpark(&workers[0].parker);
    return NULL;
}

static void *look(void *arg) {
    if (!wsqi_driver_take(&workers[1])) return arg;
    wsqi_driver_wait(&workers[1], 0);
    wsqi_driver_leave(&workers[1]);
    return arg;
}

int main(void) {
    pthread_t producer, looker;
    model_pool_init(&pool);
    pool.config.driver = &driver;
    pool.driver.wait = driver_wait; /* no struct is copied: the checker knows no memcpy */
    pool.driver.interrupt = driver_interrupt;
    for (unsigned i = 0; i < 2; i++) {
        workers[i].pool = &pool;
        workers[i].index = i;
        workers[i].parker.parking = &pool.parking;
    }
    pthread_create(&producer, NULL, produce, NULL);
    pthread_create(&looker, NULL, look, NULL);
    bool mine = wsqi_driver_take(&workers[0]);
    wsqi_park(&workers[0].parker, WSQI_NEVER, mine ? &workers[0] : NULL);
    if (mine) wsqi_driver_leave(&workers[0]);
    assert(wsqi_load_rlx(&told) != 0);
    model_take(&letter); /* the token orders it */
    pthread_join(producer, NULL);
    pthread_join(looker, NULL);
    assert(waits <= 2);
    return 0;
}
