#!/bin/sh
# SVG plots of a results.csv: ns per task by peer, speed-up by case, wake-up, cost against grain and
# against the number of workers.
#
#   plots.sh results.csv DIR
csv=$1 dir=$2
command -v gnuplot >/dev/null || { echo "missing: plots (Debian: gnuplot-nox)"; exit 0; }
cores=$(awk -F, 'NR > 1 && $1 == "skynet" && $2 > n { n = $2 } END { print n + 0 }' "$csv")

# median PEERS-COLUMN FILTER: peer x value, sorted
medians() {
    awk -F, "NR > 1 && ($1)" "$csv" | sort -t, -k4,4 -k"$2","$2"n -k6,6g |
        awk -F, -v x="$2" '
            function out() { if (n) print peer, key, v[int((n + 1) / 2)]; n = 0 }
            $4 != peer || $x != key { out(); peer = $4; key = $x }
            { v[++n] = $6 }
            END { out() }'
}

style='set terminal svg size 900,520 font "sans,13" background "white"; set grid ytics lc rgb "#dddddd";
set border 3; set tics nomirror; set key outside right top; set style fill solid 0.85 noborder'

# bars FILE TITLE YLABEL CASES: one group a case, one bar a peer, all cores
bars() {
    file=$1 title=$2 ylabel=$3
    shift 3
    peers=$(for c in "$@"; do medians "\$1 == \"$c\" && \$2 == $cores" 2; done | awk '{ print $1 }' | sort -u)
    peers="wsq $(echo "$peers" | grep -vx wsq | tr '\n' ' ')"
    {
        echo "case $peers"
        for c in "$@"; do
            printf '%s' "$c" | tr _ ' ' | sed 's/.*/"&"/'
            for p in $peers; do
                value=$(medians "\$1 == \"$c\" && \$2 == $cores && \$4 == \"$p\"" 2 | awk '{ print $3 }')
                printf ' %s' "${value:-?}"
            done
            echo
        done
    } >"$dir/$file.dat"
    columns=$(echo "$peers" | wc -w)
    gnuplot -e "$style; set output '$dir/$file.svg'; set title '$title'; set ylabel '$ylabel';
        set datafile missing '?'; set logscale y; set style data histogram; set style histogram clustered gap 1.5;
        plot for [i=2:$((columns + 1))] '$dir/$file.dat' using i:xtic(1) title columnheader(i)"
}

# lines FILE TITLE XLABEL YLABEL FILTER COLUMN: one line a peer
lines() {
    peers=$(medians "$5" "$6" | awk '{ print $1 }' | sort -u)
    plot=
    for p in wsq $(echo "$peers" | grep -vx wsq); do
        medians "($5) && \$4 == \"$p\"" "$6" | awk '{ print $2, $3 }' | sort -g >"$dir/$1.$p.dat"
        width=$([ "$p" = wsq ] && echo 4 || echo 2)
        plot="$plot${plot:+, }'$dir/$1.$p.dat' using 1:2 with linespoints lw $width pt 7 ps 0.6 title '$p'"
    done
    [ "$plot" ] || return
    gnuplot -e "$style; set output '$dir/$1.svg'; set title '$2'; set xlabel '$3'; set ylabel '$4';
        set logscale x; $7 plot $plot"
}

bars tasks "ns per task, $cores workers" "ns (log)" spawn outside submit chain yield ping_pong
bars forkjoin "fork and join, $cores workers" "ns per fork; ms (log)" fib skynet queens
bars latency "latency, $cores workers" "us to wake an idle pool; ns one by one (log)" wake one_by_one
lines grain_loop "Where a parallel loop begins to pay, $cores workers" "ns per piece" "speed-up" '$1 == "grain_loop"' 3
lines grain_task "Where a task begins to pay, $cores workers" "ns per task" "speed-up" '$1 == "grain_task"' 3
lines workers_fib "fib on $cores cores, by number of workers" "workers" "ns per fork" '$1 == "fib"' 2 'set logscale y;'
lines workers_spawn "spawn from a worker, by number of workers" "workers" "ns per task" '$1 == "spawn"' 2 'set logscale y;'
lines workers_submit "4 threads submit, by number of workers" "workers" "ns per task" '$1 == "submit"' 2 'set logscale y;'
