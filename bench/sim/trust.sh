#!/bin/sh
# The same benchmarks on this machine and in virtual time, one line each:
#
#   trust.sh BUILD [VIRTUAL]      folders of the benchmarks, and of those built with virtual.h
#
# "least" is the fastest round: others use a real machine, too, and nobody the simulated one. "far"
# marks what is off from that by more than a quarter. BENCH_ROUNDS: of the real ones.
set -eu
if [ $# -lt 1 ] || [ ! -d "$1" ]; then
    echo "trust.sh: which folder holds the benchmarks? trust.sh BUILD [VIRTUAL]" >&2
    exit 2
fi
real=$1 virtual=${2:-$1/virtual}
lines=$(mktemp)
trap 'rm -f "$lines"' EXIT
while read -r program cases; do
    for kind in real virtual; do
        folder=$real rounds=${BENCH_ROUNDS:-5}
        [ $kind = real ] || folder=$virtual rounds=1
        # shellcheck disable=SC2086
        UTS_NODE_NS=$(sed -n 's/^real uts.t1_plain .* min=\([0-9.]*\).*/\1/p' "$lines" |
            awk '{ printf "%.0f", $1 * 1e6 / 4130071 }') \
            BENCH_ROUNDS=$rounds "$folder/$program" $cases | sed "s/^/$kind /" >> "$lines"
    done
done <<END
fib fork_
skynet wsq
spawn handful many outside chain yield ping_pong submitters busy one_by_one asleep
ring steal_half steal_one
deque steal
uts t1_
wake
END
awk '
    $2 !~ "/" || /target|to_called|to_reclaim|to_plain|to_inlined|speedup|bare|idle|p99|size/ { next }
    { key = $2; if (match($0, /workers=[0-9]+/)) key = key " " substr($0, RSTART + 8, RLENGTH - 8) }
    !(key in unit) { order[++n] = key; unit[key] = $4 }
    { value[$1, key] = least[$1, key] = $3 }
    match($0, / min=[0-9.e+]+/) { least[$1, key] = substr($0, RSTART + 5, RLENGTH - 5) }
    END {
        printf "%-20s %7s %10s %10s %10s %8s\n", "benchmark", "workers", "measured", "least", \
            "simulated", "ratio"
        for (i = 1; i <= n; i++) {
            key = order[i]; split(key, part, " ")
            real = value["real", key]; virtual = value["virtual", key]
            if (real == "" || virtual == "") continue
            ratio = virtual / least["real", key]
            printf "%-20s %7s %10s %10s %10s %8.2f %s%s\n", part[1], part[2], real, \
                least["real", key], virtual, ratio, unit[key], \
                (ratio > 1.25 || ratio < 0.75 ? "  far" : "")
        }
    }' "$lines"
