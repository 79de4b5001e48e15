/* A thread parks until two others have told it, each after it wrote something. A token that stands for both
 * is enough, and so is one that comes before the thread sleeps; what was written before is visible. */
#include "model.h"

static wsqi_parker parker;
static wsqi_parking parking;
static wsqi_a32 told[2];
static model_item letters[2];

static void *teller(void *arg) {
    size_t mine = (size_t)((wsqi_a32 *)arg - told);
    model_write(&letters[mine]);
    wsqi_store_rel(&told[mine], 1u);
    wsqi_unpark(&parker);
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    parker.parking = &parking;
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, teller, &told[i]);
    wsqi_park(&parker, WSQI_NEVER, NULL); /* one of them at least */
    bool first = wsqi_load_rlx(&told[0]) != 0, second = wsqi_load_rlx(&told[1]) != 0;
    assert(first || second);
    if (first && !second) model_take(&letters[0]); /* the token was its: relaxed is enough */
    if (second && !first) model_take(&letters[1]);
    while (wsqi_load_acq(&told[0]) == 0 || wsqi_load_acq(&told[1]) == 0) wsqi_park(&parker, WSQI_NEVER, NULL);
    for (int i = 0; i < 2; i++) {
        if (letters[i].taken == 0) model_take(&letters[i]);
        pthread_join(threads[i], NULL);
        assert(letters[i].taken == 1);
    }
    return 0;
}
