# SPDX-License-Identifier: MIT
"""fsync_client.py PORT SECONDS: sets a key of redis again and again, and prints how often a second, and the median time in ms."""
import socket
import statistics
import sys
import time

connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
times = []
began = time.monotonic()
while (asked := time.monotonic()) < began + float(sys.argv[2]):
    connection.sendall(b"SET key 1234567890\r\n")
    assert connection.recv(64) == b"+OK\r\n"
    times.append(time.monotonic() - asked)
print(len(times) / (time.monotonic() - began), 1000 * statistics.median(times))
