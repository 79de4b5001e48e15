/* Programs of a few lines in which a task waits for ever, or for as long as another one computes, beside
 * workers that sleep. Each runs in virtual time, so each has one outcome.
 *
 *   hangs          a line for each of them: "ok" or "hangs", and what was measured
 *   hangs 4 7b     only these
 *
 * It fails if one hangs that the table below calls mended. */
#include "hangs_permits.h"

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
    if (grown <= 32768) return; /* what other workers keep for later */
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

static void three_pieces(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    (void)ctx;
    (void)arg;
    compute((end - begin) * 50 * MS);
}

static wsq_poll short_loop(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    wsq_for(ctx, 0, 3, 1, three_pieces, NULL);
    return WSQ_DONE;
}

/* Two workers and three pieces: the one that gave the last piece away sleeps in its join. */
static void task_beside_join(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 2});
    item *loop = item_make(0), *late = item_make(US);
    loop->task.fn = short_loop;
    item_spawn(pool, loop);
    nap(60 * MS);
    item_spawn(pool, late);
    wsq_pool_wait(pool);
    judge("a task beside a worker that sleeps in a join begins after", late->began - late->spawned,
          2 * MS);
}

/* Five tasks sleep in joins, with their permits. The sixth worker has public jobs, and computes. A joiner that is
 * called for its permit finds such a job. */
static unsigned joins_began;

static void blocking_piece(wsq_ctx ctx, wsq_job *job) {
    (void)job;
    joins_began++;
    wsq_block_begin(ctx);
    nap(200 * MS);
    wsq_block_end(ctx);
}

static wsq_poll sleeps_in_join_run(wsq_ctx ctx, wsq_task *task) {
    wsq_job job;
    unsigned before = joins_began;
    (void)task;
    wsq_fork(&ctx, &job, blocking_piece);
    while (joins_began == before) compute(US);
    wsq_join(&ctx, &job);
    return WSQ_DONE;
}

static void long_piece(wsq_ctx ctx, wsq_job *job) {
    (void)ctx;
    (void)job;
    compute(50 * MS);
}

static wsq_poll public_jobs_run(wsq_ctx ctx, wsq_task *task) {
    wsq_job jobs[4];
    (void)task;
    compute(MS);
    for (int i = 0; i < 4; i++) {
        if (i == 3) compute(100 * US); /* the first is stolen, which sets the traps */
        wsq_fork(&ctx, &jobs[i], long_piece);
    }
    compute(60 * MS);
    for (int i = 3; i >= 0; i--) wsq_join(&ctx, &jobs[i]);
    return WSQ_DONE;
}

static void task_beside_joins(void) {
    wsq_pool *pool = pool_make(&(wsq_config){.workers = 6});
    item *forks = item_make(0), *late = item_make(US);
    for (int i = 0; i < 5; i++) {
        item *joins = item_make(0);
        joins->task.fn = sleeps_in_join_run;
        item_spawn(pool, joins);
        nap(2 * MS);
    }
    forks->task.fn = public_jobs_run;
    item_spawn(pool, forks);
    nap(5 * MS);
    item_spawn(pool, late);
    wsq_pool_wait(pool);
    judge("a task beside a joiner that finds a job, and another that sleeps, begins after",
          late->began - late->spawned, MS);
}

/* ---- 12: how long workers search ---- */

/* How often the worker has looked at another one. */
static uint64_t looks_of(wsq_pool *pool, unsigned worker) {
    wsq_stats all;
    wsq_worker_stats(pool, worker, &all);
    return all.steal_attempts;
}

/* Tasks of all workers end at the same time. Each worker looks at the others in as many rounds as a search has, and
 * twice at the lead and first looks; then it sleeps. */
static void search_end(void) {
    enum { WORKERS = 8, MOST = (WSQI_SPIN_ROUNDS + 2) * (WORKERS - 1) };
    wsq_pool *pool = pool_make(&(wsq_config){.workers = WORKERS});
    uint64_t before[WORKERS], least = UINT64_MAX, most = 0;
    for (unsigned i = 0; i < WORKERS; i++) item_spawn_on(pool, i, item_make(200 * US));
    nap(100 * US);
    for (unsigned i = 0; i < WORKERS; i++) before[i] = looks_of(pool, i);
    nap(200 * US);
    for (unsigned i = 0; i < WORKERS; i++) {
        uint64_t looks = looks_of(pool, i) - before[i];
        if (looks < least) least = looks;
        if (looks > most) most = looks;
        verdict = verdict && sim.cores[i].state == SIM_ASLEEP;
    }
    verdict = verdict && least > WORKERS && most <= MOST;
    snprintf(measured, sizeof measured, "%u to %u looks a worker", (unsigned)least, (unsigned)most);
}

/* ---- all of them ---- */

static void newest(void);

static const struct hang {
    const char *number;
    void (*run)(void);
    uint64_t limit_ms; /* virtual: a program that is not done by then hangs */
    bool mended;
    const char *what;
} hangs[] = {
    {"1a", twins_one, 50, true, "one worker waits for a task that yields until another has run"},
    {"1b", twins_two, 50, true, "two workers do so at the same time"},
    {"1c", twins_lifo, 50, true, "one worker of a WSQ_LIFO pool does so"},
    {"1d", twins_caller, 50, true, "a caller_runs pool does so"},
    {"1e", respawns, 200, true, "a wait for a group whose tasks respawn"},
    {"2a", behind_a_block, 1000, true, "tasks queued by a worker that blocks, beside others"},
    {"2b", high_yields, 50, true, "a worker waits for a WSQ_HIGH task that yields"},
    {"2c", order_beside_yields, 1000, true, "the order of one thread's tasks beside some that yield"},
    {"2d", order_without_permit, 1000, true, "the order of tasks around a block, beside a stand-in"},
    {"2e", newest, 0, true, "the order of tasks from outside, whose thread waits for the newest"},
    {"3a", pinned_across, 50, true, "a task pinned to a worker that waits"},
    {"3b", pinned_run, 50, true, "a task pinned to a worker that waits inside wsq_run"},
    {"4a", untold_timeout, 500, true, "a wait that times out, then 64 tasks"},
    {"4b", untold_no_standins, 500, true, "a wait without stand-ins, then 64 tasks"},
    {"4c", untold_lent, 500, true, "the same on lent threads"},
    {"5", turns, 0, true, "a turn beside the last look of a searcher"},
    {"6", shared_yield, 5000, true, "WSQ_SHARED: a yield before a pinned task"},
    {"7a", spin_timer, 1000, true, "a timer beside workers that spin"},
    {"7b", spin_slot, 1000, true, "a woken task in a slot beside a worker that spins"},
    {"7c", spin_dismiss, 1000, true, "a lent thread that spins is dismissed"},
    {"7d", spin_wait, 1000, true, "a wait without stand-ins that spins"},
    {"7e", slot_beside_calls, 1000, true, "a woken task in a slot beside workers with little to do"},
    {"7g", slot_beside_small_tasks, 1000, true, "the same, with a small task now and then"},
    {"7f", slot_beside_longer_calls, 1000, true, "the same, with longer calls and more workers"},
    {"8a", blocked_guests, 2000, true, "a loop beside guests that wait"},
    {"8b", guest_and_spinner, 2000, true, "a loop of a guest beside workers that spin"},
    {"8c", awaited_loop, 1000, true, "a loop in a task that runs inside a wait"},
    {"8d", guest_in_deep_joins, 1000, true, "a job beside a guest that sleeps in a deep join"},
    {"9a", futures_one, 1000, true, "memory of futures, one worker, after an overflow"},
    {"9b", futures_shared, 1000, true, "memory of futures, WSQ_SHARED"},
    {"10", edge_across, 5000, true, "a pool is destroyed beside an edge from another"},
    {"11b", task_beside_join, 1000, true, "a task beside a worker that sleeps in a join"},
    {"11c", task_beside_joins, 1000, true, "a task beside joins that sleep, one of which finds a job"},
    {"12a", search_end, 50, true, "workers search without end, after tasks that end at once"},
    {"13a", pinned_yields, 50, true, "a pinned task that yields, while its worker waits for another"},
    {"13b", guest_pumps, 500, true, "a guest that waits in a caller_runs pool"},
    {"14a", waits_without_permit, 500, true, "a thread without a permit queues a task and waits again"},
    {"14b", behind_a_long_task, 500, true, "a task behind a long one, beside a worker that is never dry"},
    {"14c", timer_beside_pinned, 500, true, "a timer, while a pinned task yields on top of a wait"},
    {"14d", stolen_in_a_search, 500, true, "a thread steals a job, which loses the permit, in a search"},
    {"14e", stolen_in_a_wait, 500, true, "the same in a wait, without another stand-in"},
    {"13c", order_beside_block, 500, true, "tasks queued by a worker that blocks for a moment"},
    {"15", standins_for_tasks, 500, true, "as many stand-ins as tasks that have waited, or blocked"},
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

/* A stall of 60 us at each of 250 accesses. */
static void newest(void) {
    verdict = true;
    for (stall_at = 1; stall_at <= 250 && verdict; stall_at++) hang_run(newest_waits, 3000);
    sim_stall.left = sim_stall.only = 0;
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
