#!/bin/sh
# usage: test/tools/rules.sh [-n COUNT] [-s SEED] [SECTION | NAME] ...
#        test/tools/rules.sh -l [SECTION] ...        lists the mutants
#        test/tools/rules.sh -c                      lists the proofs that fit no mutant any more
# Mutants by rule, not by choice (rules.awk says which rules): a sample of COUNT (60) by SEED (1), of
# these sections of wsq.h (>>platform and >>atomic are never among them). All are compiled into each
# program, which WSQ_MUTANT tells the one that is there. The programs run one after the other, quick
# ones first, with every mutant that is still alive and that they reach: all of them short at first, then
# those that have a length once more with WSQ_SCALE. limit.c ends a program that hangs.
# One line per mutant; the last line is the share that was killed. Constants that the compiler must know
# have programs of their own.
# PROGRAMS="progress/hangs progress/oracle": only these. JOBS=2: runs at a time.
# What is not compiled here is not counted, nor what equivalents.txt proves to make no difference.
CC=${CC:-cc} dir=${B:-build}/rules jobs=${JOBS:-2} short=0.05
flags='-std=c11 -w -D_GNU_SOURCE -DWSQ_STATIC -pthread'
scale=${WSQ_SCALE-0.3}
case $($CC --version) in *clang*) many=-ferror-limit=0 ;; *) many=-fmax-errors=0 ;; esac
export WSQ_SEED=1 WSQ_STOP=1
count=60 seed=1 list=false checks=false

while getopts n:s:lc option; do
    case $option in
    n) count=$OPTARG ;;
    s) seed=$OPTARG ;;
    l) list=true ;;
    c) checks=true ;;
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
    mutants | cut -f 1-4
    exit
fi

if $checks; then
    mutants | awk -F '\t' 'NR == FNR { name = $1; sub(/.*\./, "", name); n[$3, $4]; n[$3, $4, name]; next }
        !/^#/ && NF >= 3 { fits = NF == 3 ? ($1, $2) in n : ($1, $2, $4) in n
            if (!fits) { print $1 ": " $2; stale = 1 } }
        END { exit stale }' - test/tools/equivalents.txt
    exit
fi

# Quick ones that notice much come first.
programs() {
    [ -n "$PROGRAMS" ] && echo "$PROGRAMS" | tr ' ' '\n' && return
    for name in test_idle progress/exact_calls progress/exact_looks progress/exact_permits progress/exact_events progress/exact_passes progress/exact_wakes progress/exact_here progress/exact_jobs progress/exact_stop test_results test_interface \
        test_cancel test_corners test_tune test_random test_topology test_dump test_timer_clock test_group_cancel \
        test_hooks test_budget test_guest test_lent test_fork test_pool test_system test_graph test_future test_order test_overflow \
        test_group test_after test_task test_lifo test_deque test_ring test_shutdown test_help test_lane \
        progress/exact_waits progress/exact_soon progress/exact progress/exact_moves test_standin test_misuse test_timer test_driver \
        test_priority test_fair test_spin test_host test_forkjoin test_parallel \
        $(cd test && ls explore/explore_*.c | grep -v 'litmus' | sed 's/\.c$//') \
        $(cd test && ls test_*.c | sed 's/\.c$//') stress/compose stress/lives stress/programs2 stress/programs3 \
        stress/configs stress/programs progress/hangs progress/oracle; do
        [ -f "test/$name.c" ] && echo "$name"
        sed -n "s|^test/\([^ ]*\) test/$name\.c .*|\1|p" "$dir/variants"
    done | awk '!seen[$0]++'
}

with() { # which mutants are in the header
    awk -v sample="$dir/$1" -f "$dir/test/tools/rules.awk" "$dir/original.h" >"$dir/wsq.h"
}

# Copies the sample without what does not compile as an expression: there a constant is needed.
sort_out() {
    awk -F '\t' '$12 == "constant"' "$dir/sample" >"$dir/own"
    awk -F '\t' '$12 != "constant"' "$dir/sample" >"$dir/rest"
    mv "$dir/rest" "$dir/sample"
    with sample
    $CC $flags -E -P -include $dir/test/tools/mutant.h "$dir/test/test_pool.c" 2>/dev/null |
        grep -o 'wsqi_reached\[[0-9]*\]' | tr -dc '0-9\n' | sort -un >"$dir/compiled"
    for try in 1 2 3 4 5 6; do
        $CC $flags -fsyntax-only $many -include $dir/test/tools/mutant.h "$dir/test/test_pool.c" 2>"$dir/log" && break
        # An array's size is reported where its declaration begins.
        sed -n 's/.*wsq\.h:\([0-9]*\):.*error.*/\1/p' "$dir/log" | awk '{ print $1; print $1 + 1 }' >"$dir/lines"
        awk -F '\t' 'NR == FNR { bad[$1]; next } $6 in bad || $9 in bad' "$dir/lines" "$dir/sample" >>"$dir/own"
        awk -F '\t' 'NR == FNR { bad[$1]; next } !($6 in bad || $9 in bad)' "$dir/lines" "$dir/sample" >"$dir/rest"
        mv "$dir/rest" "$dir/sample"
        with sample
    done
}

source_of() { # program: its source, and its flags if it is a variant
    variant=$(sed -n "s|^test/$1 ||p" "$dir/variants")
    echo "${variant:-test/$1.c}"
}

compile() { # program, file, more flags
    variant=$(source_of "$1")
    case $variant in *' '*) more=${variant#* } ;; *) more= ;; esac
    $CC $flags -O0 "$3" $more "$dir/${variant%% *}" -o "$2" -lm 2>"$dir/log"
}

say() { # verdict, number, remark
    awk -F '\t' -v verdict="$1" -v number="$2" -v remark="$3" '$1 == number {
        printf "%-9s %s >>%s %s: %s%s\n", verdict, $2, $3, $4, $5, remark == "" ? "" : " (" remark ")" }' \
        "$dir/all" | tee -a "$dir/results"
}

# Runs the program with each of these mutants. Those that it notices are dead.
hunt() { # program, its file; numbers from the standard input
    xargs -P "$jobs" -I NUMBER sh -c "WSQ_MUTANT=NUMBER $dir/limit $limits $2 >$dir/noise 2>&1 || echo NUMBER" |
        while read -r number; do
            echo "$number" >>"$dir/dead"
            say killed "$number" "$1"
        done
}

# Runs the program as it is: sets limits, of what a run takes with a mutant. False: it fails by itself.
measure() { # its file
    LIMIT_REPORT="$dir/report" WSQ_REACHED="$dir/reached" "$dir/limit" 120 600 60 "$1" >"$dir/noise" 2>&1 || return 1
    limits=$(awk '{ print 0.5 + 6 * $1, 120 + 20 * $2, 3 + 3 * $3 }' "$dir/report")
}

alive() { awk -v list="$dir/dead" 'BEGIN { while ((getline number < list) > 0) dead[number] } !($1 in dead)' "$dir/$1"; }

rm -rf "$dir"
mkdir -p "$dir/bench" "$dir/examples" "$dir/bin/explore" "$dir/bin/progress" "$dir/bin/stress"
cp wsq.h "$dir/original.h" # what is edited meanwhile does not count
cp -r test "$dir"
cp -r bench/sim "$dir/bench"
cp examples/*.h "$dir/examples"
$CC -O1 -w test/tools/limit.c -o "$dir/limit" || exit 2
${MAKE:-make} -s variants >"$dir/variants" # "name source flags"
mutants | awk -v seed="$seed" 'BEGIN { srand(seed) } { print rand() "\t" $0 }' | sort | head -n "$count" |
    cut -f 2- | awk '{ print NR "\t" $0 }' >"$dir/sample"
cp "$dir/sample" "$dir/all"
: >"$dir/dead"
: >"$dir/results"
: >"$dir/reached_ever"
sort_out
# What is not compiled here, and what makes no difference.
awk -F '\t' '{ print $1 }' "$dir/sample" | awk 'NR == FNR { here[$1]; next } !($1 in here)' "$dir/compiled" - |
    while read -r number; do
        echo "$number" >>"$dir/dead"
        say skip "$number" 'not compiled here'
    done
awk -F '\t' 'NR == FNR { if ($0 !~ /^#/ && NF >= 3) proof[$1 "\t" $2 "\t" $4] = $3; next }
    { key = $4 "\t" $5 "\t"; sub(/.*\./, "", $2); if (!(key in proof)) key = key $2 }
    key in proof { print $1 "\t" proof[key] }' test/tools/equivalents.txt "$dir/all" |
    while IFS='	' read -r number why; do
        echo "$number" >>"$dir/dead"
        say equal "$number" "$why"
    done
for WSQ_SCALE in $short $([ "$scale" = "$short" ] || echo "$scale"); do
    export WSQ_SCALE
    for program in $(programs); do
        alive sample | cut -f 1 >"$dir/numbers"
        [ -s "$dir/numbers" ] || break
        file=$dir/bin/$program
        if [ "$WSQ_SCALE" = $short ]; then
            compile "$program" "$file" "-include$dir/test/tools/mutant.h" || continue
        elif ! [ -x "$file" ] ||
            ! grep -q 'test_times\|test_scale\|explore\.h\|WSQ_SCALE' "$dir/$(source_of "$program" | cut -d ' ' -f 1)"; then
            continue
        fi
        measure "$file" || { echo "# $program fails by itself"; continue; }
        od -An -v -tu1 -w1 "$dir/reached" | awk 'NR == 1 { print 0 } $1 { print NR - 1 }' >"$dir/here"
        cat "$dir/here" >>"$dir/reached_ever"
        awk 'NR == FNR { here[$1]; next } $1 in here' "$dir/here" "$dir/numbers" | hunt "$program" "$file"
        echo "$program $WSQ_SCALE $(cat "$dir/report") $(wc -l <"$dir/numbers") $(date +%T)" >>"$dir/times"
    done
done
export WSQ_SCALE=$scale
cut -f 1 "$dir/own" | while read -r number; do
    grep -qx "$number" "$dir/dead" && continue
    awk -F '\t' -v number="$number" '$1 == number' "$dir/own" >"$dir/sample_one"
    with sample_one
    limits='30 600 30'
    for program in $(programs); do
        compile "$program" "$dir/program" "-DWSQI_MUTANT(number)=1" || { say skip "$number" 'does not compile'; echo "$number" >>"$dir/dead"; break; }
        echo "$number" | hunt "$program" "$dir/program"
        grep -qx "$number" "$dir/dead" && break
    done </dev/null
done
alive all | cut -f 1 | while read -r number; do
    if grep -qx "$number" "$dir/reached_ever"; then say SURVIVED "$number"; else say SURVIVED "$number" 'never reached'; fi
done
awk '{ n[$1]++ } END {
    all = n["killed"] + n["SURVIVED"]
    printf "%d killed of %d (%.1f%%), %d equal, %d skipped\n", n["killed"], all, all ? 100 * n["killed"] / all : 0,
        n["equal"], n["skip"]
    exit all == 0 }' "$dir/results"
