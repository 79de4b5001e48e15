/* A gang: n bodies that run at the same time, with a barrier between their steps, as in OpenMP's
 * parallel regions and ggml's graphs. Body `ith` of `nth` does its share of each step.
 *     cc -O2 -pthread gang.c -o gang && ./gang
 *
 * No body passes the barrier before every body is on a thread, so no body may wait in a queue
 * behind another. Body 0 runs on the caller, each other body is pinned to a worker of its own, and
 * one gang runs at a time. Other tasks of the pool delay the gang, but must not wait for it. */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include <sched.h>
#include <stdatomic.h>

enum { MOST = 64, SPINS = 2000 }; /* of bodies; some microseconds: steps hardly differ by more */

struct gang {
    wsq_pool *pool; /* size - 1 workers; NULL: the caller is alone */
    unsigned size;
    wsq_task tasks[MOST];
    atomic_uint come, phase;
    void (*body)(unsigned ith, unsigned nth, struct gang *gang);
};

static bool gang_init(struct gang *self, unsigned size) {
    *self = (struct gang){.size = size};
    /* Where one gang follows another within spin_ns, its threads are still awake. */
    wsq_config config = {.workers = size - 1, .spin_ns = 100000};
    return size == 1 || (size <= MOST && wsq_pool_create(&self->pool, &config) == WSQ_OK);
}

static wsq_poll member_run(wsq_ctx ctx, wsq_task *task) {
    unsigned ith = 1 + wsq_worker_index(ctx); /* it is pinned */
    struct gang *gang = wsq_container_of(task - ith, struct gang, tasks);
    gang->body(ith, gang->size, gang);
    return WSQ_DONE;
}

/* One thread outside the pool at a time. Returns when every body has. */
static void gang_run(struct gang *self, void (*body)(unsigned, unsigned, struct gang *)) {
    self->body = body;
    for (unsigned i = 1; i < self->size; i++) {
        wsq_task_init(&self->tasks[i], member_run);
        wsq_spawn_on(self->pool, i - 1, &self->tasks[i]); /* the pool is not shut down */
    }
    body(0, self->size, self);
    for (unsigned i = 1; i < self->size; i++) wsq_task_wait(&self->tasks[i]);
}

/* Every body calls it, equally often. (Steps that take long: pthread_barrier_wait.) */
static void gang_barrier(struct gang *self) {
    unsigned phase = atomic_load(&self->phase);
    if (1 + atomic_fetch_add(&self->come, 1) == self->size) {
        atomic_store(&self->come, 0); /* before anybody can come again */
        atomic_store(&self->phase, phase + 1);
    }
    for (int i = 0; atomic_load(&self->phase) == phase; i++)
        if (i > SPINS) sched_yield(); /* there are more bodies than cores */
}

/* ---- the check: all cells are alike, if none takes a value of another step ---- */

enum { STEPS = 300 };
static unsigned cells[2][MOST];

static void steps(unsigned ith, unsigned nth, struct gang *gang) {
    for (unsigned i = 0; i < STEPS; i++, gang_barrier(gang))
        cells[(i + 1) % 2][ith] = 1 + cells[i % 2][ith] + 2 * cells[i % 2][(ith + 1) % nth];
}

int main(void) {
    struct gang gang;
    unsigned expected = 0;
    for (int i = 0; i < 4 * STEPS; i++) expected = 1 + 3 * expected;
    for (unsigned size = 1; size <= 4 && gang_init(&gang, size); size++) {
        gang_run(&gang, steps); /* cells[0] goes on where the last gang ended: 1, then 2... */
        if (gang.pool) wsq_pool_destroy(gang.pool);
        cells[0][size] = cells[0][0];
    }
    return cells[0][0] == expected ? 0 : 1;
}
