# SPDX-License-Identifier: MIT
"""naps.py: sleeps a hundred times for 5 ms, beside a process on the same CPU that computes and has nothing to do with it. Prints both
processes, and how many naps there were."""
import os
import time

os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
burns = os.fork()
if burns == 0:
    end = time.time() + 1.5
    while time.time() < end:
        pass
    os._exit(0)
for _ in range(100):
    time.sleep(0.005)
print(os.getpid(), burns, 100)
os.wait()
