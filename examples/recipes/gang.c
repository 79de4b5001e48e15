/* A gang: n bodies that run at the same time, with a barrier between their steps, as OpenMP's
 * parallel regions and ggml's graphs want it. Body `ith` of `nth` takes its share of each step.
 *     cc -O2 -pthread gang.c -o gang && ./gang
 *
 * Nobody passes the barrier before every body is on a thread. So none may wait in a queue behind
 * another one: body 0 runs on the caller, each other one is pinned to a worker of its own, and the
 * lock lets one gang in at a time (two could each have half of the workers, for ever). Other tasks
 * of the pool only delay it; but none of them may wait for a gang, nor call gang_run: it would hold
 * the worker for which a body waits. */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { SPINS = 2000 }; /* some microseconds: longer than steps differ, mostly */

struct gang;
struct member {
    wsq_task task;
    struct gang *gang;
    unsigned ith;
};

struct gang {
    wsq_pool *pool; /* size - 1 workers; NULL: the caller is alone */
    unsigned size;
    struct member *members;
    pthread_mutex_t busy, lock; /* one gang at a time; for sleepers */
    pthread_cond_t opened;
    atomic_uint come, phase;
    void (*body)(unsigned ith, unsigned nth, struct gang *gang, void *arg);
    void *arg;
};

static bool gang_init(struct gang *self, unsigned size) {
    *self = (struct gang){.size = size, .members = calloc(size, sizeof *self->members)};
    pthread_mutex_init(&self->busy, NULL);
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->opened, NULL);
    /* Where one gang follows another within this time, its threads are still awake. */
    wsq_config config = {.workers = size - 1, .spin_ns = 100000};
    if (!self->members) return false;
    return size == 1 || wsq_pool_create(&self->pool, &config) == WSQ_OK;
}

static void gang_fini(struct gang *self) {
    if (self->pool) wsq_pool_destroy(self->pool);
    free(self->members);
}

static wsq_poll member_run(wsq_ctx ctx, wsq_task *task) {
    struct member *self = wsq_container_of(task, struct member, task);
    (void)ctx;
    self->gang->body(self->ith, self->gang->size, self->gang, self->gang->arg);
    return WSQ_DONE;
}

/* Any thread outside the pool. Returns when every body has. */
static void gang_run(struct gang *self, void (*body)(unsigned, unsigned, struct gang *, void *),
                     void *arg) {
    pthread_mutex_lock(&self->busy);
    self->body = body;
    self->arg = arg;
    for (unsigned i = 1; i < self->size; i++) {
        struct member *member = &self->members[i];
        member->gang = self;
        member->ith = i;
        wsq_task_init(&member->task, member_run);
        wsq_spawn_on(self->pool, i - 1, &member->task); /* cannot fail: the pool is not shut down */
    }
    body(0, self->size, self, arg);
    for (unsigned i = 1; i < self->size; i++) wsq_task_wait(&self->members[i].task);
    pthread_mutex_unlock(&self->busy);
}

/* Every body calls it, equally often. */
static void gang_barrier(struct gang *self) {
    unsigned phase = atomic_load(&self->phase);
    if (1 + atomic_fetch_add(&self->come, 1) == self->size) {
        atomic_store(&self->come, 0); /* before anybody can come again */
        pthread_mutex_lock(&self->lock);
        atomic_store(&self->phase, phase + 1);
        pthread_cond_broadcast(&self->opened);
        pthread_mutex_unlock(&self->lock);
        return;
    }
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load(&self->phase) != phase) return;
    }
    pthread_mutex_lock(&self->lock);
    while (atomic_load(&self->phase) == phase) pthread_cond_wait(&self->opened, &self->lock);
    pthread_mutex_unlock(&self->lock);
}

/* ---- the check: heat spreads through a rod; each step needs all of the one before ---- */

enum { CELLS = 4000, STEPS = 300 };
static double heat[2][CELLS + 2];

static void rod(unsigned ith, unsigned nth, struct gang *gang, void *arg) {
    (void)arg;
    for (unsigned step = 0; step < STEPS; step++) {
        double *from = heat[step % 2], *to = heat[(step + 1) % 2];
        for (unsigned i = 1 + CELLS * ith / nth; i <= CELLS * (ith + 1) / nth; i++)
            to[i] = from[i] + 0.25 * (from[i - 1] - 2 * from[i] + from[i + 1]);
        gang_barrier(gang);
    }
}

int main(void) {
    double sum = 0, expected = 0;
    for (unsigned size = 1; size <= 4; size++) {
        struct gang gang;
        if (!gang_init(&gang, size)) return 1;
        for (int i = 0; i < CELLS + 2; i++) heat[0][i] = heat[1][i] = i % 100 == 50 ? 1000 : 1;
        for (int twice = 0; twice < 2; twice++) gang_run(&gang, rod, NULL);
        sum = 0;
        for (int i = 1; i <= CELLS; i++) sum += heat[STEPS % 2][i] * (i % 7);
        if (size == 1) expected = sum;
        printf("%u bodies: %.9f\n", size, sum);
        gang_fini(&gang);
        if (sum != expected) return 1;
    }
    return 0;
}
