#!/bin/sh
# usage: test/tools/lint.sh [header]
# Checks the header against its own rules, and prints one line for each breach:
#
#   pairs      every label of the table >>pairs stands at an operation of the code that is as strong as
#              the table says, its partners are in the table, and the code has no other labels
#   ordered    each acquire, release, seq_cst operation and fence has a label, in its statement or in the
#              comment right above, and is not stronger than the table says
#   relaxed    each relaxed operation has a reason ("Relaxed: ...") there or above the function; several
#              in a row may share one
#   locked     an access that is relaxed because a lock orders it stands in a function that takes a lock, or
#              whose comment says which thread holds it
#   shape      functions of at most 60 lines, 100 columns, no tabs, no #if in a function body,
#              sections in the order of the table of contents, no tag of a missing section,
#              no TODO
#   names      every name at file scope begins with wsq_, wsqi_, WSQ_ or WSQI_
#   words      the comments have no more of some words than $words allows: words that stand where a noun
#              is missing ("who has it" for "the worker that has it"), or that slow a reader down
#
# and progress.sh: the tests that the manual's promises name exist;
# and contracts.awk: every public name has its contract, every error is named, no text names a ghost;
# and notify.awk: a function that moves tasks notifies, or stands in the list that >>idle has of those which do not.
cd "$(dirname "$0")/../.." || exit 1

# How often each may stand in the header ("such as" is not counted). Lower a number when you can; never raise one.
words='who:2 whoever:0 such:6 to_be_had:0 in_vain:0 likewise:0'

awk -f examples/docs/declared.awk -f test/tools/contracts.awk "${1:-wsq.h}" README.md */README.md */*/README.md .github/*.md examples/docs/*.txt
contracts=$?
awk -f test/tools/notify.awk "${1:-wsq.h}" || contracts=1
sh test/tools/progress.sh || contracts=1
awk -v words="$words" '
function breach(line, text) {
    printf "%s:%d: %s\n", FILENAME, line, text
    breaches++
}

# ---- one line of the file: what is code, what is comment ----

function divide(line,   at) {
    code = text = ""
    while (line != "") {
        at = index(line, in_comment ? "*/" : "/*")
        if (in_comment) text = text " " (at ? substr(line, 1, at - 1) : line)
        else code = code (at ? substr(line, 1, at - 1) : line)
        if (at) in_comment = !in_comment
        line = at ? substr(line, at + 2) : ""
    }
    sub(/[ \t]+$/, "", code)
}

# ---- labels and orders ----

# The labels in a comment go to found[], each once; returns how many.
function labels(comment, found,   n, word, i, count, seen) {
    split("", found)
    gsub(/[^A-Za-z0-9_]/, " ", comment)
    n = split(comment, word, " ")
    for (i = 1; i <= n; i++) {
        if (word[i] !~ /^[A-Z][1-9][0-9]?$/ || word[i] ~ /^C(99|11|17)$/ || word[i] in seen) continue
        seen[word[i]] = 1
        found[++count] = word[i]
    }
    return count + 0
}

# Without the labels that a comment only refers to.
function own(comment) {
    gsub(/\*/, " ", comment)
    gsub(/[ \t]+/, " ", comment)
    gsub(/Pairs with [^.;]*/, "", comment)
    gsub(/(see|as|As|In|in) [A-Z][0-9]+/, "", comment)
    return comment
}

# 1: acquire. 2: release. 4: seq_cst. 8: a full barrier.
function strength(order) {
    if (order ~ /full/) return 8
    if (order ~ /seq_cst/) return 7
    return (order ~ /acq/ ? 1 : 0) + (order ~ /rel/ ? 2 : 0)
}

function bit(set, value) { return int(set / value) % 2 }
function within(small, large,   v) {
    if (bit(large, 8)) return 1
    for (v = 1; v <= 8; v *= 2) if (bit(small, v) && !bit(large, v)) return 0
    return 1
}
function both(a, b,   v, sum) {
    for (v = 1; v <= 8; v *= 2) if (bit(a, v) || bit(b, v)) sum += v
    return sum + 0
}

# The strongest operation of a statement, 0 for none. weak: one is relaxed. spare: one has no form
# that is only an acquire or only a release, so the table may ask for less.
function operations(statement,   sum, name) {
    weak = spare = 0
    while (match(statement, /wsqi_(load|store|xchg|add|or|and|cas|fence)_(acqrel|acq|rel|sc|rlx|rmw) *\(/)) {
        name = substr(statement, RSTART, RLENGTH)
        statement = substr(statement, RSTART + RLENGTH)
        if (name ~ /(add|or|and)_acqrel/) spare = 3
        if (name ~ /_rlx/) weak = 1
        else sum = both(sum, name ~ /fence/ ? 8 : name ~ /_sc/ ? 7 : strength(name))
    }
    return sum + 0
}

# A row of the table: which labels, which orders, which partners.
function row(line,   n, label, order, m, i) {
    n = labels(substr(line, where_is["label"], where_is["where"] - where_is["label"]), label)
    m = split(substr(line, where_is["order"], where_is["partner"] - where_is["order"]), order, ";")
    for (i = 1; i <= n; i++) {
        if (label[i] in table) breach(NR, "label " label[i] " is in the table twice")
        table[label[i]] = NR
        needs[label[i]] = n == m ? strength(order[i]) : both(strength(order[1]), strength(order[m]))
        partners[label[i]] = substr(line, where_is["partner"], where_is["weaker"] - where_is["partner"])
    }
}

function read_table(   word, i) {
    if ($0 ~ /^ \*  label +where +order +partner +weaker/) {
        split("label where order partner weaker", word, " ")
        for (i = 1; i <= 5; i++) where_is[word[i]] = index($0, word[i])
    } else if (("label" in where_is) && $0 ~ /^ \*  [A-Z][0-9]/) row($0)
    else if ($0 ~ /^ \* ====/ && ("label" in where_is)) pairs = 2
}

# ---- a statement of the code is complete ----

function ordered(sum, comment,   label, n, i, allowed) {
    n = labels(own(comment), label)
    for (i = 1; i <= n; i++) {
        if (!(label[i] in table)) continue
        allowed = both(allowed, needs[label[i]])
        if (within(needs[label[i]], sum)) stands[label[i]] = 1
    }
    if (!allowed) breach(start, "an ordered operation without a label")
    else if (!within(sum, both(allowed, spare))) breach(start, "stronger than the table says")
}

function check_statement(   sum, comment, reason) {
    comment = before " " beside
    sum = operations(statement)
    if (statement ~ /^[^ ].*[({]$/ || statement ~ /^[^ ].*\) \{/) {
        reason_above = comment ~ /Relaxed[:,]/
        fence = statement ~ /wsqi_fence_[a-z]+\(void\)/
    }
    if (sum && !fence) ordered(sum, comment)
    reason = comment ~ /(Relaxed[:,]|relaxed:)/ || reason_above || (in_a_row && before == "")
    if (weak && !reason) breach(start, "a relaxed operation without a reason")
    in_a_row = comment ~ /(Relaxed[:,]|relaxed:)/ || (weak && in_a_row && before == "")
    statement = beside = ""
}

function read_code() {
    if (code ~ /^[ \t]*#/ || directive) {
        directive = $0 ~ /\\$/
        above = ""
        return
    }
    if ($0 ~ /^[ \t]*$/) {
        above = ""
        in_a_row = 0
        return
    }
    if (code ~ /^[ \t]*$/) {
        if (statement != "") beside = beside " " text
        else above = (comment_before ? above : "") " " text
        comment_before = 1
        return
    }
    if (statement == "") {
        start = NR
        before = above
    }
    above = ""
    comment_before = 0
    statement = statement (statement == "" ? "" : " ") code
    beside = beside " " text
    if (code ~ /[;{}:]$/) check_statement()
}

# ---- relaxed, for a lock orders it ----

# The text of a function, the comment above it included.
function read_locks() {
    if (!head && code ~ /^[ \t]*$/) above_it = ($0 ~ /^[ \t]*$/ ? "" : above_it " " text)
    if (head == NR) whole = above_it
    if (head) whole = whole " " $0
    if (head && code ~ /_locked\(/ && !lock_at) lock_at = NR
    if (body && code ~ /^\}/) {
        sub(/wsqi_[a-z]+_locked\(/, "", whole)
        gsub(/_locked\(/, "", whole)
        if (lock_at && whole !~ /(^|[^bc])lock/) breach(lock_at, "relaxed because of a lock, but no lock is named")
        lock_at = 0
    }
    if (!head && code !~ /^[ \t]*$/) above_it = ""
}

# ---- shape ----

function read_shape() {
    if (length($0) > 100) breach(NR, "more than 100 columns")
    if ($0 ~ /\t/) breach(NR, "a tab")
    if ($0 ~ /[ \t]$/) breach(NR, "a space at the end")
    if ($0 ~ /TODO|FIXME|XXX|HACK/) breach(NR, "a note of something left to do")
    if (code ~ /^[A-Za-z].*\(/ && code !~ /^(typedef|struct|enum)/ && code !~ /;$/ && !body) head = NR
    if (head && code ~ /;$/ && !body) head = 0
    if (head && !body && code ~ /\{$/) body = 1
    read_locks()
    if (body && code ~ /^[ \t]*#[ \t]*(if|el|endif)/) breach(NR, "#if in the body of a function")
    if (body && code ~ /^\}/) {
        if (NR - head + 1 > 60) breach(head, "a function of " NR - head + 1 " lines")
        head = body = 0
    }
}

function read_sections(   n, word, i) {
    if ($0 ~ /^ \* CONTENTS/) contents = 1
    if (contents && $0 ~ /^ \* ----/) contents = 0
    if (contents) {
        n = split($0, word, " ")
        for (i = 1; i <= n; i++) if (word[i] ~ /^>>[a-z]+$/) expected[++sections] = word[i]
    } else if (former ~ /^(\/| )\* (----|====)/ && $2 ~ /^>>/) {
        sub(/:$/, "", $2)
        if ($2 != expected[++section])
            breach(NR, "section " $2 ", where the contents have " expected[section])
    }
    read_tags()
}

# Where a text sends its reader.
function read_tags(   rest) {
    rest = text
    while (match(rest, />>[a-z]+/)) {
        sent[substr(rest, RSTART, RLENGTH)] = NR
        rest = substr(rest, RSTART + RLENGTH)
    }
}

# ---- names ----

function ours(name) {
    if (name !~ /^(wsqi?_|WSQI?_)./ && name != "WSQ_H" && name !~ /^(syscall|sched_getcpu|clock_gettime|minherit|pthread_.*|sig.*set|NOMINMAX|WIN32_LEAN_AND_MEAN)$/)
        breach(NR, "the name " name " has no prefix")
}

function read_names(   line) {
    line = code
    if (line ~ /^#[ \t]*define/) {
        sub(/^#[ \t]*define[ \t]+/, "", line)
        sub(/[^A-Za-z0-9_].*/, "", line)
        ours(line)
        return
    }
    if (line ~ /^enum/ || line ~ /^typedef enum/) constants = 1
    if (constants && match(line, /^ +[A-Za-z_0-9]+/)) {
        line = substr(line, 1, RLENGTH)
        gsub(/ /, "", line)
        ours(line)
    }
    if (constants && code ~ /\}/) constants = 0
    line = code
    if (match(line, /(struct|enum|union) [A-Za-z_0-9]+ \{/)) {
        line = substr(line, RSTART, RLENGTH)
        split(line, part, " ")
        ours(part[2])
        line = code
    }
    if (line ~ /^\} [A-Za-z_0-9]+;/ || (line ~ /^(typedef|static|extern|WSQ_API|long|int) .*;$/ && !body)) {
        sub(/ = .*/, "", line)
        sub(/^.*\}/, "", line)
        if (match(line, /^typedef [A-Za-z_ ]+\((WINAPI )?\*[A-Za-z_0-9]+/)) sub(/^[^*]*/, "(", line)
        if (match(line, /^\(\*[A-Za-z_0-9]+/)) line = substr(line, RSTART + 2, RLENGTH - 2)
        sub(/[[(].*/, "", line)
        sub(/;$/, "", line)
        sub(/^.*[^A-Za-z_0-9]/, "", line)
        if (line != "") ours(line)
    } else if (line ~ /^[A-Za-z].*\(/ && !body) {
        sub(/\(.*/, "", line)
        sub(/^.*[^A-Za-z_0-9]/, "", line)
        ours(line)
    }
}

{
    divide($0)
    if (former ~ /====/ && $2 ~ /^>>pairs/) pairs = 1
    if (pairs == 1) read_table()
    else if (labels(text, used) > 0) for (i in used) if (!(used[i] in mentioned)) mentioned[used[i]] = NR
    read_names()
    read_shape()
    read_code()
    read_sections()
    prose = prose " " text
    former = $0
}

# ---- words ----

function count_words(   n, i, part, pair, more) {
    prose = tolower(prose)
    gsub(/[^a-z_]+/, "  ", prose)
    gsub(/ such  as /, " ", prose)
    gsub(/ to  be  had /, " to_be_had ", prose)
    gsub(/ in  vain /, " in_vain ", prose)
    n = split(words, part, " ")
    for (i = 1; i <= n; i++) {
        split(part[i], pair, ":")
        more = gsub(" " pair[1] " ", " ", prose)
        gsub(/_/, " ", pair[1])
        if (more > pair[2] + 0)
            breach(NR, "words: \"" pair[1] "\" stands " more " times in comments, and the limit is " pair[2])
        else if (more < pair[2] + 0)
            note = note ", \"" pair[1] "\" " more
    }
    if (note != "") printf "%s: lower the limits in test/tools/lint.sh: %s\n", FILENAME, substr(note, 3)
}

END {
    for (label in table) {
        if (!(label in stands)) breach(table[label], "label " label " stands at no operation of its order")
        labels(partners[label], used)
        for (i in used) if (!(used[i] in table)) breach(table[label], "partner " used[i] " is not in the table")
    }
    for (label in mentioned) if (!(label in table)) breach(mentioned[label], "label " label " is not in the table")
    for (i = 1; i <= sections; i++) delete sent[expected[i]]
    for (i in sent) breach(sent[i], "no section " i)
    if (section != sections) breach(NR, "sections are missing: " section " of " sections)
    for (label in table) count++
    count_words()
    if (count < 10) breach(1, "no table of pairs")
    printf "%s: %d lines, %d labels, %d breaches\n", FILENAME, NR, count, breaches
    exit breaches > 0
}
' "${1:-wsq.h}" && exit "$contracts"
