// co_await of a wsq::future: any coroutine gets the value or the exception, goes on in the future's
// pool and holds no thread meanwhile; a cancelled pool leaves no coroutine behind. co_await of a
// descriptor that is ready, with a time-out. Tasks, events and pools of wsq_coroutine.hpp.
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"
#if defined(__unix__) || defined(__APPLE__)
#include "../../examples/wsq_io.h"
#endif
#include "../../examples/wsq.hpp"
#include "../../examples/wsq_coroutine.hpp"
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>
#include <mutex>
#include <new>
#include <thread>

#define CHECK(x) ((x) ? (void)0 : failed(#x, __LINE__))

static void failed(const char *what, int line) {
    std::fprintf(stderr, "FAIL test_await line %d: %s\n", line, what);
    std::exit(1);
}

struct oops {};

// The simplest coroutine: it starts immediately, and tells nobody when it ends. It knows nothing of
// wsq. `frames` are those that exist.
static std::atomic<int> frames{0};
struct fire {
    struct promise_type {
        promise_type() { frames++; }
        ~promise_type() { frames--; }
        fire get_return_object() { return {}; }
        std::suspend_never initial_suspend() { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
};

static fire add(wsq::pool &pool, int n, std::promise<int> sum) {
    int total = 0;
    for (int i = 0; i < n; i++) {
        total += co_await pool.submit([i] { return i; });
        CHECK(total == i * (i + 1) / 2);
    }
    sum.set_value(total);
}

static void sums(wsq::pool &pool) {
    std::vector<std::future<int>> futures;
    for (int i = 0; i < 200; i++) {
        std::promise<int> sum;
        futures.push_back(sum.get_future());
        add(pool, 100, std::move(sum));
    }
    for (auto &f : futures) CHECK(f.get() == 4950);
}

static fire kinds(wsq::pool &pool, std::promise<void> over, std::shared_future<void> started) {
    auto first = pool.submit([started] { started.get(); }); // within co_await, gcc 12 destroys `started` twice
    co_await first; // not before the caller is back: it suspends
    CHECK(wsq_worker_self() >= 0);                       // on a worker
    auto owner = co_await pool.submit([] { return std::make_unique<int>(7); });
    CHECK(*owner == 7);
    auto there = pool.submit([] { return 8; });
    there.wait();
    CHECK(co_await there == 8 && !there.valid()); // it was there already
    co_await pool.submit([] {});
    bool caught = false;
    try {
        co_await pool.submit([]() -> int { throw oops(); });
    } catch (oops) {
        caught = true;
    }
    CHECK(caught);
    try {
        co_await there;
        CHECK(false);
    } catch (const wsq::error &e) {
        CHECK(e.code == WSQ_ERR_INVALID);
    }
    int both = co_await wsq::when_all(pool.submit([] { return 1; }), pool.submit([] { return 2; }))
                   .then([](int a, int b) { return a + b; });
    CHECK(both == 3);
    over.set_value();
}

// More coroutines wait than there are threads: they hold none.
static std::atomic<int> woken{0};
static fire wait_for(wsq::future<int> gate) {
    CHECK(co_await gate == 1);
    woken++;
}

static void many(wsq::pool &pool) {
    std::promise<int> opener;
    std::shared_future<int> open(opener.get_future());
    for (int i = 0; i < 64; i++) wait_for(pool.submit([&open](wsq_ctx ctx) {
        wsq_block_begin(ctx);
        int value = open.get();
        wsq_block_end(ctx);
        return value;
    }));
    opener.set_value(1);
    pool.wait();
    CHECK(woken == 64);
    woken = 0;
}

// In a pool that is cancelled each coroutine goes on, and is told.
static std::atomic<int> told{0};
static fire be_told(wsq::future<int> value) {
    try {
        co_await value;
    } catch (const wsq::error &e) {
        CHECK(e.code == WSQ_ERR_CANCELLED || e.code == WSQ_ERR_CLOSED);
        told++;
    }
}

static void cancelled(bool awaited_first) {
    wsq_config config = {};
    config.caller_runs = true;
    wsq::pool pool(config);
    std::atomic<bool> ran{false};
    for (int i = 0; i < 10; i++) be_told(pool.submit([&] { return ran = true, 1; }));
    for (int i = 0; awaited_first && i < 15; i++) wsq_pool_run_one(pool);
    wsq::check(wsq_pool_shutdown(pool, WSQ_CANCEL));
    CHECK(awaited_first || (told == 10 && !ran));
    CHECK(frames == 0);
    told = 0;
}

#if defined(WSQ_IO_H)
static wsq_io io;

struct sockets {
    int ends[2];
    sockets() {
        CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
        for (int fd : ends) CHECK(wsq_io_unblock(fd) == 0 && wsq_io_add(&io, fd) == 0);
    }
    ~sockets() {
        for (int fd : ends) close(fd);
    }
};

using namespace std::chrono_literals;

// Two send a ball to and fro, until one of them keeps it, and the other one's time is over.
static std::atomic<int> late{0};
static fire bounce(wsq::pool &pool, int fd, int left, bool limited) {
    char ball;
    for (;;) {
        if (recv(fd, &ball, 1, 0) == 1) {
            CHECK(left-- > 0);
            if (left == 0 && !limited) co_return;
            CHECK(send(fd, &ball, 1, 0) == 1);
        } else if (!limited) {
            CHECK(co_await wsq::readable(pool, io, fd));
        } else if (!co_await wsq::readable(pool, io, fd, left > 0 ? 100000ms : 10ms)) {
            CHECK(left == 0);
            late++;
            co_return;
        }
    }
}

// Fills a socket that the other one empties.
static fire flood(wsq::pool &pool, int from, int size) {
    std::vector<char> bytes(static_cast<size_t>(size));
    for (size_t sent = 0; sent < bytes.size();) {
        ssize_t n = send(from, &bytes[sent], bytes.size() - sent, 0);
        if (n > 0) sent += static_cast<size_t>(n);
        else CHECK(co_await wsq::writable(pool, io, from, 100s));
    }
}
static fire drink(wsq::pool &pool, int to, int size) {
    char bytes[5000];
    while (size > 0) {
        ssize_t n = recv(to, bytes, sizeof bytes, 0);
        if (n > 0) size -= static_cast<int>(n);
        else CHECK(co_await wsq::readable(pool, io, to, 100s));
    }
}

static std::atomic<int> refused{0};
static fire wait_in_vain(wsq::pool &pool, int fd) {
    try {
        co_await wsq::readable(pool, io, fd, 100s);
        CHECK(false);
    } catch (const wsq::error &e) {
        CHECK(e.code == WSQ_ERR_CANCELLED || e.code == WSQ_ERR_CLOSED);
        refused++;
    }
}

static void descriptors(unsigned workers, bool caller_runs) {
    wsq_driver driver;
    CHECK(wsq_io_init(&io, &driver) == 0);
    wsq_config config = {};
    config.workers = workers;
    config.caller_runs = caller_runs;
    config.driver = &driver;
    {
        wsq::pool pool(config);
        std::vector<std::unique_ptr<sockets>> all;
        for (int i = 0; i < 10; i++) {
            all.push_back(std::make_unique<sockets>());
            int *ends = all.back()->ends;
            bounce(pool, ends[0], 200, false);
            bounce(pool, ends[1], 200, true);
            CHECK(send(ends[0], "o", 1, 0) == 1);
        }
        pool.wait();
        sockets wide;
        flood(pool, wide.ends[0], 3000000);
        drink(pool, wide.ends[1], 3000000);
        pool.wait();
        CHECK(late == 10 && frames == 0);
        late = 0;
        for (auto &one : all) {
            if (caller_runs) wait_in_vain(pool, one->ends[0]); // they have not begun to wait
        }
        wsq::check(wsq_pool_shutdown(pool, WSQ_CANCEL));
        wait_in_vain(pool, all[0]->ends[1]);
    }
    wsq_io_fini(&io);
    CHECK(refused == (caller_runs ? 11 : 1) && frames == 0);
    refused = 0;
}
#endif

// ---- wsq_coroutine.hpp ----

namespace co = wsq::co;

static co::task<void> climb(std::atomic<int> &steps, int height) { // tasks within tasks
    if (height == 0) co_return;
    steps++;
    std::vector<co::task<void>> both;
    both.push_back(climb(steps, height - 1));
    both.push_back(climb(steps, height - 1));
    co_await co::when_all(std::move(both));
}

static co::task<int> two_pools(wsq_pool *here, wsq_pool *there, co::event &go) {
    co_await go;
    bool right = co_await co::this_pool{} == here;
    co_await co::switch_to{there};
    right = right && co_await co::this_pool{} == there;
    for (int i = 0; i < 1000; i++) co_await co::yield{};
    co_await co::switch_to{here};
    co_return right && co_await co::this_pool{} == here;
}

static co::task<void> wait_for_event(co::event &one) { co_await one; }

static co::task<int> wait_or_set(co::event &both) { // of two that wait, one is refused
    try {
        co_await both;
    } catch (const std::logic_error &) {
        both.set();
        co_return 1;
    }
    co_return 0;
}

// What cannot be is an exception, not a crash: a task that is awaited again, or was moved away; an
// event that has a waiter. To set an event again does nothing.
static co::task<int> mistakes() {
    int caught = 0;
    co::event go;
    co::task<void> once = wait_for_event(go), away = wait_for_event(go);
    co::task<void> moved = std::move(away);
    go.set(), go.set();
    co_await once;
    try {
        co_await once;
    } catch (const std::logic_error &) {
        caught++;
    }
    try {
        co_await away;
    } catch (const std::logic_error &) {
        caught++;
    }
    co::event both;
    std::vector<co::task<int>> waiters;
    for (int i = 0; i < 2; i++) waiters.push_back(wait_or_set(both));
    for (int one : co_await co::when_all(std::move(waiters))) caught += one;
    co_await moved;
    co_return caught;
}

// Memory that is used up after so many allocations; -1: it is not.
static std::atomic<long> memory_left{-1};
static std::atomic<long> blocks{0};

static void *memory(std::size_t size) {
    if (memory_left >= 0 && memory_left-- == 0) return nullptr;
    blocks++;
    return std::malloc(size);
}

void *operator new(std::size_t size) {
    void *block = memory(size);
    if (block == nullptr) throw std::bad_alloc();
    return block;
}
void *operator new(std::size_t size, const std::nothrow_t &) noexcept { return memory(size); }
static void release(void *block) noexcept {
    if (block != nullptr) blocks--;
    std::free(block);
}
void operator delete(void *block) noexcept { release(block); }
void operator delete(void *block, std::size_t) noexcept { release(block); }
void operator delete(void *block, const std::nothrow_t &) noexcept { release(block); }

static co::task<int> slow(int n) {
    co_await co::sleep_for{std::chrono::milliseconds(1)};
    co_return n;
}

static co::task<int> of_three() {
    std::vector<co::task<int>> parts;
    for (int i = 0; i < 3; i++) parts.push_back(slow(i));
    int sum = 0;
    for (int one : co_await co::when_all(std::move(parts))) sum += one;
    co_return sum;
}

// Whichever allocation fails, the others are over before the exception comes, and nothing is left.
static void no_memory() {
    wsq_pool *pool;
    wsq_config two = {};
    two.workers = 2;
    wsq::check(wsq_pool_create(&pool, &two));
    int good = 0;
    for (long n = 0; good == 0; n++) {
        long before = blocks;
        memory_left = n;
        try {
            good = co::run(pool, of_three());
        } catch (const std::exception &) {
        }
        memory_left = -1;
        wsq_pool_wait(pool);
        CHECK(blocks == before && n < 1000);
    }
    CHECK(good == 3);
    wsq_pool_destroy(pool);
}

struct note { // says when it goes
    std::atomic<bool> *gone;
    explicit note(std::atomic<bool> &word) : gone(&word) {}
    note(note &&from) noexcept : gone(std::exchange(from.gone, nullptr)) {}
    ~note() {
        if (gone) *gone = true;
    }
};

// A task of wsq_coroutine.hpp that awaits futures, goes on with yields, and is over like any other.
static co::task<int> of_futures(wsq::pool &pool, note) {
    int sum = co_await pool.submit([] { return 1; });
    co_await co::yield{};
    sum += co_await pool.submit([] {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        return 2;
    });
    co_await co::sleep_for{std::chrono::microseconds(10)};
    try {
        sum += co_await pool.submit([]() -> int { throw oops(); });
    } catch (const oops &) {
        sum += 4;
    }
    co_return sum;
}

static void futures_in_tasks() {
    for (unsigned workers : {1u, 2u}) {
        wsq::pool pool(workers);
        for (int i = 0; i < 20; i++) {
            std::atomic<bool> gone{false};
            CHECK(co::run(pool, of_futures(pool, note(gone))) == 7);
            CHECK(gone); // the frame, and what it was given
        }
        pool.wait();
    }
}

static void tasks() {
    wsq_pool *pool, *other;
    wsq_config two = {}, one = {};
    two.workers = 2, one.workers = 1;
    wsq::check(wsq_pool_create(&pool, &two));
    wsq::check(wsq_pool_create(&other, &one));
    std::atomic<int> steps{0};
    co::run(pool, climb(steps, 10));
    CHECK(steps == 1023);
    co::event go;
    std::thread somebody([&] { go.set(); });
    CHECK(co::run(pool, two_pools(pool, other, go)) == 1);
    somebody.join();
    CHECK(co::run(pool, mistakes()) == 3);
    wsq_pool_destroy(other);
    wsq_pool_destroy(pool);
}

// ---- several pools: when the value is there, no other thread is inside a call on a pool ----

// The driver of a pool with one worker. The next thread that interrupts it stays there for a while.
struct lingering {
    std::mutex lock;
    std::condition_variable changed;
    bool called = false, armed = false;
    std::atomic<int> inside{0};
    wsq_driver driver = {wait, [](wsq_pool *, void *) {}, interrupt, this};

    static bool wait(uint64_t ns, void *user) {
        auto *self = static_cast<lingering *>(user);
        std::unique_lock<std::mutex> locked(self->lock);
        std::chrono::nanoseconds time(ns < 1000000000 ? ns : 1000000000);
        self->changed.wait_for(locked, time, [&] { return self->called; });
        return self->called = false;
    }
    static void interrupt(void *user) {
        auto *self = static_cast<lingering *>(user);
        std::unique_lock<std::mutex> locked(self->lock);
        self->called = true;
        self->changed.notify_one();
        if (!std::exchange(self->armed, false)) return;
        self->inside++;
        locked.unlock();
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        self->inside--;
    }
    void arm() {
        std::this_thread::sleep_for(std::chrono::milliseconds(5)); // by then the pool sleeps
        std::lock_guard<std::mutex> locked(lock);
        armed = true;
    }
    wsq::pool pool() {
        wsq_config config = {};
        config.workers = 1;
        config.driver = &driver;
        return wsq::pool(config);
    }
};

static int later(int n) {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    return n;
}
static fire hand_over(wsq::future<int> value, std::promise<int> to) {
    int n = co_await value;
    to.set_value(n);
}
static co::task<int> pass(wsq::future<int> value) { co_return co_await value; }
static co::task<int> move_to(wsq_pool *there, lingering &slow) {
    co_await co::switch_to{there};
    slow.arm();
    co_return later(6);
}
static co::task<int> move_a_part(wsq_pool *there, lingering &slow) {
    std::vector<co::task<int>> parts;
    parts.push_back(move_to(there, slow));
    co_return (co_await co::when_all(std::move(parts)))[0];
}
static co::task<int> arm_and_move(wsq_pool *there, lingering &slow) {
    slow.arm();
    co_await co::switch_to{there};
    co_return 5;
}
#if defined(WSQ_IO_H)
static co::task<int> read_there(wsq::pool &there, int fd, lingering &slow) {
    char byte;
    auto ready = wsq::readable(there, io, fd); // may be awaited again and again
    co_await ready; // the first time it does not wait
    for (slow.arm(); recv(fd, &byte, 1, 0) != 1;) co_await ready;
    co_return 4;
}
#endif

// The value comes from, or the coroutine goes to, the second pool. Then `slow` goes first.
template <class F> static void with_pools(int expected, F &&value_of) {
    lingering driver;
    wsq::pool second(2), slow = driver.pool();
    CHECK(value_of(driver, slow, second) == expected);
    CHECK(driver.inside == 0);
}

static void pools_end() {
    with_pools(1, [](lingering &driver, wsq::pool &slow, wsq::pool &second) {
        auto both = wsq::when_all(slow, second.submit(later, 1));
        return driver.arm(), std::get<0>(both.get());
    });
    with_pools(2, [](lingering &driver, wsq::pool &slow, wsq::pool &second) {
        auto inner = slow.submit([&] { return second.submit(later, 2); });
        return driver.arm(), inner.get();
    });
    with_pools(3, [](lingering &driver, wsq::pool &slow, wsq::pool &second) {
        auto value = wsq::when_all(slow, second.submit(later, 3)).then([](int n) { return n; });
        std::promise<int> promise;
        std::future<int> got = promise.get_future();
        driver.arm();
        second.submit([&] { hand_over(std::move(value), std::move(promise)); });
        return got.get();
    });
    with_pools(4, [](lingering &driver, wsq::pool &slow, wsq::pool &second) {
        auto value = second.submit([&] { return later(0), driver.arm(), 4; });
        return co::run(slow, pass(std::move(value)));
    });
    with_pools(5, [](lingering &driver, wsq::pool &slow, wsq::pool &second) {
        return co::run(second, arm_and_move(slow, driver));
    });
    with_pools(6, [](lingering &driver, wsq::pool &slow, wsq::pool &second) {
        return co::run(slow, move_a_part(second, driver)); // the last part is over in the second
    });
    with_pools(6, [](lingering &driver, wsq::pool &slow, wsq::pool &second) {
        return co::run(slow, move_to(second, driver)); // all is over in the second
    });
#if defined(WSQ_IO_H)
    wsq_driver events;
    CHECK(wsq_io_init(&io, &events) == 0);
    with_pools(4, [&](lingering &driver, wsq::pool &slow, wsq::pool &) {
        wsq_config config = {};
        config.driver = &events;
        wsq::pool with_io(config);
        sockets pair;
        std::thread sender([&] { CHECK(send(pair.ends[0], "o", static_cast<size_t>(later(1)), 0) == 1); });
        int got = co::run(slow, read_there(with_io, pair.ends[1], driver));
        CHECK(driver.inside == 0);
        sender.join();
        return got;
    });
    wsq_io_fini(&io);
#endif
}

static co::task<int> sleep_and_yield() {
    co_await co::sleep_for{std::chrono::milliseconds(2)};
    for (int i = 0; i < 10; i++) co_await co::yield{};
    co_return 9;
}

static void caller_runs() {
    wsq_config config = {};
    config.caller_runs = true;
    wsq::pool pool(config);
    CHECK(co::run(pool, sleep_and_yield()) == 9);
    std::atomic<int> steps{0};
    co::run(pool, climb(steps, 5));
    CHECK(steps == 31);
    bool thrown = false;
    wsq::check(wsq_pool_shutdown(pool, WSQ_CANCEL));
    try {
        co::run(pool, sleep_and_yield());
    } catch (const std::future_error &) {
        thrown = true;
    }
    CHECK(thrown);
}

static fire await_closed(wsq::future<int> value, std::atomic<bool> &heard) {
    try {
        co_await value;
    } catch (const wsq::error &e) {
        heard = e.code == WSQ_ERR_CLOSED;
    }
}

// The value comes after this thread has gone on, and its pool takes no task that would wait for it.
static void closing() {
    std::atomic<bool> open{false}, heard{false};
    wsq::pool pool(1);
    auto value = pool.submit([&] {
        while (!open) std::this_thread::yield();
        return 7;
    });
    std::thread closes([&] { wsq::check(wsq_pool_shutdown(pool, WSQ_DRAIN)); });
    for (bool closed = false; !closed; std::this_thread::yield()) {
        try {
            pool.submit([] {});
        } catch (const wsq::error &) {
            closed = true;
        }
    }
    await_closed(std::move(value), heard);
    CHECK(heard);
    open = true;
    closes.join();
}

struct leaves {
    std::atomic<int> &left;
    ~leaves() { left++; }
};
static co::task<int> sleep_long(std::atomic<int> &begun, std::atomic<int> &left) {
    leaves at_end{left};
    begun++;
    co_await co::sleep_for{std::chrono::hours(1)};
    co_return 1;
}
static co::task<int> sleep_together(std::atomic<int> &begun, std::atomic<int> &left) {
    leaves at_end{left};
    std::vector<co::task<int>> parts;
    for (int i = 0; i < 3; i++) parts.push_back(sleep_long(begun, left));
    co_return static_cast<int>((co_await co::when_all(std::move(parts))).size());
}

// A WSQ_CANCEL ends what sleeps: all frames go, and `run` throws.
static void cancelled_in_sleep() {
    for (unsigned workers : {1u, 2u, 4u}) {
        std::atomic<int> begun{0}, left{0}, thrown{0};
        wsq::pool pool(workers);
        std::thread runs([&] {
            try {
                co::run(pool, sleep_together(begun, left));
            } catch (const std::future_error &) {
                thrown++;
            }
        });
        while (begun != 3) std::this_thread::yield();
        wsq::check(wsq_pool_shutdown(pool, WSQ_CANCEL));
        runs.join();
        CHECK(thrown == 1 && left == 4);
    }
}

int main() {
    for (unsigned workers : {1u, 2u, 4u}) {
        wsq::pool pool(workers);
        sums(pool);
        std::promise<void> over;
        std::future<void> all = over.get_future();
        std::promise<void> started;
        kinds(pool, std::move(over), started.get_future().share());
        started.set_value();
        all.get();
        many(pool);
        pool.wait();
        CHECK(frames == 0);
    }
    cancelled(false);
    cancelled(true);
#if defined(WSQ_IO_H)
    for (unsigned workers : {1u, 2u, 4u}) descriptors(workers, false);
    descriptors(1, true);
#endif
    tasks();
    futures_in_tasks();
    pools_end();
    caller_runs();
    closing();
    cancelled_in_sleep();
    no_memory();
    std::puts("test_await: ok");
    return 0;
}
