# SPDX-License-Identifier: MIT
"""locks.py: six jobs, each of which computes 200 ms with the lock of one file. Prints how long the last one waited for it, and what
all took, in ms."""
import fcntl
import os
import time

JOBS, WORK = 6, 0.2

with open("locked", "w", encoding="utf-8"):
    pass
begin = time.monotonic()
ends = os.pipe()
for job in range(JOBS):
    if os.fork() == 0:
        with open("locked", "r+", encoding="utf-8") as file:
            asked = time.monotonic()
            fcntl.flock(file, fcntl.LOCK_EX)
            waited = time.monotonic() - asked
            used = time.thread_time()
            while time.thread_time() - used < WORK:
                pass
            os.write(ends[1], f"{time.monotonic()} {waited}\n".encode())
            os._exit(0)
os.close(ends[1])
for job in range(JOBS):
    os.wait()
last = max(tuple(map(float, line.split())) for line in os.read(ends[0], 4096).decode().splitlines())
print(round(1e3 * last[1]), round(1e3 * (time.monotonic() - begin)))
