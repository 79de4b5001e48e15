/* How do I handle signals (Ctrl-C, SIGTERM)?
 *     cc -O2 -pthread signals.c -o signals && ./signals
 *
 * A handler must not call wsq. Block the signals in main, before other threads start, and let one
 * thread wait for them by sigwait: it is an ordinary thread, and may call everything. The workers
 * block signals by themselves. Here the main thread is the one that waits. */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#ifndef _WIN32
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

enum { TASKS = 100 };
static atomic_int cancelled;

static wsq_poll work_run(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    return wsq_cancelled(ctx) ? WSQ_DONE : WSQ_YIELD; /* goes on until somebody presses Ctrl-C */
}

static wsq_poll work_cleanup(wsq_task *task) {
    (void)task;
    atomic_fetch_add(&cancelled, 1);
    return WSQ_DONE;
}

int main(void) {
    static wsq_task tasks[TASKS];
    wsq_pool *pool;
    sigset_t set;
    int signal;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    if (wsq_pool_create(&pool, &(wsq_config){.workers = 2}) != WSQ_OK) return 1;
    for (int i = 0; i < TASKS; i++) {
        tasks[i] = (wsq_task){.fn = work_run, .cleanup = work_cleanup};
        wsq_spawn(pool, &tasks[i]);
    }
    kill(getpid(), SIGINT); /* stands for the user */
    sigwait(&set, &signal);
    wsq_pool_shutdown(pool, WSQ_CANCEL);
    wsq_pool_destroy(pool);
    printf("signal %d: %d tasks were cancelled\n", signal, cancelled);
    return signal == SIGINT ? 0 : 1;
}
#else
int main(void) { return 0; } /* SetConsoleCtrlHandler calls its handler on a thread of its own */
#endif
