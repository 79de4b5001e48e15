/* Pools of other projects, built upon wsq: what they promise their users holds. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "test.h"
#include "pool.h"

/* A compressor's pool: a queue that is full at some point, and a number of threads that changes while it is
 * used. A node is free before its task has returned, and is spawned again at once. What may not run yet
 * returns WSQ_PENDING, and gets the place of one that ends. */
enum { WORKERS = 4, QUEUE = 3, NODES = WORKERS + QUEUE + 1, CALLS = 3000 };

typedef struct bounded bounded;
typedef struct node {
    wsq_task task;
    bounded *pool;
    struct node *next;
    unsigned number;
    bool granted;
} node;

struct bounded {
    wsq_pool *pool;
    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t room;
    unsigned queued, busy, limit;
    node nodes[NODES], *free, *deferred, **end;
    unsigned next; /* the number that shall start next, if there is an order */
    bool ordered;
    unsigned early, most;
};

static node *bounded_grant(bounded *self) {
    node *next = self->deferred;
    self->deferred = next->next;
    if (self->deferred == NULL) self->end = &self->deferred;
    next->granted = true;
    return next;
}

/* False: it was deferred. */
static bool bounded_begin(bounded *self, node *one) {
    pthread_mutex_lock(&self->lock);
    bool begins = one->granted || (self->busy < self->limit && self->deferred == NULL);
    if (begins) {
        if (!one->granted) self->busy++;
        if (self->busy > self->most) self->most = self->busy;
        if (self->ordered && one->number != self->next++) self->early++;
        self->queued--;
        pthread_cond_signal(&self->room);
    } else {
        one->next = NULL;
        *self->end = one;
        self->end = &one->next;
    }
    pthread_mutex_unlock(&self->lock);
    return begins;
}

static wsq_poll node_run(wsq_ctx ctx, wsq_task *task) {
    node *one = wsq_container_of(task, node, task), *next = NULL;
    bounded *self = one->pool;
    (void)ctx;
    if (!bounded_begin(self, one)) return WSQ_PENDING;
    test_spin(one->number % 50);
    pthread_mutex_lock(&self->lock);
    if (self->deferred != NULL && self->busy <= self->limit) next = bounded_grant(self);
    else self->busy--;
    one->next = self->free; /* from here on another thread may have it */
    self->free = one;
    pthread_mutex_unlock(&self->lock);
    if (next != NULL) wsq_wake(&next->task);
    return WSQ_GONE;
}

static void bounded_add(bounded *self, unsigned number) {
    pthread_mutex_lock(&self->lock);
    while (self->queued == QUEUE || self->free == NULL) pthread_cond_wait(&self->room, &self->lock);
    node *one = self->free;
    self->free = one->next;
    self->queued++;
    *one = (node){.pool = self, .number = number};
    wsq_task_init(&one->task, node_run);
    CHECK_EQ(wsq_spawn(self->pool, &one->task), WSQ_OK);
    pthread_mutex_unlock(&self->lock);
}

static void bounded_resize(bounded *self, unsigned limit) {
    pthread_mutex_lock(&self->lock);
    self->limit = limit;
    while (self->deferred != NULL && self->busy < limit) {
        self->busy++;
        wsq_wake(&bounded_grant(self)->task);
    }
    pthread_mutex_unlock(&self->lock);
}

/* `workers` threads, of which `limit` work at first; the order is strict if only one thread does. */
static void bounded_use(unsigned workers, unsigned limit, wsq_order order, bool resizes) {
    bounded self = {.lock = PTHREAD_MUTEX_INITIALIZER, .room = PTHREAD_COND_INITIALIZER, .limit = limit};
    self.pool = pool_new((wsq_config){.workers = workers, .order = order});
    self.end = &self.deferred;
    self.ordered = workers == 1;
    for (unsigned i = 0; i < NODES; i++) {
        self.nodes[i].next = self.free;
        self.free = &self.nodes[i];
    }
    unsigned calls = (unsigned)test_times(CALLS);
    for (unsigned i = 0; i < calls; i++) {
        bounded_add(&self, i);
        if (resizes && i % 16 == 0) bounded_resize(&self, 1 + i / 16 % workers);
    }
    CHECK_EQ(wsq_pool_wait(self.pool), WSQ_OK);
    CHECK_EQ(self.queued + self.busy, 0);
    CHECK_EQ(self.early, 0);
    if (!resizes) CHECK(self.most <= limit);
    CHECK(self.deferred == NULL);
    pool_end(self.pool);
}

static void bounded_queue(void) {
    for (wsq_order order = WSQ_FIFO; order <= WSQ_SHARED; order = (wsq_order)(order + 1)) {
        if (order != WSQ_LIFO) bounded_use(1, 1, order, false);
        for (unsigned limit = 1; limit <= WORKERS; limit++) bounded_use(WORKERS, limit, order, false);
        bounded_use(WORKERS, WORKERS, order, true);
    }
}

/* An event loop's pool: n requests that block, and more behind them, each of which is called off while the
 * first ones still block. The answer is "it will not run", and the loop hears of each once. */
enum { REQUESTS = 40 };
enum decision { OPEN, STARTED, CALLED_OFF };

typedef struct request {
    wsq_task task;
    _Atomic enum decision decision;
    bool blocks;
} request;

static atomic_uint blocked, ended, ran;
static atomic_bool opened;

static wsq_poll request_run(wsq_ctx ctx, wsq_task *task) {
    request *self = wsq_container_of(task, request, task);
    enum decision open = OPEN;
    (void)ctx;
    if (atomic_compare_exchange_strong(&self->decision, &open, STARTED)) {
        if (self->blocks) atomic_fetch_add(&blocked, 1);
        while (self->blocks && !atomic_load(&opened)) sched_yield();
        atomic_fetch_add(&ran, 1);
    }
    atomic_fetch_add(&ended, 1);
    return WSQ_GONE;
}

static void called_off_behind_blocked(void) {
    for (unsigned workers = 1; workers <= 4; workers++) {
        wsq_pool *pool = pool_new((wsq_config){.workers = workers, .order = WSQ_SHARED});
        for (size_t round = 0; round < test_times(100); round++) {
            request requests[REQUESTS];
            unsigned late = 0;
            atomic_store(&opened, false);
            atomic_store(&blocked, 0);
            atomic_store(&ended, 0);
            atomic_store(&ran, 0);
            for (unsigned i = 0; i < REQUESTS; i++) {
                requests[i].blocks = i < workers;
                atomic_init(&requests[i].decision, OPEN);
                wsq_task_init(&requests[i].task, request_run);
                CHECK_EQ(wsq_spawn(pool, &requests[i].task), WSQ_OK);
            }
            if (round % 2 == 0)
                while (atomic_load(&blocked) < workers) sched_yield();
            for (unsigned i = workers; i < REQUESTS; i++) {
                enum decision open = OPEN;
                late += !atomic_compare_exchange_strong(&requests[i].decision, &open, CALLED_OFF);
            }
            CHECK_EQ(late, 0);
            atomic_store(&opened, true);
            CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
            CHECK_EQ(atomic_load(&ended), REQUESTS);
            CHECK_EQ(atomic_load(&ran), workers);
        }
        pool_end(pool);
    }
}

int main(void) {
    test_begin("test_adopt");
    RUN(bounded_queue);
    RUN(called_off_behind_blocked);
    return test_end();
}
