/* A file of another project: what the declarations expand to there, under that project's flags. */
#include "../../../wsq.h"

typedef struct sum {
    wsq_task task;
    wsq_job job;
    int left, right;
} sum;

static void sum_left(wsq_ctx ctx, wsq_job *job) {
    sum *self = wsq_container_of(job, sum, job);
    (void)ctx;
    self->left = 1;
}

static wsq_poll sum_run(wsq_ctx ctx, wsq_task *task) {
    sum *self = wsq_container_of(task, sum, task);
    wsq_fork(&ctx, &self->job, sum_left);
    self->right = 2;
    wsq_join(&ctx, &self->job);
    return WSQ_DONE;
}

int main(void) {
    wsq_pool *pool;
    sum one;
    if (wsq_pool_create(&pool, NULL) != WSQ_OK) return 1;
    wsq_task_init(&one.task, sum_run);
    if (wsq_spawn(pool, &one.task) != WSQ_OK || wsq_task_wait(&one.task) != WSQ_OK) return 1;
    wsq_pool_destroy(pool);
    return one.left + one.right == 3 ? 0 : 1;
}
