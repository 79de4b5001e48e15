#!/bin/sh
# SVG plots of a results.csv.
#
#   plots.sh results.csv DIR
#
# tasks, forkjoin: the price of one; speedup: against one plain thread; latency: percentiles of a
# wake-up; grain: from which size on parallel work pays; workers: more of them than cores.
csv=$1 dir=$2
command -v gnuplot >/dev/null || { echo "skip plots (Debian: gnuplot-nox)"; exit 0; }
cores=$(awk -F, 'NR > 1 && $1 == "skynet" && $2 > n { n = $2 } END { print n + 0 }' "$csv")
figures=$dir/figures.txt # case workers arg peer value

# The quartile on the good side, as in table.sh.
awk 'NR > 1' "$csv" | sort -t, -k1,4 -k6,6g | awk -F, '
    function out() { q = int((n + 3) / 4); if (n) print key, unit == "x" ? v[n + 1 - q] : v[q]; n = 0 }
    { k = $1 " " $2 " " $3 " " $4; if (k != key) { out(); key = k } v[++n] = $6; unit = $7 }
    END { out() }' >"$figures"

# Each peer has its colour in every plot.
colours='wsq #d62728 plain #b0b0b0 wool #000000 lace #e377c2 rayon #ff7f0e tbb #1f77b4 gomp #7f7f7f
    libomp #bcbd22 tokio #9467bd go #17becf glib #8c564b pthreads #2ca02c'
order() { for word in $colours; do case $word in '#'*) ;; *) echo "$word" ;; esac; done; }
colour() { echo "$colours" | tr -s ' \n' '\n\n' | grep -A 1 -x "$1" | tail -n 1; }

svg() { # FILE WIDTH HEIGHT
    echo "set terminal svg size $2,$3 font 'sans,13' background 'white'; set output '$dir/$1.svg';
        set grid ytics lc rgb '#dddddd'; set border 3; set tics nomirror; set xtics scale 0;
        set key outside right top samplen 2; set style fill solid 0.9 noborder;"
}

# bars NAME WORKERS [BASE]: one group for each line "case label" on stdin, one bar for each peer that
# has the case. Writes DIR/NAME.PEER.dat and prints the plot command. BASE: how many times faster than
# this peer at 1 worker.
bars() {
    awk -v w="$2" -v base="$3" -v names="$(order | tr '\n' ' ')" -v file="$dir/$1" '
        FILENAME != "-" { value[$1, $2, $4] = $5; next }
        {
            case_name = $1; sub(/^[^ ]+ /, ""); start = x
            for (i = 1; i <= count; i++) {
                v = value[case_name, peers[i] == "plain" ? 1 : w, peers[i]]
                if (v == "" || peers[i] == base) continue
                if (base != "") v = value[case_name, 1, base] / v
                print x++, v > (file "." peers[i] ".dat"); used[peers[i]] = 1
            }
            tics = tics (tics == "" ? "" : ", ") "\"" $0 "\" " (start + x - 1) / 2
            x += 1.5
        }
        BEGIN { count = split(names, peers, " ") }
        END {
            for (i = 1; i <= count; i++) if (peers[i] in used) print "use", peers[i]
            print "tics", tics; print "end", x - 1.5
        }' "$figures" - >"$dir/$1.plan"
    echo "set xtics ($(sed -n 's/^tics //p' "$dir/$1.plan")); set xrange [-1:$(sed -n 's/^end //p' "$dir/$1.plan")]; set boxwidth 0.9;"
    plot=
    for p in $(sed -n 's/^use //p' "$dir/$1.plan"); do
        plot="$plot${plot:+, }'$dir/$1.$p.dat' using 1:2 with boxes lc rgb '$(colour "$p")' title '$p'"
    done
    echo "plot $plot;"
}

# lines NAME CASE BY WORKERS: one line a peer, of the case by argument (BY = 3) or by workers (BY = 2).
lines() {
    plot=
    for p in $(order); do
        awk -v c="$2" -v by="$3" -v w="$4" -v p="$p" '
            $1 == c && $4 == p && (by == 2 || $2 == w) { print $by, $5 }' "$figures" |
            sort -g >"$dir/$1.$p.dat"
        [ "$(wc -l <"$dir/$1.$p.dat")" -gt 1 ] || continue
        plot="$plot${plot:+, }'$dir/$1.$p.dat' using 1:2 with linespoints lw $([ "$p" = wsq ] && echo 4 || echo 1.7) pt 7 ps 0.5 lc rgb '$(colour "$p")' title '$p'"
    done
    [ "$plot" ] && echo "plot $plot;"
}

has() { grep -q "^$1 " "$figures"; }
draw() { gnuplot 2>"$dir/plots.log" || { echo "plot failed, see $dir/plots.log"; }; }

tasks() {
    { svg tasks 1000 480; echo "set logscale y; set ylabel 'ns (log)'; set title 'One task, $cores workers'"
    printf '%s\n' 'spawn spawn' 'outside outside' 'submit submit' 'busy busy' 'chain chain' 'yield yield' \
        'ping_pong ping-pong' | bars tasks "$cores"; } | draw
}

forkjoin() {
    { svg forkjoin 1000 480
    echo "set logscale y; set ylabel 'ns per fork, per leaf; ms (log)'; set title 'Fork and join, $cores workers'"
    printf '%s\n' 'fib fib: ns per fork' 'skynet skynet: ns per leaf' 'uts uts: ms' 'queens queens: ms' |
        bars forkjoin "$cores"; } | draw
}

speedup() {
    list='queens queens;uts uts;sort sort;matmul matmul;uneven uneven;loop loop'
    { svg speedup 1000 760; echo "set multiplot layout 2,1; set ylabel 'times one plain thread'; set yrange [0:*]"
    for w in 1 $cores; do
        echo "set title 'Speed-up by number of workers: $w'; set arrow 1 from graph 0,first $w to graph 1,first $w nohead dt 2"
        echo "$list" | tr ';' '\n' | bars "speedup$w" "$w" plain
    done; } | draw
}

latency() {
    { svg latency 1000 480
    echo "set logscale y; set ylabel 'us (log)'; set title 'A pool asleep is given a task; plain: one futex wakes one thread'"
    printf '%s\n' 'wake median' 'wake_p90 90 of 100' 'wake_p99 99 of 100' | bars latency "$cores"; } | draw
}

grain() {
    { svg grain 1000 820
    echo "set multiplot layout 2,1; set logscale x; set ylabel 'speed-up'; set yrange [0:$cores.1]
        set xrange [90:1.1e6]
        set xtics ('100 ns' 100, '1 us' 1000, '10 us' 10000, '100 us' 100000, '1 ms' 1000000)
        set title 'A loop in pieces of this size, $cores workers'"
    lines grain_loop grain_loop 3 "$cores"
    echo "set title 'Tasks of this size, $cores workers'"
    lines grain_task grain_task 3 "$cores"; } | draw
}

workers() {
    { svg workers 1000 1000
    echo "set multiplot layout 3,1; set logscale xy 2; set logscale y 10; set xtics 2; set xrange [1:64]; set format y '%g'"
    for c in 'fib fork and join, ns' 'spawn a task from a worker, ns' 'submit 4 threads submit, ns per task'; do
        echo "set title 'On $cores cores, by number of workers: ${c#* }'"
        lines "workers_${c%% *}" "${c%% *}" 2
    done; } | draw
}

if has spawn; then tasks; fi
if has fib; then forkjoin; speedup; fi
if has wake; then latency; fi
if has grain_loop; then grain; fi
if has fib && grep -q '^fib 64 ' "$figures"; then workers; fi
rm -f "$dir"/*.dat "$dir"/*.plan
