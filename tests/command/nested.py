# SPDX-License-Identifier: MIT
"""nested.py SECONDS: makes interrupts nest the hook sk_data_ready on processor 1.

    processor 0    TCP: a byte to ourselves, again and again; the kernel hands packets on
                        |  (receive packet steering: `echo 2 > /sys/class/net/lo/queues/rx-0/rps_cpus`)
                        v
    processor 1    interrupt: sk_data_ready of TCP
                   task:      sk_data_ready of a UNIX socket, most of the time
"""
import os
import socket
import sys
import time


def pass_bytes(sender, receiver, end):
    """Sends and receives one byte at a time until then; returns their number."""
    count = 0
    while time.monotonic() < end:
        for _ in range(100):
            sender.send(b"x")
            receiver.recv(1)
        count += 100
    return count


def tcp_pair():
    """A connection of the process with itself, without delays (TCP_NODELAY)."""
    listener = socket.create_server(("127.0.0.1", 0))
    sender = socket.create_connection(listener.getsockname())
    receiver, _ = listener.accept()
    sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sender, receiver


def main():
    end = time.monotonic() + float(sys.argv[1])
    child = os.fork()
    os.sched_setaffinity(0, {0 if child else 1})
    count = pass_bytes(*(tcp_pair() if child else socket.socketpair()), end)
    print("tcp" if child else "unix", count, flush=True)
    if child:
        os.wait()


main()
