/* libuv's timers, which have milliseconds; one thread. */
#include "timers.h"
#include "work.h"

#include <uv.h>

static uv_loop_t loop;
static uv_timer_t *timers;
static long fired;

static void on_timer(uv_timer_t *timer) {
    (void)timer;
    fired++;
}

static void timer_set(long i, uint64_t delay_ns) {
    uv_timer_start(&timers[i], on_timer, (delay_ns + 999999) / 1000000, 0);
}

static void timer_cancel(long i) { uv_timer_stop(&timers[i]); }

static void start(void) {
    timers = calloc(PEER_TIMERS, sizeof *timers);
    peer_check(timers != NULL && uv_loop_init(&loop) == 0, "loop");
    for (long i = 0; i < PEER_TIMERS; i++) uv_timer_init(&loop, &timers[i]);
}

static void stop(void) {}

static peer_result run_fire(long count) {
    uv_update_time(&loop);
    timer_set_all(count);
    fired = 0;
    double begin = timer_processor_ns();
    uv_run(&loop, UV_RUN_DEFAULT);
    peer_check(fired == count, "timers");
    return (peer_result){timer_processor_ns() - begin, (double)count};
}

int main(int argc, char **argv) {
    static const peer_case cases[] = {
        PEER_TIMER_CASES(timer_steps_set, timer_steps_cancel, timer_steps_again, run_fire)};
    if (argc > 2 && atoi(argv[2]) != 1) return 0;
    return peer_main(argc, argv, cases, sizeof cases / sizeof *cases, start, stop);
}
