# usage: awk -f test/tools/notify.awk wsq.h     (part of lint.sh)
# Checks the list "NOTIFICATIONS" of >>idle. A function that moves tasks must notify, or stand in the list as one
# that leaves this to its callers, or as one that obliges nobody. A call of a function that leaves it to its callers
# counts as a move. One line for each breach:
#
#   moves tasks, and does not notify      the function is in no list
#   obliges nobody any more               the function is in a list, and need not be
#   changes S                             the function is not in the list "CHANGES OF S"
#
# Comments do not count. The queues themselves, in the sections before >>lane, know of no workers.
function breach(name, text) {
    printf "%s:%d: notify: %s %s\n", FILENAME, at[name], name, text
    breaches++
}

FNR == 1 {
    n = split("wsqi_chain_push wsqi_ring_push wsq_ring_push wsqi_ring_steal wsq_ring_steal wsq_deque_push wsq_deque_steal wsqi_lane_collect", name, " ")
    for (i = 1; i <= n; i++) moves[name[i]] = 1
}

# The lists: from the line that names one to the line that names the next, or the end.
/^ \*   callers: / { list = "callers" }
/^ \*   nobody:  / { list = "nobody" }
/^ \*   sometimes: / { list = "sometimes" }
list != "" && /^ \* [^ ]|^ \* *$|\*\// { list = "" }
list == "callers" || list == "nobody" {
    line = $0
    while (match(line, /wsqi?_[a-z_]+/)) {
        word = substr(line, RSTART, RLENGTH)
        line = substr(line, RSTART + RLENGTH)
        listed[word] = list
        if (list == "callers") moves[word] = 1
        if (!(word in at)) at[word] = FNR
    }
}

/^ \* CHANGES OF S\./ { changes = 1 }
changes && /^ \* *$/ { changes = 0 }
changes && /^ \*   wsqi_/ {
    changer[$2] = 1
    sub(/,$/, "", $2)
    changer[$2] = 1
    if ($3 ~ /^_/) { # wsqi_a_begin, _end
        sub(/_[a-z]+$/, $3, $2)
        changer[$2] = 1
    }
}

/^ \* >>lane/ { begins = 1 }
/^ \* >>licence/ { begins = 0 }
{
    code = $0
    gsub(/\/\*.*\*\//, "", code)
    if (code ~ /^ ?\*|^ +\*[ \/]/) next
    sub(/\/\*.*/, "", code)
}
begins && code ~ /^[A-Za-z].*\(/ && code !~ /;$/ {
    now = code
    sub(/\(.*/, "", now)
    sub(/.*[ *]/, "", now)
    at[now] = FNR
    next
}
begins && now != "" && code ~ /wsqi_(cas|add|or|and|xchg)[a-z_]*\(&[a-z>-]*->permits,/ && !(now in changer) {
    breach(now, "changes S")
}
begins && now != "" {
    while (match(code, /wsqi?_[a-z_]+\(/)) {
        called = called " " substr(code, RSTART, RLENGTH - 1)
        code = substr(code, RSTART + RLENGTH)
    }
    if ($0 ~ /^}/) {
        calls[now] = called
        now = called = ""
    }
}

END {
    for (function_ in calls) {
        moving = notifies = 0
        n = split(calls[function_], name, " ")
        for (i = 1; i <= n; i++) {
            if (name[i] in moves) moving = 1
            if (name[i] ~ /^wsqi_(notify|pass_on)/) notifies = 1
        }
        if (function_ == "wsqi_chain_push" || function_ == "wsqi_lane_collect") continue
        if (moving && !notifies && !(function_ in listed)) breach(function_, "moves tasks, and does not notify")
        if ((!moving || notifies) && function_ in listed) breach(function_, "obliges nobody any more: it is in the list of >>idle")
    }
    for (word in listed) if (!(word in calls)) breach(word, "is in the list of >>idle, and no function")
    exit breaches != 0
}
