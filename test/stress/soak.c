/* Soak: the mixed load (mix.h), with all its checksums, round after round through many pools, until so
 * many tasks and jobs have been run. usage: WSQ_SOAK=1e9 soak (1e6 by default). */
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"

#include "../mix.h"

/* Tasks and jobs about evenly. */
static const mix_plan plan = {40, 40, 40, 10, 1000, 20, 10000};

static uint64_t one_pool(unsigned life, uint64_t wanted) {
    wsq_config config = {.workers = 1 + life % 5, .order = life % 4 == 3 ? WSQ_LIFO : WSQ_FIFO};
    wsq_pool *pool = NULL;
    uint64_t done = 0;
    wsq_stats stats;
    config.seed = test_seed + life + 1;
    if (!CHECK_EQ(wsq_pool_create(&pool, &config), WSQ_OK)) return wanted;
    for (int round = 0; round < 10 && done < wanted; round++) {
        alarm(TEST_WATCHDOG_SECONDS * 5); /* for this round alone */
        done += mix_round(pool, &plan, test_seed + life, 1 + (life + (unsigned)round) % 4);
    }
    wsq_pool_stats(pool, &stats);
    CHECK_EQ(stats.spawned, stats.finished);
    CHECK_EQ(stats.rescued, 0);
    wsq_pool_destroy(pool);
    return done;
}

int main(void) {
    const char *count = getenv("WSQ_SOAK");
    double wanted = count != NULL ? strtod(count, NULL) : 1e6, done = 0;
    unsigned lives = 0;
    test_begin("soak");
    if (!(wanted >= 1 && wanted <= 1e15)) {
        fprintf(stderr, "usage: WSQ_SOAK=count soak\n");
        return 2;
    }
    test_running = "round";
    while (done < wanted && atomic_load(&test_failures) == 0)
        done += (double)one_pool(lives++, (uint64_t)(wanted - done));
    printf("soak: %.0f tasks and jobs, %u pools\n", done, lives);
    return test_end();
}
