# SPDX-License-Identifier: MIT
"""exchange.py PART [KIND]: small programs that say on standard output what they send and receive, as the records must say it
too (exchange_test.sh). Times are CLOCK_MONOTONIC, in ns, as in the records; each lies just before or after a call, so
it bounds the record's time whatever else the machine does.

     answers tcp|unix-stream     40 requests of 100, 101 ... bytes; each answer is three times as long, in one to three pieces
                              send ROLE BYTES BEFORE AFTER, received ROLE BYTES AFTER
     again                    eight connections that are reset, five of them from one port: port PORT
     own                      30 requests, each over its own connection: port SERVER'S
     full unix-stream|pipe    ten sends that find the buffer full: full COUNT, and filled BYTES
"""
import os
import socket
import struct
import sys
import time

now = time.monotonic_ns


def say(*words):
    os.write(1, (" ".join(str(word) for word in words) + "\n").encode())


def send(role, connection, size):
    before = now()
    assert connection.send(b"x" * size) == size
    say("send", role, size, before, now())


def receive(role, connection, size):
    while size > 0:
        got = len(connection.recv(size))
        say("received", role, got, now())
        size -= got


def answers(kind):
    if kind == "tcp":
        listener = socket.create_server(("127.0.0.1", 0))
        client = socket.create_connection(listener.getsockname())
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        server = listener.accept()[0]
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    else:
        client, server = socket.socketpair()
    sizes = [100 + i for i in range(40)]
    if os.fork() == 0:
        client.close()
        for i, size in enumerate(sizes):
            receive("server", server, size)
            pieces = 1 + i % 3
            for piece in range(pieces):
                part = 3 * size // pieces
                send("server", server, part if piece > 0 else 3 * size - part * (pieces - 1))
        os._exit(0)
    server.close()
    for size in sizes:
        send("client", client, size)
        receive("client", client, 3 * size)
    os.wait()


def again():
    listener = socket.create_server(("127.0.0.1", 0))
    port = 0
    for i in range(8):
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        if i < 5:
            client.bind(("127.0.0.1", port))
            port = client.getsockname()[1]
        client.connect(listener.getsockname())
        say("port", client.getsockname()[1])
        server, _ = listener.accept()
        client.send(b"x")
        server.recv(1)
        client.close()
        server.close()


def own():
    listener = socket.create_server(("127.0.0.1", 0))
    say("port", listener.getsockname()[1])
    if os.fork() == 0:
        for _ in range(30):
            connection, _ = listener.accept()
            connection.send(b"a" * len(connection.recv(100)))
            connection.recv(100)
            connection.close()
        os._exit(0)
    for _ in range(30):
        client = socket.create_connection(listener.getsockname())
        client.send(b"q")
        client.recv(100)
        client.close()
    os.wait()


def sleeps_in_write(process):
    """Whether it sleeps in write or sendto, by the kernel."""
    with open(f"/proc/{process}/syscall", encoding="ascii") as file:
        return file.read().split()[0] in ("1", "44")


def writes_of(pid):
    """How many calls of write have ended, as the kernel counts them; all of them, once the process has ended."""
    try:
        with open(f"/proc/{pid}/io") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("syscw"))
    except (OSError, StopIteration):
        return -1


def full(kind):
    if kind == "pipe":
        take, give = os.pipe()
    else:
        one, other = socket.socketpair()
        give, take = one.detach(), other.detach()
    writer = os.fork()
    if writer == 0:
        os.close(take)
        os.set_blocking(give, False)
        filled = 0
        try:
            while True:
                filled += os.write(give, b"x" * 4096)
        except BlockingIOError:
            say("filled", filled)
        os.set_blocking(give, True)
        for _ in range(10):
            assert os.write(give, b"y" * 4096) == 4096
        os._exit(0)
    os.close(give)
    blocked, end = 0, now() + 60 * 10**9
    for _ in range(10):
        while not sleeps_in_write(writer) and now() < end:
            time.sleep(0.001)
        blocked += sleeps_in_write(writer)
        written = writes_of(writer)
        os.read(take, 4096)
        # a page more in a pipe ends this write, and only this; the next one finds no space again
        while kind == "pipe" and writes_of(writer) == written and now() < end:
            time.sleep(0.001)
    say("full", blocked)
    while os.read(take, 65536):
        pass
    os.wait()


if __name__ == "__main__":
    say("pid", os.getpid())
    {"answers": answers, "again": again, "own": own, "full": full}[sys.argv[1]](*sys.argv[2:])
