/* examples/wsq_io.h: tasks that wait for sockets, with time-outs, and operations, on every system
 * call that it knows (the variants), behind a nuisance of a driver, too. A wake-up that is lost is a
 * hang. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "../examples/wsq_io.h"
#include "test.h"
#include "pool.h"
#include "sockets.h"
#if defined(WSQ_IO_RING)
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#endif

enum { PLAYERS = 32 };

/* ---- a ball that goes round: by readiness, by operations ---- */

typedef struct player {
    wsq_task task;
    wsq_io_limit limit;
    wsq_io_op op;
    wsq_pool *pool;
    wsq_io_fd in, out;
    size_t left, late;
    uint64_t since;
    bool sends;
    char ball;
} player;

static wsq_poll ready_run(wsq_ctx ctx, wsq_task *task) {
    player *self = wsq_container_of(task, player, task);
    while (self->left > 0) {
        int n = (int)recv(self->in, &self->ball, 1, 0);
        if (n == 1) {
            wsq_io_renew(&self->limit);
            self->left--;
            CHECK(send(self->out, &self->ball, 1, 0) == 1);
            continue;
        }
        if (wsq_io_late(&self->limit, wsq_pool_of(ctx), task, 100 * SECOND)) FAIL("100 s are not over");
        if (wsq_io_wait(&io, self->in, WSQ_IO_READ, task)) return WSQ_PENDING;
    }
    wsq_io_cancel(&io, self->in);
    wsq_io_reset(&self->limit);
    return WSQ_DONE;
}

static wsq_poll op_run(wsq_ctx ctx, wsq_task *task) {
    player *self = wsq_container_of(task, player, task);
    (void)ctx;
    while (self->left > 0) {
        if (!wsq_io_ended(&io, &self->op, task)) return WSQ_PENDING;
        CHECK_EQ(self->op.result, 1);
        if (self->sends) self->left--;
        self->sends = !self->sends;
        if (self->sends) wsq_io_send(&self->op, self->out, &self->ball, 1);
        else wsq_io_read(&self->op, self->in, &self->ball, 1, -1);
    }
    wsq_io_cancel(&io, self->in);
    wsq_io_cancel(&io, self->out);
    return WSQ_DONE;
}

static void rounds_with(wsq_config config, unsigned odds, wsq_task_fn run, unsigned balls, size_t rounds) {
    static player players[PLAYERS];
    wsq_io_fd pairs[PLAYERS][2];
    wsq_pool *pool = begin(config, odds);
    unsigned count = 2 * balls < PLAYERS ? 2 * balls : PLAYERS;
    if (sizeof(wsq_io_fd) > sizeof(int)) rounds /= 10; /* Windows: in Wine each event takes a ms */
    rounds = test_times(rounds);
    for (unsigned i = 0; i < count; i++) {
        make_pair(pairs[i]);
        for (int k = 0; k < 2; k++) {
            CHECK_EQ(run == op_run ? wsq_io_adopt(&io, pairs[i][k]) : wsq_io_unblock(pairs[i][k]), 0);
            if (run != op_run) CHECK_EQ(wsq_io_add(&io, pairs[i][k]), 0);
        }
    }
    for (unsigned i = 0; i < count; i++) {
        memset((void *)&players[i], 0, sizeof players[i]);
        players[i].pool = pool;
        players[i].in = pairs[i][0];
        players[i].out = pairs[(i + 1) % count][1];
        players[i].left = rounds;
        wsq_io_read(&players[i].op, players[i].in, &players[i].ball, 1, -1);
        wsq_task_init(&players[i].task, run);
        CHECK_EQ(wsq_spawn(pool, &players[i].task), WSQ_OK);
    }
    for (unsigned i = 0; i < balls; i++) CHECK(send(pairs[2 * i % count][1], "o", 1, 0) == 1);
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    for (unsigned i = 0; i < count; i++) CHECK_EQ(players[i].left, 0);
    end(pool);
    for (unsigned i = 0; i < count; i++) wsq_io_close(pairs[i][0]), wsq_io_close(pairs[i][1]);
}

static void every_pool(wsq_task_fn run) {
    for (unsigned workers = 1; workers < 5; workers++) {
        rounds_with((wsq_config){.workers = workers}, 0, run, 1, 500);
        rounds_with((wsq_config){.workers = workers}, 0, run, 8, 200);
        rounds_with((wsq_config){.workers = workers}, 3, run, 4, 200);
        rounds_with((wsq_config){.workers = workers, .spin_ns = WSQ_SPIN_OFF}, 2, run, 8, 100);
    }
    rounds_with((wsq_config){.caller_runs = true}, 0, run, 4, 200);
    rounds_with((wsq_config){.caller_runs = true}, 3, run, 4, 200);
    rounds_with((wsq_config){.workers = 2, .order = WSQ_SHARED}, 3, run, 4, 200);
}

static void readiness(void) { every_pool(ready_run); }
static void operations(void) { every_pool(op_run); }


/* ---- time-outs ---- */

static wsq_poll silent_run(wsq_ctx ctx, wsq_task *task) {
    player *self = wsq_container_of(task, player, task);
    while (self->left > 0 && recv(self->in, &self->ball, 1, 0) != 1) {
        if (wsq_io_late(&self->limit, wsq_pool_of(ctx), task, self->left)) {
            self->late++;
            break;
        }
        if (wsq_io_wait(&io, self->in, WSQ_IO_READ, task)) return WSQ_PENDING;
    }
    wsq_io_cancel(&io, self->in);
    wsq_io_reset(&self->limit);
    return WSQ_DONE;
}

/* In its second run the task renews its time-out; the timer of the first is set, and wakes it too early. */
static wsq_poll renewed_run(wsq_ctx ctx, wsq_task *task) {
    player *self = wsq_container_of(task, player, task);
    const uint64_t allowed_ns = SECOND / 25;
    if (++self->left <= 2) {
        if (self->left == 2) test_nap(2000000);
        self->since = wsq_io_clock();
        wsq_io_renew(&self->limit);
    }
    if (!wsq_io_late(&self->limit, wsq_pool_of(ctx), task, allowed_ns))
        return self->left == 1 ? WSQ_YIELD : WSQ_PENDING;
    CHECK(self->left > 2 && wsq_io_clock() - self->since >= allowed_ns);
    return WSQ_DONE;
}

static void renewed(void) {
    static player one;
    wsq_pool *pool = begin((wsq_config){.workers = 2}, 0);
    for (size_t i = 0; i < test_times(5); i++) {
        memset((void *)&one, 0, sizeof one);
        wsq_task_init(&one.task, renewed_run);
        CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_OK);
        CHECK_EQ(wsq_task_wait(&one.task), WSQ_OK);
    }
    end(pool);
}

/* An operation that is stopped when it is late; its result tells which came first. */
static wsq_poll stopped_run(wsq_ctx ctx, wsq_task *task) {
    player *self = wsq_container_of(task, player, task);
    while (!wsq_io_ended(&io, &self->op, task)) {
        if (self->late != 0 || !wsq_io_late(&self->limit, wsq_pool_of(ctx), task, self->left)) return WSQ_PENDING;
        self->late = 1;
        wsq_io_stop(&io, &self->op);
    }
    wsq_io_reset(&self->limit);
    if (self->late != 0 && self->op.result == 1) self->late = 0;
    else if (self->late != 0) CHECK_EQ(self->op.result, -ECANCELED);
    else CHECK_EQ(self->op.result, 1);
    return WSQ_DONE;
}

/* Something comes in time (kind 0), never (1), or at about the same moment (2). */
static void limits_with(wsq_task_fn run, int kind, unsigned odds) {
    static player one;
    wsq_io_fd pair[2];
    char byte;
    wsq_pool *pool = begin((wsq_config){.workers = 2}, odds);
    make_pair(pair);
    if (run == stopped_run) CHECK_EQ(wsq_io_adopt(&io, pair[0]), 0);
    else CHECK(wsq_io_unblock(pair[0]) == 0 && wsq_io_add(&io, pair[0]) == 0);
    for (size_t i = 0; i < test_times(kind == 2 ? 300 : 30); i++) {
        memset((void *)&one, 0, sizeof one);
        one.in = pair[0];
        one.left = kind == 0 ? 100 * SECOND : kind == 1 ? 1000000 : 300000;
        wsq_io_read(&one.op, pair[0], &one.ball, 1, -1);
        wsq_task_init(&one.task, run);
        CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_OK);
        if (kind == 2) test_nap((long)(250000 + i * 300 % 100000));
        if (kind != 1) CHECK(send(pair[1], "o", 1, 0) == 1);
        CHECK_EQ(wsq_task_wait(&one.task), WSQ_OK);
        if (kind != 2) CHECK_EQ(one.late, kind);
        if (one.late != 0 && kind == 2) /* it came after all: take it, or the next one would */
            while (recv(pair[0], &byte, 1, 0) != 1) test_nap(10000);
    }
    end(pool);
    wsq_io_close(pair[0]), wsq_io_close(pair[1]);
}

/* An operation that is stopped before it has begun: it never does. */
static wsq_poll never_begun_run(wsq_ctx ctx, wsq_task *task) {
    player *self = wsq_container_of(task, player, task);
    (void)ctx;
    wsq_io_stop(&io, &self->op);
    CHECK(wsq_io_ended(&io, &self->op, task));
    CHECK_EQ(self->op.result, -ECANCELED);
    CHECK(!wsq_io_busy(&self->op));
    return WSQ_DONE;
}

static void never_begun(void) {
    static player one;
    wsq_io_fd pair[2];
    wsq_pool *pool = begin((wsq_config){.workers = 1}, 0);
    make_pair(pair);
    CHECK_EQ(wsq_io_adopt(&io, pair[0]), 0);
    wsq_io_read(&one.op, pair[0], &one.ball, 1, -1);
    wsq_task_init(&one.task, never_begun_run);
    CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_OK);
    CHECK_EQ(wsq_task_wait(&one.task), WSQ_OK);
    end(pool);
    wsq_io_close(pair[0]), wsq_io_close(pair[1]);
}

static void limits(void) {
    for (int kind = 0; kind < 3; kind++) {
        limits_with(silent_run, kind, 0);
        limits_with(silent_run, kind, 3);
        limits_with(stopped_run, kind, 0);
        limits_with(stopped_run, kind, 3);
    }
}

/* A task that is woken for nothing, again and again, is late all the same. */
static void late_although_woken(void) {
    static player one;
    wsq_io_fd pair[2];
    wsq_pool *pool = begin((wsq_config){.workers = 1}, 0);
    make_pair(pair);
    memset((void *)&one, 0, sizeof one);
    one.in = pair[0];
    one.left = 20000000;
    CHECK(wsq_io_unblock(pair[0]) == 0 && wsq_io_add(&io, pair[0]) == 0);
    wsq_task_init(&one.task, silent_run);
    CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_OK);
    while (!wsq_task_done(&one.task)) {
        wsq_wake(&one.task);
        test_nap(1000000);
    }
    CHECK_EQ(one.late, 1);
    end(pool);
    wsq_io_close(pair[0]), wsq_io_close(pair[1]);
}

/* ---- ends ---- */

typedef struct listener {
    wsq_task task;
    wsq_io_fd fd;
    size_t got;
    bool empty;
} listener;

/* Waits after a short read without asking again. The end may come with the last bytes. */
static wsq_poll until_end_run(wsq_ctx ctx, wsq_task *task) {
    listener *self = wsq_container_of(task, listener, task);
    char bytes[4];
    (void)ctx;
    for (;;) {
        int n = self->empty ? -1 : (int)recv(self->fd, bytes, sizeof bytes, 0);
        if (n == 0) break;
        if (n > 0) self->got += (size_t)n, self->empty = n < 4;
        if (n > 0) continue;
        self->empty = false;
        if (wsq_io_wait(&io, self->fd, WSQ_IO_READ, task)) return WSQ_PENDING;
    }
    wsq_io_cancel(&io, self->fd);
    return WSQ_DONE;
}

static void ends_with(unsigned workers, unsigned odds) {
    static listener one;
    uint64_t random = test_seed + 1;
    for (size_t i = 0; i < test_times(sizeof(wsq_io_fd) > sizeof(int) ? 20 : 200); i++) {
        wsq_io_fd pair[2];
        size_t sent = 0;
        wsq_pool *pool = begin((wsq_config){.workers = workers}, odds);
        make_pair(pair);
        CHECK(wsq_io_unblock(pair[0]) == 0 && wsq_io_add(&io, pair[0]) == 0);
        memset((void *)&one, 0, sizeof one);
        one.fd = pair[0];
        wsq_task_init(&one.task, until_end_run);
        CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_OK);
        for (unsigned k = test_below(&random, 3) + 1; k-- > 0;) {
            int size = (int)test_below(&random, 6) + 1;
            if (test_below(&random, 2) == 0) test_nap((long)test_below(&random, 100000));
            CHECK(send(pair[1], "abcdef", (size_t)size, 0) == size);
            sent += (size_t)size;
        }
        wsq_io_close(pair[1]);
        CHECK_EQ(wsq_task_wait(&one.task), WSQ_OK);
        CHECK_EQ(one.got, sent);
        end(pool);
        wsq_io_close(pair[0]);
    }
}

static void ends(void) {
    ends_with(1, 0);
    ends_with(2, 0);
    ends_with(2, 3);
}

/* ---- files, and a server that accepts ---- */

#if !defined(_WIN32)
typedef struct filing {
    wsq_task task;
    wsq_io_op op;
    int fd, step;
    char text[6];
} filing;

static wsq_poll filing_run(wsq_ctx ctx, wsq_task *task) {
    filing *self = wsq_container_of(task, filing, task);
    (void)ctx;
    for (;;) {
        if (self->step != 0) {
            if (!wsq_io_ended(&io, &self->op, task)) return WSQ_PENDING;
            CHECK_EQ(self->op.result, self->step == 3 ? 4 : 5);
        }
        switch (self->step++) {
        case 0: wsq_io_write(&self->op, (wsq_io_fd)self->fd, "hello", 5, 0); break;
        case 1: wsq_io_write(&self->op, (wsq_io_fd)self->fd, "world", 5, 3); break;
        case 2: wsq_io_read(&self->op, (wsq_io_fd)self->fd, self->text, 5, 4); break;
        default: CHECK(memcmp(self->text, "orld", 4) == 0); return WSQ_DONE;
        }
    }
}
#endif

static void files(void) {
#if !defined(_WIN32)
    char name[] = "/tmp/wsq_io_XXXXXX";
    filing one = {.fd = mkstemp(name)};
    CHECK(one.fd >= 0 && unlink(name) == 0);
    wsq_pool *pool = begin((wsq_config){.workers = 1}, 0);
    CHECK_EQ(wsq_io_adopt(&io, one.fd), 0);
    wsq_task_init(&one.task, filing_run);
    CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_OK);
    CHECK_EQ(wsq_task_wait(&one.task), WSQ_OK);
    end(pool);
    close(one.fd);
#endif
}

static wsq_poll accept_run(wsq_ctx ctx, wsq_task *task) {
    player *self = wsq_container_of(task, player, task);
    (void)ctx;
    while (self->left > 0) {
        if (!wsq_io_ended(&io, &self->op, task)) return WSQ_PENDING;
        if (!CHECK(self->op.result >= 0)) return WSQ_DONE;
        wsq_io_fd fd = (wsq_io_fd)self->op.result;
        CHECK(send(fd, "!", 1, 0) == 1);
        wsq_io_close(fd);
        if (--self->left > 0) wsq_io_accept(&self->op, self->in);
    }
    return WSQ_DONE;
}

static void accepts(void) {
    static player server;
    struct sockaddr_storage here;
    length size;
    wsq_pool *pool = begin((wsq_config){.workers = 2}, 0);
    memset((void *)&server, 0, sizeof server);
    server.in = listening(&here, &size);
    server.left = 50;
    CHECK_EQ(wsq_io_adopt(&io, server.in), 0);
    wsq_io_accept(&server.op, server.in);
    wsq_task_init(&server.task, accept_run);
    CHECK_EQ(wsq_spawn(pool, &server.task), WSQ_OK);
    for (int i = 0; i < 50; i++) {
        wsq_io_fd fd = socket(AF_INET, SOCK_STREAM, 0);
        char byte = 0;
        CHECK(connect(fd, (struct sockaddr *)&here, size) == 0);
        CHECK(recv(fd, &byte, 1, 0) == 1 && byte == '!');
        wsq_io_close(fd);
    }
    CHECK_EQ(wsq_task_wait(&server.task), WSQ_OK);
    end(pool);
    wsq_io_close(server.in);
}

/* More than a socket takes at a time, by operations on descriptors that do not block. */
typedef struct flood {
    wsq_task task;
    wsq_io_op op;
    wsq_io_fd fd;
    size_t left;
    bool sends;
    char bytes[65536];
} flood;

static wsq_poll flood_run(wsq_ctx ctx, wsq_task *task) {
    flood *self = wsq_container_of(task, flood, task);
    (void)ctx;
    for (;;) {
        if (!wsq_io_ended(&io, &self->op, task)) return WSQ_PENDING;
        if (!CHECK(self->op.result > 0)) break;
        self->left -= (size_t)self->op.result;
        if (self->left == 0) break;
        size_t size = self->left < sizeof self->bytes ? self->left : sizeof self->bytes;
        if (self->sends) wsq_io_send(&self->op, self->fd, self->bytes, size);
        else wsq_io_read(&self->op, self->fd, self->bytes, size, -1);
    }
    wsq_io_cancel(&io, self->fd);
    return WSQ_DONE;
}

static void floods(void) {
    static flood both[2];
    wsq_io_fd pair[2];
    wsq_pool *pool = begin((wsq_config){.workers = 2}, 0);
    make_pair(pair);
    memset((void *)both, 0, sizeof both);
    for (int i = 0; i < 2; i++) {
        CHECK(wsq_io_unblock(pair[i]) == 0 && wsq_io_add(&io, pair[i]) == 0);
        both[i].fd = pair[i];
        both[i].left = 20000000;
        both[i].sends = i == 0;
        if (i == 0) wsq_io_send(&both[i].op, pair[i], both[i].bytes, sizeof both[i].bytes);
        else wsq_io_read(&both[i].op, pair[i], both[i].bytes, sizeof both[i].bytes, -1);
        wsq_task_init(&both[i].task, flood_run);
        CHECK_EQ(wsq_spawn(pool, &both[i].task), WSQ_OK);
        if (i == 0) test_nap(1000000); /* nobody reads yet: the socket is full */
    }
    CHECK_EQ(wsq_pool_wait(pool), WSQ_OK);
    end(pool);
    wsq_io_close(pair[0]), wsq_io_close(pair[1]);
}

/* ---- how it ends ---- */

/* Tasks wait for ever, by readiness and by operations, and the pool is cancelled. No byte is written
 * into a buffer after wsq_io_fini. */
static void cancelled(void) {
    for (int i = 0; i < 20; i++) {
        static player all[4];
        wsq_io_fd pairs[4][2];
        wsq_config config = {.workers = 2, .caller_runs = i % 4 == 3};
        wsq_pool *pool = begin(config, i % 2 ? 3 : 0);
        for (int k = 0; k < 4; k++) {
            bool ops = k % 2 != 0;
            memset((void *)&all[k], 0, sizeof all[k]);
            make_pair(pairs[k]);
            if (ops) CHECK_EQ(wsq_io_adopt(&io, pairs[k][0]), 0);
            else CHECK(wsq_io_unblock(pairs[k][0]) == 0 && wsq_io_add(&io, pairs[k][0]) == 0);
            all[k].in = pairs[k][0];
            all[k].left = UINT32_MAX;
            wsq_io_read(&all[k].op, all[k].in, &all[k].ball, 1, -1);
            wsq_task_init(&all[k].task, ops ? op_run : silent_run);
            CHECK_EQ(wsq_spawn(pool, &all[k].task), WSQ_OK);
        }
        test_spin((uint32_t)i * 500);
        if (!atomic_exchange(&chaos_over, true)) pthread_join(chaos_thread, NULL);
        CHECK_EQ(wsq_pool_shutdown(pool, WSQ_CANCEL), WSQ_OK);
        wsq_pool_destroy(pool);
        wsq_io_fini(&io);
        for (int k = 0; k < 4; k++) {
            char seen = all[k].ball;
            (void)send(pairs[k][1], "x", 1, 0);
            test_nap(100000);
            CHECK_EQ(all[k].ball, seen);
            wsq_io_close(pairs[k][0]), wsq_io_close(pairs[k][1]);
        }
    }
}

/* Cleanups free their operations, but not those that the kernel has; these are freed afterwards. */
typedef struct owner {
    wsq_task task;
    wsq_io_op op;
    struct owner *next;
    char ball;
} owner;

static owner *kept; /* under the lock */
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;

static wsq_poll owner_run(wsq_ctx ctx, wsq_task *task) {
    owner *self = wsq_container_of(task, owner, task);
    (void)ctx;
    while (wsq_io_ended(&io, &self->op, task)) wsq_io_read(&self->op, self->op.fd, &self->ball, 1, -1);
    return WSQ_PENDING;
}

static wsq_poll owner_clean(wsq_task *task) {
    owner *self = wsq_container_of(task, owner, task);
    if (!wsq_io_busy(&self->op)) return free(self), WSQ_GONE;
    pthread_mutex_lock(&kept_lock);
    self->next = kept;
    kept = self;
    pthread_mutex_unlock(&kept_lock);
    return WSQ_DONE;
}

static void cancelled_owners(void) {
    enum { OWNERS = 8 };
    for (size_t i = 0; i < test_times(20); i++) {
        owner *all[OWNERS];
        wsq_io_fd pairs[OWNERS][2];
        wsq_pool *pool = begin((wsq_config){.workers = 2}, 0);
        for (int k = 0; k < OWNERS; k++) {
            all[k] = calloc(1, sizeof *all[k]);
            make_pair(pairs[k]);
            CHECK(all[k] != NULL && wsq_io_adopt(&io, pairs[k][0]) == 0);
            wsq_io_read(&all[k]->op, pairs[k][0], &all[k]->ball, 1, -1);
            wsq_task_init(&all[k]->task, owner_run);
            wsq_task_set_cleanup(&all[k]->task, owner_clean);
            CHECK_EQ(wsq_spawn(pool, &all[k]->task), WSQ_OK);
        }
        for (int k = 0; k < 1000; k++) (void)send(pairs[k % OWNERS][1], "x", 1, 0);
        CHECK_EQ(wsq_pool_shutdown(pool, WSQ_CANCEL), WSQ_OK);
        for (int k = 0; k < OWNERS; k++) wsq_wake(&all[k]->task);
        wsq_pool_destroy(pool);
        wsq_io_fini(&io);
        for (owner *one; (one = kept) != NULL; free(one)) kept = one->next;
        for (int k = 0; k < OWNERS; k++) wsq_io_close(pairs[k][0]), wsq_io_close(pairs[k][1]);
    }
}

/* In a pool of lent threads: an event that comes while there is none waits for the next one; an
 * operation goes on although the thread that began it has ended. */
static void lend(test_thread *self) { CHECK_EQ(wsq_worker_enter(self->arg), WSQ_OK); }

static wsq_poll lent_run(wsq_ctx ctx, wsq_task *task) {
    player *self = wsq_container_of(task, player, task);
    wsq_worker_dismiss(wsq_pool_of(ctx), 0); /* the thread that runs it leaves after this */
    return self->late != 0 ? silent_run(ctx, task) : op_run(ctx, task);
}

static void lent(void) {
    for (size_t late = 0; late < 2; late++) {
        static player one;
        wsq_io_fd pair[2];
        wsq_pool *pool = begin((wsq_config){.workers = 1, .lend_only = true}, 0);
        memset((void *)&one, 0, sizeof one);
        make_pair(pair);
        if (late == 0) CHECK_EQ(wsq_io_adopt(&io, pair[0]), 0);
        else CHECK(wsq_io_unblock(pair[0]) == 0 && wsq_io_add(&io, pair[0]) == 0);
        one.in = pair[0];
        one.out = pair[0];
        one.left = late ? 100 * SECOND : 1;
        one.late = late;
        wsq_io_read(&one.op, one.in, &one.ball, 1, -1);
        wsq_task_init(&one.task, lent_run);
        CHECK_EQ(wsq_spawn(pool, &one.task), WSQ_OK);
        test_threads(1, lend, pool);
        CHECK(!wsq_task_done(&one.task));
        CHECK(send(pair[1], "o", 1, 0) == 1);
        while (!wsq_task_done(&one.task)) test_threads(1, lend, pool);
        CHECK_EQ(one.ball, 'o');
        end(pool);
        wsq_io_close(pair[0]), wsq_io_close(pair[1]);
    }
}

/* The kernel refuses a ring, and waits with a fine time, as it does in many containers: the tasks do it
 * themselves, and the waits are coarser. */
#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 SYS_io_uring_setup
#endif
static void refused(void) {
#if defined(WSQ_IO_RING)
    wsq_io_fd pair[2];
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        struct sock_filter code[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 2, 0),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_epoll_pwait2, 1, 0),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)};
        struct sock_fprog program = {5, code};
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) _exit(0);
        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) _exit(0);
        alarm(60);
        make_pair(pair);
        CHECK_EQ(wsq_io_init(&io, &driver), 0);
        CHECK(wsq_io_unblock(pair[0]) == 0 && wsq_io_add(&io, pair[0]) == 0);
        CHECK(driver.wait(SECOND, driver.user)); /* it is writable */
        wsq_io_fini(&io);
        rounds_with((wsq_config){.workers = 2}, 3, op_run, 4, 200);
        _exit(io.has_ring || atomic_load(&test_failures) != 0 ? 1 : 0);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_EQ(status, 0);
#endif
}

int main(void) {
    test_begin("test_io");
#if defined(_WIN32)
    WSADATA data;
    CHECK(WSAStartup(MAKEWORD(2, 2), &data) == 0);
#endif
#if defined(WSQ_IO_URING)
#if defined(WSQ_IO_RING)
    CHECK_EQ(wsq_io_init(&io, &driver), 0);
    if (!io.has_ring) puts("skip  test_io_uring: the kernel refuses io_uring");
    wsq_io_fini(&io);
#else
    puts("skip  test_io_uring: needs liburing (Debian: liburing-dev)");
    return test_end();
#endif
#endif
    RUN(refused);
    RUN(readiness);
    RUN(operations);
    RUN(never_begun);
    RUN(limits);
    RUN(renewed);
    RUN(late_although_woken);
    RUN(ends);
    RUN(files);
    RUN(accepts);
    RUN(floods);
    RUN(cancelled);
    RUN(cancelled_owners);
    RUN(lent);
    return test_end();
}
