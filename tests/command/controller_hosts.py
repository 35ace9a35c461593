# SPDX-License-Identifier: MIT
"""controller_hosts.py DPM FOLDER: the paper's session on a pseudo-terminal: a filter on blue, a job on red and green, whose
programs are in FOLDER. Prints the checks that failed."""
import sys

from controller_pty import DPM, Terminal

shared = sys.argv[2]
user = Terminal("--rsh", "./rsh", "--remote-dpm", DPM, "--session", "typed")
user.until("dpm> ")
user.type("filter f1 blue\r", "filter f1 created: process ", "stores in blue:", "dpm> ")
user.type("filter\r", "default", "f1", "blue", "dpm> ")
user.type("newjob foo f1\r", "job foo created: number 1, filter f1", "dpm> ")
user.type(f"addprocess foo red python3 {shared}/server.py\r", "process python3 created on red: number", "dpm> ")
user.type(f"add foo green python3 {shared}/client.py 200\r", "process python3.2 created on green: number", "dpm> ")
user.type("setflags foo send receive fork accept connect\r", "flags of job foo: send,receive,connect,accept,", "dpm> ")
user.type("jobs foo\r", "new", "red", "new", "green", "dpm> ")
user.type("removejob foo\r", "is not removed", "dpm> ")
user.type("stopjob foo\r", "python3@red: stopped before its first instruction", "dpm> ")
user.type("startjob foo\r")
user.all_of("python3@red: ready", "python3.2@green: sent 200", "python3@red: received 200 8000",
            "python3@red of job foo ended: exit status 0", "python3.2@green of job foo ended: exit status 0")
user.type("jobs foo\r", "killed", "red", "killed", "green", "dpm> ")
user.type("removejob foo\r", "job foo removed", "dpm> ")
user.type("getlog f1 typed.log\r", "log of filter f1 copied to typed.log", "dpm> ")
user.type("\x04")
if user.ended() != 0:
    print("the end of a session: the exit status is not 0")
