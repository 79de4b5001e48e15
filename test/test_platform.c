/* The platform's functions (>>platform in wsq.h) by themselves: the clock, threads, sleeping on a
 * word, what a worker inherits. Another platform header passes this first. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "test.h"

#include <errno.h>

enum { SLEEPERS = 8 };

static wsqi_parking parking;

/* ---- the clock, the cores, the thread's own word ---- */

static void clock_goes_on(void) {
    uint64_t before = wsqi_clock_ns();
    for (int i = 0; i < 10000; i++) {
        uint64_t now = wsqi_clock_ns();
        if (now < before) FAIL("the clock went back");
        before = now;
    }
    uint64_t nap = wsqi_clock_ns();
    test_nap(30000000);
    CHECK(wsqi_clock_ns() > nap);
}

static void cores(void) {
    CHECK(wsqi_cpu_count() >= 1);
    CHECK(wsqi_cpu_count() <= 1 << 16);
}

static void own_word(void *arg) {
    wsqi_worker *mine = (wsqi_worker *)arg;
    CHECK(wsqi_self_get() == NULL);
    wsqi_self_set(mine);
    for (int i = 0; i < 100; i++) {
        sched_yield();
        if (wsqi_self_get() != mine) FAIL("another thread's word");
    }
}

static void threads(void) {
    static wsqi_thread some[32];
    static char anything[32];
    size_t sizes[] = {0, 1 << 17, (1 << 20) + 1000, 0}; /* whole pages, and not */
    const char *names[] = {"wsq", "", "a name of fifteen", "%s%n"};
    wsqi_self_set((wsqi_worker *)(void *)anything);
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 32; i++)
            CHECK(wsqi_thread_start(&some[i], own_word, &anything[i], sizes[i % 4], names[i % 4]));
        for (int i = 0; i < 32; i++) wsqi_thread_join(&some[i]);
    }
    CHECK(wsqi_self_get() == (wsqi_worker *)(void *)anything);
    wsqi_self_set(NULL);
}

#ifdef _WIN32
/* Bytes beyond ASCII are characters beyond ASCII, and not negative numbers. */
static void names(void) {
    static char mine;
    wsqi_thread thread;
    if (!CHECK(wsqi_thread_start(&thread, own_word, &mine, 0, "\xc3\xa9t\xff"))) return;
    CHECK_EQ(thread.name[0], 0xc3);
    CHECK_EQ(thread.name[2], 't');
    CHECK_EQ(thread.name[3], 0xff);
    CHECK_EQ(thread.name[4], 0);
    wsqi_thread_join(&thread);
}
#endif

/* ---- sleeping on a word ---- */

/* None of these may sleep, or sleep for long: the word differs, or there is a time-out. */
static void returns_at_once(void) {
    wsqi_a32 word;
    wsqi_store_rlx(&word, 7);
    wsqi_parking_wait(&parking, &word, 6, 0);
    wsqi_parking_wait(&parking, &word, 8, WSQI_LONGEST_NS);
    wsqi_parking_sleep(&parking, &word, 8, UINT64_MAX);
    wsqi_parking_wait(&parking, &word, 7, 1);
    wsqi_parking_wait(&parking, &word, 7, 999999999);
    wsqi_parking_wait(&parking, &word, 7, 1000000001);
    wsqi_parking_wake(&parking, &word, false);
    wsqi_parking_wake(&parking, &word, true);
}

static void errors_stay(void) {
    wsqi_a32 word;
    wsqi_store_rlx(&word, 7);
    errno = ENOTTY;
    wsqi_parking_wait(&parking, &word, 6, 0);
    wsqi_parking_wait(&parking, &word, 7, 1000);
    wsqi_parking_wake(&parking, &word, true);
    CHECK_EQ(errno, ENOTTY);
}

typedef struct relay { wsqi_a32 *words; uint32_t rounds, count; uint64_t timeout_ns; } relay;

/* The baton goes round: the thread `turn mod count` moves it on, and wakes the threads that sleep on it. */
static void relay_run(test_thread *self) {
    relay *shared = (relay *)self->arg;
    wsqi_a32 *word = shared->words;
    for (;;) {
        uint32_t turn = wsqi_load_acq(word);
        if (turn >= shared->rounds) break;
        if (turn % shared->count != self->index) {
            wsqi_parking_wait(&parking, word, turn, shared->timeout_ns);
            continue;
        }
        wsqi_store_rel(word, turn + 1);
        wsqi_parking_wake(&parking, word, true);
    }
}

static void batons(void) {
    static const uint64_t timeouts[] = {0, 1, 50000, 3600000000000, UINT64_MAX};
    wsqi_a32 word;
    for (size_t i = 0; i < sizeof timeouts / sizeof *timeouts; i++) {
        for (uint32_t count = 2; count <= 5; count += 3) {
            relay shared = {&word, (uint32_t)test_times(4000), count, timeouts[i]};
            wsqi_store_rlx(&word, 0);
            test_threads(count, relay_run, &shared);
            CHECK(wsqi_load_acq(&word) >= shared.rounds);
        }
    }
}

/* Each sleeper has words of its own, some share a bucket; one wake is enough for the one that
 * sleeps. */
typedef struct pair { WSQI_ALIGNED(4) wsqi_a32 ask, answer; } pair;
static pair pairs[SLEEPERS];

static void asleep(test_thread *self) {
    pair *mine = &pairs[self->index / 2];
    wsqi_a32 *mark = self->index % 2 ? &mine->answer : &mine->ask;
    wsqi_a32 *look = self->index % 2 ? &mine->ask : &mine->answer;
    for (uint32_t i = 1; i <= (uint32_t)test_times(3000); i++) {
        if (self->index % 2 == 0) {
            wsqi_store_rel(mark, i);
            wsqi_parking_wake(&parking, mark, false);
        }
        for (uint32_t seen; (seen = wsqi_load_acq(look)) != i;) wsqi_parking_wait(&parking, look, seen, 0);
        if (self->index % 2 == 1) {
            wsqi_store_rel(mark, i);
            wsqi_parking_wake(&parking, mark, false);
        }
    }
}

static void one_each(void) {
    for (int i = 0; i < SLEEPERS; i++) {
        wsqi_store_rlx(&pairs[i].ask, 0);
        wsqi_store_rlx(&pairs[i].answer, 0);
    }
    test_threads(2 * SLEEPERS, asleep, NULL);
    CHECK_EQ(wsqi_load_acq(&pairs[0].answer), test_times(3000));
}

static void lots_of_lots(void) {
    for (int i = 0; i < 100; i++) {
        wsqi_parking one;
        CHECK(wsqi_parking_init(&one));
        wsqi_parking_fini(&one);
    }
}

/* ---- signals ---- */

#if defined(SIGUSR1) && !defined(WSQ_PLATFORM_HEADER) && !defined(__EMSCRIPTEN__)
static void look_at_signals(void *arg) {
    sigset_t now;
    (void)arg;
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    CHECK(sigismember(&now, SIGTERM) && sigismember(&now, SIGUSR1) && sigismember(&now, SIGALRM));
    CHECK(!sigismember(&now, SIGSEGV) && !sigismember(&now, SIGPROF));
}

static void workers_take_no_signals(void) {
    sigset_t now;
    wsqi_thread thread;
    if (!CHECK(wsqi_thread_start(&thread, look_at_signals, NULL, 0, "signals"))) return;
    wsqi_thread_join(&thread);
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    CHECK(!sigismember(&now, SIGTERM) && !sigismember(&now, SIGUSR1));
}
#endif

#if defined(__linux__) && !defined(WSQ_PLATFORM_HEADER)
/* A thread that moves may run where it could before, and its errno is the same. */
static void leaves(void *arg) {
    cpu_set_t before, after, one;
    (void)arg;
    CHECK(sched_getaffinity(0, sizeof before, &before) == 0);
    errno = 77;
    for (int i = 0; i < 20; i++) wsqi_cpu_leave();
    CHECK(errno == 77);
    CHECK(sched_getaffinity(0, sizeof after, &after) == 0 && CPU_EQUAL(&before, &after));
    CPU_ZERO(&one);
    CPU_SET(wsqi_cpu_now(), &one);
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
    errno = 78;
    wsqi_cpu_leave(); /* there is no other */
    CHECK(errno == 78);
    CHECK(sched_getaffinity(0, sizeof after, &after) == 0 && CPU_EQUAL(&one, &after));
}

static void moving_keeps_the_mask(void) {
    wsqi_thread thread;
    if (!CHECK(wsqi_thread_start(&thread, leaves, NULL, 0, "leaves"))) return;
    wsqi_thread_join(&thread);
}
#endif

int main(void) {
    test_begin("platform");
    if (!CHECK(wsqi_parking_init(&parking))) return test_end();
    RUN(clock_goes_on);
    RUN(cores);
    RUN(threads);
#ifdef _WIN32
    RUN(names);
#endif
    RUN(returns_at_once);
    RUN(errors_stay);
    RUN(batons);
    RUN(one_each);
    RUN(lots_of_lots);
#if defined(SIGUSR1) && !defined(WSQ_PLATFORM_HEADER) && !defined(__EMSCRIPTEN__)
    RUN(workers_take_no_signals);
#endif
#if defined(__linux__) && !defined(WSQ_PLATFORM_HEADER)
    RUN(moving_keeps_the_mask);
#endif
    wsqi_parking_fini(&parking);
    return test_end();
}
