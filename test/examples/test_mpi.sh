#!/bin/sh
# usage: test/examples/test_mpi.sh [build directory]
# examples/mpi with every MPI that is installed: the same results on 1 to 4 ranks and without wsq,
# published node counts, odd sizes, bad arguments, timelines, and ranks that die or do not answer.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${1:-${B:-build}}/mpi
work=$(mktemp -d) || exit 1
failed=0 launched=
trap 'end_launched; rm -rf "$work"' EXIT

fail() { # text
    echo "FAIL  $mpi: $*"
    failed=1
}

end_launched() {
    [ -z "$launched" ] || kill "$launched" 2>/dev/null
    launched=
}

# Where an MPI has a suffix beside the others (Debian: mpicc.openmpi), each is tried.
installed() {
    for suffix in .openmpi .mpich; do
        command -v mpicc$suffix >/dev/null && command -v mpirun$suffix >/dev/null && echo $suffix
    done
}

# Open MPI refuses to start as root, to start more ranks than cores, and to let the threads of a
# rank leave its core, unless it is told.
choose() { # suffix
    mpi=mpicc$1
    mpicc=mpicc$1 mpirun=mpirun$1 options=
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    if "$mpicc" --showme:version 2>/dev/null | grep -q 'Open MPI'; then
        options='--oversubscribe --bind-to none'
    fi
    bin=$build$1
    mkdir -p "$bin"
}

# With the header's assertions. Only what is older than its sources.
compile() { # program, source, options...
    program=$bin/$1 source=examples/mpi/$2
    shift 2
    if [ -x "$program" ] && [ -z "$(find wsq.h examples/trace.h bench/uts.h examples/mpi/*.[ch] \
        -newer "$program")" ]; then return; fi
    "$mpicc" -std=c11 -D_GNU_SOURCE -DWSQ_STATIC -Wall -Wextra -Wpedantic -Wshadow -Wconversion \
        -Wcast-align -Wstrict-prototypes -Werror -O1 -pthread "$@" "$source" -o "$program" -lm ||
        fail "$source does not compile"
}

compile_all() {
    compile heat heat.c
    compile uts uts.c
    compile heat_mpi heat_plain.c -Wno-unknown-pragmas
    compile uts_mpi uts_plain.c -Wno-unknown-pragmas
    compile heat_openmp heat_plain.c -fopenmp
    compile uts_openmp uts_plain.c -fopenmp
}

# Open MPI yields the processor at each question where ranks share cores: good for what spins.
launch() { # ranks, command...
    ranks=$1
    shift
    case ${1##*/} in *_*) yield=1 ;; *) yield=0 ;; esac
    OMPI_MCA_mpi_yield_when_idle=$yield timeout 100 "$mpirun" $options -n "$ranks" "$@" \
        </dev/null >"$work/out" 2>"$work/err"
}

run() { # ranks, program, arguments
    ranks=$1 command=$2
    shift 2
    launch "$ranks" "$bin/$command" "$@" && return
    fail "$ranks ranks, $command $*: exit $?"
    tail -n 20 "$work/out" "$work/err" | sed 's/^/      /'
    exit 1
}

hash() {
    sed -n 's/.*hash=//p' "$work/out"
}

# ---- heat ----

same_field() { # ranks, program, arguments
    run "$@" -c
    grep -q 'heat: as one rank alone' "$work/out" || fail "$*: not as one rank alone"
    : "${expected:=$(hash)}"
    [ "$(hash)" = "$expected" ] || fail "$*: the hash is $(hash) instead of $expected"
}

heat() {
    expected=
    for ranks in 1 2 3 4; do
        same_field $ranks heat -w 2 -x 60 -y 101 -s 40 -o "$work/heat.ppm"
    done
    same_field 3 heat -w 1 -x 60 -y 101 -s 40 -b 1 -p
    grep -q '100 %' "$work/err" || fail 'heat shows no progress'
    same_field 3 heat_mpi -x 60 -y 101 -s 40
    OMP_WAIT_POLICY=passive same_field 2 heat_openmp -w 2 -x 60 -y 101 -s 40
    [ "$(head -c 15 "$work/heat.ppm" | tr '\n' ' ')" = 'P6 60 101 255 ' ] || fail 'no picture'
    [ "$(wc -c <"$work/heat.ppm")" -eq $((14 + 3 * 60 * 101)) ] || fail 'half a picture'
    for sizes in '-x 60 -y 2 -s 9' '-x 1 -y 1 -s 9' '-x 7 -y 4 -s 1' '-x 7 -y 9 -s 0' \
        '-x 20000 -y 9 -s 9'; do
        expected=
        for ranks in 1 3 4; do same_field $ranks heat -w 2 $sizes; done
    done
}

# ---- uts ----

tree() { # ranks, program, arguments
    run "$@"
    grep -q 'uts: as published' "$work/out" || fail "$*: a wrong count"
}

uts() { # a published tree
    for ranks in 1 2 3 4; do tree $ranks uts -w 2 small; done
    tree 3 uts -w 1 small
    tree 3 uts_mpi small
    OMP_WAIT_POLICY=passive tree 2 uts_openmp -w 2 small
    tree 3 uts -w 2 "$1"
}

# ---- arguments, timelines ----

refused() { # program, arguments
    program=$1
    shift
    launch 3 "$bin/$program" "$@" && fail "$program $* is accepted"
    [ "$(grep -c '^usage:' "$work/err")" -eq 1 ] || fail "$program $*: not one usage line"
}

arguments() {
    refused heat -w 0
    refused heat -x ten
    refused heat -s -1
    refused heat more
    launch 3 "$bin/heat" -w 2 -x 9 -y 9 -s 9 -o "$work/none/heat.ppm" && fail 'a lost picture'
    grep -q 'none/heat.ppm: No such file' "$work/err" || fail 'heat does not say why'
    refused uts -w
    refused uts -w 2x
    refused uts T9
    refused uts T1 T3
}

timeline() {
    run 3 heat -w 2 -x 300 -y 300 -s 10 -t "$work/heat"
    run 3 uts -w 2 -t "$work/uts" small
    for program in heat uts; do
        sh examples/mpi/merge.sh "$work/$program".[012].json >"$work/$program.json"
        for rank in 0 1 2; do
            grep -q "\"rank $rank worker [01]\"" "$work/$program.json" ||
                fail "the timeline of $program has no lane for rank $rank"
        done
        grep -q '"dropped":0' "$work/$program.json" || fail "the timeline of $program is not whole"
        if ! command -v python3 >/dev/null; then
            echo 'skip  JSON parser: needs python3 (Debian: python3)'
            continue
        fi
        python3 -m json.tool "$work/$program.json" >/dev/null ||
            fail "the timeline of $program is not JSON"
        for rank in 0 1 2; do
            python3 test/examples/check_trace.py "$work/$program.$rank.json" ||
                fail "the timeline of rank $rank of $program"
        done
    done
    grep -q '"name":"under way","ph":"X","pid":1,' "$work/heat.json" || fail 'no halo on its way'
}

# ---- faults: whatever happens to one rank, the launcher ends, soon, and says that it failed ----

# Rank 1 gets the arguments that follow "--" instead. Each rank writes its own errors: what one that
# aborts wrote last, a launcher that is told to end may no longer pass on.
one_differs='rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-${PMIX_RANK:-0}}}
    if [ "$rank" = 1 ]; then while [ "$1" != -- ]; do shift; done; shift; fi
    program=$1; shift; count=0
    for word; do [ "$word" != -- ] || break; count=$((count + 1)); done
    if [ "$rank" != 1 ]; then set -- $(echo "$@" | sed "s/ -- .*//"); fi
    echo $$ >"$PIDS.$rank"; exec "$program" "$@" 2>"$PIDS.$rank.err"'

dies_alone() { # program, its arguments; rank 1 fails when it opens its trace
    program=$bin/$1
    shift
    launch 3 sh -c "$one_differs" sh "$program" "$@" -- "$program" "$@" -t "$work/none/trace" &&
        fail "$program: a rank that gives up is not noticed"
    grep -q 'no trace' "$PIDS.1.err" || fail "$program: a rank that gives up does not say why"
}

# A rank gets a signal in the middle of its work: no launcher notices a rank that stands still.
struck() { # signal, program, arguments
    signal=$1 program=$bin/$2
    shift 2
    rm -f "$PIDS".*
    timeout 100 "$mpirun" $options -n 3 sh -c "$one_differs" sh "$program" "$@" -- "$program" "$@" \
        </dev/null >"$work/out" 2>"$work/err" &
    launched=$!
    for _ in $(seq 100); do
        [ -s "$PIDS.0" ] && [ -s "$PIDS.1" ] && [ -s "$PIDS.2" ] && break
        sleep 0.1
    done
    case $* in *-p*) await_start ;; esac
    sleep 1
    kill -s "$signal" "$(cat "$PIDS.1")" || fail "$program: rank 1 is not there"
    wait "$launched"
    code=$?
    launched=
    [ $code -ne 0 ] && [ $code -ne 124 ] || fail "$program: after SIG$signal: exit $code"
    [ -s "$work/err" ] || [ -s "$work/out" ] || grep -q . "$PIDS".?.err || fail "$program: SIG$signal without a word"
    for rank in 0 1 2; do survivor "$(cat "$PIDS.$rank")"; done
}

await_start() {
    for _ in $(seq 600); do
        grep -q ' 0 %' "$PIDS.0.err" && break
        sleep 0.1
    done
}

survivor() { # process id
    for _ in $(seq 100); do
        kill -0 "$1" 2>/dev/null || return
        sleep 0.1
    done
    fail "$program: process $1 goes on"
    kill -s KILL "$1"
}

faults() {
    export PIDS="$work/pid"
    dies_alone heat -w 2 -x 300 -y 300 -s 10
    dies_alone uts -w 2 small
    struck KILL heat -w 2 -x 300 -y 300 -s 100000000 -p
    struck KILL uts -w 2 T3L
    struck STOP heat -w 2 -x 300 -y 300 -s 100000000 -p -d 1
    grep -q 'another rank does not answer' "$PIDS".?.err || fail 'heat waits for a stopped rank'
}

found=$(installed)
if [ -z "$found" ] && command -v mpicc >/dev/null && command -v mpirun >/dev/null; then
    found=-
fi
if [ -z "$found" ]; then
    echo 'skip  examples/mpi: needs an MPI (Debian: libopenmpi-dev openmpi-bin, or libmpich-dev)'
    exit 0
fi
published=T3
for suffix in $found; do
    choose "${suffix#-}"
    compile_all
    [ $failed -eq 0 ] || break
    heat
    uts $published
    arguments
    timeline
    faults
    published=T1
done
exit $failed
