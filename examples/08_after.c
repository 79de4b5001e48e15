/* Dependencies: tasks that start when other tasks are done.
 *     cc -O2 -pthread 08_after.c -o after && ./after
 *
 * wsq_task_after(task, before, edge) holds a task back until the task `before` is done. A task may
 * come after several tasks, and several may come after it; each pair needs an edge, whose memory
 * is yours. No thread waits meanwhile. (wsq_group_then and wsq_future_then start a task after a
 * group and after a future. A graph that runs again and again: recipes/graph.c.)
 *
 * The example finds the length of the longest common subsequence of two texts, by a table. A cell
 * needs the cells above it and to its left, so a block of cells comes after two other blocks. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"

enum { LENGTH = 2000, SIDE = 125, BLOCKS = LENGTH / SIDE };

static char one[LENGTH], other[LENGTH];
static unsigned short table[LENGTH + 1][LENGTH + 1]; /* row 0 and column 0 stay 0 */

struct block {
    wsq_task task;
    wsq_edge above, left;
};

static struct block blocks[BLOCKS][BLOCKS];

static void fill(size_t top, size_t left, size_t side) {
    for (size_t row = top + 1; row <= top + side; row++) {
        for (size_t column = left + 1; column <= left + side; column++) {
            unsigned short up = table[row - 1][column], before = table[row][column - 1];
            table[row][column] = up > before ? up : before;
            if (one[row - 1] == other[column - 1])
                table[row][column] = (unsigned short)(table[row - 1][column - 1] + 1);
        }
    }
}

static wsq_poll block_run(wsq_ctx ctx, wsq_task *task) {
    size_t number = (size_t)(wsq_container_of(task, struct block, task) - &blocks[0][0]);
    (void)ctx;
    fill(number / BLOCKS * SIDE, number % BLOCKS * SIDE, SIDE);
    return WSQ_DONE;
}

static void make_texts(void) {
    uint32_t random = 1;
    for (int i = 0; i < LENGTH; i++) {
        random = random * 1664525u + 1013904223u;
        one[i] = "acgt"[random >> 30];
        other[i] = "acgt"[random >> 20 & 3];
    }
}

int main(void) {
    wsq_pool *pool;
    if (wsq_pool_create(&pool, NULL) != WSQ_OK) return 1;
    make_texts();
    for (int i = 0; i < BLOCKS; i++) {
        for (int j = 0; j < BLOCKS; j++) {
            struct block *self = &blocks[i][j];
            wsq_task_init(&self->task, block_run);
            /* The edges come before the spawn. The other block may have ended already. */
            if (i > 0) wsq_task_after(&self->task, &blocks[i - 1][j].task, &self->above);
            if (j > 0) wsq_task_after(&self->task, &blocks[i][j - 1].task, &self->left);
            wsq_spawn(pool, &self->task);
        }
    }
    wsq_task_wait(&blocks[BLOCKS - 1][BLOCKS - 1].task); /* it comes after all others */
    wsq_pool_destroy(pool);

    unsigned length = table[LENGTH][LENGTH];
    fill(0, 0, LENGTH); /* again, by one thread */
    printf("the longest common subsequence of %d and %d letters has %u\n", LENGTH, LENGTH, length);
    return length == table[LENGTH][LENGTH] && length > LENGTH / 2 ? 0 : 1;
}
