#!/bin/sh
# usage: test/run.sh [--compile] [program ...]
# Runs the compile matrix and the programs, one line each; the last line is "N passed, N failed".
passed=0 failed=0
mkdir -p build/log
log=build/log/matrix

check() { # name command...
    name=$1
    shift
    began=$(date +%s)
    if "$@" >"$log" 2>&1; then
        passed=$((passed + 1))
        echo "ok    $name ($(($(date +%s) - began)) s)"
    else
        echo "FAIL  $name (exit $?)"
        failed=$((failed + 1))
        tail -n 30 "$log" | sed 's/^/      /'
    fi
}

both='-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wcast-align -Werror -pthread'
strict="$both -Wstrict-prototypes"
dir=test/compile

matrix() { # C compiler, C++ compiler
    if ! command -v "$1" >/dev/null; then
        echo "skip  compile matrix of $1: not installed"
        return
    fi
    for std in c99 c11 c17; do
        check "$1 -std=$std" "$1" -std=$std $strict $dir/whole.c -o build/matrix
    done
    check "$1 WSQ_FORCE_STDATOMIC" \
        "$1" -std=c11 $strict -DWSQ_FORCE_STDATOMIC $dir/whole.c -o build/matrix
    check "$1 WSQ_FORCE_PTHREAD" \
        "$1" -std=c11 $strict -DWSQ_FORCE_PTHREAD $dir/whole.c -o build/matrix
    check "$1 WSQ_NO_STATS" "$1" -std=c11 $strict -DWSQ_NO_STATS $dir/whole.c -o build/matrix
    check "$1 NDEBUG" "$1" -std=c11 $strict -O2 -DNDEBUG $dir/whole.c -o build/matrix
    check "$1 two files" "$1" -std=c11 $strict $dir/user.c $dir/implementation.c -o build/matrix
    check "$1 WSQ_STATIC in two files" \
        "$1" -std=c11 $strict $dir/static_one.c $dir/static_two.c -o build/matrix
    for source in examples/*.c bench/*.c; do
        [ -f "$source" ] || continue
        check "$1 $source" "$1" -std=c11 $strict -D_GNU_SOURCE -fsyntax-only "$source"
    done
    if ! command -v "$2" >/dev/null; then
        echo "skip  compile matrix of $2: not installed"
        return
    fi
    for std in c++11 c++20; do
        check "$2 -std=$std" "$2" -std=$std $both $dir/whole.cpp -o build/matrix
    done
    check "$2 user of a C implementation" sh -c "'$1' -std=c11 $strict -c $dir/implementation.c \
        -o build/matrix.o && '$2' -std=c++11 $both $dir/user.cpp build/matrix.o -o build/matrix"
}

if [ "${1-}" = --compile ]; then
    shift
    matrix gcc g++
    matrix clang clang++
fi
for program in "$@"; do
    log=build/log/$(echo "$program" | tr / _)
    check "$program" "$program"
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
