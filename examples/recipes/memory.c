/* How do I allocate memory for each task, and give the pool an allocator of mine?
 *     cc -O2 -pthread memory.c -o memory && ./memory
 *
 * A task that nobody waits for frees itself and returns WSQ_GONE; its cleanup does so if it is
 * cancelled. A task also returns WSQ_GONE if it hands its struct to another task or thread that may
 * free it: that may happen before the function has returned (gui.c). The pool's own memory comes
 * from wsq_config.allocator. (figures.c counts bytes.) */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include <stdatomic.h>
#include <stdlib.h>

enum { TASKS = 1000 };
static atomic_int living, ran;
static atomic_long bytes;

struct message {
    wsq_task task;
    char text[32];
};

static wsq_poll message_free(wsq_task *task) {
    free(wsq_container_of(task, struct message, task));
    atomic_fetch_sub(&living, 1);
    return WSQ_GONE;
}

static wsq_poll message_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    atomic_fetch_add(&ran, 1);
    return message_free(task);
}

static bool message_send(wsq_pool *pool, int number) {
    struct message *self = calloc(1, sizeof *self);
    if (self == NULL) return false;
    self->task = (wsq_task){.fn = message_run, .cleanup = message_free};
    snprintf(self->text, sizeof self->text, "message %d", number);
    atomic_fetch_add(&living, 1);
    if (wsq_spawn(pool, &self->task) == WSQ_OK) return true;
    message_free(&self->task); /* refused: still ours */
    return false;
}

/* The start of what malloc gave stands in front of the aligned memory. */
static void *take(size_t size, size_t alignment, void *user) {
    char *start = malloc(size + alignment + sizeof start), *at;
    (void)user;
    if (start == NULL) return NULL;
    at = start + sizeof start;
    at += (alignment - (uintptr_t)at % alignment) % alignment;
    ((char **)(void *)at)[-1] = start;
    atomic_fetch_add(&bytes, (long)size);
    return at;
}

static void give(void *memory, size_t size, void *user) {
    (void)user;
    atomic_fetch_sub(&bytes, (long)size);
    free(((char **)memory)[-1]);
}

int main(void) {
    wsq_pool *pool;
    wsq_allocator allocator = {take, give, NULL};
    wsq_config config = {.workers = 2, .allocator = &allocator};
    if (wsq_pool_create(&pool, &config) != WSQ_OK) return 1;
    for (int i = 0; i < TASKS; i++) {
        if (!message_send(pool, i)) return 1;
        if (i == TASKS / 2) wsq_pool_wait(pool);
    }
    wsq_pool_shutdown(pool, WSQ_CANCEL); /* the cleanup frees those that have not run */
    wsq_pool_destroy(pool);
    printf("%d of %d ran; left: %d tasks, %ld bytes\n", ran, TASKS, living, bytes);
    return living == 0 && bytes == 0 && ran > TASKS / 2 ? 0 : 1;
}
