#!/bin/sh
# usage: examples/mpi/table.sh [rounds [suffix]]
# The two programs on 1, 2 and 4 ranks, beside MPI alone and MPI + OpenMP, as a table: seconds, and
# in brackets the processor seconds of all ranks; the best of the rounds, which take turns. The
# suffix chooses an MPI (.openmpi, .mpich). CFLAGS: -O2. Where there are more threads than cores,
# OpenMP and Open MPI are told to yield while they wait; not for wsq, which does not wait there.
set -u
cd "$(dirname "$0")" || exit 1
rounds=${1:-3} mpi=${2-}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cores=$(getconf _NPROCESSORS_ONLN) options=
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
"mpicc$mpi" --showme:version 2>/dev/null | grep -q 'Open MPI' &&
    options='--oversubscribe --bind-to none'

compile() { # program, source, options...
    program=$1 source=$2
    shift 2
    "mpicc$mpi" -std=c11 -D_GNU_SOURCE ${CFLAGS:--O2} -DNDEBUG -pthread "$@" "$source" \
        -o "$work/$program" -lm || exit 1
}

measure() { # case, ranks, workers, program, arguments...
    case=$1 ranks=$2 workers=$3 program=$4
    shift 4
    unset OMP_WAIT_POLICY
    export OMPI_MCA_mpi_yield_when_idle=0
    if [ $((ranks * workers)) -gt "$cores" ] && [ "${program#*_}" != wsq ]; then
        export OMP_WAIT_POLICY=passive OMPI_MCA_mpi_yield_when_idle=1
    fi
    timeout 60 "mpirun$mpi" $options -n "$ranks" "$work/$program" -w "$workers" "$@" \
        >"$work/out" 2>&1 || echo 'failed s=60 cpu=0' >"$work/out"
    sed -n 's/.* \(s=[0-9.]* cpu=[0-9.]*\).*/\1/p' "$work/out" |
        sed "s/^/$case ${program#*_} $workers $ranks /" >>"$work/all"
}

each() { # case, program's name, arguments...
    case=$1 name=$2
    shift 2
    for ranks in 1 2 4; do
        measure $case $ranks 1 "${name}_mpi" "$@"
        for workers in 1 2; do
            measure $case $ranks $workers "${name}_wsq" "$@"
            measure $case $ranks $workers "${name}_openmp" "$@"
        done
    done
}

table() {
    sed 's/[a-z]*=//g' "$work/all" | sort -k1,1 -k2,2r -k3,3n -k4,4n -k5,5n | awk '
        $1 " " $2 " " $3 != row {
            if (row != "") print " |"
            row = $1 " " $2 " " $3
            printf "| %s: %s, %d thread%s", $1, $2, $3, $3 == 1 ? "" : "s"
            ranks = ""
        }
        $4 != ranks { printf " | %.3f (%.2f)", $5, $6; ranks = $4 }
        END { print " |" }'
}

for name in heat uts; do
    compile ${name}_wsq $name.c
    compile ${name}_mpi ${name}_plain.c
    compile ${name}_openmp ${name}_plain.c -fopenmp
done
for _ in $(seq "$rounds"); do
    each coarse heat -x 2000 -y 2000 -s 100
    each fine heat -x 400 -y 400 -s 2000
    each tree uts T3
done
model=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | sed -n 1p)
printf '%s, %s cores | %s | %s\n\n' "$model" "$cores" "$("mpicc$mpi" --version | sed -n 1p)" \
    "$("mpirun$mpi" --version | tr -s ' ' | sed -n '/[0-9][.][0-9]/{p;q}')"
echo '| s (processor s) | 1 rank | 2 ranks | 4 ranks |'
echo '|---|---|---|---|'
table
