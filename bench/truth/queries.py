# SPDX-License-Identifier: MIT
"""queries.py: a program that asks a server once for a list, and once for each of its 100 items, five times. Prints how many requests that
were, and which share of the elapsed time they took, in per cent, and how long, in ms."""
import os
import socket
import time

listener = socket.create_server(("127.0.0.1", 0))
if os.fork() == 0:
    peer, _ = listener.accept()
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while peer.recv(10):
        sum(range(2000))
        peer.send(b"a")
    os._exit(0)
began, asked, count = time.time(), 0, 0
with socket.create_connection(listener.getsockname()) as server:
    server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for _ in range(5 * 101):
        sent = time.time()
        server.send(b"q")
        server.recv(10)
        asked += time.time() - sent
        count += 1
print(count, 100 * asked / (time.time() - began), 1000 * asked)
os.wait()
