#!/bin/sh
# Everything that is installed, in one run: the peers take turns, case by case and round by round.
#
#   run.sh DIR         builds into DIR; leaves results.csv, table.txt and the plots (*.svg) there
#
# Environment: PEER_ROUNDS (3; a round is itself a median of 5), PEER_WORKERS ("1 all-cores"),
# PEER_ONLY (cases), PEER_SWEEPS=0 (no sweeps over grain and workers), PEER_PREFIX (a command that runs
# each program, say "taskset -c 0,1"), WOOL and LACE (their sources).
here=$(cd "$(dirname "$0")" && pwd)
dir=${1:?usage: run.sh DIR}
cores=$(getconf _NPROCESSORS_ONLN)
rounds=${PEER_ROUNDS:-3}
workers=${PEER_WORKERS:-$(if [ "$cores" -gt 1 ]; then echo "1 $cores"; else echo 1; fi)}
cases=${PEER_ONLY:-fib skynet queens loop spawn outside submit chain one_by_one yield ping_pong wake fifo lifo steal}

sh "$here/build.sh" "$dir"
csv=$dir/results.csv
echo "case,workers,arg,peer,round,value,unit" >"$csv"

# one CASE WORKERS ARG: every peer that has the case, once
one() {
    while IFS='|' read -r name command; do
        grep -qx "$1" "$dir/$name.cases" || continue
        # shellcheck disable=SC2086
        out=$(timeout 60 $PEER_PREFIX $command "$1" "$2" "$3" </dev/null 2>/dev/null) || continue
        echo "$1,$2,$3,$name,$round,$(echo "$out" | tail -n 1 | tr ' ' ',')" >>"$csv"
    done <"$dir/list"
}

while IFS='|' read -r name command; do
    # shellcheck disable=SC2086
    $command </dev/null >"$dir/$name.cases"
done <"$dir/list"

for round in $(seq "$rounds"); do
    echo "round $round of $rounds" >&2
    for case in $cases; do
        for w in $workers; do
            case $case in fifo | lifo | steal) [ "$w" = 1 ] || continue ;; esac
            one "$case" "$w" 0
        done
    done
    [ "$PEER_SWEEPS" = 0 ] && continue
    for grain in 100 300 1000 3000 10000 30000 100000 300000 1000000; do
        one grain_loop "$cores" "$grain"
        one grain_task "$cores" "$grain"
    done
    for w in 4 8 16 32 64; do
        for case in fib spawn submit; do one "$case" "$w" 0; done
    done
done

sh "$here/table.sh" "$csv" | tee "$dir/table.txt"
sh "$here/plots.sh" "$csv" "$dir"

if command -v hyperfine >/dev/null && [ -z "$PEER_ONLY" ]; then
    echo "# whole programs, fib by hyperfine: start and end of the pool included"
    set --
    for name in wsq wool lace rayon tbb; do
        command=$(sed -n "s/^$name|//p" "$dir/list")
        [ "$command" ] && set -- "$@" -n "$name" "$PEER_PREFIX $command fib $cores"
    done
    hyperfine -N -w 1 -r 5 --export-csv "$dir/hyperfine.csv" "$@" 2>/dev/null |
        sed -n 's/^ *//; /faster\|Time\|Benchmark\|times/p'
fi
