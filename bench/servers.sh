#!/bin/sh
# usage: bench/servers.sh BUILD [rounds [seconds]]
# Servers on wsq beside others, two threads each where they have threads, and one client (peers/echo/client.c) for
# all. What is not installed is skipped, with a line.
#
#   echo   64 bytes come back: examples/echo, a bare epoll loop, libuv (one thread), asio, Tokio, Go
#   web    one page of 150 bytes: examples/httpd, nginx, Go's net/http
#
# The servers take turns. For each number of connections one line, the medians of the rounds:
#   what server connections requests/s median-us 99%-us cpu-us/request switches/request memory-KiB
# and at the end the table of README.md.
#
# Environment: SERVER_CONNECTIONS ("1 8 64 512 5000"), SERVER_ONLY (names: "wsq go", and so on),
# SERVER_BUILT=1 (what BUILD/servers has is not built again).
build=${1:?usage: bench/servers.sh BUILD [rounds [seconds]]} rounds=${2:-3} seconds=${3:-1}
connections=${SERVER_CONNECTIONS:-1 8 64 512 5000}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$build/servers" && dir=$(cd "$build/servers" && pwd) || exit 1
build=$(cd "$build" && pwd)
cc=${CC:-cc} flags=${CFLAGS:--O2}
ulimit -n 20000 2>/dev/null || ulimit -n "$(ulimit -H -n)"

# ---- building: each into $dir/WHAT.NAME ----

wanted() { [ ! "$SERVER_ONLY" ] || case " $SERVER_ONLY " in *" $1 "*) ;; *) false ;; esac; }

# try PROGRAM PACKAGE COMMAND...: builds $dir/PROGRAM
try() {
    program=$1 package=$2
    shift 2
    wanted "${program#*.}" || return 0
    if [ "$SERVER_BUILT" ] && [ -x "$dir/$program" ]; then return 0; fi
    rm -f "$dir/$program"
    "$@" -o "$dir/$program" >"$dir/$program.log" 2>&1 || echo "skip $program: not built (Debian: $package)"
}

# What the compiler wants in another order than try gives it.
goes() { go build "$@" "$here/peers/echo/main.go"; }
crates=/usr/share/cargo/registry
cargoes() {
    mkdir -p "$dir/tokio.src" && cp -r "$here/peers/echo/tokio/." "$dir/tokio.src" &&
        (cd "$dir/tokio.src" && cargo build --release --offline \
            --config 'source.crates-io.replace-with="debian"' \
            --config "source.debian.directory=\"$crates\"") && cp "$dir/tokio.src/target/release/echo" "$2"
}

"$cc" $flags -std=c11 "$here/peers/echo/client.c" -o "$dir/client" || exit 1
${MAKE:-make} -s -C "$here/.." B="$build" "$build/examples/echo" "$build/examples/httpd" || exit 1
cp "$build/examples/echo" "$dir/echo.wsq" && cp "$build/examples/httpd" "$dir/web.wsq" || exit 1
try echo.epoll gcc "$cc" $flags "$here/peers/echo/epoll.c"
try echo.libuv libuv1-dev "$cc" $flags "$here/peers/echo/libuv.c" -luv
try echo.asio "g++ libasio-dev" g++ $flags -std=c++17 "$here/peers/echo/asio.cpp" -pthread
try echo.tokio "cargo librust-tokio-dev" cargoes
try echo.go golang-go goes
[ ! -x "$dir/echo.go" ] || cp "$dir/echo.go" "$dir/web.go"
command -v nginx >/dev/null || echo 'skip web.nginx: not installed (Debian: nginx-light)'

# ---- starting ----

run=$(mktemp -d) || exit 1
children=
trap 'kill $children 2>/dev/null; wait; rm -rf "$run"' EXIT
trap 'exit 1' INT TERM
page='<!doctype html><meta charset=utf-8><title>wsq</title><h1>It works</h1><p>One page, the same for each of the servers that are measured.'
mkdir "$run/www"
printf '%s\n' "$page" >"$run/www/index.html"
cat >"$run/nginx.conf" <<END
worker_processes 2; daemon off; pid $run/pid; error_log $run/error;
events { worker_connections 10000; }
http { access_log off; keepalive_requests 1000000000; sendfile on; tcp_nopush off; default_type text/html;
       client_body_temp_path $run/a; proxy_temp_path $run/b; fastcgi_temp_path $run/c;
       uwsgi_temp_path $run/d; scgi_temp_path $run/e;
       server { listen 127.0.0.1:18100; root $run/www; } }
END

# start WHAT NAME PORT COMMAND...
servers=
start() {
    what=$1 name=$2 port=$3
    shift 3
    wanted "$name" && command -v "$1" >/dev/null || return 0
    "$@" >"$run/$what.$name.log" 2>&1 &
    children="$children $!" servers="$servers $what:$name:$port:$!"
}
start echo wsq 18090 "$dir/echo.wsq" 18090
start echo epoll 18091 "$dir/echo.epoll" 18091
start echo libuv 18092 "$dir/echo.libuv" 18092
start echo asio 18093 "$dir/echo.asio" 18093
start echo tokio 18094 "$dir/echo.tokio" 18094
start echo go 18095 "$dir/echo.go" 18095
start web wsq 18101 "$dir/web.wsq" -p 18101 -w 2
start web nginx 18100 nginx -p "$run" -c "$run/nginx.conf"
start web go 18102 "$dir/web.go" 18102 "$run/www/index.html"
sleep 1

# ---- measuring ----

# What a server is: WHAT NAME PORT, and its processes.
parts() { echo "$1" | tr : ' '; }

measure() { # server, connections
    # shellcheck disable=SC2046
    set -- "$2" $(parts "$1")
    option=
    [ "$2" = echo ] || option=-w
    # shellcheck disable=SC2046
    line=$("$dir/client" $option -s "$seconds" "$4" "$1" "$5" $(pgrep -P "$5")) && echo "$2 $3 $line"
}

# The table of README.md, from the lines above: the columns are the numbers of connections.
table() {
    awk -v connections="$connections" '
        { line[$1, $2, $3] = $0 }
        # A row, if it has figures: "12.3 / 4.5" is thousand requests a second and us of processor time.
        function row(label, what, server, column,   i, cell, cells, part, any) {
            for (i = 1; i <= count; i++) {
                split(line[what, server, at[i]], part)
                cell = column ? sprintf(column == 6 ? "%.0f" : "%.2f", part[column]) : sprintf("%.3g / %.1f", part[4] / 1000, part[7])
                if (part[4] + 0 > 0) any = 1
                else cell = "-"
                cells = cells " | " cell
            }
            if (any) print "| " label cells " |"
        }
        function rows(what, column,   i) { for (i = 2; i <= names; i++) row(label[name[i]], what, name[i], column) }
        END {
            count = split(connections, at)
            names = split("wsq epoll libuv asio tokio nginx go", name)
            split("wsq,epoll loop,libuv,asio,Tokio,nginx,Go", text, ",")
            for (i = 1; i <= names; i++) label[name[i]] = text[i]
            printf "\n| connections"
            for (i = 1; i <= count; i++) printf " | %s", at[i]
            printf " |\n|---"
            for (i = 1; i <= count; i++) printf "|---"
            print "|"
            row("**echo**, thousand requests a second / processor time a request, us: wsq", "echo", "wsq")
            rows("echo")
            row("**page**: wsq", "web", "wsq")
            rows("web")
            row("**99% answered within**, echo, us: wsq", "echo", "wsq", 6)
            row("Tokio", "echo", "tokio", 6)
            row("Go", "echo", "go", 6)
            row("**switches a request**, echo: wsq", "echo", "wsq", 8)
            row("Tokio", "echo", "tokio", 8)
        }' "$run/all"
}

for count in $connections; do
    for round in $(seq "$rounds"); do
        for server in $servers; do measure "$server" "$count"; done
    done >"$run/lines"
    for server in $servers; do
        # shellcheck disable=SC2046
        set -- $(parts "$server")
        printf '%s %s %s' "$1" "$2" "$count"
        for column in 4 5 6 7 8 9; do
            printf ' %s' "$(awk -v w="$1" -v n="$2" -v c=$column '$1 == w && $2 == n { print $c }' "$run/lines" |
                sort -n | awk '{ v[NR] = $1 } END { print NR ? v[int((NR + 1) / 2)] : "-" }')"
        done
        echo
    done | tee -a "$run/all"
done
table
