/* Dependencies: chains, fans, grids and random graphs whose every edge holds; edges that are added at the
 * very moment at which the predecessor ends; what follows a cancelled task is cancelled. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "test.h"
#include "pool.h"
#include "compose.h"

enum { THREADS = 4 };

static wsq_edge *edges_new(size_t count) {
    wsq_edge *edges = calloc(count, sizeof *edges);
    if (edges == NULL) abort();
    return edges;
}

static void after(step *task, step *predecessor, wsq_edge *edge) {
    if (wsq_task_after(&task->task, &predecessor->task, edge) != WSQ_OK) FAIL("an edge");
}

static void spawn(wsq_pool *pool, step *task) {
    if (wsq_spawn(pool, &task->task) != WSQ_OK) FAIL("a spawn");
}

static void shuffle(uint32_t *order, uint32_t count, uint64_t *random) {
    for (uint32_t i = 0; i < count; i++) order[i] = i;
    for (uint32_t i = count; i > 1; i--) {
        uint32_t k = test_below(random, i), kept = order[i - 1];
        order[i - 1] = order[k];
        order[k] = kept;
    }
}

static const wsq_config kinds[] = {
    {.workers = 1},
    {.workers = 2},
    {.workers = 8},
    {.workers = 2, .order = WSQ_LIFO},
    {.workers = 2, .caller_runs = true},
};

enum { KINDS = sizeof kinds / sizeof *kinds };

/* ---- long and wide ---- */

static void chain(void) {
    uint32_t count = (uint32_t)test_times(1000000);
    step *steps = step_array(count, NULL, NULL);
    wsq_edge *edges = edges_new(count);
    for (int backwards = 0; backwards < 2; backwards++) {
        wsq_pool *pool = pool_new((wsq_config){.workers = 2});
        for (uint32_t i = 0; i < count; i++) step_new(&steps[i], NULL, NULL);
        for (uint32_t i = 1; i < count; i++) after(&steps[i], &steps[i - 1], &edges[i]);
        for (uint32_t i = 0; i < count; i++) spawn(pool, &steps[backwards ? count - 1 - i : i]);
        CHECK_EQ(wsq_task_wait(&steps[count - 1].task), WSQ_OK);
        bool ordered = true;
        for (uint32_t i = 1; i < count; i++) ordered = ordered && steps[i - 1].ended < steps[i].began;
        CHECK(ordered);
        CHECK_EQ(steps[count / 2].runs, 1);
        pool_close(pool);
    }
    free(steps);
    free(edges);
}

/* The whole chain is cancelled with its first. */
static void chain_is_cancelled(void) {
    for (size_t k = 0; k < KINDS; k++) {
        uint32_t count = (uint32_t)test_times(100000);
        step *steps = step_array(count, NULL, NULL);
        wsq_edge *edges = edges_new(count);
        wsq_pool *pool = pool_new(kinds[k]);
        gate doors[8];
        gates_close(doors, pool);
        for (uint32_t i = 1; i < count; i++) after(&steps[i], &steps[i - 1], &edges[i]);
        for (uint32_t i = 0; i < count; i++) spawn(pool, &steps[i]);
        gates_cancel(doors, pool);
        CHECK_EQ(wsq_pool_pending(pool), 0);
        bool right = true;
        for (uint32_t i = 0; i < count; i++) right = right && steps[i].runs == 0 && steps[i].cleanups == 1;
        CHECK(right);
        pool_end(pool);
        free(steps);
        free(edges);
    }
}

/* One before all, all before one. */
static void fans(void) {
    enum { WIDTH = 10000 };
    for (size_t k = 0; k < KINDS; k++) {
        step *steps = step_array(WIDTH + 2, NULL, NULL), *first = &steps[WIDTH], *last = &steps[WIDTH + 1];
        wsq_edge *edges = edges_new(2 * WIDTH);
        wsq_pool *pool = pool_new(kinds[k]);
        for (uint32_t i = 0; i < WIDTH; i++) {
            after(&steps[i], first, &edges[2 * i]);
            after(last, &steps[i], &edges[2 * i + 1]);
        }
        spawn(pool, last);
        for (uint32_t i = 0; i < WIDTH; i++) spawn(pool, &steps[i]);
        CHECK_EQ(wsq_pool_pending(pool), WIDTH + 1);
        spawn(pool, first);
        CHECK_EQ(wsq_task_wait(&last->task), WSQ_OK);
        bool ordered = true;
        for (uint32_t i = 0; i < WIDTH; i++)
            ordered = ordered && first->ended < steps[i].began && steps[i].ended < last->began;
        CHECK(ordered);
        pool_close(pool);
        free(steps);
        free(edges);
    }
}

/* ---- graphs ---- */

enum { NODES = 400, SIDE = 20, EDGES = 3 * NODES };

typedef struct graph {
    wsq_pool *pool;
    step nodes[NODES];
    wsq_edge edges[EDGES];
    uint32_t from[EDGES], to[EDGES], edge_count;
    uint32_t first[NODES + 1]; /* the edges that lead to a node lie together */
    uint32_t order[NODES];
    atomic_uint turn;
} graph;

static graph net;

static void graph_edge(uint32_t from, uint32_t to) {
    net.from[net.edge_count] = from;
    net.to[net.edge_count++] = to;
}

static void graph_grid(void) {
    for (uint32_t i = 0; i < NODES; i++) {
        net.first[i] = net.edge_count;
        if (i % SIDE != 0) graph_edge(i - 1, i);
        if (i >= SIDE) graph_edge(i - SIDE, i);
    }
}

static void graph_random(uint64_t *random) {
    uint32_t density = 1 + test_below(random, 3);
    for (uint32_t i = 0; i < NODES; i++) {
        net.first[i] = net.edge_count;
        for (uint32_t k = 0; k < density && i > 0; k++)
            graph_edge(i - 1 - test_below(random, i < 30 ? i : 30), i);
    }
}

static wsq_poll graph_step(wsq_ctx ctx, step *self) {
    (void)ctx;
    test_spin(self->number * 37 % 200);
    return WSQ_DONE;
}

/* Takes nodes in a random order: adds the edges to each, and spawns it, while others run. */
static void graph_build(void) {
    for (uint32_t turn; (turn = atomic_fetch_add(&net.turn, 1)) < NODES;) {
        uint32_t to = net.order[turn];
        for (uint32_t e = net.first[to]; e < net.first[to + 1]; e++)
            after(&net.nodes[to], &net.nodes[net.from[e]], &net.edges[e]);
        spawn(net.pool, &net.nodes[to]);
    }
}

static void graph_thread(test_thread *self) {
    (void)self;
    graph_build();
}

static wsq_poll graph_builder(wsq_ctx ctx, step *self) {
    (void)ctx;
    (void)self;
    graph_build();
    return WSQ_DONE;
}

static void graph_run(wsq_config config, bool grid, uint64_t *random, unsigned threads) {
    step builder;
    bool ordered = true;
    net.edge_count = 0;
    atomic_store(&net.turn, 0);
    net.pool = pool_new(config);
    for (uint32_t i = 0; i < NODES; i++) {
        step_new(&net.nodes[i], graph_step, NULL);
        net.nodes[i].number = i;
    }
    if (grid) graph_grid();
    else graph_random(random);
    net.first[NODES] = net.edge_count;
    shuffle(net.order, NODES, random);
    step_new(&builder, graph_builder, NULL);
    if (threads > 0) test_threads(threads, graph_thread, NULL);
    else spawn(net.pool, &builder);
    CHECK_EQ(wsq_pool_wait(net.pool), WSQ_OK);
    for (uint32_t e = 0; e < net.edge_count; e++)
        ordered = ordered && net.nodes[net.from[e]].ended < net.nodes[net.to[e]].began;
    for (uint32_t i = 0; i < NODES; i++) ordered = ordered && net.nodes[i].runs == 1;
    CHECK(ordered);
    if (*random % 8 == 0) pool_settled(net.pool);
    wsq_pool_destroy(net.pool);
}

static void graphs(void) {
    uint64_t random = test_seed;
    for (size_t round = 0; round < test_times(250); round++)
        graph_run(kinds[round % KINDS], round % 2, &random,
                  kinds[round % KINDS].caller_runs ? 1 : (unsigned)(round / KINDS % (THREADS + 1)));
}

/* ---- an edge to a task that is just ending ---- */

typedef struct couple {
    step leader, follower, bystander;
    wsq_edge edge, second;
    uint32_t delay;
} couple;

static wsq_poll short_run(wsq_ctx ctx, step *self) {
    (void)ctx;
    test_spin(*(uint32_t *)self->arg);
    return WSQ_DONE;
}

/* Leader and follower are spawned by threads (or tasks) that know nothing of each other. No other task
 * comes along, so a follower that is forgotten stays behind, and the wait shows it. */
static void edge_while_it_ends_on(wsq_config config, bool second) {
    wsq_pool *pool = pool_new(config);
    uint64_t random = test_seed;
    for (size_t round = 0; round < test_times(8000); round++) {
        static couple two;
        two.delay = test_below(&random, 300);
        step_new(&two.leader, short_run, &two.delay);
        step_new(&two.follower, NULL, NULL);
        step_new(&two.bystander, NULL, NULL);
        spawn(pool, &two.leader);
        test_spin(test_below(&random, 1200));
        after(&two.follower, &two.leader, &two.edge);
        if (second) after(&two.bystander, &two.leader, &two.second);
        spawn(pool, &two.follower);
        if (second) spawn(pool, &two.bystander);
        while (!wsq_task_done(&two.follower.task)) sched_yield(); /* no waiter to come to its help */
        if (two.leader.ended >= two.follower.began) FAIL("the follower is later");
        if (second && wsq_task_wait(&two.bystander.task) != WSQ_OK) FAIL("a wait");
        if (second && two.leader.ended >= two.bystander.began) FAIL("the bystander is later");
    }
    CHECK(true);
    pool_close(pool);
}

static void edge_while_it_ends(void) {
    edge_while_it_ends_on((wsq_config){.workers = 1}, false);
    edge_while_it_ends_on((wsq_config){.workers = 2}, true);
    edge_while_it_ends_on((wsq_config){.workers = 3, .order = WSQ_LIFO}, true);
}

/* The same among tasks of one pool: a line of leaders, each with followers added by others. */
enum { PAIRS = 64 };
static step leaders[PAIRS], followers[2 * PAIRS];
static wsq_edge links[2 * PAIRS];
static uint32_t leader_delay;

static wsq_poll add_edges(wsq_ctx ctx, step *self) {
    for (unsigned i = 0; i < PAIRS; i++) {
        unsigned at = 2 * i + self->number;
        after(&followers[at], &leaders[i], &links[at]);
        spawn(wsq_pool_of(ctx), &followers[at]);
    }
    return WSQ_DONE;
}

static void edges_from_tasks(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 3});
    for (size_t round = 0; round < test_times(600); round++) {
        step adders[2];
        bool ordered = true;
        leader_delay = (uint32_t)(round % 100);
        for (unsigned i = 0; i < PAIRS; i++) step_new(&leaders[i], short_run, &leader_delay);
        for (unsigned i = 0; i < 2 * PAIRS; i++) step_new(&followers[i], NULL, NULL);
        for (unsigned i = 0; i < PAIRS; i++) spawn(pool, &leaders[i]);
        for (unsigned i = 0; i < 2; i++) {
            step_new(&adders[i], add_edges, NULL);
            adders[i].number = i;
            spawn(pool, &adders[i]);
        }
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        for (unsigned i = 0; i < 2 * PAIRS; i++)
            ordered = ordered && followers[i].runs == 1 && leaders[i / 2].ended < followers[i].began;
        CHECK(ordered);
    }
    pool_close(pool);
}

/* ---- states of the predecessor ---- */

static wsq_poll pend_once(wsq_ctx ctx, step *self) {
    (void)ctx;
    return self->runs == 1 ? WSQ_PENDING : WSQ_DONE;
}

static void every_state(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 1, .caller_runs = true});
    step first, second;
    wsq_edge edge;
    step_new(&first, NULL, NULL); /* new: a task that was never spawned holds the other back */
    step_new(&second, NULL, NULL);
    after(&second, &first, &edge);
    spawn(pool, &second);
    CHECK_EQ(pump(pool), 0);
    CHECK_EQ(wsq_pool_pending(pool), 1);
    spawn(pool, &first);
    CHECK_EQ(pump(pool), 2);
    CHECK(first.ended < second.began);

    step_new(&second, NULL, NULL); /* done */
    after(&second, &first, &edge);
    spawn(pool, &second);
    CHECK_EQ(pump(pool), 1);
    CHECK_EQ(second.runs, 1);

    after(&second, &first, &edge); /* done both, and spawned again */
    spawn(pool, &second);
    CHECK_EQ(pump(pool), 1);
    CHECK_EQ(second.runs, 2);

    step_new(&first, pend_once, NULL); /* asleep: its end counts, not its first return */
    step_new(&second, NULL, NULL);
    spawn(pool, &first);
    CHECK_EQ(pump(pool), 1);
    after(&second, &first, &edge);
    spawn(pool, &second);
    CHECK_EQ(pump(pool), 0);
    wsq_wake(&second.task); /* not what it waits for */
    CHECK_EQ(pump(pool), 0);
    wsq_wake(&first.task);
    CHECK_EQ(pump(pool), 2);
    CHECK(first.ended < second.began);
    CHECK_EQ(wsq_task_wait(&second.task), WSQ_OK);
    pool_close(pool);
}

/* The same edge twice, under different names, counts twice. */
static void twice(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 2});
    step first, second;
    wsq_edge one, two;
    step_new(&first, NULL, NULL);
    step_new(&second, NULL, NULL);
    after(&second, &first, &one);
    after(&second, &first, &two);
    spawn(pool, &second);
    spawn(pool, &first);
    CHECK_EQ(wsq_task_wait(&second.task), WSQ_OK);
    CHECK_EQ(second.runs, 1);
    pool_close(pool);
}

/* A task that was followed is spawned again, and followed again; nobody else is there to end it. */
static void again(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 1, .caller_runs = true});
    step first, second;
    wsq_edge edge;
    step_new(&first, NULL, NULL);
    for (int run = 1; run <= 3; run++) {
        step_new(&second, NULL, NULL);
        after(&second, &first, &edge);
        spawn(pool, &second);
        spawn(pool, &first);
        if (run == 2) { /* and once while it is queued */
            step third;
            step_new(&third, NULL, NULL);
            wsq_edge other;
            after(&third, &first, &other);
            spawn(pool, &third);
            CHECK_EQ(wsq_task_wait(&third.task), WSQ_OK);
            CHECK_EQ(third.runs, 1);
        }
        CHECK_EQ(wsq_task_wait(&second.task), WSQ_OK);
        CHECK_EQ(second.runs, 1);
        CHECK_EQ(wsq_task_wait(&first.task), WSQ_OK);
        CHECK_EQ(first.runs, (unsigned)run);
        spawn(pool, &first); /* it is followed while it is queued, behind an end that was followed */
        step_new(&second, NULL, NULL);
        after(&second, &first, &edge);
        spawn(pool, &second);
        CHECK_EQ(wsq_task_wait(&second.task), WSQ_OK);
        first.runs--;
    }
    pool_close(pool);
}

/* A task that has run once is to come after one that is cancelled; its next run is cancelled, too, and the
 * one after that is not. */
static void poisoned_between_two_runs(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 1, .caller_runs = true});
    step first, second, third;
    wsq_edge edge, another;
    step_new(&first, NULL, NULL);
    step_new(&second, NULL, NULL);
    wsq_task_set_revocable(&first.task, true);
    for (int run = 1; run <= 3; run++) {
        spawn(pool, &second);
        CHECK_EQ(wsq_task_wait(&second.task), WSQ_OK);
        after(&second, &first, &edge);
        spawn(pool, &first);
        CHECK(wsq_task_cancel(&first.task));
        CHECK_EQ(wsq_task_wait(&first.task), WSQ_ERR_CANCELLED); /* before the spawn of the other */
        step_new(&third, NULL, NULL);
        after(&third, &second, &another); /* which was closed at the end of its last run */
        spawn(pool, &third);
        spawn(pool, &second);
        CHECK_EQ(wsq_task_wait(&second.task), WSQ_ERR_CANCELLED);
        CHECK_EQ(wsq_task_wait(&third.task), WSQ_ERR_CANCELLED);
        CHECK(wsq_task_done(&second.task));
        CHECK_EQ(second.runs, (unsigned)run);
        CHECK_EQ(second.cleanups, (unsigned)run);
    }
    pool_close(pool);
}

static void misuse(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 1, .caller_runs = true});
    step first, second;
    wsq_edge edge;
    wsq_task *batch[] = {&first.task, &second.task};
    step_new(&first, NULL, NULL);
    step_new(&second, NULL, NULL);
    CHECK_EQ(wsq_task_after(NULL, &first.task, &edge), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_task_after(&first.task, NULL, &edge), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_task_after(&second.task, &first.task, NULL), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_task_after(&first.task, &first.task, &edge), WSQ_ERR_INVALID); /* itself */
    spawn(pool, &second);
    CHECK_EQ(wsq_task_after(&second.task, &first.task, &edge), WSQ_ERR_INVALID); /* queued */
    CHECK_EQ(pump(pool), 1);
    after(&second, &first, &edge);
    CHECK_EQ(wsq_spawn_batch(pool, batch, 2), WSQ_ERR_INVALID); /* no predecessors there */
    CHECK_EQ(wsq_pool_pending(pool), 0);
    spawn(pool, &second);
    CHECK_EQ(wsq_task_after(&second.task, &first.task, &edge), WSQ_ERR_INVALID); /* held */
    CHECK_EQ(wsq_spawn(pool, &second.task), WSQ_ERR_INVALID);
    spawn(pool, &first);
    CHECK_EQ(pump(pool), 2);
    CHECK_EQ(second.runs, 2);
    pool_close(pool);
}

/* ---- circles ---- */

/* It takes a second to be sure. */
static void circles(void) {
    enum { LENGTH = 3 };
    wsq_pool *pool = pool_new((wsq_config){.workers = 1, .caller_runs = true});
    step some[LENGTH], alone;
    wsq_edge edges[LENGTH];
    for (int i = 0; i < LENGTH; i++) step_new(&some[i], NULL, NULL);
    for (int i = 0; i < LENGTH; i++) after(&some[i], &some[(i + 1) % LENGTH], &edges[i]);
    for (int i = 0; i < LENGTH; i++) spawn(pool, &some[i]);
    step_new(&alone, NULL, NULL);
    spawn(pool, &alone);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_ERR_INVALID);
    CHECK_EQ(alone.runs, 1);
    CHECK_EQ(wsq_pool_pending(pool), LENGTH);
    CHECK_EQ(wsq_pool_shutdown(pool, WSQ_CANCEL), WSQ_OK);
    for (int i = 0; i < LENGTH; i++) CHECK_EQ(some[i].runs, 0);
    pool_end(pool);
}

/* A waiter that sleeps already when the circle closes. */
static wsq_poll close_circle(wsq_ctx ctx, step *self) {
    step *some = self->arg;
    test_nap(2000000);
    for (int i = 0; i < 2; i++) spawn(wsq_pool_of(ctx), &some[i]);
    return WSQ_DONE;
}

static void circle_under_a_waiter(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 2});
    step some[2], closer;
    wsq_edge edges[2];
    for (int i = 0; i < 2; i++) step_new(&some[i], NULL, NULL);
    for (int i = 0; i < 2; i++) after(&some[i], &some[1 - i], &edges[i]);
    step_new(&closer, close_circle, some);
    spawn(pool, &closer);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_ERR_INVALID);
    CHECK(wsq_task_done(&closer.task));
    CHECK_EQ(wsq_pool_shutdown(pool, WSQ_CANCEL), WSQ_OK);
    pool_end(pool);
}

/* Tasks that are held for a moment only, by threads outside: a thread that waits for the pool sees no circle. */
static void hold_or_wait(test_thread *self) {
    wsq_pool *pool = self->arg;
    for (size_t i = 0; i < test_times(3000); i++) {
        step one, two;
        wsq_edge edge;
        wsq_group group;
        if (self->index != 0) {
            if (wsq_pool_wait(pool) != WSQ_OK) FAIL("no circle");
            continue;
        }
        if (wsq_group_init(&group, pool) != WSQ_OK) FAIL("a group");
        step_new(&one, NULL, NULL);
        step_new(&two, NULL, NULL);
        after(&two, &one, &edge);
        spawn(pool, &one);
        spawn(pool, &two);
        if (wsq_task_wait(&two.task) != WSQ_OK) FAIL("a wait");
        step_new(&one, NULL, NULL);
        if (wsq_group_then(&group, &one.task) != WSQ_OK) FAIL("then");
        if (wsq_task_wait(&one.task) != WSQ_OK) FAIL("a wait");
    }
}

static void no_circles(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 2});
    test_threads(3, hold_or_wait, pool);
    CHECK(true);
    pool_close(pool);
}

/* ---- cancelled ---- */

static wsq_poll cancel_group(wsq_ctx ctx, step *self) {
    (void)ctx;
    wsq_group_cancel(self->arg);
    return WSQ_DONE;
}

/* What follows a cancelled task is cancelled, and what follows that; an edge that is added later too. */
static void cancel_propagates(void) {
    for (size_t k = 0; k < KINDS; k++) {
        wsq_pool *pool = pool_new(kinds[k]);
        step doomed, next, last, other, late;
        wsq_edge edges[4];
        wsq_group group;
        CHECK_EQ(wsq_group_init(&group, pool), WSQ_OK);
        step killer;
        step_new(&killer, cancel_group, &group);
        step *all[] = {&doomed, &next, &last, &other, &late};
        for (int i = 0; i < 5; i++) step_new(all[i], NULL, NULL);
        after(&doomed, &killer, &edges[0]);
        after(&next, &doomed, &edges[1]);
        after(&last, &next, &edges[2]);
        after(&last, &other, &edges[3]);
        spawn(pool, &other);
        spawn(pool, &last);
        spawn(pool, &next);
        CHECK_EQ(wsq_group_spawn(&group, &doomed.task), WSQ_OK);
        spawn(pool, &killer);
        CHECK_EQ(wsq_task_wait(&last.task), WSQ_ERR_CANCELLED);
        CHECK_EQ(wsq_task_wait(&next.task), WSQ_ERR_CANCELLED);
        CHECK_EQ(wsq_task_wait(&doomed.task), WSQ_ERR_CANCELLED);
        CHECK_EQ(wsq_task_wait(&other.task), WSQ_OK);
        CHECK_EQ(wsq_group_wait(&group), WSQ_ERR_CANCELLED);
        after(&late, &doomed, &edges[0]);
        spawn(pool, &late);
        CHECK_EQ(wsq_task_wait(&late.task), WSQ_ERR_CANCELLED);
        for (int i = 0; i < 5; i++) CHECK_EQ(all[i]->cleanups, all[i] != &other);
        for (int i = 0; i < 5; i++) CHECK_EQ(all[i]->runs, all[i] == &other);
        pool_close(pool);
    }
}

/* A shutdown with tasks that are held, and threads that wait for them. */
static atomic_uint said_cancelled;

static void wait_or_shut(test_thread *self) {
    step *held = self->arg;
    if (self->index == 0) {
        test_nap(1000000);
        CHECK_EQ(wsq_pool_shutdown(wsqi_task_pool(&held[0].task), WSQ_CANCEL), WSQ_OK);
    } else if (wsq_task_wait(&held[self->index - 1].task) == WSQ_ERR_CANCELLED) {
        atomic_fetch_add(&said_cancelled, 1);
    }
}

static void shutdown_with_held_tasks(void) {
    for (size_t k = 0; k < KINDS; k++) {
        wsq_pool *pool = pool_new(kinds[k]);
        step never, held[THREADS - 1], sleeper;
        wsq_edge edges[THREADS];
        step_new(&never, NULL, NULL);
        step_new(&sleeper, pend_once, NULL);
        spawn(pool, &sleeper);
        if (pool->config.caller_runs) CHECK_EQ(pump(pool), 1);
        else step_asleep(&sleeper);
        for (int i = 0; i < THREADS - 1; i++) {
            step_new(&held[i], NULL, NULL);
            after(&held[i], i == 0 ? &never : i == 1 ? &sleeper : &held[i - 1], &edges[i]);
            spawn(pool, &held[i]);
        }
        atomic_store(&said_cancelled, 0);
        test_threads(THREADS, wait_or_shut, held);
        CHECK_EQ(atomic_load(&said_cancelled), THREADS - 1);
        for (int i = 0; i < THREADS - 1; i++) CHECK_EQ(held[i].runs, 0);
        pool_end(pool);
    }
}

/* Every queue gives what is cancelled on to another: the end of each link queues the next one elsewhere. */
static void cancelled_through_every_queue(void) {
    enum { LENGTH = 60 };
    for (size_t k = 0; k < KINDS; k++) {
        wsq_pool *pool = pool_new(kinds[k]);
        static step some[LENGTH];
        static wsq_edge edges[LENGTH];
        gate doors[8];
        unsigned wrong = 0;
        gates_close(doors, pool);
        for (unsigned i = 0; i < LENGTH; i++) {
            const wsq_priority priorities[] = {WSQ_LOW, WSQ_HIGH, WSQ_NORMAL};
            step_new(&some[i], NULL, NULL);
            wsq_task_set_priority(&some[i].task, priorities[i % 3]);
            if (i > 0) after(&some[i], &some[i - 1], &edges[i]);
        }
        for (unsigned i = LENGTH; i-- > 0;) {
            if (i % 4 == 3) CHECK_EQ(wsq_spawn_on(pool, i % pool->workers, &some[i].task), WSQ_OK);
            else spawn(pool, &some[i]);
        }
        gates_cancel(doors, pool);
        CHECK_EQ(wsq_pool_pending(pool), 0);
        for (unsigned i = 0; i < LENGTH; i++) wrong += some[i].runs != 0 || some[i].cleanups != 1;
        CHECK_EQ(wrong, 0);
        pool_end(pool);
    }
}

int main(void) {
    test_begin("test_after");
    RUN(every_state);
    RUN(twice);
    RUN(again);
    RUN(poisoned_between_two_runs);
    RUN(misuse);
    RUN(chain);
    RUN(chain_is_cancelled);
    RUN(fans);
    RUN(graphs);
    RUN(edge_while_it_ends);
    RUN(edges_from_tasks);
    RUN(circles);
    RUN(circle_under_a_waiter);
    RUN(no_circles);
    RUN(cancel_propagates);
    RUN(shutdown_with_held_tasks);
    RUN(cancelled_through_every_queue);
    return test_end();
}
