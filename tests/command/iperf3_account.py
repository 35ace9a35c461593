# SPDX-License-Identifier: MIT
# iperf3_account.py FOLDER RECORDS: compares iperf3's own counts for its connections with the records
# (`dpm dump --json`) of SENDs and RECEIVEs. Prints a line for each difference.
#
#      FOLDER/client.json, client.out, server.out   output of both ends, with -J --debug --logfile
#      FOLDER/beginnings                            where each direction begins: see beginnings.py
#
# Every byte has a known position:
#
#      each stream    client -> server   37 bytes, the cookie
#                     from the sender: the bytes that iperf3 reports
#      control        client -> server   cookie, parameters, TEST_END, results, IPERF_DONE
#                     server -> client   six states, results
#
# A state is one byte; parameters and results are JSON after a length of 4 bytes.
# Without FOLDER/beginnings the recording must have all of that; with it, the rest of each direction
# from some later position on.
import json
import os
import re
import sys

COOKIE, STATE, LENGTH = 37, 1, 4

folder, records_file = sys.argv[1:]


def read(name):
    with open(os.path.join(folder, name)) as file:
        return file.read()


def sent_json(text, title):
    """Bytes of the JSON object after the title as it was sent: without the pretty-printing."""
    text = text[text.index("{", text.index(title)) :]
    pretty = text[: text.index("\n}") + 2]
    return LENGTH + len(re.sub(r"[\t\n]|(?<=,) (?={)", "", pretty))


def address(host, port):
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


# ---- iperf3's account: bytes sent and received in each direction (from, to) ----


def said_of_streams(client):
    said = {}
    streams = {stream["sender"]["socket"]: stream for stream in client["end"]["streams"]}
    for connection in client["start"]["connected"]:
        here = address(connection["local_host"], connection["local_port"])
        there = address(connection["remote_host"], connection["remote_port"])
        stream = streams[connection["socket"]]
        sent, received = stream["sender"]["bytes"], stream["receiver"]["bytes"]
        if stream["sender"]["sender"]:  # the client
            said[here, there] = COOKIE + sent, COOKIE + received
            said[there, here] = 0, 0
        else:
            said[here, there] = COOKIE, COOKIE
            said[there, here] = sent, received
    return said


def said_of_control(client_out, server_out):
    parameters = sent_json(client_out, "send_parameters")
    to_server = COOKIE + parameters + STATE + sent_json(client_out, "send_results") + STATE
    return to_server, 6 * STATE + sent_json(server_out, "send_results")


# ---- the recording ----


class Row:
    """SENDs, or RECEIVEs, of one direction."""

    def __init__(self):
        self.start = None  # position where its recording begins, from PATH
        self.pieces = []  # (position, bytes), relative to the start


def recorded(file):
    rows = {}
    for record in map(json.loads, file):
        if record.get("kind") != "tcp":
            continue
        here, there = record["local"], record["remote"]
        if there.endswith(":0"):  # a listener
            continue
        sends = rows.setdefault(((here, there), "sent"), Row())
        receives = rows.setdefault(((there, here), "received"), Row())
        if record["event"] == "PATH":
            sends.start, receives.start = record["start_out"], record["start_in"]
        elif record["event"] in ("SEND", "RECEIVE") and record["bytes"] > 0:
            row = sends if record["event"] == "SEND" else receives
            # a call in progress when the recording began starts before it
            position = (record["offset"] - row.start + 2**31) % 2**32 - 2**31
            row.pieces.append((position, record["bytes"]))
    return rows


def account(row, total, base, late):
    """The error of the row, if `total` bytes went from position `base` on."""
    at = sorted(row.pieces)[0][0] if row.pieces else 0
    if at > 0 or (base is None and at != 0):
        return f"begins {at} bytes behind its start"
    if base is not None:
        total -= (row.start - base) % 2**32
    ends = [at]
    for position, count in sorted(row.pieces):
        if position != ends[-1]:
            return f"a hole or an overlap at {ends[-1]}: goes on at {position}"
        ends.append(position + count)
    # iperf3 does not count bytes received after the end of the test
    if ends[-1] != total and not (late and total in ends):
        return f"is recorded to {ends[-1]}, iperf3 says {total}"
    return None


def main():
    client_out, server_out = read("client.out"), read("server.out")
    said = said_of_streams(json.loads(read("client.json")))
    with open(records_file) as file:
        rows = recorded(file)
    control = [direction for direction, _ in rows if direction not in said]
    server = next(iter(said))[1]
    for direction in control:
        total = said_of_control(client_out, server_out)[0 if direction[1] == server else 1]
        said[direction] = total, total
    beginnings = {}
    if os.path.exists(os.path.join(folder, "beginnings")):
        for line in read("beginnings").splitlines():
            here, there, position = line.split()
            beginnings[here, there] = int(position)
    late = {"sent": False, "received": "Late receive" in client_out + server_out}
    whole = not beginnings
    for (direction, what), row in sorted(rows.items()):
        base = None if whole else beginnings[direction]
        wrong = account(row, said[direction][what == "received"], base, late[what])
        if wrong:
            print(" > ".join(direction), what, wrong)
        if not whole and row.start == base and said[direction] != (0, 0):
            print(" > ".join(direction), "begins at its beginning: this is not the middle")
    print(len(said) // 2, "connections,", len(rows), "rows,", "all" if whole else "their ends")


main()
