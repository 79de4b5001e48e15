/* How do I wait for sockets without a thread of my own (the pool as the event loop)?
 *     cc -O2 -pthread driver.c -o driver && ./driver
 *
 * Give the pool a driver: an idle worker then waits in epoll, and wakes the tasks whose descriptors
 * are ready. When there is work, the pool calls `interrupt`, and an eventfd ends the wait. (A
 * complete driver to copy, with time-outs, is examples/wsq_io.h. An event loop that has a thread
 * already keeps it: epoll.c.) */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* ppoll */
#endif
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#ifdef __linux__
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

struct reactor {
    int epoll, wakeup; /* wakeup: an eventfd, in the epoll set with data.ptr NULL */
    struct epoll_event ready[16];
    int count; /* of `ready`, from wait to dispatch */
};

static bool reactor_wait(uint64_t timeout_ns, void *user) {
    struct reactor *self = user;
    struct pollfd set = {.fd = self->epoll, .events = POLLIN};
    struct timespec limit = {(time_t)(timeout_ns / 1000000000), (long)(timeout_ns % 1000000000)};
    uint64_t ignored;
    if (ppoll(&set, 1, timeout_ns == WSQ_FOREVER ? NULL : &limit, NULL) <= 0) return false;
    self->count = epoll_wait(self->epoll, self->ready, 16, 0);
    for (int i = 0; i < self->count; i++)
        if (self->ready[i].data.ptr == NULL && read(self->wakeup, &ignored, 8) != 8) abort();
    return self->count > 0;
}

static void reactor_dispatch(wsq_pool *pool, void *user) {
    struct reactor *self = user;
    (void)pool;
    for (int i = 0; i < self->count; i++)
        if (self->ready[i].data.ptr != NULL) wsq_wake(self->ready[i].data.ptr);
}

static void reactor_interrupt(void *user) {
    uint64_t one = 1;
    if (write(((struct reactor *)user)->wakeup, &one, sizeof one) != sizeof one) abort();
}

/* ---- tasks that read until the end ---- */

struct reader {
    wsq_task task;
    int input;
    long bytes;
};

static wsq_poll reader_run(wsq_ctx ctx, wsq_task *task) {
    struct reader *self = wsq_container_of(task, struct reader, task);
    char buffer[64];
    ssize_t n;
    (void)ctx;
    while ((n = read(self->input, buffer, sizeof buffer)) > 0) self->bytes += n;
    return n == 0 ? WSQ_DONE : WSQ_PENDING; /* the driver wakes it when there is more */
}

int main(void) {
    enum { N = 8, ROUNDS = 100 };
    struct reactor reactor = {.epoll = epoll_create1(0), .wakeup = eventfd(0, 0)};
    wsq_driver driver = {reactor_wait, reactor_dispatch, reactor_interrupt, &reactor};
    struct epoll_event event = {.events = EPOLLIN};
    struct reader readers[N];
    int ends[N][2];
    long bytes = 0;
    wsq_pool *pool;
    if (epoll_ctl(reactor.epoll, EPOLL_CTL_ADD, reactor.wakeup, &event) != 0) return 1;
    if (wsq_pool_create(&pool, &(wsq_config){.workers = 2, .driver = &driver}) != WSQ_OK) return 1;
    for (int i = 0; i < N; i++) {
        if (pipe(ends[i]) != 0 || fcntl(ends[i][0], F_SETFL, O_NONBLOCK) != 0) return 1;
        readers[i] = (struct reader){.task.fn = reader_run, .input = ends[i][0]};
        wsq_spawn(pool, &readers[i].task);
        event = (struct epoll_event){.events = EPOLLIN | EPOLLET, .data.ptr = &readers[i].task};
        if (epoll_ctl(reactor.epoll, EPOLL_CTL_ADD, ends[i][0], &event) != 0) return 1;
    }
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < N; i++)
            if (write(ends[i][1], "hello", 5) != 5) return 1;
    for (int i = 0; i < N; i++) close(ends[i][1]);
    for (int i = 0; i < N; i++) {
        wsq_task_wait(&readers[i].task);
        bytes += readers[i].bytes;
    }
    wsq_pool_destroy(pool);
    printf("%ld bytes\n", bytes);
    return bytes == N * ROUNDS * 5 ? 0 : 1;
}
#else
int main(void) { return 0; } /* kqueue: the same with EVFILT_USER */
#endif
