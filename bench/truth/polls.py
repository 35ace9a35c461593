# SPDX-License-Identifier: MIT
"""polls.py read|epoll: a reader waits four times for a byte, which a writer sends after 50 ms each. Prints the reader, how often it
waited, and for how long in all, in ms."""
import os
import select
import sys
import time

end, other = os.pipe()
if os.fork() == 0:
    for _ in range(4):
        time.sleep(0.05)
        os.write(other, b"x")
    os._exit(0)
os.close(other)
poll, waited = select.epoll(), []
poll.register(end, select.EPOLLIN)
for _ in range(4):
    began = time.time()
    if sys.argv[1] == "epoll":
        poll.poll()
    os.read(end, 10)
    waited.append(time.time() - began)
print(os.getpid(), len(waited), 1000 * sum(waited))
os.wait()
