/* wsq_io.h - tasks that wait for descriptors. One file to copy, beside wsq.h.
 *
 * Include it behind wsq.h in one C11 file. It is a wsq_driver: an idle thread of the pool waits for
 * the descriptors, on epoll (Linux), kqueue (BSDs, macOS) or poll (any POSIX), and wakes the tasks.
 * No other thread is needed.
 *
 *     wsq_io io;
 *     wsq_driver driver;
 *     if (wsq_io_init(&io, &driver) != 0) ...                   errno says why
 *     wsq_pool_create(&pool, &(wsq_config){.driver = &driver});
 *     wsq_io_add(&io, fd);                                      once; fd does not block
 *
 * and in the task:
 *
 *     n = read(fd, buffer, size);
 *     if (n < 0 && errno == EAGAIN) {
 *         if (wsq_io_wait(&io, fd, WSQ_IO_READ, task)) return WSQ_PENDING;
 *         ...                                     something came just now: read again
 *     }
 *
 * A wake only means "try again": it may be for nothing. Call wsq_io_wait after EAGAIN, not before.
 * One task at a time waits for a descriptor. "Readable, or 2 s are over" is wsq_io_wait and
 * wsq_timer_set together; the task then calls wsq_timer_cancel, which returns false if the time is
 * up. Before it closes the descriptor, or frees itself, it calls wsq_io_cancel. */
#ifndef WSQ_IO_H
#define WSQ_IO_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(WSQ_IO_POLL)
#include <poll.h>
#elif defined(__linux__)
#define WSQ_IO_EPOLL 1
#include <sys/epoll.h>
#include <sys/eventfd.h>
#elif defined(__APPLE__) || defined(__FreeBSD__) || defined(__NetBSD__) || \
    defined(__OpenBSD__) || defined(__DragonFly__)
#define WSQ_IO_KQUEUE 1
#include <sys/types.h>
#include <sys/event.h>
#include <sys/time.h>
#else
#define WSQ_IO_POLL 1
#include <poll.h>
#endif

enum { WSQ_IO_READ = 1, WSQ_IO_WRITE = 2 };

/* Descriptors are numbers below WSQ_IO_CHUNK * WSQ_IO_CHUNKS; events of one look, at most. */
enum { WSQ_IO_CHUNK = 1024, WSQ_IO_CHUNKS = 1024, WSQ_IO_EVENTS = 256 };

/* What a descriptor's word says: 0: nothing; WSQ_IO_READY: it may be ready, and nobody knows yet;
 * else the task that waits, and + WSQ_IO_WAKING while dispatch wakes it. */
#define WSQ_IO_READY ((uintptr_t)1)
#define WSQ_IO_WAKING ((uintptr_t)1)

typedef struct wsq_io_slot {
    atomic_uintptr_t word;
    atomic_uint what; /* poll only: WSQ_IO_* */
} wsq_io_slot;

typedef struct wsq_io {
    _Atomic(wsq_io_slot *) chunks[WSQ_IO_CHUNKS]; /* by descriptor / WSQ_IO_CHUNK */
    int count;                                    /* of `ready` */
    int ready[WSQ_IO_EVENTS];                     /* descriptors: between wait and dispatch */
#if defined(WSQ_IO_EPOLL)
    int queue, poke; /* an epoll, and an eventfd in it */
    struct epoll_event events[WSQ_IO_EVENTS];
#elif defined(WSQ_IO_KQUEUE)
    int queue;
    struct kevent events[WSQ_IO_EVENTS];
#else
    int pipe[2];      /* interrupts */
    atomic_int most;  /* descriptors that wait are numbers below this */
    atomic_bool waits; /* a thread is in poll, or about to be */
    struct pollfd *all;
    size_t capacity;
#endif
} wsq_io;

/* NULL: the number is too large, or there is no memory. */
static wsq_io_slot *wsq_io_at(wsq_io *self, int fd, bool make) {
    if (fd < 0 || fd >= WSQ_IO_CHUNK * WSQ_IO_CHUNKS) return NULL;
    _Atomic(wsq_io_slot *) *place = &self->chunks[fd / WSQ_IO_CHUNK];
    wsq_io_slot *chunk = atomic_load_explicit(place, memory_order_acquire), *none = NULL;
    if (chunk == NULL && make) {
        chunk = (wsq_io_slot *)calloc(WSQ_IO_CHUNK, sizeof *chunk);
        if (chunk != NULL && !atomic_compare_exchange_strong(place, &none, chunk)) {
            free(chunk);
            chunk = none;
        }
    }
    return chunk != NULL ? &chunk[fd % WSQ_IO_CHUNK] : NULL;
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
    /* It may wait again by now; else wsq_io_cancel may go on. */
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
}

/* ---- epoll ---- */
#if defined(WSQ_IO_EPOLL)

static int wsq_io_open(wsq_io *self) {
    /* Edges: each write to the eventfd is one, and it is never read. */
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.fd = -1};
    self->queue = epoll_create1(EPOLL_CLOEXEC);
    self->poke = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (self->queue < 0 || self->poke < 0) return -1;
    return epoll_ctl(self->queue, EPOLL_CTL_ADD, self->poke, &event);
}

static void wsq_io_shut(wsq_io *self) {
    if (self->queue >= 0) close(self->queue);
    if (self->poke >= 0) close(self->poke);
}

static int wsq_io_register(wsq_io *self, int fd) {
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.fd = fd};
    return epoll_ctl(self->queue, EPOLL_CTL_ADD, fd, &event);
}

static void wsq_io_asked(wsq_io *self, int fd) { (void)self, (void)fd; }

static int wsq_io_sleep(wsq_io *self, uint64_t timeout_ns) {
    int n;
#if defined(__GLIBC__) && (__GLIBC__ > 2 || (__GLIBC__ == 2 && __GLIBC_MINOR__ >= 35))
    if (timeout_ns != 0 && timeout_ns != WSQ_FOREVER) {
        struct timespec time = {.tv_sec = (time_t)(timeout_ns / 1000000000u),
                                .tv_nsec = (long)(timeout_ns % 1000000000u)};
        n = epoll_pwait2(self->queue, self->events, WSQ_IO_EVENTS, &time, NULL);
        if (n >= 0 || errno != ENOSYS) return n;
    }
#endif
    int ms = timeout_ns == WSQ_FOREVER ? -1 : timeout_ns > 1000000000000u ? 1000000000
                                            : (int)((timeout_ns + 999999) / 1000000);
    n = epoll_wait(self->queue, self->events, WSQ_IO_EVENTS, ms);
    return n;
}

static bool wsq_io_look(uint64_t timeout_ns, void *user) {
    wsq_io *self = (wsq_io *)user;
    int n = wsq_io_sleep(self, timeout_ns);
    for (int i = 0; i < n; i++)
        if (self->events[i].data.fd >= 0) self->ready[self->count++] = self->events[i].data.fd;
    return self->count != 0;
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

static void wsq_io_asked(wsq_io *self, int fd) { (void)self, (void)fd; }

static bool wsq_io_look(uint64_t timeout_ns, void *user) {
    wsq_io *self = (wsq_io *)user;
    struct timespec time = {(time_t)(timeout_ns / 1000000000u), (long)(timeout_ns % 1000000000u)};
    if (time.tv_sec > 1000000000) time.tv_sec = 1000000000;
    int n = kevent(self->queue, NULL, 0, self->events, WSQ_IO_EVENTS,
                   timeout_ns == WSQ_FOREVER ? NULL : &time);
    for (int i = 0; i < n; i++)
        if (self->events[i].filter != EVFILT_USER)
            self->ready[self->count++] = (int)self->events[i].ident;
    return self->count != 0;
}

static void wsq_io_interrupt(void *user) {
    struct kevent event;
    EV_SET(&event, 0, EVFILT_USER, 0, NOTE_TRIGGER, 0, NULL);
    (void)kevent(((wsq_io *)user)->queue, &event, 1, NULL, 0, NULL);
}

/* ---- poll: asks for all descriptors for which a task waits; for few of them ---- */
#else

static void wsq_io_interrupt(void *user) {
    if (write(((wsq_io *)user)->pipe[1], "", 1) < 0) return; /* full: it is readable */
}

static int wsq_io_open(wsq_io *self) {
    self->pipe[0] = self->pipe[1] = -1;
    if (pipe(self->pipe) != 0) return -1;
    return fcntl(self->pipe[0], F_SETFL, O_NONBLOCK) | fcntl(self->pipe[1], F_SETFL, O_NONBLOCK);
}

static void wsq_io_shut(wsq_io *self) {
    if (self->pipe[0] >= 0) close(self->pipe[0]);
    if (self->pipe[1] >= 0) close(self->pipe[1]);
    free(self->all);
}

static int wsq_io_register(wsq_io *self, int fd) {
    int most = atomic_load(&self->most);
    while (most <= fd && !atomic_compare_exchange_weak(&self->most, &most, fd + 1)) {}
    return 0;
}

/* The thread in poll does not know the descriptor yet. */
static void wsq_io_asked(wsq_io *self, int fd) {
    (void)fd;
    if (atomic_load(&self->waits)) wsq_io_interrupt(self);
}

/* The descriptors to ask for; 0: no memory. */
static size_t wsq_io_collect(wsq_io *self) {
    int most = atomic_load(&self->most);
    size_t count = 1;
    if (self->capacity < (size_t)most + 1) {
        void *all = realloc(self->all, ((size_t)most + 1) * sizeof *self->all);
        if (all == NULL) return 0;
        self->all = (struct pollfd *)all;
        self->capacity = (size_t)most + 1;
    }
    self->all[0] = (struct pollfd){.fd = self->pipe[0], .events = POLLIN};
    for (int fd = 0; fd < most; fd++) {
        wsq_io_slot *slot = wsq_io_at(self, fd, false);
        if (slot == NULL || atomic_load(&slot->word) <= WSQ_IO_READY) continue;
        unsigned what = atomic_load(&slot->what);
        int events = (what & WSQ_IO_READ ? POLLIN : 0) | (what & WSQ_IO_WRITE ? POLLOUT : 0);
        self->all[count++] = (struct pollfd){.fd = fd, .events = (short)events};
    }
    return count;
}

static bool wsq_io_look(uint64_t timeout_ns, void *user) {
    wsq_io *self = (wsq_io *)user;
    char bytes[64];
    int ms = timeout_ns == WSQ_FOREVER ? -1 : timeout_ns > 1000000000000u ? 1000000000
                                            : (int)((timeout_ns + 999999) / 1000000);
    atomic_store(&self->waits, true); /* before it collects: else a later one is not asked for */
    size_t count = wsq_io_collect(self);
    int n = count != 0 ? poll(self->all, (nfds_t)count, ms) : 0;
    atomic_store(&self->waits, false);
    if (n > 0 && self->all[0].revents != 0)
        while (read(self->pipe[0], bytes, sizeof bytes) == (ssize_t)sizeof bytes) {}
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
        errno = error;
        return -1;
    }
    *driver = (wsq_driver){wsq_io_look, wsq_io_dispatch, wsq_io_interrupt, self};
    return 0;
}

/* After wsq_pool_destroy. */
static inline void wsq_io_fini(wsq_io *self) {
    wsq_io_shut(self);
    for (int i = 0; i < WSQ_IO_CHUNKS; i++) free(atomic_load(&self->chunks[i]));
}

/* Any thread, once for each descriptor, which must not block. -1: errno says why. */
static inline int wsq_io_add(wsq_io *self, int fd) {
    wsq_io_slot *slot = wsq_io_at(self, fd, true);
    if (slot == NULL) {
        errno = ENOMEM;
        return -1;
    }
    atomic_store(&slot->word, (uintptr_t)0);
    return wsq_io_register(self, fd);
}

/* In the task, after EAGAIN. True: it returns WSQ_PENDING, and is woken when the descriptor is
 * ready, or for nothing. False: something has happened since; try again. */
static inline bool wsq_io_wait(wsq_io *self, int fd, unsigned what, wsq_task *task) {
    wsq_io_slot *slot = wsq_io_at(self, fd, false);
    uintptr_t word = atomic_load(&slot->word), next;
    atomic_store(&slot->what, what);
    do next = word == WSQ_IO_READY ? 0 : (uintptr_t)task;
    while (!atomic_compare_exchange_weak(&slot->word, &word, next));
    if (next != 0) wsq_io_asked(self, fd);
    return next != 0;
}

/* Any thread. When it returns, no task is woken for the descriptor any more. True: a task was
 * waiting, and has not been woken for it. */
static inline bool wsq_io_cancel(wsq_io *self, int fd) {
    wsq_io_slot *slot = wsq_io_at(self, fd, false);
    uintptr_t word = slot != NULL ? atomic_load(&slot->word) : 0;
    while (word > WSQ_IO_READY) {
        if ((word & WSQ_IO_WAKING) != 0) {
            sched_yield(); /* dispatch is about to have woken it */
            word = atomic_load(&slot->word);
        } else if (atomic_compare_exchange_weak(&slot->word, &word, (uintptr_t)0)) {
            return true;
        }
    }
    return false;
}

#endif /* WSQ_IO_H */
