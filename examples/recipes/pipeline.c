/* A pipeline with a parallel middle: one stage reads the items in order, the next works on several
 * at the same time, and the last writes them in order again (a compressor, an encoder).
 *     cc -O2 -pthread pipeline.c -o pipeline && ./pipeline
 *
 * Copy the part above "the use". Each line is a task that takes an item through all stages, and
 * then the item LINES after it. So at most LINES items are under way, an item stays in one cache,
 * and there are no queues. A line that comes too early to a stage in order returns WSQ_PENDING, and
 * the line before it wakes it. */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include <stdatomic.h>

enum { LINES = 16 };

struct pipeline {
    bool (*read)(void *user, unsigned line); /* in order; false: there are no more */
    void (*work)(void *user, unsigned line); /* several lines at the same time */
    void (*write)(void *user, unsigned line); /* in the order of the reads */
    void *user;
    atomic_ulong turns[2]; /* of the stages in order: whose item is next */
    bool over;             /* the line whose turn it is to read writes it */
    struct line {
        wsq_task task;
        struct pipeline *pipeline;
        unsigned number; /* each has data of its own: the user's array of LINES */
        unsigned long item;
        bool worked;
    } lines[LINES];
};

static bool line_turn(struct line *self, int stage) {
    return atomic_load(&self->pipeline->turns[stage]) == self->item;
}

static void line_pass(struct line *self, int stage) {
    atomic_store(&self->pipeline->turns[stage], self->item + 1);
    wsq_wake(&self->pipeline->lines[(self->number + 1) % LINES].task);
}

static wsq_poll line_run(wsq_ctx ctx, wsq_task *task) {
    struct line *self = wsq_container_of(task, struct line, task);
    struct pipeline *p = self->pipeline;
    (void)ctx;
    for (;; self->item += LINES) {
        if (!self->worked) {
            if (!line_turn(self, 0)) return WSQ_PENDING;
            p->over = p->over || !p->read(p->user, self->number);
            bool over = p->over; /* once it is passed on, another line writes it */
            line_pass(self, 0);
            if (over) return WSQ_DONE;
            p->work(p->user, self->number);
            self->worked = true;
        }
        if (!line_turn(self, 1)) return WSQ_PENDING;
        p->write(p->user, self->number);
        self->worked = false;
        line_pass(self, 1);
    }
}

/* Returns when the last item is written. */
static wsq_result pipeline_run(wsq_pool *pool, struct pipeline *p) {
    wsq_group group;
    wsq_task *tasks[LINES];
    wsq_group_init(&group, pool);
    for (unsigned i = 0; i < LINES; i++) {
        p->lines[i] = (struct line){.pipeline = p, .number = i, .item = i};
        wsq_task_init(tasks[i] = &p->lines[i].task, line_run);
    }
    wsq_result result = wsq_group_spawn_batch(&group, tasks, LINES);
    return result == WSQ_OK ? wsq_group_wait(&group) : result;
}

/* ---- the use ---- */

enum { ITEMS = 20000 };

struct copy {
    unsigned long item[LINES], read, written, wrong;
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
    static struct pipeline pipeline = {
        .read = read_item, .work = work_item, .write = write_item, .user = &copy};
    wsq_pool *pool;
    if (wsq_pool_create(&pool, NULL) != WSQ_OK) return 1;
    if (pipeline_run(pool, &pipeline) != WSQ_OK) return 1;
    wsq_pool_destroy(pool);
    return copy.written == ITEMS && copy.wrong == 0 ? 0 : 1;
}
