/* heat_plain: heat.c as it is written without wsq, to compare it with. Each step computes the inner
 * rows while the halos are under way, waits, and computes the two edge rows.
 *
 *     mpicc -O2 heat_plain.c -o heat_mpi -lm                  MPI alone: -w is not used
 *     mpicc -O2 -fopenmp heat_plain.c -o heat_openmp -lm      MPI + OpenMP: -w threads
 */
#include <mpi.h>

#include "heat.h"

#ifdef _OPENMP
#include <omp.h>
#endif

static struct heat heat = {.rows = 2000, .columns = 2000, .steps = 200, .workers = 2};

static int exchange_begin(int step, int peer, long sent, long ghost, MPI_Request *requests) {
    if (step == 1 || !heat_has_peer(&heat, peer)) return 0;
    MPI_Irecv(heat_row(&heat, step - 1, ghost) + 1, (int)heat.columns, MPI_DOUBLE, peer, 0,
              MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(heat_row(&heat, step - 1, sent) + 1, (int)heat.columns, MPI_DOUBLE, peer, 0,
              MPI_COMM_WORLD, &requests[1]);
    return 2;
}

static void compute_rows(int step, long first, long last, struct heat_times *times) {
    double start = MPI_Wtime();
#pragma omp parallel for schedule(static)
    for (long row = first; row < last; row++) heat_step(&heat, step, row);
    times->busy += (MPI_Wtime() - start) * (double)heat.workers;
}

static void compute(int step, struct heat_times *times) {
    MPI_Request requests[4];
    MPI_Status statuses[4];
    double start = MPI_Wtime();
    int count = exchange_begin(step, heat.rank - 1, 1, 0, requests);
    count += exchange_begin(step, heat.rank + 1, heat.count, heat.count + 1, requests + count);
    compute_rows(step, 2, heat.count, times);
    double computed = MPI_Wtime();
    MPI_Waitall(count, requests, statuses);
    if (count > 0) {
        times->flight += MPI_Wtime() - start;
        times->hidden += computed - start;
    }
    if (heat.count > 0) compute_rows(step, 1, 2, times);
    if (heat.count > 1) compute_rows(step, heat.count, heat.count + 1, times);
}

int main(int argc, char **argv) {
    struct heat_times times = {0, 0, 0, 0, 0, 0, 0};
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    if (!heat_arguments(&heat, argc, argv)) {
        MPI_Finalize();
        return 2;
    }
#ifdef _OPENMP
    omp_set_num_threads((int)heat.workers);
    const char *how = "openmp";
#else
    heat.workers = 1;
    const char *how = "mpi";
#endif
    heat_divide(&heat);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime(), cpu = heat_cpu();
    for (int step = 1; step <= heat.steps; step++) compute(step, &times);
    times.wall = MPI_Wtime() - start;
    times.cpu = heat_cpu() - cpu;
    bool good = heat_report(&heat, how, &times);
    MPI_Finalize();
    return good ? 0 : 1;
}
