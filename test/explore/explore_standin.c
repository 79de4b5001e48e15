/* Threads in the explorer: workers that wait or block inside tasks, and stand-ins that work in their place; the
 * memory of threads that come later than the pool; which threads move to another processor. */
#define WSQ_GUESTS 2
#define wsqi_cpu_leave() ((void)sent_on++)
static int sent_on; /* threads that were sent to another processor */
#include "explore_small.h"
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include "explore_items.h"

/* Waits for task 1, which another thread has to run. */
static wsq_poll run_blocked(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    explore_check(wsq_task_wait(&items[1].task) == WSQ_OK);
    explore_check(wsqi_get(&items[1].letter) == 1);
    it->done = 1;
    return WSQ_DONE;
}

/* Sometimes the system starts no thread. */
static void wait_inside(void) {
    wsq_config config = {.max_standins = 1 + (unsigned)explore_choose(2)};
    unsigned workers = 1 + (unsigned)explore_choose(2);
    begin(workers, config);
    explore_threads_left = explore_choose(3) ? EXPLORE_FIBERS : 0;
    items[0].task.fn = items[2].task.fn = run_blocked;
    items[1].waits = true;
    spawn(1);
    spawn(0);
    if (explore_choose(2)) spawn(2);
    else items[2].done = 1;
    if (explore_choose(2)) explore_wait_quiet();
    spawn(3);
    send(1);
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    end(4);
}

/* For a while, again and again; it may work meanwhile. */
static wsq_poll run_impatient(wsq_ctx ctx, wsq_task *task) {
    wsq_result result;
    (void)ctx;
    do result = wsq_task_wait_for(&items[1].task, 200000);
    while (result == WSQ_ERR_TIMEOUT);
    explore_check(result == WSQ_OK && wsqi_get(&items[1].letter) == 1);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static void impatient_inside(void) {
    wsq_config config = {.max_standins = explore_choose(2) ? 1 : WSQ_STANDINS_OFF};
    begin(1 + (unsigned)explore_choose(2), config);
    items[0].task.fn = run_impatient;
    items[1].waits = true;
    spawn(1);
    spawn(0);
    spawn(2);
    send(1);
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    end(3);
}

/* The same for task 4. */
static wsq_poll run_blocked_too(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    explore_check(wsq_task_wait(&items[4].task) == WSQ_OK);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

/* The one stand-in goes from the first that waits to the second, which worked meanwhile. */
static void two_wait_inside(void) {
    wsq_config config = {.max_standins = 1};
    begin(2, config);
    items[0].task.fn = run_blocked;
    items[2].task.fn = run_blocked_too;
    items[1].waits = items[4].waits = true;
    spawn(1);
    spawn(4);
    spawn(0);
    spawn(2);
    if (explore_choose(2)) explore_wait_quiet();
    send(1);
    if (explore_choose(2)) explore_wait_quiet();
    spawn(3);
    explore_check(wsq_task_wait(&items[3].task) == WSQ_OK);
    send(4);
    end(5);
}

/* In a call that blocks: until task 1 has run, on a stand-in; then once more. */
static wsq_poll run_blocking(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    wsq_block_begin(ctx);
    explore_meet(&gate, 2);
    wsq_block_end(ctx);
    spawn(2);
    if (it->runs++ == 0 && explore_choose(2)) {
        wsq_block_begin(ctx);
        wsq_block_end(ctx);
    }
    it->done = 1;
    return WSQ_DONE;
}

static void blocking_call(void) {
    wsq_config config = {.max_standins = 1};
    begin(1, config);
    items[0].task.fn = run_blocking;
    items[1].company = 2;
    spawn(0);
    if (explore_choose(2)) explore_wait_quiet();
    spawn(1);
    end(3);
}

/* It leaves behind what it wakes, for any thread that is left, and not only for a watcher. */
static wsq_poll run_leaving(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    explore.rested = 0;
    if (it == &items[4]) send(3);
    wsq_block_begin(ctx);
    explore_meet(&gate, it->company);
    explore_check(explore.rested < WSQI_WATCH_NS / 2);
    wsq_block_end(ctx);
    it->done = 1;
    return WSQ_DONE;
}

/* The stand-in was needed before, and sleeps. */
static void blocking_again(void) {
    wsq_config config = {.max_standins = 1};
    begin(1, config);
    items[0].task.fn = run_blocking;
    items[1].company = 2;
    spawn(0);
    spawn(1);
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    explore_wait_quiet();
    gate = 0;
    items[3].waits = true;
    items[3].company = items[4].company = 2;
    items[4].task.fn = run_leaving;
    spawn(3);
    explore_wait_quiet();
    spawn(4);
    end(5);
}

/* The stand-in is another's. */
static void both_blocking(void) {
    wsq_config config = {.max_standins = 1};
    begin(2, config);
    items[0].task.fn = items[4].task.fn = run_leaving;
    items[0].company = items[3].company = items[4].company = 3;
    items[3].waits = true;
    spawn(3);
    spawn(0);
    explore_wait_quiet();
    spawn(4);
    items[1].done = items[2].done = 1;
    end(5);
}

/* In a blocking call it wakes 3, which wakes 1, and waits for that. */
static wsq_poll run_waiting_in_call(wsq_ctx ctx, wsq_task *task) {
    wsq_block_begin(ctx);
    explore.rested = 0;
    send(3);
    explore_check(wsq_task_wait(&items[1].task) == WSQ_OK);
    explore_check(explore.rested < WSQI_WATCH_NS / 2);
    wsq_block_end(ctx);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static void waiting_in_a_call(void) {
    wsq_config config = {.max_standins = 1};
    begin(1 + (unsigned)explore_choose(2), config);
    items[0].task.fn = run_waiting_in_call;
    items[1].waits = true;
    items[3].task.fn = run_sending;
    items[3].sends = 1;
    spawn(1);
    spawn(3);
    explore_wait_quiet();
    spawn(0);
    items[2].done = 1;
    end(4);
}

/* The stand-in has something in its slot when it is needed no more. */
static wsq_poll run_filling_slot(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    send(2);
    explore_meet(&gate, 2);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static void standin_leaves_work(void) {
    wsq_config config = {.max_standins = 1};
    begin(1, config);
    items[0].task.fn = run_leaving;
    items[0].company = 2;
    items[1].task.fn = run_filling_slot;
    items[2].waits = true;
    spawn(2);
    spawn(0);
    explore_wait_quiet();
    spawn(1);
    end(3);
}

static void blocking_against_shutdown(void) {
    wsq_config config = {.max_standins = 1};
    begin(1, config);
    items[0].task.fn = run_blocked;
    spawn(1);
    spawn(0);
    explore_check(wsq_pool_shutdown(pool, explore_choose(2) ? WSQ_CANCEL : WSQ_DRAIN) == WSQ_OK);
    explore_pool_end(pool);
}

/* Two pools that wait for each other, each with one worker. */
static wsq_poll run_here_and_there(wsq_ctx ctx, wsq_task *task) {
    item *it = wsq_container_of(task, item, task);
    (void)ctx;
    explore_check(wsq_task_wait(&it->after[0]->task) == WSQ_OK);
    explore_check(wsqi_get(&it->after[0]->letter) == 1);
    wsqi_set(&it->letter, 1);
    it->done = 1;
    return WSQ_DONE;
}

static void two_pools(void) {
    wsq_config config = {.max_standins = 1};
    begin(1, config);
    wsq_pool *other = explore_pool_make(1, config);
    items[0].task.fn = items[1].task.fn = run_here_and_there;
    items[0].after[0] = &items[1];
    items[1].after[0] = &items[2];
    items[2].waits = true;
    spawn(2);
    explore_check(wsq_spawn(other, &items[1].task) == WSQ_OK);
    spawn(0);
    if (explore_choose(2)) explore_wait_quiet();
    send(2);
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    explore_wait_quiet();
    explore_check_parked(other);
    explore_pool_end(other);
    end(3);
}

/* ---- blocks that come later than the pool, a stand-in's and a guest's: a thread that reaches one by a number,
 * from a count, a bitmap, a hint or the watcher's word, sees where it lies, and sees it filled ---- */

static int begun, ended;

typedef struct act {
    wsq_task task;
    void (*run)(wsq_ctx ctx);
} act;

static act acts[4];

static wsq_poll act_run(wsq_ctx ctx, wsq_task *task) {
    wsq_container_of(task, act, task)->run(ctx);
    ended++;
    return WSQ_DONE;
}

static void begin_acts(unsigned workers, wsq_config config) {
    gate = begun = ended = 0;
    config.max_standins = 1;
    pool = explore_pool_make(workers, config);
}

static void spawn_act(int i, void (*run)(wsq_ctx ctx)) {
    wsq_task_init(&acts[i].task, act_run);
    acts[i].run = run;
    explore_check(wsq_spawn(pool, &acts[i].task) == WSQ_OK);
}

static void end_acts(int count) {
    explore_wait_quiet();
    for (int i = 0; i < 16 && ended < count; i++) explore_wait_quiet();
    explore_check(ended == count);
    explore_check_parked(pool);
    explore_pool_end(pool);
}

static void nothing(wsq_ctx ctx) { (void)ctx; }

static void blocks(wsq_ctx ctx) {
    wsq_block_begin(ctx);
    explore_meet(&gate, 2);
    wsq_block_end(ctx);
}

/* ---- a worker wakes a near thread, a stand-in that another one has started ---- */

static uint32_t place_of(unsigned worker, void *user) {
    (void)user;
    return worker == 0 ? 1u << 16 : 0;
}

static void blocks_later(wsq_ctx ctx) {
    explore_meet(&begun, 2);
    wsq_block_begin(ctx);
    explore_meet(&gate, 2);
    wsq_block_end(ctx);
}

/* It runs before there is a stand-in, and spawns when there is one, perhaps asleep. */
static void spawns_two(wsq_ctx ctx) {
    (void)ctx;
    explore_meet(&begun, 2);
    for (int i = 0; i < 8; i++) wsqi_pause();
    spawn_act(2, nothing);
    spawn_act(3, nothing);
    explore_meet(&gate, 2);
}

static void near_standin(void) {
    static const wsq_topology topology = {.place = place_of};
    wsq_config config = {.topology = &topology};
    begin_acts(2, config);
    spawn_act(0, blocks_later);
    spawn_act(1, spawns_two);
    end_acts(4);
}

/* ---- a stand-in watches: a thread that sets an earlier timer gives it a token ---- */

static wsq_task timed;
static wsq_timer timer;
static int timed_runs;

static wsq_poll timed_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    if (timed_runs++ == 0) return WSQ_PENDING;
    blocks(ctx);
    ended++;
    return WSQ_DONE;
}

static void sets_early(void *arg) {
    (void)arg;
    for (uint64_t delay = 4000; delay > 0; delay -= 1000)
        explore_check(wsq_timer_set(pool, &timer, &timed, delay) == WSQ_OK);
}

static void standin_watches(void) {
    wsq_config config = {.workers = 1};
    begin_acts(1, config);
    timed_runs = 0;
    wsq_task_init(&timed, timed_run);
    memset(&timer, 0, sizeof timer);
    explore_check(wsq_spawn(pool, &timed) == WSQ_OK);
    explore_wait_quiet();
    explore_start(sets_early, NULL);
    explore_check(wsq_timer_set(pool, &timer, &timed, 5000) == WSQ_OK);
    spawn_act(0, blocks);
    end_acts(2);
}

/* ---- a thread asks what all threads do, while one comes ---- */

static void asks(void *arg) {
    static FILE *nowhere;
    wsqi_dump dump;
    (void)arg;
    if (nowhere == NULL) nowhere = fopen("/dev/null", "w");
    dump.pool = pool;
    dump.file = nowhere;
    if (explore_choose(2)) wsqi_dump_pool(&dump);
    else (void)wsqi_waits_for_outside(pool);
}

static void asked_meanwhile(void) {
    wsq_config config = {.workers = 1};
    begin_acts(1, config);
    explore_start(asks, NULL);
    spawn_act(0, blocks);
    spawn_act(1, blocks);
    asks(NULL);
    end_acts(2);
}

/* ---- two threads bring their own blocks, while a worker looks for jobs ---- */

typedef struct small { wsq_job job; } small;

static void small_run(wsq_ctx ctx, wsq_job *job) { (void)ctx, (void)job, ended++; }

static void forks_one(wsq_ctx ctx, void *arg) {
    small one = {.job = {.fn = NULL}};
    (void)arg;
    wsq_fork(&ctx, &one.job, small_run);
    wsqi_pause();
    wsq_join(&ctx, &one.job);
}

static void runs_one(void *arg) {
    (void)arg;
    explore_check(wsq_run(pool, forks_one, NULL) == WSQ_OK);
}

static void two_guests(void) {
    wsq_config config = {.workers = 1};
    begin_acts(1, config);
    explore_start(runs_one, NULL);
    if (explore_choose(2)) spawn_act(0, nothing);
    else ended++;
    runs_one(NULL);
    end_acts(3);
}

/* ---- a thread that was lent stays the user's: what runs on its processor, and where it runs, is not the
 * pool's to decide ---- */

enum { TIMES = 3 };

static wsq_task forkers[TIMES];
static int moved_ever;

static void meets(wsq_ctx ctx, wsq_job *job) {
    (void)ctx, (void)job;
    explore_meet(&gate, 2);
}

/* Its job runs beside it, on a worker that was woken for that: there is one processor only. */
static wsq_poll forks(wsq_ctx ctx, wsq_task *task) {
    wsq_job job = {.fn = NULL};
    (void)task;
    gate = 0;
    wsq_fork(&ctx, &job, meets);
    explore_meet(&gate, 2);
    wsq_join(&ctx, &job);
    return WSQ_DONE;
}

static void lends(void *arg) {
    (void)arg;
    explore_check(wsq_worker_enter(pool) == WSQ_OK);
}

static void woken_for_jobs(bool lent) {
    const wsq_config config = {.lend_only = lent, .max_standins = WSQ_STANDINS_OFF};
    sent_on = 0;
    pool = explore_pool_make(2, config);
    for (int i = 0; lent && i < 2; i++) explore_start(lends, NULL);
    for (int i = 0; i < TIMES; i++) {
        explore_wait_quiet();
        wsq_task_init(&forkers[i], forks);
        explore_check(wsq_spawn(pool, &forkers[i]) == WSQ_OK);
        explore_check(wsq_task_wait(&forkers[i]) == WSQ_OK);
    }
    explore_check(wsq_pool_shutdown(pool, WSQ_DRAIN) == WSQ_OK);
    explore_pool_end(pool);
}

static void own_threads(void) {
    woken_for_jobs(false);
    moved_ever += sent_on;
}

static void lent_threads(void) {
    woken_for_jobs(true);
    explore_check(sent_on == 0);
}

/* A thread that sleeps without a permit wakes up by itself, for a pinned task, while the others go idle. No thread
 * asks it then to publish the job that it forks. */
static int hogs_begun, hogs_end, job_runs;
static wsq_job forked;

static void run_forked(wsq_ctx ctx, wsq_job *job) {
    (void)ctx, (void)job;
    explore_meet(&job_runs, 2);
}

static wsq_poll run_hog(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    explore_meet(&hogs_begun, 2); /* both have a permit */
    explore_meet(&hogs_end, 3);
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static wsq_poll run_loser(wsq_ctx ctx, wsq_task *task) {
    wsqi_worker *self = wsqi_local(pool);
    wsq_block_begin(ctx);
    explore_meet(&gate, 2);
    wsq_block_end(ctx);
    wsqi_store_rlx(&self->front.fork_trap, wsqi_full_mark(self)); /* as wsqi_publish leaves the traps */
    wsqi_store_rlx(&self->front.join_trap, wsqi_entry_at(self, wsqi_range_bottom(self->range.v)));
    wsqi_fence_sc();
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static wsq_poll run_forker(wsq_ctx ctx, wsq_task *task) {
    explore_wait_quiet(); /* the hogs have ended, and their threads sleep */
    wsqi_fence_sc(); /* what they did before is visible */
    if (wsqi_local(pool)->permit && wsqi_free_permits(pool->permits.v) != 0 && wsqi_idle(pool->permits.v) != 0) {
        wsq_fork(&ctx, &forked, run_forked);
        explore_meet(&job_runs, 2); /* only another thread can run the job */
        wsq_join(&ctx, &forked);
    }
    wsq_container_of(task, item, task)->done = 1;
    return WSQ_DONE;
}

static void sleeper_forks(void) {
    wsq_config config = {.max_standins = 1};
    hogs_begun = hogs_end = job_runs = 0;
    begin(2, config);
    items[0].task.fn = run_loser;
    items[1].task.fn = items[2].task.fn = run_hog;
    items[3].task.fn = run_forker;
    wsq_task_set_worker(&items[0].task, 0);
    wsq_task_set_worker(&items[3].task, 0);
    spawn(0);
    explore_wait_quiet(); /* it blocks, and there is a stand-in */
    spawn(1);
    spawn(2);
    explore_wait_quiet();
    explore_meet(&gate, 2); /* now worker 0 finds no permit, and sleeps */
    explore_wait_quiet();
    bool first = explore_choose(2);
    if (first) explore_meet(&hogs_end, 3);
    spawn(3);
    if (!first) explore_meet(&hogs_end, 3);
    explore_check(wsq_pool_wait(pool) == WSQ_OK);
    end(4);
}

int main(void) {
    explore_random("compose: wait inside", wait_inside, 2000);
    explore_random("compose: impatient inside", impatient_inside, 2000);
    explore_random("compose: two wait inside", two_wait_inside, 2000);
    explore_random("compose: a blocking call", blocking_call, 2000);
    explore_random("compose: blocking again", blocking_again, 2000);
    explore_random("compose: both blocking", both_blocking, 2000);
    explore_random("compose: waiting in a call", waiting_in_a_call, 1500);
    explore_random("compose: a stand-in leaves work", standin_leaves_work, 1500);
    explore_random("compose: blocking against shutdown", blocking_against_shutdown, 2000);
    explore_random("compose: two pools", two_pools, 2000);
    explore_random("block: a near stand-in", near_standin, 8000);
    explore_random("block: a stand-in watches", standin_watches, 8000);
    explore_random("block: asked meanwhile", asked_meanwhile, 2000);
    explore_random("block: two guests", two_guests, 8000);
    explore_random("block: a sleeper forks", sleeper_forks, 20000);
    if (explore_random("lent: the pool's own threads move", own_threads, 1000) && moved_ever == 0) {
        printf("no point is reached\n"); /* then the other scenario shows nothing */
        return 1;
    }
    explore_random("lent: a thread that was lent stays", lent_threads, 1000);
    return explore_end();
}
