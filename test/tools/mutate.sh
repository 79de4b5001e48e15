#!/bin/sh
# usage: test/tools/mutate.sh [mutant ...]    all, or those given by name, label, or a label's letter
#        test/tools/mutate.sh --check         does every mutant still fit wsq.h? says which do not
#        test/tools/mutate.sh --table         the last run as the table in test/README.md
# Weakens wsq.h in one place at a time, as test/tools/mutants.txt says, and runs the programs that should
# notice. One line per mutant; the last line is "N killed, N equivalent of N".
# Fails if a mutant survives that is not marked as equivalent, if one that is marked so is killed, or
# if one does not fit wsq.h any more or does not compile.
table=test/tools/mutants.txt dir=${B:-build}/mutate # the programs run there
CC=${CC:-cc}
flags='-std=c11 -w -D_GNU_SOURCE -pthread'
# How to compile, and executions of each scenario: most mutants do not live through the first pass.
passes='-O0:200 -O1:4000 -O1:40000 -O1:200000' proof_passes='-O1:4000'

# Writes wsq.h with the mutant's edits. Blanks and comments do not count in the comparison.
edit='
function squeeze(text) { gsub(/[ \t\n]/, "", text); return text }
# Sets shrunk and where[]: the text without comments and blanks, and where its characters were.
function shrink(text,   i, c, n) {
    shrunk = ""
    split("", where)
    for (i = 1; i <= length(text); i++) {
        c = substr(text, i, 1)
        if (substr(text, i, 2) == "/*") {
            i += index(substr(text, i + 2), "*/") + 2
        } else if (c !~ /[ \t\n]/) {
            shrunk = shrunk c
            where[++n] = i
        }
    }
}
function change(text, k,   at, after) {
    shrink(text)
    at = index(shrunk, old[k])
    if (at == 0) return text
    if (index(substr(shrunk, at + 1), old[k])) found[k]++
    found[k]++
    after = where[at + length(old[k]) - 1]
    return substr(text, 1, where[at] - 1) new[k] substr(text, after + 1)
}
function flush_body(   k) {
    for (k = 1; k <= edits; k++)
        if (name ~ ("(^|[^A-Za-z0-9_])" in_function[k] "\\(")) body = change(body, k)
    printf "%s", body
    state = body = ""
}
FNR == NR {
    if ($0 ~ /^[^ #]/) mine = $1 == wanted ":"
    if (!mine || $0 !~ /^ /) next
    sign = $1
    line = $0
    sub(/^ +[^ ]+ ?/, "", line)
    if (sign == "in") function_now = $2
    if (sign == "-" && last != "-") in_function[++edits] = function_now
    if (sign == "-") old[edits] = old[edits] squeeze(line)
    if (sign == "+") new[edits] = new[edits] (last == "+" ? "\n" : "") line
    last = sign
    next
}
state == "" && /^[A-Za-z].*\(/ { state = "head"; name = "" }
state == "" { print; next }
{ body = body $0 "\n" }
state == "head" { name = name $0 " " }
state == "head" && /;$/ && !/\{/ { printf "%s", body; state = body = ""; next }
state == "head" && /\{/ { state = "body"; if (/\}$/) { flush_body(); next } }
state == "body" && /^\}/ { flush_body() }
END {
    for (k = 1; k <= edits; k++) if (found[k] != 1) {
        printf "%s %d times: %s\n", in_function[k], found[k], old[k] >"/dev/stderr"
        bad = 1
    }
    exit bad || !edits
}'

say() { # verdict, mutant, remark
    printf '%-10s  %-18s %s\n' "$1" "$2" "$3" | tee "$dir/$2/result"
}

# Runs one program against the mutant; true if it found a violation.
finds() { # mutant, program, executions
    ! WSQ_EXECUTIONS=$3 "$dir/$1/$2" >"$dir/$1/log" 2>&1
}

# One row for each mutant of the last run, in the order of mutants.txt.
print_table() {
    echo '| Mutant | In | Verdict |'
    echo '|---|---|---|'
    awk 'FILENAME ~ /result$/ { name = $2; verdict[name] = $1; remark = $0
            sub(/^[^ ]+ +[^ ]+ +/, "", remark)
            if (match(remark, /\): [a-z ]+/)) remark = substr(remark, 1, RSTART + RLENGTH - 1)
            sub(/ (at|by|of|after) *$/, "", remark); said[name] = remark; next }
        /^[^ #]/ { name = $1; sub(/:$/, "", name); if (name in verdict) order[++count] = name }
        $1 == "in" && !(name in where) { where[name] = $2 }
        END { for (i = 1; i <= count; i++) { name = order[i]
            printf "| %s | `%s` | %s: %s |\n", name, where[name], verdict[name], said[name] } }
        ' $dir/*/result $table
}

# The source of a program, and the flags that make it one.
source_of() { # program
    case $1 in
    test_*) path=test/$1 ;;
    exact* | hangs | oracle*) path=test/progress/$1 ;;
    *)
        path=test/explore/explore_$1
        for folder in stress progress; do [ -f "test/$folder/$1.c" ] && path=test/$folder/$1; done
        ;;
    esac
    sed -n "s|^$path ||p" $variants | grep . || echo "$path.c"
}

# What a failed program said, in one line.
reason() { # log
    awk '/FAILED in execution|after start$/ { scenario = $0; sub(/ +FAILED.*/, "", scenario)
            number = $0; sub(/.*execution /, "", number); sub(/,.*/, "", number)
            getline; gsub(/^ +|[^ ]*mutate\/[^ ]*\/(\.\.|test|explore)\//, "")
            printf "%s (%s): %.90s\n", scenario, number, $0; exit }
        /no point is reached|: crash at/ { print; exit }' "$1"
}

# Why the mutant makes no difference, if it does not.
proof_of() { # name
    awk -v wanted="$1:" '/^[^ #]/ { mine = $1 == wanted }
        mine && $1 == "=" { sub(/^ *= */, ""); print }' $table
}

mutant() { # name
    programs=$(sed -n "s/^$1: *//p" $table)
    proof=$(proof_of $1)
    mkdir -p $dir/$1
    if ! awk -v wanted="$1" "$edit" $table $dir/wsq.h >$dir/$1/wsq.h 2>$dir/$1/log; then
        say STALE "$1" "$(head -n 1 $dir/$1/log)"
        return
    fi
    $checks && return
    cp -r $dir/test $dir/bench $dir/examples $dir/$1
    tries=$passes
    [ -n "$proof" ] && tries=$proof_passes
    for try in $tries; do
        for program in $programs; do
            if ! $CC $flags ${try%:*} $dir/$1/$(source_of $program) -o $dir/$1/$program -lm >$dir/$1/log 2>&1; then
                say BROKEN "$1" "$(grep -m 1 error $dir/$1/log)"
                return
            fi
            finds "$1" "$program" "${try#*:}" || continue
            why=$(reason $dir/$1/log)
            case $why in
            *'too many'* | *"out of the model"*) say BROKEN "$1" "$why" ;;
            *) if [ -n "$proof" ]; then say WRONG "$1" "not equivalent: $why"
               else say killed "$1" "${why:-$program}"; fi ;;
            esac
            return
        done
    done
    if [ -n "$proof" ]; then say equivalent "$1" "$proof"
    else say SURVIVED "$1" "$programs"; fi
}

worker() { # name ...
    for name; do
        mkdir $dir/$name 2>/dev/null || continue # another worker has it
        mutant $name
        rm -rf $dir/$name/test $dir/$name/bench $dir/$name/examples $dir/$name/explore_* $dir/$name/test_*
    done
}

if [ "${1-}" = --table ]; then
    print_table
    exit
elif [ "${1-}" = --check ]; then
    shift
    checks=true
    dir=$dir-check
else
    checks=false
fi
names=
for name in $(sed -n 's/^\([^ #][^ ]*\):.*/\1/p' $table); do
    for want in "${@:-$name}"; do
        case $want in "$name" | "${name%%-*}" | "${name%%[0-9]*}") names="$names $name" ;; esac
    done
done
[ -n "$names" ] || { echo "no such mutant in $table"; exit 2; }
rm -rf $dir
mkdir -p $dir/test
cp wsq.h $dir # what is edited meanwhile does not count
cp test/*.[ch] $dir/test
cp -r test/stress test/progress $dir/test
mkdir -p $dir/bench $dir/test/explore $dir/examples
cp -r bench/sim $dir/bench
cp test/explore/*.[ch] $dir/test/explore
cp examples/*.h $dir/examples
cp $table $dir/mutants.txt
table=$dir/mutants.txt
variants=$dir/variants # "name source flags" of each program that has no source of its own
${MAKE:-make} -s variants >$variants
workers=
trap 'kill $workers; exit 1' INT TERM
cores=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
while [ "$cores" -gt 0 ]; do
    worker $names &
    workers="$workers $!"
    cores=$((cores - 1))
done
wait
if $checks; then
    ! cat $dir/*/result 2>/dev/null
    exit
fi
awk '{ n[$1]++; if ($1 ~ /[A-Z]/) bad[++count] = $0 }
END {
    for (i = 1; i <= count; i++) print bad[i]
    printf "%d killed, %d equivalent of %d\n", n["killed"], n["equivalent"], NR
    exit count > 0 || NR == 0
}' $dir/*/result
