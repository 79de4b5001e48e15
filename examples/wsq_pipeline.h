/* wsq_pipeline.h - a pipeline with a parallel middle: one stage reads the items in order, the next
 * works on several at the same time, and the last writes them in order again (a compressor, an
 * encoder). recipes/pipeline.c uses it.
 *
 * Each line is a task that takes an item through all stages, and then the item WSQ_PIPELINE_LINES
 * after it. So at most WSQ_PIPELINE_LINES items are under way, an item stays in one cache, and there
 * are no queues. A line that comes too early to a stage in order returns WSQ_PENDING, and the line
 * before it wakes it. It needs stdatomic.h.
 *
 *     static wsq_pipeline pipeline = {.read = ..., .work = ..., .write = ..., .user = ...};
 *     wsq_pipeline_run(pool, &pipeline); */
#ifndef WSQ_PIPELINE_H
#define WSQ_PIPELINE_H

#include <stdatomic.h>

#ifndef WSQ_PIPELINE_LINES
#define WSQ_PIPELINE_LINES 16
#endif

typedef struct wsq_pipeline {
    bool (*read)(void *user, unsigned line); /* in order; false: there are no more */
    void (*work)(void *user, unsigned line); /* several lines at the same time */
    void (*write)(void *user, unsigned line); /* in the order of the reads */
    void *user;
    atomic_ulong turns[2]; /* of the stages in order: whose item is next */
    bool over;             /* the line whose turn it is to read writes it */
    struct wsq_pipeline_line {
        wsq_task task;
        struct wsq_pipeline *pipeline;
        unsigned number; /* each has data of its own: the user's array of WSQ_PIPELINE_LINES */
        unsigned long item;
        bool worked;
    } lines[WSQ_PIPELINE_LINES];
} wsq_pipeline;
typedef struct wsq_pipeline_line wsq_pipeline_line;

static inline bool wsq_pipeline_turn(wsq_pipeline_line *self, int stage) {
    return atomic_load(&self->pipeline->turns[stage]) == self->item;
}

static inline void wsq_pipeline_pass(wsq_pipeline_line *self, int stage) {
    atomic_store(&self->pipeline->turns[stage], self->item + 1);
    wsq_wake(&self->pipeline->lines[(self->number + 1) % WSQ_PIPELINE_LINES].task);
}

static inline wsq_poll wsq_pipeline_step(wsq_ctx ctx, wsq_task *task) {
    wsq_pipeline_line *self = wsq_container_of(task, wsq_pipeline_line, task);
    wsq_pipeline *p = self->pipeline;
    (void)ctx;
    for (;; self->item += WSQ_PIPELINE_LINES) {
        if (!self->worked) {
            if (!wsq_pipeline_turn(self, 0)) return WSQ_PENDING;
            p->over = p->over || !p->read(p->user, self->number);
            bool over = p->over; /* once it is passed on, another line writes it */
            wsq_pipeline_pass(self, 0);
            if (over) return WSQ_DONE;
            p->work(p->user, self->number);
            self->worked = true;
        }
        if (!wsq_pipeline_turn(self, 1)) return WSQ_PENDING;
        p->write(p->user, self->number);
        self->worked = false;
        wsq_pipeline_pass(self, 1);
    }
}

/* Returns when the last item is written. It can be called again. */
static inline wsq_result wsq_pipeline_run(wsq_pool *pool, wsq_pipeline *p) {
    wsq_group group;
    wsq_task *tasks[WSQ_PIPELINE_LINES];
    wsq_group_init(&group, pool);
    for (int stage = 0; stage < 2; stage++) atomic_store(&p->turns[stage], 0);
    p->over = false;
    for (unsigned i = 0; i < WSQ_PIPELINE_LINES; i++) {
        p->lines[i] = (wsq_pipeline_line){.pipeline = p, .number = i, .item = i};
        wsq_task_init(tasks[i] = &p->lines[i].task, wsq_pipeline_step);
    }
    wsq_result result = wsq_group_spawn_batch(&group, tasks, WSQ_PIPELINE_LINES);
    return result == WSQ_OK ? wsq_group_wait(&group) : result;
}

#endif
