#!/bin/sh
# usage: .docs/page.sh > index.html
# The reference page: the manual, every declaration with its contract, and the examples that use it.
# One file, made from wsq.h and examples/ by the page.awk beside this script, with nothing to load.
set -e
here=$(dirname "$0")
cd "$here/.."
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
$(cat .docs/page.css)
</style>
</head>
<body>
<header>
<a class="home" href="#">wsq <small>$version</small></a>
<input id="search" type="search" placeholder="Search (press /)" aria-label="Search" autocomplete="off">
<button id="theme" type="button" aria-label="Light or dark">◐</button>
<div id="found" hidden></div>
</header>
$(awk -f .docs/page.awk wsq.h wsq.h examples/[0-9]*.c examples/recipes/*.c examples/[a-z]*.c)
<script>
$(cat .docs/page.js)
</script>
</body>
</html>
END
