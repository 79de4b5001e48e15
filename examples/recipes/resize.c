/* A pool that grows and shrinks, down to no threads at all: then it is paused.
 *     cc -O2 -pthread resize.c -o resize && ./resize
 *
 * A lend_only pool starts no threads; it works with those that you lend it. A dismissed thread
 * leaves between two tasks, and the tasks in its queue are left to the others: no task is lost. */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum { MOST = 8, TASKS = 20000 };

static wsq_pool *pool;
static atomic_uint threads;

static void *lend(void *arg) {
    (void)arg;
    wsq_worker_enter(pool); /* until it is dismissed */
    atomic_fetch_sub(&threads, 1);
    return NULL;
}

/* One caller at a time, wanted <= MOST. Returns when so many threads work; those too many finish their
 * tasks first. A thread takes the lowest free index, so it is the highest ones that go. A request
 * that comes before the thread has entered is not heard: hence again and again. */
static bool resize(unsigned wanted) {
    pthread_t thread;
    while (atomic_load(&threads) < wanted) {
        atomic_fetch_add(&threads, 1);
        if (pthread_create(&thread, NULL, lend, NULL) != 0) {
            atomic_fetch_sub(&threads, 1);
            return false;
        }
        pthread_detach(thread);
    }
    while (atomic_load(&threads) > wanted) {
        for (unsigned i = wanted; i < MOST; i++) wsq_worker_dismiss(pool, i);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return true;
}

/* ---- the check ---- */

static wsq_task tasks[TASKS];
static atomic_int ran;

static wsq_poll work(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    for (volatile int i = 0; i < 3000; i++) {}
    atomic_fetch_add(&ran, 1);
    return WSQ_DONE;
}

int main(void) {
    static const unsigned sizes[] = {0, 2, 0, 4, 1, 8, 0, 3};
    bool still = true;
    wsq_config config = {.workers = MOST, .lend_only = true};
    if (wsq_pool_create(&pool, &config) != WSQ_OK) return 1;
    for (int i = 0; i < TASKS; i++) {
        wsq_task_init(&tasks[i], work);
        wsq_spawn(pool, &tasks[i]);
    }
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (!resize(sizes[i])) return 1;
        int before = ran;
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
        printf("%u threads: %d tasks ran, %llu to do\n", sizes[i], ran - before,
               (unsigned long long)wsq_pool_pending(pool));
        if (sizes[i] == 0) still = still && before == ran;
    }
    wsq_pool_wait(pool);
    if (!resize(0)) return 1; /* every thread must have left before the pool goes */
    wsq_pool_destroy(pool);
    return still && ran == TASKS ? 0 : 1;
}
