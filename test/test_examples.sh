#!/bin/sh
# usage: test/test_examples.sh [build directory]
# The numbered examples check their own results; 08_dag and top are run with arguments, too.
set -u
cd "$(dirname "$0")/.." || exit 1
build=${1:-${B:-build}}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0

run() { # expected exit code, program, arguments
    expected=$1 program=$build/examples/$2
    shift 2
    timeout 60 "$program" "$@" >"$work/out" 2>&1
    code=$?
    [ $code -eq "$expected" ] && return
    echo "FAIL  $program $*: exit $code instead of $expected"
    sed 's/^/      /' "$work/out"
    failed=1
}

says() { # text that the last program shall have printed
    grep -qF -- "$1" "$work/out" && return
    echo "FAIL  $program does not say \"$1\""
    sed 's/^/      /' "$work/out"
    failed=1
}

dag() {
    printf 'all: one two\n\techo all\none:\n\techo one\ntwo: one\n\techo two\n' >"$work/good"
    printf 'all: bad other\n\techo never\nbad:\n\tfalse\n\techo never\nother: bad\n\techo never\n' \
        >"$work/failure"
    printf 'all: one\none: two\ntwo: one\n' >"$work/cycle"
    printf 'all: nowhere\n' >"$work/missing"
    for jobs in 1 2 8; do
        run 0 08_dag -j $jobs "$work/good"
        expected=$(printf 'one\ntwo\nall\n')
        [ "$(grep -x '[a-z]*' "$work/out")" = "$expected" ] || { says 'one, two, all'; }
        run 1 08_dag -j $jobs "$work/failure"
        says '1 made, 2 skipped'
        ! grep -q never "$work/out" || { echo 'FAIL  08_dag goes on'; failed=1; }
    done
    run 2 08_dag "$work/cycle"
    says 'a cycle: one is needed by two is needed by one'
    run 2 08_dag "$work/missing"
    says 'nothing makes nowhere'
}

for source in examples/[0-9]*.c; do
    run 0 "$(basename "$source" .c)"
done
[ ! -x "$build/examples/11_lambda" ] || run 0 11_lambda # C++
dag
run 0 top -n 0.5 -d 2 -w 3
says 'tasks/s'
exit $failed
