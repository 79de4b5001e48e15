/* For the tests of examples/wsq_io.h: pairs of sockets, and pools with a driver that may be a nuisance. */
#ifndef SOCKETS_H
#define SOCKETS_H

#define SECOND UINT64_C(1000000000)

static wsq_io io;
static wsq_driver driver;

/* ---- sockets ---- */

#if defined(_WIN32)
typedef int length;
#else
typedef socklen_t length;
#endif

static wsq_io_fd listening(struct sockaddr_storage *here, length *size) {
    wsq_io_fd fd = socket(AF_INET, SOCK_STREAM, 0);
    unsigned char address[4] = {127, 0, 0, 1};
    memset(here, 0, sizeof *here);
    here->ss_family = AF_INET;
    memcpy((char *)here + 4, address, sizeof address); /* of a sockaddr_in */
    *size = 16;
    CHECK(bind(fd, (struct sockaddr *)here, *size) == 0 && listen(fd, 64) == 0);
    CHECK(getsockname(fd, (struct sockaddr *)here, size) == 0);
    return fd;
}

static void make_pair(wsq_io_fd *pair) {
    struct sockaddr_storage here;
    length size;
    wsq_io_fd listener = listening(&here, &size);
    pair[0] = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(connect(pair[0], (struct sockaddr *)&here, size) == 0);
    pair[1] = accept(listener, NULL, NULL);
    wsq_io_close(listener);
}

/* ---- a driver that is a nuisance ---- */

static uint64_t chaos_random;
static unsigned chaos; /* one call in so many is odd; 0: none */
static pthread_t chaos_thread; /* interrupts all the time */
static atomic_bool chaos_over;
static wsq_task chaos_spawned[64];

static wsq_poll nothing_run(wsq_ctx ctx, wsq_task *task) { return (void)ctx, (void)task, WSQ_DONE; }

static bool odd(void) { return chaos != 0 && test_below(&chaos_random, chaos) == 0; }

static bool chaos_wait(uint64_t timeout_ns, void *user) {
    if (odd()) return false;             /* early, and blind */
    if (odd()) wsq_io_interrupt(user);   /* interrupted */
    if (odd()) timeout_ns = 0;
    bool events = wsq_io_look(timeout_ns, user);
    return events || odd();              /* events, but there are none */
}

static void chaos_dispatch(wsq_pool *pool, void *user) {
    wsq_io_dispatch(pool, user);
    for (size_t i = 0; odd() && i < 64; i++) { /* spawns, too */
        if (chaos_spawned[i].fn != NULL && !wsq_task_done(&chaos_spawned[i])) continue;
        wsq_task_init(&chaos_spawned[i], nothing_run);
        (void)wsq_spawn(pool, &chaos_spawned[i]);
    }
}

static void *chaos_interrupts(void *arg) {
    while (!atomic_load(&chaos_over)) {
        wsq_io_interrupt(&io);
        test_nap(1000);
    }
    return arg;
}

static wsq_pool *begin(wsq_config config, unsigned odds) {
    CHECK_EQ(wsq_io_init(&io, &driver), 0);
    chaos = odds;
    chaos_random = test_seed | 1;
    memset(chaos_spawned, 0, sizeof chaos_spawned);
    if (odds != 0) driver.wait = chaos_wait, driver.dispatch = chaos_dispatch;
    config.driver = &driver;
    wsq_pool *pool = pool_new(config);
    atomic_store(&chaos_over, odds == 0);
    if (odds != 0) CHECK(pthread_create(&chaos_thread, NULL, chaos_interrupts, NULL) == 0);
    return pool;
}

static void end(wsq_pool *pool) {
    if (!atomic_exchange(&chaos_over, true)) pthread_join(chaos_thread, NULL);
    pool_end(pool);
    wsq_io_fini(&io);
}

#endif
