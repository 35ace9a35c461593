# SPDX-License-Identifier: MIT
"""work.py ROUNDS: computes."""
import hashlib
import sys

text = b"x"
for _ in range(int(sys.argv[1])):
    text = hashlib.sha256(text).digest()
