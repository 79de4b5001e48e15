/* platform_c11.h - the platform of wsq.h on nothing but C11: <threads.h>, <time.h>.
 *
 *     #define WSQ_PLATFORM_HEADER "test/port/platform_c11.h"
 *
 * A model for a platform of your own. It cannot tell the number of cores nor name a thread, and its
 * clock is the wall clock, which is all that C11 has. */
#ifndef PLATFORM_C11_H
#define PLATFORM_C11_H

#include <errno.h>
#include <threads.h>
#include <time.h>

static thread_local wsqi_worker *wsqi_self;
static inline wsqi_worker *wsqi_self_get(void) { return wsqi_self; }
static inline void wsqi_self_set(wsqi_worker *self) { wsqi_self = self; }

static inline uint64_t wsqi_clock_ns(void) {
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline unsigned wsqi_cpu_count(void) { return 2; }

/* ---- one bed for all sleepers: a thread that is woken for nothing looks again ---- */

typedef struct wsqi_parking { mtx_t mutex; cnd_t changed; } wsqi_parking;

static inline bool wsqi_parking_init(wsqi_parking *parking) {
    if (mtx_init(&parking->mutex, mtx_timed) != thrd_success) return false;
    if (cnd_init(&parking->changed) == thrd_success) return true;
    mtx_destroy(&parking->mutex);
    return false;
}

static inline void wsqi_parking_fini(wsqi_parking *parking) {
    cnd_destroy(&parking->changed);
    mtx_destroy(&parking->mutex);
}

static inline void wsqi_parking_wait(wsqi_parking *parking, wsqi_a32 *word, uint32_t expected,
                                 uint64_t timeout_ns) {
    uint64_t end = wsqi_clock_ns();
    end = timeout_ns < INT64_MAX - end ? end + timeout_ns : INT64_MAX;
    struct timespec until = {(time_t)(end / 1000000000u), (long)(end % 1000000000u)};
    int saved = errno;
    mtx_lock(&parking->mutex);
    /* The word changes before the waker takes the mutex: either this sees that, or the wake finds
     * us asleep. */
    if (wsqi_load_rlx(word) != expected) {
    } else if (timeout_ns == 0) {
        cnd_wait(&parking->changed, &parking->mutex);
    } else {
        cnd_timedwait(&parking->changed, &parking->mutex, &until);
    }
    mtx_unlock(&parking->mutex);
    errno = saved;
}

static inline void wsqi_parking_wake(wsqi_parking *parking, wsqi_a32 *word, bool all) {
    (void)word;
    (void)all;
    mtx_lock(&parking->mutex);
    cnd_broadcast(&parking->changed);
    mtx_unlock(&parking->mutex);
}

/* ---- threads ---- */

typedef struct wsqi_thread {
    thrd_t handle;
    void (*fn)(void *arg);
    void *arg;
} wsqi_thread;

static inline int wsqi_thread_main(void *arg) {
    wsqi_thread *thread = (wsqi_thread *)arg;
    thread->fn(thread->arg);
    return 0;
}

static inline bool wsqi_thread_start(wsqi_thread *thread, void (*fn)(void *arg), void *arg,
                                     size_t stack_size, const char *name) {
    (void)stack_size;
    (void)name;
    thread->fn = fn;
    thread->arg = arg;
    return thrd_create(&thread->handle, wsqi_thread_main, thread) == thrd_success;
}

static inline void wsqi_thread_join(wsqi_thread *thread) { thrd_join(thread->handle, NULL); }

#endif /* PLATFORM_C11_H */
