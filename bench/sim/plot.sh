#!/bin/sh
# Plots of one machine's rows: plot.sh FILE.csv PREFIX, with gnuplot: PREFIX-weak-jobs.svg and others.
set -eu
if [ $# -ne 2 ] || [ ! -r "$1" ]; then
    echo "plot.sh: which rows, and where to? plot.sh FILE.csv PREFIX" >&2
    exit 2
fi
csv=$1 prefix=$2
machine=$(awk -F, 'NR == 1 { print $3 }' "$csv")
rows=$(mktemp)
trap 'rm -f "$rows"' EXIT

pick() { # question metric cases: blocks of "workers value", one for each case, in the file's order
    awk -F, -v question="$1" -v metric="$2" -v cases="$3" '
        $1 == question && $5 == metric && $2 ~ cases {
            if (!($2 in seen)) { seen[$2] = 1; order[++n] = $2 }
            row[$2] = row[$2] $4 " " $6 "\n"
        }
        END { for (i = 1; i <= n; i++) printf "\"%s\"\n%s\n\n", order[i], row[order[i]] }' "$csv"
}

# Colours that differ for the colour-blind, too (Okabe and Ito 2008), and dashes and points besides.
styles() {
    i=0
    for colour in 000000 D55E00 0072B2 009E73 CC79A7 E69F00 56B4E9 888888; do
        i=$((i + 1))
        echo "set linetype $i lc rgb \"#$colour\" lw 2 dt $((1 + (i - 1) % 4)) pt $((3 + 2 * i)) ps 0.8"
    done
}

plot() { # name question metric cases title y-axis settings style
    pick "$2" "$3" "$4" > "$rows"
    blocks=$(grep -c '^"' "$rows" || true)
    [ "$blocks" -gt 0 ] || return 0
    gnuplot <<END
set terminal svg size 900,560 font "sans,14" background "white"
set output "$prefix-$1.svg"
$(styles)
set title "$5; machine: $machine"
set xlabel "workers"
set ylabel "$6"
set key outside right
set grid
set logscale x 2
$7
plot for [i=0:$((blocks - 1))] "$rows" index i using 1:2 with ${8:-linespoints} lt i+1 \
    title columnheader(1)
END
}

efficiency() { # question what
    for cases in jobs:fib,skynet,uts,loop,uneven,sort,quick tasks:all,pin,one outside:out; do
        plot "$1-${cases%%:*}" "$1" efficiency "^($(echo "${cases#*:}" | tr , '|'))" \
            "Efficiency, the work $2 fixed: ${cases%%:*}" '' 'set yrange [0:1.05]'
    done
}

efficiency weak 'for each worker'
efficiency strong 'as a whole'
plot curve curve us . 'A burst on sleepers: when the k-th of n tasks began' 'us' \
    'set xlabel "k"; set yrange [0:*]' lines
plot spread spread latencies . 'A burst on n sleepers: until the last task began' \
    'wake-up latencies' 'set yrange [0:*]'
plot load load p99_us . 'An open load: 99% of the tasks start within' 'us' 'set logscale y'
plot steps steps ns . 'A round trip of each of n pairs; a step of a pipeline of 2 us' 'ns' \
    'set logscale y'
plot barrier steps us . 'An iteration of 10 us on each worker' 'us' 'set yrange [0:*]'
