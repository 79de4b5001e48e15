#!/bin/sh
# Plots of one machine's rows: plot.sh FILE.csv PREFIX, with gnuplot: PREFIX-weak.svg and others.
set -eu
csv=$1 prefix=$2
rows=$(mktemp)
trap 'rm -f "$rows"' EXIT

pick() { # question metric: blocks of "workers value", one for each case, in the file's order
    awk -F, -v question="$1" -v metric="$2" '
        $1 == question && $5 == metric {
            if (!($2 in seen)) { seen[$2] = 1; order[++n] = $2 }
            row[$2] = row[$2] $4 " " $6 "\n"
        }
        END { for (i = 1; i <= n; i++) printf "\"%s\"\n%s\n\n", order[i], row[order[i]] }' "$csv"
}

plot() { # name question metric title y-axis settings
    pick "$2" "$3" > "$rows"
    blocks=$(grep -c '^"' "$rows" || true)
    [ "$blocks" -gt 0 ] || return 0
    gnuplot <<END
set terminal svg size 900,560 font "sans,13" background "white"
set output "$prefix-$1.svg"
set title "$4"
set xlabel "workers"
set ylabel "$5"
set key outside right
set grid
set logscale x 2
$6
plot for [i=0:$((blocks - 1))] "$rows" index i using 1:2 with linespoints title columnheader(1)
END
}

plot weak weak efficiency 'Efficiency, the work for each worker fixed' '' 'set yrange [0:1.05]'
plot strong strong efficiency 'Efficiency, the work as a whole fixed' '' 'set yrange [0:1.05]'
plot curve curve us 'A burst on sleepers: when the k-th of n tasks began' 'us' ''
plot spread spread latencies 'A burst on n sleepers: until the last task began' \
    'wake-up latencies' ''
plot load load p99_us 'An open load: 99% of the tasks start within' 'us' 'set logscale y'
plot steps steps ns 'A round trip of each of n pairs; a step of a pipeline of 2 us' 'ns' \
    'set yrange [0:*]'
plot barrier steps us 'An iteration of 10 us on each worker' 'us' 'set yrange [0:*]'
