// wsq_coroutine.hpp: C++20 coroutines on wsq.h. A file to copy.
//
//     using namespace wsq::co;
//
//     task<int> half(int n) { co_await sleep_for{1s}; co_return n / 2; }
//     task<int> both() { co_return co_await half(4) + co_await half(6); }
//     int sum = run(pool, both());        a thread outside starts it, and waits
//
// A coroutine that returns a task starts when it is awaited, and gives a value or an exception. It can
// await a task, when_all(tasks), sleep_for{time}, yield{}, an event, switch_to{pool}, this_pool{}; and,
// with wsq.hpp, futures and descriptors. None of them holds a worker.
//
// Coroutines that await one another run one after the other, so they share a wsq_task: the carrier.
// It resumes whichever of them is next. An awaiter notes that coroutine, arranges for a wake of the
// carrier, and suspends; then the carrier returns WSQ_PENDING. The wake may come at any time: until
// the carrier has returned it cannot run elsewhere. (Where the compiler makes no tail calls, as gcc
// below -O2, a long loop over co_await of tasks that do not suspend uses the stack.)
#ifndef WSQ_COROUTINE_HPP
#define WSQ_COROUTINE_HPP

#if __has_include("wsq.h")
#include "wsq.h"
#else
#include "../wsq.h"
#endif
#include <atomic>
#include <chrono>
#include <coroutine>
#include <exception>
#include <future>
#include <new>
#include <optional>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

// As in wsq.hpp: each library has its own copy.
#ifndef WSQ_HPP_OWN
#if defined(WSQ_STATIC)
#define WSQ_HPP_OWN /* an unnamed namespace */
#elif defined(__ELF__) && defined(__PIC__) && !defined(__PIE__)
#define WSQ_HPP_OWN [[gnu::visibility("hidden")]] own
#else
#define WSQ_HPP_OWN own
#endif
#endif

namespace wsq::co { inline namespace WSQ_HPP_OWN {

// ---- flows: coroutines that await one another, from an outermost one that nobody awaits ----

struct carrier;
struct flow {
    std::coroutine_handle<> outermost, next;
    carrier *on = nullptr;
    wsq_pool *pool = nullptr;
};

struct carrier : wsq_task {
    flow *line;
    wsq_timer timer = {};
    wsq_poll answer = WSQ_PENDING; // what becomes of the carrier when a coroutine has suspended
    // Is a thread in a call that spawns or wakes the carrier? Until that call is over the flow does not
    // go on: it might end, and the pool be destroyed. LEFT: it is cancelled, and that thread frees it.
    enum calls { NONE, UNDER_WAY, LEFT };
    std::atomic<calls> call{NONE};

    explicit carrier(flow &from) : line(&from) {
        wsq_task_init(this, run);
        wsq_task_set_cleanup(this, cancel);
    }
    static wsq_poll run(wsq_ctx, wsq_task *task) {
        auto *self = static_cast<carrier *>(task);
        if (self->call.load(std::memory_order_acquire) == UNDER_WAY) return WSQ_YIELD;
        self->answer = WSQ_PENDING;
        self->line->next.resume(); // the flow may be over now, or on another carrier
        wsq_poll answer = self->answer;
        if (answer == WSQ_GONE) delete self;
        return answer;
    }
    // The pool is shut down by WSQ_CANCEL, and all frames of the flow are destroyed: now, if it was
    // to run or is in a sleep_for; if it waits for something else, when it is woken.
    static wsq_poll cancel(wsq_task *task) {
        auto *self = static_cast<carrier *>(task);
        self->line->outermost.destroy();
        if (self->call.exchange(LEFT, std::memory_order_acq_rel) == NONE) delete self;
        return WSQ_GONE;
    }
    void call_begins() { call.store(UNDER_WAY, std::memory_order_relaxed); }
    void call_is_over() {
        if (call.exchange(NONE, std::memory_order_acq_rel) == LEFT) delete this;
    }
    void wake() { // any thread
        call_begins();
        wsq_wake(this);
        call_is_over();
    }
};

// Puts the flow on a carrier in this pool; the one that it is on goes. An error leaves it as it was.
inline wsq_result hop(flow &line, wsq_pool *pool) {
    carrier *before = line.on, *fresh = new (std::nothrow) carrier(line);
    if (!fresh) return WSQ_ERR_MEMORY;
    flow was = std::exchange(line, {line.outermost, line.next, fresh, pool});
    if (before) before->answer = WSQ_GONE;
    fresh->call_begins();
    wsq_result result = wsq_spawn(pool, fresh);
    if (result == WSQ_OK) return fresh->call_is_over(), WSQ_OK; // from here on the flow may be over
    if (before) before->answer = WSQ_PENDING;
    line = was;
    delete fresh;
    return result;
}

// An outermost coroutine. Its frame goes when it is over.
struct detached {
    struct promise_type {
        flow own, *line = &own;
        detached get_return_object() {
            own.outermost = own.next = std::coroutine_handle<promise_type>::from_promise(*this);
            return {&own};
        }
        std::suspend_always initial_suspend() { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() { own.on->answer = WSQ_GONE; }
        void unhandled_exception() { std::terminate(); }
    };
    flow *line;
    void start(wsq_pool *pool) {
        if (hop(*line, pool) != WSQ_OK) line->outermost.destroy();
    }
};

// ---- task<T>: starts when it is awaited, and gives a value or an exception ----

template <class T> struct task_result {
    std::optional<T> value;
    void return_value(T v) { value.emplace(std::move(v)); }
    T take() { return std::move(value.value()); }
};
template <> struct task_result<void> {
    void return_void() {}
    void take() {}
};

template <class T> class [[nodiscard]] task {
  public:
    struct promise_type : task_result<T> {
        flow *line = nullptr;
        std::coroutine_handle<> caller;
        std::exception_ptr error;
        bool over = false;
        struct back {
            bool await_ready() noexcept { return false; }
            auto await_suspend(std::coroutine_handle<promise_type> self) noexcept {
                self.promise().over = true;
                return self.promise().caller;
            }
            void await_resume() noexcept {}
        };
        task get_return_object() { return task(handle::from_promise(*this)); }
        std::suspend_always initial_suspend() { return {}; }
        back final_suspend() noexcept { return {}; }
        void unhandled_exception() { error = std::current_exception(); }
    };
    using handle = std::coroutine_handle<promise_type>;

    task(task &&from) noexcept : self_(std::exchange(from.self_, nullptr)) {}
    ~task() {
        if (self_) self_.destroy();
    }
    T take() {
        if (!self_.promise().over) throw std::runtime_error("the coroutine was cancelled");
        if (self_.promise().error) std::rethrow_exception(self_.promise().error);
        return self_.promise().take();
    }
    void check() const {
        if (!self_ || self_.promise().line) throw std::logic_error("a task can be awaited once");
    }
    struct awaiter { // end: only until it is over, the value is taken later
        handle self;
        bool await_ready() { return false; }
        template <class P> auto await_suspend(std::coroutine_handle<P> caller) {
            self.promise().caller = caller;
            self.promise().line = caller.promise().line;
            return self;
        }
        void await_resume() {}
    };
    struct taking_awaiter : awaiter {
        task *from;
        T await_resume() { return from->take(); }
    };
    awaiter end() { return {self_}; }
    taking_awaiter operator co_await() {
        check();
        return {{self_}, this};
    }

  private:
    explicit task(handle self) : self_(self) {}
    handle self_;
};

// ---- what a coroutine can wait for ----

struct yield { // until the others have had their turn
    bool await_ready() { return false; }
    template <class P> void await_suspend(std::coroutine_handle<P> self) {
        flow &line = *self.promise().line;
        line.next = self;
        line.on->answer = WSQ_YIELD;
    }
    void await_resume() {}
};

struct sleep_for {
    std::chrono::nanoseconds time;
    wsq_result result = WSQ_OK;
    bool await_ready() { return time.count() <= 0; }
    template <class P> bool await_suspend(std::coroutine_handle<P> self) {
        flow &line = *self.promise().line;
        line.next = self;
        result = wsq_timer_set(line.pool, &line.on->timer, line.on, static_cast<uint64_t>(time.count()));
        return result == WSQ_OK;
    }
    void await_resume() {
        if (result != WSQ_OK) throw std::runtime_error(wsq_result_string(result));
    }
};

struct switch_to { // goes on in that pool
    wsq_pool *pool;
    wsq_result result = WSQ_OK;
    bool await_ready() { return false; }
    // Not inline: clang before 17 may keep `moved` in the coroutine's frame, which may be gone.
    template <class P> [[gnu::noinline]] bool await_suspend(std::coroutine_handle<P> self) {
        flow &line = *self.promise().line;
        line.next = self;
        wsq_result moved = hop(line, pool);
        if (moved != WSQ_OK) result = moved; // else this object may be gone
        return moved == WSQ_OK;
    }
    void await_resume() {
        if (result != WSQ_OK) throw std::runtime_error(wsq_result_string(result));
    }
};

// One coroutine waits, any thread sets it. The word: NULL, the waiting carrier, or (this) it is set.
class event {
    std::atomic<void *> word_{nullptr};

  public:
    void set() {
        void *waiter = word_.exchange(this, std::memory_order_acq_rel);
        if (waiter && waiter != this) static_cast<carrier *>(waiter)->wake();
    }
    bool await_ready() { return word_.load(std::memory_order_acquire) == this; }
    template <class P> bool await_suspend(std::coroutine_handle<P> self) {
        flow &line = *self.promise().line;
        void *nobody = nullptr;
        line.next = self;
        bool waits = word_.compare_exchange_strong(nobody, line.on, std::memory_order_acq_rel);
        if (!waits && nobody != this) throw std::logic_error("another coroutine waits for this event");
        return waits;
    }
    void await_resume() {}
};

// Each in a flow of its own; in order, the values or the first exception.
struct arrival { // counts a part until it is over, or destroyed
    std::atomic<size_t> *left;
    event *last;
    arrival(std::atomic<size_t> &count, event &at_zero) : left(&count), last(&at_zero) {
        count.fetch_add(1, std::memory_order_relaxed);
    }
    arrival(arrival &&from) noexcept : left(std::exchange(from.left, nullptr)), last(from.last) {}
    ~arrival() {
        if (left && left->fetch_sub(1, std::memory_order_acq_rel) == 1) last->set();
    }
};
template <class T> detached run_part(task<T> &part, arrival) { co_await part.end(); }

struct this_pool { // co_await this_pool{}: the pool that the coroutine is in
    wsq_pool *pool = nullptr;
    bool await_ready() { return false; }
    template <class P> bool await_suspend(std::coroutine_handle<P> self) {
        pool = self.promise().line->pool;
        return false;
    }
    wsq_pool *await_resume() { return pool; }
};

template <class T>
using all_of = std::conditional_t<std::is_void_v<T>, void, std::vector<T>>;

template <class T> task<all_of<T>> when_all(std::vector<task<T>> parts) {
    wsq_pool *pool = co_await this_pool{};
    for (auto &part : parts) part.check(); // before any of them has begun
    std::atomic<size_t> left{0};
    event over;
    std::exception_ptr error; // no memory: those that have begun must be over before this throws
    {
        arrival mine(left, over);
        try {
            for (auto &part : parts) run_part(part, arrival(left, over)).start(pool);
        } catch (...) {
            error = std::current_exception();
        }
    }
    co_await over;
    if (error) std::rethrow_exception(error);
    if constexpr (std::is_void_v<T>) {
        for (auto &part : parts) part.take();
    } else {
        std::vector<T> values;
        for (auto &part : parts) values.push_back(part.take());
        co_return values;
    }
}

// What `run` waits for: a task, so that in a caller_runs pool the wait runs the pool's tasks.
struct ending : wsq_task {
    std::atomic<bool> told{false};
    ending() { wsq_task_init(this, run); }
    static wsq_poll run(wsq_ctx, wsq_task *task) {
        bool told = static_cast<ending *>(task)->told.load(std::memory_order_acquire);
        return told ? WSQ_DONE : WSQ_PENDING;
    }
};
template <class T> struct answer { // `run` returns when the promise is kept, or goes
    std::promise<T> promise;
    ending *end;
    answer(std::promise<T> from, ending &to) : promise(std::move(from)), end(&to) {}
    answer(answer &&from) noexcept
        : promise(std::move(from.promise)), end(std::exchange(from.end, nullptr)) {}
    ~answer() { last(); }
    std::promise<T> &last() { // the task first, because after the promise it may be gone
        if (ending *task = std::exchange(end, nullptr)) {
            task->told.store(true, std::memory_order_release);
            wsq_wake(task);
        }
        return promise;
    }
};
template <class T> detached run_and_tell(task<T> root, answer<T> to) {
    try { // the root's frame goes, with all that it holds, before the caller sees the value
        if constexpr (std::is_void_v<T>) {
            {
                task<T> mine(std::move(root));
                co_await mine;
            }
            to.last().set_value();
        } else {
            std::optional<T> value;
            {
                task<T> mine(std::move(root));
                value.emplace(co_await mine);
            }
            to.last().set_value(std::move(*value));
        }
    } catch (...) {
        to.last().set_exception(std::current_exception());
    }
}
// For a thread outside: starts it in the pool, and waits until it is over. (If the pool is shut down by
// WSQ_CANCEL, this throws std::future_error: at once if the coroutine could run or is in a sleep_for,
// else after the wake that the coroutine waits for. If the coroutine waits for a task that it starts in
// the closed pool, as when_all does, that throws std::runtime_error.)
template <class T> T run(wsq_pool *pool, task<T> root) {
    std::promise<T> promise;
    std::future<T> future = promise.get_future();
    ending end;
    detached flow = run_and_tell(std::move(root), answer<T>(std::move(promise), end));
    bool waits = wsq_spawn(pool, &end) == WSQ_OK; // else the pool takes no flow either
    flow.start(pool);
    if (waits) wsq_task_wait(&end);
    future.wait();
    while (waits && !wsq_task_done(&end)) std::this_thread::yield(); // another thread cancels it
    return future.get();
}

}} // namespace wsq::co
#endif
