/* Cancels one task and learns immediately which it was: "it will not run", or "too late".
 *     cc -O2 -pthread cancel.c -o cancel && ./cancel
 *
 * The first way is a task of yours, made revocable. After a cancel it still goes through the
 * queue, where its cleanup is called in place of its function; until then its memory must stay.
 * The second way is a future. Its place in the queue belongs to the pool, so after a cancel you
 * may free the call's argument immediately, as with libuv's uv_cancel. (To cancel many together:
 * wsq_group_cancel, in 07_groups.c.) */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"

enum { N = 20000 };

struct request {
    wsq_task task;
    bool ran, cleaned, called_off;
};

static wsq_poll request_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    for (volatile int i = 0; i < 300; i++) {}
    wsq_container_of(task, struct request, task)->ran = true;
    return WSQ_DONE;
}

static wsq_poll request_clean(wsq_task *task) {
    wsq_container_of(task, struct request, task)->cleaned = true;
    return WSQ_DONE; /* or WSQ_GONE, where this frees the request */
}

static int tasks(wsq_pool *pool) {
    static struct request requests[N];
    int wrong = 0, cancelled = 0;
    for (int i = 0; i < N; i++) {
        wsq_task_init(&requests[i].task, request_run);
        wsq_task_set_cleanup(&requests[i].task, request_clean);
        wsq_task_set_revocable(&requests[i].task, true);
        if (wsq_spawn(pool, &requests[i].task) != WSQ_OK) return 1;
    }
    for (int i = N - 1; i >= 0; i--) /* from the last one on: the first ones have started */
        requests[i].called_off = wsq_task_cancel(&requests[i].task);
    wsq_pool_wait(pool);
    for (int i = 0; i < N; i++) {
        cancelled += requests[i].called_off;
        wrong += requests[i].called_off == requests[i].ran;
        wrong += requests[i].called_off != requests[i].cleaned;
    }
    printf("%d tasks, %d of them called off in time\n", N, cancelled);
    return wrong;
}

static void *fill(void *buffer) { return memset(buffer, 1, 1000); }

static int futures(wsq_pool *pool) {
    static wsq_future *handles[N];
    static char *buffers[N];
    int wrong = 0, cancelled = 0;
    for (int i = 0; i < N; i++) {
        buffers[i] = malloc(1000);
        if (!buffers[i] || wsq_submit(pool, fill, buffers[i], &handles[i]) != WSQ_OK) return 1;
    }
    for (int i = N - 1; i >= 0; i--) {
        bool called_off = wsq_future_cancel(handles[i]);
        if (called_off) wsq_future_drop(handles[i]);
        else wrong += wsq_future_get(handles[i], NULL) != WSQ_OK;
        free(buffers[i]);
        cancelled += called_off;
    }
    printf("%d calls, %d of them called off in time\n", N, cancelled);
    return wrong;
}

int main(void) {
    wsq_pool *pool;
    if (wsq_pool_create(&pool, &(wsq_config){.workers = 2}) != WSQ_OK) return 1;
    int wrong = tasks(pool) + futures(pool);
    wsq_pool_destroy(pool);
    return wrong ? 1 : 0;
}
