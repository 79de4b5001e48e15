// co_await of a wsq::future: any coroutine gets the value or the exception, goes on in the future's
// pool and holds no thread meanwhile; a cancelled pool leaves no coroutine behind.
#define WSQ_IMPLEMENTATION
#include "../../examples/wsq.hpp"
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>

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

static fire kinds(wsq::pool &pool, std::promise<void> over) {
    auto owner = co_await pool.submit([] { return std::make_unique<int>(7); });
    CHECK(*owner == 7);
    auto there = pool.submit([] { return 8; });
    there.wait();
    CHECK(co_await there == 8 && !there.valid()); // it was there already
    co_await pool.submit([] {});
    CHECK(wsq_worker_self() >= 0); // on a worker
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

int main() {
    for (unsigned workers : {1u, 2u, 4u}) {
        wsq::pool pool(workers);
        sums(pool);
        std::promise<void> over;
        std::future<void> all = over.get_future();
        kinds(pool, std::move(over));
        all.get();
        many(pool);
        pool.wait();
        CHECK(frames == 0);
    }
    cancelled(false);
    cancelled(true);
    std::puts("test_await: ok");
    return 0;
}
