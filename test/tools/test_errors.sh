#!/bin/sh
# usage: test/tools/test_errors.sh [build directory]
# Where the header cannot work it says so in one sentence, before any other message: C++98, C89, tcc,
# a compiler without atomics, a system without threads.
set -u
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0

# The first error of `command`, which reads a file that includes the header, begins like this.
says() { # sentence, command...
    sentence=$1
    shift
    command -v "$1" >/dev/null || { echo "skip  $1 is not here"; return; }
    if "$@" 2>"$work/log" >/dev/null; then
        echo "FAIL  no error: $*"
        failed=1
    elif ! grep ' error: ' "$work/log" | head -n 1 | grep -q "$sentence"; then
        echo "FAIL  $*: not \"$sentence\" but:"
        head -n 3 "$work/log"
        failed=1
    fi
}

printf '#define WSQ_IMPLEMENTATION\n#include "wsq.h"\nint main(void) { return 0; }\n' >"$work/one.c"
cp "$work/one.c" "$work/one.cpp"

for cxx in g++ clang++; do
    says 'wsq.h needs C++11 or later' $cxx -std=c++98 -I. -c "$work/one.cpp" -o "$work/one.o"
done
# One error, of one line, where there were 80.
for cxx in g++ clang++; do
    for file in wsq wsq_algorithm; do
        printf '#include "%s.hpp"\nint main() { return 0; }\n' $file >"$work/layer.cpp"
        says 'wsq.hpp needs C++17 or later' $cxx -std=c++14 -Iexamples -I. -c "$work/layer.cpp" -o "$work/one.o"
        if command -v $cxx >/dev/null && [ "$(grep -c ' error: ' "$work/log")" -ne 1 ]; then
            echo "FAIL  $cxx $file.hpp: $(grep -c ' error: ' "$work/log") errors"
            failed=1
        fi
    done
done
for cc in gcc clang; do
    says 'wsq.h needs C99 or later' $cc -std=c89 -I. -c "$work/one.c" -o "$work/one.o"
    # As a compiler that is neither: without the builtins, and without C11.
    says 'wsq.h needs gcc, clang, C11' $cc -std=c99 -U__GNUC__ -U__clang__ -I. -E "$work/one.c"
    says 'wsq.h needs gcc, clang, C11' $cc -std=c11 -U__GNUC__ -U__clang__ -D__STDC_NO_ATOMICS__ -I. \
        -E "$work/one.c"
done
says 'in C++, needs gcc or clang' g++ -std=c++17 -U__GNUC__ -I. -E "$work/one.cpp"
says 'tcc has none' tcc -I. -c "$work/one.c" -o "$work/one.o"

# A system that has C's headers, and no threads.
mkdir "$work/include"
for header in assert limits stdbool stddef stdint stdio stdlib string inttypes stdatomic; do
    : >"$work/include/$header.h"
done
says 'wsq.h needs POSIX threads' gcc -std=c11 -nostdinc -I"$work/include" -I. -E "$work/one.c"
exit $failed
