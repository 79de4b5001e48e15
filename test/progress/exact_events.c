/* What hooks hear of a program that does everything once: each event has the subject and the value that the
 * manual says, and its counterpart on the same worker. The dump, word for word; what statistics say of sleep. In virtual time. */
#include "exact.h"

static unsigned heard[WSQ_EVENT_UNBLOCK + 1], spawned_after[3], slots;
static int open_tasks[1024], parked[1024], blocked[1024], alive[1024]; /* of each worker */

static bool nothing_said(wsq_event event) {
    return event == WSQ_EVENT_START || event == WSQ_EVENT_STOP || event == WSQ_EVENT_PARK || event == WSQ_EVENT_UNPARK;
}

/* One begins, the other ends; the first count cannot be negative. */
static void pair(int *count, wsq_event event, wsq_event begin, wsq_event end, int most) {
    if (event == begin) ++*count;
    if (event == end) --*count;
    CHECK(*count >= 0 && *count <= most);
}

static void hear(void *user, wsq_event event, unsigned worker, const void *subject, uint64_t value) {
    CHECK(user == &heard && (unsigned)event <= WSQ_EVENT_UNBLOCK);
    CHECK(worker < slots || worker == WSQ_OUTSIDE);
    heard[event]++;
    if (nothing_said(event) || event == WSQ_EVENT_PUBLISH) CHECK(subject == NULL);
    if (nothing_said(event) || event == WSQ_EVENT_TASK_BEGIN || event == WSQ_EVENT_BLOCK ||
        event == WSQ_EVENT_UNBLOCK || event == WSQ_EVENT_CANCEL)
        CHECK_EQ(value, 0);
    if (event == WSQ_EVENT_SPAWN || event == WSQ_EVENT_WAKE || event == WSQ_EVENT_CANCEL || event == WSQ_EVENT_STEAL)
        CHECK(subject != NULL);
    if (event == WSQ_EVENT_TASK_END) CHECK(value <= WSQ_GONE);
    if (event == WSQ_EVENT_TASK_END && subject == NULL) CHECK_EQ(value, WSQ_DONE);
    if (event == WSQ_EVENT_WAKE) CHECK(value <= WSQ_CAUSE_EARLY);
    if (event == WSQ_EVENT_PUBLISH) CHECK(value >= 1 && value <= 2);
    if (event == WSQ_EVENT_STEAL) CHECK(value < slots && value != worker);
    if (event == WSQ_EVENT_SPAWN) {
        CHECK(value <= 2);
        if (value <= 2) spawned_after[value]++;
    }
    if (worker == WSQ_OUTSIDE) {
        CHECK(event == WSQ_EVENT_SPAWN || event == WSQ_EVENT_WAKE || event == WSQ_EVENT_CANCEL);
        return;
    }
    pair(&open_tasks[worker], event, WSQ_EVENT_TASK_BEGIN, WSQ_EVENT_TASK_END, 9);
    pair(&parked[worker], event, WSQ_EVENT_PARK, WSQ_EVENT_UNPARK, 1);
    pair(&blocked[worker], event, WSQ_EVENT_BLOCK, WSQ_EVENT_UNBLOCK, 9);
    pair(&alive[worker], event, WSQ_EVENT_START, WSQ_EVENT_STOP, 1);
}

static const wsq_hooks ears = {.event = hear, .user = &heard};

static wsq_pool *hearing_pool(wsq_config config) {
    memset(heard, 0, sizeof heard);
    memset(spawned_after, 0, sizeof spawned_after);
    config.hooks = &ears;
    slots = 1024; /* until the pool is there */
    wsq_pool *pool = pool_make(&config);
    slots = wsq_pool_slots(pool);
    return pool;
}

static void pool_over(wsq_pool *pool) {
    wsq_pool_destroy(pool);
    for (int i = 0; i < 1024; i++) CHECK(open_tasks[i] == 0 && parked[i] == 0 && blocked[i] == 0 && alive[i] == 0);
    CHECK_EQ(heard[WSQ_EVENT_TASK_BEGIN], heard[WSQ_EVENT_TASK_END]);
    CHECK_EQ(heard[WSQ_EVENT_PARK], heard[WSQ_EVENT_UNPARK]);
    CHECK_EQ(heard[WSQ_EVENT_BLOCK], heard[WSQ_EVENT_UNBLOCK]);
    CHECK_EQ(heard[WSQ_EVENT_START], heard[WSQ_EVENT_STOP]);
}

static void *call(void *arg) {
    compute(US);
    return arg;
}

static void go(void *arg) { (void)call(arg); }

/* ---- spawns of every kind ---- */

static void spawns(void) {
    wsq_pool *pool = hearing_pool((wsq_config){.workers = 2});
    item *one = item_make(US), *pinned = item_make(US), *member = item_make(US), *then = item_make(US);
    item *first = item_make(MS), *second = item_make(2 * MS), *last = item_make(US), *follows = item_make(US);
    item *batch[3];
    wsq_task *list[3];
    wsq_edge edges[2];
    wsq_group group;
    wsq_future *future;
    item_spawn(pool, one);
    item_spawn_on(pool, 1, pinned);
    for (int i = 0; i < 3; i++) list[i] = &(batch[i] = item_make(US))->task;
    CHECK_EQ(wsq_spawn_batch(pool, list, 3), WSQ_OK);
    wsq_group_init(&group, pool);
    CHECK_EQ(wsq_group_spawn(&group, &member->task), WSQ_OK);
    CHECK_EQ(wsq_go(pool, go, NULL), WSQ_OK);
    CHECK_EQ(wsq_submit(pool, call, NULL, &future), WSQ_OK);
    wsq_pool_wait(pool);
    CHECK_EQ(spawned_after[0], 8);
    CHECK_EQ(heard[WSQ_EVENT_WAKE], 0);
    CHECK_EQ(wsq_future_get(future, NULL), WSQ_OK);
    for (int i = 0; i < 2; i++) CHECK_EQ(wsq_task_after(&last->task, &(i == 0 ? first : second)->task, &edges[i]), WSQ_OK);
    item_spawn(pool, last); /* after two */
    CHECK_EQ(spawned_after[2], 1);
    item_spawn(pool, first);
    item_spawn(pool, second);
    CHECK_EQ(spawned_after[0], 10);
    member->ns = MS;
    CHECK_EQ(wsq_group_spawn(&group, &member->task), WSQ_OK);
    CHECK_EQ(wsq_group_then(&group, &then->task), WSQ_OK); /* after one */
    CHECK_EQ(wsq_submit(pool, call, NULL, &future), WSQ_OK);
    CHECK_EQ(wsq_future_then(future, &follows->task), WSQ_OK);
    CHECK_EQ(spawned_after[1], 2);
    wsq_pool_wait(pool);
    CHECK_EQ(spawned_after[0], 12);
    CHECK_EQ(heard[WSQ_EVENT_WAKE], 3); /* the three that came after others */
    CHECK_EQ(heard[WSQ_EVENT_SPAWN], 15);
    CHECK_EQ(heard[WSQ_EVENT_TASK_BEGIN], 15);
    CHECK_EQ(wsq_group_then(&group, &then->task), WSQ_OK); /* the group is done: after none */
    CHECK_EQ(spawned_after[0], 13);
    wsq_pool_wait(pool);
    CHECK_EQ(heard[WSQ_EVENT_WAKE], 3);
    CHECK_EQ(wsq_future_get(future, NULL), WSQ_OK);
    CHECK_EQ(heard[WSQ_EVENT_CANCEL], 0);
    pool_over(pool);
}

/* ---- cancels ---- */

static void cancels(void) {
    wsq_pool *pool = hearing_pool((wsq_config){.workers = 1});
    item *busy = item_make(MS), *queued = item_make(US), *pends = item_make(US), *member = item_make(US);
    item *held = item_make(US), *follows = item_make(US);
    wsq_edge edge;
    wsq_group group;
    wsq_future *future;
    pends->pends = true;
    item_spawn(pool, pends);
    nap(MS);
    item_spawn(pool, busy);
    nap(20 * US);
    item_spawn(pool, queued);
    wsq_group_init(&group, pool);
    CHECK_EQ(wsq_group_spawn(&group, &member->task), WSQ_OK);
    CHECK_EQ(wsq_submit(pool, call, NULL, &future), WSQ_OK);
    CHECK_EQ(wsq_future_then(future, &follows->task), WSQ_OK);
    CHECK_EQ(wsq_task_after(&held->task, &queued->task, &edge), WSQ_OK);
    item_spawn(pool, held);
    CHECK(wsq_future_cancel(future));
    CHECK_EQ(heard[WSQ_EVENT_CANCEL], 1); /* a future's call is known not to have begun */
    (void)wsq_task_cancel(&queued->task);
    CHECK(wsq_task_cancel(&pends->task));
    wsq_group_cancel(&group);
    wsq_pool_wait(pool);
    CHECK_EQ(heard[WSQ_EVENT_CANCEL], 5); /* the task after a cancelled one, too */
    CHECK_EQ(heard[WSQ_EVENT_TASK_BEGIN], 3);
    CHECK(follows->ended != 0 && held->ended == 0);
    CHECK_EQ(wsq_future_get(future, NULL), WSQ_ERR_CANCELLED);
    pool_over(pool);
}

/* ---- jobs, waits, blocks ---- */

static void pieces_run(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    (void)ctx, (void)arg;
    compute((end - begin) * (begin + 1) * 100 * US);
}

static void jobs_run(wsq_ctx ctx, void *arg) { (void)arg, wsq_for(ctx, 0, 4, 1, pieces_run, NULL); }

static item *long_one;

static wsq_poll waits_run(wsq_ctx ctx, wsq_task *task) {
    wsq_group group;
    item *member = item_make(MS);
    wsq_future *future;
    (void)task;
    CHECK_EQ(wsq_task_wait(&long_one->task), WSQ_OK);
    wsq_block_begin(ctx);
    wsq_block_begin(ctx); /* in it, nothing more is said */
    nap(US);
    wsq_block_end(ctx);
    wsq_block_end(ctx);
    wsq_group_init(&group, wsq_pool_of(ctx));
    wsq_task_set_worker(&member->task, 1);
    CHECK_EQ(wsq_group_spawn(&group, &member->task), WSQ_OK);
    CHECK_EQ(wsq_group_wait(&group), WSQ_OK);
    CHECK_EQ(wsq_submit(wsq_pool_of(ctx), call, NULL, &future), WSQ_OK);
    CHECK_EQ(wsq_future_get(future, NULL), WSQ_OK); /* it calls the function itself: no wait */
    return WSQ_DONE;
}

static void waits(void) {
    wsq_pool *pool = hearing_pool((wsq_config){.workers = 2});
    item *waits_all = item_make(0);
    long_one = item_make(MS);
    item_spawn_on(pool, 1, long_one);
    waits_all->task.fn = waits_run;
    item_spawn_on(pool, 0, waits_all);
    wsq_pool_wait(pool);
    CHECK_EQ(heard[WSQ_EVENT_BLOCK], 3);
    CHECK_EQ(heard[WSQ_EVENT_SPAWN], 4);
    CHECK_EQ(heard[WSQ_EVENT_TASK_BEGIN], 4);
    CHECK_EQ(wsq_run(pool, jobs_run, NULL), WSQ_OK);
    CHECK_EQ(heard[WSQ_EVENT_PUBLISH], 2);
    CHECK_EQ(heard[WSQ_EVENT_TASK_BEGIN], 5 + heard[WSQ_EVENT_STEAL]); /* the run, and stolen jobs */
    pool_over(pool);
}

/* ---- nodes of a graph; a call whose end is heard keeps its address ---- */

static wsq_poll node_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    compute(US);
    return WSQ_DONE;
}

/* From outside, and from a task: three nodes, of which the last follows the others. */
static wsq_graph graph;

static wsq_poll graph_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    CHECK_EQ(wsq_graph_run(&graph), WSQ_OK);
    return WSQ_DONE;
}

static void nodes(void) {
    wsq_pool *pool = hearing_pool((wsq_config){.workers = 2});
    wsq_node three[3];
    wsq_edge edges[2];
    item *runs = item_make(0);
    CHECK_EQ(wsq_graph_init(&graph, pool), WSQ_OK);
    for (int i = 0; i < 3; i++) CHECK_EQ(wsq_graph_add(&graph, &three[i], node_run), WSQ_OK);
    for (int i = 0; i < 2; i++) CHECK_EQ(wsq_node_after(&three[2], &three[i], &edges[i]), WSQ_OK);
    CHECK_EQ(wsq_graph_run(&graph), WSQ_OK);
    wsq_pool_wait(pool);
    CHECK_EQ(heard[WSQ_EVENT_SPAWN], 3);
    CHECK_EQ(spawned_after[0], 3);
    CHECK_EQ(heard[WSQ_EVENT_TASK_BEGIN], 3);
    runs->task.fn = graph_run;
    item_spawn(pool, runs);
    wsq_pool_wait(pool);
    CHECK_EQ(heard[WSQ_EVENT_SPAWN], 7);
    CHECK_EQ(heard[WSQ_EVENT_TASK_BEGIN], 7);
    CHECK_EQ(heard[WSQ_EVENT_WAKE], 0);
    pool_over(pool);
}

static const void *ended[4];
static unsigned ends;

static void hear_ends(void *user, wsq_event event, unsigned worker, const void *subject, uint64_t value) {
    (void)user, (void)worker;
    CHECK(event == WSQ_EVENT_TASK_END && value == WSQ_GONE);
    if (ends < 4) ended[ends++] = subject;
}

static void go_again(void *pool) {
    if (pool != NULL) CHECK_EQ(wsq_go((wsq_pool *)pool, go_again, NULL), WSQ_OK);
}

static void ends_only(void) {
    const wsq_hooks hooks = {.event = hear_ends, .events = 1u << WSQ_EVENT_TASK_END};
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1, .hooks = &hooks});
    CHECK_EQ(wsq_go(pool, go_again, pool), WSQ_OK);
    wsq_pool_wait(pool);
    CHECK_EQ(ends, 2);
    CHECK(ended[0] != ended[1]);
    wsq_pool_destroy(pool);
}

/* ---- a hook for one event hears all of these, and nothing else ---- */

static wsq_poll short_run(wsq_ctx ctx, wsq_task *task) {
    item *self = item_of(task);
    (void)ctx;
    compute(200);
    return --self->runs != 0 ? WSQ_YIELD : WSQ_DONE;
}

static item *sleepers[3];

static wsq_poll wakes_three_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    for (int i = 0; i < 3; i++) item_wake(sleepers[i]); /* into the slot */
    wsq_block_begin(ctx);
    wsq_block_end(ctx);
    CHECK_EQ(wsq_go(wsq_pool_of(ctx), go, NULL), WSQ_OK);
    item_spawn(wsq_pool_of(ctx), item_make(US));
    return WSQ_DONE;
}

static void hear_number(void *user, wsq_event event, unsigned worker, const void *subject, uint64_t value) {
    (void)user, (void)worker, (void)subject, (void)value;
    heard[event]++;
}

static void count_events(uint32_t events) {
    const wsq_hooks hooks = {.event = hear_number, .events = events};
    item *runs = item_make(0), *wakes = item_make(0), *never = item_make(0), *timed = item_make(0);
    wsq_future *future;
    wsq_stats stats;
    memset(heard, 0, sizeof heard);
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1, .hooks = &hooks});
    runs->task.fn = short_run; /* so that the average is some 200 ns */
    runs->runs = 20000;
    item_spawn(pool, runs);
    wsq_pool_wait(pool);
    wsq_pool_stats(pool, &stats);
    CHECK(stats.average_task_ns < 3000);
    for (int i = 0; i < 3; i++) {
        (sleepers[i] = item_make(US))->pends = true;
        item_spawn(pool, sleepers[i]);
    }
    never->pends = timed->pends = true;
    item_spawn(pool, never);
    item_spawn(pool, timed);
    nap(MS);
    wakes->task.fn = wakes_three_run;
    item_spawn(pool, wakes);
    CHECK(wsq_task_cancel(&never->task));
    item_set_timer(pool, timed, MS);
    CHECK_EQ(wsq_submit(pool, call, NULL, &future), WSQ_OK);
    CHECK_EQ(wsq_future_get(future, NULL), WSQ_OK);
    CHECK_EQ(wsq_run(pool, jobs_run, NULL), WSQ_OK);
    nap(5 * MS);
    wsq_pool_wait(pool);
    wsq_pool_destroy(pool);
    sim.threads = 0; /* the next pool has these cores again */
}

/* The number of sleeps and thefts may depend on what a spawn takes, which depends on the hook. */
static bool depends(unsigned event) {
    return event == WSQ_EVENT_PARK || event == WSQ_EVENT_UNPARK || event == WSQ_EVENT_STEAL ||
           event == WSQ_EVENT_PUBLISH;
}

static void one_event_each(void) {
    enum { KINDS = WSQ_EVENT_UNBLOCK + 1 };
    unsigned all[KINDS], stolen;
    count_events(0);
    memcpy(all, heard, sizeof all);
    CHECK_EQ(all[WSQ_EVENT_WAKE], 5); /* one for the cancelled task, which was pending */
    CHECK_EQ(all[WSQ_EVENT_CANCEL], 1);
    CHECK_EQ(all[WSQ_EVENT_BLOCK], 1);
    stolen = all[WSQ_EVENT_STEAL];
    for (unsigned event = 0; event < KINDS; event++) {
        count_events(1u << event);
        for (unsigned other = 0; other < KINDS; other++) {
            if (other != event) CHECK_EQ(heard[other], 0);
            else if (depends(event)) CHECK(heard[event] != 0 || all[event] == 0);
            else if (stolen == 0 || (event != WSQ_EVENT_TASK_BEGIN && event != WSQ_EVENT_TASK_END))
                CHECK_EQ(heard[event], all[event]);
        }
    }
}

/* ---- the dump, word for word ---- */

static char dumped[4000];

/* Each address reads @, and times end with milliseconds. */
static void dump_is(wsq_pool *pool, const char *expected) {
    char *to = dumped;
    FILE *file = tmpfile();
    if (file == NULL) sim_fail("no file");
    wsq_pool_dump(pool, file);
    rewind(file);
    dumped[fread(dumped, 1, sizeof dumped - 1, file)] = '\0';
    fclose(file);
    for (const char *from = dumped; *from != '\0';) {
        if (from[0] != '0' || from[1] != 'x') {
            *to++ = *from++;
            if (to[-1] != '.') continue;
            for (int i = 0; i < 6; i++, from++)
                if (i < 3) *to++ = *from;
            continue;
        }
        for (from += 2; strchr("0123456789abcdef", *from) != NULL && *from != '\0';) from++;
        *to++ = '@';
    }
    *to = '\0';
    if (!CHECK(strcmp(dumped, expected) == 0)) fprintf(stderr, "%s", dumped);
}

static item *woken;

static wsq_poll fills_run(wsq_ctx ctx, wsq_task *task) {
    for (int i = 0; i < 2; i++) item_spawn(wsq_pool_of(ctx), item_make(US));
    item_wake(woken);
    compute(item_of(task)->ns);
    return WSQ_DONE;
}

static void waits_for_all(void *pool) { wsq_pool_wait((wsq_pool *)pool); }

#define DUMP_OF_POOL \
    "pool @, \"wsq\": running; workers 2, stand-ins not idle 0, guests 0\n" \
    "  tasks   10 spawned and not done, 0 held back\n" \
    "  lanes   high 0+, normal 0+, low 0+\n" \
    "  worker 0  awake, has run 3 tasks; queued 2, slot full, public jobs 0, pinned 0+\n" \
    "  worker 1  awake, has run 1 tasks; queued 0, slot empty, public jobs 0, pinned 0\n"

static void dump_of_all(void) {
    static const char numbers[] = DUMP_OF_POOL
        "  wait    a thread from outside waits for the pool\n"
        "  timer   in 1.990 s wakes @\n";
    static const char list[] = DUMP_OF_POOL
        "  wait    a thread from outside waits for the pool, for 0.010 s\n"
        "  timer   in 1.990 s wakes @, function @\n"
        "  task    @ runs, for 0.011 s, on worker 1, function @\n"
        "  task    @ runs, for 0.010 s, on worker 0, function @\n"
        "  task    @ waits for a wake, for 0.012 s, last on worker 0, function @\n"
        "  task    @ is queued, for 0.010 s, by worker 0, function @\n"
        "  task    @ is queued, for 0.010 s, by worker 0, function @\n"
        "  task    @ is queued, for 0.010 s, by worker 0, function @\n"
        "  task    @ is queued, for 0.010 s, by a thread from outside, function @\n"
        "  task    @ is queued, for 0.010 s, by a thread from outside, function @\n"
        "  task    @ is queued, for 0.010 s, by a thread from outside, function @\n"
        "  task    @ is queued, for 0.010 s, by a thread from outside, function @\n";
    for (int listed = 0; listed < 2; listed++) {
        wsq_pool *pool = pool_make(&(wsq_config){.workers = 2, .list_tasks = listed != 0});
        item *fills = item_make(50 * MS), *urgent = item_make(US), *low = item_make(US), *timed = item_make(US);
        woken = item_make(US);
        woken->pends = timed->pends = true;
        item_spawn(pool, woken);
        item_spawn(pool, timed);
        nap(MS);
        item_spawn_on(pool, 1, item_make(50 * MS));
        fills->task.fn = fills_run;
        nap(MS);
        item_spawn_on(pool, 0, fills);
        sim_core *waits_there = outside(waits_for_all, pool);
        nap(MS / 10);
        wsq_task_set_priority(&urgent->task, WSQ_HIGH);
        wsq_task_set_priority(&low->task, WSQ_LOW);
        item_spawn(pool, urgent);
        item_spawn(pool, low);
        item_spawn(pool, item_make(US));
        item_spawn_on(pool, 0, item_make(US));
        item_set_timer(pool, timed, 2 * SECOND + MS / 2);
        nap(10 * MS);
        dump_is(pool, listed ? list : numbers);
        wsq_timer_cancel(&timed->timer);
        item_wake(timed);
        sim_join(waits_there);
        wsq_pool_destroy(pool);
        sim.threads = 0; /* the next pool has these cores again */
    }
}

/* ---- a driver's dispatch must not wait ---- */

static bool has_events, dispatched;

static bool driver_wait(uint64_t timeout_ns, void *user) {
    (void)user;
    nap(timeout_ns < 100 * US ? timeout_ns : 100 * US);
    return has_events;
}

static void driver_dispatch(wsq_pool *pool, void *user) {
    static wsq_group group;
    has_events = false;
    dispatched = true;
    CHECK_EQ(wsq_group_init(&group, pool), WSQ_OK);
    CHECK_EQ(wsq_group_spawn(&group, &woken->task), WSQ_OK);
    CHECK_EQ(wsq_task_wait(&woken->task), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_group_wait(&group), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_future_get(*(wsq_future **)user, NULL), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_ERR_INVALID);
}

static void driver_interrupt(void *user) { (void)user; }

static void waits_in_a_dispatch(void) {
    wsq_future *future = NULL;
    const wsq_driver driver = {driver_wait, driver_dispatch, driver_interrupt, &future};
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2, .driver = &driver});
    woken = item_make(US);
    item_spawn_on(pool, 0, item_make(MS));
    item_spawn_on(pool, 1, item_make(MS));
    CHECK_EQ(wsq_submit(pool, call, NULL, &future), WSQ_OK);
    has_events = true;
    nap(5 * MS);
    CHECK(dispatched);
    CHECK_EQ(wsq_future_get(future, NULL), WSQ_OK);
    wsq_pool_wait(pool);
    wsq_pool_destroy(pool);
}

/* ---- how often it searched and slept ---- */

static void statistics_of_sleep(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    wsq_stats all;
    for (unsigned i = 1; i <= 3; i++) {
        wsq_pool_stats(pool, &all);
        CHECK_EQ(all.parks, i);
        CHECK_EQ(all.searches, i);
        CHECK_EQ(all.wakes_sent, i - 1);
        item_spawn(pool, item_make(US));
        nap(MS);
    }
    wsq_pool_destroy(pool);
}

/* A turn of fewer than 16 tasks is not measured. A new sample weighs a tenth, beside 50 us at the start. */
static void statistics_of_short_turns(void) {
    for (unsigned tasks = 15; tasks <= 16; tasks++) {
        wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
        wsq_task *list[16];
        wsq_stats all;
        for (unsigned i = 0; i < tasks; i++) list[i] = &item_make(10 * US)->task;
        CHECK_EQ(wsq_spawn_batch(pool, list, tasks), WSQ_OK);
        nap(MS);
        wsq_pool_stats(pool, &all);
        CHECK_EQ(all.run, tasks);
        CHECK_EQ((all.average_task_ns + 500) / 1000, tasks == 15 ? 50 : 46);
        wsq_pool_destroy(pool);
        sim.threads = 0; /* the next pool has these cores again */
    }
}

/* A line for each worker, and one for all. */
static void statistics_printed(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2});
    unsigned worker, lines = 0;
    char name[16];
    unsigned long long run, of_workers = 0;
    FILE *file = tmpfile();
    if (file == NULL) sim_fail("no file");
    for (unsigned i = 0; i < 10; i++) item_spawn_on(pool, i % 3 == 0, item_make(US));
    wsq_pool_wait(pool);
    wsq_stats_print(pool, file);
    rewind(file);
    while (fgets(dumped, sizeof dumped, file) != NULL) {
        lines++;
        if (sscanf(dumped, "%u %llu", &worker, &run) == 2) {
            CHECK_EQ(run, worker == 0 ? 6 : 4);
            of_workers += run;
        } else if (sscanf(dumped, "%15s %llu", name, &run) == 2) {
            CHECK(strcmp(name, "pool") == 0 && run == 10);
        }
    }
    fclose(file);
    CHECK_EQ(lines, 4);
    CHECK_EQ(of_workers, 10);
    wsq_pool_destroy(pool);
}

/* A wake-up that was lost: nobody is told of the task. The second look, park_timeout_ns later, rescues it. */
static void statistics_of_rescues(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1, .park_timeout_ns = MS});
    item *lost = item_make(US);
    wsq_stats all;
    uint32_t state = 0;
    CHECK_EQ(wsqi_spawn_begin(pool, NULL, 1), WSQ_OK);
    CHECK(wsqi_task_claim(&lost->task, &state, pool, 0));
    lost->spawned = now();
    wsqi_chain_push(&pool->lanes[WSQ_NORMAL].incoming, &lost->task, &lost->task);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    CHECK(lost->began - lost->spawned > MS && lost->began - lost->spawned < 2 * MS + 50 * US);
    wsq_pool_stats(pool, &all);
    CHECK_EQ(all.rescued, 1);
    wsq_pool_destroy(pool);
}

/* ---- all memory comes back ---- */

static uint64_t bytes_used, most_used;

static void *book_allocate(size_t size, size_t alignment, void *user) {
    char *p = (char *)sim_allocate(size + alignment);
    CHECK(user == &bytes_used);
    bytes_used += size;
    if (bytes_used > most_used) most_used = bytes_used;
    return p + (alignment - (uintptr_t)p % alignment) % alignment;
}

static void book_release(void *memory, size_t size, void *user) {
    CHECK(memory != NULL && user == &bytes_used);
    bytes_used -= size;
}

enum { WIDE = 1000 };

static void wide_init(void *partial, void *arg) { (void)arg, memset(partial, 0, WIDE); }

static void wide_body(wsq_ctx ctx, size_t begin, size_t end, void *partial, void *arg) {
    (void)ctx, (void)arg;
    for (size_t i = begin; i < end; i++) ((unsigned char *)partial)[i % WIDE]++;
    compute(50 * US);
}

static void wide_combine(void *left, const void *right, void *arg) {
    (void)arg;
    for (int i = 0; i < WIDE; i++) ((unsigned char *)left)[i] += ((const unsigned char *)right)[i];
}

static void wide_run(wsq_ctx ctx, void *arg) {
    const wsq_reducer reducer = {WIDE, wide_init, wide_body, wide_combine, NULL, arg != NULL};
    unsigned char result[WIDE];
    CHECK_EQ(wsq_reduce(ctx, 0, 100, 1, &reducer, result), WSQ_OK);
    for (int i = 0; i < WIDE; i++) CHECK_EQ(result[i], i < 100);
}

static wsq_poll many_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    for (int i = 0; i < 600; i++) item_spawn(wsq_pool_of(ctx), item_make(100));
    block_for(ctx, MS);
    return WSQ_DONE;
}

static void memory_comes_back(void) {
    const wsq_allocator allocator = {book_allocate, book_release, &bytes_used};
    for (int i = 0; i < 6; i++) {
        wsq_pool *pool = pool_make(&(wsq_config){
            .workers = 3, .order = (wsq_order)(i / 2), .list_tasks = i % 2 != 0, .allocator = &allocator});
        item *all[300], *many = item_make(0);
        wsq_future *futures[200];
        for (int k = 0; k < 300; k++) {
            (all[k] = item_make(100))->pends = true;
            item_spawn(pool, all[k]);
        }
        many->task.fn = many_run;
        item_spawn(pool, many);
        for (int k = 0; k < 200; k++) CHECK_EQ(wsq_submit(pool, call, NULL, &futures[k]), WSQ_OK);
        for (int k = 0; k < 200; k++) CHECK_EQ(wsq_future_get(futures[k], NULL), WSQ_OK);
        CHECK_EQ(wsq_run(pool, wide_run, NULL), WSQ_OK);
        CHECK_EQ(wsq_run(pool, wide_run, pool), WSQ_OK);
        FILE *file = tmpfile();
        if (file == NULL) sim_fail("no file");
        wsq_pool_dump(pool, file);
        fclose(file);
        for (int k = 0; k < 300; k++) item_wake(all[k]);
        wsq_pool_wait(pool);
        wsq_pool_destroy(pool);
        CHECK_EQ(bytes_used, 0);
        sim.threads = 0; /* the next pool has these cores again */
    }
    CHECK(most_used > 4 * WSQ_BLOCK_SIZE);
}

/* A loop of at most four elements a worker is shared before the clock was read. */
static void short_element(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    (void)ctx, (void)arg;
    compute((end - begin) * 500);
}

static void loop_of(wsq_ctx ctx, void *arg) { wsq_for(ctx, 0, *(size_t *)arg, 0, short_element, NULL); }

static void few_elements(void) {
    for (size_t n = 2; n < 12; n++) {
        wsq_pool *pool = pool_make(&(wsq_config){.workers = 2});
        wsq_stats all;
        CHECK_EQ(wsq_run(pool, loop_of, &n), WSQ_OK);
        wsq_pool_stats(pool, &all);
        CHECK_EQ(all.published != 0, n <= 8);
        wsq_pool_destroy(pool);
        sim.threads = 0; /* the next pool has these cores again */
    }
}

/* In a caller_runs pool the thread that waits hears of an event, whichever worker ran the last task. */
static void wait_for_pool(void *pool) { CHECK_EQ(wsq_pool_wait(pool), WSQ_OK); }
static void heard_where_the_caller_runs(void) {
    wsq_pool *pool = post_pool((wsq_config){.caller_runs = true, .workers = 8});
    item *pends = item_make(US);
    pends->pends = true;
    item_spawn(pool, pends);
    sim_core *waits = outside(wait_for_pool, pool);
    for (int i = 0; i < 20; i++) {
        item_spawn(pool, item_make(US));
        nap(60 * US);
        post_event(item_make(US));
        nap(60 * US);
        CHECK(post.count == (unsigned)i + 1 && post.longest < 100 * US);
    }
    item_wake(pends);
    sim_join(waits);
    wsq_pool_destroy(pool);
}

int main(void) {
    test_begin("exact_events");
    IN_WORLD(nodes);
    IN_WORLD(ends_only);
    IN_WORLD(one_event_each);
    IN_WORLD(dump_of_all);
    IN_WORLD(statistics_of_sleep);
    IN_WORLD(statistics_of_rescues);
    IN_WORLD(statistics_of_short_turns);
    IN_WORLD(statistics_printed);
    IN_WORLD(waits_in_a_dispatch);
    IN_WORLD(memory_comes_back);
    IN_WORLD(spawns);
    IN_WORLD(cancels);
    IN_WORLD(waits);
    IN_WORLD(few_elements);
    IN_WORLD(heard_where_the_caller_runs);
    return test_end();
}
