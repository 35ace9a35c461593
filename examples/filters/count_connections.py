#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A custom filter in Python: messages and bytes of each connection, while it is being measured.

    dpm acquire --name redis-server --filter 'python3 count_connections.py' --duration 10s

Reads the stream of packets (docs/trace-format.md) from standard input, and writes JSON at its end: for each end of a
connection of a metered process its address and that of the other end, and the messages and bytes that it sent and received.
"""
import collections
import ipaddress
import json
import struct
import sys

PACKET, METADATA = 0xC1FC1FC1, 0x75D11D57
SEND, RECEIVE, PATH, CLASS, END = 1, 4, 19, 39, 22
# types whose records are not 48 bytes long: dpm/record.h
SIZES = {18: 96, PATH: 224, 20: 184, 21: 472, END: 56, 23: 208, 24: 176, 25: 256, 30: 56, 36: 280, 37: 144, 40: 80}
CONTINUED, END_OF_FILE = 1, 32
TCP, UDP = 1, 5


def packets(stream):
    """Yields (uuid, number of the ring, packet number, the bytes of its records)."""
    while True:
        head = stream.read(37)
        if not head:
            return
        magic, = struct.unpack_from('<I', head)
        if magic == METADATA:
            stream.read(struct.unpack_from('<I', head, 28)[0] // 8 - 37)
            continue
        if magic != PACKET:
            raise ValueError('this is not a stream of packets')
        head += stream.read(88 - 37)
        uuid, ring = head[4:20], struct.unpack_from('<I', head, 20)[0]
        content, size, number = (field for field in struct.unpack_from('<3Q', head, 40))
        body = stream.read(size // 8 - 88)
        yield uuid, ring, number, body[:content // 8 - 88]


def endpoint(family, address, port):
    if family not in (2, 10):
        return None
    return f'{ipaddress.ip_address(address[:4 if family == 2 else 16])}:{port}'


def main():
    paths, counts = {}, collections.defaultdict(lambda: [0, 0, 0, 0])
    classes, expected = {}, {}
    total = {'packets': 0, 'records': 0, 'missed_packets': 0}
    for uuid, ring, number, body in packets(sys.stdin.buffer):
        total['packets'] += 1
        total['missed_packets'] += number - expected.get((uuid, ring), 0)
        expected[uuid, ring] = number + 1
        at = 0
        while at < len(body):
            total['records'] += 1
            kind, flags = body[at + 8], body[at + 10] | body[at + 11] << 8
            kind = classes.get((uuid, ring, kind), kind)
            if kind in (SEND, RECEIVE):
                path, _, size = struct.unpack_from('<3I', body, at + 32)
                count = counts[uuid, path]
                side = 0 if kind == SEND else 2
                if size or not flags & END_OF_FILE:
                    count[side] += not flags & CONTINUED
                    count[side + 1] += size
            elif kind == PATH:
                path, protocol, family = struct.unpack_from('<IBB', body, at + 32)
                local_port, remote_port = struct.unpack_from('<2H', body, at + 68)
                if protocol in (TCP, UDP):
                    paths[uuid, path] = (endpoint(family, body[at + 72:at + 88], local_port),
                                         endpoint(family, body[at + 88:at + 104], remote_port))
            elif kind == CLASS:
                number_of_class, type_of_class = struct.unpack_from('<2I', body, at + 32)
                classes[uuid, ring, number_of_class] = type_of_class
            at += SIZES.get(kind, 48)
    total['connections'] = [
        {'local': paths[key][0], 'remote': paths[key][1], 'sent': count[0], 'bytes_sent': count[1],
         'received': count[2], 'bytes_received': count[3]}
        for key, count in sorted(counts.items(), key=lambda item: -sum(item[1])) if key in paths]
    json.dump(total, sys.stdout, indent=1)
    print()


if __name__ == '__main__':
    main()
