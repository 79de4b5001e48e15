#!/bin/sh
# usage: test/examples/test_docs.sh [build directory [folder for pictures]]
# The reference page: every public name, of C and of C++, has its place, every link leads somewhere,
# nothing is loaded from elsewhere. An editor (clangd) shows the contract of every name. In a browser
# without a window it finds what is searched for, has a light and a dark face, and fits on a phone. The
# pictures stay, if a folder is given, to be looked at.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${1:-${B:-build}}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
pictures=${2:-$work}
page=$build/docs/index.html
failed=0

fail() {
    echo "FAIL  $*"
    failed=1
}

# ---- the text ----

mkdir -p "$build/docs" "$pictures"
sh examples/docs/page.sh >"$page" || exit 1
grep -o 'id="[^"]*"' "$page" | sed 's/^id="//; s/"$//' | sort >"$work/ids"
grep -o 'href="#[^"]*"' "$page" | sed 's/^href="#//; s/"$//' | sort -u >"$work/links"
sed -n '/^#ifndef WSQ_H$/,/^#endif .* WSQ_H/p' wsq.h >"$work/declarations"
{
    sed -nE 's/^(WSQ_API|static inline) [^(]*[ *](wsq_[a-z_0-9]+)\(.*/\2/p' "$work/declarations"
    sed -nE 's/^(typedef )?(struct|enum) (wsq_[a-z_]+) \{.*/\3/p' "$work/declarations"
    sed -nE 's/^typedef .*\(\*(wsq_[a-z_]+)\).*/\1/p' "$work/declarations"
    sed -nE 's/^#define ((WSQ|wsq)_[A-Za-z_]+).*/\1/p' "$work/declarations" | grep -vx WSQ_H
} | sort -u >"$work/names"

names=$(wc -l <"$work/names")
[ "$names" -ge 90 ] || fail "only $names public names were found"
comm -23 "$work/names" "$work/ids" | while read -r name; do echo "FAIL  $name is not on the page"; done | tee "$work/missing"
[ ! -s "$work/missing" ] || failed=1

# Each name of wsq.hpp that its own test uses, and a sentence for each function and member.
grep -oE '(^|[^a-z:])wsq::[a-z_]+' test/examples/test_hpp.cpp | sed 's/.*wsq::/cpp-/' | grep -v cpp-detail | sort -u |
    comm -23 - "$work/ids" | while read -r name; do echo "FAIL  $name is not on the page"; done | tee "$work/missing"
[ ! -s "$work/missing" ] || failed=1
awk '/<section id="cpp-/ { here = $0 }
    here && (/<dd><\/dd>/ || (code && !/^<p>/)) { print "FAIL  no text: " $0 }
    { code = here && /<\/pre>$/ }
    /<\/section>/ { here = "" }' "$page" | tee "$work/mute"
[ ! -s "$work/mute" ] || failed=1
twice=$(uniq -d "$work/ids")
[ -z "$twice" ] || fail "anchors that are there twice:" $twice
dead=$(comm -13 "$work/ids" "$work/links" | grep .)
[ -z "$dead" ] || fail "links that lead nowhere:" $dead
! grep -nE '(src|href)="[^#]|@import|url\(' "$page" || fail 'the page loads something'

# The cookbook: a question for each recipe and a recipe for each question; words only for places that exist.
sed -n 's/^\([a-z_]*\.c\) | [a-z].*/\1/p' examples/docs/cookbook.txt | sort >"$work/questions"
ls examples/recipes | comm -3 - "$work/questions" | while read -r name; do
    echo "FAIL  $name: no recipe, or no question"
done | tee "$work/missing"
ls examples/recipes | while read -r name; do
    grep -q "recipes/$name" README.md || echo "FAIL  README.md does not lead to $name"
done | tee -a "$work/missing"
[ ! -s "$work/missing" ] || failed=1
sed -n '/^const synonyms/,/^};/s/^    "\([^"]*\)": .*/\1/p' "$page" | sort | comm -23 - "$work/ids" |
    while read -r name; do echo "FAIL  words for $name, which is not on the page"; done | tee "$work/missing"
[ ! -s "$work/missing" ] || failed=1
! grep -n '@EXAMPLES' "$page" || fail 'an example is left out'
! grep -nE '[^W]SQ_|[^w]sq_' "$page" || fail 'a name is cut'
excerpts=$(grep -c '<summary>Example' "$page")
[ "$excerpts" -ge 30 ] || fail "only $excerpts functions have an example"
echo "      $names names, $(wc -l <"$work/links") links, $excerpts examples, $(wc -c <"$page") bytes"

# ---- in an editor ----

if command -v clangd >/dev/null && command -v python3 >/dev/null; then
    said=$(timeout 100 python3 test/examples/hover.py) || fail 'an editor shows a name without its contract'
    echo "      editor: $said"
else
    echo 'skip  what an editor shows: needs clangd and python3 (Debian: clangd)'
fi

# ---- in a browser ----

for browser in chromium chromium-browser google-chrome ''; do
    command -v "$browser" >/dev/null && break
done
if [ -z "$browser" ]; then
    echo 'skip  the page in a browser: needs one (Debian: chromium)'
    exit $failed
fi

browse() { # file, window, option
    timeout 60 "$browser" --headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
        --disable-background-networking --disable-component-update --disable-sync \
        --hide-scrollbars --virtual-time-budget=3000 --user-data-dir="$work/profile" \
        --window-size="$2" "$3" "file://$work/$1.html" 2>"$work/log"
}

# A copy of the page that does something by itself. What it says stands in its title.
with() { # name, script
    sed '/^<\/html>/d' "$page" >"$work/$1.html"
    printf '<script>%s</script></html>\n' "$2" >>"$work/$1.html"
}

title() { sed -n 's/.*<title>\([^<]*\)<.*/\1/p' | head -n 1; }

# What a user asks for, and the best hit.
cat >"$work/asked" <<'END'
group wait: #wsq_group_wait
SPAWN: #wsq_spawn
affinity quota: #wsq_config
when_all: #cpp-when_all
zzzz: nothing
concurrency: #-limit-c
deadline: #-deadline-c
backpressure: #-bounded-c
epoll: #-epoll-c
libuv: #-uv-c
SDL: #-gui-c
shared library: #-library-c
coroutine: #-12-coroutine-cpp
lambda: #-11-lambda-cpp
leak: #-memory-c
tsan: #-macros
thread pool: #-queue-c
hang: #-trouble-nothing-moves
ctrl-c: #-signals-c
deterministic: #-deterministic-c
openmp: #-more
sleep: #wsq_timer_set
retry: #-timeout-c
periodic: #-periodic-c
timer: #wsq_timer
how many threads?: #wsq_config
wait for all tasks: #wsq_pool_wait
nested wait deadlock: #-guide-waiting
starvation: #-guide-priority
main thread: #-gui-c
vendored: #-library-c
single threaded test: #-deterministic-c
time out: #-timeout-c
memory per task: #-memory-c
parallel for: #wsq_for
hot phase: #wsq_pool_set_spin
goroutine: #wsq_go
permit: #-concepts-waiting
progress: #-guide-progress
tracing: #wsq_hooks
wasm: #-systems
END
asked=$(sed 's/\(.*\): .*/"\1"/' "$work/asked" | paste -sd, -)
with search "const ask = text => { box.value = text; show();
        return text + ': ' + (found.firstChild.getAttribute('href') || 'nothing'); };
    const said = [$asked].map(ask);
    box.value = 'spawn'; show();
    const key = name => box.dispatchEvent(new KeyboardEvent('keydown', { key: name, cancelable: true }));
    key('ArrowDown'); key('ArrowUp'); key('Enter');
    document.title = [...said, location.hash + ' ' + found.hidden].join('; ');"
said=$(browse search 1300,900 --dump-dom | title)
echo "$said" | sed 's/; /\n/g' >"$work/said"
echo '#wsq_spawn true' | cat "$work/asked" - | diff - "$work/said" >"$work/different" ||
    { fail 'the search (<: wanted, >: found)' && grep '^[<>]' "$work/different"; tail -n 3 "$work/log"; }
echo "      search: $(grep -c : "$work/said") questions"

# A frame as wide as a phone: nothing may be wider than it, and the contents begin closed.
phone='const frame = document.createElement("iframe");
    frame.style = "width:390px;height:800px;border:0"; frame.srcdoc = "<!doctype html>" + text;
    frame.onload = () => { const inside = frame.contentDocument;
        document.title = inside.documentElement.scrollWidth + " "
            + inside.querySelector("#menu details").open; };
    document.body.append(frame);'
with phone "document.currentScript.remove(); const text = document.documentElement.outerHTML; $phone"
said=$(browse phone 1300,900 --dump-dom | title)
echo "      phone: $said"
[ "$said" = "390 false" ] || fail "on a phone: $said"

# The faces: a background each, that of the button and that of the system.
with theme 'const back = () => getComputedStyle(document.body).backgroundColor;
    const faces = [back()], button = document.getElementById("theme");
    button.click(); faces.push(back()); button.click(); faces.push(back());
    document.title = faces.join(" ").replace(/, /g, ",");'
said=$(browse theme 1300,900 --dump-dom | title)
echo "      faces: $said"
case $said in
'rgb(255,255,255) rgb(15,20,25) rgb(255,255,255)') ;;
*) fail "the faces are $said" ;;
esac

# The choice survives a reload.
with kept 'if (!sessionStorage.again) { sessionStorage.again = 1;
        document.getElementById("theme").click(); location.reload(); }
    else { document.title = document.documentElement.dataset.theme; localStorage.clear(); }'
said=$(browse kept 1300,900 --dump-dom | title)
echo "      after a reload: $said"
case $said in
dark | light) ;;
*) fail "the theme after a reload: $said" ;;
esac

picture() { # name, window
    browse "$1" "$2" "--screenshot=$pictures/$1.png" >/dev/null
    [ "$(wc -c <"$pictures/$1.png")" -ge 20000 ] || fail "the picture $1 is blank"
}
with light ''
picture light 1300,1000
with dark 'document.documentElement.dataset.theme = "dark";
    for (const item of document.querySelectorAll("main > :not(#wsq_spawn):not(#wsq_pool_create)"))
        item.remove();
    for (const item of document.querySelectorAll("details")) item.open = true;'
picture dark 1300,1000
exit $failed
