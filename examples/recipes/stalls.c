/* How do I hear of a task that runs for too long?
 *     cc -O2 -pthread stalls.c -o stalls && ./stalls
 *
 * A hook counts the runs that begin and end on each thread. Call stalls_look every `limit`, from any
 * thread. If two looks find a thread in the same run, that run is longer than `limit`. It is told of
 * once, while it runs (once more after a wait in it). The hook reads no clock: a few ns a run. */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include <stdatomic.h>

enum { SLOTS = 256, DEPTH = 8 }; /* threads; runs inside each other on one thread, by waits */

struct stalls {
    struct slot {
        atomic_uint steps, depth;     /* steps: how many runs have begun and ended */
        atomic_uintptr_t runs[DEPTH]; /* the task or job of each */
        unsigned seen, told;          /* steps, when stalls_look came last; and when it told */
    } slots[SLOTS];
    void (*tell)(unsigned worker, const void *subject);
};

static void stalls_event(void *user, wsq_event event, unsigned worker, const void *subject,
                         uint64_t value) {
    (void)value;
    if (worker >= SLOTS) return;
    struct slot *slot = &((struct stalls *)user)->slots[worker];
    unsigned depth = atomic_load(&slot->depth);
    if (event == WSQ_EVENT_TASK_END) depth--;
    else if (depth++ < DEPTH) atomic_store(&slot->runs[depth - 1], (uintptr_t)subject);
    atomic_store_explicit(&slot->depth, depth, memory_order_relaxed);
    atomic_fetch_add(&slot->steps, 1);
}

/* One thread at a time. */
static void stalls_look(struct stalls *self) {
    for (unsigned i = 0; i < SLOTS; i++) {
        struct slot *slot = &self->slots[i];
        unsigned steps = atomic_load(&slot->steps), depth = atomic_load(&slot->depth);
        if (steps == slot->seen && steps != slot->told && depth != 0 && depth <= DEPTH) {
            slot->told = steps;
            self->tell(i, (const void *)atomic_load(&slot->runs[depth - 1]));
        }
        slot->seen = steps;
    }
}

/* ---- the check: of five looks into a long task, only the second tells ---- */

enum { TASKS = 1000, LONG = 500 };
static wsq_task tasks[TASKS];
static atomic_bool begun, over;
static int told;

static void tell(unsigned worker, const void *subject) {
    printf("worker %u: a task runs for too long\n", worker);
    told += subject == &tasks[LONG]; /* on a busy machine a short one may seem long */
}

static wsq_poll work(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    while (task == &tasks[LONG] && !atomic_load(&over)) atomic_store(&begun, true);
    return WSQ_DONE;
}

int main(void) {
    static struct stalls stalls = {.tell = tell};
    const wsq_hooks hooks = {.event = stalls_event, .user = &stalls,
                             .events = 1u << WSQ_EVENT_TASK_BEGIN | 1u << WSQ_EVENT_TASK_END};
    wsq_pool *pool;
    if (wsq_pool_create(&pool, &(wsq_config){.workers = 2, .hooks = &hooks}) != WSQ_OK) return 1;
    for (int i = 0; i < TASKS; i++) tasks[i].fn = work, wsq_spawn(pool, &tasks[i]);
    while (!atomic_load(&begun)) {}
    stalls_look(&stalls); /* a program looks every `limit` */
    bool early = told != 0;
    for (int i = 0; i < 4; i++) stalls_look(&stalls);
    atomic_store(&over, true);
    wsq_pool_destroy(pool);
    return !early && told == 1 ? 0 : 1;
}
