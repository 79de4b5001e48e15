/* How do I run something every second?
 *     cc -O2 -pthread periodic.c -o periodic && ./periodic
 *
 * The task sets its timer for the next round, and returns WSQ_PENDING. It counts from the time when
 * this round was due, not from now, so that the rounds do not drift.
 *
 * To stop it from another thread: wsq_task_cancel(&self.task), which also ends the wait for the
 * timer; wsq_task_wait(&self.task); then wsq_timer_cancel(&self.timer), before the memory goes. Do
 * so before wsq_pool_wait or wsq_pool_destroy: these wait for a task that repeats without end. */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#include <time.h>

enum { PERIOD_NS = 2000000, ROUNDS = 20 }; /* 2 ms, to be quick */

struct clock {
    wsq_task task;
    wsq_timer timer;
    uint64_t due;
    int rounds;
};

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static wsq_poll clock_run(wsq_ctx ctx, wsq_task *task) {
    struct clock *self = wsq_container_of(task, struct clock, task);
    uint64_t now = now_ns();
    if (now < self->due) return WSQ_PENDING; /* something else has woken it */
    if (++self->rounds == ROUNDS) return WSQ_DONE;
    self->due += PERIOD_NS;
    wsq_timer_set(wsq_pool_of(ctx), &self->timer, task, self->due > now ? self->due - now : 0);
    return WSQ_PENDING;
}

int main(void) {
    struct clock self = {.task.fn = clock_run, .due = now_ns()};
    uint64_t began = self.due;
    wsq_pool *pool;
    if (wsq_pool_create(&pool, &(wsq_config){.workers = 2}) != WSQ_OK) return 1;
    wsq_spawn(pool, &self.task);
    wsq_task_wait(&self.task);
    wsq_pool_destroy(pool);
    printf("%d rounds in %.1f ms\n", self.rounds, (double)(now_ns() - began) / 1e6);
    return self.rounds == ROUNDS && now_ns() - began >= (ROUNDS - 1) * (uint64_t)PERIOD_NS ? 0 : 1;
}
