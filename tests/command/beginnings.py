# SPDX-License-Identifier: MIT
# beginnings.py PORT ...: prints the initial position of each direction of TCP connections with these ports that are
# made over IPv4 loopback while it runs: lines of local address, remote address, position. It captures the SYN packets,
# and prints `ready` first.
import ctypes
import socket
import struct
import sys

SYN = 2
# IPv4 packets with protocol TCP (6) and flag SYN. Columns: code, jump if true, jump if false, operand.
FILTER = [
    (0x30, 0, 0, 9),
    (0x15, 0, 3, 6),
    (0x30, 0, 0, 33),
    (0x45, 0, 1, SYN),
    (0x06, 0, 0, 65535),
    (0x06, 0, 0, 0),
]
SO_ATTACH_FILTER = 26
ETH_P_IP = 0x0800


def main():
    ports = set(map(int, sys.argv[1:]))
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in FILTER))
    packets = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_IP))
    described = struct.pack("HP", len(FILTER), ctypes.addressof(program))
    packets.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, described)
    packets.bind(("lo", ETH_P_IP))
    print("ready", flush=True)
    seen = set()
    while True:
        packet = packets.recv(65535)
        source, destination, position = struct.unpack("!HHI", packet[20:28])
        if not ports & {source, destination} or packet in seen:
            continue
        seen.add(packet)  # on loopback each comes twice: going out and coming in
        here, there = socket.inet_ntoa(packet[12:16]), socket.inet_ntoa(packet[16:20])
        print(f"{here}:{source} {there}:{destination} {(position + 1) % 2**32}", flush=True)


main()
