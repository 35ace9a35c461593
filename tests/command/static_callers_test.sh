#!/bin/sh
# SPDX-License-Identifier: MIT
# static_callers_test.sh BUILD_FOLDER: program counters in static programs, whose C library is part of their text: the function
# that made the call, or none, with either meter.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_meter
cd "$scratch" || exit 1

# tx and rx, wr and rd send and receive 15 times each, one after the other: each finds the others' return addresses on
# the stack. With -DTHREAD in a thread.
cat > calls.c << 'END'
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>
static int ends[2];
#define CALLER __attribute__((noinline)) void
CALLER tx(int end) { for (int i = 0; i < 5; i++) send(end, "abcdef", 6, 0); asm volatile(""); }
CALLER rx(int end) { char to[100]; for (int i = 0; i < 5; i++) recv(end, to, 6, 0); asm volatile(""); }
CALLER wr(int end) { for (int i = 0; i < 5; i++) write(end, "abcdef", 6); asm volatile(""); }
CALLER rd(int end) { char to[300]; for (int i = 0; i < 5; i++) read(end, to, 6); asm volatile(""); }
static void *work(void *unused)
{
    for (int i = 0; i < 3; i++) { tx(ends[0]); rx(ends[1]); wr(ends[0]); rd(ends[1]); }
    return unused;
}
int main(void)
{
    pthread_t thread;
    socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
#ifdef THREAD
    pthread_create(&thread, 0, work, 0);
    pthread_join(thread, 0);
#else
    (void)thread;
    work(0);
#endif
}
END

cat > calls.rs << 'END'
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
#[inline(never)]
fn wr(end: &mut UnixStream) { for _ in 0..15 { end.write_all(b"abcdef").unwrap(); } }
#[inline(never)]
fn rd(end: &mut UnixStream) { let mut to = [0u8; 6]; for _ in 0..15 { end.read_exact(&mut to).unwrap(); } }
fn main() { let (mut one, mut other) = UnixStream::pair().unwrap(); wr(&mut one); rd(&mut other); }
END

cat > calls.go << 'END'
package main
import "syscall"
//go:noinline
func wr(end int) { for i := 0; i < 15; i++ { syscall.Write(end, []byte("abcdef")) } }
//go:noinline
func rd(end int) { to := make([]byte, 6); for i := 0; i < 15; i++ { syscall.Read(end, to) } }
func main() {
	ends, _ := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	wr(ends[0])
	rd(ends[1])
}
END

# callers METER PROGRAM: "COUNT EVENT FUNCTION" of its messages; "none": the call is known, but not which function made it.
callers() {
    rm -rf calls.trace
    "$dpm" run --meter "$1" --kinds unix -o calls.trace -- "./$2" > out 2> err || cat err
    "$dpm" dump --json --type send,receive calls.trace |
        jq -r '"\(.event) \(if .library then "none" else .procedure // "none" end)"' | sort | uniq -c |
        sed 's/^ *//'
}
# build NAME COMMAND...: skips the program where the compiler is missing.
build() {
    name=$1
    shift
    if "$@" > out 2>&1; then
        return
    fi
    skip "$name: callers" "no compiler for it here: $(head -n 1 out)"
    return 1
}

c_callers='15 RECEIVE rd
15 RECEIVE rx
15 SEND tx
15 SEND wr'
set -- 'glibc cc -static' 'musl musl-gcc -static' 'threads musl-gcc -static -DTHREAD'
for one; do
    # shellcheck disable=SC2086 # words
    build ${one%% *} ${one#* } -O2 -o "${one%% *}" calls.c || continue
    for meter in kernel ptrace; do
        check_equal "${one#* }, $meter: callers" "$c_callers" "$(callers $meter "${one%% *}")"
    done
done

# A library that has no symbols but those that it exports does not lend one of these to all others.
if build "musl, dynamic" musl-gcc -O2 -o dynamic calls.c; then
    for meter in kernel ptrace; do
        callers $meter dynamic > /dev/null
        check_equal "musl, dynamic, $meter: no function of the library is made up" "" \
            "$("$dpm" dump --json --type send,receive calls.trace | jq -r 'select(.library) | .procedure // empty' |
                grep -vE '^(send|recv|sendto|recvfrom|read|write)$' | sort -u)"
    done
fi

if build Rust rustc -O -C target-feature=+crt-static -o rust calls.rs; then
    for meter in kernel ptrace; do
        check_equal "Rust, $meter: callers" '15 RECEIVE <std::os::unix::net::stream::UnixStream as std::io::Read>::read
15 SEND <std::os::unix::net::stream::UnixStream as std::io::Write>::write' "$(callers $meter rust)"
    done
fi

if build Go env CGO_ENABLED=0 HOME="$scratch" go build -o golang calls.go; then
    for meter in kernel ptrace; do
        check_equal "Go, $meter: no caller is guessed" '15 RECEIVE none
15 SEND none' "$(callers $meter golang)"
    done
fi
finish
