#!/bin/sh
# Everything that is installed, in one run: the peers take turns, case by case and round by round.
#
#   run.sh DIR         builds into DIR; leaves results.csv, table.txt and the plots (*.svg) there
#
# Environment: PEER_ROUNDS (3; a round is itself a median of 5; all of it takes about 5 minutes),
# PEER_APPEND=1 (adds its rounds to the results that are there: many short runs make a long one),
# PEER_WORKERS ("1 all-cores"), PEER_ONLY (cases; "" is none), PEER_SWEEPS ("grain workers", or one of
# them, or 0), PEER_PREFIX (a command that runs each program, say "taskset -c 0,1"), PEER_BUILT=1 (the
# programs that DIR has are not built again), PEER_NEAR (nanoseconds: a case with more than one worker waits,
# half a minute at most, until a cache line goes from one processor to the other in less), PEER_NOISE=1 (at the end noise.sh, some minutes more); and
# the sources that build.sh names.
here=$(cd "$(dirname "$0")" && pwd)
dir=${1:?usage: run.sh DIR}
cores=$(getconf _NPROCESSORS_ONLN)
rounds=${PEER_ROUNDS:-3}
workers=${PEER_WORKERS:-$(if [ "$cores" -gt 1 ]; then echo "1 $cores"; else echo 1; fi)}
cases=${PEER_ONLY-fib skynet queens uts sort matmul uneven loop spawn outside submit busy chain one_by_one ask burst burst_32 requests graph_100 graph_1000 pipeline_1 pipeline_10 short_loop empty_loop tail stencil yield ping_pong wake idle fifo lifo steal timer_set_1k timer_set_1m timer_cancel_1k timer_cancel_1m timer_again_1k timer_again_1m timer_fire_1k timer_fire_1m}
sweeps=${PEER_SWEEPS-grain workers}
patience=20 # a run that takes longer hangs, or as good as

# What each peer can do, in DIR/NAME.cases.
list_cases() {
    while IFS='|' read -r name command; do
        # shellcheck disable=SC2086
        $command </dev/null >"$dir/$name.cases"
    done <"$dir/list"
}

# A host moves its guest's processors nearer to each other and farther apart, for seconds.
near() {
    [ "$PEER_NEAR" ] || return 0
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        line=$("$dir/plain" line 1 0 </dev/null)
        [ "${line%%[. ]*}" -ge "$PEER_NEAR" ] || return 0
        sleep 3
    done
    echo "far: $line" >>"$dir/errors.log"
}

# Each round begins with another peer, so that what comes for some seconds does not hit the same ones.
begin_round() {
    count=$(wc -l <"$dir/list")
    from=$((7 * (round - 1) % count))
    { tail -n +$((from + 1)) "$dir/list" && head -n "$from" "$dir/list"; } >"$dir/turn"
}

# one CASE WORKERS ARG: every peer that has the case, once. A line of output is "value unit [row]".
one() {
    while IFS='|' read -r name command; do
        grep -qx "$1" "$dir/$name.cases" || continue
        [ "$name" != plain ] || [ "$2" = 1 ] || continue
        # shellcheck disable=SC2086
        timeout "$patience" $PEER_PREFIX $command "$1" "$2" "$3" </dev/null 2>>"$dir/errors.log" |
            while read -r value unit row; do
                echo "${row:-$1},$2,$3,$name,$round,$value,$unit" >>"$csv"
            done
    done <"$dir/turn"
}

run_cases() {
    for case in $cases; do
        for w in $workers; do
            case $case in fifo | lifo | steal) [ "$w" = 1 ] || continue ;; esac
            [ "$w" = 1 ] || near
            one "$case" "$w" 0
        done
    done
}

sweep_grain() {
    for grain in 100 300 1000 3000 10000 30000 100000 300000 1000000; do
        one grain_loop "$cores" "$grain"
        one grain_task "$cores" "$grain"
    done
}

# Some spin so long when there are more of them than cores that they are cut off.
sweep_workers() {
    patience=8
    for w in 4 8 16 32 64; do
        for case in fib spawn submit; do one "$case" "$w" 0; done
    done
    patience=20
}

[ "$PEER_BUILT" ] || sh "$here/build.sh" "$dir"
list_cases
csv=$dir/results.csv first=1
: >"$dir/errors.log"
if [ "$PEER_APPEND" ] && [ -f "$csv" ]; then
    first=$(awk -F, 'NR > 1 && $5 >= n { n = $5 + 1 } END { print n + 0 }' "$csv")
else
    echo "case,workers,arg,peer,round,value,unit" >"$csv"
fi
for round in $(seq "$first" $((first + rounds - 1))); do
    echo "round $round: $(date +%T)" >&2
    begin_round
    run_cases
    case $sweeps in *grain*) sweep_grain ;; esac
    case $sweeps in *workers*) sweep_workers ;; esac
done
[ -s "$dir/errors.log" ] && { echo "# errors:"; sort "$dir/errors.log" | uniq -c | head; }

sh "$here/table.sh" "$csv" | tee "$dir/table.txt"
sh "$here/plots.sh" "$csv" "$dir"
[ -z "$PEER_NOISE" ] || sh "$here/noise.sh" "$dir"
