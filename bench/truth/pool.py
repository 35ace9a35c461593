# SPDX-License-Identifier: MIT
"""pool.py: twelve small jobs and one large one for two workers. Prints the large one's process, its share of the elapsed time, in per cent."""
import concurrent.futures
import hashlib
import os
import time


def job(rounds):
    began, text = time.time(), b"x"
    for _ in range(rounds):
        text = hashlib.sha256(text).digest()
    return time.time() - began, os.getpid()


if __name__ == "__main__":
    began = time.time()
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        jobs = list(pool.map(job, [60000] * 12 + [1500000]))
    print(jobs[-1][1], 100 * jobs[-1][0] / (time.time() - began))
