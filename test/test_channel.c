/* examples/wsq_channel.h: tasks that are cancelled while they wait, by hand and by a shutdown. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "../examples/wsq_channel.h"
#include "test.h"
#include "pool.h"

enum { PARTIES = 3, VALUES = 64 };

static wsq_channel channel;

/* A task on the heap that sends `value`, or, if that is NULL, receives values until the end. */
struct end { wsq_task task; wsq_channel_party party; void *value; };

static int values[VALUES]; /* how often each was received, or left */
static int order[VALUES];
static atomic_int received, left, over;

static void receive(void *value) {
    order[atomic_fetch_add(&received, 1)] = (int)((int *)value - values);
    ++*(int *)value;
}

static wsq_poll end_it(struct end *self) {
    atomic_fetch_add(&over, 1);
    free(self);
    return WSQ_GONE;
}

static wsq_poll end_run(wsq_ctx ctx, wsq_task *task) {
    struct end *self = wsq_container_of(task, struct end, task);
    wsq_channel_answer answer = WSQ_CHANNEL_OK;
    void *value;
    (void)ctx;
    if (self->value) answer = wsq_channel_send(&channel, &self->party, self->value);
    else while ((answer = wsq_channel_receive(&channel, &self->party, &value)) == WSQ_CHANNEL_OK)
        receive(value);
    return answer == WSQ_CHANNEL_PENDING ? WSQ_PENDING : end_it(self);
}

static wsq_poll end_cleanup(wsq_task *task) {
    struct end *self = wsq_container_of(task, struct end, task);
    int *value = wsq_channel_leave(&channel, &self->party);
    if (value != NULL) ++*value, atomic_fetch_add(&left, 1);
    return end_it(self);
}

static struct end *end_new(wsq_pool *pool, void *value) {
    struct end *self = calloc(1, sizeof *self);
    wsq_task_init(&self->task, end_run);
    wsq_task_set_cleanup(&self->task, end_cleanup);
    self->party.task = &self->task;
    self->value = value;
    CHECK_EQ(wsq_spawn(pool, &self->task), WSQ_OK);
    return self;
}

static wsq_pool *begin(wsq_config config) {
    memset(&channel, 0, sizeof channel);
    memset(values, 0, sizeof values);
    atomic_store(&received, 0);
    atomic_store(&left, 0);
    atomic_store(&over, 0);
    return pool_new(config);
}

static void run_all(wsq_pool *pool) {
    while (wsq_pool_run_one(pool)) {}
}

/* Of three receivers that wait, one is cancelled. The others get what comes, the first one first. */
static void receivers(void) {
    for (int gone = 0; gone < PARTIES; gone++) {
        wsq_pool *pool = begin((wsq_config){.caller_runs = true});
        struct end *ends[PARTIES];
        for (int i = 0; i < PARTIES; i++) ends[i] = end_new(pool, NULL);
        run_all(pool);
        CHECK(wsq_task_cancel(&ends[gone]->task));
        run_all(pool);
        CHECK_EQ(atomic_load(&over), 1);
        end_new(pool, &values[0]);
        run_all(pool);
        CHECK_EQ(values[0], 1);
        end_new(pool, NULL); /* it is linked behind those that are left */
        run_all(pool);
        for (int i = 1; i <= PARTIES; i++) end_new(pool, &values[i]);
        run_all(pool);
        for (int i = 1; i <= PARTIES; i++) CHECK_EQ(values[i], 1);
        wsq_channel_close(&channel);
        run_all(pool);
        CHECK_EQ(atomic_load(&over), 2 * PARTIES + 2);
        pool_end(pool);
    }
}

/* Of three senders that wait at a full channel, one is cancelled, and keeps its value. */
static void senders(void) {
    enum { ALL = WSQ_CHANNEL_ROOM + PARTIES };
    for (int gone = WSQ_CHANNEL_ROOM; gone < ALL; gone++) {
        wsq_pool *pool = begin((wsq_config){.caller_runs = true});
        struct end *ends[ALL];
        for (int i = 0; i < ALL; i++) ends[i] = end_new(pool, &values[i]);
        run_all(pool);
        CHECK_EQ(atomic_load(&over), WSQ_CHANNEL_ROOM);
        CHECK(wsq_task_cancel(&ends[gone]->task));
        run_all(pool);
        CHECK_EQ(atomic_load(&left), 1);
        end_new(pool, &values[ALL]);
        end_new(pool, NULL);
        run_all(pool);
        CHECK_EQ(atomic_load(&received), ALL);
        for (int i = 0; i < ALL; i++) CHECK_EQ(order[i], i + (i >= gone));
        wsq_channel_close(&channel);
        run_all(pool);
        pool_end(pool);
    }
}

/* A value came for a task that was cancelled before it ran again. And a sender's value has gone. */
static void served(void) {
    wsq_pool *pool = begin((wsq_config){.caller_runs = true});
    struct end *receiver = end_new(pool, NULL);
    run_all(pool);
    CHECK_EQ(wsq_channel_send(&channel, &(wsq_channel_party){0}, &values[0]), WSQ_CHANNEL_OK);
    CHECK(wsq_task_cancel(&receiver->task));
    run_all(pool);
    CHECK_EQ(atomic_load(&left), 1);
    struct end *sender = NULL;
    for (int i = 0; i <= WSQ_CHANNEL_ROOM; i++) sender = end_new(pool, &values[i]);
    run_all(pool);
    void *value = NULL;
    CHECK_EQ(wsq_channel_receive(&channel, &(wsq_channel_party){0}, &value), WSQ_CHANNEL_OK);
    CHECK(wsq_task_cancel(&sender->task));
    run_all(pool);
    CHECK_EQ(atomic_load(&left), 1);
    CHECK_EQ(atomic_load(&over), WSQ_CHANNEL_ROOM + 2);
    pool_end(pool);
}

/* After a WSQ_CANCEL the wakes of a close call the cleanups, on this thread. */
static void shut_down(void) {
    for (int caller_runs = 0; caller_runs < 2; caller_runs++) {
        wsq_pool *pool = begin((wsq_config){.workers = 1, .caller_runs = caller_runs != 0});
        struct end *ends[PARTIES];
        for (int i = 0; i < PARTIES; i++) ends[i] = end_new(pool, NULL);
        for (bool wait = true; wait; sched_yield()) {
            if (caller_runs) run_all(pool);
            bool locked = wsq_channel_lock(&channel);
            wait = channel.receivers.first == NULL || channel.receivers.last != &ends[PARTIES - 1]->party;
            wsq_channel_unlock(&channel, locked);
        }
        CHECK_EQ(wsq_pool_shutdown(pool, WSQ_CANCEL), WSQ_OK);
        CHECK_EQ(atomic_load(&over), 0);
        wsq_channel_close(&channel);
        CHECK_EQ(atomic_load(&over), PARTIES);
        wsq_pool_destroy(pool);
    }
}

/* Some are cancelled while values come and go: none is lost or doubled. */
static void races(void) {
    for (unsigned round = 0; round < test_times(300); round++) {
        wsq_pool *pool = begin((wsq_config){.workers = 2});
        struct end *last[2];
        for (int i = 0; i < VALUES; i++) end_new(pool, &values[i]);
        for (int i = 0; i < 2; i++) last[i] = end_new(pool, NULL);
        test_spin(round * 10);
        wsq_task_cancel(&last[round % 2]->task); /* a receiver stays until the channel is closed */
        while (atomic_load(&over) < VALUES + 1) sched_yield();
        wsq_channel_close(&channel);
        wsq_pool_wait(pool);
        for (int i = 0; i < VALUES; i++) CHECK_EQ(values[i], 1);
        pool_end(pool);
    }
}

int main(void) {
    test_begin("test_channel");
    RUN(receivers);
    RUN(senders);
    RUN(served);
    RUN(shut_down);
    RUN(races);
    return test_end();
}
