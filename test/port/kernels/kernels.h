/* kernels.h - the calls of other kernels, as their manuals describe them, on Linux's futex. With
 *
 *     cc -DKERNEL_FREEBSD -Itest/port/kernels -include test/port/kernels/kernels.h
 *
 * wsq.h takes that system's branch, and the tests run it here: its types, its arguments and the
 * meaning of its time-outs, as far as the manual tells them. That is less than a run over there. */
#ifndef KERNELS_H
#define KERNELS_H

#define _GNU_SOURCE 1
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* From here on the compiler seems to be another system's; Linux's headers are all there by now. */
#undef __linux__
#if defined(KERNEL_FREEBSD)
#define __FreeBSD__ 14
#elif defined(KERNEL_OPENBSD)
#define __OpenBSD__ 1
#elif defined(KERNEL_DRAGONFLY)
#define __DragonFly__ 1
#elif defined(KERNEL_NETBSD)
#define __NetBSD__ 1
#elif defined(KERNEL_MACOS)
#define __APPLE__ 1
#define __ENVIRONMENT_MAC_OS_X_VERSION_MIN_REQUIRED__ 140400
#elif defined(KERNEL_MACOS_13)
#define __APPLE__ 1
#define __ENVIRONMENT_MAC_OS_X_VERSION_MIN_REQUIRED__ 130000
#endif

enum { KERNEL_WAIT = 128, KERNEL_WAKE = 129 }; /* Linux's, private */

static inline int kernel_wait(volatile void *word, uint32_t expected,
                              const struct timespec *timeout) {
    return (int)syscall(SYS_futex, word, KERNEL_WAIT, expected, timeout, NULL, 0);
}

static inline int kernel_wake(volatile void *word, int count) {
    return (int)syscall(SYS_futex, word, KERNEL_WAKE, count, NULL, NULL, 0);
}

static inline int kernel_wait_ns(volatile void *word, uint32_t expected, uint64_t ns) {
    struct timespec time = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    return kernel_wait(word, expected, &time);
}

/* An argument that the manual forbids. */
static inline void kernel_expect(int fine) {
    if (!fine) abort();
}

/* ---- FreeBSD, OpenBSD: minherit(2); 3: zero in a child ---- */

#if defined(KERNEL_FREEBSD) || defined(KERNEL_OPENBSD)
static inline int minherit(void *addr, size_t size, int inherit) {
    kernel_expect(inherit == 3);
    return madvise(addr, size, MADV_WIPEONFORK);
}
#endif

/* ---- FreeBSD: _umtx_op(2) ---- */

#define UMTX_OP_WAIT_UINT_PRIVATE 15
#define UMTX_OP_WAKE_PRIVATE 16

static inline int _umtx_op(void *obj, int op, unsigned long val, void *uaddr, void *uaddr2) {
    kernel_expect(uaddr == NULL); /* else: the size of what uaddr2 points to */
    if (op == UMTX_OP_WAKE_PRIVATE) return kernel_wake(obj, (int)val);
    kernel_expect(op == UMTX_OP_WAIT_UINT_PRIVATE);
    return kernel_wait(obj, (uint32_t)val, (const struct timespec *)uaddr2);
}

/* ---- OpenBSD: futex(2) ---- */

#define FUTEX_WAIT_PRIVATE 129
#define FUTEX_WAKE_PRIVATE 130

static inline int futex(volatile uint32_t *uaddr, int op, int val, const struct timespec *timeout,
                        volatile uint32_t *uaddr2) {
    kernel_expect(uaddr2 == NULL);
    if (op == FUTEX_WAKE_PRIVATE) return kernel_wake(uaddr, val);
    kernel_expect(op == FUTEX_WAIT_PRIVATE);
    return kernel_wait(uaddr, (uint32_t)val, timeout);
}

/* ---- DragonFly: umtx(2); time-outs in microseconds, 0: none ---- */

static inline int umtx_sleep(volatile const int *ptr, int value, int timeout) {
    kernel_expect(timeout >= 0);
    if (timeout == 0) return kernel_wait((volatile void *)ptr, (uint32_t)value, NULL);
    return kernel_wait_ns((volatile void *)ptr, (uint32_t)value, (uint64_t)timeout * 1000);
}

static inline int umtx_wakeup(volatile const int *ptr, int count) {
    return kernel_wake((volatile void *)ptr, count ? count : 0x7fffffff);
}

/* ---- macOS 14.4: os_sync_wait_on_address(3); a time-out of 0 is an error ---- */

typedef uint32_t os_sync_wait_on_address_flags_t, os_sync_wake_by_address_flags_t, os_clockid_t;

#define OS_SYNC_WAIT_ON_ADDRESS_NONE 0u
#define OS_SYNC_WAKE_BY_ADDRESS_NONE 0u
#define OS_CLOCK_MACH_ABSOLUTE_TIME 32u

static inline int os_sync_wait_on_address(void *addr, uint64_t value, size_t size,
                                          os_sync_wait_on_address_flags_t flags) {
    kernel_expect(size == 4 && flags == 0 && value <= UINT32_MAX);
    return kernel_wait(addr, (uint32_t)value, NULL);
}

static inline int os_sync_wait_on_address_with_timeout(void *addr, uint64_t value, size_t size,
                                                       os_sync_wait_on_address_flags_t flags,
                                                       os_clockid_t clock, uint64_t timeout_ns) {
    kernel_expect(size == 4 && flags == 0 && value <= UINT32_MAX && timeout_ns > 0);
    kernel_expect(clock == OS_CLOCK_MACH_ABSOLUTE_TIME);
    return kernel_wait_ns(addr, (uint32_t)value, timeout_ns);
}

static inline int os_sync_wake_by_address_any(void *addr, size_t size,
                                              os_sync_wake_by_address_flags_t flags) {
    kernel_expect(size == 4 && flags == 0);
    return kernel_wake(addr, 1);
}

static inline int os_sync_wake_by_address_all(void *addr, size_t size,
                                              os_sync_wake_by_address_flags_t flags) {
    kernel_expect(size == 4 && flags == 0);
    return kernel_wake(addr, 0x7fffffff);
}

#ifdef __APPLE__
static inline int pthread_cond_timedwait_relative_np(pthread_cond_t *condition,
                                                     pthread_mutex_t *mutex,
                                                     const struct timespec *span) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    if (span->tv_sec > INT32_MAX) return pthread_cond_wait(condition, mutex);
    until.tv_sec += span->tv_sec + (until.tv_nsec + span->tv_nsec) / 1000000000;
    until.tv_nsec = (until.tv_nsec + span->tv_nsec) % 1000000000;
    return pthread_cond_timedwait(condition, mutex, &until);
}

static inline int kernel_name(const char *name) { /* there it names the calling thread, no other */
    return pthread_setname_np(pthread_self(), name);
}
#define pthread_setname_np kernel_name

/* pthread_attr_setstacksize(3): whole pages, of 16 KiB on ARM */
static inline int kernel_stack(pthread_attr_t *attributes, size_t size) {
    return size % 16384 == 0 ? pthread_attr_setstacksize(attributes, size) : EINVAL;
}
#define pthread_attr_setstacksize kernel_stack
#endif

#endif /* KERNELS_H */
