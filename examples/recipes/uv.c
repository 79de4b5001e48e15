/* How do I let a libuv loop be the pool's event loop?
 *     cc -O2 -pthread uv.c -o uv $(pkg-config --cflags --libs libuv) && ./uv
 *
 * The loop is the pool's driver: an idle thread calls uv_run, once. The callback notes that the task
 * is to be woken; dispatch wakes it. Handles belong to the thread that runs the loop, so a task that
 * waits only notes that, and the next `wait` starts its handle. Here one task waits; for several,
 * `wanted` and `ready` are lists. (A loop that has a thread already keeps it: epoll.c.) */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#ifndef __has_include
#define __has_include(header) 0
#endif
#if __has_include(<uv.h>) && !defined(_WIN32)
#include <stdatomic.h>
#include <unistd.h>
#include <uv.h>

static uv_loop_t loop;
static uv_async_t async;
static uv_timer_t timer;
static uv_poll_t poll;
static int ends[2], bytes;
static atomic_bool wanted; /* the poll is to be started */
static bool ready;         /* from wait to dispatch: the reader is to be woken */

static wsq_poll reader_run(wsq_ctx ctx, wsq_task *task) {
    char buffer[64];
    ssize_t n;
    (void)ctx, (void)task;
    while ((n = read(ends[0], buffer, sizeof buffer)) > 0) bytes += (int)n;
    if (n == 0) return WSQ_DONE;
    atomic_store(&wanted, true);
    return uv_async_send(&async), WSQ_PENDING; /* the thread in uv_run does not know it yet */
}

static wsq_task reader = {.fn = reader_run};

static void on_time(uv_timer_t *unused) { (void)unused; }

static void on_readable(uv_poll_t *unused, int status, int events) {
    (void)unused, (void)status, (void)events;
    uv_poll_stop(&poll); /* else uv_run calls this until the task has read everything */
    ready = true;
}

static bool uv_wait(uint64_t timeout_ns, void *user) {
    (void)user;
    if (atomic_exchange(&wanted, false)) uv_poll_start(&poll, UV_READABLE, on_readable);
    if (timeout_ns != 0 && timeout_ns != WSQ_FOREVER)
        uv_timer_start(&timer, on_time, (timeout_ns - 1) / 1000000 + 1, 0);
    uv_run(&loop, timeout_ns == 0 ? UV_RUN_NOWAIT : UV_RUN_ONCE);
    uv_timer_stop(&timer);
    return ready;
}

static void uv_dispatch(wsq_pool *pool, void *user) {
    (void)pool, (void)user;
    ready = false;
    wsq_wake(&reader);
}

static void uv_interrupt(void *user) { (void)user, uv_async_send(&async); }

int main(void) {
    wsq_driver driver = {uv_wait, uv_dispatch, uv_interrupt, NULL};
    wsq_pool *pool;
    if (uv_loop_init(&loop) != 0 || uv_async_init(&loop, &async, NULL) != 0) return 1;
    if (pipe(ends) != 0 || uv_poll_init(&loop, &poll, ends[0]) != 0) return 1;
    uv_timer_init(&loop, &timer);
    if (wsq_pool_create(&pool, &(wsq_config){.workers = 2, .driver = &driver}) != WSQ_OK) return 1;
    wsq_spawn(pool, &reader);
    for (int i = 0; i < 100 && write(ends[1], "hello", 5) == 5; i++) {}
    close(ends[1]);
    wsq_pool_destroy(pool); /* waits for the task */
    return bytes == 500 ? 0 : 1;
}
#else
int main(void) { return puts("skip  uv: needs libuv (Debian: libuv1-dev)") < 0; }
#endif
