#!/bin/sh
# How many bytes wsq adds to a program, with various options: a line for each.
#
#   size.sh DIR        builds into DIR                                                (make bench-size)
#
# code: the machine code. all: with constants and the tables for unwinding, which `size` calls text.
# Both are the differences to a program that does nothing. The programs: `tasks` creates a pool, spawns,
# waits and destroys; `jobs` adds wsq_run, fork and join, a loop; `most` adds futures, groups, timers,
# dependencies, cancelling, a reduction.
here=$(cd "$(dirname "$0")" && pwd)
dir=${1:?usage: size.sh DIR}
CC=${CC:-cc}
command -v size >/dev/null || { echo 'skip bench-size: no size (Debian: binutils)'; exit 0; }
mkdir -p "$dir"
printf 'int main(void) { return 0; }\n' >"$dir/nothing.c"
cat >"$dir/program.c" <<'END'
#define WSQ_IMPLEMENTATION
#include "wsq.h"

static wsq_poll done(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    return WSQ_DONE;
}

#if PROGRAM > 1
static void job_run(wsq_ctx ctx, wsq_job *job) { (void)ctx, (void)job; }

static void body(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    wsq_job job;
    (void)begin, (void)end, (void)arg;
    wsq_fork(&ctx, &job, job_run);
    wsq_join(&ctx, &job);
}

static void root(wsq_ctx ctx, void *arg) { wsq_for(ctx, 0, 1000, 0, body, arg); }
#endif
#if PROGRAM > 2
static void *call(void *arg) { return arg; }
static void zero(void *partial, void *arg) { (void)arg, *(int *)partial = 0; }

static void add(wsq_ctx ctx, size_t begin, size_t end, void *partial, void *arg) {
    (void)ctx, (void)arg, *(int *)partial += (int)(end - begin);
}

static void both(void *left, const void *right, void *arg) {
    (void)arg, *(int *)left += *(const int *)right;
}

static void sum(wsq_ctx ctx, void *arg) {
    const wsq_reducer reducer = {sizeof(int), zero, add, both, NULL};
    wsq_reduce(ctx, 0, 1000, 0, &reducer, arg);
}

static void most(wsq_pool *pool, wsq_task *task) {
    static wsq_task later;
    static wsq_edge edge;
    static wsq_timer timer;
    wsq_group group;
    wsq_future *future;
    int result;
    wsq_task_init(&later, done);
    wsq_task_after(&later, task, &edge);
    wsq_spawn(pool, &later);
    wsq_group_init(&group, pool);
    wsq_group_spawn(&group, task);
    wsq_group_cancel(&group);
    wsq_group_wait(&group);
    if (wsq_submit(pool, call, NULL, &future) == WSQ_OK) wsq_future_get(future, NULL);
    wsq_timer_set(pool, &timer, task, 1000);
    wsq_task_cancel(task);
    wsq_run(pool, sum, &result);
    wsq_pool_shutdown(pool, WSQ_CANCEL);
}
#endif

int main(void) {
    static wsq_task task;
    wsq_pool *pool;
    if (wsq_pool_create(&pool, NULL) != WSQ_OK) return 1;
    wsq_task_init(&task, done);
    wsq_spawn(pool, &task);
    wsq_task_wait(&task);
#if PROGRAM > 1
    wsq_run(pool, root, NULL);
#endif
#if PROGRAM > 2
    most(pool, &task);
#endif
    wsq_pool_destroy(pool);
    return 0;
}
END

bytes() { # program: code and all
    size -A "$1" | awk '$1 == ".text" { code = $2 } END { printf "%d ", code }'
    size "$1" | awk 'NR == 2 { print $1 }'
}

measure() { # the source, options ...
    source=$1
    shift
    "$CC" -w -std=c11 -D_GNU_SOURCE -DNDEBUG -pthread -I"$here/.." "$@" "$dir/$source" -o "$dir/program" || exit 1
    bytes "$dir/program"
}

row() { # options ...
    nothing=$(measure nothing.c "$@") || exit 1
    for n in 1 2 3; do
        name=$(echo 'tasks jobs most' | cut -d ' ' -f $n)
        both=$(measure program.c "-DPROGRAM=$n" "$@") || exit 1
        echo "$both $nothing" | awk -v name="$name" -v with="$*" \
            '{ printf "size/%s %.1f kB code, %.1f kB all: %s\n", name, ($1 - $3) / 1000, ($2 - $4) / 1000, with }'
    done
}

echo "# size | $("$CC" --version | head -n 1), $(uname -m)"
row -O2
row -O2 -ffunction-sections -Wl,--gc-sections
row -O2 -DWSQ_STATIC
row -Os -DWSQ_STATIC
row -Os -DWSQ_STATIC -DWSQ_NO_STATS -DWSQ_NO_HOOKS
row -Os -DWSQ_STATIC -DWSQ_NO_STATS -DWSQ_NO_HOOKS -fno-asynchronous-unwind-tables
