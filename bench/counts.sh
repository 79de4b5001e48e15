#!/bin/sh
# Instructions per operation of the hot paths, by callgrind: the same on a busy machine as on a quiet
# one. Compares them with bench/counts.txt and fails when one is more than 3% above its row.
#
#   counts.sh PROGRAM            compare        (make bench-counts)
#   counts.sh PROGRAM --update   rewrite the rows of this compiler
#
# The rows are a compiler's own: other versions make other code. Without a row: printed, not judged.
program=$1 update=$2
table=$(dirname "$0")/counts.txt
n=65536

command -v valgrind >/dev/null || { echo "skip bench-counts: no valgrind (Debian: valgrind)"; exit 0; }

total() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" "$1" "$2" 2>&1 |
        awk '/Collected/ { print $4 }'
}

compiler=$(${CC:-cc} -dM -E -x c /dev/null | awk '
    $2 == "__clang_major__" { clang = "clang" $3 }
    $2 == "__GNUC__" { gcc = "gcc" $3 }
    $2 == "__x86_64__" { machine = "x86_64" }
    $2 == "__aarch64__" { machine = "aarch64" }
    END { print (clang ? clang : gcc) "-" (machine ? machine : "other") }')
[ "$update" ] && [ -f "$table" ] && { grep -v "^$compiler " "$table" >"$table.new"; mv "$table.new" "$table"; }

failed=0
for path in $("$program"); do
    one=$(total "$path" $n) two=$(total "$path" $((2 * n)))
    now=$(awk "BEGIN { printf \"%.2f\", ($two - $one) / $n }")
    if [ "$update" ]; then
        echo "$compiler $path $now" >>"$table"
    fi
    was=$(awk -v c="$compiler" -v p="$path" '$1 == c && $2 == p { print $3 }' "$table" 2>/dev/null)
    verdict=$(awk -v now="$now" -v was="${was:-0}" 'BEGIN {
        print (was == 0 ? "no-row" : (now > was * 1.03 ? "MORE" : (now < was * 0.97 ? "less" : "ok"))) }')
    echo "counts/$path $now instructions $compiler was=${was:-none} $verdict"
    [ "$verdict" = MORE ] && failed=1
done
[ $failed = 0 ] || echo "bench-counts: a hot path grew by more than 3%"
exit $failed
