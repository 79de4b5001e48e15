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
	"time"
)

const (
	rounds      = 5
	enough      = 2e7
	queensCount = 12
	queensFound = 14200
	leaves      = 1000000
	loopCount   = 4000000
)

var argument int64 = 1000
var sink uint64

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

// The result is the speed-up against a plain loop.
func speedup(parallel time.Duration) outcome {
	begin := time.Now()
	for i := grains(); i > 0; i-- {
		burn(uint64(argument))
	}
	return since(begin, float64(parallel.Nanoseconds()))
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
	goAll(grains(), func() { burn(uint64(argument)) })
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

func runYield(size int64) outcome {
	begin := time.Now()
	goAll(200, func() {
		for i := int64(0); i < size/200; i++ {
			runtime.Gosched()
		}
	})
	return since(begin, float64(size))
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

func main() {
	cases := []peerCase{
		{"fib", "ns/fork", runFib, 12, 2},
		{"skynet", "ms", runSkynet, 1, 0},
		{"queens", "ms", runQueens, 1, 0},
		{"grain_task", "x", runGrainTask, 1, 0},
		{"spawn", "ns/task", runSpawn, 100000, 0},
		{"chain", "ns/task", runChain, 100000, 0},
		{"submit", "ns/task", runSubmit, 200000, 0},
		{"yield", "ns", runYield, 200000, 0},
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
	for _, one := range cases {
		if one.name != os.Args[1] {
			continue
		}
		warm := one.run(one.size)
		for one.step != 0 && warm.ns < enough {
			one.size += one.step
			warm = one.run(one.size)
		}
		var all []float64
		for i := 0; i < rounds; i++ {
			result := one.run(one.size)
			all = append(all, result.ns/result.operations)
		}
		sort.Float64s(all)
		fmt.Printf("%.6g %s\n", all[rounds/2], one.unit)
		return
	}
	os.Exit(1)
}
