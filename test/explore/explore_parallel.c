/* Loops and reductions in the explorer: without a grain, so that they read the clock; stopped by their bodies; in bodies
 * that wait; reductions whose partial results are allocated, and that find no memory. */
#include "explore_small.h"
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include "explore_items.h"

enum { MOST = 12 };

static int visits[MOST]; /* plain, as the next */
static int prepared;
static size_t count, grain, stops; /* the loop; stops: before which element, or MOST */
static int cost;                   /* pauses for each element */

static void visit(wsq_ctx ctx, size_t first, size_t last, void *arg) {
    (void)arg;
    explore_check(first < last && last <= count && wsqi_get(&prepared) == 1);
    for (size_t i = first; i < last; i++) {
        wsqi_set(&visits[i], wsqi_get(&visits[i]) + 1);
        for (int n = 0; n < cost; n++) wsqi_pause();
        if (i == stops) wsq_loop_stop(ctx);
    }
}

/* Each element is visited once before the loop returns, or at most once if the loop is stopped. */
static void check_visits(bool stopped) {
    for (size_t i = 0; i < count; i++)
        explore_check(wsqi_get(&visits[i]) == 1 || (stopped && wsqi_get(&visits[i]) == 0));
}

static void run_loop(wsq_ctx ctx, void *arg) {
    (void)arg;
    wsqi_set(&prepared, 1);
    wsq_for(ctx, 0, count, grain, visit, NULL);
    check_visits(stops < count);
    if (stops < count) explore_check(wsqi_get(&visits[stops]) == 1);
}

static wsq_poll run_looping(wsq_ctx ctx, wsq_task *task) {
    run_loop(ctx, NULL);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static void begin_loop(unsigned workers) {
    memset(visits, 0, sizeof visits);
    prepared = 0;
    count = 2 + (size_t)explore_choose(MOST - 1);
    grain = (size_t)explore_choose(3);
    stops = MOST;
    cost = 1 + 20 * explore_choose(2);
    begin(workers, plain);
}

/* In a task, or in a run. */
static void do_loop(void) {
    items[0].task.fn = run_looping;
    if (explore_choose(2)) {
        spawn(0);
        explore_check(wsq_task_wait(&items[0].task) == WSQ_OK);
        end(1);
    } else {
        explore_check(wsq_run(pool, run_loop, NULL) == WSQ_OK);
        end(0);
    }
}

static void loop_of_two(void) {
    begin_loop(2);
    do_loop();
}

static void loop_of_three(void) {
    begin_loop(3);
    if (explore_choose(2)) explore_wait_quiet(); /* the thieves sleep */
    do_loop();
}

static void loop_stops(void) {
    begin_loop(2);
    stops = (size_t)explore_choose((int)count);
    do_loop();
}

/* An element waits for a task, which stops a loop: not that of the element, which does not run in the task. */
static wsq_poll run_stopping(wsq_ctx ctx, wsq_task *task) {
    wsq_loop_stop(ctx);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static void visit_and_wait(wsq_ctx ctx, size_t first, size_t last, void *arg) {
    visit(ctx, first, last, arg);
    if (first != 0) return;
    spawn(1);
    explore_check(wsq_task_wait(&items[1].task) == WSQ_OK);
}

static void run_waiting_loop(wsq_ctx ctx, void *arg) {
    (void)arg;
    wsqi_set(&prepared, 1);
    wsq_for(ctx, 0, count, grain, visit_and_wait, NULL);
    check_visits(false);
}

static void loop_waits(void) {
    begin_loop(2);
    items[1].task.fn = run_stopping;
    explore_check(wsq_run(pool, run_waiting_loop, NULL) == WSQ_OK);
    explore_wait_quiet();
    explore_check(items[1].done);
    end(0);
}

/* The elements in their order, as a list: with the room that it needs on a stack, or more. */
typedef struct list {
    int length, element[MOST];
} list;

static void list_init(void *partial, void *arg) {
    (void)arg;
    ((list *)partial)->length = 0;
}

static void list_body(wsq_ctx ctx, size_t first, size_t last, void *partial, void *arg) {
    list *it = partial;
    (void)ctx, (void)arg;
    for (size_t i = first; i < last; i++) {
        it->element[it->length++] = (int)i;
        wsqi_pause();
    }
}

static void list_combine(void *left, const void *right, void *arg) {
    list *it = left;
    const list *other = right;
    (void)arg;
    for (int i = 0; i < other->length; i++) it->element[it->length++] = other->element[i];
}

static void run_reduction(wsq_ctx ctx, void *arg) {
    struct { list list; char more[256]; } result;
    wsq_reducer reducer = {sizeof(list), list_init, list_body, list_combine, NULL, explore_choose(2)};
    (void)arg;
    if (explore_choose(2)) reducer.size = sizeof result;
    if (explore_choose(2)) explore.allocations_left = explore_choose(4);
    wsq_result outcome = wsq_reduce(ctx, 0, count, grain, &reducer, &result);
    explore.allocations_left = EXPLORE_BLOCKS;
    if (outcome == WSQ_ERR_MEMORY) {
        explore_check(reducer.fixed && reducer.size == sizeof result);
        return;
    }
    explore_check(outcome == WSQ_OK && result.list.length == (int)count);
    for (int i = 0; i < (int)count; i++) explore_check(result.list.element[i] == i);
}

static void reduction(void) {
    begin_loop(2);
    explore_check(wsq_run(pool, run_reduction, NULL) == WSQ_OK);
    end(0);
}

int main(void) {
    explore_random("parallel: a loop, two workers", loop_of_two, 6000);
    explore_random("parallel: a loop, three workers", loop_of_three, 4000);
    explore_random("parallel: a loop stops", loop_stops, 6000);
    explore_random("parallel: a loop waits", loop_waits, 5000);
    explore_random("parallel: a reduction", reduction, 6000);
    return explore_end();
}
