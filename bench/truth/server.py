# SPDX-License-Identifier: MIT
"""server.py PORT: 20 ms of CPU time for each request, the only thing that is slow. Prints its process."""
import os
import socket
import sys
import time

listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print(os.getpid(), flush=True)
peer, _ = listener.accept()
while peer.recv(10):
    end = time.thread_time() + 0.02
    while time.thread_time() < end:
        pass
    peer.send(b"a")
