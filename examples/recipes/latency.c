/* How long do tasks wait between their spawn and their start?
 *     cc -O2 -pthread latency.c -o latency && ./latency
 *
 * A hook stores the time of the spawn, or of the wake, in the task's struct, and at the start of the
 * run counts how long it was, in a histogram by powers of two. So it must know the struct: here all
 * work of the pool is tasks in a `struct timed`, and none yields (that is WSQ_EVENT_TASK_END). */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include <stdatomic.h>
#include <time.h>

struct timed {
    wsq_task task;
    uint64_t queued_ns; /* the thread that queues it writes, the one that runs it reads */
};

enum { BUCKETS = 40 };
static atomic_ulong histogram[BUCKETS]; /* [i]: less than 2^i ns, and at least half of that */

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void latency_event(void *user, wsq_event event, unsigned worker, const void *subject,
                          uint64_t value) {
    (void)user, (void)worker, (void)value;
    if (subject == NULL) return; /* the function of a wsq_run */
    struct timed *self = wsq_container_of((wsq_task *)(uintptr_t)subject, struct timed, task);
    if (event != WSQ_EVENT_TASK_BEGIN) {
        self->queued_ns = now_ns();
        return;
    }
    unsigned bucket = 0;
    for (uint64_t ns = now_ns() - self->queued_ns; ns != 0 && bucket < BUCKETS - 1; ns /= 2) bucket++;
    atomic_fetch_add_explicit(&histogram[bucket], 1, memory_order_relaxed);
}

static const wsq_hooks latency_hooks = {
    .event = latency_event,
    .events = 1u << WSQ_EVENT_SPAWN | 1u << WSQ_EVENT_WAKE | 1u << WSQ_EVENT_TASK_BEGIN};

static unsigned long latency_print(void) {
    unsigned long all = 0, most = 1, count;
    for (int i = 0; i < BUCKETS; i++) {
        all += count = atomic_load(&histogram[i]);
        if (count > most) most = count;
    }
    for (int i = 0; i < BUCKETS; i++) {
        if ((count = atomic_load(&histogram[i])) == 0) continue;
        printf("< %12.1f us %8lu  %.*s\n", (double)(1ull << i) / 1e3, count,
               (int)(50 * count / most), "##################################################");
    }
    return all;
}

/* ---- the check: each run of each task is counted once ---- */

enum { TASKS = 5000 };
static struct timed tasks[TASKS];

static wsq_poll work(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    for (volatile int i = 0; i < 1000; i++) {}
    return WSQ_DONE;
}

int main(void) {
    wsq_pool *pool;
    if (wsq_pool_create(&pool, &(wsq_config){.hooks = &latency_hooks}) != WSQ_OK) return 1;
    for (int i = 0; i < TASKS; i++) tasks[i].task.fn = work, wsq_spawn(pool, &tasks[i].task);
    wsq_pool_destroy(pool);
    return latency_print() == TASKS ? 0 : 1;
}
