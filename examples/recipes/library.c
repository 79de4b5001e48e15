/* How do I use it in a library that other programs link, and that may be loaded at run time?
 *     cc -O2 -pthread library.c -o library && ./library
 *
 * A shared library keeps its copy of wsq to itself, and does not meet another copy of any version.
 * WSQ_STATIC, in the one file that uses wsq, does so for a static library. The pool belongs to
 * the library: an open call creates it, and a close call destroys it, before the library is
 * unloaded. Give the program functions of your own, and no wsq_pool. */
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include <stdlib.h>

/* ---- the library's header would show these ---- */
struct engine;
struct engine *engine_open(unsigned threads);
long engine_sum(struct engine *engine, const int *numbers, size_t count);
void engine_close(struct engine *engine);

/* ---- the library ---- */
struct engine { wsq_pool *pool; };

struct engine *engine_open(unsigned threads) {
    struct engine *self = calloc(1, sizeof *self);
    wsq_config config = {.workers = threads, .name = "engine"};
    if (self != NULL && wsq_pool_create(&self->pool, &config) == WSQ_OK) return self;
    free(self);
    return NULL;
}

static void zero(void *sum, void *arg) { *(long *)sum = 0, (void)arg; }
static void add(void *left, const void *right, void *arg) {
    *(long *)left += *(const long *)right, (void)arg;
}
static void part(wsq_ctx ctx, size_t begin, size_t end, void *sum, void *arg) {
    (void)ctx;
    for (; begin < end; begin++) *(long *)sum += ((const int *)arg)[begin];
}

struct call { const int *numbers; size_t count; long sum; };

static void run(wsq_ctx ctx, void *arg) {
    struct call *call = arg;
    wsq_reducer sum = {sizeof(long), zero, part, add, (void *)(uintptr_t)call->numbers, false};
    wsq_reduce(ctx, 0, call->count, 0, &sum, &call->sum);
}

/* Any thread may call this, a task of another pool too; the caller takes part in the work. */
long engine_sum(struct engine *engine, const int *numbers, size_t count) {
    struct call call = {numbers, count, 0};
    return wsq_run(engine->pool, run, &call) == WSQ_OK ? call.sum : -1;
}

void engine_close(struct engine *engine) {
    wsq_pool_destroy(engine->pool);
    free(engine);
}

/* ---- the program ---- */
int main(void) {
    static int numbers[100000];
    struct engine *engine = engine_open(0);
    if (engine == NULL) return 1;
    for (int i = 0; i < 100000; i++) numbers[i] = i % 7;
    long sum = engine_sum(engine, numbers, 100000);
    engine_close(engine);
    printf("sum %ld\n", sum);
    return sum == 299995 ? 0 : 1;
}
