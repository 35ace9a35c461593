#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""back_end.py: a server of HTTP requests that asks a database, and counts what it sends and receives.

usage: back_end.py PORT DATABASE_HOST DATABASE_PORT SECONDS

Answers "GET /PATH" with the text that the query "select ..." gives. Before it answers, it rests SECONDS. Connections are
kept, each with a thread of its own; those to postgres are made first. "GET /counts" gives its counts, as JSON; it is not
counted. What it counts, for its clients and for the database: messages, that is calls of send, and calls of recv that
gave something; and bytes.
"""
import json
import queue
import socket
import struct
import sys
import threading
import time

port, database_host, database_port, rest = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
counts = {side: {way: {"messages": 0, "bytes": 0} for way in ("sent", "received")} for side in ("client", "database")}
queries = 0
lock = threading.Lock()


class Counted:
    """A connection whose messages are counted."""

    def __init__(self, connection, side):
        self.connection, self.side, self.left = connection, side, b""
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def note(self, way, size):
        with lock:
            counts[self.side][way]["messages"] += 1
            counts[self.side][way]["bytes"] += size

    def send(self, data):
        assert self.connection.send(data) == len(data)
        self.note("sent", len(data))

    def receive(self):
        data = self.connection.recv(65536)
        if data:
            self.note("received", len(data))
        self.left += data
        return data != b""

    def take(self, size):
        while len(self.left) < size:
            if not self.receive():
                raise ConnectionError("the connection ends in a message")
        taken, self.left = self.left[:size], self.left[size:]
        return taken


class Database(Counted):
    """A connection to postgres: its protocol 3.0, without a password."""

    def __init__(self):
        super().__init__(socket.create_connection((database_host, database_port)), "database")
        words = b"user\0postgres\0database\0postgres\0\0"
        self.send(struct.pack("!II", 8 + len(words), 196608) + words)
        self.until_ready()

    def until_ready(self):
        value = None
        while True:
            kind, size = struct.unpack("!cI", self.take(5))
            body = self.take(size - 4)
            if kind == b"E":
                raise RuntimeError(body)
            if kind == b"D":
                value = body[6:]
            if kind == b"Z":
                return value

    def ask(self, query):
        global queries
        with lock:
            queries += 1
        text = query.encode() + b"\0"
        self.send(b"Q" + struct.pack("!I", 4 + len(text)) + text)
        return self.until_ready()


def answer(connection):
    data = b""
    while b"\r\n\r\n" not in data:
        got = connection.recv(65536)
        if not got:
            return
        data += got
    if data.startswith(b"GET /counts"):
        with lock:
            body = json.dumps(counts | {"queries": queries}).encode()
        connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        return
    client = Counted(connection, "client")
    client.note("received", len(data))
    client.left = data
    while True:
        while b"\r\n\r\n" not in client.left:
            if not client.receive():
                return
        path, client.left = client.left.split(b"\r\n\r\n", 1)
        database = pool.get()
        body = database.ask("select * from answer(%d)" % len(path.split(b" ")[1]))
        pool.put(database)
        time.sleep(rest)
        client.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))


def serve(connection):
    with connection:
        answer(connection)


pool = queue.Queue()
for number in range(4):
    pool.put(Database())
listener = socket.create_server(("", port), backlog=100)
print("ready", flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
