#!/bin/sh
# usage: test/examples/test_examples.sh [build directory]
# The numbered examples and the recipes check their own results. The others are run with arguments,
# right and wrong ones. And each source compiles by the line that stands at its top.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${1:-${B:-build}}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0

fail() { # text
    echo "FAIL  $*"
    [ ! -s "$work/out" ] || sed 's/^/      /' "$work/out"
    failed=1
}

run() { # expected exit code, program, arguments
    expected=$1 program=$build/$2
    shift 2
    timeout 120 "$program" "$@" >"$work/out" 2>&1
    code=$?
    [ $code -eq "$expected" ] || fail "$program $*: exit $code instead of $expected"
}

says() { # text that the last program shall have printed
    grep -qF -- "$1" "$work/out" || fail "$program does not say \"$1\""
}

run_if_built() { # a C++ program
    if [ -x "$build/$1" ]; then run 0 "$1"; else echo "skip  $1: no compiler for it"; fi
}

dag() {
    printf 'all: one two\n\techo all\none:\n\techo one\ntwo: one\n\techo two\n' >"$work/good"
    printf 'all: bad other\n\techo never\nbad:\n\tfalse\n\techo never\nother: bad\n\techo never\n' \
        >"$work/failure"
    printf 'all: one\none: two\ntwo: one\n' >"$work/cycle"
    printf 'all: nowhere\n' >"$work/missing"
    for jobs in 1 2 8; do
        run 0 examples/dag -j $jobs "$work/good"
        expected=$(printf 'one\ntwo\nall\n')
        [ "$(grep -x '[a-z]*' "$work/out")" = "$expected" ] || says 'one, two, all'
        run 1 examples/dag -j $jobs "$work/failure"
        says '1 made, 2 skipped'
        ! grep -q never "$work/out" || fail 'dag goes on'
    done
    run 2 examples/dag "$work/cycle"
    says 'a cycle: one is needed by two is needed by one'
    run 2 examples/dag "$work/missing"
    says 'nothing makes nowhere'
    run 2 examples/dag "$work/none"
    says "$work/none: cannot be read"
}

walk() {
    mkdir -p "$work/tree/a/b" "$work/tree/c"
    head -c 1000 /dev/zero >"$work/tree/a/large"
    head -c 10 /dev/zero >"$work/tree/a/b/small"
    ln -s .. "$work/tree/c/loop"
    run 0 examples/treewalk "$work/tree"
    says '1010 bytes in 3 files, 4 directories, 0 errors'
    says "1000  $work/tree/a/large"
    run 1 examples/treewalk "$work/tree" "$work/none"
    says "$work/none: No such file"
}

picture() {
    run 0 examples/mandelbrot -s 300x200 -i 100 -w 2 -o "$work/picture.png"
    says 'pictures identical'
    ls "$work" | grep -q 'picture.png.part' && fail 'mandelbrot leaves a part'
    [ "$(wc -c <"$work/picture.png")" -lt 100000 ] || fail 'the picture is not compressed'
    if command -v python3 >/dev/null; then
        python3 test/examples/check_png.py "$work/picture.png" 300 200 || fail 'the picture is no PNG'
    else
        echo 'skip  the picture: needs python3 (Debian: python3)'
    fi
    cp "$work/picture.png" "$work/before"
    run 2 examples/mandelbrot -s 300x200 -i 0 -o "$work/picture.png"
    cmp "$work/picture.png" "$work/before" || fail 'a failure touches the picture'
    run 1 examples/mandelbrot -s 30x20 -o "$work/none/picture.png"
    says "$work/none/picture.png: No such file"
}

appears() { # file
    for i in $(seq 100); do
        [ -s "$1" ] && return
        sleep 0.1
    done
    fail "$1 does not appear"
}

# One process shows itself, and another one it; which notices that the first one ends, or is killed.
watched() {
    "$build/examples/top" -n 20 -d 2 -w 2 -o "$work/top" >"$work/own" 2>&1 &
    shown=$!
    appears "$work/top"
    run 0 examples/top -n 5 -d 1 -p "$work/top"
    says "process $shown"
    says branch
    run 0 examples/top -n 600 -d 1 -p "$work/top"
    says "process $shown has no such pool any more"
    wait "$shown" || fail "top -o: exit $?"
    grep -q leaf "$work/own" || fail 'top -o shows nothing'
    grep -q 'queued .* by branch' "$work/own" || fail 'top does not say what queued a task'
    grep -q 'queued  < ' "$work/own" || fail 'top does not say how long tasks were queued'
    grep -qE '^  (balanced|idle|imbalance|all workers|one worker|stall)' "$work/own" || fail 'top says no verdict'
    [ ! -e "$work/top" ] || fail 'top leaves its file'
    "$build/examples/top" -n 600 -o "$work/top" >/dev/null 2>&1 &
    shown=$!
    appears "$work/top"
    (sleep 1 && kill -9 "$shown") &
    run 0 examples/top -n 600 -d 1 -p "$work/top"
    says "process $shown has no such pool any more"
    run 1 examples/top -p "$work/none"
    says "$work/none: No such file"
    echo nonsense >"$work/nonsense"
    run 1 examples/top -p "$work/nonsense"
    says 'not written by this top.h'
    run 1 examples/top -o "$work/none/top"
    says "$work/none/top: No such file"
}

# 50 clients of the echo server, 100 messages each; a client that is silent is sent away.
echoes() {
    if ! [ -x "$build/examples/echo" ] || ! command -v python3 >/dev/null; then
        echo 'skip  echo: needs python3 (Debian: python3)'
        return
    fi
    "$build/examples/echo" 0 1 >"$work/out" 2>&1 &
    server=$!
    appears "$work/out"
    timeout 60 python3 - "$(sed -n 's/echo: port //p' "$work/out")" <<'END' || fail 'echo: what was sent did not come back'
import socket, sys
clients = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for i in range(50)]
for i in range(100):
    for number, client in enumerate(clients):
        client.sendall(b"%d of %d" % (i, number))
    for number, client in enumerate(clients):
        expected = b"%d of %d" % (i, number)
        got = b""
        while len(got) < len(expected):
            got += client.recv(100) or sys.exit(1)
        if got != expected: sys.exit(1)
big = bytes(range(256)) * 20000
sender = clients.pop()
sender.setblocking(False)
sent, got = 0, b""
while len(got) < len(big):
    try: sent += sender.send(big[sent:])
    except BlockingIOError: pass
    try: got += sender.recv(1 << 20)
    except BlockingIOError: pass
if got != big: sys.exit(1)
for client in clients: # one second of silence
    if client.recv(1) != b"": sys.exit(1)
END
    kill $server
    wait $server 2>/dev/null
}

# A server that nobody talks to makes no system call at all.
silent() {
    if ! [ -x "$build/examples/echo" ] || ! command -v strace >/dev/null; then
        echo 'skip  a silent server: needs strace (Debian: strace)'
        return
    fi
    "$build/examples/echo" 0 >"$work/out" 2>&1 &
    server=$!
    appears "$work/out"
    for i in 1 2 3 4 5; do # a watcher may still look once or twice
        sleep 1
        timeout -s INT 2 strace -f -qq -p "$server" -o "$work/calls" 2>/dev/null
        # Each thread is in one call, from before strace came until it goes.
        awk 'n[$1]++' "$work/calls" >"$work/made"
        [ -s "$work/made" ] || break
    done
    kill $server
    wait $server 2>/dev/null
    [ -s "$work/calls" ] || { echo 'skip  a silent server: strace may not trace'; return; }
    [ ! -s "$work/made" ] || fail "a silent server makes system calls: $(head -n 3 "$work/made")"
}

refuses() { # program, text that is said, arguments
    name=$1 text=$2
    shift 2
    run 2 "examples/$name" "$@"
    says "$text"
}

arguments() {
    for name in dag httpd mandelbrot mergesort nqueens quicksort top trace treewalk; do
        run 0 "examples/$name" -h
        [ -s "$work/out" ] || fail "$name -h says nothing"
        "$build/examples/$name" -h 2>&1 >/dev/null | grep . && fail "$name -h writes to stderr"
        run 0 "examples/$name" --help
        refuses $name 'there is no option -q' -q
        refuses $name 'there is no option --quux' --quux
    done
    refuses dag '-j must be a whole number from 1 to 256, and not abc' -j abc
    refuses dag 'one argument too many: b' a b
    refuses httpd 'the port must be a whole number from 0 to 65535, and not abc' -p abc
    refuses httpd 'the port must be a whole number from 0 to 65535, and not 65536' -p 65536
    refuses httpd 'a value is missing behind -w' -w
    refuses mandelbrot 'and not 1920' -s 1920
    refuses mandelbrot 'workers must be a whole number from 1 to 1024, and not 0' -w0
    refuses mandelbrot 'one argument too many: file' file
    refuses mergesort 'count must be a whole number from 1 to 1000000000, and not 1e6' 1e6
    refuses nqueens 'n must be a whole number from 1 to 18, and not 19' 19
    refuses quicksort 'count must be a whole number from 1 to 1000000000, and not empty' ''
    refuses top 'and not x' -n x
    refuses top 'a value is missing behind -p' -p
    refuses trace 'and not -1' -w -1
}

# The line, as it stands there, but for where the program goes and how long the compiler takes.
compiles() { # source
    line=$(sed -n '2,4s/^[ /]*[*/]  *\(\(cc\|c++\) -.*\)/\1/p' "$1")
    case $line in *" && ./"*) ;; *) fail "$1: no line to compile it by" && return ;; esac
    case $line in c++*) [ -x "$build/${1%.cpp}" ] || return ;; esac # said above
    needs=$(echo "$line" | sed -n 's/.*--libs \([^)]*\)).*/\1/p')
    if [ -n "$needs" ] && ! pkg-config --exists "$needs" 2>/dev/null; then
        echo "skip  the line of $1: needs $needs"
        return
    fi
    (cd "$(dirname "$1")" && eval "${line%% && *} -O0 -o $work/program") >"$work/out" 2>&1 ||
        fail "$1: $line"
    [ ! -s "$work/out" ] || fail "$1: $line: warns"
}

for source in examples/[0-9]*.c examples/recipes/*.c; do
    run 0 "${source%.c}"
    grep '^skip' "$work/out"
done
for source in examples/*.cpp test/examples/*.cpp; do
    run_if_built "${source%.cpp}"
done
dag
walk
picture
run 0 examples/mergesort 100000
says sorted
run 0 examples/quicksort -w 4 300000
says sorted
run 0 examples/nqueens 8
says '8 queens: 92 solutions'
run 0 examples/top -n 5 -d 2 -w 3
says 'tasks/s'
watched
echoes
silent
arguments
if command -v cc >/dev/null; then
    for source in examples/*.c examples/*.cpp examples/recipes/*.c; do compiles "$source"; done
fi
exit $failed
