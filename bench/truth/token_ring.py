# SPDX-License-Identifier: MIT
"""token_ring.py LOG: P and t_max (ms) of token_ring.c, from the processes' own logs alone: the longest path through CPU times, sleeps
that were asked for, and messages (the n-th that a process receives is the n-th that the one before it sent)."""
import sys

PROCESSES = 3
logs = [[] for _ in range(PROCESSES)]
for line in open(sys.argv[1]):
    index, what, cpu, slept = line.split()
    logs[int(index)].append((what, int(cpu), int(slept) * 10**6))
sent = [[] for _ in range(PROCESSES)]  # how far along the longest path each send was
at, received, place, used = [0] * PROCESSES, [0] * PROCESSES, [0] * PROCESSES, [0] * PROCESSES
going = True
while going:
    going = False
    for i, log in enumerate(logs):
        before = (i - 1) % PROCESSES
        while place[i] < len(log):
            what, cpu, slept = log[place[i]]
            if what == "R" and received[i] == len(sent[before]):
                break
            # CPU time before a receive was used before it waited, but for the call itself
            at[i] += cpu - used[i] + slept
            used[i] = cpu
            if what == "R":
                at[i] = max(at[i], sent[before][received[i]])
                received[i] += 1
            elif what == "S":
                sent[i].append(at[i])
            place[i] += 1
            going = True
total, longest = sum(used), max(at)
print(f"{total / longest:.3f} {longest / 1e6:.1f} {total / 1e6:.1f}")
