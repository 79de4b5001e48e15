// wsq_algorithm.hpp: fork and join, loops, reductions, scans and sorts on a wsq::pool, under the
// names that the standard gives them. Include wsq.hpp, which includes this file.
//
//     wsq::for_each(pool, v.begin(), v.end(), [](double &x) { x = std::sqrt(x); });
//     double sum = wsq::reduce(pool, v.begin(), v.end());
//     wsq::invoke(pool, [&](wsq_ctx c) { wsq::sort(c, a.begin(), a.end()); }, [&] { b = load(); });
//
// The first argument says where: a pool, whose workers help the calling thread; or, inside a task,
// a job or a loop, the wsq_ctx that it received. An exception ends the call as soon as what runs
// has returned, and is thrown to the caller: the first one, if there are several.
#ifndef WSQ_ALGORITHM_HPP
#define WSQ_ALGORITHM_HPP

#include "wsq.hpp"
#include <algorithm>
#include <iterator>

namespace wsq {

// ---- fork and join ----

namespace detail {

template <class F> struct lambda_job : wsq_job {
    F *f;
    std::exception_ptr error;
    static void run(wsq_ctx ctx, wsq_job *job) {
        auto *self = static_cast<lambda_job *>(job);
        try {
            call(ctx, *self->f);
        } catch (...) {
            self->error = std::current_exception();
        }
    }
};

// g here, and f perhaps elsewhere meanwhile. The join comes before any exception goes on.
template <class F, class G> void both(wsq_ctx ctx, F &f, G &g) {
    lambda_job<F> job;
    std::exception_ptr error;
    job.f = &f;
    wsq_fork(&ctx, &job, lambda_job<F>::run);
    try {
        call(ctx, g);
    } catch (...) {
        error = std::current_exception();
    }
    bool mine = wsq_reclaim(&ctx, &job);
    if (error) std::rethrow_exception(error);
    if (mine) call(ctx, f);
    else if (job.error) std::rethrow_exception(job.error);
}

template <class F> void invoke_all(wsq_ctx ctx, F &f) { call(ctx, f); }
template <class F, class G, class... More>
void invoke_all(wsq_ctx ctx, F &f, G &g, More &...more) {
    auto rest = [&](wsq_ctx c) { invoke_all(c, g, more...); };
    both(ctx, f, rest);
}

// body(ctx, begin, end) for pieces of 0 .. n.
template <class Body> void pieces(wsq_ctx ctx, size_t n, size_t grain, Body &&body) {
    struct loop {
        std::remove_reference_t<Body> *body;
        first_error error;
    } loop{&body, {}};
    wsq_for(ctx, 0, n, grain, [](wsq_ctx c, size_t begin, size_t end, void *arg) {
        auto *l = static_cast<struct loop *>(arg);
        l->error.guard([&] { (*l->body)(c, begin, end); });
        if (l->error.is_set()) wsq_loop_stop(c);
    }, &loop);
    loop.error.rethrow();
}

template <class It> size_t length(It first, It last) {
    static_assert(std::is_base_of_v<std::random_access_iterator_tag,
                                    typename std::iterator_traits<It>::iterator_category>,
                  "wsq's algorithms need random access iterators");
    return static_cast<size_t>(last - first);
}
template <class It> It at(It first, size_t i) {
    return first + static_cast<typename std::iterator_traits<It>::difference_type>(i);
}

} // namespace detail

// All of them, perhaps at the same time; returns when each has. Where: a pool, or the wsq_ctx that
// the caller has. If one throws, some others may never have been called.
template <class Where, class... F> void invoke(Where &&where, F &&...f) {
    detail::in(where, [&](wsq_ctx ctx) { detail::invoke_all(ctx, f...); });
}

// ---- algorithms: `where` is as above; what is called runs on many threads at once ----

template <class Where, class F> void for_index(Where &&where, size_t begin, size_t end, F &&f) {
    detail::in(where, [&](wsq_ctx ctx) {
        detail::pieces(ctx, begin < end ? end - begin : 0, 0, [&](wsq_ctx c, size_t i, size_t to) {
            for (; i < to; i++) detail::call(c, f, begin + i);
        });
    });
}
template <class Where, class It, class F> void for_each(Where &&where, It first, It last, F &&f) {
    for_index(where, 0, detail::length(first, last), [&](wsq_ctx c, size_t i) {
        detail::call(c, f, *detail::at(first, i));
    });
}
template <class Where, class It, class F> It for_each_n(Where &&where, It first, size_t n, F &&f) {
    wsq::for_each(where, first, detail::at(first, n), f);
    return detail::at(first, n);
}
template <class Where, class It, class Out, class F>
Out transform(Where &&where, It first, It last, Out out, F &&f) {
    size_t n = detail::length(first, last);
    for_index(where, 0, n, [&](size_t i) { *detail::at(out, i) = f(*detail::at(first, i)); });
    return detail::at(out, n);
}
template <class Where, class It, class It2, class Out, class F>
Out transform(Where &&where, It first, It last, It2 first2, Out out, F &&f) {
    size_t n = detail::length(first, last);
    for_index(where, 0, n, [&](size_t i) {
        *detail::at(out, i) = f(*detail::at(first, i), *detail::at(first2, i));
    });
    return detail::at(out, n);
}
template <class Where, class It, class T>
void fill(Where &&where, It first, It last, const T &value) {
    for_index(where, 0, detail::length(first, last),
              [&](size_t i) { *detail::at(first, i) = value; });
}
template <class Where, class It, class P> bool any_of(Where &&where, It first, It last, P &&p) {
    std::atomic<bool> found{false};
    detail::in(where, [&](wsq_ctx ctx) {
        detail::pieces(ctx, detail::length(first, last), 0, [&](wsq_ctx c, size_t i, size_t end) {
            for (; i < end && !p(*detail::at(first, i)); i++) {}
            if (i == end) return;
            found = true;
            wsq_loop_stop(c);
        });
    });
    return found;
}
template <class Where, class It, class P> bool none_of(Where &&where, It first, It last, P &&p) {
    return !wsq::any_of(where, first, last, p);
}
template <class Where, class It, class P> bool all_of(Where &&where, It first, It last, P &&p) {
    return !wsq::any_of(where, first, last, [&](auto &&x) { return !p(x); });
}

namespace detail {

// A partial result lives on the heap: wsq_reduce moves bytes, and calls no destructor. There is one
// for each piece that was given away, so few. nullptr: of no elements.
template <class T, class Op, class Get> struct reduction {
    Op &op;
    Get &get;
    first_error error;

    static T *&value(void *partial) { return *static_cast<T **>(partial); }
    void add(size_t begin, size_t end, T *&slot) {
        T sum = slot ? std::move(*slot) : T(get(begin++));
        while (begin < end) sum = op(std::move(sum), get(begin++));
        if (slot) *slot = std::move(sum);
        else slot = new T(std::move(sum));
    }
    static void init(void *partial, void *) { value(partial) = nullptr; }
    static void body(wsq_ctx ctx, size_t begin, size_t end, void *partial, void *arg) {
        auto *self = static_cast<reduction *>(arg);
        self->error.guard([&] { self->add(begin, end, value(partial)); });
        if (self->error.is_set()) wsq_loop_stop(ctx);
    }
    static void combine(void *left, const void *right, void *arg) {
        auto *self = static_cast<reduction *>(arg);
        T *&l = value(left), *r = *static_cast<T *const *>(right);
        if (l && r) self->error.guard([&] { *l = self->op(std::move(*l), std::move(*r)); });
        if (l) delete r;
        else l = r;
    }
    T run(wsq_ctx ctx, size_t n, T first) {
        wsq_reducer reducer = {sizeof(T *), init, body, combine, this};
        T *sum = nullptr;
        check(wsq_reduce(ctx, 0, n, 0, &reducer, &sum));
        if (sum) error.guard([&] { first = op(std::move(first), std::move(*sum)); });
        delete sum;
        error.rethrow();
        return first;
    }
};

template <class Where, class T, class Op, class Get>
T reduce_in(Where &&where, size_t n, T init, Op op, Get &&get) {
    return in(where, [&](wsq_ctx ctx) {
        reduction<T, Op, std::remove_reference_t<Get>> reduction{op, get, {}};
        return reduction.run(ctx, n, std::move(init));
    });
}

} // namespace detail

// From left to right, so that the operation need not be commutative.
template <class Where, class It, class T, class Op, class F>
T transform_reduce(Where &&where, It first, It last, T init, Op op, F f) {
    return detail::reduce_in(where, detail::length(first, last), std::move(init), op,
                             [&](size_t i) -> decltype(auto) { return f(*detail::at(first, i)); });
}
template <class Where, class It, class It2, class T>
T transform_reduce(Where &&where, It first, It last, It2 first2, T init) {
    return detail::reduce_in(where, detail::length(first, last), std::move(init), std::plus<>(),
                             [&](size_t i) {
                                 return *detail::at(first, i) * *detail::at(first2, i);
                             });
}
template <class Where, class It, class T, class Op = std::plus<>>
T reduce(Where &&where, It first, It last, T init, Op op = {}) {
    return detail::reduce_in(where, detail::length(first, last), std::move(init), op,
                             [&](size_t i) -> decltype(auto) { return *detail::at(first, i); });
}
template <class Where, class It> auto reduce(Where &&where, It first, It last) {
    return wsq::reduce(where, first, last, typename std::iterator_traits<It>::value_type{});
}
template <class Where, class It, class P> auto count_if(Where &&where, It first, It last, P &&p) {
    using count = typename std::iterator_traits<It>::difference_type;
    return wsq::transform_reduce(where, first, last, count(0), std::plus<>(),
                                 [&](auto &&x) { return count(p(x) ? 1 : 0); });
}

namespace detail {

// Two passes over some pieces for each worker: the sum of each, then each from the sum before it.
// One piece: one pass.
template <class T, class It, class Out, class Op> struct scan {
    It first;
    Out out;
    size_t n, count;
    Op &op;
    bool inclusive;
    std::vector<std::optional<T>> sums; // of a piece; then of all that comes before it

    size_t begin(size_t piece) const { return n / count * piece + std::min(piece, n % count); }
    void add(std::optional<T> &sum, const T &x) { sum = sum ? T(op(std::move(*sum), x)) : x; }
    void sum_piece(size_t piece) {
        for (size_t i = begin(piece); i < begin(piece + 1); i++) add(sums[piece], *at(first, i));
    }
    void write_piece(size_t piece) {
        std::optional<T> sum = std::move(sums[piece]);
        for (size_t i = begin(piece); i < begin(piece + 1); i++) {
            T x = *at(first, i); // the output may be the input
            if (!inclusive) *at(out, i) = *sum;
            add(sum, x);
            if (inclusive) *at(out, i) = *sum;
        }
    }
    Out run(wsq_ctx ctx, std::optional<T> before) {
        sums.resize(count);
        pieces(ctx, count - 1, 1, [&](wsq_ctx, size_t i, size_t end) {
            for (; i < end; i++) sum_piece(i);
        });
        for (auto &sum : sums) {
            std::swap(sum, before);
            if (!before) before = sum;
            else if (sum) before = T(op(*sum, std::move(*before)));
        }
        pieces(ctx, count, 1, [&](wsq_ctx, size_t i, size_t end) {
            for (; i < end; i++) write_piece(i);
        });
        return at(out, n);
    }
};

template <class T, class Where, class It, class Out, class Op>
Out scan_in(Where &&where, It first, It last, Out out, std::optional<T> init, Op op,
            bool inclusive) {
    return in(where, [&](wsq_ctx ctx) {
        size_t n = length(first, last), workers = wsq_pool_workers(wsq_pool_of(ctx));
        if (n == 0) return out;
        size_t count = workers > 1 ? std::max<size_t>(1, std::min(4 * workers, n / 1024)) : 1;
        scan<T, It, Out, Op> job{first, out, n, count, op, inclusive, {}};
        return job.run(ctx, std::move(init));
    });
}

// The two partitions of a range run on one core, so that on many cores the first ones are felt.
template <class It, class Less>
void quicksort(wsq_ctx ctx, It first, It last, Less &less, int depth) {
    auto n = last - first;
    if (n < 2048 || depth == 0) {
        std::sort(first, last, std::ref(less));
        return;
    }
    It low = first + n / 4, middle = first + n / 2, high = first + 3 * (n / 4);
    if (less(*middle, *low)) std::swap(low, middle);
    if (less(*high, *middle)) middle = less(*high, *low) ? low : high;
    std::iter_swap(first, middle); // the pivot stays there meanwhile
    It cut = std::partition(first + 1, last, [&](const auto &x) { return less(x, *first); }) - 1;
    std::iter_swap(first, cut);
    It right = cut + 1;
    if (cut - first < n / 8) // perhaps many are equal to the pivot: they are in their place
        right = std::partition(right, last, [&](const auto &x) { return !less(*cut, x); });
    auto sort_left = [&](wsq_ctx c) { quicksort(c, first, cut, less, depth - 1); };
    auto sort_right = [&](wsq_ctx c) { quicksort(c, right, last, less, depth - 1); };
    both(ctx, sort_left, sort_right);
}
template <class It, class Less> void mergesort(wsq_ctx ctx, It first, It last, Less &less) {
    auto n = last - first;
    if (n < 2048) {
        std::stable_sort(first, last, std::ref(less));
        return;
    }
    It middle = first + n / 2;
    auto front = [&](wsq_ctx c) { mergesort(c, first, middle, less); };
    auto back = [&](wsq_ctx c) { mergesort(c, middle, last, less); };
    both(ctx, front, back);
    std::inplace_merge(first, middle, last, std::ref(less));
}

} // namespace detail

template <class Where, class It, class Out, class Op = std::plus<>>
Out inclusive_scan(Where &&where, It first, It last, Out out, Op op = {}) {
    using T = typename std::iterator_traits<It>::value_type;
    return detail::scan_in<T>(where, first, last, out, std::optional<T>(), op, true);
}
template <class Where, class It, class Out, class Op, class T>
Out inclusive_scan(Where &&where, It first, It last, Out out, Op op, T init) {
    return detail::scan_in<T>(where, first, last, out, std::optional<T>(init), op, true);
}
template <class Where, class It, class Out, class T, class Op = std::plus<>>
Out exclusive_scan(Where &&where, It first, It last, Out out, T init, Op op = {}) {
    return detail::scan_in<T>(where, first, last, out, std::optional<T>(init), op, false);
}
template <class Where, class It, class Less = std::less<>>
void sort(Where &&where, It first, It last, Less less = {}) {
    int depth = 4;
    for (size_t n = detail::length(first, last); n > 1; n /= 2) depth += 2;
    detail::in(where, [&](wsq_ctx ctx) { detail::quicksort(ctx, first, last, less, depth); });
}
template <class Where, class It, class Less = std::less<>>
void stable_sort(Where &&where, It first, It last, Less less = {}) {
    (void)detail::length(first, last);
    detail::in(where, [&](wsq_ctx ctx) { detail::mergesort(ctx, first, last, less); });
}

} // namespace wsq
#endif
