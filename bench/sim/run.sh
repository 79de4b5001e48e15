#!/bin/sh
# Asks the simulated machines: tables on standard output, rows and plots in BUILD/sim.
#
#   run.sh BUILD [-q]      -q: the machine of 128 cores only, fewer numbers of workers
set -eu
if [ $# -lt 1 ] || [ ! -x "$1/bench/sim/questions" ]; then
    echo "run.sh: ${1:-BUILD}/bench/sim/questions is not there: make sim builds it" >&2
    exit 2
fi
build=$1
out=$build/sim
mkdir -p "$out"
"$build/bench/sim/litmus"
echo "# wsq.h in virtual time; $(${CC:-cc} --version | head -n 1)"
if [ "${2:-}" = -q ]; then
    "$build/bench/sim/questions" -q -c "$out/128.csv"
else
    for machine in here 16 64 128; do
        "$build/bench/sim/questions" -m $machine -c "$out/$machine.csv"
    done
    "$build/bench/sim/questions" -q -m 1024 -n 64 -n 256 -n 1024 -c "$out/1024.csv" \
        weak spread load steps
    "$build/bench/sim/questions" -q -m 1024 -n 512 hot
fi
if ! command -v gnuplot > /dev/null; then
    echo "# no plots: gnuplot is not installed"
    exit 0
fi
for csv in "$out"/*.csv; do sh bench/sim/plot.sh "$csv" "${csv%.csv}"; done
ls "$out"/*.svg
