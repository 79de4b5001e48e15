#!/bin/sh
# usage: test/examples/test_scale.sh [build directory]
# examples/scale on a program whose work and span are known (scale_known.c). What is asserted is
# virtual time, and the program's pieces take what the test's own clock says (SCALE_TICKS). Two cases
# need the processor's clock; there a piece that other programs disturb takes longer in virtual time,
# too, so a case may be tried three times.
set -u
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0

fail() { # text
    echo "FAIL  $*"
    sed 's/^/    /' "$work/out"
    bad=1
}

try() { # a function with the checks of one case
    for attempt in 1 2 3; do
        bad=0
        "$1" > "$work/said"
        [ $bad -ne 0 ] || return
    done
    cat "$work/said"
    failed=1
}

scale() { # the program's argument, and its name
    case=$1
    WSQ_SCALE=2,16 WSQ_SCALE_SVG="$work/plot.svg" "$work/${2:-known}" "$case" > "$work/out" 2>&1
}

speedup() { # cores, least, most: of the pool's part
    awk -v cores="$1" -v least="$2" -v most="$3" '
        $1 == cores && NF == 12 { found = $4 >= least && $4 <= most }
        END { exit !found }' "$work/out" || fail "$case: speed-up on $1 cores is not $2 to $3"
}

parallelism() { # least, most
    awk -v least="$1" -v most="$2" '
        /^work .* parallelism/ { gsub(/,/, ""); found = $8 >= least && $8 <= most }
        END { exit !found }' "$work/out" || fail "$case: parallelism is not $1 to $2"
}

says() { grep -q "$1" "$work/out" || fail "$case: it does not say: $1"; }
silent() { ! grep -q "$1" "$work/out" || fail "$case: it says: $1"; }

if [ "$(uname -s)" != Linux ]; then
    echo 'skip  scale: needs Linux'
    exit 0
fi

build() { # the program's name, options
    program=$work/$1
    shift
    ${CC:-cc} -std=c11 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -O2 -DNDEBUG -I. "$@" \
        -include examples/scale/scale.h test/examples/scale_known.c test/examples/scale_chain.c \
        -o "$program" -pthread -lm 2> "$work/out" || { fail 'it does not compile'; exit 1; }
}
build known -DSCALE_TICKS=known_now
build measured

script() {
    case=script
    WSQ_SCALE=2,16 WSQ_SCALE_SVG="$work/plot.svg" sh examples/scale/scale.sh examples/mergesort.c -- \
        300000 > "$work/out" 2>&1 || fail 'script: exit'
    speedup 2 1.8 2.1
    says '^sort_run  *mergesort.c:'
}

tasks() {
    scale tasks || fail 'tasks: exit'
    speedup 2 1.9 2.05
    speedup 16 12 16.1
    parallelism 160 160
    says '^fn *scale_known.c:.* 160 *100.0'
    silent BLOCKED
    silent outside
    grep -q '<polyline' "$work/plot.svg" || fail 'there is no plot'
}

loop() {
    scale loop || fail 'loop: exit'
    speedup 2 1.9 2.05
    speedup 16 12 16.1
    parallelism 160 160
    says '^body *scale_known.c'
}

chain() {
    scale chain || fail 'chain: exit'
    speedup 16 0.8 1.05
    parallelism 1 1
    says '^link_run *scale_chain.c:.* 50 '
}

# The whole program's speed-up must follow from the pool's, and from the time outside of the pool.
half() {
    scale half || fail 'half: exit'
    speedup 16 12 16.1
    awk 'function ns(n, unit) { return n * (unit == "s" ? 1e9 : unit == "ms" ? 1e6 : unit == "us" ? 1e3 : 1) }
        $1 == 16 && NF == 12 { pool = $4; whole = $5 }
        /outside of the pool/ { outside = ns($1, $2); all = ns($6, $7) }
        END { if (all > 0) follows = all / (outside + (all - outside) / pool)
              exit !(outside > all / 8 && outside < all * 7 / 8 &&
                     whole > follows * 0.98 && whole < follows * 1.02) }' "$work/out" ||
        fail 'half: the speed-up of the whole program does not follow from its parts'
}

others() {
    scale locks || fail 'locks: exit'
    speedup 16 0.6 1.3

    scale naps || fail 'naps: exit'
    speedup 16 14 16.5

    scale blocks measured || fail 'blocks: exit'
    says 'BLOCKED'

    scale fixed && fail 'fixed: exit'
    says 'asks for a number of workers'

    scale fails || fail 'fails: exit'
    says 'ended with status 9'
}

for one in script tasks loop chain half others; do try $one; done
[ $failed -ne 0 ] || echo 'ok    scale'
exit $failed
