/* What top shows: the sentence of what the workers did, each case by an example, and just beside it;
 * and how long tasks were queued before they started. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "../examples/top.h"
#include "../examples/top_verdict.h"
#include "test.h"
#include "pool.h"

static bool says(const char *begin, struct top_seen one, struct top_seen two, uint64_t pending) {
    struct top_seen seen[] = {one, two};
    char text[160];
    top_verdict(text, sizeof text, seen, 2, 0.5, pending, 12);
    return strncmp(text, begin, strlen(begin)) == 0;
}

static struct top_seen seen(uint64_t runs, double idle, double blocked) {
    return (struct top_seen){.runs = runs, .idle = idle, .blocked = blocked};
}

static void verdicts(void) {
    char text[160];
    CHECK(says("idle: there is nothing to do", seen(0, 1, 0), seen(0, 1, 0), 0));
    CHECK(says("nothing runs: ", seen(0, 1, 0), seen(0, 1, 0), 3));
    CHECK(says("stall: worker 1 was in one task or job all the time, for 0.5 s", seen(100, 0.5, 0),
               seen(0, 0, 0), 3));
    CHECK(!says("stall: ", seen(100, 0.5, 0), seen(1, 0, 0), 3));
    CHECK(says("blocked: tasks wait on their workers for 75%", seen(9, 0, 0.9), seen(1, 0, 0.6), 3));
    CHECK(says("one worker's tasks: worker 1 ran 99% of them", seen(1, 0.8, 0), seen(99, 0.4, 0), 9));
    CHECK(!says("one worker's tasks: ", seen(11, 0.8, 0), seen(99, 0.4, 0), 9));
    CHECK(says("imbalance: worker 0 is busy for 90% of the time, worker 1 for 50%", seen(70, 0.1, 0),
               seen(50, 0.5, 0), 9));
    CHECK(says("all workers are busy: a task is queued for 12 us", seen(70, 0.02, 0), seen(70, 0.08, 0), 9));
    CHECK(says("balanced: each worker is busy for 40 to 60%", seen(70, 0.4, 0), seen(70, 0.6, 0), 9));
    top_verdict(text, sizeof text, NULL, 0, 1, 0, 0);
    CHECK_EQ(text[0], '\0');
}

/* Each bucket is counted in one line: its middle lies between the bounds that the line names. */
static void lines(void) {
    for (unsigned b = 0; b < TOP_BUCKETS; b++) {
        uint64_t sum[TOP_BUCKETS] = {0};
        char text[100];
        unsigned seen = 0;
        sum[b] = 3;
        for (unsigned step = 0; step < TOP_STEPS; step++) {
            double us = 0, is = top_bucket_ns(b) * 1e-3;
            if (!top_queued_line(text, sizeof text, sum, step)) continue;
            seen++;
            if (sscanf(text, "  queued  < %lf us 100.0%%", &us) == 1) CHECK(is < us && is >= (us > 1 ? us / 8 : 0));
            else CHECK(sscanf(text, "  queued >= %lf us 100.0%%", &us) == 1 && is >= us);
        }
        CHECK_EQ(seen, 1);
    }
    uint64_t sum[TOP_BUCKETS] = {[0] = 1, [60] = 3}; /* 0 ns; 74 us */
    char text[100];
    CHECK(top_queued_line(text, sizeof text, sum, 0) && strstr(text, " 25.0%  ##########") != NULL);
    CHECK(!top_queued_line(text, sizeof text, sum, TOP_STEPS - 1));
}

/* The only worker is held while tasks are queued: the histogram shows that they were, and for how long. */
enum { HELD_NS = 9000000, QUEUED = 20 };
static atomic_bool begun, released;
static wsq_task first, queued[QUEUED];

static wsq_poll hold(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    atomic_store(&begun, true);
    while (!atomic_load(&released)) sched_yield();
    return WSQ_DONE;
}

static void histogram(void) {
    struct top *top = top_open(NULL);
    CHECK(top != NULL);
    wsq_pool *pool = pool_new((wsq_config){.workers = 1, .hooks = top_hooks(top)});
    uint64_t sum[TOP_BUCKETS], all = 0;
    top_watch(top, pool);
    wsq_task_init(&first, hold);
    CHECK_EQ(wsq_spawn(pool, &first), WSQ_OK);
    while (!atomic_load(&begun)) sched_yield();
    for (unsigned i = 0; i < QUEUED; i++) {
        wsq_task_init(&queued[i], hold);
        CHECK_EQ(wsq_spawn(pool, &queued[i]), WSQ_OK);
    }
    test_nap(HELD_NS);
    atomic_store(&released, true);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    top_queued(top->shared, sum);
    for (unsigned b = 0; b < TOP_BUCKETS; b++) all += top_bucket_ns(b) > 0.8 * HELD_NS ? sum[b] : 0;
    CHECK(all >= QUEUED - 4 && all <= QUEUED + 1); /* of two tasks in one place one is not counted */
    pool_end(pool);
    top_close(top);
}

int main(void) {
    test_begin("test_verdict");
    RUN(verdicts);
    RUN(lines);
    RUN(histogram);
    return test_end();
}
