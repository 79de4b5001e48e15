/* await.h: a task waits for an MPI request, and its worker goes on with other tasks meanwhile.
 *
 *     await_poller poller;
 *     await_init(&poller, pool, 0);            worker 0 is the one that calls MPI
 *     wsq_spawn_on(pool, 0, &mine.task);       whatever calls MPI is pinned to it
 *     ...
 *     MPI_Irecv(..., &mine.message.request);   in the function of such a task
 *     await_request(&poller, &mine.message, task);
 *     return WSQ_PENDING;                      it is woken when mine.message.await.done is true
 *
 * One task per pool, the poller, asks after everything that is awaited. It is pinned, too, so that
 * no two threads are inside MPI at a time: MPI_THREAD_SERIALIZED is enough, which every MPI that
 * has threads gives without taking a lock. Between the start of MPI and the creation of the pool,
 * and after the pool is quiet, the main thread calls MPI itself.
 *
 * How often the poller asks:
 *     the worker has other tasks   between any two of them
 *     it has none                  for AWAIT_SPIN_NS, then after pauses that grow: a quarter of the
 *                                  time that it has waited already, AWAIT_PAUSE_NS at most. The
 *                                  worker sleeps meanwhile, or steals
 *     nothing is awaited           not at all: the poller is done, and is spawned again
 *
 * A process that is gone does not answer. If `limit_ns` is set, and something is awaited that long
 * while nothing comes and no task runs on this worker, on_limit is called: MPI_Abort, say.
 *
 * The first half does not know MPI, and needs no mpi.h: give an await a test function of your own,
 * and it waits for a GPU's event or whatever else can be asked "are you done?". The second half is
 * there if mpi.h was included before. Include it after wsq.h. POSIX. */
#ifndef AWAIT_H
#define AWAIT_H

#include <time.h>

#ifndef AWAIT_SPIN_NS
#define AWAIT_SPIN_NS 5000 /* a worker that spins here does not steal */
#endif
#ifndef AWAIT_PAUSE_NS
#define AWAIT_PAUSE_NS 1000000 /* a worker that only waits so takes 3 % of a core */
#endif

enum {
    AWAIT_SHORT_NS = 10000, /* the shortest pause; the system adds about 60 us to each */
    AWAIT_ALONE_NS = 3000   /* a yield that comes back sooner met no other task */
};

/* One thing that is waited for. It lies in a struct of the user's until it is done. */
typedef struct await {
    bool (*test)(struct await *self); /* true: it has happened; not asked again */
    wsq_task *task;                   /* woken then */
    struct await *next;
    bool done; /* for tasks pinned to the poller's worker */
} await;

/* Only tasks pinned to `worker` touch it, so it has no lock. */
typedef struct await_poller {
    wsq_task task;
    wsq_timer timer;
    wsq_pool *pool;
    unsigned worker;
    bool active, slept;
    await *first;
    uint64_t left_ns;  /* when it last returned */
    uint64_t since_ns; /* when something last happened, or another task last ran here */
    uint64_t limit_ns; /* 0: none */
    void (*on_limit)(struct await_poller *self);
    uint64_t polls, sleeps; /* statistics */
} await_poller;

static inline uint64_t await_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* True: something has happened. What is done is unlinked before its task can know. */
static inline bool await_ask(await_poller *self) {
    bool any = false;
    for (await **link = &self->first; *link;) {
        await *one = *link;
        if (one->test(one)) {
            *link = one->next;
            one->done = any = true;
            wsq_wake(one->task);
        } else {
            link = &one->next;
        }
    }
    return any;
}

/* The worker is alone with the poller: it may sleep, or steal, until the time is up. */
static inline wsq_poll await_pause(await_poller *self, uint64_t waited_ns) {
    uint64_t pause = waited_ns / 4;
    if (self->limit_ns && waited_ns >= self->limit_ns) self->on_limit(self);
    if (pause < AWAIT_SHORT_NS) pause = AWAIT_SHORT_NS;
    if (pause > AWAIT_PAUSE_NS) pause = AWAIT_PAUSE_NS;
    if (wsq_timer_set(self->pool, &self->timer, &self->task, pause) != WSQ_OK) return WSQ_YIELD;
    self->slept = true;
    self->sleeps++;
    return WSQ_PENDING;
}

/* After a pause it yields once, whatever the time: so it learns whether others run here now. */
static inline wsq_poll await_poll(wsq_ctx ctx, wsq_task *task) {
    await_poller *self = wsq_container_of(task, await_poller, task);
    uint64_t now = await_now();
    bool busy = !self->slept && now - self->left_ns > AWAIT_ALONE_NS, slept = self->slept;
    (void)ctx;
    self->polls++;
    self->slept = false;
    if (await_ask(self) || busy) self->since_ns = now;
    if (!self->first) {
        self->active = false;
        return WSQ_DONE;
    }
    uint64_t waited = now - self->since_ns;
    if (!slept && waited >= AWAIT_SPIN_NS) return await_pause(self, waited);
    self->left_ns = await_now();
    return WSQ_YIELD;
}

static inline void await_init(await_poller *self, wsq_pool *pool, unsigned worker) {
    *self = (await_poller){.pool = pool, .worker = worker};
    wsq_task_init(&self->task, await_poll);
}

/* In a task that is pinned to the poller's worker. `one->test` is set. */
static inline void await_add(await_poller *self, await *one, wsq_task *task) {
    WSQ_ASSERT(wsq_worker_self() == (int)self->worker);
    one->task = task;
    one->done = false;
    one->next = self->first;
    self->first = one;
    self->left_ns = self->since_ns = await_now();
    if (self->slept && wsq_timer_cancel(&self->timer)) wsq_wake(&self->task);
    self->slept = false;
    if (self->active) return;
    self->active = true;
    wsq_spawn_on(self->pool, self->worker, &self->task);
}

#ifdef MPI_VERSION
typedef struct await_mpi {
    await await;
    MPI_Request request;
    MPI_Status status; /* once it is done */
} await_mpi;

static inline bool await_test_mpi(await *one) {
    await_mpi *self = wsq_container_of(one, await_mpi, await);
    int done = 0;
    MPI_Test(&self->request, &done, &self->status);
    return done != 0;
}

/* In a task that is pinned to the poller's worker: it is woken when one->request is complete, which
 * MPI_Isend, MPI_Irecv or a non-blocking collective has filled in. */
static inline void await_request(await_poller *self, await_mpi *one, wsq_task *task) {
    one->await.test = await_test_mpi;
    await_add(self, &one->await, task);
}
#endif

#endif
