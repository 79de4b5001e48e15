/* A program whose work and span are known, for test_scale.sh: 160 pieces of 30 us each.
 *
 *   scale_known tasks | loop | chain | half | locks | naps | blocks | fixed | fails */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "scale_known.h"

enum { PIECES = 160, LINKS = 50 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static wsq_poll unit(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    compute();
    return WSQ_DONE;
}

static wsq_poll locked(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    pthread_mutex_lock(&mutex);
    compute();
    pthread_mutex_unlock(&mutex);
    return WSQ_DONE;
}

static wsq_poll napping(wsq_ctx ctx, wsq_task *task) {
    struct timespec time = {0, 20000000};
    (void)ctx, (void)task;
    compute();
    nanosleep(&time, NULL);
    return WSQ_DONE;
}

/* In a call that the simulator does not know. */
static wsq_poll blocking(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    compute();
    if (system("sleep 0.01") != 0) exit(3);
    return WSQ_DONE;
}

static void body(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    (void)ctx, (void)arg;
    for (; begin < end; begin++) compute();
}

static void loop(wsq_ctx ctx, void *arg) { wsq_for(ctx, 0, PIECES, 1, body, arg); }

static void links(wsq_ctx ctx, void *arg) {
    (void)arg;
    chain(ctx, LINKS);
}

static int run_tasks(wsq_pool *pool, wsq_task_fn fn, int count) {
    static wsq_task tasks[PIECES];
    wsq_group group;
    wsq_group_init(&group, pool);
    for (int i = 0; i < count; i++) {
        wsq_task_init(&tasks[i], fn);
        if (wsq_group_spawn(&group, &tasks[i]) != WSQ_OK) return 1;
    }
    return wsq_group_wait(&group) != WSQ_OK;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    wsq_config config = {.workers = strcmp(what, "fixed") == 0 ? 3 : 0};
    wsq_task_fn fn = unit;
    wsq_pool *pool;
    int result = 0;
    if (wsq_pool_create(&pool, &config) != WSQ_OK) return 1;
    if (strcmp(what, "locks") == 0) fn = locked;
    if (strcmp(what, "naps") == 0) fn = napping;
    if (strcmp(what, "blocks") == 0) fn = blocking;
    if (strcmp(what, "loop") == 0) wsq_run(pool, loop, NULL);
    else if (strcmp(what, "chain") == 0) wsq_run(pool, links, NULL);
    else result = run_tasks(pool, fn, fn == blocking ? 8 : PIECES);
    wsq_pool_destroy(pool);
    for (int i = 0; i < PIECES && strcmp(what, "half") == 0; i++) compute();
    return strcmp(what, "fails") == 0 ? 9 : result;
}
