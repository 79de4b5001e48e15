// The C++ layer: futures, tasks, groups and algorithms of examples/wsq.hpp, with exceptions and
// with types that own something. The algorithms are compared with those of the standard.
#define WSQ_IMPLEMENTATION
#include "../../examples/wsq.hpp"
#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>

#define CHECK(x) ((x) ? (void)0 : failed(#x, __LINE__))

static void failed(const char *what, int line) {
    std::fprintf(stderr, "FAIL test_hpp line %d: %s\n", line, what);
    std::exit(1);
}

template <class E, class F> static bool throws(F &&f) {
    try {
        f();
    } catch (const E &) {
        return true;
    }
    return false;
}

struct oops {};

// How many there are: none may be left at the end, and none may be destroyed twice.
static std::atomic<int> alive{0};
struct counted {
    int value;
    explicit counted(int v) : value(v) { alive++; }
    counted(const counted &from) : value(from.value) { alive++; }
    counted(counted &&from) noexcept : value(from.value) { alive++; }
    counted &operator=(const counted &) = default;
    ~counted() { alive--; }
};

// ---- futures ----

static void future_values(wsq::pool &pool) {
    CHECK(pool.submit([] { return 7; }).get() == 7);
    auto join = [](int a, std::string b) { return b + std::to_string(a); };
    CHECK(pool.submit(join, 1, "x").get() == "x1");
    auto pass = [](std::unique_ptr<int> p) { return p; };
    CHECK(*pool.submit(pass, std::make_unique<int>(3)).get() == 3);
    CHECK(pool.submit([](wsq_ctx ctx) { return wsq_pool_of(ctx); }).get() == pool);
    int ran = 0;
    pool.submit([&] { ran++; }).get();
    CHECK(ran == 1);
    // A callable returns a reference to what it was given.
    auto a = pool.submit([] { return std::string(100, 'a'); }), b = pool.submit([] { return std::string(100, 'b'); });
    auto later = [](const std::string &x, const std::string &y) -> const std::string & { return x < y ? y : x; };
    CHECK(wsq::when_all(pool, std::move(a), std::move(b)).then(later).get() == std::string(100, 'b'));
    auto slow = pool.submit([] { return counted(5); });
    CHECK(slow.wait_for(std::chrono::hours(1)) && slow.ready() && slow.get().value == 5);
    CHECK(!slow.valid() && throws<wsq::error>([&] { slow.get(); }));
    CHECK(throws<oops>([&] { pool.submit([]() -> int { throw oops(); }).get(); }));
    CHECK(throws<oops>([&] { pool.submit([] { throw oops(); }).get(); }));
}

static void future_chains(wsq::pool &pool) {
    auto text = pool.submit([] { return 20; })
                    .then([](int x) { return x + 1; })
                    .then([](wsq_ctx, int x) { return std::to_string(2 * x); });
    CHECK(text.get() == "42");
    int seen = 0;
    pool.submit([] {}).then([&] { seen = 1; }).then([&] { seen *= 5; }).get();
    CHECK(seen == 5);
    bool called = false;
    auto broken = pool.submit([]() -> int { throw oops(); }).then([&](int) { called = true; });
    CHECK(throws<oops>([&] { broken.get(); }) && !called);
    auto flat = pool.submit([&] { return pool.submit([] { return std::make_unique<int>(9); }); });
    static_assert(std::is_same_v<decltype(flat), wsq::future<std::unique_ptr<int>>>);
    CHECK(*flat.get() == 9);
    auto inner_fails = pool.submit([] { return 1; }).then([&](int) {
        return pool.submit([]() -> int { throw oops(); });
    });
    CHECK(throws<oops>([&] { inner_fails.get(); }));
    auto outer_fails = pool.submit([]() -> wsq::future<int> { throw oops(); });
    CHECK(throws<oops>([&] { outer_fails.get(); }));
    auto chain = pool.submit([] { return counted(0); });
    for (int i = 0; i < 1000; i++)
        chain = chain.then([](counted c) { return counted(c.value + 1); });
    CHECK(chain.get().value == 1000);
}

static void future_all(wsq::pool &pool) {
    std::vector<wsq::future<counted>> many;
    for (int i = 0; i < 200; i++) many.push_back(pool.submit([i] { return counted(i); }));
    auto values = wsq::when_all(pool, std::move(many)).get();
    for (int i = 0; i < 200; i++) CHECK(values[size_t(i)].value == i);
    auto [number, text] = wsq::when_all(pool, pool.submit([] { return 1; }),
                                        pool.submit([] { return std::string("one"); })).get();
    CHECK(number == 1 && text == "one");
    auto add = [](int a, int b) { return a + b; };
    CHECK(wsq::when_all(pool.submit([] { return 1; }), pool.submit([] { return 2; })).then(add).get() == 3);
    auto own = [](wsq_ctx ctx, std::unique_ptr<int> p, counted c) {
        return wsq_pool_of(ctx) ? *p + c.value : 0;
    };
    CHECK(wsq::when_all(pool.submit([] { return std::make_unique<int>(4); }),
                        pool.submit([] { return counted(5); })).then(own).get() == 9);
    CHECK(throws<oops>([&] {
        wsq::when_all(pool.submit([] { return 1; }), pool.submit([]() -> int { throw oops(); })).then(add).get();
    }));
    int order = 0;
    auto step = [&](int expected) { CHECK(order++ == expected); };
    auto [first, last] = wsq::when_all(pool, pool.submit([] { return 1; }), pool.submit([] {}),
                                       pool.submit([] { return counted(2); })).get();
    CHECK(first == 1 && last.value == 2);
    CHECK(wsq::when_all(pool.submit([&] { step(0); })).get() == std::tuple<>());
    wsq::when_all(pool.submit([] {}), pool.submit([] {})).then([&] { step(1); }).get();
    CHECK(order == 2);
    try { // the first exception in the order of the arguments
        wsq::when_all(pool, pool.submit([] {}), pool.submit([]() -> int { throw 1; }),
                      pool.submit([] { throw 2; })).get();
        CHECK(false);
    } catch (int which) {
        CHECK(which == 1);
    }
    std::vector<wsq::future<void>> some;
    some.push_back(pool.submit([] {}));
    some.push_back(pool.submit([] { throw oops(); }));
    CHECK(throws<oops>([&] { wsq::when_all(pool, std::move(some)).get(); }));
    CHECK(wsq::when_all(pool, std::vector<wsq::future<int>>()).get().empty());
}

// Whoever holds the future last may let it go before, while and after the task runs.
static void future_let_go(wsq::pool &pool) {
    for (int i = 0; i < 2000; i++) {
        auto future = pool.submit([i] { return counted(i); });
        if (i % 3 == 0) future = {};
        if (i % 3 == 1) pool.submit([](auto f) { return f.get(); }, std::move(future));
        if (i % 7 == 0 && future.valid()) future.wait();
    }
    pool.wait();
}

static int fib(wsq::pool &pool, int n) {
    if (n < 2) return n;
    auto left = pool.submit([&pool, n] { return fib(pool, n - 1); });
    int right = fib(pool, n - 2);
    return left.get() + right;
}

static void future_cancelled() {
    for (int round = 0; round < 50; round++) {
        wsq::pool pool(2);
        std::vector<wsq::future<counted>> futures;
        std::atomic<bool> stop{false};
        auto first = pool.submit([&] {
            while (!stop) {}
            return counted(1);
        });
        futures.push_back(first.then([](counted c) { return c; }));
        for (int i = 0; i < 20; i++) futures.push_back(pool.submit([i] { return counted(i); }));
        if (round % 2) futures.push_back(wsq::when_all(pool, pool.submit([] { return counted(1); }))
                                             .then([](auto t) { return std::get<0>(t); }));
        std::atomic<int> got{0}, lost{0};
        std::thread closer([&] { wsq_pool_shutdown(pool, WSQ_CANCEL); });
        stop = true;
        for (auto &f : futures) {
            try {
                f.get();
                got++;
            } catch (const wsq::error &e) {
                CHECK(e.code == WSQ_ERR_CANCELLED);
                lost++;
            }
        }
        closer.join();
        CHECK(size_t(got + lost) == futures.size());
        CHECK(throws<wsq::error>([&] { pool.submit([] {}); }));
    }
}

static void future_unwanted(wsq::pool &pool) {
    std::atomic<bool> go{false}, ran{false};
    auto first = pool.submit([&] {
        while (!go) std::this_thread::yield();
        return counted(1);
    });
    auto second = first.then([&](counted c) { return ran = true, c; });
    auto third = second.then([&](counted c) { return c.value; });
    auto unwanted = [](const wsq::error &e) { return e.code == WSQ_ERR_CANCELLED; };
    second = pool.submit([] { return counted(2); }); // the middle one has moved into the third
    third.cancel();
    go = true;
    try {
        third.get();
        CHECK(false);
    } catch (const wsq::error &e) {
        CHECK(unwanted(e));
    }
    second.cancel(); // perhaps too late
    try {
        CHECK(second.get().value == 2);
    } catch (const wsq::error &e) {
        CHECK(unwanted(e));
    }
    wsq::task sleeper([&] { return WSQ_PENDING; });
    pool.spawn(sleeper);
    sleeper.cancel();
    CHECK(throws<wsq::error>([&] { sleeper.wait(); }));
    std::atomic<bool> called{false};
    wsq::task late([&] { return called = true, WSQ_DONE; });
    late.set_revocable();
    pool.spawn(late);
    bool off = late.cancel(); // whichever was first
    CHECK(throws<wsq::error>([&] { late.wait(); }) == off);
    CHECK(called != off);
    pool.wait();
}

// One thread waits for the value, another one cancels.
static void future_cancelled_beside_get(wsq::pool &pool) {
    for (int i = 0; i < 2000; i++) {
        auto wanted = pool.submit([] { return counted(1); });
        auto cancels = pool.submit([&] { wanted.cancel(); });
        try {
            CHECK(wanted.get().value == 1);
        } catch (const wsq::error &e) {
            CHECK(e.code == WSQ_ERR_CANCELLED);
        }
        cancels.get();
        CHECK(!wanted.valid() && throws<wsq::error>([&] { wanted.get(); }));
    }
}

// ---- tasks and groups ----

static void tasks(wsq::pool &pool) {
    std::atomic<int> ran{0};
    for (int i = 0; i < 1000; i++) pool.spawn([&ran, c = counted(i)] { ran += c.value; });
    pool.wait();
    CHECK(ran == 499500);
    int steps = 0;
    wsq::task stepper([&](wsq_ctx) { return ++steps < 5 ? WSQ_YIELD : WSQ_DONE; });
    wsq::task waiter([&, woken = false]() mutable {
        return std::exchange(woken, true) ? WSQ_DONE : WSQ_PENDING;
    });
    pool.spawn(stepper);
    pool.spawn(waiter);
    stepper.wait();
    while (!waiter.done()) waiter.wake();
    waiter.wait();
    CHECK(steps == 5);
}

static void groups(wsq::pool &pool) {
    wsq::group group(pool);
    std::atomic<int> ran{0};
    for (int i = 0; i < 1000; i++) CHECK(group.spawn([&] { ran++; }));
    CHECK(group.wait() && ran == 1000);
    for (int i = 0; i < 1000; i++) {
        if (!group.spawn([&, i, c = counted(i)] { if (i == 100) throw oops(); })) break;
    }
    CHECK(throws<oops>([&] { group.wait(); }));
    CHECK(group.spawn([&] { ran++; }) && group.wait() && ran == 1001);
    group.cancel();
    CHECK(group.cancelled() && !group.spawn([] {}) && !group.wait() && group.wait());
}

// Threads spawn into a group while another one cancels it, waits for it, and so makes it usable again.
static void groups_again(wsq::pool &pool) {
    std::atomic<bool> stop{false};
    std::atomic<int> called{0}, spawned{0};
    {
        wsq::group group(pool);
        auto spawn = [&] {
            while (!stop)
                if (group.spawn([&, c = counted(1)] { called++; })) spawned++;
        };
        std::thread one(spawn), two(spawn);
        for (int i = 0; i < 200; i++) {
            if (i % 16 == 0) group.spawn([] { throw oops(); });
            if (i % 2 == 0) group.cancel();
            else throws<oops>([&] { group.wait(); });
        }
        stop = true;
        one.join(), two.join();
    }
    CHECK(called <= spawned);
}

// ---- algorithms ----

template <class T> static std::vector<T> numbers(size_t n, unsigned kinds) {
    std::mt19937 random(static_cast<unsigned>(n + kinds));
    std::vector<T> v(n);
    for (auto &x : v) x = static_cast<T>(random() % kinds);
    return v;
}

template <class Where> static void loops(Where &&where, size_t n) {
    auto v = numbers<long>(n, 1000), w = v, out = v;
    std::vector<std::atomic<int>> seen(n);
    wsq::for_index(where, 0, n, [&](size_t i) { seen[i]++; });
    wsq::for_each(where, seen.begin(), seen.end(), [](std::atomic<int> &x) { x++; });
    for (auto &x : seen) CHECK(x == 2);
    auto twice = [](long x) { return 2 * x; };
    CHECK(wsq::transform(where, v.begin(), v.end(), out.begin(), twice) == out.end());
    std::transform(v.begin(), v.end(), w.begin(), twice);
    CHECK(out == w);
    wsq::transform(where, v.begin(), v.end(), w.begin(), out.begin(), std::minus<>());
    for (size_t i = 0; i < n; i++) CHECK(out[i] == v[i] - w[i]);
    CHECK(wsq::for_each_n(where, w.begin(), n / 2, [](long &x) { x = -1; }) ==
          w.begin() + long(n / 2));
    CHECK(wsq::count_if(where, w.begin(), w.end(), [](long x) { return x == -1; }) == long(n / 2));
    CHECK(wsq::any_of(where, w.begin(), w.end(), [](long x) { return x < 0; }) == (n > 1));
    CHECK(wsq::all_of(where, w.begin(), w.end(), [](long x) { return x >= 0; }) == (n < 2));
    CHECK(wsq::none_of(where, w.begin(), w.end(), [](long x) { return x > 5000; }));
    wsq::fill(where, w.begin(), w.end(), 4);
    CHECK(size_t(std::count(w.begin(), w.end(), 4)) == n);
}

template <class Where> static void sums(Where &&where, size_t n) {
    auto v = numbers<long>(n, 1000), w = numbers<long>(n, 77);
    CHECK(wsq::reduce(where, v.begin(), v.end()) == std::accumulate(v.begin(), v.end(), 0L));
    CHECK(wsq::reduce(where, v.begin(), v.end(), 5L) == std::accumulate(v.begin(), v.end(), 5L));
    CHECK(wsq::transform_reduce(where, v.begin(), v.end(), w.begin(), 1L) ==
          std::inner_product(v.begin(), v.end(), w.begin(), 1L));
    std::string text; // not commutative, and it owns memory
    for (long x : v) text += std::to_string(x) + ' ';
    auto spell = [](long x) { return std::to_string(x) + ' '; };
    CHECK(wsq::transform_reduce(where, v.begin(), v.end(), std::string("<"), std::plus<>(),
                                spell) == "<" + text);
    std::vector<bool> bits(n, true);
    CHECK(wsq::reduce(where, bits.begin(), bits.end(), size_t(0)) == n);

    std::vector<long> expected(n), got(n);
    std::inclusive_scan(v.begin(), v.end(), expected.begin());
    CHECK(wsq::inclusive_scan(where, v.begin(), v.end(), got.begin()) == got.end());
    CHECK(got == expected);
    std::exclusive_scan(v.begin(), v.end(), expected.begin(), 10L);
    wsq::exclusive_scan(where, v.begin(), v.end(), got.begin(), 10L);
    CHECK(got == expected);
    got = v;
    wsq::exclusive_scan(where, got.begin(), got.end(), got.begin(), 10L); // in place
    CHECK(got == expected);
    std::vector<std::string> words(n), longest(n), check(n);
    for (size_t i = 0; i < n; i++) words[i] = std::string(size_t(v[i] % 20), 'x');
    auto longer = [](const std::string &a, const std::string &b) {
        return a.size() < b.size() ? b : a;
    };
    std::inclusive_scan(words.begin(), words.end(), check.begin(), longer);
    wsq::inclusive_scan(where, words.begin(), words.end(), longest.begin(), longer);
    CHECK(longest == check);
    wsq::inclusive_scan(where, words.begin(), words.end(), longest.begin(), longer, std::string());
    CHECK(longest == check);
}

struct owner { // moves only
    std::unique_ptr<long> value;
    bool operator<(const owner &other) const { return *value < *other.value; }
};

template <class Where> static void sorts(Where &&where, size_t n) {
    for (unsigned kinds : {1u, 2u, 100u, ~0u}) {
        auto v = numbers<long>(n, kinds), expected = v;
        std::sort(expected.begin(), expected.end());
        auto sorted = v;
        wsq::sort(where, sorted.begin(), sorted.end());
        CHECK(sorted == expected);
        wsq::sort(where, sorted.begin(), sorted.end());
        CHECK(sorted == expected);
        wsq::sort(where, sorted.begin(), sorted.end(), std::greater<>());
        std::reverse(expected.begin(), expected.end());
        CHECK(sorted == expected);
    }
    auto v = numbers<long>(n, 10);
    std::vector<bool> bits(n);
    std::unique_ptr<bool[]> flags(new bool[n]);
    for (size_t i = 0; i < n; i++) bits[i] = flags[i] = v[i] < 5;
    wsq::sort(where, bits.begin(), bits.end());
    wsq::stable_sort(where, flags.get(), flags.get() + n);
    CHECK(std::equal(bits.begin(), bits.end(), flags.get()));
    CHECK(std::is_sorted(bits.begin(), bits.end()));
    wsq::stable_sort(where, bits.begin(), bits.end(), std::greater<>());
    wsq::sort(where, flags.get(), flags.get() + n, std::greater<>());
    CHECK(std::equal(bits.begin(), bits.end(), flags.get()));
    std::vector<std::pair<long, size_t>> stable(n);
    for (size_t i = 0; i < n; i++) stable[i] = {v[i], i};
    wsq::stable_sort(where, stable.begin(), stable.end(),
                     [](auto &a, auto &b) { return a.first < b.first; });
    CHECK(std::is_sorted(stable.begin(), stable.end()));
    std::vector<owner> owners(n);
    for (size_t i = 0; i < n; i++) owners[i].value = std::make_unique<long>(v[i]);
    wsq::sort(where, owners.begin(), owners.end());
    CHECK(std::is_sorted(owners.begin(), owners.end()));
}

// What sorts get wrong: inputs that are in some order already, or almost, or full of equals.
static std::vector<std::vector<long>> patterns(size_t n) {
    std::vector<std::vector<long>> all;
    auto add = [&](auto &&f) {
        all.emplace_back(n);
        for (size_t i = 0; i < n; i++) all.back()[i] = long(f(i));
    };
    std::mt19937_64 random(n);
    auto below = [&](size_t most) { return size_t(random() % most); };
    add([](size_t) { return 7; });
    add([](size_t i) { return i; });
    add([&](size_t i) { return n - i; });
    add([&](size_t i) { return i == n - 1 ? 0 : i; });                // one at the end
    add([&](size_t i) { return i == 0 ? n : i; });                    // one at the beginning
    add([&](size_t i) { return i < n / 2 ? i : n - i; });             // up and down
    add([](size_t i) { return i % 100; });                            // a saw
    add([&](size_t i) { return (i + n / 3) % n; });                   // two runs
    add([&](size_t i) { return i < n - n / 50 ? i : below(n); });     // some appended
    add([&](size_t i) { return i < n / 50 ? below(n) : i; });         // some in front
    add([&](size_t i) { return below(100) == 0 ? below(n) : i; });    // some elsewhere
    add([&](size_t i) { return i / 20 % 50 == 0 ? n + below(n) : i; }); // whole stretches too large
    add([&](size_t i) { return i / 20 % 50 == 0 ? below(3) : i; });   // whole stretches too small
    add([&](size_t i) { return i ^ 1; });
    add([&](size_t i) { return i ^ 31; });
    add([&](size_t) { return below(10) == 0 ? below(n) : n / 2; }); // mostly one value
    add([&](size_t) { return random(); });
    return all;
}

template <class T> struct wide { // sorted by pointers
    T value;
    std::array<char, 40> more;
    bool operator<(const wide &other) const { return value < other.value; }
};

static void sort_patterns(wsq::pool &pool, size_t n) {
    for (auto &v : patterns(n)) {
        auto expected = v, got = v;
        std::sort(expected.begin(), expected.end());
        wsq::sort(pool, got.begin(), got.end());
        CHECK(got == expected);
        std::vector<wide<long>> wides(n);
        for (size_t i = 0; i < n; i++) wides[i].value = v[i];
        wsq::sort(pool, wides.begin(), wides.end());
        for (size_t i = 0; i < n; i++) CHECK(wides[i].value == expected[i]);
        std::vector<std::pair<long, size_t>> pairs(n);
        for (size_t i = 0; i < n; i++) pairs[i] = {v[i], i};
        wsq::stable_sort(pool, pairs.begin(), pairs.end(),
                         [](auto &a, auto &b) { return a.first < b.first; });
        CHECK(std::is_sorted(pairs.begin(), pairs.end()));
        std::vector<std::string> words(n), sorted;
        for (size_t i = 0; i < n; i++) words[i] = std::to_string(v[i]);
        sorted = words;
        std::sort(sorted.begin(), sorted.end());
        wsq::sort(pool, words.begin(), words.end());
        CHECK(words == sorted);
    }
}

// A comparison throws after so many: of elements that are not trivial, none is lost or doubled.
static void sort_throws(wsq::pool &pool, size_t n) {
    auto all = patterns(n);
    for (size_t p = 8; p < all.size(); p += 2) {
        for (size_t after = 1; after < 40 * n; after = after * 8 + n / 7) {
            std::vector<counted> c;
            for (long x : all[p]) c.emplace_back(int(x));
            std::atomic<size_t> calls{0};
            auto less = [&](const counted &a, const counted &b) {
                if (calls++ == after) throw oops();
                return a.value < b.value;
            };
            bool threw = throws<oops>([&] { wsq::sort(pool, c.begin(), c.end(), less); });
            CHECK(threw == (calls > after));
            std::vector<int> left, right(all[p].begin(), all[p].end());
            for (auto &one : c) left.push_back(one.value);
            std::sort(left.begin(), left.end());
            std::sort(right.begin(), right.end());
            CHECK(left == right);
        }
    }
    CHECK(alive == 0);
    // An order that is none: any order comes out, of the same elements.
    std::vector<double> odd(n);
    for (size_t i = 0; i < n; i++) odd[i] = i % 7 == 0 ? std::nan("") : double(i * 7919 % n);
    wsq::sort(pool, odd.begin(), odd.end());
    CHECK(size_t(std::count_if(odd.begin(), odd.end(), [](double x) { return x != x; })) == (n + 6) / 7);
}

static void algorithm_errors(wsq::pool &pool) {
    auto v = numbers<long>(100000, 1u << 30);
    std::vector<counted> c(10000, counted(1));
    auto complain = [](long x) { if (x) throw oops(); };
    CHECK(throws<oops>([&] { wsq::for_each(pool, v.begin(), v.end(), complain); }));
    auto less = [](long, long) -> bool { throw oops(); };
    CHECK(throws<oops>([&] { wsq::sort(pool, v.begin(), v.end(), less); }));
    auto add = [](counted a, const counted &b) {
        if (a.value + b.value > 100) throw oops();
        return counted(a.value + b.value);
    };
    CHECK(throws<oops>([&] { wsq::reduce(pool, c.begin(), c.end(), counted(0), add); }));
    for (int which = 0; which < 3; which++) {
        auto job = [which](int i) { return [=](wsq_ctx) { if (i == which) throw oops(); }; };
        CHECK(throws<oops>([&] { wsq::invoke(pool, job(0), job(1), job(2)); }));
    }
    CHECK(pool.run([](wsq_ctx) { return 4; }) == 4);
    CHECK(throws<oops>([&] { pool.run([]() -> int { throw oops(); }); }));
}

// ---- edges ----

// Futures of nothing: the error comes where the value is fetched, not on a worker.
static void future_empty(wsq::pool &pool) {
    std::vector<wsq::future<int>> some;
    some.push_back(pool.submit([] { return 1; }));
    some.emplace_back();
    CHECK(throws<wsq::error>([&] { wsq::when_all(pool, std::move(some)).get(); }));
    CHECK(throws<wsq::error>([&] {
        wsq::when_all(pool, pool.submit([] { return 1; }), wsq::future<double>()).get();
    }));
    CHECK(throws<wsq::error>([&] { pool.submit([] { return wsq::future<int>(); }).get(); }));
    CHECK(throws<wsq::error>([&] {
        pool.submit([] { return 1; }).then([](int) { return wsq::future<int>(); }).get();
    }));
    CHECK(!wsq::future<int>().pending(nullptr));
}

// The longest time-outs, negative ones, and times that are no whole nanoseconds.
static void future_times(wsq::pool &pool) {
    std::atomic<bool> go{false};
    auto slow = pool.submit([&] {
        while (!go) std::this_thread::yield();
        return 1;
    });
    CHECK(!slow.wait_for(std::chrono::hours::min()));
    CHECK(!slow.wait_for(std::chrono::seconds(-1)));
    CHECK(!slow.wait_for(std::chrono::duration<double>(-1e30)));
    CHECK(!slow.wait_for(std::chrono::duration<double>(0.3e-9)));
    std::thread later([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        go = true;
    });
    CHECK(slow.wait_for(std::chrono::hours::max()));
    CHECK(slow.wait_for(std::chrono::nanoseconds::max()));
    CHECK(slow.wait_for(std::chrono::duration<double>(1e300)));
    CHECK(slow.get() == 1);
    later.join();
}

// A `then` that fails leaves the value where it was.
static void future_kept() {
    wsq::pool pool(1);
    auto value = pool.submit([] { return std::make_unique<int>(7); });
    value.wait();
    CHECK(wsq_pool_shutdown(pool, WSQ_DRAIN) == WSQ_OK);
    CHECK(throws<wsq::error>([&] { value.then([](std::unique_ptr<int>) {}); }));
    CHECK(value.valid() && *value.get() == 7);
}

// While the only worker is held, what has a higher priority overtakes.
static void priorities() {
    wsq::pool pool(1);
    std::atomic<bool> inside(false), open(false);
    std::string order;
    auto held = pool.submit([&] {
        for (inside = true; !open;) std::this_thread::yield();
    });
    while (!inside) std::this_thread::yield();
    auto low = pool.submit(WSQ_LOW, [&](char c) { order += c; }, 'c');
    auto normal = pool.submit([&](char c) { order += c; }, 'b');
    auto high = pool.submit(WSQ_HIGH, [&](char c) { order += c; return 7; }, 'a');
    open = true;
    held.get(), low.get(), normal.get();
    CHECK(high.get() == 7);
    CHECK(order == "abc");
}

int main() {
    priorities();
    for (unsigned workers : {1u, 2u, 4u}) {
        wsq::pool pool(workers);
        future_values(pool);
        future_chains(pool);
        future_all(pool);
        future_let_go(pool);
        future_unwanted(pool);
        future_cancelled_beside_get(pool);
        future_empty(pool);
        future_times(pool);
        CHECK(fib(pool, 14) == 377);
        tasks(pool);
        groups(pool);
        groups_again(pool);
        algorithm_errors(pool);
        for (size_t n : {size_t(0), size_t(1), size_t(2), size_t(1000), size_t(50000)}) {
            loops(pool, n);
            sums(pool, n);
            sorts(pool, n);
            pool.run([&](wsq_ctx ctx) { loops(ctx, n); });
            pool.submit([&](wsq_ctx ctx) { sums(ctx, n), sorts(ctx, n); }).get();
        }
        sort_patterns(pool, 1000);
        sort_patterns(pool, 40000);
        if (workers > 1) sort_throws(pool, 20000);
        wsq::pool moved(std::move(pool));
        CHECK(moved.workers() == workers);
    }
    future_cancelled();
    future_kept();
    CHECK(alive == 0);
    std::puts("test_hpp: ok");
    return 0;
}
