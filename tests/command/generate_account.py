# SPDX-License-Identifier: MIT
# generate_account.py RECORDS: replays the generated traces from their records (`dpm dump --json`) and prints an
# account of them; stops at the first record that cannot be right.
#
#      end  STREAM .. PATH, CREATEPATH .. SEND, RECEIVE .. DESTROYPATH      of one stream, in order
#      path client's SEND --> server's RECEIVEs --> server's SEND --> client's RECEIVEs --> ...
#
# Times are relative to the beginning of each trace: the two begin together, whatever their clocks show.
import json
import sys


class End:
    def __init__(self, record, machine):
        self.machine = machine
        self.server = record["role"] == 2
        self.tcp = record["kind"] == "tcp"
        self.out, self.into = record["start_out"], record["start_in"]
        self.counts_bytes = record["kind"] in ("tcp", "unix-stream")
        if self.tcp:
            near, far = (record["local"], self.out), (record["remote"], self.into)
        else:
            near, far = (machine, record["cookie"]), (machine, record["peer"])
        self.name, self.other = (near, far), (far, near)
        self.stream = None  # its user: one stream from its CREATEPATH on
        self.calls = 0  # sends and receives
        self.received_at = None
        self.sent, self.received, self.pieces = [], 0, 0
        self.live = False


class Account:
    def __init__(self):
        self.begun, self.sequences, self.streams = {}, {}, {}
        self.ends, self.names = {}, {}
        self.live = self.most = 0
        self.sums = dict.fromkeys(("opened", "sends", "splits", "responses", "machines"), 0)
        self.shortest_response = float("inf")

    def take(self, time, record):
        event, machine = record["event"], record["machine"]
        if record.get("sequence") is not None:
            stream = machine, record["stream"]
            assert stream in self.streams, "a stream that no STREAM tells of"
            assert record["sequence"] == self.sequences.get(stream, 0), "a gap in the sequence"
            self.sequences[stream] = record["sequence"] + 1
        if event == "MACHINE":
            self.sums["machines"] += 1
        elif event == "STREAM":
            self.streams.setdefault((machine, record["stream"]), record["pid"])
        elif event == "PATH":
            end = End(record, machine)
            assert self.ends.setdefault((machine, record["path"]), end) is end, "a path told twice"
            assert self.names.setdefault(end.name, end) is end, "two ends with the same addresses"
        elif "path" in record:
            end = self.ends[machine, record["path"]]
            getattr(self, "take_" + event.lower())(time, record, end)
            if event != "DESTROYPATH":
                assert end.live and end.stream == record["stream"], "another stream's path"

    def take_createpath(self, _time, record, end):
        end.stream, end.live = record["stream"], True
        self.live += 1
        self.most = max(self.most, self.live)
        self.sums["opened"] += end.name < end.other

    def take_connect(self, _time, _record, end):
        assert not end.server

    def take_accept(self, _time, _record, end):
        assert end.server

    def take_destroypath(self, _time, _record, end):
        assert end.live and not end.sent, "closed with something on its way"
        end.live = False
        self.live -= 1

    def take_send(self, time, record, end):
        assert record["offset"] == end.out, "a gap between sends"
        end.out = (end.out + (record["bytes"] if end.counts_bytes else 1)) % 2**32
        other = self.names[end.other]
        assert not end.sent and not other.sent, "sent, but not its turn"
        end.sent = [record["bytes"], time - record["span_ns"]]
        self.sums["sends"] += 1
        if end.received_at is not None:
            self.sums["responses"] += 1
            self.shortest_response = min(self.shortest_response, end.sent[1] - end.received_at)

    def take_receive(self, time, record, end):
        assert record["offset"] == end.into, "a gap between receives"
        sender = self.names[end.other]
        if record["bytes"] == 0:
            assert record["end_of_file"] and not sender.live, "the end of file of a live path"
            return
        end.into = (end.into + (record["bytes"] if end.counts_bytes else 1)) % 2**32
        assert time - record["span_ns"] >= sender.sent[1], "received before it was sent"
        end.received_at = time
        end.pieces += 1
        sender.sent[0] -= record["bytes"]
        assert sender.sent[0] >= 0, "more received than sent"
        if sender.sent[0] == 0:
            self.sums["splits"] += end.pieces > 1
            sender.sent, end.pieces = [], 0


def main():
    account, timed = Account(), []
    for record in map(json.loads, open(sys.argv[1])):
        machine = record["machine"]
        begun = account.begun.setdefault(machine, record["time_ns"])
        timed.append((record["time_ns"] - begun, record))
    timed.sort(key=lambda row: row[0])  # stable for equal times
    for time, record in timed:
        try:
            account.take(time, record)
        except Exception as error:
            sys.exit(f"{error!r} at {time} ns: {json.dumps(record)}")
    pids = {}
    for (machine, _stream), pid in account.streams.items():
        pids[machine, pid] = pids.get((machine, pid), 0) + 1
    facts = account.sums | {
        "records": len(timed),
        "processes": len(pids),
        "with_threads": sum(count > 1 for count in pids.values()),
        "most_live": account.most / 2,
        "left_live": account.live,
        "shortest_response": account.shortest_response,
    }
    print(json.dumps(facts))


main()
