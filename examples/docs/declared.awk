# What page.awk and test/tools/contracts.awk share.

# The name that a line of the header declares at file scope, or "".
function declared(line) {
    if (line ~ /^#define (WSQ|wsq)_/) {
        sub(/^#define /, "", line)
        sub(/[^A-Za-z0-9_].*/, "", line)
        return line
    }
    if (line ~ /^(typedef )?(struct|enum) wsq_[a-z_]+ \{/) {
        match(line, /wsq_[a-z_]+ \{/)
        return substr(line, RSTART, RLENGTH - 2)
    }
    if (line ~ /^typedef struct wsqi_entry/) return "wsq_ctx"
    if (match(line, /^typedef struct wsq_[a-z_]+ wsq_[a-z_]+;/)) {
        sub(/;.*/, "", line)
        sub(/.* /, "", line)
        return line
    }
    if (line ~ /^typedef .*\(\*wsq_[a-z_]+\)/) {
        match(line, /\(\*wsq_[a-z_]+/)
        return substr(line, RSTART + 2, RLENGTH - 2)
    }
    if (line ~ /^(WSQ_API|static inline) .*[ *]wsq_[a-z_0-9]+\(/) {
        match(line, /[ *]wsq_[a-z_0-9]+\(/)
        return substr(line, RSTART + 1, RLENGTH - 2)
    }
    return ""
}
