# The C++ chapter of the reference page: usage: awk -v part=menu|main -f hpp.awk wsq.hpp ...
#
# What stands in namespace wsq, outside of namespace detail, with the comment above it: functions,
# one section for all overloads, and classes with their public members. Bodies are left out.

function escape(s) {
    gsub(/&/, "\\&amp;", s)
    gsub(/</, "\\&lt;", s)
    gsub(/>/, "\\&gt;", s)
    return s
}

function trim(s) {
    sub(/^ +/, "", s)
    sub(/ +$/, "", s)
    return s
}

# `wsq_run` in a text, or in code, leads to its place on the page.
function linked(s,   out, word) {
    s = escape(s)
    while (match(s, /(wsq_[a-z0-9_]+|WSQ_[A-Z0-9_]+)/)) {
        word = substr(s, RSTART, RLENGTH)
        out = out substr(s, 1, RSTART - 1)
        out = out (word in c_name ? "<a href=\"#" word "\">" word "</a>" : word)
        s = substr(s, RSTART + RLENGTH)
    }
    return out s
}

# A declaration without its body, and without what initialises members.
function head_of(text) {
    sub(/ noexcept \{.*/, " noexcept", text)
    sub(/\) (const )?: [a-z_:]+[({].*/, ")", text)
    if (text ~ /\) const \{/) sub(/\) const \{.*/, ") const", text)
    sub(/\) \{.*/, ")", text)
    sub(/;$/, "", text)
    return text
}

# The name in front of the parameters.
function name_of(text) {
    while (sub(/template <[^()]*> /, "", text)) {}
    sub(/\(.*/, "", text)
    sub(/^.*[ *&]/, "", text)
    return text
}

function standard(name) {
    return " for_each for_each_n transform fill any_of none_of all_of reduce count_if" \
           " inclusive_scan exclusive_scan " ~ (" " name " ")
}

# ---- a namespace's items ----

function group(title) {
    body[++count] = "<h2 id=\"-cpp-" ++groups "\">C++: " escape(title) "</h2>\n"
    menu = menu "<h4>C++: " escape(title) "</h4>\n"
}

function section(name, kind, code, text,   at) {
    if (text == "" && standard(name) && !(name in place))
        text = "This does what std::" name " does, where the first argument says."
    if (!(name in place)) {
        place[name] = ++count
        menu = menu "<a href=\"#cpp-" name "\">wsq::" name "</a>\n"
    }
    at = place[name]
    kinds[at] = kind
    names[at] = name
    codes[at] = codes[at] (codes[at] != "" ? "\n" : "") code
    if (text != "") texts[at] = texts[at] "<p>" linked(text) "</p>\n"
}

function item_end(   code) {
    code = head_of(item)
    section(name_of(code), "function", code, item_text)
    item = text = ""
}

# ---- a class ----

function class_begin(line) {
    class_name = line
    while (sub(/template <[^()]*> /, "", class_name)) {}
    sub(/^class /, "", class_name)
    sub(/[ :{].*/, "", class_name)
    sub(/ \{$/, "", line)
    section(class_name, "type", line " { ... }", text)
    class_at = place[class_name]
    text = member = ""
    public = 0
    in_class = 1
}

function member_end(   code) {
    code = head_of(trim(member))
    gsub(/  +/, " ", code)
    if (code !~ /^[^(]*~|= (delete|default)$|\(pool &&|\(future &&|operator=|\(detail::/)
        members[class_at] = members[class_at] \
            "<dt>" linked(code) "</dt> <dd>" linked(text) "</dd>\n"
    member = text = ""
}

function class_line(line,   open) {
    if (line ~ /^\};/) {
        in_class = 0
        text = ""
        return
    }
    if (line ~ /^  (public|private):/) {
        public = line ~ /public/
        text = ""
        return
    }
    if (!public) return
    if (skip) {
        if (line ~ /^    \}/) skip = 0
        return
    }
    if (line ~ /^    \/\/ /) {
        text = text (text != "" ? " " : "") substr(line, 8)
        return
    }
    if (line ~ /^ *$/) return
    member = member " " trim(line)
    if (line ~ /\{$/) skip = 1
    if (line ~ /(;|\}|\{)$/) member_end()
}

# ---- the files ----

FNR == 1 { heading = 1; text = ""; sub(/.*\//, "", FILENAME); files++ }

heading {
    if ($0 !~ /^\/\//) {
        if (paragraph != "") intro = intro "<p>" linked(paragraph) "</p>\n"
        if (pre != "") intro = intro "<pre>" linked(pre) "</pre>\n"
        paragraph = pre = ""
        heading = 0
        body[++count] = "<h2 id=\"-cpp-file-" files "\">C++: " FILENAME "</h2>\n" intro
        menu = menu "<h4><a href=\"#-cpp-file-" files "\">C++: " FILENAME "</a></h4>\n"
        intro = ""
        next
    }
    line = $0
    sub(/^\/\/ ?/, "", line)
    if (line ~ /^    /) {
        if (paragraph != "") intro = intro "<p>" linked(paragraph) "</p>\n"
        paragraph = ""
        pre = pre (pre != "" ? "\n" : "") substr(line, 5)
    } else if (line == "") {
        if (pre != "") pre = pre "\n"
        else if (paragraph != "") paragraph = paragraph " "
    } else {
        sub(/\n+$/, "", pre)
        if (pre != "") intro = intro "<pre>" linked(pre) "</pre>\n"
        pre = ""
        paragraph = paragraph (paragraph != "" ? " " : "") line
    }
    next
}

/^namespace detail/ { hidden = 1 }
/^\} \/\/ namespace detail/ { hidden = 0; text = ""; next }
hidden || /^#/ || /^namespace/ { next }
/^\} \/\/ namespace/ { next }

in_class { class_line($0); next }

/^\/\/ ---- / {
    line = $0
    sub(/^\/\/ ---- /, "", line)
    sub(/:? ----$/, "", line)
    sub(/:.*/, "", line)
    group(line)
    text = ""
    next
}
/^\/\/ / { text = text (text != "" ? " " : "") substr($0, 4); next }
/^ *$/ { text = ""; next }
/^(template <[^()]*> )?class [a-z_]+;/ { text = ""; next }
/^(template <[^()]*> )?class [a-z_]+/ { class_begin($0); next }
/^ / && item == "" { next }
/^\}/ { next }
{
    if (item == "") item_text = text
    text = ""
    item = item (item != "" ? " " : "") trim($0)
    if ($0 ~ /(\{|;|\})$/) item_end()
}

BEGIN {
    while ((getline line < "wsq.h") > 0) {
        if (line ~ /^#endif \/\* WSQ_H/) break
        if (match(line, /^(WSQ_API|static inline) [^(]*[ *]wsq_[a-z_0-9]+\(/)) {
            name = substr(line, 1, RLENGTH - 1)
            sub(/^.*[ *]/, "", name)
            c_name[name] = 1
        }
        if (match(line, /^(typedef )?(struct|enum) wsq_[a-z_]+ \{/)) {
            split(line, word, " ")
            c_name[word[1] == "typedef" ? word[3] : word[2]] = 1
        }
    }
}

END {
    if (part == "menu") {
        printf "%s", menu
        exit
    }
    for (i = 1; i <= count; i++) {
        if (i in body) {
            printf "%s", body[i]
            continue
        }
        name = names[i]
        printf "<section id=\"cpp-%s\" data-name=\"wsq::%s\" class=\"%s\">\n", name, name, kinds[i]
        printf "<h3><a href=\"#cpp-%s\">wsq::%s</a></h3>\n", name, name
        printf "<pre>%s</pre>\n%s", linked(codes[i]), texts[i]
        if (i in members) printf "<dl class=\"members\">\n%s</dl>\n", members[i]
        print "</section>"
    }
}
