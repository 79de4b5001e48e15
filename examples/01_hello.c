/* Hello: main spawns small tasks, and any free worker runs them.
 *     cc -O2 -pthread 01_hello.c -o hello && ./hello */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"

/* A task lives in a struct of your own, beside what it needs: nothing is allocated or copied. */
struct greeting {
    int number;
    wsq_task task;
};

/* Some milliseconds of work. A shorter task would be over before a second worker is awake. */
static unsigned primes_below(unsigned limit) {
    unsigned count = 0;
    for (unsigned n = 2; n < limit; n++) {
        unsigned divisor = 2;
        while (n % divisor != 0) divisor++;
        count += divisor == n;
    }
    return count;
}

static wsq_poll greet(wsq_ctx ctx, wsq_task *task) {
    struct greeting *self = wsq_container_of(task, struct greeting, task);
    unsigned limit = 5000 + 1000 * (unsigned)self->number;
    printf("hello from task %d on worker %u: there are %u primes below %u\n", self->number,
           wsq_worker_index(ctx), primes_below(limit), limit);
    return WSQ_DONE;
}

int main(void) {
    wsq_pool *pool;
    wsq_config config = {.workers = 2}; /* NULL in its place: one worker per usable core */
    wsq_result result = wsq_pool_create(&pool, &config);
    if (result != WSQ_OK) {
        fprintf(stderr, "no pool: %s\n", wsq_result_string(result));
        return 1;
    }

    struct greeting greetings[8];
    for (int i = 0; i < 8; i++) {
        greetings[i].number = i;
        wsq_task_init(&greetings[i].task, greet);
        wsq_spawn(pool, &greetings[i].task);
    }

    wsq_pool_wait(pool); /* until every task is done: only then may greetings[] go */
    wsq_pool_destroy(pool);
    return 0;
}
