/* How do I let a GLib main loop (GTK, GStreamer) be the pool's event loop?
 *     cc -O2 -pthread glib.c -o glib $(pkg-config --cflags --libs glib-2.0) && ./glib
 *
 * The main context is the pool's driver: a thread that has nothing to do runs one iteration of it.
 * The callbacks only note which task is to be woken; dispatch wakes it. Here the pool has
 * caller_runs, so the main thread polls, and callbacks of GTK run where they must. */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#ifndef __has_include
#define __has_include(header) 0
#endif
#if __has_include(<glib.h>)
#include <glib.h>

enum { TICKS = 20 };
static int ticks; /* plain: caller_runs has one thread */
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
        timer = g_timeout_source_new((guint)MIN((timeout_ns - 1) / 1000000 + 1, G_MAXINT));
        g_source_set_callback(timer, on_time, NULL, NULL);
        g_source_attach(timer, context);
    }
    g_main_context_iteration(context, timeout_ns != 0);
    if (timer != NULL) g_source_destroy(timer), g_source_unref(timer);
    return ready != NULL;
}

static void glib_dispatch(wsq_pool *pool, void *user) {
    (void)pool, (void)user;
    for (; ready != NULL; ready = g_slist_delete_link(ready, ready)) wsq_wake(ready->data);
}

static void glib_interrupt(void *user) {
    (void)user;
    g_main_context_wakeup(context);
}

/* Any callback of yours can end like this one, which a timer calls. */
static gboolean on_tick(gpointer task) {
    ready = g_slist_append(ready, task);
    return ++ticks < TICKS ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

static wsq_poll tick_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    return ticks < TICKS ? WSQ_PENDING : WSQ_DONE;
}

int main(void) {
    wsq_driver driver = {glib_wait, glib_dispatch, glib_interrupt, NULL};
    wsq_config config = {.caller_runs = true, .driver = &driver};
    wsq_task task = {.fn = tick_run};
    wsq_pool *pool;
    context = g_main_context_default();
    if (wsq_pool_create(&pool, &config) != WSQ_OK) return 1;
    wsq_spawn(pool, &task);
    g_timeout_add(1, on_tick, &task);
    wsq_pool_wait(pool); /* runs the tasks, and the main loop while there are none to run */
    wsq_pool_destroy(pool);
    printf("%d ticks\n", ticks);
    return ticks == TICKS ? 0 : 1;
}
#else
int main(void) { return puts("skip  glib: needs GLib (Debian: libglib2.0-dev)") < 0; }
#endif
