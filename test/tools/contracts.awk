# usage: awk -f examples/docs/declared.awk -f test/tools/contracts.awk wsq.h [README.md ...]
# Holds the declarations to their contracts, and prints one line for each breach:
#
#   contract   a public function, type, macro, enumerator or member has no comment at its declaration
#              (a macro may stand in the manual's table >>macros instead), or that of a function does
#              not say who may call it
#   errors     the contract of a function does not name each WSQ_ERR_... that its definition, and
#              what that calls, can return; or it names another one
#   ghost      the manual, or one of the other files, names something that the header does not have
#
# "Can return" is read from the text: an error that stands in a function's body and is not compared
# with, and those of a function whose result is returned or stored. WSQ_FOREVER never times out.

function breach(line, text) {
    printf "%s:%d: %s\n", header, line, text
    breaches++
}

# What is code and what is comment in this line.
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
    sub(/^ +\* /, " ", text)
}

function public(name) { return name ~ /^(wsq|WSQ)_/ }

# ---- declarations ----

function read_declaration(   name, forward) {
    name = declared(code)
    if (name != "" && !inside) {
        forward = code ~ /^typedef struct wsq_[a-z_]+ wsq_[a-z_]+;/
        if (!(name in where) || !forward) where[name] = FNR
        if (above != "" || (text != "" && !forward)) contract[name] = contract[name] " " above text
        if (code ~ /^WSQ_API wsq_result /) fails[name] = 1
        if (code ~ /^(WSQ_API|static inline) /) functions[name] = 1
    }
    if (inside && code ~ /^    [A-Za-z}]/ && code !~ /^    }/ && code !~ /^     /) read_member()
    if (code ~ /^(typedef )?(struct|enum) wsq_[a-z_]+ \{$/) {
        inside = name
        constants = code ~ /enum/
    }
    if (code ~ /^\}/) inside = ""
    if (code ~ /[^ \t]/) above = ""
    if (code != "") beside = in_comment
    if (text != "" && code == "" && !beside && text !~ /---- |====/) above = above " " text
    if (!in_comment) beside = 0
    if (code == "" && text == "") above = ""
}

# A member, or an enumerator; its comment stands above it, beside it, or in the lines that follow.
function read_member(   name) {
    name = code
    if (constants) {
        sub(/^ +/, "", name)
        sub(/[^A-Z0-9_].*/, "", name)
        where[name] = FNR
    } else {
        match(name, /[A-Za-z_]+[);,[]/)
        name = inside "." substr(name, RSTART, RLENGTH - 1)
    }
    if (above == "" && text == "") breach(FNR, "contract: " name " has no comment")
    else contract[name] = 1
}

# ---- definitions ----

function read_definition(   name) {
    if (code ~ /^(WSQ_API|WSQI_HOT|WSQI_COLD|static).*[ *]wsqi?_[a-z_0-9]+\(/ && !body) {
        name = code
        sub(/\(.*/, "", name)
        sub(/.*[ *]/, "", name)
        current = code ~ /wsq_result wsqi?_[a-z_0-9]+\(/ ? name : ""
        head = 1
    }
    if (head && code ~ /;$/) head = 0
    if (body && current != "") read_statement(code)
    if (head && code ~ /\{$/) {
        head = 0
        body = 1
    }
    if (head && code ~ /\{ .*\}$/) {
        sub(/.*\{ /, "", code)
        head = 0
        if (current != "") read_statement(code)
    }
    if (code ~ /^\}/) body = 0
}

function read_statement(line,   name, rest, before) {
    statement = statement " " line
    if (line !~ /[;{}]$/) return
    rest = statement
    while (match(rest, /WSQ_ERR_[A-Z]+/)) {
        before = substr(rest, 1, RSTART - 1)
        name = substr(rest, RSTART, RLENGTH)
        rest = substr(rest, RSTART + RLENGTH)
        if (before !~ /([=!]= |case )$/) error[current, name] = 1
    }
    rest = statement
    while (match(rest, /(return|=|\?|:) wsqi?_[a-z_0-9]+\(/)) {
        name = substr(rest, RSTART, RLENGTH - 1)
        rest = substr(rest, RSTART + RLENGTH)
        sub(/.* /, "", name)
        calls[current] = calls[current] " " name
        if (rest ~ /^[^;]*WSQ_FOREVER/) forever[current, name] = 1
    }
    statement = ""
}

# What the functions that are called can return, until nothing is added any more.
function close_over(   more, function_name, n, i, k, called, names) {
    n = split("MEMORY INVALID THREAD CLOSED TIMEOUT FORKED CANCELLED", names, " ")
    do {
        more = 0
        for (function_name in calls) {
            k = split(calls[function_name], called, " ")
            for (i = 1; i <= k; i++) more += inherit(function_name, called[i], names, n)
        }
    } while (more)
}

function inherit(function_name, called, names, n,   i, name, more) {
    for (i = 1; i <= n; i++) {
        name = "WSQ_ERR_" names[i]
        if (!((called, name) in error) || ((function_name, name) in error)) continue
        if (name == "WSQ_ERR_TIMEOUT" && ((function_name, called) in forever)) continue
        error[function_name, name] = 1
        more = 1
    }
    return more + 0
}

function check_errors(name,   i, n, names, possible, named) {
    n = split("MEMORY INVALID THREAD CLOSED TIMEOUT FORKED CANCELLED", names, " ")
    for (i = 1; i <= n; i++) {
        possible = (name, "WSQ_ERR_" names[i]) in error
        named = contract[name] ~ ("WSQ_ERR_" names[i])
        if (possible && !named) breach(where[name], "errors: " name " can return WSQ_ERR_" names[i])
        if (named && !possible) breach(where[name], "errors: " name " never returns WSQ_ERR_" names[i])
    }
}

# ---- names that other texts use ----

# "wsq_ring_*" and "wsq_spawn.." stand for names that begin so.
function mention(line, file, number, pattern,   name, after) {
    while (match(line, pattern)) {
        name = substr(line, RSTART, RLENGTH)
        after = substr(line, RSTART + RLENGTH, 2)
        line = substr(line, RSTART + RLENGTH)
        if (after == ".h") continue # a file
        if (after ~ /^\*/ || after == "..") name = name "*"
        mentions[++mentioned] = name
        mention_at[mentioned] = file ":" number
    }
}

function check_mention(i,   name, stem, other) {
    name = stem = mentions[i]
    if (name in known) return
    if (sub(/\*$/, "", stem))
        for (other in known) if (index(other, stem) == 1) return
    printf "%s: ghost: %s\n", mention_at[i], name
    breaches++
}

FNR == 1 { file++; if (file == 1) header = FILENAME }

file > 1 { mention($0, FILENAME, FNR, "wsq_[a-z0-9_]*[a-z0-9_]"); next }

{
    divide($0)
    rest = code
    while (match(rest, /(wsq|WSQ)_[A-Za-z0-9_]+/)) {
        known[substr(rest, RSTART, RLENGTH)] = 1
        rest = substr(rest, RSTART + RLENGTH)
    }
    if ($0 ~ /^#ifndef WSQ_H$/) part = "declarations"
    if ($0 ~ /^#endif \/\* WSQ_H \*\//) part = "definitions"
    if (part == "") {
        if (former ~ /^ \* ----/ && $2 ~ /^>>/) section = $2
        if (section != ">>changes") # which names what is gone
            mention($0, FILENAME, FNR, "(wsq|WSQ)_[A-Za-z0-9_]*[A-Za-z0-9]_?")
        if (section == ">>macros" && $0 ~ /^ \*     WSQ_/)
            for (i = 2; $i ~ /^(WSQ_|NDEBUG)/; i++) in_table[macro_name($i)] = 1
        former = $0
    } else if (part == "declarations") read_declaration()
    else read_definition()
}

# WSQ_ASSERT(x) and "WSQ_MALLOC," are names with something behind them.
function macro_name(word) {
    sub(/[^A-Z0-9_].*/, "", word)
    return word
}

END {
    close_over()
    for (name in where) {
        if (name == "WSQ_H") continue
        count++
        if (!(name in contract) && !(name in in_table))
            breach(where[name], "contract: " name " has none")
        if (name in fails) check_errors(name)
        if (name in functions && contract[name] !~ /thread|owner|caller|context|shared +yet| as +wsq_/)
            breach(where[name], "contract: " name " does not say who may call it")
    }
    for (i = 1; i <= mentioned; i++) check_mention(i)
    if (count < 50) breach(1, "contract: no declarations were found")
    printf "%s: %d public names, %d breaches\n", header, count, breaches
    exit breaches > 0
}
