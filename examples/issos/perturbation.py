#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""perturbation.py BUILD_FOLDER [EVENTS [ROUNDS [SEED]]]: what monitoring costs a program, by where the monitor evaluates: in
the sensor, in the resident monitor of the program's machine (local), or in the central one on another machine. Two
generators on the host "sun" (scripts/hosts) assign 0 or 1 to a variable each; the central monitor is outside of that host.
In each round they do so four times, with one way after the other switched on, so that other load disturbs all alike. What is
handed on, as records and messages, has the paper's order in each run: sensor, local, central.

The last line is the result as JSON, for programs."""
import json
import os
import statistics
import sys

from issos import Monitor, Program, World, say

WAYS = {  # the view, and what makes the planner evaluate there: what it costs to send a message to another machine
    "sensor": ("Either", "message subnet 1ms send 100us\nmessage machine 1us send 0us\nreceive 0us\n"),
    "local": ("Greater", "message subnet 1ms send 100us\n"),
    "central": ("Greater", "message subnet 1ms send 0us\n"),
}
ATTRIBUTES = ("generator-1.attribute1", "generator-2.attribute2")

events, rounds, seed = (int(word) for word in (sys.argv[2:] + ["5000", "5", "1993"][len(sys.argv) - 2:]))
world = World(sys.argv[1], "sun")
generators = [Program(world, "sun", os.path.join(world.programs, f"generator-{i}"), str(seed + i)) for i in (1, 2)]
views = os.path.join(os.path.dirname(os.path.realpath(__file__)), "perturbation.view")
monitors = {}
for way, (view, costs) in WAYS.items():
    monitor = Monitor(world, way, views, "--costs", world.file(way + ".costs", "selectivity 0.5\n" + costs))
    monitor.settle(*ATTRIBUTES)
    for each in ("Either", "Greater"):
        monitor.ask("sensor", view=each, on=False)
    monitor.settle(*ATTRIBUTES)
    monitors[way] = monitor

measured = {way: {"elapsed": [], "cpu": [], "host": [], "assignments": 0, "ones": 0, "changes": 0, "messages": 0}
            for way in ("unmonitored", *WAYS)}


def generate(way):
    """Both generators at the same time; adds to what was measured."""
    sums = measured[way]
    monitor = monitors.get(way)
    if monitor:
        monitor.ask("sensor", view=WAYS[way][0], on=True)
        monitor.settle(*ATTRIBUTES)
        messages = monitor.ask("counts")["passed"]
    host = world.cpu_time("sun")
    for generator in generators:
        generator.order(f"assign {events}")
    answers = [generator.answer() for generator in generators]
    if monitor:
        monitor.settle(*ATTRIBUTES)
    sums["host"].append(world.cpu_time("sun") - host)
    sums["elapsed"].append(max(answer["elapsed"] for answer in answers) / 1e9)
    sums["cpu"].append(sum(answer["cpu"] for answer in answers) / 1e9)
    for key in ("assignments", "ones", "changes"):
        sums[key] += sum(answer[key] for answer in answers)
    if monitor:
        sums["messages"] += monitor.ask("counts")["passed"] - messages
        monitor.ask("sensor", view=WAYS[way][0], on=False)
        monitor.settle(*ATTRIBUTES)


for _ in range(rounds):
    for way in measured:
        generate(way)
for way, monitor in monitors.items():
    measured[way].update(monitor.end())
for generator in generators:
    generator.end()

say(f"2 generators, {rounds} rounds of {events} events each, seed {seed}; times are medians of a round")
say(f"{'':12} {'elapsed':>10} {'CPU time':>10} {'CPU time':>10} {'assign-':>8} {'':>8} {'messages':>10} {'handed':>8}")
say(f"{'':12} {'time':>10} {'generators':>10} {'whole host':>10} {'ments':>8} {'records':>8} {'to central':>10} {'on':>8}")
for way, sums in measured.items():
    for key in ("elapsed", "cpu", "host"):
        sums[key] = statistics.median(sums[key])
    sums["handed_on"] = sums.get("records", 0) + sums["messages"]
    say(f"{way:12} {sums['elapsed'] * 1e3:7.1f} ms {sums['cpu'] * 1e3:7.1f} ms {sums['host'] * 1e3:7.1f} ms"
        f" {sums['assignments']:8} {sums.get('records', 0):8} {sums['messages']:10} {sums['handed_on']:8}")
base = measured["unmonitored"]
for way in WAYS:
    sums = measured[way]
    say(f"{way}: {sums['host'] / base['host'] * 100 - 100:.1f}% more CPU time on the host than unmonitored, "
        f"{(sums['cpu'] - base['cpu']) * 1e9 * rounds / sums['assignments']:.0f} ns for each assignment in the generators")
sensor = measured["sensor"]
say(f"The generators assigned 1 {sensor['ones']} times of {sensor['assignments']} "
    f"({sensor['ones'] / sensor['assignments'] * 100:.1f}%), and {sensor['changes']} times another value than before.")
say(f"The sensor made {sensor['records']} records, one for each of these; the kernel refused the other {sensor['refused']}.")
say(json.dumps(measured))
