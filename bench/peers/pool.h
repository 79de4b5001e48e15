/* The cases of any pool that only takes tasks from outside: the program that includes this defines
 * pool_start, pool_stop and pool_push, and behind it run_loop if it defined POOL_LOOP before. */
#include "work.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

typedef struct pool_task pool_task;
struct pool_task {
    void (*fn)(pool_task *task);
    pool_task *next;
};

static void pool_start(void);
static void pool_stop(void);
static void pool_push(pool_task *task);
#ifdef POOL_LOOP
static peer_result run_loop(long size);
#endif

#define POOL_TASKS 200000

static pool_task *pool_tasks;
static atomic_long pool_left;
static long pool_todo;

static void pool_begin(void) {
    pool_tasks = calloc(POOL_TASKS + 1, sizeof *pool_tasks);
    peer_check(pool_tasks != NULL, "memory");
    pool_start();
}

static void pool_end(void) {
    pool_stop();
    free(pool_tasks);
}

static void pool_nothing(pool_task *task) {
    (void)task;
    atomic_fetch_sub(&pool_left, 1);
}

static void pool_wait(void) {
    while (atomic_load(&pool_left) != 0) sched_yield();
}

static void pool_submit(pool_task *first, long count, void (*fn)(pool_task *)) {
    for (long i = 0; i < count; i++) {
        first[i].fn = fn;
        pool_push(&first[i]);
    }
}

static peer_result pool_since(double begin, double operations) {
    return (peer_result){peer_now() - begin, operations};
}

static peer_result run_outside(long size) {
    atomic_store(&pool_left, size);
    double begin = peer_now();
    pool_submit(pool_tasks, size, pool_nothing);
    pool_wait();
    return pool_since(begin, (double)size);
}

static void *pool_submitter(void *arg) {
    pool_submit(arg, pool_todo, pool_nothing);
    return NULL;
}

static peer_result run_submit(long size) {
    pthread_t threads[4];
    pool_todo = size / 4;
    atomic_store(&pool_left, size);
    double begin = peer_now();
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, pool_submitter, &pool_tasks[i * pool_todo]);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    pool_wait();
    return pool_since(begin, (double)size);
}

static peer_result run_one_by_one(long size) {
    double begin = peer_now();
    for (long i = 0; i < size; i++) {
        atomic_store(&pool_left, 1);
        pool_submit(pool_tasks, 1, pool_nothing);
        pool_wait();
    }
    return pool_since(begin, (double)size);
}

static void pool_chain(pool_task *task) {
    if (task != &pool_tasks[pool_todo]) pool_submit(task + 1, 1, pool_chain);
    atomic_fetch_sub(&pool_left, 1);
}

static peer_result run_chain(long size) {
    pool_todo = size;
    atomic_store(&pool_left, size + 1);
    double begin = peer_now();
    pool_submit(pool_tasks, 1, pool_chain);
    pool_wait();
    return pool_since(begin, (double)size);
}

static void pool_spawn_all(pool_task *task) {
    pool_submit(task + 1, pool_todo, pool_nothing);
    atomic_fetch_sub(&pool_left, 1);
}

static peer_result run_spawn(long size) {
    pool_todo = size;
    atomic_store(&pool_left, size + 1);
    double begin = peer_now();
    pool_submit(pool_tasks, 1, pool_spawn_all);
    pool_wait();
    return pool_since(begin, (double)size);
}

static void pool_grain(pool_task *task) {
    peer_grain();
    pool_nothing(task);
}

static peer_result run_grain_task(long size) {
    (void)size;
    atomic_store(&pool_left, peer_grains());
    double begin = peer_now();
    pool_submit(pool_tasks, peer_grains(), pool_grain);
    pool_wait();
    return peer_speedup(peer_now() - begin);
}

static double pool_begun_at;
static atomic_int pool_begun;

static void pool_note(pool_task *task) {
    (void)task;
    pool_begun_at = peer_now();
    atomic_store(&pool_begun, 1);
}

static void pool_wake_give(void) {
    atomic_store(&pool_begun, 0);
    pool_submit(pool_tasks, 1, pool_note);
}

static double pool_wake_wait(void) {
    while (!atomic_load(&pool_begun)) sched_yield();
    return pool_begun_at;
}

static peer_result run_wake(long size) {
    (void)size;
    return peer_wake(pool_wake_give, pool_wake_wait);
}

static peer_result run_idle(long size) {
    run_one_by_one(size);
    return peer_idle();
}

int main(int argc, char **argv) {
    static const peer_case cases[] = {
        {"spawn", "ns/task", run_spawn, 100000, 0},
        {"outside", "ns/task", run_outside, 100000, 0},
        {"chain", "ns/task", run_chain, 100000, 0},
        {"submit", "ns/task", run_submit, 200000, 0},
        {"one_by_one", "ns/task", run_one_by_one, 2000, 0},
        {"grain_task", "x", run_grain_task, 1, 0},
        {"wake", "us", run_wake, 1, 0},
        {"idle", "%", run_idle, 100, 0},
#ifdef POOL_LOOP
        {"loop", "ms", run_loop, 1, 0},
#endif
    };
    return peer_main(argc, argv, cases, sizeof cases / sizeof *cases, pool_begin, pool_end);
}
