#!/bin/sh
# SVG plots of a results.csv.
#
#   plots.sh results.csv DIR
#
# rows: the best peer of every case; tasks: the price of one; forkjoin: of a fork, and whole trees;
# speedup: against one plain thread;
# latency: percentiles of a wake-up; grain: from which size on parallel work pays; workers: more of
# them than cores. A bar is the quartile of the rounds on the good side, its whisker goes on to the
# median. What has no results in the file (PEER_ONLY) is left out, with a line.
csv=$1 dir=$2
command -v gnuplot >/dev/null || { echo "skip plots (Debian: gnuplot-nox)"; exit 0; }
# The sweep over workers goes beyond the cores, with these three.
cores=$(awk -F, 'NR > 1 && $1 !~ /^(fib|spawn|submit)$/ && $2 > n { n = $2 } END { print n + 0 }' "$csv")
[ "$cores" -gt 0 ] || cores=$(getconf _NPROCESSORS_ONLN)
figures=$dir/figures.txt # case workers arg peer value median

# The quartile on the good side, as in table.sh, and the median.
awk 'NR > 1' "$csv" | sort -t, -k1,4 -k6,6g | awk -F, '
    function out() {
        if (n) print key, v[unit == "x" ? n + 1 - int((n + 3) / 4) : int((n + 3) / 4)],
            n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
        n = 0
    }
    { k = $1 " " $2 " " $3 " " $4; if (k != key) { out(); key = k } v[++n] = $6; unit = $7 }
    END { out() }' >"$figures"

# A peer that is not in this list is in no plot; each has its colour and its point in all of them. The first eight are those of Okabe and Ito,
# which colour-blind readers tell apart; the others differ from them in lightness.
looks='wsq #d55e00 7
    wool #000000 5
    lace #cc79a7 9
    rayon #e69f00 11
    tbb #0072b2 13
    tokio #009e73 4
    go #56b4e9 6
    pthreads #f0e442 8
    plain #bbbbbb 1
    gomp #777777 10
    libomp #444444 12
    glib #882255 2
    crossbeam #44aa99 3
    enkits #332288 14
    taskflow #117733 15
    dispenso #999933 7
    libdispatch #661100 5
    tmc #aa4466 9
    citor #6699cc 11
    libfork #ddcc77 13
    parlay #4477aa 4
    bs #88ccee 6'
peers=$(echo "$looks" | awk '{ print $1 }')
colour() { echo "$looks" | awk -v p="$1" '$1 == p { print $2 }'; }
point() { echo "$looks" | awk -v p="$1" '$1 == p { print $3 }'; }

svg() { # FILE WIDTH HEIGHT
    echo "set terminal svg size $2,$3 font 'sans,13' background 'white'; set output '$dir/$1.svg';
        set grid ytics lc rgb '#dddddd'; set border 3; set tics nomirror;
        set key outside right top samplen 2; set style fill solid 0.9 border lc rgb '#555555';
        set errorbars 0.5 lw 1;"
}

# bars NAME WORKERS [BASE]: one group for each line "case label" on stdin, one bar for each peer that
# has the case. Writes DIR/NAME.PEER.dat and prints the plot command, or nothing without bars. BASE:
# how many times faster than this peer with 1 worker.
bars() {
    awk -v w="$2" -v base="$3" -v names="$(echo $peers)" -v file="$dir/$1" '
        FILENAME != "-" { value[$1, $2, $4] = $5; median[$1, $2, $4] = $6; next }
        {
            case_name = $1; sub(/^[^ ]+ /, ""); start = x
            for (i = 1; i <= count; i++) {
                at = peers[i] == "plain" ? 1 : w
                v = value[case_name, at, peers[i]]; m = median[case_name, at, peers[i]]
                if (v == "" || peers[i] == base) continue
                if (base != "" && value[case_name, 1, base] == "") continue
                if (base != "") { v = value[case_name, 1, base] / v; m = value[case_name, 1, base] / m }
                print x++, v, v, m > (file "." peers[i] ".dat"); used[peers[i]] = 1
            }
            if (x == start) next
            tics = tics (tics == "" ? "" : ", ") "\"" $0 "\" " (start + x - 1) / 2
            x += 1.5
        }
        BEGIN { count = split(names, peers, " ") }
        END {
            for (i = 1; i <= count; i++) if (peers[i] in used) print "use", peers[i]
            print "tics", tics; print "end", x - 1.5
        }' "$figures" - >"$dir/$1.plan"
    plot=
    for p in $(sed -n 's/^use //p' "$dir/$1.plan"); do
        plot="$plot${plot:+, }'$dir/$1.$p.dat' using 1:2:3:4:(0.9) with boxerrorbars lc rgb '$(colour "$p")' title '$p'"
    done
    [ -n "$plot" ] || return
    echo "set xtics ($(sed -n 's/^tics //p' "$dir/$1.plan")) scale 0; set xrange [-1:$(sed -n 's/^end //p' "$dir/$1.plan")]; set boxwidth 0.9;"
    echo "plot $plot;"
}

# lines NAME CASE BY WORKERS: one line a peer, of the case by argument (BY = 3) or by workers (BY = 2).
lines() {
    plot=
    for p in $peers; do
        awk -v c="$2" -v by="$3" -v w="$4" -v p="$p" '
            $1 == c && $4 == p && (by == 2 || $2 == w) { print $by, $5, $5, $6 }' "$figures" |
            sort -g >"$dir/$1.$p.dat"
        [ "$(wc -l <"$dir/$1.$p.dat")" -gt 1 ] || continue
        plot="$plot${plot:+, }'$dir/$1.$p.dat' using 1:2:3:4 with yerrorlines lw $([ "$p" = wsq ] && echo 4 || echo 1.7) pt $(point "$p") ps 0.7 lc rgb '$(colour "$p")' title '$p'"
    done
    [ -z "$plot" ] || echo "plot $plot;"
}

# panel COMMANDS: reads a plot command, and passes both on if there is one.
panel() {
    read -r ticks || return
    echo "$1"
    echo "$ticks"
    cat
}

# One below the other, as many as there are.
panels() { # NAME HEIGHT OF ONE: panels on stdin
    all=$(cat)
    rows=$(echo "$all" | grep -c '^plot ')
    [ "$rows" -gt 0 ] || return
    svg "$1" 1100 $((rows * $2))
    echo "set multiplot layout $rows,1;"
    echo "$all"
}

draw() { # NAME: gnuplot's commands on stdin
    cat >"$dir/$1.gp"
    if ! grep -q '^plot ' "$dir/$1.gp"; then echo "skip plot $1: none of its cases was run"
    elif ! gnuplot "$dir/$1.gp" 2>"$dir/plots.log"; then echo "plot $1 failed, see $dir/plots.log"; fi
    rm -f "$dir/$1.gp"
}

# How many times as long as wsq the best peer of each case takes. A bar begins at 1: to the right wsq is
# faster, to the left the peer is. The label says what the case is, in words, and the peer's name.
rows() {
    awk -v w="$cores" '
        BEGIN {
            n = split("fib=fork and join|skynet=a tree of 10^6 forks|uts=unbalanced tree|queens=n-queens" \
                "|sort=quicksort|matmul=matrix product|loop=loop over memory|uneven=uneven loop" \
                "|spawn=spawn from a worker|chain=each task spawns the next|yield=tasks that yield" \
                "|ping_pong=two tasks wake each other|outside=spawn from outside|submit=4 threads spawn" \
                "|busy=spawn into a busy pool|one_by_one=spawn, wait, repeat|ask=ask and wait|ask_p90=ask and wait: 90th percentile|ask_p99=ask and wait: 99th percentile|wake=wake a sleeping pool" \
                "|wake_p90=wake a pool: 90th percentile|wake_p99=wake a pool: 99th percentile|fifo=queue: push and pop" \
                "|lifo=stack: push and pop|steal=steal one item", pair, "|")
            for (i = 1; i <= n; i++) { split(pair[i], part, "="); words[part[1]] = part[2] }
            n = split("wool=Wool lace=Lace rayon=Rayon tbb=oneTBB tokio=Tokio go=Go glib=GLib enkits=enkiTS" \
                " taskflow=Taskflow tmc=TooManyCooks bs=BS::thread_pool", pair, " ")
            for (i = 1; i <= n; i++) { split(pair[i], part, "="); names[part[1]] = part[2] }
        }
        ($2 != w && $1 !~ /^(fifo|lifo|steal)$/) || $3 != 0 || $1 == "idle" || $4 == "plain" { next }
        $4 == "wsq" { own[$1] = $5; next }
        !($1 in best) || $5 < best[$1] { best[$1] = $5; who[$1] = $4 }
        END {
            for (c in own) if (c in best) {
                peer = who[c] in names ? names[who[c]] : who[c]
                r = best[c] / own[c]
                kind = r < 0.97 ? 0 : r <= 1.03 ? 1 : 2
                printf "%g %d \"%s: %s\"\n", r, kind, (c in words ? words[c] : c), peer
            }
        }' "$figures" | sort -g | awk '{ print NR, $0 }' >"$dir/rows.dat"
    [ -s "$dir/rows.dat" ] || return
    n=$(wc -l <"$dir/rows.dat")
    svg rows 900 $((n * 22 + 90))
    echo "set title 'How many times as long as wsq the best peer takes, $cores workers (right of 1: wsq is faster)'"
    echo "set logscale x 2; set xrange [*:*]; set yrange [0.3:$n.7]; set key off; unset grid; set grid xtics lc rgb '#dddddd'"
    echo "set xtics ('1/4' 0.25, '1/2' 0.5, '3/4' 0.75, '1' 1, '1.5' 1.5, '2' 2, '3' 3, '4' 4); set ytics scale 0 noenhanced"
    echo "set arrow 1 from 1,graph 0 to 1,graph 1 nohead lw 2 lc rgb '#000000' front"
    bars=
    for kind in '0 #d55e00' '1 #999999' '2 #0072b2'; do # the peer is faster; even; wsq is
        bars="$bars${bars:+, }'$dir/rows.dat' using (\$3 == ${kind% *} ? \$2 : NaN):1:(\$2 < 1 ? \$2 : 1):(\$2 < 1 ? 1 : \$2):(\$1 - 0.35):(\$1 + 0.35):ytic(4) with boxxyerror lc rgb '${kind#* }'"
    done
    echo "plot $bars"
}

tasks() {
    svg tasks 1100 480
    echo "set logscale y; set ylabel 'ns for each task (log)'; set title 'What one task costs, $cores workers (less is better)'"
    printf '%s\n' 'spawn spawn' 'outside outside' 'submit submit' 'busy busy' 'chain chain' 'yield yield' \
        'ping_pong ping-pong' | bars tasks "$cores"
}

forkjoin() {
    {
        printf '%s\n' 'fib fib: each fork' 'skynet skynet: each leaf' | bars forkjoin1 "$cores" |
            panel "set logscale y; set ylabel 'ns (log)'; set title 'What a fork and its join cost, $cores workers (less is better)'"
        printf '%s\n' 'uts unforeseeable tree' 'queens n-queens 12' | bars forkjoin2 "$cores" |
            panel "set logscale y; set ylabel 'ms (log)'; set title 'Whole trees, $cores workers (less is better)'"
    } | panels forkjoin 410
}

speedup() {
    list='queens queens;uts uts;sort sort;matmul matmul;uneven uneven;loop loop'
    for w in 1 $cores; do
        title="Speed-up with $w worker$([ "$w" = 1 ] || echo s) (more is better; the line: $w)"
        echo "$list" | tr ';' '\n' | bars "speedup$w" "$w" plain |
            panel "set ylabel 'times one plain thread'; set yrange [0:*]; set title '$title'; unset arrow
                set arrow 1 from graph 0,first $w to graph 1,first $w nohead"
    done | panels speedup 410
}

latency() {
    svg latency 1100 480
    echo "set logscale y; set ylabel 'us until it runs (log)'; set title 'A pool asleep is given a task (less is better); plain: one futex wakes one thread'"
    printf '%s\n' 'wake median' 'wake_p90 90 of 100' 'wake_p99 99 of 100' | bars latency "$cores"
}

grain() {
    axes="set logscale x; set ylabel 'times one plain thread'; set yrange [0:*]
        set xlabel 'size of a piece of work (log)'; set xrange [90:1.1e6]
        set xtics ('100 ns' 100, '1 us' 1000, '10 us' 10000, '100 us' 100000, '1 ms' 1000000)"
    {
        lines grain_loop grain_loop 3 "$cores" |
            panel "$axes; set title 'A loop in pieces of this size, $cores workers (more is better)'"
        lines grain_task grain_task 3 "$cores" |
            panel "$axes; set title 'Tasks of this size, $cores workers (more is better)'"
    } | panels grain 450
}

workers() {
    axes="set logscale x 2; set logscale y 10; set xtics 2; set xrange [0.9:70]; set format y '%g'
        set xlabel 'workers (log)'; set ylabel 'ns (log)'"
    for c in 'fib a fork and its join' 'spawn a task from a worker' 'submit a task, from 4 threads'; do
        lines "workers_${c%% *}" "${c%% *}" 2 |
            panel "$axes; set title 'On $cores cores, by number of workers: ${c#* } (less is better)'"
    done | panels workers 380
}

has() { grep -q "$1" "$figures"; }
for name in rows tasks forkjoin speedup latency grain; do $name | draw $name; done
if has '^[a-z]* 64 '; then workers | draw workers; else echo 'skip plot workers: that sweep was not run'; fi
rm -f "$dir"/*.dat "$dir"/*.plan
