/* Which sleeper is woken, in the explorer: a near sleeper first, each once; and the last look of a searcher. */
#define WSQ_GUESTS 1
#include "explore_small.h"
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include "explore_steps.h"

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
    wsqi_or_acqrel(&pool->sleepers[0], (uint64_t)6);
    wsqi_add_sc(&pool->permits, 2 * (WSQI_IDLE + WSQI_SLEEPING));
    explore_start(wakes_itself, wsqi_block(pool, 1 + (unsigned)explore_choose(2)));
    wsqi_self_set(wsqi_block(pool, 0));
    if (!wsqi_idle_take(pool, 1, 0, 1))
        wsqi_add_sc(&pool->permits, WSQI_SEARCHING - WSQI_SLEEPING - WSQI_IDLE);
    wsqi_wake_one(pool, NULL);
    explore_join();
    wsqi_self_set(NULL);
    explore_check(pool->permits.v == 2 * WSQI_SEARCHING && pool->sleepers[0].v == 0);
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
    explore_random("more: a wake beside one who wakes", wake_beside_waking, 2500);
    explore_random("more: near sleepers", near_sleepers, 1000);
    explore_random("more: the last searcher looks", last_looks, 2500);
    explore_random("wake: moved by who blocks", moved_by_who_blocks, 4000);
    return explore_end();
}
