#!/bin/sh
# usage: test/examples/test_packages.sh
# make install into a folder with spaces in its name; what pkg-config, CMake and Meson make of it, and
# of the recipes in examples/packaging; make uninstall leaves nothing. A tool that is not there is
# skipped, with a line.
set -u
cd "$(dirname "$0")/../.." || exit 1
top=$PWD
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0
readme=examples/packaging/README.md
version=$(sed -n '1s/.*version \([0-9.]*\).*/\1/p' wsq.h)

check() { # name, command ...
    name=$1
    shift
    if "$@" >"$work/log" 2>&1; then
        echo "      $name"
    else
        echo "FAIL  $name"
        tail -n 20 "$work/log" | sed 's/^/      /'
        failed=1
    fi
}

has() { # package, command
    command -v "$2" >/dev/null && return
    echo "skip  $2: not installed (Debian: $1)"
    return 1
}

# Every program here: it creates a pool, runs a task, and says the version.
cat >"$work/user.c" <<'END'
#define WSQ_IMPLEMENTATION
#include <wsq.h>
#if WSQ_VERSION < 1000000
#error "an old header"
#endif
static wsq_poll hello(wsq_ctx ctx, wsq_task *task) {
    (void)ctx, (void)task;
    return WSQ_DONE;
}
int main(void) {
    wsq_pool *pool;
    wsq_task task;
    if (wsq_pool_create(&pool, NULL) != WSQ_OK) return 1;
    wsq_task_init(&task, hello);
    wsq_spawn(pool, &task);
    if (wsq_task_wait(&task) != WSQ_OK) return 1;
    wsq_pool_destroy(pool);
    return 0;
}
END

# The same in C++, where there is a compiler for it.
cat >"$work/user.cpp" <<'END'
#define WSQ_IMPLEMENTATION
#include <wsq.hpp>
int main() {
    wsq::pool pool;
    return pool.submit([] { return 42; }).get() == 42 ? 0 : 1;
}
END

# ---- install, pkg-config, uninstall ----

prefix="$work/a prefix with spaces"
staged="$work/a stage with spaces"
install=$(sed -n 's/.*`\(make install\) PREFIX=[^`]*`.*/\1/p' $readme)
check "$install, PREFIX with spaces" ${install:-no such line} -s PREFIX="$prefix"
check 'make install, DESTDIR with spaces' make -s install PREFIX=/usr DESTDIR="$staged"
check 'the header is where DESTDIR says' cmp wsq.h "$staged/usr/include/wsq.h"
with_pkg_config() {
    line=$(sed -n 's/.*`\(pkg-config [^`]*\)`.*/\1/p' $readme)
    flags=$(PKG_CONFIG_PATH="$prefix/lib/pkgconfig" $line) || return 1
    PKG_CONFIG_PATH="$prefix/lib/pkgconfig" pkg-config --exact-version="$version" wsq || return 1
    eval "cc \"\$work/user.c\" -o \"\$work/user\" $flags" && "$work/user"
}
cxx=${CXX:-c++}
in_cpp() { "$cxx" -std=c++17 -pthread -I"$prefix/include" "$work/user.cpp" -o "$work/user" && "$work/user"; }
has g++ "$cxx" && check 'wsq.hpp' in_cpp
has pkgconf pkg-config && check 'pkg-config, a prefix with spaces' with_pkg_config

# ---- CMake ----

cmake_project() { # folder, lines
    mkdir -p "$1"
    printf '%s\n' 'cmake_minimum_required(VERSION 3.14)' 'project(user C)' "$2" \
        'add_executable(user user.c)' 'target_link_libraries(user PRIVATE wsq::wsq)' >"$1/CMakeLists.txt"
    cp "$work/user.c" "$1"
}

cmake_build() { # folder, options
    at=$1
    shift
    cmake -S "$at" -B "$at/build" "$@" && cmake --build "$at/build" && "$at/build/user"
}

refused() { ! "$@"; }

if has cmake cmake; then
    line=$(sed -n 's/.*`\(find_package(wsq [^`]*)\)`.*/\1/p' $readme)
    cmake_project "$work/found" "$line"
    check "$line, as $readme has it" cmake_build "$work/found" -DCMAKE_PREFIX_PATH="$prefix"
    printf '%s\n' 'cmake_minimum_required(VERSION 3.14)' 'project(user CXX)' 'find_package(wsq REQUIRED)' \
        'add_executable(user user.cpp)' 'target_compile_features(user PRIVATE cxx_std_17)' \
        'target_link_libraries(user PRIVATE wsq::wsq)' >"$work/CMakeLists.txt"
    ! command -v "$cxx" >/dev/null || check 'find_package(wsq) in C++ alone' cmake_build "$work" -DCMAKE_PREFIX_PATH="$prefix"
    cmake_project "$work/newer" 'find_package(wsq 99.0 REQUIRED)'
    check 'find_package(wsq 99.0) is refused' refused cmake_build "$work/newer" -DCMAKE_PREFIX_PATH="$prefix"
    mkdir -p "$work/vcpkg/share/wsq" "$work/vcpkg/include" # where vcpkg puts them
    cp wsq.h "$work/vcpkg/include"
    cp examples/packaging/cmake/wsqConfig*.cmake "$work/vcpkg/share/wsq"
    cmake_project "$work/shared" "find_package(wsq $version EXACT REQUIRED)"
    check 'find_package(wsq) in share/wsq' cmake_build "$work/shared" -DCMAKE_PREFIX_PATH="$work/vcpkg"
    line=$(sed -n 's/.*`\(add_subdirectory([^`]*)\)`.*/\1/p' $readme)
    cmake_project "$work/inside" "$line"
    ln -s "$top" "$work/inside/wsq"
    check "$line" cmake_build "$work/inside"
    cmake_project "$work/fetched" "$(sed -n '/^```cmake/,/^```/{ /^```/d; s/my_program/user/; /^target/!p; }' $readme)"
    check 'FetchContent, from this folder' cmake_build "$work/fetched" -DFETCHCONTENT_SOURCE_DIR_WSQ="$top"
fi

# ---- Meson: the wrap's folder in place of the download ----

meson_build() {
    sub=$work/meson/subprojects
    mkdir -p "$sub/wsq/examples"
    cp wsq.h examples/packaging/meson/meson.build "$sub/wsq"
    cp examples/*.hpp "$sub/wsq/examples"
    sed 's/^\[wrap-git\]/[wrap-file]/; /^#/d; /^url/d; /^revision/d; /^depth/d; /^patch/d; s/^$/directory = wsq/;' \
        examples/packaging/meson/wsq.wrap | awk '!(/^directory/ && seen++)' >"$sub/wsq.wrap"
    cp "$work/user.c" "$work/meson"
    printf '%s\n' "project('user', 'c')" \
        "executable('user', 'user.c', dependencies: dependency('wsq', version: '>=1.0'))" >"$work/meson/meson.build"
    meson setup "$work/meson/build" "$work/meson" && meson compile -C "$work/meson/build" &&
        "$work/meson/build/user"
}
has meson meson && has ninja-build ninja && check "dependency('wsq') in Meson" meson_build

# ---- recipes that no tool here runs: they are well formed, and speak of this version ----

check "vcpkg.json and the README say $version" \
    grep -q "\"version\": \"$version\"" examples/packaging/vcpkg/vcpkg.json
check "$readme says $version" grep -q "wsq/$version\"" $readme
if has python3 python3; then
    check 'vcpkg.json is JSON' python3 -c 'import json; json.load(open("examples/packaging/vcpkg/vcpkg.json"))'
    check 'conanfile.py is Python' python3 -c 'compile(open("examples/packaging/conan/conanfile.py").read(), "conanfile.py", "exec")'
fi

# ---- uninstall ----

check 'make uninstall' make -s uninstall PREFIX="$prefix"
left=$(find "$prefix" -type f -o -type l)
[ -z "$left" ] || { echo "FAIL  make uninstall leaves: $left"; failed=1; }
check 'make uninstall, a second time' make -s uninstall PREFIX="$prefix"

# ---- what the Makefile takes from outside ----

check 'LDFLAGS reach the linker' refused make -s B="$work/build" LDFLAGS=-Wl,--no-such-option "$work/build/examples/01_hello"
if command -v "${CXX:-c++}" >/dev/null; then
    check 'CXXFLAGS reach the C++ compiler' refused make -s B="$work/build" CXXFLAGS=--no-such-option \
        "$work/build/examples/11_lambda"
fi
exit $failed
