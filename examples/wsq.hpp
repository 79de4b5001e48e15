// wsq.hpp: wsq.h for C++17. Pools, tasks and futures of lambdas; exceptions that reach the waiting
// thread; and, in wsq_algorithm.hpp, which this file includes, parallel algorithms with the names
// of the standard.
//
//     #define WSQ_IMPLEMENTATION      in one file of the program
//     #include "wsq.hpp"
//
//     wsq::pool pool;
//     auto words = pool.submit(read_file, "a.txt").then(count_words);
//     wsq::sort(pool, numbers.begin(), numbers.end());
//     std::cout << words.get();
//
// A callable may take a wsq_ctx as its first argument. With it, it can fork and loop on the worker
// where it runs: wsq::invoke(ctx, ...), wsq::for_each(ctx, ...).
//
// If wsq.h and wsq_io.h are included before this file, coroutines can wait for descriptors, too:
//
//     if (!co_await wsq::readable(pool, io, fd, 2s)) ...     2 s are over
#ifndef WSQ_HPP
#define WSQ_HPP

#if (defined(_MSVC_LANG) ? _MSVC_LANG : __cplusplus) < 201703L
#error "wsq.hpp needs C++17 or later (-std=c++17); wsq.h itself needs C++11"
#else

#if __has_include("wsq.h")
#include "wsq.h"
#else
#include "../wsq.h"
#endif
#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <optional>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>
#if defined(__cpp_impl_coroutine)
#include <coroutine>
#endif

// Each library has its own copy of wsq.h (LIBRARIES in >>host there), so these classes are its own, too.
// With WSQ_STATIC they are each file's, and a shared library hides them. If gcc then says that a class
// or function has "greater visibility", compile the library with -fvisibility=hidden.
#ifndef WSQ_HPP_OWN
#if defined(WSQ_STATIC)
#define WSQ_HPP_OWN /* an unnamed namespace */
#elif defined(__ELF__) && defined(__PIC__) && !defined(__PIE__)
#define WSQ_HPP_OWN [[gnu::visibility("hidden")]] own
#else
#define WSQ_HPP_OWN own
#endif
#endif

namespace wsq { inline namespace WSQ_HPP_OWN {

// The exception that is thrown when a call returns a negative wsq_result.
class error : public std::runtime_error {
  public:
    // The result; what() returns its words.
    const wsq_result code;
    // An error for this result.
    explicit error(wsq_result result)
        : std::runtime_error(wsq_result_string(result)), code(result) {}
};

// Throws an error unless the result is WSQ_OK: for calls of wsq.h.
inline void check(wsq_result result) {
    if (result != WSQ_OK) throw error(result);
}

namespace detail {

// Calls f(ctx, args...) if that compiles, else f(args...).
template <class F, class... A> decltype(auto) call(wsq_ctx ctx, F &&f, A &&...args) {
    if constexpr (std::is_invocable_v<F, wsq_ctx, A...>)
        return std::invoke(std::forward<F>(f), ctx, std::forward<A>(args)...);
    else return std::invoke(std::forward<F>(f), std::forward<A>(args)...);
}
template <class F, class... A>
using call_t = std::decay_t<decltype(call(std::declval<wsq_ctx>(), std::declval<F>(),
                                          std::declval<A>()...))>;

// The same; but a tuple that f does not take is given as its elements. (A reference that f returns may
// refer to the value, so what it refers to is copied.)
template <class F, class T> auto call_with(wsq_ctx ctx, F &f, T value) {
    if constexpr (std::is_invocable_v<F &, wsq_ctx, T> || std::is_invocable_v<F &, T>)
        return call(ctx, f, std::move(value));
    else return std::apply([&](auto &...v) -> decltype(auto) { return call(ctx, f, std::move(v)...); },
                           value);
}

struct nothing {};
template <class T> using stored_t = std::conditional_t<std::is_void_v<T>, nothing, T>;

// A value, or the exception that was thrown instead.
template <class T> class outcome {
    std::variant<std::monostate, stored_t<T>, std::exception_ptr> result_;

  public:
    template <class F> void set_by(F &&f) noexcept {
        try {
            if constexpr (std::is_void_v<T>) {
                f();
                result_.template emplace<1>();
            } else {
                result_.template emplace<1>(f());
            }
        } catch (...) {
            fail(std::current_exception());
        }
    }
    void fail(std::exception_ptr e) noexcept { result_.template emplace<2>(std::move(e)); }
    T take() {
        if (result_.index() == 2) std::rethrow_exception(std::get<2>(result_));
        if constexpr (!std::is_void_v<T>) return std::move(std::get<1>(result_));
    }
};

// The first exception of many calls that may run at the same time. After that, no more calls start.
class first_error {
    std::atomic<bool> set_{false};
    std::exception_ptr error_;

  public:
    template <class F> void guard(F &&f) noexcept {
        if (is_set()) return;
        try {
            f();
        } catch (...) {
            if (!set_.exchange(true)) error_ = std::current_exception();
        }
    }
    bool is_set() const { return set_.load(std::memory_order_relaxed); }
    // When all calls have returned.
    void rethrow() {
        set_ = false;
        if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    }
};

// Where an algorithm runs. On a pool: in a run of its own, in which the calling thread takes part.
template <class F> auto in(wsq_pool *pool, F &&f) {
    using T = std::invoke_result_t<F &, wsq_ctx>;
    struct call_record {
        std::remove_reference_t<F> *f;
        outcome<T> result;
    } record{&f, {}};
    check(wsq_run(pool, [](wsq_ctx ctx, void *arg) {
        auto *r = static_cast<call_record *>(arg);
        r->result.set_by([&]() -> T { return (*r->f)(ctx); });
    }, &record));
    return record.result.take();
}
// On a context: inside a task, a job or a loop.
template <class F> auto in(wsq_ctx ctx, F &&f) { return f(ctx); }

} // namespace detail

// ---- futures ----

template <class T> class future;

namespace detail {

template <class T> struct is_future : std::false_type { using value_type = T; };
template <class T> struct is_future<future<T>> : std::true_type { using value_type = T; };

// What a future and the task that computes its value share. It belongs to the future and, until the
// task has run, to the task; the last one to let go of it deletes it.
template <class T> struct state : wsq_task {
    enum : unsigned { BY_FUTURE = 1, BY_TASK = 2 };
    wsq_pool *pool = nullptr;
    outcome<T> result;
    std::atomic<unsigned> owners{BY_FUTURE | BY_TASK};
    // Nobody, the one task that waits for the value, or (this) the value is there.
    std::atomic<void *> follower{nullptr};
    std::atomic<bool> unwanted{false};

    virtual ~state() = default;
    bool ready() const { return follower.load(std::memory_order_acquire) == this; }
    // True: the task must return WSQ_PENDING, and will be woken. False: the value is there, and no
    // thread is in a wake of the task any more: when the task is done, its pool may be destroyed.
    bool pending(wsq_task *task) {
        void *seen = nullptr;
        if (follower.compare_exchange_strong(seen, task, std::memory_order_acq_rel)) return true;
        if (seen != this) return seen == task;
        if (!(owners.load(std::memory_order_acquire) & BY_TASK)) return false;
        wsq_wake(task); // it looks again, after other tasks
        return true;
    }
    // The task's last step; gives what it returns.
    wsq_poll finish() {
        void *task = follower.exchange(this, std::memory_order_acq_rel);
        if (task) wsq_wake(static_cast<wsq_task *>(task));
        if (owners.fetch_sub(BY_TASK, std::memory_order_acq_rel) != BY_TASK) return WSQ_DONE;
        delete this;
        return WSQ_GONE;
    }
    void let_go() {
        if (owners.fetch_sub(BY_FUTURE, std::memory_order_acq_rel) != BY_FUTURE) return;
        // It has run, and has only to return. (Not wsq_task_wait: its pool may be destroyed then.)
        while (!wsq_task_done(this)) std::this_thread::yield();
        delete this;
    }
};

// Step: a callable with `bool pending(task)`, which says whether what it needs is still missing.
template <class T, class Step> struct step_state : state<T> {
    using made = call_t<Step &>;
    std::optional<Step> step;
    std::optional<std::conditional_t<is_future<made>::value, made, nothing>> inner;

    explicit step_state(Step &&from) : step(std::move(from)) {
        wsq_task_init(this, run);
        wsq_task_set_cleanup(this, cancel);
    }
    static wsq_poll run(wsq_ctx ctx, wsq_task *task) {
        auto *self = static_cast<step_state *>(task);
        if (self->step && self->step->pending(task)) return WSQ_PENDING;
        if (self->step && self->unwanted) return cancel(task);
        if constexpr (is_future<made>::value) { // a future of a future: wait for the inner one, too
            if (self->step) self->make_inner(ctx);
            if (self->inner && self->inner->pending(task)) return WSQ_PENDING;
            if (self->inner) self->result.set_by([&] { return self->inner->get(); });
        } else {
            self->result.set_by([&]() -> T { return call(ctx, *self->step); });
            self->step.reset(); // what it has captured goes before anybody sees the value
        }
        return self->finish();
    }
    void make_inner(wsq_ctx ctx) {
        try {
            inner.emplace(call(ctx, *step));
        } catch (...) {
            this->result.fail(std::current_exception());
        }
        step.reset();
    }
    static wsq_poll cancel(wsq_task *task) {
        auto *self = static_cast<step_state *>(task);
        self->result.set_by([]() -> T { throw error(WSQ_ERR_CANCELLED); });
        self->step.reset();
        return self->finish();
    }
};

// exchange: swaps what the step needs with what the caller has, and back if the spawn fails.
template <class Step, class Exchange>
auto start(wsq_pool *pool, Step &&step, Exchange exchange, wsq_priority priority = WSQ_NORMAL) {
    using T = typename is_future<call_t<Step &>>::value_type;
    auto *made = new step_state<T, std::decay_t<Step>>(std::forward<Step>(step));
    made->pool = pool;
    wsq_task_set_priority(made, priority);
    exchange(*made->step);
    wsq_result result = wsq_spawn(pool, made);
    if (result == WSQ_OK) return future<T>(made);
    exchange(*made->step);
    delete made;
    throw error(result);
}
template <class Step> auto start(wsq_pool *pool, Step &&step) {
    return start(pool, std::forward<Step>(step), [](auto &) {});
}

template <class F, class... A> struct submit_step {
    F f;
    std::tuple<A...> args;
    bool pending(wsq_task *) { return false; }
    decltype(auto) operator()(wsq_ctx ctx) {
        return std::apply([&](A &...a) -> decltype(auto) { return call(ctx, f, std::move(a)...); },
                          args);
    }
};
template <class T, class F> struct then_step {
    future<T> before;
    F f;
    bool pending(wsq_task *task) { return before.pending(task); }
    decltype(auto) operator()(wsq_ctx ctx) {
        if constexpr (std::is_void_v<T>) {
            before.get();
            return call(ctx, f);
        } else {
            return call_with(ctx, f, before.get());
        }
    }
};
template <class T> struct all_step {
    std::vector<future<T>> before;
    bool pending(wsq_task *task) {
        for (auto &f : before) {
            if (f.pending(task)) return true;
        }
        return false;
    }
    auto operator()() {
        if constexpr (std::is_void_v<T>) {
            for (auto &f : before) f.get();
        } else {
            std::vector<T> values;
            values.reserve(before.size());
            for (auto &f : before) values.push_back(f.get());
            return values;
        }
    }
};
template <class T> auto values_of(future<T> &f) { // a tuple of one value, or of none
    if constexpr (std::is_void_v<T>) return f.get(), std::tuple<>();
    else return std::tuple<T>(f.get());
}
template <class... T> struct each_step {
    std::tuple<future<T>...> before;
    bool pending(wsq_task *task) {
        return std::apply([&](auto &...f) { return (f.pending(task) || ...); }, before);
    }
    auto operator()() {
        return std::apply([](auto &...f) { // in order: the braces say so
            std::tuple<decltype(values_of(f))...> values{values_of(f)...};
            return std::apply([](auto &...v) { return std::tuple_cat(std::move(v)...); }, values);
        }, before);
    }
};

template <class R, class P> uint64_t to_ns(std::chrono::duration<R, P> time) {
    double s = std::chrono::duration<double>(time).count(), most = 9e9; // 285 years
    return s < most ? s > 0 ? uint64_t(s * 1e9) : 0 : WSQ_FOREVER;
}

#if defined(__cpp_impl_coroutine)
// A coroutine that waits until a task resumes it. One of wsq_coroutine.hpp goes on when the task that
// carries it is woken. The coroutine goes on when both the task and the call that spawns it are over:
// otherwise the pool might be destroyed during that call.
struct suspended {
    std::coroutine_handle<> handle;
    wsq_task *carrier = nullptr;
    void (*wake)(wsq_task *) = nullptr;
    std::atomic<bool> one_over{false};
    wsq_result error = WSQ_OK; // of the spawn

    // False: the coroutine must go on, because of an error or because the task is over. If true, its
    // frame may be gone. (Not inline: clang before 17 may keep variables in the frame.)
    template <class P>
    [[gnu::noinline]] bool spawn(std::coroutine_handle<P> from, wsq_pool *pool, wsq_task *task) {
        handle = from;
        if constexpr (requires { from.promise().line->on; }) {
            using type = std::remove_reference_t<decltype(*from.promise().line->on)>;
            from.promise().line->next = from;
            carrier = from.promise().line->on;
            wake = [](wsq_task *on) { static_cast<type *>(on)->wake(); };
        }
        wsq_result spawned = wsq_spawn(pool, task);
        if (spawned != WSQ_OK) return error = spawned, false;
        return !one_over.exchange(true, std::memory_order_acq_rel);
    }
    void resume() { // the task is over; after this the coroutine's frame may be gone
        if (!one_over.exchange(true, std::memory_order_acq_rel)) return;
        if (carrier) wake(carrier);
        else handle.resume();
    }
};

// The task that resumes a coroutine when the value is there. It lies in the coroutine's frame.
template <class T> struct resumption : wsq_task {
    future<T> &value;
    suspended waiter;
    bool cancelled;

    bool await_ready() const { return value.ready(); }
    template <class P> bool await_suspend(std::coroutine_handle<P> from) {
        wsq_task_init(this, run);
        wsq_task_set_cleanup(this, cancel);
        return waiter.spawn(from, value.pool(), this);
    }
    T await_resume() {
        if (!value.ready()) { // `get` would hold this thread
            check(waiter.error);
            if (cancelled) throw error(WSQ_ERR_CANCELLED);
        }
        return value.get();
    }
    static wsq_poll run(wsq_ctx, wsq_task *task) {
        auto *self = static_cast<resumption *>(task);
        if (!self->cancelled && self->value.pending(task)) return WSQ_PENDING;
        self->waiter.resume();
        return WSQ_GONE;
    }
    static wsq_poll cancel(wsq_task *task) {
        static_cast<resumption *>(task)->cancelled = true;
        return run({}, task);
    }
};
#endif

} // namespace detail

// A value that comes later, or an exception. You may wait for it, or let it go: the task runs all
// the same. get and then take the value away, so call only one of them, once.
template <class T> class future {
    detail::state<T> *state_ = nullptr;
    bool taken_ = false; // the value; the state stays, because another thread may be in cancel

    void need_state() const {
        if (!valid()) throw error(WSQ_ERR_INVALID);
    }

  public:
    future() = default;
    explicit future(detail::state<T> *state) : state_(state) {}
    future(future &&from) noexcept
        : state_(std::exchange(from.state_, nullptr)), taken_(std::exchange(from.taken_, false)) {}
    future &operator=(future &&from) noexcept {
        std::swap(state_, from.state_);
        std::swap(taken_, from.taken_);
        return *this;
    }
    ~future() {
        if (state_) state_->let_go();
    }
    // Will there be a value? Not after get or then, and not in a default-constructed future.
    bool valid() const { return state_ && !taken_; }
    // The pool that computes the value.
    wsq_pool *pool() const {
        need_state();
        return state_->pool;
    }
    // Would get return without waiting?
    bool ready() const { return valid() && state_->ready(); }
    // Waits until the value is there. On a worker a wait costs the pool no core: see WAITING in
    // wsq.h.
    void wait() const {
        need_state();
        wsq_result result = ready() ? WSQ_OK : wsq_task_wait(state_);
        if (!ready()) throw error(result);
    }
    // Waits as wait does, but at most for this time. False: the time was up first.
    template <class R, class P> bool wait_for(std::chrono::duration<R, P> time) const {
        need_state();
        wsq_result result = ready() ? WSQ_OK : wsq_task_wait_for(state_, detail::to_ns(time));
        if (!ready() && result != WSQ_ERR_TIMEOUT) throw error(result);
        return ready();
    }
    // Waits, and returns the value, or throws the exception that was thrown instead.
    T get() {
        wait();
        taken_ = true;
        return state_->result.take();
    }
    // Returns a future of f(value). If there is an exception instead, f is not called, and the
    // future has the exception. If f returns a future, the result is that future's value. If this
    // throws, because the pool is shutting down, the value is still here.
    template <class F> auto then(F &&f) {
        return detail::start(pool(), detail::then_step<T, std::decay_t<F>>{{}, std::forward<F>(f)},
                             [this](auto &step) { std::swap(state_, step.before.state_); });
    }
    // Any thread, also while another one is in wait or get (but not in then, a move or the
    // destructor). If the computation of the value has not begun, it never will, and get throws an
    // error with WSQ_ERR_CANCELLED. (wsq_task_cancel is not enough here: a task that waits for
    // another future must stay until that future has woken it.)
    void cancel() {
        if (!state_) throw error(WSQ_ERR_INVALID);
        state_->unwanted = true;
    }
    // For tasks that wait without holding a thread. True: the task must return WSQ_PENDING, and is
    // woken when the value is there. Only one task may wait this way.
    // A default-constructed future is not pending: get throws.
    bool pending(wsq_task *task) { return state_ && state_->pending(task); }
#if defined(__cpp_impl_coroutine)
    // co_await gives the value, or throws, as get does. Any coroutine can wait this way, and holds
    // no thread; it goes on in the pool that computes the value (a task of wsq_coroutine.hpp: in its own).
    // It throws an error, too, if that pool takes no tasks any more and the value is not there.
    auto operator co_await() { return detail::resumption<T>{{}, *this, {}, false}; }
#endif
};

// Returns a future of all the values, in order, or of the first exception in that order. A callable
// that follows may take several values one by one: when_all(a, b).then([](int, int) { ... }). A
// future<void> adds no value.
template <class T> auto when_all(wsq_pool *pool, std::vector<future<T>> futures) {
    return detail::start(pool, detail::all_step<T>{std::move(futures)});
}
template <class... T> auto when_all(wsq_pool *pool, future<T>... futures) {
    return detail::start(pool, detail::each_step<T...>{{std::move(futures)...}});
}
// The same, in the pool of the first one.
template <class T, class... U> auto when_all(future<T> first, future<U>... others) {
    wsq_pool *pool = first.pool();
    return when_all(pool, std::move(first), std::move(others)...);
}

// ---- tasks ----

// A task whose memory is yours; nothing is allocated. The callable returns a wsq_poll, or nothing,
// which means WSQ_DONE. It must not throw, and the task must be done before it is destroyed.
template <class F> class task : public wsq_task {
    F f_;

    static wsq_poll run(wsq_ctx ctx, wsq_task *self) noexcept {
        F &f = static_cast<task *>(self)->f_;
        if constexpr (std::is_same_v<detail::call_t<F &>, wsq_poll>) return detail::call(ctx, f);
        detail::call(ctx, f);
        return WSQ_DONE;
    }

  public:
    // A task that calls f(), or f(ctx), once it is spawned. It cannot be copied.
    explicit task(F f) : f_(std::move(f)) { wsq_task_init(this, run); }
    task(const task &) = delete;
    task &operator=(const task &) = delete;
    // Makes the task run again after WSQ_PENDING: wsq_wake.
    void wake() { wsq_wake(this); }
    // Call this before the spawn: cancel then knows whether the task has begun.
    // wsq_task_set_revocable.
    void set_revocable(bool revocable = true) { wsq_task_set_revocable(this, revocable); }
    // Cancels the task, unless it runs. True: it will not run any more. wsq_task_cancel.
    bool cancel() { return wsq_task_cancel(this); }
    // Has the task ended? wsq_task_done.
    bool done() const { return wsq_task_done(this); }
    // Waits for the end of the task, and throws if it was cancelled: wsq_task_wait.
    void wait() { check(wsq_task_wait(this)); }
};

namespace detail {

// A task that frees itself. Fail: what is called with the exception.
template <class F, class Fail> struct loose_task : wsq_task {
    F f;
    Fail fail;
    loose_task(F &&from, Fail &&on_error) : f(std::move(from)), fail(std::move(on_error)) {
        wsq_task_init(this, run);
        wsq_task_set_cleanup(this, cancel);
    }
    static wsq_poll run(wsq_ctx ctx, wsq_task *task) {
        auto *self = static_cast<loose_task *>(task);
        try {
            call(ctx, self->f);
        } catch (...) {
            self->fail(std::current_exception());
        }
        return cancel(task);
    }
    static wsq_poll cancel(wsq_task *task) {
        delete static_cast<loose_task *>(task);
        return WSQ_GONE;
    }
};
template <class F, class Fail> auto make_loose(F &&f, Fail fail) {
    return new loose_task<std::decay_t<F>, Fail>(std::decay_t<F>(std::forward<F>(f)),
                                                 std::move(fail));
}

} // namespace detail

// A wsq_pool that belongs to a scope: its destructor finishes all work. (After a WSQ_CANCEL, work that
// awaits a future of another pool is left. That pool must end the future's task before this one goes.)
class pool {
    wsq_pool *pool_ = nullptr;

  public:
    // A pool as wsq_pool_create makes it, or an error.
    explicit pool(const wsq_config &config) { check(wsq_pool_create(&pool_, &config)); }
    // A pool with this many workers; 0: one for each usable core.
    explicit pool(unsigned workers = 0) {
        wsq_config config = {};
        config.workers = workers;
        check(wsq_pool_create(&pool_, &config));
    }
    pool(pool &&from) noexcept : pool_(std::exchange(from.pool_, nullptr)) {}
    pool &operator=(pool &&from) noexcept {
        std::swap(pool_, from.pool_);
        return *this;
    }
    ~pool() {
        if (pool_) wsq_pool_destroy(pool_);
    }
    // The wsq_pool, for every function of wsq.h.
    operator wsq_pool *() const { return pool_; }
    // How many workers the pool has.
    unsigned workers() const { return wsq_pool_workers(pool_); }
    // Waits for all tasks: wsq_pool_wait.
    void wait() { check(wsq_pool_wait(pool_)); }

    // Calls f() on some worker. There is no handle to wait for this call. An exception ends the
    // program, as in a std::thread.
    template <class F> void spawn(F &&f) {
        auto *made = detail::make_loose(std::forward<F>(f), [](std::exception_ptr) {
            std::terminate();
        });
        wsq_result result = wsq_spawn(pool_, made);
        if (result != WSQ_OK) delete made;
        check(result);
    }
    // Spawns a task of yours, which must stay until it is done.
    template <class F> void spawn(task<F> &mine) { check(wsq_spawn(pool_, &mine)); }
    // Calls f(args...) on some worker, and returns a future of the result. The arguments are
    // copied.
    template <class F, class... A> auto submit(F &&f, A &&...args) {
        return submit(WSQ_NORMAL, std::forward<F>(f), std::forward<A>(args)...);
    }
    // The same with a priority: submit(WSQ_HIGH, f, args...).
    template <class F, class... A> auto submit(wsq_priority priority, F &&f, A &&...args) {
        using step = detail::submit_step<std::decay_t<F>, std::decay_t<A>...>;
        return detail::start(pool_, step{std::forward<F>(f), {std::forward<A>(args)...}},
                             [](auto &) {}, priority);
    }
    // Calls f(ctx) on this thread, and what it forks also on others; returns the result of f.
    template <class F> auto run(F &&f) {
        return detail::in(pool_, [&](wsq_ctx ctx) { return detail::call(ctx, f); });
    }
};

// Tasks that are waited for, or cancelled, together. The first exception cancels the others.
class group {
    wsq_pool *pool_;
    wsq_group group_;
    detail::first_error error_;
    // Twice the number of threads in `spawn`; plus 1 while `wait` resets the group.
    std::atomic<size_t> spawning_{0};

  public:
    // An empty group, whose tasks run in this pool. Its destructor waits for them.
    explicit group(wsq_pool *pool) : pool_(pool) { check(wsq_group_init(&group_, pool)); }
    group(const group &) = delete;
    group &operator=(const group &) = delete;
    ~group() { wsq_group_wait(&group_); }

    // Calls f() on some worker. False: the group was cancelled, and f will not run.
    template <class F> bool spawn(F &&f) {
        auto *made = detail::make_loose(std::forward<F>(f), [this](std::exception_ptr e) {
            error_.guard([&] { std::rethrow_exception(e); });
            wsq_group_cancel(&group_);
        });
        bool resets = (spawning_.fetch_add(2) & 1) != 0; // then the group is still cancelled
        wsq_result result = resets ? WSQ_ERR_CANCELLED : wsq_group_spawn(&group_, made);
        spawning_.fetch_sub(2);
        if (result != WSQ_OK) delete made;
        if (result != WSQ_ERR_CANCELLED) check(result);
        return result == WSQ_OK;
    }
    // Cancels the group: calls that have not begun never will.
    void cancel() { wsq_group_cancel(&group_); }
    // Was the group cancelled? A call that runs may ask this, and return early.
    bool cancelled() const { return wsq_group_cancelled(&group_); }
    // Waits for all calls, one thread at a time, and throws the first exception. False: the group
    // was cancelled. After this the group can be used again.
    bool wait() {
        wsq_result result = wsq_group_wait(&group_);
        bool over = result == WSQ_OK || result == WSQ_ERR_CANCELLED; // else its tasks still run
        if (over && cancelled()) reset();
        error_.rethrow();
        if (result != WSQ_ERR_CANCELLED) check(result);
        return result == WSQ_OK;
    }

  private:
    // Meanwhile no thread is in wsq_group_spawn, and all calls of the group have ended.
    void reset() {
        spawning_.fetch_add(1);
        while (spawning_.load() != 1) std::this_thread::yield();
        wsq_group_wait(&group_);
        check(wsq_group_init(&group_, pool_));
        spawning_.fetch_sub(1);
    }
};

#if defined(WSQ_IO_H) && defined(__cpp_impl_coroutine)
namespace detail {

// The task that waits for a descriptor on behalf of a coroutine. It lies in the coroutine's frame.
struct readiness : wsq_task {
    wsq_pool *pool;
    wsq_io *io;
    wsq_io_fd fd;
    unsigned what;
    uint64_t timeout_ns;
    wsq_io_limit limit = {};
    suspended waiter = {};
    wsq_result result = WSQ_OK;
    bool begun = false;

    readiness(wsq_pool *in, wsq_io *from, wsq_io_fd of, unsigned kind, uint64_t ns)
        : wsq_task(), pool(in), io(from), fd(of), what(kind), timeout_ns(ns) {}
    bool await_ready() const { return false; }
    template <class P> bool await_suspend(std::coroutine_handle<P> from) {
        wsq_task_init(this, run);
        wsq_task_set_cleanup(this, cancel);
        return waiter.spawn(from, pool, this);
    }
    bool await_resume() const {
        check(waiter.error);
        if (result != WSQ_ERR_TIMEOUT) check(result);
        return result == WSQ_OK;
    }
    static wsq_poll run(wsq_ctx, wsq_task *task) {
        auto *self = static_cast<readiness *>(task);
        bool woken = self->begun && !wsq_io_cancel(self->io, self->fd); // by the descriptor
        self->begun = true;
        if (!woken) {
            bool limited = self->timeout_ns != WSQ_FOREVER;
            if (limited && wsq_io_late(&self->limit, self->pool, task, self->timeout_ns))
                self->result = WSQ_ERR_TIMEOUT;
            else if (wsq_io_wait(self->io, self->fd, self->what, task)) return WSQ_PENDING;
        }
        return self->resume();
    }
    static wsq_poll cancel(wsq_task *task) {
        auto *self = static_cast<readiness *>(task);
        wsq_io_cancel(self->io, self->fd);
        self->result = WSQ_ERR_CANCELLED;
        return self->resume();
    }
    wsq_poll resume() {
        wsq_io_reset(&limit);
        waiter.resume();
        return WSQ_GONE;
    }
};

// What a coroutine awaits. Each co_await has a task of its own.
struct when_ready {
    wsq_pool *pool;
    wsq_io *io;
    wsq_io_fd fd;
    unsigned what;
    uint64_t timeout_ns;

    readiness operator co_await() const { return readiness(pool, io, fd, what, timeout_ns); }
};

} // namespace detail

// co_await of this waits, without a thread, until the descriptor (see wsq_io_add) may be readable.
// Call it after EAGAIN. True: try again. False: the time is over. The coroutine goes on in that pool
// (a task of wsq_coroutine.hpp: in its own).
// It throws an error if the pool is shut down; but a WSQ_CANCEL does not end a wait that has begun.
inline auto readable(wsq_pool *pool, wsq_io &io, wsq_io_fd fd) {
    return detail::when_ready{pool, &io, fd, WSQ_IO_READ, WSQ_FOREVER};
}
template <class R, class P>
auto readable(wsq_pool *pool, wsq_io &io, wsq_io_fd fd, std::chrono::duration<R, P> limit) {
    return detail::when_ready{pool, &io, fd, WSQ_IO_READ, detail::to_ns(limit)};
}
// The same, until it may be writable.
inline auto writable(wsq_pool *pool, wsq_io &io, wsq_io_fd fd) {
    return detail::when_ready{pool, &io, fd, WSQ_IO_WRITE, WSQ_FOREVER};
}
template <class R, class P>
auto writable(wsq_pool *pool, wsq_io &io, wsq_io_fd fd, std::chrono::duration<R, P> limit) {
    return detail::when_ready{pool, &io, fd, WSQ_IO_WRITE, detail::to_ns(limit)};
}
#endif

}} // namespace wsq

#include "wsq_algorithm.hpp"
#endif // C++17
#endif
