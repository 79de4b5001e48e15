/* scale_names.h - the names that a program uses, each beside what it becomes; see scale.h.
 *
 * The system's time is virtual time, its threads and locks are those of the simulated machine. */
#ifndef SCALE_NAMES_H
#define SCALE_NAMES_H

/* ---- the system ---- */

static inline int scale_clock(clockid_t id, struct timespec *time) {
    if (id == CLOCK_PROCESS_CPUTIME_ID || id == CLOCK_THREAD_CPUTIME_ID)
        return clock_gettime(id, time);
    scale_out();
    sim.running->clock += sim.price.clock;
    uint64_t ns = sim_now();
    time->tv_sec = (time_t)(ns / 1000000000u);
    time->tv_nsec = (long)(ns % 1000000000u);
    scale_in();
    return 0;
}

static inline int scale_sleep(uint64_t ns) {
    scale_out();
    sim_nap(ns + sim.price.timer_latency / 1000);
    scale_in();
    return 0;
}

static inline int scale_nanosleep(const struct timespec *time, struct timespec *rest) {
    if (rest != NULL) *rest = (struct timespec){0};
    return scale_sleep((uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec);
}

typedef struct scale_thread {
    sim_core *core;
    void *(*fn)(void *arg);
    void *arg, *result;
    scale_path path; /* at its start, and then at its end */
} scale_thread;

static void scale_thread_main(void *arg) {
    scale_thread *self = (scale_thread *)arg;
    scale_strand *strand = scale_strand_here();
    *strand = (scale_strand){.path = self->path};
    scale_in();
    self->result = self->fn(self->arg);
    scale_out();
    self->path = strand->path;
}

static inline int scale_thread_create(pthread_t *handle, void *(*fn)(void *arg), void *arg) {
    scale_thread *self = (scale_thread *)calloc(1, sizeof *self);
    if (self == NULL) return 11;
    scale_strand *strand = scale_out();
    self->fn = fn;
    self->arg = arg;
    self->path = scale_path_copy(&strand->path);
    self->core = sim_thread_outside(scale_thread_main, self);
    *handle = (pthread_t)(uintptr_t)self;
    bool none = self->core == NULL;
    scale_in();
    return none ? 11 : 0;
}

static inline int scale_thread_join(pthread_t handle, void **result) {
    scale_thread *self = (scale_thread *)(uintptr_t)handle;
    scale_strand *strand = scale_out();
    sim_join(self->core);
    scale_path_later(&strand->path, self->path);
    if (result != NULL) *result = self->result;
    free(self);
    scale_in();
    return 0;
}

/* A real lock that nobody waits for: a thread that finds it taken sleeps on its address. */
static inline int scale_lock(pthread_mutex_t *mutex) {
    int result;
    scale_out();
    sim_turn();
    while ((result = pthread_mutex_trylock(mutex)) == 16) sim_sleep(mutex, SIM_NEVER);
    scale_in();
    return result;
}

static inline int scale_trylock(pthread_mutex_t *mutex) {
    scale_out();
    sim_turn();
    int result = pthread_mutex_trylock(mutex);
    scale_in();
    return result;
}

static inline int scale_unlock(pthread_mutex_t *mutex) {
    scale_out();
    sim_turn();
    int result = pthread_mutex_unlock(mutex);
    sim_wake(mutex, sim.running->clock + sim.price.wake_latency, false);
    scale_in();
    return result;
}

static inline int scale_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex) {
    scale_unlock(mutex);
    scale_out();
    sim_sleep(cond, SIM_NEVER);
    scale_in();
    return scale_lock(mutex);
}

static inline int scale_cond_wake(pthread_cond_t *cond, bool all) {
    scale_out();
    sim_turn();
    sim_wake(cond, sim.running->clock + sim.price.wake_latency, all);
    scale_in();
    return 0;
}

#define clock_gettime(id, time) scale_clock(id, time)
#define nanosleep(...) scale_nanosleep(__VA_ARGS__) /* `...`: a compound literal has commas */
#define usleep(us) scale_sleep((uint64_t)(us)*1000u)
#define sleep(s) scale_sleep((uint64_t)(s)*1000000000u)
#define sched_yield() (wsqi_pause(), 0)
#define pthread_create(thread, attributes, fn, arg) scale_thread_create(thread, fn, arg)
#define pthread_join(thread, result) scale_thread_join(thread, result)
#define pthread_mutex_lock(mutex) scale_lock(mutex)
#define pthread_mutex_trylock(mutex) scale_trylock(mutex)
#define pthread_mutex_unlock(mutex) scale_unlock(mutex)
#define pthread_cond_wait(cond, mutex) scale_cond_wait(cond, mutex)
#define pthread_cond_signal(cond) scale_cond_wake(cond, false)
#define pthread_cond_broadcast(cond) scale_cond_wake(cond, true)

/* ---- wsq ---- */

#define wsq_pool_create(...) scale_pool_create(__VA_ARGS__)
#define wsq_pool_destroy(pool) scale_pool_destroy(pool)
#define wsq_job scale_job
#define wsq_job_fn scale_job_fn
#define wsq_fork(ctx, job, fn) scale_fork(ctx, job, fn, SCALE_SITE(#fn))
#define wsq_join(ctx, job) scale_join(ctx, job)
#define wsq_reclaim(ctx, job) scale_reclaim(ctx, job)
#define wsq_for(ctx, begin, end, grain, body, ...) \
    scale_for(ctx, begin, end, grain, body, __VA_ARGS__, SCALE_SITE(#body))
#define wsq_reduce(...) scale_reduce(__VA_ARGS__, SCALE_SITE("wsq_reduce"))
#define wsq_run(pool, fn, ...) SCALE_FROM(wsq_result, #fn, wsq_run(pool, fn, __VA_ARGS__))
#define wsq_go(pool, fn, ...) SCALE_FROM(wsq_result, #fn, wsq_go(pool, fn, __VA_ARGS__))
#define wsq_submit(pool, fn, ...) SCALE_FROM(wsq_result, #fn, scale_submit(pool, fn, __VA_ARGS__))
#define wsq_task_init(task, fn) (scale_name(fn, SCALE_SITE(#fn)), wsq_task_init(task, fn))
#define wsq_spawn(pool, task) SCALE_FROM(wsq_result, "a task", wsq_spawn(pool, task))
#define wsq_spawn_on(pool, worker, task) \
    SCALE_FROM(wsq_result, "a task", wsq_spawn_on(pool, worker, task))
#define wsq_spawn_batch(pool, ...) \
    SCALE_FROM(wsq_result, "tasks", wsq_spawn_batch(pool, __VA_ARGS__))
#define wsq_group_spawn(group, task) \
    SCALE_FROM(wsq_result, "a task", (scale_in_group(task, group), wsq_group_spawn(group, task)))
#define wsq_task_set_group(task, group) \
    (scale_in_group(task, group), wsq_task_set_group(task, group))
#define wsq_pool_wait(pool) SCALE_WAIT(wsq_result, wsq_pool_wait(pool), scale_end_of_pool(pool))
#define wsq_pool_wait_for(pool, ns) \
    SCALE_WAIT(wsq_result, wsq_pool_wait_for(pool, ns), scale_end_of_pool(pool))
#define wsq_task_wait(task) SCALE_WAIT(wsq_result, wsq_task_wait(task), scale_end_of(task))
#define wsq_task_wait_for(task, ns) \
    SCALE_WAIT(wsq_result, wsq_task_wait_for(task, ns), scale_end_of(task))
#define wsq_group_wait(group) SCALE_WAIT(wsq_result, wsq_group_wait(group), scale_end_of(group))
#define wsq_group_wait_for(group, ns) \
    SCALE_WAIT(wsq_result, wsq_group_wait_for(group, ns), scale_end_of(group))
#define wsq_future_get(future, result) \
    SCALE_WAIT(wsq_result, wsq_future_get(future, result), scale_end_of(future))
#define wsq_future_get_for(future, ns, result) \
    SCALE_WAIT(wsq_result, wsq_future_get_for(future, ns, result), scale_end_of(future))

#endif /* SCALE_NAMES_H */
