/* The ring alone. Beside it, measured in the same rounds: one compare-and-swap and one store, which
 * is what a push and a pop cannot do without. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "bench.h"

#include <pthread.h>

#define BATCH 8

static wsq_ring ring, thief_ring;
static wsqi_a64 word;
static wsqi_a32 tail;
static wsqi_a32 stop;
static int items[BATCH];

static double measure_cas_store(const bench_case *self) {
    uint64_t start = bench_now();
    for (long i = 0; i < self->n; i++) {
        uint64_t expected = wsqi_load_acq(&word);
        bench_check(wsqi_cas_rel(&word, &expected, expected + 1), "cas");
        wsqi_store_rel(&tail, (uint32_t)i);
    }
    return bench_since(start) / (double)self->n;
}

static double measure_push_pop(const bench_case *self) {
    wsq_ring_init(&ring);
    uint64_t start = bench_now();
    for (long i = 0; i < self->n; i++) {
        wsq_ring_push(&ring, &items[0]);
        bench_check(wsq_ring_pop(&ring) != NULL, "pop");
    }
    return bench_since(start) / (double)self->n;
}

static double measure_push8_pop8(const bench_case *self) {
    wsq_ring_init(&ring);
    uint64_t start = bench_now();
    for (long i = 0; i < self->n; i += BATCH) {
        for (int k = 0; k < BATCH; k++) wsq_ring_push(&ring, &items[k]);
        for (int k = 0; k < BATCH; k++) bench_check(wsq_ring_pop(&ring) == &items[k], "pop");
    }
    return bench_since(start) / (double)self->n;
}

/* One way of an item: pushed by its owner, stolen with half of the ring, popped by the thief. */
static double measure_steal_half(const bench_case *self) {
    long got = 0;
    wsq_ring_init(&ring);
    wsq_ring_init(&thief_ring);
    uint64_t start = bench_now();
    for (long done = 0; done < self->n; done += WSQ_RING_CAPACITY) {
        for (int i = 0; i < WSQ_RING_CAPACITY; i++) wsq_ring_push(&ring, &items[0]);
        while (wsq_ring_steal(&ring, &thief_ring)) {
            got++;
            while (wsq_ring_pop(&thief_ring)) got++;
        }
    }
    double ns = bench_since(start);
    bench_check(got >= self->n, "steal");
    return ns / (double)got;
}

/* A steal of one item: all that a theft costs but the copying. */
static double measure_steal_one(const bench_case *self) {
    wsq_ring_init(&ring);
    wsq_ring_init(&thief_ring);
    uint64_t start = bench_now();
    for (long i = 0; i < self->n; i++) {
        wsq_ring_push(&ring, &items[0]);
        bench_check(wsq_ring_steal(&ring, &thief_ring) != NULL, "steal");
    }
    return bench_since(start) / (double)self->n;
}

static void *thief(void *arg) {
    long *stolen = arg;
    while (!wsqi_load_rlx(&stop)) {
        if (!wsq_ring_steal(&ring, &thief_ring)) continue;
        ++*stolen;
        while (wsq_ring_pop(&thief_ring)) ++*stolen;
    }
    return NULL;
}

/* The owner's cost for each item while another thread steals what it can. */
static double measure_beside_thief(const bench_case *self) {
    pthread_t thread;
    long stolen = 0, popped = 0;
    wsq_ring_init(&ring);
    wsq_ring_init(&thief_ring);
    wsqi_store_rlx(&stop, 0);
    bench_check(pthread_create(&thread, NULL, thief, &stolen) == 0, "thread");
    bench_sleep_us(200);
    uint64_t start = bench_now();
    for (long i = 0; i < self->n; i++) {
        while (!wsq_ring_push(&ring, &items[0])) popped += wsq_ring_pop(&ring) != NULL;
        popped += wsq_ring_pop(&ring) != NULL;
    }
    double ns = bench_since(start);
    wsqi_store_rlx(&stop, 1);
    pthread_join(thread, NULL);
    while (wsq_ring_pop(&ring)) popped++;
    bench_check(stolen + popped == self->n, "every item once");
    return ns / (double)self->n;
}

int main(int argc, char **argv) {
    bench_begin("ring", argc, argv);
    bench_case *cas = bench_add("ring/cas_store", "ns", measure_cas_store, 0, 4000000);
    bench_case *push_pop = bench_add("ring/push_pop", "ns", measure_push_pop, 0, 4000000);
    bench_add("ring/push8_pop8", "ns", measure_push8_pop8, 0, 4000000);
    bench_add("ring/steal_half", "ns/item", measure_steal_half, 0, 4096000);
    bench_add("ring/push_steal_one", "ns", measure_steal_one, 0, 2000000);
    bench_add("ring/beside_thief", "ns", measure_beside_thief, 0, 1000000);
    bench_run();
    bench_ratio("ring/push_pop_to_cas_store", push_pop, cas, 1.2, false);
    return bench_end();
}
