/* How do I let a libuv loop be the pool's event loop?
 *     cc -O2 -pthread uv.c -o uv $(pkg-config --cflags --libs libuv) && ./uv
 *
 * The loop is the pool's driver: an idle thread calls uv_run, once. The callbacks only note which
 * task is to be woken; dispatch wakes it. uv_async_send is the interrupt. Handles of libuv belong
 * to the thread that runs the loop, so a task that waits puts its handle into a list, and the next
 * `wait` starts it. (A loop that has a thread already keeps it: epoll.c.) */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#if defined(__has_include)
#if __has_include(<uv.h>) && !defined(_WIN32)
#define HAS_UV 1
#endif
#endif

#ifdef HAS_UV
#include <fcntl.h>
#include <unistd.h>
#include <uv.h>

struct reader {
    wsq_task task;
    uv_poll_t poll;
    struct reader *next; /* in `wanted` or `ready` */
    int input;
    long bytes;
};

static struct reactor {
    uv_loop_t loop;
    uv_async_t async;
    uv_timer_t timer;
    uv_mutex_t lock;
    struct reader *wanted; /* under the lock: polls to be started */
    struct reader *ready;  /* from wait to dispatch */
} reactor;

static void nothing_async(uv_async_t *async) { (void)async; }
static void nothing_timer(uv_timer_t *timer) { (void)timer; }

static void on_readable(uv_poll_t *poll, int status, int events) {
    struct reader *self = wsq_container_of(poll, struct reader, poll);
    (void)status, (void)events;
    uv_poll_stop(poll); /* else uv_run calls this until the task has read everything */
    self->next = reactor.ready;
    reactor.ready = self;
}

static bool reactor_wait(uint64_t timeout_ns, void *user) {
    uint64_t ms = timeout_ns / 1000000 + (timeout_ns % 1000000 != 0);
    (void)user;
    uv_mutex_lock(&reactor.lock);
    struct reader *wanted = reactor.wanted;
    reactor.wanted = NULL;
    uv_mutex_unlock(&reactor.lock);
    for (; wanted != NULL; wanted = wanted->next)
        uv_poll_start(&wanted->poll, UV_READABLE, on_readable);
    if (timeout_ns != 0 && timeout_ns != WSQ_FOREVER)
        uv_timer_start(&reactor.timer, nothing_timer, ms, 0);
    uv_run(&reactor.loop, timeout_ns == 0 ? UV_RUN_NOWAIT : UV_RUN_ONCE);
    uv_timer_stop(&reactor.timer);
    return reactor.ready != NULL;
}

static void reactor_dispatch(wsq_pool *pool, void *user) {
    struct reader *next;
    (void)pool, (void)user;
    for (struct reader *one = reactor.ready; one != NULL; one = next) {
        next = one->next; /* once it is awake, it may wait again */
        wsq_wake(&one->task);
    }
    reactor.ready = NULL;
}

static void reactor_interrupt(void *user) { uv_async_send(&((struct reactor *)user)->async); }

static wsq_poll reader_run(wsq_ctx ctx, wsq_task *task) {
    struct reader *self = wsq_container_of(task, struct reader, task);
    char buffer[64];
    ssize_t n;
    (void)ctx;
    while ((n = read(self->input, buffer, sizeof buffer)) > 0) self->bytes += n;
    if (n == 0) return WSQ_DONE;
    uv_mutex_lock(&reactor.lock);
    self->next = reactor.wanted;
    reactor.wanted = self;
    uv_mutex_unlock(&reactor.lock);
    uv_async_send(&reactor.async); /* the thread in uv_run does not know it yet */
    return WSQ_PENDING;
}

int main(void) {
    enum { N = 8, ROUNDS = 100 };
    wsq_driver driver = {reactor_wait, reactor_dispatch, reactor_interrupt, &reactor};
    struct reader readers[N];
    int ends[N][2];
    long bytes = 0;
    wsq_pool *pool;
    if (uv_loop_init(&reactor.loop) != 0 || uv_mutex_init(&reactor.lock) != 0) return 1;
    if (uv_async_init(&reactor.loop, &reactor.async, nothing_async) != 0) return 1;
    uv_timer_init(&reactor.loop, &reactor.timer);
    for (int i = 0; i < N; i++) {
        if (pipe(ends[i]) != 0 || fcntl(ends[i][0], F_SETFL, O_NONBLOCK) != 0) return 1;
        readers[i] = (struct reader){.task.fn = reader_run, .input = ends[i][0]};
        if (uv_poll_init(&reactor.loop, &readers[i].poll, ends[i][0]) != 0) return 1;
    }
    if (wsq_pool_create(&pool, &(wsq_config){.workers = 2, .driver = &driver}) != WSQ_OK) return 1;
    for (int i = 0; i < N; i++) wsq_spawn(pool, &readers[i].task);
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < N; i++)
            if (write(ends[i][1], "hello", 5) != 5) return 1;
    for (int i = 0; i < N; i++) close(ends[i][1]);
    wsq_pool_destroy(pool); /* waits for the tasks */
    for (int i = 0; i < N; i++) {
        bytes += readers[i].bytes;
        uv_close((uv_handle_t *)&readers[i].poll, NULL);
    }
    uv_close((uv_handle_t *)&reactor.async, NULL);
    uv_close((uv_handle_t *)&reactor.timer, NULL);
    uv_run(&reactor.loop, UV_RUN_DEFAULT);
    printf("%ld bytes\n", bytes);
    return uv_loop_close(&reactor.loop) == 0 && bytes == N * ROUNDS * 5 ? 0 : 1;
}
#else
int main(void) {
    puts("skip  uv: needs libuv (Debian: libuv1-dev)");
    return 0;
}
#endif
