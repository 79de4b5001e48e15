/* A pipeline: stages with bounded queues between them, each stage a task.
 *     cc -O2 -pthread 09_pipeline.c -o pipeline && ./pipeline
 *
 * A stage that finds its input empty, or its output full, returns WSQ_PENDING, and its neighbour
 * wakes it. So a slow stage slows down the ones before it, and a stage that waits holds no worker.
 * No lock is needed: a wake that comes after the check and before the return is not lost. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include <stdatomic.h>

enum { ITEMS = 30000, ROOM = 64, STAGES = 4 };

static struct stage {
    wsq_task task;
    unsigned rounds;        /* of work for each item */
    unsigned done, waits;   /* items so far; how often it returned WSQ_PENDING */
    atomic_uint put, taken; /* items so far, in the queue to the next stage */
    uint64_t queue[ROOM];
} stages[STAGES] = {{.rounds = 10}, {.rounds = 300}, {.rounds = 1500}, {.rounds = 10}};
static struct stage *const first = stages, *const last = &stages[STAGES - 1];
static uint64_t sum;

static uint64_t work(uint64_t x, unsigned rounds) {
    while (rounds-- > 0) x = (x ^ (x >> 29)) * UINT64_C(0xBF58476D1CE4E5B9);
    return x;
}

/* The stage `from` may be waiting for room. It is woken once half of the queue is free, so that it
 * runs for a while: waking it for each item would be right, too, but slower. */
static uint64_t take(struct stage *from) {
    unsigned taken = atomic_load(&from->taken);
    uint64_t item = from->queue[taken % ROOM];
    atomic_store(&from->taken, taken + 1);
    if (atomic_load(&from->put) - (taken + 1) == ROOM / 2) wsq_wake(&from->task);
    return item;
}

/* The next stage may be waiting for anything at all. */
static void put(struct stage *self, uint64_t item) {
    unsigned put = atomic_load(&self->put);
    self->queue[put % ROOM] = item;
    atomic_store(&self->put, put + 1);
    if (atomic_load(&self->taken) == put) wsq_wake(&self[1].task);
}

static unsigned queued(struct stage *self) {
    return atomic_load(&self->put) - atomic_load(&self->taken);
}

static wsq_poll stage_run(wsq_ctx ctx, wsq_task *task) {
    struct stage *self = wsq_container_of(task, struct stage, task);
    (void)ctx;
    for (; self->done < ITEMS; self->done++) {
        if ((self != first && queued(self - 1) == 0) || (self != last && queued(self) == ROOM))
            return self->waits++, WSQ_PENDING;
        if (!wsq_budget_take()) return WSQ_YIELD; /* others want to run, too */
        uint64_t item = work(self == first ? self->done : take(self - 1), self->rounds);
        if (self == last) sum = sum * 31 + item; /* would differ, were the order another */
        else put(self, item);
    }
    return WSQ_DONE;
}

int main(void) {
    wsq_pool *pool;
    uint64_t expected = 0;
    if (wsq_pool_create(&pool, NULL) != WSQ_OK) return 1;
    for (int i = 0; i < STAGES; i++) wsq_task_init(&stages[i].task, stage_run);
    for (int i = 0; i < STAGES; i++) wsq_spawn(pool, &stages[i].task);
    wsq_pool_destroy(pool); /* waits for the tasks */
    for (uint64_t i = 0, item = 0; i < ITEMS; i++, item = i) {
        for (int stage = 0; stage < STAGES; stage++) item = work(item, stages[stage].rounds);
        expected = expected * 31 + item;
    }
    for (int i = 0; i < STAGES; i++)
        printf("stage %d: %u items, waited %u times\n", i, stages[i].done, stages[i].waits);
    return sum == expected ? 0 : 1;
}
