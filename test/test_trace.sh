#!/bin/sh
# usage: test/test_trace.sh [build directory]
# What examples/trace and the demo write is JSON (python3), with lanes, tasks, steals and counters.
set -u
cd "$(dirname "$0")/.." || exit 1
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

is_json() { # file
    if ! command -v python3 >/dev/null; then
        echo 'skip  JSON parser: needs python3 (Debian: python3)'
    else
        python3 -m json.tool "$1" >/dev/null || fail "$1 is not JSON"
    fi
}

example() {
    "$build/examples/trace" -w 4 "$work/trace.json" || fail "trace: exit $?"
    is_json "$work/trace.json"
    at_least 2 lanes '"thread_name"' "$work/trace.json"
    at_least 60 'uneven tasks' '"name":"uneven","ph":"X"' "$work/trace.json"
    at_least 127 'tasks of the tree' '"name":"tree","ph":"X"' "$work/trace.json"
    at_least 1 sleeps '"name":"parked","ph":"X"' "$work/trace.json"
    at_least 1 steals '"ph":"f"' "$work/trace.json"
    at_least 2 counters '"ph":"C"' "$work/trace.json"
    [ "$(count '"ph":"s"' "$work/trace.json")" = "$(count '"ph":"f"' "$work/trace.json")" ] ||
        fail 'an arrow has one end'
    grep -q '"dropped":0' "$work/trace.json" || fail 'events were dropped'
}

demo() {
    WSQ_TRACE="$work/demo.json" "$build/examples/mandelbrot" -s 300x200 -w 2 -o "$work/picture" \
        >/dev/null || fail "mandelbrot: exit $?"
    is_json "$work/demo.json"
    at_least 200 rows '"name":"row","ph":"X"' "$work/demo.json"
}

"$build/examples/trace" "$work/none/trace.json" 2>/dev/null && fail 'a path that does not exist'
example
demo
exit $failed
