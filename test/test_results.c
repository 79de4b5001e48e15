/* What each call returns, exactly: for wrong arguments, from wrong places, after a shutdown, and without
 * memory or threads. A refused call changes nothing. */
#include "test.h"

static void *scarce_malloc(size_t size);
static void scarce_free(void *memory);
static int scarce_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*fn)(void *), void *arg);

#define pthread_create scarce_create
#define WSQ_MALLOC(size) scarce_malloc(size)
#define WSQ_FREE(pointer) scarce_free(pointer)
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#undef pthread_create

#include "pool.h"

static atomic_bool memory_gone, threads_gone;

static atomic_long memory_live;

/* What is not initialized has strange values. */
static void *scarce_malloc(size_t size) {
    void *memory = atomic_load(&memory_gone) ? NULL : malloc(size);
    if (memory != NULL) memset(memory, 0xa5, size);
    atomic_fetch_add(&memory_live, memory != NULL);
    return memory;
}

static void scarce_free(void *memory) {
    atomic_fetch_sub(&memory_live, memory != NULL);
    free(memory);
}

static int scarce_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*fn)(void *), void *arg) {
    return atomic_load(&threads_gone) ? EAGAIN : pthread_create(thread, attributes, fn, arg);
}

static atomic_uint called;

static wsq_poll count_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    atomic_fetch_add(&called, 1);
    return WSQ_DONE;
}

static wsq_poll pend_run(wsq_ctx ctx, wsq_task *task) {
    static unsigned runs;
    (void)ctx, (void)task;
    return runs++ % 2 == 0 ? WSQ_PENDING : WSQ_DONE;
}

static void *echo(void *arg) { return arg; }
static void count(void *arg) { (void)arg, atomic_fetch_add(&called, 1); }
static void run_count(wsq_ctx ctx, void *arg) { (void)ctx, count(arg); }

static void texts(void) {
    static const wsq_result results[] = {WSQ_OK,           WSQ_ERR_MEMORY,  WSQ_ERR_INVALID, WSQ_ERR_THREAD,
                                         WSQ_ERR_CLOSED,   WSQ_ERR_TIMEOUT, WSQ_ERR_FORKED,  WSQ_ERR_CANCELLED,
                                         (wsq_result)(-99)};
    enum { RESULTS = sizeof results / sizeof *results };
    for (int i = 0; i < RESULTS; i++) {
        CHECK_EQ(results[i], i < RESULTS - 1 ? -i : -99);
        CHECK(wsq_result_string(results[i]) != NULL && wsq_result_string(results[i])[0] != '\0');
        for (int k = 0; k < i; k++) CHECK(strcmp(wsq_result_string(results[i]), wsq_result_string(results[k])) != 0);
    }
}

/* ---- wrong arguments ---- */

static void queues(void) {
    wsq_deque deque;
    wsq_ring ring;
    int items[9];
    memset((void *)&ring, 0xa5, sizeof ring);
    memset((void *)&deque, 0xa5, sizeof deque);
    wsq_ring_init(&ring);
    CHECK_EQ(wsq_ring_length(&ring), 0);
    CHECK(wsq_ring_pop(&ring) == NULL);
    CHECK(wsq_ring_push(&ring, &items[0]));
    CHECK_EQ(wsq_ring_length(&ring), 1);
    CHECK(wsq_ring_pop(&ring) == &items[0]);
    CHECK_EQ(wsq_deque_init(NULL, 4), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_deque_init(&deque, 0), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_deque_init(&deque, 3), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_deque_init(&deque, 1), WSQ_OK);
    CHECK_EQ(wsq_deque_length(&deque), 0);
    wsq_deque_fini(&deque);
    memset((void *)&deque, 0xa5, sizeof deque);
    CHECK_EQ(atomic_load(&memory_live), 0);
    atomic_store(&memory_gone, true);
    CHECK_EQ(wsq_deque_init(&deque, 4), WSQ_ERR_MEMORY);
    atomic_store(&memory_gone, false);
    CHECK_EQ(wsq_deque_init(&deque, 4), WSQ_OK);
    CHECK(wsq_deque_pop(&deque) == NULL);
    for (int i = 0; i < 4; i++) CHECK_EQ(wsq_deque_push(&deque, &items[i]), WSQ_OK);
    atomic_store(&memory_gone, true);
    CHECK_EQ(wsq_deque_push(&deque, &items[4]), WSQ_ERR_MEMORY);
    CHECK_EQ(wsq_deque_length(&deque), 4);
    atomic_store(&memory_gone, false);
    for (int i = 4; i < 9; i++) CHECK_EQ(wsq_deque_push(&deque, &items[i]), WSQ_OK);
    for (int i = 8; i >= 0; i--) CHECK(wsq_deque_pop(&deque) == &items[i]);
    CHECK(wsq_deque_pop(&deque) == NULL);
    wsq_deque_fini(&deque);
}

static void arguments(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 2}), *other = pool_new((wsq_config){.workers = 1});
    wsq_task task, more, empty, *list[1] = {&task};
    wsq_group group, inner, elsewhere;
    wsq_future *future = NULL;
    wsq_timer timer = {0};
    wsq_edge edge;
    void *result = NULL;
    memset((void *)&task, 0xa5, sizeof task);
    memset((void *)&group, 0xa5, sizeof group);
    memset(&empty, 0, sizeof empty); /* it has no function */
    wsq_task_init(&task, count_run);
    wsq_task_init(&more, count_run);
    atomic_store(&called, 0);
    CHECK_EQ(wsq_pool_wait(NULL), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_pool_wait_for(NULL, 0), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_pool_shutdown(NULL, WSQ_DRAIN), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_pool_shutdown(pool, (wsq_shutdown)7), WSQ_ERR_INVALID);
    wsq_pool_destroy(NULL);
    CHECK_EQ(wsq_worker_enter(NULL), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_worker_enter(pool), WSQ_ERR_INVALID); /* it is not lend_only */
    wsq_worker_dismiss(NULL, 0);
    wsq_worker_dismiss(pool, 0);

    CHECK_EQ(wsq_spawn(NULL, &task), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_spawn(pool, NULL), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_spawn(pool, &empty), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_spawn_on(NULL, 0, &task), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_spawn_on(pool, 0, NULL), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_spawn_on(pool, 0, &empty), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_spawn_on(pool, 2, &task), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_spawn_batch(NULL, list, 1), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_spawn_batch(pool, NULL, 1), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_spawn_batch(pool, NULL, 0), WSQ_OK);
    CHECK_EQ(wsq_task_set_priority(NULL, WSQ_HIGH), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_task_set_priority(&task, (wsq_priority)3), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_task_set_priority(&task, WSQ_LOW), WSQ_OK);
    CHECK_EQ(wsq_task_set_worker(NULL, 0), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_task_set_worker(&task, WSQI_MAX_WORKERS), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_task_set_worker(&task, WSQI_MAX_WORKERS - 1), WSQ_OK);
    CHECK_EQ(wsq_spawn(pool, &task), WSQ_ERR_INVALID); /* it has no such worker */
    CHECK_EQ(wsq_task_set_worker(&task, WSQ_ANY_WORKER), WSQ_OK);

    CHECK_EQ(wsq_task_wait(NULL), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_task_wait_for(NULL, 0), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_task_wait(&task), WSQ_ERR_INVALID); /* never spawned */
    CHECK_EQ(wsq_task_after(NULL, &more, &edge), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_task_after(&task, NULL, &edge), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_task_after(&task, &more, NULL), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_task_after(&task, &task, &edge), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_timer_set(NULL, &timer, &task, 1), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_timer_set(pool, NULL, &task, 1), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_timer_set(pool, &timer, NULL, 1), WSQ_ERR_INVALID);
    CHECK(!wsq_timer_cancel(&timer));
    CHECK_EQ(wsq_timer_set(pool, &timer, &task, UINT64_MAX), WSQ_OK);
    CHECK_EQ(wsq_timer_set(other, &timer, &task, 1), WSQ_ERR_INVALID); /* it is set in another pool */
    CHECK(wsq_timer_cancel(&timer));
    CHECK(!wsq_timer_cancel(&timer));

    CHECK_EQ(wsq_go(NULL, count, NULL), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_go(pool, NULL, NULL), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_submit(NULL, echo, NULL, &future), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_submit(pool, NULL, NULL, &future), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_submit(pool, echo, NULL, NULL), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_future_get(NULL, &result), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_future_get_for(NULL, 0, &result), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_future_then(NULL, &task), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_submit(pool, echo, &task, &future), WSQ_OK);
    CHECK_EQ(wsq_future_then(future, NULL), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_future_then(future, &empty), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_future_get(future, &result), WSQ_OK);
    CHECK(result == &task);

    CHECK_EQ(wsq_group_init(NULL, pool), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_group_init(&group, NULL), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_group_init(&group, pool), WSQ_OK);
    CHECK_EQ(wsq_group_init(&inner, pool), WSQ_OK);
    CHECK_EQ(wsq_group_init(&elsewhere, other), WSQ_OK);
    CHECK_EQ(wsq_group_set_parent(NULL, &group), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_group_set_parent(&group, &group), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_group_set_parent(&inner, &group), WSQ_OK);
    CHECK_EQ(wsq_group_set_parent(&group, &inner), WSQ_ERR_INVALID); /* a circle */
    CHECK_EQ(wsq_group_spawn(NULL, &task), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_group_spawn(&group, NULL), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_group_spawn(&group, &empty), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_group_then(NULL, &task), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_group_then(&group, NULL), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_group_then(&group, &empty), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_group_wait(NULL), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_group_wait_for(NULL, 0), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_group_wait(&group), WSQ_OK); /* it is empty */
    wsq_task_set_group(&task, &elsewhere);
    CHECK_EQ(wsq_spawn(pool, &task), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_spawn_batch(pool, list, 1), WSQ_ERR_INVALID);
    wsq_task_set_group(&task, NULL);
    wsq_group_cancel(&group);
    CHECK_EQ(wsq_group_spawn(&group, &task), WSQ_ERR_CANCELLED);
    CHECK_EQ(wsq_group_spawn(&inner, &task), WSQ_ERR_CANCELLED); /* its parent is */
    CHECK_EQ(wsq_group_wait(&group), WSQ_ERR_CANCELLED);
    CHECK_EQ(wsq_group_pending(&group), 0);

    CHECK_EQ(wsq_run(NULL, run_count, NULL), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_run(pool, NULL, NULL), WSQ_ERR_INVALID);
    CHECK_EQ(atomic_load(&called), 0); /* nothing ran */
    CHECK_EQ(wsq_pool_wait_for(pool, 10000000000u), WSQ_OK); /* the last end may just be counted */
    CHECK_EQ(wsq_spawn(pool, &task), WSQ_OK); /* nothing was left in the task */
    CHECK_EQ(wsq_task_wait(&task), WSQ_OK);
    CHECK_EQ(wsq_task_wait_for(&task, 0), WSQ_OK);
    CHECK_EQ(wsq_run(pool, run_count, NULL), WSQ_OK);
    CHECK_EQ(atomic_load(&called), 2);
    pool_end(pool);
    pool_end(other);
}

/* ---- tasks that are under way ---- */

static void spawned_already(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 1});
    wsq_task task, more, *list[2] = {&more, &task};
    wsq_group group;
    wsq_edge edge;
    wsq_task_init(&task, pend_run);
    wsq_task_init(&more, count_run);
    CHECK_EQ(wsq_group_init(&group, pool), WSQ_OK);
    CHECK_EQ(wsq_spawn(pool, &task), WSQ_OK);
    CHECK_EQ(wsq_task_wait_for(&task, 2000000), WSQ_ERR_TIMEOUT);
    CHECK_EQ(wsq_pool_wait_for(pool, 0), WSQ_ERR_TIMEOUT);
    CHECK_EQ(wsq_spawn(pool, &task), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_spawn_on(pool, 0, &task), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_spawn_batch(pool, list, 2), WSQ_ERR_INVALID);
    CHECK(!wsq_task_done(&more));
    CHECK_EQ(wsq_task_wait(&more), WSQ_ERR_INVALID); /* that one is as if it had never been spawned */
    CHECK_EQ(wsq_group_spawn(&group, &task), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_group_then(&group, &task), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_group_pending(&group), 0);
    CHECK_EQ(wsq_task_after(&task, &more, &edge), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_pool_pending(pool), 1);
    do wsq_wake(&task);
    while (wsq_task_wait_for(&task, 1000000) == WSQ_ERR_TIMEOUT);
    CHECK_EQ(wsq_task_wait(&task), WSQ_OK);
    CHECK_EQ(wsq_spawn_batch(pool, list, 1), WSQ_OK);
    CHECK_EQ(wsq_task_wait(&more), WSQ_OK);
    pool_end(pool);
}

static wsq_poll inside_run(wsq_ctx ctx, wsq_task *task) {
    wsq_pool *pool = wsq_pool_of(ctx);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_pool_wait_for(pool, 0), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_pool_shutdown(pool, WSQ_CANCEL), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_worker_enter(pool), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_task_wait(task), WSQ_ERR_INVALID);
    return WSQ_DONE;
}

static void from_inside(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 1});
    wsq_task task;
    wsq_task_init(&task, inside_run);
    CHECK_EQ(wsq_spawn(pool, &task), WSQ_OK);
    CHECK_EQ(wsq_task_wait(&task), WSQ_OK);
    pool_end(pool);
}

/* ---- after a shutdown ---- */

static void closed(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 1});
    wsq_pool *lent = pool_new((wsq_config){.workers = 1, .lend_only = true});
    wsq_task task, *list[1] = {&task};
    wsq_group group;
    wsq_future *future = NULL, *kept;
    wsq_task_init(&task, count_run);
    CHECK_EQ(wsq_group_init(&group, pool), WSQ_OK);
    CHECK_EQ(wsq_submit(pool, echo, &task, &kept), WSQ_OK);
    while (!wsq_future_done(kept)) wsqi_pause();
    CHECK_EQ(wsq_pool_shutdown(pool, WSQ_DRAIN), WSQ_OK);
    CHECK_EQ(wsq_pool_shutdown(pool, WSQ_CANCEL), WSQ_OK); /* again */
    CHECK_EQ(wsq_pool_shutdown(lent, WSQ_DRAIN), WSQ_OK);
    atomic_store(&called, 0);
    CHECK_EQ(wsq_spawn(pool, &task), WSQ_ERR_CLOSED);
    CHECK_EQ(wsq_spawn_on(pool, 0, &task), WSQ_ERR_CLOSED);
    CHECK_EQ(wsq_spawn_batch(pool, list, 1), WSQ_ERR_CLOSED);
    CHECK_EQ(wsq_group_spawn(&group, &task), WSQ_ERR_CLOSED);
    CHECK_EQ(wsq_group_then(&group, &task), WSQ_ERR_CLOSED);
    CHECK_EQ(wsq_go(pool, count, NULL), WSQ_ERR_CLOSED);
    CHECK_EQ(wsq_submit(pool, echo, NULL, &future), WSQ_ERR_CLOSED);
    CHECK(future == NULL);
    CHECK_EQ(wsq_future_then(kept, &task), WSQ_ERR_CLOSED);
    CHECK_EQ(wsq_run(pool, run_count, NULL), WSQ_ERR_CLOSED);
    CHECK_EQ(wsq_worker_enter(lent), WSQ_ERR_CLOSED);
    CHECK_EQ(wsq_group_pending(&group), 0);
    for (int i = 0; i < 3; i++) {
        wsq_graph graph;
        wsq_node nodes[2];
        CHECK_EQ(wsq_graph_init(&graph, pool), WSQ_OK);
        for (int k = 0; k < i; k++) CHECK_EQ(wsq_graph_add(&graph, &nodes[k], count_run), WSQ_OK);
        CHECK_EQ(wsq_graph_run(&graph), WSQ_ERR_CLOSED);
        CHECK_EQ(wsq_group_pending(&graph.group), 0);
    }
    CHECK_EQ(wsq_group_wait(&group), WSQ_OK);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    CHECK_EQ(wsq_pool_pending(pool), 0);
    CHECK_EQ(wsq_future_get(kept, NULL), WSQ_OK);
    CHECK_EQ(atomic_load(&called), 0);
    wsq_pool_destroy(pool);
    wsq_pool_destroy(lent);
}

/* ---- without memory, without threads ---- */

static void sum_init(void *partial, void *arg) { (void)arg, memset(partial, 0, 4096); }
static void sum_body(wsq_ctx ctx, size_t begin, size_t end, void *partial, void *arg) {
    (void)ctx, (void)arg;
    *(size_t *)partial += end - begin;
}
static void sum_combine(void *left, const void *right, void *arg) {
    (void)arg;
    *(size_t *)left += *(const size_t *)right;
}

static const wsq_reducer sums = {.size = 4096, .init = sum_init, .body = sum_body, .combine = sum_combine};

static void reduce_run(wsq_ctx ctx, void *arg) {
    size_t sum[512];
    wsq_reducer bad = sums;
    (void)arg;
    CHECK_EQ(wsq_reduce(ctx, 0, 100, 1, NULL, sum), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_reduce(ctx, 0, 100, 1, &sums, NULL), WSQ_ERR_INVALID);
    bad.size = 0;
    CHECK_EQ(wsq_reduce(ctx, 0, 100, 1, &bad, sum), WSQ_ERR_INVALID);
    bad = sums;
    bad.init = NULL;
    CHECK_EQ(wsq_reduce(ctx, 0, 100, 1, &bad, sum), WSQ_ERR_INVALID);
    bad = sums;
    bad.body = NULL;
    CHECK_EQ(wsq_reduce(ctx, 0, 100, 1, &bad, sum), WSQ_ERR_INVALID);
    bad = sums;
    bad.combine = NULL;
    CHECK_EQ(wsq_reduce(ctx, 0, 100, 1, &bad, sum), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_reduce(ctx, 0, 100, 1, &sums, sum), WSQ_OK);
    CHECK_EQ(sum[0], 100);
    CHECK_EQ(wsq_reduce(ctx, 5, 5, 1, &sums, sum), WSQ_OK); /* empty */
    CHECK_EQ(sum[0], 0);
}

/* The upper half needs a partial result of its own; a reduction whose pieces are fixed cannot do without. */
static void reduce_without_memory(wsq_ctx ctx, void *arg) {
    wsq_reducer fixed = sums;
    size_t sum[512];
    (void)arg;
    fixed.fixed = true;
    atomic_store(&memory_gone, true);
    CHECK_EQ(wsq_reduce(ctx, 0, 1000, 1, &sums, sum), WSQ_OK);
    CHECK_EQ(sum[0], 1000);
    CHECK_EQ(wsq_reduce(ctx, 0, 1000, 1, &fixed, sum), WSQ_ERR_MEMORY);
    atomic_store(&memory_gone, false);
    CHECK_EQ(wsq_reduce(ctx, 0, 1000, 1, &fixed, sum), WSQ_OK);
    CHECK_EQ(sum[0], 1000);
}

static void scarce(void) {
    wsq_pool *pool = pool_new((wsq_config){.workers = 1}), *none = NULL;
    wsq_config config = {.workers = 3};
    wsq_future *future = NULL, *kept[WSQI_FUTURE_CHUNK];
    CHECK_EQ(wsq_pool_create(NULL, &config), WSQ_ERR_INVALID);
    atomic_store(&threads_gone, true);
    CHECK_EQ(wsq_pool_create(&none, &config), WSQ_ERR_THREAD);
    atomic_store(&threads_gone, false);
    atomic_store(&memory_gone, true);
    CHECK_EQ(wsq_pool_create(&none, &config), WSQ_ERR_MEMORY);
    CHECK_EQ(wsq_go(pool, count, NULL), WSQ_ERR_MEMORY);
    CHECK_EQ(wsq_submit(pool, echo, NULL, &future), WSQ_ERR_MEMORY);
    CHECK_EQ(wsq_run(pool, run_count, NULL), WSQ_OK); /* without a block it is a task */
    CHECK(none == NULL && future == NULL);
    atomic_store(&memory_gone, false);
    for (unsigned i = 0; i < WSQI_FUTURE_CHUNK; i++) CHECK_EQ(wsq_submit(pool, echo, NULL, &kept[i]), WSQ_OK);
    for (unsigned i = 0; i < WSQI_FUTURE_CHUNK; i++) CHECK_EQ(wsq_future_get(kept[i], NULL), WSQ_OK);
    CHECK_EQ(wsq_run(pool, reduce_run, NULL), WSQ_OK);
    pool_end(pool);
    pool = pool_new((wsq_config){.workers = 2});
    CHECK_EQ(wsq_run(pool, reduce_without_memory, NULL), WSQ_OK);
    pool_end(pool);
}

/* ---- who owns a future ---- */

static atomic_bool gate_open;

static wsq_poll gate_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    while (!atomic_load(&gate_open)) test_nap(100000);
    return WSQ_DONE;
}

static void futures(void) {
    enum { MORE = 4 * WSQI_FUTURE_CHUNK };
    wsq_pool *pool = pool_new((wsq_config){.workers = 1});
    wsq_future *first, *more[MORE];
    wsq_task gate;
    void *result = NULL;
    wsq_task_init(&gate, gate_run);
    atomic_store(&gate_open, false);
    CHECK_EQ(wsq_spawn(pool, &gate), WSQ_OK);
    CHECK_EQ(wsq_submit(pool, echo, &gate, &first), WSQ_OK);
    CHECK_EQ(wsq_future_get_for(first, 0, &result), WSQ_ERR_TIMEOUT);
    CHECK_EQ(wsq_future_get_for(first, 1000, &result), WSQ_ERR_TIMEOUT); /* it is still the caller's */
    CHECK(result == NULL);
    atomic_store(&gate_open, true);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    for (int i = 0; i < MORE; i++) {
        CHECK_EQ(wsq_submit(pool, echo, &more[i], &more[i]), WSQ_OK);
        CHECK(more[i] != first);
    }
    for (int i = 0; i < MORE; i++) {
        CHECK_EQ(wsq_future_get(more[i], &result), WSQ_OK);
        CHECK(result == &more[i]);
    }
    CHECK_EQ(wsq_future_get(first, &result), WSQ_OK);
    CHECK(result == &gate);
    long live = atomic_load(&memory_live);
    for (int i = 0; i < 20 * MORE; i++) { /* dropped before and after, or cancelled: none leaks */
        CHECK_EQ(wsq_submit(pool, echo, NULL, &first), WSQ_OK);
        if (i % 3 == 0) CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        if (i % 3 == 1) (void)wsq_future_cancel(first);
        wsq_future_drop(first);
        if (i % 64 == 0) CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    }
    CHECK(atomic_load(&memory_live) <= live + 2);
    pool_end(pool);
}

/* Lists grow, rings and deques grow, futures and blocks are kept: all of it goes with the pool. */
static void nothing_left(void) {
    for (int i = 0; i < 8; i++) {
        wsq_config config = {.workers = 2, .list_tasks = i % 2 != 0, .order = (wsq_order)(i / 2 % 3)};
        wsq_pool *pool = pool_new(config);
        static wsq_task tasks[1000];
        static wsq_edge edges[1000];
        static wsq_future *futures[100];
        static wsq_task gate;
        wsq_task_init(&gate, count_run);
        for (int k = 0; k < 1000; k++) {
            wsq_task_init(&tasks[k], count_run);
            CHECK_EQ(wsq_task_after(&tasks[k], &gate, &edges[k]), WSQ_OK);
            CHECK_EQ(wsq_spawn(pool, &tasks[k]), WSQ_OK);
        }
        for (int k = 0; k < 100; k++) CHECK_EQ(wsq_submit(pool, echo, NULL, &futures[k]), WSQ_OK);
        CHECK_EQ(wsq_pool_pending(pool) >= 1000, true);
        CHECK_EQ(wsq_spawn(pool, &gate), WSQ_OK);
        for (int k = 0; k < 100; k++) CHECK_EQ(wsq_future_get(futures[k], NULL), WSQ_OK);
        CHECK_EQ(wsq_run(pool, run_count, NULL), WSQ_OK);
        CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
        pool_end(pool);
        CHECK_EQ(atomic_load(&memory_live), 0);
    }
}

int main(void) {
    test_begin("test_results");
    RUN(texts);
    RUN(queues);
    RUN(arguments);
    RUN(spawned_already);
    RUN(from_inside);
    RUN(closed);
    RUN(scarce);
    RUN(futures);
    RUN(nothing_left);
    return test_end();
}
