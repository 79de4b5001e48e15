/* Threads that sleep, search and wake each other: tasks that cannot end unless others run beside them. A
 * runnable task beside an idle worker, for ever, is a deadlock here. */
#define WSQ_GUESTS 1
#include "explore_small.h"
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include "explore_steps.h"

enum { TASKS = 8 };

/* A task spawns the tasks [first, first + children), meets `company` tasks at the gate, is done. */
typedef struct partner {
    wsq_task task;
    int first, children, company, yields, runs;
} partner;

static partner partners[TASKS];
static int partners_gate;

static wsq_poll partner_run(wsq_ctx ctx, wsq_task *task) {
    partner *it = wsq_container_of(task, partner, task);
    (void)ctx;
    if (it->yields-- > 0) return WSQ_YIELD;
    explore_check(++it->runs == 1);
    for (int i = it->first; i < it->first + it->children; i++)
        explore_check(wsq_spawn(pool, &partners[i].task) == WSQ_OK);
    if (it->company) explore_meet(&partners_gate, it->company);
    return WSQ_DONE;
}

static void partners_begin(unsigned workers, wsq_config config) {
    memset(partners, 0, sizeof partners);
    partners_gate = 0;
    for (int i = 0; i < TASKS; i++) wsq_task_init(&partners[i].task, partner_run);
    pool = explore_pool_make(workers, config);
}

static void partner_spawn(int i) { explore_check(wsq_spawn(pool, &partners[i].task) == WSQ_OK); }

/* `count` tasks have run, once each. */
static void partners_end(int count) {
    explore_wait_quiet();
    for (int i = 0; i < TASKS; i++) explore_check(partners[i].runs == (i < count));
    explore_check_parked(pool);
    explore_pool_end(pool);
}

static void company_of(int first, int last, int company) {
    for (int i = first; i <= last; i++) partners[i].company = company;
}

static const int number[] = {0, 1, 2, 3};

static void spawner(void *arg) { partner_spawn(*(const int *)arg); }

static void spawner_of_two(void *arg) {
    partner_spawn(*(const int *)arg);
    partner_spawn(*(const int *)arg + 1);
}

/* Two tasks from two threads must run side by side. */
static void two_from_outside(void) {
    partners_begin(2, plain);
    company_of(0, 1, 2);
    explore_start(spawner, (void *)(uintptr_t)&number[1]);
    partner_spawn(0);
    partners_end(2);
}

/* The same once the workers sleep for sure, then again. */
static void two_after_silence(void) {
    partners_begin(2, plain);
    company_of(0, 1, 2);
    company_of(2, 3, 2);
    explore_wait_quiet();
    partner_spawn(0);
    partner_spawn(1);
    explore_wait_quiet();
    explore_check_parked(pool);
    partners_gate = 0;
    explore_start(spawner, (void *)(uintptr_t)&number[2]);
    partner_spawn(3);
    partners_end(4);
}

static void three_from_outside(void) {
    partners_begin(3, plain);
    company_of(0, 2, 3);
    explore_start(spawner_of_two, (void *)(uintptr_t)&number[1]);
    partner_spawn(0);
    partners_end(3);
}

/* A task that waits for its child: it must not hide it. */
static void child(void) {
    partners_begin(2, plain);
    partners[0].first = 1;
    partners[0].children = 1;
    company_of(0, 1, 2);
    if (explore_choose(2)) explore_wait_quiet();
    partner_spawn(0);
    partners_end(2);
}

/* More children than the ring holds: some spill. */
static void many_children(void) {
    partners_begin(2, plain);
    partners[0].first = 1;
    partners[0].children = 4;
    company_of(0, 0, 2);
    partners[1 + explore_choose(4)].company = 2;
    partner_spawn(0);
    partners_end(5);
}

static void children_of_three(void) {
    partners_begin(3, plain);
    partners[0].first = 1;
    partners[0].children = 2;
    company_of(0, 2, 3);
    partner_spawn(0);
    partners_end(3);
}

/* Some tasks end at once: the searchers that found them pass the search on. */
static void short_and_long(void) {
    partners_begin(2, plain);
    company_of(0, 0, 2);
    company_of(3, 3, 2);
    explore_start(spawner_of_two, (void *)(uintptr_t)&number[2]);
    partner_spawn(0);
    partner_spawn(1);
    partners_end(4);
}

static void batch(void) {
    wsq_task *tasks[4];
    partners_begin(3, plain);
    company_of(0, 2, 3);
    for (int i = 0; i < 4; i++) tasks[i] = &partners[i].task;
    if (explore_choose(2)) explore_wait_quiet();
    explore_check(wsq_spawn_batch(pool, tasks, 4) == WSQ_OK);
    partners_end(4);
}

/* Deadlines pass at any moment: a worker that wakes up by itself must leave S and the bitmap in agreement. */
static void deadlines(void) {
    wsq_config config = {.park_timeout_ns = 1000};
    partners_begin(2, config);
    company_of(0, 1, 2);
    explore_start(spawner, (void *)(uintptr_t)&number[1]);
    partner_spawn(0);
    explore_wait_quiet();
    partner_spawn(2);
    partners_end(3);
}

static void deadlines_of_three(void) {
    wsq_config config = {.park_timeout_ns = 1000};
    partners_begin(3, config);
    company_of(0, 2, 3);
    explore_start(spawner_of_two, (void *)(uintptr_t)&number[1]);
    partner_spawn(0);
    partners_end(3);
}

static void last_in_first_out(void) {
    wsq_config config = {.order = WSQ_LIFO};
    partners_begin(2, config);
    partners[0].first = 1;
    partners[0].children = 3;
    company_of(0, 0, 2);
    partners[1 + explore_choose(3)].company = 2;
    partner_spawn(0);
    partners_end(4);
}

/* ---- all from one queue ---- */

static void shared(void) {
    wsq_config config = {.order = WSQ_SHARED};
    partners_begin(2, config);
    company_of(0, 1, 2);
    partners[1].yields = explore_choose(2);
    explore_start(spawner, (void *)(uintptr_t)&number[1]);
    partner_spawn(0);
    if (explore_choose(2)) explore_wait_quiet();
    partner_spawn(2);
    partners_end(3);
}

static void shared_children(void) {
    wsq_config config = {.order = WSQ_SHARED};
    wsq_task *tasks[2];
    partners_begin(3, config);
    partners[0].first = 1;
    partners[0].children = 2;
    company_of(0, 2, 3);
    for (int i = 3; i < 5; i++) tasks[i - 3] = &partners[i].task;
    partner_spawn(0);
    explore_check(wsq_spawn_batch(pool, tasks, 2) == WSQ_OK);
    partners_end(5);
}

/* One that yields is to be the next, and so is told to nobody; then something urgent comes, and does not end
 * before it. */
static wsq_poll arrive_only(wsq_ctx ctx, wsq_task *task) {
    partner *it = wsq_container_of(task, partner, task);
    (void)ctx;
    if (it->yields-- > 0) return WSQ_YIELD;
    it->runs++;
    explore_meet(&partners_gate, 1 + partners_gate); /* the last one, in whichever order */
    return WSQ_DONE;
}

static void urgent_beside_the_next(void) {
    partners_begin(2, plain);
    partners[0].task.fn = arrive_only;
    partners[0].yields = 2;
    partners[1].company = 2;
    bool pinned = explore_choose(2);
    partner_spawn(0);
    if (!pinned) explore_check(wsq_task_set_priority(&partners[1].task, WSQ_HIGH) == WSQ_OK);
    explore_check((pinned ? wsq_spawn_on(pool, (unsigned)explore_choose(2), &partners[1].task)
                          : wsq_spawn(pool, &partners[1].task)) == WSQ_OK);
    partners_end(2);
}

/* ---- which sleeper is woken: a near one first, each once; and the last look of a searcher ---- */

static uint32_t place_of(unsigned index, void *user) {
    (void)user;
    return index / 2;
}

/* One of two sleepers wakes itself, the other one is woken: no bit and no place is left. */
static void wakes_itself(void *arg) {
    wsqi_self_set(arg);
    wsqi_wake_self(arg);
}

static void wake_beside_waking(void) {
    static const wsq_topology topology = {.place = place_of};
    wsq_config config = {.caller_runs = true, .topology = explore_choose(2) ? &topology : NULL};
    begin(3, config);
    for (unsigned i = 0; i < 3; i++) wsqi_place_update(wsqi_block(pool, i));
    wsqi_or_acqrel(&pool->bitmap.sleepers[0], (uint64_t)6);
    wsqi_add_sc(&pool->permits, 2 * (WSQI_IDLE + WSQI_PERMIT));
    explore_start(wakes_itself, wsqi_block(pool, 1 + (unsigned)explore_choose(2)));
    wsqi_self_set(wsqi_block(pool, 0));
    if (!wsqi_idle_take(pool, 1, 0, 1))
        wsqi_add_sc(&pool->permits, WSQI_SEARCHING - WSQI_PERMIT - WSQI_IDLE);
    wsqi_wake_one(pool, NULL, 0);
    explore_join();
    wsqi_self_set(NULL);
    explore_check(pool->permits.v == 2 * WSQI_SEARCHING && pool->bitmap.sleepers[0].v == 0);
    wsqi_add_rlx(&pool->permits, 0u - 2 * WSQI_SEARCHING);
    for (unsigned i = 0; i < 3; i++) wsqi_block(pool, i)->searching = false;
    wsq_pool_destroy(pool);
}

static wsq_poll spawns_and_meets(item *it) {
    (void)it;
    spawn(1, meets);
    spawn(2, meets);
    return WSQ_DONE;
}

static void near_sleepers(void) {
    static const wsq_topology topology = {.place = place_of};
    wsq_config config = {.topology = &topology};
    begin(3, config);
    if (explore_choose(2)) explore_wait_quiet();
    spawn(3, at_once);
    spawn(0, spawns_and_meets);
    end(4);
}

/* ---- two searchers leave: the last one sees what the first one has moved ---- */

static int second_gate;

static void first_leaves(void *arg) {
    wsqi_worker *self = wsqi_block(pool, 0);
    wsqi_self_set(self);
    wsqi_search_begin(self);
    explore_meet(&gate, 2);
    wsq_ring_push(&self->ring, arg);
    wsqi_search_end(self);
    explore_meet(&second_gate, 2);
}

static void last_looks(void) {
    wsq_config config = {.caller_runs = true};
    wsqi_worker *self;
    begin(2, config);
    second_gate = 0;
    self = wsqi_block(pool, 1);
    explore_start(first_leaves, &items[0].task);
    wsqi_search_begin(self);
    explore_meet(&gate, 2);
    explore_meet(&second_gate, 2);
    wsqi_search_end(self);
    const wsqi_worker *where[2];
    explore_check(wsqi_look_tasks(pool, where, UINT_MAX) != 0);
    explore_join();
    wsq_ring_pop(&wsqi_block(pool, 0)->ring);
    wsq_pool_destroy(pool);
}

/* ---- a worker that blocks moves what is in its slot, while another one goes to sleep ---- */

static void goes_to_sleep(void *arg) {
    wsqi_worker *self = arg;
    wsqi_self_set(self);
    wsqi_search_begin(self);
    wsqi_sleep(self, NULL); /* for ever, if nobody wakes it for what it missed */
    wsqi_search_end(self);
}

static void moved_by_who_blocks(void) {
    wsq_config config = {.caller_runs = true};
    begin(2, config);
    wsqi_worker *self = wsqi_block(pool, 0);
    wsqi_self_set(self);
    wsqi_xchg_sc(&self->lifo, &items[0].task);
    explore_start(goes_to_sleep, wsqi_block(pool, 1));
    wsqi_permit_give(self);
    explore_join();
    wsqi_self_set(NULL);
    pool->lanes[WSQ_NORMAL].incoming.v = NULL;
    wsq_pool_destroy(pool);
}

int main(void) {
    explore_random("idle: two from outside", two_from_outside, 12000);
    explore_random("idle: two after silence", two_after_silence, 6000);
    explore_random("idle: three from outside", three_from_outside, 7000);
    explore_random("idle: a child", child, 12000);
    explore_random("idle: many children", many_children, 7000);
    explore_random("idle: two children, three workers", children_of_three, 6000);
    explore_random("idle: short and long tasks", short_and_long, 7000);
    explore_random("idle: batch", batch, 6000);
    explore_random("idle: deadlines", deadlines, 6000);
    explore_random("idle: deadlines, three workers", deadlines_of_three, 6000);
    explore_random("idle: last in, first out", last_in_first_out, 6000);
    explore_random("idle: shared", shared, 6000);
    explore_random("idle: shared, children and a batch", shared_children, 4000);
    explore_random("idle: urgent beside the next", urgent_beside_the_next, 8000);
    explore_random("more: a wake beside one who wakes", wake_beside_waking, 2500);
    explore_random("more: near sleepers", near_sleepers, 1000);
    explore_random("more: the last searcher looks", last_looks, 2500);
    explore_random("wake: moved by who blocks", moved_by_who_blocks, 4000);
    return explore_end();
}
