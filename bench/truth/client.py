# SPDX-License-Identifier: MIT
"""client.py PORT: asks again and again. client.py idle: only sleeps, and matters to nobody."""
import socket
import sys
import time

while sys.argv[1] == "idle":
    time.sleep(0.2)
server = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
while True:
    server.send(b"q")
    if not server.recv(10):
        break
