/* wsq.h - version 3.0.0 - a work-stealing scheduler: fair tasks and fork-join, in one C file
 *
 * Do this in ONE C or C++ file:
 *
 *     #define WSQ_IMPLEMENTATION
 *     #include "wsq.h"
 *
 * and include "wsq.h" wherever else you need it. Link with -pthread. There is nothing to build.
 *
 * CONTENTS (search for the tag)
 *     >>what      what it is, and when not to use it
 *     >>program   a complete program
 *     >>concepts  pools, tasks, jobs, and how work finds a core
 *     >>words     what the terms mean
 *     >>calls     who may call what
 *     >>guide     the interface by topic
 *     >>macros    configuration at compile time
 *     >>errors    results
 *     >>answers   how do I ...? questions in the users' words
 *     >>host      exceptions, signals, thread-local variables, exit()
 *     >>trouble   all work is on one worker; nothing moves
 *     >>from      coming from oneTBB, Tokio, Go, libuv
 *     >>platforms where it runs
 *     >>changes   changelog
 *     >>config >>vocabulary >>types >>api >>inline                           declarations
 *     >>terms >>pairs >>atomic >>random >>ring >>platform >>deque >>shared   implementation
 *     >>lane >>tune >>waiters >>quiet >>idle >>block >>sleep >>queue >>task >>group >>timer
 *     >>after >>spawn >>graph >>cancel >>run >>jobs >>find >>pump >>thread >>wait >>await
 *     >>future >>join >>guest >>parallel >>dump >>stop >>pool >>licence
 *
 * --------------------------------------------------------------------------
 * >>what
 *
 * wsq is a pool of threads that keeps every core busy with small pieces of work. It runs two kinds
 * of work, on the same threads:
 *
 *     tasks  independent pieces of work that may wait and run again: for servers, pipelines, event
 *            loops, and whatever a thread pool does. They are fair (but not with WSQ_LIFO): the
 *            oldest runs first, except that a task which was just woken may run next. With
 *            WSQ_SHARED they leave the queue in exactly the order of their spawns (>>guide, ORDER)
 *     jobs   recursive calls and loops over data. The newest runs first. A fork and its join cost
 *            about as much as a function call, and a job lives on your stack
 *
 * A task can run a parallel loop, and a parallel loop can spawn tasks. Tasks and jobs are structs
 * of yours, so a spawn, a wake or a fork allocates nothing (MEMORY in >>guide has the exceptions:
 * WSQ_LIFO, list_tasks, a thread that could not start). A pool without work makes no system call.
 *
 * Do not use wsq for hard real time, for thousands of calls that block at the same time (each needs
 * a thread), or where one thread is enough: a scheduler does not make a simple loop faster.
 *
 * --------------------------------------------------------------------------
 * >>program
 *
 *     #define WSQ_IMPLEMENTATION
 *     #include "wsq.h"
 *
 *     typedef struct square { wsq_task task; int n, result; } square;
 *
 *     static wsq_poll square_run(wsq_ctx ctx, wsq_task *task) {
 *         square *self = wsq_container_of(task, square, task);
 *         (void)ctx;
 *         self->result = self->n * self->n;
 *         return WSQ_DONE;
 *     }
 *
 *     int main(void) {
 *         wsq_pool *pool;
 *         square seven = {.n = 7};
 *         if (wsq_pool_create(&pool, NULL) != WSQ_OK) return 1;
 *         wsq_task_init(&seven.task, square_run);
 *         wsq_spawn(pool, &seven.task);
 *         wsq_task_wait(&seven.task);
 *         printf("%d\n", seven.result);
 *         wsq_pool_destroy(pool);
 *     }
 *
 * --------------------------------------------------------------------------
 * >>concepts
 *
 * POOL. A pool has workers: threads that run work, by default one for each usable core. A worker
 * owns a ring of 256 tasks, a LIFO slot for one more, and a job stack. Tasks that other threads
 * spawn wait in the pool's global queue.
 *
 *        outside threads                        worker 0            worker 1
 *              |                              +-----------+       +-----------+
 *              v            one, or up to 64  | LIFO slot |       | LIFO slot |
 *      [ global queue ] --------------------> | ring      | half  | ring      |
 *              ^                              |  o o o o -+-----> |  o o      |
 *              |        the newer half        | job stack | one   | job stack |
 *              +----- of a ring that is full -|  j j j j -+-----> |  j        |
 *                                             +-----------+ steal +-----------+
 *
 * FINDING WORK. A worker looks for work in this order (>>find):
 *     0. Every `interval` tasks the worker takes a turn: timers fire, tasks from the global queue
 *        join the end of its ring, and every 16th turn runs one WSQ_LOW task.
 *     1. WSQ_HIGH tasks, at most 15 in a row, and tasks pinned to this worker, at most every second
 *        time; its LIFO slot, at most 3 times in a row; its ring.
 *     2. The global queue: a batch, or only one task if tasks take long and few are waiting.
 *     3. The other workers, near ones first, from a random one on: the worker steals a public job,
 *        or half of a ring.
 *     4. Rounds, for about 15 us, each with WSQ_HIGH and pinned tasks, the other workers, the
 *        global queue, and WSQ_LOW tasks. There are only two rounds if the process had one
 *        processor when it created the pool; one if the worker's last searches found nothing; none
 *        if half of the workers search already.
 *     5. If the worker has found nothing, it sleeps.
 *
 * The interval is the number of tasks that fit into about 1 ms, but at least 2 and at most 255. So
 * when every worker is busy, a task waits about 1 ms in the global queue, and then for the tasks
 * before it in the ring. (The time per task is a moving average. When tasks suddenly become longer,
 * the next turns still come after as many tasks as before. In a caller_runs pool no times are
 * taken, so that the order does not depend on the clock: the interval is 20. If tasks are long
 * there, set max_interval.)
 *
 * WAKING. A thread that adds work wakes one sleeping worker, unless some worker is searching
 * already. When the last searching worker finds work, it wakes the next sleeper; when it finds
 * none, it looks at all queues once more before it sleeps. So no wake-up is lost, and a worker can
 * sleep safely without a time-out.
 *
 * TASK. A task is a struct of yours that contains a wsq_task. Its function runs on some worker, and
 * never on two at the same time. Its return value says what happens next:
 *     WSQ_DONE     the task is finished: its waiters wake, and its memory is yours again
 *     WSQ_PENDING  the task waits for an event. Whatever sees the event calls wsq_wake, and the
 *                  task runs again. A wake that comes while the task still runs is not lost
 *     WSQ_YIELD    the task has more to do, and runs again after other tasks
 *     WSQ_GONE     the task is finished, and its function has freed it, or has given it away to be
 *                  freed: nobody may wait for it or wake it
 *
 *               wsq_spawn                    PENDING
 *     new ------------------> queued, runs ----------> waits
 *                              ^        |                |
 *                              +--------+     wsq_wake   |
 *                                YIELD  |  <-------------+
 *                                       +--> done (may be spawned again)
 *
 * When a worker wakes a task, the task goes into that worker's LIFO slot and runs next, while the
 * data is still in the cache. If the worker goes on with its current task, another worker that
 * searches takes the woken task from the slot after about 1 us. Where tasks take 3 us or more on
 * average, an idle worker is woken to take it; where tasks are shorter, an idle worker finds it
 * after 0.5 to 1 ms.
 *
 * JOB. A job is a struct of yours on your stack. It exists from wsq_fork to the wsq_join that must
 * follow in the same function. The newest job must be joined first. A function that may fork
 * receives a wsq_ctx, the top of the worker's job stack. A fork advances it, a join takes it back,
 * and you pass it on to the functions that you call:
 *
 *     static long fib(wsq_ctx ctx, long n) {
 *         if (n < 2) return n;
 *         fib_job left = {.n = n - 1};
 *         wsq_fork(&ctx, &left.job, fib_run);         others may run it now...
 *         long right = fib(ctx, n - 2);
 *         return right + (wsq_reclaim(&ctx, &left.job) ? fib(ctx, left.n) : left.result);
 *     }                                               ...if nobody did, call it here
 *
 * Jobs are private to their worker, the owner, until another worker is idle. A thief that finds no
 * published job asks the owner for some. At its next fork or join the owner publishes its oldest
 * jobs, which are the largest. While a join waits for a stolen job, it runs other jobs: mostly
 * those of the thief, now and then any worker's. It sleeps if it finds no job, or if 32 joins on
 * its stack wait already. A join never runs a task.
 *
 * FUTURE, GROUP, EDGE. A future is a task that the pool makes for you: wsq_submit calls a function,
 * and wsq_future_get waits for its result. A group is a set of tasks that you wait for, or cancel,
 * together. An edge makes one task start when another one is done.
 *
 * WAITING. A pool has a permit for each worker, and a thread runs queued tasks only while it holds
 * one (or if they are pinned to it). A worker that waits for a task runs the task itself, if the
 * task is in the worker's own queue and has not started. Otherwise the worker blocks: the tasks in
 * its queue go to the global queue, and its permit goes to an idle thread, or to a new one: a
 * STAND-IN.
 *
 * So a wait costs the pool no core, and delays no queued task by more than what it runs itself
 * (PROGRESS in >>guide). On your stack it runs only what it waits for, and tasks pinned to this
 * worker, which no other thread may run. This holds as long as stand-ins are left (max_standins).
 * Without them, as in caller_runs and lend_only pools, the waiting thread runs whatever task comes.
 *
 * DELAYS. A task that can run never stays queued for long while a worker is idle. The worker is
 * woken for it, which takes 5 to 20 us; or, if tasks take less than 3 us and the task is in the
 * LIFO slot of a busy worker, the idle worker finds it after 0.5 to 1 ms. If all workers are busy,
 * the task waits in its queue. PROGRESS in >>guide lists the bounds.
 *
 * Nothing is pre-empted, so three things make a task wait longer: long tasks on all workers; calls
 * that block without wsq_block_begin; and long jobs, because a join runs no task. A parallel loop
 * that keeps every worker busy for a second keeps tasks waiting for as long.
 *
 * THE GUEST. wsq_run calls a function that may fork and loop, and brings the calling thread into
 * the pool: the thread runs this function itself, in place of one sleeping worker, if one sleeps.
 * So about `workers` threads work on runs and loops, the callers included; queued tasks beside them
 * may use `workers` more. At most eight threads can be guests at the same time (WSQ_GUESTS). A
 * thread outside that runs a task in its wait is no guest, but counts as one of the eight.
 *
 * --------------------------------------------------------------------------
 * >>words
 *
 * (>>concepts explains pool, task, job, future, group, edge, stand-in and guest.)
 *
 *     context       wsq_ctx: the top of a job stack, which a function receives and passes on
 *     global queue  where tasks from outside and from full rings wait for any worker. It consists
 *                   of lists, the lanes: one for every 3 workers, at most 8; with more than 64
 *                   workers one for every 8, at most 16; with WSQ_SHARED, WSQ_LIFO or caller_runs
 *                   only one. A thread outside always uses the same lane
 *     LIFO slot     the place for the one task that a worker has just woken
 *     pending       a task is pending when it has returned WSQ_PENDING and waits for a wake. (But
 *                   wsq_pool_pending and wsq_group_pending count all tasks that are not done)
 *     held          a task is held when it is spawned and waits for predecessors or for a group
 *     index         a number for per-worker data: an array has wsq_pool_slots elements, indexed by
 *                   wsq_worker_index(ctx). A worker has an index from 0 to workers - 1, a stand-in
 *                   or guest a higher one. A thread outside has none: there wsq_worker_self gives
 *                   -1 (in another pool: its index there), and hooks get WSQ_OUTSIDE. (While it
 *                   runs a task in its wait, it has one.)
 *                   Your next wait, join or return ends your use of an element: the work that runs
 *                   inside a wait or join on the same thread has the same index, and may change
 *                   the element
 *     permit        what a thread needs to run queued tasks: a pool has one for each worker
 *     pinned        a task is pinned when only one worker may run it
 *     turn          the moment, every interval tasks, when a worker that has tasks of its own looks
 *                   beyond its queue
 *
 * --------------------------------------------------------------------------
 * >>calls: who may call what
 *
 *                                   outside   inside a task   inside a run or job
 *     wsq_pool_create               yes       yes             yes
 *     wsq_pool_wait, _wait_for,     yes       WSQ_ERR_INVALID (of the same pool)
 *       _shutdown
 *     wsq_pool_destroy              yes       does nothing    (of the same pool)
 *     wsq_pool_run_one              any thread, but one at a time; only in a caller_runs pool
 *     wsq_worker_enter              yes       of another pool. Only a lend_only pool can be entered
 *     wsq_spawn.., _wake, _go,      yes       yes             yes
 *       _submit, _task_after, _timer..,
 *       _cancel, _then, groups, graphs
 *     wsq_task_wait, _future_get,   yes       yes: WAITING in >>guide says what runs meanwhile
 *       _group_wait
 *     wsq_task_done, statistics,    yes       yes             yes
 *       wsq_pool_dump
 *     wsq_cancelled                 no        yes             says only whether the pool stops; for
 *                                                             a group: wsq_group_cancelled
 *     wsq_loop_stop                 no        in the body of wsq_for or wsq_reduce
 *     wsq_block_begin, _end         no        yes             yes
 *     wsq_budget_take               is true   yes             yes: true if no task is around it
 *     wsq_run                       yes       yes             yes: a run of its own
 *     wsq_fork, _join, _reclaim,    no        yes             yes: with the ctx that
 *       wsq_for, wsq_reduce                                   the function received
 *     wsq_ring_*, wsq_deque_*       those with an argument `self`: its owner; others: any thread
 *
 * --------------------------------------------------------------------------
 * >>guide
 *
 * POOLS. wsq_pool_create creates a pool from a wsq_config, in which every zero asks for the
 * default, or from NULL. A program may have any number of pools; they share nothing. Data for each
 * thread of a pool lies in an array: see `index` in >>words.
 *
 * wsq_pool_wait sleeps until the pool has no task left: every task is done that was spawned before,
 * and also those that come meanwhile. wsq_pool_wait_for does so for a limited time. A task that
 * waits for a wake is not done, so both wait for it as well.
 *
 * SHUTDOWN. wsq_pool_shutdown first closes the pool: a spawn from outside returns WSQ_ERR_CLOSED,
 * and the task stays the caller's. Then it ends the work that is left. With WSQ_DRAIN this work
 * runs to its end, and so does all that it spawns. With WSQ_CANCEL the running functions return as
 * usual, and no other task starts. Then a spawn inside a task returns WSQ_ERR_CLOSED, too.
 *
 * In a WSQ_CANCEL shutdown the workers call the cleanup of each remaining task
 * (wsq_task_set_cleanup) in place of its function, and its waiters get WSQ_ERR_CANCELLED. So the
 * cleanup, or the owner of the task, frees what the function would have freed. A pending task is
 * cancelled only when it is woken, and a held task when its predecessors have ended. The memory of
 * both must stay until the pool is gone. (At its end the shutdown fires all timers that are set,
 * and so cancels the tasks that wait for them.)
 *
 * DESTROY. wsq_pool_destroy drains the pool, unless it was shut down before, and frees it. No other
 * thread may be inside a call on the pool, its tasks, groups or futures, or begin one; wsq_wake and
 * wsq_spawn are such calls. If other threads may still call, shut the pool down first: then their
 * spawns return WSQ_ERR_CLOSED, and you can wait until these threads have ended.
 *
 * WITHOUT THREADS. A caller_runs pool starts no threads. wsq_pool_run_one runs one task on the
 * calling thread; a thread in a wait runs tasks until the wait is over. One thread at a time works,
 * and others that wait sleep. So the order of the tasks depends only on the seed and the calls,
 * which is what tests need. (With timers, a driver, or loops with a grain of 0 it also depends on
 * the clock.)
 *
 * YOUR OWN THREADS. A lend_only pool starts no threads either. Up to `workers` threads of yours
 * work for it at the same time: each calls wsq_worker_enter, and stays there until
 * wsq_worker_dismiss or the shutdown. They sleep in it when there is nothing to do. (A task of
 * another pool calls it between wsq_block_begin and wsq_block_end.) Such a pool has no stand-ins.
 *
 * Nothing runs while no thread is lent. So wsq_pool_wait, a WSQ_DRAIN and wsq_pool_destroy wait
 * until a thread has come and done what is queued. A WSQ_CANCEL needs no thread.
 *
 * MEMORY. A wsq_task is 48 bytes of yours, in your struct (fewer on 32 bits). You free it when the
 * task is done (wsq_task_done is true, or a wait for it, its group or the pool has returned
 * WSQ_OK), no other thread is still in a wait for it, and none will wake or cancel it. Or its
 * function frees it, or hands it to a task or a thread that may free it, and returns WSQ_GONE.
 * A pool allocates when it is created: itself, and for each worker WSQ_BLOCK_SIZE bytes (1 MiB, or
 * 128 KiB on 32 bits) and 11 KiB that only timers touch.
 * Later it allocates only in these places, and calls a wsq_allocator there from any thread:
 *     - wsq_reduce, for a partial result of more than 128 bytes, when a range is cut
 *     - the queue of a WSQ_LIFO pool, and the list of wsq_config.list_tasks, when they grow
 *     - wsq_pool_dump, until it returns
 *     - when more of these exist at the same time than ever before: futures (120 bytes each);
 *       stand-ins, threads in wsq_run and tasks that run inside a wait (a block each). The pool
 *       keeps this memory for later calls. (A stand-in is started where a task blocks or waits. If
 *       that fails, a spawn or a wake tries it again)
 *
 * TASKS. wsq_spawn queues a task: in the ring of the calling worker, or, from outside, in the
 * global queue. wsq_spawn_batch spawns all of its tasks or none. A task that is queued, running or
 * pending cannot be spawned (WSQ_ERR_INVALID). A task that is done can be spawned again, as soon as
 * no thread waits for its former end any more.
 *
 * wsq_wake makes a pending task run again. Any thread that may touch the task's memory may call it
 * at any time. What the thread wrote before the wake is visible to the run that follows.
 *
 * A task that loops calls wsq_budget_take once for each step. After 128 steps wsq_budget_take
 * returns false. Then the task should return WSQ_YIELD, so that other tasks can run.
 *
 * The attributes of a task are set before its spawn: wsq_task_set_priority, wsq_task_set_worker,
 * wsq_task_set_group, wsq_task_set_revocable, wsq_task_set_cleanup. They stay until they are set
 * anew, and they work in a batch, too. wsq_spawn_on, wsq_group_spawn and wsq_group_spawn_batch give
 * a pin or a group to a task that has none, for a single spawn.
 * A zeroed task with a function is ready to use; wsq_task_init is for memory that is not zero.
 *
 * ORDER. wsq_config.order says in which order the tasks of one spawning thread start. With one
 * worker this is exactly the order of the spawns, even if one task spawns thousands (but not with
 * WSQ_LIFO). With several workers the same holds in a WSQ_SHARED pool, where all workers take from
 * the global queue, one task at a time. Use WSQ_SHARED to replace a thread pool whose queue has an
 * order. Only the starts are in order: if a task waits or blocks, the next one starts before the
 * first has ended, even with one worker. And with several workers, of two tasks that have left the
 * queue one after the other, either may come to its first instruction first.
 *
 * In a WSQ_SHARED pool a task may wait for a task that the same thread spawned before it, because
 * a worker has taken that task already. But if n tasks block n workers without wsq_block_begin, the
 * next task does not start until one of them goes on.
 *
 * In the default order, WSQ_FIFO, each worker has a ring and steals from others. With several
 * workers one thing is promised there: if a thread outside spawns one task before another, the
 * first one does not lie behind the second one in a ring, unless a thread that blocked or left had
 * one of them in its ring, and put it back.
 *
 * Where tasks spawn others, as in a tree, use WSQ_LIFO: there a worker runs the newest task first,
 * so few tasks wait at the same time, and their memory stays in the cache. In the default order all
 * tasks of one level come before those of the next: a tree of 260,000 small tasks took four times
 * as long as with WSQ_LIFO.
 *
 * Priorities, pins, wakes, waits and WSQ_YIELD have an order of their own: a woken task may come
 * next, and a task that yields comes last. Tasks that come after one predecessor or group are
 * queued in the order in which wsq_task_after or wsq_group_then was called (except calls, and
 * spawns into the group, at the moment when the predecessor or the group's last task ends).
 *
 * PRIORITY. wsq_task_set_priority sets a task's priority before its spawn. A WSQ_HIGH task
 * overtakes all others as soon as any worker is between two tasks. A WSQ_LOW task runs when there
 * is nothing else to do, and in every 16th turn. A running task is never interrupted.
 *
 * PINNING. wsq_spawn_on pins a task to one worker, which is woken for it. No thread steals the
 * task, and its priority does not count. While its worker is in a join, or between wsq_block_begin
 * and wsq_block_end, the task waits. If its worker has no permit, the task runs without one.
 *
 * Neither priorities nor pins starve other tasks. Of 16 tasks in a row on one worker at most 15 are
 * WSQ_HIGH; of the rest, at most every second one is pinned, as long as there are others. Every
 * turn (see FINDING WORK) lets timers fire, and every 16th turn runs a WSQ_LOW task: about every 16
 * ms, or every 32 tasks if each takes more than 0.5 ms.
 *
 * CANCELLING. wsq_task_cancel cancels one task, wsq_future_cancel a future, and wsq_group_cancel a
 * group. If the task has not started, is pending, or is held, its function is not called any more.
 * Its cleanup is called instead, and its waiters get WSQ_ERR_CANCELLED. A task that runs goes on,
 * and can ask wsq_cancelled whether to return early. A pool keeps no list of a group's tasks, so
 * wsq_group_cancel wakes no pending task: wake these yourself, or wsq_group_wait does not end.
 *
 * If wsq_task_cancel or wsq_future_cancel returns true, the function will not run any more. The
 * call is always sure of this for a future, and for a task that is pending or held. For a queued
 * task it is sure only if the task is revocable (wsq_task_set_revocable). For any other queued task
 * the call may return false, because a worker may be about to run the task. If the function has not
 * started, the task is cancelled all the same.
 *
 * Cancelling takes nothing out of the middle of a queue. A cancelled task keeps its place, and its
 * memory must stay, until a worker comes to it and calls the cleanup. If long tasks hold all
 * workers, this takes as long as they do. A future's place in the queue belongs to the pool: after
 * a wsq_future_cancel that returned true, and wsq_future_drop, the pool uses nothing of yours any
 * more.
 *
 * TIMERS. wsq_timer_set wakes a task later. A wsq_timer is a member of a struct of yours, usually
 * of the one that has the task; a zeroed timer is not set. To set, reset or cancel a timer takes
 * some 50 ns, however many timers are set. So every connection of a server can have a time-out.
 *
 *     wsq_timer_set(pool, &self->timer, task, 2000000000);     in 2 s; then, in the task:
 *     return WSQ_PENDING;                                      until the timer, or something else
 *
 * Accuracy: a timer never fires early, except in a shutdown (SHUTDOWN). While a worker is idle, the
 * timer fires about 50 us late, because the system takes so long to end a sleep. If all workers are
 * busy, it fires in a turn of any worker: 1 to 2 ms late if tasks are short, about two tasks late
 * if they are long. Then its task waits in a queue. (Beside 4 tasks that yield every 5 ms, on 2
 * workers, the task runs 14 ms late in the median, 34 at most.) If many timers are due, a worker
 * fires 512 of them, then runs other work, and then goes on.
 *
 * A task does not know what woke it. If something other than the timer may have woken it, the task
 * calls wsq_timer_cancel, which returns true if the timer had not fired. When the timer has woken
 * the task, or wsq_timer_cancel has returned, the timer may be freed, and so may the task if it is
 * done. When a pool is destroyed, its timers are not set any more: from then on they may be set in
 * another pool, or freed, but not cancelled.
 *
 * DRIVER. With wsq_config.driver an idle thread of the pool waits for your events (descriptors that
 * are ready, completions, messages) as well as for work, so that no thread is needed for them
 * alone. examples/wsq_io.h is a driver for descriptors, ready to copy, on epoll, kqueue, poll and
 * Windows (WSAPoll), and on Linux for operations that io_uring carries out. With examples/wsq.hpp a
 * coroutine writes co_await wsq::readable or wsq::writable, with a time-out if it likes. A server
 * to start from is examples/echo.c. To write a driver of your own, supply three functions:
 *     wait       waits for events, or only looks. While a pool has no work, a thread is inside it
 *     dispatch   follows on the same thread if there were events: it calls wsq_wake or wsq_spawn
 *     interrupt  makes wait return soon, because there is work. An interrupt before the wait begins
 *                must end that wait, too: an eventfd, a pipe and EVFILT_USER remember it
 *
 * One thread at a time is in wait or dispatch, so `wait` may leave the events for `dispatch` in the
 * driver's own struct. `wait` calls nothing of wsq: a debug build stops, in most cases, if it
 * spawns, wakes, waits or sets a timer. `dispatch` should be short: until it returns, the pool may
 * wake no thread, neither for the tasks that it queues nor for others. It waits for nothing: a wait
 * for a group or a future of this pool returns WSQ_ERR_INVALID there, and so does a wait for a task
 * that is not done. The tasks that `dispatch` wakes are queued in the order of the wakes, as if
 * they were spawned. `dispatch` must not take a lock that a task holds while it spawns, wakes or
 * waits. `interrupt` is called inside wsq_spawn and other calls of wsq: it calls nothing of wsq,
 * and takes no lock that a thread holds while it calls wsq.
 *
 * An idle thread hears of an event immediately. But while the thread that heard of the last event
 * is still in a task, an idle thread hears of the next event 0.5 ms late. If all workers are busy,
 * one of them looks in each turn: about every ms if tasks are short. A pool that sleeps in its
 * driver makes no other system call.
 *
 * In a caller_runs pool the thread that waits for the pool waits in the driver. wsq_pool_run_one
 * looks for events if no task can run and, while tasks can, once in about 20 calls. In a lend_only
 * pool without a lent thread nobody looks. A WSQ_DRAIN waits for tasks that wait for events, and
 * dispatches meanwhile. It also waits for tasks that `dispatch` spawns, so a driver that spawns a
 * task for each event must stop that first. A WSQ_CANCEL does not wait for events. The driver must
 * outlive wsq_pool_destroy. It is never called in a child of fork().
 *
 * WAITING. wsq_task_wait, wsq_future_get and wsq_group_wait may be called on a worker. The worker
 * first runs the awaited task itself, if the task has not started and lies in the worker's own slot
 * or queue (a future: wherever it is queued). Of an awaited group the worker runs the tasks that
 * lie there. (In a WSQ_LIFO pool it looks only at the newest 64 tasks of its queue.) In a wait with
 * a time-out the worker runs none of these tasks, because a task could take longer. If the wait is
 * not over then, the worker blocks, and another thread takes its permit: an idle one, or a
 * stand-in. A stand-in is started when it is first needed; there are at most max_standins.
 *
 * A thread that is in no pool first looks whether the awaited task or future, or tasks of the
 * awaited group, are among the first in its lane of the global queue. If so, and a worker sleeps,
 * the thread runs them itself, in place of that worker. Of a group it runs tasks for 1 to 4 ms, or
 * two tasks if they take longer. (When tasks suddenly become longer, it may run as many of these as
 * it has run tasks before, but at most 256.) If the wait is not over then, the thread sleeps. All
 * the same, a spawn before the wait wakes an idle worker, unless a worker already searches. The
 * thread runs nothing, and only sleeps, in a wait with a time-out, in a lend_only or WSQ_LIFO pool,
 * and where tasks may need something that only the pool's own threads have: where a hook hears of
 * WSQ_EVENT_START, or stack_size exceeds the default. (If one of these tasks waits, the thread runs
 * on top of it what that one waits for, up to 64 deep. So a thread outside whose own stack is too
 * small for the tasks waits with a time-out.)
 *
 * Before a thread outside sleeps in a wait, it looks for up to 50 us whether the wait is over, also
 * with WSQ_SPIN_OFF, but not with caller_runs. Meanwhile it takes processor time. In a wait without
 * a time-out, the thread yields its processor between the looks. In a wait with a time-out it does
 * not yield, and on a machine with one processor it does not look. If four waits in a row in one
 * pool have looked without success, or got their processor back too late, because another program
 * took it, only every 16th wait in that pool looks.
 *
 * While it waits, a worker still runs the tasks that are pinned to it, on top of the task that
 * waits: up to 64 deep or, if each waits for the next one, one for each 8 KiB of its stack. So do
 * not hold a lock across a wait if a task that is pinned to the same worker takes that lock.
 *
 * When all stand-ins are taken, a waiting worker runs whatever task comes, on top of the task that
 * waits. These waits nest up to 64 deep. A deeper one first lets other waiting threads do that; if
 * none does for 0.1 ms, it goes on, as long as the stack has 8 KiB for each of these waits (so
 * 1,024 deep on 8 MiB). An even deeper wait only sleeps. (Waits that run what they await nest 1,024
 * deep from the start. A deeper one blocks as above or, if no stand-in is left, goes on.)
 *
 * These can wait for ever at any time (here "waits for" means directly or through others):
 *     - a pinned task that waits for a task on top of which it was started
 *     - a job, or a piece of a loop, that waits for a task which is in a join, or is pinned to a
 *       worker that is in one: a join runs stolen jobs on top of the task that joins
 *     - a task that waits in another pool for work that waits for a task pinned to the same worker
 *     - a task of a caller_runs pool that waits for a task of another one, which waits for work of
 *       the first: meanwhile the thread runs nothing there
 * And these while no stand-in is left:
 *     - a task that waits for a task on top of which it was started, also if it is not pinned
 *     - a task that waits for one that is pinned to a worker which blocks in the system
 *     - a task that waits in another pool for work that needs this pool: the wait runs no task
 *     - a job that waits for a task, if a thread in wsq_run has stolen that job in a join: the
 *       thread runs no task, and neither do the workers that wait in their joins for this job
 *     - a task that is queued while all waits are too deep to run it
 *
 * In a lend_only pool, which has no stand-ins, leave wsq_config.stack_size 0: there, too,
 * stack_size limits the number of these waits, and with less than 8 KiB no wait runs a task. In a
 * caller_runs pool nothing limits their number: a waiting thread runs whatever task comes. If each
 * of these tasks waits for a later one, the thread's stack overflows.
 *
 * To be safe, think of the moment when most tasks have begun to wait or to block and have not
 * ended. Count these tasks, and set max_standins to a few more. Each of them keeps its thread, also
 * after the wait; and a thread that has ended a task, or dispatches events, is not free until it
 * sleeps. Or do not wait: return WSQ_PENDING, and continue by a wake, wsq_group_then,
 * wsq_future_then or wsq_task_after. A task that waits for itself, or for a task further down its
 * stack, gets WSQ_ERR_INVALID.
 *
 * BLOCKING. Put a call that blocks in the system (a read, a lock, a query) between wsq_block_begin
 * and wsq_block_end. Then another thread takes the permit, as in a wait: an idle one, or a
 * stand-in. So more tasks than `workers` can block at the same time, and `workers` does not limit
 * them; recipes/limit.c does. If no stand-in is left, or the system refuses to start a thread, the
 * pool works with one thread less. (It tries again when the next thread blocks, or more tasks are
 * queued; not for a timer or an event alone.) In a caller_runs pool no thread takes over: the
 * working thread keeps its place until it waits, or its call ends. Without the two calls, the
 * worker is blocked with its permit, and its queued tasks wait until others steal them. A function
 * of wsq_go or wsq_submit gets no ctx. If it blocks, let it call wsq_run, whose function gets a ctx
 * (any number of these may block), or spawn a task instead.
 *
 * PROGRESS. These are all the promises about when a task starts and when a wait returns.
 * "Immediately" means after one wake-up: about 5 us, or 20 where processors sleep. Where a stand-in
 * must be started first, it means 0.2 to 0.4 ms for each of these starts, and some ms under a
 * sanitizer. While a driver's `dispatch` runs, it may mean: when that returns.
 *     1.  A queued task that an idle worker may run starts immediately. Of several tasks queued at
 *         the same time, some start a few wake-ups later, because woken workers wake others: one
 *         for each task or, where tasks are short, one for each 10 us of work.
 *     2.  A task that a worker wakes starts immediately where tasks take 3 us or more. Otherwise,
 *         if the waker goes on with its own task and a worker is idle, it starts after 0.5 to 1 ms.
 *         (In a pool with timers also after four wakes on that worker for which no other worker
 *         took the task; then each 16th wake tries again.)
 *     3.  If all workers are busy, a task in the global queue waits for one turn, or one for each
 *         lane that is not empty, and then for the tasks before it in a ring. But what a worker
 *         runs in its waits (WAITING) has no turns:
 *         - When a turn would be due in a wait, the worker only lets timers fire, and looks for
 *           events. What they queue goes to the global queue.
 *         - A worker that waits for a group runs the group's tasks before others of its queue. It
 *           looks whether a task in the global queue needs a turn after each 256 and, when 1 to
 *           4 ms (or two longer tasks) are over, after each. (When tasks suddenly become longer, it
 *           may run as many of these as it has run tasks before, but at most 256. In a caller_runs
 *           pool it looks only after each 256.)
 *         - Tasks that wait for tasks which wait in turn, as in a tree, count as one long task
 *           here: no wait knows how long the whole takes.
 *         - WSQ_HIGH tasks, and those pinned to the worker, come before the next task also in
 *           waits, but not on top of 64 others (or of as many as the stack has room for). So a
 *           timer or an event that must not wait for a whole tree wakes a WSQ_HIGH task.
 *         - A thread outside that runs tasks of a group in place of a worker has no turns either:
 *           WAITING says for how long.
 *     4.  A task behind a long one in the ring of a busy worker is taken in a turn of another
 *         worker: each turn looks at one ring and takes one task.
 *     5.  If a thread blocks, the tasks that it had fetched from the global queue go back to the
 *         front of one of its lanes. Tasks that were spawned or woken on this thread go to the end,
 *         but only once: after that no younger task overtakes them.
 *     6.  With one worker, except with WSQ_LIFO, the tasks of one thread start in the order of
 *         their spawns, also beside tasks that yield.
 *     7.  Priorities, pins and yields starve no task; a WSQ_LOW task has one turn of 16. (But with
 *         WSQ_LIFO a task waits as long as its worker gets newer ones, unless another worker takes
 *         it in a search or a turn: with one worker perhaps for ever.)
 *     8.  A pinned task starts immediately if its worker is idle or waits in its own pool, but not
 *         inside a join, between wsq_block_begin and wsq_block_end, or in a wait that lies deeper
 *         than WAITING allows.
 *     9.  A loop, and any task that forks, gets help from idle workers at its next fork or piece;
 *         also inside a wait, if one of the WSQ_GUESTS blocks is free.
 *     10. If a worker sleeps in a join, another thread starts a queued task immediately, if there
 *         is an idle thread or a stand-in is left. (With spin_ns, a join may look for that long
 *         before it sleeps.) But no task starts while jobs use all permits.
 *     11. A wait returns immediately after the end of what it waits for, or at its deadline. If a
 *         task or job runs inside the wait at that moment, the wait returns when this has ended.
 *         That can be a pinned task; the awaited task, if the wait has no time-out; or, without
 *         stand-ins, any task or job.
 *     12. While a worker is idle, or sleeps in a join and an idle thread can take its place, a
 *         timer fires about 50 us late. Otherwise it fires in the next turn of a worker, or when a
 *         turn would be due in a wait without a time-out, or before the next pinned task of a
 *         worker that waits or has no permit.
 *     13. While a worker is idle, an idle worker waits in the driver. Otherwise a worker looks for
 *         events when it would fire a timer.
 *     14. A thread that was dismissed leaves as soon as its task returns.
 *     15. If a pool is not ended by WSQ_CANCEL, its end waits for those of its tasks that have a
 *         predecessor in another pool.
 *     16. A worker without work sleeps after a search: about 15 us, or spin_ns. If spin_ns is 0,
 *         this is shorter in the cases that step 4 of FINDING WORK names.
 *     17. The memory of a pool is bounded by what is alive at the same time. A cancelled future
 *         counts as alive until a worker has come to its entry in the queue.
 *     18. A program whose tasks do not wait for each other in a circle comes to its end, if it has
 *         as many stand-ins as WAITING says, and does with jobs and pins as that says.
 *
 * Each promise has its tests: test/progress/README.md names them.
 *
 * FUTURES. wsq_submit calls a function on some worker and gives you a handle:
 *
 *     wsq_future *future;
 *     void *result;
 *     wsq_submit(pool, read_file, "a.txt", &future);      calls read_file("a.txt") on a worker
 *     wsq_future_get(future, &result);                    waits, and frees the future
 *
 * Give the handle to wsq_future_get, or to wsq_future_drop if nobody wants the result: to one of
 * them, once. wsq_future_get_for waits for a limited time; after WSQ_ERR_TIMEOUT the handle is
 * still yours. wsq_future_then spawns a task of yours when the result is there. wsq_go is a
 * wsq_submit without a handle. The pool keeps finished futures for later calls.
 *
 * GROUPS. With a group you wait for many tasks together:
 *
 *     wsq_group group;
 *     wsq_group_init(&group, pool);
 *     for (int i = 0; i < n; i++) wsq_group_spawn(&group, &tasks[i]);
 *     wsq_group_wait(&group);
 *
 * Any thread may spawn into the group, and so may its own tasks. wsq_group_wait sleeps until no
 * task of the group is left; wsq_group_wait_for does so for a limited time. Any number of threads
 * may wait. wsq_group_then spawns a task when no task of the group is left. The group can be used
 * again as soon as no thread waits for its former end any more.
 *
 * wsq_group_fail keeps the first error of the group, and wsq_group_error returns it.
 * wsq_group_cancel cancels the group: tasks that have not started never will, and their waiters get
 * WSQ_ERR_CANCELLED; tasks that run can ask wsq_cancelled and return early. A cancelled group stays
 * cancelled until wsq_group_init. To let the first error cancel the rest, call both:
 * wsq_group_fail, then wsq_group_cancel.
 *
 * Groups can form a tree. If a task of group A has a group B of its own, wsq_group_set_parent(&B,
 * &A) lets a cancel of A reach B. After a cancel, a wait for B ends when B's running tasks have
 * returned, workers have come to its queued tasks, and you have woken its pending tasks. Errors do
 * not go up: the task that waits for B hands them to A by wsq_group_fail.
 *
 * The declaration of wsq_group says when you may free a group. It is not enough that each of its
 * tasks is done: a worker reports the ends of several tasks together.
 *
 * DEPENDENCIES. wsq_task_after(task, predecessor, edge), called before wsq_spawn(task), lets the
 * task start when its last predecessor is done. The order in which the two are spawned does not
 * matter. If a predecessor is cancelled, so is the task. A predecessor may belong to another pool.
 * Neither the predecessor nor its cleanup may return WSQ_GONE.
 *
 * Tasks that wait for each other in a circle, or for a task that nobody spawns, never start. When
 * all remaining tasks have been waiting for predecessors for one second, wsq_pool_wait returns
 * WSQ_ERR_INVALID instead of hanging. It can be called again. A WSQ_DRAIN shutdown keeps waiting.
 *
 * GRAPHS. A wsq_graph runs the same tasks again and again, in the order that its edges say. Nodes
 * and edges are members of structs of yours, and stay from run to run.
 *
 *     wsq_graph_init(&graph, pool);
 *     wsq_graph_add(&graph, &load.node, load_run);         a wsq_node is a wsq_task, and more
 *     wsq_graph_add(&graph, &draw.node, draw_run);
 *     wsq_node_after(&draw.node, &load.node, &edge);
 *     while (playing) {
 *         wsq_graph_run(&graph);                           starts what follows no other node
 *         wsq_group_wait(&graph.group);
 *     }
 *
 * FORK AND JOIN. They may be used inside a run, a job or a task. If no other worker took the job,
 * wsq_join calls its function, while wsq_reclaim returns true and you call the function yourself. A
 * direct call lets the compiler inline the function into itself (make it static inline). A loop
 * that forks needs an array of jobs, and joins them from the last to the first.
 *
 * The job stack holds 130,000 jobs; when it is full, a fork runs its job immediately. WSQ_ASSERT
 * catches joins in the wrong order and a stale context.
 *
 * A join whose job was stolen runs other jobs meanwhile. So do not hold a lock across a join if
 * another job may take the same lock, and do not rely on a thread-local variable across it.
 *
 * LOOPS. wsq_for calls the body for pieces of a range. While no worker is idle it is a plain loop
 * that checks for idle workers every `grain` elements. When a worker is idle, the loop gives away
 * the upper half of what is left.
 *
 * A grain of 0 is as many elements as take about 10 us, measured while the loop runs, and fewer
 * towards the end, where the last elements may be heavy. A loop with a grain of 0 wakes a sleeping
 * worker only if what is left takes longer than about 10 us. It learns that from its first element,
 * or in its first microsecond. One exception: a loop with at most 4 elements for each worker wakes
 * workers immediately, unless the last loop with the same body had less than 10 us of work. Give a
 * grain of 1 if a few elements among many light ones take very long.
 *
 * wsq_reduce does the same, with a partial result for each piece that was given away, and combines
 * the partial results from left to right. So `combine` must be associative, but need not be
 * commutative. Floating-point sums are not quite associative: to get the same bits in each run, set
 * wsq_reducer.fixed.
 *
 * To stop a loop early, after a find or an error, its body calls wsq_loop_stop: pieces that have
 * not begun are left out, and calls of the body that run already go on. What was found, or the
 * error, goes into an atomic variable of yours, or into the partial result of a wsq_reduce. A body
 * that shall notice a cancel asks wsq_group_cancelled, and then calls wsq_loop_stop.
 *
 * QUEUES. The two queues work without a pool. A wsq_ring is first in, first out, and holds up to
 * WSQ_RING_CAPACITY items: its owner pushes and pops, and thieves move half of them into rings of
 * their own. A wsq_deque is last in, first out, and grows: its owner pushes and pops, and thieves
 * take the oldest item. When a steal from a ring returns NULL, there is nothing for this thief now;
 * the ring may not be empty.
 *
 * STATISTICS. Each worker counts what it does, on cache lines of its own. The counts can be read at
 * any time (wsq_worker_stats, wsq_pool_stats, wsq_stats_print). `rescued` counts how often a worker
 * found queued tasks only because its time-out (park_timeout_ns) was up: each time would mean a
 * lost wake-up, if the time-out is longer than the system may keep a thread from running.
 *
 * HOOKS. wsq_hooks report each step of a task (it is spawned, woken, begins, ends, or is
 * cancelled), threads that start, sleep, block and stop, and work that is stolen or published
 * (wsq_event). wsq_hooks.events selects some of them; where no hook is called, the place costs one
 * branch that the processor predicts. WSQ_EVENT_START and _STOP are reported on the thread itself,
 * also if it is a stand-in: there a hook prepares a thread and cleans up after it
 * (recipes/threads.c). They are not reported for your threads in wsq_run and in a caller_runs pool.
 * If each thread is to have, say, a connection to a database, provide workers + max_standins.
 *
 * FORK(). A child process has none of the pool's threads. In the child, calls with the pool return
 * WSQ_ERR_FORKED (wsq_task_wait only if the task is not done), wsq_wake does nothing, and
 * wsq_pool_destroy frees the memory. (This needs Linux 4.14, FreeBSD or OpenBSD; elsewhere a wait
 * may hang.) A new pool works, but none of its tasks may have a predecessor in the parent's pool
 * that is not done. Before a timer that is set in the parent's pool is set in the new one, cancel
 * it. If a task calls fork(), the child must not return from that task.
 *
 * --------------------------------------------------------------------------
 * >>macros
 *
 * Each row says where to define the macro, then its default, if it has one, then what it does.
 *
 *     WSQ_IMPLEMENTATION    define it in one file, before the include: that file compiles the code
 *     WSQ_STATIC            in each file that includes wsq.h, together with WSQ_IMPLEMENTATION: all
 *                           functions are static. Each file has its own copy, without the functions
 *                           that it does not call. A pool belongs to the file that created it: only
 *                           that file may use it, its tasks, groups and futures (WSQ_ASSERT checks
 *                           this). For libraries that hide wsq
 *     WSQ_INLINE            everywhere, instead of WSQ_IMPLEMENTATION in one file: each file
 *                           compiles the code, the linker keeps one copy of each function, and all
 *                           files share pools. It needs gcc or clang on a system other than
 *                           Windows, or C++17. Every macro of this list must then be the same in
 *                           all files
 *     WSQ_API               everywhere: what stands before each function. By default a shared
 *                           library keeps all of them to itself: see LIBRARIES in >>host
 *     WSQ_ASSERT(x)         everywhere; assert(x) from assert.h. It finds mistakes of the caller
 *     WSQ_CACHELINE         everywhere; 64, on Apple's ARM 128. Bytes that two threads must not
 *                           share. Write this and the next two as plain numbers, the same in each
 *                           file: otherwise the linker misses a symbol that names them
 *     WSQ_RING_CAPACITY     everywhere; 256. A power of two from 2 up
 *     WSQ_BLOCK_SIZE        everywhere; 1048576 (131072 on 32 bits). A power of two: bytes of a
 *                           worker with its job stack, which takes 8 for each job. Only what is
 *                           used becomes resident
 *     WSQ_MALLOC, WSQ_FREE  with the implementation; malloc, free. Used where no wsq_allocator is
 *                           given
 *     WSQ_GUESTS            with the implementation; 8. A pool has this many blocks for calls of
 *                           wsq_run and threads outside that run a task in a wait, and as many for
 *                           tasks inside a wait. If none is free, a run or task inside the pool
 *                           runs each job in its fork, a wsq_run from outside becomes a task, and a
 *                           thread outside runs no task in its wait
 *     WSQ_NO_STATS          with the implementation: counts only what the scheduler itself needs
 *     WSQ_NO_HOOKS          with the implementation: hooks are never called, and no pool has a list
 *                           of its tasks
 *     NDEBUG                no WSQ_ASSERT, and no message when a shutdown waits for 5 s while no
 *                           thread works; nothing else depends on it
 *     WSQ_FORCE_PTHREAD     with the implementation: threads sleep on mutexes and conditions, even
 *                           where the kernel has something better (not on Windows)
 *     WSQ_FORCE_STDATOMIC   everywhere: C11's stdatomic.h instead of the compiler's builtins (C
 *                           only)
 *     WSQ_ATOMIC_HEADER     everywhere: names a header that replaces the vocabulary of atomics
 *                           (>>vocabulary)
 *     WSQ_PLATFORM_HEADER   with the implementation: names a header that replaces the functions of
 *                           >>platform
 *     WSQ_RING_START        for tests, everywhere: a ring's first index
 *     WSQ_PUBLISH_ALWAYS    for tests, with the implementation: every job is published immediately
 *
 * SIZE. wsq adds 84 kB of code to a program that creates a pool, spawns, waits and destroys, and 35
 * kB with -Os, WSQ_STATIC, WSQ_NO_STATS and WSQ_NO_HOOKS (gcc 12, x86-64). bench/README.md has the
 * table.
 *
 * WARNINGS. The header compiles without a warning of gcc or clang under -Wall -Wextra -Wpedantic
 * -Wshadow -Wconversion -Wcast-align -Wredundant-decls and some more. If your project asks for
 * others, include it with -isystem.
 *
 * --------------------------------------------------------------------------
 * >>errors
 *
 * A mistake of the caller trips WSQ_ASSERT or returns WSQ_ERR_INVALID. A failure of the system
 * returns another negative result. What may happen at any time (full, empty, lost a race) is an
 * ordinary value. A call that fails changes nothing, unless its contract says what it changes.
 * wsq_result_string names a result.
 *
 * It is undefined to use a pool after wsq_pool_destroy, or a task of such a pool, and to free a
 * task that is not done. (A task's own function may free the task if it then returns WSQ_GONE.)
 *
 * A build without NDEBUG finds these mistakes, and each assertion says which one it is:
 *     - a stale wsq_ctx, which belongs to another thread or to a function that has returned
 *     - joins out of order, and a published job that is not joined
 *     - a task that was never set up, or whose memory an allocator has filled with a pattern
 *     - a zeroed group that was not set up, a NULL task, a function that returns no wsq_poll
 *     - a task that waits for its own group
 *     - a pool that was destroyed, as long as nothing else has taken its memory
 *     - a shutdown that waits for a task which nobody wakes: after 5 s it writes what wsq_pool_dump
 *       knows to stderr (if no timer is set, and no thread waits in a driver)
 *
 * --------------------------------------------------------------------------
 * >>answers
 *
 * How do I ... (recipes/ is examples/recipes/)
 *
 *     run a function elsewhere?    wsq_go; wsq_submit if you want its result; wsq_spawn if nothing
 *                                  may be allocated
 *     wait for one task, or some?  wsq_task_wait, wsq_group_wait, wsq_future_get; each has a form
 *                                  with a time-out (_for)
 *     set a time-out, a deadline?  (timeout) wait with a time-out. When the time is up, cancel the
 *                                  task, and wait again before its memory goes: recipes/deadline.c.
 *                                  A task that runs is not interrupted: it asks wsq_cancelled. For
 *                                  a task that returns WSQ_PENDING, use a timer: recipes/timeout.c.
 *                                  For a request of several tasks: recipes/request.c.
 *                                  A future can be cancelled and dropped instead. Its function has
 *                                  no ctx to ask with: let it look at an atomic flag of yours. If
 *                                  wsq_future_cancel was false, `arg` stays until it has returned
 *     retry later?                 a timer with the delay, then WSQ_PENDING: recipes/timeout.c
 *     cancel a task?               wsq_task_cancel, wsq_future_cancel. A task that runs asks
 *                                  wsq_cancelled
 *     cancel a tree of tasks?      one group that all its tasks spawn into, or a group for each
 *                                  level and wsq_group_set_parent; then wsq_group_cancel:
 *                                  recipes/deadline.c, recipes/request.c. Tasks that run ask
 *                                  wsq_cancelled. If tasks may be pending, also in groups below,
 *                                  keep them in an array, and wake each after the cancel:
 *                                  for (i = 0; i < n; i++) wsq_wake(&tasks[i]);
 *     return an error?             a task puts it into its own struct; its waiter sees it. Of many
 *                                  tasks: wsq_group_fail, wsq_group_error. Of a loop: LOOPS
 *     allow at most 4 downloads?   (concurrency, throttle) recipes/limit.c: others wait in a list,
 *                                  which has a bound, too. A pool with `workers = 4` is no limit:
 *                                  where tasks wait, or block between wsq_block_begin and _end,
 *                                  stand-ins add threads. For tasks that return WSQ_PENDING:
 *                                  recipes/semaphore.c
 *     push back when full?         (backpressure) recipes/limit.c refuses, recipes/bounded.c lets a
 *                                  thread wait, recipes/channel.c a task. examples/wsq_queue.h, a
 *                                  file to copy, refuses or lets a thread wait, as you choose.
 *                                  wsq_pool_pending says how much there is. A pool itself has no
 *                                  bound: its queue links the tasks, so wsq_spawn never says "full"
 *     limit the threads?           at most workers + max_standins exist (HOOKS in >>guide), and
 *                                  `workers` of them run queued tasks
 *     make a call that blocks?     read(), a query, a lock: wsq_block_begin, wsq_block_end. A
 *                                  stand-in keeps the core busy
 *     run on the main thread?      give it a caller_runs pool of its own: any thread spawns into
 *                                  that pool, and the main thread calls wsq_pool_run_one. Other
 *                                  threads must not wait for this pool or its tasks: a wait would
 *                                  run the tasks on the waiting thread. A worker's task that needs
 *                                  a result returns WSQ_PENDING; the main thread's task wakes it
 *     use a GUI or game loop?      (callback) give its thread a caller_runs pool, and call
 *                                  wsq_pool_run_one at each frame or event: recipes/gui.c. A loop
 *                                  that sleeps must be woken after the spawn, by an event of the
 *                                  toolkit's: SDL_PushEvent, postEvent
 *     wait in a GUI's main loop?   do not: the worker's task ends with a spawn into the main
 *                                  thread's pool: recipes/gui.c. If the spawned task may free the
 *                                  worker's task, the worker's task returns WSQ_GONE. Or ask
 *                                  wsq_task_done, wsq_group_pending, wsq_pool_wait_for(pool, 0)
 *     wait for a socket?           wsq_config.driver: an idle thread waits for it, see DRIVER;
 *                                  examples/wsq_io.h, examples/echo.c; recipes/driver.c. In a
 *                                  program without other threads: recipes/main_polls.c
 *     use epoll, libuv, GLib?      the task returns WSQ_PENDING, and the loop calls wsq_wake, on
 *                                  any thread: recipes/epoll.c. If the loop shall have no thread,
 *                                  use a driver: wsq_io.h, recipes/uv.c, glib.c. To tell the loop
 *                                  that a task is done: uv_async_send, g_main_context_invoke
 *     handle signals?              a thread that waits for them calls wsq, a handler must not:
 *                                  recipes/signals.c
 *     repeat every second?         a task that sets its next timer and returns WSQ_PENDING:
 *                                  recipes/periodic.c
 *     let the caller help?         wsq_run; with caller_runs, wsq_pool_wait and wsq_pool_run_one
 *     give a task a priority?      wsq_task_set_priority: three levels: recipes/priority.c
 *     run tasks in order?          one at a time: recipes/strand.c. To start them in order:
 *                                  WSQ_SHARED, or one worker without WSQ_LIFO. To write results in
 *                                  order: recipes/writer.c
 *     run one after another?       wsq_task_after, wsq_group_then, wsq_future_then, before the
 *                                  later one is spawned
 *     run a graph again and again? wsq_graph: recipes/graph.c
 *     build a pipeline?            recipes/pipeline.c: a parallel stage between two ordered ones
 *     replace my thread pool?      WSQ_SHARED starts tasks in the order of a queue: recipes/queue.c
 *                                  (examples/wsq_queue.h: limits, counts, purge, pause, resize)
 *     prepare each thread?         a hook at WSQ_EVENT_START and _STOP; it can also name the thread
 *                                  and tell when all have started: recipes/threads.c
 *     keep thread-local data?      prepare each thread by a hook; or an array of wsq_pool_slots
 *                                  elements, by wsq_worker_index: recipes/per_worker.c
 *     pin work to one worker?      wsq_spawn_on; for data of each worker recipes/per_worker.c
 *     run n bodies together?       recipes/gang.c; tasks that meet: recipes/barrier.c
 *     keep workers awake?          wsq_config.spin_ns: how long they look for work before they
 *                                  sleep; wsq_pool_set_spin changes it between two phases: before
 *                                  a hot phase to a bit more than its pauses, say 1000000 (1 ms)
 *     share the machine?           with another pool or library: fewer workers, and WSQ_SPIN_OFF:
 *                                  recipes/share.c (oversubscription)
 *     use fewer cores?             wsq_config.workers; 0 respects affinity (taskset) and quotas
 *     pin workers to cores?        (bind, affinity) a hook at WSQ_EVENT_START may. wsq does not,
 *                                  but on Linux a worker may leave its waker's core once. Leave
 *                                  stand-ins unpinned: their index is wsq_config.workers or more.
 *                                  With this hook no thread outside runs tasks in a wait (WAITING)
 *     free a task's memory?        when it is done, and no other thread waits for it or wakes it:
 *                                  MEMORY in >>guide. Or its function cancels its timers, frees it
 *                                  and returns WSQ_GONE: recipes/memory.c. It also returns WSQ_GONE
 *                                  if it hands the task to another one that may free it
 *     turn stealing off?           WSQ_SHARED: no worker has a queue of its own
 *     resize or pause a pool?      lend_only: recipes/resize.c
 *     find a hang, a deadlock?     wsq_pool_dump, with wsq_config.list_tasks: recipes/watchdog.c
 *     hear of long tasks?          recipes/stalls.c; recipes/latency.c: how long tasks are queued
 *     use a sanitizer, valgrind?   thread, address and undefined; memcheck: >>trouble
 *     see what the pool does?      wsq_hooks, wsq_worker_stats, each with a worker's index;
 *                                  recipes/figures.c counts bytes and waiting tasks;
 *                                  examples/trace.c draws a timeline
 *     loop over an array?          wsq_for; wsq_reduce for one result (a sum, a maximum). On a
 *                                  thread outside, inside wsq_run: LOOPS
 *     stop a loop early?           wsq_loop_stop in the body (LOOPS in >>guide)
 *     nest loops?                  call wsq_for in a body, with the ctx that this body or task
 *                                  received: recipes/nested.c
 *     get the same sum each time?  wsq_reducer.fixed: the same bits, however many workers
 *     test without threads?        caller_runs: the test's own thread runs all tasks; with a seed,
 *                                  in the same order each time: recipes/deterministic.c
 *     shut down under load?        wsq_pool_shutdown: later spawns get WSQ_ERR_CLOSED, and the task
 *                                  stays the caller's. End the threads that call, then
 *                                  wsq_pool_destroy
 *     hold a mutex in a task?      within one run, best not across a wait or join: LOCKS in >>host
 *     call fork()?                 the child may only destroy its copy of the pool, and make a new
 *                                  one: FORK() in >>guide
 *     use it in a library?         copy (vendor) wsq.h into it, and do not include it in a header
 *                                  for others. A shared library needs no more; a static one uses
 *                                  WSQ_STATIC: LIBRARIES in >>host, recipes/library.c
 *     use C++ lambdas?             examples/wsq.hpp, a header to copy (C++17): lambdas, futures,
 *                                  exceptions, algorithms; coroutines: wsq_coroutine.hpp
 *     use MPI, foreign threads?    callbacks of a library may spawn and wake, on any thread. One
 *                                  pinned task polls what must be polled: examples/mpi
 *
 * Does it ...
 *
 *     use the processor if idle?   no: a pool without work makes no system call. While a timer is
 *                                  set, or a busy worker keeps a task, one sleeper has a time-out
 *     run any task in a join?      no: jobs only, at most 32 deep. A wait runs only what it waits
 *                                  for, and pinned tasks, as long as stand-ins are left
 *     overflow my stack?           only by a recursion of your own, and in a caller_runs pool by
 *                                  tasks that wait for later ones. Other waits and joins that run
 *                                  work are bounded (WAITING); chains of tasks do not recurse
 *     starve a low priority?       no: a WSQ_LOW task runs in every 16th turn, about every 16 ms,
 *                                  also while others wait
 *     leave work near idle cores?  no, with two exceptions: a task that was just woken, for up to
 *                                  1 ms; and what a job has forked, until its next fork or join.
 *                                  PROGRESS has the bounds
 *     lose wake-ups?               no: each rule of >>idle is checked under weak memory orders
 *
 * --------------------------------------------------------------------------
 * >>host
 *
 * EXCEPTIONS. No C++ exception may leave a function that the scheduler calls: a task, a cleanup, a
 * job, a run, the body of a loop, a hook. Catch it inside that function, keep a std::exception_ptr
 * in the struct, and rethrow it where the result is fetched. wsq.hpp does this for you.
 *
 * An exception that leaves a task or a stolen job ends the program, by std::terminate. One that
 * leaves the function of wsq_run, or a job that was not stolen, may be caught further up, but the
 * worker is then in a state from which nothing recovers.
 *
 * LONGJMP must not leave such a function either, nor jump from one run of a task into another.
 *
 * SIGNALS. A signal handler must call nothing of wsq: it may interrupt a thread in the middle of a
 * call. Let it write to a pipe, or set a flag, that a thread or a task reads. The workers block all
 * signals except those of faults (SIGSEGV, ...), SIGABRT and SIGPROF, so handlers run on the host's
 * own threads.
 *
 * A program that a task starts inherits the blocked signals, SIGTERM and SIGINT too. Unblock them
 * between fork and exec, or by posix_spawnattr_setsigmask. For system() and popen(), unblock them
 * in the task before the call, and block them again after it (pthread_sigmask); or make these calls
 * on a thread outside.
 *
 * CANCELLATION. pthread_cancel does not end a thread in the middle of a call that waits, creates a
 * pool or shuts one down: the thread ends at its next cancellation point after that call. Do not
 * cancel a thread while it runs a task, a job or a run, nor one of a pool's own threads. A thread
 * outside may run a task inside its wait (WAITING). So a thread that may be cancelled waits for
 * tasks, groups and futures with a time-out (not WSQ_FOREVER), or in a pool whose hook hears of
 * WSQ_EVENT_START. It does not wait in a caller_runs pool.
 *
 * THREAD-LOCAL VARIABLES. A thread-local variable, errno included, keeps its value within one run
 * of a task, but not from one run to the next: the next run may be on another thread. What a task
 * must remember belongs in its struct. During a join or a wait, other work runs on the same thread:
 * jobs in a join; in a wait what it waits for, tasks pinned to the worker, the driver's `dispatch`
 * and, without a stand-in, any task. That work may change the variable, and the array element of
 * this wsq_worker_index. And a thread outside may run a task that it waits for (WAITING). If your
 * pinned tasks set the variable on each worker, it is not set on that thread. If the pool has a
 * hook that hears of WSQ_EVENT_START, no thread outside runs a task in its wait.
 *
 * EXIT. Call wsq_pool_destroy before main returns or exit() is called. Otherwise the workers go on,
 * and use objects that the exit handlers destroy. A task may call exit(), and the process ends; but
 * the exit handlers must not wait for the pool, because the task that called never returns. _Exit
 * and abort() are always safe. A library that may be unloaded destroys its pools first.
 *
 * LIBRARIES. A shared library or plugin may bring its own copy of wsq.h, of any version and with
 * any macros of >>macros. gcc and clang hide the functions, so the copies of two libraries in one
 * program do not see each other. A pool, its tasks, groups and futures belong to the copy that
 * created the pool (a debug build asserts this): give other libraries functions of your own, and
 * no wsq_pool.
 *
 * A static library shares the copy of the program that it is linked into, where one file defines
 * WSQ_IMPLEMENTATION. If a second file defines it, the linker reports a "multiple definition". A
 * library that shall have its own copy uses wsq in one file, with WSQ_STATIC, or hides its copy
 * (`ld -r -o all.o one.o two.o && objcopy --localize-hidden all.o`, GNU). If several libraries
 * shall share pools, build one shared library that exports wsq: compile it and its users with the
 * same macros and
 * -DWSQ_API='extern __attribute__((visibility("default")))', in C++ extern "C".
 *
 * LOCKS. A task may take a mutex and release it in the same run. It must not keep the mutex when it
 * returns WSQ_PENDING or WSQ_YIELD: another thread would have to release it. A mutex that is often
 * contended blocks workers. If the wait for it is long, take it between wsq_block_begin and
 * wsq_block_end. (wsq_block_end never waits, so you may hold the mutex there.) Better, let one task
 * own the data, and send it work. During a join or a wait the thread runs other work (see
 * THREAD-LOCAL VARIABLES): keep no mutex then that this work takes, too.
 *
 * --------------------------------------------------------------------------
 * >>trouble
 *
 * ALL WORK IS ON ONE WORKER. wsq_stats_print shows how many tasks each worker ran and stole, and
 * how often it slept; wsq_pool_workers says how many workers there are. Then look for one of these:
 *
 *     one worker       the process may use one core only (affinity, a cgroup's quota), or
 *                      wsq_config.workers is 1
 *     too little work  a sleeping worker needs about 5 to 20 us to begin. Work that is over by then
 *                      never gets a second worker
 *     one long task    a task is not cut. Split it: wsq_for, wsq_fork, or more tasks
 *     a long job       jobs are published at a fork or join of their owner. A job that computes for
 *                      long between two of them keeps what it has forked: fork deeper, or loop with
 *                      wsq_for
 *     messages         a woken task runs on the worker that woke it, where its data is. A chain of
 *                      wakes stays there, unless tasks take 3 us or more on average
 *     pinned tasks     only the worker that wsq_spawn_on names may run them
 *     a lock           all workers wait for one mutex, one by one: perf, or the trace, shows gaps
 *     blocked workers  calls that block without wsq_block_begin hold their workers
 *     no threads       caller_runs, or a lend_only pool with one thread
 *
 * NOTHING MOVES. Usually a wake was forgotten. Call wsq_pool_dump from a thread of your own, after
 * a time-out (recipes/watchdog.c) or on a command. It shows which threads wait, and for what. In a
 * pool with wsq_config.list_tasks it also shows which tasks wait for a wake, since when, and the
 * names of their functions (wsq_hooks.name). A task that is inside a wait is listed with "runs, on
 * worker 0": the line "wait  worker 0 waits for ..." says for what. (If it waits in another pool,
 * the dump of that pool has the line, for "a thread from outside".)
 *
 * If the program hangs already, a debugger can make the call: `gdb -p` and the process's number,
 * `up` to a function that has the pool in a variable, then
 *
 *     call (void)wsq_pool_dump(pool, stderr)
 *
 * The program itself writes the dump, and goes on when gdb quits. (With WSQ_STATIC, the file must
 * call wsq_pool_dump somewhere; otherwise the compiler leaves that function out.)
 *
 * A task that has waited longer than its event can take is the one to look at. "Held back" is a
 * task whose predecessors are not done: one of them may never have been spawned. Other causes: a
 * cancelled group with pending tasks (CANCELLING), no stand-in left (WAITING), a call that blocks
 * without wsq_block_begin, a lock held across a wait, a lend_only pool without threads.
 *
 * SANITIZERS. The compiler's -fsanitize=thread (TSan), address and undefined work, and so does
 * valgrind's memcheck. Helgrind and DRD know no atomic operations: they report 100,000 errors in a
 * correct program.
 *
 * Stolen work can be slower than work that stays: the reference page says when, and what helps.
 *
 * --------------------------------------------------------------------------
 * >>from
 *
 * The left side is what you know, the right side is what you write. The reference page (`make
 * docs`) also has OpenMP, std::async, GCD, Rayon, enkiTS and Taskflow.
 *
 * oneTBB:
 *     task_group::run, wait   wsq_group_spawn, wsq_group_wait; recursive: wsq_fork, wsq_join
 *     parallel_for, _reduce   wsq_for; wsq_reduce
 *     cancel_group_execution  wsq_group_cancel; in a loop: wsq_loop_stop
 *     task_arena              a wsq_pool of its own
 *     arena::enqueue          wsq_spawn, wsq_go
 *     flow::graph             wsq_task_after, wsq_graph; stages: recipes/pipeline.c
 *     suspend, resume         WSQ_PENDING, wsq_wake
 *
 * Tokio:
 *     tokio::spawn                wsq_spawn: the task is a state machine in a struct of yours
 *     Poll::Pending, Waker::wake  WSQ_PENDING, wsq_wake
 *     spawn_blocking              wsq_block_begin, wsq_block_end around the call
 *     JoinHandle::await, abort    wsq_task_after or wsq_task_wait; wsq_task_cancel
 *     JoinSet, CancellationToken  wsq_group; wsq_group_cancel, wsq_cancelled
 *     time::sleep, timeout        wsq_timer_set, then WSQ_PENDING
 *     yield_now, coop budget      WSQ_YIELD, wsq_budget_take
 *     Semaphore, mpsc::channel    recipes/semaphore.c, recipes/channel.c
 *     Builder::current_thread     wsq_config.caller_runs
 *
 * Go:
 *     go f(x)                   wsq_go, or wsq_spawn: a task has no stack of its own: to wait, it
 *                               returns WSQ_PENDING
 *     sync.WaitGroup, errgroup  wsq_group; wsq_group_fail keeps the first error
 *     a channel                 recipes/channel.c
 *     context.WithCancel        wsq_group_cancel, and wsq_cancelled in the tasks; for a context
 *                               made from another, wsq_group_set_parent
 *     time.AfterFunc, Reset     wsq_timer_set; Stop: wsq_timer_cancel
 *     runtime.Gosched           WSQ_YIELD
 *     a blocking system call    wsq_block_begin, wsq_block_end around the call
 *     GOMAXPROCS                wsq_config.workers
 *
 * libuv:
 *     uv_queue_work                wsq_spawn, and uv_async_send at the end of the task
 *     uv_cancel                    wsq_future_cancel: recipes/cancel.c. A function may drop its
 *                                  own future, which wsq_submit stores before the function starts
 *     the queue's order            wsq_config.order: WSQ_SHARED, where requests may block
 *     slow requests, at most half  recipes/limit.c
 *     the threads take turns       they do not: the same worker is woken again, while one suffices
 *     few cores beside the loop    wsq_config.spin_ns: WSQ_SPIN_OFF gives cores back sooner, but
 *                                  makes single requests slower
 *     uv_timer_start, _stop        wsq_timer_set, wsq_timer_cancel
 *     UV_THREADPOOL_SIZE           wsq_config.workers
 *
 * --------------------------------------------------------------------------
 * >>platforms
 *
 * wsq runs wherever gcc or clang has POSIX threads, and with MinGW-w64 on Windows 8 and later; on
 * 32 or 64 bits, in either byte order. The declarations are C99, the implementation is C99 or
 * C++11. Other compilers need C11 with stdatomic.h. Microsoft's cl (C only, /std:c11
 * /experimental:c11atomics) has never been tried. clang-cl compiles both languages, but what it
 * compiled has not been run.
 *
 * Threads sleep in the kernel on Linux, Windows, FreeBSD, OpenBSD, DragonFly, macOS 14.4 and in
 * WebAssembly, elsewhere on mutexes and conditions. README.md says what has been run where. For
 * another system, supply a WSQ_PLATFORM_HEADER with the ten functions that >>platform lists.
 *
 * The reference page (`make docs`) has the details of Windows, WebAssembly, musl and thread names.
 *
 * --------------------------------------------------------------------------
 * >>changes
 *
 * 3.0.0  timers are structs of yours, and cost the same beside a million others: wsq_timer_set and
 *        wsq_timer_cancel replace two functions of 2.0.
 *            wsq_wake_after(pool, task, ns)   wsq_timer_set(pool, &timer, task, ns), with a zeroed
 *                                             wsq_timer for each wake that is to come
 *            wsq_wake_cancel(pool, task)      wsq_timer_cancel(&timer) for each of them
 *        wsq_group_set_parent: a cancel reaches the groups below.
 *        wsq_config.driver: an idle thread waits for your events, and no reactor thread is needed.
 *        gcc and clang hide all functions: see LIBRARIES in >>host, if a shared library of yours
 *        exported them. A wait of a task for itself returns WSQ_ERR_INVALID. wsq_ring.slots is
 *        wsq_ring.items.
 *        wsq_graph: graphs that run again, with edges that stay. wsq_group_spawn_batch.
 *        wsq_reducer.fixed: reductions that repeat bit by bit. wsq_pool_set_spin: hot phases.
 *        wsq_hooks.events: a hook for some events only. wsq_reducer and wsq_hooks each have a new
 *        member at their end: zero the struct (= {0}) before you set the members that you know.
 * The reference page has the changes of 2.0, 1.1 and 1.0.
 */

#ifndef WSQ_H
#define WSQ_H

/* ==========================================================================
 * >>config
 * ========================================================================== */

#define WSQ_VERSION 3000000 /* major * 1000000 + minor * 1000 + patch */

/* Checks what wsq.h needs, so that the user reads one clear sentence, not a hundred errors. */
#if defined(__cplusplus) && !defined(_MSVC_LANG) && __cplusplus < 201103L
#error "wsq.h needs C++11 or later (-std=c++11); this is older C++"
#elif !defined(__cplusplus) && (!defined(__STDC_VERSION__) || __STDC_VERSION__ < 199901L)
#error "wsq.h needs C99 or later (-std=c99; Microsoft's cl: /std:c11); this is older C"
#elif defined(WSQ_ATOMIC_HEADER)
#elif defined(__TINYC__)
#error "wsq.h needs atomics and thread-local variables, which tcc lacks: use gcc or clang"
#elif (!defined(__GNUC__) && !defined(__clang__)) || defined(WSQ_FORCE_STDATOMIC)
#if defined(__cplusplus)
#error "wsq.h, in C++, needs gcc or clang (or clang-cl): other compilers take only its C11"
#elif __STDC_VERSION__ < 201112L || defined(__STDC_NO_ATOMICS__)
#error "wsq.h needs gcc, clang, C11's stdatomic.h (-std=c11), or a WSQ_ATOMIC_HEADER (>>macros)"
#endif
#endif

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The code is C, in C++ files too: its casts are C casts. */
#if defined(__GNUC__) && defined(__cplusplus)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/* Hides the functions, because each library and program has its own copy of wsq. Another copy may
 * have other macros, or be another version. */
#if (defined(__GNUC__) || defined(__clang__)) && !defined(_WIN32) && !defined(__CYGWIN__)
#define WSQI_OWN __attribute__((__visibility__("hidden")))
#else
#define WSQI_OWN
#endif

#if defined(WSQ_INLINE)
#if (defined(__GNUC__) || defined(__clang__)) && !defined(_WIN32)
#define WSQI_ONE __attribute__((__weak__)) WSQI_OWN /* the linker keeps one copy of each function */
#elif defined(__cplusplus) && __cplusplus >= 201703L
#define WSQI_ONE inline
#else
#error "WSQ_INLINE needs C++17, or gcc or clang on a system other than Windows"
#endif
#ifndef WSQ_IMPLEMENTATION
#define WSQ_IMPLEMENTATION
#endif
#else
#define WSQI_ONE static
#endif

#ifndef WSQ_API
#if defined(WSQ_STATIC)
#define WSQ_API static WSQI_UNUSED
#elif defined(WSQ_INLINE) && defined(__cplusplus)
#define WSQ_API extern "C" WSQI_ONE
#elif defined(WSQ_INLINE)
#define WSQ_API extern WSQI_ONE
#elif defined(__cplusplus)
#define WSQ_API extern "C" WSQI_OWN
#else
#define WSQ_API extern WSQI_OWN
#endif
#endif

#ifndef WSQ_ASSERT
#include <assert.h>
#define WSQ_ASSERT(condition) assert(condition)
#endif

/* Bytes of a cache line: two threads should not write to the same line. The processor decides: 64
 * on x86, ARM and RISC-V; 128 on Apple's cores. */
#ifndef WSQ_CACHELINE
#if defined(__APPLE__) && defined(__aarch64__)
#define WSQ_CACHELINE 128
#else
#define WSQ_CACHELINE 64
#endif
#endif

/* How many items a ring has room for. 256 comes from Tokio; the tests also run with 2 and 4. */
#ifndef WSQ_RING_CAPACITY
#define WSQ_RING_CAPACITY 256
#endif

/* First index of a ring. The tests start just below 2^32, so that the index wraps round. */
#ifndef WSQ_RING_START
#define WSQ_RING_START 0u
#endif

/* Bytes of a worker's block: its header and its job stack. Pages that no job reaches stay
 * untouched. */
#ifndef WSQ_BLOCK_SIZE
#if UINTPTR_MAX > 0xffffffffu
#define WSQ_BLOCK_SIZE 1048576
#else
#define WSQ_BLOCK_SIZE 131072
#endif
#endif

#if defined(WSQ_ATOMIC_HEADER)
#define WSQI_REPLACED 1
#else
#define WSQI_REPLACED 0
#endif

/* This symbol's name contains the values that must be the same in all files. Every file refers to
 * the symbol, and the implementation defines it: a file with other values does not link. */
#define WSQI_NAME_OF(version, line, ring, block, replaced) \
    wsq_##version##_with_WSQ_CACHELINE_##line##_WSQ_RING_CAPACITY_##ring##_WSQ_BLOCK_SIZE_##block \
    ##_WSQ_ATOMIC_HEADER_##replaced
#define WSQI_NAME(version, line, ring, block, replaced) \
    WSQI_NAME_OF(version, line, ring, block, replaced)
#define WSQI_CONFIGURED \
    WSQI_NAME(WSQ_VERSION, WSQ_CACHELINE, WSQ_RING_CAPACITY, WSQ_BLOCK_SIZE, WSQI_REPLACED)

#define WSQI_BLOCK_MASK ((uintptr_t)(WSQ_BLOCK_SIZE)-1)

#define WSQ_LIFO_OFF UINT32_MAX    /* wsq_config.lifo_cap: workers have no LIFO slot */
#define WSQ_STANDINS_OFF UINT_MAX  /* wsq_config.max_standins: the pool starts no stand-ins */
#define WSQ_SPIN_OFF UINT64_MAX    /* wsq_config.spin_ns: a worker looks once before it sleeps */
#define WSQ_ANY_WORKER UINT_MAX    /* wsq_task_set_worker: the task is not pinned */
#define WSQ_FOREVER UINT64_MAX     /* a time-out that never comes */
#define WSQ_OUTSIDE UINT_MAX       /* a hook's `worker`: the thread is not one of the pool's */

#if defined(__GNUC__) || defined(__clang__) /* clang-cl defines only __clang__ */
#define WSQI_GNU 1
#define WSQI_ALIGNED(n) __attribute__((__aligned__(n)))
#define WSQI_LIKELY(x) __builtin_expect(!!(x), 1)
#define WSQI_UNUSED __attribute__((__unused__))
#define WSQI_COLD __attribute__((__cold__, __noinline__))
#define WSQI_HOT static inline __attribute__((__always_inline__)) /* steps of the worker's loop */
#else
#if defined(__cplusplus)
#define WSQI_ALIGNED(n) alignas(n)
#elif __STDC_VERSION__ >= 201112L
#define WSQI_ALIGNED(n) _Alignas(n)
#else
#define WSQI_ALIGNED(n)
#endif
#define WSQI_LIKELY(x) (x)
#define WSQI_UNUSED
#define WSQI_COLD
#define WSQI_HOT static inline
#endif

/* --------------------------------------------------------------------------
 * >>vocabulary of atomics: every shared word has one of three wrapped types, and every access names
 * its order. A WSQ_ATOMIC_HEADER replaces these types and operations (for a model checker or
 * another compiler).
 *
 *   wsqi_a32, wsqi_a64, wsqi_aptr        a struct whose member is v: plain access does not compile
 *   wsqi_load_rlx/acq/sc(p)              returns the value
 *   wsqi_store_rlx/rel/sc(p, value)
 *   wsqi_xchg_acq/rel/acqrel/sc(p, value)       returns the former value
 *   wsqi_add_rlx/acqrel/sc(p, value), wsqi_or_acqrel/sc, wsqi_and_acqrel   return the former value
 *   wsqi_cas_rlx/acq/rel/acqrel/sc(p, &expected, value)   strong; returns true if it stored the
 *                                        value; if not, it was only a relaxed load of the word
 *   wsqi_load_own(p), and other suffixes    relaxed, and the suffix says why that is enough:
 *       _own     only this thread writes the word
 *       _fenced  a full barrier just before the access orders it; the label stands at the barrier
 *       _hint    the value is only a guess, and is checked again before it matters
 *       _stat    a statistic
 *       _locked  a lock orders the access
 *       _init    no other thread knows the word yet
 *   wsqi_fence_sc(), wsqi_pause()        a full barrier; a hint that this thread spins
 *   wsqi_fence_rmw()                     a full barrier directly after a read-modify-write. On x86
 *                                        the read-modify-write is a full barrier itself
 *
 *   WSQI_OPAQUE(pointer)                 optional: see >>inline
 *   wsqi_get(p), wsqi_set(p, value)      plain access to memory that passes from thread to thread.
 *                                        Accesses to atomic words order it, and test/explore checks
 *                                        this order
 * -------------------------------------------------------------------------- */
#if defined(WSQ_ATOMIC_HEADER)
#include WSQ_ATOMIC_HEADER
#elif defined(WSQI_GNU) && !defined(WSQ_FORCE_STDATOMIC)

typedef struct wsqi_a32 { uint32_t v; } wsqi_a32;
typedef struct wsqi_a64 { WSQI_ALIGNED(8) uint64_t v; } wsqi_a64; /* i386 would align it to 4 */
typedef struct wsqi_aptr { void *v; } wsqi_aptr;

#define WSQI_CAS(p, e, d, order) \
    __atomic_compare_exchange_n(&(p)->v, (e), (d), 0, (order), __ATOMIC_RELAXED)

#define wsqi_load_rlx(p) __atomic_load_n(&(p)->v, __ATOMIC_RELAXED)
#define wsqi_load_acq(p) __atomic_load_n(&(p)->v, __ATOMIC_ACQUIRE)
#define wsqi_load_sc(p) __atomic_load_n(&(p)->v, __ATOMIC_SEQ_CST)
#define wsqi_store_rlx(p, d) __atomic_store_n(&(p)->v, (d), __ATOMIC_RELAXED)
#define wsqi_store_rel(p, d) __atomic_store_n(&(p)->v, (d), __ATOMIC_RELEASE)
#define wsqi_store_sc(p, d) __atomic_store_n(&(p)->v, (d), __ATOMIC_SEQ_CST)
#define wsqi_xchg_acq(p, d) __atomic_exchange_n(&(p)->v, (d), __ATOMIC_ACQUIRE)
#define wsqi_xchg_rel(p, d) __atomic_exchange_n(&(p)->v, (d), __ATOMIC_RELEASE)
#define wsqi_xchg_acqrel(p, d) __atomic_exchange_n(&(p)->v, (d), __ATOMIC_ACQ_REL)
#define wsqi_xchg_sc(p, d) __atomic_exchange_n(&(p)->v, (d), __ATOMIC_SEQ_CST)
#define wsqi_add_rlx(p, d) __atomic_fetch_add(&(p)->v, (d), __ATOMIC_RELAXED)
#define wsqi_add_acqrel(p, d) __atomic_fetch_add(&(p)->v, (d), __ATOMIC_ACQ_REL)
#define wsqi_add_sc(p, d) __atomic_fetch_add(&(p)->v, (d), __ATOMIC_SEQ_CST)
#define wsqi_or_acqrel(p, d) __atomic_fetch_or(&(p)->v, (d), __ATOMIC_ACQ_REL)
#define wsqi_or_sc(p, d) __atomic_fetch_or(&(p)->v, (d), __ATOMIC_SEQ_CST)
#define wsqi_and_acqrel(p, d) __atomic_fetch_and(&(p)->v, (d), __ATOMIC_ACQ_REL)
#define wsqi_cas_rlx(p, e, d) WSQI_CAS(p, e, d, __ATOMIC_RELAXED)
#define wsqi_cas_acq(p, e, d) WSQI_CAS(p, e, d, __ATOMIC_ACQUIRE)
#define wsqi_cas_rel(p, e, d) WSQI_CAS(p, e, d, __ATOMIC_RELEASE)
#define wsqi_cas_acqrel(p, e, d) WSQI_CAS(p, e, d, __ATOMIC_ACQ_REL)
#define wsqi_cas_sc(p, e, d) WSQI_CAS(p, e, d, __ATOMIC_SEQ_CST)

#else
#include <stdatomic.h>

typedef struct wsqi_a32 { _Atomic uint32_t v; } wsqi_a32;
typedef struct wsqi_a64 { _Atomic uint64_t v; } wsqi_a64;
typedef struct wsqi_aptr { void *_Atomic v; } wsqi_aptr;

#define WSQI_CAS(p, e, d, order) \
    atomic_compare_exchange_strong_explicit(&(p)->v, (e), (d), (order), memory_order_relaxed)

#define wsqi_load_rlx(p) atomic_load_explicit(&(p)->v, memory_order_relaxed)
#define wsqi_load_acq(p) atomic_load_explicit(&(p)->v, memory_order_acquire)
#define wsqi_load_sc(p) atomic_load_explicit(&(p)->v, memory_order_seq_cst)
#define wsqi_store_rlx(p, d) atomic_store_explicit(&(p)->v, (d), memory_order_relaxed)
#define wsqi_store_rel(p, d) atomic_store_explicit(&(p)->v, (d), memory_order_release)
#define wsqi_store_sc(p, d) atomic_store_explicit(&(p)->v, (d), memory_order_seq_cst)
#define wsqi_xchg_acq(p, d) atomic_exchange_explicit(&(p)->v, (d), memory_order_acquire)
#define wsqi_xchg_rel(p, d) atomic_exchange_explicit(&(p)->v, (d), memory_order_release)
#define wsqi_xchg_acqrel(p, d) atomic_exchange_explicit(&(p)->v, (d), memory_order_acq_rel)
#define wsqi_xchg_sc(p, d) atomic_exchange_explicit(&(p)->v, (d), memory_order_seq_cst)
#define wsqi_add_rlx(p, d) atomic_fetch_add_explicit(&(p)->v, (d), memory_order_relaxed)
#define wsqi_add_acqrel(p, d) atomic_fetch_add_explicit(&(p)->v, (d), memory_order_acq_rel)
#define wsqi_add_sc(p, d) atomic_fetch_add_explicit(&(p)->v, (d), memory_order_seq_cst)
#define wsqi_or_acqrel(p, d) atomic_fetch_or_explicit(&(p)->v, (d), memory_order_acq_rel)
#define wsqi_or_sc(p, d) atomic_fetch_or_explicit(&(p)->v, (d), memory_order_seq_cst)
#define wsqi_and_acqrel(p, d) atomic_fetch_and_explicit(&(p)->v, (d), memory_order_acq_rel)
#define wsqi_cas_rlx(p, e, d) WSQI_CAS(p, e, d, memory_order_relaxed)
#define wsqi_cas_acq(p, e, d) WSQI_CAS(p, e, d, memory_order_acquire)
#define wsqi_cas_rel(p, e, d) WSQI_CAS(p, e, d, memory_order_release)
#define wsqi_cas_acqrel(p, e, d) WSQI_CAS(p, e, d, memory_order_acq_rel)
#define wsqi_cas_sc(p, e, d) WSQI_CAS(p, e, d, memory_order_seq_cst)
#endif

/* Relaxed accesses, named by the reason why relaxed is enough. */
#define wsqi_load_own(p) wsqi_load_rlx(p)
#define wsqi_load_fenced(p) wsqi_load_rlx(p)
#define wsqi_load_hint(p) wsqi_load_rlx(p)
#define wsqi_load_stat(p) wsqi_load_rlx(p)
#define wsqi_load_locked(p) wsqi_load_rlx(p)
#define wsqi_store_own(p, d) wsqi_store_rlx(p, d)
#define wsqi_store_hint(p, d) wsqi_store_rlx(p, d)
#define wsqi_store_stat(p, d) wsqi_store_rlx(p, d)
#define wsqi_store_locked(p, d) wsqi_store_rlx(p, d)
#define wsqi_store_init(p, d) wsqi_store_rlx(p, d)
#define wsqi_add_hint(p, d) wsqi_add_rlx(p, d)
#define wsqi_add_stat(p, d) wsqi_add_rlx(p, d)

/* A WSQ_ATOMIC_HEADER may define these two macros, too. */
#ifndef wsqi_get
#define wsqi_get(p) (*(p))
#define wsqi_set(p, value) ((void)(*(p) = (value)))
#endif

/* ==========================================================================
 * >>types (do not read or write members that are "for the scheduler")
 * ========================================================================== */

/* The result of most functions. A failure is a negative value. A call that fails changes nothing,
 * except what its contract names. wsq_result_string names a result in words. */
typedef enum wsq_result {
    WSQ_OK = 0,             /* the call did what its contract says */
    WSQ_ERR_MEMORY = -1,    /* the allocator returned NULL */
    WSQ_ERR_INVALID = -2,   /* an argument is wrong, or an object's state forbids the call */
    WSQ_ERR_THREAD = -3,    /* the system did not start a thread */
    WSQ_ERR_CLOSED = -4,    /* the pool is shutting down and takes no more work */
    WSQ_ERR_TIMEOUT = -5,   /* the time was up before the wait was over */
    WSQ_ERR_FORKED = -6,    /* the caller is in a child of fork(); the pool is the parent's */
    WSQ_ERR_CANCELLED = -7  /* the task, group, future or pool was cancelled */
} wsq_result;

/* A pool of workers. wsq_pool_create allocates one and wsq_pool_destroy frees it; between the two
 * any thread may use it. */
typedef struct wsq_pool wsq_pool;
/* The handle of a call that wsq_submit has queued. The pool owns the memory behind the handle. The
 * handle must go to wsq_future_get or to wsq_future_drop, once; after that it is invalid. */
typedef struct wsq_future wsq_future;

struct wsq_task; /* these three types are defined below, with their contracts */
struct wsq_job;
struct wsq_allocator;
typedef struct wsqi_worker wsqi_worker;

/* The context: where the next fork puts its job on the worker's job stack. The function of a task,
 * a job, a run or a loop receives a context, and passes it on to the functions that it calls. (The
 * functions of wsq_go and wsq_submit, cleanups and hooks get none.) A context is valid on the
 * thread that received it, until the function that received it returns. */
typedef struct wsqi_entry { struct wsq_job *job; } *wsq_ctx;

/* ---- queues: items are void *, never NULL ---- */

/* A bounded queue, first in, first out. One thread, its owner, pushes and pops; any thread steals.
 * It needs no pool. The caller owns the memory, which needs the alignment of WSQ_CACHELINE. The
 * members are for the scheduler. */
typedef struct wsq_ring {
    WSQI_ALIGNED(WSQ_CACHELINE) wsqi_a64 head; /* two indices (>>ring); owner and thieves write */
    WSQI_ALIGNED(WSQ_CACHELINE) wsqi_a32 tail; /* owner writes, thieves read */
    WSQI_ALIGNED(WSQ_CACHELINE) void *items[WSQ_RING_CAPACITY]; /* owner writes, thieves read */
} wsq_ring;

typedef struct wsqi_array wsqi_array;
/* A queue that grows: its owner pushes and pops the newest item, any thread steals the oldest. It
 * needs no pool. The caller owns the struct, which needs the alignment of WSQ_CACHELINE; the deque
 * owns its array, which wsq_deque_fini frees. The members are for the scheduler. */
typedef struct wsq_deque {
    WSQI_ALIGNED(WSQ_CACHELINE) wsqi_a64 top;    /* thieves write by CAS, and so does the owner when
                                                  * it takes the last item */
    WSQI_ALIGNED(WSQ_CACHELINE) wsqi_a64 bottom; /* owner writes, thieves read */
    wsqi_aptr array;                             /* owner writes, thieves read */
    const struct wsq_allocator *allocator;       /* set once, before the deque is shared */
} wsq_deque;

/* The result of wsq_deque_steal. */
typedef enum wsq_steal {
    WSQ_STEAL_OK,    /* the caller has taken an item */
    WSQ_STEAL_EMPTY, /* the deque was empty */
    WSQ_STEAL_LOST   /* another thread took the item first: a second attempt may succeed */
} wsq_steal;

/* A generator of pseudo-random numbers, for one thread. wsq_random_seed sets it up, and the members
 * are for the scheduler. */
typedef struct wsq_random { uint32_t one, two; } wsq_random;

/* The tuner: from the measured time per task it computes how many tasks a worker may run between
 * two looks at the global queue. One thread uses it. You may only read the members. */
typedef struct wsq_tune {
    uint64_t average_ns, target_ns; /* the moving average of a task's time; the time that should
                                     * pass between two looks */
    uint32_t interval, min_interval, max_interval; /* tasks between two looks; bounds of interval */
} wsq_tune;

/* ---- the pool ---- */

/* The order in which a pool starts the tasks of one spawning thread; see ORDER in >>guide. (Not
 * promised, but true: a WSQ_FIFO pool of at most 5 workers starts tasks from outside in order as
 * long as tasks take 20 us or more on average, and fewer than 16 tasks per worker wait.) */
typedef enum wsq_order {
    WSQ_FIFO,  /* each worker has a ring, oldest first, and a LIFO slot for the task woken last.
                * With one worker, tasks start exactly in the order of their spawns */
    WSQ_LIFO,  /* each worker has a deque for what it spawns or wakes, the newest first; thieves
                * take the oldest. Tasks that yield or come from outside lie in the worker's ring */
    WSQ_SHARED /* all workers take from the global queue, exactly in the order of the spawns. No
                * task is ever stolen from a worker; jobs are, as in every pool */
} wsq_order;

/* What a shutdown does with the work that is left. */
typedef enum wsq_shutdown {
    WSQ_DRAIN, /* all work runs to its end */
    WSQ_CANCEL /* running tasks return as usual; tasks that have not started are cancelled */
} wsq_shutdown;

/* Where a pool gets its memory. Both functions are called from any thread, also from several at the
 * same time, and must not call the pool. The struct is copied; what `user` points to is the
 * caller's and must outlive the pool. Do not return huge pages: a worker uses only a small part of
 * its block of WSQ_BLOCK_SIZE bytes (the first few KiB, and what its jobs take), so most of each
 * page would be wasted. (On Linux, without an allocator of yours or WSQ_MALLOC, blocks come from
 * mmap, without huge pages.) */
typedef struct wsq_allocator {
    /* This returns `size` bytes at a multiple of `alignment` (a power of two), or NULL if there is
     * no memory. */
    void *(*allocate)(size_t size, size_t alignment, void *user);
    /* This frees what `allocate` returned for the same `size`. */
    void (*release)(void *memory, size_t size, void *user);
    void *user; /* the last argument of both functions */
} wsq_allocator;

/* The event that a hook reports. The hook's other arguments, `subject` and `value`, are NULL and 0
 * unless the event's line here names them. */
typedef enum wsq_event {
    WSQ_EVENT_START,      /* a worker's thread begins */
    WSQ_EVENT_STOP,       /* a worker's thread ends */
    WSQ_EVENT_PARK,       /* the worker goes to sleep */
    WSQ_EVENT_UNPARK,     /* the worker is awake again */
    WSQ_EVENT_TASK_BEGIN, /* a function is about to be called; subject: the wsq_task, the stolen
                           * wsq_job, or NULL for the function of wsq_run */
    WSQ_EVENT_TASK_END,   /* the function returned; subject: the address that TASK_BEGIN gave, whose
                           * memory may be freed by now; value: the wsq_poll of a task */
    WSQ_EVENT_STEAL,      /* work was stolen; subject: the first task, or the job; value: the
                           * victim's index */
    WSQ_EVENT_PUBLISH,    /* jobs were made visible to thieves; value: how many */
    WSQ_EVENT_SPAWN,      /* a task is spawned; subject: the wsq_task; value: how many predecessors
                           * it still waits for. At 0 the task is queued right after this event */
    WSQ_EVENT_WAKE,       /* a task that was pending, or held, is queued right after this event;
                           * subject: the wsq_task; value: the wsq_cause */
    WSQ_EVENT_CANCEL,     /* a task ends by being cancelled; subject: the wsq_task, whose cleanup
                           * has not been called yet */
    WSQ_EVENT_BLOCK,      /* a function begins to wait; subject: the wsq_task, wsq_group, wsq_pool,
                           * wsq_future or stolen wsq_job that it waits for, or NULL in the
                           * outermost wsq_block_begin. In a caller_runs pool wsq_block_begin
                           * reports nothing, and a wait only if it finds no task to run */
    WSQ_EVENT_UNBLOCK     /* the function goes on; subject: the address that BLOCK gave, whose
                           * memory may be freed by now */
} wsq_event;

/* Why a task is queued again: the value of WSQ_EVENT_WAKE. */
typedef enum wsq_cause {
    WSQ_CAUSE_WAKE,  /* the thread that reports the event called wsq_wake or wsq_task_cancel */
    WSQ_CAUSE_TIMER, /* the time of a wsq_timer has come */
    WSQ_CAUSE_AFTER, /* the task's last predecessor (a task, group or future) has ended */
    WSQ_CAUSE_EARLY  /* a wake came while the task ran, and its run has now ended */
} wsq_cause;

/* Functions that observe a pool (wsq_config.hooks). `event` is called often, and on several threads
 * at the same time. `worker` is the index (>>words) of the calling thread, or WSQ_OUTSIDE on a
 * thread outside that spawns, wakes or cancels. `event` must not spawn or wake a task, wait, or
 * free a future. It should be short: at STEAL, PARK and UNPARK its thread still counts as one that
 * looks for work or sleeps, so that meanwhile tasks may wait beside idle workers. The struct is
 * copied; what `user` points to is the caller's and must outlive the pool. */
typedef struct wsq_hooks {
    /* This is called at each event that `events` selects. May be NULL. */
    void (*event)(void *user, wsq_event event, unsigned worker, const void *subject,
                  uint64_t value);
    void *user; /* the first argument of both functions */
    /* This returns the name of the function at an address, for wsq_pool_dump, or NULL if it knows
     * no name. It is called on the thread that dumps. May be NULL. */
    const char *(*name)(void *user, uintptr_t function);
    uint32_t events; /* which events are reported: a sum of 1u << WSQ_EVENT_...; 0: all */
} wsq_hooks;

/* Tells a pool which workers are near each other, where the system does not say it. */
typedef struct wsq_topology {
    /* This returns the place where the worker with this index runs at this moment. The upper 16
     * bits are the number of the NUMA node. The lower 16 are the number, within that node, of the
     * group of cores that share a cache. It is called on the worker's own thread, each time the
     * worker looks for work elsewhere. */
    uint32_t (*place)(unsigned worker, void *user);
    void *user; /* the last argument of place */
} wsq_topology;

/* Functions with which an idle thread of the pool waits for outside events: for sockets, a GUI...;
 * see DRIVER in >>guide. Only one thread at a time is inside `wait` or `dispatch`, and it sees what
 * the previous thread wrote in these two functions. No function may be NULL. */
typedef struct wsq_driver {
    /* This waits for events, but not longer than the time-out (WSQ_FOREVER: without end; 0: it only
     * looks). It may return early, for any reason. It must call nothing of wsq. It returns true if
     * there are events to dispatch. */
    bool (*wait)(uint64_t timeout_ns, void *user);
    /* The thread that was in `wait` calls this when `wait` has returned true, unless the pool has
     * ended by then. This calls wsq_wake or wsq_spawn for each event. It must not wait: see
     * DRIVER in >>guide. */
    void (*dispatch)(wsq_pool *pool, void *user);
    /* This makes the `wait` that is under way return soon or, if none is under way, the next one.
     * Any thread calls this, inside any call of wsq, perhaps late, or more than once. */
    void (*interrupt)(void *user);
    void *user; /* the functions' last argument; it must stay valid until the pool is destroyed */
} wsq_driver;

/* The options of a pool. A zeroed struct asks for the default of every member. */
typedef struct wsq_config {
    unsigned workers;           /* threads that work at the same time, at most 16383; 0: one for
                                 * each usable core, or one with caller_runs. (Affinity and the
                                 * cgroup's quota, rounded up, are read when the pool is created.)
                                 * Beware of "cores - 1": with one core that is 0, which means all
                                 * cores */
    unsigned max_standins;      /* threads that may stand in for blocked workers, at most 16383; 0:
                                 * as many as workers, at least 64 (8 on Windows and on 32 bits);
                                 * WSQ_STANDINS_OFF: none */
    bool caller_runs;           /* true: the pool starts no threads; its callers run the tasks, and
                                 * their stacks limit how deep waits nest: WAITING in >>guide */
    uint64_t seed;              /* seed of the random choice of victims; 0: taken from the clock */
    uint64_t park_timeout_ns;   /* a worker that has slept this long looks for tasks whose wake-up
                                 * was lost (wsq_stats.rescued); 0: never */
    uint64_t target_latency_ns; /* time between two looks at the global queue; 0: 1 ms */
    uint32_t min_interval;      /* fewest tasks between two looks at the global queue; 0: 2, or
                                 * max_interval if that is 1 */
    uint32_t max_interval;      /* most tasks between two looks; 0: 255, or min_interval if that is
                                 * more */
    uint32_t lifo_cap;          /* tasks in a row from the LIFO slot; 0: 3; WSQ_LIFO_OFF: no slot */
    uint32_t budget;            /* calls of wsq_budget_take that return true in one run of a task;
                                 * 0: 128 */
    wsq_order order;            /* in which order tasks start */
    size_t stack_size;          /* bytes of a worker thread's stack; 0: the system's default (128
                                 * KiB with musl). It limits how deep waits nest, in a lend_only
                                 * pool, too: WAITING in >>guide */
    const char *name;           /* the pool's threads are called name-0, name-1 and so on, in at
                                 * most 15 bytes, so a longer name is cut; NULL: "wsq" */
    const wsq_hooks *hooks;     /* an observer, copied; NULL: none */
    const wsq_allocator *allocator; /* copied; NULL: WSQ_MALLOC and WSQ_FREE */
    const wsq_topology *topology;   /* copied; NULL: on Linux the system says which workers are near
                                     * each other; elsewhere all workers count as near */
    const wsq_driver *driver;       /* copied; NULL: idle threads wait for nothing but work */
    uint64_t spin_ns;           /* how long a worker without work, or in a join, keeps looking for
                                 * work before it sleeps. WSQ_SPIN_OFF: it looks once. 0: about 15
                                 * us, and less in the cases that step 4 of FINDING WORK names.
                                 * Exceptions, with any value: if a thread outside has just run a
                                 * task in its wait, a worker looks only once. If a thread outside
                                 * runs another task within 60 us, and spin_ns is 0 or at least 60
                                 * us, one worker looks for 60 us. (WAITING in >>guide says how long
                                 * a thread outside looks.) */
    bool lend_only;             /* true: the pool starts no threads; yours call wsq_worker_enter */
    bool list_tasks;            /* true: the pool keeps a list of its tasks, for wsq_pool_dump;
                                 * every spawn, wake, run and end then takes one lock */
} wsq_config;

/* The numbers that wsq_worker_stats and wsq_pool_stats report. The last three members describe the
 * moment of the call; all others are counts since the pool was created. With WSQ_NO_STATS only
 * `spawned`, `run`, `finished` and the last three are complete. */
typedef struct wsq_stats {
    uint64_t spawned;        /* tasks that this worker spawned */
    uint64_t run;            /* calls of a task's function */
    uint64_t finished;       /* tasks that ended by WSQ_DONE or WSQ_GONE; wsq_pool_stats adds the
                              * cancelled ones */
    uint64_t lifo_hits;      /* runs from the LIFO slot */
    uint64_t local_pops;     /* runs from the worker's own ring or deque */
    uint64_t global_batches; /* visits to the global queue that brought something */
    uint64_t global_tasks;   /* tasks that these visits brought */
    uint64_t steal_attempts; /* victims that the worker looked at */
    uint64_t steals;         /* attempts that brought something */
    uint64_t tasks_stolen;   /* tasks that the steals brought */
    uint64_t overflows;      /* times that tasks of a full ring moved to the global queue */
    uint64_t searches;       /* times that the worker began to look for work elsewhere */
    uint64_t parks;          /* times that the worker went to sleep */
    uint64_t wakes_sent;     /* sleepers that the worker woke */
    uint64_t rescued;        /* how often a worker found a queued task only because park_timeout_ns
                              * was up. Each time means a lost wake-up, so this should be 0. (Two
                              * more things count if the time-out is short: the system did not let a
                              * thread run that was about to notify; a task waits for a turn that
                              * comes later, because min_interval is large) */
    uint64_t published;      /* jobs made visible to thieves */
    uint64_t jobs_stolen;    /* jobs taken from other workers */
    uint64_t joins_parked;   /* joins that slept because a thief still ran their job */
    uint64_t average_task_ns; /* moving average of the time per task; of a pool: the mean */
    uint64_t interval;        /* tasks between two looks at the global queue; of a pool: the mean */
    uint64_t queue_depth;     /* tasks in the worker's own queue at this moment; also entries of
                               * futures that were called in a wait, or cancelled */
} wsq_stats;

/* ---- tasks ---- */

/* What a task's function returns: what becomes of the task. */
typedef enum wsq_poll {
    WSQ_DONE,    /* the task is finished: its waiters wake, and its memory is the caller's again */
    WSQ_PENDING, /* the task waits, and runs again after a wsq_wake, also if the wake came during
                  * this run */
    WSQ_YIELD,   /* the task has more to do, and runs again after other tasks */
    WSQ_GONE     /* the task is finished, and its function has given the task's memory away: nobody
                  * may wait for the task or wake it, and it must not be a predecessor. It may be in
                  * a group: a wait for the group or the pool does not use the task's memory */
} wsq_poll;

/* A task's function. It runs on one worker at a time. It receives the task; wsq_container_of leads
 * to the struct around the task. */
typedef wsq_poll (*wsq_task_fn)(wsq_ctx ctx, struct wsq_task *task);

/* A task's cleanup: called once, in place of the task's function, when the task is cancelled; see
 * wsq_task_set_cleanup. It returns WSQ_DONE, or WSQ_GONE if it has freed the task's memory. */
typedef wsq_poll (*wsq_cleanup_fn)(struct wsq_task *task);

/* How urgent a task is; see wsq_task_set_priority. */
typedef enum wsq_priority {
    WSQ_NORMAL, /* the default */
    WSQ_HIGH,   /* runs before all others, as soon as a worker is between two tasks; at most 15 in a
                 * row */
    WSQ_LOW     /* runs when there is nothing else to do, and otherwise at every 16th turn */
} wsq_priority;

/* A task. It is a member of a struct of the caller's; wsq_container_of leads from the task to that
 * struct. The caller owns the memory: MEMORY in >>guide says when it may go. wsq_task_init sets the
 * task up, and the members are for the scheduler. */
typedef struct wsq_task {
    wsq_task_fn fn;         /* wsq_task_init writes */
    wsq_cleanup_fn cleanup; /* written before the spawn; called when the task is cancelled */
    struct wsq_task *next;  /* the next task of a chain; the thread that builds the chain writes */
    wsqi_aptr pool;         /* the task's wsq_pool, or 1 + its group's address; wsq_task_set_group
                             * and the spawn write */
    wsqi_aptr after;        /* the list of edges to its successors, newest first; see >>after */
    wsqi_a32 state;         /* any thread writes, mostly by read-modify-write; see >>task */
    wsqi_a32 flags;         /* the spawning thread, or the task itself, writes: WSQI_FLAG_* */
} wsq_task;

/* An element of a doubly linked, circular list; see >>timer. */
typedef struct wsqi_link { struct wsqi_link *next, *prev; } wsqi_link;

/* A timer wakes a task later; see wsq_timer_set. The caller owns the memory. A zeroed timer is not
 * set. The memory may go when the timer has woken the task or wsq_timer_cancel has returned. The
 * members are for the scheduler. */
typedef struct wsq_timer {
    wsqi_aptr timers; /* set: the lists that hold the timer; fired: 1 + their address; else NULL */
    wsqi_link link;   /* the lock in `timers` guards this and the members below */
    uint64_t at;      /* when the timer is due, in ns of the clock */
    wsq_task *task;   /* the task that it wakes */
} wsq_timer;

/* One dependency between two tasks, for wsq_task_after. The caller owns the memory and writes
 * nothing to it: the members are for the scheduler. The edge and both tasks must stay until the
 * later task starts. */
typedef struct wsq_edge {
    wsq_task *task;        /* wsq_task_after writes, before the edge is linked */
    struct wsq_edge *next; /* the next edge in the predecessor's list `after` */
} wsq_edge;

/* A set of tasks that are waited for, or cancelled, together. The caller owns the memory, and
 * wsq_group_init sets the group up. The caller may free the group when no task of it is left, and
 * no thread is in a wait for it. The first is known when wsq_group_wait has returned WSQ_OK or
 * WSQ_ERR_CANCELLED, wsq_group_pending has returned 0, a task of wsq_group_then has started, or the
 * pool has been waited for or shut down. One case is different: in a WSQ_CANCEL shutdown a pending
 * task needs the group until the task is woken, and a held task until its predecessors have ended
 * (wsq_group_pending counts both). Also keep the group while a thread waits for a single task of
 * it, and while a held task comes after one of its tasks. The members are for the scheduler. */
typedef struct wsq_group {
    /* WSQI_GROUP_TASK for each task that is not done, plus flags WSQI_GROUP_*; any thread writes */
    wsqi_a64 word;
    char apart[WSQ_CACHELINE]; /* padding instead of alignment, so a group may come from malloc */
    /* the members below are read by every task, and rarely written */
    wsqi_a32 cancelled; /* 0: no; 1: cancelled; WSQI_GROUP_BELOW: cancelled if `parent` is */
    wsqi_a32 error;     /* the first error; 0: none */
    wsqi_aptr then;     /* tasks that start when the group is done, linked by `next` */
    wsq_pool *pool;     /* wsq_group_init writes */
    const struct wsq_group *parent; /* wsq_group_set_parent writes; NULL: none */
} wsq_group;

/* A graph of tasks that runs again and again. The caller owns its memory and that of its nodes and
 * edges. All must stay while the graph runs. Use `group` to wait for a run or to cancel it; the
 * other members are for the scheduler. */
typedef struct wsq_graph {
    wsq_group group;        /* the group of all nodes, for wsq_group_wait, _then, _cancel... */
    struct wsq_node *first; /* the node that was added last */
    struct wsq_node *start; /* once `checked` is true: the first node without predecessors */
    uint64_t count;         /* how many nodes there are */
    bool checked;           /* true: a check found no nodes that follow each other in a circle */
} wsq_graph;

/* A task of a wsq_graph. Like a wsq_task, it is a member of a struct of the caller's. The members
 * are for the scheduler; but wsq_task_set_priority, _worker and _cleanup may be used on `task`. */
typedef struct wsq_node {
    wsq_task task;         /* wsq_graph_add sets it up */
    wsq_edge *edges;       /* the edges to the nodes that follow this one */
    struct wsq_node *next; /* the next node of the graph */
    struct wsq_node *next_start; /* the next node without predecessors */
    uint32_t predecessors; /* how many predecessors the node has */
    wsqi_a32 left;         /* predecessors not done; the thread that ends a predecessor writes */
} wsq_node;

/* A function, because gcc's -Wstrict-aliasing=1 warns if a macro casts `member - offset`. */
static inline void *wsqi_container(char *member, size_t offset) { return member - offset; }

/* The address of the struct of type `type` whose member `member` is at `pointer`. */
#define wsq_container_of(pointer, type, member) \
    ((type *)wsqi_container((char *)(pointer), offsetof(type, member)))

/* ---- jobs ---- */

/* A job's function. It receives the job. wsq_container_of leads to the struct around the job, which
 * holds the arguments and takes the result. */
typedef void (*wsq_job_fn)(wsq_ctx ctx, struct wsq_job *job);

/* A job. It is a member of a struct on the caller's stack, and is in use from wsq_fork to the
 * wsq_join or wsq_reclaim in the same function. The members are for the scheduler. */
typedef struct wsq_job {
    wsq_job_fn fn;  /* wsq_fork writes */
    wsqi_a32 done;  /* a WSQI_JOB_* value, once the job is published; see >>jobs */
    wsqi_a32 thief; /* 1 + index of the worker that took the job; a hint: the join looks there */
} wsq_job;

/* How wsq_reduce computes its result. Several threads call these functions at the same time, each
 * for a partial result of its own. The first partial result is the caller's `result`, into which
 * the others are combined in the end. The others are in memory of the scheduler's, `size` bytes
 * each, on cache lines of their own. */
typedef struct wsq_reducer {
    size_t size; /* bytes of one partial result */
    /* This stores the identity of `combine` (0 for a sum) in *partial. */
    void (*init)(void *partial, void *arg);
    /* This adds the elements begin .. end - 1 to *partial. */
    void (*body)(wsq_ctx ctx, size_t begin, size_t end, void *partial, void *arg);
    /* This adds *right, which comes from later elements, to *left. It must be associative. It need
     * not be commutative: the order of the elements is kept. */
    void (*combine)(void *left, const void *right, void *arg);
    void *arg; /* the last argument of all three functions */
    /* true: the result repeats bit by bit, also where `combine` is not quite associative (a sum of
     * floating-point numbers). The pieces, and the order in which they are combined, depend on
     * begin, end and grain only: not on the workers, nor on what is stolen. */
    bool fixed;
} wsq_reducer;

/* ==========================================================================
 * >>api: "any thread" means any thread of the process, workers included, but no signal handler.
 * An argument that is named `self` means that only the owner of that object may call the function.
 * ========================================================================== */

/* ---- words for results ---- */

/* This returns a few English words for a result, or "unknown result" for any other number. The
 * string is static. Any thread may call this. */
WSQ_API const char *wsq_result_string(wsq_result result);

/* ---- a ring: first in, first out, bounded ---- */

/* This makes the ring empty. The ring must not be shared yet. */
WSQ_API void wsq_ring_init(wsq_ring *ring);

/* The owner appends an item, which must not be NULL. The result is false if there is no room:
 * WSQ_RING_CAPACITY items are queued, or a thief has not finished copying old ones. */
WSQ_API bool wsq_ring_push(wsq_ring *self, void *item);

/* The owner takes the oldest item. The result is NULL if the ring is empty. */
WSQ_API void *wsq_ring_pop(wsq_ring *self);

/* The owner of a full ring takes the newer half out: WSQ_RING_CAPACITY / 2 items go to `out`, which
 * must have room for them. The oldest item comes first. This returns the number of items. If the
 * ring is not full, or a thief is copying from it, this returns 0 and changes nothing. */
WSQ_API size_t wsq_ring_spill(wsq_ring *self, void **out);

/* The owner of `self` takes the older half of the victim's items, rounded up, as far as there is
 * room in `self`: this returns the oldest, and appends the others to `self`. The victim must be
 * another ring. NULL means that there is nothing for the caller now: the victim is empty, another
 * thief is at work, or a race was lost. */
WSQ_API void *wsq_ring_steal(wsq_ring *victim, wsq_ring *self);

/* This returns how many items are queued. Any thread may call this. The number is a snapshot; 0
 * means that the ring was empty at some moment of the call, or that its owner was changing it. */
WSQ_API size_t wsq_ring_length(const wsq_ring *ring);

/* ---- a deque: last in, first out for its owner, grows ---- */

/* This makes the deque empty. Its first array, from WSQ_MALLOC, has room for `capacity` items. The
 * deque must not be shared yet.
 * WSQ_ERR_INVALID: `capacity` is not a power of two, or the deque is NULL.
 * WSQ_ERR_MEMORY: there is no memory, and the deque must not be used. */
WSQ_API wsq_result wsq_deque_init(wsq_deque *deque, size_t capacity);

/* This frees the deque's arrays. No thread may use the deque any more, and items that are still
 * queued are forgotten. */
WSQ_API void wsq_deque_fini(wsq_deque *deque);

/* The owner appends an item, which must not be NULL. A full deque doubles its array; the old one is
 * kept until wsq_deque_fini, for thieves that still read it.
 * WSQ_ERR_MEMORY: the deque cannot grow, and nothing has changed. */
WSQ_API wsq_result wsq_deque_push(wsq_deque *self, void *item);

/* The owner takes the newest item. The result is NULL if the deque is empty. */
WSQ_API void *wsq_deque_pop(wsq_deque *self);

/* Any thread takes the oldest item, stores it in *item and returns WSQ_STEAL_OK. With
 * WSQ_STEAL_EMPTY and WSQ_STEAL_LOST *item is unchanged. */
WSQ_API wsq_steal wsq_deque_steal(wsq_deque *victim, void **item);

/* This returns how many items are queued. Any thread may call this; the number is a snapshot. */
WSQ_API size_t wsq_deque_length(const wsq_deque *deque);

/* ---- random numbers and the tuner, as the workers use them ---- */

/* This sets the generator up. Every seed is good, 0 too; equal seeds give equal numbers. Only one
 * thread at a time may call this and the two functions below. */
WSQ_API void wsq_random_seed(wsq_random *random, uint64_t seed);

/* This returns the next number, 0 .. 2^32 - 1, to the generator's thread. It is fast and can be
 * predicted: do not use it for cryptography. */
WSQ_API uint32_t wsq_random_next(wsq_random *random);

/* This returns a number 0 .. n - 1 to the generator's thread. Each has nearly the same chance,
 * which differs from 1 / n by less than 1 / 2^32. For n = 0 the number is 0. */
WSQ_API uint32_t wsq_random_below(wsq_random *random, uint32_t n);

/* This sets the tuner up with the config's target_latency_ns, min_interval and max_interval, or
 * with their defaults if `config` is NULL. The tuner must not be shared yet. Until the first update
 * it assumes 50 us per task. */
WSQ_API void wsq_tune_init(wsq_tune *tune, const wsq_config *config);

/* This tells the tuner that `tasks` tasks took `elapsed_ns` nanoseconds, sleep excluded. It returns
 * the new interval: how many tasks fit into the target. The new average is 0.9 of the old one plus
 * 0.1 of this time per task. One thread at a time may call this. */
WSQ_API uint32_t wsq_tune_update(wsq_tune *tune, uint64_t elapsed_ns, uint32_t tasks);

/* ---- pools ---- */

/* This creates a pool, starts its threads and stores the pool in *out. A NULL config asks for all
 * defaults; a config is copied, and so are its hooks, allocator, topology and driver. After an
 * error nothing is left behind, and *out is unchanged. Any thread may call this.
 * WSQ_ERR_INVALID: `out` is NULL, or a member of the config is out of its range or contradicts
 * another (caller_runs and lend_only), or an allocator, topology or driver lacks a function.
 * WSQ_ERR_MEMORY: there is no memory for the pool.
 * WSQ_ERR_THREAD: the system did not start all threads, or finds stack_size too small. */
WSQ_API wsq_result wsq_pool_create(wsq_pool **out, const wsq_config *config);

/* This closes the pool and ends the work that is left as `mode` says. From now on spawns from
 * outside are refused. This returns when the pool's threads are gone. A second call waits for the
 * first. But a WSQ_CANCEL during a WSQ_DRAIN cancels what is left, and then both return. Only
 * threads outside the pool may call this.
 * WSQ_DRAIN: every task spawned so far runs to its end, with all that these spawn. The call also
 * waits for tasks that wait for a wake or for predecessors, however long that takes. (A function
 * of a wsq_run counts as outside: its spawns are refused. What its stolen jobs spawn may be
 * cancelled.)
 * WSQ_CANCEL: running functions return as usual, and tasks that have not started are cancelled. A
 * spawn inside a task is refused, too, and the refused task stays the caller's. A function may
 * still wait for a task that is pending or held, or for a group with such tasks. When nothing else
 * is left to do, that wait is cancelled. A function that waits in another pool, or blocks, keeps
 * its own pool from ending until the function goes on.
 * WSQ_ERR_INVALID: the caller is inside one of the pool's tasks or runs, `mode` is not a
 * wsq_shutdown, or the pool is NULL.
 * WSQ_ERR_FORKED: the pool belongs to the parent process. */
WSQ_API wsq_result wsq_pool_shutdown(wsq_pool *pool, wsq_shutdown mode);

/* This drains the pool, unless it was shut down before, and frees it. No other thread may be inside
 * a call on the pool or on its tasks, groups or futures, or begin one. (Even if a task is done, the
 * call that spawned it may still be under way on another thread.) The pool's own threads are no
 * problem: their tasks are finished first. NULL is allowed. Inside one of the pool's own tasks or
 * runs this does nothing. In a child of fork() it frees the child's copy of the memory. */
WSQ_API void wsq_pool_destroy(wsq_pool *pool);

/* This sleeps until the pool has no task left. Tasks that are spawned meanwhile count, and so do
 * tasks that wait for a wake. With caller_runs the calling thread runs the tasks. Only threads
 * outside the pool may call this, and not in the cleanup of one of its tasks.
 * WSQ_OK: no task is left. A WSQ_CANCEL shutdown may have cancelled some tasks.
 * WSQ_ERR_CANCELLED: the pool was shut down, and the tasks that are left will never run.
 * WSQ_ERR_INVALID: the caller is inside one of the pool's tasks or runs, which would wait for
 * itself; or all tasks that are left have been waiting for predecessors for one second (the call
 * can be repeated); or the pool is NULL.
 * WSQ_ERR_FORKED: the pool belongs to the parent process. */
WSQ_API wsq_result wsq_pool_wait(wsq_pool *pool);

/* This waits as wsq_pool_wait does, but at most `timeout_ns` nanoseconds; 0 only looks, WSQ_FOREVER
 * is no limit.
 * WSQ_ERR_TIMEOUT: the time was up first.
 * WSQ_ERR_CANCELLED, WSQ_ERR_INVALID, WSQ_ERR_FORKED: as in wsq_pool_wait. */
WSQ_API wsq_result wsq_pool_wait_for(wsq_pool *pool, uint64_t timeout_ns);

/* This changes wsq_config.spin_ns while the pool runs. When a hot phase begins, set a long time, so
 * that the workers stay awake between two loops; when the phase ends, set the old time again. A
 * searching worker sees the change at its next look, and a sleeping worker when it is woken. With
 * caller_runs this does nothing. Any thread may call this. */
WSQ_API void wsq_pool_set_spin(wsq_pool *pool, uint64_t spin_ns);

/* This returns the number of the pool's workers. It never changes. Any thread may call this. */
WSQ_API unsigned wsq_pool_workers(const wsq_pool *pool);

/* This returns the length of an array that has one element for each thread of the pool. Every index
 * of the pool (>>words) is smaller. The number never changes. Any thread may call this. */
WSQ_API unsigned wsq_pool_slots(const wsq_pool *pool);

/* This returns how many tasks are spawned and not done. Any thread may call this; the number is a
 * snapshot. Once it is 0, no worker touches the groups of these tasks again. */
WSQ_API uint64_t wsq_pool_pending(const wsq_pool *pool);

/* This stores the sums over all workers, guests and outside threads in *out; average_task_ns and
 * interval are means over the workers. Any thread may call this; the numbers are a snapshot. */
WSQ_API void wsq_pool_stats(const wsq_pool *pool, wsq_stats *out);

/* This stores the statistics of one worker in *out. If no thread has worked at this index
 * (wsq_worker_index), all counts are 0. Any thread may call this; the numbers are a snapshot. */
WSQ_API void wsq_worker_stats(const wsq_pool *pool, unsigned index, wsq_stats *out);

/* This writes a table to `file`: a row for each worker, a row with a plus for each stand-in made so
 * far, and a row for the pool. Any thread may call this. */
WSQ_API void wsq_stats_print(const wsq_pool *pool, FILE *file);

/* This writes to `file` what the pool does, for a person to read: what each worker does and has
 * queued, how long the lanes are, which threads wait for what, which timers are set. With
 * wsq_config.list_tasks it also writes a line for each task that is spawned and not done (at most
 * 1000), except tasks whose cleanup runs, and nodes of a graph that wait for others. The line says
 * whether the task runs, waits for a wake, is held back by predecessors or is queued, and since
 * when. It also has the task's function, with the name that wsq_hooks gives the function. A task
 * that is inside a wait is listed as running; a line "wait" says what its worker waits for. This
 * list helps you to find a forgotten wake. Without list_tasks the pool knows only the number of its
 * tasks, because their memory is the caller's. Any thread may call this, inside a task too, while
 * the pool works or is stopping. A hook or a signal handler must not call it. The pool goes on
 * meanwhile: each line was true at some moment of the call, and two lines may contradict each
 * other. This reads no task's memory, so an address may belong to a task that has ended since. A
 * plus after a length means that more tasks were just pushed, and are not counted yet. The pool's
 * locks are taken one after the other, and none is held while this writes. */
WSQ_API void wsq_pool_dump(wsq_pool *pool, FILE *file);

/* This runs one task of a caller_runs pool, or one job of a wsq_run, on the calling thread. It
 * returns false if none can run now, another thread is inside this call or a wait that runs the
 * pool's tasks, or the pool is shut down. Any thread may call this. */
WSQ_API bool wsq_pool_run_one(wsq_pool *pool);

/* This makes the calling thread a worker of a lend_only pool. It returns WSQ_OK after
 * wsq_worker_dismiss, or when the pool shuts down. It must have returned before wsq_pool_destroy is
 * called. Any thread outside the pool may call this.
 * WSQ_ERR_INVALID: every worker has a thread, the pool is not lend_only or is NULL, or the caller
 * is inside the pool.
 * WSQ_ERR_CLOSED: the pool is shutting down.
 * WSQ_ERR_FORKED: the pool belongs to the parent process. */
WSQ_API wsq_result wsq_worker_enter(wsq_pool *pool);

/* In a lend_only pool, this asks the thread that is lent to this worker to leave. The thread leaves
 * between two tasks, and the tasks in its queue are left to the other workers. If the worker has no
 * thread, this does nothing. Any thread may call this. */
WSQ_API void wsq_worker_dismiss(wsq_pool *pool, unsigned worker);

/* This returns the pool that the context belongs to. */
WSQ_API wsq_pool *wsq_pool_of(wsq_ctx ctx);

/* This returns the index of the worker that the context belongs to: 0 .. wsq_pool_workers - 1, or a
 * higher one, below wsq_pool_slots, for a stand-in, a guest (a thread in wsq_run), or a thread
 * outside that runs a task in its wait. No two threads have the same index at the same time. */
WSQ_API unsigned wsq_worker_index(wsq_ctx ctx);

/* This returns the calling thread's index in the pool that it entered last, or -1 if it works in no
 * pool. With several pools, index an array for one of them by wsq_worker_index instead. */
WSQ_API int wsq_worker_self(void);

/* ---- tasks ---- */

/* This sets a task up, before its first spawn; a task that is done may be set up again. The task
 * must not be shared yet. A task that is all zero except for `fn` needs no call. */
WSQ_API void wsq_task_init(wsq_task *task, wsq_task_fn fn);

/* This queues the task: a worker will call its function soon. Any thread may call this. What the
 * caller wrote before is visible to the function. The task's memory must stay until the task is
 * done and no thread waits for it, wakes it or cancels it any more; then the task may also be
 * spawned again. A spawn needs no memory: if the queue of a WSQ_LIFO pool cannot grow, the task
 * goes to the global queue. After an error the task is unchanged.
 * WSQ_ERR_INVALID: the task has no function, or is queued, running or waiting for a wake already;
 * or it is pinned to a worker that the pool lacks, or in a group of another pool; or an argument is
 * NULL.
 * WSQ_ERR_CLOSED: the pool is shutting down.
 * WSQ_ERR_CANCELLED: the task has a group (wsq_task_set_group) that was cancelled.
 * WSQ_ERR_FORKED: the pool belongs to the parent process. */
WSQ_API wsq_result wsq_spawn(wsq_pool *pool, wsq_task *task);

/* This spawns `count` tasks, all or none, and is cheaper than that many calls of wsq_spawn. The
 * array is not needed any more when this returns. Any thread may call this.
 * WSQ_ERR_INVALID: one of the tasks cannot be spawned, is in the array twice, has predecessors, or
 * has a group that is cancelled or of another pool; or an argument is NULL. With a count of 0,
 * `tasks` may be NULL, and the result is WSQ_OK, also when the pool is shutting down.
 * WSQ_ERR_CLOSED, WSQ_ERR_FORKED: as in wsq_spawn. */
WSQ_API wsq_result wsq_spawn_batch(wsq_pool *pool, wsq_task **tasks, size_t count);

/* This makes a task that returned WSQ_PENDING run again. What the caller wrote before is visible to
 * that run. Any thread may call this, any number of times: several wakes before the task runs count
 * as one. A wake that comes while the task runs, before it returns WSQ_PENDING, is not lost. The
 * call does nothing for a task that is queued already, is done, or was never spawned. The task's
 * memory must still be there: a thread that may wake a task must know that it is not freed yet. */
WSQ_API void wsq_wake(wsq_task *task);

/* This returns true if the task is done, or was cancelled; then what it did is visible to the
 * caller. Any thread may call this. */
WSQ_API bool wsq_task_done(const wsq_task *task);

/* This sleeps until the task is done; then what it did is visible to the caller. Any thread may
 * call this. A worker that has the task in its own queue runs it here. Otherwise the worker blocks,
 * another thread works in its place, and the waiting worker runs only tasks that are pinned to it.
 * A thread outside may run the task here, too, in place of a worker that sleeps, with the index of
 * a guest.
 * WSQ_ERR_CANCELLED: the task was cancelled, or will never run because the pool has been shut down.
 * WSQ_ERR_INVALID: the task is NULL or was never spawned, or the caller is inside that task, or in
 * the driver's dispatch function.
 * WSQ_ERR_FORKED: its pool belongs to the parent process. */
WSQ_API wsq_result wsq_task_wait(wsq_task *task);

/* This waits as wsq_task_wait does, but at most `timeout_ns` nanoseconds; 0 only looks, WSQ_FOREVER
 * is no limit: then this is wsq_task_wait. Else the caller does not run the task here, unless the
 * pool has no stand-in left. Then the caller runs whatever task comes, and returns only when that
 * task has returned.
 * WSQ_ERR_TIMEOUT: the time was up first. The task goes on, so its memory must stay.
 * WSQ_ERR_CANCELLED, WSQ_ERR_INVALID, WSQ_ERR_FORKED: as in wsq_task_wait. */
WSQ_API wsq_result wsq_task_wait_for(wsq_task *task, uint64_t timeout_ns);

/* This gives the task a cleanup, which frees what the task owns. If the task is cancelled, the
 * cleanup is called, on any thread, in place of the task's function. It must not wait for the task
 * itself or for its group, which would last for ever. NULL: no cleanup. The owner of the task may
 * call this, while the task is not spawned. */
WSQ_API void wsq_task_set_cleanup(wsq_task *task, wsq_cleanup_fn cleanup);

/* This sets how urgent the task is. The owner of the task may call this before the spawn. The
 * task's own function may call it, too, for the runs after the current one.
 * WSQ_ERR_INVALID: `priority` is not a wsq_priority, or the task is NULL. */
WSQ_API wsq_result wsq_task_set_priority(wsq_task *task, wsq_priority priority);

/* This pins the task: from its next spawn on, only the worker with this index runs it, until this
 * is called again. WSQ_ANY_WORKER: any worker may run it. A spawn into a pool that has no such
 * worker fails. The owner of the task may call this, while the task is not spawned.
 * WSQ_ERR_INVALID: no pool can have that many workers, the task belongs to a wsq_node whose graph's
 * pool has fewer, or the task is NULL. */
WSQ_API wsq_result wsq_task_set_worker(wsq_task *task, unsigned worker);

/* This makes the task revocable, before its spawn: wsq_task_cancel then knows whether the task has
 * started. (Once the task has run and yielded, wsq_task_cancel no longer knows.) A revocable task
 * costs two atomic operations, 5 to 10 ns each: one in the spawn and one in the first run after the
 * spawn. The owner of the task may call this, while the task is not spawned. */
WSQ_API void wsq_task_set_revocable(wsq_task *task, bool revocable);

/* This puts the task into a group, before its spawn; NULL: into no group. From then on wsq_spawn,
 * wsq_spawn_on and wsq_spawn_batch spawn it as wsq_group_spawn does. A spawn into another pool than
 * the group's fails. The owner of the task may call this, while the task is not spawned. If a task
 * has a group, wsq_group_spawn moves the task to the new group. If a task has no group,
 * wsq_group_spawn puts the task into the new group for that spawn only. wsq_group_then and
 * wsq_future_then take a task out of its group. */
WSQ_API void wsq_task_set_group(wsq_task *task, wsq_group *group);

/* This lets `task` start only when `predecessor` is done. Call it before `task` is spawned, once
 * for each predecessor, with an edge of yours for each; the predecessor may be done, running, or
 * not spawned yet. If a predecessor is cancelled, so is `task`. Any thread may call this, but only
 * one at a time for the same `task`.
 * Until `task` starts, both tasks and the edge must stay, and the predecessor must not be spawned a
 * second time. Neither the predecessor nor its cleanup may return WSQ_GONE. When you call this, no
 * thread may still wait for an earlier run of `task`. The predecessor may belong to another pool. A
 * WSQ_DRAIN of the pool of `task` waits until `task` has run. After a WSQ_CANCEL of the pool of
 * `task`, the end of the predecessor cancels `task`. So wait for the predecessor's pool before you
 * destroy the pool of `task`.
 * WSQ_ERR_INVALID: `task` is spawned already, comes after 2^26 - 2 others or after itself, or an
 * argument is NULL. */
WSQ_API wsq_result wsq_task_after(wsq_task *task, wsq_task *predecessor, wsq_edge *edge);

/* This spawns the task as wsq_spawn does, pinned: until the task is done, only the worker with the
 * index `worker` runs it, also after a wake. `worker` must be below wsq_pool_workers. Once the task
 * is done, it is not pinned any more, not even to the worker that wsq_task_set_worker gave it. Any
 * thread may call this.
 * WSQ_ERR_INVALID: the pool has no worker with this index, or as in wsq_spawn.
 * WSQ_ERR_CLOSED, WSQ_ERR_CANCELLED, WSQ_ERR_FORKED: as in wsq_spawn. */
WSQ_API wsq_result wsq_spawn_on(wsq_pool *pool, unsigned worker, wsq_task *task);

/* This sets the timer: `delay_ns` nanoseconds from now it wakes the task, as wsq_wake does. The
 * task must be one of this pool's. A timer that is set already is set anew. The call takes the same
 * short time however many timers are set, and allocates nothing. A task may have any number of
 * timers. With one worker, the timers that one thread has set fire in the order of their times,
 * except a timer that another thread had set before: it stays with the former ones. (With several
 * workers, timers that are due at about the same time may wake their tasks in any order.)
 * Timer and task must stay until the timer has woken the task, wsq_timer_cancel has returned, or
 * the pool is destroyed: if something else may have woken or ended the task, cancel the timer
 * before their memory goes. Any thread may call this, even while another thread sets the same timer
 * in the same pool. Before a timer that may be set goes to another pool, cancel it. At its end a
 * shutdown fires, early, all timers that are set. A timer that is set after the shutdown does not
 * fire.
 * WSQ_ERR_INVALID: an argument is NULL, or the timer is set in another pool.
 * WSQ_ERR_FORKED: the pool belongs to the parent process. */
WSQ_API wsq_result wsq_timer_set(wsq_pool *pool, wsq_timer *timer, wsq_task *task,
                                 uint64_t delay_ns);

/* This takes the timer back. It returns true if the timer was set; then the timer will not wake its
 * task. It returns false if the timer has woken its task, or was not set. In both cases the pool
 * does not use the timer any more, nor the task for this timer. The call takes the same short time
 * however many timers are set. Any thread may call this, until the timer's pool is destroyed. In a
 * child of fork() it returns false. */
WSQ_API bool wsq_timer_cancel(wsq_timer *timer);

/* This returns true if the work should stop: the calling task or its group was cancelled, or the
 * pool stops. Call it with the context of a task's own function; in the task's jobs use
 * wsq_group_cancelled. */
WSQ_API bool wsq_cancelled(wsq_ctx ctx);

/* This cancels the task. If the task has not started, waits for a wake, or comes after others that
 * are not done, its function is not called (again). Its cleanup is called instead, when a thread
 * takes the task from its queue; a task that comes after others is queued only when those are done.
 * Then its waiters get WSQ_ERR_CANCELLED. Until then its memory must stay. A run that is under way
 * goes on, and can ask wsq_cancelled; if it then returns WSQ_PENDING or WSQ_YIELD, the task is
 * cancelled. A task that waits for a wake is queued by this call, and needs no wake. This does
 * nothing for a task that is done or was never spawned, nor for a node of a graph while the nodes
 * before it are not done. Any thread that knows that the task's memory is there may call this.
 * The result is true if this call, or an earlier one, has cancelled the task: its function will not
 * be called any more. It is false if the function runs, the task has ended by itself, or this did
 * nothing. It may also be false for a queued task, if the task has yielded or is not revocable
 * (wsq_task_set_revocable): a worker may be about to run it. Then only wsq_task_wait tells whether
 * the task was cancelled. */
WSQ_API bool wsq_task_cancel(wsq_task *task);

/* This takes one unit of the running task's budget (wsq_config.budget). A task that loops calls
 * this once per step. When it returns false, the task has had its share and should return
 * WSQ_YIELD. On a thread outside it returns true, and so it may in the function of a wsq_go, which
 * cannot yield. */
WSQ_API bool wsq_budget_take(void);

/* Call this when a task, job or run is about to block outside the scheduler (in a system call, on a
 * mutex). Until wsq_block_end another thread works in this worker's place: an idle one, or else a
 * stand-in if max_standins allows (but none in a caller_runs pool). Pairs of the two calls may be
 * nested. `ctx` is the caller's own. */
WSQ_API void wsq_block_begin(wsq_ctx ctx);

/* Call this after the call that blocked, with the same context as wsq_block_begin, and before the
 * task, job or run returns. */
WSQ_API void wsq_block_end(wsq_ctx ctx);

/* ---- function calls as tasks, and their results ---- */

/* This calls fn(arg) on some worker, soon. What `arg` points to is the caller's and must stay as
 * long as `fn` needs it. `fn` is never called if it is cancelled first (by a WSQ_CANCEL shutdown),
 * or if this returns an error. Any thread may call this.
 * WSQ_ERR_MEMORY: there is no memory for another future.
 * WSQ_ERR_CLOSED: the pool is shutting down.
 * WSQ_ERR_INVALID: the pool or `fn` is NULL.
 * WSQ_ERR_FORKED: the pool belongs to the parent process. */
WSQ_API wsq_result wsq_go(wsq_pool *pool, void (*fn)(void *arg), void *arg);

/* This calls fn(arg) as wsq_go does, and stores a handle in *out that gives the result of `fn`. The
 * handle must go to wsq_future_get or to wsq_future_drop, once. It is stored before `fn` is called,
 * so `fn` may drop its own handle. After an error *out is unchanged. Any thread may call this.
 * WSQ_ERR_INVALID: the pool, `fn` or `out` is NULL.
 * WSQ_ERR_MEMORY, WSQ_ERR_CLOSED, WSQ_ERR_FORKED: as in wsq_go. */
WSQ_API wsq_result wsq_submit(wsq_pool *pool, void *(*fn)(void *arg), void *arg, wsq_future **out);

/* This sleeps until the future is done. Then it stores what the future's function returned in
 * *result (unless `result` is NULL), and frees the future. After WSQ_ERR_FORKED or WSQ_ERR_INVALID
 * the future is not freed. Any thread that has the handle may call this, once. A worker calls the
 * function here, if no thread has started it; otherwise the worker blocks, and another thread works
 * in its place. A thread outside may call the function here, too, in place of a worker that sleeps.
 * WSQ_ERR_CANCELLED: the function was never called, and *result is unchanged.
 * WSQ_ERR_INVALID: the future is NULL, or the caller is inside the future's function, or in the
 * driver's dispatch function.
 * WSQ_ERR_FORKED: its pool belongs to the parent process. */
WSQ_API wsq_result wsq_future_get(wsq_future *future, void **result);

/* This waits as wsq_future_get does, but at most `timeout_ns` nanoseconds; 0 only looks,
 * WSQ_FOREVER is no limit. The caller does not call the function here, unless the pool has no
 * stand-in left (see wsq_task_wait_for).
 * WSQ_ERR_TIMEOUT: the time was up first, and the handle is still the caller's.
 * WSQ_ERR_CANCELLED, WSQ_ERR_INVALID, WSQ_ERR_FORKED: as in wsq_future_get. */
WSQ_API wsq_result wsq_future_get_for(wsq_future *future, uint64_t timeout_ns, void **result);

/* If the future's function has not been called yet, this cancels the future and returns true. Then
 * the function never is called, wsq_future_get returns WSQ_ERR_CANCELLED, and the pool does not
 * touch `arg` any more. Otherwise this returns false, and a running function goes on. The handle
 * remains the caller's. The pool keeps the future's memory, 120 bytes, until a worker comes to its
 * entry in the queue, also after wsq_future_drop. Any thread that has the handle may call this. */
WSQ_API bool wsq_future_cancel(wsq_future *future);

/* This returns true if wsq_future_get would return without waiting. Any thread that has the handle
 * may call this. */
WSQ_API bool wsq_future_done(const wsq_future *future);

/* This spawns `task` into the future's pool when the future is done or cancelled, or immediately if
 * it is done or cancelled already. The task may then call wsq_future_get, which does not wait. Any
 * thread that has the handle may call this, once for each future.
 * WSQ_ERR_INVALID: an earlier call gave the future a task, this task cannot be spawned (wsq_spawn),
 * or an argument is NULL.
 * WSQ_ERR_CLOSED, WSQ_ERR_FORKED: as in wsq_spawn. */
WSQ_API wsq_result wsq_future_then(wsq_future *future, wsq_task *task);

/* Call this in place of wsq_future_get if nobody wants the result. The function is called all the
 * same, and the future is freed after that. Any thread that has the handle may call this. NULL is
 * allowed. */
WSQ_API void wsq_future_drop(wsq_future *future);

/* ---- groups ---- */

/* This sets a group up, before its first use, or to use a cancelled one again. The group must not
 * be shared yet, or not be in use any more.
 * WSQ_ERR_INVALID: an argument is NULL. */
WSQ_API wsq_result wsq_group_init(wsq_group *group, wsq_pool *pool);

/* This puts the group below `parent`: when the parent is cancelled, so is the group, with all that
 * is below it. A group that is cancelled or fails does nothing to its parent, and a wait for the
 * parent does not wait for the group. The parent may belong to another pool. The parent must stay
 * as long as the group is in use. (If a task of the parent waits for the group, the parent stays
 * long enough.) NULL: no parent. The owner of the group may call this, after wsq_group_init and
 * before the group is used.
 * WSQ_ERR_INVALID: the group is NULL, or is the parent or above it. */
WSQ_API wsq_result wsq_group_set_parent(wsq_group *group, const wsq_group *parent);

/* This spawns the task into the group's pool, as wsq_spawn does, and counts it in the group until
 * it is done. Any thread may call this, the group's own tasks included.
 * WSQ_ERR_CANCELLED: the group is cancelled.
 * WSQ_ERR_INVALID, WSQ_ERR_CLOSED, WSQ_ERR_FORKED: as in wsq_spawn. */
WSQ_API wsq_result wsq_group_spawn(wsq_group *group, wsq_task *task);

/* This spawns `count` tasks into the group, all or none, as wsq_spawn_batch does. Any thread may
 * call this.
 * WSQ_ERR_CANCELLED: the group is cancelled, and `count` is not 0.
 * WSQ_ERR_INVALID: the group is NULL, or as in wsq_spawn_batch.
 * WSQ_ERR_CLOSED, WSQ_ERR_FORKED: as in wsq_spawn. */
WSQ_API wsq_result wsq_group_spawn_batch(wsq_group *group, wsq_task **tasks, size_t count);

/* This sleeps until every task of the group is done. Then what the tasks did is visible to the
 * caller, and the group can be used again. Any number of threads may call this. A worker first runs
 * the tasks of this group that are in its own queue. Then it blocks, another thread works in its
 * place, and the worker runs only tasks that are pinned to it. A thread outside may take the place
 * of a sleeping worker, with the index of a guest, and run tasks of this group that no worker has
 * taken yet.
 * In a WSQ_CANCEL shutdown, the wait ends without the tasks of the group that are pending or held:
 * only the group's other tasks must have ended. Then the wait may last until every running task of
 * the pool, of any group, has returned or waits. A group may lie on the stack of a task that waits
 * for it, unless the group may have pending or held tasks in a WSQ_CANCEL shutdown.
 * WSQ_ERR_CANCELLED: the group or one of its tasks was cancelled since wsq_group_init, or the pool
 * was shut down before all tasks ran. No task of the group runs any more. If the pool was not shut
 * down, none is left. After a shutdown some tasks may still be pending or held (wsq_group_pending
 * counts them): keep the group until they are woken, or their predecessors have ended.
 * WSQ_ERR_INVALID: the group is NULL, or the caller is in the driver's dispatch function.
 * WSQ_ERR_FORKED: the pool belongs to the parent process. */
WSQ_API wsq_result wsq_group_wait(wsq_group *group);

/* This waits as wsq_group_wait does, but at most `timeout_ns` nanoseconds; 0 only looks,
 * WSQ_FOREVER is no limit. The caller does not run tasks of the group here, unless the pool has no
 * stand-in left (see wsq_task_wait_for).
 * WSQ_ERR_TIMEOUT: the time was up first.
 * WSQ_ERR_CANCELLED, WSQ_ERR_INVALID, WSQ_ERR_FORKED: as in wsq_group_wait. */
WSQ_API wsq_result wsq_group_wait_for(wsq_group *group, uint64_t timeout_ns);

/* This spawns `task` into the group's pool when no task of the group is left; immediately, if none
 * is left now. No thread waits meanwhile. `task` itself is not counted in the group. Any thread may
 * call this, any number of times.
 * WSQ_ERR_INVALID, WSQ_ERR_CLOSED, WSQ_ERR_FORKED: as in wsq_spawn. */
WSQ_API wsq_result wsq_group_then(wsq_group *group, wsq_task *task);

/* This cancels the group and those below it (wsq_group_set_parent). They stay cancelled until
 * wsq_group_init is called for this group. A task of the group that has not started never will: it
 * is cancelled when a worker takes it. A pending one is cancelled when it is woken, so wake it. A
 * task that runs goes on, and can ask wsq_cancelled. Any thread may call this. */
WSQ_API void wsq_group_cancel(wsq_group *group);

/* This returns true if wsq_group_cancel was called for the group, or for one above it. Any thread
 * may call this. */
WSQ_API bool wsq_group_cancelled(const wsq_group *group);

/* This keeps `error` for wsq_group_error, if it is the group's first error that is not 0. The
 * caller decides what the numbers mean. The group goes on. Any thread may call this. */
WSQ_API void wsq_group_fail(wsq_group *group, int error);

/* This returns the first error that was given to wsq_group_fail, or 0. It is final once
 * wsq_group_wait has returned. Any thread may call this. */
WSQ_API int wsq_group_error(const wsq_group *group);

/* This returns how many tasks of the group are spawned and not done. Any thread may call this; the
 * number is a snapshot. At 0, what the tasks did is visible to the caller. A worker that runs
 * several tasks of the group one after the other reports their ends together. Until then the number
 * includes these tasks, although they are done. */
WSQ_API uint64_t wsq_group_pending(const wsq_group *group);

/* ---- graphs that run again ---- */

/* This sets an empty graph up, and its group. The owner of the graph may call this, while the graph
 * does not run.
 * WSQ_ERR_INVALID: an argument is NULL. */
WSQ_API wsq_result wsq_graph_init(wsq_graph *graph, wsq_pool *pool);

/* This sets the node up, with no edges, and adds it to the graph: each run of the graph calls `fn`
 * with the node's task. Call it once for each node. Neither `fn` nor a cleanup may return WSQ_GONE.
 * The owner of the graph may call this.
 * WSQ_ERR_INVALID: the graph runs, or an argument is NULL. */
WSQ_API wsq_result wsq_graph_add(wsq_graph *graph, wsq_node *node, wsq_task_fn fn);

/* This lets the node follow `predecessor`, a node of the same graph, in each run from the next one
 * on. Each call needs an edge of its own, in the caller's memory. The owner of the graph may call
 * this.
 * WSQ_ERR_INVALID: the graph runs; the nodes are the same one, or not in one graph; the node
 * follows 2^26 - 2 others; or an argument is NULL. */
WSQ_API wsq_result wsq_node_after(wsq_node *node, wsq_node *predecessor, wsq_edge *edge);

/* This runs the graph once: each node is spawned into the graph's group when all nodes that it
 * follows are done. wsq_group_wait(&graph->group) waits for the end of the run; after that the
 * graph may run again, with the same edges. A run allocates nothing. If a node is cancelled, so are
 * the nodes that follow it. To cancel the rest of a run, cancel the group; then call
 * wsq_group_init(&graph->group, pool) before the next run.
 * Any thread may call this, a task too. Do not spawn a node's task yourself. All predecessors of a
 * node must be nodes of its graph. But a node's task may be the predecessor of a task outside the
 * graph (wsq_task_after), and other threads may wait for a node's task once it has started.
 * WSQ_ERR_INVALID: the graph runs, or has tasks of its group left; nodes follow each other in a
 * circle; a node was added twice; or the graph is NULL.
 * WSQ_ERR_CANCELLED: its group was cancelled.
 * WSQ_ERR_CLOSED, WSQ_ERR_FORKED: as in wsq_spawn. */
WSQ_API wsq_result wsq_graph_run(wsq_graph *graph);

/* ---- fork and join: wsq_fork, wsq_join and wsq_reclaim follow in >>inline ---- */

/* This calls fn(ctx, arg) on the calling thread, with a context in which it may fork, loop and
 * reduce, and returns when `fn` has returned. Idle workers help. Any thread may call this, also
 * inside a task or another run. If WSQ_GUESTS runs are under way already, or there is no memory for
 * another one, a caller inside the pool runs `fn` without help, and a caller outside spawns `fn` as
 * a task and waits for it. Jobs that a worker has forked before this call, and not joined yet, stay
 * on the worker meanwhile: join them first, or pass the context on in place of the call.
 * After an error `fn` was not called.
 * WSQ_ERR_CLOSED: the pool is shutting down, and the caller is outside.
 * WSQ_ERR_CANCELLED: `fn` was to run as a task, and that task was cancelled.
 * WSQ_ERR_INVALID: the pool or `fn` is NULL.
 * WSQ_ERR_FORKED: the pool belongs to the parent process. */
WSQ_API wsq_result wsq_run(wsq_pool *pool, void (*fn)(wsq_ctx ctx, void *arg), void *arg);

/* This calls `body` for pieces of the range begin .. end - 1, so that each element is in one piece.
 * The calls run on the calling thread and on workers that help, in any order. wsq_for returns when
 * all calls are done, or wsq_loop_stop was called and the calls that ran then are done. `ctx` is
 * the caller's own. One call gets at most `grain` elements; between two calls the loop gives away
 * half of what is left if a worker is idle. A grain of 0 chooses as many elements as take about
 * 10 us, measured while the loop runs, and fewer towards its end. LOOPS in >>guide says which loops
 * wake a sleeping worker. */
WSQ_API void wsq_for(wsq_ctx ctx, size_t begin, size_t end, size_t grain,
                     void (*body)(wsq_ctx ctx, size_t begin, size_t end, void *arg), void *arg);

/* This loops as wsq_for does; `body` adds its piece to a partial result, and partial results are
 * combined in the order of the elements. The result goes to *result: the caller provides
 * `reducer->size` bytes there, and wsq_reduce initialises them. Partial results above 128 bytes are
 * allocated; without memory the loop makes fewer of them. If `reducer->fixed` is true, each piece
 * has its own partial result, and a grain of 0 makes about 1000 pieces. `ctx` is the caller's own.
 * WSQ_ERR_INVALID: `reducer`, `result` or a function of the reducer is NULL, or its size is 0.
 * WSQ_ERR_MEMORY: a fixed reducer found no memory for a partial result, and *result is only a
 * part. */
WSQ_API wsq_result wsq_reduce(wsq_ctx ctx, size_t begin, size_t end, size_t grain,
                              const wsq_reducer *reducer, void *result);

/* A loop's body calls this to end its wsq_for or wsq_reduce early (to find any element, or at the
 * first error). If loops are nested, it ends the innermost one. Calls of the body that have begun
 * go on; pieces that have not begun are left out. wsq_reduce returns what it has found so far.
 * The body passes its own context. Outside a loop this does nothing. */
WSQ_API void wsq_loop_stop(wsq_ctx ctx);

/* If a file's macros give wsq.h another layout or other inline functions than the implementation
 * has, the program does not link: the linker misses a symbol whose name lists these macros. */
#if !defined(WSQ_STATIC)
WSQ_API void WSQI_CONFIGURED(void);
#if defined(_MSC_VER)
#define WSQI_TEXT_OF(x) #x
#define WSQI_TEXT(x) WSQI_TEXT_OF(x)
__pragma(detect_mismatch("wsq.h", WSQI_TEXT(WSQI_CONFIGURED)))
#elif defined(WSQI_GNU)
static void (*const wsqi_configured)(void) __attribute__((__used__)) = WSQI_CONFIGURED;
#endif
#endif

/* ==========================================================================
 * >>inline: fork and join, their complete fast path
 * ========================================================================== */

/* The part of a worker that fork and join read: the first cache line of the worker's block. Fork
 * and join each ask two questions with one comparison. Fork: is the job stack full, or does a thief
 * want work? Join: is the job public (may thieves take it), or does a thief want work? */
typedef struct wsqi_front {
    wsqi_aptr fork_trap; /* the entry at which the stack is full; NULL: a thief wants work */
    wsqi_aptr join_trap; /* the end of the public jobs; WSQI_TRAP_SET: a thief wants work */
} wsqi_front;

#define WSQI_TRAP_SET ((void *)~(uintptr_t)0)

/* Makes gcc compute the block's address in the join once more. That costs two instructions, but a
 * register that holds the address from fork to join would cost more (fib: 1.38 instead of 1.25 ns a
 * fork; gcc 12, Zen 5). Clang computes it twice anyway; there this macro would cost a move. */
#if defined(WSQI_OPAQUE)
#elif defined(WSQI_GNU) && !defined(__clang__)
#define WSQI_OPAQUE(pointer) __asm__("" : "+r"(pointer))
#else
#define WSQI_OPAQUE(pointer) ((void)0)
#endif

/* Fork and join call these slow paths if a thief wants work, the job is public, or the job stack is
 * full. The slow paths take the entry and return the context by value, so that the context stays in
 * a register. They do not take the job: its address would occupy another register on the fast path.
 * The lowest bit of the result of wsqi_reclaim_slow is the answer of wsq_reclaim. */
WSQ_API wsq_ctx wsqi_fork_slow(wsq_ctx entry) WSQI_COLD;
WSQ_API uintptr_t wsqi_reclaim_slow(wsq_ctx entry) WSQI_COLD;

/* For WSQ_ASSERT only: does this thread run the function that received `ctx`, or a function which
 * that function has called? */
WSQ_API bool wsqi_ctx_here(wsq_ctx ctx);

#define wsqi_check_ctx(ctx) \
    WSQ_ASSERT("this wsq_ctx is NULL or stale: another thread's, or of an ended function" && \
               wsqi_ctx_here(ctx))

static inline wsqi_front *wsqi_front_of(wsq_ctx entry) {
    return (wsqi_front *)((uintptr_t)entry & ~WSQI_BLOCK_MASK);
}

/* This offers the job to idle workers: one of them, or else the join, calls fn(ctx, job). `*ctx` is
 * the caller's own context; this advances it. The function that forks a job must join it, by
 * wsq_join or wsq_reclaim, the newest job first, and the job's memory must stay until then. Call
 * this inside a run, a job or a task. When the job stack is full, the job runs here immediately. */
static inline void wsq_fork(wsq_ctx *ctx, wsq_job *job, wsq_job_fn fn) {
    wsq_ctx entry = *ctx;
    wsqi_check_ctx(entry);
    wsqi_set(&job->fn, fn);
    wsqi_set(&entry->job, job);
    *ctx = entry + 1;
    if (!WSQI_LIKELY((uintptr_t)entry <
                     (uintptr_t)wsqi_load_hint(&wsqi_front_of(entry)->fork_trap)))
        *ctx = wsqi_fork_slow(entry);
}

/* This joins a job as wsq_join does, but does not call its function. It returns true if no other
 * worker took the job: then the caller does the work itself, by a direct call that the compiler can
 * inline. It returns false if the job is done, and then what it did is visible. In both cases the
 * job is joined. */
static inline bool wsq_reclaim(wsq_ctx *ctx, wsq_job *job) {
    wsq_ctx entry = *ctx - 1, opaque = entry;
    /* Is *ctx at the end of the job stack? Then fork may have run the job, and not moved *ctx. */
    bool full = ((uintptr_t)(entry + 2) & WSQI_BLOCK_MASK) == 0;
    wsqi_check_ctx(full ? *ctx : entry);
    WSQ_ASSERT("join the newest job first, and in the function that forked it" &&
               (full || wsqi_get(&entry->job) == job));
    (void)job, (void)full;
    WSQI_OPAQUE(opaque);
    if (!WSQI_LIKELY((uintptr_t)entry >=
                     (uintptr_t)wsqi_load_hint(&wsqi_front_of(opaque)->join_trap))) {
        uintptr_t answer = wsqi_reclaim_slow(entry);
        *ctx = (wsq_ctx)(answer & ~(uintptr_t)1);
        return (answer & 1) != 0;
    }
    *ctx = entry;
    return true;
}

/* This joins the newest job that the caller has forked: when it returns, the job is done, and what
 * the job did is visible. If no other worker took the job, it runs here. While another worker runs
 * it, this one runs other jobs, never tasks, and sleeps if there are none. `*ctx` is the context
 * that wsq_fork advanced; this moves it back. */
static inline void wsq_join(wsq_ctx *ctx, wsq_job *job) {
    if (wsq_reclaim(ctx, job)) job->fn(*ctx, job);
}

#if defined(__GNUC__) && defined(__cplusplus)
#pragma GCC diagnostic pop
#endif
#endif /* WSQ_H */

#ifdef WSQ_IMPLEMENTATION
#ifndef WSQ_IMPLEMENTED
#define WSQ_IMPLEMENTED

/* Turns off warnings that other projects turn on for their own code: about declarations after
 * statements, repeated declarations, casts that only other machines need, and aliasing. */
#if defined(WSQI_GNU)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstrict-aliasing"
#pragma GCC diagnostic ignored "-Wredundant-decls"
#if !defined(__cplusplus)
#pragma GCC diagnostic ignored "-Wdeclaration-after-statement"
#else
#pragma GCC diagnostic ignored "-Wold-style-cast"
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuseless-cast"
#endif
#endif
#endif

/* ==========================================================================
 * >>terms: words that the comments below use, beside those of >>words
 *
 *   S               the word wsq_pool.permits. It counts idle threads, free permits, searchers,
 *                   guests, and guests at work; a bit, JOINED, says that perhaps a joiner sleeps
 *                   with its permit
 *   place           where a processor is: its NUMA node, and the first processor that shares its
 *                   last-level cache
 *   permit          a thread needs one to take queued tasks. A pool has `workers` of them. A permit
 *                   that no thread holds or is about to get is free; S counts it
 *   idle thread     a worker or stand-in without work and without a permit, which sleeps until it
 *                   is woken; also called a sleeper. The bitmap `sleepers` shows all. (A
 *                   joiner or a waiting thread can sleep without being idle)
 *   searcher        a thread that S counts as searching: it has a permit but no work, and looks
 *                   for some. (A thread looks for a while before S counts it: wsqi_search. S also
 *                   counts a worker that lingers, without a permit: wsqi_linger)
 *   watcher         the sleeper, at most one, that wakes up by itself to look: at timers, at LIFO
 *                   slots whose owner is in a long task, and whether no thread has the driver
 *   producer        a thread that has just queued a task or published a job
 *   stand-in        a thread that the pool starts when more permits are free, or are about to be,
 *                   than threads are idle or coming
 *   guest           a thread from outside, now in wsq_run: it takes jobs only
 *   driver          the user's source of events (wsq_config.driver). One thread at a time has it
 *   thread outside  none of the pool's own or lent threads, and in no wsq_run of the pool; also
 *                   called a thread from outside. (About spawns and queues, comments mean guests
 *                   and helpers, too: they have no queue either)
 *   helper          a thread outside that takes a free permit, and runs what it waits for, in
 *                   a spare block (wsqi_wait_help)
 *   lent thread     a thread in wsq_worker_enter
 *   block           a wsqi_worker, then its job stack. Each worker and stand-in has one of its own.
 *                   A spare block has no queue. It is for a wsq_run, also one that a worker calls;
 *                   for a helper; or for a task inside a worker's wait
 *   lease           a thread's use of a block; each block has a word for it
 *   owner           the thread that uses a block. In comments, "worker" often includes stand-ins
 *   queue           a worker's ring, and in a WSQ_LIFO pool its deque
 *   slot            a worker's LIFO slot (or an entry of a ring)
 *   lane            a wsqi_lane: a list of tasks to which any thread can add. The global queue
 *                   consists of lanes; WSQ_HIGH and WSQ_LOW have one each
 *   inbox           the lane of one worker for the tasks that are pinned to it
 *   chain           tasks that are linked by `next`
 *   spill           to move tasks from a ring into the global queue
 *   marked task     a task that came into a ring from the global queue
 *   notify          to wake idle threads for work; for one task only if S counts no searcher
 *   look            to read whether other threads or lanes have work; or whether a wait is over
 *   run dry         said of a worker: to find no task in its own queue or the global queue, and so
 *                   begin a search
 *   seat            a word in which one thread, before it sleeps, notes that it seeks a permit. A
 *                   thread that blocks clears the word, and so hands its permit to the seeking one
 *   token           what a parked thread waits for; another thread gives it (wsqi_unpark)
 *   call            to make the threads that wait for an object look at it again (wsqi_call)
 *   bucket          a list of waiting threads, found by the address of the object they wait for
 *   hold            a reason why a task may not be queued yet: a predecessor, a group, or that its
 *                   spawn is not over
 *   duty            a thread is on duty while it may run or cancel tasks
 *   pump            to run the tasks of a caller_runs pool: the thread that has the lease of worker
 *                   0 does, and is the working thread
 *   frame           which task, group and loop a thread runs; one more for each task or job that
 *                   runs on top of another
 *   linger          to stay awake after a useless search, with a free permit (wsqi_linger)
 *   quiet           said of a pool: no task is left. Stuck: each task left waits for another one
 *   still           said of a pool in a shutdown: all threads on duty sleep, and nothing is queued
 *   public job      a forked job that thieves may take; the other jobs are private
 *   trap            a word that a thief sets, so that the owner's next fork or join publishes jobs
 *   joiner          a thread in a join whose job was stolen: it sleeps, or runs other jobs
 *   above           said of a task: it runs inside a wait, on the same stack as the waiting task,
 *                   which is the task below
 *   useless         (in names: vain) said of a search or a look without a result; after several of
 *                   them in a row, a thread searches for a shorter time, and looks less often
 *   handle          the wsq_future * that wsq_submit gives, until it is given back
 *   tombstone       the entry of a future that was called in a wait, or cancelled: it stays in the
 *                   queue, but is not run
 *   efficiency      in figures of bench/sim: the work that was done, as a part of the work that
 *                   the simulated cores could have done in that time
 * ========================================================================== */

/* ==========================================================================
 * >>pairs: every order in this file
 *
 * Every acquire, release and full barrier has a label. The comment at its place says what becomes
 * true, and names the partner. The last column says what goes wrong if the order is weaker.
 *
 *  label  where                        order         partner     weaker, and...
 *  R1     ring push, spill: tail       release       R2          a thief runs an unwritten item
 *  R2     ring steal: victim's tail    acquire       R1 R8       a thief runs an unwritten item
 *  R3     ring room, spill: own head   acquire       R4          a slot overwritten while copied
 *  R4     ring steal's end: head       release       R3          a slot overwritten while copied
 *  R5     ring steal: victim's head    acquire       R6 R7       a stale tail: length underflows
 *  R6     ring pop, steal: head        release       R5 R9       a stale tail: length underflows
 *  R7     ring spill: head             release       R5 R9       a thief takes what was spilled
 *  R8     ring steal: own tail         release       R2          as R1, for an item stolen before
 *  R9     ring length: head            acquire       R6 R7       a full ring looks empty
 *  D1     deque push, pop: bottom      release       D2          a thief runs an unwritten item
 *  D2     deque steal: bottom          acquire       D1 D4       a thief runs an unwritten item
 *  D4 D5  deque pop; steal             seq_cst       each other  both take the last item
 *  D6 D7  deque grow; steal: array     rel; acq      each other  a thief reads an unwritten slot
 *  D8 D9  deque steal; push: top       rel; acq      each other  a thief reads the slot's next item
 *  G1 G2  chain pushed; taken          rel; acq      each other  a task's links are garbage
 *  G3 G4  lane, sweep: lock; unlock    acq; rel      each other  two consumers take one task
 *  I1 I2  token wait; give             acq; rel      each other  a woken thread misses the news
 *  I3     bitmap claim                 acq+rel       I5          a thread not yet idle is woken
 *  I5     own bit; JOINED cleared      acq+rel       I3 I8       S counts a sleeper that has no bit
 *  I6     notify                       full barrier  I7 I8 J7    a task lies beside a sleeper
 *  I7 I8  last searcher leaves; sleeps full barrier  I6 J5 J7    a task lies beside a sleeper
 *  I9     searcher leaves: S           acq+rel       I8 itself   the last look misses moved tasks
 *  I10    watcher, sleeper: last look  seq_cst       I11         nobody watches a full slot
 *  I11    slot put, bit cleared; take  seq_cst; acq  I10 I12 B6  nobody watches a full slot
 *  I12    slot stolen                  acquire       I11         a thief runs an unwritten item
 *  N1 N2  timer set; its time found    seq_cst       each other  nobody looks for a set timer
 *  N3 N4  timer fired or set; seen     rel; acq      each other  a timer is freed while it fires
 *  B1 B2  blocks counted; one added    acq; rel      each other  an unfilled block is read
 *  B4 B5  block taken; left            acq; rel      each other  two threads use one block
 *  B6     a sleeper becomes watcher    release       I11         an unfilled block is read
 *  B7 B8  free threads are counted     acq; rel      each other  a thread is counted twice
 *  B9     asked to leave               release       B10         a waiter is not called
 *  B10    pump left                    acq+rel       B4 B9       as B9; two threads run one worker
 *  B11    permit offered               full barrier  B12         a permit lies beside a waiter
 *  B12    wait for a permit            full barrier  B11         as B11
 *  M1 M2  mutex lock; unlock           acq; rel      each other  two threads hold the lock
 *  T1 W3  is it done?; wait: state     acquire       T2 T6       a result is read unwritten
 *  T2     finish: state                release       T1 T6 W3    a result is read unwritten
 *  T3     pend: state                  release       T4          two runs of a task overlap
 *  T4     wake: state                  acq+rel       T3 T5       runs overlap; wake data is missed
 *  T5     run; cleanup: state          acq+rel; acq  T4 itself   a wake's data is missed
 *  T6     spawn's claim: state         acq+rel       T2 T4 W3    two runs overlap; pool not seen
 *  E3     a hold taken away            acq+rel       itself T6   a run misses what it waited for
 *  E4     `after` closed               acquire       E5          an edge's links are garbage
 *  E5     edge pushed: `after`         acq+rel       E4 E6       as E4; an edge is never resolved
 *  E6     `after` open again           release       E5          an edge is never resolved
 *  E7     a graph's node ends          acq+rel       itself      a run misses what it waited for
 *  K3     group counts down            acq+rel       itself K4   a waiter misses a task's result
 *  K4     group read                   acquire       K3          a waiter misses a task's result
 *  F3     reference dropped            acq+rel       itself      two uses of a future overlap
 *  P1 P2  finished; summed up          rel; acq      each other  the pool looks quiet, and is not
 *  P4     stop; queueing               full barrier  itself, I6  a queued task is never cancelled
 *  P5 P6  pool over, still?; off duty  acq; rel      each other  a waiter misses what was done
 *  P7 P8  queued from outside; freed   acq+rel; acq  each other  a pool is used that was freed
 *  W1 W2  waiter called; listens       rel; acq      each other  a waiter sleeps on
 *  W6     runs dry: S                  acq+rel       itself      the last thread misses ended tasks
 *  W4 W5  ran dry; waits for the pool  full barrier  each other  a waiter misses a task's end
 *  V1 V2  driver taken; left           acq; seq_cst  each other  two uses of the driver overlap
 *  J1 J2  expose; steal: range         rel; acq      each other  a thief reads an unwritten job
 *  J3 J4  job done; joined             rel; acq      each other  a join misses the result
 *  J5     publish                      full barrier  I7 I8 J7    jobs stay hidden from a sleeper
 *  J7     join sleeps                  full barrier  I7 J5       jobs stay hidden from a sleeper
 * ========================================================================== */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#ifndef WSQ_MALLOC
#define WSQI_SYSTEM_MEMORY 1 /* the user did not choose an allocator */
#define WSQ_MALLOC(size) malloc(size)
#define WSQ_FREE(pointer) free(pointer)
#endif

#ifdef __cplusplus
#define WSQI_INIT {}
#else
#define WSQI_INIT {0}
#endif

/* ==========================================================================
 * >>atomic
 * Purpose:   a full barrier (wsqi_fence_sc), and a hint that a thread spins (wsqi_pause).
 * Invariant: a store before wsqi_fence_sc and a load after it are not swapped, on any machine.
 * ========================================================================== */

#ifndef WSQ_ATOMIC_HEADER
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WSQI_TSAN 1
#endif
#elif defined(__SANITIZE_THREAD__)
#define WSQI_TSAN 1
#endif

#if defined(WSQI_TSAN)
/* Thread sanitizer ignores fences, so here the barrier is an atomic addition of 0. On all machines
 * that the sanitizer supports, this addition is a full barrier. */
static inline void wsqi_fence_sc(void) {
    wsqi_a32 word = WSQI_INIT;
    (void)wsqi_add_sc(&word, 0u);
}
#elif !defined(WSQI_GNU) || defined(WSQ_FORCE_STDATOMIC)
#define wsqi_fence_sc() atomic_thread_fence(memory_order_seq_cst)
#elif defined(__x86_64__)
/* This instruction takes 5.7 ns; mfence, which clang would choose, takes 9 ns (Zen 5). */
#define wsqi_fence_sc() __asm__ __volatile__("lock; orl $0, -8(%%rsp)" ::: "memory", "cc")
#else
#define wsqi_fence_sc() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#endif

/* wsqi_fence_rmw is a full barrier that stands right after a read-modify-write. On x86 the
 * read-modify-write itself is a full barrier, so only the compiler is kept from reordering. */
#if (defined(__x86_64__) || defined(__i386__)) && defined(WSQI_GNU) && !defined(WSQI_TSAN)
#define wsqi_fence_rmw() __asm__ __volatile__("" ::: "memory")
#endif

#if defined(__x86_64__) || defined(__i386__)
#define wsqi_pause() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define wsqi_pause() __asm__ __volatile__("isb" ::: "memory")
#elif defined(WSQI_GNU)
#define wsqi_pause() __asm__ __volatile__("" ::: "memory")
#elif defined(_M_X64) || defined(_M_IX86)
#include <intrin.h>
#define wsqi_pause() _mm_pause()
#elif defined(_M_ARM64)
#include <intrin.h>
#define wsqi_pause() __isb(15)
#else
#define wsqi_pause() ((void)0)
#endif
#endif /* WSQ_ATOMIC_HEADER */

#ifndef wsqi_fence_rmw
#define wsqi_fence_rmw() wsqi_fence_sc()
#endif

/* Adds to a counter that only this thread writes, so a load and a store are enough. */
WSQI_HOT void wsqi_count(wsqi_a64 *counter, uint64_t n) {
    wsqi_store_stat(counter, wsqi_load_stat(counter) + n);
}

/* ==========================================================================
 * >>random
 * Purpose:   random numbers, with which a thief chooses its first victim.
 * Invariant: `one` and `two` are never both zero; otherwise the generator would give only zeros.
 * Writers:   the owner alone.
 * Source:    Marsaglia, Xorshift RNGs (2003), triple 17 7 16; Lemire, multiply-shift (2019).
 * ========================================================================== */

/* Knuth's multiplicative hash: if keys differ a little, their hashes differ in the upper bits. */
static inline uint64_t wsqi_hash(uint64_t key) { return key * 0x9E3779B97F4A7C15u; }

WSQ_API void wsq_random_seed(wsq_random *random, uint64_t seed) {
    seed = wsqi_hash(seed + 1);
    seed ^= seed >> 32;
    random->one = (uint32_t)(seed >> 32);
    random->two = (uint32_t)seed;
    if (random->one == 0 && random->two == 0) random->two = 0x9E3779B9u;
}

WSQ_API uint32_t wsq_random_next(wsq_random *random) {
    uint32_t s1 = random->one, s0 = random->two;
    s1 ^= s1 << 17;
    s1 = s1 ^ s0 ^ (s1 >> 7) ^ (s0 >> 16);
    random->one = s0;
    random->two = s1;
    return s0 + s1;
}

/* Maps a random number to 0 .. n - 1, by a multiplication and a shift instead of a division. */
WSQ_API uint32_t wsq_random_below(wsq_random *random, uint32_t n) {
    return (uint32_t)(((uint64_t)wsq_random_next(random) * n) >> 32);
}

/* ==========================================================================
 * >>ring
 * Purpose:   a worker's queue: first in, first out; a thief takes half of it in one step.
 * Invariant: `head` holds two indices, `steal` and `real`. The items in [real, tail) are queued. If
 *            steal != real, a thread is copying the items in [steal, real), and the owner must not
 *            overwrite them. tail - steal <= capacity; indices wrap at 2^32.
 * Writers:   head: owner (pop, spill) and thieves, by compare-and-swap; only at the end of a spill
 *            the owner stores it without one. tail, slots: the owner.
 * Source:    Tokio's queue.rs. Added here: a thief checks the room in its own ring.
 * Bound:     indices have 32 bits. If a multiple of 2^32 items passes through the ring between a
 *            thief's look at the head and its compare-and-swap, the thief may take empty slots.
 * ========================================================================== */

#define WSQI_RING_MASK ((uint32_t)WSQ_RING_CAPACITY - 1)

typedef char wsqi_ring_capacity_is_a_power_of_two
    [WSQ_RING_CAPACITY >= 2 && (WSQ_RING_CAPACITY & (WSQ_RING_CAPACITY - 1)) == 0 ? 1 : -1];

static inline uint64_t wsqi_head_pack(uint32_t steal, uint32_t real) {
    return (uint64_t)steal << 32 | real;
}
static inline uint32_t wsqi_head_steal(uint64_t head) { return (uint32_t)(head >> 32); }
static inline uint32_t wsqi_head_real(uint64_t head) { return (uint32_t)head; }

WSQ_API void wsq_ring_init(wsq_ring *ring) {
    wsqi_store_init(&ring->head, wsqi_head_pack(WSQ_RING_START, WSQ_RING_START));
    wsqi_store_init(&ring->tail, WSQ_RING_START);
}

/* Returns how many slots are free. Only the owner may call this. */
static inline uint32_t wsqi_ring_room(wsq_ring *self) {
    /* R3: a stolen item's slot is free only after the thief has copied the item. Pairs with R4. */
    uint64_t head = wsqi_load_acq(&self->head);
    return WSQ_RING_CAPACITY - (wsqi_load_own(&self->tail) - wsqi_head_steal(head));
}

WSQI_HOT bool wsqi_ring_push(wsq_ring *self, void *item) {
    uint32_t tail = wsqi_load_own(&self->tail);
    WSQ_ASSERT("an item must not be NULL" && item != NULL);
    if (wsqi_ring_room(self) == 0) return false;
    wsqi_set(&self->items[tail & WSQI_RING_MASK], item);
    /* R1: the item becomes visible to thieves. Pairs with R2. */
    wsqi_store_rel(&self->tail, tail + 1);
    return true;
}

WSQ_API bool wsq_ring_push(wsq_ring *self, void *item) { return wsqi_ring_push(self, item); }

WSQI_HOT void *wsqi_ring_pop(wsq_ring *self) {
    uint32_t tail = wsqi_load_own(&self->tail);
    uint64_t head = wsqi_load_hint(&self->head);
    for (;;) {
        uint32_t real = wsqi_head_real(head), steal = wsqi_head_steal(head);
        if (real == tail) return NULL;
        uint64_t next = wsqi_head_pack(steal == real ? real + 1 : steal, real + 1);
        /* R6: a thread that sees the new head sees this tail, or a newer one. If that thread saw an
         * older tail, its tail - head would underflow. Pairs with R5. Failure: relaxed, the loop
         * retries. */
        if (WSQI_LIKELY(wsqi_cas_rel(&self->head, &head, next)))
            return wsqi_get(&self->items[real & WSQI_RING_MASK]);
    }
}

WSQ_API void *wsq_ring_pop(wsq_ring *self) { return wsqi_ring_pop(self); }

/* The owner takes all items, and returns how many. The items stay in the slots below the tail,
 * oldest first, until the owner's next push. */
static uint32_t wsqi_ring_pop_all(wsq_ring *self) {
    uint32_t tail = wsqi_load_own(&self->tail);
    uint64_t head = wsqi_load_hint(&self->head);
    for (;;) {
        uint32_t real = wsqi_head_real(head), steal = wsqi_head_steal(head);
        if (real == tail) return 0;
        uint64_t next = wsqi_head_pack(steal == real ? tail : steal, tail);
        /* R6: a thread that sees the new head also sees this tail, or a later one. Pairs with R5.
         * Failure: relaxed, the loop retries. */
        if (wsqi_cas_rel(&self->head, &head, next)) return tail - real;
    }
}

/* The owner keeps the oldest WSQ_RING_CAPACITY / 2 items in the ring, and moves the others to
 * `out`, an array of WSQ_RING_CAPACITY / 2. Returns how many it moved: 0 if the ring is at most
 * half full, or a thief is copying. (A thief that read the tail before the spill lowered it takes
 * only the oldest items, at most half of the ring. So it takes none of the items that moved.) */
static size_t wsqi_ring_spill(wsq_ring *self, void **out) {
    const uint32_t half = WSQ_RING_CAPACITY / 2;
    uint32_t tail = wsqi_load_own(&self->tail);
    uint64_t head = wsqi_load_hint(&self->head);
    uint32_t start = wsqi_head_real(head);
    if (wsqi_head_steal(head) != start || tail - start <= half) return 0;
    /* Claims every item: to thieves this looks like a steal under way. R3: the last thief has made
     * its copies, so the slots of its items may be reused. (The next wsqi_ring_room cannot
     * establish this, because it reads the head that this thread stores below.) Pairs with R4.
     * Failure: a thief was faster. */
    if (!wsqi_cas_acq(&self->head, &head, wsqi_head_pack(start, tail))) return 0;
    for (uint32_t i = start + half; i != tail; i++)
        out[i - start - half] = wsqi_get(&self->items[i & WSQI_RING_MASK]);
    /* R1: a thief that reads this tail sees the items below it. The release of the head below does
     * not ensure that: a thief may have read the head before the spill. Its compare-and-swap can
     * still succeed, because the spill stores the same head again. */
    wsqi_store_rel(&self->tail, start + half);
    /* R7: a thief that finds the older half stealable also sees the lower tail. Otherwise two
     * thieves with the old tail, one after the other, could take items that have moved. Pairs with
     * R5. */
    wsqi_store_rel(&self->head, wsqi_head_pack(start, start));
    return tail - start - half;
}

/* Spills only a full ring. The older half stays in the ring, because it has most of the items that
 * came from the global queue, and these should not go straight back. */
WSQ_API size_t wsq_ring_spill(wsq_ring *self, void **out) {
    return wsqi_ring_room(self) == 0 ? wsqi_ring_spill(self, out) : 0;
}

/* The thief, the owner of `self`, takes half of the victim's items, but at most `most`. Returns the
 * oldest; the others go into `self`. NULL: the victim is empty, or another thread takes items. */
static inline void *wsqi_ring_steal(wsq_ring *victim, wsq_ring *self, uint32_t most) {
    uint32_t tail = wsqi_load_own(&self->tail);
    /* This thread returns one of the items that it takes, so its own ring needs room only for the
     * others. Even an empty ring may lack room, while another thief is copying from it. */
    uint32_t room = wsqi_ring_room(self);
    /* R5: the tail that is read next is not older than this head, so tail - head does not
     * underflow. Pairs with R6 and R7. */
    uint64_t head = wsqi_load_acq(&victim->head);
    /* R2: the items below this tail are visible. Pairs with R1 and R8. */
    uint32_t end = wsqi_load_acq(&victim->tail);
    uint32_t real = wsqi_head_real(head), available = end - real;
    if (wsqi_head_steal(head) != real || available - 1 >= WSQ_RING_CAPACITY) return NULL;
    uint32_t n = available - available / 2;
    if (n > room + 1) n = room + 1;
    if (n > most) n = most;
    uint64_t claim = wsqi_head_pack(real, real + n);
    /* R6: a thread that sees the new head also sees the tail `end`, or a later one. Pairs with R5.
     * Failure: another thread won. */
    if (!wsqi_cas_rel(&victim->head, &head, claim)) return NULL;
    void *first = wsqi_get(&victim->items[real & WSQI_RING_MASK]);
    for (uint32_t i = 1; i < n; i++) {
        void *item = wsqi_get(&victim->items[(real + i) & WSQI_RING_MASK]);
        wsqi_set(&self->items[(tail + i - 1) & WSQI_RING_MASK], item);
    }
    /* R8: the copies become visible to thieves that steal from the ring `self`. Pairs with R2. */
    if (n > 1) wsqi_store_rel(&self->tail, tail + n - 1);
    do {
        head = wsqi_head_pack(wsqi_head_real(claim), wsqi_head_real(claim));
        /* R4: the thief has made its copies before the owner may overwrite a slot. Pairs with R3.
         * Failure: relaxed, the owner has popped; the loop uses the new real head. */
    } while (!wsqi_cas_rel(&victim->head, &claim, head));
    return first;
}

WSQ_API void *wsq_ring_steal(wsq_ring *victim, wsq_ring *self) {
    return wsqi_ring_steal(victim, self, WSQ_RING_CAPACITY);
}

WSQ_API size_t wsq_ring_length(const wsq_ring *ring) {
    /* R9: the tail that is read next is not older than this head. With an older tail a full ring
     * could look empty. Pairs with R6 and R7. */
    uint32_t real = wsqi_head_real(wsqi_load_acq(&ring->head));
    uint32_t length = wsqi_load_hint(&ring->tail) - real;
    return length <= WSQ_RING_CAPACITY ? length : WSQ_RING_CAPACITY;
}

/* ==========================================================================
 * >>platform
 * Purpose:   threads, a clock, the usable cores, one thread-local pointer, waiting on an address.
 * Invariant: wsqi_parking_wait sleeps only if the word holds the expected value when the wait
 *            begins. A wake after a change of the word is never lost. A wait may return early.
 * Writers:   a wsqi_parking, a wsqi_thread and the thread-local pointer: only this section.
 * Source:    Franke, Russell, Kirkwood: Fuss, Futexes and Furwocks (2002).
 *
 * A WSQ_PLATFORM_HEADER supplies these, as types, static functions or macros:
 *
 *     wsqi_parking       a type; each pool has one, in which its threads sleep
 *     bool wsqi_parking_init(wsqi_parking *self)       false: the system refused; nothing to free
 *     void wsqi_parking_fini(wsqi_parking *self)       called when no thread sleeps there any more
 *     void wsqi_parking_wait(wsqi_parking *self, wsqi_a32 *word, uint32_t expected,
 *                            uint64_t timeout_ns)
 *                                             timeout_ns: an hour at most; 0: no limit. The
 *                                             function leaves errno as it was
 *     void wsqi_parking_wake(wsqi_parking *self, wsqi_a32 *word, bool all)
 *                                             wakes one sleeper, or all; it may wake more. `word`
 *                                             is only an address: its memory may be gone
 *     wsqi_thread    a type; each worker has one, which stays in place until the join
 *     bool wsqi_thread_start(wsqi_thread *thread, void (*fn)(void *arg), void *arg,
 *                            size_t stack_size, const char *name)
 *                                             stack_size 0: the system's default. The function
 *                                             copies the name. False: no thread was started
 *     void wsqi_thread_join(wsqi_thread *thread)
 *     uint64_t wsqi_clock_ns(void)            nanoseconds since a fixed moment; never goes back
 *     unsigned wsqi_cpu_count(void)           cores that this process may use, at least 1
 *     wsqi_worker *wsqi_self_get(void)        a thread-local pointer, NULL at first
 *     void wsqi_self_set(wsqi_worker *self)
 * The header may also supply some of the following. For each one that it supplies, it must define a
 * macro of the same name, too. Three pairs come together or not at all: both functions for the
 * guard, both for pages, and wsqi_places_read with wsqi_cpu_now:
 *     wsqi_a32 *wsqi_guard_create(void)       a word that becomes 0 in a child of fork(). NULL:
 *                                             there is none; the pool does not notice a fork()
 *     void wsqi_guard_destroy(wsqi_a32 *guard)
 *     unsigned wsqi_places_read(uint32_t *places, unsigned count)
 *                                             stores the places (wsq_topology) of the processors,
 *                                             at most `count`, and returns how many
 *     unsigned wsqi_cpu_mask(void)            cores that the affinity mask allows, at least 1
 *     unsigned wsqi_cpu_now(void)             the processor that this thread runs on
 *     uintptr_t wsqi_thread_key(void)         a number that no other living thread has
 *     size_t wsqi_stack_default(void)         the bytes of a stack if stack_size is 0; 0: unknown
 *     void wsqi_cpu_leave(void)               moves this thread to another processor, if allowed
 *     void wsqi_thread_yield(void)            lets another thread run on this processor
 *     void *wsqi_pages_take(size_t size, size_t alignment)
 *                                             returns pages, or NULL. A page becomes resident when
 *                                             it is first touched. alignment: 64 KiB or more
 *     void wsqi_pages_give(void *pages, size_t size)
 * ========================================================================== */

#if defined(WSQ_PLATFORM_HEADER)
#include WSQ_PLATFORM_HEADER
#else

#if defined(_MSC_VER)
#define WSQI_THREAD_LOCAL __declspec(thread)
#elif defined(__cplusplus)
#define WSQI_THREAD_LOCAL thread_local
#elif defined(WSQI_GNU)
#define WSQI_THREAD_LOCAL __thread
#else
#define WSQI_THREAD_LOCAL _Thread_local
#endif

WSQI_ONE WSQI_THREAD_LOCAL wsqi_worker *wsqi_self_slot;

static inline wsqi_worker *wsqi_self_get(void) { return wsqi_self_slot; }
#define wsqi_thread_key() ((uintptr_t)&wsqi_self_slot)
static inline void wsqi_self_set(wsqi_worker *self) { wsqi_self_slot = self; }

#if defined(_WIN32)

/* ---- Windows 8 and later ---- */

#if !defined(_WINDOWS_) && !defined(NOMINMAX)
#define NOMINMAX
#endif
#if !defined(_WINDOWS_) && !defined(WIN32_LEAN_AND_MEAN)
#define WIN32_LEAN_AND_MEAN
#endif
#include <process.h>
#include <windows.h>

/* The functions of these types are looked up by name at run time. So no library has to be linked,
 * and the system's headers may be old ones that do not declare the functions. */
typedef void (*wsqi_symbol)(void);
typedef BOOL (WINAPI *wsqi_wait_fn)(volatile void *word, void *expected, SIZE_T size, DWORD ms);
typedef void (WINAPI *wsqi_wake_fn)(void *word);
typedef HRESULT (WINAPI *wsqi_name_fn)(HANDLE thread, const wchar_t *name);

static wsqi_symbol wsqi_find(const char *name) {
    HMODULE base = GetModuleHandleA("kernelbase.dll");
    return base != NULL ? (wsqi_symbol)GetProcAddress(base, name) : NULL;
}

static uint64_t wsqi_clock_ns(void) {
    LARGE_INTEGER ticks, second;
    QueryPerformanceCounter(&ticks);
    QueryPerformanceFrequency(&second);
    uint64_t whole = (uint64_t)(ticks.QuadPart / second.QuadPart);
    uint64_t part = (uint64_t)(ticks.QuadPart % second.QuadPart);
    return whole * 1000000000u + part * 1000000000u / (uint64_t)second.QuadPart;
}

typedef struct wsqi_parking {
    wsqi_wait_fn wait;
    wsqi_wake_fn wake_one, wake_all;
} wsqi_parking;

static bool wsqi_parking_init(wsqi_parking *self) {
    self->wait = (wsqi_wait_fn)wsqi_find("WaitOnAddress");
    self->wake_one = (wsqi_wake_fn)wsqi_find("WakeByAddressSingle");
    self->wake_all = (wsqi_wake_fn)wsqi_find("WakeByAddressAll");
    return self->wait != NULL && self->wake_one != NULL && self->wake_all != NULL;
}

static void wsqi_parking_fini(wsqi_parking *self) { (void)self; }

/* A time-out ends at a tick of the system's clock, so up to 16 ms late. */
static void wsqi_parking_wait(wsqi_parking *self, wsqi_a32 *word, uint32_t expected,
                              uint64_t timeout_ns) {
    uint64_t ms = (timeout_ns + 999999) / 1000000;
    DWORD error = GetLastError(); /* the caller's, restored below */
    self->wait(word, &expected, sizeof expected, timeout_ns ? (DWORD)ms : INFINITE);
    SetLastError(error);
}

static void wsqi_parking_wake(wsqi_parking *self, wsqi_a32 *word, bool all) {
    (all ? self->wake_all : self->wake_one)((void *)word);
}

typedef struct wsqi_thread {
    HANDLE handle;
    void (*fn)(void *arg);
    void *arg;
    wchar_t name[16];
} wsqi_thread;

static unsigned __stdcall wsqi_thread_main(void *arg) {
    wsqi_thread *thread = (wsqi_thread *)arg;
    wsqi_name_fn set_name = (wsqi_name_fn)wsqi_find("SetThreadDescription"); /* new in Windows 10 */
    if (set_name != NULL) set_name(GetCurrentThread(), thread->name);
    thread->fn(thread->arg);
    return 0;
}

static bool wsqi_thread_start(wsqi_thread *thread, void (*fn)(void *arg), void *arg,
                              size_t stack_size, const char *name) {
    size_t length = 0;
    if (stack_size > UINT32_MAX) return false;
    thread->fn = fn;
    thread->arg = arg;
    for (; length < 15 && name[length]; length++)
        thread->name[length] = (wchar_t)(name[length] & 0xff);
    thread->name[length] = 0;
    thread->handle = (HANDLE)_beginthreadex(NULL, (unsigned)stack_size, wsqi_thread_main, thread,
                                            STACK_SIZE_PARAM_IS_A_RESERVATION, NULL);
    return thread->handle != NULL;
}

static void wsqi_thread_join(wsqi_thread *thread) {
    WaitForSingleObject(thread->handle, INFINITE);
    CloseHandle(thread->handle);
}

/* Counts the cores of the affinity mask, which covers one processor group of at most 64 cores. But
 * since Windows 11 a process runs in all groups if its mask has every core of its group. Then this
 * counts the cores of all groups. (GetProcessDefaultCpuSetMasks exists since Windows 11.) */
static unsigned wsqi_cpu_count(void) {
    DWORD_PTR mine = 0, all = 0;
    unsigned count = 0;
    GetProcessAffinityMask(GetCurrentProcess(), &mine, &all);
    if (mine == all && wsqi_find("GetProcessDefaultCpuSetMasks") != NULL)
        count = (unsigned)GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
    for (; count == 0 && mine; mine &= mine - 1) count++;
    return count > 0 ? count : 1;
}

#else

#if defined(__has_include)
#if !__has_include(<pthread.h>)
#error "wsq.h needs POSIX threads, Windows, or a WSQ_PLATFORM_HEADER (>>platform)"
#endif
#endif

/* Chooses how a thread sleeps on a word. The systems named here have a call for that. On all other
 * systems, for example NetBSD, the thread sleeps on a condition variable. */
#if !defined(WSQ_FORCE_PTHREAD)
#if defined(__linux__)
#define WSQI_FUTEX 1
#elif defined(__FreeBSD__)
#include <sys/types.h>
#include <sys/umtx.h>
#define WSQI_SLEEP_UMTX_OP 1
#elif defined(__OpenBSD__)
#include <sys/time.h>
#include <sys/futex.h>
#define WSQI_SLEEP_OPENBSD 1
#elif defined(__DragonFly__)
#define WSQI_SLEEP_DRAGONFLY 1
#elif defined(__EMSCRIPTEN_PTHREADS__)
#include <emscripten/threading.h>
#define WSQI_SLEEP_WASM 1
#elif defined(__APPLE__) && __ENVIRONMENT_MAC_OS_X_VERSION_MIN_REQUIRED__ >= 140400
#include <os/clock.h>
#include <os/os_sync_wait_on_address.h>
#define WSQI_SLEEP_APPLE 1
#else
#define WSQI_SLEEP_PTHREAD 1
#endif
#else
#define WSQI_SLEEP_PTHREAD 1
#endif

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

#if defined(__x86_64__) && defined(__ILP32__)
#define WSQI_X32 1
#endif

/* These functions are declared here, because glibc and musl hide them under -std=c11. (A macro that
 * asks for them would come too late if the user has included a system header before.) On 32-bit
 * systems with a 64-bit time_t, the symbol clock_gettime is the function for the old 32-bit time_t,
 * so the declaration here names another symbol. */
#if (defined(__linux__) || defined(__EMSCRIPTEN__)) && !defined(__cplusplus)
long syscall(long number, ...);
int sched_getcpu(void);
int pthread_condattr_setclock(pthread_condattr_t *attributes, int clock);
#if UINTPTR_MAX > 0xffffffffu || defined(__EMSCRIPTEN__) || defined(__ANDROID__) || \
    defined(WSQI_X32) || (defined(__GLIBC__) && !defined(__USE_TIME_BITS64))
int clock_gettime(int clock, struct timespec *time);
#else
int clock_gettime(int clock, struct timespec *time) __asm__("__clock_gettime64");
#endif
#endif
#if defined(SIG_BLOCK)
typedef sigset_t wsqi_sigset;
#define WSQI_SIG_BLOCK SIG_BLOCK
#define WSQI_SIG_SETMASK SIG_SETMASK
#else
typedef struct wsqi_sigset { unsigned long words[128 / sizeof(long)]; } wsqi_sigset;
int sigfillset(wsqi_sigset *set);
int sigdelset(wsqi_sigset *set, int number);
int pthread_sigmask(int how, const wsqi_sigset *set, wsqi_sigset *former);
#if defined(__mips__)
#define WSQI_SIG_BLOCK 1
#define WSQI_SIG_SETMASK 3
#else
#define WSQI_SIG_BLOCK 0
#define WSQI_SIG_SETMASK 2
#endif
#endif

#if defined(CLOCK_MONOTONIC)
#define WSQI_CLOCK CLOCK_MONOTONIC
#else
#define WSQI_CLOCK 1 /* CLOCK_MONOTONIC on Linux */
#endif

static uint64_t wsqi_clock_ns(void) {
    struct timespec now;
    clock_gettime(WSQI_CLOCK, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline struct timespec wsqi_timespec(uint64_t ns) {
    struct timespec time;
    time.tv_sec = (time_t)(ns / 1000000000u);
    time.tv_nsec = (long)(ns % 1000000000u);
    return time;
}

/* If pthread_cancel ended a thread that blocks in wsq, a lock might stay locked, or a pool half
 * freed. So wsq turns pthread_cancel off while the thread blocks. A thread that is cancelled then
 * ends at a later cancellation point. */
#if defined(PTHREAD_CANCEL_DISABLE)
static inline int wsqi_cancel_off(void) {
    int former;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &former);
    return former;
}
static inline void wsqi_cancel_back(int former) { pthread_setcancelstate(former, &former); }
#else
static inline int wsqi_cancel_off(void) { return 0; }
static inline void wsqi_cancel_back(int former) { (void)former; }
#endif

/* ---- waiting on an address ---- */

/* Each kernel has two functions here. If the word has the expected value, wsqi_kernel_wait sleeps
 * until a wake, but at most for timeout_ns (0: no limit); it may return early. wsqi_kernel_wake
 * wakes one thread or all. */
#if defined(WSQI_FUTEX)

#define WSQI_FUTEX_WAIT_PRIVATE 128
#define WSQI_FUTEX_WAKE_PRIVATE 129

/* The kernel's struct of a time-out, whose fields may have another size than those of struct
 * timespec. The newest 32-bit machines have only futex_time64, with fields of 64 bits. On x32 plain
 * futex has fields of 64 bits, although `long` has 32. */
#if defined(WSQI_X32)
#define WSQI_SYS_FUTEX SYS_futex
typedef struct wsqi_futex_time { int64_t sec, nsec; } wsqi_futex_time;
#elif defined(SYS_futex)
#define WSQI_SYS_FUTEX SYS_futex
typedef struct wsqi_futex_time { long sec, nsec; } wsqi_futex_time;
#else
#define WSQI_SYS_FUTEX SYS_futex_time64
typedef struct wsqi_futex_time { int64_t sec, nsec; } wsqi_futex_time;
#endif

static void wsqi_kernel_wait(wsqi_a32 *word, uint32_t expected, uint64_t timeout_ns) {
    wsqi_futex_time time;
    time.sec = (long)(timeout_ns / 1000000000u);
    time.nsec = (long)(timeout_ns % 1000000000u);
    syscall(WSQI_SYS_FUTEX, word, WSQI_FUTEX_WAIT_PRIVATE, expected, timeout_ns ? &time : NULL,
            NULL, 0);
}

static void wsqi_kernel_wake(wsqi_a32 *word, bool all) {
    syscall(WSQI_SYS_FUTEX, word, WSQI_FUTEX_WAKE_PRIVATE, all ? 0x7fffffff : 1, NULL, NULL, 0);
}

#elif defined(WSQI_SLEEP_UMTX_OP)

static void wsqi_kernel_wait(wsqi_a32 *word, uint32_t expected, uint64_t timeout_ns) {
    struct timespec time = wsqi_timespec(timeout_ns);
    _umtx_op(word, UMTX_OP_WAIT_UINT_PRIVATE, expected, NULL, timeout_ns ? &time : NULL);
}

static void wsqi_kernel_wake(wsqi_a32 *word, bool all) {
    _umtx_op(word, UMTX_OP_WAKE_PRIVATE, all ? 0x7fffffff : 1, NULL, NULL);
}

#elif defined(WSQI_SLEEP_OPENBSD)

static void wsqi_kernel_wait(wsqi_a32 *word, uint32_t expected, uint64_t timeout_ns) {
    struct timespec time = wsqi_timespec(timeout_ns);
    futex((volatile uint32_t *)word, FUTEX_WAIT_PRIVATE, (int)expected, timeout_ns ? &time : NULL,
          NULL);
}

static void wsqi_kernel_wake(wsqi_a32 *word, bool all) {
    futex((volatile uint32_t *)word, FUTEX_WAKE_PRIVATE, all ? 0x7fffffff : 1, NULL, NULL);
}

#elif defined(WSQI_SLEEP_DRAGONFLY)

/* umtx_sleep takes the limit in microseconds, as an int; 0: no limit. A limit above one second is
 * cut to one second, so that it fits into the int. That is correct, as a wait may return early. */
static void wsqi_kernel_wait(wsqi_a32 *word, uint32_t expected, uint64_t timeout_ns) {
    int us = timeout_ns < 1000000000u ? (int)((timeout_ns + 999) / 1000) : 1000000;
    umtx_sleep((volatile const int *)word, (int)expected, us);
}

static void wsqi_kernel_wake(wsqi_a32 *word, bool all) {
    umtx_wakeup((volatile const int *)word, all ? 0 : 1);
}

#elif defined(WSQI_SLEEP_WASM)

static void wsqi_kernel_wait(wsqi_a32 *word, uint32_t expected, uint64_t timeout_ns) {
    double ms = timeout_ns > 0 ? (double)timeout_ns / 1e6 : __builtin_inf();
    emscripten_futex_wait(word, expected, ms);
}

static void wsqi_kernel_wake(wsqi_a32 *word, bool all) {
    emscripten_futex_wake(word, all ? 0x7fffffff : 1);
}

#elif defined(WSQI_SLEEP_APPLE)

static void wsqi_kernel_wait(wsqi_a32 *word, uint32_t expected, uint64_t timeout_ns) {
    if (timeout_ns == 0)
        os_sync_wait_on_address(word, expected, sizeof *word, OS_SYNC_WAIT_ON_ADDRESS_NONE);
    else
        os_sync_wait_on_address_with_timeout(word, expected, sizeof *word,
                                             OS_SYNC_WAIT_ON_ADDRESS_NONE,
                                             OS_CLOCK_MACH_ABSOLUTE_TIME, timeout_ns);
}

static void wsqi_kernel_wake(wsqi_a32 *word, bool all) {
    if (all)
        os_sync_wake_by_address_all(word, sizeof *word, OS_SYNC_WAKE_BY_ADDRESS_NONE);
    else
        os_sync_wake_by_address_any(word, sizeof *word, OS_SYNC_WAKE_BY_ADDRESS_NONE);
}

#endif

#if !defined(WSQI_SLEEP_PTHREAD)

typedef struct wsqi_parking { char nothing; } wsqi_parking;

static bool wsqi_parking_init(wsqi_parking *self) {
    self->nothing = 0;
    return true;
}

static void wsqi_parking_fini(wsqi_parking *self) { (void)self; }

/* The next two functions restore errno, because errors are normal here. A wait fails if the word
 * has changed, a signal came or the time is up. A wake may fail if the word's memory is freed. */
static void wsqi_parking_wait(wsqi_parking *self, wsqi_a32 *word, uint32_t expected,
                              uint64_t timeout_ns) {
    int saved = errno;
    (void)self;
    wsqi_kernel_wait(word, expected, timeout_ns);
    errno = saved;
}

static void wsqi_parking_wake(wsqi_parking *self, wsqi_a32 *word, bool all) {
    int saved = errno;
    (void)self;
    wsqi_kernel_wake(word, all);
    errno = saved;
}

#else

/* How many condition variables a pool has; a guess. Many words share one, so a wake for one word
 * also wakes threads that wait for others. A thread whose own word has not changed waits again. */
#define WSQI_PARKING_CONDITIONS 16

typedef struct wsqi_condition {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
} wsqi_condition;

typedef struct wsqi_parking { wsqi_condition conditions[WSQI_PARKING_CONDITIONS]; } wsqi_parking;

static wsqi_condition *wsqi_parking_condition(wsqi_parking *self, const wsqi_a32 *word) {
    uint64_t hash = wsqi_hash((uintptr_t)word >> 2);
    return &self->conditions[hash >> 60];
}

static void wsqi_parking_close(wsqi_parking *self, int count) {
    while (count-- > 0) {
        pthread_cond_destroy(&self->conditions[count].changed);
        pthread_mutex_destroy(&self->conditions[count].mutex);
    }
}

/* A change of the wall clock must not lengthen a wait. So macOS gets a span of time to wait, and
 * the other systems use the monotonic clock. */
#if defined(__APPLE__)

static int wsqi_cond_init(pthread_cond_t *condition) { return pthread_cond_init(condition, NULL); }

static void wsqi_cond_wait(wsqi_condition *condition, uint64_t timeout_ns) {
    struct timespec span = wsqi_timespec(timeout_ns);
    pthread_cond_timedwait_relative_np(&condition->changed, &condition->mutex, &span);
}

#else

static int wsqi_cond_init(pthread_cond_t *condition) {
    pthread_condattr_t attributes;
    int error = pthread_condattr_init(&attributes);
    if (error != 0) return error;
    error = pthread_condattr_setclock(&attributes, WSQI_CLOCK);
    if (error == 0) error = pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
    return error;
}

static void wsqi_cond_wait(wsqi_condition *condition, uint64_t timeout_ns) {
    struct timespec until = wsqi_timespec(wsqi_clock_ns() + timeout_ns);
    pthread_cond_timedwait(&condition->changed, &condition->mutex, &until);
}

#endif

static bool wsqi_parking_init(wsqi_parking *self) {
    for (int i = 0; i < WSQI_PARKING_CONDITIONS; i++) {
        bool mutex = pthread_mutex_init(&self->conditions[i].mutex, NULL) == 0;
        if (mutex && wsqi_cond_init(&self->conditions[i].changed) == 0) continue;
        if (mutex) pthread_mutex_destroy(&self->conditions[i].mutex);
        wsqi_parking_close(self, i);
        return false;
    }
    return true;
}

static void wsqi_parking_fini(wsqi_parking *self) {
    wsqi_parking_close(self, WSQI_PARKING_CONDITIONS);
}

static void wsqi_parking_wait(wsqi_parking *self, wsqi_a32 *word, uint32_t expected,
                              uint64_t timeout_ns) {
    wsqi_condition *condition = wsqi_parking_condition(self, word);
    int cancel = wsqi_cancel_off();
    pthread_mutex_lock(&condition->mutex);
    /* Another thread changes the word first, and then takes this mutex, in wsqi_parking_wake. So
     * either this thread sees the change here, or the wake comes after this wait began. */
    if (wsqi_load_locked(word) == expected) {
        if (timeout_ns == 0) pthread_cond_wait(&condition->changed, &condition->mutex);
        else wsqi_cond_wait(condition, timeout_ns);
    }
    pthread_mutex_unlock(&condition->mutex);
    wsqi_cancel_back(cancel);
}

static void wsqi_parking_wake(wsqi_parking *self, wsqi_a32 *word, bool all) {
    wsqi_condition *condition = wsqi_parking_condition(self, word);
    (void)all; /* threads may wait here for other words, so all wake up and read their words */
    pthread_mutex_lock(&condition->mutex);
    pthread_cond_broadcast(&condition->changed);
    pthread_mutex_unlock(&condition->mutex);
}

#endif

/* ---- threads ---- */

typedef struct wsqi_thread {
    pthread_t handle;
    void (*fn)(void *arg);
    void *arg;
    char name[16]; /* Linux's limit, with the terminating 0 */
} wsqi_thread;

#if defined(__linux__)
static void wsqi_thread_name(const char *name) {
    syscall(SYS_prctl, 15 /* PR_SET_NAME */, name, 0, 0, 0);
}
#elif defined(__APPLE__)
static void wsqi_thread_name(const char *name) { pthread_setname_np(name); }
#else
static void wsqi_thread_name(const char *name) { (void)name; }
#endif

static void *wsqi_thread_main(void *arg) {
    wsqi_thread *thread = (wsqi_thread *)arg;
    wsqi_thread_name(thread->name);
    thread->fn(thread->arg);
    return NULL;
}

/* Blocks signals in this thread. The thread is about to start a worker, and the worker inherits the
 * thread's signal mask. The host's signals are for the host's threads, so workers block all signals
 * except those of faults, SIGABRT and SIGPROF. */
static void wsqi_signals_block(wsqi_sigset *former) {
    static const int kept[] = {SIGSEGV, SIGBUS, SIGFPE,  SIGILL,
                               SIGTRAP, SIGSYS, SIGABRT, SIGPROF};
    wsqi_sigset set;
    sigfillset(&set);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) sigdelset(&set, kept[i]);
    pthread_sigmask(WSQI_SIG_BLOCK, &set, former);
}

#define WSQI_STACK_UNIT 16384u /* macOS accepts only stacks of whole pages (16 KiB on ARM) */

static bool wsqi_thread_start(wsqi_thread *thread, void (*fn)(void *arg), void *arg,
                              size_t stack_size, const char *name) {
    pthread_attr_t attributes;
    wsqi_sigset former;
    bool sized = stack_size != 0;
    thread->fn = fn;
    thread->arg = arg;
    snprintf(thread->name, sizeof thread->name, "%.15s", name);
    if (stack_size > WSQI_STACK_UNIT) stack_size += (0 - stack_size) % WSQI_STACK_UNIT;
    if (pthread_attr_init(&attributes) != 0) return false;
    bool ok = !sized || pthread_attr_setstacksize(&attributes, stack_size) == 0;
    wsqi_signals_block(&former);
    ok = ok && pthread_create(&thread->handle, &attributes, wsqi_thread_main, thread) == 0;
    pthread_sigmask(WSQI_SIG_SETMASK, &former, NULL);
    pthread_attr_destroy(&attributes);
    return ok;
}

static void wsqi_thread_join(wsqi_thread *thread) {
    int cancel = wsqi_cancel_off();
    pthread_join(thread->handle, NULL);
    wsqi_cancel_back(cancel);
}

#define wsqi_thread_yield() ((void)sched_yield())
#define wsqi_stack_default wsqi_stack_default
static size_t wsqi_stack_default(void) {
    pthread_attr_t attributes;
    size_t size = 0;
    if (pthread_attr_init(&attributes) != 0) return 0;
    if (pthread_attr_getstacksize(&attributes, &size) != 0) size = 0;
    pthread_attr_destroy(&attributes);
    return size;
}

/* ---- a word that is 0 in a child after fork() ---- */

#if defined(__linux__) || defined(__FreeBSD__) || defined(__OpenBSD__)
#include <sys/mman.h>

#if defined(MAP_ANONYMOUS)
#define WSQI_MAP_ANONYMOUS MAP_ANONYMOUS
#elif defined(__mips__)
#define WSQI_MAP_ANONYMOUS 0x800
#else
#define WSQI_MAP_ANONYMOUS 0x20 /* the value on Linux; -std=c11 hides the name */
#endif

#if defined(__linux__)
/* Makes the kernel zero the page in a child of fork(), by MADV_WIPEONFORK (18). QEMU's user mode
 * accepts and ignores unknown advice, so a success counts only if the invalid advice -1 fails. */
static bool wsqi_guard_wipe(void *page) {
    return syscall(SYS_madvise, page, 4096L, -1L) != 0 &&
           syscall(SYS_madvise, page, 4096L, 18L) == 0;
}
#else
int minherit(void *page, size_t size, int how);
static bool wsqi_guard_wipe(void *page) { return minherit(page, 4096, 3 /* INHERIT_ZERO */) == 0; }
#endif

static wsqi_a32 *wsqi_guard_create(void) {
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | WSQI_MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return NULL;
    if (wsqi_guard_wipe(page)) return (wsqi_a32 *)page;
    munmap(page, 4096);
    return NULL;
}

static void wsqi_guard_destroy(wsqi_a32 *guard) { munmap((void *)guard, 4096); }

#define wsqi_guard_create wsqi_guard_create
#endif

/* ---- pages ---- */

/* wsqi_pages_take is not defined under the address sanitizer: the sanitizer does not look for
 * pointers in these pages, and would report the memory that they point to as leaked. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WSQI_ASAN 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define WSQI_ASAN 1
#endif

#if defined(__linux__) && !defined(WSQI_ASAN)
static WSQI_UNUSED void *wsqi_pages_take(size_t size, size_t alignment) {
    int saved = errno; /* restored below: the caller may be inside a task */
    char *raw = (char *)mmap(NULL, size + alignment, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | WSQI_MAP_ANONYMOUS, -1, 0);
    errno = saved;
    if (raw == (char *)MAP_FAILED) return NULL;
    size_t head = (size_t)(0 - (uintptr_t)raw) & (alignment - 1);
    if (head != 0) munmap(raw, head);
    munmap(raw + head + size, alignment - head);
    syscall(SYS_madvise, raw + head, size, 15L /* MADV_NOHUGEPAGE; older kernels reject it */);
    errno = saved;
    return raw + head;
}

static WSQI_UNUSED void wsqi_pages_give(void *pages, size_t size) { munmap(pages, size); }

#define wsqi_pages_take wsqi_pages_take
#endif

/* ---- usable cores ---- */

#if defined(__linux__)

/* -std=c11 hides O_CLOEXEC; glibc still has __O_CLOEXEC. */
#if defined(O_CLOEXEC)
#define WSQI_CLOEXEC O_CLOEXEC
#elif defined(__O_CLOEXEC)
#define WSQI_CLOEXEC __O_CLOEXEC
#else
#define WSQI_CLOEXEC 0
#endif

/* Reads a small file as a string. False: the file is empty, or cannot be read. */
static bool wsqi_file_read(const char *path, char *text, size_t size) {
    int cancel = wsqi_cancel_off();
    int file = open(path, O_RDONLY | WSQI_CLOEXEC);
    ssize_t length = file >= 0 ? read(file, text, size - 1) : 0;
    if (file >= 0) close(file);
    wsqi_cancel_back(cancel);
    text[length > 0 ? length : 0] = 0;
    return length > 0;
}

#define WSQI_GROUP_BYTES 4352 /* longest line of /proc/self/cgroup: 256 bytes, then PATH_MAX */

/* Returns the quota of one control group in cores, rounded up; 0: unlimited or unknown. Version 2
 * of control groups has one file with quota and period, version 1 has a file for each. */
static unsigned wsqi_cgroup_quota(const char *group) {
    char path[WSQI_GROUP_BYTES + 64], text[64], *end;
    snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", group); /* version 2: "quota period" */
    if (wsqi_file_read(path, text, sizeof text)) {
        long quota = strtol(text, &end, 10), period = strtol(end, NULL, 10);
        return quota > 0 && period > 0 ? (unsigned)((quota + period - 1) / period) : 0;
    }
    snprintf(path, sizeof path, "/sys/fs/cgroup/cpu%s/cpu.cfs_quota_us", group); /* version 1 */
    long quota = wsqi_file_read(path, text, sizeof text) ? strtol(text, NULL, 10) : 0;
    snprintf(path, sizeof path, "/sys/fs/cgroup/cpu%s/cpu.cfs_period_us", group);
    long period = wsqi_file_read(path, text, sizeof text) ? strtol(text, NULL, 10) : 0;
    return quota > 0 && period > 0 ? (unsigned)((quota + period - 1) / period) : 0;
}

/* Does a list such as "cpu,cpuacct", which ends at a colon, contain "cpu"? */
static bool wsqi_cgroup_has_cpu(const char *rest) {
    for (; *rest && *rest != ':'; rest += strcspn(rest, ",:"), rest += *rest == ',') {
        if (strncmp(rest, "cpu", 3) == 0 && (rest[3] == ',' || rest[3] == ':')) return true;
    }
    return false;
}

/* Stores the path from a line "number:controllers:path" of /proc/self/cgroup. Version 1 of control
 * groups has a line with the controller "cpu"; version 2 has the line "0::path". If the file has
 * both lines, this keeps the path of version 1. */
static void wsqi_cgroup_line(const char *line, char *path) {
    const char *rest = strchr(line, ':'), *end = rest != NULL ? strchr(rest + 1, ':') : NULL;
    if (end == NULL || end[1] != '/') return;
    bool two = strncmp(line, "0::", 3) == 0;
    if ((two && *path == 0) || wsqi_cgroup_has_cpu(rest + 1)) strcpy(path, end + 1);
}

/* Stores the path of this process's control group, or "" if it is unknown. One read returns at most
 * a page, so this reads in a loop. */
static void wsqi_cgroup_path(char path[WSQI_GROUP_BYTES]) {
    char text[WSQI_GROUP_BYTES], *line, *end;
    size_t length = 0;
    ssize_t n;
    int cancel = wsqi_cancel_off();
    int file = open("/proc/self/cgroup", O_RDONLY | WSQI_CLOEXEC);
    *path = 0;
    while (file >= 0 && (n = read(file, text + length, sizeof text - 1 - length)) > 0) {
        text[length += (size_t)n] = 0;
        for (line = text; (end = strchr(line, '\n')) != NULL; line = end + 1) {
            *end = 0;
            wsqi_cgroup_line(line, path);
        }
        /* The last line may be incomplete, so it stays for the next read. If that line fills
         * `text`, the next read has no room and returns 0, and the loop ends. */
        length = strlen(line);
        memmove(text, line, length + 1);
    }
    if (length != 0) wsqi_cgroup_line(text, path);
    if (file >= 0) close(file);
    wsqi_cancel_back(cancel);
}

/* Takes the first range from a list such as "0-3,8". False: the list is empty. */
static bool wsqi_list_range(const char **rest, unsigned long *first, unsigned long *last) {
    char *end;
    if (**rest < '0' || **rest > '9') return false;
    *first = *last = strtoul(*rest, &end, 10);
    if (*end == '-') *last = strtoul(end + 1, &end, 10);
    *rest = *end == ',' ? end + 1 : end;
    return true;
}

/* Adds the bits of `mark` to the place of each processor in a list like "0-3,8". */
static void wsqi_list_mark(const char *rest, uint32_t *places, unsigned count, uint32_t mark) {
    unsigned long first, last;
    while (wsqi_list_range(&rest, &first, &last)) {
        for (; first <= last && first < count; first++) places[first] |= mark;
    }
}

#define WSQI_LIST_BYTES 4096 /* the most that one file of /sys holds */

/* Returns the first processor that shares the last-level cache of `cpu`, or 0 if that is unknown
 * (`cpu` may be offline). If a core has no level-3 cache, its level-2 cache is the last one. */
static uint32_t wsqi_cache_read(unsigned cpu, char *text) {
    char path[96];
    for (unsigned level = 3; level >= 2; level--) {
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/cache/index%u/shared_cpu_list",
                 cpu, level);
        if (wsqi_file_read(path, text, WSQI_LIST_BYTES))
            return (uint32_t)strtoul(text, NULL, 10) & 0xffffu;
    }
    return 0;
}

/* Adds to each processor's place the number of its NUMA node, in the upper 16 bits. */
static void wsqi_nodes_read(uint32_t *places, unsigned count) {
    char path[64], text[WSQI_LIST_BYTES], nodes[WSQI_LIST_BYTES];
    const char *rest = nodes;
    unsigned long node, last;
    if (!wsqi_file_read("/sys/devices/system/node/online", nodes, sizeof nodes)) return;
    while (wsqi_list_range(&rest, &node, &last)) {
        for (; node <= last && node < 0x10000u; node++) {
            snprintf(path, sizeof path, "/sys/devices/system/node/node%lu/cpulist", node);
            if (wsqi_file_read(path, text, sizeof text))
                wsqi_list_mark(text, places, count, (uint32_t)node << 16);
        }
    }
}

/* Stores the places of the possible processors, at most `count`. A place is [NUMA node:16 | first
 * processor that shares the last-level cache:16]; a part that is unknown is 0. Processors that are
 * offline have a place, too. Returns the number of places, or 0 if the system does not say. */
static unsigned wsqi_places_read(uint32_t *places, unsigned count) {
    char text[WSQI_LIST_BYTES];
    const char *rest = text;
    unsigned long first, last;
    unsigned n = 0;
    if (!wsqi_file_read("/sys/devices/system/cpu/possible", text, sizeof text)) return 0;
    while (wsqi_list_range(&rest, &first, &last)) n = last < count ? (unsigned)last + 1 : count;
    for (unsigned cpu = 0; cpu < n; cpu++) places[cpu] = wsqi_cache_read(cpu, text);
    wsqi_nodes_read(places, n);
    return n;
}

static unsigned wsqi_cpu_now(void) {
    int cpu = sched_getcpu();
    return cpu > 0 ? (unsigned)cpu : 0;
}

#define wsqi_cpu_leave wsqi_cpu_leave
static void wsqi_cpu_leave(void) {
    enum { WORD = 8 * sizeof(unsigned long) };
    unsigned long mask[128] = {0}, others[128], now[128]; /* 8192 processors, the kernel's limit */
    unsigned cpu = wsqi_cpu_now();
    int error = errno; /* restored below: the caller may be inside a task */
    long size = syscall(SYS_sched_getaffinity, 0, sizeof mask, mask);
    if (size > 0 && cpu / WORD < 128) {
        memcpy(others, mask, sizeof mask);
        others[cpu / WORD] &= ~(1ul << cpu % WORD);
        /* The thread moves if its mask leaves out this processor. (The call fails if there is no
         * other processor, or a sandbox forbids it.) After that the mask is restored, unless
         * another thread has changed it in between. */
        if (syscall(SYS_sched_setaffinity, 0, (size_t)size, others) == 0 &&
            syscall(SYS_sched_getaffinity, 0, sizeof now, now) == size &&
            memcmp(now, others, (size_t)size) == 0)
            syscall(SYS_sched_setaffinity, 0, (size_t)size, mask);
    }
    errno = error;
}

#define wsqi_places_read wsqi_places_read

#define wsqi_cpu_mask wsqi_cpu_mask

/* How many processors are in this thread's affinity mask; 1 if the system does not say. */
static unsigned wsqi_cpu_mask(void) {
    unsigned long mask[128] = {0}; /* 8192 processors, the kernel's limit (32-bit: 4096) */
    unsigned count = 0;
    long bytes = syscall(SYS_sched_getaffinity, 0, sizeof mask, mask);
    for (long i = 0; i < bytes / (long)sizeof mask[0]; i++) {
        for (unsigned long word = mask[i]; word; word &= word - 1) count++;
    }
    return count != 0 ? count : 1;
}

/* How many processors this process may use: those in this thread's affinity mask, but no more than
 * the quotas of the process's control groups allow. This reads files, which takes 10 to 25 us. */
static unsigned wsqi_cpu_count(void) {
    char group[WSQI_GROUP_BYTES];
    unsigned count = wsqi_cpu_mask();
    wsqi_cgroup_path(group);
    for (;;) {
        unsigned quota = wsqi_cgroup_quota(group);
        if (quota > 0 && quota < count) count = quota;
        char *parent = strrchr(group, '/');
        if (parent == NULL) return count;
        *parent = 0;
    }
}

#else

static unsigned wsqi_cpu_count(void) {
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? (unsigned)count : 1;
}

#endif
#endif /* _WIN32 */
#endif /* WSQ_PLATFORM_HEADER */

#ifndef wsqi_cpu_mask
#define wsqi_cpu_mask wsqi_cpu_count
#endif

#ifndef wsqi_places_read
#define wsqi_places_read(places, count) ((void)(places), (void)(count), 0u)
#define wsqi_cpu_now() 0u
#endif

#ifndef wsqi_cpu_leave
#define wsqi_cpu_leave() ((void)0)
#endif

#ifndef wsqi_thread_yield
#define wsqi_thread_yield() ((void)0)
#endif

#ifndef wsqi_stack_default
#define wsqi_stack_default() 0
#endif

#ifndef wsqi_thread_key
#define wsqi_thread_key() 0
#endif

#ifndef wsqi_guard_create
#define wsqi_guard_create() ((wsqi_a32 *)NULL)
#define wsqi_guard_destroy(guard) ((void)(guard))
#endif

/* Some systems count the seconds of a sleep in 31 bits. So a sleep lasts an hour at most; then the
 * caller sleeps again. The hour is a guess: any number of seconds in 31 bits would do. */
#define WSQI_LONGEST_NS 3600000000000u

static void wsqi_parking_sleep(wsqi_parking *self, wsqi_a32 *word, uint32_t expected,
                               uint64_t timeout_ns) {
    if (timeout_ns > WSQI_LONGEST_NS) timeout_ns = WSQI_LONGEST_NS;
    wsqi_parking_wait(self, word, expected, timeout_ns);
}

/* Returns memory whose address is a multiple of `alignment`, or NULL. `alignment` is a power of
 * two, and at least the alignment of a pointer. */
static void *wsqi_allocate(const wsq_allocator *allocator, size_t size, size_t alignment) {
    if (allocator != NULL) return allocator->allocate(size, alignment, allocator->user);
    if (size > SIZE_MAX - alignment - sizeof(void *)) return NULL;
    char *raw = (char *)WSQ_MALLOC(size + alignment + sizeof(void *));
    if (raw == NULL) return NULL;
    uintptr_t start = (uintptr_t)raw + sizeof(void *) + alignment - 1;
    char *memory = raw + ((start & ~(uintptr_t)(alignment - 1)) - (uintptr_t)raw);
    ((void **)(void *)memory)[-1] = raw;
    return memory;
}

static void wsqi_release(const wsq_allocator *allocator, void *memory, size_t size) {
    if (memory == NULL) return;
    if (allocator != NULL) {
        allocator->release(memory, size, allocator->user);
        return;
    }
    WSQ_FREE(((void **)memory)[-1]);
}

/* Returns memory for workers' blocks, at a multiple of WSQ_BLOCK_SIZE, or NULL. */
#if defined(wsqi_pages_take) && defined(WSQI_SYSTEM_MEMORY) && WSQ_BLOCK_SIZE >= 65536
static void *wsqi_blocks_take(const wsq_allocator *allocator, size_t size) {
    if (allocator == NULL) return wsqi_pages_take(size, WSQ_BLOCK_SIZE);
    return wsqi_allocate(allocator, size, WSQ_BLOCK_SIZE);
}

static void wsqi_blocks_give(const wsq_allocator *allocator, void *blocks, size_t size) {
    if (blocks == NULL) return;
    if (allocator == NULL) wsqi_pages_give(blocks, size);
    else wsqi_release(allocator, blocks, size);
}
#else
static void *wsqi_blocks_take(const wsq_allocator *allocator, size_t size) {
    return wsqi_allocate(allocator, size, WSQ_BLOCK_SIZE);
}

static void wsqi_blocks_give(const wsq_allocator *allocator, void *blocks, size_t size) {
    wsqi_release(allocator, blocks, size);
}
#endif

/* ---- a mutex for rare events (Drepper 2004) ---- */
/* The mutex is a word. 0: free; 1: held; 2: held, and perhaps other threads sleep on it. */

/* After this many tries for a lock, wsqi_take_awaited gives up, and wsqi_mutex_lock sleeps again. A
 * guess. */
#ifndef WSQI_LOCK_TRIES
#define WSQI_LOCK_TRIES 100
#endif

static void wsqi_mutex_lock(wsqi_parking *self, wsqi_a32 *mutex) {
    /* Before its first sleep, a thread tries once; after a sleep, WSQI_LOCK_TRIES times. With only
     * one try after a sleep, the thread could lose again and again to one that locks the mutex
     * every few us. (As many tries before the first sleep, too, are slower: bench/sim.) */
    for (uint32_t held = 1;; held = 2) { /* 2: this thread has slept, so others may sleep, too */
        for (int tries = held == 1 ? 1 : WSQI_LOCK_TRIES; tries > 0; tries--) {
            uint32_t free = 0;
            /* M1: this thread sees what the last holder wrote. Pairs with M2. Failure: another
             * thread has locked the mutex. */
            if (wsqi_load_hint(mutex) == 0 && wsqi_cas_acq(mutex, &free, held)) return;
            wsqi_pause();
        }
        if (wsqi_xchg_acq(mutex, 2u) == 0) return; /* M1: as above. */
        wsqi_parking_wait(self, mutex, 2, 0);
    }
}

static void wsqi_mutex_unlock(wsqi_parking *self, wsqi_a32 *mutex) {
    /* M2: what this holder wrote becomes visible to the next holder. Pairs with M1. */
    if (wsqi_xchg_rel(mutex, 0u) == 2) wsqi_parking_wake(self, mutex, false);
}

/* ==========================================================================
 * >>deque
 * Purpose:   a queue whose array grows. The owner takes the newest item; thieves take the oldest,
 *            one at a time.
 * Invariant: items [top, bottom) are queued; the array has room for them all. Indices have 64 bits,
 *            and top only grows, so top never has an old value again.
 * Writers:   bottom, array, slots: the owner. top: thieves and, for the last item, the owner.
 * Source:    Chase, Lev (2005); Le, Pop, Cohen, Zappa Nardelli (2013).
 * ========================================================================== */

struct wsqi_array {
    uint64_t mask;       /* capacity - 1 */
    wsqi_array *older;   /* the previous array, kept until fini: a slow thief may still read it */
    size_t bytes;        /* of this header and the slots that follow it */
};

static inline wsqi_aptr *wsqi_array_slot(wsqi_array *array, uint64_t index) {
    return (wsqi_aptr *)(void *)(array + 1) + (index & array->mask);
}

static wsqi_array *wsqi_array_create(const wsq_allocator *allocator, uint64_t capacity) {
    if (capacity > (SIZE_MAX - sizeof(wsqi_array)) / sizeof(wsqi_aptr)) return NULL;
    size_t bytes = sizeof(wsqi_array) + (size_t)capacity * sizeof(wsqi_aptr);
    wsqi_array *array = (wsqi_array *)wsqi_allocate(allocator, bytes, WSQ_CACHELINE);
    if (array == NULL) return NULL;
    array->mask = capacity - 1;
    array->older = NULL;
    array->bytes = bytes;
    /* All slots get a value here. wsqi_deque_grow copies only the queued items, and a thief with an
     * old `top` may read another slot. (The thief's compare-and-swap then fails.) */
    for (uint64_t i = 0; i < capacity; i++) wsqi_store_init(wsqi_array_slot(array, i), NULL);
    return array;
}

static wsq_result wsqi_deque_create(wsq_deque *deque, size_t capacity,
                                    const wsq_allocator *allocator) {
    if (capacity < 1 || (capacity & (capacity - 1)) != 0) return WSQ_ERR_INVALID;
    wsqi_array *array = wsqi_array_create(allocator, capacity);
    if (array == NULL) return WSQ_ERR_MEMORY;
    deque->allocator = allocator;
    wsqi_store_init(&deque->top, 0u);
    wsqi_store_init(&deque->bottom, 0u);
    wsqi_store_init(&deque->array, array);
    return WSQ_OK;
}

WSQ_API wsq_result wsq_deque_init(wsq_deque *deque, size_t capacity) {
    return deque == NULL ? WSQ_ERR_INVALID : wsqi_deque_create(deque, capacity, NULL);
}

WSQ_API void wsq_deque_fini(wsq_deque *deque) {
    wsqi_array *array = (wsqi_array *)wsqi_load_own(&deque->array);
    while (array != NULL) {
        wsqi_array *older = array->older;
        wsqi_release(deque->allocator, array, array->bytes);
        array = older;
    }
    wsqi_store_own(&deque->array, NULL);
}

/* Returns a new array of twice the capacity with the items [top, bottom), or NULL. */
WSQI_COLD static wsqi_array *wsqi_deque_grow(wsq_deque *self, wsqi_array *old, uint64_t top,
                                             uint64_t bottom) {
    wsqi_array *array = wsqi_array_create(self->allocator, (old->mask + 1) * 2);
    if (array == NULL) return NULL;
    for (uint64_t i = top; i != bottom; i++) {
        void *item = wsqi_load_own(wsqi_array_slot(old, i));
        wsqi_store_init(wsqi_array_slot(array, i), item);
    }
    array->older = old;
    /* D6: a thief that sees the array sees the copies in it. Pairs with D7. */
    wsqi_store_rel(&self->array, array);
    return array;
}

/* Must the owner's next push make the array larger? */
static bool wsqi_deque_full(wsq_deque *self) {
    const wsqi_array *array = (const wsqi_array *)wsqi_load_own(&self->array);
    return wsq_deque_length(self) > array->mask;
}

/* If less than a quarter of the deque is free, the owner doubles it. (After a purge of a full one:
 * so the next purge comes after as many pushes as it takes time.) */
static void wsqi_deque_widen(wsq_deque *self) {
    uint64_t bottom = wsqi_load_own(&self->bottom), top = wsqi_load_hint(&self->top);
    wsqi_array *array = (wsqi_array *)wsqi_load_own(&self->array);
    if (bottom - top > array->mask / 4 * 3) (void)wsqi_deque_grow(self, array, top, bottom);
}

WSQ_API wsq_result wsq_deque_push(wsq_deque *self, void *item) {
    uint64_t bottom = wsqi_load_own(&self->bottom);
    /* D9: a thief that moved top has read its slot, so that slot may be reused. Pairs with D8. */
    uint64_t top = wsqi_load_acq(&self->top);
    wsqi_array *array = (wsqi_array *)wsqi_load_own(&self->array);
    WSQ_ASSERT("an item must not be NULL" && item != NULL);
    if (bottom - top > array->mask) {
        array = wsqi_deque_grow(self, array, top, bottom);
        if (array == NULL) return WSQ_ERR_MEMORY;
    }
    wsqi_store_own(wsqi_array_slot(array, bottom), item);
    /* D1: the slot becomes visible to thieves. Pairs with D2. */
    wsqi_store_rel(&self->bottom, bottom + 1);
    return WSQ_OK;
}

WSQ_API void *wsq_deque_pop(wsq_deque *self) {
    uint64_t bottom = wsqi_load_own(&self->bottom) - 1;
    wsqi_array *array = (wsqi_array *)wsqi_load_own(&self->array);
    /* An old value of top does no harm, because top only grows. A deque that looks empty with an
     * old top is empty. If one item seems to be left, the compare-and-swap below checks that. */
    uint64_t top = wsqi_load_hint(&self->top);
    if ((int64_t)(bottom - top) > 0) {
        /* D4: the owner sees a thief's new top, or the thief sees this bottom; else both could take
         * the last item. A thief that reads this bottom sees the slots below. Pairs with D5, D2. */
        wsqi_store_sc(&self->bottom, bottom);
        top = wsqi_load_sc(&self->top); /* D4: as above */
        if ((int64_t)(bottom - top) > 0) return wsqi_load_own(wsqi_array_slot(array, bottom));
        /* D1: a thief that reads this bottom sees the slots below it. Pairs with D2. */
        wsqi_store_rel(&self->bottom, bottom + 1);
    }
    if ((int64_t)(bottom - top) < 0) return NULL;
    void *item = wsqi_load_own(wsqi_array_slot(array, bottom));
    /* D4: the thread that moves top gets the last item. Then the deque is empty, because the new
     * top equals self->bottom. Release: a thief that sees the new top sees that bottom, too. With
     * an older, higher bottom the thief would take an item that the owner has already popped. */
    return wsqi_cas_rel(&self->top, &top, top + 1) ? item : NULL;
}

WSQ_API wsq_steal wsq_deque_steal(wsq_deque *victim, void **item) {
    uint64_t top = wsqi_load_sc(&victim->top); /* D5: as below */
    /* D5: either this thief sees the owner's new bottom, or the owner sees the new top; otherwise
     * both would take the last item. D2: the slots below this bottom are visible. Pairs with D1,
     * D4. */
    uint64_t bottom = wsqi_load_sc(&victim->bottom);
    if ((int64_t)(bottom - top) <= 0) return WSQ_STEAL_EMPTY;
    /* D7: the copies in a grown array are visible. Pairs with D6. */
    wsqi_array *array = (wsqi_array *)wsqi_load_acq(&victim->array);
    void *first = wsqi_load_hint(wsqi_array_slot(array, top));
    /* D5: the owner sees this new top, unless this thief saw the owner's new bottom. D8: the thief
     * has read the slot before the owner sees it free and reuses it. Pairs with D4 and D9. Failure:
     * relaxed, this thief has taken nothing. */
    if (!wsqi_cas_sc(&victim->top, &top, top + 1)) return WSQ_STEAL_LOST;
    *item = first;
    return WSQ_STEAL_OK;
}

WSQ_API size_t wsq_deque_length(const wsq_deque *deque) {
    uint64_t top = wsqi_load_hint(&deque->top);
    uint64_t bottom = wsqi_load_hint(&deque->bottom);
    return (int64_t)(bottom - top) > 0 ? (size_t)(bottom - top) : 0;
}

/* ==========================================================================
 * >>shared: the worker and the pool, which the sections below have in common
 *
 * States. The brackets after a state say what leads to it:
 *   task      new -> active (a spawn) -> pending (its run returns WSQ_PENDING) -> active (a wake
 *             has queued it, and its next run begins) -> done (its run returns WSQ_DONE, or a
 *             thread cancels it)
 *   lease     (says whether a thread uses the block: for its whole life; while it is lent; while it
 *             works in a caller_runs pool, then as worker 0; or for one wsq_run or helper)
 *             vacant -> here (a thread has taken the block) -> vacant (it has left). If another
 *             thread has asked it to leave: here -> dismissed -> vacant
 *   pool      running -> closed (any shutdown closes the global queue's lanes; the phase stays RUN
 *             during a drain) -> cancelling (after the drain, if there is one) -> over (a thread
 *             finds the pool still, and no task in the middle of its run). In a child of fork():
 *             forked
 *   thread    (a worker or stand-in; the second column says whether it has a permit)
 *     coming     no   its START hook runs, and S does not count it yet. Only stand-ins begin so;
 *                     -> idle (wsqi_serve); before it sleeps, it looks for work
 *     at work    yes  -> searching, when it finds no task near by (wsqi_search_begin)
 *                     -> blocked, in a wait, a join or a blocking call (wsqi_thread_blocks)
 *     searching  yes  S counts it from wsqi_search_begin on, at the latest before it sleeps
 *                     -> at work (wsqi_search_end), lingering (wsqi_linger) or idle (wsqi_sleep)
 *     lingering  no   still counts as a searcher, and as coming; its permit is free
 *                     -> searching, with a free permit (wsqi_linger); or idle (wsqi_sleep)
 *     idle       no   S counts it as idle, and its permit, if it had one, as free
 *                     -> searching, when a waker brings a permit (wsqi_idle_take), or when it wakes
 *                        up by itself and takes one (wsqi_wake_self)
 *                     -> seeking, if no permit is free then. First it runs what is pinned to it
 *     blocked    no   (in a wait maybe yes: then it runs tasks there, and may be searching or idle;
 *                     in a join mostly yes: it keeps its permit until another thread needs it)
 *                     -> at work; or surplus, if no permit is free (wsqi_thread_resumes)
 *     surplus    no   it goes on with its task, because nobody else can
 *                     -> at work with a free permit, or seeking, when this run of the task
 *                        returns (wsqi_serve)
 *     seeking    no   in a seat, for as long as a search lasts (wsqi_permit_seek)
 *                     -> at work, when a thread that blocks passes its permit on (wsqi_permit_pass)
 *                        or a permit is free; or idle (wsqi_sleep)
 * ========================================================================== */

/* A pool has at most this many workers, and as many stand-ins: together fewer than S can count. */
#define WSQI_MAX_WORKERS 0x3fffu

/* How many spare blocks a pool has for calls of wsq_run (also nested ones) and for helpers. If none
 * is free, a run from outside becomes a task, a nested run runs each job in its fork, and a
 * thread outside runs no tasks in its wait. For tasks inside a wait a pool has WSQ_GUESTS other
 * spare blocks. */
#ifndef WSQ_GUESTS
#define WSQ_GUESTS 8
#endif
typedef char wsqi_guests_fit_into_eight_bits_of_S[(WSQ_GUESTS) <= 255 ? 1 : -1];

/* The counters of wsq_stats, without queue_depth. WSQ_NO_STATS turns off all counters except those
 * in the first and the last line. (The pool itself needs the first line: wsq_pool_wait adds up
 * `spawned` and `finished`, and by `run` other threads see that a task has begun.) */
typedef struct wsqi_counters {
    wsqi_a64 spawned, run, finished;
    wsqi_a64 lifo_hits, local_pops, global_batches, global_tasks, steal_attempts, steals,
        tasks_stolen;
    wsqi_a64 overflows, searches, parks, wakes_sent, rescued, published, jobs_stolen, joins_parked;
    wsqi_a64 average_task_ns, interval;
} wsqi_counters;

typedef struct wsqi_lane {
    /* tasks, newest first; producers push one or more, consumers take all */
    WSQI_ALIGNED(WSQ_CACHELINE) wsqi_aptr incoming;
    wsqi_a64 outside; /* 2 * (tasks spawned by threads outside that use this lane), + 1 if the lane
                       * is closed to tasks from outside */
    wsqi_a32 count;   /* how many tasks are here; not kept for the global queue's lanes */
    WSQI_ALIGNED(WSQ_CACHELINE) wsqi_a32 lock;      /* a try-lock, held mostly by consumers */
    wsqi_a32 length;                   /* tasks in `ready`; the lock's holder writes */
    wsqi_a32 helped;                   /* roughly how many tasks helpers took; see wsqi_wait_look */
    wsq_task *ready, *last;            /* a list, oldest first; only the lock's holder uses it */
} wsqi_lane;

/* A thread sleeps on a parker: that of its block or, if it has no block, one on its stack. */
typedef struct wsqi_parker {
    wsqi_a32 token; /* WSQI_TOKEN_* */
    wsqi_parking *parking;
} wsqi_parker;

/* One wait of a thread. Other threads find the wait by the address of what the thread waits for: a
 * task, a group, a future or the pool. They find a join's wait by the joiner's block. */
typedef struct wsqi_wait wsqi_wait;

/* The pool has 64 buckets: lists, each with a lock, of threads that wait or sleep in joins. */
#ifndef WSQI_BUCKET_BITS
#define WSQI_BUCKET_BITS 6
#endif
enum { WSQI_BUCKETS = 1 << WSQI_BUCKET_BITS };

typedef struct wsqi_wait_bucket {
    wsqi_a32 lock;    /* of this list; see wsqi_lock */
    wsqi_wait *first; /* the list; `lock` guards it */
} wsqi_wait_bucket;

/* WSQI_LANE_WORKERS: each thread outside shall mostly have its own lane, but searchers look at all
 * lanes. (How many lanes there are: >>words, "global queue".) With several lanes, a thread outside
 * moves the tasks of its lane from `incoming` to `ready` at every 64th spawn (WSQI_SETTLE), and
 * when it spawns several tasks in one call. A worker moves tasks only while `ready` holds fewer
 * than 64 (WSQI_ENOUGH), because it takes longer (wsqi_lane_settle). */
#ifndef WSQI_LANE_WORKERS
#define WSQI_LANE_WORKERS 3
#endif
#ifndef WSQI_SETTLE
#define WSQI_SETTLE 64u
#endif
#ifndef WSQI_ENOUGH
#define WSQI_ENOUGH 64u
#endif
enum { WSQI_GLOBAL_LANES = 16 };

typedef struct wsqi_loop wsqi_loop; /* see >>parallel */

/* The task, group and loop that a worker runs now. Work that begins inside a wait or a join, and
 * each stolen job, gets a new frame. `outer` is then the frame below. */
typedef struct wsqi_frame {
    struct wsqi_frame *outer; /* the frame below, or NULL */
    wsq_task *task;           /* the running task, or NULL */
    wsq_group *group;         /* its group, or NULL */
    wsqi_loop *loop;          /* the innermost loop that the worker is in, or NULL */
    wsq_ctx floor;            /* where the frame's jobs begin; a join that waits raises it */
    uint32_t budget_left;     /* what wsq_budget_take still gives the task */
} wsqi_frame;

/* Notes about a worker, mostly by other threads. If the ring's head is still as noted in `head`,
 * the ring still has the task that it had then. If 1 + counters.run still equals `run`, the worker
 * has begun no task since. */
typedef struct wsqi_marks {
    wsqi_a64 head;   /* thieves write: the ring's head when a thief saw only one task in the ring */
    wsqi_a64 run;    /* others write, when they look at slot or queue: 1 + counters.run; 0: none */
    wsqi_a32 robbed; /* thieves write: 1 while one of them takes tasks from the ring */
    wsqi_a32 vain;   /* owner, thieves write: calls of wsqi_slot_tell since a theft from the slot */
} wsqi_marks;

/* Which task comes next. After `interval` tasks a worker takes a turn: it looks at the global
 * queue, timers and more. */
typedef struct wsqi_turn {
    uint32_t left;  /* tasks until the next turn */
    uint32_t watch; /* if that is due: awaited tasks until wsqi_awaited_watch looks again */
    uint32_t count; /* finished turns; each WSQI_LOW_TURN-th runs a WSQ_LOW task, if any */
    uint64_t start; /* when the worker last began to time tasks (wsqi_turn_clock); 0: it times
                     * none now */
    uint64_t run;   /* counters.run at `start` */
    bool spilled;   /* the ring overflowed, so wsqi_order_keep is due; only in a pool with one
                     * worker */
    bool oldest;     /* WSQ_LIFO: true if the last turn looked in the ring, so that the next one
                      * looks in the deque */
    uint32_t lifo_left; /* how many more tasks of the slot may run before a task of the queue comes
                         * first; see wsqi_slot_due */
    uint32_t streak; /* how many WSQ_HIGH tasks in a row; see wsqi_take_urgent */
    bool pinned_due; /* flips when a streak ends: is a pinned task due then? */
    uint32_t victim; /* the block that wsqi_take_from_long looked at last */
    uint32_t tail;   /* this worker's ring tail at that look, or after its last theft since then */
    uint64_t seen;   /* 1 + counters.run of the block `victim` at that look; 0: no look yet */
    uint32_t end;    /* the tail of the ring of `victim` at that look */
} wsqi_turn;

/* What a worker remembers from one search to the next. */
typedef struct wsqi_searched {
    bool robs_slots;   /* it may take tasks from slots of workers in a long task */
    bool drove;        /* its last search asked the driver first, and got a task; see wsqi_search */
    uint8_t vain;      /* useless searches in a row, modulo 256 */
    uint32_t source;   /* 1 + index of the worker from which it last stole tasks */
    uint32_t helped;   /* how many tasks helpers had taken when wsqi_linger looked last */
    wsqi_wait *wait;   /* the wait in which the worker looks for work now, or NULL */
    uint64_t lingered; /* when wsqi_linger last began or saw `helped` change */
    uint64_t reported; /* counters.finished at its last search, or UINT64_MAX if it has since
                        * cancelled a task (`finished` does not count cancelled tasks) */
} wsqi_searched;

/* What a worker remembers from one sleep to the next. */
typedef struct wsqi_slept {
    bool suspicious; /* its last wsqi_park_timeout saw a queued task, but no searcher */
    uint32_t beside; /* how often in a row it woke up, for jobs, on its waker's processor */
    uint64_t run;    /* counters.run when it last went to sleep */
} wsqi_slept;

/* What a waker tells the worker that it wakes; `lead` may also be the worker's last victim. */
typedef struct wsqi_woken {
    wsqi_a32 lead; /* 1 + index of the block to steal from first; 0: none */
    wsqi_a32 from; /* 1 + the waker's processor, if the waker had jobs; else 0 */
} wsqi_woken;

/* How many calls of each kind on a worker's stack have not ended. */
typedef struct wsqi_depth {
    uint32_t joins; /* joins that wait for a stolen job */
    uint32_t waits; /* waits that run other tasks */
    uint32_t awaited; /* waits that run the task, future or group that they wait for */
    uint32_t forks; /* forks that ran their job for lack of job stack, and are not joined */
    uint32_t blocking; /* calls of wsq_block_begin */
    uint64_t offer; /* when a deep wait gave its permit back for another thread; 0: not lately */
} wsqi_depth;

/* How many tasks of one group the worker has finished, but not counted down in the group yet. */
typedef struct wsqi_ends {
    wsq_group *group; /* NULL: none */
    uint64_t count;
} wsqi_ends;

/* The free futures of one worker, or of all threads outside; see >>future. */
typedef struct wsqi_futures {
    wsq_future *first; /* the newest */
    uint32_t count;    /* length of the list: at most 2 * WSQI_FUTURE_BATCH */
} wsqi_futures;

typedef enum wsqi_driving {
    WSQI_DRIVING_NOT,
    WSQI_DRIVING_WAIT,  /* the owner is inside the driver's wait */
    WSQI_DRIVING_EVENTS /* the driver's wait returned true; its dispatch is due, or running */
} wsqi_driving;

/* How a block is used. COMMON: a worker or stand-in uses its own block; or a spare block serves
 * a task inside a wait, or a wsq_run that a worker or helper calls. */
typedef enum wsqi_use {
    WSQI_USE_COMMON,
    WSQI_USE_GUEST, /* a wsq_run of a thread from outside, or a wsq_run nested in that one */
    WSQI_USE_HELPS  /* a helper, which holds a permit; see wsqi_wait_help */
} wsqi_use;

/* The start of a block: a worker's, a stand-in's or a spare one. The job stack fills the rest of
 * the block. Members whose comment is `owner`, or begins with that word and a colon, are only for
 * the thread that uses the block; other comments say which threads read and write. */
struct wsqi_worker {
    wsqi_front front; /* the two traps, which fork and join read; see >>jobs */
    wsq_pool *pool;
    bool above;         /* this is a spare block for tasks inside a wait, not for wsq_run */
    wsqi_use use;       /* owner */
    bool permit;        /* owner: it has a permit. In the block of a guest: S counts the guest as at
                         * work. While the owner is idle, true: its waker brings a permit */
    bool asks;          /* owner: it must check `permit` and `lease` before each task */
    uint32_t wake_slot; /* owner: unless 0, tasks that it wakes go to its slot, without a notify */
    wsqi_worker *outer; /* the block in which the thread was before this one, or NULL */
    unsigned index;
    wsq_order order;      /* owner: where its tasks go: ring, deque, or the global queue */
    wsqi_turn turn;       /* owner */
    wsqi_searched search; /* owner */
    wsqi_slept sleep;     /* owner */
    wsqi_depth depth;     /* owner */
    uintptr_t brief;      /* owner: the body of an earlier loop that had few elements and took
                           * little time; 0: none; see wsqi_loop_run */
    bool searching;       /* owner: S counts it as a searcher. (Idle: true; see `permit`) */
    wsqi_frame frame;      /* owner: the task, group and loop that it runs */
    wsqi_ends ends;        /* owner */
    wsqi_futures futures;  /* owner */
    uint32_t tombstones;   /* owner: how many it has made since it last removed all tombstones */
    wsqi_driving driving; /* owner */
    wsq_random random;
    wsq_tune tune;
    WSQI_ALIGNED(WSQ_CACHELINE) wsqi_marks marks; /* mostly other threads write */
    WSQI_ALIGNED(WSQ_CACHELINE) wsqi_aptr lifo;   /* owner fills and empties, thieves empty */
    WSQI_ALIGNED(WSQ_CACHELINE) wsqi_a64 range;   /* the public jobs; owner and thieves write */
    WSQI_ALIGNED(WSQ_CACHELINE) wsqi_parker parker; /* owner parks, any thread unparks */
    wsqi_woken woken;
    wsqi_a32 lease;   /* 4 * (number of ended leases) + WSQI_LEASE_* */
    WSQI_ALIGNED(WSQ_CACHELINE) wsqi_counters counters; /* owner writes, all read */
    wsq_ring ring;
    wsq_deque deque; /* in a WSQ_LIFO pool: tasks spawned or woken here; the ring has the others */
    wsqi_lane inbox; /* tasks pinned to this worker: it alone takes them, until the pool stops */
    wsqi_thread thread;
};

typedef char wsqi_block_size_is_a_power_of_two_and_holds_a_worker
    [((WSQ_BLOCK_SIZE) & WSQI_BLOCK_MASK) == 0 &&
             sizeof(wsqi_worker) + 8 * sizeof(struct wsqi_entry) <= (WSQ_BLOCK_SIZE)
         ? 1 : -1];

/* wsq_task.state; see >>task */
enum {
    WSQI_TASK_ACTIVE = 1,   /* the task is held, queued or running */
    WSQI_TASK_PENDING = 2,  /* the task waits for a wake, or was woken and is queued */
    WSQI_TASK_DONE = WSQI_TASK_ACTIVE | WSQI_TASK_PENDING,
    WSQI_TASK_PHASE = WSQI_TASK_DONE, /* a mask; gives one of the three above, or 0: a new task */
    /* the task was woken, or was cancelled while PENDING; its next run clears this bit */
    WSQI_TASK_WOKEN = 4,
    WSQI_TASK_AWAITED = 8,  /* a thread or another task waits for the end, which clears the bit */
    /* the task or a predecessor was cancelled, or a thread has claimed the future: a run that sees
     * this does not begin */
    WSQI_TASK_POISONED = 16,
    /* the task has not started, and is a future or revocable (wsq_task_set_revocable) */
    WSQI_TASK_OPEN = 32,
    WSQI_TASK_HOLD = 64  /* this bit and above: the number of holds; at 0 the task is queued */
};

/* Timers lie in lists by time (>>timer). A worker's lists take 11 KiB. Without timers no thread
 * writes to this memory. */
enum {
    WSQI_TIMER_BITS = 6,
    WSQI_TIMER_LISTS = 1 << WSQI_TIMER_BITS,
    WSQI_TIMER_LEVELS = (64 + WSQI_TIMER_BITS - 1) / WSQI_TIMER_BITS
};

typedef struct wsqi_timers {
    /* no timer here is due before this time; WSQI_NEVER: no timer is set. All threads read it */
    WSQI_ALIGNED(WSQ_CACHELINE) wsqi_a64 next;
    WSQI_ALIGNED(WSQ_CACHELINE) wsqi_a32 lock; /* guards all members but `pool`; see wsqi_lock */
    wsq_pool *pool;
    uint64_t base;   /* a time in the past; see the invariant in >>timer */
    wsqi_link *open; /* the list whose time has come, while it is being emptied; or NULL */
    uint64_t filled[WSQI_TIMER_LEVELS]; /* a bit for each list; 0: the list is empty */
    wsqi_link lists[WSQI_TIMER_LEVELS][WSQI_TIMER_LISTS];
} wsqi_timers;

/* Which threads may run or cancel tasks (they are on duty: >>quiet), which thread sweeps, and how
 * many threads outside are queueing a task. */
typedef struct wsqi_duty {
    wsqi_a32 threads;  /* how many threads are on duty */
    wsqi_a32 sweeping; /* 1: a thread cancels all tasks in lanes; see wsqi_sweep */
    wsqi_a64 sweeper;  /* the wsqi_thread_key of that thread; 0: none */
    wsqi_a64 stuck;    /* 1: threads in wsq_pool_wait were called because the pool is stuck */
    wsqi_frame *frame; /* the sweeping thread's, if it has no block: the cleanups that it is in */
    wsqi_a32 abroad;   /* how many threads outside are queueing a task whose last hold is gone */
} wsqi_duty;

/* How many blocks and threads there are. The holder of the pool's lock writes the counts; a worker
 * that lingers changes `coming` without it. `failed` is only a hint, which any thread writes. */
typedef struct wsqi_made {
    wsqi_a32 threads; /* blocks of workers and stand-ins */
    wsqi_a32 spares;  /* spare blocks */
    wsqi_a32 standins; /* stand-ins whose thread exists */
    wsqi_a32 coming;  /* threads that S does not count as idle, but that look for work before they
                       * sleep: stand-ins that are just starting, and a worker that lingers */
    wsqi_a32 failed;  /* how many starts in a row have failed, or were left out for that reason */
} wsqi_made;

/* The free futures that no worker holds, and the memory of all; see >>future. */
typedef struct wsqi_depot {
    wsqi_a32 lock;        /* guards the rest; a start of threads does not hold it up */
    wsqi_futures outside; /* for threads outside */
    wsq_future *batches;
    void *chunks;
} wsqi_depot;

/* A seat for one thread that seeks a permit; see wsqi_permit_seek. */
typedef struct wsqi_seat {
    /* 1 + index of the seeking thread's block; 0: none. The seeking thread sets and clears the word
     * by CAS. A blocking thread may clear the word, and so gives its own permit to the seeker */
    WSQI_ALIGNED(WSQ_CACHELINE) wsqi_a32 seeker;
} wsqi_seat;

/* How near the blocks are to each other; see >>idle. Only `of_block` changes once workers run. */
typedef struct wsqi_places {
    bool matter;         /* two places differ, or wsq_config.topology is set */
    unsigned cpus;       /* the length of `of_cpu`; 0: `topology` is asked instead */
    uint32_t *of_cpu;    /* the place of each processor */
    wsqi_a32 *of_block;  /* the place of each block; its owner writes, rarely */
    wsq_topology topology;
} wsqi_places;

/* How long a search lasts. */
typedef struct wsqi_spinning {
    uint32_t rounds; /* how many rounds of looks it has, if `ns` is 0 */
    wsqi_a64 ns;     /* how many ns it lasts; WSQ_SPIN_OFF: one round; 0: see `rounds` */
} wsqi_spinning;

/* A bit for each block. */
typedef struct wsqi_bitmaps {
    unsigned words;     /* in each bitmap */
    wsqi_a64 *sleepers; /* 1: idle. The owner sets the bit; a waker or the owner clears it */
    wsqi_a64 *idle_in_wait; /* 1: idle in a wait. The owner writes the bit */
    wsqi_a64 *joiners;  /* 1: asleep in a join, and able to run jobs */
    wsqi_a64 *takers;   /* 1: asleep in another wait, and would take a permit */
    wsqi_a64 *empty;    /* 1: nothing to take, and no permit (wsqi_empty_begin). The owner writes */
} wsqi_bitmaps;

/* What the watcher looks at; see >>sleep. This begins a cache line of the pool, because the word in
 * the line before, S, changes often. */
typedef struct wsqi_watch {
    /* 1 + index of the watcher, + bits WSQI_WATCHES_*; 0: there is none */
    WSQI_ALIGNED(WSQ_CACHELINE) wsqi_a32 watcher;
    wsqi_a64 due;        /* when the watcher or its successor must look at the slots again */
    wsqi_a64 timer_next; /* no timer is due before this; WSQI_NEVER: none is set. Changed by CAS */
    /* 0: no thread has had the driver yet. Else 4 * (1 + index of the block of the thread that took
     * the driver last), + 1 while that thread has it, or + WSQI_HEARD if that thread got events and
     * gave the driver up. A thread takes the driver by CAS */
    wsqi_a32 poller;
} wsqi_watch;

struct wsq_pool {
    const char *copy; /* &wsqi_copy of the copy of wsq that made the pool; see wsqi_check_use */
    wsqi_a32 alive;   /* WSQI_ALIVE until the pool is freed */
    unsigned workers, spare_base; /* spare_base: the index of the first spare block */
    unsigned global_lanes; /* how many lanes the global queue has */
    bool may_help; /* threads outside may run tasks that they wait for, see wsqi_wait_help */
    unsigned processors; /* how many processors its threads can use; 1 in a caller_runs pool */
    wsqi_spinning spin;
    /* the block of each worker and stand-in, then the spare ones; NULL: not made yet. An entry is
     * written before `made` counts its block. The workers' blocks are adjacent */
    wsqi_worker **table;
    wsqi_bitmaps bitmap;
    wsq_config config; /* wsq_pool_create's argument, with the defaults filled in */
    wsq_allocator allocator;
    wsq_hooks hooks;
    wsq_driver driver; /* if config.driver is not NULL */
    char name[16];
    wsqi_places places;
    wsqi_a32 *phase; /* WSQI_PHASE_*; lies in own_phase, or in a page that fork() wipes */
    WSQI_ALIGNED(WSQ_CACHELINE) wsqi_a32 own_phase;
    wsqi_made made;
    /* S counts: [guests:8 | guests at work:8 | idle threads:16 | JOINED:1, see below |
     * free permits:15 | searching threads:16] */
    WSQI_ALIGNED(WSQ_CACHELINE) wsqi_a64 permits;
    wsqi_watch watch;
    /* a lane for each wsq_priority, then more lanes for WSQ_NORMAL. All lanes for WSQ_NORMAL
     * together are the global queue */
    wsqi_lane lanes[(int)WSQ_LOW + (int)WSQI_GLOBAL_LANES];
    WSQI_ALIGNED(WSQ_CACHELINE) wsqi_a32 waiters; /* threads in wsq_pool_wait */
    wsqi_a32 vain_looks; /* how often in a row wsqi_wait_look did not see the wait's end */
    wsqi_a32 lingers;    /* 1: a worker lingers (wsqi_linger); only that worker clears it */
    wsqi_a64 dropped; /* tasks that were cancelled; counters.finished leaves them out */
    wsqi_a64 wakes;   /* sleepers that threads outside have woken */
    wsqi_wait_bucket buckets[WSQI_BUCKETS]; /* the threads that wait; see >>waiters */
    wsqi_seat seats[WSQI_GLOBAL_LANES]; /* only the first `global_lanes` are used */
    wsqi_parking parking;
    wsqi_a64 held;      /* spawned tasks that wait for predecessors or for a group */
    wsqi_a32 lock;      /* guards stand-ins, spare blocks, the end of the pool */
    wsqi_timers *timers; /* one for each worker */
    wsqi_duty duty;
    wsqi_depot depot;
    struct wsqi_list *listing; /* the list of all tasks; NULL: config.list_tasks is off */
};

enum {
    WSQI_PHASE_FORKED, /* this is a child process after fork(), which has none of the threads */
    WSQI_PHASE_RUN,
    WSQI_PHASE_CANCEL, /* a shutdown cancels the tasks; WSQ_DRAIN drains before this phase */
    WSQI_PHASE_OVER    /* no task is queued or running, and workers end. A thread that queues a task
                        * then also cancels it. (Pending and held tasks may be left) */
};

/* The units of the counts in S, the pool's word `permits` */
#define WSQI_SEARCHING ((uint64_t)1)   /* one searching thread */
#define WSQI_PERMIT ((uint64_t)1 << 16) /* one free permit */
#define WSQI_JOINED ((uint64_t)1 << 31) /* set: perhaps a thread sleeps in a join with its permit */
#define WSQI_IDLE ((uint64_t)1 << 32)  /* one idle thread */
#define WSQI_GUEST_WORKS ((uint64_t)1 << 48) /* one guest at work */
#define WSQI_GUEST ((uint64_t)1 << 56)  /* one guest; a wsq_run inside another does not count */

static inline uint32_t wsqi_searching(uint64_t s) { return (uint32_t)s & 0xffffu; }
static inline uint32_t wsqi_free_permits(uint64_t s) { return (uint32_t)s >> 16 & 0x7fffu; }
static inline uint32_t wsqi_idle(uint64_t s) { return (uint32_t)(s >> 32) & 0xffffu; }
static inline uint32_t wsqi_guests_at_work(uint64_t s) { return (uint32_t)(s >> 48) & 0xffu; }
static inline uint32_t wsqi_guests(uint64_t s) { return (uint32_t)(s >> 56); }

/* Is the task in this phase? Phase 0, which a zeroed task has, means: it was never spawned. */
static inline bool wsqi_task_is(uint32_t state, uint32_t phase) {
    return (state & WSQI_TASK_PHASE) == phase;
}

/* Is the task over because a cancel, and not its own run, ended it? */
static inline bool wsqi_task_cancelled(uint32_t state) {
    return wsqi_task_is(state, WSQI_TASK_DONE) && (state & WSQI_TASK_POISONED) != 0;
}

/* Is the task spawned, and not over? */
static inline bool wsqi_task_live(uint32_t state) {
    return wsqi_task_is(state, WSQI_TASK_ACTIVE) || wsqi_task_is(state, WSQI_TASK_PENDING);
}

/* Returns the block with this index. The block is filled, because the caller has read this index,
 * or the number of blocks, with acquire (B1). */
static inline wsqi_worker *wsqi_block(const wsq_pool *pool, unsigned index) {
    return wsqi_get(&pool->table[index]);
}

/* How many blocks a pool has room for: twice WSQ_GUESTS are spare. */
static unsigned wsqi_blocks(const wsq_pool *pool) { return pool->spare_base + 2 * (WSQ_GUESTS); }

/* How many workers and stand-ins have a block. These blocks have queues, and the lowest indexes. */
static unsigned wsqi_threads_made(const wsq_pool *pool) {
    /* B1: this thread sees that the blocks counted here are filled. Pairs with B2. */
    return wsqi_load_acq(&pool->made.threads);
}

/* Returns the number of all workers, and of stand-ins whose thread exists. (A worker counts even
 * while no thread is lent to it.) */
static unsigned wsqi_threads_started(const wsq_pool *pool) {
    return pool->workers + wsqi_load_fenced(&pool->made.standins);
}

/* Can the pool start one more stand-in? */
static bool wsqi_standins_left(const wsq_pool *pool) {
    return wsqi_load_fenced(&pool->made.standins) != pool->config.max_standins;
}

static unsigned wsqi_spares_made(const wsq_pool *pool) {
    return wsqi_load_acq(&pool->made.spares); /* B1: the blocks counted here are filled */
}

/* How many workers have a thread that the pool starts. */
static unsigned wsqi_own_threads(const wsq_config *config) {
    return config->caller_runs || config->lend_only ? 0 : config->workers;
}

/* Is this the index of a spare block? (A spare block has no queue.) */
static bool wsqi_is_spare(const wsq_pool *pool, unsigned index) {
    return index >= pool->spare_base;
}

/* Is there a block with this index? The index may be any number. */
static bool wsqi_block_known(const wsq_pool *pool, unsigned index) {
    if (!wsqi_is_spare(pool, index)) return index < wsqi_threads_made(pool);
    return index - pool->spare_base < wsqi_spares_made(pool);
}

/* Returns the block with the index n - 1 if there is one and it is not `self`; else NULL. n is the
 * value of `lead` or of a job's `thief`, perhaps an old one: 0, or 1 + the index of a block. */
static wsqi_worker *wsqi_other(const wsqi_worker *self, uint32_t n) {
    bool other = n != 0 && n - 1 != self->index && wsqi_block_known(self->pool, n - 1);
    return other ? wsqi_block(self->pool, n - 1) : NULL;
}

/* Returns the index of the n-th of the blocks that exist, counted from 0: first come the blocks of
 * workers and stand-ins, then the spare ones. made: the number of the former, which the caller has
 * read with wsqi_threads_made. */
static unsigned wsqi_nth(const wsq_pool *pool, unsigned made, unsigned n) {
    return n < made ? n : n - made + pool->spare_base;
}

/* The first entry of a worker's job stack. */
static inline wsq_ctx wsqi_base(wsqi_worker *self) { return (wsq_ctx)(void *)(self + 1); }

static inline wsqi_worker *wsqi_worker_of(wsq_ctx ctx) {
    return (wsqi_worker *)((uintptr_t)ctx & ~WSQI_BLOCK_MASK);
}

/* The index of an entry of the job stack, counted from the start of the block. */
static inline uint32_t wsqi_entry_index(wsq_ctx entry) {
    return (uint32_t)(((uintptr_t)entry & WSQI_BLOCK_MASK) / sizeof *entry);
}

/* Returns the context that means: the job stack is full, so a fork runs its job immediately. */
static inline wsq_ctx wsqi_full_mark(wsqi_worker *self) {
    return (wsq_ctx)(void *)((char *)self + WSQ_BLOCK_SIZE) - 1;
}

/* The address of wsqi_copy identifies the copy of wsq in a library or a file. Each copy has its own
 * thread-local pointer, so it does not know the workers of another copy. */
WSQI_ONE char wsqi_copy;

#define WSQI_ALIVE 0x77737121u /* wsq_pool.alive; not a pattern that debuggers fill memory with */

#define wsqi_check_pool(pool) \
    WSQ_ASSERT("this wsq_pool was destroyed, or never created" && \
               wsqi_load_hint(&(pool)->alive) == WSQI_ALIVE)

/* Checks a pool before a thread uses it. self: the thread's innermost block, or NULL. */
static inline void wsqi_check_use(const wsq_pool *pool, const wsqi_worker *self) {
    (void)pool, (void)self; /* only assertions use them */
    wsqi_check_pool(pool);
    WSQ_ASSERT("another library, or with WSQ_STATIC another file, created this wsq_pool" &&
               pool->copy == &wsqi_copy);
    WSQ_ASSERT("a driver's wait must not call wsq" &&
               (self == NULL || self->driving != WSQI_DRIVING_WAIT));
}

/* This thread's innermost block in this pool; NULL: none. Blocks of other pools are passed over,
 * because a worker of one pool may be a guest in another. */
static inline wsqi_worker *wsqi_inside(const wsq_pool *pool) {
    wsqi_worker *self = wsqi_self_get();
    wsqi_check_use(pool, self);
    while (self != NULL && self->pool != pool) self = self->outer;
    return self;
}

/* This thread's innermost block in this pool that has a queue (so not a spare one); NULL: none. */
static inline wsqi_worker *wsqi_local(const wsq_pool *pool) {
    wsqi_worker *self = wsqi_self_get();
    wsqi_check_use(pool, self);
    while (self != NULL && (self->pool != pool || wsqi_is_spare(pool, self->index)))
        self = self->outer;
    return self;
}

/* For a thread without a queue in this pool: does it run a stolen job or, as a helper, a task? Then
 * a shutdown waits for the thread, and the thread may spawn while the pool drains. */
static bool wsqi_is_in_job(const wsq_pool *pool) {
    const wsqi_worker *block = wsqi_inside(pool);
    while (block != NULL && (block->pool != pool || block->frame.outer == NULL))
        block = block->outer;
    return block != NULL;
}

/* Returns the index that hooks and wsq_worker_index give for the thread that uses `block`. If the
 * thread also has a block with a queue in this pool, the result is the index of that one. */
static unsigned wsqi_number(const wsqi_worker *block) {
    const wsqi_worker *local = wsqi_local(block->pool);
    return local != NULL ? local->index : block->index;
}

/* A spawned task's pool, or, for a task of a group, 1 + the group's address. */
static uintptr_t wsqi_task_home(const wsq_task *task) {
    /* Relaxed: the spawn stored `pool` before it made the task active (T6). The caller has seen the
     * task active, so it sees that pool. */
    return (uintptr_t)wsqi_load_rlx(&task->pool);
}

static wsq_group *wsqi_task_group(const wsq_task *task) {
    uintptr_t home = wsqi_task_home(task);
    return (home & 1) != 0 ? (wsq_group *)(home - 1) : NULL;
}

static wsq_pool *wsqi_task_pool(const wsq_task *task) {
    uintptr_t home = wsqi_task_home(task);
    return (home & 1) != 0 ? ((wsq_group *)(home - 1))->pool : (wsq_pool *)home;
}

static inline bool wsqi_forked(const wsq_pool *pool) {
    wsqi_check_pool(pool);
    /* Relaxed: the kernel zeroes the word (0: FORKED) before the child's only thread starts. */
    return wsqi_load_rlx(pool->phase) == WSQI_PHASE_FORKED;
}

/* The result of a spawn that the pool refuses. */
static wsq_result wsqi_refusal(const wsq_pool *pool) {
    return wsqi_forked(pool) ? WSQ_ERR_FORKED : WSQ_ERR_CLOSED;
}

static inline void wsqi_lock(wsq_pool *pool, wsqi_a32 *lock) {
    wsqi_mutex_lock(&pool->parking, lock);
}

static inline void wsqi_unlock(wsq_pool *pool, wsqi_a32 *lock) {
    wsqi_mutex_unlock(&pool->parking, lock);
}

#ifdef WSQ_NO_STATS
#define wsqi_stat(counter, n) ((void)sizeof(counter), (void)(n))
#else
#define wsqi_stat(counter, n) wsqi_count(&(counter), (uint64_t)(n))
#endif

#ifdef WSQ_NO_HOOKS
#define WSQI_LISTS 0 /* is there code for wsq_config.list_tasks? */
#define wsqi_hooked(pool, events) ((void)(pool), (void)(events), false)
#else
#define WSQI_LISTS 1
#define wsqi_hooked(pool, bits) (!WSQI_LIKELY(((pool)->hooks.events & (bits)) == 0))
#endif

WSQI_COLD static void wsqi_event_report(const wsq_pool *pool, const wsqi_worker *self,
                                        wsq_event event, const void *subject, uint64_t value) {
    unsigned index = self != NULL ? wsqi_number(self) : WSQ_OUTSIDE;
    pool->hooks.event(pool->hooks.user, event, index, subject, value);
}

#define wsqi_event_of(pool, self, what, subject, value) \
    do { \
        if (wsqi_hooked(pool, 1u << (what))) \
            wsqi_event_report((pool), (self), (what), (subject), (uint64_t)(value)); \
    } while (0)

#define wsqi_event(self, what, subject, value) \
    wsqi_event_of((self)->pool, (self), (what), (subject), (value))

/* Reports an event to the user's hook, from any thread. `subject` must not be freed meanwhile. */
#define wsqi_event_here(pool, what, subject, value) \
    wsqi_event_of((pool), wsqi_inside(pool), (what), (subject), (value))

#if defined(WSQI_GNU)
static inline unsigned wsqi_lowest_bit(uint64_t mask) { return (unsigned)__builtin_ctzll(mask); }
#else
static inline unsigned wsqi_lowest_bit(uint64_t mask) {
    unsigned n = 0;
    while ((mask & 1) == 0) mask >>= 1, n++;
    return n;
}
#endif

/* ---- what lies in a block: queued tasks and public jobs ---- */

static inline bool wsqi_has_deque(const wsqi_worker *worker) {
    return worker->pool->config.order == WSQ_LIFO;
}

static size_t wsqi_queue_length(const wsqi_worker *worker) {
    size_t length = wsq_ring_length(&worker->ring);
    return wsqi_has_deque(worker) ? length + wsq_deque_length(&worker->deque) : length;
}

/* Are there tasks in the worker's queue or in its slot? */
static inline bool wsqi_has_tasks(const wsqi_worker *worker) {
    return wsqi_queue_length(worker) != 0 || wsqi_load_hint(&worker->lifo) != NULL;
}

/* Sets a worker's traps, so that its next fork or join publishes jobs. Any thread may call this. */
static inline void wsqi_steal_request(wsqi_worker *worker) {
    /* The owner may overwrite this request in wsqi_publish. It is not lost: after that the owner
     * looks (J5) whether a thread is free for jobs, and publishes some. If it has none, a searcher
     * sets the traps again or, if S counts none, the owner. (A joiner that is awake is not free; it
     * sets the traps before it sleeps.) */
    if (wsqi_load_hint(&worker->front.fork_trap) != NULL)
        wsqi_store_hint(&worker->front.fork_trap, NULL);
    if (wsqi_load_hint(&worker->front.join_trap) != WSQI_TRAP_SET)
        wsqi_store_hint(&worker->front.join_trap, WSQI_TRAP_SET);
}

/* A worker's `range`, [bottom:32 | top:32]: its public jobs are in the entries top to bottom - 1 of
 * its job stack; see >>jobs. */
static inline uint64_t wsqi_range_pack(uint32_t bottom, uint32_t top) {
    return (uint64_t)bottom << 32 | top;
}
static inline uint32_t wsqi_range_bottom(uint64_t range) { return (uint32_t)(range >> 32); }
static inline uint32_t wsqi_range_top(uint64_t range) { return (uint32_t)range; }

static uint32_t wsqi_range_length(wsqi_worker *worker) {
    uint64_t range = wsqi_load_hint(&worker->range);
    return wsqi_range_bottom(range) - wsqi_range_top(range);
}

static bool wsqi_range_empty(wsqi_worker *worker) { return wsqi_range_length(worker) == 0; }

/* ==========================================================================
 * >>lane: lists to which any thread adds tasks
 * Purpose:   lists of tasks that are in no worker's own queue. WSQ_HIGH and WSQ_LOW have one lane
 *            each. WSQ_NORMAL has one or more, the global queue, for tasks from outside and tasks
 *            that do not fit into a ring. Each worker has one, its inbox, for tasks pinned to it.
 *            A lane holds any number of tasks, without allocation.
 * Invariant: a task is in `incoming` (newest first) or in `ready` (oldest first). Tasks in `ready`
 *            are older than unmarked tasks in `incoming`. Marked tasks in `incoming` were put back,
 *            and go to the front of `ready`, where consumers take tasks. They are older than all of
 *            `ready`, unless other put-backs came before, or they came from another lane.
 * Writers:   incoming: producers push; the lock's holder takes all; a helper takes a lone task.
 *            outside, count: any thread, by read-modify-write. helped: any thread. The rest: the
 *            lock's holder.
 * Source:    Treiber's stack (1986); a consumer takes it whole, so ABA cannot happen.
 * ========================================================================== */

/* Marks a task: a queue then holds the task's address + 1. A thread marks a task that it takes from
 * the global queue, but does not run yet. It puts the task into its ring, or back into a lane's
 * `incoming`. A marked task is older than the tasks in `ready`, so it goes in front of them. */
static inline void *wsqi_marked(wsq_task *task) { return (char *)task + 1; }
static inline bool wsqi_is_marked(const void *item) { return ((uintptr_t)item & 1) != 0; }

/* The item of a lone task, which was pushed into an empty `incoming`: the task's address + 2. While
 * `incoming` holds this item, the task is alone there. */
static inline void *wsqi_lone(wsq_task *task) { return (char *)task + 2; }

/* The task of an item: marked, lone or plain. */
static inline wsq_task *wsqi_unmarked(void *item) {
    return (wsq_task *)((uintptr_t)item & ~(uintptr_t)3);
}

/* Puts a queue's item in front of a chain, newest first. The chain keeps the item's mark. */
static inline void wsqi_chain_add(wsq_task **newest, wsq_task **oldest, void *item) {
    wsq_task *task = wsqi_unmarked(item);
    if (*oldest == NULL) *oldest = task;
    else wsqi_set(&task->next, *newest);
    *newest = (wsq_task *)item;
}

/* Adds a chain of tasks, newest first, to a list that is later taken whole: a lane's `incoming`, or
 * a group's `then`. Any thread may call this. After a push into a lane the caller must notify, even
 * if the lane was not empty: the thread that filled it first may not have notified yet. */
static void wsqi_chain_push(wsqi_aptr *top, wsq_task *newest, wsq_task *oldest) {
    void *head = wsqi_load_hint(top);
    do {
        wsqi_set(&oldest->next, (wsq_task *)head);
        /* G1: the thread that takes the chain sees its links and tasks. Pairs with G2. Failure: the
         * loop retries. */
    } while (!wsqi_cas_rel(top, &head, newest));
}

/* Any thread adds a task to the lane. */
static inline void wsqi_lane_add(wsqi_lane *lane, wsq_task *task) {
    wsqi_chain_push(&lane->incoming, task, task);
}

/* Adds a chain of tasks to the lane, as wsqi_chain_push does. If the chain is a single task, and
 * `incoming` is empty, the task is pushed as a lone one. */
static void wsqi_lane_push(wsqi_lane *lane, wsq_task *newest, wsq_task *oldest) {
    void *head = NULL;
    bool lone = newest == oldest && wsqi_load_hint(&lane->incoming) == NULL;
    if (lone) wsqi_set(&newest->next, (wsq_task *)NULL);
    /* G1: the thread that takes the task sees its contents. Pairs with G2. Failure: another task
     * has come. */
    if (!lone || !wsqi_cas_rel(&lane->incoming, &head, wsqi_lone(newest)))
        wsqi_chain_push(&lane->incoming, newest, oldest);
}

/* Is the lane empty? A wrong yes is possible while another thread moves tasks from `incoming` to
 * `ready`; that thread notifies afterwards. */
static inline bool wsqi_lane_empty(const wsqi_lane *lane) {
    return wsqi_load_hint(&lane->length) == 0 && wsqi_load_hint(&lane->incoming) == NULL;
}

/* The lock's holder appends `incoming` to `ready`, but puts marked tasks in front. Returns how many
 * tasks are then in `ready`. */
static uint32_t wsqi_lane_collect(wsqi_lane *lane) {
    uint32_t length = wsqi_load_locked(&lane->length);
    if (wsqi_load_hint(&lane->incoming) == NULL) return length;
    /* G2: this thread sees the tasks and their links. Pairs with G1. */
    void *item = wsqi_xchg_acq(&lane->incoming, NULL);
    wsq_task *oldest[2] = {NULL, NULL}, *newest[2] = {NULL, NULL}; /* [0]: unmarked, [1]: marked */
    for (; item != NULL; length++) {
        wsq_task *task = wsqi_unmarked(item);
        bool back = wsqi_is_marked(item);
        item = wsqi_get(&task->next);
        wsqi_set(&task->next, oldest[back]);
        oldest[back] = task;
        if (newest[back] == NULL) newest[back] = task;
    }
    if (oldest[0] != NULL) {
        if (lane->ready == NULL) lane->ready = oldest[0];
        else wsqi_set(&lane->last->next, oldest[0]);
        lane->last = newest[0];
    }
    if (oldest[1] != NULL) {
        if (lane->ready == NULL) lane->last = newest[1];
        wsqi_set(&newest[1]->next, lane->ready);
        lane->ready = oldest[1];
    }
    return length;
}

/* Locks the lane. False: another thread holds the lock. (No thread waits for this lock.) */
static bool wsqi_lane_try(wsqi_lane *lane) {
    /* G3: this thread sees all that the last holder of the lock wrote. Pairs with G4. */
    return wsqi_load_hint(&lane->lock) == 0 && wsqi_xchg_acq(&lane->lock, 1u) == 0;
}

/* Unlocks the lane. length: of `ready`. */
static void wsqi_lane_unlock(wsqi_lane *lane, uint32_t length) {
    wsqi_store_locked(&lane->length, length);
    /* G4: `ready` and its length are complete for the next holder. Pairs with G3. */
    wsqi_store_rel(&lane->lock, 0u);
}

/* Moves `incoming` to `ready`, unless another thread holds the lock. A producer calls this after a
 * push, because most of the links are in its cache. (A consumer would have to fetch each link, and
 * keep other consumers out meanwhile.) After this call the producer must pass a full barrier and
 * notify. */
static void wsqi_lane_settle(wsqi_lane *lane) {
    if (wsqi_lane_try(lane)) wsqi_lane_unlock(lane, wsqi_lane_collect(lane));
}

/* The lock's holder takes the n oldest tasks of `ready`, as a chain. */
static wsq_task *wsqi_lane_cut(wsqi_lane *lane, uint32_t n) {
    wsq_task *first = lane->ready, *last = first;
    while (--n > 0) last = wsqi_get(&last->next);
    lane->ready = wsqi_get(&last->next);
    wsqi_set(&last->next, (wsq_task *)NULL);
    return first;
}

/* The index, among all lanes, of the n-th lane of the global queue. */
static inline uint32_t wsqi_lane_index(uint32_t n) {
    return n == 0 ? (uint32_t)WSQ_NORMAL : (uint32_t)WSQ_LOW + n;
}

/* The global queue's lane n, where n is taken modulo the number of the queue's lanes. */
static inline wsqi_lane *wsqi_global_lane(wsq_pool *pool, uint32_t n) {
    return &pool->lanes[wsqi_lane_index(pool->global_lanes > 1 ? n % pool->global_lanes : 0)];
}

static inline uint32_t wsqi_thread_hash(void) {
    return (uint32_t)(wsqi_hash(wsqi_thread_key()) >> 32);
}

/* The calling thread's lane of the global queue. It is always the same lane, so the tasks that the
 * thread puts there stay in order. */
static inline wsqi_lane *wsqi_lane_own(wsq_pool *pool) {
    if (WSQI_LIKELY(pool->global_lanes <= 1)) return &pool->lanes[WSQ_NORMAL];
    return wsqi_global_lane(pool, wsqi_thread_hash());
}

/* Adds 1 to `helped`, which is a hint: two threads at the same time may together add only 1. */
static void wsqi_helped_one(wsqi_lane *lane) {
    wsqi_store_hint(&lane->helped, wsqi_load_hint(&lane->helped) + 1);
}

/* Takes a lane's oldest tasks, as a chain: at most `most`, and at most a worker's share of the lane
 * (4 to 64). NULL: the lane is empty, or another thread holds its lock. *left returns how many
 * stay in `ready`. */
static wsq_task *wsqi_lane_take(wsq_pool *pool, wsqi_lane *lane, uint32_t most, uint32_t *left) {
    wsq_task *first = NULL;
    uint32_t length, share;
    *left = 0;
    if (wsqi_lane_empty(lane) || !wsqi_lane_try(lane)) return NULL;
    length = wsqi_load_locked(&lane->length);
    /* With one lane, the global queue's tasks must start in order. Marked tasks in `incoming` are
     * older than the tasks in `ready`. So this thread collects `incoming` each time. */
    if (length < WSQI_ENOUGH || pool->global_lanes <= 1) length = wsqi_lane_collect(lane);
    share = length / pool->workers * pool->global_lanes;
    share = share < 4 ? 4 : share > 64 ? 64 : share;
    if (share > most) share = most;
    if (share > length) share = length;
    if (share > 0) first = wsqi_lane_cut(lane, share);
    *left = length - share;
    wsqi_lane_unlock(lane, *left);
    return first;
}

/* ==========================================================================
 * >>tune
 * Purpose:   computes a worker's interval: how many tasks it runs between two looks at the global
 *            queue, so that about the target latency passes between the looks.
 * Invariant: min_interval <= interval <= max_interval.
 * Writers:   the owner alone.
 * Source:    Volt's adaptive interval: a moving average in which a new sample weighs 0.1.
 * ========================================================================== */

static uint32_t wsqi_tune_clamp(wsq_tune *tune) {
    uint64_t tasks = tune->target_ns / tune->average_ns;
    if (tasks < tune->min_interval) tasks = tune->min_interval;
    if (tasks > tune->max_interval) tasks = tune->max_interval;
    return tune->interval = (uint32_t)tasks;
}

WSQ_API void wsq_tune_init(wsq_tune *tune, const wsq_config *config) {
    tune->target_ns =
        config != NULL && config->target_latency_ns ? config->target_latency_ns : 1000000;
    tune->min_interval = config != NULL ? config->min_interval : 0;
    tune->max_interval = config != NULL ? config->max_interval : 0;
    if (tune->min_interval == 0) tune->min_interval = tune->max_interval == 1 ? 1 : 2;
    if (tune->max_interval == 0) tune->max_interval = 255;
    if (tune->max_interval < tune->min_interval) tune->max_interval = tune->min_interval;
    tune->average_ns = 50000;
    wsqi_tune_clamp(tune);
}

WSQ_API uint32_t wsq_tune_update(wsq_tune *tune, uint64_t elapsed_ns, uint32_t tasks) {
    if (tasks == 0) return tune->interval;
    double sample = (double)elapsed_ns / tasks;
    uint64_t average = (uint64_t)(0.1 * sample + 0.9 * (double)tune->average_ns);
    tune->average_ns = average ? average : 1;
    return wsqi_tune_clamp(tune);
}

/* Is one more try worth it, after `vain` useless tries in a row? The first four tries are, and then
 * every 16th, because the situation may have changed. Both numbers are guesses. */
enum { WSQI_VAIN = 4 };

static inline bool wsqi_worth(uint32_t vain) { return vain < WSQI_VAIN || vain % 16 == 0; }

/* ==========================================================================
 * >>waiters: what a thread sleeps on, and what it waits for
 * Purpose:   every thread sleeps on one word, the token of its parker. Other threads find a waiting
 *            thread by the address of the object that it waits for.
 * Invariant: a token, once given, stays until the parker's owner takes it. A waiting thread stays
 *            in the bucket of its object until its wait ends, so a thread that locks the bucket
 *            finds it.
 * Writers:   a token: the owner takes it, any thread gives it. A bucket: the holder of its lock.
 * Source:    the token is Java's and Rust's park and unpark; the buckets are the parking lot of
 *            WebKit (Pizlo 2015).
 * ========================================================================== */

#define WSQI_NEVER UINT64_MAX
#define WSQI_LATEST (WSQI_NEVER - 1) /* the latest time of a timer; a sleep until then has no end */

/* NONE: the owner is awake. HERE: the token was given, and not taken yet. ASLEEP: the owner sleeps,
 * or is about to. POLLING: the same, in the driver's wait. */
enum { WSQI_TOKEN_NONE, WSQI_TOKEN_HERE, WSQI_TOKEN_ASLEEP, WSQI_TOKEN_POLLING };

/* Waits at most timeout_ns for the driver's events (0: asks for them, and does not wait), and notes
 * in `driving` whether there are any. The caller is the owner, and has the driver. */
static void wsqi_driver_wait(wsqi_worker *self, uint64_t timeout_ns) {
    const wsq_driver *driver = &self->pool->driver;
    self->driving = WSQI_DRIVING_WAIT;
    bool events = driver->wait(timeout_ns, driver->user);
    self->driving = events ? WSQI_DRIVING_EVENTS : WSQI_DRIVING_NOT;
}

/* The owner sleeps until another thread gives the token, or until the deadline (WSQI_NEVER: none).
 * The sleep may end for no reason, so every caller loops on a condition of its own. poller: the
 * caller's block if the caller has the driver, and so sleeps in the driver's wait; else NULL. */
static void wsqi_park(wsqi_parker *self, uint64_t deadline, wsqi_worker *poller) {
    uint32_t how = poller != NULL ? WSQI_TOKEN_POLLING : WSQI_TOKEN_ASLEEP;
    bool ends = deadline < WSQI_LATEST;
    uint64_t now = ends ? wsqi_clock_ns() : 0;
    uint64_t timeout_ns = !ends ? 0 : deadline > now ? deadline - now : 1;
    uint32_t token = WSQI_TOKEN_NONE;
    /* Relaxed: this only says "asleep"; the exchange below acquires. Failure: a token is here. */
    if (wsqi_cas_rlx(&self->token, &token, how)) {
        if (poller == NULL) wsqi_parking_sleep(self->parking, &self->token, how, timeout_ns);
        else wsqi_driver_wait(poller, timeout_ns != 0 ? timeout_ns : WSQ_FOREVER);
    }
    /* I1: the caller sees all that the giver did before it gave the token. Pairs with I2. */
    wsqi_xchg_acq(&self->token, WSQI_TOKEN_NONE);
}

/* Gives the token, and wakes the parker's owner if it sleeps. Any thread may call this. */
static void wsqi_unpark(wsqi_parker *parker) {
    /* I2: the parker's owner sees all that this thread did before. Pairs with I1. */
    uint32_t former = wsqi_xchg_rel(&parker->token, WSQI_TOKEN_HERE);
    if (former == WSQI_TOKEN_ASLEEP) {
        wsqi_parking_wake(parker->parking, &parker->token, false);
    } else if (former == WSQI_TOKEN_POLLING) { /* the owner is, or will be, in the driver's wait */
        const wsq_pool *pool = wsq_container_of(parker->parking, wsq_pool, parking);
        if (!wsqi_forked(pool)) pool->driver.interrupt(pool->driver.user);
    }
}

struct wsqi_wait {
    wsq_pool *pool;
    wsqi_worker *self;   /* the worker whose queue this thread owns, or NULL */
    bool inside;         /* the thread is in a task or job, so a shutdown waits for the thread */
    bool blocked;        /* the thread has slept, or is about to */
    bool sweeps;         /* the thread cancels all tasks in lanes; see wsqi_sweep */
    bool gives;          /* in a join: the thread gives its permit back while it sleeps */
    bool pinned;         /* the last task that ran in this wait was pinned to the thread */
    bool ran_others;     /* it has run tasks that are not pinned: it need not offer its permit */
    bool was_offered;    /* another thread has offered a permit to this one (wsqi_permit_offer) */
    bool pumps;          /* the thread works in a caller_runs pool until this wait ends */
    const void *key;     /* the address of the awaited object; in a join: of the joiner's block */
    wsqi_wait_bucket *bucket;   /* the list that holds this wait; NULL: none yet */
    const wsq_task *task;   /* the awaited task, or NULL */
    const wsq_group *group; /* the awaited group, or NULL */
    const wsq_job *job;     /* the stolen job that a join waits for; NULL: not a join */
    uint64_t since;      /* when the wait began (0: not recorded); read under the bucket's lock */
    uint64_t deadline;   /* WSQI_NEVER: none */
    wsqi_a32 called;     /* WSQI_CALL_*; others set it, the waiter clears it */
    wsqi_a32 asleep;     /* read by a shutdown; 1: the waiter is idle or off duty, or about to be */
    wsqi_parker *parker; /* under the bucket's lock: where the waiter sleeps */
    wsqi_parker own;     /* the parker of a thread without a block */
    wsqi_wait *next, **link; /* in the bucket's list; the bucket's lock guards both */
};

/* A call says: look again (LOOK), or return, because the awaited end will never come (RELEASE). */
enum { WSQI_CALL_NONE, WSQI_CALL_LOOK, WSQI_CALL_RELEASE };

static wsqi_wait_bucket *wsqi_bucket_for(wsq_pool *pool, const void *key) {
    return &pool->buckets[wsqi_hash((uintptr_t)key) >> (64 - WSQI_BUCKET_BITS)];
}

/* Makes waiting threads look again: those that wait for the object at address `key`, or all if
 * `key` is NULL. Any thread may call this, and the object may no longer exist. */
static void wsqi_call(wsq_pool *pool, const void *key) {
    wsqi_wait_bucket *bucket = key != NULL ? wsqi_bucket_for(pool, key) : pool->buckets;
    wsqi_wait_bucket *end = key != NULL ? bucket + 1 : pool->buckets + WSQI_BUCKETS;
    for (; bucket < end; bucket++) {
        /* A waiter leaves its bucket under the lock before its wait ends, so each `wait` exists. */
        wsqi_lock(pool, &bucket->lock);
        for (wsqi_wait *wait = bucket->first; wait != NULL; wait = wait->next) {
            if (key != NULL && wait->key != key) continue;
            /* W1: the called thread sees what has changed. Pairs with W2. */
            wsqi_store_rel(&wait->called, (uint32_t)WSQI_CALL_LOOK);
            wsqi_unpark(wait->parker);
        }
        wsqi_unlock(pool, &bucket->lock);
    }
}

static bool wsqi_wait_called(const wsqi_wait *wait) {
    return wsqi_load_hint(&wait->called) != 0; /* wsqi_wait_listen (W2) checks it again */
}

static bool wsqi_wait_expired(const wsqi_wait *wait) {
    return wait->deadline != WSQI_NEVER && wsqi_clock_ns() >= wait->deadline;
}

/* ==========================================================================
 * >>quiet: is anything left to do, and which threads may do it
 * Purpose:   finds the moment when no task is left. wsq_pool_wait and a shutdown wait for it.
 * Invariant: every task is counted as spawned before it can finish, and then once as finished, or
 *            as dropped if it was cancelled. A thread that may run or cancel tasks is on duty.
 *            A thread that may have ended the last task passes a full barrier, and looks whether
 *            the pool is quiet, before it does anything of unknown length: when it runs dry as the
 *            last one, gives its permit back, or goes on to a job beside a guest. So a thread in
 *            wsq_pool_wait looks once, and then may sleep until it is called.
 * Writers:   counters: each worker its own. dropped, held, duty.threads: any thread, by
 *            read-modify-write.
 * Source:    Mattern's four counters (1987). In one process two sums are enough, if the finished
 *            tasks are added up first.
 * ========================================================================== */

/* How many tasks have finished or were cancelled so far. */
static uint64_t wsqi_finished(const wsq_pool *pool) {
    /* P2: this thread sees all spawns of the tasks that it counts as finished. Pairs with P1. */
    uint64_t finished = wsqi_load_acq(&pool->dropped);
    unsigned made = wsqi_threads_made(pool), count = made + wsqi_spares_made(pool);
    for (unsigned i = 0; i < count; i++) {
        const wsqi_worker *block = wsqi_block(pool, wsqi_nth(pool, made, i));
        finished += wsqi_load_acq(&block->counters.finished); /* P2: as above */
    }
    return finished;
}

/* How many tasks are spawned and not done. `finished` was added up first (wsqi_finished), and here
 * the spawned ones are. If the result is 0, no task was left at a moment between the two sums. */
static uint64_t wsqi_unfinished_since(const wsq_pool *pool, uint64_t finished) {
    uint64_t spawned = 0;
    for (unsigned i = 0, made = wsqi_threads_made(pool); i < made; i++)
        /* Relaxed: the acquires in wsqi_finished (P2) come before this read. */
        spawned += wsqi_load_rlx(&wsqi_block(pool, i)->counters.spawned);
    for (unsigned i = 0; i < pool->global_lanes; i++) /* Relaxed: as above. */
        spawned += wsqi_load_rlx(&pool->lanes[wsqi_lane_index(i)].outside) / 2;
    return spawned - finished;
}

static uint64_t wsqi_unfinished(const wsq_pool *pool) {
    return wsqi_unfinished_since(pool, wsqi_finished(pool));
}

/* Is every remaining task held? Then none can run: they wait for each other in a circle, for a
 * group, or for tasks that are never spawned or belong to another pool. A yes may be wrong while
 * the counts change, so wsq_pool_wait believes it only if it lasts for WSQI_STUCK_NS. *mark returns
 * a number that changes when a task ends or becomes held; 0: no task is held. */
static bool wsqi_stuck(wsq_pool *pool, uint64_t *mark) {
    uint64_t held = wsqi_load_hint(&pool->held);
    *mark = 0;
    if (held == 0) return false; /* mostly: then no sums are needed */
    uint64_t finished = wsqi_finished(pool);
    *mark = finished + (held << 40);
    if (wsqi_unfinished_since(pool, finished) != held) return false;
    /* Is `held` still the same as before the sums? A compare-and-swap sees its newest value. (An
     * addition of 0 may see an older one, because clang turns it into a load.) Relaxed: this
     * publishes nothing. */
    return wsqi_cas_rlx(&pool->held, &held, held);
}

/* Is the pool stuck, and is that news for the threads in wsq_pool_wait? A thread there that has
 * seen it stuck looks again by itself, after WSQI_STUCK_NS. So they are called only once, until one
 * of them sees that the pool is not stuck any more, and clears duty.stuck. (Or each spawn of a held
 * task, or in a caller_runs pool each look, would call them all.) */
static bool wsqi_stuck_anew(wsq_pool *pool) {
    uint64_t mark;
    if (wsqi_load_fenced(&pool->duty.stuck) != 0 || !wsqi_stuck(pool, &mark)) return false;
    wsqi_store_hint(&pool->duty.stuck, 1u);
    return true;
}

/* Calls the threads in wsq_pool_wait if no task can run any more. The caller has passed a full
 * barrier (W4). */
static inline void wsqi_call_if_quiet(wsq_pool *pool) {
    if (wsqi_load_fenced(&pool->waiters) == 0) return;
    if (wsqi_unfinished(pool) == 0 || wsqi_stuck_anew(pool)) wsqi_call(pool, pool);
}

/* Calls the threads in wsq_pool_wait if no task can run any more. A thread does this after it has
 * changed a count that wsqi_unfinished or wsqi_stuck reads. */
static void wsqi_check_quiet(wsq_pool *pool) {
    /* W4: either this thread sees the waiter, which is in wsq_pool_wait, or the waiter sees the
     * counts. Pairs with W5. */
    wsqi_fence_sc();
    wsqi_call_if_quiet(pool);
}

/* Does S count a guest? While the pool has no spare block, this does not read S, whose cache line
 * all threads share. */
static inline bool wsqi_has_guest(const wsq_pool *pool) {
    return wsqi_spares_made(pool) != 0 && wsqi_guests(wsqi_load_hint(&pool->permits)) != 0;
}

/* Calls the threads in wsq_pool_wait if no task can run any more, but looks only while S counts a
 * guest. A thread that may have ended the last task does this before it goes on with a job, after a
 * wait or with a future's result. (A thief does the same before it begins a job: wsqi_job_steal.)
 * The job may be a long one of a wsq_run, and wsq_pool_wait must not wait for it. */
static inline void wsqi_check_beside(wsq_pool *pool) {
    /* If there is no guest, the caller's job belongs to a task that has not ended, so the pool is
     * not quiet. During a wsq_run of a thread outside, S counts a guest. A thread that has stolen
     * the guest's job sees the guest in S (J2). */
    if (wsqi_has_guest(pool)) wsqi_check_quiet(pool);
}

/* The owner counts n more tasks as finished. */
static inline void wsqi_count_finished(wsqi_worker *self, uint64_t n) {
    /* P1: a thread that reads the count sees what the tasks did and spawned. Pairs with P2. */
    wsqi_store_rel(&self->counters.finished, wsqi_load_own(&self->counters.finished) + n);
}

/* ---- threads on duty ---- */

static void wsqi_check_still(wsq_pool *pool, bool stopper);

/* If the pool is stopping, waits until the pool's lock is free. A thread that wakes up or goes on
 * duty calls this, because the lock's holder may be in wsqi_check_still, where it reads the stacks
 * of threads that it found asleep. The caller has passed a full barrier (P4): either the caller
 * sees the pool stop, or wsqi_check_still sees the caller awake. */
static void wsqi_woke(wsq_pool *pool) {
    if (WSQI_LIKELY(wsqi_load_fenced(pool->phase) == WSQI_PHASE_RUN)) return;
    wsqi_lock(pool, &pool->lock);
    wsqi_unlock(pool, &pool->lock);
}

/* The thread goes on duty: now it may run or cancel tasks. (If it already was, it counts twice.) */
static void wsqi_duty_begin(wsq_pool *pool) {
    wsqi_add_rlx(&pool->duty.threads, 1u); /* Relaxed: the barrier that follows orders it. */
    wsqi_fence_rmw(); /* P4: this thread sees the stop, or the shutdown sees this thread on duty */
    wsqi_woke(pool);
}

/* The thread goes off duty. If the pool is over, the last one on duty calls all waiting threads. */
static void wsqi_duty_end(wsq_pool *pool) {
    /* P6: a thread that sees this thread off duty sees what the tasks and cleanups of this thread
     * did. Pairs with P5. */
    uint32_t left = wsqi_add_acqrel(&pool->duty.threads, 0u - 1u) - 1;
    wsqi_fence_rmw(); /* P4: this thread sees the stop, or the shutdown sees this thread off duty */
    if (WSQI_LIKELY(wsqi_load_fenced(pool->phase) == WSQI_PHASE_RUN)) return;
    wsqi_check_still(pool, false);
    if (left == 0 && wsqi_load_hint(pool->phase) == WSQI_PHASE_OVER) wsqi_call(pool, NULL);
}

/* ==========================================================================
 * >>idle: threads that sleep, search, and wake each other
 * Purpose:   no work waits while a worker sleeps, and few sleepers are woken for nothing.
 * Invariant: while no thread goes to sleep or is woken, S counts as many idle threads as `sleepers`
 *            has bits set. While S counts a searcher, a producer need not wake a thread, because
 *            the last searcher looks everywhere when it stops.
 * Writers:   S: any thread, by read-modify-write. A bit: its thread sets it when it goes to sleep.
 *            A waker first counts one idle thread as a searcher. Then it clears one bit, and gives
 *            that bit's thread the token.
 * Source:    Go's and Tokio's "last searcher must notify", Vyukov; the bitmap is Volt's.
 *
 * All orders here prevent one bad outcome. In it, a producer wakes no thread, because S shows a
 * searcher, or no free permit. Then that searcher stops, or a thread goes to sleep, and does not
 * see the producer's work. So a producer queues or publishes the work, passes a full barrier, and
 * reads S. The other thread writes S, passes a full barrier, and looks for work. So at least one of
 * the two sees what the other wrote.
 *
 * CHANGES OF S. Only these functions change S, once the pool is created (the lint checks that):
 *   wsqi_search_begin, _end   a thread begins to search, or ends its search
 *   wsqi_idle_begin           a thread becomes idle; if it had a permit, that becomes free
 *   wsqi_idle_take            a waker turns idle threads, each with a free permit, into searchers
 *   wsqi_wake_self            an idle thread wakes up by itself, with a permit if one is free
 *   wsqi_permit_give, _take   a thread blocks, and its permit becomes free; it takes a permit again
 *                             (a guest has none: S counts one guest at work less, or one more)
 *   wsqi_linger               a searcher's permit is free while it goes on looking (>>find)
 *   wsqi_guest_run            a guest from outside comes, or leaves (>>guest)
 *   wsqi_joiner_mark          a thread sets JOINED, before it sleeps in a join with its permit
 *   wsqi_joiner_ask_all       a thread clears JOINED, and calls all joiners, for a permit
 *
 * NOTIFICATIONS. While a task is queued that another thread could take, S counts a searcher, or a
 * thread is obliged to notify. (Another thread could if S counts a free permit, and a thread is
 * idle or a stand-in can start; or if a joiner can give its permit.) That thread passes a full
 * barrier and reads S, before it does anything of unknown length: in wsqi_pass_on, or in a function
 * whose name begins with wsqi_notify. A thread that has queued, stolen or moved tasks is obliged.
 * So is one that stops searching, gives its permit back or becomes idle, if no other thread
 * searches. (The push of a pinned task wakes the task's worker instead.) So every function that
 * moves tasks notifies, except these (the lint checks that):
 *   callers: they are obliged after wsqi_lane_push, wsqi_lane_add, wsqi_lane_take,
 *            wsqi_lane_settle, wsqi_queue_push, wsqi_push_local, wsqi_push_kept, wsqi_order_keep,
 *            wsqi_ring_return, wsqi_ring_rob, wsqi_ring_prefer, wsqi_steal_tasks, wsqi_take_back,
 *            wsqi_spill, wsqi_spill_queue, wsqi_spill_all and wsqi_tombstones_sweep
 *   nobody:  wsq_group_then: the tasks still wait, for a group
 *            wsqi_cancel_lane: the tasks are cancelled
 *            wsqi_take_turn, wsqi_take_own, wsqi_pump_run: they move tasks of the pool's only
 *              worker, which has the only permit
 *   sometimes: no notify is necessary, and none comes from
 *            wsqi_notify_pushed, if an older task lies in the queue: its push has notified
 *            wsqi_requeue, for a task that the worker runs next
 *            wsqi_take_global and wsqi_take_special, while the worker searches: it notifies later
 *            wsqi_slot_put, while a thread watches the slots
 *            a worker that is alone in its pool
 * ========================================================================== */

static inline uint64_t wsqi_bit(const wsqi_worker *self) {
    return (uint64_t)1 << (self->index % 64);
}

/* Is the worker's bit in `sleepers` set? If not, the worker woke itself, or is being woken. */
static bool wsqi_asleep(wsqi_worker *self) {
    /* A hint suffices: a thread that clears this bit then gives the token, which ends the sleep. */
    return (wsqi_load_hint(&self->pool->bitmap.sleepers[self->index / 64]) & wsqi_bit(self)) != 0;
}

/* ---- places ---- */

/* How far apart two workers' places are. 0: they share a cache. 1: they share only a NUMA node. 2:
 * neither. Two kinds of sleepers are woken last. POLLS: the one that has the driver, because
 * another thread must then take the driver. IN_WAIT: one that is in a wait, because it would run a
 * task on top of the task that waits. ANYWHERE: farther than any distance. */
enum { WSQI_DISTANCES = 3, WSQI_POLLS = WSQI_DISTANCES, WSQI_IN_WAIT, WSQI_ANYWHERE };

static unsigned wsqi_distance(const wsq_pool *pool, unsigned one, unsigned two) {
    uint32_t a = wsqi_load_hint(&pool->places.of_block[one]);
    uint32_t b = wsqi_load_hint(&pool->places.of_block[two]);
    return a == b ? 0 : a >> 16 == b >> 16 ? 1 : 2;
}

/* The value of pool->watch.poller while the block with this index has the driver. */
#define WSQI_HAS_DRIVER(index) (4u * ((index) + 1u) + 1u)
#define WSQI_HEARD 2u /* set while the driver is free, if its last thread got events from it */

/* Does the pool have a driver that no thread has taken? */
static bool wsqi_unpolled(const wsq_pool *pool) {
    /* I10: either a sleeper sees the driver free, or the thread that frees it sees the sleeper. */
    return pool->config.driver != NULL && (wsqi_load_sc(&pool->watch.poller) & 1) == 0;
}

/* The owner stores the place where its thread runs now. */
static void wsqi_place_update(wsqi_worker *self) {
    wsqi_places *places = &self->pool->places;
    if (!places->matter) return;
    uint32_t place = places->cpus != 0 ? places->of_cpu[wsqi_cpu_now() % places->cpus]
                                       : places->topology.place(self->index, places->topology.user);
    wsqi_a32 *word = &places->of_block[self->index]; /* others read it, so a store is slow */
    if (wsqi_load_hint(word) != place) wsqi_store_hint(word, place);
}

/* ---- waking ---- */

/* Clears one set bit and returns its number, or -1 if none is set. A bit stands for a block: the
 * block nearest to `self` comes first (NULL: all are equally near), then the lowest number. The
 * thread that has the driver, and threads in waits, come last (WSQI_POLLS). So mostly the same
 * sleepers are woken, and their caches stay warm. */
static int wsqi_bitmap_claim(wsq_pool *pool, wsqi_a64 *bitmap, const wsqi_worker *self) {
    uint32_t poller = wsqi_load_hint(&pool->watch.poller);
    for (;;) {
        unsigned best = WSQI_ANYWHERE, index = 0;
        for (unsigned w = 0; w < pool->bitmap.words && best != 0; w++) {
            uint64_t in_wait = wsqi_load_hint(&pool->bitmap.idle_in_wait[w]);
            uint64_t mask = wsqi_load_hint(&bitmap[w]);
            for (; mask != 0 && best != 0; mask &= mask - 1) {
                unsigned one = w * 64 + wsqi_lowest_bit(mask);
                unsigned distance = self != NULL ? wsqi_distance(pool, self->index, one) : 0;
                if (poller == WSQI_HAS_DRIVER(one)) distance = WSQI_POLLS;
                if ((in_wait >> one % 64 & 1) != 0) distance = WSQI_IN_WAIT;
                if (distance >= best) continue;
                best = distance;
                index = one;
            }
        }
        if (best == WSQI_ANYWHERE) return -1;
        uint64_t only = (uint64_t)1 << (index % 64);
        /* I3: this thread sees all that the bit's owner saw and did before the owner set the bit.
         * Pairs with I5. */
        if (wsqi_and_acqrel(&bitmap[index / 64], ~only) & only) return (int)index;
        self = NULL; /* another thread took that bit; the next try need not take the nearest one */
    }
}

/* Wakes one sleeper. The caller has already changed S: it counts one idle thread as a searcher now.
 * Each sleeper sets its bit before S counts it as idle, so in the end the loop finds a bit. lead:
 * the block that has the work (NULL: the caller's block, if it has one). from: 1 + the caller's
 * processor if the work is jobs; else 0. */
static void wsqi_wake_one(wsq_pool *pool, const wsqi_worker *lead, uint32_t from) {
    wsqi_worker *self = wsqi_inside(pool);
    const wsqi_worker *around = pool->places.matter ? self : NULL;
    int index;
    if (lead == NULL) lead = self;
    while ((index = wsqi_bitmap_claim(pool, pool->bitmap.sleepers, around)) < 0) wsqi_pause();
    if (self != NULL) wsqi_stat(self->counters.wakes_sent, 1);
    else wsqi_add_stat(&pool->wakes, 1u);
    wsqi_worker *sleeper = wsqi_block(pool, (unsigned)index);
    if (lead != NULL) wsqi_store_hint(&sleeper->woken.lead, lead->index + 1);
    if (from != 0) wsqi_store_hint(&sleeper->woken.from, from);
    wsqi_unpark(&sleeper->parker);
}

/* Takes up to n idle threads, each with a free permit, out of S, and counts them as searchers
 * there. Keeps `leave` permits free, and lets S count at most `most` searchers. Returns how many
 * threads it took: the caller must wake that many with wsqi_wake_one. */
static uint32_t wsqi_idle_take(wsq_pool *pool, uint32_t n, uint32_t leave, uint32_t most) {
    uint64_t s = wsqi_load_rlx(&pool->permits); /* Relaxed: the caller's full barrier orders it. */
    while (wsqi_searching(s) < most && wsqi_free_permits(s) > leave && wsqi_idle(s) != 0) {
        if (n > most - wsqi_searching(s)) n = most - wsqi_searching(s);
        if (n > wsqi_free_permits(s) - leave) n = wsqi_free_permits(s) - leave;
        if (n > wsqi_idle(s)) n = wsqi_idle(s);
        uint64_t next = s - n * (WSQI_IDLE + WSQI_PERMIT - WSQI_SEARCHING);
        /* Relaxed: the claim of a bit, which follows, orders this (I3). Failure: decide again. */
        if (wsqi_cas_rlx(&pool->permits, &s, next)) return n;
    }
    return 0;
}

static void wsqi_permit_offer(wsq_pool *pool);
static void wsqi_thread_want(wsq_pool *pool);

/* ---- joiners ---- */

static bool wsqi_joiners_sleep(const wsq_pool *pool) {
    for (unsigned w = 0; w < pool->bitmap.words; w++) {
        /* Relaxed: the caller's full barrier orders it. */
        if (wsqi_load_rlx(&pool->bitmap.joiners[w]) != 0) return true;
    }
    return false;
}

/* Sets JOINED: from here on producers may ask the caller for its permit. The caller is about to
 * sleep with that permit in a join. It has set its bit in `joiners`, and passed a full barrier. (A
 * joiner without a permit must not set JOINED: when it is called, it calls all joiners if JOINED is
 * set. So two joiners without a permit could call each other without end.) */
static void wsqi_joiner_mark(wsq_pool *pool) {
    if ((wsqi_load_fenced(&pool->permits) & WSQI_JOINED) != 0) return;
    /* I8: either a producer sees JOINED in S, or this thread sees the producer's task. Pairs with
     * I6. */
    (void)wsqi_or_sc(&pool->permits, WSQI_JOINED);
    wsqi_fence_rmw(); /* I8: as above */
}

/* If JOINED is set, clears JOINED, and calls all joiners. A joiner that sleeps again with a permit
 * sets JOINED again. A called joiner that has no permit uses this function, because the call may
 * have been for a permit. wsqi_joiner_ask uses this function if no joiner has its bit set. */
static void wsqi_joiner_ask_all(wsq_pool *pool) {
    /* I5: this thread sees the bit of each joiner that has set JOINED. Pairs with I8. */
    if ((wsqi_and_acqrel(&pool->permits, ~WSQI_JOINED) & WSQI_JOINED) == 0) return;
    /* I6: either this thread sees a joiner's bit, and calls the joiner, or the joiner sees that
     * JOINED is gone. Then the joiner sets JOINED again, and its own look finds the queued task. */
    wsqi_fence_rmw();
    for (unsigned w = 0; w < pool->bitmap.words; w++) {
        /* I3: this thread sees what each joiner did before it set its bit. Pairs with I5. */
        uint64_t mask = wsqi_and_acqrel(&pool->bitmap.joiners[w], 0);
        for (; mask != 0; mask &= mask - 1)
            wsqi_call(pool, wsqi_block(pool, w * 64 + wsqi_lowest_bit(mask)));
    }
}

/* If no permit is free, no thread searches, and JOINED is set, calls a joiner, so that the joiner
 * gives its permit back. (If no joiner has its bit set, wsqi_joiner_ask_all clears JOINED.) Any
 * thread calls this for a queued task; the watcher also calls it for a due timer or a full slot. */
static void wsqi_joiner_ask(wsq_pool *pool) {
    uint64_t s = wsqi_load_hint(&pool->permits);
    if (wsqi_searching(s) != 0 || wsqi_free_permits(s) != 0 || (s & WSQI_JOINED) == 0) return;
    int index = wsqi_bitmap_claim(pool, pool->bitmap.joiners, NULL);
    if (index >= 0) wsqi_call(pool, wsqi_block(pool, (unsigned)index));
    else wsqi_joiner_ask_all(pool);
}

/* ---- notify ---- */

/* Wakes an idle thread. If there is none, a stand-in may have to come (wsqi_thread_want), or a
 * joiner to give its permit. The caller has seen that no thread searches, and that a permit is free
 * or JOINED is set. */
WSQI_COLD static void wsqi_notify_slow(wsq_pool *pool) {
    if (wsqi_idle_take(pool, 1, 0, 1)) {
        wsqi_wake_one(pool, NULL, 0);
        return;
    }
    wsqi_thread_want(pool);
    wsqi_joiner_ask(pool);
}

/* Notifies for a task that the caller made visible before it passed a full barrier. */
static inline void wsqi_notify_fenced(wsq_pool *pool) {
    uint64_t s = wsqi_load_rlx(&pool->permits); /* Relaxed: the caller's barrier orders it. */
    /* A searcher will see the task. If S counts none, a thread must take a free permit, or, if
     * JOINED is set, a joiner must give its own. (JOINED is the bit above the count of free
     * permits, so one comparison tests both.) */
    if (wsqi_searching(s) == 0 && (uint32_t)s >= WSQI_PERMIT) wsqi_notify_slow(pool);
}

/* Notifies for work that the calling thread has just made visible. */
static void wsqi_notify(wsq_pool *pool) {
    /* I6: either this thread sees in S that a permit is free, or the thread that goes to sleep
     * finds the work in its last look. Otherwise the work would wait beside a sleeper. Pairs with
     * I7 and I8. */
    wsqi_fence_sc();
    wsqi_notify_fenced(pool);
}

/* Notifies for work. The caller's last step was a read-modify-write that made the work visible. */
static void wsqi_notify_rmw(wsq_pool *pool) {
    wsqi_fence_rmw(); /* I6: as in wsqi_notify */
    wsqi_notify_fenced(pool);
}

/* Is the calling worker the only thread of the pool, so that there is none to wake? Relaxed: it
 * starts the second thread itself, when it first blocks. (If memory lacked then, another thread may
 * start it later. Until this worker reads the new count, its queued tasks wait for its running
 * task.) */
static inline bool wsqi_alone(const wsq_pool *pool) {
    return wsqi_load_rlx(&pool->made.threads) <= 1;
}

/* A worker notifies, unless there is no other thread to wake. */
static inline void wsqi_notify_others(wsqi_worker *self) {
    if (!wsqi_alone(self->pool)) wsqi_notify(self->pool);
}

/* Notifies for a task that the owner has pushed, unless an older task lies in its queue. In that
 * case the push of the older task has notified, and the thread that comes for the older task sees
 * the new one, too. So the owner need not read S, whose cache line all threads share, each time. */
static inline void wsqi_notify_pushed(wsqi_worker *self) {
    wsq_pool *pool = self->pool;
    if (wsqi_alone(pool)) return;
    /* I6: either this thread sees a sleeper in S, or the sleeper's last look finds the new task.
     * And either this thread sees that a thief has taken the older tasks, or the thief sees the
     * new task, and notifies (wsqi_search_end, wsqi_notify_rest). */
    wsqi_fence_sc();
    if (wsqi_queue_length(self) <= 1) wsqi_notify_fenced(pool);
}

/* How many sleepers one thread wakes in a row; these wake others. */
enum { WSQI_WAKES = 4 };

/* How many sleepers a thread takes out of S in one step. With 1, it writes more often to the cache
 * line of S, which all threads share. With 4, a sleeper that was taken waits longer until it is
 * woken. */
enum { WSQI_TAKEN = 2 };

/* ---- looks ---- */

/* Which of 64 blocks a look passes over; read once, because all workers write to `sleepers`. */
typedef struct wsqi_rest {
    unsigned group; /* 1 + the index of the first block / 64; 0: not read yet */
    uint64_t mask;
} wsqi_rest;

/* How many blocks, from `index` on, can a look pass over? Those of threads that sleep or block, and
 * have no queued tasks; with `jobs`, no jobs. So beside a thousand of them a look reads a few
 * words, and not a thousand blocks. (0: none. If there are more, the next call says so.) Before one
 * of these threads queues a task or publishes a job, its bit is cleared. Then it passes a full
 * barrier, and reads S. So the barriers of I6 to I8 serve for the bits, too: a look that has missed
 * the cleared bit comes before that barrier, and the thread sees in S why it must notify. (Nobody
 * asks these threads to publish jobs, so each has set its own traps.) */
static unsigned wsqi_pass_over(const wsq_pool *pool, wsqi_rest *rest, unsigned made, unsigned index,
                               bool jobs) {
    unsigned word = index / 64;
    if (index >= made) return 0; /* a spare block */
    if (rest->group != word + 1) {
        rest->group = word + 1;
        /* I10: either this thread sees the bit cleared, or the bit's owner, when it has filled its
         * slot, sees what this thread has written to `watcher`. Pairs with I11. And a thread that
         * has jobs, and goes to sleep in a wait after the first of these reads, looks itself. */
        uint64_t in_wait = wsqi_load_sc(&pool->bitmap.idle_in_wait[word]);
        uint64_t idle = wsqi_load_sc(&pool->bitmap.sleepers[word]); /* I10: as above */
        if (jobs) idle &= ~in_wait;
        else if (wsqi_has_deque(wsqi_block(pool, 0))) idle = 0; /* it may have a long deque */
        rest->mask = idle | wsqi_load_sc(&pool->bitmap.empty[word]); /* I10: as above */
    }
    uint64_t others = ~rest->mask >> index % 64;
    unsigned over = others != 0 ? wsqi_lowest_bit(others) : 64 - index % 64;
    return over < made - index ? over : made - index;
}

/* Returns the first of the blocks from `index` on that may have queued tasks. `made`: none. */
static unsigned wsqi_next(const wsq_pool *pool, wsqi_rest *rest, unsigned made, unsigned index) {
    unsigned over = 1;
    for (; index < made && over != 0; index += over)
        over = wsqi_pass_over(pool, rest, made, index, false);
    return index < made ? index : made;
}

/* Returns the first worker that it finds with a public job, or NULL. It asks each worker that it
 * finds without one to publish jobs. The caller has passed a full barrier. */
static wsqi_worker *wsqi_look_jobs(wsq_pool *pool) {
    unsigned made = wsqi_threads_made(pool), count = made + wsqi_spares_made(pool), over;
    const wsqi_worker *self = wsqi_inside(pool); /* callers begin at different workers */
    unsigned start = self != NULL ? self->index : 0;
    wsqi_rest rest = WSQI_INIT;
    for (unsigned i = 0; i < count; i += over != 0 ? over : 1) {
        unsigned index = wsqi_nth(pool, made, (start + i) % count);
        if ((over = wsqi_pass_over(pool, &rest, made, index, true)) != 0) continue;
        wsqi_worker *worker = wsqi_block(pool, index);
        if (!wsqi_range_empty(worker)) return worker;
        wsqi_steal_request(worker);
    }
    return NULL;
}

/* Counts queued tasks: first in all lanes except the inboxes, then at up to `most` workers: the
 * caller, the one from which it stole last, and those after that. Stops when it has found two
 * workers with tasks, and at least 2 * WSQI_WAKES tasks. where: returns these two workers (NULL:
 * not found). Without a watcher a full slot, a set timer and a free driver count as tasks: the
 * thread that is woken becomes the watcher. Relaxed: the caller's barrier orders this. */
static size_t wsqi_look_tasks(wsq_pool *pool, const wsqi_worker *where[2], unsigned most) {
    const wsqi_worker *self = wsqi_inside(pool);
    bool watched = wsqi_load_rlx(&pool->watch.watcher) != 0;
    unsigned made = wsqi_threads_made(pool), found = 0;
    unsigned start = self != NULL ? self->index % made : 0;
    unsigned source = self != NULL ? self->search.source : 0;
    unsigned second = (source != 0 ? source - 1 : start + 1) % made;
    size_t amount = 0;
    wsqi_rest rest = WSQI_INIT;
    where[0] = where[1] = NULL;
    for (unsigned i = 0; i < WSQ_LOW + pool->global_lanes; i++) {
        size_t length = wsqi_load_hint(&pool->lanes[i].length);
        amount += length != 0 ? length : !wsqi_lane_empty(&pool->lanes[i]);
    }
    if (!watched && (wsqi_load_rlx(&pool->watch.timer_next) != WSQI_NEVER || wsqi_unpolled(pool)))
        amount++;
    for (unsigned i = 0; i <= made && most != 0 && (found < 2 || amount < 2 * WSQI_WAKES); i++) {
        unsigned n = i == 0 ? start : (second + i - 1) % made;
        unsigned over = i != 0 ? wsqi_pass_over(pool, &rest, made, n, false) : 0;
        if (over != 0) i += over - 1;
        if (over != 0 || (i != 0 && n == start)) continue;
        most--;
        wsqi_worker *worker = wsqi_block(pool, n);
        size_t length = wsqi_queue_length(worker);
        if (!watched && wsqi_load_rlx(&worker->lifo) != NULL) length++;
        amount += length;
        if (length != 0 && found < 2) where[found++] = worker;
    }
    return amount;
}

/* Is a thread free for a job? For each guest at work one free permit does not count, because
 * the guest works in place of a thread with that permit. The caller has passed a full barrier. */
static bool wsqi_jobs_wanted(const wsq_pool *pool) {
    uint64_t s = wsqi_load_rlx(&pool->permits); /* Relaxed: the caller's barrier orders it. */
    return wsqi_searching(s) != 0 || wsqi_free_permits(s) > wsqi_guests_at_work(s) ||
           wsqi_joiners_sleep(pool);
}

/* Wakes up to WSQI_WAKES sleepers (perhaps one more) for `amount` pieces of work, which lie at the
 * workers `one` and `two` (NULL: not known). It stops when S counts `amount` searchers, or when
 * only `leave` permits are free. from: see wsqi_wake_one. The caller has passed a full barrier.
 * Returns whether it woke a sleeper. Each woken thread that finds work wakes others, so their
 * number grows exponentially. */
static bool wsqi_wake_some(wsq_pool *pool, const wsqi_worker *one, const wsqi_worker *two,
                           uint32_t from, uint32_t leave, size_t amount) {
    uint32_t taken = 1, woken = 0;
    uint32_t most = amount < pool->workers ? (uint32_t)amount : pool->workers;
    while (woken < WSQI_WAKES && taken != 0) {
        taken = wsqi_idle_take(pool, WSQI_TAKEN, leave, most);
        for (uint32_t i = 0; i < taken; i++, woken++)
            wsqi_wake_one(pool, woken % 2 != 0 && two != NULL ? two : one, from);
    }
    return woken != 0;
}

/* Wakes sleepers for the public jobs of `worker`. If it wakes none, and S counts no searcher, it
 * calls a joiner that can run a job. The caller has seen these jobs, and passed a full barrier. */
static void wsqi_notify_jobs(wsq_pool *pool, wsqi_worker *worker) {
    uint64_t s = wsqi_load_hint(&pool->permits);
    uint32_t in_use = pool->workers - wsqi_free_permits(s);
    bool wakes = wsqi_free_permits(s) > wsqi_guests_at_work(s) && wsqi_idle(s) != 0;
    uint32_t from = wakes ? 1 + wsqi_cpu_now() : 0;
    size_t amount = wsqi_range_length(worker);
    /* wsqi_wake_some stops when S counts `amount` searchers. But each worker in a parallel loop
     * publishes one job at a time, and the present searchers may take jobs of other workers. So if
     * fewer than half of the awake threads search, the number of searchers is added to `amount`.
     * Then one sleeper is woken for each job of `worker`. */
    if (2 * wsqi_searching(s) < in_use) amount += wsqi_searching(s);
    if (wsqi_wake_some(pool, worker, NULL, from, wsqi_guests_at_work(s), amount)) return;
    /* Relaxed: the caller's barrier orders it. If S counts a searcher, nothing more is done: the
     * searcher finds the jobs, or wakes others later. */
    s = wsqi_load_rlx(&pool->permits);
    if (wsqi_searching(s) != 0) return;
    int index = wsqi_bitmap_claim(pool, pool->bitmap.joiners, NULL);
    if (index >= 0) wsqi_call(pool, wsqi_block(pool, (unsigned)index));
}

/* A thread that stops searching looks for tasks at up to this many workers. A guess. */
enum { WSQI_LOOKS = 16 };

/* One sleeper is woken for queued tasks, and one more for each WSQI_WAKE_NS that they will take: a
 * guess at how long a wake-up takes, until the woken thread runs. */
#define WSQI_WAKE_NS 10000u

/* Returns how many sleepers are worth a wake-up for `amount` tasks, if these take as long as the
 * tasks that the caller has run. (A caller without a queue does not know that: `amount`. One
 * sleeper is enough for progress: it wakes others, so an unexpectedly long task delays no other
 * task.) If tasks are left although many threads are awake, the tasks probably take longer than
 * expected, so the caller wakes more sleepers. Without this rule, 64 sleepers would be woken one by
 * one. */
static size_t wsqi_worth_waking(const wsq_pool *pool, size_t amount) {
    const wsqi_worker *self = wsqi_local(pool);
    if (self == NULL) return amount;
    uint32_t in_use = pool->workers - wsqi_free_permits(wsqi_load_hint(&pool->permits));
    uint64_t worth = 1 + amount * self->tune.average_ns / WSQI_WAKE_NS;
    if (in_use > WSQI_WAKES) worth += (in_use - WSQI_WAKES) / 2;
    return amount < worth ? amount : (size_t)worth;
}

/* Wakes sleepers for the tasks in lanes and at up to `most` workers. If it can wake none, it does
 * as wsqi_notify_slow. Returns whether it woke a sleeper. The caller has passed a full barrier. */
static bool wsqi_notify_tasks(wsq_pool *pool, unsigned most) {
    const wsqi_worker *where[2];
    size_t amount = wsqi_look_tasks(pool, where, most);
    if (amount == 0) return false;
    amount = wsqi_worth_waking(pool, amount);
    /* wsqi_wake_some stops when S counts `amount` searchers. If one sleeper is worth a wake-up, a
     * present searcher will do in its place. If several are, all are woken: the present searchers
     * may take other tasks, so the number of searchers is added to `amount`. */
    if (amount > 1) amount += wsqi_searching(wsqi_load_hint(&pool->permits));
    if (wsqi_wake_some(pool, where[0], where[1], 0, 0, amount)) return true;
    wsqi_thread_want(pool);
    wsqi_joiner_ask(pool);
    return false;
}

/* Wakes threads for public jobs. If there are none, wsqi_look_jobs asks workers to publish some.
 * The caller has passed a full barrier. */
static void wsqi_pass_jobs(wsq_pool *pool) {
    wsqi_worker *giver = wsqi_look_jobs(pool);
    if (giver != NULL) wsqi_notify_jobs(pool, giver);
}

/* Wakes threads if there is any work. The caller has found no searcher in S, and has passed a full
 * barrier. (Or the caller is a joiner that was called for work, and does not take it.) */
static void wsqi_pass_on(wsq_pool *pool) {
    if (!wsqi_notify_tasks(pool, UINT_MAX)) wsqi_pass_jobs(pool);
}

/* ---- searching ---- */

/* The owner begins to search: from here on S counts it as a searcher. */
static void wsqi_search_begin(wsqi_worker *self) {
    wsq_pool *pool = self->pool;
    uint64_t finished = wsqi_load_own(&self->counters.finished);
    bool news = finished != self->search.reported;
    self->search.reported = finished;
    /* W6: the last thread to run dry sees what the others have finished. Pairs with itself. */
    uint64_t s = wsqi_add_acqrel(&pool->permits, WSQI_SEARCHING);
    self->searching = true;
    wsqi_stat(self->counters.searches, 1);
    /* W4: either this thread sees a thread in wsq_pool_wait, or the waiter sees which tasks this
     * thread has finished. Pairs with W5. And either this thread sees a guest in S, and checks
     * below whether the pool is quiet; or a worker that takes the guest's job sees that these tasks
     * are finished, and that worker checks (wsqi_check_beside). */
    wsqi_fence_rmw();
    /* The last thread to run dry checks whether the pool is quiet. This thread is the last if in S,
     * as it was before, all other permits are free or belong to searchers: a permit in use belongs
     * to a thread with work, which comes here later. (A thread that lingers counts twice, so
     * sometimes one thread more checks: no harm. In a caller_runs pool one thread acts for all
     * workers, so it always checks.) But a thread with work may be in a guest's job. So if there
     * are guests, a thread that has finished tasks since its last search checks, too. */
    if (pool->config.caller_runs || wsqi_free_permits(s) + wsqi_searching(s) + 1 >= pool->workers ||
        (news && wsqi_guests(wsqi_load_fenced(&pool->permits)) != 0))
        wsqi_call_if_quiet(pool);
}

/* The owner stops searching, mostly because it has found work. It wakes others for more work that
 * it sees. The last searcher looks at all work, because no thread searches after it. */
static void wsqi_search_end(wsqi_worker *self) {
    wsq_pool *pool = self->pool;
    self->searching = self->search.robs_slots = false;
    /* I9: the last searcher sees this thread's tasks, and wakes others. Pairs with itself, I8. */
    uint64_t s = wsqi_add_acqrel(&pool->permits, 0u - WSQI_SEARCHING);
    /* I7: a producer that saw this searcher in S woke no thread. So this thread must see the
     * producer's work, and each joiner that went to sleep before it could see that work. Pairs with
     * I6, J5 and J7. */
    wsqi_fence_rmw();
    /* If a thread is woken here, it searches in place of this one. */
    if (wsqi_free_permits(s) != 0 && wsqi_notify_tasks(pool, WSQI_LOOKS)) return;
    /* No thread was woken. So the last searcher looks at all work, on behalf of the threads that
     * sleep by now. A thread that goes to sleep after this looks itself. */
    if (wsqi_searching(s) == 1 && (wsqi_free_permits(s) != 0 || wsqi_joiners_sleep(pool)))
        wsqi_pass_on(pool);
}

/* ==========================================================================
 * >>block: what a thread works with: a block, a frame, a permit
 * Purpose:   makes blocks, and lends them to threads. Notes which task a thread runs, and whether
 *            the thread has a permit.
 * Invariant: at most one thread uses a block. `outer` links the blocks that a thread uses, in one
 *            pool or in several, from the innermost outward. A block exists as long as its pool.
 * Writers:   lease: the thread that takes the block (for a new thread: the one that starts it);
 *            wsqi_dismiss. The rest of a block: the thread that uses it, if nothing else is said
 *            (>>shared).
 * ========================================================================== */

enum {
    WSQI_LEASE_VACANT = 0,
    WSQI_LEASE_HERE = 1,
    WSQI_LEASE_DISMISSED = 3,
    WSQI_LEASE_MASK = 3
};

/* Does a thread use this block? */
static bool wsqi_has_thread(wsqi_worker *block) {
    return (wsqi_load_hint(&block->lease) & WSQI_LEASE_MASK) != WSQI_LEASE_VACANT;
}

/* Was the block's thread asked to leave? */
static bool wsqi_dismissed(wsqi_worker *block) {
    return (wsqi_load_hint(&block->lease) & WSQI_LEASE_MASK) == WSQI_LEASE_DISMISSED;
}

/* Asks the block's thread to leave. False: no thread uses the block, or the thread is leaving. */
static bool wsqi_dismiss(wsqi_worker *block) {
    uint32_t lease = wsqi_load_hint(&block->lease);
    /* B9: a thread that leaves the pump sees the wait of the thread that makes the request. Pairs
     * with B10. (A request that stands there already is written once more, because it may be an old
     * one: the thread to which it was made may have left.) Failure: the thread has left. The next
     * one must not get the request. */
    return (lease & WSQI_LEASE_MASK) != WSQI_LEASE_VACANT &&
           wsqi_cas_rel(&block->lease, &lease, lease | WSQI_LEASE_DISMISSED);
}

/* If tasks take at least this long on average, a worker that wakes a task notifies. Otherwise the
 * woken task would wait until the running task ends. Often that takes longer than the 5 us in which
 * a sleeping thread wakes up. A guess. */
#define WSQI_SLOT_NS 3000u

/* Sets wake_slot to lifo_cap, or to 0 if the owner has no permit, tasks take long, or a hook hears
 * of WSQ_EVENT_WAKE. While wake_slot is 0, a task that the owner wakes goes to wsqi_schedule_slow,
 * which queues it, and may notify. */
static inline void wsqi_slot_update(wsqi_worker *self) {
    bool slow = !self->permit || self->tune.average_ns >= WSQI_SLOT_NS ||
                wsqi_hooked(self->pool, 1u << WSQ_EVENT_WAKE);
    self->wake_slot = slow ? 0 : self->pool->config.lifo_cap;
}

/* Must the owner put tasks in order into its ring? With one worker, tasks start in the order of
 * their spawns. (If `order` is WSQ_SHARED, they all go to the global queue, in order.) */
static inline bool wsqi_ordered(const wsqi_worker *self) {
    return self->pool->workers == 1 && self->order == WSQ_FIFO;
}

/* With more workers and stand-ins than this, threads that block set bits in `empty`. With fewer,
 * looks visit them: that costs less than a cache line to which all of them write. (64 simulated
 * cores whose tasks block did 17% less.) A guess. */
#ifndef WSQI_MANY_THREADS
#define WSQI_MANY_THREADS 128u
#endif

/* A value of `order`: as the pool's order, but a push first calls wsqi_empty_end (wsqi_overflow),
 * and a task that yields goes to the global queue. */
#define WSQI_ORDER_EMPTY ((wsq_order)(WSQ_SHARED + 1))

/* From here on looks visit the owner again: it may queue tasks, or publish jobs. */
WSQI_COLD static void wsqi_empty_end(wsqi_worker *self) {
    wsqi_a64 *word = &self->pool->bitmap.empty[self->index / 64];
    if (wsqi_load_hint(&self->pool->made.threads) <= WSQI_MANY_THREADS) return;
    if (self->order == WSQI_ORDER_EMPTY) self->order = self->pool->config.order;
    /* I11: if this thread then sees a watcher that does not look at slots, that watcher sees the
     * bit cleared. Pairs with I10. */
    if ((wsqi_load_hint(word) & wsqi_bit(self)) != 0) (void)wsqi_add_sc(word, 0u - wsqi_bit(self));
}

/* The owner notes whether it holds a permit from here on. */
static inline void wsqi_permit_set(wsqi_worker *self, bool permit) {
    self->permit = permit;
    self->asks = !permit || wsqi_own_threads(&self->pool->config) == 0;
    wsqi_slot_update(self);
    if (permit) wsqi_empty_end(self);
    /* A thread that has lost its permit, and left its tasks in the global queue, puts new tasks
     * there, too, until it has fetched all tasks from there. */
    if (!permit && wsqi_ordered(self)) self->order = WSQ_SHARED;
}

/* The owner has no permit, and nothing in its slot and queue. From here on looks pass it over
 * (wsqi_pass_over), until it has a permit, queues a task (wsqi_overflow), publishes a job, or takes
 * tasks in a pool that stops. Its traps are set, so its next fork publishes the job. */
static void wsqi_empty_begin(wsqi_worker *self) {
    wsqi_a64 *word = &self->pool->bitmap.empty[self->index / 64];
    uint64_t own = wsqi_bit(self);
    if (wsqi_load_hint(&self->pool->made.threads) <= WSQI_MANY_THREADS ||
        wsqi_is_spare(self->pool, self->index) || (wsqi_load_hint(word) & own) != 0)
        return;
    wsqi_steal_request(self);
    if (!wsqi_range_empty(self)) return;
    if (self->order != WSQ_SHARED) self->order = WSQI_ORDER_EMPTY;
    wsqi_or_acqrel(word, own); /* I5: looks alone read it, so a relaxed order would do */
}

/* Returns what is added to S when the thread gives its permit back: one free permit. A guest
 * has no permit. For a guest, the result makes S count one guest at work less. (Rejected: a permit
 * for guests. With one worker, tasks then waited for the end of the wsq_run, and a cancelling
 * shutdown hung.) */
static uint64_t wsqi_permit_unit(const wsqi_worker *self) {
    return self->use == WSQI_USE_GUEST ? 0u - WSQI_GUEST_WORKS : WSQI_PERMIT;
}

/* Takes a permit, for a thread that starts work or has blocked and goes on. A guest takes none:
 * from here on S counts it as at work. False: no permit is free. */
static bool wsqi_permit_take(wsqi_worker *self) {
    wsq_pool *pool = self->pool;
    uint64_t s = wsqi_load_hint(&pool->permits), unit = wsqi_permit_unit(self);
    while (unit != WSQI_PERMIT || wsqi_free_permits(s) != 0) {
        /* B8: a thread that sees this permit taken by a worker that lingered sees that `coming` is
         * lower. Pairs with B7. Failure: decide again. */
        if (!wsqi_cas_rel(&pool->permits, &s, s - unit)) continue;
        wsqi_permit_set(self, true);
        return true;
    }
    return false;
}

/* Sets up a block. False: no memory for its deque. */
static bool wsqi_worker_init(wsqi_worker *self, wsq_pool *pool, unsigned index) {
    unsigned free = wsqi_free_permits(wsqi_load_hint(&pool->permits));
    memset((void *)self, 0, sizeof *self);
    self->pool = pool;
    self->parker.parking = &pool->parking;
    self->index = index;
    self->turn.lifo_left = pool->config.lifo_cap;
    self->frame.floor = wsqi_base(self);
    uint32_t start = wsqi_entry_index(self->frame.floor);
    wsqi_store_init(&self->range, wsqi_range_pack(start, start));
    wsqi_steal_request(self); /* sets the traps, because no job is public yet */
    wsq_random_seed(&self->random, pool->config.seed + index);
    wsq_tune_init(&self->tune, &pool->config);
    self->order = wsqi_is_spare(pool, index) ? WSQ_SHARED : pool->config.order;
    /* At first a pool's permits are all free (lend_only), or each worker has one. */
    wsqi_permit_set(self, index + free < pool->workers);
    self->turn.left = self->tune.interval;
    wsqi_store_init(&self->counters.average_task_ns, self->tune.average_ns);
    wsqi_store_init(&self->counters.interval, self->tune.interval);
    wsq_ring_init(&self->ring);
    return self->order != WSQ_LIFO ||
           wsqi_deque_create(&self->deque, WSQ_RING_CAPACITY, pool->config.allocator) == WSQ_OK;
}

/* Returns the block with this index. Makes it, unless an earlier start made it and then failed. The
 * caller holds the pool's lock; it counts the block in pool->made afterwards. NULL: no memory. */
static wsqi_worker *wsqi_block_make(wsq_pool *pool, unsigned index) {
    wsqi_worker *block = wsqi_block(pool, index);
    if (block != NULL) return block;
    block = (wsqi_worker *)wsqi_blocks_take(pool->config.allocator, WSQ_BLOCK_SIZE);
    if (block != NULL && !wsqi_worker_init(block, pool, index)) {
        wsqi_blocks_give(pool->config.allocator, block, WSQ_BLOCK_SIZE);
        block = NULL;
    }
    wsqi_set(&pool->table[index], block);
    return block;
}

/* Takes the block for this thread. False: another thread has it. */
static bool wsqi_lease_take(wsqi_worker *block) {
    uint32_t lease = wsqi_load_hint(&block->lease);
    /* B4: this thread sees what the last thread did in the block. Pairs with B5. Failure: another
     * thread has the block. */
    return (lease & WSQI_LEASE_MASK) == WSQI_LEASE_VACANT &&
           wsqi_cas_acq(&block->lease, &lease, lease + WSQI_LEASE_HERE);
}

/* What the lease becomes when the block's thread leaves: VACANT, with one lease more. (Relaxed:
 * another thread can only add a request to leave, which makes no difference here.) */
static uint32_t wsqi_lease_next(wsqi_worker *block) {
    return (wsqi_load_rlx(&block->lease) | WSQI_LEASE_MASK) + 1;
}

/* The thread enters a block that it has taken: its innermost block until wsqi_block_leave. */
static void wsqi_block_enter(wsqi_worker *block) {
    block->outer = wsqi_self_get();
    wsqi_self_set(block);
}

/* Leaves the thread's innermost block, and gives it back. (WSQI_COLD, because inlined into
 * wsqi_serve it costs two instructions a task: gcc 12.) */
WSQI_COLD static void wsqi_block_leave(wsqi_worker *block) {
    wsqi_self_set(block->outer);
    /* B5: the next thread sees what this thread did in the block. Pairs with B4. (A request to
     * leave may get lost here, because this thread leaves anyway.) */
    wsqi_store_rel(&block->lease, wsqi_lease_next(block));
}

/* Takes a spare block of one of two kinds: for a task inside a wait (`above`), or for a wsq_run
 * or a helper. There are WSQ_GUESTS of each. NULL: all are taken, or there is no memory. Threads on
 * different processors begin at different blocks, so that a block mostly stays in one cache. */
static wsqi_worker *wsqi_spare_take(wsq_pool *pool, bool above) {
    bool more = true;
    while (more) {
        unsigned made = wsqi_spares_made(pool), count = 0;
        unsigned n = made > 1 ? wsqi_cpu_now() % made : 0;
        for (unsigned i = 0; i < made; i++, n = n + 1 < made ? n + 1 : 0) {
            wsqi_worker *spare = wsqi_block(pool, pool->spare_base + n);
            if (spare->above != above) continue;
            if (wsqi_lease_take(spare)) return spare;
            count++;
        }
        if (count == WSQ_GUESTS) return NULL;
        wsqi_lock(pool, &pool->lock); /* no block is free: makes one more */
        if (wsqi_load_locked(&pool->made.spares) == made) { /* else another thread has made one */
            wsqi_worker *spare = wsqi_block_make(pool, pool->spare_base + made);
            more = spare != NULL;
            if (more) spare->above = above;
            /* B2: a thread that reads the new count finds the block filled. Pairs with B1. */
            if (more) wsqi_store_rel(&pool->made.spares, made + 1);
        }
        wsqi_unlock(pool, &pool->lock);
    }
    return NULL;
}

/* Copies each field, because a model checker cannot follow a copy of bytes. */
static inline void wsqi_frame_copy(wsqi_frame *to, const wsqi_frame *from) {
    to->outer = from->outer;
    to->task = from->task;
    to->group = from->group;
    to->loop = from->loop;
    to->floor = from->floor;
    to->budget_left = from->budget_left;
}

/* The owner begins a task or job on top of the current one. *former keeps the current frame. Jobs
 * that the new task or job forks begin at `floor`. */
static inline void wsqi_frame_push(wsqi_worker *self, wsqi_frame *former, wsq_ctx floor) {
    wsqi_frame_copy(former, &self->frame);
    self->frame.outer = former;
    self->frame.task = NULL;
    self->frame.group = NULL;
    self->frame.loop = NULL;
    self->frame.floor = floor;
}

static inline void wsqi_frame_pop(wsqi_worker *self, const wsqi_frame *former) {
    wsqi_frame_copy(&self->frame, former);
}

/* ---- which worker and pool this is ---- */

WSQ_API bool wsqi_ctx_here(wsq_ctx ctx) {
    wsqi_worker *block = wsqi_worker_of(ctx), *self = wsqi_self_get();
    while (self != NULL && self != block) self = self->outer;
    return self != NULL && ctx >= self->frame.floor;
}

WSQ_API wsq_pool *wsq_pool_of(wsq_ctx ctx) { return wsqi_worker_of(ctx)->pool; }

WSQ_API unsigned wsq_worker_index(wsq_ctx ctx) { return wsqi_number(wsqi_worker_of(ctx)); }

WSQ_API int wsq_worker_self(void) {
    wsqi_worker *self = wsqi_self_get();
    return self != NULL ? (int)wsqi_number(self) : -1;
}

/* ==========================================================================
 * >>sleep: a worker that found nothing
 * Purpose:   the worker sleeps until another thread wakes it, and then searches.
 * Invariant: at most one sleeper, the watcher, wakes up by itself: to fire timers, to take tasks
 *            from the slots of workers that are in a long task, and to take a free driver. (Other
 *            sleepers wake up by themselves only after park_timeout_ns, or when a wait times out.)
 *            No watcher is needed while all slots are empty, no timer is set, and a thread has the
 *            driver. A sleeper has its bit set, or is being woken. If a pool has a driver and S
 *            counts a sleeper, then a thread has the driver, or searches, or the watcher looks
 *            within WSQI_WATCH_NS.
 *            A watcher that wakes up, for whatever reason, clears `watcher`. From then on a full
 *            slot, a set timer or a free driver counts as a queued task (wsqi_look_tasks). So a
 *            later notification wakes a sleeper for it, which becomes the watcher. If no permit is
 *            free, nobody is woken: the threads at work fire timers in their turns and waits, and
 *            the next thread that goes to sleep watches.
 * Writers:   watcher: a thread that becomes the watcher, and the watcher itself. poller: see
 *            wsqi_watch.
 * Source:    Vyukov's and Tokio's parking. The watcher does what Go's sysmon does in a thread of
 *            its own.
 * ========================================================================== */

/* ---- the watcher ---- */

/* The time between two looks of the watcher at the slots. A guess: most tasks take less. */
#define WSQI_WATCH_NS 500000u
#define WSQI_WATCHES_SLOTS 0x80000000u   /* the watcher looks at slots, not only for timers */
#define WSQI_WATCHES_PERMITS 0x40000000u /* a timer is due: a freed permit wakes the watcher */

/* Makes the watcher look again. If there is none, wakes an idle thread instead. The caller has
 * filled a slot, set a new first timer, left the driver or made a permit free, and then read
 * `watcher`. I11: either this thread sees in S that a permit is free, or the sleeper sees the
 * change, and watches. */
static void wsqi_watcher_wake(wsq_pool *pool, uint32_t watcher) {
    uint32_t index = (watcher & ~(WSQI_WATCHES_SLOTS | WSQI_WATCHES_PERMITS)) - 1;
    if (watcher != 0) wsqi_unpark(&wsqi_block(pool, index)->parker);
    else if ((uint32_t)wsqi_load_sc(&pool->permits) >= WSQI_PERMIT) wsqi_notify(pool); /* I11 */
}

/* Is a LIFO slot full, or the driver free? Either needs a watcher. */
static bool wsqi_watch_needed(wsq_pool *pool) {
    if (wsqi_unpolled(pool)) return true;
    unsigned made = wsqi_threads_made(pool), i;
    wsqi_rest rest = WSQI_INIT;
    for (i = 0; (i = wsqi_next(pool, &rest, made, i)) < made; i++) {
        /* I10: either this thread sees the slot full, or the slot's owner sees that no thread
         * watches, and wakes one. Pairs with I11. */
        if (wsqi_load_sc(&wsqi_block(pool, i)->lifo) != NULL) return true;
    }
    return false;
}

/* The idle owner becomes the watcher if there is none and one is needed: a timer is set, a slot is
 * full, or the driver is free. Returns whether it did. */
static bool wsqi_watch_begin(wsqi_worker *self) {
    wsq_pool *pool = self->pool;
    uint32_t none = 0;
    /* I10: either this thread sees a new timer, or the thread that set the timer sees no watcher,
     * and wakes a thread. Pairs with I11. */
    bool timers = wsqi_load_sc(&pool->watch.timer_next) != WSQI_NEVER;
    if (!timers && !wsqi_watch_needed(pool)) return false;
    /* B6: a thread that reads this index sees this worker's block. Pairs with I11. A thread that
     * still reads 0 wakes one thread too many: no harm. Failure: another thread watches. */
    return wsqi_cas_rel(&pool->watch.watcher, &none, (self->index + 1) | WSQI_WATCHES_SLOTS);
}

/* The watcher stops, unless there is something to watch. Returns whether it goes on. */
static bool wsqi_watch_drop(wsqi_worker *self) {
    /* I10: until this store, other threads relied on this watcher. So it looks once more. */
    wsqi_store_sc(&self->pool->watch.watcher, 0u);
    return wsqi_watch_begin(self);
}

/* Returns when the watcher must look next (WSQI_NEVER: there is nothing to watch). If no slot is
 * full, and no driver is free, the watcher notes in pool->watch.watcher that it waits only for a
 * timer. Then a thread that fills a slot, or leaves the driver, wakes the watcher. If a timer is
 * due, and no permit is free, the watcher asks a joiner for a permit. */
static uint64_t wsqi_watch_until(wsqi_worker *self, uint64_t now) {
    wsq_pool *pool = self->pool;
    uint32_t watcher = self->index + 1;
    bool full = wsqi_watch_needed(pool);
    if (!full) {
        /* I10: either the watcher sees the slot full, or the slot's owner sees this store, and
         * wakes the watcher. Pairs with I11. */
        wsqi_store_sc(&pool->watch.watcher, watcher);
        full = wsqi_watch_needed(pool);
    }
    /* I10: as above */
    if (full) wsqi_store_sc(&pool->watch.watcher, watcher |= WSQI_WATCHES_SLOTS);
    uint64_t until = full ? wsqi_load_hint(&pool->watch.due) : WSQI_NEVER;
    /* I10: if a thread set a timer and saw no watcher, this load sees the timer. Pairs with I11. */
    uint64_t timer = wsqi_load_sc(&pool->watch.timer_next);
    if (timer <= now) {
        /* A timer is due. If no permit is free, a thread at work fires it in its next turn, and the
         * watcher waits for a permit. I10: either the watcher sees a free permit, or the thread
         * that makes it free sees this store (wsqi_permit_freed). And either the watcher sees
         * JOINED, and asks a joiner, or the joiner sees this store, and gives its permit back. An
         * asked joiner may find a job instead, so the watcher then looks again later. A worker that
         * lingers sees this store, and goes to sleep. Pairs with I11. */
        wsqi_store_sc(&pool->watch.watcher, watcher | WSQI_WATCHES_PERMITS);
        uint64_t s = wsqi_load_sc(&pool->permits); /* I10: this read follows the store */
        if (wsqi_free_permits(s) == 0) {
            timer = (s & WSQI_JOINED) != 0 ? now + WSQI_WATCH_NS : WSQI_LATEST;
            wsqi_joiner_ask(pool);
        }
    }
    return timer < until ? timer : until;
}

/* Does a watcher wait for the next timer, and not for a permit? */
static bool wsqi_timer_watched(const wsq_pool *pool) {
    uint32_t watcher = wsqi_load_hint(&pool->watch.watcher);
    return watcher != 0 && (watcher & WSQI_WATCHES_PERMITS) == 0;
}

/* Makes the watcher look again if it waits for a permit. The caller has made one free. */
static void wsqi_permit_freed(wsq_pool *pool) {
    /* I11: this read follows the change of S */
    uint32_t watcher = wsqi_load_sc(&pool->watch.watcher);
    if ((watcher & WSQI_WATCHES_PERMITS) != 0) wsqi_watcher_wake(pool, watcher);
}

/* ---- the driver ---- */

static bool wsqi_driver_mine(wsqi_worker *self) {
    return wsqi_load_hint(&self->pool->watch.poller) == WSQI_HAS_DRIVER(self->index);
}

/* The owner takes the driver. False: there is none, a thread has it, or this is a forked child. */
static bool wsqi_driver_take(wsqi_worker *self) {
    wsq_pool *pool = self->pool;
    if (WSQI_LIKELY(pool->config.driver == NULL) || wsqi_forked(pool)) return false;
    uint32_t poller = wsqi_load_hint(&pool->watch.poller);
    /* V1: what the driver's last thread wrote is visible. Pairs with V2. Failure: another thread
     * has the driver. */
    return (poller & 1) == 0 &&
           wsqi_cas_acq(&pool->watch.poller, &poller, WSQI_HAS_DRIVER(self->index));
}

/* Calls the driver's dispatch if there are events, and gives the driver up. The owner is awake and
 * has the driver. The tasks that dispatch wakes go into the owner's queue, in order; without a
 * permit, and mostly in a wait (wsqi_keep_watch), into the global queue. With a permit the owner is
 * a searcher, so it notifies later. */
static void wsqi_driver_leave(wsqi_worker *self) {
    wsq_pool *pool = self->pool;
    wsqi_worker *former = wsqi_self_get();
    if (self->driving == WSQI_DRIVING_EVENTS && wsqi_load_hint(pool->phase) != WSQI_PHASE_OVER) {
        uint32_t wake_slot = self->wake_slot;
        wsq_order order = self->order;
        self->wake_slot = 0;
        if (!self->permit) self->order = WSQ_SHARED;
        wsqi_self_set(self); /* woken tasks go to the owner's queue, also in a caller_runs pool */
        pool->driver.dispatch(pool, pool->driver.user);
        wsqi_self_set(former);
        if (!self->permit) self->order = order; /* else wsqi_order_keep may have changed it */
        self->wake_slot = wake_slot;
    }
    uint32_t heard = self->driving == WSQI_DRIVING_EVENTS ? WSQI_HEARD : 0;
    self->driving = WSQI_DRIVING_NOT;
    /* V2: the driver's next thread sees what wait() and dispatch() wrote. Pairs with V1. I11:
     * either this thread sees the watcher and sleepers, or a sleeper sees the driver free. Pairs
     * with I10. */
    wsqi_store_sc(&pool->watch.poller, WSQI_HAS_DRIVER(self->index) - 1 + heard);
    uint32_t watcher = wsqi_load_sc(&pool->watch.watcher); /* I11: this read follows the store */
    if ((watcher & WSQI_WATCHES_SLOTS) == 0) wsqi_watcher_wake(pool, watcher);
}

/* ---- sleeping ---- */

/* An idle owner wakes itself, and takes a permit if one is free. It does what a waker does: it
 * takes one idle thread, and the permit, out of S, and then clears a bit in `sleepers`, here its
 * own. But a waker may have cleared that bit a moment before, and will bring a permit, too. Then
 * two idle threads are out of S, but only this one wakes up. So an owner that took a permit wakes
 * another idle thread for it; one that took none puts one idle thread back into S. */
static void wsqi_wake_self(wsqi_worker *self) {
    wsq_pool *pool = self->pool;
    uint64_t own = wsqi_bit(self);
    uint64_t s = wsqi_load_hint(&pool->permits), next;
    bool permit;
    do {
        if (wsqi_idle(s) == 0) return; /* every idle thread is being woken, this one included */
        permit = wsqi_free_permits(s) != 0;
        next = s - WSQI_IDLE - (permit ? WSQI_PERMIT - WSQI_SEARCHING : 0);
        /* Relaxed: I5 below, which clears this thread's bit, orders it. Failure: decide again. */
    } while (!wsqi_cas_rlx(&pool->permits, &s, next));
    /* I5: either this thread clears the bit, or a thread that wakes this one does (I3). */
    if (wsqi_and_acqrel(&pool->bitmap.sleepers[self->index / 64], ~own) & own) {
        self->permit = self->searching = permit;
    } else if (permit) {
        wsqi_wake_one(pool, NULL, 0);
    } else {
        /* Relaxed: a producer that reads S before the addition finds a searcher there: this thread,
         * which its waker has counted, and which will look. */
        wsqi_add_rlx(&pool->permits, WSQI_IDLE);
    }
}

/* Notes, for each full slot, how many tasks the slot's owner has begun. Sets `robs_slots` if the
 * last note, perhaps by another thread, has the same number: then that owner is in a long task. */
static void wsqi_slots_mark(wsqi_worker *self) {
    wsq_pool *pool = self->pool;
    unsigned made = wsqi_threads_made(pool), i;
    wsqi_rest rest = WSQI_INIT;
    for (i = 0; (i = wsqi_next(pool, &rest, made, i)) < made; i++) {
        wsqi_worker *worker = wsqi_block(pool, i);
        uint64_t run = wsqi_load_hint(&worker->counters.run) + 1; /* 0: an empty slot */
        if (wsqi_load_hint(&worker->lifo) == NULL) run = 0;
        else if (wsqi_load_hint(&worker->marks.run) == run) self->search.robs_slots = true;
        wsqi_store_hint(&worker->marks.run, run);
    }
}

/* The watcher's time is up, so it looks. It takes the driver if that is free. If a timer is due, or
 * a slot may be robbed, it wakes itself with a free permit. If no permit is free, it asks a
 * joiner for one: for a slot it does so here, for a timer in its next call of wsqi_watch_until. */
static void wsqi_watch_look(wsqi_worker *self) {
    wsq_pool *pool = self->pool;
    wsqi_slots_mark(self);
    /* The time of the next look lies in the pool, because the next watcher needs it, too. */
    wsqi_store_hint(&pool->watch.due, wsqi_clock_ns() + WSQI_WATCH_NS);
    (void)wsqi_driver_take(self);
    if (!self->search.robs_slots && wsqi_load_hint(&pool->watch.timer_next) > wsqi_clock_ns())
        return;
    if (wsqi_free_permits(wsqi_load_hint(&pool->permits)) != 0) {
        wsqi_wake_self(self);
        return;
    }
    if (self->search.robs_slots) wsqi_joiner_ask(pool);
    self->search.robs_slots = false; /* no permit is free, so this thread may not rob */
}

/* The owner is idle, and its park_timeout_ns is up. If at two time-outs in a row a task is queued,
 * a permit is free, and no thread searches, a wake-up was lost. Then the owner wakes itself. (At
 * the first time-out the task's producer may be about to notify.) */
static void wsqi_park_timeout(wsqi_worker *self) {
    wsq_pool *pool = self->pool;
    const wsqi_worker *where[2];
    bool before = self->sleep.suspicious;
    wsqi_fence_sc(); /* I6: a full barrier, which the reads of S and of the queues below need */
    uint64_t s = wsqi_load_fenced(&pool->permits);
    self->sleep.suspicious = wsqi_searching(s) == 0 && wsqi_free_permits(s) != 0 &&
                             wsqi_look_tasks(pool, where, UINT_MAX) != 0;
    if (!before || !self->sleep.suspicious) return;
    wsqi_stat(self->counters.rescued, 1);
    wsqi_wake_self(self);
}

/* An idle owner sleeps once, in the driver's wait if it has the driver. It wakes up for a token, at
 * `deadline`, after park_timeout_ns, or, as the watcher, to look. True: it is still the watcher. */
static bool wsqi_nap(wsqi_worker *self, bool watching, uint64_t deadline) {
    wsq_pool *pool = self->pool;
    wsqi_worker *poller = wsqi_driver_mine(self) ? self : NULL;
    uint64_t until = WSQI_NEVER, timeout = pool->config.park_timeout_ns;
    if (watching) until = wsqi_watch_until(self, wsqi_clock_ns());
    else if (timeout != 0) until = wsqi_clock_ns() + timeout;
    if (watching && until == WSQI_NEVER) return wsqi_watch_drop(self);
    /* A watcher whose time is up looks before it sleeps. Otherwise, with a driver that always has
     * events, each sleep would end at the first return below, and the watcher would never look. */
    if (!watching || wsqi_clock_ns() < until)
        wsqi_park(&self->parker, deadline < until ? deadline : until, poller);
    if (self->driving == WSQI_DRIVING_EVENTS || !wsqi_asleep(self)) return watching;
    if (until == WSQI_NEVER || wsqi_clock_ns() < until) return watching;
    if (watching) wsqi_watch_look(self);
    else wsqi_park_timeout(self);
    return watching;
}

/* Is a task queued that is pinned to this sleeper? No other thread can run it. In a caller_runs
 * pool the first worker sleeps for all workers, so tasks pinned to any of them count. */
static bool wsqi_inbox_calls(wsqi_worker *self) {
    unsigned end = self->pool->config.caller_runs ? self->pool->workers : self->index + 1;
    for (unsigned i = self->index; i < end; i++)
        if (!wsqi_lane_empty(&wsqi_block(self->pool, i)->inbox)) return true;
    return false;
}

/* Moves a woken worker to another processor if, for the second time in a row, it was woken for jobs
 * and finds itself on its waker's processor; then again at the fourth time, the eighth and so on.
 * Reason: a kernel may leave a woken thread on its waker's processor. Then the two take turns, and
 * a thief delays its victim. A worker that was woken for tasks does not move: it gains nothing. */
static void wsqi_leave_waker(wsqi_worker *self) {
    uint32_t from = wsqi_load_hint(&self->woken.from);
    if (from == 0) return;
    wsqi_store_hint(&self->woken.from, 0u);
    self->sleep.beside = from == 1 + wsqi_cpu_now() ? self->sleep.beside + 1 : 0;
    /* If the pool starts no threads, this thread is the user's, so its affinity mask stays. */
    bool moves = self->sleep.beside >= 2 && (self->sleep.beside & (self->sleep.beside - 1)) == 0;
    if (moves && wsqi_own_threads(&self->pool->config) != 0) wsqi_cpu_leave();
}

/* The owner is about to sleep. It takes the driver, if that is free, in four cases: it had the
 * driver last, it has run a task since its last sleep, all permits are free (s: the value of S), or
 * one thread sleeps for all workers (caller_runs). Otherwise the driver stays free for the thread
 * that had it last, which mostly comes back soon. If another thread took the driver each time, each
 * event would cost the wake-up of that thread. */
static void wsqi_driver_keep(wsqi_worker *self, uint64_t s) {
    wsq_pool *pool = self->pool;
    uint64_t run = wsqi_load_own(&self->counters.run);
    uint32_t poller = wsqi_load_hint(&pool->watch.poller) & ~WSQI_HEARD;
    bool last = poller == WSQI_HAS_DRIVER(self->index) - 1;
    bool works = run != self->sleep.run || pool->config.caller_runs ||
                 wsqi_free_permits(s) >= pool->workers;
    if (works || last) (void)wsqi_driver_take(self);
    self->sleep.run = run;
}

/* From here on S counts the owner as an idle thread. If it had a permit, that becomes free. Returns
 * the new value of S. */
static uint64_t wsqi_idle_begin(wsqi_worker *self) {
    uint64_t change = WSQI_IDLE;
    if (self->permit) change += WSQI_PERMIT;
    if (self->searching) change -= WSQI_SEARCHING;
    wsqi_steal_request(self); /* looks for jobs pass over a sleeper, and so do not set its traps */
    /* I5: the bit is set before S counts this thread as idle, so wakers find it. Pairs with I3. */
    wsqi_or_acqrel(&self->pool->bitmap.sleepers[self->index / 64], wsqi_bit(self));
    /* I8, I10: either a producer or a slot's owner sees this sleeper in S, or the looks in
     * wsqi_sleep_idle see the work or the full slot. P6: a shutdown sees what this sleeper queued.
     * B8: a thread that sees a new stand-in in S sees that `coming` is lower. Pairs with B7. */
    return wsqi_add_sc(&self->pool->permits, change) + change;
}

/* The owner sleeps as an idle thread. s: the value of S when wsqi_idle_begin counted it. Another
 * thread wakes it, with a permit and as a searcher. Or it wakes itself, with a permit if one is
 * free. The reasons for that are a pinned task, an event, a timer, a full slot, a lost wake-up
 * (park_timeout_ns), the end of `wait` (if `wait` is NULL, the dismissal of a lent thread), and the
 * end of the pool. */
static void wsqi_sleep_idle(wsqi_worker *self, wsqi_wait *wait, uint64_t s) {
    wsq_pool *pool = self->pool;
    wsqi_stat(self->counters.parks, 1);
    self->search.robs_slots = false;
    self->permit = self->searching = true; /* a waker gives both; wsqi_wake_self overwrites both */
    /* These two calls precede wsqi_pass_on, which wakes a thread if a needed watcher is missing. */
    wsqi_driver_keep(self, s);
    bool watching = wsqi_watch_begin(self);
    if (wsqi_searching(s) == 0) {
        /* I8: a producer that saw this thread as a searcher, or saw no idle thread, woke no thread.
         * So this thread must see the producer's work. Pairs with I6. */
        wsqi_fence_sc();
        if ((uint32_t)s >= WSQI_PERMIT) wsqi_pass_on(pool); /* a permit is free, or JOINED */
        /* P4: this thread sees the stop, or the shutdown sees this sleeper. A thread at work
         * that forks its first job after this barrier sees traps set by wsqi_pass_on. */
        wsqi_fence_sc();
        wsqi_check_still(pool, false);
    }
    wsqi_event(self, WSQ_EVENT_PARK, NULL, 0);
    /* The owner naps until its bit is cleared, by a waker or by itself, or the pool is over. */
    while (wsqi_asleep(self) && wsqi_load_hint(pool->phase) != WSQI_PHASE_OVER) {
        bool over = wait != NULL ? wsqi_wait_called(wait) || wsqi_wait_expired(wait)
                                 : wsqi_dismissed(self);
        bool events = self->driving == WSQI_DRIVING_EVENTS;
        if (over || events || wsqi_inbox_calls(self)) wsqi_wake_self(self);
        else watching = wsqi_nap(self, watching, wait != NULL ? wait->deadline : WSQI_NEVER);
    }
    wsqi_event(self, WSQ_EVENT_UNPARK, NULL, 0);
    wsqi_leave_waker(self);
    /* If the pool is over, this thread may still have its bit set, and count in S: undo both. */
    while (wsqi_asleep(self)) wsqi_wake_self(self);
    wsqi_permit_set(self, self->permit);
    if (watching) wsqi_store_hint(&pool->watch.watcher, 0u);
    /* P4: this thread sees the stop, or the shutdown sees it awake. wsqi_notify_tasks needs I6.
     * I11: a watcher that this thread then sees, when it fills its slot, sees the bit cleared. */
    wsqi_fence_sc();
    wsqi_woke(pool);
    if (wsqi_driver_mine(self)) wsqi_driver_leave(self);
    /* Another thread may have to watch now. (A searcher checks that later, in wsqi_search_end.) */
    if (watching && !self->searching) (void)wsqi_notify_tasks(pool, UINT_MAX);
}

/* The owner found no work, or has no permit, and sleeps as an idle thread. wait: the wait in which
 * it does so, or NULL. */
static void wsqi_sleep(wsqi_worker *self, wsqi_wait *wait) {
    wsqi_a64 *in_wait = &self->pool->bitmap.idle_in_wait[self->index / 64];
    if (wait != NULL) wsqi_store_rlx(&wait->asleep, 1u); /* Relaxed: P6 below orders it. */
    if (wait != NULL) wsqi_add_hint(in_wait, wsqi_bit(self));
    uint64_t s = wsqi_idle_begin(self); /* P6, and more */
    wsqi_permit_freed(self->pool);
    wsqi_sleep_idle(self, wait, s);
    if (wait == NULL) return;
    wsqi_add_hint(in_wait, 0u - wsqi_bit(self)); /* clears the bit */
    wsqi_store_hint(&wait->asleep, 0u); /* P6 in the next sleep orders this. */
}

/* ==========================================================================
 * >>queue: a worker's tasks, and what it takes from other queues
 * Purpose:   moves tasks between a worker's slot, its queue, the lanes, and other workers.
 * Invariant: a task is in one place: a LIFO slot, a worker's queue, a lane, or running.
 * Writers:   the owner. Thieves also write its slot, the head of its ring, the top of its deque.
 * Source:    Tokio's multi-thread scheduler; the numbered list in the manual.
 * ========================================================================== */

/* The owner moves tasks of its ring, and after them `task`, to the global queue. The oldest
 * WSQ_RING_CAPACITY / 2 stay in the ring. Marked tasks (they came from the global queue) go to the
 * front of that queue, others to its end. While a thief copies from the ring, only `task` moves. */
static void wsqi_spill(wsqi_worker *self, wsq_task *task) {
    void *out[WSQ_RING_CAPACITY / 2];
    wsq_task *oldest = task;
    for (size_t i = wsqi_ring_spill(&self->ring, out); i-- > 0;) {
        wsq_task *next = (wsq_task *)out[i]; /* marked or not */
        wsqi_set(&oldest->next, next);
        oldest = wsqi_unmarked(next);
    }
    uint32_t lane = wsq_random_next(&self->random); /* a random lane, so that consumers spread */
    wsqi_chain_push(&wsqi_global_lane(self->pool, lane)->incoming, task, oldest);
}

/* The owner takes the task out of its LIFO slot. */
static wsq_task *wsqi_slot_take(wsqi_worker *self) {
    if (wsqi_load_hint(&self->lifo) == NULL) return NULL; /* No thief fills it, so NULL stays. */
    /* I11: either the owner or a thief gets the task. (Relaxed order would do, because the owner
     * filled the slot, but there is no relaxed exchange.) */
    return (wsq_task *)wsqi_xchg_acq(&self->lifo, NULL);
}

/* The owner takes the newest task of its deque. NULL: the deque is empty, or there is none. */
static inline wsq_task *wsqi_deque_take(wsqi_worker *self) {
    return wsqi_has_deque(self) ? (wsq_task *)wsq_deque_pop(&self->deque) : NULL;
}

/* The owner adds a new task to its queue. False: the queue has no room, or `order` is WSQ_SHARED;
 * the caller puts the task into the global queue. (Yielded tasks never go to the deque.) */
static inline bool wsqi_queue_push(wsqi_worker *self, wsq_task *task) {
    if (WSQI_LIKELY(self->order == WSQ_FIFO)) return wsqi_ring_push(&self->ring, task);
    return self->order == WSQ_LIFO && wsq_deque_push(&self->deque, task) == WSQ_OK;
}

/* The owner puts a popped item back, at the end of its ring. The caller must notify. */
static void wsqi_ring_return(wsqi_worker *self, void *item) {
    if (!wsqi_ring_push(&self->ring, item)) /* no room: a thief copies from the ring */
        wsqi_chain_push(&wsqi_lane_own(self->pool)->incoming, (wsq_task *)item,
                        wsqi_unmarked(item));
}

/* Returns the next item that wsqi_spill_queue moves: the newest of the deque or, if the deque is
 * empty, the oldest of the *left items below `tail` in the ring. NULL: no item is left. */
static inline void *wsqi_spill_next(wsqi_worker *self, uint32_t *left, uint32_t tail) {
    void *item = wsqi_deque_take(self);
    if (item != NULL || *left == 0) return item;
    return wsqi_get(&self->ring.items[(tail - (*left)--) & WSQI_RING_MASK]);
}

/* Moves `item`, if it is not NULL, and then the owner's queue to the global queue, in order. Marked
 * tasks go to the front there; if `front` is true, all do. Others go to the end. True: tasks have
 * moved, so the caller must notify. */
static bool wsqi_spill_queue(wsqi_worker *self, void *item, bool front) {
    wsq_task *newest = NULL, *oldest = NULL;
    uint32_t left = wsqi_ring_pop_all(&self->ring), tail = wsqi_load_own(&self->ring.tail);
    if (item == NULL) item = wsqi_spill_next(self, &left, tail);
    for (; item != NULL; item = wsqi_spill_next(self, &left, tail))
        wsqi_chain_add(&newest, &oldest, front ? wsqi_marked(wsqi_unmarked(item)) : item);
    if (newest != NULL)
        wsqi_chain_push(&wsqi_lane_own(self->pool)->incoming, newest, oldest);
    return newest != NULL;
}

/* Moves the tasks of the owner's slot and queue to the global queue, in order, because the owner
 * has no permit from here on. Marked tasks came from the global queue, and go to its front, so that
 * no later task overtakes them. Tasks that were spawned or woken here go to its end: if they went
 * to the front, a series of tasks that spawn others and block could keep older tasks waiting
 * without end. A long queue, which only a WSQ_LIFO pool has, stays: others steal from it in
 * searches and turns (wsqi_take_from_long). A lent thread that leaves moves it, too. True: the
 * caller must notify. */
static bool wsqi_spill_all(wsqi_worker *self) {
    self->turn.lifo_left = 0;
    if (wsqi_queue_length(self) > WSQ_RING_CAPACITY && !wsqi_dismissed(self)) return true;
    bool spilled = wsqi_spill_queue(self, wsqi_slot_take(self), false);
    wsqi_empty_begin(self);
    return spilled;
}

/* The pool's only worker moves all tasks of its ring to the global queue: to the front or, if
 * wsqi_overflow has moved older ones, to the end. From here on it puts its spawns into that queue,
 * too, until it has taken all tasks out of the queue. So its tasks keep their order, although some
 * did not fit into its ring. */
static void wsqi_order_keep(wsqi_worker *self) {
    (void)wsqi_spill_queue(self, NULL, !self->turn.spilled);
    self->turn.spilled = false;
    self->order = WSQ_SHARED;
}

/* Puts the task into the global queue: the owner's queue has no room, or `order` is WSQ_SHARED. */
WSQI_COLD static void wsqi_overflow(wsqi_worker *self, wsq_task *task) {
    wsq_pool *pool = self->pool;
    if (self->order == WSQI_ORDER_EMPTY) {
        wsqi_empty_end(self);
        if (wsqi_queue_push(self, task)) return;
    }
    if (self->order != WSQ_FIFO) {
        wsqi_lane_add(&pool->lanes[WSQ_NORMAL], task);
        return;
    }
    wsqi_stat(self->counters.overflows, 1);
    if (pool->workers == 1) {
        /* All tasks of the ring move to the global queue, and `task` follows. What is spawned after
         * that goes into the ring, and wsqi_order_keep moves it at the next look for a task.
         * (Rejected: to put these spawns into the global queue directly. That slows bench
         * spawn/many down by a third.) */
        (void)wsqi_spill_queue(self, NULL, !self->turn.spilled);
        wsqi_lane_add(&pool->lanes[WSQ_NORMAL], task);
        self->turn.spilled = true; /* the next look for a task is a turn: wsqi_order_keep */
        self->turn.left = 0;
    } else {
        wsqi_spill(self, task);
    }
    /* I6: searchers may have missed the tasks that moved, and wsqi_notify_pushed did not notify for
     * tasks that lay behind older ones. So the owner notifies now. */
    wsqi_notify_others(self);
}

/* The owner puts the task at the back of its queue. The caller must notify. */
static inline void wsqi_push_local(wsqi_worker *self, wsq_task *task) {
    if (!WSQI_LIKELY(wsqi_queue_push(self, task))) wsqi_overflow(self, task);
}

/* Two steps for an owner that takes tasks from its deque and does not want them: it keeps each in a
 * chain, and at the end pushes them all back, in their former order. */
static void wsqi_keep(wsq_task **kept, wsq_task *task) {
    wsqi_set(&task->next, *kept);
    *kept = task;
}

static void wsqi_push_kept(wsqi_worker *self, wsq_task *kept) {
    wsq_task *task;
    while ((task = kept) != NULL) { /* the oldest first */
        kept = wsqi_get(&task->next);
        wsqi_push_local(self, task);
    }
}

/* The owner fills its LIFO slot; a task that was in the slot moves to its queue. No thread is woken
 * to run the new task; but if no thread watches the slots, one is woken to watch them. */
WSQI_HOT void wsqi_slot_put(wsqi_worker *self, wsq_task *task) {
    wsq_pool *pool = self->pool;
    /* I11: a thief sees the task's contents. And either this thread sees the watcher and sleepers,
     * or a thread that goes to sleep sees the slot full, and watches it. Pairs with I10 and I12. */
    wsq_task *former = (wsq_task *)wsqi_xchg_sc(&self->lifo, task);
    if (former != NULL) {
        wsqi_push_local(self, former);
        wsqi_notify_others(self);
    } else {
        /* I11: this read follows the exchange */
        uint32_t watcher = wsqi_load_sc(&pool->watch.watcher);
        if ((watcher & WSQI_WATCHES_SLOTS) == 0) wsqi_watcher_wake(pool, watcher);
    }
}

/* Wakes an idle thread, which may take the task that the owner has put into its slot. After four
 * calls in a row for which no thief took the task, only every 16th call wakes a thread. (I6:
 * wsqi_notify_rmw follows a read-modify-write, the exchange that filled the slot.) */
static void wsqi_slot_tell(wsqi_worker *self) {
    uint32_t vain = wsqi_load_hint(&self->marks.vain);
    wsqi_store_hint(&self->marks.vain, vain + 1);
    if (wsqi_worth(vain) && !wsqi_alone(self->pool)) wsqi_notify_rmw(self->pool);
}

/* May the task in the owner's slot run next? After lifo_cap tasks from the slot, a task of the
 * queue comes first, unless the queue is empty. */
WSQI_HOT bool wsqi_slot_due(wsqi_worker *self) {
    if (WSQI_LIKELY(self->turn.lifo_left != 0)) {
        self->turn.lifo_left--;
        return true;
    }
    self->turn.lifo_left = self->pool->config.lifo_cap;
    return wsqi_queue_length(self) == 0;
}

/* Step 1 of FINDING WORK: the next task of the LIFO slot, or else of the worker's own queue. */
WSQI_HOT wsq_task *wsqi_take_local(wsqi_worker *self) {
    wsq_task *task = NULL;
    if (wsqi_load_hint(&self->lifo) != NULL && wsqi_slot_due(self)) task = wsqi_slot_take(self);
    if (task != NULL) {
        wsqi_stat(self->counters.lifo_hits, 1);
        return task;
    }
    task = wsqi_deque_take(self);
    if (task == NULL) task = wsqi_unmarked(wsqi_ring_pop(&self->ring));
    if (task != NULL) wsqi_stat(self->counters.local_pops, 1);
    return task;
}

/* Shall workers take tasks of the global queue one at a time, not in batches? Yes, if that queue
 * has one lane and few tasks, and tasks take long. Then tasks start in order, and none waits in a
 * ring behind a task that blocks. (A new pool supposes that its tasks are long: a worker's average
 * begins at 50 us.) With several lanes workers always take batches, because many workers would get
 * single tasks too slowly. The bounds are guesses (figures: bench/README, bench/sim/README). */
static bool wsqi_singly(const wsqi_worker *self) {
    const wsq_pool *pool = self->pool;
    return pool->global_lanes == 1 && self->tune.average_ns >= 20000 &&
           wsqi_load_hint(&pool->lanes[WSQ_NORMAL].length) < 16 * pool->workers;
}

/* Returns how many tasks the owner may take from the global queue: as many as its ring has room
 * for, and one more, to run now, unless the owner already `has` a task. The ring gets none in a
 * WSQ_SHARED pool, or if the owner has no task and takes tasks singly (wsqi_singly). */
static uint32_t wsqi_global_room(wsqi_worker *self, bool has) {
    uint32_t now = has ? 0 : 1;
    if (self->pool->config.order == WSQ_SHARED || (!has && wsqi_singly(self))) return now;
    return wsqi_ring_room(&self->ring) + now;
}

/* Step 2 of FINDING WORK: the owner takes one task (wsqi_singly), or moves a batch from the global
 * queue to its own queue, where thieves can reach it. Returns `task`, or, if that is NULL, the
 * first task of the batch. */
static wsq_task *wsqi_take_global(wsqi_worker *self, wsq_task *task) {
    wsq_pool *pool = self->pool;
    uint32_t most = wsqi_global_room(self, task != NULL), moved = 0, left = 0;
    uint32_t first = self->index / WSQI_LANE_WORKERS + self->turn.count; /* changes each turn */
    wsq_task *next = NULL, *one;
    for (unsigned i = 0; most != 0 && next == NULL && i < pool->global_lanes; i++)
        next = wsqi_lane_take(pool, wsqi_global_lane(pool, first + i), most, &left);
    if (next == NULL) return task;
    if (left == 0) self->order = pool->config.order; /* no task is left there */
    wsqi_stat(self->counters.global_batches, 1);
    if (task == NULL) { /* the first task of the batch is returned, to run now */
        task = next;
        next = wsqi_get(&task->next);
        wsqi_stat(self->counters.global_tasks, 1);
    }
    for (; (one = next) != NULL; moved++) {
        next = wsqi_get(&one->next);
        wsqi_ring_push(&self->ring, wsqi_marked(one)); /* there is room */
    }
    wsqi_stat(self->counters.global_tasks, moved);
    /* Searchers may have missed the moved tasks. If the owner searches, it notifies later. */
    if (moved + left != 0 && !self->searching) wsqi_notify_others(self);
    return task;
}

/* Takes a task of the worker's own after a timer, an event or the end of a group, which may have
 * queued tasks. If the ring has overflowed then, the oldest task is in the global queue. */
static wsq_task *wsqi_take_own(wsqi_worker *self) {
    wsq_task *task = NULL;
    if (self->turn.spilled) {
        wsqi_order_keep(self);
        task = wsqi_take_global(self, NULL);
    }
    return task != NULL ? task : wsqi_take_local(self);
}

/* The owner takes the next task of a WSQ_HIGH or WSQ_LOW lane or of its inbox, to run it now. It
 * notifies if more tasks wait there. It also notifies if tasks wait in its own queue: wsqi_requeue
 * may have queued those without a notify. (If the owner searches, it notifies later.) */
static wsq_task *wsqi_take_special(wsqi_worker *self, wsqi_lane *lane) {
    uint32_t left;
    wsq_task *task = wsqi_lane_take(self->pool, lane, 1, &left);
    if (task == NULL) return NULL;
    wsqi_add_hint(&lane->count, 0u - 1u);
    if (!self->searching && left + wsqi_queue_length(self) != 0) wsqi_notify_others(self);
    return task;
}

/* After this many WSQ_HIGH tasks in a row, a worker runs a task of another kind. A guess. */
#define WSQI_HIGH_STREAK 15u

/* The owner takes a WSQ_HIGH task. A streak of these ends after WSQI_HIGH_STREAK tasks, or when
 * none is queued. At the end of every second streak the owner takes a task that is pinned to it.
 * dry: the owner has nothing else to do, so it takes WSQ_HIGH or pinned tasks at any time. */
WSQI_COLD static wsq_task *wsqi_take_urgent(wsqi_worker *self, bool dry) {
    wsqi_turn *turn = &self->turn;
    wsq_task *task = NULL;
    if (dry || turn->streak < WSQI_HIGH_STREAK)
        task = wsqi_take_special(self, &self->pool->lanes[WSQ_HIGH]);
    if (task != NULL) {
        turn->streak += turn->streak < WSQI_HIGH_STREAK;
        return task;
    }
    turn->streak = 0;
    turn->pinned_due = !turn->pinned_due;
    return dry || turn->pinned_due ? wsqi_take_special(self, &self->inbox) : NULL;
}

/* Is the victim's only task too fresh to steal? Mostly the victim is about to run that task, and
 * has its data in the cache. So a thief takes the task only if it is still there at the next look.
 * (Bench `chain` beside an idle worker: 37 ns a task; if thieves take it immediately, 61.) */
static bool wsqi_fresh(wsqi_worker *victim) {
    uint64_t head = wsqi_load_hint(&victim->ring.head);
    if (wsqi_load_hint(&victim->ring.tail) - wsqi_head_real(head) != 1) return false;
    if (wsqi_load_hint(&victim->marks.head) == head) return false;
    wsqi_store_hint(&victim->marks.head, head);
    return true;
}

/* Takes tasks from a ring. Only one thief at a time tries. Other thieves leave without touching the
 * cache lines that the owner needs for each push. (On 64 simulated cores, with one worker that
 * spawns tasks of 0.5 us, efficiency is 33%. Without this rule it is 3%: bench/sim/README, number
 * 10.) `robbed` is only a hint: the ring decides which thief gets a task. If a thief is held up
 * here, it keeps other thieves away, as it does in wsqi_ring_steal while it copies. */
static void *wsqi_ring_rob(wsqi_worker *self, wsqi_worker *victim) {
    uint32_t nobody = 0;
    void *item = NULL;
    if (wsqi_load_hint(&victim->marks.robbed) != 0) return NULL;
    if (wsq_ring_length(&victim->ring) == 0) return NULL;
    /* Relaxed: wsqi_ring_steal has its own orders. Failure: another thief is there. */
    if (!wsqi_cas_rlx(&victim->marks.robbed, &nobody, 1u)) return NULL;
    /* A thief that has tasks takes only one, and runs it now: stolen tasks may be older than the
     * thief's own, and must not wait behind them. */
    uint32_t most = wsq_ring_length(&self->ring) == 0 ? WSQ_RING_CAPACITY : 1;
    if (!wsqi_fresh(victim))
        item = wsqi_ring_steal(&victim->ring, &self->ring, most);
    wsqi_store_hint(&victim->marks.robbed, 0u);
    return item;
}

/* Takes the task of the victim's slot if the victim has begun no task since a thread last looked at
 * the slot. A theft that comes too early does no harm: the task just runs on another core. */
static void *wsqi_slot_rob(wsqi_worker *victim) {
    void *task = wsqi_load_hint(&victim->lifo);
    if (task == NULL) return NULL;
    /* counters.run is read only if the slot is full, because each spawn by the victim writes to the
     * same cache line. */
    uint64_t run = wsqi_load_hint(&victim->counters.run) + 1;
    if (wsqi_load_hint(&victim->marks.run) != run) {
        wsqi_store_hint(&victim->marks.run, run);
        return NULL;
    }
    /* I12: the task's contents are visible. Pairs with I11. Failure: another thread took it. */
    if (!wsqi_cas_acq(&victim->lifo, &task, NULL)) return NULL;
    wsqi_store_hint(&victim->marks.vain, 0u);
    return task;
}

/* Steals from the victim the first of these that it can get: if `ring` is set, up to half of the
 * tasks in the victim's ring; one task of its deque; if `slot` is set, the task in its slot. */
static wsq_task *wsqi_steal_tasks(wsqi_worker *self, wsqi_worker *victim, bool ring, bool slot) {
    uint32_t before = wsqi_load_own(&self->ring.tail);
    void *item = ring ? wsqi_ring_rob(self, victim) : NULL;
    int tries = item == NULL && wsqi_has_deque(victim) ? 4 : 0; /* the owner may win every race */
    while (tries-- > 0 && wsq_deque_steal(&victim->deque, &item) == WSQ_STEAL_LOST) {}
    if (item == NULL && slot) item = wsqi_slot_rob(victim);
    if (item == NULL) return NULL;
    uint32_t tail = wsqi_load_own(&self->ring.tail), more = tail - before;
    item = wsqi_unmarked(item);
    self->search.source = victim->index + 1;
    self->turn.tail = tail; /* wsqi_take_from_long steals only after these tasks have run */
    wsqi_stat(self->counters.steals, 1);
    wsqi_stat(self->counters.tasks_stolen, 1 + more);
    wsqi_event(self, WSQ_EVENT_STEAL, item, victim->index);
    return (wsq_task *)item;
}

/* ==========================================================================
 * >>task: one word of state
 * Purpose:   a task is queued once and runs on one worker, and no wake is lost.
 * Invariant: (The bits: >>shared.) The thread that adds WOKEN to a PENDING task queues it. A task
 *            that is ACTIVE and WOKEN runs again if it returns WSQ_PENDING. If POISONED is set
 *            while a task is PENDING, OPEN or held, it will not run: before that run comes a
 *            read-modify-write (a wake, wsqi_task_begin, the last hold), which sees the bit. At
 *            another time the run may have begun. DONE and POISONED: a cancel ended it.
 * Writers:   any thread adds bits, and adds or takes away holds. The thread that spawns, runs or
 *            ends the task, or claims a future, clears bits; wsqi_task_poison clears DONE, too.
 * Source:    Tokio's task state. Ours: queued and running are one state. So a run begins without a
 *            read-modify-write, unless the task is OPEN, or was woken or cancelled.
 * ========================================================================== */

/* task->flags: what a spawn must know of the task. Priority and pin say where it is queued. */
enum {
    WSQI_FLAG_LANE = 3, /* a mask: the task's wsq_priority */
    WSQI_FLAG_PINNED = 4,  /* the task is pinned: the upper 16 bits are the worker's index */
    WSQI_FLAG_ONCE = 8,    /* with PINNED: wsq_spawn_on has set the pin, for one spawn */
    WSQI_FLAG_GROUPED = 16, /* before the spawn, task->pool is the group's address + 1 */
    WSQI_FLAG_REVOCABLE = 32, /* a spawn sets OPEN: a cancel before the run stops the task */
    WSQI_FLAG_NODE = 64,    /* the task is part of a wsq_node */
    WSQI_FLAGS_KEPT = WSQI_FLAG_GROUPED | WSQI_FLAG_REVOCABLE | WSQI_FLAG_NODE
};

#define WSQI_FLAG_INDEX_AT 16 /* the lowest bit of the index of a pinned task's worker */
#define WSQI_FLAGS_QUEUE (~(uint32_t)WSQI_FLAGS_KEPT) /* a mask: priority, pin and index */
#define WSQI_FLAGS_PIN (WSQI_FLAGS_QUEUE & ~(uint32_t)WSQI_FLAG_LANE) /* a mask: pin and index */
#define WSQI_FLAGS_NEVER 0xff80u /* bits that no task has */

/* Catches most tasks that were freed or never set up. The patterns with which allocators fill freed
 * memory (0xdd..., 0xdeadbeef), and most old stack memory, have bits of WSQI_FLAGS_NEVER. */
#define wsqi_check_task(task) \
    do { \
        WSQ_ASSERT("the wsq_task is NULL" && (task) != NULL); \
        WSQ_ASSERT("this wsq_task was never set up, or its memory was freed" && \
                   (wsqi_load_hint(&(task)->flags) & WSQI_FLAGS_NEVER) == 0); \
    } while (0)

/* Returns priority and pin. Only the thread that spawns, queues or runs a task writes its flags. */
static inline uint32_t wsqi_task_queue_flags(const wsq_task *task) {
    return wsqi_load_own(&task->flags) & WSQI_FLAGS_QUEUE;
}

static void wsqi_task_flag(wsq_task *task, uint32_t clear, uint32_t set) {
    wsqi_store_own(&task->flags, (wsqi_load_own(&task->flags) & ~clear) | set);
}

static bool wsqi_task_is_node(const wsq_task *task) {
    return (wsqi_load_own(&task->flags) & WSQI_FLAG_NODE) != 0;
}

/* If the task is revocable, returns OPEN, which a spawn adds to its state; else 0. */
static inline uint32_t wsqi_task_open(const wsq_task *task) {
    return (wsqi_load_own(&task->flags) & WSQI_FLAG_REVOCABLE) != 0 ? WSQI_TASK_OPEN : 0;
}

/* May this task be spawned into this pool? (The pin of an earlier wsq_spawn_on does not count.) */
static bool wsqi_flags_fit(const wsq_pool *pool, const wsq_task *task) {
    uint32_t flags = wsqi_load_own(&task->flags);
    bool pinned = (flags & (WSQI_FLAG_PINNED | WSQI_FLAG_ONCE)) == WSQI_FLAG_PINNED;
    if ((flags & WSQI_FLAG_NODE) != 0) return false; /* only its graph spawns it */
    return !pinned || flags >> WSQI_FLAG_INDEX_AT < pool->workers;
}

/* Leaves `pool` and `next` unset: a spawn writes `pool`, and a push into a list writes `next`. */
WSQ_API void wsq_task_init(wsq_task *task, wsq_task_fn fn) {
    task->fn = fn;
    task->cleanup = NULL;
    wsqi_store_init(&task->flags, 0u);
    wsqi_store_init(&task->after, NULL);
    wsqi_store_init(&task->state, 0u);
}

WSQ_API bool wsq_task_done(const wsq_task *task) {
    /* T1: what the task did is visible. Pairs with T2. */
    return wsqi_task_is(wsqi_load_acq(&task->state), WSQI_TASK_DONE);
}

WSQ_API void wsq_task_set_cleanup(wsq_task *task, wsq_cleanup_fn cleanup) {
    task->cleanup = cleanup;
}

WSQ_API wsq_result wsq_task_set_priority(wsq_task *task, wsq_priority priority) {
    if (task == NULL || (unsigned)priority > WSQ_LOW) return WSQ_ERR_INVALID;
    wsqi_task_flag(task, WSQI_FLAG_LANE, (uint32_t)priority);
    return WSQ_OK;
}

WSQ_API wsq_result wsq_task_set_worker(wsq_task *task, unsigned worker) {
    if (task == NULL || (worker >= WSQI_MAX_WORKERS && worker != WSQ_ANY_WORKER))
        return WSQ_ERR_INVALID;
    if (wsqi_task_is_node(task) && worker != WSQ_ANY_WORKER &&
        worker >= wsqi_task_pool(task)->workers) /* a graph's run does not check it */
        return WSQ_ERR_INVALID;
    uint32_t pin = WSQI_FLAG_PINNED | (uint32_t)worker << WSQI_FLAG_INDEX_AT;
    wsqi_task_flag(task, WSQI_FLAGS_PIN, worker != WSQ_ANY_WORKER ? pin : 0);
    return WSQ_OK;
}

WSQ_API void wsq_task_set_group(wsq_task *task, wsq_group *group) {
    if (group != NULL) wsqi_store_own(&task->pool, (char *)group + 1);
    wsqi_task_flag(task, WSQI_FLAG_GROUPED, group != NULL ? (uint32_t)WSQI_FLAG_GROUPED : 0);
}

WSQ_API void wsq_task_set_revocable(wsq_task *task, bool revocable) {
    wsqi_task_flag(task, WSQI_FLAG_REVOCABLE, revocable ? (uint32_t)WSQI_FLAG_REVOCABLE : 0);
}

/* ---- queueing ---- */

static void wsqi_check_over(wsq_pool *pool);

/* Any thread queues a task with priority or pin, and notifies. After this the task may be gone. */
WSQI_COLD static void wsqi_queue_special(wsq_pool *pool, wsq_task *task) {
    uint32_t flags = wsqi_task_queue_flags(task);
    bool pinned = (flags & WSQI_FLAG_PINNED) != 0;
    wsqi_worker *worker = pinned ? wsqi_block(pool, flags >> WSQI_FLAG_INDEX_AT) : NULL;
    wsqi_lane *lane = pinned ? &worker->inbox : &pool->lanes[flags & WSQI_FLAG_LANE];
    wsqi_add_hint(&lane->count, 1u);
    wsqi_lane_add(lane, task);
    if (pinned) {
        /* Wakes the task's worker. (In a caller_runs pool worker 0 sleeps for all workers.) */
        wsqi_unpark(&(pool->config.caller_runs ? wsqi_block(pool, 0) : worker)->parker);
        /* P4: either this thread sees that the pool is over (wsqi_check_over), or the last call of
         * wsqi_sweep sees the task. */
        wsqi_fence_rmw();
    } else {
        wsqi_notify_rmw(pool);
    }
    wsqi_check_over(pool);
}

/* Any thread puts a chain, newest task first, into its lane of the global queue, and notifies. */
static void wsqi_push_global(wsq_pool *pool, wsq_task *newest, wsq_task *oldest) {
    wsqi_lane *lane = wsqi_lane_own(pool);
    wsqi_lane_push(lane, newest, oldest);
    bool full = newest != oldest || wsqi_load_hint(&lane->outside) / 2 % WSQI_SETTLE == 0;
    if (pool->global_lanes == 1 || !full) {
        wsqi_notify_rmw(pool);
    } else {
        wsqi_lane_settle(lane);
        wsqi_notify(pool); /* with a full barrier: searchers may have missed moved tasks */
    }
    wsqi_check_over(pool);
}

/* Queues a task, and notifies. A task with a priority or a pin goes to the lane for that; any other
 * to the queue of `self`, the caller's worker in this pool (NULL: to the global queue). */
static inline void wsqi_task_queue(wsq_pool *pool, wsqi_worker *self, wsq_task *task) {
    if (wsqi_task_queue_flags(task) != 0) {
        wsqi_queue_special(pool, task);
    } else if (self == NULL) {
        wsqi_push_global(pool, task, task);
    } else {
        wsqi_push_local(self, task);
        wsqi_notify_others(self);
    }
}

/* Queues a woken task, and may notify. The task goes into the LIFO slot of `self` if it has no
 * priority or pin, lifo_cap is not 0, and `self` has a permit and is not in the driver's dispatch
 * function. Otherwise wsqi_task_queue queues it. (So tasks woken in dispatch keep their order.) */
WSQI_COLD static void wsqi_schedule_slow(wsq_pool *pool, wsqi_worker *self, wsq_task *task) {
    wsqi_event_here(pool, WSQ_EVENT_WAKE, task, WSQ_CAUSE_WAKE);
    if (self != NULL && self->permit && self->driving == WSQI_DRIVING_NOT &&
        pool->config.lifo_cap != 0 && wsqi_task_queue_flags(task) == 0) {
        wsqi_slot_put(self, task);
        if (self->tune.average_ns >= WSQI_SLOT_NS) wsqi_slot_tell(self);
    } else {
        wsqi_task_queue(pool, self, task);
    }
}

/* Queues a woken task, and may notify. (The usual case of wsqi_schedule_slow.) */
static void wsqi_task_schedule(wsq_pool *pool, wsq_task *task) {
    wsqi_worker *self = wsqi_local(pool);
    if (!WSQI_LIKELY(!wsqi_forked(pool))) return;
    if (WSQI_LIKELY(wsqi_task_queue_flags(task) == 0) && self != NULL && self->wake_slot != 0)
        wsqi_slot_put(self, task);
    else
        wsqi_schedule_slow(pool, self, task);
}

/* ---- wake and cancel ---- */

/* Notes a wake in the task's state. Returns the former state. Any thread calls this. */
static inline uint32_t wsqi_task_note_wake(wsq_task *task) {
    /* T4: the next run sees what the waker wrote, and, through T3, what the last run wrote. Pairs
     * with T3 and T5. This is a release even if the task was notified before, because the run that
     * takes the notification must see what this waker wrote, too. */
    return wsqi_or_acqrel(&task->state, (uint32_t)WSQI_TASK_WOKEN);
}

/* A wake was noted in this state. Must the caller queue the task? If not, another thread may
 * already run and end the task, so its memory may be gone. */
static inline bool wsqi_task_asleep(uint32_t state) {
    return (state & (WSQI_TASK_PHASE | WSQI_TASK_WOKEN)) == WSQI_TASK_PENDING;
}

WSQ_API void wsq_wake(wsq_task *task) {
    wsqi_check_task(task);
    if (wsqi_task_asleep(wsqi_task_note_wake(task))) wsqi_task_schedule(wsqi_task_pool(task), task);
}

WSQ_API bool wsq_task_cancel(wsq_task *task) {
    wsqi_check_task(task);
    uint32_t state = wsqi_load_hint(&task->state), next;
    do {
        /* A graph's node that waits for predecessors still has the state of its last run. Whether
         * that run was cancelled says nothing about the next one. */
        if (!wsqi_task_live(state)) return wsqi_task_cancelled(state) && !wsqi_task_is_node(task);
        next = state | WSQI_TASK_POISONED;
        if (wsqi_task_is(state, WSQI_TASK_PENDING)) next |= WSQI_TASK_WOKEN;
        /* T4: what the caller wrote is visible to the cleanup. Failure: relaxed, decide again. */
    } while (!wsqi_cas_acqrel(&task->state, &state, next));
    if (wsqi_task_asleep(state)) wsqi_task_schedule(wsqi_task_pool(task), task);
    return (state & (WSQI_TASK_PENDING | WSQI_TASK_OPEN)) != 0 || state >= WSQI_TASK_HOLD;
}

/* ---- claims and holds ---- */

#define WSQI_CLOSED ((void *)1) /* in `after`: the task has ended, so no edge can be added */

/* Opens a done task's `after` for new edges. The caller has claimed the task, or poisoned it. */
static inline void wsqi_task_reopen(wsq_task *task) {
    /* Relaxed: this thread has seen CLOSED by an earlier acquire. In a spawn this is T6; before a
     * call of wsqi_task_poison it is E4 or, in a graph, K4. No other thread changes CLOSED, so no
     * compare-and-swap is needed. */
    if (wsqi_load_rlx(&task->after) == WSQI_CLOSED)
        /* E6: a thread that adds an edge from now on sees the new state. Pairs with E5. */
        wsqi_store_rel(&task->after, NULL);
}

/* Claims a task for a spawn. False: it is held, queued, running or pending. *state: in, the state
 * that the caller last saw; out, the state before the claim. home: see wsqi_task_home. `hold` is
 * added to the new state: OPEN, a HOLD that wsqi_task_let_go takes away, both, or 0. */
static inline bool wsqi_task_claim(wsq_task *task, uint32_t *state, void *home, uint32_t hold) {
    const uint32_t keep = WSQI_TASK_AWAITED | WSQI_TASK_POISONED | (0u - WSQI_TASK_HOLD);
    uint32_t next;
    do {
        next = (*state & keep) | WSQI_TASK_ACTIVE;
        if (!wsqi_task_is(*state, 0)) {
            if (!wsqi_task_is(*state, WSQI_TASK_DONE)) return false;
            next &= ~(uint32_t)WSQI_TASK_POISONED; /* the cancel was only for the last run */
        }
        /* Relaxed: T6, the claim, comes after this store, so a waker finds the pool. If another
         * thread spawns the task into another pool just now, that is the user's mistake. */
        wsqi_store_rlx(&task->pool, home);
        /* T6: the new run sees what the last run did, and what a waker wrote while the task was not
         * spawned (the claim drops that wake). A thread that sees the task active sees its pool.
         * Pairs with T2, T4, W3. Failure: decide again. */
    } while (!wsqi_cas_acqrel(&task->state, state, next + hold));
    if (wsqi_task_is(*state, WSQI_TASK_DONE)) wsqi_task_reopen(task);
    return true;
}

/* Removes the pin that an earlier wsq_spawn_on has set. The caller has claimed the task. */
static void wsqi_task_unpin(wsq_task *task) {
    if (wsqi_load_own(&task->flags) & WSQI_FLAG_ONCE) wsqi_task_flag(task, WSQI_FLAGS_PIN, 0);
}

/* Was the task held when it was spawned, by predecessors or a group? NONE: no. REPORTED: yes, and
 * the SPAWN event said so. COUNTED: yes, and pool.held counts it, now or in a moment. */
typedef enum wsqi_hold { WSQI_HOLD_NONE, WSQI_HOLD_REPORTED, WSQI_HOLD_COUNTED } wsqi_hold;

/* Takes one hold away. If it was a spawned task's last hold, queues the task, and returns true. */
static bool wsqi_task_let_go(wsq_task *task, wsqi_hold hold) {
    /* E3: the task's run sees what each thread did before it took a hold away. The thread that
     * takes the last hold sees the spawn, hence the pool and flags. Pairs with itself and T6. */
    uint32_t state = wsqi_add_acqrel(&task->state, 0u - (uint32_t)WSQI_TASK_HOLD);
    if (state / WSQI_TASK_HOLD != 1 || !wsqi_task_is(state, WSQI_TASK_ACTIVE)) return false;
    wsq_pool *pool = wsqi_task_pool(task);
    bool abroad = wsqi_inside(pool) == NULL;
    /* Relaxed: a thread that frees the pool waits for this task first, so it sees this addition. */
    if (abroad) wsqi_add_rlx(&pool->duty.abroad, 1u);
    /* A hint suffices: only wsqi_stuck and a dump read this count. It may be wrong for a moment. */
    if (hold == WSQI_HOLD_COUNTED) wsqi_add_hint(&pool->held, 0u - (uint64_t)1);
    if (hold != WSQI_HOLD_NONE) wsqi_event_here(pool, WSQ_EVENT_WAKE, task, WSQ_CAUSE_AFTER);
    wsqi_task_queue(pool, wsqi_local(pool), task);
    /* P7: the queueing is over; from here on the pool may be freed. Pairs with P8. */
    if (abroad) wsqi_add_acqrel(&pool->duty.abroad, 0u - 1u);
    return true;
}

/* ==========================================================================
 * >>group
 * Purpose:   tasks that are waited for, or cancelled, together.
 * Invariant: the count in `word` is at least the number of tasks that are spawned and have not
 *            ended. The thread that brings the count to zero clears WAITED and THEN, wakes the
 *            threads that wait for the group, and starts the tasks in `then`.
 * Writers:   any thread. A worker collects the ends of one group's tasks in `ends`, and counts them
 *            down together before it runs a task outside the group, searches, blocks or sleeps.
 * Source:    Go's WaitGroup, Java's Phaser; to collect ends is our own.
 * ========================================================================== */

enum {
    WSQI_GROUP_WAITED = 1, /* a thread sleeps until the group is done */
    WSQI_GROUP_THEN = 2,   /* tasks wait in `then` */
    WSQI_GROUP_CANCELLED = 4, /* one of its tasks was cancelled; wsq_group_init clears it */
    WSQI_GROUP_TASK = 8    /* this bit and all above: the number of tasks that are not done */
};

WSQ_API wsq_result wsq_group_init(wsq_group *group, wsq_pool *pool) {
    if (group == NULL || pool == NULL) return WSQ_ERR_INVALID;
    group->pool = pool;
    wsqi_store_init(&group->word, (uint64_t)0);
    wsqi_store_init(&group->then, NULL);
    wsqi_store_init(&group->error, 0u);
    wsqi_store_init(&group->cancelled, 0u);
    group->parent = NULL;
    return WSQ_OK;
}

#define WSQI_GROUP_BELOW 2u /* a value of `cancelled`: the group is cancelled if its parent is */

WSQ_API wsq_result wsq_group_set_parent(wsq_group *group, const wsq_group *parent) {
    const wsq_group *above = parent;
    while (above != NULL && above != group) above = above->parent;
    if (group == NULL || above != NULL) return WSQ_ERR_INVALID;
    uint32_t cancelled = wsqi_load_hint(&group->cancelled);
    group->parent = parent;
    /* Relaxed: it publishes nothing. Failure: another thread has cancelled the group, for good. */
    while (cancelled != 1 &&
           !wsqi_cas_rlx(&group->cancelled, &cancelled, parent != NULL ? WSQI_GROUP_BELOW : 0u)) {}
    return WSQ_OK;
}

#define wsqi_check_group(group) \
    WSQ_ASSERT("wsq_group_init has not set up this wsq_group" && (group)->pool != NULL)

/* Adds one to the group's count. Relaxed: a task's end comes after its spawn, and changes the same
 * word, so the count cannot reach zero too early. */
static inline void wsqi_group_up(wsq_group *group) {
    wsqi_add_rlx(&group->word, (uint64_t)WSQI_GROUP_TASK);
}

static wsq_task *wsqi_group_last(wsq_task *then) {
    while (wsqi_get(&then->next) != NULL) then = wsqi_get(&then->next);
    return then;
}

/* Takes all tasks out of group->then. Returns them as one chain, followed by the chain `then`. */
static wsq_task *wsqi_group_take(wsq_group *group, wsq_task *then) {
    /* G2: this thread sees the tasks and their links. Pairs with G1. */
    wsq_task *first = (wsq_task *)wsqi_xchg_acq(&group->then, NULL);
    if (first == NULL) return then;
    wsqi_set(&wsqi_group_last(first)->next, then);
    return first;
}

/* Puts the chain `then`, which this thread has taken, back below the tasks that came since. No
 * other thread takes tasks out meanwhile, because this one keeps the count above zero. */
static void wsqi_group_put(wsq_group *group, wsq_task *then) {
    void *none = NULL;
    /* Relaxed: this thread lowers the count only later (K3), and before that no other thread takes
     * the tasks out. Failure: another task has come; it is younger than those of the chain. */
    while (!wsqi_cas_rlx(&group->then, &none, then)) {
        then = wsqi_group_take(group, then);
        none = NULL;
    }
}

/* Counts n tasks of the group as done. cancelled: WSQI_GROUP_CANCELLED, or 0. At count zero another
 * thread may free the group. So if tasks wait in group->then, this thread lowers the count only to
 * one, takes the waiting tasks out, and then lowers the count to zero. But if more tasks of the
 * group were spawned meanwhile, it puts the waiting tasks back, and zero is not reached. */
static void wsqi_group_down(wsq_pool *pool, wsq_group *group, uint64_t n, uint64_t cancelled) {
    uint64_t word = wsqi_load_hint(&group->word), next;
    wsq_task *then = NULL;
    for (;;) {
        bool last = word / WSQI_GROUP_TASK == n, take = last && (word & WSQI_GROUP_THEN);
        if (!last && then != NULL) {
            wsqi_group_put(group, then);
            then = NULL;
            /* K3: the thread that ends the group sees the tasks that are back in `then`. */
            word = wsqi_or_acqrel(&group->word, (uint64_t)WSQI_GROUP_THEN) | WSQI_GROUP_THEN;
            continue;
        }
        next = (word - n * WSQI_GROUP_TASK) | cancelled;
        if (take) next = next - WSQI_GROUP_THEN + WSQI_GROUP_TASK;
        else if (last) next &= WSQI_GROUP_CANCELLED;
        /* K3: what the tasks did is visible to a thread that sees the group done. Pairs with itself
         * and K4. Failure: relaxed, the loop tries again. */
        if (!wsqi_cas_acqrel(&group->word, &word, next)) continue;
        if (!take) break;
        then = wsqi_group_take(group, then);
        word = next;
        n = 1;
    }
    wsq_task *oldest = NULL, *task;
    while ((task = then) != NULL) {
        then = wsqi_get(&task->next);
        wsqi_set(&task->next, oldest);
        oldest = task;
    }
    while ((task = oldest) != NULL) {
        oldest = wsqi_get(&task->next);
        wsqi_task_let_go(task, WSQI_HOLD_COUNTED);
    }
    if (next < WSQI_GROUP_TASK && (word & WSQI_GROUP_WAITED)) wsqi_call(pool, group);
}

/* The owner subtracts the ends that it has collected in `ends` from the count of their group. */
static void wsqi_group_flush(wsqi_worker *self) {
    wsq_group *group = self->ends.group;
    uint64_t n = self->ends.count;
    if (group == NULL) return;
    self->ends.group = NULL;
    self->ends.count = 0;
    wsqi_group_down(self->pool, group, n, 0);
    /* This comes last: after it wsq_pool_wait may return, and the group may be freed. */
    wsqi_count_finished(self, n);
}

/* The group that wsq_task_set_group has set for the next spawn, or NULL. */
static inline wsq_group *wsqi_task_grouped(const wsq_task *task) {
    bool grouped = (wsqi_load_own(&task->flags) & WSQI_FLAG_GROUPED) != 0;
    return grouped ? wsqi_task_group(task) : NULL;
}

WSQ_API void wsq_group_cancel(wsq_group *group) {
    wsqi_store_hint(&group->cancelled, 1u);
}

WSQ_API bool wsq_group_cancelled(const wsq_group *group) {
    uint32_t cancelled = wsqi_load_hint(&group->cancelled);
    if (WSQI_LIKELY(cancelled == 0)) return false;
    while (cancelled == WSQI_GROUP_BELOW)
        cancelled = wsqi_load_hint(&(group = group->parent)->cancelled);
    return cancelled != 0;
}

WSQ_API void wsq_group_fail(wsq_group *group, int error) {
    uint32_t none = 0;
    /* Relaxed: the end of the failing task (K3) makes the error visible to a thread that sees the
     * group done. Failure: another error was first. */
    (void)wsqi_cas_rlx(&group->error, &none, (uint32_t)error);
}

WSQ_API int wsq_group_error(const wsq_group *group) {
    /* Relaxed: a thread that has seen the group done (K4) sees the final error. */
    return (int)wsqi_load_rlx(&group->error);
}

WSQ_API uint64_t wsq_group_pending(const wsq_group *group) {
    /* K4: a thread that gets 0 sees what the tasks did, and may free the group. Pairs with K3. */
    return wsqi_load_acq(&group->word) / WSQI_GROUP_TASK;
}

/* ==========================================================================
 * >>timer
 * Purpose:   wakes tasks at set times, at a cost that does not grow with the number of timers.
 * Invariant: times are in ns. Here each time is a row of digits to the base of 64; digit 0 is the
 *            lowest. `base` is a past time. Level n has 64 lists, one for each value of digit n.
 *            A timer's level is the highest digit in which its time differs from `base`; its list
 *            is the one for the value of this digit in its time. So the timers of a level are due
 *            before those of higher levels.
 *            A list's time is the first time that belongs to it, so its digits below n are 0. When
 *            that time has come, the list is opened: `base` becomes that time, and each timer of
 *            the list fires, or moves if it is due later. If a timer is set again to a later time,
 *            it stays in its list until that list is opened.
 *            `next` (of a worker's lists) and timer_next (of the pool) are no later than the first
 *            timer, or the thread that set this timer is about to lower them. While a permit is
 *            free and a timer is set, the watcher wakes up at timer_next.
 * Writers:   the lists, `next` and the timers in the lists: the holder of their lock. timer_next:
 *            any thread, by compare-and-swap.
 * Source:    timing wheels (Varghese and Lauck 1987); digits of ns, for an exact order: the radix
 *            heap (Ahuja et al. 1990).
 * ========================================================================== */

/* Guesses. MOST: a thread fires this many timers in one call of wsqi_timers_fire, or fewer if it
 * has moved MOVES timers, most of them several times (0.2 to 0.4 ms if none is in the cache).
 * SHORT: if the next list has at most this many timers, the watcher wakes up for the earliest of
 * them; if it has more, the watcher wakes up at the list's time. */
enum { WSQI_TIMERS_MOST = 512, WSQI_TIMERS_MOVES = 8 * 512, WSQI_TIMERS_SHORT = 16 };

/* In a turn a worker fires its own timers. It fires other workers' timers only if they are late by
 * this many ns, about the time between two turns. (If each of 64 workers looked at all timers in
 * each turn, all would lose a tenth of their time.) */
#define WSQI_TIMERS_GRACE 1000000u

#define wsqi_check_timer(timers, timer) \
    WSQ_ASSERT("the memory of this wsq_timer was freed or overwritten while it was set" && \
               wsqi_load_locked(&(timer)->timers) == (timers))

/* The lists in which this thread sets timers: its own if it is a worker, else some worker's. */
static wsqi_timers *wsqi_timers_own(const wsq_pool *pool) {
    const wsqi_worker *self = wsqi_local(pool);
    return &pool->timers[(self != NULL ? self->index : wsqi_thread_hash()) % pool->workers];
}

/* The lock's holder puts the timer at the end of the list for its time. So of two timers with the
 * same time, the one that was set first mostly fires first. */
static void wsqi_timer_link(wsqi_timers *timers, wsq_timer *timer) {
    uint64_t at = wsqi_get(&timer->at);
    unsigned level = 0;
    if (at < timers->base) at = timers->base;
    while ((at ^ timers->base) >> level * WSQI_TIMER_BITS >> WSQI_TIMER_BITS != 0) level++;
    unsigned digit = (unsigned)(at >> level * WSQI_TIMER_BITS) % WSQI_TIMER_LISTS;
    wsqi_link *head = &timers->lists[level][digit];
    if ((timers->filled[level] >> digit & 1) == 0) head->next = head->prev = head;
    timers->filled[level] |= (uint64_t)1 << digit;
    wsqi_link *last = wsqi_get(&head->prev);
    wsqi_set(&timer->link.next, head);
    wsqi_set(&timer->link.prev, last);
    wsqi_set(&last->next, &timer->link);
    wsqi_set(&head->prev, &timer->link);
}

/* The lock's holder takes the timer out of its list. */
static void wsqi_timer_unlink(wsq_timer *timer) {
    wsqi_link *next = wsqi_get(&timer->link.next), *prev = wsqi_get(&timer->link.prev);
    WSQ_ASSERT("the memory of a wsq_timer, set beside this one, was freed" &&
               wsqi_get(&next->prev) == &timer->link && wsqi_get(&prev->next) == &timer->link);
    wsqi_set(&next->prev, prev);
    wsqi_set(&prev->next, next);
}

/* Returns a time before which no timer of the list is due. The caller holds the lock. The list is
 * for times from `start` to `end`, but a timer that was set again may be due after `end`. */
static uint64_t wsqi_timers_first(wsqi_timers *timers, wsqi_link *head, uint64_t start,
                                  uint64_t end) {
    unsigned count = 0;
    (void)timers; /* only assertions use it */
    for (wsqi_link *link = wsqi_get(&head->next); link != head; link = wsqi_get(&link->next)) {
        wsq_timer *timer = wsq_container_of(link, wsq_timer, link);
        wsqi_check_timer(timers, timer);
        uint64_t at = wsqi_get(&timer->at);
        if (at < end) end = at;
        /* at < start: `base` had passed the timer's time when the timer was linked. */
        if (at < start || ++count > WSQI_TIMERS_SHORT) return start;
    }
    return end;
}

/* The lock's holder finds the first list that is not empty. If that list's time has come by `now`,
 * this function opens the list (timers->open), and returns `now`. Otherwise it returns when to look
 * again, or WSQI_NEVER if no timer is set. */
static uint64_t wsqi_timers_open(wsqi_timers *timers, uint64_t now) {
    if (timers->open != NULL && wsqi_get(&timers->open->next) != timers->open) return now;
    timers->open = NULL;
    for (unsigned level = 0, shift = 0; level < WSQI_TIMER_LEVELS; level++) {
        uint64_t *filled = &timers->filled[level], above = timers->base >> shift >> WSQI_TIMER_BITS;
        for (; *filled != 0; *filled &= *filled - 1) {
            unsigned digit = wsqi_lowest_bit(*filled);
            wsqi_link *head = &timers->lists[level][digit];
            if (wsqi_get(&head->next) == head) continue; /* its timers have left the list */
            uint64_t start = (above << WSQI_TIMER_BITS | digit) << shift;
            if (start > now) { /* the first list is not due yet */
                if (timers->base < now) timers->base = now;
                return wsqi_timers_first(timers, head, start, start | (((uint64_t)1 << shift) - 1));
            }
            timers->base = start;
            timers->open = head;
            return now;
        }
        shift += WSQI_TIMER_BITS;
    }
    if (timers->base < now) timers->base = now;
    return WSQI_NEVER;
}

/* The lock's holder takes the first timer out of the open list, timers->open. */
static wsq_timer *wsqi_timers_take(wsqi_timers *timers) {
    wsqi_link *link = wsqi_get(&timers->open->next);
    wsq_timer *timer = wsq_container_of(link, wsq_timer, link);
    wsqi_check_timer(timers, timer);
    wsqi_timer_unlink(timer);
    return timer;
}

static bool wsqi_timers_make(wsq_pool *pool) {
    const size_t bytes = pool->workers * sizeof(wsqi_timers);
    pool->timers = (wsqi_timers *)wsqi_allocate(pool->config.allocator, bytes, WSQ_CACHELINE);
    wsqi_store_init(&pool->watch.timer_next, WSQI_NEVER);
    for (unsigned i = 0; i < pool->workers && pool->timers != NULL; i++) {
        wsqi_timers *timers = &pool->timers[i];
        memset((void *)timers, 0, offsetof(wsqi_timers, lists));
        wsqi_store_init(&timers->next, WSQI_NEVER);
        timers->pool = pool;
    }
    return pool->timers != NULL;
}

/* Frees the lists of a pool that is over, and marks its timers as not set. (In a child of fork()
 * the lists may be half changed, so they are only freed.) */
static void wsqi_timers_free(wsq_pool *pool, const wsq_allocator *allocator) {
    for (unsigned i = 0; i < pool->workers && pool->timers != NULL && !wsqi_forked(pool); i++) {
        wsqi_timers *timers = &pool->timers[i];
        while (wsqi_timers_open(timers, WSQI_LATEST) != WSQI_NEVER)
            wsqi_store_init(&wsqi_timers_take(timers)->timers, NULL);
    }
    wsqi_release(allocator, pool->timers, pool->workers * sizeof(wsqi_timers));
}

/* The lock's holder takes the first timer of the open list. A timer that is not due moves to the
 * list for its time. A due timer is marked as fired (`timers` + 1), and its task gets a wake. If
 * the task was pending, this clears the mark, and returns the task for the caller to queue. If the
 * task is not live, the wake had no effect, and this clears the mark. Otherwise the task is queued
 * or runs, and may free the timer at any moment, so the mark stays. (A cancel that reads the mark
 * locks the lists first, so it does not return during this function.) */
static wsq_task *wsqi_timer_fire(wsqi_timers *timers) {
    wsq_timer *timer = wsqi_timers_take(timers);
    if (wsqi_get(&timer->at) > timers->base) {
        wsqi_timer_link(timers, timer);
        return NULL;
    }
    wsq_task *task = wsqi_get(&timer->task);
    wsqi_store_locked(&timer->timers, (char *)timers + 1);
    uint32_t state = wsqi_task_note_wake(task);
    bool queue = wsqi_task_asleep(state);
    if (!queue && wsqi_task_live(state)) return NULL;
    /* N3: a thread that sees NULL may free the timer or set it again, so this store is the last use
     * here. Pairs with N4. The task cannot have freed the timer before: it is not queued yet, or
     * not live. */
    wsqi_store_rel(&timer->timers, NULL);
    return queue ? task : NULL;
}

/* Returns a time before which no timer of the pool is due. */
static uint64_t wsqi_timers_next(const wsq_pool *pool) {
    uint64_t first = WSQI_NEVER;
    for (unsigned i = 0; i < pool->workers; i++) {
        /* N2: the second look of wsqi_timers_raise sees all times stored before timer_next rose. */
        uint64_t next = wsqi_load_sc(&pool->timers[i].next);
        if (next < first) first = next;
    }
    return first;
}

/* If timer_next is later than `at`, lowers it to `at`, and makes the watcher look again. If there
 * is no watcher, wakes an idle thread instead, which will become the watcher. */
static void wsqi_timers_lower(wsq_pool *pool, uint64_t at) {
    /* N1: wsq_timer_set stored `at` before this */
    uint64_t next = wsqi_load_sc(&pool->watch.timer_next);
    do {
        if (at >= next) return;
        /* I11: either this thread sees the sleepers and the watcher, or a sleeper sees the timer.
         * Pairs with I10. Failure: decide again. */
    } while (!wsqi_cas_sc(&pool->watch.timer_next, &next, at));
    wsqi_watcher_wake(pool, wsqi_load_sc(&pool->watch.watcher)); /* I11: as above */
}

/* Sets timer_next to the time of the pool's next timer. The caller has fired timers. */
static void wsqi_timers_raise(wsq_pool *pool) {
    uint64_t next = wsqi_load_hint(&pool->watch.timer_next), first = wsqi_timers_next(pool);
    /* N2: either a thread that sets an earlier timer sees timer_next as stored here, and lowers it,
     * or the second look below sees that timer. Pairs with N1. Failure: another thread has changed
     * timer_next. */
    if (next < first && wsqi_cas_sc(&pool->watch.timer_next, &next, first))
        first = wsqi_timers_next(pool);
    wsqi_timers_lower(pool, first);
}

/* Wakes the tasks whose timers are due by `now`, a bounded number in one call. Leaves out lists
 * whose lock is held, and other workers' timers unless they are late by `grace` ns. The tasks of
 * one worker's timers are queued in the order of their times, so none goes into a LIFO slot. All
 * are queued after the lists are unlocked: in a pool that is over, queueing a task cancels it, and
 * its cleanup may lock the lists, to cancel timers. A thread calls this between two tasks that it
 * runs, and in searches. True: timers were taken, but no task was queued, so the caller tries
 * again. */
static bool wsqi_timers_fire_by(wsq_pool *pool, uint64_t now, uint64_t grace) {
    uint64_t next = wsqi_load_hint(&pool->watch.timer_next);
    wsq_task *first = NULL, **end = &first, *task;
    if (next > now) return false;
    bool all = now - next >= grace; /* look at other workers' timers, too */
    unsigned own = (unsigned)(wsqi_timers_own(pool) - pool->timers), count = 0, moves = 0;
    for (unsigned i = 0; i < (all ? pool->workers : 1); i++) {
        wsqi_timers *timers = &pool->timers[(own + i) % pool->workers];
        uint32_t nobody = 0;
        if (wsqi_load_hint(&timers->next) > now - (i == 0 ? 0 : grace)) continue;
        if (grace == 0 && first != NULL) break; /* this thread has work now */
        if (!wsqi_cas_acq(&timers->lock, &nobody, 1u)) continue; /* M1: a try-lock */
        for (; (next = wsqi_timers_open(timers, now)) <= now && count < WSQI_TIMERS_MOST &&
               moves < WSQI_TIMERS_MOVES;
             moves++) {
            if ((task = wsqi_timer_fire(timers)) == NULL) continue;
            count++;
            wsqi_set(end, task);
            end = &task->next;
        }
        wsqi_store_locked(&timers->next, next);
        wsqi_unlock(pool, &timers->lock);
    }
    wsqi_set(end, (wsq_task *)NULL);
    if (all) wsqi_timers_raise(pool);
    bool moved = moves != 0 && first == NULL;
    while ((task = first) != NULL) {
        wsq_pool *home = wsqi_task_pool(task);
        first = wsqi_get(&task->next);
        wsqi_event_here(home, WSQ_EVENT_WAKE, task, WSQ_CAUSE_TIMER);
        /* With one worker, tasks of timers start in the order of their times: not before those that
         * wsqi_keep_watch has put into the global queue. */
        wsqi_worker *self = wsqi_local(home);
        bool here = self == NULL || !wsqi_ordered(self) ||
                    wsqi_lane_empty(&home->lanes[WSQ_NORMAL]);
        wsqi_task_queue(home, here ? self : NULL, task);
    }
    return moved;
}

static bool wsqi_timers_fire(wsq_pool *pool, uint64_t grace) {
    if (WSQI_LIKELY(wsqi_load_hint(&pool->watch.timer_next) == WSQI_NEVER)) return false;
    return wsqi_timers_fire_by(pool, wsqi_clock_ns(), grace);
}

/* where: a value of timer->timers: the address of lists, + 1 if the timer has fired. Returns the
 * address without this mark. */
static wsqi_timers *wsqi_timers_of(void *where) {
    return (wsqi_timers *)((uintptr_t)where & ~(uintptr_t)1);
}

/* Finds the lists of this pool in which the timer is set or has fired; if there are none, chooses
 * those of the calling thread. Locks the lists, marks the timer as set in them, and returns them.
 * NULL: the timer is set in another pool. *where returns what timer->timers was before. */
static wsqi_timers *wsqi_timer_claim(wsq_pool *pool, wsq_timer *timer, void **where) {
    for (;;) {
        *where = wsqi_load_hint(&timer->timers);
        wsqi_timers *timers = wsqi_timers_of(*where);
        uintptr_t offset = (uintptr_t)timers - (uintptr_t)pool->timers;
        /* A timer that fired in a pool which is gone still points to that pool's lists. Their
         * memory may be in use again: the address may lie in the middle of this pool's lists. */
        bool here = offset < pool->workers * sizeof *timers && offset % sizeof *timers == 0;
        if (!here && timers != NULL && *where == timers) return NULL;
        if (!here) timers = wsqi_timers_own(pool);
        wsqi_lock(pool, &timers->lock);
        /* N4: the thread that last fired the timer has finished with it. N3: a thread that cancels
         * the timer sees timers->pool. Pairs with N3 and N4. Failure: try again. */
        if (wsqi_cas_acqrel(&timer->timers, where, timers)) return timers;
        wsqi_unlock(pool, &timers->lock);
    }
}

WSQ_API wsq_result wsq_timer_set(wsq_pool *pool, wsq_timer *timer, wsq_task *task,
                                 uint64_t delay_ns) {
    void *where;
    if (pool == NULL || timer == NULL || task == NULL) return WSQ_ERR_INVALID;
    wsqi_check_task(task);
    if (wsqi_forked(pool)) return WSQ_ERR_FORKED;
    uint64_t at = wsqi_clock_ns();
    at = delay_ns < WSQI_LATEST - at ? at + delay_ns : WSQI_LATEST;
    wsqi_timers *timers = wsqi_timer_claim(pool, timer, &where);
    if (timers == NULL) return WSQ_ERR_INVALID;
    bool set = where == timers, moves = !set || at < wsqi_get(&timer->at);
    if (set && moves) wsqi_timer_unlink(timer);
    wsqi_set(&timer->task, task);
    wsqi_set(&timer->at, at);
    if (moves) wsqi_timer_link(timers, timer); /* else it moves when its list is opened */
    bool first = at < wsqi_load_locked(&timers->next);
    /* N1: either wsqi_timers_lower sees timer_next as wsqi_timers_raise has stored it, and lowers
     * it, or the second look in wsqi_timers_raise sees `at`. Pairs with N2. */
    if (first) wsqi_store_sc(&timers->next, at);
    wsqi_unlock(pool, &timers->lock);
    if (first) wsqi_timers_lower(pool, at);
    return WSQ_OK;
}

WSQ_API bool wsq_timer_cancel(wsq_timer *timer) {
    WSQ_ASSERT("the wsq_timer is NULL" && timer != NULL);
    for (;;) {
        /* N4: if this is NULL, no thread uses the timer any more. (The thread that fired the timer
         * may still be about to queue the task.) Pairs with N3. */
        void *where = wsqi_load_acq(&timer->timers);
        if (where == NULL) return false;
        wsqi_timers *timers = wsqi_timers_of(where);
        bool forked = wsqi_forked(timers->pool), set = where == timers && !forked;
        /* In a child of fork() the lock may stay held, so the timer is only marked as not set. */
        if (!forked) wsqi_lock(timers->pool, &timers->lock);
        bool same = wsqi_load_locked(&timer->timers) == where;
        if (same && set) wsqi_timer_unlink(timer);
        if (same) wsqi_store_rel(&timer->timers, NULL); /* N3: now the timer may be freed. */
        if (!forked) wsqi_unlock(timers->pool, &timers->lock);
        if (same) return set;
    }
}

/* ==========================================================================
 * >>after: the end of a task, and the tasks that wait for it
 * Purpose:   queues a spawned task when its last predecessor ends. An edge, in the caller's memory,
 *            leads from each predecessor to the task, its successor.
 * Invariant: a predecessor's `after` lists the edges to its successors. Each edge is a hold in its
 *            successor's state; to resolve an edge is to take that hold away. An edge is resolved
 *            once: by the thread that ends the predecessor or, if the predecessor has ended before,
 *            by a thread that adds an edge. The thread that ends an AWAITED task closes `after`,
 *            then stores DONE, and does not touch the task any more; then it resolves the edges.
 * Writers:   after: a thread that adds an edge pushes it, and closes `after` if the task has ended;
 *            the thread that ends the task closes it; a spawn or wsqi_task_poison opens it again.
 * Source:    one-shot futures of Rust and Java: the end closes the list of waiters.
 * ========================================================================== */

/* Marks a task as POISONED, so that it does not run, because a predecessor was cancelled. If the
 * task is DONE from its last run, clears DONE: with both bits, that run would look cancelled. */
static void wsqi_task_poison(wsq_task *task) {
    uint32_t state = wsqi_load_hint(&task->state), next;
    do {
        next = state | WSQI_TASK_POISONED;
        if (wsqi_task_is(state, WSQI_TASK_DONE)) next &= ~(uint32_t)WSQI_TASK_DONE;
        /* Relaxed: the caller's next step orders this. It takes a hold away (E3), or counts down a
         * node's predecessors (E7). Failure: decide again. */
    } while (!wsqi_cas_rlx(&task->state, &state, next));
    if (wsqi_task_is(state, WSQI_TASK_DONE)) wsqi_task_reopen(task);
}

#define WSQI_EDGES_MOST 0x3fffffeu /* a state counts holds in 26 bits, and a spawn adds one */

static wsq_poll wsqi_future_run(wsq_ctx ctx, wsq_task *task);

/* Does the end of this task, with this state, cancel its successors? (No, if it is a future.) */
static bool wsqi_task_poisons(const wsq_task *task, uint32_t state) {
    return wsqi_task_cancelled(state) && task->fn != wsqi_future_run;
}

/* Takes a hold from each successor of a task that has ended. edge: the newest of the task's edges;
 * the oldest is resolved first. All these edges may be freed after this. poisons: the successors
 * must not run. */
static void wsqi_edges_resolve(wsq_edge *edge, bool poisons) {
    wsq_edge *oldest = NULL, *next;
    for (; edge != NULL; edge = next) {
        next = wsqi_get(&edge->next);
        wsqi_set(&edge->next, oldest);
        oldest = edge;
    }
    for (edge = oldest; edge != NULL; edge = next) {
        wsq_task *task = edge->task;
        next = wsqi_get(&edge->next);
        if (poisons) wsqi_task_poison(task);
        wsqi_task_let_go(task, WSQI_HOLD_COUNTED);
    }
}

/* Closes the task's `after`: no edge can be added until wsqi_task_reopen. Returns its edges. */
static wsq_edge *wsqi_task_close(wsq_task *task) {
    /* E4: the edges are visible. Pairs with E5. */
    void *edges = wsqi_xchg_acq(&task->after, WSQI_CLOSED);
    return edges != WSQI_CLOSED ? (wsq_edge *)edges : NULL;
}

/* Marks the task as AWAITED, so that the thread that ends it looks for edges and waiting threads.
 * Returns the task's state. If that is DONE, the task had ended before. */
static uint32_t wsqi_task_attend(wsq_task *task) {
    for (;;) {
        /* T1, W3: a done task's result, or a spawned task's pool, is visible. Pairs with T2, T6. */
        uint32_t state = wsqi_load_acq(&task->state);
        if (wsqi_task_is(state, WSQI_TASK_DONE) || (state & WSQI_TASK_AWAITED)) return state;
        /* Relaxed: the thread that ends the task sees an edge by E5, and a waiting thread by the
         * bucket's lock. Failure: retried. */
        if (wsqi_cas_rlx(&task->state, &state, state | WSQI_TASK_AWAITED)) return state;
    }
}

/* Adds the edge to the task's `after`, and returns 0. Or, if the task is done, only returns its
 * state, which is not 0. (The state may be old if another thread is spawning the task again.) */
static uint32_t wsqi_edge_push(wsq_edge *edge, wsq_task *task) {
    void *head = wsqi_load_hint(&task->after);
    for (;;) {
        uint32_t state = wsqi_load_acq(&task->state); /* T1: a done task's result is visible */
        if (wsqi_task_is(state, WSQI_TASK_DONE)) return state;
        if (head == WSQI_CLOSED) { /* soon the task is done, or `after` is open again */
            wsqi_pause();
            head = wsqi_load_hint(&task->after);
            continue;
        }
        wsqi_set(&edge->next, (wsq_edge *)head);
        /* E5: the thread that ends the task sees the edge. If a spawn has just opened `after`, this
         * thread sees that the task is spawned. Pairs with E4 and E6. Failure: retried. */
        if (wsqi_cas_acqrel(&task->after, &head, edge)) return 0;
    }
}

/* Lets the edge begin at this task. The task's end will resolve the edge. If the task has ended
 * already, this function resolves the edge. */
static void wsqi_edge_link(wsq_edge *edge, wsq_task *task) {
    uint32_t state = wsqi_edge_push(edge, task);
    if (state != 0) {
        wsqi_set(&edge->next, (wsq_edge *)NULL);
    } else {
        state = wsqi_task_attend(task);
        if (!wsqi_task_is(state, WSQI_TASK_DONE)) return;
        /* The task has ended. If it was not AWAITED then, its end resolved no edges, and this
         * thread does. Else the list is closed, and no edge is left. */
        edge = wsqi_task_close(task);
    }
    wsqi_edges_resolve(edge, wsqi_task_poisons(task, state));
}

WSQ_API wsq_result wsq_task_after(wsq_task *task, wsq_task *predecessor, wsq_edge *edge) {
    if (task == NULL || predecessor == NULL || edge == NULL || task == predecessor)
        return WSQ_ERR_INVALID;
    wsqi_check_task(task);
    wsqi_check_task(predecessor);
    if (wsqi_task_is_node(task)) return WSQ_ERR_INVALID;
    uint32_t state = wsqi_load_hint(&task->state);
    do {
        if (wsqi_task_live(state) || state / WSQI_TASK_HOLD >= WSQI_EDGES_MOST)
            return WSQ_ERR_INVALID;
        /* Relaxed: the spawn changes the same word, so it sees the hold. Failure: decide again. */
    } while (!wsqi_cas_rlx(&task->state, &state, state + WSQI_TASK_HOLD));
    edge->task = task;
    wsqi_edge_link(edge, predecessor);
    return WSQ_OK;
}

/* ---- the end of a task ---- */

/* Ends a task as wsqi_task_finish does, whatever bits its state has. If the task is AWAITED,
 * resolves its edges, and calls the threads that wait for the task. */
WSQI_COLD static void wsqi_task_finish_slow(wsq_pool *pool, wsq_task *task, uint32_t state) {
    uint32_t former = wsqi_load_hint(&task->state);
    while ((former & WSQI_TASK_AWAITED) == 0)
        /* T2: a thread that sees DONE sees what the task did (T1, W3). Failure: decide again. */
        if (wsqi_cas_rel(&task->state, &former, state)) return;
    bool poisons = wsqi_task_poisons(task, state);
    wsq_edge *edges = wsqi_task_close(task);
    /* T2: a thread that sees DONE sees what the task did, and may free the task. */
    wsqi_store_rel(&task->state, state);
    wsqi_edges_resolve(edges, poisons);
    wsqi_call(pool, task);
}

/* Ends a task that no other thread runs or queues. state: DONE, or DONE with POISONED. After this
 * call the task's memory may be gone. */
WSQI_HOT void wsqi_task_finish(wsq_pool *pool, wsq_task *task, uint32_t state) {
    uint32_t former = WSQI_TASK_ACTIVE; /* mostly no other bit is set */
    /* T2: a thread that sees DONE sees what the task did (T1, W3). Failure: more bits are set. */
    if (!WSQI_LIKELY(wsqi_cas_rel(&task->state, &former, state)))
        wsqi_task_finish_slow(pool, task, state);
}

/* ==========================================================================
 * >>spawn: how a task becomes counted, claimed and queued
 * Purpose:   gives a task to a pool. A spawn that is refused leaves everything as it was.
 * Invariant: a task is counted and claimed before it is queued, so it is counted before it can
 *            finish. A worker's plain task: claim, count, queue (wsqi_spawn_plain). A plain task
 *            from outside, and a batch: count (wsqi_spawn_begin), claim all, queue; if a claim
 *            fails, wsqi_spawn_undo takes the count back. Any other task: the same with one hold
 *            more (wsqi_task_reserve); the thread that takes the last hold away queues it.
 * Writers:   counters.spawned: each worker its own. A lane's `outside`: any thread, by
 *            read-modify-write.
 * Source:    Tokio's OwnedTasks, which a shutdown closes; here one word is the count and the bit.
 * ========================================================================== */

/* Counts tasks that a thread outside spawns. False: the pool takes no more. Each lane of the global
 * queue has a count of its own, `outside`, on the cache line that the push writes anyway. It
 * changes by compare-and-swap: after an addition to a closed lane, the count would be too high
 * until that addition is undone. */
static bool wsqi_admit(wsq_pool *pool, uint64_t count) {
    wsqi_a64 *word = &wsqi_lane_own(pool)->outside;
    uint64_t outside = wsqi_load_hint(word);
    do {
        /* A thread inside a task or job may spawn while the pool drains, as a worker may. */
        if ((outside & 1) &&
            (wsqi_load_hint(pool->phase) != WSQI_PHASE_RUN || !wsqi_is_in_job(pool)))
            return false;
        /* Relaxed: the closed bit and the count are one word, so a shutdown that sets the bit also
         * sees this addition, and waits for the tasks. G1 and P1 order what the tasks do. */
    } while (!wsqi_cas_rlx(word, &outside, outside + 2 * count));
    return true;
}

/* Closes all lanes of the global queue to tasks from outside. */
static void wsqi_admit_none(wsq_pool *pool) {
    for (unsigned i = 0; i < pool->global_lanes; i++) {
        wsqi_a64 *word = &wsqi_global_lane(pool, i)->outside;
        uint64_t outside = wsqi_load_hint(word);
        /* Relaxed: the bit and the count are one word, so each spawn is in the count before the bit
         * is set, or sees the bit. */
        while (!(outside & 1) && !wsqi_cas_rlx(word, &outside, outside + 1)) {}
    }
}

/* Counts tasks as spawned, before they can finish. self: the calling thread's worker in this pool,
 * or NULL. Returns an error, and counts none, if the pool takes no more tasks. */
static inline wsq_result wsqi_spawn_begin(wsq_pool *pool, wsqi_worker *self, uint64_t count) {
    if (self != NULL ? wsqi_load_hint(pool->phase) != WSQI_PHASE_RUN
                     : wsqi_forked(pool) || !wsqi_admit(pool, count))
        return wsqi_refusal(pool);
    if (self != NULL) wsqi_count(&self->counters.spawned, count);
    return WSQ_OK;
}

/* Takes back what wsqi_spawn_begin has counted, because a task cannot be claimed. Calls threads in
 * wsq_pool_wait, which may have seen the count. A worker does not put this off until its next
 * search, because that may come late: the worker may be in the driver's dispatch function, or in a
 * long job of a wsq_run. */
static wsq_result wsqi_spawn_undo(wsq_pool *pool, wsqi_worker *self, uint64_t count) {
    if (self != NULL)
        wsqi_count(&self->counters.spawned, 0u - count);
    else /* Relaxed: none of these tasks has run, so a waiter needs to see only the count, and W4 in
          * wsqi_check_quiet orders that. */
        wsqi_add_rlx(&wsqi_lane_own(pool)->outside, 0u - 2 * count);
    wsqi_check_quiet(pool);
    return WSQ_ERR_INVALID;
}

/* Claims and counts the task, and adds a hold, so that only wsqi_task_let_go queues the task. */
static wsq_result wsqi_task_reserve(wsq_pool *pool, wsq_task *task, void *home) {
    wsqi_worker *self = wsqi_local(pool);
    uint32_t state = wsqi_load_hint(&task->state);
    if (!wsqi_flags_fit(pool, task)) return WSQ_ERR_INVALID;
    uint32_t hold = WSQI_TASK_HOLD + wsqi_task_open(task);
    wsq_result result = wsqi_spawn_begin(pool, self, 1);
    if (result != WSQ_OK) return result;
    if (!wsqi_task_claim(task, &state, home, hold)) return wsqi_spawn_undo(pool, self, 1);
    wsqi_task_unpin(task);
    /* A task of wsq_group_then or wsq_future_then is no longer in the group that
     * wsq_task_set_group has set. */
    if (home == (void *)pool) wsqi_task_flag(task, WSQI_FLAG_GROUPED, 0);
    return WSQ_OK;
}

/* The thread that has reserved the task sends the SPAWN event. Relaxed: other threads can only take
 * holds away now. So `others` may be too high, but a zero stays zero. */
static wsqi_hold wsqi_spawn_report(wsq_pool *pool, const wsq_task *task) {
    uint32_t others = wsqi_load_rlx(&task->state) / WSQI_TASK_HOLD - 1;
    wsqi_event_here(pool, WSQ_EVENT_SPAWN, task, others);
    return others != 0 ? WSQI_HOLD_REPORTED : WSQI_HOLD_NONE;
}

/* The thread that has reserved the task takes its own hold away. If other holds are left, it then
 * counts the task in pool.held. (If it counted first, a task without other holds would be counted
 * for a moment, and wsqi_stuck could report that the task waits for ever.) */
static void wsqi_spawn_end(wsq_pool *pool, wsq_task *task, wsqi_hold hold) {
    if (wsqi_task_let_go(task, hold)) return;
    wsqi_add_hint(&pool->held, (uint64_t)1);
    /* A task that runs on this thread is not held, so the pool is not stuck. The thread looks when
     * it runs dry. (It need not look here for each held task: that reads the blocks of all.) */
    const wsqi_worker *self = wsqi_local(pool);
    if (self == NULL || self->frame.task == NULL) wsqi_check_quiet(pool);
}

/* Does the work of wsqi_spawn_plain for a thread outside the pool. */
static wsq_result wsqi_spawn_outside(wsq_pool *pool, wsq_task *task, uint32_t state, void *home) {
    wsq_result result = wsqi_spawn_begin(pool, NULL, 1);
    if (result != WSQ_OK) return result;
    if (!wsqi_task_claim(task, &state, home, 0)) return wsqi_spawn_undo(pool, NULL, 1);
    wsqi_push_global(pool, task, task);
    return WSQ_OK;
}

/* Is the task plain: no predecessors (holds in `state`), no flags, and no hook for SPAWN events? */
static inline bool wsqi_task_plain(const wsq_pool *pool, uint32_t flags, uint32_t state) {
    return WSQI_LIKELY((flags | state / WSQI_TASK_HOLD) == 0) &&
           !wsqi_hooked(pool, 1u << WSQ_EVENT_SPAWN);
}

/* Spawns a plain task (wsqi_task_plain). home: see wsqi_task_home. (wsqi_spawn_outside is a
 * function of its own to make this one shorter: bench `spawn` takes 165 instructions, not 172.) */
WSQI_HOT wsq_result wsqi_spawn_plain(wsq_pool *pool, wsq_task *task, uint32_t state, void *home) {
    wsqi_worker *self = wsqi_local(pool);
    if (self == NULL) return wsqi_spawn_outside(pool, task, state, home);
    if (wsqi_load_hint(pool->phase) != WSQI_PHASE_RUN) return wsqi_refusal(pool);
    if (!wsqi_task_claim(task, &state, home, 0)) return WSQ_ERR_INVALID;
    wsqi_count(&self->counters.spawned, 1);
    wsqi_push_local(self, task);
    wsqi_notify_pushed(self);
    return WSQ_OK;
}

/* Spawns any task, also one that is not plain (wsqi_task_plain). pin: the flags for a pin, or 0. */
WSQI_COLD static wsq_result wsqi_spawn_slow(wsq_pool *pool, wsq_task *task, void *home,
                                            uint32_t pin) {
    wsq_result result = wsqi_task_reserve(pool, task, home);
    if (result != WSQ_OK) return result;
    /* The pin must be set before wsqi_spawn_end queues the task. */
    if (pin != 0) wsqi_task_flag(task, WSQI_FLAGS_PIN, pin);
    wsqi_spawn_end(pool, task, wsqi_spawn_report(pool, task));
    return WSQ_OK;
}

/* Spawns the task into the group. pin: the flags for a pin of wsq_spawn_on, or 0. */
static wsq_result wsqi_spawn_into(wsq_group *group, wsq_task *task, uint32_t pin) {
    wsq_pool *pool = group->pool;
    void *home = (char *)group + 1;
    uint32_t state = wsqi_load_hint(&task->state);
    uint32_t flags = wsqi_load_own(&task->flags) & ~(uint32_t)WSQI_FLAG_GROUPED;
    if (wsq_group_cancelled(group)) return WSQ_ERR_CANCELLED;
    wsqi_group_up(group);
    wsq_result result = wsqi_task_plain(pool, flags | pin, state)
                            ? wsqi_spawn_plain(pool, task, state, home)
                            : wsqi_spawn_slow(pool, task, home, pin);
    if (result != WSQ_OK) wsqi_group_down(pool, group, 1, 0);
    return result;
}

WSQ_API wsq_result wsq_spawn(wsq_pool *pool, wsq_task *task) {
    if (pool == NULL || task == NULL || task->fn == NULL) return WSQ_ERR_INVALID;
    wsqi_check_task(task);
    uint32_t state = wsqi_load_hint(&task->state);
    if (wsqi_task_plain(pool, wsqi_load_own(&task->flags), state)) /* no flags, so no group */
        return wsqi_spawn_plain(pool, task, state, pool);
    wsq_group *group = wsqi_task_grouped(task);
    if (group == NULL) return wsqi_spawn_slow(pool, task, pool, 0);
    return group->pool == pool ? wsqi_spawn_into(group, task, 0) : WSQ_ERR_INVALID;
}

WSQ_API wsq_result wsq_spawn_on(wsq_pool *pool, unsigned worker, wsq_task *task) {
    if (pool == NULL || task == NULL || task->fn == NULL) return WSQ_ERR_INVALID;
    wsqi_check_pool(pool);
    wsqi_check_task(task);
    if (worker >= pool->workers) return WSQ_ERR_INVALID;
    uint32_t pin = WSQI_FLAG_PINNED | WSQI_FLAG_ONCE | (uint32_t)worker << WSQI_FLAG_INDEX_AT;
    wsq_group *group = wsqi_task_grouped(task);
    if (group == NULL) return wsqi_spawn_slow(pool, task, pool, pin);
    return group->pool == pool ? wsqi_spawn_into(group, task, pin) : WSQ_ERR_INVALID;
}

WSQ_API wsq_result wsq_group_spawn(wsq_group *group, wsq_task *task) {
    if (group == NULL || task == NULL || task->fn == NULL) return WSQ_ERR_INVALID;
    wsqi_check_group(group);
    wsqi_check_task(task);
    return wsqi_spawn_into(group, task, 0);
}

WSQ_API wsq_result wsq_group_then(wsq_group *group, wsq_task *task) {
    if (group == NULL || task == NULL || task->fn == NULL) return WSQ_ERR_INVALID;
    wsqi_check_group(group);
    wsqi_check_task(task);
    wsq_pool *pool = group->pool;
    wsq_result result = wsqi_task_reserve(pool, task, pool);
    if (result != WSQ_OK) return result;
    /* K4: if the group is done, `task` sees what the group's tasks did. Pairs with K3. */
    if (wsqi_load_acq(&group->word) < WSQI_GROUP_TASK) {
        wsqi_spawn_end(pool, task, wsqi_spawn_report(pool, task));
        return WSQ_OK;
    }
    /* One more hold keeps the task from running until this function is done with the group, which
     * the task may free. Relaxed: a thread that takes a hold away changes the same word (E3), so it
     * counts this hold, too. */
    wsqi_add_rlx(&task->state, (uint32_t)WSQI_TASK_HOLD);
    wsqi_hold hold = wsqi_spawn_report(pool, task);
    wsqi_group_up(group); /* so that the group does not end before `then` has the task */
    wsqi_chain_push(&group->then, task, task);
    /* K3: the thread that ends the group sees the task in `then`. */
    wsqi_or_acqrel(&group->word, (uint64_t)WSQI_GROUP_THEN);
    wsqi_group_down(pool, group, 1, 0);
    wsqi_spawn_end(pool, task, hold);
    return WSQ_OK;
}

/* ---- batches: all tasks of an array, or none ---- */

/* While a batch is claimed, `next` of each task keeps the address of the group that
 * wsq_task_set_group has set (0: none), and these bits of its former state. */
enum { WSQI_FORMER_DONE = 1, WSQI_FORMER_POISONED = 2 };

/* Claims one task of a batch, and counts it in `group` or, if that is NULL, in the group that
 * wsq_task_set_group has set. Returns false if this task cannot be spawned. */
static bool wsqi_claim_one(wsq_pool *pool, wsq_group *group, wsq_task *task) {
    if (task == NULL || task->fn == NULL) return false;
    wsqi_check_task(task);
    wsq_group *own = wsqi_task_grouped(task);
    if (group == NULL) group = own;
    uint32_t state = wsqi_load_hint(&task->state);
    void *home = group != NULL ? (void *)((char *)group + 1) : (void *)pool;
    if (state >= WSQI_TASK_HOLD || !wsqi_flags_fit(pool, task)) return false;
    if (group != NULL && (group->pool != pool || wsq_group_cancelled(group))) return false;
    if (group != NULL) wsqi_group_up(group);
    if (wsqi_task_claim(task, &state, home, wsqi_task_open(task))) {
        /* wsqi_unclaim_one reads here what the task was before. */
        uintptr_t former = (uintptr_t)own;
        if (wsqi_task_is(state, WSQI_TASK_DONE)) former |= WSQI_FORMER_DONE;
        if ((state & WSQI_TASK_POISONED) != 0) former |= WSQI_FORMER_POISONED;
        wsqi_set(&task->next, (wsq_task *)former);
        return true;
    }
    if (group != NULL) wsqi_group_down(pool, group, 1, 0);
    return false;
}

/* Undoes wsqi_claim_one for a refused batch: resets the task's group and state, and calls its
 * waiters. */
static void wsqi_unclaim_one(wsq_pool *pool, wsq_task *task) {
    wsq_group *group = wsqi_task_group(task);
    uintptr_t kept = (uintptr_t)wsqi_get(&task->next);
    uintptr_t own = kept & ~(uintptr_t)(WSQI_FORMER_DONE | WSQI_FORMER_POISONED);
    uint32_t former = (kept & WSQI_FORMER_POISONED) != 0 ? (uint32_t)WSQI_TASK_POISONED : 0;
    uint32_t state = wsqi_load_hint(&task->state);
    if (own != 0) wsq_task_set_group(task, (wsq_group *)own);
    if ((kept & WSQI_FORMER_DONE) != 0) {
        wsqi_task_finish(pool, task, WSQI_TASK_DONE | former);
    } else {
        /* T2, T6: this drops a wake that came since the claim. The task's next spawn sees what the
         * waker wrote, and what this thread wrote. Failure: relaxed, try again. */
        while (!wsqi_cas_acqrel(&task->state, &state, former | (state & WSQI_TASK_AWAITED))) {}
        if (state & WSQI_TASK_AWAITED) wsqi_call(pool, task);
    }
    if (group != NULL) wsqi_group_down(pool, group, 1, 0);
}

/* Queues the claimed tasks, and notifies. A worker puts plain ones into its own queue. The first
 * that does not fit there, and all after it, go to the global queue as one chain; those of a thread
 * outside all do. A queued task may run and be freed immediately. */
static void wsqi_queue_batch(wsq_pool *pool, wsq_task **tasks, size_t count) {
    wsqi_worker *self = wsqi_local(pool);
    wsq_task *newest = NULL, *oldest = NULL;
    bool some = false;
    for (size_t i = 0; i < count; i++) {
        wsqi_task_unpin(tasks[i]);
        wsqi_event_here(pool, WSQ_EVENT_SPAWN, tasks[i], 0);
        if (wsqi_task_queue_flags(tasks[i]) != 0) {
            wsqi_queue_special(pool, tasks[i]);
            continue;
        }
        if (self != NULL && oldest == NULL && wsqi_queue_push(self, tasks[i])) some = true;
        else wsqi_chain_add(&newest, &oldest, tasks[i]);
    }
    if (newest != NULL && self != NULL && wsqi_ordered(self)) wsqi_order_keep(self);
    if (newest != NULL) wsqi_push_global(pool, newest, oldest);
    else if (some) wsqi_notify_others(self);
}

/* Spawns all tasks. If one of them cannot be spawned, spawns none. */
static wsq_result wsqi_spawn_batch(wsq_pool *pool, wsq_group *group, wsq_task **tasks,
                                   size_t count) {
    if (pool == NULL || (tasks == NULL && count > 0)) return WSQ_ERR_INVALID;
    if (count == 0) return WSQ_OK;
    wsqi_worker *self = wsqi_local(pool);
    wsq_result result = wsqi_spawn_begin(pool, self, count);
    if (result != WSQ_OK) return result;
    for (size_t i = 0; i < count; i++) {
        if (wsqi_claim_one(pool, group, tasks[i])) continue;
        while (i-- > 0) wsqi_unclaim_one(pool, tasks[i]);
        return wsqi_spawn_undo(pool, self, count);
    }
    wsqi_queue_batch(pool, tasks, count);
    return WSQ_OK;
}

WSQ_API wsq_result wsq_spawn_batch(wsq_pool *pool, wsq_task **tasks, size_t count) {
    return wsqi_spawn_batch(pool, NULL, tasks, count);
}

WSQ_API wsq_result wsq_group_spawn_batch(wsq_group *group, wsq_task **tasks, size_t count) {
    if (group == NULL) return WSQ_ERR_INVALID;
    wsqi_check_group(group);
    wsq_result result = wsqi_spawn_batch(group->pool, group, tasks, count);
    return result == WSQ_ERR_INVALID && wsq_group_cancelled(group) ? WSQ_ERR_CANCELLED : result;
}

/* ==========================================================================
 * >>graph: nodes that run in the same order again and again
 * Purpose:   runs the nodes of a graph, each after its predecessors, as often as the user asks.
 * Invariant: `left` of a node is the number of its predecessors that have not ended in this run.
 *            The thread that ends the last of them sets `left` for the next run, and queues the
 *            node. The graph's group counts all nodes from the start of a run to their ends.
 * Writers:   left: the threads that end the predecessors. Everything else: the user's thread,
 *            between runs.
 * Source:    Taskflow. Kahn's algorithm (1962) finds circles.
 * ========================================================================== */

/* Claims a node's task for a run: no predecessor of the node is left. The caller must queue it. */
static void wsqi_node_claim(wsq_pool *pool, wsq_task *task) {
    uint32_t state = wsqi_load_hint(&task->state);
    void *home = wsqi_load_own(&task->pool); /* wsq_graph_add wrote it */
    (void)wsqi_task_claim(task, &state, home, wsqi_task_open(task));
    wsqi_event_here(pool, WSQ_EVENT_SPAWN, task, 0);
}

/* A node's task has ended. Starts the node's successors that wait for no other predecessor. The
 * caller counts the end in the group only after this, because at count zero the graph may be freed.
 * poisons: the task was cancelled, so its successors must not run. */
static void wsqi_node_end(wsq_pool *pool, wsqi_worker *self, wsq_task *task, bool poisons) {
    const wsq_edge *edge = wsq_container_of(task, wsq_node, task)->edges;
    for (; edge != NULL; edge = wsqi_get(&edge->next)) {
        wsq_node *node = wsq_container_of(edge->task, wsq_node, task);
        if (poisons) wsqi_task_poison(&node->task);
        /* E7: the node's run sees what its predecessors did. Pairs with itself. If `left` is 1,
         * this is the last predecessor to end. So no other thread changes `left` any more, and the
         * load is enough. */
        if (wsqi_load_acq(&node->left) != 1 && wsqi_add_acqrel(&node->left, 0u - 1u) != 1) continue;
        wsqi_store_hint(&node->left, node->predecessors); /* for the graph's next run */
        wsqi_node_claim(pool, &node->task);
        wsqi_task_queue(pool, self, &node->task);
    }
}

WSQ_API wsq_result wsq_graph_init(wsq_graph *graph, wsq_pool *pool) {
    if (graph == NULL || pool == NULL) return WSQ_ERR_INVALID;
    graph->first = NULL;
    graph->count = 0;
    graph->checked = false;
    return wsq_group_init(&graph->group, pool);
}

WSQ_API wsq_result wsq_graph_add(wsq_graph *graph, wsq_node *node, wsq_task_fn fn) {
    if (graph == NULL || node == NULL || fn == NULL) return WSQ_ERR_INVALID;
    if (wsq_group_pending(&graph->group) != 0) return WSQ_ERR_INVALID;
    wsq_task_init(&node->task, fn);
    wsq_task_set_group(&node->task, &graph->group);
    wsqi_task_flag(&node->task, 0, WSQI_FLAG_NODE);
    node->edges = NULL;
    node->next = graph->first;
    node->predecessors = 0;
    graph->first = node;
    graph->count++;
    graph->checked = false;
    return WSQ_OK;
}

WSQ_API wsq_result wsq_node_after(wsq_node *node, wsq_node *predecessor, wsq_edge *edge) {
    if (node == NULL || predecessor == NULL || edge == NULL || node == predecessor)
        return WSQ_ERR_INVALID;
    wsqi_check_task(&node->task);
    wsqi_check_task(&predecessor->task);
    wsq_group *group = wsqi_task_grouped(&node->task);
    if (group == NULL || group != wsqi_task_grouped(&predecessor->task) ||
        wsq_group_pending(group) != 0)
        return WSQ_ERR_INVALID;
    if (node->predecessors >= WSQI_EDGES_MOST) return WSQ_ERR_INVALID;
    edge->task = &node->task;
    wsqi_set(&edge->next, predecessor->edges);
    predecessor->edges = edge;
    node->predecessors++;
    wsq_container_of(group, wsq_graph, group)->checked = false;
    return WSQ_OK;
}

/* Lists the nodes without predecessors in graph->start, and counts the nodes that a run would
 * reach. Also sets `left` of each node to the number of its predecessors. False: a run would not
 * reach all nodes, because some follow each other in a circle; or a node was added twice, so the
 * list of nodes has no end. */
static bool wsqi_graph_check(wsq_graph *graph) {
    wsq_task *reached = NULL; /* tasks that a run would start, linked by `next` */
    uint64_t count = 0, listed = 0;
    graph->start = NULL;
    for (wsq_node *node = graph->first; node != NULL; node = node->next) {
        if (listed++ == graph->count) return false;
        wsqi_store_init(&node->left, node->predecessors);
        if (node->predecessors != 0) continue;
        node->next_start = graph->start;
        graph->start = node;
        wsqi_set(&node->task.next, reached);
        reached = &node->task;
    }
    for (; reached != NULL; count++) {
        const wsq_edge *edge = wsq_container_of(reached, wsq_node, task)->edges;
        reached = wsqi_get(&reached->next);
        for (; edge != NULL; edge = wsqi_get(&edge->next)) {
            wsq_node *node = wsq_container_of(edge->task, wsq_node, task);
            uint32_t left = wsqi_load_own(&node->left) - 1;
            wsqi_store_init(&node->left, left != 0 ? left : node->predecessors);
            if (left != 0) continue;
            wsqi_set(&edge->task->next, reached);
            reached = edge->task;
        }
    }
    return graph->checked = count == graph->count;
}

/* Queues the nodes without predecessors; a thread outside queues them as one chain, except those
 * with a priority or a pin. Once the last node is queued, all tasks may end, and then the graph may
 * be freed. So this function reads neither nodes nor graph after that. */
static void wsqi_graph_start(wsq_pool *pool, wsqi_worker *self, wsq_graph *graph) {
    wsq_task *newest = NULL, *oldest = NULL, *task;
    for (wsq_node *node = graph->start, *next; node != NULL; node = next) {
        next = node->next_start;
        task = &node->task;
        wsqi_node_claim(pool, task);
        if (self != NULL || wsqi_task_queue_flags(task) != 0) wsqi_task_queue(pool, self, task);
        else wsqi_chain_add(&newest, &oldest, task);
    }
    if (newest != NULL) wsqi_push_global(pool, newest, oldest);
}

WSQ_API wsq_result wsq_graph_run(wsq_graph *graph) {
    if (graph == NULL) return WSQ_ERR_INVALID;
    wsqi_check_group(&graph->group);
    wsq_pool *pool = graph->group.pool;
    wsqi_worker *self = wsqi_local(pool);
    uint64_t word = wsqi_load_hint(&graph->group.word), count = graph->count;
    if (wsq_group_cancelled(&graph->group)) return WSQ_ERR_CANCELLED;
    do {
        if (word >= WSQI_GROUP_TASK) return WSQ_ERR_INVALID;
        /* K4: this run sees what the graph's last run did. Pairs with K3. Failure: decide again. */
    } while (!wsqi_cas_acq(&graph->group.word, &word, word + count * WSQI_GROUP_TASK));
    bool sound = graph->checked || wsqi_graph_check(graph);
    wsq_result result = sound ? wsqi_spawn_begin(pool, self, count) : WSQ_ERR_INVALID;
    if (result == WSQ_OK) wsqi_graph_start(pool, self, graph);
    else if (count != 0) wsqi_group_down(pool, &graph->group, count, 0);
    return result;
}

/* ==========================================================================
 * >>cancel: a task that ends without a run
 * Purpose:   ends a task that was cancelled, whose group was cancelled, or whose pool stops.
 * Invariant: only the thread that has taken the task out of its queue cancels it. It calls the
 *            task's cleanup, ends the task, takes holds from the successors, and last counts the
 *            end: after that wsq_pool_wait may return.
 * Writers:   dropped: any thread. duty.frame: the thread in wsqi_sweep.
 * Source:    the drop of a future, in Rust.
 * ========================================================================== */

/* Counts the end of a cancelled task. This comes last: after it wsq_pool_wait may return. */
static void wsqi_count_dropped(wsq_pool *pool) {
    wsqi_add_acqrel(&pool->dropped, 1u); /* P1: a reader of `dropped` sees what the cleanup did. */
}

/* Is this thread in wsqi_sweep, in a task's cleanup? */
static bool wsqi_sweeps(const wsq_pool *pool) {
    uint64_t key = (uint64_t)wsqi_thread_key(); /* 0: the platform has none */
    return key != 0 && wsqi_load_hint(&pool->duty.sweeper) == key;
}

/* Calls the task's cleanup, if it has one. True: it returned WSQ_GONE. Meanwhile a frame names the
 * task's group, so that a shutdown does not end a wait for it (wsqi_group_runs): the frame of this
 * thread's block; for a thread that sweeps and has no block, a new one in pool->duty.frame. */
static bool wsqi_cleanup_run(wsq_pool *pool, wsq_task *task, wsq_group *group) {
    if (task->cleanup == NULL) return false;
    wsqi_worker *block = wsqi_inside(pool);
    wsqi_frame frame = WSQI_INIT, *top = block != NULL ? &block->frame : &frame;
    bool sweeps = block == NULL && wsqi_sweeps(pool);
    wsq_group *former = top->group;
    top->group = group;
    if (sweeps) {
        frame.outer = pool->duty.frame;
        pool->duty.frame = &frame;
    }
    bool gone = task->cleanup(task) == WSQ_GONE;
    if (sweeps) pool->duty.frame = frame.outer;
    top->group = former;
    return gone;
}

/* Ends a task without a run. The caller has taken the task out of its queue. */
static void wsqi_cancel_task(wsq_pool *pool, wsq_task *task) {
    wsq_group *group = wsqi_task_group(task);
    bool is_node = wsqi_task_is_node(task), is_future = task->fn == wsqi_future_run;
    /* T5: the cleanup sees what the canceller and all wakers did before. Pairs with T4. */
    (void)wsqi_load_acq(&task->state);
    /* A future's cleanup sends this event, and counts the end. */
    if (!is_future) wsqi_event_here(pool, WSQ_EVENT_CANCEL, task, 0);
    if (!wsqi_cleanup_run(pool, task, group))
        wsqi_task_finish(pool, task, WSQI_TASK_DONE | WSQI_TASK_POISONED);
    if (is_node) wsqi_node_end(pool, wsqi_local(pool), task, true);
    if (group != NULL) wsqi_group_down(pool, group, 1, WSQI_GROUP_CANCELLED);
    if (!is_future) wsqi_count_dropped(pool);
}

/* ---- what is left in the lanes of a pool that stops ---- */

/* The n-th lane of the pool; the inboxes come last. NULL: there are not that many. */
static wsqi_lane *wsqi_lane_nth(wsq_pool *pool, unsigned n) {
    unsigned lanes = WSQ_LOW + pool->global_lanes;
    if (n < lanes) return &pool->lanes[n];
    return n - lanes < pool->workers ? &wsqi_block(pool, n - lanes)->inbox : NULL;
}

static bool wsqi_lanes_hold(wsq_pool *pool) {
    wsqi_lane *lane;
    for (unsigned n = 0; (lane = wsqi_lane_nth(pool, n)) != NULL; n++)
        if (!wsqi_lane_empty(lane)) return true;
    return false;
}

/* Cancels the lane's tasks, one at a time: if a task's cleanup waits for others, this thread
 * cancels these in that wait (wsqi_await). */
static void wsqi_cancel_lane(wsq_pool *pool, wsqi_lane *lane) {
    uint32_t left;
    while (!wsqi_lane_empty(lane)) {
        wsq_task *task = wsqi_lane_take(pool, lane, 1, &left);
        if (task != NULL) wsqi_cancel_task(pool, task);
        else wsqi_pause(); /* another thread has the lane's lock */
    }
}

static void wsqi_cancel_lanes(wsq_pool *pool) {
    wsqi_lane *lane;
    for (unsigned n = 0; (lane = wsqi_lane_nth(pool, n)) != NULL; n++) wsqi_cancel_lane(pool, lane);
}

/* ==========================================================================
 * >>run: one run of a task, and its end
 * Purpose:   calls the task's function, and acts on its result: DONE, PENDING, YIELD or GONE.
 * Invariant: only the thread that took a task out of its queue runs or ends it. (Exceptions: a
 *            refused batch ends its tasks before they are queued. The thread that claims a future
 *            may call or cancel it while its entry is queued: >>future.)
 * Writers:   state: the thread that runs or ends the task (all writers: see >>task).
 * ========================================================================== */

/* The owner queues a task that yielded, or that was woken or cancelled while it ran: at the end of
 * its ring; or in the first lane of the global queue, if the ring is full or not in use, or if the
 * task would run next although tasks wait in that lane. If the task runs next from the ring, this
 * does not notify. The owner notifies only if it does something else first: before an urgent task
 * (wsqi_take_special), before it blocks (wsqi_permit_give), or after a step in the middle of
 * another task (wsqi_step_in_frame). */
static void wsqi_requeue(wsqi_worker *self, wsq_task *task) {
    wsq_pool *pool = self->pool;
    if (!WSQI_LIKELY(wsqi_task_queue_flags(task) == 0)) {
        wsqi_queue_special(pool, task);
        return;
    }
    /* Will the task run next? (If a thief empties the slot just now, a needless notify follows.) */
    bool next = self->turn.left != 0 && wsqi_queue_length(self) == 0 &&
                wsqi_load_hint(&self->lifo) == NULL;
    bool here = self->order < WSQ_SHARED && (!next || wsqi_lane_empty(&pool->lanes[WSQ_NORMAL]));
    if (!here || !wsq_ring_push(&self->ring, task)) {
        wsqi_lane_add(&pool->lanes[WSQ_NORMAL], task);
        next = false;
    }
    if (!next) wsqi_notify_others(self);
}

/* The task has returned WSQ_PENDING. Lets it wait, or queues it if it was woken or cancelled. */
WSQI_HOT void wsqi_task_pend(wsqi_worker *self, wsq_task *task) {
    uint32_t state = wsqi_load_hint(&task->state);
    while ((state & (WSQI_TASK_WOKEN | WSQI_TASK_POISONED)) == 0) {
        /* Clears ACTIVE, sets PENDING. T3: the waker, and so the task's next run, sees what the
         * task did. Pairs with T4. Failure: another thread has set a bit; decide again. */
        if (wsqi_cas_rel(&task->state, &state, state + (WSQI_TASK_PENDING - WSQI_TASK_ACTIVE)))
            return;
    }
    wsqi_event(self, WSQ_EVENT_WAKE, task, WSQ_CAUSE_EARLY);
    wsqi_requeue(self, task);
}

WSQI_COLD static wsq_poll wsqi_invoke_hooked(wsqi_worker *self, wsq_task *task) {
    wsqi_event(self, WSQ_EVENT_TASK_BEGIN, task, 0);
    wsq_poll poll = task->fn(self->frame.floor, task);
    wsqi_event(self, WSQ_EVENT_TASK_END, task, poll);
    return poll;
}

WSQI_HOT wsq_poll wsqi_task_invoke(wsqi_worker *self, wsq_task *task) {
    if (wsqi_hooked(self->pool, 3u << WSQ_EVENT_TASK_BEGIN)) return wsqi_invoke_hooked(self, task);
    return task->fn(self->frame.floor, task);
}

/* A user's function has just returned. Have all jobs that it forked been joined? */
#define wsqi_check_joined(self) \
    WSQ_ASSERT("a function returned without a join of a job that it had forked" && \
               wsqi_range_bottom(wsqi_load_own( \
                   &wsqi_worker_of((self)->frame.floor)->range)) <= \
                   wsqi_entry_index((self)->frame.floor))

/* The owner calls the task's function once, and acts on the result. True: the task has ended. */
WSQI_HOT bool wsqi_task_poll(wsqi_worker *self, wsq_task *task) {
    self->frame.task = task;
    self->frame.budget_left = self->pool->config.budget;
    wsqi_count(&self->counters.run, 1);
    wsq_poll poll = wsqi_task_invoke(self, task);
    WSQ_ASSERT("a task's function returned a value that is not a wsq_poll" && poll <= WSQ_GONE);
    wsqi_check_joined(self);
    if (WSQI_LIKELY(poll == WSQ_DONE)) wsqi_task_finish(self->pool, task, WSQI_TASK_DONE);
    else if (poll == WSQ_PENDING) wsqi_task_pend(self, task);
    else if (poll == WSQ_YIELD) wsqi_requeue(self, task);
    else if (poll != WSQ_GONE) /* without assertions an invalid value counts as WSQ_DONE */
        wsqi_task_finish_slow(self->pool, task, WSQI_TASK_DONE);
    return poll != WSQ_PENDING && poll != WSQ_YIELD;
}

/* The owner runs a task of a group. If the task ends in this run, its end is collected in `ends`;
 * if `ends` holds ends of another group's tasks, the owner counts those down first. If the task
 * does not end, the owner counts all collected ends down, because the task may wait for other tasks
 * of the group. */
static void wsqi_task_run_grouped(wsqi_worker *self, wsq_task *task, wsq_group *group) {
    wsq_group *former = self->frame.group;
    bool is_node = wsqi_task_is_node(task);
    self->frame.group = group;
    bool over = wsqi_task_poll(self, task);
    self->frame.group = former;
    if (!over || self->ends.group != group) wsqi_group_flush(self);
    if (!over) return;
    self->ends.group = group;
    self->ends.count++;
    if (is_node) wsqi_node_end(self->pool, self, task, false);
}

/* Begins the run of a task that was woken, or is OPEN or POISONED. False: the task must not run,
 * because it was cancelled, or is a future that another thread has claimed. Then its state stays as
 * it is, so that each further wsq_task_cancel returns what the first one returned. */
static inline bool wsqi_task_begin(wsq_task *task, uint32_t state) {
    const uint32_t over = WSQI_TASK_WOKEN | WSQI_TASK_OPEN | WSQI_TASK_PENDING;
    while ((state & WSQI_TASK_POISONED) == 0) {
        /* T5: this run sees what the waker did before. A wake after this swap is for the next run;
         * a cancel after it cannot stop this one. Pairs with T4. Failure: relaxed, decide again. */
        if (wsqi_cas_acqrel(&task->state, &state, (state & ~over) | WSQI_TASK_ACTIVE)) return true;
    }
    return false;
}

/* Runs or cancels a task that the owner has just taken. */
WSQI_HOT void wsqi_work(wsqi_worker *self, wsq_task *task) {
    const uint32_t odd = WSQI_TASK_WOKEN | WSQI_TASK_POISONED | WSQI_TASK_OPEN;
    /* Relaxed: the caller took the task out of a queue, so it sees the task's spawn. If no bit of
     * `odd` is set here, the run begins: a later wake is for the next run, and a later cancel
     * cannot stop this run. Otherwise wsqi_task_begin decides. */
    uint32_t state = wsqi_load_rlx(&task->state);
    wsq_group *group = wsqi_task_group(task);
    if (!WSQI_LIKELY(self->ends.group == NULL) && group != self->ends.group)
        wsqi_group_flush(self);
    if (!WSQI_LIKELY(wsqi_load_hint(self->pool->phase) == WSQI_PHASE_RUN) ||
        (!WSQI_LIKELY(group == NULL) && wsq_group_cancelled(group)) ||
        (!WSQI_LIKELY((state & odd) == 0) && !wsqi_task_begin(task, state))) {
        self->frame.task = NULL; /* wsqi_task_below reads this: no task runs now */
        wsqi_cancel_task(self->pool, task);
        self->search.reported = UINT64_MAX;
    } else if (!WSQI_LIKELY(group == NULL)) {
        wsqi_task_run_grouped(self, task, group);
    } else if (wsqi_task_poll(self, task)) {
        wsqi_count_finished(self, 1);
    }
}

/* ---- the task that runs now ---- */

/* Returns the block with the current task's frame, or NULL. A spare block has no task, unless a
 * helper uses it. A worker's block has no task while the worker runs a stolen job. In these cases
 * an outer block may have the frame. */
static wsqi_worker *wsqi_task_block(void) {
    wsqi_worker *self = wsqi_self_get();
    while (self != NULL && self->frame.task == NULL) self = self->outer;
    return self;
}

static inline bool wsqi_in_group(const wsq_group *group) {
    const wsqi_worker *block = wsqi_task_block();
    return block != NULL && block->frame.group == group;
}

WSQ_API bool wsq_cancelled(wsq_ctx ctx) {
    wsqi_check_ctx(ctx);
    wsqi_worker *self = wsqi_worker_of(ctx);
    /* A task that runs inside a wait has its jobs in a spare block (wsqi_step_above), so `ctx`
     * leads to that block. But the task's frame is in the block of the worker that waits. */
    wsqi_worker *local = wsqi_local(self->pool);
    if (local != NULL && self->frame.outer == NULL && local->frame.floor == wsqi_base(self))
        self = local;
    if (self->frame.group != NULL && wsq_group_cancelled(self->frame.group)) return true;
    const wsq_task *task = self->frame.task;
    /* A worker that calls a future's function in its wait has set POISONED, too, but the future is
     * still OPEN. So it is not cancelled. */
    uint32_t state = task != NULL ? wsqi_load_hint(&task->state) : 0;
    if ((state & (WSQI_TASK_POISONED | WSQI_TASK_OPEN)) == WSQI_TASK_POISONED) return true;
    return wsqi_load_hint(self->pool->phase) != WSQI_PHASE_RUN;
}

WSQ_API bool wsq_budget_take(void) {
    wsqi_worker *self = wsqi_task_block();
    if (self == NULL) return true;
    if (self->frame.budget_left == 0) return false;
    self->frame.budget_left--;
    return true;
}

/* ==========================================================================
 * >>jobs: how jobs become public, and are stolen
 * Purpose:   a fork and its join cost about as much as a call; thieves get jobs when they come.
 * Invariant: the entries [top, bottom) of `range` are public, oldest first; the owner alone uses
 *            [bottom, context). A fork takes its slow path if its entry is at or above the fork
 *            trap, and a join if its entry is below the join trap. While no thief asks, the join
 *            trap is the address of entry `bottom`, the fork trap that of the last entry. A thief
 *            that asks for public jobs sets both: the join trap to WSQI_TRAP_SET, the fork trap to
 *            NULL. Then the next fork and the next join take their slow path, where the owner
 *            publishes jobs, and puts the addresses back.
 * Writers:   range: owner and thieves, by CAS; when it is empty the owner may just store. Traps:
 *            any thread, by wsqi_steal_request; the owner resets them. Entries: the owner.
 * Source:    Wool (Faxen 2008: the direct task stack), Lace (van Dijk 2014: the split deque). Ours:
 *            one word for the public range, and one comparison that asks both "was this job
 *            published?" and "does a thief want work?".
 * ABA in `range` does no harm, because a thief reads an entry only after it has claimed the entry.
 * ========================================================================== */

/* Values of wsq_job.done, for a public job. WAITED: the job's owner sleeps in the join. */
enum { WSQI_JOB_PUBLIC, WSQI_JOB_WAITED, WSQI_JOB_DONE };

static inline wsq_ctx wsqi_entry_at(wsqi_worker *worker, uint32_t index) {
    return (wsq_ctx)(void *)worker + index;
}

/* The owner makes its n oldest private jobs public. */
static void wsqi_expose(wsqi_worker *self, uint32_t n) {
    uint64_t range = wsqi_load_hint(&self->range), next;
    uint32_t bottom = wsqi_range_bottom(range);
    for (uint32_t i = bottom; i < bottom + n; i++) {
        wsq_job *job = wsqi_get(&wsqi_entry_at(self, i)->job);
        wsqi_store_init(&job->done, (uint32_t)WSQI_JOB_PUBLIC);
        wsqi_store_init(&job->thief, 0u);
    }
    do {
        next = wsqi_range_pack(bottom + n, wsqi_range_top(range));
        /* J1: thieves see the entries and jobs. Pairs with J2. Failure: a thief took a job. */
    } while (!wsqi_cas_rel(&self->range, &range, next));
    if (!self->permit) wsqi_empty_end(self); /* J5 follows */
    wsqi_stat(self->counters.published, n);
    wsqi_event(self, WSQ_EVENT_PUBLISH, NULL, n);
}

#ifdef WSQ_PUBLISH_ALWAYS
#define WSQI_PUBLISH_ALWAYS 1
#else
#define WSQI_PUBLISH_ALWAYS 0
#endif

/* Publishes jobs of the owner, because a thief has set the traps, or the owner has moved `bottom`.
 * This also ends the thief's request: the traps get the addresses that they have when no thief asks
 * (see above). If a thread is free for jobs, all private jobs become public; otherwise half of
 * them do, so that the next thief need not wait. top: the entry after the newest job that is not
 * joined yet (not the `top` of `range`). */
static void wsqi_publish(wsqi_worker *self, wsq_ctx top) {
    uint32_t bottom = wsqi_range_bottom(wsqi_load_own(&self->range));
    uint32_t left = wsqi_entry_index(top) - bottom, n = left - left / 2;
    bool wanted, exposed = left != 0;
    /* An owner without jobs keeps a thief's request until its next fork. (If it dropped it, the
     * thief would again find no job at its next visit.) */
    if (left == 0 && wsqi_range_empty(self) && wsqi_load_hint(&self->front.fork_trap) == NULL)
        return;
    for (;;) {
        if (n != 0) wsqi_expose(self, n);
        bottom += n;
        left -= n;
        wsqi_store_rlx(&self->front.fork_trap, wsqi_full_mark(self)); /* Relaxed: J5 follows */
        wsqi_store_rlx(&self->front.join_trap, wsqi_entry_at(self, bottom));
        /* J5: either this thread sees the idle worker in S, or that worker, in its last look before
         * it sleeps, finds a public job, or sets the traps again. Pairs with I7, I8 and J7. */
        wsqi_fence_sc();
        wanted = wsqi_jobs_wanted(self->pool);
        if (!wanted || left == 0) break;
        n = left;
    }
    /* If a thread wants jobs and no job is public, the owner sets its traps again, unless S counts
     * a searcher: the searcher sets these traps itself, at the latest when it stops searching. */
    if (WSQI_PUBLISH_ALWAYS ||
        (wanted && wsqi_searching(wsqi_load_hint(&self->pool->permits)) == 0 &&
         wsqi_range_empty(self)))
        wsqi_steal_request(self);
    if (wanted && exposed) wsqi_notify_jobs(self->pool, self);
}

WSQ_API wsq_ctx wsqi_fork_slow(wsq_ctx entry) {
    wsqi_worker *self = wsqi_worker_of(entry);
    if (entry != wsqi_full_mark(self)) {
        wsqi_publish(self, entry + 1);
        return entry + 1;
    }
    /* The job runs now: the job stack is full, or this frame begins at wsqi_full_mark, and so has
     * no job stack. The traps stay set until all jobs that ran like this are joined, because their
     * joins must take the slow path. If the stack is full, and thieves have taken all public jobs,
     * this publishes others. */
    if (self->frame.floor != entry && wsqi_range_empty(self)) wsqi_publish(self, entry);
    wsq_job *job = wsqi_get(&entry->job);
    wsqi_get(&job->fn)(entry, job);
    self->depth.forks++;
    wsqi_steal_request(self);
    return entry;
}

/* The owner takes its newest public job back. False: thieves have taken all public jobs. */
static bool wsqi_unpublish(wsqi_worker *self) {
    uint64_t range = wsqi_load_hint(&self->range);
    while (wsqi_range_top(range) != wsqi_range_bottom(range)) {
        /* Relaxed: no other thread has had the job. Failure: a thief took a job, maybe this one. */
        uint64_t next = wsqi_range_pack(wsqi_range_bottom(range) - 1, wsqi_range_top(range));
        if (wsqi_cas_rlx(&self->range, &range, next)) return true;
    }
    return false;
}

/* Steals and runs the victim's oldest public job. False: there is none; the thief has asked the
 * victim to publish one. */
static bool wsqi_job_steal(wsqi_worker *self, wsqi_worker *victim) {
    uint64_t range = wsqi_load_hint(&victim->range), next;
    do {
        if (wsqi_range_top(range) == wsqi_range_bottom(range)) {
            wsqi_steal_request(victim);
            return false;
        }
        next = range + 1; /* adds 1 to `top`, the lower 32 bits */
        /* J2: the thief sees entry and job. Pairs with J1. Failure: the range has changed. */
    } while (!wsqi_cas_acq(&victim->range, &range, next));
    /* As wsqi_check_beside, before a job that may be a guest's. (In a join only if this thread has
     * ended tasks since its last search.) */
    uint64_t finished = wsqi_load_own(&self->counters.finished);
    if (self->depth.joins == 0 || finished != self->search.reported) {
        /* W4: either this thread sees and calls a thread in wsq_pool_wait, or that waiter sees the
         * ended tasks. Pairs with W5. (A barrier after the stores below would be slower.) */
        wsqi_fence_rmw();
        if (wsqi_has_guest(self->pool)) wsqi_call_if_quiet(self->pool);
    }
    wsq_job *job = wsqi_get(&wsqi_entry_at(victim, wsqi_range_top(range))->job);
    wsqi_store_hint(&job->thief, self->index + 1);
    /* If the stolen job was the victim's last public one, the thief asks for more. (If each theft
     * asked, the victim would publish at each fork.) */
    if (wsqi_range_top(next) == wsqi_range_bottom(next)) wsqi_steal_request(victim);
    wsqi_store_hint(&self->woken.lead, victim->index + 1);
    wsqi_stat(self->counters.jobs_stolen, 1);
    wsqi_event(self, WSQ_EVENT_STEAL, job, victim->index);
    if (self->searching) wsqi_search_end(self);
    /* A guest that is in no job goes on duty for this one. Other threads are on duty already. */
    bool guest = self->use == WSQI_USE_GUEST && !wsqi_is_in_job(self->pool);
    if (guest) wsqi_duty_begin(self->pool);
    wsqi_frame frame; /* a new frame, because the job is no part of the current task */
    wsqi_frame_push(self, &frame, self->frame.floor);
    wsqi_event(self, WSQ_EVENT_TASK_BEGIN, job, 0);
    wsqi_get(&job->fn)(self->frame.floor, job);
    wsqi_check_joined(self);
    wsqi_event(self, WSQ_EVENT_TASK_END, job, WSQ_DONE);
    wsqi_frame_pop(self, &frame);
    /* J3: what the job did is visible to its join (J4). After this the job's memory may be gone. */
    if (wsqi_xchg_rel(&job->done, (uint32_t)WSQI_JOB_DONE) == WSQI_JOB_WAITED)
        wsqi_call(self->pool, victim);
    if (guest) wsqi_duty_end(self->pool);
    return true;
}

/* ==========================================================================
 * >>find: where the next task comes from
 * Purpose:   finds a worker's next task, first nearby, then far away, and runs it.
 * Invariant: when wsqi_step has found nothing, S counts the worker as a searcher.
 * Writers:   the owner alone calls these functions, if nothing else is said.
 * Source:    Tokio's multi-thread scheduler. 0. to 4. in comments: the steps of FINDING WORK.
 * ========================================================================== */

/* ---- looks at other workers ---- */

/* May this worker take jobs? Each guest at work uses the processor of one worker. If the free
 * permits plus the other searchers are fewer than the guests at work, one of these guests needs
 * this worker's processor. So this worker leaves jobs to the guests. No job is missed: the last
 * searcher, and each join, looks once more before it sleeps. */
static bool wsqi_jobs_allowed(const wsqi_worker *self) {
    if (self->pool->config.caller_runs) return true; /* one thread acts as all workers */
    if (wsqi_spares_made(self->pool) == 0) return true; /* mostly, so S is not read in each pass */
    uint64_t s = wsqi_load_hint(&self->pool->permits);
    return wsqi_free_permits(s) + wsqi_searching(s) >= wsqi_guests_at_work(s) + self->searching;
}

/* One pass (wsqi_steal_pass) visits this many workers in a join, or at each distance if distances
 * matter; otherwise 3 times as many. More visits would cost the victims more than they bring. (On
 * 128 simulated cores, values from 4 to 16 differ little.) No work is missed, because the last
 * searcher looks at all workers. */
#define WSQI_VISITS 8u

/* What a thief takes. JOBS: public jobs. TASKS: also queued tasks. SLOTS: also tasks in slots. */
typedef enum wsqi_reach { WSQI_JOBS, WSQI_TASKS, WSQI_SLOTS } wsqi_reach;

/* Notifies if the thief or its victim has tasks left. (A searcher notifies when it stops.) */
static void wsqi_notify_rest(wsqi_worker *self, wsqi_worker *victim) {
    /* I6: searchers may have missed the stolen tasks while these moved, so this thread notifies for
     * them. The victim does not notify for a task that it pushes behind others. But either this
     * thread sees that task, and notifies for it; or the victim sees that the older tasks are gone,
     * and notifies. */
    wsqi_fence_sc();
    if (wsqi_queue_length(self) + wsqi_queue_length(victim) != 0) wsqi_notify_fenced(self->pool);
}

/* Steals a job from the victim, if `jobs` is true. If it gets no job, it steals tasks, if `reach`
 * allows that. True: a stolen job has run. Otherwise *task returns the stolen task, or NULL. */
static bool wsqi_visit(wsqi_worker *self, wsqi_worker *victim, wsqi_reach reach, bool jobs,
                       wsq_task **task) {
    wsqi_stat(self->counters.steal_attempts, 1);
    if (jobs && wsqi_job_steal(self, victim)) return true;
    if (reach == WSQI_JOBS) return false;
    *task = wsqi_steal_tasks(self, victim, true, reach == WSQI_SLOTS); /* none from a guest */
    if (*task != NULL && !self->searching) wsqi_notify_rest(self, victim);
    return false;
}

/* Visits other workers until it has stolen a job or task, or has visited enough (WSQI_VISITS).
 * True: a stolen job has run. Otherwise *task returns a task, or NULL. It visits only workers
 * that may have tasks (in a join: jobs), and all of these if it may rob slots. If distances matter,
 * it visits near workers first, except in a join. from[d]: the first worker to visit at distance d;
 * without distances only from[0] is used. After a visit from[d] is one after the victim if S counts
 * this thread as a searcher, so that its passes soon reach all; else random, so that thieves
 * spread. */
static bool wsqi_steal_pass(wsqi_worker *self, wsqi_reach reach, uint32_t *from,
                            wsq_task **task) {
    wsq_pool *pool = self->pool;
    unsigned made = wsqi_threads_made(pool), count = made + wsqi_spares_made(pool);
    bool robs = self->search.robs_slots;
    bool ordered = pool->places.matter && reach != WSQI_JOBS;
    bool jobs = reach == WSQI_JOBS || wsqi_jobs_allowed(self);
    unsigned circles = ordered ? WSQI_DISTANCES : 1;
    unsigned most = ordered || reach == WSQI_JOBS ? WSQI_VISITS : 3 * WSQI_VISITS;
    if (pool->spin.rounds == 1) most = count; /* no second round visits the others (caller_runs) */
    wsqi_rest rest = WSQI_INIT;
    for (unsigned distance = 0; distance < circles && *task == NULL; distance++) {
        unsigned visits = most;
        uint32_t *next = &from[distance], start = *next % count;
        for (unsigned i = 0; i < count && (visits != 0 || robs) && *task == NULL; i++) {
            unsigned n = start + i < count ? start + i : start + i - count;
            unsigned index = wsqi_nth(pool, made, n);
            unsigned over = wsqi_pass_over(pool, &rest, made, index, reach == WSQI_JOBS);
            if (over != 0) i += over - 1;
            if (over != 0 || index == self->index) continue;
            if (ordered && wsqi_distance(pool, self->index, index) != distance) continue;
            if (wsqi_visit(self, wsqi_block(pool, index), reach, jobs, task)) return true;
            visits--;
            *next = self->searching ? n + 1 : wsq_random_next(&self->random);
        }
    }
    return false;
}

/* Pauses between two looks for work: for 2 spin hints in round 0, then 4, 8, 16, and 32 from round
 * 4 on. (A hint takes 10 to 80 ns.) Without pauses the looks would take cache lines away from the
 * workers; with longer pauses, work would be found later. job: the job that a join waits for, or
 * NULL. The pause ends when that job is done, because other joins may wait for this join. */
static void wsqi_backoff(uint32_t round, wsq_job *job) {
    uint32_t hints = 2u << (round < 4 ? round : 4);
    while (hints-- != 0 && (job == NULL || wsqi_load_hint(&job->done) != WSQI_JOB_DONE))
        wsqi_pause();
}

/* Visits the worker that self->woken.lead names: the waker saw work at that worker, or this thread
 * last stole a job from it. Returns as wsqi_visit does. */
static bool wsqi_steal_lead(wsqi_worker *self, wsq_task **task) {
    /* The waker wrote `lead` before it gave the token, so this thread sees it (I1). */
    wsqi_worker *victim = wsqi_other(self, wsqi_load_hint(&self->woken.lead));
    if (victim == NULL) return false;
    wsqi_store_hint(&self->woken.lead, 0u);
    /* If the victim has only one task, the first look just notes that (wsqi_fresh), because the
     * victim may be about to run the task. The second look takes the task. */
    for (int look = 0; look < 2 && *task == NULL; look++) {
        if (look != 0) wsqi_backoff(2, NULL);
        if (wsqi_visit(self, victim, WSQI_SLOTS, wsqi_jobs_allowed(self), task)) return true;
    }
    return false;
}

/* ---- turns ---- */

/* Notes the time of this turn. The time since the last turn goes into the average time per task,
 * unless the worker ran dry meanwhile. In a caller_runs pool the average stays as it is, because
 * the order of tasks must not depend on the clock. */
static void wsqi_turn_clock(wsqi_worker *self) {
    uint64_t now = wsqi_clock_ns(), run = wsqi_load_own(&self->counters.run);
    if (self->turn.start != 0 && !self->pool->config.caller_runs) {
        wsq_tune_update(&self->tune, now - self->turn.start, (uint32_t)(run - self->turn.run));
        wsqi_store_stat(&self->counters.average_task_ns, self->tune.average_ns);
        wsqi_store_stat(&self->counters.interval, self->tune.interval);
        wsqi_slot_update(self);
    }
    self->turn.start = now;
    self->turn.run = run;
}

/* The worker stops timing its tasks, mostly because it runs dry. Their time goes into the average
 * time per task. But if the worker has timed fewer than 16 tasks, it leaves these out in three of
 * four cases, because reading the clock takes time, too. */
static void wsqi_turn_stop(wsqi_worker *self) {
    uint64_t run = wsqi_load_own(&self->counters.run) - self->turn.run;
    bool timed = self->turn.start != 0 && (run >= 16 || wsq_random_next(&self->random) % 4 == 0);
    if (timed) wsqi_turn_clock(self);
    self->turn.start = 0;
}

/* In every 16th turn (by default about every 16 ms) a WSQ_LOW task runs before others. A guess. */
#define WSQI_LOW_TURN 16

/* A turn looks at up to this many threads for one that has tasks: others may block, wait or sleep.
 * A guess: each look costs two cache lines. (If a turn looked at one thread only, then beside 200
 * that block a task behind a long one waited 5 s, as long as that one took; now 0.5 s.) */
#define WSQI_LONG_LOOKS 32u

/* Steals from a thread that is in a long task. (Searchers do so, too, but while all threads work
 * there is no searcher.) Each turn notes which task one other thread, the victim, is in: the
 * next one that has tasks in its slot or queue. If a later turn finds the victim still in that
 * task, this worker steals from it. But first this worker runs the tasks that its own ring held
 * when the note was made, and those that it has stolen since: they may be older than the victim's.
 * Until then further turns steal nothing. (In a WSQ_LIFO pool a worker does not run them first: its
 * ring empties slowly, and no order is kept.) */
static wsq_task *wsqi_take_from_long(wsqi_worker *self) {
    wsq_pool *pool = self->pool;
    wsqi_turn *turn = &self->turn;
    wsqi_rest rest = WSQI_INIT;
    unsigned made = wsqi_threads_made(pool);
    uint32_t past = wsqi_head_real(wsqi_load_hint(&self->ring.head)) - turn->tail;
    if (made == 1 || (past > UINT32_MAX / 2 && !wsqi_has_deque(self))) return NULL;
    wsqi_worker *victim = wsqi_block(pool, turn->victim);
    bool long_task = wsqi_load_hint(&victim->counters.run) + 1 == turn->seen;
    /* A slot is robbed only if marks.run still names the task that its owner is in. */
    if (long_task) wsqi_store_hint(&victim->marks.run, turn->seen);
    wsqi_stat(self->counters.steal_attempts, long_task);
    /* older: the victim's ring still holds a task that was in it at the earlier turn. If not, all
     * tasks of that ring may be younger than this worker's own, so the ring is left alone. */
    bool older = wsqi_head_real(wsqi_load_hint(&victim->ring.head)) - turn->end > UINT32_MAX / 2;
    wsq_task *task = long_task ? wsqi_steal_tasks(self, victim, older, true) : NULL;
    if (task != NULL) wsqi_notify_rest(self, victim);
    unsigned looks = made < WSQI_LONG_LOOKS ? made : WSQI_LONG_LOOKS;
    do {
        turn->victim = wsqi_next(pool, &rest, made, turn->victim + 1);
        if (turn->victim == made) turn->victim = wsqi_next(pool, &rest, made, 0) % made;
        victim = wsqi_block(pool, turn->victim);
    } while (--looks != 0 && (victim == self || !wsqi_has_tasks(victim)));
    turn->seen = victim != self ? wsqi_load_hint(&victim->counters.run) + 1 : 0;
    turn->end = wsqi_load_hint(&victim->ring.tail);
    turn->tail = wsqi_load_own(&self->ring.tail);
    return task;
}

/* Takes the driver, if no thread has it, and dispatches its events. True: there were events. */
WSQI_COLD static bool wsqi_drive(wsqi_worker *self) {
    if (!wsqi_driver_take(self)) return false;
    wsqi_driver_wait(self, 0);
    bool events = self->driving == WSQI_DRIVING_EVENTS;
    wsqi_group_flush(self); /* wsqi_search_begin checks for a quiet pool: count ended tasks first */
    /* With a permit the owner becomes a searcher. So it wakes no thread for each task that the
     * driver's `dispatch` queues: when the search ends, it wakes threads for all of them. */
    if (self->permit && !self->searching) wsqi_search_begin(self);
    wsqi_driver_leave(self);
    return events;
}

/* Step 0 of FINDING WORK, a turn. It fires timers, asks the driver for events, and takes the first
 * of these tasks that exists: a WSQ_LOW task (every 16th turn), an urgent task (WSQ_HIGH or
 * pinned), a task stolen from a thread in a long task, a task of this worker's own (in a WSQ_LIFO
 * pool from the deque and from the ring alternately). Then tasks move from the global queue to the
 * end of the ring. If the ring is full, and this turn has taken another task than a WSQ_LOW one,
 * the worker's next look for a task is a turn again. */
WSQI_COLD static wsq_task *wsqi_take_turn(wsqi_worker *self) {
    wsq_pool *pool = self->pool;
    bool low = false;
    wsq_task *task = NULL;
    wsqi_turn_clock(self);
    (void)wsqi_timers_fire(pool, WSQI_TIMERS_GRACE);
    if (pool->config.driver != NULL) (void)wsqi_drive(self);
    if (self->turn.spilled) wsqi_order_keep(self);
    if (self->turn.count % WSQI_LOW_TURN == WSQI_LOW_TURN - 1)
        low = (task = wsqi_take_special(self, &pool->lanes[WSQ_LOW])) != NULL;
    if (task == NULL) task = wsqi_take_urgent(self, false);
    if (task == NULL) task = wsqi_take_from_long(self);
    if (task == NULL) {
        self->turn.oldest = !self->turn.oldest && wsq_deque_length(&self->deque) != 0;
        if (self->turn.oldest) task = wsqi_unmarked(wsqi_ring_pop(&self->ring));
        else task = wsqi_take_local(self);
    }
    if (low || task == NULL || wsqi_ring_room(&self->ring) != 0) {
        self->turn.count++;
        self->turn.left = self->tune.interval - 1; /* this turn's task counts, too */
    }
    task = wsqi_take_global(self, task);
    return task != NULL ? task : wsqi_take_local(self);
}

/* ---- searching ---- */

/* Has the user set how long a search lasts? (0, the default, and WSQ_SPIN_OFF set no time.) */
static bool wsqi_spin_lasts(uint64_t spin_ns) { return spin_ns != 0 && spin_ns != WSQ_SPIN_OFF; }

/* Shall a search go on with this round? (The first is 0.) A search has spin.rounds rounds (with
 * WSQ_SPIN_OFF: one) or, if the user has set a time, lasts that long. Round 0 sets *start: to the
 * time when the search began, or to 0 if no time is set. The caller keeps it for later rounds. */
static bool wsqi_spin(const wsq_pool *pool, uint32_t round, uint64_t *start) {
    uint64_t spin_ns = wsqi_load_hint(&pool->spin.ns);
    if (round != 0 && wsqi_load_hint(pool->phase) != WSQI_PHASE_RUN) return false;
    if (round == 0) *start = wsqi_spin_lasts(spin_ns) ? wsqi_clock_ns() : 0;
    if (*start == 0) return round < (spin_ns == 0 ? pool->spin.rounds : 1);
    return round == 0 || (wsqi_spin_lasts(spin_ns) && wsqi_clock_ns() - *start < spin_ns);
}

/* Does the watcher's work between two rounds of a search that lasts for spin_ns: timers, the
 * driver, full slots. *task returns a task of the worker's own slot or queue, or NULL. False: no
 * round may follow. Either the wait in which the thread searches (`self->search.wait`) was called
 * or has expired; or the thread is lent and must leave (wsqi_dismissed); or it may now rob a slot
 * (wsqi_search does that after the rounds). *watch: when to look at the slots again. */
static bool wsqi_spin_watch(wsqi_worker *self, wsq_task **task, uint64_t *watch) {
    uint64_t now = wsqi_clock_ns();
    wsqi_wait *wait = self->search.wait;
    if (wait != NULL ? wsqi_wait_called(wait) || wsqi_wait_expired(wait) : wsqi_dismissed(self))
        return false;
    (void)wsqi_timers_fire(self->pool, 0);
    if (self->pool->config.driver != NULL) (void)wsqi_drive(self);
    *task = wsqi_take_own(self);
    if (now < *watch) return true;
    *watch = now + WSQI_WATCH_NS;
    wsqi_slots_mark(self);
    return !self->search.robs_slots;
}

/* In its first rounds, about 1 us long, a search takes nothing from LIFO slots, because most owners
 * soon run those tasks. But where tasks take WSQI_SLOT_STEAL_NS or more, the search takes them from
 * the start: the owner runs them later than the thief would. */
#define WSQI_SLOT_ROUNDS 2u
#define WSQI_SLOT_STEAL_NS 400u

/* Shall a worker look only once and then sleep, because its last searches found nothing? This helps
 * when single tasks come from outside, further apart than a search lasts: a longer search would
 * only hold a core that a thread outside could use. After a search that finds work, searches are
 * long again. (In a pool with a driver, only a theft or an urgent task after the first round
 * has this effect. Otherwise a second worker, which each batch of events wakes, would never be
 * discouraged.) */
static bool wsqi_discouraged(const wsqi_worker *self) {
    return !wsqi_worth(self->search.vain) && wsqi_load_hint(&self->pool->spin.ns) == 0;
}

/* Any thread: how many tasks the helpers have taken, modulo 2^32. */
static uint32_t wsqi_helped(wsq_pool *pool) {
    uint32_t helped = 0;
    for (unsigned i = 0; i < pool->global_lanes; i++)
        helped += wsqi_load_hint(&wsqi_global_lane(pool, i)->helped);
    return helped;
}

/* Steps 3 and 4 of FINDING WORK: looks at other workers for a while, and at the global queue once
 * more. True: a stolen job has run, so the caller looks again from the start. Otherwise *task
 * returns a task; or NULL, and then S counts the worker as a searcher. wsqi_search_begin makes S
 * count the worker. All threads share the cache line of S, so the worker calls that function late:
 * when the first looks have failed and S counts no other searcher, or when the whole search has
 * failed. But if the user has set a time (spin_ns), the worker calls it right after the first
 * looks. The reason is that wsqi_search_begin also calls the threads in wsq_pool_wait if no task is
 * left. Those threads must not wait until the search ends. If helpers took tasks since wsqi_linger
 * last looked, the search has at most one round. */
static bool wsqi_search(wsqi_worker *self, wsq_task **task) {
    wsq_pool *pool = self->pool;
    bool lasts = wsqi_spin_lasts(wsqi_load_hint(&pool->spin.ns));
    uint64_t start = 0, watch = 0;
    bool short_search = wsqi_discouraged(self) || wsqi_helped(pool) != self->search.helped;
    uint32_t rounds = short_search ? 1 : UINT32_MAX, any = wsq_random_next(&self->random);
    uint32_t from[WSQI_DISTANCES] = {any, any, any}; /* where the next pass begins */
    self->frame.task = NULL; /* wsqi_task_below reads this: no task runs now */
    wsqi_turn_stop(self);
    wsqi_place_update(self);
    /* The first looks are at the worker in `lead`; at the driver, if `first`; at other workers,
     * unless S counts this worker already; at the driver, if not `first`. first: the driver had
     * events when last asked. Otherwise this worker would steal the tasks that those events woke,
     * and ask again only after all of them have begun. But after a search that so got a task
     * (`drove`), the next one asks last: endless events must not keep the worker from stealing. A
     * discouraged worker does not ask: it soon sleeps in the driver's wait. */
    bool driver = pool->config.driver != NULL && !wsqi_discouraged(self);
    bool first = driver && !self->search.drove &&
                 (wsqi_load_hint(&pool->watch.poller) & WSQI_HEARD) != 0;
    self->search.drove = false;
    if (wsqi_steal_lead(self, task)) return true;
    if (first && *task == NULL && wsqi_drive(self))
        self->search.drove = (*task = wsqi_take_own(self)) != NULL;
    if (*task == NULL && !self->searching && wsqi_steal_pass(self, WSQI_TASKS, from, task))
        return true;
    if (driver && !first && *task == NULL && wsqi_drive(self)) *task = wsqi_take_own(self);
    if (*task != NULL) return false;
    /* If half the workers search, no rounds follow, unless S counts this worker already, or the
     * user has set a time. But if a WSQ_LOW task waits, one round follows, which mostly finds it.
     * (The rounds do not read S unless the pool has spare blocks.) */
    uint32_t others = wsqi_searching(wsqi_load_hint(&pool->permits));
    if (!self->searching && !lasts && 2 * others >= pool->workers)
        rounds = wsqi_load_hint(&pool->lanes[WSQ_LOW].count) != 0;
    /* The rounds. Each looks at urgent tasks, other workers, the global queue, WSQ_LOW tasks. */
    for (uint32_t round = 0; *task == NULL && round < rounds; round++) {
        if (!wsqi_spin(pool, round, &start)) break;
        if (!self->searching && (start != 0 || others == 0)) wsqi_search_begin(self);
        *task = wsqi_take_urgent(self, true);
        wsqi_reach reach = WSQI_TASKS;
        if (round >= WSQI_SLOT_ROUNDS || self->tune.average_ns >= WSQI_SLOT_STEAL_NS)
            reach = WSQI_SLOTS;
        bool job = *task == NULL && wsqi_steal_pass(self, reach, from, task);
        if (round > 0 && (job || *task != NULL)) self->search.vain = 0;
        if (job) return true;
        if (*task == NULL && start != 0 && !wsqi_spin_watch(self, task, &watch)) break;
        if (*task == NULL) *task = wsqi_take_global(self, NULL);
        if (*task == NULL) *task = wsqi_take_special(self, &pool->lanes[WSQ_LOW]);
        if (*task == NULL) wsqi_backoff(round, NULL);
    }
    if (*task != NULL) return false;
    if (!self->searching) wsqi_search_begin(self);
    self->search.vain = (uint8_t)(self->search.vain + 1);
    return self->search.robs_slots && wsqi_steal_pass(self, WSQI_SLOTS, from, task);
}

/* ---- a worker that lingers ---- */

/* How long a worker lingers after a helper took a task. A guess: the time of a few wake-ups. */
#ifndef WSQI_LINGER_NS
#define WSQI_LINGER_NS 60000u
#endif
#define WSQI_LINGER_LOOKS 4u /* this many looks in a row must see work before the worker takes it */
#define WSQI_LINGER_MUCH_NS 5000u /* work that takes this long is taken: about a wake-up */

/* Shall the owner, whose search found nothing, linger? Yes, if helpers will probably soon take
 * another task. The owner expects this if helpers took two tasks or more since it last looked. If
 * they took one, the owner expects it only for WSQI_LINGER_NS after `lingered`: the time when
 * wsqi_linger last began, or last saw that a helper had taken a task. The owner lingers only if the
 * pool has no driver, and no other worker lingers. There must be two processors or more, and at
 * least one for each worker. And spin_ns must be 0, or a time (not WSQ_SPIN_OFF) of at least
 * WSQI_LINGER_NS. (On one processor a woken thread preempts its waker, but a thread that lingers,
 * and yields, gets the processor only when the running thread's time slice ends.) */
static bool wsqi_linger_pays(wsqi_worker *self, uint32_t helped) {
    wsq_pool *pool = self->pool;
    uint64_t now = wsqi_clock_ns(), since = now - self->search.lingered;
    uint64_t spin_ns = wsqi_load_hint(&pool->spin.ns);
    uint32_t count = helped - self->search.helped;
    self->search.helped = helped;
    self->search.lingered = now;
    if (count == 0 || (count == 1 && since > WSQI_LINGER_NS) || pool->config.driver != NULL ||
        spin_ns == WSQ_SPIN_OFF || (spin_ns != 0 && spin_ns < WSQI_LINGER_NS))
        return false;
    return pool->processors > 1 && pool->workers <= pool->processors;
}

/* What a lingering worker has seen. */
typedef struct wsqi_lingering {
    uint32_t helped[WSQI_GLOBAL_LANES]; /* how many tasks helpers had taken from each lane */
    uint32_t seen;  /* how many looks in a row saw work that is not left to helpers */
} wsqi_lingering;

/* One look of a lingering worker. Does it see work that it must take? It leaves short tasks to
 * helpers: those in a lane from which a helper has taken the first task since the last look. (If it
 * took a few short nodes of a graph that a helper runs, each of the two would wait for the other's
 * cache lines.) It takes work of another kind, and much work. */
static bool wsqi_linger_look(wsqi_worker *self, wsqi_lingering *looks, uint64_t now) {
    wsq_pool *pool = self->pool;
    const wsqi_worker *where[2];
    size_t left = 0; /* how many tasks are left to helpers */
    for (unsigned i = 0; i < pool->global_lanes; i++) {
        wsqi_lane *lane = wsqi_global_lane(pool, i);
        uint32_t count = wsqi_load_hint(&lane->helped);
        if (count == looks->helped[i]) continue;
        looks->helped[i] = count;
        self->search.lingered = now;
        uint32_t length = wsqi_load_hint(&lane->length);
        left += length;
        left += length == 0 && wsqi_load_hint(&lane->incoming) != NULL;
    }
    size_t amount = wsqi_look_tasks(pool, where, UINT_MAX);
    bool work = amount > left || wsqi_look_jobs(pool) != NULL;
    looks->seen = work ? looks->seen + 1 : 0;
    return looks->seen >= WSQI_LINGER_LOOKS ||
           (uint64_t)amount * self->tune.average_ns >= WSQI_LINGER_MUCH_NS;
}

/* If a search has found nothing, this keeps the searcher awake for a while, provided that it pays
 * (wsqi_linger_pays). This is for a helper: a thread outside that spawns a task, waits for it, runs
 * it in that wait itself (wsqi_wait_help), and so on. Otherwise each spawn would wake a worker,
 * which comes too late. While a worker lingers, S counts it as a searcher, so that spawns wake no
 * thread; and its permit is free, so that helpers can take it. True: the worker has seen
 * work (wsqi_linger_look), and has taken a permit to search again. False: it must sleep. (If it saw
 * work, but no permit was left, it sleeps, too, and so leaves its processor to helpers. But with
 * more processors than workers it lingers on.) */
WSQI_COLD static bool wsqi_linger(wsqi_worker *self) {
    wsq_pool *pool = self->pool;
    wsqi_lingering looks = WSQI_INIT;
    uint32_t nobody = 0;
    bool work = false, takes = false;
    if (!wsqi_linger_pays(self, wsqi_helped(pool))) return false;
    /* Relaxed: the flag publishes nothing. Failure: another worker lingers. */
    if (!wsqi_cas_rlx(&pool->lingers, &nobody, 1u)) return false;
    wsqi_permit_set(self, false);
    wsqi_add_hint(&pool->made.coming, 1u); /* so that no stand-in starts for this permit */
    /* No producer needs to see that this permit is free: S still counts this thread as a searcher,
     * and a searcher looks once more before it sleeps. B8: a thread that sees the free permit sees
     * that `coming` is higher. Pairs with B7. */
    wsqi_add_acqrel(&pool->permits, WSQI_PERMIT);
    wsqi_fence_rmw(); /* B11: as in wsqi_permit_give */
    wsqi_permit_offer(pool);
    uint64_t start = self->search.lingered, now = start;
    while (!takes && (!work || pool->workers < pool->processors) &&
           now - self->search.lingered < WSQI_LINGER_NS && now - start < WSQI_WATCH_NS &&
           wsqi_load_hint(pool->phase) == WSQI_PHASE_RUN &&
           wsqi_load_hint(&self->inbox.count) == 0 && /* and no timer needs this thread: */
           (wsqi_load_hint(&pool->watch.timer_next) == WSQI_NEVER || wsqi_timer_watched(pool))) {
        wsqi_thread_yield();
        wsqi_backoff(3, NULL);
        now = wsqi_clock_ns();
        self->search.helped = wsqi_helped(pool);
        work = wsqi_linger_look(self, &looks, now);
        takes = work && wsqi_free_permits(wsqi_load_hint(&pool->permits)) != 0;
    }
    wsqi_store_hint(&pool->lingers, 0u);
    wsqi_add_hint(&pool->made.coming, 0u - 1u);
    return takes && wsqi_permit_take(self);
}

/* ---- the steps together ---- */

/* Is a task queued that comes before those of the worker's queue: WSQ_HIGH, or pinned to it? */
static inline bool wsqi_has_urgent(wsqi_worker *self) {
    return (wsqi_load_hint(&self->pool->lanes[WSQ_HIGH].count) |
            wsqi_load_hint(&self->inbox.count)) != 0;
}

/* Steps 0 and 1 of FINDING WORK: finds a task nearby. Unless a turn is due or an urgent task is
 * queued, this touches only the worker's own cache lines and two counts of urgent tasks. */
WSQI_HOT wsq_task *wsqi_find_near(wsqi_worker *self) {
    wsq_task *task = NULL;
    if (!WSQI_LIKELY(self->turn.left != 0)) return wsqi_take_turn(self); /* 0. */
    if (!WSQI_LIKELY(!wsqi_has_urgent(self))) task = wsqi_take_urgent(self, false);
    return task != NULL ? task : wsqi_take_local(self); /* 1. */
}

/* Steps 2 to 4: finds a task elsewhere. NULL means one of two cases. First: there is no task, and S
 * counts the worker as a searcher. Second: the worker has run a stolen job, and is no searcher. It
 * may have lost its permit in that job. */
static wsq_task *wsqi_find_far(wsqi_worker *self) {
    wsq_task *task = NULL;
    bool again, driver = self->pool->config.driver != NULL;
    do {
        again = wsqi_timers_fire(self->pool, 0);
        task = wsqi_take_own(self); /* a timer queued it, or it was left in the slot */
        if (task == NULL) task = wsqi_take_global(self, NULL); /* 2. */
        if (task == NULL) task = wsqi_take_urgent(self, true);
        if (task == NULL && self->ends.group != NULL) {
            wsqi_group_flush(self); /* it may queue a task. And the last worker to run dry must see
                                     * which tasks have ended */
            again = true;
        }
    } while (task == NULL && again);
    if (task == NULL) {
        bool stolen = wsqi_search(self, &task); /* 3. and 4. */
        if ((stolen || task != NULL) && !driver) self->search.vain = 0;
        /* The job may have taken long, so this worker now asks the driver for events. */
        if (stolen && driver && self->permit) (void)wsqi_drive(self);
        if (stolen && self->searching) wsqi_search_end(self);
    }
    if (task != NULL && self->turn.start == 0) {
        if (self->searching) wsqi_search_end(self); /* wake-ups are no part of the task's time */
        wsqi_turn_clock(self);
    }
    return task;
}

/* Finds the worker's next task. NULL: see wsqi_find_far. (After a stolen job this returns, because
 * the worker may be in a wait that is over, or be asked to leave. And each call brings the next
 * turn nearer, so endless jobs do not keep the worker from its turns.) */
WSQI_HOT wsq_task *wsqi_find_work(wsqi_worker *self) {
    uint32_t left = self->turn.left;
    wsq_task *task = wsqi_find_near(self);
    if (left != 0) self->turn.left = left - 1; /* a turn comes nearer, even if no task is found */
    if (!WSQI_LIKELY(task != NULL)) task = wsqi_find_far(self);
    if (task != NULL && self->searching) wsqi_search_end(self);
    return task;
}

/* Finds and runs one task, or one stolen job. False: it found none, and S counts the worker as a
 * searcher. */
WSQI_HOT bool wsqi_step(wsqi_worker *self) {
    wsq_task *task = wsqi_find_work(self);
    if (task != NULL) wsqi_work(self, task);
    return task != NULL || !self->searching;
}

/* ---- a task in the middle of another one, and pinned tasks ---- */

/* Runs `task` or, if that is NULL, a task that wsqi_step finds, in a new frame. The task's jobs lie
 * on the job stack from `floor` on. If `floor` is wsqi_full_mark, each fork runs its job
 * immediately. False: wsqi_step found no task. */
static bool wsqi_step_in_frame(wsqi_worker *self, wsq_task *task, wsq_ctx floor) {
    wsqi_frame frame;
    bool ran = true;
    wsqi_frame_push(self, &frame, floor);
    if (task != NULL) wsqi_work(self, task);
    else ran = wsqi_step(self);
    wsqi_group_flush(self);
    /* wsqi_requeue does not notify for a task that would run next: this thread notifies now. */
    if (wsqi_queue_length(self) != 0) wsqi_notify_others(self);
    wsqi_frame_pop(self, &frame);
    return ran;
}

/* Runs a task in the middle of another one: `task`, or, if that is NULL, a task that it finds. The
 * new task's jobs go into a spare block, because the other task's jobs may lie anywhere in the
 * worker's block. If no spare block is free, each fork of the new task runs its job immediately.
 * False: it found no task. */
static bool wsqi_step_above(wsqi_worker *self, wsq_task *task) {
    wsqi_worker *spare = wsqi_spare_take(self->pool, true);
    if (spare == NULL) return wsqi_step_in_frame(self, task, wsqi_full_mark(self));
    wsqi_block_enter(spare);
    bool ran = wsqi_step_in_frame(self, task, wsqi_base(spare));
    wsqi_block_leave(spare);
    return ran;
}

/* Fires timers, and once in WSQI_WATCH_NS asks the driver. A thread that runs many tasks without a
 * turn (wsqi_take_turn) calls this between them, because no thread may be left that takes turns.
 * What becomes ready goes to the global queue, or it would wait here for the other tasks. (But with
 * one worker, what the driver's `dispatch` queues follows what is in the ring.) */
static void wsqi_keep_watch(wsqi_worker *self) {
    wsq_pool *pool = self->pool;
    wsq_order order = self->order;
    bool ordered = wsqi_ordered(self);
    self->order = WSQ_SHARED;
    (void)wsqi_timers_fire(pool, WSQI_TIMERS_GRACE);
    if (ordered) self->order = order;
    if (pool->config.driver != NULL && wsqi_clock_ns() >= self->turn.start + WSQI_WATCH_NS) {
        (void)wsqi_drive(self);
        wsqi_turn_clock(self);
        if (self->searching) wsqi_search_end(self);
    }
    if (!ordered) self->order = order; /* else wsqi_order_keep may have changed it */
}

/* Runs the oldest task that is pinned to this thread, also without a permit, because no other
 * thread may run it. (While the thread is in a join or a blocking call, its pinned tasks wait.)
 * above: the thread is in the middle of another task. False: it has no pinned task. */
static bool wsqi_pinned_run(wsqi_worker *self, bool above) {
    if (wsqi_load_hint(&self->inbox.count) == 0) return false;
    wsqi_keep_watch(self);
    wsq_task *task = wsqi_take_special(self, &self->inbox);
    if (task == NULL) return false;
    if (self->searching) wsqi_search_end(self);
    return above ? wsqi_step_above(self, task) : wsqi_step_in_frame(self, task, self->frame.floor);
}

/* ==========================================================================
 * >>pump: caller_runs pools, where the waiting thread works
 * Purpose:   a pool without threads of its own. A thread that waits or calls wsq_pool_run_one runs
 *            the pool's tasks, and acts for each of them as one of the pool's workers.
 * Invariant: at most one thread works, until its wait or its wsq_pool_run_one ends. It has the
 *            lease of worker 0, and sleeps as worker 0. A second thread that wants to work asks it
 *            to leave, and in a wait then sleeps. The working thread does not leave earlier for
 *            that, but when it leaves, it calls all waiting threads.
 * Writers:   a block's `outer`: the working thread. The lease: see >>block.
 * Source:    GLib's GMainContext, which one thread at a time owns; the request to leave is how a
 *            lock on a futex marks that it has waiters (Drepper 2004).
 * ========================================================================== */

/* Lets this thread run the pool's tasks. False: another thread does, or caller_runs is not set. */
static bool wsqi_pump_enter(wsq_pool *pool) {
    if (!pool->config.caller_runs) return false;
    if (wsqi_local(pool) != NULL) return true;
    wsqi_worker *block = wsqi_block(pool, 0);
    while (!wsqi_lease_take(block))
        if (wsqi_dismiss(block)) return false;
    wsqi_duty_begin(pool);
    return true;
}

static void wsqi_pump_leave(wsq_pool *pool) {
    if (wsqi_local(pool) != NULL) return;
    wsqi_worker *block = wsqi_block(pool, 0);
    uint32_t next = wsqi_lease_next(block);
    /* B10: the next thread in the pump sees what this thread did there, and this thread sees the
     * wait of each thread that asked it to leave, and so calls that thread. Pairs with B4, B9. */
    if ((wsqi_xchg_acqrel(&block->lease, next) & WSQI_LEASE_MASK) == WSQI_LEASE_DISMISSED)
        wsqi_call(pool, NULL);
    wsqi_duty_end(pool);
}

/* Runs one task as worker `self`. During this run that worker's block is the innermost one of this
 * thread, the first in the list that `outer` links. If the thread acts as the same worker already,
 * further down its stack, the block leaves its former place in the list until the run ends. False:
 * no task was found. */
static bool wsqi_pump_run(wsqi_worker *self) {
    wsqi_worker *former = wsqi_self_get();
    wsqi_worker *outer = self->outer, *top = former, **link = &top, *place;
    bool inside = wsqi_inside(self->pool) != NULL; /* in the middle of a task or wsq_run */
    while (*link != NULL && *link != self) link = &(*link)->outer;
    if ((place = *link) != NULL) *link = outer;
    self->outer = top;
    wsqi_self_set(self);
    self->search.vain = 0; /* so no search is cut short */
    (void)wsqi_timers_fire(self->pool, 0); /* else due timers would wait for a turn */
    /* What this thread has spawned outside of tasks is in the global queue. So its next spawns must
     * go there, too. */
    if (self->turn.spilled) wsqi_order_keep(self);
    if (wsqi_ordered(self) && !wsqi_lane_empty(&self->pool->lanes[WSQ_NORMAL]))
        self->order = WSQ_SHARED;
    bool ran = wsqi_step_in_frame(self, NULL, inside ? wsqi_full_mark(self) : self->frame.floor);
    if (!ran) wsqi_search_end(self);
    if (self->turn.spilled) wsqi_order_keep(self); /* before this thread spawns outside of tasks */
    wsqi_self_set(former);
    self->outer = outer;
    *link = place;
    return ran;
}

/* Runs one task on this thread, which acts as a random worker. But if the global queue is empty,
 * the thread counts on from the random worker, and acts as the first one with a task in its slot,
 * queue or inbox. If no worker has a task there, the thread acts as any worker, and searches.
 * False: no task was found. */
static bool wsqi_pump(wsq_pool *pool) {
    wsqi_worker *first = wsqi_block(pool, 0);
    unsigned n = wsq_random_below(&first->random, pool->workers);
    bool any = !wsqi_lane_empty(&pool->lanes[WSQ_NORMAL]);
    for (unsigned left = pool->workers; !any && left > 1; left--) {
        const wsqi_worker *worker = wsqi_block(pool, n);
        any = wsqi_has_tasks(worker) || !wsqi_lane_empty(&worker->inbox);
        if (!any) n = n + 1 < pool->workers ? n + 1 : 0;
    }
    wsqi_worker *self = wsqi_block(pool, n);
    if (self != first) { /* block 0 counts for all: turns come as often as with one worker */
        self->turn.left = first->turn.left;
        if (first->turn.left == 0) self->turn.count = first->turn.count++;
        first->turn.left = first->turn.left != 0 ? first->turn.left - 1 : self->tune.interval - 1;
    }
    return wsqi_pump_run(self);
}

WSQ_API bool wsq_pool_run_one(wsq_pool *pool) {
    WSQ_ASSERT("wsq_pool_run_one needs a caller_runs pool" && pool && pool->config.caller_runs);
    if (pool == NULL || wsqi_load_hint(pool->phase) != WSQI_PHASE_RUN || !wsqi_pump_enter(pool))
        return false;
    bool ran = wsqi_pump(pool);
    /* A timer or an event in that call may have queued a task for another worker. */
    while (!ran && wsqi_inbox_calls(wsqi_block(pool, 0))) ran = wsqi_pump(pool);
    wsqi_pump_leave(pool);
    return ran;
}

/* ==========================================================================
 * >>thread: permits, and the threads that come and go
 * Purpose:   keeps as many threads at work as the pool has workers, also when some of them block.
 * Invariant: each permit is held by one thread, or is free: then S counts it; or it is on its way
 *            from one thread to another, with a token or by way of a seat. (In a lend_only pool all
 *            are free at first. In a caller_runs pool one thread after the other acts as a worker:
 *            >>pump. Each worker's block has its permit there. But while the thread sleeps, S
 *            counts that of worker 0 as free, so that a notify wakes it.) A thread takes a task
 *            from a queue only while it holds a permit, except a task that is pinned to it, that it
 *            waits for, or that it cancels in a pool that stops.
 *            A thread that blocks passes its permit to a thread that seeks one, or makes it free.
 *            Its queued tasks move to the global queue; a long deque stays for thieves. But in a
 *            wait for a task or group the thread keeps the permit if no thread seeks it, and if
 *            max_standins is 0 or no other thread could use the permit. Then the thread runs other
 *            tasks in the middle of its own. (What it does after it has blocked: the states
 *            `surplus` and `seeking` in >>shared.)
 *            If a permit is free or is about to be, and no idle or coming thread (`made.coming`) is
 *            left for it, a stand-in is started. It stays until the pool is over.
 *            A guest takes no queued tasks, and no permit: in its block, `permit` says that S
 *            counts it as at work. For each guest at work one worker less takes jobs
 *            (wsqi_jobs_allowed, wsqi_jobs_wanted). (A helper has a spare block, and a permit.)
 * Writers:   permit: its thread. A waker hands a permit to an idle thread with the token; a thread
 *            that blocks hands its permit over by clearing a seat. A seat: any thread, by CAS.
 *            made.threads: the holder of the pool's lock.
 * Source:    the concurrency value of Windows' completion ports; Java's ManagedBlocker.
 * ========================================================================== */

static bool wsqi_threads_ensure(wsq_pool *pool, uint32_t more, bool freed);

/* The caller has made a permit free. Makes sure that there is a thread for each free permit: the
 * caller and another thread may have counted on the same one. If no stand-in can start, wakes a
 * thread that would run tasks in its wait: it takes the permit, or passes it on (wsqi_wait_end).
 * The caller has passed a full barrier (B11). */
static void wsqi_permit_offer(wsq_pool *pool) {
    if (wsqi_threads_ensure(pool, 0, true)) return;
    int index = wsqi_bitmap_claim(pool, pool->bitmap.takers, NULL);
    if (index >= 0) wsqi_unpark(&wsqi_block(pool, (unsigned)index)->parker);
}

/* Moves the thread's queued tasks to the global queue, gives its permit back if it has one, and
 * notifies. If no thread could use the permit, starts a stand-in. The thread does this when it
 * blocks in a task, when it has no permit and a run of its task has returned, or when it leaves the
 * pool. */
static void wsqi_permit_give(wsqi_worker *self) {
    wsq_pool *pool = self->pool;
    bool permit = self->permit;
    wsqi_group_flush(self); /* comes first: it may queue a task, which the spill below moves */
    if (self->searching) wsqi_search_end(self); /* the thread was woken in a wait, as a searcher */
    wsqi_permit_set(self, false);
    bool spilled = wsqi_spill_all(self);
    if (!permit) {
        wsqi_check_quiet(pool); /* the barrier in it (W4) serves wsqi_notify_fenced (I6), too */
        if (spilled) wsqi_notify_fenced(pool);
        if (spilled) wsqi_check_over(pool);
        return;
    }
    uint64_t change = wsqi_permit_unit(self);
    uint64_t s = wsqi_add_sc(&pool->permits, change); /* I8: see below */
    /* W4: either this thread sees a thread in wsq_pool_wait, and calls it, or that thread sees
     * which tasks have ended. I8: either a producer sees this free permit, and wakes a thread for
     * its task, or this thread sees the task, and wakes a thread. I6: either a thread that goes to
     * sleep sees the spilled tasks, or this thread sees the sleeper, and wakes it. B11: either a
     * thread in a wait sees the free permit, or this thread sees its bit in `takers`. */
    wsqi_fence_rmw();
    wsqi_call_if_quiet(pool);
    if (wsqi_searching(s) == 0 && wsqi_free_permits(s) <= wsqi_guests_at_work(s))
        /* Until now no permit was free, or a guest at work used the processor of each free one. So
         * publishers of jobs woke nobody. If no permit was free, producers of tasks notified
         * nobody. */
        wsqi_pass_on(pool);
    else if (spilled) wsqi_notify_fenced(pool);
    if (spilled) wsqi_check_over(pool);
    if (change != WSQI_PERMIT) return;
    wsqi_permit_freed(pool);
    wsqi_permit_offer(pool);
}

/* ---- a permit that passes from one thread to another ---- */

/* Passes the owner's permit to a thread that seeks one. The owner is about to block in a task. S
 * does not change: it counts neither permits in use nor threads that seek one. False: no thread
 * seeks a permit, or the owner's tasks must move first. */
static bool wsqi_permit_pass(wsqi_worker *self) {
    /* With one worker, tasks keep their order. So this thread's tasks must be in the global queue
     * before another thread gets the permit: wsqi_permit_give moves them first. */
    if (self->pool->workers == 1 && wsqi_has_tasks(self)) return false;
    for (unsigned i = 0; i < self->pool->global_lanes; i++) {
        wsqi_a32 *seat = &self->pool->seats[(self->index + i) % self->pool->global_lanes].seeker;
        uint32_t seeker = wsqi_load_hint(seat);
        /* Relaxed: the seat hands over the permit, and nothing else. Failure: the seeker left. */
        if (seeker == 0 || !wsqi_cas_rlx(seat, &seeker, 0u)) continue;
        wsqi_group_flush(self); /* may queue a task here, which the caller then spills */
        if (self->searching) wsqi_search_end(self);
        wsqi_permit_set(self, false);
        wsqi_check_beside(self->pool); /* in a wait, the owner may have run the pool's last task */
        return true;
    }
    return false;
}

/* Seeks a permit for as long as a search lasts, if a seat is free. The thread has none: its task
 * blocked, and this run has returned; or it woke up by itself. If it slept immediately, the next
 * thread that blocks would have to wake it. True: it has a permit. */
static bool wsqi_permit_seek(wsqi_worker *self) {
    wsq_pool *pool = self->pool;
    wsqi_a32 *seat = NULL;
    uint32_t mine = self->index + 1, round = 0;
    uint64_t start = 0;
    for (unsigned i = 0; i < pool->global_lanes && seat == NULL; i++) {
        wsqi_a32 *one = &pool->seats[(self->index + i) % pool->global_lanes].seeker;
        uint32_t nobody = 0;
        /* Relaxed: a seat publishes nothing. Failure: another thread has taken the seat. */
        if (wsqi_load_hint(one) == 0 && wsqi_cas_rlx(one, &nobody, mine)) seat = one;
    }
    while (seat != NULL && wsqi_load_hint(seat) == mine && wsqi_spin(pool, round, &start) &&
           wsqi_load_hint(&self->inbox.count) == 0 && !wsqi_dismissed(self) &&
           wsqi_free_permits(wsqi_load_hint(&pool->permits)) == 0)
        wsqi_backoff(round++, NULL);
    /* Relaxed: a seat publishes nothing. Failure: a thread has passed its permit to this one. */
    if (seat == NULL || wsqi_cas_rlx(seat, &mine, 0u)) return wsqi_permit_take(self);
    wsqi_permit_set(self, true);
    return true;
}

/* ---- the loop of a thread ---- */

/* The loop of a worker, a stand-in or a lent thread, which is on duty. The thread runs what it
 * finds; without a permit, only tasks that are pinned to it. If it finds nothing, it sleeps. The
 * loop ends when the pool is over, or a lent thread is dismissed. */
static void wsqi_serve(void *block) {
    wsqi_worker *self = (wsqi_worker *)block;
    wsq_pool *pool = self->pool;
    wsqi_block_enter(self);
    wsqi_event(self, WSQ_EVENT_START, NULL, 0);
    if (self->index >= pool->workers) { /* a stand-in begins as an idle thread */
        /* The lock's next holder (wsqi_threads_ensure) sees this thread in one of two counts. */
        wsqi_lock(pool, &pool->lock);
        wsqi_add_hint(&pool->made.coming, 0u - 1u);
        uint64_t s = wsqi_idle_begin(self);
        wsqi_unlock(pool, &pool->lock);
        wsqi_sleep_idle(self, NULL, s);
    }
    while (!self->asks || !wsqi_dismissed(self)) {
        bool may = !self->asks || self->permit || wsqi_permit_take(self);
        bool ran = may ? wsqi_step(self) : wsqi_pinned_run(self, false);
        if (!may) wsqi_permit_give(self); /* moves tasks that were queued here without a permit */
        if (ran) continue;
        if (may && wsqi_linger(self)) continue;
        if (!may) wsqi_turn_stop(self);
        if (!may && wsqi_permit_seek(self)) continue;
        wsqi_sleep(self, NULL);
        /* In a pool that is over, the thread in wsq_pool_shutdown cancels the tasks that are queued
         * now. The driver must not be asked again: its wait may have returned events that
         * wsqi_driver_leave did not dispatch, because the pool was over. */
        if (wsqi_load_hint(pool->phase) == WSQI_PHASE_OVER) break;
    }
    wsqi_permit_give(self);
    wsqi_turn_stop(self);
    wsqi_event(self, WSQ_EVENT_STOP, NULL, 0);
    wsqi_block_leave(self); /* in a lend_only pool, another thread may take it now */
    wsqi_duty_end(pool);
}

static bool wsqi_worker_start(wsqi_worker *self) {
    wsq_pool *pool = self->pool;
    char name[24], index[8];
    int bytes = snprintf(index, sizeof index, "-%u", self->index & 0xffff);
    snprintf(name, sizeof name, "%.*s%s", 15 - bytes, pool->name, index);
    /* Relaxed: the caller holds the pool's lock, or the pool is not shared yet. */
    wsqi_add_rlx(&pool->duty.threads, 1u);
    (void)wsqi_lease_take(self); /* for the new thread */
    if (wsqi_thread_start(&self->thread, wsqi_serve, self, pool->config.stack_size, name))
        return true;
    wsqi_store_hint(&self->lease, wsqi_lease_next(self));
    wsqi_add_rlx(&pool->duty.threads, 0u - 1u); /* Relaxed: as in the add above. */
    return false;
}

/* ---- stand-ins ---- */

/* Starts one more stand-in, which begins as an idle thread. The caller holds the pool's lock.
 * False: all max_standins are started, the pool is over, or there is no memory or no thread. */
static bool wsqi_standin_start(wsq_pool *pool) {
    unsigned index = wsqi_threads_started(pool);
    if (!wsqi_standins_left(pool) || wsqi_load_locked(pool->phase) == WSQI_PHASE_OVER) return false;
    wsqi_worker *block = wsqi_block_make(pool, index);
    if (block == NULL) return false;
    /* B2: a thread that reads the new count finds the block filled. Pairs with B1. The block is
     * counted before its thread can queue tasks, so a look at all queues misses no task. (If the
     * start fails, the block stays counted. So wsqi_alone returns false, and the only worker of a
     * pool notifies for its tasks from then on, and so tries to start the thread again.) */
    wsqi_store_rel(&pool->made.threads, index + 1);
    if (!wsqi_worker_start(block)) return false;
    wsqi_add_hint(&pool->made.standins, 1u);
    wsqi_add_hint(&pool->made.coming, 1u); /* (the new thread waits for the lock before it comes) */
    return true;
}

/* Is there a thread for each free permit, and for `more` permits that are about to become free? A
 * no is sure only under the pool's lock: a stand-in that becomes idle is for a moment in neither
 * count. A yes counts only the permits that are free now, so each thread that makes one free asks
 * again (wsqi_permit_offer). (S does not count a stand-in from its start: a waker could count it as
 * a searcher while its hook for WSQ_EVENT_START runs.) */
static bool wsqi_threads_suffice(wsq_pool *pool, uint32_t more) {
    /* B7: `coming` does not count a thread that S counts here as idle, or that has taken a permit
     * here. Pairs with B8. */
    uint64_t s = wsqi_load_acq(&pool->permits);
    return wsqi_idle(s) + wsqi_load_hint(&pool->made.coming) >= wsqi_free_permits(s) + more;
}

/* Starts stand-ins until wsqi_threads_suffice says yes. False: there still are too few threads.
 * freed: the caller has just made a permit free. Other callers may come before each task or
 * wait, so after four failed starts they try only every 16th time (wsqi_worth). While one caller
 * starts a thread, others wait for the lock. (If they counted on that thread, and its start failed,
 * their work would lie beside a free permit.) From the moment at which `coming` counts the
 * thread, nobody need start one in its place: before it sleeps, it looks for work. */
static bool wsqi_threads_ensure(wsq_pool *pool, uint32_t more, bool freed) {
    uint32_t former = wsqi_load_hint(&pool->made.failed), failed = former + 1;
    if (wsqi_threads_suffice(pool, more)) return true;
    if (pool->config.max_standins == 0 || wsqi_forked(pool)) return false;
    if (!freed && !wsqi_worth(former)) {
        wsqi_store_hint(&pool->made.failed, failed);
        return false;
    }
    bool ready;
    wsqi_lock(pool, &pool->lock);
    while (!(ready = wsqi_threads_suffice(pool, more)) && wsqi_standin_start(pool)) {}
    if (ready || !wsqi_standins_left(pool)) failed = 0; /* nothing is left to try again */
    wsqi_store_hint(&pool->made.failed, failed);
    wsqi_unlock(pool, &pool->lock);
    return ready;
}

/* There is a queued task. Is there a thread for a free permit? The thread that made it free
 * starts a stand-in if necessary, or offers the permit to a waiting thread (wsqi_permit_give). So
 * this tries a start only if the last one has failed, and not each time (wsqi_threads_ensure). */
static void wsqi_thread_want(wsq_pool *pool) {
    uint64_t s = wsqi_load_hint(&pool->permits);
    if (wsqi_searching(s) != 0 || wsqi_free_permits(s) == 0 || wsqi_idle(s) != 0) return;
    if (wsqi_load_hint(&pool->made.failed) != 0) (void)wsqi_threads_ensure(pool, 0, false);
}

/* ---- a thread that blocks gives back its permit in each pool that it works for ---- */

/* Does this block give its permit back when the thread blocks? A thread may be inside several pools
 * and calls of wsq_run; `outer` links its blocks. Of its blocks in one pool, only the outermost can
 * have the thread's permit. In a caller_runs pool each worker's block keeps its permit. In a child
 * of fork() no permit changes any more. */
static bool wsqi_gives_permit(const wsqi_worker *block) {
    const wsqi_worker *outer = block->outer;
    while (outer != NULL && outer->pool != block->pool) outer = outer->outer;
    return outer == NULL && !block->pool->config.caller_runs && !wsqi_forked(block->pool);
}

/* Loops over those blocks of this thread that can have permits, from `first` outward. */
#define wsqi_each_pool(block, first) \
    for (wsqi_worker *block = (first); block != NULL; block = block->outer) \
        if (wsqi_gives_permit(block))

/* The thread has blocked, and goes on: in each of its pools it takes a permit if one is free there.
 * But between wsq_block_begin and wsq_block_end it gives back a permit that a wait has taken. */
static void wsqi_thread_resumes(void) {
    wsqi_each_pool(block, wsqi_self_get()) {
        bool blocks = block->depth.blocking != 0;
        if (block->permit && blocks) wsqi_permit_give(block);
        else if (!block->permit && !blocks) (void)wsqi_permit_take(block);
    }
}

/* The thread is about to block or wait, and gives the permit of one of its blocks back: to a thread
 * that seeks one in a seat, else it becomes free. True: the block has a permit now. That can be
 * only if `keeps` is set: then it keeps its permit, or takes a free one, if no other thread could
 * use that. */
static bool wsqi_permit_release(wsqi_worker *block, bool keeps) {
    wsq_pool *pool = block->pool;
    if (block->permit && !wsqi_permit_pass(block)) {
        bool other = pool->config.max_standins != 0 && wsqi_threads_ensure(pool, 1, false);
        if (keeps && !other) return true;
        wsqi_permit_give(block);
        return false;
    }
    if (wsqi_spill_all(block)) wsqi_notify(pool); /* others must run the block's tasks now */
    if (!keeps || wsqi_free_permits(wsqi_load_hint(&pool->permits)) == 0) return false;
    return !wsqi_threads_ensure(pool, 0, false) && wsqi_permit_take(block);
}

/* The thread is about to block or wait, and gives back its permits in all its pools, but the block
 * `keeper` (NULL: none) keeps a permit that no other thread could use. True: it has kept it, so
 * the thread must run tasks in its wait. A join gives its permit back (wait->gives) if another
 * thread needs it, or if the join may run no other jobs (wsqi_join_sleep). Else the join keeps the
 * permit until a producer asks for it (wsqi_joiner_ask): to give it back each time is slow. */
static bool wsqi_thread_blocks(const wsqi_wait *wait, const wsqi_worker *keeper) {
    bool kept = false;
    wsqi_each_pool(block, wsqi_self_get()) {
        bool join = wait != NULL && wait->job != NULL && wait->pool == block->pool;
        if (join && !wait->gives) continue;
        bool guest = block->use == WSQI_USE_GUEST;
        if (!guest && wsqi_permit_release(block, block == keeper)) kept = true;
        if (guest && block->permit) wsqi_permit_give(block); /* S only counts a guest as at work */
    }
    return kept;
}

WSQ_API void wsq_block_begin(wsq_ctx ctx) {
    wsqi_check_ctx(ctx);
    wsqi_each_pool(block, wsqi_worker_of(ctx)) {
        if (block->depth.blocking++ == 0) wsqi_event(block, WSQ_EVENT_BLOCK, NULL, 0);
    }
    (void)wsqi_thread_blocks(NULL, NULL);
}

WSQ_API void wsq_block_end(wsq_ctx ctx) {
    wsqi_check_ctx(ctx);
    wsqi_each_pool(block, wsqi_worker_of(ctx)) {
        WSQ_ASSERT("wsq_block_end without its wsq_block_begin" && block->depth.blocking != 0);
        if (--block->depth.blocking == 0) wsqi_event(block, WSQ_EVENT_UNBLOCK, NULL, 0);
    }
    wsqi_thread_resumes();
}

/* ---- lent threads ---- */

/* Can threads be lent to this pool? */
static bool wsqi_borrows(const wsq_pool *pool) {
    return pool != NULL && pool->config.lend_only;
}

WSQ_API wsq_result wsq_worker_enter(wsq_pool *pool) {
    if (!wsqi_borrows(pool)) return WSQ_ERR_INVALID;
    if (wsqi_forked(pool)) return WSQ_ERR_FORKED;
    if (wsqi_inside(pool) != NULL) return WSQ_ERR_INVALID;
    wsqi_duty_begin(pool);
    /* Relaxed: after the full barrier (P4) in wsqi_duty_begin, either this thread sees the pool
     * stop, or the shutdown waits until this thread goes off duty. */
    bool running = wsqi_load_rlx(pool->phase) == WSQI_PHASE_RUN;
    wsqi_worker *self = NULL;
    for (unsigned i = 0; i < pool->workers && running && self == NULL; i++)
        if (wsqi_lease_take(wsqi_block(pool, i))) self = wsqi_block(pool, i);
    if (self != NULL) wsqi_serve(self);
    else wsqi_duty_end(pool);
    return self != NULL ? WSQ_OK : running ? WSQ_ERR_INVALID : WSQ_ERR_CLOSED;
}

WSQ_API void wsq_worker_dismiss(wsq_pool *pool, unsigned worker) {
    if (!wsqi_borrows(pool) || worker >= pool->workers || wsqi_forked(pool)) return;
    wsqi_worker *self = wsqi_block(pool, worker);
    if (wsqi_dismiss(self)) wsqi_unpark(&self->parker);
}

/* ==========================================================================
 * >>wait: one wait, of any thread, for anything
 * Purpose:   what a thread does in a wait: it lets another thread work in its place, runs tasks
 *            itself, or only sleeps.
 * Invariant: a waiting thread enters its bucket (a list in the pool), and marks the awaited task,
 *            group or job (in wsq_pool_wait it counts itself instead). Then it looks whether the
 *            wait is over, and sleeps until it is called. A bucket knows objects by address only,
 *            so no thread touches a task that is gone.
 * Writers:   a wait's links: the holder of the bucket's lock. `parker`: the waiting thread, under
 *            that lock. `called`: any thread. All else: the waiting thread.
 * Source:    Linux's futex, whose waiter looks once more before it sleeps.
 * ========================================================================== */

/* On one stack at most WSQI_WAIT_DEPTH nested waits run other tasks than the awaited one. A deeper
 * wait first gives its permit back. If no other thread takes the permit within WSQI_OFFER_NS, the
 * deeper wait runs tasks, too, as long as the stack has WSQI_WAIT_BYTES for each wait that runs
 * tasks. Beyond that a wait only sleeps. The stack's bound also holds for waits that run what they
 * await, as long as another thread could do that (wsqi_may_run_awaited). In a caller_runs pool
 * none of these bounds holds. (A wait takes about 600 bytes. All are guesses.) */
#define WSQI_WAIT_DEPTH 64
#define WSQI_WAIT_BYTES 8192
#define WSQI_OFFER_NS 100000u

/* How many waits may run tasks on one stack of the pool: at most `most`. */
static uint32_t wsqi_wait_depth(const wsq_pool *pool, uint32_t most) {
    size_t room = pool->config.stack_size / WSQI_WAIT_BYTES; /* 0: perhaps unknown */
    return pool->config.stack_size == 0 || room > most ? most : (uint32_t)room;
}

static void wsqi_wait_begin(wsqi_wait *wait, wsq_pool *pool, const void *key, uint64_t timeout_ns) {
    wsqi_worker *block = wsqi_self_get();
    uint64_t now = timeout_ns != WSQ_FOREVER ? wsqi_clock_ns() : 0;
    memset((void *)wait, 0, sizeof *wait);
    wait->pool = pool;
    wait->self = wsqi_local(pool);
    wait->key = key;
    /* `inside` is true for a guest or helper only while it runs a job or task of the pool. A
     * shutdown waits for the thread only then. */
    wait->inside = wait->self != NULL || wsqi_is_in_job(pool);
    wait->deadline = timeout_ns < WSQI_NEVER - now ? now + timeout_ns : WSQI_NEVER;
    wsqi_store_init(&wait->called, (uint32_t)WSQI_CALL_NONE);
    wsqi_store_init(&wait->asleep, 0u);
    wsqi_store_init(&wait->own.token, WSQI_TOKEN_NONE);
    wait->own.parking = &pool->parking;
    /* A worker sleeps on its own parker, also in a wsq_run, where `block` is a spare one. */
    if (wait->self != NULL) block = wait->self;
    wait->parker = block != NULL ? &block->parker : &wait->own;
}

/* Enters the wait's bucket, so that other threads can call this thread, and clears an earlier call.
 * So this thread must look next whether the wait is over. True: the earlier call came from a
 * shutdown, which ends this wait because the wait would last for ever. */
static bool wsqi_wait_listen(wsqi_wait *wait) {
    if (wait->bucket == NULL) {
        wsqi_wait_bucket *bucket = wsqi_bucket_for(wait->pool, wait->key);
        wait->since = WSQI_LISTS && wait->pool->listing != NULL ? wsqi_clock_ns() : 0;
        wsqi_lock(wait->pool, &bucket->lock);
        wait->bucket = bucket;
        wait->next = bucket->first;
        wait->link = &bucket->first;
        if (wait->next != NULL) wait->next->link = &wait->next;
        bucket->first = wait;
        wsqi_unlock(wait->pool, &bucket->lock);
    }
    /* W2: if this thread was called, it sees what the calling thread changed. Pairs with W1. */
    return wsqi_xchg_acq(&wait->called, (uint32_t)WSQI_CALL_NONE) == WSQI_CALL_RELEASE;
}

/* From here on the thread sleeps on this parker. Before it sleeps, it must check wsqi_wait_called,
 * because a call that came earlier gave the token to the former parker. */
static void wsqi_wait_move(wsqi_wait *wait, wsqi_parker *parker) {
    wsqi_lock(wait->pool, &wait->bucket->lock);
    wait->parker = parker;
    wsqi_unlock(wait->pool, &wait->bucket->lock);
}

static const void *wsqi_wait_subject(const wsqi_wait *wait) {
    return wait->job != NULL ? (const void *)wait->job : wait->key;
}

/* Reports BLOCK or UNBLOCK to the pool in which the thread runs a task or a wsq_run now. This is
 * mostly wait->pool. A thread that is in no pool reports nothing. */
static void wsqi_wait_report(const wsqi_wait *wait, wsq_event event) {
    wsqi_worker *block = wsqi_self_get();
    if (block != NULL) wsqi_event(block, event, wsqi_wait_subject(wait), 0);
}

/* If the thread works in a caller_runs pool, it lets another thread work there from here on. */
static void wsqi_wait_unpump(wsqi_wait *wait) {
    if (wait->pumps) wsqi_pump_leave(wait->pool);
    wait->pumps = false;
}

static void wsqi_wait_end(wsqi_wait *wait) {
    if (wait->bucket != NULL) {
        wsqi_lock(wait->pool, &wait->bucket->lock);
        *wait->link = wait->next;
        if (wait->next != NULL) wait->next->link = wait->link;
        wsqi_unlock(wait->pool, &wait->bucket->lock);
    }
    wsqi_wait_unpump(wait);
    wsqi_thread_resumes();
    if (wait->blocked) wsqi_wait_report(wait, WSQ_EVENT_UNBLOCK);
    if (wait->self == NULL) return;
    /* Between wsq_block_begin and wsq_block_end the thread cannot use a permit. */
    if (wait->was_offered && !wait->self->permit) wsqi_permit_offer(wait->pool);
    if (wait->self->searching) wsqi_search_end(wait->self);
    wsqi_check_beside(wait->pool);
}

/* Takes a guest or helper off duty before it sleeps in a wait. On duty it would hold up a shutdown,
 * which waits until all threads on duty are idle: S never counts guests and helpers as idle. */
static void wsqi_wait_off_duty(wsqi_wait *wait) {
    if (!wait->inside || wait->self != NULL) return;
    wsqi_store_rlx(&wait->asleep, 1u); /* Relaxed: P6 in wsqi_duty_end shows it to a shutdown. */
    wsqi_duty_end(wait->pool);
}

static void wsqi_wait_on_duty(wsqi_wait *wait) {
    if (!wait->inside || wait->self != NULL) return;
    wsqi_duty_begin(wait->pool);
    wsqi_store_hint(&wait->asleep, 0u);
}

/* How long a thread outside looks for the end of its wait before it sleeps: longer than a worker
 * takes to wake up for the task (20 us, KVM). Then, if the thread spawns and waits again and again,
 * the worker still searches when the next task comes. */
#define WSQI_LOOK_NS 50000u

/* Looks for the end of the wait for up to WSQI_LOOK_NS before the thread sleeps. Only two kinds of
 * threads look: a thread that is in no pool, and a helper that waits inside a task. In a
 * caller_runs pool no thread looks. If the looks of four waits in a row were useless, only every
 * 16th wait looks. */
static void wsqi_wait_look(wsqi_wait *wait) {
    wsq_pool *pool = wait->pool;
    const wsqi_worker *block = wsqi_self_get();
    uint32_t vain = wsqi_load_hint(&pool->vain_looks);
    if ((block != NULL && block->use != WSQI_USE_HELPS) ||
        pool->spin.rounds == 1 || /* caller_runs: see wsqi_pool_init */
        (pool->processors == 1 && wait->deadline != WSQI_NEVER))
        return;
    bool useful = true;
    if (wsqi_worth(vain)) {
        uint64_t end = wsqi_clock_ns() + WSQI_LOOK_NS;
        if (end > wait->deadline) end = wait->deadline;
        while (!wsqi_wait_called(wait) && wsqi_clock_ns() < end) {
            /* The thread yields, because the worker that it waits for may need this processor. But
             * the thread may get the processor back late. So with a deadline it does not yield;
             * with a deadline and only one processor for the pool, it does not even look. */
            if (wait->deadline == WSQI_NEVER) wsqi_thread_yield();
            wsqi_pause();
        }
        /* A look is also useless if the thread gets its processor back after `end`: then another
         * program needs the processor, and a thread that sleeps gets it back sooner than one that
         * yields. */
        useful = wsqi_clock_ns() < end;
    }
    useful = useful && wsqi_wait_called(wait);
    wsqi_store_hint(&pool->vain_looks, useful ? 0 : vain + 1);
    /* If the pool's only worker ran a task that this thread could have run in its wait, the task
     * counts as one that a helper took. Then the worker lingers (wsqi_linger), and this thread can
     * run the next task. */
    if (pool->workers == 1 && pool->may_help && (wait->task != NULL || wait->group != NULL) &&
        wait->deadline == WSQI_NEVER && wsqi_wait_called(wait))
        wsqi_helped_one(wsqi_lane_own(pool));
}

/* The thread sleeps until it is called or its deadline comes. It may wake up for no reason, too. */
static void wsqi_wait_park(wsqi_wait *wait) {
    if (wait->self != NULL) wsqi_event(wait->self, WSQ_EVENT_PARK, NULL, 0);
    wsqi_wait_look(wait);
    wsqi_wait_off_duty(wait);
    if (!wsqi_wait_called(wait)) wsqi_park(wait->parker, wait->deadline, NULL);
    wsqi_wait_on_duty(wait);
    if (wait->self != NULL) wsqi_event(wait->self, WSQ_EVENT_UNPARK, NULL, 0);
}

/* Reports BLOCK, only once in a wait, then gives the permits back. True: `keeper` has kept its
 * permit, as wsqi_thread_blocks says. */
static bool wsqi_wait_block(wsqi_wait *wait, const wsqi_worker *keeper) {
    if (!wait->blocked) wsqi_wait_report(wait, WSQ_EVENT_BLOCK);
    wait->blocked = true;
    return wsqi_thread_blocks(wait, keeper);
}

/* Runs one task of a caller_runs pool in a wait or, if there is none, sleeps as worker 0. The
 * thread stays the working one until its wait ends. (If it left after each task, it would each time
 * wake all waiting threads for nothing.) */
static void wsqi_wait_pump(wsqi_wait *wait) {
    wsq_pool *pool = wait->pool;
    (void)wsqi_thread_blocks(wait, NULL); /* gives back the thread's permits in other pools */
    if (!wsqi_pump(pool) && !wsqi_wait_called(wait)) { /* no task is left, and no call came */
        wsqi_worker *first = wsqi_block(pool, 0);
        wsqi_parker *former = wait->parker;
        (void)wsqi_wait_block(wait, NULL);
        wsqi_wait_move(wait, &first->parker);
        wsqi_wait_off_duty(wait);
        wsqi_sleep(first, wait);
        /* Worker 0 must not stay a searcher: the thread may act as another worker next. */
        if (first->searching) wsqi_search_end(first);
        wsqi_wait_on_duty(wait);
        wsqi_wait_move(wait, former);
    }
}

/* Is the awaited task pinned to the waiting thread? Then it can only run on top of this wait. */
static bool wsqi_wait_pinned(const wsqi_wait *wait) {
    uint32_t flags = wait->task != NULL ? wsqi_load_own(&wait->task->flags) : 0;
    return (flags & WSQI_FLAG_PINNED) != 0 &&
           flags >> WSQI_FLAG_INDEX_AT == wait->self->index;
}

/* What a worker may run in its wait. Each value allows more than the one before. "Pinned" here
 * means: pinned to this thread, so that no other thread may run the task. */
typedef enum wsqi_may {
    WSQI_MAY_NOTHING, /* it only sleeps */
    WSQI_MAY_OFFER,   /* nothing yet: it gives its permit back, and sleeps for WSQI_OFFER_NS */
    WSQI_MAY_PINNED,  /* as OFFER, but it runs pinned tasks meanwhile, because it waits for one */
    WSQI_MAY_ALL      /* pinned tasks and, if it keeps a permit or the pool stops, others */
} wsqi_may;

static wsqi_may wsqi_wait_may(const wsqi_wait *wait) {
    const wsqi_worker *self = wait->self;
    if (self->depth.waits < wsqi_wait_depth(wait->pool, WSQI_WAIT_DEPTH)) return WSQI_MAY_ALL;
    if (self->depth.waits >= wsqi_wait_depth(wait->pool, UINT32_MAX)) return WSQI_MAY_NOTHING;
    /* The offer may have begun in an earlier wait, which has timed out. */
    bool early = self->depth.offer == 0 || wsqi_clock_ns() < self->depth.offer + WSQI_OFFER_NS;
    if (wait->ran_others || !early) return WSQI_MAY_ALL;
    return wsqi_wait_pinned(wait) ? WSQI_MAY_PINNED : WSQI_MAY_OFFER;
}

/* The thread has given its permit back in a deep wait. It sleeps, at most until the offer ends. */
static void wsqi_wait_offer(wsqi_wait *wait) {
    uint64_t *offer = &wait->self->depth.offer, deadline = wait->deadline;
    if (*offer == 0) *offer = wsqi_clock_ns();
    if (*offer + WSQI_OFFER_NS < deadline) wait->deadline = *offer + WSQI_OFFER_NS;
    wsqi_wait_park(wait);
    wait->deadline = deadline;
}

/* The thread has no permit. It sleeps until it is called, or until another thread offers it one. */
static void wsqi_wait_for_permit(wsqi_wait *wait) {
    wsq_pool *pool = wait->pool;
    wsqi_a64 *word = &pool->bitmap.takers[wait->self->index / 64];
    wsqi_or_acqrel(word, wsqi_bit(wait->self)); /* I5: offers may come from here on */
    /* B12: this thread sees a free permit that no other thread can use, or the thread that makes it
     * free sees the bit. Pairs with B11. */
    wsqi_fence_sc();
    if (wsqi_threads_suffice(pool, 0)) wsqi_wait_park(wait);
    /* I5: as above. A claimed bit: this thread takes the offered permit, or passes it on. */
    if ((wsqi_and_acqrel(word, ~wsqi_bit(wait->self)) & wsqi_bit(wait->self)) == 0)
        wait->was_offered = true;
}

/* Runs one task in a wait: if `pinned`, one that is pinned to this thread; otherwise any. If there
 * is none, and `pinned` is false, sleeps as an idle worker. */
static void wsqi_wait_run(wsqi_wait *wait, bool pinned) {
    wsqi_worker *self = wait->self;
    if (pinned) {
        wsqi_thread_resumes(); /* the pinned task runs with a permit, if one is free */
    } else {
        wait->ran_others = true;
        self->depth.offer = 0;
        wsqi_empty_end(self); /* without a permit: the pool stops, and the thread takes its tasks */
    }
    self->depth.waits++;
    self->search.wait = wait;
    bool ran = pinned ? wsqi_pinned_run(self, true) : wsqi_step_above(self, NULL);
    self->search.wait = NULL;
    self->depth.waits--;
    if (!ran && !pinned) wsqi_sleep(self, wait);
}

/* One round of a wait: the thread runs one task; or it sleeps, at most until its deadline. (In a
 * wait without a deadline, wsqi_run_awaited has already run the awaited tasks of the thread's
 * queue.) In a join the thread runs no task. In other waits it runs tasks that are pinned to it,
 * because no other thread may run these. If no other thread could use its permit, it keeps the
 * permit, and runs other tasks, too. In a cancelling shutdown a worker or stand-in in a task
 * cancels the tasks that it finds, also without a permit. A guest or helper only sleeps here. */
static void wsqi_wait_round(wsqi_wait *wait) {
    wsq_pool *pool = wait->pool;
    wsqi_worker *self = wait->self;
    /* A shutdown that begins after this look at the phase wakes the thread. */
    bool running = wsqi_load_hint(pool->phase) == WSQI_PHASE_RUN;
    bool works = running ? wait->job == NULL : wait->inside;
    if (works && (wait->pumps || wsqi_pump_enter(pool))) {
        wait->pumps = true;
        wsqi_wait_pump(wait);
        return;
    }
    wsqi_wait_unpump(wait);
    wsqi_may may = WSQI_MAY_NOTHING;
    if (works && self != NULL) /* in a cancelled pool it cancels tasks, at any depth */
        may = running ? wsqi_wait_may(wait) : WSQI_MAY_ALL;
    bool all = may == WSQI_MAY_ALL, pinned = false;
    if (running || !all) {
        all = wsqi_wait_block(wait, all ? self : NULL);
        /* A thread that has given its permit back runs only pinned tasks. One that has kept it runs
         * a pinned task and another task alternately. */
        pinned = may >= WSQI_MAY_PINNED && (!all || !wait->pinned) &&
                 wsqi_load_hint(&self->inbox.count) != 0;
        wait->pinned = pinned;
    }
    if (all || pinned) {
        wsqi_wait_run(wait, pinned);
    } else if (may == WSQI_MAY_OFFER || may == WSQI_MAY_PINNED) {
        wsqi_wait_offer(wait);
    } else {
        if (self != NULL) self->depth.offer = 0; /* another thread has the permit */
        if (may == WSQI_MAY_ALL) wsqi_wait_for_permit(wait);
        else wsqi_wait_park(wait);
    }
}

/* ==========================================================================
 * >>await: waits for a pool, a task, a group
 * Purpose:   wsq_pool_wait, wsq_task_wait, wsq_group_wait, and their forms with a time-out.
 * Invariant: a wait calls wsqi_wait_listen before each look whether it is over. A worker that waits
 *            without a time-out first runs the awaited tasks that it finds in its own queue, each
 *            once. If the wait is not over then, the worker blocks.
 * Writers:   waiters: each thread in wsq_pool_wait counts itself. The mark in a task or group: a
 *            thread that waits for it.
 * Source:    the leapfrogging of Wagner and Calder (1993), here only with awaited tasks.
 * ========================================================================== */

/* Is the pool over, and has every thread stopped running and cancelling tasks? */
static bool wsqi_over(const wsq_pool *pool) {
    /* P5: what tasks and cleanups did is visible. Pairs with P6. */
    if (wsqi_load_acq(pool->phase) != WSQI_PHASE_OVER) return false;
    return wsqi_load_acq(&pool->duty.threads) == 0; /* P5: as above */
}

/* If tasks wait for each other, wsq_pool_wait reports that only if nothing changes for this time,
 * because a thread may be about to spawn what they wait for. A guess. */
#define WSQI_STUCK_NS 1000000000u

WSQ_API wsq_result wsq_pool_wait_for(wsq_pool *pool, uint64_t timeout_ns) {
    if (pool == NULL) return WSQ_ERR_INVALID;
    if (wsqi_forked(pool)) return WSQ_ERR_FORKED;
    if (wsqi_inside(pool) != NULL || wsqi_sweeps(pool)) return WSQ_ERR_INVALID;
    wsqi_wait wait;
    bool quiet, over;
    wsqi_wait_begin(&wait, pool, pool, timeout_ns);
    uint64_t stuck_until = WSQI_NEVER, deadline = wait.deadline, mark = 0;
    wsqi_add_rlx(&pool->waiters, 1u); /* Relaxed: the barrier W5 follows. */
    /* W5: either this thread sees the last task's end in the counts, or the thread that counted the
     * end sees this waiter, and calls it. Pairs with W4. */
    wsqi_fence_sc();
    for (;;) {
        wsqi_wait_listen(&wait);
        over = wsqi_over(pool);
        quiet = wsqi_unfinished(pool) == 0;
        uint64_t before = mark;
        bool stuck = wsqi_stuck(pool, &mark);
        if (!stuck && wsqi_load_hint(&pool->duty.stuck) != 0) {
            wsqi_store_hint(&pool->duty.stuck, 0u);
            /* W5: either this thread sees the pool stuck, or the thread that made it so sees 0, and
             * calls this one. Pairs with W4. */
            wsqi_fence_sc();
            stuck = wsqi_stuck(pool, &mark);
        }
        /* A task can run, or one has ended or become held since the last look. */
        if (!stuck || mark != before) stuck_until = WSQI_NEVER;
        if (stuck && stuck_until == WSQI_NEVER) stuck_until = wsqi_clock_ns() + WSQI_STUCK_NS;
        wait.deadline = deadline < stuck_until ? deadline : stuck_until;
        if (quiet || over || wsqi_wait_expired(&wait)) break;
        wsqi_wait_round(&wait);
    }
    wsqi_add_hint(&pool->waiters, 0u - 1u); /* a thread may still call this one: no harm */
    wsqi_wait_end(&wait);
    if (quiet) return WSQ_OK;
    if (over) return WSQ_ERR_CANCELLED;
    return deadline < stuck_until ? WSQ_ERR_TIMEOUT : WSQ_ERR_INVALID;
}

WSQ_API wsq_result wsq_pool_wait(wsq_pool *pool) { return wsq_pool_wait_for(pool, WSQ_FOREVER); }

static bool wsqi_is_wanted(const wsq_task *next, const wsq_task *task, const wsq_group *group) {
    return next == task || (group != NULL && wsqi_task_group(next) == group);
}

/* The owner has taken `item`, the oldest of its ring; `item` is not awaited. This gives the ring a
 * new order: first the awaited tasks among the next `most` items; then `item` and all others, in
 * their former order. Returns how many awaited tasks come first. */
static size_t wsqi_ring_prefer(wsqi_worker *self, void *item, const wsq_task *task,
                               const wsq_group *group, size_t most) {
    void *first[2] = {NULL, NULL}; /* two chains of items: [0] awaited tasks, [1] others */
    wsq_task *last[2] = {NULL, NULL};
    size_t count = 0;
    uint32_t left = wsqi_ring_pop_all(&self->ring), tail = wsqi_load_own(&self->ring.tail);
    for (size_t i = 0; item != NULL; i++) {
        wsq_task *one = wsqi_unmarked(item);
        bool other = i > most || !wsqi_is_wanted(one, task, group);
        count += !other;
        wsqi_set(&one->next, (wsq_task *)NULL);
        if (last[other] != NULL) wsqi_set(&last[other]->next, (wsq_task *)item);
        else first[other] = item;
        last[other] = one;
        item = left != 0 ? wsqi_get(&self->ring.items[(tail - left--) & WSQI_RING_MASK]) : NULL;
    }
    for (int other = 0; other < 2; other++) {
        for (void *next = first[other]; (item = next) != NULL;) {
            next = wsqi_get(&wsqi_unmarked(item)->next); /* read before a thief can take the task */
            wsqi_ring_return(self, item);
        }
    }
    return count;
}

/* How many of the newest tasks in its deque a worker looks at for an awaited task. A guess. */
enum { WSQI_LOOK_DEQUE = 64 };

/* Takes the awaited task, or a task of the awaited group, out of the owner's slot or queue. NULL:
 * there is none. It looks at up to *left tasks of the ring, and at the newest of the deque. Tasks
 * there that are not awaited stay, in their order; *left returns how many tasks of the ring the
 * next call must look at. A task in the slot that is not awaited moves to the queue, because the
 * owner is about to block. */
static wsq_task *wsqi_take_back(wsqi_worker *self, const wsq_task *task, const wsq_group *group,
                                size_t *left) {
    wsq_task *next = wsqi_slot_take(self);
    void *item;
    if (next != NULL && wsqi_is_wanted(next, task, group)) return next;
    if (next != NULL) wsqi_push_local(self, next);
    while (*left > 0 && (item = wsqi_ring_pop(&self->ring)) != NULL) {
        --*left;
        next = wsqi_unmarked(item);
        if (wsqi_is_wanted(next, task, group)) return next;
        *left = wsqi_ring_prefer(self, item, task, group, *left);
    }
    wsq_task *kept = NULL, *found = NULL;
    for (int i = 0; i < WSQI_LOOK_DEQUE && found == NULL; i++) {
        if ((next = wsqi_deque_take(self)) == NULL) break;
        if (wsqi_is_wanted(next, task, group)) found = next;
        else wsqi_keep(&kept, next);
    }
    wsqi_push_kept(self, kept);
    return found;
}

/* May the worker run in its wait what it waits for? It may at any depth if no stand-in is left and
 * no thread is idle, because then no other thread could go on in its place. */
static bool wsqi_may_run_awaited(const wsqi_worker *self) {
    const wsq_pool *pool = self->pool;
    return self->depth.awaited < wsqi_wait_depth(pool, UINT32_MAX) ||
           (!wsqi_standins_left(pool) && wsqi_idle(wsqi_load_hint(&pool->permits)) == 0);
}

/* Shall an urgent task come before what the worker awaits? Not in a wait so deep that it might run
 * nothing (wsqi_wait_may): without stand-ins, the awaited task would then never run. */
static bool wsqi_urgent_first(wsqi_worker *self) {
    return wsqi_has_urgent(self) &&
           self->depth.waits < wsqi_wait_depth(self->pool, WSQI_WAIT_DEPTH);
}

/* In a wait, a worker has run many awaited tasks, or for long. Do other tasks need a turn of a
 * worker? */
static bool wsqi_awaited_ends(wsq_pool *pool) {
    uint32_t others = wsqi_load_hint(&pool->lanes[WSQ_LOW].count);
    for (unsigned i = 0; i < pool->global_lanes; i++)
        others |= !wsqi_lane_empty(wsqi_global_lane(pool, i));
    return others != 0;
}

/* How long a thread in a wait runs awaited tasks before it looks for others. A guess: as long as a
 * task may wait in the global queue while all workers are busy. */
#define WSQI_AWAITED_NS 1000000u

/* After so many awaited tasks it looks for others in any case. (Fewer with a small ring, for the
 * tests.) */
#define WSQI_AWAITED_STEPS (WSQ_RING_CAPACITY < 256 ? WSQ_RING_CAPACITY : 256)

/* Has the thread run awaited tasks for WSQI_AWAITED_NS? ran: how many, so far. *until: the end of
 * that time; this sets it after the first task. To save time it reads the clock only after 1, 2, 4,
 * 8 tasks and so on, and after each WSQI_AWAITED_STEPS. */
static bool wsqi_awaited_long(size_t ran, uint64_t *until) {
    if (ran == 0 || ((ran & (ran - 1)) != 0 && ran % WSQI_AWAITED_STEPS != 0)) return false;
    uint64_t now = wsqi_clock_ns();
    if (ran == 1) *until = now + WSQI_AWAITED_NS;
    return now >= *until;
}

/* The worker is about to run an awaited task in its wait. This brings its next turn nearer. But a
 * turn would also take tasks that are not awaited. So if the turn is due, the worker only looks
 * for timers and events, four times in the time between two turns: these may queue an urgent task,
 * which then comes first. */
static void wsqi_awaited_watch(wsqi_worker *self) {
    wsqi_turn *turn = &self->turn;
    uint32_t *next = turn->left != 0 ? &turn->left : &turn->watch;
    if (*next != 0) {
        --*next;
        return;
    }
    turn->watch = self->tune.interval / 4;
    wsqi_keep_watch(self);
}

/* Before the worker blocks, runs the awaited tasks that lie in its own slot and queue now, each
 * once. (It counts its steps, because two tasks that wake each other come back to the slot again
 * and again.) It stops early at an urgent task; and, if others need a turn (wsqi_awaited_ends),
 * after each WSQI_AWAITED_STEPS steps, or after each step once WSQI_AWAITED_NS are over. (In a
 * caller_runs pool only steps count, because the order must not depend on the clock.) It notifies,
 * because searchers may miss a task that wsqi_take_back moves from the slot to the queue. */
static void wsqi_run_awaited(wsqi_worker *self, const wsq_task *task, const wsq_group *group) {
    wsq_task *mine;
    size_t left = wsq_ring_length(&self->ring), most = wsqi_queue_length(self) + 1, steps = 0;
    uint64_t until = 0;
    bool late = false;
    self->depth.awaited++;
    while (steps++ < most) {
        wsqi_awaited_watch(self);
        if (wsqi_urgent_first(self)) break;
        if ((mine = wsqi_take_back(self, task, group, &left)) == NULL) break;
        wsqi_notify_others(self);
        wsqi_step_above(self, mine);
        if (task != NULL || wsq_group_pending(group) == 0) break;
        late = late || (!self->pool->config.caller_runs && wsqi_awaited_long(steps, &until));
        /* If the tasks have suddenly become longer, a turn is due. */
        if (late) self->turn.left = self->turn.watch = 0;
        if ((late || steps % WSQI_AWAITED_STEPS == 0) && wsqi_awaited_ends(self->pool)) break;
    }
    self->depth.awaited--;
    wsqi_notify_others(self);
}

/* A thread outside looks for an awaited task only among the 8 oldest tasks of its lane. A guess. */
enum { WSQI_LOOK_LANE = 8 };

/* Takes the task for a helper, without the lane's lock, if the task is alone in the lane's
 * `incoming`. (Rejected: to take it together with older tasks, and then put those back. Meanwhile
 * the older tasks are in no queue, and younger tasks overtake them.) */
static bool wsqi_take_lone(wsqi_lane *lane, wsq_task *task) {
    void *lone = wsqi_lone(task);
    /* G2: what the task's spawn wrote is visible. Pairs with G1. Failure: the task is not alone. */
    if (!wsqi_cas_acq(&lane->incoming, &lone, NULL)) return false;
    wsqi_helped_one(lane);
    return true;
}

/* Takes an awaited task for a helper out of the lane that the helper's spawns go to. NULL: there
 * is none, another thread holds the lane's lock, or a WSQ_HIGH task is queued. If the pool has one
 * worker, or is a WSQ_SHARED one, tasks start in order: the helper takes only the oldest one, and
 * under the lock, because another thread may just have older ones in hand. In other pools older
 * tasks may stay in the lane, because their spawns have notified workers. */
static wsq_task *wsqi_take_awaited(wsq_pool *pool, wsq_task *task, const wsq_group *group) {
    wsqi_lane *lane = wsqi_lane_own(pool);
    wsq_task *next = NULL, *before = NULL;
    if (wsqi_load_hint(&pool->lanes[WSQ_HIGH].count) != 0) return NULL;
    bool ordered = pool->workers == 1 || pool->config.order == WSQ_SHARED;
    if (task != NULL && wsqi_load_hint(&lane->incoming) == wsqi_lone(task) && !ordered &&
        wsqi_load_hint(&lane->length) == 0 && wsqi_take_lone(lane, task))
        return task;
    if (wsqi_lane_empty(lane)) return NULL;
    for (int tries = 0; !wsqi_lane_try(lane);) {
        if (++tries == WSQI_LOCK_TRIES) return NULL;
        wsqi_pause();
    }
    uint32_t left = wsqi_lane_collect(lane);
    int looks = ordered ? 1 : WSQI_LOOK_LANE;
    if (left != 0) next = lane->ready;
    while (next != NULL && !wsqi_is_wanted(next, task, group)) {
        before = next;
        next = --looks != 0 ? wsqi_get(&next->next) : NULL;
    }
    if (next != NULL) {
        if (before == NULL) lane->ready = wsqi_get(&next->next);
        else wsqi_set(&before->next, wsqi_get(&next->next));
        if (lane->last == next) lane->last = before;
        left--;
        /* If the first task in the lane is another one, this take does not count as a helper's. So
         * a worker that lingers sees that helpers leave the first task there (wsqi_linger). */
        if (before == NULL) wsqi_helped_one(lane);
    }
    wsqi_lane_unlock(lane, left);
    if (left != 0) wsqi_notify(pool); /* other threads may have missed the tasks that moved */
    return next;
}

/* While it has a permit, a helper runs the awaited task once, or tasks of the awaited group. These
 * may spawn others for ever, and other tasks may wait for the permit. So the helper stops after
 * WSQI_AWAITED_NS. (Not after a number of tasks: then the rest is left to a worker, which other
 * programs may keep from running; and that many long tasks keep an older one waiting.) */
static void wsqi_help_run(wsqi_worker *self, wsq_task *task, const wsq_group *group,
                          wsq_ctx floor) {
    uint64_t until = 0;
    for (uint32_t ran = 0; self->permit; ran++) {
        if (wsqi_awaited_long(ran, &until)) break;
        /* This fires late timers, as a worker does in its turn. */
        if (wsqi_load_hint(&self->pool->watch.timer_next) != WSQI_NEVER)
            (void)wsqi_timers_fire(self->pool, WSQI_TIMERS_GRACE);
        wsq_task *next = wsqi_take_awaited(self->pool, task, group);
        if (next == NULL) return;
        wsqi_step_in_frame(self, next, floor);
        if (task != NULL) break;
    }
    /* If the helper lost its permit in a wait, it may have queued tasks since. In a pool with one
     * thread it did not notify for them (wsqi_alone), so it does now. */
    if (!self->permit) wsqi_notify(self->pool);
}

/* Runs awaited tasks on a thread outside that is about to wait, without a time-out, for the task or
 * for the group. If a permit is free, the thread takes it, and runs the tasks in a spare block. If
 * one of these tasks waits in turn, the thread helps in that wait, too. pool->may_help is false in
 * a WSQ_LIFO pool, in a pool without own threads, and if tasks may need something that only the
 * pool's own threads have: a larger stack, or the work of a START hook. */
static void wsqi_wait_help(wsq_pool *pool, wsq_task *task, const wsq_group *group) {
    wsqi_worker *self = wsqi_self_get();
    if (self != NULL && self->pool == pool && self->use == WSQI_USE_HELPS) {
        if (self->depth.waits++ < WSQI_WAIT_DEPTH)
            wsqi_help_run(self, task, group, wsqi_full_mark(self));
        self->depth.waits--;
        return;
    }
    if (self != NULL || !pool->may_help || (group != NULL && wsq_group_pending(group) == 0) ||
        wsqi_lane_empty(wsqi_lane_own(pool)) ||
        wsqi_free_permits(wsqi_load_hint(&pool->permits)) == 0 ||
        (self = wsqi_spare_take(pool, false)) == NULL)
        return;
    self->use = WSQI_USE_HELPS;
    wsqi_block_enter(self);
    wsqi_duty_begin(pool);
    if (wsqi_permit_take(self)) wsqi_help_run(self, task, group, wsqi_base(self));
    if (self->permit) wsqi_permit_give(self);
    else wsqi_check_quiet(pool); /* the helper has no permit, and may have ended the last task */
    wsqi_duty_end(pool);
    self->use = WSQI_USE_COMMON;
    wsqi_block_leave(self);
}

/* The result of a wait for the task. WSQ_ERR_TIMEOUT: the task has not ended. */
static wsq_result wsqi_task_result(const wsq_task *task) {
    /* W3: what the task and its spawning thread did is visible. Pairs with T2 and T6. */
    uint32_t state = wsqi_load_acq(&task->state);
    if (wsqi_task_live(state)) return WSQ_ERR_TIMEOUT;
    if (wsqi_task_is(state, 0)) return WSQ_ERR_INVALID; /* not spawned, or its batch was refused */
    return wsqi_task_cancelled(state) ? WSQ_ERR_CANCELLED : WSQ_OK;
}

/* The result of a wait for the group. WSQ_ERR_TIMEOUT: the group is not done. */
static wsq_result wsqi_group_result(const wsq_group *group) {
    /* K4: what its tasks did is visible. Pairs with K3. */
    uint64_t word = wsqi_load_acq(&group->word);
    if (word >= WSQI_GROUP_TASK) return WSQ_ERR_TIMEOUT;
    return (word & WSQI_GROUP_CANCELLED) || wsq_group_cancelled(group) ? WSQ_ERR_CANCELLED : WSQ_OK;
}

/* Marks the group, so that the thread that ends its last task calls this one. False: the caller
 * must look again. */
static bool wsqi_group_attend(wsq_group *group) {
    uint64_t word = wsqi_load_hint(&group->word);
    /* Relaxed: the mark and the count are in one word, so the thread that brings the count to zero
     * reads the mark, too. */
    return word >= WSQI_GROUP_TASK && wsqi_cas_rlx(&group->word, &word, word | WSQI_GROUP_WAITED);
}

static bool wsqi_swept(wsqi_wait *wait);

/* Does this thread dispatch events of the pool's driver? Then it may not wait there. */
static bool wsqi_dispatches(const wsq_pool *pool) {
    const wsqi_worker *block = wsqi_self_get();
    while (block != NULL && (block->pool != pool || block->driving == WSQI_DRIVING_NOT))
        block = block->outer;
    return block != NULL;
}

/* Waits until the task is done or, if `task` is NULL, until the group is. WSQ_ERR_CANCELLED: the
 * task or group was cancelled, or the pool stops and no thread will end it any more. */
static wsq_result wsqi_await(wsq_pool *pool, wsq_task *task, wsq_group *group,
                             uint64_t timeout_ns) {
    if (wsqi_forked(pool)) return WSQ_ERR_FORKED;
    if (wsqi_dispatches(pool)) return WSQ_ERR_INVALID;
    wsqi_wait wait;
    wsq_result result;
    bool swept = false; /* see wsqi_swept */
    /* A thread outside helps first: mostly it need not wait after that. */
    if (timeout_ns == WSQ_FOREVER && wsqi_local(pool) == NULL) {
        wsqi_wait_help(pool, task, group);
        result = task != NULL ? wsqi_task_result(task) : wsqi_group_result(group);
        if (result != WSQ_ERR_TIMEOUT) return result;
    }
    wsqi_wait_begin(&wait, pool, task != NULL ? (void *)task : (void *)group, timeout_ns);
    wait.task = task;
    wait.group = group;
    /* here: shall the worker first run awaited tasks of its own queue? Not in a wait with a
     * time-out, because a task could run past the deadline, or wait for what the caller does after
     * the wait. Nor in a wait for a future, because wsqi_future_here does this for futures. */
    bool here = wait.self != NULL && timeout_ns == WSQ_FOREVER && wsqi_may_run_awaited(wait.self) &&
                (task == NULL || task->fn != wsqi_future_run);
    for (;;) {
        bool over = wsqi_wait_listen(&wait) || wsqi_over(pool) || swept;
        result = task != NULL ? wsqi_task_result(task) : wsqi_group_result(group);
        if (result == WSQ_ERR_TIMEOUT && over) result = WSQ_ERR_CANCELLED;
        if (result != WSQ_ERR_TIMEOUT || wsqi_wait_expired(&wait)) break;
        /* A wait in a cleanup, after which no other thread may cancel tasks: this one must. */
        if (wsqi_sweeps(pool) ||
            (wait.inside && wsqi_load_hint(pool->phase) == WSQI_PHASE_OVER)) {
            wsqi_cancel_lanes(pool);
            wait.sweeps = wsqi_sweeps(pool);
            swept = wsqi_swept(&wait);
            continue;
        }
        if (here) {
            here = false;
            wsqi_run_awaited(wait.self, task, group);
            continue;
        }
        if (task != NULL ? wsqi_task_live(wsqi_task_attend(task)) : wsqi_group_attend(group))
            wsqi_wait_round(&wait);
    }
    wsqi_wait_end(&wait);
    return result;
}

/* Does this thread run the task, now or further down its stack? */
static bool wsqi_task_below(const wsq_task *task) {
    for (const wsqi_worker *block = wsqi_self_get(); block != NULL; block = block->outer)
        for (const wsqi_frame *frame = &block->frame; frame != NULL; frame = frame->outer)
            if (frame->task == task) return true;
    return false;
}

WSQ_API wsq_result wsq_task_wait_for(wsq_task *task, uint64_t timeout_ns) {
    if (task == NULL) return WSQ_ERR_INVALID;
    wsqi_check_task(task);
    wsq_result result = wsqi_task_result(task); /* comes first: an ended task's pool may be gone */
    if (result != WSQ_ERR_TIMEOUT) return result;
    if (wsqi_task_below(task)) return WSQ_ERR_INVALID;
    return wsqi_await(wsqi_task_pool(task), task, NULL, timeout_ns);
}

WSQ_API wsq_result wsq_task_wait(wsq_task *task) { return wsq_task_wait_for(task, WSQ_FOREVER); }

WSQ_API wsq_result wsq_group_wait_for(wsq_group *group, uint64_t timeout_ns) {
    if (group == NULL) return WSQ_ERR_INVALID;
    wsqi_check_group(group);
    WSQ_ASSERT("a task waits for its own group, and without a time-out" &&
               (timeout_ns != WSQ_FOREVER || wsqi_forked(group->pool) || !wsqi_in_group(group) ||
                wsqi_dispatches(group->pool)));
    return wsqi_await(group->pool, NULL, group, timeout_ns);
}

WSQ_API wsq_result wsq_group_wait(wsq_group *group) {
    return wsq_group_wait_for(group, WSQ_FOREVER);
}

/* ==========================================================================
 * >>future
 * Purpose:   runs a function call as a task, and keeps the result. The caller needs no struct.
 * Invariant: a future of wsq_submit is OPEN, not POISONED, until one thread claims it, in one of
 *            three ways. A worker that takes the future out of a queue clears OPEN, and calls the
 *            function. A worker in wsq_future_get sets POISONED, and calls the function in its
 *            wait; the future is then never DONE, because no other thread waits for it. A thread
 *            that cancels the future sets POISONED, and clears OPEN. The future's queue entry and
 *            the handle have a reference each; when both are given back, the future is free. A
 *            worker keeps at most two batches of free futures.
 * Writers:   references: any thread. result: the thread that claimed the future. A worker's list of
 *            free futures: the worker. The pool's lists of them: the holder of the depot's lock.
 * Source:    magazines and their depot: Bonwick, Adams (2001).
 * ========================================================================== */

struct wsq_future {
    wsq_task task;
    void *(*fn)(void *arg);  /* the user's function, from wsq_submit */
    void (*go)(void *arg);   /* the user's function, from wsq_go */
    void *arg, *result;
    wsq_edge then;       /* leads to the task that wsq_future_then got, if any */
    wsq_future *next;    /* of a free future: the next one of its batch */
    wsq_future *batch;   /* in the first future of a batch: the next batch */
    wsqi_a32 references;
};

/* How many futures a batch has. A guess. A worker keeps up to two batches, which are 64 futures of
 * 120 bytes each. (With 1 instead of 32, wsq_go takes 17% longer.) */
#ifndef WSQI_FUTURE_BATCH
#define WSQI_FUTURE_BATCH 32
#endif
enum { WSQI_FUTURE_CHUNK = 2 * WSQI_FUTURE_BATCH };

typedef struct wsqi_chunk {
    struct wsqi_chunk *next;
    wsq_future futures[WSQI_FUTURE_CHUNK];
} wsqi_chunk;

/* Gives the pool a batch of free futures, linked by `next`. The caller holds the depot's lock. */
static void wsqi_batch_give(wsq_pool *pool, wsq_future *batch) {
    wsqi_set(&batch->batch, pool->depot.batches);
    pool->depot.batches = batch;
}

/* Allocates more futures. The caller holds the depot's lock. False: no memory. */
static bool wsqi_futures_make(wsq_pool *pool) {
    wsqi_chunk *chunk =
        (wsqi_chunk *)wsqi_allocate(pool->config.allocator, sizeof *chunk, WSQ_CACHELINE);
    if (chunk == NULL) return false;
    chunk->next = (wsqi_chunk *)pool->depot.chunks;
    pool->depot.chunks = chunk;
    for (int i = 0; i < WSQI_FUTURE_CHUNK; i++) {
        wsq_future *last = i % WSQI_FUTURE_BATCH == 0 ? NULL : &chunk->futures[i - 1];
        wsqi_set(&chunk->futures[i].next, last);
        if ((i + 1) % WSQI_FUTURE_BATCH == 0) wsqi_batch_give(pool, &chunk->futures[i]);
    }
    return true;
}

/* Takes a free future from the calling worker's list or, under the depot's lock, from the list of
 * the threads outside. NULL: the list is empty. */
static inline wsq_future *wsqi_futures_pop(wsqi_futures *own) {
    wsq_future *future = own->first;
    if (!WSQI_LIKELY(future != NULL)) return NULL;
    own->first = wsqi_get(&future->next);
    own->count--;
    return future;
}

static inline void wsqi_futures_push(wsqi_futures *own, wsq_future *future) {
    wsqi_set(&future->next, own->first);
    own->first = future;
    own->count++;
}

/* Takes a future for a thread outside, or for a worker whose list is empty. NULL: no memory. */
WSQI_COLD static wsq_future *wsqi_future_fetch(wsq_pool *pool, wsqi_worker *self) {
    wsqi_futures *own = self != NULL ? &self->futures : &pool->depot.outside;
    wsqi_lock(pool, &pool->depot.lock);
    if (own->first == NULL && (pool->depot.batches != NULL || wsqi_futures_make(pool))) {
        own->first = pool->depot.batches;
        own->count = WSQI_FUTURE_BATCH;
        pool->depot.batches = wsqi_get(&own->first->batch);
    }
    wsq_future *future = wsqi_futures_pop(own);
    wsqi_unlock(pool, &pool->depot.lock);
    return future;
}

static wsq_future *wsqi_future_create(wsq_pool *pool) {
    wsqi_worker *self = wsqi_local(pool);
    wsq_future *future = self != NULL ? wsqi_futures_pop(&self->futures) : NULL;
    return WSQI_LIKELY(future != NULL) ? future : wsqi_future_fetch(pool, self);
}

/* Puts a free future into the list of the threads outside, or into that of a worker. If the list
 * is full, its newest batch goes to the pool first. */
WSQI_COLD static void wsqi_future_return(wsq_pool *pool, wsqi_worker *self, wsq_future *future) {
    wsqi_futures *own = self != NULL ? &self->futures : &pool->depot.outside;
    if (wsqi_forked(pool)) return; /* in a child process, the lock may stay held for ever */
    wsqi_lock(pool, &pool->depot.lock);
    if (own->count == 2 * WSQI_FUTURE_BATCH) {
        wsq_future *batch = own->first, *last = batch;
        for (int i = 1; i < WSQI_FUTURE_BATCH; i++) last = wsqi_get(&last->next);
        own->first = wsqi_get(&last->next);
        own->count = WSQI_FUTURE_BATCH;
        wsqi_set(&last->next, (wsq_future *)NULL);
        wsqi_batch_give(pool, batch);
    }
    wsqi_futures_push(own, future);
    wsqi_unlock(pool, &pool->depot.lock);
}

/* Puts a future that no thread uses any more into a list of free futures. */
static void wsqi_future_free(wsq_pool *pool, wsq_future *future) {
    wsqi_worker *self = wsqi_local(pool);
    if (WSQI_LIKELY(self != NULL && self->futures.count != 2 * WSQI_FUTURE_BATCH))
        wsqi_futures_push(&self->futures, future);
    else wsqi_future_return(pool, self, future);
}

static void wsqi_future_release(wsq_pool *pool, wsq_future *future) {
    /* F3: the future's next user sees what its former users did. Pairs with itself. */
    if (wsqi_add_acqrel(&future->references, 0u - 1u) == 1) wsqi_future_free(pool, future);
}

/* Marks a claimed future done, then gives back a reference: that of the future's entry in the
 * queue, or one that the caller has added. */
static void wsqi_future_end(wsq_pool *pool, wsq_future *future, uint32_t state) {
    wsqi_task_finish(pool, &future->task, state);
    wsqi_future_release(pool, future);
}

/* Is the future neither started nor cancelled? */
static inline bool wsqi_future_open(uint32_t state) {
    const uint32_t all = WSQI_TASK_OPEN | WSQI_TASK_POISONED | WSQI_TASK_PHASE;
    return (state & all) == (WSQI_TASK_OPEN | WSQI_TASK_ACTIVE);
}

/* Claims a future. call: the caller will call the future's function, and the future stays OPEN;
 * else the caller will cancel the future. If a queue has an entry of the future, that entry is a
 * tombstone from here on: no thread runs it. False: the future was claimed before. */
static bool wsqi_future_claim(wsq_future *future, bool call) {
    uint32_t state = wsqi_load_hint(&future->task.state), next;
    do {
        if (!wsqi_future_open(state)) return false;
        next = (state | WSQI_TASK_POISONED) - (call ? 0 : WSQI_TASK_OPEN);
        /* Relaxed: this thread sees what the submitting thread wrote, by the handle or the queue.
         * What this thread does becomes visible by T2 or F3. Failure: decide again. */
    } while (!wsqi_cas_rlx(&future->task.state, &state, next));
    return true;
}

/* The function of a future's task. A worker that has taken the task from a queue calls this. */
static wsq_poll wsqi_future_run(wsq_ctx ctx, wsq_task *task) {
    wsq_future *future = wsq_container_of(task, wsq_future, task);
    wsqi_set(&future->result, future->fn(future->arg));
    wsqi_future_end(wsq_pool_of(ctx), future, WSQI_TASK_DONE);
    return WSQ_GONE;
}

/* Cancels the future. The caller has a reference to it. False: it was claimed before. */
static bool wsqi_future_revoke(wsq_pool *pool, wsq_future *future) {
    if (!wsqi_future_claim(future, false)) return false;
    wsqi_event_here(pool, WSQ_EVENT_CANCEL, &future->task, 0);
    /* Adds a reference, which wsqi_future_end gives back. Without this reference, other threads
     * could free the future as soon as it is done, while wsqi_future_end still uses it. Relaxed:
     * the caller keeps its own reference until the future is done, so the count is not zero. */
    wsqi_add_rlx(&future->references, 1u);
    wsqi_future_end(pool, future, WSQI_TASK_DONE | WSQI_TASK_POISONED);
    return true;
}

/* The cleanup of a future's task, whose entry the caller has taken out of a queue. Cancels the
 * future, unless it was claimed before. Counts the end, unless a thread has called its function in
 * a wait: that thread counts it. So wsq_pool_wait waits for the entry of a cancelled future to
 * leave its queue; otherwise more and more entries might be queued. */
static wsq_poll wsqi_future_cancelled(wsq_task *task) {
    wsq_future *future = wsq_container_of(task, wsq_future, task);
    wsq_pool *pool = wsqi_task_pool(task);
    (void)wsqi_future_revoke(pool, future);
    bool called = (wsqi_load_hint(&task->state) & WSQI_TASK_OPEN) != 0;
    wsqi_future_release(pool, future);
    if (!called) wsqi_count_dropped(pool);
    return WSQ_GONE;
}

/* If this entry of a queue is a tombstone, drops it, and returns true. The caller must check for a
 * quiet pool. (This may miss another thread's claim. Then the tombstone stays.) */
static bool wsqi_tombstone_drop(wsq_task *task) {
    if (task->fn != wsqi_future_run || wsqi_future_open(wsqi_load_hint(&task->state))) return false;
    (void)wsqi_future_cancelled(task);
    return true;
}

/* Takes tombstones out of a lane. False: the lane is locked. */
static bool wsqi_tombstones_sweep(wsqi_lane *lane) {
    wsq_task *kept = NULL, *task, *next;
    uint32_t length;
    if (wsqi_lane_empty(lane)) return true;
    if (!wsqi_lane_try(lane)) return false;
    length = wsqi_lane_collect(lane);
    task = lane->ready;
    lane->ready = NULL;
    for (; task != NULL; task = next) {
        next = wsqi_get(&task->next);
        if (wsqi_tombstone_drop(task)) {
            length--;
            continue;
        }
        if (kept == NULL) lane->ready = task;
        else wsqi_set(&kept->next, task);
        kept = task;
    }
    if (kept != NULL) wsqi_set(&kept->next, (wsq_task *)NULL);
    lane->last = kept;
    wsqi_lane_unlock(lane, length);
    return true;
}

/* The owner takes tombstones out of its queue and the global queue. Most futures that are called in
 * a wait leave a tombstone, so without a purge a recursion of waits would fill every queue. */
static void wsqi_tombstones_purge(wsqi_worker *self) {
    wsq_task *kept = NULL, *task;
    void *item;
    bool all = true;
    while ((task = wsqi_deque_take(self)) != NULL)
        if (!wsqi_tombstone_drop(task)) wsqi_keep(&kept, task);
    for (size_t left = wsq_ring_length(&self->ring); left > 0; left--) {
        if ((item = wsqi_ring_pop(&self->ring)) == NULL) break;
        if (!wsqi_tombstone_drop(wsqi_unmarked(item))) wsqi_ring_return(self, item);
    }
    for (unsigned i = 0; i < self->pool->global_lanes; i++)
        all = wsqi_tombstones_sweep(wsqi_global_lane(self->pool, i)) && all;
    if (all) self->tombstones = 0; /* else a later wait tries again */
    wsqi_check_beside(self->pool);
    wsqi_push_kept(self, kept);
    wsqi_notify_others(self); /* searchers may have missed the tasks while these were in no queue */
}

/* Wakes a second thread, if S counts one searcher, which may still be waking up, and all other
 * permits are free. A thread outside calls this after a wsq_go, if its lane's `incoming` held
 * another task already. So two threads wake up at the same time, not one after the other. Other
 * spawns do not call this, because the spawning thread often waits for the task, and then runs it
 * itself. */
static void wsqi_notify_second(wsq_pool *pool) {
    uint64_t s = wsqi_load_hint(&pool->permits);
    if (wsqi_searching(s) == 1 && wsqi_free_permits(s) + 1 == pool->workers &&
        wsqi_idle_take(pool, 1, 0, 2) != 0)
        wsqi_wake_one(pool, NULL, 0);
}

/* Spawns a future's task. wsq_submit gets its handle in *out; wsq_go has none, so `out` is NULL.
 * If the spawn fails, no other thread knows the future, so it is freed without a claim. */
static wsq_result wsqi_future_spawn(wsq_pool *pool, wsq_future *future, void *arg,
                                    wsq_future **out) {
    wsqi_worker *self = wsqi_local(pool);
    future->arg = arg;
    wsqi_store_init(&future->references, 2u);
    wsqi_store_init(&future->task.pool, pool);
    wsqi_store_init(&future->task.state,
                    WSQI_TASK_ACTIVE | (out != NULL ? (uint32_t)WSQI_TASK_OPEN : 0));
    wsq_result result = wsqi_spawn_begin(pool, self, 1);
    if (result != WSQ_OK) {
        wsqi_future_free(pool, future);
        return result;
    }
    if (out != NULL) *out = future; /* before the function runs, because it may use the handle */
    wsqi_event_here(pool, WSQ_EVENT_SPAWN, &future->task, 0);
    if (self != NULL) { /* a future has no priority or pin, so it goes into the worker's queue */
        /* Tombstones may fill a deque: those of futures that another worker called. */
        if (wsqi_has_deque(self) && wsqi_deque_full(&self->deque)) {
            wsqi_tombstones_purge(self);
            wsqi_deque_widen(&self->deque);
        }
        wsqi_push_local(self, &future->task);
        wsqi_notify_others(self);
        return WSQ_OK;
    }
    bool second = out == NULL && wsqi_load_hint(&wsqi_lane_own(pool)->incoming) != NULL;
    wsqi_push_global(pool, &future->task, &future->task);
    if (second) wsqi_notify_second(pool);
    return WSQ_OK;
}

/* The function of a task made by wsq_go. No thread has a handle, so none can claim the task. */
static wsq_poll wsqi_go_run(wsq_ctx ctx, wsq_task *task) {
    wsq_future *future = wsq_container_of(task, wsq_future, task);
    void (*go)(void *arg) = future->go;
    void *arg = future->arg;
    /* The future is freed before `go` runs, so that a wsq_go in `go` can use it again. But if the
     * pool has a hook for TASK_END, that hook gets the future's address. In this case the future is
     * freed after `go`. */
    bool hooked = wsqi_hooked(wsq_pool_of(ctx), 1u << WSQ_EVENT_TASK_END);
    /* A wsq_submit in `go` may get this future again, and `go` may wait for it. Then
     * wsqi_task_below must not say that the future runs, so from here on the frame has no task. */
    if (!hooked) wsqi_local(wsq_pool_of(ctx))->frame.task = NULL;
    if (!hooked) wsqi_future_free(wsq_pool_of(ctx), future);
    go(arg);
    if (hooked) wsqi_future_free(wsq_pool_of(ctx), future);
    return WSQ_GONE;
}

static wsq_poll wsqi_go_cancelled(wsq_task *task) {
    wsqi_future_free(wsqi_task_pool(task), wsq_container_of(task, wsq_future, task));
    return WSQ_GONE;
}

WSQ_API wsq_result wsq_go(wsq_pool *pool, void (*fn)(void *arg), void *arg) {
    if (pool == NULL || fn == NULL) return WSQ_ERR_INVALID;
    if (wsqi_forked(pool)) return WSQ_ERR_FORKED;
    wsq_future *future = wsqi_future_create(pool);
    if (future == NULL) return WSQ_ERR_MEMORY;
    wsq_task_init(&future->task, wsqi_go_run);
    future->task.cleanup = wsqi_go_cancelled;
    future->go = fn;
    return wsqi_future_spawn(pool, future, arg, NULL);
}

WSQ_API wsq_result wsq_submit(wsq_pool *pool, void *(*fn)(void *arg), void *arg, wsq_future **out) {
    if (pool == NULL || fn == NULL || out == NULL) return WSQ_ERR_INVALID;
    if (wsqi_forked(pool)) return WSQ_ERR_FORKED;
    wsq_future *future = wsqi_future_create(pool);
    if (future == NULL) return WSQ_ERR_MEMORY;
    wsq_task_init(&future->task, wsqi_future_run);
    future->task.cleanup = wsqi_future_cancelled;
    future->fn = fn;
    future->then.task = NULL;
    return wsqi_future_spawn(pool, future, arg, out);
}

WSQ_API bool wsq_future_done(const wsq_future *future) { return wsq_task_done(&future->task); }

/* The owner, in the middle of a task, calls the function of a future that it has claimed. No thread
 * waits for the future, but wsq_future_then may have named a task that starts when the future
 * ends. */
static void wsqi_future_call(wsqi_worker *self, wsq_future *future) {
    wsqi_frame frame;
    /* `fn` gets no context. With this floor, wsqi_check_ctx refuses that of the task below. */
    wsqi_frame_push(self, &frame, wsqi_full_mark(self));
    self->depth.awaited++;
    self->frame.task = &future->task;
    self->frame.budget_left = self->pool->config.budget;
    wsqi_count(&self->counters.run, 1);
    wsqi_event(self, WSQ_EVENT_TASK_BEGIN, &future->task, 0);
    wsqi_set(&future->result, future->fn(future->arg));
    wsqi_event(self, WSQ_EVENT_TASK_END, &future->task, WSQ_GONE);
    self->depth.awaited--;
    wsqi_frame_pop(self, &frame);
    if (future->then.task != NULL) wsqi_edges_resolve(wsqi_task_close(&future->task), false);
}

/* Claims the future for a worker in wsq_future_get, and calls the future's function. False: another
 * thread has claimed it. If the next entry of the worker's deque, or the only one of its
 * ring, may be the future's, the worker first tries to take that entry out. *whole returns true if
 * the worker took the entry and also claimed the future: then only the handle refers to the
 * future. */
static bool wsqi_future_here(wsqi_worker *self, wsq_future *future, bool *whole) {
    size_t left = wsq_ring_length(&self->ring) == 1;
    bool entry = left == 1 || wsq_deque_length(&self->deque) != 0;
    if (entry) {
        entry = wsqi_take_back(self, &future->task, NULL, &left) != NULL;
        /* Searchers may have missed tasks that were in no queue for a moment, so this notifies.
         * (That is not necessary if the future was in the ring. Then only the slot's task can have
         * moved, and the thread that the future's push notified sees that task.) */
        if (!entry || wsqi_has_deque(self)) wsqi_notify_others(self);
    }
    bool ours = wsqi_future_claim(future, true);
    *whole = entry && ours;
    if (!ours) {
        if (entry) (void)wsqi_future_cancelled(&future->task);
        if (entry) wsqi_check_beside(self->pool);
        return false;
    }
    wsqi_future_call(self, future);
    wsqi_count_finished(self, 1);
    wsqi_check_beside(self->pool);
    /* An entry that is still queued becomes a tombstone. No thread runs, reports or counts it. A
     * purge is slow, because it reads all entries. So the worker purges only when it has left at
     * least WSQ_RING_CAPACITY / 2 tombstones, and at least one for every two entries of its queue
     * and the global queue's first lane. */
    if (!entry && ++self->tombstones >= WSQ_RING_CAPACITY / 2 &&
        2 * (uint64_t)self->tombstones >= wsqi_queue_length(self) +
            wsqi_load_hint(&self->pool->lanes[WSQ_NORMAL].length))
        wsqi_tombstones_purge(self);
    return true;
}

WSQ_API wsq_result wsq_future_get_for(wsq_future *future, uint64_t timeout_ns, void **result) {
    if (future == NULL) return WSQ_ERR_INVALID;
    wsq_pool *pool = wsqi_task_pool(&future->task);
    if (wsqi_forked(pool)) return WSQ_ERR_FORKED;
    wsqi_worker *self = wsqi_local(pool);
    if (wsqi_dispatches(pool)) return WSQ_ERR_INVALID;
    uint32_t state = wsqi_load_acq(&future->task.state); /* T1: if done, its result is visible */
    wsq_result outcome = wsqi_task_cancelled(state) ? WSQ_ERR_CANCELLED : WSQ_OK;
    bool done = wsqi_task_is(state, WSQI_TASK_DONE), whole = false;
    if (!done && self != NULL && timeout_ns == WSQ_FOREVER && wsqi_may_run_awaited(self) &&
        wsqi_load_hint(pool->phase) == WSQI_PHASE_RUN) {
        wsqi_awaited_watch(self);
        if (!wsqi_urgent_first(self))
            done = wsqi_future_here(self, future, &whole); /* calls the function here, if it can */
    }
    if (!done) outcome = wsq_task_wait_for(&future->task, timeout_ns);
    if (outcome == WSQ_ERR_TIMEOUT || outcome == WSQ_ERR_INVALID) return outcome;
    if (outcome == WSQ_OK && result != NULL) *result = wsqi_get(&future->result);
    if (whole) wsqi_future_free(pool, future);
    else wsqi_future_release(pool, future);
    return outcome;
}

WSQ_API wsq_result wsq_future_get(wsq_future *future, void **result) {
    return wsq_future_get_for(future, WSQ_FOREVER, result);
}

WSQ_API bool wsq_future_cancel(wsq_future *future) {
    wsq_pool *pool = wsqi_task_pool(&future->task);
    if (wsqi_forked(pool)) return false; /* in a child process, a lock may stay held for ever */
    if (wsqi_future_revoke(pool, future)) return true;
    uint32_t state = wsqi_load_hint(&future->task.state);
    return (state & (WSQI_TASK_POISONED | WSQI_TASK_OPEN)) == WSQI_TASK_POISONED;
}

WSQ_API void wsq_future_drop(wsq_future *future) {
    if (future != NULL) wsqi_future_release(wsqi_task_pool(&future->task), future);
}

WSQ_API wsq_result wsq_future_then(wsq_future *future, wsq_task *task) {
    if (future == NULL || task == NULL || task->fn == NULL) return WSQ_ERR_INVALID;
    wsqi_check_task(task);
    if (future->then.task != NULL) return WSQ_ERR_INVALID; /* only the handle's owner sets it */
    wsq_pool *pool = wsqi_task_pool(&future->task);
    wsq_result result = wsqi_task_reserve(pool, task, pool);
    if (result != WSQ_OK) return result;
    wsqi_event_here(pool, WSQ_EVENT_SPAWN, task, 1);
    /* The task has a hold already, which wsqi_spawn_end takes away. Here it gets a second one, for
     * the edge. Relaxed: the threads that take the holds away change the same word (E3). */
    wsqi_add_rlx(&task->state, (uint32_t)WSQI_TASK_HOLD);
    future->then.task = task;
    wsqi_edge_link(&future->then, &future->task);
    wsqi_spawn_end(pool, task, WSQI_HOLD_REPORTED);
    return WSQ_OK;
}

/* ==========================================================================
 * >>join: what a thread does while its stolen job runs
 * Purpose:   ends a join when its job is done, and runs other jobs until then.
 * Invariant: the joiner first helps the thief: it runs jobs of the thief, which the awaited job may
 *            wait for. Then it runs any public job, and last it sleeps. Before it sleeps, it sets
 *            WAITED in the job. The thief calls the joiner when the job is done.
 * Writers:   job->done: the thief, and the joiner before it sleeps.
 * Source:    leapfrogging (Wagner, Calder 1993).
 * ========================================================================== */

/* How many times as many rounds as a search a join has before it sleeps. The awaited job is under
 * way, and a sleep would also delay the joins that wait for this worker. In a large pool it takes
 * more rounds to visit each other worker. */
static uint32_t wsqi_join_looks(const wsq_pool *pool) {
    unsigned at_once = pool->workers < pool->processors ? pool->workers : pool->processors;
    return 3 + at_once / 32;
}

/* In a join: steals a job from the block with index n - 1, and runs it. (n is 0: no block.) */
static bool wsqi_join_help_with(wsqi_worker *self, uint32_t n) {
    wsqi_worker *victim = wsqi_other(self, n);
    return victim != NULL && wsqi_job_steal(self, victim);
}

/* In a join whose job was stolen, the worker runs another job, never a task. It looks first at the
 * thief, whose jobs are mostly children of the awaited job; then at the worker in `lead`, mostly
 * its own last victim; and in every fourth round at up to WSQI_VISITS others, unless a guest needs
 * this processor (wsqi_jobs_allowed). The order matters: the other job delays this join, and so the
 * joins that wait for this worker. A child of the awaited job delays them less. True: a job ran. */
static bool wsqi_join_help(wsqi_worker *self, wsq_job *job, uint32_t round) {
    wsq_task *none = NULL;
    uint32_t from = wsq_random_next(&self->random);
    return wsqi_join_help_with(self, wsqi_load_hint(&job->thief)) ||
           wsqi_join_help_with(self, wsqi_load_hint(&self->woken.lead)) ||
           (round % 4 == 0 && wsqi_jobs_allowed(self) &&
            wsqi_steal_pass(self, WSQI_JOBS, &from, &none));
}

/* Do others need the permit of a thread that is about to sleep in a join? Yes, if a task is queued,
 * or the watcher waits for a permit. asked (see wsqi_join_sleep): then perhaps the watcher called
 * the thread, for a full slot or a timer. */
static bool wsqi_join_wanted(wsq_pool *pool, bool asked) {
    const wsqi_worker *where[2];
    if (asked && (wsqi_watch_needed(pool) || wsqi_load_hint(&pool->watch.timer_next) != WSQI_NEVER))
        return true;
    /* I11: this thread sees that the watcher waits for a permit, or the watcher sees JOINED. (The
     * barrier is J7's or, if JOINED was not set, the one in wsqi_joiner_mark.) */
    if ((wsqi_load_fenced(&pool->watch.watcher) & WSQI_WATCHES_PERMITS) != 0) return true;
    return wsqi_look_tasks(pool, where, UINT_MAX) != 0;
}

/* Sleeps in a join until its stolen job is done, or until another thread calls this thread. help:
 * this thread may run other jobs, so others may call it for a job, or for its permit. It gives its
 * permit back before it sleeps if `help` is false, or if others need the permit. asked: was this
 * thread called, without having slept or run a job since? Returns the next value of `asked`. */
static bool wsqi_join_sleep(wsqi_worker *self, wsq_job *job, bool help, bool asked) {
    wsq_pool *pool = self->pool;
    wsqi_a64 *word = &pool->bitmap.joiners[self->index / 64];
    uint32_t done = WSQI_JOB_PUBLIC;
    bool guest = self->use == WSQI_USE_GUEST;
    wsqi_wait wait;
    wsqi_wait_begin(&wait, pool, self, WSQ_FOREVER);
    wait.job = job;
    if (help) wsqi_or_acqrel(word, wsqi_bit(self)); /* I5: calls may come from here on. */
    /* J7: this thread sees public jobs, or their owner calls this thread. Pairs with J5, I7. */
    wsqi_fence_sc();
    bool has = false; /* does this thread have a permit that others could use? */
    wsqi_each_pool(block, wsqi_self_get())
        if (block->pool == pool) has = block->permit && !guest;
    if (help && has) wsqi_joiner_mark(pool);
    const wsqi_worker *giver = help ? wsqi_look_jobs(pool) : NULL;
    /* (After the thief, wsqi_join_help looks at the giver.) */
    if (giver != NULL) wsqi_store_hint(&self->woken.lead, giver->index + 1);
    bool sleeps = giver == NULL;
    /* A guest has no permit that others could use, so it gives nothing back for a task. But a guest
     * that may not run other jobs is not at work while it sleeps. So `gives` is true for it, and S
     * stops counting it as at work. */
    wait.gives = !help || (!guest && wsqi_join_wanted(pool, asked));
    while (sleeps) {
        wsqi_wait_listen(&wait);
        /* Relaxed: a thief whose exchange reads WAITED takes the bucket's lock, and finds this
         * wait. Failure: the job is WAITED, or done (wsqi_join_stolen reads `done` again, J4). */
        if (!wsqi_cas_rlx(&job->done, &done, (uint32_t)WSQI_JOB_WAITED) && done == WSQI_JOB_DONE)
            break;
        if (help && (wsqi_load_hint(word) & wsqi_bit(self)) == 0) break;
        asked = false;
        wsqi_wait_round(&wait);
    }
    wsqi_stat(self->counters.joins_parked, sleeps);
    wsqi_wait_end(&wait);
    /* I5: from here on no thread calls this joiner for jobs. */
    bool called = help && (wsqi_and_acqrel(word, ~wsqi_bit(self)) & wsqi_bit(self)) == 0;
    /* The call may be for a permit. If this thread had none to give, it asks the other joiners. */
    if (called && !has) wsqi_joiner_ask_all(pool);
    return called || asked;
}

/* A thread in a join was called, for a job or for its permit. If there is a job that it can run, it
 * keeps its permit for that job, and this returns true. If tasks are queued, too, it notifies:
 * another thread then runs the tasks, with a free permit, or with one that a joiner gives back. */
static bool wsqi_join_called(wsqi_worker *self) {
    /* I6: either this thread sees a sleeper in S, or the sleeper's last look finds the tasks. */
    wsqi_fence_sc();
    if (wsqi_look_jobs(self->pool) == NULL) return false;
    (void)wsqi_notify_tasks(self->pool, UINT_MAX);
    return true;
}

/* On one stack at most this many joins run other jobs; deeper joins only wait. A guess. */
#define WSQI_HELP_DEPTH 32

/* Waits in a join until its stolen job is done. Meanwhile the owner runs other jobs, and sleeps
 * when there are none. Jobs that those jobs fork lie on the job stack from `top` on. */
static void wsqi_join_stolen(wsqi_worker *self, wsq_ctx top, wsq_job *job) {
    /* In a driver's dispatch no other job may run here, because it could wait. */
    bool help = self->depth.joins < WSQI_HELP_DEPTH && !wsqi_dispatches(self->pool);
    wsq_ctx floor = self->frame.floor;
    uint32_t idle_rounds = 0;
    uint64_t spin_start = 0;
    bool asked = false; /* this thread was called, and has neither run a job nor slept since */
    self->frame.floor = top;
    self->depth.joins++;
    /* J4: what the job did is visible. Pairs with J3. */
    while (wsqi_load_acq(&job->done) != WSQI_JOB_DONE) {
        bool looks = help && (!asked || wsqi_join_called(self));
        if (looks && wsqi_join_help(self, job, idle_rounds)) {
            idle_rounds = 0;
            asked = false;
        } else if (wsqi_spin(self->pool, idle_rounds / wsqi_join_looks(self->pool), &spin_start)) {
            wsqi_backoff(idle_rounds++, job);
        } else {
            asked = wsqi_join_sleep(self, job, help, asked);
            idle_rounds = (idle_rounds | 3) + 1; /* so wsqi_join_help then visits others, too */
        }
    }
    /* This thread was called for work, but its join is over. So another thread is woken instead. */
    if (asked) wsqi_pass_on(self->pool);
    if (asked) wsqi_permit_freed(self->pool); /* the call may have been for a timer that is due */
    self->depth.joins--;
    self->frame.floor = floor;
}

WSQ_API uintptr_t wsqi_reclaim_slow(wsq_ctx entry) {
    wsqi_worker *self = wsqi_worker_of(entry);
    uint32_t index = wsqi_entry_index(entry);
    if (entry + 1 == wsqi_full_mark(self) && self->depth.forks != 0) { /* the job ran in its fork */
        self->depth.forks--;
        return (uintptr_t)(entry + 1);
    }
    bool ours = index >= wsqi_range_bottom(wsqi_load_own(&self->range)) || wsqi_unpublish(self);
    if (!ours) {
        wsqi_join_stolen(self, entry + 1, wsqi_get(&entry->job));
        /* The joined job leaves the stack, so the range, which is empty, moves down to its entry.
         * Relaxed: from an empty range no thief takes anything. */
        wsqi_store_rlx(&self->range, wsqi_range_pack(index, index));
    }
    wsqi_publish(self, entry);
    return (uintptr_t)entry | (ours ? 1u : 0u);
}

/* ==========================================================================
 * >>guest: threads from outside, and runs within runs
 * Purpose:   lets a thread fork and join in a function of its own (wsq_run).
 * Invariant: S counts a thread from outside as a guest from before its function begins until it has
 *            returned. A run within a run uses a spare block, too, but S does not count it.
 * Writers:   permits: the guest.
 * Source:    Rayon's in_place_scope. In Rayon's `install` a worker runs the function.
 * ========================================================================== */

typedef struct wsqi_run_task {
    wsq_task task;
    void (*fn)(wsq_ctx ctx, void *arg);
    void *arg;
} wsqi_run_task;

static wsq_poll wsqi_run_poll(wsq_ctx ctx, wsq_task *task) {
    wsqi_run_task *run = wsq_container_of(task, wsqi_run_task, task);
    run->fn(ctx, run->arg);
    return WSQ_DONE;
}

static void wsqi_guest_run(wsqi_worker *guest, void (*fn)(wsq_ctx ctx, void *arg), void *arg) {
    wsq_pool *pool = guest->pool;
    const wsqi_worker *self = wsqi_inside(pool);
    bool outside = self == NULL || self->use == WSQI_USE_GUEST;
    guest->use = outside ? WSQI_USE_GUEST : WSQI_USE_COMMON;
    guest->permit = self == NULL;
    /* Relaxed: by J2, a thief that takes a job of this run sees the guest in S (wsqi_job_steal). */
    if (self == NULL) wsqi_add_rlx(&pool->permits, WSQI_GUEST + WSQI_GUEST_WORKS);
    wsqi_block_enter(guest);
    wsqi_event(guest, WSQ_EVENT_TASK_BEGIN, NULL, 0);
    fn(wsqi_base(guest), arg);
    wsqi_check_joined(guest);
    wsqi_event(guest, WSQ_EVENT_TASK_END, NULL, WSQ_DONE);
    if (self == NULL) { /* S stops counting the guest, so that no thread leaves jobs to it */
        uint64_t change = 0u - WSQI_GUEST - (guest->permit ? WSQI_GUEST_WORKS : 0);
        uint64_t s = wsqi_add_sc(&pool->permits, change); /* I8: see below */
        guest->permit = false;
        /* I8: a publisher of jobs sees that the guest has left, or this thread sees the jobs. */
        wsqi_fence_rmw();
        if (wsqi_searching(s) == 0) wsqi_pass_jobs(pool);
    }
    wsqi_block_leave(guest);
}

WSQ_API wsq_result wsq_run(wsq_pool *pool, void (*fn)(wsq_ctx ctx, void *arg), void *arg) {
    if (pool == NULL || fn == NULL) return WSQ_ERR_INVALID;
    if (wsqi_forked(pool)) return WSQ_ERR_FORKED;
    wsqi_worker *self = wsqi_inside(pool);
    if (self == NULL && (wsqi_load_hint(&pool->lanes[WSQ_NORMAL].outside) & 1))
        return WSQ_ERR_CLOSED;
    wsqi_worker *guest = wsqi_spare_take(pool, false);
    if (guest != NULL) {
        wsqi_guest_run(guest, fn, arg);
    } else if (self != NULL) { /* no block is free: forks run immediately, as in a full stack */
        wsqi_loop *loop = self->frame.loop; /* `fn` is not part of that loop */
        wsq_ctx floor = self->frame.floor;
        self->frame.loop = NULL;
        self->frame.floor = wsqi_full_mark(self);
        wsqi_event(self, WSQ_EVENT_TASK_BEGIN, NULL, 0);
        fn(self->frame.floor, arg);
        wsqi_event(self, WSQ_EVENT_TASK_END, NULL, WSQ_DONE);
        self->frame.floor = floor;
        self->frame.loop = loop;
    } else { /* a thread outside spawns the run as a task */
        wsqi_run_task run;
        wsq_task_init(&run.task, wsqi_run_poll);
        run.fn = fn;
        run.arg = arg;
        wsq_result result = wsq_spawn(pool, &run.task);
        return result == WSQ_OK ? wsq_task_wait(&run.task) : result;
    }
    return WSQ_OK;
}

/* ==========================================================================
 * >>parallel: loops and reductions
 * Purpose:   a loop that costs as much as a plain loop, until an idle worker wants half of it.
 * Invariant: each index is visited once, unless the loop stops; results combine from left to right.
 * Writers:   a job: fork, join and thieves. stopped, element_ns: any thread that runs a piece of
 *            the loop.
 * Source:    lazy binary splitting: Tzannes, Caragea, Barua, Vishkin (2010).
 * ========================================================================== */

/* The next six constants are for loops whose caller gave no grain. The first is the time between
 * two checks whether a thief wants work. It is long enough: reading the clock takes only 0.3% of
 * that time (30 ns). And it is short enough: a thief waits no longer than a wake-up takes. */
#define WSQI_GRAIN_NS 10000u

/* A loop wakes a sleeper only if the rest of the loop takes longer than this. A wake-up costs up to
 * 12 us on our virtual machine. */
#define WSQI_WORTH_NS 10000u

/* A loop gives work to a thief that is awake only if the rest of the loop takes longer than this.
 * With 1 us, many loops of 15 us have a second theft, for less work than the theft costs. */
#define WSQI_TINY_NS 4000u

/* If elements take longer than this, a thief would wait too long for the check between two steps.
 * So the loop publishes the rest, in pieces, before it runs an element. A guess. */
#define WSQI_HEAVY_NS 50000u

/* The last WSQI_LAST elements of a range may be heavy after many light ones. So they run one by one
 * in a loop that has worked for more than WSQI_WORTH_NS / 2 (it reads the clock after each, if a
 * thief wants work), and in a shorter one whose grain is WSQI_MANY or more (after every third). */
enum { WSQI_LAST = 24, WSQI_MANY = 1024 };

/* How a range is cut into steps. If the caller gave no grain, steps are powers of two, and end at
 * multiples of their size, so that few calls of the body begin at an odd index. */
typedef struct wsqi_pace {
    size_t grain;       /* the caller's, or as many elements as take about WSQI_GRAIN_NS */
    size_t step;        /* the grain, or less towards the end of the range */
    size_t looked;      /* the element before which the clock was read last */
    size_t next;        /* the element before which to read the clock again */
    uint64_t looked_ns; /* the time at `looked` */
    uint64_t worked_ns; /* how long this thread has worked on the range */
    uint64_t left_ns;   /* an estimate at `looked_ns` for the elements left; UINT64_MAX: unknown */
    bool unwanted;      /* at the last step no thief wanted work, or the job stack was full */
    bool alone;         /* the rest is too short for a thief, so one step goes up to `next` */
} wsqi_pace;

/* Chooses the next step, and the element before which to read the clock. Thieves get what a step
 * leaves, so a step is at most an eighth of the rest. Once the loop has worked for WSQI_WORTH_NS /
 * 2, the limit is (rest - WSQI_LAST) / 4. (If it were half of the rest, one thread might run half
 * of many heavy elements.) */
static void wsqi_pace_set(wsqi_pace *pace, size_t begin, size_t end) {
    size_t left = end - begin, part = left / 2 + 1;
    bool worked = pace->worked_ns > WSQI_WORTH_NS / 2;
    bool some = left < 2 * WSQI_LAST && (worked || pace->grain >= WSQI_MANY);
    bool last = some && left <= WSQI_LAST;
    if (some && !pace->unwanted) {
        if (!last) part = left - WSQI_LAST;
        else if (worked) part = 1;
        else if (part > 3) part = 3;
    }
    pace->looked = begin;
    pace->next = begin + (pace->grain < part ? pace->grain : part);
    pace->step = last ? 1 : pace->grain;
    size_t most = worked && !last ? (left - WSQI_LAST) / 4 : left / 8;
    while (pace->step > 1 && pace->step > most) pace->step /= 2;
}

/* In a loop without a given grain: reads the clock before element `begin`, adapts the grain,
 * estimates the time that is left, and chooses the next step. */
static void wsqi_pace_look(wsqi_pace *pace, size_t begin, size_t end) {
    uint64_t now = wsqi_clock_ns(), took = now - pace->looked_ns;
    size_t done = begin - pace->looked, grain = pace->grain, times = (end - begin) / done + 1;
    if (done >= grain && took < WSQI_GRAIN_NS / 2 && grain <= SIZE_MAX / 16)
        pace->grain = grain * (took < WSQI_GRAIN_NS / 16 ? 8 : 2);
    if (took > WSQI_GRAIN_NS * 2 && grain > 1) pace->grain = grain / 2;
    pace->left_ns = took <= UINT64_MAX / times ? took * times : UINT64_MAX;
    if (took < WSQI_WORTH_NS / 10 && pace->left_ns > WSQI_WORTH_NS)
        pace->left_ns = WSQI_WORTH_NS; /* `took` was too short for an estimate */
    pace->looked_ns = now;
    pace->worked_ns += took;
    wsqi_pace_set(pace, begin, end);
}

/* Shall a thief get half of the range? Only if the traps are set (fork_trap is NULL), and enough
 * work is left: more than WSQI_TINY_NS if a thief is awake, else more than WSQI_WORTH_NS. A thief
 * is awake if the traps were set since the last step, or if S counts a searcher. */
static inline bool wsqi_wanted(wsq_ctx ctx, wsqi_pace *pace, size_t begin, size_t end) {
    wsqi_worker *self = wsqi_worker_of(ctx);
    bool before = pace->unwanted; /* no thief had asked when this thread looked last */
    pace->unwanted = wsqi_load_hint(&self->front.fork_trap) != NULL || ctx == wsqi_full_mark(self);
    bool awake = !pace->unwanted &&
                 (before || wsqi_searching(wsqi_load_hint(&self->pool->permits)) != 0);
    if (awake && pace->looked < begin) wsqi_pace_look(pace, begin, end);
    pace->alone = !awake && pace->left_ns <= WSQI_TINY_NS && pace->worked_ns <= WSQI_WORTH_NS / 2;
    return !pace->unwanted &&
           (pace->left_ns > (awake ? WSQI_TINY_NS : WSQI_WORTH_NS) || WSQI_PUBLISH_ALWAYS);
}

/* What all pieces of a loop share. It lies on the stack of wsq_for or wsq_reduce. */
struct wsqi_loop {
    size_t grain;
    void (*body)(wsq_ctx ctx, size_t begin, size_t end, void *arg); /* of wsq_for */
    void *arg;
    const wsq_reducer *reducer; /* of wsq_reduce; NULL in wsq_for */
    bool fixed;                 /* reducer->fixed */
    wsqi_a64 element_ns; /* the time of one element, as some thread measured it; 0: unknown */
    wsqi_a32 stopped; /* 0, 1 (wsq_loop_stop) or WSQI_LOOP_LACKS. A join (J4) makes it visible */
};

#define WSQI_LOOP_LACKS 2u /* no memory for a partial result of a fixed reduction */

/* A fixed reduction without a given grain has about this many pieces. A guess: that is enough for
 * hundreds of workers. */
#define WSQI_FIXED_PIECES 1024u

WSQ_API void wsq_loop_stop(wsq_ctx ctx) {
    wsqi_check_ctx(ctx);
    wsqi_loop *loop = wsqi_worker_of(ctx)->frame.loop;
    uint32_t running = 0;
    /* Relaxed: see `stopped`. Failure: it is stopped already, maybe because memory lacks. */
    if (loop != NULL) (void)wsqi_cas_rlx(&loop->stopped, &running, 1u);
}

/* The upper half of a range, forked as a job. */
typedef struct wsqi_half {
    wsq_job job;
    wsqi_loop *loop;
    size_t begin, end;
    void *partial; /* the half's own partial result, if it is stolen or wsq_reducer.fixed is set */
    uint64_t left_ns; /* an estimate of the half's time */
} wsqi_half;

/* Runs a range of a loop, in steps. left_ns: the range's estimated time; UINT64_MAX: unknown. cut:
 * the range is half of a longer range. */
static void wsqi_loop_range(wsq_ctx ctx, wsqi_loop *loop, size_t begin, size_t end, void *partial,
                            uint64_t left_ns, bool cut);

static void wsqi_half_run(wsq_ctx ctx, wsq_job *job) {
    wsqi_half *half = wsq_container_of(job, wsqi_half, job);
    const wsq_reducer *reducer = half->loop->reducer;
    if (reducer != NULL) reducer->init(half->partial, reducer->arg);
    wsqi_loop_range(ctx, half->loop, half->begin, half->end, half->partial, half->left_ns, true);
}

/* A partial result of up to this many bytes (a guess) lies on the stack of the function that splits
 * the range; a larger one is allocated. Each has cache lines of its own, so that no two threads
 * write to one line, and a vector in it may be stored with its full alignment. */
#define WSQI_PARTIAL_INLINE 128

/* Rounds up to whole cache lines. (Not every compiler can align a stack variable to a line.) */
#define WSQI_LINE_UP(n) (((n) + WSQ_CACHELINE - 1) & ~((uintptr_t)WSQ_CACHELINE - 1))

/* Shall half of this range become public before a thief asks for it? If a grain was given: no. If
 * the range's time is known: if an element takes longer than WSQI_HEAVY_NS. Else: if the range is
 * half of a longer one (worked_ns is not 0), which was cut because a thief wanted work, and more
 * threads are free (searchers and free permits, less the guests at work) than this worker has
 * public jobs. */
static bool wsqi_heavy(wsq_ctx ctx, const wsqi_loop *loop, const wsqi_pace *pace, size_t left) {
    wsqi_worker *self = wsqi_worker_of(ctx);
    if (loop->grain != 0) return false;
    if (pace->left_ns != UINT64_MAX) return pace->left_ns / WSQI_HEAVY_NS > left;
    if (pace->worked_ns == 0) return false;
    uint64_t s = wsqi_load_hint(&self->pool->permits);
    uint32_t threads = wsqi_searching(s) + wsqi_free_permits(s);
    return threads > wsqi_guests_at_work(s) + wsqi_range_length(self);
}

/* Runs a range that is longer than the grain: offers its upper half to thieves, and runs the lower
 * half. If no thief took the upper half, runs that, too. Then both halves add to one partial
 * result, unless wsq_reducer.fixed is set. False: no memory, and nothing ran. */
WSQI_COLD static bool wsqi_loop_give(wsq_ctx ctx, wsqi_loop *loop, const wsqi_pace *pace,
                                     size_t begin, size_t end, void *partial) {
    size_t half = (end - begin) / 2, grain = pace->step;
    if (!loop->fixed) half = end - begin - half; /* the half that runs first gets an odd element */
    size_t middle = begin + (half > grain ? half - half % grain : half);
    const wsq_allocator *allocator = wsq_pool_of(ctx)->config.allocator;
    const wsq_reducer *reducer = loop->reducer;
    size_t size = reducer != NULL ? reducer->size : 0, bytes = (size_t)WSQI_LINE_UP(size);
    unsigned char room[WSQI_PARTIAL_INLINE + WSQ_CACHELINE - 1];
    bool heavy = wsqi_heavy(ctx, loop, pace, end - begin);
    wsqi_half upper;
    upper.loop = loop;
    upper.begin = middle;
    upper.end = end;
    uint64_t left_ns = pace->left_ns != UINT64_MAX ? pace->left_ns / 2 : UINT64_MAX;
    upper.left_ns = left_ns;
    upper.partial = room + (WSQI_LINE_UP((uintptr_t)room) - (uintptr_t)room);
    if (size > WSQI_PARTIAL_INLINE) {
        upper.partial = wsqi_allocate(allocator, bytes, WSQ_CACHELINE);
        if (upper.partial == NULL) {
            if (loop->fixed) wsqi_store_hint(&loop->stopped, WSQI_LOOP_LACKS);
            return false;
        }
    }
    if (heavy) wsqi_steal_request(wsqi_worker_of(ctx)); /* so the fork publishes the job */
    wsq_fork(&ctx, &upper.job, wsqi_half_run);
    bool timed = heavy || (loop->grain == 0 && pace->left_ns == UINT64_MAX);
    uint64_t start = timed ? wsqi_clock_ns() : 0;
    wsqi_loop_range(ctx, loop, begin, middle, partial, left_ns, true);
    if (timed) left_ns = wsqi_clock_ns() - start; /* the upper half takes about as long */
    if (timed && middle - begin == 1) wsqi_store_hint(&loop->element_ns, left_ns);
    bool ours = wsq_reclaim(&ctx, &upper.job); /* no thief took it */
    if (ours && !loop->fixed) {
        wsqi_loop_range(ctx, loop, middle, end, partial, left_ns, true);
    } else {
        if (ours) wsqi_half_run(ctx, &upper.job);
        if (reducer != NULL) reducer->combine(partial, upper.partial, reducer->arg);
    }
    if (size > WSQI_PARTIAL_INLINE) wsqi_release(allocator, upper.partial, bytes);
    return true;
}

static inline void wsqi_loop_body(wsq_ctx ctx, const wsqi_loop *loop, size_t begin, size_t end,
                                  void *partial) {
    const wsq_reducer *reducer = loop->reducer;
    if (reducer == NULL) loop->body(ctx, begin, end, loop->arg);
    else reducer->body(ctx, begin, end, partial, reducer->arg);
}

static void wsqi_loop_range(wsq_ctx ctx, wsqi_loop *loop, size_t begin, size_t end, void *partial,
                            uint64_t left_ns, bool cut) {
    wsqi_loop **innermost = &wsqi_worker_of(ctx)->frame.loop, *outer = *innermost;
    bool automatic = loop->grain == 0;
    size_t least = automatic ? 1 : loop->grain;
    wsqi_pace pace = WSQI_INIT;
    pace.grain = pace.step = least;
    pace.looked = pace.next = SIZE_MAX;
    pace.left_ns = left_ns;
    /* A half begins as if the thread had worked on it for WSQI_WORTH_NS already. So wsqi_pace_set
     * treats it as a loop that has worked long, and wsqi_heavy sees that it is a half. */
    pace.worked_ns = cut ? WSQI_WORTH_NS : 0;
    if (automatic && end - begin > 1) {
        wsqi_pace_set(&pace, begin, end);
        pace.looked_ns = wsqi_clock_ns();
    }
    *innermost = loop; /* so wsq_loop_stop in the body finds it */
    while (end - begin > least && wsqi_load_hint(&loop->stopped) == 0) {
        bool gives = loop->fixed || wsqi_heavy(ctx, loop, &pace, end - begin) ||
                     wsqi_wanted(ctx, &pace, begin, end);
        if (gives && wsqi_loop_give(ctx, loop, &pace, begin, end, partial)) {
            begin = end;
            break;
        }
        size_t to = pace.alone ? pace.next - 1 : begin;
        to += pace.step - (automatic ? to & (pace.step - 1) : 0);
        wsqi_loop_body(ctx, loop, begin, to, partial);
        begin = to;
        if (automatic && begin >= pace.next && end - begin > 1) wsqi_pace_look(&pace, begin, end);
    }
    if (begin < end && wsqi_load_hint(&loop->stopped) == 0)
        wsqi_loop_body(ctx, loop, begin, end, partial);
    *innermost = outer;
}

/* Runs a whole loop. If the caller gave no grain, the loop gives nothing away until it has read the
 * clock. But if it has at most 4 elements for each worker, they are probably long. So a thief that
 * wants work at the start gets half of them, and both halves are divided again (wsqi_heavy). The
 * thief gets none if `brief` says that an earlier loop of this worker, also with few elements and
 * with the same body, had less work than a wake-up costs. */
static void wsqi_loop_run(wsq_ctx ctx, wsqi_loop *loop, size_t begin, size_t end, void *partial) {
    if (begin >= end) return;
    wsqi_worker *self = wsqi_worker_of(ctx);
    uintptr_t body = loop->reducer != NULL ? (uintptr_t)loop->reducer->body : (uintptr_t)loop->body;
    bool few = loop->grain == 0 && (end - begin - 1) / 4 < self->pool->workers;
    bool asked = few && wsqi_load_hint(&self->front.fork_trap) == NULL; /* a thief wants work */
    bool brief = asked && self->brief == body;
    uint64_t start = brief ? wsqi_clock_ns() : 0;
    bool gives = loop->grain != 0 || (few && !brief);
    wsqi_loop_range(ctx, loop, begin, end, partial, gives ? UINT64_MAX : 0, false);
    uint64_t work_ns = wsqi_load_hint(&loop->element_ns) * (end - begin); /* 0: unknown */
    if (brief && wsqi_clock_ns() - start > WSQI_WORTH_NS) self->brief = 0;
    if (asked && !brief && work_ns != 0 && work_ns <= WSQI_WORTH_NS) self->brief = body;
}

WSQ_API void wsq_for(wsq_ctx ctx, size_t begin, size_t end, size_t grain,
                     void (*body)(wsq_ctx ctx, size_t begin, size_t end, void *arg), void *arg) {
    wsqi_loop loop = WSQI_INIT;
    wsqi_check_ctx(ctx);
    loop.grain = grain;
    loop.body = body;
    loop.arg = arg;
    wsqi_loop_run(ctx, &loop, begin, end, NULL);
}

WSQ_API wsq_result wsq_reduce(wsq_ctx ctx, size_t begin, size_t end, size_t grain,
                              const wsq_reducer *reducer, void *result) {
    if (reducer == NULL || result == NULL || reducer->size == 0) return WSQ_ERR_INVALID;
    if (reducer->init == NULL || reducer->body == NULL || reducer->combine == NULL)
        return WSQ_ERR_INVALID;
    wsqi_loop loop = WSQI_INIT;
    wsqi_check_ctx(ctx);
    loop.fixed = reducer->fixed;
    loop.grain = loop.fixed && grain == 0 ? (end - begin) / WSQI_FIXED_PIECES + 1 : grain;
    loop.reducer = reducer;
    reducer->init(result, reducer->arg);
    wsqi_loop_run(ctx, &loop, begin, end, result);
    return wsqi_load_hint(&loop.stopped) == WSQI_LOOP_LACKS ? WSQ_ERR_MEMORY : WSQ_OK;
}

/* ==========================================================================
 * >>dump: what a pool does, for a person to read
 * Purpose:   helps to find a forgotten wake, or a wait that does not end.
 * Invariant: with config.list_tasks, a list has each task (if memory allows) from its spawn to its
 *            end. A dump reads the list, not the tasks, whose memory may be gone. It holds no lock
 *            while it writes to the file.
 * Writers:   the list: the pool's hook, under the list's lock.
 * ========================================================================== */

typedef enum wsqi_doing {
    WSQI_RUNNING, WSQI_PENDING, WSQI_HELD, WSQI_QUEUED, WSQI_OVER, WSQI_NOTHING
} wsqi_doing;

/* A task in the list; or a line of a dump, about a task, a timer or a waiting thread. `task` and
 * `group` are only addresses: their memory may be gone. */
typedef struct wsqi_listed {
    const void *task; /* NULL: a free entry. In a line about a waiting thread: the awaited object */
    const void *group;
    uintptr_t function;
    uint64_t since;   /* the time when `doing` began. In a line about a timer: when it fires */
    uint64_t others;  /* of a task: how many of its predecessors had not ended at its spawn */
    wsqi_doing doing;
    unsigned worker;  /* WSQ_OUTSIDE, or the worker that runs, ran or queued the task, or waits */
} wsqi_listed;

typedef struct wsqi_list {
    wsqi_a32 lock;          /* see wsqi_lock; guards the members below, except `hooks` */
    wsqi_listed *entries;   /* a hash table with linear probing */
    size_t capacity, count; /* capacity: a power of two */
    bool partial;           /* some tasks are missing: there was no memory for them */
    wsq_hooks hooks;        /* the user's hooks, which wsqi_list_event calls */
} wsqi_list;

/* Returns the task's entry, or the free entry where it would go. */
static wsqi_listed *wsqi_list_at(const wsqi_list *listing, const void *task) {
    size_t i = (size_t)(wsqi_hash((uintptr_t)task) >> 32);
    for (;; i++) {
        wsqi_listed *entry = &listing->entries[i & (listing->capacity - 1)];
        if (entry->task == NULL || entry->task == task) return entry;
    }
}

/* Doubles the list. False: no memory, and nothing has changed. */
static bool wsqi_list_grow(wsqi_list *listing, const wsq_allocator *allocator) {
    size_t before = listing->capacity, capacity = before != 0 ? before * 2 : 64; /* a guess */
    size_t bytes = capacity * sizeof *listing->entries;
    wsqi_listed *old = listing->entries;
    wsqi_listed *entries = (wsqi_listed *)wsqi_allocate(allocator, bytes, sizeof(uint64_t));
    if (entries == NULL) return false;
    memset(entries, 0, bytes);
    listing->entries = entries;
    listing->capacity = capacity;
    for (size_t i = 0; i < before; i++)
        if (old[i].task != NULL) *wsqi_list_at(listing, old[i].task) = old[i];
    wsqi_release(allocator, old, before * sizeof *old);
    return true;
}

/* Frees the entry. Then inserts the entries after it again, up to the next free entry: otherwise
 * probing would stop at the freed entry, before it finds them. */
static void wsqi_list_remove(wsqi_list *listing, wsqi_listed *entry) {
    size_t hole = (size_t)(entry - listing->entries), mask = listing->capacity - 1;
    entry->task = NULL;
    listing->count--;
    for (size_t i = (hole + 1) & mask; listing->entries[i].task != NULL; i = (i + 1) & mask) {
        wsqi_listed listed = listing->entries[i];
        listing->entries[i].task = NULL;
        *wsqi_list_at(listing, listed.task) = listed;
    }
}

/* Returns the user's function: the task's own, or what wsq_submit, wsq_go or wsq_run was given. */
static uintptr_t wsqi_task_function(const wsq_task *task) {
    const wsq_future *future = (const wsq_future *)task;
    if (task->fn == wsqi_future_run) return (uintptr_t)future->fn;
    if (task->fn == wsqi_go_run) return (uintptr_t)future->go;
    if (task->fn == wsqi_run_poll) return (uintptr_t)((const wsqi_run_task *)task)->fn;
    return (uintptr_t)task->fn;
}

/* Adds a task at its spawn, or leaves it out if there is no memory. others: see wsqi_listed. */
static void wsqi_list_add(wsq_pool *pool, const wsq_task *task, uint64_t others) {
    wsqi_list *listing = pool->listing;
    if (listing->count >= listing->capacity / 4 * 3 &&
        !wsqi_list_grow(listing, pool->config.allocator)) {
        listing->partial = true;
        return;
    }
    wsqi_listed *entry = wsqi_list_at(listing, task);
    listing->count += entry->task == NULL;
    entry->task = task;
    entry->group = wsqi_task_group(task);
    entry->function = wsqi_task_function(task);
    entry->others = others;
}

/* Returns what a task does (`doing`) after this event. WSQI_NOTHING: the event is about no task. */
static wsqi_doing wsqi_doing_after(wsq_event event, uint64_t value) {
    if (event == WSQ_EVENT_SPAWN) return value != 0 ? WSQI_HELD : WSQI_QUEUED;
    if (event == WSQ_EVENT_WAKE) return WSQI_QUEUED;
    if (event == WSQ_EVENT_TASK_BEGIN) return WSQI_RUNNING;
    if (event == WSQ_EVENT_CANCEL) return WSQI_OVER;
    if (event != WSQ_EVENT_TASK_END) return WSQI_NOTHING;
    if (value == WSQ_PENDING) return WSQI_PENDING;
    return value == WSQ_YIELD ? WSQI_QUEUED : WSQI_OVER;
}

/* The hook of a pool that has a list: notes the event in the list, then calls the user's hook. */
static void wsqi_list_event(void *user, wsq_event event, unsigned worker, const void *subject,
                            uint64_t value) {
    wsq_pool *pool = (wsq_pool *)user;
    wsqi_list *listing = pool->listing;
    wsqi_doing doing = wsqi_doing_after(event, value);
    if (doing != WSQI_NOTHING && subject != NULL) {
        uint64_t now = wsqi_clock_ns();
        wsqi_lock(pool, &listing->lock);
        if (event == WSQ_EVENT_SPAWN) wsqi_list_add(pool, (const wsq_task *)subject, value);
        wsqi_listed *entry = wsqi_list_at(listing, subject);
        /* A task that returns WSQ_GONE may be freed before its TASK_END, and another task may have
         * its address now. Then the entry is that other task's, and does not change. */
        bool other = event == WSQ_EVENT_TASK_END &&
                     (entry->doing != WSQI_RUNNING || entry->worker != worker);
        if (entry->task != NULL && !other) {
            entry->since = now;
            entry->worker = worker;
            entry->doing = doing;
            if (doing == WSQI_OVER) wsqi_list_remove(listing, entry);
        }
        wsqi_unlock(pool, &listing->lock);
    }
    if ((listing->hooks.events & 1u << event) != 0)
        listing->hooks.event(listing->hooks.user, event, worker, subject, value);
}

/* Sets the pool's hook to wsqi_list_event, before the workers start. False: no memory. */
static bool wsqi_list_make(wsq_pool *pool) {
    pool->listing->hooks = pool->hooks;
    pool->hooks.event = wsqi_list_event;
    pool->hooks.events = UINT32_MAX;
    pool->hooks.user = pool;
    return wsqi_list_grow(pool->listing, pool->config.allocator);
}

/* ---- what is written ---- */

/* A dump has at most 1000 waits, 1000 tasks and 32 timers; without memory, 32 of each. Guesses. */
enum { WSQI_DUMP_LINES = 1000, WSQI_DUMP_FEW = 32 };

/* One call of wsq_pool_dump. For each kind of line it reads each list under the list's lock, copies
 * at most `most` lines (those that come first in the order of wsqi_listed_before), and then writes
 * the copies. */
typedef struct wsqi_dump {
    wsq_pool *pool;
    FILE *file;
    uint64_t now;
    wsqi_listed *first; /* `room` lines in order, and space for one more */
    wsqi_listed few[WSQI_DUMP_FEW + 1];
    size_t room, most, count;
    uint64_t more; /* how many lines were left out */
} wsqi_dump;

/* Does line `one` come before `two`? The order is that of `doing`, then `since`, then `others`. */
static bool wsqi_listed_before(const wsqi_listed *one, const wsqi_listed *two) {
    if (one->doing != two->doing) return one->doing < two->doing;
    return one->since != two->since ? one->since < two->since : one->others < two->others;
}

/* Inserts a line in order. If there are `most` lines already, the last of all is left out, and
 * `more` counts it. The caller holds the lock of the list from which the line comes. */
static void wsqi_dump_copy(wsqi_dump *dump, const wsqi_listed *line) {
    size_t i = dump->count;
    if (i < dump->most) dump->count++;
    else dump->more++;
    for (; i > 0 && wsqi_listed_before(line, &dump->first[i - 1]); i--)
        dump->first[i] = dump->first[i - 1];
    dump->first[i] = *line;
}

/* Writes the lines of one kind: `copy_all` copies them, `write` writes one. */
static void wsqi_dump_lines(wsqi_dump *dump, const char *kind, size_t most,
                            void (*copy_all)(wsqi_dump *dump),
                            void (*write)(const wsqi_dump *dump, const wsqi_listed *line)) {
    dump->most = most < dump->room ? most : dump->room;
    dump->count = 0;
    dump->more = 0;
    copy_all(dump);
    for (size_t i = 0; i < dump->count; i++) {
        fprintf(dump->file, "  %-5s   ", kind);
        write(dump, &dump->first[i]);
        fputs("\n", dump->file);
    }
    if (dump->more != 0)
        fprintf(dump->file, "  %-5s   and %" PRIu64 " more\n", kind, dump->more);
}

static double wsqi_seconds(uint64_t from, uint64_t to) {
    return to > from ? (double)(to - from) * 1e-9 : 0.0;
}

static void wsqi_dump_who(const wsqi_dump *dump, const char *word, unsigned worker) {
    const wsq_pool *pool = dump->pool;
    const char *kind = wsqi_is_spare(pool, worker) ? "guest"
                       : worker < pool->workers    ? "worker"
                                                   : "stand-in";
    if (worker == WSQ_OUTSIDE) fprintf(dump->file, "%sa thread from outside", word);
    else fprintf(dump->file, "%s%s %u", word, kind, worker);
}

static void wsqi_dump_function(const wsqi_dump *dump, uintptr_t function) {
    const wsqi_list *listing = dump->pool->listing;
    const wsq_hooks *hooks = listing != NULL ? &listing->hooks : &dump->pool->hooks;
    const char *name = hooks->name != NULL ? hooks->name(hooks->user, function) : NULL;
    fprintf(dump->file, ", function 0x%" PRIxPTR, function);
    if (name != NULL) fprintf(dump->file, " (%s)", name);
}

/* Writes "the pool", or an address and, if this is a task in the list, the task's function. */
static void wsqi_dump_object(const wsqi_dump *dump, const char *word, const void *object) {
    wsq_pool *pool = dump->pool;
    wsqi_list *listing = pool->listing;
    uintptr_t function = 0;
    if (listing != NULL) {
        wsqi_lock(pool, &listing->lock);
        const wsqi_listed *entry = wsqi_list_at(listing, object);
        if (entry->task != NULL) function = entry->function;
        wsqi_unlock(pool, &listing->lock);
    }
    if (object == pool) fprintf(dump->file, "%sthe pool", word);
    else fprintf(dump->file, "%s%p", word, (void *)(uintptr_t)object);
    if (function != 0) wsqi_dump_function(dump, function);
}

/* Writes how many tasks the `ready` list of the lane holds or, for the global queue, the lists of
 * its 1 + `more` lanes together. A "+" says that there are tasks in `incoming`, too. */
static void wsqi_dump_lane(const wsqi_dump *dump, const char *name, const wsqi_lane *lane,
                           unsigned more) {
    uint64_t length = wsqi_load_hint(&lane->length);
    bool fresh = wsqi_load_hint(&lane->incoming) != NULL;
    for (unsigned i = 1; i <= more; i++) {
        length += wsqi_load_hint(&wsqi_global_lane(dump->pool, i)->length);
        fresh = fresh || wsqi_load_hint(&wsqi_global_lane(dump->pool, i)->incoming) != NULL;
    }
    fprintf(dump->file, "%s%" PRIu64 "%s", name, length, fresh ? "+" : "");
}

static void wsqi_dump_pool(const wsqi_dump *dump) {
    static const char *const phases[] = {"forked", "running", "stopping", "stopped"};
    wsq_pool *pool = dump->pool;
    unsigned started = wsqi_threads_started(pool), awake = 0; /* `awake` counts stand-ins */
    for (unsigned i = pool->workers, made = wsqi_threads_made(pool); i < started && i < made; i++)
        awake += !wsqi_asleep(wsqi_block(pool, i));
    fprintf(dump->file, "pool %p, \"%s\": %s; workers %u, stand-ins not idle %u, guests %u\n",
            (void *)pool, pool->name, phases[wsqi_load_hint(pool->phase)], pool->workers,
            awake, wsqi_guests(wsqi_load_hint(&pool->permits)));
    fprintf(dump->file, "  tasks   %" PRIu64 " spawned and not done, %" PRIu64 " held back\n",
            wsqi_unfinished(pool), wsqi_load_hint(&pool->held));
    wsqi_dump_lane(dump, "  lanes   high ", &pool->lanes[WSQ_HIGH], 0);
    wsqi_dump_lane(dump, ", normal ", &pool->lanes[WSQ_NORMAL], pool->global_lanes - 1);
    wsqi_dump_lane(dump, ", low ", &pool->lanes[WSQ_LOW], 0);
    fputs("\n", dump->file);
}

/* What a worker does, as far as other threads can see. */
static const char *wsqi_dump_state(const wsq_pool *pool, wsqi_worker *worker) {
    uint64_t mask = wsqi_bit(worker);
    unsigned word = worker->index / 64;
    if (!wsqi_has_thread(worker)) return "has no thread";
    if (wsqi_load_hint(&pool->bitmap.joiners[word]) & mask) return "asleep in a join";
    if (wsqi_load_hint(&pool->bitmap.sleepers[word]) & mask) return "asleep";
    if (wsqi_load_hint(&worker->parker.token) >= WSQI_TOKEN_ASLEEP) return "asleep in a wait";
    return "awake";
}

static void wsqi_dump_workers(const wsqi_dump *dump) {
    wsq_pool *pool = dump->pool;
    for (unsigned i = 0, made = wsqi_threads_made(pool); i < made; i++) {
        wsqi_worker *worker = wsqi_block(pool, i);
        wsqi_dump_who(dump, "  ", i);
        fprintf(dump->file,
                "  %s, has run %" PRIu64 " tasks; queued %u, slot %s, public jobs %" PRIu32,
                wsqi_dump_state(pool, worker), wsqi_load_stat(&worker->counters.run),
                (unsigned)wsqi_queue_length(worker),
                wsqi_load_hint(&worker->lifo) != NULL ? "full" : "empty",
                wsqi_range_length(worker));
        wsqi_dump_lane(dump, ", pinned ", &worker->inbox, 0);
        fputs("\n", dump->file);
    }
}

static void wsqi_copy_waits(wsqi_dump *dump) {
    wsq_pool *pool = dump->pool;
    wsqi_listed line = WSQI_INIT;
    for (int i = 0; i < WSQI_BUCKETS; i++) {
        wsqi_wait_bucket *bucket = &pool->buckets[i];
        wsqi_lock(pool, &bucket->lock);
        /* While we hold the lock, no wait ends, because its thread would need the lock for that. */
        for (const wsqi_wait *wait = bucket->first; wait != NULL; wait = wait->next) {
            line.task = wsqi_wait_subject(wait);
            line.since = wait->since;
            line.worker = wait->self != NULL ? wait->self->index : WSQ_OUTSIDE;
            wsqi_dump_copy(dump, &line);
        }
        wsqi_unlock(pool, &bucket->lock);
    }
}

static void wsqi_dump_wait(const wsqi_dump *dump, const wsqi_listed *wait) {
    wsqi_dump_who(dump, "", wait->worker);
    wsqi_dump_object(dump, " waits for ", wait->task);
    if (wait->since != 0)
        fprintf(dump->file, ", for %.6f s", wsqi_seconds(wait->since, dump->now));
}

/* Copies one list of timers. The caller holds their lock. */
static void wsqi_copy_list(wsqi_dump *dump, const wsqi_link *head) {
    wsqi_listed line = WSQI_INIT;
    for (wsqi_link *link = head->next; link != head; link = link->next) {
        const wsq_timer *timer = wsq_container_of(link, wsq_timer, link);
        line.task = timer->task;
        line.since = timer->at;
        wsqi_dump_copy(dump, &line);
    }
}

static void wsqi_copy_timers(wsqi_dump *dump) {
    wsq_pool *pool = dump->pool;
    for (unsigned i = 0; i < pool->workers; i++) {
        wsqi_timers *timers = &pool->timers[i];
        wsqi_lock(pool, &timers->lock);
        for (unsigned level = 0; level < WSQI_TIMER_LEVELS; level++)
            for (uint64_t lists = timers->filled[level]; lists != 0; lists &= lists - 1)
                wsqi_copy_list(dump, &timers->lists[level][wsqi_lowest_bit(lists)]);
        wsqi_unlock(pool, &timers->lock);
    }
}

static void wsqi_dump_timer(const wsqi_dump *dump, const wsqi_listed *timer) {
    fprintf(dump->file, "in %.6f s", wsqi_seconds(dump->now, timer->since));
    wsqi_dump_object(dump, " wakes ", timer->task);
}

static void wsqi_copy_tasks(wsqi_dump *dump) {
    wsq_pool *pool = dump->pool;
    wsqi_list *listing = pool->listing;
    uint64_t pending = wsqi_unfinished(pool);
    wsqi_lock(pool, &listing->lock);
    for (size_t i = 0; i < listing->capacity; i++)
        if (listing->entries[i].task != NULL) wsqi_dump_copy(dump, &listing->entries[i]);
    if (listing->partial && pending > listing->count) dump->more += pending - listing->count;
    wsqi_unlock(pool, &listing->lock);
}

static void wsqi_dump_task(const wsqi_dump *dump, const wsqi_listed *task) {
    static const char *const doings[][2] = {{"runs", ", on "},
                                            {"waits for a wake", ", last on "},
                                            {"is held back", ", after others: "},
                                            {"is queued", ", by "}};
    const char *const *doing = doings[task->doing];
    fprintf(dump->file, "%p %s, for %.6f s", (void *)(uintptr_t)task->task, doing[0],
            wsqi_seconds(task->since, dump->now));
    if (task->doing == WSQI_HELD) fprintf(dump->file, "%s%" PRIu64, doing[1], task->others);
    else wsqi_dump_who(dump, doing[1], task->worker);
    wsqi_dump_function(dump, task->function);
    if (task->group != NULL) fprintf(dump->file, ", group %p", (void *)(uintptr_t)task->group);
}

WSQ_API void wsq_pool_dump(wsq_pool *pool, FILE *file) {
    const size_t bytes = (WSQI_DUMP_LINES + 1) * sizeof(wsqi_listed);
    wsqi_dump dump;
    if (wsqi_forked(pool)) {
        fprintf(file, "pool %p belongs to the parent process\n", (void *)pool);
        return;
    }
    void *lines = wsqi_allocate(pool->config.allocator, bytes, sizeof(uint64_t));
    dump.first = lines != NULL ? (wsqi_listed *)lines : dump.few;
    dump.room = lines != NULL ? WSQI_DUMP_LINES : WSQI_DUMP_FEW;
    dump.pool = pool;
    dump.file = file;
    dump.now = wsqi_clock_ns();
    wsqi_dump_pool(&dump);
    wsqi_dump_workers(&dump);
    wsqi_dump_lines(&dump, "wait", WSQI_DUMP_LINES, wsqi_copy_waits, wsqi_dump_wait);
    wsqi_dump_lines(&dump, "timer", WSQI_DUMP_FEW, wsqi_copy_timers, wsqi_dump_timer);
    if (pool->listing != NULL)
        wsqi_dump_lines(&dump, "task", WSQI_DUMP_LINES, wsqi_copy_tasks, wsqi_dump_task);
    wsqi_release(pool->config.allocator, lines, bytes);
}

/* ==========================================================================
 * >>stop: how a pool ends
 * Purpose:   ends a pool. A cancelling shutdown calls each task's cleanup in place of its function.
 * Invariant: in a pool that stops, S counts each sleeping worker that is on duty (>>quiet) as idle.
 *            When it is still (all threads on duty sleep, and nothing is queued), the waits that
 *            would last for ever return. If no thread then waits inside a task, the pool is over.
 * Writers:   duty.threads: each thread counts itself; wsqi_worker_start and wsqi_check_still count
 *            another one. The phase: the first shutdown begins CANCEL; the thread that finds the
 *            pool still begins OVER, under the pool's lock.
 * Source:    termination detection by counting active threads. While a pool stops, a thread that
 *            wakes up takes the pool's lock first, so one look under that lock is enough.
 * ========================================================================== */

/* Cancels all tasks in lanes, and their successors. The pool is over, or is lend_only and stops, so
 * perhaps no worker takes tasks. If another sweep runs already, that sweep cancels them. */
static void wsqi_sweep(wsq_pool *pool) {
    wsqi_duty_begin(pool);
    while (wsqi_lanes_hold(pool)) {
        /* G3: no sweeps overlap. Failure: another sweep, maybe on this stack, will look again. */
        if (wsqi_xchg_acq(&pool->duty.sweeping, 1u) != 0) break;
        wsqi_store_hint(&pool->duty.sweeper, (uint64_t)wsqi_thread_key());
        wsqi_cancel_lanes(pool);
        wsqi_store_hint(&pool->duty.sweeper, (uint64_t)0);
        wsqi_store_rel(&pool->duty.sweeping, 0u); /* G4: the next sweep sees what this one did. */
        /* P4: this thread sees a new task, or the task's producer sees no sweep, and sweeps. */
        wsqi_fence_sc();
    }
    wsqi_check_quiet(pool);
    wsqi_duty_end(pool);
}

/* The caller has queued a task, and passed a full barrier after that. If the pool is over, cancels
 * the task, because no worker will run it. If a lend_only pool is stopping, calls the thread in
 * wsq_pool_shutdown, because all lent threads may block. */
static void wsqi_check_over(wsq_pool *pool) {
    /* P4: either this thread sees that the pool is over, or the last sweep sees the task. And
     * either this thread sees that the pool stops, or wsqi_pool_stop sees the task. */
    uint32_t phase = wsqi_load_fenced(pool->phase);
    if (WSQI_LIKELY(phase == WSQI_PHASE_RUN)) return;
    if (phase == WSQI_PHASE_OVER) wsqi_sweep(pool);
    else if (wsqi_borrows(pool)) wsqi_call(pool, pool);
}

/* Is this block one that the waiting thread uses, now or further down its stack? The caller has
 * locked the wait's bucket. */
static bool wsqi_wait_owns(const wsqi_wait *wait, const wsqi_worker *block) {
    const wsqi_worker *own = wait->self;
    if (own == NULL && wait->parker != &wait->own) /* the thread is a guest or helper */
        own = wsq_container_of(wait->parker, wsqi_worker, parker);
    while (own != NULL && own != block) own = own->outer;
    return own != NULL;
}

/* Is one of these frames that of a task of the group? */
static bool wsqi_frames_show(const wsqi_frame *frame, const wsq_group *group) {
    for (; frame != NULL; frame = frame->outer)
        if (frame->group == group) return true;
    return false;
}

/* The pool is still. Is a task of the awaited group in the middle of its run or its cleanup, in the
 * block of a worker or helper, or in a sweep? (Then the group may still end.) A task on the stack
 * of the waiting thread does not count, because it cannot go on before the wait returns. The frames
 * may be read: all threads on duty sleep, and guests and helpers change `outer` and `group`,
 * which this reads, only while on duty. */
static bool wsqi_group_runs(const wsqi_wait *wait) {
    const wsq_pool *pool = wait->pool;
    unsigned made = wsqi_threads_made(pool), count = made + wsqi_spares_made(pool);
    if (!wait->sweeps && wsqi_frames_show(pool->duty.frame, wait->group)) return true;
    for (unsigned i = 0; i < count; i++) {
        const wsqi_worker *block = wsqi_block(pool, wsqi_nth(pool, made, i));
        if (wsqi_wait_owns(wait, block)) continue;
        if (wsqi_frames_show(&block->frame, wait->group)) return true;
    }
    return false;
}

/* The pool is still. Will the awaited task or group never end? A task in the middle of its run is
 * in a wait, and may end after that wait. So may one that was woken: it is in its cleanup, because
 * nothing is queued. Other tasks that are pending, and those that are held, will not run. */
static bool wsqi_wait_endless(wsqi_wait *wait) {
    if (wait->group != NULL) return !wsqi_group_runs(wait);
    if (wait->task == NULL) return false;
    uint32_t state = wsqi_load_hint(&wait->task->state);
    if (wsqi_task_is(state, WSQI_TASK_PENDING) && (state & WSQI_TASK_WOKEN) != 0) return false;
    return !wsqi_task_is(state, WSQI_TASK_ACTIVE) || state >= WSQI_TASK_HOLD;
}

/* Does a thread sleep in this wait, inside a task? (A wait that is not `asleep` lies below another
 * one on the same stack, and cannot end before that one. By P5 in wsqi_still, `asleep` of each
 * sleeping thread is visible.) */
static bool wsqi_wait_sleeps(const wsqi_wait *wait) {
    return wait->inside && wsqi_load_hint(&wait->asleep) != 0;
}

/* Was a thread that sleeps in a wait inside a task called? Then it will go on, and may end what
 * others wait for. */
static bool wsqi_waits_called(wsq_pool *pool) {
    bool called = false;
    for (int i = 0; i < WSQI_BUCKETS; i++) {
        wsqi_lock(pool, &pool->buckets[i].lock);
        for (wsqi_wait *wait = pool->buckets[i].first; wait != NULL; wait = wait->next)
            called = called || (wsqi_wait_sleeps(wait) && wsqi_wait_called(wait));
        wsqi_unlock(pool, &pool->buckets[i].lock);
    }
    return called;
}

/* The pool is still. Unless a waiting thread was called, the first round over the buckets releases
 * each wait that would last for ever. If it releases none, each wait is for a task that is itself
 * below a wait, on the same stack or on another one. Then a second round releases one wait. False:
 * no thread waits inside a task. */
static bool wsqi_waits_release(wsq_pool *pool) {
    bool any = wsqi_waits_called(pool), released = any;
    for (int i = 0; i < 2 * WSQI_BUCKETS && !(released && i % WSQI_BUCKETS == 0); i++) {
        wsqi_wait_bucket *bucket = &pool->buckets[i % WSQI_BUCKETS];
        wsqi_lock(pool, &bucket->lock);
        for (wsqi_wait *wait = bucket->first; wait != NULL; wait = wait->next) {
            if (!wsqi_wait_sleeps(wait)) continue;
            any = true;
            bool called = wsqi_wait_called(wait); /* just now: then it goes on by itself */
            released = released || called;
            if (called || (i < WSQI_BUCKETS ? !wsqi_wait_endless(wait) : released)) continue;
            /* W1: the waiting thread sees what has changed. Pairs with W2. */
            wsqi_store_rel(&wait->called, (uint32_t)WSQI_CALL_RELEASE);
            wsqi_unpark(wait->parker);
            released = true;
        }
        wsqi_unlock(pool, &bucket->lock);
    }
    return any;
}

/* This wait is in a cleanup that wsqi_sweep calls, and nothing is queued. Will it never end? If the
 * pool is over: yes. Before that only if all other threads on duty sleep, and no waiting thread was
 * called. If then not this wait but others are endless, they are released, and this one goes on; if
 * there is none to release, this one ends. */
static bool wsqi_swept(wsqi_wait *wait) {
    wsq_pool *pool = wait->pool;
    if (wsqi_load_hint(pool->phase) == WSQI_PHASE_OVER) return true;
    wsqi_lock(pool, &pool->lock);
    wsqi_fence_sc(); /* P4: as in wsqi_check_still */
    uint64_t s = wsqi_load_acq(&pool->permits); /* P5: as in wsqi_still */
    bool sleep = wsqi_idle(s) + 1 >= wsqi_load_acq(&pool->duty.threads); /* P5: as above */
    bool still = sleep && !wsqi_lanes_hold(pool) && !wsqi_waits_called(pool);
    bool endless = still && wsqi_wait_endless(wait);
    if (still && !endless && !wsqi_waits_release(pool)) endless = true;
    wsqi_unlock(pool, &pool->lock);
    if (!endless) wsqi_thread_yield();
    return endless;
}

/* Do all threads on duty sleep, and is nothing queued? The caller holds the pool's lock. stopper:
 * the caller is the thread in wsq_pool_shutdown. */
static bool wsqi_still(wsq_pool *pool, bool stopper) {
    uint64_t s = wsqi_load_acq(&pool->permits); /* P5: what a sleeper has queued is visible */
    /* P5: what a thread did before it went off duty is visible, too. */
    uint32_t threads = wsqi_load_acq(&pool->duty.threads);
    if (wsqi_idle(s) != threads) return false; /* a thread that searches is not idle */
    bool left = wsqi_lanes_hold(pool);
    for (unsigned i = 0, made = wsqi_threads_made(pool); i < made && !left; i++)
        left = wsqi_has_tasks(wsqi_block(pool, i));
    /* Maybe no other thread takes the queued tasks, so this calls the thread in wsq_pool_shutdown.
     * If this thread is itself the one in wsq_pool_shutdown (stopper), it calls no thread: the
     * tasks' producers are about to notify, or to call this thread. */
    if (left && !stopper) wsqi_call(pool, pool);
    return !left;
}

/* If the pool stops and is still: releases the waits that would last for ever, or, if no thread
 * waits in a task, ends the pool. A thread that goes to sleep or off duty calls this, after a full
 * barrier (P4); so does the thread in wsq_pool_shutdown (stopper). */
static void wsqi_check_still(wsq_pool *pool, bool stopper) {
    if (wsqi_load_fenced(pool->phase) != WSQI_PHASE_CANCEL) return;
    /* A thread that wakes up now waits in wsqi_woke for this lock, so its stack may be read. */
    wsqi_lock(pool, &pool->lock);
    /* P4: if a thread woke up while the phase was RUN, this thread sees that it is awake. */
    wsqi_fence_sc();
    if (wsqi_load_locked(pool->phase) == WSQI_PHASE_CANCEL && wsqi_still(pool, stopper) &&
        !wsqi_waits_release(pool)) {
        /* From here on the thread that is in wsq_pool_shutdown counts as on duty, until it has
         * cancelled the last tasks. Up to then wsqi_over is false, so other threads go on waiting.
         * Relaxed: P6 orders it. */
        wsqi_add_rlx(&pool->duty.threads, 1u);
        /* P6: what tasks did is visible to the shutdown. Pairs with P5. */
        wsqi_store_rel(pool->phase, (uint32_t)WSQI_PHASE_OVER);
        wsqi_call(pool, pool);
    }
    wsqi_unlock(pool, &pool->lock);
}

static void wsqi_tokens_give(wsq_pool *pool) {
    unsigned made = wsqi_threads_made(pool), all = made + wsqi_spares_made(pool);
    for (unsigned i = 0; i < all; i++)
        wsqi_unpark(&wsqi_block(pool, wsqi_nth(pool, made, i))->parker);
}

/* The pool is over: waits until the first `count` workers and all stand-ins have ended. */
static void wsqi_pool_join(wsq_pool *pool, unsigned count) {
    /* From here on no stand-in starts: a start takes this lock, and sees that the pool is over. */
    wsqi_lock(pool, &pool->lock);
    wsqi_unlock(pool, &pool->lock);
    wsqi_tokens_give(pool);
    for (unsigned i = 0; i < count; i++)
        wsqi_thread_join(&wsqi_block(pool, i)->thread);
    for (unsigned i = pool->workers; i < wsqi_threads_started(pool); i++)
        wsqi_thread_join(&wsqi_block(pool, i)->thread);
}

/* Ends the pool: waits until it is over and its threads have ended. The first shutdown calls
 * this. */
static void wsqi_pool_stop(wsqi_wait *wait) {
    wsq_pool *pool = wait->pool;
    /* P4: either a thread that goes to sleep or off duty sees the new phase, or this thread sees
     * it asleep or off duty. Without the barrier, maybe neither would end the pool. */
    wsqi_fence_sc();
    wsqi_tokens_give(pool); /* so waits and joins look again, and see the shutdown */
    for (;;) {
        wsqi_wait_listen(wait);
        /* A lend_only or caller_runs pool may have no thread to cancel tasks, so this one does. */
        if (wsqi_borrows(pool)) wsqi_sweep(pool);
        if (wsqi_pump_enter(pool)) {
            while (wsqi_pump(pool)) {}
            wsqi_pump_leave(pool);
        }
        wsqi_check_still(pool, true);
        /* P5: what tasks did is visible. Pairs with P6. */
        if (wsqi_load_acq(pool->phase) == WSQI_PHASE_OVER) break;
        /* A cleanup that ran above may have waited. That wait took this thread's permits again. */
        (void)wsqi_wait_block(wait, NULL);
        wsqi_wait_park(wait);
    }
    wsqi_pool_join(pool, wsqi_own_threads(&pool->config));
    /* All timers fire, because no thread will wait for their times. So the tasks that sleep are
     * queued, and thus cancelled (wsqi_check_over). Rejected: to do this before the pool is over.
     * Then cleanups that wait for one another may lie on several stacks, in the wrong order, and
     * some of their waits are released (wsqi_waits_release). */
    while (wsqi_load_hint(&pool->watch.timer_next) != WSQI_NEVER) {
        (void)wsqi_timers_fire_by(pool, WSQI_LATEST, 0);
        wsqi_pause(); /* a thread outside may hold the lock of a list */
    }
    /* P4, by the barrier in wsqi_duty_begin: either this sweep sees a task that was just queued,
     * or the task's producer sees that the pool is over. */
    wsqi_sweep(pool);
    wsqi_duty_end(pool);
}

/* How long wsqi_drain waits before it says what is left. A guess. With NDEBUG it says nothing. */
#if !defined(WSQI_PATIENCE_NS) && !defined(NDEBUG)
#define WSQI_PATIENCE_NS 5000000000u
#elif !defined(WSQI_PATIENCE_NS)
#define WSQI_PATIENCE_NS WSQ_FOREVER
#endif

/* Does the pool wait for a thread outside? It does if all threads of the pool sleep, but not in its
 * driver, no helper or guest runs a task or job, and no timer is set. Then nothing happens unless a
 * thread outside acts. */
static bool wsqi_waits_for_outside(wsq_pool *pool) {
    uint32_t threads = 0;
    for (unsigned i = 0, made = wsqi_threads_made(pool); i < made; i++) {
        wsqi_worker *worker = wsqi_block(pool, i);
        if (!wsqi_has_thread(worker)) continue;
        if (wsqi_load_hint(&worker->parker.token) != WSQI_TOKEN_ASLEEP) return false;
        threads++;
    }
    /* If more threads are on duty than the pool has, a helper or guest runs a task or job. */
    return wsqi_load_hint(&pool->duty.threads) <= threads &&
           wsqi_load_hint(&pool->watch.timer_next) == WSQI_NEVER;
}

/* Waits until no task is left. If the pool is stuck (WSQ_ERR_INVALID), this waits again, because
 * the tasks may wait for another pool. A long wait mostly means that a wake was forgotten. So
 * without NDEBUG this prints once what is left. */
static void wsqi_drain(wsq_pool *pool) {
    bool said = WSQI_PATIENCE_NS == WSQ_FOREVER;
    for (;;) {
        wsq_result result = wsq_pool_wait_for(pool, WSQI_PATIENCE_NS);
        if (result != WSQ_ERR_TIMEOUT && result != WSQ_ERR_INVALID) return;
        if (said || !wsqi_waits_for_outside(pool)) continue;
        fputs("wsq: a shutdown waits, and no thread of its pool does anything:\n", stderr);
        wsq_pool_dump(pool, stderr);
        said = true;
    }
}

WSQ_API wsq_result wsq_pool_shutdown(wsq_pool *pool, wsq_shutdown mode) {
    uint32_t phase = WSQI_PHASE_RUN;
    if (pool == NULL || (mode != WSQ_DRAIN && mode != WSQ_CANCEL)) return WSQ_ERR_INVALID;
    if (wsqi_forked(pool)) return WSQ_ERR_FORKED;
    if (wsqi_inside(pool) != NULL || wsqi_sweeps(pool)) return WSQ_ERR_INVALID;
    wsqi_admit_none(pool);
    if (mode == WSQ_DRAIN) wsqi_drain(pool);
    wsqi_wait wait;
    wsqi_wait_begin(&wait, pool, pool, WSQ_FOREVER);
    (void)wsqi_wait_block(&wait, NULL);
    /* Relaxed: a barrier follows in wsqi_pool_stop. Failure: another thread stops the pool. */
    if (wsqi_cas_rlx(pool->phase, &phase, (uint32_t)WSQI_PHASE_CANCEL)) wsqi_pool_stop(&wait);
    for (wsqi_wait_listen(&wait); !wsqi_over(pool); wsqi_wait_listen(&wait))
        wsqi_wait_park(&wait);
    wsqi_wait_end(&wait);
    return WSQ_OK;
}

/* ==========================================================================
 * >>pool
 * Purpose:   creates and destroys pools, and adds up what their workers count.
 * Invariant: a pool that cannot be created as a whole leaves nothing behind.
 * Writers:   a pool that is not shared yet: its creator. Counters: each worker its own.
 * ========================================================================== */

/* By default max_standins is this, or the number of workers if that is more. Both values are
 * guesses. With 64 bits (but not on Windows) the value is larger, because the unused part of a
 * thread's stack takes only address space. */
#if UINTPTR_MAX > 0xffffffffu && !defined(_WIN32)
#define WSQI_STANDINS 64u
#else
#define WSQI_STANDINS 8u
#endif

/* How many rounds a search has before its thread sleeps. Their pauses are 478 spin hints in all, 13
 * us on a Zen 5. A sleep costs the sleeper and its waker together more than that. */
#define WSQI_SPIN_ROUNDS 18

#if !defined(WSQ_STATIC)
WSQ_API void WSQI_CONFIGURED(void) {}
#endif

WSQ_API const char *wsq_result_string(wsq_result result) {
    switch (result) {
    case WSQ_OK: return "ok";
    case WSQ_ERR_MEMORY: return "out of memory";
    case WSQ_ERR_INVALID:
        return "wrong argument or state; the contract of the call lists the causes";
    case WSQ_ERR_THREAD: return "cannot start a thread";
    case WSQ_ERR_CLOSED: return "the pool is shutting down";
    case WSQ_ERR_TIMEOUT: return "timed out";
    case WSQ_ERR_FORKED: return "the pool belongs to the parent process";
    case WSQ_ERR_CANCELLED: return "cancelled";
    }
    return "unknown result";
}

/* ---- create ---- */

static bool wsqi_config_valid(const wsq_config *config) {
    const wsq_allocator *allocator = config->allocator;
    unsigned standins = config->max_standins == WSQ_STANDINS_OFF ? 0 : config->max_standins;
    if (config->workers > WSQI_MAX_WORKERS || standins > WSQI_MAX_WORKERS) return false;
    if (config->caller_runs && config->lend_only) return false;
    if ((unsigned)config->order > WSQ_SHARED) return false;
    if (config->max_interval != 0 && config->max_interval < config->min_interval) return false;
    if (config->topology != NULL && config->topology->place == NULL) return false;
    const wsq_driver *driver = config->driver;
    if (driver != NULL &&
        (driver->wait == NULL || driver->dispatch == NULL || driver->interrupt == NULL))
        return false;
    return allocator == NULL || (allocator->allocate != NULL && allocator->release != NULL);
}

/* Brings a valid config into the form that the pool uses. A member that is 0 gets its default,
 * unless a later step gives it one (wsq_tune_init, wsqi_pool_init). A WSQ_.._OFF (except in
 * spin_ns), or a value that this pool cannot use, becomes 0. */
static void wsqi_config_fill(wsq_config *config) {
    if (config->workers == 0) config->workers = config->caller_runs ? 1 : wsqi_cpu_count();
    if (config->max_standins == 0)
        config->max_standins = config->workers < WSQI_STANDINS ? WSQI_STANDINS : config->workers;
    if (config->max_standins == WSQ_STANDINS_OFF || wsqi_own_threads(config) == 0)
        config->max_standins = 0;
    if (config->seed == 0) config->seed = wsqi_clock_ns();
    /* So long a time-out counts as none, because the present time plus the time-out could wrap. */
    if (config->park_timeout_ns >= WSQI_NEVER / 2) config->park_timeout_ns = 0;
    if (config->lifo_cap == 0) config->lifo_cap = 3;
    /* WSQ_SHARED and WSQ_LIFO have an order of their own, so their pools have no LIFO slots. */
    if (config->lifo_cap == WSQ_LIFO_OFF || config->order != WSQ_FIFO) config->lifo_cap = 0;
    if (config->budget == 0) config->budget = 128;
    if (config->stack_size == 0) config->stack_size = wsqi_stack_default();
}

enum { WSQI_CPUS = 4096 }; /* the places of at most this many processors are known; a guess */

/* The size of a pool's struct with its bitmaps, list of tasks, table of blocks, and places. */
static size_t wsqi_pool_bytes(unsigned blocks, unsigned words) {
    return sizeof(wsq_pool) + 4 * words * sizeof(wsqi_a64) + sizeof(wsqi_list) +
           blocks * (sizeof(wsqi_worker *) + sizeof(wsqi_a32));
}

static void wsqi_pool_free(wsq_pool *pool) {
    /* P8: waits, a short time, until no thread outside is still queueing a task. Pairs with P7. (In
     * a child of fork() the thread that would end this wait does not exist.) */
    while (!wsqi_forked(pool) && wsqi_load_acq(&pool->duty.abroad) != 0) wsqi_pause();
    wsq_allocator copy = pool->allocator;
    const wsq_allocator *allocator = pool->config.allocator != NULL ? &copy : NULL;
    wsqi_chunk *chunk;
    for (unsigned i = 0; i < wsqi_blocks(pool); i++) /* only a WSQ_LIFO pool has deques */
        if (pool->table[i] != NULL) wsq_deque_fini(&pool->table[i]->deque);
    while ((chunk = (wsqi_chunk *)pool->depot.chunks) != NULL) {
        pool->depot.chunks = chunk->next;
        wsqi_release(allocator, chunk, sizeof *chunk);
    }
    wsqi_list *listing = pool->listing;
    if (listing != NULL)
        wsqi_release(allocator, listing->entries, listing->capacity * sizeof(wsqi_listed));
    wsqi_release(allocator, pool->places.of_cpu, WSQI_CPUS * sizeof(uint32_t));
    wsqi_timers_free(pool, allocator);
    /* In a child of fork() wsqi_parking_fini could wait for threads that slept in the parent. */
    if (!wsqi_forked(pool)) wsqi_parking_fini(&pool->parking);
    if (pool->phase != &pool->own_phase) wsqi_guard_destroy(pool->phase);
    for (unsigned i = pool->workers; i < wsqi_blocks(pool); i++)
        wsqi_blocks_give(allocator, pool->table[i], WSQ_BLOCK_SIZE);
    wsqi_blocks_give(allocator, pool->table[0], pool->workers * (size_t)WSQ_BLOCK_SIZE);
    wsqi_store_stat(&pool->alive, 0u);
    wsqi_release(allocator, pool, wsqi_pool_bytes(wsqi_blocks(pool), pool->bitmap.words));
}

/* Makes a pool that has no workers yet. wsqi_pool_free can free it. NULL: no memory. */
static wsq_pool *wsqi_pool_allocate(const wsq_config *config) {
    unsigned spare_base = config->workers + config->max_standins;
    unsigned blocks = spare_base + 2 * (WSQ_GUESTS), words = (blocks + 63) / 64;
    size_t bytes = wsqi_pool_bytes(blocks, words);
    wsq_pool *pool = (wsq_pool *)wsqi_allocate(config->allocator, bytes, WSQ_CACHELINE);
    if (pool == NULL) return NULL;
    memset((void *)pool, 0, bytes);
    if (!wsqi_parking_init(&pool->parking)) {
        wsqi_release(config->allocator, pool, bytes);
        return NULL;
    }
    pool->copy = &wsqi_copy;
    wsqi_store_init(&pool->alive, WSQI_ALIVE);
    pool->phase = wsqi_guard_create();
    if (pool->phase == NULL) pool->phase = &pool->own_phase;
    wsqi_store_init(pool->phase, (uint32_t)WSQI_PHASE_RUN);
    pool->config = *config;
    if (config->driver != NULL) pool->driver = *config->driver;
    pool->workers = config->workers;
    pool->spare_base = spare_base;
    pool->bitmap.words = words;
    pool->bitmap.sleepers = (wsqi_a64 *)(void *)(pool + 1);
    pool->bitmap.joiners = pool->bitmap.sleepers + words;
    pool->bitmap.idle_in_wait = pool->bitmap.joiners + words;
    pool->bitmap.takers = pool->bitmap.idle_in_wait + words;
    pool->bitmap.empty = pool->bitmap.takers + words;
    wsqi_list *listing = (wsqi_list *)(void *)(pool->bitmap.empty + words);
    if (WSQI_LISTS && config->list_tasks) pool->listing = listing;
    pool->table = (wsqi_worker **)(void *)(listing + 1);
    pool->places.of_block = (wsqi_a32 *)(void *)(pool->table + blocks);
    if (config->allocator != NULL) {
        pool->allocator = *config->allocator;
        pool->config.allocator = &pool->allocator;
    }
    return pool;
}

/* Finds which processors are near each other, unless the caller gave a topology. Distances do not
 * matter for fewer than three workers, on one processor, or if all processors are equally near. */
static void wsqi_pool_place(wsq_pool *pool, const wsq_config *config) {
    wsqi_places *places = &pool->places;
    const size_t bytes = WSQI_CPUS * sizeof *places->of_cpu;
    places->matter = config->topology != NULL;
    if (places->matter) places->topology = *config->topology;
    if (places->matter || pool->workers < 3 || pool->processors == 1) return;
    uint32_t *of_cpu = (uint32_t *)wsqi_allocate(config->allocator, bytes, sizeof(void *));
    if (of_cpu == NULL) return; /* no memory: distances are ignored */
    memset(of_cpu, 0, bytes);
    places->cpus = wsqi_places_read(of_cpu, WSQI_CPUS);
    for (unsigned i = 1; i < places->cpus; i++)
        if (of_cpu[i] != of_cpu[0]) places->matter = true;
    if (places->matter) places->of_cpu = of_cpu;
    else wsqi_release(config->allocator, of_cpu, bytes);
}

/* Sets up the whole pool, but starts no threads. False: no memory. */
static bool wsqi_pool_init(wsq_pool *pool, const wsq_config *config) {
    size_t bytes = (size_t)pool->workers * WSQ_BLOCK_SIZE;
    if (config->hooks != NULL) pool->hooks = *config->hooks;
    if (pool->hooks.event == NULL) pool->hooks.events = 0;
    else if (pool->hooks.events == 0) pool->hooks.events = UINT32_MAX;
    pool->may_help = wsqi_own_threads(config) != 0 && !wsqi_hooked(pool, 1u << WSQ_EVENT_START) &&
                   config->order != WSQ_LIFO && /* a helper's spawns would not run newest first */
                   config->stack_size <= wsqi_stack_default();
    if (WSQI_LISTS && pool->listing != NULL && !wsqi_list_make(pool)) return false;
    if (bytes / WSQ_BLOCK_SIZE != pool->workers || !wsqi_timers_make(pool)) return false;
    char *blocks = (char *)wsqi_blocks_take(config->allocator, bytes);
    if (blocks == NULL) return false;
    snprintf(pool->name, sizeof pool->name, "%.13s", config->name != NULL ? config->name : "wsq");
    pool->processors = wsqi_cpu_mask();
    /* On one processor a worker that keeps looking only delays the thread that has work for it. */
    pool->spin.rounds = pool->processors == 1 ? 2 : WSQI_SPIN_ROUNDS;
    unsigned lanes = pool->workers / WSQI_LANE_WORKERS, most = WSQI_GLOBAL_LANES;
    if (lanes > 8) lanes = pool->workers <= 64 ? 8 : pool->workers / 8;
    /* If the tasks of the global queue must stay in order, the queue has only one lane. */
    if (config->order != WSQ_FIFO || lanes == 0) lanes = 1;
    pool->global_lanes = lanes < most ? lanes : most;
    if (config->caller_runs) /* one thread acts as all workers, and the tasks have an order */
        pool->processors = pool->spin.rounds = pool->global_lanes = 1;
    wsq_pool_set_spin(pool, config->spin_ns);
    wsqi_pool_place(pool, config);
    wsqi_store_init(&pool->permits, config->lend_only ? pool->workers * WSQI_PERMIT : 0);
    for (unsigned i = 0; i < pool->workers; i++) {
        wsqi_set(&pool->table[i], (wsqi_worker *)(void *)(blocks + i * (size_t)WSQ_BLOCK_SIZE));
        wsqi_store_init(&pool->made.threads, i + 1);
        if (!wsqi_worker_init(wsqi_block(pool, i), pool, i)) return false;
    }
    return true;
}

WSQ_API wsq_result wsq_pool_create(wsq_pool **out, const wsq_config *config) {
    wsq_config filled = WSQI_INIT;
    if (config != NULL) filled = *config;
    if (out == NULL || !wsqi_config_valid(&filled)) return WSQ_ERR_INVALID;
    wsqi_config_fill(&filled);
    wsq_pool *pool = wsqi_pool_allocate(&filled);
    if (pool == NULL) return WSQ_ERR_MEMORY;
    wsq_result result = wsqi_pool_init(pool, &filled) ? WSQ_OK : WSQ_ERR_MEMORY;
    for (unsigned i = 0; i < wsqi_own_threads(&filled) && result == WSQ_OK; i++) {
        if (wsqi_worker_start(wsqi_block(pool, i))) continue;
        /* Relaxed: a worker sees OVER at the latest with the token of wsqi_pool_join (I2). */
        wsqi_store_rlx(pool->phase, (uint32_t)WSQI_PHASE_OVER);
        wsqi_pool_join(pool, i);
        result = WSQ_ERR_THREAD;
    }
    if (result == WSQ_OK) *out = pool;
    else wsqi_pool_free(pool);
    return result;
}

/* Takes the pool's blocks out of the list of blocks that this thread uses. (In a child of fork(),
 * which may be in the middle of a task, the pool is about to be freed.) */
static void wsqi_blocks_unlink(const wsq_pool *pool) {
    wsqi_worker *self = wsqi_self_get(), **link = &self;
    while (*link != NULL)
        if ((*link)->pool == pool) *link = (*link)->outer;
        else link = &(*link)->outer;
    wsqi_self_set(self);
}

WSQ_API void wsq_pool_destroy(wsq_pool *pool) {
    if (pool == NULL) return;
    wsq_result result = wsq_pool_shutdown(pool, WSQ_DRAIN);
    if (result == WSQ_ERR_FORKED) wsqi_blocks_unlink(pool);
    if (result == WSQ_OK || result == WSQ_ERR_FORKED) wsqi_pool_free(pool);
}

/* ---- settings and counts ---- */

WSQ_API void wsq_pool_set_spin(wsq_pool *pool, uint64_t spin_ns) {
    if (pool->spin.rounds != 1) wsqi_store_hint(&pool->spin.ns, spin_ns); /* 1: caller_runs */
}

WSQ_API unsigned wsq_pool_workers(const wsq_pool *pool) { return pool->workers; }

WSQ_API unsigned wsq_pool_slots(const wsq_pool *pool) { return wsqi_blocks(pool); }

WSQ_API uint64_t wsq_pool_pending(const wsq_pool *pool) {
    wsqi_check_pool(pool);
    return wsqi_unfinished(pool);
}

WSQ_API void wsq_worker_stats(const wsq_pool *pool, unsigned index, wsq_stats *out) {
    wsqi_check_pool(pool);
    memset(out, 0, sizeof *out);
    if (!wsqi_block_known(pool, index)) return;
    wsqi_worker *worker = wsqi_block(pool, index);
    const wsqi_a64 *from = (const wsqi_a64 *)(const void *)&worker->counters;
    uint64_t *to = (uint64_t *)(void *)out;
    for (size_t k = 0; k < sizeof worker->counters / sizeof *from; k++)
        to[k] = wsqi_load_stat(&from[k]);
    out->queue_depth = wsqi_queue_length(worker);
}

WSQ_API void wsq_pool_stats(const wsq_pool *pool, wsq_stats *out) {
    wsq_stats one;
    uint64_t *sum = (uint64_t *)(void *)out, *part = (uint64_t *)(void *)&one;
    /* P2: each finished task's spawn is visible, so `spawned` is not less than `finished`. */
    uint64_t finished = wsqi_finished(pool);
    memset(out, 0, sizeof *out);
    unsigned made = wsqi_threads_made(pool), count = made + wsqi_spares_made(pool);
    for (unsigned i = 0; i < count; i++) {
        wsq_worker_stats(pool, wsqi_nth(pool, made, i), &one);
        if (i >= pool->workers) one.average_task_ns = one.interval = 0;
        for (size_t k = 0; k < sizeof one / sizeof *sum; k++) sum[k] += part[k];
    }
    out->finished = finished;
    for (unsigned i = 0; i < pool->global_lanes; i++)
        out->spawned += wsqi_load_stat(&pool->lanes[wsqi_lane_index(i)].outside) / 2;
    out->wakes_sent += wsqi_load_stat(&pool->wakes);
    out->average_task_ns /= pool->workers;
    out->interval /= pool->workers;
}

WSQ_API void wsq_stats_print(const wsq_pool *pool, FILE *file) {
    wsq_stats line;
    unsigned made = wsqi_threads_made(pool);
    fprintf(file, "%-7s%11s%9s%11s%9s%8s%9s%8s%8s%8s%10s%6s\n", "worker", "run", "lifo", "local",
            "global", "steals", "stolen", "jobs", "parks", "wakes", "ns/task", "every");
    for (unsigned i = 0; i <= made; i++) {
        char name[16] = "pool";
        if (i == made) wsq_pool_stats(pool, &line);
        else wsq_worker_stats(pool, i, &line);
        if (i != made) snprintf(name, sizeof name, "%s%u", i < pool->workers ? "" : "+", i);
        fprintf(file,
                "%-7s%11" PRIu64 "%9" PRIu64 "%11" PRIu64 "%9" PRIu64 "%8" PRIu64 "%9" PRIu64
                "%8" PRIu64 "%8" PRIu64 "%8" PRIu64 "%10" PRIu64 "%6" PRIu64 "\n",
                name, line.run, line.lifo_hits, line.local_pops, line.global_tasks, line.steals,
                line.tasks_stolen, line.jobs_stolen, line.parks, line.wakes_sent,
                line.average_task_ns, line.interval);
    }
}

#if defined(WSQI_GNU)
#pragma GCC diagnostic pop
#endif
#endif /* WSQ_IMPLEMENTED */
#endif /* WSQ_IMPLEMENTATION */

/* ==========================================================================
 * >>licence: MIT or Unlicense, whichever you prefer
 * ==========================================================================
 *
 * wsq is available under the licence of your choice, A or B.
 *
 * ------------------------------------------------------------------------------
 * A - MIT License
 *
 * Copyright (c) wsq authors
 *
 * Permission is hereby granted, free of charge, to any person obtaining a copy of
 * this software and associated documentation files (the "Software"), to deal in
 * the Software without restriction, including without limitation the rights to
 * use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies
 * of the Software, and to permit persons to whom the Software is furnished to do
 * so, subject to the following conditions:
 *
 * The above copyright notice and this permission notice shall be included in all
 * copies or substantial portions of the Software.
 *
 * THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
 * IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
 * FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
 * AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
 * LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
 * OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
 * SOFTWARE.
 *
 * ------------------------------------------------------------------------------
 * B - Public Domain (www.unlicense.org)
 *
 * This is free and unencumbered software released into the public domain.
 *
 * Anyone is free to copy, modify, publish, use, compile, sell, or distribute this
 * software, either in source code form or as a compiled binary, for any purpose,
 * commercial or non-commercial, and by any means.
 *
 * In jurisdictions that recognize copyright laws, the author or authors of this
 * software dedicate any and all copyright interest in the software to the public
 * domain. We make this dedication for the benefit of the public at large and to
 * the detriment of our heirs and successors. We intend this dedication to be an
 * overt act of relinquishment in perpetuity of all present and future rights to
 * this software under copyright law.
 *
 * THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
 * IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
 * FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
 * AUTHORS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN
 * ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION
 * WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
 */
