/* How do I send messages between tasks? By a bounded channel: a sender that finds it full, or a
 * receiver that finds it empty, waits without holding a worker.
 *     cc -O2 -pthread channel.c -o channel && ./channel
 *
 * The file to copy is examples/wsq_channel.h. Here several tasks send, others receive, and each
 * value comes out once. A receiver ends when the channel is closed and empty. */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include "../wsq_channel.h"
#include <stdatomic.h>

enum { SENDERS = 5, RECEIVERS = 3, VALUES = 4000 };
static wsq_channel channel;
static struct end { wsq_task task; wsq_channel_party party; int next; } ends[SENDERS + RECEIVERS];
static int values[SENDERS * VALUES]; /* how often each was received */
static atomic_int open_senders = SENDERS;

static wsq_poll send_all(wsq_ctx ctx, wsq_task *task) {
    struct end *self = wsq_container_of(task, struct end, task);
    int *mine = values + (self - ends) * VALUES;
    (void)ctx;
    for (; self->next < VALUES; self->next++) {
        if (wsq_channel_send(&channel, &self->party, mine + self->next) == WSQ_CHANNEL_PENDING)
            return WSQ_PENDING;
    }
    if (atomic_fetch_sub(&open_senders, 1) == 1) wsq_channel_close(&channel);
    return WSQ_DONE;
}

static wsq_poll receive_all(wsq_ctx ctx, wsq_task *task) {
    struct end *self = wsq_container_of(task, struct end, task);
    void *value;
    (void)ctx;
    for (;; self->next++) {
        wsq_channel_answer answer = wsq_channel_receive(&channel, &self->party, &value);
        if (answer != WSQ_CHANNEL_OK) return answer == WSQ_CHANNEL_CLOSED ? WSQ_DONE : WSQ_PENDING;
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
