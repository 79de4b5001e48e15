/* How do I wait for sockets without a thread of my own (the pool as the event loop)?
 *     cc -O2 -pthread driver.c -o driver && ./driver
 *
 * Give the pool a driver: an idle worker then waits in epoll, and wakes the tasks whose descriptors
 * are ready. When there is work, the pool calls `interrupt`, and an eventfd ends the wait. (A
 * complete driver to copy is examples/wsq_io.h. An event loop with a thread keeps it: epoll.c.) */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#ifdef __linux__
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct reactor {
    int epoll, wakeup; /* wakeup: an eventfd, in the epoll set with data.ptr NULL */
    struct epoll_event ready[16];
    int count; /* of `ready`, from wait to dispatch */
};

static bool reactor_wait(uint64_t timeout_ns, void *user) {
    struct reactor *self = user;
    uint64_t ms = timeout_ns / 1000000 + (timeout_ns % 1000000 != 0), ignored;
    int limit = timeout_ns == WSQ_FOREVER ? -1 : ms < 1000000 ? (int)ms : 1000000; /* early is fine */
    self->count = epoll_wait(self->epoll, self->ready, 16, limit);
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

/* ---- a task that reads until the end ---- */

static long bytes;
static int ends[2];

static wsq_poll read_all(wsq_ctx ctx, wsq_task *task) {
    char buffer[64];
    ssize_t n;
    (void)ctx, (void)task;
    while ((n = read(ends[0], buffer, sizeof buffer)) > 0) bytes += n;
    return n == 0 ? WSQ_DONE : WSQ_PENDING; /* the driver wakes it when there is more */
}

int main(void) {
    struct reactor reactor = {.epoll = epoll_create1(0), .wakeup = eventfd(0, 0)};
    wsq_driver driver = {reactor_wait, reactor_dispatch, reactor_interrupt, &reactor};
    wsq_task reader = {.fn = read_all};
    struct epoll_event wakeup = {.events = EPOLLIN};
    struct epoll_event input = {.events = EPOLLIN | EPOLLET, .data.ptr = &reader};
    wsq_pool *pool;
    if (epoll_ctl(reactor.epoll, EPOLL_CTL_ADD, reactor.wakeup, &wakeup) != 0) return 1;
    if (wsq_pool_create(&pool, &(wsq_config){.workers = 2, .driver = &driver}) != WSQ_OK) return 1;
    if (pipe(ends) != 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) return 1;
    wsq_spawn(pool, &reader);
    if (epoll_ctl(reactor.epoll, EPOLL_CTL_ADD, ends[0], &input) != 0) return 1;
    for (int i = 0; i < 100; i++)
        if (write(ends[1], "hello", 5) != 5) return 1;
    close(ends[1]);
    wsq_pool_destroy(pool); /* waits for the task */
    return bytes == 500 ? 0 : 1;
}
#else
int main(void) { return 0; } /* kqueue: the same with EVFILT_USER */
#endif
