#!/bin/sh
# usage: test/examples/test_httpd.sh [build directory]
# Drives examples/httpd over loopback, some seconds: each kind of answer (curl), load (wrk), too few
# descriptors, and a stop in the middle of requests, of which none may be lost.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${1:-${B:-build}}
httpd=$build/examples/httpd
client=$build/test/examples/httpd_client
work=$(mktemp -d) || exit 1
pid='' failed=0
trap '[ -z "$pid" ] || kill -9 "$pid" 2>/dev/null; rm -rf "$work"' EXIT

expect() { # what, expected, found
    [ "$2" = "$3" ] && return
    echo "FAIL  $1: $3 instead of $2"
    failed=1
}

need() { # tool, Debian package, what for
    command -v "$1" >/dev/null && return
    echo "skip  $3: needs $1 (Debian: $2)"
    return 1
}

begin() { # arguments of httpd
    : >"$work/log"
    "$httpd" -p 0 "$@" >"$work/log" 2>&1 &
    pid=$!
    tries=0
    until url=$(sed -n 's,/$,,;1p' "$work/log") && [ -n "$url" ]; do
        tries=$((tries + 1))
        [ $tries -lt 100 ] && kill -0 "$pid" 2>/dev/null || { cat "$work/log"; exit 1; }
        sleep 0.1
    done
    port=${url##*:}
}

# The exit code is the server's: 0 is a graceful stop, 137 means that it had to be killed.
ended() { # what
    (for i in $(seq 100); do sleep 0.2; done; kill -9 "$pid") >/dev/null 2>&1 &
    guard=$!
    wait "$pid"
    expect "$1: the server's exit code" 0 $?
    kill "$guard" 2>/dev/null
    pid=''
}

stop() { # what
    kill -TERM "$pid"
    ended "$1"
}

status() { # expected, curl's arguments: the last one is a path
    expected=$1
    shift
    for last; do :; done
    found=$(curl -s -m 10 -o "$work/out" -w '%{http_code}' --path-as-is "$@")
    expect "curl $*" "$expected" "$found"
}

raw() { # expected status, bytes as printf writes them: what curl would not send
    expected=$1 bytes=$2
    found=$(printf "$bytes" | curl -s -m 10 "telnet://127.0.0.1:$port" |
        sed -n '1s/[^ ]* //;1s/ .*//p')
    expect "bytes $bytes" "$expected" "$found"
}

bare() { # expected status, bytes: the answer ends with its head
    expected=$1 bytes=$2
    found=$(printf "$bytes" | curl -s -m 10 "telnet://127.0.0.1:$port" | tr -d '\r' |
        sed -n '1s/[^ ]* \([0-9]*\).*/\1/p; 1,/^$/d; p')
    expect "bytes $bytes" "$expected" "$found"
}

make_files() {
    mkdir -p "$work/www/sub"
    echo front >"$work/www/index.html"
    echo below >"$work/www/sub/index.html"
    echo secret >"$work/www/.hidden"
    echo secret >"$work/secret"
    ln -s ../secret "$work/www/link"
    mkfifo "$work/www/fifo"
    : >"$work/www/empty"
    dd if=/dev/urandom of="$work/www/big" bs=1M count=3 2>/dev/null
    dd if=/dev/null of="$work/www/huge" bs=1M seek=64 2>/dev/null # more than sockets hold
}

range() { # expected status, range, expected bytes of the file: how many, from where
    status "$1" -r "$2" "$url/big"
    tail -c "+$(($4 + 1))" "$work/www/big" | head -c "$3" | cmp - "$work/out" || failed=1
}

ranges() {
    size=3145728
    range 206 0-0 1 0
    range 206 100-299999 299900 100
    range 206 3145000- 728 3145000
    range 206 3145000-9999999 728 3145000
    range 206 -1000 1000 $((size - 1000))
    range 206 -9999999 $size 0
    range 200 5-4 $size 0
    range 200 0-1,3-4 $size 0
    range 200 x $size 0
    range 416 $size- 0 0
    range 416 -0 0 0
    expect 'Content-Range' 'Content-Range: bytes 100-199/3145728' \
        "$(curl -s -r 100-199 -D - -o /dev/null "$url/big" | tr -d '\r' | grep -i content-range)"
    status 200 -r 0-9 -H 'If-Range: "x"' "$url/big"
    status 200 -I -r 0-9 "$url/big"
    status 416 -r 0-9 "$url/empty"
    status 206206 -r 0-9 "$url/big" -o "$work/out" "$url/big"
}

statistics() {
    status 200 "$url/.statistics"
    grep -q 'connections now, [1-9][0-9]* requests, [1-9]' "$work/out" ||
        expect 'the statistics' figures none
    status 200 -I "$url/.statistics"
}

answers() {
    begin "$work/www"
    status 200 "$url/"
    expect 'the front page' front "$(cat "$work/out")"
    status 200 "$url/big"
    cmp "$work/www/big" "$work/out" || failed=1
    status 200 "$url/empty"
    status 200 "$url/sub/?query"
    expect 'the page below' below "$(cat "$work/out")"
    status 200 "$url/%73ub%2Findex.html"
    status 200 -I "$url/big"
    ranges
    statistics
    status 200 --http1.0 "$url/"
    status 200200 "$url/big" -o "$work/out" "$url/" # on one connection
    for path in none sub sub/none index.html/ link fifo .hidden ../secret sub/../../secret \
        %2e%2e/secret ..%2fsecret; do
        status 404 "$url/$path"
    done
    status 405 -d some=data "$url/"
    status 405 --data-binary "@$work/www/big" "$url/" # answered before all of it is sent
    status 405 -X DELETE "$url/"
    status 413 -X GET -d some=data "$url/"
    status 413 -X GET -H 'Transfer-Encoding: chunked' -d some=data "$url/"
    status 431 -H "X: $(printf '%09000d' 0)" "$url/"
    status 431 "$url/$(printf '%09000d' 0)"
    status 400 "$url/%zz"
    status 400 "$url/%00"
    status 400 -H 'Host:' "$url/"
    status 400 -H 'Content-Length: x' "$url/"
    stop answers
}

malformed() {
    begin
    host='Host: x\r\nConnection: close\r\n\r\n'
    raw 200 "\r\nGET / HTTP/1.1\r\n$host"
    raw 200 "GET http://x/ HTTP/1.1\r\n$host"
    raw 404 "GET /none HTTP/1.1\r\n$host"
    raw 400 "nonsense\r\n\r\n"
    raw 400 "GET / HTTP/2.0\r\n$host"
    raw 400 "GET  HTTP/1.1\r\n$host"
    raw 400 "GET / HTTP/1.1 x\r\n$host"
    raw 400 "GET / HTTP/1.1\r\nHost : x\r\n\r\n"
    raw 400 "GET / HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n"
    raw 400 "GET / HTTP/1.1\r\nHost: x\r\nA: b\nc: d\r\n\r\n"
    raw 400 "GET / HTTP/1.1\r\nHost: x\r\n$host"
    raw 400 "GET /\\0 HTTP/1.1\r\n$host"
    # What HEAD gets has no body, whatever its status.
    bare 413 "HEAD / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody"
    bare 400 "HEAD / HTTP/1.1\r\nHost : x\r\n\r\n"
    bare 404 "HEAD /none HTTP/1.1\r\n$host"
    bare 431 "HEAD / HTTP/1.1\r\nX: $(printf '%09000d' 0)"
    stop 'malformed requests'
}

# Four at a time may be served; the others wait in the listen queue.
few_descriptors() {
    (ulimit -n 14 && exec "$httpd" -p 0 "$work/www" >"$work/log" 2>&1) &
    pid=$!
    sleep 0.5
    url=$(sed -n 's,/$,,;1p' "$work/log")
    found=$(curl -s -m 30 -Z --parallel-max 40 -H 'Connection: close' -o /dev/null \
        -w '%{http_code}\n' "$url/sub/?[1-120]" 2>/dev/null |
        sort | uniq -c | tr -s ' ' | tr '\n' ';')
    case $found in
    ' 120 200;' | *' 503;') ;; # a file could not be opened: said so, and the client may come again
    *) expect 'few descriptors' '120 answers' "$found" ;;
    esac
    stop 'few descriptors'
}

second_signal() {
    begin "$work/www"
    curl -s -m 20 --limit-rate 100k -o /dev/null "$url/huge" &
    reader=$!
    sleep 0.5
    kill -TERM "$pid"
    sleep 1.5
    kill -0 "$pid" 2>/dev/null || expect 'one SIGTERM' 'waits for a slow reader' 'does not wait'
    stop 'a second SIGTERM'
    kill $reader 2>/dev/null
}

load() {
    begin "$work/www"
    for path in / /big /none; do
        wrk -t1 -c64 -d1s "$url$path" >"$work/wrk" 2>&1 || failed=1
        # A time-out says that the machine is busy; the others would be the server's.
        expect "wrk $path: errors" '' \
            "$(grep 'Socket errors' "$work/wrk" | grep -v 'connect 0, read 0, write 0')"
        echo "      wrk $path: $(grep Requests/sec "$work/wrk")"
    done
    (sleep 0.5 && kill -TERM "$pid") &
    wrk -t1 -c64 -d1s "$url/" >"$work/wrk" 2>&1
    ended 'a stop under load'
}

no_request_lost() {
    for workers in 1 2 4 8; do
        begin -w $workers "$work/www"
        "$client" "$port" "$pid" /big || failed=1
        ended "a stop amid requests, $workers workers"
    done
}

"$httpd" -h >"$work/log" 2>&1
if grep -q epoll "$work/log"; then
    echo "skip  $(cat "$work/log")"
    exit 0
fi
make_files
if need curl curl 'answers'; then
    answers
    malformed
    few_descriptors
    second_signal
fi
if need wrk wrk 'load'; then load; fi
no_request_lost
exit $failed
