// Go's scheduler in the cases of the peers.
//
//	peer                    lists its cases
//	peer CASE WORKERS [ARG] prints "value unit": the median of some rounds
package main

import (
	"fmt"
	"os"
	"runtime"
	"sort"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	rounds      = 5
	enough      = 2e7
	queensCount = 12
	queensFound = 14200
	leaves      = 1000000
	treeRoot    = 2000
	treeArity   = 8
	treeNodes   = 858497
	patience    = 800 * time.Millisecond
)

var argument int64
var steps, sink uint64
var grainsNs float64

type outcome struct{ ns, operations float64 }

type peerCase struct {
	name, unit string
	run        func(size int64) outcome
	size, step int64
}

func burn(loops uint64) {
	x := loops
	for i := loops; i > 0; i-- {
		x = x*6364136223846793005 + 1442695040888963407
	}
	if x == 1 {
		sink = x
	}
}

// Before there are other threads.
func calibrate() {
	best := 0.0
	for i := 0; i < 50; i++ {
		begin := time.Now()
		burn(20000)
		if now := 20000 / float64(time.Since(begin).Nanoseconds()); now > best {
			best = now
		}
	}
	steps = uint64(float64(argument) * best)
	for i := 0; i < 3; i++ {
		begin := time.Now()
		for left := grains(); left > 0; left-- {
			burn(steps)
		}
		if now := float64(time.Since(begin).Nanoseconds()); i == 0 || now < grainsNs {
			grainsNs = now
		}
	}
}

func grains() int64 {
	count := 20000000 / argument
	if count > 200000 {
		count = 200000
	}
	return count
}

func since(begin time.Time, operations float64) outcome {
	return outcome{float64(time.Since(begin).Nanoseconds()), operations}
}

// So many times as fast as one thread without a scheduler.
func speedup(parallel time.Duration) outcome {
	return outcome{grainsNs, float64(parallel.Nanoseconds())}
}

func check(condition bool, what string) {
	if !condition {
		fmt.Fprintln(os.Stderr, "FAILED:", what)
		os.Exit(1)
	}
}

func fibPlain(n int64) int64 {
	if n < 2 {
		return n
	}
	return fibPlain(n-1) + fibPlain(n-2)
}

func fib(n int64) int64 {
	if n < 2 {
		return n
	}
	left := make(chan int64, 1)
	go func() { left <- fib(n - 1) }()
	right := fib(n - 2)
	return <-left + right
}

func runFib(n int64) outcome {
	begin := time.Now()
	value := fib(n)
	result := since(begin, 1)
	result.operations = float64(fibPlain(n+1) - 1)
	check(value == fibPlain(n), "fib")
	return result
}

func sky(out chan int64, first, size int64) {
	if size == 1 {
		out <- first
		return
	}
	part, sum := size/10, int64(0)
	in := make(chan int64, 10)
	for i := int64(0); i < 10; i++ {
		go sky(in, first+i*part, part)
	}
	for i := 0; i < 10; i++ {
		sum += <-in
	}
	out <- sum
}

func runSkynet(int64) outcome {
	out := make(chan int64, 1)
	begin := time.Now()
	go sky(out, 0, leaves)
	value := <-out
	result := since(begin, 1e6)
	check(value == leaves*(leaves-1)/2, "skynet")
	return result
}

type board [queensCount]int8

func holds(at *board, rows int) bool {
	last := rows - 1
	for row := 0; row < last; row++ {
		distance := int(at[last] - at[row])
		if distance == 0 || distance == last-row || distance == row-last {
			return false
		}
	}
	return true
}

func queens(rows int, from board) int64 {
	if rows == queensCount {
		return 1
	}
	out := make(chan int64, queensCount)
	count, sum := 0, int64(0)
	for column := 0; column < queensCount; column++ {
		next := from
		next[rows] = int8(column)
		if holds(&next, rows+1) {
			count++
			go func() { out <- queens(rows+1, next) }()
		}
	}
	for ; count > 0; count-- {
		sum += <-out
	}
	return sum
}

func runQueens(int64) outcome {
	begin := time.Now()
	value := queens(0, board{})
	result := since(begin, 1e6)
	check(value == queensFound, "queens")
	return result
}

func treeChild(parent, index uint64) uint64 {
	x := parent + index
	for i := 0; i < 10; i++ {
		x += 0x9e3779b97f4a7c15
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		x ^= x >> 31
	}
	return x
}

func tree(node, children uint64, out chan int64) {
	sum := int64(1)
	in := make(chan int64, treeArity)
	for first := uint64(0); first < children; first += treeArity {
		for i := first; i < first+treeArity; i++ {
			child := treeChild(node, i)
			if child>>32 < 536012000 {
				go tree(child, treeArity, in)
			} else {
				go tree(child, 0, in)
			}
		}
		for i := 0; i < treeArity; i++ {
			sum += <-in
		}
	}
	out <- sum
}

func runUts(int64) outcome {
	out := make(chan int64, 1)
	begin := time.Now()
	go tree(1, treeRoot, out)
	value := <-out
	result := since(begin, 1e6)
	check(value == treeNodes, "uts")
	return result
}

func goAll(count int64, body func()) {
	var group sync.WaitGroup
	group.Add(int(count))
	for i := int64(0); i < count; i++ {
		go func() { body(); group.Done() }()
	}
	group.Wait()
}

func runSpawn(size int64) outcome {
	begin := time.Now()
	goAll(size, func() {})
	return since(begin, float64(size))
}

func runGrainTask(int64) outcome {
	begin := time.Now()
	goAll(grains(), func() { burn(steps) })
	return speedup(time.Since(begin))
}

func chain(left int64, done chan bool) {
	if left == 0 {
		done <- true
		return
	}
	go chain(left-1, done)
}

func runChain(size int64) outcome {
	done := make(chan bool)
	begin := time.Now()
	go chain(size, done)
	<-done
	return since(begin, float64(size))
}

func runSubmit(size int64) outcome {
	var group sync.WaitGroup
	group.Add(4)
	begin := time.Now()
	for i := 0; i < 4; i++ {
		go func() { goAll(size/4, func() {}); group.Done() }()
	}
	group.Wait()
	return since(begin, float64(size))
}

// While every processor has something to do: two goroutines each that always yield.
func runBusy(size int64) outcome {
	var busy sync.WaitGroup
	stop := make(chan bool)
	keepers := 2 * runtime.GOMAXPROCS(0)
	busy.Add(keepers)
	for i := 0; i < keepers; i++ {
		go func() {
			defer busy.Done()
			for {
				select {
				case <-stop:
					return
				default:
					runtime.Gosched()
				}
			}
		}()
	}
	time.Sleep(time.Millisecond)
	begin := time.Now()
	goAll(size, func() {})
	result := since(begin, float64(size))
	close(stop)
	busy.Wait()
	return result
}

func runYield(size int64) outcome {
	begin := time.Now()
	goAll(200, func() {
		for i := int64(0); i < size/200; i++ {
			runtime.Gosched()
		}
	})
	return since(begin, float64(size))
}

// The main goroutine asks for one small thing and waits for it, again and again. (A mean, no median.)
func runAsk(size int64) outcome {
	done := make(chan bool, 1)
	begin := time.Now()
	for i := int64(0); i < size; i++ {
		go func() { done <- true }()
		<-done
	}
	return since(begin, float64(size)*1e3)
}

func runPingPong(size int64) outcome {
	ping, pong := make(chan int), make(chan int)
	begin := time.Now()
	go func() {
		for i := int64(0); i < size; i++ {
			<-ping
			pong <- 1
		}
	}()
	for i := int64(0); i < size; i++ {
		ping <- 1
		<-pong
	}
	return since(begin, float64(size))
}

// Processor time that the runtime takes while it has nothing to do, in percent of a core.
func runIdle(size int64) outcome {
	var before, after syscall.Rusage
	runSpawn(size)
	time.Sleep(10 * time.Millisecond)
	begin := time.Now()
	syscall.Getrusage(syscall.RUSAGE_SELF, &before)
	time.Sleep(250 * time.Millisecond)
	syscall.Getrusage(syscall.RUSAGE_SELF, &after)
	used := after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()
	return outcome{100 * float64(used), float64(time.Since(begin).Nanoseconds())}
}

// ---- timers, beside `others`, which stay set from one round to the next ----

const timerSteps = 20000

var timers []*time.Timer
var fired int64
var randomState uint64 = 88172645463325252

func timerRandom() uint64 {
	randomState ^= randomState << 13
	randomState ^= randomState >> 7
	randomState ^= randomState << 17
	return randomState
}

func timerFar() time.Duration {
	return time.Hour + time.Duration(timerRandom()%uint64(time.Hour))
}

func onTimer() { atomic.AddInt64(&fired, 1) }

// So many are set; those after them, timerSteps, are not.
func timerOthers(others int64) []*time.Timer {
	for int64(len(timers)) < others {
		timers = append(timers, time.AfterFunc(timerFar(), onTimer))
	}
	mine := make([]*time.Timer, timerSteps)
	for i := range mine {
		mine[i] = time.AfterFunc(timerFar(), onTimer)
		mine[i].Stop()
	}
	return mine
}

func runTimerSet(others int64) outcome {
	mine := timerOthers(others)
	begin := time.Now()
	for _, one := range mine {
		one.Reset(timerFar())
	}
	result := since(begin, timerSteps)
	for _, one := range mine {
		one.Stop()
	}
	return result
}

func runTimerCancel(others int64) outcome {
	mine := timerOthers(others)
	for _, one := range mine {
		one.Reset(timerFar())
	}
	begin := time.Now()
	for i := range mine {
		mine[i*7919%timerSteps].Stop()
	}
	return since(begin, timerSteps)
}

func runTimerAgain(others int64) outcome {
	timerOthers(others)
	begin := time.Now()
	for i := 0; i < timerSteps; i++ {
		one := timers[timerRandom()%1000]
		one.Stop()
		one.Reset(timerFar())
	}
	return since(begin, timerSteps)
}

func processorNs() float64 {
	var used syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return float64(used.Utime.Nano() + used.Stime.Nano())
}

func runTimerFire(count int64) outcome {
	for int64(len(timers)) < count {
		one := time.AfterFunc(time.Hour, onTimer)
		one.Stop()
		timers = append(timers, one)
	}
	fired = 0
	first := time.Now().Add(time.Duration(count)*1000 + 5*time.Millisecond)
	for i := int64(0); i < count; i++ {
		late := time.Duration(timerRandom() % uint64(count) * 1000)
		timers[i].Reset(time.Until(first) + late)
	}
	begin := processorNs()
	for atomic.LoadInt64(&fired) < count {
		time.Sleep(time.Millisecond)
	}
	return outcome{processorNs() - begin, float64(count)}
}

func main() {
	cases := []peerCase{
		{"timer_set_1k", "ns", runTimerSet, 1000, 0},
		{"timer_set_1m", "ns", runTimerSet, 1000000, 0},
		{"timer_cancel_1k", "ns", runTimerCancel, 1000, 0},
		{"timer_cancel_1m", "ns", runTimerCancel, 1000000, 0},
		{"timer_again_1k", "ns", runTimerAgain, 1000, 0},
		{"timer_again_1m", "ns", runTimerAgain, 1000000, 0},
		{"timer_fire_1k", "ns", runTimerFire, 1000, 0},
		{"timer_fire_1m", "ns", runTimerFire, 1000000, 0},
		{"fib", "ns/fork", runFib, 12, 2},
		{"skynet", "ms", runSkynet, 1, 0},
		{"queens", "ms", runQueens, 1, 0},
		{"uts", "ms", runUts, 1, 0},
		{"grain_task", "x", runGrainTask, 1, 0},
		{"spawn", "ns/task", runSpawn, 100000, 0},
		{"busy", "ns/task", runBusy, 10000, 0},
		{"chain", "ns/task", runChain, 100000, 0},
		{"submit", "ns/task", runSubmit, 200000, 0},
		{"ask", "us", runAsk, 10000, 0},
		{"yield", "ns", runYield, 200000, 0},
		{"idle", "%", runIdle, 100, 0},
		{"ping_pong", "ns/trip", runPingPong, 50000, 0},
	}
	if len(os.Args) < 3 {
		for _, one := range cases {
			fmt.Println(one.name)
		}
		return
	}
	workers, _ := strconv.Atoi(os.Args[2])
	runtime.GOMAXPROCS(workers)
	if len(os.Args) > 3 {
		argument, _ = strconv.ParseInt(os.Args[3], 10, 64)
	}
	if argument > 0 {
		calibrate()
	}
	for _, one := range cases {
		if one.name != os.Args[1] {
			continue
		}
		measure(one)
		return
	}
	os.Exit(1)
}

func measure(one peerCase) {
	once := os.Getenv("PEER_ONCE") != ""
	begin := time.Now()
	var all []float64
	if !once {
		warm := one.run(one.size)
		for one.step != 0 && warm.ns < enough {
			one.size += one.step
			warm = one.run(one.size)
		}
		if time.Since(begin) > patience {
			all = append(all, warm.ns/warm.operations)
		}
	}
	for len(all) == 0 || !once && len(all) < rounds && time.Since(begin) < patience {
		result := one.run(one.size)
		all = append(all, result.ns/result.operations)
	}
	sort.Float64s(all)
	fmt.Printf("%.6g %s\n", all[len(all)/2], one.unit)
}
