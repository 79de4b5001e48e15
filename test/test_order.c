/* The order in which tasks start: with one worker that of their spawns; with several, too, in a WSQ_SHARED
 * pool. The programs here hang, or write a wrong file, when it is another. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "test.h"
#include "pool.h"
#include "compose.h"
#include "order.h"

/* ---- one worker ---- */

static void spawned_outside(void) {
    for (size_t k = 0; k < ALONE; k++) {
        wsq_pool *pool = pool_new(alone[k]);
        for (size_t round = 0; round < test_times(20); round++) {
            step *steps = step_array(TASKS, note, NULL);
            uint64_t random = test_seed + round;
            for (unsigned i = 0; i < TASKS; i++) {
                steps[i].number = i;
                CHECK_EQ(wsq_spawn(pool, &steps[i].task), WSQ_OK);
                if (test_below(&random, 100) == 0) test_spin(test_below(&random, 2000));
            }
            CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
            CHECK_EQ(out_of_order(TASKS), 0);
            free(steps);
        }
        pool_end(pool);
    }
}

/* Tasks from outside fill the ring, and a task spawns into it: those that move back go to the front of the lane. */
enum { YIELDS = 100 };
static atomic_bool all_queued;

static wsq_poll yield_and_spawn(wsq_ctx ctx, step *self) {
    step *others = self->arg;
    while (!atomic_load(&all_queued)) test_spin(100);
    CHECK_EQ(wsq_spawn(wsq_pool_of(ctx), &others[self->runs - 1].task), WSQ_OK);
    return self->runs < YIELDS ? WSQ_YIELD : WSQ_DONE;
}

static void spawned_beside_others(void) {
    for (size_t k = 0; k < ALONE; k++) {
        wsq_pool *pool = pool_new(alone[k]);
        step *others = step_array(YIELDS, NULL, NULL), *yields = step_array(1, yield_and_spawn, others);
        step *steps = step_array(TASKS, note, NULL);
        atomic_store(&all_queued, false);
        CHECK_EQ(wsq_spawn(pool, &yields->task), WSQ_OK);
        for (unsigned i = 0; i < TASKS; i++) {
            steps[i].number = i;
            CHECK_EQ(wsq_spawn(pool, &steps[i].task), WSQ_OK);
        }
        atomic_store(&all_queued, true);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        CHECK_EQ(out_of_order(TASKS), 0);
        free(others);
        free(yields);
        free(steps);
        pool_end(pool);
    }
}

/* All at once from a task, and now and then a handful from one of these: more than a ring holds. */
static step *brood;
static unsigned hatched;
static size_t way;

static void hatch(wsq_pool *pool, unsigned count) {
    wsq_task *batch[300];
    step *first = brood + hatched;
    if (count > TASKS - hatched) count = TASKS - hatched;
    for (unsigned i = 0; i < count; i++) first[i].number = hatched + i;
    hatched += count; /* before the first of them may run */
    if (count <= 300 && count % 3 == 0) {
        for (unsigned i = 0; i < count; i++) batch[i] = &first[i].task;
        CHECK_EQ(wsq_spawn_batch(pool, batch, count), WSQ_OK);
    } else {
        for (unsigned i = 0; i < count; i++) CHECK_EQ(wsq_spawn(pool, &first[i].task), WSQ_OK);
    }
}

static wsq_poll note_and_hatch(wsq_ctx ctx, step *self) {
    log_of[atomic_fetch_add(&started, 1)] = self->number;
    if (self->number == 0) { /* one by one, both ways, or a batch first */
        if (way < 2) hatch(wsq_pool_of(ctx), 1000);
        if (way > 0) hatch(wsq_pool_of(ctx), 300);
        if (way > 1) hatch(wsq_pool_of(ctx), 50);
    }
    if (self->number % 7 == 1) hatch(wsq_pool_of(ctx), self->number % 31);
    else if (self->number > 0 && self->number % 97 == 0) hatch(wsq_pool_of(ctx), 300);
    return WSQ_DONE;
}

static void spawned_inside(void) {
    for (size_t k = 0; k < ALONE; k++) {
        wsq_pool *pool = pool_new(alone[k]);
        for (size_t round = 0; round < 2 + test_times(20); round++) {
            brood = step_array(TASKS, note_and_hatch, NULL);
            hatched = 0;
            way = round % 3;
            hatch(pool, 1);
            CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
            CHECK_EQ(hatched, TASKS);
            CHECK_EQ(out_of_order(TASKS), 0);
            free(brood);
        }
        pool_end(pool);
    }
}

/* After more spawns than a ring holds, their spawner or one of them blocks: the ring's tasks go to the lane. */
static unsigned blocker; /* the number of the task that blocks; TASKS: the spawner, one by one; TASKS + 1: a batch */

static void block_once(wsq_ctx ctx) {
    wsq_block_begin(ctx);
    test_nap(200000);
    wsq_block_end(ctx);
}

static wsq_poll note_and_block(wsq_ctx ctx, step *self) {
    log_of[atomic_fetch_add(&started, 1)] = self->number;
    if (self->number == blocker) block_once(ctx);
    return WSQ_DONE;
}

static wsq_poll spawn_and_block(wsq_ctx ctx, step *self) {
    step *steps = self->arg;
    wsq_task *batch[TASKS];
    for (unsigned i = 0; i < self->number; i++) batch[i] = &steps[i].task;
    if (blocker > TASKS) {
        CHECK_EQ(wsq_spawn(wsq_pool_of(ctx), batch[0]), WSQ_OK);
        CHECK_EQ(wsq_spawn_batch(wsq_pool_of(ctx), batch + 1, self->number - 1), WSQ_OK);
    } else {
        for (unsigned i = 0; i < self->number; i++) CHECK_EQ(wsq_spawn(wsq_pool_of(ctx), batch[i]), WSQ_OK);
    }
    if (blocker >= TASKS) block_once(ctx);
    return WSQ_DONE;
}

static void spawned_before_a_block(void) {
    for (size_t k = 0; k < ALONE; k++) {
        wsq_pool *pool = pool_new(alone[k]);
        for (unsigned kind = 0; kind < 3; kind++) {
            for (unsigned count = 200; count <= 1600; count += 175) {
                step *steps = step_array(count, note_and_block, NULL), *spawner = step_array(1, spawn_and_block, steps);
                for (unsigned i = 0; i < count; i++) steps[i].number = i;
                blocker = kind == 0 ? 3 : TASKS + kind - 1;
                spawner->number = count;
                CHECK_EQ(wsq_spawn(pool, &spawner->task), WSQ_OK);
                CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
                CHECK_EQ(out_of_order(count), 0);
                free(spawner);
                free(steps);
            }
        }
        pool_end(pool);
    }
}

/* Spawns before a block, and others after it; also on a lent thread, and where no stand-in comes. */
static wsq_poll block_between(wsq_ctx ctx, step *self) {
    step *steps = self->arg;
    for (unsigned i = 0; i < 8; i++) {
        if (i == 4) block_once(ctx);
        CHECK_EQ(wsq_spawn(wsq_pool_of(ctx), &steps[i].task), WSQ_OK);
    }
    return WSQ_DONE;
}

static void *lend(void *pool) {
    wsq_worker_enter(pool);
    return NULL;
}

static void spawned_around_a_block(void) {
    for (unsigned kind = 0; kind < 3; kind++) {
        wsq_pool *pool = pool_new((wsq_config){
            .workers = 1, .max_standins = kind == 1 ? WSQ_STANDINS_OFF : 0, .lend_only = kind == 2});
        pthread_t lent;
        if (kind == 2) CHECK_EQ(pthread_create(&lent, NULL, lend, pool), 0);
        for (size_t round = 0; round < 2 + test_times(20); round++) {
            step *steps = step_array(8, note, NULL), *spawner = step_array(1, block_between, steps);
            for (unsigned i = 0; i < 8; i++) steps[i].number = i;
            CHECK_EQ(wsq_spawn(pool, &spawner->task), WSQ_OK);
            CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
            CHECK_EQ(out_of_order(8), 0);
            free(spawner);
            free(steps);
        }
        if (kind == 2) CHECK_EQ(wsq_pool_shutdown(pool, WSQ_DRAIN), WSQ_OK);
        if (kind == 2) CHECK_EQ(pthread_join(lent, NULL), 0);
        pool_end(pool);
    }
}

/* A wait runs what it waits for first; all others keep their order. Kinds: the task 5, a group of 5 and 7, whose
 * tasks spawn others, a future. */
static unsigned awaits;
static step *late; /* what the group's tasks spawn */

static wsq_poll note_and_spawn(wsq_ctx ctx, step *self) {
    log_of[atomic_fetch_add(&started, 1)] = self->number;
    if (awaits == 1 && (self->number == 5 || self->number == 7))
        CHECK_EQ(wsq_spawn(wsq_pool_of(ctx), &late[self->number - 5].task), WSQ_OK);
    return WSQ_DONE;
}

static void *note_five(void *arg) {
    log_of[atomic_fetch_add(&started, 1)] = 5;
    return arg;
}

static wsq_poll spawn_and_wait(wsq_ctx ctx, step *self) {
    wsq_pool *pool = wsq_pool_of(ctx);
    step *steps = self->arg;
    wsq_future *future = NULL;
    wsq_group group;
    CHECK_EQ(wsq_group_init(&group, pool), WSQ_OK);
    for (unsigned i = 0; i < 10; i++) {
        if (awaits == 2 && i == 5) CHECK_EQ(wsq_submit(pool, note_five, NULL, &future), WSQ_OK);
        else if (awaits == 1 && (i == 5 || i == 7)) CHECK_EQ(wsq_group_spawn(&group, &steps[i].task), WSQ_OK);
        else CHECK_EQ(wsq_spawn(pool, &steps[i].task), WSQ_OK);
    }
    if (awaits == 0) CHECK_EQ(wsq_task_wait(&steps[5].task), WSQ_OK);
    if (awaits == 1) CHECK_EQ(wsq_group_wait(&group), WSQ_OK);
    if (awaits == 2) CHECK_EQ(wsq_future_get(future, NULL), WSQ_OK);
    return WSQ_DONE;
}

static void spawned_before_a_wait(void) {
    static const unsigned wanted[][12] = {{5, 0, 1, 2, 3, 4, 6, 7, 8, 9},
                                          {5, 7, 0, 1, 2, 3, 4, 6, 8, 9, 15, 17}, {5, 0, 1, 2, 3, 4, 6, 7, 8, 9}};
    for (size_t k = 0; k < 4; k++) { /* in a WSQ_SHARED pool a wait finds nothing to run */
        wsq_pool *pool = pool_new(alone[k]);
        for (awaits = 0; awaits < 3; awaits++) {
            step *steps = step_array(10, note_and_spawn, NULL), *spawner = step_array(1, spawn_and_wait, steps);
            late = step_array(3, note, NULL);
            for (unsigned i = 0; i < 10; i++) steps[i].number = i;
            for (unsigned i = 0; i < 3; i++) late[i].number = 15 + i;
            CHECK_EQ(wsq_spawn(pool, &spawner->task), WSQ_OK);
            CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
            for (unsigned i = 0, n = awaits == 1 ? 12 : 10; i < n; i++) CHECK_EQ(log_of[i], wanted[awaits][i]);
            atomic_store(&started, 0);
            free(spawner);
            free(steps);
            free(late);
        }
        pool_end(pool);
    }
}

/* WSQ_HIGH and pinned tasks between them do not change the others' order. */
static void among_others(void) {
    for (size_t k = 0; k < ALONE; k++) {
        wsq_pool *pool = pool_new(alone[k]);
        for (size_t round = 0; round < test_times(20); round++) {
            step *steps = step_array(TASKS, note, NULL), *others = step_array(TASKS, NULL, NULL);
            for (unsigned i = 0; i < TASKS; i++) {
                steps[i].number = i;
                CHECK_EQ(wsq_spawn(pool, &steps[i].task), WSQ_OK);
                if (i % 3 == 0) CHECK_EQ(wsq_spawn_on(pool, 0, &others[i].task), WSQ_OK);
                if (i % 3 == 0) continue;
                CHECK_EQ(wsq_task_set_priority(&others[i].task, i % 2 ? WSQ_HIGH : WSQ_LOW), WSQ_OK);
                CHECK_EQ(wsq_spawn(pool, &others[i].task), WSQ_OK);
            }
            CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
            CHECK_EQ(out_of_order(TASKS), 0);
            free(steps);
            free(others);
        }
        pool_end(pool);
    }
}

/* A compressor: blocks are packed by many workers, and written by a pool of one, in the order in which they
 * are handed to it. */
typedef struct block {
    wsq_task pack, write;
    unsigned char in[64], out[64];
} block;

static unsigned char *file_end;

static wsq_poll pack_block(wsq_ctx ctx, wsq_task *task) {
    block *self = wsq_container_of(task, block, pack);
    (void)ctx;
    for (int i = 0; i < 64; i++) self->out[i] = (unsigned char)(self->in[i] ^ 0x5a);
    return WSQ_DONE;
}

static wsq_poll write_block(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    memcpy(file_end, wsq_container_of(task, block, write)->out, 64);
    file_end += 64;
    return WSQ_DONE;
}

static void one_thread_writer(void) {
    wsq_pool *packers = pool_new((wsq_config){.workers = 3}), *writer = pool_new((wsq_config){.workers = 1});
    block *blocks = calloc(TASKS, sizeof *blocks);
    unsigned char *file = malloc(TASKS * sizeof blocks->in);
    unsigned wrong = 0;
    for (size_t round = 0; round < test_times(10); round++) {
        uint64_t random = test_seed + round;
        file_end = file;
        for (unsigned i = 0; i < TASKS; i++) {
            for (int k = 0; k < 64; k++) blocks[i].in[k] = (unsigned char)test_below(&random, 256);
            wsq_task_init(&blocks[i].pack, pack_block);
            wsq_task_init(&blocks[i].write, write_block);
            CHECK_EQ(wsq_spawn(packers, &blocks[i].pack), WSQ_OK);
        }
        for (unsigned i = 0; i < TASKS; i++) {
            CHECK_EQ(wsq_task_wait(&blocks[i].pack), WSQ_OK);
            CHECK_EQ(wsq_spawn(writer, &blocks[i].write), WSQ_OK);
        }
        CHECK_EQ(wsq_pool_wait(writer), WSQ_OK);
        for (unsigned i = 0; i < TASKS; i++)
            for (int k = 0; k < 64; k++) wrong += file[i * 64 + (unsigned)k] != (blocks[i].in[k] ^ 0x5a);
    }
    CHECK_EQ(wrong, 0);
    free(blocks);
    free(file);
    pool_end(packers);
    pool_end(writer);
}

/* ---- several ---- */

static atomic_bool released;
static atomic_int patience; /* yields that are left, so that a wrong order is no hang */
enum { PATIENCE = 3000000 };

static bool patient(void) { return atomic_load(&patience) > 0 && atomic_fetch_sub(&patience, 1) > 0; }

/* Something has gone on. (Emscripten's sched_yield does nothing: there one step may take a time slice.) */
static void patient_again(int yields) {
    int left = atomic_load(&patience);
    while (left > 0 && !atomic_compare_exchange_weak(&patience, &left, yields)) {}
}

static wsq_poll hold(wsq_ctx ctx, step *self) {
    (void)ctx;
    (void)self;
    atomic_fetch_add(&started, 1);
    while (!atomic_load(&released)) sched_yield();
    return WSQ_DONE;
}

/* As many blocking tasks as workers, and one more, which can still be cancelled while they block. In the
 * default order it is so, too, as long as tasks take long: these do. */
static void a_fifth_in(wsq_order order, long nap_ns, size_t rounds) {
    for (unsigned workers = 1; workers <= 4; workers++) {
        wsq_pool *pool = pool_new((wsq_config){.workers = workers, .order = order});
        for (size_t round = 0; round < rounds; round++) {
            step four[4], fifth;
            wsq_group group;
            CHECK_EQ(wsq_group_init(&group, pool), WSQ_OK);
            atomic_store(&started, 0);
            atomic_store(&released, false);
            for (unsigned i = 0; i < workers; i++) {
                step_new(&four[i], hold, NULL);
                CHECK_EQ(wsq_spawn(pool, &four[i].task), WSQ_OK);
            }
            step_new(&fifth, NULL, NULL);
            CHECK_EQ(wsq_group_spawn(&group, &fifth.task), WSQ_OK);
            atomic_store(&patience, PATIENCE);
            while (atomic_load(&started) < workers && patient()) sched_yield();
            if (!CHECK_EQ(atomic_load(&started), workers)) workers = 4, round = SIZE_MAX - 1;
            if (nap_ns > 0) test_nap(nap_ns);
            wsq_group_cancel(&group);
            atomic_store(&released, true);
            CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
            CHECK_EQ(fifth.runs, 0);
        }
        pool_end(pool);
    }
    atomic_store(&started, 0);
}

static void a_fifth(void) {
    a_fifth_in(WSQ_SHARED, 0, test_times(200));
    a_fifth_in(WSQ_FIFO, 200000, test_times(200));
    for (size_t i = 0; i < test_times(50); i++) a_fifth_in(WSQ_FIFO, 200000, 1);
}

/* Task i waits until its predecessor has written. Nobody but that one can let it go on. */
static atomic_uint written;
static bool declares; /* the worker may be replaced meanwhile */

static wsq_poll write_in_turn(wsq_ctx ctx, step *self) {
    if (declares) wsq_block_begin(ctx);
    while (atomic_load(&written) != self->number && patient()) sched_yield();
    if (declares) wsq_block_end(ctx);
    atomic_store(&written, self->number + 1);
    patient_again(4 * PATIENCE);
    return WSQ_DONE;
}

static void in_turn(unsigned workers, wsq_order order, bool declared) {
    enum { LENGTH = 2000 };
    wsq_pool *pool = pool_new((wsq_config){.workers = workers, .order = order, .max_standins = 4});
    declares = declared;
    for (size_t round = 0; round < test_times(4); round++) {
        step *steps = step_array(LENGTH, write_in_turn, NULL);
        atomic_store(&written, 0);
        atomic_store(&patience, 4 * PATIENCE);
        for (unsigned i = 0; i < LENGTH; i++) {
            steps[i].number = i;
            CHECK_EQ(wsq_spawn(pool, &steps[i].task), WSQ_OK);
        }
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        free(steps);
        if (!CHECK(atomic_load(&patience) > 0)) exit(test_end()); /* one waits behind its successor */
        CHECK_EQ(atomic_load(&written), LENGTH);
    }
    pool_end(pool);
}

static void each_waits_for_the_last(void) {
    for (unsigned workers = 1; workers <= 8; workers *= 2) {
        in_turn(workers, WSQ_SHARED, false);
        in_turn(workers, WSQ_SHARED, true);
        in_turn(workers, WSQ_FIFO, false); /* each has a queue, but no task lies behind a later one */
    }
}

/* When a task starts, all before it have: but for those that another worker holds, and is about to start. */
static atomic_uint early;
static unsigned others;

static wsq_poll start_in_turn(wsq_ctx ctx, step *self) {
    (void)ctx;
    if (self->runs > 1) return WSQ_DONE;
    if (atomic_fetch_add(&started, 1) + others < self->number) atomic_fetch_add(&early, 1);
    return self->number % 5 == 0 ? WSQ_YIELD : WSQ_DONE;
}

static void start_in_order(void) {
    atomic_store(&early, 0);
    for (unsigned workers = 1; workers <= 8; workers++) {
        wsq_pool *pool = pool_new((wsq_config){.workers = workers, .order = WSQ_SHARED});
        others = workers - 1;
        for (size_t round = 0; round < test_times(10); round++) {
            step *steps = step_array(TASKS, start_in_turn, NULL);
            atomic_store(&started, 0);
            for (unsigned i = 0; i < TASKS; i++) {
                steps[i].number = i;
                CHECK_EQ(wsq_spawn(pool, &steps[i].task), WSQ_OK);
            }
            CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
            CHECK_EQ(atomic_load(&started), TASKS);
            free(steps);
        }
        pool_end(pool);
    }
    CHECK_EQ(atomic_load(&early), 0);
    atomic_store(&started, 0);
}

/* ---- no task is stolen in a WSQ_SHARED pool: that is how stealing is turned off ---- */

static atomic_uint hatches;

/* It spawns, yields, wakes, waits and blocks, all on a worker. */
static wsq_poll hustle(wsq_ctx ctx, step *self) {
    wsq_pool *pool = wsq_pool_of(ctx);
    if (self->number % 64 == 0) { /* so each worker would have something to steal */
        for (unsigned i = 1; i < 64; i++) CHECK_EQ(wsq_spawn(pool, &self[i].task), WSQ_OK);
        CHECK_EQ(wsq_task_wait(&self[63].task), WSQ_OK);
        return WSQ_DONE;
    }
    unsigned turn = atomic_fetch_add(&hatches, 1) % 5;
    if (turn == 0) return WSQ_YIELD;
    if (turn == 1) return wsq_wake(&self->task), WSQ_PENDING;
    for (volatile int i = 0; i < 300; i++) {}
    return WSQ_DONE;
}

static uint64_t stolen_in(wsq_order order) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 4, .order = order});
    wsq_stats stats;
    step *steps = step_array(TASKS, hustle, NULL);
    for (unsigned i = 0; i < TASKS; i++) steps[i].number = i;
    for (unsigned i = 0; i + 64 <= TASKS; i += 64) CHECK_EQ(wsq_spawn(pool, &steps[i].task), WSQ_OK);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    wsq_pool_stats(pool, &stats);
    pool_end(pool);
    free(steps);
    return stats.tasks_stolen;
}

static void nothing_is_stolen(void) {
    for (size_t round = 0; round < 1 + test_times(5); round++) CHECK_EQ(stolen_in(WSQ_SHARED), 0);
    while (stolen_in(WSQ_FIFO) == 0) {} /* the same load has much to steal */
}

/* Tasks that come after another one, or after a group, are queued in the order in which that was said. */
static void after_one(void) {
    enum { COUNT = 300 };
    for (size_t k = 0; k < ALONE; k++) {
        wsq_pool *pool = pool_new(alone[k]);
        step *steps = step_array(2 * COUNT, note, NULL), first;
        wsq_edge *edges = calloc(COUNT, sizeof *edges);
        wsq_group group;
        CHECK_EQ(wsq_group_init(&group, pool), WSQ_OK);
        step_new(&first, note, NULL);
        first.number = 0;
        for (unsigned i = 0; i < 2 * COUNT; i++) steps[i].number = i + 1;
        for (unsigned i = 0; i < COUNT; i++) {
            CHECK_EQ(wsq_task_after(&steps[i].task, &first.task, &edges[i]), WSQ_OK);
            CHECK_EQ(wsq_group_spawn(&group, &steps[i].task), WSQ_OK);
        }
        for (unsigned i = COUNT; i < 2 * COUNT; i++) CHECK_EQ(wsq_group_then(&group, &steps[i].task), WSQ_OK);
        CHECK_EQ(wsq_spawn(pool, &first.task), WSQ_OK);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        CHECK_EQ(out_of_order(2 * COUNT + 1), 0);
        pool_end(pool);
        free(steps);
        free(edges);
    }
}

int main(void) {
    test_begin("test_order");
    RUN(spawned_outside);
    RUN(spawned_beside_others);
    RUN(spawned_inside);
    RUN(spawned_before_a_block);
    RUN(spawned_around_a_block);
    RUN(spawned_before_a_wait);
    RUN(among_others);
    RUN(one_thread_writer);
    RUN(a_fifth);
    RUN(each_waits_for_the_last);
    RUN(start_in_order);
    RUN(nothing_is_stolen);
    RUN(after_one);
    return test_end();
}
