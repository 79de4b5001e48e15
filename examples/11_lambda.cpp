// C++: lambdas as tasks, as jobs and as the bodies of loops. The adaptor first; main uses it.
//     c++ -O2 -pthread 11_lambda.cpp -o lambda && ./lambda
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include <atomic>
#include <cstdio>
#include <utility>
#include <vector>

// spawn(pool, f): f() runs once, on some worker. The task is freed when it has run.
template <class F> struct lambda_task : wsq_task {
    F f;
    explicit lambda_task(F &&from) : f(std::move(from)) { wsq_task_init(this, run); }
    static wsq_poll run(wsq_ctx, wsq_task *task) {
        auto *self = static_cast<lambda_task *>(task);
        self->f();
        delete self;
        return WSQ_GONE;
    }
};
template <class F> wsq_result spawn(wsq_pool *pool, F f) {
    auto *task = new lambda_task<F>(std::move(f));
    wsq_result result = wsq_spawn(pool, task);
    if (result != WSQ_OK) delete task;
    return result;
}

// run(pool, f): f(ctx) is the root of forks and loops. each(ctx, n, f): f(i) for i from 0 to n - 1.
template <class F> wsq_result run(wsq_pool *pool, F f) {
    return wsq_run(pool, [](wsq_ctx ctx, void *arg) { (*static_cast<F *>(arg))(ctx); }, &f);
}
template <class F> void each(wsq_ctx ctx, size_t n, F f) {
    wsq_for(ctx, 0, n, 0, [](wsq_ctx, size_t i, size_t end, void *arg) {
        for (; i < end; i++) (*static_cast<F *>(arg))(i);
    }, &f);
}

// both(ctx, f, g): f(ctx) and g(ctx), perhaps at the same time.
template <class F> struct lambda_job : wsq_job {
    F *f;
    static void run(wsq_ctx ctx, wsq_job *job) { (*static_cast<lambda_job *>(job)->f)(ctx); }
};
template <class F, class G> void both(wsq_ctx ctx, F f, G g) {
    lambda_job<F> job;
    job.f = &f;
    wsq_fork(&ctx, &job, lambda_job<F>::run);
    g(ctx);
    wsq_join(&ctx, &job);
}

static long fib(wsq_ctx ctx, int n) {
    if (n < 2) return n;
    long a = 0, b = 0;
    both(ctx, [&](wsq_ctx c) { a = fib(c, n - 1); }, [&](wsq_ctx c) { b = fib(c, n - 2); });
    return a + b;
}

int main() {
    wsq_pool *pool;
    if (wsq_pool_create(&pool, nullptr) != WSQ_OK) return 1;

    std::atomic<int> sum{0};
    for (int i = 1; i <= 100; i++) spawn(pool, [&sum, i] { sum += i; });
    wsq_pool_wait(pool);

    std::vector<double> halves(1000);
    long f = 0;
    run(pool, [&](wsq_ctx ctx) {
        each(ctx, halves.size(), [&](size_t i) { halves[i] = static_cast<double>(i) * 0.5; });
        f = fib(ctx, 25);
    });
    std::printf("1 + ... + 100 = %d, half of 999 = %.1f, fib(25) = %ld\n", sum.load(), halves[999],
                f);
    wsq_pool_destroy(pool);
    return sum == 5050 && f == 75025 ? 0 : 1;
}
