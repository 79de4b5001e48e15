/* How do I let a GLib main loop (GTK, GStreamer) be the pool's event loop?
 *     cc -O2 -pthread glib.c -o glib $(pkg-config --cflags --libs glib-2.0) && ./glib
 *
 * The main context is the pool's driver: a thread that has nothing to do runs one iteration of it.
 * The callbacks only note which task is to be woken; dispatch wakes it. g_main_context_wakeup is
 * the interrupt. Here the pool has caller_runs, so the main thread is the one that polls, and
 * callbacks of GTK run where they must. Without it, any idle thread of the pool polls. */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#if defined(__has_include)
#if __has_include(<glib-unix.h>)
#define HAS_GLIB 1
#endif
#endif

#ifdef HAS_GLIB
#include <glib-unix.h>
#include <unistd.h>

static GMainContext *context;
static GSList *ready; /* tasks, from wait to dispatch */

static gboolean on_time(gpointer user) {
    (void)user;
    return G_SOURCE_REMOVE;
}

static bool glib_wait(uint64_t timeout_ns, void *user) {
    GSource *timer = NULL;
    (void)user;
    if (timeout_ns != 0 && timeout_ns != WSQ_FOREVER) {
        uint64_t ms = (timeout_ns - 1) / 1000000 + 1;
        timer = g_timeout_source_new(ms < G_MAXINT ? (guint)ms : G_MAXINT);
        g_source_set_callback(timer, on_time, NULL, NULL);
        g_source_attach(timer, context);
    }
    g_main_context_iteration(context, timeout_ns != 0);
    if (timer != NULL) g_source_destroy(timer), g_source_unref(timer);
    return ready != NULL;
}

static void glib_dispatch(wsq_pool *pool, void *user) {
    GSList *all = g_slist_reverse(ready);
    (void)pool, (void)user;
    ready = NULL;
    for (GSList *one = all; one != NULL; one = one->next) wsq_wake(one->data);
    g_slist_free(all);
}

static void glib_interrupt(void *user) {
    (void)user;
    g_main_context_wakeup(context);
}

/* ---- tasks that read until the end ---- */

struct reader {
    wsq_task task;
    int input;
    long bytes;
};

static gboolean on_readable(gint fd, GIOCondition condition, gpointer task) {
    (void)fd, (void)condition;
    ready = g_slist_prepend(ready, task);
    return G_SOURCE_REMOVE;
}

/* Any thread. */
static void wait_readable(int fd, wsq_task *task) {
    GSource *source = g_unix_fd_source_new(fd, G_IO_IN | G_IO_HUP);
    g_source_set_callback(source, G_SOURCE_FUNC(on_readable), task, NULL);
    g_source_attach(source, context);
    g_source_unref(source);
}

static wsq_poll reader_run(wsq_ctx ctx, wsq_task *task) {
    struct reader *self = wsq_container_of(task, struct reader, task);
    char buffer[64];
    ssize_t n;
    (void)ctx;
    while ((n = read(self->input, buffer, sizeof buffer)) > 0) self->bytes += n;
    if (n == 0) return WSQ_DONE;
    wait_readable(self->input, task);
    return WSQ_PENDING;
}

/* Any callback of yours: this one writes, and then closes. */
static gboolean on_tick(gpointer user) {
    int *left = user;
    if (write(left[1], "hello", 5) == 5 && --left[0] > 0) return G_SOURCE_CONTINUE;
    close(left[1]);
    return G_SOURCE_REMOVE;
}

int main(void) {
    enum { ROUNDS = 20 };
    wsq_driver driver = {glib_wait, glib_dispatch, glib_interrupt, NULL};
    int ends[2], left[2] = {ROUNDS, 0};
    wsq_pool *pool;
    context = g_main_context_default();
    if (!g_unix_open_pipe(ends, 0, NULL)) return 1;
    if (!g_unix_set_fd_nonblocking(ends[0], TRUE, NULL)) return 1;
    left[1] = ends[1];
    struct reader self = {.task.fn = reader_run, .input = ends[0]};
    wsq_config config = {.caller_runs = true, .driver = &driver};
    if (wsq_pool_create(&pool, &config) != WSQ_OK) return 1;
    g_timeout_add(1, on_tick, left);
    wsq_spawn(pool, &self.task);
    wsq_pool_wait(pool); /* runs the tasks, and the main loop while there are none to run */
    wsq_pool_destroy(pool);
    close(ends[0]);
    printf("%ld bytes\n", self.bytes);
    return self.bytes == ROUNDS * 5 ? 0 : 1;
}
#else
int main(void) {
    puts("skip  glib: needs GLib (Debian: libglib2.0-dev)");
    return 0;
}
#endif
