#!/bin/sh
# usage: bench/servers.sh [httpd [rounds [seconds]]]    the last line of each server is its median
# A web server on wsq (examples/httpd) beside nginx and Go's net/http, whichever is installed: one page
# of 150 bytes, connections that stay open, two workers each, wrk with one thread as the client. The
# servers take turns. For each number of connections one line:
#     server connections requests/s median-us 99%-us cpu-us/request switches/request memory-KiB
httpd=${1:-build/examples/httpd} rounds=${2:-3} seconds=${3:-2}
command -v wrk >/dev/null || { echo 'skip servers: wrk is not installed'; exit 0; }
[ -x "$httpd" ] || { echo "no $httpd: make examples"; exit 2; }
dir=$(mktemp -d) || exit 1
children=
trap 'kill $children 2>/dev/null; wait; rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM

page='<!doctype html><meta charset=utf-8><title>wsq</title><h1>It works</h1><p>One page, the same for each of the servers that are measured.'
mkdir "$dir/www"
printf '%s\n' "$page" >"$dir/www/index.html"

cat >"$dir/nginx.conf" <<END
worker_processes 2; daemon off; pid $dir/pid; error_log $dir/error;
events { worker_connections 10000; }
http { access_log off; keepalive_requests 1000000000; sendfile on; tcp_nopush off; default_type text/html;
       client_body_temp_path $dir/a; proxy_temp_path $dir/b; fastcgi_temp_path $dir/c;
       uwsgi_temp_path $dir/d; scgi_temp_path $dir/e;
       server { listen 127.0.0.1:18091; root $dir/www; } }
END
cat >"$dir/main.go" <<END
package main

import (
	"net/http"
	"os"
	"runtime"
)

func main() {
	runtime.GOMAXPROCS(2)
	page, _ := os.ReadFile(os.Args[1])
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Write(page)
	})
	http.ListenAndServe("127.0.0.1:18092", nil)
}
END

servers='httpd:18090'
"$httpd" -p 18090 -w 2 >"$dir/httpd.log" &
httpd_pid=$! children=$!
if command -v nginx >/dev/null; then
    nginx -p "$dir" -c "$dir/nginx.conf" 2>"$dir/nginx.log" &
    nginx_pid=$! children="$children $!" servers="$servers nginx:18091"
else echo 'skip nginx: it is not installed'; fi
if command -v go >/dev/null && (cd "$dir" && GOCACHE=$dir/cache go build -o go_server main.go 2>go.log); then
    "$dir/go_server" "$dir/www/index.html" &
    go_pid=$! children="$children $!" servers="$servers go:18092"
else echo 'skip go: it is not installed'; fi
sleep 1

# The processes of a server.
processes() { eval "set -- \$${1}_pid"; echo "$1" $(pgrep -P "$1"); }

# Processor time (ticks), switches and memory (KiB) of these processes.
spent() {
    for pid; do
        awk '{ print "ticks", $14 + $15 }' "/proc/$pid/stat"
        cat /proc/$pid/task/*/status | awk '/ctxt/ { print "switches", $2 }'
        awk '/^Pss:/ { print "memory", $2 }' "/proc/$pid/smaps_rollup"
    done | awk '{ n[$1] += $2 } END { print n["ticks"], n["switches"], n["memory"] }'
}

measure() { # server, port, connections
    pids=$(processes "$1")
    before=$(spent $pids)
    wrk -t1 -c"$3" -d"${seconds}s" --latency "http://127.0.0.1:$2/" >"$dir/wrk"
    after=$(spent $pids)
    awk -v name="$1" -v count="$3" -v before="$before" -v after="$after" -v hz="$(getconf CLK_TCK)" '
        function us(t) { return t ~ /us$/ ? t + 0 : t ~ /ms$/ ? t * 1000 : t * 1000000 }
        $1 == "50%" { median = us($2) }
        $1 == "99%" { late = us($2) }
        /requests in/ { requests = $1 }
        /^Requests\/sec/ { rate = $2 }
        END { split(before, b, " "); split(after, a, " "); if (!requests) exit
              printf "%s %d %.0f %.0f %.0f %.2f %.2f %d\n", name, count, rate, median, late,
                     (a[1] - b[1]) * 1e6 / hz / requests, (a[2] - b[2]) / requests, a[3] }' "$dir/wrk"
}

for count in 1 8 64 512; do
    for round in $(seq "$rounds"); do
        for server in $servers; do measure "${server%:*}" "${server#*:}" "$count"; done
    done >"$dir/lines"
    for server in $servers; do
        printf '%s %s' "${server%:*}" "$count"
        for column in 3 4 5 6 7 8; do
            printf ' %s' "$(awk -v n="${server%:*}" -v c=$column '$1 == n { print $c }' "$dir/lines" |
                sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }')"
        done
        echo
    done
done
