/* A library that has its own copy of wsq.h, and its own options. WORK is the one function that it gives
 * away. The program is two such libraries, each of which calls the other in the middle of its tasks. */
#define WSQ_IMPLEMENTATION
#include "../../../wsq.h"

#ifdef __cplusplus
extern "C" {
#endif
int WORK(int (*other)(void));
#ifdef __cplusplus
}
#endif

enum { TASKS = 200, N = 12 };

typedef struct add_job {
    wsq_job job;
    long n, result;
} add_job;

typedef struct one_task {
    wsq_task task;
    int (*other)(void);
    long result;
    int failed;
} one_task;

static long fib(wsq_ctx ctx, long n);

static void fib_run(wsq_ctx ctx, wsq_job *job) {
    add_job *self = wsq_container_of(job, add_job, job);
    self->result = fib(ctx, self->n);
}

static long fib(wsq_ctx ctx, long n) {
    add_job left;
    if (n < 2) return n;
    left.n = n - 1;
    wsq_fork(&ctx, &left.job, fib_run);
    long right = fib(ctx, n - 2);
    wsq_join(&ctx, &left.job);
    return right + left.result;
}

static wsq_poll one_run(wsq_ctx ctx, wsq_task *task) {
    one_task *self = wsq_container_of(task, one_task, task);
    self->result = fib(ctx, N);
    if (self->other != NULL) self->failed = self->other();
    return WSQ_DONE;
}

int WORK(int (*other)(void)) {
    one_task tasks[TASKS];
    wsq_config config;
    wsq_pool *pool;
    wsq_group group;
    memset(&config, 0, sizeof config);
    config.workers = 2;
    if (wsq_pool_create(&pool, &config) != WSQ_OK) return 1;
    wsq_group_init(&group, pool);
    for (int i = 0; i < TASKS; i++) {
        wsq_task_init(&tasks[i].task, one_run);
        tasks[i].other = i == TASKS / 2 ? other : NULL;
        tasks[i].failed = 0;
        if (wsq_group_spawn(&group, &tasks[i].task) != WSQ_OK) return 2;
    }
    if (wsq_group_wait(&group) != WSQ_OK) return 3;
    for (int i = 0; i < TASKS; i++)
        if (tasks[i].result != 144 || tasks[i].failed != 0) return 4;
    wsq_pool_destroy(pool);
    return 0;
}
