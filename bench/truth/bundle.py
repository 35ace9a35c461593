# SPDX-License-Identifier: MIT
"""bundle.py: computes for long. Prints its process and for how many seconds it did."""
import hashlib
import os
import time

began, text = time.time(), b"x"
for _ in range(1500000):
    text = hashlib.sha256(text).digest()
print("bundle", os.getpid(), time.time() - began, flush=True)
