/* actors.h - the oracle's tasks, those with a script and those without a name; its waits, groups, futures, loops and runs. */
#ifndef ACTORS_H
#define ACTORS_H

#include "sparse.h"

enum { LIMIT_MS = 10000, STALLS = 3, BATCH = 512 };

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
    watched **then; /* which wsq_group_then spawns, and how many */
    unsigned thens;
} crowd;

/* A task without a name: of a group, a burst, a feed. */
typedef struct extra {
    watched w;
    how how;
    uint64_t ns;
    unsigned left;
    crowd *crowd;  /* NULL: none */
    actor *wakes;  /* NULL: none */
    const op *burst; /* which it spawns; NULL: none */
    wsq_timer timer; /* with HOW_TIMER it first pends until it is due */
    uint64_t due;
} extra;

static struct {
    const program *all;
    device *devices; /* as the next: */
    actor *actors; /* in the machine's memory: the scheduler hashes addresses of tasks */
    unsigned wakers, stalls_left, extras, inside;
    uint64_t stall_random, fail_random;
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

/* What was held may begin, or is about to be held and need not be. */
static void then_ready(watched *w) {
    if (w != NULL && w->state == WATCH_HELD) ready_enter(w, watch.last, FROM_EDGE);
}

/* Behind the call that spawns it when something is over. */
static void then_set(watched *w, bool over, wsq_result result) {
    watch_now();
    if (result == WSQ_ERR_CLOSED && pool_of(w->pool)->closing) watch_refused(w);
    else if (result != WSQ_OK) watch_fail("result", "a call for %s returned %d", w->name, (int)result);
    else if (w->state == WATCH_SPAWNING && over) ready_enter(w, watch.last, FROM_EDGE);
    else if (w->state == WATCH_SPAWNING) w->state = WATCH_HELD;
}

static void crowd_less(crowd *in) {
    if (in == NULL || --in->left != 0) return;
    waits_ready(&in->group);
    for (unsigned i = 0; i < in->thens; i++) then_ready(in->then[i]);
}

static void spawn_result(watched *w, crowd *in, wsq_result result) {
    if (result == WSQ_ERR_CANCELLED && in != NULL && in->cancelled) { /* a member's next */
        in->left--;
        watch_ended(w);
        return;
    }
    if (result == WSQ_ERR_CLOSED && pool_of(w->pool)->closing) {
        crowd_less(in);
        watch_refused(w);
        return;
    }
    if (result != WSQ_OK) watch_fail("result", "the spawn of %s returned %d", w->name, (int)result);
    watch_spawned(w);
}

static void spawn(watched *w, crowd *in) {
    w->plain = in == NULL && w->pin < 0 && w->priority == WSQ_NORMAL && w->after == NULL;
    watch_spawning(w);
    spawn_result(w, in, in != NULL ? wsq_group_spawn(&in->group, &w->task)
                                   : wsq_spawn(pool_of(w->pool)->pool, &w->task));
}

/* ---- tasks without a name ---- */

static wsq_poll extra_run(wsq_ctx ctx, wsq_task *task);

static wsq_poll extra_cleanup(wsq_task *task) {
    extra *self = wsq_container_of(task, extra, w.task);
    watch_cleaned(&self->w);
    crowd_less(self->crowd);
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

static void timer_start(watched *w, wsq_timer *timer, uint64_t ns) {
    uint32_t runs = w->runs;
    watch_timer_drop(w);
    uint64_t t = now();
    if (wsq_timer_set(pool_of(w->pool)->pool, timer, &w->task, ns) != WSQ_OK) sim_fail("no timer");
    watch_timer(w, ns, t, runs);
}

static void extras_spawn(const op *self, crowd *in);

static void block(wsq_ctx ctx, uint64_t ns) {
    frame_set(frame_top(), BLOCKS, watch_now());
    wsq_block_begin(ctx);
    nap(ns);
    wsq_block_end(ctx);
    frame_set(frame_top(), ACTIVE, watch_now());
}

static wsq_poll extra_run(wsq_ctx ctx, wsq_task *task) {
    extra *self = wsq_container_of(task, extra, w.task);
    watch_begin(wsq_worker_index(ctx), &self->w);
    uint64_t began = watch.last;
    if (self->how == HOW_TIMER && self->w.runs == 1) {
        timer_start(&self->w, &self->timer, self->due > began ? self->due - began : 0);
        return watch_return(&self->w, WSQ_PENDING, began);
    }
    if (self->how == HOW_BLOCKS) block(ctx, self->ns);
    else compute(self->ns);
    if (self->how == HOW_TIMER) /* it spawns while others of its burst are woken */
        spawn(&extra_make(self->w.pool, HOW_PLAIN, self->ns, NULL)->w, NULL);
    if (self->burst != NULL) extras_spawn(self->burst, NULL);
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
    crowd_less(self->crowd);
    return result;
}

static void extras_spawn(const op *self, crowd *in) {
    extra *all[BATCH];
    wsq_task *tasks[BATCH];
    unsigned batch = self->way & WAY_BATCH ? self->count - self->count / 8 : 0;
    uint64_t due = watch_now() + self->ns2;
    if (batch > BATCH) batch = BATCH;
    for (unsigned i = 0; i < self->count; i++) {
        bool brief = self->how == HOW_SUDDEN && i < self->count / 2;
        extra *one = extra_make(self->pool, (how)self->how, brief ? 300 : self->ns, in);
        one->left = self->how == HOW_PLAIN ? 0 : 5;
        one->due = due;
        one->w.priority = self->priority;
        wsq_task_set_priority(&one->w.task, (wsq_priority)self->priority);
        if (i >= batch) {
            spawn(&one->w, in);
            continue;
        }
        all[i] = one;
        tasks[i] = &one->w.task;
        one->w.plain = in == NULL && self->priority == WSQ_NORMAL;
        watch_spawning(&one->w);
        if (i + 1 != batch) continue;
        wsq_result result = in != NULL ? wsq_group_spawn_batch(&in->group, tasks, batch)
                                       : wsq_spawn_batch(pool_of(self->pool)->pool, tasks, batch);
        for (unsigned k = 0; k < batch; k++) spawn_result(&all[k]->w, in, result);
    }
}

/* HOW_NESTED: a task of its own spawns them. */
static void burst_op(const op *self) {
    if (self->how != HOW_NESTED) {
        extras_spawn(self, NULL);
        return;
    }
    extra *one = extra_make(self->pool, HOW_PLAIN, self->ns, NULL);
    one->burst = self;
    spawn(&one->w, NULL);
}

/* ---- waits ---- */

static bool spawned(const watched *w) { return w->state > WATCH_SPAWNING; }

static void node_wait(int k, uint64_t timeout_ns) {
    watched *w = &play.actors[k].w;
    if (!spawned(w)) return;
    w->awaited = w->awaited || timeout_ns == WSQ_FOREVER;
    waiting *wait = wait_begin(w, w->state == WATCH_DONE, w->pool, timeout_ns, w->name);
    wsq_result result = wsq_task_wait_for(&w->task, timeout_ns);
    wait_end(wait);
    if (result != WSQ_OK && !(result == WSQ_ERR_TIMEOUT && timeout_ns != WSQ_FOREVER) &&
        !(result == WSQ_ERR_CANCELLED && play.cancels))
        watch_fail("result", "the wait for %s returned %d", w->name, (int)result);
}

static void group_then(crowd *in, const op *o) {
    unsigned spawner = SIM_CORES + play.extras;
    in->then = (watched **)sim_allocate(o->count2 * sizeof *in->then);
    for (unsigned i = 0; i < o->count2; i++) {
        watched *next = in->then[i] = &extra_make(o->pool, HOW_PLAIN, o->ns, NULL)->w;
        watch_spawning(next);
        next->spawner = spawner;
        in->thens++;
        wsq_result result = wsq_group_then(&in->group, &next->task);
        next->plain = in->left != 0; /* else it may overtake older ones, which the end queues now */
        then_set(next, in->left == 0, result);
    }
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
    if ((self->way & WAY_THEN) != 0) group_then(own, self);
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
    wsq_future *future;
    bool dropped;
    watched *then; /* which wsq_future_then spawns; NULL: none */
} call;

static void *call_run(void *arg) {
    call *self = (call *)arg;
    watch_begin((unsigned)wsq_worker_self(), &self->w);
    uint64_t began = watch.last;
    compute(self->ns);
    watch_return(&self->w, WSQ_DONE, began);
    then_ready(self->then);
    if (self->dropped) pool_of(self->w.pool)->alive--;
    return NULL;
}

static call *call_make(unsigned pool, uint64_t ns) {
    call *one = (call *)sim_allocate(sizeof *one);
    watched_init(&one->w, NULL, pool, "a call");
    one->ns = ns;
    watch_spawning(&one->w);
    return one;
}

/* NULL: it was refused. */
static call *call_submit(unsigned n, uint64_t ns) {
    watch_pool *pool = pool_of(n);
    call *one = call_make(n, ns);
    wsq_result result = wsq_submit(pool->pool, call_run, one, &one->future);
    if (result == WSQ_ERR_CLOSED && pool->closing) {
        watch_refused(&one->w);
        return NULL;
    }
    if (result != WSQ_OK) watch_fail("result", "wsq_submit returned %d", (int)result);
    if (++pool->alive > pool->alive_most) pool->alive_most = pool->alive;
    watch_spawned(&one->w);
    return one;
}

/* It will not run any more. */
static void call_cancelled(call *one) {
    if (one->w.state == WATCH_READY) ready_leave(&one->w);
    if (one->w.state != WATCH_DONE) watch_ended(&one->w);
    then_ready(one->then);
}

/* False: the time was up. */
static bool call_get(call *one, uint64_t timeout) {
    watch_pool *pool = pool_of(one->w.pool);
    waiting *wait = wait_begin(&one->w, one->w.state == WATCH_DONE, one->w.pool, timeout, "a call");
    bool over = one->w.state == WATCH_DONE;
    wsq_result result = wsq_future_get_for(one->future, timeout, NULL);
    wait_end(wait);
    if (result == WSQ_ERR_TIMEOUT && timeout != WSQ_FOREVER) return false;
    pool->alive--;
    if (result == WSQ_ERR_CANCELLED && (pool->closing || over)) call_cancelled(one);
    else if (result != WSQ_OK) watch_fail("result", "wsq_future_get_for returned %d", (int)result);
    memory_look();
    return true;
}

static void future_op(const op *self) {
    for (unsigned i = 0; i < self->count; i++) {
        call *one = call_submit(self->pool, self->ns);
        if (one == NULL) return;
        (void)call_get(one, WSQ_FOREVER);
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
    watch.paused[sim.running->id] = true;
    watch_loop loop = {.next = watch.loops, .start = start, .ns = ns, .left = count, .pool = pool};
    watch.loops = &loop;
    wsq_for(ctx, 0, count, count % 2, loop_body, &loop); /* every second loop with a grain of 1 */
    watch_loop **link = &watch.loops;
    pool_of(pool)->idle_since = watch_now();
    while (*link != &loop) link = &(*link)->next;
    *link = loop.next;
}

static void fork_op(wsq_ctx ctx, unsigned pool, const op *o);

static void run_body(wsq_ctx ctx, void *arg) {
    const op *self = (const op *)arg;
    frame_push(self->pool, wsq_worker_index(ctx), NULL, true);
    if (self->kind == OP_RUN_WAIT) node_wait(self->node, WSQ_FOREVER);
    else if (self->kind == OP_FORK) fork_op(ctx, self->pool, self);
    else if (self->count == 0) compute(self->ns);
    else loop_run(ctx, self->pool, self->count, self->ns);
    frame_pop();
}

static void run_op(const op *self) {
    wsq_result result = wsq_run(pool_of(self->pool)->pool, run_body, (void *)(uintptr_t)self);
    if (result == WSQ_ERR_CLOSED && pool_of(self->pool)->closing) return;
    if (result != WSQ_OK) watch_fail("result", "wsq_run returned %d", (int)result);
}

#endif /* ACTORS_H */
