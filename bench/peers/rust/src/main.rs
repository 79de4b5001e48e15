// Rayon, Tokio and crossbeam-deque in the cases of the peers; the first argument says which.
//
//   peers LIBRARY                    lists its cases
//   peers LIBRARY CASE WORKERS [ARG] prints "value unit": the median of some rounds

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

const ROUNDS: usize = 5;
const ENOUGH: f64 = 2e7;
const QUEENS: usize = 12;
const QUEENS_FOUND: u64 = 14200;
const LEAVES: u64 = 1_000_000;
const LOOP: usize = 4_000_000;
const SAMPLES: usize = 300;

// Nanoseconds, and the operations done in them.
type Outcome = (f64, f64);
type Case<L> = (&'static str, &'static str, fn(&L, u64) -> Outcome, u64, u64);

struct Rayon(rayon::ThreadPool, u64);
struct Tokio(tokio::runtime::Runtime, u64);
struct Crossbeam;

fn burn(loops: u64) -> u64 {
    let mut x = std::hint::black_box(loops);
    for _ in 0..loops {
        x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    }
    std::hint::black_box(x)
}

fn fib_plain(n: u64) -> u64 {
    if n < 2 { n } else { fib_plain(n - 1) + fib_plain(n - 2) }
}

fn body(mut x: f32) -> f32 {
    for _ in 0..16 {
        x = x * x * 0.5 + 0.25;
    }
    x
}

// A plain function for both: the loop cases differ in who calls it, not in how it was compiled.
#[inline(never)]
fn plain_loop(numbers: &mut [f32]) {
    numbers.iter_mut().for_each(|x| *x = body(*x));
}

fn grains(ns: u64) -> u64 {
    (20_000_000 / ns).min(200_000)
}

fn since(begin: Instant, operations: u64) -> Outcome {
    (begin.elapsed().as_nanos() as f64, operations as f64)
}

// The result is the speed-up against a plain loop.
fn speedup(parallel: Duration, ns: u64) -> Outcome {
    let begin = Instant::now();
    for _ in 0..grains(ns) {
        burn(ns);
    }
    (begin.elapsed().as_nanos() as f64, parallel.as_nanos() as f64)
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(|a, b| a.partial_cmp(b).unwrap());
    samples[samples.len() / 2]
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
    let last = rows - 1;
    (0..last).all(|row| {
        let distance = (board[last] - board[row]) as i32;
        let rows = (last - row) as i32;
        distance != 0 && distance != rows && distance != -rows
    })
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

fn run_rayon_loop(pool: &Rayon, _: u64) -> Outcome {
    use rayon::prelude::*;
    let mut numbers = vec![0f32; LOOP];
    let begin = Instant::now();
    pool.0.install(|| numbers.par_chunks_mut(16384).for_each(plain_loop));
    let parallel = begin.elapsed();
    let begin = Instant::now();
    plain_loop(&mut numbers);
    std::hint::black_box(&numbers);
    (begin.elapsed().as_nanos() as f64, parallel.as_nanos() as f64)
}

fn run_rayon_grain_loop(pool: &Rayon, _: u64) -> Outcome {
    use rayon::prelude::*;
    let ns = pool.1;
    let begin = Instant::now();
    pool.0.install(|| {
        (0..grains(ns) as usize).into_par_iter().with_max_len(1).for_each(|_| {
            burn(ns);
        })
    });
    speedup(begin.elapsed(), ns)
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
                burn(ns);
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
    speedup(begin.elapsed(), pool.1)
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

fn run_rayon_wake(pool: &Rayon, _: u64) -> Outcome {
    let origin = Instant::now();
    let at = Arc::new(AtomicU64::new(0));
    let samples = (0..SAMPLES)
        .map(|_| {
            std::thread::sleep(Duration::from_micros(300));
            at.store(0, Ordering::Release);
            let begun = at.clone();
            let begin = origin.elapsed().as_nanos() as u64;
            pool.0.spawn(move || {
                begun.store(origin.elapsed().as_nanos() as u64, Ordering::Release)
            });
            while at.load(Ordering::Acquire) == 0 {
                std::thread::yield_now();
            }
            (at.load(Ordering::Acquire) - begin) as f64
        })
        .collect();
    (median(samples), 1e3)
}

const RAYON: &[Case<Rayon>] = &[
    ("fib", "ns/fork", run_rayon_fib, 16, 2),
    ("skynet", "ms", run_rayon_skynet, 1, 0),
    ("queens", "ms", run_rayon_queens, 1, 0),
    ("loop", "x", run_rayon_loop, 1, 0),
    ("grain_loop", "x", run_rayon_grain_loop, 1, 0),
    ("grain_task", "x", run_rayon_grain_task, 1, 0),
    ("spawn", "ns/task", run_rayon_spawn, 100_000, 0),
    ("outside", "ns/task", run_rayon_outside, 100_000, 0),
    ("chain", "ns/task", run_rayon_chain, 100_000, 0),
    ("submit", "ns/task", run_rayon_submit, 200_000, 0),
    ("one_by_one", "ns/task", run_rayon_one_by_one, 2_000, 0),
    ("wake", "us", run_rayon_wake, 1, 0),
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
                burn(ns);
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
    speedup(begin.elapsed(), pool.1)
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
    let origin = Instant::now();
    let at = Arc::new(AtomicU64::new(0));
    let samples = (0..SAMPLES)
        .map(|_| {
            std::thread::sleep(Duration::from_micros(300));
            at.store(0, Ordering::Release);
            let begun = at.clone();
            let begin = origin.elapsed().as_nanos() as u64;
            pool.0.spawn(async move {
                begun.store(origin.elapsed().as_nanos() as u64, Ordering::Release)
            });
            while at.load(Ordering::Acquire) == 0 {
                std::thread::yield_now();
            }
            (at.load(Ordering::Acquire) - begin) as f64
        })
        .collect();
    (median(samples), 1e3)
}

const TOKIO: &[Case<Tokio>] = &[
    ("skynet", "ms", run_tokio_skynet, 1, 0),
    ("grain_task", "x", run_tokio_grain_task, 1, 0),
    ("spawn", "ns/task", run_tokio_spawn, 100_000, 0),
    ("outside", "ns/task", run_tokio_outside, 100_000, 0),
    ("chain", "ns/task", run_tokio_chain, 100_000, 0),
    ("submit", "ns/task", run_tokio_submit, 200_000, 0),
    ("one_by_one", "ns/task", run_tokio_one_by_one, 2_000, 0),
    ("yield", "ns", run_tokio_yield, 200_000, 0),
    ("ping_pong", "ns/trip", run_tokio_ping_pong, 50_000, 0),
    ("wake", "us", run_tokio_wake, 1, 0),
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
    let mut warm = run(&library, size);
    while step != 0 && warm.0 < ENOUGH {
        size += step;
        warm = run(&library, size);
    }
    let rounds = (0..ROUNDS)
        .map(|_| {
            let (ns, operations) = run(&library, size);
            ns / operations
        })
        .collect();
    println!("{:.6} {}", median(rounds), unit);
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, other| arguments.get(i).map_or(other, |text| text.parse().unwrap());
    let (workers, ns) = (number(2, 1) as usize, number(3, 1000));
    match arguments.first().map(String::as_str) {
        Some("rayon") => measure(RAYON, arguments.get(1), || {
            let builder = rayon::ThreadPoolBuilder::new().num_threads(workers);
            Rayon(builder.build().unwrap(), ns)
        }),
        Some("tokio") => measure(TOKIO, arguments.get(1), || {
            let mut builder = tokio::runtime::Builder::new_multi_thread();
            Tokio(builder.worker_threads(workers).build().unwrap(), ns)
        }),
        Some("crossbeam") => measure(CROSSBEAM, arguments.get(1), || Crossbeam),
        _ => std::process::exit(1),
    }
}
