/* How do I run tasks on the main thread, in a GUI or a game loop?
 *     cc -O2 -pthread gui.c -o gui && ./gui
 *
 * Give the main thread a pool of its own, with caller_runs: it starts no threads. Any worker may
 * spawn into it, and the loop runs what has come, once a frame. (Qt, SDL, Cocoa: to wake a loop
 * that sleeps, the worker also calls postEvent, SDL_PushEvent, performSelectorOnMainThread.) To ask
 * whether a group is done: wsq_group_pending, once a frame; wsq_group_wait would block.
 *
 * Here the main thread frees a picture when it has shown it. It may do so before load_run has
 * returned. So load_run does not touch the picture after its spawn, and returns WSQ_GONE: with
 * WSQ_DONE the worker would write into the freed struct. */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include <stdlib.h>

static wsq_pool *workers, *screen;

struct picture {
    wsq_task load, show; /* one for each pool */
    int number, pixels;
};

static wsq_poll show_run(wsq_ctx ctx, wsq_task *task) { /* on the main thread */
    struct picture *self = wsq_container_of(task, struct picture, show);
    (void)ctx;
    printf("picture %d: %d pixels\n", self->number, self->pixels);
    free(self); /* with both tasks */
    return WSQ_GONE;
}

static wsq_poll load_run(wsq_ctx ctx, wsq_task *task) { /* on a worker */
    struct picture *self = wsq_container_of(task, struct picture, load);
    (void)ctx;
    self->pixels = self->number * 100;
    if (wsq_spawn(screen, &self->show) != WSQ_OK) free(self); /* refused: still ours */
    return WSQ_GONE; /* the main thread may have freed it already */
}

int main(void) {
    enum { N = 5 };
    int shown = 0;
    if (wsq_pool_create(&workers, NULL) != WSQ_OK) return 1;
    if (wsq_pool_create(&screen, &(wsq_config){.caller_runs = true}) != WSQ_OK) return 1;
    for (int i = 0; i < N; i++) {
        struct picture *picture = malloc(sizeof *picture);
        if (picture == NULL) return 1;
        *picture = (struct picture){.load.fn = load_run, .show.fn = show_run, .number = i};
        if (wsq_spawn(workers, &picture->load) != WSQ_OK) return 1;
    }
    while (shown < N) { /* the loop: events, then at most 8 tasks, then draw */
        for (int budget = 8; budget > 0 && wsq_pool_run_one(screen); budget--) shown++;
    }
    wsq_pool_destroy(workers);
    wsq_pool_destroy(screen);
    return 0;
}
