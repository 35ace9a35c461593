# SPDX-License-Identifier: MIT
# redis_hold.py PORT UNIX_SOCKET: holds connections to a redis server, some of them idle, and executes the lines of
# standard input: `use` sends requests over all but the idle ones and then prints `used`; `info` prints INFO, requested
# on a separate connection, which the first line of output names.
import socket
import sys

port, path = int(sys.argv[1]), sys.argv[2]


def over_tcp():
    return socket.create_connection(("127.0.0.1", port))


def over_unix():
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    return connection


def ask(connection, request, end):
    connection.sendall(request)
    answer = b""
    while not answer.endswith(end):
        piece = connection.recv(65536)
        if not piece:
            sys.exit("the server has closed a connection")
        answer += piece
    return answer.decode()


def use(connections):
    for size in range(1, 20000, 1000):
        for connection in connections:
            ask(connection, b"SET key %s\r\n" % (b"x" * size), b"OK\r\n")


asking = over_tcp()
idle = [over_tcp(), over_unix()]
held = [over_tcp() for _ in range(30)] + [over_unix() for _ in range(30)]
print("asks on 127.0.0.1:%d" % asking.getsockname()[1], flush=True)
for line in sys.stdin:
    if line == "info\n":
        print(ask(asking, b"INFO stats\r\n", b"\r\n"), flush=True)
    else:
        use(held)
        print("used", flush=True)
