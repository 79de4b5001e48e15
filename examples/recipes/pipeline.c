/* How do I build a pipeline whose middle stage is parallel, and whose output is in order?
 *     cc -O2 -pthread pipeline.c -o pipeline && ./pipeline
 *
 * The file to copy is examples/wsq_pipeline.h: give it three functions. `line` is below
 * WSQ_PIPELINE_LINES; no two items that are under way have the same one, so it is the index into
 * arrays of yours. `read` and `write` are called by one thread at a time. */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include "../wsq_pipeline.h"

enum { ITEMS = 20000 };

struct copy {
    unsigned long item[WSQ_PIPELINE_LINES], read, written, wrong;
};

static unsigned long mix(unsigned long item) {
    for (int i = 0; i < 300; i++) item = item * 2654435761u + 1;
    return item;
}

static bool read_item(void *user, unsigned line) {
    struct copy *self = user;
    self->item[line] = self->read;
    return self->read++ < ITEMS;
}

static void work_item(void *user, unsigned line) {
    struct copy *self = user;
    self->item[line] = mix(self->item[line]);
}

static void write_item(void *user, unsigned line) {
    struct copy *self = user;
    self->wrong += self->item[line] != mix(self->written++);
}

int main(void) {
    static struct copy copy;
    static wsq_pipeline pipeline = {
        .read = read_item, .work = work_item, .write = write_item, .user = &copy};
    wsq_pool *pool;
    if (wsq_pool_create(&pool, NULL) != WSQ_OK) return 1;
    if (wsq_pipeline_run(pool, &pipeline) != WSQ_OK) return 1;
    wsq_pool_destroy(pool);
    return copy.written == ITEMS && copy.wrong == 0 ? 0 : 1;
}
