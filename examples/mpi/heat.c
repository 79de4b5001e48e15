/* heat: a heat equation on ranks x workers. The rows of a rank are cut into blocks, each one a task
 * that computes a step as soon as its neighbours have computed the step before: nobody waits for
 * everybody. The neighbours of a rank's outer blocks are other ranks: there a task sends the edge
 * row, awaits the other's, and the inner blocks are computed meanwhile.
 *
 *     mpicc -O2 -pthread heat.c -o heat && mpirun -n 3 ./heat -w 2 -c -o heat.ppm
 *
 * heat -h lists the arguments (heat.h). */
#include <mpi.h>

#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include "await.h"
#include "heat.h"
#include "../trace.h"

enum { MPI_WORKER = 0 }; /* whatever calls MPI is pinned to it */

static struct heat heat = {
    .rows = 2000, .columns = 2000, .steps = 200, .workers = 2, .patience = 60};
static struct trace *trace;
static await_poller poller;
static atomic_uint_fast64_t busy_ns;

/* Rows first .. last - 1. */
struct block {
    wsq_task task;
    struct block *above, *below; /* NULL: a halo, or a wall */
    struct halo *halo_above, *halo_below;
    long first, last;
    int step;               /* the next one */
    unsigned parties;       /* itself and its neighbours */
    atomic_uint arrived[2]; /* those of them whose step of this parity is over */
};

/* One side of the rank: after each step but the last, the edge row goes out and the other's comes
 * in. Everything but `edge_step` belongs to tasks pinned to MPI_WORKER. */
struct halo {
    wsq_task task;
    struct block *edge;
    atomic_int edge_step; /* the edge block has computed this one */
    int peer, step;
    long sent_row, ghost_row;
    bool begun, sending;
    await_mpi send, receive;
    uint64_t sent_ns, sent_busy_ns; /* when the edge row went out */
    double flight, hidden;          /* for heat_times */
};

static struct block *blocks;
static long block_count;
static struct halo halos[2];

/* ---- the blocks, on all workers ---- */

/* The last one to arrive wakes the block. No neighbour is more than one step ahead: the counter of
 * this parity has been reset before the first of them comes again. */
static void arrive(struct block *block, int step) {
    if (!block) return;
    if (atomic_fetch_add(&block->arrived[step & 1], 1) + 1 < block->parties) return;
    atomic_store(&block->arrived[step & 1], 0);
    wsq_wake(&block->task);
}

static void edge_ready(struct halo *halo, int step) {
    if (!halo) return;
    atomic_store(&halo->edge_step, step);
    wsq_wake(&halo->task);
}

static void show_progress(const struct block *block, int step) {
    if (!heat.progress || heat.rank != 0 || block != blocks) return;
    if (step * 10L / heat.steps == (step - 1) * 10L / heat.steps) return;
    fprintf(stderr, "heat: %3ld %%\n", step * 100L / heat.steps);
}

static wsq_poll block_run(wsq_ctx ctx, wsq_task *task) {
    struct block *block = wsq_container_of(task, struct block, task);
    int step = block->step++;
    uint64_t start = await_now();
    (void)ctx;
    for (long row = block->first; row < block->last; row++) heat_step(&heat, step, row);
    atomic_fetch_add_explicit(&busy_ns, await_now() - start, memory_order_relaxed);
    show_progress(block, step);
    if (step == heat.steps) return WSQ_DONE;
    edge_ready(block->halo_above, step);
    edge_ready(block->halo_below, step);
    arrive(block->above, step);
    arrive(block->below, step);
    arrive(block, step);
    return WSQ_PENDING;
}

/* ---- the halos, on MPI_WORKER ---- */

static uint64_t total_busy(void) {
    return atomic_load_explicit(&busy_ns, memory_order_relaxed);
}

static unsigned halo_lane(const struct halo *halo) {
    return TRACE_LANES - 2 + (halo == &halos[1]);
}

/* Before the other side can have sent it, so that the row is written where it belongs at once. */
static void halo_receive(struct halo *halo) {
    MPI_Irecv(heat_row(&heat, halo->step, halo->ghost_row) + 1, (int)heat.columns, MPI_DOUBLE,
              halo->peer, 0, MPI_COMM_WORLD, &halo->receive.request);
    await_request(&poller, &halo->receive, &halo->task);
}

static void halo_send(struct halo *halo) {
    MPI_Isend(heat_row(&heat, halo->step, halo->sent_row) + 1, (int)heat.columns, MPI_DOUBLE,
              halo->peer, 0, MPI_COMM_WORLD, &halo->send.request);
    await_request(&poller, &halo->send, &halo->task);
    halo->sending = true;
    trace_span(trace, halo_lane(halo), true, (uintptr_t)halo_send);
    halo->sent_ns = await_now();
    halo->sent_busy_ns = total_busy();
}

static void halo_arrived(struct halo *halo) {
    halo->flight += 1e-9 * (double)(await_now() - halo->sent_ns);
    halo->hidden += 1e-9 * (double)(total_busy() - halo->sent_busy_ns) / (double)heat.workers;
    halo->sending = false;
    trace_span(trace, halo_lane(halo), false, (uintptr_t)halo_send);
    arrive(halo->edge, halo->step++);
}

/* It runs when the edge block has computed a step, and when a request is complete. */
static wsq_poll halo_run(wsq_ctx ctx, wsq_task *task) {
    struct halo *halo = wsq_container_of(task, struct halo, task);
    (void)ctx;
    if (!halo->begun) halo_receive(halo);
    halo->begun = true;
    if (!halo->sending && atomic_load(&halo->edge_step) == halo->step) halo_send(halo);
    if (!halo->sending || !halo->send.await.done || !halo->receive.await.done) return WSQ_PENDING;
    halo_arrived(halo);
    if (halo->step == heat.steps) return WSQ_DONE;
    halo_receive(halo);
    return WSQ_PENDING;
}

/* ---- the whole ---- */

static void link_halo(struct halo *halo, int peer, struct block *edge, long sent_row,
                      long ghost_row) {
    *halo = (struct halo){
        .edge = edge, .peer = peer, .step = 1, .sent_row = sent_row, .ghost_row = ghost_row};
    wsq_task_init(&halo->task, halo_run);
    edge->parties++;
}

/* Blocks of about 64 K cells, but at least eight for each worker: 50 to 100 us each. */
static void cut_blocks(void) {
    long fair = heat.count / (8 * heat.workers), small = (1 << 16) / heat.columns;
    if (heat.per_block == 0) heat.per_block = fair < small ? fair : small;
    if (heat.per_block == 0) heat.per_block = 1;
    block_count = (heat.count + heat.per_block - 1) / heat.per_block;
    blocks = heat_allocate((size_t)block_count, sizeof *blocks);
    for (long i = 0; i < block_count; i++) {
        struct block *block = &blocks[i];
        long last = 1 + (i + 1) * heat.per_block;
        *block = (struct block){.first = 1 + i * heat.per_block, .step = 1, .parties = 1};
        block->last = last < heat.count + 1 ? last : heat.count + 1;
        if (i > 0) block->above = &blocks[i - 1];
        if (i + 1 < block_count) block->below = &blocks[i + 1];
        block->parties += (block->above ? 1u : 0u) + (block->below ? 1u : 0u);
        wsq_task_init(&block->task, block_run);
    }
    if (heat_has_peer(&heat, heat.rank - 1)) {
        link_halo(&halos[0], heat.rank - 1, &blocks[0], 1, 0);
        blocks[0].halo_above = &halos[0];
    }
    if (heat_has_peer(&heat, heat.rank + 1)) {
        link_halo(&halos[1], heat.rank + 1, &blocks[block_count - 1], heat.count, heat.count + 1);
        blocks[block_count - 1].halo_below = &halos[1];
    }
}

/* From both edges inwards, and the edges overtake what is inside: their rows leave early. */
static void spawn_all(wsq_pool *pool) {
    wsq_result result = WSQ_OK;
    if (heat.steps == 0 || block_count == 0) return;
    wsq_task_set_priority(&blocks[0].task, WSQ_HIGH);
    wsq_task_set_priority(&blocks[block_count - 1].task, WSQ_HIGH);
    for (int side = 0; side < 2 && heat.steps > 1; side++) {
        if (halos[side].edge && result == WSQ_OK)
            result = wsq_spawn_on(pool, MPI_WORKER, &halos[side].task);
    }
    for (long i = 0; i < block_count && result == WSQ_OK; i++) {
        long near = i % 2 == 0 ? i / 2 : block_count - 1 - i / 2;
        result = wsq_spawn(pool, &blocks[near].task);
    }
    if (result != WSQ_OK) heat_die(wsq_result_string(result));
}

static void open_trace(wsq_config *config) {
    static char path[4096]; /* trace.h keeps it */
    if (!heat.trace) return;
    snprintf(path, sizeof path, "%s.%d.json", heat.trace, heat.rank);
    trace = trace_open(path);
    if (!trace) heat_die("no trace");
    trace_process(trace, "heat");
    config->hooks = trace_hooks(trace);
    trace_name(trace, (uintptr_t)block_run, "block");
    trace_name(trace, (uintptr_t)halo_run, "halo");
    trace_name(trace, (uintptr_t)await_poll, "poll");
    trace_name(trace, (uintptr_t)halo_send, "under way");
    trace_name(trace, halo_lane(&halos[0]), "halo above");
    trace_name(trace, halo_lane(&halos[1]), "halo below");
    MPI_Barrier(MPI_COMM_WORLD); /* time zero of all ranks */
    trace->began_ns = trace_now();
}

static void give_up(await_poller *self) {
    (void)self;
    heat_die("another rank does not answer");
}

static void solve(struct heat_times *times) {
    wsq_config config = {.workers = (unsigned)heat.workers};
    wsq_pool *pool;
    open_trace(&config);
    wsq_result result = wsq_pool_create(&pool, &config);
    if (result != WSQ_OK) heat_die(wsq_result_string(result));
    trace_watch(trace, pool);
    await_init(&poller, pool, MPI_WORKER);
    poller.limit_ns = (uint64_t)heat.patience * 1000000000;
    poller.on_limit = give_up;
    MPI_Barrier(MPI_COMM_WORLD);
    uint64_t start = await_now();
    double cpu = heat_cpu();
    if (heat.progress && heat.rank == 0) fputs("heat:   0 %\n", stderr);
    spawn_all(pool);
    wsq_pool_wait(pool);
    times->wall = 1e-9 * (double)(await_now() - start);
    times->cpu = heat_cpu() - cpu;
    times->busy = 1e-9 * (double)total_busy();
    times->polls = (double)poller.polls;
    times->sleeps = (double)poller.sleeps;
    for (int side = 0; side < 2; side++) {
        times->flight += halos[side].flight;
        times->hidden += halos[side].hidden;
    }
    wsq_pool_destroy(pool);
    trace_close(trace);
}

int main(int argc, char **argv) {
    struct heat_times times = {0, 0, 0, 0, 0, 0, 0};
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
    if (level < MPI_THREAD_SERIALIZED) heat_die("this MPI wants to be called by one thread only");
    if (!heat_arguments(&heat, argc, argv)) {
        MPI_Finalize();
        return 2;
    }
    heat_divide(&heat);
    cut_blocks();
    solve(&times);
    bool good = heat_report(&heat, "wsq", &times);
    MPI_Finalize();
    return good ? 0 : 1;
}
