# SPDX-License-Identifier: MIT
"""issos.py: what the experiments share: test hosts, programs that do what they are told, monitors."""
import atexit
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

PATIENCE = 60  # seconds after which something has gone wrong


class World:
    """A folder, and test hosts of scripts/hosts (without names: none), which are gone when the script ends."""

    def __init__(self, build, *names):
        here = os.path.dirname(os.path.realpath(__file__))
        self.build = os.path.realpath(build)
        self.dpm = os.path.join(self.build, "dpm")
        self.programs = os.path.join(self.build, "examples", "issos")
        self.folder = tempfile.mkdtemp(prefix="issos-")
        self.directory = os.path.join(self.folder, "hosts")
        self.hosts = os.path.join(here, "..", "..", "scripts", "hosts")
        self.names = names
        self.started = []
        # only the experiment's own state, not that of the user's sessions
        self.environment = dict(os.environ, HOME=self.folder, XDG_STATE_HOME="", DPM_SOCKET=self.folder + "/none")
        atexit.register(self.leave)
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(1))
        if names:
            subprocess.run([self.hosts, "up", "--owner", str(os.getpid()), self.directory, *names], check=True,
                           stdout=subprocess.DEVNULL)
            self.shared = os.path.join(self.directory, "shared")

    def leave(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
                process.wait()
        if self.names:
            subprocess.run([self.hosts, "down", self.directory], check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, *command, **options):
        process = subprocess.Popen(command, **options)
        self.started.append(process)
        return process

    def command(self, host, *words):
        """The words of a command in a host; host "": on this machine."""
        return [self.hosts, "run", self.directory, host, *words] if host else list(words)

    def file(self, name, text):
        name = os.path.join(self.folder, name)
        with open(name, "w") as file:
            file.write(text)
        return name

    def cpu_time(self, host):
        """Seconds of CPU time that all processes living in a host have taken."""
        lines = subprocess.run(self.command(host, "sh", "-c", "cat /proc/[0-9]*/task/[0-9]*/schedstat"),
                               capture_output=True, text=True).stdout
        return sum(int(line.split()[0]) for line in lines.splitlines()) / 1e9


class Program:
    """A program that does what its standard input says, and answers each line with one."""

    def __init__(self, world, host, *command):
        self.process = world.start(*world.command(host, *command), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   text=True)

    def order(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def answer(self):
        return json.loads(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        return self.process.wait()


class Monitor:
    """dpm view run."""

    def __init__(self, world, name, views, *options):
        self.path = os.path.join(world.folder, name + ".socket")
        self.lines_name = os.path.join(world.folder, name + ".lines")
        self.notes_name = os.path.join(world.folder, name + ".notes")
        self.connection = None
        if world.names:
            options += ("--host", ",".join(world.names), "--rsh", f"ssh -F {world.directory}/ssh_config",
                        "--remote-dpm", world.dpm)
        with open(self.lines_name, "w") as lines, open(self.notes_name, "w") as notes:
            self.process = world.start(world.dpm, "view", "--json", "--control", self.path, *options, "run", views,
                                       stdout=lines, stderr=notes, stdin=subprocess.DEVNULL, env=world.environment,
                                       cwd=world.folder)

    def notes(self):
        with open(self.notes_name) as notes:
            return notes.read()

    def lines(self):
        with open(self.lines_name) as lines:
            return [json.loads(line) for line in lines]

    def connect(self):
        until = time.monotonic() + PATIENCE
        while True:
            end = socket.socket(socket.AF_UNIX)
            try:
                end.connect(self.path)
                break
            except OSError:
                end.close()
                if self.process.poll() is not None or time.monotonic() > until:
                    sys.exit("the monitor does not run: " + self.notes())
                time.sleep(0.05)
        self.connection = end.makefile("rw")
        end.close()

    def ask(self, method, **params):
        """A request of dpm view control. Returns its result; RuntimeError: the monitor refuses."""
        if self.connection is None:
            self.connect()
        self.connection.write(json.dumps({"id": 1, "method": method, "params": params}) + "\n")
        self.connection.flush()
        answer = json.loads(self.connection.readline())
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["result"]

    def probe(self, attribute):
        """The value of an attribute now, by the resident monitor. Waits until there is such an instance."""
        until = time.monotonic() + PATIENCE
        while True:
            try:
                return self.ask("probe", attribute=attribute)["value"]
            except RuntimeError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)

    def settle(self, *attributes):
        """Waits until all that was asked is done, and all that came before it has been handed over: a resident monitor
        answers in order, and does its other work between two answers."""
        for _ in range(2):
            for attribute in attributes:
                self.probe(attribute)

    def end(self):
        """What carrying out the views has taken; see dpm-view(1)."""
        self.process.send_signal(signal.SIGINT)
        if self.process.wait(PATIENCE) != 0:
            sys.exit("the monitor failed: " + self.notes())
        return self.lines()[-1]["end"]


def say(text):
    print(text, flush=True)
