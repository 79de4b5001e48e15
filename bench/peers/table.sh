#!/bin/sh
# The medians of a results.csv beside wsq's: value, and in brackets how many times wsq is ahead (below
# 1: behind). A case whose unit is x counts upwards, the others downwards.
#
#   table.sh results.csv
sort -t, -k1,1 -k2,2n -k3,3n -k4,4 -k6,6g "$1" | awk -F, '
    function flush() {
        if (n == 0) return
        m = n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
        row = last_row
        if (!(row in seen)) { seen[row] = 1; rows[++row_count] = row; units[row] = unit }
        median[row, last_peer] = m
        low[row, last_peer] = v[1]; high[row, last_peer] = v[n]
        if (!(last_peer in known)) { known[last_peer] = 1; peers[++peer_count] = last_peer }
        n = 0
    }
    $1 == "case" || NF < 7 { next }
    {
        r = $1 " " $2 ($3 > 0 ? " " $3 : "")
        if (r != last_row || $4 != last_peer) { flush(); last_row = r; last_peer = $4 }
        v[++n] = $6; unit = $7
    }
    END {
        flush()
        behind = 0
        printf "# case workers [grain ns]: wsq; peer (times that wsq is ahead)\n"
        for (i = 1; i <= row_count; i++) {
            row = rows[i]; own = median[row, "wsq"]
            if (own == "") continue
            printf "%-22s %-8s wsq %.4g [%.3g..%.3g]", row, units[row], own, low[row, "wsq"], high[row, "wsq"]
            for (p = 1; p <= peer_count; p++) {
                peer = peers[p]
                if (peer == "wsq" || median[row, peer] == "") continue
                m = median[row, peer]
                ratio = units[row] == "x" ? own / m : m / own
                printf "; %s %.4g (%.2f%s)", peer, m, ratio, ratio < 1 ? " BEHIND" : ""
                if (ratio < 1) behind++
            }
            printf "\n"
        }
        printf "# wsq is behind in %d of the comparisons\n", behind
    }'
