# SPDX-License-Identifier: MIT
"""many_agents.py PORT AGENTS ROUNDS: sends summaries to a NATS server as so many agents would that are services, one after
the other in each round: machine m007 has a job load of 7 (m000: it is not recorded), two processes that together send 7000 bytes/s, and an address in
the subnet 10.0.N.0/24, where N is 7 modulo 4. In round r it has one process more for each round."""
import json
import socket
import sys
import time


def summary(agent, round_number, load, sent):
    processes = [{"name": "p", "peer_only": False, "ended": False, "sent_bytes_per_s": sent / 2,
                  "received_bytes_per_s": 100.0}] * 2
    processes += [{"name": "more", "peer_only": False, "ended": False}] * round_number
    processes += [{"name": "elsewhere", "peer_only": True, "sent_bytes_per_s": 1e9}]
    paths = [{"kind": "tcp", "local": "10.0.%d.%d:80" % (agent % 4, agent), "remote": "192.168.9.9:1",
              "sent_bytes_per_s": sent, "received_bytes_per_s": 200.0}]
    loads = [{"machine": "m%03d" % agent, "cpus": 4, "cpu": {"user": 0.25, "system": 0.125},
              "runnable": {"mean": load}}]
    if load is None:  # as with the default flags of an agent: what is not recorded is null
        loads = [{"machine": "m%03d" % agent, "cpus": None, "cpu": None, "runnable": None}]
    return {"time": time.time_ns(), "host": "m%03d" % agent, "trace": "t",
            "statistics": {"processes": processes, "paths": paths, "loads": loads}}


class Agents:
    """All of them, over one connection."""

    def __init__(self, port, count):
        self.count = count
        self.end = socket.create_connection(("127.0.0.1", port))
        self.end.sendall(b'CONNECT {"verbose":false}\r\nPING\r\n')
        self.lines = self.end.makefile("rb")
        while not self.lines.readline().startswith(b"PONG"):
            pass
        self.end.sendall(b"SUB _INBOX.acks 1\r\n")

    def send(self, round_number, load=float, sent=lambda agent: agent * 1000.0):
        """A summary of each agent; returns when the server has stored all."""
        for agent in range(self.count):
            body = json.dumps({"jsonrpc": "2.0", "dpm": 1, "method": "summary",
                               "params": summary(agent, round_number, load(agent), sent(agent))}).encode()
            self.end.sendall(b"PUB dpm.machines.m%03d.notice _INBOX.acks %d\r\n%s\r\n" % (agent, len(body), body))
        stored = 0
        while stored < self.count:
            line = self.lines.readline()
            if line.startswith(b"MSG"):
                answer = self.lines.readline()
                if b"error" in answer:
                    sys.exit(answer)
                stored += 1
            elif line.startswith(b"PING"):
                self.end.sendall(b"PONG\r\n")


if __name__ == "__main__":
    port, agents, rounds = (int(word) for word in sys.argv[1:])
    all_agents = Agents(port, agents)
    for number in range(rounds):
        all_agents.send(number, lambda agent: agent or None)
