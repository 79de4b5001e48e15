/* The word of a worker's public jobs: the owner publishes two and takes them back, newest first, while a
 * thief steals the oldest. Each job runs once, with its argument, and its result is there once it says
 * that it is done. */
#include "model.h"

typedef struct model_job {
    wsq_job job;
    int argument, result, runs;
} model_job;

/* As in a block: the entries follow the worker. */
static struct model_block {
    wsqi_worker worker;
    struct wsqi_entry entries[2];
} owner, robber;

enum { FIRST = sizeof(wsqi_worker) / sizeof(struct wsqi_entry) }; /* number of entries[0] */

static wsq_pool pool;
static model_job jobs[2];

static void job_run(wsq_ctx ctx, wsq_job *job) {
    model_job *self = wsq_container_of(job, model_job, job);
    (void)ctx;
    self->runs++;
    self->result = self->argument + 1;
}

static void block_init(struct model_block *block) {
    block->worker.pool = &pool;
    block->worker.frame.floor = block->entries;
    wsqi_store_rlx(&block->worker.range, wsqi_range_pack(FIRST, FIRST));
    wsqi_steal_request(&block->worker);
}

static void *thief(void *arg) {
    (void)arg;
    wsqi_job_steal(&robber.worker, &owner.worker);
    return NULL;
}

int main(void) {
    pthread_t thread;
    model_pool_init(&pool);
    block_init(&owner);
    block_init(&robber);
    pthread_create(&thread, NULL, thief, NULL);
    for (int i = 0; i < 2; i++) {
        jobs[i].argument = i;
        jobs[i].job.fn = job_run;
        owner.entries[i].job = &jobs[i].job;
    }
    wsqi_expose(&owner.worker, 2);
    for (int i = 2; i-- > 0;) {
        if (wsqi_unpublish(&owner.worker)) job_run(NULL, &jobs[i].job);
        else if (wsqi_load_acq(&jobs[i].job.done) == WSQI_JOB_DONE) assert(jobs[i].result == i + 1);
    }
    pthread_join(thread, NULL);
    for (int i = 0; i < 2; i++) assert(jobs[i].runs == 1 && jobs[i].result == i + 1);
    return 0;
}
