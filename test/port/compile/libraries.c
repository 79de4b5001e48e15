/* A program with two libraries, each with its own copy of wsq.h: they know nothing of each other's. */
#include <pthread.h>
#include <stddef.h>

int work_one(int (*other)(void));
int work_two(int (*other)(void));

static int one_alone(void) { return work_one(NULL); }
static int two_alone(void) { return work_two(NULL); }

static void *one_main(void *result) {
    *(int *)result = work_one(two_alone);
    return NULL;
}

int main(void) {
    pthread_t thread;
    int result = 0;
    if (work_one(two_alone) != 0) return 1;
    if (work_two(one_alone) != 0) return 2;
    if (pthread_create(&thread, NULL, one_main, &result) != 0) return 3;
    pthread_join(thread, NULL);
    return result == 0 ? 0 : 4;
}
