/* explore_pool.h - what the scenarios with a whole pool share: a small pool, and what must hold
 * when nothing moves. It comes after explore_small.h and wsq.h. */
#ifndef EXPLORE_POOL_H
#define EXPLORE_POOL_H

/* Searchers give up after one round: the others bring nothing new, only steps. */
static inline void explore_short_search(void *worker) {
    ((wsqi_worker *)worker)->pool->spin.rounds = 1;
}

static void explore_hear(void *user, wsq_event event, unsigned worker, const void *subject, uint64_t value) {
    (void)user, (void)event, (void)subject, (void)value;
    explore_check(worker < EXPLORE_FIBERS || worker == WSQ_OUTSIDE);
}

/* WSQ_CONFIG names what all pools of a program have beside what their scenarios say: "spin" (searches that last),
 * "turns" (each task is a turn), "hooks", "list" (of the tasks), or several of them. */
static inline void explore_pool_configure(wsq_config *config) {
    static const wsq_hooks hooks = {.event = explore_hear};
    const char *more = getenv("WSQ_CONFIG");
    if (more == NULL) return;
    if (strstr(more, "spin") && config->spin_ns == 0) config->spin_ns = 5000;
    if (strstr(more, "turns")) config->min_interval = config->max_interval = 1;
    if (strstr(more, "hooks") && config->hooks == NULL) config->hooks = &hooks;
    if (strstr(more, "list")) config->list_tasks = true;
}

/* With what `config` says, which may be zero; one stand-in, or none, unless it does. */
static inline wsq_pool *explore_pool_make(unsigned workers, wsq_config config) {
    wsq_pool *pool = NULL;
    config.workers = workers;
    if (config.max_standins == 0) config.max_standins = explore_choose(2) ? 1 : WSQ_STANDINS_OFF;
    if (explore.fibers == 1) explore_threads = 0; /* the first pool of this execution */
    if (config.max_standins == 0) config.max_standins = 4; /* memory for each is taken every time */
    explore_pool_configure(&config);
    config.seed = 1 + (uint64_t)explore_choose(4);
    explore_threads_left = EXPLORE_FIBERS;
    explore_before_thread = explore_short_search;
    explore_check(wsq_pool_create(&pool, &config) == WSQ_OK);
    return pool;
}

static inline bool explore_queue_empty(const wsqi_lane *lane) {
    return lane->incoming.v == NULL && lane->ready == NULL;
}

/* Nobody can go on: every worker is asleep and counted, nobody is left over as a searcher, and no
 * task is queued. */
static inline void explore_check_parked(wsq_pool *pool) {
    uint64_t bits = 0;
    for (unsigned w = 0; w < pool->bitmap.words; w++) bits |= pool->bitmap.sleepers[w].v;
    explore_check(wsqi_searching(pool->permits.v) == 0);
    unsigned asleep = pool->workers + pool->made.standins.v;
    explore_check(wsqi_free_permits(pool->permits.v) == pool->workers);
    explore_check(wsqi_idle(pool->permits.v) == asleep && wsqi_guests(pool->permits.v) == 0);
    explore_check((unsigned)__builtin_popcountll(bits) == asleep);
    for (unsigned i = 0; i < WSQ_LOW + pool->global_lanes; i++)
        explore_check(explore_queue_empty(&pool->lanes[i]));
    for (unsigned i = 0; i < pool->made.threads.v; i++) {
        wsqi_worker *worker = pool->table[i];
        explore_check(worker->lifo.v == NULL && explore_queue_empty(&worker->inbox));
        explore_check(wsqi_head_real(worker->ring.head.v) == worker->ring.tail.v);
    }
}

/* The threads of the scenario are waited for: from then on nobody else uses the pool. */
static inline void explore_pool_end(wsq_pool *pool) {
    for (int i = 1; i < explore.fibers; i++)
        if (!(explore_threads & EXPLORE_BIT(i))) explore_join_one(&explore.fiber[i]);
    wsq_pool_destroy(pool);
}

#endif /* EXPLORE_POOL_H */
