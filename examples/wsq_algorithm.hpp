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
#if (defined(_MSVC_LANG) ? _MSVC_LANG : __cplusplus) >= 201703L // else wsq.hpp has said so
#include <algorithm>
#include <iterator>
#include <memory>

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

// Calls f(i), or f(ctx, i), for each i of begin .. end - 1.
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
        wsq_reducer reducer = {sizeof(T *), init, body, combine, this, false};
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

// These do what std::transform_reduce does, from left to right, so that the operation need not be
// commutative.
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

    // No piece is empty.
    size_t begin(size_t piece) const { return n / count * piece + (std::min)(piece, n % count); }
    void sum_piece(size_t piece) {
        size_t i = begin(piece), end = begin(piece + 1);
        T sum = *at(first, i);
        while (++i < end) sum = op(std::move(sum), *at(first, i));
        sums[piece] = std::move(sum);
    }
    void write_inclusive(size_t i, size_t end, std::optional<T> &before) {
        T sum = before ? T(op(std::move(*before), *at(first, i))) : T(*at(first, i));
        *at(out, i) = sum;
        while (++i < end) *at(out, i) = sum = op(std::move(sum), *at(first, i));
    }
    void write_exclusive(size_t i, size_t end, T sum) {
        for (; i < end; i++) {
            T next = op(sum, *at(first, i)); // the output may be the input
            *at(out, i) = std::move(sum);
            sum = std::move(next);
        }
    }
    void write_piece(size_t piece) {
        size_t i = begin(piece), end = begin(piece + 1);
        if (inclusive) write_inclusive(i, end, sums[piece]);
        else write_exclusive(i, end, std::move(*sums[piece]));
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
        size_t count = workers > 1 ? (std::max<size_t>)(1, (std::min)(4 * workers, n / 1024)) : 1;
        scan<T, It, Out, Op> job{first, out, n, count, op, inclusive, {}};
        return job.run(ctx, std::move(init));
    });
}

// Two sorted runs become one elsewhere; of equal elements, those of the first run come first. The
// longer run is cut in its middle, the other one where that element belongs.
template <class In, class Out, class Less>
void merge(wsq_ctx ctx, In a, size_t n, In b, size_t m, Out out, Less &less) {
    if (n + m < 8192) {
        In a_end = at(a, n), b_end = at(b, m);
        while (a != a_end && b != b_end) *out++ = less(*b, *a) ? std::move(*b++) : std::move(*a++);
        std::move(b, b_end, std::move(a, a_end, out));
        return;
    }
    size_t i = n / 2, j = m / 2;
    if (n >= m) j = length(b, std::lower_bound(b, at(b, m), *at(a, i), std::ref(less)));
    else i = length(a, std::upper_bound(a, at(a, n), *at(b, j), std::ref(less)));
    auto front = [&](wsq_ctx c) { merge(c, a, i, b, j, out, less); };
    auto back = [&](wsq_ctx c) {
        merge(c, at(a, i), n - i, at(b, j), m - j, at(out, i + j), less);
    };
    both(ctx, front, back);
}

// Sorts data, which ends there or in the other place, whichever is asked for: no level copies.
template <class Data, class Other, class Less> struct merge_sort {
    size_t grain;
    bool stable;
    Less &less;

    void leaf(Data data, Other other, size_t n, bool into_other) {
        if (stable) std::stable_sort(data, at(data, n), std::ref(less));
        else std::sort(data, at(data, n), std::ref(less));
        if (into_other) std::move(data, at(data, n), other);
    }
    void run(wsq_ctx ctx, Data data, Other other, size_t n, bool into_other) {
        if (n <= grain) return leaf(data, other, n, into_other);
        size_t h = n / 2;
        auto front = [&](wsq_ctx c) { run(c, data, other, h, !into_other); };
        auto back = [&](wsq_ctx c) { run(c, at(data, h), at(other, h), n - h, !into_other); };
        both(ctx, front, back);
        if (into_other) merge(ctx, data, h, at(data, h), n - h, other, less);
        else merge(ctx, other, h, at(other, h), n - h, data, less);
    }
};

// Some runs for each worker are sorted as the standard does it, and merged.
template <class It, class Less>
void sort(wsq_ctx ctx, It first, It last, Less &less, bool stable) {
    using T = typename std::iterator_traits<It>::value_type;
    size_t n = length(first, last), workers = wsq_pool_workers(wsq_pool_of(ctx));
    size_t grain = workers > 1 ? std::max<size_t>(n / (8 * workers), 2048) : n;
    if (n <= grain) {
        merge_sort<It, T *, Less>{grain, stable, less}.leaf(first, nullptr, n, false);
    } else if constexpr (std::is_trivially_default_constructible_v<T>) {
        std::unique_ptr<T[]> other(new T[n]);
        merge_sort<It, T *, Less>{grain, stable, less}.run(ctx, first, other.get(), n, false);
    } else {
        std::vector<T> data(std::make_move_iterator(first), std::make_move_iterator(last));
        merge_sort<T *, It, Less>{grain, stable, less}.run(ctx, data.data(), first, n, true);
    }
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
// This does what std::sort does; it needs room for a second copy. If `less` throws, elements may be
// lost.
template <class Where, class It, class Less = std::less<>>
void sort(Where &&where, It first, It last, Less less = {}) {
    detail::in(where, [&](wsq_ctx ctx) { detail::sort(ctx, first, last, less, false); });
}
// This does what std::stable_sort does; else it is like sort.
template <class Where, class It, class Less = std::less<>>
void stable_sort(Where &&where, It first, It last, Less less = {}) {
    detail::in(where, [&](wsq_ctx ctx) { detail::sort(ctx, first, last, less, true); });
}

} // namespace wsq
#endif // C++17
#endif
