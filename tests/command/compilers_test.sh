#!/bin/sh
# SPDX-License-Identifier: MIT
# compilers_test.sh BUILD_FOLDER: sensors and probes read programs of several compilers and kinds, which describe what is where in
# ways of their own: clang, rustc and Go do not list which unit has an address; clang writes addresses as numbers of a table; with
# -gsplit-dwarf the description is in another file; libraries, static and position-independent programs have memory of threads
# elsewhere. A line of a table for each; some only with ./dev test --all. Each prints what its program was given.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_meter
dpm=$(realpath "$dpm")
cd "$scratch" || exit 1
program=
trap '[ -z "$program" ] || kill $program 2> /dev/null; rm -rf "$scratch"' EXIT

# ---- the programs ----

cat > work.h << 'EOF_'
struct pair { int a, b; };
struct big { long a, b, c; };
extern struct pair pair;
extern char buffer[16];
extern __thread int own;
int work(int n, const char *text, const struct pair *at);
struct big three(int n);
EOF_
cat > work.c << 'EOF_'
#include "work.h"
__thread int own = 7;
struct pair pair = {3, 9};
char buffer[16];
__attribute__((noinline)) int work(int n, const char *text, const struct pair *at) { __asm__ volatile("" : : "r"(n), "r"(text), "r"(at) : "memory"); return -2 * n; }
__attribute__((noinline)) struct big three(int n) { __asm__ volatile("" : "+r"(n)); return (struct big){n, n, n}; }
EOF_
cat > main.c << 'EOF_'
#include <stdio.h>
#include <unistd.h>
#include "work.h"
int main(void) { own += 70; for (;;) { usleep(20000); snprintf(buffer, sizeof(buffer), "number %d", work(5, buffer, &pair) + (int)three(1).a); } }
EOF_
cat > open.c << 'EOF_'
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
#include "work.h"
int main(void)
{
    void *library = dlopen("./libwork.so", RTLD_NOW);
    int (*call)(int, const char *, const struct pair *) = dlsym(library, "work");
    struct big (*other)(int) = dlsym(library, "three");
    char *text = dlsym(library, "buffer");
    for (;;) { usleep(20000); snprintf(text, 16, "number %d", call(5, text, dlsym(library, "pair")) + (int)other(1).a); }
}
EOF_
cat > names.cc << 'EOF_'
#include <unistd.h>
namespace app {
namespace inner { int x = 7; static volatile long hidden = 8; struct Pool { static int made; int a = 1; __attribute__((noinline)) int take(int n); }; int Pool::made = 9; Pool pool; }
int x = 17;
int inner::Pool::take(int n) { __asm__ volatile("" : : "r"(n), "r"(this) : "memory"); return a + n; }
}
int main() { for (;;) { usleep(20000); app::inner::hidden = 8; app::inner::pool.take(6); } }
EOF_
cat > rust.rs << 'EOF_'
pub struct Pair { pub a: u16, pub b: f64 }
#[used] static mut PLAIN: i64 = -12345;
#[used] static mut PAIR: Pair = Pair { a: 4, b: 0.5 };
#[inline(never)] pub fn work(n: u32, k: u64) -> u64 { unsafe { PLAIN += 0; } n as u64 + k }
fn main() { loop { if std::hint::black_box(work(std::hint::black_box(31), 7)) == 0 { break; } std::thread::sleep(std::time::Duration::from_millis(20)); } }
EOF_
cat > go.go << 'EOF_'
package main

import "time"

type Pair struct{ A, B int32 }

var Counter int64 = 314
var Both = Pair{5, 6}

//go:noinline
func work(n int) int { return n + int(Both.A) }

func main() {
	for {
		time.Sleep(20 * time.Millisecond)
		Counter += int64(work(9)) - 14
	}
}
EOF_

# ---- what is asked of them ----

# starts COMMAND...: in the background, as ./program; $program is its id.
is_program() {
    grep -q program "/proc/$1/maps"
}
starts() {
    stops
    "$@" &
    program=$!
    wait_for 30 is_program $program
}
stops() {
    [ -z "$program" ] || { kill $program; wait $program; } 2> /dev/null
    program=
}
# probe EXPRESSION..., sense PLACE EXPRESSION...: what is printed, on one line.
probe() {
    "$dpm" view probe $program "$@" 2>&1 | paste -sd ' ' | sed 's/^dpm: //'
}
sense() {
    timeout 60 "$dpm" view --count 1 sense $program "$@" 2> err | sed 's/^ *[0-9.]* s  //'
    sed -n 's/^dpm: expression/expression/p' err
}
runs_long() {
    "$dpm" view probe $program buffer 2> err | grep -q number
}

# asks_c NAME OWN: what a program in C is asked. OWN: what is said of its thread-local variable.
asks_c() {
    wait_for 20 runs_long
    check_equal "$1: members, elements, structs, sizes" \
        "pair.b: 9 buffer[0]: 110 pair: {a: 3, b: 9} sizeof pair: 8 sizeof(struct big) / sizeof(long): 3 sizeof buffer - sizeof(buffer[0]): 15" \
        "$(probe pair.b 'buffer[0]' pair 'sizeof pair' 'sizeof(struct big) / sizeof(long)' 'sizeof buffer - sizeof(buffer[0])')"
    check_equal "$1: arguments: a number, a text, a struct" 'n: 5 text: "number -9" *at: {a: 3, b: 9}' "$(sense work n text '*at')"
    check_equal "$1: what is thread-local" "$2" "$(sense work own)"
    check_equal "$1: what a function returns" 'retval: -10' "$(sense work:return retval)"
    check_equal "$1: ... if it is in a register" \
        'expression:1:1: the function returns a struct big, which cannot be read' "$(sense three:return retval)"
}
asks_stripped() {
    check_equal "$1: a symbol, by a cast" '*(int *)&pair: 3 *((int *)&pair + 1): 9' "$(probe '*(int *)&pair' '*((int *)&pair + 1)')"
    check_equal "$1: arguments by number" 'arg1: 5' "$(sense work arg1)"
    check_equal "$1: members need what is not there" \
        "expression:1:6: symbol without type has no members: the program has no debug information for it; read a part of it as *(TYPE *)((char *)&NAME + OFFSET)" \
        "$(probe pair.b)"
    check_equal "$1: so does what is thread-local" "expression:1:1: 'own' is thread-local, and can only be read with debug information" \
        "$(sense work own)"
}
asks_cc() {
    check_equal "$1: names in namespaces and classes" \
        "app::inner::x: 7 app::x: 17 app::inner::hidden: 8 app::inner::Pool::made: 9 app::inner::pool.a: 1 app::inner::pool: {a: 1}" \
        "$(probe app::inner::x app::x app::inner::hidden app::inner::Pool::made app::inner::pool.a app::inner::pool)"
    check_equal "$1: a method" 'n: 6 this->a: 1 *this: {a: 1}' "$(sense app::inner::Pool::take n 'this->a' '*this')"
}
asks_rust() {
    check_equal "$1: statics" 'rust::PLAIN: -12345 rust::PAIR.a: 4' "$(probe rust::PLAIN rust::PAIR.a)"
    check "$1: a struct" grep -qE '^rust::PAIR: \{(a: 4, b: 0.5|b: 0.5, a: 4)\}$' << EOF_
$(probe rust::PAIR)
EOF_
    check_equal "$1: arguments" 'n: 31 k: 7' "$(sense work n k)"
}
asks_go() {
    check_equal "$1: variables of a package" 'main.Counter: 314 main.Both.B: 6 main.Both: {A: 5, B: 6}' "$(probe main.Counter main.Both.B main.Both)"
    check_equal "$1: an argument" 'n: 9' "$(sense main.work n)"
}

# ---- the table ----

own='own: 77'
no_own="expression:1:1: 'own' is thread-local in a library, where it cannot be read"
library() {
    "$@" -shared -fPIC -o libwork.so work.c
}
links() {
    library "$@" && "$@" -o program main.c -L. -lwork -Wl,-rpath,"$scratch"
}
opens() {
    library "$@" && "$@" -o program open.c -ldl
}
separates() {
    "$@" && objcopy --only-keep-debug program program.debug && strip -g program && objcopy --add-gnu-debuglink=program.debug program
}
strips() {
    "$@" && strip -g program
}
# contained COMMAND...: it is compiled, and runs with a root, processes, users and a file system of its own.
contained() {
    "$@" && mkdir -p root && cp program root/
}
go_builds() {
    env GO111MODULE=off GOFLAGS= HOME="$scratch" GOCACHE="$scratch/cache" CGO_ENABLED=0 go build -o program "$@" go.go
}

# KIND; when: always or only in long runs; NAME; COMMAND
table() {
    cat << 'EOF_'
c always gcc -O1; gcc -O1 -g -o program main.c work.c
c always gcc -O0; gcc -O0 -g -o program main.c work.c
c long gcc -O2, not position-independent; gcc -O2 -no-pie -g -o program main.c work.c
c long gcc -O3, DWARF 4; gcc -O3 -gdwarf-4 -o program main.c work.c
c always gcc, split; gcc -O1 -g -gsplit-dwarf -o program main.c work.c
c long gcc, static; gcc -O1 -g -static -o program main.c work.c
c long gcc, static and position-independent; gcc -O1 -g -static-pie -o program main.c work.c
c long gcc, optimized when linked; gcc -O1 -g -flto -o program main.c work.c
c long gcc, compressed; gcc -O1 -g -gz -o program main.c work.c
c long gcc, in sections; gcc -O2 -g -ffunction-sections -fdata-sections -Wl,--gc-sections -o program main.c work.c
c long gcc, without frames; gcc -O2 -g -fomit-frame-pointer -fcf-protection=none -o program main.c work.c
c long gcc, described apart; separates gcc -O1 -g -o program main.c work.c
c always clang -O1; clang -O1 -g -o program main.c work.c
c always clang -O0; clang -O0 -g -o program main.c work.c
c always clang, DWARF 4; clang -O1 -gdwarf-4 -o program main.c work.c
c long clang -O2, not position-independent; clang -O2 -fno-pie -no-pie -g -o program main.c work.c
c long clang, split; clang -O1 -g -gsplit-dwarf -o program main.c work.c
c long clang, static; clang -O1 -g -static -o program main.c work.c
library always gcc, a library; links gcc -O1 -g
library long clang, a library; links clang -O1 -g
opened long gcc, a library that is opened; opens gcc -O1 -g
stripped long gcc, stripped; strips gcc -O1 -g -o program main.c work.c
stripped long clang, stripped and static; strips clang -O1 -g -static -o program main.c work.c
contained long gcc, in a container; contained gcc -O1 -g -static -o program main.c work.c
contained long clang, in a container; contained clang -O1 -g -static -o program main.c work.c
cc always g++; g++ -g -O1 -o program names.cc
cc long g++ -O0, DWARF 4; g++ -gdwarf-4 -O0 -o program names.cc
cc long g++, split; g++ -g -O2 -gsplit-dwarf -o program names.cc
cc long g++, static; g++ -g -O2 -static -o program names.cc
cc always clang++; clang++ -g -O1 -o program names.cc
cc long clang++ -O2, DWARF 4; clang++ -gdwarf-4 -O2 -o program names.cc
rust always rustc; rustc -g -o program rust.rs
rust long rustc -O; rustc -g -O -o program rust.rs
rust long rustc, position-dependent; rustc -g -O -C relocation-model=static -o program rust.rs
go always Go; go_builds
go long Go, not optimized; go_builds -gcflags=-N\ -l
go long Go, position-independent; go_builds -buildmode=pie
EOF_
}

asks() {
    case $1 in
    c) starts ./program && asks_c "$2" "$own" ;;
    library) starts ./program && asks_c "$2" "$no_own" ;;
    opened) starts ./program && wait_for 30 grep -q libwork "/proc/$program/maps" && asks_c "$2" "$no_own" ;;
    contained)
        stops
        unshare --mount --pid --fork --kill-child --uts --ipc --net chroot root /program &
        program=$!
        wait_for 30 pgrep -P $program
        inner=$(pgrep -P $program)
        wait_for 30 is_program "$inner"
        outer=$program program=$inner
        asks_c "$2" "$own"
        program=$outer
        ;;
    *) starts ./program && "asks_$1" "$2" ;;
    esac
}

table > table
while IFS=';' read -r words command; do
    kind=${words%% *}
    rest=${words#* }
    when=${rest%% *}
    name=${rest#* }
    [ "$when" = always ] || long_ones || continue
    stops
    rm -rf program libwork.so program.debug root ./*.dwo
    if ! eval "$command" > compiled 2>&1; then
        skip "$name" "it cannot be compiled here: $(head -n 1 compiled)"
        continue
    fi
    asks "$kind" "$name"
done < table
stops

# ---- what only some programs have ----

starts_c() {
    stops
    rm -f program
    "$@" -o program main.c work.c && starts ./program
}
starts_c gcc -g -gsplit-dwarf && rm -f ./*.dwo
check "a description that is not there is named" grep -q "process $program has here may be described in .*\.dwo, which is not there" << EOF_
$(probe pair)
EOF_
starts_c gcc -g
wait_for 60 runs_long
check_equal "texts by a cast, and what cannot be read" 'buffer: "number -9" (char *)8: unknown' "$(sense work buffer '(char *)8')"
check_equal "structs by a cast, and what cannot be read" '*(struct pair *)&pair: {a: 3, b: 9} *(struct pair *)8: unknown' \
    "$(sense work '*(struct pair *)&pair' '*(struct pair *)8')"
check_equal "a probe has no thread" \
    "expression:1:1: 'own' is thread-local: only a sensor at a place in the code reads it, of the thread that is there" "$(probe own)"
stops
finish
