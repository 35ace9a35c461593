#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""adaptation.py DPM SOCKET PROGRAMS GAME USER QUIET: the adaptation controller of the ship game: a process of its own, which
is notified by the monitor, and asks it for changes.

    DPM       the command dpm             SOCKET    of the monitor: dpm view run --control SOCKET
    PROGRAMS  folder of ship-manager      GAME      socket of the queue manager
    USER      process id of the user      QUIET     seconds without a notification after which the sensor is switched off

It prints the port at which it is notified, and then what it does:

    queue of 15   starts a second ship manager, moves it to the first processor, and raises the threshold to 20
    queue of 20   makes the user half as fast, and gives it a nice value
    quiet         switches the sensor off; from then on it probes, three times
"""
import json
import os
import select
import signal
import socket
import subprocess
import sys

dpm, control, programs, game, user, quiet = sys.argv[1:]


def ask(*words):
    answer = subprocess.run([dpm, "view", "control", control, *words], check=True, capture_output=True, text=True).stdout
    return json.loads(answer) if answer else None


def act(*words):
    """An act on a process, with the rights of this one: act.sh."""
    script = os.path.join(os.path.dirname(os.path.realpath(__file__)), "act.sh")
    subprocess.run(["sh", script, *words], check=True, stdout=subprocess.DEVNULL)


def allowed(pid):
    """The processors of a process, as the kernel has them."""
    with open(f"/proc/{pid}/status") as status:
        return next(line.split()[1] for line in status if line.startswith("Cpus_allowed_list"))


def requests():
    """How many requests the central monitor has made of resident monitors."""
    return ask("counts")["requests"]


def count(what, *words):
    before = requests()
    answer = ask(*words)
    print(f"{what}: requests to the resident monitor: {requests() - before}", flush=True)
    return answer


listener = socket.create_server(("127.0.0.1", 0))
print(f"port {listener.getsockname()[1]}", flush=True)
connection, _ = listener.accept()
threshold = 15


def wait():
    """Waits until the queue is as long as the threshold. Returns whether it is; False: it is quiet."""
    if threshold == 20 and ask("views")[0]["rows"][0]["active"]:
        print("the queue is that long already", flush=True)
        return True
    while select.select([connection], [], [], float(quiet))[0] and (line := connection.recv(65536)):
        sizes = [json.loads(text)["values"]["Queuesize"] for text in line.splitlines()]
        print("notified: queue of " + ", ".join(str(size) for size in sizes), flush=True)
        if max(sizes) >= threshold:  # else they were on their way when the threshold was raised
            return True
    return False


while wait():
    if threshold == 15:
        ship = subprocess.Popen([os.path.join(programs, "ship-manager"), game, "50"], stdout=subprocess.DEVNULL)
        act("move", str(ship.pid), "0")
        print(f"it runs on processors {allowed(ship.pid)}", flush=True)
        threshold = 20
        count("second ship manager started, threshold 20", "threshold", "Queue-size", "1", "20")
    else:
        os.kill(int(user), signal.SIGUSR1)
        act("nice", user, "10")
        print(f"its nice value is {os.getpriority(os.PRIO_PROCESS, int(user))}", flush=True)
        threshold = 10000
        count("user slowed down, threshold 10000", "threshold", "Queue-size", "1", "10000")
counts = ask("counts")
print(f"quiet; records of the sensor {counts['records']}, refused in the kernel {counts['refused']}", flush=True)
count("sensor off", "sensor", "Queue-size", "off")
for _ in range(3):
    value = count("probe", "probe", "Queue-manager.Queuesize")["value"]
    print(f"probed: queue of {value:.0f}", flush=True)
