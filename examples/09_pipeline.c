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

/* One stage puts, the next takes. */
struct queue {
    atomic_uint taken, put; /* items so far */
    uint64_t items[ROOM];
};

struct stage {
    wsq_task task;
    const char *name;
    unsigned rounds; /* of work for each item */
    unsigned done;   /* items; what follows is counted for the report */
    unsigned runs, found_empty, found_full;
    uint64_t sum;
};

static struct queue queues[STAGES - 1]; /* queues[i] leads from stages[i] to stages[i + 1] */
static struct stage stages[STAGES] = {
    {.name = "number", .rounds = 10},
    {.name = "mix", .rounds = 300},
    {.name = "mix slowly", .rounds = 1500},
    {.name = "add up", .rounds = 10},
};

static uint64_t work(uint64_t x, unsigned rounds) {
    while (rounds-- > 0) x = (x ^ (x >> 29)) * UINT64_C(0xBF58476D1CE4E5B9);
    return x;
}

static bool is_empty(struct queue *queue) {
    return atomic_load(&queue->put) == atomic_load(&queue->taken);
}

static bool is_full(struct queue *queue) {
    return atomic_load(&queue->put) - atomic_load(&queue->taken) == ROOM;
}

/* The stage before may be waiting for room. It is woken once half of the queue is free, so that it
 * runs for a while: waking it for each item would be right, too, but slower. */
static uint64_t take(unsigned index) {
    struct queue *queue = &queues[index - 1];
    unsigned taken = atomic_load(&queue->taken);
    uint64_t item = queue->items[taken % ROOM];
    atomic_store(&queue->taken, taken + 1);
    if (atomic_load(&queue->put) - (taken + 1) == ROOM / 2)
        wsq_wake(&stages[index - 1].task);
    return item;
}

/* The next stage may be waiting for anything at all. */
static void put(unsigned index, uint64_t item) {
    struct queue *queue = &queues[index];
    unsigned put = atomic_load(&queue->put);
    queue->items[put % ROOM] = item;
    atomic_store(&queue->put, put + 1);
    if (atomic_load(&queue->taken) == put) wsq_wake(&stages[index + 1].task);
}

static wsq_poll stage_run(wsq_ctx ctx, wsq_task *task) {
    struct stage *self = wsq_container_of(task, struct stage, task);
    unsigned index = (unsigned)(self - stages);
    (void)ctx;
    self->runs++;
    while (self->done < ITEMS) {
        if (index > 0 && is_empty(&queues[index - 1])) {
            self->found_empty++;
            return WSQ_PENDING;
        }
        if (index < STAGES - 1 && is_full(&queues[index])) {
            self->found_full++;
            return WSQ_PENDING;
        }
        if (!wsq_budget_take()) return WSQ_YIELD; /* others want to run, too */
        uint64_t item = work(index > 0 ? take(index) : self->done, self->rounds);
        self->sum = self->sum * 31 + item; /* would differ, were the order another */
        self->done++;
        if (index < STAGES - 1) put(index, item);
    }
    return WSQ_DONE;
}

static uint64_t by_one_loop(void) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < ITEMS; i++) {
        uint64_t item = i;
        for (unsigned stage = 0; stage < STAGES; stage++) item = work(item, stages[stage].rounds);
        sum = sum * 31 + item;
    }
    return sum;
}

int main(void) {
    wsq_pool *pool;
    if (wsq_pool_create(&pool, NULL) != WSQ_OK) return 1;
    /* All of them, before the first runs: a task that is not spawned yet may be woken. */
    for (unsigned i = 0; i < STAGES; i++) wsq_task_init(&stages[i].task, stage_run);
    for (unsigned i = 0; i < STAGES; i++) wsq_spawn(pool, &stages[i].task);
    wsq_pool_wait(pool);
    wsq_pool_destroy(pool);

    printf("stage        items   runs  found its input empty  output full\n");
    for (unsigned i = 0; i < STAGES; i++) {
        struct stage *s = &stages[i];
        printf("%-10s %7u %6u %12u %18u\n", s->name, s->done, s->runs, s->found_empty,
               s->found_full);
    }
    bool right = stages[STAGES - 1].sum == by_one_loop();
    printf("every item, in order: %s\n", right ? "yes" : "NO");
    return right ? 0 : 1;
}
