#!/bin/sh
# What a noisy machine does to each peer: the same cases on a quiet machine, beside one busy process on
# each core, on one core only, and beside a process that is stopped and goes on every few ms.
#
#   noise.sh DIR       after build.sh DIR; leaves noise.csv and noise.txt there
#
# A line of the table: case, peer, quiet median; then for each kind of noise the median and the 95th
# percentile, in multiples of the quiet median. Environment: NOISE_CASES ("fib uts outside wake"),
# NOISE_ROUNDS (3: the middle one of so many runs), PEER_NAMES (peers; all that have the case).
dir=${1:?usage: noise.sh DIR}
cores=$(getconf _NPROCESSORS_ONLN)
cases=${NOISE_CASES:-fib uts outside wake}
rounds=${NOISE_ROUNDS:-3}
csv=$dir/noise.csv
export PEER_MANY=1

# A busy process on each core, or one on the last core that stops and goes on; their ids in $noise.
noise_begin() {
    noise= prefix=
    case $1 in
    busy)
        for core in $(seq 0 $((cores - 1))); do
            taskset -c "$core" sh -c 'while :; do :; done' &
            noise="$noise $!"
        done ;;
    one_core) prefix="taskset -c 0" ;;
    stopped)
        taskset -c $((cores - 1)) sh -c 'while :; do :; done' &
        victim=$!
        while kill -STOP $victim 2>/dev/null && sleep 0.005 && kill -CONT $victim && sleep 0.005; do :; done &
        noise="$! $victim" ;;
    esac
}

noise_end() {
    for process in $noise; do
        kill -CONT "$process" 2>/dev/null
        kill "$process" 2>/dev/null
        wait "$process" 2>/dev/null
    done
}

one() {
    while IFS='|' read -r name command; do
        case " ${PEER_NAMES:-$name} " in *" $name "*) ;; *) continue ;; esac
        [ "$name" != plain ] && grep -qx "$1" "$dir/$name.cases" || continue
        # shellcheck disable=SC2086
        timeout 20 $prefix $command "$1" "$cores" 0 </dev/null 2>/dev/null |
            while read -r value unit row; do
                case $row in "" | *_p95) echo "$1,$2,$name,${row:+p95},$value,$unit" >>"$csv" ;; "$1") echo "$1,$2,$name,,$value,$unit" >>"$csv" ;; esac
            done
    done <"$dir/list"
}

while IFS='|' read -r name command; do
    # shellcheck disable=SC2086
    $command </dev/null >"$dir/$name.cases"
done <"$dir/list"
echo "case,noise,peer,percentile,value,unit" >"$csv"
for round in $(seq "$rounds"); do
    for case in $cases; do
        for kind in quiet busy one_core stopped; do
            noise_begin $kind
            one "$case" $kind
            noise_end
        done
    done
done

sort -t, -k1,1 -k3,3 -k2,2 -k4,4 -k5,5g "$csv" | awk -F, '
    function flush() {
        if (n) figure[key] = v[int((n + 1) / 2)]
        n = 0
    }
    function times(row, kind,   base) {
        base = figure[row "," "quiet,"]
        if (!((row "," kind ",") in figure)) return "-"
        if (!((row "," kind ",p95") in figure)) return sprintf("%.2f", figure[row "," kind ","] / base)
        return sprintf("%.2f (%.2f)", figure[row "," kind ","] / base, figure[row "," kind ",p95"] / base)
    }
    $1 == "case" { next }
    {
        row = $1 "," $3
        if (row "," $2 "," $4 != key) { flush(); key = row "," $2 "," $4 }
        if (!(row in seen)) { seen[row] = 1; rows[++count] = row; units[row] = $6 }
        v[++n] = $5
    }
    END {
        flush()
        print "| case | peer | quiet | quiet (95%) | a busy process on each core | one core | a stopped neighbour |"
        print "|---|---|---|---|---|---|---|"
        for (i = 1; i <= count; i++) {
            split(rows[i], word, ",")
            if (!((rows[i] ",quiet,") in figure)) continue
            printf "| %s | %s | %.3g %s | %s | %s | %s | %s |\n", word[1], word[2],
                figure[rows[i] ",quiet,"], units[rows[i]], times(rows[i], "quiet"),
                times(rows[i], "busy"), times(rows[i], "one_core"), times(rows[i], "stopped")
        }
    }' | tee "$dir/noise.txt"
