# SPDX-License-Identifier: MIT
"""wait_records.py kernel|ptrace DUMP.json LINES: what `dpm dump --json` has of the waits of each-wait, against the lines that
this program prints. For each of them, and for what is asked of it: NAME, tab, expected, tab, found."""
import json
import sys

FOR_ANY = {7: "poll", 232: "epoll_wait", 270: "pselect6"}
NOT_SEEN = {"signalfd", "eventfd"}  # by the ptrace meter: reads of files that it does not record
PATHS = {"read": 1, "pair": 1, "end": 0, "end-pair": 0}  # read: bytes that each wait ends with
# what the call waits for, by the kernel meter: how its name ends
OBJECTS = {"flock": "/locked", "semop": "semaphore ", "signalfd": "signalfd", "eventfd": "eventfd", "futex": "none", "suspend": "none"}
SIGNALS = {"suspend": ["SIGUSR1"], "take": ["SIGUSR1"], "signalfd": ["SIGUSR1"], "stopped": ["SIGSTOP", "SIGCONT"]}
# the procedure of the program that makes the call; not where a library makes it
PROCEDURES = {"sleep": "sleep_shortly", "time": "poll_for_time", "child": "wait_for_child", "waitid": "waitid_for_child",
              "flock": "wait_flock", "suspend": "suspend", "signalfd": "read_signal", "eventfd": "read_event", "read": "take_byte",
              "pair": "take_byte", "tcp": "poll_byte", "poll": "poll_byte", "select": "select_byte", "epoll": "epoll_byte",
              "full": "put_page"}


class Recording:
    def __init__(self, records):
        self.records = records
        self.threads = {record["stream"]: record["tid"] for record in records if record["event"] == "STREAM"}

    def of(self, tid, event, **fields):
        return [record for record in self.records if record["event"] == event and record.get("tid") == tid and
                all(record.get(name) == value for name, value in fields.items())]

    def wakers(self, tid, begin, end):
        """Who ended waits of this thread between two times."""
        return [str(record.get("tid") or self.threads.get(record["waker"])) for record in self.records
                if record["event"] == "WAKEUP" and record.get("woken_tid") == tid and begin <= record["time_ns"] <= end]


def waits_of(recording, way, tid, call):
    """The waits as (what it is, begin, end)."""
    ends = recording.of(tid, "RECEIVE")
    if way in PATHS or way in ("tcp", "poll", "select", "epoll"):
        calls = recording.of(tid, "RECEIVECALL")
        return [(f"{'for any, ' + FOR_ANY.get(begin['offset'], '?') if begin['path'] == 0 else 'path'}, {end['bytes']} bytes" +
                 (", the end" if end.get("end_of_file") else ""), begin["time_ns"], end["time_ns"])
                for begin, end in zip(calls, ends)] if len(calls) == len(ends) else [(f"{len(calls)} calls", 0, 0)]
    if way == "full":
        return [("buffer space", begin["time_ns"], end["time_ns"])
                for begin, end in zip(recording.of(tid, "SENDCALL"), recording.of(tid, "SEND"))]
    if way == "stopped":
        return [("stopped", begin["time_ns"], end["time_ns"])
                for begin, end in zip(recording.of(tid, "STOPPROCESS"), recording.of(tid, "STARTPROCESS")[1:])]
    return [(f"in {block['system_call']}", block["time_ns"] - block["duration_ns"], block["time_ns"])
            for block in recording.of(tid, "BLOCK", system_call=call)]


def expected_wait(way, call):
    if way in PATHS:
        return f"path, {PATHS[way]} bytes" + (", the end" if way.startswith("end") else "")
    if way in ("tcp", "poll", "select", "epoll"):
        return f"for any, {FOR_ANY[call]}, 1 bytes"
    return {"full": "buffer space", "stopped": "stopped"}.get(way, f"in {call}")


def tell(*columns):
    print("\t".join(columns))


def check_line(recording, meter, line):
    way, tid, call, count, least, most, *wakers = line.split()
    tid, call, count = int(tid), int(call), int(count)
    if meter == "ptrace" and way in NOT_SEEN:
        return
    waits = waits_of(recording, way, tid, call)
    tell(f"{way}: {count} waits", "; ".join([expected_wait(way, call)] * count), "; ".join(wait for wait, _, _ in waits))
    if way in PROCEDURES:
        began = recording.of(tid, "BLOCK", system_call=call) + recording.of(tid, "RECEIVECALL") + recording.of(tid, "SENDCALL")
        tell(f"{way}: where", " ".join([PROCEDURES[way]] * count), " ".join(str(record.get("procedure")) for record in began))
    if meter == "kernel" and way not in ("read", "pair", "end", "end-pair", "tcp", "full", "stopped"):
        # what arrives at a path ends the wait for it, and SIGCONT a stop; of these no WAKEUP is recorded
        tell(f"{way}: who ended them", " ".join(wakers) or "nobody",
             " ".join(waker for _, begin, end in waits for waker in recording.wakers(tid, begin, end)) or "nobody")
    if way in ("sleep", "time", "tcp"):
        tell(f"{way}: no thread did", "", " ".join(waker for _, begin, end in waits for waker in recording.wakers(tid, begin, end)))
    if meter == "kernel" and way in OBJECTS:
        objects = {block.get("waited_on", "none").rstrip("0123456789") for block in recording.of(tid, "BLOCK", system_call=call)}
        tell(f"{way}: on what", "as it says",
             "as it says" if all(name.endswith(OBJECTS[way]) for name in objects) else " ".join(sorted(objects)))
    if way == "tcp":
        begun = recording.of(tid, "RECEIVECALL", path=0)
        tell(f"{way}: of one path, without a time limit", f"{count} {count}",
             f"{sum('only_path' in record for record in begun)} {sum(record.get('time_limit_ns', 0) is None for record in begun)}")
    if way in SIGNALS and (meter == "kernel" or way in ("suspend", "stopped")):
        # with ptrace, signals that are held back are never delivered
        signals = [f"{record['signal_name']} by {record['sender_pid']}" for record in recording.records
                   if record["event"] == "SIGNAL" and record["receiver_pid"] == tid]
        tell(f"{way}: signals", "; ".join(f"{name} by {waker}" for waker in wakers for name in SIGNALS[way]), "; ".join(signals))
    if way not in ("join", "mutex"): # which have two threads
        used = recording.of(tid, "TERMINATION")[0]["cpu_ns"]
        inside = int(least) <= used <= int(most)
        tell(f"{way}: CPU time at its end", "as it says", "as it says" if inside else f"{used}, not {least} to {most}")


def main():
    meter, dump, lines = sys.argv[1:]
    with open(dump, encoding="utf-8") as file:
        recording = Recording([json.loads(line) for line in file])
    with open(lines, encoding="utf-8") as file:
        for line in file:
            check_line(recording, meter, line)


main()
