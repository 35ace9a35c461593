#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""balance.py BUILD_FOLDER: the ship game without a central queue. On each of the hosts "sea1" and "sea2" (scripts/hosts) a
queue manager, a ship manager that carries out 33 commands a second, and users who send 25 a second: two on sea1, one on
sea2. So the queue of sea1 grows.

First the central monitor judges the balance, and notifies. The adaptation controller, which is this script, starts a
second ship manager on sea1 and switches the sensors off. From then on it judges by itself, and probes the queues.

The last line is the result as JSON, for programs."""
import json
import os
import socket
import subprocess
import sys
import time

from issos import Monitor, PATIENCE, World, say

SEAS = ("sea1", "sea2")
USERS = (2, 1)
ATTRIBUTES = ("Queue-manager[1].Queuesize", "Queue-manager[2].Queuesize")

world = World(sys.argv[1], *SEAS)
listener = socket.create_server(("127.0.0.1", 0))
listener.settimeout(PATIENCE)
with open(os.path.join(os.path.dirname(os.path.realpath(__file__)), "balance.view")) as file:
    views = world.file("balance.view", file.read().replace("PORT", str(listener.getsockname()[1])))


def start(sea, program, *words, **options):
    return world.start(*world.command(SEAS[sea], os.path.join(world.programs, program),
                                      os.path.join(world.shared, SEAS[sea]), *words), **options)


monitor = Monitor(world, "balance", views, "--object", "Queue-manager=queue-manager")
monitor.connect()
queues = []
for sea in range(2):  # one after the other: instances are numbered as they appear
    queues.append(start(sea, "queue-manager", stdout=subprocess.PIPE, text=True))
    monitor.probe(ATTRIBUTES[sea])
for sea in range(2):
    start(sea, "ship-manager", "30")
    for _ in range(USERS[sea]):
        start(sea, "ship-user", "40", stderr=subprocess.DEVNULL)

# ---- judged by the central monitor ----

connection, _ = listener.accept()
connection.settimeout(PATIENCE)
notified = json.loads(connection.makefile().readline())["values"]
say(f"notified: queues of {notified['one']:.0f} and {notified['two']:.0f} commands")
longer = 0 if notified["one"] > notified["two"] else 1
start(longer, "ship-manager", "30")
say(f"started a second ship manager on {SEAS[longer]}")

# ---- judged by probing ----

monitor.ask("sensor", view="Unbalanced", on=False)
monitor.settle(*ATTRIBUTES)
passed = monitor.ask("counts")["passed"]
probes = []
until = time.monotonic() + PATIENCE
while not probes or abs(probes[-1][0] - probes[-1][1]) > 2:
    if time.monotonic() > until:
        sys.exit(f"the queues do not become balanced: {probes[-1]}")
    time.sleep(0.1 if probes else 0)
    probes.append([round(monitor.probe(attribute)) for attribute in ATTRIBUTES])
say("sensors off; probed instead: " + ", ".join(f"{one} and {two}" for one, two in probes))
passed = monitor.ask("counts")["passed"] - passed

for sea in SEAS:
    subprocess.run(world.command(sea, "pkill", "-USR2", "-x", "ship-user"), check=True)
accounts = [queue.communicate(timeout=PATIENCE)[0].split() for queue in queues]
for sea, account in zip(SEAS, accounts):
    say(f"{sea}: " + " ".join(account))
monitor.end()
say(json.dumps({"notified": notified, "longer": SEAS[longer], "probes": probes, "records_while_off": passed,
                "taken": [int(account[2]) for account in accounts], "given": [int(account[4].rstrip(",")) for account in accounts],
                "most": [int(account[-1]) for account in accounts]}))
