#!/bin/sh
# usage: examples/docs/page.sh > index.html
# The reference page: the manual, every declaration with its contract, a cookbook, and the examples. One
# file that loads nothing, made by the page.awk beside this script from wsq.h, examples/, manual.txt (chapters
# that only the page has) and cookbook.txt (the questions that the recipes answer, and words for the search).
set -e
here=$(dirname "$0")
cd "$here/../.."
version=$(sed -n '1s/.*version \([0-9.]*\).*/\1/p' wsq.h)
cat <<END
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>wsq $version: reference</title>
<style>
$(cat examples/docs/page.css)
</style>
</head>
<body>
<header>
<a class="home" href="#">wsq <small>$version</small></a>
<input id="search" type="search" placeholder="Search (press /)" aria-label="Search" autocomplete="off">
<button id="theme" type="button" aria-label="Light or dark">◐</button>
<div id="found" hidden></div>
</header>
$(awk -f examples/docs/declared.awk -f examples/docs/page.awk wsq.h wsq.h examples/[0-9]*.c examples/[0-9]*.cpp examples/recipes/*.c examples/[a-z]*.c)
<script>
$(awk -F ' *[|] *' '
    BEGIN { print "const synonyms = {" }
    !/^#/ {
        if ($2 != "") { $1 = "-" tolower($1); gsub(/[^a-z0-9]+/, "-", $1) }
        printf "    \"%s\": \"%s\",\n", $1, $3
    }
    END { print "};" }' examples/docs/cookbook.txt)
$(cat examples/docs/page.js)
</script>
</body>
</html>
END
