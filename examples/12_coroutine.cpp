// C++20 coroutines, by wsq_coroutine.hpp, a file to copy: 500 of them wait at the same time, and hold
// no thread.
//     c++ -std=c++20 -O2 -pthread 12_coroutine.cpp -o coroutine && ./coroutine
//
// A coroutine is a function with co_await in it. Where it has to wait, it suspends, and its worker
// runs other tasks. It is a wsq_task that returns WSQ_PENDING, and that is woken when it can go on.
#define WSQ_IMPLEMENTATION
#include "wsq_coroutine.hpp"
#include <cstdio>

using namespace wsq::co;
using namespace std::chrono_literals;

static task<int> download(int number) { // stands for an answer that takes its time
    co_await sleep_for{50ms};
    if (number == 13) throw std::runtime_error("number 13 has failed");
    co_return number * number;
}

// All parts at the same time; the results come in order.
static task<int> download_all(int first, int count) {
    std::vector<task<int>> parts;
    for (int i = 0; i < count; i++) parts.push_back(download(first + i));
    int sum = 0;
    for (int square : co_await when_all(std::move(parts))) sum += square;
    co_return sum;
}

// One after the other. A long loop lets other tasks run now and then.
static task<int> count_down(int from) {
    int turns = 0;
    for (; from > 0; from--, turns++) co_await yield{};
    co_return turns;
}

static task<int> program() {
    int turns = co_await count_down(1000);
    std::printf("%d turns\n", turns);
    co_return co_await download_all(100, 500);
}

int main() {
    wsq_pool *pool;
    wsq_config config = {};
    config.workers = 2;
    if (wsq_pool_create(&pool, &config) != WSQ_OK) return 1;

    auto began = std::chrono::steady_clock::now();
    int sum = run(pool, program()); // starts it, and blocks until it is over
    auto ms = (std::chrono::steady_clock::now() - began) / 1ms;
    std::printf("500 downloads of 50 ms each, on 2 workers: %d ms, sum %d\n", int(ms), sum);

    bool failed = false;
    try {
        run(pool, download_all(0, 20));
    } catch (const std::runtime_error &e) {
        std::printf("an exception comes through: %s\n", e.what());
        failed = true;
    }
    wsq_pool_destroy(pool);
    return sum == 71491750 && failed ? 0 : 1;
}
