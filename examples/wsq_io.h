/* wsq_io.h - tasks that wait for descriptors. One file to copy, beside wsq.h.
 *
 * Include it after wsq.h, in C11 with POSIX (-D_GNU_SOURCE), or C++11. It is a wsq_driver: an idle
 * thread of the pool waits for the descriptors and wakes the tasks. It uses epoll (Linux), kqueue
 * (BSDs, macOS), WSAPoll (Windows; link with -lws2_32) or poll (any POSIX). Define WSQ_IO_POLL or
 * WSQ_IO_KQUEUE to choose.
 *
 *     if (wsq_io_init(&io, &driver) != 0) ...                   errno says why
 *     wsq_pool_create(&pool, &(wsq_config){.driver = &driver});
 *     wsq_io_unblock(fd); wsq_io_add(&io, fd);                  once for each descriptor
 *
 * READINESS. A task tries, and waits if it cannot go on. It may have a time-out: a zeroed
 * wsq_io_limit in the task's struct. In the task:
 *
 *     while ((n = read(fd, buffer, size)) < 0 && errno == EAGAIN) {
 *         if (wsq_io_late(&self->limit, pool, task, 2000000000)) ...        2 s are over
 *         if (wsq_io_wait(&io, fd, WSQ_IO_READ, task)) return WSQ_PENDING;
 *     }                                           else there is something to read: read again
 *     wsq_io_renew(&self->limit);                 data came: the next wait has 2 s again
 *
 * A task may be woken for nothing, so it tries again. It calls wsq_io_wait only after EAGAIN, or
 * after a short read from a socket, which saves a call (echo.c). Only one task at a time may wait
 * for a descriptor. Before a task closes the descriptor or frees itself, it calls wsq_io_cancel,
 * and wsq_io_reset if it has a time-out. Call wsq_io_fini after wsq_pool_destroy.
 *
 * COMPLETIONS. A task can also start an operation. The operation and its buffer must stay until the
 * operation is over:
 *
 *     wsq_io_read(&self->op, fd, self->buffer, sizeof self->buffer, -1);    once
 *     if (!wsq_io_ended(&io, &self->op, task)) return WSQ_PENDING;          in each run
 *     n = self->op.result;                        bytes, or a descriptor; negative: -errno
 *
 * If WSQ_IO_URING is defined and liburing is installed (link with -luring), the kernel carries out
 * the operation (io_uring), also for files. Otherwise, or if the kernel refuses a ring, the task
 * does so itself when the descriptor is ready; then operations on files block. wsq_io_adopt, in
 * place of wsq_io_add, prepares a descriptor for both. All threads share one ring; the kernel runs
 * its submissions one after the other. If a task is cancelled, its operation may go on until
 * wsq_io_fini: the cleanup must not free operation or buffer while wsq_io_busy is true. */
#ifndef WSQ_IO_H
#define WSQ_IO_H

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(_WIN32)
#include <winsock2.h>
#include <windows.h>
typedef SOCKET wsq_io_fd;
#else
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>
typedef int wsq_io_fd;
#endif

#if defined(WSQ_IO_KQUEUE) || defined(__APPLE__) || defined(__FreeBSD__) || \
    defined(__NetBSD__) || defined(__OpenBSD__) || defined(__DragonFly__)
#include <sys/types.h>
#include <sys/event.h>
#include <sys/time.h>
#undef WSQ_IO_KQUEUE
#endif
#if defined(EVFILT_USER) && !defined(WSQ_IO_POLL) /* not in older NetBSD and OpenBSD */
#define WSQ_IO_KQUEUE 1
#elif defined(__linux__) && !defined(WSQ_IO_POLL)
#define WSQ_IO_EPOLL 1
#include <sys/epoll.h>
#include <sys/eventfd.h>
#if defined(WSQ_IO_URING) && defined(__has_include)
#if __has_include(<liburing.h>)
#include <liburing.h>
#define WSQ_IO_RING 1
#endif
#endif
#else
#undef WSQ_IO_POLL
#define WSQ_IO_POLL 1
#endif

#ifdef __cplusplus
#include <atomic>
typedef std::atomic<uintptr_t> wsq_io_word; /* the calls below find std::atomic_load and its like */
#else
#include <stdatomic.h>
typedef _Atomic(uintptr_t) wsq_io_word;
#endif

enum { WSQ_IO_READ = 1, WSQ_IO_WRITE = 2 };

/* A descriptor is less than WSQ_IO_CHUNK * WSQ_IO_CHUNKS. EVENTS: the most events of one wait. */
enum { WSQ_IO_CHUNK = 1024, WSQ_IO_CHUNKS = 1024, WSQ_IO_EVENTS = 256 };

/* The word of a descriptor: 0; or WSQ_IO_READY: perhaps ready, and no task has tried since; or the
 * task that waits, + WSQ_IO_WAKING while dispatch wakes it. */
#define WSQ_IO_READY ((uintptr_t)1)
#define WSQ_IO_WAKING ((uintptr_t)1)

typedef struct wsq_io_slot {
    wsq_io_word word;
    wsq_io_word what; /* of an operation: 1: stop it. Of a descriptor: with poll, what a task waits
                       * for; else 1: the other end has closed, so the next wait to read returns */
} wsq_io_slot;

enum { WSQ_IO_OP_READ, WSQ_IO_OP_WRITE, WSQ_IO_OP_SEND, WSQ_IO_OP_ACCEPT };
enum { WSQ_IO_NEW, WSQ_IO_IN_RING, WSQ_IO_BY_TASK, WSQ_IO_OVER };

/* An operation. wsq_io_read, _write, _send or _accept sets it up. */
typedef struct wsq_io_op {
    int64_t result; /* bytes, a descriptor or -errno, when wsq_io_ended has returned true */
    int64_t offset; /* in a file; -1: the file's current position */
    void *buffer;
    size_t size;
    wsq_io_fd fd;
    int kind, stage;        /* WSQ_IO_OP_*; WSQ_IO_NEW to WSQ_IO_OVER. The task writes both */
    wsq_io_slot slot;       /* word: the task, while the ring has the operation */
    struct wsq_io_op *next; /* in the list `ended` */
} wsq_io_op;

/* The time-out of a task. All zero: none is running. */
typedef struct wsq_io_limit {
    wsq_timer timer;
    uint64_t until; /* ns of wsq_io_clock; 0: the next wsq_io_late sets it */
    uint64_t fires; /* when the timer fires, perhaps before `until`; 0: the timer is not set */
} wsq_io_limit;

typedef struct wsq_io {
    wsq_io_word chunks[WSQ_IO_CHUNKS]; /* arrays of slots; the index is fd / WSQ_IO_CHUNK */
    int count;                         /* how many descriptors are in `ready` */
    wsq_io_fd ready[WSQ_IO_EVENTS];    /* from `wait` to `dispatch`: descriptors with events */
    wsq_io_op *ended;                  /* and operations that are over */
#if defined(WSQ_IO_EPOLL)
    int queue, poke; /* an epoll, and an eventfd in it */
    struct epoll_event events[WSQ_IO_EVENTS];
#elif defined(WSQ_IO_KQUEUE)
    int queue;
    struct kevent events[WSQ_IO_EVENTS];
#else
    wsq_io_fd pair[2]; /* interrupts go from the second to the first */
    wsq_io_word most;  /* all registered descriptors are less than this */
    wsq_io_word waits; /* 1: a thread is in poll, or about to call it */
    struct pollfd *all;
    size_t capacity;
#endif
#if defined(WSQ_IO_RING)
    struct io_uring ring;  /* its descriptor is in the epoll */
    pthread_mutex_t lock;  /* guards the ring, `closes` and `flying` */
    bool has_ring, closes; /* closes: cancelled operations are not submitted again */
    size_t flying;         /* how many operations the kernel has */
#endif
} wsq_io;

/* ---- what systems call differently ---- */
#if defined(_WIN32)
static inline void wsq_io_yield(void) { SwitchToThread(); }
static inline void wsq_io_close(wsq_io_fd fd) { closesocket(fd); }
static inline uint64_t wsq_io_clock(void) { return (uint64_t)GetTickCount64() * 1000000u; }

static inline int wsq_io_unblock(wsq_io_fd fd) { /* see below */
    u_long on = 1;
    return ioctlsocket(fd, (long)FIONBIO, &on) == 0 ? 0 : -1;
}
#else
#if defined(MSG_NOSIGNAL)
#define WSQ_IO_QUIET MSG_NOSIGNAL
#else
#define WSQ_IO_QUIET 0 /* macOS: ignore SIGPIPE */
#endif
static inline void wsq_io_yield(void) { sched_yield(); }
static inline void wsq_io_close(wsq_io_fd fd) { close(fd); }

static inline struct timespec wsq_io_time(uint64_t ns) {
    struct timespec time;
    time.tv_sec = (time_t)(ns / 1000000000u < 1000000000u ? ns / 1000000000u : 1000000000u);
    time.tv_nsec = (long)(ns % 1000000000u);
    return time;
}

static inline uint64_t wsq_io_clock(void) { /* ns */
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Makes the descriptor non-blocking. -1: errno says why. */
static inline int wsq_io_unblock(wsq_io_fd fd) {
    int flags = fcntl(fd, F_GETFL, 0);
    return flags < 0 ? -1 : fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}
#endif

/* Returns the slot. NULL: the descriptor is negative or too large, or there is no memory. */
static wsq_io_slot *wsq_io_at(wsq_io *self, wsq_io_fd fd, bool make) {
    if ((size_t)fd >= (size_t)WSQ_IO_CHUNK * WSQ_IO_CHUNKS) return NULL;
    wsq_io_word *place = &self->chunks[(size_t)fd / WSQ_IO_CHUNK];
    uintptr_t chunk = atomic_load(place), fresh;
    if (chunk == 0 && make) {
        fresh = (uintptr_t)calloc(WSQ_IO_CHUNK, sizeof(wsq_io_slot));
        if (fresh == 0 || atomic_compare_exchange_strong(place, &chunk, fresh)) chunk = fresh;
        else free((void *)fresh);
    }
    return chunk != 0 ? (wsq_io_slot *)chunk + (size_t)fd % WSQ_IO_CHUNK : NULL;
}

/* ---- dispatch: the same for all systems ---- */
static void wsq_io_ready(wsq_io_slot *slot) {
    uintptr_t word = atomic_load(&slot->word), next;
    do { /* if no task waits, the next wsq_io_wait returns false */
        if (word == WSQ_IO_READY) return;
        next = word == 0 ? WSQ_IO_READY : word + WSQ_IO_WAKING;
    } while (!atomic_compare_exchange_weak(&slot->word, &word, next));
    if (word == 0) return;
    wsq_wake((wsq_task *)word);
    /* The task may already wait again. If not, this lets wsq_io_cancel or wsq_io_ended go on. */
    atomic_compare_exchange_strong(&slot->word, &next, (uintptr_t)0);
}

static void wsq_io_dispatch(wsq_pool *pool, void *user) {
    wsq_io *self = (wsq_io *)user;
    (void)pool;
    for (int i = 0; i < self->count; i++) {
        wsq_io_slot *slot = wsq_io_at(self, self->ready[i], false);
        if (slot != NULL) wsq_io_ready(slot);
    }
    self->count = 0;
    for (wsq_io_op *op = self->ended, *next; op != NULL; op = next) {
        next = op->next; /* the woken task may free the operation */
        wsq_io_ready(&op->slot);
    }
    self->ended = NULL;
}

#if !defined(WSQ_IO_POLL)
#define wsq_io_asked(self) ((void)0)
#define wsq_io_prepare(slot, kind) \
    ((kind) == WSQ_IO_WRITE || !atomic_exchange(&(slot)->what, (uintptr_t)0))
/* Notes an event, in `wait`. closed: the other end has closed. No other event will say so. */
static void wsq_io_came(wsq_io *self, int fd, bool closed) {
    wsq_io_slot *slot = closed ? wsq_io_at(self, fd, false) : NULL;
    if (slot != NULL) atomic_store(&slot->what, (uintptr_t)1);
    if (self->count < WSQ_IO_EVENTS) self->ready[self->count++] = fd; /* full: the pool is over */
}
#endif

static inline int wsq_io_ms(uint64_t timeout_ns) {
    if (timeout_ns == WSQ_FOREVER) return -1;
    return timeout_ns > 1000000000000u ? 1000000000 : (int)((timeout_ns + 999999) / 1000000);
}

#if defined(WSQ_IO_EPOLL)
static int wsq_io_watch(wsq_io *self, int fd, uint32_t events, int tag) {
    struct epoll_event event = {events, {NULL}};
    event.data.fd = tag;
    return epoll_ctl(self->queue, EPOLL_CTL_ADD, fd, &event);
}
#endif

/* ---- io_uring: its completions are events of the epoll ---- */
#if defined(WSQ_IO_RING)
static void wsq_io_interrupt(void *user);
static void wsq_io_ring_open(wsq_io *self) {
    pthread_mutex_init(&self->lock, NULL);
    if (io_uring_queue_init(WSQ_IO_EVENTS, &self->ring, 0) != 0) return; /* works without a ring */
    self->has_ring = wsq_io_watch(self, self->ring.ring_fd, EPOLLIN, -1) == 0;
    if (!self->has_ring) io_uring_queue_exit(&self->ring);
}

/* The caller holds the lock. NULL: the ring is full. */
static struct io_uring_sqe *wsq_io_entry(wsq_io *self) {
    struct io_uring_sqe *entry = io_uring_get_sqe(&self->ring);
    if (entry != NULL || io_uring_submit(&self->ring) <= 0) return entry;
    return io_uring_get_sqe(&self->ring);
}

/* The caller holds the lock. False: the ring is full. */
static bool wsq_io_enqueue(wsq_io *self, wsq_io_op *op) {
    static const unsigned char codes[] = {IORING_OP_READ, IORING_OP_WRITE, IORING_OP_SEND,
                                          IORING_OP_ACCEPT};
    static const unsigned flags[] = {0, 0, MSG_NOSIGNAL, SOCK_CLOEXEC};
    struct io_uring_sqe *entry = wsq_io_entry(self);
    unsigned size = op->size < INT32_MAX ? (unsigned)op->size : INT32_MAX;
    if (entry == NULL) return false;
    io_uring_prep_rw(codes[op->kind], entry, op->fd, op->buffer, size, (__u64)op->offset);
    entry->msg_flags = flags[op->kind]; /* the same word as accept_flags */
    io_uring_sqe_set_data(entry, op);
    return true;
}

/* Gives the operation to the kernel. False: the task must carry it out itself. */
static bool wsq_io_submit(wsq_io *self, wsq_io_op *op, wsq_task *task) {
    if (!self->has_ring) return false;
    pthread_mutex_lock(&self->lock);
    atomic_store(&op->slot.word, (uintptr_t)task);
    bool has = wsq_io_enqueue(self, op);
    self->flying += has;
    if (has && io_uring_submit(&self->ring) <= 0) wsq_io_interrupt(self); /* wsq_io_reap submits */
    pthread_mutex_unlock(&self->lock);
    return has;
}

static void wsq_io_revoke(wsq_io *self, wsq_io_op *op) {
    pthread_mutex_lock(&self->lock);
    struct io_uring_sqe *entry = wsq_io_entry(self);
    if (entry != NULL) {
        io_uring_prep_cancel(entry, op, 0);
        io_uring_sqe_set_data(entry, NULL);
        io_uring_submit(&self->ring);
    }
    pthread_mutex_unlock(&self->lock);
}

/* The thread in `wait` moves completed operations to `ended`, and submits what could not be
 * submitted before. False: it still cannot be. */
static bool wsq_io_reap(wsq_io *self) {
    struct io_uring_cqe *one;
    unsigned head, count = 0;
    if (!self->has_ring) return true;
    pthread_mutex_lock(&self->lock);
    io_uring_for_each_cqe(&self->ring, head, one) {
        wsq_io_op *op = (wsq_io_op *)io_uring_cqe_get_data(one);
        count++;
        if (op == NULL) continue;
        op->result = one->res;
        /* The kernel cancels an operation if the thread that submitted it has ended. Then this
         * submits the operation again. */
        if (one->res == -ECANCELED && !self->closes && atomic_load(&op->slot.what) == 0) {
            if (wsq_io_enqueue(self, op)) continue;
            op->result = -EAGAIN;
        }
        self->flying--;
        op->next = self->ended;
        self->ended = op;
    }
    io_uring_cq_advance(&self->ring, count);
    bool good = io_uring_sq_ready(&self->ring) == 0 || io_uring_submit(&self->ring) > 0;
    pthread_mutex_unlock(&self->lock);
    return good;
}

/* After this the kernel does not write into buffers. (Linux before 5.19 cannot cancel all.) */
static void wsq_io_ring_shut(wsq_io *self) {
    struct io_uring_sqe *entry = self->has_ring && self->flying != 0 ? wsq_io_entry(self) : NULL;
    if (entry != NULL) {
        int done = 0;
        self->closes = true;
        io_uring_prep_cancel(entry, NULL, IORING_ASYNC_CANCEL_ALL | IORING_ASYNC_CANCEL_ANY);
        io_uring_sqe_set_data(entry, NULL);
        while (self->flying != 0 && (done >= 0 || done == -EINTR)) {
            done = io_uring_submit_and_wait(&self->ring, 1);
            (void)wsq_io_reap(self);
        }
    }
    if (self->has_ring) io_uring_queue_exit(&self->ring);
    pthread_mutex_destroy(&self->lock);
}
#else
#define wsq_io_ring_open(self) ((void)0)
#define wsq_io_ring_shut(self) ((void)0)
#define wsq_io_submit(self, op, task) false
#define wsq_io_revoke(self, op) ((void)0)
#define wsq_io_reap(self) true
#endif
/* ---- epoll ---- */
#if defined(WSQ_IO_EPOLL)
static int wsq_io_open(wsq_io *self) {
    self->queue = epoll_create1(EPOLL_CLOEXEC);
    self->poke = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (self->queue < 0 || self->poke < 0) return -1;
    wsq_io_ring_open(self);
    /* Edge-triggered: each write to the eventfd is an event, so no thread needs to read it. */
    return wsq_io_watch(self, self->poke, (uint32_t)EPOLLIN | (uint32_t)EPOLLET, -1);
}

static void wsq_io_shut(wsq_io *self) {
    wsq_io_ring_shut(self);
    close(self->queue), close(self->poke); /* (-1 does no harm) */
}

static int wsq_io_register(wsq_io *self, int fd) {
    return wsq_io_watch(self, fd, (EPOLLIN | EPOLLOUT | EPOLLRDHUP) | (uint32_t)EPOLLET, fd);
}

static int wsq_io_sleep(wsq_io *self, uint64_t timeout_ns) {
#if defined(__GLIBC__) && (__GLIBC__ > 2 || (__GLIBC__ == 2 && __GLIBC_MINOR__ >= 35))
    if (timeout_ns != 0 && timeout_ns != WSQ_FOREVER) {
        struct timespec time = wsq_io_time(timeout_ns);
        int n = epoll_pwait2(self->queue, self->events, WSQ_IO_EVENTS, &time, NULL);
        if (n >= 0 || errno == EINTR) return n; /* else the kernel does not have this call */
    }
#endif
    return epoll_wait(self->queue, self->events, WSQ_IO_EVENTS, wsq_io_ms(timeout_ns));
}

static bool wsq_io_look(uint64_t timeout_ns, void *user) {
    wsq_io *self = (wsq_io *)user;
    if (!wsq_io_reap(self)) timeout_ns = 0;
    int n = wsq_io_sleep(self, self->ended != NULL ? 0 : timeout_ns);
    for (int i = 0; i < n; i++)
        if (self->events[i].data.fd >= 0)
            wsq_io_came(self, self->events[i].data.fd, (self->events[i].events & EPOLLRDHUP) != 0);
    (void)wsq_io_reap(self);
    return self->count != 0 || self->ended != NULL;
}

static void wsq_io_interrupt(void *user) {
    uint64_t one = 1;
    if (write(((wsq_io *)user)->poke, &one, sizeof one) < 0) return; /* full: readable anyway */
}

/* ---- kqueue ---- */
#elif defined(WSQ_IO_KQUEUE)
static int wsq_io_open(wsq_io *self) {
    struct kevent event;
    self->queue = kqueue();
    EV_SET(&event, 0, EVFILT_USER, EV_ADD | EV_CLEAR, 0, 0, NULL);
    return self->queue < 0 ? -1 : kevent(self->queue, &event, 1, NULL, 0, NULL);
}

static void wsq_io_shut(wsq_io *self) {
    if (self->queue >= 0) close(self->queue);
}

static int wsq_io_register(wsq_io *self, int fd) {
    struct kevent both[2];
    EV_SET(&both[0], (uintptr_t)fd, EVFILT_READ, EV_ADD | EV_CLEAR, 0, 0, NULL);
    EV_SET(&both[1], (uintptr_t)fd, EVFILT_WRITE, EV_ADD | EV_CLEAR, 0, 0, NULL);
    return kevent(self->queue, both, 2, NULL, 0, NULL);
}

static bool wsq_io_look(uint64_t timeout_ns, void *user) {
    wsq_io *self = (wsq_io *)user;
    struct timespec time = wsq_io_time(timeout_ns);
    int n = kevent(self->queue, NULL, 0, self->events, WSQ_IO_EVENTS,
                   timeout_ns == WSQ_FOREVER ? NULL : &time);
    for (int i = 0; i < n; i++)
        if (self->events[i].filter != EVFILT_USER)
            wsq_io_came(self, (int)self->events[i].ident, (self->events[i].flags & EV_EOF) != 0);
    return self->count != 0;
}

static void wsq_io_interrupt(void *user) {
    struct kevent event;
    EV_SET(&event, 0, EVFILT_USER, 0, NOTE_TRIGGER, 0, NULL);
    (void)kevent(((wsq_io *)user)->queue, &event, 1, NULL, 0, NULL);
}

/* ---- poll, WSAPoll: for few descriptors, because each wait lists all that tasks wait for ---- */
#else
#if defined(_WIN32)
#define wsq_io_poll(all, count, ms) WSAPoll(all, (ULONG)(count), ms)
/* Makes two connected sockets on this machine. Not 0: WSAGetLastError says why. */
static int wsq_io_pair(wsq_io_fd *pair) {
    WSADATA data;
    struct sockaddr_in me;
    int size = sizeof me;
    memset(&me, 0, sizeof me);
    me.sin_family = AF_INET;
    me.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (WSAStartup(MAKEWORD(2, 2), &data) != 0) return -1; /* for as long as the process lives */
    pair[0] = socket(AF_INET, SOCK_DGRAM, 0);
    pair[1] = socket(AF_INET, SOCK_DGRAM, 0);
    if (bind(pair[0], (struct sockaddr *)&me, size) != 0) return -1;
    if (getsockname(pair[0], (struct sockaddr *)&me, &size) != 0) return -1;
    return connect(pair[1], (struct sockaddr *)&me, size);
}
#else
#define wsq_io_poll(all, count, ms) poll(all, (nfds_t)(count), ms)
static int wsq_io_pair(wsq_io_fd *pair) { return socketpair(AF_UNIX, SOCK_STREAM, 0, pair); }
#endif
static int wsq_io_open(wsq_io *self) {
    self->pair[0] = self->pair[1] = (wsq_io_fd)-1;
    if (wsq_io_pair(self->pair) != 0) return -1;
    return wsq_io_unblock(self->pair[0]) | wsq_io_unblock(self->pair[1]);
}

static void wsq_io_shut(wsq_io *self) {
    for (int i = 0; i < 2; i++)
        if (self->pair[i] != (wsq_io_fd)-1) wsq_io_close(self->pair[i]);
    free(self->all);
}

static void wsq_io_interrupt(void *user) {
    if (send(((wsq_io *)user)->pair[1], "", 1, 0) < 0) return; /* full: it is readable anyway */
}

static int wsq_io_register(wsq_io *self, wsq_io_fd fd) {
    uintptr_t most = atomic_load(&self->most), more = (uintptr_t)fd + 1;
    while (most < more && !atomic_compare_exchange_weak(&self->most, &most, more)) {}
    return 0;
}

/* A task waits for a descriptor that the thread in poll does not know of. */
#define wsq_io_asked(self) (atomic_load(&(self)->waits) != 0 ? wsq_io_interrupt(self) : (void)0)
#define wsq_io_prepare(slot, kind) (atomic_store(&(slot)->what, (uintptr_t)(kind)), true)

static void wsq_io_ask(wsq_io *self, size_t place, wsq_io_fd fd, uintptr_t what) {
    const int events = (what & WSQ_IO_READ ? POLLIN : 0) | (what & WSQ_IO_WRITE ? POLLOUT : 0);
    const struct pollfd one = {fd, (short)events, 0};
    self->all[place] = one;
}

/* Lists the descriptors for which tasks wait. Returns how many there are; 0: no memory. */
static size_t wsq_io_collect(wsq_io *self) {
    size_t most = atomic_load(&self->most), count = 1;
    if (self->capacity < most + 1) {
        free(self->all);
        self->all = (struct pollfd *)malloc((most + 1) * sizeof *self->all);
        self->capacity = self->all != NULL ? most + 1 : 0;
        if (self->all == NULL) return 0;
    }
    wsq_io_ask(self, 0, self->pair[0], WSQ_IO_READ);
    for (size_t fd = 0; fd < most; fd++) {
        wsq_io_slot *slot = wsq_io_at(self, (wsq_io_fd)fd, false);
        if (slot != NULL && atomic_load(&slot->word) > WSQ_IO_READY)
            wsq_io_ask(self, count++, (wsq_io_fd)fd, atomic_load(&slot->what));
    }
    return count;
}

static bool wsq_io_look(uint64_t timeout_ns, void *user) {
    wsq_io *self = (wsq_io *)user;
    char bytes[64];
    atomic_store(&self->waits, (uintptr_t)1); /* from here on a new wait interrupts this thread */
    size_t count = wsq_io_collect(self);
    int n = count != 0 ? wsq_io_poll(self->all, count, wsq_io_ms(timeout_ns)) : 0;
    atomic_store(&self->waits, (uintptr_t)0);
    if (n > 0 && self->all[0].revents != 0)
        for (int i = 0; i < 64 && recv(self->pair[0], bytes, sizeof bytes, 0) > 0; i++) {}
    for (size_t i = 1; n > 0 && i < count && self->count < WSQ_IO_EVENTS; i++)
        if (self->all[i].revents != 0) self->ready[self->count++] = self->all[i].fd;
    return self->count != 0;
}
#endif

/* ---- the interface ---- */
/* Sets up the driver of one pool. -1: errno says why. */
static inline int wsq_io_init(wsq_io *self, wsq_driver *driver) {
    memset((void *)self, 0, sizeof *self);
    if (wsq_io_open(self) != 0) {
        int error = errno;
        wsq_io_shut(self);
        return errno = error, -1;
    }
    const wsq_driver mine = {wsq_io_look, wsq_io_dispatch, wsq_io_interrupt, self};
    return *driver = mine, 0;
}

/* Call this after wsq_pool_destroy. It cancels operations that are still under way. */
static inline void wsq_io_fini(wsq_io *self) {
    wsq_io_shut(self);
    for (int i = 0; i < WSQ_IO_CHUNKS; i++) free((void *)atomic_load(&self->chunks[i]));
}

/* Any thread, once for each descriptor, which must be non-blocking. -1: errno says why. */
static inline int wsq_io_add(wsq_io *self, wsq_io_fd fd) {
    wsq_io_slot *slot = wsq_io_at(self, fd, true);
    if (slot == NULL) return errno = ENOMEM, -1;
    atomic_store(&slot->word, (uintptr_t)0);
    return wsq_io_register(self, fd);
}

/* The task calls this after EAGAIN or a short read. True: the task must return WSQ_PENDING. It is
 * woken when the descriptor is ready, or for nothing. False: there was an event; try again. */
static inline bool wsq_io_wait(wsq_io *self, wsq_io_fd fd, unsigned what, wsq_task *task) {
    wsq_io_slot *slot = wsq_io_at(self, fd, false);
    uintptr_t word = atomic_load(&slot->word), next;
    if (!wsq_io_prepare(slot, what)) return false;
    do next = word == WSQ_IO_READY ? 0 : (uintptr_t)task;
    while (!atomic_compare_exchange_weak(&slot->word, &word, next));
    if (next != 0) wsq_io_asked(self);
    return next != 0;
}

/* Any thread. When this returns, no task is woken for the descriptor any more. True: a task was
 * waiting for it, and has not been woken. */
static inline bool wsq_io_cancel(wsq_io *self, wsq_io_fd fd) {
    wsq_io_slot *slot = wsq_io_at(self, fd, false);
    uintptr_t word = slot != NULL ? atomic_load(&slot->word) : 0;
    while (word > WSQ_IO_READY) {
        if ((word & WSQ_IO_WAKING) != 0) {
            wsq_io_yield(); /* until dispatch has woken the task */
            word = atomic_load(&slot->word);
        } else if (atomic_compare_exchange_weak(&slot->word, &word, (uintptr_t)0)) {
            return true;
        }
    }
    return false;
}

/* Stops the time-out, in its task, or when nothing else wakes the task. Then its memory may go. */
static inline void wsq_io_reset(wsq_io_limit *limit) {
    if (limit->fires != 0) wsq_timer_cancel(&limit->timer);
    limit->until = limit->fires = 0;
}

/* In the task: the time-out begins anew. The timer stays, and may wake the task for nothing. */
static inline void wsq_io_renew(wsq_io_limit *limit) { limit->until = 0; }

/* In the task: has this time passed since the first call? False: no, and the task will be woken
 * when it has. After true, the time-out begins anew. */
static inline bool wsq_io_late(wsq_io_limit *limit, wsq_pool *pool, wsq_task *task,
                               uint64_t timeout_ns) {
    uint64_t now = wsq_io_clock();
    if (limit->until == 0)
        limit->until = timeout_ns < UINT64_MAX - now ? now + timeout_ns : UINT64_MAX;
    if (now >= limit->until) return wsq_io_reset(limit), true;
    /* A timer that fires sooner stays, unless it may have fired. (Windows' clock lags by 16 ms.) */
    if (limit->fires > limit->until || limit->fires <= now + 20000000) {
        limit->fires = limit->until;
        wsq_timer_set(pool, &limit->timer, task, limit->until - now);
    }
    return false;
}

/* ---- operations ---- */
static inline void wsq_io_set_up(wsq_io_op *op, int kind, wsq_io_fd fd, const void *buffer,
                                 size_t size, int64_t offset) {
    op->kind = kind, op->stage = WSQ_IO_NEW;
    op->fd = fd, op->offset = offset;
    op->buffer = (void *)(uintptr_t)buffer, op->size = size;
    atomic_store(&op->slot.word, (uintptr_t)0);
    atomic_store(&op->slot.what, (uintptr_t)0);
}

/* These set up an operation that is new or over; wsq_io_ended begins it. at: the offset in a file;
 * -1: the file's current position. */
static inline void wsq_io_read(wsq_io_op *op, wsq_io_fd fd, void *to, size_t size, int64_t at) {
    wsq_io_set_up(op, WSQ_IO_OP_READ, fd, to, size, at);
}
static inline void wsq_io_write(wsq_io_op *op, wsq_io_fd fd, const void *from, size_t size,
                                int64_t at) {
    wsq_io_set_up(op, WSQ_IO_OP_WRITE, fd, from, size, at);
}
static inline void wsq_io_send(wsq_io_op *op, wsq_io_fd fd, const void *from, size_t size) {
    wsq_io_set_up(op, WSQ_IO_OP_SEND, fd, from, size, 0);
}
static inline void wsq_io_accept(wsq_io_op *op, wsq_io_fd fd) {
    wsq_io_set_up(op, WSQ_IO_OP_ACCEPT, fd, NULL, 0, 0);
}

/* The task carries out the operation itself. */
static inline int64_t wsq_io_try(const wsq_io_op *op) {
#if defined(_WIN32) /* sockets only */
    int size = op->size < INT32_MAX ? (int)op->size : INT32_MAX;
    SOCKET made = op->kind == WSQ_IO_OP_ACCEPT ? accept(op->fd, NULL, NULL) : 0;
    int n = op->kind == WSQ_IO_OP_ACCEPT ? (made == INVALID_SOCKET ? -1 : 0)
            : op->kind == WSQ_IO_OP_READ ? recv(op->fd, (char *)op->buffer, size, 0)
                                         : send(op->fd, (const char *)op->buffer, size, 0);
    if (n >= 0) return made != 0 ? (int64_t)made : n;
    return WSAGetLastError() == WSAEWOULDBLOCK ? -EAGAIN : -(int64_t)WSAGetLastError();
#else
    const bool here = op->offset < 0;
    const off_t at = (off_t)op->offset;
    int64_t n;
    do {
        n = op->kind == WSQ_IO_OP_READ ? here ? read(op->fd, op->buffer, op->size)
                                              : pread(op->fd, op->buffer, op->size, at)
            : op->kind == WSQ_IO_OP_WRITE ? here ? write(op->fd, op->buffer, op->size)
                                                 : pwrite(op->fd, op->buffer, op->size, at)
            : op->kind == WSQ_IO_OP_SEND ? send(op->fd, op->buffer, op->size, WSQ_IO_QUIET)
                                         : accept(op->fd, NULL, NULL);
    } while (n < 0 && errno == EINTR);
    return n >= 0 ? n : errno == EWOULDBLOCK ? -EAGAIN : -(int64_t)errno;
#endif
}

/* The task calls this in each run. It begins a new operation. False: the operation is under way,
 * and the task must return WSQ_PENDING. It is woken when the operation is over, or for nothing. */
static inline bool wsq_io_ended(wsq_io *self, wsq_io_op *op, wsq_task *task) {
    const bool sends = op->kind == WSQ_IO_OP_SEND || op->kind == WSQ_IO_OP_WRITE;
    uintptr_t word;
    if (op->stage == WSQ_IO_NEW)
        op->stage = wsq_io_submit(self, op, task) ? WSQ_IO_IN_RING : WSQ_IO_BY_TASK;
    if (op->stage == WSQ_IO_IN_RING) {
        while (((word = atomic_load(&op->slot.word)) & WSQ_IO_WAKING) != 0) wsq_io_yield();
        if (word != 0) return false;
        /* -EAGAIN: the descriptor is non-blocking, or the ring was full. */
        op->stage = op->result == -EAGAIN ? WSQ_IO_BY_TASK : WSQ_IO_OVER;
    }
    while (op->stage == WSQ_IO_BY_TASK) {
        op->result = wsq_io_try(op);
        if (op->result == -EAGAIN && atomic_load(&op->slot.what) != 0) op->result = -ECANCELED;
        bool added = wsq_io_at(self, op->fd, false) != NULL;
        if (op->result != -EAGAIN || !added) op->stage = WSQ_IO_OVER;
        else if (wsq_io_wait(self, op->fd, sends ? WSQ_IO_WRITE : WSQ_IO_READ, task))
            return false;
    }
    return true;
}

/* The task asks the operation to end early. It must go on to call wsq_io_ended. Then op->result is
 * -ECANCELED, or what the operation did before. */
static inline void wsq_io_stop(wsq_io *self, wsq_io_op *op) {
    atomic_store(&op->slot.what, (uintptr_t)1);
    if (op->stage == WSQ_IO_NEW) op->result = -ECANCELED, op->stage = WSQ_IO_OVER;
    if (op->stage == WSQ_IO_IN_RING) wsq_io_revoke(self, op);
    if (op->stage == WSQ_IO_BY_TASK) wsq_io_cancel(self, op->fd);
}

/* In the task or its cleanup: does the kernel have the operation? Then it must stay. */
static inline bool wsq_io_busy(const wsq_io_op *op) {
    uintptr_t word;
    if (op->stage != WSQ_IO_IN_RING) return false;
    while (((word = atomic_load(&op->slot.word)) & WSQ_IO_WAKING) != 0) wsq_io_yield();
    return word != 0;
}

/* In place of wsq_io_unblock and wsq_io_add. If there is a ring, this changes nothing. Without one,
 * epoll refuses a file (EPERM): a task never waits for it. */
static inline int wsq_io_adopt(wsq_io *self, wsq_io_fd fd) {
#if defined(WSQ_IO_RING)
    if (self->has_ring) return 0;
#endif
    if (wsq_io_unblock(fd) != 0) return -1;
    return wsq_io_add(self, fd) == 0 || errno == EPERM ? 0 : -1;
}
#endif /* WSQ_IO_H */
