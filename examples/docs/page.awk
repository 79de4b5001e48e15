# The body of the reference page: usage: awk -f declared.awk -f page.awk wsq.h wsq.h EXAMPLE.c ...
#
# The header is read twice. The first pass collects the names, so that every later mention can be a link. The
# second turns its manual, the chapters of manual.txt, and the declarations with their contracts into HTML.
# The examples give each function the code that calls it; the numbered ones and the recipes follow in full.

function escape(s) {
    gsub(/&/, "\\&amp;", s)
    gsub(/</, "\\&lt;", s)
    gsub(/>/, "\\&gt;", s)
    return s
}

# ---- names ----

# The name that this line declares, or "". A struct that stays opaque has its contract in the comment above it.
function named(line) {
    if (line ~ /^#define WSQ_/ && line !~ /^#define WSQ_[A-Z_]+ /) return ""
    if (line ~ /^typedef struct wsq_[a-z_]+ wsq_[a-z_]+;/ && !former_is_comment) return ""
    return declared(line)
}

# Enumerators lead to their type.
function learn(line,   name) {
    name = named(line)
    if (name != "" && !(name in anchor)) anchor[name] = name
    if (line ~ /^typedef enum wsq_/) of_enum = name
    if (of_enum != "" && line ~ /^    WSQ_[A-Z_]+/) {
        match(line, /WSQ_[A-Z_]+/)
        anchor[substr(line, RSTART, RLENGTH)] = of_enum
    }
    if (line ~ /^\}/) of_enum = ""
    former_is_comment = line ~ /\*\/$/ && line !~ /----/
}

# Text with each known name as a link; here: the item that the text belongs to.
function linked(s, here,   out, word, at) {
    s = escape(s)
    while (match(s, /(wsq_[a-z0-9_]+|WSQ_[A-Z0-9_]+|&gt;&gt;[a-z]+)/)) {
        word = substr(s, RSTART, RLENGTH)
        at = word
        if (sub(/^&gt;&gt;/, "", at)) at = at in section_title ? "-" at : ""
        else at = at in anchor && anchor[at] != here ? anchor[at] : ""
        out = out substr(s, 1, RSTART - 1) (at != "" ? "<a href=\"#" at "\">" word "</a>" : word)
        s = substr(s, RSTART + RLENGTH)
    }
    return out s
}

# Running text: `x` is code, names are links, and so are recipes that the cookbook has.
function prose(s, here,   out, file) {
    s = linked(s, here)
    while (match(s, /`[^`]+`/))
        s = substr(s, 1, RSTART - 1) "<code>" substr(s, RSTART + 1, RLENGTH - 2) "</code>" \
            substr(s, RSTART + RLENGTH)
    while (match(s, /recipes\/[a-z_]+\.c/)) {
        file = substr(s, RSTART + 8, RLENGTH - 8)
        out = out substr(s, 1, RSTART - 1)
        out = out (file in question ? "<a href=\"#-" slug(file) "\">" file "</a>" : "recipes/" file)
        s = substr(s, RSTART + RLENGTH)
    }
    return out s
}

# Code, its comments dimmed.
function code_line(s, here,   out, at) {
    s = linked(s, here)
    while (s != "") {
        at = index(s, in_code_comment ? "*/" : "/*")
        if (!at) break
        if (in_code_comment) {
            out = out substr(s, 1, at + 1) "</i>"
            s = substr(s, at + 2)
        } else {
            out = out substr(s, 1, at - 1) "<i>/*"
            s = substr(s, at + 2)
        }
        in_code_comment = !in_code_comment
    }
    return out s
}

function code_block(text, here,   n, line, i, out) {
    n = split(text, line, "\n")
    in_code_comment = 0
    for (i = 1; i <= n; i++) {
        if (in_code_comment) out = out "<i>"
        out = out code_line(line[i], here)
        if (in_code_comment) out = out "</i>"
        if (i < n) out = out "\n"
    }
    return out
}

# ---- the manual ----

function manual_line(line,   tag) {
    sub(/^( \*|\/\*) ?/, "", line)
    if (rule && line ~ /^>>/) {
        manual_flush()
        tag = line
        sub(/^>>/, "", tag)
        sub(/:.*/, "", tag)
        rule = 0
        in_manual = 1
        chapter = tag
        manual = manual "<h2 id=\"-" tag "\">" escape(section_title[tag]) "</h2>\n"
        menu = menu "<a href=\"#-" tag "\">" escape(section_title[tag]) "</a>\n"
        return
    }
    if (line ~ /^----/) {
        rule = 1
        return
    }
    if (line ~ /^CONTENTS/) {
        manual_flush()
        in_manual = 0
    }
    if (!in_manual) return
    if (chapter == "changes" && line != "") line = "    " line
    if (line ~ /^    /) {
        if (paragraph != "") paragraph_flush()
        block = block line "\n"
    } else if (line ~ /^ *$/) {
        if (paragraph != "") paragraph_flush()
        else if (block != "") block = block "\n"
    } else {
        if (block != "") block_flush()
        paragraph = paragraph " " line
    }
}

# Chapters of the page alone: examples/docs/manual.txt, in the manual's own form.
function more_chapters(   line, tag) {
    in_manual = 0
    while ((getline line < "examples/docs/manual.txt") > 0) {
        if (match(line, /^>>[a-z]+: /)) {
            tag = substr(line, 3, RLENGTH - 4)
            section_title[tag] = capital_first(substr(line, RLENGTH + 1))
            rule = 1
        }
        manual_line(line)
    }
    close("examples/docs/manual.txt")
    manual_flush()
}

function manual_flush() {
    if (paragraph != "") paragraph_flush()
    if (block != "") block_flush()
}

# "POOLS. Text" begins with a heading of its own.
function paragraph_flush(   head) {
    sub(/^ /, "", paragraph)
    if (match(paragraph, /^[A-Z][-A-Z ,:()+]+[.?] /)) {
        head = substr(paragraph, 1, RLENGTH - 2)
        paragraph = substr(paragraph, RLENGTH + 1)
        manual = manual "<h3 id=\"-" chapter "-" slug(head) "\">" escape(capital(head)) "</h3>\n"
    }
    manual = manual "<p>" prose(paragraph, "") "</p>\n"
    paragraph = ""
}

function slug(s) {
    s = tolower(s)
    gsub(/[^a-z0-9]+/, "-", s)
    sub(/-$/, "", s)
    return s
}

function capital(s) {
    return s ~ /\(/ ? s : substr(s, 1, 1) tolower(substr(s, 2))
}

# An indented block: a table of two columns where it is one, else as it stands.
function block_flush(   n, line, i, column) {
    sub(/\n+$/, "", block)
    n = split(block, line, "\n")
    for (i = 1; i <= n; i++) line[i] = substr(line[i], 5)
    column = text_column(line, n)
    if (column) two_columns(line, n, column)
    else {
        manual = manual "<pre>"
        for (i = 1; i <= n; i++) manual = manual linked(line[i], "") (i < n ? "\n" : "")
        manual = manual "</pre>\n"
    }
    block = ""
}

# Where the second column begins, if there are two and no more; else 0.
function text_column(line, n,   i, column, gap, rest) {
    if (!match(line[1], /^[^ ](.*[^ ])?   *[^ ]/) || n < 2) return 0
    match(line[1], /   */)
    column = RSTART + RLENGTH
    if (column < 8) return 0
    for (i = 1; i <= n; i++) {
        gap = substr(line[i], column - 2, 2)
        rest = substr(line[i], column)
        if (line[i] == "") continue
        if (line[i] ~ /^ / && lead(line[i]) != column - 1) return 0
        if (gap != "  " || rest ~ /   / || rest ~ /^ /) return 0
    }
    return column
}

function lead(s) {
    match(s, /^ */)
    return RLENGTH
}

function two_columns(line, n, column,   i, key) {
    manual = manual "<dl>\n"
    for (i = 1; i <= n; i++) {
        key = substr(line[i], 1, column - 3)
        sub(/ +$/, "", key)
        if (key != "") manual = manual (i > 1 ? "</dd>\n" : "") "<dt>" table_key(key) "</dt> <dd>"
        manual = manual " " prose(substr(line[i], column), "")
    }
    manual = manual "</dd></dl>\n"
}

# Macros have their place in the table: WSQ_ASSERT(x), or several with commas between.
function table_key(key,   n, part, i, name, out) {
    n = split(key, part, /, /)
    for (i = 1; i <= n; i++) {
        name = part[i]
        sub(/[^A-Z0-9_].*/, "", name)
        out = out (i > 1 ? ", " : "")
        if (name in table_macro && chapter == "macros")
            out = out "<span id=\"" name "\" data-name=\"" name "\">" escape(part[i]) "</span>"
        else out = out linked(part[i], "")
    }
    return out
}

# ---- the declarations ----

function declaration_line(line,   name) {
    if (line ~ /^\/\* ---- .* ---- \*\/$/) {
        sub(/^\/\* ---- /, "", line)
        sub(/ ---- \*\/$/, "", line)
        group(line)
        return
    }
    if (in_contract || line ~ /^\/\* /) {
        contract_line(line)
        return
    }
    if (item != "") {
        item_line(line)
        return
    }
    name = named(line)
    former_is_comment = 0
    if (name != "" && !(name in done) && !(name in table_macro)) item_begin(name, line)
    else if (line !~ /^(typedef|$)/) contract = ""
}

function contract_line(line) {
    if (!in_contract) contract = ""
    in_contract = line !~ /\*\/$/
    former_is_comment = !in_contract
    sub(/^(\/\*| \*) ?/, "", line)
    sub(/ \*\/$/, "", line)
    contract = contract line "\n"
}

function group(title) {
    group_name = title
    sub(/:.*/, "", group_name)
    if (area == ">>types") group_name = "types: " group_name
    reference = reference "<h2 id=\"-api-" slug(group_name) "\">" escape(capital_first(group_name)) "</h2>\n"
    index_list = index_list "<h4>" escape(capital_first(group_name)) "</h4>\n"
}

function capital_first(s) { return toupper(substr(s, 1, 1)) substr(s, 2) }

function item_begin(name, line) {
    item = name
    done[name] = 1
    signature = ""
    inline = line ~ /^static inline/
    item_line(line)
}

function item_line(line) {
    if (inline && line ~ /\{$/) {
        sub(/ \{$/, ";", line)
        inline = 2
    }
    if (inline != 3) signature = signature line "\n"
    if (inline == 2) {
        item_end()
        inline = 3
        skip_body = 1
        return
    }
    if (signature ~ /;\n$/ && signature !~ /\{/) item_end()
    else if (line ~ /^\}/ || signature ~ /\{[^\n]*\}[^\n]*;/) item_end()
    else if (line ~ /^#define/ && line !~ /\\$/) item_end()
    else if (signature ~ /^#define/ && line !~ /\\$/) item_end()
}

function item_end(   kind, beside, members) {
    sub(/\n+$/, "", signature)
    gsub(/WSQ_API |static inline | WSQI_COLD/, "", signature)
    kind = signature ~ /^#define/ ? "macro" : signature ~ /^(typedef|struct|enum)/ ? "type" : "function"
    if (kind == "macro" && match(signature, /\/\*.*\*\//)) {
        beside = substr(signature, RSTART + 3, RLENGTH - 6)
        contract = beside "\n"
        sub(/ *\/\*.*/, "", signature)
    }
    if (kind == "function") gsub(/\n +/, "\n    ", signature)
    if (kind == "type" && signature ~ /\{\n/) {
        if (contract !~ /for the\nscheduler|for the scheduler/) members = members_html(signature, item)
        sub(/\{.*\}/, members != "" ? "{ ... }" : "{ /* for the scheduler */ }", signature)
    }
    reference = reference "<section id=\"" item "\" data-name=\"" item "\" class=\"" kind "\">\n" \
        "<h3><a href=\"#" item "\">" item "</a></h3>\n<pre>" code_block(signature, item) "</pre>\n" \
        contract_html(contract, item) members "@EXAMPLES " item "@\n</section>\n"
    index_list = index_list "<a href=\"#" item "\">" item "</a>\n"
    item = contract = ""
}

# A row for each member, or enumerator, with the comment that stands above it or beside it.
function members_html(text, here,   n, line, i, at, rows, code, words, inside) {
    n = split(text, line, "\n")
    for (i = 2; i < n; i++) {
        at = inside ? 1 : index(line[i], "/*")
        if (!inside && at != 1 && line[i] ~ /[^ ]/ && line[i] !~ /^ *\/\*/) {
            if (whole_member(code)) {
                rows = rows member_row(code, words, here)
                code = words = ""
            }
            code = code (code != "" ? " " : "") trim(at ? substr(line[i], 1, at - 1) : line[i])
        } else if (!inside && whole_member(code)) {
            rows = rows member_row(code, words, here)
            code = words = ""
        }
        if (!at) continue
        text = inside ? line[i] : substr(line[i], at)
        inside = text !~ /\*\//
        gsub(/^ *\/?\*|\*\/ *$/, "", text)
        words = words (words != "" ? " " : "") trim(text)
    }
    return "<dl class=\"members\">\n" rows member_row(code, words, here) "</dl>\n"
}

# A function's parameters may go on in the next line.
function whole_member(code,   s) {
    s = code
    return code != "" && gsub(/\(/, "", s) == gsub(/\)/, "", s)
}

function member_row(code, words, here) {
    sub(/[;,]$/, "", code)
    return code == "" ? "" : "<dt>" linked(code, here) "</dt> <dd>" prose(words, here) "</dd>\n"
}

function trim(s) {
    sub(/^ +/, "", s)
    sub(/ +$/, "", s)
    return s
}

# Sentences, then a row for each line that begins with results.
function contract_html(text, here,   n, line, i, at, out, rows, open) {
    n = split(text, line, "\n")
    for (i = 1; i <= n; i++) {
        if (line[i] ~ /^WSQ_ERR_[A-Z]+(, WSQ_ERR_[A-Z]+)*: /) {
            rows = rows (open ? "</dd>\n" : "<dl>\n") "<dt>"
            at = index(line[i], ": ")
            rows = rows linked(substr(line[i], 1, at - 1), here) "</dt> <dd>" \
                prose(substr(line[i], at + 2), here)
            open = 1
        } else if (open) rows = rows " " prose(line[i], here)
        else out = out " " line[i]
    }
    if (open) rows = rows "</dd></dl>\n"
    return (out ~ /[^ ]/ ? "<p>" prose(out, here) "</p>\n" : "") rows
}

# ---- the examples ----

function example_line(file, line,   recipe) {
    recipe = file ~ /recipes\//
    gsub(/.*\//, "", file)
    if (file != example) {
        if (recipe || file ~ /^[0-9]/) in_full[file] = 1
        example = file
        examples[++example_count] = file
        body = ""
    }
    whole[file] = whole[file] line "\n"
    if (line ~ /^\/\// || line ~ /^#/) return
    if (body == "" && line !~ /^(static |int |void |struct |wsq_|template|class )?.*\{$/ && line !~ /^\/\*/) return
    if (body == "" && line ~ /^ /) return
    body = body line "\n"
    if (line ~ /^\}/) {
        if (line == "}") calls_in(body, file)
        body = ""
    }
}

# The first function of an example that calls a name shows how.
function calls_in(text, file,   rest, name, seen) {
    rest = text
    while (match(rest, /wsq_[a-z_0-9]+\(/)) {
        name = substr(rest, RSTART, RLENGTH - 1)
        rest = substr(rest, RSTART + RLENGTH)
        if (name in seen || !(name in anchor)) continue
        seen[name] = 1
        if (!((name, file) in used)) uses[name] = uses[name] " " file
        used[name, file] = 1
        if (!(name in excerpt) || (length(text) < length(excerpt[name]) && !(file ~ /^[a-z]/ && from[name] ~ /^[0-9]/))) {
            excerpt[name] = text
            from[name] = file
        }
    }
}

function example_html(name,   n, file, i, out, more) {
    if (!(name in excerpt)) return ""
    out = "<details><summary>Example: " from[name] "</summary>\n<pre>" \
        code_block(substr(excerpt[name], 1, length(excerpt[name]) - 1), name) "</pre>\n"
    n = split(uses[name], file, " ")
    for (i = 1; i <= n; i++)
        if (file[i] in in_full) more = more " <a href=\"#-" slug(file[i]) "\">" file[i] "</a>"
    if (more != "") out = out "<p class=\"more\">In" more "</p>\n"
    return out "</details>"
}

function whole_example(name,   title) {
    title = name in question ? "How do I " tolower(substr(question[name], 1, 1)) substr(question[name], 2) "?" : name
    print "<h2 id=\"-" slug(name) "\">" escape(title) (name in question ? " <small>" name "</small>" : "") "</h2>"
    print "<pre>" code_block(whole[name], "") "</pre>"
}

# ---- the page ----

# What hpp.awk makes of the C++ layer.
function cpp_chapter(part,   command, line, out) {
    command = "awk -v part=" part " -f examples/docs/hpp.awk examples/wsq.hpp examples/wsq_algorithm.hpp"
    while ((command | getline line) > 0) out = out line "\n"
    close(command)
    return out
}

# examples/docs/cookbook.txt: the questions that recipes answer.
function read_cookbook(   line, part) {
    while ((getline line < "examples/docs/cookbook.txt") > 0) {
        if (line ~ /^#/) continue
        split(line, part, / *\| */)
        if (part[2] != "") {
            question[part[1]] = capital_first(part[2])
            recipes[++recipe_count] = part[1]
        }
    }
    close("examples/docs/cookbook.txt")
}

BEGIN { read_cookbook() }

FNR == 1 { file++ }

file == 1 {
    if (FNR == 1) {
        title = $0
        sub(/^\/\* /, "", title)
    }
    if ($0 ~ /^ \* (CONTENTS|>>)/ && !contents) contents = 1
    if ($0 ~ /^ \* ----/) contents = 2
    if (contents == 1 && $0 ~ /^ \*     >>[a-z]+ +[a-z]/ && $0 !~ />>.*>>/) {
        tag = substr($2, 3)
        text = $0
        sub(/^ \*     >>[a-z]+ +/, "", text)
        section_title[tag] = capital_first(text)
    }
    if (contents == 2 && former ~ /^ \* ----/ && $0 ~ /^ \* >>/) section = $2
    if (section == ">>macros" && /^ \*     [A-Z][A-Z_]+/) {
        line = $0
        sub(/^ \*     /, "", line)
        sub(/  .*/, "", line)
        while (match(line, /[A-Z][A-Z_]+/)) {
            name = substr(line, RSTART, RLENGTH)
            line = substr(line, RSTART + RLENGTH)
            table_macro[name] = 1
            if (name ~ /^WSQ_/) anchor[name] = name
        }
    }
    if ($0 ~ /^#ifndef WSQ_H$/) section = "-"
    if ($0 ~ /^#endif \/\* WSQ_H/) section = "--"
    if (section == "-") learn($0)
    former = $0
    next
}

file == 2 && FNR == 1 { in_manual = 1 }
file == 2 && part == 0 {
    if ($0 ~ /^ \*\//) {
        manual_flush()
        more_chapters()
        part = 1
    } else if (FNR > 1) manual_line($0)
    next
}
file == 2 && part == 1 {
    if ($0 ~ /^#endif \/\* WSQ_H/) part = 2
    if (prior ~ /^\/\* ====/ && $0 ~ /^ \* >>/) area = $2
    if (prior ~ /^\/\* (====|----)/ && $0 ~ /^ \* >>types/) group("results and handles")
    if (prior ~ /^\/\* ====/ && $0 ~ /^ \* >>inline/) group("fork and join, inline")
    if ($0 ~ /^ \* >>(config)/) group("constants")
    if (skip_body) {
        if ($0 ~ /^\}/) skip_body = inline = 0
    } else if (area ~ />>(config|types|api|inline)/ && $0 !~ /^ \*( >>| ==|$)/ && $0 !~ /^\/\* ==/) declaration_line($0)
    prior = $0
    next
}

file > 2 { example_line(FILENAME, $0) }

END {
    print "<nav id=\"menu\"><details open><summary>Contents</summary>"
    print "<h4>Manual</h4>\n" menu "<h4>Cookbook: how do I ...</h4>"
    for (i = 1; i <= recipe_count; i++)
        print "<a href=\"#-" slug(recipes[i]) "\">" escape(question[recipes[i]]) "</a>"
    print index_list cpp_chapter("menu")
    print "<h4>Examples</h4>"
    for (i = 1; i <= example_count; i++)
        if (examples[i] in in_full && !(examples[i] in question))
            print "<a href=\"#-" slug(examples[i]) "\">" examples[i] "</a>"
    print "</details></nav>\n<main>\n<h1>" escape(title) "</h1>"
    print manual
    while (match(reference, /@EXAMPLES [A-Za-z0-9_]+@/)) {
        name = substr(reference, RSTART + 10, RLENGTH - 11)
        text = substr(reference, 1, RSTART - 1)
        reference = substr(reference, RSTART + RLENGTH)
        printf "%s%s", text, example_html(name)
    }
    print reference
    printf "%s", cpp_chapter("main")
    for (i = 1; i <= recipe_count; i++) whole_example(recipes[i])
    for (i = 1; i <= example_count; i++)
        if (examples[i] in in_full && !(examples[i] in question)) whole_example(examples[i])
    print "</main>"
}
