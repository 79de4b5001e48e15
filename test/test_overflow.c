/* The order in which the tasks of one worker start when its ring overflows: in a driver's dispatch, beside a timer, and
 * where the thread of a caller_runs pool spawns in its tasks and between them. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "test.h"
#include "pool.h"
#include "compose.h"
#include "order.h"

enum { BURST = WSQ_RING_CAPACITY + 44 };

static step *line; /* is spawned one by one */
static unsigned spawned;
static atomic_bool event, poked;
static bool in_a_batch;

static void spawn_next(wsq_pool *pool) {
    step *one = &line[spawned++];
    CHECK_EQ(wsq_spawn(pool, &one->task), WSQ_OK);
}

static wsq_poll note_and_spawn_last(wsq_ctx ctx, step *self) {
    if (self->number == 0) spawn_next(wsq_pool_of(ctx));
    return note(ctx, self);
}

static wsq_poll post_event(wsq_ctx ctx, step *self) {
    (void)ctx, (void)self;
    atomic_store(&event, true);
    return WSQ_DONE;
}

static bool burst_wait(uint64_t timeout_ns, void *user) {
    (void)user;
    for (uint64_t left = timeout_ns; left > 100000 && !atomic_load(&event) && !atomic_load(&poked); left -= 100000)
        test_nap(100000);
    atomic_store(&poked, false);
    return atomic_exchange(&event, false);
}

static void burst_dispatch(wsq_pool *pool, void *user) {
    wsq_task *tasks[BURST];
    (void)user;
    for (unsigned i = 0; i < BURST && !in_a_batch; i++) spawn_next(pool);
    if (!in_a_batch) return;
    for (unsigned i = 0; i < BURST; i++) tasks[i] = &line[i].task;
    CHECK_EQ(wsq_spawn_batch(pool, tasks, BURST), WSQ_OK);
    spawned = BURST;
}

static void burst_interrupt(void *user) {
    (void)user;
    atomic_store(&poked, true);
}

static void spawned_in_dispatch(void) {
    const wsq_driver driver = {burst_wait, burst_dispatch, burst_interrupt, NULL};
    for (size_t k = 0; k < 2 * ALONE; k++) {
        wsq_config config = alone[k / 2];
        config.driver = &driver;
        in_a_batch = k % 2;
        wsq_pool *pool = pool_new(config);
        for (size_t round = 0; round < 1 + test_times(5); round++) {
            step root;
            line = step_array(BURST + 1, note_and_spawn_last, NULL);
            spawned = 0;
            step_new(&root, post_event, NULL);
            CHECK_EQ(wsq_spawn(pool, &root.task), WSQ_OK);
            CHECK_EQ(wsq_task_wait(&root.task), WSQ_OK);
            while (atomic_load(&started) != BURST + 1)
                if (!config.caller_runs || !wsq_pool_run_one(pool)) test_nap(10000);
            CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
            CHECK_EQ(out_of_order(BURST + 1), 0);
            free(line);
        }
        pool_end(pool);
    }
}

static wsq_poll note_and_spawn_one(wsq_ctx ctx, step *self) {
    if (spawned < TASKS) spawn_next(wsq_pool_of(ctx));
    return note(ctx, self);
}

static wsq_poll wait_for_a_timer(wsq_ctx ctx, step *self) {
    (void)ctx;
    return self->runs == 1 ? WSQ_PENDING : WSQ_DONE;
}

static wsq_poll fill_the_ring(wsq_ctx ctx, step *self) {
    wsq_pool *pool = wsq_pool_of(ctx);
    step *timed = self->arg;
    for (unsigned i = 0; i < WSQ_RING_CAPACITY; i++) spawn_next(pool);
    CHECK_EQ(wsq_timer_set(pool, &timed->timer, &timed->task, 0), WSQ_OK);
    return WSQ_DONE;
}

/* A timer fires in a turn while the ring is full. */
static void spawned_beside_a_timer(void) {
    for (size_t k = 0; k < ALONE; k++) {
        wsq_pool *pool = pool_new(alone[k]);
        for (size_t round = 0; round < 1 + test_times(5); round++) {
            step root, timed;
            line = step_array(TASKS, note_and_spawn_one, NULL);
            spawned = 0;
            step_new(&timed, wait_for_a_timer, NULL);
            CHECK_EQ(wsq_spawn(pool, &timed.task), WSQ_OK);
            while (alone[k].caller_runs && wsq_pool_run_one(pool)) {}
            step_asleep(&timed);
            step_new(&root, fill_the_ring, &timed);
            CHECK_EQ(wsq_spawn(pool, &root.task), WSQ_OK);
            CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
            CHECK_EQ(out_of_order(TASKS), 0);
            free(line);
        }
        pool_end(pool);
    }
}

/* The first one nearly fills the ring. The one that comes LATE lets it overflow, when the ring has taken over what was
 * spawned outside. */
enum { LATE = 45, AT_FIRST = WSQ_RING_CAPACITY - 20, AT_LAST = 120 };

static wsq_poll note_and_spawn_many(wsq_ctx ctx, step *self) {
    unsigned n = self->number == 0 ? AT_FIRST : self->number == LATE ? AT_LAST : 0;
    while (n-- > 0) spawn_next(wsq_pool_of(ctx));
    return note(ctx, self);
}

static void spawned_behind_the_ring(void) {
    for (size_t k = 0; k < ALONE; k++) {
        if (!alone[k].caller_runs) continue;
        wsq_pool *pool = pool_new(alone[k]);
        line = step_array(3 + AT_FIRST + AT_LAST, note_and_spawn_many, NULL);
        spawned = 0;
        spawn_next(pool);
        CHECK(wsq_pool_run_one(pool));
        spawn_next(pool);
        spawn_next(pool);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        CHECK_EQ(out_of_order(3 + AT_FIRST + AT_LAST), 0);
        free(line);
        pool_end(pool);
    }
}

static bool in_bursts;

static wsq_poll note_and_spawn_some(wsq_ctx ctx, step *self) {
    unsigned n = in_bursts && self->number % 97 == 0 ? WSQ_RING_CAPACITY - 5 : self->number % 3;
    if (in_bursts && self->number == 0) n += 8;
    for (; n != 0 && spawned < TASKS; n--) spawn_next(wsq_pool_of(ctx));
    return note(ctx, self);
}

/* The thread of a caller_runs pool spawns in its tasks and between them. */
static void spawned_in_and_out(void) {
    for (size_t k = 0; k < ALONE; k++) {
        if (!alone[k].caller_runs) continue;
        wsq_pool *pool = pool_new(alone[k]);
        uint64_t random = test_seed;
        for (size_t round = 0; round < 2 + test_times(20); round++) {
            line = step_array(TASKS, note_and_spawn_some, NULL);
            spawned = 0;
            in_bursts = round % 2;
            spawn_next(pool);
            CHECK(wsq_pool_run_one(pool)); /* in bursts: fills the ring, and more */
            while (spawned < TASKS) {
                for (uint64_t n = test_below(&random, 4); n != 0 && spawned < TASKS; n--) spawn_next(pool);
                for (uint64_t n = test_below(&random, 1u << test_below(&random, 10)); n != 0; n--)
                    (void)wsq_pool_run_one(pool);
            }
            CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
            CHECK_EQ(out_of_order(TASKS), 0);
            free(line);
        }
        pool_end(pool);
    }
}

int main(void) {
    test_begin("test_overflow");
    RUN(spawned_in_dispatch);
    RUN(spawned_beside_a_timer);
    RUN(spawned_in_and_out);
    RUN(spawned_behind_the_ring);
    return test_end();
}
