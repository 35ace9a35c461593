#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes synthesised raw records in the layouts of demos.descriptions and bsd.descriptions.

No file of these systems has survived, so nothing here was measured. The program that the records pretend to come from
is a server with clients, each of which sends ROUNDS requests and waits for the answer:

    demos.raw   machine 3: server 20003 (base 16), client 30003; machine 4: client 30004
    bsd.raw     machine 1: server 101 forks 102; client 201; requests of 100 bytes, answers of 1000

Usage: synthesise.py FOLDER [ROUNDS]. Prints what is in the files, as truth for tests: a line FILE KEY VALUE each.
"""
import struct
import sys

SERVER, CLIENTS = 0x20003, {0x30003: 3, 0x30004: 4}


def demos(rounds):
    records = []
    cpu = {}

    def put(machine, kind, time, task, work, *body):
        cpu[task] = cpu.get(task, 0) + work
        records.append((time, struct.pack('<4I', machine, kind, time, cpu[task]) + struct.pack(f'<{len(body)}I', *body)))

    time = 1000
    for number in range(rounds):
        for client, machine in CLIENTS.items():
            put(machine, 1, time, client, 1, client, SERVER, 0, 7, number, 0)      # request
            put(machine, 2, time + 1, client, 1, client)                           # the client waits
            put(3, 4, time + 3, SERVER, 0, client, SERVER, 0, 7)                   # queued at the server
            put(3, 2, time + 3, SERVER, 0, SERVER)
            put(3, 3, time + 4, SERVER, 0, client, SERVER, 0, 7, 0)
            put(3, 1, time + 9, SERVER, 5, SERVER, client, 0, 8, number, 0)        # answer after 5 ms of work
            put(machine, 4, time + 11, client, 0, SERVER, client, 0, 8)
            put(machine, 3, time + 12, client, 0, SERVER, client, 0, 8, 0)
            time += 20
    for client, machine in CLIENTS.items():
        put(machine, 5, time, client, 1, client)
    put(3, 5, time + 1, SERVER, 1, SERVER)
    # the kernels send their records 20 at a time, so those of two machines come in turns
    blocks = {machine: [r for r in records if struct.unpack_from('<I', r[1])[0] == machine] for machine in (3, 4)}
    out = b''
    while any(blocks.values()):
        for machine, block in blocks.items():
            out += b''.join(r[1] for r in block[:20])
            del block[:20]
    requests = rounds * len(CLIENTS)
    return out, {'machines': 2, 'sends': 2 * requests, 'receives': 2 * requests, 'server_cpu_ms': 5 * requests + 1}


def bsd(rounds):
    out = b''
    cpu = {}
    source, destination = 0x8020101000000400, 0x8020102000000017
    start = 452304000 * 1000000  # 2 May 1984, us

    def put(kind, time, process, work, layout, *body):
        nonlocal out
        cpu[process] = cpu.get(process, 0) + work
        body = struct.pack('<II' + layout, process, 0x1000 + 16 * kind, *body)
        out += struct.pack('<IIQII', 1, 24 + len(body), start + time, cpu[process], kind) + body

    put(4, 0, 101, 1, 'Q', destination)
    put(4, 10, 201, 1, 'Q', source)
    put(8, 100, 201, 0, 'QQ', source, destination)
    put(7, 200, 101, 0, 'QQ', source, destination)
    put(6, 300, 101, 1, 'I', 102)
    time = 1000
    for _ in range(rounds):
        put(1, time, 201, 1, 'QQI', source, destination, 100)
        put(2, time + 100, 201, 0, '')
        put(2, time + 200, 102, 0, '')
        put(3, time + 2000, 102, 0, 'QQI', source, destination, 100)
        put(1, time + 52000, 102, 5, 'QQI', destination, source, 1000)
        for part in range(2):  # a stream: the answer is received in two parts
            put(3, time + 54000 + part, 201, 0, 'QQI', destination, source, 500)
        time += 100000
    put(5, time, 201, 0, 'Q', source)
    put(9, time + 10, 201, 1, 'I', 0)
    put(9, time + 20, 102, 1, 'I', 256)
    put(9, time + 30, 101, 1, 'I', 0)
    return out, {'machines': 1, 'sends': 2 * rounds, 'receives': 3 * rounds, 'bytes': 1100 * rounds}


def main():
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    for name, (raw, truth) in {'demos': demos(rounds), 'bsd': bsd(rounds)}.items():
        with open(f'{sys.argv[1]}/{name}.raw', 'wb') as file:
            file.write(raw)
        for key, value in truth.items():
            print(name, key, value)


if __name__ == '__main__':
    main()
