/* forks.h - the recursions that more than one program here measures: fib without a cut-off, skynet, the
 * queens. Include it after wsq.h; it uses what every user can use.
 *
 * QUEENS is the size of the board, QUEENS_HOLD(board, rows) says whether the queen of the last row stands
 * clear of the others. */
#ifndef BENCH_FORKS_H
#define BENCH_FORKS_H

#include <string.h>

/* ---- fib: one fork for each inner node ---- */

typedef struct fib_job {
    wsq_job job;
    long n, result;
} fib_job;

static inline void fib_run(wsq_ctx ctx, wsq_job *job);

/* inline: the compiler unrolls the recursion a few levels, as it does for plain C. */
static inline long fib(wsq_ctx ctx, long n) {
    if (n < 2) return n;
    fib_job left;
    left.n = n - 1;
    wsq_fork(&ctx, &left.job, fib_run);
    long right = fib(ctx, n - 2);
    return right + (wsq_reclaim(&ctx, &left.job) ? fib(ctx, left.n) : left.result);
}

static inline void fib_run(wsq_ctx ctx, wsq_job *job) {
    fib_job *self = wsq_container_of(job, fib_job, job);
    self->result = fib(ctx, self->n);
}

/* ---- skynet: ten children each; a leaf returns its number, a node the sum ---- */

typedef struct sky_job {
    wsq_job job;
    long first, size, sum;
} sky_job;

static inline void sky_run(wsq_ctx ctx, wsq_job *job);

static inline long sky(wsq_ctx ctx, long first, long size) {
    if (size == 1) return first;
    sky_job jobs[9];
    long part = size / 10, sum;
    for (int i = 0; i < 9; i++) {
        jobs[i].first = first + i * part;
        jobs[i].size = part;
        wsq_fork(&ctx, &jobs[i].job, sky_run);
    }
    sum = sky(ctx, first + 9 * part, part);
    for (int i = 8; i >= 0; i--)
        sum += wsq_reclaim(&ctx, &jobs[i].job) ? sky(ctx, jobs[i].first, part) : jobs[i].sum;
    return sum;
}

static inline void sky_run(wsq_ctx ctx, wsq_job *job) {
    sky_job *self = wsq_container_of(job, sky_job, job);
    self->sum = sky(ctx, self->first, self->size);
}

/* ---- queens: a fork for each placement that holds so far ---- */

#ifdef QUEENS

typedef struct queens_job {
    wsq_job job;
    long found;
    signed char *board;
    int rows;
} queens_job;

static void queens_run(wsq_ctx ctx, wsq_job *job);

/* The boards live in the parent's frame until it has joined. */
static long queens(wsq_ctx ctx, int rows, signed char *board) {
    if (rows == QUEENS) return 1;
    signed char boards[QUEENS][QUEENS];
    queens_job jobs[QUEENS];
    int count = 0;
    for (int column = 0; column < QUEENS; column++) {
        signed char *next = boards[count];
        memcpy(next, board, QUEENS);
        next[rows] = (signed char)column;
        if (!QUEENS_HOLD(next, rows + 1)) continue;
        queens_job *job = &jobs[count++];
        job->board = next;
        job->rows = rows + 1;
        wsq_fork(&ctx, &job->job, queens_run);
    }
    long found = 0;
    while (count-- > 0) {
        queens_job *job = &jobs[count];
        found += wsq_reclaim(&ctx, &job->job) ? queens(ctx, rows + 1, boards[count]) : job->found;
    }
    return found;
}

static void queens_run(wsq_ctx ctx, wsq_job *job) {
    queens_job *self = wsq_container_of(job, queens_job, job);
    self->found = queens(ctx, self->rows, self->board);
}

#endif /* QUEENS */

#endif /* BENCH_FORKS_H */
