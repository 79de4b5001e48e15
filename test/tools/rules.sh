#!/bin/sh
# usage: test/tools/rules.sh [-n COUNT] [-s SEED] [SECTION | NAME] ...
#        test/tools/rules.sh -l [SECTION] ...        lists the mutants
# Mutants by rule, not by choice (rules.awk says which rules): a sample of COUNT (20) by SEED (1), of
# these sections of wsq.h (>>platform and >>atomic are never among them), each run against the tests
# until one notices. One line per mutant; the last line is the share that was killed. A mutant that
# does not compile, or of lines that are not compiled here, is not counted. A mutant that lives takes
# two minutes: every program is compiled for it.
CC=${CC:-cc} dir=${B:-build}/rules
flags="-std=c11 -w -D_GNU_SOURCE -DWSQ_STATIC -O0 -pthread"
count=20 seed=1 list=false

while getopts n:s:l option; do
    case $option in
    n) count=$OPTARG ;;
    s) seed=$OPTARG ;;
    l) list=true ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))

wanted=" $* "
mutants() {
    awk -f test/tools/rules.awk wsq.h | awk -F '\t' -v wanted="$wanted" '
        wanted ~ /^ *$/ || index(wanted, " " $2 " ") || index(wanted, " " $1 " ")'
}
if $list; then
    mutants | cut -f 1-3,5
    exit
fi

# Those that most often notice come first; what the section is called, before all.
programs() { # section
    for name in test/test_$1 test/explore/explore_$1 test/test_interface test/test_task test/test_pool \
        test/test_corners test/test_standin test/test_faults test/stress/programs test/stress/programs2 \
        test/test_hooks $(ls test/test_*.c test/stress/compose.c test/explore/explore_*.c |
            grep -v 'litmus\|deque\.c' | sed 's/\.c$//') test/explore/explore_deque; do
        [ -f "$name.c" ] && echo "$name"
    done | awk '!seen[$0]++'
}

say() { # verdict, rest
    printf '%-9s %s\n' "$1" "$2" | tee -a "$dir/results"
}

mutant() { # name, section, function, edits, what
    label="$1 >>$2 $3: $5"
    rm -rf "$dir/one"
    mkdir -p "$dir/one"
    cp -r "$dir/test" "$dir/bench" "$dir/one"
    awk -v edits="$4" -f test/tools/rules.awk "$dir/wsq.h" >"$dir/one/wsq.h"
    $CC $flags -E -P "$dir/one/test/test_pool.c" -o "$dir/one/text" 2>/dev/null
    if cmp -s "$dir/one/text" "$dir/text"; then
        say skip "$label (not compiled here)"
        return
    fi
    for program in $(programs "$2"); do
        case $program in
        *explore*) more='-O1' ;; # which may have its own switch of stacks
        *) more= ;;
        esac
        if ! $CC $flags $more "$dir/one/$program.c" -o "$dir/one/program" -lm 2>"$dir/one/log"; then
            say skip "$label (does not compile)"
            return
        fi
        WSQ_SEED=1 WSQ_SCALE=0.3 WSQ_EXECUTIONS=1000 timeout 60 "$dir/one/program" >"$dir/one/log" 2>&1 && continue
        say killed "$label ($program)"
        return
    done
    say SURVIVED "$label"
}

rm -rf "$dir"
mkdir -p "$dir/bench"
cp wsq.h "$dir" # what is edited meanwhile does not count
cp -r test "$dir"
cp -r bench/sim "$dir/bench"
$CC $flags -E -P "$dir/test/test_pool.c" -o "$dir/text" || exit 2
mutants | awk -v seed="$seed" 'BEGIN { srand(seed) } { print rand() "\t" $0 }' | sort | head -n "$count" | cut -f 2- >"$dir/sample"
while IFS='	' read -r name section in edits what; do
    mutant "$name" "$section" "$in" "$edits" "$what" </dev/null
done <"$dir/sample"
awk '{ n[$1]++ } END {
    all = n["killed"] + n["SURVIVED"]
    printf "%d killed of %d (%.0f%%), %d skipped\n", n["killed"], all, all ? 100 * n["killed"] / all : 0, n["skip"]
    exit all == 0 }' "$dir/results"
