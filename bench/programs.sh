#!/bin/sh
# Whole programs by the clock on the wall: each peer's program starts, makes its pool, does one case
# once, ends its pool and exits. hyperfine repeats them.
#
#   programs.sh DIR [workers ...]       builds into DIR what is not built yet
#
# Prints a Markdown table of medians with the distance from the lower to the upper quartile, and how far
# ahead wsq is of the best other. "plain" is one thread without a scheduler, in each row. Environment:
# PROGRAM_CASES ("queens uts sort skynet fib"), PROGRAM_RUNS (15), PROGRAM_PEERS (in the order of the
# columns), PEER_PREFIX ("taskset -c 0,1", say).
here=$(cd "$(dirname "$0")" && pwd)
dir=${1:?usage: programs.sh DIR [workers ...]}
shift
command -v hyperfine >/dev/null || { echo 'skip programs: hyperfine is not installed (Debian: hyperfine)'; exit 0; }
cores=$(getconf _NPROCESSORS_ONLN)
[ $# -gt 0 ] || set -- 1 "$cores"
cases=${PROGRAM_CASES:-queens uts sort skynet fib}
[ -s "$dir/list" ] || sh "$here/peers/build.sh" "$dir" >&2
peers=${PROGRAM_PEERS:-wsq plain wool lace rayon tbb gomp libomp}

# The programs that have the case, as arguments of hyperfine.
run() { # case, workers
    case_name=$1 w=$2
    set --
    while IFS='|' read -r name command; do
        case " $peers " in *" $name "*) ;; *) continue ;; esac
        # shellcheck disable=SC2086
        $command </dev/null 2>/dev/null | grep -qx "$case_name" || continue
        [ "$name" = plain ] && threads=1 || threads=$w
        set -- "$@" -n "$name" "$PEER_PREFIX $command $case_name $threads"
    done <"$dir/list"
    PEER_ONCE=1 hyperfine -N -w 2 -r "${PROGRAM_RUNS:-15}" --export-json "$dir/program.json" "$@" \
        >"$dir/program.log" 2>&1 || { echo "failed, see $dir/program.log"; return 1; }
    row "$case_name" "$w" <"$dir/program.json"
}

# hyperfine's JSON has one "name": value a line, and the times of all runs, one a line.
row() { # case, workers
    awk -v c="$1" -v w="$2" -v order="$peers" '
        /"command":/ { gsub(/.*: "|",$/, ""); name = $0; n = 0 }
        /"times":/ { times = 1; next }
        times && /\]/ {
            times = 0
            for (i = 2; i <= n; i++)
                for (k = i; k > 1 && v[k - 1] > v[k]; k--) { x = v[k]; v[k] = v[k - 1]; v[k - 1] = x }
            median[name] = n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
            spread[name] = v[n + 1 - int((n + 3) / 4)] - v[int((n + 3) / 4)]
        }
        times { gsub(/[ ,]/, ""); v[++n] = $0 * 1e3 }
        END {
            printf "| %s | %s |", c, w
            k = split(order, peer, " ")
            for (i = 1; i <= k; i++) {
                p = peer[i]
                if (!(p in median)) { printf " - |"; continue }
                printf " %.1f (%.1f) |", median[p], spread[p]
                if (p != "wsq" && p != "plain" && (best == "" || median[p] < median[best])) best = p
            }
            if (best != "") printf " %.2f |", median[best] / median["wsq"]
            printf "\n"
        }'
}

cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1)
echo "# whole programs, ms: median of ${PROGRAM_RUNS:-15} runs (quartile distance) | ${cpu:-unknown processor}, $cores cores | $(hyperfine --version)"
echo "| program | workers | $(echo "$peers" | sed 's/ / | /g') | ahead |"
echo "|---|---|$(echo "$peers" | sed 's/[a-z]*/---|/g; s/ //g')---|"
for case in $cases; do
    for workers; do run "$case" "$workers"; done
done
