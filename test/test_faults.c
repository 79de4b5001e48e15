/* Faults, one by one: memory that is not there, threads that do not start, sleeps that end early or
 * never begin, a thread that stands still for long in the middle of everything. Whatever happens, the
 * mixed load (mix.h) gives its result and nothing is left behind. */
#include "test.h"

/* What the pool asks of the system goes through here. */
static void *fault_malloc(size_t size);
static void fault_free(void *memory);
long fault_syscall(long number, ...);
int fault_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*fn)(void *), void *arg);
int fault_join(pthread_t thread, void **result);
int fault_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex);

#define syscall fault_syscall
#define pthread_create fault_create
#define pthread_join fault_join
#define pthread_cond_wait fault_cond_wait
#define WSQ_MALLOC(size) fault_malloc(size)
#define WSQ_FREE(pointer) fault_free(pointer)
#define WSQ_RING_CAPACITY 8 /* so that deques grow and rings overflow */
#define WSQ_ATOMIC_HEADER "test/noisy.h"
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#undef syscall
#undef pthread_create
#undef pthread_join
#undef pthread_cond_wait

#include "mix.h"

#include <signal.h>
#include <stdarg.h>

/* The smallest that the system takes. */
#if defined(__aarch64__)
enum { SMALL_STACK = 128 * 1024 };
#else
enum { SMALL_STACK = 64 * 1024 };
#endif
enum { EVER = 1 << 30 };

static atomic_int allocations_left = EVER, allocations_failed; /* one fails, the next succeed again */
static atomic_bool memory_is_gone;                             /* ... or none does */
static atomic_int threads_left = EVER;
static atomic_long failure_takes; /* ns, of a start that fails */
static atomic_bool failing_start; /* one has begun */
static atomic_long memory_live, threads_live;
static atomic_uint early_every; /* one sleep in so many ends at once; 0: none */
static atomic_ulong early;
#if defined(WSQI_FUTEX) || defined(WSQ_FORCE_PTHREAD)
static atomic_int early_error;
#endif

static void *fault_malloc(size_t size) {
    int left = atomic_load(&allocations_left) == EVER ? EVER : atomic_fetch_sub(&allocations_left, 1);
    bool fails = left == 0 || (left < 0 && atomic_load(&memory_is_gone));
    void *memory = fails ? NULL : malloc(size);
    atomic_fetch_add(&allocations_failed, memory == NULL);
    atomic_fetch_add(&memory_live, memory != NULL);
    return memory;
}

static void fault_free(void *memory) {
    atomic_fetch_sub(&memory_live, memory != NULL);
    free(memory);
}

int fault_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*fn)(void *), void *arg) {
    if (atomic_load(&threads_left) != EVER && atomic_fetch_sub(&threads_left, 1) <= 0) {
        atomic_store(&failing_start, true);
        test_nap(atomic_load(&failure_takes));
        return EAGAIN;
    }
    int error = pthread_create(thread, attributes, fn, arg);
    atomic_fetch_add(&threads_live, error == 0);
    return error;
}

int fault_join(pthread_t thread, void **result) {
    int error = pthread_join(thread, result);
    atomic_fetch_sub(&threads_live, error == 0);
    return error;
}

static bool ends_early(void) {
    unsigned every = atomic_load(&early_every);
    if (every == 0 || noisy_random() % every != 0) return false;
    atomic_fetch_add(&early, 1);
    return true;
}

int fault_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex) {
    return ends_early() ? 0 : pthread_cond_wait(condition, mutex);
}

#ifdef WSQI_FUTEX
/* A system without futex knows neither of the two calls; else only the wait can end early. */
static bool futex_fails(int operation) {
    if (atomic_load(&early_error) != ENOSYS && operation != WSQI_FUTEX_WAIT_PRIVATE) return false;
    if (!ends_early()) return false;
    errno = atomic_load(&early_error);
    if (errno == ENOSYS) sched_yield();
    return true;
}

long fault_syscall(long number, ...) {
    const int given = number == SYS_futex ? 6 : number == SYS_prctl ? 5 : 3;
    va_list list;
    long a[6] = {0};
    va_start(list, number);
    for (int i = 0; i < given; i++) a[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_futex && futex_fails((int)a[1])) return -1;
    return syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
#else
long fault_syscall(long number, ...) { /* names threads, no more */
    (void)number;
    return -1;
}
#endif

/* ---- loads ---- */

static const mix_plan small_load = {3, 6, 3, 2, 12, 7, 60};
static const mix_plan tiny_load = {1, 2, 1, 1, 4, 4, 10};

static wsq_pool *pool_new(wsq_config config) {
    wsq_pool *pool = NULL;
    config.seed = test_seed | 1;
    if (!CHECK_EQ(wsq_pool_create(&pool, &config), WSQ_OK)) exit(test_end());
    return pool;
}

static void check_nothing_left(void) {
    CHECK_EQ(atomic_load(&memory_live), 0);
    CHECK_EQ(atomic_load(&threads_live), 0);
}

static void one_round(wsq_config config, const mix_plan *plan, unsigned outside) {
    wsq_pool *pool = pool_new(config);
    mix_round(pool, plan, test_seed, outside);
    wsq_pool_destroy(pool);
    check_nothing_left();
}

static void rounds(size_t count, unsigned workers, const mix_plan *plan) {
    for (size_t i = 0; i < test_times(count); i++)
        one_round((wsq_config){.workers = workers, .order = i % 2 ? WSQ_LIFO : WSQ_FIFO}, plan, 3);
}

/* ---- memory ---- */

enum { BIG = 1000, CROWD = 100 };

static void big_init(void *partial, void *arg) {
    (void)arg;
    memset(partial, 0, BIG);
}
static void big_body(wsq_ctx ctx, size_t begin, size_t end, void *partial, void *arg) {
    (void)ctx;
    (void)arg;
    for (size_t i = begin; i < end; i++) ((unsigned char *)partial)[i % BIG] += 1;
}
static void big_combine(void *left, const void *right, void *arg) {
    (void)arg;
    for (size_t i = 0; i < BIG; i++) ((unsigned char *)left)[i] += ((const unsigned char *)right)[i];
}

/* Partial results that do not fit into a job. */
static void reduce_big(wsq_ctx ctx, void *arg) {
    static const wsq_reducer reducer = {BIG, big_init, big_body, big_combine, NULL, false};
    unsigned char result[BIG];
    (void)arg;
    CHECK_EQ(wsq_reduce(ctx, 0, 3 * BIG, 1, &reducer, result), WSQ_OK);
    for (size_t i = 0; i < BIG; i++) CHECK(result[i] == 3);
}

/* More tasks than fit into a local queue, spawned by a worker. */
typedef struct crowd {
    wsq_task leader, followers[CROWD];
    wsq_pool *pool;
} crowd;

static atomic_uint followed;

static wsq_poll crowd_follow(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    (void)task;
    atomic_fetch_add(&followed, 1);
    return WSQ_DONE;
}

static wsq_poll crowd_lead(wsq_ctx ctx, wsq_task *task) {
    crowd *self = wsq_container_of(task, crowd, leader);
    (void)ctx;
    for (int i = 0; i < CROWD; i++) {
        wsq_task_init(&self->followers[i], crowd_follow);
        CHECK_EQ(wsq_spawn(self->pool, &self->followers[i]), WSQ_OK);
    }
    return WSQ_DONE;
}

static void crowd_run(wsq_pool *pool) {
    crowd self = {.pool = pool};
    atomic_store(&followed, 0);
    wsq_task_init(&self.leader, crowd_lead);
    CHECK_EQ(wsq_spawn(pool, &self.leader), WSQ_OK);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    CHECK_EQ(atomic_load(&followed), CROWD);
}

/* Every worker waits for a task behind it, so that stand-ins are wanted, each with a block. */
typedef struct pending_pair {
    wsq_task first, second;
} pending_pair;

static wsq_poll pair_wait(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    CHECK_EQ(wsq_task_wait(&wsq_container_of(task, pending_pair, first)->second), WSQ_OK);
    return WSQ_DONE;
}

static wsq_poll pair_end(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    return WSQ_DONE;
}

static void waits_run(wsq_pool *pool) {
    pending_pair pairs[6];
    wsq_task *tasks[12];
    for (int i = 0; i < 6; i++) {
        wsq_task_init(tasks[i] = &pairs[i].first, pair_wait);
        wsq_task_init(tasks[6 + i] = &pairs[i].second, pair_end);
    }
    CHECK_EQ(wsq_spawn_batch(pool, tasks, 12), WSQ_OK);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
}

/* One life of a pool, in which one allocation fails, or all from then on. */
static void life_without(wsq_config config, int allocation, bool gone) {
    wsq_pool *pool = NULL;
    atomic_store(&memory_is_gone, gone);
    atomic_store(&allocations_failed, 0);
    atomic_store(&allocations_left, allocation);
    config.seed = test_seed | 1;
    wsq_result result = wsq_pool_create(&pool, &config);
    if (result == WSQ_OK) {
        crowd_run(pool);
        waits_run(pool);
        mix_round(pool, &small_load, test_seed, 2);
        CHECK_EQ(wsq_run(pool, reduce_big, NULL), WSQ_OK); /* without memory for a block it is a task */
        wsq_pool_destroy(pool);
    } else {
        CHECK_EQ(result, WSQ_ERR_MEMORY);
        CHECK(pool == NULL);
    }
    atomic_store(&allocations_left, EVER);
    check_nothing_left();
}

/* Every allocation of a whole life: those of create make it fail, the others are made do without.
 * How many there are depends on which thief was fast enough; the first 40 are tried at least. */
static void every_allocation(void) {
    mix_memory_fails = true;
    for (int order = WSQ_FIFO; order <= WSQ_LIFO; order++) {
        for (int gone = 0; gone <= 1; gone++) {
            int n = 0, failed = 0;
            do {
                life_without((wsq_config){.workers = 3, .order = (wsq_order)order}, n++, gone);
                failed += atomic_load(&allocations_failed) != 0;
            } while (n < 40 || (n < 400 && atomic_load(&allocations_failed) != 0));
            printf("  allocations failed, one by one: %d\n", failed);
        }
    }
    mix_memory_fails = false;
}

/* ---- threads ---- */

static void every_thread(void) {
    static const unsigned sizes[] = {1, 2, 3, 8, 65};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (TEST_SLOWDOWN > 10 && sizes[i] > 8) continue;
        wsq_config config = {.workers = sizes[i], .seed = test_seed | 1};
        for (unsigned k = 0; k < sizes[i]; k++) {
            if (k > 2 && k + 2 < sizes[i] && k % 8 != 0) continue; /* of many threads, some */
            wsq_pool *pool = NULL;
            atomic_store(&threads_left, (int)k);
            CHECK_EQ(wsq_pool_create(&pool, &config), WSQ_ERR_THREAD);
            CHECK(pool == NULL);
            atomic_store(&threads_left, EVER);
            check_nothing_left();
        }
        one_round(config, &tiny_load, 2);
    }
}

/* The first and only stand-in of a single worker cannot start: its block has no thread; the next spawn tries again. */
static wsq_task beside_the_block;
static atomic_bool ran_beside;

static wsq_poll runs_beside(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    atomic_store(&ran_beside, true);
    return WSQ_DONE;
}

static bool dump_says(wsq_pool *pool, const char *words) {
    char text[4096] = "";
    FILE *file = tmpfile();
    if (!CHECK(file != NULL)) return false;
    wsq_pool_dump(pool, file);
    rewind(file);
    CHECK(fread(text, 1, sizeof text - 1, file) != 0);
    fclose(file);
    return strstr(text, words) != NULL;
}

static wsq_poll blocks_until_beside(wsq_ctx ctx, wsq_task *task) {
    (void)task;
    atomic_store(&threads_left, 0);
    wsq_block_begin(ctx);
    CHECK(dump_says(wsq_pool_of(ctx), "stand-ins not idle 0") && dump_says(wsq_pool_of(ctx), "has no thread"));
    atomic_store(&threads_left, EVER);
    CHECK_EQ(wsq_spawn(wsq_pool_of(ctx), &beside_the_block), WSQ_OK);
    for (int i = 0; i < 5000 && !atomic_load(&ran_beside); i++) test_nap(1000000);
    CHECK(atomic_load(&ran_beside) && !dump_says(wsq_pool_of(ctx), "has no thread"));
    wsq_block_end(ctx);
    return WSQ_DONE;
}

static void first_standin(void) {
    wsq_pool *pool = NULL;
    wsq_task blocks;
    CHECK_EQ(wsq_pool_create(&pool, &(wsq_config){.workers = 1, .max_standins = 1}), WSQ_OK);
    wsq_task_init(&blocks, blocks_until_beside);
    wsq_task_init(&beside_the_block, runs_beside);
    CHECK_EQ(wsq_spawn(pool, &blocks), WSQ_OK);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    wsq_pool_destroy(pool);
    check_nothing_left();
}

/* A task is spawned while a stand-in's start is under way, which then fails: a thread that waits runs it. */
static wsq_task pends_first, waits_for_it, blocks_soon, blocks_slowly;
static atomic_int held_by; /* how many tasks block */

static wsq_poll pends_once(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    return atomic_exchange(&held_by, 0) == -1 ? WSQ_PENDING : WSQ_DONE;
}

static wsq_poll waits_for_pending(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    CHECK_EQ(wsq_task_wait(&pends_first), WSQ_OK);
    return WSQ_DONE;
}

static wsq_poll blocks_without_thread(wsq_ctx ctx, wsq_task *task) {
    while (task == &blocks_slowly && atomic_load(&held_by) == 0) test_nap(100000);
    atomic_store(&threads_left, 0);
    atomic_store(&failing_start, false);
    atomic_store(&failure_takes, task == &blocks_slowly ? 50000000 : 0);
    wsq_block_begin(ctx);
    atomic_fetch_add(&held_by, 1);
    for (int i = 0; i < 5000 && !atomic_load(&ran_beside); i++) test_nap(1000000);
    wsq_block_end(ctx);
    return WSQ_DONE;
}

static void start_that_fails_slowly(void) {
    wsq_pool *pool = NULL;
    atomic_store(&ran_beside, false);
    atomic_store(&held_by, -1);
    CHECK_EQ(wsq_pool_create(&pool, &(wsq_config){.workers = 2, .max_standins = 3}), WSQ_OK);
    wsq_task_init(&pends_first, pends_once);
    wsq_task_init(&waits_for_it, waits_for_pending);
    wsq_task_init(&blocks_soon, blocks_without_thread);
    wsq_task_init(&blocks_slowly, blocks_without_thread);
    wsq_task_init(&beside_the_block, runs_beside);
    CHECK_EQ(wsq_spawn(pool, &pends_first), WSQ_OK);
    while (atomic_load(&held_by) != 0) test_nap(100000);
    CHECK_EQ(wsq_spawn(pool, &blocks_slowly), WSQ_OK);
    CHECK_EQ(wsq_spawn(pool, &waits_for_it), WSQ_OK); /* blocks: a stand-in starts */
    test_nap(10000000);
    CHECK_EQ(wsq_spawn(pool, &blocks_soon), WSQ_OK);
    while (!atomic_load(&failing_start) || atomic_load(&failure_takes) == 0) test_nap(100000);
    CHECK_EQ(wsq_spawn(pool, &beside_the_block), WSQ_OK);
    for (int i = 0; i < 4000 && !atomic_load(&ran_beside); i++) test_nap(1000000);
    CHECK(atomic_load(&ran_beside));
    wsq_wake(&pends_first);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    atomic_store(&threads_left, EVER);
    atomic_store(&failure_takes, 0);
    wsq_pool_destroy(pool);
    check_nothing_left();
}

/* 63, 64 and 65 meet the border of a bitmap's word, 129 begins a third. */
static void every_size(void) {
    static const unsigned sizes[] = {1, 2, 63, 64, 65, 129, 1024};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (TEST_SLOWDOWN > 1 && sizes[i] > 129) continue; /* sanitizers know fewer threads */
        one_round((wsq_config){.workers = sizes[i], .stack_size = SMALL_STACK}, &small_load, 3);
    }
}

/* Nested help and recursion, with the smallest stacks that a user would ask for. */
static void small_stacks(void) {
    static const mix_plan deep = {2, 2, 2, 4, 8, 14, 500};
    for (size_t i = 0; i < test_times(10); i++)
        one_round((wsq_config){.workers = 4, .stack_size = SMALL_STACK}, &deep, 3);
}

/* ---- sleep ---- */

#if defined(WSQI_FUTEX) || defined(WSQ_FORCE_PTHREAD)
#define SLEEPS_PASS_HERE 1

static void sleeps_end_early(void) {
    static const int errors[] = {EINTR, EAGAIN, ETIMEDOUT};
    for (size_t i = 0; i < 3; i++) {
        for (unsigned every = 1; every <= 4; every *= 2) {
            atomic_store(&early_error, errors[i]);
            atomic_store(&early_every, every);
            rounds(4, 4, &small_load);
            atomic_store(&early_every, 0);
        }
    }
    CHECK(atomic_load(&early) > 0);
    printf("  sleeps that ended early: %lu\n", atomic_load(&early));
}

/* Nobody ever sleeps, and nobody is ever woken. */
static void no_futex(void) {
    atomic_store(&early_error, ENOSYS);
    atomic_store(&early_every, 1);
    rounds(4, 3, &small_load);
    atomic_store(&early_every, 0);
}

#endif

/* ---- noise ---- */

static void yields_everywhere(void) {
    noisy.yield_every = 64;
    rounds(60, 4, &small_load);
    noisy.yield_every = 8;
    rounds(10, 3, &small_load);
    noisy.yield_every = 0;
    printf("  yields: %lu\n", atomic_load(&noisy.yielded));
}

static void sleep_at(unsigned line, uint32_t most_ns, int times, unsigned every) {
    noisy.line = line;
    noisy.sleep_ns = most_ns;
    noisy.sleep_every = every;
    atomic_store(&noisy.sleeps, times);
    rounds(1, 3, &tiny_load);
    atomic_store(&noisy.sleeps, 0);
}

/* At every line with a label, one after the other: a few short sleeps, or one of up to 100 ms. */
static void long_sleeps(void) {
    uint64_t random = test_seed;
    unsigned lines = 0;
    noisy.yield_every = 64;
    rounds(2, 3, &tiny_load); /* finds out where the lines are */
    for (unsigned line = 1; line < NOISY_LINES; line++) {
        if (!atomic_load(&noisy_seen[line])) continue;
        lines++;
        sleep_at(line, 1000000, 8, 2);
        if (test_below(&random, 3) == 0) sleep_at(line, 100000000, 1, 1 + test_below(&random, 8));
    }
    for (size_t i = 0; i < test_times(20); i++) sleep_at(0, 3000000, 20, 30);
    noisy.yield_every = 0;
    printf("  %u lines with ordered accesses, %lu sleeps\n", lines, atomic_load(&noisy.slept));
    CHECK(lines > 20);
}

/* ---- misuse ---- */

static wsq_poll misuse_run(wsq_ctx ctx, wsq_task *task) {
    wsq_pool *pool = wsq_pool_of(ctx);
    (void)task;
    CHECK_EQ(wsq_pool_wait(pool), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_pool_shutdown(pool, WSQ_DRAIN), WSQ_ERR_INVALID);
    CHECK_EQ(wsq_pool_shutdown(pool, WSQ_CANCEL), WSQ_ERR_INVALID);
    wsq_pool_destroy(pool);
    return WSQ_DONE;
}

static void misuse_fork(wsq_ctx ctx, wsq_job *job) {
    (void)job;
    misuse_run(ctx, NULL);
}

static void misuse_jobs(wsq_ctx ctx, void *arg) {
    wsq_job jobs[8];
    (void)arg;
    misuse_run(ctx, NULL);
    for (int i = 0; i < 8; i++) wsq_fork(&ctx, &jobs[i], misuse_fork);
    sched_yield();
    for (int i = 8; i-- > 0;) wsq_join(&ctx, &jobs[i]);
}

/* Errors, not hangs; and the pool lives on. */
static void misuse_inside(void) {
    noisy.yield_every = 16;
    for (size_t i = 0; i < test_times(50); i++) {
        wsq_pool *pool = pool_new((wsq_config){.workers = 2});
        wsq_task task;
        wsq_task_init(&task, misuse_run);
        CHECK_EQ(wsq_spawn(pool, &task), WSQ_OK);
        CHECK_EQ(wsq_run(pool, misuse_jobs, NULL), WSQ_OK);
        CHECK_EQ(wsq_task_wait(&task), WSQ_OK);
        mix_round(pool, &tiny_load, test_seed, 2);
        wsq_pool_destroy(pool);
        check_nothing_left();
    }
    noisy.yield_every = 0;
}

/* ---- lives ---- */

typedef struct race {
    wsq_pool *pool;
    atomic_uint accepted, ran;
    wsq_task tasks[2][4];
} race;

static race *race_now;

static wsq_poll race_run(wsq_ctx ctx, wsq_task *task) {
    (void)ctx;
    (void)task;
    atomic_fetch_add(&race_now->ran, 1);
    return WSQ_DONE;
}

/* The first one shuts down while the others still submit; all agree on what was accepted. */
static void race_thread(test_thread *thread) {
    race *self = thread->arg;
    test_spin(test_below(&thread->random, 300));
    if (thread->index == 0) {
        wsq_shutdown mode = test_below(&thread->random, 2) ? WSQ_DRAIN : WSQ_CANCEL;
        CHECK_EQ(wsq_pool_shutdown(self->pool, mode), WSQ_OK);
        return;
    }
    for (int i = 0; i < 4; i++) {
        wsq_task *task = &self->tasks[thread->index - 1][i];
        wsq_task_init(task, race_run);
        wsq_result result = wsq_spawn(self->pool, task);
        if (result == WSQ_ERR_CLOSED) return;
        CHECK_EQ(result, WSQ_OK);
        result = wsq_task_wait(task);
        CHECK(result == WSQ_OK || result == WSQ_ERR_CANCELLED);
        atomic_fetch_add(&self->accepted, result == WSQ_OK);
    }
}

static void create_submit_destroy(void) {
    size_t lives = test_times(4000);
    for (size_t i = 0; i < lives; i++) {
        race self = {.pool = pool_new((wsq_config){.workers = 1 + (unsigned)(i % 3)})};
        race_now = &self;
        if (i % 16 == 0) { /* with threads that submit; else destroy at once */
            test_threads(3, race_thread, &self);
        } else {
            wsq_task_init(&self.tasks[0][0], race_run);
            CHECK_EQ(wsq_spawn(self.pool, &self.tasks[0][0]), WSQ_OK);
            atomic_store(&self.accepted, 1);
        }
        wsq_pool_destroy(self.pool);
        CHECK_EQ(atomic_load(&self.ran), atomic_load(&self.accepted));
    }
    check_nothing_left();
    printf("  lives: %zu\n", lives);
}

int main(void) {
    test_begin("test_faults");
    noisy.seed = test_seed;
    RUN(every_allocation);
    RUN(every_thread);
    RUN(first_standin);
    RUN(start_that_fails_slowly);
    RUN(every_size);
    RUN(small_stacks);
#ifdef SLEEPS_PASS_HERE
    RUN(sleeps_end_early);
    RUN(no_futex);
#endif
    RUN(yields_everywhere);
    RUN(long_sleeps);
    RUN(misuse_inside);
    RUN(create_submit_destroy);
    return test_end();
}
