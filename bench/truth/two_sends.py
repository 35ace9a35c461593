# SPDX-License-Identifier: MIT
"""two_sends.py: a server that writes header and body in two sends, without TCP_NODELAY. Prints how many answers took 30 ms or more."""
import os
import socket
import time

listener = socket.create_server(("127.0.0.1", 0))
if os.fork() == 0:
    peer, _ = listener.accept()
    while peer.recv(100):
        peer.sendall(b"H" * 150)
        peer.sendall(b"B" * 1000)
    os._exit(0)
server, late = socket.create_connection(listener.getsockname()), 0
for _ in range(60):
    began, received = time.time(), 0
    server.send(b"q" * 70)
    while received < 1150:
        received += len(server.recv(2000))
    late += time.time() - began >= 0.03
    time.sleep(0.02)
server.close()
os.wait()
print(late)
