#!/bin/sh
# usage: test/tools/progress.sh [list]
# A table of test/progress/README.md names the tests of each promise in the topic PROGRESS of the manual.
# Each promise must have a row, and each test must exist; a row of test/progress/hangs.c must be mended,
# and stand in the table.
cd "$(dirname "$0")/../.." || exit 1
list=${1:-test/progress/README.md}
failed=0

breach() {
    echo "$list: progress: $1"
    failed=1
}

promised=$(sed -n '/^ \* PROGRESS\. /,/^ \* FUTURES\. /s/^ \*     \([0-9]*\)\. .*/\1/p' wsq.h | tr '\n' ' ')
kept=$(sed -n 's/^| \([0-9]*\) |.*/\1/p' "$list" | tr '\n' ' ')
[ "$promised" = "$kept" ] || breach "the manual promises $promised, the table has $kept"
named=$(sed -n 's/^| [0-9]* | \(.*\) |$/\1/p' "$list" | tr ',' '\n')
all=
kind=
for word in $(echo "$named" | sed 's/^ *//'); do
    case $word in
    hangs | oracle) kind=$word ;;
    test_* | explore_* | exact_*)
        [ -n "$(find test -name "$word.c")" ] || breach "no test $word"
        kind= ;;
    *)
        if [ "$kind" = hangs ]; then
            all="$all $word"
            grep -q "^    {\"$word\", [a-z_]*, [0-9]*, true," test/progress/hangs.c ||
                breach "no row $word in test/progress/hangs.c, or it is not mended"
        elif [ "$kind" = oracle ]; then
            grep -q "\"$word\"" test/progress/*.h ||
                breach "no rule $word in the oracle"
        else
            breach "what is $word?"
        fi ;;
    esac
done
for row in $(sed -n 's/^    {"\([0-9]*[a-z]*\)".*/\1/p' test/progress/hangs.c); do
    case "$all " in
    *" $row "*) ;;
    *) breach "row $row of test/progress/hangs.c is in no promise" ;;
    esac
done
exit $failed
