// The library of library.c in C++: its classes of wsq.hpp are its own, too.
#define WSQ_IMPLEMENTATION
#include "../../../examples/wsq.hpp"

extern "C" int WORK(int (*other)());

extern "C" int WORK(int (*other)()) {
    try {
        wsq::pool pool(2);
        wsq::group group(pool);
        std::vector<int> numbers(1000, 1);
        for (int i = 0; i < 100; i++) group.spawn([] {});
        auto failed = pool.submit([other] { return other ? other() : 0; }).then([](int n) { return n; });
        int sum = wsq::reduce(pool, numbers.begin(), numbers.end());
        return group.wait() && sum == 1000 ? failed.get() : 1;
    } catch (const wsq::error &) {
        return 2;
    }
}
