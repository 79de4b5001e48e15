/* A watchdog waits for a pool. When nothing moves for a while, it says which task waits for a wake
 * that was forgotten, since when, and the name of its function.
 *     cc -O2 -pthread watchdog.c -o watchdog && ./watchdog
 *
 * The pool keeps a list of its tasks (wsq_config.list_tasks), which costs a lock at each step of a
 * task. That is for tests, or for a server with a hang that you cannot explain. Without the list
 * the same call still tells which threads wait, and how many tasks there are. */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include <stdatomic.h>
#include <string.h>

/* As wsq_pool_wait; but when no function was called between two looks, `patience_ns` apart, it
 * writes what the pool does to `file`, and returns WSQ_ERR_TIMEOUT. Any thread outside the pool. */
static wsq_result wait_watched(wsq_pool *pool, uint64_t patience_ns, FILE *file) {
    uint64_t before = UINT64_MAX;
    wsq_result result;
    while ((result = wsq_pool_wait_for(pool, patience_ns)) == WSQ_ERR_TIMEOUT) {
        wsq_stats stats;
        wsq_pool_stats(pool, &stats);
        if (stats.run == before) {
            wsq_pool_dump(pool, file);
            break;
        }
        before = stats.run;
    }
    return result;
}

/* ---- the check: letters are delivered to all but one ---- */

enum { READERS = 20, FORGOTTEN = 13 };

static struct reader {
    wsq_task task;
    atomic_bool letter;
} readers[READERS];

static wsq_poll read_letter(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    bool came = atomic_load(&wsq_container_of(task, struct reader, task)->letter);
    return came ? WSQ_DONE : WSQ_PENDING;
}

static void deliver(int reader) {
    atomic_store(&readers[reader].letter, true);
    wsq_wake(&readers[reader].task);
}

static const char *name_of(void *user, uintptr_t function) {
    (void)user;
    return function == (uintptr_t)read_letter ? "read_letter" : NULL;
}

int main(void) {
    const wsq_hooks hooks = {.name = name_of};
    wsq_config config = {.workers = 2, .hooks = &hooks, .list_tasks = true};
    wsq_pool *pool;
    FILE *file = tmpfile();
    char line[300];
    int waiting = 0;
    if (!file || wsq_pool_create(&pool, &config) != WSQ_OK) return 1;
    for (int i = 0; i < READERS; i++) readers[i].task.fn = read_letter;
    for (int i = 0; i < READERS; i++) wsq_spawn(pool, &readers[i].task);
    for (int i = 0; i < READERS; i++)
        if (i != FORGOTTEN) deliver(i);
    if (wait_watched(pool, 50000000, file) != WSQ_ERR_TIMEOUT) return 1;
    for (rewind(file); fgets(line, sizeof line, file); fputs(line, stdout))
        waiting += strstr(line, "waits for a wake") && strstr(line, "(read_letter)");
    fclose(file);
    deliver(FORGOTTEN);
    wsq_pool_destroy(pool);
    return waiting == 1 ? 0 : 1;
}
