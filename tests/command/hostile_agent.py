# SPDX-License-Identifier: MIT
"""hostile_agent.py MODE: in place of a remote shell and `dpm agent`: takes the controller's hello at standard input, speaks NATS
as the agent would, and answers requests with what no agent would answer. MODE:

    create   process.create: a wrong answer each time, in the order of ANSWERS; a right one at the end
    version  its answer line is of another version of the control protocol
    reply    its replies are
    notices  process.create is answered; wrong notices follow, and a right one
    full     its recording ends by itself, for its disk is full, and has missed messages; its process ends in order
    stuck    its recording cannot be ended; its process ends in order
    busy     before it answers recording.acquire, no metered process lives, and then one does again; its recording cannot be ended before there
             is the file `asked`
    rigid    flags cannot be set
    deaf     its recording cannot be ended; its process writes a line, and gets no signal
    noise    prints something else
"""
import json
import os
import sys
import time

MODE = sys.argv[1]
ANSWERS = [
    "no JSON",
    "[]",
    '{"jsonrpc":"2.0","dpm":1,"id":ID}',
    '{"jsonrpc":"2.0","dpm":1,"id":ID,"result":{},"error":{"code":1,"message":"x"}}',
    '{"jsonrpc":"2.0","dpm":1,"id":ID,"error":{"code":"x"}}',
    '{"jsonrpc":"2.0","dpm":1,"id":ID,"error":{"code":-32000,"message":"\\u001b[2Jtwo\\nlines"}}',
    '{"jsonrpc":"2.0","dpm":1,"id":99999999,"result":{"pid":5}}',
    '{"jsonrpc":"2.0","dpm":1,"id":ID,"result":null}',
    '{"jsonrpc":"2.0","dpm":1,"id":ID,"result":{"pid":"5"}}',
    '{"jsonrpc":"2.0","dpm":1,"id":ID,"result":{"pid":-1}}',
    '{"jsonrpc":"2.0","dpm":1,"id":ID,"result":{"pid":99999999999999}}',
    '{"jsonrpc":"2.0","dpm":1,"id":ID,"result":' + "[" * 100000 + "}",
    '{"jsonrpc":"2.0","dpm":1,"id":ID,"result":{"pid":4000000}}',
]
NOTICES = [
    ("process.ended", {}),
    ("process.ended", {"pid": 4000000, "status": "x"}),
    ("process.ended", {"pid": 4000000, "signal": 1000000}),
    ("process.stopped", []),
    ("process.ended", {"pid": 1, "status": 0}),
    ("note", {"text": "\x1b[2Jred"}),
    ("recording.ended", {}),
    ("process.ended", {"pid": 4000000, "status": 5}),
]


# What is said when a process is started, or acquired.
ENDED = ("process.ended", {"pid": 4000000, "status": 0})
STARTED = {
    "notices": NOTICES,
    "full": [("recording.ended", {"recording": "RECORDING", "reason": "disk", "message": "no space left"}), ENDED],
    "stuck": [ENDED],
    "busy": [("recording.idle", {"recording": "RECORDING"}), ("recording.busy", {"recording": "RECORDING"})],
}
REFUSED = {"stuck": ["recording.end"], "rigid": ["recording.flags"], "deaf": ["recording.end", "process.signal"]}


def send(data):
    os.write(1, data if isinstance(data, bytes) else data.encode())


def publish(subject, text):
    send(f"PUB {subject} {len(text.encode())}\r\n{text}\r\n")


def line():
    text = b""
    while not text.endswith(b"\n"):
        byte = os.read(0, 1)
        if not byte:
            sys.exit(0)
        text += byte
    return text.decode().strip()


def exactly(size):
    data = b""
    while len(data) < size:
        data += os.read(0, size - len(data)) or sys.exit(0)
    return data


def result_of(method, agent):
    """What a right agent answers."""
    if MODE == "full" and method in ("recording.state", "recording.end"):
        state = {"begun": True, "caught_up": True, "reason": "disk", "records": 1, "lost": 0}
        return state if method == "recording.state" else {"trace": state, "notes": [1, "\x1b[2J2 messages are missed"]}
    return {
        "hello": {"host": "evil", "machine_id": "0" * 32, "boot_id": "x", "user": "x", "version": "x", "processors": 1},
        "recording.open": {"meter": "kernel", "notes": [] if MODE in ("busy", "deaf") else [1, None, "\x1b[2Jnote"]},
        "program.find": {"directory": "/", "path": "/bin/true"},
        "recording.acquire": {"processes": 1, "unsettled": 0, "notes": []},
        "recording.state": {"begun": False},
        "process.list": {"processes": [1, {"pid": 4000000}, {"pid": 4000001, "recording": agent["recording"], "command": "\x1b[2J/\x1b[2J",
                                                              "state": "new"}]},
    }.get(method, {})


def say_started(agent):
    for name, said in STARTED.get(MODE, []):
        text = json.dumps({"jsonrpc": "2.0", "dpm": 1, "method": name, "params": said})
        publish(agent["subject"] + ".notice", text.replace("RECORDING", agent["recording"]))


def answer(reply, request, agent):
    method, number = request["method"], request["id"]
    params = request.get("params") or {}
    agent["recording"] = params.get("recording", agent["recording"])
    text = json.dumps({"jsonrpc": "2.0", "dpm": 2 if MODE == "reply" else 1, "id": number, "result": result_of(method, agent)})
    if method == "process.create":
        text = ANSWERS[agent["created"] if MODE == "create" else -1].replace("ID", str(number))
        agent["created"] += 1
    if method in REFUSED.get(MODE, []) or (MODE == "busy" and method == "recording.end" and not os.path.exists("asked")):
        text = json.dumps({"jsonrpc": "2.0", "dpm": 1, "id": number, "error": {"code": -32000, "message": "no space left"}})
    if MODE == "busy" and method == "recording.acquire":
        say_started(agent)
        time.sleep(5)  # so the controller has both when it has the answer
    publish(reply, text)
    if MODE == "deaf" and method == "process.start":
        publish(agent["subject"] + ".output.4000000.out", "begun\n")
    if method == "process.signal" and MODE != "deaf":
        publish(agent["subject"] + ".notice", json.dumps({"jsonrpc": "2.0", "dpm": 1, "method": "process.ended",
                                                          "params": {"pid": params["pid"], "signal": 9}}))
    if method == "process.start":
        say_started(agent)


def serve(hello):
    agent = {"created": 0, "recording": "", "subject": f"dpm.{hello['session']}.{hello['machine']}"}
    send(json.dumps({"dpm": 2 if MODE == "version" else 1, "version": "x", "host": "evil", "pid": 1}) + "\n")
    line()  # INFO
    send("CONNECT " + json.dumps({"verbose": False, "pedantic": False, "user": hello["user"], "pass": hello["password"]}) + "\r\n")
    send(f"SUB {agent['subject']}.control 1\r\nPING\r\n")
    while True:
        words = line().split(" ")
        if words[0] == "PING":
            send("PONG\r\n")
        elif words[0] == "MSG":
            body = exactly(int(words[-1]) + 2)
            answer(words[3], json.loads(body), agent)


if MODE == "noise":
    send("Welcome to evil\nwhat a nice day\n")
serve(json.loads(line()))
