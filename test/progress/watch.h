/* watch.h - the oracle's record of a program: which task can run, which runs, which worker is idle, in virtual time.
 *
 * The program reports each spawn, wake, start, return and wait of its own; nothing is read from the
 * scheduler. From this follows, for each pool, how many of its workers run a function at any moment,
 * and which tasks could run. These are the rules, each a promise of the manual:
 *
 *   idle      a task that can run does not wait for longer than WATCH_NS beside an idle worker; or WATCH_SLOT_NS
 *   pinned    nor a pinned one beside an idle worker, if its own runs nothing, or waits in its pool
 *   starved   a task is not overtaken for ever by tasks that could run later than it
 *   urgent    a WSQ_HIGH one comes next on any worker that is between two tasks, also in a wait
 *   wait      a wait returns within WATCH_SLOT_NS of the end of what it waits for, or of its time-out
 *   loop      a worker is not idle for long beside a loop that has work to give away
 *   dismiss   a thread that was dismissed leaves within WATCH_NS, unless it runs a function
 *   driver    one thread at a time is in the driver's wait or dispatch
 *   most      no more tasks of a pool run at once than it has workers; not counted are pinned ones, tasks that have waited,
 *             blocked, joined or looped since they began (they go on without a permit), those on top of such, jobs, and guests
 *   order     with one worker, and not WSQ_LIFO, the tasks that one thread has spawned begin in the order of the spawns;
 *             not those with a priority, a pin, a predecessor or a group, nor what a wait may run early.
 *             The tasks after one group begin in the order of the calls
 *   memory    a pool's memory does not grow with the number of calls
 *   end       the program goes on, until it ends
 *
 * A thread that a stall has taken off its core holds everybody up: all clocks start anew behind it. From
 * a WSQ_CANCEL on, a pool promises that the shutdown returns within WATCH_SLOT_NS of its last function, and that
 * all waits for what is in the pool return after that; tasks that pend or are held stay as they are. */
#ifndef WATCH_H
#define WATCH_H

#include "record.h"

/* ---- the rules ---- */

static void timers_look(uint64_t t) {
    for (watched **link = &watch.timers; *link != NULL;) {
        watched *self = *link;
        if (self->due > t) {
            link = &self->next_timer;
            continue;
        }
        *link = self->next_timer;
        if (watch.pools[self->pool].closing) self->due = 0; /* perhaps nobody fires it any more */
        else if (self->state == WATCH_PENDS) ready_enter(self, self->due + 50 * US, FROM_TIMER);
        else if (self->state == WATCH_RUNS_NOW) self->woken = true;
        self->due = 0;
    }
}

/* Has every worker that could do something begun or ended something in the last 50 us? Then none is idle, although
 * at each moment one is between two tasks: it may wait for the lock of a lane. */
static bool pool_turns(const watch_pool *pool, uint64_t t) {
    unsigned count = 0;
    for (unsigned i = 0; i < WATCH_SLOTS; i++) count += pool->busy[i] != 0 || pool->changed[i] + 50 * US > t;
    return count >= pool_capacity(pool);
}

static void pool_look(watch_pool *pool, uint64_t t) {
    unsigned n = (unsigned)(pool - watch.pools);
    if (pool->closing) return;
    if (pool_idle(pool) > 0) {
        uint64_t from = latest(pool->idle_since, watch.stalled);
        const watched *oldest = pool->first;
        while (oldest != NULL && oldest->priority == WSQ_LOW) oldest = oldest->next;
        uint64_t most = oldest == NULL ? WATCH_LOW_NS : WATCH_NS; /* others may come all the time */
        if (oldest == NULL) oldest = pool->first;
        bool slot = oldest != NULL && (oldest->cause == FROM_WAKE || oldest->cause == FROM_EVENT || oldest->cancelled);
        if (pool->blocks > 8) slot = true; /* stand-ins start one after the other */
        if (slot && most < WATCH_SLOT_NS) most = WATCH_SLOT_NS;
        if (oldest != NULL && t > latest(from, oldest->since) + most && !pool_turns(pool, t))
            watch_fail(idle_rules[oldest->cause], "%s, %s, can run since %.3f ms; of pool %u %u of %u workers run "
                       "(at %.3f ms)", oldest->name, cause_names[oldest->cause], ms(oldest->since),
                       n, pool->running, pool_capacity(pool), ms(t));
    }
    for (const watch_loop *loop = watch.loops; loop != NULL && pool_room(pool) > 0; loop = loop->next)
        if (loop->pool == n && loop->left > 2 * pool->workers &&
            t > latest(latest(pool->room_since, watch.stalled), loop->start) + WATCH_NS + 8 * loop->ns)
            watch_fail("loop", "of a loop of pool %u %u pieces are left; %u more threads could help "
                       "(at %.3f ms)", n, loop->left, pool_room(pool), ms(t));
    if (watch.loops != NULL && joins_asleep(n) > 0) pool->joins_until = t;
    uint64_t stalled = latest(watch.stalled, pool->joins_until);
    uint64_t free = latest(stalled, pool->idle_since);
    for (const watched *one = pool->pinned_first; one != NULL; one = one->next) {
        unsigned slot = (unsigned)one->pin;
        bool all = !pool->lend_only || pool->lent == pool->workers;
        uint64_t most = one->cause == FROM_EVENT ? WATCH_SLOT_NS : WATCH_NS;
        if (pool->busy[slot] + pool->away[slot] == 0 && pool_idle(pool) > 0 && all &&
            t > latest(latest(one->since, pool->free_since[slot]), free) + most)
            watch_fail("pinned", "%s, pinned to worker %u of pool %u, can run since %.3f ms, and that "
                       "runs nothing (at %.3f ms)", one->name, slot, n, ms(one->since), ms(t));
    }
    for (unsigned i = 0; i < pool->workers && pool->lend_only; i++)
        if (pool->dismissed[i] != 0 && pool->inside[i] == 0 &&
            t > latest(latest(pool->dismissed[i], pool->free_since[i]), stalled) + WATCH_NS)
            watch_fail("dismiss", "worker %u was dismissed at %.3f ms, and its thread is still there "
                       "(at %.3f ms)", i, ms(pool->dismissed[i]), ms(t));
}

/* A lend_only pool without a thread: what is queued there waits for one. */
static bool no_thread_lent(const void *what) {
    for (unsigned i = 0; i < WATCH_POOLS; i++)
        if (watch.pools[i].pool == what && watch.pools[i].lend_only && watch.pools[i].lent == 0) return true;
    return false;
}

/* Is a function of the pool in the middle of its run, and does not wait for something of the pool? */
static bool pool_works(const watch_pool *pool) {
    for (unsigned i = 0; i < WATCH_SLOTS; i++)
        if (pool->busy[i] + pool->away[i] != 0) return true;
    return false;
}

/* Does something run on top of the wait that may? With a time-out only what is pinned, or if threads may lack. */
static bool wait_covered(const waiting *wait) {
    const frame *top = &watch.frames[wait->core][wait->depth];
    bool few = watch.pools[0].few || watch.pools[1].few;
    if (watch.depth[wait->core] <= wait->depth) return false;
    return few || wait->deadline >= UINT64_MAX - SECOND || top->task == NULL || top->task->pin >= 0;
}

static void waits_look(uint64_t t) {
    for (unsigned i = 0; i < WATCH_WAITS; i++) {
        waiting *wait = &watch.waits[i];
        if (!wait->used) continue;
        if (wait->ready == 0 && t > wait->deadline + 50 * US) wait->ready = wait->deadline + 50 * US;
        const watch_pool *pool = &watch.pools[wait->pool];
        if (pool->closing && !pool->closed && (wait->what != pool || pool_works(pool))) wait->held = t;
        if (wait_covered(wait) || no_thread_lent(wait->what)) wait->held = t;
        bool all = wait->what == pool || wait->what == pool->pool; /* perhaps a shutdown, which waits for hooks */
        if (all && pool->starting != 0) wait->held = t;
        for (const watch_loop *loop = watch.loops; loop != NULL; loop = loop->next)
            if (helps(loop, wait->core)) wait->held = t;
        if (wait->ready != 0 && t > latest(latest(wait->ready, wait->held), watch.stalled) + WATCH_SLOT_NS)
            watch_fail("wait", "a wait for %s could return at %.3f ms (at %.3f ms)", wait->name,
                       ms(wait->ready), ms(t));
    }
}

/* Every event begins so: all that came earlier has been seen. */
static uint64_t watch_now(void) {
    sim_turn();
    uint64_t t = now();
    if (t < watch.last) t = watch.last;
    timers_look(t);
    for (unsigned i = 0; i < WATCH_POOLS; i++) {
        watch_pool *pool = &watch.pools[i];
        if (pool->pool == NULL) continue;
        unsigned idle = pool_idle(pool);
        if (pool->first != NULL && idle > 0 && t > watch.stalled) {
            uint64_t from = latest(latest(watch.last, pool->first->since), watch.stalled);
            unsigned least = idle < pool->ready ? idle : pool->ready;
            if (t > from) watch_idle_ns[pool->first->cause] += (double)(t - from) * least;
        }
        pool_look(pool, t);
    }
    waits_look(t);
    watch.last = t;
    return t;
}

/* ---- how many run at once, and in which order they begin ---- */

/* A task has begun on a thread that was in no function. */
static void most_look(unsigned n) {
    const watch_pool *pool = &watch.pools[n];
    unsigned count = 0;
    for (unsigned i = 0; i < sim.threads; i++) {
        const frame *first = &watch.frames[i][0];
        count += watch.depth[i] > 0 && first->pool == n && first->task != NULL && first->task->pin < 0 && !watch.paused[i];
    }
    if (count > pool->workers)
        watch_fail("most", "%u tasks of pool %u run at once, on %u workers (at %.3f ms)", count, n, pool->workers,
                   ms(watch.last));
}

/* It begins its first run: has the same thread spawned an older one that has yet to begin? */
static void order_look(const watched *self) {
    const watch_pool *pool = &watch.pools[self->pool];
    if (!pool->in_order || pool->closing || !self->plain || self->awaited) return;
    for (const watched *one = pool->first; one != NULL && one != self; one = one->next)
        if (one->plain && one->runs == 0 && !one->cancelled && one->spawner == self->spawner)
            watch_fail("order", "%s begins before %s, which the same thread has spawned before it (at %.3f ms)",
                       self->name, one->name, ms(watch.last));
}

/* It begins: does each worker pass over one that is WSQ_HIGH? (One of 16 runs need not be. When a timer or event for
 * it will be seen is another question. For a while another thread may hold the lock of their lane.) */
static void urgent_look(const watched *self) {
    watch_pool *pool = &watch.pools[self->pool];
    const watched *one = pool->first;
    while (one != NULL && (one->priority != WSQ_HIGH || one->cancelled || one->cause == FROM_TIMER || one->cause == FROM_EVENT ||
                           one->since + 100 * US > watch.last))
        one = one->next;
    if (one == NULL || self->priority == WSQ_HIGH || watch.stalled != 0 || pool->closing) pool->passed = 0;
    else if (self->pin < 0 && watch.depth[sim.running->id] < 64) pool->passed++;
    if (pool->passed <= 1) pool->passed_since = watch.last;
    if (pool->passed > 4 * (pool->workers + 1) && watch.last > pool->passed_since + 50 * US)
        watch_fail("urgent", "%s, %s, can run since %.3f ms, and now %s is one of %u that come before it (at %.3f ms)",
                   one->name, cause_names[one->cause], ms(one->since), self->name, pool->passed, ms(watch.last));
}

/* ---- threads ---- */

/* A stand-in's hook begins or ends. */
static void starting_add(watch_pool *pool, int change) {
    uint64_t t = watch_now();
    unsigned before = pool_idle(pool), room = pool_room(pool);
    pool->starting += (unsigned)change;
    if (before == 0 && pool_idle(pool) > 0) pool->idle_since = t;
    if (room == 0 && pool_room(pool) > 0) pool->room_since = t;
}

static void running_add(watch_pool *pool, unsigned index, int change, uint64_t t) {
    unsigned before = pool_idle(pool), room = pool_room(pool);
    pool->running += (unsigned)change;
    pool->busy[index] += (unsigned)change;
    pool->changed[index] = t;
    if (before == 0 && pool_idle(pool) > 0) pool->idle_since = t;
    if (room == 0 && pool_room(pool) > 0) pool->room_since = t;
    if (pool->busy[index] + pool->away[index] == 0) pool->free_since[index] = t;
}

static void away_add(watch_pool *pool, unsigned index, int change, uint64_t t) {
    pool->away[index] += (unsigned)change;
    if (pool->busy[index] + pool->away[index] == 0) pool->free_since[index] = t;
}

static frame *frame_top(void) {
    unsigned id = sim.running->id;
    return watch.depth[id] > 0 ? &watch.frames[id][watch.depth[id] - 1] : NULL;
}

static bool waits(const frame *self) { return self->state == WAITS || self->state == WAITS_ABROAD; }

static void frame_set(frame *self, int state, uint64_t t) {
    watch_pool *pool = &watch.pools[self->pool];
    unsigned before = pool_idle(pool), room = pool_room(pool);
    if (self->state == ACTIVE) running_add(pool, self->index, -1, t);
    if ((self->state == BLOCKS || self->state == JOINS) && !self->guest) pool->blocks--;
    if (waits(self)) pool->waits--;
    if (self->state > WAITS) away_add(pool, self->index, -1, t);
    self->state = (__typeof__(self->state))state;
    if (self->state > WAITS) away_add(pool, self->index, 1, t);
    if ((self->state == BLOCKS || self->state == JOINS) && !self->guest) pool->blocks++;
    if (waits(self)) pool->waits++;
    if (self->state != ACTIVE && self->state != COVERED) watch.paused[sim.running->id] = true;
    if (self->state == ACTIVE) running_add(pool, self->index, 1, t);
    if (before == 0 && pool_idle(pool) > 0) pool->idle_since = t;
    if (room == 0 && pool_room(pool) > 0) pool->room_since = t;
}

static void frame_push(unsigned pool, unsigned index, watched *task, bool guest) {
    uint64_t t = watch_now();
    unsigned id = sim.running->id;
    frame *below = frame_top();
    if (below != NULL && below->state == ACTIVE && below->pool == pool) frame_set(below, COVERED, t);
    if (watch.depth[id] == WATCH_DEPTH) sim_fail("too deep");
    frame *self = &watch.frames[id][watch.depth[id]++];
    *self = (frame){.pool = (uint8_t)pool, .guest = guest, .state = COVERED, .task = task};
    self->index = index;
    if (index >= WATCH_SLOTS) sim_fail("too many slots");
    watch.pools[pool].inside[index]++;
    away_add(&watch.pools[pool], self->index, 1, t);
    frame_set(self, ACTIVE, t);
    tell("calls", task != NULL ? task->name : "a piece or run, as worker", index);
    if (watch.depth[id] == 1) watch.paused[id] = false;
    if (watch.depth[id] == 1 && task != NULL) most_look(pool);
}

static void frame_pop(void) {
    uint64_t t = watch_now();
    tell("returns from", frame_top()->task != NULL ? frame_top()->task->name : "a piece or run", 0);
    frame *self = frame_top();
    bool paused = watch.paused[sim.running->id];
    frame_set(self, ENDED, t);
    watch.paused[sim.running->id] = paused;
    watch.depth[sim.running->id]--;
    watch.pools[self->pool].inside[self->index]--;
    frame *below = frame_top();
    if (below != NULL && below->state == COVERED) frame_set(below, ACTIVE, t);
}

/* ---- tasks ---- */

static void watched_init(watched *self, wsq_task_fn fn, unsigned pool, const char *name) {
    memset(self, 0, sizeof *self);
    wsq_task_init(&self->task, fn);
    self->pool = (uint8_t)pool;
    self->pin = -1;
    snprintf(self->name, sizeof self->name, "%s", name);
}

static void watch_spawning(watched *self) {
    watch_pool *pool = &watch.pools[self->pool];
    watch_now();
    self->state = WATCH_SPAWNING;
    if (++pool->live > pool->live_most) pool->live_most = pool->live;
    tell("spawns", self->name, 0);
    self->spawner = sim.running->id;
    for (unsigned i = 0; i < WATCH_WAITS; i++) /* a wait for the pool waits for this one, too */
        if (watch.waits[i].what == pool->pool) watch.waits[i].ready = 0;
}

static cause cause_here(cause task, cause outside) {
    return frame_top() != NULL ? task : outside;
}

static void watch_spawned(watched *self) {
    uint64_t t = watch_now();
    if (self->state != WATCH_SPAWNING) return; /* it has begun already */
    if (self->after != NULL && self->after->state != WATCH_DONE) self->state = WATCH_HELD;
    else ready_enter(self, t, cause_here(FROM_TASK, FROM_OUTSIDE));
}

/* It pends again, if only its timer, which may be late, was to wake it. */
static void timer_undo(watched *self) {
    if (self->state != WATCH_READY || self->cause != FROM_TIMER) return;
    ready_leave(self);
    self->state = WATCH_PENDS;
}

/* Behind the wake, in front of which it had run so often. */
static void watch_woken(watched *self, uint32_t runs) {
    uint64_t t = watch_now();
    tell("woke", self->name, self->runs - runs);
    if (self->runs != runs) return;
    if (t < self->since) timer_undo(self); /* before its timer must have */
    else if (self->state == WATCH_READY && self->cause == FROM_TIMER) /* its timer may wait for a worker's turn */
        self->cause = (uint8_t)cause_here(FROM_WAKE, FROM_WAKE_OUTSIDE);
    if (self->state == WATCH_PENDS) ready_enter(self, t, cause_here(FROM_WAKE, FROM_WAKE_OUTSIDE));
    else if (self->state == WATCH_RUNS_NOW) self->woken = true;
}

/* Its timer, which may be late, is about to be set or cancelled. */
static void watch_timer_drop(watched *self) {
    timer_undo(self);
    self->due = 0;
    for (watched **link = &watch.timers; *link != NULL; link = &(*link)->next_timer) {
        if (*link != self) continue;
        *link = self->next_timer;
        break;
    }
}

/* Its timer is set: the call began at `t`, when it had run so often, and has returned. */
static void watch_timer(watched *self, uint64_t ns, uint64_t t, uint32_t runs) {
    uint64_t after = watch_now();
    if (self->runs != runs && after >= t + ns) return; /* it may have fired by now */
    self->due_first = t + ns;
    self->due = after + ns;
    self->next_timer = watch.timers;
    watch.timers = self;
}

/* An event for it lies in the driver. */
static void watch_event(watched *self) {
    uint64_t t = watch_now();
    tell("has an event for", self->name, 0);
    if (watch.pools[self->pool].closing) return;
    if (self->state == WATCH_PENDS) ready_enter(self, t, FROM_EVENT);
    else if (self->state == WATCH_RUNS_NOW) self->woken = true;
}

static void watch_begin(unsigned index, watched *self) {
    watch_now();
    urgent_look(self);
    if (self->state == WATCH_READY && self->runs == 0) order_look(self);
    frame_push(self->pool, index, self, false);
    bool fired = self->due != 0 && self->due_first <= watch.last;
    if (self->state == WATCH_READY) ready_leave(self);
    else if (self->state == WATCH_PENDS || self->state == WATCH_HELD || self->state == WATCH_SPAWNING)
        self->since = watch.last; /* the call that lets it run has not returned */
    else watch_fail("state", "%s runs in state %d", self->name, self->state);
    self->ran_since = self->since;
    self->state = WATCH_RUNS_NOW;
    if (fired) watch_timer_drop(self);
    self->runs++;
}

/* A run has ended: those that wait were overtaken by it, or it came before them. One starves that was
 * overtaken much longer than what came before it took. */
static void overtaken(watched *list, const watched *by, uint64_t ns, const watch_pool *pool,
                      unsigned worker) {
    if (pool->closing) return;
    for (watched *one = list; one != NULL; one = one->next) {
        bool low = one->priority == WSQ_LOW;
        uint32_t most = low ? WATCH_LOW_RUNS : WATCH_RUNS;
        uint64_t most_ns = (low ? 600 : 60) * MS * pool->workers;
        if (one->since >= by->ran_since) {
            one->older_ns += ns;
            one->older_runs++;
            continue;
        }
        if (by->pin >= 0 && by->pin != one->pin) continue; /* its worker's own turns */
        if (one->priority != WSQ_HIGH && by->priority == WSQ_HIGH) continue; /* every 16th is another */
        if (one->pin >= 0 && (pool->away[one->pin] != 0 || (unsigned)one->pin != worker)) continue;
        one->over_ns += ns;
        one->over_runs++;
        bool long_ago = watch.last > one->since + 20 * MS; /* not if each run takes no time */
        /* A WSQ_LOW one that is older may have had a 16th turn of its own. */
        if ((long_ago && one->over_runs > most + (low ? 16 * 256 : 3) * one->older_runs) ||
            (one->over_runs > WATCH_TURN_RUNS && one->over_ns > most_ns + 3 * one->older_ns))
            watch_fail("starved", "%s, %s, can run since %.3f ms; %u runs that could begin later, of "
                       "%.3f ms, have overtaken it (at %.3f ms)", one->name, cause_names[one->cause],
                       ms(one->since), one->over_runs, ms(one->over_ns), ms(watch.last));
    }
}

static void waits_ready(const void *what) {
    for (unsigned i = 0; i < WATCH_WAITS; i++) {
        waiting *wait = &watch.waits[i];
        if (wait->used && wait->what == what && wait->ready == 0) wait->ready = watch.last;
    }
}

static void edges_ready(const watched *done);

static void watch_ended(watched *self) {
    watch_pool *pool = &watch.pools[self->pool];
    self->state = WATCH_DONE;
    watch.progress = watch.last;
    if (--pool->live == 0) waits_ready(pool->pool);
    edges_ready(self);
    waits_ready(self);
}

/* Its pool is closed, and has refused it. */
static void watch_refused(watched *self) {
    watch_now();
    tell("is refused", self->name, 0);
    self->state = WATCH_NEW;
    self->refused = true;
    if (--watch.pools[self->pool].live == 0) waits_ready(watch.pools[self->pool].pool);
}

/* Around a WSQ_CANCEL. */
static void watch_closing(watch_pool *pool) {
    watch_now();
    pool->closing = true;
}

static void watch_closed(watch_pool *pool) {
    watch_now();
    pool->closed = true;
    for (unsigned i = 0; i < WATCH_WAITS; i++) {
        waiting *wait = &watch.waits[i];
        if (wait->used && &watch.pools[wait->pool] == pool && wait->ready == 0) wait->ready = watch.last;
    }
}

static wsq_poll watch_return(watched *self, wsq_poll result, uint64_t began) {
    unsigned worker = frame_top()->index;
    frame_pop();
    watch_pool *pool = &watch.pools[self->pool];
    uint64_t t = watch.last;
    if (pool->ordered && frame_top() == NULL) { /* on top of a wait runs what is waited for */
        overtaken(pool->first, self, t - began, pool, worker);
        overtaken(pool->pinned_first, self, t - began, pool, worker);
    }
    if (result == WSQ_YIELD) ready_enter(self, t, FROM_YIELD);
    else if (result == WSQ_PENDING && (self->woken || self->cancelled)) ready_enter(self, t, FROM_WAKE);
    else if (result == WSQ_PENDING) self->state = WATCH_PENDS;
    else watch_ended(self);
    return result;
}

/* Before wsq_task_cancel: it will not begin a run any more; one that pends is queued for its end. */
static void watch_cancelling(watched *self) {
    uint64_t t = watch_now();
    tell("cancels", self->name, 0);
    self->cancelled = true;
    if (self->state == WATCH_PENDS) ready_enter(self, t, cause_here(FROM_WAKE, FROM_WAKE_OUTSIDE));
}

/* Its cleanup was called instead of its function. */
static void watch_cleaned(watched *self) {
    watch_now();
    tell("cleans up", self->name, 0);
    if (self->state == WATCH_READY) ready_leave(self);
    watch_ended(self);
}

/* ---- waits ---- */

static waiting *wait_begin(const void *what, bool over, unsigned pool, uint64_t timeout_ns,
                           const char *name) {
    uint64_t t = watch_now();
    frame *top = frame_top();
    waiting *wait = watch.waits;
    while (wait->used) wait++;
    if (wait == watch.waits + WATCH_WAITS) sim_fail("too many waits");
    *wait = (waiting){.used = true, .core = sim.running->id, .depth = watch.depth[sim.running->id],
                      .pool = pool, .what = what, .began = t, .ready = over ? t : 0};
    wait->deadline = timeout_ns == WSQ_FOREVER ? UINT64_MAX - SECOND : t + timeout_ns;
    snprintf(wait->name, sizeof wait->name, "%s", name);
    tell("waits for", name, 0);
    if (top != NULL) frame_set(top, top->pool == pool ? WAITS : WAITS_ABROAD, t);
    return wait;
}

static void wait_end(waiting *wait) {
    wait->used = false; /* this return is in time: the last look was less than a look ago */
    uint64_t t = watch_now();
    tell("has waited for", wait->name, 0);
    if (frame_top() != NULL) frame_set(frame_top(), ACTIVE, t);
}

/* ---- memory ---- */

static void *watch_allocate(size_t size, size_t alignment, void *user) {
    char *p = (char *)sim_allocate(size + alignment);
    if (size < WSQ_BLOCK_SIZE) ((watch_pool *)user)->bytes += size;
    return p + (alignment - (uintptr_t)p % alignment) % alignment;
}

static void watch_release(void *memory, size_t size, void *user) {
    (void)memory;
    if (size < WSQ_BLOCK_SIZE) ((watch_pool *)user)->bytes -= size;
}

static void memory_look(void) {
    if (watch.stalled != 0) return; /* a thread that holds a lock meanwhile keeps the others from giving back */
    for (unsigned i = 0; i < WATCH_POOLS; i++) {
        watch_pool *pool = &watch.pools[i];
        if (pool->pool == NULL || pool->closing) continue;
        size_t most = 49152 + (8192 + pool->alive_most * 256) * (pool->workers + 2);
        most += pool->live_most * 256u; /* a future called in a wait leaves its entry among the tasks for a while */
        if (pool->bytes > pool->bytes_at_start + most)
            watch_fail("memory", "pool %u has grown by %zu bytes; at most %zu futures were alive", i,
                       pool->bytes - pool->bytes_at_start, pool->alive_most);
    }
}

/* Before each sleep a thread reads the clock, and sleeps for the rest of its time-out. So a stall of the waiting thread,
 * with no task on top, moves its deadline; and one of a thread that is about to sleep until a timer moves that. */
static void watch_stall(sim_core *core, uint64_t until) {
    uint64_t start = until - (until != 0 ? sim_stall.ns : 0), most = 0;
    for (const watched *one = watch.timers; until != 0 && one != NULL; one = one->next_timer)
        if (one->due > start + most) most = one->due - start;
    if (until + most > watch.stalled) watch.stalled = until + most;
    for (unsigned i = 0; until != 0 && i < WATCH_WAITS; i++) {
        waiting *wait = &watch.waits[i];
        if (!wait->used || wait->core != core->id || wait->depth != watch.depth[core->id]) continue;
        if (wait->deadline < UINT64_MAX - SECOND) wait->deadline += sim_stall.ns;
    }
}

static void program_stuck(void); /* looks in on everybody */

static void watch_main(void *arg) {
    (void)arg;
    for (;;) {
        nap(100 * US);
        watch_now();
        memory_look();
        if (watch.last > latest(watch.progress, watch.stalled) + WATCH_STUCK_NS) program_stuck();
    }
}

static void watch_begin_all(void) {
    memset(watch.depth, 0, sizeof watch.depth);
    memset(watch.waits, 0, sizeof watch.waits);
    memset(watch.pools, 0, sizeof watch.pools);
    watch.timers = NULL;
    watch.loops = NULL;
    watch.last = watch.stalled = watch.progress = 0;
    watch.failed = false;
    sim_stall.tell = watch_stall;
}

#endif /* WATCH_H */
