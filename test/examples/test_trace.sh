#!/bin/sh
# usage: test/examples/test_trace.sh [build directory]
# What examples/trace and the demo write is a trace (check_trace.py), with lanes, tasks, steals and
# counters; with few places for events it has the first ones, or the latest.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${1:-${B:-build}}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0

fail() { # text
    echo "FAIL  $*"
    failed=1
}

count() { # extended regular expression, file
    grep -cE "$1" "$2"
}

at_least() { # number, what, expression, file
    found=$(count "$3" "$4")
    [ "$found" -ge "$1" ] || fail "$2: $found instead of $1 or more"
}

is_trace() { # file
    if ! command -v python3 >/dev/null; then
        echo 'skip  the format: needs python3 (Debian: python3)'
    else
        python3 test/examples/check_trace.py "$1" || fail "$1 is not a trace"
    fi
    [ ! -e "$1.part" ] || fail "$1.part is left"
}

example() {
    "$build/examples/trace" -w 4 "$work/trace.json" || fail "trace: exit $?"
    is_trace "$work/trace.json"
    at_least 2 lanes '"thread_name"' "$work/trace.json"
    at_least 60 'uneven tasks' '"name":"uneven","ph":"X"' "$work/trace.json"
    at_least 127 'tasks of the tree' '"name":"tree","ph":"X"' "$work/trace.json"
    at_least 1 sleeps '"name":"parked","ph":"X"' "$work/trace.json"
    at_least 1 steals '"name":"steal","ph":"f"' "$work/trace.json"
    at_least 60 'queued from outside' '"name":"uneven".*"queued_us":[0-9.]*,"by":"spawn, outside"' \
        "$work/trace.json"
    at_least 200 'woken tasks' '"name":"pass on".*"by":"wake.*, worker' "$work/trace.json"
    at_least 1 'blocked task' '"name":"blocked","ph":"X"' "$work/trace.json"
    at_least 2 counters '"ph":"C"' "$work/trace.json"
    [ "$(count '"ph":"s"' "$work/trace.json")" = "$(count '"ph":"f"' "$work/trace.json")" ] ||
        fail 'an arrow has one end'
    grep -q '"dropped":0' "$work/trace.json" || fail 'events were dropped'
}

demo() {
    WSQ_TRACE="$work/demo.json" "$build/examples/mandelbrot" -s 300x200 -w 2 -o "$work/picture" \
        >/dev/null || fail "mandelbrot: exit $?"
    is_trace "$work/demo.json"
    grep -q '"name":"mandelbrot"' "$work/demo.json" || fail 'the process has no name'
    at_least 200 rows '"name":"row","ph":"X"' "$work/demo.json"
}

# 100 events are enough for no scene, and for the last one's end.
few() {
    if ! command -v cc >/dev/null; then
        echo 'skip  few events: needs cc'
        return
    fi
    cc -O1 -pthread -DTRACE_EVENTS=100 examples/trace.c -o "$work/few" || fail 'does not compile'
    for option in '' -l; do
        "$work/few" -w 2 $option "$work/few.json" 2>"$work/log" || fail "few $option: exit $?"
        is_trace "$work/few.json"
        ! grep -q '"dropped":0' "$work/few.json" || fail 'nothing was dropped'
    done
    grep -q 'dropped, the first ones' "$work/log" || fail 'it does not say what was dropped'
    at_least 1 'latest tasks' '"name":"pass on","ph":"X"' "$work/few.json"
}

"$build/examples/trace" "$work/none/trace.json" 2>/dev/null && fail 'a path that does not exist'
example
demo
few
exit $failed
