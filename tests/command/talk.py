# SPDX-License-Identifier: MIT
"""talk.py RANK NAME...: one program on each host NAME, with the same arguments but RANK, its own place in them from 0 on.
Every two of them play ping-pong over TCP and then over UDP; and each talks to itself through a socket pair. A message is
one send and one receive. Prints its pid and what it has sent and received: {"pid": 7, "sent": {"messages": 3, "bytes": 30},
"received": ...}."""
import json
import os
import socket
import sys
import time

ROUNDS = 200
rank, names = int(sys.argv[1]), sys.argv[2:]
counts = {"pid": os.getpid(), "sent": {"messages": 0, "bytes": 0}, "received": {"messages": 0, "bytes": 0}}


def count(direction, size):
    counts[direction]["messages"] += 1
    counts[direction]["bytes"] += size


def send(end, size):
    assert end.send(b"x" * size) == size
    count("sent", size)


def receive(end, size):
    assert len(end.recv(size + 1)) == size
    count("received", size)


def play(end, begins, size):
    for i in range(ROUNDS):
        if begins:
            send(end, size + i)
            receive(end, size)
        else:
            receive(end, size + i)
            send(end, size)


def connect(address):
    deadline = time.monotonic() + 30
    while True:
        try:
            return socket.create_connection(address)
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def datagrams(own, other):
    end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    end.bind((names[own], 7100 + other))
    end.connect((names[other], 7100 + own))
    return end


# each pair in the same order on both sides, so that no two wait for each other in a circle
listeners = [socket.create_server((names[rank], 7000 + i)) for i in range(len(names))]
for first in range(len(names)):
    for second in range(first + 1, len(names)):
        if rank not in (first, second):
            continue
        if rank == first:
            inbox = datagrams(first, second)
            end = connect((names[second], 7000 + first))
        else:
            inbox = datagrams(second, first)
            end, _ = listeners[first].accept()
        play(end, rank == first, 10)
        play(inbox, rank == first, 20)
here, there = socket.socketpair()
for i in range(100 * (rank + 1)):
    send(here, 30)
    receive(there, 30)
print(json.dumps(counts))
