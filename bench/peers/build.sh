#!/bin/sh
# Builds every peer that is installed into DIR, and writes DIR/list: one "name|command" a line. For one
# that is not there it says which Debian package is missing. Others are no packages: name their sources
# in WOOL, LACE, TMC, ENKITS, TASKFLOW, DISPENSO, PARLAY, LIBFORK, CITOR, BS, and in DISPATCH a folder
# with libdispatch's headers (include) and libraries (lib). Those in C++ are compiled with CXX.
#
#   build.sh DIR
here=$(cd "$(dirname "$0")" && pwd)
dir=$1
cc=${CC:-cc} flags=${CFLAGS:--O2}
std="-std=c11 -D_GNU_SOURCE -DNDEBUG"
mkdir -p "$dir" && dir=$(cd "$dir" && pwd) || exit 1
: >"$dir/list"

# try NAME PACKAGE COMMAND...: builds $dir/NAME
try() {
    name=$1 package=$2
    shift 2
    if "$@" -o "$dir/$name" 2>"$dir/$name.log"; then echo "$name|$dir/$name" >>"$dir/list"
    else echo "missing: $name (Debian: $package)"; fi
}

# The kernels, the same machine code for all, and at the same place in a page: with 64 instead of 4096
# the linker decided whether matmul took 38 or 52 ms (Zen 5), for one peer in this build, for another in the next.
work=$dir/work.o
"$cc" $flags $std -falign-functions=4096 -c "$here/work.c" -o "$work" || exit 1

# What the compiler wants in another order than try gives it.
goes() { go build "$@" "$here/go/main.go"; }
glib() { "$cc" $flags $std "$here/glib.c" "$work" $(pkg-config --cflags glib-2.0) "$@" $(pkg-config --libs glib-2.0) -pthread; }

try wsq gcc "$cc" $flags $std "$here/wsq.c" "$work" -pthread
try plain gcc "$cc" $flags $std "$here/plain.c" "$work" -pthread
try pthreads gcc "$cc" $flags $std "$here/pthreads.c" "$work" -pthread
try gomp gcc gcc $flags $std -fopenmp "$here/openmp.c" "$work"
try libomp "clang libomp-dev" clang $flags $std -fopenmp "$here/openmp.c" "$work"
try tbb "g++ libtbb-dev" g++ $flags -std=c++17 "$here/tbb.cpp" "$work" -ltbb -pthread
try glib "libglib2.0-dev pkg-config" glib
try ck libck-dev "$cc" $flags -std=gnu11 "$here/ck.c" "$work" -lck
try go golang-go goes
try libuv libuv1-dev "$cc" $flags $std "$here/libuv.c" "$work" -luv

crates=/usr/share/cargo/registry
if command -v cargo >/dev/null && ls -d $crates/rayon-1* $crates/tokio-1* $crates/crossbeam-deque-0* >/dev/null 2>&1; then
    mkdir -p "$dir/rust.src" && cp -r "$here/rust/." "$dir/rust.src"
    if (cd "$dir/rust.src" && RUSTFLAGS="-C link-arg=$work" cargo build --release --offline \
        --config 'source.crates-io.replace-with="debian"' \
        --config "source.debian.directory=\"$crates\"" >"$dir/rust.log" 2>&1); then
        for library in rayon tokio crossbeam; do
            echo "$library|$dir/rust.src/target/release/peers $library" >>"$dir/list"
        done
    else echo "broken: rayon tokio crossbeam, see $dir/rust.log"; fi
else
    echo "missing: rayon tokio crossbeam (Debian: cargo librust-rayon-dev librust-tokio-dev librust-crossbeam-deque-dev)"
fi

if [ "$WOOL" ]; then
    [ -f "$WOOL/src/wool.h" ] || make -C "$WOOL/src" wool.h >/dev/null
    try wool "none; see WOOL" "$cc" $flags -D_GNU_SOURCE "-I$WOOL/src" "$here/wool.c" "$work" "$WOOL/src/wool.c" -pthread
fi
if [ "$LACE" ]; then
    [ -f "$LACE/src/lace_config.h" ] || : >"$dir/lace_config.h"
    try lace "none; see LACE" "$cc" $flags -D_GNU_SOURCE "-I$LACE/src" "-I$dir" "$here/lace.c" "$work" "$LACE/src/lace.c" -pthread -lm
fi

# from VARIABLE NAME STANDARD FILE...: a peer in C++, when VARIABLE names its sources
cxx=${CXX:-g++}
from() {
    sources=$(eval echo "\$$1") peer=$2 standard=$3
    shift 3
    [ "$sources" ] || return 0
    try "$peer" "none; see its file" "$cxx" $flags -DNDEBUG "-std=$standard" "$here/$peer.cpp" "$work" "$@" -pthread
}
from TMC tmc c++20 "-I$TMC/include"
from ENKITS enkits c++17 "-I$ENKITS/src" "$ENKITS/src/TaskScheduler.cpp"
from TASKFLOW taskflow c++20 "-I$TASKFLOW"
from DISPENSO dispenso c++17 "-I$DISPENSO" "-I$DISPENSO/dispenso/third-party" "$DISPENSO"/dispenso/*.cpp "$DISPENSO"/dispenso/detail/*.cpp
from PARLAY parlay c++17 "-I$PARLAY/include"
from LIBFORK libfork c++20 "-I$LIBFORK/single_header"
from CITOR citor c++20 "-I$CITOR/single_include"
from BS bs c++17 "-I$BS/include"
if [ "$DISPATCH" ]; then
    try libdispatch "none; see DISPATCH; and clang" clang $flags $std "-I$DISPATCH/include" "$here/libdispatch.c" "$work" "-L$DISPATCH/lib" -ldispatch -lBlocksRuntime -pthread -lstdc++
fi
