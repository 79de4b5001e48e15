#!/bin/sh
# usage: test/tools/progress.sh [header]
# The topic PROGRESS of the manual names its tests in brackets. Each must exist, a row of
# test/progress/hangs.c must be mended, and each row must stand in the list.
cd "$(dirname "$0")/../.." || exit 1
header=${1:-wsq.h}
failed=0

breach() {
    echo "$header: progress: $1"
    failed=1
}

named=$(sed -n '/^ \* PROGRESS\. /,/^ \* FUTURES\. /p' "$header" | sed 's/^ \* *//' | tr '\n' ' ' |
    grep -o '\[[^]]*\]' | tr ',' '\n' | tr -d '[]')
[ -n "$named" ] || breach 'no test is named'
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
