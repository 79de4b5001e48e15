/* events.h - an open load of events from outside the machine (a network), which a driver hears of.
 *
 * An event comes by Poisson's process, and its task is spawned by the dispatch that hears of it. What the
 * system costs: a look as much as a call that goes to sleep, and EVENT_NS for each event, as on this
 * kernel (epoll_wait with many events). A thread asleep in the driver's wait wakes up as for a futex. */
#ifndef SIM_EVENTS_H
#define SIM_EVENTS_H

#include "report.h"

enum { EVENT_NS = 60, EVENT_BATCH = 256, EVENT_POOLS = 128 };

typedef struct event_source {
    unit *next, *ready, *end; /* up to `ready` the driver knows them, up to `next` it has spawned them */
    double at, interval_ns;   /* when the one at `ready` comes; the mean time between two */
    uint64_t random;
    wsqi_a32 rung; /* a thread interrupts the wait */
} event_source;

static uint64_t event_arrival(const event_source *self) {
    return self->ready < self->end ? (uint64_t)self->at : WSQI_NEVER;
}

/* The events that have come by now. */
static bool event_look(event_source *self) {
    sim_kernel(sim.price.wait_call);
    while (event_arrival(self) <= sim_now() && self->ready < self->next + EVENT_BATCH) {
        sim_kernel(EVENT_NS * 1000);
        self->ready->spawned_at = event_arrival(self);
        self->random = scramble(self->random);
        self->at -= __builtin_log(1 - fraction(self->random)) * self->interval_ns;
        self->ready++;
    }
    return self->ready != self->next;
}

static bool event_wait(uint64_t timeout_ns, void *user) {
    event_source *self = (event_source *)user;
    uint64_t latency = sim.price.wake_latency / 1000;
    sim_turn();
    if (event_look(self) || timeout_ns == 0) return self->ready != self->next;
    if (wsqi_xchg_acq(&self->rung, 0u) == 0) {
        uint64_t until = event_arrival(self), now = sim_now();
        if (until != WSQI_NEVER) until = (until < now ? now : until) + latency;
        if (timeout_ns < until - now) until = now + timeout_ns + sim.price.timer_latency / 1000;
        sim_sleep(&self->rung, until == WSQI_NEVER ? SIM_NEVER : until * 1000);
        wsqi_store_rel(&self->rung, 0u);
    }
    return event_look(self);
}

static void event_dispatch(wsq_pool *pool, void *user) {
    event_source *self = (event_source *)user;
    for (; self->next < self->ready; self->next++) {
        uint64_t arrived = self->next->spawned_at;
        unit_spawn(pool, self->next);
        self->next->spawned_at = arrived;
    }
}

static void event_interrupt(void *user) {
    event_source *self = (event_source *)user;
    wsqi_store_rel(&self->rung, 1u);
    wsqi_parking_wake(NULL, &self->rung, true);
}

typedef struct event_result {
    double wait_p50, wait_p99; /* us from arrival to start */
    double done;               /* of the load: 1, if the pools keep up */
} event_result;

/* `share` of what all workers could do, by pools of `each` workers, each with a driver of its own. */
static event_result events_run(const sim_machine *machine, unsigned workers, unsigned each, double share,
                               uint32_t task_ns, size_t events) {
    static event_source sources[EVENT_POOLS];
    static wsq_pool *pools[EVENT_POOLS];
    unsigned count = (workers + each - 1) / each;
    double interval = task_ns / (share * workers) * count, *waits = malloc(events * sizeof *waits);
    if (waits == NULL) sim_fail("no memory");
    sim_begin(machine);
    unit *units = units_make(events, task_ns);
    for (unsigned i = 0; i < count; i++) {
        unit *first = units + events * i / count;
        sources[i] = (event_source){.next = first, .ready = first, .end = units + events * (i + 1) / count,
                                    .interval_ns = interval, .random = scramble(i + sim_seed),
                                    .at = 1e15};
        wsq_driver driver = {event_wait, event_dispatch, event_interrupt, &sources[i]};
        wsq_config config = {.workers = i + 1 < count ? each : workers - each * (count - 1), .driver = &driver,
                             .seed = sim_seed, .max_standins = WSQ_STANDINS_OFF};
        if (wsq_pool_create(&pools[i], &config) != WSQ_OK) sim_fail("no pool");
    }
    sim_nap(10000000); /* until all sleep */
    run_start = sim_now() + 100000;
    run_end = 0;
    for (unsigned i = 0; i < count; i++) {
        sources[i].at = (double)run_start;
        event_interrupt(&sources[i]); /* it sleeps until an event; now there will be one */
    }
    for (unsigned i = 0; i < count; i++) {
        while (sources[i].next < sources[i].end) sim_nap(100000);
        if (wsq_pool_wait(pools[i]) != WSQ_OK) sim_fail("the events did not end");
    }
    for (size_t i = 0; i < events; i++) waits[i] = units[i].wait / 1e3;
    qsort(waits, events, sizeof *waits, double_order);
    event_result result = {quantile(waits, events, 0.5), quantile(waits, events, 0.99),
                           (double)events * task_ns / (share * workers) / (double)(run_end - run_start)};
    for (unsigned i = 0; i < count; i++) wsq_pool_destroy(pools[i]);
    sim_end();
    free(waits);
    return result;
}

#endif /* SIM_EVENTS_H */
