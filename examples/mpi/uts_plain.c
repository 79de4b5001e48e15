/* uts_plain: uts.c as it is written without wsq, to compare it with: a stack of nodes for each
 * thread, a bag that the threads of a rank share, and thread 0 talks to the other ranks (balance.h)
 * between two rounds of work.
 *
 *     mpicc -O2 uts_plain.c -o uts_mpi -lm                    MPI alone: -w is not used
 *     mpicc -O2 -fopenmp uts_plain.c -o uts_openmp -lm        MPI + OpenMP: -w threads
 */
#include <mpi.h>

#include <sched.h>
#include "uts.h"
#include "balance.h"

#ifdef _OPENMP
#include <omp.h>
#endif

enum { ROUND = 128, SHARE = 64 }; /* nodes: visited at once; moved at once */

struct stack {
    int count, room;
    uts_node *nodes; /* newest last */
};

static uts_options options;
static uts_times times;
static balance communicator;
static struct stack bag; /* it, and what is below: in "critical" */
static int idle;         /* threads that found nothing */
static bool over;

static void push(struct stack *stack, const uts_node *nodes, int count) {
    if (stack->count + count > stack->room) {
        stack->room = 2 * (stack->count + count);
        stack->nodes = realloc(stack->nodes, (size_t)stack->room * sizeof *nodes);
        if (!stack->nodes) uts_die("no memory");
    }
    memcpy(stack->nodes + stack->count, nodes, (size_t)count * sizeof *nodes);
    stack->count += count;
}

/* The oldest. */
static void drop(struct stack *stack, int count) {
    stack->count -= count;
    memmove(stack->nodes, stack->nodes + count, (size_t)stack->count * sizeof *stack->nodes);
}

static void move(struct stack *from, struct stack *to, int count) {
    push(to, from->nodes, count);
    drop(from, count);
}

static void visit_round(struct stack *stack, uts_count *count) {
    for (int i = 0; i < ROUND && stack->count > 0; i++) {
        uts_node node = stack->nodes[--stack->count];
        int children = uts_children(options.tree, &node);
        uts_counted(count, &node, children);
        for (int child = 0; child < children; child++) {
            uts_node next = uts_child(&node, child);
            push(stack, &next, 1);
        }
    }
}

/* Thread 0, in "critical". True: every rank is done. */
static bool communicate(struct stack *mine, MPI_Request *message, MPI_Request *barrier) {
    balance *b = &communicator;
    uint64_t now = (uint64_t)(MPI_Wtime() * 1e9);
    MPI_Status status;
    int here = 0;
    MPI_Test(message, &here, &status);
    if (here) {
        int count = balance_receive(b, &status, now);
        if (count > 0) push(&bag, (const uts_node *)(const void *)b->words, count);
        balance_listen(b, message);
    }
    while (b->thief_count > 0) {
        int spare = mine->count / 2 < BALANCE_NODES ? mine->count / 2 : BALANCE_NODES;
        move(mine, &bag, spare);
        int count = (bag.count + 1) / 2 < BALANCE_NODES ? (bag.count + 1) / 2 : BALANCE_NODES;
        balance_answer(b, bag.nodes, count);
        drop(&bag, count);
    }
    bool dry = idle == options.workers && bag.count == 0;
    if (dry) balance_dry(b, now);
    balance_leave(b, dry, barrier);
    if (b->leaving) MPI_Test(barrier, &here, MPI_STATUS_IGNORE);
    return b->leaving && here;
}

/* In "critical": to and from the bag. `was_idle`: this thread is counted. */
static void share(struct stack *mine, bool *was_idle) {
    if (mine->count == 0) move(&bag, mine, bag.count < SHARE ? bag.count : SHARE);
    else if (bag.count < SHARE * (int)options.workers && mine->count > 1 && options.workers > 1)
        move(mine, &bag, mine->count / 2 < SHARE ? mine->count / 2 : SHARE);
    bool now_idle = mine->count == 0;
    idle += now_idle - *was_idle;
    *was_idle = now_idle;
}

static void work(int thread, uts_count *total) {
    struct stack mine = {0, 0, NULL};
    uts_count count = {0, 0, 0};
    bool was_idle = false, stop = false;
    double busy = 0;
    MPI_Request message, barrier = MPI_REQUEST_NULL;
    if (thread == 0) balance_listen(&communicator, &message);
    while (!stop) {
        double start = MPI_Wtime();
        visit_round(&mine, &count);
        busy += MPI_Wtime() - start;
#pragma omp critical
        {
            share(&mine, &was_idle);
            if (thread == 0) over = communicate(&mine, &message, &barrier);
            stop = over;
        }
        if (was_idle) sched_yield();
    }
    if (thread == 0) balance_end(&communicator, &message);
    free(mine.nodes);
#pragma omp critical
    {
        total->nodes += count.nodes;
        total->leaves += count.leaves;
        if (count.deepest > total->deepest) total->deepest = count.deepest;
        times.busy += busy;
    }
}

int main(int argc, char **argv) {
    uts_count count = {0, 0, 0};
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    if (!uts_arguments(&options, argc, argv)) {
        MPI_Finalize();
        return 2;
    }
    balance_begin(&communicator, &times);
    uts_node root = uts_root(options.tree);
    if (communicator.rank == 0) push(&bag, &root, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime(), cpu = uts_cpu();
#ifdef _OPENMP
    const char *how = "openmp";
#pragma omp parallel num_threads(options.workers)
    {
#pragma omp single
        options.workers = omp_get_num_threads();
        work(omp_get_thread_num(), &count);
    }
#else
    const char *how = "mpi";
    options.workers = 1;
    work(0, &count);
#endif
    times.wall = MPI_Wtime() - start;
    times.cpu = uts_cpu() - cpu;
    free(bag.nodes);
    bool good = uts_report(&options, how, &count, &times);
    MPI_Finalize();
    return good ? 0 : 1;
}
