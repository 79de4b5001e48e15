#!/bin/sh
# usage: test/examples/test_trace_html.sh [build directory [picture.png]]
# examples/trace.html in a browser without a window: it reads a trace, draws lanes, and zooms. The
# picture stays, if its name is given, to be looked at.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${1:-${B:-build}}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
picture=${2:-$work/picture.png}

for browser in chromium chromium-browser google-chrome ''; do
    command -v "$browser" >/dev/null && break
done
if [ -z "$browser" ]; then
    echo 'skip  trace.html: needs a browser (Debian: chromium)'
    exit 0
fi

# The viewer with a trace inside, which then says what the wheel did, and how many colours it has
# drawn.
page() { # trace
    sed '/^<\/html>/d' examples/trace.html
    echo "<script>tryLoad(String.raw\`$(cat "$1")\`, 'inside');"
    echo "canvas.dispatchEvent(new WheelEvent('wheel', { deltaY: -1000, cancelable: true }));"
    echo "if (to - from < (last - first) / 2) \$('status').textContent += ', zooms';"
    echo "\$('count').click();"
    echo "\$('status').textContent += ', kinds: ' + \$('kinds').innerText.match(/^[a-z ]+/gm);"
    echo "\$('fit').click(); draw();"
    echo "const pixels = pen.getImageData(0, 0, canvas.width, canvas.height).data;"
    echo "const seen = new Set(new Uint32Array(pixels.buffer));"
    echo "\$('status').textContent += ', ' + seen.size + ' colours';</script></html>"
}

browse() { # option
    timeout 60 "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars \
        --window-size=1400,500 --virtual-time-budget=2000 --user-data-dir="$work/profile" \
        "$1" "file://$work/page.html" 2>"$work/log"
}

"$build/examples/trace" -w 4 "$work/trace.json" || exit 1
page "$work/trace.json" >"$work/page.html"
status=$(browse --dump-dom | sed -n 's/.*id="status">\([^<]*\)<.*/\1/p')
echo "      $status"
browse "--screenshot=$picture" >/dev/null
size=$(wc -c <"$picture")
colours=$(echo "$status" | sed -n 's/.* \([0-9]*\) colours$/\1/p')
case $status in
inside:\ trace,\ [2-9]\ lanes*) ;;
*) echo 'FAIL  no lanes' && tail -n 5 "$work/log" && exit 1 ;;
esac
job=job
grep -q '"name": *"job"' "$work/trace.json" || job=tree # no worker has stolen a job this time
for kind in uneven tree $job 'pass on' run parked blocked 'was queued'; do
    case $status in
    *kinds:*"$kind"*) ;;
    *) echo "FAIL  the table lacks $kind" && exit 1 ;;
    esac
done
case $status in
*zooms*) ;;
*) echo 'FAIL  the wheel does nothing' && exit 1 ;;
esac
[ "${colours:-0}" -ge 20 ] || { echo "FAIL  ${colours:-no} colours: blank"; exit 1; }
[ "$size" -ge 10000 ] || { echo "FAIL  a picture of $size bytes: blank"; exit 1; }
