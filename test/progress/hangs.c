/* Programs of a few lines in which a task waits for ever, or for as long as another one computes, beside
 * workers that sleep. Each runs in virtual time, so each has one outcome.
 *
 *   hangs          a line for each of them: "ok" or "hangs", and what was measured
 *   hangs 4 7b     only these
 *
 * It fails if one hangs that the table below calls mended. */
#include "item.h"

static char measured[128];
static bool verdict;

/* What a program has to say: the longest time that something lasted, beside the longest allowed. */
static void judge(const char *what, uint64_t ns, uint64_t most_ns) {
    bool good = ns <= most_ns;
    if (verdict && !good) /* the first that is too long */
        snprintf(measured, sizeof measured, "%s %.2f ms, at most %.2f", what, (double)ns / 1e6,
                 (double)most_ns / 1e6);
    verdict = verdict && good;
}

/* ---- 1: a wait re-runs a task that yields ---- */

/* Spawns one that yields until a second has run, and waits for the first. */
static wsq_poll twins_run(wsq_ctx ctx, wsq_task *task) {
    item *self = item_of(task), *yields = item_make(US), *ends = item_make(US);
    yields->until = ends;
    compute(self->ns);
    item_spawn(wsq_pool_of(ctx), yields);
    item_spawn(wsq_pool_of(ctx), ends);
    if (wsq_task_wait(&yields->task) != WSQ_OK) sim_fail("the wait failed");
    return WSQ_DONE;
}

static void twins(wsq_config config) {
    wsq_pool *pool = pool_make(&config);
    for (unsigned i = 0; i < config.workers; i++) {
        item *one = item_make(100 * US);
        one->task.fn = twins_run;
        item_spawn_on(pool, i, one);
    }
    if (wsq_pool_wait_for(pool, 3 * SECOND) != WSQ_OK) sim_fail("the pool is not done");
}

static void twins_one(void) { twins((wsq_config){.workers = 1}); }
static void twins_two(void) { twins((wsq_config){.workers = 2}); }
static void twins_lifo(void) { twins((wsq_config){.workers = 1, .order = WSQ_LIFO}); }
static void twins_caller(void) { twins((wsq_config){.workers = 1, .caller_runs = true}); }

enum { RESPAWNS = 2000 };

/* Members of a group, each of which spawns the next, for 20 ms; a WSQ_HIGH task and a timer come in
 * the middle. */
typedef struct respawner {
    item item;
    wsq_group *group;
    unsigned left;
} respawner;

static wsq_poll respawner_run(wsq_ctx ctx, wsq_task *task) {
    respawner *self = wsq_container_of(task, respawner, item.task);
    (void)ctx;
    compute(10 * US);
    if (self->left != 0) {
        respawner *next = (respawner *)sim_allocate(sizeof *next);
        *next = (respawner){.group = self->group, .left = self->left - 1};
        next->item.task.fn = respawner_run;
        if (wsq_group_spawn(self->group, &next->item.task) != WSQ_OK) sim_fail("no respawn");
    }
    return WSQ_DONE;
}

static wsq_poll respawns_wait(wsq_ctx ctx, wsq_task *task) {
    wsq_group group;
    (void)task;
    wsq_group_init(&group, wsq_pool_of(ctx));
    respawner *first = (respawner *)sim_allocate(sizeof *first);
    *first = (respawner){.group = &group, .left = RESPAWNS};
    first->item.task.fn = respawner_run;
    if (wsq_group_spawn(&group, &first->item.task) != WSQ_OK) sim_fail("no member");
    if (wsq_group_wait(&group) != WSQ_OK) sim_fail("the group failed");
    return WSQ_DONE;
}

static void respawns(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    item *waits = item_make(0), *high = item_make(US), *timed = item_make(US);
    waits->task.fn = respawns_wait;
    timed->pends = true;
    item_spawn(pool, timed);
    nap(MS);
    item_spawn(pool, waits);
    nap(MS);
    item_wake_after(pool, timed, MS);
    wsq_task_set_priority(&high->task, WSQ_HIGH);
    item_spawn(pool, high);
    wsq_pool_wait(pool);
    judge("a WSQ_HIGH task begins after", high->began - high->spawned, MS);
    judge("a timer of 1 ms fires after", timed->began - timed->spawned, 4 * MS);
}

/* ---- 2: what a blocked worker has queued ---- */

static item *behind[100];

static wsq_poll blocks_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    for (unsigned i = 0; i < 100; i++) item_spawn(wsq_pool_of(ctx), behind[i] = item_make(10 * US));
    wsq_block_begin(ctx);
    nap(200 * MS);
    wsq_block_end(ctx);
    return WSQ_DONE;
}

static void behind_a_block(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    item *blocks = item_make(0);
    uint64_t last = 0;
    blocks->task.fn = blocks_run;
    item_spawn(pool, blocks);
    for (unsigned i = 0; i < 4000; i++) { /* as many as a worker can do */
        nap(50 * US);
        item_spawn(pool, item_make(50 * US));
    }
    wsq_pool_wait(pool);
    for (unsigned i = 0; i < 100; i++) {
        uint64_t took = behind[i]->began - behind[i]->spawned;
        if (took > last) last = took;
    }
    judge("the last of 100 tasks behind a block begins after", last, 20 * MS);
}

static wsq_poll urgent_run(wsq_ctx ctx, wsq_task *task) {
    item *high = item_make(US), *ends = item_make(US);
    (void)task;
    high->until = ends;
    wsq_task_set_priority(&high->task, WSQ_HIGH);
    item_spawn(wsq_pool_of(ctx), ends);
    item_spawn(wsq_pool_of(ctx), high);
    wsq_task_wait(&high->task);
    return WSQ_DONE;
}

static void high_yields(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 1});
    item *waits = item_make(0);
    waits->task.fn = urgent_run;
    item_spawn(pool, waits);
    wsq_pool_wait(pool);
}

/* ---- 3: pinned to a worker that waits ---- */

static wsq_poll across_run(wsq_ctx ctx, wsq_task *task) {
    item *self = item_of(task), *next = item_make(US);
    unsigned other = 1 - wsq_worker_index(ctx);
    if (self->ns > 0) { /* the first: the second waits for one that is pinned here */
        next->task.fn = across_run;
        next->ns = 0;
    }
    item_spawn_on(wsq_pool_of(ctx), other, next);
    wsq_task_wait(&next->task);
    return WSQ_DONE;
}

static void pinned_across(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2});
    item *first = item_make(US);
    first->task.fn = across_run;
    item_spawn_on(pool, 0, first);
    wsq_pool_wait(pool);
}

/* ---- 4: a nested step leaves a task of which nobody is told ---- */

static item *untold, *blocker, *many[64];

static void many_spawn(wsq_pool *pool) {
    for (unsigned i = 0; i < 64; i++) item_spawn(pool, many[i] = item_make(10 * US));
    compute(100 * MS);
}

static void many_judge(void) {
    uint64_t last = 0;
    for (unsigned i = 0; i < 64; i++) {
        uint64_t took = many[i]->began - many[i]->spawned;
        if (took > last) last = took;
    }
    judge("the last of 64 tasks beside idle workers begins after", last, 5 * MS);
}

static wsq_poll gives_up_run(wsq_ctx ctx, wsq_task *task) {
    item *child = item_make(11 * MS); /* the time is up when it yields */
    (void)task;
    child->until = item_make(0);
    child->give_up = 100 * MS;
    item_spawn(wsq_pool_of(ctx), child);
    wsq_task_wait_for(&child->task, 10 * MS);
    many_spawn(wsq_pool_of(ctx));
    return WSQ_DONE;
}

static void untold_timeout(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 4});
    item *waits = item_make(0);
    waits->task.fn = gives_up_run;
    item_spawn(pool, waits);
    wsq_pool_wait(pool);
    many_judge();
}

/* Waits for what another worker computes, without a stand-in; one that yields is run meanwhile. */
static wsq_poll nests_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    compute(50 * US); /* the other worker has begun */
    item_spawn(wsq_pool_of(ctx), untold);
    wsq_task_wait(&blocker->task);
    many_spawn(wsq_pool_of(ctx));
    return WSQ_DONE;
}

static void nests(wsq_pool *pool) {
    item *waits = item_make(0);
    waits->task.fn = nests_run;
    blocker = item_make(5 * MS);
    untold = item_make(190 * US);
    untold->until = item_make(0);
    untold->give_up = 200 * MS;
    item_spawn_on(pool, 1, blocker);
    item_spawn_on(pool, 0, waits);
    while (wsq_pool_wait_for(pool, MS) == WSQ_ERR_TIMEOUT) {}
    many_judge();
}

static void untold_no_standins(void) {
    nests(pool_make(&(wsq_config){.workers = 2, .max_standins = WSQ_STANDINS_OFF}));
}

static void untold_lent(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2, .lend_only = true});
    for (int i = 0; i < 2; i++) outside(lend, pool);
    nap(MS);
    nests(pool);
}

/* ---- 5: a turn against the last look ---- */

static uint64_t late_by;  /* when the task from outside comes */
static uint64_t stall_at; /* which access after that takes 20 ms */
static unsigned earlier;   /* tasks that run before the turn */

static wsq_poll spawns_high_run(wsq_ctx ctx, wsq_task *task) {
    item *high = item_make(100 * MS);
    compute(item_of(task)->ns);
    wsq_task_set_priority(&high->task, WSQ_HIGH);
    item_spawn(wsq_pool_of(ctx), high);
    return WSQ_DONE;
}

/* A worker's turn finds a WSQ_HIGH task, and one from outside, for which the other worker was woken:
 * it searches in that moment. Some access takes 20 ms. */
static void turn_stalls(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2, .min_interval = 3, .max_interval = 3});
    item *late = item_make(US);
    for (unsigned i = 0; i <= earlier; i++) {
        item *pinned = item_make(10 * US);
        if (i == earlier) pinned->task.fn = spawns_high_run;
        item_spawn_on(pool, 0, pinned);
    }
    nap(late_by);
    sim_stall.left = stall_at;
    item_spawn(pool, late);
    wsq_pool_wait(pool);
    judge("a task beside a worker that sleeps begins after", late->began - late->spawned, 50 * MS);
}

static void turns(void);

/* ---- 6: WSQ_SHARED, a yield, a pinned task ---- */

static wsq_poll yields_once_run(wsq_ctx ctx, wsq_task *task) {
    item *self = item_of(task);
    if (self->runs++ != 0) {
        self->began = now();
        return WSQ_DONE;
    }
    compute(self->ns);
    item_spawn_on(wsq_pool_of(ctx), wsq_worker_index(ctx), item_make(100 * MS));
    self->spawned = now();
    return WSQ_YIELD;
}

static void shared_yield(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 4, .order = WSQ_SHARED});
    for (unsigned i = 0; i < 20; i++) {
        item *yields = item_make(i * 3 * US);
        yields->task.fn = yields_once_run;
        item_spawn(pool, yields);
        wsq_pool_wait(pool);
        judge("a task that yields before a pinned one runs again after",
              yields->began - yields->spawned, 2 * MS);
        nap(MS);
    }
}

/* ---- 7: a worker that spins ---- */

static const wsq_config spins = {.workers = 2, .spin_ns = 500 * MS};

static void spin_timer(void) {
    wsq_pool *pool = pool_make(&spins);
    item *timed = item_make(US);
    timed->pends = true;
    item_spawn(pool, timed);
    nap(MS);
    item_wake_after(pool, timed, MS);
    wsq_pool_wait(pool);
    judge("a timer of 1 ms fires after", timed->began - timed->spawned, 2 * MS);
}

static item *woken;

static wsq_poll wakes_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    (void)task;
    item_wake(woken);
    compute(100 * MS);
    return WSQ_DONE;
}

static void spin_slot(void) {
    wsq_pool *pool = pool_make(&spins);
    item *wakes = item_make(0);
    wakes->task.fn = wakes_run;
    woken = item_make(US);
    woken->pends = true;
    item_spawn(pool, woken);
    nap(MS);
    item_spawn(pool, wakes);
    wsq_pool_wait(pool);
    judge("a woken task beside a worker that spins begins after", woken->began - woken->spawned,
          2 * MS);
}

static void spin_dismiss(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2, .lend_only = true, .spin_ns = 500 * MS});
    sim_core *lent = outside(lend, pool);
    nap(5 * MS);
    uint64_t start = now();
    wsq_worker_dismiss(pool, 0);
    sim_join(lent);
    judge("a dismissed thread leaves after", now() - start, 2 * MS);
}

static item *other;

static wsq_poll waits_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    compute(20 * US);
    wsq_task_wait(&other->task);
    item_of(task)->began = now();
    return WSQ_DONE;
}

static void spin_wait(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2, .spin_ns = 500 * MS,
                                             .max_standins = WSQ_STANDINS_OFF});
    item *waits = item_make(0);
    waits->task.fn = waits_run;
    other = item_make(5 * MS);
    item_spawn_on(pool, 1, other);
    item_spawn_on(pool, 0, waits);
    wsq_pool_wait(pool);
    judge("a wait returns after the end of what it waits for by", waits->began - other->ended, MS);
}

/* ---- 8: guests that block ---- */

static void loop_piece(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    (void)ctx;
    (void)arg;
    compute((end - begin) * MS);
}

static void loop_root(wsq_ctx ctx, void *arg) { wsq_for(ctx, 0, 200, 1, loop_piece, arg); }

static item *never;

static void guest_waits(wsq_ctx ctx, void *arg) {
    (void)ctx;
    (void)arg;
    wsq_task_wait(&never->task);
}

static void guest_main(void *arg) { wsq_run((wsq_pool *)arg, guest_waits, NULL); }

static void blocked_guests(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 4});
    uint64_t alone = 0;
    never = item_make(0);
    never->pends = true;
    item_spawn(pool, never);
    for (unsigned guests = 0; guests <= 4; guests++) {
        if (guests > 0) outside(guest_main, pool);
        nap(2 * MS);
        uint64_t start = now();
        wsq_run(pool, loop_root, NULL);
        if (guests == 0) alone = now() - start;
        judge("a loop of 50 ms beside blocked guests takes", now() - start, alone + 5 * MS);
    }
    item_wake(never);
}

/* ---- 9: memory of futures ---- */

static void *nothing(void *arg) { return arg; }

static uint64_t grown;

static void futures_get(wsq_pool *pool, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        wsq_future *future;
        if (wsq_submit(pool, nothing, NULL, &future) != WSQ_OK) sim_fail("no future");
        wsq_future_get(future, NULL);
    }
}

static wsq_poll futures_run(wsq_ctx ctx, wsq_task *task) {
    wsq_pool *pool = wsq_pool_of(ctx);
    (void)task;
    futures_get(pool, 1000);
    size_t before = sim_arena.used;
    futures_get(pool, 20000);
    grown = sim_arena.used - before;
    return WSQ_DONE;
}

/* One that gets futures, before more tasks than a ring holds. */
static wsq_poll overflow_run(wsq_ctx ctx, wsq_task *task) {
    item *gets = item_make(0);
    (void)task;
    gets->task.fn = futures_run;
    item_spawn(wsq_pool_of(ctx), gets);
    for (unsigned i = 0; i < 300; i++) item_spawn(wsq_pool_of(ctx), item_make(0));
    return WSQ_DONE;
}

static void futures(wsq_config config) {
    wsq_pool *pool = pool_make(&config);
    item *overflows = item_make(0);
    overflows->task.fn = overflow_run;
    item_spawn(pool, overflows);
    wsq_pool_wait(pool);
    if (grown <= 4096) return;
    verdict = false;
    snprintf(measured, sizeof measured, "20,000 times (submit, get) took %.0f KiB",
             (double)grown / 1024);
}

static void futures_one(void) { futures((wsq_config){.workers = 1}); }
static void futures_shared(void) { futures((wsq_config){.workers = 4, .order = WSQ_SHARED}); }

/* ---- 10: an edge into another pool ---- */

static void edge_across(void) {
    wsq_pool *early = pool_make(&(wsq_config){.workers = 1});
    wsq_pool *late = pool_make(&(wsq_config){.workers = 1});
    item *first = item_make(1500 * MS), *second = item_make(US);
    wsq_edge edge;
    wsq_task_after(&second->task, &first->task, &edge);
    item_spawn(early, first);
    item_spawn(late, second);
    wsq_pool_destroy(late);
    if (second->ended != 0) return;
    verdict = false;
    snprintf(measured, sizeof measured,
             "wsq_pool_destroy returned before the task whose predecessor is in another pool");
}

/* ---- 11: tasks beside a loop ---- */

static wsq_poll long_loop(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    wsq_for(ctx, 0, 2000, 1, loop_piece, NULL);
    return WSQ_DONE;
}

static void tasks_beside_loop(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 4});
    item *loop = item_make(0), *normal = item_make(US), *low = item_make(US);
    loop->task.fn = long_loop;
    item_spawn(pool, loop);
    nap(5 * MS);
    wsq_task_set_priority(&low->task, WSQ_LOW);
    item_spawn(pool, normal);
    item_spawn(pool, low);
    wsq_pool_wait(pool);
    judge("a task beside a loop of 500 ms begins after", normal->began - normal->spawned, 50 * MS);
    judge("a WSQ_LOW task beside a loop of 500 ms begins after", low->began - low->spawned,
          100 * MS);
}

/* ---- 12: half may search ---- */

/* Of the threads that a pool has started: how many are awake. */
static unsigned awake(unsigned threads) {
    unsigned count = 0;
    for (unsigned i = 0; i < threads; i++) count += sim.cores[i].state != SIM_ASLEEP;
    return count;
}

static void searchers_judge(unsigned most, unsigned allowed) {
    if (most <= allowed) return;
    verdict = false;
    snprintf(measured, sizeof measured, "%u of %u workers search at once", most, 2 * allowed);
}

static void search_end(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 8});
    item *items[8];
    uint64_t end = 0;
    for (unsigned i = 0; i < 8; i++) item_spawn_on(pool, i, items[i] = item_make(200 * US));
    nap(100 * US);
    for (unsigned i = 0; i < 8; i++) items[i]->ns = 0; /* they compute already */
    while (now() < MS) {
        bool all = true;
        for (unsigned i = 0; i < 8; i++) {
            all = all && items[i]->ended != 0;
            if (items[i]->ended > end) end = items[i]->ended;
        }
        if (all) break;
        compute(US / 10);
    }
    compute(3 * US); /* who may not search sleeps by now */
    searchers_judge(awake(8), 4);
}

static void search_spin(void) {
    pool_make(&(wsq_config){.workers = 8, .spin_ns = 10 * MS});
    nap(5 * MS);
    searchers_judge(awake(8), 4);
}

/* ---- all of them ---- */

static const struct hang {
    const char *number;
    void (*run)(void);
    uint64_t limit_ms; /* virtual: whoever is not done by then hangs */
    bool mended;
    const char *what;
} hangs[] = {
    {"1a", twins_one, 50, false, "one worker waits for a task that yields until another has run"},
    {"1b", twins_two, 50, false, "two workers do so at the same time"},
    {"1c", twins_lifo, 50, false, "one worker of a WSQ_LIFO pool does so"},
    {"1d", twins_caller, 50, false, "a caller_runs pool does so"},
    {"1e", respawns, 200, false, "a wait for a group whose tasks respawn"},
    {"2a", behind_a_block, 1000, false, "tasks queued by a worker that blocks, beside others"},
    {"2b", high_yields, 50, false, "a worker waits for a WSQ_HIGH task that yields"},
    {"3", pinned_across, 50, false, "a task pinned to a worker that waits"},
    {"4a", untold_timeout, 500, false, "a wait that times out, then 64 tasks"},
    {"4b", untold_no_standins, 500, false, "a wait without stand-ins, then 64 tasks"},
    {"4c", untold_lent, 500, false, "the same on lent threads"},
    {"5", turns, 0, false, "a turn beside the last look of a searcher"},
    {"6", shared_yield, 5000, false, "WSQ_SHARED: a yield before a pinned task"},
    {"7a", spin_timer, 1000, false, "a timer beside workers that spin"},
    {"7b", spin_slot, 1000, false, "a woken task in a slot beside a worker that spins"},
    {"7c", spin_dismiss, 1000, false, "a lent thread that spins is dismissed"},
    {"7d", spin_wait, 1000, false, "a wait without stand-ins that spins"},
    {"8", blocked_guests, 2000, false, "a loop beside guests that wait"},
    {"9a", futures_one, 1000, false, "memory of futures, one worker, after an overflow"},
    {"9b", futures_shared, 1000, false, "memory of futures, WSQ_SHARED"},
    {"10", edge_across, 5000, false, "a pool is destroyed beside an edge from another"},
    {"11", tasks_beside_loop, 2000, false, "tasks beside a long loop"},
    {"12a", search_end, 10, false, "half of the workers search, after tasks that end at once"},
    {"12b", search_spin, 50, false, "half of the workers search, with spin_ns"},
};

enum { HANGS = sizeof hangs / sizeof *hangs };

static void hang_run(void (*run)(void), uint64_t limit_ms) {
    measured[0] = '\0';
    verdict = true;
    if (world_run(run, limit_ms * MS)) return;
    verdict = false;
    snprintf(measured, sizeof measured, "not done after %u ms", (unsigned)limit_ms);
}

/* A stall of 20 ms at each of 200 accesses, for some times at which the task may come. */
static void turns(void) {
    verdict = true;
    sim_stall.ns = 20 * MS;
    for (earlier = 0; earlier < 3; earlier++)
        for (uint64_t at = 9 * US; at < 15 * US; at += US) {
            late_by = earlier * 10 * US + at;
            for (stall_at = 1; stall_at <= 200 && verdict; stall_at++) hang_run(turn_stalls, 500);
        }
    sim_stall.left = 0;
}

static bool wanted(const struct hang *hang, int argc, char **argv) {
    if (argc == 1) return true;
    for (int i = 1; i < argc; i++) {
        size_t length = strlen(argv[i]);
        if (strncmp(hang->number, argv[i], length) == 0 &&
            (hang->number[length] < '0' || hang->number[length] > '9'))
            return true;
    }
    return false;
}

int main(int argc, char **argv) {
    unsigned count = 0, broken = 0, failed = 0;
    for (unsigned i = 0; i < HANGS; i++) {
        const struct hang *hang = &hangs[i];
        if (!wanted(hang, argc, argv)) continue;
        if (hang->limit_ms == 0) hang->run();
        else hang_run(hang->run, hang->limit_ms);
        printf("fault %s: %s: %s%s%s%s\n", hang->number, verdict ? "ok" : "hangs", hang->what,
               measured[0] != '\0' ? ": " : "", measured,
               verdict == hang->mended ? "" : verdict ? " (set its `mended`)" : " (FAILED: it was mended)");
        fflush(stdout);
        count++;
        broken += !verdict;
        failed += !verdict && hang->mended;
    }
    printf("%u of %u hang\n", broken, count);
    return failed != 0;
}
