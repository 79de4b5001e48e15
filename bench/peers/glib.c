/* GLib's GThreadPool. */
#include "pool.h"

#include <glib.h>

static GThreadPool *pool;

static void call(gpointer data, gpointer user) {
    pool_task *task = data;
    (void)user;
    task->fn(task);
}

static void pool_start(void) {
    pool = g_thread_pool_new(call, NULL, (gint)peer_workers, TRUE, NULL);
    peer_check(pool != NULL, "pool");
}

static void pool_stop(void) {
    g_thread_pool_free(pool, FALSE, TRUE);
}

static void pool_push(pool_task *task) {
    g_thread_pool_push(pool, task, NULL);
}
