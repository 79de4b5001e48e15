/* trip.h - tasks on their way from one queue to another, while the thread that moves them is stalled. */
#ifndef TRIP_H
#define TRIP_H

#include "exact.h"

/* Worker 1 runs dry while the thread that moves the tasks is stalled for 5 ms, at each access in turn. It finds none
 * then, so it has to be woken. */
static struct {
    void (*before)(wsq_ctx ctx), (*move)(wsq_ctx ctx);
    uint64_t at, stalled; /* the access; the end of the stall, 0: there was none */
    item *busy, *list[300];
    unsigned count;
    wsq_future *future;
} trip;

static void trip_stalled(sim_core *core, uint64_t until) {
    (void)core;
    trip.stalled = until;
}

static inline void trip_stall(void) {
    sim_stall.only = 1 + sim.running->id;
    sim_stall.ns = 5 * MS;
    sim_stall.tell = trip_stalled;
    sim_stall.left = trip.at;
}

static inline void trip_spawn(wsq_pool *pool, unsigned count, uint64_t ns) {
    while (count-- != 0) item_spawn(pool, trip.list[trip.count++] = item_make(ns));
}

/* Has all begun soon after the stall? */
static inline bool trip_in_time(wsq_pool *pool) {
    uint64_t late = 0;
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    for (unsigned i = 0; i < trip.count; i++)
        if (trip.list[i]->began > late) late = trip.list[i]->began;
    wsq_pool_destroy(pool);
    sim.threads = 0;
    sim_stall.only = 0;
    sim_stall.left = 0;
    sim_stall.tell = NULL;
    return trip.stalled == 0 || late < trip.stalled + MS;
}

#endif /* TRIP_H */
