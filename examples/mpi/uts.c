/* uts: counts an unforeseeable tree (uts.h) on ranks x workers. Within a rank the pool balances: a
 * task holds some nodes that nobody has visited yet, and workers steal tasks. Between ranks a task
 * that is pinned to the worker that calls MPI does (balance.h): when its whole pool has run dry it
 * asks another rank; when it is asked, every task of its pool gives the older half of its nodes.
 *
 *     mpicc -O2 -pthread uts.c -o uts -lm && mpirun -n 3 ./uts -w 2 T3
 */
#include <mpi.h>

#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include "await.h"
#include "uts.h"
#include "balance.h"
#include "../trace.h"

enum {
    MPI_WORKER = 0,   /* whatever calls MPI is pinned to it */
    CHUNK_NODES = 128 /* 3 KiB; the pool's budget, 128 nodes, is about 30 us of work */
};

/* Nodes to visit, newest last. What does not fit goes to another chunk. */
struct chunk {
    wsq_task task;
    int count;
    uts_node nodes[CHUNK_NODES];
};

/* One per worker, so that counting needs no atomics. */
struct tally {
    _Alignas(WSQ_CACHELINE) uts_count count;
    uint64_t busy_ns;
};

/* What the pool's tasks put together for a thief. */
static struct {
    atomic_int asked;   /* tasks that shall still give */
    atomic_int awaited; /* those that have not given yet: the last one wakes `communicator` */
    atomic_int used;    /* nodes; may pass BALANCE_NODES, which is the end */
    bool collecting;    /* the communicator's own */
    uts_node nodes[BALANCE_NODES];
} gift;

/* Everything in it belongs to the task, which is pinned to MPI_WORKER. */
static struct {
    wsq_task task;
    wsq_timer timer;
    balance balance;
    await_mpi message, barrier;
    bool begun;
} communicator;

static uts_options options;
static uts_times times;
static wsq_pool *pool;
static await_poller poller;
static struct tally *tallies;
static atomic_int chunks; /* spawned and not done; 0: this rank is dry */
static int enough;        /* of them, so that no worker of the pool finds nothing */

/* ---- the tree, on all workers ---- */

static wsq_poll chunk_run(wsq_ctx ctx, wsq_task *task);

static void chunk_spawn(const uts_node *nodes, int count) {
    struct chunk *chunk = uts_allocate(sizeof *chunk);
    memcpy(chunk->nodes, nodes, (size_t)count * sizeof *nodes);
    chunk->count = count;
    wsq_task_init(&chunk->task, chunk_run);
    atomic_fetch_add(&chunks, 1);
    wsq_result result = wsq_spawn(pool, &chunk->task);
    if (result != WSQ_OK) uts_die(wsq_result_string(result));
}

/* The oldest: those with the largest trees below them. */
static void chunk_drop(struct chunk *chunk, int count) {
    chunk->count -= count;
    memmove(chunk->nodes, chunk->nodes + count, (size_t)chunk->count * sizeof *chunk->nodes);
}

static void chunk_split(struct chunk *chunk) {
    chunk_spawn(chunk->nodes, chunk->count / 2);
    chunk_drop(chunk, chunk->count / 2);
}

static void chunk_give(struct chunk *chunk) {
    if (atomic_load_explicit(&gift.asked, memory_order_relaxed) <= 0) return;
    if (atomic_fetch_sub(&gift.asked, 1) <= 0) return;
    int count = chunk->count / 2, at = atomic_fetch_add(&gift.used, count);
    if (at > BALANCE_NODES) at = BALANCE_NODES;
    if (count > BALANCE_NODES - at) count = BALANCE_NODES - at;
    memcpy(gift.nodes + at, chunk->nodes, (size_t)count * sizeof *chunk->nodes);
    chunk_drop(chunk, count);
    if (atomic_fetch_sub(&gift.awaited, 1) == 1) wsq_wake(&communicator.task);
}

/* The newest node: depth first. */
static void visit(struct chunk *chunk, uts_count *count) {
    uts_node node = chunk->nodes[--chunk->count];
    int children = uts_children(options.tree, &node);
    uts_counted(count, &node, children);
    for (int i = 0; i < children; i++) {
        if (chunk->count == CHUNK_NODES) chunk_split(chunk);
        chunk->nodes[chunk->count++] = uts_child(&node, i);
    }
}

static wsq_poll chunk_run(wsq_ctx ctx, wsq_task *task) {
    struct chunk *chunk = wsq_container_of(task, struct chunk, task);
    struct tally *tally = &tallies[wsq_worker_index(ctx)];
    uint64_t start = await_now();
    while (chunk->count > 0 && wsq_budget_take()) visit(chunk, &tally->count);
    chunk_give(chunk);
    if (chunk->count >= 2 && atomic_load(&chunks) < enough) chunk_split(chunk);
    tally->busy_ns += await_now() - start;
    if (chunk->count > 0) return WSQ_YIELD;
    free(chunk);
    if (atomic_fetch_sub(&chunks, 1) == 1) wsq_wake(&communicator.task);
    return WSQ_GONE;
}

/* ---- the other ranks, on MPI_WORKER ---- */

static void listen_again(void) {
    balance_listen(&communicator.balance, &communicator.message.request);
    await_request(&poller, &communicator.message, &communicator.task);
}

static void take_message(void) {
    balance *b = &communicator.balance;
    int count = balance_receive(b, &communicator.message.status, await_now());
    for (int first = 0; first < count; first += CHUNK_NODES / 2) {
        uts_node nodes[CHUNK_NODES / 2];
        int some = count - first < CHUNK_NODES / 2 ? count - first : CHUNK_NODES / 2;
        memcpy(nodes, b->words + first * UTS_WORDS, (size_t)some * sizeof *nodes);
        chunk_spawn(nodes, some);
    }
    listen_again();
}

/* Half of each task's nodes is half of what the pool has. */
static void begin_gift(void) {
    int count = atomic_load(&chunks);
    gift.collecting = true;
    atomic_store(&gift.used, 0);
    atomic_store(&gift.awaited, count);
    atomic_store(&gift.asked, count);
}

/* One thief after the other. Tasks that end before they gave leave the last one to say that the
 * rank is dry: then it gives what has come together. */
static void serve_thieves(void) {
    while (communicator.balance.thief_count > 0) {
        bool dry = atomic_load(&chunks) == 0;
        if (!dry && !gift.collecting) begin_gift();
        if (!dry && atomic_load(&gift.awaited) > 0) return;
        int count = gift.collecting ? atomic_load(&gift.used) : 0;
        balance_answer(&communicator.balance, gift.nodes,
                       count < BALANCE_NODES ? count : BALANCE_NODES);
        atomic_store(&gift.asked, 0);
        gift.collecting = false;
    }
}

/* It runs when a message is here, when the rank is dry, when a gift is complete, and when it is
 * time to ask again. */
static wsq_poll communicate(wsq_ctx ctx, wsq_task *task) {
    balance *b = &communicator.balance;
    (void)ctx;
    if (!communicator.begun) listen_again();
    communicator.begun = true;
    if (communicator.message.await.done) take_message();
    serve_thieves();
    wsq_timer_cancel(&communicator.timer);
    bool dry = atomic_load(&chunks) == 0;
    if (dry && b->thief_count == 0) {
        uint64_t pause = balance_dry(b, await_now());
        if (pause > 0 && wsq_timer_set(pool, &communicator.timer, task, pause) != WSQ_OK) return WSQ_YIELD;
    }
    if (balance_leave(b, dry, &communicator.barrier.request))
        await_request(&poller, &communicator.barrier, task);
    if (!b->leaving || !communicator.barrier.await.done) return WSQ_PENDING;
    balance_end(b, &communicator.message.request);
    return WSQ_DONE;
}

/* ---- the whole ---- */

static struct trace *open_trace(wsq_config *config, int rank) {
    static char path[4096]; /* trace.h keeps it */
    if (!options.trace) return NULL;
    snprintf(path, sizeof path, "%s.%d.json", options.trace, rank);
    struct trace *trace = trace_open(path);
    if (!trace) uts_die("no trace");
    trace_process(trace, "uts");
    config->hooks = trace_hooks(trace);
    trace_name(trace, (uintptr_t)chunk_run, "nodes");
    trace_name(trace, (uintptr_t)communicate, "communicate");
    trace_name(trace, (uintptr_t)await_poll, "poll");
    MPI_Barrier(MPI_COMM_WORLD); /* time zero of all ranks */
    trace->began_ns = trace_now();
    return trace;
}

static void give_up(await_poller *self) {
    (void)self;
    uts_die("another rank does not answer");
}

static void search(void) {
    wsq_config config = {.workers = (unsigned)options.workers};
    balance_begin(&communicator.balance, &times);
    int rank = communicator.balance.rank;
    struct trace *trace = open_trace(&config, rank);
    wsq_result result = wsq_pool_create(&pool, &config);
    if (result != WSQ_OK) uts_die(wsq_result_string(result));
    trace_watch(trace, pool);
    await_init(&poller, pool, MPI_WORKER);
    poller.limit_ns = (uint64_t)options.patience * 1000000000;
    poller.on_limit = give_up;
    wsq_task_init(&communicator.task, communicate);
    MPI_Barrier(MPI_COMM_WORLD);
    uint64_t start = await_now();
    double cpu = uts_cpu();
    uts_node root = uts_root(options.tree);
    if (rank == 0) chunk_spawn(&root, 1);
    result = wsq_spawn_on(pool, MPI_WORKER, &communicator.task);
    if (result != WSQ_OK) uts_die(wsq_result_string(result));
    wsq_pool_wait(pool);
    times.wall = 1e-9 * (double)(await_now() - start);
    times.cpu = uts_cpu() - cpu;
    times.polls = (double)poller.polls;
    times.sleeps = (double)poller.sleeps;
    wsq_pool_destroy(pool);
    trace_close(trace);
}

int main(int argc, char **argv) {
    uts_count count = {0, 0, 0};
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
    if (level < MPI_THREAD_SERIALIZED) uts_die("this MPI wants to be called by one thread only");
    if (!uts_arguments(&options, argc, argv)) {
        MPI_Finalize();
        return 2;
    }
    enough = 4 * (int)options.workers;
    tallies = aligned_alloc(WSQ_CACHELINE, (size_t)options.workers * sizeof *tallies);
    if (!tallies) uts_die("no memory");
    memset(tallies, 0, (size_t)options.workers * sizeof *tallies);
    search();
    for (long i = 0; i < options.workers; i++) {
        count.nodes += tallies[i].count.nodes;
        count.leaves += tallies[i].count.leaves;
        if (tallies[i].count.deepest > count.deepest) count.deepest = tallies[i].count.deepest;
        times.busy += 1e-9 * (double)tallies[i].busy_ns;
    }
    free(tallies);
    bool good = uts_report(&options, "wsq", &count, &times);
    MPI_Finalize();
    return good ? 0 : 1;
}
