/* How do I wait for sockets in a program without other threads, on the main thread?
 *     cc -O2 -pthread main_polls.c -o main_polls && ./main_polls
 *
 * A pool with caller_runs starts no threads: the thread that calls wsq_pool_wait runs the tasks.
 * With a driver it also waits for the events. A loop of your own calls wsq_pool_run_one instead,
 * which looks for events and never sleeps. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"

#if !defined(__unix__) && !defined(__APPLE__) || defined(__EMSCRIPTEN__)
int main(void) { return puts("main_polls: needs POSIX pipes") < 0; }
#else
#include "../wsq_io.h"

enum { ROUNDS = 1000, PLAYERS = 2 };

typedef struct player {
    wsq_task task;
    int in, out; /* ends of two pipes */
    int left;
} player;

static wsq_io io;
static pthread_t main_thread;
static int elsewhere; /* runs on other threads */

/* Sends back what it receives, until the ball has gone to and fro often enough. */
static wsq_poll play(wsq_ctx ctx, wsq_task *task) {
    player *self = wsq_container_of(task, player, task);
    char ball;
    (void)ctx;
    if (!pthread_equal(pthread_self(), main_thread)) elsewhere++;
    while (self->left > 0) {
        if (read(self->in, &ball, 1) == 1) {
            self->left--;
            if (write(self->out, &ball, 1) != 1) return WSQ_DONE;
        } else if (wsq_io_wait(&io, self->in, WSQ_IO_READ, task)) {
            return WSQ_PENDING;
        }
    }
    wsq_io_cancel(&io, self->in);
    return WSQ_DONE;
}

int main(void) {
    wsq_pool *pool;
    wsq_driver driver;
    int pipes[PLAYERS][2];
    player players[PLAYERS] = {{{0}, 0, 0, 0}};
    main_thread = pthread_self();
    if (wsq_io_init(&io, &driver) != 0) return 1;
    wsq_config config = {.caller_runs = true, .driver = &driver};
    if (wsq_pool_create(&pool, &config) != WSQ_OK) return 1;
    for (int i = 0; i < PLAYERS; i++) {
        if (pipe(pipes[i]) != 0 || fcntl(pipes[i][0], F_SETFL, O_NONBLOCK) != 0 ||
            wsq_io_add(&io, pipes[i][0]) != 0)
            return 1;
    }
    for (int i = 0; i < PLAYERS; i++) {
        players[i] = (player){{0}, pipes[i][0], pipes[1 - i][1], ROUNDS};
        wsq_task_init(&players[i].task, play);
        wsq_spawn(pool, &players[i].task);
    }
    if (write(pipes[0][1], "o", 1) != 1) return 1;
    wsq_pool_wait(pool); /* runs both, and waits in the driver */
    printf("the ball came back %d times, %d runs on other threads\n", ROUNDS - players[1].left,
           elsewhere);
    bool good = players[0].left == 0 && players[1].left == 0 && elsewhere == 0;
    wsq_pool_destroy(pool);
    wsq_io_fini(&io);
    for (int i = 0; i < PLAYERS; i++) close(pipes[i][0]), close(pipes[i][1]);
    return good ? 0 : 1;
}
#endif
