#!/bin/sh
# usage: examples/mpi/merge.sh trace.0.json trace.1.json ... > trace.json
# One timeline of the timelines of all ranks, in their order: a lane for each rank and worker. It is
# for ui.perfetto.dev or ../trace.html. Each rank has set its time zero right after a barrier.
[ $# -gt 0 ] || { sed -n '2,4s/^# //p' "$0" >&2; exit 2; }
exec awk '
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
    sub(/"id":/, "&" rank)
    if (/"thread_name"/) sub(/"args":\{"name":"/, "&rank " rank - 1 " ")
    if (/"thread_sort_index"/ && match($0, /[0-9]+\}\}$/))
        $0 = substr($0, 1, RSTART - 1) substr($0, RSTART, RLENGTH - 2) + 10000 * rank "}}"
    if (events++) print ","
    printf "%s", $0
}
END { printf "\n],\"otherData\":{\"dropped\":%d}}\n", dropped }
' "$@"
