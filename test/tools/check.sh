#!/bin/sh
# usage: test/tools/check.sh memcheck|analyze|coverage|fuzz|model
# Checks that need a tool beyond the compiler; without it they say so in one line and succeed.
set -u
cc=${CC:-cc}
flags='-std=c11 -D_GNU_SOURCE -g -pthread'
out=build/$1
failed=0

need() { # tool
    command -v "$1" >/dev/null && return
    echo "skip $out: $1 is not installed"
    exit 0
}

report() { # name, file with what it found: nothing is good
    if [ -s "$2" ]; then
        echo "FAIL  $1"
        sed 's/^/      /' "$2"
        failed=1
    else
        echo "ok    $1"
    fi
}

# The programs of these sources and their variants: name, source, flags.
programs() { # source ...
    for source; do echo "${source%.c} $source"; done
    ${MAKE:-make} -s variants | while read -r name source options; do
        case " $* " in *" $source "*) echo "$name $source $options" ;; esac
    done
}

# Every test, slowed down as many times as the tool slows it down.
memcheck() {
    need valgrind
    programs test/test_*.c test/stress/[!s]*.c >"$out/programs"
    while read -r name source options; do
        program=$out/$(basename "$name")
        "$cc" $flags $options -O1 -DTEST_SLOWDOWN=50 "$source" -o "$program" -lm || exit 1
        if timeout 900 valgrind -q --error-exitcode=9 --leak-check=full --fair-sched=yes \
            --max-threads=2000 "$program" >"$program.log" 2>&1 </dev/null; then
            echo "ok    memcheck $name"
        else
            echo "FAIL  memcheck $name"
            tail -n 30 "$program.log" | sed 's/^/      /'
            failed=1
        fi
    done <"$out/programs"
}

# What the analysers say and the code keeps, each with its reason: "#tidy" and "#cppcheck" lines are
# their options.
#tidy -*,clang-analyzer-*,bugprone-*,concurrency-*,misc-*,performance-*,portability-*
#   it asks for the functions of C11's annex K, which the usual libraries do not have
#tidy -clang-analyzer-security.insecureAPI.DeprecatedOrUnsafeBufferHandling
#   lines that two threads must not share are padded on purpose
#tidy -clang-analyzer-optin.performance.Padding
#   a range is a begin and an end
#tidy -bugprone-easily-swappable-parameters
#   at most 3 * 512 words, and 2 * 10,000 ns
#tidy -bugprone-implicit-widening-of-multiplication-result
#   loops split themselves, as deep as the logarithm of their length
#tidy -misc-no-recursion
#   a worker is found from a context's address, and a trap is an address that no entry has
#tidy -performance-no-int-to-ptr
#   POSIX and C: NULL is a null pointer of type void *
#cppcheck --suppress=varFuncNullUB
#   the pointer itself is what is stored in front of aligned memory
#cppcheck --suppress=pointerSize
#   the structures are filled through a pointer of another type, or hold storage that init fills
#cppcheck --suppress=uninitvar --suppress=ctuuninitvar
analyze() {
    whole=test/port/compile/implementation.c
    echo 'int main(void) { return 0; }' >"$out/probe.c"
    if gcc -fanalyzer -c "$out/probe.c" -o "$out/probe.o" 2>/dev/null; then
        gcc $flags -O2 -Wall -Wextra -fanalyzer -fdiagnostics-path-format=none -c "$whole" -o "$out/gcc.o" 2>"$out/gcc.log"
        report 'gcc -fanalyzer' "$out/gcc.log"
    else
        echo 'skip gcc -fanalyzer: this gcc has no analyzer'
    fi
    if command -v clang-tidy >/dev/null; then
        clang-tidy --quiet --header-filter='wsq\.h' --checks="$(sed -n 's/^#tidy //p' "$0" | tr '\n' ,)" \
            "$whole" -- $flags 2>/dev/null | grep -A 3 -E '(warning|error):' >"$out/tidy.log"
        report clang-tidy "$out/tidy.log"
    else
        echo 'skip clang-tidy: not installed'
    fi
    if command -v cppcheck >/dev/null; then
        cppcheck --quiet --std=c11 --enable=warning,performance,portability \
            $(sed -n 's/^#cppcheck //p' "$0") --suppress=missingIncludeSystem \
            -D__GNUC__ -D__linux__ -D__x86_64__ "$whole" 2>"$out/cppcheck.log"
        report cppcheck "$out/cppcheck.log"
    else
        echo 'skip cppcheck: not installed'
    fi
}

cover() { # platform, its macro, sources
    programs $3 >"$out/programs"
    while read -r name source options; do
        dir=$out/$1/$(basename "$name")
        mkdir -p "$dir"
        (gcc $flags $2 $options -O0 --coverage -fprofile-update=atomic -fprofile-abs-path \
            -DTEST_SLOWDOWN=5 -DTEST_COVERAGE -D__always_inline__=__unused__ "$source" -o "$dir/program" -lm -dumpdir "$dir/" &&
            WSQ_EXECUTIONS=1500 timeout 600 "$dir/program" >"$dir/log" 2>&1 </dev/null) || {
            echo "FAIL  coverage $1 $name"
            failed=1
        }
    done <"$out/programs"
    for what in '' --branches; do
        gcovr --root . --filter 'wsq\.h' --exclude-unreachable-branches --exclude-throw-branches \
            --exclude-lines-by-pattern '.*WSQ_ASSERT\(.*' $what "$out/$1" >"$out/$1$what.txt" || failed=1
        echo "$1 ${what:---lines}: $(grep '^wsq.h' "$out/$1$what.txt")"
    done
}

# Each platform by itself: they define the same functions; each function once, not in each place where
# it is inlined. The explorer, which has another one, shows
# the compare-and-swaps that fail. What is left out is listed line by line.
coverage() {
    need gcovr
    need gcc
    rm -rf "${out:?}"/*
    cover futex '' 'test/test_*.c test/stress/[!s]*.c test/explore/explore_[!l]*.c'
    cover pthread -DWSQ_FORCE_PTHREAD 'test/test_*.c test/stress/[!s]*.c'
}

# Random programs; random configurations; lives in which memory and threads are missing. Each has a part
# of FUZZ_SECONDS, and a corpus of its own.
fuzz() {
    need clang
    echo 'int LLVMFuzzerTestOneInput(const char *bytes, unsigned long n) { return bytes && n > 9 ? 0 : 0; }' >"$out/probe.c"
    if ! clang -fsanitize=fuzzer,address "$out/probe.c" -o "$out/probe" 2>"$out/clang.log"; then
        echo "skip $out: this clang has no libFuzzer ($(tail -n 1 "$out/clang.log"))"
        exit 0
    fi
    for target in programs configs lives; do
        clang $flags -O1 -fsanitize=fuzzer,address -DWSQ_FUZZ test/stress/$target.c -o "$out/$target" || exit 1
        mkdir -p "$out/corpus/$target"
        "$out/$target" -max_total_time=$((${FUZZ_SECONDS:-60} / 3 + 1)) -max_len=280 -len_control=0 -timeout=60 \
            -print_final_stats=1 -artifact_prefix="$out/$target-" "$out/corpus/$target" >"$out/$target.log" 2>&1 || {
            failed=1
            tail -n 40 "$out/$target.log"
        }
        echo "$target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$out/$target.log") executed"
    done
}

# Every harness in both memory models. What explores no complete execution has proved nothing.
model() {
    need genmc
    for source in test/model/*.c; do
        for memory in rc11 imm; do
            log=$out/$(basename "$source" .c).$memory
            genmc --"$memory" --check-liveness -- -I. -ffp-contract=off -g0 "$source" \
                >"$log" 2>&1
            status=$?
            count=$(sed -n 's/.*complete executions explored: *\([0-9]*\).*/\1/p' "$log")
            if [ $status -ne 0 ]; then
                echo "FAIL  $source $memory"
                tail -n 30 "$log" | sed 's/^/      /'
                failed=1
            elif [ "${count:-0}" -eq 0 ]; then
                echo "FAIL  $source $memory: no execution is complete, so nothing was proved"
                failed=1
            else
                echo "ok    $source $memory: $count executions"
            fi
        done
    done
}

mkdir -p "$out"
case $1 in
memcheck | analyze | coverage | fuzz | model) "$1" ;;
*) echo "usage: test/tools/check.sh memcheck|analyze|coverage|fuzz|model"; failed=2 ;;
esac
exit $failed
