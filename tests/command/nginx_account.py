# SPDX-License-Identifier: MIT
# nginx_account.py ADDRESS LOG BEGINNINGS BEGUN RECORDS: compares nginx's log of its connections with the
# records (`dpm dump --json`) of its SENDs and RECEIVEs. Prints a line for each difference.
#
#      ADDRESS     of the server whose log it is: clients of two servers may have the same port
#      LOG         lines: time in seconds, peer's address, bytes sent, bytes of the request
#      BEGINNINGS  initial position of each direction, see beginnings.py
#      BEGUN       time in seconds after which nothing may be missing
#
#      SYN's number      PATH's start   the recording begins            the log's sum
#      |------------------|--------------|<------ SENDs, one behind the other ------>|
#
# A call in progress when the recording began starts before the PATH's start.
import json
import sys

address, log_file, beginnings_file, begun, records_file = sys.argv[1:]


def read_log():
    sums, last = {}, {}
    for line in open(log_file):
        time, peer, sent, received = line.split()
        row = sums.setdefault(peer, [0, 0])
        row[0] += int(sent)
        row[1] += int(received)
        last[peer] = float(time)
    return sums, last


def read_records():
    starts, pieces = {}, {}
    for record in map(json.loads, open(records_file)):
        if record.get("kind") != "tcp":
            continue
        peer, here = record["remote"], record["local"]
        if record["event"] == "PATH":
            starts[here, peer] = record["start_out"], record["start_in"]
        elif record["event"] in ("SEND", "RECEIVE"):
            key = here, peer, record["event"] == "RECEIVE"
            pieces.setdefault(key, []).append((record["offset"], record["bytes"]))
    return starts, pieces


def account(pieces, start, base, total):
    if not pieces:
        return "is not recorded at all"
    at = pieces[0][0]
    behind = (at - start + 2**31) % 2**32 - 2**31
    if behind > 0:
        return f"begins {behind} bytes behind its start"
    for offset, count in pieces:
        if offset != at:
            return f"goes on at {offset - start}, not at {at - start}"
        at = (at + count) % 2**32
    reached = (at - base) % 2**32
    return None if reached == total else f"is recorded to byte {reached}, the log says {total}"


def main():
    sums, last = read_log()
    starts, pieces = read_records()
    bases = {}
    for line in open(beginnings_file):
        words = line.split()
        if len(words) == 3:
            bases[words[0], words[1]] = int(words[2])
    known = set()
    older = 0
    for (here, peer), start in starts.items():
        if here != address or peer not in sums:
            continue
        known.add(peer)
        directions = (here, peer), (peer, here)
        older += start[0] != bases[directions[0]]
        for way in 0, 1:
            found = pieces.get((here, peer, way == 1), [])
            if not found and last[peer] < float(begun):
                continue
            wrong = account(found, start[way], bases[directions[way]], sums[peer][way])
            if wrong:
                print(peer, "received" if way else "sent", wrong)
    for peer, time in last.items():
        if time > float(begun) and peer not in known:
            print(peer, "is missing")
    print("some" if older else "none", "older,", "some" if len(known) > older else "none", "newer")


main()
