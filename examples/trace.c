/* trace: a timeline of a small program, as a file for ui.perfetto.dev or trace.html.
 *     cc -O2 -pthread trace.c -o trace && ./trace
 *
 * Five scenes: tasks of uneven length from outside; a tree of tasks that grows in one worker's ring
 * and is stolen from there; a recursion of jobs; a few tasks that wake each other in a circle; and
 * tasks that block, or wait for one that does. What it takes to record them is in trace.h. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "command.h"
#include "trace.h"

enum { UNEVEN = 60, TREE = 127, RING = 6, ROUNDS = 240, WAITING = 3 };

struct piece {
    wsq_task task;
    struct piece *next; /* in the circle */
    unsigned index;
};

static struct piece pieces[TREE];
static atomic_int rounds = ROUNDS;

static void work_for(unsigned us) {
    for (uint64_t until = trace_now() + 1000 * (uint64_t)us; trace_now() < until;) {}
}

static void pause_ms(long ms) {
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

static wsq_poll uneven(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    work_for(20 + wsq_container_of(task, struct piece, task)->index * 37 % 300);
    return WSQ_DONE;
}

static wsq_poll grow(wsq_ctx ctx, wsq_task *task) {
    unsigned child = 2 * wsq_container_of(task, struct piece, task)->index + 1;
    if (child < TREE) {
        wsq_spawn(wsq_pool_of(ctx), &pieces[child].task);
        wsq_spawn(wsq_pool_of(ctx), &pieces[child + 1].task);
    }
    work_for(60);
    return WSQ_DONE;
}

/* When the rounds are over each is done, and tells the next, which is not or has told already. */
static wsq_poll pass_on(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    work_for(15);
    bool more = atomic_fetch_sub(&rounds, 1) > 0; /* before the wake: then the next one sees it */
    wsq_wake(&wsq_container_of(task, struct piece, task)->next->task);
    return more ? WSQ_PENDING : WSQ_DONE;
}

/* The first sleeps outside the scheduler, each of the others waits for the one before it. */
static wsq_poll wait_or_sleep(wsq_ctx ctx, wsq_task *task) {
    unsigned index = wsq_container_of(task, struct piece, task)->index;
    work_for(30);
    wsq_block_begin(ctx);
    if (index == 0) pause_ms(1);
    wsq_block_end(ctx);
    if (index > 0) wsq_task_wait(&pieces[index - 1].task);
    work_for(30);
    return WSQ_DONE;
}

static void scene(wsq_pool *pool, wsq_task_fn fn, unsigned prepared, unsigned spawned) {
    for (unsigned i = 0; i < prepared; i++) {
        pieces[i] = (struct piece){.next = &pieces[(i + 1) % RING], .index = i};
        wsq_task_init(&pieces[i].task, fn);
    }
    for (unsigned i = 0; i < spawned; i++) wsq_spawn(pool, &pieces[i].task);
    wsq_pool_wait(pool);
    pause_ms(2); /* everybody sleeps: the scenes stand apart */
}

struct sum_job {
    wsq_job job;
    unsigned depth, result;
};

static unsigned sum(wsq_ctx ctx, unsigned depth);

static void sum_run(wsq_ctx ctx, wsq_job *job) {
    struct sum_job *self = wsq_container_of(job, struct sum_job, job);
    self->result = sum(ctx, self->depth);
}

static unsigned sum(wsq_ctx ctx, unsigned depth) {
    if (depth == 0) {
        work_for(20);
        return 1;
    }
    struct sum_job left = {.depth = depth - 1};
    wsq_fork(&ctx, &left.job, sum_run);
    unsigned right = sum(ctx, depth - 1);
    return right + (wsq_reclaim(&ctx, &left.job) ? sum(ctx, depth - 1) : left.result);
}

static void sum_start(wsq_ctx ctx, void *arg) {
    unsigned *value = arg;
    *value = sum(ctx, *value);
}

static const char help[] =
    "trace [-l] [-w workers] [file]\n"
    "Writes a timeline of a small program (trace.json), for trace.html or ui.perfetto.dev.\n"
    "  -l  keep the latest events when there are too many, and not the first\n"
    "  -w  workers, 1 to 1024 (one per usable core)\n";

int main(int argc, char **argv) {
    unsigned workers = 0;
    bool latest = false;
    for (int option; (option = command_option(argc, argv, "lw:", help)) != 0;) {
        if (option == 'l') latest = true;
        else workers = command_number("workers", command.value, 1, TRACE_LANES);
    }
    const char *path = command_next(argc, argv);
    command_end(argc, argv);
    struct trace *trace = trace_open(path ? path : "trace.json");
    if (latest) trace_keep_latest(trace);
    trace_process(trace, "trace");
    wsq_config config = {.workers = workers, .hooks = trace_hooks(trace)};
    wsq_pool *pool;
    if (!trace || wsq_pool_create(&pool, &config) != WSQ_OK) return 1;
    trace_watch(trace, pool);
    trace_name(trace, (uintptr_t)uneven, "uneven");
    trace_name(trace, (uintptr_t)grow, "tree");
    trace_name(trace, (uintptr_t)pass_on, "pass on");
    trace_name(trace, (uintptr_t)sum_run, "job");
    trace_name(trace, (uintptr_t)wait_or_sleep, "wait");

    scene(pool, uneven, UNEVEN, UNEVEN);
    scene(pool, grow, TREE, 1);
    unsigned leaves = 8;
    wsq_run(pool, sum_start, &leaves);
    pause_ms(2);
    scene(pool, pass_on, RING, RING);
    scene(pool, wait_or_sleep, WAITING, WAITING);

    wsq_pool_destroy(pool);
    return trace_close(trace) && leaves == 256 ? 0 : 1;
}
