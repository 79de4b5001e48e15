#!/bin/sh
# usage: test/tools/test_plots.sh
# What makes tables and pictures of measurements: with all cases, with a few (PEER_ONLY), with none. The
# numbers are invented.
set -u
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0

fail() {
    echo "FAIL  $*"
    failed=1
}

results() { # case ...: two rounds of three peers on two cores
    echo 'case,workers,arg,peer,round,value,unit'
    for case; do
        for round in 1 2; do
            for row in 'wsq 1 10' 'wsq 2 6' 'tbb 1 20' 'tbb 2 15' 'plain 1 9'; do
                set -- $row
                echo "$case,$2,0,$1,$round,$(($3 + round)),ms"
            done
        done
    done
}

sweeps() {
    for grain in 100 1000 10000; do echo "grain_loop,2,$grain,wsq,1,1.5,x"; done
    for n in 2 4 8 64; do echo "fib,$n,0,wsq,1,1.$n,ns"; done
}

plot() { # what it shall draw; results.csv on stdin
    rm -rf "$work/plots"
    mkdir "$work/plots"
    cat >"$work/results.csv"
    sh bench/peers/plots.sh "$work/results.csv" "$work/plots" >"$work/out" 2>&1
    if grep -q failed "$work/out"; then fail "$(cat "$work/out" "$work/plots/plots.log")"; fi
    drawn=$(cd "$work/plots" && ls | sed -n 's/\.svg$//p' | tr '\n' ' ')
    [ "$drawn" = "$1" ] || fail "drawn: $drawn, expected: $1"
    for picture in $drawn; do
        grep -q '</svg>' "$work/plots/$picture.svg" || fail "$picture.svg is cut off"
    done
}

results fib spawn >"$work/few"
sh bench/peers/table.sh "$work/few" >"$work/table"
grep -q '^# of 4 comparisons wsq is behind in 0' "$work/table" || fail "table.sh: $(cat "$work/table")"
grep -q '^fib 2 .*wsq 7 .*tbb 16 (2.29)' "$work/table" || fail "table.sh: $(cat "$work/table")"
[ "$(sh bench/peers/table.sh "$work/few" best | grep -c '^| [fs]')" -eq 4 ] || fail 'table.sh best'
results zzz idle wake fib >"$work/topics"
order=$(sh bench/peers/table.sh "$work/topics" best | sed -n 's/^| \([a-z*][a-z *]*\) |.*/\1/p' | uniq | tr '\n' ';')
[ "$order" = 'case;**fork and join**;fib;**sleep**;wake;idle;zzz;' ] || fail "the order of the table: $order"

if ! command -v gnuplot >/dev/null; then
    echo 'skip  plots: gnuplot is not installed (Debian: gnuplot-nox)'
    exit $failed
fi
plot 'forkjoin rows tasks ' <"$work/few"
{ results fib skynet uts queens sort matmul uneven loop spawn outside chain wake wake_p90; sweeps; } |
    plot 'forkjoin grain latency rows speedup tasks workers '
results queens | plot 'forkjoin rows speedup '
echo 'case,workers,arg,peer,round,value,unit' | plot ''
exit $failed
