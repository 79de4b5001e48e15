/* How do I write tests that repeat exactly?
 *     cc -O2 -pthread deterministic.c -o deterministic && ./deterministic
 *
 * A caller_runs pool starts no threads: wsq_pool_wait runs all tasks on the calling thread, in an
 * order that depends only on the seed and the calls. A test can also run one task at a time, and
 * look at the state after each: wsq_pool_run_one. */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"

enum { TASKS = 20 };

struct log {
    wsq_task tasks[TASKS];
    int order[3 * TASKS], count;
};

static struct log *now;

static wsq_poll step_run(wsq_ctx ctx, wsq_task *task) { /* wakes a neighbour, runs three times */
    int index = (int)(task - now->tasks), runs = 1;
    (void)ctx;
    for (int i = 0; i < now->count; i++) runs += now->order[i] == index;
    now->order[now->count++] = index;
    wsq_wake(&now->tasks[(index + 1) % TASKS]);
    return runs < 3 ? WSQ_YIELD : WSQ_DONE;
}

static bool one_test(struct log *log) {
    wsq_pool *pool;
    wsq_config config = {.caller_runs = true, .seed = 42};
    now = log;
    if (wsq_pool_create(&pool, &config) != WSQ_OK) return false;
    for (int i = 0; i < TASKS; i++) log->tasks[i] = (wsq_task){.fn = step_run};
    for (int i = 0; i < TASKS; i++) wsq_spawn(pool, &log->tasks[i]);
    wsq_pool_run_one(pool);
    bool first = log->count == 1; /* one step, and then a look */
    wsq_pool_wait(pool);
    wsq_pool_destroy(pool);
    return first && log->count == 3 * TASKS;
}

int main(void) {
    static struct log one, two;
    bool right = one_test(&one) && one_test(&two);
    for (int i = 0; i < 3 * TASKS; i++) right = right && one.order[i] == two.order[i];
    printf("two runs of %d steps: %s\n", one.count, right ? "the same" : "DIFFERENT");
    return right ? 0 : 1;
}
