#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""scale.py: packets of many agents through one nats-server, with a durable stream as a session's.

usage: scale.py [AGENTS] [PACKETS] [BYTES]     (1000 agents, 20 packets each, of 8192 bytes)

                  connection 1 .. 4       stream: files
  agents 1 .. N  ===================>  nats-server  ===>  one reader, which acknowledges nothing
     one subject each, 8 packets
     unacknowledged at once

Each packet is stored before its acknowledgement, as dpm's are; it has a Nats-Msg-Id. Prints packets and bytes a second,
the server's CPU time a packet and memory, and the same for a reader of all. It ends its server, and removes its files.
"""
import json
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import time

agents, packets, size = (int(word) for word in (sys.argv[1:] + ["1000", "20", "8192"][len(sys.argv) - 1:])[:3])
CONNECTIONS, WINDOW = 4, 8


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as end:
        return end.getsockname()[1]


class Nats:
    def __init__(self, port):
        for _ in range(100):
            try:
                self.end = socket.create_connection(("127.0.0.1", port))
                break
            except OSError:
                time.sleep(0.05)
        self.left = b""
        self.end.sendall(b'CONNECT {"verbose":false,"headers":true}\r\nPING\r\n')
        while b"PONG" not in self.left:
            self.left += self.end.recv(65536)
        self.left = self.left.split(b"PONG\r\n", 1)[1]

    def messages(self):
        """What has come: pairs of subject and bytes."""
        self.left += self.end.recv(1 << 16)
        found, at = [], 0
        while (end := self.left.find(b"\r\n", at)) >= 0:
            words = self.left[at:end].split()
            following = end + 2
            if words[0] in (b"MSG", b"HMSG"):
                following += int(words[-1]) + 2
                if following > len(self.left):
                    break
                found.append((words[1], self.left[end + 2:following - 2]))
            elif words[0] == b"PING":
                self.end.sendall(b"PONG\r\n")
            elif words[0] == b"-ERR":
                raise RuntimeError(self.left[at:end])
            at = following
        self.left = self.left[at:]
        return found

    def ask(self, subject, body):
        self.end.sendall(b"SUB _INBOX.ask 1\r\nPUB %s _INBOX.ask %d\r\n%s\r\n" % (subject, len(body), body))
        while not (found := self.messages()):
            pass
        self.end.sendall(b"UNSUB 1\r\n")
        answer = json.loads(found[0][1])
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer


def cpu_of(pid):
    with open(f"/proc/{pid}/stat") as file:
        words = file.read().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def memory_of(pid):
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 1024


def publish(port):
    """All agents of all connections, round after round. Returns the seconds it took."""
    ends = [Nats(port) for _ in range(CONNECTIONS)]
    body = os.urandom(size)
    room = [WINDOW * agents // CONNECTIONS] * CONNECTIONS
    todo = [[(agent, number) for number in range(packets) for agent in range(i, agents, CONNECTIONS)][::-1]
            for i in range(CONNECTIONS)]
    stored = 0
    for i, end in enumerate(ends):
        end.end.sendall(b"SUB _INBOX.acks.%d 2\r\n" % i)
    begin = time.monotonic()
    while stored < agents * packets:
        for i, end in enumerate(ends):
            for _ in range(min(room[i], 32, len(todo[i]))):
                agent, number = todo[i].pop()
                header = b"NATS/1.0\r\nNats-Msg-Id: %032d-0-d-%d\r\n\r\n" % (agent, number)
                end.end.sendall(b"HPUB dpm.scale.m%d.packets.main.data _INBOX.acks.%d %d %d\r\n%s%s\r\n" %
                                (agent, i, len(header), len(header) + size, header, body))
                room[i] -= 1
        for end in select.select([end.end for end in ends], [], [], 0.001)[0]:
            i = [each.end for each in ends].index(end)
            for _, answer in ends[i].messages():
                if b'"error"' in answer:
                    raise RuntimeError(answer)
                room[i] += 1
                stored += 1
    return time.monotonic() - begin


def consume(port):
    """One reader of all. Returns the seconds it took."""
    reader = Nats(port)
    reader.end.sendall(b"SUB deliver 3\r\n")
    asked = Nats(port)
    begin = time.monotonic()
    asked.ask(b"$JS.API.CONSUMER.CREATE.scale", json.dumps({"stream_name": "scale", "config": {
        "deliver_subject": "deliver", "ack_policy": "none", "deliver_policy": "all"}}).encode())
    count = 0
    while count < agents * packets:
        count += len(reader.messages())
    return time.monotonic() - begin


folder = tempfile.mkdtemp(prefix="dpm-scale-")
port = free_port()
with open(folder + "/conf", "w") as file:
    file.write(f'port: {port}\nhost: "127.0.0.1"\njetstream {{ store_dir: "{folder}/store", max_file_store: 8G }}\n')
server = subprocess.Popen(["nats-server", "-c", folder + "/conf"], stderr=subprocess.DEVNULL)
try:
    Nats(port).ask(b"$JS.API.STREAM.CREATE.scale", json.dumps({
        "name": "scale", "subjects": ["dpm.scale.*.packets.>"], "storage": "file", "retention": "limits", "discard": "new",
        "max_bytes": 4 << 30, "max_msgs": -1, "max_consumers": -1, "num_replicas": 1, "duplicate_window": 120 * 10**9,
        "allow_direct": True}).encode())
    total = agents * packets
    print(f"{agents} agents, {total} packets of {size} bytes")
    for name, work in (("published and stored", publish), ("read by one filter", consume)):
        before = cpu_of(server.pid)
        seconds = work(port)
        used = cpu_of(server.pid) - before
        print(f"{name}: {total / seconds:.0f} packets/s, {total * size / seconds / 1e6:.1f} MB/s; server: "
              f"{used / total * 1e6:.1f} us CPU a packet, {memory_of(server.pid):.0f} MiB at most")
finally:
    server.terminate()
    server.wait()
    shutil.rmtree(folder)
