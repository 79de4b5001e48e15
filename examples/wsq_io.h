/* wsq_io.h - tasks that wait for descriptors. One file to copy, beside wsq.h.
 *
 * Include it after wsq.h, in C11 with POSIX (-D_GNU_SOURCE), or C++11. It is a wsq_driver: an idle
 * thread of the pool waits for the descriptors, on epoll (Linux), kqueue (BSDs, macOS), WSAPoll
 * (Windows, link with -lws2_32) or poll (any POSIX), and wakes the tasks. (WSQ_IO_POLL,
 * WSQ_IO_KQUEUE: this one.)
 *
 *     if (wsq_io_init(&io, &driver) != 0) ...                   errno says why
 *     wsq_pool_create(&pool, &(wsq_config){.driver = &driver});
 *     wsq_io_unblock(fd); wsq_io_add(&io, fd);                  once for each descriptor
 *
 * READINESS, with a time-out if you like (a zeroed wsq_io_limit in the task's struct). In the task:
 *
 *     while ((n = read(fd, buffer, size)) < 0 && errno == EAGAIN) {
 *         if (wsq_io_late(&self->limit, pool, task, 2000000000)) ...        2 s are over
 *         if (wsq_io_wait(&io, fd, WSQ_IO_READ, task)) return WSQ_PENDING;
 *     }                                           else something came just now: read again
 *     wsq_io_renew(&self->limit);                 something came; wsq_io_reset: about to end
 *
 * A wake only means "try again": it may be for nothing. Call wsq_io_wait after EAGAIN, or if the
 * last read from a socket since a wait was short, which saves a call (echo.c); not before.
 * One task at a time waits for a descriptor. Before a task closes it, or frees itself, it calls
 * wsq_io_cancel, and wsq_io_reset if it has a time-out. wsq_io_fini comes after wsq_pool_destroy.
 *
 * COMPLETIONS. Or a task starts an operation; until it is woken, operation and buffer must stay:
 *
 *     wsq_io_read(&self->op, fd, self->buffer, sizeof self->buffer, -1);    once
 *     if (!wsq_io_ended(&io, &self->op, task)) return WSQ_PENDING;          in each run
 *     n = self->op.result;                        bytes, or a descriptor; negative: -errno
 *
 * With WSQ_IO_URING defined, where liburing is installed (link with -luring), the kernel carries
 * the operation out (io_uring), for files, too. Elsewhere, and if the kernel refuses a ring, the
 * task itself does, when the descriptor is ready; then files block. wsq_io_adopt instead of
 * wsq_io_add makes a descriptor fit for either. All threads share one ring, in which the kernel
 * runs one submission after the other. If a task is cancelled, an operation that is under way stays
 * until wsq_io_fini: its cleanup frees neither operation nor buffer while wsq_io_busy is true. */
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

/* Descriptors are numbers below WSQ_IO_CHUNK * WSQ_IO_CHUNKS; events of one look, at most. */
enum { WSQ_IO_CHUNK = 1024, WSQ_IO_CHUNKS = 1024, WSQ_IO_EVENTS = 256 };

/* What a descriptor's word says: 0: nothing; WSQ_IO_READY: it may be ready, and nobody knows yet;
 * else the task that waits, and + WSQ_IO_WAKING while dispatch wakes it. */
#define WSQ_IO_READY ((uintptr_t)1)
#define WSQ_IO_WAKING ((uintptr_t)1)

typedef struct wsq_io_slot {
    wsq_io_word word;
    wsq_io_word what; /* an operation: it shall stop; a descriptor: what it waits for (poll), or
                       * the other end has closed, so the next wait to read shall return */
} wsq_io_slot;

enum { WSQ_IO_OP_READ, WSQ_IO_OP_WRITE, WSQ_IO_OP_SEND, WSQ_IO_OP_ACCEPT };
enum { WSQ_IO_NEW, WSQ_IO_IN_RING, WSQ_IO_BY_TASK, WSQ_IO_OVER };

/* An operation. wsq_io_read, _write, _send or _accept sets it up. */
typedef struct wsq_io_op {
    int64_t result; /* once wsq_io_ended has returned true: see above */
    int64_t offset; /* in a file; -1: the current one */
    void *buffer;
    size_t size;
    wsq_io_fd fd;
    int kind, stage;        /* the task writes: WSQ_IO_OP_*, WSQ_IO_NEW to WSQ_IO_OVER */
    wsq_io_slot slot;       /* word: the task, while the ring has the operation */
    struct wsq_io_op *next; /* between wait and dispatch */
} wsq_io_op;

/* A time-out of a task; zeroed: none. */
typedef struct wsq_io_limit {
    wsq_timer timer;
    uint64_t until; /* ns of wsq_io_clock; 0: the next wsq_io_late begins it */
    uint64_t fires; /* when the timer does, perhaps earlier; 0: it is not set */
} wsq_io_limit;

typedef struct wsq_io {
    wsq_io_word chunks[WSQ_IO_CHUNKS]; /* of slots, by descriptor / WSQ_IO_CHUNK */
    int count;                         /* of `ready` */
    wsq_io_fd ready[WSQ_IO_EVENTS];    /* between wait and dispatch: descriptors */
    wsq_io_op *ended;                  /* ... and operations */
#if defined(WSQ_IO_EPOLL)
    int queue, poke; /* an epoll, and an eventfd in it */
    struct epoll_event events[WSQ_IO_EVENTS];
#elif defined(WSQ_IO_KQUEUE)
    int queue;
    struct kevent events[WSQ_IO_EVENTS];
#else
    wsq_io_fd pair[2]; /* interrupts go from the second to the first */
    wsq_io_word most;  /* descriptors that wait are numbers below this */
    wsq_io_word waits; /* a thread is in poll, or about to be */
    struct pollfd *all;
    size_t capacity;
#endif
#if defined(WSQ_IO_RING)
    struct io_uring ring;  /* its descriptor is in the epoll */
    pthread_mutex_t lock;  /* held while something is submitted; the next two are under it */
    bool has_ring, closes; /* closes: what is cancelled stays so */
    size_t flying;         /* operations that the kernel has */
#endif
} wsq_io;

/* ---- what systems call differently ---- */
#if defined(_WIN32)
static inline void wsq_io_yield(void) { SwitchToThread(); }
static inline void wsq_io_close(wsq_io_fd fd) { closesocket(fd); }
static inline uint64_t wsq_io_clock(void) { return (uint64_t)GetTickCount64() * 1000000u; }

static inline int wsq_io_unblock(wsq_io_fd fd) { /* as below */
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

static inline uint64_t wsq_io_clock(void) { /* ns, of a clock that nobody sets */
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* From here on the descriptor does not block. -1: errno says why. */
static inline int wsq_io_unblock(wsq_io_fd fd) {
    int flags = fcntl(fd, F_GETFL, 0);
    return flags < 0 ? -1 : fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}
#endif

/* NULL: the number is too large, or there is no memory. */
static wsq_io_slot *wsq_io_at(wsq_io *self, wsq_io_fd fd, bool make) {
    if ((size_t)fd >= (size_t)WSQ_IO_CHUNK * WSQ_IO_CHUNKS) return NULL; /* negative: as well */
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
    do { /* nobody waits: the next to wait shall try again first */
        if (word == WSQ_IO_READY) return;
        next = word == 0 ? WSQ_IO_READY : word + WSQ_IO_WAKING;
    } while (!atomic_compare_exchange_weak(&slot->word, &word, next));
    if (word == 0) return;
    wsq_wake((wsq_task *)word);
    /* It may wait again by now; else wsq_io_cancel, or wsq_io_ended, may go on. */
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
        next = op->next; /* the operation may be gone when its task is awake */
        wsq_io_ready(&op->slot);
    }
    self->ended = NULL;
}

#if !defined(WSQ_IO_POLL)
#define wsq_io_asked(self) ((void)0)
#define wsq_io_prepare(slot, kind) \
    ((kind) == WSQ_IO_WRITE || !atomic_exchange(&(slot)->what, (uintptr_t)0))
/* In `wait`. Closed: perhaps with the last bytes, and then there is no other event to tell that. */
static void wsq_io_came(wsq_io *self, int fd, bool closed) {
    wsq_io_slot *slot = closed ? wsq_io_at(self, fd, false) : NULL;
    if (slot != NULL) atomic_store(&slot->what, (uintptr_t)1);
    if (self->count < WSQ_IO_EVENTS) self->ready[self->count++] = fd; /* else the pool is over */
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
    if (io_uring_queue_init(WSQ_IO_EVENTS, &self->ring, 0) != 0) return; /* refused: do without */
    self->has_ring = wsq_io_watch(self, self->ring.ring_fd, EPOLLIN, -1) == 0;
    if (!self->has_ring) io_uring_queue_exit(&self->ring);
}

/* Under the lock. NULL: there is no room. */
static struct io_uring_sqe *wsq_io_entry(wsq_io *self) {
    struct io_uring_sqe *entry = io_uring_get_sqe(&self->ring);
    if (entry != NULL || io_uring_submit(&self->ring) <= 0) return entry;
    return io_uring_get_sqe(&self->ring);
}

/* Under the lock. False: there is no room. */
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

/* False: the task itself has to carry the operation out. */
static bool wsq_io_submit(wsq_io *self, wsq_io_op *op, wsq_task *task) {
    if (!self->has_ring) return false;
    pthread_mutex_lock(&self->lock);
    atomic_store(&op->slot.word, (uintptr_t)task);
    bool has = wsq_io_enqueue(self, op);
    self->flying += has;
    if (has && io_uring_submit(&self->ring) <= 0) wsq_io_interrupt(self); /* the next wait does */
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

/* The thread that waits: moves completions to `ended`, and submits what could not be submitted.
 * False: that is still so. */
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
        /* Cancelled, and nobody asked for that: the thread that began it has ended. */
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

/* The kernel must not write into buffers after this. (Linux before 5.19 cannot cancel all.) */
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
    /* Edges: each write to the eventfd is one, and it is never read. */
    return wsq_io_watch(self, self->poke, (uint32_t)EPOLLIN | (uint32_t)EPOLLET, -1);
}

static void wsq_io_shut(wsq_io *self) {
    wsq_io_ring_shut(self);
    close(self->queue), close(self->poke); /* -1: nothing happens */
}

static int wsq_io_register(wsq_io *self, int fd) {
    return wsq_io_watch(self, fd, (EPOLLIN | EPOLLOUT | EPOLLRDHUP) | (uint32_t)EPOLLET, fd);
}

static int wsq_io_sleep(wsq_io *self, uint64_t timeout_ns) {
#if defined(__GLIBC__) && (__GLIBC__ > 2 || (__GLIBC__ == 2 && __GLIBC_MINOR__ >= 35))
    if (timeout_ns != 0 && timeout_ns != WSQ_FOREVER) {
        struct timespec time = wsq_io_time(timeout_ns);
        int n = epoll_pwait2(self->queue, self->events, WSQ_IO_EVENTS, &time, NULL);
        if (n >= 0 || errno == EINTR) return n; /* else the kernel lacks it, or refuses it */
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
    if (write(((wsq_io *)user)->poke, &one, sizeof one) < 0) return; /* full: it is readable */
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

/* ---- poll, WSAPoll: asks for all descriptors for which a task waits; for few of them ---- */
#else
#if defined(_WIN32)
#define wsq_io_poll(all, count, ms) WSAPoll(all, (ULONG)(count), ms)
/* A socket that sends to itself. Errors: WSAGetLastError says why. */
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
    if (send(((wsq_io *)user)->pair[1], "", 1, 0) < 0) return; /* full: it is readable */
}

static int wsq_io_register(wsq_io *self, wsq_io_fd fd) {
    uintptr_t most = atomic_load(&self->most), more = (uintptr_t)fd + 1;
    while (most < more && !atomic_compare_exchange_weak(&self->most, &most, more)) {}
    return 0;
}

/* The thread in poll does not know the descriptor yet. */
#define wsq_io_asked(self) (atomic_load(&(self)->waits) != 0 ? wsq_io_interrupt(self) : (void)0)
#define wsq_io_prepare(slot, kind) (atomic_store(&(slot)->what, (uintptr_t)(kind)), true)

static void wsq_io_ask(wsq_io *self, size_t place, wsq_io_fd fd, uintptr_t what) {
    self->all[place].fd = fd;
    self->all[place].events =
        (short)((what & WSQ_IO_READ ? POLLIN : 0) | (what & WSQ_IO_WRITE ? POLLOUT : 0));
    self->all[place].revents = 0;
}

/* The descriptors to ask for; 0: no memory. */
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
    atomic_store(&self->waits, (uintptr_t)1); /* before it collects: else a later one is not */
    size_t count = wsq_io_collect(self);      /* asked for */
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

/* After wsq_pool_destroy. Operations that are still under way are cancelled. */
static inline void wsq_io_fini(wsq_io *self) {
    wsq_io_shut(self);
    for (int i = 0; i < WSQ_IO_CHUNKS; i++) free((void *)atomic_load(&self->chunks[i]));
}

/* Any thread, once for each descriptor, which must not block. -1: errno says why. */
static inline int wsq_io_add(wsq_io *self, wsq_io_fd fd) {
    wsq_io_slot *slot = wsq_io_at(self, fd, true);
    if (slot == NULL) return errno = ENOMEM, -1;
    atomic_store(&slot->word, (uintptr_t)0);
    return wsq_io_register(self, fd);
}

/* In the task, after EAGAIN or a short read. True: it returns WSQ_PENDING, and is woken when the
 * descriptor is ready, or for nothing. False: something has happened since; try again. */
static inline bool wsq_io_wait(wsq_io *self, wsq_io_fd fd, unsigned what, wsq_task *task) {
    wsq_io_slot *slot = wsq_io_at(self, fd, false);
    uintptr_t word = atomic_load(&slot->word), next;
    if (!wsq_io_prepare(slot, what)) return false;
    do next = word == WSQ_IO_READY ? 0 : (uintptr_t)task;
    while (!atomic_compare_exchange_weak(&slot->word, &word, next));
    if (next != 0) wsq_io_asked(self);
    return next != 0;
}

/* Any thread. When it returns, no task is woken for the descriptor any more. True: a task was
 * waiting, and has not been woken for it. */
static inline bool wsq_io_cancel(wsq_io *self, wsq_io_fd fd) {
    wsq_io_slot *slot = wsq_io_at(self, fd, false);
    uintptr_t word = slot != NULL ? atomic_load(&slot->word) : 0;
    while (word > WSQ_IO_READY) {
        if ((word & WSQ_IO_WAKING) != 0) {
            wsq_io_yield(); /* dispatch is about to have woken it */
            word = atomic_load(&slot->word);
        } else if (atomic_compare_exchange_weak(&slot->word, &word, (uintptr_t)0)) {
            return true;
        }
    }
    return false;
}

/* In the task, or when nothing wakes it: the time does not run any more, and its memory may go. */
static inline void wsq_io_reset(wsq_io_limit *limit) {
    if (limit->fires != 0) wsq_timer_cancel(&limit->timer);
    limit->until = limit->fires = 0;
}

/* In the task: the time begins anew. The timer stays, and may wake the task for nothing. */
static inline void wsq_io_renew(wsq_io_limit *limit) { limit->until = 0; }

/* In the task: has this much time passed since the first call? False: not yet, and the task will
 * be woken when it has. After true the time begins anew. */
static inline bool wsq_io_late(wsq_io_limit *limit, wsq_pool *pool, wsq_task *task,
                               uint64_t timeout_ns) {
    uint64_t now = wsq_io_clock();
    if (limit->until == 0)
        limit->until = timeout_ns < UINT64_MAX - now ? now + timeout_ns : UINT64_MAX;
    if (now >= limit->until) return wsq_io_reset(limit), true;
    /* A timer that fires sooner stays, unless it may have fired: Windows' clock lags by 16 ms. */
    if (limit->fires > limit->until || limit->fires <= now + 20000000) {
        limit->fires = limit->until;
        wsq_timer_set(pool, &limit->timer, task, limit->until - now);
    }
    return false;
}

/* ---- operations ---- */
static inline void wsq_io_set_up(wsq_io_op *op, int kind, wsq_io_fd fd, const void *buffer,
                                 size_t size, int64_t offset) {
    op->kind = kind;
    op->fd = fd;
    op->buffer = (void *)(uintptr_t)buffer;
    op->size = size;
    op->offset = offset;
    op->stage = WSQ_IO_NEW;
    atomic_store(&op->slot.word, (uintptr_t)0);
    atomic_store(&op->slot.what, (uintptr_t)0);
}

/* When it is new or over; wsq_io_ended begins it. Offset: in a file; -1: where the file stands. */
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

/* The task itself carries the operation out. */
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

/* In the task, in each run: begins a new operation. False: it is under way; the task returns
 * WSQ_PENDING, and is woken when it is over, or for nothing. True: op->result is there. */
static inline bool wsq_io_ended(wsq_io *self, wsq_io_op *op, wsq_task *task) {
    const bool sends = op->kind == WSQ_IO_OP_SEND || op->kind == WSQ_IO_OP_WRITE;
    uintptr_t word;
    if (op->stage == WSQ_IO_NEW)
        op->stage = wsq_io_submit(self, op, task) ? WSQ_IO_IN_RING : WSQ_IO_BY_TASK;
    if (op->stage == WSQ_IO_IN_RING) {
        while (((word = atomic_load(&op->slot.word)) & WSQ_IO_WAKING) != 0) wsq_io_yield();
        if (word != 0) return false;
        /* A descriptor that does not block, or a full ring. */
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

/* In the task: the operation shall end early. Go on to call wsq_io_ended: op->result is -ECANCELED,
 * or what the operation has done by then. */
static inline void wsq_io_stop(wsq_io *self, wsq_io_op *op) {
    atomic_store(&op->slot.what, (uintptr_t)1);
    if (op->stage == WSQ_IO_NEW) op->result = -ECANCELED, op->stage = WSQ_IO_OVER;
    if (op->stage == WSQ_IO_IN_RING) wsq_io_revoke(self, op);
    if (op->stage == WSQ_IO_BY_TASK) wsq_io_cancel(self, op->fd);
}

/* In the task or its cleanup: has the kernel the operation? Then it must stay, with its buffer. */
static inline bool wsq_io_busy(const wsq_io_op *op) {
    uintptr_t word = 0;
    while (op->stage == WSQ_IO_IN_RING && ((word = atomic_load(&op->slot.word)) & WSQ_IO_WAKING) != 0)
        wsq_io_yield(); /* dispatch is about to have woken the task */
    return word != 0;
}

/* Instead of wsq_io_unblock and wsq_io_add: with a ring the descriptor stays as it is. */
static inline int wsq_io_adopt(wsq_io *self, wsq_io_fd fd) {
#if defined(WSQ_IO_RING)
    if (self->has_ring) return 0;
#endif
    return wsq_io_unblock(fd) != 0 ? -1 : wsq_io_add(self, fd);
}
#endif /* WSQ_IO_H */
