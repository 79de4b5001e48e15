/* A strand runs the items posted to it one at a time and in order, on any free worker. It holds no
 * worker while there is nothing to do, and the items need no lock against each other.
 *     cc -O2 -pthread strand.c -o strand && ./strand
 *
 * Any thread pushes onto a list, newest first. The strand's task takes the whole list by one
 * exchange and reverses it. Only a push that finds the list empty wakes the task. */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include <stdatomic.h>

struct item {
    void (*fn)(struct item *item); /* NULL: the strand ends. It may free the item */
    struct item *next;
};

struct strand {
    wsq_task task;
    _Atomic(struct item *) newest; /* posted, and not yet taken */
    struct item *oldest;           /* taken, in order; the task's own */
};

/* Any thread, as long as the strand is not ended. The item is the strand's until it runs. The strand
 * stays until each call has returned, perhaps after the last item has run. */
static void strand_post(struct strand *self, struct item *item, void (*fn)(struct item *item)) {
    struct item *next = atomic_load(&self->newest);
    item->fn = fn;
    do item->next = next;
    while (!atomic_compare_exchange_weak(&self->newest, &next, item));
    if (!next) wsq_wake(&self->task);
}

static void strand_take(struct strand *self) {
    struct item *list = atomic_exchange(&self->newest, NULL);
    for (struct item *next; list; list = next) {
        next = list->next;
        list->next = self->oldest;
        self->oldest = list;
    }
}

static wsq_poll strand_run(wsq_ctx ctx, wsq_task *task) {
    struct strand *self = wsq_container_of(task, struct strand, task);
    (void)ctx;
    for (;;) {
        if (!self->oldest) strand_take(self);
        if (!self->oldest) return WSQ_PENDING; /* a post since then has woken it: it runs again */
        if (!wsq_budget_take()) return WSQ_YIELD;
        struct item *item = self->oldest;
        self->oldest = item->next;
        if (!item->fn) return WSQ_DONE;
        item->fn(item);
    }
}

/* ---- the check: tasks post numbers, the strand sees those of each in order ---- */

enum { POSTERS = 8, POSTS = 5000, ALL = POSTERS * POSTS };
static struct strand strand = {.task.fn = strand_run};
static struct item numbers[ALL], end;
static int seen[POSTERS], all, errors; /* plain: only the strand uses them */

static void see(struct item *item) {
    int number = (int)(item - numbers);
    errors += number % POSTS != seen[number / POSTS]++;
    if (++all == ALL) strand_post(&strand, &end, NULL);
}

static void post_all(void *first) {
    for (int i = 0; i < POSTS; i++) strand_post(&strand, (struct item *)first + i, see);
}

int main(void) {
    wsq_pool *pool;
    if (wsq_pool_create(&pool, &(wsq_config){.workers = 4}) != WSQ_OK) return 1;
    wsq_spawn(pool, &strand.task);
    for (int i = 0; i < ALL; i += POSTS) wsq_go(pool, post_all, &numbers[i]);
    wsq_pool_destroy(pool); /* waits for all */
    printf("%d numbers from %d tasks, out of order: %d\n", all, POSTERS, errors);
    return all == ALL && errors == 0 ? 0 : 1;
}
