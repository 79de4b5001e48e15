/* exact.h - tests in virtual time, with the checks of ../test.h. */
#ifndef EXACT_H
#define EXACT_H

#include "item.h"

#include "../test.h"

#define IN_WORLD(test) RUN_IN(test, WORLD_CORES)
#define IN_LARGE_WORLD(test) RUN_IN(test, 256)
#define RUN_IN(test, cores) (test_start(#test), in_world(test, cores))

/* A test has 100 s of virtual time. */
static inline void in_world(void (*test)(void), unsigned cores) {
    world.cores = cores;
    CHECK(world_run(test, 100 * SECOND));
}

#endif /* EXACT_H */
