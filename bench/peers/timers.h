/* timers.h - the cases about timers, for the peers in C; Go and Tokio do the same in their language.
 *
 *   timer_set     one more timer is set, for a random time between one and two hours from now
 *   timer_cancel  one of these is cancelled, in random order
 *   timer_again   one of 1000 of the others, at random, is cancelled and set again
 *   timer_fire    timers fire, one a microsecond: processor time of each
 *
 * Each beside 1000 others (_1k) and a million (_1m), by one worker. A peer has timer_set and timer_cancel of
 * the timer with a number, below PEER_TIMERS. */
#ifndef PEER_TIMERS_H
#define PEER_TIMERS_H

#include "peer.h"

#define PEER_TIMER_STEPS 20000
#define PEER_TIMERS (1000000 + PEER_TIMER_STEPS)
#define PEER_HOUR 3600000000000u

static void timer_set(long i, uint64_t delay_ns);
static void timer_cancel(long i);

static uint64_t timer_random(void) {
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static uint64_t timer_far(void) { return PEER_HOUR + timer_random() % PEER_HOUR; }

/* The others stay set from one round to the next. */
static void timer_others(long others) {
    static long count;
    for (; count < others; count++) timer_set(count, timer_far());
}

static peer_result timer_since(double begin) {
    return (peer_result){peer_now() - begin, PEER_TIMER_STEPS};
}

static peer_result timer_steps_set(long others) {
    timer_others(others);
    double begin = peer_now();
    for (long i = 0; i < PEER_TIMER_STEPS; i++) timer_set(others + i, timer_far());
    peer_result result = timer_since(begin);
    for (long i = 0; i < PEER_TIMER_STEPS; i++) timer_cancel(others + i);
    return result;
}

static peer_result timer_steps_cancel(long others) {
    timer_others(others);
    for (long i = 0; i < PEER_TIMER_STEPS; i++) timer_set(others + i, timer_far());
    double begin = peer_now();
    for (long i = 0; i < PEER_TIMER_STEPS; i++) timer_cancel(others + i * 7919 % PEER_TIMER_STEPS);
    return timer_since(begin);
}

static peer_result timer_steps_again(long others) {
    timer_others(others);
    double begin = peer_now();
    for (long i = 0; i < PEER_TIMER_STEPS; i++) {
        long one = (long)(timer_random() % 1000);
        timer_cancel(one);
        timer_set(one, timer_far());
    }
    return timer_since(begin);
}

/* All are set before the first is due. */
static void timer_set_all(long count) {
    double begin = peer_now(), first = begin + (double)count * 1000 + 5e6;
    for (long i = 0; i < count; i++)
        timer_set(i, (uint64_t)(first - peer_now()) + timer_random() % (uint64_t)count * 1000);
    peer_check(peer_now() < first, "timers fire before all are set");
}

static double timer_processor_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

#define PEER_TIMER_CASES(set, cancel, again, fire) \
    {"timer_set_1k", "ns", set, 1000, 0}, {"timer_set_1m", "ns", set, 1000000, 0}, \
        {"timer_cancel_1k", "ns", cancel, 1000, 0}, {"timer_cancel_1m", "ns", cancel, 1000000, 0}, \
        {"timer_again_1k", "ns", again, 1000, 0}, {"timer_again_1m", "ns", again, 1000000, 0}, \
        {"timer_fire_1k", "ns", fire, 1000, 0}, {"timer_fire_1m", "ns", fire, 1000000, 0}

#endif
