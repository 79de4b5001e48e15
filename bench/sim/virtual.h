/* virtual.h - a benchmark of ../ as it stands, in virtual time: cc -include virtual.h ../spawn.c
 *
 * Its clock, threads and pauses are those of the simulated machine "here". What it computes between
 * two calls of wsq takes no time, so only its figures about wsq mean something; but a node of uts.h
 * takes UTS_NODE_NS, of the environment. */
#ifndef SIM_VIRTUAL_H
#define SIM_VIRTUAL_H

#include "sim.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

static inline int virtual_clock(struct timespec *time) {
    sim.running->clock += sim.price.clock;
    uint64_t ns = sim_now();
    time->tv_sec = (time_t)(ns / 1000000000u);
    time->tv_nsec = (long)(ns % 1000000000u);
    return 0;
}

static inline int virtual_sleep(const struct timespec *time) {
    sim_nap((uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec);
    return 0;
}

typedef struct virtual_thread {
    sim_core *core;
    void *(*fn)(void *arg);
    void *arg;
} virtual_thread;

static inline void virtual_thread_main(void *arg) {
    virtual_thread *thread = (virtual_thread *)arg;
    thread->fn(thread->arg);
}

static inline int virtual_start(pthread_t *handle, void *(*fn)(void *arg), void *arg) {
    virtual_thread *thread = (virtual_thread *)malloc(sizeof *thread);
    if (thread == NULL) return 1;
    thread->fn = fn;
    thread->arg = arg;
    thread->core = sim_thread_outside(virtual_thread_main, thread);
    *handle = (pthread_t)(uintptr_t)thread;
    return thread->core == NULL;
}

static inline int virtual_join(pthread_t handle) {
    virtual_thread *thread = (virtual_thread *)(uintptr_t)handle;
    sim_join(thread->core);
    free(thread);
    return 0;
}

/* The futex calls of wake.c. */
static inline long virtual_futex(uint32_t *word, int operation, uint32_t value) {
    wsqi_parking parking = {0};
    if ((operation & 1) == 0) wsqi_parking_wait(&parking, (wsqi_a32 *)(void *)word, value, 0);
    else wsqi_parking_wake(&parking, (wsqi_a32 *)(void *)word, false);
    return 0;
}

/* What a node of uts.h computes; without a word 137 ns, uts/t1_plain on the machine "here". */
static inline void virtual_work(void) {
    static uint64_t ns;
    const char *text = ns == 0 ? getenv("UTS_NODE_NS") : NULL;
    if (ns == 0) ns = text != NULL && atol(text) > 0 ? (uint64_t)atol(text) : 137;
    sim_work(ns);
}

int virtual_main(int argc, char **argv);

static int virtual_program(int argc, char **argv) {
    sim_begin(&sim_machines[0]);
    return virtual_main(argc, argv);
}

int main(int argc, char **argv) { return sim_program_run(virtual_program, argc, argv); }

#define UTS_WORK() virtual_work()
#define main virtual_main
#define clock_gettime(id, time) ((void)(id), virtual_clock(time))
#define nanosleep(time, rest) virtual_sleep(time)
#define syscall(number, word, operation, value, time, other, more) \
    virtual_futex(word, operation, value)
#define sched_yield() wsqi_pause()
#define pthread_create(thread, attributes, fn, arg) virtual_start(thread, fn, arg)
#define pthread_join(thread, result) virtual_join(thread)

#endif /* SIM_VIRTUAL_H */
