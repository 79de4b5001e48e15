/* The slot in the explorer: the task that was woken last waits there, or is moved; the worker that watches it. */
#define WSQ_GUESTS 1
#include "explore_small.h"
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include "explore_steps.h"

/* The other worker goes to sleep at this very moment. */
static void slot_without_silence(void) {
    begin(2, plain);
    spawn(1, woken_meets);
    if (explore_choose(2)) spawn(2, at_once);
    spawn(0, wakes_and_meets);
    end(2);
}

static void slot_of_three(void) {
    begin(3, plain);
    spawn(1, woken_meets);
    if (explore_choose(2)) spawn(2, at_once);
    spawn(0, wakes_and_meets);
    end(2);
}

/* Woken in turn, three times each; then they meet. */
static wsq_poll volley(item *it) {
    item *other = it == &items[0] ? &items[1] : &items[0];
    if (it->runs == 1 && it == &items[1]) return WSQ_PENDING;
    wsqi_set(&other->letter, wsqi_get(&other->letter) + 1);
    wsq_wake(&other->task);
    if (it->runs < 4) return WSQ_PENDING;
    return meets(it);
}

/* The watcher looks now and then, and must not give up at the wrong moment. */
static void slot_volley(void) {
    begin(2, plain);
    spawn(1, volley);
    explore_wait_quiet();
    spawn(0, volley);
    end(2);
}

/* Long enough between the two for a watcher to look twice. */
static wsq_poll wakes_two(item *it) {
    post(&items[2]);
    for (int i = explore_choose(200); i > 0; i--) (void)wsqi_load_rlx(&pool->permits);
    return wakes_and_meets(it);
}

/* Another task in the slot than the one that the watcher saw. */
static void slot_changes(void) {
    begin(2, plain);
    spawn(1, woken_meets);
    spawn(2, woken);
    if (explore_choose(2)) explore_wait_quiet();
    spawn(0, wakes_two);
    end(3);
}

/* No slot: a woken task waits in the ring. */
static void wake_into_ring(void) {
    wsq_config config = {.lifo_cap = WSQ_LIFO_OFF};
    begin(2, config);
    spawn(1, woken_meets);
    explore_wait_quiet();
    spawn(0, wakes_and_meets);
    end(2);
}

/* ---- a task moves to the queue: a worker must look there ---- */

static wsq_poll yields_and_meets(item *it) {
    if (it->runs > 1) return meets(it);
    post(&items[1]);
    return WSQ_YIELD;
}

static void yield_behind_slot(void) {
    begin(2, plain);
    spawn(1, woken_meets);
    explore_wait_quiet();
    spawn(0, yields_and_meets);
    end(2);
}

static wsq_poll batch_and_meets(item *it) {
    wsq_task *one = &items[1].task;
    explore_check(wsq_spawn_batch(pool, &one, 1) == WSQ_OK);
    return meets(it);
}

static void batch_inside(void) {
    begin(2, plain);
    items[1].step = meets;
    spawn(0, batch_and_meets);
    end(2);
}

/* Waits for 2, which only 1 wakes, which waits in its own slot. */
static wsq_poll waits_for_third(item *it) {
    post(&items[1]);
    wait_for(2);
    explore_check(items[2].done);
    (void)it;
    return WSQ_DONE;
}

static wsq_poll passes_on(item *it) {
    if (woken(it) != WSQ_DONE) return WSQ_PENDING;
    post(&items[2]);
    return WSQ_DONE;
}

static void wait_beside_slot(void) {
    begin(2, plain);
    spawn(1, passes_on);
    spawn(2, woken);
    explore_wait_quiet();
    spawn(0, waits_for_third);
    end(3);
}

/* ---- a wake that came too soon: the task waits again, and does not spin ---- */

static wsq_poll needs_both(item *it) {
    explore_check(it->runs <= 3);
    return wsqi_load_acq(&it->sent) == 2 ? WSQ_DONE : WSQ_PENDING;
}

static void waits_again(void) {
    begin(1 + (unsigned)explore_choose(2), plain);
    spawn(0, needs_both);
    for (uint32_t i = 1; i <= 2; i++) {
        if (explore_choose(2)) explore_wait_quiet();
        wsqi_store_rel(&items[0].sent, i);
        wsq_wake(&items[0].task);
    }
    end(1);
}

int main(void) {
    explore_random("more: slot theft without silence", slot_without_silence, 3500);
    explore_random("more: slot theft, three workers", slot_of_three, 3000);
    explore_random("more: slot volley", slot_volley, 3000);
    explore_random("more: the slot changes", slot_changes, 3500);
    explore_random("more: a wake into the ring", wake_into_ring, 3500);
    explore_random("more: a yield behind the slot", yield_behind_slot, 3000);
    explore_random("more: a batch inside", batch_inside, 3500);
    explore_random("more: a wait beside the slot", wait_beside_slot, 3000);
    explore_random("more: a wake too soon", waits_again, 3500);
    return explore_end();
}
