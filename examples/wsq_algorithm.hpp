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

namespace wsq { inline namespace WSQ_HPP_OWN {

// ---- fork and join ----

namespace detail {

template <class F> struct lambda_job : wsq_job {
    F *f;
    std::exception_ptr error;
    static void run(wsq_ctx ctx, wsq_job *job) {
        auto *self = static_cast<lambda_job *>(job);
        try {
            detail::call(ctx, *self->f);
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
        detail::call(ctx, g);
    } catch (...) {
        error = std::current_exception();
    }
    bool mine = wsq_reclaim(&ctx, &job);
    if (error) std::rethrow_exception(error);
    if (mine) detail::call(ctx, f);
    else if (job.error) std::rethrow_exception(job.error);
}

template <class F> void invoke_all(wsq_ctx ctx, F &f) { detail::call(ctx, f); }
template <class F, class G, class... More>
void invoke_all(wsq_ctx ctx, F &f, G &g, More &...more) {
    auto rest = [&](wsq_ctx c) { detail::invoke_all(c, g, more...); };
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
        while (begin < end) sum = T(op(std::move(sum), get(begin++)));
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
        if (l && r) self->error.guard([&] { *l = T(self->op(std::move(*l), std::move(*r))); });
        if (l) delete r;
        else l = r;
    }
    T run(wsq_ctx ctx, size_t n, T first) {
        wsq_reducer reducer = {sizeof(T *), init, body, combine, this, false};
        T *sum = nullptr;
        check(wsq_reduce(ctx, 0, n, 0, &reducer, &sum));
        if (sum) error.guard([&] { first = T(op(std::move(first), std::move(*sum))); });
        delete sum;
        error.rethrow();
        return first;
    }
};

template <class Where, class T, class Op, class Get>
T reduce_in(Where &&where, size_t n, T init, Op op, Get &&get) {
    return detail::in(where, [&](wsq_ctx ctx) {
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
        T sum = *detail::at(first, i);
        while (++i < end) sum = T(op(std::move(sum), *detail::at(first, i)));
        sums[piece] = std::move(sum);
    }
    void write_inclusive(size_t i, size_t end, std::optional<T> &before) {
        T sum = before ? T(op(std::move(*before), *detail::at(first, i))) : T(*detail::at(first, i));
        *detail::at(out, i) = sum;
        while (++i < end) *detail::at(out, i) = sum = T(op(std::move(sum), *detail::at(first, i)));
    }
    void write_exclusive(size_t i, size_t end, T sum) {
        for (; i < end; i++) {
            T next = T(op(sum, *detail::at(first, i))); // the output may be the input
            *detail::at(out, i) = std::move(sum);
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
        return detail::at(out, n);
    }
};

template <class T, class Where, class It, class Out, class Op>
Out scan_in(Where &&where, It first, It last, Out out, std::optional<T> init, Op op,
            bool inclusive) {
    return detail::in(where, [&](wsq_ctx ctx) {
        size_t n = detail::length(first, last), workers = wsq_pool_workers(wsq_pool_of(ctx));
        if (n == 0) return out;
        size_t count = workers > 1 ? (std::max<size_t>)(1, (std::min)(4 * workers, n / 1024)) : 1;
        scan<T, It, Out, Op> job{first, out, n, count, op, inclusive, {}};
        return job.run(ctx, std::move(init));
    });
}

// ---- sorting ----

// Elements for which left(x) holds come first; returns how many. No branch depends on the data: the
// element at `l` moves to the gap, and the next one takes its place (O. Peters, cyclic Lomuto).
template <class T, class Left> size_t split(T *a, size_t n, Left &&left) {
    T first = a[0];
    size_t l = 0, gap = 0;
    while (gap + 1 < n) {
        a[gap] = a[l];
        T x = a[++gap];
        a[l] = x;
        l += left(x);
    }
    a[gap] = a[l];
    a[l] = first;
    return l + left(first);
}

template <class T, class Less> void insertion_sort(T *a, size_t n, Less &less) {
    for (size_t i = 1; i < n; i++) {
        T x = a[i];
        size_t j = i;
        for (; j > 0 && less(x, a[j - 1]); j--) a[j] = a[j - 1];
        a[j] = x;
    }
}

// The median of three medians of three.
template <class T, class Less> T ninther(const T *a, size_t n, Less &less) {
    auto median = [&](const T &x, const T &y, const T &z) -> const T & {
        if (less(x, y)) return less(y, z) ? y : less(x, z) ? z : x;
        return less(x, z) ? x : less(y, z) ? z : y;
    };
    size_t e = n / 10;
    return median(median(a[e], a[2 * e], a[3 * e]), median(a[4 * e], a[5 * e], a[6 * e]),
                  median(a[7 * e], a[8 * e], a[9 * e]));
}

template <class T>
constexpr bool copies = // trivially
    std::is_trivially_copyable_v<T> && std::is_copy_constructible_v<T> && std::is_copy_assignable_v<T>;
template <class T> constexpr bool small = copies<T> && sizeof(T) <= 16; // cheap to copy

// Quicksort of small trivial elements: half the time of std::sort for random integers.
template <class T, class Less> void quicksort(T *a, size_t n, Less &less, unsigned depth) {
    while (n > 20) {
        if (depth-- == 0) return std::sort(a, a + n, std::ref(less)); // bad luck, or an adversary
        T pivot = ninther(a, n, less);
        size_t l = split(a, n, [&](const T &x) { return less(x, pivot); });
        if (l == 0) { // the pivot is the least: what equals it is in its place
            l = split(a, n, [&](const T &x) { return !less(pivot, x); });
        } else {
            detail::quicksort(a, l, less, depth);
        }
        a += l;
        n -= l;
    }
    detail::insertion_sort(a, n, less);
}

template <class T, class Less> void quicksort(T *a, size_t n, Less &less) {
    unsigned depth = 8;
    for (size_t i = n; i > 1; i /= 2) depth += 2;
    detail::quicksort(a, n, less, depth);
}

// Sorts what is nearly sorted, in one pass, and returns true. What is out of order is taken out,
// sorted, and merged again (E. Ernerfeldt, drop-merge sort). False: that is too much, and the elements
// are in some order.
template <class It, class Less> bool mend(It a, size_t n, Less &less) {
    constexpr size_t many = 8; // so many taken out in a row: the last ones kept are too large
    std::vector<typename std::iterator_traits<It>::value_type> out;
    size_t kept = 1, left = 0; // so many are in order, then come as many gaps as there are in `out`
    auto back = [&](size_t count) { // the last ones
        auto from = detail::at(out.begin(), left - count), to = detail::at(out.begin(), left);
        std::move(from, to, detail::at(a, kept + left - count));
        for (left -= count; count > 0; count--) out.pop_back();
    };
    auto take = [&](It x) {
        out.push_back(std::move(*x));
        left++;
    };
    try {
        for (size_t i = 1, row = 0; i < n; i++) {
            It x = detail::at(a, i), last = kept > 0 ? detail::at(a, kept - 1) : x;
            if (!less(*x, *last)) {
                if (kept != i) *detail::at(a, kept) = std::move(*x);
                kept++;
                row = 0;
            } else if (left > 8 + i / 8) {
                return back(left), false;
            } else if (kept > 1 && !less(*x, *detail::at(a, kept - 2))) {
                take(last); // the last one kept was too large
                *last = std::move(*x);
                row = 0;
            } else if (take(x), ++row == many) {
                auto from = detail::at(out.begin(), left - many);
                auto &most = *std::max_element(from, out.end(), std::ref(less));
                if (kept > many && less(most, *detail::at(a, kept - many))) continue; // rather these
                size_t above = kept;
                while (above > 0 && less(most, *detail::at(a, above - 1))) above--;
                back(many);
                for (i -= many, row = 0; kept > above; kept--) take(detail::at(a, kept - 1));
            }
        }
        if (left != 0) detail::quicksort(out.data(), left, less);
        for (size_t to = n; left != 0;) {
            bool larger = kept != 0 && less(out[left - 1], *detail::at(a, kept - 1));
            *detail::at(a, --to) = std::move(larger ? *detail::at(a, --kept) : out[--left]);
        }
    } catch (...) {
        std::move(out.begin(), detail::at(out.begin(), left), detail::at(a, kept));
        throw;
    }
    return true;
}

// Sample sort: splitters out of a sample cut the values into parts; each element moves to its part
// elsewhere; the parts are sorted, and move back. Elements that equal a splitter are a part of their
// own, which is sorted. All of it runs in parallel, and keeps the order of equal elements.
template <class It, class Less> struct sample_sort {
    using T = typename std::iterator_traits<It>::value_type;
    using key = std::conditional_t<copies<T>, T, It>; // of a splitter
    using part_id = uint16_t;
    It first;
    size_t n, workers;
    Less &less;
    bool stable;
    unsigned levels = 0;              // of the tree
    size_t splits = 1, blocks = 0;    // splits: 2^levels, one more than splitters
    std::vector<key> line, tree;      // splitters, sorted, and as a tree: below i are 2i and 2i + 1
    std::unique_ptr<part_id[]> ids;   // of each element
    std::vector<size_t> counts, ends; // of each block and part, then where it writes next
    T *other = nullptr;

    sample_sort(It f, size_t size, size_t w, Less &l, bool s)
        : first(f), n(size), workers(w), less(l), stable(s) {}
    sample_sort(const sample_sort &) = delete;
    ~sample_sort() { std::allocator<T>().deallocate(other, other != nullptr ? n : 0); }

    static decltype(auto) value(const key &k) {
        if constexpr (std::is_same_v<key, T>) return static_cast<const T &>(k);
        else return *k;
    }
    size_t block(size_t b) const { return n / blocks * b + (std::min)(b, n % blocks); }

    void choose() {
        while (splits < 256 && splits * 4096 < n) splits *= 2, levels++;
        size_t over = 8, size = over * splits, stride = n / size;
        uint32_t random = 1;
        std::vector<It> sample;
        for (size_t i = 0; i < size; i++) {
            random = random * 1664525 + 1013904223;
            sample.push_back(detail::at(first, i * stride + (random >> 8) % stride));
        }
        std::sort(sample.begin(), sample.end(), [&](It a, It b) { return less(*a, *b); });
        auto take = [&](size_t j) {
            if constexpr (std::is_same_v<key, T>) return *sample[j * over];
            else return sample[j * over];
        };
        for (size_t j = 1; j < splits; j++) line.push_back(take(j));
        tree.push_back(take(0)); // not used
        for (size_t width = splits; width > 1; width /= 2)
            for (size_t j = width / 2; j < splits; j += width) tree.push_back(take(j));
    }
    part_id part_of(const T &x) const {
        size_t i = 1;
        for (unsigned l = 0; l < levels; l++) i = 2 * i + !less(x, value(tree[i]));
        i -= splits; // so many splitters are not above x
        return static_cast<part_id>(2 * i - (i > 0 && !less(value(line[i - 1]), x)));
    }
    void count(size_t b) {
        size_t *mine = &counts[b * 2 * splits];
        for (size_t i = block(b), end = block(b + 1); i < end; i++)
            mine[ids[i] = part_of(*detail::at(first, i))]++;
    }
    void place() {
        size_t sum = 0;
        for (size_t p = 0; p < 2 * splits; p++) {
            for (size_t b = 0; b < blocks; b++)
                sum += std::exchange(counts[b * 2 * splits + p], sum);
            ends.push_back(sum);
        }
    }
    void scatter(size_t b) {
        size_t *mine = &counts[b * 2 * splits];
        for (size_t i = block(b), end = block(b + 1); i < end; i++)
            ::new (static_cast<void *>(other + mine[ids[i]]++)) T(std::move(*detail::at(first, i)));
    }
    // Sorts the part, or pointers to its elements, which are moved then only once.
    template <class Item, class L> void sort_items(Item *items, size_t size, L less_than) {
        if (stable) std::stable_sort(items, items + size, less_than);
        else if (!detail::mend(items, size, less_than)) detail::quicksort(items, size, less_than);
    }
    void finish(size_t p, first_error &error) {
        size_t begin = p > 0 ? ends[p - 1] : 0, size = ends[p] - begin;
        T *a = other + begin;
        It to = detail::at(first, begin);
        std::vector<T *> order;
        bool ordered = false;
        error.guard([&] {
            if (p % 2 != 0 || size < 2) return;
            if constexpr (small<T>) return sort_items(a, size, std::ref(less));
            for (size_t i = 0; i < size; i++) order.push_back(a + i);
            sort_items(order.data(), size, [&](T *x, T *y) { return less(*x, *y); });
            ordered = true;
        });
        if (!ordered) std::move(a, a + size, to);
        else for (T *x : order) *to++ = std::move(*x);
        std::destroy_n(a, size);
    }
    template <class F> void each(wsq_ctx ctx, size_t many, F &&f) {
        pieces(ctx, many, 1, [&](wsq_ctx, size_t i, size_t end) {
            for (; i < end; i++) f(i);
        });
    }
    void run(wsq_ctx ctx) {
        first_error error; // whatever happens, all elements come back
        choose();
        blocks = 8 * workers;
        ids.reset(new part_id[n]);
        counts.resize(blocks * 2 * splits);
        each(ctx, blocks, [&](size_t b) { count(b); });
        place();
        other = std::allocator<T>().allocate(n);
        each(ctx, blocks, [&](size_t b) { scatter(b); });
        each(ctx, 2 * splits, [&](size_t p) { finish(p, error); });
        error.rethrow();
    }
};

// As std::is_sorted, but less need not be an order. It ends where the order does.
template <class It, class Less> bool is_sorted(wsq_ctx ctx, It first, size_t n, Less &&less) {
    std::atomic<bool> sorted{true};
    pieces(ctx, n - 1, 0, [&](wsq_ctx c, size_t i, size_t end) {
        auto falls = [&](auto &&x, auto &&next) { return less(next, x); };
        It last = detail::at(first, end + 1);
        if (std::adjacent_find(detail::at(first, i), last, falls) == last) return;
        sorted = false;
        wsq_loop_stop(c);
    });
    return sorted;
}

// Of a thousand neighbours, few are out of order.
template <class It, class Less> bool nearly(It first, size_t n, Less &less) {
    size_t falls = 0;
    for (size_t i = 0; i < 1000; i++) {
        It x = detail::at(first, n / 1000 * i);
        falls += less(*detail::at(x, 1), *x);
    }
    return falls < 50;
}

template <class It, class Less>
void sort(wsq_ctx ctx, It first, It last, Less &less, bool stable) {
    using T = typename std::iterator_traits<It>::value_type;
    constexpr bool safe = std::is_nothrow_move_constructible_v<T> &&
                          std::is_nothrow_move_assignable_v<T> &&
                          !std::is_same_v<T, bool>; // elements of a vector<bool> share bytes
    size_t n = detail::length(first, last), workers = wsq_pool_workers(wsq_pool_of(ctx));
    if (n < 2 || is_sorted(ctx, first, n, less)) return;
    if (is_sorted(ctx, first, n, [&](auto &&y, auto &&x) { return !less(y, x); })) { // descending
        pieces(ctx, n / 2, 0, [&](wsq_ctx, size_t i, size_t end) {
            for (; i < end; i++) std::iter_swap(detail::at(first, i), detail::at(first, n - 1 - i));
        });
        return;
    }
    if constexpr (safe)
        if (workers > 1 && n >= 16384) {
            if constexpr (small<T>)
                if (!stable && workers < 8 && detail::nearly(first, n, less) &&
                    detail::mend(first, n, less))
                    return;
            return sample_sort<It, Less>(first, n, workers, less, stable).run(ctx);
        }
    if (stable) std::stable_sort(first, last, std::ref(less));
    else std::sort(first, last, std::ref(less));
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
// This does what std::sort does; it needs room for a second copy. What is sorted already, or strictly
// descending, takes one pass. If a move of an element may throw, the elements are bools, or the pool has
// one worker, the caller sorts alone. If `less` throws, elements may be lost.
template <class Where, class It, class Less = std::less<>>
void sort(Where &&where, It first, It last, Less less = {}) {
    detail::in(where, [&](wsq_ctx ctx) { detail::sort(ctx, first, last, less, false); });
}
// This does what std::stable_sort does; else it is like sort.
template <class Where, class It, class Less = std::less<>>
void stable_sort(Where &&where, It first, It last, Less less = {}) {
    detail::in(where, [&](wsq_ctx ctx) { detail::sort(ctx, first, last, less, true); });
}

}} // namespace wsq
#endif // C++17
#endif
