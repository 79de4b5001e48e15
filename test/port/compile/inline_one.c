/* WSQ_INLINE in two files, which share a pool: here it is created, and what the other file's task waits
 * for is spawned. Both are C, C++, or one of each. */
#ifdef NOT_INLINE
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#else
#define WSQ_INLINE
#endif
#include "../../../wsq.h"

#ifdef __cplusplus
extern "C" {
#endif
int wait_elsewhere(wsq_pool *pool, wsq_task *first);
#ifdef __cplusplus
}
#endif

static wsq_poll first_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    return wsq_worker_index(ctx) == (unsigned)wsq_worker_self() ? WSQ_DONE : WSQ_GONE;
}

/* One worker: what waits in one copy of the code must be known to the other. */
int main(void) {
    static wsq_config config;
    wsq_pool *pool;
    wsq_task first;
    config.workers = 1;
    if (wsq_pool_create(&pool, &config) != WSQ_OK) return 1;
    wsq_task_init(&first, first_run);
    int result = wait_elsewhere(pool, &first);
    wsq_pool_destroy(pool);
    return result;
}
