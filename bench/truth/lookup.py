# SPDX-License-Identifier: MIT
"""lookup.py: asks for a name three times, of two name servers, the first of which does not answer. Writes into `own` how long it took."""
import os
import socket
import time


def server(address, answers):
    pid = os.fork()
    if pid != 0:
        return pid
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        own.bind((address, 53))
        while True:
            text, client = own.recvfrom(512)
            if answers:
                question = text[12 : text.index(b"\0", 12) + 5]
                answer = b"\xc0\x0c\0\1\0\1\0\0\0\5\0\4\x0a\1\2\3"
                own.sendto(text[:2] + b"\x81\x80\0\1\0\1\0\0\0\0" + question + answer, client)


def awake():
    """CPU time and run queue of this thread, in s."""
    cpu, queue, _ = open("/proc/thread-self/schedstat").read().split()
    return (int(cpu) + int(queue)) / 1e9


began, took = time.time(), 0
servers = [server("127.0.0.2", False), server("127.0.0.3", True)]
time.sleep(0.3)
for _ in range(3):
    asked = time.time() - awake()
    socket.getaddrinfo("db.example.test", 80, socket.AF_INET)
    took += time.time() - awake() - asked
with open("own", "w") as own:
    print(os.getpid(), 1000 * took, 0, 1000 * (time.time() - began), file=own)
for pid in servers:
    os.kill(pid, 15)
