/* Blocks that come later than the pool: a stand-in's and a guest's. A thread that reaches one by a number, from
 * a count, a bitmap, a hint or the watcher's word, sees where it lies, and sees it filled. */
#define WSQ_GUESTS 2
#include "explore_small.h"
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include "explore_pool.h"

static wsq_pool *pool;
static int gate, begun, ended;

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

static void begin(unsigned workers, wsq_config config) {
    gate = begun = ended = 0;
    config.max_standins = 1;
    pool = explore_pool_make(workers, config);
}

static void spawn(int i, void (*run)(wsq_ctx ctx)) {
    wsq_task_init(&acts[i].task, act_run);
    acts[i].run = run;
    explore_check(wsq_spawn(pool, &acts[i].task) == WSQ_OK);
}

static void end(int count) {
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
    spawn(2, nothing);
    spawn(3, nothing);
    explore_meet(&gate, 2);
}

static void near_standin(void) {
    static const wsq_topology topology = {.place = place_of};
    wsq_config config = {.topology = &topology};
    begin(2, config);
    spawn(0, blocks_later);
    spawn(1, spawns_two);
    end(4);
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
    begin(1, config);
    timed_runs = 0;
    wsq_task_init(&timed, timed_run);
    memset(&timer, 0, sizeof timer);
    explore_check(wsq_spawn(pool, &timed) == WSQ_OK);
    explore_wait_quiet();
    explore_start(sets_early, NULL);
    explore_check(wsq_timer_set(pool, &timer, &timed, 5000) == WSQ_OK);
    spawn(0, blocks);
    end(2);
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
    begin(1, config);
    explore_start(runs_one, NULL);
    if (explore_choose(2)) spawn(0, nothing);
    else ended++;
    runs_one(NULL);
    end(3);
}

int main(void) {
    explore_random("block: a near stand-in", near_standin, 8000);
    explore_random("block: a stand-in watches", standin_watches, 8000);
    explore_random("block: two guests", two_guests, 8000);
    return explore_end();
}
