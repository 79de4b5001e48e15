/* libdispatch (github.com/apple/swift-corelibs-libdispatch): built when DISPATCH names a folder with
 * its headers in include and its libraries in lib. It decides itself how many threads it has: one
 * worker is a serial queue, as many as there are cores the global one; other numbers it has not. */
#define POOL_LOOP
#include "pool.h"

#include <dispatch/dispatch.h>
#include <unistd.h>

static dispatch_queue_t queue;

static void pool_start(void) {
    if (peer_workers != 1 && (long)peer_workers != sysconf(_SC_NPROCESSORS_ONLN)) exit(0);
    queue = peer_workers == 1 ? dispatch_queue_create("peer", DISPATCH_QUEUE_SERIAL)
                              : dispatch_get_global_queue(DISPATCH_QUEUE_PRIORITY_DEFAULT, 0);
}

static void pool_stop(void) {
    if (peer_workers == 1) dispatch_release(queue);
}

static void call(void *arg) {
    pool_task *task = arg;
    task->fn(task);
}

static void pool_push(pool_task *task) {
    dispatch_async_f(queue, task, call);
}

/* Its loop calls for one index: as many pieces as it has threads, times 8. */
enum { PIECES = 16 };

static void loop_piece(void *arg, size_t i) {
    long piece = PEER_LOOP / PIECES;
    (void)arg;
    peer_loop(peer_numbers, (long)i * piece, (long)(i + 1) * piece);
}

static peer_result run_loop(long size) {
    (void)size;
    peer_loop_begin();
    double begin = peer_now();
    dispatch_apply_f(PIECES, queue, NULL, loop_piece);
    return pool_since(begin, 1e6);
}
