// Rayon, Tokio and crossbeam-deque in the cases of the peers; the first argument says which. The
// kernels are those of work.c, which is linked in.
//
//   peers LIBRARY                    lists its cases
//   peers LIBRARY CASE WORKERS [ARG] prints "value unit": the median of some rounds

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

const ROUNDS: usize = 5;
const ENOUGH: f64 = 2e7;
const PATIENCE: Duration = Duration::from_millis(800);
const QUEENS: usize = 12;
const QUEENS_FOUND: u64 = 14200;
const LEAVES: u64 = 1_000_000;
const LOOP: usize = 4_000_000;
const UNEVEN: usize = 8000;
const SORT: usize = 500_000;
const SORT_CUTOFF: usize = 2048;
const MATRIX: usize = 512;
const MATRIX_LEAF: usize = 64;
const TREE_ROOT: u64 = 2000;
const TREE_ARITY: u64 = 8;
const TREE_NODES: u64 = 858497;
const SAMPLES: usize = 200;

// Nanoseconds, and the operations done in them.
type Outcome = (f64, f64);
type Case<L> = (&'static str, &'static str, fn(&L, u64) -> Outcome, u64, u64);

struct Rayon(rayon::ThreadPool, u64);
struct Tokio(tokio::runtime::Runtime, u64, usize);
struct Crossbeam;

extern "C" {
    fn peer_burn(steps: u64) -> u64;
    fn peer_loop(numbers: *mut f32, begin: i64, end: i64);
    fn peer_uneven(begin: i64, end: i64);
    fn peer_partition(a: *mut i32, n: i64) -> i64;
    fn peer_sort_plain(a: *mut i32, n: i64);
    fn peer_queen_holds(board: *const i8, rows: i32) -> bool;
    fn peer_matrix_leaf(c: *mut f32, a: *const f32, b: *const f32);
}

static STEPS: AtomicU64 = AtomicU64::new(0);
static GRAINS_NS: AtomicU64 = AtomicU64::new(u64::MAX);

fn grain() {
    unsafe { peer_burn(STEPS.load(Ordering::Relaxed)) };
}

// Before there are threads.
fn calibrate(ns: u64) {
    let best = (0..50)
        .map(|_| {
            let begin = Instant::now();
            unsafe { peer_burn(20_000) };
            20_000.0 / begin.elapsed().as_nanos() as f64
        })
        .fold(0.0, f64::max);
    STEPS.store((ns as f64 * best) as u64, Ordering::Relaxed);
    for _ in 0..3 {
        let begin = Instant::now();
        (0..grains(ns)).for_each(|_| grain());
        GRAINS_NS.fetch_min(begin.elapsed().as_nanos() as u64, Ordering::Relaxed);
    }
}

fn fib_plain(n: u64) -> u64 {
    if n < 2 { n } else { fib_plain(n - 1) + fib_plain(n - 2) }
}

fn grains(ns: u64) -> u64 {
    (20_000_000 / ns).min(200_000)
}

fn since(begin: Instant, operations: u64) -> Outcome {
    (begin.elapsed().as_nanos() as f64, operations as f64)
}

// So many times as fast as one thread without a scheduler.
fn speedup(parallel: Duration) -> Outcome {
    (GRAINS_NS.load(Ordering::Relaxed) as f64, parallel.as_nanos() as f64)
}

fn sorted(mut samples: Vec<f64>) -> Vec<f64> {
    samples.sort_by(|a, b| a.partial_cmp(b).unwrap());
    samples
}

fn tree_child(parent: u64, index: u64) -> u64 {
    let mut x = parent.wrapping_add(index);
    for _ in 0..10 {
        x = x.wrapping_add(0x9e3779b97f4a7c15);
        x = (x ^ x >> 30).wrapping_mul(0xbf58476d1ce4e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d049bb133111eb);
        x ^= x >> 31;
    }
    x
}

fn tree_children(node: u64) -> u64 {
    if node >> 32 < 536012000 { TREE_ARITY } else { 0 }
}

// ---- Rayon ----

fn rayon_fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = rayon::join(|| rayon_fib(n - 1), || rayon_fib(n - 2));
    a + b
}

fn run_rayon_fib(pool: &Rayon, n: u64) -> Outcome {
    let begin = Instant::now();
    let value = pool.0.install(|| rayon_fib(n));
    let ns = since(begin, 1).0;
    assert_eq!(value, fib_plain(n));
    (ns, fib_plain(n + 1) as f64 - 1.0)
}

fn rayon_sky(first: u64, size: u64) -> u64 {
    fn range(first: u64, part: u64, from: u64, to: u64) -> u64 {
        if to - from == 1 {
            return rayon_sky(first + from * part, part);
        }
        let middle = (from + to) / 2;
        let (a, b) = rayon::join(
            || range(first, part, from, middle),
            || range(first, part, middle, to),
        );
        a + b
    }
    if size == 1 { first } else { range(first, size / 10, 0, 10) }
}

fn run_rayon_skynet(pool: &Rayon, _: u64) -> Outcome {
    let begin = Instant::now();
    let value = pool.0.install(|| rayon_sky(0, LEAVES));
    let outcome = since(begin, 1_000_000);
    assert_eq!(value, LEAVES * (LEAVES - 1) / 2);
    outcome
}

type Board = [i8; QUEENS];

fn holds(board: &Board, rows: usize) -> bool {
    unsafe { peer_queen_holds(board.as_ptr(), rows as i32) }
}

fn rayon_queens(rows: usize, board: &Board) -> u64 {
    use rayon::prelude::*;
    if rows == QUEENS {
        return 1;
    }
    (0..QUEENS as i8)
        .into_par_iter()
        .map(|column| {
            let mut next = *board;
            next[rows] = column;
            if holds(&next, rows + 1) { rayon_queens(rows + 1, &next) } else { 0 }
        })
        .sum()
}

fn run_rayon_queens(pool: &Rayon, _: u64) -> Outcome {
    let begin = Instant::now();
    let value = pool.0.install(|| rayon_queens(0, &[0; QUEENS]));
    let outcome = since(begin, 1_000_000);
    assert_eq!(value, QUEENS_FOUND);
    outcome
}

fn rayon_tree(node: u64, children: u64) -> u64 {
    use rayon::prelude::*;
    let sum: u64 = (0..children)
        .into_par_iter()
        .map(|i| {
            let child = tree_child(node, i);
            rayon_tree(child, tree_children(child))
        })
        .sum();
    1 + sum
}

fn run_rayon_uts(pool: &Rayon, _: u64) -> Outcome {
    let begin = Instant::now();
    let value = pool.0.install(|| rayon_tree(1, TREE_ROOT));
    let outcome = since(begin, 1_000_000);
    assert_eq!(value, TREE_NODES);
    outcome
}

fn rayon_sort(a: &mut [i32]) {
    if a.len() < SORT_CUTOFF {
        unsafe { peer_sort_plain(a.as_mut_ptr(), a.len() as i64) };
        return;
    }
    let cut = unsafe { peer_partition(a.as_mut_ptr(), a.len() as i64) } as usize;
    let (left, right) = a.split_at_mut(cut);
    rayon::join(|| rayon_sort(left), || rayon_sort(right));
}

fn run_rayon_sort(pool: &Rayon, _: u64) -> Outcome {
    let mut x = 1;
    let mut data: Vec<i32> = Vec::with_capacity(SORT);
    for _ in 0..SORT {
        x = tree_child(x, 1);
        data.push(x as i32);
    }
    let begin = Instant::now();
    pool.0.install(|| rayon_sort(&mut data));
    let outcome = since(begin, 1_000_000);
    assert!(data.windows(2).all(|pair| pair[0] <= pair[1]));
    outcome
}

#[derive(Clone, Copy)]
struct Matrices(*mut f32, *const f32, *const f32);
unsafe impl Send for Matrices {}
unsafe impl Sync for Matrices {}

impl Matrices {
    fn quarter(self, step: usize, n: usize) -> Matrices {
        let (row, column, inner) = (step >> 1 & 1, step & 1, step >> 2);
        unsafe {
            Matrices(
                self.0.add((row * MATRIX + column) * n),
                self.1.add((row * MATRIX + inner) * n),
                self.2.add((inner * MATRIX + column) * n),
            )
        }
    }
}

fn rayon_matrix(at: Matrices, n: usize) {
    if n == MATRIX_LEAF {
        return unsafe { peer_matrix_leaf(at.0, at.1, at.2) };
    }
    let one = |step| move || rayon_matrix(at.quarter(step, n / 2), n / 2);
    for half in [0, 4] {
        rayon::join(
            || rayon::join(one(half), one(half + 1)),
            || rayon::join(one(half + 2), one(half + 3)),
        );
    }
}

fn run_rayon_matmul(pool: &Rayon, _: u64) -> Outcome {
    let a: Vec<f32> = (0..MATRIX * MATRIX).map(|i| (i % 3) as f32).collect();
    let b: Vec<f32> = (0..MATRIX * MATRIX).map(|i| (i % 5) as f32).collect();
    let mut c = vec![1f32; MATRIX * MATRIX]; // its pages are there
    c.fill(0.0);
    let at = Matrices(c.as_mut_ptr(), a.as_ptr(), b.as_ptr());
    let begin = Instant::now();
    pool.0.install(|| rayon_matrix(at, MATRIX));
    let outcome = since(begin, 1_000_000);
    let sum: f32 = (0..MATRIX).map(|k| a[k] * b[k * MATRIX + MATRIX - 1]).sum();
    assert_eq!(c[MATRIX - 1], sum);
    outcome
}

fn run_rayon_uneven(pool: &Rayon, _: u64) -> Outcome {
    use rayon::prelude::*;
    let begin = Instant::now();
    pool.0.install(|| {
        (0..UNEVEN as i64).into_par_iter().for_each(|i| unsafe { peer_uneven(i, i + 1) })
    });
    since(begin, 1_000_000)
}

fn run_rayon_loop(pool: &Rayon, _: u64) -> Outcome {
    use rayon::prelude::*;
    let mut numbers = vec![1f32; LOOP];
    numbers.fill(0.0);
    let begin = Instant::now();
    pool.0.install(|| {
        numbers
            .par_chunks_mut(16384)
            .for_each(|part| unsafe { peer_loop(part.as_mut_ptr(), 0, part.len() as i64) })
    });
    since(begin, 1_000_000)
}

fn run_rayon_grain_loop(pool: &Rayon, _: u64) -> Outcome {
    use rayon::prelude::*;
    let ns = pool.1;
    let begin = Instant::now();
    pool.0.install(|| {
        (0..grains(ns) as usize).into_par_iter().with_max_len(1).for_each(|_| grain())
    });
    speedup(begin.elapsed())
}

fn rayon_wait(left: &AtomicUsize) {
    while left.load(Ordering::Acquire) != 0 {
        std::thread::yield_now();
    }
}

fn rayon_outside(pool: &Rayon, count: u64, ns: u64) {
    let left = Arc::new(AtomicUsize::new(count as usize));
    for _ in 0..count {
        let left = left.clone();
        pool.0.spawn_fifo(move || {
            if ns != 0 {
                grain();
            }
            left.fetch_sub(1, Ordering::AcqRel);
        });
    }
    rayon_wait(&left);
}

fn run_rayon_outside(pool: &Rayon, size: u64) -> Outcome {
    let begin = Instant::now();
    rayon_outside(pool, size, 0);
    since(begin, size)
}

fn run_rayon_grain_task(pool: &Rayon, _: u64) -> Outcome {
    let begin = Instant::now();
    rayon_outside(pool, grains(pool.1), pool.1);
    speedup(begin.elapsed())
}

fn run_rayon_submit(pool: &Rayon, size: u64) -> Outcome {
    let begin = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| rayon_outside(pool, size / 4, 0));
        }
    });
    since(begin, size)
}

fn run_rayon_one_by_one(pool: &Rayon, size: u64) -> Outcome {
    let begin = Instant::now();
    for _ in 0..size {
        rayon_outside(pool, 1, 0);
    }
    since(begin, size)
}

fn run_rayon_spawn(pool: &Rayon, size: u64) -> Outcome {
    let begin = Instant::now();
    pool.0.scope(|scope| {
        for _ in 0..size {
            scope.spawn(|_| {});
        }
    });
    since(begin, size)
}

fn rayon_chain<'a>(scope: &rayon::Scope<'a>, left: u64) {
    if left > 0 {
        scope.spawn(move |scope| rayon_chain(scope, left - 1));
    }
}

fn run_rayon_chain(pool: &Rayon, size: u64) -> Outcome {
    let begin = Instant::now();
    pool.0.scope(|scope| rayon_chain(scope, size));
    since(begin, size)
}

// A pool that had nothing to do for a while is given a task; `give` hands it to the pool.
fn wake(give: impl Fn(Box<dyn FnOnce() + Send>)) -> Outcome {
    let origin = Instant::now();
    let at = Arc::new(AtomicU64::new(0));
    for _ in 0..SAMPLES {
        std::thread::sleep(Duration::from_micros(1000));
        at.store(0, Ordering::Release);
        let begun = at.clone();
        let begin = origin.elapsed().as_nanos() as u64;
        give(Box::new(move || {
            begun.store(origin.elapsed().as_nanos() as u64, Ordering::Release)
        }));
        while at.load(Ordering::Acquire) == 0 {
            std::thread::yield_now();
        }
        WOKEN.lock().unwrap().push((at.load(Ordering::Acquire) - begin) as f64 / 1e3);
    }
    (0.0, 1.0)
}

// A thread outside asks for one small thing and waits for it, again and again. Of ten one is a sample.
fn ask(one: impl Fn()) -> Outcome {
    for i in 0..10 * SAMPLES {
        let begin = Instant::now();
        one();
        if i % 10 == 9 {
            WOKEN.lock().unwrap().push(begin.elapsed().as_nanos() as f64 / 1e3);
        }
    }
    (0.0, 1.0)
}

#[repr(C)]
struct Timespec(i64, i64);
extern "C" {
    fn clock_gettime(clock: i32, out: *mut Timespec) -> i32;
}

fn processor_ns() -> f64 {
    let mut now = Timespec(0, 0);
    unsafe { clock_gettime(2, &mut now) }; // CLOCK_PROCESS_CPUTIME_ID
    now.0 as f64 * 1e9 + now.1 as f64
}

// Processor time that a pool takes while it has nothing to do, in percent of a core.
fn idle() -> Outcome {
    std::thread::sleep(Duration::from_millis(10));
    let (begin, cpu) = (Instant::now(), processor_ns());
    std::thread::sleep(Duration::from_millis(250));
    (100.0 * (processor_ns() - cpu), begin.elapsed().as_nanos() as f64)
}

fn run_rayon_idle(pool: &Rayon, size: u64) -> Outcome {
    run_rayon_one_by_one(pool, size);
    idle()
}

fn run_tokio_idle(pool: &Tokio, size: u64) -> Outcome {
    run_tokio_one_by_one(pool, size);
    idle()
}

static WOKEN: std::sync::Mutex<Vec<f64>> = std::sync::Mutex::new(Vec::new());

fn run_rayon_wake(pool: &Rayon, _: u64) -> Outcome {
    wake(|task| pool.0.spawn(task))
}

fn run_rayon_ask(pool: &Rayon, _: u64) -> Outcome {
    ask(|| pool.0.install(|| {}))
}

const RAYON: &[Case<Rayon>] = &[
    ("fib", "ns/fork", run_rayon_fib, 16, 2),
    ("skynet", "ms", run_rayon_skynet, 1, 0),
    ("queens", "ms", run_rayon_queens, 1, 0),
    ("uts", "ms", run_rayon_uts, 1, 0),
    ("sort", "ms", run_rayon_sort, 1, 0),
    ("matmul", "ms", run_rayon_matmul, 1, 0),
    ("uneven", "ms", run_rayon_uneven, 1, 0),
    ("loop", "ms", run_rayon_loop, 1, 0),
    ("grain_loop", "x", run_rayon_grain_loop, 1, 0),
    ("grain_task", "x", run_rayon_grain_task, 1, 0),
    ("spawn", "ns/task", run_rayon_spawn, 100_000, 0),
    ("outside", "ns/task", run_rayon_outside, 100_000, 0),
    ("chain", "ns/task", run_rayon_chain, 100_000, 0),
    ("submit", "ns/task", run_rayon_submit, 200_000, 0),
    ("one_by_one", "ns/task", run_rayon_one_by_one, 2_000, 0),
    ("ask", "us", run_rayon_ask, 1, 0),
    ("wake", "us", run_rayon_wake, 1, 0),
    ("idle", "%", run_rayon_idle, 100, 0),
];

// ---- Tokio ----

fn tokio_sky(first: u64, size: u64) -> std::pin::Pin<Box<dyn std::future::Future<Output = u64> + Send>> {
    Box::pin(async move {
        if size == 1 {
            return first;
        }
        let part = size / 10;
        let children: Vec<_> =
            (0..10).map(|i| tokio::spawn(tokio_sky(first + i * part, part))).collect();
        let mut sum = 0;
        for child in children {
            sum += child.await.unwrap();
        }
        sum
    })
}

fn run_tokio_skynet(pool: &Tokio, _: u64) -> Outcome {
    let begin = Instant::now();
    let value = pool.0.block_on(async { tokio::spawn(tokio_sky(0, LEAVES)).await.unwrap() });
    let outcome = since(begin, 1_000_000);
    assert_eq!(value, LEAVES * (LEAVES - 1) / 2);
    outcome
}

fn tokio_outside(pool: &Tokio, count: u64, ns: u64) {
    let left = Arc::new(AtomicUsize::new(count as usize));
    for _ in 0..count {
        let left = left.clone();
        pool.0.spawn(async move {
            if ns != 0 {
                grain();
            }
            left.fetch_sub(1, Ordering::AcqRel);
        });
    }
    rayon_wait(&left);
}

fn run_tokio_outside(pool: &Tokio, size: u64) -> Outcome {
    let begin = Instant::now();
    tokio_outside(pool, size, 0);
    since(begin, size)
}

fn run_tokio_grain_task(pool: &Tokio, _: u64) -> Outcome {
    let begin = Instant::now();
    tokio_outside(pool, grains(pool.1), pool.1);
    speedup(begin.elapsed())
}

fn run_tokio_submit(pool: &Tokio, size: u64) -> Outcome {
    let begin = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| tokio_outside(pool, size / 4, 0));
        }
    });
    since(begin, size)
}

fn run_tokio_one_by_one(pool: &Tokio, size: u64) -> Outcome {
    let begin = Instant::now();
    for _ in 0..size {
        tokio_outside(pool, 1, 0);
    }
    since(begin, size)
}

fn run_tokio_spawn(pool: &Tokio, size: u64) -> Outcome {
    let left = Arc::new(AtomicUsize::new(size as usize));
    let all = left.clone();
    let begin = Instant::now();
    pool.0.spawn(async move {
        for _ in 0..size {
            let left = all.clone();
            tokio::spawn(async move {
                left.fetch_sub(1, Ordering::AcqRel);
            });
        }
    });
    rayon_wait(&left);
    since(begin, size)
}

fn tokio_chain(left: u64, done: Arc<AtomicUsize>) {
    tokio::spawn(async move {
        if left == 0 {
            done.store(0, Ordering::Release);
        } else {
            tokio_chain(left - 1, done);
        }
    });
}

fn run_tokio_chain(pool: &Tokio, size: u64) -> Outcome {
    let left = Arc::new(AtomicUsize::new(1));
    let done = left.clone();
    let begin = Instant::now();
    pool.0.spawn(async move { tokio_chain(size, done) });
    rayon_wait(&left);
    since(begin, size)
}

// Gives way once; wakes itself, as tokio::task::yield_now did when it had no queue of its own.
struct Yield(bool);

impl std::future::Future for Yield {
    type Output = ();
    fn poll(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<()> {
        if self.0 {
            return std::task::Poll::Ready(());
        }
        self.0 = true;
        context.waker().wake_by_ref();
        std::task::Poll::Pending
    }
}

fn run_tokio_yield(pool: &Tokio, size: u64) -> Outcome {
    let left = Arc::new(AtomicUsize::new(200));
    let begin = Instant::now();
    for _ in 0..200 {
        let left = left.clone();
        pool.0.spawn(async move {
            for _ in 0..size / 200 {
                Yield(false).await;
            }
            left.fetch_sub(1, Ordering::AcqRel);
        });
    }
    rayon_wait(&left);
    since(begin, size)
}

struct Game {
    ball: AtomicU64,
    wakers: [std::sync::Mutex<Option<std::task::Waker>>; 2],
}

// Waits for its turn, hits, wakes the other.
struct Turn(Arc<Game>, usize);

impl std::future::Future for Turn {
    type Output = ();
    fn poll(
        self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<()> {
        let game = &self.0;
        *game.wakers[self.1].lock().unwrap() = Some(context.waker().clone());
        let hits = game.ball.load(Ordering::Acquire);
        if hits % 2 != self.1 as u64 {
            return std::task::Poll::Pending;
        }
        game.ball.store(hits + 1, Ordering::Release);
        if let Some(waker) = game.wakers[1 - self.1].lock().unwrap().take() {
            waker.wake();
        }
        std::task::Poll::Ready(())
    }
}

fn run_tokio_ping_pong(pool: &Tokio, size: u64) -> Outcome {
    let game = Arc::new(Game { ball: AtomicU64::new(0), wakers: Default::default() });
    let begin = Instant::now();
    let players: Vec<_> = (0..2)
        .map(|player| {
            let game = game.clone();
            pool.0.spawn(async move {
                for _ in 0..size {
                    Turn(game.clone(), player).await;
                }
            })
        })
        .collect();
    pool.0.block_on(async {
        for player in players {
            player.await.unwrap();
        }
    });
    since(begin, size)
}

fn run_tokio_wake(pool: &Tokio, _: u64) -> Outcome {
    wake(|task| {
        pool.0.spawn(async move { task() });
    })
}

fn run_tokio_ask(pool: &Tokio, _: u64) -> Outcome {
    ask(|| pool.0.block_on(pool.0.spawn(async {})).unwrap())
}

// From outside while every worker has something to do: two tasks each that always yield.
fn run_tokio_busy(pool: &Tokio, size: u64) -> Outcome {
    let busy = Arc::new(AtomicUsize::new(1));
    let keepers: Vec<_> = (0..2 * pool.2)
        .map(|_| {
            let busy = busy.clone();
            pool.0.spawn(async move {
                while busy.load(Ordering::Acquire) != 0 {
                    Yield(false).await;
                }
            })
        })
        .collect();
    std::thread::sleep(Duration::from_millis(1));
    let left = Arc::new(AtomicUsize::new(size as usize));
    let ended = Arc::new(AtomicU64::new(0)); // the last task takes the time
    let begin = Instant::now();
    for _ in 0..size {
        let (left, ended) = (left.clone(), ended.clone());
        pool.0.spawn(async move {
            if left.fetch_sub(1, Ordering::AcqRel) == 1 {
                ended.store(begin.elapsed().as_nanos() as u64, Ordering::Release);
            }
        });
    }
    while ended.load(Ordering::Acquire) == 0 {
        std::thread::yield_now();
    }
    let outcome = (ended.load(Ordering::Acquire) as f64, size as f64);
    busy.store(0, Ordering::Release);
    pool.0.block_on(async {
        for keeper in keepers {
            keeper.await.unwrap();
        }
    });
    outcome
}

// ---- timers, by one task, beside `others`, which stay set from one round to the next ----

const TIMER_STEPS: usize = 20_000;
const HOUR: Duration = Duration::from_secs(3600);

type Sleep = std::pin::Pin<Box<tokio::time::Sleep>>;

static OTHERS: std::sync::Mutex<Vec<Sleep>> = std::sync::Mutex::new(Vec::new());
static RANDOM: AtomicU64 = AtomicU64::new(88172645463325252);

fn timer_random() -> u64 {
    let mut x = RANDOM.load(Ordering::Relaxed);
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    RANDOM.store(x, Ordering::Relaxed);
    x
}

fn timer_far() -> tokio::time::Instant {
    tokio::time::Instant::now() + HOUR + Duration::from_nanos(timer_random() % 3_600_000_000_000)
}

// A poll is what sets it.
fn timer_poll(one: &mut Sleep, context: &mut std::task::Context<'_>) {
    assert!(std::future::Future::poll(one.as_mut(), context).is_pending());
}

// Runs steps in a task, with the others and as many more that are not set.
fn timer_steps(
    pool: &Tokio,
    others: u64,
    steps: fn(&mut Vec<Sleep>, &mut Vec<Sleep>, &mut std::task::Context<'_>) -> f64,
) -> Outcome {
    let task = pool.0.spawn(async move {
        std::future::poll_fn(move |context| {
            let mut all = OTHERS.lock().unwrap();
            while (all.len() as u64) < others {
                let mut one = Box::pin(tokio::time::sleep_until(timer_far()));
                timer_poll(&mut one, context);
                all.push(one);
            }
            let mut mine: Vec<Sleep> =
                (0..TIMER_STEPS).map(|_| Box::pin(tokio::time::sleep_until(timer_far()))).collect();
            std::task::Poll::Ready(steps(&mut all, &mut mine, context))
        })
        .await
    });
    (pool.0.block_on(task).unwrap(), TIMER_STEPS as f64)
}

fn run_tokio_timer_set(pool: &Tokio, others: u64) -> Outcome {
    timer_steps(pool, others, |_, mine, context| {
        let begin = Instant::now();
        for one in mine.iter_mut() {
            one.as_mut().reset(timer_far());
            timer_poll(one, context);
        }
        begin.elapsed().as_nanos() as f64
    })
}

// It is cancelled when it goes.
fn run_tokio_timer_cancel(pool: &Tokio, others: u64) -> Outcome {
    timer_steps(pool, others, |_, mine, context| {
        for one in mine.iter_mut() {
            timer_poll(one, context);
        }
        let mut order: Vec<Option<Sleep>> = mine.drain(..).map(Some).collect();
        let begin = Instant::now();
        for i in 0..TIMER_STEPS {
            order[i * 7919 % TIMER_STEPS] = None;
        }
        begin.elapsed().as_nanos() as f64
    })
}

fn run_tokio_timer_again(pool: &Tokio, others: u64) -> Outcome {
    timer_steps(pool, others, |all, _, context| {
        let begin = Instant::now();
        for _ in 0..TIMER_STEPS {
            let one = &mut all[(timer_random() % 1000) as usize];
            one.as_mut().reset(timer_far());
            timer_poll(one, context);
        }
        begin.elapsed().as_nanos() as f64
    })
}

fn run_tokio_timer_fire(pool: &Tokio, count: u64) -> Outcome {
    let left = Arc::new(AtomicUsize::new(count as usize));
    let first = tokio::time::Instant::now() + Duration::from_nanos(count * 2000 + 5_000_000);
    for _ in 0..count {
        let left = left.clone();
        let at = first + Duration::from_nanos(timer_random() % count * 1000);
        pool.0.spawn(async move {
            tokio::time::sleep_until(at).await;
            left.fetch_sub(1, Ordering::AcqRel);
        });
    }
    let now = tokio::time::Instant::now();
    if now + Duration::from_millis(2) < first {
        std::thread::sleep(first - now - Duration::from_millis(2));
    }
    let begin = processor_ns();
    while left.load(Ordering::Acquire) != 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    (processor_ns() - begin, count as f64)
}

const TOKIO: &[Case<Tokio>] = &[
    ("skynet", "ms", run_tokio_skynet, 1, 0),
    ("grain_task", "x", run_tokio_grain_task, 1, 0),
    ("spawn", "ns/task", run_tokio_spawn, 100_000, 0),
    ("outside", "ns/task", run_tokio_outside, 100_000, 0),
    ("busy", "ns/task", run_tokio_busy, 10_000, 0),
    ("chain", "ns/task", run_tokio_chain, 100_000, 0),
    ("submit", "ns/task", run_tokio_submit, 200_000, 0),
    ("one_by_one", "ns/task", run_tokio_one_by_one, 2_000, 0),
    ("yield", "ns", run_tokio_yield, 200_000, 0),
    ("ping_pong", "ns/trip", run_tokio_ping_pong, 50_000, 0),
    ("ask", "us", run_tokio_ask, 1, 0),
    ("wake", "us", run_tokio_wake, 1, 0),
    ("idle", "%", run_tokio_idle, 100, 0),
    ("timer_set_1k", "ns", run_tokio_timer_set, 1000, 0),
    ("timer_set_1m", "ns", run_tokio_timer_set, 1_000_000, 0),
    ("timer_cancel_1k", "ns", run_tokio_timer_cancel, 1000, 0),
    ("timer_cancel_1m", "ns", run_tokio_timer_cancel, 1_000_000, 0),
    ("timer_again_1k", "ns", run_tokio_timer_again, 1000, 0),
    ("timer_again_1m", "ns", run_tokio_timer_again, 1_000_000, 0),
    ("timer_fire_1k", "ns", run_tokio_timer_fire, 1000, 0),
    ("timer_fire_1m", "ns", run_tokio_timer_fire, 1_000_000, 0),
];

// ---- crossbeam-deque ----

fn push_pop(queue: crossbeam_deque::Worker<u64>, size: u64) -> Outcome {
    let begin = Instant::now();
    for i in 0..size {
        queue.push(i);
        assert!(queue.pop().is_some());
    }
    since(begin, size)
}

fn run_crossbeam_fifo(_: &Crossbeam, size: u64) -> Outcome {
    push_pop(crossbeam_deque::Worker::new_fifo(), size)
}

fn run_crossbeam_lifo(_: &Crossbeam, size: u64) -> Outcome {
    push_pop(crossbeam_deque::Worker::new_lifo(), size)
}

fn run_crossbeam_steal(_: &Crossbeam, size: u64) -> Outcome {
    let queue = crossbeam_deque::Worker::new_lifo();
    let stealer = queue.stealer();
    let mut ns = 0.0;
    for _ in 0..size / 1000 {
        (0..1000u64).for_each(|i| queue.push(i));
        let begin = Instant::now();
        for _ in 0..1000 {
            assert!(stealer.steal().is_success());
        }
        ns += begin.elapsed().as_nanos() as f64;
    }
    (ns, size as f64)
}

const CROSSBEAM: &[Case<Crossbeam>] = &[
    ("fifo", "ns", run_crossbeam_fifo, 1_000_000, 0),
    ("lifo", "ns", run_crossbeam_lifo, 1_000_000, 0),
    ("steal", "ns", run_crossbeam_steal, 1_000_000, 0),
];

// ---- measure ----

fn measure<L>(cases: &[Case<L>], name: Option<&String>, make: impl Fn() -> L) {
    let name = match name {
        None => return cases.iter().for_each(|case| println!("{}", case.0)),
        Some(name) => name,
    };
    let (_, unit, run, mut size, step) = *cases
        .iter()
        .find(|case| case.0 == name)
        .unwrap_or_else(|| std::process::exit(1));
    let library = make();
    let once = std::env::var_os("PEER_ONCE").is_some();
    let begin = Instant::now();
    let mut warm = if once { (0.0, 1.0) } else { run(&library, size) };
    while !once && step != 0 && warm.0 < ENOUGH {
        size += step;
        warm = run(&library, size);
    }
    if begin.elapsed() < PATIENCE {
        WOKEN.lock().unwrap().clear();
    }
    let mut rounds = Vec::new();
    if !once && begin.elapsed() > PATIENCE {
        rounds.push(warm.0 / warm.1);
    }
    while rounds.is_empty()
        || !once && rounds.len() < ROUNDS && begin.elapsed() < PATIENCE
    {
        let (ns, operations) = run(&library, size);
        rounds.push(ns / operations);
    }
    let woken = sorted(WOKEN.lock().unwrap().clone());
    if woken.is_empty() {
        println!("{:.6} {}", sorted(rounds.clone())[rounds.len() / 2], unit);
    } else {
        println!("{:.6} {} {}_p90", woken[woken.len() * 9 / 10], unit, name);
        println!("{:.6} {} {}_p99", woken[woken.len() * 99 / 100], unit, name);
        println!("{:.6} {} {}", woken[woken.len() / 2], unit, name);
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, other| arguments.get(i).map_or(other, |text| text.parse().unwrap());
    let (workers, ns) = (number(2, 1) as usize, number(3, 0));
    if ns > 0 {
        calibrate(ns);
    }
    match arguments.first().map(String::as_str) {
        Some("rayon") => measure(RAYON, arguments.get(1), || {
            let builder = rayon::ThreadPoolBuilder::new().num_threads(workers);
            Rayon(builder.build().unwrap(), ns)
        }),
        Some("tokio") => measure(TOKIO, arguments.get(1), || {
            let mut builder = tokio::runtime::Builder::new_multi_thread();
            Tokio(builder.worker_threads(workers).enable_time().build().unwrap(), ns, workers)
        }),
        Some("crossbeam") => measure(CROSSBEAM, arguments.get(1), || Crossbeam),
        _ => std::process::exit(1),
    }
}
