/* echo: a server that sends back what it receives; one task for each connection, and no thread but
 * the pool's.
 *     cc -O2 -pthread echo.c -o echo && ./echo 7000        (then, elsewhere: nc localhost 7000)
 *
 * Idle threads of the pool wait for the sockets (wsq_io.h). A connection that is silent for ten
 * seconds is closed. Without a port it connects to itself, 50 times, and checks the answers. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define WSQ_IMPLEMENTATION
#include "../wsq.h"

#if !defined(__unix__) && !defined(__APPLE__) || defined(__EMSCRIPTEN__)
int main(void) {
    puts("echo: needs POSIX sockets");
    return 0;
}
#else
#include "wsq_io.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

enum { CLIENTS = 50, MESSAGES = 100 };
#define SILENCE_NS UINT64_C(10000000000)

struct connection {
    wsq_task task;
    wsq_timer timer;
    bool waits; /* it has set its timer, and waited */
    int fd;
    size_t from, to; /* what of the buffer is not sent back yet */
    char buffer[4096];
};

static wsq_pool *pool;
static wsq_io io;
static int listener;
static atomic_bool stopped;

static wsq_poll hang_up(struct connection *self) {
    wsq_timer_cancel(&self->timer);
    wsq_io_cancel(&io, self->fd); /* from here on nobody wakes this task */
    close(self->fd);
    free(self);
    return WSQ_GONE;
}

static wsq_poll serve(wsq_ctx ctx, wsq_task *task) {
    struct connection *self = wsq_container_of(task, struct connection, task);
    bool late = self->waits && !wsq_timer_cancel(&self->timer); /* or there is something, too */
    (void)ctx;
    self->waits = false;
    do {
        bool sends = self->from < self->to;
        ssize_t n = sends ? send(self->fd, self->buffer + self->from, self->to - self->from, 0)
                          : recv(self->fd, self->buffer, sizeof self->buffer, 0);
        if (n > 0 && sends) {
            self->from += (size_t)n;
        } else if (n > 0) {
            late = false;
            self->from = 0;
            self->to = (size_t)n;
        } else if (n == 0 || late || (errno != EAGAIN && errno != EINTR)) {
            return hang_up(self);
        } else if (errno == EAGAIN) {
            self->waits = wsq_timer_set(pool, &self->timer, task, SILENCE_NS) == WSQ_OK;
            if (wsq_io_wait(&io, self->fd, sends ? WSQ_IO_WRITE : WSQ_IO_READ, task))
                return WSQ_PENDING;
        }
    } while (wsq_budget_take());
    self->waits = false;
    return WSQ_YIELD; /* others have their turn */
}

static void welcome(int fd) {
    struct connection *self = calloc(1, sizeof *self);
    if (self == NULL || fcntl(fd, F_SETFL, O_NONBLOCK) != 0 || wsq_io_add(&io, fd) != 0) {
        free(self);
        close(fd);
        return;
    }
    self->fd = fd;
    wsq_task_init(&self->task, serve);
    wsq_spawn(pool, &self->task); /* cannot fail: the pool is not shut down */
}

static wsq_poll accept_all(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    for (int fd; !atomic_load(&stopped);) {
        if ((fd = accept(listener, NULL, NULL)) >= 0) welcome(fd);
        else if (wsq_io_wait(&io, listener, WSQ_IO_READ, task)) return WSQ_PENDING;
    }
    wsq_io_cancel(&io, listener);
    return WSQ_DONE;
}

/* Each client sends its messages, one by one, and gets them back. */
static bool try_out(const struct sockaddr_in *address) {
    int fds[CLIENTS];
    bool good = true;
    for (int i = 0; i < CLIENTS; i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM, 0);
        good = good && connect(fds[i], (const struct sockaddr *)address, sizeof *address) == 0;
    }
    for (int k = 0; k < CLIENTS * MESSAGES && good; k++) {
        int fd = fds[k % CLIENTS], sent = k, received = -1;
        good = send(fd, &sent, sizeof sent, 0) == sizeof sent &&
               recv(fd, &received, sizeof received, MSG_WAITALL) == sizeof received &&
               sent == received;
    }
    for (int i = 0; i < CLIENTS; i++) close(fds[i]);
    return good;
}

int main(int argc, char **argv) {
    struct sockaddr_in here = {.sin_family = AF_INET};
    socklen_t size = sizeof here;
    wsq_driver driver;
    wsq_task acceptor = {.fn = accept_all};
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    here.sin_port = htons((uint16_t)(argc > 1 ? atoi(argv[1]) : 0));
    signal(SIGPIPE, SIG_IGN);
    listener = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    if (fcntl(listener, F_SETFL, O_NONBLOCK) != 0 ||
        bind(listener, (struct sockaddr *)&here, size) != 0 || listen(listener, 1024) != 0 ||
        getsockname(listener, (struct sockaddr *)&here, &size) != 0 ||
        wsq_io_init(&io, &driver) != 0 || wsq_io_add(&io, listener) != 0) {
        perror("echo");
        return 1;
    }
    if (wsq_pool_create(&pool, &(wsq_config){.driver = &driver}) != WSQ_OK) return 1;
    wsq_spawn(pool, &acceptor);
    bool good = argc > 1 || try_out(&here);
    if (argc == 1) {
        printf("%d messages on %d connections %s\n", CLIENTS * MESSAGES, CLIENTS,
               good ? "came back" : "were not all answered");
        atomic_store(&stopped, true);
        wsq_wake(&acceptor);
    }
    wsq_pool_destroy(pool); /* waits for the acceptor, and for every connection */
    wsq_io_fini(&io);
    close(listener);
    return good ? 0 : 1;
}
#endif
