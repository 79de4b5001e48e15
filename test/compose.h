/* compose.h - for the tests of what composes tasks; it comes after pool.h.
 *
 *   step   a task that counts its runs and notes, by a clock that only counts, when it ran
 *   gate   a task that holds its worker until it is opened
 *   hoard  an allocator that counts, and fails when told to */
#ifndef TEST_COMPOSE_H
#define TEST_COMPOSE_H

#include <limits.h>

/* ---- steps ---- */

typedef struct step {
    wsq_task task;
    wsq_poll (*act)(wsq_ctx ctx, struct step *self); /* NULL: it is done at once */
    void *arg;
    wsq_timer timer;
    unsigned number;
    unsigned runs, cleanups;
    unsigned long began, ended; /* plain: a thread that may read them is ordered after the run */
} step;

static atomic_ulong step_clock;

static inline unsigned long step_tick(void) { return 1 + atomic_fetch_add(&step_clock, 1); }

static inline wsq_poll step_run(wsq_ctx ctx, wsq_task *task) {
    step *self = wsq_container_of(task, step, task);
    self->runs++;
    self->began = step_tick();
    wsq_poll answer = self->act ? self->act(ctx, self) : WSQ_DONE;
    if (answer == WSQ_DONE) self->ended = step_tick();
    return answer;
}

static inline wsq_poll step_clean(wsq_task *task) {
    wsq_container_of(task, step, task)->cleanups++;
    return WSQ_DONE;
}

static inline void step_new(step *self, wsq_poll (*act)(wsq_ctx ctx, step *self), void *arg) {
    *self = (step){.act = act, .arg = arg};
    wsq_task_init(&self->task, step_run);
    wsq_task_set_cleanup(&self->task, step_clean);
}

static inline step *step_array(size_t count, wsq_poll (*act)(wsq_ctx ctx, step *self), void *arg) {
    step *steps = calloc(count, sizeof *steps);
    if (steps == NULL) abort();
    for (size_t i = 0; i < count; i++) {
        step_new(&steps[i], act, arg);
        steps[i].number = (unsigned)i;
    }
    return steps;
}

/* It sleeps until a wake: no run of it is under way. */
static inline void step_asleep(const step *one) {
    while (wsqi_load_acq(&one->task.state) & (WSQI_TASK_ACTIVE | WSQI_TASK_WOKEN)) sched_yield();
}

/* How many tasks a caller_runs pool ran until it had none left. */
static inline unsigned pump(wsq_pool *pool) {
    unsigned count = 0;
    while (wsq_pool_run_one(pool)) count++;
    return count;
}

/* ---- gates ---- */

typedef struct gate {
    wsq_task task;
    atomic_bool inside, open;
} gate;

static inline wsq_poll gate_run(wsq_ctx ctx, wsq_task *task) {
    gate *self = wsq_container_of(task, gate, task);
    (void)ctx;
    atomic_store(&self->inside, true);
    while (!atomic_load(&self->open)) sched_yield();
    return WSQ_DONE;
}

/* Returns when some worker is held; on a worker of this index if that is not negative. */
static inline void gate_close(gate *self, wsq_pool *pool, int worker) {
    atomic_store(&self->inside, false);
    atomic_store(&self->open, false);
    wsq_task_init(&self->task, gate_run);
    if (worker < 0) CHECK_EQ(wsq_spawn(pool, &self->task), WSQ_OK);
    else CHECK_EQ(wsq_spawn_on(pool, (unsigned)worker, &self->task), WSQ_OK);
    while (!atomic_load(&self->inside)) sched_yield();
}

static inline void gate_open(gate *self) { atomic_store(&self->open, true); }

/* Holds every worker, one gate each. */
static inline void gates_close(gate *doors, wsq_pool *pool) {
    for (unsigned i = 0; i < pool->workers && !pool->config.caller_runs; i++) gate_close(&doors[i], pool, (int)i);
}

static inline void gates_open(gate *doors, wsq_pool *pool) {
    for (unsigned i = 0; i < pool->workers && !pool->config.caller_runs; i++) gate_open(&doors[i]);
}

static inline void *gates_cancel_main(void *pool) {
    CHECK_EQ(wsq_pool_shutdown(pool, WSQ_CANCEL), WSQ_OK);
    return NULL;
}

/* Cancels the pool while all of its workers are held: what was spawned behind the gates never starts. */
static inline void gates_cancel(gate *doors, wsq_pool *pool) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, gates_cancel_main, pool) != 0) abort();
    while (wsqi_load_acq(pool->phase) == WSQI_PHASE_RUN) sched_yield();
    gates_open(doors, pool);
    pthread_join(thread, NULL);
}

/* ---- memory ---- */

typedef struct hoard {
    wsq_allocator allocator;
    atomic_long live, calls, left; /* left: until one fails, and all that follow */
} hoard;

static inline void *hoard_allocate(size_t size, size_t alignment, void *user) {
    hoard *self = user;
    void *memory = NULL;
    if (atomic_fetch_sub(&self->left, 1) <= 0) return NULL;
    atomic_fetch_add(&self->calls, 1);
    if (alignment < sizeof(void *)) alignment = sizeof(void *);
    if (posix_memalign(&memory, alignment, size) != 0) return NULL;
    atomic_fetch_add(&self->live, 1);
    return memory;
}

static inline void hoard_release(void *memory, size_t size, void *user) {
    hoard *self = user;
    (void)size;
    if (memory != NULL) atomic_fetch_sub(&self->live, 1);
    free(memory);
}

static inline void hoard_new(hoard *self) {
    self->allocator = (wsq_allocator){hoard_allocate, hoard_release, self};
    atomic_store(&self->live, 0);
    atomic_store(&self->calls, 0);
    atomic_store(&self->left, LONG_MAX);
}

/* Futures that are neither free nor done for; the pool is at rest, or shut down. */
static inline long futures_out(wsq_pool *pool) {
    long out = 0;
    unsigned made = wsqi_threads_made(pool);
    for (wsqi_chunk *chunk = pool->depot.chunks; chunk != NULL; chunk = chunk->next)
        out += WSQI_FUTURE_CHUNK;
    for (wsq_future *batch = pool->depot.batches; batch != NULL; batch = batch->batch)
        out -= WSQI_FUTURE_BATCH;
    out -= pool->depot.outside.count;
    for (unsigned i = 0; i < made; i++) out -= wsqi_block(pool, i)->futures.count;
    return out;
}

/* At rest: what was spawned has finished, and no future is lost. */
static inline void pool_settled(wsq_pool *pool) {
    wsq_stats stats;
    if (!pool->config.caller_runs) pool_rest(pool);
    pool_tidy(pool);
    wsq_pool_stats(pool, &stats);
    CHECK_EQ(stats.spawned, stats.finished);
    CHECK_EQ(wsq_pool_pending(pool), 0);
    CHECK_EQ(wsqi_load_acq(&pool->held), 0);
    CHECK_EQ(futures_out(pool), 0);
}

static inline void pool_close(wsq_pool *pool) {
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    pool_settled(pool);
    pool_end(pool);
}

#endif /* TEST_COMPOSE_H */
