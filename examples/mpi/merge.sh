#!/bin/sh
# usage: examples/mpi/merge.sh trace.0.json trace.1.json ... > trace.json
# One timeline of the timelines of all ranks, in their order: a lane for each rank and worker. It is
# for ui.perfetto.dev or ../trace.html. Each rank has set its time zero right after a barrier.
[ $# -gt 0 ] || { sed -n '2,4s/^# //p' "$0" >&2; exit 2; }
exec awk '
# Numbers that follow this key: those of a rank come after those of the rank before.
function shift(key, by,   at) {
    if (!match($0, "\"" key "\":[0-9]+")) return
    at = RSTART + length(key) + 3
    $0 = substr($0, 1, at - 1) (substr($0, at, RSTART + RLENGTH - at) + by * (rank - 1)) \
        substr($0, RSTART + RLENGTH)
}
FNR == 1 {
    rank++
    if (rank == 1) print
    next
}
/^\]/ {
    match($0, /[0-9]+/)
    dropped += substr($0, RSTART, RLENGTH)
    next
}
{
    sub(/,$/, "")
    sub(/"pid":[0-9]+,/, "\"pid\":" rank - 1 ",")
    shift("id", 10000000)
    shift("sort_index", 10000)
    if (/"name":"(thread|process)_name"/) sub(/"args":\{"name":"/, "&rank " rank - 1 " ")
    if (events++) print ","
    printf "%s", $0
}
END { printf "\n],\"otherData\":{\"dropped\":%d}}\n", dropped }
' "$@"
