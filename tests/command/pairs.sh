# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2034,SC2154 # read after tap.sh, which sets $scratch
# pairs.sh: for queued_test.sh; read after meter.sh. It goes on in $scratch.
need_meter
need_programs python3
cd "$scratch" || exit 1

# Two sockets of a kind, the sender first; for tcp-new the other one is a listener that has not accepted yet.
cat > pairs.py << 'END'
import socket
def pair(kind):
    if kind in ("tcp", "tcp-new"):
        listener = socket.create_server(("127.0.0.1", 0))
        sender = socket.create_connection(listener.getsockname())
        sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return sender, listener.accept()[0] if kind == "tcp" else listener
    if kind == "udp":
        receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        receiver.bind(("127.0.0.1", 0))
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sender.connect(receiver.getsockname())
        return sender, receiver
    types = {"unix-stream": socket.SOCK_STREAM, "unix-datagram": socket.SOCK_DGRAM,
        "unix-seqpacket": socket.SOCK_SEQPACKET}
    return socket.socketpair(socket.AF_UNIX, types[kind])
END

# For the pair that has sent most.
receiver_is_late='(.pairs | max_by(.bytes)) as $most |
    any(.late_receivers[]; .from == $most.from and .to == $most.to) and
    all(.late_senders[]; .from != $most.from or .to != $most.to)'
