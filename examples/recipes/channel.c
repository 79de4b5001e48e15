/* A bounded channel for tasks, with any number of senders and receivers.
 *     cc -O2 -pthread channel.c -o channel && ./channel
 *
 * A sender that finds the channel full, or a receiver that finds it empty, waits without holding a
 * worker. The other side completes the waiting task's operation before it wakes the task, in the
 * order in which the tasks came. So no task starves, and none is woken for nothing. */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include <pthread.h>
#include <stdatomic.h>

enum { ROOM = 16 };
enum answer { CHANNEL_OK, CHANNEL_PENDING, CHANNEL_CLOSED };

struct party { /* one for each task */
    wsq_task *task;
    struct party *next;
    void *value;
    enum { RESTS, WAITS, SERVED } state;
};
struct line { struct party *first, *last; };

struct channel {
    pthread_mutex_t lock; /* guards the rest, and the parties' states */
    void *values[ROOM];
    unsigned taken, put; /* so far */
    bool closed;
    struct line senders, receivers; /* one of them is empty */
};

static enum answer wait_in(struct line *line, struct party *party) {
    if (party->state == WAITS) return CHANNEL_PENDING; /* something else has woken it */
    party->state = WAITS;
    party->next = NULL;
    if (line->first) line->last->next = party;
    else line->first = party;
    line->last = party;
    return CHANNEL_PENDING;
}

static struct party *first_of(struct line *line) {
    struct party *party = line->first;
    if (party) line->first = party->next;
    return party;
}

static void serve(struct party *party, void *value) {
    party->value = value;
    party->state = SERVED;
    wsq_wake(party->task);
}

/* CHANNEL_PENDING: the task must return WSQ_PENDING, and call again when it runs. The same value
 * then: it may have been sent already. */
static enum answer channel_send(struct channel *self, struct party *party, void *value) {
    enum answer answer = CHANNEL_OK;
    struct party *receiver;
    pthread_mutex_lock(&self->lock);
    party->value = value;
    if (party->state == SERVED) party->state = RESTS;
    else if ((receiver = first_of(&self->receivers)) != NULL) serve(receiver, value);
    else if (self->put - self->taken < ROOM) self->values[self->put++ % ROOM] = value;
    else answer = wait_in(&self->senders, party);
    pthread_mutex_unlock(&self->lock);
    return answer;
}

/* CHANNEL_CLOSED: nothing more will come. */
static enum answer channel_receive(struct channel *self, struct party *party, void **value) {
    enum answer answer = CHANNEL_OK;
    struct party *sender;
    pthread_mutex_lock(&self->lock);
    if (party->state == SERVED) {
        party->state = RESTS;
        *value = party->value;
        if (!*value) answer = CHANNEL_CLOSED;
    } else if (self->put != self->taken) {
        *value = self->values[self->taken++ % ROOM];
        sender = first_of(&self->senders);
        if (sender) self->values[self->put++ % ROOM] = sender->value, serve(sender, NULL);
    } else {
        answer = self->closed ? CHANNEL_CLOSED : wait_in(&self->receivers, party);
    }
    pthread_mutex_unlock(&self->lock);
    return answer;
}

/* When the last value has been sent. */
static void channel_close(struct channel *self) {
    pthread_mutex_lock(&self->lock);
    self->closed = true;
    for (struct party *party; (party = first_of(&self->receivers)) != NULL;) serve(party, NULL);
    pthread_mutex_unlock(&self->lock);
}

/* ---- the check: each value comes out once ---- */

enum { SENDERS = 5, RECEIVERS = 3, VALUES = 4000 };
static struct channel channel = {.lock = PTHREAD_MUTEX_INITIALIZER};
static struct end { wsq_task task; struct party party; int next; } ends[SENDERS + RECEIVERS];
static int values[SENDERS * VALUES]; /* how often each was received */
static atomic_int open_senders = SENDERS;

static wsq_poll send_all(wsq_ctx ctx, wsq_task *task) {
    struct end *self = wsq_container_of(task, struct end, task);
    int *mine = values + (self - ends) * VALUES;
    (void)ctx;
    for (; self->next < VALUES; self->next++) {
        if (channel_send(&channel, &self->party, mine + self->next) == CHANNEL_PENDING)
            return WSQ_PENDING;
    }
    if (atomic_fetch_sub(&open_senders, 1) == 1) channel_close(&channel);
    return WSQ_DONE;
}

static wsq_poll receive_all(wsq_ctx ctx, wsq_task *task) {
    struct end *self = wsq_container_of(task, struct end, task);
    void *value;
    (void)ctx;
    for (;; self->next++) {
        enum answer answer = channel_receive(&channel, &self->party, &value);
        if (answer != CHANNEL_OK) return answer == CHANNEL_CLOSED ? WSQ_DONE : WSQ_PENDING;
        ++*(int *)value; /* nobody else has it */
    }
}

int main(void) {
    wsq_pool *pool;
    int errors = 0;
    if (wsq_pool_create(&pool, &(wsq_config){.workers = 4}) != WSQ_OK) return 1;
    for (int i = 0; i < SENDERS + RECEIVERS; i++) {
        ends[i].party.task = &ends[i].task;
        wsq_task_init(&ends[i].task, i < SENDERS ? send_all : receive_all);
    }
    for (int i = 0; i < SENDERS + RECEIVERS; i++) wsq_spawn(pool, &ends[i].task);
    wsq_pool_wait(pool);
    wsq_pool_destroy(pool);
    for (int i = 0; i < SENDERS * VALUES; i++) errors += values[i] != 1;
    printf("%d values, lost or doubled: %d\n", SENDERS * VALUES, errors);
    return errors ? 1 : 0;
}
