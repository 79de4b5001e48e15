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

build() { # a compile command without its output: the program must run, too
    "$@" -o build/matrix && build/matrix
}

user_of_c() { # C compiler, C++ compiler
    "$1" -std=c11 $strict -c $dir/implementation.c -o build/matrix.o &&
        build "$2" -std=c++11 $both $dir/user.cpp build/matrix.o
}

no_warnings() { # a compile command
    for source in examples/*.c bench/*.c test/*.c test/model/*.c; do
        "$@" -D_GNU_SOURCE -fsyntax-only "$source" || return 1
    done
}

matrix() { # C compiler, C++ compiler
    if ! command -v "$1" >/dev/null; then
        echo "skip  compile matrix of $1: not installed"
        return
    fi
    c11="$1 -std=c11 $strict"
    for std in c99 c11 c17; do
        check "$1 -std=$std" build "$1" -std=$std $strict $dir/whole.c
    done
    for macro in WSQ_FORCE_STDATOMIC WSQ_FORCE_PTHREAD WSQ_NO_STATS NDEBUG; do
        check "$1 -D$macro" build $c11 -O2 -D$macro $dir/whole.c
    done
    check "$1 two files" build $c11 $dir/user.c $dir/implementation.c
    check "$1 WSQ_STATIC in two files" build $c11 $dir/static_one.c $dir/static_two.c
    check "$1 no warnings in examples, bench, test" no_warnings $c11
    if ! command -v "$2" >/dev/null; then
        echo "skip  compile matrix of $2: not installed"
        return
    fi
    for std in c++11 c++20; do
        check "$2 -std=$std" build "$2" -std=$std $both $dir/whole.cpp
    done
    check "$2 user of a C implementation" user_of_c "$1" "$2"
}

if [ "${1-}" = --compile ]; then
    shift
    check "the header's own rules" sh test/lint.sh
    matrix gcc g++
    matrix clang clang++
fi
for program in "$@"; do
    log=build/log/$(echo "$program" | tr / _)
    check "$program" "$program"
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
