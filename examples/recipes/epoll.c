/* How do I use it with epoll, libuv or another event loop?
 *     cc -O2 -pthread epoll.c -o epoll && ./epoll
 *
 * From the loop to the pool: the loop calls wsq_wake for the task that waits for the descriptor.
 * From the pool to the loop: a task writes to an eventfd that the loop watches. (With libuv: call
 * wsq_wake in the uv_poll_t's callback, and uv_async_send in the task.)
 *
 * This keeps a loop that you have. Without one, an idle thread of the pool can wait for the
 * descriptors (wsq_config.driver): examples/httpd.c is a whole server that does so, on wsq_io.h. */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#ifdef __linux__
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct reader {
    wsq_task task;
    int input, done; /* descriptors: a pipe that does not block; the eventfd */
    long bytes;
};

static wsq_poll reader_run(wsq_ctx ctx, wsq_task *task) {
    struct reader *self = wsq_container_of(task, struct reader, task);
    char buffer[64];
    uint64_t one = 1;
    ssize_t n;
    (void)ctx;
    while ((n = read(self->input, buffer, sizeof buffer)) > 0) self->bytes += n;
    if (n < 0) return WSQ_PENDING; /* nothing now: the loop wakes this task when there is more */
    if (write(self->done, &one, sizeof one) != sizeof one) abort();
    return WSQ_DONE;
}

/* Somebody else's program, at the other end of the pipe. */
struct sender {
    wsq_task task;
    int output, sent;
};

static wsq_poll sender_run(wsq_ctx ctx, wsq_task *task) {
    struct sender *self = wsq_container_of(task, struct sender, task);
    (void)ctx;
    if (write(self->output, "hello", 5) != 5) abort();
    if (++self->sent < 10) return WSQ_YIELD;
    close(self->output);
    return WSQ_DONE;
}

int main(void) {
    int ends[2], loop = epoll_create1(0);
    struct reader self = {.task.fn = reader_run, .done = eventfd(0, 0)};
    struct sender peer = {.task.fn = sender_run};
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.ptr = &self.task};
    wsq_pool *pool;
    if (loop < 0 || self.done < 0 || pipe(ends) != 0) return 1;
    if (fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) return 1;
    self.input = ends[0], peer.output = ends[1];
    if (wsq_pool_create(&pool, &(wsq_config){.workers = 2}) != WSQ_OK) return 1;
    wsq_spawn(pool, &self.task);
    wsq_spawn(pool, &peer.task);
    epoll_ctl(loop, EPOLL_CTL_ADD, ends[0], &event);
    event.data.ptr = NULL;
    epoll_ctl(loop, EPOLL_CTL_ADD, self.done, &event);
    for (;;) {
        if (epoll_wait(loop, &event, 1, -1) != 1) return 1;
        if (event.data.ptr == NULL) break; /* the reader has finished */
        wsq_wake(event.data.ptr);          /* the descriptor is readable, or closed */
    }
    wsq_pool_destroy(pool); /* which waits for both tasks */
    printf("%ld bytes\n", self.bytes);
    return self.bytes == 50 ? 0 : 1;
}
#else
int main(void) { return 0; } /* kqueue and others: the same */
#endif
