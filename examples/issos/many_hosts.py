#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""many_hosts.py BUILD_FOLDER [MACHINES]: the job load of many machines (120), and the communication load of their subnets,
on line: dpm view load. The machines are simulated: this script publishes what the agent of each would. It changes their
load and traffic, and shows that what comes to the central monitor stays the same.

The last line is the result as JSON, for programs."""
import json
import os
import socket
import subprocess
import sys
import time

from issos import PATIENCE, World, say

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "tests", "programs"))
from many_agents import Agents  # noqa: E402

PHASES = (  # name, job load, bytes per second that a machine sends
    ("at rest", lambda agent: 0.1, lambda agent: 1000.0),
    ("one subnet is busy", lambda agent: 0.1, lambda agent: 5e6 if agent % 4 == 2 else 1000.0),
    ("all compute", lambda agent: 4.0 + agent / 100, lambda agent: 1000.0),
    ("all compute and send", lambda agent: 4.0 + agent / 100, lambda agent: 5e6),
)

count = int(sys.argv[2]) if len(sys.argv) > 2 else 120
world = World(sys.argv[1])


def wait(what, condition):
    until = time.monotonic() + PATIENCE
    while not (done := condition()):
        if time.monotonic() > until:
            sys.exit(f"{what}: not within {PATIENCE} s")
        time.sleep(0.02)
    return done


def answers():
    try:
        return socket.create_connection(("127.0.0.1", port))
    except OSError:
        return None


with socket.create_server(("127.0.0.1", 0)) as free:
    port = free.getsockname()[1]
store = os.path.join(world.folder, "store")
configuration = world.file("nats.conf", f'host: 127.0.0.1\nport: {port}\njetstream {{ store_dir: "{store}" }}\n')
world.start("nats-server", "-c", configuration, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
wait("nats-server", answers).close()
tables_name = os.path.join(world.folder, "tables")
with open(tables_name, "w") as file:
    load = world.start(world.dpm, "view", "--fabric", f"nats://127.0.0.1:{port}", "--every", "100ms", "--json", "load",
                       stdout=file, env=world.environment)


def tables():
    with open(tables_name) as file:
        return [json.loads(line) for line in file if line.endswith("\n")]


wait("dpm view load", tables)  # its streams are there
agents = Agents(port, count)
result = []
read = 0
for number, (name, job_load, sent) in enumerate(PHASES):
    agents.send(number, job_load, sent)

    def complete():
        """The table that has the last summary of each machine."""
        last = tables()[-1]
        return last if len(last["machines"]) == count and all(row["processes"] == 2 + number
                                                              for row in last["machines"]) else None

    table = wait(name, complete)
    seen = tables()
    came = seen[read:]
    read = len(seen)
    highest = max(table["machines"], key=lambda row: row["job_load"])
    subnets = [{"subnet": row["subnet"], "machines": row["machines"], "sent": row["sent_bytes_per_s"]} for row in table["subnets"]]
    result.append({"name": name, "machines": len(table["machines"]), "subnets": subnets,
                   "load": sum(row["job_load"] for row in table["machines"]),
                   "right": sum(abs(row["job_load"] - job_load(int(row["machine"][1:]))) < 1e-6 and
                                abs(row["sent_bytes_per_s"] - sent(int(row["machine"][1:]))) < 1
                                for row in table["machines"]),
                   "messages": sum(row["summaries"] for row in came), "bytes": sum(row["bytes"] for row in came)})
    say(f"{name}: {len(table['machines'])} machines, mean job load {result[-1]['load'] / count:.2f}, "
        f"highest {highest['job_load']:.2f} on {highest['machine']}")
    for row in subnets:
        say(f"    {row['subnet']:14} {row['machines']:3} machines {row['sent'] / 1e6:9.3f} MB/s sent")
    say(f"    to the central monitor came {result[-1]['messages']} messages, {result[-1]['bytes']} bytes")
say(json.dumps(result))
