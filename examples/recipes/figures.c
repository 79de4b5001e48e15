/* Shows what a pool holds at this moment: its bytes, how many tasks run, and how many wait.
 *     cc -O2 -pthread figures.c -o figures && ./figures
 *
 * An allocator sees every byte. A hook sees the begin and end of every run, on the worker's own
 * thread. wsq_pool_pending counts the tasks that run and those that wait: in a queue, for a wake,
 * or for another task. */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include <stdatomic.h>
#include <stdlib.h>

static atomic_size_t bytes;
static atomic_int running;

static void *take(size_t size, size_t alignment, void *user) {
    (void)user;
#ifdef _WIN32 /* it has no aligned_alloc */
    void *memory = _aligned_malloc(size, alignment);
#else /* which wants a multiple of the alignment */
    void *memory = aligned_alloc(alignment, (size + alignment - 1) & ~(alignment - 1));
#endif
    if (memory) atomic_fetch_add(&bytes, size);
    return memory;
}

static void give(void *memory, size_t size, void *user) {
    (void)user;
    if (memory) atomic_fetch_sub(&bytes, size);
#ifdef _WIN32
    _aligned_free(memory);
#else
    free(memory);
#endif
}

static void watch(void *user, wsq_event event, unsigned worker, const void *subject,
                  uint64_t value) {
    (void)user, (void)worker, (void)subject, (void)value;
    if (event == WSQ_EVENT_TASK_BEGIN) atomic_fetch_add(&running, 1);
    if (event == WSQ_EVENT_TASK_END) atomic_fetch_sub(&running, 1);
}

/* ---- the check: both workers are held, so the rest waits ---- */

enum { HELD = 2, QUEUED = 500 };
static wsq_task tasks[HELD + QUEUED];
static atomic_bool released;

static wsq_poll work(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    while (!atomic_load(&released)) {}
    return WSQ_DONE;
}

static bool shows(const wsq_pool *pool, int run, int wait) {
    int now = atomic_load(&running), left = (int)wsq_pool_pending(pool);
    printf("%zu bytes; %d run, %d wait\n", atomic_load(&bytes), now, left - now);
    return now == run && left - now == wait;
}

int main(void) {
    const wsq_allocator memory = {.allocate = take, .release = give};
    const wsq_hooks hooks = {.event = watch};
    wsq_config config = {.workers = HELD, .allocator = &memory, .hooks = &hooks};
    wsq_pool *pool;
    if (wsq_pool_create(&pool, &config) != WSQ_OK) return 1;
    bool good = shows(pool, 0, 0) && bytes > HELD * WSQ_BLOCK_SIZE;
    for (int i = 0; i < HELD + QUEUED; i++) {
        wsq_task_init(&tasks[i], work);
        if (wsq_spawn(pool, &tasks[i]) != WSQ_OK) return 1;
    }
    while (atomic_load(&running) < HELD) {}
    good = shows(pool, HELD, QUEUED) && good;
    atomic_store(&released, true);
    wsq_pool_wait(pool);
    good = shows(pool, 0, 0) && good;
    wsq_pool_destroy(pool);
    return good && bytes == 0 ? 0 : 1;
}
