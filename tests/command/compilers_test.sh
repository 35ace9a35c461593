#!/bin/sh
# SPDX-License-Identifier: MIT
# compilers_test.sh BUILD_FOLDER: sensors and probes read programs of several compilers, which describe what is where in ways of
# their own: clang, rustc and Go do not list which unit has an address; clang writes addresses as numbers of a table; with
# -gsplit-dwarf the description is in another file. Each prints what its program was given.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_meter
dpm=$(realpath "$dpm")
cd "$scratch" || exit 1
program=
trap '[ -z "$program" ] || kill $program 2> /dev/null; rm -rf "$scratch"' EXIT

cat > arguments.c << 'EOF_'
#include <stdio.h>
#include <unistd.h>
struct pair { int a, b; } pair = {3, 9};
struct big { long a, b, c; };
char buffer[16];
int work(int n, const char *text);
struct big three(int n);
__attribute__((noinline)) int work(int n, const char *text) { __asm__ volatile("" : : "r"(n), "r"(text) : "memory"); return -2 * n; }
__attribute__((noinline)) struct big three(int n) { __asm__ volatile("" : "+r"(n)); return (struct big){n, n, n}; }
int main(void) { for (;;) { usleep(20000); snprintf(buffer, sizeof(buffer), "number %d", work(5, buffer) + (int)three(1).a); } }
EOF_
cat > names.cc << 'EOF_'
#include <unistd.h>
namespace app {
namespace inner { int x = 7; static volatile long hidden = 8; struct Pool { static int made; int a = 1; }; int Pool::made = 9; Pool pool; }
int x = 17;
}
int main() { for (;;) { usleep(20000); app::inner::hidden = 8; } }
EOF_
cat > rust.rs << 'EOF_'
static mut PLAIN: i64 = -12345;
#[inline(never)] pub fn work(n: u32, k: u64) -> u64 { unsafe { PLAIN += 0; } n as u64 + k }
fn main() { loop { if std::hint::black_box(work(std::hint::black_box(31), 7)) == 0 { break; } std::thread::sleep(std::time::Duration::from_millis(20)); } }
EOF_
cat > go.go << 'EOF_'
package main
import "time"
var Counter int64 = 314
func main() { for { time.Sleep(20 * time.Millisecond); Counter++; Counter-- } }
EOF_

# begins COMMAND...: compiles ./program, and starts it.
begins() {
    stops
    "$@" > compiled 2>&1 || return 1
    ./program &
    program=$!
    wait_for 30 grep -q program "/proc/$program/maps"
}
stops() {
    [ -z "$program" ] || { kill $program; wait $program; } 2> /dev/null
    program=
}
# probe EXPRESSION..., sense PLACE EXPRESSION...: what is printed, on one line.
probe() {
    "$dpm" view probe $program "$@" 2>&1 | paste -sd ' '
}
sense() {
    timeout 30 "$dpm" view --count 1 sense $program "$@" 2> err | sed 's/^ *[0-9.]* s  //'
    sed -n 's/^dpm: expression/expression/p' err
}

for compiler in 'gcc -O1' 'gcc -O0' 'gcc -O1 -gsplit-dwarf' 'clang -O1' 'clang -O0' 'clang -O1 -gdwarf-4'; do
    if ! command -v "${compiler%% *}" > /dev/null; then
        skip "$compiler" "it is not installed"
        continue
    fi
    # shellcheck disable=SC2086 # words
    begins $compiler -g -o program arguments.c
    wait_for 30 sh -c '"$1" view probe $2 buffer | grep -q number' - "$dpm" $program
    check_equal "$compiler: a member, an element" "pair.b: 9 buffer[0]: 110" "$(probe pair.b 'buffer[0]')"
    check_equal "$compiler: sizes" "sizeof pair: 8 sizeof(struct big) / sizeof(long): 3 sizeof buffer - sizeof(buffer[0]): 15" \
        "$(probe 'sizeof pair' 'sizeof(struct big) / sizeof(long)' 'sizeof buffer - sizeof(buffer[0])')"
    check_equal "$compiler: arguments, one of them a text" 'n: 5 text: "number -9"' "$(sense work n text)"
    check_equal "$compiler: what a function returns" 'retval: -10' "$(sense work:return retval)"
    check_equal "$compiler: ... if it is in a register" \
        'expression:1:1: the function returns a struct big, which cannot be read' "$(sense three:return retval)"
done
begins gcc -g -gsplit-dwarf -o program arguments.c && rm -f ./*.dwo
check "a description that is not there is named" grep -q "process $program has here may be described in .*\.dwo, which is not there" << EOF_
$(probe pair)
EOF_
begins gcc -g -o program arguments.c
wait_for 30 sh -c '"$1" view probe $2 buffer | grep -q number' - "$dpm" $program
check_equal "texts by a cast, and what cannot be read" 'buffer: "number -9" (char *)8: unknown' "$(sense work buffer '(char *)8')"
for compiler in g++ clang++; do
    if ! command -v $compiler > /dev/null; then
        skip "$compiler" "it is not installed"
        continue
    fi
    begins $compiler -g -O1 -o program names.cc
    check_equal "$compiler: names in namespaces and classes" \
        "app::inner::x: 7 app::x: 17 app::inner::hidden: 8 app::inner::Pool::made: 9 app::inner::pool.a: 1" \
        "$(probe app::inner::x app::x app::inner::hidden app::inner::Pool::made app::inner::pool.a)"
done
if command -v rustc > /dev/null && begins rustc -g -o program rust.rs; then
    check_equal "rustc: a static" 'rust::PLAIN: -12345' "$(probe rust::PLAIN)"
    check_equal "rustc: arguments" 'n: 31 k: 7' "$(sense work n k)"
else
    skip "rustc" "it is not installed"
fi
if command -v go > /dev/null && begins env GO111MODULE=off GOFLAGS= HOME="$scratch" GOCACHE="$scratch/cache" go build -o program go.go; then
    check_equal "Go: a variable of a package" 'main.Counter: 314' "$(probe main.Counter)"
else
    skip "Go" "it is not installed"
fi
stops
finish
