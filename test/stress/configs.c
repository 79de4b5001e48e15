/* Random configurations: bytes become a wsq_config, each member of which is nothing, usual, extreme or
 * forbidden. A model of the contract says which are refused. Each pool that comes into being does a
 * little of everything, knows the result, and leaves nothing behind.
 *
 * With -DWSQ_FUZZ it is a target of libFuzzer (make fuzz); else it makes up its own bytes. */
#include "../test.h"

#define WSQ_IMPLEMENTATION
#include "../../wsq.h"

enum { BYTES = 24, TASKS = 24, FUTURES = 6, ELEMENTS = 500, STACK = 128 * 1024 };

/* ---- memory: aligned, counted, and gone after so many ---- */

typedef struct memory {
    atomic_long live, left; /* left: allocations until none succeeds */
} memory;

static void *memory_take(size_t size, size_t alignment, void *user) {
    memory *self = user;
    void *taken = NULL;
    if (atomic_fetch_sub(&self->left, 1) <= 0) return NULL;
    if (!CHECK(alignment != 0 && (alignment & (alignment - 1)) == 0)) return NULL;
    if (alignment < sizeof(void *)) alignment = sizeof(void *);
    if (posix_memalign(&taken, alignment, size) != 0) return NULL;
    memset(taken, 0x5a, size < 4096 ? size : 4096);
    atomic_fetch_add(&self->live, 1);
    return taken;
}

static void memory_give(void *taken, size_t size, void *user) {
    memory *self = user;
    memset(taken, 0xa5, size < 4096 ? size : 4096);
    atomic_fetch_sub(&self->live, 1);
    free(taken);
}

/* ---- a configuration out of bytes ---- */

typedef struct attempt {
    const uint8_t *bytes;
    size_t left;
    wsq_config config;
    wsq_allocator allocator;
    wsq_hooks hooks;
    wsq_topology topology;
    memory memory;
    atomic_long begun, ended, events;
    bool forbidden, scarce; /* it must be refused; memory or threads may be missing */
} attempt;

static unsigned choose(attempt *self, unsigned n) {
    if (self->left == 0) return 0;
    self->left--;
    return *self->bytes++ % n;
}

#define ONE_OF(self, ...) one_of((self), (const uint64_t[]){__VA_ARGS__}, \
                                 sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static uint64_t one_of(attempt *self, const uint64_t *values, size_t count) {
    return values[choose(self, (unsigned)count)];
}

static void on_event(void *user, wsq_event event, unsigned worker, const void *subject, uint64_t value) {
    attempt *self = user;
    (void)worker, (void)subject, (void)value;
    atomic_fetch_add(event == WSQ_EVENT_TASK_BEGIN ? &self->begun
                     : event == WSQ_EVENT_TASK_END ? &self->ended
                                                   : &self->events, 1);
}

static const char *name_of(void *user, uintptr_t function) {
    (void)user;
    return function % 3 == 0 ? NULL : "a function";
}

static uint32_t place_of(unsigned worker, void *user) {
    (void)user;
    return worker * 0x10003u;
}

static void choose_parts(attempt *self) {
    wsq_config *config = &self->config;
    unsigned what = choose(self, 6);
    atomic_store(&self->memory.left, what == 5 ? (long)choose(self, 12) : 1L << 30);
    self->allocator = (wsq_allocator){what == 1 ? NULL : memory_take, what == 2 ? NULL : memory_give, &self->memory};
    if (what != 0) config->allocator = &self->allocator;
    self->forbidden = self->forbidden || what == 1 || what == 2;
    self->scarce = self->scarce || what == 5;
    what = choose(self, 4);
    self->hooks = (wsq_hooks){.event = what == 1 ? NULL : on_event, .user = self,
                               .name = what == 2 ? name_of : NULL};
    if (what != 0) config->hooks = &self->hooks;
    what = choose(self, 8);
    self->topology = (wsq_topology){what == 1 ? NULL : place_of, NULL};
    if (what < 3 && what != 0) config->topology = &self->topology;
    self->forbidden = self->forbidden || what == 1;
    config->list_tasks = choose(self, 3) == 0;
}

/* What the contract forbids is written down here a second time. */
static void choose_config(attempt *self) {
    static const char *const names[] = {NULL, "", "a name that is longer than any thread's", "%s%n", "\xc3\xa9\xff"};
    wsq_config *config = &self->config;
    unsigned mode = choose(self, 8);
    config->caller_runs = mode == 0 || mode == 1 || mode == 7;
    config->lend_only = mode == 2 || mode == 7;
    config->workers = (unsigned)ONE_OF(self, 0, 1, 1, 2, 2, 3, 4, 7, 9, 33, 65, 16384, UINT_MAX);
    if (config->workers == 65 && config->caller_runs) config->workers = 1000;
    config->max_standins = (unsigned)ONE_OF(self, 0, 1, 2, 63, WSQ_STANDINS_OFF, 16383, 16384, UINT_MAX - 1);
    config->order = (wsq_order)ONE_OF(self, WSQ_FIFO, WSQ_LIFO, WSQ_SHARED, WSQ_FIFO, WSQ_LIFO, 3);
    config->seed = ONE_OF(self, 0, 1, UINT64_MAX, 0x9E3779B97F4A7C15u);
    config->park_timeout_ns = ONE_OF(self, 0, 0, 1, 1000, 10000000, UINT64_MAX / 2, UINT64_MAX);
    config->spin_ns = ONE_OF(self, 0, WSQ_SPIN_OFF, 1, 1000, 100000, 2000000);
    config->target_latency_ns = ONE_OF(self, 0, 1, 1000, 1000000000, UINT64_MAX);
    config->min_interval = (uint32_t)ONE_OF(self, 0, 1, 2, 255, UINT32_MAX);
    config->max_interval = (uint32_t)ONE_OF(self, 0, 1, 2, 256, UINT32_MAX);
    config->lifo_cap = (uint32_t)ONE_OF(self, 0, 1, 3, UINT32_MAX - 1, WSQ_LIFO_OFF);
    config->budget = (uint32_t)ONE_OF(self, 0, 1, 2, UINT32_MAX);
    config->stack_size = (size_t)ONE_OF(self, 0, 0, 1, STACK, STACK + 1, 1 << 20, 16384, SIZE_MAX);
    /* Of threads that are lent it says how far a wait may work on: not at all, with so little. */
    if (config->lend_only && config->stack_size < STACK) config->stack_size = 0;
    config->name = names[choose(self, 5)];
    choose_parts(self);
    uint64_t standins = config->max_standins == WSQ_STANDINS_OFF ? 0 : config->max_standins;
    self->forbidden = self->forbidden || config->workers > 16383 || standins > 16383 ||
                      (config->caller_runs && config->lend_only) || (unsigned)config->order > 2 ||
                      (config->max_interval != 0 && config->max_interval < config->min_interval);
    self->scarce = self->scarce || config->workers > 9 || config->max_standins == 16383 ||
                   (config->stack_size != 0 && config->stack_size < STACK) || config->stack_size == SIZE_MAX;
    if (config->stack_size == 16384 && TEST_SLOWDOWN > 1) config->stack_size = STACK; /* sanitizers need more */
}

/* ---- a little of everything ---- */

typedef struct load load;

typedef struct one {
    wsq_task task;
    wsq_timer timer;
    load *all;
    unsigned kind, runs;
} one;

struct load {
    wsq_pool *pool;
    one tasks[TASKS], child;
    wsq_group group;
    wsq_edge edge;
    atomic_uint ended;
};

static wsq_poll child_run(wsq_ctx ctx, wsq_task *task) {
    one *self = wsq_container_of(task, one, task);
    (void)ctx;
    atomic_fetch_add(&self->all->ended, 1);
    return WSQ_DONE;
}

static wsq_poll one_run(wsq_ctx ctx, wsq_task *task) {
    one *self = wsq_container_of(task, one, task);
    load *all = self->all;
    if (++self->runs == 1) {
        if (self->kind % 4 == 1) return wsq_budget_take() ? WSQ_YIELD : WSQ_DONE;
        if (self->kind % 4 == 2) {
            CHECK_EQ(wsq_timer_set(all->pool, &self->timer, task, self->kind * 1000), WSQ_OK);
            return WSQ_PENDING;
        }
    }
    if (self->kind == 3) { /* one waits for a child, and one blocks */
        CHECK_EQ(wsq_spawn(all->pool, &all->child.task), WSQ_OK);
        CHECK_EQ(wsq_task_wait(&all->child.task), WSQ_OK);
    }
    if (self->kind == 7) {
        wsq_block_begin(ctx);
        sched_yield();
        wsq_block_end(ctx);
    }
    CHECK(wsq_worker_index(ctx) < wsq_pool_slots(all->pool));
    atomic_fetch_add(&all->ended, 1);
    return WSQ_DONE;
}

static void *number(void *arg) { return arg; }

static void sum_init(void *partial, void *arg) { (void)arg, *(uint64_t *)partial = 0; }
static void sum_body(wsq_ctx ctx, size_t begin, size_t end, void *partial, void *arg) {
    (void)ctx, (void)arg;
    for (size_t i = begin; i < end; i++) *(uint64_t *)partial += i;
}
static void sum_combine(void *left, const void *right, void *arg) {
    (void)arg;
    *(uint64_t *)left += *(const uint64_t *)right;
}

static void sum_run(wsq_ctx ctx, void *arg) {
    const wsq_reducer reducer = {200, sum_init, sum_body, sum_combine, NULL, false}; /* it allocates */
    CHECK_EQ(wsq_reduce(ctx, 0, ELEMENTS, 7, &reducer, arg), WSQ_OK);
}

static void spawn_all(load *all, bool lends) {
    unsigned workers = lends ? 1 : wsq_pool_workers(all->pool); /* the one that is lent is the first */
    CHECK_EQ(wsq_group_init(&all->group, all->pool), WSQ_OK);
    all->child.all = all;
    wsq_task_init(&all->child.task, child_run);
    for (unsigned i = 0; i < TASKS; i++) {
        one *self = &all->tasks[i];
        self->all = all;
        self->kind = i;
        wsq_task_init(&self->task, one_run);
        if (i % 5 == 4) wsq_task_set_priority(&self->task, i % 2 ? WSQ_HIGH : WSQ_LOW);
    }
    CHECK_EQ(wsq_task_after(&all->tasks[1].task, &all->tasks[0].task, &all->edge), WSQ_OK);
    for (unsigned i = 0; i < TASKS - 4; i++) {
        wsq_task *task = &all->tasks[i].task;
        CHECK_EQ(i % 6 == 0   ? wsq_spawn_on(all->pool, i % workers, task)
                 : i % 6 == 2 ? wsq_group_spawn(&all->group, task)
                              : wsq_spawn(all->pool, task), WSQ_OK);
    }
    wsq_task *batch[4];
    for (unsigned i = 0; i < 4; i++) batch[i] = &all->tasks[TASKS - 4 + i].task;
    CHECK_EQ(wsq_spawn_batch(all->pool, batch, 4), WSQ_OK);
}

static void futures(wsq_pool *pool, bool scarce) {
    wsq_future *some[FUTURES];
    unsigned count = 0;
    for (; count < FUTURES; count++) {
        wsq_result result = wsq_submit(pool, number, &some[count], &some[count]);
        if (result == WSQ_OK) continue;
        CHECK(scarce && result == WSQ_ERR_MEMORY);
        break;
    }
    for (unsigned i = 0; i < count; i++) {
        wsq_future *future = some[i];
        void *result = NULL;
        CHECK_EQ(wsq_future_get(future, &result), WSQ_OK);
        CHECK(result == (void *)&some[i]);
    }
}

static void *lent_main(void *pool) {
    CHECK_EQ(wsq_worker_enter(pool), WSQ_OK);
    return NULL;
}

static void use(attempt *self, wsq_pool *pool) {
    load *all = calloc(1, sizeof *all);
    struct { uint64_t sum; char rest[192]; } result;
    wsq_stats stats;
    pthread_t lent;
    bool lends = self->config.lend_only;
    if (all == NULL) return;
    all->pool = pool;
    CHECK(!lends || pthread_create(&lent, NULL, lent_main, pool) == 0);
    spawn_all(all, lends);
    futures(pool, self->scarce);
    result.sum = 0;
    wsq_result run = wsq_run(pool, sum_run, &result);
    if (run == WSQ_OK) CHECK_EQ(result.sum, (uint64_t)ELEMENTS * (ELEMENTS - 1) / 2);
    else CHECK(self->scarce && run == WSQ_ERR_MEMORY);
    CHECK_EQ(wsq_group_wait(&all->group), WSQ_OK);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    CHECK_EQ(atomic_load(&all->ended), TASKS + 1);
    wsq_pool_stats(pool, &stats);
    CHECK_EQ(stats.spawned, stats.finished);
    CHECK_EQ(wsq_pool_pending(pool), 0);
    CHECK_EQ(wsq_pool_shutdown(pool, choose(self, 2) ? WSQ_DRAIN : WSQ_CANCEL), WSQ_OK);
    CHECK_EQ(wsq_spawn(pool, &all->child.task), WSQ_ERR_CLOSED);
    if (lends) pthread_join(lent, NULL);
    free(all);
}

static void describe(const wsq_config *c) {
    fprintf(stderr, "    workers %u, standins %u, caller runs %d, lend only %d, order %d, list %d, stack %zu,\n",
            c->workers, c->max_standins, c->caller_runs, c->lend_only, (int)c->order, c->list_tasks, c->stack_size);
    fprintf(stderr, "    park %llu, spin %llu, latency %llu, intervals %u to %u, slot %u, budget %u, hooks %d, "
            "allocator %d, topology %d\n", (unsigned long long)c->park_timeout_ns, (unsigned long long)c->spin_ns,
            (unsigned long long)c->target_latency_ns, c->min_interval, c->max_interval, c->lifo_cap, c->budget,
            c->hooks != NULL, c->allocator != NULL, c->topology != NULL);
}

static void run_config(const uint8_t *bytes, size_t length) {
    attempt self;
    wsq_pool *pool = NULL;
    memset((void *)&self, 0, sizeof self);
    self.bytes = bytes;
    self.left = length;
    choose_config(&self);
    wsq_result result = wsq_pool_create(&pool, &self.config);
    if (self.forbidden) CHECK_EQ(result, WSQ_ERR_INVALID);
    else if (self.scarce) CHECK(result == WSQ_OK || result == WSQ_ERR_MEMORY || result == WSQ_ERR_THREAD);
    else CHECK_EQ(result, WSQ_OK);
    CHECK((result == WSQ_OK) == (pool != NULL));
    if (pool != NULL) {
        use(&self, pool);
        wsq_pool_destroy(pool);
    }
    CHECK_EQ(atomic_load(&self.memory.live), 0);
    CHECK_EQ(atomic_load(&self.begun), atomic_load(&self.ended));
    if (atomic_load(&test_failures) != 0) describe(&self.config);
}

#ifdef WSQ_FUZZ

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    run_config(bytes, length);
    if (atomic_load(&test_failures)) abort();
    return 0;
}

#else

/* Configuration i is made from the seed plus i alone: with that as WSQ_SEED it comes first. */
static void configs(void) {
    size_t count = test_times(1500);
    for (size_t i = 0; i < count; i++) {
        uint8_t bytes[BYTES];
        uint64_t random = test_seed + i;
        for (size_t k = 0; k < BYTES; k++) bytes[k] = (uint8_t)test_random(&random);
        if (i % 8 != 0 && bytes[0] % 8 == 7) bytes[0]--; /* else half of them were refused */
        run_config(bytes, BYTES);
        if (atomic_load(&test_failures) == 0) continue;
        fprintf(stderr, "this configuration comes first with WSQ_SEED=%llu\n",
                (unsigned long long)(test_seed + i));
        return;
    }
    printf("  configurations: %zu\n", count);
}

int main(void) {
    test_begin("configs");
    RUN(configs);
    return test_end();
}
#endif
