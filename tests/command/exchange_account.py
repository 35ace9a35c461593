#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""exchange_account.py PART LOG RECORDS: compares the records of a trace (dpm dump --json) with what tests/programs/exchange.py
has said about itself. Prints what does not agree, a line each."""
import json
import sys

part, log, records_file = sys.argv[1:]
lines = [line.split() for line in open(log, encoding="utf-8")]
parent = next(int(line[1]) for line in lines if line[0] == "pid")
records = [json.loads(line) for line in open(records_file, encoding="utf-8")]
children = {record.get("child_pid") for record in records if record["event"] == "CREATEPROCESS" and record["pid"] == parent}


def differ(what, said, found):
    if said != found:
        print(f"{what}: the program says {said}, the trace {found}")


def of(event, keep=lambda record: True):
    return [record for record in records if record["event"] == event and keep(record)]


def first_byte(record):
    return record["time_ns"] - record.get("span_ns", 0)


def answers():
    """Each send and receive of both ends, with its bytes, within the times that the program has read around it."""
    sends = {role: [list(map(int, line[2:])) for line in lines if line[:2] == ["send", role]] for role in ("client", "server")}
    received = {role: [list(map(int, line[2:])) for line in lines if line[:2] == ["received", role]] for role in sends}
    clients = {record["path"]: record for record in of("SEND", lambda record: record["pid"] == parent and record["bytes"] >= 100)}
    differ("connections of the client", 1, len(clients))
    path, one = next(iter(clients.items()))
    other = next(record["path"] for record in of("SEND") if record["local"] == one["remote"] and record["path"] != path)
    for role, own in (("client", path), ("server", other)):
        found = of("SEND", lambda record: record["path"] == own)
        differ(f"sends of the {role}", [size for size, _, _ in sends[role]], [record["bytes"] for record in found])
        differ(f"sends of the {role} that were recorded outside of their calls", 0, sum(
            not before <= first_byte(record) <= record["time_ns"] <= after for record, (_, before, after) in zip(found, sends[role])))
        taken = of("RECEIVE", lambda record: record["path"] == own and record["bytes"] > 0)
        differ(f"receives of the {role}", [size for size, _ in received[role]], [record["bytes"] for record in taken])
        differ(f"receives of the {role} that were recorded after their calls", 0, sum(
            record["time_ns"] > after for record, (_, after) in zip(taken, received[role])))
        # what one end sends is queued at the other, after it was sent and before it was received
        queued = {record["offset"]: record for record in of("MESSAGEQUEUED", lambda record: record["path"] == path + other - own)}
        ends = {record["offset"] + record["bytes"]: record["time_ns"] for record in of(
            "RECEIVE", lambda record: record["path"] == path + other - own)}
        for send in found:
            at = queued.get(send["offset"])
            if at is None:
                if send is not found[0]:  # a UNIX socket is not known before its first use
                    print(f"no MESSAGEQUEUED of {send['bytes']} bytes at {send['offset']}, sent by the {role}")
            elif at["bytes"] != send["bytes"] or not first_byte(send) <= at["time_ns"]:
                print(f"queued otherwise than sent: {send} {at}")
            elif send["offset"] + send["bytes"] in ends and ends[send["offset"] + send["bytes"]] < at["time_ns"]:
                print(f"received before it was queued: {send} {at}")


def again():
    ports = [line[1] for line in lines if line[0] == "port"]
    made = of("CONNECT", lambda record: record["pid"] == parent)
    differ("ports of the connections", ports, [record["local"].rsplit(":", 1)[1] for record in made])
    accepted = of("ACCEPT", lambda record: record["pid"] == parent)
    differ("ports of those accepted", ports, [record["remote"].rsplit(":", 1)[1] for record in accepted])
    paths = [record["path"] for record in made + accepted]
    differ("different paths", 16, len(set(paths)))
    closed = of("DESTROYPATH")
    differ("how often each is destroyed", [1] * 16, [sum(record["path"] == path for record in closed) for path in paths])


def own():
    port = next(line[1] for line in lines if line[0] == "port")
    made = of("CONNECT", lambda record: record["pid"] == parent)
    differ("connections to its port", [port] * 30, [record["remote"].rsplit(":", 1)[1] for record in made])
    accepted = of("ACCEPT", lambda record: record["local"].rsplit(":", 1)[1] == port)
    differ("connections accepted", sorted(record["local"] for record in made), sorted(record["remote"] for record in accepted))
    closed = {record["path"] for record in of("DESTROYPATH")}
    differ("connections that have ended", 60, sum(record["path"] in closed for record in made + accepted))
    differ("requests of one byte", 30, len(of("SEND", lambda record: record["pid"] == parent and record.get("remote", "").endswith(":" + port))))


def full():
    """A SENDCALL for each send that the kernel showed asleep; its own bytes follow in a SEND at that place."""
    filled, blocked = (next(int(line[1]) for line in lines if line[0] == word) for word in ("filled", "full"))
    pid = children.pop()
    sends = of("SEND", lambda record: record["pid"] == pid and record["bytes"] == 4096)
    calls = of("SENDCALL", lambda record: record["pid"] == pid and not record.get("preempted"))
    first = sends[0]["offset"] if sends else 0
    differ("sends", filled // 4096 + 10, len(sends))
    differ("sends that follow each other", [first + 4096 * i for i in range(len(sends))], [record["offset"] for record in sends])
    # (of a socket without any space the position is not recorded; there one send waits until much has been received)
    places = {record["offset"] - record["bytes"] - first for record in calls if record["kind"] == "pipe" or record["bytes"] > 0}
    differ("sends that found room, and are blocked", [], [place for place in places if place < filled])
    if calls and calls[0]["kind"] == "pipe":
        differ("sends that the kernel showed asleep", blocked, len(places))
    differ("a blocked send is recorded", blocked > 0, len(calls) > 0)


{"answers": answers, "again": again, "own": own, "full": full}[part]()
