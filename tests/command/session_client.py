#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""session_client.py SOCKET CASE ...: says to dpmd what dpm never would, and prints one line for each case:
CASE: RESULT TEXT, where RESULT is that of dpmd's reply (0, or a negative errno); "closed" if dpmd ends the session without one.
The messages are those of src/meter/shared/session_protocol.h, written a second time."""
import array
import os
import random
import socket
import struct
import sys
import time

REQUEST_SIZE = 2576
REPLY_SIZE = 568
VERSION = 2
OPEN, MARK, ACQUIRE, BEGIN, CHANGE, LOOK, NOTE, SWEEP, PROCESSES, REPORT, DETACH, LAST = range(1, 13)
SEND, PIPE = 1 << 1, 8  # a flag, a kind


def connect():
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.settimeout(30)
    connection.connect(sys.argv[1])
    return connection


def request(operation, content=b"", version=VERSION):
    return (struct.pack("=II", version, operation) + content).ljust(REQUEST_SIZE, b"\0")


def change(flags=0, kinds=0, leaves=0):
    """What all processes record from now on."""
    return struct.pack("=QQIIII", 0, flags, 0, kinds, leaves, 1)


def send(connection, message, descriptors=()):
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
    try:
        connection.sendmsg([message], rights)
    except BrokenPipeError:
        pass  # refused already: the reply is there


def receive(connection):
    """The reply, as printed, and the descriptors that came with it."""
    try:
        reply, rights, _, _ = connection.recvmsg(REPLY_SIZE, 64)
    except ConnectionResetError:
        return "closed", []
    if len(reply) != REPLY_SIZE:
        return "closed" if not reply else f"{len(reply)} bytes", []
    descriptors = array.array("i")
    for _, _, content in rights:
        descriptors.frombytes(content)
    result = struct.unpack_from("=i", reply, 4)[0]
    return f"{result} {reply[-512:].split(bytes(1))[0].decode()}".rstrip(), list(descriptors)


def exchange(connection, message, descriptors=()):
    send(connection, message, descriptors)
    return receive(connection)[0]


def open_session(selects=0, whole=False):
    """A connection, the reply, and the rings, which are small; with `selects`, then the memory of selection rules. Only
    with `whole` the meter has all hooks, which take long to load."""
    connection = connect()
    flags, kinds = (0, 0) if whole else (SEND, PIPE)
    send(connection, request(OPEN, struct.pack("=QQIIII", flags, 0, kinds, 0, 1 << 20, selects)))
    return connection, *receive(connection)


def opened(whole=False):
    """A session whose rings are given back. It waits until an earlier one has ended."""
    for _ in range(1200):
        connection, reply, rings = open_session(whole=whole)
        for ring in rings:
            os.close(ring)
        if reply.startswith("0"):
            return connection
        time.sleep(0.05)
    raise RuntimeError(reply)


def once(message, descriptors=()):
    return exchange(connect(), message, descriptors)


def case_short():
    return once(b"\1")


def case_empty():
    connection = connect()
    send(connection, b"")
    return receive(connection)[0]


def case_long():
    return once(request(OPEN) + bytes(1))


def case_version():
    return once(request(OPEN, version=1))


def case_operation():
    return once(request(13))


def case_flags():
    return once(request(OPEN, struct.pack("=QQIII", 1 << 63, 0, 0, 0, 0)))


def case_later_flags():
    return once(request(OPEN, struct.pack("=QQIII", 0, 1 << 63, 0, 0, 0)))


def case_kinds():
    return once(request(OPEN, struct.pack("=QQIII", 0, 0, 1 << 31, 0, 0)))


def case_later_kinds():
    return once(request(OPEN, struct.pack("=QQIII", 0, 0, 0, 1 << 31, 0)))


def case_ring():
    return once(request(OPEN, struct.pack("=QQIII", 0, 0, 0, 0, 65 << 20)))


def case_first():
    return once(request(LOOK))


def case_descriptors():
    return once(request(OPEN), [0, 0])


def case_many():
    """As many descriptors as the kernel passes on."""
    return once(request(OPEN), [0] * 253)


def case_in_session():
    connection = opened(whole=True)
    child = os.fork()
    if child == 0:
        os._exit(0)
    process = os.pidfd_open(child)
    os.waitpid(child, 0)
    with open("/dev/null", encoding="ascii") as file:
        answers = [exchange(connection, request(OPEN)), exchange(connection, request(LAST)),
                   exchange(connection, request(CHANGE, change(flags=1 << 63))),
                   exchange(connection, request(CHANGE, change(kinds=16))),
                   exchange(connection, request(CHANGE, change(kinds=1))),
                   exchange(connection, request(MARK), [file.fileno()]), exchange(connection, request(ACQUIRE), [file.fileno()]),
                   exchange(connection, request(MARK), [process])]
    return "\n".join(answers)


def case_without_pidfd():
    connection = opened()
    return exchange(connection, request(MARK))


def case_others():
    connection = opened()
    process = os.pidfd_open(int(os.environ["OTHERS_PROCESS"]))
    return exchange(connection, request(ACQUIRE), [process])


def case_all():
    return exchange(opened(), request(ACQUIRE, change()))


def case_default():
    """The size of a data ring that is not asked for."""
    connection = connect()
    connection.sendmsg([request(OPEN)])
    reply = connection.recv(REPLY_SIZE)
    return str(max(struct.unpack_from("=II", reply, 24)))


def case_hold():
    """A session until it is killed. (Its line comes when the session has begun.)"""
    connection = opened()
    print("hold: held", flush=True)
    time.sleep(600)
    return connection.fileno()


def case_random():
    """Requests in any order, with random content."""
    seed = int(os.environ.get("DPM_SEED", time.time_ns()))
    print(f"# DPM_SEED={seed}", file=sys.stderr)
    numbers = random.Random(seed)
    connection = opened(whole=True)
    process = os.pidfd_open(os.getpid())
    for _ in range(200):
        operation = numbers.choice([MARK, ACQUIRE, BEGIN, CHANGE, LOOK, NOTE, SWEEP, PROCESSES, REPORT, LAST, OPEN])
        named = operation in (MARK, ACQUIRE)
        content = numbers.randbytes(numbers.choice([0, 8, 64, 2560]))
        if operation == NOTE:
            content = struct.pack("=II", numbers.randrange(65), 0) + numbers.randbytes(2560)
        elif operation == CHANGE:
            content = change(numbers.choice([0, 1, 0xFFFF, numbers.getrandbits(64), (1 << 64) - 1]),
                             numbers.choice([0, 1, 63, numbers.getrandbits(32)]), numbers.choice([0, 0, 0, 1]))
        send(connection, request(operation, bytes(32) if named else content), [process] if named else [])
        reply, descriptors = receive(connection)
        for descriptor in descriptors:
            os.close(descriptor)
        if reply == "closed":
            return f"closed after operation {operation}"
    last = [exchange(connection, request(operation, numbers.randbytes(24))) for operation in (DETACH, LAST)]
    return f"answered {last[0]} {last[1]}"


def case_sockets():
    connection = opened()
    return exchange(connection, request(NOTE, struct.pack("=I", 65)))


def case_after_detach():
    connection = opened()
    answers = [exchange(connection, request(operation)) for operation in (DETACH, SWEEP, LAST, REPORT)]
    return " | ".join(answers)


def case_flood_of_sockets():
    """Notes new sockets until dpmd refuses."""
    connection = opened(whole=True)
    network = os.stat("/proc/self/ns/net").st_ino
    path = 1
    for _ in range(100000):
        sockets = b"".join(struct.pack("=IIQQQII", path + i, network, path + i, 0, 0, 0, 0) for i in range(64))
        path += 64
        reply = exchange(connection, request(NOTE, struct.pack("=II", 64, 0) + sockets))
        if reply != "0":
            return reply
    return "no limit"


def case_kept_rings():
    """Keeps the rings of ended sessions, or only the memory of selection rules: they still count. At last it gives them
    back."""
    kept = []
    reply = "0"
    while reply.startswith("0") and len(kept) < 10:
        connection, reply, rings = open_session(selects=len(kept) % 2)
        if len(kept) % 2:
            for ring in rings[:2]:
                os.close(ring)
            rings = rings[2:]
        kept.append(rings)
        connection.close()
    for rings in kept:
        for ring in rings:
            os.close(ring)
    opened()
    return f"{len(kept) - 1} | {reply} | then one more"


def case_slow_to_close():
    """Passes a socket that takes a minute to close. dpmd is stopped meanwhile, so that it is the last to have it."""
    listener = socket.create_server(("127.0.0.1", 0))
    slow = socket.create_connection(listener.getsockname())
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 60))
    slow.setblocking(False)
    try:
        while True:
            slow.send(bytes(1 << 20))
    except BlockingIOError:
        pass
    send(connect(), request(OPEN), [slow.fileno()])
    if os.fork() > 0:
        time.sleep(0.5)
        os._exit(0)  # the listener lives on: with it all would be closed at once
    slow.close()
    os.close(1)
    time.sleep(30)
    return "over"


def case_refused():
    """What a peer is told that asks for more than it may have; it has sent its request before, and after."""
    held = opened()
    answers = []
    for wait in (0, 0.3):
        connection = connect()
        time.sleep(wait)
        send(connection, request(OPEN))
        answers.append(receive(connection)[0])
    held.close()
    return " | ".join(answers)


def main():
    for case in sys.argv[2:]:
        print(f"{case}: {globals()['case_' + case]()}", flush=True)


main()
