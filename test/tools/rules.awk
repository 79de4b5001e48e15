# Mutants of wsq.h by rule: reads it, and prints one line for each place where a rule applies:
#
#     NAME TAB section TAB function TAB edits TAB what it says
#
#     N: a condition of if or while is negated            C: a call whose value nobody uses is dropped
#     K: a constant is one more                           E: a result is the next one
#
# NAME is the rule, the line and a number. An edit is "line column length text", and several are
# separated by "|". With -v edits=... it prints the header with them instead.

function blank(text,   i, c, out, two) { # comments, strings and characters become blanks
    out = ""
    for (i = 1; i <= length(text); i++) {
        c = substr(text, i, 1)
        two = substr(text, i, 2)
        if (comment) {
            if (two == "*/") { comment = 0; i++; out = out " " }
            out = out " "
        } else if (two == "/*") { comment = 1; i++; out = out "  " }
        else if (quote != "") {
            if (c == "\\") { i++; out = out " " }
            else if (c == quote) quote = ""
            out = out " "
        } else if (c == "\"" || c == "'\''") { quote = c; out = out " " }
        else out = out c
    }
    quote = ""
    return out
}

# Sets at_line, at_column to the parenthesis that closes the one at line l, column c. False: none near.
function closes(l, c,   depth, i, from, ch) {
    depth = 0
    for (i = l; i < l + 12; i++) {
        for (from = i == l ? c : 1; from <= length(code[i]); from++) {
            ch = substr(code[i], from, 1)
            if (ch == "(") depth++
            if (ch == ")" && --depth == 0) { at_line = i; at_column = from; return 1 }
        }
    }
    return 0
}

# What comes before column c of line l, without blanks: its last characters.
function before(l, c,   text, i) {
    text = substr(code[l], 1, c - 1)
    for (i = l - 1; text !~ /[^ \t]/ && i > l - 6; i--) text = code[i]
    sub(/[ \t]+$/, "", text)
    return text
}

function found(rule, l, edits, what) {
    count[rule, l]++
    gsub(/[ \t]+/, " ", what)
    printf "%s%d.%d\t%s\t%s\t%s\t%s\n", rule, l, count[rule, l], section, in_function, edits, what
}

function negate(l,   rest, offset, open) {
    rest = code[l]
    offset = 0
    while (match(rest, /(^|[^A-Za-z0-9_])(if|while) \(/)) {
        open = offset + RSTART + RLENGTH - 1
        if (closes(l, open))
            found("N", l, l " " open " 0 (!|" at_line " " at_column " 0 )", "negated: " substr(code[l], open, 70))
        offset += RSTART + RLENGTH - 1
        rest = substr(code[l], offset + 1)
    }
}

function drop(l,   rest, offset, at, name, tail) {
    rest = code[l]
    offset = 0
    while (match(rest, /[a-z_][a-z_0-9]*\(/)) {
        at = offset + RSTART
        name = substr(rest, RSTART, RLENGTH - 1)
        offset += RSTART + RLENGTH - 1
        rest = substr(code[l], offset + 1)
        if (!(name in valueless) && name !~ /^wsqi_(store|add|sub|or|and|set|stat|event|fence|xchg)/) continue
        if (before(l, at) !~ /([;{})]|else|do)$/ || before(l, at) ~ /\(void\)$/) continue
        if (!closes(l, at + length(name))) continue
        tail = substr(code[at_line], at_column + 1)
        if (tail !~ /^;/ || at_line != l) continue
        found("C", l, l " " at " " (at_column - at + 1) " (void)0", "dropped: " substr(code[l], at, 70))
    }
}

function constants(l,   rest, offset, at, number) {
    rest = code[l]
    offset = 0
    while (match(rest, /(^|[^A-Za-z0-9_.])(0x[0-9a-fA-F]+|[0-9]+)[uUlL]*/)) {
        at = offset + RSTART
        number = substr(rest, RSTART, RLENGTH)
        if (number !~ /^[0-9]/) { number = substr(number, 2); at++ }
        offset = at + length(number) - 1
        rest = substr(code[l], offset + 1)
        if (rest ~ /^[A-Za-z_.]/) continue
        found("K", l, l " " at " " length(number) " (" number "+1)", number " is one more: " substr(code[l], 1, 70))
    }
}

function results(l,   rest, offset, at, name, k, n, list) {
    n = split("WSQ_OK WSQ_ERR_MEMORY WSQ_ERR_INVALID WSQ_ERR_THREAD WSQ_ERR_CLOSED WSQ_ERR_TIMEOUT WSQ_ERR_FORKED WSQ_ERR_CANCELLED", list, " ")
    rest = code[l]
    offset = 0
    while (match(rest, /WSQ_(OK|ERR_[A-Z]+)/)) {
        at = offset + RSTART
        name = substr(rest, RSTART, RLENGTH)
        for (k = 1; k <= n && list[k] != name; k++) {}
        found("E", l, l " " at " " length(name) " " list[k % n + 1], name " is " list[k % n + 1] ": " substr(code[l], 1, 70))
        offset = at + length(name) - 1
        rest = substr(code[l], offset + 1)
    }
}

{ text[NR] = $0; if (edits == "") code[NR] = blank($0) }

END {
    if (edits != "") { # the last ones first, so that columns stay what they are
        n = split(edits, edit, "|")
        for (k = n; k >= 1; k--) {
            split(edit[k], part, " ")
            l = part[1]
            to = edit[k]
            sub(/^[^ ]* [^ ]* [^ ]* /, "", to)
            text[l] = substr(text[l], 1, part[2] - 1) to substr(text[l], part[2] + part[3])
        }
        for (l = 1; l <= NR; l++) print text[l]
        exit
    }
    for (l = 1; l <= NR; l++)
        if (match(code[l], /(^|[ \t])void [a-z_0-9]+\(/)) {
            name = substr(code[l], RSTART, RLENGTH - 1)
            sub(/.*void /, "", name)
            valueless[name] = 1
        }
    for (l = 1; l <= NR; l++) {
        if (text[l] ~ /^ \* >>[a-z]+/) { section = text[l]; sub(/^ \* >>/, "", section); sub(/[^a-z].*/, "", section) }
        if (section == "pairs") inside = 1
        if (section == "licence") exit
        if (code[l] ~ /^[A-Za-z].*\(/) { in_function = code[l]; sub(/\(.*/, "", in_function); sub(/.*[ *]/, "", in_function) }
        if (!inside || section == "platform" || section == "atomic" || code[l] ~ /^[ \t]*#/) continue
        if (code[l] ~ /^[A-Za-z].*\(/ && code[l] !~ /^enum/) continue
        negate(l)
        drop(l)
        constants(l)
        results(l)
    }
}
