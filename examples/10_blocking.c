/* Blocking calls: what to do with a function that sleeps in the system and cannot wait for a wake
 * instead, such as a file, a name server, a library.
 *     cc -O2 -pthread 10_blocking.c -o blocking && ./blocking
 *
 * Between wsq_block_begin and wsq_block_end a stand-in works in this worker's place: a thread that
 * is started when it is first needed, and sleeps when it is not. So tasks that compute go on
 * beside any number of tasks that block (at most max_standins). */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include <stdatomic.h>
#include <time.h>

enum { BLOCKING = 12, COMPUTING = 200, BLOCK_MS = 100 };

static bool announced; /* do tasks say that they block? */
static atomic_uint computed;

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Stands for a read from a slow disk, say. */
static void slow_call(void) {
    nanosleep(&(struct timespec){.tv_nsec = BLOCK_MS * 1000000L}, NULL);
}

static wsq_poll block(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    if (announced) wsq_block_begin(ctx);
    slow_call();
    if (announced) wsq_block_end(ctx);
    return WSQ_DONE;
}

static wsq_poll compute(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    for (double until = now_ms() + 0.1; now_ms() < until;) {}
    atomic_fetch_add(&computed, 1);
    return WSQ_DONE;
}

/* Milliseconds until all computing tasks are done, and until all are. */
static void measure(wsq_pool *pool, double *computing, double *all) {
    static wsq_task blocking_tasks[BLOCKING], computing_tasks[COMPUTING];
    double began = now_ms();
    for (unsigned i = 0; i < BLOCKING; i++) {
        wsq_task_init(&blocking_tasks[i], block);
        wsq_spawn(pool, &blocking_tasks[i]);
    }
    for (unsigned i = 0; i < COMPUTING; i++) {
        wsq_task_init(&computing_tasks[i], compute);
        wsq_spawn(pool, &computing_tasks[i]);
    }
    for (unsigned i = 0; i < COMPUTING; i++) wsq_task_wait(&computing_tasks[i]);
    *computing = now_ms() - began;
    wsq_pool_wait(pool);
    *all = now_ms() - began;
}

int main(void) {
    double computing[2], all[2];
    wsq_pool *pool;
    wsq_config config = {.workers = 2, .max_standins = BLOCKING};
    if (wsq_pool_create(&pool, &config) != WSQ_OK) return 1;
    printf("2 workers, %d tasks that block for %d ms each, %d that compute for 0.1 ms\n", BLOCKING,
           BLOCK_MS, COMPUTING);
    for (int i = 0; i < 2; i++) {
        announced = i > 0;
        measure(pool, &computing[i], &all[i]);
        printf("%-24s computed after %4.0f ms, all done after %4.0f ms\n",
               announced ? "with wsq_block_begin:" : "without:", computing[i], all[i]);
    }
    wsq_pool_destroy(pool);
    /* 12 times 100 ms by two workers are 600 ms; side by side they are 100, if the machine is idle. */
    return computed == 2 * COMPUTING ? 0 : 1;
}
