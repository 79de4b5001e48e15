/* Mistakes that speak: each ends in a process of its own, which must abort, and say in one sentence what
 * was wrong. What looks alike and is right must pass. */
#define WSQ_IMPLEMENTATION
#define WSQI_PATIENCE_NS 50000000u
#include "../wsq.h"
#include "test.h"
#include "pool.h"

#include <sys/wait.h>

#ifdef fork /* win/ has no processes */
int main(void) {
    test_begin("test_misuse");
    return test_end();
}
#else

/* What a child writes on stderr, up to its end. */
static int child_run(void (*misuse)(wsq_pool *pool), char *text, size_t size) {
    int ends[2], status = 0;
    size_t length = 0;
    fflush(NULL);
    if (pipe(ends) != 0) FAIL("no pipe");
    pid_t child = fork();
    if (child == 0) {
        static const wsq_config config = {.workers = 1};
        wsq_pool *pool = NULL;
        dup2(ends[1], STDERR_FILENO);
        signal(SIGABRT, SIG_DFL);
        if (wsq_pool_create(&pool, &config) != WSQ_OK) _exit(3);
        misuse(pool);
        _exit(0);
    }
    close(ends[1]);
    for (ssize_t n; length < size - 1 && (n = read(ends[0], text + length, size - 1 - length)) > 0;)
        length += (size_t)n;
    text[length] = 0;
    close(ends[0]);
    CHECK(waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void says(void (*misuse)(wsq_pool *pool), const char *sentence) {
    char text[4000];
    CHECK_EQ(child_run(misuse, text, sizeof text), SIGABRT);
    if (!CHECK(strstr(text, sentence) != NULL)) fprintf(stderr, "    it says: %s\n", text);
    /* The sentence comes before the condition, which macros have made long. */
    const char *condition = strstr(text, "__atomic"), *said = strstr(text, sentence);
    CHECK(condition == NULL || said == NULL || said < condition);
}

static void passes(void (*use)(wsq_pool *pool)) {
    char text[4000];
    if (!CHECK_EQ(child_run(use, text, sizeof text), 0)) fprintf(stderr, "    it says: %s\n", text);
}

/* ---- contexts ---- */

static wsq_ctx kept;

static void job_run(wsq_ctx ctx, wsq_job *job) { (void)ctx, (void)job; }

static void fork_join(wsq_ctx ctx, void *arg) {
    wsq_job job;
    (void)arg;
    wsq_fork(&ctx, &job, job_run);
    wsq_join(&ctx, &job);
}

static void keep(wsq_ctx ctx, void *arg) {
    (void)arg;
    kept = ctx;
}

static void context_after_its_run(wsq_pool *pool) {
    wsq_run(pool, keep, NULL);
    fork_join(kept, NULL);
}

static void *thread_main(void *arg) {
    fork_join(*(wsq_ctx *)arg, NULL);
    return NULL;
}

static void thread_with_it(wsq_ctx ctx, void *arg) {
    pthread_t thread;
    (void)arg;
    if (pthread_create(&thread, NULL, thread_main, &ctx) == 0) pthread_join(thread, NULL);
}

static void context_of_another_thread(wsq_pool *pool) { wsq_run(pool, thread_with_it, NULL); }

static wsq_poll with_the_outer_one(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    fork_join(kept, NULL);
    return WSQ_DONE;
}

/* The task runs on top of the one that waits for it, with a block of its own for its jobs: so it may use
 * the context of that one, as a run inside a run may. */
static wsq_poll wait_for_it(wsq_ctx ctx, wsq_task *task) {
    static wsq_task inner;
    (void)task;
    kept = ctx;
    wsq_task_init(&inner, with_the_outer_one);
    wsq_spawn(wsq_pool_of(ctx), &inner);
    wsq_task_wait(&inner);
    return WSQ_DONE;
}

static void context_of_who_waits_below(wsq_pool *pool) {
    wsq_task outer;
    wsq_task_init(&outer, wait_for_it);
    wsq_spawn(pool, &outer);
    wsq_task_wait(&outer);
}

static wsq_group own_group;

static wsq_poll wait_for_own_group(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    if (wsq_group_wait_for(&own_group, 0) != WSQ_ERR_TIMEOUT) abort(); /* only looks */
    wsq_group_wait(&own_group);
    return WSQ_DONE;
}

static void own_group_awaited(wsq_pool *pool) {
    wsq_task task;
    wsq_group_init(&own_group, pool);
    wsq_task_init(&task, wait_for_own_group);
    wsq_group_spawn(&own_group, &task);
    wsq_group_wait(&own_group);
}

static void end_of_no_block(wsq_ctx ctx, void *arg) {
    (void)arg;
    wsq_block_end(ctx);
}

static void block_end_alone(wsq_pool *pool) { wsq_run(pool, end_of_no_block, NULL); }

static void loop_body(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    (void)begin, (void)end;
    fork_join(ctx, arg);
}

static void loop_with_a_stale_one(wsq_pool *pool) {
    wsq_run(pool, keep, NULL);
    wsq_for(kept, 0, 10, 1, loop_body, NULL);
}

/* A run inside a run may use what the outer one received: this thread has not left it. */
static void with_both(wsq_ctx ctx, void *arg) {
    fork_join(ctx, arg);
    fork_join(kept, arg);
}

static void run_in_a_run(wsq_ctx ctx, void *arg) {
    keep(ctx, arg);
    wsq_run(wsq_pool_of(ctx), with_both, NULL);
    wsq_for(ctx, 0, 100, 1, loop_body, NULL);
}

static void contexts_that_are_right(wsq_pool *pool) { wsq_run(pool, run_in_a_run, NULL); }

static void contexts(void) {
    says(context_after_its_run, "this wsq_ctx is NULL or stale");
    says(context_of_another_thread, "this wsq_ctx is NULL or stale");
    says(loop_with_a_stale_one, "this wsq_ctx is NULL or stale");
    says(block_end_alone, "wsq_block_end without its wsq_block_begin");
    says(own_group_awaited, "a task waits for its own group");
    passes(contexts_that_are_right);
    passes(context_of_who_waits_below);
}

/* ---- joins ---- */

static void oldest_first(wsq_ctx ctx, void *arg) {
    wsq_job one, two;
    (void)arg;
    wsq_fork(&ctx, &one, job_run);
    wsq_fork(&ctx, &two, job_run);
    wsq_join(&ctx, &one);
}

static void never_forked(wsq_ctx ctx, void *arg) {
    wsq_job job = {.fn = job_run};
    (void)arg;
    wsq_join(&ctx, &job);
}

static void join_oldest_first(wsq_pool *pool) { wsq_run(pool, oldest_first, NULL); }

static void join_without_fork(wsq_pool *pool) { wsq_run(pool, never_forked, NULL); }

/* It is public, and so a thief would run it when its memory is another function's. */
static wsq_poll leave_a_job(wsq_ctx ctx, wsq_task *task) {
    static wsq_job job;
    (void)task;
    wsqi_steal_request(wsqi_worker_of(ctx));
    wsq_fork(&ctx, &job, job_run);
    return WSQ_DONE;
}

static void forked_and_not_joined(wsq_pool *pool) {
    wsq_task task;
    wsq_task_init(&task, leave_a_job);
    wsq_spawn(pool, &task);
    wsq_task_wait(&task);
}

static void joins(void) {
    says(join_oldest_first, "join the newest job first");
    says(join_without_fork, "wsq_ctx"); /* there is nothing below */
    says(forked_and_not_joined, "returned without a join of a job");
}

/* ---- tasks ---- */

static wsq_poll done(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    return WSQ_DONE;
}

static wsq_task freed;

static wsq_task *filled(int pattern) {
    memset((void *)&freed, pattern, sizeof freed);
    return &freed;
}

static void spawn_freed(wsq_pool *pool) { wsq_spawn(pool, filled(0xdd)); }

static void spawn_unset(wsq_pool *pool) { wsq_spawn(pool, filled(0xbe)); }

static void spawn_on_freed(wsq_pool *pool) { wsq_spawn_on(pool, 0, filled(0xcc)); }

static void wake_freed(wsq_pool *pool) { (void)pool, wsq_wake(filled(0x5a)); }

static void cancel_freed(wsq_pool *pool) { (void)pool, wsq_task_cancel(filled(0xfe)); }

static void wait_for_freed(wsq_pool *pool) { (void)pool, wsq_task_wait(filled(0xa5)); }

static void wake_freed_later(wsq_pool *pool) {
    wsq_timer timer = {0};
    wsq_timer_set(pool, &timer, filled(0x01), 0);
}

static void batch_with_freed(wsq_pool *pool) {
    wsq_task good, *tasks[2] = {&good, filled(0xdd)};
    wsq_task_init(&good, done);
    wsq_spawn_batch(pool, tasks, 2);
}

static void group_with_freed(wsq_pool *pool) {
    wsq_group group;
    wsq_group_init(&group, pool);
    wsq_group_spawn(&group, filled(0xdd));
}

static void then_freed(wsq_pool *pool) {
    wsq_group group;
    wsq_group_init(&group, pool);
    wsq_group_then(&group, filled(0xdd));
}

static void after_freed(wsq_pool *pool) {
    wsq_task task;
    wsq_edge edge;
    (void)pool;
    wsq_task_init(&task, done);
    wsq_task_after(&task, filled(0xdd), &edge);
}

static void wake_nothing(wsq_pool *pool) { (void)pool, wsq_wake(NULL); }

static void cancel_nothing(wsq_pool *pool) { (void)pool, (void)wsq_task_cancel(NULL); }

static wsq_poll what_is_none(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    return (wsq_poll)42;
}

static void answer(wsq_pool *pool) {
    wsq_task task;
    wsq_task_init(&task, what_is_none);
    wsq_spawn(pool, &task);
    wsq_task_wait(&task);
}

/* ---- timers whose memory was freed while they were set ---- */

static wsq_timer timers[2];

static void set_timers(wsq_pool *pool, uint64_t delay_ns) {
    wsq_task_init(&freed, done); /* it is never spawned: a wake does nothing */
    for (int i = 0; i < 2; i++) CHECK_EQ(wsq_timer_set(pool, &timers[i], &freed, delay_ns), WSQ_OK);
}

static void timer_freed(wsq_pool *pool) {
    set_timers(pool, 10000000);
    memset((void *)&timers[0], 0xdd, sizeof timers[0]);
    test_nap(2000000000);
}

static void timer_freed_beside(wsq_pool *pool) {
    set_timers(pool, 3600000000000u);
    memset((void *)&timers[0], 0xdd, sizeof timers[0]);
    (void)wsq_timer_cancel(&timers[1]);
}

static void timer_freed_at_the_end(wsq_pool *pool) {
    set_timers(pool, 3600000000000u);
    memset((void *)&timers[0], 0, sizeof timers[0]);
    wsq_pool_destroy(pool);
}

static void cancel_no_timer(wsq_pool *pool) { (void)pool, (void)wsq_timer_cancel(NULL); }

static void freed_timers(void) {
    says(timer_freed, "the memory of this wsq_timer was freed");
    says(timer_freed_beside, "the memory of a wsq_timer, set beside this one");
    says(timer_freed_at_the_end, "the memory of this wsq_timer was freed");
    says(cancel_no_timer, "the wsq_timer is NULL");
}

/* ---- groups that wsq_group_init has not seen ---- */

static wsq_group unset;

static void spawn_into_unset(wsq_pool *pool) {
    (void)pool;
    wsq_task_init(&freed, done);
    wsq_group_spawn(&unset, &freed);
}

static void wait_for_unset(wsq_pool *pool) { (void)pool, (void)wsq_group_wait(&unset); }

static void then_of_unset(wsq_pool *pool) {
    (void)pool;
    wsq_task_init(&freed, done);
    wsq_group_then(&unset, &freed);
}

static void groups(void) {
    says(spawn_into_unset, "wsq_group_init has not set up this wsq_group");
    says(wait_for_unset, "wsq_group_init has not set up this wsq_group");
    says(then_of_unset, "wsq_group_init has not set up this wsq_group");
    says(wake_nothing, "the wsq_task is NULL");
    says(cancel_nothing, "the wsq_task is NULL");
    says(answer, "returned a value that is not a wsq_poll");
}

/* ---- a shutdown beside a wake that was forgotten ---- */

static wsq_poll pends(wsq_ctx ctx, wsq_task *task) {
    static atomic_uint runs;
    (void)ctx, (void)task;
    return atomic_fetch_add(&runs, 1) == 0 ? WSQ_PENDING : WSQ_DONE;
}

static void *wakes_late(void *arg) {
    test_nap(300000000);
    wsq_wake(arg);
    return NULL;
}

static void forgotten_wake(wsq_pool *pool) {
    wsq_task task;
    pthread_t thread;
    wsq_task_init(&task, pends);
    wsq_spawn(pool, &task);
    pthread_create(&thread, NULL, wakes_late, &task);
    wsq_pool_shutdown(pool, WSQ_DRAIN);
    pthread_join(thread, NULL); /* before that, its wake may not have returned */
    wsq_pool_destroy(pool);
}

static wsq_poll computes(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    test_nap(300000000);
    return WSQ_DONE;
}

static void long_task(wsq_pool *pool) {
    wsq_task task;
    wsq_task_init(&task, computes);
    wsq_spawn(pool, &task);
    wsq_pool_destroy(pool);
}

static void forgotten(void) {
    char text[4000];
    CHECK_EQ(child_run(forgotten_wake, text, sizeof text), 0);
    const char *said = strstr(text, "a shutdown waits, and no thread of its pool does anything");
    if (!CHECK(said != NULL)) return;
    CHECK(strstr(said, "1 spawned and not done") != NULL);
    CHECK(strstr(said + 1, "a shutdown waits") == NULL); /* once */
    CHECK_EQ(child_run(long_task, text, sizeof text), 0);
    CHECK(strstr(text, "a shutdown waits") == NULL);
}

/* Zeroed memory with a function is a task. */
static void zeroed_is_right(wsq_pool *pool) {
    filled(0)->fn = done;
    if (wsq_spawn(pool, &freed) != WSQ_OK || wsq_task_wait(&freed) != WSQ_OK) abort();
}

static void tasks(void) {
    void (*misuses[])(wsq_pool *pool) = {
        spawn_freed,      spawn_unset,      spawn_on_freed,   wake_freed, cancel_freed, wait_for_freed,
        wake_freed_later, batch_with_freed, group_with_freed, then_freed, after_freed};
    for (size_t i = 0; i < sizeof misuses / sizeof *misuses; i++)
        says(misuses[i], "this wsq_task was never set up");
    passes(zeroed_is_right);
}

/* ---- pools: their memory stays, so that no tester minds ---- */

static void *take(size_t size, size_t alignment, void *user) {
    void *memory;
    (void)user;
    return posix_memalign(&memory, alignment, size) == 0 ? memory : NULL;
}

static void keep_it(void *memory, size_t size, void *user) { (void)memory, (void)size, (void)user; }

static wsq_pool *destroyed(void) {
    static const wsq_allocator allocator = {.allocate = take, .release = keep_it};
    static const wsq_config config = {.workers = 1, .allocator = &allocator};
    wsq_pool *pool = NULL;
    if (wsq_pool_create(&pool, &config) != WSQ_OK) _exit(3);
    wsq_pool_destroy(pool);
    return pool;
}

static void spawn_there(wsq_pool *pool) {
    (void)pool;
    wsq_task_init(&freed, done);
    wsq_spawn(destroyed(), &freed);
}

static void spawn_on_there(wsq_pool *pool) {
    (void)pool;
    wsq_task_init(&freed, done);
    wsq_spawn_on(destroyed(), 0, &freed);
}

static void wait_there(wsq_pool *pool) { (void)pool, wsq_pool_wait(destroyed()); }

static void run_there(wsq_pool *pool) { (void)pool, wsq_run(destroyed(), keep, NULL); }

static void destroy_twice(wsq_pool *pool) { (void)pool, wsq_pool_destroy(destroyed()); }

static void count_there(wsq_pool *pool) { (void)pool, wsq_pool_pending(destroyed()); }

static void print_there(wsq_pool *pool) { (void)pool, wsq_stats_print(destroyed(), stdout); }

static void *same(void *arg) { return arg; }

static void submit_there(wsq_pool *pool) {
    wsq_future *future;
    (void)pool, wsq_submit(destroyed(), same, NULL, &future);
}

static void group_there(wsq_pool *pool) {
    wsq_group group;
    wsq_group_init(&group, pool);
    group.pool = destroyed();
    wsq_group_wait(&group);
}

static void pools(void) {
    void (*misuses[])(wsq_pool *pool) = {spawn_there, spawn_on_there, wait_there,   run_there,  destroy_twice,
                                         count_there, print_there,    submit_there, group_there};
    for (size_t i = 0; i < sizeof misuses / sizeof *misuses; i++)
        says(misuses[i], "this wsq_pool was destroyed");
}

/* ---- drivers ---- */

static wsq_pool *driven;
static wsq_timer driven_timer;

static bool wait_that_spawns(uint64_t timeout_ns, void *user) {
    if (timeout_ns != 0) wsq_spawn(driven, (wsq_task *)user);
    return false;
}

static bool wait_that_sets(uint64_t timeout_ns, void *user) {
    if (timeout_ns != 0) wsq_timer_set(driven, &driven_timer, (wsq_task *)user, 1);
    return false;
}

static bool wait_that_waits(uint64_t timeout_ns, void *user) {
    (void)user;
    if (timeout_ns != 0) wsq_pool_wait(driven);
    return false;
}

static void dispatch_nothing(wsq_pool *pool, void *user) { (void)pool, (void)user; }

static void interrupt_nothing(void *user) { (void)user; }

static void waits_in(wsq_pool *pool, bool (*wait)(uint64_t timeout_ns, void *user)) {
    static wsq_driver driver;
    driver = (wsq_driver){wait, dispatch_nothing, interrupt_nothing, &freed};
    wsq_config config = {.workers = 1, .driver = &driver};
    driven = pool; /* until there is another */
    wsq_task_init(&freed, done);
    (void)wsq_pool_create(&driven, &config);
    test_nap(2000000000);
}

static void wait_spawns(wsq_pool *pool) { waits_in(pool, wait_that_spawns); }
static void wait_sets(wsq_pool *pool) { waits_in(pool, wait_that_sets); }
static void wait_waits(wsq_pool *pool) { waits_in(pool, wait_that_waits); }

static void drivers(void) {
    says(wait_spawns, "a driver's wait must not call wsq");
    says(wait_sets, "a driver's wait must not call wsq");
    says(wait_waits, "a driver's wait must not call wsq");
}

int main(void) {
    test_begin("test_misuse");
    RUN(contexts);
    RUN(joins);
    RUN(tasks);
    RUN(groups);
    RUN(freed_timers);
    RUN(forgotten);
    RUN(pools);
    RUN(drivers);
    return test_end();
}
#endif /* there are processes */
