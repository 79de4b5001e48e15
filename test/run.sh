#!/bin/sh
# usage: test/run.sh [--compile 'compiler ...'] [--warnings] [program ...]
# Runs the compile matrix of these C compilers and the programs, one line each; the last line is
# "N passed, N failed". --warnings: also that no example, benchmark, test or model has a warning.
# One per core at a time: first those with one thread, explore_* and the matrix.
runs=${B:-build}/run # a folder for each check: its log and what it builds
both='-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wcast-align -Werror -pthread'
strict="$both -Wstrict-prototypes"
dir=test/port/compile

claim() { # name: true for the first test that asks
    out=$runs/$(echo "$1" | tr ' /' __)
    mkdir "$out" 2>/dev/null
}

check() { # name command...
    claim "$1" || return 0
    name=$1
    shift
    began=$(date +%s)
    if "$@" >"$out/log" 2>&1; then
        line="ok    $name ($(($(date +%s) - began)) s)"
    else
        line="FAIL  $name (exit $?)
$(tail -n 30 "$out/log" | sed 's/^/      /')"
    fi
    printf '%s\n' "$line" | tee "$out/result"
    grep '^skip' "$out/log" # a tool that it misses
}

skip() { # name, why
    if claim "$1"; then echo "skip  $1: $2"; fi
}

build() { # a compile command without its output: the program must run, too
    "$@" -o "$out/program" && "$out/program"
}

user_of_c() { # C compiler, C++ compiler
    "$1" -std=c11 $strict -c $dir/implementation.c -o "$out/matrix.o" &&
        build "$2" -std=c++11 $both $dir/user.cpp "$out/matrix.o"
}

# A file that only includes the header with another value than the implementation: the link fails, and
# says which macro it may be.
differs() { # C compiler, compiler of the other file with its options, macro, value, what the linker says
    c=$1
    "$c" -std=c11 $strict -c $dir/user.c -o "$out/user.o" &&
        "$c" -std=c11 $strict -c $dir/implementation.c -o "$out/matrix.o" &&
        $2 -c $dir/bystander.c -o "$out/same.o" &&
        $2 -D"$3=$4" -c $dir/bystander.c -o "$out/other.o" || return 1
    build "$c" -pthread "$out/user.o" "$out/matrix.o" "$out/same.o" || return 1
    "$c" -pthread "$out/user.o" "$out/matrix.o" "$out/other.o" -o "$out/program" 2>"$out/link" && return 1
    cat "$out/link"
    grep -q "_$3_${5-$4}" "$out/link"
}

# The program stops, and says why.
caught() { # what it says, a compile command
    text=$1
    shift
    if { "$@" -o "$out/program" && timeout 20 "$out/program"; } 2>"$out/said"; then return 1; fi
    cat "$out/said"
    grep -q "$text" "$out/said"
}

# The other word size of this machine, at each level: what an optimizer makes of an atomic operation may
# need a library that nobody links with.
other_size() { # C compiler
    for level in 1 3; do
        build "$1" -m32 $kernel -std=c11 -O$level $strict $dir/whole.c || return 1
    done
}

# Two libraries, each with its own copy of the header and its own options, in one program: neither exports
# anything of wsq, and neither meets the other's workers.
libraries() { # compiler, options of one, options of the other
    "$1" -std=c11 $strict -fPIC -shared $2 -DWORK=work_one $dir/library.c -o "$out/libone.so" &&
        "$1" -std=c11 $strict -fPIC -shared $3 -DWORK=work_two $dir/library.c -o "$out/libtwo.so" &&
        build "$1" -std=c11 $strict $dir/libraries.c "$out/libone.so" "$out/libtwo.so" -Wl,-rpath,"$out" || return 1
    ! command -v nm >/dev/null || ! nm -D --defined-only "$out/libone.so" "$out/libtwo.so" | grep wsq
}

# The same with wsq.hpp: the linker does not merge the classes of the two.
libraries_cpp() { # C compiler, C++ compiler, what makes a library
    for work in one two; do
        "$2" -std=c++17 $both $3 -DWORK=work_$work $dir/library.cpp -o "$out/$work.so" || return 1
    done
    "$1" -std=c11 $strict -c $dir/libraries.c -o "$out/matrix.o" &&
        build "$2" -pthread "$out/matrix.o" "$out/one.so" "$out/two.so"
}

in_their_files() { # a compile command, what their files do not hold themselves
    $1 $2 -c $dir/implementation.c -o "$out/matrix.o" && build $1 $dir/guest.c "$out/matrix.o"
}

mixed_inline() { # C compiler, C++ compiler, C++ standard, which file is C, which C++
    "$1" -std=c11 $strict -c "$dir/inline_$4.c" -o "$out/c.o" &&
        "$2" -std="$3" $both -x c++ -c "$dir/inline_$5.c" -o "$out/cpp.o" &&
        build "$2" -pthread "$out/c.o" "$out/cpp.o"
}

no_warnings() { # a compile command
    for source in examples/*.c examples/recipes/*.c bench/*.c test/*.c test/stress/*.c test/examples/*.c test/model/*.c; do
        "$@" -D_GNU_SOURCE -fsyntax-only "$source" || return 1
    done
}

# The models compiled as usual: one run of each, of all those that a model checker goes through.
models() { # a compile command
    for source in test/model/*.c; do
        "$@" "$source" -o "$out/program" && timeout 20 "$out/program" || return 1
    done
}

matrix() { # C compiler, C++ compiler
    if ! command -v "$1" >/dev/null; then
        skip "compile matrix of $1" 'not installed'
        return
    fi
    c11="$1 -std=c11 $strict"
    if $warnings; then check "$1 no warnings anywhere" no_warnings $c11; fi
    for std in c99 c11 c17; do
        check "$1 -std=$std" build "$1" -std=$std $strict $dir/whole.c
    done
    for macro in WSQ_FORCE_STDATOMIC WSQ_FORCE_PTHREAD WSQ_NO_STATS WSQ_NO_HOOKS NDEBUG; do
        check "$1 -D$macro" build $c11 -D$macro $dir/whole.c
    done
    # Beside cross compilers, which the package gcc-multilib excludes, the kernel's headers have no other path.
    kernel="-idirafter /usr/include/$("$1" -print-multiarch 2>/dev/null)"
    if printf '#include <errno.h>\nint main(void) { return errno; }\n' |
        "$1" -m32 $kernel -pthread -x c - -o "$runs/$1.32" 2>/dev/null && "$runs/$1.32" 2>/dev/null; then
        check "$1 -m32" other_size "$1"
    else
        skip "$1 -m32" 'it needs the 32-bit libraries (Debian: gcc-12-multilib), and a kernel that runs them'
    fi
    if "$1" -mx32 -x c -include asm/posix_types.h -include stdio.h -fsyntax-only /dev/null 2>/dev/null; then
        check "$1 -mx32" "$1" -mx32 -std=c11 -O1 $strict -c $dir/kernel_time.c -o "$runs/$1.x32"
    else
        skip "$1 -mx32" 'it needs the headers of x32 (Debian: gcc-12-multilib)'
    fi
    guest='-Wdeclaration-after-statement -Wredundant-decls -Wstrict-aliasing=1 -Wundef -Wcast-qual -Wswitch-enum'
    check "$1 flags of other projects" \
        in_their_files "$1 -std=c99 -D_GNU_SOURCE -O2 $strict $guest" -Wmissing-prototypes
    for macro in NDEBUG WSQ_FORCE_PTHREAD; do
        check "$1 macros of hosts -D$macro" $c11 -D$macro -c $dir/macros.c -o "$runs/$1.macros.$macro"
    done
    check "$1 one run of each model" models $c11 -D_GNU_SOURCE
    check "$1 two files" build $c11 $dir/user.c $dir/implementation.c
    check "$1 WSQ_STATIC in two files" build $c11 $dir/static_one.c $dir/static_two.c
    check "$1 WSQ_STATIC in two files that share a pool" \
        caught 'WSQ_STATIC' $c11 -DNOT_INLINE $dir/inline_one.c $dir/inline_two.c
    check "$1 WSQ_INLINE in two files" build $c11 $dir/inline_one.c $dir/inline_two.c
    check "$1 two libraries" libraries "$1" '' ''
    check "$1 two libraries and block sizes" libraries "$1" -DWSQ_BLOCK_SIZE=131072 -DNDEBUG
    check "$1 two libraries with WSQ_INLINE" libraries "$1" '-DWSQ_INLINE -DWSQ_BLOCK_SIZE=65536' -DWSQ_INLINE
    check "$1 two libraries and ring sizes" libraries "$1" -DWSQ_RING_CAPACITY=16 -DWSQ_NO_HOOKS
    check "$1 two libraries and atomics" libraries "$1" '-DWSQ_CACHELINE=128 -DWSQ_NO_STATS' -DWSQ_FORCE_STDATOMIC
    for macro in WSQ_CACHELINE=128 WSQ_RING_CAPACITY=16 WSQ_BLOCK_SIZE=65536; do
        check "$1 a file with $macro" differs "$1" "$c11" ${macro%=*} ${macro#*=}
    done
    check "$1 a file with WSQ_ATOMIC_HEADER" \
        differs "$1" "$c11 -I." WSQ_ATOMIC_HEADER '"test/model/atomic.h"' 1
    if ! command -v "$2" >/dev/null; then
        skip "compile matrix of $2" 'not installed'
        return
    fi
    guest='-Wredundant-decls -Wstrict-aliasing=1 -Wundef -Wcast-qual -Wswitch-enum'
    case $2 in g++) guest="$guest -Wuseless-cast" ;; esac
    check "$2 flags of other projects" \
        "$2" -std=c++11 -O2 $both $guest -Wold-style-cast -c $dir/whole.cpp -o "$runs/$2.o"
    check "$2 flags of other projects in their own files" \
        "$2" -x c++ -std=c++11 -O2 $both $guest -c $dir/guest.c -o "$runs/$2.o"
    check "$2 macros of hosts" "$2" -x c++ -std=c++11 $both -c $dir/macros.c -o "$runs/$2.macros"
    for std in c++11 c++20; do
        check "$2 -std=$std" build "$2" -std=$std $both $dir/whole.cpp
    done
    check "$2 a file with WSQ_RING_CAPACITY=8" differs "$1" "$2 -std=c++11 $both -x c++" WSQ_RING_CAPACITY 8
    check "$2 WSQ_INLINE in two files" \
        build "$2" -std=c++17 $both -x c++ $dir/inline_one.c $dir/inline_two.c
    check "$2 WSQ_INLINE, one file is C" mixed_inline "$1" "$2" c++11 one two
    check "$2 WSQ_INLINE, the other is C" mixed_inline "$1" "$2" c++17 two one
    check "$2 user of a C implementation" user_of_c "$1" "$2"
    check "$2 two libraries with wsq.hpp" libraries_cpp "$1" "$2" '-fPIC -shared'
    check "$2 two static libraries with wsq.hpp" libraries_cpp "$1" "$2" '-DWSQ_STATIC -c'
}

# What repeats a program in another shape is shorter than the first; so are random executions and programs.
scaled() { # program
    case $1 in
    *_public | *_small | */explore_* | */programs | */oracle) WSQ_SCALE=${WSQ_SCALE:-0.5} "$1" ;;
    *) "$1" ;;
    esac
}

# Several workers go through the same list; each takes what no other has taken.
worker() { # program ...
    for program; do
        case $program in */explore_*) check "$program" scaled "$program" ;; esac
    done
    for compiler in $compilers; do
        case $compiler in *clang*) matrix "$compiler" clang++ ;; *) matrix "$compiler" g++ ;; esac
    done
    if [ -n "$compilers" ]; then check "the header's own rules" sh test/tools/lint.sh; fi
    for program; do check "$program" scaled "$program"; done
}

count() { # verdict
    cat "$runs"/*/result 2>/dev/null | grep -c "^$1 "
}

compilers= warnings=false
if [ "${1-}" = --compile ]; then
    compilers=$2
    shift 2
fi
if [ "${1-}" = --warnings ]; then
    warnings=true
    shift
fi
rm -rf "$runs"
mkdir -p "$runs"
workers=
trap 'kill $workers; exit 1' INT TERM
cores=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
while [ "$cores" -gt 0 ]; do
    worker "$@" &
    workers="$workers $!"
    cores=$((cores - 1))
done
wait
echo "$(count ok) passed, $(count FAIL) failed"
[ "$(count FAIL)" -eq 0 ]
