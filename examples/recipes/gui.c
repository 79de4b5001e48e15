/* How do I run tasks on the main thread, in a GUI or a game loop?
 *     cc -O2 -pthread gui.c -o gui && ./gui
 *
 * Give the main thread a pool of its own, with caller_runs: it starts no threads. Any worker may
 * spawn into it, and the loop runs what has come, once a frame. (Qt, SDL, Cocoa: to wake a loop
 * that sleeps, the worker also calls postEvent, SDL_PushEvent, performSelectorOnMainThread.) To ask
 * whether a group is done: wsq_group_pending, once a frame; wsq_group_wait would block. */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"

static wsq_pool *workers, *screen;

struct picture {
    wsq_task load, show; /* one for each pool */
    int number, pixels;
};

static wsq_poll show_run(wsq_ctx ctx, wsq_task *task) { /* on the main thread */
    struct picture *self = wsq_container_of(task, struct picture, show);
    (void)ctx;
    printf("picture %d: %d pixels\n", self->number, self->pixels);
    return WSQ_DONE;
}

static wsq_poll load_run(wsq_ctx ctx, wsq_task *task) { /* on a worker */
    struct picture *self = wsq_container_of(task, struct picture, load);
    (void)ctx;
    self->pixels = self->number * 100;
    wsq_spawn(screen, &self->show);
    return WSQ_DONE;
}

int main(void) {
    enum { N = 5 };
    struct picture pictures[N] = {{.number = 0}};
    int shown = 0;
    if (wsq_pool_create(&workers, NULL) != WSQ_OK) return 1;
    if (wsq_pool_create(&screen, &(wsq_config){.caller_runs = true}) != WSQ_OK) return 1;
    for (int i = 0; i < N; i++) {
        pictures[i] = (struct picture){.load.fn = load_run, .show.fn = show_run, .number = i};
        wsq_spawn(workers, &pictures[i].load);
    }
    while (shown < N) { /* the loop: events, then at most 8 tasks, then draw */
        for (int budget = 8; budget > 0 && wsq_pool_run_one(screen); budget--) shown++;
    }
    wsq_pool_destroy(workers);
    wsq_pool_destroy(screen);
    return 0;
}
