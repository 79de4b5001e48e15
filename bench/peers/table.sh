#!/bin/sh
# The medians of a results.csv beside wsq's: value, and in brackets how many times wsq is ahead (below
# 1: behind; within 3% of 1: even). A case whose unit is x counts upwards, the others downwards.
# "plain" is one thread without a scheduler: there to compare, no peer.
#
#   table.sh results.csv
sort -t, -k1,1 -k2,2n -k3,3n -k4,4 -k6,6g "$1" | awk -F, '
    function flush() {
        if (n == 0) return
        if (!(row in seen)) { seen[row] = 1; rows[++row_count] = row; units[row] = unit }
        median[row, peer] = n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
        low[row, peer] = v[1]; high[row, peer] = v[n]
        if (!(peer in known)) { known[peer] = 1; peers[++peer_count] = peer }
        n = 0
    }
    function verdict(ratio, peer) {
        if (peer == "plain") return ""
        compared++
        if (ratio < 0.97) { behind++; return " BEHIND" }
        if (ratio <= 1.03) { even++; return " even" }
        return ""
    }
    $1 == "case" || NF < 7 { next }
    {
        r = $1 " " $2 ($3 > 0 ? " " $3 : "")
        if (r != row || $4 != peer) { flush(); row = r; peer = $4 }
        v[++n] = $6; unit = $7
    }
    END {
        flush()
        printf "# case workers [grain ns]: wsq [least..most of the rounds]; peer (times wsq is ahead)\n"
        for (i = 1; i <= row_count; i++) {
            r = rows[i]; own = median[r, "wsq"]
            if (own == "") continue
            printf "%-18s %-8s wsq %.4g [%.3g..%.3g]", r, units[r], own, low[r, "wsq"], high[r, "wsq"]
            for (p = 1; p <= peer_count; p++) {
                m = median[r, peers[p]]
                if (peers[p] == "wsq" || m == "") continue
                ratio = units[r] == "x" ? own / m : m / own
                printf "; %s %.4g (%.2f%s)", peers[p], m, ratio, verdict(ratio, peers[p])
            }
            printf "\n"
        }
        printf "# of %d comparisons wsq is behind in %d, even in %d\n", compared, behind, even
    }'
