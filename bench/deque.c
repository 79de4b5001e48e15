/* The deque alone. Beside it, measured in the same rounds: one full fence, which its pop cannot do
 * without, and one compare-and-swap, the unit of a steal. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "bench.h"

#include <pthread.h>

#define BATCH 8
#define BLOCK 1024

static wsq_deque deque;
static wsqi_a64 word;
static wsqi_a32 stop;
static int items[BATCH];

static double measure_fence(const bench_case *self) {
    uint64_t start = bench_now();
    for (long i = 0; i < self->n; i++) {
        wsqi_store_rlx(&word, (uint64_t)i);
        wsqi_fence_sc();
    }
    return bench_since(start) / (double)self->n;
}

static double measure_cas(const bench_case *self) {
    uint64_t start = bench_now();
    for (long i = 0; i < self->n; i++) {
        uint64_t expected = wsqi_load_acq(&word);
        bench_check(wsqi_cas_rel(&word, &expected, expected + 1), "cas");
    }
    return bench_since(start) / (double)self->n;
}

static void begin(size_t capacity) {
    bench_check(wsq_deque_init(&deque, capacity) == WSQ_OK, "deque");
}

static double measure_push_pop(const bench_case *self) {
    begin(BLOCK);
    uint64_t start = bench_now();
    for (long i = 0; i < self->n; i++) {
        wsq_deque_push(&deque, &items[0]);
        bench_check(wsq_deque_pop(&deque) != NULL, "pop");
    }
    double ns = bench_since(start);
    wsq_deque_fini(&deque);
    return ns / (double)self->n;
}

static double measure_push8_pop8(const bench_case *self) {
    begin(BLOCK);
    uint64_t start = bench_now();
    for (long i = 0; i < self->n; i += BATCH) {
        for (int k = 0; k < BATCH; k++) wsq_deque_push(&deque, &items[k]);
        for (int k = BATCH; k-- > 0;) bench_check(wsq_deque_pop(&deque) == &items[k], "pop");
    }
    double ns = bench_since(start);
    wsq_deque_fini(&deque);
    return ns / (double)self->n;
}

/* Only the steals are on the clock; nobody contends. */
static double measure_steal(const bench_case *self) {
    uint64_t ns = 0;
    begin(BLOCK);
    for (long done = 0; done < self->n; done += BLOCK) {
        for (int i = 0; i < BLOCK; i++) wsq_deque_push(&deque, &items[0]);
        uint64_t start = bench_now();
        void *item;
        for (int i = 0; i < BLOCK; i++)
            bench_check(wsq_deque_steal(&deque, &item) == WSQ_STEAL_OK, "steal");
        ns += bench_now() - start;
    }
    wsq_deque_fini(&deque);
    return (double)ns / (double)self->n;
}

/* From the smallest array to one that holds everything. */
static double measure_grow(const bench_case *self) {
    begin(2);
    uint64_t start = bench_now();
    for (long i = 0; i < self->n; i++)
        bench_check(wsq_deque_push(&deque, &items[0]) == WSQ_OK, "push");
    double ns = bench_since(start);
    wsq_deque_fini(&deque);
    return ns / (double)self->n;
}

static void *thief(void *arg) {
    long *stolen = arg;
    void *item;
    while (!wsqi_load_rlx(&stop)) *stolen += wsq_deque_steal(&deque, &item) == WSQ_STEAL_OK;
    return NULL;
}

/* The owner's cost for each item while another thread steals what it can. */
static double measure_beside_thief(const bench_case *self) {
    pthread_t thread;
    long stolen = 0, popped = 0;
    begin(BLOCK);
    wsqi_store_rlx(&stop, 0);
    bench_check(pthread_create(&thread, NULL, thief, &stolen) == 0, "thread");
    bench_sleep_us(200);
    uint64_t start = bench_now();
    for (long i = 0; i < self->n; i++) {
        wsq_deque_push(&deque, &items[0]);
        popped += wsq_deque_pop(&deque) != NULL;
    }
    double ns = bench_since(start);
    wsqi_store_rlx(&stop, 1);
    pthread_join(thread, NULL);
    bench_check(stolen + popped == self->n, "every item once");
    wsq_deque_fini(&deque);
    return ns / (double)self->n;
}

static double measure_fence_plus_2(const bench_case *self) {
    return measure_fence(self) + 2;
}

static double measure_two_cas(const bench_case *self) {
    return 2 * measure_cas(self);
}

int main(int argc, char **argv) {
    bench_begin("deque", argc, argv);
    bench_add("deque/fence", "ns", measure_fence, 0, 4000000);
    bench_add("deque/cas", "ns", measure_cas, 0, 4000000);
    bench_case *limit = bench_add("deque/fence_and_2_ns", "ns", measure_fence_plus_2, 0, 4000000);
    bench_case *push_pop = bench_add("deque/push_pop", "ns", measure_push_pop, 0, 4000000);
    bench_add("deque/push8_pop8", "ns", measure_push8_pop8, 0, 4000000);
    bench_case *two_cas = bench_add("deque/two_cas", "ns", measure_two_cas, 0, 4000000);
    bench_case *steal = bench_add("deque/steal", "ns", measure_steal, 0, 2048000);
    bench_add("deque/push_growing", "ns", measure_grow, 0, 1000000);
    bench_add("deque/beside_thief", "ns", measure_beside_thief, 0, 1000000);
    bench_run();
    bench_ratio("deque/push_pop_to_fence_and_2_ns", push_pop, limit, 1, false);
    bench_ratio("deque/steal_to_two_cas", steal, two_cas, 1, false);
    return bench_end();
}
