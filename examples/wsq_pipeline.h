/* wsq_pipeline.h - a pipeline with a parallel middle: one stage reads the items in order, the next
 * works on several at the same time, and the last writes them in order again (a compressor, an
 * encoder). recipes/pipeline.c uses it.
 *
 * Each line is a task that takes one item after another through all stages. So at most
 * WSQ_PIPELINE_LINES items are under way, and an item stays in one cache. A line that has written
 * its item yields, and reads the next one when its worker comes to it again: so a busy worker needs
 * no line of another worker. One more line, the spare, waits in a queue for a worker that has nothing
 * to do. All others are in a list, and in no queue. It needs stdatomic.h.
 *
 *     static wsq_pipeline pipeline = {.read = ..., .work = ..., .write = ..., .user = ...};
 *     wsq_pipeline_run(pool, &pipeline); */
#ifndef WSQ_PIPELINE_H
#define WSQ_PIPELINE_H

#include <stdatomic.h>

#ifndef WSQ_PIPELINE_LINES
#define WSQ_PIPELINE_LINES 16
#endif

/* wsq_pipeline.entry: a line reads now; the spare line was woken and has not come yet; and from
 * WSQ_PIPELINE_FIRST on, the number of the first line in the list, plus 1. */
enum { WSQ_PIPELINE_READS = 1, WSQ_PIPELINE_SPARE = 2, WSQ_PIPELINE_FIRST = 4 };

typedef struct wsq_pipeline_line {
    wsq_task task;
    struct wsq_pipeline *pipeline;
    unsigned number;    /* each line has data of its own: the user's array of WSQ_PIPELINE_LINES */
    unsigned next;      /* in the list: as in `entry`, the number of the next line plus 1, or 0 */
    uint64_t item; /* counted from 0 */
    bool listed;        /* it was in the list, so the spare line is this one */
    bool worked;        /* its item is to be written */
} wsq_pipeline_line;

typedef struct wsq_pipeline {
    bool (*read)(void *user, unsigned line);  /* in order; false: there are no more */
    void (*work)(void *user, unsigned line);  /* several lines at the same time */
    void (*write)(void *user, unsigned line); /* in the order of the reads */
    void *user;
    bool over;           /* the line that reads writes these two */
    uint64_t items; /* how many were read */
    atomic_uint entry;
    _Atomic(wsq_pipeline_line *) meets[WSQ_PIPELINE_LINES]; /* see wsq_pipeline_meet */
    wsq_pipeline_line turn, lines[WSQ_PIPELINE_LINES];
} wsq_pipeline;

/* True: the line reads. Otherwise it is in the list; the line that reads wakes it, or another one
 * does so later. */
static inline bool wsq_pipeline_enter(wsq_pipeline_line *self) {
    atomic_uint *entry = &self->pipeline->entry;
    unsigned old = atomic_load(entry), next;
    do {
        self->next = old / WSQ_PIPELINE_FIRST;
        next = old & ~(self->listed ? (unsigned)WSQ_PIPELINE_SPARE : 0u);
        if ((old & WSQ_PIPELINE_READS) == 0) next |= WSQ_PIPELINE_READS;
        else next = next % WSQ_PIPELINE_FIRST + (self->number + 1) * WSQ_PIPELINE_FIRST;
    } while (!atomic_compare_exchange_weak(entry, &old, next));
    self->listed = (old & WSQ_PIPELINE_READS) != 0;
    return !self->listed;
}

/* The line has read. If no spare line is on its way, it takes one out of the list, and wakes it.
 * (Only the line that reads takes lines out, so a line cannot leave the list and come back here.) */
static inline void wsq_pipeline_leave(wsq_pipeline *p) {
    unsigned old = atomic_load(&p->entry), next, spare;
    do {
        spare = (old & WSQ_PIPELINE_SPARE) == 0 ? old / WSQ_PIPELINE_FIRST : 0;
        next = old - WSQ_PIPELINE_READS;
        if (spare != 0) next = p->lines[spare - 1].next * WSQ_PIPELINE_FIRST + WSQ_PIPELINE_SPARE;
    } while (!atomic_compare_exchange_weak(&p->entry, &old, next));
    if (spare != 0) wsq_wake(&p->lines[spare - 1].task);
}

/* An item and its turn to be written meet in one place. Called with the item's line when it has
 * worked, and with `turn` when the item before is written: the second call returns what the first
 * one left, the first returns NULL. */
static inline wsq_pipeline_line *wsq_pipeline_meet(wsq_pipeline *p, uint64_t which,
                                                   wsq_pipeline_line *comes) {
    _Atomic(wsq_pipeline_line *) *place = &p->meets[which % WSQ_PIPELINE_LINES];
    wsq_pipeline_line *other = atomic_exchange(place, comes);
    if (other != NULL) atomic_store(place, NULL);
    return other;
}

static inline wsq_poll wsq_pipeline_step(wsq_ctx ctx, wsq_task *task) {
    wsq_pipeline_line *self = wsq_container_of(task, wsq_pipeline_line, task);
    wsq_pipeline *p = self->pipeline;
    (void)ctx;
    if (!self->worked) {
        if (!wsq_pipeline_enter(self)) return WSQ_PENDING;
        p->over = p->over || !p->read(p->user, self->number);
        bool over = p->over;
        if (!over) self->item = p->items++;
        wsq_pipeline_leave(p);
        if (over) return WSQ_DONE;
        p->work(p->user, self->number);
        self->worked = true;
        if (wsq_pipeline_meet(p, self->item, self) == NULL) return WSQ_PENDING;
    }
    p->write(p->user, self->number);
    self->worked = false;
    wsq_pipeline_line *next = wsq_pipeline_meet(p, self->item + 1, &p->turn);
    if (next != NULL) wsq_wake(&next->task);
    return WSQ_YIELD;
}

/* Returns when the last item is written. It can be called again. */
static inline wsq_result wsq_pipeline_run(wsq_pool *pool, wsq_pipeline *p) {
    wsq_group group;
    wsq_task *tasks[WSQ_PIPELINE_LINES];
    wsq_group_init(&group, pool);
    p->over = false;
    p->items = 0;
    atomic_store(&p->entry, 0);
    for (unsigned i = 0; i < WSQ_PIPELINE_LINES; i++) {
        atomic_store(&p->meets[i], i == 0 ? &p->turn : NULL);
        p->lines[i] = (wsq_pipeline_line){.pipeline = p, .number = i};
        wsq_task_init(tasks[i] = &p->lines[i].task, wsq_pipeline_step);
    }
    wsq_result result = wsq_group_spawn_batch(&group, tasks, WSQ_PIPELINE_LINES);
    return result == WSQ_OK ? wsq_group_wait(&group) : result;
}

#endif
