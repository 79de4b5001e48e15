/* Tasks on their way from one queue to another, with the mover stalled at each access in turn; the ends and permits
 * that no other thread would see: each has one moment at which it must be told. In virtual time. */
#include "trip.h"

/* ---- tasks on their way from one queue to another ---- */

static wsq_poll trip_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    trip.before(ctx);
    trip_stall();
    trip.move(ctx);
    sim_stall.left = 0;
    compute(20 * MS);
    return WSQ_DONE;
}

static void *short_call(void *arg) {
    compute(US);
    return arg;
}

static void moves_by_get(wsq_ctx ctx);

static void trip_all(wsq_config config, void (*before)(wsq_ctx), void (*move)(wsq_ctx), uint64_t step) {
    uint64_t at = 1;
    do {
        memset(&trip, 0, sizeof trip);
        trip.before = before;
        trip.move = move;
        trip.at = at;
        wsq_pool *pool = pool_make(&config);
        item *mover = item_make(0);
        mover->task.fn = trip_run;
        item_spawn_on(pool, 1, trip.busy = item_make(2 * MS));
        nap(100 * US);
        item_spawn_on(pool, 0, mover);
        nap(10 * US);
        if (move == moves_by_get) CHECK_EQ(wsq_submit(pool, short_call, NULL, &trip.future), WSQ_OK);
        CHECK(trip_in_time(pool));
        at += step;
    } while (trip.stalled != 0);
    CHECK(at > 5 * step);
}

static void three_tasks(wsq_ctx ctx) { trip_spawn(wsq_pool_of(ctx), 3, US); }
static void full_ring(wsq_ctx ctx) { trip_spawn(wsq_pool_of(ctx), 256, US); }

static void moves_by_block(wsq_ctx ctx) {
    block_for(ctx, 10 * MS);
}

static void moves_by_overflow(wsq_ctx ctx) { trip_spawn(wsq_pool_of(ctx), 1, US); }

/* It waits for the task that worker 1 runs, so it moves the other one to the end of its ring. */
static void one_task(wsq_ctx ctx) { trip_spawn(wsq_pool_of(ctx), 1, US); }
static void moves_by_wait(wsq_ctx ctx) {
    (void)ctx;
    CHECK_EQ(wsq_task_wait(&trip.busy->task), WSQ_OK);
}

/* What it waits for, for long, lies behind another task in its ring. */
static void a_long_task_last(wsq_ctx ctx) {
    one_task(ctx);
    trip_spawn(wsq_pool_of(ctx), 1, 20 * MS);
}
static void moves_by_wait_for_its_own(wsq_ctx ctx) {
    (void)ctx;
    CHECK_EQ(wsq_task_wait(&trip.list[1]->task), WSQ_OK);
}

/* Its call lies in the global queue, where worker 1 takes it meanwhile. */
static void one_task_then_a_call(wsq_ctx ctx) {
    compute(20 * US);
    one_task(ctx);
}
static void moves_by_get(wsq_ctx ctx) {
    (void)ctx;
    CHECK_EQ(wsq_future_get(trip.future, NULL), WSQ_OK);
}

/* Without its permit, which a stand-in has until then, it queues tasks, and waits. */
static void tasks_without_a_permit(wsq_ctx ctx) {
    item_spawn(wsq_pool_of(ctx), item_make(2 * MS));
    wsq_block_begin(ctx);
    nap(100 * US);
    three_tasks(ctx);
}
static void moves_by_wait_without_a_permit(wsq_ctx ctx) {
    item *never = item_make(0);
    never->pends = true;
    item_spawn(wsq_pool_of(ctx), never);
    CHECK_EQ(wsq_task_wait_for(&never->task, 10 * MS), WSQ_ERR_TIMEOUT);
    sim_stall.left = 0;
    item_wake(never);
    wsq_block_end(ctx);
}

/* When it gets one more future it looks for those that it has got before, and takes all else out meanwhile. */
static void get_one(wsq_ctx ctx) {
    wsq_future *future;
    CHECK_EQ(wsq_submit(wsq_pool_of(ctx), short_call, NULL, &future), WSQ_OK);
    CHECK_EQ(wsq_future_get(future, NULL), WSQ_OK);
}
static void tasks_before_calls(wsq_ctx ctx) {
    three_tasks(ctx);
    for (int i = 0; i < WSQ_RING_CAPACITY / 2 - 1; i++) get_one(ctx);
}

/* A thread outside takes tasks of its group. */
static void helps(void) {
    memset(&trip, 0, sizeof trip);
    do {
        wsq_pool *pool = pool_make(&(wsq_config){.workers = 3, .max_standins = WSQ_STANDINS_OFF});
        uint64_t at = trip.at + 1;
        wsq_group group;
        memset(&trip, 0, sizeof trip);
        trip.at = at;
        wsq_group_init(&group, pool);
        for (int i = 0; i < 4; i++) {
            trip.list[trip.count++] = item_make(i == 0 ? 10 * MS : US);
            CHECK_EQ(wsq_group_spawn(&group, &trip.list[i]->task), WSQ_OK);
        }
        trip_stall();
        CHECK_EQ(wsq_group_wait(&group), WSQ_OK);
        sim_stall.left = 0;
        CHECK(trip_in_time(pool));
    } while (trip.stalled != 0);
    CHECK(trip.at > 20);
}

static wsq_poll turn_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    compute(50 * US);
    wsqi_block(wsq_pool_of(ctx), 0)->turn.left = 0; /* its next task begins with a turn */
    trip_stall();
    return WSQ_DONE;
}

static wsq_poll long_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    sim_stall.left = 0;
    compute(20 * MS);
    return WSQ_DONE;
}

/* In its turn a worker moves a task of the global queue behind the urgent one that it runs next. */
static void moves_in_a_turn(void) {
    memset(&trip, 0, sizeof trip);
    do {
        wsq_pool *pool = pool_make(&(wsq_config){.workers = 2, .max_standins = WSQ_STANDINS_OFF});
        uint64_t at = trip.at + 1;
        item *turns = item_make(0), *urgent = item_make(0);
        memset(&trip, 0, sizeof trip);
        trip.at = at;
        turns->task.fn = turn_run;
        item_spawn_on(pool, 1, item_make(2 * MS));
        nap(20 * US);
        item_spawn_on(pool, 0, turns);
        nap(20 * US);
        urgent->task.fn = long_run;
        wsq_task_set_priority(&urgent->task, WSQ_HIGH);
        item_spawn(pool, urgent);
        trip_spawn(pool, 1, US);
        CHECK(trip_in_time(pool));
    } while (trip.stalled != 0);
    CHECK(trip.at > 20);
}

static wsq_poll spawns_four_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    trip_spawn(wsq_pool_of(ctx), 2, 10 * MS);
    trip_spawn(wsq_pool_of(ctx), 1, US);
    trip_spawn(wsq_pool_of(ctx), 1, 20 * MS);
    compute(1500 * US);
    return WSQ_DONE;
}

static wsq_poll then_steals_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    compute(item_of(task)->ns);
    trip_stall();
    return WSQ_DONE;
}

/* Its next task begins with a turn, which finds worker 0 in the same task as the note of a turn before. */
static wsq_poll then_steals_in_a_turn_run(wsq_ctx ctx, wsq_task *task) {
    wsqi_turn *turn = &wsqi_block(wsq_pool_of(ctx), 1)->turn;
    wsqi_worker *victim = wsqi_block(wsq_pool_of(ctx), 0);
    compute(item_of(task)->ns);
    turn->left = 0;
    turn->victim = victim->index;
    turn->seen = wsqi_load_hint(&victim->counters.run) + 1;
    turn->end = wsqi_load_hint(&victim->ring.tail);
    trip_stall();
    return WSQ_DONE;
}

/* A thief takes two of four tasks, and their owner takes the others. Two workers run dry while the second stolen task
 * is out of reach. */
static void moves_by_theft(wsq_task_fn thief_run) {
    memset(&trip, 0, sizeof trip);
    do {
        wsq_pool *pool = pool_make(&(wsq_config){.workers = 4, .max_standins = WSQ_STANDINS_OFF});
        uint64_t at = trip.at + 1;
        item *thief = item_make(MS), *spawns = item_make(0);
        memset(&trip, 0, sizeof trip);
        trip.at = at;
        thief->task.fn = thief_run;
        item_spawn_on(pool, 1, thief);
        for (unsigned k = 2; k < 4; k++) item_spawn_on(pool, k, item_make(2 * MS));
        nap(100 * US);
        spawns->task.fn = spawns_four_run;
        item_spawn_on(pool, 0, spawns);
        CHECK(trip_in_time(pool));
    } while (trip.stalled != 0 && trip.at < 300);
    CHECK(trip.at > 20);
}

static void moves_by_theft_in_a_search(void) { moves_by_theft(then_steals_run); }
static void moves_by_theft_in_a_turn(void) { moves_by_theft(then_steals_in_a_turn_run); }

/* wsq_go wakes a second thread, unless the first one has found its task meanwhile. */
static void nothing_to_do(void *arg) { (void)arg; }

static void second_wake(void) {
    memset(&trip, 0, sizeof trip);
    do {
        wsq_pool *pool = pool_make(&(wsq_config){.workers = 2, .max_standins = WSQ_STANDINS_OFF});
        uint64_t at = trip.at + 1;
        memset(&trip, 0, sizeof trip);
        trip.at = at;
        CHECK_EQ(wsq_go(pool, nothing_to_do, NULL), WSQ_OK);
        if (at > 1) trip_stall();
        CHECK_EQ(wsq_go(pool, nothing_to_do, NULL), WSQ_OK);
        sim_stall.left = 0;
        CHECK(at > 1 || wsqi_load_stat(&pool->wakes) == 2);
        CHECK(trip_in_time(pool));
    } while (trip.at == 1 || trip.stalled != 0);
    CHECK(trip.at > 20);
}

/* ---- a turn steals from a thread that stays in one task, not from one that has just fetched tasks ---- */

static bool first_half(void *task) { return item_of(wsqi_unmarked(task))->pends; }

/* One of the second half never begins on a worker in whose ring one of the first half lies. */
static wsq_poll fetched_run(wsq_ctx ctx, wsq_task *task) {
    wsq_ring *ring = &wsqi_worker_of(ctx)->ring;
    uint32_t tail = wsqi_load_hint(&ring->tail), i = wsqi_head_real(wsqi_load_hint(&ring->head));
    for (; i != tail && !first_half(task); i++)
        CHECK(!first_half(ring->items[i % WSQ_RING_CAPACITY]));
    item_of(task)->began = now();
    compute(10 * US);
    return WSQ_DONE;
}

static void stall_later(sim_core *core, uint64_t until) {
    (void)core, (void)until;
    sim_stall.ns = MS;
    sim_stall.tell = trip_stalled;
    sim_stall.left = trip.at;
}

/* Worker 1 sleeps at one turn of worker 0, and then fetches younger tasks; it is stalled in the middle, at each access
 * in turn. For worker 0 it looks as if it were in one long task. */
static void fetched_before_a_turn(void) {
    memset(&trip, 0, sizeof trip);
    do {
        wsq_pool *pool = pool_make(&(wsq_config){.workers = 2, .min_interval = 4, .max_interval = 4});
        wsq_task *list[128];
        for (int i = 0; i < 128; i++) {
            item *one = item_make(0);
            one->task.fn = fetched_run;
            one->pends = i < 64;
            list[i] = &one->task;
        }
        item_spawn_on(pool, 0, item_make(100 * US));
        nap(50 * US);
        for (unsigned i = 0; i < 2; i++) wsqi_block(pool, i)->tune.average_ns = 1000; /* they fetch many at once */
        wsqi_block(pool, 0)->turn.left = 0; /* its next task begins with a turn */
        nap(50 * US);
        trip.at += 4;
        trip_stall();
        sim_stall.only = 1 + wsqi_block(pool, 1)->thread->id;
        sim_stall.ns = 20 * US; /* it comes when worker 0 has fetched the first half */
        sim_stall.left = 1;
        sim_stall.tell = stall_later;
        CHECK_EQ(wsq_spawn_batch(pool, list, 128), WSQ_OK);
        CHECK(trip_in_time(pool));
    } while (trip.at < 200);
}

/* ---- tasks that come back to the global queue, and one that comes after them ---- */

static wsq_poll short_run(wsq_ctx ctx, wsq_task *task) {
    item *self = item_of(task);
    (void)ctx;
    compute(200);
    return --self->runs != 0 ? WSQ_YIELD : WSQ_DONE;
}

static wsq_poll blocks_with_fetched_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    CHECK_EQ(wsqi_queue_length(wsqi_block(wsq_pool_of(ctx), 0)), 2);
    block_for(ctx, 5 * MS);
    return WSQ_DONE;
}

static void back_then_more(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    item *runs = item_make(0), *blocks = item_make(0), *first = item_make(MS), *second = item_make(US);
    item *last_one = item_make(US);
    wsq_task *list[] = {&blocks->task, &first->task, &second->task};
    runs->task.fn = short_run; /* so that the worker fetches more than one task */
    runs->runs = 20000;
    item_spawn(pool, runs);
    wsq_pool_wait(pool);
    blocks->task.fn = blocks_with_fetched_run;
    CHECK_EQ(wsq_spawn_batch(pool, list, 3), WSQ_OK);
    nap(500 * US);
    CHECK(first->began != 0 && second->began == 0);
    item_spawn(pool, last_one);
    wsq_pool_wait(pool);
    CHECK(first->ended <= second->began && second->ended <= last_one->began);
    wsq_pool_destroy(pool);
}

/* ---- the turns of a WSQ_LIFO pool ---- */

static item *newest_first[300];

static wsq_poll spawns_many_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    for (int i = 0; i < 300; i++) item_spawn(wsq_pool_of(ctx), newest_first[i] = item_make(100 * US));
    return WSQ_DONE;
}

/* Every second one, here every 20th task, takes one of the global queue. */
static void turns_of_lifo(void) {
    wsq_pool *pool = pool_make(
        &(wsq_config){.workers = 1, .order = WSQ_LIFO, .min_interval = 10, .max_interval = 10});
    item *spawns = item_make(0), *outside_ones[5];
    spawns->task.fn = spawns_many_run;
    item_spawn(pool, spawns);
    nap(MS);
    for (int i = 0; i < 5; i++) item_spawn(pool, outside_ones[i] = item_make(100 * US));
    wsq_pool_wait(pool);
    for (unsigned i = 1; i < 5; i++)
        CHECK_EQ((outside_ones[i]->began - outside_ones[i - 1]->began) / (100 * US), 20);
    for (int i = 1; i < 300; i++) CHECK(newest_first[i]->began < newest_first[i - 1]->began);
    wsq_pool_destroy(pool);
}

static void trips(void) {
    wsq_config two = {.workers = 2, .max_standins = WSQ_STANDINS_OFF}, lifo = two, more = {.workers = 2};
    lifo.order = WSQ_LIFO;
    trip_all(two, three_tasks, moves_by_block, 1);
    trip_all(two, full_ring, moves_by_overflow, 1);
    trip_all(two, one_task, moves_by_wait, 1);
    trip_all(two, a_long_task_last, moves_by_wait_for_its_own, 1);
    trip_all(two, one_task_then_a_call, moves_by_get, 1);
    trip_all(lifo, one_task_then_a_call, moves_by_get, 1);
    trip_all(more, tasks_without_a_permit, moves_by_wait_without_a_permit, 1);
    trip_all(two, tasks_before_calls, get_one, 7);
}

/* ---- wsq_pool_wait beside a wsq_run ---- */

static wsq_pool *beside;
static item *last;
static uint64_t quiet_at;

static void waits_for_quiet(void *arg) {
    (void)arg;
    while (last->began == 0) nap(10 * US);
    CHECK_EQ(wsq_pool_wait(beside), WSQ_OK);
    quiet_at = now();
}

static void *last_call(void *arg) {
    (void)item_run((wsq_ctx){0}, &last->task);
    return arg;
}

static void spawn_and_wait(void) {
    item_spawn(beside, last);
    CHECK_EQ(wsq_task_wait(&last->task), WSQ_OK);
}

static void submit_and_get(void) {
    wsq_future *future;
    CHECK_EQ(wsq_submit(beside, last_call, NULL, &future), WSQ_OK);
    CHECK_EQ(wsq_future_get(future, NULL), WSQ_OK);
}

static void nothing_more(void) {}

static void (*on_worker)(void); /* in the first piece that one runs; NULL: it was called */

static void piece(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    (void)arg;
    void (*fn)(void) = wsq_worker_index(ctx) < 2 ? on_worker : NULL;
    if (fn != NULL) on_worker = NULL, fn();
    compute((end - begin) * 10 * MS);
}

static void four_pieces(wsq_ctx ctx, void *arg) { wsq_for(ctx, 0, 4, 1, piece, arg); }

static void quiet_beside(void (*fn)(void)) {
    beside = pool_make(&(wsq_config){.workers = 2});
    last = item_make(MS);
    on_worker = fn;
    if (fn == nothing_more) item_spawn(beside, last);
    nap(100 * US);
    sim_core *waiter = outside(waits_for_quiet, NULL);
    CHECK_EQ(wsq_run(beside, four_pieces, NULL), WSQ_OK);
    sim_join(waiter);
    CHECK(quiet_at < last->ended + 100 * US);
    wsq_pool_destroy(beside);
    sim.threads = 0;
}

/* The last task ends on a worker that goes on with a job, or in the middle of one; or on a thread that helps. */
static void quiet(void) {
    quiet_beside(nothing_more);
    quiet_beside(spawn_and_wait);
    quiet_beside(submit_and_get);
    wsq_group group;
    beside = pool_make(&(wsq_config){.workers = 2});
    last = item_make(MS);
    wsq_group_init(&group, beside);
    sim_core *waiter = outside(waits_for_quiet, NULL);
    nap(100 * US);
    CHECK_EQ(wsq_group_spawn(&group, &last->task), WSQ_OK);
    CHECK_EQ(wsq_group_wait(&group), WSQ_OK);
    sim_join(waiter);
    CHECK(quiet_at < last->ended + 100 * US);
    wsq_pool_destroy(beside);
}

/* ---- permits that no idle thread can use ---- */

static wsq_poll wait_above(wsq_ctx ctx, wsq_task *task) {
    item *blocks = item_make(0), *never = item_make(0);
    (void)task;
    blocks->task.fn = queue_and_block;
    never->pends = true;
    item_spawn(wsq_pool_of(ctx), never);
    item_spawn(wsq_pool_of(ctx), blocks);
    CHECK_EQ(wsq_task_wait_for(&never->task, 20 * MS), WSQ_ERR_TIMEOUT);
    item_wake(never);
    return WSQ_DONE;
}

/* The only stand-in blocks, so the thread that waits takes its permit again. */
static void last_standin_blocks(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1, .max_standins = 1});
    item *waits = item_make(0);
    waits->task.fn = wait_above;
    queued_first = item_make(US);
    item_spawn(pool, waits);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    CHECK(queued_first->began < queued_first->spawned + 100 * US);
    wsq_pool_destroy(pool);
}

/* ---- a thief that comes while its victim only joins ---- */

static void long_job(wsq_ctx ctx, wsq_job *job) {
    (void)ctx, (void)job;
    compute(MS);
}

static wsq_poll forks_five_run(wsq_ctx ctx, wsq_task *task) {
    wsq_job jobs[5];
    (void)task;
    for (int i = 0; i < 5; i++) wsq_fork(&ctx, &jobs[i], long_job);
    for (int i = 4; i >= 0; i--) wsq_join(&ctx, &jobs[i]);
    return WSQ_DONE;
}

/* The other worker is busy at first, and comes during the first join. It takes the only public job, and asks for more:
 * the second join publishes one. */
static void published_by_a_join(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2});
    item *forks = item_make(0);
    wsq_stats all;
    forks->task.fn = forks_five_run;
    item_spawn_on(pool, 1, item_make(600 * US));
    nap(50 * US);
    item_spawn_on(pool, 0, forks);
    uint64_t start = now();
    CHECK_EQ(wsq_task_wait(&forks->task), WSQ_OK);
    CHECK(now() - start < 3100 * US);
    wsq_pool_wait(pool);
    wsq_pool_stats(pool, &all);
    CHECK_EQ(all.jobs_stolen, 2);
    wsq_pool_destroy(pool);
}

/* ---- each waits for the lock of what it touches ---- */

static struct {
    wsq_pool *pool;
    item *task;
    void (*call)(void);
    bool over;
} locked;

static void locked_main(void *arg) {
    (void)arg;
    locked.call();
    locked.over = true;
}

static void call_while_locked(wsqi_a32 *lock, void (*call)(void)) {
    wsqi_lock(locked.pool, lock);
    locked.call = call;
    locked.over = false;
    sim_core *thread = outside(locked_main, NULL);
    nap(100 * US);
    CHECK(!locked.over);
    wsqi_unlock(locked.pool, lock);
    sim_join(thread);
    CHECK(locked.over);
}

static void calls_dump(void) {
    FILE *file = fopen("/dev/null", "w");
    wsq_pool_dump(locked.pool, file);
    fclose(file);
}
static void sets_timer(void) { item_set_timer(locked.pool, locked.task, 50 * SECOND); }
static void cancels_timer(void) { CHECK(wsq_timer_cancel(&locked.task->timer)); }
static void submits(void) {
    wsq_future *future;
    CHECK_EQ(wsq_submit(locked.pool, short_call, NULL, &future), WSQ_OK);
    CHECK_EQ(wsq_future_get(future, NULL), WSQ_OK);
}
static void spawns(void) { item_spawn(locked.pool, item_make(US)); }
static void runs_nothing(wsq_ctx ctx, void *arg) { (void)ctx, (void)arg; }
static void runs(void) { CHECK_EQ(wsq_run(locked.pool, runs_nothing, NULL), WSQ_OK); }
static void waits(void) { CHECK_EQ(wsq_task_wait_for(&locked.task->task, US), WSQ_ERR_TIMEOUT); }

static void locks(void) {
    wsq_pool *pool = locked.pool = pool_make(&(wsq_config){.workers = 1});
    locked.task = item_make(US);
    locked.task->pends = true;
    item_spawn(pool, locked.task);
    nap(MS);
    wsqi_timers *timers = &pool->timers[0];
    wsqi_wait_bucket *bucket = wsqi_bucket_for(pool, &locked.task->task);
    call_while_locked(&timers->lock, calls_dump);
    call_while_locked(&bucket->lock, calls_dump);
    call_while_locked(&pool->buckets[0].lock, calls_dump);
    call_while_locked(&timers->lock, sets_timer);
    call_while_locked(&timers->lock, cancels_timer);
    call_while_locked(&pool->depot.lock, submits);
    call_while_locked(&pool->lock, runs);
    call_while_locked(&bucket->lock, waits);
    item_wake(locked.task);
    wsq_pool_wait(pool);
    wsq_pool_destroy(pool);
    sim.threads = 0; /* the next pool has these cores again */
    pool = locked.pool = pool_make(&(wsq_config){.workers = 1, .list_tasks = true});
    call_while_locked(&pool->listing->lock, calls_dump);
    call_while_locked(&pool->listing->lock, spawns);
    wsq_pool_wait(pool);
    wsq_pool_destroy(pool);
}

/* ---- what is urgent, while a task waits again and again for one that it has just queued ---- */

enum { BY_TASK, BY_FUTURE, BY_GROUP, WAYS };
static int way;

static void *long_call(void *arg) {
    compute(MS);
    return arg;
}

static wsq_poll waits_again_run(wsq_ctx ctx, wsq_task *task) {
    wsq_pool *pool = wsq_pool_of(ctx);
    wsq_future *future;
    wsq_group group;
    (void)task;
    for (int i = 0; i < 100; i++) {
        item *next = item_make(MS);
        if (way == BY_TASK) item_spawn(pool, next);
        if (way == BY_TASK) CHECK_EQ(wsq_task_wait(&next->task), WSQ_OK);
        if (way == BY_FUTURE) CHECK_EQ(wsq_submit(pool, long_call, NULL, &future), WSQ_OK);
        if (way == BY_FUTURE) CHECK_EQ(wsq_future_get(future, NULL), WSQ_OK);
        if (way != BY_GROUP) continue;
        CHECK_EQ(wsq_group_init(&group, pool), WSQ_OK);
        CHECK_EQ(wsq_group_spawn(&group, &next->task), WSQ_OK);
        CHECK_EQ(wsq_group_wait(&group), WSQ_OK);
    }
    return WSQ_DONE;
}

static void urgent_between_waits(void) {
    for (int i = 0; i < 2 * WAYS; i++) {
        wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
        item *waits = item_make(0), *urgent = item_make(US);
        waits->task.fn = waits_again_run;
        way = i / 2;
        item_spawn(pool, waits);
        nap(2500 * US);
        if (i % 2 == 0) wsq_task_set_priority(&urgent->task, WSQ_HIGH);
        else wsq_task_set_worker(&urgent->task, 0);
        item_spawn(pool, urgent);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        CHECK(urgent->began < urgent->spawned + 2 * MS); /* the running task, and the start of a stand-in */
        wsq_pool_destroy(pool);
        sim.threads = 0;
    }
}

/* A lent thread whose waits may run nothing but what they await, because its stack is too small. */
static void lends(void *lent) { CHECK_EQ(wsq_worker_enter((wsq_pool *)lent), WSQ_OK); }

static wsq_poll waits_beside_urgent_run(wsq_ctx ctx, wsq_task *task) {
    item *next = item_make(US), *urgent = item_make(US);
    (void)task;
    wsq_task_set_priority(&urgent->task, WSQ_HIGH);
    item_spawn(wsq_pool_of(ctx), next);
    item_spawn(wsq_pool_of(ctx), urgent);
    CHECK_EQ(wsq_task_wait(&next->task), WSQ_OK);
    return WSQ_DONE;
}

static void urgent_on_a_small_stack(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1, .lend_only = true, .stack_size = 4096});
    sim_core *lent = outside(lends, pool);
    item *waits = item_make(0);
    waits->task.fn = waits_beside_urgent_run;
    item_spawn(pool, waits);
    CHECK_EQ(wsq_pool_wait_for(pool, SECOND), WSQ_OK);
    wsq_worker_dismiss(pool, 0);
    sim_join(lent);
    wsq_pool_destroy(pool);
}

/* ---- a task behind a long one, in a pool most of whose threads have none ---- */

static item *behind;

static wsq_poll spawns_behind_run(wsq_ctx ctx, wsq_task *task) {
    item_spawn(wsq_pool_of(ctx), behind);
    compute(SECOND);
    item_of(task)->ended = now();
    return WSQ_DONE;
}

static void behind_long(unsigned busy) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2 + busy});
    item *spawns = item_make(0);
    behind = item_make(US);
    spawns->task.fn = spawns_behind_run;
    for (int i = 0; i < 50 - (int)busy; i++) item_spawn(pool, item_blocks(2 * SECOND));
    for (unsigned i = 0; i < busy; i++) item_spawn(pool, item_make(2 * SECOND));
    nap(200 * MS);
    for (int i = 0; i < 4; i++) {
        item *yields = item_make(5 * MS);
        yields->until = spawns;
        item_spawn(pool, yields);
    }
    nap(100 * MS);
    item_spawn(pool, spawns);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    CHECK(behind->began < behind->spawned + 250 * MS);
    wsq_pool_destroy(pool);
    sim.threads = 0;
}

static void behind_long_beside_others(void) {
    behind_long(0);
    behind_long(50);
}

int main(void) {
    test_begin("exact_moves");
    IN_WORLD(trips);
    IN_WORLD(moves_in_a_turn);
    IN_WORLD(moves_by_theft_in_a_search);
    IN_WORLD(moves_by_theft_in_a_turn);
    IN_WORLD(second_wake);
    IN_WORLD(fetched_before_a_turn);
    IN_WORLD(back_then_more);
    IN_WORLD(turns_of_lifo);
    IN_WORLD(helps);
    IN_WORLD(quiet);
    IN_WORLD(last_standin_blocks);
    IN_WORLD(published_by_a_join);
    IN_WORLD(locks);
    IN_WORLD(urgent_between_waits);
    IN_WORLD(urgent_on_a_small_stack);
    IN_LARGE_WORLD(behind_long_beside_others);
    return test_end();
}
