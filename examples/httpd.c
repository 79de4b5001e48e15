/* httpd: a small web server for this machine only. One task per connection.
 *     cc -O2 -pthread httpd.c -o httpd && ./httpd
 *
 * There is no thread but the pool's: an idle worker waits for the sockets (wsq_io.h) and wakes the
 * tasks. A task reads and writes until the socket says EAGAIN, and returns WSQ_PENDING. Three
 * more tasks accept, look at the deadlines every 50 ms, and wait for SIGTERM. Two rules keep that
 * simple:
 *
 *   - A wake means "try again", whatever it was for.
 *   - Only a connection's own task closes it. When its time is up its socket is shut down; that is
 *     an event like any other, and the task hangs up, frees itself, and returns WSQ_GONE.
 *
 * SIGTERM stops gracefully: what has been sent is answered, idle connections are closed, then the
 * process ends with 0. A second SIGTERM does not wait for slow readers. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define WSQ_IMPLEMENTATION
#include "../wsq.h"

#ifndef __linux__
int main(void) {
    puts("httpd: needs sendfile and signalfd, which are Linux's");
    return 0;
}
#else
#include "command.h"
#include "http.h"
#include "wsq_io.h"
#include <inttypes.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define TICK_NS 50000000 /* how often deadlines are looked at, while there are connections */

enum {
    HEAD_MAX = 8192,          /* bytes of a request, its line and headers */
    CONNECTIONS_MAX = 10000,  /* at most; see server.most. More wait in the listen queue */
    IDLE_MS = 10000,          /* to begin a request, to complete it, to read on */
    LINGER_MS = 1000,         /* to take the last answer, and to complete a request after SIGTERM */
    FILE_CHUNK = 256 * 1024   /* bytes of a file before others get their turn */
};

/* What a connection waits for. Its task writes this; the task that looks at the deadlines reads it
 * to know which connections it may shut down. */
enum phase { FRESH, RECEIVING, ANSWERING, IDLE, LINGERING };

struct connection {
    wsq_task task;
    struct connection *next, **link; /* under server.lock */
    _Atomic enum phase phase;
    _Atomic int64_t deadline; /* ms */
    int fd;
    bool keep;              /* alive after this answer */
    struct iovec answer[2]; /* what is left of its head and of its body in memory */
    int file;               /* or -1 */
    off_t file_at;
    size_t file_left;
    char *page; /* an answer's body that is freed with it, or NULL */
    char head[400];
    size_t received;
    bool empty; /* the last read was short: to read again before a wait is in vain */
    char in[HEAD_MAX + 1];
};

/* A task that does something now and then. */
struct service {
    wsq_task task;
    wsq_timer timer;
};

static struct server {
    wsq_pool *pool;
    wsq_io io;
    wsq_driver driver;
    struct service acceptor, clock, stopper;
    unsigned most; /* connections: there are descriptors for these, and for a file of each */
    int listener, signals, directory;
    atomic_int signalled;          /* SIGTERMs so far; the stopper writes, as the next */
    _Atomic int64_t stopped_at;
    atomic_bool closed, over;      /* the acceptor is done; all connections are gone, too */
    double began;
    atomic_uint live;              /* connections */
    atomic_ullong requests, sent;  /* answered; bytes */
    pthread_mutex_t lock;          /* guards the two below */
    struct connection *connections;
    uint64_t accepted;
} server = {.lock = PTHREAD_MUTEX_INITIALIZER, .directory = -1};

static const char welcome[] =
    "<!doctype html><meta charset=utf-8><title>wsq</title><h1>It works</h1>"
    "<p>One task per connection, on a work-stealing pool that waits for the sockets itself.\n";

static bool check(bool right, const char *what) {
    if (!right) fprintf(stderr, "httpd: %s: %s\n", what, strerror(errno));
    return right;
}

static int64_t now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* In this order: nobody must see a new phase with the deadline of the last one. */
static void enter(struct connection *c, enum phase phase, int64_t allowed_ms) {
    atomic_store(&c->deadline, now_ms() + allowed_ms);
    atomic_store(&c->phase, phase);
}

/* ---- answers ---- */

static void put_head(struct connection *c, int status, const char *type, size_t length,
                     const struct http_part *part) {
    int n = http_head(c->head, sizeof c->head, status, c->keep, type, length, part);
    c->answer[0] = (struct iovec){c->head, (size_t)n};
    enter(c, ANSWERING, IDLE_MS);
}

static void answer_text(struct connection *c, int status, const char *type, const char *text,
                        bool body) {
    put_head(c, status, type, strlen(text), NULL);
    c->answer[1] = (struct iovec){(void *)(uintptr_t)text, body ? strlen(text) : 0};
}

/* Before it is cut to pieces and after that: "HEAD" has a space behind it, or an end. */
static bool asks_for_head(const struct connection *c) {
    return c->received > 4 && memcmp(c->in, "HEAD", 4) == 0 && (c->in[4] == ' ' || !c->in[4]);
}

/* A request that may have a body, or no end: where the next one begins is not known. */
static void refuse(struct connection *c, int status) {
    c->keep = false;
    answer_text(c, status, "text/plain", http_reason(status), !asks_for_head(c));
}

static void answer_file(struct connection *c, const struct http_request *request, bool body) {
    char *path = request->path;
    const char *type = path[strlen(path) - 1] == '/' ? http_type(".html") : http_type(path);
    struct stat info;
    struct http_part part;
    errno = 0;
    c->file = http_open(server.directory, path);
    if (c->file < 0 && (errno == EMFILE || errno == ENFILE)) {
        refuse(c, 503);
    } else if (c->file < 0 || fstat(c->file, &info) != 0 || !S_ISREG(info.st_mode)) {
        answer_text(c, 404, "text/plain", "Not Found", body);
    } else {
        /* HEAD asks about the whole file: RFC 9110 gives ranges a meaning for GET only. */
        int status = http_range(body ? request->range : NULL, info.st_size, &part);
        size_t length = status == 416 ? 0 : (size_t)(part.end - part.begin);
        c->file_at = part.begin;
        c->file_left = body ? length : 0;
        put_head(c, status, type, length, &part);
    }
}

/* Live figures at an address that no file can have: its name would begin with a dot. */
static void answer_statistics(struct connection *c, bool body) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) {
        refuse(c, 503);
        return;
    }
    fprintf(out,
            "<!doctype html><meta charset=utf-8><meta http-equiv=refresh content=1>"
            "<title>wsq: statistics</title><h1>Statistics</h1>"
            "<p>%.0f s, %u connections now, %llu requests, %llu bytes sent, %llu tasks pending\n"
            "<pre>worker   tasks run   stolen  from the global queue   slept  mean us\n",
            command_now() - server.began, atomic_load(&server.live), atomic_load(&server.requests),
            atomic_load(&server.sent), (unsigned long long)wsq_pool_pending(server.pool));
    for (unsigned i = 0; i < wsq_pool_workers(server.pool); i++) {
        wsq_stats s;
        wsq_worker_stats(server.pool, i, &s);
        fprintf(out, "%6u %11" PRIu64 " %8" PRIu64 " %22" PRIu64 " %7" PRIu64 " %8.1f\n", i, s.run,
                s.tasks_stolen, s.global_tasks, s.parks, (double)s.average_task_ns * 1e-3);
    }
    fputs("</pre>\n", out);
    fclose(out);
    c->page = text;
    answer_text(c, 200, http_type(".html"), text, body);
}

/* A client may send its next requests before the answer to this one. */
static bool more_to_read(struct connection *c, size_t used) {
    char byte;
    return c->received > used || recv(c->fd, &byte, 1, MSG_PEEK) > 0;
}

static void answer_request(struct connection *c, size_t length) {
    struct http_request request = {0};
    size_t used = length + 4;
    bool valid = http_parse(c->in, length, &request);
    atomic_fetch_add_explicit(&server.requests, 1, memory_order_relaxed);
    c->keep = valid && request.keep_alive;
    /* A server that stops says so in its last answer, after which nothing is left to read. */
    if (atomic_load(&server.signalled) > 0 && !more_to_read(c, used)) c->keep = false;

    bool head = asks_for_head(c);
    if (!valid) refuse(c, 400);
    else if (!head && strcmp(request.method, "GET") != 0) refuse(c, 405);
    else if (request.has_body) refuse(c, 413);
    else if (strcmp(request.path, "/.statistics") == 0) answer_statistics(c, !head);
    else if (server.directory >= 0) answer_file(c, &request, !head);
    else if (strcmp(request.path, "/") == 0)
        answer_text(c, 200, http_type(".html"), welcome, !head);
    else answer_text(c, 404, "text/plain", http_reason(404), !head);
    c->received -= used;
    memmove(c->in, c->in + used, c->received);
}

/* ---- a connection's steps, each as far as the socket lets it ---- */

enum step { GO_ON, WAIT_TO_READ, WAIT_TO_WRITE, HANG_UP };

static enum step failed(enum step if_it_would_block) {
    if (errno == EINTR) return GO_ON;
    return errno == EAGAIN ? if_it_would_block : HANG_UP;
}

static enum step receive(struct connection *c) {
    while (c->received >= 2 && memcmp(c->in, "\r\n", 2) == 0) { /* some clients add one */
        c->received -= 2;
        memmove(c->in, c->in + 2, c->received);
    }
    char *end = memmem(c->in, c->received, "\r\n\r\n", 4);
    if (end) {
        answer_request(c, (size_t)(end - c->in));
        return GO_ON;
    }
    if (c->received == HEAD_MAX) {
        refuse(c, 431);
        return GO_ON;
    }
    if (c->empty) return WAIT_TO_READ;
    size_t room = HEAD_MAX - c->received;
    ssize_t n = recv(c->fd, c->in + c->received, room, 0);
    if (n == 0) return HANG_UP;
    if (n < 0) return failed(WAIT_TO_READ);
    c->empty = (size_t)n < room;
    /* One deadline for the whole request: a byte now and then does not extend it. */
    if (atomic_load(&c->phase) != RECEIVING) enter(c, RECEIVING, IDLE_MS);
    c->received += (size_t)n;
    return GO_ON;
}

static void answered(struct connection *c) {
    if (c->file >= 0) close(c->file);
    c->file = -1;
    free(c->page);
    c->page = NULL;
    if (c->keep) {
        enter(c, c->received > 0 ? RECEIVING : IDLE, IDLE_MS);
    } else {
        /* To close a socket with something unread in it would reset the connection, and the client
         * might lose the answer: first it is told that nothing comes, then it closes. */
        shutdown(c->fd, SHUT_WR);
        enter(c, LINGERING, LINGER_MS);
    }
}

static enum step send_answer(struct connection *c) {
    struct iovec *part = c->answer;
    struct msghdr message = {.msg_iov = part, .msg_iovlen = 2};
    ssize_t n;
    if (part[0].iov_len + part[1].iov_len > 0) {
        n = sendmsg(c->fd, &message, MSG_NOSIGNAL | (c->file_left > 0 ? MSG_MORE : 0));
        for (size_t i = 0, left = n > 0 ? (size_t)n : 0; i < 2; i++) {
            size_t sent = left < part[i].iov_len ? left : part[i].iov_len;
            part[i].iov_base = (char *)part[i].iov_base + sent;
            part[i].iov_len -= sent;
            left -= sent;
        }
    } else if (c->file_left > 0) {
        size_t chunk = c->file_left < FILE_CHUNK ? c->file_left : FILE_CHUNK;
        n = sendfile(c->fd, c->file, &c->file_at, chunk);
        if (n == 0) return HANG_UP; /* the file has become shorter than was announced */
        if (n > 0) c->file_left -= (size_t)n;
    } else {
        answered(c);
        return GO_ON;
    }
    if (n < 0) return failed(WAIT_TO_WRITE);
    atomic_fetch_add_explicit(&server.sent, (unsigned long long)n, memory_order_relaxed);
    enter(c, ANSWERING, IDLE_MS);
    return GO_ON;
}

static enum step linger(struct connection *c) {
    ssize_t n = recv(c->fd, c->in, HEAD_MAX, 0);
    if (n == 0) return HANG_UP;
    return n < 0 ? failed(WAIT_TO_READ) : GO_ON;
}

/* After this the task must return WSQ_GONE. */
static wsq_poll hang_up(struct connection *c) {
    pthread_mutex_lock(&server.lock); /* from here on nobody shuts the socket down */
    *c->link = c->next;
    if (c->next) c->next->link = c->link;
    pthread_mutex_unlock(&server.lock);
    wsq_io_cancel(&server.io, c->fd); /* and nobody wakes this task */
    if (c->file >= 0) close(c->file);
    close(c->fd);
    free(c->page);
    free(c);
    atomic_fetch_sub(&server.live, 1);
    return WSQ_GONE;
}

static wsq_poll serve(wsq_ctx ctx, wsq_task *task) {
    struct connection *c = wsq_container_of(task, struct connection, task);
    unsigned what;
    (void)ctx;
    do {
        enum phase phase = atomic_load(&c->phase);
        enum step step = phase == ANSWERING ? send_answer(c)
                       : phase == LINGERING ? linger(c) : receive(c);
        if (step == HANG_UP) return hang_up(c);
        if (step == GO_ON) continue;
        what = step == WAIT_TO_READ ? WSQ_IO_READ : WSQ_IO_WRITE;
        c->empty = false;
        if (wsq_io_wait(&server.io, c->fd, what, task)) return WSQ_PENDING;
    } while (wsq_budget_take());
    return WSQ_YIELD; /* a client with much to ask waits for its turn like the others */
}

/* ---- the services ---- */

static bool add_connection(int fd) {
    struct connection *c = calloc(1, sizeof *c);
    if (!c || wsq_io_add(&server.io, fd) != 0) {
        free(c);
        return false;
    }
    c->fd = fd;
    c->file = -1;
    enter(c, FRESH, IDLE_MS);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    if (atomic_fetch_add(&server.live, 1) == 0) wsq_wake(&server.clock.task);
    pthread_mutex_lock(&server.lock);
    c->next = server.connections;
    c->link = &server.connections;
    if (c->next) c->next->link = &c->next;
    server.connections = c;
    server.accepted++;
    pthread_mutex_unlock(&server.lock);
    wsq_task_init(&c->task, serve);
    wsq_spawn(server.pool, &c->task); /* cannot fail before the pool is shut down */
    return true;
}

/* Out of descriptors or memory, it leaves the listener alone for a while, and clients wait in its
 * queue. Connections that came before the signal are still accepted. (One that comes between the
 * last accept and the close is refused; Linux cannot stop accepting without closing the socket.) */
static wsq_poll accept_clients(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    for (;;) {
        bool last = atomic_load(&server.signalled) > 0;
        int fd = -1;
        errno = ENFILE;
        if (atomic_load(&server.live) < server.most)
            fd = accept4(server.listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0 && add_connection(fd)) continue;
        if (fd < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
        bool none = fd < 0 && errno == EAGAIN;
        if (fd >= 0) close(fd);
        if (last) break;
        if (none && !wsq_io_wait(&server.io, server.listener, WSQ_IO_READ, task)) continue;
        if (!none) wsq_timer_set(server.pool, &server.acceptor.timer, task, TICK_NS);
        return WSQ_PENDING;
    }
    wsq_timer_cancel(&server.acceptor.timer);
    wsq_io_cancel(&server.io, server.listener);
    close(server.listener);
    atomic_store(&server.closed, true);
    wsq_wake(&server.clock.task);
    return WSQ_DONE;
}

static wsq_poll take_signals(wsq_ctx ctx, wsq_task *task) {
    struct signalfd_siginfo info;
    (void)ctx;
    while (!atomic_load(&server.over)) {
        if (read(server.signals, &info, sizeof info) == sizeof info) {
            if (atomic_load(&server.signalled) == 0) atomic_store(&server.stopped_at, now_ms());
            atomic_fetch_add(&server.signalled, 1);
            wsq_wake(&server.acceptor.task);
            wsq_wake(&server.clock.task);
        } else if (wsq_io_wait(&server.io, server.signals, WSQ_IO_READ, task)) {
            return WSQ_PENDING;
        }
    }
    wsq_io_cancel(&server.io, server.signals);
    return WSQ_DONE;
}

/* When the connection is to be shut down. */
static int64_t limit(struct connection *c, enum phase phase) {
    int signalled = atomic_load(&server.signalled);
    int64_t soon = atomic_load(&server.stopped_at) + LINGER_MS;
    int64_t deadline = atomic_load(&c->deadline);
    if (signalled > 1 || (signalled == 1 && phase == IDLE)) return 0;
    if (signalled == 0 || phase == ANSWERING || phase == LINGERING) return deadline;
    return deadline < soon ? deadline : soon;
}

/* A connection that is in the list has its socket. Where no answer is under way only the reading
 * half is shut: a request that arrives at this very moment gets its answer. */
static void hang_up_late_ones(int64_t now) {
    pthread_mutex_lock(&server.lock);
    for (struct connection *c = server.connections; c; c = c->next) {
        enum phase phase = atomic_load(&c->phase);
        if (now < limit(c, phase)) continue;
        shutdown(c->fd, phase == ANSWERING || phase == LINGERING ? SHUT_RDWR : SHUT_RD);
    }
    pthread_mutex_unlock(&server.lock);
}

/* Without connections it sleeps until there is one, or until the stop. */
static wsq_poll look_at_deadlines(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    hang_up_late_ones(now_ms());
    bool closed = atomic_load(&server.closed), live = atomic_load(&server.live) > 0;
    if (closed && !live) {
        wsq_timer_cancel(&server.clock.timer);
        atomic_store(&server.over, true);
        wsq_wake(&server.stopper.task);
        return WSQ_DONE;
    }
    if (live) wsq_timer_set(server.pool, &server.clock.timer, task, TICK_NS);
    return WSQ_PENDING;
}

static bool begin(struct service *service, wsq_task_fn fn, int fd) {
    wsq_task_init(&service->task, fn);
    return fd < 0 || check(wsq_io_add(&server.io, fd) == 0, "epoll");
}

/* ---- the start ---- */

/* Signals are blocked before there are workers, which inherit that: they arrive at a descriptor. */
static bool open_signals(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    signal(SIGPIPE, SIG_IGN); /* sendfile has no MSG_NOSIGNAL */
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    server.signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    return check(server.signals >= 0, "signalfd");
}

static void limit_connections(void) {
    struct rlimit limit = {0};
    unsigned others = 32; /* descriptors that are no connection's */
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    server.most = CONNECTIONS_MAX;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 2 * CONNECTIONS_MAX + others)
        server.most = limit.rlim_cur > others + 2 ? (unsigned)(limit.rlim_cur - others) / 2 : 1;
}

static bool start(uint16_t port, unsigned workers, const char *directory) {
    if (directory) server.directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory && !check(server.directory >= 0, directory)) return false;
    if (!check(wsq_io_init(&server.io, &server.driver) == 0, "epoll")) return false;
    if (!open_signals()) return false;
    server.began = command_now();
    limit_connections();
    const wsq_config config = {.workers = workers, .driver = &server.driver};
    wsq_result result = wsq_pool_create(&server.pool, &config);
    if (result != WSQ_OK) fprintf(stderr, "httpd: %s\n", wsq_result_string(result));
    if (result != WSQ_OK) return false;
    server.listener = http_listen(&port);
    if (!check(server.listener >= 0, "listen")) return false;
    printf("http://127.0.0.1:%u/\n", port);
    printf("http://127.0.0.1:%u/.statistics\n", port);
    fflush(stdout);
    if (!begin(&server.clock, look_at_deadlines, -1)) return false;
    if (!begin(&server.acceptor, accept_clients, server.listener)) return false;
    if (!begin(&server.stopper, take_signals, server.signals)) return false;
    wsq_spawn(server.pool, &server.clock.task); /* the others wake it */
    wsq_spawn(server.pool, &server.acceptor.task);
    wsq_spawn(server.pool, &server.stopper.task);
    return true;
}

static const char help[] =
    "httpd [-p port] [-w workers] [directory]\n"
    "Serves the files of the directory, or one page, to this machine, until SIGTERM.\n"
    "  -p  port, 0 to 65535 (8080); 0: any that is free\n"
    "  -w  workers, 1 to 1024 (one per usable core)\n"
    "The address is printed, and that of a page with live figures.\n";

int main(int argc, char **argv) {
    unsigned port = 8080, workers = 0;
    for (int option; (option = command_option(argc, argv, "p:w:", help)) != 0;) {
        if (option == 'p') port = command_number("the port", command.value, 0, 65535);
        else workers = command_number("workers", command.value, 1, 1024);
    }
    const char *directory = command_next(argc, argv);
    command_end(argc, argv);
    if (!start((uint16_t)port, workers, directory)) return 1;
    wsq_pool_destroy(server.pool); /* waits until all tasks are done */
    wsq_io_fini(&server.io);
    printf("%llu requests on %llu connections\n", atomic_load(&server.requests),
           (unsigned long long)server.accepted);
    return 0;
}
#endif
