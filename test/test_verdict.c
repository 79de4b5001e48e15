/* The sentence that top says of what the workers did: each case by an example, and just beside it. */
#include "../examples/top_verdict.h"
#include "test.h"

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

int main(void) {
    test_begin("test_verdict");
    RUN(verdicts);
    return test_end();
}
