#!/bin/sh
# usage: test/tools/figures.sh [header]
# How simple is the header? Counts what its design has an aim for, one line each: what it counts, how much
# that is, the aim. It says what is, and never fails: where the aim is not reached, that is a figure, too.
cd "$(dirname "$0")/../.." || exit 1
awk '
function line(text, value, aim) { printf "%-62s %6s   %s\n", text, value, aim }

# What is code in this line; comments are left out.
function divide(text,   at, code) {
    code = ""
    while (text != "") {
        at = index(text, in_comment ? "*/" : "/*")
        if (!in_comment) code = code (at ? substr(text, 1, at - 1) : text)
        if (at) in_comment = !in_comment
        text = at ? substr(text, at + 2) : ""
    }
    return code
}

# One for each declarator of a member.
function members(code) {
    gsub(/\([^()]*\)/, "", code)
    gsub(/[^;,]/, "", code)
    return index(code, ";") ? length(code) : 0
}

# A bit of its own, and not the name of the count above the bits.
function bit(kind, code) { if (code ~ ("WSQI_" kind "_[A-Z]+ = [0-9]+,")) bits[kind]++ }

/^ \* >>pairs/ { begins = NR }
/^ \* >>licence/ { ends = NR }
/^ \* >>[a-z]/ && begins { # a section of the implementation
    tag = $2
    sub(/:$/, "", tag)
    section++
    if (tag == ">>deque") platform_ends = NR
    if (tag == ">>platform") platform_begins = NR
}
/Relaxed[:,]/ { relaxed++ }
{
    code = divide($0)
    if (!begins || ends) next
    platform = platform_begins && !platform_ends
    if (code ~ /^struct wsqi_worker \{/) inside = "worker"
    if (code ~ /^struct wsq_pool \{/) inside = "pool"
    if (code ~ /^\}/) inside = ""
    if (inside != "") fields[inside] += members(code)
    bit("TASK", code); bit("GROUP", code); bit("FUTURE", code)
}
begins && !ends && !platform {
    kind += gsub(/config(\.|->)(caller_runs|lend_only)|->use (=|!)= WSQI_USE_|(<|>=|==|!=) pool->spare_base/, "&", code)
    orders += gsub(/order (=|!)= WSQ_/, "&", code)
    hashes += gsub(/0x9E3779B97F4A7C15/, "&", code)
    if (code ~ /wsqi_cas[a-z_]*\(.*newest\)|wsqi_cas[a-z_]*\(.*, edge\)/) pushes++
    if (code ~ /mutex_lock\([^,]*->parking, &/) parkings++
    if (code ~ /^static.* \*?wsqi_(inside|local)\(.*\{$/) whos++
    if (tag == ">>thread") { if (code ~ /^[A-Za-z].*\(.*\{$/) comers++; came++ }
    if (inside == "pool" && code ~ / (coming|blocked|asleep);/) missing++
}
/^ \*   sometimes: / { listed = 1 }
/^ \* ===/ { listed = 0 }
listed { omit = $0; omits += gsub(/wsqi_[a-z_]+/, "&", omit) }
/^[A-Za-z].*\(/ && begins && !ends { # a function: declared, or defined
    name = code
    sub(/\(.*/, "", name)
    sub(/.*[ *]/, "", name)
    if (code ~ /\{$/ || code !~ /;$/) {
        if (name in declared && declared[name] != section) early++
        delete declared[name]
        now = name
    } else if (code ~ /static/) declared[name] = section
}
begins && !ends && code ~ /^ .*wsqi_find_work\(/ && !(now in loops) { loops[now] = 1; kinds++ }
begins && !ends && !platform && code ~ /^ .*wsqi_park\(/ {
    if (!(now in sleeps) && now != "wsqi_park") { sleeps[now] = 1; sleepers++ }
}
begins && !ends && code ~ /wsqi_lock\([a-z>-]*, &/ {
    lock = code
    sub(/.*&/, "", lock)
    sub(/\).*/, "", lock)
    while (lock ~ /->.*->/) sub(/^[^>]*->/, "", lock) # whose it is, and not the way there
    if (!(lock in locks)) { locks[lock] = 1; mutexes++ }
}
begins && !ends && code ~ /wsqi_xchg_acq\(&[^,]*, 1u?\)/ { tries++ }

END {
    line("lines of the implementation, without the platform section", ends - begins - (platform_ends - platform_begins), "5,827")
    line("functions that look for work (kinds of worker loop)", kinds, "1")
    line("functions that sleep", sleepers, "3")
    line("locks that threads wait for", mutexes, "3")
    line("words that are locks for who comes first", tries + 0, "")
    line("fields of a worker", fields["worker"], "34")
    line("fields of a pool", fields["pool"], "37")
    line("tests of what kind a thread or pool is", kind, "10")
    line("tests of a pool\047s order", orders, "5")
    line("functions that find the block of a thread", whos, "2")
    line("functions of >>thread", comers, "12")
    line("lines of >>thread", came, "160")
    line("counts of threads that are missing somewhere, beside S", missing, "1")
    line("functions that notify only sometimes", omits, "")
    line("multiplicative hashes", hashes, "1")
    line("pushes to a list by compare-and-swap", pushes, "2")
    line("locks taken by the parking of the pool", parkings + 0, "0")
    line("bits of the state of a task, beside its count", bits["TASK"], "6")
    line("of a group", bits["GROUP"], "3")
    line("of a future", bits["FUTURE"] + 0, "3")
    line("functions declared in a section before theirs", early + 0, "3")
    line("comments that say why an access is relaxed", relaxed + 0, "under 60")
}' "${1:-wsq.h}"
