/* execute.h - the oracle's programs at work: each operation, told to watch.h. */
#ifndef EXECUTE_H
#define EXECUTE_H

#include "calls.h"

/* ---- tasks with a script ---- */

/* ---- a driver ---- */

static void device_enter(device *self) {
    if (self->inside++ != 0) watch_fail("driver", "two threads are in the driver");
}

static void device_call(device *self) {
    self->signal.v = 1;
    wsqi_parking_wake(&self->parking, &self->signal, true);
}

static bool device_wait(uint64_t timeout_ns, void *user) {
    device *self = (device *)user;
    device_enter(self);
    if (timeout_ns == 0) sim_kernel(sim.price.wait_call);
    else wsqi_parking_wait(&self->parking, &self->signal, 0, timeout_ns == WSQ_FOREVER ? 0 : timeout_ns);
    self->signal.v = 0;
    self->inside--;
    return self->first != NULL;
}

/* The event of a task that pends may bring others. */
static void device_spawn(const actor *one) {
    if (one->at == OPS || one->w.state == WATCH_DONE) return;
    const op *o = &one->script->ops[one->at];
    op burst = {.pool = o->pool, .count = o->count, .ns = o->ns2, .way = o->way};
    if ((o->way & WAY_THEN) != 0) burst.how = HOW_RESPAWNS;
    if (o->kind == OP_PEND) extras_spawn(&burst, NULL);
}

static void device_dispatch(wsq_pool *pool, void *user) {
    device *self = (device *)user;
    (void)pool;
    device_enter(self);
    while (self->first != NULL) {
        actor *one = self->first;
        self->first = one->next;
        one->listed = false;
        device_spawn(one);
        wake(&one->w);
    }
    self->inside--;
}

static void device_interrupt(void *user) { device_call((device *)user); }

static void device_post(device *self, actor *one) {
    watch_event(&one->w);
    if (one->listed) return;
    one->listed = true;
    one->next = NULL;
    if (self->first == NULL) self->first = one;
    else *self->last = one;
    self->last = &one->next;
    device_call(self);
}

/* ---- what a task pends on ---- */

static void waker_main(void *arg) {
    actor *self = (actor *)arg;
    if (self->due > now()) nap(self->due - now());
    self->fulfilled = true;
    if (self->driven) device_post(&play.devices[self->w.pool], self);
    else wake(&self->w);
    play.wakers--;
}

static void timer_set(actor *self, uint64_t ns) {
    self->setting = true;
    self->due = now() + ns;
    timer_start(&self->w, &self->timer, ns);
    self->setting = false;
}

static void timer_again(actor *self, uint64_t ns) {
    watch_now();
    if (self->armed && self->timed && !self->setting) timer_set(self, ns);
}

static void timer_stop(actor *self) {
    watch_now();
    if (!self->armed || !self->timed || self->setting) return;
    uint32_t runs = self->w.runs;
    self->setting = true;
    watch_timer_drop(&self->w);
    bool set = wsq_timer_cancel(&self->timer);
    self->setting = false;
    if (set) self->fulfilled = true;
    if (set) wake(&self->w);
    else watch_woken(&self->w, runs); /* by the timer */
}

/* What brings the wake that it returns WSQ_PENDING for. */
static void pend_arm(actor *self, const op *o) {
    self->armed = true;
    self->fulfilled = false;
    self->timed = o->how == HOW_TIMER && !self->setting;
    self->driven = o->how == HOW_EVENT;
    self->due = watch_now() + o->ns;
    if (self->timed) {
        timer_set(self, o->ns);
    } else if (o->how == HOW_HELPER) {
        extra *helper = extra_make(self->w.pool, HOW_PLAIN, o->ns, NULL);
        helper->wakes = self;
        spawn(&helper->w, NULL);
    } else {
        play.wakers++;
        outside(waker_main, self);
    }
}

static void node_spawn(int k);

static void quiet_op(const op *self) {
    watch_pool *pool = pool_of(self->pool);
    uint64_t timeout = self->ns != 0 ? self->ns : WSQ_FOREVER;
    waiting *wait = wait_begin(pool->pool, pool->live == 0, self->pool, timeout, "a pool");
    wsq_result result = wsq_pool_wait_for(pool->pool, timeout);
    wait_end(wait);
    if (result != WSQ_OK && !(result == WSQ_ERR_TIMEOUT && self->ns != 0) &&
        !(result == WSQ_ERR_CANCELLED && pool->closing))
        watch_fail("result", "wsq_pool_wait_for returned %d", (int)result);
}

static void close_op(const op *self) {
    watch_pool *pool = pool_of(self->pool);
    play.cancels = true;
    watch_closing(pool);
    waiting *wait = wait_begin(pool, true, self->pool, WSQ_FOREVER, "a shutdown");
    if (wsq_pool_shutdown(pool->pool, WSQ_CANCEL) != WSQ_OK) watch_fail("result", "a shutdown failed");
    wait_end(wait);
    watch_closed(pool);
}

static void op_plain(wsq_ctx ctx, const op *o, actor *by) {
    switch (o->kind) {
    case OP_COMPUTE: compute(o->ns); break;
    case OP_SPAWN: node_spawn(o->node);
        if (o->ns != 0) nap(o->ns);
        break;
    case OP_WAIT: node_wait(o->node, o->ns != 0 ? o->ns : WSQ_FOREVER); break;
    case OP_FUTURE: future_op(o); break;
    case OP_RUN: case OP_RUN_WAIT: run_op(o); break;
    case OP_GROUP: group_op(o); break;
    case OP_BURST: burst_op(o); break;
    case OP_WAKE: if (spawned(&play.actors[o->node].w)) wake(&play.actors[o->node].w);
        break;
    case OP_CANCEL: {
        watched *w = &play.actors[o->node].w;
        if (!spawned(w) || w->state == WATCH_DONE) break;
        play.cancels = true;
        watch_cancelling(w);
        (void)wsq_task_cancel(&w->task);
        break;
    }
    case OP_AGAIN: timer_again(&play.actors[o->node], o->ns); break;
    case OP_STOP: timer_stop(&play.actors[o->node]); break;
    case OP_QUIET: quiet_op(o); break;
    case OP_CLOSE: close_op(o); break;
    case OP_SPIN:
        pool_of(o->pool)->joins = true;
        wsq_pool_set_spin(pool_of(o->pool)->pool, o->ns == 1 ? WSQ_SPIN_OFF : o->ns); break;
    case OP_LOOP: loop_run(ctx, by->w.pool, o->count, o->ns); break;
    case OP_BLOCK:
        block(ctx, o->ns);
        break;
    case OP_CALLS: calls_op(o); break;
    case OP_GRAPH: graph_op(o); break;
    case OP_FORK: if (by != NULL) fork_op(ctx, by->w.pool, o);
        else run_op(o);
        break;
    case OP_NAP: nap(o->ns); break;
    case OP_FEED: for (unsigned i = 0; i < o->count; i++) {
            nap(o->ns2);
            spawn(&extra_make(o->pool, HOW_PLAIN, o->ns, NULL)->w, NULL);
        }
        break;
    case OP_PUMP:
        for (unsigned i = 0; i < o->count && wsq_pool_run_one(pool_of(o->pool)->pool); i++)
            watch.progress = watch_now();
        break;
    case OP_DISMISS: {
        watch_pool *pool = pool_of(o->pool);
        watch_now();
        if (pool->lent != pool->workers || pool->closing) break;
        pool->lent--;
        pool->dismissed[o->node] = watch.last;
        wsq_worker_dismiss(pool->pool, o->node);
        break;
    }
    default: break;
    }
}

/* With a stall of the calling thread at one of its accesses, unless another thread has one ahead. */
static void op_do(wsq_ctx ctx, const op *o, actor *by) {
    bool stalls = o->stall != 0 && sim_stall.only == 0;
    if (stalls) {
        sim_stall.only = sim.running->id + 1;
        sim_stall.left = o->stall;
        sim_stall.ns = 3 * MS;
    }
    op_plain(ctx, o, by);
    if (stalls) sim_stall.only = 0;
    if (stalls) sim_stall.left = 0;
}

/* WSQ_DONE: the operation is over. */
static wsq_poll op_step(wsq_ctx ctx, const op *o, actor *self) {
    switch (o->kind) {
    case OP_YIELD:
        if (self->left == 0) self->left = o->count + 1u;
        if (--self->left == 0) return WSQ_DONE;
        compute(o->ns);
        return WSQ_YIELD;
    case OP_UNTIL: {
        const watched *w = &play.actors[o->node].w;
        watch_now();
        if (!spawned(w) || w->state == WATCH_DONE || pool_of(w->pool)->closed) return WSQ_DONE;
        compute(o->ns);
        return WSQ_YIELD;
    }
    case OP_PEND:
        if (!self->armed) pend_arm(self, o);
        else if (self->fulfilled || (self->timed && now() >= self->due)) {
            self->armed = false;
            return WSQ_DONE;
        }
        return WSQ_PENDING;
    default: op_do(ctx, o, self); return WSQ_DONE;
    }
}

static wsq_poll actor_run(wsq_ctx ctx, wsq_task *task) {
    actor *self = wsq_container_of(task, actor, w.task);
    watch_begin(wsq_worker_index(ctx), &self->w);
    uint64_t began = watch.last;
    for (; self->at < OPS; self->at++) {
        wsq_poll result = op_step(ctx, &self->script->ops[self->at], self);
        if (result != WSQ_DONE) return watch_return(&self->w, result, began);
        watch.progress = watch.last;
    }
    return watch_return(&self->w, WSQ_DONE, began);
}

static wsq_poll actor_cleanup(wsq_task *task) {
    watch_cleaned(&wsq_container_of(task, actor, w.task)->w);
    return WSQ_DONE;
}

static void node_spawn(int k) {
    actor *self = &play.actors[k];
    const node *script = &play.all->nodes[k];
    if (self->w.state != WATCH_NEW || self->w.refused) return;
    if (script->pin >= 0 && (unsigned)script->pin < pool_of(script->pool)->workers) {
        self->w.pin = script->pin;
        wsq_task_set_worker(&self->w.task, (unsigned)script->pin);
    }
    if (self->w.pin < 0) {
        self->w.priority = script->priority;
        wsq_task_set_priority(&self->w.task, (wsq_priority)script->priority);
    }
    if (script->after >= 0 && node_spawned(play.all, script->after)) {
        self->w.after = &play.actors[script->after].w;
        if (wsq_task_after(&self->w.task, &play.actors[script->after].w.task, &self->edge) != WSQ_OK)
            sim_fail("no edge");
    }
    spawn(&self->w, NULL);
}

/* ---- threads ---- */

static void thread_ops(const op *ops) {
    for (int i = 0; i < THREAD_OPS; i++) {
        op_do(NULL, &ops[i], NULL);
        watch.progress = watch_now();
    }
}

static void thread_main(void *arg) { thread_ops((const op *)arg); }

static bool play_over;

static void pump_main(void *arg) {
    while (!play_over) {
        wsq_pool_wait(((watch_pool *)arg)->pool);
        nap(100 * US);
    }
}

static void lent_main(void *arg) {
    watch_pool *pool = (watch_pool *)arg;
    while (wsq_worker_enter(pool->pool) == WSQ_OK) {
        uint64_t t = watch_now();
        memset(pool->dismissed, 0, sizeof pool->dismissed);
        nap(2 * MS);
        t = watch_now();
        pool->lent++;
        pool->idle_since = pool->room_since = t;
        for (unsigned i = 0; i < WATCH_SLOTS; i++) pool->free_since[i] = t;
    }
}

static void stall_next(sim_core *core, uint64_t until) {
    watch_stall(core, until);
    if (play.stalls_left == 0) return;
    play.stalls_left--;
    sim_stall.left = 1 + below(&play.stall_random, 3000);
    sim_stall.ns = 200 * US << below(&play.stall_random, 7);
}

/* ---- a program ---- */

static void standin_starts(void *user, wsq_event event, unsigned worker, const void *subject, uint64_t value) {
    watch_pool *pool = (watch_pool *)user;
    (void)event, (void)subject, (void)value;
    if (worker < pool->workers) return;
    starting_add(pool, 1);
    compute(play.all->slow_ns[pool - watch.pools]);
    starting_add(pool, -1);
}

static void pools_make(void) {
    for (unsigned i = 0; i < play.all->pools; i++) {
        watch_pool *pool = pool_of(i);
        wsq_config config = play.all->configs[i];
        wsq_allocator allocator = {watch_allocate, watch_release, pool};
        config.allocator = &allocator;
        wsq_driver driver = {device_wait, device_dispatch, device_interrupt, &play.devices[i]};
        wsq_hooks hooks = {.event = standin_starts, .user = pool, .events = 1u << WSQ_EVENT_START};
        if (play.all->driven[i]) config.driver = &driver;
        if (play.all->slow_ns[i] != 0) config.hooks = &hooks;
        pool->workers = config.workers;
        pool->threads = config.caller_runs ? !play.all->alone : config.workers;
        pool->few = few_threads(&config) || play.all->fails[i] != 0;
        pool->joins = pool->few || (config.spin_ns != 0 && config.spin_ns != WSQ_SPIN_OFF);
        pool->ordered = config.order != WSQ_LIFO;
        pool->in_order = pool->ordered && config.workers == 1;
        pool->lend_only = config.lend_only;
        wsq_pool *made = NULL;
        if (wsq_pool_create(&made, &config) != WSQ_OK) sim_fail("no pool");
        pool->pool = made;
        for (unsigned k = 0; config.lend_only && k < config.workers; k++, pool->lent++)
            play.lent[play.inside++] = outside(lent_main, pool);
        if (config.caller_runs && !play.all->alone)
            play.lent[play.inside++] = outside(pump_main, pool);
    }
    nap(MS);
    for (unsigned i = 0; i < play.all->pools; i++) {
        watch_pool *pool = pool_of(i);
        pool->bytes_at_start = pool->bytes;
        pool->idle_since = pool->room_since = now();
    }
}

static bool standin_fails(const void *block) {
    const wsqi_worker *self = (const wsqi_worker *)block;
    unsigned i = 0;
    while (i < play.all->pools && pool_of(i)->pool != self->pool) i++;
    return i < play.all->pools && below(&play.fail_random, 8) < play.all->fails[i];
}

static void play_main(void) {
    const program *all = play.all;
    sim_core *cores[THREADS];
    watch_begin_all();
    play.actors = (actor *)sim_allocate(NODES * sizeof *play.actors); /* zeroed */
    play.devices = (device *)sim_allocate(WATCH_POOLS * sizeof *play.devices);
    for (int i = 0; i < NODES; i++) {
        char name[12];
        snprintf(name, sizeof name, "t%d", i);
        watched_init(&play.actors[i].w, actor_run, all->nodes[i].pool, name);
        wsq_task_set_cleanup(&play.actors[i].w.task, actor_cleanup);
        play.actors[i].script = &all->nodes[i];
    }
    sim_start_fails = NULL;
    if (all->on_time) sim.price.timer_latency = 0;
    pools_make();
    play.fail_random = all->seed;
    sim_start_fails = standin_fails;
    play.stall_random = all->stall_seed;
    play.stalls_left = all->stall_seed != 0 ? STALLS : 0;
    outside(watch_main, NULL);
    sim_stall.tell = stall_next;
    if (play.stalls_left > 0) stall_next(sim.running, 0);
    for (unsigned i = 1; i < all->threads; i++)
        cores[i] = outside(thread_main, (void *)(uintptr_t)all->thread[i]);
    thread_ops(all->thread[0]);
    for (unsigned i = 1; i < all->threads; i++) sim_join(cores[i]);
    /* A task of one pool may spawn into the other, so each is waited for once more after a moment at
     * which nothing was alive in either. */
    for (bool still = false; !still;) {
        still = true;
        for (unsigned i = 0; i < all->pools; i++) still = still && (pool_of(i)->live == 0 || pool_of(i)->closed);
        for (unsigned i = 0; i < all->pools; i++) {
            watch_pool *pool = pool_of(i);
            waiting *wait = wait_begin(pool->pool, pool->live == 0, i, WSQ_FOREVER, "a pool");
            wsq_result result = all->drains && !play_over ? wsq_pool_shutdown(pool->pool, WSQ_DRAIN)
                                                          : wsq_pool_wait(pool->pool);
            play_over = play_over || all->drains;
            wait_end(wait);
            if (result != WSQ_OK && !(result == WSQ_ERR_CANCELLED && pool->closed))
                watch_fail("result", "wsq_pool_wait returned %d", (int)result);
        }
    }
    memory_look();
    for (int i = 0; i < NODES; i++) {
        watched *w = &play.actors[i].w;
        bool stays = w->state == WATCH_PENDS || w->state == WATCH_HELD || w->cause == FROM_TIMER || w->cause == FROM_EVENT ||
                     (w->cause == FROM_WAKE_OUTSIDE && play.wakers != 0); /* whose thread has yet to queue it */
        if (stays && pool_of(w->pool)->closed) continue;
        if (spawned(w) && w->state != WATCH_DONE) watch_fail("end", "the pools are done, and %s is not", w->name);
    }
    play_over = true;
    while (play.wakers != 0) nap(100 * US);
    for (unsigned i = 0; i < all->pools && !watch.failed; i++) {
        const char *wrong = pool_wrong(pool_of(i)->pool);
        if (wrong != NULL) watch_fail("rest", "%s", wrong);
    }
    for (unsigned i = 0; i < all->pools && !watch.failed; i++)
        if (!all->drains && wsq_pool_shutdown(pool_of(i)->pool, WSQ_DRAIN) != WSQ_OK) watch_fail("result", "a shutdown failed");
    for (unsigned i = 0; i < play.inside; i++) sim_join(play.lent[i]);
    for (unsigned i = 0; i < all->pools; i++) wsq_pool_destroy(pool_of(i)->pool);
}

static void program_stuck(void) {
    char left[120] = "";
    for (int i = 0; i < NODES; i++) {
        const watched *w = &play.actors[i].w;
        if (spawned(w) && w->state != WATCH_DONE) strcat(strcat(left, " "), w->name);
    }
    watch_fail("end", "nothing has ended since %.3f ms; left are%s", ms(watch.progress),
               left[0] != '\0' ? left : " the pools");
}

/* True: every rule holds. Else watch.rule and watch.why say which one does not. */
static bool program_holds(const program *all) {
    play.all = all;
    play.extras = play.inside = play.wakers = 0;
    play.cancels = false;
    play_over = false;
    sim_stall.left = 0;
    sim_stall.only = 0;
    sim_stall.tell = NULL;
    watch.failed = false;
    bool ended = world_run(play_main, LIMIT_MS * MS);
    sim_stall.left = 0;
    if (ended && !watch.failed) return true;
    if (watch.failed) return false;
    snprintf(watch.rule, sizeof watch.rule, "end");
    snprintf(watch.why, sizeof watch.why, "not done after %u ms", (unsigned)LIMIT_MS);
    return false;
}

#endif /* EXECUTE_H */
