#!/bin/sh
# SPDX-License-Identifier: MIT
# ptrace_addresses_test.sh BUILD_FOLDER: the ptrace meter finds the other end of what is sent to several sockets, to a
# translated address, and to long names, whichever of them it stops first.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_programs jq python3
cd "$scratch" || exit 1
"$dpm" run --meter ptrace -o probe -- true > err 2>&1 || skip_all "the ptrace meter does not run here: $(head -n 1 err)"

# matched KIND: how many RECEIVEs of this kind of path have a SEND.
matched() {
    "$dpm" dump --matched --json --type receive t |
        jq -s --arg kind "$1" 'map(select(.kind == $kind and ((.edges // []) | length) > 0)) | length'
}

# 30 datagrams to two sockets of one port: each receives all. The sender has no port of its own before the first one.
cat > several.py << 'END'
import os, socket, sys
to = sys.argv[1]
receivers = []
for i in range(2):
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    receiver.bind(("", 5007))
    receiver.settimeout(20)
    if to.startswith("239"):
        receiver.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(to) + socket.inet_aton("127.0.0.1"))
    receivers.append(receiver)
for receiver in receivers:
    if os.fork() == 0:
        for i in range(30):
            receiver.recvfrom(100)
        os._exit(0)
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))
for i in range(30):
    sender.sendto(bytes(20 + i), (to, 5007))
os.wait()
os.wait()
END

# A UNIX socket whose name fills all of its place, 108 bytes, and one that an unbound socket sends datagrams to.
cat > names.py << 'END'
import ctypes, os, socket
libc = ctypes.CDLL(None)
name = b"\x01\0" + b"n" * 108
listener = socket.socket(socket.AF_UNIX)
assert libc.bind(listener.fileno(), name, len(name)) == 0
listener.listen()
to = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
to.bind("to")
if os.fork() == 0:
    client = socket.socket(socket.AF_UNIX)
    assert libc.connect(client.fileno(), name, len(name)) == 0
    client.send(b"x")
    one = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    for i in range(5):
        one.sendto(bytes(i + 1), "to")
    os._exit(0)
listener.accept()[0].recv(1)
for i in range(5):
    to.recvfrom(100)
os.wait()
END

if command -v unshare > /dev/null && unshare -n true 2> err; then
    for to in 239.1.2.3 127.255.255.255; do
        for _ in 1 2 3 4 5 6 7 8 9 10; do # the order of stops differs
            rm -rf t
            unshare -n sh -c 'ip link set lo up; exec "$@"' - "$dpm" run --meter ptrace -o t --report report -- \
                python3 -S several.py $to
            check_equal "$to: both receive all 30" 60 "$(matched udp)"
        done
    done
else
    skip "multicast and broadcast" "network namespaces cannot be made here"
fi

for meter in kernel ptrace; do
    rm -rf t names "$(printf %0108d 0 | tr 0 n)" to
    "$dpm" run --meter $meter -o t --report report -- python3 -S names.py 2> err
    check_equal "$meter: the recording ends in order" 0 $?
    check_equal "$meter: a name of 108 bytes is whole" 108 \
        "$("$dpm" dump --json --type path t | jq -s 'map(select(.kind == "unix-stream" and .unix_name != "").unix_name | length) | max')"
    check_equal "$meter: datagrams of an unbound socket are matched" 5 "$(matched unix-datagram)"
    check_not "$meter: ... and are of this recording" sh -c '"$1" dump --type receive t | grep unix-datagram | grep -q "older than the metering"' - "$dpm"
done

# A service's address (DNAT), of TCP and UDP, with the meter outside of its network namespace, and inside.
cat > translated.sh << 'END'
ip link set lo up && ip addr add 10.96.0.10/32 dev lo && nft add table ip n &&
    nft add chain ip n o '{ type nat hook output priority -100 ; }' &&
    nft add rule ip n o ip daddr 10.96.0.10 udp dport 53 dnat to 127.0.0.1:5353 &&
    nft add rule ip n o ip daddr 10.96.0.10 tcp dport 80 dnat to 127.0.0.1:8080 && exec "$@"
END
cat > translated.py << 'END'
import os, socket
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(("127.0.0.1", 5353))
listener = socket.create_server(("127.0.0.1", 8080))
if os.fork() == 0:
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    client.connect(("10.96.0.10", 53))
    client.settimeout(20)
    for i in range(20):
        client.send(bytes(30 + i))
        client.recv(500)
    client = socket.create_connection(("10.96.0.10", 80))
    for i in range(20):
        client.send(bytes(40))
        client.recv(100)
    os._exit(0)
for i in range(20):
    data, sender = udp.recvfrom(500)
    udp.sendto(bytes(200 + i), sender)
connection, _ = listener.accept()
for i in range(20):
    connection.recv(100)
    connection.send(bytes(60))
os.wait()
END
if command -v nft > /dev/null && unshare -n sh translated.sh true 2> err; then
    for where in outside inside; do
        rm -rf t
        if [ $where = outside ]; then
            "$dpm" run --meter ptrace -o t --report report -- unshare -n sh translated.sh python3 -S translated.py
        else
            unshare -n sh translated.sh "$dpm" run --meter ptrace -o t --report report -- python3 -S translated.py
        fi
        check_equal "$where: what is sent to a translated address is received" "40 40" "$(matched udp) $(matched tcp)"
        check_not "$where: ... and not from unmonitored peers" grep -q 'Matched receives.*unmonitored' report
    done
else
    skip "translated addresses" "they cannot be translated here: $(head -n 1 err)"
fi
finish
