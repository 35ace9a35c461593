#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""growing.py BUILD FOLDER [MACHINE=TIME]...: traces of two machines, to be copied while they are read: 3,000 requests in 30 s, one
every 10.2 ms, from web1 to db1. The clocks of these machines are ahead.

     client @web1  --100 bytes-->  server @db1: 2 ms  --200 bytes-->  client: 8 ms
"""
import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "stories"))
import tell  # pylint: disable=wrong-import-position

STORY = """machine web1 at 10.0.0.1 cpus 2{web1}
machine db1 at 10.0.0.2 cpus 2{db1}
process client pid 100 of web1
process server pid 200 of db1
tcp c: client > server
client connects c
server accepts c
3000 times
    client sends 100 on c
    server receives on c
    server computes 2ms
    server sends 200 on c
    client receives on c
    client idles 8ms
end
client ends
server ends
"""


def main():
    ahead = {"web1": "", "db1": ""}
    for word in sys.argv[3:]:
        machine, time = word.split("=")
        ahead[machine] = f" ahead {time}"
    os.makedirs(sys.argv[2])
    tell.write_traces(sys.argv[1], list(enumerate(STORY.format(**ahead).splitlines(), 1)), sys.argv[2])


main()
