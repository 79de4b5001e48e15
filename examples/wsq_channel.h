/* wsq_channel.h - a bounded channel for tasks, with any number of senders and receivers.
 *
 * A sender that finds the channel full, or a receiver that finds it empty, waits without holding a
 * worker. The other side completes the waiting task's operation before it wakes the task, in the
 * order in which the tasks came. So no task starves, and none is woken for nothing. It needs POSIX
 * threads and stdatomic.h. recipes/channel.c uses it; test/test_channel.c tests it.
 *
 *     wsq_channel channel = {0};
 *     wsq_channel_party party = {.task = task};           one in each task's struct
 *     if (wsq_channel_send(&channel, &party, value) == WSQ_CHANNEL_PENDING) return WSQ_PENDING;
 *
 * A task that waits may be cancelled if its cleanup (wsq_task_set_cleanup) calls wsq_channel_leave. */
#ifndef WSQ_CHANNEL_H
#define WSQ_CHANNEL_H

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#ifndef WSQ_CHANNEL_ROOM
#define WSQ_CHANNEL_ROOM 16 /* values in a channel */
#endif
typedef enum wsq_channel_answer {
    WSQ_CHANNEL_OK,
    WSQ_CHANNEL_PENDING, /* the task must return WSQ_PENDING, and call again when it runs */
    WSQ_CHANNEL_CLOSED   /* nothing more will come */
} wsq_channel_answer;

typedef struct wsq_channel_party { /* one for each task that sends or receives */
    wsq_task *task;
    struct wsq_channel_party *next;
    void *value;
    enum { WSQ_CHANNEL_RESTS, WSQ_CHANNEL_WAITS, WSQ_CHANNEL_SERVED } state;
} wsq_channel_party;
typedef struct wsq_channel_line { wsq_channel_party *first, *last; } wsq_channel_line;

typedef struct wsq_channel {
    _Atomic(pthread_t) owner; /* of the lock, which guards the rest and the parties' states; 0: free */
    void *values[WSQ_CHANNEL_ROOM];
    uint64_t taken, put; /* so far */
    bool closed;
    wsq_channel_line senders, receivers; /* one of them is empty */
} wsq_channel;

/* The lock is held for some 20 ns, so a thread spins for it, each time longer. If some us do not
 * suffice, the owner has lost its processor, and the thread sleeps. (With a mutex a value takes
 * seven times as long between two far processors: bench/README.) False: this thread has the lock
 * already. That is so in a cleanup that wsq_wake calls, in a pool that was shut down by WSQ_CANCEL. */
static inline bool wsq_channel_lock(wsq_channel *self) {
    const struct timespec nap = {.tv_nsec = 20000};
    pthread_t me = pthread_self(), nobody = 0;
    if (atomic_load_explicit(&self->owner, memory_order_relaxed) == me) return false;
    for (unsigned spins = 8;
         !atomic_compare_exchange_weak_explicit(&self->owner, &nobody, me, memory_order_acquire,
                                                memory_order_relaxed);
         nobody = 0) {
        for (volatile unsigned i = spins; i != 0; i--) {}
        if (spins < 4096) spins *= 2;
        else nanosleep(&nap, NULL);
    }
    return true;
}

static inline void wsq_channel_unlock(wsq_channel *self, bool locked) {
    if (locked) atomic_store_explicit(&self->owner, (pthread_t)0, memory_order_release);
}

/* The functions without a comment are called with the lock. */
static inline wsq_channel_answer wsq_channel_wait(wsq_channel_line *line,
                                                  wsq_channel_party *party) {
    if (party->state == WSQ_CHANNEL_WAITS) return WSQ_CHANNEL_PENDING; /* another wake came */
    party->state = WSQ_CHANNEL_WAITS;
    party->next = NULL;
    if (line->first) line->last->next = party;
    else line->first = party;
    line->last = party;
    return WSQ_CHANNEL_PENDING;
}

static inline wsq_channel_party *wsq_channel_first(wsq_channel_line *line) {
    wsq_channel_party *party = line->first;
    if (party) line->first = party->next;
    return party;
}

static inline bool wsq_channel_unlink(wsq_channel_line *line, wsq_channel_party *party) {
    wsq_channel_party **link = &line->first, *before = NULL;
    while (*link && *link != party) before = *link, link = &before->next;
    if (!*link) return false;
    *link = party->next;
    if (line->last == party) line->last = before;
    return true;
}

static inline void wsq_channel_serve(wsq_channel_party *party, void *value) {
    party->value = value;
    party->state = WSQ_CHANNEL_SERVED;
    wsq_wake(party->task);
}

/* value: not NULL. A task that calls again gives the same one: it may have been sent already. */
static inline wsq_channel_answer wsq_channel_send(wsq_channel *self, wsq_channel_party *party,
                                                  void *value) {
    wsq_channel_answer answer = WSQ_CHANNEL_OK;
    wsq_channel_party *receiver;
    bool locked = wsq_channel_lock(self);
    party->value = value;
    if (party->state == WSQ_CHANNEL_SERVED)
        party->state = WSQ_CHANNEL_RESTS;
    else if ((receiver = wsq_channel_first(&self->receivers)) != NULL)
        wsq_channel_serve(receiver, value);
    else if (self->put - self->taken < WSQ_CHANNEL_ROOM)
        self->values[self->put++ % WSQ_CHANNEL_ROOM] = value;
    else
        answer = wsq_channel_wait(&self->senders, party);
    wsq_channel_unlock(self, locked);
    return answer;
}

/* WSQ_CHANNEL_OK: *value is the oldest value. */
static inline wsq_channel_answer wsq_channel_receive(wsq_channel *self, wsq_channel_party *party,
                                                     void **value) {
    wsq_channel_answer answer = WSQ_CHANNEL_OK;
    wsq_channel_party *sender;
    bool locked = wsq_channel_lock(self);
    if (party->state == WSQ_CHANNEL_SERVED) {
        party->state = WSQ_CHANNEL_RESTS;
        *value = party->value;
        if (!*value) answer = WSQ_CHANNEL_CLOSED;
    } else if (self->put != self->taken) {
        *value = self->values[self->taken++ % WSQ_CHANNEL_ROOM];
        sender = wsq_channel_first(&self->senders);
        if (sender) {
            self->values[self->put++ % WSQ_CHANNEL_ROOM] = sender->value;
            wsq_channel_serve(sender, NULL);
        }
    } else {
        answer = self->closed ? WSQ_CHANNEL_CLOSED : wsq_channel_wait(&self->receivers, party);
    }
    wsq_channel_unlock(self, locked);
    return answer;
}

/* Any thread, when the last value has been sent. */
static inline void wsq_channel_close(wsq_channel *self) {
    bool locked = wsq_channel_lock(self);
    self->closed = true;
    wsq_channel_party *party;
    while ((party = wsq_channel_first(&self->receivers)) != NULL) wsq_channel_serve(party, NULL);
    wsq_channel_unlock(self, locked);
}

/* Ends the party's wait: in the cleanup of its task, or in its function. Returns the value that the
 * party still has: one that it waited to send, or one that came for it. NULL: none. */
static inline void *wsq_channel_leave(wsq_channel *self, wsq_channel_party *party) {
    void *value = NULL;
    bool locked = wsq_channel_lock(self);
    if (party->state == WSQ_CHANNEL_SERVED ||
        (party->state == WSQ_CHANNEL_WAITS && !wsq_channel_unlink(&self->receivers, party) &&
         wsq_channel_unlink(&self->senders, party)))
        value = party->value;
    party->state = WSQ_CHANNEL_RESTS;
    wsq_channel_unlock(self, locked);
    return value;
}

#endif
