#!/bin/sh
# usage: test/tools/matrix.sh [--quick] [row ...]
# Platforms, compilers, languages: one line each, "ok", "FAIL" or "skip: needs PACKAGE". What is not
# this machine is emulated: qemu-user, Wine, Node. --quick: a few programs of each suite instead of
# all. Without rows: all of them. The last line is "N passed, N failed, N skipped".
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build/matrix}
case $B in /*) ;; *) B=$PWD/$B ;; esac
CORES=${CORES:-$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)}
ROWS='gcc clang g++ clang++ lambda install cmake c11-threads no-threads kqueue i386 i386-clang musl
    aarch64 riscv64 armhf s390x windows windows32 cl wasm wasm-no-threads wasm-page
    freebsd openbsd dragonfly netbsd macos macos13 tcc'
QUICK='platform atomic task pool shutdown forkjoin parallel'
# What the platform decides.
SLEEP='platform idle task lifo fair budget forkjoin parallel programs compose timer group future'
LIMIT=${LIMIT:-900} # seconds for one program: emulators are slow
quick=
both='-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wcast-align -Werror -pthread'
strict="$both -Wstrict-prototypes"

# ---- what a row needs, and what it tells ----

note() { echo "$*" >"$dir/note"; }

skip() {
    note "needs $1"
    exit 77
}

has() { # package command ...
    package=$1
    shift
    for tool; do command -v "$tool" >/dev/null || skip "$package"; done
}

links() { # package, compile command: the target's headers and libraries are there, too
    package=$1
    shift
    has "$package" "$1"
    echo '#include <stdio.h>
int main(void) { return puts("") < 0; }' >"$dir/probe.c"
    "$@" "$dir/probe.c" -o "$dir/probe" 2>/dev/null || skip "$package"
}

# ---- a suite: the tests, built for something and run on something ----

names() {
    if [ -n "$quick" ]; then
        for t in $QUICK; do
            case " ${some-$QUICK} " in *" $t "*) echo "$t" ;; esac
        done
    elif [ -n "${some-}" ]; then echo "$some"
    else
        ls "${src:-.}"/test/test_*.c "${src:-.}"/test/stress/[!s]*.c |
            sed 's/.*test_//; s/.*stress\///; s/\.c$//' | tr '\n' ' '
        ${MAKE:-make} -s variants | sed -n 's/^test\/test_\([^ ]*\) .*/\1/p' | tr '\n' ' '
    fi
}

# A rule for each program that has no source of its own.
variants() { # compile command
    ${MAKE:-make} -s variants | sed -n 's/^test\/test_//p' | while read -r name source options; do
        printf '%s: %s\n\t%s\n' "$dir/$name${suffix-}" "${src:-.}/$source ${src:-.}/wsq.h" \
            "$* $options \$< -o \$@ -lm ${libs-}"
    done
}

compile() { # compile command, for each of $names
    make -s -j"$CORES" -f - all <<EOF
all: $(for t in $names; do echo "$dir/$t${suffix-}"; done | tr '\n' ' ')
$dir/%${suffix-}: ${src:-.}/test/test_%.c ${src:-.}/wsq.h test/tools/matrix.sh
	$* \$< -o \$@ -lm ${libs-}
$dir/%${suffix-}: ${src:-.}/test/stress/%.c ${src:-.}/wsq.h test/tools/matrix.sh
	$* \$< -o \$@ -lm ${libs-}
$(variants "$@")
EOF
}

execute() { # runner
    checks=0 count=0 bad=
    for t in $names; do
        since=$(date +%s)
        timeout $LIMIT $1 "$dir/$t${suffix-}" >"$dir/$t.log" 2>&1
        status=$?
        echo "$t: exit $status, $(($(date +%s) - since)) s"
        if [ $status -ne 0 ]; then bad="$bad $t" && tail -n 20 "$dir/$t.log"; fi
        n=$(sed -n 's/^\([0-9]*\) checks.*/\1/p' "$dir/$t.log")
        checks=$((checks + ${n:-0}))
        count=$((count + 1))
    done
    note "$count programs, $checks checks"
    [ -z "$bad" ] || echo "failed:$bad"
    [ -z "$bad" ]
}

suite() { # runner, compile command
    runner=$1
    shift
    names=$(names)
    compile "$@" && execute "$runner"
}

emulated() { # qemu's name, compiler's prefix
    links "gcc-$2" "$2-gcc" -static -pthread
    has qemu-user-static "qemu-$1-static"
    suite "qemu-$1-static" "$2-gcc" -std=c11 -O1 -static -pthread -D_GNU_SOURCE -DTEST_SLOWDOWN=20
}

# ---- languages ----

run() { # compile command
    "$@" -o "$dir/a.out" && timeout 180 "$dir/a.out"
}

language() { # standard, compile command
    std=$1 at=test/port/compile
    shift
    for source in whole first last twice; do run "$@" -std="$std" $at/$source.c || return 1; done
    run "$@" -std="$std" $at/user.c $at/implementation.c &&
        run "$@" -std="$std" $at/static_one.c $at/static_two.c
}

c_languages() {
    for std in c99 c11 c17 c2x; do language $std "$1" $strict || return 1; done
    note 'C99, C11, C17, C23: one file, two, static, the header first, last, twice'
}

cxx_languages() { # a C compiler for the other half
    links g++ "$1"
    for std in c++11 c++14 c++17 c++20; do language $std "$1" -x c++ $both || return 1; done
    "$2" -std=c11 $strict -c test/port/compile/implementation.c -o "$dir/c.o" &&
        run "$1" -std=c++11 $both test/port/compile/user.cpp "$dir/c.o" || return 1
    note 'C++11, 14, 17, 20: one file, two, static, the header first, last, twice; with the C half'
}

row_gcc() { has gcc gcc && c_languages gcc; }
row_clang() { has clang clang && c_languages clang; }
row_g__() { has g++ g++ && cxx_languages g++ gcc; }
row_clang__() { has clang clang++ && cxx_languages clang++ clang; }

row_lambda() {
    has g++ g++
    warn='-Wall -Wextra -Wpedantic -Wshadow -Werror -pthread'
    for std in c++11 c++20; do run g++ -std=$std -O2 $both examples/11_lambda.cpp || return 1; done
    run g++ -std=c++17 -O1 -D_GLIBCXX_DEBUG $warn test/examples/test_hpp.cpp || return 1
    run g++ -std=c++20 -O1 $warn test/examples/test_hpp.cpp || return 1
    for file in examples/12_coroutine test/examples/test_await; do run g++ -std=c++20 -O1 $warn $file.cpp || return 1; done
    note 'examples/11_lambda.cpp, 12_coroutine.cpp, wsq.hpp'
}

row_tcc() {
    has tcc tcc
    run tcc -pthread test/port/compile/whole.c ||
        skip 'a tcc with stdatomic.h and _Thread_local: younger than 0.9.27'
}

# ---- this machine, differently ----

row_c11_threads() {
    some=$SLEEP
    suite '' cc -std=c11 -O1 -pthread -D_GNU_SOURCE -I. -DTEST_SLOWDOWN=5 \
        "-DWSQ_PLATFORM_HEADER='\"test/port/platform_c11.h\"'"
}

row_no_threads() {
    run cc -std=c11 -O1 $strict -I. '-DWSQ_PLATFORM_HEADER="test/port/platform_none.h"' \
        test/port/compile/caller_runs.c || return 1
    note 'caller_runs on a platform that has nothing'
}

# wsq_io.h on the BSDs' call, which libkqueue makes of epoll.
row_kqueue() {
    has pkgconf pkg-config
    flags=$(pkg-config --cflags --libs --static libkqueue 2>/dev/null) ||
        skip 'libkqueue-dev, or a build of github.com/mheily/libkqueue in PKG_CONFIG_PATH'
    run cc -std=c11 -O1 $strict -D_GNU_SOURCE -DWSQ_IO_KQUEUE -DTEST_VARIANT=_kqueue \
        test/test_io.c $flags || return 1
    note 'test_io on libkqueue'
}

row_i386_clang() {
    here="-idirafter /usr/include/$(gcc -print-multiarch)"
    links gcc-12-multilib clang -m32 -pthread $here
    for level in 0 1 2 3; do
        run clang -m32 -std=c11 -O$level $strict $here test/port/compile/whole.c || return 1
    done
    suite '' clang -m32 -std=c11 -O1 -pthread -D_GNU_SOURCE -DTEST_SLOWDOWN=5 $here
}

row_i386() {
    here="-idirafter /usr/include/$(gcc -print-multiarch)"
    links gcc-12-multilib gcc -m32 -pthread $here
    "$dir/probe" >/dev/null 2>&1 || skip 'a kernel that runs 32-bit programs'
    run gcc -m32 -std=c11 $strict $here -D_FILE_OFFSET_BITS=64 -D_TIME_BITS=64 \
        test/port/compile/whole.c &&
        suite '' gcc -m32 -std=c11 -O1 -pthread -D_GNU_SOURCE -DTEST_SLOWDOWN=5 $here
}

row_musl() {
    links musl-tools musl-gcc -static
    # Threads have 128 KiB of stack there, and the tests recurse deeper.
    run musl-gcc -std=c11 $strict -static test/port/compile/whole.c &&
        suite '' musl-gcc -Wl,-z,stack-size=8388608 -std=c11 -O1 -static -pthread -D_GNU_SOURCE \
            -DTEST_SLOWDOWN=5
}

# QEMU 7.2 on x86 lets a load (ldar) pass a store before it (stlr), which ARM forbids; test_atomic
# sees it. So there the store is an exchange.
row_aarch64() {
    src=$dir/src
    mkdir -p "$src/test"
    cp test/*.[ch] "$src/test"
    cp -r test/stress "$src/test"
    sc='/wsqi_store_sc(p, d)/s' v='&(p)->v, (d)'
    sed "$sc/__atomic_store_n/(void)__atomic_exchange_n/" test/noisy.h >"$src/test/noisy.h"
    sed "$sc/__atomic_store_n/(void)__atomic_exchange_n/
        s/atomic_store_explicit($v, memory_order_seq_cst)/(void)atomic_exchange(\\$v)/" \
        wsq.h >"$src/wsq.h"
    emulated aarch64 aarch64-linux-gnu
}

row_riscv64() { emulated riscv64 riscv64-linux-gnu; }
row_armhf() { emulated arm arm-linux-gnueabihf; }
row_s390x() { emulated s390x s390x-linux-gnu; }

# ---- other systems' calls, on Linux's futex ----

kernel() {
    some="$SLEEP pool shutdown standin faults" # these replace pthread_create, too
    suite '' cc -std=c11 -O1 -pthread -DTEST_SLOWDOWN=5 "-DKERNEL_$1" -Itest/port/kernels \
        -include test/port/kernels/kernels.h
}

row_freebsd() { kernel FREEBSD; }
row_openbsd() { kernel OPENBSD; }
row_dragonfly() { kernel DRAGONFLY; }
row_netbsd() { kernel NETBSD; }
row_macos() { kernel MACOS; }
row_macos13() { kernel MACOS_13; }

# ---- Windows ----

wine() { # the one for 64 bits, wherever it is
    for w in /usr/lib/wine/wine64 "$(command -v wine64)" "$(command -v wine)"; do
        [ -x "$w" ] && echo "$w" && return
    done
}

row_windows() {
    links gcc-mingw-w64-x86-64-posix x86_64-w64-mingw32-gcc -static -pthread
    [ -n "$(wine)" ] || skip wine64
    export WINEPREFIX="$B/wine" WINEDEBUG=-all
    suffix=.exe libs=-lws2_32
    for source in examples/*.c examples/recipes/*.c; do
        x86_64-w64-mingw32-gcc -std=c11 $strict -D_GNU_SOURCE -fsyntax-only $source || return 1
    done
    x86_64-w64-mingw32-gcc -std=c99 $strict -static test/port/compile/whole.c -o "$dir/whole.exe" &&
        suite "$(wine)" x86_64-w64-mingw32-gcc -std=c11 -D_GNU_SOURCE -O1 -static -pthread \
            -DTEST_SLOWDOWN=5 -Itest/port/win -include test/port/win/win.h
}

row_windows32() {
    links gcc-mingw-w64-i686-posix i686-w64-mingw32-gcc -static -pthread
    i686-w64-mingw32-gcc -std=c11 $strict -static test/port/compile/whole.c -o "$dir/whole.exe" ||
        return 1
    note 'compiled and linked, not run'
}

row_cl() {
    links gcc-mingw-w64-x86-64-posix x86_64-w64-mingw32-gcc -static -pthread
    has clang clang
    [ -n "$(wine)" ] || skip wine64
    export WINEPREFIX="$B/wine" WINEDEBUG=-all
    clang -target x86_64-w64-mingw32 -fms-extensions -std=c11 -O2 -Wall -Wextra \
        -c test/port/compile/like_cl.c -o "$dir/cl.o" &&
        x86_64-w64-mingw32-gcc -static -pthread "$dir/cl.o" -o "$dir/cl.exe" &&
        timeout 100 "$(wine)" "$dir/cl.exe" || return 1
    note 'the code that cl would see, compiled by clang, run in Wine'
}

# ---- WebAssembly ----

node='node --no-experimental-fetch' # with it, what Emscripten 3.1 makes takes Node for a browser

row_wasm() {
    has emscripten emcc
    has nodejs node
    suffix=.js
    suite "$node" emcc -std=c11 -D_GNU_SOURCE -O1 -g1 -pthread -DTEST_SLOWDOWN=20 -Itest/port/win \
        -sPROXY_TO_PTHREAD -sEXIT_RUNTIME -sINITIAL_MEMORY=1073741824 -sPTHREAD_POOL_SIZE=8
}

row_wasm_no_threads() {
    has emscripten emcc
    has nodejs node
    emcc -std=c11 -Wall -Wextra -Werror -O1 test/port/compile/caller_runs.c -o "$dir/run.js" &&
        $node "$dir/run.js" || return 1
    note 'caller_runs without -pthread'
}

row_wasm_page() { # the picture is in build/matrix/wasm-page/page.png
    has emscripten emcc
    has python3 python3
    has chromium chromium
    emcc -std=gnu11 -O2 -pthread -DNDEBUG -c examples/mandelbrot.c -o "$dir/mandelbrot.o" &&
        emcc -O1 -g1 -pthread -sPROXY_TO_PTHREAD -sEXIT_RUNTIME -sINITIAL_MEMORY=268435456 \
            -sPTHREAD_POOL_SIZE=5 -sFORCE_FILESYSTEM -sEXPORTED_RUNTIME_METHODS=FS \
            "$dir/mandelbrot.o" -o "$dir/mandelbrot.js" || return 1
    cp examples/mandelbrot.html "$dir"
    rm -f "$dir/address" "$dir/page.png"
    python3 test/tools/serve.py "$dir" >"$dir/address" &
    server=$!
    for i in 1 2 3 4 5 6 7 8 9 10; do [ -s "$dir/address" ] || sleep 1; done
    for what in --dump-dom "--screenshot=$dir/page.png"; do
        timeout 100 chromium --headless --no-sandbox --disable-gpu --timeout=60000 \
            --user-data-dir="$dir/profile" --window-size=1040,1100 "$what" \
            "$(cat "$dir/address")/mandelbrot.html?test"
    done >"$dir/page.html" 2>"$dir/chromium.log"
    kill $server
    grep -q 'pictures identical' "$dir/page.html" && grep -q '<title>.*exit 0' "$dir/page.html" &&
        [ -s "$dir/page.png" ] || return 1
    note 'the Mandelbrot demo in Chromium, its workers are web workers'
}

# ---- installing ----

row_install() {
    root=$dir/root
    has pkgconf pkg-config
    rm -rf "$root"
    make -s install PREFIX=/usr/local DESTDIR="$root" || return 1
    flags=$(PKG_CONFIG_PATH="$root/usr/local/lib/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$root" \
        pkg-config --cflags --libs 'wsq >= 1.0') || return 1
    sed 's|"../../../wsq.h"|<wsq.h>|' test/port/compile/whole.c >"$dir/user.c"
    run cc -std=c11 "$dir/user.c" $flags
    note 'make install, pkg-config'
}

# The lines in examples/packaging/README.md, with this folder in place of the download.
row_cmake() {
    has cmake cmake
    {
        echo 'cmake_minimum_required(VERSION 3.14)'
        echo 'project(user C)'
        echo 'add_executable(my_program user.c)'
        sed -n '/^```cmake$/,/^```$/{/^```/d;p;}' examples/packaging/README.md
    } >"$dir/CMakeLists.txt"
    sed 's|"../../../wsq.h"|<wsq.h>|' test/port/compile/whole.c >"$dir/user.c"
    cmake -S "$dir" -B "$dir/build" -DFETCHCONTENT_SOURCE_DIR_WSQ="$PWD" &&
        cmake --build "$dir/build" && "$dir/build/my_program" || return 1
    note 'FetchContent as in examples/packaging/README.md'
}

# ---- all ----

passed=0 failed=0 skipped=0

row() {
    dir=$B/$1 began=$(date +%s)
    mkdir -p "$dir"
    rm -f "$dir/note"
    (row_$(echo "$1" | tr -- '-+' '__')) >"$dir/log" 2>&1
    status=$?
    what=$(cat "$dir/note" 2>/dev/null)
    case $status in
    0) passed=$((passed + 1)) && echo "ok    $1: $what ($(($(date +%s) - began)) s)" ;;
    77) skipped=$((skipped + 1)) && echo "skip  $1: $what" ;;
    *)
        failed=$((failed + 1))
        echo "FAIL  $1"
        tail -n 25 "$dir/log" | sed 's/^/      /'
        ;;
    esac
}

if [ "${1-}" = --quick ]; then
    quick=1
    shift
fi
for name in ${*:-$ROWS}; do row "$name"; done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
