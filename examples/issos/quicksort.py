#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""quicksort.py BUILD_FOLDER [NUMBERS [SEED]]: the distributed quicksort, with the view of the paper. A queue manager and two
workers on each of the hosts "sun" and "pyramid" (scripts/hosts) sort an array. Both queues get long, and the view fires.

The planner chooses plan 2 of the paper: a sensor at queue 2 reports when that is over its limit; only then is queue 1
probed, and watched. What the monitor did is compared with the programs' own accounts.

The last line is the result as JSON, for programs."""
import array
import bisect
import json
import os
import random
import re
import socket
import struct
import subprocess
import sys
import threading
import time

from issos import Monitor, PATIENCE, Program, World, say

LIMIT = 24
HOSTS = ("sun", "pyramid")  # of queues 1 and 2
HERE = os.path.dirname(os.path.realpath(__file__))

count, seed = (int(word) for word in (sys.argv[2:] + ["1000000", "1993"][len(sys.argv) - 2:]))
world = World(sys.argv[1], *HOSTS)
result = {}

# ---- who is notified ----

listener = socket.create_server(("127.0.0.1", 0))
notified = []


def receive():
    connection, _ = listener.accept()
    for line in connection.makefile():
        notified.append(dict(json.loads(line), came=time.time_ns()))


threading.Thread(target=receive, daemon=True).start()
with open(os.path.join(HERE, "quicksort.view")) as file:
    views = world.file("quicksort.view", file.read().replace("PORT", str(listener.getsockname()[1])))

# ---- the plan ----

costs = os.path.join(HERE, "quicksort.costs")
plans = [json.loads(line) for line in subprocess.run(
    [world.dpm, "view", "--costs", costs, "--json", "explain", views], check=True, capture_output=True,
    text=True).stdout.splitlines()]
chosen = plans[0]["groups"][0]
say(f"{plans[0]['plans']:.0f} plans, {plans[0]['feasible']:.0f} keep the meaning, {plans[0]['in_time']:.0f} are in time. Chosen:")
for part in chosen["instances"]:
    say(f"    {part['instance']}: {part['collection']}, condition evaluated in the {part['evaluated']}")
result["plan"] = [part["collection"] + " " + part["evaluated"] for part in chosen["instances"]]
say(f"    values at most {chosen['window'] / 1e6:.2f} ms apart (25 are allowed), notified after {chosen['notice'] / 1e6:.2f} ms"
    " (1000), with the paper's costs")

# ---- the program, and the monitor ----

logs = [os.path.join(world.shared, name) for name in ("queue1", "queue2", "worker1", "worker2", "worker3", "worker4")]
chance = random.Random(seed)
numbers = array.array("i", (chance.randrange(-2**31, 2**31) for _ in range(count)))
array_file = os.path.join(world.shared, "array")
with open(array_file, "wb") as file:
    file.write(struct.pack("=II", count, 0))
    numbers.tofile(file)

monitor = Monitor(world, "quicksort", views, "--object", "QueueManager=sort-queue", "--object", "Sort=sort-worker",
                  "--costs", world.file("run.costs", "place QueueManager[2] pyramid selectivity 0.01\n"))
monitor.connect()
queues = []
for i in range(2):  # one after the other: instances are numbered as they appear
    queues.append(Program(world, HOSTS[i], os.path.join(world.programs, "sort-queue"), "7001", logs[i]))
    monitor.probe(f"QueueManager[{i + 1}].queuesize")
workers = [Program(world, HOSTS[i % 2], os.path.join(world.programs, "sort-worker"), array_file, "3", logs[2 + i],
                   f"{HOSTS[i % 2]}:7001", f"{HOSTS[1 - i % 2]}:7001") for i in range(4)]
monitor.settle(*(f"Sort[{i + 1}].requestDuration" for i in range(4)))
before = monitor.ask("counts")["requests"]

# the whole array is the first range
subprocess.run(world.command(HOSTS[0], "python3", "-c", "import socket, struct; socket.create_connection(('sun', 7001))"
                             f".sendall(struct.pack('=II', 0, {count}))"), check=True)


def in_place():
    with open(array_file, "rb") as file:
        return struct.unpack("=II", file.read(8))[1]


until = time.monotonic() + PATIENCE
while in_place() < count:
    if time.monotonic() > until:
        sys.exit("the program does not end")
    time.sleep(0.05)
monitor.settle("QueueManager[1].queuesize", "QueueManager[2].queuesize")
requests = monitor.ask("counts")["requests"] - before
settled = 4  # probes of settle
for program in workers + queues:
    program.end()
end = monitor.end()
lines = monitor.lines()

# ---- what the programs say ----


def account(name):
    with open(name) as file:
        rows = [line.split() for line in file]
    return [int(row[0]) for row in rows], [int(row[1]) for row in rows]


queue_times, queue_sizes = zip(*(account(name) for name in logs[:2]))
durations = [duration for name in logs[2:] for duration in account(name)[1]]
with open(array_file, "rb") as file:
    file.read(8)
    found = array.array("i")
    found.fromfile(file, count)
result["sorted"] = list(found) == sorted(numbers)
over = [size > LIMIT for size in queue_sizes[1]]
result["crossings"] = sum(one != other for one, other in zip([False] + over, over))
result["requests"] = requests - settled
result["changes"] = [len(sizes) for sizes in queue_sizes]
result["seen"] = end["hits"] - len(queue_sizes[1]) - len(durations)
result["lost"] = end["lost"]
say(f"{count} numbers were sorted {'rightly' if result['sorted'] else 'WRONGLY'}, in {len(durations)} requests; the queues had up "
    f"to {max(queue_sizes[0])} and {max(queue_sizes[1])} ranges.")
say(f"Queue 2 crossed its limit of {LIMIT} {result['crossings']} times; the central monitor made {result['requests']} requests: "
    "probe queue 1, or leave it alone.")
say(f"Queue 1 changed {result['changes'][0]} times; its sensor saw {result['seen']} of these: only while queue 2 was over its limit.")

# ---- whether the notifications are right ----


def size_about(queue, when, slack):
    """The sizes that a queue had between `slack` ns before and after this time."""
    times, sizes = queue_times[queue], queue_sizes[queue]
    first = max(bisect.bisect_right(times, when - slack) - 1, 0)
    last = bisect.bisect_right(times, when + slack)
    return set(sizes[first:last]) or {0}


def distance_over(queue, when):
    """ns from this time to the nearest one at which the queue was over its limit."""
    times, sizes = queue_times[queue], queue_sizes[queue]
    spans = [(times[i], times[i + 1] if i + 1 < len(times) else when) for i in range(len(times)) if sizes[i] > LIMIT]
    return min((max(begin - when, when - end, 0) for begin, end in spans), default=None)


# times of hosts are as right as dpm says that it knows their clocks
slack = int((max(float(bound) for bound in re.findall(r"its clock is .*, to ([\d.]+) ms", monitor.notes())) + 0.5) * 1e6)
active = [line for line in lines if line.get("view") == "Both-Queue-Limits-Exceeded" and line["change"] == "active"]
result["active"] = len(active)
result["notified"] = len(notified)
result["late"] = sum(receiver["late"] for receiver in end["notifications"])
result["right"] = sum(line["values"]["thisqueuesize"] > LIMIT and
                      line["values"]["thisqueuesize"] in size_about(0, line["time"], slack) for line in active)
apart = [distance_over(1, line["time"]) for line in active]
result["apart_ms"] = None if not apart or None in apart else max(apart) / 1e6
for line in notified:
    say(f"notified: queue 1 has {line['values']['thisqueuesize']:.0f} ranges; {(line['came'] - line['time']) / 1e6:.0f} ms after it had")
say(f"The view became active {len(active)} times; {result['right']} times queue 1 had that size by its own account (to "
    f"{slack / 1e6:.1f} ms, as clocks are known), and queue 2 was over its limit then, or at most {result['apart_ms']} ms before "
    f"or after. {result['late']} notifications were sent later than WITHIN 1000 ms.")
slow = [line["values"]["duration"] for line in lines if line.get("view") == "Slow-Request" and line["change"] != "inactive"]
result["slow"] = len(slow)
result["slow_by_account"] = sum(duration > 6_000_000 for duration in durations)
result["slow_right"] = sum(duration in durations for duration in slow)
say(f"{len(slow)} requests took more than 6 ms; by the workers' own accounts {result['slow_by_account']}.")
say(json.dumps(result))
