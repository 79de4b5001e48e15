/* Runs a function once on every worker, for data that belongs to a thread: a random generator, a
 * buffer, a library's context, counters that are added up at the end.
 *     cc -O2 -pthread per_worker.c -o per_worker && ./per_worker
 *
 * wsq_spawn_on pins a task to a worker: only that worker runs the task, and is woken for it.
 * Stand-ins and guests (threads in wsq_run) are not visited, and have higher indices; so have
 * threads outside that run a task in wsq_task_wait, wsq_group_wait or wsq_future_get. So the array
 * has wsq_pool_slots elements, and they fill theirs when they first use it.
 * What a wait or a join runs on this thread has the same index: expect a buffer changed after it. */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include <stdlib.h>

struct visit {
    wsq_task task;
    void (*fn)(unsigned worker, void *arg);
    void *arg;
};

static wsq_poll visit_run(wsq_ctx ctx, wsq_task *task) {
    struct visit *self = wsq_container_of(task, struct visit, task);
    self->fn(wsq_worker_index(ctx), self->arg);
    return WSQ_DONE;
}

/* From outside. Returns when every worker has called fn; each does so between two of its tasks. */
static wsq_result on_each_worker(wsq_pool *pool, void (*fn)(unsigned worker, void *arg),
                                 void *arg) {
    unsigned workers = wsq_pool_workers(pool), started = 0;
    struct visit *visits = calloc(workers, sizeof *visits);
    wsq_result result = visits ? WSQ_OK : WSQ_ERR_MEMORY;
    for (; started < workers && result == WSQ_OK; started++) {
        visits[started].fn = fn;
        visits[started].arg = arg;
        wsq_task_init(&visits[started].task, visit_run);
        result = wsq_spawn_on(pool, started, &visits[started].task);
    }
    if (result != WSQ_OK && started > 0) started--; /* the last one was refused */
    for (unsigned i = 0; i < started; i++) wsq_task_wait(&visits[i].task);
    free(visits);
    return result;
}

/* ---- the check: tasks count on their worker's own counter, without an atomic ---- */

enum { WORKERS = 4, TASKS = 10000 };
static uint64_t **counters; /* one for each index, allocated by the thread that uses it */
static wsq_task tasks[TASKS];

static void prepare(unsigned index, void *arg) {
    (void)arg;
    counters[index] = calloc(1, WSQ_CACHELINE);
}

static wsq_poll count(wsq_ctx ctx, wsq_task *task) {
    unsigned index = wsq_worker_index(ctx);
    (void)task;
    if (!counters[index]) prepare(index, NULL); /* not a worker, and for the first time */
    ++*counters[index];
    return WSQ_DONE;
}

int main(void) {
    wsq_pool *pool;
    uint64_t sum = 0;
    if (wsq_pool_create(&pool, &(wsq_config){.workers = WORKERS}) != WSQ_OK) return 1;
    unsigned slots = wsq_pool_slots(pool), visited = 0;
    counters = calloc(slots, sizeof *counters);
    if (!counters || on_each_worker(pool, prepare, NULL) != WSQ_OK) return 1;
    while (visited < WORKERS && counters[visited]) visited++;
    for (int i = 0; i < TASKS; i++) tasks[i].fn = count, wsq_spawn(pool, &tasks[i]);
    wsq_task_wait(&tasks[TASKS - 1]); /* this thread may run it, as a guest would */
    wsq_pool_destroy(pool);
    for (unsigned i = 0; i < slots; free(counters[i++])) sum += counters[i] ? *counters[i] : 0;
    free(counters);
    printf("%u workers counted %llu of %d tasks\n", visited, (unsigned long long)sum, TASKS);
    return visited == WORKERS && sum == TASKS ? 0 : 1;
}
