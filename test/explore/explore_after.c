/* Tasks that come after others, in the explorer: edges added while the predecessor ends, is refused,
 * is cancelled, runs again. */
#include "explore_small.h"
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include "explore_groups.h"

/* The predecessor is new, queued, running, or over. */
static void edge_against_end(void) {
    begin(1 + (unsigned)explore_choose(2), plain);
    explore_start(spawner, (void *)(uintptr_t)&number[0]);
    follow(1, 0);
    spawn(1);
    explore_check(wsq_task_wait(&items[1].task) == WSQ_OK);
    end(2);
}

static void follower_2(void *arg) {
    (void)arg;
    follow(2, 0);
    spawn(2);
}

static void two_edges_to_one(void) {
    begin(2, plain);
    spawn(0);
    explore_start(follower_2, NULL);
    follow(1, 0);
    spawn(1);
    end(3);
}

/* A waiter, too, so that the end is an exchange, or not, or the bells ring. */
static void waiter_0(void *arg) {
    (void)arg;
    wsq_result result = wsq_task_wait(&items[0].task);
    explore_check(result == WSQ_OK || result == WSQ_ERR_INVALID);
}

static void edge_and_waiter(void) {
    begin(1 + (unsigned)explore_choose(2), plain);
    spawn(0);
    explore_start(waiter_0, NULL);
    follow(1, 0);
    spawn(1);
    end(2);
}

/* One task after two that end at the same time. */
static void one_after_two(void) {
    begin(2, plain);
    item *last = &items[2];
    last->after[0] = &items[0];
    last->after[1] = &items[1];
    spawn(0);
    explore_start(spawner, (void *)(uintptr_t)&number[1]);
    explore_check(wsq_task_after(&last->task, &items[0].task, &edges[0]) == WSQ_OK);
    explore_check(wsq_task_after(&last->task, &items[1].task, &edges[1]) == WSQ_OK);
    spawn(2);
    explore_check(wsq_task_wait(&last->task) == WSQ_OK);
    end(3);
}

/* Two after one, which meet: they are for two workers. */
static void two_meet_after_one(void) {
    begin(2, plain);
    items[1].company = items[2].company = 2;
    for (int i = 1; i <= 2; i++) {
        follow(i, 0);
        spawn(i);
    }
    explore_wait_quiet();
    spawn(0);
    end(3);
}

/* The predecessor's memory is gone as soon as its only successor starts. */
static void freed_by_successor(void) {
    begin(1 + (unsigned)explore_choose(2), plain);
    item *first = explore_malloc(sizeof *first);
    init(first);
    items[0].after[0] = first;
    items[0].frees = true;
    explore_check(wsq_spawn(pool, &first->task) == WSQ_OK);
    explore_check(wsq_task_after(&items[0].task, &first->task, &edges[0]) == WSQ_OK);
    spawn(0);
    spawn(1); /* so that the worker has something else to do meanwhile */
    end(2);
}

/* The pool is cancelled: each has run, or is cancelled, once, whichever queues they are in. */
static void edge_against_cancel(void) {
    begin(1, plain);
    for (int i = 0; i < 3; i++)
        wsq_task_set_priority(&items[i].task, (wsq_priority)explore_choose(3));
    follow(1, 0);
    follow(2, 1);
    for (int i = 3; i-- > 0;) spawn(i);
    explore_check(wsq_pool_shutdown(pool, WSQ_CANCEL) == WSQ_OK);
    for (int i = 0; i < 3; i++) {
        explore_check(items[i].done + items[i].cleaned == 1);
        explore_check(i == 0 || !items[i].done || items[i - 1].done);
    }
    explore_pool_end(pool);
}

/* ---- the first spawn is refused ---- */

/* The predecessor is spawned again meanwhile; this fails, because the pool is closed. */
static void spawner_refused(void *arg) {
    if (arg != NULL) explore_meet(&gate, 2);
    explore_check(wsq_spawn(pool, &items[0].task) == WSQ_ERR_CLOSED);
}

static void edge_against_refusal(void) {
    begin(1, plain);
    spawn(0);
    explore_check(wsq_pool_shutdown(pool, WSQ_DRAIN) == WSQ_OK);
    explore_start(spawner_refused, NULL);
    follow(1, 0);
    explore_join();
    explore_check(items[1].task.state.v / WSQI_TASK_HOLD == 0);
    explore_pool_end(pool);
}

/* The first spawn of a task is refused: nobody may believe that it is done. */
static void wait_against_refusal(void) {
    begin(1, plain);
    explore_check(wsq_pool_shutdown(pool, WSQ_DRAIN) == WSQ_OK);
    explore_start(spawner_refused, &gate);
    explore_meet(&gate, 2);
    explore_check(wsq_task_wait(&items[0].task) == WSQ_ERR_INVALID);
    explore_pool_end(pool);
}

/* The same for a batch, in which another task cannot be spawned. */
static void batch_refused(void *arg) {
    wsq_task *twice[] = {&items[0].task, &items[0].task};
    (void)arg;
    explore_meet(&gate, 2);
    explore_check(wsq_spawn_batch(pool, twice, 2) == WSQ_ERR_INVALID);
}

static void wait_against_batch(void) {
    begin(1, plain);
    explore_start(batch_refused, NULL);
    explore_meet(&gate, 2);
    explore_check(wsq_task_wait(&items[0].task) == WSQ_ERR_INVALID);
    explore_pool_end(pool);
}

static void batch_without_task(void *arg) {
    wsq_task *both[] = {&items[0].task, NULL};
    (void)arg;
    explore_check(wsq_spawn_batch(pool, both, 2) == WSQ_ERR_INVALID);
}

/* A task that is over is followed, or waited for, while batches that fail take it and give it back. */
static void followed_between_refusals(void) {
    begin(1, plain);
    spawn(0);
    if (explore_choose(2)) explore_check(wsq_task_wait(&items[0].task) == WSQ_OK);
    else while (!wsq_task_done(&items[0].task)) wsqi_pause();
    explore_fiber *one = explore_start(batch_without_task, NULL);
    explore_fiber *two = explore_start(batch_without_task, NULL);
    if (explore_choose(2)) explore_start(waiter_0, NULL);
    follow(1, 0);
    if (explore_choose(2)) explore_start(follower_2, NULL);
    else spawn(2);
    spawn(1);
    explore_join_one(one);
    explore_join_one(two);
    end(3);
}

/* Batches that fail take a task that is over, twice; it is followed in between, and each time another
 * thread follows it, too, whose view may be older: of the second batch it sees what is open again. */
static void refused(bool followed) {
    explore_check(wsqi_claim_one(pool, NULL, &items[0].task));
    if (followed) follow(1, 0);
    wsqi_unclaim_one(pool, &items[0].task);
}

static void two_batches(void *arg) {
    (void)arg;
    refused(true);
    refused(false);
}

static void followed_after_a_refusal(void) {
    begin(1, plain);
    spawn(0);
    while (!wsq_task_done(&items[0].task)) wsqi_pause();
    explore_fiber *batches = explore_start(two_batches, NULL);
    follow(2, 0);
    spawn(2);
    explore_join_one(batches);
    spawn(1);
    end(3);
}

static void one_batch(void *arg) {
    (void)arg;
    refused(false);
}

/* It was cancelled; a task that follows it while a batch has it still learns that. */
static void cancelled_and_refused(void) {
    begin(1, (wsq_config){.caller_runs = true});
    spawn(0);
    (void)wsq_task_cancel(&items[0].task);
    explore_check(wsq_task_wait(&items[0].task) == WSQ_ERR_CANCELLED);
    explore_start(one_batch, NULL);
    follow(1, 0);
    spawn(1);
    explore_check(wsq_task_wait(&items[1].task) == WSQ_ERR_CANCELLED);
    explore_check(items[1].cleaned == 1);
    explore_pool_end(pool);
}

/* ---- in a group ---- */

/* What comes after a cancelled task is cancelled, too. */
static void cancel_and_follower(void) {
    begin_group(1 + (unsigned)explore_choose(2), plain);
    bool early = explore_choose(2);
    if (early) follow(1, 0);
    if (early) spawn(1);
    group_spawn(0); /* not cancelled yet */
    explore_start(canceller, NULL);
    if (!early) follow(1, 0);
    if (!early) spawn(1);
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    explore_check(items[0].done + items[0].cleaned == 1 && items[1].done == items[0].done);
    explore_check(items[1].cleaned == items[0].cleaned);
    end(0);
}

/* Its first end is told late, when it runs again: followed now, cancelled perhaps, and freed by the task
 * that follows. */
static void followed_again(void) {
    begin_group(2, plain);
    item *first = explore_malloc(sizeof *first);
    init(first);
    explore_check(wsq_spawn(pool, &first->task) == WSQ_OK);
    while (!wsq_task_done(&first->task)) wsqi_pause();
    wsqi_set(&first->letter, 0);
    first->done = 0;
    explore_check(wsq_group_spawn(&group, &first->task) == WSQ_OK);
    items[1].after[0] = first;
    items[1].frees = true;
    explore_check(wsq_task_after(&items[1].task, &first->task, &edges[1]) == WSQ_OK);
    wsq_group_cancel(&group);
    spawn(1);
    explore_wait_quiet();
    explore_check(items[1].done + items[1].cleaned == 1);
    explore_check(items[1].done || first->cleaned);
    end(0);
    if (!items[1].done) explore_free(first);
}

/* ---- graphs that run again ---- */

/* Two workers end what a node follows; a run against another, against a cancel, against a shutdown. */

enum { SPOTS = 5 };

/* Reads what those that it follows have written, and writes. */
typedef struct spot {
    wsq_node node;
    struct spot *after[2];
    int letter;        /* plain: how often it ran */
    int company;       /* so many meet in their runs */
    int done, cleaned; /* the explorer's own */
} spot;

static spot spots[SPOTS];
static wsq_edge spot_edges[2 * SPOTS];
static wsq_graph graph;
static int edge_count, started, spot_gate;

static wsq_poll run_spot(wsq_ctx ctx, wsq_task *task) {
    spot *it = wsq_container_of(task, spot, node.task);
    int letter = wsqi_get(&it->letter) + 1;
    (void)ctx;
    for (int i = 0; i < 2; i++)
        if (it->after[i]) explore_check(wsqi_get(&it->after[i]->letter) == letter);
    if (it->company) explore_meet(&spot_gate, it->company);
    wsqi_set(&it->letter, letter);
    it->done++;
    return WSQ_DONE;
}

static wsq_poll clean_spot(wsq_task *task) {
    wsq_container_of(task, spot, node.task)->cleaned++;
    return WSQ_DONE;
}

static void edge(int node, int predecessor) {
    spots[node].after[spots[node].after[0] != NULL] = &spots[predecessor];
    explore_check(wsq_node_after(&spots[node].node, &spots[predecessor].node, &spot_edges[edge_count++]) == WSQ_OK);
}

/* The last follows two that may run on two workers: 0 before 1 and 2, these before 3. */
static void begin_spots(unsigned workers) {
    pool = explore_pool_make(workers, (wsq_config){.workers = 0});
    memset(spots, 0, sizeof spots);
    edge_count = started = spot_gate = 0;
    explore_check(wsq_graph_init(&graph, pool) == WSQ_OK);
    for (int i = 0; i < 4; i++) {
        explore_check(wsq_graph_add(&graph, &spots[i].node, run_spot) == WSQ_OK);
        wsq_task_set_cleanup(&spots[i].node.task, clean_spot);
    }
    if (explore_choose(2)) edge(1, 0), edge(2, 0);
    edge(3, 1);
    edge(3, 2);
}

static void check_runs(int runs) {
    for (int i = 0; i < 4; i++) explore_check(spots[i].done == runs && wsqi_get(&spots[i].letter) == runs);
}

static void runs_again(void) {
    begin_spots(2);
    for (int run = 1; run <= 2; run++) {
        explore_check(wsq_graph_run(&graph) == WSQ_OK);
        explore_check(wsq_group_wait(&graph.group) == WSQ_OK);
        check_runs(run);
    }
    explore_pool_end(pool);
}

/* Two end at the same time, on two workers: one of them starts what follows both. */
static void two_meet(void) {
    begin_spots(2 + (unsigned)explore_choose(2));
    spots[1].company = spots[2].company = 2;
    explore_check(wsq_graph_run(&graph) == WSQ_OK);
    explore_check(wsq_group_wait(&graph.group) == WSQ_OK);
    check_runs(1);
    explore_pool_end(pool);
}

static void runner(void *arg) {
    (void)arg;
    wsq_result result = wsq_graph_run(&graph);
    explore_check(result == WSQ_OK || result == WSQ_ERR_INVALID);
    started += result == WSQ_OK;
}

/* Each of two threads runs it, or is told that it runs: a second run sees the whole first one. */
static void two_run_it(void) {
    begin_spots(1 + (unsigned)explore_choose(2));
    explore_check(wsq_graph_run(&graph) == WSQ_OK); /* the circles have been looked for */
    explore_check(wsq_group_wait(&graph.group) == WSQ_OK);
    explore_fiber *one = explore_start(runner, NULL), *two = explore_start(runner, NULL);
    explore_join_one(one);
    explore_join_one(two);
    explore_check(wsq_group_wait(&graph.group) == WSQ_OK);
    explore_check(started == 1 || started == 2);
    check_runs(1 + started);
    explore_pool_end(pool);
}

static void graph_canceller(void *arg) {
    (void)arg;
    if (explore_choose(2)) wsq_group_cancel(&graph.group);
    else (void)wsq_task_cancel(&spots[1].node.task);
}

static void check_ends(void) {
    for (int i = 0; i < 4; i++) {
        explore_check(spots[i].done + spots[i].cleaned == 1);
        for (int k = 0; k < 2; k++)
            if (spots[i].after[k] && spots[i].after[k]->cleaned) explore_check(spots[i].cleaned == 1);
        spots[i].done = spots[i].cleaned = 0;
        wsqi_set(&spots[i].letter, 0);
    }
}

static void cancelled(void) {
    begin_spots(1 + (unsigned)explore_choose(2));
    for (int i = 0; i < 4; i++) wsq_task_set_revocable(&spots[i].node.task, explore_choose(2) != 0);
    explore_check(wsq_graph_run(&graph) == WSQ_OK);
    explore_fiber *other = explore_start(graph_canceller, NULL);
    (void)wsq_group_wait(&graph.group);
    explore_join_one(other);
    explore_check(wsq_group_pending(&graph.group) == 0);
    check_ends();
    explore_check(wsq_group_init(&graph.group, pool) == WSQ_OK);
    explore_check(wsq_graph_run(&graph) == WSQ_OK);
    explore_check(wsq_group_wait(&graph.group) == WSQ_OK);
    check_runs(1);
    explore_pool_end(pool);
}

static void shut_down(void) {
    begin_spots(1 + (unsigned)explore_choose(2));
    explore_check(wsq_graph_run(&graph) == WSQ_OK);
    explore_check(wsq_pool_shutdown(pool, explore_choose(2) ? WSQ_CANCEL : WSQ_DRAIN) == WSQ_OK);
    explore_check(wsq_group_pending(&graph.group) == 0);
    check_ends();
    explore_pool_end(pool);
}

int main(void) {
    explore_random("compose: an edge against the end", edge_against_end, 2000);
    explore_random("compose: two edges to one", two_edges_to_one, 2000);
    explore_random("compose: an edge and a waiter", edge_and_waiter, 2000);
    explore_random("compose: one after two", one_after_two, 2000);
    explore_random("compose: two meet after one", two_meet_after_one, 1000);
    explore_random("compose: freed by its successor", freed_by_successor, 2000);
    explore_random("compose: an edge against cancel", edge_against_cancel, 2000);
    explore_random("compose: an edge against a refusal", edge_against_refusal, 1500);
    explore_random("compose: a wait against a refusal", wait_against_refusal, 1500);
    explore_random("compose: a wait against a batch", wait_against_batch, 1500);
    explore_random("compose: followed between refusals", followed_between_refusals, 3000);
    explore_random("compose: followed after a refusal", followed_after_a_refusal, 3000);
    explore_random("compose: cancelled and refused", cancelled_and_refused, 2000);
    explore_random("compose: cancel and a follower", cancel_and_follower, 2000);
    explore_random("compose: followed again", followed_again, 2000);
    explore_random("graph: runs again", runs_again, 3000);
    explore_random("graph: two meet", two_meet, 3000);
    explore_random("graph: two run it", two_run_it, 2000);
    explore_random("graph: cancelled", cancelled, 3000);
    explore_random("graph: shut down", shut_down, 2000);
    return explore_end();
}
