#!/bin/sh
# SPDX-License-Identifier: MIT
# unmetered_test.sh BUILD_FOLDER: messages on sockets that no meter records: reports say so, with either meter.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_meter
cd "$scratch" || exit 1

# Parent and child exchange 20 messages each way. KIND: mptcp (at both ends), listener (its clients speak TCP), raw, netlink,
# none: sockets that are made, but not used.
cat > exchange.py << 'END'
import os, socket, struct, sys
kind = sys.argv[1]
MPTCP = 262
if kind in ("mptcp", "listener"):
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, MPTCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    if os.fork() == 0:
        client = socket.socket(socket.AF_INET, socket.SOCK_STREAM, MPTCP if kind == "mptcp" else 0)
        client.connect(listener.getsockname())
        for i in range(20):
            client.sendall(bytes(100))
            client.recv(200)
        os._exit(0)
    server, _ = listener.accept()
    for i in range(20):
        server.recv(200)
        server.sendall(bytes(150))
    os.wait()
if kind == "raw":
    echo = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    echo.sendto(struct.pack("!BBHHH", 8, 0, 0xf7ff, 0, 0), ("127.0.0.1", 0))
    echo.recv(100)
if kind == "netlink":
    netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    netlink.send(struct.pack("IHHII", 20, 18, 0x301, 1, 0) + bytes(4))
    netlink.recv(65536)
if kind == "memory":  # another process's
    import ctypes, signal
    here, there, child = ctypes.create_string_buffer(8), ctypes.create_string_buffer(b"abcdefg"), os.fork()
    if child == 0:
        signal.pause()
    class Piece(ctypes.Structure):
        _fields_ = [("at", ctypes.c_void_p), ("size", ctypes.c_size_t)]
    pieces = [Piece(ctypes.addressof(memory), 8) for memory in (here, there)]
    assert ctypes.CDLL(None).process_vm_readv(child, ctypes.byref(pieces[0]), 1, ctypes.byref(pieces[1]), 1, 0) == 8
    os.kill(child, 9)
    os.wait()
if kind == "none":
    made = [socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0),
            socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)]
    one, other = socket.socketpair()
    one.send(b"x")
    other.recv(1)
END

is_missing='Messages on sockets of this kind are not recorded, by any meter'
for meter in kernel ptrace; do
    for kind in mptcp listener raw netlink none; do
        if ! python3 -S exchange.py $kind; then
            skip "$meter, $kind" "this machine has no such sockets"
            continue
        fi
        "$dpm" run --meter $meter -o $meter.$kind --report report -- python3 -S exchange.py $kind
        said=$(grep '^Messages on sockets of' report)
        kinds=$("$dpm" stats --json $meter.$kind | jq -c '.trace.sockets_not_metered')
        case $kind in
        mptcp) name=MPTCP ;;
        raw) name='raw IP' ;;
        netlink) name=netlink ;;
        *) name= ;;
        esac
        # (netlink sockets go to the kernel, and the report does not speak of these alone)
        told=${name:+$is_missing: $name.}
        [ $kind != netlink ] || told=
        check_equal "$meter, $kind: the report names the kind" "$told" "$said"
        check_equal "$meter, $kind: JSON has it" "[${name:+\"$name\"}]" "$kinds"
        if [ $kind = mptcp ]; then
            "$dpm" report --all $meter.$kind | tr -s '\n ' ' ' > whole
            check "$meter: P may be too high without these messages" \
                grep -q 'P may be too high: edges are missing, because these were not metered: .*MPTCP sockets' whole
            check "$meter: dpm dump lists the kind" sh -c '"$1" dump --type name "$2" |
                grep -q "MPTCP sockets are in use, and not metered"' - "$dpm" $meter.$kind
        elif [ $kind = listener ]; then
            check_equal "$meter: with TCP at one end, messages are recorded" 40 \
                "$("$dpm" dump --matched --json --type receive $meter.$kind |
                    jq -s 'map(select(.kind == "tcp" and ((.edges // []) | length) > 0)) | length')"
        elif [ $kind = netlink ]; then
            check_not "$meter: what the kernel answers does not change P" sh -c '"$1" report --all "$2" | grep -q "netlink sockets"' - \
                "$dpm" $meter.$kind
        fi
    done
done
copies="A process has copied from or to another process' memory"
"$dpm" run --meter kernel -o memory --report report -- python3 exchange.py memory
check "process_vm_readv: the report says so" grep -q "^$copies" report
check_equal "... in JSON, too" "true false" \
    "$("$dpm" stats --json memory | jq .trace.memory_copied) $("$dpm" stats --json kernel.none | jq .trace.memory_copied)"
check_not "... and not of others" sh -c '"$1" stats kernel.none | grep -q "^$2"' sh "$dpm" "$copies"
finish
