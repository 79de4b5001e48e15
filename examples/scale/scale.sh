#!/bin/sh
# What would this program do on 64 cores? See README.md beside this file.
#
#   scale.sh [compiler's options] file.c... [-- the program's arguments]
#
# CC, CFLAGS (-O2), and in the environment WSQ_SCALE=2,8,64: the numbers of cores;
# WSQ_SCALE_MACHINE=16: another of ../../bench/sim/machine.h; WSQ_SCALE_SVG: the plot, scale.svg;
# WSQ_SCALE_SHOW=1: what the program prints.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
if [ $# -eq 0 ]; then
    echo "scale.sh: which program? scale.sh [compiler's options] file.c... [-- its arguments]" >&2
    exit 2
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
name=program
while [ $# -gt 0 ]; do
    word=$1
    shift
    [ "$word" != -- ] || break
    case $name:$word in program:*.c) name=$(basename "$word" .c) ;; esac
    printf '"%s"\n' "$word" >> "$work/options"
done
# shellcheck disable=SC2086
${CC:-cc} ${CFLAGS:--O2} -DNDEBUG -I"$root" -include "$root/examples/scale/scale.h" \
    "@$work/options" -o "$work/$name" -pthread -lm
"$work/$name" "$@"
