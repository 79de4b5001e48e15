# Mutants of wsq.h by rule: reads it, and prints one line for each place where a rule applies, with tabs:
#
#     NAME section function what-it-says   line column text   line column text   constant, or nothing
#
#     N: a condition of if, while or for is negated       C: a call whose value nobody uses is dropped
#     K: a constant is one more, also a macro's           E: a result is the next one
#     T: what comes before a ? is negated: the whole condition, or what follows the last && or ||
#
# NAME is the rule, the line and a number. Each mutant is one or two insertions, in which @ stands for
# WSQI_MUTANT(number): where that is 1, the mutant is there. With -v sample=FILE, such lines with a number
# before each, it prints the header with all of them in it.

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

# Line l from its first character on, at most 70: not its indentation, which changes more often.
function line_of(l,   text) {
    text = code[l]
    sub(/^[ \t]+/, "", text)
    return substr(text, 1, 70)
}

function found(rule, l, column, text, what, end, end_column, end_text) {
    count[rule, l]++
    gsub(/[ \t]+/, " ", what)
    sub(/ $/, "", what)
    printf "%s%d.%d\t%s\t%s\t%s\t%d\t%d\t%s\t%d\t%d\t%s\t%s\n", rule, l, count[rule, l], section, in_function,
        what, l, column, text, end, end_column, end_text, constant
}

function negate(l,   rest, offset, open) {
    rest = code[l]
    offset = 0
    while (match(rest, /(^|[^A-Za-z0-9_])(if|while) \(/)) {
        open = offset + RSTART + RLENGTH - 1
        if (closes(l, open))
            found("N", l, open, "(@ == !", "negated: " substr(code[l], open, 70), at_line, at_column + 1, ")")
        offset += RSTART + RLENGTH - 1
        rest = substr(code[l], offset + 1)
    }
}

# The first semicolon outside parentheses from column c of line l on: sets at_line, at_column.
function semicolon(l, c,   depth, i, from, ch) {
    depth = 0
    for (i = l; i < l + 4; i++) {
        for (from = i == l ? c : 1; from <= length(code[i]); from++) {
            ch = substr(code[i], from, 1)
            if (ch == "(") depth++
            if (ch == ")" && --depth < 0) return 0
            if (ch == ";" && depth == 0) { at_line = i; at_column = from; return 1 }
        }
    }
    return 0
}

function negate_loop(l,   open, first, column, what) {
    if (!match(code[l], /(^|[^A-Za-z0-9_])for \(/)) return
    open = RSTART + RLENGTH - 1
    if (!semicolon(l, open + 1)) return
    first = at_line
    column = at_column + 1
    if (!semicolon(first, column)) return
    what = substr(code[first], column, at_line == first ? at_column - column : 70)
    if (what !~ /[^ ]/) return
    found("N", first, column, "(@ == !(", "negated: for (;" what ";", at_line, at_column, "))")
}

# ^ binds less than a comparison, but more than && and ||. A pointer before the ? does not compile so.
function flip(l,   rest, offset, at) {
    rest = code[l]
    offset = 0
    while (match(rest, / \? /)) {
        at = offset + RSTART
        found("T", l, at, " ^ @", "negated: " substr(code[l], at > 40 ? at - 40 : 1, at > 40 ? 40 : at - 1) " ?", l, at, "")
        offset = at
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
        if (before(l, at) !~ /([;{})]|else|do)$/ || before(l, at) ~ /(\(void|\*)\)$/) continue
        if (!closes(l, at + length(name))) continue
        tail = substr(code[at_line], at_column + 1)
        if (tail !~ /^;/ || at_line != l) continue
        found("C", l, at, "{ if (!@) ", "dropped: " substr(code[l], at, 70), l, at_column + 2, " }")
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
        found("K", l, at, "(@ + ", number " is one more: " line_of(l), l, at + length(number), ")")
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
        found("E", l, at, "(@ ? " list[k % n + 1] " : ", name " is " list[k % n + 1] ": " line_of(l), l, at + length(name), ")")
        offset = at + length(name) - 1
        rest = substr(code[l], offset + 1)
    }
}

# At one column the later insertion is the outer one's end, or the inner one's begin.
function insert(l, column, what, number) {
    gsub(/@/, "WSQI_MUTANT(" number ")", what)
    inserted[l, column] = inserted[l, column] what
}

{ text[NR] = $0; if (sample == "") code[NR] = blank($0) }

END {
    if (sample != "") {
        while ((getline line < sample) > 0) {
            split(line, part, "\t")
            insert(part[6], part[7], part[8], part[1])
            insert(part[9], part[10], part[11], part[1])
        }
        for (l = 1; l <= NR; l++) {
            out = ""
            from = 1
            for (at = 1; at <= length(text[l]) + 1; at++)
                if ((l, at) in inserted) {
                    out = out substr(text[l], from, at - from) inserted[l, at]
                    from = at
                }
            print out substr(text[l], from)
        }
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
        if (!inside || section == "platform" || section == "atomic") continue
        if (code[l] ~ /^#define WSQI_[A-Z_]+ [0-9]/) {
            constant = "constant"
            former = in_function
            in_function = substr(code[l], 9)
            sub(/ .*/, "", in_function)
            constants(l)
            in_function = former
            constant = ""
        }
        if (code[l] ~ /^[ \t]*#/) continue
        if (code[l] ~ /^[A-Za-z].*\(/ && code[l] !~ /^enum/) continue
        if (code[l] ~ /^typedef char /) assertion = 1 # of the compiler's
        if (assertion) { if (code[l] ~ /;/) assertion = 0; continue }
        if (code[l] ~ /(^|[ \t])enum( [a-z_]+)? \{/) constant = "constant"
        negate(l)
        negate_loop(l)
        flip(l)
        drop(l)
        constants(l)
        results(l)
        if (code[l] ~ /\}/) constant = ""
    }
}
