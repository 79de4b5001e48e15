/* echo: a server that sends back what it receives, to start your own from: one task for each
 * connection, and no thread but the pool's, whose idle threads wait for the sockets (wsq_io.h).
 *     cc -O2 -pthread echo.c -o echo && ./echo 7000 60     (then, elsewhere: nc localhost 7000)
 * A connection that is silent for a minute is closed; without the 60, after ten seconds. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#if defined(__unix__) && !defined(__EMSCRIPTEN__) || defined(__APPLE__)
#include "wsq_io.h"
#include <netinet/in.h>
#include <signal.h>

struct connection {
    wsq_task task;
    wsq_io_limit limit;
    int fd;
    size_t from, to; /* of the buffer: not sent back yet */
    bool empty;      /* the last read was short: to read again before a wait is in vain */
    char buffer[4096];
};

static wsq_io io;
static int listener;
static uint64_t silence_ns = 10000000000;

static wsq_poll serve(wsq_ctx ctx, wsq_task *task) {
    struct connection *self = wsq_container_of(task, struct connection, task);
    while (wsq_budget_take()) {
        bool sends = self->from < self->to;
        ssize_t n = sends ? send(self->fd, self->buffer + self->from, self->to - self->from, 0)
                    : self->empty ? (errno = EAGAIN, -1)
                                  : recv(self->fd, self->buffer, sizeof self->buffer, 0);
        if (n > 0) {
            wsq_io_renew(&self->limit);
            self->from = sends ? self->from + (size_t)n : 0;
            if (!sends) self->to = (size_t)n, self->empty = self->to < sizeof self->buffer;
        } else if (n == 0 || errno != EAGAIN ||
                   wsq_io_late(&self->limit, wsq_pool_of(ctx), task, silence_ns)) {
            wsq_io_reset(&self->limit);
            wsq_io_cancel(&io, self->fd); /* from here on nobody wakes this task */
            return close(self->fd), free(self), WSQ_GONE;
        } else if (self->empty = false,
                   wsq_io_wait(&io, self->fd, sends ? WSQ_IO_WRITE : WSQ_IO_READ, task)) {
            return WSQ_PENDING;
        }
    }
    return WSQ_YIELD; /* others have their turn */
}

static wsq_poll accept_all(wsq_ctx ctx, wsq_task *task) {
    static wsq_timer again;
    for (;;) {
        int fd = accept(listener, NULL, NULL);
        if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) {
            wsq_timer_set(wsq_pool_of(ctx), &again, task, 50000000); /* no event says when to try */
            return WSQ_PENDING;
        }
        if (fd < 0 && wsq_io_wait(&io, listener, WSQ_IO_READ, task)) return WSQ_PENDING;
        struct connection *self = calloc(1, sizeof *self);
        if (self != NULL) self->fd = fd, self->task.fn = serve;
        if (self != NULL && wsq_io_unblock(fd) == 0 && wsq_io_add(&io, fd) == 0)
            wsq_spawn(wsq_pool_of(ctx), &self->task);
        else close(fd), free(self);
    }
}

int main(int argc, char **argv) {
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                               .sin_port = htons((uint16_t)(argc > 1 ? atoi(argv[1]) : 7000))};
    wsq_task acceptor = {.fn = accept_all};
    wsq_driver driver;
    wsq_pool *pool;
    if (argc > 2) silence_ns = strtoull(argv[2], NULL, 10) * 1000000000u;
    wsq_io_unblock(listener = socket(AF_INET, SOCK_STREAM, 0));
    signal(SIGPIPE, SIG_IGN), setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    if (bind(listener, (struct sockaddr *)&here, sizeof here) != 0 || listen(listener, 1024) != 0 ||
        getsockname(listener, (struct sockaddr *)&here, &(socklen_t){sizeof here}) != 0 ||
        wsq_io_init(&io, &driver) != 0 || wsq_io_add(&io, listener) != 0) return perror("echo"), 1;
    printf("echo: port %d\n", ntohs(here.sin_port)), fflush(stdout);
    if (wsq_pool_create(&pool, &(wsq_config){.driver = &driver}) != WSQ_OK) return 1;
    return wsq_spawn(pool, &acceptor) != WSQ_OK || wsq_task_wait(&acceptor) != WSQ_OK;
}
#else
int main(void) { return puts("echo: needs POSIX sockets") < 0; }
#endif
