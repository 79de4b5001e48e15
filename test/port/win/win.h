/* win.h - what the tests use of POSIX and MinGW-w64 does not have:
 *
 *     x86_64-w64-mingw32-gcc -static -pthread -Itest/port/win -include test/port/win/win.h ... */
#ifndef TEST_WIN_H
#define TEST_WIN_H

#define __USE_MINGW_ANSI_STDIO 1
#include <malloc.h>
#include <process.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>

/* ---- alarm: one thread looks once in a while whether the time is up ---- */

#define SIGALRM 99
#define signal(number, handler) ((number) == SIGALRM ? (void)(win_handler = (handler)) : (void)0)

static void (*win_handler)(int number);
static time_t win_end;

static void *win_clock(void *arg) {
    (void)arg;
    while (time(NULL) < __atomic_load_n(&win_end, __ATOMIC_ACQUIRE)) usleep(500000);
    if (win_handler != NULL) win_handler(SIGALRM);
    return NULL;
}

static inline void alarm(unsigned seconds) {
    static pthread_t thread;
    static int started;
    __atomic_store_n(&win_end, time(NULL) + (time_t)seconds, __ATOMIC_RELEASE);
    if (!started) started = pthread_create(&thread, NULL, win_clock, NULL) == 0;
}

/* ---- what the tests put in front of pthread_create, pthread_join and clock_gettime holds here,
 * too: a thread of theirs, which does nothing, comes and goes with each of the pool's ---- */

typedef int (*win_create_fn)(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
                             void *arg);
typedef int (*win_join_fn)(pthread_t thread, void **result);
typedef int (*win_clock_fn)(clockid_t clock, struct timespec *time);

static win_clock_fn win_real_clock = clock_gettime;
static win_create_fn win_real_create = pthread_create;
static pthread_mutex_t win_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_t win_others[4096];
static size_t win_count;

static void *win_nothing(void *arg) { return arg; }

static inline int win_start(win_create_fn create) {
    if (create == win_real_create) return 1;
    pthread_mutex_lock(&win_lock);
    int started = win_count < 4096 && create(&win_others[win_count], NULL, win_nothing, NULL) == 0;
    win_count += (size_t)started;
    pthread_mutex_unlock(&win_lock);
    return started;
}

static inline void win_join(win_join_fn join) {
    pthread_mutex_lock(&win_lock);
    if (win_count > 0) join(win_others[--win_count], NULL);
    pthread_mutex_unlock(&win_lock);
}

static inline int win_ticks(win_clock_fn clock, LARGE_INTEGER *ticks, LARGE_INTEGER *second) {
    struct timespec now;
    if (clock == win_real_clock)
        return ticks ? QueryPerformanceCounter(ticks) : QueryPerformanceFrequency(second);
    clock(CLOCK_MONOTONIC, &now);
    if (ticks) ticks->QuadPart = now.tv_sec * 1000000000ll + now.tv_nsec;
    if (second) second->QuadPart = 1000000000;
    return 1;
}

#define _beginthreadex(a, b, c, d, e, f) \
    (win_start(pthread_create) ? (_beginthreadex)(a, b, c, d, e, f) : 0)
#define WaitForSingleObject(handle, ms) (win_join(pthread_join), (WaitForSingleObject)(handle, ms))
#define QueryPerformanceCounter(ticks) win_ticks(clock_gettime, ticks, NULL)
#define QueryPerformanceFrequency(second) win_ticks(clock_gettime, NULL, second)

/* ---- memory: what is aligned needs a free of its own, so everything is ---- */

static inline void *win_calloc(size_t count, size_t size) {
    void *memory = _aligned_malloc(count * size, 16);
    return memory != NULL ? memset(memory, 0, count * size) : NULL;
}

static inline int posix_memalign(void **memory, size_t alignment, size_t size) {
    *memory = _aligned_malloc(size, alignment);
    return *memory == NULL;
}

#define malloc(size) _aligned_malloc(size, 16)
#define calloc(count, size) win_calloc(count, size)
#define free(memory) _aligned_free(memory)

#endif /* TEST_WIN_H */
