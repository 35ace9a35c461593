# SPDX-License-Identifier: MIT
"""figures_account.py spin | send | totals | check LINES LOG BEFORE AFTER: what the figures of `dpm view run` must agree with.

    spin      uses a processor until SIGTERM, and then prints its own account: wall clock, CPU clock (ns)
    send      20 MB through a connection on 127.0.0.1
    totals    CPU seconds of all processors, and bytes of the interface lo: from the kernel, at this moment
    check     prints a line for each figure that does not agree
"""
import json
import os
import signal
import socket
import sys
import time


def spin():
    ends = []
    signal.signal(signal.SIGTERM, lambda *_: ends.append(True))
    log = []
    while not ends:
        log.append((time.time_ns(), time.process_time_ns()))
        until = time.monotonic() + 0.002
        while time.monotonic() < until:
            pass
    print("\n".join(f"{wall} {cpu}" for wall, cpu in log))


def send():
    listener = socket.create_server(("127.0.0.1", 0))
    one = socket.create_connection(listener.getsockname())
    other, _ = listener.accept()
    for _ in range(2000):
        one.sendall(bytes(10000))
        left = 10000
        while left > 0:
            left -= len(other.recv(left))


def totals():
    columns = [int(word) for word in open("/proc/stat").readline().split()[1:]]
    busy = sum(columns[:3]) + sum(columns[5:8])
    for line in open("/proc/net/dev"):
        if line.split(":")[0].strip() == "lo":
            fields = line.split(":")[1].split()
            print(busy / os.sysconf("SC_CLK_TCK"), int(fields[0]) + int(fields[8]))


def figures(lines, view, name):
    """[(end of the interval, figure)]"""
    return [(line["time"], line["values"][name]) for line in lines if line.get("view") == view and line["values"]]


def check_process(points, log):
    """Each figure against the program's account: just before and just after the ends of the interval."""

    def around(time):
        before = max((cpu for wall, cpu in log if wall <= time), default=log[0][1])
        return before, min((cpu for wall, cpu in log if wall >= time), default=log[-1][1])

    slack = 15_000_000
    points = [point for point in points if log[0][0] <= point[0] <= log[-1][0]]
    if len(points) < 3:
        print(f"only {len(points)} ends of intervals of the process")
        return
    # At each: how much more than in its own account it has used since the first one.
    more, used = [], 0
    for i, (end, figure) in enumerate(points):
        used += figure * (end - points[i - 1][0]) if i > 0 else 0
        before, after = around(end)
        more.append((used - after, used - before))
    # Both clocks are read one after the other, and others may run in between for long: one that is read late is wrong alone.
    agree = max(sum(least <= one[1] + slack and most >= one[0] - slack for least, most in more) for one in more)
    if agree < 2 * len(more) / 3:
        print(f"process.cpu: {agree} of {len(more)} agree with its own account; ms more: "
              f"{[(least / 1e6, most / 1e6) for least, most in more]}")


def check(lines_file, log_file, before_file, after_file):
    lines = [json.loads(line) for line in open(lines_file)]
    log = [tuple(map(int, line.split())) for line in open(log_file)]
    before, after = ([float(word) for word in open(file).read().split()] for file in (before_file, after_file))
    check_process(figures(lines, "Busy", "cpu"), log)
    machine = figures(lines, "Here", "cpu")
    used = sum(figure * (end - begin) / 1e9 for (begin, _), (end, figure) in zip(machine, machine[1:]))
    if not 0 < used <= after[0] - before[0] + 0.05:
        print(f"machine.cpu: {used} s; /proc/stat: {after[0] - before[0]} s")
    least = sum(figure for _, figure in figures(lines, "Net", "traffic")) * 0.2 / 2  # an interval is half as long at least
    if not 0 < least <= after[1] - before[1]:
        print(f"subnet.traffic: {least} bytes or more; /proc/net/dev: {after[1] - before[1]}")


if __name__ == "__main__":
    {"spin": spin, "send": send, "totals": totals, "check": check}[sys.argv[1]](*sys.argv[2:])
