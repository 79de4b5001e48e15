/* execute.h - the oracle's programs at work: each operation, told to watch.h. */
#ifndef EXECUTE_H
#define EXECUTE_H

#include "program.h"

enum { LIMIT_MS = 10000, STALLS = 3 };

/* A task of the program. */
typedef struct actor {
    watched w;
    const node *script;
    int at;             /* its next operation */
    unsigned left;      /* of an operation that repeats: how often */
    bool armed, fulfilled;
    bool timed, driven;  /* it pends on its timer, on an event */
    bool setting, listed; /* a call on its timer is under way; an event of it lies in the driver */
    uint64_t due;
    wsq_timer timer;
    struct actor *next;  /* with an event in the same driver */
    wsq_edge edge;
} actor;

/* A driver of events, and of interrupts. */
typedef struct device {
    wsqi_a32 signal;        /* 1: its wait is to return */
    wsqi_parking parking;
    actor *first, **last;   /* those with an event */
    unsigned inside;        /* threads in wait or dispatch */
} device;

/* A group, and how many of its tasks are left. */
typedef struct crowd {
    wsq_group group;
    unsigned left;
    bool cancelled;
} crowd;

/* A task without a name: of a group, a burst, a feed. */
typedef struct extra {
    watched w;
    how how;
    uint64_t ns;
    unsigned left;
    crowd *crowd;  /* NULL: none */
    actor *wakes;  /* NULL: none */
} extra;

static struct {
    const program *all;
    device *devices; /* as the next: */
    actor *actors; /* in the machine's memory: the scheduler hashes addresses of tasks */
    unsigned wakers, stalls_left, extras, inside;
    uint64_t stall_random;
    bool cancels; /* a task was cancelled, and with it perhaps some that come after it */
    sim_core *lent[WATCH_POOLS * 8]; /* threads inside a pool, which leave when it is shut down */
} play;

static watch_pool *pool_of(unsigned n) { return &watch.pools[n]; }

static void edges_ready(const watched *done) {
    for (int i = 0; i < NODES; i++) {
        watched *w = &play.actors[i].w;
        if (w->after == done && w->state == WATCH_HELD) ready_enter(w, watch.last, FROM_EDGE);
    }
}

static void spawn(watched *w, crowd *in) {
    watch_spawning(w);
    wsq_result result = in != NULL ? wsq_group_spawn(&in->group, &w->task)
                                   : wsq_spawn(pool_of(w->pool)->pool, &w->task);
    if (result == WSQ_ERR_CANCELLED && in != NULL && in->cancelled) { /* a member's next */
        in->left--;
        watch_ended(w);
        return;
    }
    if (result == WSQ_ERR_CLOSED && pool_of(w->pool)->closing) {
        if (in != NULL && --in->left == 0) waits_ready(&in->group);
        watch_refused(w);
        return;
    }
    if (result != WSQ_OK) watch_fail("result", "the spawn of %s returned %d", w->name, (int)result);
    watch_spawned(w);
}

/* ---- tasks without a name ---- */

static wsq_poll extra_run(wsq_ctx ctx, wsq_task *task);

static wsq_poll extra_cleanup(wsq_task *task) {
    extra *self = wsq_container_of(task, extra, w.task);
    watch_cleaned(&self->w);
    if (self->crowd != NULL && --self->crowd->left == 0) waits_ready(&self->crowd->group);
    return WSQ_DONE;
}

static extra *extra_make(unsigned pool, how kind, uint64_t ns, crowd *in) {
    char name[12];
    extra *self = (extra *)sim_allocate(sizeof *self);
    snprintf(name, sizeof name, "x%u", play.extras++ % 1000000);
    watched_init(&self->w, extra_run, pool, name);
    wsq_task_set_cleanup(&self->w.task, extra_cleanup);
    self->how = kind;
    self->ns = ns;
    self->crowd = in;
    if (in != NULL) in->left++;
    return self;
}

static void wake(watched *self) {
    uint32_t runs = self->runs;
    wsq_wake(&self->task);
    watch_woken(self, runs);
}

static wsq_poll extra_run(wsq_ctx ctx, wsq_task *task) {
    extra *self = wsq_container_of(task, extra, w.task);
    watch_begin(wsq_worker_index(ctx), &self->w);
    uint64_t began = watch.last;
    compute(self->ns);
    if (self->how == HOW_YIELDS && self->left-- > 0) return watch_return(&self->w, WSQ_YIELD, began);
    if (self->how == HOW_RESPAWNS && self->left > 0) {
        extra *next = extra_make(self->w.pool, self->how, self->ns, self->crowd);
        next->left = self->left - 1;
        next->w.priority = self->w.priority;
        wsq_task_set_priority(&next->w.task, (wsq_priority)self->w.priority);
        spawn(&next->w, self->crowd);
    }
    if (self->wakes != NULL) {
        self->wakes->fulfilled = true;
        wake(&self->wakes->w);
        compute(3 * MS);
    }
    wsq_poll result = watch_return(&self->w, WSQ_DONE, began);
    if (self->crowd != NULL && --self->crowd->left == 0) waits_ready(&self->crowd->group);
    return result;
}

static void extras_spawn(const op *self, crowd *in) {
    for (unsigned i = 0; i < self->count; i++) {
        extra *one = extra_make(self->pool, (how)self->how, self->ns, in);
        one->left = self->how == HOW_PLAIN ? 0 : 5;
        one->w.priority = self->priority;
        wsq_task_set_priority(&one->w.task, (wsq_priority)self->priority);
        spawn(&one->w, in);
    }
}

/* ---- waits ---- */

static bool spawned(const watched *w) { return w->state > WATCH_SPAWNING; }

static void node_wait(int k, uint64_t timeout_ns) {
    watched *w = &play.actors[k].w;
    if (!spawned(w)) return;
    waiting *wait = wait_begin(w, w->state == WATCH_DONE, w->pool, timeout_ns, w->name);
    wsq_result result = wsq_task_wait_for(&w->task, timeout_ns);
    wait_end(wait);
    if (result != WSQ_OK && !(result == WSQ_ERR_TIMEOUT && timeout_ns != WSQ_FOREVER) &&
        !(result == WSQ_ERR_CANCELLED && play.cancels))
        watch_fail("result", "the wait for %s returned %d", w->name, (int)result);
}

static void group_op(const op *self) {
    crowd *own = (crowd *)sim_allocate(sizeof *own); /* it stays, should the wait time out */
    memset(own, 0, sizeof *own);
    wsq_group_init(&own->group, pool_of(self->pool)->pool);
    wsq_group *cancelled = &own->group;
    if (self->cancel == 2) {
        cancelled = (wsq_group *)sim_allocate(sizeof *cancelled);
        wsq_group_init(cancelled, pool_of(self->pool)->pool);
        if (wsq_group_set_parent(&own->group, cancelled) != WSQ_OK) sim_fail("no parent");
    }
    extras_spawn(self, own);
    own->cancelled = self->cancel != 0;
    if (own->cancelled) wsq_group_cancel(cancelled);
    uint64_t timeout = self->ns2 != 0 ? self->ns2 : WSQ_FOREVER;
    waiting *wait = wait_begin(&own->group, own->left == 0, self->pool, timeout, "a group");
    wsq_result result = wsq_group_wait_for(&own->group, timeout);
    wait_end(wait);
    bool closing = pool_of(self->pool)->closing;
    if (result != (self->cancel != 0 ? WSQ_ERR_CANCELLED : WSQ_OK) &&
        !(result == WSQ_ERR_CANCELLED && closing) && !(result == WSQ_ERR_TIMEOUT && self->ns2 != 0))
        watch_fail("result", "the wait for a group returned %d", (int)result);
}

/* ---- futures ---- */

typedef struct call {
    watched w;
    uint64_t ns;
} call;

static void *call_run(void *arg) {
    call *self = (call *)arg;
    watch_begin((unsigned)wsq_worker_self(), &self->w);
    uint64_t began = watch.last;
    compute(self->ns);
    watch_return(&self->w, WSQ_DONE, began);
    return NULL;
}

static void future_op(const op *self) {
    watch_pool *pool = pool_of(self->pool);
    for (unsigned i = 0; i < self->count; i++) {
        call *one = (call *)sim_allocate(sizeof *one);
        wsq_future *future = NULL;
        watched_init(&one->w, NULL, self->pool, "a call");
        one->ns = self->ns;
        watch_spawning(&one->w);
        wsq_result result = wsq_submit(pool->pool, call_run, one, &future);
        if (result == WSQ_ERR_CLOSED && pool->closing) {
            watch_refused(&one->w);
            return;
        }
        if (result != WSQ_OK) watch_fail("result", "wsq_submit returned %d", (int)result);
        if (++pool->alive > pool->alive_most) pool->alive_most = pool->alive;
        watch_spawned(&one->w);
        waiting *wait = wait_begin(&one->w, one->w.state == WATCH_DONE, self->pool, WSQ_FOREVER, "a call");
        result = wsq_future_get(future, NULL);
        wait_end(wait);
        pool->alive--;
        if (result == WSQ_ERR_CANCELLED && pool->closing) {
            if (one->w.state == WATCH_READY) ready_leave(&one->w);
            watch_ended(&one->w);
        } else if (result != WSQ_OK) watch_fail("result", "wsq_future_get returned %d", (int)result);
        memory_look();
    }
}

/* ---- loops and runs ---- */

static void loop_body(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    watch_loop *loop = (watch_loop *)arg;
    frame *top = frame_top();
    bool thief = top == NULL || top->state != ACTIVE;
    if (thief) frame_push(loop->pool, wsq_worker_index(ctx), NULL, false);
    else watch_now();
    loop->left -= (unsigned)(end - begin);
    loop->helpers[sim.running->id / 64] |= (uint64_t)1 << (sim.running->id % 64);
    compute(loop->ns * (end - begin));
    if (thief) frame_pop();
    else watch_now();
}

static void loop_run(wsq_ctx ctx, unsigned pool, unsigned count, uint64_t ns) {
    uint64_t start = watch_now(); /* others may run meanwhile */
    watch_loop loop = {.next = watch.loops, .start = start, .ns = ns, .left = count, .pool = pool};
    watch.loops = &loop;
    wsq_for(ctx, 0, count, count % 2, loop_body, &loop); /* every second loop with a grain of 1 */
    watch_loop **link = &watch.loops;
    pool_of(pool)->idle_since = watch_now();
    while (*link != &loop) link = &(*link)->next;
    *link = loop.next;
}

static void run_body(wsq_ctx ctx, void *arg) {
    const op *self = (const op *)arg;
    frame_push(self->pool, wsq_worker_index(ctx), NULL, true);
    if (self->kind == OP_RUN_WAIT) node_wait(self->node, WSQ_FOREVER);
    else if (self->count == 0) compute(self->ns);
    else loop_run(ctx, self->pool, self->count, self->ns);
    frame_pop();
}

static void run_op(const op *self) {
    wsq_result result = wsq_run(pool_of(self->pool)->pool, run_body, (void *)(uintptr_t)self);
    if (result == WSQ_ERR_CLOSED && pool_of(self->pool)->closing) return;
    if (result != WSQ_OK) watch_fail("result", "wsq_run returned %d", (int)result);
}

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

static void device_dispatch(wsq_pool *pool, void *user) {
    device *self = (device *)user;
    (void)pool;
    device_enter(self);
    while (self->first != NULL) {
        actor *one = self->first;
        self->first = one->next;
        one->listed = false;
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
    uint32_t runs = self->w.runs;
    self->setting = true;
    self->due = now() + ns;
    watch_timer_drop(&self->w);
    uint64_t t = now();
    if (wsq_timer_set(pool_of(self->w.pool)->pool, &self->timer, &self->w.task, ns) != WSQ_OK) sim_fail("no timer");
    watch_timer(&self->w, ns, t, runs);
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

static void op_do(wsq_ctx ctx, const op *o, actor *by) {
    switch (o->kind) {
    case OP_COMPUTE: compute(o->ns); break;
    case OP_SPAWN: node_spawn(o->node);
        if (o->ns != 0) nap(o->ns);
        break;
    case OP_WAIT: node_wait(o->node, o->ns != 0 ? o->ns : WSQ_FOREVER); break;
    case OP_FUTURE: future_op(o); break;
    case OP_RUN: case OP_RUN_WAIT: run_op(o); break;
    case OP_GROUP: group_op(o); break;
    case OP_BURST: extras_spawn(o, NULL); break;
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
    case OP_SPIN: wsq_pool_set_spin(pool_of(o->pool)->pool, o->ns == 1 ? WSQ_SPIN_OFF : o->ns); break;
    case OP_LOOP: loop_run(ctx, by->w.pool, o->count, o->ns); break;
    case OP_BLOCK:
        frame_set(frame_top(), BLOCKS, watch_now());
        wsq_block_begin(ctx);
        nap(o->ns);
        wsq_block_end(ctx);
        frame_set(frame_top(), ACTIVE, watch_now());
        break;
    case OP_NAP: nap(o->ns); break;
    case OP_FEED: for (unsigned i = 0; i < o->count; i++) {
            nap(o->ns2);
            spawn(&extra_make(o->pool, HOW_PLAIN, o->ns, NULL)->w, NULL);
        }
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

static void pools_make(void) {
    for (unsigned i = 0; i < play.all->pools; i++) {
        watch_pool *pool = pool_of(i);
        wsq_config config = play.all->configs[i];
        wsq_allocator allocator = {watch_allocate, watch_release, pool};
        config.allocator = &allocator;
        wsq_driver driver = {device_wait, device_dispatch, device_interrupt, &play.devices[i]};
        if (play.all->driven[i]) config.driver = &driver;
        pool->workers = config.workers;
        pool->threads = config.caller_runs ? 1 : config.workers;
        pool->few = few_threads(&config);
        pool->ordered = config.order != WSQ_LIFO;
        pool->lend_only = config.lend_only;
        wsq_pool *made = NULL;
        if (wsq_pool_create(&made, &config) != WSQ_OK) sim_fail("no pool");
        pool->pool = made;
        for (unsigned k = 0; config.lend_only && k < config.workers; k++, pool->lent++)
            play.lent[play.inside++] = outside(lent_main, pool);
        if (config.caller_runs) play.lent[play.inside++] = outside(pump_main, pool);
    }
    nap(MS);
    for (unsigned i = 0; i < play.all->pools; i++) {
        watch_pool *pool = pool_of(i);
        pool->bytes_at_start = pool->bytes;
        pool->idle_since = pool->room_since = now();
    }
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
    pools_make();
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
