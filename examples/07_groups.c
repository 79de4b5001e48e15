/* Groups: tasks that are waited for together, and cancelled together.
 *     cc -O2 -pthread 07_groups.c -o groups && ./groups
 *
 * The tasks search for a number whose hash begins with 24 zero bits. The task that finds one
 * cancels the group. Then tasks that have not started never will, and those that run notice it
 * when they ask. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include <stdatomic.h>

#define TASKS 4096u
#define NUMBERS UINT64_C(65536) /* for each task */

static wsq_group group;
static atomic_uint_least64_t found;
static atomic_uint finished, stopped, never_started;

struct search {
    wsq_task task;
    uint64_t begin;
};

static uint64_t hash(uint64_t x) {
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

static bool is_wanted(uint64_t x) {
    return hash(x) >> 40 == 0;
}

static wsq_poll search_run(wsq_ctx ctx, wsq_task *task) {
    uint64_t begin = wsq_container_of(task, struct search, task)->begin;
    for (uint64_t x = begin; x < begin + NUMBERS; x++) {
        if (x % 4096 == 0 && wsq_cancelled(ctx)) {
            atomic_fetch_add(&stopped, 1);
            return WSQ_DONE;
        }
        if (!is_wanted(x)) continue;
        atomic_store(&found, x);
        wsq_group_cancel(&group);
    }
    atomic_fetch_add(&finished, 1);
    return WSQ_DONE;
}

/* Called in place of search_run. A task that owns something would free it here. */
static wsq_poll search_cancelled(wsq_task *task) {
    (void)task;
    atomic_fetch_add(&never_started, 1);
    return WSQ_DONE;
}

int main(void) {
    static struct search searches[TASKS];
    wsq_pool *pool;
    unsigned refused = 0;
    if (wsq_pool_create(&pool, NULL) != WSQ_OK) return 1;
    wsq_group_init(&group, pool);
    for (unsigned i = 0; i < TASKS; i++) {
        searches[i].begin = NUMBERS * (i + 1);
        wsq_task_init(&searches[i].task, search_run);
        wsq_task_set_cleanup(&searches[i].task, search_cancelled);
        /* Found already, while we still spawn? WSQ_ERR_CANCELLED, and the task stays ours. */
        if (wsq_group_spawn(&group, &searches[i].task) != WSQ_OK) refused++;
    }
    wsq_result result = wsq_group_wait(&group);

    printf("%u tasks ran to the end, %u stopped half-way, %u never started\n", finished, stopped,
           never_started);
    uint64_t x = atomic_load(&found);
    printf("the hash of %llu is %016llx (the group: %s)\n", (unsigned long long)x,
           (unsigned long long)hash(x), wsq_result_string(result));
    unsigned all = finished + stopped + never_started + refused;
    wsq_pool_destroy(pool);
    return is_wanted(x) && result == WSQ_ERR_CANCELLED && all == TASKS ? 0 : 1;
}
