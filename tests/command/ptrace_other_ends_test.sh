#!/bin/sh
# SPDX-License-Identifier: MIT
# ptrace_other_ends_test.sh BUILD_FOLDER: who is at the other end, where a meter easily looks too late or in the wrong place.
# The program (other_ends.c) prints for each message it has received who has sent it: the ptrace meter must say the same, and
# where it cannot be certain, not that it is.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
. "$(dirname "$0")/other_ends.sh"
command -v jq > "$scratch/which" || skip_all "jq is not installed"
build=$1
# a traced process cannot trace itself, as the leak sanitizer does
export ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0"
cd "$scratch" || exit 1

for kind in tcp tcp6 unix abstract seqpacket; do
    record ptrace late $kind
    check_equal "$kind: clients that have sent and closed before they are accepted" "20 of 20, 20 exact; 0 wrong" "$(judge)"
    case $kind in
    tcp | unix) ;;
    *)
        if ! long_ones; then
            skip "$kind: other such clients" "takes long: only with ./dev test --all"
            continue
        fi
        ;;
    esac
    record ptrace late-one $kind
    check_equal "... all of one process" "20 of 20, 20 exact; 0 wrong" "$(judge)"
    record ptrace late-same $kind
    check_equal "... with messages of one size" "20 of 20, 20 exact; 0 wrong" "$(judge)"
    record ptrace late-threads $kind
    check_equal "... by threads that connect at a time: what is exact is right" "0 wrong" "$(judge | sed 's/.*; //')"
done
kinds='tcp unix'
! long_ones || kinds='tcp unix abstract seqpacket'
for kind in $kinds; do
    record ptrace unaccepted $kind
    check_equal "$kind: another listening socket with the same name: not what is lost with the first one" \
        "1 of 1, 1 exact; 0 wrong" "$(judge)"
done
record ptrace again tcp
check_equal "tcp: a socket connects to one peer after another" "12 of 12, 12 exact; 0 wrong" "$(judge)"
for kind in udp unix-datagram; do # the latter without a name, so that its receiver cannot tell
    record ptrace again $kind
    check_equal "$kind: a socket connects to one peer after another" "12 of 12, 0 exact; 0 wrong" "$(judge)"
done
record ptrace again-late
check_equal "a socket that is connected elsewhere before it is accepted" "2 of 2, 2 exact; 0 wrong" "$(judge)"
record ptrace names
check_equal "datagram sockets with one name: none is taken for another" "0 wrong" "$(judge | sed 's/.*; //')"
check_equal "... which is certain while only one has sent what is to be received" 20 "$(grep -c exact said)"
for survive in "" " --survive"; do
    record "ptrace$survive" own-files
    check_equal "threads with descriptors of their own$survive" "40 of 40, 40 exact; 0 wrong" "$(judge)"
done
mkdir fifos
record ptrace fifo fifos
check_equal "FIFOs that all have closed, and new ones: all receives lead to the send of their turn" \
    "9 of 9, 0 exact; 0 wrong" "$(judge)"
record ptrace lost
check_equal "lost datagrams: all receives lead to a send of their size" \
    "$(wc -l < truth) of $(wc -l < truth), 0 exact; 0 wrong" "$(judge)"
check "... and some were lost" test "$(wc -l < truth)" -lt 120
record ptrace lost-same
check_equal "... also if all have one size: the socket says how many it has dropped" \
    "$(wc -l < truth) of $(wc -l < truth), 0 exact; 0 wrong" "$(judge)"
record ptrace dual
check_equal "an IPv6 socket that IPv4 sends to, and that does not ask for the sender" "10 of 10, 0 exact; 0 wrong" "$(judge)"
record ptrace group
check_equal "a multicast group, from an address that is not the route's" "10 of 10, 0 exact; 0 wrong" "$(judge)"
record ptrace submit
check_equal "io_submit(2)" "40 of 40, 40 exact; 0 wrong" "$(judge)"

# ---- where descriptors may not be copied ----

if "$build/tests/programs/forbid" error:pidfd_getfd true 2> forbid.err; then
    dpm_itself=$dpm
    printf '#!/bin/sh\nexec "%s" error:pidfd_getfd "%s" "$@"\n' "$build/tests/programs/forbid" "$dpm" > without-copies
    chmod +x without-copies
    dpm=./without-copies
    kinds='tcp'
    ! long_ones || kinds='tcp unix seqpacket'
    for kind in $kinds; do
        record ptrace late $kind
        check_equal "$kind, without copies of descriptors: clients that are closed before they are accepted: none is wrong" \
            "20 of 20 0 wrong" "$(judge | sed 's/, .*;//')"
    done
    record ptrace own-files
    check_equal "without copies of descriptors: threads with descriptors of their own" "40 of 40, 40 exact; 0 wrong" "$(judge)"
    dpm=$dpm_itself
else
    skip "without copies of descriptors" "a filter of system calls needs privilege: $(cat forbid.err)"
fi

# ---- network namespaces ----

if unshare -n true 2> err; then
    record ptrace network
    in_order
    check_equal "network namespaces with the same ports, entered without exec" \
        "92 of 92 0 wrong" "$(judge | sed 's/, .*;//')"
    check_equal "... whose sockets say so" "4" \
        "$("$dpm" dump --json --type path trace | jq -s 'map(select(.kind == "tcp") | .network) | unique | length')"
    check_equal "... and TCP and UNIX are matched for certain" "62" "$(grep -c exact said)"
else
    skip "network namespaces" "they need privilege: $(cat err)"
fi

# ---- /proc ----

if unshare -m true 2> err; then
    cat > without-proc << END
umount -l /proc || exit 77
"$dpm" run --meter ptrace -o without.trace --report without.report -- "$other_ends" late-one unix > truth
END
    unshare -m sh ./without-proc 2> err
    check_equal "without /proc, sockets are found by copies of descriptors" 20 \
        "$("$dpm" dump --json --type send without.trace | jq -s 'map(select(.kind == "unix-stream")) | length')"
    check "... the report says what is missing" grep -q '/proc is not mounted' without.report
else
    skip "without /proc" "mount namespaces need privilege: $(cat err)"
fi
finish
