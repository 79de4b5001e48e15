#!/bin/sh
# A results.csv as a table: wsq, each peer, and in brackets how many times wsq is ahead (below 1:
# behind; within 3% of 1: even). A case whose unit is x counts upwards, the others downwards. "plain" is
# one thread without a scheduler: there to compare, no peer.
#
#   table.sh results.csv          a line for each case: wsq [least..median], then the peers
#   table.sh results.csv best     the same as Markdown, with the best peer only
#
# The cases stand by topic: fork and join, loops, tasks, tasks from outside, sleep, queues.
#
# The figure is the quartile of the rounds on the good side: what else the machine does only adds time,
# and a virtual machine's neighbours add it for seconds on end, to one peer and not to the next.
sort -t, -k1,1 -k2,2n -k3,3n -k4,4 -k6,6g "$1" | awk -F, -v mode="$2" '
    function flush() {
        if (n == 0) return
        if (!(row in seen)) { seen[row] = 1; rows[++row_count] = row; units[row] = unit }
        quarter = int((n + 3) / 4)
        figure[row, peer] = unit == "x" ? v[n + 1 - quarter] : v[quarter]
        least[row, peer] = v[1]; count[row, peer] = n
        median[row, peer] = n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
        if (!(peer in known)) { known[peer] = 1; peers[++peer_count] = peer }
        n = 0
    }
    # An idle pool that takes less than 0.1% of a core takes what the clock of this program takes.
    function ratio(row, peer) {
        own = figure[row, "wsq"]; other = figure[row, peer]
        if (units[row] == "%" && own < 0.1 && other < 0.1) return 1
        return units[row] == "x" ? own / other : other / own
    }
    function verdict(r) { return r < 0.97 ? " BEHIND" : (r <= 1.03 ? " even" : "") }
    function is_peer(row, peer) { return peer != "wsq" && (row, peer) in figure }
    function print_row(row, p, r) {
        printf "%-18s %-8s wsq %.4g [%.4g..%.4g]", row, units[row], figure[row, "wsq"],
            least[row, "wsq"], median[row, "wsq"]
        for (p = 1; p <= peer_count; p++) {
            if (!is_peer(row, peers[p])) continue
            r = ratio(row, peers[p])
            printf "; %s %.4g (%.2f%s)", peers[p], figure[row, peers[p]], r,
                peers[p] == "plain" ? "" : verdict(r)
        }
        printf "\n"
    }
    function print_best(row, p, r, low, best) {
        low = 1e9
        for (p = 1; p <= peer_count; p++) {
            if (!is_peer(row, peers[p]) || peers[p] == "plain") continue
            r = ratio(row, peers[p])
            if (r < low) { low = r; best = peers[p] }
        }
        if (low == 1e9) return
        split(row, word, " ")
        printf "| %s | %s | %.3g %s | %+.0f%% | %s %.3g | %.2f |\n", word[1] (word[3] ? " " word[3] : ""),
            word[2], figure[row, "wsq"], units[row],
            100 * (median[row, "wsq"] / figure[row, "wsq"] - 1), best, figure[row, best], low
    }
    # by_topic[i]: the rows in the order in which they are printed; heading[i]: what begins there.
    function sort_rows(   topics, topic, t, part, cases, c, i, first) {
        topics = "fork and join:fib skynet uts queens sort matmul;loops:loop uneven grain_loop"
        topics = topics ";tasks from a worker:spawn chain yield ping_pong"
        topics = topics ";tasks from outside:outside submit busy one_by_one ask ask_p90 ask_p99"
        topics = topics ";sleep:wake wake_p90 wake_p99 idle;queues:fifo lifo steal"
        topics = topics ";timers:timer_set_1k timer_set_1m timer_cancel_1k timer_cancel_1m timer_again_1k timer_again_1m timer_fire_1k timer_fire_1m"
        split(topics, topic, ";")
        for (t = 1; t in topic; t++) {
            split(topic[t], part, ":")
            split(part[2], cases, " ")
            first = sorted + 1
            for (c = 1; c in cases; c++)
                for (i = 1; i <= row_count; i++)
                    if (rows[i] ~ ("^" cases[c] " ")) { by_topic[++sorted] = rows[i]; taken[i] = 1 }
            if (sorted >= first) heading[first] = part[1]
        }
        for (i = 1; i <= row_count; i++) if (!(i in taken)) by_topic[++sorted] = rows[i]
    }
    $1 == "case" || NF < 7 { next }
    {
        r = $1 " " $2 ($3 > 0 ? " " $3 : "")
        if (r != row || $4 != peer) { flush(); row = r; peer = $4 }
        v[++n] = $6; unit = $7
    }
    END {
        flush()
        if (mode == "best") print "| case | workers | wsq | median | best peer | times ahead |\n|---|---|---|---|---|---|"
        else print "# case workers [grain ns]: wsq [least..median]; peer (times wsq is ahead)"
        sort_rows()
        for (i = 1; i <= row_count; i++) {
            row = by_topic[i]
            if (mode == "best" && i in heading) print "| **" heading[i] "** | | | | | |"
            if (!((row, "wsq") in figure)) continue
            if (mode == "best") print_best(row)
            else print_row(row)
            for (p = 1; p <= peer_count; p++) {
                if (!is_peer(row, peers[p]) || peers[p] == "plain") continue
                compared++
                r = ratio(row, peers[p])
                if (r < 0.97) behind++
                else if (r <= 1.03) even++
            }
        }
        if (mode != "best")
            printf "# of %d comparisons wsq is behind in %d, even in %d\n", compared, behind, even
    }'
