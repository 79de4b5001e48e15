/* A writer in order: many workers pack blocks, and the blocks are written one after another in the
 * order of the input. Only a window of them is in memory.
 *     cc -O2 -pthread writer.c -o writer && ./writer
 *
 * The writer is a pool of one worker, where tasks start in the order of their spawns. The reader
 * spawns the write of a block when the block is packed, and reads on meanwhile. (If instead each
 * task waits until the one before it has written, the pool needs the order WSQ_SHARED.) */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include <string.h>

enum { BYTES = 4096, WINDOW = 16, AHEAD = 8 }; /* AHEAD blocks are packed, the others written */

static struct block {
    wsq_task pack, write;
    size_t length;
    unsigned char in[BYTES], out[2 * BYTES];
} window[WINDOW];

static FILE *file;

/* Runs of equal bytes become their length and the byte. */
static wsq_poll pack_run(wsq_ctx ctx, wsq_task *task) {
    struct block *self = wsq_container_of(task, struct block, pack);
    (void)ctx;
    self->length = 0;
    for (size_t i = 0, run; i < BYTES; i += run) {
        for (run = 1; run < 255 && i + run < BYTES && self->in[i + run] == self->in[i];) run++;
        self->out[self->length++] = (unsigned char)run;
        self->out[self->length++] = self->in[i];
    }
    return WSQ_DONE;
}

static wsq_poll write_run(wsq_ctx ctx, wsq_task *task) {
    struct block *self = wsq_container_of(task, struct block, write);
    (void)ctx;
    fwrite(self->out, 1, self->length, file);
    return WSQ_DONE;
}

/* ---- the check: what is read back and unpacked is the input ---- */

enum { BLOCKS = 2000 };

static unsigned char input(size_t at) { return (unsigned char)(at / 7 * (at / BYTES + 1) / 31); }

int main(void) {
    wsq_pool *packers, *writer;
    size_t at = 0;
    bool same = true;
    file = tmpfile();
    if (!file || wsq_pool_create(&packers, NULL) != WSQ_OK ||
        wsq_pool_create(&writer, &(wsq_config){.workers = 1}) != WSQ_OK)
        return 1;
    for (int i = 0; i < BLOCKS + AHEAD; i++) {
        if (i >= AHEAD) {
            struct block *packed = &window[(i - AHEAD) % WINDOW];
            wsq_task_wait(&packed->pack);
            wsq_task_init(&packed->write, write_run);
            wsq_spawn(writer, &packed->write);
        }
        if (i >= BLOCKS) continue;
        struct block *next = &window[i % WINDOW];
        if (i >= WINDOW) wsq_task_wait(&next->write); /* of the block that was here before */
        for (size_t k = 0; k < BYTES; k++) next->in[k] = input((size_t)i * BYTES + k);
        wsq_task_init(&next->pack, pack_run);
        wsq_spawn(packers, &next->pack);
    }
    wsq_pool_destroy(packers);
    wsq_pool_destroy(writer); /* both are empty then */
    rewind(file);
    for (int run = getc(file), byte; run != EOF; run = getc(file)) {
        for (byte = getc(file); run > 0; run--) same = same && byte == input(at++);
    }
    printf("%zu bytes became %ld\n", at, ftell(file));
    return same && at == (size_t)BLOCKS * BYTES ? 0 : 1;
}
