// std::async beside wsq, in turn: 100,000 tasks of 1 us, at most 64 open at the same time, and a
// quicksort of 10^6 integers with a task for each half. The lines are those of the suite.
#define WSQ_IMPLEMENTATION
#include "../examples/wsq.hpp"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <random>

enum { TASKS = 100000, WINDOW = 64, SORTED = 1000000, CUTOFF = 16384, ROUNDS = 5 };
using numbers = std::vector<int>::iterator;
using steady = std::chrono::steady_clock;

static void burn() {
    for (auto end = steady::now() + std::chrono::microseconds(1); steady::now() < end;) {}
}

// A task starts when the one 64 before it has been waited for. Start: a callable that gives a future.
template <class Start> static void micro(Start start) {
    std::vector<decltype(start())> open(WINDOW);
    for (int i = 0; i < TASKS + WINDOW; i++) {
        auto &place = open[size_t(i) % WINDOW];
        if (i >= WINDOW) place.get();
        if (i < TASKS) place = start();
    }
}

static numbers split(numbers begin, numbers end) {
    int pivot = begin[(end - begin) / 2];
    return std::partition(begin, end, [pivot](int x) { return x < pivot; });
}

static void sort_async(numbers begin, numbers end) {
    numbers cut = end - begin < CUTOFF ? begin : split(begin, end);
    if (cut == begin) return std::sort(begin, end);
    auto left = std::async(std::launch::async, sort_async, begin, cut);
    sort_async(cut, end);
    left.get();
}

static void sort_wsq(wsq_ctx ctx, numbers begin, numbers end) {
    numbers cut = end - begin < CUTOFF ? begin : split(begin, end);
    if (cut == begin) return std::sort(begin, end);
    wsq::invoke(ctx, [=](wsq_ctx here) { sort_wsq(here, begin, cut); },
                [=](wsq_ctx here) { sort_wsq(here, cut, end); });
}

template <class F> static double ms(F f) {
    auto begin = steady::now();
    f();
    return std::chrono::duration<double, std::milli>(steady::now() - begin).count();
}

// The two take turns. The median of each, and of the ratios.
template <class F, class G> static void compare(const char *name, unsigned workers, F by_wsq, G by_async) {
    std::vector<double> one, two, ratio;
    for (int i = 0; i < ROUNDS; i++) {
        two.push_back(by_async());
        one.push_back(by_wsq());
        ratio.push_back(two.back() / one.back());
    }
    for (auto *v : {&one, &two, &ratio}) std::sort(v->begin(), v->end());
    std::printf("suite/%s_wsq_futures %.4g ms workers=%u\n", name, one[ROUNDS / 2], workers);
    std::printf("suite/%s_std_async %.4g ms workers=%u\n", name, two[ROUNDS / 2], workers);
    std::printf("suite/%s_std_async_to_wsq %.3f x workers=%u\n", name, ratio[ROUNDS / 2], workers);
}

int main() {
    wsq::pool pool;
    std::vector<int> input(SORTED), data;
    std::mt19937 random(1);
    for (int &x : input) x = int(random());
    auto check = [&](double time) {
        if (!std::is_sorted(data.begin(), data.end())) std::exit(1);
        return time;
    };
    compare("micro", pool.workers(),
            [&] { return ms([&] { micro([&] { return pool.submit(burn); }); }); },
            [] { return ms([] { micro([] { return std::async(std::launch::async, burn); }); }); });
    compare("sort", pool.workers(), [&] {
        data = input;
        return check(ms([&] { pool.run([&](wsq_ctx ctx) { sort_wsq(ctx, data.begin(), data.end()); }); }));
    }, [&] {
        data = input;
        return check(ms([&] { sort_async(data.begin(), data.end()); }));
    });
    return 0;
}
